//! Time-varying capacity, as a trace of delivery opportunities.

use std::fmt;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};

/// Delivery opportunities of a transmitter, as in mahimahi's trace files.
///
/// Each opportunity carries up to a fixed number of bytes; unused bytes are lost. The trace repeats when it ends:
/// opportunity i of repetition k, both from 0, is at `k * period + opportunities[i]`. A
/// [`CapacityClock`](crate::CapacityClock) replays it. [`read`](Self::read) and [`write`](Self::write) use mahimahi's
/// format; [`synthesise`](Self::synthesise) generates a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacityTrace {
    /// Times of the opportunities within one period, in non-descending order; several may coincide.
    pub opportunities: Vec<Time>,
    /// Length of one period; above zero, and at least the time of the last opportunity.
    pub period: Duration,
    /// Bytes per opportunity (1500 in mahimahi), above zero.
    pub bytes_per_opportunity: u32,
}

impl CapacityTrace {
    /// Checks that the trace is usable.
    ///
    /// # Errors
    /// Returns the first error as a [`CapacityError`].
    pub fn check(&self) -> Result<(), CapacityError> {
        if self.opportunities.is_empty() {
            return Err(CapacityError::Empty);
        }
        if self.bytes_per_opportunity == 0 {
            return Err(CapacityError::NoBytes);
        }
        if self.period.is_zero() {
            return Err(CapacityError::NoPeriod);
        }
        let mut last = Time::ZERO;
        for (position, &found) in self.opportunities.iter().enumerate() {
            if found < last {
                return Err(CapacityError::Descending { position, found, last });
            }
            last = found;
        }
        if last > Time::ZERO + self.period {
            return Err(CapacityError::BeyondPeriod { last, period: self.period });
        }
        Ok(())
    }

    /// Returns the mean rate over one period, rounded down; the maximum for a period of zero, which a check refuses.
    pub fn mean_rate(&self) -> Rate {
        Rate::from_transfer(
            Bytes::new(u64::from(self.bytes_per_opportunity)) * self.opportunities.len() as u64,
            self.period,
        )
    }
}

/// Reason for an invalid trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapacityError {
    /// Trace without opportunities.
    Empty,
    /// Opportunities of zero bytes.
    NoBytes,
    /// Period of zero.
    NoPeriod,
    /// Opportunity earlier than the previous one.
    Descending {
        /// Position of the opportunity, from 0.
        position: usize,
        /// Time of the opportunity.
        found: Time,
        /// Time of the previous opportunity.
        last: Time,
    },
    /// Last opportunity after the end of the period.
    BeyondPeriod {
        /// Time of the last opportunity.
        last: Time,
        /// Length of the period.
        period: Duration,
    },
}

impl fmt::Display for CapacityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a capacity trace needs at least one opportunity"),
            Self::NoBytes => f.write_str("an opportunity must carry at least one byte"),
            Self::NoPeriod => f.write_str("a capacity trace must last for longer than zero"),
            Self::Descending { position, found, last } => write!(
                f,
                "opportunity {} is at {found}, before the one ahead of it at {last}; times must not go back",
                position + 1
            ),
            Self::BeyondPeriod { last, period } => {
                write!(f, "the last opportunity is at {last}, after the end of the period of {period}")
            }
        }
    }
}

impl std::error::Error for CapacityError {}

#[cfg(test)]
mod tests {
    //! Tests that unusable traces are refused.
    use super::*;

    fn trace(millis: &[u64], period: u64, bytes: u32) -> CapacityTrace {
        let at = |&ms: &u64| Time::ZERO + Duration::from_millis(ms);
        CapacityTrace {
            opportunities: millis.iter().map(at).collect(),
            period: Duration::from_millis(period),
            bytes_per_opportunity: bytes,
        }
    }

    #[test]
    fn each_rule_is_checked() {
        // One trace violates each rule; boundary values are valid.
        assert_eq!(trace(&[0, 3, 3, 7], 7, 1).check(), Ok(()));
        assert_eq!(trace(&[0], 1, 1500).check(), Ok(()));
        assert_eq!(trace(&[], 7, 1500).check(), Err(CapacityError::Empty));
        assert_eq!(trace(&[1], 7, 0).check(), Err(CapacityError::NoBytes));
        assert_eq!(trace(&[0], 0, 1500).check(), Err(CapacityError::NoPeriod));
        assert!(matches!(
            trace(&[4, 3], 7, 1500).check(),
            Err(CapacityError::Descending { position: 1, .. })
        ));
        assert!(matches!(trace(&[8], 7, 1500).check(), Err(CapacityError::BeyondPeriod { .. })));
    }

    #[test]
    fn the_mean_rate_counts_every_opportunity_of_a_period() {
        // Two opportunities of 1500 bytes in 2 ms are 12 Mbit/s.
        assert_eq!(trace(&[1, 2], 2, 1500).mean_rate(), Rate::from_mbits_per_sec(12));
        assert_eq!(trace(&[1, 2], 0, 1500).mean_rate(), Rate::MAX);
    }
}
