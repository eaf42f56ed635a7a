//! Series of bounded length.

use crate::run_result::{Quantity, Series};
use thalweg_proto::units::Time;

/// A recorder of at most `bound` points: when it is full, it drops every other point and halves its sampling rate.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    series: Series,
    bound: usize,
    /// Every `stride`-th offered point is kept.
    stride: u64,
    offered: u64,
}

impl Recorder {
    /// Returns an empty series of at most `bound` points, at least 2.
    pub fn new(quantity: Quantity, subject: u32, bound: u32) -> Self {
        let series = Series { quantity, subject, points: Vec::new() };
        Self { series, bound: bound.max(2) as usize, stride: 1, offered: 0 }
    }

    pub fn offer(&mut self, time: Time, value: f64) {
        if self.offered.is_multiple_of(self.stride) {
            if self.series.points.len() >= self.bound {
                let mut index = 0;
                self.series.points.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.stride *= 2;
            }
            if self.offered.is_multiple_of(self.stride) {
                self.series.points.push((time, value));
            }
        }
        self.offered += 1;
    }

    /// Returns the points so far.
    pub const fn series(&self) -> &Series {
        &self.series
    }

    pub fn finish(self) -> Series {
        self.series
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_is_thinned_evenly() {
        let mut recorder = Recorder::new(Quantity::Window, 0, 100);
        for i in 0..10_000u64 {
            recorder.offer(Time::from_picos(i), i as f64);
        }
        let points = recorder.finish().points;
        assert!((50..=100).contains(&points.len()), "{}", points.len());
        let gap = points[1].0.as_picos();
        assert!(points.windows(2).all(|pair| pair[1].0.since(pair[0].0).as_picos() == gap));
    }
}
