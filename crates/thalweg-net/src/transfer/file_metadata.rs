//! Reads and sets the metadata of files: permissions and modification times.

use super::transfer_messages::{ModificationTime, UnpreservedMetadata};
use std::fs::{File, FileTimes, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Change stamp: differs if a file's content may have changed, or if it is another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    size: u64,
    modified: ModificationTime,
    /// Device, inode, link count and status change time, which programs cannot set. Times have the granularity of the
    /// system's ticks: a file removed within the tick of its last write keeps its times, but its link count is zero.
    identity: [i64; 5],
}

impl Stamp {
    /// Returns the stamp of a file.
    pub fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            size: metadata.len(),
            modified: modification_time(metadata),
            identity: file_identity(metadata),
        }
    }

    /// Returns the file size, in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the modification time.
    pub fn modified(&self) -> ModificationTime {
        self.modified
    }
}

/// Returns a file's modification time; the Unix epoch if unknown.
pub fn modification_time(metadata: &Metadata) -> ModificationTime {
    let time = metadata.modified().unwrap_or(UNIX_EPOCH);
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => ModificationTime {
            seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            nanoseconds: since.subsec_nanos(),
        },
        Err(before) => {
            let before = before.duration();
            let seconds = i64::try_from(before.as_secs()).map_or(i64::MIN, |seconds| -seconds);
            match before.subsec_nanos() {
                0 => ModificationTime { seconds, nanoseconds: 0 },
                nanoseconds => ModificationTime {
                    seconds: seconds.saturating_sub(1),
                    nanoseconds: 1_000_000_000 - nanoseconds,
                },
            }
        }
    }
}

impl ModificationTime {
    /// Converts to system time; `None` if out of range.
    pub fn to_system(self) -> Option<SystemTime> {
        let seconds = Duration::from_secs(self.seconds.unsigned_abs());
        let base =
            if self.seconds < 0 { UNIX_EPOCH.checked_sub(seconds) } else { UNIX_EPOCH.checked_add(seconds) };
        base?.checked_add(Duration::from_nanos(u64::from(self.nanoseconds)))
    }

    /// Compares times across file systems: some store no fractions of a second.
    pub fn agrees_with(self, other: Self) -> bool {
        let is_whole_second = self.nanoseconds == 0 || other.nanoseconds == 0;
        self.seconds == other.seconds && (self.nanoseconds == other.nanoseconds || is_whole_second)
    }
}

/// Sets the nine permission bits of a file or folder, and the sticky bit if `mode` has it; other bits keep their
/// values.
pub fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    let others = file.metadata()?.mode() & 0o7000;
    file.set_permissions(Permissions::from_mode(others | mode & 0o1777))
}

/// Sets the modification time of a file or folder. Ignores times out of the system's range.
pub fn set_time(file: &File, modified: ModificationTime) -> io::Result<()> {
    match modified.to_system() {
        Some(time) => match file.set_times(FileTimes::new().set_modified(time)) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            result => result,
        },
        None => Ok(()),
    }
}

/// Returns the permission bits without set-user-ID and set-group-ID. Keeps the sticky bit only for folders.
pub fn permission_bits(metadata: &Metadata) -> u32 {
    metadata.mode() & if metadata.is_dir() { 0o1777 } else { 0o777 }
}

/// Adds the properties of the file, folder or link at `path` that the transfer does not carry.
pub fn add_lost(lost: &mut UnpreservedMetadata, path: &Path, metadata: &Metadata) {
    lost.owners += u64::from(metadata.uid() != rustix::process::geteuid().as_raw());
    lost.setuid_bits += u64::from(!metadata.is_symlink() && metadata.mode() & 0o6000 != 0);
    let mut names = [0; 4096];
    let (mut has_list, mut has_attribute) = (false, false);
    match rustix::fs::llistxattr(path, &mut names[..]) {
        Ok(length) => {
            for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
                match name {
                    // This program's own mark on received files.
                    _ if name == SENDER_ATTRIBUTE.as_bytes() => {}
                    // SELinux labels belong to the local system.
                    b"security.selinux" => {}
                    _ if name.starts_with(b"system.posix_acl_") => has_list = true,
                    _ => has_attribute = true,
                }
            }
        }
        // The list of names exceeds the buffer.
        Err(rustix::io::Errno::RANGE) => has_attribute = true,
        Err(_) => {}
    }
    lost.access_control_lists += u64::from(has_list);
    lost.attributes += u64::from(has_attribute);
}

/// Extended attribute on received files that names their sender.
pub const SENDER_ATTRIBUTE: &str = "user.thalweg";

fn file_identity(metadata: &Metadata) -> [i64; 5] {
    let [device, number, names] = [metadata.dev(), metadata.ino(), metadata.nlink()].map(u64::cast_signed);
    [device, number, names, metadata.ctime(), metadata.ctime_nsec()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_survive_the_system() {
        for (seconds, nanoseconds) in [(0, 0), (1_700_000_000, 123_456_789), (-1, 0), (-2, 999_999_999)] {
            let time = ModificationTime { seconds, nanoseconds };
            let system = time.to_system().unwrap();
            let since = system.duration_since(UNIX_EPOCH);
            let back = since.map_or_else(
                |before| -(before.duration().as_nanos() as i128),
                |since| since.as_nanos() as i128,
            );
            assert_eq!(back, i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds));
        }
        // Out-of-range times must not panic.
        let _ = ModificationTime { seconds: i64::MIN, nanoseconds: 999_999_999 }.to_system();
    }

    #[test]
    fn coarse_times_agree_with_fine_ones() {
        let at = |seconds, nanoseconds| ModificationTime { seconds, nanoseconds };
        assert!(at(5, 0).agrees_with(at(5, 17)));
        assert!(!at(5, 1).agrees_with(at(5, 17)));
        assert!(!at(6, 0).agrees_with(at(5, 0)));
    }
}
