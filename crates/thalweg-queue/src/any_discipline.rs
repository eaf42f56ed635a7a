//! One type for all queue disciplines, selected at run time.

use crate::discipline_spec::CreatedQueue;
use crate::{AckFilter, ContractViolation, Discipline, DisciplineSpec, DroppedPacket, Entry, Limit};
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Rate, Time};

/// Any discipline, of this crate or another.
///
/// Only `Fcfs` is stored inline and called without dynamic dispatch: most queues of a large network use it, and most of
/// them are empty. Other disciplines are boxed, so they do not enlarge every queue.
#[derive(Debug)]
pub struct Any(CreatedQueue);

/// Calls a method of the discipline. FIFO, the most common one, is inlined in the caller; the others are kept out of
/// its way.
macro_rules! each {
    ($any:expr, $queue:ident => $call:expr) => {
        match $any {
            CreatedQueue::Fcfs($queue) => $call,
            CreatedQueue::Other($queue) => $call,
            CreatedQueue::External($queue) => $call,
        }
    };
}

impl Any {
    /// Creates an empty queue with the discipline described by `spec`.
    ///
    /// `stream` makes the random stream for a purpose. It is called only for a discipline that draws random numbers.
    /// The purposes are part of reproducible runs: `random-drop`, `sfq`, `drr` (with hashed flows), `red`, `fq-codel`,
    /// `cake`, `pie`.
    pub fn new(spec: &DisciplineSpec, mut stream: impl FnMut(&'static str) -> RandomStream) -> Self {
        Self(spec.make(&mut stream))
    }

    /// Returns the first contract violation of an external discipline, which is disabled from then on. Callers check it
    /// after each call.
    #[inline]
    pub fn violation(&self) -> Option<ContractViolation> {
        match &self.0 {
            CreatedQueue::External(external) => external.violation(),
            CreatedQueue::Fcfs(_) | CreatedQueue::Other(_) => None,
        }
    }
}

impl Any {
    /// Removes `superfluous` acknowledgements, as `filter` selects, now that `entry` arrived. Returns true if `entry`
    /// has replaced one of them and so is already queued. Only FIFO supports this.
    #[cold]
    pub fn filter(
        &mut self,
        filter: AckFilter,
        entry: Entry,
        superfluous: impl Fn(&Entry) -> bool,
        dropped: &mut Vec<DroppedPacket>,
    ) -> bool {
        match &mut self.0 {
            CreatedQueue::Fcfs(queue) => queue.filter(filter, entry, superfluous, dropped),
            CreatedQueue::Other(_) | CreatedQueue::External(_) => false,
        }
    }
}

impl Discipline for Any {
    #[inline(always)]
    fn enqueue(&mut self, now: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        each!(&mut self.0, queue => queue.enqueue(now, entry, dropped));
    }

    #[inline]
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        each!(&mut self.0, queue => queue.dequeue(now, dropped))
    }

    #[inline]
    fn peek(&self) -> Option<&Entry> {
        each!(&self.0, queue => queue.peek())
    }

    #[inline]
    fn packets(&self) -> u64 {
        each!(&self.0, queue => queue.packets())
    }

    #[inline]
    fn bytes(&self) -> u64 {
        each!(&self.0, queue => queue.bytes())
    }

    fn set_rate(&mut self, rate: Rate) {
        each!(&mut self.0, queue => queue.set_rate(rate));
    }

    fn set_hosts(&mut self, hosts: [u32; 2]) {
        each!(&mut self.0, queue => queue.set_hosts(hosts));
    }

    fn set_limit(&mut self, now: Time, limit: Limit, dropped: &mut Vec<DroppedPacket>) {
        each!(&mut self.0, queue => queue.set_limit(now, limit, dropped));
    }
}

#[cfg(test)]
mod tests {
    //! Tests that the common type adds no memory and requests no unneeded stream.
    use super::*;
    use crate::{
        CoDelConfig, DrrConfig, DualPi2Config, FairQueueingConfig, FqCoDelConfig, Limit, PieConfig,
        PriorityConfig, RandomDropConfig, RedConfig, SfqConfig,
    };

    #[test]
    fn it_is_as_small_as_the_smallest_discipline() {
        // 40 000 empty queues are 2.5 MB.
        assert!(size_of::<Any>() <= 64, "{}", size_of::<Any>());
    }

    #[test]
    fn a_stream_is_made_only_for_a_discipline_that_draws() {
        // The purpose names the stream, so it must not change.
        let mut purposes = Vec::new();
        let limit = Limit::Packets(1);
        let hashed = DrrConfig { buckets: Some(8), ..DrrConfig::default() };
        let all = [
            DisciplineSpec::fcfs(limit),
            DisciplineSpec::new(limit, RandomDropConfig),
            DisciplineSpec::new(limit, FairQueueingConfig::default()),
            DisciplineSpec::new(limit, SfqConfig::default()),
            DisciplineSpec::new(limit, DrrConfig::default()),
            DisciplineSpec::new(limit, hashed),
            DisciplineSpec::new(limit, RedConfig::default()),
            DisciplineSpec::new(limit, CoDelConfig::default()),
            DisciplineSpec::new(limit, FqCoDelConfig::default()),
            DisciplineSpec::new(limit, PieConfig::default()),
            DisciplineSpec::new(limit, DualPi2Config::default()),
            DisciplineSpec::new(limit, PriorityConfig::default()),
        ];
        for spec in all {
            let before = purposes.len();
            Any::new(&spec, |purpose| {
                purposes.push(purpose);
                RandomStream::new(1, purpose, 0)
            });
            assert_eq!(purposes.len() > before, spec.is_random());
        }
        assert_eq!(purposes, ["random-drop", "sfq", "drr", "red", "fq-codel", "pie"]);
    }
}
