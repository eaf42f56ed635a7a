//! Changes from the command line: `--set link.core.rate=50 Mbit/s`.

use super::diagnostic::Report;
use super::included_files::Loader;
use super::parsed_tree::{self, Key, Table, Value, ValueKind};
use super::source_text::{Source, Span};
use std::path::Path;

/// Maximum number of `--set` arguments.
const MAX_SETS: usize = 1000;

/// Returns the name of a change in messages, by its number from 1.
pub fn source_name(number: usize) -> String {
    format!("--set {number}")
}

/// Applies arguments of the form `KEY=VALUE` to a scenario's tables.
///
/// A key is a dotted path of tables and keys. It selects a link or flow by name or by position from 1; `*` selects all
/// of them. The value is TOML, or else text. Messages number the arguments from `first`.
pub fn apply_sets(
    sets: &[String],
    first: usize,
    table: &mut Table,
    directory: &Path,
    loader: &mut Loader,
    report: &mut Report,
) {
    for (number, argument) in (first..).zip(sets) {
        let source = Source::argument(source_name(number), argument.clone());
        let id = loader.add(source, directory, report);
        if number > MAX_SETS {
            report.error("scenario.set", Span::whole(id), format!("there are more than {MAX_SETS} changes"));
            return;
        }
        apply_set(argument, id, table, report);
    }
}

fn apply_set(argument: &str, source: u32, table: &mut Table, report: &mut Report) {
    let Some((path, text)) = argument.split_once('=') else {
        report
            .error("scenario.set", Span::new(source, 0..argument.len()), "expected KEY=VALUE")
            .help("such as link.core.rate=\"50 Mbit/s\"");
        return;
    };
    let offset = path.len() + 1;
    let value = parse_set_value(text, source, offset);
    let mut keys = Vec::new();
    let mut start = 0;
    for part in path.split('.') {
        let lead = part.len() - part.trim_start().len();
        let name = part.trim();
        let span = Span::new(source, start + lead..start + lead + name.len());
        keys.push(Key { name: name.to_owned(), span });
        start += part.len() + 1;
    }
    if let Some(empty) = keys.iter().find(|key| key.name.is_empty()) {
        report.error("scenario.set", empty.span, "a part of the key is empty");
    } else if keys.len() > 16 {
        report.error("scenario.set", keys[16].span, "a key has at most 16 parts");
    } else {
        set_at_path(table, &keys, &value, &LIST_KEYS, report);
    }
}

/// Parses the value of an argument: TOML if valid, text otherwise. Its span is within the argument.
fn parse_set_value(text: &str, source: u32, offset: usize) -> Value {
    let trimmed = text.trim();
    let lead = offset + (text.len() - text.trim_start().len());
    let mut scratch = Report::default();
    let id = scratch.add_source(Source::new("", trimmed));
    match parsed_tree::parse_value(id, &mut scratch) {
        Some(mut value) if !matches!(value.kind, ValueKind::Datetime) && scratch.errors() == 0 => {
            relocate_spans(&mut value, source, lead);
            value
        }
        _ => Value {
            kind: ValueKind::String(trimmed.to_owned()),
            span: Span::new(source, lead..lead + trimmed.len()),
        },
    }
}

/// Shifts spans from the value's own text into the argument.
fn relocate_spans(value: &mut Value, source: u32, lead: usize) {
    let moved = |span: Span| Span::new(source, span.start as usize + lead..span.end as usize + lead);
    value.span = moved(value.span);
    match &mut value.kind {
        ValueKind::Array(items) => items.iter_mut().for_each(|item| relocate_spans(item, source, lead)),
        ValueKind::Table(table) => {
            for (key, value) in &mut table.entries {
                key.span = moved(key.span);
                relocate_spans(value, source, lead);
            }
        }
        _ => {}
    }
}

/// The keys of a scenario that are lists of tables.
const LIST_KEYS: [&str; 3] = ["link", "flow", "failure"];

/// Sets the value at the path `keys`. Creates missing tables, or lists of tables for keys in `lists`. Decoding
/// validates the keys later.
fn set_at_path(table: &mut Table, keys: &[Key], value: &Value, lists: &[&str], report: &mut Report) {
    let Some((key, rest)) = keys.split_first() else { return };
    let place = table.entries.iter().position(|(old, _)| old.name == key.name);
    if rest.is_empty() {
        match place {
            Some(place) => table.entries[place] = (key.clone(), value.clone()),
            None => table.entries.push((key.clone(), value.clone())),
        }
        return;
    }
    let place = place.unwrap_or_else(|| {
        let made = if lists.contains(&key.name.as_str()) {
            ValueKind::Array(Vec::new())
        } else {
            ValueKind::Table(Table::default())
        };
        table.entries.push((key.clone(), Value { kind: made, span: key.span }));
        table.entries.len() - 1
    });
    match &mut table.entries[place].1.kind {
        ValueKind::Table(inner) => set_at_path(inner, rest, value, &[], report),
        ValueKind::Array(items) => put_in_list(items, &key.name, rest, value, report),
        // The table replaces a short form such as `queue = "1 bdp"`.
        other => {
            let mut inner = Table::default();
            set_at_path(&mut inner, rest, value, &[], report);
            *other = ValueKind::Table(inner);
        }
    }
}

fn put_in_list(items: &mut [Value], list: &str, keys: &[Key], value: &Value, report: &mut Report) {
    let Some((which, rest)) = keys.split_first() else { return };
    let names: Vec<String> =
        items.iter().enumerate().map(|(place, item)| item_name(list, place, item)).collect();
    let chosen: Vec<usize> = if which.name == "*" {
        (0..items.len()).collect()
    } else if let Some(place) = names.iter().position(|name| *name == which.name) {
        vec![place]
    } else {
        let index = which.name.parse::<usize>().ok().filter(|&index| index >= 1 && index <= items.len());
        index.map(|index| index - 1).into_iter().collect()
    };
    if chosen.is_empty() {
        let message = format!("there is no {list} `{}`", which.name);
        report
            .error("scenario.set", which.span, message)
            .names(&which.name, names.iter().map(String::as_str));
        return;
    }
    for place in chosen {
        if rest.is_empty() {
            items[place] = value.clone();
        } else if let ValueKind::Table(table) = &mut items[place].kind {
            set_at_path(table, rest, value, &[], report);
        } else {
            report.error("scenario.set", which.span, format!("this {list} is not a table"));
        }
    }
}

/// Returns the name of a list element, or its default name if it has none.
fn item_name(list: &str, place: usize, item: &Value) -> String {
    let ValueKind::Table(table) = &item.kind else { return String::new() };
    if let Some(name) = table.text("name") {
        return name.to_owned();
    }
    if let Some(Value { kind: ValueKind::Array(ends), .. }) = table.get("between")
        && let [Value { kind: ValueKind::String(a), .. }, Value { kind: ValueKind::String(b), .. }] =
            ends.as_slice()
    {
        return format!("{a}-{b}");
    }
    format!("{list}-{}", place + 1)
}
