//! The specification of a simulation: a network and its traffic with every quantity resolved.
//!
//! `thalweg-scenario` reads scenario files into these types; programs may also fill them in directly. They are plain
//! data: [`Simulation::new`](crate::Simulation::new) checks them.

pub use crate::host_model::HostSpec;
pub use crate::middlebox::{Middlebox, NatKind};
pub use crate::packet_matching::{Match, NoMatch, Protocol};
pub use crate::processing_cost::Processing;
pub use crate::routing_spec::{FailureSpec, Metric, Multipath, RoutingSpec};
pub use crate::scheduled_change::{Change, JitterChange};
pub use crate::size_distribution::SizeSpec;

use std::sync::Arc;
use thalweg_catalog::protocol_family::Adjustment;
use thalweg_catalog::{EndpointConfigs, Properties};
use thalweg_proto::gate::{GateConfig, Marking};
use thalweg_proto::random::RandomStream;
use thalweg_proto::transport::ReceiverCounts;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_proto::window::{Misbehaviour, PauseConfig};
use thalweg_queue::feedback::{FeedbackSpec, Recipients};
use thalweg_queue::random_delay::VariationSpec;
use thalweg_queue::{
    AckFilter, AggregationSpec, CapacityTrace, DisciplineSpec, EcnTreatment, FcfsConfig, ImpairmentSpec,
    Limit, PeriodicVariationSpec, StartDelaySpec,
};

/// A node by its position in [`Spec::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A whole simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spec {
    /// Routers and named hosts.
    pub nodes: Vec<NodeSpec>,
    /// Full-duplex links between them.
    pub links: Vec<LinkSpec>,
    /// The routing of packets over the links.
    pub routing: RoutingSpec,
    /// Traffic.
    pub groups: Vec<GroupSpec>,
    /// Duration of the run.
    pub duration: Duration,
    /// Warm-up time: earlier events are not counted.
    pub warmup: Duration,
    /// Seed of all random streams.
    pub seed: u64,
    /// The order of events of one kind at one time.
    pub ties: Ties,
    /// The measurements to record during the run.
    pub measure: MeasureSpec,
}

/// The order of events of one kind that happen at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ties {
    /// Random order, by a hash of the time and the entity concerned. It favours no flow.
    #[default]
    Hash,
    /// Links, flows and endpoints in the order of the specification: the first of equal flows always wins. Meant for
    /// symmetric experiments without randomness.
    Order,
}

/// A router or host.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSpec {
    /// Its name.
    pub name: String,
    /// Cost of handling a packet at an endpoint on this node.
    pub processing: Processing,
    /// The gate that controls which of the flows that start at this node may send. It does not control flows with
    /// access links: they start at hosts of their own.
    pub gate: Option<GateSpec>,
}

impl NodeSpec {
    /// Returns a node without processing cost and without a gate.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), processing: Processing::default(), gate: None }
    }
}

/// Configuration of a node's gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateSpec {
    /// The configuration of the gate itself.
    pub config: GateConfig,
    /// Effect of a pause on the timers of window transports.
    pub pause: PauseConfig,
    /// Coding of priorities in the DSCP of real packets.
    pub marking: Marking,
}

/// A full-duplex link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// Its name.
    pub name: String,
    /// First endpoint.
    pub a: NodeId,
    /// Second endpoint.
    pub b: NodeId,
    /// Routing cost, in both directions or from a to b.
    pub weight: u32,
    /// Routing cost from b to a, if different.
    pub reverse_weight: Option<u32>,
    /// The direction from a to b.
    pub forward: DirectionSpec,
    /// The direction from b to a.
    pub backward: DirectionSpec,
    /// Middleboxes on the link, for real packets only.
    pub middlebox: Middlebox,
}

impl LinkSpec {
    /// Returns a link of weight 1 without middleboxes.
    pub fn new(
        name: impl Into<String>,
        [a, b]: [NodeId; 2],
        forward: DirectionSpec,
        backward: DirectionSpec,
    ) -> Self {
        Self {
            name: name.into(),
            a,
            b,
            weight: 1,
            reverse_weight: None,
            forward,
            backward,
            middlebox: Middlebox::default(),
        }
    }
}

/// One direction of a link: a queue, a transmitter and the propagation.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionSpec {
    /// The transmitter's rate.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// Random extra delay of each packet, uniform between zero and this. It does not reorder packets.
    pub jitter: Duration,
    /// Additional random delay of another distribution, or one per flow.
    pub variation: Option<Arc<VariationSpec>>,
    /// The queue in front of the transmitter.
    pub queue: DisciplineSpec,
    /// Congestion feedback of the router to sources; for links of the specification, not for access links.
    pub feedback: Option<FeedbackSpec>,
    /// Impairments of packets in propagation.
    pub impairment: ImpairmentSpec,
    /// Changes during the run, in order of time.
    pub schedule: Vec<Change>,
    /// Capacity trace that replaces `rate`: when how many bytes may leave. `rate` is then only displayed, but zero
    /// still is an outage.
    pub capacity: Option<Arc<CapacityTrace>>,
    /// Link-layer framing of each packet.
    pub framing: Framing,
    /// Token bucket in front of the transmitter, and its wake-up delay after idle time.
    pub start_delay: StartDelaySpec,
    /// Aggregation: packets arrive in batches.
    pub aggregation: Option<AggregationSpec>,
    /// Periodic variation of rate and delay around those of this direction.
    pub periodic_variation: Option<PeriodicVariationSpec>,
    /// Treatment of ECN codepoints.
    pub ecn: EcnTreatment,
    /// Removal of superseded acknowledgements of the window transport from the queue; FIFO queues only.
    pub ack_filter: AckFilter,
}

/// Link-layer overhead of each packet. It takes transmission time, but is not part of the packet size in queues and
/// counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Framing {
    /// No overhead beyond the packet size.
    #[default]
    None,
    /// Cells of 53 bytes with 48 bytes of payload each. The packet, the AAL5 trailer of 8 bytes and padding fill whole
    /// cells (ITU-T I.363.5).
    AtmAal5,
}

impl Framing {
    /// Returns the bytes on the wire of a packet of `size` bytes.
    pub fn on_wire(self, size: u32) -> u64 {
        match self {
            Self::None => u64::from(size),
            Self::AtmAal5 => (u64::from(size) + AAL5_TRAILER).div_ceil(CELL_PAYLOAD) * CELL,
        }
    }
}

const CELL: u64 = 53;
const CELL_PAYLOAD: u64 = 48;
const AAL5_TRAILER: u64 = 8;

/// A group of identically configured flows.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupSpec {
    /// The group's name. A single flow has this name; several are `name.1`, `name.2` and so on.
    pub name: String,
    /// The number of flows.
    pub count: u32,
    /// The data source.
    pub from: NodeId,
    /// The data sink.
    pub to: NodeId,
    /// Pairs of source and sink that replace `from` and `to`: flow number i (from 0) has pair i, cyclically.
    pub pairs: Arc<[[NodeId; 2]]>,
    /// Access links: each flow has its own source host behind `from` and sink host behind `to`.
    pub access: Option<AccessSpec>,
    /// The transport protocol.
    pub transport: TransportSpec,
    /// The workload of the application.
    pub workload: WorkloadSpec,
    /// Read rate of the application at the sink; unlimited if absent.
    pub reading: Option<Arc<ReadingSpec>>,
    /// Protocol violation by the receivers.
    pub misbehaviour: Option<Misbehaviour>,
    /// Start time of the flows.
    pub start: Time,
    /// Width of the random start times: each flow starts uniformly within this span after `start`; zero for no
    /// randomness.
    pub spread: Duration,
    /// Stagger: flow number i (from 0) starts i times this later.
    pub stagger: Duration,
    /// Stop time of the applications.
    pub stop: Option<Time>,
    /// Delay of an out-of-band control channel: acknowledgements and other control PDUs bypass the network and arrive
    /// after this delay, without loss.
    pub control_channel: Option<Duration>,
    /// Maximum random processing delay of each data packet at its sending host, uniform between zero and this. Packets
    /// are processed in parallel, at no cost in rate, and keep their order. It breaks the phase effects of flows at
    /// full queues (Floyd and Jacobson 1992, section 4). A host with an access link adds it to the link's
    /// [`jitter`](DirectionSpec::jitter).
    pub overhead: Duration,
    /// Host model at both endpoints of each flow, one thread each; ideal hosts if absent.
    pub host: Option<HostSpec>,
    /// Priority of the flows at gates and priority queues: from 1, the highest, to [`LOWEST_PRIORITY`].
    pub priority: u8,
    /// Match of the real programs' packets between the two nodes that belong to the flows, in a live network.
    pub live_match: Option<Match>,
}

impl GroupSpec {
    /// Returns one flow that starts at once, without access links, with defaults for everything else.
    pub fn new(
        name: impl Into<String>,
        [from, to]: [NodeId; 2],
        transport: TransportSpec,
        workload: WorkloadSpec,
    ) -> Self {
        Self {
            name: name.into(),
            count: 1,
            from,
            to,
            pairs: Arc::new([]),
            access: None,
            transport,
            workload,
            reading: None,
            misbehaviour: None,
            start: Time::ZERO,
            spread: Duration::ZERO,
            stagger: Duration::ZERO,
            stop: None,
            control_channel: None,
            overhead: Duration::ZERO,
            host: None,
            priority: LOWEST_PRIORITY,
            live_match: None,
        }
    }

    /// Returns the pairs of source and sink of its flows, each once or more.
    pub fn node_pairs(&self) -> impl ExactSizeIterator<Item = [NodeId; 2]> + '_ {
        (0..self.pairs.len().max(1)).map(|pair| self.pairs.get(pair).copied().unwrap_or([self.from, self.to]))
    }

    /// Returns the source and sink of flow number `flow` (from 0).
    pub fn nodes_of_flow(&self, flow: u32) -> [NodeId; 2] {
        match self.pairs.len() {
            0 => [self.from, self.to],
            pairs => self.pairs[flow as usize % pairs],
        }
    }

    /// Returns the number of flows of the pair at that position.
    pub fn flows_of_pair(&self, pair: usize) -> u32 {
        let pairs = self.pairs.len().max(1) as u32;
        self.count / pairs + u32::from((pair as u32) < self.count % pairs)
    }

    /// Returns the start time of flow number `flow` (from 0). Draws from `spread` once per flow, in order.
    pub(crate) fn start_of(&self, flow: u32, spread: &mut RandomStream) -> Time {
        self.start + self.stagger * u64::from(flow) + spread.uniform_duration(self.spread)
    }

    /// Returns the reason why the applications of this group cannot read as configured, if any.
    pub fn reading_fault(&self) -> Option<&'static str> {
        let reading = self.reading.as_deref()?;
        if let Some(why) = self.transport.properties().lacks_flow_control() {
            return Some(why);
        }
        if self.workload.has_transfers() {
            return Some("each of its transfers has a connection, but one application reads one connection");
        }
        let announces = reading.changes.iter().any(|change| change.announced);
        if announces && self.transport.properties().rates().agreed.is_none() {
            return Some("only two-level flow control accepts an announced change of the reading rate");
        }
        let is_ordered = reading.changes.is_sorted_by_key(|change| change.at);
        (!is_ordered).then_some("the changes of the reading rate must be in order of time")
    }

    /// Returns the reason why the receivers of this group cannot misbehave as configured, if any.
    pub fn misbehaviour_fault(&self) -> Option<&'static str> {
        let adjustment = Adjustment::Misbehaviour(self.misbehaviour?);
        let can = self.transport.clone().endpoint_configs.properties_mut().adjust(adjustment);
        (!can).then_some("the scheme has no receiver that could be made to misbehave: window schemes have")
    }

    /// Returns the reason why the hosts of this group are invalid with these nodes, if any.
    pub fn host_fault(&self, nodes: &[NodeSpec]) -> Option<&'static str> {
        let host = self.host.as_ref()?;
        let works = |node: NodeId| nodes.get(node.0 as usize).is_some_and(|node| !node.processing.is_free());
        let works = match &self.access {
            Some(access) => !access.source_processing.is_free() || !access.sink_processing.is_free(),
            None => works(self.from) || works(self.to),
        };
        let twice = "`processing` and `host` describe the same hosts: give one of them";
        host.fault().or(works.then_some(twice))
    }

    /// Returns the number of endpoints of a flow that send data: 2 if the sink answers requests.
    pub(crate) fn sending_endpoints_per_flow(&self) -> u32 {
        1 + u32::from(matches!(self.workload, WorkloadSpec::RequestResponse { .. }))
    }

    /// Returns the number of a flow's internal links for the [`overhead`](Self::overhead) of its hosts, numbered after
    /// all its other links; none if access links include it.
    pub(crate) fn host_delay_links_per_flow(&self) -> u32 {
        if self.overhead.is_zero() || self.access.is_some() { 0 } else { self.sending_endpoints_per_flow() }
    }

    /// Returns the number of links of each flow: for access, control channels and host overhead.
    pub(crate) fn private_links_per_flow(&self) -> u32 {
        let access = if self.access.is_some() { 4 } else { 0 };
        let channels = if self.control_channel.is_some() { self.sending_endpoints_per_flow() } else { 0 };
        access + channels + self.host_delay_links_per_flow()
    }

    /// Returns the access links, if any, with the host overhead included.
    pub(crate) fn access_with_overhead(&self) -> Option<AccessSpec> {
        let mut access = self.access.clone()?;
        access.source_forward.add_overhead(self.overhead);
        if self.sending_endpoints_per_flow() > 1 {
            access.sink_backward.add_overhead(self.overhead);
        }
        Some(access)
    }
}

/// Read rate of the application at a flow's sink. Unread data occupies the receive buffer and closes the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadingSpec {
    /// Initial rate of payload: [`Rate::MAX`] reads at once, zero not at all.
    pub rate: Rate,
    /// Changes, in order of time.
    pub changes: Vec<ReadingChange>,
}

/// A change of an application's read rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadingChange {
    /// The time of the change.
    pub at: Time,
    /// The new rate of payload.
    pub rate: Rate,
    /// Announced to the receiver, which adjusts its window; two-level flow control only.
    pub announced: bool,
}

/// Lowest priority of a flow, and the default.
pub const LOWEST_PRIORITY: u8 = 6;

/// The links between a flow's own hosts and the network.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessSpec {
    /// From the source host to `from`.
    pub source_forward: DirectionSpec,
    /// From `from` to the source host.
    pub source_backward: DirectionSpec,
    /// From `to` to the sink host.
    pub sink_forward: DirectionSpec,
    /// From the sink host to `to`.
    pub sink_backward: DirectionSpec,
    /// Cost of handling a packet at the source host.
    pub source_processing: Processing,
    /// Cost of handling a packet at the sink host.
    pub sink_processing: Processing,
}

/// A transport protocol with its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct TransportSpec {
    /// Name of the scheme in results.
    pub scheme: String,
    /// Configuration of both endpoints.
    pub endpoint_configs: EndpointConfigs,
    /// Overhead of a data packet on the wire, in bytes, without packet-dependent parts.
    pub header: u32,
    /// Size of a packet without payload on the wire, in bytes, without packet-dependent parts.
    pub control: u32,
}

impl TransportSpec {
    /// Returns the scheme of that name, with these endpoint configurations and sizes.
    pub fn new(scheme: &str, configs: impl Into<EndpointConfigs>, header: u32, control: u32) -> Self {
        Self { scheme: scheme.to_owned(), endpoint_configs: configs.into(), header, control }
    }

    /// Returns the properties of its protocol family, as configured.
    pub fn properties(&self) -> &dyn Properties {
        self.endpoint_configs.properties()
    }

    /// Returns a description of the scheme.
    pub fn description(&self) -> String {
        format!("{}{}", self.scheme, self.properties().description())
    }

    /// Returns the size on the wire of a data packet with `payload` bytes.
    pub fn data_packet(&self, payload: u32) -> u32 {
        payload + self.properties().framing(payload) + self.header
    }

    /// Returns the size on the wire of an acknowledgement or other answer to data.
    pub fn answer_packet(&self) -> u32 {
        self.properties().answer() + self.control
    }

    /// Returns true if the scheme's sources receive this router feedback.
    pub fn receives_feedback(&self, feedback: &FeedbackSpec) -> bool {
        feedback.recipients == Recipients::All
            || self.properties().router_feedback().kind == Some(feedback.policy.kind())
    }

    /// Returns the bytes on the wire of the data packets that receivers accepted.
    pub(crate) fn accepted_wire_bytes(&self, taken: &ReceiverCounts) -> u64 {
        taken.payload + taken.framing + taken.packets * u64::from(self.header)
    }

    /// Returns a payload rate as a share of the rate negotiated by both endpoints; `None` without a negotiated rate.
    pub(crate) fn reading_share(&self, rate: Rate) -> Option<f64> {
        let agreed = self.properties().rates().agreed?.as_f64();
        let packet = f64::from(self.properties().segment());
        let agreed = agreed * packet / (packet + f64::from(self.header));
        Some((rate.as_f64() / agreed).min(1.0))
    }
}

/// The traffic of an application.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkloadSpec {
    /// Unlimited data (ftp).
    Bulk,
    /// Sends this much and ends.
    Transfer(Bytes),
    /// Sends until this much has arrived, then ends. Over datagrams with loss that is more than this. Data in flight at
    /// the end still arrives.
    Deliver(Bytes),
    /// One packet, then an exponential gap. The gap starts when the packet was sent, hence not while the window is
    /// closed.
    Telnet {
        /// The size of each write.
        packet: Bytes,
        /// The mean gap.
        gap: Duration,
    },
    /// Writes at a constant rate during `on`, nothing during `off`.
    OnOff {
        /// Duration of writing; the mean if `random`.
        on: Duration,
        /// Duration of silence; the mean if `random`.
        off: Duration,
        /// Rate while on; `None` is unlimited.
        rate: Option<Rate>,
        /// The size of each write.
        packet: Bytes,
        /// Draws both durations from exponential distributions.
        random: bool,
        /// Shape, above 1, of the Pareto distributions of both durations, with these means.
        shape: Option<f64>,
    },
    /// Each flow of the group sends a block on its own connection. When all blocks have arrived, all flows pause, and
    /// the next round begins.
    Rounds {
        /// The size of each block.
        size: Bytes,
        /// Number of rounds; unlimited if absent.
        rounds: Option<u32>,
        /// Think time between the arrival of the last block and the next round.
        think: Duration,
    },
    /// Writes of a fixed size at a fixed interval.
    ConstantRate {
        /// Rate of written bytes.
        rate: Rate,
        /// The size of each write.
        packet: Bytes,
    },
    /// Finite transfers with Poisson arrivals, each on its own connection. Over datagrams, where the end of a transfer
    /// cannot be detected, they share one connection and have no completion times.
    Poisson {
        /// The mean time between arrivals.
        gap: Duration,
        /// The size of each transfer.
        size: SizeSpec,
    },
    /// Finite transfers that arrive at given times, each on its own connection.
    List(Arc<ArrivalList>),
    /// The source sends a request, the sink answers, the source thinks, and so on, with one connection each way.
    RequestResponse {
        /// The size of a request.
        request: Bytes,
        /// The size of a response.
        response: SizeSpec,
        /// Mean of the exponential think time before the next request; zero for none.
        think: Duration,
    },
    /// Recorded writes: time since the flow's start, and size.
    Trace(Arc<[(Duration, Bytes)]>),
}

impl WorkloadSpec {
    /// Returns true if each flow has many transfers, with a connection for each.
    pub const fn has_transfers(&self) -> bool {
        matches!(self, Self::Poisson { .. } | Self::List(_))
    }
}

/// Transfers of the flows of a group: arrival time since the flow's start, and size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArrivalList {
    /// Ordered by flow, and within a flow by time.
    transfers: Box<[(Duration, Bytes)]>,
    /// End position of each flow's transfers.
    ends: Box<[u32]>,
}

impl ArrivalList {
    /// Builds the list from transfers with their flow number (from 0), in any order. Transfers of one flow at the same
    /// time keep their order.
    pub fn new(mut transfers: Vec<(u32, Duration, Bytes)>) -> Self {
        transfers.sort_by_key(|&(flow, at, _)| (flow, at));
        let flows = transfers.last().map_or(0, |&(flow, ..)| flow as usize + 1);
        let mut ends = vec![0; flows];
        for (&(flow, ..), end) in transfers.iter().zip(1..) {
            ends[flow as usize] = end;
        }
        for flow in 1..flows {
            ends[flow] = ends[flow].max(ends[flow - 1]);
        }
        let transfers = transfers.into_iter().map(|(_, at, size)| (at, size)).collect();
        Self { transfers, ends: ends.into() }
    }

    /// Returns the transfers of a flow, in order of time.
    pub fn transfers_of(&self, flow: u32) -> &[(Duration, Bytes)] {
        let end = |flow: usize| self.ends.get(flow).copied().unwrap_or(self.transfers.len() as u32) as usize;
        let begin = (flow as usize).checked_sub(1).map_or(0, end);
        &self.transfers[begin..end(flow as usize)]
    }

    /// Returns all transfers, those of the first flow first.
    pub fn all(&self) -> &[(Duration, Bytes)] {
        &self.transfers
    }

    /// Returns one more than the number of the last flow with transfers.
    pub fn flows(&self) -> u32 {
        self.ends.len() as u32
    }
}

/// The measurements to record during the run.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasureSpec {
    /// Sampling interval of series; `None` records no series.
    pub interval: Option<Duration>,
    /// Maximum number of flows with series: the first flow of each group, then the second of each, and so on.
    pub flows: u32,
    /// Maximum number of points in a series. When it is full, every other point is dropped and the interval doubles.
    pub points: u32,
    /// Records a point at every change rather than at intervals, within the same maximum.
    pub every_event: bool,
}

impl Default for MeasureSpec {
    fn default() -> Self {
        Self { interval: Some(Duration::from_millis(100)), flows: 32, points: 4000, every_event: false }
    }
}

impl DirectionSpec {
    /// Returns a link that carries any number of packets at once, each for this delay: a control channel or, with
    /// jitter, the processing of a host.
    pub fn unlimited_rate(delay: Duration) -> Self {
        Self {
            rate: Rate::MAX,
            delay,
            jitter: Duration::ZERO,
            variation: None,
            queue: DisciplineSpec::fcfs(Limit::Unlimited),
            feedback: None,
            impairment: ImpairmentSpec::default(),
            schedule: Vec::new(),
            capacity: None,
            framing: Framing::None,
            start_delay: StartDelaySpec::default(),
            aggregation: None,
            periodic_variation: None,
            ecn: EcnTreatment::Kept,
            ack_filter: AckFilter::None,
        }
    }

    /// Returns the mean propagation time of an undelayed packet: [`delay`](Self::delay) plus the mean of
    /// [`variation`](Self::variation).
    pub fn mean_delay(&self) -> Duration {
        self.delay + self.variation.as_ref().map_or(Duration::ZERO, |variation| variation.distribution.mean())
    }

    /// Returns the longest random propagation time beyond the delay, with scheduled changes.
    pub fn longest_variation(&self) -> Duration {
        let variation = self.variation.as_ref().map(|variation| variation.distribution.longest());
        let changed = self.schedule.iter().filter_map(|change| change.jitter.as_ref());
        changed.map(JitterChange::longest).fold(self.jitter + variation.unwrap_or_default(), Duration::max)
    }

    /// Returns false if there is an acknowledgement filter whose queue does not allow removal.
    pub fn may_filter(&self) -> bool {
        self.ack_filter == AckFilter::None || self.queue.config::<FcfsConfig>().is_some()
    }

    /// Checks the assumptions of the transmitter.
    ///
    /// # Errors
    ///
    /// A description of the problem: a probability outside 0 to 1, an invalid random delay, an empty capacity trace, or
    /// changes out of order.
    pub fn check(&self) -> Result<(), String> {
        self.queue.check().map_err(|error| error.to_string())?;
        self.impairment.check().map_err(|error| error.to_string())?;
        if let Some(feedback) = &self.feedback {
            feedback.check().map_err(|error| error.to_string())?;
        }
        if let Some(capacity) = &self.capacity {
            capacity.check().map_err(|error| error.to_string())?;
        }
        if let Some(why) = self.variation.as_ref().and_then(|variation| variation.fault()) {
            return Err(format!("its random delay: {why}"));
        }
        self.start_delay.check().map_err(|error| error.to_string())?;
        if let Some(aggregation) = &self.aggregation {
            aggregation.check().map_err(|error| error.to_string())?;
        }
        if let Some(periodic_variation) = &self.periodic_variation {
            periodic_variation.check().map_err(|error| error.to_string())?;
            if self.capacity.is_some()
                || self.schedule.iter().any(|change| change.rate.is_some() || change.delay.is_some())
            {
                return Err(
                    "a periodic variation conflicts with a trace or a schedule that sets rate or delay"
                        .to_owned(),
                );
            }
        }
        if !self.may_filter() {
            return Err("acknowledgements are filtered only in a queue \"fcfs\"".to_owned());
        }
        self.check_schedule()
    }
}
