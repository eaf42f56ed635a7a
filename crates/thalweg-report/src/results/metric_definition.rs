//! Definitions of metrics: the rows of their table.

use thalweg_proto::units::Rate;
use thalweg_sim::{FlowResult, GroupResult, LinkResult, RunResult, Transfers};

/// Kind of subject of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectKind {
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
pub(super) const SUBJECT_COUNT: usize = 5;

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
    Fraction,
    /// Dimensionless number, such as an index or a ratio.
    Dimensionless,
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
            Self::Fraction => "0 to 1",
            Self::Dimensionless => "",
            Self::RateSquared => "(kbit/s)²",
        }
    }
}

/// Aggregation of a metric over several subjects. `M` identifies metrics.
#[derive(Debug)]
pub enum Aggregation<T, M> {
    /// No aggregate.
    None,
    /// Sum of the existing values.
    Sum,
    /// Maximum of the existing values.
    Max,
    /// Mean weighted by another metric.
    WeightedMean(M),
    /// Measured by the simulator.
    Computed(fn(&T) -> Option<f64>),
}

impl<T, M: Copy> Clone for Aggregation<T, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, M: Copy> Copy for Aggregation<T, M> {}

/// Input of the metrics table for one flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowInNetwork<'a> {
    /// The simulator's measurements of the flow.
    pub flow: &'a FlowResult,
    /// Total goodput of all flows of the run.
    pub network_goodput: Rate,
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
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if the sets intersect.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Definition of a metric: a row of the table in `metric_list.rs`. `M` identifies metrics.
#[derive(Clone, Copy, Debug)]
pub struct MetricDefinition<M: Copy> {
    /// Name in documents; it ends in the unit.
    pub name: &'static str,
    /// Name for the whole network, if different.
    pub network_name: Option<&'static str>,
    /// Unit of the values.
    pub unit: Unit,
    /// Description, in sentences.
    pub description: &'static str,
    /// Column heading: the part that adjacent columns may share, and the rest.
    pub header: (&'static str, &'static str),
    /// Tables with a column of this metric.
    pub tables: Tables,
    /// Object in a flow's JSON that holds the metric; none for the flow itself.
    pub parent_object: Option<&'static str>,
    /// True if values are integers.
    pub is_integer: bool,
    /// True if the column appears only when some row is above zero.
    pub omitted_when_zero: bool,
    /// True if the value comes from a histogram; bucket widths limit its precision.
    pub is_percentile: bool,
    pub(super) flow: Option<fn(&FlowInNetwork<'_>) -> Option<f64>>,
    pub(super) group: Aggregation<GroupResult, M>,
    pub(super) network: Aggregation<RunResult, M>,
    pub(super) link: Option<fn(&LinkResult) -> Option<f64>>,
    pub(super) transfers: Option<fn(&Transfers) -> Option<f64>>,
}

impl<M: Copy> MetricDefinition<M> {
    pub(super) const fn new(name: &'static str, unit: Unit) -> Self {
        Self {
            name,
            network_name: None,
            unit,
            description: "",
            header: ("", ""),
            tables: Tables::NONE,
            parent_object: None,
            is_integer: matches!(
                unit,
                Unit::Rate | Unit::Bytes | Unit::Packets | Unit::Segments | Unit::Count
            ),
            omitted_when_zero: false,
            is_percentile: false,
            flow: None,
            group: Aggregation::None,
            network: Aggregation::None,
            link: None,
            transfers: None,
        }
    }

    pub(super) const fn with_description(mut self, description: &'static str) -> Self {
        self.description = description;
        self
    }

    /// Adds a column under this heading to these tables.
    pub(super) const fn with_header(
        mut self,
        family: &'static str,
        rest: &'static str,
        tables: Tables,
    ) -> Self {
        (self.header, self.tables) = ((family, rest), tables);
        self
    }

    pub(super) const fn with_parent_object(mut self, object: &'static str) -> Self {
        self.parent_object = Some(object);
        self
    }

    /// Marks values as fractional, although other metrics of this unit are integers.
    pub(super) const fn with_fraction(mut self) -> Self {
        self.is_integer = false;
        self
    }

    pub(super) const fn with_omission_when_zero(mut self) -> Self {
        self.omitted_when_zero = true;
        self
    }

    pub(super) const fn with_histogram(mut self) -> Self {
        self.is_percentile = true;
        self
    }

    pub(super) const fn with_flow_value(mut self, value: fn(&FlowInNetwork<'_>) -> Option<f64>) -> Self {
        self.flow = Some(value);
        self
    }

    pub(super) const fn with_group_value(mut self, value: fn(&GroupResult) -> Option<f64>) -> Self {
        self.group = Aggregation::Computed(value);
        self
    }

    pub(super) const fn with_network_value(mut self, value: fn(&RunResult) -> Option<f64>) -> Self {
        self.network = Aggregation::Computed(value);
        self
    }

    pub(super) const fn with_link_value(mut self, value: fn(&LinkResult) -> Option<f64>) -> Self {
        self.link = Some(value);
        self
    }

    /// Defines the metric over the transfers of groups, the network and size classes.
    pub(super) const fn with_transfers_value(mut self, value: fn(&Transfers) -> Option<f64>) -> Self {
        self.transfers = Some(value);
        self
    }

    /// Aggregates by sum: groups over their flows, the network over its groups.
    pub(super) const fn sum_over_members(mut self) -> Self {
        (self.group, self.network) = (Aggregation::Sum, Aggregation::Sum);
        self
    }

    /// Aggregates by maximum: groups over their flows, the network over its groups.
    pub(super) const fn max_over_members(mut self) -> Self {
        (self.group, self.network) = (Aggregation::Max, Aggregation::Max);
        self
    }

    /// Aggregates by weighted mean: groups over their flows, the network over its groups.
    pub(super) const fn weighted_mean_by(mut self, weight: M) -> Self {
        (self.group, self.network) = (Aggregation::WeightedMean(weight), Aggregation::WeightedMean(weight));
        self
    }

    /// Sets the aggregation of the groups' values into the network's.
    pub(super) const fn aggregate_network_by(mut self, aggregation: Aggregation<RunResult, M>) -> Self {
        self.network = aggregation;
        self
    }

    pub(super) const fn with_network_name(mut self, name: &'static str) -> Self {
        self.network_name = Some(name);
        self
    }

    /// Returns true if the values are counts: bytes, packets, events.
    pub const fn is_count(&self) -> bool {
        self.is_integer && !matches!(self.unit, Unit::Rate)
    }

    /// Returns true if the metric applies to this kind of subject.
    pub const fn applies_to(&self, subject: SubjectKind) -> bool {
        match subject {
            SubjectKind::Flow => self.flow.is_some(),
            SubjectKind::Group => self.transfers.is_some() || !matches!(self.group, Aggregation::None),
            SubjectKind::Network => self.transfers.is_some() || !matches!(self.network, Aggregation::None),
            SubjectKind::Link => self.link.is_some(),
            SubjectKind::SizeClass => self.transfers.is_some(),
        }
    }
}

/// Marker of a metric without a column.
pub(super) const ABSENT: u8 = u8::MAX;

/// Kinds of subjects, by index.
const SUBJECT_KINDS: [SubjectKind; SUBJECT_COUNT] =
    [SubjectKind::Flow, SubjectKind::Group, SubjectKind::Network, SubjectKind::Link, SubjectKind::SizeClass];

/// Indices of metrics: the first `count` of `metrics`.
#[derive(Clone, Copy)]
pub(super) struct MetricIndices<const N: usize> {
    pub(super) metrics: [u8; N],
    pub(super) count: usize,
}

/// Returns the metrics of each kind of subject.
pub(super) const fn metrics_by_subject<M: Copy, const N: usize>(
    lines: &[MetricDefinition<M>; N],
) -> [MetricIndices<N>; SUBJECT_COUNT] {
    let mut metrics_by_subject = [MetricIndices { metrics: [0; N], count: 0 }; SUBJECT_COUNT];
    let mut subject = 0;
    while subject < SUBJECT_COUNT {
        let mut metric_index = 0;
        while metric_index < N {
            if lines[metric_index].applies_to(SUBJECT_KINDS[subject]) {
                metrics_by_subject[subject].metrics[metrics_by_subject[subject].count] = metric_index as u8;
                metrics_by_subject[subject].count += 1;
            }
            metric_index += 1;
        }
        subject += 1;
    }
    metrics_by_subject
}

/// Returns the position of each metric within each kind of subject.
pub(super) const fn columns_by_metric<M: Copy, const N: usize>(
    lines: &[MetricDefinition<M>; N],
) -> [[u8; SUBJECT_COUNT]; N] {
    let mut columns = [[ABSENT; SUBJECT_COUNT]; N];
    let mut next = [0; SUBJECT_COUNT];
    let mut metric_index = 0;
    while metric_index < N {
        let mut subject = 0;
        while subject < SUBJECT_COUNT {
            if lines[metric_index].applies_to(SUBJECT_KINDS[subject]) {
                columns[metric_index][subject] = next[subject];
                next[subject] += 1;
            }
            subject += 1;
        }
        metric_index += 1;
    }
    columns
}
