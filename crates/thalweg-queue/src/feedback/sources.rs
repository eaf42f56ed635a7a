//! The table of the sources that send through a queue.

use super::{FlowId, Source};
use std::collections::BTreeMap;
use thalweg_proto::units::{Duration, Time};

/// The sources whose packets came to a queue in the current routing interval, or still wait in it.
///
/// It is built from the packets themselves and emptied at the end of each interval, apart from the sources that have
/// packets in the queue. It needs no timer: it is brought up to date by whoever asks it.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    interval: Duration,
    /// The time at which the current interval ends.
    ends: Time,
    table: BTreeMap<FlowId, Known>,
}

/// The entry of a source in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// Its packets that wait.
    pub waiting: u64,
    /// Links to it.
    pub hops: u32,
    /// Its latest packet carried another router's mark.
    pub told: bool,
    /// This router has sent it a message since it was last all right.
    pub informed: bool,
}

impl Sources {
    /// An empty table; an `interval` of zero never ends.
    pub const fn new(interval: Duration) -> Self {
        Self { interval, ends: Time::ZERO, table: BTreeMap::new() }
    }

    /// Ends the interval if it is over.
    fn turn(&mut self, now: Time) {
        if now < self.ends || self.interval.is_zero() {
            return;
        }
        self.table.retain(|_, known| known.waiting > 0);
        let past = now.as_picos() / self.interval.as_picos();
        self.ends = Time::from_picos((past + 1).saturating_mul(self.interval.as_picos()));
    }

    /// A packet of a source came, to wait or not.
    pub fn arrive(&mut self, now: Time, source: Source, waits: bool) {
        self.turn(now);
        let known = self.table.entry(source.flow).or_default();
        known.waiting += u64::from(waits);
        (known.hops, known.told) = (source.hops, source.told);
    }

    /// A packet that waited does so no more.
    pub fn leave(&mut self, flow: FlowId) {
        if let Some(known) = self.table.get_mut(&flow) {
            known.waiting = known.waiting.saturating_sub(1);
        }
    }

    /// The entry of a flow's source, if the table has one.
    pub fn get(&self, flow: FlowId) -> Option<&Known> {
        self.table.get(&flow)
    }

    /// All sources, by the numbers of their flows.
    pub fn iter(&mut self, now: Time) -> impl Iterator<Item = (FlowId, &mut Known)> {
        self.turn(now);
        self.table.iter_mut().map(|(flow, known)| (*flow, known))
    }
}

#[cfg(test)]
mod tests {
    //! Proves when a source is in the table and when it is forgotten.
    use super::*;

    const fn at(seconds: u64) -> Time {
        Time::from_picos(seconds * 1_000_000_000_000)
    }

    const fn source(flow: u64) -> Source {
        Source { flow: FlowId(flow), hops: 1, told: false }
    }

    fn flows(sources: &mut Sources, now: Time) -> Vec<u64> {
        sources.iter(now).map(|(flow, _)| flow.0).collect()
    }

    #[test]
    fn a_source_is_forgotten_at_the_end_of_the_interval_in_which_it_sent_last() {
        // Intervals of 10 s from the start: 1 sends in the first, 2 in the first and the second, 3 in the second.
        let mut sources = Sources::new(Duration::from_secs(10));
        sources.arrive(at(1), source(1), false);
        sources.arrive(at(9), source(2), false);
        assert_eq!(flows(&mut sources, at(9)), [1, 2]);
        sources.arrive(at(10), source(2), false);
        sources.arrive(at(19), source(3), false);
        assert_eq!(flows(&mut sources, at(19)), [2, 3]);
        assert_eq!(flows(&mut sources, at(40)), [] as [u64; 0]);
    }

    #[test]
    fn a_source_with_packets_in_the_queue_is_kept() {
        // 1 has two packets waiting at the first reset and one at the second; after that has left it goes.
        let mut sources = Sources::new(Duration::from_secs(10));
        sources.arrive(at(1), source(1), true);
        sources.arrive(at(1), source(1), true);
        assert_eq!(flows(&mut sources, at(11)), [1]);
        sources.leave(FlowId(1));
        assert_eq!(flows(&mut sources, at(21)), [1]);
        sources.leave(FlowId(1));
        assert_eq!(flows(&mut sources, at(29)), [1]);
        assert_eq!(flows(&mut sources, at(31)), [] as [u64; 0]);
    }

    #[test]
    fn without_an_interval_nobody_is_forgotten() {
        let mut sources = Sources::new(Duration::ZERO);
        sources.arrive(at(1), source(1), false);
        assert_eq!(flows(&mut sources, Time::MAX), [1]);
    }
}
