//! The reference of the options of live schemes, generated from their descriptions.

use crate::option_keys::{Environment, Key, Keys, Kind, Live};
use crate::option_values::Range;
use crate::schemes::SCHEMES;
use crate::schemes::window::{self, WINDOW_KEYS};
use core::fmt::Write as _;

/// Formats all options of live schemes, and the differences of their defaults from simulations, as Markdown.
pub fn live_reference() -> String {
    let mut out = String::from("## Defaults that differ\n\n");
    out.push_str("| option | simulated | live | rule or reason |\n| --- | --- | --- | --- |\n");
    let mut printed = Vec::new();
    for description in SCHEMES {
        for key in description.keys.flat().filter(|key| key.is_live()) {
            let (live, why) = match key.live {
                Live::Default { value, why } => (format!("`{value}`"), why),
                Live::Path(how) => ("from the path".to_owned(), how),
                Live::Same | Live::Absent(_) | Live::Only(_) => continue,
            };
            // Print shared keys once, and `segment` once per description.
            if printed.contains(&(key.name, key.about)) {
                continue;
            }
            printed.push((key.name, key.about));
            let is_shared = WINDOW_KEYS.iter().any(|shared| shared.about == key.about)
                || key.name.contains('.')
                || key.name == "segment";
            let of = if is_shared { String::new() } else { format!(" of {}", description.name) };
            let simulated = match description.keys.default_of(key, Environment::Simulated) {
                Some(_) if key.name == "segment" => "of each scheme".to_owned(),
                Some(value) => format!("`{value}`"),
                None => "unset".to_owned(),
            };
            let _ = writeln!(out, "| `{}`{of} | {simulated} | {live} | {why} |", key.name);
        }
    }
    let _ = writeln!(out, "\n## Window schemes\n\nThe options of every window scheme:\n");
    write_key_rows(window::window_keys(&[], &[]), WINDOW_KEYS, &mut out);
    write_presets(&mut out);
    for description in SCHEMES {
        let _ = writeln!(out, "\n## `{}`\n\n{}\n", description.name, description.text());
        if description.traits.is_window() {
            write_key_rows(description.keys, description.keys.own, &mut out);
            out.push_str("\nAnd the options of every [window scheme](#window-schemes).\n");
        } else {
            let keys: Vec<Key> = description.keys.top().copied().collect();
            write_key_rows(description.keys, &keys, &mut out);
        }
    }
    out
}

/// Prints the values of presets, once for all schemes with the same values.
fn write_presets(out: &mut String) {
    let with: Vec<_> = SCHEMES.iter().filter(|of| !of.keys.presets.is_empty()).collect();
    let Some(first) = with.first() else { return };
    // The preset of a specification is named after its kind.
    let names = (0..first.keys.presets.len()).map(|at| {
        let mut names: Vec<String> = Vec::new();
        for preset in with.iter().filter_map(|of| of.keys.presets.get(at)) {
            let name = format!("`{}`", preset.name);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(" or ")
    });
    let names: Vec<String> = names.collect();
    out.push_str("\n### Presets\n\nThe values of each `preset`, in simulations too. Explicit keys take precedence.\n\n");
    let _ = writeln!(out, "| option | {} |", names.join(" | "));
    let _ = writeln!(out, "| --- | {} |", vec!["---"; names.len()].join(" | "));
    let mut printed: Vec<(&str, Vec<&str>)> = Vec::new();
    for description in &with {
        for key in description.keys.flat() {
            let values = |of: Keys| -> Vec<&'static str> {
                of.presets.iter().map(|preset| preset.text(key.name).unwrap_or_default()).collect()
            };
            let own = values(description.keys);
            if own.iter().all(|text| text.is_empty()) || printed.contains(&(key.name, own.clone())) {
                continue;
            }
            let has = |of: &&&&crate::SchemeDescription| of.keys.find(key.name).is_some();
            let same: Vec<&str> =
                with.iter().filter(has).filter(|of| values(of.keys) == own).map(|of| of.name).collect();
            let of = match same.split_last() {
                _ if same.len() == with.len() => String::new(),
                Some((last, [])) => format!(" of {last}"),
                Some((last, others)) => format!(" of {} and {last}", others.join(", ")),
                None => continue,
            };
            let cells: Vec<String> = own.iter().map(|text| format!("`{text}`")).collect();
            let _ = writeln!(out, "| `{}`{of} | {} |", key.name, cells.join(" | "));
            printed.push((key.name, own));
        }
    }
}

fn write_key_rows(of: Keys, keys: &[Key], out: &mut String) {
    out.push_str("| option | default | range | meaning |\n| --- | --- | --- | --- |\n");
    let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
    let is_here = |key: &&Key| names.iter().any(|name| key.name.split('.').next() == Some(name));
    for key in of.flat().filter(|key| key.is_live()).filter(is_here) {
        let default_text = match (key.live, of.default_of(key, Environment::Live)) {
            (_, Some(value)) => format!("`{value}`"),
            (Live::Path(how) | Live::Only(how), None) => how.to_owned(),
            (_, None) => String::new(),
        };
        let row = [format!("`{}`", key.name), default_text, describe_range(key), key.about.to_owned()];
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
}

/// Describes the values that an option accepts.
fn describe_range(key: &Key) -> String {
    let like = match key.kind {
        Kind::Word(words) => {
            return words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        }
        Kind::Switch | Kind::Table(_) => return "`true`, `false`".to_owned(),
        _ => key.kind.read("0").or_else(|_| key.kind.read("0 seg")),
    };
    let Ok(like) = like else { return String::new() };
    let ranges: Vec<String> = [key.range, key.peer]
        .iter()
        .filter(|range| **range != Range::ANY)
        .map(|range| key.kind.range_in_words(range, &like))
        .collect();
    ranges.last().map_or_else(String::new, |range| {
        range.trim_start_matches("must be ").trim_start_matches("must lie ").to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_live_option_has_a_line_and_every_difference_a_reason() {
        let text = live_reference();
        for description in SCHEMES {
            for key in description.keys.flat() {
                let line = text.contains(&format!("\n| `{}` | ", key.name));
                assert!(line || !key.is_live(), "{}: {}", description.name, key.name);
                if let Live::Default { value, why } = key.live {
                    assert!(key.kind.read(value).is_ok() && !why.is_empty(), "{}", key.name);
                }
            }
        }
    }
}
