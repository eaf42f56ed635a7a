//! Sample of an assessment's points, for execution in live networks.

use crate::assessment::{AssessError, Assessment, values_of};
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_scenario::Scenario;
use thalweg_sim::simulation_spec::{Spec, WorkloadSpec};

/// Point that live networks can carry, with the scheme under test for all of its flows.
#[derive(Clone, Debug)]
pub struct LivePoint {
    /// Sweep file.
    pub sweep: String,
    /// Value of each factor.
    pub values: BTreeMap<String, String>,
    /// Scenario.
    pub scenario: Scenario,
}

/// Maximum number of flows that a host carries in real time.
const MAX_FLOWS: u32 = 32;
/// Maximum link rate that a host carries, in bit/s.
const MAX_RATE: f64 = 200e6;

impl Assessment<'_> {
    /// Returns up to `max` points of the chosen sections that live networks can carry: endless streams over links that
    /// a host can emulate. The points are spread evenly over the plan.
    ///
    /// # Errors
    ///
    /// The plan or the scheme is invalid.
    pub fn sample(&self, max: usize) -> Result<Vec<LivePoint>, AssessError> {
        let sections =
            self.plan.sections_matching(&self.choice.selected_sections).map_err(AssessError::Invalid)?;
        let schemes = [self.scheme];
        let mut all = Vec::new();
        for (name, file) in self.sweeps(&sections, &schemes)? {
            let load = self.load(&file);
            let sweep = self.sweep(&file, load.as_ref())?;
            for point in 0..sweep.plan.points.len() {
                let Ok(spec) = sweep.spec(point) else { continue };
                if can_be_carried(&spec) {
                    all.push((name.clone(), values_of(&sweep, point), spec));
                }
            }
        }
        let count = all.len();
        let places = (0..max.min(count)).map(|number| (2 * number + 1) * count / (2 * max.min(count)));
        let chosen = places.map(|place| {
            let (sweep, values, spec) = &all[place];
            let values_words: Vec<String> =
                values.iter().map(|(name, value)| format!("{name} {value}")).collect();
            let scenario = Scenario {
                title: format!("{sweep}: {}", values_words.join(", ")),
                description: String::new(),
                spec: Spec::clone(spec),
                registry: Arc::clone(self.registry),
            };
            LivePoint { sweep: sweep.clone(), values: values.clone(), scenario }
        });
        Ok(chosen.collect())
    }
}

fn can_be_carried(spec: &Spec) -> bool {
    let is_stream = |group: &thalweg_sim::simulation_spec::GroupSpec| {
        matches!(group.workload, WorkloadSpec::Bulk)
            && group.transport.properties().is_reliable()
            && group.reading.is_none()
            && group.misbehaviour.is_none()
            && group.control_channel.is_none()
    };
    let flows: u32 = spec.groups.iter().map(|group| group.count).sum();
    let is_slow = spec.links.iter().all(|link| link.forward.rate.as_f64() <= MAX_RATE);
    flows > 0 && flows <= MAX_FLOWS && is_slow && spec.groups.iter().all(is_stream)
}
