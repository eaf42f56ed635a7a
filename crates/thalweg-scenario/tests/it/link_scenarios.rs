//! Scenarios with one link: text, reading, errors.

use std::path::Path;
use thalweg_scenario::{Diagnostic, LoadedScenario, load_text};
use thalweg_sim::simulation_spec::DirectionSpec;

/// Reads a scenario.
pub fn load(text: &str) -> Result<LoadedScenario, Vec<Diagnostic>> {
    load_text("test.toml", text, Path::new(""), &[])
}

/// Returns a scenario with one flow over one link with these keys.
pub fn with_link(keys: &str) -> String {
    format!(
        "duration = \"20 s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n{keys}\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\n"
    )
}

/// Returns the first link's forward direction, and asserts that it survives writing and reading.
pub fn forward_direction_after_round_trip(keys: &str) -> DirectionSpec {
    let read = |text: &str| {
        load(text)
            .unwrap_or_else(|found| panic!("{}", found.iter().map(Diagnostic::render).collect::<String>()))
    };
    let loaded = read(&with_link(keys));
    let again = read(&loaded.expanded());
    assert_eq!(again.spec(), loaded.spec(), "{}", loaded.expanded());
    loaded.spec().links[0].forward.clone()
}

/// Returns the errors of an invalid scenario as text.
pub fn rendered_errors(text: &str) -> String {
    let found = load(text).err().unwrap_or_else(|| panic!("it is read: {text}"));
    found.iter().map(Diagnostic::render).collect()
}
