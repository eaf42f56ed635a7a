//! Disciplines and impairments as plain data.

use crate::{
    CoDelConfig, DrrConfig, FairQueueingConfig, FqCoDelConfig, Limit, PieConfig, PriorityConfig, RedConfig,
    SfqConfig,
};
use std::fmt;
use std::sync::Arc;
use thalweg_proto::units::Duration;

/// A queue discipline with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DisciplineSpec {
    /// First come, first served; an arrival that finds no room is dropped.
    Fcfs {
        /// How much is held.
        limit: Limit,
    },
    /// First come, first served; when there is no room, a packet drawn uniformly among those queued and the arrival
    /// is dropped, or the arrival if that packet is smaller.
    RandomDrop {
        /// How much is held.
        limit: Limit,
    },
    /// Served as if bit by bit in turn, flow by flow; the flow that uses most of the buffer is dropped from.
    FairQueueing {
        /// How much is held.
        limit: Limit,
        /// The parameters.
        config: FairQueueingConfig,
    },
    /// Flows are hashed to queues that send a packet each in turn.
    Sfq {
        /// How much is held.
        limit: Limit,
        /// The parameters.
        config: SfqConfig,
    },
    /// Flows send equal bytes in turn.
    Drr {
        /// How much is held.
        limit: Limit,
        /// The parameters.
        config: DrrConfig,
    },
    /// First come, first served; arrivals are dropped at random as the average length grows.
    Red {
        /// How much is held.
        limit: Limit,
        /// The parameters.
        config: RedConfig,
    },
    /// First come, first served; packets are dropped as they leave while all wait for too long.
    CoDel {
        /// How much is held.
        limit: Limit,
        /// The parameters.
        config: CoDelConfig,
    },
    /// Flows are hashed to queues that send equal bytes in turn, each kept short by CoDel.
    FqCoDel {
        /// How much is held.
        limit: Limit,
        /// The parameters.
        config: FqCoDelConfig,
    },
    /// First come, first served; arrivals are dropped at random such that packets wait for a target.
    Pie {
        /// How much is held.
        limit: Limit,
        /// The parameters.
        config: PieConfig,
    },
    /// Packets of higher priority leave first.
    Priority {
        /// How much is held.
        limit: Limit,
        /// The parameters.
        config: PriorityConfig,
    },
}

/// What a wire does to packets beyond delay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImpairmentSpec {
    /// Which packets are lost.
    pub loss: LossSpec,
    /// The probability that a packet arrives twice, 0 to 1.
    pub duplicate: f64,
    /// The probability that a packet arrives damaged, so that its receiver drops it, 0 to 1.
    pub corrupt: f64,
    /// Packets that are held back, so that later ones pass.
    pub reorder: Option<ReorderSpec>,
}

/// Packets that are held back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReorderSpec {
    /// The probability for each packet, 0 to 1.
    pub probability: f64,
    /// How long it is held, uniform between zero and this.
    pub delay: Duration,
}

/// Which packets a wire loses.
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
    /// Exactly these packets, numbered from 1 in the order in which they enter the wire, or, where the list comes
    /// into force later, from the first packet that enters from then on; ascending.
    List(Arc<[u64]>),
}

impl DisciplineSpec {
    /// Whether a queue can be made of it. Any limit will do, be it zero, which holds nothing.
    ///
    /// # Errors
    /// [`SpecError`] names the first parameter that is out of its range.
    pub fn check(&self) -> Result<(), SpecError> {
        match self {
            Self::Fcfs { .. } | Self::RandomDrop { .. } | Self::Priority { .. } => Ok(()),
            Self::FairQueueing { config, .. } => {
                config.mark_above.map_or(Ok(()), |share| above_zero("mark_above", share))
            }
            Self::Sfq { config, .. } => {
                let period = config.perturbation.unwrap_or(Duration::MAX);
                above_zero("buckets", f64::from(config.buckets))?;
                above_zero("perturbation", period.as_secs_f64())
            }
            Self::Drr { config, .. } => {
                above_zero("quantum", config.quantum.get() as f64)?;
                above_zero("buckets", f64::from(config.buckets.unwrap_or(1)))
            }
            Self::Red { config, .. } => {
                if !(config.min_threshold >= 0.0 && config.max_threshold > config.min_threshold)
                    || config.max_threshold.is_infinite()
                {
                    return Err(SpecError::Thresholds {
                        min: config.min_threshold,
                        max: config.max_threshold,
                    });
                }
                above_zero("weight", config.weight)?;
                probability("weight", config.weight)?;
                above_zero("max_probability", config.max_probability)?;
                probability("max_probability", config.max_probability)?;
                above_zero("mean_packet", config.mean_packet.get() as f64)
            }
            Self::CoDel { config, .. } => above_zero("interval", config.interval.as_secs_f64()),
            Self::FqCoDel { config, .. } => {
                above_zero("interval", config.codel.interval.as_secs_f64())?;
                above_zero("flows", f64::from(config.flows))?;
                if config.flows > MAX_FLOWS {
                    return Err(SpecError::TooMany { what: "flows", most: MAX_FLOWS, found: config.flows });
                }
                above_zero("quantum", config.quantum.get() as f64)?;
                above_zero("drop_batch", f64::from(config.drop_batch))
            }
            Self::Pie { config, .. } => {
                above_zero("update", config.update.as_secs_f64())?;
                above_zero("alpha", config.alpha)?;
                above_zero("beta", config.beta)?;
                probability("ecn_threshold", config.ecn_threshold)
            }
        }
    }

    /// How much is held.
    pub const fn limit(&self) -> Limit {
        match *self {
            Self::Fcfs { limit }
            | Self::RandomDrop { limit }
            | Self::FairQueueing { limit, .. }
            | Self::Sfq { limit, .. }
            | Self::Drr { limit, .. }
            | Self::Red { limit, .. }
            | Self::CoDel { limit, .. }
            | Self::FqCoDel { limit, .. }
            | Self::Pie { limit, .. }
            | Self::Priority { limit, .. } => limit,
        }
    }

    /// The same with another limit.
    pub const fn set_limit(&mut self, new: Limit) {
        match self {
            Self::Fcfs { limit }
            | Self::RandomDrop { limit }
            | Self::FairQueueing { limit, .. }
            | Self::Sfq { limit, .. }
            | Self::Drr { limit, .. }
            | Self::Red { limit, .. }
            | Self::CoDel { limit, .. }
            | Self::FqCoDel { limit, .. }
            | Self::Pie { limit, .. }
            | Self::Priority { limit, .. } => {
                *limit = new;
            }
        }
    }

    /// Whether ordinary packets leave in the order in which they came.
    pub const fn keeps_order(&self) -> bool {
        matches!(
            self,
            Self::Fcfs { .. }
                | Self::RandomDrop { .. }
                | Self::Red { .. }
                | Self::CoDel { .. }
                | Self::Pie { .. }
        )
    }

    /// Whether it drops packets for which there is room, or marks them in place of that.
    pub const fn drops_early(&self) -> bool {
        matches!(self, Self::Red { .. } | Self::CoDel { .. } | Self::FqCoDel { .. } | Self::Pie { .. })
    }

    /// Whether it draws random numbers.
    pub const fn is_random(&self) -> bool {
        match self {
            Self::RandomDrop { .. }
            | Self::Sfq { .. }
            | Self::Red { .. }
            | Self::FqCoDel { .. }
            | Self::Pie { .. } => true,
            Self::Drr { config, .. } => config.buckets.is_some(),
            Self::Fcfs { .. } | Self::FairQueueing { .. } | Self::CoDel { .. } | Self::Priority { .. } => {
                false
            }
        }
    }

    /// Whether it must be shown the packets that find the line free too, as its state depends on them.
    pub const fn sees_all(&self) -> bool {
        !matches!(self, Self::Fcfs { .. } | Self::RandomDrop { .. } | Self::Priority { .. })
    }
}

impl ImpairmentSpec {
    /// Whether all values are in their ranges.
    ///
    /// # Errors
    /// [`SpecError`] names the first value that is not.
    pub fn check(&self) -> Result<(), SpecError> {
        self.loss.check()?;
        probability("duplicate", self.duplicate)?;
        probability("corrupt", self.corrupt)?;
        self.reorder.map_or(Ok(()), |reorder| reorder.check())
    }

    /// True if every packet arrives once, intact and in order.
    pub fn is_transparent(&self) -> bool {
        self.loss.is_lossless()
            && self.duplicate <= 0.0
            && self.corrupt <= 0.0
            && self.reorder.is_none_or(|reorder| reorder.probability <= 0.0)
    }
}

impl ReorderSpec {
    /// Whether the probability is one. Any delay will do.
    ///
    /// # Errors
    /// [`SpecError::Probability`].
    pub fn check(&self) -> Result<(), SpecError> {
        probability("reorder.probability", self.probability)
    }
}

impl LossSpec {
    /// Whether probabilities lie within 0 and 1, and a list counts upwards from 1 or more.
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

fn probability(what: &'static str, value: f64) -> Result<(), SpecError> {
    // Written so that NaN fails.
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(SpecError::Probability { what, value }) }
}

fn above_zero(what: &'static str, value: f64) -> Result<(), SpecError> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(SpecError::NotAboveZero { what, value }) }
}

/// Queues of FQ-CoDel, which may all have state: as many as its implementation in Linux has at most.
const MAX_FLOWS: u32 = 65_536;

/// Why a description of a queue or of impairments is refused.
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
        /// What is possible.
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
        /// Where in the list, from 0.
        position: usize,
        /// The number that stands there.
        found: u64,
        /// The one before it, or zero at the start: the number should be larger.
        above: u64,
    },
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
            let reorder = Some(ReorderSpec { probability: bad, delay: Duration::ZERO });
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

    #[test]
    fn parameters_have_their_ranges() {
        // One that is wrong for each rule; the defaults are fine.
        let limit = Limit::Packets(10);
        let what = |spec: DisciplineSpec| spec.check().unwrap_err().to_string();
        let red = |config| DisciplineSpec::Red { limit, config };
        let default = RedConfig::default();
        assert_eq!(red(default).check(), Ok(()));
        assert_eq!(
            what(red(RedConfig { min_threshold: 15.0, ..default })),
            "the maximum threshold must be above the minimum, but they are 15 and 15"
        );
        for min_threshold in [-1.0, f64::NAN] {
            assert!(red(RedConfig { min_threshold, ..default }).check().is_err());
        }
        for value in [0.0, 1.1, f64::NAN] {
            assert!(red(RedConfig { weight: value, ..default }).check().is_err());
            assert!(red(RedConfig { max_probability: value, ..default }).check().is_err());
        }
        let sfq = |buckets, period: u64| {
            let perturbation = Some(Duration::from_secs(period));
            DisciplineSpec::Sfq { limit, config: SfqConfig { buckets, perturbation, ..SfqConfig::default() } }
        };
        assert_eq!(sfq(1, 1).check(), Ok(()));
        assert_eq!(what(sfq(0, 1)), "`buckets` must be a number above zero, but it is 0");
        assert_eq!(what(sfq(1, 0)), "`perturbation` must be a number above zero, but it is 0");
        let flows = |flows| {
            let config = FqCoDelConfig { flows, ..FqCoDelConfig::default() };
            DisciplineSpec::FqCoDel { limit, config }
        };
        assert_eq!(flows(65_536).check(), Ok(()));
        assert_eq!(what(flows(65_537)), "`flows` must be at most 65536, but it is 65537");
        let pie = PieConfig { update: Duration::ZERO, ..PieConfig::default() };
        assert!(DisciplineSpec::Pie { limit, config: pie }.check().is_err());
    }

    #[test]
    fn a_limit_of_zero_is_a_limit() {
        // For every discipline.
        assert_eq!(DisciplineSpec::Fcfs { limit: Limit::Packets(0) }.check(), Ok(()));
        assert_eq!(DisciplineSpec::RandomDrop { limit: Limit::Unlimited }.check(), Ok(()));
    }
}
