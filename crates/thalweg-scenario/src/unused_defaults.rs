//! Defaults that no link or flow of a scenario uses, since each has a value of its own.

use super::diagnostic::Report;
use super::parsed_tree::{Key, Table, Value, ValueKind};
use super::source_text::Span;

/// Warns of each default that is not used, in a file or an argument. Returns true if the scheme of flows is one: no flow
/// shows a mistake in it.
///
/// An argument that replaces the values of all links or flows also replaces a file's default, without a warning.
pub fn warn_unused_defaults(table: &Table, report: &mut Report) -> bool {
    let Some(defaults) = table_of(table.get("defaults")) else { return false };
    let mut is_scheme_unused = false;
    for list in ["link", "flow"] {
        // Links of a network have no tables.
        if list == "link" && table.get("network").is_some() {
            continue;
        }
        let Some(ValueKind::Array(elements)) = table.get(list).map(|value| &value.kind) else { continue };
        let keys = table_of(defaults.get(list)).map_or(&[][..], |of| &of.entries).iter().map(|(key, _)| key);
        for key in keys {
            if !is_unused(key, elements, report) {
                continue;
            }
            let name = &key.name;
            let message = format!("this default is not used: each {list} has its own `{name}`");
            let is_argument = is_argument(key.span, report);
            let warning = report.warn("scenario.unused-default", key.span, message);
            if is_argument {
                warning.help(format!("`{list}.NAME.{name}` or `{list}.*.{name}` replaces it"));
            }
            is_scheme_unused |= list == "flow" && name == "scheme";
        }
    }
    is_scheme_unused
}

/// Returns true if each element has a value in place of the default.
fn is_unused(key: &Key, elements: &[Value], report: &Report) -> bool {
    let is_later = |own: &Key| is_argument(own.span, report) && !is_argument(key.span, report);
    let has_own = |element: &Value| {
        let own = table_of(Some(element))
            .and_then(|table| table.entries.iter().find(|(own, _)| own.name == key.name));
        own.is_some_and(|(own, _)| !is_later(own))
    };
    // Lines of access networks are merged key by key.
    key.name != "access" && !elements.is_empty() && elements.iter().all(has_own)
}

fn is_argument(span: Span, report: &Report) -> bool {
    report.source(span.source).is_argument()
}

fn table_of(value: Option<&Value>) -> Option<&Table> {
    match value.map(|value| &value.kind) {
        Some(ValueKind::Table(table)) => Some(table),
        _ => None,
    }
}
