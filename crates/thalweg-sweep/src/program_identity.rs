//! Identity of the program that executes runs: saved runs of other builds are not reused.

use std::fs::File;
use std::io;
use std::path::Path;

/// Program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Version shown in documents.
    pub version: String,
    /// Build, part of the names of runs: two builds of one version may simulate differently.
    pub build: String,
}

/// Build fingerprint of the simulation's sources; `None` where the crate was built from a stand-alone package.
pub const SOURCES: Option<&str> = option_env!("THALWEG_SOURCES");

/// Returns the build fingerprint of a file's content, such as that of the running program.
///
/// # Errors
///
/// The file cannot be read.
pub fn build_of_file(path: &Path) -> io::Result<String> {
    let mut hash = blake3::Hasher::new();
    hash.update_reader(File::open(path)?)?;
    Ok(hash.finalize().to_hex()[..32].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_known_by_its_sources_or_by_its_file() {
        let sources = SOURCES.unwrap();
        assert!(sources.len() == 32 && sources.chars().all(|c| c.is_ascii_hexdigit()), "{sources}");
        let path = std::env::temp_dir().join(format!("thalweg-program-{}", std::process::id()));
        std::fs::write(&path, "one").unwrap();
        let one = build_of_file(&path).unwrap();
        std::fs::write(&path, "two").unwrap();
        assert_ne!(one, build_of_file(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        assert!(build_of_file(&path).is_err());
    }
}
