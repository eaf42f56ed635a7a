//! A connection as a black box: constant delays, independent losses, out-of-band reports. This is the simulation model
//! of Gong and Parulkar 1992, section 4.2, with the engines of [`thalweg_proto::sstp`].

use std::collections::VecDeque;
use std::sync::Arc;
use thalweg_proto::Ecn;
use thalweg_proto::payload::Length;
use thalweg_proto::pdu::{DataUnit as _, SegmentStep};
use thalweg_proto::random::RandomStream;
use thalweg_proto::sstp::{Pdu, Receiver, ReceiverConfig, ReceiverStats, SegmentStats, Sender, SenderConfig};
use thalweg_proto::transport::Input;
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::{Engine, Output};
use thalweg_sim::{SegmentDelay, SegmentTimes};

/// Losses on the path to the receiver. Reports and keep-alive packets are never lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Losses {
    /// Each data packet, with this probability.
    Independent(f64),
    /// Each data packet, with this probability, up to this number of sent packets.
    Spell(f64, u64),
    /// Only the data packet with this number, counted from 0 in sending order.
    Single(u64),
}

/// A connection and its load.
#[derive(Clone, Debug)]
pub struct BlackBox {
    /// Sender settings.
    pub sender: SenderConfig,
    /// Receiver settings; its application consumes everything at once.
    pub receiver: ReceiverConfig,
    /// RTD: round-trip delay without transmission times.
    pub round_trip: Duration,
    /// Losses of data packets.
    pub losses: Losses,
    /// Seed of the losses' random stream.
    pub seed: u64,
    /// Number of data packets after which the run ends.
    pub packets: u64,
    /// Initial time excluded from measurement.
    pub warmup: Duration,
}

/// The measurements of a run of a [`BlackBox`]: after the warm-up, except for the engines' own counters.
#[derive(Clone, Debug)]
pub struct BlackBoxMeasurements {
    /// Throughput efficiency: transmission time of a segment over the mean time to deliver one.
    pub efficiency: f64,
    /// Mean time from the start of a segment's first transmission to its acceptance.
    pub mean_delay: Duration,
    /// Longest such time.
    pub max_delay: Duration,
    /// Segments delivered in order.
    pub segments: u64,
    /// Segments discarded for lower ones (soft acknowledgement), over the whole run.
    pub evictions: u64,
    /// Efficiency of each twentieth of the run's packets, from the start.
    pub efficiency_series: Vec<f64>,
    /// The sender's counters.
    pub sender: SegmentStats,
    /// The receiver's counters.
    pub receiver: ReceiverStats,
}

/// Number of parts of `efficiency_series`.
const PARTS: u64 = 20;

impl BlackBox {
    /// Runs the model. Results are the same on every machine.
    pub fn run(&self) -> BlackBoxMeasurements {
        let mut run = Run::new(self);
        run.run();
        run.measurements()
    }
}

/// Selects the lost packets, with one random draw per loss.
struct LossModel {
    stream: RandomStream,
    losses: Losses,
    sent: u64,
    next: u64,
}

impl LossModel {
    fn new(losses: Losses, seed: u64) -> Self {
        let mut losing = Self { stream: RandomStream::new(seed, "black-box", 0), losses, sent: 0, next: 0 };
        losing.next = match losses {
            Losses::Single(number) => number,
            Losses::Independent(p) | Losses::Spell(p, _) => losing.stream.geometric(p),
        };
        losing
    }

    fn loses(&mut self) -> bool {
        let number = self.sent;
        self.sent += 1;
        if number != self.next {
            return false;
        }
        match self.losses {
            Losses::Single(_) => self.next = u64::MAX,
            Losses::Independent(p) | Losses::Spell(p, _) => {
                self.next = self.stream.geometric(p).saturating_add(number + 1);
            }
        }
        !matches!(self.losses, Losses::Spell(_, until) if number >= until)
    }
}

struct Run<'a> {
    spec: &'a BlackBox,
    sender: Sender<Length>,
    receiver: Receiver<Length>,
    losing: LossModel,
    data: VecDeque<(Time, Pdu<Length>)>,
    reports: VecDeque<(Time, Pdu<Length>)>,
    sender_due: Time,
    receiver_due: Time,
    now: Time,
    /// t_p.
    packet_time: Duration,
    times: SegmentTimes,
    counted_from: Option<(Time, u64)>,
    efficiency_series: Vec<f64>,
    part_began: (Time, u64),
}

impl<'a> Run<'a> {
    fn new(spec: &'a BlackBox) -> Self {
        let mut sender = Sender::new(Arc::new(spec.sender));
        sender.handle(Time::ZERO, Input::Write(Length(u32::MAX)));
        Self {
            sender,
            receiver: Receiver::new(Arc::new(spec.receiver)),
            losing: LossModel::new(spec.losses, spec.seed),
            data: VecDeque::new(),
            reports: VecDeque::new(),
            sender_due: Time::ZERO,
            receiver_due: Time::MAX,
            now: Time::ZERO,
            packet_time: spec.sender.rate.spacing(),
            times: SegmentTimes::default(),
            counted_from: None,
            efficiency_series: Vec::new(),
            part_began: (Time::ZERO, 0),
            spec,
        }
    }

    fn run(&mut self) {
        let part = (self.spec.packets / PARTS).max(1);
        while self.losing.sent < self.spec.packets {
            let report = self.reports.front().map_or(Time::MAX, |(at, _)| *at);
            let data = self.data.front().map_or(Time::MAX, |(at, _)| *at);
            // At equal times a report is handled first, as it may change the sender's next action.
            let next = report.min(data).min(self.sender_due).min(self.receiver_due);
            if next == Time::MAX {
                return;
            }
            self.now = next;
            if self.counted_from.is_none() && self.now.since(Time::ZERO) >= self.spec.warmup {
                self.counted_from = Some((self.now, self.times.delivered()));
                self.times.restart();
            }
            if next == report {
                self.take_report();
            } else if next == data {
                self.take_data();
            } else if next == self.receiver_due {
                self.drain_receiver();
            } else {
                self.drain_sender();
            }
            if self.efficiency_series.len() as u64 == self.losing.sent / part {
                continue;
            }
            let all = self.times.delivered();
            let (began, delivered) = core::mem::replace(&mut self.part_began, (self.now, all));
            self.efficiency_series.push(self.efficiency(all - delivered, self.now.since(began)));
        }
    }

    /// Returns the efficiency over `span`; 0 for an empty one.
    fn efficiency(&self, segments: u64, span: Duration) -> f64 {
        if span == Duration::ZERO {
            return 0.0;
        }
        let ideal = self.packet_time.as_secs_f64() * f64::from(self.spec.sender.segment_packets);
        segments as f64 * ideal / span.as_secs_f64()
    }

    fn take_report(&mut self) {
        if let Some((_, pdu)) = self.reports.pop_front() {
            self.sender.handle(self.now, Input::Pdu { pdu, ecn: Ecn::NotEct });
            self.drain_sender();
        }
    }

    fn take_data(&mut self) {
        if let Some((_, pdu)) = self.data.pop_front() {
            self.receiver.handle(self.now, Input::Pdu { pdu, ecn: Ecn::NotEct });
            self.drain_receiver();
        }
    }

    fn drain_sender(&mut self) {
        self.sender_due = Time::MAX;
        let half = Duration::from_picos(self.spec.round_trip.as_picos() / 2);
        loop {
            match self.sender.poll(self.now) {
                Output::Transmit(Pdu::Data(data)) => {
                    if !data.resent && data.packet == 0 {
                        self.times.step(self.now, SegmentStep::Begun);
                    }
                    if !self.losing.loses() {
                        self.data.push_back((self.now + self.packet_time + half, Pdu::Data(data)));
                    }
                }
                // Control packets take no bandwidth.
                Output::Transmit(pdu) => self.data.push_back((self.now + half, pdu)),
                // The application always has more data.
                Output::Event(_) => self.sender.handle(self.now, Input::Write(Length(u32::MAX))),
                Output::Timeout { at, .. } => {
                    self.sender_due = at;
                    return;
                }
                Output::Idle => return,
            }
        }
    }

    fn drain_receiver(&mut self) {
        self.receiver_due = Time::MAX;
        // t_a = RTD + 3·t_p after the transmission of a group's last packet.
        let back = Duration::from_picos(
            self.spec.round_trip.as_picos().div_ceil(2) + 3 * self.packet_time.as_picos(),
        );
        loop {
            match self.receiver.poll(self.now) {
                Output::Transmit(pdu) => {
                    if let Some(step) = pdu.segment_step() {
                        self.times.step(self.now, step);
                    }
                    self.reports.push_back((self.now + back, pdu));
                }
                Output::Event(_) => {}
                Output::Timeout { at, .. } => {
                    self.receiver_due = at;
                    return;
                }
                Output::Idle => return,
            }
        }
    }

    fn measurements(&self) -> BlackBoxMeasurements {
        let all = self.times.delivered();
        let (from, before) = self.counted_from.unwrap_or((self.now, all));
        let delay = if self.counted_from.is_some() { self.times.delay() } else { SegmentDelay::default() };
        BlackBoxMeasurements {
            efficiency: self.efficiency(all - before, self.now.since(from)),
            mean_delay: delay.mean,
            max_delay: delay.max,
            segments: all - before,
            evictions: self.receiver.stats().evictions,
            efficiency_series: self.efficiency_series.clone(),
            sender: self.sender.stats(self.now),
            receiver: self.receiver.stats(),
        }
    }
}
