//! Losses found by time: RACK (RFC 8985, sections 5 and 6).
//!
//! A segment counts as lost when one that was sent after it has arrived and a round trip with a reordering window on top has
//! passed since it left. The window is zero where nothing has ever come late and many segments have passed the missing one,
//! and else a quarter of the shortest round trip, more where segments were sent again needlessly.
//!
//! # Differences from the specification
//!
//! | RFC 8985 | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | a list of segments in the order of their last transmission is walked through at each acknowledgement (section 6.2, step 5) | a queue of transmissions, of which only the oldest is looked at until it is decided | constant time for each segment | none |
//! | the reordering timer waits for the last segment that may be lost (section 6.2, step 5) | for the first | the same queue | what is lost goes again a little earlier |
//! | whether a segment that was sent again or its first transmission is acknowledged is told by the timestamp option, or guessed by the round trip (section 6.2, step 2) | the receiver says which it was ([`Arrival`](crate::window::Arrival)); guessed by the round trip where that was lost, and where it went again more than once | there are no timestamps | fewer wrong guesses |
//! | what left at the same time is ordered by where it starts (section 6.2, step 2) | what went again and is passed by nothing but new data of that time has a reordering window more | several acknowledgements are answered at once: a repair leaves after new data that the first of them let go | a repair lost in such a burst is found by what leaves after it, or so much later |
//! | any DSACK widens the reordering window (section 6.2, step 4) | a segment that was sent again and brought nothing, or whose first transmission came late | copies that the network makes are no sign of reordering | none on paths that do not copy |
//! | a lost retransmission is found as any loss is; nothing is said of the window | it cuts the window again, but not while a time-out is repaired, which has made the window one segment | RFC 5681, section 4.3 | as that asks |

use super::super::record::{Record, SegmentState};
use super::super::scoreboard::Scoreboard;
use super::probe::TailProbe;
use super::shortest::Shortest;
use crate::digest::{feed, until};
use crate::payload::Payload;
use crate::units::{Duration, Time};
use crate::window::{Ack, Arrival, RackConfig};
use core::hash::Hasher;
use std::collections::VecDeque;

/// A wider window is kept for so many recoveries without a sign that it is needed (section 6.2, step 4).
const PERSISTENCE: u8 = 16;

/// So many transmissions are remembered whatever is outstanding.
const MIN_SENT: usize = 16;

/// The state that RACK keeps of a connection (section 5.3).
#[derive(Clone, Debug)]
pub(super) struct Rack {
    pub config: RackConfig,
    /// The time at which the newest segment that has arrived was sent, and where it ends (RACK.xmit_ts, RACK.end_seq).
    newest: (Time, u64),
    /// It had been sent before: repairs leave in their order.
    was_repair: bool,
    /// Its round trip (RACK.rtt).
    rtt: Duration,
    /// The highest end of what has arrived (RACK.fack).
    highest: u64,
    /// Something arrived after what was sent later (RACK.reordering_seen).
    reordering: bool,
    /// Quarters of the shortest round trip in the reordering window (RACK.reo_wnd_mult).
    quarters: u32,
    /// Recoveries until they are one again (RACK.reo_wnd_persist).
    persistence: u8,
    /// A needless transmission counts again when all below this is acknowledged (RACK.dsack_round).
    round: Option<u64>,
    /// Transmissions in their order: when, and where the segment starts. Those that are decided are dropped when they come
    /// to the front.
    sent: VecDeque<(Time, u64)>,
    /// The time at which the oldest transmission that may be lost will count as lost.
    due: Time,
    /// The time at which the window was cut last.
    cut_at: Time,
    /// The shortest round trip of recent times (RACK.min_RTT).
    pub shortest: Shortest,
    pub probe: TailProbe,
}

/// The transmissions that were found to be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The time at which the first of them had been sent.
    pub sent_at: Time,
    /// The time at which the newest of them that carried no new data had been sent.
    pub again: Option<Time>,
}

/// The sender's dealings with losses, for the size of the reordering window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    /// Losses are being repaired.
    pub repairing: bool,
    /// So many segments selectively acknowledged stand for reordering or loss (DupThresh).
    pub threshold: u32,
    pub smoothed_rtt: Duration,
}

impl Rack {
    pub fn new(config: RackConfig) -> Self {
        Self {
            config,
            newest: (Time::ZERO, 0),
            was_repair: false,
            rtt: Duration::ZERO,
            highest: 0,
            reordering: false,
            quarters: 1,
            persistence: PERSISTENCE,
            round: None,
            sent: VecDeque::new(),
            due: Time::MAX,
            cut_at: Time::ZERO,
            shortest: Shortest::new(),
            probe: TailProbe::new(),
        }
    }

    /// The segment that starts at `start` leaves, and is one of those that are outstanding.
    pub fn on_sent<P: Payload, I: Copy + Default>(
        &mut self,
        now: Time,
        start: u64,
        scoreboard: &Scoreboard<P, I>,
    ) {
        self.sent.push_back((now, start));
        if self.sent.len() > 2 * scoreboard.len() as usize + MIN_SENT {
            // No more than one of a segment counts.
            self.sent.retain(|&(at, start)| {
                scoreboard.starting_at(start).is_some_and(|record| is_last(&record, at))
            });
        }
    }

    /// A handshake measured the round trip.
    pub fn on_opened(&mut self, rtt: Duration) {
        self.shortest.sample(Time::ZERO, rtt);
        self.probe.note_measured();
    }

    /// The time at which the next segment will count as lost.
    pub fn due(&self) -> Time {
        self.due
    }

    /// Something has come after what was sent later.
    pub fn has_seen_reordering(&self) -> bool {
        self.reordering
    }

    /// The window is cut at `now`.
    pub fn note_cut(&mut self, now: Time) {
        self.cut_at = now;
    }

    /// The time at which the window was cut last.
    pub fn cut_at(&self) -> Time {
        self.cut_at
    }

    /// A segment has arrived, of which `ack` tells (section 6.2, steps 2 and 3).
    pub fn on_delivered<I>(&mut self, now: Time, record: &Record<I>, ack: &Ack, min_rtt: Duration) {
        let again = record.retransmissions > 0;
        let end = record.end();
        // Step 3.
        self.reordering |= end < self.highest && !again;
        self.highest = self.highest.max(end);
        // Step 2.
        let rtt = now.since(record.sent_at);
        if (record.sent_at, end) > self.newest && !(again && is_of_before(record, rtt, ack, min_rtt)) {
            (self.newest, self.was_repair) = ((record.sent_at, end), again);
            self.rtt = rtt;
        }
    }

    /// An acknowledgement says whether a transmission was `needless`, and whether it ends a recovery (section 6.2, step 4).
    pub fn adapt(&mut self, needless: bool, recovered: bool, unacknowledged: u64, next: u64) {
        self.round = self.round.filter(|&round| unacknowledged < round);
        if needless && self.round.is_none() {
            self.round = Some(next);
            self.quarters = self.quarters.saturating_add(1);
            self.persistence = PERSISTENCE;
        } else if recovered {
            self.persistence = self.persistence.saturating_sub(1);
            if self.persistence == 0 {
                self.quarters = 1;
            }
        }
    }

    /// The reordering window (section 6.2, step 4).
    fn window(&self, sacked: u32, situation: &Situation) -> Duration {
        if !self.reordering && (situation.repairing || sacked >= situation.threshold) {
            return Duration::ZERO;
        }
        self.wide(situation)
    }

    /// The reordering window where there is one.
    fn wide(&self, situation: &Situation) -> Duration {
        let min_rtt = self.shortest.get();
        if min_rtt == Duration::MAX {
            return Duration::ZERO;
        }
        let wide = u128::from(min_rtt.as_picos() / 4) * u128::from(self.quarters);
        let wide = Duration::from_picos(u64::try_from(wide).unwrap_or(u64::MAX));
        wide.min(situation.smoothed_rtt)
    }

    /// Marks as lost what is (section 6.2, step 5), tells `lost` of each, and notes when the next will be.
    pub fn detect<P: Payload, I: Copy + Default>(
        &mut self,
        now: Time,
        scoreboard: &mut Scoreboard<P, I>,
        situation: &Situation,
        mut lost: impl FnMut(&Record<I>),
    ) -> Option<Found> {
        self.due = Time::MAX;
        let patience = self.rtt + self.window(scoreboard.sacked(), situation);
        let mut found: Option<Found> = None;
        while let Some(&(at, start)) = self.sent.front() {
            let Some(record) = scoreboard.starting_at(start).filter(|record| is_last(record, at)) else {
                self.sent.pop_front();
                continue;
            };
            if (at, record.end()) >= self.newest {
                break;
            }
            // Which of the two left first is not known.
            let is_beside = at == self.newest.0 && record.retransmissions > 0 && !self.was_repair;
            let deadline =
                at + if is_beside { patience.max(self.rtt + self.wide(situation)) } else { patience };
            if deadline > now {
                self.due = deadline;
                break;
            }
            self.sent.pop_front();
            let again = (record.retransmissions > 0).then_some(at);
            let first = found.map_or(at, |found| found.sent_at);
            found = Some(Found { sent_at: first, again: again.or(found.and_then(|found| found.again)) });
            lost(&record);
            scoreboard.mark_lost(start);
        }
        found
    }

    /// The retransmission timer expired: marks as lost the first segment and all that were sent so long ago that an answer
    /// should be there (section 6.3).
    pub fn expire<P: Payload, I: Copy + Default>(
        &mut self,
        now: Time,
        scoreboard: &mut Scoreboard<P, I>,
        situation: &Situation,
        mut lost: impl FnMut(&Record<I>),
    ) {
        self.due = Time::MAX;
        if let Some(first) = scoreboard.first().filter(|first| first.state == SegmentState::InFlight) {
            let start = first.start;
            lost(&first);
            scoreboard.mark_lost(start);
        }
        let patience = self.rtt + self.window(scoreboard.sacked(), situation);
        while let Some(&(at, start)) = self.sent.front() {
            if let Some(record) = scoreboard.starting_at(start).filter(|record| is_last(record, at)) {
                if at + patience > now {
                    break;
                }
                lost(&record);
                scoreboard.mark_lost(start);
            }
            self.sent.pop_front();
        }
    }

    /// Segments taken for lost are in the network after all, and what seemed to be the arrival of a repair was that of the first
    /// transmission: what is newest is learnt anew.
    pub fn find_again<P: Payload, I: Copy + Default>(&mut self, scoreboard: &Scoreboard<P, I>) {
        (self.newest, self.rtt) = ((Time::ZERO, 0), Duration::ZERO);
        self.sent = scoreboard.in_network().map(|record| (record.sent_at, record.start)).collect();
        self.sent.make_contiguous().sort_unstable();
    }

    /// The path is another: round trips of the old one say nothing of it.
    pub fn renew(&mut self) {
        (self.reordering, self.quarters, self.round) = (false, 1, None);
        self.shortest = Shortest::new();
    }

    pub fn digest<H: Hasher>(&self, now: Time, into: &mut H) {
        let Self {
            config: _,
            newest,
            was_repair,
            rtt,
            highest,
            reordering,
            quarters,
            persistence,
            round,
            sent,
            due,
            cut_at,
            shortest,
            probe,
        } = self;
        feed(into, (now.since(newest.0), newest.1, was_repair, rtt, highest));
        feed(into, (reordering, quarters, persistence, round));
        for (at, start) in sent {
            feed(into, (now.since(*at), start));
        }
        feed(into, (until(*due, now), now.since(*cut_at)));
        shortest.digest(now, into);
        probe.digest(now, into);
    }
}

/// True if what arrived of a segment that was sent again `rtt` ago is an earlier transmission. That a repair came says nothing of which,
/// where there was more than one: the answer to the first may come just after the second left, and what left in between is not lost.
#[cold]
fn is_of_before<I>(record: &Record<I>, rtt: Duration, ack: &Ack, min_rtt: Duration) -> bool {
    let told = ack.arrival_start() == record.start;
    match ack.arrival {
        Arrival::Late if told => true,
        Arrival::Repair | Arrival::Needless if told && record.retransmissions == 1 => false,
        _ => rtt < min_rtt,
    }
}

/// True if the transmission that left at `at` is the segment's last one and nothing is known of it.
fn is_last<I>(record: &Record<I>, at: Time) -> bool {
    record.state == SegmentState::InFlight && record.sent_at == at
}

#[cfg(test)]
mod tests {
    //! Proves the size of the reordering window (RFC 8985, section 6.2, step 4), for a shortest round trip of 40 ms and a smoothed one
    //! of 100 ms.
    use super::super::super::record::Repair;
    use super::super::super::scoreboard::AckOutcome;
    use super::*;
    use crate::payload::Length;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn rack() -> Rack {
        let mut rack =
            Rack::new(RackConfig { undo: false, tail_probe: false, max_ack_delay: Duration::ZERO });
        rack.shortest.sample(Time::ZERO, MS(40));
        rack
    }

    fn situation(repairing: bool) -> Situation {
        Situation { repairing, threshold: 3, smoothed_rtt: MS(100) }
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

    /// A segment that left again for the last time at 100 ms, of so many times, has arrived; gives what is known then. Another, above
    /// it, arrived before.
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

    /// RFC 8985, section 6.2, step 2: an answer sooner after the repair than any round trip is one to the first transmission, as is
    /// one of which the receiver says so. Step 3: the arrival of a repair is no reordering.
    #[test]
    fn answers_to_repairs_are_told_from_late_ones() {
        let newest = |now, arrival| repaired(now, arrival).newest.0.since(Time::ZERO);
        for arrival in [Arrival::Plain, Arrival::Repair] {
            assert_eq!(newest(145, arrival), MS(100), "{arrival:?}");
        }
        assert_eq!(newest(135, Arrival::Plain), MS(10), "too soon");
        assert_eq!(newest(145, Arrival::Late), MS(10), "the receiver says so");
        assert!(!repaired(145, Arrival::Repair).has_seen_reordering());
    }

    /// The receiver says that a repair came, not which of two: one that comes sooner after the second than any round trip is the first.
    /// (Taken for the second, it made all that had left in between lost.)
    #[test]
    fn which_of_several_repairs_came_is_told_by_the_time() {
        for arrival in [Arrival::Repair, Arrival::Needless] {
            let newest = |now, times| repaired_again(now, arrival, times).newest.0.since(Time::ZERO);
            assert_eq!(newest(108, 2), MS(10), "{arrival:?}: of the first");
            assert_eq!(newest(145, 2), MS(100), "{arrival:?}: of the second");
            assert_eq!(newest(108, 1), MS(100), "{arrival:?}: there is but one");
        }
    }

    /// At 100 ms one acknowledgement lets new data go, and the next shows a loss, whose repair leaves at that moment too. The arrival of the new
    /// data says nothing of the repair for a reordering window; that of what left later does.
    #[test]
    fn a_repair_is_not_lost_since_what_left_beside_it_has_come() {
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
            let mut told = |record: &Record<()>| rack.on_delivered(at(ms), record, &ack, MS(40));
            scoreboard.sack(start, start + 1000, &mut AckOutcome::new(), &mut told);
            let found = rack.detect(at(ms), &mut scoreboard, &situation(true), |_| ());
            (found.map(|found| found.again), rack.due())
        };
        assert_eq!(
            arrive(&mut rack, 1000, 145),
            (None, at(155)),
            "a quarter of the shortest round trip more"
        );
        assert_eq!(arrive(&mut rack, 2000, 146), (Some(Some(at(100))), Time::MAX));
    }

    /// RFC 8985, section 6.2, step 4: without reordering there is none during recovery, nor when three segments are selectively
    /// acknowledged; with it there is always one.
    #[test]
    fn recovery_does_not_wait_where_nothing_was_reordered() {
        let mut rack = rack();
        assert_eq!(rack.window(0, &situation(false)), MS(10));
        assert_eq!(rack.window(2, &situation(false)), MS(10));
        assert_eq!(rack.window(3, &situation(false)), Duration::ZERO);
        assert_eq!(rack.window(0, &situation(true)), Duration::ZERO);
        rack.reordering = true;
        assert_eq!(rack.window(3, &situation(true)), MS(10));
    }

    /// RFC 8985, section 6.2, step 4: a quarter of the shortest round trip more for each round with a needless transmission, once a
    /// round, and never more than the smoothed round trip.
    #[test]
    fn needless_transmissions_widen_it_once_a_round() {
        let mut rack = rack();
        rack.reordering = true;
        rack.adapt(true, false, 1000, 5000);
        rack.adapt(true, false, 2000, 6000);
        assert_eq!(rack.window(0, &situation(false)), MS(20), "the same round");
        rack.adapt(true, false, 5000, 9000);
        assert_eq!(rack.window(0, &situation(false)), MS(30), "the next");
        for round in 3..40 {
            rack.adapt(true, false, 3000 * round, 3000 * (round + 1));
        }
        assert_eq!(rack.window(0, &situation(false)), MS(100));
    }

    /// RFC 8985, section 6.2, step 4: a wider window is kept for 16 recoveries after the last sign that it is needed.
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
            rack.window(0, &situation(false))
        };
        assert_eq!(recoveries(&mut rack, 10), MS(20));
        rack.adapt(true, false, 2000, 3000);
        assert_eq!(recoveries(&mut rack, 15), MS(30));
        assert_eq!(recoveries(&mut rack, 1), MS(10));
    }
}
