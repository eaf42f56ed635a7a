//! Folders that are held open, and what is in them.
//!
//! A receiver reaches everything from the descriptor of the folder that it was given, by one name at a time: no name has a
//! separator in it, and no symbolic link is followed. So a folder that is moved, or a link that is put in its place while
//! files arrive, leads nowhere else. (One name at a time `O_NOFOLLOW` says all that `RESOLVE_BENEATH` and
//! `RESOLVE_NO_SYMLINKS` would say of a path.)

use super::messages::Modified;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::sync::OnceLock;

/// A folder that is held open.
#[derive(Debug)]
pub struct Dir(File);

/// The thing that a name stands for; of a symbolic link, the link itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The kind of thing.
    pub kind: EntryKind,
    /// Bytes in it.
    pub size: u64,
    /// Permission bits, all twelve.
    pub mode: u32,
    /// The time of its last change.
    pub modified: Modified,
    /// It has no second name.
    pub is_single: bool,
    /// Its device and its number there.
    pub id: (u64, u64),
}

/// Kinds of what is in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A device, a socket or a pipe.
    Other,
}

impl Entry {
    /// The entry of an open file or folder.
    pub fn of(file: &File) -> io::Result<Self> {
        Ok(Self::from(rustix::fs::fstat(file)?))
    }

    /// It is a file.
    pub fn is_file(&self) -> bool {
        self.kind == EntryKind::File
    }

    /// The bytes of a file; nothing of other kinds.
    pub fn bytes(&self) -> u64 {
        if self.is_file() { self.size } else { 0 }
    }

    /// It is a folder.
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
            modified: Modified {
                seconds: stat.st_mtime,
                // The kernel gives less than a second.
                nanoseconds: u32::try_from(stat.st_mtime_nsec).unwrap_or(0),
            },
            is_single: stat.st_nlink == 1,
            id: (stat.st_dev, stat.st_ino),
        }
    }
}

/// Folders that may have to be listed once more before they are removed.
const MAX_LISTINGS: usize = 100;

/// Opened without following a link, without waiting for the other end of a pipe, and not for programs that are started.
const PLAIN: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

impl Dir {
    /// The folder at a path that this side's user gave. Links on the way to it are followed.
    ///
    /// # Errors
    /// It cannot be opened, or is no folder.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(File::from(rustix::fs::open(path, flags, Mode::empty())?)))
    }

    /// The folder `name` in this one.
    ///
    /// # Errors
    /// It cannot be opened, or is no folder: a link is none.
    pub fn enter(&self, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | PLAIN;
        Ok(Self(File::from(rustix::fs::openat(&self.0, one(name)?, flags, Mode::empty())?)))
    }

    /// Makes the folder `name`. The process's mask applies to `mode`.
    pub fn make(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, one(name)?, Mode::from_raw_mode(mode & 0o777))?)
    }

    /// The entry of this name here; `None` if there is none.
    pub fn look(&self, name: &OsStr) -> io::Result<Option<Entry>> {
        match rustix::fs::statat(&self.0, one(name)?, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat.into())),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a file that only its owner may read and write, and opens it.
    ///
    /// # Errors
    /// Something has this name, or it cannot be made.
    pub fn create(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | PLAIN;
        Ok(File::from(rustix::fs::openat(&self.0, one(name)?, flags, Mode::from_raw_mode(0o600))?))
    }

    /// Opens what has this name to read it.
    pub fn read(&self, name: &OsStr) -> io::Result<File> {
        Ok(File::from(rustix::fs::openat(&self.0, one(name)?, OFlags::RDONLY | PLAIN, Mode::empty())?))
    }

    /// Opens what has this name to read and write it.
    pub fn write(&self, name: &OsStr) -> io::Result<File> {
        Ok(File::from(rustix::fs::openat(&self.0, one(name)?, OFlags::RDWR | PLAIN, Mode::empty())?))
    }

    /// Gives a file of this folder another name in it, at once. What had that name is gone.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, one(from)?, &self.0, one(to)?)?)
    }

    /// Gives a thing of this folder another name in it, at once.
    ///
    /// # Errors
    /// Something has that name.
    pub fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let (from, to) = (one(from)?, one(to)?);
        match rustix::fs::renameat_with(&self.0, from, &self.0, to, RenameFlags::NOREPLACE) {
            // Not every file system can do both at once.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => match self.look(to)? {
                Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
                None => self.rename(from, to),
            },
            result => Ok(result?),
        }
    }

    /// Gives a file of this folder one more name.
    ///
    /// # Errors
    /// Something has that name, or the file can have no other.
    pub fn link(&self, from: &OsStr, into: &Dir, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::linkat(&self.0, one(from)?, &into.0, one(to)?, AtFlags::empty())?)
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// Something has this name, or it cannot be made.
    pub fn make_link(&self, target: &OsStr, name: &OsStr, modified: Modified) -> io::Result<()> {
        let name = one(name)?;
        rustix::fs::symlinkat(target, &self.0, name)?;
        let time = Timespec { tv_sec: modified.seconds, tv_nsec: modified.nanoseconds.into() };
        let times = Timestamps { last_access: time, last_modification: time };
        // Not every file system gives links a time.
        let _ = rustix::fs::utimensat(&self.0, name, &times, AtFlags::SYMLINK_NOFOLLOW);
        Ok(())
    }

    /// The target of a symbolic link.
    pub fn read_link(&self, name: &OsStr) -> io::Result<OsString> {
        Ok(OsString::from_vec(rustix::fs::readlinkat(&self.0, one(name)?, Vec::new())?.into_bytes()))
    }

    /// Takes a file's name away.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, one(name)?, AtFlags::empty())?)
    }

    /// Removes whatever has this name, of a folder all that is in it: never anything behind a link, nor on another file system. Gives
    /// the number of things that were removed, and the bytes of the files.
    ///
    /// # Errors
    /// Some of it cannot be removed.
    pub fn remove_all(&self, name: &OsStr) -> io::Result<(u64, u64)> {
        let Some(entry) = self.look(name)? else { return Ok((0, 0)) };
        if !entry.is_folder() {
            self.remove(name)?;
            return Ok((1, entry.bytes()));
        }
        // Folders by their descriptors, the innermost last, and what is in them that is still to be removed.
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
                // Another transfer may still be writing into it.
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
                rustix::fs::unlinkat(&above.0, one(&of_dir)?, AtFlags::REMOVEDIR)?;
                count += 1;
                continue;
            };
            match dir.look(&name)? {
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

    /// All names in it.
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

    /// A name is here exactly as it is written.
    pub fn lists(&self, name: &OsStr) -> io::Result<bool> {
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            if entry?.file_name().to_bytes() == name.as_bytes() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The folder itself, to be dressed.
    pub fn file(&self) -> &File {
        &self.0
    }

    /// Makes the names in it safe from loss of power.
    pub fn sync(&self) -> io::Result<()> {
        match self.0.sync_all() {
            // Some file systems do not know this.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
            {
                Ok(())
            }
            result => result,
        }
    }
}

/// A name that is one component of a path. Whoever asks has checked it; this is the last door.
fn one(name: &OsStr) -> io::Result<&OsStr> {
    let is_plain = !name.as_bytes().contains(&b'/') && !matches!(name.as_bytes(), b"" | b"." | b"..");
    if is_plain { Ok(name) } else { Err(io::ErrorKind::InvalidFilename.into()) }
}

/// The permissions that this process gives to nobody (`umask`).
pub fn mask() -> u32 {
    static MASK: OnceLock<u32> = OnceLock::new();
    *MASK.get_or_init(|| {
        // The system call could only ask by setting it, for all threads.
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
        let mask = mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok());
        // Where nobody can say, files are for their owner.
        mask.unwrap_or(0o077)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_leads_out_of_a_folder() {
        let top = std::env::temp_dir().join(format!("thalweg-dir-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&top);
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
        assert_eq!(dir.look(file).unwrap().unwrap().kind, EntryKind::Link);
        assert!(dir.enter(OsStr::new("sub")).is_ok());
        std::fs::remove_dir_all(&top).unwrap();
    }
}
