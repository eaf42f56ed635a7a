//! The times at which a thread that has nothing to do looks at its socket again, and at which readers are notified of
//! what has come: wake-up coalescing.
//!
//! Whoever waits for a datagram is woken by the first. Where they come in quick succession that is once for every few of
//! them, and waking up costs more than they do: the receiver of 1472 B datagrams that pass the host one by one spent a third
//! of its time on it, and the sender, in whose calls it is woken, some too. So a thread that has just had many sleeps
//! a little while they gather, as network cards do by moderating their interrupts. It goes on as long as that brings many,
//! which is so above some 4 Gbit/s of such datagrams; whoever sends few is never kept waiting.
//!
//! Deadlines are put together likewise: who paces packets that are a few microseconds apart sends some of them at a time.

use thalweg_proto::units::{Duration, Time};

/// The time for which wake-ups are coalesced, and the most by which anything that is due may be late. The round trip seems
/// longer by no more than this.
pub(super) const INTERVAL: Duration = Duration::from_micros(50);

/// So many datagrams since the thread slept last are many.
const MANY: usize = 16;

/// Readers are notified of what has come when it is this much, in bytes, or after [`NOTIFY_AFTER`], while wake-ups are
/// coalesced. Else they are before the thread sleeps.
const MAX_UNNOTIFIED: u64 = 64 << 10;
const NOTIFY_AFTER: Duration = Duration::from_micros(100);

/// The way in which a thread sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// Until something comes, or so long at most; `None` for ever.
    Until(Option<Duration>),
    /// So long, whatever comes.
    For(Duration),
}

/// The datagrams that have come since the thread slept last, and the bytes that readers have not been notified of.
#[derive(Debug, Default)]
pub struct Coalescing {
    datagrams: usize,
    /// It has coalesced wake-ups, and that has brought many.
    coalesces: bool,
    unnotified: Option<(Time, u64)>,
}

impl Coalescing {
    /// So many datagrams came.
    pub fn came(&mut self, datagrams: usize) {
        self.datagrams += datagrams;
    }

    /// So many bytes wait for readers.
    pub fn handed_over(&mut self, now: Time, bytes: u64) {
        self.unnotified.get_or_insert((now, 0)).1 += bytes;
    }

    /// True if readers are to be notified now of what was handed over, though the thread is busy.
    pub fn notifies(&mut self, now: Time) -> bool {
        let notifies = self
            .unnotified
            .is_some_and(|(since, bytes)| bytes >= MAX_UNNOTIFIED || now.since(since) >= NOTIFY_AFTER);
        if notifies {
            self.unnotified = None;
        }
        notifies
    }

    /// True if readers are to be notified before the thread sleeps. `may_coalesce` is false where it matters when a datagram
    /// came.
    pub fn notifies_before_sleep(&mut self, may_coalesce: bool) -> bool {
        let goes_on = self.coalesces && may_coalesce && self.datagrams >= MANY;
        !goes_on && self.unnotified.take().is_some()
    }

    /// The way to sleep, where something is due in `span`.
    pub fn sleep(&mut self, span: Option<Duration>, may_coalesce: bool) -> Sleep {
        self.coalesces = core::mem::take(&mut self.datagrams) >= MANY && may_coalesce;
        match may_coalesce {
            true if self.coalesces => Sleep::For(INTERVAL),
            true => Sleep::Until(span.map(|span| span.max(INTERVAL))),
            false => Sleep::Until(span),
        }
    }
}

#[cfg(test)]
mod tests {
    //! Proves that nobody is kept waiting who sends few, and nothing is kept from readers for long.
    use super::*;

    const LONG: Option<Duration> = Some(Duration::from_millis(1));

    #[test]
    fn wake_ups_are_coalesced_while_that_brings_many() {
        let mut coalescing = Coalescing::default();
        for _ in 0..100 {
            coalescing.came(MANY - 1);
            assert_eq!(coalescing.sleep(LONG, true), Sleep::Until(LONG));
        }
        coalescing.came(MANY - 1);
        coalescing.came(1);
        assert_eq!(coalescing.sleep(None, true), Sleep::For(INTERVAL));
        coalescing.came(MANY);
        assert_eq!(coalescing.sleep(LONG, true), Sleep::For(INTERVAL));
        coalescing.came(1);
        assert_eq!(coalescing.sleep(None, true), Sleep::Until(None));
        let short = Some(Duration::from_micros(1));
        assert_eq!(coalescing.sleep(short, true), Sleep::Until(Some(INTERVAL)), "deadlines are put together");
        coalescing.came(1000);
        assert_eq!(coalescing.sleep(short, false), Sleep::Until(short), "unless it matters");
        assert_eq!(coalescing.sleep(None, true), Sleep::Until(None), "those were before");
    }

    #[test]
    fn readers_are_notified_of_a_burst_at_once_and_of_a_stream_soon() {
        let at = |micros| Time::ZERO + Duration::from_micros(micros);
        let mut coalescing = Coalescing::default();
        assert!(!coalescing.notifies_before_sleep(true), "of what?");
        coalescing.came(MANY);
        coalescing.handed_over(at(0), 10);
        assert!(coalescing.notifies_before_sleep(true), "this may be all for now");
        coalescing.sleep(None, true);
        coalescing.came(MANY);
        coalescing.handed_over(at(50), 10);
        assert!(!coalescing.notifies(at(60)) && !coalescing.notifies_before_sleep(true), "more will come");
        coalescing.sleep(None, true);
        coalescing.came(MANY);
        coalescing.handed_over(at(120), MAX_UNNOTIFIED - 11);
        assert!(!coalescing.notifies(at(149)) && coalescing.notifies(at(150)), "it has been kept for long");
        coalescing.handed_over(at(150), MAX_UNNOTIFIED);
        assert!(coalescing.notifies(at(150)), "it is much");
        assert!(!coalescing.notifies(at(151)) && !coalescing.notifies(at(1000)));
        coalescing.handed_over(at(1000), 1);
        coalescing.sleep(None, true);
        coalescing.came(1);
        assert!(coalescing.notifies_before_sleep(true), "the stream has ended");
    }
}
