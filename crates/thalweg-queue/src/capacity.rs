//! Capacity that varies over time, as a trace of opportunities to send.

use std::fmt;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};

/// The times at which so much may leave a transmitter, as the trace files of mahimahi tell them.
///
/// Each opportunity lets up to a fixed number of bytes go; what is not used is lost. The trace repeats when it ends:
/// opportunity i of repetition k, both from 0, is at `k * period + opportunities[i]`.
/// [`CapacityClock`](crate::CapacityClock) plays it, [`read`](Self::read) and [`write`](Self::write) exchange it with
/// mahimahi, and [`synthesise`](Self::synthesise) makes one up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacityTrace {
    /// The opportunities' times within one period; not descending, as several may be at the same time.
    pub opportunities: Vec<Time>,
    /// The length of one period, at least the last opportunity's time and above zero.
    pub period: Duration,
    /// Bytes an opportunity (1500 for mahimahi), above zero.
    pub bytes: u32,
}

impl CapacityTrace {
    /// Checks that a transmitter can run by the trace.
    ///
    /// # Errors
    /// [`CapacityError`] tells the first thing that is wrong.
    pub fn check(&self) -> Result<(), CapacityError> {
        if self.opportunities.is_empty() {
            return Err(CapacityError::Empty);
        }
        if self.bytes == 0 {
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

    /// The mean rate over one period, rounded down; the maximum for a period of zero, which a check refuses.
    pub fn mean_rate(&self) -> Rate {
        Rate::from_transfer(Bytes::new(u64::from(self.bytes)) * self.opportunities.len() as u64, self.period)
    }
}

/// The reason for which a trace cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapacityError {
    /// There is no opportunity.
    Empty,
    /// An opportunity carries no bytes.
    NoBytes,
    /// The period is zero.
    NoPeriod,
    /// An opportunity is earlier than the one before it.
    Descending {
        /// Its position, from 0.
        position: usize,
        /// Its time.
        found: Time,
        /// The time before it.
        last: Time,
    },
    /// The last opportunity is after the period's end.
    BeyondPeriod {
        /// The last opportunity's time.
        last: Time,
        /// The period.
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
    //! Proves that a trace which a transmitter cannot follow is refused.
    use super::*;

    fn trace(millis: &[u64], period: u64, bytes: u32) -> CapacityTrace {
        let at = |&ms: &u64| Time::ZERO + Duration::from_millis(ms);
        CapacityTrace {
            opportunities: millis.iter().map(at).collect(),
            period: Duration::from_millis(period),
            bytes,
        }
    }

    #[test]
    fn each_rule_is_checked() {
        // One trace breaks each rule; those at the borders are fine.
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
