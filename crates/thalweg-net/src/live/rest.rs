//! The times at which a thread that has nothing to do looks at its socket again, and at which readers hear of what has
//! come.
//!
//! Whoever waits for a datagram is woken by the first. Where they come in quick succession that is once for every few of
//! them, and waking up costs more than they do: the receiver of 1472 B datagrams that pass the host one by one spent a third
//! of its time on it, and the sender, in whose calls it is woken, some too. So a thread that has just had many takes a
//! nap, a short one, in which they gather: what network cards do by moderating their interrupts. It goes on as long as
//! naps bring many, which is so above some 4 Gbit/s of such datagrams; whoever sends few is never kept waiting.
//!
//! Deadlines are put together likewise: who paces packets that are a few microseconds apart sends some of them at a time.

use thalweg_proto::units::{Duration, Time};

/// The length of a nap, and the most by which anything that is due may be late. The round trip seems longer by no more
/// than this.
const NAP: Duration = Duration::from_micros(50);

/// So many datagrams since the thread slept last are many.
const MANY: usize = 16;

/// Readers hear of what has come when it is this much, in bytes, or after [`UNTOLD`], while one nap follows another. Else
/// they hear of it before the thread sleeps.
const MOST_UNTOLD: u64 = 64 << 10;
const UNTOLD: Duration = Duration::from_micros(100);

/// The way in which a thread sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// Until something comes, or so long at most; `None` for ever.
    Until(Option<Duration>),
    /// So long, whatever comes.
    Nap(Duration),
}

/// The datagrams that have come since the thread slept last, and the bytes that readers have not heard of.
#[derive(Debug, Default)]
pub struct Rest {
    datagrams: usize,
    /// It has been napping, and naps have brought many.
    naps: bool,
    untold: Option<(Time, u64)>,
}

impl Rest {
    /// So many datagrams came.
    pub fn came(&mut self, datagrams: usize) {
        self.datagrams += datagrams;
    }

    /// So many bytes wait for readers.
    pub fn handed_over(&mut self, now: Time, bytes: u64) {
        self.untold.get_or_insert((now, 0)).1 += bytes;
    }

    /// True if readers are to be told now of what was handed over, though the thread is busy.
    pub fn tells(&mut self, now: Time) -> bool {
        let tells =
            self.untold.is_some_and(|(since, bytes)| bytes >= MOST_UNTOLD || now.since(since) >= UNTOLD);
        if tells {
            self.untold = None;
        }
        tells
    }

    /// True if readers are to be told before the thread sleeps. `may_nap` is false where it matters when a datagram
    /// came.
    pub fn tells_before_sleep(&mut self, may_nap: bool) -> bool {
        let goes_on = self.naps && may_nap && self.datagrams >= MANY;
        !goes_on && self.untold.take().is_some()
    }

    /// The way to sleep, where something is due in `span`.
    pub fn sleep(&mut self, span: Option<Duration>, may_nap: bool) -> Sleep {
        self.naps = core::mem::take(&mut self.datagrams) >= MANY && may_nap;
        match may_nap {
            true if self.naps => Sleep::Nap(NAP),
            true => Sleep::Until(span.map(|span| span.max(NAP))),
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
    fn it_naps_while_that_brings_many() {
        let mut rest = Rest::default();
        for _ in 0..100 {
            rest.came(MANY - 1);
            assert_eq!(rest.sleep(LONG, true), Sleep::Until(LONG));
        }
        rest.came(MANY - 1);
        rest.came(1);
        assert_eq!(rest.sleep(None, true), Sleep::Nap(NAP));
        rest.came(MANY);
        assert_eq!(rest.sleep(LONG, true), Sleep::Nap(NAP));
        rest.came(1);
        assert_eq!(rest.sleep(None, true), Sleep::Until(None));
        let short = Some(Duration::from_micros(1));
        assert_eq!(rest.sleep(short, true), Sleep::Until(Some(NAP)), "deadlines are put together");
        rest.came(1000);
        assert_eq!(rest.sleep(short, false), Sleep::Until(short), "unless it matters");
        assert_eq!(rest.sleep(None, true), Sleep::Until(None), "those were before");
    }

    #[test]
    fn readers_hear_of_a_burst_at_once_and_of_a_stream_soon() {
        let at = |micros| Time::ZERO + Duration::from_micros(micros);
        let mut rest = Rest::default();
        assert!(!rest.tells_before_sleep(true), "of what?");
        rest.came(MANY);
        rest.handed_over(at(0), 10);
        assert!(rest.tells_before_sleep(true), "this may be all for now");
        rest.sleep(None, true);
        rest.came(MANY);
        rest.handed_over(at(50), 10);
        assert!(!rest.tells(at(60)) && !rest.tells_before_sleep(true), "more will come");
        rest.sleep(None, true);
        rest.came(MANY);
        rest.handed_over(at(120), MOST_UNTOLD - 11);
        assert!(!rest.tells(at(149)) && rest.tells(at(150)), "it has been kept for long");
        rest.handed_over(at(150), MOST_UNTOLD);
        assert!(rest.tells(at(150)), "it is much");
        assert!(!rest.tells(at(151)) && !rest.tells(at(1000)));
        rest.handed_over(at(1000), 1);
        rest.sleep(None, true);
        rest.came(1);
        assert!(rest.tells_before_sleep(true), "the stream has ended");
    }
}
