//! Scenario sources: files and built-in scenarios.

use crate::arguments::ValidateArguments;
use crate::console::{Console, Done, Error};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use thalweg_catalog::Registry;
use thalweg_scenario::{Loaded, SchemeOverride, nearest};

/// A built-in scenario.
#[derive(Debug)]
pub struct BuiltIn {
    /// Name.
    pub name: &'static str,
    /// Text of the scenario.
    pub text: &'static str,
    /// Names and contents of the files it refers to.
    files: &'static [(&'static str, &'static str)],
}

macro_rules! built_in {
    ($($name:literal $(with $file:literal)*,)+) => {
        &[$(BuiltIn {
            name: $name,
            text: include_str!(concat!("../scenarios/", $name, ".toml")),
            files: &[$(($file, include_str!(concat!("../scenarios/", $file)))),*],
        }),+]
    };
}

/// The files in the folder `scenarios`.
pub const BUILT_IN: &[BuiltIn] = built_in! {
    "dumbbell",
    "two-flows",
    "parking-lot",
    "slow-chain",
    "slow-chain-two-way" with "slow-chain.toml",
    "lossy-long-path",
    "difficult-path",
    "cellular-trace" with "cellular.trace",
    "outage",
    "web",
    "incast",
    "fat-tree" with "websearch.csv" with "datamining.csv",
    "l4s",
    "video-call",
    "short-flows" with "websearch.csv" with "datamining.csv",
    "cluster",
    "recovery",
    "soft-acknowledgement",
    "slow-reader",
    "ten-thousand-flows",
};

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
    /// Returns the source named `file`: an existing file, or else a built-in scenario.
    pub fn find(file: &Path) -> Result<Self, Error> {
        if file.exists() {
            return Ok(Self::File(file.to_owned()));
        }
        let text = file.to_string_lossy();
        let name = text.strip_suffix(".toml").unwrap_or(&text);
        if let Some(scenario) = BUILT_IN.iter().find(|scenario| scenario.name == name) {
            return Ok(Self::BuiltIn(scenario));
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
    pub fn load(&self, sets: &[String], registry: &Arc<Registry>) -> Result<Loaded, Error> {
        self.load_with_override(sets, None, registry)
    }

    /// Loads the scenario with the overrides `sets` and another scheme for some flows.
    pub fn load_with_override(
        &self,
        sets: &[String],
        scheme_override: Option<SchemeOverride<'_>>,
        registry: &Arc<Registry>,
    ) -> Result<Loaded, Error> {
        match self {
            Self::File(path) => thalweg_scenario::load_with_override(path, sets, scheme_override, registry),
            Self::Text { name, text, folder } => {
                thalweg_scenario::load_text_with_override(name, text, folder, sets, scheme_override, registry)
            }
            Self::BuiltIn(built_in) => {
                let files = Unpacked::new(built_in.files)?;
                let (name, text) = (self.name(), built_in.text);
                thalweg_scenario::load_text_with_override(
                    &name,
                    text,
                    files.folder(),
                    sets,
                    scheme_override,
                    registry,
                )
            }
        }
        .map_err(Error::Scenario)
    }
}

/// Temporary files of a built-in scenario while it is read.
#[derive(Debug)]
struct Unpacked(Option<PathBuf>);

impl Unpacked {
    fn new(files: &[(&str, &str)]) -> Result<Self, Error> {
        if files.is_empty() {
            return Ok(Self(None));
        }
        // Several threads may read the same scenario concurrently.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("thalweg-{}-{number}", std::process::id()));
        let write = |(name, text): &(&str, &str)| fs::write(folder.join(name), text);
        // Require a new folder: another user could have placed files in an existing one.
        let written = fs::create_dir(&folder).and_then(|()| files.iter().try_for_each(write));
        written.map_err(|error| Error::Failed(format!("`{}`: {error}", folder.display())))?;
        Ok(Self(Some(folder)))
    }

    fn folder(&self) -> &Path {
        self.0.as_deref().unwrap_or(Path::new(""))
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            // A leftover in the folder for temporary files does no harm.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Returns the scenario file or built-in scenario with the most similar name.
fn similar(file: &Path) -> Option<String> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let files = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    let is_toml = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "toml");
    let files: Vec<PathBuf> = files.map(|entry| entry.path()).filter(is_toml).collect();
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stems: Vec<String> = files.iter().filter_map(|path| stem(path)).collect();
    let known = stems.iter().map(String::as_str).chain(BUILT_IN.iter().map(|scenario| scenario.name));
    let wanted = stem(file)?;
    let found = nearest(&wanted, known)?.to_owned();
    if stems.contains(&found) {
        Some(file.with_file_name(format!("{found}.toml")).display().to_string())
    } else {
        Some(found)
    }
}

/// Implements `thalweg validate`.
pub fn validate(arguments: &ValidateArguments, console: &Console) -> Done {
    let source = Source::find(&arguments.file)?;
    let loaded = source.load(&arguments.sets, &console.registry)?;
    console.warn(&loaded.warnings);
    console.print(&console.style.folded(&loaded.explain()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_scenario_is_correct_and_there_is_one_for_each_file() {
        for scenario in BUILT_IN {
            let loaded = Source::BuiltIn(scenario).load(&[], &Arc::default());
            assert!(loaded.is_ok(), "{}: {loaded:?}", scenario.name);
        }
        let files = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios")).unwrap();
        let names = files.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        for name in names.filter_map(|name| name.strip_suffix(".toml").map(str::to_owned)) {
            assert!(BUILT_IN.iter().any(|scenario| scenario.name == name), "{name} is not built in");
        }
    }
}
