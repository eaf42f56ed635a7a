//! Configurations of disciplines, of this crate or another.

use crate::{Discipline, Limit, SpecError, TokenBucketSpec};
use core::any::Any;
use core::fmt::Debug;
use thalweg_proto::random::RandomStream;

/// Factory of the random stream for a purpose: `streams("drops")`. A stream depends on the seed of the run, the purpose
/// and the link, so another purpose changes the results of all existing scenarios with the discipline. A discipline that
/// draws requests its stream once, keeps it, and sets [`Traits::is_random`].
pub type RandomStreams<'a> = &'a mut dyn FnMut(&'static str) -> RandomStream;

/// Configuration of a discipline, including everything known before a queue is created.
pub trait DisciplineConfig: Clone + Debug + PartialEq + Send + Sync + 'static {
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
    fn make(&self, limit: Limit, streams: RandomStreams<'_>) -> Self::Queue;

    /// Returns the properties of the discipline.
    fn traits(&self) -> Traits;

    /// Returns a noun phrase with the main parameters, such as `CoDel queue, target 5 ms`, for explanations of scenarios,
    /// where the capacity follows: ` of 39.1 kB` or, after a comma in the phrase, `, capacity 39.1 kB`. The description of a discipline's rule is the text `about` of its
    /// entry in the catalogue.
    fn description(&self) -> String;

    /// Returns the token bucket of a policer, which drops arrivals without tokens whatever the room; `None` for other
    /// disciplines.
    fn policer(&self) -> Option<TokenBucketSpec> {
        None
    }
}

/// Properties of a discipline. A wrong value is not detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// Non-urgent packets leave in arrival order. The verifier (`--verify`) then reports a packet that overtakes another.
    pub keeps_arrival_order: bool,
    /// Packets are dropped or marked although there is room. Read by tests of this crate only.
    pub drops_early: bool,
    /// ECN-capable packets are marked with CE. Warnings about flows whose packets no queue marks depend on it.
    pub marks_ecn: bool,
    /// Random numbers are drawn. Otherwise replications of a scenario without random parts are reported as identical.
    pub is_random: bool,
    /// Packets that find the link idle must pass the discipline too, as its state depends on them. Otherwise they are
    /// transmitted without a call of the discipline, which is faster; its averages and token buckets would miss them.
    pub enqueues_when_link_idle: bool,
    /// The priority of a flow determines the service order. Otherwise priorities without a gate cause a warning; relays
    /// (`thalweg impair`) refuse disciplines with this property.
    pub depends_on_priority: bool,
    /// Shares depend on the hosts of packets, which [`Discipline::set_hosts`] announces.
    pub isolates_hosts: bool,
}

impl Traits {
    /// Properties of a single queue that drops or marks arrivals at random, with a probability that grows with its
    /// length: RED, PIE.
    pub const RANDOM_EARLY_DETECTION: Self = Self {
        keeps_arrival_order: true,
        drops_early: true,
        marks_ecn: true,
        is_random: true,
        enqueues_when_link_idle: true,
        depends_on_priority: false,
        isolates_hosts: false,
    };
}

/// Type-erased [`DisciplineConfig`].
pub(crate) trait ErasedConfig: Any + Debug + Send + Sync {
    fn check(&self) -> Result<(), SpecError>;
    fn make(&self, limit: Limit, streams: RandomStreams<'_>) -> Box<dyn Queue>;
    fn description(&self) -> String;
    fn policer(&self) -> Option<TokenBucketSpec>;
    fn equals(&self, other: &dyn ErasedConfig) -> bool;
    fn as_any(&self) -> &dyn Any;
}

impl<C: DisciplineConfig> ErasedConfig for C {
    fn check(&self) -> Result<(), SpecError> {
        DisciplineConfig::check(self)
    }
    fn make(&self, limit: Limit, streams: RandomStreams<'_>) -> Box<dyn Queue> {
        Box::new(DisciplineConfig::make(self, limit, streams))
    }
    fn description(&self) -> String {
        DisciplineConfig::description(self)
    }
    fn policer(&self) -> Option<TokenBucketSpec> {
        DisciplineConfig::policer(self)
    }
    fn equals(&self, other: &dyn ErasedConfig) -> bool {
        other.as_any().downcast_ref::<C>().is_some_and(|other| self == other)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Discipline with `Debug` and `Send`.
pub(crate) trait Queue: Discipline + Debug + Send {}

impl<D: Discipline + Debug + Send> Queue for D {}
