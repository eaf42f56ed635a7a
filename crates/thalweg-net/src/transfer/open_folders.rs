//! Open folders by file descriptor, and their entries: paths cannot be exchanged for links meanwhile.
//!
//! A receiver resolves every path from the descriptor of its target folder, one component at a time, without following
//! symbolic links. A folder that moves, or a link that replaces it while files arrive, cannot redirect the transfer.
//! (For single components, `O_NOFOLLOW` is equivalent to `RESOLVE_BENEATH` and `RESOLVE_NO_SYMLINKS`.)

use super::transfer_messages::ModificationTime;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::OnceLock;

/// An open folder.
#[derive(Debug)]
pub struct Dir(File);

/// Metadata of a folder entry; for a symbolic link, of the link itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// File type.
    pub kind: EntryKind,
    /// Size, in bytes.
    pub size: u64,
    /// Permission bits, all twelve.
    pub mode: u32,
    /// Modification time.
    pub modified: ModificationTime,
    /// True if the entry has a single hard link.
    pub is_single: bool,
    /// Device and inode number.
    pub id: (u64, u64),
}

/// File types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A device, a socket or a pipe.
    Other,
}

impl Entry {
    /// Returns the metadata of an open file or folder.
    pub fn of(file: &File) -> io::Result<Self> {
        Ok(Self::from(rustix::fs::fstat(file)?))
    }

    /// Returns true for a regular file.
    pub fn is_file(&self) -> bool {
        self.kind == EntryKind::File
    }

    /// Returns the size of a regular file, in bytes; 0 for other types.
    pub fn bytes(&self) -> u64 {
        if self.is_file() { self.size } else { 0 }
    }

    /// Returns true for a folder.
    pub fn is_folder(&self) -> bool {
        self.kind == EntryKind::Folder
    }
}

impl From<Stat> for Entry {
    fn from(stat: Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Folder,
            FileType::Symlink => EntryKind::Link,
            _ => EntryKind::Other,
        };
        Self {
            kind,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mode: stat.st_mode & 0o7777,
            modified: ModificationTime {
                seconds: stat.st_mtime,
                // The kernel returns less than one second.
                nanoseconds: u32::try_from(stat.st_mtime_nsec).unwrap_or(0),
            },
            is_single: stat.st_nlink == 1,
            id: (stat.st_dev, stat.st_ino),
        }
    }
}

/// Maximum number of extra listings of folders during a recursive removal.
const MAX_LISTINGS: usize = 100;

/// Common open flags: follow no link, do not block on a FIFO, close on exec.
const COMMON_OPEN_FLAGS: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

impl Dir {
    /// Opens the folder at a path given by the local user. Follows symbolic links in the path.
    ///
    /// # Errors
    /// It cannot be opened, or is not a folder.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(File::from(rustix::fs::open(path, flags, Mode::empty())?)))
    }

    /// Opens the sub-folder `name`.
    ///
    /// # Errors
    /// It cannot be opened, or is not a folder; a symbolic link is not.
    pub fn enter(&self, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | COMMON_OPEN_FLAGS;
        Ok(Self(File::from(rustix::fs::openat(
            &self.0,
            require_single_component(name)?,
            flags,
            Mode::empty(),
        )?)))
    }

    /// Opens the sub-folder `name` of this user as [`Dir::enter`] does, although its permissions deny that: its owner
    /// gets all first.
    ///
    /// # Errors
    /// It is another user's, cannot be opened, or is not a folder.
    pub fn enter_closed(&self, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(&self.0, require_single_component(name)?, flags, Mode::empty())?;
        let mode = rustix::fs::fstat(&folder)?.st_mode & 0o7777 | 0o700;
        // There is no call for a descriptor of this kind; its link in `/proc` cannot be exchanged as a path could.
        let link = format!("/proc/self/fd/{}", folder.as_raw_fd());
        std::fs::set_permissions(link, std::fs::Permissions::from_mode(mode))?;
        let flags = OFlags::DIRECTORY | COMMON_OPEN_FLAGS;
        Ok(Self(File::from(rustix::fs::openat(&folder, ".", flags, Mode::empty())?)))
    }

    /// Creates the folder `name`. The process's umask applies to `mode`.
    pub fn make(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, require_single_component(name)?, Mode::from_raw_mode(mode & 0o777))?)
    }

    /// Returns the entry `name`; `None` if there is none.
    pub fn lookup(&self, name: &OsStr) -> io::Result<Option<Entry>> {
        match rustix::fs::statat(&self.0, require_single_component(name)?, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat.into())),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a file readable and writable only by its owner, and opens it.
    ///
    /// # Errors
    /// The name is taken, or the file cannot be created.
    pub fn create(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | COMMON_OPEN_FLAGS;
        Ok(File::from(rustix::fs::openat(
            &self.0,
            require_single_component(name)?,
            flags,
            Mode::from_raw_mode(0o600),
        )?))
    }

    /// Opens `name` for reading.
    pub fn read(&self, name: &OsStr) -> io::Result<File> {
        Ok(File::from(rustix::fs::openat(
            &self.0,
            require_single_component(name)?,
            OFlags::RDONLY | COMMON_OPEN_FLAGS,
            Mode::empty(),
        )?))
    }

    /// Opens `name` for reading and writing.
    pub fn write(&self, name: &OsStr) -> io::Result<File> {
        Ok(File::from(rustix::fs::openat(
            &self.0,
            require_single_component(name)?,
            OFlags::RDWR | COMMON_OPEN_FLAGS,
            Mode::empty(),
        )?))
    }

    /// Atomically renames a file within this folder, replacing an existing `to`.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(
            &self.0,
            require_single_component(from)?,
            &self.0,
            require_single_component(to)?,
        )?)
    }

    /// Atomically renames an entry within this folder, without replacing.
    ///
    /// # Errors
    /// The name `to` is taken.
    pub fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let (from, to) = (require_single_component(from)?, require_single_component(to)?);
        match rustix::fs::renameat_with(&self.0, from, &self.0, to, RenameFlags::NOREPLACE) {
            // Not every file system supports a rename without replacing.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => match self.lookup(to)? {
                Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
                None => self.rename(from, to),
            },
            result => Ok(result?),
        }
    }

    /// Creates a hard link to a file within this folder.
    ///
    /// # Errors
    /// The name is taken, or the file supports no further link.
    pub fn link(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::linkat(
            &self.0,
            require_single_component(from)?,
            &self.0,
            require_single_component(to)?,
            AtFlags::empty(),
        )?)
    }

    /// Opens the entry `name` as a reference, which needs no permission for its contents. Does not follow links.
    ///
    /// # Errors
    /// There is no such entry.
    pub fn open_reference(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.0, require_single_component(name)?, flags, Mode::empty())?))
    }

    /// Creates a hard link to an open file, even if another file has taken its name.
    ///
    /// # Errors
    /// The name is taken, the file has no name any more, or the link cannot be created.
    pub fn link_open_file(&self, file: &File, name: &OsStr) -> io::Result<()> {
        let name = require_single_component(name)?;
        match rustix::fs::linkat(file, "", &self.0, name, AtFlags::EMPTY_PATH) {
            // Linux before 6.10 permits it to privileged processes only.
            Err(rustix::io::Errno::NOENT) => {
                let link = format!("/proc/self/fd/{}", file.as_raw_fd());
                Ok(rustix::fs::linkat(rustix::fs::CWD, link, &self.0, name, AtFlags::SYMLINK_FOLLOW)?)
            }
            result => Ok(result?),
        }
    }

    /// Creates a symbolic link.
    ///
    /// # Errors
    /// The name is taken, or the link cannot be created.
    pub fn make_link(&self, target: &OsStr, name: &OsStr, modified: ModificationTime) -> io::Result<()> {
        let name = require_single_component(name)?;
        rustix::fs::symlinkat(target, &self.0, name)?;
        let time = Timespec { tv_sec: modified.seconds, tv_nsec: modified.nanoseconds.into() };
        let times = Timestamps { last_access: time, last_modification: time };
        // Not every file system stores times of links.
        let _ = rustix::fs::utimensat(&self.0, name, &times, AtFlags::SYMLINK_NOFOLLOW);
        Ok(())
    }

    /// Returns the target of a symbolic link.
    pub fn read_link(&self, name: &OsStr) -> io::Result<OsString> {
        Ok(OsString::from_vec(
            rustix::fs::readlinkat(&self.0, require_single_component(name)?, Vec::new())?.into_bytes(),
        ))
    }

    /// Removes a file's name.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, require_single_component(name)?, AtFlags::empty())?)
    }

    /// Removes the entry `name`, recursively for a folder. Never follows links or crosses file systems. Returns the
    /// number of removed entries and the total size of the files, in bytes.
    ///
    /// # Errors
    /// Some entry cannot be removed.
    pub fn remove_all(&self, name: &OsStr) -> io::Result<(u64, u64)> {
        let Some(entry) = self.lookup(name)? else { return Ok((0, 0)) };
        if !entry.is_folder() {
            self.remove(name)?;
            return Ok((1, entry.bytes()));
        }
        // Open folders, innermost last, each with its remaining entries.
        let open = |above: &Self, name: &OsStr| {
            let dir = above.enter(name)?;
            if Entry::of(&dir.0)?.id.0 == entry.id.0 {
                dir.names().map(|names| (dir, names))
            } else {
                Err(io::ErrorKind::CrossesDevices.into())
            }
        };
        let (mut count, mut bytes, mut again) = (0, 0, 0);
        let mut levels = vec![(open(self, name)?, name.to_owned())];
        while let Some(((dir, names), of_dir)) = levels.last_mut() {
            let Some(name) = names.pop() else {
                // A concurrent transfer may still write into it.
                *names = dir.names()?;
                if !names.is_empty() {
                    again += 1;
                    if again > MAX_LISTINGS {
                        return Err(io::ErrorKind::DirectoryNotEmpty.into());
                    }
                    continue;
                }
                let of_dir = std::mem::take(of_dir);
                levels.pop();
                let above = levels.last().map_or(self, |((dir, _), _)| dir);
                rustix::fs::unlinkat(&above.0, require_single_component(&of_dir)?, AtFlags::REMOVEDIR)?;
                count += 1;
                continue;
            };
            match dir.lookup(&name)? {
                None => {}
                Some(entry) if entry.is_folder() => {
                    let next = open(dir, &name)?;
                    levels.push((next, name));
                }
                Some(entry) => {
                    dir.remove(&name)?;
                    count += 1;
                    bytes += entry.bytes();
                }
            }
        }
        Ok((count, bytes))
    }

    /// Returns all names in the folder.
    fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
            if !matches!(name.as_bytes(), b"." | b"..") {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Returns true if the folder lists `name` byte for byte.
    pub fn lists(&self, name: &OsStr) -> io::Result<bool> {
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            if entry?.file_name().to_bytes() == name.as_bytes() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the folder's descriptor, for setting metadata.
    pub fn file(&self) -> &File {
        &self.0
    }

    /// Syncs the folder to disk, making its names durable.
    pub fn sync(&self) -> io::Result<()> {
        match self.0.sync_all() {
            // Some file systems do not support syncing folders.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
            {
                Ok(())
            }
            result => result,
        }
    }
}

/// Returns `name` if it is a single path component. Callers check as well; this is defence in depth.
fn require_single_component(name: &OsStr) -> io::Result<&OsStr> {
    let is_plain = !name.as_bytes().contains(&b'/') && !matches!(name.as_bytes(), b"" | b"." | b"..");
    if is_plain { Ok(name) } else { Err(io::ErrorKind::InvalidFilename.into()) }
}

/// Returns the process's `umask`.
pub fn process_umask() -> u32 {
    static MASK: OnceLock<u32> = OnceLock::new();
    *MASK.get_or_init(|| {
        // The system call can only read the mask by setting it for all threads.
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
        let mask = mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok());
        // If unknown, restrict files to their owner.
        mask.unwrap_or(0o077)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_leads_out_of_a_folder() {
        let top = TestFolder::new("dir");
        std::fs::create_dir_all(top.join("in/sub")).unwrap();
        std::fs::write(top.join("secret"), b"secret").unwrap();
        symlink(&top, top.join("in/link")).unwrap();
        symlink(top.join("secret"), top.join("in/file")).unwrap();
        let dir = Dir::open(&top.join("in")).unwrap();
        for name in ["", ".", "..", "/", "../secret", "sub/..", "link/secret"] {
            let name = OsStr::new(name);
            assert!(dir.enter(name).is_err() && dir.read(name).is_err(), "{name:?}");
            assert!(dir.create(name).is_err() && dir.make(name, 0o700).is_err(), "{name:?}");
            assert!(dir.rename(OsStr::new("sub"), name).is_err(), "{name:?}");
        }
        assert!(dir.enter(OsStr::new("link")).is_err());
        let file = OsStr::new("file");
        assert!(dir.read(file).is_err() && dir.write(file).is_err() && dir.create(file).is_err());
        assert_eq!(dir.lookup(file).unwrap().unwrap().kind, EntryKind::Link);
        assert!(dir.enter(OsStr::new("sub")).is_ok());
        // A folder that its owner may not enter is opened; links are not, nor are the modes of their targets changed.
        let closed = std::fs::Permissions::from_mode(0o005);
        std::fs::set_permissions(top.join("in/sub"), closed).unwrap();
        assert!(dir.enter_closed(OsStr::new("sub")).is_ok());
        assert_eq!(dir.lookup(OsStr::new("sub")).unwrap().unwrap().mode, 0o705);
        for name in ["link", "file", "..", "sub/.."] {
            assert!(dir.enter_closed(OsStr::new(name)).is_err(), "{name}");
        }
    }
}
