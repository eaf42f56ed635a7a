//! Scenario files: a network and its traffic in TOML.
//!
//! [`load`] reads a file into a [`Scenario`], which holds what the simulator runs, and reports all mistakes at once,
//! each with its place ([`Diagnostic`]). [`schema`] describes the format for editors, [`reference()`] for people.

pub mod diagnostic;
mod expand;
mod include;
mod keys;
mod path;
mod quantity;
mod resolve;
pub mod route;
mod schema;
mod set;
pub mod source;
mod table;
mod tree;

pub use diagnostic::{Diagnostic, Severity};
pub use path::{GroupPath, Paths};
pub use resolve::{GroupOrigin, LinkOrigin, Origins};
pub use schema::schema;

use diagnostic::Report;
use include::Loader;
use source::Span;
use std::path::Path;
use table::Decode as _;
use thalweg_sim::spec::Spec;

/// A scenario that has been read.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What is shown above results.
    pub title: String,
    /// What it is about.
    pub description: String,
    /// What is simulated.
    pub spec: Spec,
}

/// A scenario that can run, and what there is to say about it.
#[derive(Debug)]
pub struct Loaded {
    /// The scenario.
    pub scenario: Scenario,
    /// Warnings, in order of the file.
    pub warnings: Vec<Diagnostic>,
    origins: Origins,
}

/// Reads the scenario file at `path`, changed by `sets` (each `KEY=VALUE`).
///
/// # Errors
/// All that is wrong with it, with what there is to warn of.
pub fn load(path: &Path, sets: &[String]) -> Result<Loaded, Vec<Diagnostic>> {
    let (mut report, mut loader) = (Report::default(), Loader::default());
    let table = loader.load(path, &mut report);
    finish(table, sets, path.parent().unwrap_or(Path::new("")), report, loader)
}

/// Reads a scenario from a text; `name` is what messages call it, `directory` what its file names are relative to.
///
/// # Errors
/// As [`load`].
pub fn load_text(
    name: &str,
    text: &str,
    directory: &Path,
    sets: &[String],
) -> Result<Loaded, Vec<Diagnostic>> {
    let (mut report, mut loader) = (Report::default(), Loader::default());
    let table = loader.load_text(name, text, directory, &mut report);
    finish(table, sets, directory, report, loader)
}

fn finish(
    mut table: tree::Table,
    sets: &[String],
    directory: &Path,
    mut report: Report,
    mut loader: Loader,
) -> Result<Loaded, Vec<Diagnostic>> {
    set::apply(sets, &mut table, directory, &mut loader, &mut report);
    let whole = Span::whole(0);
    let value = tree::Value { kind: tree::Kind::Table(table), span: whole };
    let Some(document) = keys::Document::decode(&value, &mut report) else {
        return Err(report.take());
    };
    let (spec, origins) = resolve::resolve(&document, whole, &loader.directories, &mut report);
    if report.errors() > 0 {
        return Err(report.take());
    }
    let text = |at: &Option<table::At<String>>| at.as_ref().map(|at| at.value.clone()).unwrap_or_default();
    let scenario = Scenario { title: text(&document.title), description: text(&document.description), spec };
    Ok(Loaded { scenario, warnings: report.take(), origins })
}
