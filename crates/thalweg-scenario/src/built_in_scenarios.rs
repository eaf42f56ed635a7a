//! Built-in scenarios: the files in the folder `scenarios` of the project.

/// A built-in scenario.
#[derive(Debug)]
pub struct BuiltIn {
    /// Name.
    pub name: &'static str,
    /// Text of the scenario.
    pub text: &'static str,
    /// Names and contents of the scenario's file and of the files it refers to.
    pub files: &'static [(&'static str, &'static str)],
}

macro_rules! built_in {
    ($($name:literal $(with $file:literal)*,)+) => {
        &[$(BuiltIn {
            name: $name,
            text: include_str!(concat!("../scenarios/", $name, ".toml")),
            files: &[
                (concat!($name, ".toml"), include_str!(concat!("../scenarios/", $name, ".toml"))),
                $(($file, include_str!(concat!("../scenarios/", $file)))),*
            ],
        }),+]
    };
}

/// The scenarios in the folder `scenarios`.
pub const BUILT_IN: &[BuiltIn] = built_in! {
    "dumbbell",
    "two-flows",
    "parking-lot",
    "slow-chain",
    "slow-chain-two-way" with "slow-chain.toml",
    "lossy-long-path",
    "difficult-path",
    "cellular-trace" with "cellular.trace",
    "outage",
    "web",
    "incast",
    "fat-tree" with "websearch.csv" with "datamining.csv",
    "l4s",
    "video-call",
    "short-flows" with "websearch.csv" with "datamining.csv",
    "cluster",
    "recovery",
    "soft-acknowledgement",
    "slow-reader",
    "ten-thousand-flows",
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{load_built_in, load_text_beside};
    use std::sync::Arc;

    #[test]
    fn every_built_in_scenario_is_correct_and_there_is_one_for_each_file() {
        for scenario in BUILT_IN {
            let loaded = load_built_in(scenario.files[0].0, scenario.files, &[]);
            assert!(loaded.is_ok(), "{}: {loaded:?}", scenario.name);
        }
        let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios")).unwrap();
        let names = files.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        for name in names.filter_map(|name| name.strip_suffix(".toml").map(str::to_owned)) {
            assert!(BUILT_IN.iter().any(|scenario| scenario.name == name), "{name} is not built in");
        }
    }

    #[test]
    fn a_changed_text_refers_to_the_same_files() {
        let scenario = BUILT_IN.iter().find(|scenario| scenario.name == "cellular-trace").unwrap();
        let load = |files| load_text_beside("mine.toml", scenario.text, files, &[], &Arc::default());
        let original = load_built_in(scenario.files[0].0, scenario.files, &[]).unwrap();
        assert_eq!(load(scenario.files).unwrap().spec(), original.spec());
        let without = load(&[]).unwrap_err();
        assert!(without[0].message.starts_with("cannot read `cellular.trace`"), "{}", without[0].message);
    }
}
