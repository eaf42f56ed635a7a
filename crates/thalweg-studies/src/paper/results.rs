//! Results of a paper's runs, with the published values.

use super::published::{Cell, same};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::{Map, Value};
use thalweg_report::statistics::Estimate;

/// The results of a paper.
#[derive(Clone, Debug)]
pub struct Results {
    /// The paper's name.
    pub paper: &'static str,
    /// False after an interruption.
    pub complete: bool,
    /// Each experiment.
    pub experiments: Vec<ExperimentResults>,
    /// The claims that the results decide.
    pub claims: Vec<Claim>,
}

/// The results of an experiment.
#[derive(Clone, Debug, Serialize)]
pub struct ExperimentResults {
    /// Its name.
    pub id: String,
    /// The subject of the experiment; empty where it has no title.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Its values.
    #[serde(rename = "results")]
    pub rows: Vec<Row>,
}

/// Simulated value with the published one.
#[derive(Clone, Debug)]
pub struct Row {
    /// The subject of the value, and what was published.
    pub cell: Cell,
    /// Mean over the replications; none without a run.
    pub value: Option<f64>,
    /// Half width of the 95 % confidence interval by Student's t; none for a single replication.
    pub ci95: Option<f64>,
}

/// Claim of a paper, and its outcome in our runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// Its name.
    pub id: String,
    /// The statement that is claimed.
    pub text: String,
    /// True if our runs confirm the claim.
    pub holds: bool,
    /// The numbers that decide it.
    pub evidence: String,
}

impl Row {
    /// Creates the row with the mean of `values` and its interval.
    pub fn new(cell: Cell, values: Option<&[f64]>) -> Self {
        let estimate = values.and_then(Estimate::of).map(|of| {
            // Equal values have a mean without rounding.
            if of.min == of.max { Estimate { mean: of.min, ci95: of.ci95.map(|_| 0.0), ..of } } else { of }
        });
        let value = estimate.map(|of| of.mean).filter(|mean| mean.is_finite());
        Self { cell, value, ci95: estimate.and_then(|of| of.ci95).filter(|half| half.is_finite()) }
    }

    /// Returns `value / published - 1`; `None` if the published value is missing, zero or no number.
    pub fn relative_difference(&self) -> Option<f64> {
        let published = self.cell.published.as_ref()?.as_f64().filter(|published| *published != 0.0)?;
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

    /// Like `value`, but returns the whole row.
    pub fn row(&self, id: &str, scheme: &str, metric: &str, keys: &[(&str, Value)]) -> Option<&Row> {
        let has = |row: &&Row| {
            row.cell.scheme == scheme
                && row.cell.metric == metric
                && keys.iter().all(|(key, value)| row.cell.keys.get(*key).is_some_and(|own| same(own, value)))
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
        // Numbers, texts and lists of them always have a form in JSON.
        let value = |of: &dyn Fn() -> serde_json::Result<Value>| of().unwrap_or_default();
        document.insert("experiments".to_owned(), value(&|| serde_json::to_value(&self.experiments)));
        document.insert("claims".to_owned(), value(&|| serde_json::to_value(&self.claims)));
        let mut text = serde_json::to_string_pretty(&Value::Object(document)).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Returns the claims that do not hold.
    pub fn failed(&self) -> impl Iterator<Item = &Claim> {
        self.claims.iter().filter(|claim| !claim.holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(published: Value, values: &[f64]) -> Row {
        let published = Some(published).filter(|value| !value.is_null());
        Row::new(Cell { published, ..Cell::ours("seif", "x").with("source", 1) }, Some(values))
    }

    #[test]
    fn a_row_has_what_there_is_to_say() {
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
        // A deviation from zero has no ratio, a text no distance.
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
