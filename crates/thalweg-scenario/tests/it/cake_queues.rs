//! CAKE queues in whole simulations: shares of hosts, short queues, marks, a shaper before a slower device.

use thalweg_scenario::load_text;
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::{RunResult, Simulation, Status};

/// Queue with the keys of a home gateway.
fn cake(isolation: &str) -> String {
    format!("{{ discipline = \"cake\", capacity = \"500 pkt\", isolation = \"{isolation}\" }}")
}

fn link(ends: &str, rate: u32, queue: &str) -> String {
    format!("[[link]]\nbetween = [{ends}]\nrate = \"{rate} Mbit/s\"\ndelay = \"1 ms\"\nqueue = {queue}\n")
}

/// Flows of a group named like its host, up to the server or down from it.
fn flows(host: &str, up: bool, count: u32, more: &str) -> String {
    let (from, to) = if up { (host, "server") } else { ("server", host) };
    format!("[[flow]]\nname = \"{host}\"\nfrom = \"{from}\"\nto = \"{to}\"\ncount = {count}\n{more}\n")
}

/// The hosts a and b behind a router, and a server, joined by this link.
fn home(bottleneck: &str) -> String {
    [
        "duration = \"20 s\"\nwarmup = \"5 s\"\n",
        &link("\"a\", \"router\"", 100, "\"100 pkt\""),
        &link("\"b\", \"router\"", 100, "\"100 pkt\""),
        bottleneck,
    ]
    .concat()
}

fn run(text: &str, threads: usize) -> RunResult {
    let loaded = load_text("cake.toml", text, std::path::Path::new(""), &[]).unwrap();
    let mut simulation = Simulation::on_threads(loaded.spec(), NoTrace, threads).unwrap();
    while simulation.advance(1 << 20) == Status::Running {}
    simulation.finish().0
}

/// Returns the goodput of a group, in Mbit/s.
fn goodput(result: &RunResult, group: u32) -> f64 {
    let of_group = result.flows.iter().filter(|flow| flow.group == group);
    of_group.map(|flow| flow.goodput.as_f64()).sum::<f64>() / 1e6
}

/// Host `a` with eight flows beside host `b` with one, to one server or each to its own.
fn eight_and_one(isolation: &str, up: bool, servers: [&str; 2], scheme: &str) -> String {
    let of = |host: &str, server: &str, count: u32| {
        flows(host, up, count, scheme).replace("\"server\"", &format!("\"{server}\""))
    };
    let queue = "\"1000 pkt\"";
    home(&link("\"router\", \"server\"", 10, &cake(isolation)))
        + &link("\"server\", \"far\"", 100, queue)
        + &of("a", servers[0], 8)
        + &of("b", servers[1], 1)
}

/// Returns the share of `b`, in percent, after checks that the link is busy and that the flows of `a` share its part.
fn share_of_b(isolation: &str, up: bool, servers: [&str; 2], scheme: &str) -> f64 {
    let what = format!("{isolation}, up {up}, {servers:?}");
    let result = run(&eight_and_one(isolation, up, servers, scheme), 1);
    let (of_a, of_b) = (goodput(&result, 0), goodput(&result, 1));
    assert!(of_a + of_b > 9.0, "{what}: {of_a} and {of_b} Mbit/s");
    let of_flows = || result.flows[..8].iter().map(|flow| flow.goodput.as_f64());
    let (max, min) = (of_flows().fold(0.0, f64::max), of_flows().fold(f64::MAX, f64::min));
    assert!(min > 0.8 * max, "{what}: {min} to {max} bit/s");
    100.0 * of_b / (of_a + of_b)
}

/// A ninth by flow, and a half by host (section III-B): as the source of an upload, as the destination of a download,
/// and for both where the other ends differ too. A server of all has all nine flows, more than either host: with both
/// isolations the busier end decides, and flows are equal.
#[test]
fn hosts_have_equal_shares_of_uploads_and_downloads() {
    const NINTH: f64 = 100.0 / 9.0;
    // Marks instead of drops: the queues are rarely empty.
    const ECN_SCHEME: &str = "scheme = { base = \"cubic\", ecn = true }";
    for (isolation, servers, expected) in [
        ("flows", ["server", "far"], [NINTH, NINTH]),
        ("triple-isolate", ["server", "far"], [50.0, 50.0]),
        ("triple-isolate", ["server", "server"], [NINTH, NINTH]),
        ("dual-srchost", ["server", "server"], [50.0, NINTH]),
        ("dual-dsthost", ["server", "server"], [NINTH, 50.0]),
    ] {
        for (up, expected) in [true, false].into_iter().zip(expected) {
            let share = share_of_b(isolation, up, servers, ECN_SCHEME);
            assert!((share - expected).abs() < 4.0, "{isolation}, up {up}, {servers:?}: {share}");
        }
    }
}

/// Returns the parts of the link that host `a` with four flows and host `b` with one have for a minute.
fn four_and_one(isolation: &str, rate: u32, delay_ms: u32, scheme: &str) -> [f64; 2] {
    let text = eight_and_one(isolation, true, ["server", "server"], scheme)
        .replace("count = 8", "count = 4")
        .replace("20 s", "65 s")
        .replace("rate = \"10 Mbit/s\"", &format!("rate = \"{rate} Mbit/s\""))
        .replace("delay = \"1 ms\"", &format!("delay = \"{delay_ms} ms\""));
    let result = run(&text, 1);
    let parts = [0, 1].map(|group| goodput(&result, group));
    let all = parts[0] + parts[1];
    parts.map(|part| part / all)
}

/// Also where queues are often empty: such a flow keeps its queue, and its debt, until its turn.
#[test]
fn four_flows_of_a_host_get_as_much_as_one_of_another() {
    for (rate, delay_ms, scheme) in [
        (10, 1, "scheme = { base = \"cubic\", preset = \"linux\" }"),
        (20, 1, "scheme = { base = \"cubic\", ecn = true }"),
        (80, 1, "scheme = \"cubic\""),
        (10, 5, "scheme = \"cubic\""),
        (50, 5, "scheme = \"cubic\""),
    ] {
        let [of_a, of_b] = four_and_one("dual-srchost", rate, delay_ms, scheme);
        assert!(
            (of_a / 0.5 - 1.0).abs() < 0.05,
            "{rate} Mbit/s, {delay_ms} ms, {scheme}: {of_a:.3} {of_b:.3}"
        );
    }
}

/// One CUBIC flow without ECN does not keep its queue busy all the time, as COBALT drops early: what it leaves goes to the others.
#[test]
fn a_single_connection_has_most_of_its_hosts_share() {
    let share = |isolation| share_of_b(isolation, true, ["server", "far"], "scheme = \"cubic\"");
    let (by_flow, by_host) = (share("flows"), share("triple-isolate"));
    assert!((by_flow - 100.0 / 9.0).abs() < 1.0 && by_host > 35.0, "{by_flow} and {by_host} %");
}

/// Hosts behind access links of their own are hosts too: four flows of a group are four hosts beside one node.
#[test]
fn flows_with_access_links_have_hosts_of_their_own() {
    let access = "access = { rate = \"100 Mbit/s\", delay = \"1 ms\" }";
    let text = "duration = \"20 s\"\nwarmup = \"5 s\"\n".to_owned()
        + &link("\"router\", \"server\"", 10, &cake("dual-srchost"))
        + &format!(
            "[[flow]]\nname = \"each\"\nfrom = \"router\"\nto = \"server\"\ncount = 4\nscheme = \"cubic\"\n{access}\n"
        )
        + "[[flow]]\nname = \"one\"\nfrom = \"router\"\nto = \"server\"\ncount = 4\nscheme = \"cubic\"\n";
    let result = run(&text, 1);
    let share = goodput(&result, 1) / (goodput(&result, 0) + goodput(&result, 1));
    assert!((share - 0.2).abs() < 0.03, "{share}");
}

/// A flow of 200 kbit/s beside eight uploads of another host finds its queue empty: it waits for the packet in service
/// alone, 1.2 ms on this link, however long the queues of the others are.
#[test]
fn a_sparse_flow_does_not_wait() {
    let text = home(&link("\"router\", \"server\"", 10, &cake("triple-isolate")))
        + &flows("a", true, 8, "scheme = \"cubic\"")
        + &flows("b", true, 1, "scheme = { base = \"udp\", rate = \"200 kbit/s\" }");
    let result = run(&text, 1);
    // Two links of 1 ms, and the transmission of a packet on each.
    let delay = result.flows[8].delay.p99.as_secs_f64() * 1e3;
    assert!(delay < 2.0 + 0.2 + 1.3 + 1.5, "{delay} ms");
    assert!(result.flows[0].delay.mean.as_secs_f64() > 1.5 * delay / 1e3, "{:?}", result.flows[0].delay);
}

/// ECN-capable flows are marked, not dropped; COBALT's target of 5 ms keeps the queue near it.
#[test]
fn capable_flows_are_marked() {
    let bottleneck = link("\"router\", \"server\"", 20, &cake("triple-isolate"));
    let of = |ecn: bool| {
        let text = home(&bottleneck)
            + &flows("a", true, 1, &format!("scheme = {{ base = \"cubic\", ecn = {ecn} }}"));
        let result = run(&text, 1);
        let link =
            result.links.iter().find(|link| link.from == "router" && link.to == "server").unwrap().clone();
        (link.marks, link.drops_early + link.drops_full, link.queue.mean_bytes * 8.0 / 20e6)
    };
    let (marks, drops, wait) = of(true);
    assert!(marks > 5 && drops == 0, "{marks} marks, {drops} drops");
    assert!(wait < 0.012, "{wait} s");
    let (marks, drops, _) = of(false);
    assert!(marks == 0 && drops > 5, "{marks} marks, {drops} drops");
}

/// A modem with a long queue behind the router: shaped to less than the modem's rate, the queue is CAKE's.
#[test]
fn a_shaper_below_the_modems_rate_keeps_the_queue_in_cake() {
    let waiting = |shaper: &str| {
        let text = home("")
            + &link("\"router\", \"modem\"", 100, &cake("triple-isolate"))
            + shaper
            + &link("\"modem\", \"server\"", 10, "\"1000 pkt\"")
            + &flows("a", true, 2, "scheme = \"cubic\"");
        let result = run(&text, 1);
        let of = |from: &str, to: &str| {
            let link = result.links.iter().find(|link| link.from == from && link.to == to).unwrap();
            link.queue.mean_packets
        };
        (of("router", "modem"), of("modem", "server"), goodput(&result, 0))
    };
    let (in_cake, in_modem, goodput) = waiting("shaper = { rate = \"9.5 Mbit/s\", burst = \"3028 B\" }\n");
    assert!(in_cake > 2.0 && in_modem < 1.0, "{in_cake} and {in_modem} packets");
    assert!(goodput > 8.5, "{goodput} Mbit/s");
    let (in_cake, in_modem, _) = waiting("");
    assert!(in_cake < 1.0 && in_modem > 100.0, "{in_cake} and {in_modem} packets");
}

/// A partition with the queue but not with the flows that cross it still knows their hosts.
#[test]
fn threads_change_no_share() {
    let text = eight_and_one("triple-isolate", true, ["server", "far"], "scheme = \"cubic\"");
    let alone = run(&text, 1);
    for threads in [2, 3] {
        let loaded = load_text("cake.toml", &text, std::path::Path::new(""), &[]).unwrap();
        assert!(Simulation::on_threads(loaded.spec(), NoTrace, threads).unwrap().is_parallel());
        assert!(run(&text, threads) == alone, "{threads} threads");
    }
}
