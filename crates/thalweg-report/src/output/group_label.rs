//! Names of groups in remarks.

use super::Style;
use crate::results::Group;

/// Returns a group's name with its scheme. `compared` is the scheme or label of the runs, with these groups; a group may
/// keep another scheme.
pub(super) fn group_label(group: &Group, groups: &[Group], compared: Option<&str>, style: Style) -> String {
    let label = format!("`{}` ({})", style.clean(&group.name), style.clean(&group.scheme));
    match compared.filter(|compared| *compared != group.scheme) {
        None => label,
        Some(compared) if groups.iter().any(|other| other.scheme == compared) => {
            format!("{label} beside {}", style.clean(compared))
        }
        // Results of several files have labels in place of schemes.
        Some(file) => format!("{}, {label}", style.clean(file)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Run;
    use crate::results::test_fixtures::run_result;

    #[test]
    fn a_group_that_keeps_its_scheme_is_named_with_it() {
        let groups = Run::from_result(&run_result(1, 75)).groups;
        let label = |compared| group_label(&groups[1], &groups, compared, Style::PLAIN);
        assert_eq!(label(None), "`bold` (cubic)");
        assert_eq!(label(Some("cubic")), "`bold` (cubic)");
        assert_eq!(label(Some("vegas")), "`bold` (cubic) beside vegas");
        assert_eq!(label(Some("first file")), "first file, `bold` (cubic)");
    }
}
