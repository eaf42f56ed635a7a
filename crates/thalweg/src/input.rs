//! Scenarios: files, and those that are built in.

use crate::Done;
use crate::arguments::ValidateArguments;
use crate::console::{Console, Error};
use std::fs;
use std::path::{Path, PathBuf};
use thalweg_lab::scenario::diagnostic::nearest;
use thalweg_lab::scenario::{self, Loaded};

/// Scenarios that can be named anywhere, with their texts.
pub const BUILT_IN: &[(&str, &str)] = &[("dumbbell", include_str!("../../../scenarios/dumbbell.toml"))];

/// Where a scenario comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// A built-in scenario, by name and text.
    BuiltIn(&'static str, &'static str),
}

impl Source {
    /// What `file` means: a file where there is one, otherwise a built-in scenario.
    pub fn find(file: &Path) -> Result<Self, Error> {
        if file.exists() {
            return Ok(Self::File(file.to_owned()));
        }
        let text = file.to_string_lossy();
        let name = text.strip_suffix(".toml").unwrap_or(&text);
        if let Some((name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Ok(Self::BuiltIn(name, text));
        }
        let mut message =
            format!("there is no file `{}`, and no built-in scenario of that name", file.display());
        if let Some(suggestion) = similar(file) {
            message.push_str(&format!("; did you mean `{suggestion}`?"));
        } else {
            message.push_str("; `thalweg list scenarios` shows them");
        }
        Err(Error::Usage(message))
    }

    /// The name shown in results, without folders.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            Self::BuiltIn(name, _) => format!("{name}.toml"),
        }
    }

    /// The scenario, changed by `sets`.
    pub fn load(&self, sets: &[String]) -> Result<Loaded, Error> {
        match self {
            Self::File(path) => scenario::load(path, sets),
            Self::BuiltIn(name, text) => {
                scenario::load_text(&format!("{name}.toml"), text, Path::new(""), sets)
            }
        }
        .map_err(Error::Scenario)
    }
}

/// The scenario file or built-in scenario with the name most like `file`.
fn similar(file: &Path) -> Option<String> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let files = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    let is_toml = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "toml");
    let files: Vec<PathBuf> = files.map(|entry| entry.path()).filter(is_toml).collect();
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stems: Vec<String> = files.iter().filter_map(|path| stem(path)).collect();
    let known = stems.iter().map(String::as_str).chain(BUILT_IN.iter().map(|(name, _)| *name));
    let wanted = stem(file)?;
    let found = nearest(&wanted, known)?.to_owned();
    if stems.contains(&found) {
        Some(file.with_file_name(format!("{found}.toml")).display().to_string())
    } else {
        Some(found)
    }
}

/// `thalweg validate`.
pub fn validate(arguments: &ValidateArguments, console: &Console) -> Done {
    let source = Source::find(&arguments.file)?;
    let loaded = source.load(&arguments.sets)?;
    console.warn(&loaded.warnings);
    console.print(&loaded.explain())
}
