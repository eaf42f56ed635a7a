//! Flows and links with series, and their quantities.

use crate::measure::Visits;
use crate::result::Quantity;

/// Maximum number of core directions with series; more have totals only.
pub(crate) const MAX_WATCHED_LINKS: usize = 64;
/// Quantities recorded for a watched flow, in order.
pub(crate) const FLOW_SERIES: [Quantity; 7] = [
    Quantity::Window,
    Quantity::InFlight,
    Quantity::Rtt,
    Quantity::PacingRate,
    Quantity::Goodput,
    Quantity::Unread,
    Quantity::Ssthresh,
];
/// Quantities recorded for a watched direction, in order.
pub(crate) const LINK_SERIES: [Quantity; 6] = [
    Quantity::QueuePackets,
    Quantity::QueueBytes,
    Quantity::Drops,
    Quantity::Marks,
    Quantity::LinkRate,
    Quantity::Feedback,
];

/// A flow with series: its recorders are the [`FLOW_SERIES`] from `recorders` on.
#[derive(Clone, Debug)]
pub(crate) struct WatchedFlow {
    pub flow: u32,
    pub recorders: usize,
    pub delivered: u64,
    /// The states of its congestion controller.
    pub visits: Visits,
}

impl WatchedFlow {
    pub fn new(flow: u32, recorders: usize) -> Self {
        Self { flow, recorders, delivered: 0, visits: Visits::default() }
    }
}

/// A direction with series: its recorders are the six from `recorders` on.
#[derive(Clone, Debug)]
pub(crate) struct WatchedLink {
    pub link: u32,
    pub recorders: usize,
    pub bytes: u64,
}
