//! Transmitter of adaptive acknowledgement: sends, retransmits as reports request, and adapts their rate.

use super::{Config, Data, Pdu, Report};
use crate::engine_contract::{Engine, Output};
use crate::payload::{Payload, Queue};
use crate::state_digest::{Digest, hash_all, time_until};
use crate::transport::{Event, Feedback, Input, Limit, LimitClock, SenderStats, Signal};
use crate::units::{Duration, Time};
use crate::window::{RttConfig, RttEstimator};
use core::hash::{Hash, Hasher};
use std::collections::VecDeque;
use std::sync::Arc;

/// Timer of a transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransmitterReason {
    /// Retransmission of the oldest and the newest packet after a period without news.
    RetransmissionTimeout,
}

/// Counters and estimates of a transmitter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransmitterStats {
    /// Statistics common to all senders. A round-trip time runs from a packet to the report that acknowledges it.
    /// Timeouts count retransmissions of the oldest and newest packet.
    pub common: SenderStats,
    /// Packets queued for retransmission.
    pub to_resend: u32,
    /// Invalid reports dropped.
    pub invalid_acks: u64,
}

/// Packet in the transmission buffer.
#[derive(Clone, Debug)]
struct BufferedPacket<P> {
    payload: P,
    sent_at: Time,
    /// The packet is in the retransmission queue.
    awaits_retransmission: bool,
    /// The packet was sent more than once, so a report on it yields no sample.
    repeated: bool,
}

/// Transmitter that keeps data until it is acknowledged, and retransmits requested packets.
#[derive(Clone, Debug)]
pub struct Transmitter<P: Payload> {
    config: Arc<Config>,
    /// Transmission queue.
    queue: P::Queue,
    /// Transmission buffer: packets from number `first` on.
    buffered_packets: VecDeque<BufferedPacket<P>>,
    first: u64,
    /// Retransmission queue: numbers, in order of the requests. Numbers below `first` are skipped.
    resend: VecDeque<u64>,
    rtt: RttEstimator,
    /// Expiry of the retransmission timer; [`Time::MAX`] with nothing outstanding.
    timer: Time,
    limits: LimitClock,
    /// Time of the last transmission or report.
    progress: Time,
    signal: Option<Signal>,
    writable: bool,
    finishing: bool,
    finished: bool,
    paused: bool,
    sent: u64,
    retransmissions: u64,
    timeouts: u64,
    invalid_acks: u64,
}

impl<P: Payload> Transmitter<P> {
    /// Creates a transmitter with an empty queue.
    pub fn new(config: Arc<Config>) -> Self {
        Self {
            config,
            queue: P::Queue::default(),
            buffered_packets: VecDeque::new(),
            first: 1,
            resend: VecDeque::new(),
            rtt: RttEstimator::new(&RttConfig::default()),
            timer: Time::MAX,
            limits: LimitClock::default(),
            progress: Time::ZERO,
            signal: None,
            writable: false,
            finishing: false,
            finished: false,
            paused: false,
            sent: 0,
            retransmissions: 0,
            timeouts: 0,
            invalid_acks: 0,
        }
    }

    /// Returns counters and estimates at `now`.
    pub fn stats(&self, now: Time) -> TransmitterStats {
        let (smoothed_rtt, min_rtt) = self.rtt.measured();
        TransmitterStats {
            common: SenderStats {
                window: Some(f64::from(self.config.window)),
                // At most the window, as is the retransmission queue.
                in_flight: self.buffered_packets.len() as u32,
                smoothed_rtt,
                min_rtt,
                sent: self.sent,
                retransmissions: self.retransmissions,
                timeouts: self.timeouts,
                limits: self.limits.held(now),
                ..SenderStats::default()
            },
            to_resend: self.resend.len() as u32,
            invalid_acks: self.invalid_acks,
        }
    }

    /// Returns the last round-trip time measured since the previous call.
    pub fn take_rtt(&mut self) -> Option<Duration> {
        self.rtt.take_latest()
    }

    /// Returns the limit that has held the transmitter back since the last poll; `None` before the first poll, and when
    /// all data is acknowledged.
    pub const fn limit(&self) -> Option<Limit> {
        self.limits.current()
    }

    /// Returns the bytes written and not yet sent.
    pub fn backlog(&self) -> u64 {
        self.queue.len()
    }

    /// Returns the number of the next new packet.
    fn next(&self) -> u64 {
        self.first + self.buffered_packets.len() as u64
    }

    /// Returns the retransmission timeout.
    fn retransmission_timeout(&self) -> Duration {
        (self.config.interval(false) * 4).max(self.rtt.smoothed() * 4)
    }

    fn on_report(&mut self, now: Time, report: Report) {
        if !report.is_valid_below(self.next()) {
            self.invalid_acks += 1;
            return;
        }
        self.progress = now;
        self.limits.on_answer(now);
        let released = report.cumulative.saturating_sub(self.first);
        if released > 0 {
            self.release(now, released);
        }
        let before = self.resend.len();
        // Lee et al. 1997, section 2: gap-in up to gap-out - 1. Equal numbers request nothing.
        for sequence in report.gap_in.max(self.first)..report.gap_out {
            self.queue_retransmission(sequence);
        }
        let has_requests = self.resend.len() > before;
        if has_requests {
            self.signal = Some(Signal::Loss);
        }
        if self.buffered_packets.is_empty() {
            self.timer = Time::MAX;
        } else if released > 0 || has_requests {
            self.timer = now + self.retransmission_timeout();
        }
    }

    /// Removes the oldest `count` packets from the transmission buffer.
    fn release(&mut self, now: Time, count: u64) {
        // The newest packet triggered the receiver's cumulative number; the others waited for it or for the timer.
        let newest = &self.buffered_packets[count as usize - 1];
        if !newest.repeated {
            self.rtt.sample(&RttConfig::default(), now.since(newest.sent_at));
        }
        self.buffered_packets.drain(..count as usize);
        self.first += count;
        let first = self.first;
        self.resend.retain(|&sequence| sequence >= first);
    }

    /// Queues a packet for retransmission, unless it is queued already or released.
    fn queue_retransmission(&mut self, sequence: u64) {
        let index = sequence.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        if let Some(kept) = index.and_then(|index| self.buffered_packets.get_mut(index))
            && !kept.awaits_retransmission
        {
            kept.awaits_retransmission = true;
            self.resend.push_back(sequence);
        }
    }

    /// Counts the time since the last packet as waiting for the retransmission timer, if it runs; see
    /// [`Notice::Silence`](crate::endpoint::Notice::Silence).
    pub(super) fn await_timer(&mut self, now: Time) {
        if self.buffered_packets.front().is_some_and(|oldest| !oldest.awaits_retransmission) {
            self.limits.expire(now, self.progress);
        }
    }

    fn on_retransmission_timeout(&mut self, now: Time) {
        self.timer = now + self.retransmission_timeout();
        if self.buffered_packets.front().is_some_and(|oldest| !oldest.awaits_retransmission) {
            self.timeouts += 1;
            self.limits.expire(now, self.progress);
            self.signal = Some(Signal::Timeout);
            self.queue_retransmission(self.first);
            // The newest packet shows the receiver the highest number; the receiver then requests all missing packets.
            self.queue_retransmission(self.next() - 1);
        }
    }

    fn on_feedback(&mut self, now: Time, feedback: Feedback) {
        self.signal = Some(Signal::Feedback);
        let Some(sequence) = feedback.dropped else { return };
        let index = sequence.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        // A packet dropped on its way out would only be dropped again.
        if index.and_then(|index| self.buffered_packets.get(index)).is_some_and(|kept| kept.sent_at < now) {
            self.queue_retransmission(sequence);
        }
    }

    fn next_event(&mut self) -> Option<Event<P>> {
        if let Some(signal) = self.signal.take() {
            return Some(Event::Congestion(signal));
        }
        if core::mem::take(&mut self.writable) {
            return Some(Event::Writable);
        }
        if self.finishing && !self.finished && self.queue.is_empty() && self.buffered_packets.is_empty() {
            self.finished = true;
            return Some(Event::Finished);
        }
        None
    }

    /// Returns the next packet to send, retransmissions first, or the limit that holds it back.
    fn next_packet(&mut self, now: Time) -> Result<Data<P>, Limit> {
        if self.paused {
            return Err(Limit::Paused);
        }
        // Lee et al. 1997, section 2: the retransmission queue is served before the transmission queue.
        if let Some(sequence) = self.resend.pop_front()
            && let Some(kept) = self.buffered_packets.get_mut((sequence - self.first) as usize)
        {
            kept.awaits_retransmission = false;
            kept.repeated = true;
            kept.sent_at = now;
            self.retransmissions += 1;
            return Ok(Data { sequence, payload: kept.payload.clone() });
        }
        if self.buffered_packets.len() as u64 >= self.config.window() {
            return Err(Limit::CongestionWindow);
        }
        let sequence = self.next();
        let payload = self.queue.fill(self.config.segment).ok_or(Limit::Application)?;
        self.buffered_packets.push_back(BufferedPacket {
            payload: payload.clone(),
            sent_at: now,
            awaits_retransmission: false,
            repeated: false,
        });
        self.writable |= self.queue.is_empty() && !self.finishing;
        Ok(Data { sequence, payload })
    }
}

impl<P: Payload<Queue: Hash> + Hash> Digest for Transmitter<P> {
    fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        hash_all(
            into,
            (&self.queue, self.first, &self.resend, self.rtt.smoothed(), time_until(self.timer, now)),
        );
        for kept in &self.buffered_packets {
            // Karn's rule: only packets sent once yield a sample.
            let age = if kept.repeated { Duration::ZERO } else { now.since(kept.sent_at) };
            hash_all(into, (&kept.payload, age, kept.awaits_retransmission, kept.repeated));
        }
        hash_all(into, (self.buffered_packets.len(), self.signal, self.writable));
        hash_all(into, (self.finishing, self.finished, self.paused));
    }
}

impl<P: Payload> Engine for Transmitter<P> {
    type Pdu = Pdu<P>;
    type Input = Input<Pdu<P>, P>;
    type Event = Event<P>;
    type Reason = TransmitterReason;

    fn handle(&mut self, now: Time, input: Self::Input) {
        match input {
            Input::Pdu { pdu: Pdu::Ack(report), ecn } => {
                self.on_report(now, report);
                if ecn.is_ce() {
                    self.signal = Some(Signal::Mark);
                }
            }
            Input::Write(data) if !self.finishing => self.queue.push(data),
            Input::Finish => self.finishing = true,
            Input::Stop => {
                self.queue = P::Queue::default();
                self.finishing = true;
            }
            Input::Feedback(feedback) => self.on_feedback(now, feedback),
            Input::Pause => self.paused = true,
            Input::Resume => self.paused = false,
            // A transmitter receives only reports.
            Input::Pdu { pdu: Pdu::Data(_), .. } | Input::Write(_) | Input::Consumed(_) => {}
        }
    }

    fn poll(&mut self, now: Time) -> Output<Self::Pdu, Self::Event, Self::Reason> {
        if now >= self.timer {
            self.on_retransmission_timeout(now);
        }
        if let Some(event) = self.next_event() {
            return Output::Event(event);
        }
        if self.finished {
            self.limits.change(now, None);
            return Output::Idle;
        }
        match self.next_packet(now) {
            Ok(data) => {
                self.sent += 1;
                self.progress = now;
                if self.timer == Time::MAX {
                    self.timer = now + self.retransmission_timeout();
                }
                Output::Transmit(Pdu::Data(data))
            }
            Err(limit) => {
                self.limits.change(now, Some(limit));
                if self.timer == Time::MAX {
                    Output::Idle
                } else {
                    Output::Timeout { at: self.timer, reason: TransmitterReason::RetransmissionTimeout }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    //! Checks transmissions and buffering, one report at a time. Times are in milliseconds; T_normal is 40.
    use super::*;
    use crate::Ecn;
    use crate::payload::{Length, Slice};

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// Creates a transmitter with `packets` packets of one byte written.
    fn transmitter(window: u32, packets: u32) -> Transmitter<Length> {
        let mut transmitter = Transmitter::new(Arc::new(Config { segment: 1, window, ..Config::default() }));
        transmitter.handle(at(0), Input::Write(Length(packets)));
        transmitter
    }

    fn receive_report(transmitter: &mut Transmitter<Length>, millis: u64, gap: (u64, u64), cumulative: u64) {
        let report = Report { gap_in: gap.0, gap_out: gap.1, cumulative };
        transmitter.handle(at(millis), Input::Pdu { pdu: Pdu::Ack(report), ecn: Ecn::NotEct });
    }

    /// Returns the packets sent at `millis`, and the next poll time.
    fn sends(transmitter: &mut Transmitter<Length>, millis: u64) -> (Vec<u64>, Option<u64>) {
        let mut sent = Vec::new();
        loop {
            match transmitter.poll(at(millis)) {
                Output::Transmit(Pdu::Data(data)) => sent.push(data.sequence),
                Output::Timeout { at, .. } => return (sent, Some(at.as_picos() / 1_000_000_000)),
                Output::Idle => return (sent, None),
                _ => {}
            }
        }
    }

    #[test]
    fn the_window_is_what_is_kept() {
        let mut transmitter = transmitter(4, 10);
        assert_eq!(sends(&mut transmitter, 0), (vec![1, 2, 3, 4], Some(160)));
        // A report releases all packets below its cumulative number, and as many new ones may be sent.
        receive_report(&mut transmitter, 40, (3, 3), 3);
        assert_eq!(sends(&mut transmitter, 40), (vec![5, 6], Some(200)));
        assert_eq!(transmitter.stats(at(40)).common.in_flight, 4);
    }

    #[test]
    fn requested_packets_precede_new_ones_and_are_sent_once() {
        let mut transmitter = transmitter(6, 10);
        assert_eq!(sends(&mut transmitter, 0).0, [1, 2, 3, 4, 5, 6]);
        // Two requests before any transmission; the second also covers the packets of the first.
        receive_report(&mut transmitter, 1, (3, 4), 2);
        receive_report(&mut transmitter, 1, (3, 6), 3);
        assert_eq!(transmitter.stats(at(1)).to_resend, 3);
        assert_eq!(sends(&mut transmitter, 1).0, [3, 4, 5, 7, 8]);
        // A retransmitted packet may be requested again.
        receive_report(&mut transmitter, 6, (3, 4), 3);
        assert_eq!(sends(&mut transmitter, 6).0, [3]);
        assert_eq!(transmitter.stats(at(6)).common.retransmissions, 4);
    }

    #[test]
    fn requested_packets_acknowledged_since_are_not_resent() {
        let mut transmitter = transmitter(6, 6);
        assert_eq!(sends(&mut transmitter, 0).0.len(), 6);
        receive_report(&mut transmitter, 1, (2, 5), 2);
        receive_report(&mut transmitter, 2, (4, 5), 4);
        assert_eq!(sends(&mut transmitter, 2).0, [4]);
        // A late request for a released packet.
        receive_report(&mut transmitter, 3, (2, 4), 2);
        assert_eq!(sends(&mut transmitter, 3).0, []);
        assert_eq!(transmitter.stats(at(3)).invalid_acks, 0);
    }

    #[test]
    fn the_timeout_retransmits_and_only_progress_restarts_it() {
        let mut transmitter = transmitter(4, 4);
        assert_eq!(sends(&mut transmitter, 0), (vec![1, 2, 3, 4], Some(160)));
        // The report on 3 takes 8 ms, so 4 T_normal exceed 4 round trips.
        receive_report(&mut transmitter, 8, (4, 4), 4);
        assert_eq!(sends(&mut transmitter, 8), (vec![], Some(168)));
        // 4 was the last, and lost. The receiver cannot know, and its reports contain no news.
        for report in 1..=4 {
            receive_report(&mut transmitter, 8 + 39 * report, (4, 4), 4);
        }
        assert_eq!(sends(&mut transmitter, 167), (vec![], Some(168)));
        assert_eq!(sends(&mut transmitter, 168), (vec![4], Some(328)));
        receive_report(&mut transmitter, 170, (5, 5), 5);
        assert_eq!(sends(&mut transmitter, 170), (vec![], None));
        assert_eq!(transmitter.stats(at(170)).common.timeouts, 1);
    }

    #[test]
    fn a_timeout_resends_the_oldest_and_newest_and_reports_request_the_rest() {
        let mut transmitter = transmitter(5, 5);
        assert_eq!(sends(&mut transmitter, 0), (vec![1, 2, 3, 4, 5], Some(160)));
        assert_eq!(sends(&mut transmitter, 160), (vec![1, 5], Some(320)));
        receive_report(&mut transmitter, 161, (2, 5), 2);
        assert_eq!(sends(&mut transmitter, 161).0, [2, 3, 4]);
    }

    #[test]
    fn the_timeout_on_a_long_path_is_four_round_trips() {
        let mut transmitter = transmitter(2, 9);
        assert_eq!(sends(&mut transmitter, 0).0, [1, 2]);
        receive_report(&mut transmitter, 100, (2, 2), 2);
        assert_eq!(sends(&mut transmitter, 100), (vec![3], Some(500)));
        // A packet sent twice yields no sample: RFC 6298, section 3.
        assert_eq!(sends(&mut transmitter, 500), (vec![2, 3], Some(900)));
        receive_report(&mut transmitter, 501, (3, 3), 3);
        assert_eq!(transmitter.stats(at(501)).common.smoothed_rtt, Some(Duration::from_millis(100)));
    }

    #[test]
    fn inconsistent_reports_are_dropped() {
        let mut transmitter = transmitter(4, 10);
        assert_eq!(sends(&mut transmitter, 0).0, [1, 2, 3, 4]);
        for (gap, cumulative) in
            [((6, 6), 6), ((2, 6), 2), ((3, 2), 2), ((1, 3), 2), ((0, 0), 0), ((u64::MAX, u64::MAX), 1)]
        {
            receive_report(&mut transmitter, 1, gap, cumulative);
        }
        assert_eq!(transmitter.stats(at(1)).invalid_acks, 6);
        assert_eq!(sends(&mut transmitter, 1), (vec![], Some(160)));
    }

    #[test]
    fn a_gate_holds_data_back_and_nothing_is_lost() {
        let mut transmitter = transmitter(4, 10);
        transmitter.handle(at(0), Input::Pause);
        assert_eq!(sends(&mut transmitter, 0), (vec![], None));
        transmitter.handle(at(1), Input::Resume);
        assert_eq!(sends(&mut transmitter, 1).0, [1, 2, 3, 4]);
        transmitter.handle(at(2), Input::Pause);
        receive_report(&mut transmitter, 3, (1, 2), 1);
        assert_eq!(sends(&mut transmitter, 3), (vec![], Some(163)));
        // The retransmission timer repeats.
        assert_eq!(sends(&mut transmitter, 163), (vec![], Some(323)));
        assert_eq!(transmitter.stats(at(163)).common.timeouts, 0);
        transmitter.handle(at(200), Input::Resume);
        assert_eq!(sends(&mut transmitter, 200).0, [1]);
    }

    #[test]
    fn a_drop_reported_by_a_router_is_retransmitted() {
        let mut transmitter = transmitter(4, 10);
        assert_eq!(sends(&mut transmitter, 0).0, [1, 2, 3, 4]);
        let feedback = |dropped| Input::Feedback(Feedback { dropped, rate: None, growth: None, queue: 0 });
        for dropped in [None, Some(0), Some(3), Some(5), Some(u64::MAX)] {
            transmitter.handle(at(1), feedback(dropped));
        }
        assert_eq!(sends(&mut transmitter, 1).0, [3]);
    }

    #[test]
    fn finished_is_reported_once_all_data_is_acknowledged() {
        let mut transmitter = Transmitter::<Slice>::new(Arc::new(Config { segment: 4, ..Config::default() }));
        transmitter.handle(at(0), Input::Write(Slice::new(*b"hello")));
        transmitter.handle(at(0), Input::Finish);
        let mut payloads = Vec::new();
        for _ in 0..5 {
            match transmitter.poll(at(0)) {
                Output::Transmit(Pdu::Data(data)) => payloads.push(data.payload.as_bytes().to_vec()),
                Output::Event(event) => panic!("not yet: {event:?}"),
                _ => {}
            }
        }
        assert_eq!(payloads, [b"hell".to_vec(), b"o".to_vec()]);
        transmitter.handle(at(1), Input::Pdu { pdu: Pdu::Ack(Report::plain(3)), ecn: Ecn::NotEct });
        assert_eq!(transmitter.poll(at(1)), Output::Event(Event::Finished));
        assert_eq!(transmitter.poll(at(1)), Output::Idle);
    }
}
