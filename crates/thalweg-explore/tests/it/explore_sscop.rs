//! Tests that the exploration finds no violation in SSCOP's data transfer, and one in each deliberately broken
//! endpoint.

use crate::fault_injection::{Bend, Bent, pass_unchanged};
use core::hash::Hasher;
use thalweg_explore::{Bounds, End, Scheme, SearchOutcome, Sscop, Tag, search};
use thalweg_proto::sscop::{Config, Credit, Endpoint, Pdu, SequenceNumber};

type Side = Bend<Endpoint<Tag>, Pdu<Tag>>;

/// SSCOP with altered PDUs at the sender's input and the receiver's output.
struct FaultySscop {
    on_receive: Side,
    on_send: Side,
}

impl Scheme for FaultySscop {
    type Pdu = Pdu<Tag>;
    type Sender = Bent<Endpoint<Tag>>;
    type Receiver = Bent<Endpoint<Tag>>;

    const SET_UP: u32 = Sscop::SET_UP;

    fn ends(&self, bounds: &Bounds) -> (Self::Sender, Self::Receiver) {
        let (sender, receiver) = Sscop::default().ends(bounds);
        (
            Bent::new(sender, self.on_receive, pass_unchanged),
            Bent::new(receiver, pass_unchanged, self.on_send),
        )
    }

    fn digest_pdu<H: Hasher>(
        &self,
        pdu: &Self::Pdu,
        to: End,
        sender: &Self::Sender,
        receiver: &Self::Receiver,
        into: &mut H,
    ) {
        Sscop::default().digest_pdu(pdu, to, &sender.inner, &receiver.inner, into);
    }
}

fn small_bounds() -> Bounds {
    Bounds { window: 2, messages: 4, losses: 2, duplicates: 0, delays: 0, expiries: 1, ..Bounds::default() }
}

fn run(scheme: &impl Scheme, bounds: &Bounds) -> SearchOutcome {
    search(scheme, bounds, |_, _| true)
}

#[test]
fn nothing_is_wrong_with_it() {
    for window in 2..=4 {
        for (losses, expiries) in [(2, 1), (1, 2), (4, 0)] {
            let bounds = Bounds { window, messages: window + 3, losses, expiries, ..small_bounds() };
            for (max_pd, max_stat, poll_after_retransmission) in
                [(2, 3, false), (1, 3, true), (25, 67, false)]
            {
                let Sscop(base) = Sscop::default();
                let config = Config { max_pd, max_stat, poll_after_retransmission, ..base };
                let outcome = run(&Sscop(config), &bounds);
                assert_eq!(outcome.counterexample, None, "{bounds:?}");
                assert!(outcome.complete && outcome.states > 1000, "{bounds:?}: {outcome:?}");
            }
        }
    }
}

/// A window that only the application widens stays closed if the application does not read.
#[test]
fn a_window_never_widened_stays_closed() {
    let Sscop(base) = Sscop::default();
    let outcome = run(&Sscop(Config { credit: Credit::User, ..base }), &small_bounds());
    let found = outcome.counterexample.unwrap();
    assert!(found.what.contains("livelock"), "{}", found.what);
}

#[test]
fn a_window_that_a_slow_application_widens_opens_again() {
    for (losses, expiries) in [(0, 4), (2, 2), (4, 0)] {
        let bounds = Bounds { losses, expiries, slow_reader: true, ..small_bounds() };
        let outcome = run(&Sscop::default(), &bounds);
        assert_eq!(outcome.counterexample, None, "{bounds:?}");
        assert!(outcome.complete && outcome.states > 1000, "{bounds:?}: {outcome:?}");
    }
}

/// STATs repeat the first N(MR) sent with an N(R): credit from later reads is not announced.
fn keep_first_credit(_: &Endpoint<Tag>, announced: &mut Vec<u64>, mut pdu: Pdu<Tag>) -> Option<Pdu<Tag>> {
    if let Pdu::Stat(stat) = &mut pdu {
        match announced[..] {
            [r, mr] if r == u64::from(stat.r.get()) => stat.mr = SequenceNumber::new(mr as u32),
            _ => *announced = vec![stat.r.get().into(), stat.mr.get().into()],
        }
    }
    Some(pdu)
}

#[test]
fn a_receiver_that_does_not_announce_its_open_window_is_caught() {
    let bounds = Bounds { slow_reader: true, ..small_bounds() };
    let found = run(&FaultySscop { on_receive: pass_unchanged, on_send: keep_first_credit }, &bounds)
        .counterexample
        .unwrap();
    assert!(found.what.contains("livelock"), "{}", found.what);
    assert!(found.trace.iter().any(|line| line == "the application reads a byte"), "{:#?}", found.trace);
}

#[test]
fn bending_nothing_changes_nothing() {
    let outcome = run(&FaultySscop { on_receive: pass_unchanged, on_send: pass_unchanged }, &small_bounds());
    assert_eq!(outcome, run(&Sscop::default(), &small_bounds()));
}

#[track_caller]
fn catch_fault(on_receive: Side, on_send: Side) -> (String, Vec<String>) {
    let outcome = run(&FaultySscop { on_receive, on_send }, &small_bounds());
    let found = outcome.counterexample.unwrap_or_else(|| panic!("not found: {} states", outcome.states));
    (found.what, found.trace)
}

/// Adds `BY` to the N(R) of a STAT.
fn shift_stat_number<const BY: u32>(
    _: &Endpoint<Tag>,
    _: &mut Vec<u64>,
    mut pdu: Pdu<Tag>,
) -> Option<Pdu<Tag>> {
    if let Pdu::Stat(stat) = &mut pdu {
        stat.r = stat.r.plus(BY);
    }
    Some(pdu)
}

#[test]
fn a_stat_that_is_off_by_one_is_caught() {
    // N(R) beyond the sent data is a protocol error; with N(R) one too low, the last SD is never acknowledged.
    assert_eq!(catch_fault(pass_unchanged, shift_stat_number::<1>).0, "an end gave up: Desynchronised");
    let (what, _) = catch_fault(pass_unchanged, shift_stat_number::<{ SequenceNumber::MODULUS - 1 }>);
    assert!(what.contains("livelock"), "{what}");
}

/// Acknowledges one SD too many, if it was sent.
fn believed_early(end: &Endpoint<Tag>, _: &mut Vec<u64>, mut pdu: Pdu<Tag>) -> Option<Pdu<Tag>> {
    if let Pdu::Stat(stat) = &mut pdu
        && end.sscop().variables().vt_s.is_later_than(stat.r)
    {
        stat.r = stat.r.next();
        stat.list.clear();
    }
    Some(pdu)
}

#[test]
fn a_sender_that_believes_one_too_many_is_caught() {
    let (what, trace) = catch_fault(believed_early, pass_unchanged);
    assert!(what.contains("has not been delivered") || what.contains("livelock"), "{what}");
    assert!(trace.iter().any(|line| line.contains("is lost")), "{trace:#?}");
}

/// Treats every STAT as the answer to the last POLL: SDs retransmitted since the answered POLL are retransmitted again.
fn without_guard(end: &Endpoint<Tag>, _: &mut Vec<u64>, mut pdu: Pdu<Tag>) -> Option<Pdu<Tag>> {
    if let Pdu::Stat(stat) = &mut pdu {
        stat.ps = end.sscop().variables().vt_ps;
    }
    Some(pdu)
}

#[test]
fn a_sender_without_the_guard_of_poll_numbers_is_caught() {
    let (what, trace) = catch_fault(without_guard, pass_unchanged);
    assert_eq!(what, "an end gave up: Desynchronised");
    assert!(trace.iter().any(|line| line.contains("is lost")), "{trace:#?}");
}

fn without_list(_: &Endpoint<Tag>, _: &mut Vec<u64>, mut pdu: Pdu<Tag>) -> Option<Pdu<Tag>> {
    if let Pdu::Stat(stat) = &mut pdu {
        stat.list.clear();
    }
    Some(pdu)
}

#[test]
fn reporting_gaps_only_once_is_detected() {
    let (what, _) = catch_fault(pass_unchanged, without_list);
    assert!(what.contains("livelock"), "{what}");
}

/// Drops the credit that a receiver grants when the window moves.
fn without_credit(_: &Endpoint<Tag>, _: &mut Vec<u64>, mut pdu: Pdu<Tag>) -> Option<Pdu<Tag>> {
    if let Pdu::Stat(stat) = &mut pdu {
        stat.mr = SequenceNumber::new(2);
    }
    Some(pdu)
}

#[test]
fn a_receiver_that_never_grants_more_is_caught() {
    let (what, trace) = catch_fault(pass_unchanged, without_credit);
    assert!(what.contains("livelock"), "{what}");
    assert!(!trace.iter().any(|line| line.contains("is lost")), "{trace:#?}");
}

/// SSCOP relies on a layer that neither reorders nor duplicates: Q.2110, and the module's table of differences.
#[test]
fn sscop_needs_an_ordered_channel_without_duplicates() {
    for bounds in [
        Bounds { losses: 1, duplicates: 1, expiries: 0, ..small_bounds() },
        Bounds { losses: 0, delays: 1, expiries: 0, ..small_bounds() },
    ] {
        let found = run(&Sscop::default(), &bounds).counterexample.unwrap();
        assert_eq!(found.what, "an end gave up: Desynchronised", "{bounds:?}");
    }
}
