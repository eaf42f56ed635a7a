//! Scenarios of the page: a built-in one or a text, with changes.

use crate::script_controller::Scheme;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};
use thalweg_catalog::Registry;
use thalweg_scenario::{BUILT_IN, BuiltInFiles, Diagnostic, LoadedScenario, Severity, load_text_beside};

/// Memory of a run that fits a browser, in bytes: a WebAssembly module has 4 GiB, a phone's page about one.
pub const MAX_MEMORY: u64 = 1 << 30;
/// Maximum length of a scenario's text in bytes.
const MAX_TEXT: usize = 1 << 20;
/// Maximum number of diagnostics in an answer.
const MAX_DIAGNOSTICS: usize = 50;

/// A scenario of the page.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Name of a built-in scenario, or of the file that `text` would be.
    pub name: String,
    /// Text of the scenario; a built-in one without.
    #[serde(default)]
    pub text: Option<String>,
    /// Changes, in the form of `--set`.
    #[serde(default)]
    pub sets: Vec<String>,
}

/// A diagnostic for the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PageDiagnostic {
    /// Severity: "note", "warning" or "error".
    severity: &'static str,
    /// Stable name of the diagnostic.
    code: &'static str,
    /// Name of the file or change.
    file: String,
    /// Line, from 1.
    line: usize,
    /// Column, from 1, in characters.
    column: usize,
    /// Message, in one line.
    pub message: String,
    /// Rendered text, with the line and the help.
    text: String,
}

impl PageDiagnostic {
    /// Returns a diagnostic with its position.
    pub fn from_diagnostic(diagnostic: &Diagnostic) -> Self {
        Self {
            severity: diagnostic.severity.name(),
            code: diagnostic.code,
            file: diagnostic.file().to_owned(),
            line: diagnostic.line(),
            column: diagnostic.column(),
            message: diagnostic.message.clone(),
            text: diagnostic.render(),
        }
    }

    /// Returns an error of the whole scenario.
    pub fn error(code: &'static str, message: String) -> Self {
        let text = format!("error[{code}]: {message}\n");
        Self {
            severity: Severity::Error.name(),
            code,
            file: String::new(),
            line: 1,
            column: 1,
            message,
            text,
        }
    }

    /// Converts diagnostics, at most the first `MAX_DIAGNOSTICS`.
    pub fn all(diagnostics: &[Diagnostic]) -> Vec<Self> {
        diagnostics.iter().take(MAX_DIAGNOSTICS).map(Self::from_diagnostic).collect()
    }
}

/// Returns the schemes and disciplines, with the page's own controller if there is one.
pub fn page_registry(scheme: Option<&Scheme>) -> Arc<Registry> {
    let mut registry = Registry::default();
    if let Some(scheme) = scheme {
        registry.add_scheme(scheme.description());
    }
    Arc::new(registry)
}

/// Returns the files that built-in scenarios refer to.
fn builtin_files() -> BuiltInFiles {
    static ALL: OnceLock<Vec<(&'static str, &'static str)>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all: Vec<_> = BUILT_IN.iter().flat_map(|scenario| scenario.files.iter().copied()).collect();
        all.sort_unstable_by_key(|(name, _)| *name);
        all.dedup_by_key(|(name, _)| *name);
        all
    })
}

impl Input {
    /// Returns the text of the scenario.
    ///
    /// # Errors
    ///
    /// An unknown name, or a text that is too long.
    pub fn source(&self) -> Result<&str, Vec<PageDiagnostic>> {
        if let Some(text) = &self.text {
            if text.len() > MAX_TEXT {
                let message =
                    format!("the scenario has {} bytes; the page takes at most {MAX_TEXT}", text.len());
                return Err(vec![PageDiagnostic::error("page.size", message)]);
            }
            return Ok(text);
        }
        let found = BUILT_IN.iter().find(|scenario| scenario.name == self.name);
        found.map(|scenario| scenario.text).ok_or_else(|| {
            let message = format!("there is no built-in scenario `{}`", self.name);
            vec![PageDiagnostic::error("page.scenario", message)]
        })
    }

    /// Returns the name of the scenario's file.
    pub fn file(&self) -> String {
        if self.name.ends_with(".toml") { self.name.clone() } else { format!("{}.toml", self.name) }
    }

    /// Loads the scenario.
    ///
    /// # Errors
    ///
    /// Its diagnostics; or that a run does not fit a browser.
    pub fn load(&self, registry: &Arc<Registry>) -> Result<LoadedScenario, Vec<PageDiagnostic>> {
        let text = self.source()?;
        let loaded = load_text_beside(&self.file(), text, builtin_files(), &self.sets, registry)
            .map_err(|diagnostics| PageDiagnostic::all(&diagnostics))?;
        if let Some(mut error) = loaded.check_memory(MAX_MEMORY) {
            error.message.push_str(" to a page in a browser");
            let help = error.help.take().unwrap_or_default();
            error.help = Some(format!("{help}; the command `thalweg run` has all memory of the host"));
            return Err(vec![PageDiagnostic::from_diagnostic(&error)]);
        }
        let spec = loaded.spec();
        if spec.warmup >= spec.duration {
            let message = format!(
                "the warm-up ({}) is not shorter than the run ({}), and nothing would be counted",
                spec.warmup, spec.duration
            );
            return Err(vec![PageDiagnostic::error("page.warmup", message)]);
        }
        Ok(loaded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(input: &Input) -> Result<LoadedScenario, Vec<PageDiagnostic>> {
        input.load(&page_registry(None))
    }

    fn text(text: &str) -> Input {
        Input { name: "mine".to_owned(), text: Some(text.to_owned()), sets: Vec::new() }
    }

    #[test]
    fn each_built_in_scenario_fits_a_browser() {
        for scenario in BUILT_IN {
            let input = Input { name: scenario.name.to_owned(), ..Input::default() };
            assert!(load(&input).is_ok(), "{}", scenario.name);
        }
    }

    #[test]
    fn runs_that_do_not_fit_are_refused_with_what_fits() {
        let sets = vec!["flow.flows.count=10000000".to_owned()];
        let errors = load(&Input { name: "dumbbell".to_owned(), text: None, sets }).unwrap_err();
        assert_eq!(errors.len(), 1);
        assert!(errors[0].message.contains("1.1 GB are available to a page in a browser"), "{errors:?}");
        assert!(errors[0].text.contains("10000000 flows") && errors[0].text.contains("`thalweg run`"));
    }

    #[test]
    fn broken_scenarios_have_diagnostics_with_positions() {
        let errors =
            load(&text("duration = \"10 s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = 100\n")).unwrap_err();
        let first = errors.iter().find(|error| error.code == "scenario.unit").unwrap();
        assert_eq!((first.file.as_str(), first.line, first.column), ("mine.toml", 4, 8));
        assert!(first.text.contains("rate = 100"), "{first:?}");
    }

    #[test]
    fn unknown_names_and_long_texts_are_refused() {
        let unknown = load(&Input { name: "dumbell".to_owned(), ..Input::default() }).unwrap_err();
        assert_eq!(unknown[0].code, "page.scenario");
        let long = load(&text(&"#".repeat(MAX_TEXT + 1))).unwrap_err();
        assert_eq!(long[0].code, "page.size");
        let nothing = Input {
            sets: vec!["warmup=1 min".to_owned()],
            ..Input { name: "dumbbell".to_owned(), ..Input::default() }
        };
        assert_eq!(load(&nothing).unwrap_err()[0].code, "page.warmup");
    }
}
