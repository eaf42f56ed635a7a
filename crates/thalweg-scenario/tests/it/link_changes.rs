//! Changes of links, consecutive impairments, routes that differ by direction, and sources with barriers or long silent
//! periods.

use std::path::Path;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_queue::{Limit, ReorderSpec};
use thalweg_scenario::{Diagnostic, Loaded, load_text};
use thalweg_sim::shortest_paths::shortest_path;
use thalweg_sim::spec::{DirectionSpec, NodeId, WorkloadSpec};

fn load(text: &str) -> Result<Loaded, Vec<Diagnostic>> {
    load_text("test.toml", text, Path::new(""), &[])
}

fn with_link(keys: &str) -> String {
    format!(
        "duration = \"20 s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n{keys}\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\n"
    )
}

/// Returns the first link's forward direction, and asserts that it survives writing and reading.
fn forward(keys: &str) -> DirectionSpec {
    let read = |text: &str| {
        load(text)
            .unwrap_or_else(|found| panic!("{}", found.iter().map(Diagnostic::render).collect::<String>()))
    };
    let loaded = read(&with_link(keys));
    let again = read(&loaded.expanded());
    assert_eq!(again.spec(), loaded.spec(), "{}", loaded.expanded());
    loaded.spec().links[0].forward.clone()
}

fn complaint(text: &str) -> String {
    let found = load(text).err().unwrap_or_else(|| panic!("it is read: {text}"));
    found.iter().map(Diagnostic::render).collect()
}

#[test]
fn a_schedule_changes_queue_and_jitter() {
    let line = forward(
        "queue = \"100 pkt\"\nschedule = [{ at = \"1 s\", queue = \"10 pkt\" }, \
         { at = \"2 s\", rate = \"5 Mbit/s\", queue = \"20 ms\" }, { at = \"3 s\", queue = \"2 bdp\", jitter = \"4 ms\" }, \
         { at = \"4 s\", queue = \"unlimited\", jitter = { distribution = \"exponential\", mean = \"1 ms\" }, black-hole = \"1200 B\" }]",
    );
    let limits: Vec<Option<Limit>> = line.schedule.iter().map(|change| change.queue).collect();
    // 20 ms of 5 Mbit/s are 12.5 kB; the path is 10 Mbit/s with a round trip of 20 ms and the time of two packets.
    assert_eq!(limits[..2], [Some(Limit::Packets(10)), Some(Limit::Bytes(12_500))]);
    let Some(Limit::Bytes(bdp)) = limits[2] else { panic!("{limits:?}") };
    assert!((50_000..54_000).contains(&bdp), "{bdp}");
    assert_eq!(limits[3], Some(Limit::Unlimited));
    assert_eq!(line.queue.limit(), Limit::Packets(100));
    let jitter = |number: usize| line.schedule[number].jitter.as_ref();
    assert_eq!((jitter(0), jitter(1)), (None, None));
    assert_eq!(jitter(2).unwrap().span, Duration::from_millis(4));
    assert!(jitter(3).unwrap().variation.is_some() && jitter(3).unwrap().span.is_zero());
    assert_eq!(line.schedule[3].impairment.as_ref().unwrap().largest, Some(Bytes::new(1200)));
    assert_eq!(line.schedule[1].rate, Some(Rate::from_mbits_per_sec(5)));
    assert_eq!(line.schedule[1].at, Time::ZERO + Duration::from_secs(2));
}

#[test]
fn queues_beside_outages_keep_their_times() {
    let line = forward(
        "queue = \"9 pkt\"\nschedule = [{ at = \"1 s\", outage = \"4 s\" }, { at = \"2 s\", queue = \"3 pkt\" }, \
         { at = \"3 s\", queue = \"5 pkt\" }]",
    );
    let changes: Vec<(f64, Option<Limit>)> =
        line.schedule.iter().map(|change| (change.at.as_secs_f64(), change.queue)).collect();
    let packets = |packets| Some(Limit::Packets(packets));
    assert_eq!(changes, [(1.0, None), (2.0, packets(3)), (3.0, packets(5)), (5.0, None)]);
}

#[test]
fn invalid_schedules_are_rejected_at_their_position() {
    for (keys, expected) in [
        ("schedule = [{ at = \"1 s\" }]", "this schedule entry changes nothing"),
        ("schedule = [{ at = \"1 s\", queue = \"0 pkt\" }]", "the queue holds nothing"),
        ("schedule = [{ at = \"1 s\", queue = 10 }]", "did you mean \"10 pkt\"?"),
        ("schedule = [{ at = \"1 s\", queue = 0.5 }]", "did you mean \"0.5 bdp\"?"),
        ("schedule = [{ at = \"1 s\", queu = \"1 pkt\" }]", "did you mean `queue`?"),
        (
            "queue = { discipline = \"fcfs\", capacity = \"9 pkt\", feedback = \"source-quench\" }\n\
             schedule = [{ at = \"1 s\", queue = \"5 pkt\" }]",
            "this queue cannot change its capacity",
        ),
    ] {
        let text = complaint(&with_link(keys));
        assert!(text.contains(expected) && text.contains("test.toml:"), "{keys}: {text}");
    }
}

#[test]
fn impairments_follow_each_other_as_netem_has_it() {
    let line = forward(
        "duplicate = { probability = \"1 %\", correlation = \"25 %\" }\ncorrupt = 0.002\n\
         reorder = { probability = \"5 %\", delay = \"3 ms\", correlation = 0.5 }\n\
         jitter = { distribution = \"normal\", mean = \"5 ms\", deviation = \"1 ms\", correlation = \"30 %\" }\n\
         schedule = [{ at = \"1 s\", corrupt = { probability = 0.1, correlation = 0.9 } }]",
    );
    let wire = &line.impairment;
    assert_eq!((wire.duplicate, wire.duplicate_correlation), (0.01, 0.25));
    assert_eq!((wire.corrupt, wire.corrupt_correlation), (0.002, 0.0));
    let held = ReorderSpec { probability: 0.05, delay: Duration::from_millis(3), correlation: 0.5 };
    assert_eq!(wire.reorder, Some(held));
    assert_eq!(line.variation.as_ref().unwrap().correlation, 0.3);
    let later = line.schedule[0].impairment.as_ref().unwrap();
    assert_eq!((later.corrupt, later.corrupt_correlation), (0.1, 0.9));
    assert_eq!((later.duplicate, later.duplicate_correlation, later.reorder), (0.01, 0.25, Some(held)));
    for (keys, expected) in [
        ("duplicate = { correlation = 0.5 }", "needs `probability`"),
        ("duplicate = { probability = 0.5, correlation = 1.5 }", "must lie between 0 and 1"),
        ("jitter = { distribution = \"wifi\", average = \"7 ms\", correlation = 0.5 }", "several draws"),
        (
            "jitter = { distribution = \"uniform\", max = \"7 ms\", each = \"flow\", correlation = 0.5 }",
            "each flow has one draw",
        ),
    ] {
        let text = complaint(&with_link(keys));
        assert!(text.contains(expected), "{keys}: {text}");
    }
}

/// A triangle whose direct link costs more in one direction: packets take it, and acknowledgements take the detour.
#[test]
fn weights_of_directions_make_routes_that_differ_there_and_back() {
    let text = |more: &str| {
        format!(
            "duration = \"10 s\"\n[routing]\nmetric = \"weight\"\n[defaults.link]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\n\
             [[link]]\nbetween = [\"a\", \"b\"]\n{more}\n[[link]]\nbetween = [\"b\", \"c\"]\n[[link]]\n\
             between = [\"c\", \"a\"]\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n"
        )
    };
    let routes = |text: &str| {
        let loaded = load(text).unwrap_or_else(|found| panic!("{found:?}"));
        let (there, back) = (NodeId(0), NodeId(1));
        let route = |from, to| shortest_path(loaded.spec(), from, to).unwrap();
        (route(there, back), route(back, there), loaded)
    };
    assert_eq!((routes(&text("")).0, routes(&text("")).1), (vec![0], vec![1]));
    let (there, back, loaded) = routes(&text("reverse = { weight = 5 }"));
    assert_eq!((there, back), (vec![0], vec![2, 4]));
    assert!(loaded.explain().contains("reverse path b -> c -> a: 2 links"), "{}", loaded.explain());
    assert!(!routes(&text("")).2.explain().contains("reverse path"));
    let again = routes(&loaded.expanded());
    assert_eq!((again.0, again.1), (vec![0], vec![2, 4]));
    // The round trip includes both routes: 5 ms forward, 10 ms back.
    let path = loaded.paths().groups[0].as_ref().unwrap();
    assert!((15.0..17.5).contains(&path.rtt.as_millis_f64()), "{}", path.rtt);
    // The forward route may be the longer one.
    let (there, back, _) = routes(&text("weight = 9\nreverse = { weight = 1 }"));
    assert_eq!((there.len(), back), (2, vec![1]));
}

fn workload(keys: &str) -> String {
    format!("{}workload = {{ {keys} }}\n", with_link(""))
}

#[test]
fn rounds_and_pareto_times_are_read_and_written() {
    let read = |keys: &str| {
        let loaded = load(&workload(keys)).unwrap_or_else(|found| panic!("{found:?}"));
        assert_eq!(load(&loaded.expanded()).unwrap().spec(), loaded.spec(), "{}", loaded.expanded());
        (loaded.spec().groups[0].workload.clone(), loaded.explain())
    };
    let (size, think) = (Bytes::new(64_000), Duration::from_millis(2));
    let (found, explanation) = read("kind = \"rounds\", size = \"64 kB\", rounds = 7, think = \"2 ms\"");
    assert_eq!(found, WorkloadSpec::Rounds { size, rounds: Some(7), think });
    assert!(explanation.contains("7 rounds of 64 kB from each flow"), "{explanation}");
    let (found, _) = read("kind = \"rounds\", size = \"64 kB\"");
    assert_eq!(found, WorkloadSpec::Rounds { size, rounds: None, think: Duration::ZERO });
    let (found, explanation) =
        read("kind = \"on-off\", on = \"1 s\", off = \"2 s\", rate = \"1 Mbit/s\", shape = 1.5");
    assert!(matches!(found, WorkloadSpec::OnOff { shape: Some(1.5), random: false, .. }), "{found:?}");
    assert!(explanation.contains("Pareto of shape 1.5"), "{explanation}");
    for (keys, expected) in [
        ("kind = \"rounds\", size = \"64 kB\", rounds = 0", "at least 1"),
        ("kind = \"rounds\", size = \"0 B\"", "at least 1 B"),
        ("kind = \"rounds\", rounds = 3", "needs `size`"),
        ("kind = \"on-off\", on = \"1 s\", off = \"2 s\", shape = 1", "above 1"),
        ("kind = \"on-off\", on = \"1 s\", off = \"2 s\", shape = 1.5, random = true", "exponential"),
    ] {
        let text = complaint(&workload(keys));
        assert!(text.contains(expected), "{keys}: {text}");
    }
    let udp = format!("{}scheme = \"udp\"\n", workload("kind = \"rounds\", size = \"1 kB\""));
    assert!(complaint(&udp).contains("does not repair losses"));
}
