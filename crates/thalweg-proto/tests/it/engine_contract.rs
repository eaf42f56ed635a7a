//! Tests for every engine the guarantees documented at [`Engine`], on random inputs in random order: hostile PDUs,
//! arbitrary delays, and drivers that stop polling early.
//!
//! Each engine runs twice with the same inputs; one of the two is also polled when nothing is due, without effect.

use crate::checked_controller::Steered;
use crate::random_settings::controller;
use proptest::prelude::*;
use std::fmt::Debug;
use std::sync::Arc;
use thalweg_proto::Ecn;
use thalweg_proto::adaptive_ack;
use thalweg_proto::congestion::{FixedWindowConfig, LedbatPlusPlusConfig, NewRenoConfig};
use thalweg_proto::datagram::{self, Sink, Source, SourceConfig};
use thalweg_proto::handshake::{Listener, Opener};
use thalweg_proto::media;
use thalweg_proto::payload::{Length, Payload, Slice};
use thalweg_proto::sscop::{self, Endpoint, EndpointConfig, Sscop};
use thalweg_proto::sstp;
use thalweg_proto::transport::{Feedback, Input};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_proto::window::{
    Ack, Arrival, ControllerConfig, DelayedAck, PauseConfig, Pdu, RackConfig, Receiver, ReceiverConfig,
    Recovery, RelativeDelay, RttConfig, SackBlock, Segment, Sender, SenderConfig, Timestamp, Validation,
    VerifyAcks, WindowUnit,
};
use thalweg_proto::{Engine, Output};

/// The output of an engine.
type Answer<E> = Output<<E as Engine>::Pdu, <E as Engine>::Event, <E as Engine>::Reason>;

/// An action of a driver.
#[derive(Clone, Debug)]
struct Step<I> {
    /// Time since the previous step.
    gap: Duration,
    inputs: Vec<I>,
    /// Maximum number of outputs taken; `None` for all.
    budget: Option<u32>,
    /// Time of a spurious poll, as a share of the time to the announced timeout.
    spurious: f64,
}

/// Two engines and the clock.
struct Driver<E: Engine> {
    engine: E,
    twin: E,
    now: Time,
    due: Time,
    /// Maximum number of outputs at one moment; more indicate a loop.
    max_outputs: u32,
}

impl<E> Driver<E>
where
    E: Engine + Clone + Debug,
    E::Pdu: PartialEq + Debug,
    E::Event: PartialEq + Debug,
    E::Reason: PartialEq,
    E::Input: Clone,
{
    fn new(engine: E, max_outputs: u32) -> Self {
        Self { twin: engine.clone(), engine, now: Time::ZERO, due: Time::MAX, max_outputs }
    }

    fn step(&mut self, step: &Step<E::Input>) {
        let until = self.now + step.gap;
        // Timeouts due in the meantime, bounded as for a late driver.
        for _ in 0..50 {
            if self.due > until {
                break;
            }
            let announced = self.due;
            self.spurious(step.spurious);
            self.now = self.now.max(announced);
            self.drain(None);
            assert!(self.due > announced, "no progress at {announced}: {:?}", self.engine);
        }
        self.now = until;
        for input in &step.inputs {
            self.engine.handle(self.now, input.clone());
            self.twin.handle(self.now, input.clone());
        }
        self.drain(step.budget);
    }

    /// Polls one of the two between now and the announced time: the output is unchanged.
    fn spurious(&mut self, share: f64) {
        let Some(span) = Some(self.due.since(self.now)).filter(|_| self.due < Time::MAX) else { return };
        let at = (self.now + span.mul_f64(share)).min(self.due - Duration::from_picos(1));
        if at < self.now {
            return;
        }
        self.now = at;
        let answer = self.engine.poll(at);
        let again = matches!(answer, Output::Timeout { at, .. } if at == self.due);
        assert!(again, "a poll too early gave {answer:?} instead of the timeout at {}", self.due);
    }

    fn drain(&mut self, budget: Option<u32>) {
        let mut outputs = 0;
        // An input invalidates the announced timeout; nothing is due until the next poll.
        self.due = Time::MAX;
        loop {
            let answer: Answer<E> = self.engine.poll(self.now);
            assert_eq!(answer, self.twin.poll(self.now), "polls in between have changed something");
            outputs += 1;
            assert!(outputs <= self.max_outputs, "a loop: {:?}", self.engine);
            match answer {
                Output::Transmit(_) if budget.is_some_and(|budget| outputs >= budget) => return,
                Output::Transmit(_) | Output::Event(_) => {}
                Output::Timeout { at, .. } => {
                    assert!(at > self.now, "a timeout that is due already");
                    self.due = at;
                    // A drained engine repeats its last output.
                    assert!(
                        matches!(self.engine.poll(self.now), Output::Timeout { at: again, .. } if again == at)
                    );
                    return;
                }
                Output::Idle => {
                    assert!(matches!(self.engine.poll(self.now), Output::Idle));
                    return;
                }
            }
        }
    }
}

fn run<E>(engine: E, steps: &[Step<E::Input>], max_outputs: u32)
where
    E: Engine + Clone + Debug,
    E::Pdu: PartialEq + Debug,
    E::Event: PartialEq + Debug,
    E::Reason: PartialEq,
    E::Input: Clone,
{
    let mut driver = Driver::new(engine, max_outputs);
    for step in steps {
        driver.step(step);
    }
}

fn steps<I: Clone + Debug>(input: impl Strategy<Value = I>) -> impl Strategy<Value = Vec<Step<I>>> {
    // Any magnitude from picoseconds to days.
    let gap = prop_oneof![
        Just(Duration::ZERO),
        (0u32..57, 1u64..16).prop_map(|(shift, factor)| Duration::from_picos(factor << shift))
    ];
    let step = (gap, prop::collection::vec(input, 0..4), prop::option::of(1u32..4), 0.0..1.0f64)
        .prop_map(|(gap, inputs, budget, spurious)| Step { gap, inputs, budget, spurious });
    prop::collection::vec(step, 1..80)
}

/// Stream positions: near the start, anywhere, and at the very end.
fn position() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0u64..40_000, 3 => (0u64..40).prop_map(|n| n * 1000), 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

fn ack() -> impl Strategy<Value = Ack> {
    let offset = || prop_oneof![4 => (0u32..30).prop_map(|n| n * 1000), 1 => any::<u32>(), 1 => 0u32..30_000];
    let block = (offset(), offset()).prop_map(|(start, end)| SackBlock { start, end });
    let window = prop_oneof![2 => Just(1u64 << 30), 1 => 0u64..5000, 1 => Just(0), 1 => any::<u64>()];
    let arrival =
        prop::sample::select(vec![Arrival::Plain, Arrival::Late, Arrival::Repair, Arrival::Spurious]);
    let at = prop_oneof![4 => (-30i32..30).prop_map(|n| n * 1000), 1 => any::<i32>()];
    (position(), window, prop::array::uniform3(block), any::<u16>(), arrival, at).prop_map(
        |(cumulative, window, sack, ce, arrival, arrival_at)| Ack {
            cumulative,
            window,
            sack,
            ce,
            arrival,
            arrival_at,
            delay: (ce % 3 == 0).then(|| RelativeDelay::from_bits(u32::from(ce) << 16)),
        },
    )
}

fn segment<P: Payload>(make: impl Fn(u32) -> P + Clone) -> impl Strategy<Value = Segment<P>> {
    let length = prop_oneof![3 => Just(1000u32), 1 => Just(0), 1 => 0u32..3000];
    (position(), length, any::<bool>()).prop_map(move |(sequence, length, retransmission)| Segment {
        sequence,
        payload: make(length),
        retransmission,
        ack_now: retransmission,
        not_ect: sequence % 2 == 0,
        sent_at: (sequence % 3 == 0).then(|| Timestamp::from_bits(sequence as u32)),
    })
}

/// Arbitrary inputs of an endpoint.
fn inputs<P: Payload + 'static, T: Clone + Debug>(
    pdu: impl Strategy<Value = T>,
    make: impl Fn(u32) -> P + Clone,
) -> impl Strategy<Value = Input<T, P>> {
    let rate = prop_oneof![Just(0), any::<u64>(), Just(8_000_000)];
    let queue = prop_oneof![3 => 0u32..3, 1 => any::<u32>()];
    let feedback =
        (prop::option::of(position()), prop::option::of(rate), queue).prop_map(|(dropped, rate, queue)| {
            Input::Feedback(Feedback {
                dropped,
                rate: rate.map(Rate::from_bits_per_sec),
                growth: None,
                queue,
            })
        });
    prop_oneof![
        20 => (pdu, 0u8..4).prop_map(|(pdu, bits)| Input::Pdu { pdu, ecn: Ecn::from_bits(bits) }),
        8 => (0u32..9000).prop_map(move |length| Input::Write(make(length))),
        4 => prop_oneof![any::<u64>(), 0u64..5000].prop_map(Input::Consumed),
        3 => feedback,
        1 => Just(Input::Pause),
        2 => Just(Input::Resume),
        1 => prop_oneof![20 => Just(Input::Resume), 1 => Just(Input::Finish), 1 => Just(Input::Stop)],
    ]
}

fn window_pdu<P: Payload + 'static>(make: impl Fn(u32) -> P + Clone) -> impl Strategy<Value = Pdu<P>> {
    prop_oneof![ack().prop_map(Pdu::Ack), segment(make).prop_map(Pdu::Segment)]
}

fn sender_config() -> impl Strategy<Value = SenderConfig> {
    let recovery = prop::sample::select(Recovery::ALL.to_vec());
    let counting = prop_oneof![Just(WindowUnit::Packets), Just(WindowUnit::Bytes)];
    let time = || prop_oneof![Just(Duration::ZERO), (0u64..3000).prop_map(Duration::from_millis)];
    let rtt = (time(), time(), time(), time(), time(), 0u32..5).prop_map(
        |(initial, floor, ceiling, granularity, margin, deviations)| RttConfig {
            initial,
            floor,
            ceiling,
            granularity,
            margin,
            deviations,
        },
    );
    let max = prop::option::of(0u32..8);
    (recovery, counting, 1u32..2000, 1u32..50, 0u32..5, rtt, any::<bool>(), any::<[bool; 11]>(), max)
        .prop_map(
            |(
                recovery,
                counting,
                segment,
                max_window,
                duplicate_threshold,
                rtt,
                idle_restart,
                [
                    nagle,
                    fine_grained_timer,
                    ecn,
                    timestamps,
                    freezes_timer,
                    waits_for_timer,
                    rack,
                    undo,
                    tail_probe,
                    prr,
                    f_rto,
                ],
                max_retransmissions,
            )| {
                let validation = if idle_restart { Validation::Decay } else { Validation::PipeAck };
                SenderConfig {
                    segment,
                    max_window,
                    counting,
                    recovery,
                    byte_counting: 1 + duplicate_threshold,
                    duplicate_threshold,
                    rack: rack.then_some(RackConfig { undo, tail_probe, max_ack_delay: rtt.floor }),
                    prr,
                    cut_for_lost_repairs: undo,
                    f_rto,
                    rtt,
                    idle_restart,
                    validation: fine_grained_timer.then_some(validation),
                    nagle,
                    fine_grained_timer,
                    ecn,
                    timestamps,
                    max_retransmissions,
                    ack_requests: max_retransmissions,
                    verify_acks: match max_retransmissions {
                        Some(number) if nagle => VerifyAcks::Always(number),
                        Some(number) => VerifyAcks::AboveStretch(number),
                        None => VerifyAcks::Never,
                    },
                    pause: PauseConfig { freezes_timer, waits_for_timer, drops_acks: prr },
                }
            },
        )
}

fn receiver_config() -> impl Strategy<Value = ReceiverConfig> {
    let delayed_ack = prop::option::of((0u64..400, 0u32..4).prop_map(|(delay, every)| {
        let adaptive = every % 2 == 0;
        DelayedAck { delay: Duration::from_millis(delay), every, adaptive }
    }));
    let window = prop_oneof![Just(64_000u64), 0u64..5000, Just(u64::MAX)];
    (window, delayed_ack, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(window, delayed_ack, sack, keep_out_of_order, wait_for_consumption)| ReceiverConfig {
            window,
            delayed_ack,
            sack,
            keep_out_of_order,
            report_arrivals: sack,
            wait_for_consumption,
            background: wait_for_consumption.then_some(LedbatPlusPlusConfig::RECOMMENDED),
            misbehaviour: None,
        },
    )
}

fn slice(length: u32) -> Slice {
    Slice::new(vec![7; length as usize])
}

fn sstp_bytes(connection: u32, pdu: &sstp::Pdu<Slice>) -> Vec<u8> {
    let mut bytes = Vec::new();
    sstp::wire::encode(connection, pdu, &mut bytes);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn the_window_sender_keeps_the_contract(
        config in sender_config(),
        (controller, pacing) in controller(0..50),
        steps in steps(inputs(window_pdu(Length), Length)),
    ) {
        // At one moment: repeated retransmissions of a window, new segments, and their events.
        run(Sender::new(Arc::new(config), Steered::new(&controller, pacing)), &steps, 1_000);
    }

    #[test]
    fn the_window_sender_of_bytes_keeps_the_contract(
        config in sender_config(),
        (controller, pacing) in controller(0..50),
        steps in steps(inputs(window_pdu(slice), slice)),
    ) {
        run(Sender::new(Arc::new(config), Steered::new(&controller, pacing)), &steps, 1_000);
    }

    #[test]
    fn the_window_receiver_keeps_the_contract(
        config in receiver_config(),
        steps in steps(inputs(window_pdu(slice), slice)),
    ) {
        // Three inputs per step cause three acknowledgements, but a step may deliver all held data.
        run(Receiver::<Slice>::new(Arc::new(config)), &steps, 1_000);
    }

    #[test]
    fn the_window_receiver_of_lengths_keeps_the_contract(
        config in receiver_config(),
        steps in steps(inputs(window_pdu(Length), Length)),
    ) {
        run(Receiver::<Length>::new(Arc::new(config)), &steps, 1_000);
    }

    #[test]
    fn sscop_keeps_the_contract(
        config in crate::sscop_input::config(),
        open in any::<bool>(),
        steps in steps(crate::sscop_input::input(slice)),
    ) {
        let mut engine = Sscop::<Slice>::new(Arc::new(config));
        if open {
            // Most behaviour is in the data transfer state.
            crate::sscop_input::open(&mut engine);
        }
        // At one moment: two windows, with the answers to delayed PDUs.
        run(engine, &steps, 2_000);
    }

    #[test]
    fn the_sscop_endpoint_keeps_the_contract(
        config in crate::sscop_input::config(),
        segment in 1u32..2000,
        steps in steps(inputs(crate::sscop_input::pdu(Length), Length)),
    ) {
        let config = EndpointConfig { sscop: Arc::new(config), segment };
        // Data written at one moment may be sent at once, in segments of a byte.
        run(Endpoint::<Length>::new(&config), &steps, 200_000);
    }

    /// A hostile peer cannot make an endpoint store more than its window and its answers.
    #[test]
    fn sscop_holds_no_more_than_its_window(
        window in 1u32..100,
        pdus in prop::collection::vec(crate::sscop_input::pdu(slice), 500),
        lazy in any::<bool>(),
    ) {
        let config = sscop::Config { window, credit: sscop::Credit::User, k: 2, j: 2, ..sscop::Config::default() };
        let mut engine = Sscop::<Slice>::new(Arc::new(config));
        crate::sscop_input::open(&mut engine);
        for pdu in pdus {
            engine.handle(Time::ZERO, sscop::Input::Pdu(pdu));
            while !lazy && !matches!(engine.poll(Time::ZERO), Output::Idle | Output::Timeout { .. }) {}
        }
        let written = format!("{engine:?}").len();
        // A driver that never polls leaves 256 answers and those to one more PDU.
        let waiting = if lazy { 300 * 700 } else { 0 };
        prop_assert!(written < 6_000 + 150 * window as usize + waiting, "{}", written);
    }

    #[test]
    fn the_datagram_source_keeps_the_contract(
        (segment, header) in (1u32..2000, 0u32..100),
        rate in prop::option::of(prop_oneof![Just(0), any::<u64>(), 1_000u64..100_000_000]),
        steps in steps(inputs((0u32..3000).prop_map(|length| datagram::Pdu(slice(length))), slice)),
    ) {
        let rate = rate.map(Rate::from_bits_per_sec);
        run(Source::<Slice>::new(SourceConfig { segment, header, rate }), &steps, 2_000_000);
    }

    #[test]
    fn the_datagram_sink_keeps_the_contract(steps in steps(inputs((0u32..3000).prop_map(|length| datagram::Pdu(Length(length))), Length))) {
        run(Sink::<Length>::new(), &steps, 1_000);
    }

    #[test]
    fn the_adaptive_transmitter_keeps_the_contract(
        config in crate::adaptive_ack_input::config(),
        steps in steps(inputs(crate::adaptive_ack_input::pdu(Length), Length)),
    ) {
        run(adaptive_ack::Transmitter::<Length>::new(Arc::new(config)), &steps, 1_000);
    }

    #[test]
    fn the_adaptive_transmitter_of_bytes_keeps_the_contract(
        config in crate::adaptive_ack_input::config(),
        steps in steps(inputs(crate::adaptive_ack_input::pdu(slice), slice)),
    ) {
        run(adaptive_ack::Transmitter::<Slice>::new(Arc::new(config)), &steps, 1_000);
    }

    #[test]
    fn the_adaptive_receiver_keeps_the_contract(
        config in crate::adaptive_ack_input::config(),
        steps in steps(inputs(crate::adaptive_ack_input::pdu(slice), slice)),
    ) {
        run(adaptive_ack::Receiver::<Slice>::new(Arc::new(config)), &steps, 1_000);
    }

    /// Arbitrary requests cannot make a transmitter store more than its window.
    #[test]
    fn an_adaptive_transmitter_holds_no_more_than_its_window(
        config in crate::adaptive_ack_input::config(),
        reports in prop::collection::vec(crate::adaptive_ack_input::report::<Length>(), 500),
    ) {
        let mut transmitter = adaptive_ack::Transmitter::<Length>::new(Arc::new(config));
        transmitter.handle(Time::ZERO, Input::Write(Length(u32::MAX)));
        for (round, pdu) in (0..).zip(reports) {
            let now = Time::from_picos(round << 38);
            transmitter.handle(now, Input::Pdu { pdu, ecn: Ecn::NotEct });
            for _ in 0..round % 7 {
                let _ = transmitter.poll(now);
            }
            let stats = transmitter.stats(now);
            let window = config.window.max(1);
            prop_assert!(stats.common.in_flight <= window && stats.to_resend <= window);
            let written = format!("{transmitter:?}").len();
            prop_assert!(written < 2_000 + 200 * window as usize, "{}", written);
        }
    }

    /// A hostile peer cannot make a receiver store more than its window, nor owe more reports, even if the driver never
    /// polls.
    #[test]
    fn an_adaptive_receiver_holds_no_more_than_its_window(
        config in crate::adaptive_ack_input::config(),
        packets in prop::collection::vec(crate::adaptive_ack_input::data(slice), 500),
        drained in any::<bool>(),
    ) {
        let mut receiver = adaptive_ack::Receiver::<Slice>::new(Arc::new(config));
        for (round, pdu) in (0..).zip(packets) {
            let now = Time::from_picos(round << 38);
            receiver.handle(now, Input::Pdu { pdu, ecn: Ecn::NotEct });
            if drained {
                while matches!(receiver.poll(now), Output::Transmit(_) | Output::Event(_)) {}
            }
        }
        let written = format!("{receiver:?}").len();
        prop_assert!(written < 2_000 + 200 * config.window as usize, "{}", written);
    }

    #[test]
    fn the_media_sender_keeps_the_contract(
        config in crate::media_input::config(),
        steps in steps(inputs(crate::media_input::pdu(slice), slice)),
    ) {
        // At one moment: all data delayed while the driver did not poll.
        run(media::Sender::<Slice>::new(&config), &steps, 1_000);
    }

    #[test]
    fn the_media_receiver_keeps_the_contract(
        config in crate::media_input::config(),
        steps in steps(inputs(crate::media_input::pdu(Length), Length)),
    ) {
        run(media::Receiver::<Length>::new(&config), &steps, 1_000);
    }

    /// A hostile peer cannot make a receiver store more than a few hundred packets and frames, once the driver has
    /// taken the delivered data.
    #[test]
    fn a_media_receiver_holds_little(
        config in crate::media_input::config(),
        packets in prop::collection::vec(crate::media_input::data(slice), 800),
    ) {
        let mut receiver = media::Receiver::<Slice>::new(&config);
        for (round, pdu) in (0..).zip(packets) {
            let now = Time::from_picos(round << 38);
            receiver.handle(now, Input::Pdu { pdu, ecn: Ecn::NotEct });
            while matches!(receiver.poll(now), Output::Event(_) | Output::Transmit(_)) {}
        }
        let written = format!("{receiver:?}").len();
        prop_assert!(written < 100_000, "{}", written);
    }

    #[test]
    fn the_sstp_sender_keeps_the_contract(
        config in crate::sstp_input::sender_config(),
        steps in steps(inputs(crate::sstp_input::pdu(slice), slice)),
    ) {
        run(sstp::Sender::<Slice>::new(Arc::new(config)), &steps, 1_000);
    }

    #[test]
    fn the_sstp_receiver_keeps_the_contract(
        config in crate::sstp_input::receiver_config(),
        steps in steps(inputs(crate::sstp_input::pdu(slice), slice)),
    ) {
        run(sstp::Receiver::<Slice>::new(Arc::new(config)), &steps, 1_000);
    }

    #[test]
    fn the_sstp_receiver_of_lengths_keeps_the_contract(
        config in crate::sstp_input::receiver_config(),
        steps in steps(inputs(crate::sstp_input::pdu(Length), Length)),
    ) {
        run(sstp::Receiver::<Length>::new(Arc::new(config)), &steps, 1_000);
    }

    #[test]
    fn the_handshake_opener_keeps_the_contract(
        config in crate::handshake_input::config(),
        sender in sender_config(),
        (controller, pacing) in controller(0..100),
        steps in steps(inputs(crate::handshake_input::pdu(window_pdu(slice)), slice)),
    ) {
        let sender = Sender::<Slice, _>::new(Arc::new(sender), Steered::new(&controller, pacing));
        run(Opener::new(config, sender), &steps, 5_000);
    }

    #[test]
    fn the_handshake_listener_keeps_the_contract(
        config in crate::handshake_input::config(),
        receiver in receiver_config(),
        steps in steps(inputs(crate::handshake_input::pdu(window_pdu(slice)), slice)),
    ) {
        run(Listener::new(config, Receiver::<Slice>::new(Arc::new(receiver))), &steps, 5_000);
    }

    /// Neither endpoint of a two-level connection stores more than its window and buffer, for any input.
    #[test]
    fn sstp_holds_no_more_than_its_windows(
        sender in crate::sstp_input::sender_config(),
        receiver in crate::sstp_input::receiver_config(),
        pdus in prop::collection::vec(crate::sstp_input::pdu(slice), 500),
    ) {
        let (window, buffer) = (usize::from(receiver.window.max(1)), receiver.buffer.max(1));
        let max = usize::from(sender.window.max(1));
        let mut sender = sstp::Sender::<Slice>::new(Arc::new(sender));
        let mut receiver = sstp::Receiver::<Slice>::new(Arc::new(receiver));
        for _ in 0..100 {
            sender.handle(Time::ZERO, Input::Write(slice(1000)));
        }
        for (round, pdu) in (0..).zip(pdus) {
            let now = Time::from_picos(round << 38);
            sender.handle(now, Input::Pdu { pdu: pdu.clone(), ecn: Ecn::NotEct });
            receiver.handle(now, Input::Pdu { pdu, ecn: Ecn::NotEct });
            for _ in 0..100 {
                let _ = sender.poll(now);
                let _ = receiver.poll(now);
            }
            prop_assert!(sender.stats(now).buffered as usize <= max);
            prop_assert!(receiver.stats().buffered <= u32::from(buffer) + 1);
        }
        let written = format!("{receiver:?}").len();
        prop_assert!(written < 4_000 + 2_000 * window, "{}", written);
    }

    #[test]
    fn sstp_packets_survive_the_wire(pdu in crate::sstp_input::pdu(slice), connection in any::<u32>()) {
        let bytes = sstp_bytes(connection, &pdu);
        let is_empty = matches!(&pdu, sstp::Pdu::Data(data) if data.payload.is_empty())
            || matches!(&pdu, sstp::Pdu::Snak(_, request) if request.bitmap.is_empty());
        match sstp::wire::decode(&Slice::new(bytes)) {
            Ok(decoded) => prop_assert_eq!(decoded, (connection, pdu)),
            Err(error) => prop_assert!(is_empty, "{} of {:?}", error, pdu),
        }
    }

    #[test]
    fn any_bytes_are_an_sstp_packet_or_none(
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        kind in 0u8..7,
    ) {
        let _ = sstp::wire::decode(&Slice::new(bytes.clone()));
        // Bypasses the checksum and the version check.
        let mut bytes = bytes;
        if bytes.len() >= 18 {
            (bytes[4], bytes[5], bytes[6]) = (0, kind, sstp::wire::VERSION);
            let length = bytes.len();
            let sum: u32 = bytes[..length - 2]
                .chunks(2)
                .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
                .sum();
            let sum = (sum & 0xffff) + (sum >> 16);
            bytes[length - 2..].copy_from_slice(&(!(sum as u16)).to_be_bytes());
            if let Ok((connection, pdu)) = sstp::wire::decode(&Slice::new(bytes)) {
                let again = Slice::new(sstp_bytes(connection, &pdu));
                prop_assert_eq!(sstp::wire::decode(&again), Ok((connection, pdu)));
            }
        }
    }

    /// Arbitrary acknowledgements cannot make a sender store more than its window.
    #[test]
    fn a_sender_holds_no_more_than_its_window(
        config in sender_config(),
        acks in prop::collection::vec(ack(), 500),
    ) {
        let mut sender = Sender::<Length, _>::new(Arc::new(config), Steered::new(&ControllerConfig::FixedWindow(FixedWindowConfig { window: 1e9 }), None));
        sender.handle(Time::ZERO, Input::Write(Length(u32::MAX)));
        for (round, ack) in (0..).zip(acks) {
            let now = Time::from_picos(round << 38);
            sender.handle(now, Input::Pdu { pdu: Pdu::Ack(ack), ecn: Ecn::NotEct });
            for _ in 0..100 {
                let _ = sender.poll(now);
            }
            prop_assert!(sender.stats(now).common.in_flight <= config.max_window);
            // The debug output is bounded too: a few hundred characters per segment, and as much again for ranges.
            let written = format!("{sender:?}").len();
            prop_assert!(written < 6_000 + 500 * config.max_window as usize, "{}", written);
        }
    }

    /// A hostile peer cannot make a receiver store more than its window.
    #[test]
    fn a_receiver_holds_no_more_than_its_window(
        window in 1u64..3000,
        segments in prop::collection::vec(segment(|length| slice(length.min(3))), 500),
    ) {
        let config = ReceiverConfig { window, ..ReceiverConfig::default() };
        let mut receiver = Receiver::<Slice>::new(Arc::new(config));
        for segment in segments {
            receiver.handle(Time::ZERO, Input::Pdu { pdu: Pdu::Segment(segment), ecn: Ecn::NotEct });
            while !matches!(receiver.poll(Time::ZERO), Output::Idle) {}
        }
        let written = format!("{receiver:?}").len();
        // Short pieces share blocks of 4096 bytes, three characters each: two blocks for the smallest window.
        prop_assert!(written < 27_000 + 150 * window as usize, "{}", written);
    }
}

/// A sender without any acknowledgement has a hundred timeouts with exponential back-off, then at the ceiling: silence
/// cannot make an engine spin.
#[test]
fn timeouts_back_off_without_acknowledgements() {
    let config = SenderConfig { segment: 1000, ..SenderConfig::default() };
    let controller = ControllerConfig::NewReno(NewRenoConfig {
        initial_window: 2.0,
        initial_ssthresh: 64.0,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    });
    let mut sender = Sender::<Length, _>::new(Arc::new(config), Steered::new(&controller, None));
    sender.handle(Time::ZERO, Input::Write(Length(5000)));
    let (mut now, mut last, mut sent) = (Time::ZERO, Duration::ZERO, 0);
    while now < Time::ZERO + Duration::from_secs(6000) {
        match sender.poll(now) {
            Output::Transmit(_) => sent += 1,
            Output::Event(_) => {}
            Output::Timeout { at, .. } => {
                assert!(at.since(now) >= last.min(config.rtt.ceiling));
                (last, now) = (at.since(now), at);
            }
            Output::Idle => panic!("the data is still outstanding"),
        }
    }
    // Two segments, then one at 1, 3, 7 ... 63 s, and then one per minute, 98 times before 6000 s.
    assert_eq!(sent, 2 + 6 + 98);
}
