//! Executes the runs of an assessment and decides its claims.

use crate::assessment_plan::{AssessmentPlan, Claim, Section};
use crate::claim_decisions::{self, ClaimOutcome, Test};
use crate::equivalence_margins::{Band, Margins};
use crate::plan_files::Files;
use crate::results_document::{
    ClaimResults, Document, ExperimentResults, FailedPoint, PointResults, ReferenceResults, SectionResults,
    Verdict,
};
use crate::run_measures::Measure;
use crate::transients::{Transient, goodput_transients};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thalweg_catalog::Registry;
use thalweg_proto::units::Duration;
use thalweg_report::results::Run;
use thalweg_report::statistics::{Estimate, paired_difference};
use thalweg_scenario::{Diagnostic, LoadedScenario, PlacedText, SchemeOverride, SweepFile, read_sweep_text};
use thalweg_sweep::{
    Budget, Engine, LoadError, PointResult, Program, Status, Store, Sweep, SweepError, Unfinished,
    add_missing_entries,
};

/// Selection of a plan's sections, points and seeds.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Sections, by number or prefix; empty for all.
    pub selected_sections: Vec<String>,
    /// Reduced number of points and seeds, from the plan.
    pub quick: bool,
    /// Seeds per point; default from the plan.
    pub replications: Option<u32>,
    /// Changes of all scenarios, as in `--set`.
    pub sets: Vec<String>,
}

/// Assessment of a scheme.
#[derive(Debug)]
pub struct Assessment<'a> {
    /// Scheme under test, optionally with options.
    pub scheme: &'a str,
    /// Plan.
    pub plan: &'a AssessmentPlan,
    /// Equivalence margins.
    pub margins: &'a Margins,
    /// Source of sweeps and scenarios.
    pub files: &'a Files,
    /// Available schemes and queue disciplines.
    pub registry: &'a Arc<Registry>,
    /// Selected part of the plan.
    pub choice: &'a Choice,
    /// Number of concurrent runs. Results do not depend on it.
    pub threads: usize,
    /// Memory available to all concurrent runs, if known.
    pub memory: Option<u64>,
    /// Program that executes the runs.
    pub program: &'a Program,
    /// Name of the program in commands that repeat a run, such as `thalweg`.
    pub command: &'a str,
    /// Stop flag.
    pub stop: Arc<AtomicBool>,
}

/// Error of an assessment.
#[derive(Debug)]
pub enum AssessError {
    /// Unknown scheme, or invalid options.
    Scheme(Vec<Diagnostic>),
    /// Invalid sweep or scenario.
    Scenario(Vec<Diagnostic>),
    /// Invalid plan, margins or arguments.
    Invalid(String),
    /// Early end: a run could not be saved, or the engine was lost.
    Unfinished(Unfinished),
}

impl From<SweepError> for AssessError {
    fn from(error: SweepError) -> Self {
        match error {
            SweepError::Scenario(found) => Self::Scenario(found),
            SweepError::Other(why) => Self::Invalid(why),
        }
    }
}

/// Reader of one sweep's scenario.
pub(crate) type Load<'a> =
    Box<dyn Fn(&[String], Option<SchemeOverride<'_>>) -> Result<LoadedScenario, LoadError> + Sync + 'a>;

/// Tests of a claim's points.
type Tests = Vec<Option<Test>>;

/// Point, with its values under each scheme by claim.
struct MeasuredPoint {
    values: BTreeMap<String, String>,
    command: String,
    /// Values by scheme, claim of the sweep, and seed.
    claim_values: Vec<Vec<Vec<Option<f64>>>>,
    /// Number of distinct runs, by scheme.
    different: Vec<u32>,
    has_failed: bool,
    /// True, by claim of the sweep, if its measure does not apply to the scheme under test.
    inapplicable: Vec<bool>,
}

impl Assessment<'_> {
    /// Executes the runs missing from `store`, locally or through an engine, and decides the claims. `tick` is called
    /// several times a second. The outcome does not depend on threads, engines or interruptions.
    ///
    /// # Errors
    ///
    /// An input is invalid, a run could not be saved, or the engine is lost.
    pub fn run(
        &self,
        store: &Store,
        mut engine: Option<&mut Engine<'_>>,
        mut tick: impl FnMut(Status),
    ) -> Result<Document, AssessError> {
        let sections =
            self.plan.sections_matching(&self.choice.selected_sections).map_err(AssessError::Invalid)?;
        self.plan.check_margins(self.margins).map_err(AssessError::Invalid)?;
        let needs_routers = self.check()?;
        let schemes = self.schemes();
        let replications = self.choice.replications.unwrap_or(match self.choice.quick {
            true => self.plan.quick.replications,
            false => self.plan.replications,
        });
        let files = self.sweeps(&sections, &schemes)?;
        let loads: Vec<Load<'_>> = files.iter().map(|(_, file)| self.load(file)).collect();
        let mut sweeps = Vec::new();
        for ((name, file), load) in files.iter().zip(&loads) {
            let mut sweep = self.sweep(file, load.as_ref())?;
            sweep.budget = Budget::Runs(replications);
            if self.choice.quick {
                let claims: Vec<&Claim> = claims_of(&sections, name).collect();
                keep_evenly_spread(&mut sweep, schemes.len(), self.plan.quick.points, &claims);
            }
            sweeps.push(sweep);
        }
        let points: usize = sweeps.iter().map(|sweep| sweep.plan.points.len() / schemes.len()).sum();
        let mut status =
            Status { total: points * schemes.len() * replications as usize, ..Status::default() };
        let (mut failed, mut complete, mut decided) = (Vec::new(), true, BTreeMap::new());
        let mut courses: BTreeMap<&str, Vec<Transient>> = BTreeMap::new();
        let (mut runs, mut unlike_defaults) = (0, Vec::new());
        for sweep in &sweeps {
            add_missing_entries(&mut unlike_defaults, sweep.differing_defaults());
        }
        for ((name, _), sweep) in files.iter().zip(&sweeps) {
            let before = status;
            let made = sweep.run(store, engine.as_deref_mut(), |now| {
                status.finished_runs = before.finished_runs + now.finished_runs;
                status.stored_runs = before.stored_runs + now.stored_runs;
                status.failed = before.failed + now.failed;
                tick(status);
            });
            let made = made.map_err(AssessError::Unfinished)?;
            complete &= made.iter().all(|made| made.is_finished || made.failure.is_some());
            runs += made.iter().map(|made| made.runs.len()).sum::<usize>();
            let claims: Vec<&Claim> = claims_of(&sections, name).collect();
            let measured = self.measure(sweep, &made, store, &schemes, &claims);
            for (point, of) in made.iter().enumerate() {
                let Some(failure) = &of.failure else { continue };
                let seed = failure.seed.unwrap_or(sweep.seed);
                failed.push(FailedPoint {
                    sweep: name.clone(),
                    values: values_of(sweep, point),
                    scheme: sweep.scheme(point).unwrap_or_default().to_owned(),
                    why: failure.why.clone(),
                    command: self.command(sweep, point, seed),
                });
            }
            decided.insert(name.as_str(), measured);
            let group = sections
                .iter()
                .flat_map(|section| &section.experiments)
                .find_map(|experiment| experiment.transient.as_deref().filter(|_| experiment.sweep == *name));
            if let Some(group) = group {
                courses.insert(
                    name,
                    goodput_transients(sweep, &schemes, group, |point| values_of(sweep, point)),
                );
            }
            if self.stop.load(Ordering::Relaxed) {
                complete = false;
                break;
            }
        }
        let sections = self.decide(&sections, &decided, &courses, &schemes);
        let margins = claims_in(&sections).map(|claim| &claim.margin).collect::<BTreeSet<_>>();
        let margins = margins.into_iter().filter_map(|name| {
            let margin = self.margins.find(name).ok()?;
            Some((name.clone(), (margin.about.clone(), margin.band_text.clone())))
        });
        Ok(Document {
            format: "thalweg-assess".to_owned(),
            version: 1,
            tool_version: self.program.version.clone(),
            scheme: self.scheme.to_owned(),
            pack: self.plan.title.clone(),
            references: self.plan.references.clone(),
            seeds: (sweeps.first().map_or(1, |sweep| sweep.seed), replications),
            quick: self.choice.quick,
            has_statement: self.plan.statement,
            complete,
            points,
            runs,
            needs_routers,
            unlike_defaults,
            sets: self.choice.sets.clone(),
            margins: margins.collect(),
            sections,
            failed,
        })
    }

    /// Checks that the scheme exists, and returns the name of the router feedback it uses.
    ///
    /// # Errors
    ///
    /// The scheme is unknown, or its options are invalid.
    pub fn check(&self) -> Result<Option<String>, AssessError> {
        let scheme_override = SchemeOverride { scheme: self.scheme, flows: &[1] };
        let loaded = Files::BuiltIn.load("alone.toml", &[], Some(scheme_override), self.registry);
        let loaded = loaded.map_err(AssessError::Scheme)?;
        let first = loaded.spec().groups.first();
        let needed = first.and_then(|group| group.transport.properties().router_feedback().needed());
        Ok(needed.map(|kind| kind.name().to_owned()))
    }

    /// Returns the scheme under test and the references that differ from it.
    fn schemes(&self) -> Vec<&str> {
        let others = self.plan.references.iter().map(String::as_str).filter(|other| *other != self.scheme);
        core::iter::once(self.scheme).chain(others).collect()
    }

    /// Creates a sweep with one run per point.
    pub(crate) fn sweep<'b>(
        &self,
        file: &'b SweepFile,
        load: &'b thalweg_sweep::Load<'b>,
    ) -> Result<Sweep<'b>, AssessError>
    where
        Self: 'b,
    {
        let budget = (Budget::Runs(1), self.program);
        let mut sweep = Sweep::new(file, load, budget, Arc::clone(&self.stop))?;
        sweep.threads = self.threads;
        sweep.memory = self.memory;
        Ok(sweep)
    }

    /// Returns the distinct sweeps of the sections, with these schemes.
    pub(crate) fn sweeps(
        &self,
        sections: &[&Section],
        schemes: &[&str],
    ) -> Result<Vec<(String, SweepFile)>, AssessError> {
        let mut files: Vec<(String, SweepFile)> = Vec::new();
        for experiment in sections.iter().flat_map(|section| &section.experiments) {
            if files.iter().any(|(name, _)| *name == experiment.sweep) {
                continue;
            }
            let text = self.files.text(&experiment.sweep).map_err(AssessError::Invalid)?;
            let path = self.files.path(&experiment.sweep);
            let mut file = read_sweep_text(&path, &text).map_err(AssessError::Scenario)?;
            let place = file.schemes.first().map_or(0..0, |of| of.place.clone());
            let placed = |name: &&str| PlacedText { text: (*name).to_owned(), place: place.clone() };
            file.schemes = schemes.iter().map(placed).collect();
            file.sets
                .extend(self.choice.sets.iter().map(|set| PlacedText { text: set.clone(), place: 0..0 }));
            files.push((experiment.sweep.clone(), file));
        }
        Ok(files)
    }

    pub(crate) fn load<'b>(&'b self, file: &'b SweepFile) -> Load<'b> {
        Box::new(move |sets, scheme_override| {
            let loaded = self.files.load(&file.scenario.text, sets, scheme_override, self.registry);
            loaded.map_err(LoadError::Scenario)
        })
    }

    /// Returns the command that reproduces one run of a point.
    fn command(&self, sweep: &Sweep<'_>, point: usize, seed: u64) -> String {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
        let mut command = format!("{} run {}", self.command, self.files.path(&sweep.file.scenario.text));
        let scheme = sweep.scheme(point).unwrap_or_default();
        let subject = sweep.file.flows.iter().map(|flows| format!("flow.{}.scheme={scheme}", flows.text));
        for set in sweep.sets(point).into_iter().chain(subject) {
            command.push_str(&format!(" --set {}", quoted(&set)));
        }
        format!("{command} --seed {seed}")
    }

    /// Returns the values of all points of a sweep, by scheme.
    fn measure(
        &self,
        sweep: &Sweep<'_>,
        made: &[PointResult],
        store: &Store,
        schemes: &[&str],
        claims: &[&Claim],
    ) -> Vec<MeasuredPoint> {
        let point = |first: usize| {
            let (mut of, mut different) = (Vec::new(), Vec::new());
            let mut inapplicable = Vec::new();
            for (number, made) in made[first..first + schemes.len()].iter().enumerate() {
                let runs: Vec<Run> = made.runs.iter().filter_map(|(_, name)| store.get(name)).collect();
                let targets = queue_targets(sweep, first + number, claims);
                let by_claim = || claims.iter().zip(&targets);
                let subject = |(claim, target): (&&Claim, &Option<Duration>)| {
                    runs.iter().map(|run| claim.measure.value(run, &claim.of, *target)).collect()
                };
                of.push(by_claim().map(subject).collect());
                if number == 0 {
                    let is_inapplicable = |(claim, target): (&&Claim, &Option<Duration>)| {
                        runs.iter().all(|run| claim.measure.is_inapplicable(run, &claim.of, *target))
                    };
                    inapplicable = by_claim().map(is_inapplicable).collect();
                }
                let prints: BTreeSet<&str> = runs.iter().map(|run| run.fingerprint.as_str()).collect();
                different.push(prints.len() as u32);
            }
            MeasuredPoint {
                values: values_of(sweep, first),
                command: self.command(sweep, first, sweep.seed),
                claim_values: of,
                different,
                inapplicable,
                has_failed: made[first..first + schemes.len()].iter().any(|made| !made.is_finished),
            }
        };
        (0..made.len()).step_by(schemes.len()).map(point).collect()
    }

    /// Returns the sections with their verdicts.
    fn decide(
        &self,
        sections: &[&Section],
        measured: &BTreeMap<&str, Vec<MeasuredPoint>>,
        courses: &BTreeMap<&str, Vec<Transient>>,
        schemes: &[&str],
    ) -> Vec<SectionResults> {
        // By claim, in document order: its points and, for each reference, their tests.
        let (mut points, mut tests, mut has_gaps) = (Vec::new(), Vec::new(), Vec::new());
        for section in sections {
            for experiment in &section.experiments {
                for claim in &experiment.claims {
                    let number =
                        claims_of(sections, &experiment.sweep).position(|other| core::ptr::eq(other, claim));
                    let known = measured.get(experiment.sweep.as_str()).map_or(&[][..], Vec::as_slice);
                    let chosen: Vec<&MeasuredPoint> =
                        known.iter().filter(|point| is_chosen(claim, &point.values)).collect();
                    let (subject, of) = self.points(claim, number.unwrap_or(0), &chosen, schemes);
                    has_gaps.push(chosen.iter().any(|point| point.has_failed));
                    points.push(subject);
                    tests.push(of);
                }
            }
        }
        let by_reference: Vec<Tests> = (0..self.plan.references.len())
            .map(|reference| {
                let subject =
                    tests.iter().map(|tests| claim_decisions::combine_point_tests(&tests[reference]));
                claim_decisions::correct_for_multiplicity(&subject.collect::<Vec<_>>())
            })
            .collect();
        let absolute = tests
            .iter()
            .map(|tests| tests.last().and_then(|subject| claim_decisions::combine_point_tests(subject)));
        let absolute = claim_decisions::correct_for_multiplicity(&absolute.collect::<Vec<_>>());
        let verdict = |test: Option<Test>, has_gaps: bool| match test {
            None => Verdict::NotEvaluated,
            Some(test) if test.beyond < claim_decisions::SIGNIFICANCE_LEVEL => Verdict::DoesNotHold,
            Some(test) if test.within < claim_decisions::SIGNIFICANCE_LEVEL && !has_gaps => Verdict::Holds,
            Some(_) => Verdict::NotDecided,
        };
        let (mut numbers, mut points) = (0.., points.into_iter());
        let mut claim = |claim: &Claim| {
            let (number, points) = (numbers.next().unwrap_or(0), points.next().unwrap_or_default());
            let band = self.margins.find(&claim.margin).ok().map(|margin| margin.band);
            let is_relative = band.is_some_and(Band::is_relative);
            let test = if is_relative { by_reference[0][number] } else { absolute[number] };
            let references = self.plan.references.iter().zip(&by_reference);
            ClaimResults {
                text: claim.text.clone(),
                of: claim.of.clone(),
                measure: claim.measure.name(),
                margin: claim.margin.clone(),
                less_is_better: band.is_some_and(less_is_better),
                is_relative,
                verdict: verdict(test, has_gaps[number]),
                p_holds: test.map(|test| test.within),
                p_does_not: test.map(|test| test.beyond),
                by_reference: references
                    .map(|(name, tests)| (name.clone(), verdict(tests[number], has_gaps[number])))
                    .collect(),
                points,
            }
        };
        let mut results = Vec::new();
        for section in sections {
            let mut experiments = Vec::new();
            for experiment in &section.experiments {
                experiments.push(ExperimentResults {
                    title: experiment.title.clone(),
                    sweep: experiment.sweep.clone(),
                    claims: experiment.claims.iter().map(&mut claim).collect(),
                    transients: courses.get(experiment.sweep.as_str()).cloned().unwrap_or_default(),
                });
            }
            let verdicts = experiments.iter().flat_map(|of| &of.claims).map(|claim| claim.verdict);
            results.push(SectionResults {
                number: section.number.clone(),
                title: section.title.clone(),
                verdict: Verdict::combine(verdicts),
                not_evaluated: section.not_evaluated.clone(),
                experiments,
            });
        }
        results
    }

    /// Returns the points of a claim, and their tests by reference followed, for a bound, by the scheme's own.
    fn points(
        &self,
        claim: &Claim,
        number: usize,
        measured: &[&MeasuredPoint],
        schemes: &[&str],
    ) -> (Vec<PointResults>, Vec<Tests>) {
        let Ok(margin) = self.margins.find(&claim.margin) else { return Default::default() };
        let band = margin.band;
        let places = || self.plan.references.iter().map(|reference| scheme_index(schemes, reference));
        let mut tests: Vec<Tests> = places()
            .map(|reference| {
                let test = |point: &&MeasuredPoint| match band.is_relative() {
                    _ if point.inapplicable[number] => None,
                    true => claim_decisions::test_point(
                        &point.claim_values[0][number],
                        &point.claim_values[reference][number],
                        band,
                    ),
                    false => claim_decisions::test_point(&point.claim_values[reference][number], &[], band),
                };
                measured.iter().map(test).collect()
            })
            .collect();
        if !band.is_relative() {
            let known = |point: &&MeasuredPoint| !point.inapplicable[number];
            let subject = |point: &&MeasuredPoint| {
                claim_decisions::test_point(&point.claim_values[0][number], &[], band)
            };
            tests.push(
                measured.iter().map(|point| Some(point).filter(|of| known(of)).and_then(subject)).collect(),
            );
        }
        let subject = if band.is_relative() { tests.first() } else { tests.last() };
        let outcomes = claim_decisions::claim_outcomes(subject.map_or(&[], Vec::as_slice));
        let point = |(point, outcome): (&&MeasuredPoint, ClaimOutcome)| {
            let subject = &point.claim_values[0][number];
            let mean = estimate_mean(subject);
            let references = self.plan.references.iter().zip(places()).map(|(scheme, place)| {
                let other = &point.claim_values[place][number];
                let difference = paired_difference(other, subject);
                ReferenceResults {
                    scheme: scheme.clone(),
                    mean: estimate_mean(other).map(|of| of.mean),
                    difference: difference.map(|of| of.mean),
                    difference_ci95: difference.and_then(|of| of.ci95),
                }
            });
            PointResults {
                values: point.values.clone(),
                outcome,
                mean: mean.map(|of| of.mean),
                ci95: mean.and_then(|of| of.ci95),
                worst: mean.map(|of| if less_is_better(band) { of.max } else { of.min }),
                seeds: subject.len() as u32,
                different: point.different[0],
                references: references.collect(),
                command: point.command.clone(),
            }
        };
        let points = measured.iter().zip(outcomes).map(point).collect();
        (points, tests)
    }
}

/// Returns the queueing delays that flows of a point aim at, by claim. Loads the point only if a claim needs them.
fn queue_targets(sweep: &Sweep<'_>, point: usize, claims: &[&Claim]) -> Vec<Option<Duration>> {
    let is_needed = claims.iter().any(|claim| claim.measure == Measure::QueuePerTarget);
    let spec = if is_needed { sweep.spec(point).ok() } else { None };
    let target = |claim: &&Claim| claim.measure.queue_target(spec.as_deref()?, &claim.of);
    claims.iter().map(target).collect()
}

const fn less_is_better(band: Band) -> bool {
    matches!(band, Band::NotAbove { .. } | Band::AtMost(_) | Band::Max(_))
}

fn estimate_mean(values: &[Option<f64>]) -> Option<Estimate> {
    Estimate::from_values(&values.iter().copied().flatten().collect::<Vec<_>>())
}

/// Returns the index of a reference among the executed schemes: 0 if it is the scheme under test.
fn scheme_index(schemes: &[&str], reference: &str) -> usize {
    schemes.iter().position(|scheme| *scheme == reference).unwrap_or(0)
}

/// Returns the claims decided from a sweep, in section order.
fn claims_of<'p>(sections: &[&'p Section], sweep: &str) -> impl Iterator<Item = &'p Claim> {
    let experiments = sections.iter().flat_map(|section| &section.experiments);
    experiments.filter(move |experiment| experiment.sweep == sweep).flat_map(|experiment| &experiment.claims)
}

fn claims_in(sections: &[SectionResults]) -> impl Iterator<Item = &ClaimResults> {
    sections.iter().flat_map(|section| &section.experiments).flat_map(|experiment| &experiment.claims)
}

/// Returns true if the claim covers a point with these values.
fn is_chosen(claim: &Claim, values: &BTreeMap<String, String>) -> bool {
    claim
        .only
        .iter()
        .all(|(factor, chosen)| values.get(factor).is_some_and(|subject| chosen.contains(subject)))
}

/// Returns the value of each factor except the scheme.
pub(crate) fn values_of(sweep: &Sweep<'_>, point: usize) -> BTreeMap<String, String> {
    let values = sweep.plan.named_values(point).into_iter().zip(&sweep.plan.factors);
    let plain = values.filter(|(_, factor)| !factor.is_scheme());
    plain.map(|((name, value), _)| (name.to_owned(), value.to_owned())).collect()
}

/// Keeps this many points, evenly spread, each with all schemes. For a claim left without points it keeps the first.
fn keep_evenly_spread(sweep: &mut Sweep<'_>, schemes: usize, max: usize, claims: &[&Claim]) {
    let all = sweep.plan.points.len() / schemes.max(1);
    if all <= max {
        return;
    }
    let mut kept: BTreeSet<usize> =
        (0..max).map(|number| if max > 1 { number * (all - 1) / (max - 1) } else { all / 2 }).collect();
    for claim in claims {
        let is_of = |point: &usize| is_chosen(claim, &values_of(sweep, point * schemes));
        if !kept.iter().any(is_of) {
            kept.extend((0..all).find(is_of));
        }
    }
    let mut number = 0;
    sweep.plan.points.retain(|_| {
        let is_kept = kept.contains(&(number / schemes.max(1)));
        number += 1;
        is_kept
    });
}
