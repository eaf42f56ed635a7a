//! One type for every discipline.

use crate::{
    CoDel, Discipline, DisciplineSpec, Dropped, Drr, Entry, FairQueueing, Fcfs, FqCoDel, Pie, Priority,
    RandomDrop, Red, Sfq,
};
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
    /// Stochastic Fairness Queueing.
    Sfq(Box<Sfq>),
    /// Deficit Round Robin.
    Drr(Box<Drr>),
    /// Random Early Detection.
    Red(Box<Red>),
    /// CoDel.
    CoDel(Box<CoDel>),
    /// FQ-CoDel.
    FqCoDel(Box<FqCoDel>),
    /// PIE.
    Pie(Box<Pie>),
    /// Strict priority.
    Priority(Box<Priority>),
}

/// Calls a method of the discipline, whichever it is. First come, first served is asked for first, as most queues are that.
macro_rules! each {
    ($any:expr, $queue:ident => $call:expr) => {
        if let Any::Fcfs($queue) = $any {
            $call
        } else {
            match $any {
                Any::Fcfs($queue) => $call,
                Any::RandomDrop($queue) => $call,
                Any::FairQueueing($queue) => $call,
                Any::Sfq($queue) => $call,
                Any::Drr($queue) => $call,
                Any::Red($queue) => $call,
                Any::CoDel($queue) => $call,
                Any::FqCoDel($queue) => $call,
                Any::Pie($queue) => $call,
                Any::Priority($queue) => $call,
            }
        }
    };
}

impl Any {
    /// The discipline that `spec` describes, empty.
    ///
    /// `stream` makes the random stream for a purpose; it is called only for a discipline that draws. The purposes
    /// are part of what makes a run repeatable: `random-drop`, `sfq`, `drr` (where flows are hashed), `red`, `fq-codel`,
    /// `pie`.
    pub fn new(spec: &DisciplineSpec, stream: impl FnOnce(&'static str) -> Stream) -> Self {
        match *spec {
            DisciplineSpec::Fcfs { limit } => Self::Fcfs(Fcfs::new(limit)),
            DisciplineSpec::RandomDrop { limit } => {
                Self::RandomDrop(Box::new(RandomDrop::new(limit, stream("random-drop"))))
            }
            DisciplineSpec::FairQueueing { limit, config } => {
                Self::FairQueueing(Box::new(FairQueueing::new(limit, config)))
            }
            DisciplineSpec::Sfq { limit, config } => {
                Self::Sfq(Box::new(Sfq::new(limit, config, stream("sfq"))))
            }
            DisciplineSpec::Drr { limit, config } => {
                Self::Drr(Box::new(Drr::new(limit, config, || stream("drr"))))
            }
            DisciplineSpec::Red { limit, config } => {
                Self::Red(Box::new(Red::new(limit, config, stream("red"))))
            }
            DisciplineSpec::CoDel { limit, config } => Self::CoDel(Box::new(CoDel::new(limit, config))),
            DisciplineSpec::FqCoDel { limit, config } => {
                Self::FqCoDel(Box::new(FqCoDel::new(limit, config, stream("fq-codel"))))
            }
            DisciplineSpec::Pie { limit, config } => {
                Self::Pie(Box::new(Pie::new(limit, config, stream("pie"))))
            }
            DisciplineSpec::Priority { limit, config } => {
                Self::Priority(Box::new(Priority::new(limit, config)))
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
    use crate::{
        CoDelConfig, DrrConfig, FairQueueingConfig, FqCoDelConfig, Limit, PieConfig, PriorityConfig,
        RedConfig, SfqConfig,
    };

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
        let hashed = DrrConfig { buckets: Some(8), ..DrrConfig::default() };
        let all = [
            DisciplineSpec::Fcfs { limit },
            DisciplineSpec::RandomDrop { limit },
            DisciplineSpec::FairQueueing { limit, config: FairQueueingConfig::default() },
            DisciplineSpec::Sfq { limit, config: SfqConfig::default() },
            DisciplineSpec::Drr { limit, config: DrrConfig::default() },
            DisciplineSpec::Drr { limit, config: hashed },
            DisciplineSpec::Red { limit, config: RedConfig::default() },
            DisciplineSpec::CoDel { limit, config: CoDelConfig::default() },
            DisciplineSpec::FqCoDel { limit, config: FqCoDelConfig::default() },
            DisciplineSpec::Pie { limit, config: PieConfig::default() },
            DisciplineSpec::Priority { limit, config: PriorityConfig::default() },
        ];
        for spec in all {
            let before = asked.len();
            Any::new(&spec, |purpose| {
                asked.push(purpose);
                Stream::new(1, purpose, 0)
            });
            assert_eq!(asked.len() > before, spec.is_random());
        }
        assert_eq!(asked, ["random-drop", "sfq", "drr", "red", "fq-codel", "pie"]);
    }
}
