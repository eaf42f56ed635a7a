//! The walk over what a sender offers: files and folders, in the order that the protocol wants.

use super::disk::{self, Stamp};
use super::fault::{Fault, FaultKind, printable};
use super::messages::{DEEPEST, Lost, MAX_SHARED, OfferKind};
use super::names;
use super::progress::Report;
use super::tree::{self, Digest};
use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek as _, SeekFrom};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The source of what is sent.
pub enum Source {
    /// Files and folders.
    Paths(Roots),
    /// Bytes whose number nobody knows yet, stored under a name.
    Stream {
        /// The name.
        name: Vec<u8>,
        /// The reader that they come from.
        bytes: Box<dyn Read + Send>,
    },
}

/// Files and folders to send; their last names differ.
#[derive(Clone, Debug)]
pub struct Roots(Vec<Child>);

/// A file or folder before anybody looked at it.
#[derive(Clone, Debug)]
struct Child {
    name: Vec<u8>,
    path: PathBuf,
    alike: bool,
}

/// A file or folder to offer.
#[derive(Clone, Debug)]
pub struct Item {
    /// Folders that it is in.
    pub depth: u64,
    /// Its name.
    pub name: Vec<u8>,
    /// Another name in its folder differs from it only by case.
    pub alike: bool,
    /// The path of it.
    pub path: PathBuf,
    /// Permission bits.
    pub mode: u32,
    /// Its kind, with size and time.
    pub kind: OfferKind,
    /// The stamp that it had.
    pub stamp: Stamp,
}

/// A thing that a walk meets.
#[derive(Debug)]
pub enum WalkEntry {
    /// Something to offer.
    Item(Item),
    /// Something that is not sent.
    Missing(Missing),
}

/// Something that is not sent: a device, or what cannot be read.
#[derive(Debug)]
pub struct Missing {
    /// Folders that it is in.
    pub depth: u64,
    /// Its name.
    pub name: Vec<u8>,
    /// The reason.
    pub fault: Fault,
}

impl Roots {
    /// Looks whether all are there.
    ///
    /// # Errors
    /// One is not, or is called as an unfinished file, or two would have the same name at the receiver: the path and the reason.
    pub fn new(paths: &[PathBuf]) -> Result<Self, (PathBuf, String)> {
        let mut children = Vec::new();
        for path in paths {
            let failed = |why: String| (path.clone(), why);
            let metadata = fs::metadata(path).map_err(|error| failed(error.to_string()))?;
            if !metadata.is_dir() && !metadata.is_file() {
                return Err(failed("neither a file nor a folder".to_owned()));
            }
            let name = name_of(path).map_err(failed)?;
            if names::is_unfinished(&name) {
                return Err(failed(
                    "it is called as unfinished transfers are, which are not sent".to_owned(),
                ));
            }
            children.push(Child { name, path: path.clone(), alike: false });
        }
        sort(&mut children);
        if let Some(two) = children.windows(2).find(|two| two[0].name == two[1].name) {
            let first = two[0].path.display();
            return Err((
                two[1].path.clone(),
                format!("would have the same name as {first} at the receiver"),
            ));
        }
        Ok(Self(children))
    }

    /// Walks through everything and finds what a receiver would not have of it in the end, but for what it refuses itself. Of the
    /// things that are carried in part, as many as wanted come with their names.
    pub fn audit(&self, most: usize) -> (Report, Vec<(String, Lost)>) {
        let (mut report, mut parts) = (Report::default(), Vec::new());
        let mut path: Vec<String> = Vec::new();
        let mut walk = self.walk();
        while let Some(met) = walk.next() {
            let lost = walk.lost().since(&report.lost);
            report.lost = walk.lost();
            let (depth, name, fault) = match met {
                WalkEntry::Missing(Missing { depth, name, fault }) => (depth, name, Some(fault)),
                WalkEntry::Item(Item { depth, name, kind: OfferKind::Link { target, .. }, .. })
                    if !names::stays_inside(&target, usize::try_from(depth).unwrap_or(0)) =>
                {
                    let fault = Fault::new(FaultKind::Link, String::from_utf8_lossy(&target));
                    (depth, name, Some(fault))
                }
                WalkEntry::Item(Item { depth, name, .. }) => (depth, name, None),
            };
            path.truncate(usize::try_from(depth).unwrap_or(usize::MAX));
            path.push(printable(&name));
            let shown = || names::shown(path.iter().map(String::as_str));
            if !lost.is_none() && parts.len() < most {
                parts.push((shown(), lost));
            }
            if let Some(fault) = fault {
                report.miss(&shown(), fault);
            }
        }
        (report, parts)
    }

    /// Walks through everything: folders before what is in them, names in ascending order.
    pub fn walk(&self) -> Walk {
        Walk {
            levels: vec![self.0.clone().into_iter()],
            failed: None,
            items: 0,
            shared: HashMap::new(),
            lost: Lost::default(),
        }
    }
}

/// The last name of `path`, also where it ends with dots.
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
fn sort(children: &mut [Child]) {
    children.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let fold = |name: &[u8]| String::from_utf8_lossy(name).to_lowercase();
    let mut folded: HashMap<String, usize> = HashMap::with_capacity(children.len());
    for at in 0..children.len() {
        if let Some(before) = folded.insert(fold(&children[at].name), at) {
            children[before].alike = true;
            children[at].alike = true;
        }
    }
}

/// An iterator over everything in some [`Roots`]. It holds the names of the folders on the way to where it is.
#[derive(Debug)]
pub struct Walk {
    levels: Vec<std::vec::IntoIter<Child>>,
    failed: Option<Missing>,
    /// Things that were met and are to be offered.
    items: u64,
    /// Files with several names, by device and number: which of the things they are.
    shared: HashMap<(u64, u64), u64>,
    lost: Lost,
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
        Some(self.meet(child))
    }
}

impl Walk {
    /// The numbers of things met so far that have something that is not carried.
    pub fn lost(&self) -> Lost {
        self.lost
    }

    /// The number of things at the top that it has not come to.
    pub fn left(&self) -> u64 {
        self.levels.first().map_or(0, |level| level.len() as u64)
    }

    fn meet(&mut self, child: Child) -> WalkEntry {
        let depth = self.levels.len() - 1;
        let missing = |fault: Fault| {
            WalkEntry::Missing(Missing { depth: depth as u64, name: child.name.clone(), fault })
        };
        // Who names a link means what it leads to; links that are found are not followed.
        let metadata = if depth == 0 { fs::metadata(&child.path) } else { fs::symlink_metadata(&child.path) };
        let metadata = match metadata {
            Ok(metadata) => metadata,
            Err(error) => return missing(Fault::of_source(&error)),
        };
        let stamp = Stamp::of(&metadata);
        if names::is_unfinished(&child.name) {
            return missing(FaultKind::Unfinished.into());
        }
        let kind = if metadata.is_dir() {
            if depth >= DEEPEST {
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
                    OfferKind::Link { modified: stamp.modified(), target }
                }
                Err(error) => return missing(Fault::of_source(&error)),
            }
        } else {
            return missing(FaultKind::Special.into());
        };
        disk::add_lost(&mut self.lost, &child.path, &metadata);
        self.items += 1;
        WalkEntry::Item(Item {
            depth: depth as u64,
            name: child.name,
            alike: child.alike,
            path: child.path,
            mode: disk::mode(&metadata),
            kind,
            stamp,
        })
    }

    /// A file, or a further name of one that was met.
    fn name_or_file(&mut self, metadata: &Metadata, stamp: &Stamp) -> OfferKind {
        let file = |shared| OfferKind::File { size: stamp.size(), modified: stamp.modified(), shared };
        if metadata.nlink() < 2 {
            return file(false);
        }
        let id = (metadata.dev(), metadata.ino());
        if let Some(&first) = self.shared.get(&id) {
            return OfferKind::Name { first };
        }
        if self.shared.len() >= MAX_SHARED {
            self.lost.names += 1;
            return file(false);
        }
        self.shared.insert(id, self.items);
        file(true)
    }

    /// The next things are those in a folder.
    fn enter(&mut self, folder: &Child) {
        let listed = list(&folder.path).unwrap_or_else(|error| {
            let (depth, name) = (self.levels.len() as u64 - 1, folder.name.clone());
            self.failed = Some(Missing { depth, name, fault: Fault::of_source(&error) });
            Vec::new()
        });
        self.levels.push(listed.into_iter());
    }
}

fn list(folder: &Path) -> io::Result<Vec<Child>> {
    let mut children = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        children.push(Child { name: entry.file_name().into_vec(), path: entry.path(), alike: false });
    }
    sort(&mut children);
    Ok(children)
}

/// A file that is being read, which must stay as it was.
#[derive(Debug)]
pub struct SourceFile {
    file: File,
    path: PathBuf,
    stamp: Stamp,
    /// It takes less room than its bytes need.
    is_sparse: bool,
}

impl SourceFile {
    /// Opens what a walk met.
    ///
    /// # Errors
    /// It cannot be read, or is no longer what it was.
    pub fn open(item: &Item) -> Result<Self, Fault> {
        let file = File::open(&item.path).map_err(|error| Fault::of_source(&error))?;
        let metadata = file.metadata().map_err(|error| Fault::of_source(&error))?;
        let is_sparse = tree::is_sparse(&metadata);
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
                result => return result.map_err(|error| Fault::of_source(&error)),
            }
        }
    }

    /// Reads exactly so many bytes.
    ///
    /// # Errors
    /// They cannot be read, or the file has become shorter.
    pub fn read_all(&mut self, into: &mut [u8]) -> Result<(), Fault> {
        let mut have = 0;
        while have < into.len() {
            match self.read(&mut into[have..])? {
                0 => return Err(self.changed()),
                count => have += count,
            }
        }
        Ok(())
    }

    /// The end of the hole that the file has at `position`, or nothing if there is none; reading goes on at `position`.
    pub fn hole(&mut self, position: u64) -> Option<u64> {
        if !self.is_sparse {
            return None;
        }
        let end = tree::end_of_hole(&self.file, position, self.stamp.size());
        self.go_to(position).ok()?;
        (end > position).then_some(end)
    }

    /// Reading goes on at `position`.
    ///
    /// # Errors
    /// It cannot.
    pub fn go_to(&mut self, position: u64) -> Result<(), Fault> {
        self.file.seek(SeekFrom::Start(position)).map(|_| ()).map_err(|error| Fault::of_source(&error))
    }

    /// The [checksum](crate::transfer::tree::checksum) of the whole file.
    ///
    /// # Errors
    /// It cannot be read, or is no longer what it was.
    pub fn checksum(&self) -> Result<Digest, Fault> {
        let digest = tree::checksum(&self.file, self.stamp.size());
        let digest = digest.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.changed(),
            _ => Fault::of_source(&error),
        })?;
        self.check().map(|()| digest)
    }

    /// Looks whether the file is what it was.
    ///
    /// # Errors
    /// It is not.
    pub fn check(&self) -> Result<(), Fault> {
        let metadata = self.file.metadata().map_err(|error| Fault::of_source(&error))?;
        if metadata.is_file() && Stamp::of(&metadata) == self.stamp { Ok(()) } else { Err(self.changed()) }
    }

    /// The fault of a file that is not what it was: it was removed, or is another.
    pub fn changed(&self) -> Fault {
        match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => FaultKind::Vanished.into(),
            _ => FaultKind::Changed.into(),
        }
    }
}
