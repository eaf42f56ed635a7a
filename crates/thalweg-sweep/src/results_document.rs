//! Results of a sweep: a document of means, and tables of all flows and links.

use crate::factor_importance::{
    Classes, confounded_sets, cross_classes, explained_variance_share, random_variance_share,
};
use crate::run_store::Store;
use crate::sweep_execution::{Budget, PointResult, Sweep};
use crate::sweep_points::{Factor, Plan, ShardState};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use thalweg_report::output::{
    Cells, MeansRow, ParquetRows, Remedy, Rows, Style, differing_defaults_warning, format_count,
    format_means_table, format_value, goodput_from_warmup, has_transfers, heads_of, join_listed, join_quoted,
    mean_in_words, share_in_words,
};
use thalweg_report::results::{
    DifferingDefault, Metric, Metrics, Run, SubjectKind, Summary, Tables as In, goodput_share,
};
use thalweg_report::statistics::Estimate;

/// Results of a sweep. File, scenario and version alone determine its bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// `thalweg-sweep`.
    pub format: &'static str,
    /// Version of the layout.
    pub version: u32,
    /// Version of the program.
    pub tool_version: String,
    /// Name of the sweep's file, without folders.
    pub file: String,
    /// Scenario named in the file.
    pub scenario: String,
    /// True if every point has all of its runs, or failed.
    pub complete: bool,
    /// Shard whose points these are; `None` if they are all.
    #[serde(skip)]
    pub shard: Option<ShardState>,
    /// Options that differ between schemes because of their defaults; missing if none differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unlike_defaults: Vec<DifferingDefault>,
    /// Groups of flows covered by the metrics of points; missing if they cover all flows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compared: Vec<String>,
    /// Factors with their values, in the order of points.
    pub factors: Vec<FactorResults>,
    /// Points with runs.
    pub points: Vec<PointResults>,
    /// Points with missing runs because of a failure.
    pub failed: Vec<FailedPoint>,
    /// Share of the variance over points that each factor explains alone, by metric of the network.
    pub importance: BTreeMap<&'static str, Importance>,
    /// Sets of factors whose values change together over the points; missing if all change independently. Each of them has
    /// the share of the set in `importance`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confounded: Vec<Vec<String>>,
}

/// Varied key with its values.
#[derive(Clone, Debug, Serialize)]
pub struct FactorResults {
    /// Varied key, or `scheme`.
    pub name: String,
    /// Values of the factor, as text.
    pub values: Vec<String>,
    /// True if the values were sampled from a range.
    pub drawn: bool,
    /// Unit of values that are plain numbers of a rate, a time or a size; only programs may leave units out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<&'static str>,
    /// `integer` or `number`, as in tables, if all values are numbers without a unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numbers: Option<&'static str>,
}

impl FactorResults {
    /// Returns the title of an axis: the name, with the unit of plain numbers.
    pub fn title(&self) -> String {
        match self.unit {
            Some(unit) => format!("{} ({unit})", self.name),
            None => self.name.clone(),
        }
    }
}

/// Means of a point.
#[derive(Clone, Debug, Serialize)]
pub struct PointResults {
    /// Number, from 1.
    pub point: usize,
    /// Value of each factor.
    pub values: BTreeMap<String, String>,
    /// Seeds of its runs.
    pub seeds: Vec<u64>,
    /// True if all of its runs are complete.
    pub complete: bool,
    /// True if the requested confidence interval was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached: Option<bool>,
    /// Share of the goodput of backlogged flows that arrived during the warm-up and waited for loss repair; missing if it
    /// is within the default margin of comparisons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_warmup: Option<f64>,
    /// Metrics of the network, or of the compared groups.
    pub metrics: Metrics,
    /// Results of the other groups, where only some are compared.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub beside: Option<OtherGroups>,
}

/// Results of the groups other than the compared ones.
#[derive(Clone, Debug, Serialize)]
pub struct OtherGroups {
    /// Goodput of the compared groups over that of all flows; missing where there is none.
    pub share: Option<Estimate>,
    /// Metrics of the other groups.
    pub rest: Metrics,
}

/// Point with missing runs because of a failure.
#[derive(Clone, Debug, Serialize)]
pub struct FailedPoint {
    /// Number, from 1.
    pub point: usize,
    /// Value of each factor.
    pub values: BTreeMap<String, String>,
    /// Reason.
    pub why: String,
    /// Command that reproduces the failure.
    pub command: String,
}

/// Variance decomposition of a metric.
#[derive(Clone, Debug, Serialize)]
pub struct Importance {
    /// Share that each factor explains alone, or with the factors that change with it.
    pub factors: BTreeMap<String, f64>,
    /// Share of the variance of all runs that lies between runs of the same point: random variation. Missing with one
    /// run per point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chance: Option<f64>,
}

/// Tables of a sweep's flows and links, for other programs.
struct Tables {
    paths: [std::path::PathBuf; 2],
    writers: [Option<ParquetRows>; 2],
    rows: [Rows; 2],
}

/// Number of rows in a row group.
const ROW_GROUP_ROWS: usize = 50_000;

impl Tables {
    fn new(store: &Store) -> Self {
        let paths = ["flows.parquet", "links.parquet"].map(|name| store.path(name));
        Self { paths, writers: [None, None], rows: [Rows::default(), Rows::default()] }
    }

    fn add(&mut self, plan: &Plan, numbers: &[Numbers], point: usize, run: &Run) -> io::Result<()> {
        for (kind, mut rows) in [Rows::flows(run), Rows::links(run)].into_iter().enumerate() {
            let count = rows.len();
            let scheme = plan.factors.iter().position(Factor::is_scheme);
            let scheme = scheme.map(|number| plan.level(point, number).unquoted());
            if let Some(scheme) = scheme.filter(|_| kind == 0) {
                // The flows that keep their own scheme belong to one of the point too.
                rows.push_front("compared", Cells::Text(vec![scheme.to_owned(); count]));
            }
            for (number, factor) in
                plan.factors.iter().enumerate().rev().filter(|(_, factor)| !factor.is_scheme())
            {
                let name = &factor.key.text;
                let words = plan.level(point, number).unquoted();
                let known = numbers[number].as_ref();
                if let Some((values, unit)) = known {
                    let value = values[plan.points[point][number] as usize];
                    let cells = match factor.counts() {
                        Some(counts) => {
                            Cells::Integer(vec![counts[plan.points[point][number] as usize]; count])
                        }
                        None => Cells::Number(vec![Some(value); count]),
                    };
                    rows.push_front(format!("{name}{unit}"), cells);
                }
                if known.is_none_or(|(_, unit)| !unit.is_empty()) {
                    rows.push_front(name.clone(), Cells::Text(vec![words.to_owned(); count]));
                }
            }
            if kind == 1 {
                rows.push_front("scheme", Cells::Text(vec![scheme.unwrap_or_default().to_owned(); count]));
            }
            rows.push_front("point", Cells::Integer(vec![point as u64 + 1; count]));
            self.rows[kind].append(rows);
            if self.rows[kind].len() >= ROW_GROUP_ROWS {
                self.flush(kind)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self, kind: usize) -> io::Result<()> {
        let rows = core::mem::take(&mut self.rows[kind]);
        let writer = match &mut self.writers[kind] {
            Some(writer) => writer,
            empty => {
                let part = self.paths[kind].with_extension("partial");
                empty.insert(ParquetRows::new(io::BufWriter::new(File::create(part)?), &rows)?)
            }
        };
        writer.add(&rows)
    }

    fn finish(mut self) -> io::Result<()> {
        for kind in 0..self.paths.len() {
            if !self.rows[kind].is_empty() {
                self.flush(kind)?;
            }
            if let Some(writer) = self.writers[kind].take() {
                writer.finish()?;
                std::fs::rename(self.paths[kind].with_extension("partial"), &self.paths[kind])?;
            } else {
                // Without a run, the rows of an earlier call would pass for those of this one.
                remove_if_present(&self.paths[kind])?;
            }
        }
        Ok(())
    }
}

fn remove_if_present(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Values of a factor as numbers, with the suffix of its column name.
type Numbers = Option<(Vec<f64>, &'static str)>;

impl Document {
    /// Returns the results of the points in `made`, and writes their tables to the store's folder; a shard leaves these to
    /// the call that joins all. `rerun` returns the command that reproduces a run of a point with a seed.
    ///
    /// # Errors
    ///
    /// Tables cannot be written.
    pub fn new(
        sweep: &Sweep<'_>,
        made: &[PointResult],
        store: &Store,
        rerun: impl Fn(usize, u64) -> String,
    ) -> io::Result<Self> {
        let plan = &sweep.plan;
        let numbers: Vec<Numbers> = plan.factors.iter().map(Factor::numbers).collect();
        let is_whole = sweep.shard.1 <= 1;
        let mut tables = is_whole.then(|| Tables::new(store));
        let (mut points, mut failed, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        let selected = |point: usize| {
            let words = plan.named_values(point).into_iter();
            words.map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<BTreeMap<_, _>>()
        };
        for (point, of) in made.iter().enumerate() {
            if let Some(failure) = &of.failure {
                let command = rerun(point, failure.seed.unwrap_or(sweep.seed));
                failed.push(FailedPoint {
                    point: point + 1,
                    values: selected(point),
                    why: failure.why.clone(),
                    command,
                });
            }
            let runs: Vec<Run> = of.runs.iter().filter_map(|(_, name)| store.get(name)).collect();
            if let Some(tables) = &mut tables {
                runs.iter().try_for_each(|run| tables.add(plan, &numbers, point, run))?;
            }
            let is_compared = |name: &str| sweep.compared.iter().any(|group| group == name);
            let (compared_runs, beside) = if sweep.compared.is_empty() {
                (None, None)
            } else {
                let narrowed = |selected: bool| -> Vec<Run> {
                    runs.iter().map(|run| run.narrowed(|name| is_compared(name) == selected)).collect()
                };
                let (selected, rest) = (narrowed(true), narrowed(false));
                let share = goodput_share(&runs, &selected);
                let rest = Summary::without_links(&rest).map(|summary| summary.totals).unwrap_or_default();
                (Some(selected), Some(OtherGroups { share, rest }))
            };
            let Some(summary) = Summary::without_links(compared_runs.as_ref().unwrap_or(&runs)) else {
                continue;
            };
            kept.push(point);
            points.push(PointResults {
                point: point + 1,
                values: selected(point),
                seeds: runs.iter().map(|run| run.seed).collect(),
                complete: of.is_finished,
                reached: of.goal_reached,
                from_warmup: goodput_from_warmup(compared_runs.as_ref().unwrap_or(&runs)),
                metrics: summary.totals,
                beside,
            });
        }
        tables.map_or(Ok(()), Tables::finish)?;
        let (shard, shards) = sweep.shard;
        let is_in_shard = |(point, _): &(usize, &PointResult)| *point as u32 % shards.max(1) == shard;
        let complete =
            made.iter().enumerate().filter(is_in_shard).all(|(_, of)| of.is_finished || of.failure.is_some());
        let factors = plan.factors.iter().zip(factor_units(sweep)).map(|(factor, unit)| FactorResults {
            name: factor.key.text.clone(),
            values: factor.levels.iter().map(|level| level.unquoted().to_owned()).collect(),
            drawn: factor.is_drawn_from_range(),
            unit,
            numbers: factor.plain_numbers(),
        });
        let (importance, confounded) = importance_by_metric(plan, &numbers, &kept, &points);
        let file = std::path::Path::new(sweep.file.source.name()).file_name().unwrap_or_default();
        Ok(Self {
            format: "thalweg-sweep",
            version: 1,
            tool_version: sweep.program.version.clone(),
            file: file.to_string_lossy().into_owned(),
            scenario: sweep.file.scenario.text.clone(),
            complete: complete && is_whole,
            shard: ShardState::of(sweep.shard, complete),
            unlike_defaults: sweep.differing_defaults(),
            compared: sweep.compared.clone(),
            factors: factors.collect(),
            importance,
            confounded,
            points,
            failed,
        })
    }

    /// Returns the document as JSON.
    pub fn to_json(&self) -> String {
        // Cannot fail: plain data with string keys.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Returns the factors in descending order of the explained share of a metric.
    pub fn ranked(&self, metric: Metric) -> Vec<(&str, f64)> {
        let Some(of) = self.importance.get(metric.name(SubjectKind::Network)) else { return Vec::new() };
        let mut ranked: Vec<(&str, f64)> =
            of.factors.iter().map(|(name, share)| (name.as_str(), *share)).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        ranked
    }

    /// Formats the results as text: the points if they are few, and the importance of factors.
    pub fn summary(&self, budget: &Budget, style: Style) -> String {
        let mut text = style.bold(&style.clean(&format!("{}: sweep of {}", self.file, self.scenario)));
        let runs: usize = self.points.iter().map(|point| point.seeds.len()).sum();
        let of = |count: usize, one| format_count(count as u64, one);
        text.push_str(&style.folded(&format!("\n{}, {}\n", of(self.points.len(), "point"), of(runs, "run"))));
        match self.shard.and_then(ShardState::completion) {
            Some(completion) => text.push_str(&style.folded(&completion)),
            None if self.complete => {}
            None => text.push_str("PARTIAL: points are missing; repeat the call to continue\n"),
        }
        if !self.compared.is_empty() {
            let names = join_quoted(&self.compared);
            text.push_str(
                &style.folded(&format!("{}\n", style.clean(&format!("Metrics are of {names} alone")))),
            );
        }
        let warning = differing_defaults_warning(&self.unlike_defaults, Remedy::SweepFile);
        text.extend(warning.map(|warning| style.folded(&style.clean(&warning)) + "\n"));
        if self.points.len() <= MAX_SHOWN {
            let names = self.factors.iter().map(|factor| factor.name.as_str());
            let heads: Vec<&str> = core::iter::once("Point").chain(names).collect();
            let lead = |point: &PointResults| {
                let cells =
                    heads[1..].iter().map(|head| point.values.get(*head).cloned().unwrap_or_default());
                core::iter::once(point.point.to_string()).chain(cells).collect::<Vec<String>>()
            };
            let goodput = |point: &PointResults| {
                let beside = point.beside.as_ref()?;
                let rest = beside.rest.get(Metric::Goodput.name(SubjectKind::Network));
                Some(vec![
                    beside.share.map_or_else(|| style.nothing().to_owned(), |of| share_in_words(&of, style)),
                    rest.map_or_else(
                        || style.nothing().to_owned(),
                        |of| mean_in_words(Metric::Goodput, *of, style),
                    ),
                ])
            };
            let rows: Vec<MeansRow<'_>> = self
                .points
                .iter()
                .map(|point| MeansRow {
                    lead: lead(point),
                    metrics: &point.metrics,
                    trail: goodput(point).unwrap_or_default(),
                })
                .collect();
            let trail: &[&str] =
                if self.compared.is_empty() { &[] } else { &["Share of all", "Goodput of the others"] };
            text.push_str(&format!("\n{}", format_means_table(&heads, &rows, trail, style)));
        } else {
            text.push_str(&self.extremes(style));
        }
        text.push_str(&self.explanation(style));
        text.extend(self.warmup_data().map(|remark| style.folded(&format!("\n{remark}\n"))));
        if let Budget::Until(goal, max) = budget {
            let missed: Vec<&PointResults> =
                self.points.iter().filter(|point| point.reached == Some(false)).collect();
            if !missed.is_empty() {
                let numbers: Vec<String> =
                    missed.iter().take(8).map(|point| point.point.to_string()).collect();
                text.push_str(&style.folded(&format!(
                    "\nNOT REACHED: after {max} runs the 95 % interval of {} points is wider than {:.3} % of its mean: {}{}\n",
                    missed.len(),
                    goal.share * 100.0,
                    numbers.join(", "),
                    if missed.len() > 8 { ", ..." } else { "" }
                )));
            }
        }
        text
    }

    /// Returns the remark on points whose goodput counts much data from the warm-up.
    fn warmup_data(&self) -> Option<String> {
        let points = || self.points.iter().filter_map(|point| Some((point.from_warmup?, point.point)));
        let (share, point) = points().max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(format!(
            "At {} of {}, a part of the goodput is data that arrived during the warm-up and waited for loss repair, so goodput can \
             exceed the rate of the path (at point {point} it is {:.1} %); set a longer `warmup` or `duration`.",
            points().count(),
            format_count(self.points.len() as u64, "point"),
            100.0 * share
        ))
    }

    /// Formats the points with the minimum and the maximum of each metric.
    fn extremes(&self, style: Style) -> String {
        let mut text = String::new();
        for metric in metrics_of(&self.points) {
            let name = metric.name(SubjectKind::Network);
            let mean = |point: &&PointResults| point.metrics.get(name).map(|of| of.mean);
            let known = || self.points.iter().filter(|point| mean(point).is_some());
            let by = |a: &&PointResults, b: &&PointResults| {
                mean(a).unwrap_or(0.0).total_cmp(&mean(b).unwrap_or(0.0))
            };
            let ends = [("min", known().min_by(by)), ("max", known().max_by(by))];
            for (what, point) in ends {
                let Some(point) = point else { continue };
                let values: Vec<String> =
                    point.values.iter().map(|(name, value)| format!("{name} {value}")).collect();
                let amount = format_value(metric, mean(&point).unwrap_or(0.0));
                let line = format!(
                    "{}, {what}: {amount} at point {} ({})",
                    heads_of(&[metric]).concat(),
                    point.point,
                    values.join(", ")
                );
                text.push_str(&style.folded(&style.clean(&line)));
                text.push('\n');
            }
        }
        format!("\n{text}")
    }

    /// Returns the name of a factor, with those that change with it; `None` except for the first of these.
    fn joint_name(&self, name: &str) -> Option<String> {
        match self.confounded.iter().find(|set| set.iter().any(|of| of == name)) {
            Some(set) => (set[0] == name).then(|| set.join(" with ")),
            None => Some(name.to_owned()),
        }
    }

    fn explanation(&self, style: Style) -> String {
        let mut text = String::new();
        // The points of a shard do not combine all values.
        if !self.complete {
            return text;
        }
        for metric in shown_metrics() {
            let Some(of) = self.importance.get(metric.name(SubjectKind::Network)) else { continue };
            let shares: Vec<String> = self
                .ranked(metric)
                .into_iter()
                .filter_map(|(name, share)| {
                    Some(format!("{} {:.0} %", self.joint_name(name)?, share * 100.0))
                })
                .collect();
            let shares: Vec<&str> = shares.iter().map(String::as_str).collect();
            let chance = of.chance.map(|share| {
                format!("; random variation is {:.0} % of the variance over all runs", share * 100.0)
            });
            let head = heads_of(&[metric]).concat();
            let line = format!("{head}: {}{}", join_listed(&shares), chance.unwrap_or_default());
            text.push_str(&style.folded(&style.clean(&line)));
            text.push('\n');
        }
        if text.is_empty() {
            text
        } else {
            format!("\nVariance over points that each factor explains by itself\n{text}")
        }
    }
}

/// Returns the network metrics in tables of several runs: in the order of `run`, transfer metrics last.
fn shown_metrics() -> impl Iterator<Item = Metric> {
    Metric::in_table(In::MEANS)
        .chain(Metric::in_table(In::TRANSFERS).filter(|metric| !metric.line().tables.intersects(In::MEANS)))
}

/// Maximum number of points in a table.
const MAX_SHOWN: usize = 40;

/// Returns the metrics shown for points.
pub(crate) fn metrics_of(points: &[PointResults]) -> Vec<Metric> {
    let has = |metric: &Metric| {
        points.iter().any(|point| point.metrics.contains_key(metric.name(SubjectKind::Network)))
    };
    let varies = |metric: &Metric| {
        let of =
            |point: &PointResults| point.metrics.get(metric.name(SubjectKind::Network)).map(|of| of.mean);
        let mut known = points.iter().filter_map(of);
        let first = known.next();
        !metric.line().omitted_when_zero
            || known.any(|value| Some(value) != first)
            || first.is_some_and(|value| value != 0.0)
    };
    let can_complete = points.iter().any(|point| has_transfers(&point.metrics));
    let applies = |metric: &Metric| *metric != Metric::Completions || can_complete;
    shown_metrics().filter(|metric| has(metric) && varies(metric) && applies(metric)).collect()
}

/// Returns the share of the variance that each factor explains, by metric, and the sets of factors that change together.
fn importance_by_metric(
    plan: &Plan,
    numbers: &[Numbers],
    kept: &[usize],
    points: &[PointResults],
) -> (BTreeMap<&'static str, Importance>, Vec<Vec<String>>) {
    let varied =
        plan.factors.iter().zip(numbers).enumerate().filter(|(_, (factor, _))| factor.levels.len() > 1);
    let draws: Vec<Option<u32>> = varied.clone().map(|(_, (factor, _))| factor.draws()).collect();
    let (names, mut classes): (Vec<&str>, Vec<Classes>) = varied
        .map(|(number, (factor, numbers))| {
            let classes = match numbers.as_ref().filter(|_| factor.is_drawn_from_range()) {
                Some((values, _)) => {
                    let selected: Vec<f64> =
                        kept.iter().map(|&point| values[plan.points[point][number] as usize]).collect();
                    Classes::bin_by_rank(&selected)
                }
                None => Classes {
                    class_of_point: kept.iter().map(|&point| plan.points[point][number] as usize).collect(),
                    count: factor.levels.len(),
                },
            };
            (factor.key.text.as_str(), classes)
        })
        .unzip();
    let sets = if points.len() > 1 { confounded_sets(&classes, &draws) } else { Vec::new() };
    for set in &sets {
        let joint = cross_classes(&set.iter().map(|&number| &classes[number]).collect::<Vec<_>>());
        set.iter().for_each(|&number| classes[number] = joint.clone());
    }
    let mut all = BTreeMap::new();
    for metric in shown_metrics() {
        let name = metric.name(SubjectKind::Network);
        let estimates: Option<Vec<_>> = points.iter().map(|point| point.metrics.get(name)).collect();
        let Some(estimates) = estimates.filter(|estimates| estimates.len() > 1) else { continue };
        let values: Vec<f64> = estimates.iter().map(|of| of.mean).collect();
        let shares: Option<BTreeMap<String, f64>> = names
            .iter()
            .zip(&classes)
            .map(|(name, classes)| Some(((*name).to_owned(), explained_variance_share(&values, classes)?)))
            .collect();
        let Some(factors) = shares.filter(|shares| !shares.is_empty()) else { continue };
        all.insert(name, Importance { factors, chance: random_variance_share(&estimates) });
    }
    let named = |set: &Vec<usize>| set.iter().map(|&number| names[number].to_owned()).collect();
    (all, sets.iter().map(named).collect())
}

/// Returns the unit of each factor whose values are plain numbers of a rate, a time or a size.
fn factor_units(sweep: &Sweep<'_>) -> Vec<Option<&'static str>> {
    let plan = &sweep.plan;
    let is_plain: Vec<bool> = plan
        .factors
        .iter()
        .map(|factor| factor.numbers().is_some_and(|(_, suffix)| suffix.is_empty()))
        .collect();
    if !is_plain.contains(&true) {
        return vec![None; is_plain.len()];
    }
    // Some points may be invalid.
    let loaded = (0..plan.points.len()).take(MAX_LOADED).find_map(|point| sweep.load(point).ok());
    let mut number = sweep.file.sets.len();
    let unit = |(factor, is_plain): (&Factor, bool)| {
        number += usize::from(!factor.is_scheme());
        loaded.as_ref().filter(|_| is_plain)?.unit_of_set(number)
    };
    plan.factors.iter().zip(is_plain).map(unit).collect()
}

/// Maximum number of points that are loaded in search of a valid one.
const MAX_LOADED: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program_identity::Program;
    use crate::run_store::Purpose;
    use crate::sweep_execution::LoadError;
    use std::path::Path;
    use std::sync::Arc;
    use thalweg_scenario::{LoadedScenario, SchemeOverride, load_text_with_override, read_sweep_text};

    const SCENARIO: &str = r#"
[[link]]
name = "core"
between = ["a", "b"]
rate = "5 Mbit/s"
delay = "5 ms"
queue = "20 pkt"
[[flow]]
from = "a"
to = "b"
"#;

    const SWEEP: &str = r#"
scenario = "x"
set = ["warmup=0"]
schemes = ["cubic", "vegas"]
[grid]
flow.1.count = [1, 2]
link.core.rate = [5e6, 1e7]
duration = [-1, 1]
link.core.delay = ["5 ms", "10 ms"]
"#;

    /// The folder of a sweep whose points all failed has the tables of an earlier call.
    #[test]
    fn tables_without_rows_replace_earlier_ones() {
        let folder = std::env::temp_dir().join(format!("thalweg-tables-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let store = Store::open(&folder, Purpose::SWEEP).unwrap();
        let paths = ["flows.parquet", "links.parquet"].map(|name| store.path(name));
        for _ in 0..2 {
            Tables::new(&store).finish().unwrap();
            assert!(paths.iter().all(|path| !path.exists()));
            paths.iter().for_each(|path| std::fs::write(path, "earlier").unwrap());
        }
        Tables::new(&store).finish().unwrap();
        assert!(paths.iter().all(|path| !path.exists()));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// The first point is invalid: its duration is negative.
    #[test]
    fn plain_numbers_have_their_unit_at_the_axis() {
        let read = |sets: &[String], other: Option<SchemeOverride<'_>>, registry: &_| {
            load_text_with_override("x", SCENARIO, Path::new(""), sets, other, registry)
        };
        let mut registry = read(&[], None, &Arc::default()).unwrap().scenario.registry;
        Arc::make_mut(&mut registry).accept_unitless_numbers();
        let load =
            |sets: &[String], other: Option<SchemeOverride<'_>>| -> Result<LoadedScenario, LoadError> {
                read(sets, other, &registry).map_err(LoadError::Scenario)
            };
        let file = read_sweep_text("s.toml", SWEEP).unwrap();
        let program = Program { version: "1".to_owned(), build: "b".to_owned() };
        let sweep = Sweep::new(&file, &load, (Budget::Runs(1), &program), Arc::default()).unwrap();
        assert!(sweep.load(0).is_err());
        let names = sweep.plan.factors.iter().map(|factor| factor.key.text.as_str());
        let units: Vec<_> = names.zip(factor_units(&sweep)).collect();
        assert_eq!(
            units,
            [
                ("flow.1.count", None),
                ("link.core.rate", Some("bit/s")),
                ("duration", Some("s")),
                ("link.core.delay", None),
                ("scheme", None)
            ]
        );
        let numbers: Vec<_> = sweep.plan.factors.iter().map(Factor::plain_numbers).collect();
        assert_eq!(numbers, [Some("integer"), Some("number"), Some("number"), None, None]);
        let factor = |unit| FactorResults {
            name: "duration".to_owned(),
            values: vec![],
            drawn: false,
            unit,
            numbers: None,
        };
        assert_eq!([factor(Some("s")), factor(None)].map(|of| of.title()), ["duration (s)", "duration"]);
    }
}
