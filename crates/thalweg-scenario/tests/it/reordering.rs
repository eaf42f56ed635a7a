//! Paths that reorder without loss: 100 Mbit/s with a round trip of 100 ms and some late packets. Kernels with CUBIC
//! and time-based
//! loss detection reach 68 Mbit/s on the first.

use std::path::Path;
use thalweg_scenario::{Diagnostic, load_text};
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::{RunResult, Simulation, Status};

/// Runs a transfer for 20 s with this share of packets late by up to `late`.
fn run(scheme: &str, share: &str, late: &str) -> RunResult {
    let text = format!(
        "duration = \"20 s\"\n\
         [[link]]\nname = \"path\"\nbetween = [\"here\", \"there\"]\nrate = \"100 Mbit/s\"\ndelay = \"50 ms\"\n\
         queue = \"1 bdp\"\nreorder = {{ probability = \"{share}\", delay = \"{late}\" }}\n\
         [[flow]]\nfrom = \"here\"\nto = \"there\"\nworkload = \"bulk\"\n\
         scheme = {{ segment = \"1408 B\", header = \"92 B\", {scheme} }}"
    );
    let loaded = load_text("test.toml", &text, Path::new(""), &[])
        .unwrap_or_else(|found| panic!("{}", found.iter().map(Diagnostic::render).collect::<String>()));
    let mut simulation = Simulation::new(loaded.spec(), NoTrace).unwrap();
    while simulation.advance(1 << 20) == Status::Running {}
    simulation.finish().0
}

fn goodput(scheme: &str, share: &str, late: &str) -> f64 {
    let flow = &run(scheme, share, late).flows[0];
    println!(
        "{scheme}, {share} {late}: {} {} again, {} timeouts",
        flow.goodput, flow.retransmissions, flow.timeouts
    );
    flow.goodput.as_f64() / 1e6
}

#[test]
fn reordered_packets_are_not_declared_lost() {
    for base in ["cubic", "newreno"] {
        for (share, late) in [("1 %", "3 ms"), ("1 %", "10 ms"), ("5 %", "10 ms"), ("5 %", "20 ms")] {
            let rate = goodput(
                &format!("base = \"{base}\", rack = true, byte-counting = \"unlimited\""),
                share,
                late,
            );
            assert!(rate > 60.0, "{base}, {share} of packets {late} late: {rate} Mbit/s");
        }
    }
    // Without RACK, three overtaking packets count as a loss.
    assert!(goodput("base = \"cubic\"", "1 %", "3 ms") < 20.0);
}
