//! The parts of a metric's definition, and the values of metrics of one subject.

use super::metrics::{COLUMNS, LINES, MEMBERS, Metric};
use core::fmt;
use core::marker::PhantomData;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thalweg_proto::units::Rate;
use thalweg_sim::{FlowResult, GroupResult, LinkResult, RunResult, Transfers};

/// The kind of subject that values are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// A flow.
    Flow,
    /// A group of flows.
    Group,
    /// All of a run.
    Network,
    /// A direction of a link.
    Link,
    /// The transfers of about one size.
    SizeClass,
}

/// The number of kinds of subjects.
pub(super) const SUBJECTS: usize = 5;

/// The unit of a metric's values, which decides how they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bits in a second.
    Rate,
    /// Seconds.
    Time,
    /// Bytes.
    Bytes,
    /// Packets.
    Packets,
    /// Segments of two-level flow control.
    Segments,
    /// Things that the metric's meaning names.
    Count,
    /// A share, from 0 to 1, shown in percent.
    Share,
    /// A number without a unit, such as an index or a ratio.
    Number,
    /// (kbit/s)².
    RateSquared,
}

impl Unit {
    /// The unit as references write it.
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

/// The way in which a value of many comes from the values of each.
#[derive(Debug)]
pub enum Joined<T> {
    /// The many have no such value.
    Not,
    /// The sum of those that exist.
    Sum,
    /// The largest of those that exist.
    Most,
    /// The mean, each weighted by its value of another metric.
    MeanBy(Metric),
    /// The simulator measures it.
    Measured(fn(&T) -> Option<f64>),
}

impl<T> Clone for Joined<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Joined<T> {}

/// A flow as the table of metrics sees it.
#[derive(Clone, Copy, Debug)]
pub struct FlowView<'a> {
    /// The simulator's measurements of the flow.
    pub flow: &'a FlowResult,
    /// The goodput of all flows of the run.
    pub goodput_of_all: Rate,
}

/// A set of tables: those in which a metric has a column.
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
    /// Segments and readers: of flows of a single run.
    pub const SINKS: Self = Self(1 << 5);
    /// The same over several runs: of groups.
    pub const SINK_MEANS: Self = Self(1 << 6);
    /// Holes in segments and what there was no room for: of flows of a single run.
    pub const TWO_LEVEL: Self = Self(1 << 7);
    /// Flows in a report.
    pub const PAGE: Self = Self(1 << 8);
    /// Segments and readers in a report.
    pub const PAGE_SINKS: Self = Self(1 << 9);
    /// Links in a report.
    pub const PAGE_LINKS: Self = Self(1 << 10);
    /// Completion times: of groups or schemes.
    pub const TRANSFERS: Self = Self(1 << 12);
    /// The same by size.
    pub const SIZES: Self = Self(1 << 13);
    /// Frames of live media: of flows of a single run.
    pub const MEDIA: Self = Self(1 << 14);
    /// The same over several runs: of groups.
    pub const MEDIA_MEANS: Self = Self(1 << 15);
    /// Bars of schemes in reports and pictures.
    pub const BARS: Self = Self(1 << 11);

    /// Both sets together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if the sets have a table in common.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Everything about a metric: a line of the table in `metrics.rs`.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The name in documents, which ends in its unit.
    pub name: &'static str,
    /// The name that it has for the whole network, where it is another one.
    pub network_name: Option<&'static str>,
    /// The unit of its values.
    pub unit: Unit,
    /// The meaning, in sentences.
    pub about: &'static str,
    /// The heading of its column: what columns side by side may share, and the rest.
    pub head: (&'static str, &'static str),
    /// The tables in which it has a column.
    pub tables: Tables,
    /// The object in a flow's JSON that holds it, where it is not the flow itself.
    pub within: Option<&'static str>,
    /// Its values are whole numbers.
    pub is_whole: bool,
    /// It has a column only where some row has more than zero.
    pub is_rare: bool,
    /// It comes from a histogram, whose buckets limit how exact it is.
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
            is_whole: matches!(unit, Unit::Rate | Unit::Bytes | Unit::Packets | Unit::Segments | Unit::Count),
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

    /// It has a column under this heading in these tables.
    pub(super) const fn shown(mut self, family: &'static str, rest: &'static str, tables: Tables) -> Self {
        (self.head, self.tables) = ((family, rest), tables);
        self
    }

    pub(super) const fn within(mut self, object: &'static str) -> Self {
        self.within = Some(object);
        self
    }

    /// Its values are no whole numbers, although others of this unit are.
    pub(super) const fn fractional(mut self) -> Self {
        self.is_whole = false;
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

    /// Groups, the network and classes of size have it of their transfers.
    pub(super) const fn of_transfers(mut self, value: fn(&Transfers) -> Option<f64>) -> Self {
        self.transfers = Some(value);
        self
    }

    /// Groups have the sum over their flows, the network that over its groups.
    pub(super) const fn summed(mut self) -> Self {
        (self.group, self.network) = (Joined::Sum, Joined::Sum);
        self
    }

    /// Groups have the largest value of their flows, the network that of its groups.
    pub(super) const fn most(mut self) -> Self {
        (self.group, self.network) = (Joined::Most, Joined::Most);
        self
    }

    /// Groups have the mean over their flows, the network that over its groups.
    pub(super) const fn mean_by(mut self, weight: Metric) -> Self {
        (self.group, self.network) = (Joined::MeanBy(weight), Joined::MeanBy(weight));
        self
    }

    /// The network's value comes from those of its groups.
    pub(super) const fn network_by(mut self, joined: Joined<RunResult>) -> Self {
        self.network = joined;
        self
    }

    pub(super) const fn called_in_network(mut self, name: &'static str) -> Self {
        self.network_name = Some(name);
        self
    }

    /// True if its values count something: bytes, packets, events.
    pub const fn counts(&self) -> bool {
        self.is_whole && !matches!(self.unit, Unit::Rate)
    }

    /// True if subjects of this kind have such values.
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
    /// Everything about it.
    pub const fn line(self) -> &'static Line {
        &LINES[self as usize]
    }

    /// The name of its values of one kind of subject.
    pub fn name(self, of: Of) -> &'static str {
        let line = self.line();
        line.network_name.filter(|_| of == Of::Network).unwrap_or(line.name)
    }

    /// The least half width of an interval of it, as a share of the value: a percentile is no more exact than the buckets of its
    /// histogram, however alike the runs are.
    pub const fn exactness(self) -> f64 {
        if self.line().is_percentile { RESOLUTION } else { 0.0 }
    }

    /// The metrics of a kind of subject, in the order of the table.
    pub fn all_of(of: Of) -> impl ExactSizeIterator<Item = Self> {
        let members = &MEMBERS[of as usize];
        members.numbers[..members.count].iter().map(|&number| Self::ALL[usize::from(number)])
    }

    /// The metric at a place among those of a kind of subject.
    fn at(of: Of, place: usize) -> Option<Self> {
        let members = &MEMBERS[of as usize];
        members.numbers[..members.count].get(place).map(|&number| Self::ALL[usize::from(number)])
    }

    /// The metrics that have a column in a table, in the order of the table of metrics.
    pub fn in_table(table: Tables) -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(move |metric| metric.line().tables.has(table))
    }

    fn column(self, of: Of) -> Option<usize> {
        let column = COLUMNS[self as usize][of as usize];
        (column != ABSENT).then_some(usize::from(column))
    }
}

/// The relative exactness of the percentiles of the simulator's histograms.
const RESOLUTION: f64 = 0.016;

/// The mark of a metric that has no column.
const ABSENT: u8 = u8::MAX;

/// The kinds of subjects, by their numbers.
const KINDS: [Of; SUBJECTS] = [Of::Flow, Of::Group, Of::Network, Of::Link, Of::SizeClass];

/// The numbers of metrics: the first `count` of `numbers`.
#[derive(Clone, Copy)]
pub(super) struct Members<const N: usize> {
    numbers: [u8; N],
    count: usize,
}

/// The metrics of each kind of subject.
pub(super) const fn members<const N: usize>(lines: &[Line; N]) -> [Members<N>; SUBJECTS] {
    let mut members = [Members { numbers: [0; N], count: 0 }; SUBJECTS];
    let mut of = 0;
    while of < SUBJECTS {
        let mut number = 0;
        while number < N {
            if lines[number].is_of(KINDS[of]) {
                members[of].numbers[members[of].count] = number as u8;
                members[of].count += 1;
            }
            number += 1;
        }
        of += 1;
    }
    members
}

/// The position of each metric among those of each kind of subject.
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

/// A kind of subject as a type, so that values know what they are of.
pub trait Subject: Clone + Copy + fmt::Debug + Default {
    /// The kind.
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

/// The values of one subject: a number or nothing for each metric of its kind.
#[derive(Clone)]
pub struct Values<S> {
    /// By [`COLUMNS`]; what is not a number is no value.
    cells: Box<[f64]>,
    of: PhantomData<S>,
}

impl<S: Subject> Values<S> {
    /// No value at all.
    pub fn none() -> Self {
        let count = Metric::all_of(S::OF).len();
        Self { cells: vec![f64::NAN; count].into_boxed_slice(), of: PhantomData }
    }

    pub(super) fn of(value: impl Fn(Metric) -> Option<f64>) -> Self {
        let cells = Metric::all_of(S::OF).map(|metric| value(metric).unwrap_or(f64::NAN)).collect();
        Self { cells, of: PhantomData }
    }

    /// The value of a metric, if it exists.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        let value = self.cells.get(metric.column(S::OF)?)?;
        (!value.is_nan()).then_some(*value)
    }

    /// The value of a metric; zero without one.
    pub fn or_zero(&self, metric: Metric) -> f64 {
        self.get(metric).unwrap_or(0.0)
    }

    /// Puts a value in the place of another. Subjects of another kind have none, and nothing is done.
    pub fn set(&mut self, metric: Metric, value: Option<f64>) {
        if let Some(cell) = metric.column(S::OF).and_then(|column| self.cells.get_mut(column)) {
            *cell = value.unwrap_or(f64::NAN);
        }
    }

    /// The metrics that have a value, by name.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> + '_ {
        Metric::all_of(S::OF).map(|metric| (metric.name(S::OF), self.get(metric)))
    }

    /// The values of many together, from those of each.
    pub(super) fn joined<M: Subject, T>(
        each: &[&Values<M>],
        whole: &T,
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
                Joined::Measured(value) => value(whole),
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

/// A value as it stands in a document: whole numbers without a fraction, nothing as null.
struct Number(Option<f64>, bool);

impl Serialize for Number {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        match *self {
            Self(None, _) => serializer.serialize_none(),
            Self(Some(value), true) if (0.0..=LARGEST_WHOLE).contains(&value) => {
                serializer.serialize_u64(value as u64)
            }
            Self(Some(value), _) => serializer.serialize_f64(value),
        }
    }
}

/// Floats tell all whole numbers up to here apart.
const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;

/// An object within that of a flow.
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
            map.serialize_entry(line.name, &Number(self.0.get(metric), line.is_whole))?;
        }
        map.end()
    }
}

/// The object that holds a metric of a subject, where it is not the subject itself.
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
                    map.serialize_entry(metric.name(S::OF), &Number(self.get(metric), line.is_whole))?;
                }
                // The lines of an object stand together.
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

/// Reads values: those of a subject, or those of an object within it. Names that are unknown are passed over.
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
        // Documents have metrics in the order of the table: the next name is mostly that of the next metric.
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
    fn values_are_read_in_whatever_order_they_come() {
        let mut number = 0.0;
        let mut values = Values::<OfFlow>::none();
        for metric in Metric::all_of(Of::Flow) {
            number += 1.0;
            values.set(metric, Some(number));
        }
        let told = serde_json::to_value(&values).unwrap();
        assert_eq!(serde_json::from_value::<Values<OfFlow>>(told.clone()).unwrap(), values);
        let Value::Object(told) = told else { unreachable!("values are an object") };
        let inner = told.values().find_map(Value::as_object).expect("a flow has an object within it");
        let turned = |of: &Map<String, Value>| {
            let pairs = of.iter().rev().map(|(name, value)| (name.clone(), value.clone()));
            pairs.chain([("other".to_owned(), json!({"a": [1]}))]).collect::<Map<_, _>>()
        };
        let mut other = turned(&told);
        for value in other.values_mut().filter(|value| value.as_object() == Some(inner)) {
            *value = Value::Object(turned(inner));
        }
        assert_eq!(serde_json::from_value::<Values<OfFlow>>(Value::Object(other)).unwrap(), values);
    }
}
