//! The scheduled changes of a direction combined: extreme values and validity.

use crate::simulation_spec::DirectionSpec;
use thalweg_proto::units::Duration;

impl DirectionSpec {
    /// Adds a host's processing to the random delays of its link, at all times.
    pub(crate) fn add_overhead(&mut self, overhead: Duration) {
        self.jitter += overhead;
        for jitter in self.schedule.iter_mut().filter_map(|change| change.jitter.as_mut()) {
            jitter.span += overhead;
        }
    }

    /// Returns true if its random delays have a distribution at any time.
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

    /// Returns why the queue has to keep its limit, if it has to.
    pub fn queue_stays(&self) -> Option<&'static str> {
        if self.queue.is_external() {
            return Some("the discipline is one of another crate");
        }
        self.feedback.is_some().then_some("feedback to sources is made for one capacity")
    }
}
