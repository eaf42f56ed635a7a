//! Names of groups in remarks.

use super::Style;
use crate::results::{Document, Group};

/// Returns a group's name with its scheme. `compared` is the name of its runs in `document`: the label of results side by side, or
/// the compared scheme, beside which a group may keep another one.
pub(super) fn group_label(
    group: &Group,
    document: &Document,
    compared: Option<&str>,
    style: Style,
) -> String {
    let label = format!("`{}` ({})", style.clean(&group.name), style.clean(&group.scheme));
    match compared {
        Some(results) if document.is_side_by_side => format!("{}, {label}", style.clean(results)),
        Some(scheme) if scheme != group.scheme => format!("{label} beside {}", style.clean(scheme)),
        _ => label,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Run;
    use crate::results::test_fixtures::{run_result, test_header};

    #[test]
    fn a_group_that_keeps_its_scheme_is_named_with_it() {
        let document = Document::from_runs(test_header(&[1]), vec![Run::from_result(&run_result(1, 75))]);
        let bold = &document.runs().next().unwrap().1.groups[1];
        let label = |compared| group_label(bold, &document, compared, Style::PLAIN);
        assert_eq!(label(None), "`bold` (cubic)");
        assert_eq!(label(Some("cubic")), "`bold` (cubic)");
        assert_eq!(label(Some("vegas")), "`bold` (cubic) beside vegas");
    }

    /// A folder may have the name of a scheme, also of one of its groups.
    #[test]
    fn a_group_of_results_side_by_side_is_named_with_their_label() {
        let part = Document::from_runs(test_header(&[1]), vec![Run::from_result(&run_result(1, 75))]);
        let labels = ["first file", "cubic", "vegas"];
        let parts = labels.iter().map(|label| ((*label).to_owned(), part.clone()));
        let document = Document::side_by_side(parts.collect()).unwrap();
        let name =
            |(label, run): (Option<&str>, &Run)| group_label(&run.groups[1], &document, label, Style::PLAIN);
        let names: Vec<String> = document.runs().map(name).collect();
        assert_eq!(names, ["first file, `bold` (cubic)", "cubic, `bold` (cubic)", "vegas, `bold` (cubic)"]);
    }
}
