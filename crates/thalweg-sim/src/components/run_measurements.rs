//! Measurements of a run beyond the counts of its flows and links.

use super::completion_times::TransferList;
use super::run_totals::RunTotals;
use super::series_recorders::SeriesRecorders;
use super::sstp_segment_delays::SegmentRecords;
use crate::simulation_spec::MeasureSpec;
use thalweg_proto::units::{Duration, Time};

/// Totals, series, and lists of segments and transfers.
#[derive(Debug)]
pub(crate) struct Measurements {
    pub warmup: Duration,
    pub tally: RunTotals,
    pub series: SeriesRecorders,
    pub segments: SegmentRecords,
    pub transfers: TransferList,
}

impl Measurements {
    /// Creates empty measurements for a run with this warm-up.
    pub fn new(warmup: Duration, spec: MeasureSpec) -> Self {
        Self {
            warmup,
            tally: RunTotals::new(warmup.is_zero()),
            series: SeriesRecorders::new(spec),
            segments: SegmentRecords::default(),
            transfers: TransferList::default(),
        }
    }

    /// Returns the end of the warm-up, from which on results count.
    pub fn counting_begins(&self) -> Time {
        Time::ZERO + self.warmup
    }

    /// Returns empty measurements for a partition, with or without flows.
    pub fn for_partition(&self, has_flows: bool) -> Self {
        Self {
            warmup: self.warmup,
            tally: RunTotals::new(self.tally.is_counting()),
            series: self.series.for_partition(has_flows),
            segments: SegmentRecords::default(),
            transfers: TransferList::default(),
        }
    }
}
