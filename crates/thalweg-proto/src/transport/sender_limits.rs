//! Limits on senders, and the time under each.

use crate::units::{Duration, Time};

/// Reason that a sender cannot send more at a given moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// The application has nothing to send.
    Application,
    /// The congestion window is full, or Nagle's algorithm holds a partial segment back: in both cases the sender waits
    /// for acknowledgements.
    CongestionWindow,
    /// The receiver's window is full.
    ReceiverWindow,
    /// The pacing rate delays the next packet.
    Pacing,
    /// Loss recovery holds back new data.
    Network,
    /// A gate paused the flow.
    Paused,
    /// All outstanding data, or all answers to it, were lost: the sender waits for its retransmission timer. Covers the
    /// time from the last packet sent or received to the expiry, and from there to the next answer.
    RetransmissionTimer,
}

impl Limit {
    /// The number of limits.
    pub const COUNT: usize = 7;

    /// Every limit, in the order of [`Limit::index`].
    pub const ALL: [Self; Self::COUNT] = [
        Self::CongestionWindow,
        Self::ReceiverWindow,
        Self::Pacing,
        Self::Application,
        Self::Network,
        Self::Paused,
        Self::RetransmissionTimer,
    ];

    /// Returns the position in [`Limit::ALL`].
    pub const fn index(self) -> usize {
        match self {
            Self::CongestionWindow => 0,
            Self::ReceiverWindow => 1,
            Self::Pacing => 2,
            Self::Application => 3,
            Self::Network => 4,
            Self::Paused => 5,
            Self::RetransmissionTimer => 6,
        }
    }

    /// Returns the name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CongestionWindow => "congestion-window",
            Self::ReceiverWindow => "receiver-window",
            Self::Pacing => "pacing",
            Self::Application => "application",
            Self::Network => "network",
            Self::Paused => "paused",
            Self::RetransmissionTimer => "retransmission-timer",
        }
    }
}

/// A wait for an acknowledgement that takes the place of another limit in the times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AckWait {
    #[default]
    None,
    /// The retransmission timer has expired, and nothing has been received since.
    Silence,
    /// Nagle's algorithm holds a partial segment back. Controllers are given [`Limit::Application`], as the window has
    /// room.
    Nagle,
}

/// Tracks the current limit of a sender and the time spent under each limit.
#[derive(Clone, Debug, Default)]
pub struct LimitClock {
    now: Option<Limit>,
    limited_since: Time,
    wait: AckWait,
    /// Time per limit, without the time since `limited_since`.
    time_by_limit: [Duration; Limit::COUNT],
}

impl LimitClock {
    /// Returns the current limit; `None` before the first change, and when all is done.
    pub const fn current(&self) -> Option<Limit> {
        match (self.wait, self.now) {
            (AckWait::Silence, Some(_)) => Some(Limit::RetransmissionTimer),
            (AckWait::Nagle, Some(Limit::Application)) => Some(Limit::CongestionWindow),
            (_, limit) => limit,
        }
    }

    /// Returns the limit that would apply without silence of the peer and without Nagle's algorithm; controllers are
    /// given this one.
    pub const fn underlying(&self) -> Option<Limit> {
        self.now
    }

    /// Adds the time since the last change to the limit that applied then.
    fn add_elapsed(&mut self, now: Time) {
        if let Some(limit) = self.current() {
            self.time_by_limit[limit.index()] += now.since(self.limited_since);
        }
        self.limited_since = now;
    }

    /// Sets the limit that applies from `now` on, if any.
    #[inline]
    pub fn change(&mut self, now: Time, limit: Option<Limit>) {
        if self.now == limit {
            return;
        }
        self.add_elapsed(now);
        self.now = limit;
    }

    /// Records an expiry of the retransmission timer. All time since `progress`, the last time a packet was sent or
    /// received, counts as waiting for the timer, and so does the time until the next packet is received.
    pub fn expire(&mut self, now: Time, progress: Time) {
        if self.now.is_some() {
            self.add_elapsed(progress.clamp(self.limited_since, now));
        }
        self.wait = AckWait::Silence;
        self.add_elapsed(now);
    }

    /// Records that Nagle's algorithm holds a partial segment back: until the next answer, or
    /// [`LimitClock::release_partial_segment`], the time under [`Limit::Application`] counts as
    /// [`Limit::CongestionWindow`].
    #[cold]
    pub fn hold_partial_segment(&mut self, now: Time) {
        if self.wait == AckWait::None {
            self.add_elapsed(now);
            self.wait = AckWait::Nagle;
        }
    }

    /// Records that the application wrote more data, with which the partial segment may be sent.
    #[inline]
    pub fn release_partial_segment(&mut self, now: Time) {
        if self.wait == AckWait::Nagle {
            self.add_elapsed(now);
            self.wait = AckWait::None;
        }
    }

    /// Records an answer of the peer.
    #[inline]
    pub fn on_answer(&mut self, now: Time) {
        if self.wait != AckWait::None {
            self.add_elapsed(now);
            self.wait = AckWait::None;
        }
    }

    /// Returns the time during which each of [`Limit::ALL`] has held the sender back, up to `now`.
    pub fn held(&self, now: Time) -> [Duration; Limit::COUNT] {
        let mut held = self.time_by_limit;
        if let Some(limit) = self.current() {
            held[limit.index()] += now.since(self.limited_since);
        }
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn held_seconds(clock: &LimitClock, now: u64, limit: Limit) -> f64 {
        clock.held(at(now))[limit.index()].as_millis_f64()
    }

    #[test]
    fn time_waiting_for_the_retransmission_timer_is_counted_separately() {
        // The window is full from 0 on; answers arrive until 30; nothing to send from 50 on; the timer expires at 230.
        let mut clock = LimitClock::default();
        clock.change(at(0), Some(Limit::CongestionWindow));
        clock.change(at(50), Some(Limit::Application));
        clock.expire(at(230), at(30));
        // Time under a limit known before the expiry keeps that limit; the rest counts for the timer.
        assert_eq!(held_seconds(&clock, 230, Limit::CongestionWindow), 50.0);
        assert_eq!(held_seconds(&clock, 230, Limit::Application), 0.0);
        assert_eq!(held_seconds(&clock, 230, Limit::RetransmissionTimer), 180.0);
        assert_eq!(
            (clock.current(), clock.underlying()),
            (Some(Limit::RetransmissionTimer), Some(Limit::Application))
        );
        clock.change(at(240), Some(Limit::Network));
        clock.expire(at(630), at(230));
        clock.on_answer(at(640));
        assert_eq!(clock.current(), Some(Limit::Network));
        assert_eq!(held_seconds(&clock, 700, Limit::RetransmissionTimer), 590.0);
        assert_eq!(held_seconds(&clock, 700, Limit::Network), 60.0);
        // The times add up to the elapsed time.
        let total: f64 = clock.held(at(700)).iter().map(|span| span.as_millis_f64()).sum();
        assert_eq!(total, 700.0);
    }

    #[test]
    fn progress_splits_the_time_under_one_limit() {
        let mut clock = LimitClock::default();
        clock.change(at(0), Some(Limit::CongestionWindow));
        clock.expire(at(300), at(100));
        clock.on_answer(at(310));
        assert_eq!(held_seconds(&clock, 310, Limit::CongestionWindow), 100.0);
        assert_eq!(held_seconds(&clock, 310, Limit::RetransmissionTimer), 210.0);
    }

    #[test]
    fn every_limit_has_an_index_and_a_name() {
        for (place, limit) in Limit::ALL.into_iter().enumerate() {
            assert_eq!(limit.index(), place);
        }
        let names: std::collections::BTreeSet<_> = Limit::ALL.map(Limit::name).into();
        assert_eq!(names.len(), Limit::COUNT);
    }

    /// The time for which Nagle's algorithm holds a partial segment counts as the congestion window, up to the next
    /// acknowledgement, or to a write. Controllers are given the application as the limit.
    #[test]
    fn a_held_partial_segment_waits_for_an_acknowledgement() {
        let mut clock = LimitClock::default();
        clock.change(at(0), Some(Limit::Application));
        let hold = |clock: &mut LimitClock, from: u64| {
            clock.hold_partial_segment(at(from));
            clock.change(at(from), Some(Limit::Application));
            assert_eq!(
                (clock.current(), clock.underlying()),
                (Some(Limit::CongestionWindow), Some(Limit::Application))
            );
        };
        hold(&mut clock, 10);
        clock.on_answer(at(30));
        assert_eq!(clock.current(), Some(Limit::Application));
        hold(&mut clock, 40);
        clock.release_partial_segment(at(45));
        clock.release_partial_segment(at(50));
        let shares =
            [held_seconds(&clock, 60, Limit::Application), held_seconds(&clock, 60, Limit::CongestionWindow)];
        assert_eq!(shares, [35.0, 25.0]);
        // A pause, and silence, take precedence.
        hold(&mut clock, 60);
        clock.change(at(70), Some(Limit::Paused));
        assert_eq!(clock.current(), Some(Limit::Paused));
        clock.change(at(80), Some(Limit::Application));
        clock.expire(at(100), at(90));
        clock.hold_partial_segment(at(100));
        assert_eq!(clock.current(), Some(Limit::RetransmissionTimer));
        let shares = [Limit::CongestionWindow, Limit::Paused, Limit::RetransmissionTimer];
        assert_eq!(shares.map(|limit| held_seconds(&clock, 110, limit)), [45.0, 10.0, 20.0]);
    }
}
