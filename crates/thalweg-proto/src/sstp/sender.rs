//! The sending end.

use super::pdu::{ahead, expand};
use super::rate::BurstClock;
use super::{Bitmap, Data, MAX_WINDOW, Pdu, Position, Report, Request, SenderConfig};
use crate::engine::{Engine, Output};
use crate::payload::{Payload, Queue};
use crate::transport::{Event, Input, Limit, LimitClock, SenderStats};
use crate::units::{Duration, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// The reason for which a sender wants to be polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderReason {
    /// The rate specification lets the next packet go.
    Rate,
    /// It is time to tell the receiver again how far the stream goes.
    KeepAlive,
}

/// The counters and estimates of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SegmentStats {
    /// The statistics that all senders have. Round-trip times are those from the last packet of a segment to its
    /// acknowledgement, or to the first request for what it lacks, which `Answers` smoothes. There are no time-outs.
    pub common: SenderStats,
    /// Keep-alive and end-of-stream packets sent.
    pub keep_alives: u64,
    /// Reports taken.
    pub reports: u64,
    /// Requests that asked for what is on its way already.
    pub early_requests: u64,
    /// Reports that were malformed, out of date, or about what was never sent.
    pub refused: u64,
    /// Segments kept for retransmission.
    pub buffered: u32,
    /// The most there have been.
    pub buffered_peak: u32,
    /// Bytes kept for retransmission.
    pub buffered_bytes: u64,
    /// The most that were.
    pub bytes_peak: u64,
    /// The segments that may be in the window now.
    pub window: u32,
    /// Segments begun and not acknowledged.
    pub outstanding: u32,
    /// Segments acknowledged for good: with soft acknowledgement when all before them are too.
    pub acknowledged: u64,
    /// The sum of their times from the start of the first transmission to that acknowledgement.
    pub delays: Duration,
    /// The longest of those times.
    pub longest_delay: Duration,
}

/// The smoothed round-trip time. Nothing here depends on it: it tells users whether packets wait in a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answers {
    /// The shortest of the last few, and how many they are.
    shortest: Option<Duration>,
    count: u32,
    smoothed: Option<Duration>,
    /// The last, for drivers that collect them.
    pub(super) latest: Option<Duration>,
}

impl Answers {
    /// An answer that was lost and repeated seems to take long: of so many only the shortest counts.
    const FEW: u32 = 4;

    fn sample(&mut self, rtt: Duration) {
        self.latest = Some(rtt);
        let shortest = self.shortest.map_or(rtt, |shortest| shortest.min(rtt));
        (self.shortest, self.count) = (Some(shortest), self.count + 1);
        if self.count == Self::FEW {
            // By an eighth, as elsewhere (RFC 6298, section 2.3).
            self.smoothed = Some(self.smoothed.map_or(shortest, |smoothed| (smoothed * 7 + shortest) / 8));
            (self.shortest, self.count) = (None, 0);
        }
    }
}

/// A segment that has been begun.
#[derive(Clone, Debug)]
pub(super) struct Record<P> {
    pub(super) packets: Vec<P>,
    /// All its packets are here.
    pub(super) whole: bool,
    pub(super) accepted: bool,
    /// The packets that have been asked for again.
    pub(super) wanted: Bitmap,
    pub(super) queued: bool,
    pub(super) resent: bool,
    /// The time at which its first packet left for the first time.
    pub(super) began: Time,
    /// The time at which its last packet left.
    pub(super) shipped: Time,
}

/// The packets that are being sent, which nothing interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// The segment at the front of the stream, for the first time.
    New(u64),
    /// Packets of a segment that were asked for.
    Resend(u64),
}

/// Sends segments of packets under a rate and a window of segments.
#[derive(Clone, Debug)]
pub struct Sender<P: Payload> {
    pub(super) config: Arc<SenderConfig>,
    pub(super) queue: P::Queue,
    pub(super) clock: BurstClock,
    /// S_l: the lowest segment that has not been acknowledged with all before it.
    pub(super) low: u64,
    /// S_h: the highest segment that may be sent.
    pub(super) high: u64,
    /// Segments from `low` on.
    pub(super) records: VecDeque<Record<P>>,
    /// Segments asked for again, in the order of the requests.
    pub(super) resends: VecDeque<u64>,
    pub(super) group: Option<Group>,
    /// Empty vectors to use again.
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
    /// A sender with nothing to send yet.
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

    /// Its settings.
    pub fn config(&self) -> &SenderConfig {
        &self.config
    }

    /// Counters and state.
    pub fn stats(&self, now: Time) -> SegmentStats {
        let window = u32::try_from(self.high + 1 - self.low).unwrap_or(u32::MAX);
        let outstanding = self.records.len() as u32;
        let packets = u32::from(self.config.segment);
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

    /// Bytes written and not yet sent.
    pub fn backlog(&self) -> u64 {
        self.queue.len()
    }

    /// The limit that has held the sender back since the last poll; `None` before the first, and when all is done.
    pub const fn limit(&self) -> Option<Limit> {
        self.limits.current()
    }

    /// The shipment number of the next data packet.
    pub fn next_shipment(&self) -> u32 {
        self.next_shipment
    }

    /// S_l: the lowest segment that has not been acknowledged with all before it.
    pub fn lowest(&self) -> u64 {
        self.low
    }

    /// The next segment to be begun.
    fn next_segment(&self) -> u64 {
        self.low + self.records.len() as u64
    }

    fn record(&mut self, segment: u64) -> Option<&mut Record<P>> {
        let index = usize::try_from(segment.checked_sub(self.low)?).ok()?;
        self.records.get_mut(index)
    }

    fn on_report(&mut self, now: Time, report: Report, request: Option<&Request>) {
        if self.last_control.is_some_and(|last| ahead(report.control, last) <= 0) {
            self.stats.refused += 1;
            return;
        }
        let cumulative = expand(report.cumulative, self.low);
        // A repair may move the lowest missing segment by a window, and the limit is a window ahead of that: read from the
        // lowest segment here, the limit of a window above a quarter of all numbers could look like one long past.
        let limit = cumulative.and_then(|cumulative| expand(report.limit, cumulative));
        let (Some(cumulative), Some(limit)) = (cumulative, limit) else {
            self.stats.refused += 1;
            return;
        };
        let is_sent = cumulative >= self.low && cumulative <= self.next_segment();
        // A limit may lie one below the lowest segment: the window is closed.
        if !is_sent || limit + 1 < cumulative {
            self.stats.refused += 1;
            return;
        }
        self.last_control = Some(report.control);
        self.stats.reports += 1;
        if request.is_none()
            && let Some(accepted) = expand(report.accepted, cumulative)
        {
            self.accept(now, accepted);
        }
        self.release(now, cumulative);
        // A receiver never offers more than its window, which both agreed upon; the bound keeps memory to that.
        let most = self.low + u64::from(self.config.window.clamp(1, MAX_WINDOW)) - 1;
        self.high = self.high.max(limit.min(most));
        if let Some(request) = request {
            self.on_request(now, request);
        }
    }

    /// A segment was accepted.
    fn accept(&mut self, now: Time, segment: u64) {
        let soft = self.config.soft;
        let Some(record) = self.record(segment).filter(|record| record.whole && !record.accepted) else {
            return;
        };
        record.accepted = true;
        // Only of segments sent once is it known which transmission the report answers (Karn's rule).
        let sample = (!record.resent).then(|| now.since(record.shipped));
        let began = record.began;
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

    /// All segments below `cumulative` are acknowledged.
    fn release(&mut self, now: Time, cumulative: u64) {
        while self.low < cumulative {
            // A segment that has been begun only in part cannot have been accepted.
            if self.records.front().is_none_or(|record| !record.whole) {
                self.stats.refused += 1;
                return;
            }
            let Some(record) = self.records.pop_front() else { return };
            if self.config.soft || !record.accepted {
                self.count_delay(now.since(record.began));
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
        let found = expand(request.segment, self.low);
        let group = self.group;
        let Some(segment) = found else {
            self.stats.refused += 1;
            return;
        };
        let Some(record) = self.record(segment).filter(|record| record.whole && !record.packets.is_empty())
        else {
            // Released, or never sent.
            self.stats.refused += 1;
            return;
        };
        if record.queued {
            record.wanted.lose(&request.bitmap);
            return;
        }
        // What left less than a round trip ago cannot have been missed yet: the receiver repeats itself.
        let is_early = min_rtt.is_some_and(|min| now.since(record.shipped) < min);
        if is_early || group == Some(Group::Resend(segment)) {
            self.stats.early_requests += 1;
            return;
        }
        let count = record.packets.len() as u32;
        record.wanted.lose(&request.bitmap);
        if record.wanted.first_missing(0).is_none_or(|first| first >= count) {
            self.stats.refused += 1;
            return;
        }
        record.queued = true;
        // What was accepted and is asked for again was discarded meanwhile.
        let answered = (!record.resent && !record.accepted).then(|| now.since(record.shipped));
        self.resends.push_back(segment);
        if let Some(sample) = answered {
            self.answers.sample(sample);
        }
    }

    /// Chooses what to send: what is under way first, then what was asked for, then new segments.
    fn choose(&mut self) -> Option<Group> {
        if self.group.is_some() {
            return self.group;
        }
        while let Some(segment) = self.resends.pop_front() {
            let Some(record) = self.record(segment) else { continue };
            record.queued = false;
            // Meanwhile it may have been accepted.
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

    /// The next packet of `group`.
    fn ship(&mut self, now: Time, group: Group) -> Option<Data<P>> {
        let shipment = self.next_shipment;
        let data = match group {
            Group::New(segment) => self.ship_new(now, segment)?,
            Group::Resend(segment) => self.ship_again(now, segment)?,
        };
        self.next_shipment = shipment.wrapping_add(1);
        self.position.shipment = shipment;
        self.clock.sent(now);
        self.stats.common.sent += 1;
        Some(data)
    }

    fn ship_new(&mut self, now: Time, segment: u64) -> Option<Data<P>> {
        let size = self.config.segment.max(1);
        let payload = self.queue.take(self.config.packet.max(1))?;
        let drained = self.queue.is_empty();
        let rest = self.queue.len();
        if segment == self.next_segment() {
            let mut packets = self.spare.pop().unwrap_or_default();
            packets.reserve(usize::from(size));
            self.records.push_back(Record {
                packets,
                whole: false,
                accepted: false,
                wanted: Bitmap::from_bytes(&[]),
                queued: false,
                resent: false,
                began: now,
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
        record.whole = last;
        if last {
            record.wanted = received(record.packets.len() as u16);
        }
        // What waits fills the segment, whatever is written later.
        let following = u64::from(size - 1 - packet);
        let full =
            rest > following.saturating_sub(1) * u64::from(self.config.packet.max(1)) || following == 0;
        self.group = (!last).then_some(Group::New(segment));
        self.writable = drained && !self.finishing;
        self.position.segment = segment as u16;
        self.position.packet = packet;
        Some(Data {
            shipment: self.next_shipment,
            segment: segment as u16,
            packet,
            last,
            full,
            resent: false,
            payload,
        })
    }

    fn ship_again(&mut self, now: Time, segment: u64) -> Option<Data<P>> {
        let (shipment, size) = (self.next_shipment, u32::from(self.config.segment.max(1)));
        let record = self.record(segment)?;
        let packet = record.wanted.first_missing(0)?;
        let payload = record.packets.get(packet as usize)?.clone();
        record.wanted.set(packet);
        record.shipped = now;
        record.resent = true;
        let count = record.packets.len() as u32;
        let last = packet + 1 == count;
        if record.wanted.first_missing(packet).is_none_or(|next| next >= count) {
            record.wanted = received(count as u16);
            self.group = None;
        }
        self.stats.common.retransmissions += 1;
        Some(Data {
            shipment,
            segment: segment as u16,
            packet: packet as u16,
            last,
            full: count == size,
            resent: true,
            payload,
        })
    }

    /// The application takes back what has not been sent. A segment under way ends where it is.
    fn stop(&mut self) {
        self.queue = P::Queue::default();
        self.finishing = true;
        if let Some(Group::New(segment)) = self.group.take()
            && let Some(record) = self.record(segment)
        {
            record.whole = true;
            record.wanted = received(record.packets.len() as u16);
        }
    }

    /// The limit that holds back a sender with nothing that it may send.
    fn idle_limit(&self) -> Option<Limit> {
        if !self.queue.is_empty() {
            Some(Limit::ReceiverWindow)
        } else if !self.finishing {
            Some(Limit::Application)
        } else if self.records.is_empty() {
            None
        } else {
            // All is on its way or lost there.
            Some(Limit::Network)
        }
    }

    /// Nothing may be sent now.
    fn poll_idle(&mut self, now: Time, limit: Option<Limit>) -> Output<Pdu<P>, Event<P>, SenderReason> {
        self.limits.change(now, limit);
        // A receiver that has everything needs to hear nothing, unless it keeps the window closed. A position also says
        // that no packets are under way, which is not so where a gate holds them back.
        let ends = self.finishing && self.queue.is_empty() && !self.finished;
        let is_shut = !self.queue.is_empty() && !self.paused;
        if self.group.is_some() || self.records.is_empty() && !is_shut && !ends {
            return Output::Idle;
        }
        if let Err(at) = self.clock.idle(now) {
            return Output::Timeout { at, reason: SenderReason::KeepAlive };
        }
        self.stats.keep_alives += 1;
        let position = self.position;
        Output::Transmit(if ends { Pdu::EndOfStream(position) } else { Pdu::KeepAlive(position) })
    }
}

/// A bitmap of which nothing is missing.
fn received(packets: u16) -> Bitmap {
    let mut bitmap = Bitmap::missing(packets);
    for packet in 0..u32::from(packets) {
        bitmap.set(packet);
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
            // The rate is agreed upon; routers have no say in it.
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
