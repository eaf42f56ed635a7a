//! No window scheme floods a path because its receiver acknowledges what never arrived.

use std::path::Path;
use thalweg_catalog::{Collapse, SCHEMES};
use thalweg_scenario::load_text;
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::{Simulation, Status};

const MISBEHAVIOURS: [&str; 5] =
    ["divides-acks", "repeats-acks", "conceals-loss", "optimistic", "conceals-marks"];

/// Maximum number of packets sent for each that arrives: acknowledgements cover up to four arrivals each before they
/// are verified, and a sender may double its rate in each of the two round trips of a check.
const MAX_SENT_PER_ARRIVAL: f64 = 8.0;

/// A flood would take minutes; the bound needs about a tenth of these millions of events.
const MAX_ADVANCES: u32 = 20;

/// Returns the packets sent by `scheme` for each that arrives, on a path of 10 Mbit/s with an outage of 1 s; `None` for a
/// scheme whose receiver cannot misbehave.
fn sent_per_arrival(scheme: &str, misbehaviour: &str, delay_ms: u32, queue: &str, more: &str) -> Option<f64> {
    let text = format!(
        "duration = \"14 s\"\nwarmup = \"0 s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\n\
         delay = \"{delay_ms} ms\"\nqueue = {queue}\nschedule = [{{ at = \"5 s\", outage = \"1 s\" }}]\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = {{ base = \"{scheme}\"{more} }}\nmisbehaviour = \"{misbehaviour}\"\n"
    );
    let loaded = match load_text("misbehaving.toml", &text, Path::new(""), &[]) {
        Ok(loaded) => loaded,
        Err(error) => {
            let error = format!("{error:?}");
            assert!(error.contains("no receiver that could be made to misbehave"), "{error}");
            return None;
        }
    };
    let mut simulation = Simulation::new(loaded.spec(), NoTrace).unwrap();
    for _ in 0..MAX_ADVANCES {
        if simulation.advance(1 << 20) != Status::Running {
            break;
        }
    }
    let flow = &simulation.finish().0.flows[0];
    Some(flow.sent_packets as f64 / flow.counts.arrived_data as f64)
}

#[test]
fn no_misbehaviour_makes_a_window_scheme_flood_the_path() {
    let mut schemes = 0;
    for description in SCHEMES {
        let name = description.name;
        // Sends what is lost also to correct receivers.
        if matches!(description.traits.collapse, Collapse::Unresponsive | Collapse::ShortQueue) {
            continue;
        }
        for misbehaviour in MISBEHAVIOURS {
            for (delay, queue) in [(20, "\"1 bdp\""), (5, "\"20 pkt\""), (80, "\"1 bdp\"")] {
                let Some(sent) = sent_per_arrival(name, misbehaviour, delay, queue, "") else { continue };
                schemes += 1;
                assert!(
                    sent < MAX_SENT_PER_ARRIVAL,
                    "{name}, {misbehaviour}, {delay} ms: {sent:.1} packets for one that arrives"
                );
            }
        }
    }
    assert!(schemes >= 13 * MISBEHAVIOURS.len() * 3, "{schemes}");
}

/// The bound is that of the verification.
#[test]
fn an_unverified_receiver_makes_cubic_flood_the_path() {
    let sent = sent_per_arrival("cubic", "conceals-loss", 20, "\"1 bdp\"", ", verify-acks = false").unwrap();
    assert!(sent > 2.0 * MAX_SENT_PER_ARRIVAL, "{sent}");
}
