//! Differences of options between the rows of `compare --live`: between schemes, between a scheme's simulated and its live
//! flows, and from the kernel's TCP.

use crate::console_output::Error;
use crate::kernel_schemes::is_kernel;
use crate::run_and_compare::SchemeOptions;
use serde_json::{Value, json};
use thalweg_catalog::{ComparedScheme, Environment, PathHints, Registry, environment_differences};
use thalweg_net::flow::SchemeError;
use thalweg_report::output::{Remedy, differing_defaults_warning};
use thalweg_report::results::{DifferingDefault, differing_defaults};

/// Option with another value in the simulated than in the live flows of a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RowDifference {
    scheme: String,
    option: &'static str,
    /// Values, simulated and live.
    values: [String; 2],
}

/// Differences between the rows.
#[derive(Clone, Debug)]
pub(super) struct RowDifferences {
    simulated: Vec<DifferingDefault>,
    live: Vec<DifferingDefault>,
    rows: Vec<RowDifference>,
    /// Kernel schemes, by name.
    kernel: Vec<String>,
}

impl RowDifferences {
    /// Compares the options of these schemes. Live flows have those of the scheme's name alone, and live defaults.
    pub fn new(names: &[String], options: &SchemeOptions, registry: &Registry) -> Result<Self, Error> {
        let (kernel, ours): (Vec<String>, Vec<String>) =
            names.iter().cloned().partition(|name| is_kernel(name));
        let read = |name: &String| {
            let read = registry.read_scheme(name, Environment::Live);
            let offering = |error| SchemeError::Text(error).offering_reliable(registry);
            read.map_err(|error| Error::argument("schemes", offering(error).to_string()))
        };
        let live = ours.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let mut rows: Vec<RowDifference> = Vec::new();
        for (name, (description, live)) in ours.iter().zip(&live) {
            let mut live = live.clone();
            (description.apply_path_hints)(&mut live, &PathHints::default());
            let in_use = options.in_use.iter().filter(|(other, _)| other == name);
            for simulated in in_use.flat_map(|(_, groups)| groups.values()) {
                for (option, values) in environment_differences(description, &simulated.values, &live) {
                    let values =
                        values.map(|value| value.map_or("unset".to_owned(), |value| value.to_string()));
                    let found = RowDifference { scheme: name.clone(), option, values };
                    if simulated.description.name == description.name && !rows.contains(&found) {
                        rows.push(found);
                    }
                }
            }
        }
        let in_use = || options.in_use.iter().flat_map(|(_, groups)| groups.values());
        let (pauses, reorders) = (in_use().any(|of| of.pauses), in_use().any(|of| of.reorders));
        let compared: Vec<_> = ours
            .iter()
            .zip(&live)
            .map(|(name, (description, values))| ComparedScheme {
                name,
                description,
                values,
                pauses,
                reorders,
            })
            .collect();
        Ok(Self {
            simulated: options.unlike_defaults.clone(),
            live: differing_defaults(&compared),
            rows,
            kernel,
        })
    }

    /// Returns the sentences that precede the table.
    pub fn sentences(&self) -> Vec<String> {
        let warning = |place: &str, all: &[DifferingDefault]| {
            Some(format!("{place}: {}", differing_defaults_warning(all, Remedy::Schemes)?))
        };
        let mut sentences: Vec<String> = [warning("Simulated", &self.simulated), warning("Live", &self.live)]
            .into_iter()
            .flatten()
            .collect();
        let mut options: Vec<(String, Vec<&str>)> = Vec::new();
        for RowDifference { scheme, option, values: [simulated, live] } in &self.rows {
            let text = format!("{option} ({simulated} simulated, {live} live)");
            match options.iter_mut().find(|(other, _)| *other == text) {
                Some((_, schemes)) => schemes.push(scheme),
                None => options.push((text, vec![scheme])),
            }
        }
        if !options.is_empty() {
            let each = options.iter().map(|(text, schemes)| format!("{text} of {}", schemes.join(", ")));
            sentences.push(format!(
                "The simulated and the live row of a scheme differ in {}. Options in the scheme's name apply to both: {}.",
                each.collect::<Vec<_>>().join("; "),
                self.example()
            ));
        }
        if !self.kernel.is_empty() {
            let verb = if self.kernel.len() == 1 { "has" } else { "have" };
            sentences.push(format!(
                "{} {verb} the kernel's own options (`sysctl net.ipv4`), such as RACK-TLP, undo and its host's offloads.",
                self.kernel.join(", ")
            ));
        }
        sentences
    }

    /// Returns the name of a scheme whose rows have one value of its option.
    fn example(&self) -> String {
        let first = self.rows.first().map(|row| {
            let separator = if row.scheme.contains(':') { "," } else { ":" };
            format!("{}{separator}{}={}", row.scheme, row.option, row.values[1].replace(' ', ""))
        });
        first.unwrap_or_default()
    }

    /// Adds the differences to the document; nothing where there are none.
    pub fn add_to(&self, document: &mut Value) {
        let row = |row: &RowDifference| json!({ "scheme": row.scheme, "option": row.option, "simulated": row.values[0], "live": row.values[1] });
        let rows: Vec<Value> = self.rows.iter().map(row).collect();
        let lists = [
            ("unlike_defaults", json!(self.simulated)),
            ("unlike_live_defaults", json!(self.live)),
            ("unlike_rows", json!(rows)),
        ];
        for (name, list) in lists {
            if list.as_array().is_some_and(|list| !list.is_empty()) {
                document[name] = list;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_and_compare::load_with_schemes;
    use crate::scenario_sources::Source;
    use std::path::Path;
    use std::sync::Arc;

    fn likeness(names: &[&str], sets: &[&str]) -> RowDifferences {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let registry = Arc::new(Registry::default());
        let ours: Vec<String> = names.iter().filter(|name| !is_kernel(name)).cloned().collect();
        let source = Source::find(Path::new("dumbbell")).unwrap();
        let (_, _, options) = load_with_schemes(&source, &sets, &ours, &[], &registry).unwrap();
        RowDifferences::new(&names, &options, &registry).unwrap()
    }

    #[test]
    fn schemes_rows_and_the_kernel_are_distinguished() {
        let found = likeness(&["cubic", "bbr", "kernel:cubic"], &[]);
        let sentences = found.sentences();
        let [simulated, live, rows, kernel] = sentences.as_slice() else { panic!("{sentences:?}") };
        assert!(simulated.starts_with("Simulated: NOT LIKE FOR LIKE"), "{simulated}");
        assert!(simulated.contains("rack (false: cubic, true: bbr)"), "{simulated}");
        assert!(simulated.ends_with("To equalise: cubic:rack=true in place of cubic"), "{simulated}");
        assert!(live.contains("prr (true: cubic, false: bbr)"), "{live}");
        assert!(rows.contains("rack (false simulated, true live) of cubic"), "{rows}");
        assert!(kernel.starts_with("kernel:cubic has the kernel's own options"), "{kernel}");
        let several = likeness(&["cubic", "kernel:cubic", "kernel:bbr"], &[]).sentences();
        let kernel = several.last().unwrap();
        assert!(kernel.starts_with("kernel:cubic, kernel:bbr have the kernel's own options"), "{kernel}");
        let mut document = json!({});
        found.add_to(&mut document);
        assert_eq!(document["unlike_defaults"][0]["option"], "rack");
        assert!(document["unlike_rows"].as_array().unwrap().iter().any(|row| row["option"] == "rack"));
    }

    #[test]
    fn options_in_names_make_rows_alike_and_those_of_the_scenario_do_not() {
        let of_rack = |found: &RowDifferences| found.rows.iter().any(|row| row.option == "rack");
        assert!(!of_rack(&likeness(&["cubic:rack=true"], &[])));
        // An override of the scenario reaches simulated flows alone.
        assert!(of_rack(&likeness(&["bbr"], &["defaults.scheme.rack=false"])));
    }
}
