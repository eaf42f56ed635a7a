//! A sender driven by hand, whose answers read like a packet trace.
#![allow(dead_code, reason = "not every test uses all of it")]

use crate::steered::Steered;
use std::fmt::Write as _;
use std::sync::Arc;
use thalweg_proto::Ecn;
use thalweg_proto::congestion::ControllerConfig;
use thalweg_proto::payload::Length;
use thalweg_proto::transport::{Event, Feedback, Input, Signal};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_proto::window::{Ack, Arrival, Pdu, SackBlock, Sender, SenderConfig, WindowStats};
use thalweg_proto::{Engine, Output};

const SEGMENT: u64 = 1000;

/// The sender with the time and the timer that it asked for.
pub struct Trace {
    sender: Sender<Length, Steered>,
    now: Time,
    timer: Time,
    /// Segments that have arrived with CE.
    ce: u16,
}

impl Trace {
    pub fn new(config: SenderConfig, controller: &ControllerConfig) -> Self {
        Self::paced(config, controller, None)
    }

    /// With a pacing rate and a burst.
    pub fn paced(config: SenderConfig, controller: &ControllerConfig, pacing: Option<(Rate, u32)>) -> Self {
        let sender = Sender::new(Arc::new(config), Steered::new(controller, pacing));
        Self { sender, now: Time::ZERO, timer: Time::MAX, ce: 0 }
    }

    /// It is now so many milliseconds.
    pub fn at(&mut self, millis: u64) {
        let now = Time::ZERO + Duration::from_millis(millis);
        assert!(now >= self.now);
        self.now = now;
    }

    /// Segments take another path from now on, for which this is the controller.
    pub fn renew(&mut self, controller: &ControllerConfig) -> String {
        self.sender.renew(self.now, Steered::new(controller, None));
        self.poll()
    }

    /// A handshake measured this round trip.
    pub fn opened(&mut self, rtt: Duration) {
        self.sender.opened(Some(rtt), Duration::from_secs(1));
    }

    /// The application writes so many segments.
    pub fn write(&mut self, segments: u32) -> String {
        self.tell(Input::Write(Length(segments * SEGMENT as u32)))
    }

    /// Everything below this segment has arrived.
    pub fn ack(&mut self, segments: u64) -> String {
        self.sack(segments, &[])
    }

    /// The same, from a peer with room for so many segments.
    pub fn ack_window(&mut self, segments: u64, window: u64) -> String {
        self.take(Ack { cumulative: segments * SEGMENT, window: window * SEGMENT, ..Ack::default() })
    }

    /// Everything below `segments` and, out of order, these ranges of segments.
    pub fn sack(&mut self, segments: u64, blocks: &[(u64, u64)]) -> String {
        let ack = self.sacked(segments, blocks);
        self.take(ack)
    }

    fn sacked(&self, segments: u64, blocks: &[(u64, u64)]) -> Ack {
        let mut sack = [SackBlock::default(); 3];
        for (block, &(start, end)) in sack.iter_mut().zip(blocks) {
            let offset = |at: u64| u32::try_from((at - segments) * SEGMENT).unwrap();
            *block = SackBlock { start: offset(start), end: offset(end) };
        }
        Ack { cumulative: segments * SEGMENT, window: 1 << 30, sack, ..Ack::default() }
    }

    /// The same, and what the arrival of segment `at` brought about.
    pub fn arrival(&mut self, segments: u64, blocks: &[(u64, u64)], arrival: Arrival, at: u64) -> String {
        let mut ack = self.sacked(segments, blocks);
        let distance = at as i64 - segments as i64;
        (ack.arrival, ack.arrival_at) = (arrival, i32::try_from(distance * SEGMENT as i64).unwrap());
        self.take(ack)
    }

    /// Everything below this segment has arrived, one more of it with CE.
    pub fn ack_marked(&mut self, segments: u64) -> String {
        self.ce += 1;
        self.ack(segments)
    }

    fn take(&mut self, ack: Ack) -> String {
        let ack = Ack { ce: self.ce, ..ack };
        self.tell(Input::Pdu { pdu: Pdu::Ack(ack), ecn: Ecn::NotEct })
    }

    /// A router grants a rate.
    pub fn grant(&mut self, rate: Rate) -> String {
        self.tell(Input::Feedback(Feedback { dropped: None, rate: Some(rate), queue: 0 }))
    }

    pub fn tell(&mut self, input: Input<Pdu<Length>, Length>) -> String {
        self.sender.handle(self.now, input);
        self.poll()
    }

    /// Drains the sender and writes what it does now: new segments by number, `r` before one sent again, in parentheses
    /// the length where it is not a whole segment, `!` before a sign of congestion.
    pub fn poll(&mut self) -> String {
        let mut log = String::new();
        loop {
            let separator = if log.is_empty() { "" } else { " " };
            match self.sender.poll(self.now) {
                Output::Transmit(Pdu::Segment(segment)) => {
                    let again = if segment.retransmission { "r" } else { "" };
                    let _ = write!(log, "{separator}{again}{}", segment.sequence as f64 / SEGMENT as f64);
                    if u64::from(segment.payload.0) != SEGMENT {
                        let _ = write!(log, "({})", segment.payload.0);
                    }
                }
                Output::Event(Event::Congestion(signal)) => {
                    let name = match signal {
                        Signal::Timeout => "timeout",
                        Signal::Duplicates => "duplicates",
                        Signal::Mark => "mark",
                        Signal::Feedback => "feedback",
                    };
                    let _ = write!(log, "{separator}!{name}");
                }
                Output::Event(Event::Writable) => {}
                Output::Event(Event::Finished) => log += &format!("{separator}finished"),
                Output::Event(Event::Failed(_)) => log += &format!("{separator}failed"),
                Output::Transmit(Pdu::Ack(_)) | Output::Event(Event::Hole { .. } | Event::Delivered(_)) => {
                    panic!("not what a sender does")
                }
                Output::Timeout { at, .. } => {
                    self.timer = at;
                    return log;
                }
                Output::Idle => {
                    self.timer = Time::MAX;
                    return log;
                }
            }
        }
    }

    /// Segments are at most so many bytes long from now on.
    pub fn set_segment(&mut self, bytes: u32) {
        self.sender.set_segment(bytes);
    }

    /// The time at which the sender wants to be polled again, in milliseconds; infinite when it does not.
    pub fn timer(&self) -> f64 {
        if self.timer == Time::MAX { f64::INFINITY } else { self.timer.as_picos() as f64 / 1e9 }
    }

    pub fn stats(&self) -> WindowStats {
        self.sender.stats(self.now)
    }

    pub fn window(&self) -> f64 {
        self.stats().common.window.unwrap()
    }

    pub fn ssthresh(&self) -> Option<f64> {
        self.stats().common.ssthresh
    }

    pub fn in_flight(&self) -> u32 {
        self.stats().common.in_flight
    }
}
