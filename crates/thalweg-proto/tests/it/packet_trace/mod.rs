//! A sender driven by hand, with its outputs as a packet trace.

use crate::checked_controller::Steered;
use std::fmt::Write as _;
use std::sync::Arc;
use thalweg_proto::Ecn;
use thalweg_proto::payload::Length;
use thalweg_proto::transport::{Event, Feedback, Input, Signal};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_proto::window::{
    Ack, Arrival, ControllerConfig, Pdu, SackBlock, Sender, SenderConfig, WindowStats,
};
use thalweg_proto::{Engine, Output};

const SEGMENT: u64 = 1000;

/// A sender with the time and its announced timer.
pub struct Trace {
    sender: Sender<Length, Steered>,
    now: Time,
    timer: Time,
    /// Number of segments received with CE.
    ce: u16,
}

impl Trace {
    pub fn new(config: SenderConfig, controller: &ControllerConfig) -> Self {
        Self::paced(config, controller, None)
    }

    /// Creates a trace with a pacing rate and a burst.
    pub fn paced(config: SenderConfig, controller: &ControllerConfig, pacing: Option<(Rate, u32)>) -> Self {
        let sender = Sender::new(Arc::new(config), Steered::new(controller, pacing));
        Self { sender, now: Time::ZERO, timer: Time::MAX, ce: 0 }
    }

    /// Sets the time to `millis` milliseconds.
    pub fn at(&mut self, millis: u64) {
        let now = Time::ZERO + Duration::from_millis(millis);
        assert!(now >= self.now);
        self.now = now;
    }

    /// Switches to another path, with this controller.
    pub fn on_path_change(&mut self, controller: &ControllerConfig) -> String {
        self.sender.on_path_change(self.now, Steered::new(controller, None));
        self.poll()
    }

    /// Reports the round-trip time of the handshake.
    pub fn opened(&mut self, rtt: Duration) {
        self.sender.opened(Some(rtt), Duration::from_secs(1));
    }

    /// Pauses a new sender with a window of two until half of it is acknowledged, and resumes it. The second
    /// acknowledgement, after the pause, releases two segments.
    pub fn pause_once(&mut self) {
        assert_eq!(self.write(100), "0 1");
        assert_eq!(self.feed(Input::Pause), "");
        self.at(100);
        assert_eq!(self.ack(1), "");
        assert_eq!(self.feed(Input::Resume), "");
        self.at(150);
        assert_eq!(self.ack(2), "2 3");
    }

    /// Writes `segments` segments.
    pub fn write(&mut self, segments: u32) -> String {
        self.feed(Input::Write(Length(segments * SEGMENT as u32)))
    }

    /// Acknowledges everything below this segment.
    pub fn ack(&mut self, segments: u64) -> String {
        self.sack(segments, &[])
    }

    /// Acknowledges the same, with a receive window of `window` segments.
    pub fn ack_window(&mut self, segments: u64, window: u64) -> String {
        self.take(Ack { cumulative: segments * SEGMENT, window: window * SEGMENT, ..Ack::default() })
    }

    /// Acknowledges everything below `segments` and these out-of-order ranges of segments.
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

    /// Acknowledges the same, with an arrival report of segment `at`.
    pub fn arrival(&mut self, segments: u64, blocks: &[(u64, u64)], arrival: Arrival, at: u64) -> String {
        let mut ack = self.sacked(segments, blocks);
        let distance = at as i64 - segments as i64;
        (ack.arrival, ack.arrival_at) = (arrival, i32::try_from(distance * SEGMENT as i64).unwrap());
        self.take(ack)
    }

    /// Acknowledges everything below this segment, with one more CE mark.
    pub fn ack_marked(&mut self, segments: u64) -> String {
        self.ce += 1;
        self.ack(segments)
    }

    fn take(&mut self, ack: Ack) -> String {
        let ack = Ack { ce: self.ce, ..ack };
        self.feed(Input::Pdu { pdu: Pdu::Ack(ack), ecn: Ecn::NotEct })
    }

    /// Grants a rate by router feedback.
    pub fn grant(&mut self, rate: Rate) -> String {
        self.feed(Input::Feedback(Feedback { dropped: None, rate: Some(rate), growth: None, queue: 0 }))
    }

    pub fn feed(&mut self, input: Input<Pdu<Length>, Length>) -> String {
        self.sender.handle(self.now, input);
        self.poll()
    }

    /// Drains the sender and returns its actions: new segments by number, `r` before a retransmission, in parentheses
    /// the length of a partial segment, `!` before a congestion signal.
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
                        Signal::Loss => "loss",
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

    /// Sets the maximum segment length to `bytes` bytes.
    pub fn set_segment(&mut self, bytes: u32) {
        self.sender.set_segment(bytes);
    }

    /// Returns the sender's next poll time in milliseconds; infinity without one.
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
