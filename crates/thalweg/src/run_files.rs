//! The names of files of which each run of a batch writes one.

use std::path::{Path, PathBuf};

/// A file, or those of several runs, which are named like it.
#[derive(Clone, Debug)]
pub struct RunFiles {
    path: PathBuf,
    /// The ending of the files of several runs.
    ending: &'static str,
    /// There is more than one run, so that each needs a name of its own.
    several: bool,
}

impl RunFiles {
    /// The file at `path`, or files named like it with this ending where there are `several` runs.
    pub fn new(path: PathBuf, ending: &'static str, several: bool) -> Self {
        Self { path, ending, several }
    }

    /// The file of one run.
    pub fn of(&self, scheme: Option<&str>, seed: u64) -> PathBuf {
        match self.several {
            true => file_name(&self.path.with_extension(""), scheme, seed, self.ending),
            false => self.path.clone(),
        }
    }

    /// The file, or the pattern of the files of several runs.
    pub fn all(&self) -> PathBuf {
        match self.several {
            true => file_names(&self.path.with_extension(""), self.ending),
            false => self.path.clone(),
        }
    }
}

/// `path-SCHEME-SEED` with an ending, without what does not belong into the name of a file.
pub fn file_name(path: &Path, scheme: Option<&str>, seed: u64, ending: &str) -> PathBuf {
    let stem = path.file_name().unwrap_or_default().to_string_lossy();
    let safe = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let scheme: String =
        scheme.map(|name| format!("-{name}")).unwrap_or_default().chars().map(safe).collect();
    path.with_file_name(format!("{stem}{scheme}-{seed}{ending}"))
}

/// The names that [`file_name`] gives the files of several runs, as a pattern.
pub fn file_names(path: &Path, ending: &str) -> PathBuf {
    let stem = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-*{ending}"))
}
