//! Named paths: a link refers to one in one line, and has its published figures.

use std::path::Path;
use std::sync::Arc;
use thalweg_catalog::Registry;
use thalweg_scenario::{Diagnostic, LoadedScenario, PATHS, known_path, load_text};
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::{RunResult, Simulation, Status};

fn read(text: &str) -> LoadedScenario {
    load_text("test.toml", text, Path::new(""), &[])
        .unwrap_or_else(|found| panic!("{}", found.iter().map(Diagnostic::render).collect::<String>()))
}

fn loaded(path: &str, more: &str, flow: &str) -> LoadedScenario {
    read(&format!(
        "duration = \"20 s\"\n[[link]]\nbetween = [\"server\", \"user\"]\npath = \"{path}\"\n{more}\n\
         [[flow]]\nfrom = \"server\"\nto = \"user\"\n{flow}\n"
    ))
}

fn run(path: &str, more: &str, flow: &str) -> RunResult {
    let loaded = loaded(path, more, flow);
    let mut simulation = Simulation::new(loaded.spec(), NoTrace).unwrap();
    while simulation.advance(1 << 20) == Status::Running {}
    simulation.finish().0
}

/// Name, rate to the user and back in kbit/s, and round trip in milliseconds, as published: WebPageTest's profiles;
/// draft-huitema-ccwg-c4-test; Prudentia's settings; Bless et al. 2025; Alizadeh et al. 2010.
const FIGURES: [(&str, u64, u64, f64); 13] = [
    ("dial-up", 49, 30, 120.0),
    ("dsl", 1500, 384, 50.0),
    ("3g", 1600, 768, 300.0),
    ("cable", 5000, 1000, 28.0),
    ("fibre", 20_000, 5000, 4.0),
    ("lte", 12_000, 12_000, 70.0),
    ("wifi", 20_000, 20_000, 10.0),
    ("wifi-bad", 10_000, 10_000, 2.0),
    ("geo", 250_000, 250_000, 600.0),
    ("constrained", 8000, 8000, 50.0),
    ("moderate", 50_000, 50_000, 50.0),
    ("bloated", 100_000, 100_000, 50.0),
    ("datacentre", 10_000_000, 10_000_000, 0.1),
];

#[test]
fn rates_and_round_trips_match_the_published_figures() {
    let registry = Arc::new(Registry::default());
    for (name, down, up, rtt) in FIGURES {
        let [to_user, back] = known_path(name, &registry).unwrap().unwrap();
        let kilobits =
            |line: &thalweg_sim::simulation_spec::DirectionSpec| line.rate.as_bits_per_sec() / 1000;
        assert_eq!((kilobits(&to_user), kilobits(&back)), (down, up), "{name}");
        // Packets wait for a grant or for the channel for half of the interval on average.
        let grant = back.aggregation.map_or(0.0, |batch| batch.every.as_millis_f64() / 2.0);
        let trip = (to_user.delay + back.delay).as_millis_f64() + grant;
        assert!((trip - rtt).abs() < 1e-9, "{name}: {trip} ms in place of {rtt}");
    }
}

/// Prudentia has 4 bandwidth-delay products, KIT's deep buffer 8, C4's satellite 1.
#[test]
fn queues_hold_the_published_bandwidth_delay_products() {
    let registry = Arc::new(Registry::default());
    for (name, products) in [("constrained", 4.0), ("moderate", 4.0), ("bloated", 8.0), ("geo", 1.0)] {
        let [to_user, back] = known_path(name, &registry).unwrap().unwrap();
        let product = to_user.rate.bytes_in(to_user.delay + back.delay).get() as f64;
        let thalweg_queue::Limit::Bytes(bytes) = to_user.queue.limit() else { panic!("{name}") };
        assert!((bytes as f64 / product - products).abs() < 1e-9, "{name}: {}", bytes as f64 / product);
    }
}

/// Michel et al. (IMC 2022): round trips of at least 20 ms, with quartiles of 40, 50 and 60 ms, and a median of 178
/// Mbit/s to the
/// user, above 300 at best. Mohan et al. (WWW 2024): they change every 15 s.
#[test]
fn starlink_has_the_quartiles_that_were_measured() {
    let datagrams = |from: &str| {
        format!(
            "name = \"{from}\"\nscheme = {{ base = \"udp\", segment = \"100 B\" }}\n\
             workload = {{ kind = \"cbr\", rate = \"800 bit/s\", packet = \"100 B\" }}"
        )
    };
    // One datagram per second in each direction for five hours, 1200 periods.
    let text = format!(
        "duration = \"18000 s\"\n[[link]]\nbetween = [\"server\", \"user\"]\npath = \"starlink\"\n\
         [[flow]]\nfrom = \"server\"\nto = \"user\"\n{}\n[[flow]]\nfrom = \"user\"\nto = \"server\"\n{}\n\
         [measure]\ninterval = \"off\"\n",
        datagrams("down"),
        datagrams("up")
    );
    let spec = read(&text).spec().clone();
    assert_eq!(
        spec.links[0].forward.periodic_variation.unwrap().every,
        thalweg_proto::units::Duration::from_secs(15)
    );
    let mut simulation = Simulation::new(&spec, NoTrace).unwrap();
    while simulation.advance(1 << 20) == Status::Running {}
    let result = simulation.finish().0;
    // Each direction is uniform from 10 to 40 ms, hence their sum is triangular from 20 to 80: half of it is between
    // 41.2 and 58.8.
    for flow in &result.flows {
        let (min, middle, max) = (flow.delay.min, flow.delay.p50, flow.delay.max);
        assert!((10.0..10.3).contains(&min.as_millis_f64()) && max.as_millis_f64() < 40.3, "{min} to {max}");
        assert!((middle.as_millis_f64() - 25.0).abs() < 1.5, "{middle}");
    }
    let quartile = 20.0 + 60.0 * (0.25f64 / 2.0).sqrt();
    assert!((quartile - 40.0).abs() < 2.0);
    let (rate, spread) = (
        spec.links[0].forward.rate.as_f64() / 1e6,
        spec.links[0].forward.periodic_variation.unwrap().rate_spread,
    );
    assert!((rate - 178.0).abs() < 1e-9 && rate * (1.0 + spread) > 300.0);
}

/// Flach et al. 2016, table 1: both plans reach their rate; the policed one drops and has short round trips, the shaped
/// one
/// the reverse.
#[test]
fn plans_are_policed_or_shaped() {
    let [policed, shaped] = ["policed", "shaped"].map(|path| run(path, "", "scheme = \"cubic\""));
    for result in [&policed, &shaped] {
        let goodput = result.flows[0].goodput.as_f64() / 1e6;
        assert!((1.2..1.55).contains(&goodput), "{goodput}");
    }
    assert!(policed.flows[0].retransmissions > shaped.flows[0].retransmissions);
    assert!(policed.flows[0].delay.p50.as_millis_f64() < 27.0);
    assert!(shaped.flows[0].delay.p50.as_millis_f64() > 100.0);
}

/// RFC 6040: CoDel marks ECN-capable packets. If ECN does not reach it, it drops, and the sender detects the losses.
#[test]
fn codel_drops_where_ecn_is_cleared_or_hidden() {
    let of = |path, more| {
        let link = &run(path, more, "scheme = { base = \"cubic\", ecn = true }").links[0];
        (link.marks > 0, link.drops_early > 0)
    };
    assert_eq!(of("bleached", "ecn = \"kept\""), (true, false));
    assert_eq!(of("bleached", ""), (false, true));
    assert_eq!(of("tunnel", ""), (false, true));
}

/// Alizadeh et al. 2010, section 3.5: long flows of DCTCP at 10 Gbit/s keep the queue near the threshold of 65 packets,
/// without drops.
#[test]
fn dctcp_keeps_the_datacentre_near_its_threshold() {
    let text = "duration = \"200 ms\"\nwarmup = \"50 ms\"\n[[link]]\nbetween = [\"server\", \"user\"]\npath = \"datacentre\"\n\
                [[flow]]\ncount = 2\nfrom = \"server\"\nto = \"user\"\nscheme = \"dctcp\"\nspread = \"1 ms\"\n";
    let mut simulation = Simulation::new(read(text).spec(), NoTrace).unwrap();
    while simulation.advance(1 << 20) == Status::Running {}
    let link = &simulation.finish().0.links[0];
    assert_eq!(link.drops_full, 0);
    assert!(link.marks > 0 && link.utilisation > 0.99, "{}", link.utilisation);
    assert!((20.0..80.0).contains(&link.queue.mean_packets), "{}", link.queue.mean_packets);
}

#[test]
fn link_keys_override_their_path_in_both_directions() {
    let link = |more| loaded("cable", more, "").spec().links[0].clone();
    let mbit = |link: &thalweg_sim::simulation_spec::LinkSpec| {
        [&link.forward, &link.backward].map(|line| line.rate.as_bits_per_sec() / 1_000_000)
    };
    assert_eq!(mbit(&link("")), [5, 1]);
    assert_eq!(mbit(&link("rate = \"9 Mbit/s\"")), [9, 9]);
    assert_eq!(mbit(&link("reverse = { rate = \"2 Mbit/s\" }")), [5, 2]);
    assert!(link("rate = \"9 Mbit/s\"").backward.aggregation.is_some());
}

#[test]
fn expanded_paths_give_the_same_links() {
    for path in PATHS {
        let loaded = loaded(path.name, "", "");
        let expanded = loaded.expanded();
        assert!(!expanded.contains("path ="), "{expanded}");
        assert_eq!(read(&expanded).spec(), loaded.spec(), "{}", path.name);
        assert!(path.about.len() > 20 && path.source.len() > 5);
    }
    assert!(PATHS.len() >= 10);
}

#[test]
fn unknown_path_names_are_reported_with_suggestions() {
    let text =
        "[[link]]\nbetween = [\"a\", \"b\"]\npath = \"starling\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n";
    let found = load_text("test.toml", text, Path::new(""), &[]).unwrap_err();
    let rendered = found[0].render();
    assert!(
        rendered.contains("there is no path `starling`") && rendered.contains("did you mean `starlink`?"),
        "{rendered}"
    );
}
