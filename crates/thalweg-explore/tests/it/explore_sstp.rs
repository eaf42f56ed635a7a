//! Tests that the exploration finds no violation in two-level flow control, with any treatment of segments without a
//! buffer, and one in each deliberately broken endpoint.

use crate::fault_injection::{Bend, Bent, pass_unchanged};
use core::hash::{Hash, Hasher};
use thalweg_explore::{Bounds, End, Scheme, SearchOutcome, Sstp, Tag, search};
use thalweg_proto::sstp::{Acknowledgement, Evicted, Origin, Pdu, Receiver, Sender, SenderReason};
use thalweg_proto::units::Time;

/// Two-level flow control with altered PDUs at the sender's input and the receiver's output.
struct FaultySstp {
    inner: Sstp,
    on_receive: Bend<Sender<Tag>, Pdu<Tag>>,
    on_send: Bend<Receiver<Tag>, Pdu<Tag>>,
}

impl Scheme for FaultySstp {
    type Pdu = Pdu<Tag>;
    type Sender = Bent<Sender<Tag>>;
    type Receiver = Bent<Receiver<Tag>>;

    fn ends(&self, bounds: &Bounds) -> (Self::Sender, Self::Receiver) {
        let (sender, receiver) = self.inner.ends(bounds);
        (
            Bent::new(sender, self.on_receive, pass_unchanged),
            Bent::new(receiver, pass_unchanged, self.on_send),
        )
    }

    fn is_pacing(&self, reason: &SenderReason) -> bool {
        self.inner.is_pacing(reason)
    }

    fn digest_ends<H: Hasher>(
        &self,
        (sender, sender_now): (&Self::Sender, Time),
        (receiver, receiver_now): (&Self::Receiver, Time),
        into: &mut H,
    ) {
        self.inner.digest_ends((&sender.inner, sender_now), (&receiver.inner, receiver_now), into);
        (sender.memory(), receiver.memory()).hash(into);
    }

    fn digest_pdu<H: Hasher>(
        &self,
        pdu: &Self::Pdu,
        _to: End,
        sender: &Self::Sender,
        receiver: &Self::Receiver,
        into: &mut H,
    ) {
        Origin::new(&sender.inner, &receiver.inner).pdu(pdu.clone()).hash(into);
    }
}

fn sstp(acknowledgement: Acknowledgement) -> Sstp {
    Sstp::new(acknowledgement).unwrap()
}

fn all_acknowledgement_modes() -> impl Iterator<Item = Acknowledgement> {
    let soft = [Evicted::One, Evicted::All, Evicted::AtOnce].map(Acknowledgement::Soft);
    [Acknowledgement::Firm, Acknowledgement::Hard].into_iter().chain(soft)
}

fn small_bounds() -> Bounds {
    Bounds { window: 2, messages: 5, losses: 2, duplicates: 0, delays: 0, expiries: 1, ..Bounds::default() }
}

fn run(scheme: &impl Scheme, bounds: &Bounds) -> SearchOutcome {
    search(scheme, bounds, |_, _| true)
}

/// Windows of two to four segments with buffers for one and two of them.
#[test]
fn nothing_is_wrong_with_it_where_order_is_kept() {
    for acknowledgement in all_acknowledgement_modes() {
        for (window, buffer, segment, messages) in [(2, 1, 2, 7), (3, 1, 1, 6), (3, 2, 2, 8), (4, 2, 1, 7)] {
            let scheme = Sstp { buffer: Some(buffer), segment, ..sstp(acknowledgement) };
            for (losses, duplicates, expiries) in [(2, 0, 0), (1, 1, 0), (1, 0, 1)] {
                let bounds = Bounds { window, messages, losses, duplicates, expiries, ..small_bounds() };
                let outcome = run(&scheme, &bounds);
                assert_eq!(outcome.counterexample, None, "{scheme:?} {bounds:?}");
                assert!(outcome.complete && outcome.states > 300, "{scheme:?} {bounds:?}: {outcome:?}");
            }
        }
    }
}

#[test]
fn a_window_that_a_slow_application_withholds_opens_again() {
    for acknowledgement in all_acknowledgement_modes() {
        for (segment, messages, losses, expiries) in [(1, 4, 2, 1), (2, 6, 2, 0), (2, 6, 1, 1), (2, 4, 0, 3)]
        {
            let scheme = Sstp { buffer: Some(1), segment, ..sstp(acknowledgement) };
            let bounds = Bounds { messages, losses, expiries, slow_reader: true, ..small_bounds() };
            let outcome = run(&scheme, &bounds);
            assert_eq!(outcome.counterexample, None, "{scheme:?} {bounds:?}");
            assert!(outcome.complete && outcome.states > 300, "{scheme:?} {bounds:?}: {outcome:?}");
        }
    }
}

/// The paper's network keeps order; ours may reorder, with a tolerance and without.
#[test]
fn nothing_is_wrong_with_it_where_order_is_not_kept() {
    for acknowledgement in all_acknowledgement_modes() {
        for (reordering, window, segment, messages) in
            [(0, 4, 1, 5), (1, 3, 1, 4), (1, 2, 2, 5), (2, 3, 1, 5)]
        {
            let scheme = Sstp { reordering, segment, ..sstp(acknowledgement) };
            let bounds = Bounds { window, messages, losses: 1, delays: 1, expiries: 0, ..small_bounds() };
            let outcome = run(&scheme, &bounds);
            assert_eq!(outcome.counterexample, None, "{scheme:?} {bounds:?}");
            assert!(outcome.complete && outcome.states > 500, "{scheme:?} {bounds:?}: {outcome:?}");
        }
    }
}

#[test]
fn bending_nothing_changes_nothing() {
    let inner = sstp(Acknowledgement::Firm);
    let outcome =
        run(&FaultySstp { inner, on_receive: pass_unchanged, on_send: pass_unchanged }, &small_bounds());
    assert_eq!(outcome, run(&inner, &small_bounds()));
}

#[track_caller]
fn catch_fault(
    on_receive: Bend<Sender<Tag>, Pdu<Tag>>,
    on_send: Bend<Receiver<Tag>, Pdu<Tag>>,
) -> (String, Vec<String>) {
    let mut found = None;
    for acknowledgement in all_acknowledgement_modes() {
        let outcome = run(&FaultySstp { inner: sstp(acknowledgement), on_receive, on_send }, &small_bounds());
        let states = outcome.states;
        let one = outcome
            .counterexample
            .unwrap_or_else(|| panic!("{acknowledgement:?}: not found in {states} states"));
        found.get_or_insert((one.what, one.trace));
    }
    found.unwrap()
}

/// Suppresses reports without news.
fn suppress_repeated_reports(_: &Receiver<Tag>, announced: &mut Vec<u64>, pdu: Pdu<Tag>) -> Option<Pdu<Tag>> {
    if let Pdu::Pack(report) = &pdu {
        let state = vec![u64::from(report.cumulative), u64::from(report.limit)];
        if *announced == state {
            return None;
        }
        *announced = state;
    }
    Some(pdu)
}

#[test]
fn a_receiver_that_drops_the_repeat_of_its_state_is_caught() {
    let (what, trace) = catch_fault(pass_unchanged, suppress_repeated_reports);
    assert!(what.contains("livelock") || what.contains("forever"), "{what}");
    assert!(trace.iter().any(|line| line.starts_with("PACK") && line.ends_with("is lost")), "{trace:#?}");
}

fn shift_cumulative_number<const BY: u16>(
    _: &Receiver<Tag>,
    _: &mut Vec<u64>,
    mut pdu: Pdu<Tag>,
) -> Option<Pdu<Tag>> {
    if let Pdu::Pack(report) | Pdu::Snak(report, _) = &mut pdu {
        report.cumulative = report.cumulative.wrapping_add(BY);
    }
    Some(pdu)
}

#[test]
fn a_cumulative_number_off_by_one_is_caught() {
    let (what, _) = catch_fault(pass_unchanged, shift_cumulative_number::<1>);
    assert!(what.contains("has not been delivered") || what.contains("livelock"), "{what}");
    let (what, _) = catch_fault(pass_unchanged, shift_cumulative_number::<{ u16::MAX }>);
    assert!(what.contains("livelock"), "{what}");
}

/// Drops repeated requests for a segment.
fn first_request(_: &Sender<Tag>, requested: &mut Vec<u64>, pdu: Pdu<Tag>) -> Option<Pdu<Tag>> {
    if let Pdu::Snak(_, request) = &pdu {
        let segment = u64::from(request.segment);
        if requested.contains(&segment) {
            return None;
        }
        requested.push(segment);
    }
    Some(pdu)
}

#[test]
fn a_sender_that_drops_a_repeated_request_is_caught() {
    let (what, trace) = catch_fault(first_request, pass_unchanged);
    assert!(what.contains("livelock"), "{what}");
    assert!(trace.iter().any(|line| line.ends_with("is lost")), "{trace:#?}");
}

/// Keeps the window upper limit at its first value.
fn keep_first_limit(_: &Receiver<Tag>, _: &mut Vec<u64>, mut pdu: Pdu<Tag>) -> Option<Pdu<Tag>> {
    if let Pdu::Pack(report) | Pdu::Snak(report, _) = &mut pdu {
        report.limit = 1;
    }
    Some(pdu)
}

#[test]
fn a_window_that_never_moves_is_caught() {
    let (what, trace) = catch_fault(pass_unchanged, keep_first_limit);
    assert!(what.contains("livelock"), "{what}");
    assert!(!trace.iter().any(|line| line.contains("is lost")), "{trace:#?}");
}

/// Reports repeat the first limit sent with their cumulative number: the space freed by later reads is not announced.
fn repeat_first_limit(_: &Receiver<Tag>, announced: &mut Vec<u64>, mut pdu: Pdu<Tag>) -> Option<Pdu<Tag>> {
    if let Pdu::Pack(report) | Pdu::Snak(report, _) = &mut pdu {
        match announced[..] {
            [cumulative, limit] if cumulative == u64::from(report.cumulative) => report.limit = limit as u16,
            _ => *announced = vec![report.cumulative.into(), report.limit.into()],
        }
    }
    Some(pdu)
}

#[test]
fn a_receiver_that_does_not_announce_its_open_window_or_once_only_is_caught() {
    for acknowledgement in all_acknowledgement_modes() {
        // Buffers for the whole window: with fewer, a later report of accepted data announces the read data too.
        let inner = Sstp { buffer: Some(2), ..sstp(acknowledgement) };
        for (on_send, losses) in [(repeat_first_limit as Bend<_, _>, 0), (suppress_repeated_reports, 2)] {
            let bounds = Bounds { losses, expiries: 0, slow_reader: true, ..small_bounds() };
            let outcome = run(&FaultySstp { inner, on_receive: pass_unchanged, on_send }, &bounds);
            let found =
                outcome.counterexample.unwrap_or_else(|| panic!("{acknowledgement:?} {losses}: not found"));
            assert!(found.what.contains("livelock") || found.what.contains("forever"), "{}", found.what);
            let lost = found.trace.iter().any(|line| line.ends_with("is lost"));
            assert_eq!(lost, losses > 0, "{:#?}", found.trace);
        }
    }
}

/// Segments of two packets, one of which may be missing.
#[test]
fn the_loss_tolerance_is_not_exceeded() {
    let scheme = |tolerance| Sstp { tolerance, ..Sstp::new(Acknowledgement::Firm).unwrap() };
    let bounds = Bounds { messages: 4, expiries: 0, ..small_bounds() };
    let outcome = run(&scheme(1), &bounds);
    assert_eq!(outcome.counterexample, None);
    assert!(outcome.complete && outcome.states > 100, "{outcome:?}");
    // Scheme with endpoints that tolerate more than agreed.
    let lax = Lax(scheme(1));
    let found = run(&lax, &bounds).counterexample.unwrap();
    assert!(found.what.ends_with("was skipped"), "{}", found.what);
    assert!(found.trace.iter().any(|line| line.contains("skipped: ")), "{:#?}", found.trace);
}

/// Scheme agreed to be lossless, with engines that leave out a packet of each segment.
#[derive(Clone, Copy)]
struct Lax(Sstp);

impl Scheme for Lax {
    type Pdu = Pdu<Tag>;
    type Sender = Sender<Tag>;
    type Receiver = Receiver<Tag>;

    fn ends(&self, bounds: &Bounds) -> (Self::Sender, Self::Receiver) {
        self.0.ends(bounds)
    }

    fn is_pacing(&self, reason: &SenderReason) -> bool {
        self.0.is_pacing(reason)
    }

    fn digest_ends<H: Hasher>(
        &self,
        sender: (&Self::Sender, Time),
        receiver: (&Self::Receiver, Time),
        into: &mut H,
    ) {
        self.0.digest_ends(sender, receiver, into);
    }

    fn digest_pdu<H: Hasher>(
        &self,
        pdu: &Self::Pdu,
        _to: End,
        sender: &Self::Sender,
        receiver: &Self::Receiver,
        into: &mut H,
    ) {
        Origin::new(sender, receiver).pdu(pdu.clone()).hash(into);
    }
}
