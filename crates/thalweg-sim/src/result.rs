//! The results of a simulation: all that it measured.

use crate::fairness::jain;
pub use thalweg_proto::histogram::{SHARES, Summary};
use thalweg_proto::media::{Encoded, Shown};
use thalweg_proto::transport::Limit;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};

/// Everything that one run measured. Counts are of the time after the warm-up unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunResult {
    /// The seed of the run.
    pub seed: u64,
    /// The time from the start of the run to the beginning of counting.
    pub warmup: Duration,
    /// The time at which the run stopped: the duration of the specification, or earlier when it was interrupted.
    pub ended: Time,
    /// False when the run was interrupted.
    pub complete: bool,
    /// Events handled, over the whole run.
    pub events: u64,
    /// Packets that left a transmitter, over the whole run.
    pub hops: u64,
    /// A hash over the times, places and packets of all deliveries and drops of the whole run: equal for equal
    /// scenarios and seeds on every machine.
    pub fingerprint: u64,
    /// Packets over the whole run: sent = delivered + dropped + in the network at the end.
    pub conservation: Conservation,
    /// Each flow, in the order of the specification.
    pub flows: Vec<FlowResult>,
    /// Each direction of each link of the specification (forward, then backward), then those of access links at
    /// which something was queued or lost.
    pub links: Vec<LinkResult>,
    /// Each group of flows.
    pub groups: Vec<GroupResult>,
    /// The transfers of all groups.
    pub transfers: Transfers,
    /// The round-trip times that all senders measured.
    pub round_trips: Summary,
    /// The distributions of completion and round-trip times.
    pub curves: Curves,
    /// The same by size: the classes that have any.
    pub sizes: Vec<SizeClass>,
    /// Each transfer that ended after the warm-up, in the order of their ends, then those that were begun and have not
    /// ended.
    pub transfer_list: Vec<Transfer>,
    /// Transfers that found no room in the list.
    pub transfers_left_out: u64,
    /// Recorded series.
    pub series: Vec<Series>,
}

/// Bytes with a begin and an end: a flow that ends, a transfer of Poisson arrivals, an exchange of request and response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Its flow, by position.
    pub flow: u32,
    /// Its payload; of an exchange that of both directions, as far as it is known.
    pub size: Bytes,
    /// The time at which the application wrote it.
    pub start: Time,
    /// The time at which its last byte was delivered; `None` where that has not happened.
    pub end: Option<Time>,
    /// The time it takes with the network to itself and a sender that never waits: from the start of the first
    /// packet's transmission to the arrival of the last one, by the sizes of its packets on the wire, the rates and
    /// delays of its path at the start of the run, and what its hosts need for data packets; of an exchange there and
    /// back. `None` where a rate is zero, and for an exchange that has not ended.
    pub ideal: Option<Duration>,
}

/// The completion times of transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transfers {
    /// Completion times of transfers that ended after the warm-up: the flows that end, each transfer of Poisson
    /// arrivals, each exchange of request and response.
    pub completion: Summary,
    /// Their completion times over [`Transfer::ideal`].
    pub slowdown: Ratios,
    /// Transfers begun and not ended.
    pub unfinished: u64,
}

/// The transfers of about one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeClass {
    /// The least size.
    pub from: Bytes,
    /// The size at which the next class begins; `None` for the last one.
    pub below: Option<Bytes>,
    /// Those that ended.
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
    /// The largest.
    pub max: f64,
}

/// Distributions of times, as the values that the shares of [`SHARES`] do not exceed; empty where nothing was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Curves {
    /// Completion times of transfers that ended after the warm-up.
    pub completion: Vec<Duration>,
    /// Round-trip times that senders measured.
    pub round_trip: Vec<Duration>,
}

/// The fates of all packets, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conservation {
    /// Packets that endpoints and routers put into the network.
    pub sent: u64,
    /// Packets that a wire made by duplication.
    pub duplicated: u64,
    /// Packets that reached their endpoint.
    pub delivered: u64,
    /// Packets that a queue dropped.
    pub dropped: u64,
    /// Packets that a wire lost or damaged.
    pub lost: u64,
    /// Packets still in the network at the end.
    pub in_network: u64,
}

impl Conservation {
    /// Adds what another part of the network counted.
    pub(crate) const fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.duplicated += other.duplicated;
        self.delivered += other.delivered;
        self.dropped += other.dropped;
        self.lost += other.lost;
        self.in_network += other.in_network;
    }

    /// Nothing appeared or vanished.
    pub const fn holds(&self) -> bool {
        self.sent + self.duplicated == self.delivered + self.dropped + self.lost + self.in_network
    }
}

/// The fates of a flow's packets in the network, after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Packets of the flow, in either direction, that queues dropped.
    pub drops: u64,
    /// Data packets that queues dropped and that wires lost or damaged.
    pub lost_data: u64,
    /// Data packets that arrived.
    pub arrived_data: u64,
    /// Their payload: in whatever order they came, copies included.
    pub arrived_bytes: Bytes,
    /// Those of them that came with CE.
    pub marked_data: u64,
}

impl FlowCounts {
    /// Counts a data packet with `payload` bytes that has arrived, with CE or without.
    #[inline]
    pub(crate) fn arrive(&mut self, payload: u32, is_ce: bool) {
        self.arrived_data += 1;
        self.arrived_bytes += Bytes::new(u64::from(payload));
        self.marked_data += u64::from(is_ce);
    }

    /// Adds other packets' fates.
    pub(crate) fn add(&mut self, other: &Self) {
        self.drops += other.drops;
        self.lost_data += other.lost_data;
        self.arrived_data += other.arrived_data;
        self.arrived_bytes += other.arrived_bytes;
        self.marked_data += other.marked_data;
    }

    /// A data packet will not arrive.
    pub(crate) fn lose(&mut self) {
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
    /// The time at which it started.
    pub start: Time,
    /// The time at which its last byte was delivered, for flows that end; over the whole run.
    pub finished: Option<Time>,
    /// The time at which its sender gave up, if it did; over the whole run.
    pub failed: Option<Time>,
    /// The time over which it was counted: from the warm-up's end or its start to its finish or the run's end.
    pub counted: Duration,
    /// Payload delivered to the application, each byte once, by datagrams each that arrives; of requests and responses
    /// both directions.
    pub delivered: Bytes,
    /// Data packets whose payload was delivered, each once, with their headers: what the SEIF thesis counts. Of two-level
    /// flow control also those of segments that are not whole yet.
    pub delivered_wire: Bytes,
    /// The part of `delivered` that is more than arrived in that time: it came during the warm-up, and waited for what was lost
    /// before it. What waits at the end is taken off.
    pub arrived_before: Bytes,
    /// Payload delivered over the whole run.
    pub delivered_total: Bytes,
    /// `delivered` over the counted time of the whole run (warm-up's end to the run's end).
    pub goodput: Rate,
    /// `delivered_wire` over the same time.
    pub throughput: Rate,
    /// The payload of data packets that arrived, in whatever order, over the same time; copies count each time.
    pub arrival_rate: Rate,
    /// Data packets sent, retransmissions included; of many transfers also of those under way.
    pub sent_packets: u64,
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// The fates of its packets in the network.
    pub counts: FlowCounts,
    /// The mean difference between the one-way delays of data packets that arrived one after the other (RFC 3550, section
    /// 6.4.1); `None` where these are not kept, or with fewer than two.
    pub jitter: Option<Duration>,
    /// One-way delay of data packets from their transmission at the source to their arrival. Empty for a flow of a
    /// group of more than 1000, whose delays are counted together in [`GroupResult::delay`].
    pub delay: Summary,
    /// The round-trip times that its senders measured ([`End::take_rtt`](thalweg_proto::end::End::take_rtt)): each sample of their
    /// estimators, before smoothing. Empty for a flow of a group of more than 1000, whose samples are counted together in
    /// [`GroupResult::round_trips`].
    pub round_trips: Summary,
    /// The slow-start threshold at the end, in segments: of several connections that of the last one that has any. `None` of
    /// controllers without one, and while it is unbounded.
    pub ssthresh: Option<f64>,
    /// The shortest round-trip time that the sender measured, over the whole run; zero without a sample.
    pub min_rtt: Duration,
    /// The sender's last smoothed round-trip time; zero without a sample.
    pub smoothed_rtt: Duration,
    /// Times from the start of a segment's first transmission to its acceptance at the receiver, for two-level flow
    /// control. A host that needs time for the report of an acceptance adds that time.
    pub segment_delay: SegmentDelay,
    /// The counts of both ends of two-level flow control; `None` for other schemes.
    pub two_level: Option<Box<TwoLevelCounts>>,
    /// The frames of a flow of live media; `None` for other schemes.
    pub media: Option<Box<MediaResult>>,
    /// The most that was delivered and not yet read by the application, over the whole run; `None` where the application
    /// reads everything at once.
    pub unread_peak: Option<Bytes>,
    /// The time for which each of [`Limit::ALL`](thalweg_proto::transport::Limit::ALL) held the sender back.
    pub limits: [Duration; Limit::COUNT],
    /// The states of its congestion controller, in order of time, where every change is recorded; none of one that tells none.
    pub states: Vec<StateVisit>,
}

impl FlowResult {
    /// True if neither the flow's source nor a slow reader held it back for more than a tenth of the time for which is known
    /// what did, and it came to no end: it carried what the network and its scheme allowed. What others carry was set by what
    /// they were given to carry. Transfers of a group of many are such others too, which the group knows
    /// ([`GroupResult::wanted_more`]).
    pub fn was_never_short(&self) -> bool {
        let time = |limit: Limit| self.limits[limit.index()].as_picos();
        let reader = if self.unread_peak.is_some() { time(Limit::ReceiverWindow) } else { 0 };
        let held = time(Limit::Application).saturating_add(reader);
        let known: u64 = self.limits.iter().map(|time| time.as_picos()).sum();
        self.finished.is_none() && self.failed.is_none() && known > 0 && held <= known / 10
    }
}

/// A stay of a controller in one of its states, as it was seen at the times at which series have points.
#[derive(Clone, Debug, PartialEq)]
pub struct StateVisit {
    /// The state's name.
    pub state: &'static str,
    /// The time at which it was first seen.
    pub from: Time,
    /// The time at which another one was seen, or the last time at which this was.
    pub until: Time,
    /// The quantities that the sender and its controller knew.
    pub known: Vec<Known>,
}

/// A quantity during a visit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// Its name, which ends in its unit.
    pub name: &'static str,
    /// The value when the state was first seen.
    pub first: f64,
    /// The value when it was last seen.
    pub last: f64,
    /// The least value.
    pub least: f64,
    /// The greatest value.
    pub most: f64,
}

/// The frames of live media.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MediaResult {
    /// The counts of the encoder.
    pub encoded: Encoded,
    /// Its mean rate; `None` before the first frame.
    pub rate: Option<Rate>,
    /// The fates of frames.
    pub shown: Shown,
    /// The time from the capture of whole frames to the arrival of their last packet.
    pub delay: Summary,
}

/// The delays of segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentDelay {
    /// The number of segments.
    pub count: u64,
    /// The mean.
    pub mean: Duration,
    /// The longest.
    pub max: Duration,
}

/// The counts of the ends of two-level flow control (Gong and Parulkar 1992). Peaks are those of one connection, over
/// the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TwoLevelCounts {
    /// Segments accepted with packets missing, as the application tolerates.
    pub incomplete: u64,
    /// The packets missing from segments that were delivered: the holes that the application was told of.
    pub holes: u64,
    /// Data packets that the receiver discarded for want of room.
    pub refused: u64,
    /// Segments that the receiver discarded to make room for lower ones (soft acknowledgement).
    pub evictions: u64,
    /// The most segments that the sender kept for retransmission.
    pub sender_segments: u32,
    /// The most bytes of them.
    pub sender_bytes: Bytes,
    /// The most segments that took room at the receiver.
    pub receiver_segments: u32,
    /// The most bytes of them.
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

    /// The counts since `base`.
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
    /// The transmitter's rate at the start; the mean rate where a capacity trace rules.
    pub rate: Rate,
    /// Packets transmitted.
    pub packets: u64,
    /// Bytes transmitted.
    pub bytes: Bytes,
    /// The share of the counted time in which the transmitter was busy, 0 to 1.
    pub utilisation: f64,
    /// The rate of the tokens that a policer lets packets in for, and the bytes that were transmitted as a share of what came of
    /// them in the counted time: more than 1 where a burst was let in besides.
    pub policer: Option<(Rate, f64)>,
    /// Packets that waited, not counting the one in service.
    pub queue: QueueResult,
    /// Drops for want of room.
    pub drops_full: u64,
    /// Early drops.
    pub drops_early: u64,
    /// Acknowledgements that were taken out of the queue because a newer one made them superfluous.
    pub filtered: u64,
    /// Packets marked.
    pub marks: u64,
    /// Messages that the router has sent because of this queue.
    pub feedback: u64,
    /// Their bytes, when they were sent.
    pub feedback_bytes: Bytes,
    /// Packets that the wire lost.
    pub losses: u64,
    /// Packets that the wire damaged.
    pub corrupted: u64,
    /// Packets that the wire duplicated.
    pub duplicated: u64,
    /// This is one of the specification's links and it was the busiest of some flow's path, or it dropped or lost
    /// packets.
    pub bottleneck: bool,
}

/// The occupancy of a queue, weighted by time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueResult {
    /// The mean in packets.
    pub mean_packets: f64,
    /// The mean in bytes.
    pub mean_bytes: f64,
    /// The length in packets that was not exceeded in 99 % of the time.
    pub p99_packets: u64,
    /// The largest length in packets.
    pub max_packets: u64,
}

/// The measurements of a group of flows together.
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
    /// Jain's fairness index of the goodput of the flows that wanted more, 1/n to 1; missing where fewer than two did.
    pub jain: Option<f64>,
    /// The fairness variance of the SEIF thesis: the mean squared deviation of the flows' throughput from their
    /// mean, in (kbit/s)².
    pub fairness_variance: f64,
    /// Its flows have many transfers: Poisson arrivals, exchanges of request and response, or blocks of rounds.
    pub has_many: bool,
    /// The completion times of its transfers.
    pub transfers: Transfers,
    /// The same by size: the classes that have any.
    pub sizes: Vec<SizeClass>,
    /// The time that rounds took, from the first block's begin to the last one's arrival.
    pub rounds: Summary,
    /// The first of these rounds, in order.
    pub round_list: Vec<Round>,
    /// One-way delay of all data packets of the group.
    pub delay: Summary,
    /// The round-trip times that all senders of the group measured.
    pub round_trips: Summary,
    /// The distributions of completion and round-trip times.
    pub curves: Curves,
}

/// A round of flows that wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// Start of its first block.
    pub start: Time,
    /// Arrival of its last block.
    pub end: Time,
}

impl GroupResult {
    /// True for a flow of this group that always had more to send: the group is none of transfers that end, and nothing but
    /// the network and the scheme held the flow back for long.
    pub fn wanted_more(&self, flow: &FlowResult) -> bool {
        !self.has_many && self.transfers.completion.count == 0 && flow.was_never_short()
    }
}

impl RunResult {
    /// Jain's fairness index of the goodput of all flows that wanted more, whatever their group; `None` where fewer than two did.
    pub fn jain(&self) -> Option<f64> {
        let wanted = |flow: &&FlowResult| {
            self.groups.get(flow.group as usize).is_some_and(|group| group.wanted_more(flow))
        };
        jain_of(self.flows.iter().filter(wanted))
    }
}

/// Jain's fairness index of the goodput of `flows`; `None` of fewer than two, which cannot be unfair.
pub(crate) fn jain_of<'a>(flows: impl Iterator<Item = &'a FlowResult>) -> Option<f64> {
    let goodput: Vec<f64> = flows.map(|flow| flow.goodput.as_f64()).collect();
    (goodput.len() > 1).then(|| jain(&goodput))
}

/// A quantity over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The quantity that was measured.
    pub quantity: Quantity,
    /// The flow or link measured: a position in [`RunResult::flows`] or [`RunResult::links`], as the quantity says.
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
    /// The data delivered to a flow's application and not yet read, in bytes, where it reads at its own pace.
    Unread,
    /// A flow's slow-start threshold in segments, where there is one and it is bounded.
    Ssthresh,
    /// A link's queue length in packets.
    QueuePackets,
    /// A link's queue length in bytes.
    QueueBytes,
    /// A link's drops so far: from the start of the run, and again from the end of the warm-up.
    Drops,
    /// A link's marks so far: from the start of the run, and again from the end of the warm-up.
    Marks,
    /// A link's transmitted bytes since the last point as a rate in bit/s.
    LinkRate,
    /// Messages so far of the router whose queue it is, where it sends any: counted like drops.
    Feedback,
}

impl Quantity {
    /// The name used in results.
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

    /// The unit of its values.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Window | Self::InFlight | Self::Ssthresh => "segment",
            Self::Rtt => "s",
            Self::PacingRate | Self::Goodput | Self::LinkRate => "bit/s",
            Self::QueuePackets | Self::Drops | Self::Marks | Self::Feedback => "pkt",
            Self::QueueBytes | Self::Unread => "B",
        }
    }

    /// True where [`Series::subject`] is a flow.
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
