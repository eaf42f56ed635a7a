//! Loads a scenario file with its includes, and merges them.

use super::diagnostic::Report;
use super::parsed_tree::{self, Table, Value, ValueKind};
use super::source_text::{BuiltInFiles, ReadError, Reader, Source, Span};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Maximum total size of a scenario's TOML files, in bytes: parsed values take more than ten times as much.
pub const MAX_TOML_BYTES: u64 = 32 << 20;

/// Maximum depth of nested includes.
const MAX_INCLUDE_DEPTH: usize = 16;

/// Maximum number of files of one scenario.
const MAX_FILES: usize = 256;

/// A loader of scenario files that tracks the origin of each.
#[derive(Debug)]
pub struct Loader {
    /// The base directory of relative file names, for each source of the report.
    pub directories: Vec<PathBuf>,
    files: usize,
    reader: Reader,
}

impl Default for Loader {
    fn default() -> Self {
        Self::with(&[])
    }
}

impl Loader {
    /// Creates a loader with built-in files.
    pub fn with(built_in: BuiltInFiles) -> Self {
        Self {
            directories: Vec::new(),
            files: 0,
            reader: Reader::new(MAX_TOML_BYTES).with_built_in(built_in),
        }
    }

    /// Returns the built-in files.
    pub const fn built_in(&self) -> BuiltInFiles {
        self.reader.built_in()
    }

    /// Reads a file and all its includes. Without an including key, a read error is reported for the file as a whole.
    pub fn load(&mut self, path: &Path, report: &mut Report) -> Table {
        let mut open = Vec::new();
        self.load_from(path, None, &mut open, report)
    }

    /// Reads a text like a file in `directory`.
    pub fn load_text(&mut self, name: &str, text: &str, directory: &Path, report: &mut Report) -> Table {
        let source = self.add(Source::new(name, text), directory, report);
        if text.len() as u64 > MAX_TOML_BYTES {
            too_large(source, report);
            return Table::default();
        }
        let mut open = Vec::new();
        self.merge_includes(source, directory, &mut open, report)
    }

    /// Reads a file that is not a scenario.
    ///
    /// # Errors
    ///
    /// [`ReadError`]; earlier files count against the same limit.
    pub fn text(&mut self, path: &Path) -> Result<String, ReadError> {
        self.reader.read_text(path)
    }

    /// Registers a source with `directory` as the base of its relative file names.
    pub fn add(&mut self, source: Source, directory: &Path, report: &mut Report) -> u32 {
        let id = report.add_source(source);
        self.directories.resize(id as usize + 1, directory.to_owned());
        id
    }

    fn load_from(
        &mut self,
        path: &Path,
        by: Option<Span>,
        open: &mut Vec<PathBuf>,
        report: &mut Report,
    ) -> Table {
        let name = path.display().to_string();
        let directory = path.parent().unwrap_or(Path::new("")).to_owned();
        self.files += 1;
        if self.files > MAX_FILES {
            if self.files == MAX_FILES + 1 {
                let message = format!("a scenario is made of at most {MAX_FILES} files");
                report.error("scenario.include", by.unwrap_or_default(), message);
            }
            return Table::default();
        }
        match self.reader.read_text(path) {
            Ok(text) => {
                let id = self.add(Source::new(name, text), &directory, report);
                // Identify files by their canonical path.
                let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
                if open.contains(&real) || open.len() >= MAX_INCLUDE_DEPTH {
                    let why = if open.contains(&real) { "includes itself" } else { "is included too deep" };
                    let message = format!("`{}` {why}", path.display());
                    report.error("scenario.include", by.unwrap_or(Span::whole(id)), message);
                    return Table::default();
                }
                open.push(real);
                let table = self.merge_includes(id, &directory, open, report);
                open.pop();
                table
            }
            Err(error) => {
                let span = match by {
                    Some(span) => span,
                    None => Span::whole(self.add(Source::new(name, ""), &directory, report)),
                };
                match error {
                    error @ ReadError::TooLarge { .. } => {
                        self.files = MAX_FILES;
                        report
                            .error("scenario.size", span, format!("`{}`: {error}", path.display()))
                            .help("long lists belong in files of their own: `loss.file`, `trace`");
                    }
                    error => {
                        report.error(
                            "scenario.file",
                            span,
                            format!("cannot read `{}`: {error}", path.display()),
                        );
                    }
                }
                Table::default()
            }
        }
    }

    /// Merges the tables of a source over those of its includes.
    fn merge_includes(
        &mut self,
        source: u32,
        directory: &Path,
        open: &mut Vec<PathBuf>,
        report: &mut Report,
    ) -> Table {
        let own = parsed_tree::parse(source, report);
        let mut base = Table::default();
        if let Some(Value { kind: ValueKind::Array(names), .. }) = own.get("include") {
            // Decoding reports elements that are not strings.
            for name in names {
                if let ValueKind::String(file) = &name.kind {
                    let table = self.load_from(&directory.join(file), Some(name.span), open, report);
                    merge_tables(&mut base, table);
                }
            }
        }
        base.entries.retain(|(key, _)| key.name != "include");
        merge_tables(&mut base, own);
        base
    }
}

fn too_large(source: u32, report: &mut Report) {
    let message = format!("the scenario is larger than {} MiB", MAX_TOML_BYTES >> 20);
    report.error("scenario.size", Span::whole(source), message);
}

/// Merges `over` into `base`: tables key by key, lists of tables by concatenation; all other values are replaced.
fn merge_tables(base: &mut Table, over: Table) {
    let places: BTreeMap<String, usize> =
        base.entries.iter().enumerate().map(|(place, (key, _))| (key.name.clone(), place)).collect();
    for (key, value) in over.entries {
        let Some(&place) = places.get(&key.name) else {
            base.entries.push((key, value));
            continue;
        };
        let (old_key, old) = &mut base.entries[place];
        match (&mut old.kind, value.kind) {
            (ValueKind::Table(old_table), ValueKind::Table(table)) => {
                merge_tables(old_table, table);
                old.span = value.span;
            }
            (ValueKind::Array(list), ValueKind::Array(more)) if is_tables(list) && is_tables(&more) => {
                list.extend(more);
            }
            (kind, new) => {
                *kind = new;
                old.span = value.span;
                *old_key = key;
            }
        }
    }
}

fn is_tables(list: &[Value]) -> bool {
    !list.is_empty() && list.iter().all(|value| matches!(value.kind, ValueKind::Table(_)))
}
