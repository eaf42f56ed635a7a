//! Version and build of this program.

use crate::console_output::Error;
use std::sync::OnceLock;
use thalweg_catalog::Registry;
use thalweg_sweep::{Program, SOURCES, build_of_file};

/// Returns the version, with the commit if the variable `THALWEG_COMMIT` was set at build time.
pub fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| match option_env!("THALWEG_COMMIT") {
        Some(commit) if !commit.is_empty() => format!("{} ({commit})", env!("CARGO_PKG_VERSION")),
        _ => env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// Returns the version, the profile and the target of this build. `scripts/release` sets the profile's name by the variable
/// `THALWEG_PROFILE`: a compiler knows only if it checks assertions.
pub fn build_description() -> &'static str {
    static BUILD: OnceLock<String> = OnceLock::new();
    BUILD.get_or_init(|| {
        let unnamed = if cfg!(debug_assertions) { "debug" } else { "release" };
        let profile = option_env!("THALWEG_PROFILE").filter(|name| !name.is_empty()).unwrap_or(unnamed);
        let library = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
        let (machine, system) = (std::env::consts::ARCH, std::env::consts::OS);
        format!("{}\nbuild: {profile}, {machine}-{system}-{library}", version())
    })
}

/// Returns the identity of this program, which distinguishes its stored runs from other builds' runs: a hash of its
/// sources, or of its file if it contains unstamped third-party components.
pub fn program_identity(registry: &Registry) -> Result<Program, Error> {
    let build = match SOURCES.filter(|_| !registry.is_unstamped()) {
        Some(sources) => sources.to_owned(),
        None => {
            let built = std::env::current_exe().and_then(|path| build_of_file(&path));
            built.map_err(|error| {
                Error::Failed(format!(
                    "the program cannot find its own file, which identifies stored runs: {error}"
                ))
            })?
        }
    };
    let stamp = registry.stamp().filter(|stamp| !stamp.is_empty());
    Ok(match stamp {
        None => Program { version: version().to_owned(), build },
        Some(stamp) => {
            let shown = stamp.lines().next().unwrap_or_default();
            Program { version: format!("{} with {shown}", version()), build: format!("{build} with {stamp}") }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn additions_to_a_program_change_its_build() {
        let plain = program_identity(&Registry::default()).unwrap();
        assert_eq!((plain.version.as_str(), Some(plain.build.as_str())), (version(), SOURCES));
        let mut registry = Registry::default();
        let added = registry.schemes()[0];
        registry.add_scheme(added);
        let extended = program_identity(&registry).unwrap();
        assert_eq!(extended.version, plain.version);
        assert_ne!(extended.build, plain.build, "it is the file's");
        registry.set_stamp("mine\n7");
        let tagged = program_identity(&registry).unwrap();
        assert_eq!(tagged.version, format!("{} with mine", version()));
        assert_eq!(tagged.build, format!("{} with mine\n7", plain.build));
    }
}
