//! Names of per-run output files in a batch.

use std::path::{Path, PathBuf};

/// An output file, or several with names derived from it.
#[derive(Clone, Debug)]
pub struct RunFiles {
    path: PathBuf,
    /// Extension of the files of several runs.
    ending: &'static str,
    /// True if there are several runs, each with a file of its own.
    several: bool,
}

impl RunFiles {
    /// Creates the name: `path`, or for `several` runs names derived from it, with this extension.
    pub fn new(path: PathBuf, ending: &'static str, several: bool) -> Self {
        Self { path, ending, several }
    }

    /// Returns the file of one run.
    pub fn of(&self, scheme: Option<&str>, seed: u64) -> PathBuf {
        match self.several {
            true => file_name(&self.path.with_extension(""), scheme, seed, self.ending),
            false => self.path.clone(),
        }
    }

    /// Returns the file, or the name pattern for several runs.
    pub fn all(&self) -> PathBuf {
        match self.several {
            true => file_names(&self.path.with_extension(""), self.ending),
            false => self.path.clone(),
        }
    }
}

/// Returns `path-SCHEME-SEED` with an extension, without characters that are unsuitable for file names.
pub fn file_name(path: &Path, scheme: Option<&str>, seed: u64, ending: &str) -> PathBuf {
    let stem = path.file_name().unwrap_or_default().to_string_lossy();
    let safe = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let scheme: String =
        scheme.map(|name| format!("-{name}")).unwrap_or_default().chars().map(safe).collect();
    path.with_file_name(format!("{stem}{scheme}-{seed}{ending}"))
}

/// Returns the pattern of the names that [`file_name`] assigns.
pub fn file_names(path: &Path, ending: &str) -> PathBuf {
    let stem = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-*{ending}"))
}
