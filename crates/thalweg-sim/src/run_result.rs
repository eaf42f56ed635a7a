//! The results of a simulation.

use crate::fairness_measures::jain_index;
pub use thalweg_proto::histogram::{SHARES, Summary};
use thalweg_proto::media::{EncoderCounters, PlayoutCounters};
use thalweg_proto::transport::Limit;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};

/// All measurements of one run. Counts exclude the warm-up unless stated otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunResult {
    /// The seed of the run.
    pub seed: u64,
    /// Length of the warm-up.
    pub warmup: Duration,
    /// End time of the run: the specified duration, or earlier after an interruption.
    pub end_time: Time,
    /// False if the run was interrupted.
    pub is_complete: bool,
    /// Number of events handled, over the whole run.
    pub events: u64,
    /// Number of packets transmitted, each hop counted, over the whole run.
    pub hops: u64,
    /// Hash over the times, places and packets of all deliveries and drops of the whole run: equal on every machine for
    /// equal scenarios and seeds.
    pub fingerprint: u64,
    /// Packet conservation over the whole run: sent = delivered + dropped + in the network at the end.
    pub conservation: Conservation,
    /// Results of each flow, in the order of the specification.
    pub flows: Vec<FlowResult>,
    /// Results of each direction of each link of the specification (forward, then backward), then of the access links
    /// with queueing or loss.
    pub links: Vec<LinkResult>,
    /// Results of each group of flows.
    pub groups: Vec<GroupResult>,
    /// Transfers of all groups.
    pub transfers: Transfers,
    /// Round-trip times measured by all senders.
    pub round_trips: Summary,
    /// Distributions of completion and round-trip times.
    pub curves: Curves,
    /// Completion times by size class; empty classes are omitted.
    pub sizes: Vec<SizeClass>,
    /// Each transfer that ended after the warm-up, in order of the end, then the unfinished ones.
    pub transfer_list: Vec<Transfer>,
    /// Number of transfers omitted from the full list.
    pub transfers_left_out: u64,
    /// Recorded series.
    pub series: Vec<Series>,
}

/// A transfer: a flow that ends, one of Poisson arrivals, or an exchange of request and response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Its flow, by position.
    pub flow: u32,
    /// Payload; for an exchange, that of both directions as far as known.
    pub size: Bytes,
    /// Time of the application's write.
    pub start: Time,
    /// Delivery time of the last byte; `None` if unfinished.
    pub end: Option<Time>,
    /// Ideal completion time, in an empty network with a sender that never waits: from the start of the first packet's
    /// transmission to the arrival of the last packet. It depends on the packet sizes on the wire, the initial rates
    /// and delays of the path, and the hosts' costs for data packets. For an exchange, the sum of both directions.
    /// `None` if a rate is zero, and for an unfinished exchange.
    pub ideal: Option<Duration>,
}

/// The completion times of transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transfers {
    /// Completion times of transfers that ended after the warm-up: flows that end, transfers of Poisson arrivals,
    /// exchanges of request and response.
    pub completion: Summary,
    /// Slowdown: completion time over [`Transfer::ideal`].
    pub slowdown: Ratios,
    /// Number of unfinished transfers.
    pub unfinished: u64,
}

/// Transfers of a size class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeClass {
    /// Minimum size.
    pub from: Bytes,
    /// Exclusive upper bound of the size; `None` for the last class.
    pub below: Option<Bytes>,
    /// The finished transfers of the class.
    pub transfers: Transfers,
}

/// A distribution of ratios.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ratios {
    /// The number of values.
    pub count: u64,
    /// The mean.
    pub mean: f64,
    /// The median, within 1.6 %.
    pub p50: f64,
    /// The 95th percentile, within 1.6 %.
    pub p95: f64,
    /// The 99th percentile, within 1.6 %.
    pub p99: f64,
    /// The 99.9th percentile, within 1.6 %.
    pub p999: f64,
    /// The maximum.
    pub max: f64,
}

/// Distributions of times: the quantiles at the shares of [`SHARES`]; empty without values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Curves {
    /// Completion times of transfers that ended after the warm-up.
    pub completion: Vec<Duration>,
    /// Round-trip times measured by senders.
    pub round_trip: Vec<Duration>,
}

/// Packet counts by outcome, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conservation {
    /// Packets sent by endpoints and routers.
    pub sent: u64,
    /// Packets created by duplication on a link.
    pub duplicated: u64,
    /// Packets delivered to their endpoint.
    pub delivered: u64,
    /// Packets dropped by a queue.
    pub dropped: u64,
    /// Packets lost or damaged in propagation.
    pub lost: u64,
    /// Packets still in the network at the end.
    pub in_network: u64,
}

impl Conservation {
    /// Adds the counts of another partition.
    pub(crate) const fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.duplicated += other.duplicated;
        self.delivered += other.delivered;
        self.dropped += other.dropped;
        self.lost += other.lost;
        self.in_network += other.in_network;
    }

    /// Returns true if the counts balance.
    pub const fn holds(&self) -> bool {
        self.sent + self.duplicated == self.delivered + self.dropped + self.lost + self.in_network
    }
}

/// Packet counts of a flow in the network, after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Packets of the flow, in either direction, dropped by queues.
    pub drops: u64,
    /// Data packets dropped by queues, lost or damaged, of those sent after the warm-up, without copies made by
    /// duplication.
    pub lost_data: u64,
    /// Data packets that arrived.
    pub arrived_data: u64,
    /// Payload of the arrived data packets, in any order, duplicates included.
    pub arrived_bytes: Bytes,
    /// Arrived data packets marked CE.
    pub marked_data: u64,
}

impl FlowCounts {
    /// Counts an arrived data packet with `payload` bytes, with or without CE.
    #[inline]
    pub(crate) fn arrive(&mut self, payload: u32, is_ce: bool) {
        self.arrived_data += 1;
        self.arrived_bytes += Bytes::new(u64::from(payload));
        self.marked_data += u64::from(is_ce);
    }

    /// Adds other counts.
    pub(crate) fn add(&mut self, other: &Self) {
        self.drops += other.drops;
        self.lost_data += other.lost_data;
        self.arrived_data += other.arrived_data;
        self.arrived_bytes += other.arrived_bytes;
        self.marked_data += other.marked_data;
    }

    /// Counts a lost data packet.
    pub(crate) fn count_lost(&mut self) {
        self.lost_data += 1;
    }
}

/// The measurements of one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowResult {
    /// The flow's name.
    pub name: String,
    /// Its group, by position.
    pub group: u32,
    /// Start time.
    pub start: Time,
    /// Delivery time of the last byte, for flows that end; over the whole run.
    pub finished: Option<Time>,
    /// Abort time of the sender, if it aborted; over the whole run.
    pub failed: Option<Time>,
    /// Counted time: from the end of the warm-up or the flow's start to its finish or the end of the run.
    pub counted_time: Duration,
    /// Payload delivered to the application, each byte once; for datagrams each that arrives, also a copy of another, for
    /// requests and responses both directions.
    pub delivered: Bytes,
    /// Bytes of data packets whose payload was delivered, each once, with their headers, as in the SEIF thesis.
    pub delivered_wire: Bytes,
    /// Excess of `delivered` over the bytes that arrived in the counted time: they arrived during the warm-up and
    /// waited for lost data before them. Bytes that still wait at the end are subtracted.
    pub arrived_before: Bytes,
    /// Payload delivered over the whole run.
    pub delivered_total: Bytes,
    /// `delivered` over the counted time of the whole run (warm-up's end to the run's end).
    pub goodput: Rate,
    /// `delivered_wire` over the same time.
    pub throughput: Rate,
    /// Payload rate of arrived data packets over the same time, in any order, duplicates included.
    pub arrival_rate: Rate,
    /// Data packets sent, retransmissions included; for flows with many transfers also those of unfinished transfers.
    pub sent_packets: u64,
    /// Data packets retransmitted.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Packet counts of the flow in the network.
    pub counts: FlowCounts,
    /// Jitter: mean difference between the one-way delays of consecutive data packets (RFC 3550, section 6.4.1); `None`
    /// if not measured or with fewer than two packets.
    pub jitter: Option<Duration>,
    /// One-way delay of data packets from transmission at the source to arrival. Empty for a flow of a group of more
    /// than 1000, whose delays are aggregated in [`GroupResult::delay`].
    pub delay: Summary,
    /// Round-trip times measured by the flow's senders ([`End::take_rtt`](thalweg_proto::endpoint::End::take_rtt)): each
    /// sample before smoothing. Empty for a flow of a group of more than 1000, whose samples are aggregated in
    /// [`GroupResult::round_trips`].
    pub round_trips: Summary,
    /// Slow-start threshold at the end, in segments; with several connections, that of the last one with a threshold.
    /// `None` for controllers without one, and while it is unbounded.
    pub ssthresh: Option<f64>,
    /// Minimum round-trip time measured by the sender, over the whole run; zero without a sample.
    pub min_rtt: Duration,
    /// Last smoothed round-trip time of the sender; zero without a sample.
    pub smoothed_rtt: Duration,
    /// Segment delay of two-level flow control: from the start of the first transmission to acceptance at the receiver,
    /// plus the time that the host needs to report the acceptance.
    pub segment_delay: SegmentDelay,
    /// Counts of both endpoints of two-level flow control; `None` for other schemes.
    pub two_level: Option<Box<TwoLevelCounts>>,
    /// Frame statistics of a live media flow; `None` for other schemes.
    pub media: Option<Box<MediaResult>>,
    /// Peak of delivered but unread bytes, over the whole run; `None` if the application reads everything at once.
    pub unread_peak: Option<Bytes>,
    /// Time for which each of [`Limit::ALL`](thalweg_proto::transport::Limit::ALL) limited the sender.
    pub limits: [Duration; Limit::COUNT],
    /// States of the congestion controller, in order of time, if every change is recorded; empty for controllers
    /// without states.
    pub states: Vec<StateVisit>,
}

impl FlowResult {
    /// Returns true if only the network and the scheme limited the flow: neither its source nor a slow reader did so
    /// for more than a tenth of the known time, and the flow did not end. The throughput of other flows reflects their
    /// workload. Transfers of a group of many also count as such others; see [`GroupResult::wanted_more`].
    pub fn was_never_short(&self) -> bool {
        let time = |limit: Limit| self.limits[limit.index()].as_picos();
        let reader = if self.unread_peak.is_some() { time(Limit::ReceiverWindow) } else { 0 };
        let held = time(Limit::Application).saturating_add(reader);
        let known: u64 = self.limits.iter().map(|time| time.as_picos()).sum();
        self.finished.is_none() && self.failed.is_none() && known > 0 && held <= known / 10
    }
}

/// A visit of a controller to one of its states, as observed at the sampling times of series.
#[derive(Clone, Debug, PartialEq)]
pub struct StateVisit {
    /// The state's name.
    pub state: &'static str,
    /// Time of the first observation.
    pub from: Time,
    /// First observation of another state, or the last observation.
    pub until: Time,
    /// State variables of the sender and its controller.
    pub state_variables: Vec<StateVariable>,
}

/// A state variable during a visit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StateVariable {
    /// Its name, which ends in its unit.
    pub name: &'static str,
    /// Value at the first observation.
    pub first: f64,
    /// Value at the last observation.
    pub last: f64,
    /// Minimum value.
    pub min: f64,
    /// Maximum value.
    pub max: f64,
}

/// Frame statistics of live media.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MediaResult {
    /// Counts of the encoder.
    pub encoded: EncoderCounters,
    /// Mean encoder rate; `None` before the first frame.
    pub rate: Option<Rate>,
    /// Frame counts by outcome.
    pub shown: PlayoutCounters,
    /// Delay of whole frames from capture to the arrival of their last packet.
    pub delay: Summary,
}

/// Delay statistics of segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentDelay {
    /// The number of segments.
    pub count: u64,
    /// The mean.
    pub mean: Duration,
    /// The maximum.
    pub max: Duration,
}

/// Counts of the endpoints of two-level flow control (Gong and Parulkar 1992). Peaks are those of one connection, over
/// the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TwoLevelCounts {
    /// Segments accepted with missing packets, within the application's tolerance.
    pub incomplete: u64,
    /// Missing packets of delivered segments, reported to the application as holes.
    pub holes: u64,
    /// Data packets discarded by the receiver because its buffer was full.
    pub refused: u64,
    /// Segments discarded by the receiver in favour of lower ones (soft acknowledgement).
    pub evictions: u64,
    /// Peak number of segments kept by the sender for retransmission.
    pub sender_segments: u32,
    /// Peak bytes kept by the sender for retransmission.
    pub sender_bytes: Bytes,
    /// Peak number of segments buffered at the receiver.
    pub receiver_segments: u32,
    /// Peak bytes buffered at the receiver.
    pub receiver_bytes: Bytes,
}

impl TwoLevelCounts {
    /// Adds another connection's counts.
    pub(crate) fn add(&mut self, other: &Self) {
        self.incomplete += other.incomplete;
        self.holes += other.holes;
        self.refused += other.refused;
        self.evictions += other.evictions;
        self.sender_segments = self.sender_segments.max(other.sender_segments);
        self.sender_bytes = self.sender_bytes.max(other.sender_bytes);
        self.receiver_segments = self.receiver_segments.max(other.receiver_segments);
        self.receiver_bytes = self.receiver_bytes.max(other.receiver_bytes);
    }

    /// Returns the counts since `base`.
    pub(crate) fn since(&self, base: &Self) -> Self {
        Self {
            incomplete: self.incomplete - base.incomplete,
            holes: self.holes - base.holes,
            refused: self.refused - base.refused,
            evictions: self.evictions - base.evictions,
            ..*self
        }
    }
}

/// The measurements of one direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkResult {
    /// The link's name.
    pub name: String,
    /// The node at the transmitting end.
    pub from: String,
    /// The node at the receiving end.
    pub to: String,
    /// Initial rate of the transmitter, that of its shaper or that of full batches of packets of 1500 bytes, whichever is
    /// lowest; the mean rate with a capacity trace.
    pub rate: Rate,
    /// Packets transmitted.
    pub packets: u64,
    /// Bytes transmitted.
    pub bytes: Bytes,
    /// Fraction of the counted time with a busy transmitter, 0 to 1; with a shaper at least the transmitted share of what
    /// its rate admits, with a maximum number of packets per batch at least the transmitted share of these.
    pub utilisation: f64,
    /// Token rate of a policer, and the transmitted bytes as a share of the tokens generated in the counted time, at most
    /// 1: an admitted burst would exceed it.
    pub policer: Option<(Rate, f64)>,
    /// Occupancy of the queue, without the packet in service.
    pub queue: QueueResult,
    /// Drops because the queue was full.
    pub drops_full: u64,
    /// Early drops.
    pub drops_early: u64,
    /// Acknowledgements removed from the queue because a newer one superseded them.
    pub filtered: u64,
    /// Packets marked.
    pub marks: u64,
    /// Feedback messages sent by the router for this queue.
    pub feedback: u64,
    /// Bytes of these messages when sent.
    pub feedback_bytes: Bytes,
    /// Packets lost in propagation.
    pub losses: u64,
    /// Packets damaged in propagation.
    pub corrupted: u64,
    /// Packets duplicated in propagation.
    pub duplicated: u64,
    /// True if it dropped, lost or corrupted packets, or was the busiest link of the specification on a group's path and busy for more than
    /// half of the time.
    pub bottleneck: bool,
}

/// The time-weighted occupancy of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueResult {
    /// The mean in packets.
    pub mean_packets: f64,
    /// The mean in bytes.
    pub mean_bytes: f64,
    /// 99th percentile of the length in packets, weighted by time.
    pub p99_packets: u64,
    /// Maximum length in packets.
    pub max_packets: u64,
}

/// The aggregated measurements of a group of flows.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupResult {
    /// The group's name.
    pub name: String,
    /// The scheme's name.
    pub scheme: String,
    /// The number of flows.
    pub flows: u32,
    /// The sum of the flows' goodput.
    pub goodput: Rate,
    /// Jain's fairness index of the goodput of the flows that wanted more, 1/n to 1; `None` with fewer than two of
    /// them.
    pub jain: Option<f64>,
    /// Fairness variance of the SEIF thesis: the mean squared deviation of the flows' throughput from their mean, in
    /// (kbit/s)².
    pub fairness_variance: f64,
    /// True if its flows have many transfers: arrivals of `poisson` and `list`, exchanges of request and response, or blocks of rounds.
    pub has_many: bool,
    /// The completion times of its transfers.
    pub transfers: Transfers,
    /// Completion times by size class; empty classes are omitted.
    pub sizes: Vec<SizeClass>,
    /// Duration of rounds, from the start of the first block to the arrival of the last.
    pub rounds: Summary,
    /// The first rounds, in order.
    pub round_list: Vec<Round>,
    /// One-way delay of all data packets of the group.
    pub delay: Summary,
    /// Round-trip times measured by all senders of the group.
    pub round_trips: Summary,
    /// The distributions of completion and round-trip times.
    pub curves: Curves,
}

/// A round of synchronised flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// Start of its first block.
    pub start: Time,
    /// Arrival of its last block.
    pub end: Time,
}

impl GroupResult {
    /// Returns true for a flow of this group that always had more to send: the group does not consist of finite
    /// transfers, and only the network and the scheme limited the flow for long.
    pub fn wanted_more(&self, flow: &FlowResult) -> bool {
        !self.has_many && self.transfers.completion.count == 0 && flow.was_never_short()
    }
}

impl RunResult {
    /// Returns Jain's fairness index of the goodput of all flows that wanted more, across groups; `None` with fewer
    /// than two of them.
    pub fn jain(&self) -> Option<f64> {
        let wanted = |flow: &&FlowResult| {
            self.groups.get(flow.group as usize).is_some_and(|group| group.wanted_more(flow))
        };
        jain_of(self.flows.iter().filter(wanted))
    }
}

/// Returns Jain's fairness index of the goodput of `flows`; `None` with fewer than two, or if none carries data.
pub(crate) fn jain_of<'a>(flows: impl Iterator<Item = &'a FlowResult>) -> Option<f64> {
    let goodput: Vec<f64> = flows.map(|flow| flow.goodput.as_f64()).collect();
    if goodput.len() > 1 { jain_index(&goodput) } else { None }
}

/// A quantity over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The quantity that was measured.
    pub quantity: Quantity,
    /// The flow or link measured: a position in [`RunResult::flows`] or [`RunResult::links`], depending on the
    /// quantity.
    pub subject: u32,
    /// Times and values, in order of time.
    pub points: Vec<(Time, f64)>,
}

/// The quantity that a series measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// A flow's congestion window in segments.
    Window,
    /// A flow's segments in the network.
    InFlight,
    /// A flow's smoothed round-trip time in seconds.
    Rtt,
    /// A flow's pacing rate in bit/s.
    PacingRate,
    /// A flow's goodput since the last point in bit/s.
    Goodput,
    /// Delivered but unread data of a flow's application, in bytes, where it reads at a configured rate.
    Unread,
    /// A flow's slow-start threshold in segments, if bounded.
    Ssthresh,
    /// A link's queue length in packets.
    QueuePackets,
    /// A link's queue length in bytes.
    QueueBytes,
    /// A link's cumulative drops, reset at the end of the warm-up.
    Drops,
    /// A link's cumulative marks, reset at the end of the warm-up.
    Marks,
    /// A link's transmission rate since the last point in bit/s.
    LinkRate,
    /// Cumulative feedback messages of the queue's router, reset like drops.
    Feedback,
}

impl Quantity {
    /// Returns the name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::InFlight => "in-flight",
            Self::Rtt => "rtt",
            Self::PacingRate => "pacing-rate",
            Self::Goodput => "goodput",
            Self::Unread => "unread",
            Self::Ssthresh => "ssthresh",
            Self::QueuePackets => "queue-packets",
            Self::QueueBytes => "queue-bytes",
            Self::Drops => "drops",
            Self::Marks => "marks",
            Self::LinkRate => "link-rate",
            Self::Feedback => "feedback",
        }
    }

    /// Returns the unit of its values.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Window | Self::InFlight | Self::Ssthresh => "segment",
            Self::Rtt => "s",
            Self::PacingRate | Self::Goodput | Self::LinkRate => "bit/s",
            Self::QueuePackets | Self::Drops | Self::Marks | Self::Feedback => "pkt",
            Self::QueueBytes | Self::Unread => "B",
        }
    }

    /// Returns true if [`Series::subject`] is a flow.
    pub const fn is_of_flow(self) -> bool {
        matches!(
            self,
            Self::Window
                | Self::InFlight
                | Self::Rtt
                | Self::PacingRate
                | Self::Goodput
                | Self::Unread
                | Self::Ssthresh
        )
    }
}
