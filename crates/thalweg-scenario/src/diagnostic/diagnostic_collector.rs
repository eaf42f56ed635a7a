//! The collector of diagnostics while a scenario is parsed.

use super::{Diagnostic, Severity, equivalent_elsewhere, is_known_elsewhere, nearest_name};
use crate::source_text::{Source, Sources, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thalweg_catalog::Registry;

/// Maximum number of stored errors; further ones are only counted.
const MAX_ERRORS: usize = 100;

/// All diagnostics so far, with their source texts.
#[derive(Debug, Default)]
pub struct Report {
    sources: Sources,
    diagnostics: Vec<Diagnostic>,
    errors: usize,
    dropped: usize,
    registry: Arc<Registry>,
    /// Number of warnings beyond those stored, by code.
    alike: BTreeMap<&'static str, usize>,
    /// Units of plain numbers in arguments, by the argument's name.
    units: BTreeMap<String, &'static str>,
}

/// A builder for a diagnostic that is already in the report.
pub struct Draft<'r>(Option<&'r mut Diagnostic>);

impl Draft<'_> {
    /// Sets the label of the position.
    pub fn label(self, label: impl Into<String>) -> Self {
        self.with(|found| found.label = Some(label.into()))
    }

    /// Sets the suggested fix.
    pub fn help(self, help: impl Into<String>) -> Self {
        self.with(|found| found.help = Some(help.into()))
    }

    /// Marks an unknown name, and [suggests](Self::suggest) what was meant.
    pub fn names<'a>(self, name: &str, valid: impl IntoIterator<Item = &'a str>) -> Self {
        self.with(|found| found.is_unknown_name = true).suggest(name, valid)
    }

    /// Suggests the nearest valid name, or else lists the valid names.
    pub fn suggest<'a>(self, name: &str, valid: impl IntoIterator<Item = &'a str>) -> Self {
        if self.0.is_none() {
            return self; // Not stored: skip the search.
        }
        let valid: Vec<&str> = valid.into_iter().collect();
        // Keys are too many to list; names are few enough.
        let is_name = self.0.as_ref().is_some_and(|found| found.code == "scenario.unknown-name");
        if let Some(hint) = equivalent_elsewhere(name).filter(|_| is_name) {
            return self.label(hint.to_owned()).help(format!("valid here: {}", list_names(&valid)));
        }
        let (labelled, shows_all) = match nearest_name(name, valid.iter().copied()) {
            Some(meant) => (self.label(format!("did you mean `{meant}`?")), is_name),
            None if is_name && is_known_elsewhere(name) => {
                (self.label(format!("Thalweg has no `{name}`")), true)
            }
            None => (self, true),
        };
        if shows_all && !valid.is_empty() {
            labelled.help(format!("valid here: {}", list_names(&valid)))
        } else {
            labelled
        }
    }

    fn with(mut self, change: impl FnOnce(&mut Diagnostic)) -> Self {
        if let Some(found) = &mut self.0 {
            change(found);
        }
        self
    }
}

impl Report {
    /// Creates an empty report for a scenario with the schemes and disciplines of `registry`.
    pub fn new(registry: Arc<Registry>) -> Self {
        Self { registry, ..Self::default() }
    }

    /// Returns the available schemes and disciplines.
    pub const fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Registers a source text for later spans.
    pub fn add_source(&mut self, source: Source) -> u32 {
        self.sources.add(source)
    }

    /// Returns the text of number `id`.
    pub fn source(&self, id: u32) -> &Arc<Source> {
        self.sources.get(id)
    }

    /// Notes that the plain number at `span` is in this unit. Only those of arguments are kept.
    pub fn note_unit(&mut self, span: Span, unit: &'static str) {
        let source = self.sources.get(span.source);
        if source.is_argument() {
            self.units.insert(source.name().to_owned(), unit);
        }
    }

    /// Takes the units of plain numbers in arguments, by the argument's name.
    pub fn take_units(&mut self) -> BTreeMap<String, &'static str> {
        core::mem::take(&mut self.units)
    }

    /// Reports an error at `span`.
    pub fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) -> Draft<'_> {
        self.add(Severity::Error, code, span, message.into())
    }

    /// Reports a warning at `span`.
    pub fn warn(&mut self, code: &'static str, span: Span, message: impl Into<String>) -> Draft<'_> {
        self.add(Severity::Warning, code, span, message.into())
    }

    /// Reports a note at `span`.
    pub fn note(&mut self, code: &'static str, span: Span, message: impl Into<String>) -> Draft<'_> {
        self.add(Severity::Note, code, span, message.into())
    }

    fn add(&mut self, severity: Severity, code: &'static str, span: Span, message: String) -> Draft<'_> {
        if severity == Severity::Error {
            self.errors += 1;
        }
        if self.diagnostics.len() >= MAX_ERRORS {
            if severity == Severity::Warning && self.diagnostics.iter().any(|one| one.code == code) {
                *self.alike.entry(code).or_default() += 1;
            } else {
                self.dropped += 1;
            }
            return Draft(None);
        }
        let source = Arc::clone(self.sources.get(span.source));
        let span = span.start as usize..span.end as usize;
        let is_unknown_name = code.starts_with("scenario.unknown-");
        self.diagnostics
            .push(Diagnostic { is_unknown_name, ..Diagnostic::new(severity, code, source, span, message) });
        Draft(self.diagnostics.last_mut())
    }

    /// Returns the source texts, for later diagnostics.
    pub fn into_sources(self) -> Sources {
        self.sources
    }

    /// Returns true if a file is not valid TOML, and its content thus incomplete.
    pub fn has_syntax_errors(&self) -> bool {
        self.diagnostics.iter().any(|one| one.code == "scenario.syntax")
    }

    /// Returns the number of errors found.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Takes the diagnostics since the last call, in order of files and lines.
    pub fn take(&mut self) -> Vec<Diagnostic> {
        let mut found = std::mem::take(&mut self.diagnostics);
        // Errors that result from a syntax error on the same line are redundant.
        let place = |one: &Diagnostic| (one.file().to_owned(), one.line());
        let garbled: BTreeSet<_> =
            found.iter().filter(|one| one.code == "scenario.syntax").map(place).collect();
        found.retain(|one| {
            one.code == "scenario.syntax" || garbled.is_empty() || !garbled.contains(&place(one))
        });
        found.sort_by(|a, b| {
            (a.severity != Severity::Error, a.file(), a.span.start).cmp(&(
                b.severity != Severity::Error,
                b.file(),
                b.span.start,
            ))
        });
        // A property of both directions of a link is reported twice.
        found.dedup_by(|b, a| {
            (a.code, &a.span, &a.message, a.file()) == (b.code, &b.span, &b.message, b.file())
        });
        merge_warnings(&mut found, &std::mem::take(&mut self.alike));
        if self.dropped > 0
            && let Some(last) = found.last_mut()
        {
            last.help = Some(format!("{} more mistakes are not shown", self.dropped));
        }
        (self.errors, self.dropped) = (0, 0);
        found
    }
}

/// Merges warnings of one kind into the first, with their number and the next positions.
fn merge_warnings(found: &mut Vec<Diagnostic>, not_kept: &BTreeMap<&str, usize>) {
    let mut alike: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (position, one) in found.iter().enumerate().filter(|(_, one)| one.severity == Severity::Warning) {
        alike.entry(one.code).or_default().push(position);
    }
    let many: Vec<Vec<usize>> = alike.into_values().filter(|places| places.len() > MAX_ALIKE).collect();
    let mut gone = BTreeSet::new();
    for places in many {
        // Shared defaults have one position.
        let lines: BTreeSet<usize> = places.iter().map(|&at| found[at].line()).collect();
        let lines: Vec<String> = lines.iter().skip(1).take(MAX_ALIKE).map(usize::to_string).collect();
        let first = &mut found[places[0]];
        let count = places.len() - 1 + not_kept.get(first.code).copied().unwrap_or(0);
        let more = match lines.as_slice() {
            [] => format!("{count} more like this"),
            lines => format!("{count} more like this, at lines {}, ...", lines.join(", ")),
        };
        let help = first.help.take().map_or(more.clone(), |help| format!("{help}; {more}"));
        first.help = Some(help);
        gone.extend(places.into_iter().skip(1));
    }
    let mut position = 0;
    found.retain(|_| {
        position += 1;
        !gone.contains(&(position - 1))
    });
}

/// Maximum number of warnings of one kind shown individually.
const MAX_ALIKE: usize = 4;

/// Lists names for a message: all of them if they are few, such as the options of any scheme.
fn list_names(names: &[&str]) -> String {
    const MAX: usize = 60;
    const MAX_LISTED_NAMES: usize = 40;
    let shown = if names.len() > MAX { MAX_LISTED_NAMES } else { names.len() };
    let mut text = names[..shown].iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > shown {
        text.push_str(&format!(" and {} more names", names.len() - shown));
    }
    text
}
