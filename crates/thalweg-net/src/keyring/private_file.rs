//! Files that only this user may read or change.

use std::fs::{self, DirBuilder};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

/// Creates a folder private to this user, regardless of the umask; its parents may be readable by others.
pub(super) fn make_private(folder: &Path) -> io::Result<()> {
    if let Some(above) = folder.parent() {
        fs::create_dir_all(above)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        // The umask may have removed the user's own permissions, too.
        Ok(()) => fs::set_permissions(folder, fs::Permissions::from_mode(0o700)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Checks that the file belongs to this user and grants others none of the permissions in `forbidden`.
fn check_private(metadata: &fs::Metadata, forbidden: u32, why: &str) -> io::Result<()> {
    let owner = metadata.uid();
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    if metadata.mode() & forbidden != 0 {
        let mode = metadata.mode() & 0o777;
        let right = mode & !forbidden;
        return Err(io::Error::other(format!("{why} (mode {mode:03o}): run chmod {right:03o}")));
    }
    Ok(())
}

/// Reads a file of this user of at most `max_mib` MiB that grants others none of the permissions in `forbidden`, from a
/// folder that others cannot write.
pub(super) fn read_private(path: &Path, max_mib: u64, forbidden: u32, why: &str) -> io::Result<String> {
    let max = max_mib << 20;
    let file = fs::File::open(path)?;
    let metadata = file.metadata()?;
    check_private(&metadata, forbidden, why)?;
    if let Some(folder) = path.parent() {
        let checked = check_private(&fs::metadata(folder)?, 0o022, "others may write to it");
        checked.map_err(|error| io::Error::other(format!("its folder: {error}")))?;
    }
    let mut bytes = Vec::new();
    // The size may be that of something else than a file, and may grow.
    if metadata.len() <= max {
        file.take(max + 1).read_to_end(&mut bytes)?;
    }
    if metadata.len().max(bytes.len() as u64) > max {
        return Err(io::Error::other(format!("it is larger than {max_mib} MiB")));
    }
    // Invalid UTF-8 cannot be a key and becomes an invalid line.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
