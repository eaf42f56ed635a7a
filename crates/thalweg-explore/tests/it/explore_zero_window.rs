//! Tests that a slow application does not stall the window transport: a closed window opens again in spite of losses,
//! as the sender probes; and that a sender without probes is detected.

use crate::fault_injection::{Bend, Bent, pass_unchanged};
use thalweg_explore::{Bounds, Scheme, SearchOutcome, Tag, Window, search};
use thalweg_proto::congestion::FixedWindow;
use thalweg_proto::window::{Pdu, Receiver, Recovery, Sender};

/// The window transport with altered PDUs at the sender's input and output and at the receiver's output.
struct FaultyWindow {
    on_receive: Bend<Sender<Tag, FixedWindow>, Pdu<Tag>>,
    send: Bend<Sender<Tag, FixedWindow>, Pdu<Tag>>,
    on_send: Bend<Receiver<Tag>, Pdu<Tag>>,
}

const UNCHANGED: FaultyWindow =
    FaultyWindow { on_receive: pass_unchanged, send: pass_unchanged, on_send: pass_unchanged };
const SACK: Window = Window { recovery: Recovery::Sack };

impl Scheme for FaultyWindow {
    type Pdu = Pdu<Tag>;
    type Sender = Bent<Sender<Tag, FixedWindow>>;
    type Receiver = Bent<Receiver<Tag>>;

    fn ends(&self, bounds: &Bounds) -> (Self::Sender, Self::Receiver) {
        let (sender, receiver) = SACK.ends(bounds);
        (Bent::new(sender, self.on_receive, self.send), Bent::new(receiver, pass_unchanged, self.on_send))
    }
}

fn small_bounds() -> Bounds {
    let base = Bounds::default();
    Bounds { window: 2, messages: 4, losses: 1, duplicates: 0, slow_reader: true, ..base }
}

fn run(scheme: &impl Scheme, bounds: &Bounds) -> SearchOutcome {
    search(scheme, bounds, |_, _| true)
}

#[track_caller]
fn is_right(scheme: &impl Scheme, bounds: &Bounds) {
    let outcome = run(scheme, bounds);
    assert_eq!(outcome.counterexample, None, "{bounds:?}");
    assert!(outcome.complete && outcome.states > 50, "{bounds:?}: {outcome:?}");
}

#[test]
fn a_window_that_a_slow_application_withholds_opens_again() {
    for recovery in [Recovery::Sack, Recovery::NewReno, Recovery::GoBackN] {
        for (losses, duplicates, expiries) in [(2, 1, 0), (2, 0, 1), (0, 0, 4)] {
            is_right(&Window { recovery }, &Bounds { losses, duplicates, expiries, ..small_bounds() });
        }
    }
}

/// Acknowledgements repeat the first window sent with their number: the space freed by later reads is not announced.
fn repeat_first_window(_: &Receiver<Tag>, announced: &mut Vec<u64>, mut pdu: Pdu<Tag>) -> Option<Pdu<Tag>> {
    if let Pdu::Ack(ack) = &mut pdu {
        match announced[..] {
            [cumulative, window] if cumulative == ack.cumulative => ack.window = window,
            _ => *announced = vec![ack.cumulative, ack.window],
        }
    }
    Some(pdu)
}

/// Records the limit of the receiver's window.
fn take_window(_: &Sender<Tag, FixedWindow>, limit: &mut Vec<u64>, pdu: Pdu<Tag>) -> Option<Pdu<Tag>> {
    if let Pdu::Ack(ack) = &pdu {
        *limit = vec![ack.cumulative + ack.window];
    }
    Some(pdu)
}

/// Sends nothing beyond the window, probes included.
#[expect(clippy::ptr_arg, reason = "the signature of a bend")]
fn drop_beyond_limit(_: &Sender<Tag, FixedWindow>, limit: &mut Vec<u64>, pdu: Pdu<Tag>) -> Option<Pdu<Tag>> {
    let is_beyond =
        |pdu: &Pdu<Tag>| matches!(pdu, Pdu::Segment(segment) if limit.first() <= Some(&segment.sequence));
    Some(pdu).filter(|pdu| limit.is_empty() || !is_beyond(pdu))
}

/// RFC 9293, section 3.8.6.1: the sender probes a closed window and learns that it has opened, even if the receiver
/// does not announce it.
#[test]
fn probes_do_without_announcements() {
    is_right(
        &FaultyWindow { on_send: repeat_first_window, ..UNCHANGED },
        &Bounds { losses: 0, ..small_bounds() },
    );
}

#[test]
fn a_sender_that_waits_for_the_announcement_is_caught() {
    let without_probes = FaultyWindow { on_receive: take_window, send: drop_beyond_limit, ..UNCHANGED };
    // The announcement is lost, or never sent.
    is_right(&without_probes, &Bounds { losses: 0, expiries: 0, ..small_bounds() });
    let silent = FaultyWindow { on_send: repeat_first_window, ..without_probes };
    for (broken, losses) in [(&without_probes, 1), (&silent, 0)] {
        // A window of one packet opens only once for each packet: no later announcement replaces a lost one.
        let bounds = Bounds { window: 1, losses, expiries: 0, ..small_bounds() };
        let found = run(broken, &bounds).counterexample.unwrap();
        assert!(found.what.contains("livelock") || found.what.contains("forever"), "{}", found.what);
        let lost = found.trace.iter().any(|line| line.starts_with("ack") && line.ends_with("is lost"));
        assert_eq!(lost, losses > 0, "{:#?}", found.trace);
    }
}

#[test]
fn bending_nothing_changes_nothing() {
    assert_eq!(run(&UNCHANGED, &small_bounds()), run(&SACK, &small_bounds()));
}
