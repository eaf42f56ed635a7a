//! Controls of a scenario: the values that the page offers to change, each with its key for `--set`.

use crate::scenario_input::Input;
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;
use thalweg_catalog::Registry;
use thalweg_queue::{Limit, LossSpec};
use thalweg_scenario::{GroupPath, LoadedScenario};
use thalweg_sim::simulation_spec::{GroupSpec, LinkSpec, Spec};

/// Maximum number of links with controls: the bottlenecks of the first flows.
const MAX_LINKS: usize = 3;
/// Maximum number of groups of flows with controls.
const MAX_GROUPS: usize = 6;
/// Maximum number of links of a scenario that is loaded again to try values; a larger one takes too long for that.
const MAX_TRIED: usize = 64;
/// Factor between a value and the ends of its range.
const RANGE_FACTOR: f64 = 50.0;

/// A control.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Control {
    /// Key for `--set`.
    pub key: String,
    /// Link or group of flows that it belongs to; empty for the whole scenario.
    pub of: String,
    /// Label.
    pub label: &'static str,
    /// Values.
    #[serde(flatten)]
    pub values: Values,
}

/// Values of a control.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Values {
    /// A quantity on a logarithmic scale.
    Quantity {
        /// Unit: "bit/s", "s", "pkt", "B", "share" or "" for a count.
        unit: &'static str,
        /// Value in the scenario.
        value: f64,
        /// Lower end of the scale.
        min: f64,
        /// Upper end of the scale.
        max: f64,
        /// True if zero is a value too, below the scale.
        has_zero: bool,
    },
    /// One of several names.
    Choice {
        /// Name in the scenario.
        value: String,
        /// All names.
        options: Vec<String>,
    },
    /// A queue discipline, set together with the queue's capacity.
    Discipline {
        /// Name in the scenario.
        value: String,
        /// All names.
        options: Vec<String>,
        /// Capacity in the scenario, as text with its unit.
        capacity: String,
        /// Key of the capacity; empty if it has no control.
        capacity_key: String,
    },
}

/// Returns the controls of a scenario without its changes; none if it does not load.
pub fn scenario_controls(input: &Input, registry: &Arc<Registry>) -> Vec<Control> {
    let base = Input { sets: Vec::new(), ..input.clone() };
    let Ok(loaded) = base.load(registry) else { return Vec::new() };
    let trial = Trial { base: &base, registry };
    let spec = loaded.spec();
    let mut found = vec![quantity_control("duration", "", "Duration", "s", spec.duration.as_secs_f64())];
    let is_large = spec.links.len() > MAX_TRIED;
    for number in controlled_links(&loaded).into_iter().filter(|_| !is_large) {
        found.extend(of_link(number, &spec.links[number], &trial));
    }
    let groups = spec.groups.iter().enumerate().take(MAX_GROUPS);
    let schemes = selectable_schemes(spec, &trial);
    for (number, group) in groups {
        found.extend(of_group(number, group, spec, &schemes));
    }
    if is_large { found } else { trial.settable_controls(found) }
}

/// A scenario that is loaded again with changes, to find out if it accepts them.
struct Trial<'a> {
    base: &'a Input,
    registry: &'a Arc<Registry>,
}

impl Trial<'_> {
    fn accepts(&self, sets: Vec<String>) -> bool {
        Input { sets, ..self.base.clone() }.load(self.registry).is_ok()
    }

    /// Returns the controls whose present value can be set. Keys of generated links, for instance, cannot be set.
    fn settable_controls(&self, found: Vec<Control>) -> Vec<Control> {
        if self.accepts(found.iter().map(Control::set).collect()) {
            return found;
        }
        found.into_iter().filter(|control| self.accepts(vec![control.set()])).collect()
    }
}

impl Control {
    /// Returns the change that sets the present value.
    pub fn set(&self) -> String {
        let Self { key, values, .. } = self;
        match values {
            Values::Quantity { unit, value, .. } => format!("{key}={}", format_with_unit(*value, unit)),
            Values::Choice { value, .. } => format!("{key}={value}"),
            Values::Discipline { value, capacity, .. } => {
                format!("{key}={{discipline=\"{value}\",capacity=\"{capacity}\"}}")
            }
        }
    }
}

/// Returns a value with its unit as scenarios write it.
fn format_with_unit(value: f64, unit: &str) -> String {
    match unit {
        "share" | "" => value.to_string(),
        _ => format!("{value} {unit}"),
    }
}

/// Returns a quantity whose scale extends from the value by a factor in both directions.
fn quantity_control(key: &str, of: &str, label: &'static str, unit: &'static str, value: f64) -> Control {
    let whole = matches!(unit, "pkt" | "B" | "");
    let min = if whole { (value / RANGE_FACTOR).floor().max(1.0) } else { value / RANGE_FACTOR };
    let max = if unit.is_empty() { (value * RANGE_FACTOR).max(64.0) } else { value * RANGE_FACTOR };
    let values = Values::Quantity { unit, value, min, max, has_zero: false };
    Control { key: key.to_owned(), of: of.to_owned(), label, values }
}

/// Returns a quantity that may be zero, on a scale with fixed ends unless the value exceeds them.
fn from_zero(
    key: &str,
    of: &str,
    label: &'static str,
    unit: &'static str,
    value: f64,
    ends: [f64; 2],
) -> Control {
    let [min, max] = ends;
    let max = if unit == "share" { max } else { max.max(value * RANGE_FACTOR) };
    let values = Values::Quantity { unit, value, min, max: max.max(value), has_zero: true };
    Control { key: key.to_owned(), of: of.to_owned(), label, values }
}

/// Returns the links with controls: the bottlenecks of the groups; the first link if there is none.
fn controlled_links(loaded: &LoadedScenario) -> BTreeSet<usize> {
    let hops = loaded.paths().groups.iter().flatten().filter_map(GroupPath::bottleneck_hop);
    let mut found: BTreeSet<usize> = BTreeSet::new();
    for link in hops.map(|hop| hop as usize / 2) {
        if found.len() < MAX_LINKS {
            found.insert(link);
        }
    }
    if found.is_empty() && !loaded.spec().links.is_empty() {
        found.insert(0);
    }
    found
}

/// Returns a name for keys, or the position from 1 if the name cannot be part of one.
fn key_name_or_position(name: &str, number: usize) -> String {
    let is_plain = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if is_plain { name.to_owned() } else { (number + 1).to_string() }
}

fn of_link(number: usize, link: &LinkSpec, trial: &Trial<'_>) -> Vec<Control> {
    let name = &link.name;
    let key = format!("link.{}", key_name_or_position(name, number));
    let line = &link.forward;
    let mut found = Vec::new();
    if line.capacity.is_none() {
        found.push(quantity_control(&format!("{key}.rate"), name, "Rate", "bit/s", line.rate.as_f64()));
    }
    found.push(from_zero(
        &format!("{key}.delay"),
        name,
        "Delay, one way",
        "s",
        line.delay.as_secs_f64(),
        [1e-4, 0.5],
    ));
    let (capacity, unit, size) = match line.queue.limit() {
        Limit::Packets(size) => (format!("{size} pkt"), "pkt", size),
        Limit::Bytes(size) => (format!("{size} B"), "B", size),
        Limit::Unlimited => ("unlimited".to_owned(), "", 0),
    };
    let places = [format!("{key}.queue.capacity"), format!("{key}.queue")];
    let place = places.into_iter().find(|place| trial.accepts(vec![format!("{place}={capacity}")]));
    let capacity_key = place.filter(|_| size > 0).unwrap_or_default();
    if !capacity_key.is_empty() {
        found.push(quantity_control(&capacity_key, name, "Queue", unit, size as f64));
    }
    let options = trial.registry.disciplines().iter().map(|of| of.name);
    let options = options.filter(|name| trial.registry.read_discipline(name, line.queue.limit()).is_ok());
    let values = Values::Discipline {
        value: line.queue.name().to_owned(),
        options: options.map(str::to_owned).collect(),
        capacity,
        capacity_key,
    };
    found.push(Control { key: format!("{key}.queue"), of: name.clone(), label: "Discipline", values });
    let loss = match line.impairment.loss {
        LossSpec::None => Some(0.0),
        LossSpec::Uniform { probability } => Some(probability),
        _ => None,
    };
    if let Some(loss) = loss {
        found.push(from_zero(&format!("{key}.loss"), name, "Loss", "share", loss, [1e-6, 0.3]));
    }
    found
}

/// Returns the schemes that the first group of flows can use.
fn selectable_schemes(spec: &Spec, trial: &Trial<'_>) -> Vec<String> {
    let all = trial.registry.schemes().iter().map(|scheme| scheme.name.to_owned());
    let Some(group) = spec.groups.first().filter(|_| spec.links.len() <= MAX_TRIED) else {
        return all.collect();
    };
    let key = format!("flow.{}.scheme", key_name_or_position(&group.name, 0));
    all.filter(|name| trial.accepts(vec![format!("{key}={name}")])).collect()
}

fn of_group(number: usize, group: &GroupSpec, spec: &Spec, schemes: &[String]) -> Vec<Control> {
    let name = &group.name;
    let is_unique = spec.groups.iter().filter(|other| other.name == *name).count() == 1;
    let key = match is_unique {
        true => format!("flow.{}", key_name_or_position(name, number)),
        false => format!("flow.{}", number + 1),
    };
    let mut options = schemes.to_vec();
    let value = group.transport.scheme.clone();
    if !options.contains(&value) {
        options.insert(0, value.clone());
    }
    let scheme = Control {
        key: format!("{key}.scheme"),
        of: name.clone(),
        label: "Scheme",
        values: Values::Choice { value, options },
    };
    vec![quantity_control(&format!("{key}.count"), name, "Flows", "", f64::from(group.count)), scheme]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario_input::page_registry;

    fn controls_of(name: &str) -> Vec<Control> {
        scenario_controls(&Input { name: name.to_owned(), ..Input::default() }, &page_registry(None))
    }

    #[test]
    fn each_built_in_scenario_has_controls_whose_values_change_nothing() {
        for scenario in thalweg_scenario::BUILT_IN {
            let found = controls_of(scenario.name);
            assert!(found.len() >= 3, "{}: {found:?}", scenario.name);
            let registry = page_registry(None);
            let original = Input { name: scenario.name.to_owned(), ..Input::default() };
            let original = original.load(&registry).unwrap().spec().clone();
            for control in found {
                // Setting a discipline resets its other options, and a scheme those of the scenario.
                if !matches!(control.values, Values::Quantity { .. }) {
                    continue;
                }
                let changed = Input { name: scenario.name.to_owned(), text: None, sets: vec![control.set()] };
                let changed = changed.load(&registry).unwrap();
                assert_eq!(changed.spec().duration, original.duration, "{control:?}");
                assert_eq!(changed.spec().groups.len(), original.groups.len());
            }
        }
    }

    #[test]
    fn a_link_and_its_flows_have_the_controls_of_the_scenario() {
        let found = controls_of("dumbbell");
        let keys: Vec<&str> = found.iter().map(|control| control.key.as_str()).collect();
        assert_eq!(
            keys,
            [
                "duration",
                "link.bottleneck.rate",
                "link.bottleneck.delay",
                "link.bottleneck.queue",
                "link.bottleneck.queue",
                "link.bottleneck.loss",
                "flow.flows.count",
                "flow.flows.scheme",
            ]
        );
        let Values::Quantity { value, min, max, unit, has_zero } = found[1].values else { panic!() };
        assert_eq!((value, min, max, unit, has_zero), (1e8, 2e6, 5e9, "bit/s", false));
        let Values::Choice { value, options } = &found[7].values else { panic!() };
        assert!(value == "newreno" && options.iter().any(|of| of == "bbr"), "{options:?}");
    }

    #[test]
    fn a_queue_written_as_a_table_keeps_its_discipline() {
        let found = controls_of("l4s");
        assert!(found.iter().any(|control| control.key == "link.access.queue.capacity"), "{found:?}");
    }

    #[test]
    fn a_large_network_is_loaded_once() {
        let text = "duration = \"10 ms\"\nnetwork = { kind = \"fat-tree\", k = 8, rate = \"1 Gbit/s\", delay = \"1 us\", queue = \"100 pkt\" }\n\
                    [[flow]]\nname = \"a b\"\nfrom = \"h1\"\nto = \"h99\"\nscheme = \"cubic\"\nworkload = \"1 MB\"\n";
        let input = Input { name: "mine".to_owned(), text: Some(text.to_owned()), sets: Vec::new() };
        let found = scenario_controls(&input, &page_registry(None));
        let keys: Vec<&str> = found.iter().map(|control| control.key.as_str()).collect();
        assert_eq!(
            keys,
            ["duration", "flow.1.count", "flow.1.scheme"],
            "links have no controls, and none is tried"
        );
    }
}
