//! A discipline as plain data: a limit and a configuration, of this crate or another.

use crate::discipline_config::{DisciplineConfig, ErasedConfig, Queue, RandomStreams, Traits};
use crate::external_discipline_guard::ExternalQueue;
use crate::{Fcfs, Limit, SpecError, TokenBucketSpec};
use core::any::type_name;
use std::sync::Arc;

/// Created queue.
#[derive(Debug)]
pub(crate) enum CreatedQueue {
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
    config: Arc<dyn ErasedConfig>,
}

impl PartialEq for DisciplineSpec {
    fn eq(&self, other: &Self) -> bool {
        self.limit == other.limit && self.config.equals(&*other.config)
    }
}

impl DisciplineSpec {
    /// Creates a description from `limit` and `config`.
    pub fn new<C: DisciplineConfig>(limit: Limit, config: C) -> Self {
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
    pub fn config<C: DisciplineConfig>(&self) -> Option<&C> {
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
    pub fn description(&self) -> String {
        self.config.description()
    }

    /// Returns the token bucket of a policer, which drops arrivals without tokens whatever the room.
    pub fn policer(&self) -> Option<TokenBucketSpec> {
        self.config.policer()
    }

    /// Returns true if non-urgent packets leave in arrival order.
    pub const fn keeps_arrival_order(&self) -> bool {
        self.traits.keeps_arrival_order
    }

    /// Returns true if packets are dropped or marked although there is room.
    pub const fn drops_early(&self) -> bool {
        self.traits.drops_early
    }

    /// Returns true if ECN-capable packets are marked with CE.
    pub const fn marks(&self) -> bool {
        self.traits.marks_ecn
    }

    /// Returns true if the discipline draws random numbers.
    pub const fn is_random(&self) -> bool {
        self.traits.is_random
    }

    /// Returns true if packets that find the line idle must pass the discipline too, as its state depends on them.
    #[inline]
    pub const fn enqueues_when_link_idle(&self) -> bool {
        self.traits.enqueues_when_link_idle
    }

    /// Returns true if the priority of a flow determines the service order.
    pub const fn depends_on_priority(&self) -> bool {
        self.traits.depends_on_priority
    }

    /// Returns true if shares depend on the hosts of packets.
    #[inline]
    pub const fn isolates_hosts(&self) -> bool {
        self.traits.isolates_hosts
    }

    /// Creates an empty queue. FIFO has no state but its packets, and needs no configuration.
    pub(crate) fn make(&self, streams: RandomStreams<'_>) -> CreatedQueue {
        match self.config::<crate::FcfsConfig>() {
            Some(_) => CreatedQueue::Fcfs(Fcfs::new(self.limit)),
            None if self.is_external => CreatedQueue::External(Box::new(ExternalQueue::new(
                self.name,
                &*self.config,
                self.limit,
                streams,
            ))),
            None => CreatedQueue::Other(self.config.make(self.limit, streams)),
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
            "the minimum threshold must be below the maximum, but they are 15 and 15"
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
