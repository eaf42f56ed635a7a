//! Response of a source to a drop with two possible signals: from a router, and by a timeout or duplicates.

use super::{config, fixed, new_reno};
use crate::packet_trace::Trace;
use thalweg_proto::congestion::{RouterSelection, SeifConfig, SourceQuenchConfig};
use thalweg_proto::transport::{Feedback, Input};
use thalweg_proto::window::{ControllerConfig, PauseConfig, Recovery, SenderConfig};

/// SEIF in the stable state with this window.
fn seif(initial_window: f64) -> ControllerConfig {
    ControllerConfig::Seif(SeifConfig {
        initial_window,
        initial_ssthresh: 2.0,
        max_window: 30.0,
        cut_back: 0.5,
        growth_windows: 1,
        follow: RouterSelection::All,
        signals: thalweg_proto::congestion::Signals::Both,
    })
}

fn trace(window: f64) -> Trace {
    Trace::new(config(Recovery::FastRetransmit), &seif(window))
}

impl Trace {
    /// Delivers a router's report that it dropped this segment.
    fn dropped(&mut self, segment: u64) -> String {
        self.feed(Input::Feedback(Feedback {
            dropped: Some(segment * 1000),
            rate: None,
            growth: None,
            queue: 0,
        }))
    }

    /// Delivers a router's warning.
    fn warned(&mut self) -> String {
        self.feed(Input::Feedback(Feedback { dropped: None, rate: None, growth: None, queue: 0 }))
    }
}

/// Liang 1991, section 3.3: a message without a number reduces the window, without a retransmission.
#[test]
fn a_warning_only_cuts() {
    let mut t = trace(8.0);
    assert_eq!(t.write(100), "0 1 2 3 4 5 6 7");
    t.at(50);
    assert_eq!(t.warned(), "!feedback");
    assert_eq!(t.window(), 4.0);
    // Four acknowledgements until no more than four are outstanding; with the fourth the window grows.
    t.at(100);
    assert_eq!([t.ack(1), t.ack(2), t.ack(3), t.ack(4)], ["", "", "", "8"]);
    assert_eq!((t.window(), t.stats().common.retransmissions), (5.0, 0));
}

/// The same: a message with a number reduces the window, and the packet is retransmitted when the window allows. Its
/// duplicates and its timeout have no further effect: one drop, one reduction.
#[test]
fn a_reported_packet_is_retransmitted_when_the_window_allows() {
    let mut t = trace(8.0);
    assert_eq!(t.write(100), "0 1 2 3 4 5 6 7");
    t.at(50);
    // Segment 2 was dropped. Seven are in the network, four are allowed.
    assert_eq!(t.dropped(2), "!feedback");
    assert_eq!((t.window(), t.in_flight()), (4.0, 7));
    t.at(100);
    assert_eq!([t.ack(1), t.ack(2)], ["", ""]);
    // 3 to 7 are in the network. 3 arrives: four; 4 arrives: three, and 2 may leave.
    assert_eq!([t.ack(2), t.ack(2)], ["", "r2"]);
    // The third duplicate and later ones.
    assert_eq!([t.ack(2), t.ack(2), t.ack(2)], ["", "", ""]);
    assert_eq!((t.window(), t.stats().recoveries), (4.0, 0));
    t.at(200);
    // 2 arrives; all later segments have arrived before.
    assert_eq!(t.ack(8), "8 9 10 11");
    assert_eq!((t.window(), t.stats().common.retransmissions), (4.0, 1));
}

/// The same: the timeout of the first transmission is disabled. The loss of the second is another event, without a
/// report.
#[test]
fn the_time_out_of_a_reported_packet_counts_from_its_second_transmission() {
    let mut t = trace(2.0);
    assert_eq!(t.write(100), "0 1");
    assert_eq!(t.timer(), 1000.0);
    t.at(900);
    assert_eq!(t.dropped(0), "!feedback");
    assert_eq!((t.window(), t.timer()), (1.0, 1900.0));
    t.at(950);
    assert_eq!(t.ack(0), "r0");
    assert_eq!(t.timer(), 1950.0);
    t.at(1950);
    assert_eq!(t.poll(), "!timeout r0");
    assert_eq!(t.stats().common.timeouts, 1);
}

/// The same: the third duplicate reduces the window like a message, and only the packet that it indicates is
/// retransmitted. A later message about it is ignored.
#[test]
fn a_message_after_the_third_duplicate_is_ignored() {
    let mut t = trace(8.0);
    assert_eq!(t.write(100), "0 1 2 3 4 5 6 7");
    t.at(100);
    assert_eq!([t.ack(0), t.ack(0), t.ack(0)], ["", "", "!loss r0"]);
    assert_eq!((t.window(), t.ssthresh()), (4.0, Some(4.0)));
    assert_eq!(t.dropped(0), "!feedback");
    assert_eq!(t.window(), 4.0);
    // Further duplicates have no effect either: three more, and three.
    for _ in 0..6 {
        assert_eq!(t.ack(0), "");
    }
    assert_eq!((t.window(), t.stats().recoveries), (4.0, 1));
    t.at(200);
    assert_eq!(t.ack(8), "8 9 10 11");
    assert_eq!((t.window(), t.stats().common.retransmissions), (4.0, 1));
}

/// Two drops are two events, even within one window: a message and a third duplicate about different packets reduce it
/// twice.
#[test]
fn each_drop_cuts_once() {
    let mut t = trace(16.0);
    assert_eq!(t.write(100), "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15");
    t.at(50);
    // A router reports 1. Nothing reports 0.
    assert_eq!(t.dropped(1), "!feedback");
    assert_eq!(t.window(), 8.0);
    t.at(100);
    // 2, 3 and 4 arrive: the third duplicate reduces the window to 4 and retransmits 0.
    assert_eq!([t.ack(0), t.ack(0), t.ack(0)], ["", "", "!loss r0"]);
    assert_eq!(t.window(), 4.0);
    // 15 are in the network, without 1: 0 and 5 to 15. After eight more duplicates it is three, and 1 may leave.
    for _ in 5..13 {
        assert_eq!(t.ack(0), "");
    }
    assert_eq!(t.ack(0), "r1");
    assert_eq!([t.ack(0), t.ack(0)], ["", ""]);
    t.at(200);
    assert_eq!([t.ack(1), t.ack(16)], ["", "16 17 18 19"]);
    assert_eq!((t.window(), t.stats().common.retransmissions), (4.0, 2));
}

/// The same: after a timeout everything is retransmitted from the oldest on. Messages about packets that it marked as
/// lost have no effect, whether they were retransmitted or still wait.
#[test]
fn a_message_after_a_time_out_is_ignored() {
    let mut t = trace(8.0);
    assert_eq!(t.write(100), "0 1 2 3 4 5 6 7");
    t.at(1000);
    assert_eq!(t.poll(), "!timeout r0 r1 r2 r3");
    assert_eq!((t.window(), t.ssthresh()), (4.0, Some(4.0)));
    assert_eq!([t.dropped(0), t.dropped(7), t.warned()], ["!feedback", "!feedback", "!feedback"]);
    // Only the warning had an effect.
    assert_eq!(t.window(), 2.0);
}

/// A packet retransmitted after a router's report may be dropped and reported again.
#[test]
fn a_packet_may_be_dropped_twice() {
    let mut t = trace(8.0);
    assert_eq!(t.write(100), "0 1 2 3 4 5 6 7");
    t.at(50);
    assert_eq!(t.dropped(7), "!feedback");
    // Again while it waits: no effect.
    assert_eq!(t.dropped(7), "!feedback");
    assert_eq!(t.window(), 4.0);
    t.at(100);
    assert_eq!([t.ack(1), t.ack(2), t.ack(3), t.ack(4)], ["", "", "", "r7 8"]);
    t.at(120);
    assert_eq!(t.dropped(7), "!feedback");
    assert_eq!(t.window(), 2.5);
    // Reports about received or unsent packets have no effect either.
    assert_eq!([t.dropped(3), t.dropped(50)], ["!feedback", "!feedback"]);
    assert_eq!(t.window(), 2.5);
}

/// Fractions: with a window of 2.5 two packets are outstanding.
#[test]
fn a_fractional_window_sends_full_packets() {
    let mut t = trace(5.0);
    assert_eq!(t.write(100), "0 1 2 3 4");
    t.at(50);
    assert_eq!(t.warned(), "!feedback");
    t.at(100);
    // 2.5: a window of two acknowledgements makes it 3.5.
    assert_eq!([t.ack(1), t.ack(2), t.ack(3)], ["", "", "5"]);
    assert_eq!((t.window(), t.in_flight()), (3.5, 3));
}

/// RFC 896: a quench closes the window, except for retransmissions by the timer.
#[test]
fn a_quenched_source_waits_for_answers() {
    let quench = ControllerConfig::SourceQuench(SourceQuenchConfig { window: 4.0, acks_per_quench: 3 });
    let mut t = Trace::new(config(Recovery::GoBackN), &quench);
    assert_eq!(t.write(100), "0 1 2 3");
    t.at(50);
    assert_eq!(t.warned(), "!feedback");
    t.at(100);
    assert_eq!([t.ack(1), t.ack(2)], ["", ""]);
    // The third acknowledgement opens it: three may leave.
    assert_eq!(t.ack(3), "4 5 6");
    t.at(150);
    assert_eq!(t.warned(), "!feedback");
    // Without acknowledgements the timer retransmits one packet at a time.
    t.at(500);
    assert_eq!(t.poll(), "!timeout r3");
    t.at(600);
    // All acknowledged at once.
    assert_eq!(t.ack(7), "7 8 9 10");
}

/// RFC 6675, section 2: with selective acknowledgement a duplicate reports new data by SACK. Others are from packets that
/// the path duplicated, and indicate no loss.
#[test]
fn duplicates_that_report_nothing_indicate_no_loss() {
    let mut t = Trace::new(config(Recovery::Sack), &new_reno(10.0));
    assert_eq!(t.write(100), "0 1 2 3 4 5 6 7 8 9");
    t.at(100);
    for _ in 0..5 {
        assert_eq!(t.ack(0), "");
    }
    for block in [(1, 2), (1, 2), (1, 3)] {
        assert!(!t.sack(0, &[block]).contains('!'));
    }
    assert!(t.sack(0, &[(1, 4)]).starts_with("!loss r0"));
}

/// Yang and Fu 2001, section 3.5: acknowledgements stopped during a pause are lost. The next one covers them; without
/// one the timer retransmits data that has arrived.
#[test]
fn stopped_acknowledgements_are_lost() {
    let pause = PauseConfig { drops_acks: true, ..PauseConfig::default() };
    let mut t = Trace::new(SenderConfig { pause, ..config(Recovery::Sack) }, &fixed(2.0));
    t.pause_once();
    assert_eq!(t.feed(Input::Pause), "");
    t.at(200);
    assert_eq!(t.ack(4), "");
    t.at(t.timer() as u64 + 1);
    assert_eq!(t.poll(), "!timeout");
    assert_eq!(t.feed(Input::Resume), "r2 r3");
}
