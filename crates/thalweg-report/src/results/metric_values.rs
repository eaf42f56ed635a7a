//! Metrics by kind of subject, and metric values of one subject.

use super::metric_definition::{ABSENT, Aggregation, SubjectKind, Tables};
use super::metric_list::{COLUMNS, LINES, METRICS_OF, Metric, MetricDefinition};
use core::fmt;
use core::marker::PhantomData;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thalweg_sim::Transfers;

impl Metric {
    /// Returns the metric's definition.
    pub const fn line(self) -> &'static MetricDefinition {
        &LINES[self as usize]
    }

    /// Returns the metric's name for a kind of subject.
    pub fn name(self, of: SubjectKind) -> &'static str {
        let line = self.line();
        line.network_name.filter(|_| of == SubjectKind::Network).unwrap_or(line.name)
    }

    /// Returns the name of its column in tables: with the object that it is within, as in `limits.pacing`.
    pub fn column_name(self, of: SubjectKind) -> String {
        let name = self.name(of);
        self.line().parent_object.map_or_else(|| name.to_owned(), |object| format!("{object}.{name}"))
    }

    /// Returns the minimum half width of a confidence interval, as a fraction of the value. The histogram's bucket
    /// width bounds the precision of a percentile, even if all runs agree.
    pub const fn exactness(self) -> f64 {
        if self.line().is_percentile { RESOLUTION } else { 0.0 }
    }

    /// Returns the metrics of a kind of subject, in table order.
    pub fn all_of(of: SubjectKind) -> impl ExactSizeIterator<Item = Self> + Clone {
        let metrics_by_subject = &METRICS_OF[of as usize];
        metrics_by_subject.metrics[..metrics_by_subject.count]
            .iter()
            .map(|&number| Self::ALL[usize::from(number)])
    }

    /// Returns the metric at an index within a kind of subject.
    fn at(of: SubjectKind, place: usize) -> Option<Self> {
        let metrics_by_subject = &METRICS_OF[of as usize];
        metrics_by_subject.metrics[..metrics_by_subject.count]
            .get(place)
            .map(|&number| Self::ALL[usize::from(number)])
    }

    /// Returns the metrics with a column in `table`, in the order of the metrics table.
    pub fn in_table(table: Tables) -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(move |metric| metric.line().tables.intersects(table))
    }

    fn column(self, of: SubjectKind) -> Option<usize> {
        let column = COLUMNS[self as usize][of as usize];
        (column != ABSENT).then_some(usize::from(column))
    }
}

/// Relative precision of percentiles from the simulator's histograms.
const RESOLUTION: f64 = 0.016;

/// Type-level kind of subject.
pub trait Subject: Clone + Copy + fmt::Debug + Default {
    /// Kind.
    const OF: SubjectKind;
}

macro_rules! subjects {
    ($($name:ident: $about:literal;)+) => {$(
        #[doc = $about]
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name;
    )+};
}

subjects! {
    OfFlow: "Values are of a flow.";
    OfGroup: "Values are of a group of flows.";
    OfNetwork: "Values are of all of a run.";
    OfLink: "Values are of a direction of a link.";
    OfSize: "Values are of the transfers of about one size.";
}

impl Subject for OfFlow {
    const OF: SubjectKind = SubjectKind::Flow;
}
impl Subject for OfGroup {
    const OF: SubjectKind = SubjectKind::Group;
}
impl Subject for OfNetwork {
    const OF: SubjectKind = SubjectKind::Network;
}
impl Subject for OfLink {
    const OF: SubjectKind = SubjectKind::Link;
}
impl Subject for OfSize {
    const OF: SubjectKind = SubjectKind::SizeClass;
}

/// Values of one subject: an optional number per metric of its kind.
#[derive(Clone)]
pub struct Values<S> {
    /// Values indexed by [`COLUMNS`]; NaN means no value.
    cells: Box<[f64]>,
    of: PhantomData<S>,
}

impl<S: Subject> Values<S> {
    /// Returns a set without values.
    pub fn none() -> Self {
        let count = Metric::all_of(S::OF).len();
        Self { cells: vec![f64::NAN; count].into_boxed_slice(), of: PhantomData }
    }

    pub(super) fn from_fn(value: impl Fn(Metric) -> Option<f64>) -> Self {
        let cells = Metric::all_of(S::OF).map(|metric| value(metric).unwrap_or(f64::NAN)).collect();
        Self { cells, of: PhantomData }
    }

    /// Returns the value of a metric, if it exists.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        let value = self.cells.get(metric.column(S::OF)?)?;
        (!value.is_nan()).then_some(*value)
    }

    /// Returns the value of a metric, or zero.
    pub fn or_zero(&self, metric: Metric) -> f64 {
        self.get(metric).unwrap_or(0.0)
    }

    /// Sets the value of a metric. Does nothing for a metric of another kind of subject.
    pub fn set(&mut self, metric: Metric, value: Option<f64>) {
        if let Some(cell) = metric.column(S::OF).and_then(|column| self.cells.get_mut(column)) {
            *cell = value.unwrap_or(f64::NAN);
        }
    }

    /// Returns the metrics with their values, in table order.
    fn cells(&self) -> impl Iterator<Item = (Metric, Option<f64>)> + Clone + '_ {
        let value = |cell: &f64| (!cell.is_nan()).then_some(*cell);
        Metric::all_of(S::OF).zip(&self.cells).map(move |(metric, cell)| (metric, value(cell)))
    }

    /// Returns the metrics that have a value, by name.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> + '_ {
        self.cells().map(|(metric, value)| (metric.name(S::OF), value))
    }

    /// Aggregates the values of several subjects.
    pub(super) fn aggregate<M: Subject, T>(
        each: &[&Values<M>],
        aggregate: &T,
        transfers: &Transfers,
        how: impl Fn(&MetricDefinition) -> Aggregation<T, Metric>,
    ) -> Self {
        Self::from_fn(|metric| {
            if let Some(value) = metric.line().transfers {
                return value(transfers);
            }
            let known = || each.iter().filter_map(|values| values.get(metric));
            match how(metric.line()) {
                Aggregation::None => None,
                Aggregation::Sum => known().reduce(|sum, value| sum + value),
                Aggregation::Max => known().reduce(f64::max),
                Aggregation::WeightedMean(weight) => weighted_mean(each, metric, weight),
                Aggregation::Computed(value) => value(aggregate),
            }
        })
    }
}

pub(super) fn weighted_mean<M: Subject>(each: &[&Values<M>], metric: Metric, weight: Metric) -> Option<f64> {
    let pairs = || each.iter().filter_map(|values| Some((values.get(metric)?, values.get(weight)?)));
    let weights: f64 = pairs().map(|(_, weight)| weight).sum();
    (weights > 0.0).then(|| pairs().map(|(value, weight)| value * weight).sum::<f64>() / weights)
}

impl<S: Subject> fmt::Debug for Values<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.named().filter(|(_, value)| value.is_some())).finish()
    }
}

impl<S: Subject> PartialEq for Values<S> {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
        self.cells.len() == other.cells.len() && self.cells.iter().zip(&other.cells).all(same)
    }
}

/// Value in a document: integers without a fraction, no value as null.
struct Number(Option<f64>, bool);

impl Serialize for Number {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        match *self {
            Self(None, _) => serializer.serialize_none(),
            Self(Some(value), true) if (0.0..=MAX_EXACT_INTEGER).contains(&value) => {
                serializer.serialize_u64(value as u64)
            }
            Self(Some(value), _) => serializer.serialize_f64(value),
        }
    }
}

/// Largest float up to which all integers are exact (2⁵³).
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;

/// Nested object in a flow's JSON: iterator over its metrics.
struct NestedMetrics<I>(I);

impl<I: Iterator<Item = (Metric, Option<f64>)> + Clone> Serialize for NestedMetrics<I> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        if self.0.clone().all(|(_, value)| value.is_none()) {
            return serializer.serialize_none();
        }
        let mut map = serializer.serialize_map(None)?;
        for (metric, value) in self.0.clone() {
            let line = metric.line();
            map.serialize_entry(line.name, &Number(value, line.is_integer))?;
        }
        map.end()
    }
}

/// Returns the object that holds a metric, if it is not the subject itself.
fn object_of<S: Subject>(metric: Metric) -> Option<&'static str> {
    metric.line().parent_object.filter(|_| S::OF == SubjectKind::Flow)
}

impl<S: Subject> Serialize for Values<S> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut cells = self.cells().peekable();
        while let Some(&(metric, value)) = cells.peek() {
            if let Some(object) = object_of::<S>(metric) {
                // Metrics of one object are adjacent in the table.
                let is_within =
                    |(metric, _): &(Metric, Option<f64>)| metric.line().parent_object == Some(object);
                map.serialize_entry(object, &NestedMetrics(cells.clone().take_while(is_within)))?;
                while cells.next_if(is_within).is_some() {}
            } else {
                map.serialize_entry(metric.name(S::OF), &Number(value, metric.line().is_integer))?;
                cells.next();
            }
        }
        map.end()
    }
}

/// Deserialises the values of a subject or of a nested object. It ignores unknown names.
struct Reader<'a, S>(&'a mut Values<S>, Option<&'static str>);

impl<'de, S: Subject> Visitor<'de> for Reader<'_, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of metrics")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(values, within) = self;
        // Documents keep the table's order, so the next name is usually that of the next metric.
        let mut due = 0;
        while let Some(name) = map.next_key::<String>()? {
            let is_named = |metric: Metric| metric.name(S::OF) == name && object_of::<S>(metric) == within;
            let found = match Metric::at(S::OF, due).filter(|metric| is_named(*metric)) {
                Some(metric) => Some((due, metric)),
                None => Metric::all_of(S::OF).enumerate().find(|(_, metric)| is_named(*metric)),
            };
            if let Some((place, metric)) = found {
                due = place + 1;
                values.set(metric, map.next_value()?);
                continue;
            }
            let object = || Metric::all_of(S::OF).filter_map(object_of::<S>).find(|object| *object == name);
            let object = if within.is_none() { object() } else { None };
            match object {
                Some(object) => map.next_value_seed(Reader(&mut *values, Some(object)))?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

impl<'de, S: Subject> DeserializeSeed<'de> for Reader<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        // An object may be null.
        deserializer.deserialize_any(self)
    }
}

impl<'de, S: Subject> Deserialize<'de> for Values<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut values = Self::none();
        deserializer.deserialize_map(Reader(&mut values, None))?;
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, Value, json};

    #[test]
    fn values_are_read_in_any_order() {
        let mut number = 0.0;
        let mut values = Values::<OfFlow>::none();
        for metric in Metric::all_of(SubjectKind::Flow) {
            number += 1.0;
            values.set(metric, Some(number));
        }
        let serialized = serde_json::to_value(&values).unwrap();
        assert_eq!(serde_json::from_value::<Values<OfFlow>>(serialized.clone()).unwrap(), values);
        let Value::Object(serialized) = serialized else { unreachable!("values are an object") };
        let inner = serialized.values().find_map(Value::as_object).expect("a flow has an object within it");
        let turned = |of: &Map<String, Value>| {
            let pairs = of.iter().rev().map(|(name, value)| (name.clone(), value.clone()));
            pairs.chain([("other".to_owned(), json!({"a": [1]}))]).collect::<Map<_, _>>()
        };
        let mut other = turned(&serialized);
        for value in other.values_mut().filter(|value| value.as_object() == Some(inner)) {
            *value = Value::Object(turned(inner));
        }
        assert_eq!(serde_json::from_value::<Values<OfFlow>>(Value::Object(other)).unwrap(), values);
    }
}
