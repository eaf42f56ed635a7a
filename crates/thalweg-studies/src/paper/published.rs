//! The published values of a paper.

use serde_json::{Map, Value};

/// The published values of a paper.
#[derive(Clone, Debug)]
pub struct Published {
    /// Its experiments, in the order of the file.
    pub experiments: Vec<Experiment>,
}

/// An experiment of a paper.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its name, such as `table-5.7/exp-2`.
    pub id: String,
    /// Its values.
    pub cells: Vec<Cell>,
}

/// A value of an experiment: what it is of, and what was published.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The scheme.
    pub scheme: String,
    /// The name of the quantity that was measured, with its unit at the end.
    pub metric: String,
    /// The other keys that tell the value from others: the source, a parameter that was varied.
    pub keys: Map<String, Value>,
    /// The published value: a number, or a text such as `> 70`.
    pub published: Option<Value>,
}

impl Cell {
    /// A cell of which nothing was published.
    pub fn ours(scheme: &str, metric: &str) -> Self {
        Self { scheme: scheme.to_owned(), metric: metric.to_owned(), keys: Map::new(), published: None }
    }

    /// The same with a further key.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.keys.insert(key.to_owned(), value.into());
        self
    }

    /// A key's value: `scheme` and `metric` are keys too.
    pub fn key(&self, name: &str) -> Option<Value> {
        match name {
            "scheme" => Some(self.scheme.clone().into()),
            "metric" => Some(self.metric.clone().into()),
            _ => self.keys.get(name).cloned(),
        }
    }

    /// The whole number of a key, such as that of a source.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.keys.get(name)?.as_u64()
    }

    /// The text of a key.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.keys.get(name)?.as_str()
    }

    /// True if every one of `keys` is a key of the cell with the same value.
    pub fn has(&self, keys: &Map<String, Value>) -> bool {
        keys.iter().all(|(name, value)| self.key(name).is_some_and(|own| same(&own, value)))
    }

    /// True for the same scheme, metric and keys.
    pub fn is(&self, other: &Self) -> bool {
        self.scheme == other.scheme
            && self.metric == other.metric
            && self.keys.len() == other.keys.len()
            && self.has(&other.keys)
    }

    fn of(value: &Value) -> Option<Self> {
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

/// Numbers are compared by value: 1 is 1.0.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

impl Published {
    /// Reads the file of a paper.
    ///
    /// # Errors
    /// A text that says what is wrong with the file.
    pub fn read(text: &str) -> Result<Self, String> {
        let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let experiments = document["experiments"].as_array().ok_or("there are no `experiments`")?;
        let experiments = experiments.iter().map(Experiment::of).collect::<Result<_, _>>()?;
        Ok(Self { experiments })
    }
}

impl Experiment {
    fn of(value: &Value) -> Result<Self, String> {
        let id = value["id"].as_str().ok_or("an experiment has no `id`")?.to_owned();
        let results = value["results"].as_array().ok_or_else(|| format!("{id} has no `results`"))?;
        let cells: Option<Vec<Cell>> = results.iter().map(Cell::of).collect();
        let cells = cells.ok_or_else(|| format!("{id}: a result lacks its scheme or metric"))?;
        Ok(Self { id, cells })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_cell_is_found_by_its_keys() {
        let cell = Cell::of(
            &json!({"scheme": "seif", "metric": "x_kbps", "value": 3, "threshold": 0.5, "source": 1}),
        );
        let cell = cell.unwrap();
        let keys = |value: Value| value.as_object().unwrap().clone();
        assert!(cell.has(&keys(json!({"scheme": "seif", "source": 1.0}))));
        assert!(!cell.has(&keys(json!({"scheme": "seif", "source": 2}))));
        assert!(!cell.has(&keys(json!({"buffer": 1}))));
        assert_eq!((cell.published.clone(), cell.number("source")), (Some(json!(3)), Some(1)));
        let unpublished = Cell::ours("seif", "x_kbps").with("threshold", 0.5).with("source", 1);
        assert!(cell.is(&unpublished) && unpublished.is(&cell));
        assert!(!cell.is(&unpublished.with("table", "5.8")));
    }

    #[test]
    fn what_is_no_data_file_is_refused() {
        for (text, why) in [
            ("{", "EOF"),
            ("{}", "no `experiments`"),
            (r#"{"experiments": [{}]}"#, "no `id`"),
            (r#"{"experiments": [{"id": "a"}]}"#, "a has no `results`"),
            (r#"{"experiments": [{"id": "a", "results": [{"scheme": "x"}]}]}"#, "lacks"),
        ] {
            let error = Published::read(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
