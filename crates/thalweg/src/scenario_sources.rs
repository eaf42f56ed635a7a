//! Scenario sources: files and built-in scenarios.

use crate::console_output::{CommandResult, Console, Error};
use crate::simulation_arguments::ValidateArguments;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thalweg_catalog::Registry;
use thalweg_scenario::{BUILT_IN, BuiltIn, LoadedScenario, SchemeOverride, nearest_name};

/// The source of a scenario.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// A built-in scenario.
    BuiltIn(&'static BuiltIn),
    /// A text.
    Text {
        /// Name in messages.
        name: String,
        /// Text of the scenario.
        text: String,
        /// Base folder of relative file names.
        folder: PathBuf,
    },
}

impl Source {
    /// Returns the source named `file`: an existing file, or else a built-in scenario. A folder of that name, such as one
    /// with results, is not a file.
    pub fn find(file: &Path) -> Result<Self, Error> {
        let text = file.to_string_lossy();
        let name = text.strip_suffix(".toml").unwrap_or(&text);
        let built_in = BUILT_IN.iter().find(|scenario| scenario.name == name);
        if let Some(scenario) = built_in.filter(|_| file.is_dir() || !file.exists()) {
            return Ok(Self::BuiltIn(scenario));
        }
        if file.exists() {
            return Ok(Self::File(file.to_owned()));
        }
        let mut message =
            format!("there is no file `{}`, and no built-in scenario of that name", file.display());
        if let Some(suggestion) = similar_scenario(file) {
            message.push_str(&format!("; did you mean `{suggestion}`?"));
        } else {
            message.push_str("; `thalweg list scenarios` shows them");
        }
        Err(Error::UnknownName(message))
    }

    /// Returns the name shown in results, without folders.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            Self::BuiltIn(scenario) => format!("{}.toml", scenario.name),
            Self::Text { name, .. } => name.clone(),
        }
    }

    /// Returns the source as a command-line argument.
    pub fn argument(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::BuiltIn(scenario) => scenario.name.to_owned(),
            Self::Text { name, .. } => name.clone(),
        }
    }

    /// Loads the scenario with the overrides `sets`.
    pub fn load(&self, sets: &[String], registry: &Arc<Registry>) -> Result<LoadedScenario, Error> {
        self.load_with_override(sets, None, registry)
    }

    /// Loads the scenario with the overrides `sets` and another scheme for some flows.
    pub fn load_with_override(
        &self,
        sets: &[String],
        scheme_override: Option<SchemeOverride<'_>>,
        registry: &Arc<Registry>,
    ) -> Result<LoadedScenario, Error> {
        match self {
            Self::File(path) => thalweg_scenario::load_with_override(path, sets, scheme_override, registry),
            Self::Text { name, text, folder } => {
                thalweg_scenario::load_text_with_override(name, text, folder, sets, scheme_override, registry)
            }
            Self::BuiltIn(built_in) => thalweg_scenario::load_built_in_with_override(
                &self.name(),
                built_in.files,
                sets,
                scheme_override,
                registry,
            ),
        }
        .map_err(Error::Scenario)
    }
}

/// Returns the scenario file or built-in scenario with the most similar name.
fn similar_scenario(file: &Path) -> Option<String> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let files = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    let is_toml = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "toml");
    let files: Vec<PathBuf> = files.map(|entry| entry.path()).filter(is_toml).collect();
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stems: Vec<String> = files.iter().filter_map(|path| stem(path)).collect();
    let known = stems.iter().map(String::as_str).chain(BUILT_IN.iter().map(|scenario| scenario.name));
    let wanted = stem(file)?;
    let found = nearest_name(&wanted, known)?.to_owned();
    if stems.contains(&found) {
        Some(file.with_file_name(format!("{found}.toml")).display().to_string())
    } else {
        Some(found)
    }
}

/// Implements `thalweg validate`.
pub fn validate(arguments: &ValidateArguments, console: &Console) -> CommandResult {
    let source = Source::find(&arguments.file)?;
    let loaded = source.load(&arguments.sets, &console.registry)?;
    console.warn(&loaded.warnings);
    console.print(&console.style.folded(&loaded.explain()))
}
