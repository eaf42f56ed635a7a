//! Claims of the thesis, decided by our runs, in the order of the thesis.
//!
//! A claim selects values by experiment, scheme and metric. If one of them is missing, because its experiment was not
//! run, the claim is left out. Ids are sections of the thesis with a letter; those of our own claims begin with `o`.
//!
//! Limits are those of the thesis, or follow from its wording. A printed size is met within a factor of
//! [`SIZE_FACTOR`]. If two values differ only by chance, the interval decides: a significant difference in the other
//! direction refutes a step, and an insignificant one does not.

mod chapter_5_comparison;
mod chapter_6_conclusions;
mod chapters_1_and_2_survey;
mod chapters_3_and_4_design;
#[cfg(test)]
mod tests;

use super::super::evidence::{Evidence, Interval};
use super::super::{Claim, Results, Row};
use super::metrics::VARIANCE_PER_RUN;
use serde_json::{Value, json};

/// Returns the claims that the results decide.
pub fn claims(results: &Results) -> Vec<Claim> {
    let study = Study(results);
    let parts = [
        chapters_1_and_2_survey::CLAIMS,
        chapters_3_and_4_design::CLAIMS,
        chapter_5_comparison::CLAIMS,
        chapter_6_conclusions::CLAIMS,
    ];
    parts.into_iter().flatten().filter_map(|claim| claim(&study)).collect()
}

/// Decision of a claim; none if a value is missing.
type Decide = fn(&Study<'_>) -> Option<Claim>;

/// Further keys that select a row, with their values.
type RowFilter<'a> = &'a [(&'a str, Value)];

struct Study<'a>(&'a Results);

impl Study<'_> {
    /// Returns the row of a value. `id` is a table without its prefix, such as `4.2/exp-1`, or one that begins with
    /// `ours/`.
    fn row(&self, id: &str, scheme: &str, metric: &str, keys: RowFilter<'_>) -> Option<&Row> {
        let name = match id.strip_prefix("ours/") {
            // Values of a table beyond the printed ones.
            Some(table) if table.starts_with(|c: char| c.is_ascii_digit()) => format!("ours/table-{table}"),
            Some(_) => id.to_owned(),
            None => format!("table-{id}"),
        };
        self.0.row(&name, scheme, metric, keys)
    }

    fn get(&self, id: &str, scheme: &str, metric: &str) -> Option<f64> {
        self.row(id, scheme, metric, &[])?.value
    }

    /// Returns the value with the half width of its interval, zero without randomness.
    fn interval(&self, id: &str, scheme: &str, metric: &str, keys: RowFilter<'_>) -> Option<Interval> {
        Interval::from_row(self.row(id, scheme, metric, keys)?)
    }

    /// Returns the printed value.
    fn printed_value(&self, id: &str, scheme: &str, metric: &str, keys: RowFilter<'_>) -> Option<f64> {
        self.row(id, scheme, metric, keys)?.published()
    }

    fn throughput(&self, id: &str, scheme: &str) -> Option<Interval> {
        self.interval(id, scheme, THROUGHPUT, &[])
    }

    fn printed_throughput(&self, id: &str, scheme: &str) -> Option<f64> {
        self.printed_value(id, scheme, THROUGHPUT, &[])
    }

    /// Returns the mean of the runs' own variances: averages over runs say little about the users of one run.
    fn variance(&self, table: &str, scheme: &str, sources: &str) -> Option<Interval> {
        let id = format!("ours/{table}");
        self.interval(&id, scheme, VARIANCE_PER_RUN, &[("sources", json!(sources))])
    }

    /// Returns a value of a table that is not printed: drops, messages.
    fn unprinted_value(&self, table: &str, scheme: &str, metric: &str) -> Option<Interval> {
        self.interval(&format!("ours/{table}"), scheme, metric, &[])
    }
}

/// Returns the gain of `better` over `base` in percent.
fn gain_percent(better: Interval, base: Interval) -> Interval {
    let ratio = better.mean / base.mean;
    let half = ratio * libm::hypot(better.half / better.mean, base.half / base.mean);
    Interval { mean: 100.0 * (ratio - 1.0), half: 100.0 * half }
}

/// Returns the gain of a printed value over another in percent.
fn printed_gain(better: f64, base: f64) -> f64 {
    100.0 * (better / base - 1.0)
}

/// Returns true if a value agrees with a printed one in size: its interval reaches the range between the printed one divided and
/// multiplied by [`SIZE_FACTOR`].
fn agrees_in_size(ours: Interval, printed: f64) -> bool {
    let (ours, printed) =
        if printed < 0.0 { (Interval { mean: -ours.mean, ..ours }, -printed) } else { (ours, printed) };
    !ours.is_surely_above(printed * SIZE_FACTOR) && !ours.is_surely_below(printed / SIZE_FACTOR)
}

/// Returns the means of values in a list.
fn format_means(values: &[Interval], decimals: usize) -> String {
    let words: Vec<String> = values.iter().map(|of| format!("{:.decimals$}", of.mean)).collect();
    words.join(", ")
}

/// Returns the means of a list of values.
fn interval_means(values: &[Interval]) -> Vec<f64> {
    values.iter().map(|of| of.mean).collect()
}

const THROUGHPUT: &str = "network_throughput_kbps";
const DROPS: &str = "packets_dropped";
const MESSAGES: &str = "feedback_messages";
/// Factor within which a printed size is met.
const SIZE_FACTOR: f64 = 1.5;
/// Change of a throughput that is "not much", in percent.
const LITTLE_PERCENT: f64 = 5.0;
/// Experiments of one-way traffic, by table.
const ONE_WAY: [&str; 6] = ["5.1/exp-1", "5.2/exp-2", "5.3/exp-3", "5.4/exp-4", "5.5/exp-5", "5.6/exp-6"];
