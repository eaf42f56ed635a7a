//! Disciplines as plain data: a limit and a configuration, of this crate or another.

use crate::external::ExternalQueue;
use crate::{Discipline, Fcfs, Limit, SpecError, TokenBucketSpec};
use core::any::{Any, type_name};
use core::fmt::Debug;
use std::sync::Arc;
use thalweg_proto::random::Stream;

/// Factory of the random stream for a purpose. Purposes are part of reproducible runs, so a discipline must not change
/// its purpose.
pub type Streams<'a> = &'a mut dyn FnMut(&'static str) -> Stream;

/// Configuration of a discipline, including everything known before a queue is created.
pub trait Configure: Clone + Debug + PartialEq + Send + Sync + 'static {
    /// Type of the discipline.
    type Queue: Discipline + Debug + Send + 'static;

    /// Name in errors and scenario files.
    const NAME: &'static str;

    /// Checks the configuration. Any limit is valid, even zero, which holds nothing.
    ///
    /// # Errors
    /// Returns the first parameter out of range as a [`SpecError`].
    fn check(&self) -> Result<(), SpecError> {
        Ok(())
    }

    /// Creates an empty queue. `streams` is called only by a discipline that draws random numbers.
    fn make(&self, limit: Limit, streams: Streams<'_>) -> Self::Queue;

    /// Returns the properties of the discipline.
    fn traits(&self) -> Traits;

    /// Returns a description of the discipline with its main parameters.
    fn words(&self) -> String;

    /// Returns the token bucket of a policer, which drops arrivals without tokens whatever the room; `None` for other
    /// disciplines.
    fn policer(&self) -> Option<TokenBucketSpec> {
        None
    }
}

/// Properties of a discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// Non-urgent packets leave in arrival order.
    pub keeps_order: bool,
    /// Packets are dropped or marked although there is room.
    pub drops_early: bool,
    /// ECN-capable packets are marked with CE.
    pub marks: bool,
    /// Random numbers are drawn.
    pub is_random: bool,
    /// Packets that find the line idle must pass the discipline too, as its state depends on them.
    pub sees_all: bool,
    /// The priority of a flow determines the service order.
    pub serves_by_priority: bool,
}

impl Traits {
    /// Properties of a single queue that drops or marks arrivals at random, with a probability that grows with its
    /// length: RED, PIE.
    pub const RANDOM_EARLY_DETECTION: Self = Self {
        keeps_order: true,
        drops_early: true,
        marks: true,
        is_random: true,
        sees_all: true,
        serves_by_priority: false,
    };
}

/// Type-erased [`Configure`].
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

/// Discipline with `Debug` and `Send`.
pub(crate) trait Queue: Discipline + Debug + Send {}

impl<D: Discipline + Debug + Send> Queue for D {}

/// Created queue.
#[derive(Debug)]
pub(crate) enum Made {
    /// FIFO.
    Fcfs(Fcfs),
    /// Other discipline of this crate.
    Other(Box<dyn Queue>),
    /// External discipline.
    External(Box<ExternalQueue>),
}

/// Queue discipline with its parameters.
#[derive(Clone, Debug)]
pub struct DisciplineSpec {
    limit: Limit,
    traits: Traits,
    name: &'static str,
    /// True for a discipline of another crate, which is untrusted.
    is_external: bool,
    config: Arc<dyn Configured>,
}

impl PartialEq for DisciplineSpec {
    fn eq(&self, other: &Self) -> bool {
        self.limit == other.limit && self.config.equals(&*other.config)
    }
}

impl DisciplineSpec {
    /// Creates a description from `limit` and `config`.
    pub fn new<C: Configure>(limit: Limit, config: C) -> Self {
        // If a compiler formatted type names differently, disciplines of this crate would count as external: slower,
        // but correct.
        let of_crate = module_path!().split_once("::").map_or("", |(name, _)| name);
        let is_external = !type_name::<C>().starts_with(of_crate);
        Self { limit, traits: config.traits(), name: C::NAME, is_external, config: Arc::new(config) }
    }

    /// Returns a FIFO.
    pub fn fcfs(limit: Limit) -> Self {
        Self::new(limit, crate::FcfsConfig)
    }

    /// Returns the configuration, if it is of type `C`.
    pub fn config<C: Configure>(&self) -> Option<&C> {
        self.config.as_any().downcast_ref()
    }

    /// Checks the configuration. Any limit is valid, even zero, which holds nothing.
    ///
    /// # Errors
    /// Returns the first parameter out of range as a [`SpecError`].
    pub fn check(&self) -> Result<(), SpecError> {
        self.config.check()
    }

    /// Returns true for a discipline of another crate.
    pub const fn is_external(&self) -> bool {
        self.is_external
    }

    /// Returns the name of the discipline.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the queue limit.
    pub const fn limit(&self) -> Limit {
        self.limit
    }

    /// Sets the queue limit.
    pub const fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    /// Returns a description of the discipline with its main parameters.
    pub fn words(&self) -> String {
        self.config.words()
    }

    /// Returns the token bucket of a policer, which drops arrivals without tokens whatever the room.
    pub fn policer(&self) -> Option<TokenBucketSpec> {
        self.config.policer()
    }

    /// Returns true if non-urgent packets leave in arrival order.
    pub const fn keeps_order(&self) -> bool {
        self.traits.keeps_order
    }

    /// Returns true if packets are dropped or marked although there is room.
    pub const fn drops_early(&self) -> bool {
        self.traits.drops_early
    }

    /// Returns true if ECN-capable packets are marked with CE.
    pub const fn marks(&self) -> bool {
        self.traits.marks
    }

    /// Returns true if the discipline draws random numbers.
    pub const fn is_random(&self) -> bool {
        self.traits.is_random
    }

    /// Returns true if packets that find the line idle must pass the discipline too, as its state depends on them.
    #[inline]
    pub const fn sees_all(&self) -> bool {
        self.traits.sees_all
    }

    /// Returns true if the priority of a flow determines the service order.
    pub const fn serves_by_priority(&self) -> bool {
        self.traits.serves_by_priority
    }

    /// Creates an empty queue. FIFO has no state but its packets, and needs no configuration.
    pub(crate) fn make(&self, streams: Streams<'_>) -> Made {
        match self.config::<crate::FcfsConfig>() {
            Some(_) => Made::Fcfs(Fcfs::new(self.limit)),
            None if self.is_external => {
                Made::External(Box::new(ExternalQueue::new(self.name, &*self.config, self.limit, streams)))
            }
            None => Made::Other(self.config.make(self.limit, streams)),
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests that values out of range are refused by name.
    use super::*;
    use crate::{FqCoDelConfig, PieConfig, RandomDropConfig, RedConfig, SfqConfig};
    use thalweg_proto::units::Duration;

    #[test]
    fn parameters_have_their_ranges() {
        // One invalid value for each rule; the defaults are valid.
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
