//! The reference of the options of live schemes, generated from their descriptions.

use crate::option_keys::{Environment, Key, Keys, Kind, LiveDifference};
use crate::option_values::Range;
use crate::option_values::Value;
use crate::scheme_description::SchemeDescription;
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
                LiveDifference::Default { value, why } => (format!("`{value}`"), why),
                LiveDifference::Path(how) => ("from the path".to_owned(), how),
                LiveDifference::Same | LiveDifference::Absent(_) | LiveDifference::Only(_) => continue,
            };
            // Print shared keys once, and `segment` once per description.
            if printed.contains(&(key.name, key.about)) {
                continue;
            }
            printed.push((key.name, key.about));
            let is_window_key = WINDOW_KEYS.iter().any(|shared| shared.about == key.about);
            if is_window_key || key.name.contains('.') {
                let simulated = describe_defaults(&window_defaults(key, Environment::Simulated));
                let live = match key.live {
                    LiveDifference::Default { .. } => {
                        describe_defaults(&window_defaults(key, Environment::Live))
                    }
                    _ => live,
                };
                let _ = writeln!(out, "| `{}` | {simulated} | {live} | {why} |", key.name);
                continue;
            }
            let simulated = match description.keys.default_of(key, Environment::Simulated) {
                Some(_) if key.name == "segment" => "of each scheme".to_owned(),
                Some(value) => format!("`{value}`"),
                None => "unset".to_owned(),
            };
            let has_same = |of: &&&SchemeDescription| {
                of.keys.find(key.name).is_some_and(|own| own.about == key.about && own.live == key.live)
            };
            let names: Vec<&str> = SCHEMES.iter().filter(has_same).map(|of| of.name).collect();
            let of = if key.name == "segment" { String::new() } else { format!(" of {}", join(&names)) };
            let _ = writeln!(out, "| `{}`{of} | {simulated} | {live} | {why} |", key.name);
        }
    }
    let _ = writeln!(out, "\n## Window schemes\n\nThe options of every window scheme:\n");
    write_key_rows(
        window::window_keys(&[], &[]),
        WINDOW_KEYS,
        |key| window_defaults(key, Environment::Live),
        &mut out,
    );
    write_presets(&mut out);
    for description in SCHEMES {
        let _ = writeln!(out, "\n## `{}`\n\n{}\n", description.name, description.text());
        let default = |key| vec![(description.name, description.keys.default_of(key, Environment::Live))];
        if description.traits.is_window() {
            write_key_rows(description.keys, description.keys.own_keys, default, &mut out);
            out.push_str("\nAnd the options of every [window scheme](#window-schemes).\n");
        } else {
            let keys: Vec<Key> = description.keys.top().copied().collect();
            write_key_rows(description.keys, &keys, default, &mut out);
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
            let of = if same.len() == with.len() { String::new() } else { format!(" of {}", join(&same)) };
            let cells: Vec<String> = own.iter().map(|text| format!("`{text}`")).collect();
            let _ = writeln!(out, "| `{}`{of} | {} |", key.name, cells.join(" | "));
            printed.push((key.name, own));
        }
    }
}

/// The default of an option under each scheme; `None` if it is derived from something else, or if there is none.
type Defaults = Vec<(&'static str, Option<Value>)>;

/// Returns the default of an option under each window scheme.
fn window_defaults(key: &Key, place: Environment) -> Defaults {
    let schemes = SCHEMES.iter().filter(|of| of.traits.is_window());
    let with = schemes.filter_map(|of| Some((of.name, of.keys.default_of(of.keys.find(key.name)?, place))));
    with.collect()
}

/// Describes the most common default, followed by each other one with its schemes.
fn describe_defaults(defaults: &Defaults) -> String {
    let mut groups: Vec<(Option<Value>, Vec<&str>)> = Vec::new();
    for (name, value) in defaults {
        match groups.iter_mut().find(|(other, _)| other == value) {
            Some((_, names)) => names.push(name),
            None => groups.push((*value, vec![name])),
        }
    }
    groups.sort_by_key(|(_, names)| core::cmp::Reverse(names.len()));
    let describe = |(at, (value, names)): (usize, &(Option<Value>, Vec<&str>))| {
        let value = value.map_or("unset".to_owned(), |value| format!("`{value}`"));
        if at == 0 { value } else { format!("{value} of {}", join(names)) }
    };
    let described: Vec<String> = groups.iter().enumerate().map(describe).collect();
    described.join("; ")
}

/// Joins names as an enumeration in a sentence.
fn join(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

fn write_key_rows(of: Keys, keys: &[Key], defaults: impl Fn(&'static Key) -> Defaults, out: &mut String) {
    out.push_str("| option | default | range | meaning |\n| --- | --- | --- | --- |\n");
    let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
    let is_here = |key: &&Key| names.iter().any(|name| key.name.split('.').next() == Some(name));
    for key in of.flat().filter(|key| key.is_live()).filter(is_here) {
        let defaults = defaults(key);
        let default_text = match key.live {
            _ if defaults.iter().any(|(_, value)| value.is_some()) => describe_defaults(&defaults),
            LiveDifference::Path(how) | LiveDifference::Only(how) => how.to_owned(),
            _ => String::new(),
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
    fn schemes_with_another_default_of_a_window_option_are_named() {
        let text = live_reference();
        for row in [
            "| `counting` | `packets`; `bytes` of bbr and thalweg |",
            "| `timestamps` | unset; `true` of thalweg |",
            "| `delayed-ack.adaptive` | `false` | `true`; `false` of vegas |",
            "| `slow-start-exit` of newreno and cubic | `loss` | `hystart++` |",
        ] {
            assert!(text.contains(row), "{row}");
        }
    }

    #[test]
    fn every_live_option_has_a_line_and_every_difference_a_reason() {
        let text = live_reference();
        for description in SCHEMES {
            for key in description.keys.flat() {
                let line = text.contains(&format!("\n| `{}` | ", key.name));
                assert!(line || !key.is_live(), "{}: {}", description.name, key.name);
                if let LiveDifference::Default { value, why } = key.live {
                    assert!(key.kind.read(value).is_ok() && !why.is_empty(), "{}", key.name);
                }
            }
        }
    }
}
