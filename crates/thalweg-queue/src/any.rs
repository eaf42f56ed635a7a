//! One type for every discipline.

use crate::{Discipline, DisciplineSpec, Dropped, Entry, FairQueueing, Fcfs, RandomDrop};
use thalweg_proto::random::Stream;
use thalweg_proto::units::{Rate, Time};

/// Any discipline, chosen when it is made and called without dynamic dispatch.
///
/// Only [`Fcfs`] stands in the value itself: it is what most queues of a large network are, and mostly they are
/// empty. A larger discipline is boxed, so that it does not make every queue larger.
#[derive(Clone, Debug)]
pub enum Any {
    /// First come, first served.
    Fcfs(Fcfs),
    /// Random Drop.
    RandomDrop(Box<RandomDrop>),
    /// Fair Queueing.
    FairQueueing(Box<FairQueueing>),
}

/// Calls a method of the discipline, whichever it is.
macro_rules! each {
    ($any:expr, $queue:ident => $call:expr) => {
        match $any {
            Any::Fcfs($queue) => $call,
            Any::RandomDrop($queue) => $call,
            Any::FairQueueing($queue) => $call,
        }
    };
}

impl Any {
    /// The discipline that `spec` describes, empty.
    ///
    /// `stream` makes the random stream for a purpose; it is called only for a discipline that draws. The purposes
    /// are part of what makes a run repeatable: `random-drop`.
    pub fn new(spec: &DisciplineSpec, stream: impl FnOnce(&'static str) -> Stream) -> Self {
        match *spec {
            DisciplineSpec::Fcfs { limit } => Self::Fcfs(Fcfs::new(limit)),
            DisciplineSpec::RandomDrop { limit } => {
                Self::RandomDrop(Box::new(RandomDrop::new(limit, stream("random-drop"))))
            }
            DisciplineSpec::FairQueueing { limit, config } => {
                Self::FairQueueing(Box::new(FairQueueing::new(limit, config)))
            }
        }
    }
}

impl Discipline for Any {
    #[inline]
    fn enqueue(&mut self, now: Time, entry: Entry, dropped: &mut Vec<Dropped>) {
        each!(self, queue => queue.enqueue(now, entry, dropped));
    }

    #[inline]
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Dropped>) -> Option<Entry> {
        each!(self, queue => queue.dequeue(now, dropped))
    }

    #[inline]
    fn peek(&self) -> Option<&Entry> {
        each!(self, queue => queue.peek())
    }

    #[inline]
    fn packets(&self) -> u64 {
        each!(self, queue => queue.packets())
    }

    #[inline]
    fn bytes(&self) -> u64 {
        each!(self, queue => queue.bytes())
    }

    fn set_rate(&mut self, rate: Rate) {
        each!(self, queue => queue.set_rate(rate));
    }
}

#[cfg(test)]
mod tests {
    //! Proves that the common type adds nothing: no memory, no stream that is not needed.
    use super::*;
    use crate::{FairQueueingConfig, Limit};

    #[test]
    fn it_is_as_small_as_the_smallest_discipline() {
        // 40 000 empty queues are 2.5 MB.
        assert!(size_of::<Any>() <= 64, "{}", size_of::<Any>());
    }

    #[test]
    fn a_stream_is_made_only_for_a_discipline_that_draws() {
        // The purpose names the stream, so it must not change.
        let mut asked = Vec::new();
        let limit = Limit::Packets(1);
        let config = FairQueueingConfig::default();
        for spec in [
            DisciplineSpec::Fcfs { limit },
            DisciplineSpec::RandomDrop { limit },
            DisciplineSpec::FairQueueing { limit, config },
        ] {
            Any::new(&spec, |purpose| {
                asked.push(purpose);
                Stream::new(1, purpose, 0)
            });
        }
        assert_eq!(asked, ["random-drop"]);
    }
}
