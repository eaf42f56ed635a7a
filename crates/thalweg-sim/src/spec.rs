//! The specification of a simulation: a network and its traffic with every quantity resolved.
//!
//! Scenario files are read into these types by `thalweg-scenario`; programs may fill them in themselves. They are plain
//! data: [`Simulation::new`](crate::Simulation::new) checks them.

pub use crate::change::{Change, JitterChange};
pub use crate::matching::{Match, NoMatch, Protocol};
pub use crate::middlebox::{Middlebox, NatKind};
pub use crate::processing::Processing;
pub use crate::routing::{FailureSpec, Metric, Multipath, RoutingSpec};
pub use crate::sizes::SizeSpec;
pub use crate::thread::HostSpec;

use std::sync::Arc;
use thalweg_catalog::{Ends, Properties};
use thalweg_proto::gate::GateConfig;
use thalweg_proto::random::Stream;
use thalweg_proto::transport::ReceiverCounts;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_proto::window::{Misbehaviour, PauseConfig};
use thalweg_queue::delay::VariationSpec;
use thalweg_queue::feedback::{Audience, FeedbackSpec};
use thalweg_queue::{
    AckFilter, AggregationSpec, CapacityTrace, DisciplineSpec, EcnTreatment, FcfsConfig, ImpairmentSpec,
    Limit, OnsetSpec, RhythmSpec,
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
    /// The ways of packets through them.
    pub routing: RoutingSpec,
    /// Traffic.
    pub groups: Vec<GroupSpec>,
    /// The time at which the run ends.
    pub duration: Duration,
    /// The time before counting begins: events before then are not counted.
    pub warmup: Duration,
    /// Names every random stream.
    pub seed: u64,
    /// The order of events of one kind at one time.
    pub ties: Ties,
    /// The measurements to record along the way.
    pub measure: MeasureSpec,
}

/// The order of events of one kind that happen at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ties {
    /// Chance decides, by a hash of the time and of what the event is for. It favours no flow.
    #[default]
    Lot,
    /// Links, flows and endpoints in the order of the specification, so that the first of equal flows always wins: for
    /// symmetric experiments without chance.
    Order,
}

/// A router or host.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSpec {
    /// Its name.
    pub name: String,
    /// The cost of handling a packet at an endpoint here.
    pub processing: Processing,
    /// The gate that says which of the flows that begin here may send. Flows with access links of their own begin at
    /// hosts of their own, and are none of its business.
    pub gate: Option<GateSpec>,
}

impl NodeSpec {
    /// A node that handles packets at once, without a gate.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), processing: Processing::default(), gate: None }
    }
}

/// The gate of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateSpec {
    /// The gate's configuration.
    pub config: GateConfig,
    /// The effect of a pause on the timers of window transports.
    pub pause: PauseConfig,
}

/// A full-duplex link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// Its name.
    pub name: String,
    /// One end.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// Its cost where routes go by weights, in both directions or from a to b.
    pub weight: u32,
    /// Its cost from b to a, where that is another one.
    pub reverse_weight: Option<u32>,
    /// From a to b.
    pub forward: DirectionSpec,
    /// From b to a.
    pub backward: DirectionSpec,
    /// The boxes in its middle, where packets are real.
    pub middlebox: Middlebox,
}

impl LinkSpec {
    /// A link of weight 1 with nothing in its middle.
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

/// One direction of a link: a transmitter with its queue, and a wire.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionSpec {
    /// The transmitter's rate.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// Each packet is on the wire for a random time longer, uniform between zero and this. None passes another for that.
    pub jitter: Duration,
    /// A random time of another distribution beside that, or one for each flow.
    pub variation: Option<Arc<VariationSpec>>,
    /// The queue before the transmitter.
    pub queue: DisciplineSpec,
    /// The router's feedback on congestion to sources; for links of the specification, not for access links.
    pub feedback: Option<FeedbackSpec>,
    /// The impairments of packets by the wire.
    pub impairment: ImpairmentSpec,
    /// Changes while the run goes on, in order of time.
    pub schedule: Vec<Change>,
    /// Rules in place of `rate` when how many bytes may leave; `rate` is then only shown, and zero is an outage all the
    /// same.
    pub capacity: Option<Arc<CapacityTrace>>,
    /// The bytes that the line puts around each packet.
    pub framing: Framing,
    /// A token bucket before the transmitter, and the sleep of one that has nothing to send.
    pub onset: OnsetSpec,
    /// Packets arrive in batches, as they were aggregated.
    pub aggregation: Option<AggregationSpec>,
    /// Rate and delay change in a rhythm, around those of this direction.
    pub rhythm: Option<RhythmSpec>,
    /// The treatment of ECN codepoints.
    pub ecn: EcnTreatment,
    /// The acknowledgements of the window transport that do not wait for their turn; only where packets wait first come, first served.
    pub ack_filter: AckFilter,
}

/// The bytes a line puts around each packet: they take time, but are no part of its size in queues and counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Framing {
    /// Nothing that is not in the packet's size already.
    #[default]
    None,
    /// Cells of 53 bytes with 48 of payload each. The packet, AAL5's trailer of 8 bytes and padding fill whole cells
    /// (ITU-T I.363.5).
    AtmAal5,
}

impl Framing {
    /// Bytes on the wire of a packet of `size` bytes.
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

/// Flows that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupSpec {
    /// The group's name; its flows are `name` where there is one, `name.1`, `name.2` ... otherwise.
    pub name: String,
    /// The number of flows.
    pub count: u32,
    /// The node that data comes from.
    pub from: NodeId,
    /// The node that data goes to.
    pub to: NodeId,
    /// Ends of flows in place of these two, the same flow's first: flow number i (from 0) has pair i, beginning anew behind the
    /// last.
    pub pairs: Arc<[[NodeId; 2]]>,
    /// Gives each flow a source host behind `from` and a sink host behind `to`, on links of its own.
    pub access: Option<AccessSpec>,
    /// The protocol.
    pub transport: TransportSpec,
    /// The work of the application.
    pub workload: WorkloadSpec,
    /// The pace at which the application at the sink reads; as fast as data is delivered without.
    pub reading: Option<Arc<ReadingSpec>>,
    /// An act of the receivers against the rules.
    pub misbehaviour: Option<Misbehaviour>,
    /// The times at which flows start.
    pub start: Time,
    /// Each flow starts at a random time, uniform in this span after `start`; zero for all at once.
    pub spread: Duration,
    /// Flow number i (from 0) starts i times this later.
    pub stagger: Duration,
    /// The time at which the applications stop writing.
    pub stop: Option<Time>,
    /// Acknowledgements and other control PDUs skip the network and arrive after this delay, without loss.
    pub control_channel: Option<Duration>,
    /// A host that sends data of a flow takes a random time for each packet before it leaves, uniform between zero and this.
    /// It can have several at work, so that this takes nothing off its rate, and they keep their order: what breaks
    /// up the phase in which flows otherwise meet full queues (Floyd and Jacobson 1992, section 4). A host with an access
    /// link of its own adds it to the [`jitter`](DirectionSpec::jitter) of that.
    pub overhead: Duration,
    /// The hosts at both ends of each flow, a thread at each; ideal ones without.
    pub host: Option<HostSpec>,
    /// The flows' importance for gates and for queues that act on it: from 1, the highest, to [`LOWEST_PRIORITY`].
    pub priority: u8,
    /// The packets of real programs between the two nodes that belong to the flows, where the network is live.
    pub real: Option<Match>,
}

impl GroupSpec {
    /// One flow that starts at once, has no host of its own, and is like others in all else.
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
            real: None,
        }
    }

    /// The nodes between which its flows go, each pair once or more.
    pub fn ends(&self) -> impl ExactSizeIterator<Item = [NodeId; 2]> + '_ {
        (0..self.pairs.len().max(1)).map(|pair| self.pairs.get(pair).copied().unwrap_or([self.from, self.to]))
    }

    /// The nodes that flow number `flow` (from 0) begins and ends at.
    pub fn ends_of(&self, flow: u32) -> [NodeId; 2] {
        match self.pairs.len() {
            0 => [self.from, self.to],
            pairs => self.pairs[flow as usize % pairs],
        }
    }

    /// The number of flows of the pair of that position.
    pub fn flows_of_pair(&self, pair: usize) -> u32 {
        let pairs = self.pairs.len().max(1) as u32;
        self.count / pairs + u32::from((pair as u32) < self.count % pairs)
    }

    /// The time at which its flow number `flow` (from 0) starts; `spread` is drawn from once for each, in order.
    pub(crate) fn start_of(&self, flow: u32, spread: &mut Stream) -> Time {
        self.start + self.stagger * u64::from(flow) + spread.uniform_duration(self.spread)
    }

    /// The reason for which the applications of this group cannot read as they are said to, if they cannot.
    pub fn reading_fault(&self) -> Option<&'static str> {
        let reading = self.reading.as_deref()?;
        if let Some(why) = self.transport.properties().no_slow_reader() {
            return Some(why);
        }
        if self.workload.has_transfers() {
            return Some("each of its transfers has a connection, but one application reads one connection");
        }
        let announces = reading.changes.iter().any(|change| change.announced);
        if announces && self.transport.properties().agreed_rate().is_none() {
            return Some("only two-level flow control hears an announced change of the reading rate");
        }
        let is_ordered = reading.changes.is_sorted_by_key(|change| change.at);
        (!is_ordered).then_some("the changes of the reading rate must be in order of time")
    }

    /// The reason for which the receivers of this group cannot misbehave as they are said to, if they cannot.
    pub fn misbehaviour_fault(&self) -> Option<&'static str> {
        let how = self.misbehaviour?;
        let can = self.transport.clone().ends.properties_mut().misbehave(how);
        (!can).then_some("the scheme has no receiver that could be made to misbehave: window schemes have")
    }

    /// The reason for which the hosts of this group make no sense beside these nodes, if they make none.
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

    /// The number of ends of a flow that send data: the sink answers requests.
    pub(crate) fn senders(&self) -> u32 {
        1 + u32::from(matches!(self.workload, WorkloadSpec::RequestResponse { .. }))
    }

    /// The number of a flow's lines for the [`overhead`](Self::overhead) of its hosts, behind all other lines of its
    /// own: none where access links have it.
    pub(crate) fn overhead_links(&self) -> u32 {
        if self.overhead.is_zero() || self.access.is_some() { 0 } else { self.senders() }
    }

    /// The number of lines of each flow's own: those of its access, its control channels, its hosts' overhead.
    pub(crate) fn own_links(&self) -> u32 {
        let access = if self.access.is_some() { 4 } else { 0 };
        let channels = if self.control_channel.is_some() { self.senders() } else { 0 };
        access + channels + self.overhead_links()
    }

    /// The access links, if there are any, with the overhead of the hosts behind them.
    pub(crate) fn access_with_overhead(&self) -> Option<AccessSpec> {
        let mut access = self.access.clone()?;
        access.source_forward.add_overhead(self.overhead);
        if self.senders() > 1 {
            access.sink_backward.add_overhead(self.overhead);
        }
        Some(access)
    }
}

/// The pace at which the application at a flow's sink reads what is delivered to it. What it has not read takes room
/// at the receiver, whose window closes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadingSpec {
    /// The rate of payload at the start: [`Rate::MAX`] is at once, zero not at all.
    pub rate: Rate,
    /// Changes, in order of time.
    pub changes: Vec<ReadingChange>,
}

/// A change of the rate at which an application reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadingChange {
    /// The time of the change.
    pub at: Time,
    /// The new rate of payload.
    pub rate: Rate,
    /// The application tells its receiver, which changes its window accordingly: two-level flow control only.
    pub announced: bool,
}

/// The lowest priority that a flow can have, and the usual one.
pub const LOWEST_PRIORITY: u8 = 6;

/// The links between a flow's own hosts and the network.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessSpec {
    /// Between the source host (a) and `from` (b).
    pub source_forward: DirectionSpec,
    /// Back.
    pub source_backward: DirectionSpec,
    /// Between `to` (a) and the sink host (b).
    pub sink_forward: DirectionSpec,
    /// Back.
    pub sink_backward: DirectionSpec,
    /// The cost of handling a packet at the source host.
    pub source_processing: Processing,
    /// The same at the sink host.
    pub sink_processing: Processing,
}

/// A transport protocol with its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct TransportSpec {
    /// The scheme's name, for results.
    pub scheme: String,
    /// Both ends.
    pub ends: Ends,
    /// Bytes on the wire that every data packet has beside its payload, but for what depends on the packet.
    pub header: u32,
    /// Bytes on the wire of a packet without payload, but for what depends on the packet.
    pub control: u32,
}

impl TransportSpec {
    /// The scheme of that name, with these ends and sizes.
    pub fn new(scheme: &str, ends: impl Into<Ends>, header: u32, control: u32) -> Self {
        Self { scheme: scheme.to_owned(), ends: ends.into(), header, control }
    }

    /// The properties of its protocol family, as configured.
    pub fn properties(&self) -> &dyn Properties {
        self.ends.properties()
    }

    /// The scheme in words.
    pub fn words(&self) -> String {
        format!("{}{}", self.scheme, self.properties().words())
    }

    /// The size on the wire of a data packet with so much payload.
    pub fn data_packet(&self, payload: u32) -> u32 {
        payload + self.properties().framing(payload) + self.header
    }

    /// The size on the wire of a packet that answers data.
    pub fn answer_packet(&self) -> u32 {
        self.properties().answer() + self.control
    }

    /// True if routers that give this feedback tell the scheme's sources.
    pub fn understands(&self, feedback: &FeedbackSpec) -> bool {
        feedback.audience == Audience::All || self.properties().feedback() == Some(feedback.policy.kind())
    }

    /// Bytes on the wire of the data packets that receivers took.
    pub(crate) fn on_wire(&self, taken: &ReceiverCounts) -> u64 {
        taken.payload + taken.framing + taken.packets * u64::from(self.header)
    }

    /// The share that a rate of payload is of the rate both ends agreed upon; `None` where no rate is agreed upon.
    pub(crate) fn reading_share(&self, rate: Rate) -> Option<f64> {
        let agreed = self.properties().agreed_rate()?.as_f64();
        let packet = f64::from(self.properties().segment());
        let agreed = agreed * packet / (packet + f64::from(self.header));
        Some((rate.as_f64() / agreed).min(1.0))
    }
}

/// The work of an application.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkloadSpec {
    /// Always has more to send (ftp).
    Bulk,
    /// Sends this much and ends.
    Transfer(Bytes),
    /// Sends until this much has arrived, and ends: over datagrams more than that, if some are lost. What is on the way
    /// by then still arrives.
    Deliver(Bytes),
    /// One packet, then an exponential gap; the clock of the gap starts when the packet was sent, so it stands
    /// still while the window is closed.
    Telnet {
        /// The size of each write.
        packet: Bytes,
        /// The mean gap.
        gap: Duration,
    },
    /// Writes at a constant rate during `on`, nothing during `off`.
    OnOff {
        /// The time for which it writes; the mean where `random`.
        on: Duration,
        /// The time for which it is silent; the mean where `random`.
        off: Duration,
        /// The rate while on; `None` is greedy while on.
        rate: Option<Rate>,
        /// The size of each write.
        packet: Bytes,
        /// Draw both times from exponential distributions.
        random: bool,
        /// Draw both times from Pareto distributions of this shape, above 1, with these means.
        shape: Option<f64>,
    },
    /// Each flow of the group sends a block on a connection of its own. When the blocks of all have arrived, all wait, and the next
    /// round begins.
    Rounds {
        /// The size of each block.
        size: Bytes,
        /// The number of rounds; until the end of the run without.
        rounds: Option<u32>,
        /// The time between the arrival of the last block and the next round.
        think: Duration,
    },
    /// One write of fixed size every fixed time.
    ConstantRate {
        /// The rate of written bytes.
        rate: Rate,
        /// The size of each write.
        packet: Bytes,
    },
    /// Finite transfers that arrive at random, each a connection of its own. Over datagrams, where nothing tells when a
    /// transfer has arrived, they share one and have no completion times.
    Poisson {
        /// The mean time between arrivals.
        gap: Duration,
        /// The size of each transfer.
        size: SizeSpec,
    },
    /// Finite transfers that arrive at given times, each a connection of its own as with Poisson arrivals.
    List(Arc<ArrivalList>),
    /// The source asks, the sink answers, the source thinks, and again, one connection each way.
    RequestResponse {
        /// The size of a question.
        request: Bytes,
        /// The size of an answer.
        response: SizeSpec,
        /// The mean of the exponential pause before the next question; zero for none.
        think: Duration,
    },
    /// Writes recorded elsewhere: when (from the flow's start) and how much.
    Trace(Arc<[(Duration, Bytes)]>),
}

impl WorkloadSpec {
    /// True where each flow has many transfers, with a connection for each.
    pub const fn has_transfers(&self) -> bool {
        matches!(self, Self::Poisson { .. } | Self::List(_))
    }
}

/// Transfers of the flows of a group: when each arrives, from its flow's start, and its size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArrivalList {
    /// Ordered by flow, and within a flow by time.
    transfers: Box<[(Duration, Bytes)]>,
    /// For each flow the end of its transfers.
    ends: Box<[u32]>,
}

impl ArrivalList {
    /// Transfers by the flow (from 0) that they are of, in any order; those of a flow at one time keep theirs.
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

    /// The transfers of a flow, in order of time.
    pub fn of(&self, flow: u32) -> &[(Duration, Bytes)] {
        let end = |flow: usize| self.ends.get(flow).copied().unwrap_or(self.transfers.len() as u32) as usize;
        let begin = (flow as usize).checked_sub(1).map_or(0, end);
        &self.transfers[begin..end(flow as usize)]
    }

    /// All transfers, those of the first flow first.
    pub fn all(&self) -> &[(Duration, Bytes)] {
        &self.transfers
    }

    /// The number of flows up to the last that has transfers.
    pub fn flows(&self) -> u32 {
        self.ends.len() as u32
    }
}

/// The measurements to record along the way.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasureSpec {
    /// Sample series this often; `None` records no series.
    pub interval: Option<Duration>,
    /// At most this many flows have series: the first of each group in turn.
    pub flows: u32,
    /// At most this many points a series; when it is full, every other point is dropped and the interval doubles.
    pub points: u32,
    /// Record a point at every change rather than at intervals, within the same bound.
    pub every_event: bool,
}

impl Default for MeasureSpec {
    fn default() -> Self {
        Self { interval: Some(Duration::from_millis(100)), flows: 32, points: 4000, every_event: false }
    }
}

impl DirectionSpec {
    /// Returns the rate in the long run: for a line that begins stopped, the highest that is scheduled.
    pub fn nominal_rate(&self) -> Rate {
        let rate = if self.rate.is_zero() {
            self.schedule.iter().filter_map(|change| change.rate).max().unwrap_or(Rate::ZERO)
        } else {
            self.rate
        };
        self.onset.shaper.map_or(rate, |shaper| rate.min(shaper.rate))
    }

    /// A line that takes any number of packets at once, each for this time: a way of its own for control PDUs, or with
    /// a jitter the work of a host.
    pub fn of_any_rate(delay: Duration) -> Self {
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
            onset: OnsetSpec::default(),
            aggregation: None,
            rhythm: None,
            ecn: EcnTreatment::Kept,
            ack_filter: AckFilter::None,
        }
    }

    /// The mean time on the wire of a packet that nothing delays: [`delay`](Self::delay) and what
    /// [`variation`](Self::variation) adds on average.
    pub fn mean_delay(&self) -> Duration {
        self.delay + self.variation.as_ref().map_or(Duration::ZERO, |variation| variation.distribution.mean())
    }

    /// The longest random time for which a packet is on the wire beside its delay, changes included.
    pub fn longest_variation(&self) -> Duration {
        let variation = self.variation.as_ref().map(|variation| variation.distribution.longest());
        let changed = self.schedule.iter().filter_map(|change| change.jitter.as_ref());
        changed.map(JitterChange::longest).fold(self.jitter + variation.unwrap_or_default(), Duration::max)
    }

    /// True unless there is a filter of acknowledgements whose queue lets nothing be taken out.
    pub fn may_filter(&self) -> bool {
        self.ack_filter == AckFilter::None || self.queue.config::<FcfsConfig>().is_some()
    }

    /// Checks what a transmitter relies on.
    ///
    /// # Errors
    ///
    /// Says in words what is wrong: probabilities outside 0 to 1, a random delay without sense, an empty capacity trace, changes out of order.
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
        self.onset.check().map_err(|error| error.to_string())?;
        if let Some(aggregation) = &self.aggregation {
            aggregation.check().map_err(|error| error.to_string())?;
        }
        if let Some(rhythm) = &self.rhythm {
            rhythm.check().map_err(|error| error.to_string())?;
            if self.capacity.is_some()
                || self.schedule.iter().any(|change| change.rate.is_some() || change.delay.is_some())
            {
                return Err("with a rhythm neither a trace nor a schedule tells its rate or delay".to_owned());
            }
        }
        if !self.may_filter() {
            return Err("acknowledgements are filtered only in a queue \"fcfs\"".to_owned());
        }
        self.check_schedule()
    }
}
