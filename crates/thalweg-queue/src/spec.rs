//! Impairments as plain data, and what is wrong with descriptions.

use std::fmt;
use std::sync::Arc;
use thalweg_proto::units::{Bytes, Duration};

/// The treatment of packets by a wire beyond delay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImpairmentSpec {
    /// The packets that are lost.
    pub loss: LossSpec,
    /// The probability that a packet arrives twice, 0 to 1.
    pub duplicate: f64,
    /// The share of the packet before in the number that decides on this one, 0 to 1: netem's correlation of duplicates.
    pub duplicate_correlation: f64,
    /// The probability that a packet arrives damaged, so that its receiver drops it, 0 to 1.
    pub corrupt: f64,
    /// The same share for damage.
    pub corrupt_correlation: f64,
    /// Packets that are held back, so that later ones pass.
    pub reorder: Option<ReorderSpec>,
    /// Packets that are larger than this are lost.
    pub largest: Option<Bytes>,
}

/// Packets that are held back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReorderSpec {
    /// The probability for each packet, 0 to 1.
    pub probability: f64,
    /// The time for which the packet is held, uniform between zero and this.
    pub delay: Duration,
    /// The share of the packet before in the number that decides whether this one is held, 0 to 1: netem's correlation.
    pub correlation: f64,
}

/// The choice of the packets that a wire loses.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum LossSpec {
    /// None.
    #[default]
    None,
    /// Each with this probability, independently.
    Uniform {
        /// The probability, 0 to 1.
        probability: f64,
    },
    /// A two-state Markov chain that steps after each packet (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// The probability to go from the good to the bad state.
        good_to_bad: f64,
        /// The probability to go from the bad to the good state.
        bad_to_good: f64,
        /// The loss probability in the good state.
        loss_good: f64,
        /// The loss probability in the bad state.
        loss_bad: f64,
    },
    /// Each with this probability, and the more alike its neighbours as netem (Linux) has it: its number is that of the packet before
    /// by the share `correlation`, and for the rest uniform in 0 to 1; it is lost where that is below the probability.
    Correlated {
        /// The probability, 0 to 1.
        probability: f64,
        /// The correlation, 0 to 1.
        correlation: f64,
    },
    /// Those whose number, from 1, is a multiple of this.
    Periodic {
        /// The distance of two lost packets, at least 1.
        every: u64,
    },
    /// Those of which a bit is damaged: a packet of n bytes arrives with the probability (1 - rate)^(8 n).
    BitErrors {
        /// The probability of each bit, 0 to 1.
        rate: f64,
    },
    /// Exactly these packets, numbered from 1 in the order in which they enter the wire, or, where the list comes
    /// into force later, from the first packet that enters from then on; ascending.
    List(Arc<[u64]>),
}

impl ImpairmentSpec {
    /// Checks that all values are in their ranges.
    ///
    /// # Errors
    /// [`SpecError`] names the first value that is not.
    pub fn check(&self) -> Result<(), SpecError> {
        self.loss.check()?;
        probability("duplicate", self.duplicate)?;
        share("duplicate.correlation", self.duplicate_correlation)?;
        probability("corrupt", self.corrupt)?;
        share("corrupt.correlation", self.corrupt_correlation)?;
        self.reorder.map_or(Ok(()), |reorder| reorder.check())
    }

    /// True if every packet arrives once, intact and in order.
    pub fn is_transparent(&self) -> bool {
        self.loss.is_lossless()
            && self.duplicate <= 0.0
            && self.corrupt <= 0.0
            && self.reorder.is_none_or(|reorder| reorder.probability <= 0.0)
            && self.largest.is_none()
    }
}

impl ReorderSpec {
    /// Checks that probability and correlation lie within 0 and 1. Any delay will do.
    ///
    /// # Errors
    /// [`SpecError::Probability`], [`SpecError::Share`].
    pub fn check(&self) -> Result<(), SpecError> {
        probability("reorder.probability", self.probability)?;
        share("reorder.correlation", self.correlation)
    }
}

impl LossSpec {
    /// Checks that probabilities lie within 0 and 1, and that a list counts upwards from 1 or more.
    ///
    /// # Errors
    /// [`SpecError`] names the first value that is wrong.
    pub fn check(&self) -> Result<(), SpecError> {
        match *self {
            Self::None => Ok(()),
            Self::Uniform { probability: p } => probability("loss.probability", p),
            Self::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                probability("loss.good_to_bad", good_to_bad)?;
                probability("loss.bad_to_good", bad_to_good)?;
                probability("loss.loss_good", loss_good)?;
                probability("loss.loss_bad", loss_bad)
            }
            Self::Correlated { probability: p, correlation } => {
                probability("loss.probability", p)?;
                share("loss.correlation", correlation)
            }
            Self::Periodic { every } => above_zero("loss.every", every as f64),
            Self::BitErrors { rate } => probability("loss.rate", rate),
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

pub(crate) fn probability(what: &'static str, value: f64) -> Result<(), SpecError> {
    // Written so that NaN fails.
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(SpecError::Probability { what, value }) }
}

pub(crate) fn share(what: &'static str, value: f64) -> Result<(), SpecError> {
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(SpecError::Share { what, value }) }
}

pub(crate) fn above_zero(what: &'static str, value: f64) -> Result<(), SpecError> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(SpecError::NotAboveZero { what, value }) }
}

/// The reason for which a description of a queue or of impairments is refused.
#[derive(Clone, Debug, PartialEq)]
pub enum SpecError {
    /// A probability is not between 0 and 1.
    Probability {
        /// The value's name, as a path from the description that was checked.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// A parameter is not above zero, or not finite.
    NotAboveZero {
        /// The parameter's name.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// A share of something is not between 0 and 1.
    Share {
        /// The value's name.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// A number is larger than what is possible.
    TooMany {
        /// The parameter's name.
        what: &'static str,
        /// The most that is possible.
        most: u32,
        /// The value.
        found: u32,
    },
    /// The thresholds of a queue are not ordered numbers from zero up.
    Thresholds {
        /// The minimum.
        min: f64,
        /// The maximum.
        max: f64,
    },
    /// A value is too small, or no number.
    TooSmall {
        /// The value's name.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// A list of lost packets is not strictly ascending, or holds a zero.
    LossList {
        /// The position in the list, from 0.
        position: usize,
        /// The number that stands there.
        found: u64,
        /// The one before it, or zero at the start: the number should be larger.
        above: u64,
    },
    /// States of a transmitter that sleeps do not come one after another, each deeper.
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
            Self::TooMany { what, most, found } => {
                write!(f, "`{what}` must be at most {most}, but it is {found}")
            }
            Self::Thresholds { min, max } => {
                write!(f, "the maximum threshold must be above the minimum, but they are {max} and {min}")
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
