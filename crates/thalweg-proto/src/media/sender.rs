//! The media sender: encoder, packet queue and pacing (section 4.3).

use super::config::Config;
use super::congestion_control::{Control, MIN_PACING};
use super::pdu::{Data, Pdu, Report, to_rtp_ticks};
use super::sent_packets::History;
use super::video_encoder_model::Encoder;
use super::wire::DATA_HEADER;
use crate::engine_contract::{Engine, Output};
use crate::media_frame_counters::{EncoderCounters, MediaCounts};
use crate::payload::{Payload, Queue};
use crate::random::RandomStream;
use crate::transport::{Event, Input, Limit, LimitClock, SenderStats};
use crate::units::{Bytes, Duration, Rate, Time};
use crate::wakeup_lateness::Lateness;
use std::collections::VecDeque;

/// REF_WND_OVERHEAD.
const PACING_OVERHEAD: f64 = 5.0;
/// Number of frame sizes above the rate's share in rel_framesize_high, their 75th percentile.
const KEPT_FRAME_SIZES: usize = 32;
/// Queueing delay of a packet beyond which no frame is captured.
const MAX_CAPTURE_DELAY: Duration = Duration::from_millis(200);

/// Cause of a sender timer expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderReason {
    /// Pacing: departure time of the next packet.
    Pacing,
    /// Minimum rate: a packet may leave although the window is full.
    MinRate,
    /// Capture of the next frame.
    Frame,
}

/// A queued packet.
#[derive(Clone, Debug)]
struct QueuedPacket<P> {
    data: Data<P>,
    captured: Time,
}

/// Encodes written data into frames and sends them at the rate that the network supports.
#[derive(Clone, Debug)]
pub struct Sender<P: Payload> {
    config: Config,
    encoder: Encoder,
    control: Control,
    history: History,
    written: P::Queue,
    queued_packets: VecDeque<QueuedPacket<P>>,
    waiting_bytes: u64,
    /// Number of the next packet to be created, and of its frame.
    sequence: u32,
    frame: u32,
    /// rel_framesize_high, and the sizes that it is computed from.
    high: f64,
    sizes: VecDeque<f64>,
    next_send: Time,
    sent_at: Time,
    lateness: Lateness,
    /// The application has been asked for more data.
    is_requested: bool,
    is_finishing: bool,
    is_finished: bool,
    is_paused: bool,
    sent: u64,
    counts: EncoderCounters,
    start_time: Option<Time>,
    limits: LimitClock,
}

impl<P: Payload> Sender<P> {
    /// Creates a sender with nothing to send.
    pub fn new(config: &Config) -> Self {
        Self {
            config: *config,
            encoder: Encoder::new(config.encoder, RandomStream::new(0, "frames", 0)),
            control: Control::new(config),
            history: History::default(),
            written: P::Queue::default(),
            queued_packets: VecDeque::new(),
            waiting_bytes: 0,
            sequence: 0,
            frame: 0,
            high: 1.0,
            sizes: VecDeque::new(),
            next_send: Time::ZERO,
            sent_at: Time::ZERO,
            lateness: Lateness::default(),
            is_requested: false,
            is_finishing: false,
            is_finished: false,
            is_paused: false,
            sent: 0,
            counts: EncoderCounters::default(),
            start_time: None,
            limits: LimitClock::default(),
        }
    }

    /// Sets the random-number stream for frame sizes.
    pub fn draw_from(&mut self, stream: RandomStream) {
        self.encoder.draw_from(stream);
    }

    /// Returns counters and estimates at `now`.
    pub fn stats(&self, now: Time) -> SenderStats {
        SenderStats {
            window: Some(self.control.window() / f64::from(self.config.segment)),
            in_flight: u32::try_from(self.history.outstanding()).unwrap_or(u32::MAX),
            pacing_rate: Some(self.control.pacing()),
            smoothed_rtt: self.control.rtt(),
            min_rtt: self.control.min_rtt(),
            sent: self.sent,
            limits: self.limits.held(now),
            ..SenderStats::default()
        }
    }

    /// Returns the last round-trip time measured since the previous call.
    pub fn take_rtt(&mut self) -> Option<Duration> {
        self.control.take_rtt()
    }

    /// Returns the encoder's target rate.
    pub fn target(&self) -> Rate {
        Rate::from_bits_per_sec(self.control.target() as u64)
    }

    /// Returns the number of bytes written and not yet sent.
    pub fn backlog(&self) -> u64 {
        self.written.len() + self.waiting_bytes
    }

    /// Returns the limit that has held the sender back since the last poll.
    pub const fn limit(&self) -> Option<Limit> {
        self.limits.current()
    }

    /// Returns the number of rate reductions caused by marks.
    pub const fn mark_cuts(&self) -> u64 {
        self.control.cuts()
    }

    /// Returns the counters of the encoder.
    pub fn media(&self, now: Time) -> MediaCounts {
        let time = self.start_time.map_or(Duration::ZERO, |at| now.since(at));
        MediaCounts { encoded: EncoderCounters { time, ..self.counts }, ..MediaCounts::default() }
    }

    /// Resets the frame counters.
    pub fn reset_media(&mut self, now: Time) {
        self.counts = EncoderCounters::default();
        self.start_time = self.start_time.map(|_| now);
    }

    /// Captures a frame from written data.
    fn encode(&mut self, now: Time) {
        if self.queued_packets.front().is_some_and(|oldest| now.since(oldest.captured) > MAX_CAPTURE_DELAY) {
            self.counts.skipped += 1;
            return self.encoder.skip(now);
        }
        let frame = self.encoder.encode(now, self.control.media());
        let mut left = frame.bytes;
        let mut is_first = true;
        while let Some(payload) =
            self.written.take(u32::try_from(left).unwrap_or(u32::MAX).min(self.config.segment))
        {
            left -= u64::from(payload.len());
            self.waiting_bytes += u64::from(payload.len());
            let is_last = left == 0 || self.written.is_empty();
            let data = Data {
                sequence: self.sequence,
                frame: self.frame,
                timestamp: to_rtp_ticks(now),
                is_first,
                is_last,
                is_key: frame.is_key,
                payload,
            };
            self.queued_packets.push_back(QueuedPacket { data, captured: now });
            self.sequence = self.sequence.wrapping_add(1);
            is_first = false;
            if is_last {
                break;
            }
        }
        self.frame = self.frame.wrapping_add(1);
        self.counts.frames += 1;
        self.counts.bytes += frame.bytes - left;
        self.start_time.get_or_insert(now);
        self.note_size((frame.bytes - left) as f64);
    }

    /// Section 4.3.2.
    fn note_size(&mut self, bytes: f64) {
        let size = bytes * 8.0 * self.config.encoder.fps / self.control.target();
        if size <= 1.0 {
            return;
        }
        self.sizes.push_back(size);
        if self.sizes.len() > KEPT_FRAME_SIZES {
            self.sizes.pop_front();
        }
        let mut sorted: Vec<f64> = self.sizes.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        self.high = sorted[(sorted.len() - 1) * 3 / 4];
    }

    /// Section 4.3.1: the send window.
    fn is_full(&self, bytes: u32) -> bool {
        let window = self.control.window() * PACING_OVERHEAD * self.high;
        (self.history.in_flight() + u64::from(bytes)) as f64 > window
    }

    /// Sends the next packet.
    fn send(&mut self, now: Time) -> Option<Pdu<P>> {
        let QueuedPacket { data, .. } = self.queued_packets.pop_front()?;
        let bytes = data.payload.len() + DATA_HEADER;
        self.waiting_bytes -= u64::from(data.payload.len());
        let departure = self.lateness.departure(self.next_send, now);
        let spacing = self.control.pacing().transmission_time(Bytes::new(u64::from(bytes)));
        self.next_send = self.next_send.max(departure) + spacing;
        self.sent_at = now;
        self.sent += 1;
        self.history.send(now, bytes);
        self.control.note_in_flight(self.history.in_flight());
        Some(Pdu::Data(data))
    }

    fn on_report(&mut self, now: Time, report: &Report) {
        let in_flight = self.history.in_flight();
        let rtt = self.control.rtt().unwrap_or_default();
        let outcome = self.history.report(now, report, rtt);
        self.control.on_report(now, &outcome, in_flight);
        if report.wants_key {
            self.encoder.request_key_frame(now, self.control.rtt().unwrap_or_default());
        }
    }

    /// Requests more data from the application, once, when a frame might need more than is queued: a live source always
    /// has data.
    fn requests_data(&mut self) -> bool {
        let is_short = !self.is_finishing
            && !self.is_requested
            && self.written.len() < self.encoder.max(self.control.target());
        self.is_requested |= is_short;
        is_short
    }

    /// Returns the limit that holds the first packet back, and its end; `None` if the packet may leave.
    fn hold(&self, now: Time, bytes: u32) -> Option<(Limit, SenderReason, Time)> {
        if self.next_send > now {
            return Some((Limit::Pacing, SenderReason::Pacing, self.next_send));
        }
        if self.is_full(bytes) {
            // Reports may be lost or in flight: sending at the minimum rate resolves this.
            let minimum = Rate::from_bits_per_sec(MIN_PACING as u64);
            let at = self.sent_at + minimum.transmission_time(Bytes::new(u64::from(bytes)));
            if at > now {
                return Some((Limit::CongestionWindow, SenderReason::MinRate, at));
            }
        }
        None
    }
}

impl<P: Payload> Engine for Sender<P> {
    type Pdu = Pdu<P>;
    type Input = Input<Pdu<P>, P>;
    type Event = Event<P>;
    type Reason = SenderReason;

    fn handle(&mut self, now: Time, input: Self::Input) {
        match input {
            Input::Write(data) if !self.is_finishing => {
                self.written.push(data);
                self.is_requested = false;
            }
            Input::Finish => self.is_finishing = true,
            Input::Stop => {
                self.written = P::Queue::default();
                self.queued_packets.clear();
                self.waiting_bytes = 0;
                self.is_finishing = true;
            }
            Input::Pause => self.is_paused = true,
            Input::Resume => self.is_paused = false,
            Input::Pdu { pdu: Pdu::Report(report), .. } => self.on_report(now, &report),
            Input::Write(_) | Input::Pdu { .. } | Input::Consumed(_) | Input::Feedback(_) => {}
        }
    }

    fn poll(&mut self, now: Time) -> Output<Pdu<P>, Event<P>, SenderReason> {
        if self.is_finished {
            return Output::Idle;
        }
        if self.is_paused {
            self.lateness.wait(None);
            self.limits.change(now, Some(Limit::Paused));
            return Output::Idle;
        }
        if self.requests_data() {
            return Output::Event(Event::Writable);
        }
        if !self.written.is_empty() && self.encoder.due() <= now {
            self.encode(now);
            if self.requests_data() {
                return Output::Event(Event::Writable);
            }
        }
        let next = (!self.written.is_empty()).then(|| (SenderReason::Frame, self.encoder.due()));
        let Some(first) = self.queued_packets.front() else {
            self.lateness.wait(None);
            let Some((reason, at)) = next else {
                if self.is_finishing {
                    self.is_finished = true;
                    self.limits.change(now, None);
                    return Output::Event(Event::Finished);
                }
                self.limits.change(now, Some(Limit::Application));
                return Output::Idle;
            };
            self.limits.change(now, Some(Limit::Pacing));
            return Output::Timeout { at, reason };
        };
        let Some((limit, reason, at)) = self.hold(now, first.data.payload.len() + DATA_HEADER) else {
            return self.send(now).map_or(Output::Idle, Output::Transmit);
        };
        self.limits.change(now, Some(limit));
        self.lateness.wait((reason == SenderReason::Pacing).then_some(at));
        match next.filter(|(_, due)| *due < at) {
            Some((reason, at)) => {
                self.lateness.wait(None);
                Output::Timeout { at, reason }
            }
            None => Output::Timeout { at, reason },
        }
    }
}

#[cfg(test)]
#[path = "sender_tests.rs"]
mod tests;
