//! Detection of receivers that acknowledge data not received, without false positives (RFC 9000, sections 13.1,
//! 13.4.2.1 and 21.4).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use thalweg_proto::congestion::{AckSample, Controller, Decision, LossSample};
use thalweg_proto::payload::Length;
use thalweg_proto::transport::{Event, Failure, Input};
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::window::{
    Ack, Misbehaviour, Pdu, RackConfig, Receiver, ReceiverConfig, SackBlock, Segment, Sender, SenderConfig,
    VerifyAcks,
};
use thalweg_proto::{Ecn, Engine, Output};

const SEGMENT: u64 = 1000;
const ONE_WAY: Duration = Duration::from_millis(10);
/// Smallest checked window in these tests.
const MIN_WINDOW: u32 = 32;

/// A fixed window that counts the losses reported to it, and the acknowledgements during which it must not grow.
#[derive(Clone, Debug)]
struct CountingWindow {
    window: f64,
    losses: Arc<Mutex<u32>>,
    recovering: Arc<Mutex<u32>>,
}

impl Controller for CountingWindow {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        *self.recovering.lock().unwrap() += u32::from(sample.recovering);
    }

    fn on_loss(&mut self, _sample: &LossSample) {
        *self.losses.lock().unwrap() += 1;
    }

    fn decision(&self) -> Decision {
        Decision::window(self.window)
    }
}

fn sender(window: f64) -> (Sender<Length, CountingWindow>, CountingWindow) {
    let rack = RackConfig { undo: true, tail_probe: true, max_ack_delay: Duration::ZERO };
    let config = SenderConfig {
        segment: SEGMENT as u32,
        rack: Some(rack),
        verify_acks: VerifyAcks::Always(MIN_WINDOW),
        ecn: true,
        ..SenderConfig::default()
    };
    let controller = CountingWindow { window, losses: Arc::default(), recovering: Arc::default() };
    (Sender::new(Arc::new(config), controller.clone()), controller)
}

/// Observations of a transfer over a path of 20 ms.
#[derive(Debug, Default)]
struct Observations {
    failed: Option<Failure>,
    finished: bool,
    /// Segments sent, and the starts of those sent after a later one.
    sent: u64,
    late: Vec<u64>,
    delivered: u64,
    retransmissions: u64,
    losses: u32,
    recovering: u32,
    end: Time,
    marks_concealed: bool,
    /// Segments sent for the first time as Not-ECT, and ECN-capable transmissions of the last thousand segments.
    not_ect: u64,
    ect_lately: u64,
}

/// Treatment of a segment by a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Treatment {
    Delivered,
    Marked,
    Lost,
}

/// Sends `segments` with a fixed window. `loses` decides each transmission by its number.
fn transfer(
    segments: u64,
    window: f64,
    misbehaviour: Option<Misbehaviour>,
    loses: impl Fn(u64) -> bool,
) -> Observations {
    let treats = |number, _: &_| if loses(number) { Treatment::Lost } else { Treatment::Delivered };
    transfer_through(segments, window, misbehaviour, treats)
}

/// Sends `segments` with a fixed window through a queue that signals congestion to every `every`-th transmission: an
/// ECN-capable one is marked, another one is lost. With `tunnel` marks do not arrive.
fn transfer_through_queue(
    segments: u64,
    misbehaviour: Option<Misbehaviour>,
    every: u64,
    tunnel: bool,
) -> Observations {
    transfer_through(segments, 64.0, misbehaviour, |number, segment| match number % every {
        0 if segment.not_ect || segment.retransmission => Treatment::Lost,
        0 if !tunnel => Treatment::Marked,
        _ => Treatment::Delivered,
    })
}

fn transfer_through(
    segments: u64,
    window: f64,
    misbehaviour: Option<Misbehaviour>,
    treats: impl Fn(u64, &Segment<Length>) -> Treatment,
) -> Observations {
    let (mut sender, controller) = sender(window);
    let config = ReceiverConfig { report_arrivals: true, misbehaviour, ..ReceiverConfig::default() };
    let mut receiver = Receiver::<Length>::new(Arc::new(config));
    let mut observed = Observations::default();
    let (mut forward, mut back) = (VecDeque::new(), VecDeque::new());
    let mut now = Time::ZERO;
    sender.handle(now, Input::Write(Length((segments * SEGMENT) as u32)));
    sender.handle(now, Input::Finish);
    let mut highest = 0;
    while observed.failed.is_none() && !observed.finished && now < Time::ZERO + Duration::from_secs(1000) {
        let mut next = Time::MAX;
        loop {
            match sender.poll(now) {
                Output::Transmit(Pdu::Segment(segment)) => {
                    observed.sent += 1;
                    if segment.sequence < highest {
                        observed.late.push(segment.sequence);
                    }
                    highest = highest.max(segment.sequence);
                    let is_late = segment.sequence + 1000 * SEGMENT >= segments * SEGMENT;
                    observed.not_ect += u64::from(segment.not_ect && !segment.retransmission);
                    observed.ect_lately += u64::from(is_late && !segment.not_ect);
                    let ecn = match treats(observed.sent, &segment) {
                        Treatment::Lost => continue,
                        Treatment::Marked => Ecn::Ce,
                        Treatment::Delivered => Ecn::Ect0,
                    };
                    forward.push_back((now + ONE_WAY, segment, ecn));
                }
                Output::Transmit(Pdu::Ack(_)) => panic!("a sender acknowledges"),
                Output::Event(Event::Failed(failure)) => observed.failed = Some(failure),
                Output::Event(Event::Finished) => observed.finished = true,
                Output::Event(_) => {}
                Output::Timeout { at, .. } => {
                    next = at;
                    break;
                }
                Output::Idle => break,
            }
        }
        for queue in [forward.front().map(|(at, ..)| *at), back.front().map(|(at, _)| *at)] {
            next = next.min(queue.unwrap_or(Time::MAX));
        }
        if next == Time::MAX {
            break;
        }
        now = next;
        while let Some((_, segment, ecn)) = forward.pop_front_if(|(at, ..)| *at <= now) {
            receiver.handle(now, Input::Pdu { pdu: Pdu::Segment(segment), ecn });
            loop {
                match receiver.poll(now) {
                    Output::Transmit(Pdu::Ack(ack)) => back.push_back((now + ONE_WAY, ack)),
                    Output::Event(Event::Delivered(Length(bytes))) => observed.delivered += u64::from(bytes),
                    Output::Idle | Output::Timeout { .. } => break,
                    other => panic!("{other:?}"),
                }
            }
        }
        while let Some((_, ack)) = back.pop_front_if(|(at, _)| *at <= now) {
            sender.handle(now, Input::Pdu { pdu: Pdu::Ack(ack), ecn: Ecn::NotEct });
        }
    }
    let stats = sender.stats(now).common;
    observed.retransmissions = stats.retransmissions;
    observed.marks_concealed = stats.marks_concealed;
    observed.losses = *controller.losses.lock().unwrap();
    observed.recovering = *controller.recovering.lock().unwrap();
    observed.end = now;
    observed
}

/// A check every 32 to 64 windows affects only the receiver's buffer: nothing counts as lost or is retransmitted, the
/// window may always grow, and the transfer takes as long as without.
#[test]
fn correct_receivers_are_checked_at_no_cost() {
    let observed = transfer(64 * 400, 64.0, None, |_| false);
    assert!(observed.finished && observed.failed.is_none(), "{observed:?}");
    assert_eq!(observed.delivered, 64 * 400 * SEGMENT);
    assert!((6..=12).contains(&observed.late.len()), "{} checks in 400 windows", observed.late.len());
    assert_eq!((observed.retransmissions, observed.losses, observed.recovering), (0, 0, 0));
    let expected = Duration::from_millis(20 * 400);
    assert!(observed.end <= Time::ZERO + expected, "{:?}", observed.end);
}

/// With a small window or no backlog, checks would cost more than they gain.
#[test]
fn small_windows_and_short_transfers_are_not_checked() {
    for (segments, window) in [(64 * 400, 31.0), (256, 64.0)] {
        let observed = transfer(segments, window, None, |_| false);
        assert!(observed.finished && observed.late.is_empty(), "{observed:?}");
    }
}

/// A correct receiver stays connected for any losses, including losses of withheld segments.
#[test]
fn losses_are_not_mistaken_for_violations() {
    for every in [3, 7, 50, 333] {
        let observed = transfer(64 * 200, 64.0, None, |number| number % every == 0);
        assert!(observed.finished && observed.failed.is_none(), "{every}: {observed:?}");
        assert_eq!(observed.delivered, 64 * 200 * SEGMENT, "{every}");
    }
}

/// A withheld segment replaces a skipped packet number.
///
/// Holds RFC 9000, section 21.4.
#[test]
fn receivers_that_conceal_losses_are_detected() {
    for (misbehaviour, window) in
        [Misbehaviour::ConcealsLoss, Misbehaviour::Optimistic].into_iter().zip([64.0, 1000.0])
    {
        for loses in [0, 2, 100] {
            let observed =
                transfer(64 * 4000, window, Some(misbehaviour), |number| loses > 0 && number % loses == 0);
            assert_eq!(observed.failed, Some(Failure::FalseAcknowledgement), "{misbehaviour:?} {observed:?}");
            assert!(observed.sent < 1600, "{misbehaviour:?}: {} sent", observed.sent);
        }
    }
    // Other violations do not concern received data.
    for misbehaviour in [Misbehaviour::DividesAcks, Misbehaviour::RepeatsAcks, Misbehaviour::ConcealsMarks] {
        let observed = transfer(64 * 100, 64.0, Some(misbehaviour), |_| false);
        assert!(observed.finished, "{misbehaviour:?} {observed:?}");
    }
}

/// A queue drops probes where it marks other segments, and marks that are not reported were concealed: by the receiver,
/// or by a tunnel around the queue. The sender is no longer ECN-capable then.
#[test]
fn concealed_marks_end_ecn() {
    for every in [10, 30, 100] {
        for (misbehaviour, tunnel) in [(Some(Misbehaviour::ConcealsMarks), false), (None, true)] {
            let observed = transfer_through_queue(64 * 400, misbehaviour, every, tunnel);
            assert!(observed.finished && observed.marks_concealed, "{misbehaviour:?} {observed:?}");
            assert_eq!(observed.ect_lately, 0, "{misbehaviour:?} {observed:?}");
            // Detected within 200 signals.
            assert!(
                64 * 400 - observed.not_ect < 200 * every,
                "{misbehaviour:?}, one in {every}: {observed:?}"
            );
        }
    }
}

/// Reported marks and losses keep ECN, at the cost of the probes that are dropped.
#[test]
fn reported_marks_keep_ecn() {
    for every in [2, 3, 10, 30, 100] {
        let observed = transfer_through_queue(64 * 400, None, every, false);
        assert!(observed.finished && !observed.marks_concealed, "one in {every}: {observed:?}");
        let probes = 64 * 400 / 24;
        assert!((probes / 2..probes * 2).contains(&observed.not_ect), "one in {every}: {observed:?}");
    }
    for loses in [2, 10, 100] {
        let observed = transfer(64 * 400, 64.0, None, |number| number % loses == 0);
        assert!(observed.finished && !observed.marks_concealed, "one in {loses}: {observed:?}");
    }
}

/// Returns the failure caused by acknowledgements a millisecond apart, with ten segments outstanding.
fn answer(acks: &[Ack]) -> Option<Failure> {
    let (mut sender, _) = sender(10.0);
    let mut now = Time::ZERO;
    let mut failed = None;
    sender.handle(now, Input::Write(Length(100_000)));
    for ack in acks.iter().map(Some).chain([None]) {
        loop {
            match sender.poll(now) {
                Output::Event(Event::Failed(failure)) => failed = Some(failure),
                Output::Transmit(_) | Output::Event(_) => {}
                Output::Timeout { .. } | Output::Idle => break,
            }
        }
        now += Duration::from_millis(1);
        if let Some(ack) = ack {
            sender.handle(now, Input::Pdu { pdu: Pdu::Ack(*ack), ecn: Ecn::NotEct });
        }
    }
    failed
}

fn ack(segments: u64, ce: u16) -> Ack {
    Ack { cumulative: segments * SEGMENT, window: 1 << 20, ce, ..Ack::default() }
}

/// Holds RFC 9000, section 13.1.
#[test]
fn an_acknowledgement_of_unsent_data_is_a_violation() {
    let failure = Some(Failure::FalseAcknowledgement);
    assert_eq!(answer(&[ack(10, 0)]), None);
    assert_eq!(answer(&[Ack { cumulative: 10 * SEGMENT + 1, ..ack(0, 0) }]), failure);
    let block = |start, end| {
        let sack = [SackBlock { start, end }, SackBlock::default(), SackBlock::default()];
        Ack { sack, ..ack(0, 0) }
    };
    assert_eq!(answer(&[block(2000, 10_000)]), None);
    assert_eq!(answer(&[block(2000, 10_001)]), failure);
    assert_eq!(answer(&[block(20_000, 21_000)]), failure);
}

/// A decreasing count is a violation, unless its acknowledgement was reordered.
///
/// Holds RFC 9000, section 13.4.2.1.
#[test]
fn a_decreasing_ecn_count_is_a_violation() {
    let failure = Some(Failure::FalseAcknowledgement);
    assert_eq!(answer(&[ack(1, 5), ack(2, 5), ack(3, 9)]), None);
    assert_eq!(answer(&[ack(1, 5), ack(2, 4)]), failure);
    assert_eq!(answer(&[ack(2, 5), ack(1, 4)]), None);
    assert_eq!(answer(&[ack(2, 5), ack(2, 4)]), None);
    // The count wraps.
    assert_eq!(answer(&[ack(1, 30_000), ack(2, 60_000), ack(3, 1000)]), None);
}
