//! Results of a paper's runs, with the published values.

use super::claim::{Claim, Verdict, VerdictCounts};
use super::published_values::{Cell, equal_values};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::{Map, Value};
use thalweg_report::statistics::Estimate;

/// The results of a paper.
#[derive(Clone, Debug)]
pub struct Results {
    /// Name of the paper.
    pub paper: &'static str,
    /// False after an interruption.
    pub complete: bool,
    /// Results of each experiment.
    pub experiments: Vec<ExperimentResults>,
    /// Claims that the results decide.
    pub claims: Vec<Claim>,
}

/// The results of an experiment.
#[derive(Clone, Debug, Serialize)]
pub struct ExperimentResults {
    /// Name.
    pub id: String,
    /// Title of the experiment; empty without one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Values.
    #[serde(rename = "results")]
    pub rows: Vec<Row>,
}

/// Simulated value with the published one.
#[derive(Clone, Debug)]
pub struct Row {
    /// Identity of the value, and the published value.
    pub cell: Cell,
    /// Mean over the replications; none without a run.
    pub value: Option<f64>,
    /// Half width of the 95 % confidence interval by Student's t; none for a single replication.
    pub ci95: Option<f64>,
}

impl Row {
    /// Creates the row with the mean of `values` and its interval.
    pub fn new(cell: Cell, values: Option<&[f64]>) -> Self {
        let estimate = values.and_then(Estimate::from_values).map(|of| {
            // Avoids rounding of the mean of equal values.
            if of.min == of.max { Estimate { mean: of.min, ci95: of.ci95.map(|_| 0.0), ..of } } else { of }
        });
        let value = estimate.map(|of| of.mean).filter(|mean| mean.is_finite());
        Self { cell, value, ci95: estimate.and_then(|of| of.ci95).filter(|half| half.is_finite()) }
    }

    /// Returns the published value; `None` if it is missing or no number.
    pub fn published(&self) -> Option<f64> {
        self.cell.published.as_ref()?.as_f64()
    }

    /// Returns `value / published - 1`; `None` if the published value is missing, zero or no number.
    pub fn relative_difference(&self) -> Option<f64> {
        let published = self.published().filter(|published| *published != 0.0)?;
        Some(self.value? / published - 1.0)
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("scheme", &self.cell.scheme)?;
        map.serialize_entry("metric", &self.cell.metric)?;
        for (key, value) in &self.cell.keys {
            map.serialize_entry(key, value)?;
        }
        map.serialize_entry("value", &self.value)?;
        if let Some(ci95) = self.ci95 {
            map.serialize_entry("ci95", &ci95)?;
        }
        if let Some(published) = &self.cell.published {
            map.serialize_entry("published", published)?;
        }
        if let Some(difference) = self.relative_difference() {
            map.serialize_entry("relative_difference", &difference)?;
        }
        map.end()
    }
}

impl Results {
    /// Returns an experiment that was run.
    pub fn experiment(&self, id: &str) -> Option<&ExperimentResults> {
        self.experiments.iter().find(|of| of.id == id)
    }

    /// Returns our value of a metric of a scheme in an experiment, selected by further keys if needed.
    pub fn value(&self, id: &str, scheme: &str, metric: &str, keys: &[(&str, Value)]) -> Option<f64> {
        self.row(id, scheme, metric, keys)?.value
    }

    /// Returns the row of a value; see `value`.
    pub fn row(&self, id: &str, scheme: &str, metric: &str, keys: &[(&str, Value)]) -> Option<&Row> {
        let has = |row: &&Row| {
            row.cell.scheme == scheme
                && row.cell.metric == metric
                && keys.iter().all(|(key, value)| {
                    row.cell.keys.get(*key).is_some_and(|cell_value| equal_values(cell_value, value))
                })
        };
        self.experiment(id)?.rows.iter().find(has)
    }

    /// Returns the results as one JSON document.
    pub fn to_json(&self) -> String {
        let mut document = Map::new();
        document.insert("paper".to_owned(), self.paper.into());
        if !self.complete {
            document.insert("complete".to_owned(), false.into());
        }
        // Numbers, texts and lists of them are always valid JSON.
        let value = |of: &dyn Fn() -> serde_json::Result<Value>| of().unwrap_or_default();
        document.insert("experiments".to_owned(), value(&|| serde_json::to_value(&self.experiments)));
        document.insert("claims".to_owned(), value(&|| serde_json::to_value(&self.claims)));
        let mut text = serde_json::to_string_pretty(&Value::Object(document)).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Returns the claims that do not hold, not even in direction.
    pub fn failed(&self) -> impl Iterator<Item = &Claim> {
        self.with_verdict(Verdict::Fails)
    }

    /// Returns the claims with this verdict.
    pub fn with_verdict(&self, verdict: Verdict) -> impl Iterator<Item = &Claim> {
        self.claims.iter().filter(move |claim| claim.verdict == verdict)
    }

    /// Returns the numbers of the claims by verdict in a sentence, those of the paper before those of this project.
    pub fn summary(&self) -> String {
        let noun = super::find_paper(self.paper).map_or("paper", |paper| paper.kind);
        VerdictCounts::sentence(&self.claims, noun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(published: Value, values: &[f64]) -> Row {
        let published = Some(published).filter(|value| !value.is_null());
        Row::new(Cell { published, ..Cell::unpublished("seif", "x").with("source", 1) }, Some(values))
    }

    #[test]
    fn a_row_states_the_available_values() {
        let json = |row: &Row| serde_json::to_value(row).unwrap();
        assert_eq!(
            json(&row(json!(4), &[5.0])),
            json!({
                "scheme": "seif", "metric": "x", "source": 1, "value": 5.0, "published": 4, "relative_difference": 0.25
            })
        );
        assert_eq!(
            json(&row(json!(null), &[5.0])),
            json!({"scheme": "seif", "metric": "x", "source": 1, "value": 5.0})
        );
        // There is no relative difference to zero or to a text.
        assert_eq!(row(json!(0), &[5.0]).relative_difference(), None);
        assert_eq!(row(json!("> 70"), &[5.0]).relative_difference(), None);
        let replicated = row(json!(null), &[1.0, 2.0, 3.0]);
        assert_eq!(replicated.value, Some(2.0));
        // Student's t of two degrees is 4.303; the standard error is 1 / sqrt 3.
        assert!((replicated.ci95.unwrap() - 4.303 / 3.0_f64.sqrt()).abs() < 1e-3);
        assert_eq!(row(json!(1), &[f64::NAN]).value, None);
        let equal = row(json!(null), &[0.1, 0.1, 0.1]);
        assert_eq!((equal.value, equal.ci95), (Some(0.1), Some(0.0)));
    }
}
