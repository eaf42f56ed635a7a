//! Proves that the exploration finds nothing wrong with SSCOP's data transfer, and something with every end that is broken
//! on purpose.

mod bent;

use bent::{Bend, Bent, straight};
use core::hash::Hasher;
use thalweg_explore::{Bounds, End, Outcome, Scheme, Sscop, Tag, search};
use thalweg_proto::sscop::{Config, Credit, Endpoint, Number, Pdu};

type Side = Bend<Endpoint<Tag>, Pdu<Tag>>;

/// SSCOP whose sender hears, and whose receiver says, something else.
struct Broken {
    hear: Side,
    say: Side,
}

impl Scheme for Broken {
    type Pdu = Pdu<Tag>;
    type Sender = Bent<Endpoint<Tag>>;
    type Receiver = Bent<Endpoint<Tag>>;

    const SET_UP: u32 = Sscop::SET_UP;

    fn ends(&self, bounds: &Bounds) -> (Self::Sender, Self::Receiver) {
        let (sender, receiver) = Sscop::default().ends(bounds);
        (Bent::new(sender, self.hear, straight), Bent::new(receiver, straight, self.say))
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

fn small() -> Bounds {
    Bounds { window: 2, messages: 4, losses: 2, duplicates: 0, delays: 0, expiries: 1, ..Bounds::default() }
}

fn run(scheme: &impl Scheme, bounds: &Bounds) -> Outcome {
    search(scheme, bounds, |_, _| true)
}

#[test]
fn nothing_is_wrong_with_it() {
    for window in 2..=4 {
        for (losses, expiries) in [(2, 1), (1, 2), (4, 0)] {
            let bounds = Bounds { window, messages: window + 3, losses, expiries, ..small() };
            for (max_pd, max_stat, poll_after_retransmission) in
                [(2, 3, false), (1, 3, true), (25, 67, false)]
            {
                let Sscop(usual) = Sscop::default();
                let config = Config { max_pd, max_stat, poll_after_retransmission, ..usual };
                let outcome = run(&Sscop(config), &bounds);
                assert_eq!(outcome.counterexample, None, "{bounds:?}");
                assert!(outcome.complete && outcome.states > 1000, "{bounds:?}: {outcome:?}");
            }
        }
    }
}

/// A window that only the application widens stays shut where nobody does.
#[test]
fn a_window_that_nobody_widens_stays_shut() {
    let Sscop(usual) = Sscop::default();
    let outcome = run(&Sscop(Config { credit: Credit::User, ..usual }), &small());
    let found = outcome.counterexample.unwrap();
    assert!(found.what.contains("circles"), "{}", found.what);
}

#[test]
fn a_window_that_a_slow_application_widens_opens_again() {
    for (losses, expiries) in [(0, 4), (2, 2), (4, 0)] {
        let bounds = Bounds { losses, expiries, slow_reader: true, ..small() };
        let outcome = run(&Sscop::default(), &bounds);
        assert_eq!(outcome.counterexample, None, "{bounds:?}");
        assert!(outcome.complete && outcome.states > 1000, "{bounds:?}: {outcome:?}");
    }
}

/// A STAT says the N(MR) that it said first with this N(R): what the application has read since is not announced.
fn unannounced(_: &Endpoint<Tag>, said: &mut Vec<u64>, mut pdu: Pdu<Tag>) -> Option<Pdu<Tag>> {
    if let Pdu::Stat(stat) = &mut pdu {
        match said[..] {
            [r, mr] if r == u64::from(stat.r.get()) => stat.mr = Number::new(mr as u32),
            _ => *said = vec![stat.r.get().into(), stat.mr.get().into()],
        }
    }
    Some(pdu)
}

#[test]
fn a_receiver_that_does_not_announce_its_open_window_is_caught() {
    let bounds = Bounds { slow_reader: true, ..small() };
    let found = run(&Broken { hear: straight, say: unannounced }, &bounds).counterexample.unwrap();
    assert!(found.what.contains("circles"), "{}", found.what);
    assert!(found.trace.iter().any(|line| line == "the application reads a byte"), "{:#?}", found.trace);
}

#[test]
fn bending_nothing_changes_nothing() {
    let outcome = run(&Broken { hear: straight, say: straight }, &small());
    assert_eq!(outcome, run(&Sscop::default(), &small()));
}

#[track_caller]
fn caught(hear: Side, say: Side) -> (String, Vec<String>) {
    let outcome = run(&Broken { hear, say }, &small());
    let found = outcome.counterexample.unwrap_or_else(|| panic!("not found: {} states", outcome.states));
    (found.what, found.trace)
}

/// N(R) of a STAT moved by so many.
fn moved<const BY: u32>(_: &Endpoint<Tag>, _: &mut Vec<u64>, mut pdu: Pdu<Tag>) -> Option<Pdu<Tag>> {
    if let Pdu::Stat(stat) = &mut pdu {
        stat.r = stat.r.plus(BY);
    }
    Some(pdu)
}

#[test]
fn a_stat_that_is_off_by_one_is_caught() {
    // One too many of what was never sent is an error of the protocol; one too few, and the last is never acknowledged.
    assert_eq!(caught(straight, moved::<1>).0, "an end gave up: Desynchronised");
    let (what, _) = caught(straight, moved::<{ Number::MODULUS - 1 }>);
    assert!(what.contains("circles"), "{what}");
}

/// One too many, if it was sent.
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
    let (what, trace) = caught(believed_early, straight);
    assert!(what.contains("has not been delivered") || what.contains("circles"), "{what}");
    assert!(trace.iter().any(|line| line.contains("is lost")), "{trace:#?}");
}

/// A STAT says what it says of the last POLL, whichever it answers: what was sent again since is sent again.
fn without_guard(end: &Endpoint<Tag>, _: &mut Vec<u64>, mut pdu: Pdu<Tag>) -> Option<Pdu<Tag>> {
    if let Pdu::Stat(stat) = &mut pdu {
        stat.ps = end.sscop().variables().vt_ps;
    }
    Some(pdu)
}

#[test]
fn a_sender_without_the_guard_of_poll_numbers_is_caught() {
    let (what, trace) = caught(without_guard, straight);
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
fn a_receiver_that_tells_of_gaps_only_once_is_caught() {
    let (what, _) = caught(straight, without_list);
    assert!(what.contains("circles"), "{what}");
}

/// The credit that a receiver grants when the window moves gets lost.
fn without_credit(_: &Endpoint<Tag>, _: &mut Vec<u64>, mut pdu: Pdu<Tag>) -> Option<Pdu<Tag>> {
    if let Pdu::Stat(stat) = &mut pdu {
        stat.mr = Number::new(2);
    }
    Some(pdu)
}

#[test]
fn a_receiver_that_never_grants_more_is_caught() {
    let (what, trace) = caught(straight, without_credit);
    assert!(what.contains("circles"), "{what}");
    assert!(!trace.iter().any(|line| line.contains("is lost")), "{trace:#?}");
}

/// SSCOP relies on a layer that keeps the order and copies nothing: Q.2110, and the module's table of differences.
#[test]
fn what_sscop_relies_on_is_needed() {
    for bounds in [
        Bounds { losses: 1, duplicates: 1, expiries: 0, ..small() },
        Bounds { losses: 0, delays: 1, expiries: 0, ..small() },
    ] {
        let found = run(&Sscop::default(), &bounds).counterexample.unwrap();
        assert_eq!(found.what, "an end gave up: Desynchronised", "{bounds:?}");
    }
}
