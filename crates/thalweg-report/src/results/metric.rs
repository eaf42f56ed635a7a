//! Definition of metrics, and metric values of one subject.

use super::metrics::{COLUMNS, LINES, METRICS_OF, Metric};
use core::fmt;
use core::marker::PhantomData;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thalweg_proto::units::Rate;
use thalweg_sim::{FlowResult, GroupResult, LinkResult, RunResult, Transfers};

/// Kind of subject of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A flow.
    Flow,
    /// A group of flows.
    Group,
    /// The whole network of a run.
    Network,
    /// A direction of a link.
    Link,
    /// Transfers of one size class.
    SizeClass,
}

/// Number of kinds of subjects.
pub(super) const SUBJECTS: usize = 5;

/// Unit of a metric's values; it decides their formatting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bits per second.
    Rate,
    /// Seconds.
    Time,
    /// Bytes.
    Bytes,
    /// Packets.
    Packets,
    /// Segments of two-level flow control.
    Segments,
    /// Events or objects named in the metric's description.
    Count,
    /// Fraction from 0 to 1, shown in percent.
    Share,
    /// Dimensionless number, such as an index or a ratio.
    Number,
    /// (kbit/s)².
    RateSquared,
}

impl Unit {
    /// Returns the unit as the reference documentation writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rate => "bit/s",
            Self::Time => "s",
            Self::Bytes => "B",
            Self::Packets => "pkt",
            Self::Segments => "seg",
            Self::Count => "",
            Self::Share => "0 to 1",
            Self::Number => "",
            Self::RateSquared => "(kbit/s)²",
        }
    }
}

/// Aggregation of a metric over several subjects.
#[derive(Debug)]
pub enum Joined<T> {
    /// No aggregate.
    Not,
    /// Sum of the existing values.
    Sum,
    /// Maximum of the existing values.
    Most,
    /// Mean weighted by another metric.
    MeanBy(Metric),
    /// Measured by the simulator.
    Measured(fn(&T) -> Option<f64>),
}

impl<T> Clone for Joined<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Joined<T> {}

/// Input of the metrics table for one flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowView<'a> {
    /// The simulator's measurements of the flow.
    pub flow: &'a FlowResult,
    /// Total goodput of all flows of the run.
    pub goodput_of_all: Rate,
}

/// Set of tables with a column for a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tables(u16);

impl Tables {
    /// No table.
    pub const NONE: Self = Self(0);
    /// Flows of a single run.
    pub const FLOWS: Self = Self(1);
    /// Groups of a single run.
    pub const GROUPS: Self = Self(1 << 1);
    /// Groups or schemes over several runs.
    pub const MEANS: Self = Self(1 << 2);
    /// Links of a single run.
    pub const LINKS: Self = Self(1 << 3);
    /// Links over several runs.
    pub const LINK_MEANS: Self = Self(1 << 4);
    /// Segments and readers of flows of a single run.
    pub const SINKS: Self = Self(1 << 5);
    /// Segments and readers of groups over several runs.
    pub const SINK_MEANS: Self = Self(1 << 6);
    /// Holes in segments and overflows at the receiver, of flows of a single run.
    pub const TWO_LEVEL: Self = Self(1 << 7);
    /// Flows in a report.
    pub const PAGE: Self = Self(1 << 8);
    /// Segments and readers in a report.
    pub const PAGE_SINKS: Self = Self(1 << 9);
    /// Links in a report.
    pub const PAGE_LINKS: Self = Self(1 << 10);
    /// Completion times of groups or schemes.
    pub const TRANSFERS: Self = Self(1 << 12);
    /// Completion times by transfer size.
    pub const SIZES: Self = Self(1 << 13);
    /// Live media frames of flows of a single run.
    pub const MEDIA: Self = Self(1 << 14);
    /// Live media frames of groups over several runs.
    pub const MEDIA_MEANS: Self = Self(1 << 15);
    /// Bars of schemes in reports and pictures.
    pub const BARS: Self = Self(1 << 11);

    /// Returns the union of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if the sets intersect.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Definition of a metric: a row of the table in `metrics.rs`.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Name in documents; it ends in the unit.
    pub name: &'static str,
    /// Name for the whole network, if different.
    pub network_name: Option<&'static str>,
    /// Unit of the values.
    pub unit: Unit,
    /// Description, in sentences.
    pub about: &'static str,
    /// Column heading: the part that adjacent columns may share, and the rest.
    pub head: (&'static str, &'static str),
    /// Tables with a column of this metric.
    pub tables: Tables,
    /// Object in a flow's JSON that holds the metric; none for the flow itself.
    pub within: Option<&'static str>,
    /// True if values are integers.
    pub is_integer: bool,
    /// True if the column appears only when some row is above zero.
    pub is_rare: bool,
    /// True if the value comes from a histogram; bucket widths limit its precision.
    pub is_percentile: bool,
    pub(super) flow: Option<fn(&FlowView<'_>) -> Option<f64>>,
    pub(super) group: Joined<GroupResult>,
    pub(super) network: Joined<RunResult>,
    pub(super) link: Option<fn(&LinkResult) -> Option<f64>>,
    pub(super) transfers: Option<fn(&Transfers) -> Option<f64>>,
}

impl Line {
    pub(super) const fn new(name: &'static str, unit: Unit) -> Self {
        Self {
            name,
            network_name: None,
            unit,
            about: "",
            head: ("", ""),
            tables: Tables::NONE,
            within: None,
            is_integer: matches!(
                unit,
                Unit::Rate | Unit::Bytes | Unit::Packets | Unit::Segments | Unit::Count
            ),
            is_rare: false,
            is_percentile: false,
            flow: None,
            group: Joined::Not,
            network: Joined::Not,
            link: None,
            transfers: None,
        }
    }

    pub(super) const fn about(mut self, about: &'static str) -> Self {
        self.about = about;
        self
    }

    /// Adds a column under this heading to these tables.
    pub(super) const fn shown(mut self, family: &'static str, rest: &'static str, tables: Tables) -> Self {
        (self.head, self.tables) = ((family, rest), tables);
        self
    }

    pub(super) const fn within(mut self, object: &'static str) -> Self {
        self.within = Some(object);
        self
    }

    /// Marks values as fractional, although other metrics of this unit are integers.
    pub(super) const fn fractional(mut self) -> Self {
        self.is_integer = false;
        self
    }

    pub(super) const fn rare(mut self) -> Self {
        self.is_rare = true;
        self
    }

    pub(super) const fn percentile(mut self) -> Self {
        self.is_percentile = true;
        self
    }

    pub(super) const fn of_flow(mut self, value: fn(&FlowView<'_>) -> Option<f64>) -> Self {
        self.flow = Some(value);
        self
    }

    pub(super) const fn of_group(mut self, value: fn(&GroupResult) -> Option<f64>) -> Self {
        self.group = Joined::Measured(value);
        self
    }

    pub(super) const fn of_network(mut self, value: fn(&RunResult) -> Option<f64>) -> Self {
        self.network = Joined::Measured(value);
        self
    }

    pub(super) const fn of_link(mut self, value: fn(&LinkResult) -> Option<f64>) -> Self {
        self.link = Some(value);
        self
    }

    /// Defines the metric over the transfers of groups, the network and size classes.
    pub(super) const fn of_transfers(mut self, value: fn(&Transfers) -> Option<f64>) -> Self {
        self.transfers = Some(value);
        self
    }

    /// Aggregates by sum: groups over their flows, the network over its groups.
    pub(super) const fn summed(mut self) -> Self {
        (self.group, self.network) = (Joined::Sum, Joined::Sum);
        self
    }

    /// Aggregates by maximum: groups over their flows, the network over its groups.
    pub(super) const fn most(mut self) -> Self {
        (self.group, self.network) = (Joined::Most, Joined::Most);
        self
    }

    /// Aggregates by weighted mean: groups over their flows, the network over its groups.
    pub(super) const fn weighted_mean_by(mut self, weight: Metric) -> Self {
        (self.group, self.network) = (Joined::MeanBy(weight), Joined::MeanBy(weight));
        self
    }

    /// Sets the aggregation of the groups' values into the network's.
    pub(super) const fn aggregate_network_by(mut self, joined: Joined<RunResult>) -> Self {
        self.network = joined;
        self
    }

    pub(super) const fn called_in_network(mut self, name: &'static str) -> Self {
        self.network_name = Some(name);
        self
    }

    /// Returns true if the values are counts: bytes, packets, events.
    pub const fn counts(&self) -> bool {
        self.is_integer && !matches!(self.unit, Unit::Rate)
    }

    /// Returns true if the metric applies to this kind of subject.
    pub const fn is_of(&self, of: Of) -> bool {
        match of {
            Of::Flow => self.flow.is_some(),
            Of::Group => self.transfers.is_some() || !matches!(self.group, Joined::Not),
            Of::Network => self.transfers.is_some() || !matches!(self.network, Joined::Not),
            Of::Link => self.link.is_some(),
            Of::SizeClass => self.transfers.is_some(),
        }
    }
}

impl Metric {
    /// Returns the metric's definition.
    pub const fn line(self) -> &'static Line {
        &LINES[self as usize]
    }

    /// Returns the metric's name for a kind of subject.
    pub fn name(self, of: Of) -> &'static str {
        let line = self.line();
        line.network_name.filter(|_| of == Of::Network).unwrap_or(line.name)
    }

    /// Returns the minimum half width of a confidence interval, as a fraction of the value. The histogram's bucket
    /// width bounds the precision of a percentile, even if all runs agree.
    pub const fn exactness(self) -> f64 {
        if self.line().is_percentile { RESOLUTION } else { 0.0 }
    }

    /// Returns the metrics of a kind of subject, in table order.
    pub fn all_of(of: Of) -> impl ExactSizeIterator<Item = Self> {
        let metric_indices = &METRICS_OF[of as usize];
        metric_indices.numbers[..metric_indices.count].iter().map(|&number| Self::ALL[usize::from(number)])
    }

    /// Returns the metric at an index within a kind of subject.
    fn at(of: Of, place: usize) -> Option<Self> {
        let metric_indices = &METRICS_OF[of as usize];
        metric_indices.numbers[..metric_indices.count]
            .get(place)
            .map(|&number| Self::ALL[usize::from(number)])
    }

    /// Returns the metrics with a column in `table`, in the order of the metrics table.
    pub fn in_table(table: Tables) -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(move |metric| metric.line().tables.has(table))
    }

    fn column(self, of: Of) -> Option<usize> {
        let column = COLUMNS[self as usize][of as usize];
        (column != ABSENT).then_some(usize::from(column))
    }
}

/// Relative precision of percentiles from the simulator's histograms.
const RESOLUTION: f64 = 0.016;

/// Marker of a metric without a column.
const ABSENT: u8 = u8::MAX;

/// Kinds of subjects, by index.
const KINDS: [Of; SUBJECTS] = [Of::Flow, Of::Group, Of::Network, Of::Link, Of::SizeClass];

/// Indices of metrics: the first `count` of `numbers`.
#[derive(Clone, Copy)]
pub(super) struct MetricIndices<const N: usize> {
    numbers: [u8; N],
    count: usize,
}

/// Returns the metrics of each kind of subject.
pub(super) const fn metric_indices<const N: usize>(lines: &[Line; N]) -> [MetricIndices<N>; SUBJECTS] {
    let mut metric_indices = [MetricIndices { numbers: [0; N], count: 0 }; SUBJECTS];
    let mut of = 0;
    while of < SUBJECTS {
        let mut number = 0;
        while number < N {
            if lines[number].is_of(KINDS[of]) {
                metric_indices[of].numbers[metric_indices[of].count] = number as u8;
                metric_indices[of].count += 1;
            }
            number += 1;
        }
        of += 1;
    }
    metric_indices
}

/// Returns the position of each metric within each kind of subject.
pub(super) const fn columns<const N: usize>(lines: &[Line; N]) -> [[u8; SUBJECTS]; N] {
    let mut columns = [[ABSENT; SUBJECTS]; N];
    let mut next = [0; SUBJECTS];
    let mut number = 0;
    while number < N {
        let mut of = 0;
        while of < SUBJECTS {
            if lines[number].is_of(KINDS[of]) {
                columns[number][of] = next[of];
                next[of] += 1;
            }
            of += 1;
        }
        number += 1;
    }
    columns
}

/// Type-level kind of subject.
pub trait Subject: Clone + Copy + fmt::Debug + Default {
    /// Kind.
    const OF: Of;
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
    const OF: Of = Of::Flow;
}
impl Subject for OfGroup {
    const OF: Of = Of::Group;
}
impl Subject for OfNetwork {
    const OF: Of = Of::Network;
}
impl Subject for OfLink {
    const OF: Of = Of::Link;
}
impl Subject for OfSize {
    const OF: Of = Of::SizeClass;
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

    pub(super) fn of(value: impl Fn(Metric) -> Option<f64>) -> Self {
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

    /// Returns the metrics that have a value, by name.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> + '_ {
        Metric::all_of(S::OF).map(|metric| (metric.name(S::OF), self.get(metric)))
    }

    /// Aggregates the values of several subjects.
    pub(super) fn joined<M: Subject, T>(
        each: &[&Values<M>],
        aggregate: &T,
        transfers: &Transfers,
        how: impl Fn(&Line) -> Joined<T>,
    ) -> Self {
        Self::of(|metric| {
            if let Some(value) = metric.line().transfers {
                return value(transfers);
            }
            let known = || each.iter().filter_map(|values| values.get(metric));
            match how(metric.line()) {
                Joined::Not => None,
                Joined::Sum => known().reduce(|sum, value| sum + value),
                Joined::Most => known().reduce(f64::max),
                Joined::MeanBy(weight) => weighted_mean(each, metric, weight),
                Joined::Measured(value) => value(aggregate),
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

/// Nested object in a flow's JSON.
struct Inner<'a, S>(&'a Values<S>, &'static str);

impl<S: Subject> Inner<'_, S> {
    fn metrics(&self) -> impl Iterator<Item = Metric> + '_ {
        Metric::all_of(S::OF).filter(|metric| metric.line().within == Some(self.1))
    }
}

impl<S: Subject> Serialize for Inner<'_, S> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        if self.metrics().all(|metric| self.0.get(metric).is_none()) {
            return serializer.serialize_none();
        }
        let mut map = serializer.serialize_map(None)?;
        for metric in self.metrics() {
            let line = metric.line();
            map.serialize_entry(line.name, &Number(self.0.get(metric), line.is_integer))?;
        }
        map.end()
    }
}

/// Returns the object that holds a metric, if it is not the subject itself.
fn object_of<S: Subject>(metric: Metric) -> Option<&'static str> {
    metric.line().within.filter(|_| S::OF == Of::Flow)
}

impl<S: Subject> Serialize for Values<S> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut last = None;
        for metric in Metric::all_of(S::OF) {
            let line = metric.line();
            match object_of::<S>(metric) {
                None => {
                    map.serialize_entry(metric.name(S::OF), &Number(self.get(metric), line.is_integer))?;
                }
                // Metrics of one object are adjacent in the table.
                Some(object) if last != Some(object) => {
                    map.serialize_entry(object, &Inner(self, object))?;
                    last = Some(object);
                }
                Some(_) => {}
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
        for metric in Metric::all_of(Of::Flow) {
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
