//! `thalweg report`, and `--report` of other commands: writes results as an HTML page.

use crate::console_output::{CommandResult, Console, Error};
use crate::simulation_arguments::ReportArguments;
use crate::version::version;
use std::fs;
use std::path::{Path, PathBuf};
use thalweg_report::output::{Folder, MAX_RESULTS, REPORT, Stored, render_png};
use thalweg_report::report::{AllSeries, Fidelity, Part, SideBySide, View, draw_figure, report as page};
use thalweg_scenario::Reader;
use thalweg_sim::simulation_spec::Spec;
use thalweg_studies::paper;
use thalweg_studies::paper::paper_report;

/// Destination of the page of `--report`, or of the picture of `--svg` or `--png`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportTarget {
    /// The results folder, with this file name.
    Folder(&'static str),
    /// This file.
    File(PathBuf),
}

impl ReportTarget {
    /// Returns the destination for an option with an optional file: by default `default_name` in the results folder, or
    /// without one a file named `name` with the extension of `default_name`. A file in a missing folder or with a wrong
    /// extension is rejected before anything runs.
    pub fn of(
        option: Option<&Option<PathBuf>>,
        default_name: &'static str,
        has_folder: bool,
        name: &str,
    ) -> Result<Option<Self>, Error> {
        let ending = Path::new(default_name).extension().unwrap_or_default();
        Ok(match (option, has_folder) {
            (None, _) => None,
            (Some(Some(path)), _) => {
                let wanted = FileFormat::from_path(Path::new(default_name));
                if FileFormat::from_path(path).is_some_and(|kind| Some(kind) != wanted)
                    || has_unknown_extension(path)
                {
                    let ending = ending.to_string_lossy();
                    return Err(Error::Usage(format!("`{}` does not end in .{ending}", path.display())));
                }
                may_be_written(path)?;
                Some(Self::File(path.clone()))
            }
            (Some(None), true) => Some(Self::Folder(default_name)),
            (Some(None), false) => Some(Self::File(PathBuf::from(name).with_extension(ending))),
        })
    }

    /// Writes the page or picture.
    pub fn write(&self, page: impl AsRef<[u8]>, folder: Option<&Folder>, console: &Console) -> CommandResult {
        match (self, folder) {
            (Self::Folder(name), Some(folder)) => Ok(folder.write(name, page)?),
            (Self::Folder(_), None) => Ok(()),
            (Self::File(path), _) => {
                write_page(path, page.as_ref())?;
                console.inform(&format!("Written: {}", path.display()));
                Ok(())
            }
        }
    }
}

/// File format, by extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileFormat {
    Page,
    Svg,
    Png,
}

impl FileFormat {
    /// Returns the format of a file; `None` without an extension or with an unknown one.
    fn from_path(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_ascii_lowercase();
        let kinds = [("html", Self::Page), ("htm", Self::Page), ("svg", Self::Svg), ("png", Self::Png)];
        kinds.into_iter().find(|(name, _)| ending == *name).map(|(_, kind)| kind)
    }
}

/// Returns true if the file has an unknown extension.
fn has_unknown_extension(path: &Path) -> bool {
    path.extension().is_some() && FileFormat::from_path(path).is_none()
}

/// Fails if the file's folder does not exist.
fn may_be_written(path: &Path) -> CommandResult {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) if !folder.is_dir() => Err(Error::Failed(format!(
            "cannot write `{}`: there is no folder `{}`",
            path.display(),
            folder.display()
        ))),
        _ => Ok(()),
    }
}

fn write_page(path: &Path, page: &[u8]) -> CommandResult {
    fs::write(path, page)
        .map_err(|error| Error::Failed(format!("cannot write `{}`: {error}", path.display())))
}

/// Implements `thalweg report`: writes the page of a folder.
pub fn report(arguments: &ReportArguments, console: &Console) -> CommandResult {
    let folder = &arguments.folder;
    let beside = &arguments.beside;
    if let Some(file) = std::iter::once(folder).chain(beside).find(|path| path.is_file()) {
        let name = file.display();
        return Err(Error::Usage(format!(
            "`{name}` is a file, where a folder of results was expected: `thalweg view {name}` opens captures and traces"
        )));
    }
    let default = || if beside.is_empty() { folder.join(REPORT) } else { PathBuf::from(DEFAULT_PAGE_NAME) };
    let path = arguments.file.clone().unwrap_or_else(default);
    if has_unknown_extension(&path) {
        return Err(Error::Usage(format!("`{}` does not end in .html, .svg or .png", path.display())));
    }
    arguments.file.as_deref().map_or(Ok(()), may_be_written)?;
    let kind = FileFormat::from_path(&path).unwrap_or(FileFormat::Page);
    let span = arguments.time.as_ref().map(|span| (span.from.as_secs_f64(), span.until.as_secs_f64()));
    let view = View { plots: arguments.plots.clone(), span };
    if kind == FileFormat::Page && view != View::default() {
        return Err(Error::Usage(
            "--plots and --time choose what a picture shows: name a file that ends in .svg or .png"
                .to_owned(),
        ));
    }
    let view = (kind != FileFormat::Page).then_some(view);
    let page = match Folder::paper_results(folder)? {
        Some(_) if !beside.is_empty() => {
            return Err(Error::Usage(format!(
                "`{}` has the results of a paper, which have a page of their own: --beside takes folders of `run` and `compare`",
                folder.display()
            )));
        }
        _ if !beside.is_empty() => page_beside(folder, beside, view.as_ref(), console)?,
        Some(_) if view.is_some() => {
            return Err(Error::Usage(
                "there is no picture of a paper's results; leave the file out for a page".to_owned(),
            ));
        }
        Some((name, json)) => {
            let title = paper::find_paper(&name).map_or(name.as_str(), |paper| paper.title);
            paper_report(title, version(), &json).map_err(|error| {
                Error::Usage(format!("`{}`: not the results of a paper: {error}", folder.display()))
            })?
        }
        None => page_of_runs(folder, view.as_ref(), console)?,
    };
    write_page(&path, &if kind == FileFormat::Png { render_png(&page)? } else { page.into_bytes() })?;
    console.inform(&format!("Written: {}", path.display()));
    Ok(())
}

/// Writes the page of a folder, or its picture if there is a view.
fn page_of_runs(folder: &Path, view: Option<&View>, console: &Console) -> Result<String, Error> {
    let stored = Stored::open(folder)?;
    let series = stored_series(folder, console)?;
    if let Some(view) = view {
        return Ok(draw_figure(&stored.document, &series, view));
    }
    let spec = stored_spec(&stored, console);
    Ok(page(&stored.document, &series, spec.as_ref(), &[]))
}

/// Reads the series of a folder.
pub fn stored_series(folder: &Path, console: &Console) -> Result<AllSeries, Error> {
    let path = folder.join("series.csv");
    Ok(match Reader::new(MAX_RESULTS).read_text(&path) {
        Ok(text) => AllSeries::from_csv(&text)
            .map_err(|error| Error::Usage(format!("`{}`: {error}", path.display())))?,
        Err(error) if error.is_missing() => {
            console.inform("note: the folder has no series.csv, and the report no plots");
            AllSeries::default()
        }
        Err(error) => return Err(Error::Failed(format!("cannot read `{}`: {error}", path.display()))),
    })
}

/// Loads the network of a folder, if its scenario can be read.
pub fn stored_spec(stored: &Stored, console: &Console) -> Option<Spec> {
    let loaded = thalweg_scenario::load_with(&stored.scenario, &[], &console.registry);
    if loaded.is_err() {
        console
            .inform("note: the folder's scenario cannot be read, and the report does not draw the network");
    }
    loaded.ok().map(|loaded| loaded.spec().clone())
}

/// Reads a results folder, of a simulation or a live run, for a page with several.
pub fn read_results_part(label: String, folder: &Path, console: &Console) -> Result<Part, Error> {
    let Stored { document, .. } = Stored::open(folder)?;
    let mut series = stored_series(folder, console)?;
    let read = |name: &str| {
        let path = folder.join(name);
        match Reader::new(MAX_RESULTS).read_text(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(Error::Failed(format!("cannot read `{}`: {error}", path.display()))),
        }
    };
    let invalid = |name: &str, error: &dyn std::fmt::Display| {
        Error::Usage(format!("`{}`: not written by a live run: {error}", folder.join(name).display()))
    };
    if let Some(text) = read(TRAFFIC)? {
        let seed = document.seeds.first().copied().unwrap_or_default();
        series.add_traffic(seed, &text).map_err(|error| invalid(TRAFFIC, &error))?;
    }
    let fidelity = read(FIDELITY)?
        .map(|text| Fidelity::from_json(&text).map_err(|error| invalid(FIDELITY, &error)))
        .transpose()?;
    Ok(Part { label, document, series, fidelity })
}

/// Returns the page of several folders side by side, or its picture if there is a view.
fn page_beside(
    folder: &Path,
    beside: &[PathBuf],
    view: Option<&View>,
    console: &Console,
) -> Result<String, Error> {
    let folders: Vec<&Path> = std::iter::once(folder).chain(beside.iter().map(PathBuf::as_path)).collect();
    let short = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let labels: Vec<Option<String>> = folders.iter().map(|path| short(path)).collect();
    let mut parts = Vec::with_capacity(folders.len());
    for (path, label) in folders.iter().zip(&labels) {
        let is_unique = labels.iter().filter(|other| *other == label).count() == 1;
        let label = label.clone().filter(|_| is_unique).unwrap_or_else(|| path.display().to_string());
        if parts.iter().any(|part: &Part| part.label == label) {
            return Err(Error::Usage(format!("`{}` is given twice", path.display())));
        }
        parts.push(read_results_part(label, path, console)?);
    }
    let spec = if view.is_none() { stored_spec(&Stored::open(folder)?, console) } else { None };
    let beside = SideBySide::join(parts).ok_or_else(|| Error::Failed("there are no results".to_owned()))?;
    Ok(match view {
        Some(view) => beside.figure(view),
        None => beside.page(spec.as_ref()),
    })
}

/// File in the folder of a live run with the fidelity record.
pub const FIDELITY: &str = "fidelity.json";
/// File in the folder of a live run with the carried flows.
pub const TRAFFIC: &str = "traffic.json";
/// Default name of a page with several folders.
const DEFAULT_PAGE_NAME: &str = "beside.html";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_written_to_the_requested_path() {
        let place = |option: Option<Option<&str>>, has_folder| {
            let option = option.map(|path| path.map(PathBuf::from));
            ReportTarget::of(option.as_ref(), REPORT, has_folder, "net.toml").unwrap()
        };
        assert_eq!(place(None, true), None);
        assert_eq!(place(Some(None), true), Some(ReportTarget::Folder(REPORT)));
        assert_eq!(place(Some(None), false), Some(ReportTarget::File("net.html".into())));
        assert_eq!(place(Some(Some("a.html")), true), Some(ReportTarget::File("a.html".into())));
        assert_eq!(place(Some(Some("page")), true), Some(ReportTarget::File("page".into())));
    }

    #[test]
    fn unwritable_destinations_are_rejected_before_the_run() {
        let refused =
            |path: &str| ReportTarget::of(Some(&Some(path.into())), "report.svg", false, "net.toml").is_err();
        assert!(refused("a.png") && refused("a.pdf") && refused("a.html") && refused("no/such/folder/a.svg"));
        assert!(!refused("a.svg") && !refused("A.SVG"));
    }
}
