//! Worst cases that `thalweg-stacks hunt` found in the stacks, in `adapters/cases`.

use crate::call;
use std::path::PathBuf;

/// Each case has the score that `cases.toml` lists; `hunt --check` fails otherwise.
#[test]
fn worst_cases_have_their_scores() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../cases");
    let text = std::fs::read_to_string(folder.join("cases.toml")).unwrap();
    let cases = text.matches("[[case]]").count();
    let printed = call(&["hunt", "--check", folder.to_str().unwrap()]);
    let passed = printed.lines().filter(|line| line.starts_with("+ ")).count();
    assert!(cases > 0 && passed == cases, "{printed}");
}
