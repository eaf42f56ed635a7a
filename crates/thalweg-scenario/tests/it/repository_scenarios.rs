//! The scenario files of the repository have their documented meaning, and their expanded form reads back unchanged.

use std::path::{Path, PathBuf};
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_queue::{DisciplineSpec, Limit, RandomDropConfig};
use thalweg_scenario::{Diagnostic, LoadedScenario, load, load_text};
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::{Simulation, Status};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn rendered_diagnostics(found: &[Diagnostic]) -> String {
    found.iter().map(Diagnostic::render).collect()
}

#[track_caller]
fn read(name: &str, sets: &[&str]) -> LoadedScenario {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    load(&folder().join(name), &sets).unwrap_or_else(|found| panic!("{}", rendered_diagnostics(&found)))
}

fn all_scenarios() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_scenario_is_read_without_warnings() {
    let files = all_scenarios();
    assert!(files.len() >= 10);
    for path in files {
        let loaded = load(&path, &[]).unwrap_or_else(|found| panic!("{}", rendered_diagnostics(&found)));
        assert!(loaded.warnings.is_empty(), "{}", rendered_diagnostics(&loaded.warnings));
        assert!(!loaded.scenario.title.is_empty());
        let text = loaded.explain();
        println!("{text}");
        for link in &loaded.spec().links {
            assert!(text.contains(&link.name), "{text}");
        }
    }
}

/// The fraction has no exact percentage.
#[test]
fn losses_are_explained_as_they_were_given() {
    let sets = ["link.*.loss=0.014851".to_owned()];
    let text = load(&folder().join("lossy-long-path.toml"), &sets).unwrap().explain();
    assert!(text.contains("loses 1.4851 %"), "{text}");
}

#[test]
fn explanations_describe_frames_and_the_tolerated_loss() {
    let sets =
        ["link.box.framing=atm-aal5", "scheme.sstp.loss-tolerance=0.125", "scheme.sstp.acknowledgement=soft"];
    let text =
        load(&folder().join("papers/gong92/black-box.toml"), &sets.map(str::to_owned)).unwrap().explain();
    assert!(text.contains("100 Mbit/s, 15 ms, in frames \"atm-aal5\""), "{text}");
    assert!(text.contains("soft acknowledgement, 2 packets of a segment may be missing"), "{text}");
}

#[test]
fn every_expanded_scenario_reads_back_unchanged() {
    for path in all_scenarios() {
        let first = load(&path, &[]).unwrap();
        let text = first.expanded();
        let second = load_text("expanded.toml", &text, Path::new("/nowhere"), &[])
            .unwrap_or_else(|found| panic!("{}", rendered_diagnostics(&found)));
        assert_eq!(format!("{:?}", first.spec()), format!("{:?}", second.spec()), "{text}");
        assert_eq!(second.expanded(), text);
        let known: Vec<_> = first.warnings.iter().map(|warning| warning.code).collect();
        let added: Vec<_> = second.warnings.iter().filter(|of| !known.contains(&of.code)).collect();
        // The user of a results folder has written none of these values.
        assert!(added.is_empty(), "{}: {added:#?}", path.display());
    }
}

#[test]
fn every_file_runs() {
    for path in all_scenarios() {
        // Long enough for all flows to start, short enough for a test.
        let sets = ["duration=300 ms", "warmup=0 s", "flow.1.count=2"].map(str::to_owned);
        let loaded = load(&path, &sets).unwrap_or_else(|found| panic!("{}", rendered_diagnostics(&found)));
        let mut simulation =
            Simulation::new(loaded.spec(), NoTrace).unwrap_or_else(|error| panic!("{error}"));
        while simulation.advance(1 << 20) == Status::Running {}
        let (result, NoTrace) = simulation.finish();
        assert!(result.conservation.holds(), "{}", path.display());
        assert!(result.hops > 0, "{}", path.display());
    }
}

#[test]
fn the_dumbbell() {
    let loaded = read("dumbbell.toml", &[]);
    let spec = loaded.spec();
    assert_eq!(spec.groups[0].count, 10);
    assert_eq!(spec.links[0].forward.rate, Rate::from_mbits_per_sec(100));
    assert_eq!(spec.links[0].forward.queue, DisciplineSpec::fcfs(Limit::Packets(625)));
    // Forward: 1040 B at 1 Gbit/s twice and 100 Mbit/s once; back: 40 B; 12 ms of propagation in each direction.
    let path = loaded.paths().groups[0].as_ref().unwrap();
    let serialisation = 2 * 8_320 + 83_200 + 2 * 320 + 3_200;
    assert_eq!(path.rtt, Duration::from_nanos(24_000_000 + serialisation));
    assert_eq!(path.bdp(), Bytes::new(301_296));
    assert_eq!(path.bottleneck, "bottleneck");
}

#[test]
fn the_parking_lot_has_five_round_trips() {
    let loaded = read("parking-lot.toml", &[]);
    let hops: Vec<usize> =
        loaded.paths().groups.iter().map(|path| path.as_ref().unwrap().forward.len()).collect();
    assert_eq!(hops, [4, 4, 3, 2, 1]);
    let access = loaded.spec().groups[0].access.as_ref().unwrap();
    assert_eq!(access.source_forward.delay, Duration::from_millis(1));
    assert_eq!(access.sink_forward.delay, Duration::from_micros(100));
    assert_eq!(access.source_forward.rate, Rate::from_mbits_per_sec(100));
    let schedule = &loaded.spec().links[3].forward.schedule;
    assert_eq!(schedule.len(), 2);
    assert_eq!(schedule[0].rate, Some(Rate::from_mbits_per_sec(50)));
}

#[test]
fn the_two_way_chain_builds_on_the_chain() {
    let loaded = read("slow-chain-two-way.toml", &[]);
    let names: Vec<&str> = loaded.spec().groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["forward", "reverse"]);
    assert!(loaded.scenario.title.ends_with("two ways"));
    assert_eq!(loaded.spec().warmup, Duration::from_secs(20));
}

#[test]
fn changes_from_the_command_line() {
    let loaded = read(
        "two-flows.toml",
        &[
            "duration=10 s",
            "link.left-right.rate=50 Mbit/s",
            "link.1.queue={ discipline = \"random-drop\", capacity = \"30 pkt\" }",
            "flow.bold.scheme=vegas",
            "flow.*.count=3",
            "flow.2.start=\"1 s\"",
            "scheme.vegas.alpha=2 pkt",
            "seed=9",
            "defaults.scheme.segment = 500 B",
        ],
    );
    let spec = loaded.spec();
    assert_eq!(spec.duration, Duration::from_secs(10));
    assert_eq!(spec.seed, 9);
    assert_eq!(spec.links[0].backward.rate, Rate::from_mbits_per_sec(50));
    assert_eq!(spec.links[0].forward.queue, DisciplineSpec::new(Limit::Packets(30), RandomDropConfig));
    for group in &spec.groups {
        assert_eq!(group.count, 3);
        let text = format!("{:?}", group.transport);
        assert!(text.contains("alpha: 2.0") && text.contains("segment: 500"), "{text}");
    }
    assert_eq!(spec.groups[1].start.as_secs_f64(), 1.0);
}

#[test]
fn a_hundred_thousand_flows_are_one_group() {
    let started = std::time::Instant::now();
    let loaded = read("ten-thousand-flows.toml", &["flow.flows.count=100000"]);
    assert_eq!(loaded.spec().groups.len(), 1);
    assert!(started.elapsed().as_millis() < 500);
}

#[test]
fn memory_and_replications_are_checked_when_they_are_known() {
    let loaded = read("ten-thousand-flows.toml", &["flow.flows.count=10000000"]);
    let found = loaded.check_memory(16 << 30).expect("ten million flows do not fit in 16 GiB");
    assert_eq!(found.code, "scenario.memory");
    assert!(found.render().contains("--> --set 1\n"), "{}", found.render());
    let small = read("ten-thousand-flows.toml", &[]);
    assert_eq!(small.check_memory(16 << 30), None);
    assert_eq!(small.check_replications(1), None);
    assert_eq!(small.check_replications(5), None);
    let still = read("ten-thousand-flows.toml", &["flow.flows.overhead=0 s"]);
    assert_eq!(still.check_replications(5).unwrap().code, "scenario.deterministic");
    assert_eq!(read("web.toml", &[]).check_replications(5), None);
}

#[test]
fn memory_is_estimated_near_what_was_measured() {
    // The resident memory of such runs of one second, in 10^6 bytes: see `lint/memory_estimate.rs`.
    for (count, measured) in [("10000", 46.4), ("100000", 313.7)] {
        let loaded = read("ten-thousand-flows.toml", &[&format!("flow.flows.count={count}")]);
        let estimate = thalweg_scenario::estimate_memory(loaded.spec(), loaded.paths()).total() as f64 / 1e6;
        assert!((1.0..1.4).contains(&(estimate / measured)), "{estimate} MB");
    }
}

/// Returns a link with such a large bandwidth-delay product that only the demand of the flows limits the number of
/// packets.
fn long_fat(flow: &str, duration: &str) -> thalweg_scenario::LoadedScenario {
    let text = format!(
        "duration = \"{duration}\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Tbit/s\"\ndelay = \"1 h\"\n\
         queue = \"unlimited\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    );
    thalweg_scenario::load_text("long.toml", &text, std::path::Path::new(""), &[]).unwrap()
}

#[test]
fn memory_is_bounded_by_windows_and_by_what_is_sent() {
    for (flow, duration) in [
        ("scheme = { base = \"fixed\", window = \"10 pkt\", max-window = \"10 pkt\" }", "9 h"),
        ("scheme = { base = \"newreno\", receive-window = \"64 kB\" }", "9 h"),
        ("workload = \"1 MB\"", "9 h"),
        ("scheme = { base = \"udp\", rate = \"1 Mbit/s\" }", "10 s"),
        ("", "1 ms"),
    ] {
        assert_eq!(long_fat(flow, duration).check_memory(32 << 20), None, "{flow}");
    }
    let found = long_fat("count = 100", "9 h").check_memory(1 << 30).expect("much is on the way");
    let text = found.render();
    assert!(text.contains("packets on links") && text.contains("`a-b`"), "{text}");
}
