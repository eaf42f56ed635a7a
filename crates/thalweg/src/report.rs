//! `thalweg report`, and `--report` of commands that run something.

use crate::Done;
use crate::arguments::ReportArguments;
use crate::console::{Console, Error};
use crate::version::version;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thalweg_lab::output::{Folder, REPORT, Stored, png};
use thalweg_lab::paper;
use thalweg_lab::report::{AllSeries, figure, paper_report, report as page};
use thalweg_lab::scenario;

/// Where the page of `--report` or the picture of `--svg` or `--png` goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Into the results folder, under this name.
    Folder(&'static str),
    /// To this file.
    File(PathBuf),
}

impl Place {
    /// What an option with or without a file means: beside a results folder, where the file is `own`, or without one,
    /// where it is named like `name` with the ending of `own`.
    pub fn of(
        option: Option<&Option<PathBuf>>,
        own: &'static str,
        has_folder: bool,
        name: &str,
    ) -> Option<Self> {
        match (option?, has_folder) {
            (Some(path), _) => Some(Self::File(path.clone())),
            (None, true) => Some(Self::Folder(own)),
            (None, false) => Some(Self::File(
                PathBuf::from(name).with_extension(Path::new(own).extension().unwrap_or_default()),
            )),
        }
    }

    /// Writes it.
    pub fn write(&self, page: impl AsRef<[u8]>, folder: Option<&Folder>, console: &Console) -> Done {
        match (self, folder) {
            (Self::Folder(name), Some(folder)) => Ok(folder.write(name, page)?),
            (Self::Folder(_), None) => Ok(()),
            (Self::File(path), _) => {
                write(path, page.as_ref())?;
                console.say(&format!("Written: {}", path.display()));
                Ok(())
            }
        }
    }
}

fn write(path: &Path, page: &[u8]) -> Done {
    fs::write(path, page)
        .map_err(|error| Error::Failed(format!("cannot write `{}`: {error}", path.display())))
}

/// Makes the page of what a folder holds.
pub fn report(arguments: &ReportArguments, console: &Console) -> Done {
    let folder = &arguments.folder;
    let path = arguments.file.clone().unwrap_or_else(|| folder.join(REPORT));
    let ends_in = |kind| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(kind));
    let is_image = ends_in("png");
    let is_picture = is_image || ends_in("svg");
    let page = match Folder::paper_results(folder)? {
        Some(_) if is_picture => {
            return Err(Error::Usage(
                "there is no picture of a paper's results; leave the file out for a page".to_owned(),
            ));
        }
        Some((name, json)) => {
            let title = paper::find(&name).map_or(name.as_str(), |paper| paper.title);
            paper_report(title, version(), &json).map_err(|error| {
                Error::Usage(format!("`{}`: not the results of a paper: {error}", folder.display()))
            })?
        }
        None => page_of_runs(folder, is_picture, console)?,
    };
    write(&path, &if is_image { png(&page)? } else { page.into_bytes() })?;
    console.say(&format!("Written: {}", path.display()));
    Ok(())
}

fn page_of_runs(folder: &Path, is_picture: bool, console: &Console) -> Result<String, Error> {
    let stored = Stored::open(folder)?;
    let path = folder.join("series.csv");
    let series = match fs::read_to_string(&path) {
        Ok(text) => AllSeries::from_csv(&text)
            .map_err(|error| Error::Usage(format!("`{}`: {error}", path.display())))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            console.say("note: the folder has no series.csv, so that the report has no plots");
            AllSeries::default()
        }
        Err(error) => return Err(Error::Failed(format!("cannot read `{}`: {error}", path.display()))),
    };
    if is_picture {
        return Ok(figure(&stored.document, &series));
    }
    let loaded = scenario::load(&stored.scenario, &[]);
    if loaded.is_err() {
        console
            .say("note: the folder's scenario cannot be read, so that the report does not draw the network");
    }
    Ok(page(&stored.document, &series, loaded.ok().as_ref().map(scenario::Loaded::spec), &[]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_goes_where_it_is_asked_for() {
        let place = |option, has_folder| Place::of(option, REPORT, has_folder, "net.toml");
        assert_eq!(place(None, true), None);
        assert_eq!(place(Some(&None), true), Some(Place::Folder(REPORT)));
        assert_eq!(place(Some(&None), false), Some(Place::File("net.html".into())));
        assert_eq!(place(Some(&Some("a.html".into())), true), Some(Place::File("a.html".into())));
    }
}
