//! Proportional rate reduction as packet traces, in the notation of `sender.rs`. What is expected is worked out by hand from
//! RFC 6937 and RFC 9937.

mod steered;
mod trace;

use thalweg_proto::congestion::{ControllerConfig, NewRenoConfig};
use thalweg_proto::window::{Recovery, SenderConfig};
use trace::Trace;

/// Twenty segments were sent at 0 in congestion avoidance.
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

/// The same, and the first is missing.
fn begun(prr: bool) -> Trace {
    let mut t = begun_with(prr);
    assert_eq!(t.sack(0, &[(1, 2)]), "20");
    assert_eq!(t.sack(0, &[(1, 3)]), "21");
    assert_eq!(t.sack(0, &[(1, 4)]), "!duplicates r0");
    t
}

/// RFC 6937, section 3.1: with twenty in flight and a window of ten from now on, a segment goes for every other that is delivered.
#[test]
fn a_halved_window_sends_for_every_other_delivery() {
    let mut t = begun(true);
    let sent: Vec<String> = (5..22).map(|end| t.sack(0, &[(1, end)])).collect();
    // Half a segment is owed for each, the repair was the first; from ten in flight on as many go as the window has room for.
    let expected = ["", "", "22", "", "23", "", "24", "", "25", "", "26", "", "27", "", "", "28", "29"];
    assert_eq!(sent, expected);
    // The repair arrived: eight are in flight, and the window is what it was halved to.
    assert_eq!(t.ack(22), "30 31");
    assert!((10.0..11.0).contains(&t.window()), "{}", t.window());
}

/// RFC 9937: RecoverFS counts what the acknowledgement delivers that tells of the loss, as
/// prr_delivered does. One tells of five segments, four had been lost: of twenty in flight half may go for each.
#[test]
fn the_acknowledgement_that_tells_of_the_loss_is_part_of_recovery() {
    let mut t = begun_with(true);
    assert_eq!(t.sack(0, &[(1, 6)]), "!duplicates r0 20", "2.5 segments are due, not 5 * 10 / 15");
    // 3.0, 3.5, 4.0, 4.5: fourteen were in flight after the losses, and ten are at the last.
    let sent: Vec<String> = (7..10).map(|end| t.sack(0, &[(1, end)])).collect();
    assert_eq!(sent, ["21", "", "22"]);
}

/// Without it nothing goes until half of the window has left the network, and then one for each.
#[test]
fn without_it_half_a_round_trip_is_silent() {
    let mut t = begun(false);
    let sent: Vec<String> = (5..22).map(|end| t.sack(0, &[(1, end)])).collect();
    assert_eq!(sent.iter().take_while(|sent| sent.is_empty()).count(), 9, "{sent:?}");
    assert!(sent[9..].iter().all(|sent| !sent.is_empty()), "{sent:?}");
}
