//! The flows and links that have series, and the quantities of these.

use crate::measure::Visits;
use crate::result::Quantity;

/// Core directions that have series at most; further ones only have totals.
pub(crate) const MAX_WATCHED_LINKS: usize = 64;
/// The quantities that a watched flow records, in order.
pub(crate) const FLOW_SERIES: [Quantity; 7] = [
    Quantity::Window,
    Quantity::InFlight,
    Quantity::Rtt,
    Quantity::PacingRate,
    Quantity::Goodput,
    Quantity::Unread,
    Quantity::Ssthresh,
];
/// The quantities that a watched direction records, in order.
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
