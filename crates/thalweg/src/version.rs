//! The version of this program.

use std::sync::OnceLock;

/// The version, with the commit it was built from where the variable `THALWEG_COMMIT` named it at build time.
pub fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| match option_env!("THALWEG_COMMIT") {
        Some(commit) if !commit.is_empty() => format!("{} ({commit})", env!("CARGO_PKG_VERSION")),
        _ => env!("CARGO_PKG_VERSION").to_owned(),
    })
}
