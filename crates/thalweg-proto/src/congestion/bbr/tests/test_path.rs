//! Test path: a sender with BBR, a bottleneck, a receiver, and access to BBR's state.

use crate::Ecn;
use crate::congestion::bbr::{Bbr, BbrConfig, BbrState};
use crate::congestion::delivery_rate::Stamp;
use crate::congestion::{
    AckSample, ConnectionState, Controller, Decision, LossSample, LostSample, SentSample,
};
use crate::payload::Length;
use crate::transport::Input;
use crate::units::{Bytes, Duration, Rate, Time};
use crate::window::{
    Ack, DelayedAck, Pdu, RackConfig, Receiver, ReceiverConfig, Segment, Sender, SenderConfig,
};
use crate::{Engine, Output};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

/// BBR with test access to its state.
#[derive(Clone, Debug)]
struct WatchedBbr(Arc<Mutex<Bbr>>);

impl WatchedBbr {
    fn bbr(&self) -> std::sync::MutexGuard<'_, Bbr> {
        self.0.lock().unwrap()
    }
}

impl Controller for WatchedBbr {
    type PacketInfo = Stamp;

    fn on_sent(&mut self, sample: &SentSample) -> Stamp {
        self.bbr().on_sent(sample)
    }
    fn on_ack(&mut self, sample: &AckSample, stamp: Stamp) {
        self.bbr().on_ack(sample, stamp);
    }
    fn on_loss(&mut self, sample: &LossSample) {
        self.bbr().on_loss(sample);
    }
    fn on_packet_lost(&mut self, sample: &LostSample, stamp: Stamp) {
        self.bbr().on_packet_lost(sample, stamp);
    }
    fn on_app_limited(&mut self, connection: &ConnectionState) {
        self.bbr().on_app_limited(connection);
    }
    fn would_undo(&self, _before: &Self) -> bool {
        true
    }
    fn on_undo(&mut self, _before: Self, connection: &ConnectionState) {
        let before = self.bbr().clone();
        self.bbr().on_undo(before, connection);
    }
    fn decision(&self) -> Decision {
        self.bbr().decision()
    }
}

/// Test network, with its impairments.
pub struct Setup {
    pub rate: Rate,
    pub rtt: Duration,
    /// Bottleneck queue, in bandwidth-delay products.
    pub buffer: f64,
    pub segment: u32,
    pub config: BbrConfig,
    /// Delayed acknowledgements: one for every other packet.
    pub delayed_acks: bool,
}

impl Setup {
    /// Creates a path with a queue of two bandwidth-delay products. Segments are large enough that at most 20 000 leave
    /// per second, so the duration of a test does not depend on the rate.
    pub fn new(mbits: u64, millis: u64) -> Self {
        let rate = Rate::from_mbits_per_sec(mbits);
        let segment = (rate.as_bits_per_sec() / 8 / 20_000).max(1448) as u32;
        Self {
            rate,
            rtt: Duration::from_millis(millis),
            buffer: 2.0,
            segment,
            config: BbrConfig::default(),
            delayed_acks: false,
        }
    }

    pub fn bdp(&self) -> f64 {
        self.rate.as_f64() / 8.0 * self.rtt.as_secs_f64()
    }

    pub fn build(self) -> Path {
        Path::new(self)
    }

    /// Builds the path without ProbeRTT, which on long paths precedes the end of ProbeBW's cycle.
    pub fn build_shrinking(self) -> Path {
        let mut path = Path::new(self);
        path.shrinks = true;
        path
    }
}

enum Event {
    /// Departure of the packet at the bottleneck.
    Served,
    Segment(Segment<Length>),
    Ack(Ack),
    Poll,
    Acknowledge,
    Write,
}

/// Returns true if the path loses a packet, by the number of its departure.
type Lose = Box<dyn FnMut(u64, Time) -> bool>;
/// Returns the additional delay of a packet, by the number of its departure.
type Delay = Box<dyn FnMut(u64, Time) -> Duration>;

/// Path with one flow.
pub struct Path {
    pub now: Time,
    pub setup: Setup,
    bbr: Arc<Mutex<Bbr>>,
    sender: Sender<Length, WatchedBbr>,
    receiver: Receiver<Length>,
    events: BTreeMap<(Time, u64), Event>,
    order: u64,
    poll_at: Time,
    /// Packets queued at the bottleneck or in transmission, with their additional delays.
    queue: VecDeque<(Segment<Length>, Duration)>,
    queued: u64,
    departures: u64,
    /// Bytes forwarded by the bottleneck.
    pub through: u64,
    pub dropped: u64,
    pub sent: u64,
    pub lose: Lose,
    pub delay: Delay,
    /// Arrivals are held until this time, and then released in order.
    pub held_until: Time,
    /// The path delay decreases by a thousandth per second: round trips without a queue are always the minimum, so
    /// ProbeRTT does not occur while there are such round trips.
    pub shrinks: bool,
    /// Acknowledgements arrive in groups, at multiples of this time.
    pub ack_slot: Duration,
    /// Policer in place of a queue: token rate, and bucket size in bytes.
    pub policer: Option<(Rate, f64)>,
    tokens: f64,
    tokens_at: Time,
    /// Write interval of the application and bytes per write; `None` for a greedy application.
    app: Option<(Duration, u32)>,
}

impl Path {
    fn new(setup: Setup) -> Self {
        let bbr = Arc::new(Mutex::new(Bbr::new(&setup.config)));
        let rack = RackConfig { undo: true, tail_probe: true, max_ack_delay: Duration::ZERO };
        let sender = SenderConfig { segment: setup.segment, rack: Some(rack), ..SenderConfig::default() };
        let delayed = DelayedAck { delay: Duration::from_millis(40), every: 2, adaptive: false };
        let receiver = ReceiverConfig {
            report_arrivals: true,
            window: 1 << 40,
            delayed_ack: setup.delayed_acks.then_some(delayed),
            ..ReceiverConfig::default()
        };
        let mut path = Self {
            now: Time::ZERO,
            bbr: Arc::clone(&bbr),
            sender: Sender::new(Arc::new(sender), WatchedBbr(bbr)),
            receiver: Receiver::new(Arc::new(receiver)),
            events: BTreeMap::new(),
            order: 0,
            poll_at: Time::MAX,
            queue: VecDeque::new(),
            queued: 0,
            departures: 0,
            through: 0,
            dropped: 0,
            sent: 0,
            lose: Box::new(|_, _| false),
            delay: Box::new(|_, _| Duration::ZERO),
            held_until: Time::ZERO,
            shrinks: false,
            ack_slot: Duration::ZERO,
            policer: None,
            tokens: 0.0,
            tokens_at: Time::ZERO,
            app: None,
            setup,
        };
        path.at(Time::ZERO, Event::Poll);
        path
    }

    /// Returns a copy of BBR.
    pub fn bbr(&self) -> Bbr {
        self.bbr.lock().unwrap().clone()
    }

    /// Returns a value derived from BBR's state.
    pub fn see<T>(&self, of: impl FnOnce(&Bbr) -> T) -> T {
        of(&self.bbr.lock().unwrap())
    }

    pub fn state(&self) -> BbrState {
        self.bbr.lock().unwrap().state
    }

    pub fn window(&self) -> f64 {
        self.bbr.lock().unwrap().cwnd
    }

    pub fn in_flight(&self) -> f64 {
        f64::from(self.sender.stats(self.now).common.in_flight) * f64::from(self.setup.segment)
    }

    pub fn undone(&self) -> u64 {
        self.sender.stats(self.now).undone
    }

    pub fn timeouts(&self) -> u64 {
        self.sender.stats(self.now).common.timeouts
    }

    /// Sets the bottleneck rate from the next packet on.
    pub fn set_rate(&mut self, rate: Rate) {
        self.setup.rate = rate;
    }

    /// Limits the application to writes of this many bytes each `period`, once its backlog has been sent.
    pub fn limit_application(&mut self, period: Duration, bytes: u32) {
        if self.app.is_none() {
            self.at(self.now + period, Event::Write);
        }
        self.app = Some((period, bytes));
    }

    /// Makes the application greedy again.
    pub fn unlimit_application(&mut self) {
        self.app = None;
        self.feed();
    }

    fn at(&mut self, at: Time, event: Event) {
        self.order += 1;
        self.events.insert((at, self.order), event);
    }

    fn feed(&mut self) {
        let enough = 8 * u64::from(self.setup.segment);
        while self.app.is_none() && self.sender.backlog() < enough {
            self.sender.handle(self.now, Input::Write(Length(enough as u32)));
        }
    }

    fn drain(&mut self) {
        loop {
            self.feed();
            match self.sender.poll(self.now) {
                Output::Transmit(Pdu::Segment(segment)) => self.depart(segment),
                Output::Transmit(Pdu::Ack(_)) | Output::Event(_) => {}
                Output::Timeout { at, .. } => {
                    if at < self.poll_at || self.poll_at <= self.now {
                        self.poll_at = at;
                        self.at(at, Event::Poll);
                    }
                    return;
                }
                Output::Idle => return,
            }
        }
    }

    fn admits(&mut self, bytes: u64) -> bool {
        if let Some((rate, size)) = self.policer {
            let gained = rate.as_f64() / 8.0 * self.now.since(self.tokens_at).as_secs_f64();
            self.tokens = (self.tokens + gained).min(size);
            self.tokens_at = self.now;
            let conforms = self.tokens >= bytes as f64;
            self.tokens -= if conforms { bytes as f64 } else { 0.0 };
            return conforms;
        }
        let buffer_bytes = (self.setup.buffer * self.setup.bdp()).max(40.0 * f64::from(self.setup.segment));
        (self.queued + bytes) as f64 <= buffer_bytes
    }

    fn depart(&mut self, segment: Segment<Length>) {
        let bytes = u64::from(segment.payload.0);
        self.departures += 1;
        self.sent += bytes;
        let number = self.departures;
        if (self.lose)(number, self.now) || !self.admits(bytes) {
            self.dropped += bytes;
            return;
        }
        self.through += bytes;
        self.queued += bytes;
        let late = (self.delay)(number, self.now);
        self.queue.push_back((segment, late));
        if self.queue.len() == 1 {
            self.serve();
        }
    }

    /// Transmits the first queued packet at the bottleneck.
    fn serve(&mut self) {
        let Some((segment, _)) = self.queue.front() else { return };
        let time = self.setup.rate.transmission_time(Bytes::new(u64::from(segment.payload.0)));
        if self.shrinks {
            self.setup.rtt = self.setup.rtt.mul_f64(1.0 - 1e-3 * time.as_secs_f64());
        }
        self.at(self.now + time, Event::Served);
    }

    fn served(&mut self) {
        let Some((segment, late)) = self.queue.pop_front() else { return };
        self.queued -= u64::from(segment.payload.0);
        let at = self.now + self.setup.rtt / 2 + late;
        self.at(at.max(self.held_until), Event::Segment(segment));
        self.serve();
    }

    fn receive(&mut self, segment: Segment<Length>) {
        self.receiver.handle(self.now, Input::Pdu { pdu: Pdu::Segment(segment), ecn: Ecn::NotEct });
        self.acknowledge();
    }

    fn acknowledge(&mut self) {
        loop {
            match self.receiver.poll(self.now) {
                Output::Transmit(Pdu::Ack(ack)) => {
                    let mut at = self.now + self.setup.rtt / 2;
                    if !self.ack_slot.is_zero() {
                        let slot = self.ack_slot.as_picos();
                        at = Time::from_picos(at.as_picos().div_ceil(slot) * slot);
                    }
                    self.at(at, Event::Ack(ack));
                }
                Output::Transmit(Pdu::Segment(_)) | Output::Event(_) => {}
                Output::Timeout { at, .. } => return self.at(at, Event::Acknowledge),
                Output::Idle => return,
            }
        }
    }

    /// Runs until `done` holds, which is tested after each event; returns false if it does not within `limit`.
    pub fn run(&mut self, limit: Duration, mut done: impl FnMut(&Self) -> bool) -> bool {
        let end = self.now + limit;
        while let Some((&(at, _), _)) = self.events.first_key_value() {
            if at > end {
                break;
            }
            let Some(((at, _), event)) = self.events.pop_first() else { break };
            self.now = at;
            match event {
                Event::Served => self.served(),
                Event::Segment(segment) => self.receive(segment),
                Event::Ack(ack) => {
                    self.sender.handle(at, Input::Pdu { pdu: Pdu::Ack(ack), ecn: Ecn::NotEct });
                    self.drain();
                }
                Event::Poll => self.drain(),
                Event::Acknowledge => self.acknowledge(),
                Event::Write => {
                    if let Some((period, bytes)) = self.app {
                        // A backlog is stale: it is dropped.
                        if self.sender.backlog() == 0 {
                            self.sender.handle(at, Input::Write(Length(bytes)));
                        }
                        self.at(at + period, Event::Write);
                        self.drain();
                    }
                }
            }
            if done(self) {
                return true;
            }
        }
        self.now = end;
        false
    }

    /// Runs for `span`.
    pub fn pass(&mut self, span: Duration) {
        let _ = self.run(span, |_| false);
    }

    /// Runs until BBR is in `state`, within a minute and 300 round trips.
    pub fn reach(&mut self, state: BbrState) {
        let limit = Duration::from_secs(60) + self.setup.rtt * 300;
        assert!(
            self.run(limit, |path| path.state() == state),
            "{state:?} is not reached: {}",
            super::name(self)
        );
    }

    /// Runs until BBR restarts from idle; returns false if it does not at once.
    pub fn restart(&mut self) -> bool {
        self.drain();
        self.see(|bbr| bbr.idle_restart)
    }

    /// Runs until BBR has left `state`; returns the next state.
    pub fn leave(&mut self, state: BbrState) -> BbrState {
        self.reach(state);
        let limit = Duration::from_secs(60) + self.setup.rtt * 300;
        assert!(
            self.run(limit, |path| path.state() != state),
            "{state:?} does not end: {}",
            super::name(self)
        );
        self.state()
    }

    /// Runs until `state` starts anew.
    pub fn reach_next(&mut self, state: BbrState) {
        if self.state() == state {
            let _ = self.leave(state);
        }
        self.reach(state);
    }
}
