//! The program that makes runs, by which those that are kept are told from those of others.

use std::fs::File;
use std::io;
use std::path::Path;

/// A program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The version that documents show.
    pub version: String,
    /// The build that names of runs hold: two builds of one version may simulate otherwise.
    pub build: String,
}

/// The build that follows from the sources of what simulates; none where the crate was built from a package of its own.
pub const SOURCES: Option<&str> = option_env!("THALWEG_SOURCES");

/// The build that follows from the content of a file, such as the running program.
///
/// # Errors
///
/// It cannot be read.
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
