//! The sender of the window transport.

mod ack_requests;
mod ack_verification;
mod application_interface;
mod concealed_mark_detection;
mod cwnd_validation;
mod duplicate_acks;
mod ecn;
mod f_rto;
mod lazy_pause_and_ecn_state;
mod loss_notification;
mod pacer;
mod path_change_reset;
mod peer_window;
mod prr;
mod rack;
mod recovery_phases;
mod retransmission_timer;
mod router_feedback;
mod sender_counters;
mod spurious_reduction_undo;
mod state_digest;
mod tail_loss_probe;
mod time_based_recovery;
mod window_exempt_transmissions;
mod windowed_min_rtt;

use ack_verification::AckStretch;
use application_interface::Application;
use duplicate_acks::Dupacks;
use f_rto::FRtoAction;
use lazy_pause_and_ecn_state::PauseAndEcnState;
use pacer::Pacer;
use peer_window::PeerWindow;
use retransmission_timer::RetransmissionTimer;
use sender_counters::Counters;
use time_based_recovery::Extensions;
use window_exempt_transmissions::Exemption;

use super::scoreboard::{AckOutcome, Scoreboard};
use super::segment_record::{Record, Repair, SegmentState};
use super::wire::TIMESTAMP_LENGTH;
use super::{Ack, Pdu, Recovery, RttEstimator, Segment, SenderConfig, Timestamp, VerifyAcks, WindowUnit};
use crate::Ecn;
use crate::congestion::{AckSample, CongestionState, ConnectionState, Controller, SentSample};
use crate::engine_contract::{Engine, Output};
use crate::payload::Payload;
use crate::transport::{Event, Input, Limit, LimitClock, SenderStats, Signal};
use crate::units::{Duration, Time};
use std::sync::Arc;

/// The timer that expires next, or its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderReason {
    /// Retransmission timer: no acknowledgement for the retransmission timeout, or the peer's window has been closed
    /// that long.
    Retransmission,
    /// Pacing: departure time of the next segment.
    Pacing,
    /// Reordering timer of time-based loss detection: a segment not acknowledged by then counts as lost.
    Reordering,
    /// Tail loss probe.
    TailProbe,
}

/// Counters and estimates of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowStats {
    /// Statistics common to all senders; the window is the congestion window.
    pub common: SenderStats,
    /// Retransmission timeout, with its back-off.
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
    /// Fast recovery, until everything below `recovery_point` is acknowledged.
    Recovery { recovery_point: u64 },
    /// Retransmission after a timeout (after any loss with go-back-n), until everything below `recovery_point` is acknowledged.
    Loss { recovery_point: u64 },
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
    application: Application<P, P::Queue>,
    scoreboard: Scoreboard<P, C::PacketInfo>,
    peer: PeerWindow,
    phase: Phase,
    dupacks: Dupacks,
    exemption: Exemption,
    pacer: Pacer,
    timer: RetransmissionTimer,
    ack_stretch: AckStretch,
    limits: LimitClock,
    /// The driver stopped polling after a transmission: the host lacks time or buffer space for more.
    is_interrupted: bool,
    pause_and_ecn: Option<Box<PauseAndEcnState>>,
    extensions: Option<Box<Extensions<C>>>,
    counters: Counters,
}

impl<P: Payload, C: Controller> Sender<P, C> {
    /// Creates a sender with nothing to send, at byte 0. The peer's window counts as open until the peer reports one.
    pub fn new(config: Arc<SenderConfig>, controller: C) -> Self {
        Self {
            rtt: RttEstimator::new(&config.rtt),
            extensions: Extensions::new(&config, controller.decision().window),
            config,
            controller,
            application: Application::new(),
            scoreboard: Scoreboard::new(),
            peer: PeerWindow::new(),
            phase: Phase::Open,
            dupacks: Dupacks::default(),
            exemption: Exemption::default(),
            pacer: Pacer::new(),
            timer: RetransmissionTimer::new(),
            ack_stretch: AckStretch::default(),
            limits: LimitClock::default(),
            is_interrupted: false,
            pause_and_ecn: None,
            counters: Counters::default(),
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
                sent: self.counters.sent(),
                retransmissions: self.counters.retransmissions(),
                timeouts: self.counters.timeouts(),
                marks_concealed: self.are_marks_concealed(),
                limits: self.limits.held(now),
            },
            timeout: self.rtt.timeout(),
            recoveries: self.counters.recoveries(),
            undone: self.extensions.as_ref().map_or(0, |extensions| extensions.undone()),
            mark_cuts: self
                .pause_and_ecn
                .as_ref()
                .map_or(0, |pause_and_ecn| u64::from(pause_and_ecn.marks.cuts())),
            invalid_acks: self.counters.invalid_acks(),
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
        self.application.backlog()
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
            self.disable_undo();
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

    fn connection(&self, now: Time) -> ConnectionState {
        ConnectionState {
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
        // Yang and Fu 2001, section 3.5: the source gets no acknowledgements between its turns.
        if self.drops_acks() {
            return;
        }
        let is_refused = self.extensions.is_some() && !self.verify_ack(now, ack);
        // RFC 9293, section 3.10.7.4: an acknowledgement of unsent data is dropped.
        if is_refused || ack.cumulative > self.scoreboard.next() {
            self.counters.add_invalid_ack();
            return;
        }
        self.timer.note_received(now);
        self.limits.on_answer(now);
        self.end_wait();
        let connection = self.connection(now);
        let was_beyond_peer_window = self.is_beyond_peer_window();
        let advanced = self.peer.advance(ack.cumulative);
        let mut outcome = AckOutcome::new();
        let by_time = self.finds_by_time();
        // The acknowledgement covers only part of the first segment.
        let is_cut = if by_time {
            self.take_outcome(now, ack, &mut outcome)
        } else {
            advanced && self.scoreboard.acknowledge(ack.cumulative, &mut outcome, |_| ())
        };
        let is_trimmed = advanced && is_cut && self.peer.has_cut_segment_at_edge(ack.cumulative, ack.window);
        let window_update = self.peer.update(ack.cumulative, ack.window);
        if self.config.recovery == Recovery::Sack && !by_time {
            for block in ack.sack.iter().filter(|block| !block.is_empty()) {
                let next = self.scoreboard.next();
                let at = |offset: u32| (ack.cumulative + u64::from(offset)).min(next);
                self.scoreboard.sack(
                    at(block.start).max(self.peer.unacknowledged()),
                    at(block.end),
                    &mut outcome,
                    |_| (),
                );
            }
        }
        let was_sent_on_current_path =
            outcome.newest.is_none_or(|(sent_at, _)| self.was_sent_on_current_path(sent_at));
        let measurable = outcome.measurable().filter(|sent_at| self.was_sent_on_current_path(*sent_at));
        let rtt = measurable.map(|sent_at| now.since(sent_at));
        if let Some(rtt) = rtt {
            self.rtt.sample(&self.config.rtt, rtt);
        }
        let ce = u32::from(ack.newly_ce(self.reported_ce_count())) + u32::from(ecn.is_ce());
        let marked = ce > 0;
        if marked {
            self.application.report(Signal::Mark);
            // A controller that counts receives it with the next acknowledgement of new data.
            if outcome.newest.is_some() || self.config.ecn {
                self.pause_and_ecn().marks.report(ack);
            }
        }
        if let Some((sent_at, info)) = outcome.newest.filter(|_| was_sent_on_current_path) {
            let sample = AckSample {
                connection: ConnectionState {
                    smoothed_rtt: self.rtt.smoothed(),
                    min_rtt: self.rtt.min(),
                    ..connection
                },
                acked: outcome.segments,
                acked_bytes: outcome.bytes,
                counted: outcome.segments.min(self.config.byte_counting),
                cumulative: self.peer.unacknowledged(),
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
                ) || self.is_unused(&connection),
            };
            self.controller.on_ack(&sample, info);
        }
        if marked && self.config.ecn && was_sent_on_current_path {
            self.on_mark(now, &outcome);
        }
        let mut duplicate = !advanced && !window_update && ack.cumulative == self.peer.unacknowledged();
        if self.extensions.is_some() {
            self.resolve_timeout(now, ack, &outcome, advanced, duplicate);
            duplicate = duplicate && !self.has_withheld_gap();
        }
        if let VerifyAcks::AboveStretch(max) = self.config.verify_acks
            && self.ack_stretch.record_and_check(max, outcome.segments)
        {
            self.verify_from_now();
        }
        if by_time {
            self.repair_by_time(now, ack, advanced);
        } else {
            self.update_recovery_phase(now, advanced, duplicate, outcome.segments);
        }
        if self.extensions.is_some() {
            self.on_ack_coverage(outcome.segments);
            self.advance_mark_probes(ack.cumulative, ce);
            self.advance_prr(now, outcome.bytes, advanced);
            self.note_delivered(now, outcome.bytes);
        }
        // The peer reopens its window after it refused the first segment, or part of it.
        if (window_update && was_beyond_peer_window || is_trimmed)
            && !self.is_beyond_peer_window()
            && self.scoreboard.mark_first_in_flight_lost().is_some()
        {
            self.exemption.exempt_retransmission();
        }
        if self.scoreboard.is_empty() {
            self.timer.stop();
        } else if advanced {
            // RFC 6298, section 5.3.
            self.timer.set(now + self.rtt.timeout());
            self.note_timer_restart(now);
        }
    }

    /// Returns true if the host limits the rate and half of the window was free in `connection`, the state before the
    /// acknowledgement. The window must not grow then, as it is not validated by the path (RFC 9002, section 7.8).
    fn is_unused(&self, connection: &ConnectionState) -> bool {
        self.is_interrupted && 2.0 * f64::from(connection.in_flight) < self.controller.decision().window
    }

    /// Returns true while the peer's window excludes all of the first segment. The segment is then a window probe, and
    /// a refusal carries no information about the network (RFC 9293, section 3.8.6.1).
    fn is_beyond_peer_window(&self) -> bool {
        // The first outstanding segment starts at, or contains, the first unacknowledged byte.
        !self.scoreboard.is_empty() && self.peer.is_closed()
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
        let dupack_credit = if counted { self.dupacks.credit() } else { 0 };
        match self.config.counting {
            WindowUnit::Packets => self.scoreboard.in_flight().saturating_sub(dupack_credit) < window,
            WindowUnit::Bytes => {
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
        let length = self.application.backlog().min(u64::from(self.config.segment));
        let peer_window = self.peer.room(self.scoreboard.next());
        let length = if length <= peer_window {
            length
        } else if self.exemption.is_probing() {
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
        self.config.nagle
            && length < self.config.segment
            && !self.scoreboard.is_empty()
            && !self.exemption.is_probing()
    }

    #[inline(always)]
    fn next_action(&mut self, now: Time) -> Action {
        let wait = |limit| Action::Wait { limit, until: Time::MAX };
        if self.holds_data_back() {
            return wait(if self.is_paused() { Limit::Paused } else { Limit::Network });
        }
        let mut lost = self.scoreboard.first_lost_len();
        if lost.is_some() && self.is_withholding() {
            lost = None;
        }
        if lost.is_some()
            && let Some(turn) = self.f_rto_action()
        {
            match turn {
                FRtoAction::New => lost = None,
                FRtoAction::Wait => return wait(Limit::Network),
            }
        }
        let (action, length) = match lost {
            Some(length) => (Action::Resend, length.min(self.config.segment)),
            None if self.application.is_drained() => return wait(Limit::Application),
            None => match self.new_length() {
                // RFC 896: the next write or the next acknowledgement releases it.
                Some(length) if self.is_too_small(length) => {
                    self.limits.hold_partial_segment(now);
                    return wait(Limit::Application);
                }
                Some(length) => (Action::SendNew { length }, length),
                None => return wait(Limit::ReceiverWindow),
            },
        };
        let decision = self.controller.decision();
        let forced = self.exemption.covers(lost.is_some());
        if !forced && !self.window_allows(decision.window, length, lost.is_some()) {
            let open = self.phase == Phase::Open;
            return wait(if open { Limit::CongestionWindow } else { Limit::Network });
        }
        if self.is_resuming() {
            self.pacer.resume();
        }
        if let Some(until) = self.pacer.departure(now, &decision, length, self.config.segment) {
            return Action::Wait { limit: Limit::Pacing, until };
        }
        action
    }

    /// Returns true if the application has written again with no earlier data outstanding.
    fn is_resuming(&self) -> bool {
        self.scoreboard.is_empty()
            && self.counters.sent() > 0
            && self.limits.underlying() == Some(Limit::Application)
    }

    fn resend(&mut self, now: Time) -> Option<Segment<P>> {
        let connection = self.connection(now);
        let controller = &mut self.controller;
        let info = |bytes| controller.on_sent(&SentSample { connection, bytes, retransmission: true });
        let (record, payload) = self.scoreboard.resend(now, self.config.segment, info)?;
        let named = record.repair == Repair::Explicit && record.start <= self.peer.unacknowledged();
        let is_first = record.start <= self.peer.unacknowledged() && self.config.rack.is_some();
        if self.exemption.take_retransmission() || named || is_first {
            // RFC 6675, section 6: without this restart the timer, started by the last acknowledgement of new data,
            // expires on a long path before the retransmission can be answered. After router feedback a timeout of the
            // first transmission would signal the same drop twice. With time-based loss detection the first segment may
            // be retransmitted more than once.
            self.timer.set(now + self.rtt.timeout());
        }
        let is_withheld = self.record_first_transmission(record.start);
        self.counters.add_retransmissions(u64::from(!is_withheld));
        if self.extensions.is_some() && record.retransmissions == 1 && !is_withheld {
            self.note_first_loss(record.start);
        }
        self.dupacks.note_retransmission();
        Some(Segment { retransmission: true, ..Segment::new(record.start, payload) })
    }

    /// Retransmits the last segment.
    fn resend_last(&mut self, now: Time) -> Option<Segment<P>> {
        let connection = self.connection(now);
        let controller = &mut self.controller;
        let info = |bytes| controller.on_sent(&SentSample { connection, bytes, retransmission: true });
        let (record, payload) = self.scoreboard.resend_last(now, self.config.segment, info)?;
        self.counters.add_retransmissions(1);
        Some(Segment { retransmission: true, ..Segment::new(record.start, payload) })
    }

    // Inlined despite rare calls by probes: otherwise the compiler keeps it out of polling.
    #[inline(always)]
    fn send_new(&mut self, now: Time, length: u32) -> Option<Segment<P>> {
        if self.extensions.is_some() {
            self.withhold(now, length);
        }
        if self.scoreboard.is_empty()
            && self.counters.sent() > 0
            && now.since(self.pacer.last_sent()) > self.rtt.timeout()
        {
            self.end_idleness(now);
        }
        let connection = self.connection(now);
        let payload = self.application.fill(length)?;
        let bytes = payload.len();
        let info = self.controller.on_sent(&SentSample { connection, bytes, retransmission: false });
        let start = self.scoreboard.next();
        self.scoreboard.push(now, &payload, info);
        // Also here: the answer may arrive before the next poll.
        if self.application.backlog() < u64::from(self.config.segment) {
            let connection = self.connection(now);
            self.controller.on_app_limited(&connection);
        }
        self.exemption.end_probe();
        if self.phase == Phase::Open {
            self.dupacks.note_sent();
        }
        self.application.note_sent();
        let not_ect = self.extensions.is_some() && self.is_mark_probe(start);
        Some(Segment { not_ect, ..Segment::new(start, payload) })
    }

    #[inline(always)]
    fn transmit(&mut self, now: Time, mut segment: Segment<P>) -> Pdu<P> {
        if self.config.timestamps {
            segment.sent_at = Some(Timestamp::at(now));
        }
        if self.config.ack_requests.is_some() && !segment.retransmission {
            segment.ack_now = self.requests_ack();
        }
        if self.extensions.is_some() && self.are_marks_concealed() {
            segment.not_ect = true;
        }
        self.counters.add_sent();
        self.pacer.note_sent(now);
        self.is_interrupted = true;
        if !self.timer.is_set() {
            // RFC 6298, section 5.1.
            self.timer.set(now + self.rtt.timeout());
        }
        self.note_sent(now, segment.sequence, segment.payload.len());
        Pdu::Segment(segment)
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
                self.limits.release_partial_segment(now);
                self.application.write(data);
            }
            Input::Finish => self.application.finish(),
            Input::Stop => self.application.stop(),
            Input::Feedback(feedback) => self.on_feedback(now, feedback),
            Input::Pause => self.pause_and_ecn().pause.begin(now),
            Input::Resume => {
                let (timer, is_outstanding) = (self.timer.at(), !self.scoreboard.is_empty());
                let timer = self.pause_and_ecn().pause.end(now, timer, is_outstanding);
                self.timer.set(timer);
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
        if now >= self.timer.at() && self.retransmission_timer_runs() {
            self.on_timer(now);
        }
        if let Some(event) = self.application.next_event(self.scoreboard.is_empty()) {
            return Output::Event(event);
        }
        if self.application.is_over() {
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
            let connection = self.connection(now);
            self.controller.on_app_limited(&connection);
        }
        if limit == Limit::ReceiverWindow && self.scoreboard.is_empty() && !self.timer.is_set() {
            self.timer.set(now + self.rtt.timeout());
        }
        self.schedule_probe(now);
        let due = self.due();
        if due < until.min(self.timer.at()) {
            Output::Timeout { at: due, reason: self.due_reason() }
        } else if until < self.timer.at() {
            Output::Timeout { at: until, reason: SenderReason::Pacing }
        } else if self.timer.is_set() && self.retransmission_timer_runs() {
            Output::Timeout { at: self.timer.at(), reason: SenderReason::Retransmission }
        } else {
            Output::Idle
        }
    }
}
