//! Restriction of a receiver's write access by the kernel (Landlock).
//!
//! Names, descriptors and links are checked where they are used. If one of those checks is wrong, the kernel still lets
//! this process create, change and remove files only below the given folders. Reading is not restricted, and open files
//! stay open.

use landlock::{
    ABI, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _,
    RulesetError, path_beneath_rules,
};
use std::path::Path;

/// Restricts writes of this thread and its future threads to these existing folders. Returns false if the kernel does
/// not support it: before Linux 6.2, or with Landlock disabled.
pub fn restrict_writes(folders: &[&Path]) -> bool {
    // ABI version 3 is the first with truncation. Without moves between folders (since version 2) hard links could not
    // be created.
    let writing = AccessFs::from_write(ABI::V3);
    let confined = || -> Result<(), RulesetError> {
        let rules =
            Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(writing)?;
        rules.create()?.add_rules(path_beneath_rules(folders, writing))?.restrict_self()?;
        Ok(())
    };
    confined().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::ErrorKind;

    #[test]
    fn nothing_is_written_elsewhere() {
        let top = std::env::temp_dir().join(format!("thalweg-restrict_writes-{}", std::process::id()));
        let (inside, outside) = (top.join("inside"), top.join("outside"));
        fs::create_dir_all(inside.join("sub")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("file"), b"untouched").unwrap();
        // The restriction applies to the calling thread and its future threads.
        let play = {
            let (inside, outside) = (inside.clone(), outside.clone());
            move || {
                if !restrict_writes(&[&inside]) {
                    eprintln!("skipped: this kernel has no Landlock");
                    return;
                }
                let began = std::thread::spawn(move || {
                    let denied = |result: std::io::Result<()>| {
                        assert_eq!(result.unwrap_err().kind(), ErrorKind::PermissionDenied);
                    };
                    denied(fs::write(outside.join("file"), b"overwritten"));
                    denied(fs::write(outside.join("new"), b"new"));
                    denied(fs::create_dir(outside.join("folder")));
                    denied(fs::remove_file(outside.join("file")));
                    denied(std::os::unix::fs::symlink("x", outside.join("link")));
                    std::os::unix::fs::symlink(outside.join("file"), inside.join("way-out")).unwrap();
                    denied(fs::write(inside.join("way-out"), b"overwritten"));
                    assert_eq!(fs::read(outside.join("file")).unwrap(), b"untouched", "reading is free");
                    fs::write(inside.join("file"), b"file").unwrap();
                    fs::hard_link(inside.join("file"), inside.join("sub/name")).unwrap();
                    fs::rename(inside.join("file"), inside.join("sub/file")).unwrap();
                    fs::remove_file(inside.join("sub/file")).unwrap();
                });
                began.join().unwrap();
            }
        };
        std::thread::spawn(play).join().unwrap();
        fs::remove_dir_all(top).unwrap();
    }
}
