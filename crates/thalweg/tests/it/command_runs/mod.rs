//! Runs of the command in separate folders.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

/// Runs the command in `folder`.
pub fn thalweg(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = crate::child_processes::command(env!("CARGO_BIN_EXE_thalweg"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

/// Returns the standard output of a call that succeeds.
#[track_caller]
pub fn prints(folder: &Path, arguments: &[&str]) -> String {
    let output = thalweg(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", errors(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the messages of a call that fails with this exit code and prints no results.
#[track_caller]
pub fn fails(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = thalweg(folder, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", errors(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

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
