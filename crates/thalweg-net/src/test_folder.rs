//! A folder for a unit test.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// An empty folder of this process, removed at the end of the test.
#[derive(Debug)]
pub struct TestFolder(PathBuf);

impl TestFolder {
    /// Creates the folder; `name` distinguishes the tests of the crate.
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("thalweg-net-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Deref for TestFolder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for TestFolder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
