//! Scheduled changes of a line.

use crate::spec::DirectionSpec;
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
    /// In place of [`DirectionSpec::jitter`].
    pub span: Duration,
    /// In place of [`DirectionSpec::variation`].
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

impl DirectionSpec {
    /// Adds the work of a host to the random delays of its line, at all times.
    pub(crate) fn add_overhead(&mut self, overhead: Duration) {
        self.jitter += overhead;
        for jitter in self.schedule.iter_mut().filter_map(|change| change.jitter.as_mut()) {
            jitter.span += overhead;
        }
    }

    /// True if its random delays have a distribution at any time.
    pub(crate) fn ever_varies(&self) -> bool {
        let changed = self.schedule.iter().filter_map(|change| change.jitter.as_ref());
        self.variation.is_some() || changed.into_iter().any(|jitter| jitter.variation.is_some())
    }

    /// Checks the changes.
    pub(crate) fn check_schedule(&self) -> Result<(), String> {
        for change in &self.schedule {
            if let Some(impairment) = &change.impairment {
                impairment.check().map_err(|error| error.to_string())?;
            }
            let variation = change.jitter.as_ref().and_then(|jitter| jitter.variation.as_ref());
            if let Some(why) = variation.and_then(|variation| variation.fault()) {
                return Err(format!("its random delay from {} on: {why}", change.at));
            }
        }
        if self.schedule.windows(2).any(|pair| pair[1].at < pair[0].at) {
            return Err("the schedule's changes must be in order of time".to_owned());
        }
        let changes_queue = self.schedule.iter().any(|change| change.queue.is_some());
        match self.queue_stays() {
            Some(why) if changes_queue => Err(format!("its queue cannot change its capacity: {why}")),
            _ => Ok(()),
        }
    }

    /// Returns the reason for which the queue keeps its limit, if it has to.
    pub fn queue_stays(&self) -> Option<&'static str> {
        if self.queue.is_foreign() {
            return Some("the discipline is one of another crate");
        }
        self.feedback.is_some().then_some("feedback to sources is made for one capacity")
    }
}
