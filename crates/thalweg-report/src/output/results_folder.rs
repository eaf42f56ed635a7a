//! Writes and reads self-describing results folders.

use super::number_format::Style;
use super::temporary_name::temporary_name;
use super::text_summary::format_summary;
use crate::results::{Body, Document, ReadError};
use core::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use thalweg_scenario::{Reader, read_text};

/// Results folder being written.
///
/// Files go to a hidden folder beside the target; [`commit`](Folder::commit) moves it to the target atomically.
/// Dropping a folder before the commit removes it and leaves the target unchanged.
#[derive(Debug)]
pub struct Folder {
    target: PathBuf,
    staging: PathBuf,
    is_part: bool,
}

/// Reason why a folder cannot be written or read.
#[derive(Debug)]
pub enum FolderError {
    /// The target is not a folder.
    NotAFolder(PathBuf),
    /// The target holds files of other origin.
    UnrelatedFiles {
        /// Target.
        target: PathBuf,
        /// One of these files.
        found: String,
    },
    /// The target is the current directory.
    Current(PathBuf),
    /// The folder holds no results.
    NoResults(PathBuf),
    /// The folder's `results.json` cannot be read.
    Results(PathBuf, ReadError),
    /// I/O error.
    Io(PathBuf, io::Error),
}

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAFolder(path) => write!(f, "`{}` is not a folder", path.display()),
            Self::UnrelatedFiles { target, found } => write!(
                f,
                "`{}` holds `{}`, which is not part of results; choose a new folder, or move that file",
                target.display(),
                Style::UNICODE.clean(found)
            ),
            Self::Current(path) => {
                write!(f, "`{}` is the current folder; choose one below it", path.display())
            }
            Self::NoResults(path) => {
                write!(f, "`{}` is not a results folder: it has no {RESULTS}", path.display())
            }
            Self::Results(path, error) => write!(f, "`{}`: {error}", path.display()),
            Self::Io(path, error) => write!(f, "`{}`: {error}", path.display()),
        }
    }
}

impl core::error::Error for FolderError {}

impl Folder {
    /// Prepares to write `target`, which must not exist, be empty, or hold results to replace.
    pub fn create(target: &Path) -> Result<Self, FolderError> {
        let io = |error| FolderError::Io(target.to_owned(), error);
        let target = std::path::absolute(target).map_err(io)?;
        // Follow a symbolic link: it stays, and its target is replaced.
        let target = if target.exists() { target.canonicalize().map_err(io)? } else { target };
        check_replaceable(&target)?;
        let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else {
            return Err(FolderError::UnrelatedFiles { target, found: "a whole file system".to_owned() });
        };
        fs::create_dir_all(parent).map_err(io)?;
        let staging = sibling_path(parent, &name.to_string_lossy(), "partial");
        fs::create_dir(&staging).map_err(|error| FolderError::Io(staging.clone(), error))?;
        Ok(Self { target, staging, is_part: false })
    }

    /// Creates a folder below `runs` for the results of one of several runs. It is committed with this folder.
    pub fn run(&self, name: &str) -> Result<Self, FolderError> {
        let staging = self.staging.join(RUNS).join(name);
        fs::create_dir_all(&staging).map_err(|error| FolderError::Io(staging.clone(), error))?;
        Ok(Self { target: self.target.join(RUNS).join(name), staging, is_part: true })
    }

    /// Creates a file in the folder.
    pub fn file(&self, name: &str) -> Result<BufWriter<File>, FolderError> {
        let path = self.staging.join(name);
        File::create(&path).map(BufWriter::new).map_err(|error| FolderError::Io(path, error))
    }

    /// Returns the path of a file while the folder is being written.
    pub fn path(&self, name: &str) -> PathBuf {
        self.staging.join(name)
    }

    /// Returns the name of the scenario file of one scheme of a comparison.
    pub fn scheme_file(scheme: &str) -> String {
        let safe = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        format!("scenario-{}.toml", scheme.chars().map(safe).collect::<String>())
    }

    /// Writes a whole file.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<(), FolderError> {
        let path = self.staging.join(name);
        fs::write(&path, content).map_err(|error| FolderError::Io(path, error))
    }

    /// Writes the files common to all folders: the results, the `scenario` with every default written out, the seeds,
    /// the version, a summary, and a file that explains them.
    pub fn write_results(&self, document: &Document, scenario: &str) -> Result<(), FolderError> {
        let lines = |seeds: &[u64]| seeds.iter().map(|seed| format!("{seed}\n")).collect::<String>();
        let results = File::create(self.path(RESULTS)).and_then(|file| document.write_json(file));
        results.map_err(|error| FolderError::Io(self.path(RESULTS), error))?;
        self.write(SCENARIO, scenario)?;
        self.write("seeds.txt", lines(&document.seeds))?;
        self.write("version.txt", format!("{} {}\n", document.tool.name, document.tool.version))?;
        self.write("summary.txt", format_summary(document, Style::PLAIN))?;
        self.write(README, self.readme(document))
    }

    /// Writes the files of a paper's folder besides its `runs`.
    pub fn write_paper(
        &self,
        title: &str,
        version: &str,
        json: &str,
        tables: &str,
    ) -> Result<(), FolderError> {
        self.write(RESULTS, json)?;
        self.write("summary.txt", tables)?;
        self.write("version.txt", format!("thalweg {version}\n"))?;
        let title = Style::PLAIN.clean(title);
        let mut text =
            format!("{README_START}\n{}\n\nPaper: {title}\n\nFiles\n-----\n", "=".repeat(README_START.len()));
        for (name, about) in PAPER_FILES {
            text.push_str(&format!("{name:<16}{about}\n"));
        }
        self.write(README, &text)
    }

    /// Returns the name of the paper and its results as JSON, if `folder` holds a paper's results.
    pub fn paper_results(folder: &Path) -> Result<Option<(String, String)>, FolderError> {
        let path = folder.join(RESULTS);
        let text = read_results_text(folder, &path)?;
        let head: Head = serde_json::from_str(&text).unwrap_or_default();
        Ok(head.paper.map(|name| (name, text)))
    }

    fn readme(&self, document: &Document) -> String {
        let title = Style::PLAIN.clean(&document.scenario.title);
        let mut text = format!("{README_START}\n{}\n\n", "=".repeat(README_START.len()));
        text.push_str(&format!(
            "Scenario: {title} ({})\nMade by {} {}.\n",
            Style::PLAIN.clean(&document.scenario.file),
            document.tool.name,
            document.tool.version
        ));
        if !document.complete {
            text.push_str("PARTIAL: the run was interrupted.\n");
        }
        text.push_str("\n`thalweg rerun DIR` with this folder runs it again and checks that every number is the same.\n");
        text.push_str("\nFiles\n-----\n");
        for (name, about) in FILES {
            let compared = *name == SCHEMES && matches!(document.body, Body::Comparison { .. });
            if *name == README || compared || self.staging.join(name).exists() {
                text.push_str(&format!("{name:<18}{about}\n"));
            }
        }
        let captures = fs::read_dir(&self.staging).into_iter().flatten().flatten();
        let names: Vec<String> =
            captures.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        if names.iter().any(|name| is_capture(name)) {
            text.push_str(CAPTURES);
        }
        if names.iter().any(|name| is_qlog(name)) {
            text.push_str(QLOGS);
        }
        if names.iter().any(|name| is_sequence(name)) {
            text.push_str(SEQUENCES);
        }
        text.push_str(UNITS);
        text
    }

    /// Moves the folder to its target. The previous folder is deleted only after the move succeeds.
    pub fn commit(self) -> Result<PathBuf, FolderError> {
        let io = |error| FolderError::Io(self.target.clone(), error);
        // The target may have changed while the simulation ran.
        check_replaceable(&self.target)?;
        let name = self.target.file_name().unwrap_or_default().to_string_lossy();
        let old = sibling_path(self.target.parent().unwrap_or(Path::new(".")), &name, "old");
        let replaces = self.target.exists();
        if replaces {
            fs::rename(&self.target, &old).map_err(io)?;
        }
        if let Err(error) = fs::rename(&self.staging, &self.target) {
            if replaces {
                fs::rename(&old, &self.target).map_err(io)?;
            }
            return Err(io(error));
        }
        if replaces {
            fs::remove_dir_all(&old).map_err(|error| FolderError::Io(old, error))?;
        }
        Ok(self.target.clone())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // After a commit the folder is gone; otherwise an error here has no receiver.
        if !self.is_part {
            let _ = fs::remove_dir_all(&self.staging);
        }
    }
}

/// Fields that distinguish a paper's results from others.
#[derive(Default, serde::Deserialize)]
struct Head {
    paper: Option<String>,
}

/// Results folder written earlier.
#[derive(Debug)]
pub struct Stored {
    /// Results.
    pub document: Document,
    /// Path of the scenario.
    pub scenario: PathBuf,
}

impl Stored {
    /// Reads the results in `folder`.
    pub fn open(folder: &Path) -> Result<Self, FolderError> {
        let path = folder.join(RESULTS);
        let text = read_results_text(folder, &path)?;
        let document = Document::from_json(&text).map_err(|error| FolderError::Results(path, error))?;
        Ok(Self { document, scenario: folder.join(SCENARIO) })
    }
}

/// Maximum size of results or of a table of series, in bytes. Both grow with the number and length of runs.
pub const MAX_RESULTS: u64 = 1 << 30;

/// Returns the text of the results in `folder`.
fn read_results_text(folder: &Path, path: &Path) -> Result<String, FolderError> {
    Reader::new(MAX_RESULTS).read_text(path).map_err(|error| match error.is_missing() {
        true => FolderError::NoResults(folder.to_owned()),
        false => FolderError::Io(path.to_owned(), error.into()),
    })
}

/// Checks that replacing `target` would lose nothing.
fn check_replaceable(target: &Path) -> Result<(), FolderError> {
    let io = |error| FolderError::Io(target.to_owned(), error);
    if !target.exists() {
        return Ok(());
    }
    if !target.is_dir() {
        return Err(FolderError::NotAFolder(target.to_owned()));
    }
    if std::env::current_dir().is_ok_and(|current| current.starts_with(target)) {
        return Err(FolderError::Current(target.to_owned()));
    }
    let names = fs::read_dir(target).map_err(io)?.map(|entry| entry.map(|entry| entry.file_name()));
    let mut names: Vec<String> = names
        .map(|name| name.map(|name| name.to_string_lossy().into_owned()))
        .collect::<io::Result<_>>()
        .map_err(io)?;
    names.sort();
    let is_unrelated =
        |name: &String| !FILES.iter().any(|(known, _)| known == name) && !is_numbered(name) && name != RUNS;
    let runs = names.iter().any(|name| name == RUNS);
    let ours = read_text(&target.join(README)).is_ok_and(|text| text.starts_with(README_START));
    let found = if ours { names.into_iter().find(is_unrelated) } else { names.into_iter().next() };
    if let Some(found) = found {
        return Err(FolderError::UnrelatedFiles { target: target.to_owned(), found });
    }
    let runs = if runs { fs::read_dir(target.join(RUNS)).map_err(io)?.collect() } else { Vec::new() };
    runs.into_iter().try_for_each(|run: io::Result<fs::DirEntry>| check_replaceable(&run.map_err(io)?.path()))
}

/// Returns a hidden path beside `name` that nobody else has.
fn sibling_path(parent: &Path, name: &str, what: &str) -> PathBuf {
    parent.join(temporary_name(&format!("{name}.{what}")))
}

/// Returns true for files that can occur any number of times: `trace.pcap`, `trace-SCHEME-SEED.pcap`, the same for qlog
/// and sequence diagrams, and `scenario-SCHEME.toml`.
fn is_numbered(name: &str) -> bool {
    is_capture(name)
        || is_qlog(name)
        || is_sequence(name)
        || (name.starts_with("scenario-") && name.ends_with(".toml"))
}

/// Returns true for packet captures and logs in a results folder.
pub fn is_trace(name: &str) -> bool {
    is_capture(name) || is_qlog(name)
}

fn is_sequence(name: &str) -> bool {
    let ending = name.strip_prefix("sequence").filter(|rest| rest.starts_with(['.', '-']));
    ending.is_some_and(|ending| [".svg", ".png", ".txt"].iter().any(|kind| ending.ends_with(kind)))
}

fn is_qlog(name: &str) -> bool {
    name.starts_with("trace") && name.ends_with(".qlog")
}

fn is_capture(name: &str) -> bool {
    name.starts_with("trace") && name.ends_with(".pcap")
}

/// Name of the folder with the runs of a paper.
const RUNS: &str = "runs";
const RESULTS: &str = "results.json";
/// Name of the picture in a folder.
pub const FIGURE: &str = "figure.svg";
/// Name of the picture as PNG.
pub const IMAGE: &str = "figure.png";
/// Name of the HTML page in a folder.
pub const REPORT: &str = "report.html";
const SCENARIO: &str = "scenario.toml";
const README: &str = "README.txt";
const SCHEMES: &str = "scenario-*.toml";

/// First words of a folder's README; a folder without them was not written by this program.
const README_START: &str = "Thalweg results";

const FILES: &[(&str, &str)] = &[
    (README, "this file"),
    ("summary.txt", "the results as tables"),
    (RESULTS, "the results as one JSON document; every name has its unit at its end"),
    (SCENARIO, "the scenario with overrides and defaults written out; `thalweg run` runs it"),
    (SCHEMES, "the same for each scheme compared"),
    ("seeds.txt", "the seeds, one a run"),
    ("version.txt", "the program's version"),
    ("series.csv", "recorded series: scheme, seed, quantity, unit, subject, time in seconds, value"),
    ("series.parquet", "the same table in the Parquet format"),
    (
        "transfers.csv",
        "each transfer: scheme, seed, flow, size in bytes, start, end and ideal duration in seconds",
    ),
    ("transfers.parquet", "the same table in the Parquet format"),
    (FIGURE, "a picture for papers and slides"),
    (IMAGE, "the same in pixels"),
    (REPORT, "plots, tables and who won, for the browser; one file that needs nothing else"),
];

const PAPER_FILES: &[(&str, &str)] = &[
    (README, "this file"),
    ("summary.txt", "the results as tables, beside the published values, and the claims"),
    (RESULTS, "the same as one JSON document"),
    ("version.txt", "the program's version"),
    (REPORT, "all of it as a page for the browser, if requested"),
    ("runs/", "the results of each run with its scenario, and series where there are figures;"),
    ("", "`thalweg run` runs such a scenario, `thalweg rerun` checks the numbers of such a folder"),
];

const QLOGS: &str = "\
trace*.qlog     packets, windows, bytes in flight and round-trip times of the senders, for qvis and other readers of
                qlog; with several runs, one file each, named by scheme and seed.
";

const SEQUENCES: &str = "\
sequence*.svg   who sent what, and when it arrived, as a picture; sequence*.txt is the same as text, sequence*.png (if
                asked for) in pixels; with several runs, files for each, named by scheme and seed.
";

const CAPTURES: &str = "\
trace*.pcap     packets with headers, for Wireshark; with several runs, one file each, named by scheme and
                seed. Addresses: flow number i (from 0) has its source at 10.0.0.0 + i + 1 and its sink at
                10.128.0.0 + i + 1. Window fields are in units of 16384 bytes: set Wireshark's preference
                tcp.default_window_scaling to 14.
";

const UNITS: &str = "
Units
-----
_s    seconds of simulated time        _bps    bit/s
_bytes, _packets as named              shares, utilisation and Jain's index from 0 to 1
_kbps2  (kbit/s)^2                     times in series count from the start of the run
ci95  half the width of the 95 % confidence interval by Student's t over the runs
Counts and rates leave out the warm-up. A value that does not exist is null.
The reference of all names is docs/reference/results.md in the program's source.
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Run;
    use crate::results::test_fixtures::{run_result, test_header};

    /// Returns an empty directory for this test.
    fn temporary_path(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("thalweg-folder-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn document(seed: u64) -> Document {
        Document::from_runs(test_header(&[seed]), vec![Run::from_result(&run_result(seed, 75))])
    }

    fn store(target: &Path, seed: u64) -> Result<PathBuf, FolderError> {
        let folder = Folder::create(target)?;
        folder.write_results(&document(seed), "title = \"x\"\n")?;
        folder.commit()
    }

    #[test]
    fn results_are_replaced_and_read_back() {
        let place = temporary_path("replace");
        let target = place.join("out");
        store(&target, 1).unwrap();
        store(&target, 2).unwrap();
        let stored = Stored::open(&target).unwrap();
        assert_eq!(stored.document.seeds, [2]);
        assert_eq!(fs::read_to_string(target.join("seeds.txt")).unwrap(), "2\n");
        assert_eq!(fs::read_dir(&place).unwrap().count(), 1, "nothing is left beside the target");
        fs::remove_dir_all(&place).unwrap();
    }

    #[test]
    fn unrelated_files_are_kept() {
        let place = temporary_path("foreign");
        let target = place.join("out");
        fs::create_dir(&target).unwrap();
        fs::write(target.join("thesis.txt"), "years of work").unwrap();
        assert!(matches!(Folder::create(&target), Err(FolderError::UnrelatedFiles { .. })));
        fs::remove_file(target.join("thesis.txt")).unwrap();
        store(&target, 1).unwrap();
        fs::write(target.join("notes.txt"), "mine").unwrap();
        let error = store(&target, 2).unwrap_err().to_string();
        assert!(error.contains("notes.txt"), "{error}");
        assert_eq!(Stored::open(&target).unwrap().document.seeds, [1]);
        assert!(matches!(Folder::create(&target.join("notes.txt")), Err(FolderError::NotAFolder(_))));
        fs::remove_dir_all(&place).unwrap();
    }

    #[test]
    fn a_folder_that_is_not_committed_leaves_no_trace() {
        let place = temporary_path("dropped");
        let folder = Folder::create(&place.join("a/b")).unwrap();
        folder.write("results.json", "{").unwrap();
        drop(folder);
        assert_eq!(fs::read_dir(place.join("a")).unwrap().count(), 0);
        assert!(matches!(Stored::open(&place), Err(FolderError::NoResults(_))));
        fs::remove_dir_all(&place).unwrap();
    }
}
