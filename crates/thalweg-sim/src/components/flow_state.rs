//! State of flows: their applications, connections and counts.

use crate::components::completion_times::CompletionTimes;
use crate::components::connection_endpoint::{Counts, EndpointPath};
use crate::components::packet_pool::NONE;
use crate::components::reading_application::Reader;
use crate::components::workload_barrier::Rounds;
use crate::components::workload_state::Workload;
use crate::measure::Histogram;
use crate::run_result::{FlowCounts, TwoLevelCounts};
use std::sync::Arc;
use thalweg_proto::units::{Duration, Time};

/// Maximum size of a group with delay histograms per flow; larger groups share one, as histograms would dominate the
/// memory of each flow.
pub(crate) const MAX_FLOWS_WITH_DELAY: u32 = 1000;

/// Placeholder for no connection.
pub(crate) const NO_CONNECTION: u32 = u32::MAX;

/// The role of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The flow's connection from source to sink.
    Main,
    /// The flow's connection from sink to source.
    Reply,
    /// The connection of one of many transfers.
    Transfer,
}

/// A sender and a receiver: endpoints `2 * n` and `2 * n + 1` of connection `n`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Connection {
    pub flow: u32,
    pub role: Role,
    pub open_time: Time,
    /// Bytes delivered at its receiver, and time of the last delivery.
    pub delivered: u64,
    pub delivered_at: Time,
    /// Size of its transfer in bytes; zero for connections without one.
    pub size: u64,
}

impl Connection {
    /// A connection that is unopened or in another partition.
    pub const UNOPENED: Self = Self::opened(u32::MAX, Role::Main, Time::ZERO);

    /// Returns a connection of `flow` that opens now.
    pub const fn opened(flow: u32, role: Role, now: Time) -> Self {
        Self { flow, role, open_time: now, delivered: 0, delivered_at: now, size: 0 }
    }

    /// Returns true for a transfer of which everything was delivered, whether its sender knows it or not.
    pub fn is_delivered(&self) -> bool {
        self.size > 0 && self.delivered >= self.size
    }
}

/// Bit that distinguishes hosts behind access links from nodes.
const BEHIND_ACCESS: u32 = 1 << 31;

/// A group of flows.
#[derive(Debug)]
pub(crate) struct Group {
    pub name: String,
    pub scheme: String,
    pub transport: u32,
    pub priority: u8,
    /// Gates of the source and sink nodes.
    pub gates: [u16; 2],
    /// Routes from source to sink and back: for each pair of nodes, repeated after each route change.
    pub routes: Arc<[[u32; 2]]>,
    /// The pairs of nodes of its flows: source and sink.
    pub pairs: Arc<[[u32; 2]]>,
    /// Number of route changes so far.
    pub epoch: u32,
    /// Route of out-of-band control PDUs.
    pub control: Option<u32>,
    /// Offset of the links for host overhead among a flow's own links.
    pub overhead: Option<u32>,
    /// True if its flows have access links to hosts of their own.
    pub has_access: bool,
    pub first_flow: u32,
    pub flows: u32,
    /// Position of its first flow among all that open connections during the run; `None` if its flows do not.
    pub opening: Option<u32>,
    pub completions: CompletionTimes,
    /// The rounds of its flows, if any.
    pub rounds: Rounds,
    /// One-way delays, for a group too large for a histogram per flow.
    pub delay: Histogram,
    /// Round-trip times measured by senders, for such a group.
    pub round_trips: Histogram,
}

/// One-way delays of a flow's data packets.
#[derive(Debug)]
pub(crate) struct Delays {
    pub histogram: Histogram,
    /// Delay variation between consecutive packets, for flows with reported jitter.
    variation: Option<Variation>,
}

/// Delay differences between consecutive packets.
#[derive(Debug, Default)]
struct Variation {
    /// Delay of the previous packet.
    last: Option<Duration>,
    /// Sum and number of the differences.
    sum: u128,
    differences: u64,
}

impl Variation {
    fn record(&mut self, delay: Duration) {
        if let Some(last) = self.last.replace(delay) {
            self.sum += u128::from(last.as_picos().abs_diff(delay.as_picos()));
            self.differences += 1;
        }
    }
}

impl Delays {
    /// Returns an empty record, with or without jitter.
    pub fn new(with_jitter: bool) -> Self {
        Self { histogram: Histogram::default(), variation: with_jitter.then(Variation::default) }
    }

    #[inline]
    pub fn record(&mut self, delay: Duration) {
        self.histogram.record(delay);
        if let Some(variation) = &mut self.variation {
            variation.record(delay);
        }
    }

    /// Returns the mean delay difference of consecutive packets: |D(i-1, i)| of RFC 3550, section 6.4.1, without
    /// weighting. `None` with fewer than two packets, and for a flow without reported jitter.
    pub fn jitter(&self) -> Option<Duration> {
        let Variation { sum, differences, .. } = self.variation.as_ref()?;
        let mean = sum.checked_div(u128::from(*differences))?;
        Some(Duration::from_picos(u64::try_from(mean).unwrap_or(u64::MAX)))
    }
}

/// A flow.
#[derive(Debug)]
pub(crate) struct Flow {
    pub group: u32,
    /// First of its own transmitters: four for access (out of and into the source, then out of the network to the sink
    /// and back), followed by one or two for out-of-band control PDUs.
    pub links: u32,
    /// Hosts at its source and its sink.
    pub hosts: [u32; 2],
    pub start: Time,
    /// Finish time; [`Time::MAX`] until then.
    pub finished: Time,
    pub stopped: bool,
    pub main: u32,
    pub reply: u32,
    pub workload: Workload,
    /// Bytes delivered to the applications at both endpoints over the whole run.
    pub delivered: u64,
    pub counts: FlowCounts,
    /// One-way delays, if not recorded by the group.
    pub delay: Option<Box<Delays>>,
    /// Round-trip times measured by its senders, if not recorded by the group and if any.
    pub round_trips: Option<Box<Histogram>>,
    pub special: Option<Box<RareFlowState>>,
}

/// Rarely used state of a flow.
#[derive(Debug)]
pub(crate) struct RareFlowState {
    /// Failure time; [`Time::MAX`] until then.
    pub failed: Time,
    /// The application at the sink, if it reads at a configured rate.
    pub reader: Option<Box<Reader>>,
    /// Counts of closed connections.
    pub closed_counts: Option<Box<Counts>>,
    /// Counts of all connections at the start of counting, and the bytes delivered by then.
    pub counts_before: Option<Box<(Counts, u64)>>,
    /// Counts of two-level flow control: of closed connections, and of all at the start of counting.
    pub two_level: Option<Box<[TwoLevelCounts; 2]>>,
}

impl RareFlowState {
    pub const NONE: Self =
        Self { failed: Time::MAX, reader: None, closed_counts: None, counts_before: None, two_level: None };
}

impl Flow {
    /// Returns the rarely used state, allocated on first use.
    pub fn special(&mut self) -> &mut RareFlowState {
        self.special.get_or_insert_with(|| Box::new(RareFlowState::NONE))
    }

    /// Returns the failure time; [`Time::MAX`] until then.
    pub fn failure_time(&self) -> Time {
        self.special.as_ref().map_or(Time::MAX, |special| special.failed)
    }

    #[inline]
    pub fn reader(&self) -> Option<&Reader> {
        self.special.as_deref()?.reader.as_deref()
    }

    pub fn reader_mut(&mut self) -> Option<&mut Reader> {
        self.special.as_deref_mut()?.reader.as_deref_mut()
    }

    /// Returns the mutable counts of closed connections.
    pub fn closed_counts_mut(&mut self) -> &mut Counts {
        self.special().closed_counts.get_or_insert_default()
    }

    /// Returns the counts of all connections at the start of counting, and the bytes delivered by then.
    pub fn before(&self) -> Option<&(Counts, u64)> {
        self.special.as_deref()?.counts_before.as_deref()
    }

    /// Returns the counts of two-level flow control: of closed connections, and of all at the start of counting.
    pub fn two_level(&self) -> Option<&[TwoLevelCounts; 2]> {
        self.special.as_deref()?.two_level.as_deref()
    }

    /// Returns a flow without connections and delay measurements, with unlimited sending.
    pub fn idle(group: u32, links: u32, hosts: [u32; 2], start: Time) -> Self {
        Self {
            group,
            links,
            hosts,
            start,
            finished: Time::MAX,
            stopped: false,
            main: NO_CONNECTION,
            reply: NO_CONNECTION,
            workload: Workload::Bulk,
            delivered: 0,
            counts: FlowCounts::default(),
            delay: None,
            round_trips: None,
            special: None,
        }
    }

    /// Returns the placeholder for a flow of another partition.
    pub fn placeholder(&self) -> Self {
        Self::idle(self.group, self.links, self.hosts, self.start)
    }

    /// Adds the measurements of the sink from another partition.
    pub fn add_sink(&mut self, sink: Self) {
        self.delay = sink.delay;
        // These are from the sender of responses.
        if let Some(round_trips) = sink.round_trips {
            self.round_trips.get_or_insert_default().merge(&round_trips);
        }
        self.delivered = sink.delivered;
        self.counts.add(&sink.counts);
        let Some(of_sink) = sink.special else { return };
        if let Some(closed_counts) = &of_sink.closed_counts {
            self.closed_counts_mut().add(closed_counts);
        }
        let before = self.special.as_deref_mut().and_then(|special| special.counts_before.as_deref_mut());
        if let (Some(before), Some(of_sink)) = (before, of_sink.counts_before) {
            before.0.add(&of_sink.0);
            before.1 = of_sink.1;
        }
    }

    /// Returns the connections that the flow has from its start.
    pub fn initial_connections(&self) -> impl Iterator<Item = u32> + use<> {
        [self.main, self.reply].into_iter().filter(|&number| number != NO_CONNECTION)
    }
}

impl Group {
    /// Returns the name of a flow of the group by its number in the run: the group's own if it is alone.
    pub fn flow_name(&self, flow: u32) -> String {
        if self.flows == 1 {
            self.name.clone()
        } else {
            format!("{}.{}", self.name, flow - self.first_flow + 1)
        }
    }

    /// Returns the group in its initial state.
    pub fn fresh(&self) -> Self {
        Self {
            name: self.name.clone(),
            scheme: self.scheme.clone(),
            completions: CompletionTimes::default(),
            rounds: Rounds {
                rounds_left: self.rounds.rounds_left,
                think: self.rounds.think,
                ..Rounds::default()
            },
            delay: Histogram::default(),
            round_trips: Histogram::default(),
            routes: Arc::clone(&self.routes),
            pairs: Arc::clone(&self.pairs),
            ..*self
        }
    }

    /// Returns the position of its flow of that number among all that open connections during the run, if it does.
    #[inline]
    pub fn opening_flow_index(&self, flow: u32) -> Option<usize> {
        self.opening.map(|first| (first + flow - self.first_flow) as usize)
    }

    /// Adds another partition's measurements of the same group.
    pub fn add(&mut self, other: &Self) {
        self.completions.merge(&other.completions);
        self.completions.given_up += other.completions.given_up;
        self.rounds.add(&other.rounds);
        self.delay.merge(&other.delay);
        self.round_trips.merge(&other.round_trips);
    }

    /// Returns the position among [`pairs`](Self::pairs) of the nodes of its flow of that number.
    fn pair(&self, number: u32) -> usize {
        (number - self.first_flow) as usize % self.pairs.len()
    }

    /// Returns the hosts at the source and at the sink of its flow of that number: nodes, or hosts behind access links.
    pub fn hosts_of(&self, number: u32) -> [u32; 2] {
        if self.has_access {
            [0, 1].map(|end| BEHIND_ACCESS | (number * 2 + end))
        } else {
            self.pairs[self.pair(number)]
        }
    }

    /// Returns the paths of packets from the source and from the sink of its flow of that number.
    pub fn paths(&self, flow: &Flow, number: u32) -> [EndpointPath; 2] {
        let link = |number: u32| if self.has_access { flow.links + number } else { NONE };
        let [source, sink] = flow.hosts;
        let position = self.epoch as usize * self.pairs.len() + self.pair(number);
        let [forward, backward] = self.routes[position];
        [
            EndpointPath { first: link(0), route: forward, exit: link(2), host: source },
            EndpointPath { first: link(3), route: backward, exit: link(1), host: sink },
        ]
    }
}
