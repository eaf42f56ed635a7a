//! Distributions of transfer sizes.

use std::sync::Arc;
use thalweg_proto::units::Bytes;

/// A distribution of sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeSpec {
    /// Constant size.
    Fixed(Bytes),
    /// Exponential with this mean, at least 1 byte.
    Exponential {
        /// The mean.
        mean: Bytes,
    },
    /// Pareto: heavy-tailed.
    Pareto {
        /// The smallest size.
        min: Bytes,
        /// The shape; without the maximum, the variance would be infinite up to 2, and the mean up to 1.
        shape: f64,
        /// Maximum size; larger draws are truncated.
        max: Bytes,
    },
    /// Logarithm normally distributed.
    LogNormal {
        /// The median.
        median: Bytes,
        /// The standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// Uniform between the two, inclusive.
    Uniform {
        /// The smallest size.
        min: Bytes,
        /// The largest size.
        max: Bytes,
    },
    /// Cumulative distribution: ascending sizes, each with the share of values not larger, ascending to 1. It is linear
    /// between two points.
    Table(Arc<[(Bytes, f64)]>),
}

impl SizeSpec {
    /// Returns the position and description of the first error in a table of sizes.
    pub fn table_fault(points: &[(Bytes, f64)]) -> Option<(usize, &'static str)> {
        let mut before = (Bytes::ZERO, 0.0);
        for (number, &(size, share)) in points.iter().enumerate() {
            let fault = if size == Bytes::ZERO {
                Some("a size has at least 1 B")
            } else if !(0.0..=1.0).contains(&share) {
                Some("a share lies between 0 and 1")
            } else if size < before.0 || share < before.1 {
                Some("sizes and shares ascend")
            } else {
                None
            };
            if let Some(fault) = fault {
                return Some((number, fault));
            }
            before = (size, share);
        }
        let last = points.len().saturating_sub(1);
        (before.1 < 1.0).then_some((last, "the last share is 100 %: no transfer is larger"))
    }

    /// Returns the mean in bytes.
    pub fn mean(&self) -> f64 {
        let bytes = |size: &Bytes| size.get() as f64;
        match self {
            Self::Fixed(size) | Self::Exponential { mean: size } => bytes(size),
            Self::Uniform { min, max } => (bytes(min) + bytes(max)) / 2.0,
            Self::LogNormal { median, sigma } => bytes(median) * libm::exp(sigma * sigma / 2.0),
            Self::Pareto { min, shape, max } => {
                // The part below the maximum, and the maximum itself for the rest.
                let (low, high, a) = (bytes(min), bytes(max), *shape);
                let beyond = libm::pow(low / high, a);
                let below = if (a - 1.0).abs() < 1e-9 {
                    low * libm::log(high / low)
                } else {
                    a / (a - 1.0) * (low - high * beyond)
                };
                below + high * beyond
            }
            Self::Table(points) => {
                let first = points.first().map_or(0.0, |(size, share)| bytes(size) * share);
                let between = points
                    .windows(2)
                    .map(|pair| (pair[1].1 - pair[0].1) * (bytes(&pair[0].0) + bytes(&pair[1].0)) / 2.0);
                first + between.sum::<f64>()
            }
        }
    }
}
