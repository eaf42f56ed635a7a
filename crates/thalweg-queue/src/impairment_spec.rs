//! Impairments as plain data, and errors of descriptions.

use std::fmt;
use std::sync::Arc;
use thalweg_proto::units::{Bytes, Duration};

/// Impairments of a wire besides delay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImpairmentSpec {
    /// Loss process.
    pub loss: LossSpec,
    /// Probability of duplication, 0 to 1.
    pub duplicate: f64,
    /// Share of the previous packet's random number in the current one, 0 to 1: netem's duplicate correlation.
    pub duplicate_correlation: f64,
    /// Probability of corruption, 0 to 1; the receiver drops corrupted packets.
    pub corrupt: f64,
    /// Correlation of corruption, 0 to 1.
    pub corrupt_correlation: f64,
    /// Reordering by delaying some packets.
    pub reorder: Option<ReorderSpec>,
    /// Maximum packet size; larger packets are lost.
    pub largest: Option<Bytes>,
}

/// Reordering parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReorderSpec {
    /// Probability of a delay per packet, 0 to 1.
    pub probability: f64,
    /// Maximum delay; uniform from zero.
    pub delay: Duration,
    /// Share of the previous packet's random number in the current one, 0 to 1: netem's reorder correlation.
    pub correlation: f64,
}

/// Loss process of a wire.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum LossSpec {
    /// No losses.
    #[default]
    None,
    /// Independent losses with equal probability.
    Uniform {
        /// Loss probability, 0 to 1.
        probability: f64,
    },
    /// Two-state Markov chain that steps after each packet (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// Transition probability from the good to the bad state.
        good_to_bad: f64,
        /// Transition probability from the bad to the good state.
        bad_to_good: f64,
        /// Loss probability in the good state.
        loss_good: f64,
        /// Loss probability in the bad state.
        loss_bad: f64,
    },
    /// Correlated losses, as in netem (Linux): a packet's number is the previous one with weight `correlation`, and for
    /// the rest uniform in 0 to 1. The packet is lost if its number is below the probability.
    Correlated {
        /// Loss probability, 0 to 1.
        probability: f64,
        /// Correlation, 0 to 1.
        correlation: f64,
    },
    /// Periodic losses: packets whose number, from 1, is a multiple of `every`.
    Periodic {
        /// Loss period in packets, at least 1.
        every: u64,
    },
    /// Bit errors: a packet of n bytes arrives with probability (1 - rate)^(8 n).
    BitErrors {
        /// Bit error rate, 0 to 1.
        rate: f64,
    },
    /// List of lost packets in ascending order, numbered from 1 in the order of entry to the wire. If the list takes
    /// effect later, numbering starts with the next packet.
    List(Arc<[u64]>),
}

impl ImpairmentSpec {
    /// Checks that all values are in range.
    ///
    /// # Errors
    /// Returns the first value out of range as a [`SpecError`].
    pub fn check(&self) -> Result<(), SpecError> {
        self.loss.check()?;
        check_probability("duplicate", self.duplicate)?;
        check_share("duplicate.correlation", self.duplicate_correlation)?;
        check_probability("corrupt", self.corrupt)?;
        check_share("corrupt.correlation", self.corrupt_correlation)?;
        self.reorder.map_or(Ok(()), |reorder| reorder.check())
    }

    /// Returns true if every packet arrives once, intact and in order.
    pub fn is_transparent(&self) -> bool {
        self.loss.is_lossless()
            && self.duplicate <= 0.0
            && self.corrupt <= 0.0
            && self.reorder.is_none_or(|reorder| reorder.probability <= 0.0)
            && self.largest.is_none()
    }
}

impl ReorderSpec {
    /// Checks that probability and correlation lie within 0 and 1. Any delay is valid.
    ///
    /// # Errors
    /// Returns [`SpecError::Probability`] or [`SpecError::Share`].
    pub fn check(&self) -> Result<(), SpecError> {
        check_probability("reorder.probability", self.probability)?;
        check_share("reorder.correlation", self.correlation)
    }
}

impl LossSpec {
    /// Checks that probabilities lie within 0 and 1, and that a list ascends from 1 or more.
    ///
    /// # Errors
    /// Returns the first invalid value as a [`SpecError`].
    pub fn check(&self) -> Result<(), SpecError> {
        match *self {
            Self::None => Ok(()),
            Self::Uniform { probability: p } => check_probability("loss.probability", p),
            Self::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                check_probability("loss.good_to_bad", good_to_bad)?;
                check_probability("loss.bad_to_good", bad_to_good)?;
                check_probability("loss.loss_good", loss_good)?;
                check_probability("loss.loss_bad", loss_bad)
            }
            Self::Correlated { probability: p, correlation } => {
                check_probability("loss.probability", p)?;
                check_share("loss.correlation", correlation)
            }
            Self::Periodic { every } => above_zero("loss.every", every as f64),
            Self::BitErrors { rate } => check_probability("loss.rate", rate),
            Self::List(ref packets) => {
                let mut last = 0;
                for (position, &found) in packets.iter().enumerate() {
                    if found <= last {
                        return Err(SpecError::LossList { position, found, above: last });
                    }
                    last = found;
                }
                Ok(())
            }
        }
    }
}

pub(crate) fn check_probability(what: &'static str, value: f64) -> Result<(), SpecError> {
    // NaN is in no range.
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(SpecError::Probability { what, value }) }
}

pub(crate) fn check_share(what: &'static str, value: f64) -> Result<(), SpecError> {
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(SpecError::Share { what, value }) }
}

pub(crate) fn above_zero(what: &'static str, value: f64) -> Result<(), SpecError> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(SpecError::NotAboveZero { what, value }) }
}

/// Reason for an invalid description of a queue or of impairments.
#[derive(Clone, Debug, PartialEq)]
pub enum SpecError {
    /// Probability outside 0 to 1.
    Probability {
        /// Name of the value, as a path from the checked description.
        what: &'static str,
        /// Invalid value.
        value: f64,
    },
    /// Parameter not above zero, or not finite.
    NotAboveZero {
        /// Name of the parameter.
        what: &'static str,
        /// Invalid value.
        value: f64,
    },
    /// Share outside 0 to 1.
    Share {
        /// Name of the value.
        what: &'static str,
        /// Invalid value.
        value: f64,
    },
    /// Number above its maximum.
    TooMany {
        /// Name of the parameter.
        what: &'static str,
        /// Maximum.
        max: u32,
        /// Invalid value.
        found: u32,
    },
    /// Number that is not a multiple of another.
    NotMultiple {
        /// Name of the parameter.
        what: &'static str,
        /// Divisor.
        of: u32,
        /// Invalid value.
        found: u32,
    },
    /// Queue thresholds that are negative or out of order.
    Thresholds {
        /// Minimum threshold.
        min: f64,
        /// Maximum threshold.
        max: f64,
    },
    /// Value too small, or not a number.
    TooSmall {
        /// Name of the value.
        what: &'static str,
        /// Invalid value.
        value: f64,
    },
    /// List of lost packets that is not strictly ascending, or contains a zero.
    LossList {
        /// Position in the list, from 0.
        position: usize,
        /// Number at that position.
        found: u64,
        /// Previous number, or zero at the start; the number must be larger.
        above: u64,
    },
    /// Sleep states of a transmitter that are not ordered by time and depth.
    Sleep,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Probability { what, value } => {
                write!(f, "`{what}` is a probability, so it must lie between 0 and 1, but it is {value}")
            }
            Self::NotAboveZero { what, value } => {
                write!(f, "`{what}` must be a number above zero, but it is {value}")
            }
            Self::TooMany { what, max, found } => {
                write!(f, "`{what}` must be at most {max}, but it is {found}")
            }
            Self::NotMultiple { what, of, found } => {
                write!(f, "`{what}` must be a multiple of {of}, but it is {found}")
            }
            Self::Thresholds { min, max } => {
                write!(f, "the minimum threshold must be below the maximum, but they are {min} and {max}")
            }
            Self::Share { what, value } => {
                write!(f, "`{what}` is a share, so it must lie between 0 and 1, but it is {value}")
            }
            Self::TooSmall { what, value } => write!(f, "`{what}` is {value}, which is too small"),
            Self::LossList { position, found, above: 0 } => {
                write!(
                    f,
                    "entry {} of the list of lost packets is {found}, but packets are numbered from 1",
                    position + 1
                )
            }
            Self::Sleep => f.write_str(
                "each state of sleep must begin later than the one before, and take longer to wake from",
            ),
            Self::LossList { position, found, above } => write!(
                f,
                "the list of lost packets must ascend, but entry {} is {found} after {above}",
                position + 1
            ),
        }
    }
}

impl std::error::Error for SpecError {}

#[cfg(test)]
mod tests {
    //! Proves that values out of range are refused and named.
    use super::*;

    #[test]
    fn probabilities_lie_between_zero_and_one() {
        // The borders are fine; NaN and anything beyond is not, wherever it stands.
        for good in [0.0, 0.5, 1.0] {
            assert_eq!(LossSpec::Uniform { probability: good }.check(), Ok(()));
        }
        for bad in [-0.1, 1.000_001, f64::INFINITY] {
            let reorder = Some(ReorderSpec { probability: bad, delay: Duration::ZERO, correlation: 0.0 });
            for (what, spec) in [
                ("duplicate", ImpairmentSpec { duplicate: bad, ..ImpairmentSpec::default() }),
                ("corrupt", ImpairmentSpec { corrupt: bad, ..ImpairmentSpec::default() }),
                ("reorder.probability", ImpairmentSpec { reorder, ..ImpairmentSpec::default() }),
                (
                    "loss.probability",
                    ImpairmentSpec {
                        loss: LossSpec::Uniform { probability: bad },
                        ..ImpairmentSpec::default()
                    },
                ),
            ] {
                assert_eq!(spec.check(), Err(SpecError::Probability { what, value: bad }));
            }
        }
        assert!(LossSpec::Uniform { probability: f64::NAN }.check().is_err());
    }

    #[test]
    fn each_value_of_a_chain_is_checked() {
        // One of the four is wrong in turn, and the error names it.
        let names = ["loss.good_to_bad", "loss.bad_to_good", "loss.loss_good", "loss.loss_bad"];
        for (wrong, what) in names.into_iter().enumerate() {
            let value = |i| if i == wrong { 1.5 } else { 0.5 };
            let spec = LossSpec::GilbertElliott {
                good_to_bad: value(0),
                bad_to_good: value(1),
                loss_good: value(2),
                loss_bad: value(3),
            };
            assert_eq!(spec.check(), Err(SpecError::Probability { what, value: 1.5 }));
        }
    }

    #[test]
    fn a_list_ascends_from_one() {
        // Zero, a repetition and a step back are refused, with the place.
        let check = |list: &[u64]| LossSpec::List(list.into()).check();
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&[1, 2, 9]), Ok(()));
        assert_eq!(check(&[0, 2]), Err(SpecError::LossList { position: 0, found: 0, above: 0 }));
        assert_eq!(check(&[3, 3]), Err(SpecError::LossList { position: 1, found: 3, above: 3 }));
        assert_eq!(
            check(&[3, 4, 1]).unwrap_err().to_string(),
            "the list of lost packets must ascend, but entry 3 is 1 after 4"
        );
    }
}
