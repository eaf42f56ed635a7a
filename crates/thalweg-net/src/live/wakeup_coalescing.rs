//! Wake-up coalescing: wake-up times of an idle socket thread, and notification times of readers.
//!
//! A waiting thread wakes at the first datagram. In quick succession that means one wake-up for every few datagrams,
//! and wake-ups cost more than the datagrams: a receiver of 1472 B datagrams without GRO spent a third of its time on
//! them, and the sender, whose calls do the waking, some too. After a wake-up with many datagrams, the thread therefore
//! sleeps for a short interval while more gather, as network cards do with interrupt moderation. Coalescing continues
//! while each interval brings many datagrams, above about 4 Gbit/s of such datagrams. At lower rates it adds no delay.
//!
//! Deadlines are coalesced likewise: a sender that paces packets a few microseconds apart sends several at a time.

use thalweg_proto::units::{Duration, Time};

/// Interval over which wake-ups are coalesced. It bounds the added lateness and the increase of the round-trip time.
pub(super) const COALESCING_INTERVAL: Duration = Duration::from_micros(50);

/// Minimum number of datagrams since the last sleep for coalescing.
const MIN_DATAGRAMS: usize = 16;

/// Unnotified bytes that cause a notification of readers during coalescing. The other trigger is [`NOTIFICATION_DELAY`].
/// Without coalescing, readers are notified before the thread sleeps.
const MAX_UNNOTIFIED: u64 = 64 << 10;
const NOTIFICATION_DELAY: Duration = Duration::from_micros(100);

/// Kind of sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// Until an event, or for this span at most; `None` means no limit.
    Until(Option<Duration>),
    /// For this span, regardless of events.
    For(Duration),
}

/// Datagrams received since the last sleep, and bytes without a notification of readers.
#[derive(Debug, Default)]
pub struct Coalescing {
    datagrams: usize,
    /// True if the last sleep coalesced wake-ups and brought many datagrams.
    coalesces: bool,
    unnotified: Option<(Time, u64)>,
}

impl Coalescing {
    /// Counts received datagrams.
    pub fn on_received(&mut self, datagrams: usize) {
        self.datagrams += datagrams;
    }

    /// Counts bytes delivered to readers' queues.
    pub fn on_delivered(&mut self, now: Time, bytes: u64) {
        self.unnotified.get_or_insert((now, 0)).1 += bytes;
    }

    /// Returns true if readers must be notified now, although the thread is busy.
    pub fn notifies(&mut self, now: Time) -> bool {
        let notifies = self
            .unnotified
            .is_some_and(|(since, bytes)| bytes >= MAX_UNNOTIFIED || now.since(since) >= NOTIFICATION_DELAY);
        if notifies {
            self.unnotified = None;
        }
        notifies
    }

    /// Returns true if readers must be notified before the thread sleeps. `may_coalesce` is false if the scheme uses
    /// packet arrival times.
    pub fn notifies_before_sleep(&mut self, may_coalesce: bool) -> bool {
        let goes_on = self.coalesces && may_coalesce && self.datagrams >= MIN_DATAGRAMS;
        !goes_on && self.unnotified.take().is_some()
    }

    /// Returns the kind of sleep when the next deadline is in `span`.
    pub fn sleep(&mut self, span: Option<Duration>, may_coalesce: bool) -> Sleep {
        self.coalesces = core::mem::take(&mut self.datagrams) >= MIN_DATAGRAMS && may_coalesce;
        match may_coalesce {
            true if self.coalesces => Sleep::For(COALESCING_INTERVAL),
            true => Sleep::Until(span.map(|span| span.max(COALESCING_INTERVAL))),
            false => Sleep::Until(span),
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests that coalescing adds no delay at low rates and notifies readers soon.
    use super::*;

    const LONG_SLEEP: Option<Duration> = Some(Duration::from_millis(1));

    #[test]
    fn wake_ups_are_coalesced_while_that_brings_many() {
        let mut coalescing = Coalescing::default();
        for _ in 0..100 {
            coalescing.on_received(MIN_DATAGRAMS - 1);
            assert_eq!(coalescing.sleep(LONG_SLEEP, true), Sleep::Until(LONG_SLEEP));
        }
        coalescing.on_received(MIN_DATAGRAMS - 1);
        coalescing.on_received(1);
        assert_eq!(coalescing.sleep(None, true), Sleep::For(COALESCING_INTERVAL));
        coalescing.on_received(MIN_DATAGRAMS);
        assert_eq!(coalescing.sleep(LONG_SLEEP, true), Sleep::For(COALESCING_INTERVAL));
        coalescing.on_received(1);
        assert_eq!(coalescing.sleep(None, true), Sleep::Until(None));
        let short = Some(Duration::from_micros(1));
        assert_eq!(
            coalescing.sleep(short, true),
            Sleep::Until(Some(COALESCING_INTERVAL)),
            "deadlines are put together"
        );
        coalescing.on_received(1000);
        assert_eq!(coalescing.sleep(short, false), Sleep::Until(short), "unless it matters");
        assert_eq!(coalescing.sleep(None, true), Sleep::Until(None), "those were before");
    }

    #[test]
    fn readers_are_notified_of_a_burst_at_once_and_of_a_stream_soon() {
        let at = |micros| Time::ZERO + Duration::from_micros(micros);
        let mut coalescing = Coalescing::default();
        assert!(!coalescing.notifies_before_sleep(true), "of what?");
        coalescing.on_received(MIN_DATAGRAMS);
        coalescing.on_delivered(at(0), 10);
        assert!(coalescing.notifies_before_sleep(true), "this may be all for now");
        coalescing.sleep(None, true);
        coalescing.on_received(MIN_DATAGRAMS);
        coalescing.on_delivered(at(50), 10);
        assert!(!coalescing.notifies(at(60)) && !coalescing.notifies_before_sleep(true), "more will come");
        coalescing.sleep(None, true);
        coalescing.on_received(MIN_DATAGRAMS);
        coalescing.on_delivered(at(120), MAX_UNNOTIFIED - 11);
        assert!(!coalescing.notifies(at(149)) && coalescing.notifies(at(150)), "it has been kept for long");
        coalescing.on_delivered(at(150), MAX_UNNOTIFIED);
        assert!(coalescing.notifies(at(150)), "it is much");
        assert!(!coalescing.notifies(at(151)) && !coalescing.notifies(at(1000)));
        coalescing.on_delivered(at(1000), 1);
        coalescing.sleep(None, true);
        coalescing.on_received(1);
        assert!(coalescing.notifies_before_sleep(true), "the stream has ended");
    }
}
