//! Hash of source texts, for the build script's fingerprint of the simulation.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Returns the hash of the names and contents of these files and of all files in these folders: 32 hexadecimal digits.
///
/// # Errors
///
/// A file cannot be read.
pub fn hash_sources(places: &[PathBuf]) -> io::Result<String> {
    let mut hash = OFFSET;
    for (number, place) in places.iter().enumerate() {
        let mut files = Vec::new();
        gather_files(place, &mut files)?;
        files.sort();
        for file in files {
            let relative = file.strip_prefix(place).unwrap_or(Path::new(""));
            // The same on systems with another path separator.
            let name: Vec<_> = relative.components().map(|part| part.as_os_str().to_string_lossy()).collect();
            let content = fs::read(&file)?;
            let head = format!("{number} {} {}\n", name.join("/"), content.len());
            hash = hash_bytes(hash_bytes(hash, head.as_bytes()), &content);
        }
    }
    Ok(format!("{hash:032x}"))
}

fn gather_files(place: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !place.is_dir() {
        files.push(place.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(place)? {
        gather_files(&entry?.path(), files)?;
    }
    Ok(())
}

/// Adds bytes to an FNV-1a hash of 128 bits: a build script needs no library for it, and collision attacks are not a
/// concern.
fn hash_bytes(hash: u128, bytes: &[u8]) -> u128 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}

const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_fnv() {
        // Test vectors of draft-eastlake-fnv, appendix C.
        assert_eq!(hash_bytes(OFFSET, b""), OFFSET);
        assert_eq!(hash_bytes(OFFSET, b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }

    #[test]
    fn any_change_of_a_source_is_another_build() {
        let folder = std::env::temp_dir().join(format!("thalweg-sources-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("src/deep")).unwrap();
        let write = |name: &str, text: &str| fs::write(folder.join("src").join(name), text).unwrap();
        let now = || hash_sources(&[folder.join("src")]).unwrap();
        write("a.rs", "let window = 1;");
        write("deep/b.rs", "");
        let mut seen = vec![now()];
        assert_eq!(seen[0], now());
        write("a.rs", "let window = 2;");
        seen.push(now());
        fs::rename(folder.join("src/deep/b.rs"), folder.join("src/deep/c.rs")).unwrap();
        seen.push(now());
        write("d.rs", "");
        seen.push(now());
        let different: std::collections::BTreeSet<&String> = seen.iter().collect();
        assert_eq!(different.len(), seen.len(), "{seen:?}");
        assert!(hash_sources(&[folder.join("none")]).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
