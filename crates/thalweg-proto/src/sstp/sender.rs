//! SSTP sender: segments, bursts at a rate, retransmission of requested packets.

use super::burst_rate_control::BurstClock;
use super::pdu::{expand_number, serial_distance};
use super::{Bitmap, Data, MAX_WINDOW, Pdu, Position, Report, Request, SenderConfig};
use crate::engine_contract::{Engine, Output};
use crate::payload::{Payload, Queue};
use crate::transport::{Event, Input, Limit, LimitClock, SenderStats};
use crate::units::{Duration, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// Timer of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderReason {
    /// Departure time of the next packet under the rate specification.
    Rate,
    /// Repetition of the stream position.
    KeepAlive,
}

/// Counters and estimates of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SegmentStats {
    /// Statistics common to all senders. A round-trip time runs from the last packet of a segment to its
    /// acknowledgement, or to the first request for its missing packets; `Answers` smooths the samples. There are no
    /// timeouts.
    pub common: SenderStats,
    /// Keep-alive and end-of-stream packets sent.
    pub keep_alives: u64,
    /// Reports processed.
    pub reports: u64,
    /// Requests for packets that are in flight.
    pub early_requests: u64,
    /// Reports that were malformed, out of date, or about unsent segments.
    pub refused: u64,
    /// Segments kept for retransmission.
    pub buffered: u32,
    /// Maximum of segments kept for retransmission.
    pub buffered_peak: u32,
    /// Bytes kept for retransmission.
    pub buffered_bytes: u64,
    /// Maximum of bytes kept for retransmission.
    pub bytes_peak: u64,
    /// Current window, in segments.
    pub window: u32,
    /// Segments begun and not acknowledged.
    pub outstanding: u32,
    /// Segments acknowledged for good; with soft acknowledgement, once all earlier ones are acknowledged.
    pub acknowledged: u64,
    /// Sum of the times from the first transmission of a segment to its final acknowledgement.
    pub delays: Duration,
    /// The longest of those times.
    pub longest_delay: Duration,
}

/// Smoothed round-trip time. The protocol does not depend on it; it shows users whether packets wait in a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answers {
    /// Minimum of the recent samples, and their number.
    shortest: Option<Duration>,
    count: u32,
    smoothed: Option<Duration>,
    /// Latest sample, for drivers that collect samples.
    pub(super) latest: Option<Duration>,
}

impl Answers {
    /// A lost and repeated answer yields a long sample; only the minimum of this many samples counts.
    const SAMPLES_PER_MINIMUM: u32 = 4;

    fn sample(&mut self, rtt: Duration) {
        self.latest = Some(rtt);
        let shortest = self.shortest.map_or(rtt, |shortest| shortest.min(rtt));
        (self.shortest, self.count) = (Some(shortest), self.count + 1);
        if self.count == Self::SAMPLES_PER_MINIMUM {
            // Gain of one eighth, as in RFC 6298, section 2.3.
            self.smoothed = Some(self.smoothed.map_or(shortest, |smoothed| (smoothed * 7 + shortest) / 8));
            (self.shortest, self.count) = (None, 0);
        }
    }
}

/// A begun segment.
#[derive(Clone, Debug)]
pub(super) struct Record<P> {
    pub(super) packets: Vec<P>,
    /// All packets of the segment are present.
    pub(super) complete: bool,
    pub(super) accepted: bool,
    /// Bitmap of the packets to retransmit.
    pub(super) requested_packets: Bitmap,
    pub(super) queued: bool,
    pub(super) resent: bool,
    /// Time of the first transmission of the first packet.
    pub(super) first_sent: Time,
    /// Time of the last transmission of the last packet.
    pub(super) shipped: Time,
}

/// Group of packets being sent, without interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// First transmission of the segment at the front of the stream.
    New(u64),
    /// Retransmission of requested packets of a segment.
    Resend(u64),
}

/// Sender of packets under a rate specification and a window of segments.
#[derive(Clone, Debug)]
pub struct Sender<P: Payload> {
    pub(super) config: Arc<SenderConfig>,
    pub(super) queue: P::Queue,
    pub(super) clock: BurstClock,
    /// S_l: the lowest segment not yet cumulatively acknowledged.
    pub(super) low: u64,
    /// S_h: the highest segment that may be sent.
    pub(super) high: u64,
    /// Segments from `low` on.
    pub(super) records: VecDeque<Record<P>>,
    /// Segments to retransmit, in order of the requests.
    pub(super) resends: VecDeque<u64>,
    pub(super) group: Option<Group>,
    /// Empty vectors for reuse.
    pub(super) spare: Vec<Vec<P>>,
    pub(super) next_shipment: u32,
    pub(super) last_control: Option<u32>,
    pub(super) position: Position,
    pub(super) writable: bool,
    pub(super) finishing: bool,
    pub(super) finished: bool,
    pub(super) paused: bool,
    pub(super) limits: LimitClock,
    pub(super) answers: Answers,
    pub(super) stats: SegmentStats,
}

impl<P: Payload> Sender<P> {
    /// Creates a sender with an empty stream.
    pub fn new(config: Arc<SenderConfig>) -> Self {
        let window = config.window.clamp(1, MAX_WINDOW);
        Self {
            queue: P::Queue::default(),
            clock: BurstClock::new(config.rate, config.resume),
            low: 0,
            high: u64::from(window) - 1,
            records: VecDeque::new(),
            resends: VecDeque::new(),
            group: None,
            spare: Vec::new(),
            next_shipment: 0,
            last_control: None,
            position: Position { shipment: u32::MAX, segment: u16::MAX, packet: u16::MAX },
            writable: false,
            finishing: false,
            finished: false,
            paused: false,
            limits: LimitClock::default(),
            answers: Answers::default(),
            stats: SegmentStats::default(),
            config,
        }
    }

    /// Returns the configuration.
    pub fn config(&self) -> &SenderConfig {
        &self.config
    }

    /// Returns counters and state.
    pub fn stats(&self, now: Time) -> SegmentStats {
        let window = u32::try_from(self.high + 1 - self.low).unwrap_or(u32::MAX);
        let outstanding = self.records.len() as u32;
        let packets = u32::from(self.config.segment_packets);
        let common = SenderStats {
            window: Some(f64::from(window) * f64::from(packets)),
            in_flight: outstanding.saturating_mul(packets),
            pacing_rate: Some(self.config.rate.average()),
            smoothed_rtt: self.answers.smoothed,
            limits: self.limits.held(now),
            ..self.stats.common
        };
        SegmentStats { common, window, outstanding, ..self.stats }
    }

    /// Returns the number of bytes written and not yet sent.
    pub fn backlog(&self) -> u64 {
        self.queue.len()
    }

    /// Returns the limit that has held the sender back since the last poll; `None` before the first poll, and when all
    /// data is acknowledged.
    pub const fn limit(&self) -> Option<Limit> {
        self.limits.current()
    }

    /// Returns the shipment number of the next data packet.
    pub fn next_shipment(&self) -> u32 {
        self.next_shipment
    }

    /// Returns S_l, the lowest segment not yet cumulatively acknowledged.
    pub fn lowest(&self) -> u64 {
        self.low
    }

    /// Returns the next segment to begin.
    fn next_segment(&self) -> u64 {
        self.low + self.records.len() as u64
    }

    fn record(&mut self, segment: u64) -> Option<&mut Record<P>> {
        let index = usize::try_from(segment.checked_sub(self.low)?).ok()?;
        self.records.get_mut(index)
    }

    fn on_report(&mut self, now: Time, report: Report, request: Option<&Request>) {
        // Gong and Parulkar 1992, section 3.2: the control number reveals duplicate reports. An old request
        // would cause spurious retransmissions.
        if self.last_control.is_some_and(|last| serial_distance(report.control, last) <= 0) {
            self.stats.refused += 1;
            return;
        }
        let cumulative = expand_number(report.cumulative, self.low);
        // A repair may move the lowest missing segment by a window, and the limit is a window ahead of that. Relative
        // to the lowest segment of this sender, the limit of a window above a quarter of the number space could look
        // like an old one.
        let limit = cumulative.and_then(|cumulative| expand_number(report.limit, cumulative));
        let (Some(cumulative), Some(limit)) = (cumulative, limit) else {
            self.stats.refused += 1;
            return;
        };
        let is_sent = cumulative >= self.low && cumulative <= self.next_segment();
        // A limit one below the lowest segment is valid: the window is closed.
        if !is_sent || limit + 1 < cumulative {
            self.stats.refused += 1;
            return;
        }
        self.last_control = Some(report.control);
        self.stats.reports += 1;
        if request.is_none()
            && let Some(accepted) = expand_number(report.accepted, cumulative)
        {
            self.accept(now, accepted);
        }
        self.release(now, cumulative);
        // A correct receiver never offers more than the agreed window; the bound protects memory.
        let maximum = self.low + u64::from(self.config.window.clamp(1, MAX_WINDOW)) - 1;
        // Gong and Parulkar 1992, section 3.4: S_h = max(S_h, window upper limit).
        self.high = self.high.max(limit.min(maximum));
        if let Some(request) = request {
            self.on_request(now, request);
        }
    }

    /// Marks a segment as accepted.
    fn accept(&mut self, now: Time, segment: u64) {
        let soft = self.config.soft;
        let Some(record) = self.record(segment).filter(|record| record.complete && !record.accepted) else {
            return;
        };
        record.accepted = true;
        // Karn's rule: only a segment sent once yields a sample, since the report would be ambiguous otherwise.
        let sample = (!record.resent).then(|| now.since(record.shipped));
        let began = record.first_sent;
        if !soft {
            let packets = core::mem::take(&mut record.packets);
            self.count_delay(now.since(began));
            self.recycle(packets);
            if self.group == Some(Group::Resend(segment)) {
                self.group = None;
            }
        }
        if let Some(sample) = sample {
            let min_rtt = &mut self.stats.common.min_rtt;
            *min_rtt = Some(min_rtt.map_or(sample, |min| min.min(sample)));
            self.answers.sample(sample);
        }
    }

    fn count_delay(&mut self, delay: Duration) {
        self.stats.acknowledged += 1;
        self.stats.delays += delay;
        self.stats.longest_delay = self.stats.longest_delay.max(delay);
    }

    fn recycle(&mut self, mut packets: Vec<P>) {
        if packets.is_empty() {
            return;
        }
        self.stats.buffered -= 1;
        self.stats.buffered_bytes -= packets.iter().map(|packet| u64::from(packet.len())).sum::<u64>();
        packets.clear();
        self.spare.push(packets);
    }

    /// Releases all segments below `cumulative`.
    fn release(&mut self, now: Time, cumulative: u64) {
        while self.low < cumulative {
            // A partially sent segment cannot have been accepted.
            if self.records.front().is_none_or(|record| !record.complete) {
                self.stats.refused += 1;
                return;
            }
            let Some(record) = self.records.pop_front() else { return };
            if self.config.soft || !record.accepted {
                self.count_delay(now.since(record.first_sent));
            }
            self.recycle(record.packets);
            if self.group == Some(Group::Resend(self.low)) {
                self.group = None;
            }
            self.low += 1;
        }
    }

    fn on_request(&mut self, now: Time, request: &Request) {
        let min_rtt = self.stats.common.min_rtt;
        let found = expand_number(request.segment, self.low);
        let group = self.group;
        let Some(segment) = found else {
            self.stats.refused += 1;
            return;
        };
        let Some(record) =
            self.record(segment).filter(|record| record.complete && !record.packets.is_empty())
        else {
            // Released, or never sent.
            self.stats.refused += 1;
            return;
        };
        if record.queued {
            record.requested_packets.mark_missing(&request.bitmap);
            return;
        }
        // Packets sent less than a round trip ago cannot be missed yet: the receiver is repeating a request.
        let is_early = min_rtt.is_some_and(|min| now.since(record.shipped) < min);
        if is_early || group == Some(Group::Resend(segment)) {
            self.stats.early_requests += 1;
            return;
        }
        let count = record.packets.len() as u32;
        record.requested_packets.mark_missing(&request.bitmap);
        if record.requested_packets.first_missing(0).is_none_or(|first| first >= count) {
            self.stats.refused += 1;
            return;
        }
        record.queued = true;
        // A request for an accepted segment means that the receiver discarded it.
        let answered = (!record.resent && !record.accepted).then(|| now.since(record.shipped));
        self.resends.push_back(segment);
        if let Some(sample) = answered {
            self.answers.sample(sample);
        }
    }

    /// Chooses the next group: the one in progress first, then requested packets, then new segments.
    fn choose(&mut self) -> Option<Group> {
        if self.group.is_some() {
            return self.group;
        }
        // Requested packets first: the window cannot pass the segment that misses them.
        while let Some(segment) = self.resends.pop_front() {
            let Some(record) = self.record(segment) else { continue };
            record.queued = false;
            // It may have been accepted in the meantime.
            if !record.packets.is_empty() {
                self.group = Some(Group::Resend(segment));
                return self.group;
            }
        }
        let next = self.next_segment();
        if self.queue.is_empty() || next > self.high {
            return None;
        }
        Some(Group::New(next))
    }

    /// Returns the next packet of `group`.
    fn ship(&mut self, now: Time, group: Group) -> Option<Data<P>> {
        let shipment = self.next_shipment;
        let data = match group {
            Group::New(segment) => self.ship_new(now, segment)?,
            Group::Resend(segment) => self.retransmit_segment(now, segment)?,
        };
        self.next_shipment = shipment.wrapping_add(1);
        self.position.shipment = shipment;
        self.clock.on_departure(now);
        self.stats.common.sent += 1;
        Some(data)
    }

    fn ship_new(&mut self, now: Time, segment: u64) -> Option<Data<P>> {
        let size = self.config.segment_packets.max(1);
        let payload = self.queue.take(self.config.max_payload.max(1))?;
        let drained = self.queue.is_empty();
        let rest = self.queue.len();
        if segment == self.next_segment() {
            let mut packets = self.spare.pop().unwrap_or_default();
            packets.reserve(usize::from(size));
            self.records.push_back(Record {
                packets,
                complete: false,
                accepted: false,
                requested_packets: Bitmap::from_bytes(&[]),
                queued: false,
                resent: false,
                first_sent: now,
                shipped: now,
            });
            self.stats.buffered += 1;
            self.stats.buffered_peak = self.stats.buffered_peak.max(self.stats.buffered);
        }
        self.stats.buffered_bytes += u64::from(payload.len());
        self.stats.bytes_peak = self.stats.bytes_peak.max(self.stats.buffered_bytes);
        let record = self.record(segment)?;
        let packet = record.packets.len() as u16;
        record.packets.push(payload.clone());
        record.shipped = now;
        let last = drained || packet + 1 >= size;
        record.complete = last;
        if last {
            record.requested_packets = all_received_bitmap(record.packets.len() as u16);
        }
        // The backlog fills the segment, regardless of later writes.
        let following = u64::from(size - 1 - packet);
        let full =
            rest > following.saturating_sub(1) * u64::from(self.config.max_payload.max(1)) || following == 0;
        self.group = (!last).then_some(Group::New(segment));
        self.writable = drained && !self.finishing;
        self.position.segment = segment as u16;
        self.position.packet = packet;
        Some(Data {
            shipment: self.next_shipment,
            segment: segment as u16,
            packet,
            last,
            is_full: full,
            resent: false,
            payload,
        })
    }

    fn retransmit_segment(&mut self, now: Time, segment: u64) -> Option<Data<P>> {
        let (shipment, size) = (self.next_shipment, u32::from(self.config.segment_packets.max(1)));
        let record = self.record(segment)?;
        let packet = record.requested_packets.first_missing(0)?;
        let payload = record.packets.get(packet as usize)?.clone();
        record.requested_packets.mark_received(packet);
        record.shipped = now;
        record.resent = true;
        let count = record.packets.len() as u32;
        let last = packet + 1 == count;
        if record.requested_packets.first_missing(packet).is_none_or(|next| next >= count) {
            record.requested_packets = all_received_bitmap(count as u16);
            self.group = None;
        }
        self.stats.common.retransmissions += 1;
        Some(Data {
            shipment,
            segment: segment as u16,
            packet: packet as u16,
            last,
            is_full: count == size,
            resent: true,
            payload,
        })
    }

    /// Retracts unsent data. A segment in progress ends at its current packet.
    fn stop(&mut self) {
        self.queue = P::Queue::default();
        self.finishing = true;
        if let Some(Group::New(segment)) = self.group.take()
            && let Some(record) = self.record(segment)
        {
            record.complete = true;
            record.requested_packets = all_received_bitmap(record.packets.len() as u16);
        }
    }

    /// Returns the limit that holds back an idle sender.
    fn idle_limit(&self) -> Option<Limit> {
        if !self.queue.is_empty() {
            Some(Limit::ReceiverWindow)
        } else if !self.finishing {
            Some(Limit::Application)
        } else if self.records.is_empty() {
            None
        } else {
            // All data is in flight or lost.
            Some(Limit::Network)
        }
    }

    /// Polls a sender that may send no data now.
    fn poll_idle(&mut self, now: Time, limit: Option<Limit>) -> Output<Pdu<P>, Event<P>, SenderReason> {
        self.limits.change(now, limit);
        // A receiver that has all data needs no position, unless it keeps the window closed. A position also states
        // that no packets are queued, which is false if a gate holds them back.
        let ends = self.finishing && self.queue.is_empty() && !self.finished;
        let is_shut = !self.queue.is_empty() && !self.paused;
        if self.group.is_some() || self.records.is_empty() && !is_shut && !ends {
            return Output::Idle;
        }
        if let Err(at) = self.clock.on_idle(now) {
            return Output::Timeout { at, reason: SenderReason::KeepAlive };
        }
        // Gong and Parulkar 1992, section 3.2: the position shows the receiver losses at the end of earlier
        // transmissions.
        self.stats.keep_alives += 1;
        let position = self.position;
        Output::Transmit(if ends { Pdu::EndOfStream(position) } else { Pdu::KeepAlive(position) })
    }
}

/// Returns a bitmap without missing packets.
fn all_received_bitmap(packets: u16) -> Bitmap {
    let mut bitmap = Bitmap::none_received(packets);
    for packet in 0..u32::from(packets) {
        bitmap.mark_received(packet);
    }
    bitmap
}

impl<P: Payload> Engine for Sender<P> {
    type Pdu = Pdu<P>;
    type Input = Input<Pdu<P>, P>;
    type Event = Event<P>;
    type Reason = SenderReason;

    fn handle(&mut self, now: Time, input: Self::Input) {
        match input {
            Input::Pdu { pdu: Pdu::Pack(report), .. } => self.on_report(now, report, None),
            Input::Pdu { pdu: Pdu::Snak(report, request), .. } => self.on_report(now, report, Some(&request)),
            Input::Write(data) if !self.finishing => {
                self.queue.push(data);
                self.writable &= self.queue.is_empty();
            }
            Input::Finish => self.finishing = true,
            Input::Stop => self.stop(),
            Input::Pause => self.paused = true,
            Input::Resume => self.paused = false,
            // The rate is negotiated; feedback from routers does not change it.
            Input::Pdu { .. } | Input::Write(_) | Input::Consumed(_) | Input::Feedback(_) => {}
        }
    }

    fn poll(&mut self, now: Time) -> Output<Self::Pdu, Self::Event, Self::Reason> {
        if core::mem::take(&mut self.writable) {
            return Output::Event(Event::Writable);
        }
        if self.finishing && !self.finished && self.queue.is_empty() && self.records.is_empty() {
            self.finished = true;
            return Output::Event(Event::Finished);
        }
        let Some(group) = self.choose() else {
            let limit = self.idle_limit();
            return self.poll_idle(now, limit);
        };
        if self.paused {
            return self.poll_idle(now, Some(Limit::Paused));
        }
        if let Err(at) = self.clock.ready(now) {
            self.limits.change(now, Some(Limit::Pacing));
            return Output::Timeout { at, reason: SenderReason::Rate };
        }
        match self.ship(now, group) {
            Some(data) => Output::Transmit(Pdu::Data(data)),
            None => self.poll_idle(now, None),
        }
    }
}
