//! The reference of all keys of a scenario file, generated from the descriptions of its tables.

use super::file_schema::all_tables;
use super::keys::Common;
use super::schema_definitions::{Field, TableDoc, join_lines};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Formats all tables with their keys as Markdown.
pub fn keys_reference() -> String {
    let mut out = String::new();
    let mut shown = BTreeSet::new();
    let shared = Common::fields();
    for table in all_tables() {
        // Print a table that is also used on its own only once.
        if !shown.insert(table.name.clone()) {
            continue;
        }
        let own = table.fields.len().saturating_sub(shared.len());
        let is_window =
            shared.iter().map(|field| field.key).eq(table.fields[own..].iter().map(|field| field.key));
        // Print the keys shared by all window schemes once, before the first of them.
        if is_window && shown.insert(Common::NAME.to_owned()) {
            let _ = writeln!(out, "## {}\n\n{}\n", Common::NAME, join_lines(Common::ABOUT));
            write_key_rows(&shared, &mut out);
        }
        let _ = writeln!(out, "## {}\n\n{}\n", table_heading(&table), join_lines(&table.about));
        write_key_rows(if is_window { &table.fields[..own] } else { &table.fields }, &mut out);
        if is_window {
            out.push_str("And the keys of every [window scheme](#window-scheme).\n\n");
        }
    }
    out
}

fn write_key_rows(fields: &[Field], out: &mut String) {
    if fields.is_empty() {
        return;
    }
    out.push_str("| key | value | default | meaning |\n| --- | --- | --- | --- |\n");
    for field in fields {
        let default = match &field.default {
            Some(default) => format!("`{default}`"),
            None if field.required => "required".to_owned(),
            None => String::new(),
        };
        let row = [format!("`{}`", field.key), field.expected(), default, join_lines(field.about)];
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    out.push('\n');
}

fn table_heading(table: &TableDoc) -> String {
    match &table.tag {
        Some((tag, value)) => format!("{} (`{tag} = \"{value}\"`)", table.name),
        None => table.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_row_in_the_reference() {
        let text = keys_reference();
        for table in all_tables() {
            for field in &table.fields {
                assert!(text.contains(&format!("| `{}` | ", field.key)), "{} {}", table.name, field.key);
            }
        }
    }
}
