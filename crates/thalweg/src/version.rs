//! The version and the build of this program.

use crate::console::Error;
use std::sync::OnceLock;
use thalweg_catalog::Registry;
use thalweg_sweep::{Program, SOURCES, build_of_file};

/// The version, with the commit it was built from where the variable `THALWEG_COMMIT` named it at build time.
pub fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| match option_env!("THALWEG_COMMIT") {
        Some(commit) if !commit.is_empty() => format!("{} ({commit})", env!("CARGO_PKG_VERSION")),
        _ => env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// This program, by which runs that are kept are told from those of others: by its sources, or by its file where what it has added is
/// part of no other.
pub fn program(registry: &Registry) -> Result<Program, Error> {
    let build = match SOURCES.filter(|_| !registry.is_unstamped()) {
        Some(sources) => sources.to_owned(),
        None => {
            let built = std::env::current_exe().and_then(|path| build_of_file(&path));
            built.map_err(|error| {
                Error::Failed(format!(
                    "the program does not find its own file, by which runs are kept: {error}"
                ))
            })?
        }
    };
    let stamp = registry.stamp().filter(|stamp| !stamp.is_empty());
    Ok(match stamp {
        None => Program { version: version().to_owned(), build },
        Some(stamp) => {
            Program { version: format!("{} with {stamp}", version()), build: format!("{build} with {stamp}") }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_to_a_program_is_part_of_its_build() {
        let usual = program(&Registry::default()).unwrap();
        assert_eq!((usual.version.as_str(), Some(usual.build.as_str())), (version(), SOURCES));
        let mut registry = Registry::default();
        let added = registry.schemes()[0];
        registry.add_scheme(added);
        let own = program(&registry).unwrap();
        assert_eq!(own.version, usual.version);
        assert_ne!(own.build, usual.build, "it is the file's");
        registry.set_stamp("mine 7");
        let stamped = program(&registry).unwrap();
        assert_eq!(stamped.build, format!("{} with mine 7", usual.build));
    }
}
