//! Loss recovery with time-based detection: the common part of RACK, tail loss probes and undo.

use super::ack_requests::AckRequests;
use super::ack_verification::ReceiverCheck;
use super::concealed_mark_detection::MarkProbes;
use super::cwnd_validation::Use;
use super::f_rto::FRto;
use super::loss_notification::notify_lost;
use super::prr::Prr;
use super::rack::{DetectedLosses, Rack, RecoveryState};
use super::spurious_reduction_undo::Undo;
use super::{AckOutcome, Phase, Record, SegmentState, Sender, SenderReason};
use crate::congestion::{Controller, LossKind, LossSample};
use crate::payload::Payload;
use crate::state_digest::Digest;
use crate::transport::Signal;
use crate::units::Time;
use crate::window::{Ack, Arrival, Pdu, Recovery, SackBlock, SenderConfig, VerifyAcks};
use core::hash::Hasher;

/// Optional state of a sender, allocated separately.
#[derive(Clone, Debug)]
pub(super) struct Extensions<C> {
    /// Time since when the current path is used.
    pub path_since: Time,
    pub rack: Option<Rack>,
    pub undo: Option<Undo<C>>,
    pub f_rto: Option<FRto<C>>,
    pub window_use: Option<Use>,
    /// Proportional rate reduction during recovery.
    pub prr: Option<Prr>,
    pub ack_requests: Option<AckRequests>,
    /// Detection of false acknowledgements: with time-based loss detection, or once acknowledgements are few.
    pub verify: Option<ReceiverCheck>,
    /// Detection of concealed marks, by senders that verify acknowledgements.
    pub mark_probes: Option<MarkProbes>,
}

impl<C> Extensions<C> {
    /// Creates the extensions that `config` needs, for an initial window of `initial` segments; `None` for most
    /// senders.
    pub fn new(config: &SenderConfig, initial: f64) -> Option<Box<Self>> {
        let rack = config.rack.filter(|_| config.recovery == Recovery::Sack);
        let f_rto = config.f_rto && config.recovery == Recovery::Sack;
        let ack_requests = config.ack_requests.map(AckRequests::new);
        let is_any =
            rack.is_some() || config.prr || f_rto || config.validation.is_some() || ack_requests.is_some();
        is_any.then(|| {
            let undo = rack.is_some_and(|config| config.undo).then(Undo::new);
            let f_rto = f_rto.then(FRto::new);
            let window_use = config.validation.map(|validation| Use::new(validation, initial));
            let verify = match config.verify_acks {
                VerifyAcks::Always(min_window) if rack.is_some() => Some(ReceiverCheck::new(min_window)),
                _ => None,
            };
            let rack = rack.map(Rack::new);
            Box::new(Self {
                path_since: Time::ZERO,
                rack,
                undo,
                f_rto,
                window_use,
                prr: None,
                ack_requests,
                mark_probes: (config.ecn && verify.is_some()).then(MarkProbes::new),
                verify,
            })
        })
    }

    /// Creates the state of a sender with a path change and no other extension.
    pub fn with_path_change(now: Time) -> Box<Self> {
        Box::new(Self {
            path_since: now,
            rack: None,
            undo: None,
            f_rto: None,
            window_use: None,
            prr: None,
            ack_requests: None,
            verify: None,
            mark_probes: None,
        })
    }

    /// Creates the state of a sender that verifies acknowledgements and has no other extension.
    pub fn verifying(verify: ReceiverCheck) -> Box<Self> {
        Box::new(Self { verify: Some(verify), ..*Self::with_path_change(Time::ZERO) })
    }

    /// Records a path change at `now`.
    pub fn on_path_change(&mut self, now: Time) {
        self.path_since = now;
        if let Some(rack) = &mut self.rack {
            rack.on_path_change();
        }
        if let Some(undo) = &mut self.undo {
            undo.abandon();
        }
        if let Some(f_rto) = &mut self.f_rto {
            f_rto.give_up();
        }
        if let Some(window_use) = &mut self.window_use {
            window_use.on_path_change(now);
        }
        if let Some(mark_probes) = &mut self.mark_probes {
            *mark_probes = MarkProbes::new();
        }
    }

    /// Returns the number of undone episodes.
    pub fn undone(&self) -> u64 {
        let by_report = self.undo.as_ref().map_or(0, |undo| u64::from(undo.count()));
        by_report + self.f_rto.as_ref().map_or(0, |f_rto| u64::from(f_rto.count()))
    }

    /// Returns the time of the next event other than the retransmission timer.
    #[inline(never)]
    pub fn due(&self) -> Time {
        self.rack.as_ref().map_or(Time::MAX, |rack| rack.due().min(rack.probe.at()))
    }

    pub fn feed_state<H: Hasher>(&self, now: Time, into: &mut H)
    where
        C: Digest,
    {
        if let Some(rack) = &self.rack {
            rack.feed_state(now, into);
        }
        if let Some(undo) = &self.undo {
            undo.feed_state(now, into);
        }
        if let Some(f_rto) = &self.f_rto {
            f_rto.feed_state(now, into);
        }
        if let Some(window_use) = &self.window_use {
            window_use.feed_state(now, into);
        }
        if let Some(prr) = &self.prr {
            prr.feed_state(now, into);
        }
        if let Some(ack_requests) = &self.ack_requests {
            ack_requests.feed_state(into);
        }
        if let Some(verify) = &self.verify {
            verify.feed_state(into);
        }
        if let Some(mark_probes) = &self.mark_probes {
            mark_probes.feed_state(into);
        }
    }
}

impl<P: Payload, C: Controller> Sender<P, C> {
    pub(super) fn rack(&mut self) -> Option<&mut Rack> {
        self.extensions.as_deref_mut()?.rack.as_mut()
    }

    pub(super) fn undo(&mut self) -> Option<&mut Undo<C>> {
        self.extensions.as_deref_mut()?.undo.as_mut()
    }

    pub(super) fn finds_by_time(&self) -> bool {
        self.extensions.as_deref().is_some_and(|extensions| extensions.rack.is_some())
    }

    /// Returns true if the path is known to reorder: reordering then does not indicate loss.
    pub(super) fn tolerates_disorder(&self) -> bool {
        let rack = self.extensions.as_deref().and_then(|extensions| extensions.rack.as_ref());
        rack.is_some_and(Rack::has_seen_reordering)
    }

    /// Returns the time of the next event other than the retransmission timer or pacing.
    pub(super) fn due(&self) -> Time {
        self.extensions.as_deref().map_or(Time::MAX, Extensions::due)
    }

    /// Begins to verify acknowledgements, as they cover many segments each.
    #[cold]
    #[inline(never)]
    pub(super) fn verify_from_now(&mut self) {
        match self.extensions.as_deref_mut() {
            Some(extensions) => {
                extensions.verify.get_or_insert_with(ReceiverCheck::begin_now);
            }
            None => self.extensions = Some(Extensions::verifying(ReceiverCheck::begin_now())),
        }
    }

    pub(super) fn due_reason(&self) -> SenderReason {
        let rack = self.extensions.as_deref().and_then(|extensions| extensions.rack.as_ref());
        let is_probe = rack.is_some_and(|rack| rack.probe.at() < rack.due());
        if is_probe { SenderReason::TailProbe } else { SenderReason::Reordering }
    }

    /// Handles due events, unless the sender has failed; returns a probe to send, if any.
    #[cold]
    #[inline(never)]
    pub(super) fn on_due(&mut self, now: Time) -> Option<Pdu<P>> {
        if self.application.has_failed() {
            return None;
        }
        self.find_lost(now);
        let probe = self.probe_tail(now)?;
        Some(self.transmit(now, probe))
    }

    /// Ends the episode without undo: the reduction was justified.
    pub(super) fn disable_undo(&mut self) {
        if let Some(undo) = self.undo() {
            undo.abandon();
        }
    }

    /// Records the transmission of a segment.
    #[inline]
    pub(super) fn note_sent(&mut self, now: Time, start: u64, bytes: u32) {
        if self.extensions.is_some() {
            self.extensions_on_sent(now, start, bytes);
        }
    }

    #[inline(never)]
    fn extensions_on_sent(&mut self, now: Time, start: u64, bytes: u32) {
        let Self { extensions, scoreboard, .. } = self;
        let Some(extensions) = extensions.as_deref_mut() else { return };
        if let Some(prr) = &mut extensions.prr {
            prr.on_sent(bytes);
        }
        if let Some(f_rto) = &mut extensions.f_rto {
            f_rto.on_sent(start);
        }
        let uses_window = extensions.window_use.is_some();
        if let Some(rack) = &mut extensions.rack {
            rack.on_sent(now, start, scoreboard);
            rack.probe.postpone();
        }
        if uses_window {
            self.note_sending(now);
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    fn situation(&self) -> RecoveryState {
        RecoveryState {
            repairing: !self.is_open(),
            threshold: self.config.duplicate_threshold,
            smoothed_rtt: self.rtt.smoothed(),
        }
    }

    /// Processes the segments that an acknowledgement covers, lowest first, as late arrivals show only in that order.
    /// Returns true if only part of the first segment is acknowledged.
    #[inline(never)]
    pub(super) fn take_outcome(
        &mut self,
        now: Time,
        ack: &Ack,
        outcome: &mut AckOutcome<C::PacketInfo>,
    ) -> bool {
        let path_since = self.path_since();
        let Some(extensions) = self.extensions.as_deref_mut() else { return false };
        let Extensions { rack: Some(rack), undo, .. } = extensions else { return false };
        let min_rtt = rack.min_rtt.get();
        let mut delivered = |record: &Record<C::PacketInfo>| {
            rack.on_delivered(now, record, ack, min_rtt);
            if record.state == SegmentState::Lost
                && record.retransmissions == 0
                && let Some(undo) = undo
            {
                undo.clear(record.start);
            }
        };
        let is_cut = self.scoreboard.acknowledge(self.peer.unacknowledged(), outcome, &mut delivered);
        let mut blocks: [SackBlock; 3] = ack.sack;
        blocks.sort_unstable_by_key(|block| block.start);
        for block in blocks.iter().filter(|block| !block.is_empty()) {
            let at = |offset: u32| (ack.cumulative + u64::from(offset)).min(self.scoreboard.next());
            let (start, end) = (at(block.start).max(self.peer.unacknowledged()), at(block.end));
            self.scoreboard.sack(start, end, outcome, &mut delivered);
        }
        if let Some(sent_at) = outcome.measurable().filter(|sent_at| *sent_at >= path_since) {
            // RFC 8985, section 6.2, step 1.
            rack.min_rtt.sample(now, now.since(sent_at));
            rack.probe.note_measured();
        }
        is_cut
    }

    /// Updates the recovery phase after an acknowledgement, which may have `advanced`.
    #[inline(never)]
    pub(super) fn repair_by_time(&mut self, now: Time, ack: &Ack, advanced: bool) {
        self.answer_probe(now, ack, advanced);
        let was_late = ack.arrival == Arrival::Late && self.clear_suspect(ack.arrival_start());
        let was_needless = ack.arrival == Arrival::Spurious;
        if was_needless {
            let _ = self.clear_suspect(ack.arrival_start());
        }
        // The retransmission brought new data: the loss was real, and the reduction stands.
        if let Some(undo) = self.undo().filter(|_| ack.arrival == Arrival::Repair) {
            undo.confirm(ack.arrival_start());
        }
        self.undo_spurious_loss(now);
        let recovered = match self.phase {
            Phase::Recovery { recovery_point } | Phase::Loss { recovery_point }
                if self.peer.unacknowledged() >= recovery_point =>
            {
                self.leave_recovery(now);
                true
            }
            _ => false,
        };
        let (unacknowledged, next) = (self.peer.unacknowledged(), self.scoreboard.next());
        if let Some(rack) = self.rack() {
            rack.adapt(was_needless || was_late, recovered, unacknowledged, next);
        }
        self.find_lost(now);
        if let Some(rack) = self.rack() {
            rack.probe.postpone();
        }
    }

    fn clear_suspect(&mut self, start: u64) -> bool {
        self.undo().is_some_and(|undo| undo.clear(start))
    }

    /// Undoes the last episode if nothing of it was a loss.
    fn undo_spurious_loss(&mut self, now: Time) {
        let Some(before) = self.undo().and_then(Undo::take) else { return };
        // Otherwise the end of this recovery would reduce the restored window (RFC 7661, section 4.4.1).
        self.forget_cut();
        if self.controller.would_undo(&before) {
            let connection = self.connection(now);
            self.controller.on_undo(before, &connection);
        }
        self.phase = Phase::Open;
    }

    /// Detects losses (RFC 8985, section 6.2, step 5), at an acknowledgement or when a loss is due.
    pub(super) fn find_lost(&mut self, now: Time) {
        let (situation, connection) = (self.situation(), self.connection(now));
        let mut begins = self.is_open();
        let Self { extensions, scoreboard, controller, .. } = self;
        let Some(Extensions { path_since, rack: Some(rack), undo, .. }) = extensions.as_deref_mut() else {
            return;
        };
        let found = rack.detect(now, scoreboard, &situation, |record| {
            declare_lost(record, undo.as_mut(), core::mem::take(&mut begins), controller);
            notify_lost(controller, &connection, *path_since, record);
        });
        let Some(DetectedLosses { first_sent_at: sent_at, newest_retransmission: again }) = found else {
            return;
        };
        match self.phase {
            Phase::Open => self.begin_recovery(now, sent_at),
            // RFC 5681, section 4.3: the loss of a retransmission is a second sign of congestion. After a timeout the
            // window has restarted from one segment, and grows during recovery.
            Phase::Recovery { .. }
                if self.config.cut_for_lost_repairs && again.is_some_and(|at| at >= self.cut_at()) =>
            {
                self.begin_recovery(now, sent_at);
            }
            Phase::Recovery { .. } | Phase::Loss { .. } => {}
        }
    }

    /// Begins recovery: reduces the window for the detected losses and retransmits them.
    fn begin_recovery(&mut self, now: Time, sent_at: Time) {
        self.counters.add_recovery();
        self.application.report(Signal::Loss);
        if self.was_sent_on_current_path(sent_at) && self.reduces_window_on_loss() {
            let connection = self.limit_to_used_window(self.connection(now));
            let kind = LossKind::Detected;
            self.controller.on_loss(&LossSample { connection, kind, sent_at, repeated: false });
        }
        if let Some(rack) = self.rack() {
            rack.note_cut(now);
        }
        // RFC 6675, section 5, steps 4.1 and 4.3: recovery point, and a retransmission at any window.
        self.exemption.exempt_retransmission();
        self.phase = Phase::Recovery { recovery_point: self.scoreboard.next() };
        self.begin_prr(now);
    }

    fn cut_at(&self) -> Time {
        let rack = self.extensions.as_deref().and_then(|extensions| extensions.rack.as_ref());
        rack.map_or(Time::ZERO, Rack::cut_at)
    }

    /// Handles an expiry of the retransmission timer: marks lost segments (RFC 8985, section 6.3). Returns false for a
    /// sender without time-based loss detection.
    pub(super) fn mark_lost_on_timeout(&mut self, now: Time) -> bool {
        let (situation, connection) = (self.situation(), self.connection(now));
        let mut begins = self.is_open();
        let Self { extensions, scoreboard, controller, .. } = self;
        let Some(Extensions { path_since, rack: Some(rack), undo, .. }) = extensions.as_deref_mut() else {
            return false;
        };
        rack.note_cut(now);
        // RFC 8985, section 7.2: no probe during recovery, where retransmissions already cause answers.
        rack.probe.forget();
        rack.mark_lost_on_timeout(now, scoreboard, &situation, |record| {
            declare_lost(record, undo.as_mut(), core::mem::take(&mut begins), controller);
            notify_lost(controller, &connection, *path_since, record);
        });
        true
    }
}

/// Declares a segment lost, and copies the controller before the first loss of an episode, as it may be spurious.
fn declare_lost<C: Controller>(
    record: &Record<C::PacketInfo>,
    undo: Option<&mut Undo<C>>,
    begins: bool,
    controller: &C,
) {
    let Some(undo) = undo else { return };
    if begins {
        undo.begin(controller.clone());
    }
    undo.suspect(record.start);
}
