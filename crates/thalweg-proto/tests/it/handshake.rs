//! Connection establishment and termination over a channel that loses, delays and duplicates.

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_proto::congestion::{ConfigureController, NewReno, NewRenoConfig};
use thalweg_proto::handshake::{
    Config, Control, HandshakeKind, HandshakeStep, Listener, Opener, Pdu, Protocol,
};
use thalweg_proto::payload::Slice;
use thalweg_proto::random::RandomStream;
use thalweg_proto::transport::{Event, Failure, Input};
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::window::{self, Receiver, ReceiverConfig, Sender, SenderConfig};
use thalweg_proto::{Ecn, Engine, Output};

type Opening = Opener<Sender<Slice, NewReno>>;
type Listening = Listener<Receiver<Slice>>;
type Packet = Pdu<window::Pdu<Slice>>;

const MS: fn(u64) -> Duration = Duration::from_millis;
const SECOND: Duration = Duration::from_secs(1);
const SEGMENT: u32 = 1000;

/// A connection and its channel.
#[derive(Clone, Debug)]
struct Plan {
    config: Config,
    /// Configuration of the listener.
    answering: Config,
    segments: u32,
    initial_window: f64,
    /// One-way delay.
    delay: Duration,
    jitter: Duration,
    /// Loss of packets to the listener and to the opener, of all or only of handshake packets.
    loss: [f64; 2],
    loses_data: bool,
    copies: f64,
    seed: u64,
}

impl Plan {
    fn new(kind: HandshakeKind) -> Self {
        let config = Config::new(kind);
        Self {
            config,
            answering: config,
            segments: 1,
            initial_window: 10.0,
            delay: MS(50),
            jitter: Duration::ZERO,
            loss: [0.0; 2],
            loses_data: false,
            copies: 0.0,
            seed: 1,
        }
    }
}

#[derive(Debug)]
enum ScheduledEvent {
    ToListener(Packet),
    ToOpener(Packet),
    Poll,
}

/// Observations of a connection.
#[derive(Debug, Default)]
struct Observations {
    delivered: Vec<u8>,
    /// Times of the delivery of the last byte, of completion at the opener, and of the listener's close.
    delivered_at: Option<Time>,
    finished_at: Option<Time>,
    closed_at: Option<Time>,
    failed: Option<Failure>,
    /// Handshake steps with their time and sender: false for the opener.
    steps: Vec<(Time, bool, HandshakeStep)>,
}

struct World {
    plan: Plan,
    opener: Opening,
    listener: Listening,
    agenda: BTreeMap<(Time, u64), ScheduledEvent>,
    scheduled: u64,
    /// Last announced timeouts of both endpoints.
    armed: [Time; 2],
    now: Time,
    stream: RandomStream,
    observed: Observations,
    /// Decides whether a handshake packet is lost, by its sender (true for the listener), step and number of earlier
    /// packets of this step.
    lose: fn(bool, HandshakeStep, usize) -> bool,
}

impl World {
    fn new(plan: &Plan) -> Self {
        let config = NewRenoConfig {
            initial_window: plan.initial_window,
            initial_ssthresh: 1e9,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        };
        let sender = SenderConfig { segment: SEGMENT, ..SenderConfig::default() };
        let sender = Sender::new(Arc::new(sender), config.make());
        Self {
            opener: Opener::new(plan.config, sender),
            listener: Listener::new(plan.answering, Receiver::new(Arc::new(ReceiverConfig::default()))),
            agenda: BTreeMap::new(),
            scheduled: 0,
            armed: [Time::MAX; 2],
            now: Time::ZERO,
            stream: RandomStream::new(plan.seed, "handshake", 0),
            observed: Observations::default(),
            plan: plan.clone(),
            lose: |_, _, _| false,
        }
    }

    fn schedule(&mut self, at: Time, event: ScheduledEvent) {
        self.scheduled += 1;
        self.agenda.insert((at, self.scheduled), event);
    }

    fn arm(&mut self, end: usize, at: Time) {
        if self.armed[end] != at {
            self.armed[end] = at;
            self.schedule(at, ScheduledEvent::Poll);
        }
    }

    fn send(&mut self, answers: bool, packet: &Packet) {
        let mut is_lost = false;
        if let Pdu::Control(control) = packet {
            let before =
                self.observed.steps.iter().filter(|step| step.1 == answers && step.2 == control.step);
            is_lost = (self.lose)(answers, control.step, before.count());
            self.observed.steps.push((self.now, answers, control.step));
        }
        if self.plan.loses_data || matches!(packet, Pdu::Control(_)) {
            is_lost |= self.stream.chance(self.plan.loss[usize::from(answers)]);
        }
        let copies = 1 + u32::from(self.plan.copies > 0.0 && self.stream.chance(self.plan.copies));
        for _ in 0..if is_lost { 0 } else { copies } {
            let at = self.now + self.plan.delay + self.stream.uniform_duration(self.plan.jitter);
            let packet = packet.clone();
            self.schedule(
                at,
                if answers { ScheduledEvent::ToOpener(packet) } else { ScheduledEvent::ToListener(packet) },
            );
        }
    }

    fn drain(&mut self) {
        for _ in 0..1000 {
            match self.opener.poll(self.now) {
                Output::Transmit(packet) => self.send(false, &packet),
                Output::Event(Event::Finished) => {
                    assert_eq!(self.observed.finished_at.replace(self.now), None, "told once");
                }
                Output::Event(Event::Failed(failure)) => self.observed.failed = Some(failure),
                Output::Event(_) => {}
                Output::Timeout { at, .. } => {
                    assert!(at > self.now);
                    self.arm(0, at);
                    break;
                }
                Output::Idle => break,
            }
        }
        for _ in 0..1000 {
            match self.listener.poll(self.now) {
                Output::Transmit(packet) => self.send(true, &packet),
                Output::Event(Event::Delivered(data)) => {
                    self.observed.delivered.extend_from_slice(data.as_bytes());
                    self.observed.delivered_at = Some(self.now);
                }
                Output::Event(Event::Finished) => {
                    assert_eq!(self.observed.closed_at.replace(self.now), None, "told once");
                }
                Output::Event(_) => {}
                Output::Timeout { at, .. } => {
                    assert!(at > self.now);
                    self.arm(1, at);
                    break;
                }
                Output::Idle => break,
            }
        }
    }

    fn run(mut self) -> Observations {
        let bytes: Vec<u8> = (0..self.plan.segments * SEGMENT).map(|at| (at % 251) as u8).collect();
        if !bytes.is_empty() {
            self.opener.handle(self.now, Input::Write(Slice::new(bytes)));
        }
        self.opener.handle(self.now, Input::Finish);
        self.drain();
        for _ in 0..100_000 {
            let Some(((at, _), event)) = self.agenda.pop_first() else { break };
            self.now = at;
            let ecn = Ecn::NotEct;
            match event {
                ScheduledEvent::ToListener(pdu) => self.listener.handle(at, Input::Pdu { pdu, ecn }),
                ScheduledEvent::ToOpener(pdu) => self.opener.handle(at, Input::Pdu { pdu, ecn }),
                ScheduledEvent::Poll => {}
            }
            self.drain();
        }
        assert!(self.agenda.is_empty(), "it never comes to rest: {:?}", self.observed.steps);
        self.observed
    }
}

fn run(plan: &Plan) -> Observations {
    World::new(plan).run()
}

fn run_losing(plan: &Plan, lose: fn(bool, HandshakeStep, usize) -> bool) -> Observations {
    World { lose, ..World::new(plan) }.run()
}

fn at(time: Option<Time>) -> Duration {
    time.expect("it came to that").since(Time::ZERO)
}

/// Returns the number of round trips before the one of the last segment; slow start doubles the window each round trip.
fn rounds(segments: u32, window: u32) -> u64 {
    let mut sent = 0;
    (0..)
        .find(|round| {
            sent += window << round;
            sent >= segments
        })
        .expect("it ends")
}

/// A transfer of N segments with an initial window of w, on a path without loss or transmission times: one way for the
/// last segment, a round trip for each window before it, and one for the handshake if it needs one.
#[test]
fn a_lossless_transfer_takes_the_expected_round_trips() {
    for (kind, opening) in
        [(HandshakeKind::Tcp, 1), (HandshakeKind::Quic, 1), (HandshakeKind::QuicZeroRtt, 0)]
    {
        for window in [1, 2, 4, 10, 16, 32] {
            for segments in [1, 3, 9, 10, 11, 32, 33, 100, 500] {
                let plan = Plan { segments, initial_window: f64::from(window), ..Plan::new(kind) };
                let observed = run(&plan);
                let expected = MS(100) * (opening + rounds(segments, window)) + MS(50);
                assert_eq!(at(observed.delivered_at), expected, "{kind:?}, {segments} from {window}");
                assert_eq!(at(observed.finished_at), expected + MS(50), "{kind:?}, {segments} from {window}");
                assert_eq!(observed.delivered.len() as u32, segments * SEGMENT);
            }
        }
    }
}

/// RFC 9293, figures 6 and 12.
#[test]
fn tcp_opens_and_closes_in_the_order_of_the_rfc() {
    let observed = run(&Plan { segments: 2, ..Plan::new(HandshakeKind::Tcp) });
    let end = 2 * u64::from(SEGMENT);
    let steps = [
        (0, false, HandshakeStep::Syn),
        (50, true, HandshakeStep::SynAck),
        (100, false, HandshakeStep::Ack),
        (100, false, HandshakeStep::Fin(end)),
        (150, true, HandshakeStep::FinAck(end)),
        (200, false, HandshakeStep::AckOfFin(end)),
    ];
    assert_eq!(observed.steps, steps.map(|(at, answers, step)| (Time::ZERO + MS(at), answers, step)));
    assert_eq!(at(observed.closed_at), MS(250));
}

/// RFC 9001, figure 5, and RFC 9000, section 10.2.
#[test]
fn quic_opens_and_closes_in_the_order_of_the_rfc() {
    let observed = run(&Plan::new(HandshakeKind::Quic));
    let steps = [
        (0, false, HandshakeStep::Syn),
        (50, true, HandshakeStep::SynAck),
        (100, false, HandshakeStep::Ack),
        (150, true, HandshakeStep::HandshakeDone),
        (200, false, HandshakeStep::ConnectionClose),
    ];
    assert_eq!(observed.steps, steps.map(|(at, answers, step)| (Time::ZERO + MS(at), answers, step)));
}

/// RFC 6298, sections 2.1, 5.5 and 5.7: 1 s, doubled; without a measurement the first data waits 3 s.
#[test]
fn a_lost_syn_costs_a_second() {
    for (lost, wait) in [(0, 0), (1, 1), (2, 3), (3, 7)] {
        let lose: [fn(bool, HandshakeStep, usize) -> bool; 4] = [
            |_, _, _| false,
            |_, step, before| step == HandshakeStep::Syn && before < 1,
            |_, step, before| step == HandshakeStep::Syn && before < 2,
            |_, step, before| step == HandshakeStep::Syn && before < 3,
        ];
        let observed = run_losing(&Plan::new(HandshakeKind::Tcp), lose[lost]);
        assert_eq!(at(observed.delivered_at), MS(150) + SECOND * wait);
        let observed = run_losing(&Plan::new(HandshakeKind::QuicZeroRtt), |_, step, before| {
            step == HandshakeStep::Syn && before < 1
        });
        // Data received before the Initial cannot be decrypted: both are retransmitted after a second.
        assert_eq!(at(observed.delivered_at), MS(50) + SECOND);
    }
    let observed = run_losing(&Plan::new(HandshakeKind::Tcp), |answers, step, before| {
        answers && step == HandshakeStep::SynAck && before < 1
    });
    assert_eq!(at(observed.delivered_at), MS(150) + SECOND);
    // The retransmitted SYN arrives when the listener's own timer expires: one more answer, not two.
    assert_eq!(observed.steps.iter().filter(|step| step.2 == HandshakeStep::SynAck).count(), 2);
}

/// A lost third packet has no cost if data follows it (RFC 9293, section 3.4).
#[test]
fn data_replaces_the_third_packet() {
    let observed = run_losing(&Plan::new(HandshakeKind::Tcp), |_, step, _| step == HandshakeStep::Ack);
    assert_eq!(at(observed.delivered_at), MS(150));
    // In QUIC no data can be decrypted before it (RFC 9001, section 5.7): it is retransmitted after a timeout of three
    // round trips, the data by its own timer.
    let observed = run_losing(&Plan::new(HandshakeKind::Quic), |_, step, before| {
        step == HandshakeStep::Ack && before < 1
    });
    let sent: Vec<_> =
        observed.steps.iter().filter(|step| step.2 == HandshakeStep::Ack).map(|step| step.0).collect();
    assert_eq!(sent, [MS(100), MS(400)].map(|at| Time::ZERO + at));
    assert_eq!(at(observed.delivered_at), MS(100) + MS(300) + MS(50));
}

/// The handshake is the first measurement: a lost first segment waits three round trips, not a second.
#[test]
fn the_handshake_gives_the_first_round_trip_sample() {
    let mut world = World::new(&Plan::new(HandshakeKind::Tcp));
    world.opener.handle(Time::ZERO, Input::Write(Slice::new(vec![1; 10])));
    let _ = world.opener.poll(Time::ZERO);
    let answer = Pdu::Control(Control { protocol: Protocol::Tcp, step: HandshakeStep::SynAck });
    let now = Time::ZERO + MS(100);
    world.opener.handle(now, Input::Pdu { pdu: answer, ecn: Ecn::NotEct });
    let stats = world.opener.engine().stats(now);
    assert_eq!(stats.common.smoothed_rtt, Some(MS(100)));
    // 100 ms and the larger of the margin of 200 ms and four times 50 ms.
    assert_eq!(stats.timeout, MS(300));
}

#[test]
fn after_a_lost_syn_the_first_data_waits_three_seconds() {
    let mut world = World::new(&Plan::new(HandshakeKind::Tcp));
    let _ = world.opener.poll(Time::ZERO);
    let _ = world.opener.poll(Time::ZERO + SECOND);
    let answer = Pdu::Control(Control { protocol: Protocol::Tcp, step: HandshakeStep::SynAck });
    let now = Time::ZERO + SECOND + MS(100);
    world.opener.handle(now, Input::Pdu { pdu: answer, ecn: Ecn::NotEct });
    let stats = world.opener.engine().stats(now);
    assert_eq!((stats.common.smoothed_rtt, stats.timeout), (None, SECOND * 3));
}

/// A FIN, its answer and the final acknowledgement are retransmitted until the listener has closed.
#[test]
fn lost_fin_packets_are_retransmitted() {
    for lost in 0..3 {
        let lose: [fn(bool, HandshakeStep, usize) -> bool; 3] = [
            |_, step, before| matches!(step, HandshakeStep::Fin(_)) && before < 2,
            |_, step, before| matches!(step, HandshakeStep::FinAck(_)) && before < 2,
            |_, step, before| matches!(step, HandshakeStep::AckOfFin(_)) && before < 2,
        ];
        let observed = run_losing(&Plan::new(HandshakeKind::Tcp), lose[lost]);
        assert_eq!(at(observed.delivered_at), MS(150), "closing delays nothing");
        assert!(at(observed.closed_at) > MS(250), "{:?}", observed.steps);
    }
}

#[test]
fn an_opener_gives_up_after_its_retries() {
    let mut plan = Plan::new(HandshakeKind::Tcp);
    plan.config.retries = Some(3);
    plan.loss = [1.0, 0.0];
    let observed = run(&plan);
    assert_eq!(observed.failed, Some(Failure::NoAnswer));
    let sent: Vec<_> = observed.steps.iter().map(|step| step.0.since(Time::ZERO)).collect();
    assert_eq!(sent, [0, 1, 3, 7].map(|seconds| SECOND * seconds));
}

/// Returns the mean delay above that of a clean path, and half of its 99.99 % interval, in seconds.
fn mean_delay(plan: &Plan, runs: u64) -> (f64, f64) {
    let clean = at(run(&Plan { loss: [0.0; 2], ..plan.clone() }).delivered_at);
    let delays: Vec<f64> = (0..runs)
        .map(|seed| (at(run(&Plan { seed, ..plan.clone() }).delivered_at) - clean).as_secs_f64())
        .collect();
    let mean = delays.iter().sum::<f64>() / runs as f64;
    let variance = delays.iter().map(|delay| (delay - mean).powi(2)).sum::<f64>() / (runs - 1) as f64;
    (mean, 3.9 * (variance / runs as f64).sqrt())
}

/// A packet lost with probability p is retransmitted after 1, 2, 4 ... seconds: the k-th copy arrives 2^k - 1 seconds
/// late, with probability p^k (1 - p). The mean is p / (1 - 2p).
#[test]
fn the_mean_delay_of_lost_handshakes_matches_the_formula() {
    let expected = |p: f64| p / (1.0 - 2.0 * p);
    for p in [0.02, 0.1] {
        for loss in [[p, 0.0], [0.0, p]] {
            let (mean, margin) = mean_delay(&Plan { loss, ..Plan::new(HandshakeKind::Tcp) }, 20_000);
            assert!((mean - expected(p)).abs() < margin, "{mean} +- {margin}, {} at {loss:?}", expected(p));
        }
        // With losses both ways, a stateless listener without retransmissions, as with SYN cookies (RFC 4987, section
        // 3.6), needs both packets: each attempt fails with 1 - (1 - p)^2.
        let mut plan = Plan { loss: [p; 2], ..Plan::new(HandshakeKind::Tcp) };
        plan.answering.initial = SECOND * 1_000_000;
        let stateless = expected(1.0 - (1.0 - p) * (1.0 - p));
        let (mean, margin) = mean_delay(&plan, 20_000);
        assert!((mean - stateless).abs() < margin, "{mean} +- {margin}, {stateless} at {p}");
        // A listener that retransmits its answer is faster than that, and slower than with losses in one direction
        // only.
        let (mean, margin) = mean_delay(&Plan { loss: [p; 2], ..Plan::new(HandshakeKind::Tcp) }, 20_000);
        assert!(mean - margin < stateless && mean + margin > expected(p), "{mean} +- {margin} at {p}");
    }
}

fn plans() -> impl Strategy<Value = Plan> {
    let kind =
        prop::sample::select(vec![HandshakeKind::Tcp, HandshakeKind::Quic, HandshakeKind::QuicZeroRtt]);
    (kind, 0u32..40, 0.0..0.5f64, 0.0..0.5f64, 0u64..100, 0.0..0.3f64, any::<u64>()).prop_map(
        |(kind, segments, there, back, jitter, copies, seed)| Plan {
            segments,
            loss: [there, back],
            loses_data: true,
            jitter: MS(jitter),
            copies,
            seed,
            ..Plan::new(kind)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Over any channel the application gets each byte once and in order, and both endpoints become idle.
    #[test]
    fn everything_arrives_once_and_in_order(plan in plans()) {
        let observed = run(&plan);
        let expected: Vec<u8> = (0..plan.segments * SEGMENT).map(|at| (at % 251) as u8).collect();
        prop_assert!(observed.delivered == expected);
        prop_assert!(observed.finished_at.is_some());
        prop_assert_eq!(observed.failed, None);
        // TCP retransmits the close; QUIC sends it once.
        prop_assert!(observed.closed_at.is_some() || plan.config.kind != HandshakeKind::Tcp);
    }
}
