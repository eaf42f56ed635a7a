//! A sample of the points of an assessment, for those who run them elsewhere: in live networks.

use crate::assessment::{AssessError, Assessment, values_of};
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_scenario::Scenario;
use thalweg_sim::spec::{Spec, WorkloadSpec};

/// A point that live networks can carry, with the scheme under test for all of its flows.
#[derive(Clone, Debug)]
pub struct Sampled {
    /// The sweep's file.
    pub sweep: String,
    /// The values of its factors.
    pub values: BTreeMap<String, String>,
    /// The scenario.
    pub scenario: Scenario,
}

/// Flows that a host carries while it keeps up.
const MAX_FLOWS: u32 = 32;
/// Rates of links that it carries.
const MAX_RATE: f64 = 200e6;

impl Assessment<'_> {
    /// Up to `most` points of the chosen sections that live networks can carry, as far from each other in the plan as they are: those of
    /// streams without end over links that a host can imitate.
    ///
    /// # Errors
    ///
    /// The plan or the scheme is wrong.
    pub fn sample(&self, most: usize) -> Result<Vec<Sampled>, AssessError> {
        let sections = self.pack.chosen(&self.choice.only).map_err(AssessError::Pack)?;
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
        let places = (0..most.min(count)).map(|number| (2 * number + 1) * count / (2 * most.min(count)));
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
            Sampled { sweep: sweep.clone(), values: values.clone(), scenario }
        });
        Ok(chosen.collect())
    }
}

fn can_be_carried(spec: &Spec) -> bool {
    let is_stream = |group: &thalweg_sim::spec::GroupSpec| {
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
