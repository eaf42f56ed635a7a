//! Autotuning of the send buffer.
//!
//! Unsent data can be neither taken back nor overtaken, and an application that stops early waits until it is sent. The
//! limit is therefore the data sent in a tenth of a second. It applies twice: inside the flow, and to the driver's
//! buffer before it. Like kernel buffers that follow the window, this bridges the wake-up delay of a writer.

use thalweg_proto::units::{Duration, Time};

/// Amount of buffered data, as time at the current rate.
const BUFFERED_TIME: Duration = Duration::from_millis(100);

/// Interval of rate measurement. A shorter interval sees bursts; a longer one reacts late to a growing rate.
const RATE_INTERVAL: Duration = Duration::from_millis(10);

/// Decay time of the limit to zero. The decay is linear, while the rate is lower than before.
const DECAY_TIME: Duration = Duration::from_secs(1);

/// Lower and upper bounds of the limit, in bytes.
const MIN_LIMIT: u64 = 32 << 10;
const MAX_LIMIT: u64 = 4 << 20;

/// Send-buffer limit.
#[derive(Clone, Copy, Debug)]
pub struct SendBufferLimit {
    since: Time,
    sent: u64,
    limit: u64,
}

impl SendBufferLimit {
    /// Creates the initial state, before any data was sent.
    pub const fn new() -> Self {
        Self { since: Time::ZERO, sent: 0, limit: MIN_LIMIT }
    }

    /// Updates the limit at `now` from the total of bytes sent, each counted once.
    pub fn observe(&mut self, now: Time, sent: u64) {
        let span = now.since(self.since);
        let bytes = sent.saturating_sub(self.sent);
        let moved = u128::from(bytes) * u128::from(BUFFERED_TIME.as_picos())
            / u128::from(span.max(RATE_INTERVAL).as_picos());
        let mut limit = self.limit;
        if span >= RATE_INTERVAL {
            let lost = u128::from(limit) * u128::from(span.min(DECAY_TIME).as_picos())
                / u128::from(DECAY_TIME.as_picos());
            limit -= u64::try_from(lost).unwrap_or(limit);
            (self.since, self.sent) = (now, sent);
        }
        self.limit = u64::try_from(moved).unwrap_or(MAX_LIMIT).max(limit).clamp(MIN_LIMIT, MAX_LIMIT);
    }

    /// Returns the send-buffer limit, in bytes.
    pub const fn limit(&self) -> u64 {
        self.limit
    }
}

#[cfg(test)]
mod tests {
    //! Tests that the limit follows the rate, fast upwards and slowly downwards, within its bounds.
    use super::*;

    /// Returns the limit after some milliseconds at a constant number of bytes per millisecond.
    fn limit_after(
        send_buffer: &mut SendBufferLimit,
        begin: u64,
        millis: u64,
        bytes: u64,
        sent: &mut u64,
    ) -> u64 {
        for at in begin..begin + millis {
            *sent += bytes;
            send_buffer.observe(Time::ZERO + Duration::from_millis(at), *sent);
        }
        send_buffer.limit()
    }

    #[test]
    fn it_follows_the_rate() {
        let (mut send_buffer, mut sent) = (SendBufferLimit::new(), 0);
        assert_eq!(send_buffer.limit(), MIN_LIMIT);
        // 100 kB is 100 ms at 8 Mbit/s.
        let limit = limit_after(&mut send_buffer, 0, 100, 1000, &mut sent);
        assert!((90_000..=115_000).contains(&limit), "{limit}");
        // 80 Mbit/s: detected within 10 ms.
        let limit = limit_after(&mut send_buffer, 100, 11, 10_000, &mut sent);
        assert!((900_000..=1_150_000).contains(&limit), "{limit}");
        // Half a second of silence leaves at least a third.
        let limit = limit_after(&mut send_buffer, 111, 500, 0, &mut sent);
        assert!((333_000..=700_000).contains(&limit), "{limit}");
        assert_eq!(limit_after(&mut send_buffer, 611, 10_000, 0, &mut sent), MIN_LIMIT);
        assert_eq!(limit_after(&mut send_buffer, 10_611, 10, 1_000_000, &mut sent), MAX_LIMIT);
        // An observation after years, and one back in time.
        send_buffer.observe(Time::MAX, u64::MAX);
        send_buffer.observe(Time::ZERO, 0);
        assert!((MIN_LIMIT..=MAX_LIMIT).contains(&send_buffer.limit()));
    }
}
