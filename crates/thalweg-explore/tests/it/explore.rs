//! Tests that the exploration finds no violation in the engines, and one in each deliberately broken engine. The faults
//! are in wrappers here; the engines have no switches for them.

use core::hash::Hasher;
use std::collections::BTreeSet;
use thalweg_explore::{AdaptiveAck, Bounds, SCHEMES, Scheme, SearchOutcome, Tag, explore_protocol, search};
use thalweg_proto::adaptive_ack::{
    Data, Pdu, Receiver, ReceiverReason, Report, Transmitter, TransmitterReason,
};
use thalweg_proto::state_digest::Digest;
use thalweg_proto::transport::{Event, Input};
use thalweg_proto::units::{Bytes, Duration, Time};
use thalweg_proto::{Engine, Output};

const T_NORMAL: Duration = Duration::from_millis(40);
const T_ERROR: Duration = Duration::from_millis(5);

/// Deliberate fault of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// No fault: the wrappers themselves do no harm.
    None,
    /// The receiver never leaves T_error.
    StaysInError,
    /// The transmitter ignores a repeated request.
    DropsRepeatedRequests,
    /// The receiver acknowledges one packet too many.
    AcknowledgesOneMore,
    /// The receiver acknowledges one packet too few.
    AcknowledgesOneLess,
    /// The transmitter has no timer.
    NoTimer,
    /// The transmitter takes any report for progress, also one without news.
    AnyReportIsProgress,
    /// The receiver delivers duplicates.
    DeliversCopies,
    /// The receiver delivers packets in order of arrival.
    DeliversOutOfOrder,
}

#[derive(Clone)]
struct BrokenTransmitter {
    inner: Transmitter<Tag>,
    fault: Fault,
    seen_gaps: BTreeSet<(u64, u64)>,
    due: Time,
    patient_until: Time,
}

impl BrokenTransmitter {
    /// Returns the engine's time, which stops before its timer while a recent report counts as progress.
    fn time(&self, now: Time) -> Time {
        let still = self.fault == Fault::AnyReportIsProgress && now < self.patient_until && now >= self.due;
        if still { self.due - Duration::from_picos(1) } else { now }
    }
}

impl Engine for BrokenTransmitter {
    type Pdu = Pdu<Tag>;
    type Input = Input<Pdu<Tag>, Tag>;
    type Event = Event<Tag>;
    type Reason = TransmitterReason;

    fn handle(&mut self, now: Time, input: Self::Input) {
        if let Input::Pdu { pdu: Pdu::Ack(report), .. } = &input {
            self.patient_until = now + T_NORMAL * 4;
            let new = report.is_plain() || self.seen_gaps.insert((report.gap_in, report.gap_out));
            if self.fault == Fault::DropsRepeatedRequests && !new {
                return;
            }
        }
        self.inner.handle(self.time(now), input);
    }

    fn poll(&mut self, now: Time) -> Output<Self::Pdu, Self::Event, Self::Reason> {
        let output = self.inner.poll(self.time(now));
        match output {
            Output::Timeout { .. } if self.fault == Fault::NoTimer => Output::Idle,
            Output::Timeout { at, reason } if self.fault == Fault::AnyReportIsProgress => {
                self.due = at;
                Output::Timeout { at: at.max(self.patient_until), reason }
            }
            output => output,
        }
    }
}

impl Digest for BrokenTransmitter {
    fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        use core::hash::Hash as _;
        self.inner.feed_state(self.time(now), into);
        if self.fault == Fault::DropsRepeatedRequests {
            self.seen_gaps.hash(into);
        }
        if self.fault == Fault::AnyReportIsProgress {
            self.patient_until.since(now).hash(into);
        }
    }
}

#[derive(Clone)]
struct BrokenReceiver {
    inner: Receiver<Tag>,
    fault: Fault,
    /// Lead of the engine's clock, which makes T_normal look like T_error.
    clock_lead: Duration,
    shortened: Time,
    was_in_error: bool,
    extra: Vec<Tag>,
}

impl Engine for BrokenReceiver {
    type Pdu = Pdu<Tag>;
    type Input = Input<Pdu<Tag>, Tag>;
    type Event = Event<Tag>;
    type Reason = ReceiverReason;

    fn handle(&mut self, now: Time, input: Self::Input) {
        if let Input::Pdu { pdu: Pdu::Data(Data { sequence, payload }), .. } = &input {
            let copy = *sequence < self.inner.expected();
            let early = *sequence > self.inner.expected();
            if self.fault == Fault::DeliversCopies && copy || self.fault == Fault::DeliversOutOfOrder && early
            {
                self.extra.push(*payload);
            }
        }
        self.inner.handle(now + self.clock_lead, input);
    }

    fn poll(&mut self, now: Time) -> Output<Self::Pdu, Self::Event, Self::Reason> {
        if let Some(tag) = self.extra.pop() {
            return Output::Event(Event::Delivered(tag));
        }
        match self.inner.poll(now + self.clock_lead) {
            Output::Timeout { at, reason } => {
                self.was_in_error |= reason == ReceiverReason::Error;
                let stays = self.fault == Fault::StaysInError && self.was_in_error;
                if stays && reason == ReceiverReason::Normal && at != self.shortened {
                    self.shortened = at;
                    self.clock_lead += T_NORMAL - T_ERROR;
                }
                Output::Timeout { at: at - self.clock_lead, reason }
            }
            Output::Transmit(Pdu::Ack(Report { gap_in, gap_out, cumulative })) => {
                let plain = gap_in == gap_out;
                let cumulative = match self.fault {
                    Fault::AcknowledgesOneMore => cumulative + 1,
                    Fault::AcknowledgesOneLess => cumulative.saturating_sub(1).max(1),
                    _ => cumulative,
                };
                let (gap_in, gap_out) = if plain { (cumulative, cumulative) } else { (gap_in, gap_out) };
                Output::Transmit(Pdu::Ack(Report { gap_in, gap_out, cumulative }))
            }
            output => output,
        }
    }
}

impl Digest for BrokenReceiver {
    fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        use core::hash::Hash as _;
        self.inner.feed_state(now + self.clock_lead, into);
        (self.was_in_error && self.fault == Fault::StaysInError).hash(into);
    }
}

/// Adaptive acknowledgement with one fault.
struct FaultyProtocol(Fault);

impl Scheme for FaultyProtocol {
    type Pdu = Pdu<Tag>;
    type Sender = BrokenTransmitter;
    type Receiver = BrokenReceiver;

    fn ends(&self, bounds: &Bounds) -> (BrokenTransmitter, BrokenReceiver) {
        let (transmitter, receiver) = AdaptiveAck::default().ends(bounds);
        (
            BrokenTransmitter {
                inner: transmitter,
                fault: self.0,
                seen_gaps: BTreeSet::new(),
                due: Time::MAX,
                patient_until: Time::ZERO,
            },
            BrokenReceiver {
                inner: receiver,
                fault: self.0,
                clock_lead: Duration::ZERO,
                shortened: Time::MAX,
                was_in_error: false,
                extra: Vec::new(),
            },
        )
    }

    fn requested(&self, receiver: &Self::Receiver) -> Option<u64> {
        AdaptiveAck::default().requested(&receiver.inner)
    }

    fn check_rest(&self, periods: &[Duration]) -> Result<(), String> {
        AdaptiveAck::default().check_rest(periods)
    }
}

/// Bounds small enough for a test and large enough for every fault above.
fn small_bounds() -> Bounds {
    Bounds { window: 2, messages: 3, losses: 2, duplicates: 1, delays: 0, expiries: 1, ..Bounds::default() }
}

fn run(scheme: &impl Scheme, bounds: &Bounds) -> SearchOutcome {
    search(scheme, bounds, |_, _| true)
}

#[test]
fn nothing_is_wrong_with_the_engines() {
    for (name, _) in SCHEMES {
        // SSCOP need not tolerate duplicates and reordering; for the others the channel may reorder.
        let orderly = Bounds { duplicates: 0, ..small_bounds() };
        let disorderly = Bounds { delays: 1, expiries: 0, ..orderly };
        let of_scheme = if name == "sscop" { [orderly, orderly] } else { [small_bounds(), disorderly] };
        for bounds in of_scheme {
            let outcome = explore_protocol(name, &bounds, &mut |_, _| true).unwrap();
            assert_eq!(outcome.counterexample, None, "{name} {bounds:?}");
            assert!(outcome.complete && outcome.states > 200, "{name}: {outcome:?}");
        }
    }
    assert_eq!(explore_protocol("pigeons", &small_bounds(), &mut |_, _| true), None);
}

#[test]
fn wrappers_alone_change_nothing() {
    let outcome = run(&FaultyProtocol(Fault::None), &small_bounds());
    assert_eq!(outcome, run(&AdaptiveAck::default(), &small_bounds()));
    assert_eq!(outcome.counterexample, None);
}

#[track_caller]
fn catch_fault(fault: Fault) -> (String, Vec<String>) {
    let outcome = run(&FaultyProtocol(fault), &small_bounds());
    let found = outcome
        .counterexample
        .unwrap_or_else(|| panic!("{fault:?} was not found: {} states", outcome.states));
    (found.what, found.trace)
}

#[test]
fn a_receiver_that_stays_in_the_error_phase_is_caught() {
    let (what, trace) = catch_fault(Fault::StaysInError);
    assert_eq!(what, "all losses are repaired, yet the receiver reports every 5 ms instead of every 40 ms");
    assert!(trace.iter().any(|line| line.contains("is lost")), "{trace:#?}");
}

#[test]
fn a_transmitter_that_drops_a_repeated_request_is_caught() {
    let (what, trace) = catch_fault(Fault::DropsRepeatedRequests);
    assert_eq!(what, "packet 1 was requested again, and is still not retransmitted");
    // The packet and its repetition, or the packet and the first request, are lost.
    assert_eq!(trace.iter().filter(|line| line.contains("is lost")).count(), 2, "{trace:#?}");
}

#[test]
fn a_cumulative_number_off_by_one_is_caught() {
    // The transmitter cannot have sent the acknowledged packet, ignores the report, and waits for a valid one.
    let (what, _) = catch_fault(Fault::AcknowledgesOneMore);
    assert!(what.contains("livelock"), "{what}");
    let (what, _) = catch_fault(Fault::AcknowledgesOneLess);
    assert!(what.contains("livelock"), "{what}");
}

#[test]
fn a_transmitter_that_trusts_in_requests_alone_is_caught() {
    let (what, trace) = catch_fault(Fault::NoTimer);
    assert!(what.contains("livelock") || what.contains("wait forever"), "{what}");
    assert!(trace.iter().any(|line| line.contains("is lost")), "{trace:#?}");
    // Reports continue without end, so the search needs the timers of both endpoints.
    let (what, _) = catch_fault(Fault::AnyReportIsProgress);
    assert!(what.contains("livelock"), "{what}");
}

#[test]
fn wrong_deliveries_are_caught() {
    assert_eq!(catch_fault(Fault::DeliversCopies).0, "packet 1 was delivered twice");
    assert_eq!(catch_fault(Fault::DeliversOutOfOrder).0, "packet 2 was delivered before packet 1");
}

/// The trace of a counter-example begins with the written data and contains the messages in between.
#[test]
fn a_counterexample_is_a_trace() {
    let (_, trace) = catch_fault(Fault::DeliversOutOfOrder);
    let expected = [
        "3 packets are written",
        "    sender -> DATA 1",
        "    sender -> DATA 2",
        "DATA 1 to the receiver is lost",
        "from here on the channel is fault-free",
        "DATA 2 arrives at the receiver",
        "    delivered: packet 2",
    ];
    assert_eq!(trace, expected);
}

#[test]
fn limits_are_kept() {
    let outcome = run(&AdaptiveAck::default(), &Bounds { memory: Bytes::new(1_000_000), ..small_bounds() });
    assert!(!outcome.complete && outcome.states < 10_000, "{outcome:?}");
    let mut calls = 0;
    let bounds = Bounds { window: 3, messages: 5, ..small_bounds() };
    let outcome = search(&AdaptiveAck::default(), &bounds, |_, _| {
        calls += 1;
        calls < 3
    });
    assert!(!outcome.complete && calls == 3, "{outcome:?}");
}

/// Repeated searches visit the same states.
#[test]
fn exploration_is_deterministic() {
    for (name, _) in SCHEMES {
        assert_eq!(
            explore_protocol(name, &small_bounds(), &mut |_, _| true),
            explore_protocol(name, &small_bounds(), &mut |_, _| true)
        );
    }
}

/// Without faults only the order of the two directions varies, and a larger memory limit adds no states.
#[test]
fn without_faults_there_is_little_to_see() {
    let bounds = Bounds { losses: 0, duplicates: 0, delays: 0, expiries: 0, ..small_bounds() };
    for (name, _) in SCHEMES {
        let outcome = explore_protocol(name, &bounds, &mut |_, _| true).unwrap();
        assert!(outcome.states < 40 && outcome.counterexample.is_none(), "{name}: {outcome:?}");
    }
}
