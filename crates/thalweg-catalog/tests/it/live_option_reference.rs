//! The references of live options and of defaults in `docs/` equal the output of the descriptions.
//!
//! `THALWEG_BLESS=1 cargo test -p thalweg-catalog` writes it anew.

use std::path::Path;
use thalweg_catalog::{defaults_reference, live_reference};

const MARK: &str = "<!-- options -->\n\n";

/// Compares what follows the mark in a file of the reference with what it should be, or writes it anew.
fn compare_after_mark(file: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let (introduction, options) = text.split_once(MARK).unwrap();
    if std::env::var_os("THALWEG_BLESS").is_some() {
        std::fs::write(&path, format!("{introduction}{MARK}{expected}")).unwrap();
    } else {
        assert!(options == expected, "{file} is out of date; see the head of this test");
    }
}

#[test]
fn the_reference_of_live_options_is_up_to_date() {
    compare_after_mark("live.md", &live_reference());
}

#[test]
fn the_reference_of_defaults_is_up_to_date() {
    compare_after_mark("defaults.md", &defaults_reference());
}
