//! Receiver of adaptive acknowledgement: schedules its reports.

use super::{Config, Data, Pdu, Report};
use crate::endpoint::memory_charge;
use crate::engine_contract::{Engine, Output};
use crate::payload::Payload;
use crate::state_digest::{Digest, hash_all, time_until};
use crate::transport::{Event, Input, ReceiverCounts};
use crate::units::Time;
use core::hash::{Hash, Hasher};
use std::collections::VecDeque;
use std::sync::Arc;

/// Timer of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverReason {
    /// Next report in the error-free phase: T_normal.
    Normal,
    /// Next report in the error phase: T_error.
    Error,
}

/// Counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Packets with new data.
    pub new_packets: u64,
    /// Payload of the new packets, in bytes.
    pub new_bytes: u64,
    /// Duplicate packets.
    pub duplicates: u64,
    /// Packets beyond the window or the memory limit, or without number or payload.
    pub refused: u64,
    /// Reports sent.
    pub reports: u64,
    /// Reports with a request.
    pub requests: u64,
    /// Error phases: losses detected while none was outstanding.
    pub error_phases: u64,
}

/// Receiver that delivers packets in order, each once, and sends reports.
#[derive(Clone, Debug)]
pub struct Receiver<P: Payload> {
    config: Arc<Config>,
    /// Number of the next packet to deliver, the first of `held_packets`.
    deliver: u64,
    /// Number of the first missing packet.
    expected: u64,
    /// Arrived packets from `deliver` on.
    held_packets: VecDeque<Option<P>>,
    /// Memory charged for those packets, in bytes, and its limit.
    held_bytes: u64,
    memory: u64,
    /// Runs of missing packets, ascending: the first packet, and the one after the last.
    gaps: VecDeque<(u64, u64)>,
    /// Gaps to report now.
    due_gaps: VecDeque<(u64, u64)>,
    /// Report timer; [`Time::MAX`] before the first packet.
    timer: Time,
    /// The timer runs with T_error: a loss occurred since it was last set to T_normal.
    error: bool,
    stats: ReceiverStats,
}

impl<P: Payload> Receiver<P> {
    /// Creates a receiver that waits for packet 1.
    pub fn new(config: Arc<Config>) -> Self {
        Self {
            config,
            deliver: 1,
            expected: 1,
            held_packets: VecDeque::new(),
            held_bytes: 0,
            memory: u64::MAX,
            gaps: VecDeque::new(),
            due_gaps: VecDeque::new(),
            timer: Time::MAX,
            error: false,
            stats: ReceiverStats::default(),
        }
    }

    /// Returns the counters.
    pub fn stats(&self) -> ReceiverStats {
        self.stats
    }

    /// Returns the buffered bytes, including a slot for each packet up to the highest.
    fn buffered_bytes(&self) -> u64 {
        self.held_bytes + self.held_packets.len() as u64 * Self::PLACE
    }

    /// Limits the buffered data to `bytes`; the next expected packet is exempt.
    pub fn set_memory(&mut self, bytes: u64) {
        self.memory = bytes;
    }

    const PLACE: u64 = size_of::<Option<P>>() as u64;

    /// Returns true if memory is insufficient for a packet within the window.
    fn exceeds_memory(&self, sequence: u64, payload: &P) -> bool {
        let places = (sequence + 1).saturating_sub(self.deliver + self.held_packets.len() as u64);
        sequence != self.expected
            && self.buffered_bytes() + places * Self::PLACE + memory_charge(payload) > self.memory
    }

    /// Returns the counts of data received in order.
    pub fn counts(&self) -> ReceiverCounts {
        let in_order = (self.expected - self.deliver) as usize;
        let out_of_order = self.held_packets.iter().skip(in_order).flatten();
        let (packets, bytes) = out_of_order
            .fold((0, 0), |(packets, bytes), piece| (packets + 1, bytes + u64::from(piece.len())));
        ReceiverCounts {
            packets: self.stats.new_packets - packets,
            payload: self.stats.new_bytes - bytes,
            framing: 0,
        }
    }

    /// Returns the number of the first missing packet: the next cumulative acknowledgement.
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// Returns true while packets are known to be missing.
    pub fn is_missing(&self) -> bool {
        !self.gaps.is_empty()
    }

    fn on_data(&mut self, now: Time, data: Data<P>) {
        let Data { sequence, payload } = data;
        let refused = sequence == 0
            || payload.is_empty()
            || sequence.saturating_sub(self.deliver) >= self.config.window()
            || sequence == u64::MAX
            || self.exceeds_memory(sequence, &payload);
        if refused {
            self.stats.refused += 1;
            return;
        }
        if self.timer == Time::MAX {
            self.timer = now + self.config.interval(false);
        }
        let next = self.deliver + self.held_packets.len() as u64;
        let (bytes, kept) = (u64::from(payload.len()), memory_charge(&payload));
        if sequence >= next {
            // Lee et al. 1997, section 2: on a connection-oriented network a gap in the numbers is a loss.
            if sequence > next {
                self.on_loss(now, next, sequence);
            }
            self.held_packets.resize(self.held_packets.len() + (sequence - next) as usize, None);
            self.held_packets.push_back(Some(payload));
        } else if sequence >= self.expected && self.fill(sequence) {
            // The packet is within the window, so the difference is small.
            self.held_packets[(sequence - self.deliver) as usize] = Some(payload);
        } else {
            self.stats.duplicates += 1;
            return;
        }
        self.stats.new_packets += 1;
        self.stats.new_bytes += bytes;
        self.held_bytes += kept;
        self.expected =
            self.gaps.front().map_or(self.deliver + self.held_packets.len() as u64, |&(first, _)| first);
    }

    /// Handles a gap in the numbers: requests the skipped packets at once.
    fn on_loss(&mut self, now: Time, first: u64, end: u64) {
        // First loss of an error phase, which lasts until all losses are repaired. It postpones the timer, but always
        // sends a report in its place.
        if self.gaps.is_empty() {
            self.error = true;
            self.stats.error_phases += 1;
            self.timer = now + self.config.interval(true);
        }
        self.gaps.push_back((first, end));
        // Bounded for a driver that does not drain reports; the timer repeats all requests.
        if (self.due_gaps.len() as u64) < self.config.window() {
            self.due_gaps.push_back((first, end));
        }
    }

    /// Removes a packet from the gaps; returns false if it was in none.
    fn fill(&mut self, sequence: u64) -> bool {
        let index = self.gaps.partition_point(|&(_, end)| end <= sequence);
        let Some(&(first, end)) = self.gaps.get(index).filter(|gap| gap.0 <= sequence) else { return false };
        match (first == sequence, end == sequence + 1) {
            (true, true) => {
                self.gaps.remove(index);
            }
            (true, false) => self.gaps[index].0 = sequence + 1,
            (false, true) => self.gaps[index].1 = sequence,
            (false, false) => {
                self.gaps[index].1 = sequence;
                self.gaps.insert(index + 1, (sequence + 1, end));
            }
        }
        true
    }

    /// Handles expiry of the report timer: sends one report, or one for each gap.
    fn on_timer(&mut self, now: Time) {
        // The loop below repeats all pending requests.
        self.due_gaps.clear();
        if self.gaps.is_empty() {
            // Lee et al. 1997, section 3.1: T_normal returns once all lost packets are recovered.
            self.error = false;
            // Lee et al. 1997, section 2: gap-in = gap-out = cumulative number where nothing is missing.
            self.due_gaps.push_back((self.expected, self.expected));
        } else {
            // Lee et al. 1997, section 2: one ACK packet for each gap. This also repairs a lost ACK packet
            // (section 3.1).
            self.due_gaps.extend(&self.gaps);
        }
        let interval = self.config.interval(self.error);
        let next = self.timer + interval;
        self.timer = if next > now { next } else { now + interval };
    }

    /// Builds the report of a gap that was missing when it became due.
    fn report(&mut self, (first, end): (u64, u64)) -> Report {
        self.stats.reports += 1;
        // Packets that have arrived in order since are not requested; the request may become empty.
        let (gap_in, gap_out) = (first.max(self.expected), end.max(self.expected));
        self.stats.requests += u64::from(gap_in < gap_out);
        Report { gap_in, gap_out, cumulative: self.expected }
    }

    fn next_delivery(&mut self) -> Option<P> {
        if self.deliver == self.expected {
            return None;
        }
        let payload = self.held_packets.pop_front()??;
        self.deliver += 1;
        self.held_bytes -= memory_charge(&payload);
        Some(payload)
    }
}

impl<P: Payload + Hash> Digest for Receiver<P> {
    fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        hash_all(into, (self.deliver, self.expected, &self.held_packets, &self.gaps, &self.due_gaps));
        hash_all(into, (time_until(self.timer, now), self.error));
    }
}

impl<P: Payload> Engine for Receiver<P> {
    type Pdu = Pdu<P>;
    type Input = Input<Pdu<P>, P>;
    type Event = Event<P>;
    type Reason = ReceiverReason;

    fn handle(&mut self, now: Time, input: Self::Input) {
        match input {
            Input::Pdu { pdu: Pdu::Data(data), .. } => self.on_data(now, data),
            // A receiver sends only reports, which a gate does not hold back.
            Input::Pdu { pdu: Pdu::Ack(_), .. }
            | Input::Write(_)
            | Input::Finish
            | Input::Stop
            | Input::Consumed(_)
            | Input::Feedback(_)
            | Input::Pause
            | Input::Resume => {}
        }
    }

    fn poll(&mut self, now: Time) -> Output<Self::Pdu, Self::Event, Self::Reason> {
        if now >= self.timer {
            self.on_timer(now);
        }
        if let Some(gap) = self.due_gaps.pop_front() {
            return Output::Transmit(Pdu::Ack(self.report(gap)));
        }
        if let Some(payload) = self.next_delivery() {
            return Output::Event(Event::Delivered(payload));
        }
        if self.timer == Time::MAX {
            return Output::Idle;
        }
        let reason = if self.error { ReceiverReason::Error } else { ReceiverReason::Normal };
        Output::Timeout { at: self.timer, reason }
    }
}

#[cfg(test)]
mod tests {
    //! Checks the times and contents of reports, one packet at a time. Times are in milliseconds; T_normal is 40,
    //! T_error 5.
    use super::*;
    use crate::Ecn;
    use crate::payload::{Length, Slice};
    use crate::units::Duration;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn receiver<P: Payload>(window: u32) -> Receiver<P> {
        Receiver::new(Arc::new(Config { window, ..Config::default() }))
    }

    fn take<P: Payload>(receiver: &mut Receiver<P>, millis: u64, sequence: u64, payload: P) {
        let pdu = Pdu::Data(Data { sequence, payload });
        receiver.handle(at(millis), Input::Pdu { pdu, ecn: Ecn::NotEct });
    }

    /// Report in the paper's notation: ((gap-in, gap-out), cumulative).
    type WrittenReport = ((u64, u64), u64);

    /// Returns the reports due at `millis`, and the time of the next one.
    fn reports<P: Payload>(receiver: &mut Receiver<P>, millis: u64) -> (Vec<WrittenReport>, Option<u64>) {
        let mut reports = Vec::new();
        loop {
            match receiver.poll(at(millis)) {
                Output::Transmit(Pdu::Ack(report)) => {
                    reports.push(((report.gap_in, report.gap_out), report.cumulative));
                }
                Output::Timeout { at, .. } => return (reports, Some(at.as_picos() / 1_000_000_000)),
                Output::Idle => return (reports, None),
                _ => {}
            }
        }
    }

    /// The example of section 2 of the paper.
    #[test]
    fn the_worked_case_of_the_paper() {
        let mut receiver = receiver::<Length>(400);
        assert_eq!(reports(&mut receiver, 0), (vec![], None));
        take(&mut receiver, 0, 1, Length(1));
        assert_eq!(reports(&mut receiver, 0), (vec![], Some(40)));
        assert_eq!(reports(&mut receiver, 40), (vec![((2, 2), 2)], Some(80)));
        // 2 to 5 are lost: requested at once, and the timer is set to T_error.
        take(&mut receiver, 50, 6, Length(1));
        assert_eq!(reports(&mut receiver, 50), (vec![((2, 6), 2)], Some(55)));
        // 7 is lost as well: requested alone, and the timer keeps running.
        take(&mut receiver, 52, 8, Length(1));
        assert_eq!(reports(&mut receiver, 52), (vec![((7, 8), 2)], Some(55)));
        for sequence in [2, 3, 4, 5, 7] {
            take(&mut receiver, 53, sequence, Length(1));
        }
        assert_eq!(reports(&mut receiver, 53), (vec![], Some(55)));
        // All losses are repaired: one report, and T_normal again.
        assert_eq!(reports(&mut receiver, 55), (vec![((9, 9), 9)], Some(95)));
        let stats = receiver.stats();
        assert_eq!((stats.reports, stats.requests, stats.error_phases, stats.new_packets), (4, 2, 1, 8));
    }

    #[test]
    fn each_gap_is_requested_every_t_error_until_repaired() {
        let mut receiver = receiver::<Length>(400);
        for sequence in [1, 3, 4, 7] {
            take(&mut receiver, 0, sequence, Length(1));
        }
        assert_eq!(reports(&mut receiver, 0), (vec![((2, 3), 2), ((5, 7), 2)], Some(5)));
        assert_eq!(reports(&mut receiver, 5), (vec![((2, 3), 2), ((5, 7), 2)], Some(10)));
        // Part of a gap is repaired: the rest is requested.
        take(&mut receiver, 6, 6, Length(1));
        take(&mut receiver, 6, 2, Length(1));
        assert_eq!(reports(&mut receiver, 10), (vec![((5, 6), 5)], Some(15)));
        // The last repair: the phase ends at the expiry, not before.
        take(&mut receiver, 11, 5, Length(1));
        assert_eq!(reports(&mut receiver, 11), (vec![], Some(15)));
        assert_eq!(reports(&mut receiver, 15), (vec![((8, 8), 8)], Some(55)));
    }

    #[test]
    fn each_error_phase_sets_the_timer_once() {
        let mut receiver = receiver::<Length>(400);
        take(&mut receiver, 0, 2, Length(1));
        assert_eq!(reports(&mut receiver, 0), (vec![((1, 2), 1)], Some(5)));
        // All losses are repaired, and the next loss starts a new phase.
        take(&mut receiver, 2, 1, Length(1));
        take(&mut receiver, 3, 4, Length(1));
        assert_eq!(reports(&mut receiver, 3), (vec![((3, 4), 3)], Some(8)));
        // While it is outstanding, further losses do not affect the timer.
        take(&mut receiver, 6, 6, Length(1));
        take(&mut receiver, 6, 3, Length(1));
        take(&mut receiver, 7, 8, Length(1));
        assert_eq!(reports(&mut receiver, 7), (vec![((5, 6), 5), ((7, 8), 5)], Some(8)));
        assert_eq!(receiver.stats().error_phases, 2);
    }

    #[test]
    fn a_gap_is_split_by_what_arrives_within() {
        let mut receiver = receiver::<Length>(400);
        take(&mut receiver, 0, 9, Length(1));
        assert_eq!(reports(&mut receiver, 0), (vec![((1, 9), 1)], Some(5)));
        take(&mut receiver, 1, 4, Length(1));
        assert_eq!(reports(&mut receiver, 5), (vec![((1, 4), 1), ((5, 9), 1)], Some(10)));
        // A second copy changes nothing.
        take(&mut receiver, 6, 4, Length(1));
        take(&mut receiver, 6, 9, Length(1));
        assert_eq!(receiver.stats().duplicates, 2);
    }

    #[test]
    fn a_late_driver_gets_one_report_and_the_next_in_time() {
        let mut receiver = receiver::<Length>(400);
        take(&mut receiver, 0, 1, Length(1));
        assert_eq!(reports(&mut receiver, 45), (vec![((2, 2), 2)], Some(80)));
        assert_eq!(reports(&mut receiver, 300), (vec![((2, 2), 2)], Some(340)));
    }

    #[test]
    fn a_report_reflects_the_state_at_its_transmission() {
        // The request is due, and before the driver fetches it the first two packets arrive.
        let mut receiver = receiver::<Length>(400);
        take(&mut receiver, 0, 4, Length(1));
        take(&mut receiver, 0, 1, Length(1));
        take(&mut receiver, 0, 2, Length(1));
        assert_eq!(reports(&mut receiver, 0).0, [((3, 4), 3)]);
        take(&mut receiver, 1, 6, Length(1));
        take(&mut receiver, 1, 3, Length(1));
        take(&mut receiver, 1, 5, Length(1));
        assert_eq!(reports(&mut receiver, 1).0, [((7, 7), 7)]);
    }

    #[test]
    fn packets_are_delivered_in_order_and_once() {
        let mut receiver = receiver::<Slice>(400);
        for sequence in [3u8, 1, 1, 4, 2, 3] {
            take(&mut receiver, 0, u64::from(sequence), Slice::new([sequence]));
        }
        let mut delivered = Vec::new();
        loop {
            match receiver.poll(at(0)) {
                Output::Event(Event::Delivered(data)) => delivered.extend(data.as_bytes().to_vec()),
                Output::Transmit(_) => {}
                _ => break,
            }
        }
        assert_eq!(delivered, [1, 2, 3, 4]);
    }

    #[test]
    fn packets_beyond_the_window_are_refused() {
        let mut receiver = receiver::<Length>(3);
        for sequence in [0, 4, 5, u64::MAX] {
            take(&mut receiver, 0, sequence, Length(1));
        }
        take(&mut receiver, 0, 1, Length(0));
        assert_eq!(receiver.stats().refused, 5);
        assert_eq!(reports(&mut receiver, 0), (vec![], None));
        take(&mut receiver, 0, 3, Length(1));
        take(&mut receiver, 0, 1, Length(1));
        assert_eq!(reports(&mut receiver, 0).0, [((2, 3), 2)]);
        // One packet is delivered, so one more fits.
        take(&mut receiver, 0, 5, Length(1));
        take(&mut receiver, 0, 4, Length(1));
        assert_eq!((receiver.stats().refused, receiver.stats().new_packets), (6, 3));
    }
}
