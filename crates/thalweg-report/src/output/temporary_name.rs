//! Names of temporary files and folders.

use std::hash::{BuildHasher as _, RandomState};

/// Returns a hidden name with a random suffix. Threads of one process use a folder at the same time, and so do processes of several hosts or
/// containers, whose process ids may be equal.
pub fn temporary_name(stem: &str) -> String {
    format!(".{stem}-{:016x}", RandomState::new().hash_one(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_names_are_hidden_and_distinct() {
        let names = [temporary_name("run.partial"), temporary_name("run.partial")];
        assert!(names.iter().all(|name| name.starts_with(".run.partial-") && name.len() == 29), "{names:?}");
        assert_ne!(names[0], names[1]);
    }
}
