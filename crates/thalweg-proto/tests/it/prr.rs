//! Proportional rate reduction as packet traces, in the notation of `sender.rs`. Expected values are computed by hand
//! from RFC 6937 and RFC 9937.

use crate::packet_trace::Trace;
use thalweg_proto::congestion::NewRenoConfig;
use thalweg_proto::window::{ControllerConfig, Recovery, SenderConfig};

/// Returns a trace with twenty segments sent at 0 in congestion avoidance.
fn begun_with(prr: bool) -> Trace {
    let config = SenderConfig { segment: 1000, recovery: Recovery::Sack, prr, ..SenderConfig::default() };
    let new_reno = ControllerConfig::NewReno(NewRenoConfig {
        initial_window: 20.0,
        initial_ssthresh: 2.0,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    });
    let mut t = Trace::new(config, &new_reno);
    assert_eq!(t.write(200), "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19");
    t.at(100);
    t
}

/// The same, with the first segment missing.
fn begun(prr: bool) -> Trace {
    let mut t = begun_with(prr);
    assert_eq!(t.sack(0, &[(1, 2)]), "20");
    assert_eq!(t.sack(0, &[(1, 3)]), "21");
    assert_eq!(t.sack(0, &[(1, 4)]), "!loss r0");
    t
}

/// RFC 6937, section 3.1: with twenty in flight and a new window of ten, one segment leaves per two delivered.
#[test]
fn a_halved_window_sends_for_every_other_delivery() {
    let mut t = begun(true);
    let sent: Vec<String> = (5..22).map(|end| t.sack(0, &[(1, end)])).collect();
    // Each delivery allows half a segment, first the retransmission; from ten in flight on the window is the limit.
    let expected = ["", "", "22", "", "23", "", "24", "", "25", "", "26", "", "27", "", "", "28", "29"];
    assert_eq!(sent, expected);
    // The retransmission arrived: eight are in flight, and the window has its halved value.
    assert_eq!(t.ack(22), "30 31");
    assert!((10.0..11.0).contains(&t.window()), "{}", t.window());
}

/// RFC 9937: RecoverFS includes the data delivered by the acknowledgement that indicates the loss, as prr_delivered
/// does. It covers five segments, four were lost: with twenty in flight each delivery allows half.
#[test]
fn the_first_loss_indication_counts_as_delivered_in_recovery() {
    let mut t = begun_with(true);
    assert_eq!(t.sack(0, &[(1, 6)]), "!loss r0 20", "2.5 segments are due, not 5 * 10 / 15");
    // 3.0, 3.5, 4.0, 4.5: fourteen were in flight after the losses, and ten are at the last.
    let sent: Vec<String> = (7..10).map(|end| t.sack(0, &[(1, end)])).collect();
    assert_eq!(sent, ["21", "", "22"]);
}

/// Without PRR nothing leaves until half of the window has left the network, and then one segment per delivery.
#[test]
fn without_prr_nothing_leaves_for_half_a_window() {
    let mut t = begun(false);
    let sent: Vec<String> = (5..22).map(|end| t.sack(0, &[(1, end)])).collect();
    assert_eq!(sent.iter().take_while(|sent| sent.is_empty()).count(), 9, "{sent:?}");
    assert!(sent[9..].iter().all(|sent| !sent.is_empty()), "{sent:?}");
}
