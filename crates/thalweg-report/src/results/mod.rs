//! The results document: the output of `--json` and the content of `results.json`.
//!
//! Its names and their meaning are part of the interface; `docs/reference/results.md` describes them. The same
//! scenario, seeds and version give the same bytes on every machine. Nothing in the document depends on the clock.

mod compared_groups;
mod controller_states;
mod differing_defaults;
mod group_restriction;
mod max_min_fair_shares;
mod metric_definition;
mod metric_list;
mod metric_values;
mod metrics_reference;
mod replication_means;
mod run_results;
mod starvation;
mod stopping_rule;
mod warmup_drift;

pub use compared_groups::{ComparedDifference, ComparedGroups, ComparedScheme, Parts, goodput_share};
pub use controller_states::{StateVariable, StateVisit};
pub use differing_defaults::{
    DifferingDefault, SchemeDefault, compared_scheme, differing_defaults, differing_defaults_within,
};
pub use max_min_fair_shares::{Contention, PathFlows};
pub use metric_definition::{Aggregation, SubjectKind, Tables, Unit};
pub use metric_list::{Metric, MetricDefinition};
pub use metric_values::{OfFlow, OfGroup, OfLink, OfNetwork, OfSize, Subject, Values};
pub use metrics_reference::metrics_table;
pub use replication_means::{
    Difference, GroupMetrics, LinkMetrics, Metrics, PairedDifference, SizeMetrics, Summary,
};
pub use run_results::{Conservation, Curves, Flow, Group, Link, Round, Run, SizeClass};
pub use starvation::{FairShares, StarvedFlows};
pub use stopping_rule::{Goal, GoalOutcome, MIN_RUNS};
pub use warmup_drift::{Drift, GoodputSeries};

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::{self, Write as _};
use thalweg_proto::units::Duration;

/// Default margin of comparisons: smaller relative differences between schemes do not count.
pub const MARGIN: f64 = 0.01;

fn default_margin() -> f64 {
    MARGIN
}

/// Value of [`Document::format`].
pub const FORMAT: &str = "thalweg-results";

/// Version of the document's layout. It increases when a name is removed or changes its meaning. New names do not
/// increase it.
pub const VERSION: u32 = 1;

/// Bytes per write of a document. Smaller pieces cost more system calls, larger ones leave the processor's cache.
const JSON_PIECE: usize = 1 << 16;

/// Whole results document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// Program that made the document.
    pub tool: Tool,
    /// Scenario simulated.
    pub scenario: Scenario,
    /// Duration of the scenario.
    pub duration_s: f64,
    /// Warm-up of the scenario, excluded from measurements.
    pub warmup_s: f64,
    /// Requested seeds, one per replication.
    pub seeds: Vec<u64>,
    /// False after an interruption: runs are missing, or the last ones are partial.
    pub complete: bool,
    /// True if nothing in the scenario is random: every replication gives the same run. Missing if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deterministic: bool,
    /// Options that differ between the compared schemes, or those of the groups of one scenario, because of their
    /// defaults; missing if none differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlike_defaults: Vec<DifferingDefault>,
    /// Flows that compete over different sets of saturated links; missing if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention: Option<Contention>,
    /// Groups to which alone the compared schemes apply, with their results and the other groups' results; missing if
    /// the schemes apply to all flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<ComparedGroups>,
    /// Groups of flows whose goodput had not converged at the end of the warm-up; missing if none is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drifts: Vec<Drift>,
    /// Groups with flows that carried less than a twentieth of their max-min share; missing if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub starved: Vec<StarvedFlows>,
    /// Requested confidence interval and its outcome, for runs with a stopping rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<GoalOutcome>,
    /// True if the schemes of [`Self::body`] are the labels of results side by side ([`Self::side_by_side`]).
    #[serde(skip)]
    pub is_side_by_side: bool,
    /// Runs of one or several schemes, and their means.
    #[serde(flatten)]
    pub body: Body,
}

/// Program that made a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// `thalweg`.
    pub name: String,
    /// Version.
    pub version: String,
}

/// Scenario of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scenario {
    /// Title; empty where the file has none.
    pub title: String,
    /// File name without folders.
    pub file: String,
}

/// Runs of a document, by its kind: one run, replications or a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    /// One run.
    Run {
        /// Exactly one.
        runs: Vec<Run>,
    },
    /// One scenario with several seeds.
    Replications {
        /// One run for each seed, in order.
        runs: Vec<Run>,
        /// Means over the complete runs; missing if there are no complete runs.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        summary: Option<Summary>,
    },
    /// One scenario with several schemes.
    Comparison {
        /// Relative margin: smaller differences do not count.
        #[serde(default = "default_margin")]
        margin: f64,
        /// Results for each scheme, in the order requested.
        schemes: Vec<SchemeResults>,
        /// Differences of each other scheme from the first.
        differences: Vec<Difference>,
    },
}

/// Results of one scheme of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchemeResults {
    /// Name of the scheme.
    pub scheme: String,
    /// One run for each seed, in order.
    pub runs: Vec<Run>,
    /// Means over the complete runs; missing if there are no complete runs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub summary: Option<Summary>,
}

/// Metadata of a document, known before any run.
#[derive(Clone, Debug)]
pub struct Header {
    /// Version of the tool.
    pub tool_version: String,
    /// Scenario.
    pub scenario: Scenario,
    /// Duration of the scenario.
    pub duration: Duration,
    /// Warm-up of the scenario.
    pub warmup: Duration,
    /// Requested seeds.
    pub seeds: Vec<u64>,
    /// True if nothing in the scenario is random, under any scheme.
    pub deterministic: bool,
    /// Relative margin: smaller differences between schemes do not count. Default [`MARGIN`].
    pub margin: f64,
    /// Options that differ between the compared schemes, or those of the groups, because of their defaults.
    pub unlike_defaults: Vec<DifferingDefault>,
    /// Flows that compete over different sets of saturated links.
    pub contention: Option<Contention>,
    /// Groups to which alone the compared schemes apply; empty if they apply to all flows.
    pub compared: Vec<String>,
}

impl Document {
    /// Creates the document of one scenario with one or several seeds.
    pub fn from_runs(header: Header, runs: Vec<Run>) -> Self {
        let complete = is_complete(&header, &runs);
        let body = if header.seeds.len() == 1 {
            Body::Run { runs }
        } else {
            let summary = Summary::from_runs(&runs, &replication_means::bottleneck_links(&[&runs]));
            Body::Replications { runs, summary }
        };
        Self::new(header, complete, body)
    }

    /// Creates the document of a comparison: each scheme with its runs, one per seed.
    pub fn from_comparison(mut header: Header, schemes: Vec<(String, Vec<Run>)>) -> Self {
        let compared = std::mem::take(&mut header.compared);
        let complete = schemes.iter().all(|(_, runs)| is_complete(&header, runs));
        let body = comparison_body(schemes, header.margin);
        Self::new(header, complete, body).with_compared(compared)
    }

    /// Joins documents with their labels to one comparison. A comparison among them contributes each of its schemes, named after the
    /// label and the scheme. Title and warm-up are those of the first document; the duration is the longest. `None` without
    /// documents.
    pub fn side_by_side(parts: Vec<(String, Self)>) -> Option<Self> {
        let (_, first) = parts.first()?;
        let (tool, scenario, warmup_s) = (first.tool.clone(), first.scenario.clone(), first.warmup_s);
        let longest = parts.iter().map(|(_, part)| part.duration_s).fold(0.0, f64::max);
        // Live runs end at any nanosecond.
        let duration_s = (longest * 1e3).ceil() / 1e3;
        let seeds: BTreeSet<u64> = parts.iter().flat_map(|(_, part)| part.seeds.iter().copied()).collect();
        let complete = parts.iter().all(|(_, part)| part.complete);
        let mut all = Vec::new();
        for (label, part) in parts {
            match part.body {
                Body::Run { runs } | Body::Replications { runs, .. } => all.push((label, runs)),
                Body::Comparison { schemes, .. } => {
                    all.extend(schemes.into_iter().map(|of| (format!("{label} {}", of.scheme), of.runs)));
                }
            }
        }
        Some(Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            tool,
            scenario,
            duration_s,
            warmup_s,
            seeds: seeds.into_iter().collect(),
            complete,
            deterministic: false,
            unlike_defaults: Vec::new(),
            contention: None,
            compared: None,
            drifts: Vec::new(),
            starved: Vec::new(),
            until: None,
            is_side_by_side: true,
            body: comparison_body(all, MARGIN),
        })
    }

    fn new(header: Header, complete: bool, body: Body) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            tool: Tool { name: "thalweg".to_owned(), version: header.tool_version },
            scenario: header.scenario,
            duration_s: header.duration.as_secs_f64(),
            warmup_s: header.warmup.as_secs_f64(),
            seeds: header.seeds,
            complete,
            deterministic: header.deterministic,
            unlike_defaults: header.unlike_defaults,
            contention: header.contention,
            compared: None,
            drifts: Vec::new(),
            starved: Vec::new(),
            until: None,
            is_side_by_side: false,
            body,
        }
    }

    /// Returns the compared schemes; empty if the document is not a comparison.
    pub fn schemes(&self) -> Vec<&str> {
        match &self.body {
            Body::Comparison { schemes, .. } => schemes.iter().map(|of| of.scheme.as_str()).collect(),
            Body::Run { .. } | Body::Replications { .. } => Vec::new(),
        }
    }

    /// Returns every run, with its scheme in a comparison.
    pub fn runs(&self) -> impl Iterator<Item = (Option<&str>, &Run)> {
        self.runs_by_scheme().flat_map(|(scheme, runs)| runs.iter().map(move |run| (scheme, run)))
    }

    /// Returns the runs of each scheme with its name, or all runs where there is no comparison.
    pub(crate) fn runs_by_scheme(&self) -> impl Iterator<Item = (Option<&str>, &[Run])> {
        let (plain, schemes): (Option<&[Run]>, &[SchemeResults]) = match &self.body {
            Body::Run { runs } | Body::Replications { runs, .. } => (Some(runs), &[]),
            Body::Comparison { schemes, .. } => (None, schemes),
        };
        let schemes = schemes.iter().map(|of| (Some(of.scheme.as_str()), of.runs.as_slice()));
        plain.map(|runs| (None, runs)).into_iter().chain(schemes)
    }

    /// Writes the document as indented JSON with a final newline. It streams the text, which for many flows is several
    /// times as large as the document.
    ///
    /// # Errors
    ///
    /// The I/O errors of `out`.
    pub fn write_json(&self, mut out: impl io::Write) -> io::Result<()> {
        // Not generic from here on: the code is compiled once, in this crate.
        let out: &mut dyn io::Write = &mut out;
        let mut out = io::BufWriter::with_capacity(JSON_PIECE, out);
        serde_json::to_writer_pretty(&mut out, self)?;
        out.write_all(b"\n")?;
        out.flush()
    }

    /// Reads a document.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        let head: Head = serde_json::from_str(text).map_err(ReadError::Json)?;
        if head.format != FORMAT || head.version != VERSION {
            return Err(ReadError::Format { format: head.format, version: head.version });
        }
        serde_json::from_str(text).map_err(ReadError::Json)
    }
}

/// Returns the body of a comparison, with means and differences from the first scheme.
fn comparison_body(schemes: Vec<(String, Vec<Run>)>, margin: f64) -> Body {
    let all: Vec<&[Run]> = schemes.iter().map(|(_, runs)| runs.as_slice()).collect();
    let links = replication_means::bottleneck_links(&all);
    let against_first = |other: &(String, Vec<Run>)| Difference::between(&schemes[0], other, &links);
    let mut differences: Vec<Difference> = schemes.iter().skip(1).filter_map(against_first).collect();
    replication_means::correct_p_values(&mut differences);
    let with_summary = |(scheme, runs): (String, Vec<Run>)| {
        let summary = Summary::from_runs(&runs, &links);
        SchemeResults { scheme, runs, summary }
    };
    let schemes = schemes.into_iter().map(with_summary).collect();
    Body::Comparison { margin, schemes, differences }
}

/// Returns true if every seed ran to the end.
fn is_complete(header: &Header, runs: &[Run]) -> bool {
    runs.len() == header.seeds.len() && runs.iter().all(|run| run.complete)
}

/// Header fields common to all versions of the document.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u32,
}

/// Error of reading a results document.
#[derive(Debug)]
pub enum ReadError {
    /// Invalid JSON, or a missing field.
    Json(serde_json::Error),
    /// Document of another format or version.
    Format {
        /// Format named in the document.
        format: String,
        /// Version named in the document.
        version: u32,
    },
}

impl core::fmt::Display for ReadError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Json(error) => write!(f, "not a results document: {error}"),
            Self::Format { format, version } => {
                write!(f, "`{format}` version {version}, where `{FORMAT}` version {VERSION} was expected")
            }
        }
    }
}

impl core::error::Error for ReadError {}

#[cfg(test)]
pub(crate) mod test_fixtures;
#[cfg(test)]
mod tests;
