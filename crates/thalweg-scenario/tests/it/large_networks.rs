//! Large networks in one line: routes, traffic patterns, failures, and independence of the number of threads.

use proptest::prelude::*;
use std::path::Path;
use thalweg_proto::units::Duration;
use thalweg_scenario::{Diagnostic, LoadedScenario, load_text};
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::simulation_spec::Spec;
use thalweg_sim::verify::Verifier;
use thalweg_sim::{LinkResult, RunResult, Simulation, Status};

fn drawn(found: &[Diagnostic]) -> String {
    found.iter().map(Diagnostic::render).collect()
}

#[track_caller]
fn read(text: &str) -> LoadedScenario {
    let loaded = load_text("fabric.toml", text, Path::new(""), &[]);
    loaded.unwrap_or_else(|found| panic!("{text}{}", drawn(&found)))
}

fn run(spec: &Spec, threads: usize) -> (RunResult, bool) {
    let mut simulation = Simulation::on_threads(spec, NoTrace, threads).unwrap();
    let is_parallel = simulation.is_parallel();
    while simulation.advance(1 << 20) == Status::Running {}
    (simulation.finish().0, is_parallel)
}

/// Returns a fat tree with four ports per switch and a flow with these keys; `more` adds tables.
fn tree(paths: &str, flow: &str, more: &str) -> String {
    format!(
        "duration = \"20 ms\"\nwarmup = \"0 s\"\nnetwork = \"fat-tree k=4 rate=100 Mbit/s delay=50 us\"\n\
         [defaults.link]\nqueue = \"50 pkt\"\n[defaults.flow]\noverhead = \"1 us\"\nscheme = \"newreno\"\n\
         [routing]\npaths = \"{paths}\"\nreroute = \"2 ms\"\n[[flow]]\nname = \"flow\"\n{flow}\n{more}"
    )
}

const PERMUTATION: &str = "from = \"h*\"\nto = \"h*\"\npattern = \"permutation\"";

/// Several threads give the result of one for all kinds of routes, also with link failures and with short transfers.
#[test]
fn fat_tree_results_do_not_depend_on_threads() {
    let failure = "[[failure]]\nlink = \"a1-c1\"\nat = \"4 ms\"\nfor = \"6 ms\"\n[[failure]]\nnode = \"a3\"\nat = \"5 ms\"\n";
    let transfers = "from = \"h*\"\nto = \"h*\"\npattern = \"random\"\ndegree = 2\n\
                     workload = { kind = \"poisson\", load = \"30 %\", size = \"20 kB\" }";
    for (paths, flow, more) in [
        ("one", PERMUTATION, failure),
        ("ecmp", PERMUTATION, failure),
        ("spray", PERMUTATION, failure),
        ("ecmp", transfers, failure),
    ] {
        let loaded = read(&tree(paths, flow, more));
        let (alone, _) = run(loaded.spec(), 1);
        assert!(alone.conservation.holds() && alone.hops > 5_000, "{}", alone.hops);
        // Many threads wait for each other on a busy machine.
        let more: &[usize] = if flow == transfers {
            &[2]
        } else if paths == "ecmp" {
            &[3, 16]
        } else {
            &[2, 3]
        };
        for &threads in more {
            let (result, is_parallel) = run(loaded.spec(), threads);
            assert_eq!(result.fingerprint, alone.fingerprint, "{paths} on {threads}");
            assert!(result == alone && is_parallel, "{paths} on {threads}");
        }
    }
}

fn link<'r>(result: &'r RunResult, name: &str, from: &str) -> &'r LinkResult {
    let found = result.links.iter().find(|link| link.name == name && link.from == from);
    found.unwrap_or_else(|| panic!("no link {name}"))
}

/// A leaf with n connections and four spines: the hash assigns each connection to one spine in four, hence a spine has
/// n / 4 with a
/// variance of 3 n / 16. The sum of squares in units of n / 4 follows a chi-squared distribution with three degrees of
/// freedom: 99.9 %
/// are below 16.3. Sprayed packets are independent draws in the same way.
#[test]
fn the_ecmp_hash_spreads_connections_uniformly() {
    let text = |paths: &str| {
        format!(
            "duration = \"300 ms\"\nwarmup = \"0 s\"\nnetwork = \"leaf-spine leaves=2 spines=4 hosts=1 rate=1 Gbit/s delay=1 us\"\n\
             [routing]\npaths = \"{paths}\"\n[defaults.link]\nqueue = \"unlimited\"\n\
             [[flow]]\nname = \"flow\"\nfrom = \"h1\"\nto = \"h2\"\ncount = 2000\nstagger = \"100 us\"\n\
             scheme = \"udp\"\nworkload = {{ kind = \"cbr\", rate = \"8 kbit/s\", packet = \"1000 B\" }}\n"
        )
    };
    for paths in ["ecmp", "spray"] {
        let loaded = read(&text(paths));
        let (result, _) = run(loaded.spec(), 1);
        let taken: Vec<f64> =
            (1..=4).map(|spine| link(&result, &format!("l1-s{spine}"), "l1").packets as f64).collect();
        let all: f64 = taken.iter().sum();
        assert!(all >= 1990.0, "{taken:?}");
        let chi: f64 = taken.iter().map(|of| (of - all / 4.0).powi(2) / (all / 4.0)).sum();
        assert!(chi < 16.3 && chi > 0.01, "{paths}: {taken:?}");
        // The far leaf receives all packets sent up.
        for (spine, of) in (1..=4).zip(&taken) {
            let down = link(&result, &format!("l2-s{spine}"), &format!("s{spine}")).packets as f64;
            assert!((down - of).abs() <= 2.0, "{down} {of}");
        }
    }
    // One route for all.
    let (result, _) = run(read(&text("one")).spec(), 1);
    assert!(link(&result, "l1-s1", "l1").packets > 1990 && link(&result, "l1-s2", "l1").packets == 0);
}

/// Three routes from a to d: via b with two links and 4 ms, via c with three and 3 ms, and directly with 10 ms.
#[test]
fn routes_go_by_delay_links_or_weights() {
    let text = |metric: &str| {
        let link = |a: &str, b: &str, delay: &str, weight: u32| {
            format!("[[link]]\nbetween = [\"{a}\", \"{b}\"]\ndelay = \"{delay}\"\nweight = {weight}\n")
        };
        format!(
            "duration = \"1 s\"\nwarmup = \"0 s\"\n[routing]\nmetric = \"{metric}\"\n[defaults.link]\nrate = \"1 Mbit/s\"\n{}{}{}{}{}{}\
             [[flow]]\nfrom = \"a\"\nto = \"d\"\noverhead = \"1 us\"\n",
            link("a", "d", "10 ms", 9),
            link("a", "b", "2 ms", 1),
            link("b", "d", "2 ms", 1),
            link("a", "c", "1 ms", 2),
            link("c", "e", "1 ms", 2),
            link("e", "d", "1 ms", 2),
        )
    };
    for (metric, route) in [("delay", "a -> c -> e -> d"), ("hops", "a -> d:"), ("weight", "a -> b -> d")] {
        let explanation = read(&text(metric)).explain();
        assert!(explanation.contains(route), "{metric}: {explanation}");
    }
}

/// A failed link loses its packets until the routes change; then all packets take the detour, and later the link again.
#[test]
fn routes_go_around_a_failure() {
    let text = "duration = \"100 ms\"\nwarmup = \"0 s\"\nnetwork = \"torus width=4 rate=8 Mbit/s delay=100 us\"\n\
                [routing]\nreroute = \"10 ms\"\n\
                [[failure]]\nlink = \"n1-n2\"\nat = \"20 ms\"\nfor = \"40 ms\"\n\
                [[flow]]\nname = \"flow\"\nfrom = \"n1\"\nto = \"n2\"\nscheme = \"udp\"\n\
                workload = { kind = \"cbr\", rate = \"4 Mbit/s\", packet = \"500 B\" }\n";
    let loaded = read(text);
    let (result, _) = run(loaded.spec(), 1);
    // One packet per millisecond: 10 are lost in 10 ms, then 40 take the detour, and the rest of 100 take the direct
    // link.
    let straight = link(&result, "n1-n2", "n1");
    let around = link(&result, "n4-n1", "n1");
    assert!((9..=11).contains(&straight.losses), "{}", straight.losses);
    assert!((39..=41).contains(&around.packets), "{}", around.packets);
    assert!((59..=61).contains(&straight.packets), "{}", straight.packets);
    let explanation = loaded.explain();
    assert!(explanation.contains("n1-n2 fails at 20 ms for 40 ms"), "{explanation}");
}

/// Each pattern has the pairs of its definition.
#[test]
fn traffic_patterns_have_the_pairs_of_their_definitions() {
    let pairs = |flow: &str| {
        let loaded = read(&tree("one", flow, ""));
        let spec = loaded.spec();
        let name = |node: u32| spec.nodes[node as usize].name.clone();
        let pairs: Vec<[String; 2]> =
            spec.groups[0].node_pairs().map(|[from, to]| [name(from.0), name(to.0)]).collect();
        assert!(pairs.iter().all(|[from, to]| from != to && from.starts_with('h') && to.starts_with('h')));
        assert_eq!(spec.groups[0].count as usize, pairs.len());
        pairs
    };
    let count = |pairs: &[[String; 2]], end: usize| {
        let mut names: Vec<&String> = pairs.iter().map(|pair| &pair[end]).collect();
        names.sort();
        names.dedup();
        names.len()
    };
    let all = pairs("from = \"h*\"\nto = \"h*\"\npattern = \"all-to-all\"");
    assert_eq!((all.len(), count(&all, 0), count(&all, 1)), (240, 16, 16));
    let one = pairs(PERMUTATION);
    assert_eq!((one.len(), count(&one, 0), count(&one, 1)), (16, 16, 16));
    let incast = pairs("from = \"h*\"\nto = [\"h1\", \"h2\"]\npattern = \"incast\"\ndegree = 5");
    assert_eq!((incast.len(), count(&incast, 1)), (10, 2));
    let whole = pairs("from = \"h*\"\nto = \"h1\"\npattern = \"incast\"");
    assert_eq!((whole.len(), count(&whole, 1)), (15, 1));
    let random = pairs("from = \"h*\"\nto = \"h*\"\npattern = \"random\"\ndegree = 3");
    assert_eq!((random.len(), count(&random, 0)), (48, 16));
    let listed = pairs("from = [\"h1\", \"h2\"]\nto = [\"h3\", \"h4\"]");
    assert_eq!(listed, [["h1", "h3"], ["h2", "h4"]]);
}

/// The expanded form of a large scenario reads back unchanged.
#[test]
fn a_fabric_expands_completely() {
    let failure = "[[failure]]\nnode = \"c2\"\nat = \"4 ms\"\nfor = \"6 ms\"\n";
    let first = read(&tree("spray", PERMUTATION, failure));
    let text = first.expanded();
    let second = read(&text);
    assert_eq!(first.spec(), second.spec());
    assert_eq!(second.expanded(), text);
}

/// 1024 hosts and 3072 links: read, explained, and partitioned.
#[test]
fn a_fat_tree_of_a_thousand_hosts_is_read_and_explained() {
    let text = tree("ecmp", PERMUTATION, "").replace("k=4", "k=16");
    let began = std::time::Instant::now();
    let loaded = read(&text);
    assert_eq!((loaded.spec().nodes.len(), loaded.spec().links.len()), (1344, 3072));
    let explanation = loaded.explain();
    println!("{:?}\n{explanation}", began.elapsed());
    assert!(
        explanation.contains("between 1024 pairs of nodes") && explanation.lines().count() < 100,
        "{explanation}"
    );
    let expected = thalweg_scenario::describe_speedup(loaded.spec(), [16]);
    // The measured speed-up on this many threads is 9.5.
    let gain = expected.trim_start_matches("a run is about ").split(' ').next().unwrap();
    assert!(gain.parse::<f64>().unwrap() > 9.0, "{expected}");
}

fn network() -> impl Strategy<Value = String> {
    prop_oneof![
        (4u32..12, 1u32..9).prop_map(|(nodes, radius)| format!("geometric nodes={nodes} radius=0.{radius}")),
        (4u32..12, 1u32..9).prop_map(|(nodes, beta)| format!("waxman nodes={nodes} beta=0.{beta}")),
        // At least three nodes, as one may fail.
        (3u32..6, 1u32..4).prop_map(|(width, height)| format!("torus width={width} height={height}")),
    ]
}

/// Returns a network with such traffic; a node may fail.
fn random(network: &str, seed: u32, kinds: [&str; 4], fails: Option<u32>) -> String {
    let [paths, metric, pattern, workload] = kinds;
    let failure = fails.map_or(String::new(), |node| {
        format!("[[failure]]\nnode = \"n{node}\"\nat = \"50 ms\"\nfor = \"80 ms\"\n")
    });
    format!(
        "duration = \"200 ms\"\nwarmup = \"20 ms\"\nseed = {seed}\nnetwork = \"{network} rate=2 Mbit/s\"\n\
         [defaults.link]\ndelay = \"1 ms\"\nqueue = \"10 pkt\"\n[routing]\npaths = \"{paths}\"\nmetric = \"{metric}\"\nreroute = \"20 ms\"\n\
         {failure}[defaults.flow]\noverhead = \"1 ms\"\n[[flow]]\nname = \"flow\"\nfrom = \"n*\"\nto = \"n*\"\npattern = \"{pattern}\"\n\
         workload = {workload}\nscheme = \"newreno\"\n"
    )
}

const TRANSFERS: &str = "{ kind = \"poisson\", load = \"200 kbit/s\", size = \"5 kB\" }";

/// Verifies a run, and compares it on several threads; returns the violation, if any.
fn check_run(text: &str) -> Result<(), String> {
    let loaded = read(text);
    let spec = loaded.spec();
    let mut simulation = Simulation::new(spec, Verifier::new(spec)).unwrap();
    while simulation.advance(1 << 20) == Status::Running {}
    let (result, verifier) = simulation.finish();
    if let Err(found) = verifier.finish(&result) {
        return Err(format!("{:?}", found.iter().take(3).map(ToString::to_string).collect::<Vec<_>>()));
    }
    let is_sound =
        result.conservation.holds() && result.hops > 0 && spec.duration == Duration::from_millis(200);
    if !is_sound || run(spec, 3).0 != result {
        return Err(format!("{:?}, {} hops", result.conservation, result.hops));
    }
    Ok(())
}

/// A run ends with the first packet of a transfer in flight and later ones, on shorter paths, arrived: these are
/// buffered at the
/// receiver, and do not count as delivered.
#[test]
fn packets_buffered_at_the_end_pass_the_verifier() {
    let text = random("torus width=4 height=2", 859, ["spray", "delay", "incast", TRANSFERS], None);
    check_run(&text).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Random networks with random traffic and failures pass the verifier, and do not depend on the number of threads.
    #[test]
    fn random_fabrics_keep_the_rules(
        network in network(),
        seed in 0u32..1000,
        paths in prop::sample::select(&["one", "ecmp", "spray"][..]),
        metric in prop::sample::select(&["delay", "hops", "weight"][..]),
        pattern in prop::sample::select(&["all-to-all", "permutation", "random", "incast"][..]),
        workload in prop::sample::select(&["\"bulk\"", "\"50 kB\"", TRANSFERS][..]),
        fails in prop::option::of(1u32..4),
    ) {
        let text = random(&network, seed, [paths, metric, pattern, workload], fails);
        if let Err(found) = check_run(&text) {
            prop_assert!(false, "{found}\n{text}");
        }
    }
}
