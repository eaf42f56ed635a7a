//! The reference of scenario files in `docs/` equals the program's output.
//!
//! `THALWEG_BLESS=1 cargo test --workspace --test it reference::` writes it anew.

use std::path::Path;
use thalweg_scenario::{keys_reference, load_text};

const MARK: &str = "<!-- tables -->\n\n";

#[test]
fn the_reference_is_up_to_date_and_its_example_runs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/scenario.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (introduction, tables) = text.split_once(MARK).unwrap();
    if std::env::var_os("THALWEG_BLESS").is_some() {
        std::fs::write(&path, format!("{introduction}{MARK}{}", keys_reference())).unwrap();
    } else {
        assert!(tables == keys_reference(), "the tables are out of date; see the head of this test");
    }
    let example = introduction.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let loaded = load_text("scenario.md", example, Path::new(""), &[]).unwrap();
    assert!(loaded.warnings.is_empty());
}
