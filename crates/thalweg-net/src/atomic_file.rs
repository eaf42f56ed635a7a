//! Atomic file replacement: a reader sees the old or the new contents, even after a crash or with a full disk.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Writes `contents` to a temporary file beside `path` and syncs it, with the permissions of the existing file or else
/// `mode`. Returns its path; removes it on failure.
pub fn write_temporary_file(path: &Path, mode: u32, contents: &[u8]) -> io::Result<PathBuf> {
    // Threads may write the same file concurrently, and so may processes of other hosts or containers with the same number.
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?.to_owned();
    name.push(format!(".{:016x}", RandomState::new().hash_one(())));
    let draft = path.with_file_name(name);
    let mode = fs::metadata(path).map_or(mode, |there| there.permissions().mode() & 0o777);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&draft)?;
    let written = (|| {
        // Override the umask.
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.write_all(contents)?;
        file.sync_all()
    })();
    written.inspect_err(|_| drop(fs::remove_file(&draft)))?;
    Ok(draft)
}

/// Replaces the contents of `path`, or creates it with the permissions `mode`. Follows a symbolic link.
pub fn replace_file(path: &Path, mode: u32, contents: &[u8]) -> io::Result<()> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let draft = write_temporary_file(path, mode, contents)?;
    fs::rename(&draft, path).inspect_err(|_| drop(fs::remove_file(&draft)))
}

/// Appends a line to the file `path`, or creates it with the permissions `mode`. Terminates an incomplete last line
/// first. Concurrent processes lose no lines.
pub fn add_line(path: &Path, mode: u32, line: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let lock = File::open(folder)?;
    match lock.lock() {
        // Some file systems have no locks.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
        locked => locked?,
    }
    let mut contents = match fs::read(path) {
        Ok(contents) => contents,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    if !matches!(contents.last(), None | Some(b'\n')) {
        contents.push(b'\n');
    }
    contents.extend_from_slice(line.as_bytes());
    contents.push(b'\n');
    replace_file(path, mode, &contents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    #[test]
    fn concurrent_appends_keep_lines_intact() {
        let folder = TestFolder::new("lines");
        let path = folder.join("list");
        add_line(&path, 0o600, "first").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&path, "first\nsecond without an end").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        add_line(&path, 0o600, "third").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "first\nsecond without an end\nthird\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640, "as the user has it");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    (0..10).for_each(|line| add_line(path, 0o600, &format!("{writer} {line}")).unwrap());
                });
            }
        });
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 43, "{text}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "drafts are left");
    }

    #[test]
    fn a_failed_write_keeps_the_old_file() {
        let folder = TestFolder::new("full");
        let path = folder.join("list");
        fs::write(&path, "old\n").unwrap();
        let target = folder.join("target");
        fs::rename(&path, &target).unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        replace_file(&path, 0o600, b"new\n").unwrap();
        assert!(path.is_symlink() && fs::read_to_string(&target).unwrap() == "new\n");
        // Creation fails in a missing folder.
        let gone = folder.join("none/list");
        assert!(replace_file(&gone, 0o600, b"x").is_err() && add_line(&gone, 0o600, "x").is_err());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    }
}
