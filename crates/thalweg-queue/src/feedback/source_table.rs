//! Table of the sources that send through a queue.

use super::{FlowId, Source};
use std::collections::BTreeMap;
use thalweg_proto::units::{Duration, Time};

/// Sources whose packets arrived at a queue in the current routing interval, or are still queued.
///
/// The table is built from packets. At the end of each interval it is cleared, except for sources with queued packets.
/// It needs no timer: each access updates it.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    interval: Duration,
    /// End of the current interval.
    ends: Time,
    table: BTreeMap<FlowId, SourceState>,
}

/// Entry of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SourceState {
    /// Number of its queued packets.
    pub queued_packets: u64,
    /// Distance, in links.
    pub hops: u32,
    /// True if its latest packet carried another router's mark.
    pub is_notified: bool,
    /// True if this router has notified it during the current congestion.
    pub informed: bool,
}

impl Sources {
    /// Creates an empty table; an `interval` of zero never ends.
    pub const fn new(interval: Duration) -> Self {
        Self { interval, ends: Time::ZERO, table: BTreeMap::new() }
    }

    /// Ends the interval if it is over.
    fn expire_interval(&mut self, now: Time) {
        if now < self.ends || self.interval.is_zero() {
            return;
        }
        self.table.retain(|_, state| state.queued_packets > 0);
        let past = now.as_picos() / self.interval.as_picos();
        self.ends = Time::from_picos((past + 1).saturating_mul(self.interval.as_picos()));
    }

    /// Records a packet's arrival, queued or not.
    pub fn arrive(&mut self, now: Time, source: Source, waits: bool) {
        self.expire_interval(now);
        let state = self.table.entry(source.flow).or_default();
        state.queued_packets += u64::from(waits);
        (state.hops, state.is_notified) = (source.hops, source.is_notified);
    }

    /// Records that a packet is no longer queued.
    pub fn leave(&mut self, flow: FlowId) {
        if let Some(state) = self.table.get_mut(&flow) {
            state.queued_packets = state.queued_packets.saturating_sub(1);
        }
    }

    /// Returns the entry of a flow's source, if any.
    pub fn get(&self, flow: FlowId) -> Option<&SourceState> {
        self.table.get(&flow)
    }

    /// Returns all sources in order of flow identifiers.
    pub fn iter(&mut self, now: Time) -> impl Iterator<Item = (FlowId, &mut SourceState)> {
        self.expire_interval(now);
        self.table.iter_mut().map(|(flow, state)| (*flow, state))
    }
}

#[cfg(test)]
mod tests {
    //! Tests the entry and expiry of sources in the table.
    use super::*;

    const fn at(seconds: u64) -> Time {
        Time::from_picos(seconds * 1_000_000_000_000)
    }

    const fn source(flow: u64) -> Source {
        Source { flow: FlowId(flow), hops: 1, is_notified: false }
    }

    fn flows(sources: &mut Sources, now: Time) -> Vec<u64> {
        sources.iter(now).map(|(flow, _)| flow.0).collect()
    }

    #[test]
    fn a_source_expires_at_the_end_of_its_last_active_interval() {
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
        // 1 has two queued packets at the first reset and one at the second; its entry expires after that packet has
        // left.
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
    fn without_an_interval_sources_never_expire() {
        let mut sources = Sources::new(Duration::ZERO);
        sources.arrive(at(1), source(1), false);
        assert_eq!(flows(&mut sources, Time::MAX), [1]);
    }
}
