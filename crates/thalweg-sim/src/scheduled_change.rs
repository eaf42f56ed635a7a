//! Scheduled changes of a link direction.

use std::sync::Arc;
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_queue::random_delay::VariationSpec;
use thalweg_queue::{ImpairmentSpec, Limit};

/// A scheduled change of one direction. Fields that are `None` stay unchanged.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The time of the change.
    pub at: Time,
    /// New rate; zero is an outage: the transmitter stops and its queue waits.
    pub rate: Option<Rate>,
    /// New propagation delay, for packets transmitted from now on.
    pub delay: Option<Duration>,
    /// New random delay, for packets transmitted from now on.
    pub jitter: Option<JitterChange>,
    /// New queue limit. Excess packets are dropped from the tail of the queue or, with per-flow queues, as on overflow.
    pub queue: Option<Limit>,
    /// New impairments.
    pub impairment: Option<ImpairmentSpec>,
}

/// New random delays of a direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JitterChange {
    /// Replaces the direction's `jitter`.
    pub span: Duration,
    /// Replaces the direction's `variation`.
    pub variation: Option<Arc<VariationSpec>>,
}

impl JitterChange {
    /// Returns the longest random delay of a packet.
    pub(crate) fn longest(&self) -> Duration {
        self.span + self.variation.as_ref().map_or(Duration::ZERO, |of| of.distribution.longest())
    }
}

impl Change {
    /// Returns a change at a time that changes nothing yet.
    pub const fn at(at: Time) -> Self {
        Self { at, rate: None, delay: None, jitter: None, queue: None, impairment: None }
    }
}
