//! The properties of files that file systems know.

use super::messages::{Lost, Modified};
use std::fs::{File, FileTimes, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A stamp that shows that a file was written to, or is another: one differs when its content may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    size: u64,
    modified: Modified,
    /// Device, number, names and time of the last change of anything, which programs cannot set. Times come in ticks: a file that is
    /// removed within the one in which it was written has the same, but no name.
    identity: [i64; 5],
}

impl Stamp {
    /// Of a file.
    pub fn of(metadata: &Metadata) -> Self {
        Self { size: metadata.len(), modified: modified(metadata), identity: identity(metadata) }
    }

    /// Bytes in the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The time of the last change of the contents.
    pub fn modified(&self) -> Modified {
        self.modified
    }
}

/// The time of a file's last change; 1970 where that is not known.
pub fn modified(metadata: &Metadata) -> Modified {
    let time = metadata.modified().unwrap_or(UNIX_EPOCH);
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => Modified {
            seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            nanoseconds: since.subsec_nanos(),
        },
        Err(before) => {
            let before = before.duration();
            let seconds = i64::try_from(before.as_secs()).map_or(i64::MIN, |seconds| -seconds);
            match before.subsec_nanos() {
                0 => Modified { seconds, nanoseconds: 0 },
                nanoseconds => {
                    Modified { seconds: seconds.saturating_sub(1), nanoseconds: 1_000_000_000 - nanoseconds }
                }
            }
        }
    }
}

impl Modified {
    /// The same time to the system, if it can hold it.
    pub fn to_system(self) -> Option<SystemTime> {
        let seconds = Duration::from_secs(self.seconds.unsigned_abs());
        let base =
            if self.seconds < 0 { UNIX_EPOCH.checked_sub(seconds) } else { UNIX_EPOCH.checked_add(seconds) };
        base?.checked_add(Duration::from_nanos(u64::from(self.nanoseconds)))
    }

    /// Two file systems' ideas of one time: some do not store fractions of seconds.
    pub fn agrees_with(self, other: Self) -> bool {
        let is_whole = self.nanoseconds == 0 || other.nanoseconds == 0;
        self.seconds == other.seconds && (self.nanoseconds == other.nanoseconds || is_whole)
    }
}

/// Gives a file or folder its nine permission bits, and the sticky bit if `mode` has it; the others stay as they are.
pub fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    let others = file.metadata()?.mode() & 0o7000;
    file.set_permissions(Permissions::from_mode(others | mode & 0o1777))
}

/// Gives a file or folder its time. Times that the system cannot hold are left as they are.
pub fn set_time(file: &File, modified: Modified) -> io::Result<()> {
    match modified.to_system() {
        Some(time) => match file.set_times(FileTimes::new().set_modified(time)) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            result => result,
        },
        None => Ok(()),
    }
}

/// The permission bits, without those that change who a program runs as. The sticky bit means something of folders alone.
pub fn mode(metadata: &Metadata) -> u32 {
    metadata.mode() & if metadata.is_dir() { 0o1777 } else { 0o777 }
}

/// Adds what is not carried of a file, folder or link at `path`.
pub fn add_lost(lost: &mut Lost, path: &Path, metadata: &Metadata) {
    lost.owners += u64::from(metadata.uid() != rustix::process::geteuid().as_raw());
    lost.bits += u64::from(!metadata.is_symlink() && metadata.mode() & 0o6000 != 0);
    let mut names = [0; 4096];
    let (mut has_list, mut has_attribute) = (false, false);
    match rustix::fs::llistxattr(path, &mut names[..]) {
        Ok(length) => {
            for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
                match name {
                    // What this program says of files that have come.
                    _ if name == MARK.as_bytes() => {}
                    // Labels are the system's.
                    b"security.selinux" => {}
                    _ if name.starts_with(b"system.posix_acl_") => has_list = true,
                    _ => has_attribute = true,
                }
            }
        }
        // More names than fit.
        Err(rustix::io::Errno::RANGE) => has_attribute = true,
        Err(_) => {}
    }
    lost.lists += u64::from(has_list);
    lost.attributes += u64::from(has_attribute);
}

/// The attribute of a file that has come, which names its sender.
pub const MARK: &str = "user.thalweg";

fn identity(metadata: &Metadata) -> [i64; 5] {
    let [device, number, names] = [metadata.dev(), metadata.ino(), metadata.nlink()].map(u64::cast_signed);
    [device, number, names, metadata.ctime(), metadata.ctime_nsec()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_survive_the_system() {
        for (seconds, nanoseconds) in [(0, 0), (1_700_000_000, 123_456_789), (-1, 0), (-2, 999_999_999)] {
            let time = Modified { seconds, nanoseconds };
            let system = time.to_system().unwrap();
            let since = system.duration_since(UNIX_EPOCH);
            let back = since.map_or_else(
                |before| -(before.duration().as_nanos() as i128),
                |since| since.as_nanos() as i128,
            );
            assert_eq!(back, i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds));
        }
        // Wherever the system ends, asking does no harm.
        let _ = Modified { seconds: i64::MIN, nanoseconds: 999_999_999 }.to_system();
    }

    #[test]
    fn coarse_times_agree_with_fine_ones() {
        let at = |seconds, nanoseconds| Modified { seconds, nanoseconds };
        assert!(at(5, 0).agrees_with(at(5, 17)));
        assert!(!at(5, 1).agrees_with(at(5, 17)));
        assert!(!at(6, 0).agrees_with(at(5, 0)));
    }
}
