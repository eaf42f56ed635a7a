//! Two endpoints joined by a channel that keeps the order of PDUs and loses some, and by channels with other faults.

use super::*;
use crate::payload::{Length, Payload};
use crate::random::RandomStream;
use proptest::prelude::*;
use std::collections::VecDeque;

/// Channel faults.
#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    loss: f64,
    duplicate: f64,
    /// Maximum number of later PDUs that overtake a PDU.
    reorder: Option<usize>,
}

/// Two endpoints, and the PDUs in flight to each.
struct Pair<P: Payload> {
    ends: [Sscop<P>; 2],
    /// PDUs in flight to the endpoint of that index, with their arrival times.
    wires: [VecDeque<(Time, Pdu<P>)>; 2],
    channel: Channel,
    delay: Duration,
    now: Time,
    stream: RandomStream,
    /// Messages delivered by each endpoint, with their numbers.
    delivered: [Vec<P>; 2],
    errors: Vec<(usize, ErrorCode)>,
    /// SDs lost by the channel.
    lost: u64,
    silent: bool,
}

impl<P: Payload> Pair<P> {
    /// Creates a pair open in both directions; the numbers of both start at `start`.
    fn new(config: &Config, channel: Channel, start: u32, seed: u64) -> Self {
        let config = Arc::new(config.clone());
        let mut pair = Self {
            ends: [Sscop::new(Arc::clone(&config)), Sscop::new(config)],
            wires: [VecDeque::new(), VecDeque::new()],
            channel: Channel::default(),
            delay: Duration::from_millis(7),
            now: Time::ZERO,
            stream: RandomStream::new(seed, "channel", 0),
            delivered: [Vec::new(), Vec::new()],
            errors: Vec::new(),
            lost: 0,
            silent: false,
        };
        let establish = Request::Establish { uu: None, clear_buffers: true };
        pair.ends[0].request(pair.now, establish).expect("idle");
        pair.run(Duration::from_millis(100));
        assert!(pair.ends.iter().all(|end| end.state() == State::Ready));
        for end in &mut pair.ends {
            let v = &mut end.variables;
            for number in [&mut v.vt_s, &mut v.vt_a, &mut v.vt_ms, &mut v.vr_r, &mut v.vr_h, &mut v.vr_mr] {
                *number = number.plus(start);
            }
            for number in [&mut v.vt_ps, &mut v.vt_pa] {
                *number = number.plus(start);
            }
        }
        pair.channel = channel;
        pair
    }

    fn send(&mut self, to: usize, pdu: Pdu<P>) {
        if self.silent || self.stream.chance(self.channel.loss) {
            self.lost += u64::from(matches!(pdu, Pdu::Sd { .. }));
            return;
        }
        let arrives = self.now + self.delay;
        if self.stream.chance(self.channel.duplicate) {
            self.wires[to].push_back((arrives, pdu.clone()));
        }
        self.wires[to].push_back((arrives, pdu));
        if let Some(max) = self.channel.reorder {
            let last = self.wires[to].len() - 1;
            let other = last.saturating_sub(self.stream.below(max as u64 + 1) as usize);
            let (a, b) = (self.wires[to][last].0, self.wires[to][other].0);
            self.wires[to].swap(last, other);
            (self.wires[to][last].0, self.wires[to][other].0) = (a, b);
        }
    }

    fn drain(&mut self, end: usize) {
        loop {
            match self.ends[end].poll(self.now) {
                Output::Transmit(pdu) => self.send(1 - end, pdu),
                Output::Event(signal) => self.on_signal(end, signal),
                Output::Timeout { .. } | Output::Idle => return,
            }
        }
    }

    fn on_signal(&mut self, end: usize, signal: Signal<P>) {
        let answer = match signal {
            Signal::Data { mu, .. } => return self.delivered[end].push(mu),
            Signal::Error(code) => return self.errors.push((end, code)),
            Signal::Establish { .. } => Request::AcceptEstablish { uu: None, clear_buffers: true },
            Signal::Recover => Request::AcceptRecover,
            _ => return,
        };
        let _ = self.ends[end].request(self.now, answer);
    }

    /// Advances the clock; returns false if no event is left.
    fn run(&mut self, span: Duration) -> bool {
        let until = self.now + span;
        loop {
            self.drain(0);
            self.drain(1);
            let wires = self.wires.iter().filter_map(|wire| wire.front()).map(|(at, _)| *at);
            let timers = self.ends.iter().filter_map(|end| end.timers.next()).map(|(at, _)| at);
            let Some(next) = wires.chain(timers).min() else { return false };
            if next > until {
                self.now = until;
                return true;
            }
            self.now = self.now.max(next);
            for end in 0..2 {
                while let Some((_, pdu)) = self.wires[end].pop_front_if(|(at, _)| *at <= next) {
                    self.ends[end].handle(self.now, Input::Pdu(pdu));
                    self.drain(end);
                }
            }
        }
    }

    fn write(&mut self, end: usize, mu: P) {
        self.ends[end].request(self.now, Request::Data(mu)).expect("open");
    }

    /// Runs until both endpoints have delivered everything; fails after an unreasonable time.
    fn finish(&mut self) {
        for _ in 0..10_000 {
            self.run(Duration::from_millis(200));
            if self.ends.iter().all(Sscop::is_drained) {
                return;
            }
        }
        panic!("not all was acknowledged: {:?}", self.errors);
    }
}

/// Returns a message that contains its index.
fn message(index: u32) -> Slice {
    Slice::new(index.to_be_bytes())
}

/// Sends `messages` messages each way over an order-preserving channel, and checks the guarantees.
fn exchange(config: &Config, loss: f64, start: u32, messages: u32, seed: u64) -> Pair<Slice> {
    let mut pair = Pair::new(config, Channel { loss, ..Channel::default() }, start, seed);
    let mut gaps = RandomStream::new(seed, "gaps", 0);
    for index in 0..messages {
        for end in 0..2 {
            pair.write(end, message(index));
        }
        if gaps.chance(0.2) {
            pair.run(Duration::from_micros(gaps.below(30_000)));
        }
    }
    pair.finish();
    for delivered in &pair.delivered {
        let expected = (0..messages).map(message);
        assert!(
            delivered
                .iter()
                .map(Slice::as_bytes)
                .eq(expected.collect::<Vec<_>>().iter().map(Slice::as_bytes))
        );
    }
    let again: u64 = pair.ends.iter().map(|end| end.stats().retransmissions).sum();
    assert_eq!(again, pair.lost, "as many retransmissions as losses");
    let expected =
        |code| matches!(code, ErrorCode::Retransmission(_) | ErrorCode::NoCredit | ErrorCode::Credit);
    assert!(pair.errors.iter().all(|(_, code)| expected(*code)), "{:?}", pair.errors);
    pair
}

/// Returns a configuration whose timeouts tolerate the loss of most PDUs.
fn loss_tolerant_config() -> Config {
    let mut config = Config { window: 40, ..Config::default() };
    config.timers.no_response = Duration::from_secs(600);
    config
}

/// S01.
#[test]
fn no_loss_is_reported_without_losses() {
    let pair = exchange(&Config { window: 1000, ..Config::default() }, 0.0, 0, 500, 1);
    assert_eq!((pair.errors, pair.lost), (vec![], 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// S02, S07: each message once and in order; as many retransmissions as losses; no protocol error.
    #[test]
    fn losses_are_repaired_one_for_one(
        loss in prop_oneof![Just(0.0), Just(0.05), Just(0.2), Just(0.4)],
        max_stat in prop_oneof![Just(3u32), Just(67)],
        max_pd in 1u32..30,
        window in 1u32..100,
        start in prop_oneof![Just(0u32), (SequenceNumber::MODULUS - 200)..SequenceNumber::MODULUS, 0..SequenceNumber::MODULUS],
        poll_after_retransmission in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let config = Config { max_stat, max_pd, window, poll_after_retransmission, ..loss_tolerant_config() };
        exchange(&config, loss, start, 300, seed);
    }

    /// S03, S04: a channel that reorders or duplicates violates SSCOP's assumptions. The endpoints detect this, recover
    /// and continue; every delivered message is from the peer.
    #[test]
    fn reordering_is_detected(duplicate in prop_oneof![Just(0.0), Just(0.1)], max in 1usize..5, seed in any::<u64>()) {
        let reorder = (duplicate == 0.0).then_some(max);
        let mut pair = Pair::new(&loss_tolerant_config(), Channel { duplicate, reorder, loss: 0.0 }, 0, seed);
        for index in 0..2000 {
            for end in 0..2 {
                // Refused during recovery.
                let _ = pair.ends[end].request(pair.now, Request::Data(message(index)));
            }
            pair.run(Duration::from_micros(500));
        }
        prop_assert!(pair.ends.iter().any(|end| end.stats().recoveries > 0));
        let class = |code: &ErrorCode| matches!(code.letter(), 'Q' | 'R' | 'S' | 'T');
        prop_assert!(pair.errors.iter().any(|(_, code)| class(code)));
        prop_assert!(pair.delivered.iter().flatten().all(|mu| mu.len() == 4));
    }
}

/// If old SDs are ignored, a channel that only duplicates delivered SDs does no harm.
#[test]
fn old_data_is_ignored_if_configured() {
    let config = Config { ignore_old_data: true, ..loss_tolerant_config() };
    let mut pair = Pair::new(&config, Channel::default(), 0xff_ff00, 1);
    for index in 0..1000 {
        pair.write(0, message(index));
        pair.run(Duration::from_millis(1));
        // The peer receives the last SD again, long after the first time.
        let old = pair.ends[1].variables().vr_r.plus(SequenceNumber::MODULUS - 1);
        pair.ends[1].handle(pair.now, Input::Pdu(Pdu::Sd { s: old, mu: message(7) }));
    }
    pair.finish();
    assert_eq!((pair.delivered[1].len(), pair.errors.len()), (1000, 0));
}

/// S05.
#[test]
fn a_dead_channel_ends_the_connection_on_both_sides() {
    let mut pair = Pair::new(&Config::default(), Channel::default(), 0, 1);
    pair.write(0, message(1));
    pair.run(Duration::from_secs(1));
    pair.silent = true;
    // The idle phase may last 15 s before a POLL, and the timeout is 7 s.
    pair.run(Duration::from_secs(23));
    assert!(pair.ends.iter().all(|end| end.state() == State::Idle));
    assert_eq!(pair.errors, [(0, ErrorCode::NoResponse), (1, ErrorCode::NoResponse)]);
}

/// W06: more messages than there are numbers.
#[test]
fn numbers_wrap_in_use() {
    let config = Config { window: 5000, max_pd: 500, ..Config::default() };
    let mut pair = Pair::<Length>::new(&config, Channel::default(), 0, 1);
    let (mut left, mut delivered) = (u64::from(SequenceNumber::MODULUS) + 1000, 0);
    let all = left;
    while delivered < all {
        while left > 0 && pair.ends[0].queued() < 4000 {
            pair.write(0, Length(1));
            left -= 1;
        }
        pair.run(Duration::from_millis(20));
        delivered += pair.delivered[1].drain(..).count() as u64;
    }
    assert_eq!((delivered, pair.ends[1].variables().vr_r), (all, n(1000)));
    assert!(pair.errors.iter().all(|(_, code)| matches!(code, ErrorCode::NoCredit | ErrorCode::Credit)));
}
