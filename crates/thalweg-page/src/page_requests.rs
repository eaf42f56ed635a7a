//! Requests of the page's scripts to the engine, and the answers.

use crate::lesson::{self, Answer, Verdict};
use crate::scenario_controls::scenario_controls;
use crate::scenario_input::{Input, PageDiagnostic, page_registry};
use crate::script_controller::{Scheme, Script};
use crate::sliced_run::{FinishedRun, Progress, Run, version};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_catalog::Registry;
use thalweg_scenario::{BUILT_IN, Memory, estimate_memory};

/// Maximum number of flows in the results that the page shows.
const MAX_FLOWS: usize = 64;
/// Maximum number of links in the results that the page shows.
const MAX_LINKS: usize = 64;
/// Name of the scheme of the page's own controller.
const MINE: &str = "mine";

/// A request of the page.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "request", deny_unknown_fields)]
enum Request {
    /// Built-in scenarios, schemes, disciplines and lessons.
    List,
    /// Check of a scenario: its explanation, or its diagnostics.
    Check { input: Input },
    /// Controls of a scenario, whatever its changes.
    Controls { input: Input },
    /// Start of a run.
    Start {
        input: Input,
        #[serde(default)]
        seed: Option<u64>,
        #[serde(default)]
        stepped: bool,
    },
    /// Handling of up to this many events.
    Advance { events: u64 },
    /// Handling of events until this time in seconds, with a maximum number of events.
    Until { time: f64, events: u64 },
    /// Handling of events until a packet takes a step, with a maximum number of events.
    Step { events: u64 },
    /// End of the run: its results.
    Finish,
    /// All results of the finished run, as JSON.
    Results,
    /// Report of the finished run, as a page.
    Report,
    /// Verdict on the answer to a question of a lesson, by the results of the learner's runs.
    Answer { lesson: String, question: usize, answer: Answer, runs: BTreeMap<String, Value> },
}

/// Explanation of a scenario.
#[derive(Debug, Serialize)]
struct ScenarioExplanation {
    title: String,
    description: String,
    explanation: String,
    warnings: Vec<PageDiagnostic>,
    expanded: String,
    duration_s: f64,
    warmup_s: f64,
    seed: u64,
    memory_bytes: u64,
}

/// The engine behind a page: answers its requests, and holds its run.
#[derive(Debug)]
pub struct Laboratory {
    scheme: Option<Scheme>,
    registry: Arc<Registry>,
    run: Option<Run>,
    finished: Option<FinishedRun>,
}

impl Laboratory {
    /// Creates a laboratory, optionally with a controller of the page's own, the scheme `mine`.
    pub fn new(script: Option<Arc<dyn Script>>) -> Self {
        let scheme = script.map(|script| Scheme::new(MINE, script));
        let registry = page_registry(scheme.as_ref());
        Self { scheme, registry, run: None, finished: None }
    }

    /// Answers a request, both in JSON. An answer is an object with `ok`, or with `errors`, a list of diagnostics.
    pub fn answer(&mut self, request: &str) -> String {
        let answer = match serde_json::from_str(request) {
            Ok(request) => self.handle(request),
            Err(error) => Err(vec![PageDiagnostic::error("page.request", error.to_string())]),
        };
        match answer {
            Ok(answer) => json!({ "ok": answer }).to_string(),
            Err(errors) => json!({ "errors": errors }).to_string(),
        }
    }

    /// Writes the points of the run's series so far; see [`Run::points`].
    pub fn points(&self, numbers: &mut Vec<f64>) {
        match &self.run {
            Some(run) => run.points(numbers),
            None => numbers.clear(),
        }
    }

    fn handle(&mut self, request: Request) -> Result<Value, Vec<PageDiagnostic>> {
        match request {
            Request::List => Ok(self.list()),
            Request::Check { input } => self.check(&input),
            Request::Controls { input } => Ok(json!(scenario_controls(&input, &self.registry))),
            Request::Start { input, seed, stepped } => {
                (self.run, self.finished) = (None, None);
                let run = Run::start(&input, seed, stepped, &self.registry);
                let run = run.map_err(|errors| self.with_exception(errors))?;
                let spec = run.loaded().spec();
                let answer = json!({
                    "title": run.loaded().scenario.title,
                    "duration_s": spec.duration.as_secs_f64(),
                    "warmup_s": spec.warmup.as_secs_f64(),
                    "series": run.series(),
                    "links": run.links(),
                });
                self.run = Some(run);
                Ok(answer)
            }
            Request::Advance { events } => self.progress(|run| run.advance(events)),
            Request::Until { time, events } => self.progress(|run| run.advance_until(time, events)),
            Request::Step { events } => self.progress(|run| run.step(events)),
            Request::Finish => {
                let run = self.run.take().ok_or_else(no_run)?;
                let finished = run.finish();
                let answer = results_for_page(&finished);
                self.finished = Some(finished);
                Ok(answer)
            }
            Request::Results => self.finished_run().map(|finished| json!(finished.document)),
            Request::Report => self.finished_run().map(|finished| json!(finished.report())),
            Request::Answer { lesson, question, answer, runs } => {
                let verdict: Result<Verdict, String> = lesson::find_lesson(&lesson)
                    .ok_or_else(|| format!("there is no lesson `{lesson}`"))
                    .and_then(|lesson| lesson.check(question, &answer, &runs));
                verdict
                    .map(|verdict| json!(verdict))
                    .map_err(|error| vec![PageDiagnostic::error("page.lesson", error)])
            }
        }
    }

    fn finished_run(&self) -> Result<&FinishedRun, Vec<PageDiagnostic>> {
        self.finished.as_ref().ok_or_else(no_run)
    }

    fn list(&self) -> Value {
        let scenarios = BUILT_IN.iter().map(|scenario| {
            let title = scenario.text.lines().find_map(|line| line.strip_prefix("title = "));
            json!({
                "name": scenario.name,
                "title": title.unwrap_or(scenario.name).trim().trim_matches('"'),
                "text": scenario.text,
            })
        });
        let schemes = self.registry.schemes().iter();
        let disciplines = self.registry.disciplines().iter();
        json!({
            "version": version(),
            "scenarios": scenarios.collect::<Vec<_>>(),
            "schemes": schemes.map(|of| json!({ "name": of.name, "about": of.text() })).collect::<Vec<_>>(),
            "disciplines": disciplines.map(|of| json!({ "name": of.name, "about": of.about })).collect::<Vec<_>>(),
            "lessons": lesson::all_lessons().iter().map(lesson::Lesson::shown).collect::<Vec<_>>(),
        })
    }

    fn check(&self, input: &Input) -> Result<Value, Vec<PageDiagnostic>> {
        let loaded = input.load(&self.registry).map_err(|errors| self.with_exception(errors))?;
        let spec = loaded.spec();
        let needed: Memory = estimate_memory(spec, loaded.paths());
        let checked = ScenarioExplanation {
            title: loaded.scenario.title.clone(),
            description: loaded.scenario.description.clone(),
            explanation: loaded.explain(),
            warnings: PageDiagnostic::all(&loaded.warnings),
            expanded: loaded.expanded(),
            duration_s: spec.duration.as_secs_f64(),
            warmup_s: spec.warmup.as_secs_f64(),
            seed: spec.seed,
            memory_bytes: needed.total(),
        };
        Ok(json!(checked))
    }

    /// Adds the exception of the page's controller, if it has raised one.
    fn with_exception(&self, mut errors: Vec<PageDiagnostic>) -> Vec<PageDiagnostic> {
        if let Some(raised) = self.scheme.as_ref().and_then(Scheme::take_raised) {
            errors.insert(0, PageDiagnostic::error("page.controller", raised));
        }
        errors
    }

    fn progress(&mut self, advance: impl FnOnce(&mut Run) -> Progress) -> Result<Value, Vec<PageDiagnostic>> {
        let run = self.run.as_mut().ok_or_else(no_run)?;
        let mut progress = advance(run);
        if let (Some(error), Some(scheme)) = (&mut progress.error, &self.scheme)
            && let Some(raised) = scheme.take_raised()
        {
            *error = format!("{error}: {raised}");
        }
        let (steps, omitted) = run.take_steps();
        let mut answer = json!(progress);
        if !steps.is_empty() {
            let flows: Vec<String> = steps.iter().map(|step| run.flow_name(step.flow)).collect();
            answer["steps"] = json!(steps);
            answer["flows"] = json!(flows);
            answer["omitted"] = json!(omitted);
        }
        Ok(answer)
    }
}

fn no_run() -> Vec<PageDiagnostic> {
    vec![PageDiagnostic::error("page.request", "there is no run".to_owned())]
}

/// Returns the results for the page, with the first flows and links of many.
fn results_for_page(finished: &FinishedRun) -> Value {
    let mut document = json!(finished.document);
    let run = &mut document["runs"][0];
    let mut counts = [0, 0];
    for ((key, max), count) in [("flows", MAX_FLOWS), ("links", MAX_LINKS)].into_iter().zip(&mut counts) {
        if let Some(list) = run[key].as_array_mut() {
            *count = list.len();
            list.truncate(max);
        }
    }
    if let Some(run) = run.as_object_mut() {
        run.remove("distributions");
    }
    json!({ "document": document, "flows": counts[0], "links": counts[1], "summary": finished.summary() })
}
