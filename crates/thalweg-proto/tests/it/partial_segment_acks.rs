//! Acknowledgements within a segment as packet traces, in the notation of `sender.rs`: of receivers that divide
//! acknowledgements (Savage et al. 1999, ACK division), and of those that trim a segment at the edge of their window.

use crate::packet_trace::Trace;
use thalweg_proto::Ecn;
use thalweg_proto::congestion::{FixedWindowConfig, NewRenoConfig};
use thalweg_proto::transport::Input;
use thalweg_proto::units::Duration;
use thalweg_proto::window::{Ack, ControllerConfig, Pdu, RackConfig, Recovery, SenderConfig};

const RECOVERIES: [Recovery; 4] =
    [Recovery::GoBackN, Recovery::FastRetransmit, Recovery::NewReno, Recovery::Sack];

/// All kinds of loss recovery.
fn configs() -> Vec<SenderConfig> {
    let rack = RackConfig { undo: true, tail_probe: false, max_ack_delay: Duration::ZERO };
    let by_time = SenderConfig { rack: Some(rack), ..SenderConfig::default() };
    let by_count = RECOVERIES.map(|recovery| SenderConfig { recovery, ..SenderConfig::default() });
    let mut all = Vec::from(by_count);
    all.push(by_time);
    all.iter_mut().for_each(|config| config.segment = 1000);
    all
}

fn ack(t: &mut Trace, cumulative: u64, window: u64) -> String {
    let ack = Ack { cumulative, window, ..Ack::default() };
    t.feed(Input::Pdu { pdu: Pdu::Ack(ack), ecn: Ecn::NotEct })
}

/// An acknowledgement within a segment signals no loss (RFC 5681, section 3.2): nothing is retransmitted, and the window
/// opens when the whole segment is acknowledged.
#[test]
fn a_divided_acknowledgement_retransmits_nothing() {
    for config in configs() {
        for closed in [false, true] {
            let mut t = Trace::new(config, &ControllerConfig::FixedWindow(FixedWindowConfig { window: 4.0 }));
            assert_eq!(t.write(100), "0 1 2 3");
            t.at(100);
            for number in 0..20 {
                for part in 1..8 {
                    // A window that moves with the data, and one whose edge stays, as its buffer is not read.
                    let at = 1000 * number + 125 * part;
                    let window = if closed { 100_000 - at } else { 1 << 20 };
                    assert_eq!(ack(&mut t, at, window), "", "{config:?}: {at}");
                }
                let window = if closed { 99_000 - 1000 * number } else { 1 << 20 };
                assert_eq!(ack(&mut t, 1000 * (number + 1), window), (number + 4).to_string(), "{config:?}");
            }
            assert_eq!(t.stats().common.retransmissions, 0, "{config:?}");
        }
    }
}

/// The window grows by the bytes acknowledged, not by the acknowledgements (RFC 5681, section 3.1; RFC 3465).
#[test]
fn divided_acknowledgements_do_not_open_the_window_faster() {
    let new_reno = ControllerConfig::NewReno(NewRenoConfig {
        initial_window: 4.0,
        initial_ssthresh: 16.0,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    });
    for config in configs() {
        let [whole, divided] = [1, 8].map(|parts| {
            let mut t = Trace::new(config, &new_reno);
            t.write(200);
            t.at(100);
            for at in 1..=parts * 40 {
                ack(&mut t, 1000 * at / parts, 1 << 20);
            }
            t.window()
        });
        assert!(whole > 17.0);
        assert_eq!(whole, divided, "{config:?}");
    }
}

/// RFC 9293, section 3.10.7.4: a receiver keeps the part of a segment that is within its window. The rest is sent again
/// at once when the window opens: no further signal indicates that it is missing.
#[test]
fn a_trimmed_segment_is_sent_again() {
    for config in configs() {
        let mut t = Trace::new(config, &ControllerConfig::FixedWindow(FixedWindowConfig { window: 2.0 }));
        assert_eq!(t.write(100), "0 1");
        t.at(100);
        // The first window is known only now: 300 bytes, read at once.
        assert_eq!(ack(&mut t, 300, 300), "r0", "{config:?}");
        t.at(200);
        assert_eq!(ack(&mut t, 600, 300), "r0", "{config:?}");
        t.at(300);
        // Read later: the window update releases the retransmission.
        assert_eq!(ack(&mut t, 900, 0), "", "{config:?}");
        assert_eq!(ack(&mut t, 900, 300), "r0", "{config:?}");
    }
}

/// A peer that withdraws part of its window trims segments in flight at the new edge (RFC 9293, section 3.8.6).
#[test]
fn a_segment_trimmed_by_a_smaller_window_is_sent_again() {
    for config in configs() {
        let mut t = Trace::new(config, &ControllerConfig::FixedWindow(FixedWindowConfig { window: 4.0 }));
        assert_eq!(t.write(100), "0 1 2 3");
        t.at(100);
        assert_eq!(ack(&mut t, 1000, 10_000), "4", "{config:?}");
        assert_eq!(ack(&mut t, 1500, 400), "r1", "{config:?}");
    }
}
