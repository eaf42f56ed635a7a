//! Sweep files: a scenario, and the keys to vary in it.
//!
//! [`read_sweep`] reads a file and reports all errors at once. A varied key is a `--set` key. Its values are kept as
//! written in the file, to report errors of the resulting scenario at their positions ([`SweepFile::placed`]).

mod varied_keys;

pub use varied_keys::{DrawnPoints, List, ListedKey, Range, SamplingMethod, Values, Varied};

use super::built_in_scenarios::BUILT_IN;
use super::diagnostic::{Diagnostic, Report, Severity};
use super::included_files::MAX_TOML_BYTES;
use super::parsed_tree::{self, Table, Value, ValueKind};
use super::source_text::{Reader, Source, Span};
use super::table_declarations::{Decode, Spanned, table, wrong_type};
use std::path::Path;
use std::sync::Arc;

/// Maximum number of replications of a run; each takes memory.
pub const MAX_REPS: u32 = 100_000;

table! {
    /// A sweep: a scenario, and the keys to vary in it.
    Keys "sweep" {
        /// The scenario: a file, relative to the directory of this file, or the name of a built-in scenario.
        scenario: String = "scenario" (required);
        /// Changes for all points, in the form of `--set`.
        set: Vec<Spanned<String>> = "set";
        /// Schemes to compare, as in `compare`: each in turn replaces the scheme of all flows of reliable transports.
        schemes: Vec<Spanned<String>> = "schemes";
        /// The groups of flows that `schemes` apply to and that tables report, by name; tables also show the result of
        /// the other groups. By default `schemes` apply to all flows of reliable transports, and tables report all
        /// flows or, if only keys of one group are varied, that group.
        flows: Vec<Spanned<String>> = "flows";
        /// The first seed of every point; by default the scenario's.
        seed: u64 = "seed";
        /// The number of replications per point, with the seeds SEED, SEED + 1, ..., the same for all points.
        reps: u32 = "reps";
        /// A stopping rule: runs each point until the 95 % confidence interval of a metric is this narrow, as a share
        /// of its mean ("goodput 2 %").
        until: String = "until";
        /// The maximum number of replications per point with `until`.
        max_reps: u32 = "max-reps";
        /// A full grid: every combination of these values.
        grid: Tree = "grid";
        /// A list of explicit points.
        list: Vec<Spanned<Tree>> = "list";
        /// Independent random points.
        random: Tree = "random";
        /// Latin-hypercube sampling: random points; the range of each key is divided into as many equal intervals as
        /// there are points, and each interval is sampled once.
        latin: Tree = "latin-hypercube";
    }
}

/// A table with arbitrary keys.
#[derive(Clone, Debug, Default)]
pub struct Tree(Table);

impl Decode for Tree {
    fn expected() -> String {
        "a table".to_owned()
    }

    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            ValueKind::Table(table) => Some(Self(table.clone())),
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }

    fn schema(_definitions: &mut super::schema_definitions::Definitions) -> serde_json::Value {
        serde_json::json!({ "type": "object" })
    }
}

/// A text of a sweep file with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedText {
    /// The text.
    pub text: String,
    /// The byte range in the file.
    pub place: core::ops::Range<usize>,
}

/// A parsed sweep file.
#[derive(Clone, Debug)]
pub struct SweepFile {
    /// The file.
    pub source: Arc<Source>,
    /// The scenario file, or the name of a built-in scenario.
    pub scenario: PlacedText,
    /// Changes for all points.
    pub sets: Vec<PlacedText>,
    /// The schemes to compare at each point; empty to keep the scenario's schemes.
    pub schemes: Vec<PlacedText>,
    /// The groups of flows that the schemes apply to and that tables report; empty for all flows of reliable
    /// transports.
    pub flows: Vec<PlacedText>,
    /// The first seed of every point; by default the scenario's.
    pub seed: Option<u64>,
    /// The number of runs per point, if set.
    pub replications: Option<u32>,
    /// The stopping rule: a metric and the width of its confidence interval.
    pub until: Option<PlacedText>,
    /// The maximum number of runs per point with a stopping rule.
    pub max_replications: Option<u32>,
    /// The varied keys: points are every combination of these entries.
    pub varied: Vec<Varied>,
}

impl SweepFile {
    /// Returns an error diagnostic for a byte range of the file.
    pub fn error(&self, place: core::ops::Range<usize>, message: String, help: Option<String>) -> Diagnostic {
        let source = Arc::clone(&self.source);
        Diagnostic { help, ..Diagnostic::new(Severity::Error, "sweep.value", source, place, message) }
    }

    /// Moves a diagnostic of the change `key=value` to its position in the file; `key` and `value` are the texts with
    /// their positions.
    #[must_use]
    pub fn placed(&self, found: &Diagnostic, key: &PlacedText, value: &PlacedText) -> Diagnostic {
        let before = key.text.len() + 1;
        let is_written = self.source.text().get(key.place.clone()) == Some(key.text.as_str());
        let place = if found.span.end < before && is_written {
            key.place.start + found.span.start..key.place.start + found.span.end
        } else if found.span.start < before {
            key.place.clone()
        } else {
            let within = |at: usize| (value.place.start + at - before).min(value.place.end);
            within(found.span.start)..within(found.span.end.max(before))
        };
        Diagnostic { source: Arc::clone(&self.source), span: place, ..found.clone() }
    }
}

/// Reads the sweep file at `path`.
///
/// # Errors
/// All errors in the file.
pub fn read_sweep(path: &Path) -> Result<SweepFile, Vec<Diagnostic>> {
    let name = path.display().to_string();
    match Reader::new(MAX_TOML_BYTES).read_text(path) {
        Ok(text) => read_sweep_text(&name, &text),
        Err(error) => {
            let mut report = Report::default();
            let source = report.add_source(Source::new(name.as_str(), ""));
            let message = format!("`{name}` cannot be read: {error}");
            let draft = report.error("sweep.file", Span::whole(source), message);
            if BUILT_IN.iter().any(|one| one.name == name) {
                draft.help(format!(
                    "`{name}` is a built-in scenario; a sweep is a file with `scenario = \"{name}\"` and the values to vary in [grid]"
                ));
            }
            Err(report.take())
        }
    }
}

/// Parses a sweep from a text; `name` identifies it in messages.
///
/// # Errors
/// All errors in the text.
pub fn read_sweep_text(name: &str, text: &str) -> Result<SweepFile, Vec<Diagnostic>> {
    let mut report = Report::default();
    let id = report.add_source(Source::new(name, text));
    let source = Arc::clone(report.source(id));
    let table = parsed_tree::parse(id, &mut report);
    let value = Value { kind: ValueKind::Table(table), span: Span::whole(id) };
    let Some(keys) = Keys::decode(&value, &mut report) else { return Err(report.take()) };
    if report.has_syntax_errors() {
        return Err(report.take());
    }
    if let (Some(reps), Some(_)) = (&keys.reps, &keys.until) {
        report
            .error("sweep.value", reps.span, "`reps` and `until` are mutually exclusive")
            .help("set one of them");
    }
    if let (Some(max), None) = (&keys.max_reps, &keys.until) {
        report
            .error("sweep.value", max.span, "`max-reps` is for `until`")
            .help("`reps` is a fixed number of runs");
    }
    for count in [&keys.reps, &keys.max_reps].into_iter().flatten() {
        if count.value == 0 {
            report.error("sweep.value", count.span, "the number of replications must be at least 1");
        } else if count.value > MAX_REPS {
            report.error("sweep.value", count.span, format!("at most {MAX_REPS} replications are possible"));
        }
    }
    let placed = |span: Span, text: &str| PlacedText { text: text.to_owned(), place: byte_range(span) };
    let texts = |list: &Option<Spanned<Vec<Spanned<String>>>>| -> Vec<PlacedText> {
        list.iter().flat_map(|list| &list.value).map(|of| placed(of.span, &of.value)).collect()
    };
    let mut varied = Vec::new();
    let trees = [
        (SamplingMethod::Grid, &keys.grid),
        (SamplingMethod::Random, &keys.random),
        (SamplingMethod::LatinHypercube, &keys.latin),
    ];
    for (method, tree) in trees {
        if let Some(tree) = tree {
            varied.extend(varied_keys::parse_sampled(method, &tree.value.0, tree.span, &source, &mut report));
        }
    }
    if let Some(rows) = &keys.list {
        let rows: Vec<(&Table, Span)> = rows.value.iter().map(|row| (&row.value.0, row.span)).collect();
        varied.extend(varied_keys::parse_rows(&rows, &source, &mut report));
    }
    let (schemes, flows) = (texts(&keys.schemes), texts(&keys.flows));
    varied_keys::check_keys(&varied, [&schemes, &flows], id, &mut report);
    for (position, scheme) in schemes.iter().enumerate() {
        if schemes[..position].iter().any(|other| other.text == scheme.text) {
            let message = format!("the scheme `{}` is given twice", scheme.text);
            report.error("sweep.value", Span::new(id, scheme.place.clone()), message);
        }
    }
    if report.errors() > 0 {
        return Err(report.take());
    }
    let Some(scenario) = keys.scenario else { return Err(report.take()) };
    Ok(SweepFile {
        source,
        scenario: placed(scenario.span, &scenario.value),
        sets: texts(&keys.set),
        schemes,
        flows,
        seed: keys.seed.map(|seed| seed.value),
        replications: keys.reps.map(|reps| reps.value),
        until: keys.until.map(|until| placed(until.span, &until.value)),
        max_replications: keys.max_reps.map(|max| max.value),
        varied,
    })
}

fn byte_range(span: Span) -> core::ops::Range<usize> {
    span.start as usize..span.end as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = r#"
scenario = "dumbbell"
set = ["duration=2 s"]
schemes = ["cubic", "vegas"]
until = "goodput 2 %"
max-reps = 30

[grid]
link.core.rate = ["10 Mbit/s", "100 Mbit/s"]
"flow.1.count" = [1, 2]

[latin-hypercube]
points = 5
seed = 7
link.core.delay = { from = "1.0 ms", to = "100.0 ms", scale = "log" }
link.core.queue = ["1 bdp", "2 bdp"]

[[list]]
"flow.1.start" = "0 s"
warmup = "1 s"
[[list]]
"flow.1.start" = "1 s"
warmup = "0 s"
"#;

    #[test]
    fn a_sweep_file_defines_the_varied_keys() {
        let sweep = read_sweep_text("s.toml", EXAMPLE).unwrap();
        assert_eq!((sweep.scenario.text.as_str(), sweep.max_replications), ("dumbbell", Some(30)));
        let [Varied::Grid(grid), Varied::Drawn(drawn), Varied::List(list)] = sweep.varied.as_slice() else {
            panic!("{:?}", sweep.varied)
        };
        let names: Vec<&str> = grid.iter().map(|of| of.key.text.as_str()).collect();
        assert_eq!(names, ["link.core.rate", "flow.1.count"]);
        assert_eq!(grid[0].values[1].text, "\"100 Mbit/s\"");
        assert_eq!(&sweep.source.text()[grid[0].values[1].place.clone()], "\"100 Mbit/s\"");
        assert_eq!((drawn.points, drawn.seed, drawn.is_latin), (5, 7, true));
        let Values::Range(range) = &drawn.values[0].1 else { panic!() };
        assert_eq!((range.from, range.to, range.decimals), (1.0, 100.0, 1));
        assert!(range.is_logarithmic && range.unit == "ms");
        assert_eq!(range.at(0.5), "\"10.0 ms\"");
        assert_eq!(
            list.keys.iter().map(|key| key.text.as_str()).collect::<Vec<_>>(),
            ["flow.1.start", "warmup"]
        );
        assert_eq!(list.rows[1][0].text, "\"1 s\"");
    }

    /// Returns the first message about a text, with its line.
    fn complaint(text: &str) -> (usize, String) {
        let found = read_sweep_text("s.toml", text).unwrap_err();
        (found[0].line(), found[0].message.clone())
    }

    #[test]
    fn errors_are_reported_with_their_lines() {
        for (text, line, expected) in [
            ("set = []", 1, "needs `scenario`"),
            ("scenario = \"x\"\ngird = 1", 2, "no key `gird`"),
            ("scenario = \"x\"\n[grid]\nrate = 5", 3, "expected a list of values"),
            ("scenario = \"x\"\n[grid]\nrate = []", 3, "has no value"),
            ("scenario = \"x\"\n[grid]\nrate = [1, 1]", 3, "repeated"),
            ("scenario = \"x\"\n[random]\na = [1]", 2, "needs `points`"),
            ("scenario = \"x\"\n[random]\npoints = 2\na = { from = \"1 ms\", to = \"1 s\" }", 4, "one unit"),
            ("scenario = \"x\"\n[random]\npoints = 2\na = { from = 3, to = 1 }", 4, "not below"),
            (
                "scenario = \"x\"\n[random]\npoints = 2\na = { from = 0, to = 1, scale = \"log\" }",
                4,
                "above 0",
            ),
            ("scenario = \"x\"\n[random]\npoints = 2\na = { from = 0, to = 1, scale = \"lin\" }", 4, "`lin`"),
            ("scenario = \"x\"\n[random]\npoints = 2\na = 1", 4, "expected a range"),
            ("scenario = \"x\"\n[grid]\na = [1]\n[random]\npoints = 1\na = [2]", 6, "varied twice"),
            ("scenario = \"x\"\n[[list]]\na = 1\n[[list]]\nb = 1", 4, "has no `a`"),
            ("scenario = \"x\"\n[grid]\nseed = [1, 10]", 3, "the seed is the same for all points"),
            ("scenario = \"x\"\nschemes = [\"a\", \"a\"]", 2, "given twice"),
            (
                "scenario = \"x\"\nschemes = [\"a\"]\n[grid]\nflow.f.scheme = [\"b\"]",
                4,
                "`schemes` replaces `flow.f.scheme`",
            ),
            (
                "scenario = \"x\"\nschemes = [\"a\"]\nflows = [\"f\"]\n[grid]\nflow.f.scheme = [\"b\"]",
                5,
                "`schemes` replaces `flow.f.scheme`",
            ),
            ("scenario = \"x\"\nreps = 0", 2, "at least 1"),
            ("scenario = \"x\"\nreps = 4000000000", 2, "at most"),
            ("scenario = \"x\"\nreps = 2\nuntil = \"goodput 2 %\"", 2, "mutually exclusive"),
        ] {
            let (at, message) = complaint(text);
            assert!(message.contains(expected) && at == line, "{text}: line {at}: {message}");
        }
    }
}
