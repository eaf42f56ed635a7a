//! Scheduled changes of a line.

use std::sync::Arc;
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_queue::delay::VariationSpec;
use thalweg_queue::{ImpairmentSpec, Limit};

/// A scheduled change of one direction. What is `None` stays.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The time of the change.
    pub at: Time,
    /// A new rate; zero is an outage: the transmitter stops and its queue waits.
    pub rate: Option<Rate>,
    /// A new propagation delay, for packets that leave from now on.
    pub delay: Option<Duration>,
    /// A new random delay, for packets that leave from now on.
    pub jitter: Option<JitterChange>,
    /// A new limit of the queue. What no longer fits is dropped, from the queue's tail on or, where flows have queues of their own, as
    /// when the queue overflows.
    pub queue: Option<Limit>,
    /// New impairments.
    pub impairment: Option<ImpairmentSpec>,
}

/// The random delays of a direction from a change on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JitterChange {
    /// In place of the direction's `jitter`.
    pub span: Duration,
    /// In place of its `variation`.
    pub variation: Option<Arc<VariationSpec>>,
}

impl JitterChange {
    /// The longest random time of a packet.
    pub(crate) fn longest(&self) -> Duration {
        self.span + self.variation.as_ref().map_or(Duration::ZERO, |of| of.distribution.longest())
    }
}

impl Change {
    /// A change of nothing at a time, to which others are added.
    pub const fn at(at: Time) -> Self {
        Self { at, rate: None, delay: None, jitter: None, queue: None, impairment: None }
    }
}
