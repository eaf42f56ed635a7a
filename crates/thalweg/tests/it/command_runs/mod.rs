//! Runs of the command in separate folders.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

/// Returns the standard error of a call.
pub fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Creates an empty folder with this name, for one test.
pub fn temporary_path(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}
