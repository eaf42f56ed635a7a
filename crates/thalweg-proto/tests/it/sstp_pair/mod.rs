//! An SSTP sender and receiver in virtual time, over two links with scripted losses.

use std::collections::VecDeque;
use std::sync::Arc;
use thalweg_proto::Ecn;
use thalweg_proto::payload::{Payload, Slice};
use thalweg_proto::sstp::{
    Acknowledgement, Pdu, RateSpec, Receiver, ReceiverConfig, Resume, Sender, SenderConfig, Tolerance,
};
use thalweg_proto::transport::{Event, Input};
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_proto::{Engine, Output};

/// Fate of one PDU on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Arrive,
    Lose,
    /// Arrives this much later.
    Late(Duration),
    Twice,
}

/// Packet size in bytes; packets leave every millisecond, with a delay of 10 ms each way.
pub const PACKET: u32 = 10;
pub const LINE: Duration = Duration::from_millis(10);

pub fn sender_config(segment: u16, window: u16) -> SenderConfig {
    let rate = Rate::from_bits_per_sec(80_000);
    let rate = RateSpec::with_average(rate, rate, u32::from(segment), Bytes::new(10)).unwrap();
    SenderConfig {
        segment_packets: segment,
        max_payload: PACKET,
        rate,
        resume: Resume::AtOnce,
        window,
        soft: false,
    }
}

pub fn receiver_config(segment: u16, window: u16) -> ReceiverConfig {
    ReceiverConfig {
        segment_packets: segment,
        max_payload: PACKET,
        window,
        buffer: window,
        acknowledgement: Acknowledgement::Hard,
        tolerance: Tolerance::Packets(0),
        reordering: 0,
        repeat: LINE + LINE,
        wait_for_consumption: false,
    }
}

/// Chooses the fate of each data packet (true) or other PDU by its number.
pub type Outcomes = Box<dyn FnMut(bool, u64, Time) -> Outcome>;

pub struct Pair {
    pub sender: Sender<Slice>,
    pub receiver: Receiver<Slice>,
    pub now: Time,
    there: VecDeque<(Time, Pdu<Slice>)>,
    back: VecDeque<(Time, Pdu<Slice>)>,
    forward_outcomes: Outcomes,
    return_outcomes: Outcomes,
    sent: [u64; 2],
    due: [Time; 2],
    /// Bytes delivered in order; holes as the number of missing packets.
    pub delivered: Vec<u8>,
    pub holes: Vec<(usize, u32)>,
    pub finished: bool,
    /// Bytes consumed by the application per millisecond; `None` for all.
    pub reading: Option<u64>,
    unread: u64,
    next_read: Time,
    /// All transmitted PDUs, with their times.
    pub log: Vec<(Time, Pdu<Slice>)>,
}

impl Pair {
    pub fn new(sender: SenderConfig, receiver: ReceiverConfig) -> Self {
        Self {
            sender: Sender::new(Arc::new(sender)),
            receiver: Receiver::new(Arc::new(receiver)),
            now: Time::ZERO,
            there: VecDeque::new(),
            back: VecDeque::new(),
            forward_outcomes: Box::new(|_, _, _| Outcome::Arrive),
            return_outcomes: Box::new(|_, _, _| Outcome::Arrive),
            sent: [0; 2],
            due: [Time::MAX; 2],
            delivered: Vec::new(),
            holes: Vec::new(),
            finished: false,
            reading: None,
            unread: 0,
            next_read: Time::ZERO,
            log: Vec::new(),
        }
    }

    /// Loses the data packets with these numbers, counted in sending order.
    pub fn lose(mut self, numbers: &[u64]) -> Self {
        let numbers = numbers.to_vec();
        self.forward_outcomes =
            Box::new(
                move |is_data, number, _| {
                    if is_data && numbers.contains(&number) { Outcome::Lose } else { Outcome::Arrive }
                },
            );
        self
    }

    pub fn outcomes(mut self, there: Outcomes, back: Outcomes) -> Self {
        (self.forward_outcomes, self.return_outcomes) = (there, back);
        self
    }

    pub fn write(&mut self, data: &[u8]) {
        self.sender.handle(self.now, Input::Write(Slice::new(data)));
        self.drain_sender();
    }

    pub fn finish(&mut self) {
        self.sender.handle(self.now, Input::Finish);
        self.drain_sender();
    }

    fn enqueue(queue: &mut VecDeque<(Time, Pdu<Slice>)>, outcome: Outcome, at: Time, pdu: Pdu<Slice>) {
        let mut put = |at: Time, pdu| {
            let place = queue.partition_point(|(other, _)| *other <= at);
            queue.insert(place, (at, pdu));
        };
        match outcome {
            Outcome::Arrive => put(at, pdu),
            Outcome::Lose => {}
            Outcome::Late(span) => put(at + span, pdu),
            Outcome::Twice => {
                put(at, pdu.clone());
                put(at, pdu);
            }
        }
    }

    fn drain_sender(&mut self) {
        self.due[0] = Time::MAX;
        loop {
            match self.sender.poll(self.now) {
                Output::Transmit(pdu) => {
                    self.log.push((self.now, pdu.clone()));
                    let number = self.sent[0];
                    self.sent[0] += u64::from(pdu.is_data());
                    let outcome = (self.forward_outcomes)(pdu.is_data(), number, self.now);
                    Self::enqueue(&mut self.there, outcome, self.now + LINE, pdu);
                }
                Output::Event(event) => self.finished |= event == Event::Finished,
                Output::Timeout { at, .. } => {
                    self.due[0] = at;
                    break;
                }
                Output::Idle => break,
            }
        }
    }

    fn drain_receiver(&mut self) {
        self.due[1] = Time::MAX;
        loop {
            match self.receiver.poll(self.now) {
                Output::Transmit(pdu) => {
                    self.log.push((self.now, pdu.clone()));
                    let number = self.sent[1];
                    self.sent[1] += 1;
                    let outcome = (self.return_outcomes)(false, number, self.now);
                    Self::enqueue(&mut self.back, outcome, self.now + LINE, pdu);
                }
                Output::Event(Event::Delivered(data)) => {
                    self.delivered.extend(data.as_bytes());
                    self.unread += u64::from(data.len());
                }
                Output::Event(Event::Hole { packets }) => self.holes.push((self.delivered.len(), packets)),
                Output::Event(_) => {}
                Output::Timeout { at, .. } => {
                    self.due[1] = at;
                    break;
                }
                Output::Idle => break,
            }
        }
    }

    /// Advances to the next event; returns false if there is none.
    pub fn step(&mut self) -> bool {
        let front = |queue: &VecDeque<(Time, Pdu<Slice>)>| queue.front().map_or(Time::MAX, |(at, _)| *at);
        let reads = if self.reading.is_some() && self.unread > 0 { self.next_read } else { Time::MAX };
        let (there, back) = (front(&self.there), front(&self.back));
        let next = there.min(back).min(self.due[0]).min(self.due[1]).min(reads);
        if next == Time::MAX {
            return false;
        }
        self.now = self.now.max(next);
        if next == back {
            let (_, pdu) = self.back.pop_front().unwrap();
            self.sender.handle(self.now, Input::Pdu { pdu, ecn: Ecn::NotEct });
            self.drain_sender();
        } else if next == there {
            let (_, pdu) = self.there.pop_front().unwrap();
            self.receiver.handle(self.now, Input::Pdu { pdu, ecn: Ecn::NotEct });
            self.drain_receiver();
        } else if next == self.due[0] {
            self.drain_sender();
        } else if next == self.due[1] {
            self.drain_receiver();
        } else {
            let read = self.reading.unwrap_or(0).min(self.unread);
            self.unread -= read;
            self.next_read = self.now + Duration::from_millis(1);
            self.receiver.handle(self.now, Input::Consumed(read));
            self.drain_receiver();
        }
        true
    }

    /// Runs until no event is left or `limit` has passed.
    pub fn run(&mut self, limit: Duration) {
        while self.now < Time::ZERO + limit && self.step() {}
    }

    pub fn run_until_finished(&mut self, limit: Duration) {
        while !self.finished && self.now < Time::ZERO + limit && self.step() {}
    }

    /// Returns the sent requests, with their times in milliseconds.
    pub fn requests(&self) -> Vec<(u64, u16, Vec<u32>)> {
        let of = |(at, pdu): &(Time, Pdu<Slice>)| match pdu {
            Pdu::Snak(_, request) => Some((
                at.as_picos() / 1_000_000_000,
                request.segment,
                request.bitmap.missing_from(0).collect(),
            )),
            _ => None,
        };
        self.log.iter().filter_map(of).collect()
    }

    /// Returns the segments of the sent PACKs, with their times in milliseconds.
    pub fn accepted(&self) -> Vec<(u64, u16)> {
        let of = |(at, pdu): &(Time, Pdu<Slice>)| match pdu {
            Pdu::Pack(report) => Some((at.as_picos() / 1_000_000_000, report.accepted)),
            _ => None,
        };
        self.log.iter().filter_map(of).collect()
    }

    /// Returns the sent data packets: time in milliseconds, segment, packet, true for a retransmission.
    pub fn packets(&self) -> Vec<(u64, u16, u16, bool)> {
        let of = |(at, pdu): &(Time, Pdu<Slice>)| match pdu {
            Pdu::Data(data) => Some((at.as_picos() / 1_000_000_000, data.segment, data.packet, data.resent)),
            _ => None,
        };
        self.log.iter().filter_map(of).collect()
    }
}

/// Returns bytes that identify their positions.
pub fn text(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}
