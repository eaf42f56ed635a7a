//! Parser of the varied keys of a sweep, and of the values or ranges of each.

use super::{PlacedText, byte_range};
use crate::diagnostic::Report;
use crate::parsed_tree::{Key, Table, Value, ValueKind};
use crate::source_text::{Source, Span};

/// Maximum number of random points of a table.
const MAX_POINTS: u32 = 1_000_000;

/// The sampling method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SamplingMethod {
    /// Every combination.
    Grid,
    /// Independent random points.
    Random,
    /// Latin-hypercube sampling: stratified over every key's range.
    LatinHypercube,
}

/// Keys that are varied together.
#[derive(Clone, Debug)]
pub enum Varied {
    /// Every combination of the values of these keys.
    Grid(Vec<ListedKey>),
    /// Explicit rows of values.
    List(List),
    /// Random points.
    Drawn(DrawnPoints),
}

/// A key with the list of its values.
#[derive(Clone, Debug)]
pub struct ListedKey {
    /// The key.
    pub key: PlacedText,
    /// The values, as written in the file.
    pub values: Vec<PlacedText>,
}

/// Explicit points: a row has one value for each key.
#[derive(Clone, Debug)]
pub struct List {
    /// The keys, in the order of the first row.
    pub keys: Vec<PlacedText>,
    /// The values of each row, in the order of the keys.
    pub rows: Vec<Vec<PlacedText>>,
}

/// Randomly drawn points.
#[derive(Clone, Debug)]
pub struct DrawnPoints {
    /// The number of points.
    pub points: u32,
    /// The seed of the draws.
    pub seed: u64,
    /// Latin-hypercube sampling.
    pub is_latin: bool,
    /// The keys, with the sets that their values are drawn from.
    pub values: Vec<(PlacedText, Values)>,
}

/// The set that a key's values are drawn from.
#[derive(Clone, Debug)]
pub enum Values {
    /// A list of values.
    OneOf(Vec<PlacedText>),
    /// A range.
    Range(Range),
}

/// A range with the resolution of its written bounds: integers between integers, hundredths between hundredths.
#[derive(Clone, Debug)]
pub struct Range {
    /// The lower bound.
    pub from: f64,
    /// The upper bound.
    pub to: f64,
    /// The unit of both; empty for bare numbers.
    pub unit: String,
    /// The number of decimal places.
    pub decimals: usize,
    /// Logarithmic scale: equal ratios instead of equal differences are equally likely.
    pub is_logarithmic: bool,
    /// The bytes of the range in the source.
    pub place: core::ops::Range<usize>,
}

impl Range {
    /// Formats the value at a share of the range, from 0 to 1, in TOML.
    pub fn at(&self, share: f64) -> String {
        let value = if self.is_logarithmic {
            // `libm` gives the same digits on every machine.
            let ratio = libm::log(self.to / self.from);
            self.from * libm::exp(share * ratio)
        } else {
            self.from + share * (self.to - self.from)
        };
        let number = format!("{:.*}", self.decimals, value.clamp(self.from, self.to));
        if self.unit.is_empty() { number } else { format!("\"{number} {}\"", self.unit) }
    }
}

/// Parses a table of keys sampled by `method`.
pub(super) fn parse_sampled(
    method: SamplingMethod,
    table: &Table,
    span: Span,
    source: &Source,
    report: &mut Report,
) -> Option<Varied> {
    let is_drawn = method != SamplingMethod::Grid;
    let is_setting = |key: &Key| is_drawn && (key.name == "points" || key.name == "seed");
    let leaves = leaf_values(table, is_setting, source);
    if method == SamplingMethod::Grid {
        let grid = leaves.into_iter().filter_map(|(key, value)| listed_key(key, value, source, report));
        return Some(Varied::Grid(grid.collect()));
    }
    let number = |name: &str| table.entries.iter().find(|(key, _)| key.name == name).map(|(_, value)| value);
    let points = match number("points") {
        Some(value) => parse_integer(value, 1, u64::from(MAX_POINTS), report),
        None => {
            report
                .error("sweep.value", span, "it needs `points`")
                .help("set the number of points, such as points = 100");
            None
        }
    };
    let seed = number("seed").map_or(Some(1), |value| parse_integer(value, 0, u64::MAX, report));
    let mut values = Vec::new();
    for (key, value) in leaves {
        let drawn = match &value.kind {
            ValueKind::Array(_) => {
                listed_key(key.clone(), value, source, report).map(|of| Values::OneOf(of.values))
            }
            ValueKind::Table(of) => parse_range(of, value.span, report).map(Values::Range),
            _ => {
                report
                    .error(
                        "sweep.value",
                        value.span,
                        format!("expected a range or a list, found {}", value.kind.name()),
                    )
                    .help("such as { from = \"10 ms\", to = \"100 ms\" } or [\"10 ms\", \"100 ms\"]");
                None
            }
        };
        values.extend(drawn.map(|drawn| (key, drawn)));
    }
    let points = u32::try_from(points?).ok()?;
    Some(Varied::Drawn(DrawnPoints {
        points,
        seed: seed?,
        is_latin: method == SamplingMethod::LatinHypercube,
        values,
    }))
}

/// Parses the rows of `list`; all rows must have the same keys.
pub(super) fn parse_rows(rows: &[(&Table, Span)], source: &Source, report: &mut Report) -> Option<Varied> {
    let mut keys: Vec<PlacedText> = Vec::new();
    let mut listed = Vec::new();
    for (position, (table, span)) in rows.iter().enumerate() {
        let leaves = leaf_values(table, |_| false, source);
        if position == 0 {
            keys = leaves.iter().map(|(key, _)| key.clone()).collect();
        }
        for (key, _) in leaves.iter().filter(|(key, _)| keys.iter().all(|other| other.text != key.text)) {
            let message = format!("the first row of `list` has no `{}`", key.text);
            report
                .error("sweep.value", Span::new(span.source, key.place.clone()), message)
                .help("all rows have the same keys");
        }
        let mut row = Vec::new();
        for key in &keys {
            match leaves.iter().find(|(other, _)| other.text == key.text) {
                Some((_, value)) => row.push(raw_text(value, source)),
                None => {
                    let message = format!("this row of `list` has no `{}`", key.text);
                    report.error("sweep.value", *span, message).help("all rows have the same keys");
                }
            }
        }
        listed.push(row);
    }
    Some(Varied::List(List { keys, rows: listed }))
}

/// Reports keys that are varied more than once, the seed, as that of the sweep holds for all points, and schemes of groups
/// that `schemes` replaces: of the groups in `flows`, or of all if it is empty.
pub(super) fn check_keys(
    varied: &[Varied],
    [schemes, flows]: [&[PlacedText]; 2],
    id: u32,
    report: &mut Report,
) {
    let keys = |of: &Varied| -> Vec<PlacedText> {
        match of {
            Varied::Grid(grid) => grid.iter().map(|of| of.key.clone()).collect(),
            Varied::List(list) => list.keys.clone(),
            Varied::Drawn(drawn) => drawn.values.iter().map(|(key, _)| key.clone()).collect(),
        }
    };
    let mut all: Vec<PlacedText> = varied.iter().flat_map(keys).collect();
    all.sort_by_key(|key| key.place.start);
    for (position, key) in all.iter().enumerate() {
        if key.text == "seed" {
            report
                .error("sweep.value", Span::new(id, key.place.clone()), "the seed is the same for all points")
                .help(
                    "`seed = 1` above the tables is the first one, and `reps` or `until` the number of them",
                );
        }
        let group = key.text.strip_prefix("flow.").and_then(|rest| rest.strip_suffix(".scheme"));
        if group.is_some_and(|group| flows.is_empty() || flows.iter().any(|of| of.text == group))
            && !schemes.is_empty()
        {
            report
                .error(
                    "sweep.value",
                    Span::new(id, key.place.clone()),
                    format!("`schemes` replaces `{}` at each point", key.text),
                )
                .help(
                    "leave one of them out, or name other groups in `flows`, to which `schemes` then applies",
                );
        }
        if all[..position].iter().any(|other| other.text == key.text) {
            report.error(
                "sweep.value",
                Span::new(id, key.place.clone()),
                format!("`{}` is varied twice", key.text),
            );
        }
    }
}

/// Returns the keys of a table with their values, in file order.
fn leaf_values<'v>(
    table: &'v Table,
    is_setting: impl Fn(&Key) -> bool,
    source: &Source,
) -> Vec<(PlacedText, &'v Value)> {
    let mut leaves = Vec::new();
    for (key, value) in table.entries.iter().filter(|(key, _)| !is_setting(key)) {
        gather_leaves(&[key], value, source, &mut leaves);
    }
    leaves.sort_by_key(|(key, _)| key.place.start);
    leaves
}

/// Collects the values below a key: dotted keys and nested tables are equivalent.
fn gather_leaves<'v>(
    keys: &[&Key],
    value: &'v Value,
    source: &Source,
    leaves: &mut Vec<(PlacedText, &'v Value)>,
) {
    match &value.kind {
        ValueKind::Table(table) if !is_range(table) && !table.entries.is_empty() => {
            for (key, value) in &table.entries {
                gather_leaves(&[keys, &[key]].concat(), value, source, leaves);
            }
        }
        _ => {
            let text = keys.iter().map(|key| key.name.as_str()).collect::<Vec<_>>().join(".");
            let last = keys.last().map_or(0..0, |key| byte_range(key.span));
            // A key written in several parts is reported at the last one.
            let whole = last.end.saturating_sub(text.len())..last.end;
            let is_exact = source.text().get(whole.clone()).is_some_and(|written| written == text);
            let place = if is_exact { whole } else { last };
            leaves.push((PlacedText { text, place }, value));
        }
    }
}

/// Returns true for a range: `from` and `to` with single values. Flows have these keys too, with lists as values.
fn is_range(table: &Table) -> bool {
    table.get("from").is_some_and(|from| !matches!(from.kind, ValueKind::Array(_) | ValueKind::Table(_)))
        && table.get("to").is_some()
}

/// Returns the text of a value as written, with its position.
fn raw_text(value: &Value, source: &Source) -> PlacedText {
    let place = byte_range(value.span);
    PlacedText { text: source.text().get(place.clone()).unwrap_or_default().to_owned(), place }
}

fn listed_key(key: PlacedText, value: &Value, source: &Source, report: &mut Report) -> Option<ListedKey> {
    let ValueKind::Array(items) = &value.kind else {
        let message = format!("expected a list of values, found {}", value.kind.name());
        report.error("sweep.value", value.span, message).help("such as [\"10 Mbit/s\", \"100 Mbit/s\"]");
        return None;
    };
    if items.is_empty() {
        report.error("sweep.value", value.span, format!("`{}` has no value", key.text));
        return None;
    }
    let values: Vec<PlacedText> = items.iter().map(|item| raw_text(item, source)).collect();
    for (position, one) in values.iter().enumerate() {
        if values[..position].iter().any(|other| other.text == one.text) {
            let span = Span::new(value.span.source, one.place.clone());
            report.error("sweep.value", span, format!("{} is repeated", one.text));
            return None;
        }
    }
    Some(ListedKey { key, values })
}

/// Parses an integer from `min` to `max`.
fn parse_integer(value: &Value, min: u64, max: u64, report: &mut Report) -> Option<u64> {
    let number = match &value.kind {
        ValueKind::Integer(digits) => {
            digits.parse::<u64>().ok().filter(|number| (min..=max).contains(number))
        }
        _ => None,
    };
    if number.is_none() {
        report.error("sweep.value", value.span, format!("expected a whole number from {min} to {max}"));
    }
    number
}

fn parse_range(table: &Table, span: Span, report: &mut Report) -> Option<Range> {
    let (mut ends, mut is_logarithmic) = ([None, None], false);
    for (key, value) in &table.entries {
        match key.name.as_str() {
            "from" => ends[0] = parse_number_and_unit(value, report),
            "to" => ends[1] = parse_number_and_unit(value, report),
            "scale" => match &value.kind {
                ValueKind::String(text) if text == "log" => is_logarithmic = true,
                ValueKind::String(text) if text == "linear" => {}
                ValueKind::String(text) => {
                    let message = format!("there is no scale `{text}`");
                    report.error("sweep.value", value.span, message).names(text, ["linear", "log"]);
                }
                _ => {
                    report.error("sweep.value", value.span, "expected \"linear\" or \"log\"");
                }
            },
            name => {
                let message = format!("a range has no key `{name}`");
                report.error("scenario.unknown-key", key.span, message).names(name, ["from", "to", "scale"]);
            }
        }
    }
    let [Some((from, from_decimals, unit)), Some((to, to_decimals, other))] = ends else { return None };
    if unit != other {
        report
            .error("sweep.value", span, format!("`{unit}` and `{other}`: both ends of a range have one unit"))
            .help("write both in the same unit; values are as fine as they are written, so \"1.00 ms\" gives hundredths");
        return None;
    }
    if from >= to {
        report.error("sweep.value", span, "`from` is not below `to`");
        return None;
    }
    if is_logarithmic && from <= 0.0 {
        report.error("sweep.value", span, "a logarithmic range begins above 0");
        return None;
    }
    let decimals = from_decimals.max(to_decimals);
    Some(Range { from, to, unit, decimals, is_logarithmic, place: byte_range(span) })
}

/// Parses a number with its decimal places and its unit, from a value such as `"12.5 ms"` or `3`.
fn parse_number_and_unit(value: &Value, report: &mut Report) -> Option<(f64, usize, String)> {
    let text = match &value.kind {
        ValueKind::String(text) | ValueKind::Integer(text) | ValueKind::Float(text) => text.trim(),
        _ => "",
    };
    let end = text.find(|c: char| !(c.is_ascii_digit() || ".-+".contains(c))).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let decimals = number.split_once('.').map_or(0, |(_, digits)| digits.len());
    match number.parse::<f64>().ok().filter(|number| number.is_finite() && decimals <= 15) {
        Some(number) => Some((number, decimals, unit.trim().to_owned())),
        None => {
            report.error("sweep.value", value.span, "expected a number, with its unit where it has one");
            None
        }
    }
}
