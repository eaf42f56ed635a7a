//! The bytes that a session may send that nobody asked its application for: acknowledgements, requests, repeats,
//! answers, probes.
//!
//! Schemes have timers and rules that the peer takes part in choosing, and nothing in them says how much they send for how
//! little. This does, for all of them: what is sent and is no new data of the application is at most [`FOR_ONE`] bytes for
//! each byte that came, as many as there is new data, and [`EACH_SECOND`] a second. A flow that has used that up is not
//! polled until there is more; it neither loses anything nor spins.
//!
//! To a peer that is not trusted yet go at most [`AMPLIFICATION`](crate::path::AMPLIFICATION) bytes for each that
//! came after the handshake, of whatever kind, and [`GREETING`].

use crate::path::AMPLIFICATION;
use thalweg_proto::units::{Duration, Time};

/// Bytes that may be sent for one that came.
pub const FOR_ONE: u64 = 2;

/// Bytes that may be sent in a second, whatever came.
pub const EACH_SECOND: u64 = 64 << 10;

/// Bytes that may be sent to a stranger before anything came: that the confirm has arrived.
pub const GREETING: u64 = 64;

/// The most that is kept of what a stranger sends, in bytes.
pub const STRANGER_MEMORY: u64 = 64 << 10;

/// No more than this is saved up, in bytes: twice the largest window that there usually is.
const MOST: u64 = 32 << 20;

/// The bytes that may be sent now.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// In bytes. What is not known before it is made may bring it below zero.
    left: i64,
    /// Since when nothing was added for the time.
    at: Time,
    /// The bytes that a stranger may be sent; `None` for a peer that is no stranger.
    stranger: Option<u64>,
    /// The bytes that the handshake brought, which are for a refusal.
    handshake: u64,
}

impl Budget {
    /// Of a session that begins at `now` with a confirm of so many bytes; of a `stranger` or not.
    pub const fn new(now: Time, confirm: u64, stranger: bool) -> Self {
        let stranger = if stranger { Some(GREETING) } else { None };
        Self { left: EACH_SECOND as i64, at: now, stranger, handshake: confirm * AMPLIFICATION }
    }

    /// The peer is no stranger any more.
    pub fn admit(&mut self) {
        self.stranger = None;
    }

    /// True if the peer is a stranger.
    pub const fn is_untrusted(&self) -> bool {
        self.stranger.is_some()
    }

    /// The connection is refused or closed: the reason may be told for what the handshake brought, too.
    pub fn close(&mut self) {
        if let Some(left) = &mut self.stranger {
            *left += core::mem::take(&mut self.handshake);
        }
    }

    /// So many bytes came.
    #[inline]
    pub fn on_received(&mut self, bytes: u64) {
        if let Some(left) = &mut self.stranger {
            *left += bytes * AMPLIFICATION;
        }
        self.earn(bytes * FOR_ONE);
    }

    /// So many bytes were sent, in which there was new data of the application or not.
    #[inline]
    pub fn on_sent(&mut self, bytes: u64, is_new: bool) {
        if let Some(left) = &mut self.stranger {
            *left = left.saturating_sub(bytes);
        }
        if is_new {
            self.earn(bytes);
        } else {
            // Datagrams are short.
            self.left -= bytes as i64;
        }
    }

    fn earn(&mut self, bytes: u64) {
        self.left = self.left.saturating_add_unsigned(bytes).min(MOST as i64);
    }

    /// The number of bytes that a datagram may have.
    #[inline]
    pub const fn room(&self) -> u64 {
        match self.stranger {
            Some(left) => left,
            None => u64::MAX,
        }
    }

    /// Checks that more may be sent at `now` that is no new data; the error is the time from which it may.
    #[inline]
    pub fn check(&mut self, now: Time) -> Result<(), Time> {
        if self.left < EACH_SECOND as i64 {
            self.fill(now);
        } else {
            self.at = now;
        }
        if self.left > 0 { Ok(()) } else { Err(self.at + span(self.left.unsigned_abs() + 1)) }
    }

    /// Adds what the time brings, up to a second's worth.
    fn fill(&mut self, now: Time) {
        let nanos = now.since(self.at).as_picos() / 1000;
        let come = u128::from(nanos) * u128::from(EACH_SECOND) / NANOS;
        // It fits: more than is missing counts as that.
        let missing = EACH_SECOND.saturating_add_signed(-self.left);
        if come >= u128::from(missing) {
            (self.left, self.at) = (EACH_SECOND as i64, now);
        } else if come > 0 {
            self.left += come as i64;
            self.at += span(come as u64);
        }
    }
}

const NANOS: u128 = 1_000_000_000;

/// The time that so many bytes take to come.
fn span(bytes: u64) -> Duration {
    let nanos = (u128::from(bytes) * NANOS).div_ceil(u128::from(EACH_SECOND));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// Sends as many packets of 60 bytes as may be sent at each of these times.
    fn sent(budget: &mut Budget, times: impl Iterator<Item = u64>) -> u64 {
        times
            .map(|millis| {
                let mut bytes = 0;
                while budget.check(at(millis)).is_ok() {
                    budget.on_sent(60, false);
                    bytes += 60;
                    assert!(bytes < 1 << 30);
                }
                bytes
            })
            .sum()
    }

    #[test]
    fn twice_what_came_and_a_constant_a_second() {
        let mut budget = Budget::new(at(0), 200, false);
        // A second's worth at once, and ten more in ten seconds, however often it is asked.
        let all = sent(&mut budget, 0..=10_000);
        assert!((11 * EACH_SECOND - 60..=11 * EACH_SECOND + 60).contains(&all), "{all}");
        budget.on_received(1 << 20);
        let all = sent(&mut budget, 10_000..=10_000);
        assert!(((2 << 20) - 120..=(2 << 20) + 60).contains(&all), "{all}");
        // New data is no part of it, and repeats of it are, as often as there is new data.
        budget.on_sent(100_000, true);
        assert!(sent(&mut budget, 10_000..=10_000).abs_diff(100_000) <= 120);
        // An hour of silence saves up a second's worth.
        assert!(sent(&mut budget, [3_610_000].into_iter()).abs_diff(EACH_SECOND) <= 120);
    }

    #[test]
    fn it_says_when_there_is_more() {
        let mut budget = Budget::new(at(0), 200, false);
        sent(&mut budget, 0..=0);
        let mut now = at(0);
        for _ in 0..1000 {
            let Err(next) = budget.check(now) else { panic!("nothing came") };
            assert!(next > now && budget.check(next).is_ok());
            assert!(next.since(now) <= Duration::from_millis(2));
            now = next;
            budget.on_sent(60, false);
        }
    }

    #[test]
    fn a_stranger_gets_three_bytes_for_one() {
        let mut budget = Budget::new(at(0), 200, true);
        assert_eq!(budget.room(), GREETING);
        budget.on_sent(42, false);
        budget.on_received(54);
        assert_eq!(budget.room(), GREETING - 42 + 3 * 54);
        budget.on_sent(100, true);
        assert_eq!(budget.room(), GREETING - 42 + 3 * 54 - 100);
        // Who is refused hears why.
        budget.close();
        budget.close();
        assert_eq!(budget.room(), GREETING - 42 + 3 * 54 - 100 + 600);
        budget.admit();
        assert_eq!(budget.room(), u64::MAX);
    }
}
