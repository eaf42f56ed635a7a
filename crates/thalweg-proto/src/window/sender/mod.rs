//! The sender of the window transport.

mod ack_requests;
mod digest;
mod f_rto;
mod feedback;
mod losses;
mod marks;
mod pause_and_marks;
mod probe;
mod prr;
mod rack;
mod renewal;
mod repair;
mod shortest;
mod timed;
mod undo;
mod validation;
mod verify;

use f_rto::Turn;
use pause_and_marks::PauseAndMarks;
use timed::Extensions;

use super::record::{Record, Repair, SegmentState};
use super::scoreboard::{AckOutcome, Scoreboard};
use super::wire::TIMESTAMP_LENGTH;
use super::{Ack, Counting, Pdu, Recovery, RttEstimator, Segment, SenderConfig, Timestamp};
use crate::Ecn;
use crate::congestion::{AckSample, CongestionState, Controller, Path, SentSample};
use crate::engine::{Engine, Output};
use crate::payload::{Payload, Queue};
use crate::transport::{Event, Failure, Input, Limit, LimitClock, SenderStats, Signal};
use crate::units::{Bytes, Duration, Time};
use std::sync::Arc;

/// The timer that expires next, or its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderReason {
    /// Retransmission timer: no acknowledgement for the retransmission time-out, or the peer's window has been closed
    /// that long.
    Retransmission,
    /// Pacing: departure time of the next segment.
    Pacing,
    /// Reordering timer of time-based loss detection: a segment not acknowledged by then counts as lost.
    Reordering,
    /// Tail loss probe.
    TailProbe,
}

/// Segments sent without pacing when an application resumes after all written data was acknowledged (RFC 9002, section
/// 7.7: a burst of an initial window). Pacing would spread the data of an application-limited flow over a round trip.
const UNPACED_BURST: u8 = 10;

/// Counters and estimates of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowStats {
    /// Statistics common to all senders; the window is the congestion window.
    pub common: SenderStats,
    /// Retransmission time-out, with its back-off.
    pub timeout: Duration,
    /// Recovery episodes started by duplicate or selective acknowledgements.
    pub recoveries: u64,
    /// Spurious recovery episodes, whose window reduction was undone.
    pub undone: u64,
    /// Window reductions caused by marks.
    pub mark_cuts: u64,
    /// Invalid acknowledgements, dropped.
    pub invalid_acks: u64,
}

/// The phase of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// No known loss.
    Open,
    /// Fast recovery, until everything below `until` is acknowledged.
    Recovery { until: u64 },
    /// Retransmission after a time-out (after any loss with go-back-n), until everything below `until` is acknowledged.
    Loss { until: u64 },
}

/// The state of a failed sender, which sends nothing more. The failure is reported once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Abort {
    None,
    Due(Failure),
    Reported,
}

/// The sender's next action.
enum Action {
    Resend,
    SendNew { length: u32 },
    Wait { limit: Limit, until: Time },
}

/// Sends a byte stream under a congestion window and retransmits lost data.
#[derive(Clone, Debug)]
pub struct Sender<P: Payload, C: Controller> {
    config: Arc<SenderConfig>,
    controller: C,
    rtt: RttEstimator,
    queue: P::Queue,
    scoreboard: Scoreboard<P, C::PacketInfo>,
    /// First byte not cumulatively acknowledged.
    unacknowledged: u64,
    /// First byte beyond the peer's window.
    peer_limit: u64,
    phase: Phase,
    duplicates: u32,
    /// New segments sent since the first duplicate acknowledgement: limited transmit (RFC 3042).
    limited: u32,
    /// Dupack credit: segments that have left the network by duplicate acknowledgements, where the peer does not name
    /// them (the window inflation of RFC 5681, as a reduction of the pipe estimate). With fast retransmit alone the
    /// credit allows retransmissions, not new segments.
    dupack_credit: u32,
    /// Remaining acknowledgements of new data at which the age of the oldest segment is checked.
    checks: u8,
    /// The first lost segment is sent regardless of the window (RFC 5681, section 3.2; RFC 6675, section 5, step 4.3).
    repair_now: bool,
    probe_now: bool,
    /// Segments that may leave without pacing.
    unpaced: u8,
    timer: Time,
    /// Timer expiries since the last acknowledgement.
    silent: u32,
    /// Earliest time of the next transmission under pacing, without a burst.
    next_send: Time,
    last_sent: Time,
    last_received: Time,
    limits: LimitClock,
    signal: Option<Signal>,
    /// The driver stopped polling after a transmission: the host lacks time or buffer space for more.
    is_interrupted: bool,
    writable: bool,
    finishing: bool,
    finished: bool,
    abort: Abort,
    pause_and_marks: Option<Box<PauseAndMarks>>,
    extensions: Option<Box<Extensions<C>>>,
    sent: u64,
    retransmissions: u64,
    timeouts: u32,
    recoveries: u32,
    invalid_acks: u32,
}

impl<P: Payload, C: Controller> Sender<P, C> {
    /// Creates a sender with nothing to send, at byte 0. The peer's window counts as open until the peer reports one.
    pub fn new(config: Arc<SenderConfig>, controller: C) -> Self {
        Self {
            rtt: RttEstimator::new(&config.rtt),
            extensions: Extensions::new(&config, controller.decision().window),
            config,
            controller,
            queue: P::Queue::default(),
            scoreboard: Scoreboard::new(),
            unacknowledged: 0,
            peer_limit: u64::MAX,
            phase: Phase::Open,
            duplicates: 0,
            limited: 0,
            dupack_credit: 0,
            checks: 0,
            repair_now: false,
            probe_now: false,
            unpaced: 0,
            timer: Time::MAX,
            silent: 0,
            next_send: Time::ZERO,
            last_sent: Time::ZERO,
            last_received: Time::ZERO,
            limits: LimitClock::default(),
            signal: None,
            is_interrupted: false,
            writable: false,
            finishing: false,
            finished: false,
            abort: Abort::None,
            pause_and_marks: None,
            sent: 0,
            retransmissions: 0,
            timeouts: 0,
            recoveries: 0,
            invalid_acks: 0,
        }
    }

    /// Returns counters and estimates at `now`.
    pub fn stats(&self, now: Time) -> WindowStats {
        let decision = self.controller.decision();
        let (smoothed_rtt, min_rtt) = self.rtt.measured();
        WindowStats {
            common: SenderStats {
                window: Some(decision.window.min(f64::from(self.config.max_window))),
                pacing_rate: decision.pacing_rate,
                in_flight: self.scoreboard.in_flight(),
                ssthresh: self.controller.ssthresh().filter(|threshold| threshold.is_finite()),
                smoothed_rtt,
                min_rtt,
                sent: self.sent,
                retransmissions: self.retransmissions,
                timeouts: u64::from(self.timeouts),
                limits: self.limits.held(now),
            },
            timeout: self.rtt.timeout(),
            recoveries: u64::from(self.recoveries),
            undone: self.extensions.as_ref().map_or(0, |extensions| extensions.undone()),
            mark_cuts: self
                .pause_and_marks
                .as_ref()
                .map_or(0, |pause_and_marks| u64::from(pause_and_marks.marks.cuts())),
            invalid_acks: u64::from(self.invalid_acks),
        }
    }

    /// Returns the last round-trip time measured since the previous call.
    pub fn take_rtt(&mut self) -> Option<Duration> {
        self.rtt.take_latest()
    }

    /// Returns the controller's state, if the controller reports one.
    pub fn congestion_state(&self) -> Option<CongestionState> {
        self.controller.congestion_state()
    }

    pub(super) const fn controller(&self) -> &C {
        &self.controller
    }

    /// Returns the number of bytes written and not yet sent.
    pub fn backlog(&self) -> u64 {
        self.queue.len()
    }

    /// Returns the limit that has held the sender back since the last poll; `None` before the first, and when all is
    /// done.
    pub const fn limit(&self) -> Option<Limit> {
        self.limits.current()
    }

    /// Sets the maximum segment length in bytes (at least 1), including the timestamp where used, after a change of the
    /// path MTU. Longer segments sent before are split when they are retransmitted.
    pub fn set_segment(&mut self, bytes: u32) {
        let timestamp = if self.config.timestamps { TIMESTAMP_LENGTH as u32 } else { 0 };
        let bytes = bytes.saturating_sub(timestamp);
        if self.config.segment != bytes.max(1) {
            Arc::make_mut(&mut self.config).segment = bytes.max(1);
            // A split segment is no longer identified by its start.
            self.abandon_undo();
        }
    }

    /// Reports the completed handshake; `rtt` is its round-trip time unless its packets were repeated.
    pub fn opened(&mut self, rtt: Option<Duration>, timeout: Duration) {
        match rtt {
            Some(rtt) => {
                self.rtt.sample(&self.config.rtt, rtt);
                if let Some(rack) = self.rack() {
                    rack.on_opened(rtt);
                }
            }
            None => self.rtt.wait_at_least(timeout),
        }
    }

    /// Returns the addresses of the oldest and the newest outstanding segments, which the next acknowledgement will
    /// change: for prefetching by drivers of many senders.
    pub fn next_needed(&self) -> Option<[*const u8; 2]> {
        self.scoreboard.ends()
    }

    fn path(&self, now: Time) -> Path {
        Path {
            now,
            outstanding: self.scoreboard.len(),
            in_flight: self.scoreboard.in_flight(),
            in_flight_bytes: self.scoreboard.in_flight_bytes(),
            smoothed_rtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min(),
            segment: self.config.segment,
            next_sequence: self.scoreboard.next(),
        }
    }

    #[inline(always)]
    fn on_ack(&mut self, now: Time, ack: &Ack, ecn: Ecn) {
        let is_refused = self.extensions.is_some() && !self.accepts(now, ack);
        // RFC 9293, section 3.10.7.4: an acknowledgement of unsent data is dropped.
        if is_refused || ack.cumulative > self.scoreboard.next() {
            self.invalid_acks = self.invalid_acks.saturating_add(1);
            return;
        }
        self.silent = 0;
        self.last_received = now;
        self.limits.on_answer(now);
        self.end_wait();
        let path = self.path(now);
        let limit = ack.cumulative.saturating_add(ack.window);
        let was_refused = self.is_refused();
        let window_update = limit > self.peer_limit;
        if ack.cumulative >= self.unacknowledged {
            self.peer_limit = limit;
        }
        let mut outcome = AckOutcome::new();
        let advanced = ack.cumulative > self.unacknowledged;
        if advanced {
            self.unacknowledged = ack.cumulative;
        }
        let by_time = self.finds_by_time();
        // The acknowledgement covers only part of the first segment.
        let is_cut = if by_time {
            self.take_outcome(now, ack, &mut outcome)
        } else {
            advanced && self.scoreboard.acknowledge(ack.cumulative, &mut outcome, |_| ())
        };
        if self.config.recovery == Recovery::Sack && !by_time {
            for block in ack.sack.iter().filter(|block| !block.is_empty()) {
                let next = self.scoreboard.next();
                let at = |offset: u32| (ack.cumulative + u64::from(offset)).min(next);
                self.scoreboard.sack(
                    at(block.start).max(self.unacknowledged),
                    at(block.end),
                    &mut outcome,
                    |_| (),
                );
            }
        }
        let is_of_path = outcome.newest.is_none_or(|(sent_at, _)| self.is_of_path(sent_at));
        let measurable = outcome.measurable().filter(|sent_at| self.is_of_path(*sent_at));
        let rtt = measurable.map(|sent_at| now.since(sent_at));
        if let Some(rtt) = rtt {
            self.rtt.sample(&self.config.rtt, rtt);
        }
        let ce = u32::from(ack.newly_ce(self.reported())) + u32::from(ecn.is_ce());
        let marked = ce > 0;
        if marked {
            self.signal = Some(Signal::Mark);
            // A controller that counts receives it with the next acknowledgement of new data.
            if outcome.newest.is_some() || self.config.ecn {
                self.pause_and_marks().marks.report(ack);
            }
        }
        if let Some((sent_at, info)) = outcome.newest.filter(|_| is_of_path) {
            let sample = AckSample {
                path: Path { smoothed_rtt: self.rtt.smoothed(), min_rtt: self.rtt.min(), ..path },
                acked: outcome.segments,
                acked_bytes: outcome.bytes,
                counted: outcome.segments.min(self.config.byte_counting),
                cumulative: self.unacknowledged,
                sent_at,
                in_flight_bytes: self.scoreboard.in_flight_bytes(),
                rtt,
                ce,
                one_way_delay: ack.delay,
                recovering: matches!(self.phase, Phase::Recovery { .. })
                    || !advanced && !self.tolerates_disorder() && !self.has_withheld_gap()
                    || marked && self.config.ecn,
                app_limited: matches!(
                    self.limits.underlying(),
                    Some(Limit::Application | Limit::ReceiverWindow | Limit::Paused)
                ) || self.is_unused(&path),
            };
            self.controller.on_ack(&sample, info);
        }
        if marked && self.config.ecn && is_of_path {
            self.on_mark(now, &outcome);
        }
        let duplicate = !advanced && !window_update && ack.cumulative == self.unacknowledged;
        if self.extensions.is_some() {
            self.resolve_timeout(now, ack, &outcome, advanced, duplicate);
        }
        if by_time {
            self.repair_by_time(now, ack, advanced);
        } else {
            self.repair(now, advanced, duplicate, outcome.segments);
        }
        if self.extensions.is_some() {
            self.on_ack_coverage(outcome.segments);
            self.advance_prr(now, outcome.bytes, advanced);
            self.note_delivered(now, outcome.bytes);
        }
        // The peer reopens its window after it refused the first segment, or part of it.
        if (window_update && was_refused || advanced && is_cut) && !self.is_refused() {
            self.repair_now |= self.scoreboard.mark_first_lost().is_some();
        }
        if self.scoreboard.is_empty() {
            self.timer = Time::MAX;
        } else if advanced {
            // RFC 6298, section 5.3.
            self.timer = now + self.rtt.timeout();
            self.restart(now);
        }
    }

    /// Returns true if the host limits the rate and half of the window was free on `path`, the state before the
    /// acknowledgement. The window must not grow then, as it is not validated by the path (RFC 9002, section 7.8).
    fn is_unused(&self, path: &Path) -> bool {
        self.is_interrupted && 2.0 * f64::from(path.in_flight) < self.controller.decision().window
    }

    /// Returns true while the peer's window excludes all of the first segment. The segment is then a window probe, and
    /// a refusal carries no information about the network (RFC 9293, section 3.8.6.1).
    fn is_refused(&self) -> bool {
        // The first outstanding segment starts at, or contains, the first unacknowledged byte.
        !self.scoreboard.is_empty() && self.unacknowledged >= self.peer_limit
    }

    /// Returns true if the segment that starts at or holds byte `sequence` is the oldest outstanding.
    fn is_first(&self, sequence: u64) -> bool {
        self.scoreboard.first().is_some_and(|first| sequence < first.end())
    }

    /// Returns true if the window allows a segment of this length, new or retransmitted.
    #[inline(always)]
    fn window_allows(&self, window: f64, length: u32, again: bool) -> bool {
        if self.phase != Phase::Open
            && let Some(allows) = self.prr_allows(length)
        {
            return allows;
        }
        // At least one segment: a controller's window is at least 1.
        let window = (window as u32).max(1);
        let counted = again || self.config.recovery == Recovery::NewReno;
        let dupack_credit = if counted { self.dupack_credit } else { 0 };
        match self.config.counting {
            Counting::Packets => self.scoreboard.in_flight().saturating_sub(dupack_credit) < window,
            Counting::Bytes => {
                let segment = u64::from(self.config.segment);
                let dupack_credit = u64::from(dupack_credit) * segment;
                let in_flight = self.scoreboard.in_flight_bytes().saturating_sub(dupack_credit);
                in_flight == 0 || in_flight + u64::from(length) <= u64::from(window) * segment
            }
        }
    }

    /// Returns the length of new data that the peer's window allows.
    #[inline(always)]
    fn new_length(&self) -> Option<u32> {
        let length = self.queue.len().min(u64::from(self.config.segment));
        let peer_window = self.peer_limit.saturating_sub(self.scoreboard.next());
        let length = if length <= peer_window {
            length
        } else if self.probe_now {
            1
        } else if self.scoreboard.is_empty() {
            // Less than a segment only when nothing else will open the window (RFC 9293, section 3.8.6.2.1).
            peer_window
        } else {
            0
        };
        (length > 0 && self.scoreboard.len() < self.config.max_window).then_some(length as u32)
    }

    /// Returns true if Nagle's algorithm holds the segment back (RFC 9293, section 3.7.4).
    fn is_too_small(&self, length: u32) -> bool {
        self.config.nagle && length < self.config.segment && !self.scoreboard.is_empty() && !self.probe_now
    }

    #[inline(always)]
    fn next_action(&mut self, now: Time) -> Action {
        let wait = |limit| Action::Wait { limit, until: Time::MAX };
        if self.is_held() {
            return wait(if self.is_paused() { Limit::Paused } else { Limit::Network });
        }
        let mut lost = self.scoreboard.first_lost_len();
        if lost.is_some() && self.is_withholding() {
            lost = None;
        }
        if lost.is_some()
            && let Some(turn) = self.f_rto_turn()
        {
            match turn {
                Turn::New => lost = None,
                Turn::Wait => return wait(Limit::Network),
            }
        }
        let (action, length) = match lost {
            Some(length) => (Action::Resend, length.min(self.config.segment)),
            None if self.queue.is_empty() => return wait(Limit::Application),
            None => match self.new_length() {
                // RFC 896: the next write or the next acknowledgement releases it.
                Some(length) if self.is_too_small(length) => return wait(Limit::Application),
                Some(length) => (Action::SendNew { length }, length),
                None => return wait(Limit::ReceiverWindow),
            },
        };
        let decision = self.controller.decision();
        let forced = self.repair_now && lost.is_some() || self.probe_now;
        if !forced && !self.window_allows(decision.window, length, lost.is_some()) {
            let open = self.phase == Phase::Open;
            return wait(if open { Limit::CongestionWindow } else { Limit::Network });
        }
        if self.is_resuming() {
            self.unpaced = UNPACED_BURST;
        }
        if let Some(rate) = decision.pacing_rate.filter(|_| !self.take_unpaced()) {
            let segment_time = rate.transmission_time(Bytes::new(u64::from(length)));
            let burst = u64::from(decision.burst.max(1));
            // The pacing debt of earlier segments is at most a burst at the current rate, however low the rate was
            // before.
            let full = rate.transmission_time(Bytes::new(u64::from(self.config.segment)));
            self.next_send = self.next_send.min(self.last_sent + full * burst);
            let at = self.next_send - segment_time * (burst - 1);
            if at > now {
                return Action::Wait { limit: Limit::Pacing, until: at };
            }
            self.next_send = self.next_send.max(now) + segment_time;
        }
        action
    }

    /// Returns true if the application has written again with no earlier data outstanding.
    fn is_resuming(&self) -> bool {
        self.scoreboard.is_empty() && self.sent > 0 && self.limits.underlying() == Some(Limit::Application)
    }

    /// Consumes one of the segments exempt from pacing.
    fn take_unpaced(&mut self) -> bool {
        let is_free = self.unpaced > 0;
        self.unpaced = self.unpaced.saturating_sub(1);
        is_free
    }

    fn resend(&mut self, now: Time) -> Option<Segment<P>> {
        let path = self.path(now);
        let controller = &mut self.controller;
        let info = |bytes| controller.on_sent(&SentSample { path, bytes, retransmission: true });
        let (record, payload) = self.scoreboard.resend(now, self.config.segment, info)?;
        let named = record.repair == Repair::Explicit && record.start <= self.unacknowledged;
        let is_first = record.start <= self.unacknowledged && self.config.rack.is_some();
        if core::mem::take(&mut self.repair_now) || named || is_first {
            // RFC 6675, section 6: without this restart the timer, started by the last acknowledgement of new data,
            // expires on a long path before the retransmission can be answered. After router feedback a time-out of the
            // first transmission would signal the same drop twice. With time-based loss detection the first segment may
            // be retransmitted more than once.
            self.timer = now + self.rtt.timeout();
        }
        self.retransmissions += u64::from(!self.leaves_for_the_first_time(record.start));
        self.checks = 2;
        Some(Segment { sequence: record.start, payload, retransmission: true, sent_at: None, ack_now: false })
    }

    /// Retransmits the last segment.
    fn resend_last(&mut self, now: Time) -> Option<Segment<P>> {
        let path = self.path(now);
        let controller = &mut self.controller;
        let info = |bytes| controller.on_sent(&SentSample { path, bytes, retransmission: true });
        let (record, payload) = self.scoreboard.resend_last(now, self.config.segment, info)?;
        self.retransmissions += 1;
        Some(Segment { sequence: record.start, payload, retransmission: true, sent_at: None, ack_now: false })
    }

    // Inlined despite rare calls by probes: otherwise the compiler keeps it out of polling.
    #[inline(always)]
    fn send_new(&mut self, now: Time, length: u32) -> Option<Segment<P>> {
        if self.extensions.is_some() {
            self.keep_back(now, length);
        }
        if self.scoreboard.is_empty() && self.sent > 0 && now.since(self.last_sent) > self.rtt.timeout() {
            self.end_idleness(now);
        }
        let path = self.path(now);
        let payload = self.queue.fill(length)?;
        let bytes = payload.len();
        let info = self.controller.on_sent(&SentSample { path, bytes, retransmission: false });
        let start = self.scoreboard.next();
        self.scoreboard.push(now, &payload, info);
        // Also here: the answer may arrive before the next poll.
        if self.queue.len() < u64::from(self.config.segment) {
            let path = self.path(now);
            self.controller.on_app_limited(&path);
        }
        self.probe_now = false;
        self.limited += u32::from(self.phase == Phase::Open && self.duplicates > 0);
        self.writable |= self.queue.is_empty() && !self.finishing;
        Some(Segment { sequence: start, payload, retransmission: false, sent_at: None, ack_now: false })
    }

    #[inline(always)]
    fn transmit(&mut self, now: Time, mut segment: Segment<P>) -> Pdu<P> {
        if self.config.timestamps {
            segment.sent_at = Some(Timestamp::of(now));
        }
        if self.config.ack_requests.is_some() && !segment.retransmission {
            segment.ack_now = self.requests_ack();
        }
        self.sent += 1;
        self.last_sent = now;
        self.is_interrupted = true;
        if self.timer == Time::MAX {
            // RFC 6298, section 5.1.
            self.timer = now + self.rtt.timeout();
        }
        self.note_sent(now, segment.sequence, segment.payload.len());
        Pdu::Segment(segment)
    }

    fn next_event(&mut self) -> Option<Event<P>> {
        if let Some(signal) = self.signal.take() {
            return Some(Event::Congestion(signal));
        }
        if core::mem::take(&mut self.writable) {
            return Some(Event::Writable);
        }
        if self.finishing && !self.finished && self.queue.is_empty() && self.scoreboard.is_empty() {
            self.finished = true;
            return Some(Event::Finished);
        }
        if let Abort::Due(failure) = self.abort {
            self.abort = Abort::Reported;
            return Some(Event::Failed(failure));
        }
        None
    }
}

impl<P: Payload, C: Controller> Engine for Sender<P, C> {
    type Pdu = Pdu<P>;
    type Input = Input<Pdu<P>, P>;
    type Event = Event<P>;
    type Reason = SenderReason;

    // Drivers call this in several places; without the hint it would not be inlined.
    #[inline(always)]
    fn handle(&mut self, now: Time, input: Self::Input) {
        match input {
            Input::Pdu { pdu: Pdu::Ack(ack), ecn } => self.on_ack(now, &ack, ecn),
            Input::Write(data) => {
                if !self.finishing {
                    self.queue.push(data);
                }
            }
            Input::Finish => self.finishing = true,
            Input::Stop => {
                self.queue = P::Queue::default();
                self.finishing = true;
            }
            Input::Feedback(feedback) => self.on_feedback(now, feedback),
            Input::Pause => self.pause_and_marks().pause.begin(now),
            Input::Resume => {
                let (timer, is_outstanding) = (self.timer, !self.scoreboard.is_empty());
                self.timer = self.pause_and_marks().pause.end(now, timer, is_outstanding);
            }
            // A sender receives no data.
            Input::Pdu { pdu: Pdu::Segment(_), .. } | Input::Consumed(_) => {}
        }
    }

    #[inline(always)]
    fn poll(&mut self, now: Time) -> Output<Self::Pdu, Self::Event, Self::Reason> {
        if self.due() <= now
            && let Some(pdu) = self.on_due(now)
        {
            return Output::Transmit(pdu);
        }
        if now >= self.timer && self.timer_runs() {
            self.on_timer(now);
        }
        if let Some(event) = self.next_event() {
            return Output::Event(event);
        }
        if self.abort != Abort::None || self.finished {
            self.limits.change(now, None);
            return Output::Idle;
        }
        let (limit, until) = match self.next_action(now) {
            Action::Resend => match self.resend(now) {
                Some(segment) => return Output::Transmit(self.transmit(now, segment)),
                None => (Limit::Network, Time::MAX),
            },
            Action::SendNew { length } => match self.send_new(now, length) {
                Some(segment) => return Output::Transmit(self.transmit(now, segment)),
                None => (Limit::Application, Time::MAX),
            },
            Action::Wait { limit, until } => (limit, until),
        };
        self.limits.change(now, Some(limit));
        self.is_interrupted = false;
        if matches!(limit, Limit::Application | Limit::Paused) {
            let path = self.path(now);
            self.controller.on_app_limited(&path);
        }
        if limit == Limit::ReceiverWindow && self.scoreboard.is_empty() && self.timer == Time::MAX {
            self.timer = now + self.rtt.timeout();
        }
        self.schedule_probe(now);
        let due = self.due();
        if due < until.min(self.timer) {
            Output::Timeout { at: due, reason: self.due_reason() }
        } else if until < self.timer {
            Output::Timeout { at: until, reason: SenderReason::Pacing }
        } else if self.timer < Time::MAX && self.timer_runs() {
            Output::Timeout { at: self.timer, reason: SenderReason::Retransmission }
        } else {
            Output::Idle
        }
    }
}
