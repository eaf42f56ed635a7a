//! Temporary folders of a test.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Temporary folder, empty at first and removed at the end.
pub struct TestFolder(PathBuf);

/// File or folder: permissions, time in nanoseconds, contents.
pub type Entry = (u32, i128, Option<Vec<u8>>);

impl TestFolder {
    pub fn new(name: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("transfer-{name}-{number}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file, and creates its folders.
    pub fn write(&self, name: &str, contents: &[u8]) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, contents).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.join(name)).unwrap()
    }

    /// Returns the names of the entries in the folder.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Returns all entries below the folder.
    pub fn tree(&self) -> BTreeMap<PathBuf, Entry> {
        let mut tree = BTreeMap::new();
        read(&self.0, &self.0, &mut tree);
        tree
    }
}

fn read(top: &Path, folder: &Path, tree: &mut BTreeMap<PathBuf, Entry>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let time = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
        let contents = metadata.is_file().then(|| fs::read(&path).unwrap());
        let name = path.strip_prefix(top).unwrap().to_owned();
        tree.insert(name, (metadata.mode() & 0o777, time, contents));
        if metadata.is_dir() {
            read(top, &path, tree);
        }
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// Returns pseudo-random bytes.
pub fn random_bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(&seed.to_be_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}
