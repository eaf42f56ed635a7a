//! A test for the repository of a transport stack: the claims of `claims.toml` hold for its scheme.
//!
//! Copy this folder into the `tests` of the adapter's crate, and set the scheme, the plan and the registry. It needs the dev-dependency
//! `thalweg`, and half a minute of processor time with optimisation. The folder of reports has Markdown and JUnit.

use std::sync::Arc;
use thalweg::Caller;

/// The scheme under test.
const SCHEME: &str = "quinn-cubic";

/// The plan with the claims.
const PLAN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../kit/claims.toml");

/// The folder of reports.
const REPORTS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/claims");

#[test]
fn claims_hold() {
    // Stored runs are those of an earlier build of the stack.
    let _ = std::fs::remove_dir_all(REPORTS);
    let words = ["assess", SCHEME, "--pack", PLAN, "--out", REPORTS, "--quiet"].map(str::to_owned);
    let registry = Arc::new(thalweg_stacks::registry_with_stacks());
    let called = thalweg::call(registry, &words, Arc::new(Caller::default()));
    assert_eq!(called.code, 0, "{}{}", called.printed_results, called.text());
}
