//! Time-based loss detection: RACK (RFC 8985, sections 5 and 6).
//!
//! A segment counts as lost when a segment sent after it has arrived and a round trip plus a reordering window has
//! passed since its transmission. The window is zero if no reordering was ever seen and many segments have passed the
//! missing one. Otherwise it is a quarter of the shortest round trip, or more after spurious retransmissions.
//!
//! # Differences from the specification
//!
//! | RFC 8985 | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | walks a list of segments in the order of their last transmission at each acknowledgement (section 6.2, step 5) | keeps a queue of transmissions, and examines only the oldest until it is decided | constant time per segment | none |
//! | the reordering timer waits for the last segment that may be lost (section 6.2, step 5) | for the first | the same queue | slightly earlier retransmissions |
//! | attributes an acknowledgement to the original transmission or a retransmission by the timestamp option, or guesses by the round trip (section 6.2, step 2) | uses the receiver's report ([`Arrival`](crate::window::Arrival)); guesses by the round trip where that was lost, and after more than one retransmission | there are no timestamps | fewer wrong guesses |
//! | orders transmissions of the same time by their start (section 6.2, step 2) | a retransmission passed only by new data of that time gets another reordering window | several acknowledgements are handled at once: a retransmission leaves after new data released by the first of them | a retransmission lost in such a burst is detected by later transmissions, or that much later |
//! | any DSACK widens the reordering window (section 6.2, step 4) | only an unnecessary retransmission, or one whose original transmission arrived late | copies made by the network do not indicate reordering | none on paths that do not duplicate |
//! | detects a lost retransmission as any loss; does not specify the window | reduces the window again, except after a timeout, which has made the window one segment | RFC 5681, section 4.3 | as that requires |

use super::super::scoreboard::Scoreboard;
use super::super::segment_record::{Record, SegmentState};
use super::tail_loss_probe::TailProbe;
use super::windowed_min_rtt::WindowedMinRtt;
use crate::payload::Payload;
use crate::state_digest::{hash_all, time_until};
use crate::units::{Duration, Time};
use crate::window::{Ack, Arrival, RackConfig};
use core::hash::Hasher;
use std::collections::VecDeque;

/// Number of recoveries for which a wider window is kept without a new sign of reordering (section 6.2, step 4).
const REO_WND_PERSIST: u8 = 16;

/// Number of remembered transmissions, beyond two per segment, from which on outdated ones are removed.
const COMPACTION_SLACK: usize = 16;

/// Transmission of a segment; later ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Transmission {
    /// RACK.xmit_ts.
    sent_at: Time,
    /// End of the segment (RACK.end_seq).
    end: u64,
}

impl Transmission {
    const NONE: Self = Self { sent_at: Time::ZERO, end: 0 };
}

/// RACK state of a connection (section 5.3).
#[derive(Clone, Debug)]
pub(super) struct Rack {
    pub config: RackConfig,
    /// The most recently sent segment that has arrived.
    newest_delivered: Transmission,
    /// True if it was a retransmission; retransmissions leave in order.
    was_repair: bool,
    /// Round-trip time of that segment (RACK.rtt).
    rtt: Duration,
    /// Highest end of received data (RACK.fack).
    highest: u64,
    /// True once reordering was observed (RACK.reordering_seen).
    reordering: bool,
    /// Reordering window in quarters of the shortest round trip (RACK.reo_wnd_mult).
    window_quarters: u32,
    /// Recoveries until `window_quarters` returns to one (RACK.reo_wnd_persist).
    persistence: u8,
    /// Byte up to which data must be acknowledged before a spurious retransmission counts again (RACK.dsack_round).
    widening_round_end: Option<u64>,
    /// Transmissions in order: time, and start of the segment. Decided ones are dropped when they reach the front.
    transmissions: VecDeque<(Time, u64)>,
    /// Loss deadline of the oldest undecided transmission.
    loss_deadline: Time,
    /// Time of the last window reduction.
    cut_at: Time,
    /// Windowed minimum of the round-trip time (RACK.min_RTT).
    pub min_rtt: WindowedMinRtt,
    pub probe: TailProbe,
}

/// Transmissions detected as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DetectedLosses {
    /// Transmission time of the first of them.
    pub first_sent_at: Time,
    /// Transmission time of the newest retransmission among them.
    pub newest_retransmission: Option<Time>,
}

/// Recovery state that determines the reordering window.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecoveryState {
    /// True during recovery.
    pub repairing: bool,
    /// Number of selectively acknowledged segments that indicates reordering or loss (DupThresh).
    pub threshold: u32,
    pub smoothed_rtt: Duration,
}

impl Rack {
    pub fn new(config: RackConfig) -> Self {
        Self {
            config,
            newest_delivered: Transmission::NONE,
            was_repair: false,
            rtt: Duration::ZERO,
            highest: 0,
            reordering: false,
            window_quarters: 1,
            persistence: REO_WND_PERSIST,
            widening_round_end: None,
            transmissions: VecDeque::new(),
            loss_deadline: Time::MAX,
            cut_at: Time::ZERO,
            min_rtt: WindowedMinRtt::new(),
            probe: TailProbe::new(),
        }
    }

    /// Records the transmission of the outstanding segment that starts at byte `start`.
    pub fn on_sent<P: Payload, I: Copy + Default>(
        &mut self,
        now: Time,
        start: u64,
        scoreboard: &Scoreboard<P, I>,
    ) {
        self.transmissions.push_back((now, start));
        if self.transmissions.len() > 2 * scoreboard.len() as usize + COMPACTION_SLACK {
            // Only one transmission per segment counts.
            self.transmissions.retain(|&(at, start)| {
                scoreboard.starting_at(start).is_some_and(|record| is_current_undecided(&record, at))
            });
        }
    }

    /// Records the round-trip time of the handshake.
    pub fn on_opened(&mut self, rtt: Duration) {
        self.min_rtt.sample(Time::ZERO, rtt);
        self.probe.note_measured();
    }

    /// Returns the deadline after which the next segment counts as lost.
    pub fn due(&self) -> Time {
        self.loss_deadline
    }

    /// Returns true once reordering was observed.
    pub fn has_seen_reordering(&self) -> bool {
        self.reordering
    }

    /// Records a window reduction at `now`.
    pub fn note_cut(&mut self, now: Time) {
        self.cut_at = now;
    }

    /// Returns the time of the last window reduction.
    pub fn cut_at(&self) -> Time {
        self.cut_at
    }

    /// Records the arrival of a segment, as reported by `ack` (section 6.2, steps 2 and 3).
    pub fn on_delivered<I>(&mut self, now: Time, record: &Record<I>, ack: &Ack, min_rtt: Duration) {
        let again = record.retransmissions > 0;
        let end = record.end();
        // Step 3: new data below RACK.fack is reordering, unless a retransmission filled a hole.
        self.reordering |= end < self.highest && !again;
        self.highest = self.highest.max(end);
        // Step 2: an acknowledgement of an earlier transmission would give too short a RACK.rtt, and segments in
        // flight would then count as lost.
        let rtt = now.since(record.sent_at);
        let transmission = Transmission { sent_at: record.sent_at, end };
        if transmission > self.newest_delivered
            && !(again && acks_earlier_transmission(record, rtt, ack, min_rtt))
        {
            (self.newest_delivered, self.was_repair) = (transmission, again);
            self.rtt = rtt;
        }
    }

    /// Adapts the reordering window to an acknowledgement: `needless` for a spurious retransmission, `recovered` at the
    /// end of a recovery (section 6.2, step 4).
    pub fn adapt(&mut self, needless: bool, recovered: bool, unacknowledged: u64, next: u64) {
        self.widening_round_end = self.widening_round_end.filter(|&round| unacknowledged < round);
        // Step 4: once per round trip, as one burst of reordering can cause many spurious retransmissions.
        if needless && self.widening_round_end.is_none() {
            self.widening_round_end = Some(next);
            self.window_quarters = self.window_quarters.saturating_add(1);
            self.persistence = REO_WND_PERSIST;
        } else if recovered {
            self.persistence = self.persistence.saturating_sub(1);
            if self.persistence == 0 {
                self.window_quarters = 1;
            }
        }
    }

    /// Returns the reordering window (section 6.2, step 4).
    fn reordering_window(&self, sacked: u32, situation: &RecoveryState) -> Duration {
        // Step 4: no wait in recovery or after DupThresh segments. Without known reordering, RFC 6675 would
        // detect the loss as early.
        if !self.reordering && (situation.repairing || sacked >= situation.threshold) {
            return Duration::ZERO;
        }
        self.nonzero_reordering_window(situation)
    }

    /// Returns the reordering window where it is not zero.
    fn nonzero_reordering_window(&self, situation: &RecoveryState) -> Duration {
        let min_rtt = self.min_rtt.get();
        if min_rtt == Duration::MAX {
            return Duration::ZERO;
        }
        // Step 4: the minimum round trip, as a queue does not make reordering worse.
        let wide = u128::from(min_rtt.as_picos() / 4) * u128::from(self.window_quarters);
        let wide = Duration::from_picos(u64::try_from(wide).unwrap_or(u64::MAX));
        wide.min(situation.smoothed_rtt)
    }

    /// Marks lost segments (section 6.2, step 5), reports each to `lost`, and schedules the next detection.
    pub fn detect<P: Payload, I: Copy + Default>(
        &mut self,
        now: Time,
        scoreboard: &mut Scoreboard<P, I>,
        situation: &RecoveryState,
        mut lost: impl FnMut(&Record<I>),
    ) -> Option<DetectedLosses> {
        self.loss_deadline = Time::MAX;
        let loss_delay = self.rtt + self.reordering_window(scoreboard.sacked(), situation);
        let mut found: Option<DetectedLosses> = None;
        while let Some(&(at, start)) = self.transmissions.front() {
            let Some(record) =
                scoreboard.starting_at(start).filter(|record| is_current_undecided(record, at))
            else {
                self.transmissions.pop_front();
                continue;
            };
            // Step 5: only a delivery of something sent later indicates a loss.
            if (Transmission { sent_at: at, end: record.end() }) >= self.newest_delivered {
                break;
            }
            // The order of the two transmissions is unknown.
            let is_beside =
                at == self.newest_delivered.sent_at && record.retransmissions > 0 && !self.was_repair;
            let deadline = at
                + if is_beside {
                    loss_delay.max(self.rtt + self.nonzero_reordering_window(situation))
                } else {
                    loss_delay
                };
            if deadline > now {
                // Step 5: the reordering timer; otherwise the end of a flight would wait for the RTO.
                self.loss_deadline = deadline;
                break;
            }
            self.transmissions.pop_front();
            let again = (record.retransmissions > 0).then_some(at);
            let first = found.map_or(at, |found| found.first_sent_at);
            found = Some(DetectedLosses {
                first_sent_at: first,
                newest_retransmission: again.or(found.and_then(|found| found.newest_retransmission)),
            });
            lost(&record);
            scoreboard.mark_lost(start);
        }
        found
    }

    /// Handles an expiry of the retransmission timer: marks the first segment as lost, and all whose acknowledgement is
    /// overdue (section 6.3).
    pub fn mark_lost_on_timeout<P: Payload, I: Copy + Default>(
        &mut self,
        now: Time,
        scoreboard: &mut Scoreboard<P, I>,
        situation: &RecoveryState,
        mut lost: impl FnMut(&Record<I>),
    ) {
        self.loss_deadline = Time::MAX;
        // Section 6.3: the first segment is lost at any age. Otherwise a timeout could retransmit nothing.
        if let Some(first) = scoreboard.first().filter(|first| first.state == SegmentState::InFlight) {
            let start = first.start;
            lost(&first);
            scoreboard.mark_lost(start);
        }
        let loss_delay = self.rtt + self.reordering_window(scoreboard.sacked(), situation);
        while let Some(&(at, start)) = self.transmissions.front() {
            if let Some(record) =
                scoreboard.starting_at(start).filter(|record| is_current_undecided(record, at))
            {
                if at + loss_delay > now {
                    break;
                }
                lost(&record);
                scoreboard.mark_lost(start);
            }
            self.transmissions.pop_front();
        }
    }

    /// Resets the newest delivered transmission after a spurious timeout: the arrival attributed to a
    /// retransmission was that of the original.
    pub fn on_spurious_timeout<P: Payload, I: Copy + Default>(&mut self, scoreboard: &Scoreboard<P, I>) {
        (self.newest_delivered, self.rtt) = (Transmission::NONE, Duration::ZERO);
        self.transmissions = scoreboard.in_network().map(|record| (record.sent_at, record.start)).collect();
        self.transmissions.make_contiguous().sort_unstable();
    }

    /// Resets the round-trip times after a path change.
    pub fn on_path_change(&mut self) {
        (self.reordering, self.window_quarters, self.widening_round_end) = (false, 1, None);
        self.min_rtt = WindowedMinRtt::new();
    }

    pub fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        let Self {
            config: _,
            newest_delivered,
            was_repair,
            rtt,
            highest,
            reordering,
            window_quarters,
            persistence,
            widening_round_end,
            transmissions: sent,
            loss_deadline: due,
            cut_at,
            min_rtt,
            probe,
        } = self;
        hash_all(into, (now.since(newest_delivered.sent_at), newest_delivered.end, was_repair, rtt, highest));
        hash_all(into, (reordering, window_quarters, persistence, widening_round_end));
        for (at, start) in sent {
            hash_all(into, (now.since(*at), start));
        }
        hash_all(into, (time_until(*due, now), now.since(*cut_at)));
        min_rtt.feed_state(now, into);
        probe.feed_state(now, into);
    }
}

/// Returns true if the arrival of a segment retransmitted `rtt` ago belongs to an earlier transmission. The receiver's
/// report does not distinguish several retransmissions: the answer to the first may arrive just after the second was
/// sent, and data sent in between is not lost.
#[cold]
fn acks_earlier_transmission<I>(record: &Record<I>, rtt: Duration, ack: &Ack, min_rtt: Duration) -> bool {
    let is_named = ack.arrival_start() == record.start;
    match ack.arrival {
        Arrival::Late if is_named => true,
        Arrival::Repair | Arrival::Spurious if is_named && record.retransmissions == 1 => false,
        _ => rtt < min_rtt,
    }
}

/// Returns true if the transmission at `at` is the segment's last one and is undecided.
fn is_current_undecided<I>(record: &Record<I>, at: Time) -> bool {
    record.state == SegmentState::InFlight && record.sent_at == at
}

#[cfg(test)]
mod tests {
    //! Checks the reordering window (RFC 8985, section 6.2, step 4) for a shortest round trip of 40 ms and a smoothed
    //! one of 100 ms.
    use super::super::super::scoreboard::AckOutcome;
    use super::super::super::segment_record::Repair;
    use super::*;
    use crate::payload::Length;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn rack() -> Rack {
        let mut rack =
            Rack::new(RackConfig { undo: false, tail_probe: false, max_ack_delay: Duration::ZERO });
        rack.min_rtt.sample(Time::ZERO, MS(40));
        rack
    }

    fn situation(repairing: bool) -> RecoveryState {
        RecoveryState { repairing, threshold: 3, smoothed_rtt: MS(100) }
    }

    fn record(start: u64, sent_at: u64, retransmissions: u8) -> Record<()> {
        Record {
            start,
            length: 1000,
            sent_at: Time::ZERO + MS(sent_at),
            info: (),
            state: SegmentState::InFlight,
            repair: Repair::None,
            retransmissions,
        }
    }

    /// Returns the state after the arrival of a segment that was retransmitted this many times, last at 100 ms, when a
    /// higher segment had arrived before.
    fn repaired_again(now: u64, arrival: Arrival, retransmissions: u8) -> Rack {
        let mut rack = rack();
        rack.on_delivered(Time::ZERO + MS(60), &record(5000, 10, 0), &Ack::default(), MS(40));
        let ack = Ack { cumulative: 6000, arrival, arrival_at: -5000, ..Ack::default() };
        rack.on_delivered(Time::ZERO + MS(now), &record(1000, 100, retransmissions), &ack, MS(40));
        rack
    }

    fn repaired(now: u64, arrival: Arrival) -> Rack {
        repaired_again(now, arrival, 1)
    }

    /// RFC 8985, section 6.2, step 2: an answer earlier after the retransmission than the minimum round trip belongs to
    /// the original transmission, and so does an answer attributed to it by the receiver. Step 3: the arrival of a
    /// retransmission is not reordering.
    #[test]
    fn acknowledgements_of_retransmissions_and_originals_are_distinguished() {
        let newest = |now, arrival| repaired(now, arrival).newest_delivered.sent_at.since(Time::ZERO);
        for arrival in [Arrival::Plain, Arrival::Repair] {
            assert_eq!(newest(145, arrival), MS(100), "{arrival:?}");
        }
        assert_eq!(newest(135, Arrival::Plain), MS(10), "too soon");
        assert_eq!(newest(145, Arrival::Late), MS(10), "the receiver says so");
        assert!(!repaired(145, Arrival::Repair).has_seen_reordering());
    }

    /// The receiver reports the arrival of a retransmission without its number. An arrival earlier after the second
    /// retransmission than the minimum round trip belongs to the first. (Attributed to the second, it would mark all
    /// data sent in between as lost.)
    #[test]
    fn the_round_trip_time_identifies_the_acknowledged_retransmission() {
        for arrival in [Arrival::Repair, Arrival::Spurious] {
            let newest =
                |now, times| repaired_again(now, arrival, times).newest_delivered.sent_at.since(Time::ZERO);
            assert_eq!(newest(108, 2), MS(10), "{arrival:?}: of the first");
            assert_eq!(newest(145, 2), MS(100), "{arrival:?}: of the second");
            assert_eq!(newest(108, 1), MS(100), "{arrival:?}: there is but one");
        }
    }

    /// At 100 ms one acknowledgement releases new data, and the next indicates a loss, whose retransmission leaves at
    /// that moment too. The arrival of the new data indicates nothing about the retransmission for a reordering window;
    /// that of later data does.
    #[test]
    fn data_sent_at_the_same_time_does_not_mark_a_retransmission_lost() {
        let at = |ms| Time::ZERO + MS(ms);
        let mut rack = rack();
        let mut scoreboard = Scoreboard::<Length, ()>::new();
        let send = |rack: &mut Rack, scoreboard: &mut Scoreboard<Length, ()>, start, ms| {
            scoreboard.push(at(ms), &Length(1000), ());
            rack.on_sent(at(ms), start, scoreboard);
        };
        send(&mut rack, &mut scoreboard, 0, 10);
        send(&mut rack, &mut scoreboard, 1000, 100);
        scoreboard.mark_lost(0);
        scoreboard.resend(at(100), 1000, |_| ()).expect("lost");
        rack.on_sent(at(100), 0, &scoreboard);
        send(&mut rack, &mut scoreboard, 2000, 101);
        let mut arrive = |rack: &mut Rack, start: u64, ms| {
            let ack = Ack::default();
            let mut delivered = |record: &Record<()>| rack.on_delivered(at(ms), record, &ack, MS(40));
            scoreboard.sack(start, start + 1000, &mut AckOutcome::new(), &mut delivered);
            let found = rack.detect(at(ms), &mut scoreboard, &situation(true), |_| ());
            (found.map(|found| found.newest_retransmission), rack.due())
        };
        assert_eq!(
            arrive(&mut rack, 1000, 145),
            (None, at(155)),
            "a quarter of the shortest round trip more"
        );
        assert_eq!(arrive(&mut rack, 2000, 146), (Some(Some(at(100))), Time::MAX));
    }

    /// RFC 8985, section 6.2, step 4: without reordering the window is zero during recovery and after three selectively
    /// acknowledged segments; with reordering it is never zero.
    #[test]
    fn without_reordering_the_window_is_zero_in_recovery() {
        let mut rack = rack();
        assert_eq!(rack.reordering_window(0, &situation(false)), MS(10));
        assert_eq!(rack.reordering_window(2, &situation(false)), MS(10));
        assert_eq!(rack.reordering_window(3, &situation(false)), Duration::ZERO);
        assert_eq!(rack.reordering_window(0, &situation(true)), Duration::ZERO);
        rack.reordering = true;
        assert_eq!(rack.reordering_window(3, &situation(true)), MS(10));
    }

    /// RFC 8985, section 6.2, step 4: the window grows by a quarter of the shortest round trip per round with a
    /// spurious retransmission, at most once a round, up to the smoothed round trip.
    #[test]
    fn spurious_retransmissions_widen_the_window_once_a_round() {
        let mut rack = rack();
        rack.reordering = true;
        rack.adapt(true, false, 1000, 5000);
        rack.adapt(true, false, 2000, 6000);
        assert_eq!(rack.reordering_window(0, &situation(false)), MS(20), "the same round");
        rack.adapt(true, false, 5000, 9000);
        assert_eq!(rack.reordering_window(0, &situation(false)), MS(30), "the next");
        for round in 3..40 {
            rack.adapt(true, false, 3000 * round, 3000 * (round + 1));
        }
        assert_eq!(rack.reordering_window(0, &situation(false)), MS(100));
    }

    /// RFC 8985, section 6.2, step 4: a wider window is kept for 16 recoveries after the last sign of reordering.
    #[test]
    fn a_wider_window_is_kept_for_sixteen_recoveries() {
        let mut rack = rack();
        rack.reordering = true;
        rack.adapt(true, false, 1000, 2000);
        let recoveries = |rack: &mut Rack, count: u32| {
            for _ in 0..count {
                rack.adapt(false, true, 1000, 2000);
                rack.adapt(false, false, 1000, 2000);
            }
            rack.reordering_window(0, &situation(false))
        };
        assert_eq!(recoveries(&mut rack, 10), MS(20));
        rack.adapt(true, false, 2000, 3000);
        assert_eq!(recoveries(&mut rack, 15), MS(30));
        assert_eq!(recoveries(&mut rack, 1), MS(10));
    }
}
