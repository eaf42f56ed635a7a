//! Files of packs: built into the program, or in a folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thalweg_catalog::Registry;
use thalweg_scenario::{
    Diagnostic, LoadedScenario, SchemeOverride, load_built_in_with_override, load_with_override, read_text,
};

macro_rules! files {
    ($($name:literal,)+) => {
        &[$(($name, include_str!(concat!("../assess/", $name)))),+]
    };
}

/// Files of the folder `scenarios/assess`.
const BUILT_IN: &[(&str, &str)] = files! {
    "alone.toml",
    "aqm.sweep.toml",
    "attack.sweep.toml",
    "attack.toml",
    "bbr-appendix-aggregation.sweep.toml",
    "bbr-appendix-limited.sweep.toml",
    "bbr-appendix-margins.toml",
    "bbr-appendix-path.toml",
    "bbr-appendix-pauses.sweep.toml",
    "bbr-appendix-policer.sweep.toml",
    "bbr-appendix.sweep.toml",
    "bbr-appendix.toml",
    "beside-bbr.sweep.toml",
    "beside-cubic.sweep.toml",
    "beside-newreno.sweep.toml",
    "beside.toml",
    "bottleneck.toml",
    "bufferbloat.sweep.toml",
    "c4-alone.sweep.toml",
    "c4-alone.toml",
    "c4-beside.sweep.toml",
    "c4-beside.toml",
    "c4-itself.sweep.toml",
    "c4-margins.toml",
    "c4-path.toml",
    "c4-wifi-beside.sweep.toml",
    "c4-wifi-itself.sweep.toml",
    "c4-wifi.sweep.toml",
    "c4.toml",
    "call.sweep.toml",
    "call.toml",
    "collapse-loss.sweep.toml",
    "constrained.sweep.toml",
    "crowd.sweep.toml",
    "high-delay.sweep.toml",
    "itself.sweep.toml",
    "losses.sweep.toml",
    "margins.toml",
    "misbehaving.sweep.toml",
    "misbehaving.toml",
    "no-feedback.sweep.toml",
    "onset.sweep.toml",
    "onset.toml",
    "outage.sweep.toml",
    "own-queue.sweep.toml",
    "path-change.sweep.toml",
    "policer.sweep.toml",
    "probed.toml",
    "radio.sweep.toml",
    "radio.toml",
    "random-loss.sweep.toml",
    "reordering.sweep.toml",
    "rfc9743.toml",
    "round-trips.sweep.toml",
    "round-trips.toml",
    "shared.toml",
    "tail-drop.sweep.toml",
    "tunnels.sweep.toml",
    "varying-delay.sweep.toml",
    "web-reverse.sweep.toml",
    "web-reverse.toml",
    "web.sweep.toml",
    "web.toml",
    "wifi.sweep.toml",
};

/// Names of the built-in packs.
pub const BUILT_IN_PLANS: &[&str] = &["rfc9743", "c4", "bbr-appendix"];

/// Location of a plan and the files it refers to.
#[derive(Clone, Debug)]
pub enum Files {
    /// Built into the program.
    BuiltIn,
    /// Folder.
    Folder(PathBuf),
}

impl Files {
    /// Returns the text of a file.
    ///
    /// # Errors
    ///
    /// A description of the read error.
    pub fn text(&self, name: &str) -> Result<String, String> {
        match self {
            Self::BuiltIn => {
                let found = BUILT_IN.iter().find(|(candidate, _)| *candidate == name);
                found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| format!("there is no file `{name}`"))
            }
            Self::Folder(folder) => {
                let path = folder.join(name);
                read_text(&path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
            }
        }
    }

    /// Loads a scenario by name, with the changes in `sets`, optionally with another scheme for some flows.
    ///
    /// # Errors
    ///
    /// All errors of the scenario.
    pub fn load(
        &self,
        name: &str,
        sets: &[String],
        scheme_override: Option<SchemeOverride<'_>>,
        registry: &Arc<Registry>,
    ) -> Result<LoadedScenario, Vec<Diagnostic>> {
        match self {
            Self::BuiltIn => load_built_in_with_override(name, BUILT_IN, sets, scheme_override, registry),
            Self::Folder(folder) => load_with_override(&folder.join(name), sets, scheme_override, registry),
        }
    }

    /// Returns the path of a file for commands; built-in files have a path in the program's repository.
    pub fn path(&self, name: &str) -> String {
        match self {
            Self::BuiltIn => format!("scenarios/assess/{name}"),
            Self::Folder(folder) => folder.join(name).display().to_string(),
        }
    }

    /// Writes the built-in files to a folder.
    ///
    /// # Errors
    ///
    /// A file exists already, or cannot be written.
    pub fn unpack(folder: &Path) -> io::Result<usize> {
        fs::create_dir_all(folder)?;
        for (name, text) in BUILT_IN {
            let mut out = fs::File::create_new(folder.join(name))?;
            io::Write::write_all(&mut out, text.as_bytes())?;
        }
        Ok(BUILT_IN.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assessment_plan::AssessmentPlan;
    use crate::equivalence_margins::Margins;
    use std::collections::BTreeSet;
    use thalweg_scenario::read_sweep_text;
    use thalweg_sweep::Plan;

    #[test]
    fn every_file_of_the_folder_is_part_of_the_program() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/assess");
        let files = fs::read_dir(folder).unwrap();
        let names: BTreeSet<String> =
            files.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        assert_eq!(names, BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect());
    }

    /// Packs are complete: margins and sweeps exist, sweeps have the flows, groups and links of the claims, and the
    /// number of points is as stated.
    #[test]
    fn packs_fit_their_files() {
        for name in BUILT_IN_PLANS {
            let plan =
                AssessmentPlan::read(name, &Files::BuiltIn.text(&format!("{name}.toml")).unwrap()).unwrap();
            let margins = Files::BuiltIn.text(&plan.margins).unwrap();
            plan.check_margins(&Margins::read(&plan.margins, &margins).unwrap()).unwrap();
            let mut points = std::collections::BTreeMap::new();
            for experiment in plan.sections.iter().flat_map(|section| &section.experiments) {
                let text = Files::BuiltIn.text(&experiment.sweep).unwrap();
                let sweep = read_sweep_text(&experiment.sweep, &text).unwrap();
                let schemes: Vec<&str> = sweep.schemes.iter().map(|of| of.text.as_str()).collect();
                assert_eq!(schemes, plan.references, "{}", experiment.sweep);
                assert_eq!(sweep.replications, Some(plan.replications), "{}", experiment.sweep);
                let sets: Vec<String> = sweep.sets.iter().map(|set| set.text.clone()).collect();
                let loaded = Files::BuiltIn.load(&sweep.scenario.text, &sets, None, &Arc::default());
                let spec =
                    loaded.unwrap_or_else(|found| panic!("{}: {found:?}", experiment.sweep)).scenario.spec;
                let groups = spec.groups.iter().map(|group| group.name.as_str());
                let known: BTreeSet<&str> =
                    groups.chain(spec.links.iter().map(|link| link.name.as_str())).collect();
                assert!(
                    sweep.flows.iter().all(|flow| known.contains(flow.text.as_str())),
                    "{}",
                    experiment.sweep
                );
                let sweep_plan = Plan::from_file(&sweep).unwrap();
                for claim in &experiment.claims {
                    assert!(claim.of.iter().all(|of| known.contains(of.as_str())), "{}", claim.text);
                    for (factor, values) in &claim.only {
                        let factor = sweep_plan
                            .factors
                            .iter()
                            .find(|candidate| candidate.key.text == *factor)
                            .unwrap();
                        let has =
                            |value: &String| factor.levels.iter().any(|level| level.unquoted() == value);
                        assert!(values.iter().all(has), "{}: {values:?}", claim.text);
                    }
                }
                points.insert(experiment.sweep.clone(), sweep_plan.points.len() / schemes.len());
            }
            if *name == "rfc9743" {
                assert!(points.values().sum::<usize>() >= 320, "{points:?}");
            }
        }
    }
}
