//! The bytes that an application may be ahead of the network.
//!
//! What waits to be sent cannot be taken back or overtaken, and who stops writing waits until it has gone. So it is no
//! more than moves in a tenth of a second, twice: once in the flow, and once before it, in the hands of whoever drives it.
//! That bridges the time until a writer is awake again, as the buffers of kernels do that follow the window.

use thalweg_proto::units::{Duration, Time};

/// As much data may wait as moves in this time.
const SPAN: Duration = Duration::from_millis(100);

/// The rate is what was sent in this time. A shorter look sees bursts, a longer one is late where the rate grows.
const LOOK: Duration = Duration::from_millis(10);

/// The time in which the limit would be gone, as it falls in proportion to the time when less is sent than before.
const FALL: Duration = Duration::from_secs(1);

/// The least and the most that may wait, in bytes.
const LEAST: u64 = 32 << 10;
const MOST: u64 = 4 << 20;

/// The bytes that may wait.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    since: Time,
    sent: u64,
    limit: u64,
}

impl Ahead {
    /// Nothing has been sent yet.
    pub const fn new() -> Self {
        Self { since: Time::ZERO, sent: 0, limit: LEAST }
    }

    /// At `now` so many bytes have been sent in all, each counted once.
    pub fn observe(&mut self, now: Time, sent: u64) {
        let span = now.since(self.since);
        let bytes = sent.saturating_sub(self.sent);
        let moved = u128::from(bytes) * u128::from(SPAN.as_picos()) / u128::from(span.max(LOOK).as_picos());
        let mut limit = self.limit;
        if span >= LOOK {
            let lost =
                u128::from(limit) * u128::from(span.min(FALL).as_picos()) / u128::from(FALL.as_picos());
            limit -= u64::try_from(lost).unwrap_or(limit);
            (self.since, self.sent) = (now, sent);
        }
        self.limit = u64::try_from(moved).unwrap_or(MOST).max(limit).clamp(LEAST, MOST);
    }

    /// The most bytes that may wait.
    pub const fn limit(&self) -> u64 {
        self.limit
    }
}

#[cfg(test)]
mod tests {
    //! Proves that what may wait follows the rate, up quickly and down slowly, within its bounds.
    use super::*;

    /// After so many milliseconds, in each of which so many bytes are sent.
    fn sending(ahead: &mut Ahead, begin: u64, millis: u64, bytes: u64, sent: &mut u64) -> u64 {
        for at in begin..begin + millis {
            *sent += bytes;
            ahead.observe(Time::ZERO + Duration::from_millis(at), *sent);
        }
        ahead.limit()
    }

    #[test]
    fn it_follows_the_rate() {
        let (mut ahead, mut sent) = (Ahead::new(), 0);
        assert_eq!(ahead.limit(), LEAST);
        // 8 Mbit/s, of which 100 ms are 100 kB.
        let limit = sending(&mut ahead, 0, 100, 1000, &mut sent);
        assert!((90_000..=115_000).contains(&limit), "{limit}");
        // 80 Mbit/s: known within 10 ms.
        let limit = sending(&mut ahead, 100, 11, 10_000, &mut sent);
        assert!((900_000..=1_150_000).contains(&limit), "{limit}");
        // Nothing at all for half a second: a third of it is left, or more.
        let limit = sending(&mut ahead, 111, 500, 0, &mut sent);
        assert!((333_000..=700_000).contains(&limit), "{limit}");
        assert_eq!(sending(&mut ahead, 611, 10_000, 0, &mut sent), LEAST);
        assert_eq!(sending(&mut ahead, 10_611, 10, 1_000_000, &mut sent), MOST);
        // A look after years, and one back in time.
        ahead.observe(Time::MAX, u64::MAX);
        ahead.observe(Time::ZERO, 0);
        assert!((LEAST..=MOST).contains(&ahead.limit()));
    }
}
