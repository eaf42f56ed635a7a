//! Walk over the sender's files and folders, in protocol order.

use super::file_metadata::{self, Stamp};
use super::file_names;
use super::transfer_error::{Fault, FaultKind, escape_unsafe};
use super::transfer_messages::{MAX_DEPTH, MAX_HARD_LINKED_FILES, OfferKind, UnpreservedMetadata};
use super::transfer_progress::Report;
use super::tree_hash::{self, Digest};
use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek as _, SeekFrom};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Data source of a transfer.
pub enum Source {
    /// Files and folders.
    Paths(Roots),
    /// A stream of unknown length, stored under a name.
    Stream {
        /// File name at the receiver.
        name: Vec<u8>,
        /// Reader that supplies the bytes.
        bytes: Box<dyn Read + Send>,
    },
}

/// Files and folders to send, with distinct last path components.
#[derive(Clone, Debug)]
pub struct Roots(Vec<Child>);

/// A file or folder that has not been examined yet.
#[derive(Clone, Debug)]
struct Child {
    name: Vec<u8>,
    path: PathBuf,
    has_case_variant: bool,
}

/// A file or folder to offer.
#[derive(Clone, Debug)]
pub struct Item {
    /// Number of enclosing folders.
    pub depth: u64,
    /// File name.
    pub name: Vec<u8>,
    /// True if another name in the folder differs only in case.
    pub has_case_variant: bool,
    /// Local path.
    pub path: PathBuf,
    /// Permission bits.
    pub mode: u32,
    /// Type, with size and time.
    pub kind: OfferKind,
    /// Change stamp at the time of the walk.
    pub stamp: Stamp,
}

/// An entry met by a walk.
#[derive(Debug)]
pub enum WalkEntry {
    /// An entry to offer.
    Item(Item),
    /// An entry that is not sent.
    Missing(UnsentEntry),
}

/// An entry that is not sent: a device, or an unreadable file.
#[derive(Debug)]
pub struct UnsentEntry {
    /// Number of enclosing folders.
    pub depth: u64,
    /// File name.
    pub name: Vec<u8>,
    /// Reason.
    pub fault: Fault,
}

impl Roots {
    /// Checks that all paths exist.
    ///
    /// # Errors
    /// A path does not exist, has the name of an unfinished file, or would share its name with another at the receiver.
    /// The error holds the path and the reason.
    pub fn new(paths: &[PathBuf]) -> Result<Self, (PathBuf, String)> {
        let mut children = Vec::new();
        for path in paths {
            let failed = |why: String| (path.clone(), why);
            let metadata = fs::metadata(path).map_err(|error| failed(error.to_string()))?;
            if !metadata.is_dir() && !metadata.is_file() {
                return Err(failed("neither a file nor a folder".to_owned()));
            }
            let name = name_of(path).map_err(failed)?;
            if file_names::is_unfinished(&name) {
                return Err(failed(
                    "it is called as unfinished transfers are, which are not sent".to_owned(),
                ));
            }
            children.push(Child { name, path: path.clone(), has_case_variant: false });
        }
        sort_and_mark_case_clashes(&mut children);
        if let Some(two) = children.windows(2).find(|two| two[0].name == two[1].name) {
            let first = two[0].path.display();
            return Err((
                two[1].path.clone(),
                format!("would have the same name as {first} at the receiver"),
            ));
        }
        Ok(Self(children))
    }

    /// Walks the whole tree and lists everything that a receiver would lack afterwards, except for what the receiver
    /// itself refuses. Returns a report, and the names of at most `max` partially carried entries.
    pub fn audit(&self, max: usize) -> (Report, Vec<(String, UnpreservedMetadata)>) {
        let (mut report, mut parts) = (Report::default(), Vec::new());
        let mut path: Vec<String> = Vec::new();
        let mut walk = self.walk();
        while let Some(entry) = walk.next() {
            let lost = walk.lost().since(&report.lost);
            report.lost = walk.lost();
            let (depth, name, fault) = match entry {
                WalkEntry::Missing(UnsentEntry { depth, name, fault }) => (depth, name, Some(fault)),
                WalkEntry::Item(Item {
                    depth, name, kind: OfferKind::SymbolicLink { target, .. }, ..
                }) if !file_names::stays_inside(&target, usize::try_from(depth).unwrap_or(0)) => {
                    let fault = Fault::new(FaultKind::Link, String::from_utf8_lossy(&target));
                    (depth, name, Some(fault))
                }
                WalkEntry::Item(Item { depth, name, .. }) => (depth, name, None),
            };
            path.truncate(usize::try_from(depth).unwrap_or(usize::MAX));
            path.push(escape_unsafe(&name));
            let shown = || file_names::format_path(path.iter().map(String::as_str));
            if !lost.is_none() && parts.len() < max {
                parts.push((shown(), lost));
            }
            if let Some(fault) = fault {
                report.add_missing(&shown(), fault);
            }
        }
        (report, parts)
    }

    /// Returns an iterator over all entries: folders before their contents, names in ascending order.
    pub fn walk(&self) -> Walk {
        Walk {
            levels: vec![self.0.clone().into_iter()],
            failed: None,
            items: 0,
            shared: HashMap::new(),
            lost: UnpreservedMetadata::default(),
        }
    }
}

/// Returns the last component of `path`, resolving a trailing `.` or `..`.
fn name_of(path: &Path) -> Result<Vec<u8>, String> {
    let named = |path: &Path| path.file_name().map(std::ffi::OsStr::to_owned);
    let name = match named(path) {
        Some(name) => Some(name),
        None => named(&fs::canonicalize(path).map_err(|error| error.to_string())?),
    };
    let name = name.ok_or_else(|| "has no name; name what is in it".to_owned())?;
    Ok(name.into_vec())
}

/// Sorts by name and marks names that differ only by case.
fn sort_and_mark_case_clashes(children: &mut [Child]) {
    children.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let fold = |name: &[u8]| String::from_utf8_lossy(name).to_lowercase();
    let mut folded: HashMap<String, usize> = HashMap::with_capacity(children.len());
    for at in 0..children.len() {
        if let Some(before) = folded.insert(fold(&children[at].name), at) {
            children[before].has_case_variant = true;
            children[at].has_case_variant = true;
        }
    }
}

/// Iterator over all entries of some [`Roots`]. Keeps the entry lists of the folders on the current path.
#[derive(Debug)]
pub struct Walk {
    levels: Vec<std::vec::IntoIter<Child>>,
    failed: Option<UnsentEntry>,
    /// Number of entries met that are to be offered.
    items: u64,
    /// Files with several hard links: entry index by device and inode number.
    shared: HashMap<(u64, u64), u64>,
    lost: UnpreservedMetadata,
}

impl Iterator for Walk {
    type Item = WalkEntry;

    fn next(&mut self) -> Option<WalkEntry> {
        if let Some(missing) = self.failed.take() {
            return Some(WalkEntry::Missing(missing));
        }
        let child = loop {
            match self.levels.last_mut()?.next() {
                Some(child) => break child,
                None => self.levels.pop(),
            };
        };
        Some(self.visit(child))
    }
}

impl Walk {
    /// Returns the counts of entries met so far whose metadata is not fully carried.
    pub fn lost(&self) -> UnpreservedMetadata {
        self.lost
    }

    /// Returns the number of top-level entries not yet visited.
    pub fn left(&self) -> u64 {
        self.levels.first().map_or(0, |level| level.len() as u64)
    }

    fn visit(&mut self, child: Child) -> WalkEntry {
        let depth = self.levels.len() - 1;
        let missing = |fault: Fault| {
            WalkEntry::Missing(UnsentEntry { depth: depth as u64, name: child.name.clone(), fault })
        };
        // A link given as a path is followed; a link found during the walk is not.
        let metadata = if depth == 0 { fs::metadata(&child.path) } else { fs::symlink_metadata(&child.path) };
        let metadata = match metadata {
            Ok(metadata) => metadata,
            Err(error) => return missing(Fault::from_source_error(&error)),
        };
        let stamp = Stamp::from_metadata(&metadata);
        if file_names::is_unfinished(&child.name) {
            return missing(FaultKind::Unfinished.into());
        }
        let kind = if metadata.is_dir() {
            if depth >= MAX_DEPTH {
                return missing(Fault::new(FaultKind::Name, "it is too deep"));
            }
            self.enter(&child);
            OfferKind::Folder { modified: stamp.modified() }
        } else if metadata.is_file() {
            self.name_or_file(&metadata, &stamp)
        } else if metadata.is_symlink() {
            match fs::read_link(&child.path) {
                Ok(target) => {
                    let target = target.into_os_string().into_vec();
                    OfferKind::SymbolicLink { modified: stamp.modified(), target }
                }
                Err(error) => return missing(Fault::from_source_error(&error)),
            }
        } else {
            return missing(FaultKind::Special.into());
        };
        file_metadata::add_lost(&mut self.lost, &child.path, &metadata);
        self.items += 1;
        WalkEntry::Item(Item {
            depth: depth as u64,
            name: child.name,
            has_case_variant: child.has_case_variant,
            path: child.path,
            mode: file_metadata::permission_bits(&metadata),
            kind,
            stamp,
        })
    }

    /// Returns a file offer, or a hard-link offer for an inode that was already met.
    fn name_or_file(&mut self, metadata: &Metadata, stamp: &Stamp) -> OfferKind {
        let file = |may_have_hard_links| OfferKind::File {
            size: stamp.size(),
            modified: stamp.modified(),
            may_have_hard_links,
        };
        if metadata.nlink() < 2 {
            return file(false);
        }
        let id = (metadata.dev(), metadata.ino());
        if let Some(&target_id) = self.shared.get(&id) {
            return OfferKind::HardLink { target_id };
        }
        if self.shared.len() >= MAX_HARD_LINKED_FILES {
            self.lost.hard_links += 1;
            return file(false);
        }
        self.shared.insert(id, self.items);
        file(true)
    }

    /// Queues the entries of a folder as the next to visit.
    fn enter(&mut self, folder: &Child) {
        let listed = list_folder(&folder.path).unwrap_or_else(|error| {
            let (depth, name) = (self.levels.len() as u64 - 1, folder.name.clone());
            self.failed = Some(UnsentEntry { depth, name, fault: Fault::from_source_error(&error) });
            Vec::new()
        });
        self.levels.push(listed.into_iter());
    }
}

fn list_folder(folder: &Path) -> io::Result<Vec<Child>> {
    let mut children = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        children.push(Child {
            name: entry.file_name().into_vec(),
            path: entry.path(),
            has_case_variant: false,
        });
    }
    sort_and_mark_case_clashes(&mut children);
    Ok(children)
}

/// A file being read, checked for concurrent changes.
#[derive(Debug)]
pub struct SourceFile {
    file: File,
    path: PathBuf,
    stamp: Stamp,
    /// True if the file occupies less disk space than its size.
    is_sparse: bool,
}

impl SourceFile {
    /// Opens the file of an offered entry.
    ///
    /// # Errors
    /// It cannot be read, or changed since the walk.
    pub fn open(item: &Item) -> Result<Self, Fault> {
        let file = File::open(&item.path).map_err(|error| Fault::from_source_error(&error))?;
        let metadata = file.metadata().map_err(|error| Fault::from_source_error(&error))?;
        let is_sparse = tree_hash::is_sparse(&metadata);
        let opened = Self { file, path: item.path.clone(), stamp: item.stamp, is_sparse };
        opened.check()?;
        Ok(opened)
    }

    /// Reads the next bytes.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn read(&mut self, into: &mut [u8]) -> Result<usize, Fault> {
        loop {
            match self.file.read(into) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result.map_err(|error| Fault::from_source_error(&error)),
            }
        }
    }

    /// Reads exactly `into.len()` bytes.
    ///
    /// # Errors
    /// They cannot be read, or the file has become shorter.
    pub fn read_all(&mut self, into: &mut [u8]) -> Result<(), Fault> {
        let mut have = 0;
        while have < into.len() {
            match self.read(&mut into[have..])? {
                0 => return Err(self.short_fault()),
                count => have += count,
            }
        }
        Ok(())
    }

    /// Returns the end of the hole at `position`, or `None` if there is none. Moves the read position to `position`.
    pub fn hole(&mut self, position: u64) -> Option<u64> {
        if !self.is_sparse {
            return None;
        }
        let end = tree_hash::end_of_hole(&self.file, position, self.stamp.size());
        self.go_to(position).ok()?;
        (end > position).then_some(end)
    }

    /// Moves the read position to `position`.
    ///
    /// # Errors
    /// The seek fails.
    pub fn go_to(&mut self, position: u64) -> Result<(), Fault> {
        self.file
            .seek(SeekFrom::Start(position))
            .map(|_| ())
            .map_err(|error| Fault::from_source_error(&error))
    }

    /// Returns the [checksum](crate::transfer::tree_hash::hash_file) of the whole file.
    ///
    /// # Errors
    /// It cannot be read, or changed since the walk.
    pub fn checksum(&self) -> Result<Digest, Fault> {
        let digest = tree_hash::hash_file(&self.file, self.stamp.size());
        let digest = digest.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.short_fault(),
            _ => Fault::from_source_error(&error),
        })?;
        self.check().map(|()| digest)
    }

    /// Checks that the file has not changed.
    ///
    /// # Errors
    /// It has changed.
    pub fn check(&self) -> Result<(), Fault> {
        let metadata = self.file.metadata().map_err(|error| Fault::from_source_error(&error))?;
        if metadata.is_file() && Stamp::from_metadata(&metadata) == self.stamp {
            Ok(())
        } else {
            Err(self.changed_fault())
        }
    }

    /// Checks that the file was not modified and ends where its size says. Files that the kernel or a program makes up
    /// may not: in procfs their size is 0.
    pub fn check_end(&mut self) -> Result<(), Fault> {
        let beyond = self.read(&mut [0])?;
        self.check()?;
        if beyond > 0 { Err(size_fault("more")) } else { Ok(()) }
    }

    /// Returns the fault for a file that ends before its size says.
    pub fn short_fault(&self) -> Fault {
        self.check().err().unwrap_or_else(|| size_fault("fewer"))
    }

    /// Returns the fault for a changed file: removed, or modified.
    fn changed_fault(&self) -> Fault {
        match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => FaultKind::Vanished.into(),
            _ => FaultKind::Changed.into(),
        }
    }
}

/// Returns the fault for an unchanged file that has `more` or `fewer` bytes than its size.
fn size_fault(more: &str) -> Fault {
    let text = format!("at the sender: it has {more} bytes than its size says; send it through a pipe");
    Fault::new(FaultKind::Storage, text)
}
