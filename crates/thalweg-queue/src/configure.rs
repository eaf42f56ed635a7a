//! Disciplines as plain data: a limit and a configuration, of this crate or another.

use crate::guarded::Guarded;
use crate::{Discipline, Fcfs, Limit, SpecError, TokenBucketSpec};
use core::any::{Any, type_name};
use core::fmt::Debug;
use std::sync::Arc;
use thalweg_proto::random::Stream;

/// Makes the random stream for a purpose. The purposes are part of what makes a run repeatable, so a discipline keeps to
/// the one that it began with.
pub type Streams<'a> = &'a mut dyn FnMut(&'static str) -> Stream;

/// The configuration of a discipline: all that there is to know of a discipline before it is made.
pub trait Configure: Clone + Debug + PartialEq + Send + Sync + 'static {
    /// The discipline.
    type Queue: Discipline + Debug + Send + 'static;

    /// The name, in errors and in scenario files.
    const NAME: &'static str;

    /// Checks that a queue can be made of the configuration. Any limit will do, be it zero, which holds nothing.
    ///
    /// # Errors
    /// [`SpecError`] names the first parameter that is out of its range.
    fn check(&self) -> Result<(), SpecError> {
        Ok(())
    }

    /// An empty queue. `streams` is called only by a discipline that draws.
    fn make(&self, limit: Limit, streams: Streams<'_>) -> Self::Queue;

    /// The properties of the discipline that others rely on.
    fn traits(&self) -> Traits;

    /// The discipline in words, with what shapes its behaviour most.
    fn words(&self) -> String;

    /// The token bucket without whose tokens arrivals are dropped, whatever room there is; none where there is no such thing.
    fn policer(&self) -> Option<TokenBucketSpec> {
        None
    }
}

/// The properties of a discipline that others rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// Ordinary packets leave in the order in which they came.
    pub keeps_order: bool,
    /// It drops packets for which there is room, or marks them in place of that.
    pub drops_early: bool,
    /// It marks packets that may be marked, with CE.
    pub marks: bool,
    /// It draws random numbers.
    pub is_random: bool,
    /// It must be shown the packets that find the line free too, as its state depends on them.
    pub sees_all: bool,
    /// The priority of a flow decides which of its packets leave first.
    pub serves_by_priority: bool,
}

impl Traits {
    /// Those of one queue whose arrivals are dropped or marked at random, the more the longer it gets: RED, PIE.
    pub const RANDOM_EARLY_DETECTION: Self = Self {
        keeps_order: true,
        drops_early: true,
        marks: true,
        is_random: true,
        sees_all: true,
        serves_by_priority: false,
    };
}

/// [`Configure`] without its types.
pub(crate) trait Configured: Any + Debug + Send + Sync {
    fn check(&self) -> Result<(), SpecError>;
    fn make(&self, limit: Limit, streams: Streams<'_>) -> Box<dyn Queue>;
    fn words(&self) -> String;
    fn policer(&self) -> Option<TokenBucketSpec>;
    fn equals(&self, other: &dyn Configured) -> bool;
    fn as_any(&self) -> &dyn Any;
}

impl<C: Configure> Configured for C {
    fn check(&self) -> Result<(), SpecError> {
        Configure::check(self)
    }
    fn make(&self, limit: Limit, streams: Streams<'_>) -> Box<dyn Queue> {
        Box::new(Configure::make(self, limit, streams))
    }
    fn words(&self) -> String {
        Configure::words(self)
    }
    fn policer(&self) -> Option<TokenBucketSpec> {
        Configure::policer(self)
    }
    fn equals(&self, other: &dyn Configured) -> bool {
        other.as_any().downcast_ref::<C>().is_some_and(|other| self == other)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A discipline that can be printed and moved to another thread.
pub(crate) trait Queue: Discipline + Debug + Send {}

impl<D: Discipline + Debug + Send> Queue for D {}

/// A queue that was made.
#[derive(Debug)]
pub(crate) enum Made {
    /// First come, first served.
    Fcfs(Fcfs),
    /// Another of this crate.
    Other(Box<dyn Queue>),
    /// One of another crate.
    Foreign(Box<Guarded>),
}

/// A queue discipline with its parameters.
#[derive(Clone, Debug)]
pub struct DisciplineSpec {
    limit: Limit,
    traits: Traits,
    name: &'static str,
    /// It is of another crate, and so not trusted.
    is_foreign: bool,
    config: Arc<dyn Configured>,
}

impl PartialEq for DisciplineSpec {
    fn eq(&self, other: &Self) -> bool {
        self.limit == other.limit && self.config.equals(&*other.config)
    }
}

impl DisciplineSpec {
    /// The discipline of `config` that holds `limit`.
    pub fn new<C: Configure>(limit: Limit, config: C) -> Self {
        // A name of a type that were told otherwise would cost a discipline of this crate some time, and nothing else.
        let of_crate = module_path!().split_once("::").map_or("", |(name, _)| name);
        let is_foreign = !type_name::<C>().starts_with(of_crate);
        Self { limit, traits: config.traits(), name: C::NAME, is_foreign, config: Arc::new(config) }
    }

    /// First come, first served.
    pub fn fcfs(limit: Limit) -> Self {
        Self::new(limit, crate::FcfsConfig)
    }

    /// The configuration, if it is one of type `C`.
    pub fn config<C: Configure>(&self) -> Option<&C> {
        self.config.as_any().downcast_ref()
    }

    /// Checks that a queue can be made of the configuration. Any limit will do, be it zero, which holds nothing.
    ///
    /// # Errors
    /// [`SpecError`] names the first parameter that is out of its range.
    pub fn check(&self) -> Result<(), SpecError> {
        self.config.check()
    }

    /// True for a discipline of another crate.
    pub const fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// The discipline's name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The most that is held.
    pub const fn limit(&self) -> Limit {
        self.limit
    }

    /// The same with another limit.
    pub const fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    /// The discipline in words, with what shapes its behaviour most.
    pub fn words(&self) -> String {
        self.config.words()
    }

    /// The token bucket without whose tokens arrivals are dropped, whatever room there is.
    pub fn policer(&self) -> Option<TokenBucketSpec> {
        self.config.policer()
    }

    /// True if ordinary packets leave in the order in which they came.
    pub const fn keeps_order(&self) -> bool {
        self.traits.keeps_order
    }

    /// True if the discipline drops packets for which there is room, or marks them in place of that.
    pub const fn drops_early(&self) -> bool {
        self.traits.drops_early
    }

    /// True if the discipline marks packets that may be marked, with CE.
    pub const fn marks(&self) -> bool {
        self.traits.marks
    }

    /// True if the discipline draws random numbers.
    pub const fn is_random(&self) -> bool {
        self.traits.is_random
    }

    /// True if the discipline must be shown the packets that find the line free too, as its state depends on them.
    #[inline]
    pub const fn sees_all(&self) -> bool {
        self.traits.sees_all
    }

    /// True if the priority of a flow decides which of its packets leave first.
    pub const fn serves_by_priority(&self) -> bool {
        self.traits.serves_by_priority
    }

    /// The queue, empty. First come, first served has no state but its packets, and so needs no configuration.
    pub(crate) fn make(&self, streams: Streams<'_>) -> Made {
        match self.config::<crate::FcfsConfig>() {
            Some(_) => Made::Fcfs(Fcfs::new(self.limit)),
            None if self.is_foreign => {
                Made::Foreign(Box::new(Guarded::new(self.name, &*self.config, self.limit, streams)))
            }
            None => Made::Other(self.config.make(self.limit, streams)),
        }
    }
}

#[cfg(test)]
mod tests {
    //! Proves that values out of range are refused and named.
    use super::*;
    use crate::{FqCoDelConfig, PieConfig, RandomDropConfig, RedConfig, SfqConfig};
    use thalweg_proto::units::Duration;

    #[test]
    fn parameters_have_their_ranges() {
        // One that is wrong for each rule; the defaults are fine.
        let limit = Limit::Packets(10);
        let what = |spec: DisciplineSpec| spec.check().unwrap_err().to_string();
        let red = |config| DisciplineSpec::new(limit, config);
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
            DisciplineSpec::new(limit, SfqConfig { buckets, perturbation, ..SfqConfig::default() })
        };
        assert_eq!(sfq(1, 1).check(), Ok(()));
        assert_eq!(what(sfq(0, 1)), "`buckets` must be a number above zero, but it is 0");
        assert_eq!(what(sfq(1, 0)), "`perturbation` must be a number above zero, but it is 0");
        let flows = |flows| {
            let config = FqCoDelConfig { flows, ..FqCoDelConfig::default() };
            DisciplineSpec::new(limit, config)
        };
        assert_eq!(flows(65_536).check(), Ok(()));
        assert_eq!(what(flows(65_537)), "`flows` must be at most 65536, but it is 65537");
        let pie = PieConfig { update: Duration::ZERO, ..PieConfig::default() };
        assert!(DisciplineSpec::new(limit, pie).check().is_err());
    }

    #[test]
    fn specs_are_equal_where_their_limits_and_configurations_are() {
        let limit = Limit::Packets(10);
        let red = DisciplineSpec::new(limit, RedConfig::default());
        assert_eq!(red, red.clone());
        assert_ne!(red, DisciplineSpec::new(Limit::Unlimited, RedConfig::default()));
        assert_ne!(red, DisciplineSpec::new(limit, RedConfig { gentle: false, ..RedConfig::default() }));
        assert_ne!(red, DisciplineSpec::new(limit, PieConfig::default()));
        assert_eq!(red.config::<RedConfig>(), Some(&RedConfig::default()));
        assert_eq!(red.config::<PieConfig>(), None);
    }

    #[test]
    fn a_limit_of_zero_is_a_limit() {
        // For every discipline.
        assert_eq!(DisciplineSpec::fcfs(Limit::Packets(0)).check(), Ok(()));
        assert_eq!(DisciplineSpec::new(Limit::Unlimited, RandomDropConfig).check(), Ok(()));
    }
}
