//! Results that must agree with each other: counts of the same packets, shares of a whole, and the reasons for a rate.

use std::path::Path;
use thalweg_catalog::SCHEMES;
use thalweg_proto::transport::Limit;
use thalweg_scenario::{Diagnostic, load_text};
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::{FlowResult, RunResult, Simulation, Status};

fn try_run(text: &str) -> Result<RunResult, String> {
    let rendered = |found: Vec<Diagnostic>| found.iter().map(Diagnostic::render).collect::<String>();
    let loaded = load_text("test.toml", text, Path::new(""), &[]).map_err(rendered)?;
    let mut simulation = Simulation::new(loaded.spec(), NoTrace).unwrap();
    while simulation.advance(1 << 20) == Status::Running {}
    let result = simulation.finish().0;
    assert!(result.conservation.holds());
    Ok(result)
}

fn run(text: &str) -> RunResult {
    try_run(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the file of a flow from `a` to `b` over one link.
fn over_one_link(times: &str, link: &str, flow: &str) -> String {
    format!(
        "{times}\n[[link]]\nbetween = [\"a\", \"b\"]\n{link}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    )
}

/// Savage et al. 1999: a receiver that divides acknowledgements makes a sender that counts them faster. Here every
/// scheme counts acknowledged data, and takes a divided acknowledgement for no loss.
#[test]
fn divided_acknowledgements_cost_and_gain_nothing() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"unlimited\"";
    let mut schemes = 0;
    for name in SCHEMES.iter().map(|scheme| scheme.name) {
        for window in [4, 30] {
            let file = |more: &str| {
                let scheme = format!("scheme = {{ base = \"{name}\", max-window = \"{window} pkt\" }}");
                over_one_link("duration = \"3 s\"\nwarmup = \"0 s\"", link, &format!("{scheme}\n{more}"))
            };
            let divided = match try_run(&file("misbehaviour = \"divides-acks\"")) {
                Ok(result) => result,
                Err(error) => {
                    assert!(
                        error.contains("could be made to misbehave") || error.contains("max-window"),
                        "{error}"
                    );
                    continue;
                }
            };
            let honest = run(&file(""));
            let (divided, honest) = (&divided.flows[0], &honest.flows[0]);
            assert_eq!(divided.retransmissions, honest.retransmissions, "{name}, {window}");
            let ratio = divided.goodput.as_f64() / honest.goodput.as_f64();
            assert!((0.9..1.02).contains(&ratio), "{name}, {window}: {ratio}");
            schemes += 1;
        }
    }
    assert!(schemes >= 2 * 14, "{schemes}");
}

/// The senders abort in an outage, each in the middle of a transfer.
#[test]
fn aborted_transfers_are_unfinished_for_every_workload() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"100 pkt\"\n\
                schedule = [{ at = \"3 s\", outage = \"16 s\" }]";
    for workload in [
        "kind = \"transfer\", size = \"10 MB\"",
        "kind = \"rounds\", size = \"100 kB\"",
        "kind = \"request-response\", request = \"100 kB\", response = \"100 kB\", think = \"0 s\"",
    ] {
        let scheme = "scheme = { base = \"newreno\", max-retransmissions = 2 }";
        let flow = format!("count = 5\n{scheme}\nworkload = {{ {workload} }}");
        let result = run(&over_one_link("duration = \"25 s\"", link, &flow));
        assert!(result.flows.iter().all(|flow| flow.failed.is_some()), "{workload}");
        let open = result.transfer_list.iter().filter(|transfer| transfer.end.is_none()).count();
        assert_eq!((result.transfers.unfinished, open), (5, 5), "{workload}");
    }
}

/// A flow that the scenario stops has no transfer left.
#[test]
fn stopped_transfers_are_not_unfinished() {
    let link = "rate = \"1 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"100 pkt\"";
    let flow = "stop = \"3 s\"\nscheme = \"newreno\"\nworkload = { kind = \"rounds\", size = \"10 MB\" }";
    let result = run(&over_one_link("duration = \"5 s\"", link, flow));
    assert_eq!((result.transfers.completion.count, result.transfers.unfinished), (0, 0));
}

/// The first packets of most flows are dropped, and their retransmissions are on the first link when the warm-up ends:
/// their drops are not of the packets counted as sent.
#[test]
fn no_flow_loses_more_than_it_sends() {
    let text = "duration = \"4 s\"\nwarmup = \"1.0005 s\"\n[[link]]\nbetween = [\"a\", \"r\"]\nrate = \"1 Gbit/s\"\n\
                delay = \"1 ms\"\nqueue = \"unlimited\"\n[[link]]\nbetween = [\"r\", \"b\"]\nrate = \"10 Mbit/s\"\n\
                delay = \"1 ms\"\nqueue = \"2 pkt\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\ncount = 16\n\
                scheme = \"newreno\"\n";
    let result = run(text);
    let lost = |flow: &&FlowResult| flow.counts.lost_data == flow.sent_packets;
    assert!(result.flows.iter().filter(lost).count() >= 8, "most lose all that they send");
    for flow in &result.flows {
        assert!(flow.counts.lost_data <= flow.sent_packets, "{} {:?}", flow.sent_packets, flow.counts);
    }
}

/// All packets are duplicated, and lost after that: more are lost than were sent.
#[test]
fn lost_copies_are_not_lost_packets() {
    let text = "duration = \"4 s\"\n[[link]]\nbetween = [\"a\", \"r\"]\nrate = \"100 Mbit/s\"\ndelay = \"1 ms\"\n\
                queue = \"unlimited\"\nduplicate = \"100%\"\n[[link]]\nbetween = [\"r\", \"b\"]\n\
                rate = \"100 Mbit/s\"\ndelay = \"1 ms\"\nqueue = \"unlimited\"\nloss = \"80%\"\n[[flow]]\n\
                from = \"a\"\nto = \"b\"\nscheme = \"udp\"\nworkload = { kind = \"cbr\", rate = \"1 Mbit/s\" }\n";
    let result = run(text);
    let flow = &result.flows[0];
    let share = flow.counts.lost_data as f64 / flow.sent_packets as f64;
    assert!(flow.sent_packets > 200 && (0.7..0.9).contains(&share), "{share} of {}", flow.sent_packets);
}

/// Whatever waits for a missing packet when the warm-up ends is delivered, and counted, with its headers.
#[test]
fn throughput_includes_the_packets_of_goodput() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"50 ms\"\nqueue = \"100 pkt\"\nloss = \"5%\"";
    for name in SCHEMES.iter().map(|scheme| scheme.name) {
        for warmup in ["0 s", "0.7 s", "1.3 s", "1.9 s"] {
            let times = format!("duration = \"2 s\"\nwarmup = \"{warmup}\"");
            let Ok(result) = try_run(&over_one_link(&times, link, &format!("scheme = \"{name}\""))) else {
                // Schemes whose flows need a workload of their own.
                assert_eq!(name, "udp");
                continue;
            };
            let flow = &result.flows[0];
            let (wire, payload) = (flow.delivered_wire.get(), flow.delivered.get());
            assert!(payload > 0 || warmup != "0 s", "{name}");
            assert!(wire > payload || wire + payload == 0, "{name}, {warmup}: {wire} {payload}");
        }
    }
}

/// Nagle's algorithm, not the application, holds a typist's packets back on a long path; without it the application is
/// the limit.
#[test]
fn nagles_algorithm_is_not_the_application() {
    let link = "rate = \"1 Mbit/s\"\ndelay = \"1 s\"\nqueue = \"unlimited\"";
    let run_with = |nagle: bool, workload: &str| {
        let scheme = format!("scheme = {{ base = \"newreno\", nagle = {nagle} }}");
        let flow = format!("{scheme}\nworkload = {{ {workload} }}");
        run(&over_one_link("duration = \"100 s\"\nwarmup = \"10 s\"", link, &flow)).flows.remove(0)
    };
    let share = |flow: &FlowResult, limit: Limit| {
        let known: f64 = flow.limits.iter().map(|time| time.as_secs_f64()).sum();
        flow.limits[limit.index()].as_secs_f64() / known
    };
    let often = "kind = \"telnet\", packet = \"40 B\", gap = \"200 ms\"";
    let [held, free] = [true, false].map(|nagle| run_with(nagle, often));
    assert!(free.delivered.get() > 4 * held.delivered.get());
    let [window, application] =
        [Limit::CongestionWindow, Limit::Application].map(|limit| share(&held, limit));
    assert!(window > 0.8 && application < 0.2, "{window} {application}");
    assert!(share(&free, Limit::Application) > 0.8);
    // Packets further apart than a round trip are not held.
    let seldom = run_with(true, "kind = \"cbr\", rate = \"64 bit/s\", packet = \"40 B\"");
    assert_eq!(share(&seldom, Limit::CongestionWindow), 0.0);
}
