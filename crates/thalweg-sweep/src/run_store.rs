//! The folder of a sweep: it saves each run on completion.

use core::fmt;
use serde::Deserialize;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use thalweg_report::output::{MAX_RESULTS, temporary_name};
use thalweg_report::results::Run;
use thalweg_scenario::{Reader, read_text};

/// Folder of runs, each under a name derived from the simulation's input.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
}

/// Error of opening or writing a store.
#[derive(Debug)]
pub enum StoreError {
    /// Not a folder, or a folder with other content.
    NotAStore(PathBuf),
    /// Folder of another call that has not ended.
    InUse(PathBuf),
    /// Error of the operating system.
    Io(PathBuf, io::Error),
}

/// Lock of a store's folder, until it is dropped.
#[derive(Debug)]
pub struct StoreLock {
    /// `None` on file systems without locks.
    file: Option<fs::File>,
}

impl Drop for StoreLock {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            // Child processes of the program may have inherited the file. It is closed anyway.
            let _ = file.unlock();
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAStore(path) => {
                write!(f, "`{}` holds something else; choose a new folder with --out", path.display())
            }
            Self::InUse(path) => write!(
                f,
                "another call is writing into `{}`: wait for its end, or choose another folder with --out",
                path.display()
            ),
            Self::Io(path, error) => write!(f, "`{}`: {error}", path.display()),
        }
    }
}

impl core::error::Error for StoreError {}

/// Name of the file that describes the folder.
const README: &str = "README.txt";
/// Stem of the names of files that are being written.
const PARTIAL: &str = "partial";

/// Purpose of a store, as written in its `README.txt`.
#[derive(Clone, Copy, Debug)]
pub struct Purpose {
    /// First line of the file; it identifies the folder.
    pub mark: &'static str,
    /// Description of the content, and how to resume.
    pub about: &'static str,
}

impl Purpose {
    /// A sweep.
    pub const SWEEP: Self = Self {
        mark: "A sweep of thalweg",
        about: "\
results.json    the means of each point, and what explains how much of the variance
flows.parquet   a row for each flow of each run
links.parquet   a row for each direction of a link of each run
report.html     the page that --report writes
points          the results of each run, under a hash of its scenario, its seed and the build of thalweg

`thalweg sweep FILE` with the same file resumes an interrupted sweep, and repeats no run in `points`.
",
    };
}

impl Store {
    /// Opens the store in `folder`, or creates it for `purpose`.
    ///
    /// # Errors
    ///
    /// It cannot be written, or holds other content.
    pub fn open(folder: &Path, purpose: Purpose) -> Result<Self, StoreError> {
        let io = |error| StoreError::Io(folder.to_owned(), error);
        if folder.exists() && !folder.is_dir() {
            return Err(StoreError::NotAStore(folder.to_owned()));
        }
        let store = Self { folder: folder.to_owned() };
        // Listed first: another call may create the store meanwhile.
        let is_used = folder.exists()
            && fs::read_dir(folder).map_err(io)?.any(|entry| !entry.is_ok_and(|entry| is_temporary(&entry)));
        let is_ours = read_text(&store.path(README)).is_ok_and(|text| text.starts_with(purpose.mark));
        if is_used && !is_ours {
            return Err(StoreError::NotAStore(folder.to_owned()));
        }
        if !is_ours {
            fs::create_dir_all(folder).map_err(io)?;
            store.write_readme(purpose).map_err(io)?;
        }
        Ok(store)
    }

    /// Writes the file that identifies the folder at once. Keeps that of another call, which may hold its lock.
    fn write_readme(&self, Purpose { mark, about }: Purpose) -> io::Result<()> {
        let (part, readme) = (self.path(&temporary_name(PARTIAL)), self.path(README));
        fs::write(&part, format!("{mark}\n{}\n\n{about}", "=".repeat(mark.len())))?;
        match fs::hard_link(&part, &readme) {
            // Some file systems have no hard links.
            Err(_) if !readme.exists() => fs::rename(&part, &readme),
            _ => fs::remove_file(&part),
        }
    }

    /// Locks the folder, for a call that writes results of all runs: those of two calls would be mixed. Runs may be saved
    /// without a lock.
    ///
    /// # Errors
    ///
    /// Another call holds the lock.
    pub fn lock(&self) -> Result<StoreLock, StoreError> {
        // Some network file systems lock only files that are open for writing, and others none.
        let Ok(file) = fs::File::options().append(true).open(self.path(README)) else {
            return Ok(StoreLock { file: None });
        };
        match file.try_lock() {
            Ok(()) => Ok(StoreLock { file: Some(file) }),
            Err(fs::TryLockError::WouldBlock) => Err(StoreError::InUse(self.folder.clone())),
            Err(fs::TryLockError::Error(_)) => Ok(StoreLock { file: None }),
        }
    }

    /// Returns the path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the name of a run: a hash of the program's build, the expanded scenario and the seed.
    pub fn name(build: &str, expanded: &str, seed: u64) -> String {
        let mut hash = blake3::Hasher::new();
        for part in [LAYOUT_VERSION, build, &seed.to_string(), expanded] {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        hash.finalize().to_hex()[..40].to_owned()
    }

    fn run_path(&self, name: &str) -> PathBuf {
        let (folder, file) = name.split_at(2);
        self.folder.join("points").join(folder).join(format!("{file}.json"))
    }

    fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        Reader::new(MAX_RESULTS).read_bytes(&self.run_path(name)).ok()
    }

    /// Returns the run with this name; none if it is missing, or truncated by a system crash.
    pub fn get(&self, name: &str) -> Option<Run> {
        serde_json::from_slice(&self.bytes(name)?).ok()
    }

    /// Returns true if a valid file holds a complete run of that seed. Much faster than reading the run.
    pub fn is_complete_run(&self, name: &str, seed: u64) -> bool {
        let glance = |bytes: Vec<u8>| serde_json::from_slice::<RunIdentity>(&bytes).ok();
        self.bytes(name).and_then(glance).is_some_and(|run| run.complete && run.seed == seed)
    }

    /// Saves a run atomically, also with respect to `kill -9`.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn put(&self, name: &str, run: &Run) -> Result<(), StoreError> {
        self.write_at(&self.run_path(name), |out| serde_json::to_writer(out, run).map_err(io::Error::from))
    }

    /// Writes a file of the folder atomically.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        self.write_at(&self.path(name), |out| out.write_all(content))
    }

    fn write_at(
        &self,
        place: &Path,
        fill: impl FnOnce(&mut io::BufWriter<fs::File>) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        let part = self.folder.join(temporary_name(PARTIAL));
        let io = |error| StoreError::Io(place.to_owned(), error);
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder).map_err(io)?;
        }
        let file = fs::File::create_new(&part).map_err(io)?;
        let written = (|| {
            let mut out = io::BufWriter::new(file);
            fill(&mut out)?;
            out.flush()?;
            fs::rename(&part, place)
        })();
        written.map_err(|error| {
            // A leftover temporary file would only waste space.
            let _ = fs::remove_file(&part);
            io(error)
        })
    }

    /// Removes temporary files of killed processes: those not modified for an hour.
    pub fn remove_temporary_files(&self) {
        let is_old = |entry: &fs::DirEntry| {
            let modified = entry.metadata().and_then(|data| data.modified());
            modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age.as_secs() > 3600))
        };
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if is_temporary(&entry) && is_old(&entry) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Returns true for the name of a file that is being written, or was when its process was killed.
fn is_temporary(entry: &fs::DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(format!(".{PARTIAL}-").as_bytes())
}

/// Fields that identify a saved run.
#[derive(Deserialize)]
struct RunIdentity {
    complete: bool,
    seed: u64,
}

/// Version of the run layout, part of every name.
const LAYOUT_VERSION: &str = "thalweg-sweep-run 1";

#[cfg(test)]
mod tests {
    use super::*;

    fn temporary_folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("thalweg-store-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    #[test]
    fn a_lock_is_of_one_call_until_it_ends() {
        let folder = temporary_folder("lock");
        let [one, two] = [(); 2].map(|()| Store::open(&folder, Purpose::SWEEP).unwrap());
        let lock = one.lock().unwrap();
        assert!(matches!(two.lock(), Err(StoreError::InUse(path)) if path == folder));
        drop(lock);
        two.lock().unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn calls_that_create_a_store_together_share_it_and_one_has_the_lock() {
        let folder = temporary_folder("together");
        for _ in 0..300 {
            let start = std::sync::Barrier::new(4);
            let open_and_lock = || {
                start.wait();
                let opened = Store::open(&folder, Purpose::SWEEP);
                let lock = opened.as_ref().ok().and_then(|store| store.lock().ok());
                start.wait();
                opened.unwrap();
                lock.is_some()
            };
            let locked = std::thread::scope(|scope| {
                let threads = [(); 4].map(|()| scope.spawn(open_and_lock));
                threads.map(|thread| thread.join().unwrap())
            });
            assert_eq!(locked.iter().filter(|locked| **locked).count(), 1);
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "temporary files are removed");
            fs::remove_dir_all(&folder).unwrap();
        }
    }

    #[test]
    fn names_follow_from_scenario_seed_and_build() {
        let name = Store::name("1", "duration = 1", 7);
        assert_eq!(name, Store::name("1", "duration = 1", 7));
        for other in [
            Store::name("2", "duration = 1", 7),
            Store::name("1", "duration = 2", 7),
            Store::name("1", "duration = 1", 8),
        ] {
            assert_ne!(name, other);
        }
    }

    /// Two stores of one process, as of shards in threads, write into one folder at the same time.
    #[test]
    fn writers_that_share_a_folder_keep_their_contents_apart() {
        let folder = temporary_folder("shared");
        let [one, two] = [(); 2].map(|()| Store::open(&folder, Purpose::SWEEP).unwrap());
        let write = |out: &mut io::BufWriter<fs::File>| {
            out.write_all(b"one")?;
            out.flush()?;
            two.write("two", b"two").map_err(io::Error::other)
        };
        one.write_at(&one.path("one"), write).unwrap();
        for name in ["one", "two"] {
            assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), name);
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn partial_runs_are_ignored_and_unrelated_folders_are_kept() {
        let folder = temporary_folder("half");
        let store = Store::open(&folder, Purpose::SWEEP).unwrap();
        let name = Store::name("1", "x", 1);
        assert!(store.get(&name).is_none() && !store.is_complete_run(&name, 1));
        store.write_at(&store.run_path(&name), |out| out.write_all(b"{\"seed\": 1")).unwrap();
        assert!(!store.is_complete_run(&name, 1) && store.get(&name).is_none());
        for (text, glance) in [
            ("{\"seed\": 1, \"complete\": true, \"flows\": []}", true),
            ("{\"seed\": 2, \"complete\": true}", false),
            ("{\"seed\": 1, \"complete\": false}", false),
            ("{\"seed\": 1, \"complete\": true, \"flows\": [", false),
        ] {
            store.write_at(&store.run_path(&name), |out| out.write_all(text.as_bytes())).unwrap();
            assert_eq!(store.is_complete_run(&name, 1), glance, "{text}");
        }
        assert!(Store::open(&folder, Purpose::SWEEP).is_ok(), "its own folder is used again");
        let [old, new] = [".partial-1-0", ".partial-2-0"].map(|name| folder.join(name));
        fs::write(&old, "x").unwrap();
        fs::write(&new, "x").unwrap();
        let before = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
        fs::File::options().append(true).open(&old).unwrap().set_modified(before).unwrap();
        store.remove_temporary_files();
        assert!(!old.exists() && new.exists());
        fs::remove_dir_all(&folder).unwrap();
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("thesis.txt"), "x").unwrap();
        assert!(matches!(Store::open(&folder, Purpose::SWEEP), Err(StoreError::NotAStore(_))));
        assert!(matches!(
            Store::open(&folder.join("thesis.txt"), Purpose::SWEEP),
            Err(StoreError::NotAStore(_))
        ));
        fs::remove_dir_all(&folder).unwrap();
    }
}
