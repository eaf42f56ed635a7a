//! Paths inferred from simulated transfers, against the truth.

use super::inferred_scenario::write_inferred_scenario;
use super::{Interval, Losses, Path, Recording};
use thalweg_capture::pcap::{Capture, Point};
use thalweg_capture::qlog::{QlogPackets, write_qlog};
use thalweg_catalog::Registry;
use thalweg_scenario::{LoadedScenario, load_text};
use thalweg_sim::{Simulation, Status};
use thalweg_trace::Trace;

const SCHEMES: [&str; 6] = ["newreno", "cubic", "bbr", "vegas", "copa", "thalweg"];

/// A path of 20 Mbit/s and 50 ms with a queue of 300 kB, and this loss.
fn lossy(loss: &str) -> String {
    format!(
        "rate = \"20 Mbit/s\"\ndelay = \"25 ms\"\nqueue = \"200 pkt\"\nloss = {loss}\nreverse = {{ loss = 0 }}"
    )
}

/// A policer of 10 Mbit/s on a path of 100 Mbit/s and 40 ms.
fn policed(kilobytes: u32) -> String {
    format!(
        "rate = \"100 Mbit/s\"\ndelay = \"20 ms\"\nreverse = {{ queue = \"500 kB\" }}\n\
         queue = {{ discipline = \"policer\", capacity = \"500 kB\", rate = \"10 Mbit/s\", burst = \"{kilobytes} kB\" }}"
    )
}

/// Returns the log of a simulated transfer over `link` for these seconds.
fn simulated(scheme: &str, seed: u64, seconds: u32, link: &str) -> Recording {
    recorded(&loaded(scheme, seed, seconds, link))
}

/// Returns the log of the transfer of a scenario.
fn recorded(loaded: &LoadedScenario) -> Recording {
    let mut simulation = Simulation::new(loaded.spec(), QlogPackets::new(2_000_000)).unwrap();
    while simulation.advance(1 << 20) == Status::Running {}
    let (result, packets) = simulation.finish();
    let log = write_qlog(Vec::new(), "", loaded.spec(), &result, &packets).unwrap();
    Recording::read(&log).unwrap()
}

/// Returns what a capture at `point` shows of a simulated transfer over `link` for 20 s, and the number of timeouts.
fn captured(scheme: &str, point: Point, link: &str) -> (Trace, u64) {
    let loaded = loaded(scheme, 1, 20, link);
    let capture = Capture::new(Vec::new(), point).unwrap();
    let mut simulation = Simulation::new(loaded.spec(), capture).unwrap();
    while simulation.advance(1 << 20) == Status::Running {}
    let (result, capture) = simulation.finish();
    let file = capture.finish().unwrap();
    let trace = thalweg_trace::read(&mut &*file, &thalweg_trace::Limits::default()).unwrap();
    (trace, result.flows[0].timeouts)
}

fn loaded(scheme: &str, seed: u64, seconds: u32, link: &str) -> LoadedScenario {
    let text = format!(
        "duration = \"{seconds} s\"\nwarmup = \"0 s\"\nseed = {seed}\n[[link]]\nname = \"l\"\nbetween = [\"a\", \"b\"]\n{link}\n\
         [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nscheme = \"{scheme}\"\nworkload = \"bulk\"\n"
    );
    load_text("path.toml", &text, std::path::Path::new("."), &[]).unwrap()
}

#[track_caller]
fn contains((low, high): Interval, estimate: f64) {
    // Estimates are in whole bits, bytes and picoseconds.
    assert!(
        low * (1.0 - 1e-6) - 1.0 <= estimate && estimate <= high * (1.0 + 1e-6) + 1.0,
        "{estimate}: {low} to {high}"
    );
}

/// Checks that each estimate is within its interval.
#[track_caller]
fn is_consistent(path: &Path) {
    let of = path.intervals;
    contains(of.rate, path.rate.as_f64());
    let (low, high) = of.round_trip;
    let trip = path.round_trip.as_secs_f64();
    assert!(low <= trip + 1e-9 && trip <= high + 1e-9, "{path:?}");
    contains(of.queue, path.queue.get() as f64);
    if let (Losses::Independent(share), None) = (path.losses, path.policer) {
        assert!(of.loss.0 <= share && share <= of.loss.1, "{path:?}");
    }
}

/// Of losses at random, each by itself or in runs, no token bucket is made.
#[test]
fn random_losses_are_not_those_of_a_policer() {
    let runs = "{ model = \"gilbert-elliott\", good-to-bad = 0.002, bad-to-good = 0.3 }";
    for (number, scheme) in SCHEMES.into_iter().enumerate() {
        for loss in ["0.003", "0.01", "0.03", runs] {
            let recording = simulated(scheme, 3 + number as u64, 15, &lossy(loss));
            assert_eq!(recording.policer, None, "{scheme}, {loss}");
            is_consistent(&Path::infer(&recording).unwrap());
        }
    }
    for seed in [12, 13, 14, 15] {
        let recording = simulated("cubic", seed, 60, &lossy("0.01"));
        assert_eq!(recording.policer, None, "{seed}");
        let Losses::Independent(share) = Path::infer(&recording).unwrap().losses else { panic!("{seed}") };
        assert!((0.007..0.013).contains(&share), "{share}");
    }
}

/// A policer is found with its rate and its depth, for any scheme.
#[test]
fn policers_are_found() {
    for scheme in SCHEMES {
        for burst in [30, 100, 300] {
            let recording = simulated(scheme, 1, 15, &policed(burst));
            let Some((rate, depth)) = recording.policer else { panic!("{scheme}, {burst} kB") };
            assert!((rate.as_f64() / 1e7 - 1.0).abs() < 0.05, "{scheme}, {burst} kB: {rate}");
            assert!(
                (depth.get() as f64 / f64::from(burst * 1000) - 1.0).abs() < 0.05,
                "{scheme}, {burst} kB: {depth}"
            );
        }
    }
}

/// A queue that drops loses packets as a token bucket does, and its delay distinguishes it.
#[test]
fn queues_are_no_policers() {
    for scheme in SCHEMES {
        for packets in [8, 40, 200] {
            let link = format!("rate = \"20 Mbit/s\"\ndelay = \"25 ms\"\nqueue = \"{packets} pkt\"");
            let recording = simulated(scheme, 1, 15, &link);
            assert_eq!(recording.policer, None, "{scheme}, {packets} packets");
            let path = Path::infer(&recording).unwrap();
            is_consistent(&path);
            // One packet is in transmission, and an estimate has a margin of error.
            let truth = f64::from((packets + 1) * 1500) * 1.05;
            assert!(path.queue.get() as f64 <= truth, "{scheme}, {packets} packets: {path:?}");
        }
    }
}

/// A transfer shorter than a span has the rate of its packets as the bound, not that of a single one (0.056 Mbit/s of 12.3).
#[test]
fn a_short_transfer_has_the_bound_of_its_goodput() {
    for (rate, kilobytes) in [(100, 100), (20, 50), (5, 40)] {
        let text = format!(
            "duration = \"10 s\"\nwarmup = \"0 s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"{rate} Mbit/s\"\ndelay = \"10 ms\"\n\
             queue = \"1 bdp\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = \"cubic\"\n\
             workload = {{ kind = \"list\", transfers = \"1 0s {kilobytes}kB\" }}\n"
        );
        let recording = recorded(&load_text("path.toml", &text, std::path::Path::new("."), &[]).unwrap());
        let path = Path::infer(&recording).unwrap();
        let goodput = recording.delivered() as f64 * 8.0 / recording.seconds;
        let bound = path.rate.as_f64();
        assert!(0.8 * goodput < bound && bound <= 1.02 * f64::from(rate) * 1e6, "{goodput}: {path:?}");
    }
}

/// The lower bound of a queue is what was seen waiting, not a bandwidth-delay product.
#[test]
fn a_queue_that_was_never_full_has_a_true_lower_bound() {
    let link =
        "rate = \"20 Mbit/s\"\ndelay = \"25 ms\"\nqueue = \"8 pkt\"\nloss = 0.01\nreverse = { loss = 0 }";
    for scheme in ["newreno", "vegas", "fixed:window=20pkt"] {
        let (name, options) = scheme.split_once(':').unwrap_or((scheme, ""));
        let link = match options {
            "" => link.to_owned(),
            _ => format!("{link}\n[scheme.{name}]\nwindow = \"20 pkt\""),
        };
        let recording = simulated(name, 1, 20, &link);
        let path = Path::infer(&recording).unwrap();
        assert!(path.queue.get() <= 9 * 1500 && path.policer.is_none(), "{scheme}: {path:?}");
        is_consistent(&path);
        // The scenario has an assumption, and names it.
        assert!(path.simulated_queue.get() > 9 * 1500, "{scheme}: {path:?}");
        let text = write_inferred_scenario(&recording, &path, "path.trace", None, &Registry::default())
            .unwrap()
            .text;
        let line = text.lines().find(|line| line.starts_with("queue = ")).unwrap();
        assert!(line.contains("# an assumption") && line.contains("were seen waiting"), "{line}");
    }
}

/// A sender of a fixed rate does not fill the path that is inferred from it: the scenario has 1.5 times the lower bound, and names it an assumption.
#[test]
fn a_fixed_rate_does_not_fill_its_inferred_path() {
    for (scheme, options) in [("sstp", "rate = \"6 Mbit/s\""), ("fixed", "window = \"20 pkt\"")] {
        let link = format!(
            "rate = \"20 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"60 pkt\"\n[scheme.{scheme}]\n{options}"
        );
        let recording = simulated(scheme, 1, 10, &link);
        let path = Path::infer(&recording).unwrap();
        let expected = 1.5 * path.rate.as_f64();
        assert!(
            !path.was_filled && (path.simulated_rate.as_f64() - expected).abs() <= 1.0,
            "{scheme}: {path:?}"
        );
        let text = write_inferred_scenario(&recording, &path, "path.trace", None, &Registry::default())
            .unwrap()
            .text;
        let line = text.lines().find(|line| line.starts_with("rate = ")).unwrap();
        assert!(line.starts_with(&format!("rate = \"{}\" # an assumption", path.simulated_rate)), "{line}");
        assert!(line.ends_with(&format!("has {} or more", path.rate)), "{line}");
        let again = load_text("again.toml", &text, std::path::Path::new("."), &[]).unwrap();
        assert!(again.warnings.iter().all(|warning| warning.code != "scenario.rate"), "{scheme}: {text}");
        let recording_again = recorded(&again);
        let path_again = Path::infer(&recording_again).unwrap();
        assert!(!path_again.was_filled, "{scheme}: {path_again:?}");
        let [first, second] = [&recording, &recording_again].map(|of| of.delivered() as f64 / of.seconds);
        assert!((second / first - 1.0).abs() < 0.02, "{scheme}: {first} {second}");
    }
}

/// Losses at random that meet a queue by chance do not fill it.
#[test]
fn chance_losses_do_not_fill_the_queue() {
    for seed in [1, 2, 3] {
        let path = Path::infer(&simulated("thalweg", seed, 20, &lossy("0.01"))).unwrap();
        is_consistent(&path);
        assert!(!path.queue_was_full && path.overflows == 0, "{path:?}");
        let Losses::Independent(share) = path.losses else { panic!("{path:?}") };
        assert!((0.008..0.012).contains(&share), "{share}");
    }
}

#[test]
fn changes_of_the_path_are_reported() {
    let link = lossy("0");
    let changed = |scheme: &str, change: &str| {
        let link = format!("{link}\nschedule = [{{ at = \"10 s\", {change} }}]");
        Path::infer(&simulated(scheme, 1, 20, &link)).unwrap()
    };
    for scheme in ["bbr", "vegas", "copa", "thalweg"] {
        let path = changed(scheme, "delay = \"60 ms\"");
        is_consistent(&path);
        let Some(change) = path.change else { panic!("{scheme}: {path:?}") };
        assert!((change.at - 10.0).abs() <= 1.0, "{scheme}: {change:?}");
        assert!((change.round_trips[1] - change.round_trips[0] - 0.07).abs() < 0.005, "{scheme}: {change:?}");
        assert!(path.queue.get() <= 310_000, "{scheme}: {path:?}");
    }
    let path = changed("thalweg", "rate = \"10 Mbit/s\"");
    is_consistent(&path);
    assert!(path.trace.is_some() && path.change.is_none(), "{path:?}");
    assert!(!path.queue_was_full || (240_000..320_000).contains(&path.queue.get()), "{path:?}");
    assert!(path.queue.get() <= 320_000, "{path:?}");
    // Without a change there is none.
    for scheme in SCHEMES {
        let path = Path::infer(&simulated(scheme, 1, 20, &link)).unwrap();
        assert_eq!(path.change, None, "{scheme}");
    }
}

/// On slow and on fast paths the true rate is within its interval, which is not a point, and the rate does not vary.
#[test]
fn constant_rates_are_found() {
    // Rate in kbit/s, and seconds.
    for (kilobits, seconds) in [(300, 40), (500, 40), (700, 40), (1000, 30), (2000, 20), (10_000, 10)] {
        for scheme in ["newreno", "cubic", "vegas", "bbr", "thalweg"] {
            for queue in ["20 pkt".to_owned(), format!("{} B", (kilobits * 5).max(3000))] {
                let link = format!("rate = \"{kilobits} kbit/s\"\ndelay = \"20 ms\"\nqueue = \"{queue}\"");
                let path = Path::infer(&simulated(scheme, 1, seconds, &link)).unwrap();
                let what = format!("{scheme}, {kilobits} kbit/s, {queue}: {path:?}");
                is_consistent(&path);
                assert!(path.trace.is_none(), "{what}");
                let (low, high) = path.intervals.rate;
                let truth = f64::from(kilobits) * 1e3;
                assert!(low <= truth && truth <= high && low < high, "{what}");
                assert!(!path.was_filled || (path.rate.as_f64() / truth - 1.0).abs() < 0.002, "{what}");
            }
        }
    }
}

/// The queue of a slow path has no bias: 20 packets are found, to a packet.
#[test]
fn queues_of_slow_paths_are_found_to_a_packet() {
    for kilobits in [300, 500, 700, 1000] {
        let link = format!("rate = \"{kilobits} kbit/s\"\ndelay = \"20 ms\"\nqueue = \"20 pkt\"");
        let path = Path::infer(&simulated("cubic", 1, 40, &link)).unwrap();
        assert!(path.queue_was_full, "{path:?}");
        // The last packet that fits waits for 19 others, and for the rest of one in transmission.
        assert!((28_500..=30_000).contains(&path.queue.get()), "{kilobits}: {path:?}");
        let (low, high) = path.intervals.queue;
        assert!((low..=high).contains(&30e3), "{kilobits}: {path:?}");
    }
}

/// After a rise of the path's delay, round trips close to the new shortest one are not a sign of a queue: the sender left the path idle.
#[test]
fn the_rate_is_that_of_a_busy_path_after_a_change_of_the_delay() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"50 pkt\"";
    let limited = "\n[scheme.cubic]\nreceive-window = \"90 kB\"";
    for (scheme, at, more) in [("bbr", 10, ""), ("cubic", 8, limited), ("vegas", 10, "")] {
        for seed in [1, 2] {
            let link = format!("{link}\nschedule = [{{ at = \"{at} s\", delay = \"60 ms\" }}]{more}");
            let path = Path::infer(&simulated(scheme, seed, 20, &link)).unwrap();
            is_consistent(&path);
            let change = path.change.unwrap_or_else(|| panic!("{scheme}: {path:?}"));
            assert!((change.at - f64::from(at)).abs() < 0.3, "{scheme}: {change:?}");
            assert!((change.round_trips[1] - 0.1212).abs() < 0.002, "{scheme}: {change:?}");
            let (low, high) = path.intervals.rate;
            assert!(low <= 10e6 && 10e6 <= high && path.trace.is_none(), "{scheme}: {path:?}");
            assert!(!path.was_filled || (path.rate.as_f64() / 1e7 - 1.0).abs() < 0.01, "{scheme}: {path:?}");
            assert!(path.queue.get() <= 77_000, "{scheme}: {path:?}");
        }
    }
}

/// A delay at the beginning of a connection is not queueing delay, even if later queues never empty.
#[test]
fn a_delay_that_falls_was_no_queue() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"60 ms\"\nqueue = \"50 pkt\"\n\
                schedule = [{ at = \"12 s\", delay = \"20 ms\" }]";
    for scheme in ["cubic", "newreno"] {
        let path = Path::infer(&simulated(scheme, 1, 30, link)).unwrap();
        let change = path.change.unwrap_or_else(|| panic!("{scheme}: {path:?}"));
        assert!((change.at - 12.0).abs() < 0.3 && change.round_trips[0] > 0.121, "{scheme}: {change:?}");
        // The rate is known, and the queue to two packets.
        assert!((path.rate.as_f64() / 1e7 - 1.0).abs() < 0.001, "{scheme}: {path:?}");
        assert!(path.queue_was_full && (70_000..77_000).contains(&path.queue.get()), "{scheme}: {path:?}");
    }
}

/// Times without acknowledgements are mentioned, and drops of active queue management are not reported as losses of the link.
#[test]
fn outages_and_active_queue_management_are_reported() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"";
    let outage = format!("{link}\nqueue = \"100 pkt\"\nschedule = [{{ at = \"8 s\", outage = \"2 s\" }}]");
    let path = Path::infer(&simulated("cubic", 1, 20, &outage)).unwrap();
    let [found] = path.outages[..] else { panic!("{path:?}") };
    assert!((found.from - 8.0).abs() < 0.2 && (10.0..12.0).contains(&found.until), "{found:?}");
    let random = format!("{link}\nqueue = \"100 pkt\"\nloss = 0.005");
    for (seed, scheme) in [(1, "cubic"), (2, "newreno"), (3, "bbr")] {
        let path = Path::infer(&simulated(scheme, seed, 30, &random)).unwrap();
        assert!(!path.losses_need_queue && path.outages.is_empty(), "{scheme}: {path:?}");
    }
    for (megabits, millis) in [(10, 5), (10, 20), (4, 20)] {
        let managed = format!(
            "rate = \"{megabits} Mbit/s\"\ndelay = \"{millis} ms\"\n\
             queue = {{ discipline = \"codel\", capacity = \"1000 pkt\" }}"
        );
        let path = Path::infer(&simulated("cubic", 1, 30, &managed)).unwrap();
        assert!(path.losses_need_queue && path.policer.is_none(), "{megabits}: {path:?}");
    }
}

/// At an opportunity of a capacity trace a packet takes no time: all of the shortest round trip is the path's delay.
#[test]
fn a_path_with_a_trace_has_all_of_its_delay() {
    let link = "rate = \"1 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"20 pkt\"\n\
                schedule = [{ at = \"10 s\", rate = \"480 kbit/s\" }, { at = \"20 s\", rate = \"1 Mbit/s\" }]";
    let recording = simulated("thalweg", 1, 30, link);
    let path = Path::infer(&recording).unwrap();
    assert!(path.trace.is_some(), "{path:?}");
    let text =
        write_inferred_scenario(&recording, &path, "path.trace", None, &Registry::default()).unwrap().text;
    // 32.4 ms are 20 ms of delay, and 12 ms of transmission.
    assert!(text.contains("\ndelay = \"16208 us\"\n"), "{text}");
}

/// Repairs of packets that were dropped before the capture are not reordering, and recoveries are not timeouts.
#[test]
fn repairs_seen_on_the_path_are_no_reordering() {
    for scheme in SCHEMES {
        for packets in [8, 40] {
            let link = format!("rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"{packets} pkt\"");
            for point in [Point::Transmitters(vec![0, 1]), Point::Sink] {
                let what = format!("{scheme}, {packets} packets, {point:?}");
                let (trace, timeouts) = captured(scheme, point, &link);
                let direction = &trace.connections[0].directions[trace.connections[0].main_direction()];
                assert_eq!(direction.counts.late, 0, "{what}");
                assert!(direction.timeouts.len() as u64 <= timeouts, "{what}: {:?}", direction.timeouts);
            }
        }
    }
}

/// The scenario of a simulated recording has the options of the simulated sender, not those of real paths.
#[test]
fn options_of_simulated_senders_are_kept() {
    let registry = Registry::default();
    let options =
        "[scheme.cubic]\nprr = true\nf-rto = true\ndelayed-ack = true\nslow-start-exit = \"hystart++\"";
    for (scheme, more) in SCHEMES.into_iter().map(|scheme| (scheme, "")).chain([("cubic", options)]) {
        let link = format!("{}\n{more}", lossy("0.01"));
        let recording = simulated(scheme, 1, 5, &link);
        let path = Path::infer(&recording).unwrap();
        let text = write_inferred_scenario(&recording, &path, "path.trace", None, &registry).unwrap().text;
        let again = load_text("again.toml", &text, std::path::Path::new("."), &[]).unwrap();
        let ends = |loaded: &LoadedScenario| {
            let values = registry.scheme_of(&loaded.spec().groups[0].transport.endpoint_configs).unwrap().1;
            let values =
                values.explicit_values().iter().filter(|(key, _)| !matches!(key.name, "segment" | "header"));
            values.map(|(key, value)| format!("{}={value}", key.name)).collect::<Vec<_>>()
        };
        assert_eq!(ends(&again), ends(&loaded(scheme, 1, 5, &link)), "{scheme}: {text}");
    }
}
