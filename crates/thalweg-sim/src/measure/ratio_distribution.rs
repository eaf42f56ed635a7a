//! A distribution of ratios.

use crate::run_result;
use thalweg_proto::histogram::{Histogram, Summary};
use thalweg_proto::units::Duration;

/// Histogram of ratios in the buckets of durations: a ratio of one billionth is one picosecond.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ratios(Histogram);

const BILLION: f64 = 1e9;

impl Ratios {
    pub fn record(&mut self, ratio: f64) {
        self.0.record(Duration::from_picos((ratio * BILLION) as u64));
    }

    pub fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
    }

    pub fn summary(&self) -> run_result::Ratios {
        let Summary { count, mean, p50, p95, p99, p999, max, .. } = self.0.summary();
        let [mean, p50, p95, p99, p999, max] =
            [mean, p50, p95, p99, p999, max].map(|of| of.as_picos() as f64 / BILLION);
        run_result::Ratios { count, mean, p50, p95, p99, p999, max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_keep_their_mean() {
        let mut ratios = Ratios::default();
        [1.0, 1.5, 12.5].into_iter().for_each(|ratio| ratios.record(ratio));
        let summary = ratios.summary();
        assert_eq!((summary.count, summary.mean, summary.max), (3, 5.0, 12.5));
        assert!((summary.p50 / 1.5 - 1.0).abs() < 0.016);
    }
}
