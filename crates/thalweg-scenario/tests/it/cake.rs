//! Shares of hosts behind a CAKE queue in whole simulations.

use thalweg_scenario::load_text;
use thalweg_sim::trace::NoTrace;
use thalweg_sim::{Simulation, Status};

/// Returns the share of host `b`, with one flow, beside `a`, with three, in percent; `up` from the hosts to the server,
/// else to the hosts.
fn share(isolation: &str, up: bool) -> f64 {
    let queue = format!("{{ discipline = \"cake\", capacity = \"200 pkt\", isolation = \"{isolation}\" }}");
    let link = |ends: &str, rate: u32, queue: &str| {
        format!("[[link]]\nbetween = [{ends}]\nrate = \"{rate} Mbit/s\"\ndelay = \"5 ms\"\nqueue = {queue}\n")
    };
    let flow = |host: &str, count: u32| {
        let (from, to) = if up { (host, "server") } else { ("server", host) };
        format!(
            "[[flow]]\nname = \"{host}\"\nfrom = \"{from}\"\nto = \"{to}\"\ncount = {count}\nscheme = \"cubic\"\noverhead = \"1 ms\"\n"
        )
    };
    let text = [
        "duration = \"20 s\"\nwarmup = \"5 s\"\n".to_owned(),
        link("\"a\", \"router\"", 100, "\"100 pkt\""),
        link("\"b\", \"router\"", 100, "\"100 pkt\""),
        link("\"router\", \"server\"", 10, &queue),
        flow("a", 3),
        flow("b", 1),
    ];
    let loaded = load_text("cake.toml", &text.concat(), std::path::Path::new(""), &[]).unwrap();
    let mut simulation = Simulation::new(loaded.spec(), NoTrace).unwrap();
    while simulation.advance(1 << 20) == Status::Running {}
    let flows = simulation.finish().0.flows;
    let of = |group| {
        flows.iter().filter(|flow| flow.group == group).map(|flow| flow.goodput.as_f64()).sum::<f64>()
    };
    100.0 * of(1) / (of(0) + of(1))
}

/// A quarter by flow, and a half by host, as the source of an upload and as the destination of a download.
#[test]
fn hosts_have_equal_shares_of_uploads_and_downloads() {
    for (isolation, [up, down]) in [
        ("flows", [25.0, 25.0]),
        ("triple-isolate", [50.0, 50.0]),
        ("dual-srchost", [50.0, 25.0]),
        ("dual-dsthost", [25.0, 50.0]),
        ("srchost", [50.0, 0.0]),
    ] {
        let (sent, received) = (share(isolation, true), share(isolation, false));
        assert!((sent - up).abs() < 2.0, "{isolation}: {sent}");
        // One queue for the server as the source: the flows share it as in a queue of CoDel.
        assert!(down == 0.0 || (received - down).abs() < 2.0, "{isolation}: {received}");
    }
}
