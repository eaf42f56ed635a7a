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
pub(super) const SUBJECT_KINDS: usize = 5;

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

/// Aggregation of a metric over several subjects. `M` identifies metrics.
#[derive(Debug)]
pub enum Aggregation<T, M> {
    /// No aggregate.
    Not,
    /// Sum of the existing values.
    Sum,
    /// Maximum of the existing values.
    Most,
    /// Mean weighted by another metric.
    MeanBy(M),
    /// Measured by the simulator.
    Measured(fn(&T) -> Option<f64>),
}

impl<T, M: Copy> Clone for Aggregation<T, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, M: Copy> Copy for Aggregation<T, M> {}

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

/// Definition of a metric: a row of the table in `metric_list.rs`. `M` identifies metrics.
#[derive(Clone, Copy, Debug)]
pub struct Line<M: Copy> {
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
    pub(super) group: Aggregation<GroupResult, M>,
    pub(super) network: Aggregation<RunResult, M>,
    pub(super) link: Option<fn(&LinkResult) -> Option<f64>>,
    pub(super) transfers: Option<fn(&Transfers) -> Option<f64>>,
}

impl<M: Copy> Line<M> {
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
            group: Aggregation::Not,
            network: Aggregation::Not,
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
        self.group = Aggregation::Measured(value);
        self
    }

    pub(super) const fn of_network(mut self, value: fn(&RunResult) -> Option<f64>) -> Self {
        self.network = Aggregation::Measured(value);
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
    pub(super) const fn sum_over_members(mut self) -> Self {
        (self.group, self.network) = (Aggregation::Sum, Aggregation::Sum);
        self
    }

    /// Aggregates by maximum: groups over their flows, the network over its groups.
    pub(super) const fn max(mut self) -> Self {
        (self.group, self.network) = (Aggregation::Most, Aggregation::Most);
        self
    }

    /// Aggregates by weighted mean: groups over their flows, the network over its groups.
    pub(super) const fn weighted_mean_by(mut self, weight: M) -> Self {
        (self.group, self.network) = (Aggregation::MeanBy(weight), Aggregation::MeanBy(weight));
        self
    }

    /// Sets the aggregation of the groups' values into the network's.
    pub(super) const fn aggregate_network_by(mut self, joined: Aggregation<RunResult, M>) -> Self {
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
    pub const fn is_of(&self, of: SubjectKind) -> bool {
        match of {
            SubjectKind::Flow => self.flow.is_some(),
            SubjectKind::Group => self.transfers.is_some() || !matches!(self.group, Aggregation::Not),
            SubjectKind::Network => self.transfers.is_some() || !matches!(self.network, Aggregation::Not),
            SubjectKind::Link => self.link.is_some(),
            SubjectKind::SizeClass => self.transfers.is_some(),
        }
    }
}

/// Marker of a metric without a column.
pub(super) const ABSENT: u8 = u8::MAX;

/// Kinds of subjects, by index.
const KINDS: [SubjectKind; SUBJECT_KINDS] =
    [SubjectKind::Flow, SubjectKind::Group, SubjectKind::Network, SubjectKind::Link, SubjectKind::SizeClass];

/// Indices of metrics: the first `count` of `numbers`.
#[derive(Clone, Copy)]
pub(super) struct MetricIndices<const N: usize> {
    pub(super) numbers: [u8; N],
    pub(super) count: usize,
}

/// Returns the metrics of each kind of subject.
pub(super) const fn metric_indices<M: Copy, const N: usize>(
    lines: &[Line<M>; N],
) -> [MetricIndices<N>; SUBJECT_KINDS] {
    let mut metric_indices = [MetricIndices { numbers: [0; N], count: 0 }; SUBJECT_KINDS];
    let mut of = 0;
    while of < SUBJECT_KINDS {
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
pub(super) const fn metric_positions<M: Copy, const N: usize>(
    lines: &[Line<M>; N],
) -> [[u8; SUBJECT_KINDS]; N] {
    let mut columns = [[ABSENT; SUBJECT_KINDS]; N];
    let mut next = [0; SUBJECT_KINDS];
    let mut number = 0;
    while number < N {
        let mut of = 0;
        while of < SUBJECT_KINDS {
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
