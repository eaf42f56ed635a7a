//! The reference of live options in `docs/` is the one that the descriptions give.
//!
//! `THALWEG_BLESS=1 cargo test -p thalweg-catalog` writes it anew.

use std::path::Path;
use thalweg_catalog::live_reference;

const MARK: &str = "<!-- options -->\n\n";

#[test]
fn the_reference_of_live_options_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/live.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (introduction, options) = text.split_once(MARK).unwrap();
    if std::env::var_os("THALWEG_BLESS").is_some() {
        std::fs::write(&path, format!("{introduction}{MARK}{}", live_reference())).unwrap();
    } else {
        assert!(options == live_reference(), "the options are out of date; see the head of this test");
    }
}
