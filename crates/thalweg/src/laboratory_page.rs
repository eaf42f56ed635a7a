//! `thalweg page`: the laboratory page, in builds that have it.

use crate::console_output::{CommandResult, Console, Error};
use crate::report::ReportTarget;
use crate::simulation_arguments::PageArguments;

/// The page that `scripts/page` builds, in a build with the feature `page`.
#[cfg(feature = "page")]
const PAGE: Option<&[u8]> = Some(include_bytes!("../../../target/page/index.html"));
#[cfg(not(feature = "page"))]
const PAGE: Option<&[u8]> = None;

/// Name of the file, and of its kind.
const FILE: &str = "thalweg.html";

/// Implements `thalweg page`.
pub fn write_laboratory_page(arguments: &PageArguments, console: &Console) -> CommandResult {
    let target = ReportTarget::of(Some(&arguments.file), FILE, false, FILE)?;
    let page = PAGE.ok_or_else(|| Error::Failed(MISSING_PAGE.to_owned()))?;
    target.map_or(Ok(()), |target| target.write(page, None, console))
}

const MISSING_PAGE: &str = "this program was built without the laboratory page: `scripts/page`, in the project's folder, makes the page \
     itself (target/page/index.html), and `cargo build --release -p thalweg --features page` a program with it";

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::sync::Arc;

    #[test]
    fn the_page_is_written_or_its_absence_explained() {
        let path = std::env::temp_dir().join(format!("thalweg-page-{}.html", std::process::id()));
        let written = write_laboratory_page(
            &PageArguments { file: Some(path.clone()), quiet: true },
            &Console::new("thalweg", true, Arc::default()),
        );
        match PAGE {
            Some(page) => {
                written.unwrap();
                assert_eq!(std::fs::read(&path).unwrap(), page);
                std::fs::remove_file(path).unwrap();
            }
            None => {
                let error = written.unwrap_err();
                assert!(error.to_string().contains("scripts/page"), "{error}");
                assert!(!path.exists());
            }
        }
    }

    #[test]
    fn names_of_other_kinds_are_refused() {
        let refused = |name: &str| {
            write_laboratory_page(
                &PageArguments { file: Some(PathBuf::from(name)), quiet: true },
                &Console::new("thalweg", true, Arc::default()),
            )
            .unwrap_err()
        };
        assert!(refused("page.svg").to_string().contains("does not end in .html"));
        assert!(refused("no/such/folder/page.html").to_string().contains("there is no folder"));
    }
}
