//! The published values of a paper.

use serde_json::{Map, Value};

/// The published values of a paper.
#[derive(Clone, Debug)]
pub struct PublishedValues {
    /// Experiments, in the order of the file.
    pub experiments: Vec<Experiment>,
}

/// An experiment of a paper.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Name, such as `table-5.7/exp-2`.
    pub id: String,
    /// Tables, sections and pages with its values, such as `table 5.7 on page 74`; empty if unknown.
    pub place: String,
    /// Values.
    pub cells: Vec<Cell>,
}

/// A value of an experiment: its identity, and the published value.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Scheme.
    pub scheme: String,
    /// Name of the measured quantity, with its unit at the end.
    pub metric: String,
    /// Other identifying keys: the source, a varied parameter.
    pub keys: Map<String, Value>,
    /// Published value: a number, or a text such as `> 70`.
    pub published: Option<Value>,
}

impl Cell {
    /// Creates a cell without a published value.
    pub fn unpublished(scheme: &str, metric: &str) -> Self {
        Self { scheme: scheme.to_owned(), metric: metric.to_owned(), keys: Map::new(), published: None }
    }

    /// Returns the cell with a further key.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.keys.insert(key.to_owned(), value.into());
        self
    }

    /// Returns a key's value; `scheme` and `metric` are keys too.
    pub fn key(&self, name: &str) -> Option<Value> {
        match name {
            "scheme" => Some(self.scheme.clone().into()),
            "metric" => Some(self.metric.clone().into()),
            _ => self.keys.get(name).cloned(),
        }
    }

    /// Returns the whole number of a key, such as that of a source.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.keys.get(name)?.as_u64()
    }

    /// Returns the text of a key.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.keys.get(name)?.as_str()
    }

    /// Returns true if the cell has all of `keys`, with the same values.
    pub fn has(&self, keys: &Map<String, Value>) -> bool {
        keys.iter()
            .all(|(name, value)| self.key(name).is_some_and(|cell_value| equal_values(&cell_value, value)))
    }

    /// Returns true for the same scheme, metric and keys.
    pub fn is(&self, other: &Self) -> bool {
        self.scheme == other.scheme
            && self.metric == other.metric
            && self.keys.len() == other.keys.len()
            && self.has(&other.keys)
    }

    fn from_json(value: &Value) -> Option<Self> {
        let mut keys = value.as_object()?.clone();
        let (scheme, metric) = (keys.shift_remove("scheme")?, keys.shift_remove("metric")?);
        let published = keys.shift_remove("value").filter(|value| !value.is_null());
        Some(Self {
            scheme: scheme.as_str()?.to_owned(),
            metric: metric.as_str()?.to_owned(),
            keys,
            published,
        })
    }
}

/// Compares values; numbers by value: 1 is 1.0.
pub(super) fn equal_values(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

impl PublishedValues {
    /// Reads the file of a paper.
    ///
    /// # Errors
    /// Returns a description of the error in the file.
    pub fn read(text: &str) -> Result<Self, String> {
        let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let experiments = document["experiments"].as_array().ok_or("there are no `experiments`")?;
        let experiments = experiments.iter().map(Experiment::from_json).collect::<Result<_, _>>()?;
        Ok(Self { experiments })
    }
}

impl Experiment {
    fn from_json(value: &Value) -> Result<Self, String> {
        let id = value["id"].as_str().ok_or("an experiment has no `id`")?.to_owned();
        let place = value["place"].as_str().unwrap_or_default().to_owned();
        let results = value["results"].as_array().ok_or_else(|| format!("{id} has no `results`"))?;
        let cells: Option<Vec<Cell>> = results.iter().map(Cell::from_json).collect();
        let cells = cells.ok_or_else(|| format!("{id}: a result lacks its scheme or metric"))?;
        Ok(Self { id, place, cells })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_cell_is_found_by_its_keys() {
        let cell = Cell::from_json(
            &json!({"scheme": "seif", "metric": "x_kbps", "value": 3, "threshold": 0.5, "source": 1}),
        );
        let cell = cell.unwrap();
        let keys = |value: Value| value.as_object().unwrap().clone();
        assert!(cell.has(&keys(json!({"scheme": "seif", "source": 1.0}))));
        assert!(!cell.has(&keys(json!({"scheme": "seif", "source": 2}))));
        assert!(!cell.has(&keys(json!({"buffer": 1}))));
        assert_eq!((cell.published.clone(), cell.number("source")), (Some(json!(3)), Some(1)));
        let unpublished = Cell::unpublished("seif", "x_kbps").with("threshold", 0.5).with("source", 1);
        assert!(cell.is(&unpublished) && unpublished.is(&cell));
        assert!(!cell.is(&unpublished.with("table", "5.8")));
    }

    #[test]
    fn an_experiment_names_its_place() {
        let text = r#"{"experiments": [{"id": "a", "place": "table 1 on page 2", "results": []},
            {"id": "b", "results": []}]}"#;
        let places: Vec<String> =
            PublishedValues::read(text).unwrap().experiments.into_iter().map(|of| of.place).collect();
        assert_eq!(places, ["table 1 on page 2", ""]);
    }

    #[test]
    fn invalid_data_files_are_rejected() {
        for (text, why) in [
            ("{", "EOF"),
            ("{}", "no `experiments`"),
            (r#"{"experiments": [{}]}"#, "no `id`"),
            (r#"{"experiments": [{"id": "a"}]}"#, "a has no `results`"),
            (r#"{"experiments": [{"id": "a", "results": [{"scheme": "x"}]}]}"#, "lacks"),
        ] {
            let error = PublishedValues::read(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
