//! One run in the document.

use serde::{Deserialize, Serialize};
use thalweg_proto::transport::Limit;
use thalweg_proto::units::{Bytes, Duration, Time};
use thalweg_sim as sim;

/// What one run measured. Counts are of the time after the warm-up, except where a name or its description says
/// otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The seed.
    pub seed: u64,
    /// False when the run was interrupted.
    pub complete: bool,
    /// Where it stopped.
    pub ended_s: f64,
    /// A hash over all deliveries and drops: 16 hexadecimal digits, equal for equal runs.
    pub fingerprint: String,
    /// Events handled, over the whole run.
    pub events: u64,
    /// Packets that left a transmitter, over the whole run.
    pub hops: u64,
    /// Where packets went, over the whole run.
    pub conservation: Conservation,
    /// The network as a whole.
    pub totals: Totals,
    /// Each group of flows.
    pub groups: Vec<Group>,
    /// Each direction of each link, and access links at which something was queued or lost.
    pub links: Vec<Link>,
    /// Each flow.
    pub flows: Vec<Flow>,
}

/// Where packets went, over the whole run: sent + duplicated = delivered + dropped + lost + in_network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conservation {
    /// The equation holds.
    pub holds: bool,
    /// Put into the network by endpoints and routers.
    pub sent: u64,
    /// Made by wires that duplicate.
    pub duplicated: u64,
    /// Taken by their endpoint.
    pub delivered: u64,
    /// Dropped by queues.
    pub dropped: u64,
    /// Lost or damaged by wires.
    pub lost: u64,
    /// Still under way at the end.
    pub in_network: u64,
}

/// The network as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// The sum of the flows' goodput.
    pub goodput_bps: u64,
    /// The sum of the flows' throughput.
    pub throughput_bps: u64,
    /// Jain's index of the goodput of the flows that wanted more; missing where none did.
    pub jain: Option<f64>,
    /// The mean one-way delay over all data packets of all flows.
    pub delay_mean_s: Option<f64>,
    /// The largest of the groups' 99th delay percentiles.
    pub delay_p99_worst_s: Option<f64>,
    /// Data packets sent.
    pub sent_packets: u64,
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Packets dropped by queues.
    pub drops: u64,
}

/// What a group of flows did together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// The scheme's name.
    pub scheme: String,
    /// How many flows.
    pub flows: u32,
    /// The sum of the flows' goodput.
    pub goodput_bps: u64,
    /// The sum of the flows' throughput.
    pub throughput_bps: u64,
    /// Jain's index of the goodput of its flows that wanted more; missing where none did.
    pub jain: Option<f64>,
    /// The fairness variance of the SEIF thesis, in (kbit/s)².
    pub fairness_variance_kbps2: f64,
    /// How many one-way delays were measured.
    pub delay_samples: u64,
    /// The shortest one-way delay of the group's data packets.
    pub delay_min_s: Option<f64>,
    /// Their mean.
    pub delay_mean_s: Option<f64>,
    /// Their median.
    pub delay_p50_s: Option<f64>,
    /// Their 99th percentile.
    pub delay_p99_s: Option<f64>,
    /// Their longest.
    pub delay_max_s: Option<f64>,
    /// Data packets sent.
    pub sent_packets: u64,
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Packets dropped by queues.
    pub drops: u64,
    /// Transfers that ended after the warm-up.
    pub completions: u64,
    /// Their mean completion time.
    pub completion_mean_s: Option<f64>,
    /// Their median completion time.
    pub completion_p50_s: Option<f64>,
    /// The 99th percentile of their completion time.
    pub completion_p99_s: Option<f64>,
    /// Their longest completion time.
    pub completion_max_s: Option<f64>,
    /// Transfers begun and not ended.
    pub unfinished: u64,
}

/// What one direction of a link did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// The link's name.
    pub name: String,
    /// The transmitting end.
    pub from: String,
    /// The receiving end.
    pub to: String,
    /// It was the busiest of some flow's path, or it dropped packets.
    pub bottleneck: bool,
    /// Its rate at the start; missing where a capacity trace rules.
    pub rate_bps: Option<u64>,
    /// The share of time in which the transmitter was busy, 0 to 1.
    pub utilisation: f64,
    /// Packets transmitted.
    pub packets: u64,
    /// Bytes transmitted.
    pub bytes: u64,
    /// The mean queue length over time.
    pub queue_mean_packets: f64,
    /// The same in bytes.
    pub queue_mean_bytes: f64,
    /// The length that was not exceeded in 99 % of the time.
    pub queue_p99_packets: u64,
    /// The largest length.
    pub queue_max_packets: u64,
    /// Packets dropped by the queue: the sum of the next two.
    pub drops: u64,
    /// Dropped for want of room.
    pub drops_full: u64,
    /// Dropped before the queue was full.
    pub drops_early: u64,
    /// Packets marked.
    pub marks: u64,
    /// Messages to sources that the router sent because of the queue.
    pub feedback: u64,
    /// Their bytes.
    pub feedback_bytes: u64,
    /// Packets lost by the wire.
    pub losses: u64,
    /// Packets damaged by the wire.
    pub corrupted: u64,
    /// Packets duplicated by the wire.
    pub duplicated: u64,
}

/// What one flow did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// The name of its group.
    pub group: String,
    /// When it started.
    pub start_s: f64,
    /// When its last byte was delivered; missing for flows that did not end.
    pub finished_s: Option<f64>,
    /// When its sender gave up, if it did; over the whole run.
    pub failed_s: Option<f64>,
    /// The time over which it was counted.
    pub counted_s: f64,
    /// Payload delivered, each byte once, over the time from the warm-up's end to the run's end.
    pub goodput_bps: u64,
    /// Data packets delivered, each once and with headers, over the same time.
    pub throughput_bps: u64,
    /// Its goodput as a share of the run's, 0 to 1; missing where nothing was delivered at all.
    pub share: Option<f64>,
    /// Payload delivered, each byte once.
    pub delivered_bytes: u64,
    /// Data packets delivered, each once and with headers.
    pub delivered_wire_bytes: u64,
    /// Payload delivered over the whole run.
    pub delivered_total_bytes: u64,
    /// Data packets sent.
    pub sent_packets: u64,
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Packets dropped by queues, in either direction.
    pub drops: u64,
    /// How many one-way delays were measured; none for a flow of a group of more than 1000, whose delays are
    /// counted for the group.
    pub delay_samples: u64,
    /// The shortest one-way delay.
    pub delay_min_s: Option<f64>,
    /// The mean one-way delay.
    pub delay_mean_s: Option<f64>,
    /// The median one-way delay.
    pub delay_p50_s: Option<f64>,
    /// The 99th percentile of the one-way delay.
    pub delay_p99_s: Option<f64>,
    /// The longest one-way delay.
    pub delay_max_s: Option<f64>,
    /// Segments of two-level flow control that were accepted at the receiver; missing for other schemes.
    pub segments: Option<u64>,
    /// The mean time from the start of a segment's first transmission to its acceptance.
    pub segment_delay_mean_s: Option<f64>,
    /// The longest such time.
    pub segment_delay_max_s: Option<f64>,
    /// What the ends of two-level flow control counted; missing for other schemes.
    pub two_level: Option<TwoLevel>,
    /// The shortest round-trip time that the sender measured, over the whole run.
    pub min_rtt_s: Option<f64>,
    /// The sender's last smoothed round-trip time.
    pub smoothed_rtt_s: Option<f64>,
    /// The most that was delivered and not yet read, over the whole run; missing where the application reads at once.
    pub unread_max_bytes: Option<u64>,
    /// What held the sender back, as shares of the time for which that is known.
    pub limits: Option<Limits>,
    /// It always had more to send: it is none of a group of transfers that end, and neither its source nor a slow reader held
    /// it back for more than a tenth of the time. What other flows carry is set by what they were given to carry.
    pub wanted_more: bool,
}

/// What the ends of two-level flow control counted. Buffers are those of one connection, over the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TwoLevel {
    /// Segments accepted with tolerated packets missing.
    pub incomplete_segments: u64,
    /// The packets missing from what was delivered, which the application was told of.
    pub hole_packets: u64,
    /// Data packets that the receiver discarded for want of room.
    pub refused_packets: u64,
    /// Segments that the receiver discarded to make room for lower ones.
    pub evicted_segments: u64,
    /// The most segments that the sender kept for retransmission.
    pub sender_buffer_max_segments: u32,
    /// The most bytes of them.
    pub sender_buffer_max_bytes: u64,
    /// The most segments that took room at the receiver.
    pub receiver_buffer_max_segments: u32,
    /// The most bytes of them.
    pub receiver_buffer_max_bytes: u64,
}

impl TwoLevel {
    fn of(counts: &sim::TwoLevelCounts) -> Self {
        Self {
            incomplete_segments: counts.incomplete,
            hole_packets: counts.holes,
            refused_packets: counts.refused,
            evicted_segments: counts.evictions,
            sender_buffer_max_segments: counts.sender_segments,
            sender_buffer_max_bytes: counts.sender_bytes.get(),
            receiver_buffer_max_segments: counts.receiver_segments,
            receiver_buffer_max_bytes: counts.receiver_bytes.get(),
        }
    }
}

/// What held a sender back, as shares of time that add up to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// The congestion window was full.
    pub congestion_window: f64,
    /// The receiver's window was full.
    pub receiver_window: f64,
    /// The pacing rate asked to wait.
    pub pacing: f64,
    /// The application had nothing to send.
    pub application: f64,
    /// Losses were being repaired.
    pub network: f64,
    /// A gate at the source node had stopped the flow.
    pub paused: f64,
}

impl Limits {
    /// Each limit with its share, in the order of [`Limit::ALL`].
    pub fn shares(&self) -> [(Limit, f64); 6] {
        Limit::ALL.map(|limit| {
            let share = match limit {
                Limit::CongestionWindow => self.congestion_window,
                Limit::ReceiverWindow => self.receiver_window,
                Limit::Pacing => self.pacing,
                Limit::Application => self.application,
                Limit::Network => self.network,
                Limit::Paused => self.paused,
            };
            (limit, share)
        })
    }

    /// The limit that held longest, and its share.
    pub fn top(&self) -> (Limit, f64) {
        let [first, rest @ ..] = self.shares();
        rest.into_iter().fold(first, |top, next| if next.1 > top.1 { next } else { top })
    }

    fn of(times: &[Duration; 6]) -> Option<Self> {
        let total: f64 = times.iter().map(|time| time.as_secs_f64()).sum();
        let share = |limit: Limit| times[limit.index()].as_secs_f64() / total;
        (total > 0.0).then(|| Self {
            congestion_window: share(Limit::CongestionWindow),
            receiver_window: share(Limit::ReceiverWindow),
            pacing: share(Limit::Pacing),
            application: share(Limit::Application),
            network: share(Limit::Network),
            paused: share(Limit::Paused),
        })
    }
}

impl Run {
    /// The document's form of what the simulator measured. Series are left out: they have files of their own.
    pub fn of(result: &sim::RunResult) -> Self {
        let flows: Vec<&sim::FlowResult> = result.flows.iter().collect();
        let totals = Totals::of(&flows, result);
        let mut members: Vec<Vec<&sim::FlowResult>> = vec![Vec::new(); result.groups.len()];
        for flow in &flows {
            if let Some(members) = members.get_mut(flow.group as usize) {
                members.push(flow);
            }
        }
        let groups = result.groups.iter().zip(&members);
        Self {
            seed: result.seed,
            complete: result.complete,
            ended_s: result.ended.as_secs_f64(),
            fingerprint: format!("{:016x}", result.fingerprint),
            events: result.events,
            hops: result.hops,
            conservation: Conservation::of(result.conservation),
            totals,
            groups: groups.map(|(group, members)| Group::of(group, members)).collect(),
            links: result.links.iter().map(Link::of).collect(),
            flows: flows.iter().map(|flow| Flow::of(flow, result, totals.goodput_bps)).collect(),
        }
    }
}

impl Conservation {
    fn of(counts: sim::Conservation) -> Self {
        let sim::Conservation { sent, duplicated, delivered, dropped, lost, in_network } = counts;
        Self { holds: counts.holds(), sent, duplicated, delivered, dropped, lost, in_network }
    }
}

impl Totals {
    fn of(flows: &[&sim::FlowResult], result: &sim::RunResult) -> Self {
        let counts = Counts::of(flows);
        let measured = || result.groups.iter().map(|group| &group.delay).filter(|delay| delay.count > 0);
        let samples: u64 = measured().map(|delay| delay.count).sum();
        let sum: f64 = measured().map(|delay| delay.mean.as_secs_f64() * delay.count as f64).sum();
        Self {
            goodput_bps: counts.goodput_bps,
            throughput_bps: counts.throughput_bps,
            jain: result.jain(),
            delay_mean_s: (samples > 0).then(|| sum / samples as f64),
            delay_p99_worst_s: measured().map(|delay| delay.p99).max().map(Duration::as_secs_f64),
            sent_packets: counts.sent_packets,
            retransmissions: counts.retransmissions,
            timeouts: counts.timeouts,
            drops: counts.drops,
        }
    }
}

/// Sums over flows.
struct Counts {
    goodput_bps: u64,
    throughput_bps: u64,
    sent_packets: u64,
    retransmissions: u64,
    timeouts: u64,
    drops: u64,
}

impl Counts {
    fn of(flows: &[&sim::FlowResult]) -> Self {
        let sum = |field: fn(&sim::FlowResult) -> u64| flows.iter().map(|flow| field(flow)).sum();
        Self {
            goodput_bps: sum(|flow| flow.goodput.as_bits_per_sec()),
            throughput_bps: sum(|flow| flow.throughput.as_bits_per_sec()),
            sent_packets: sum(|flow| flow.sent_packets),
            retransmissions: sum(|flow| flow.retransmissions),
            timeouts: sum(|flow| flow.timeouts),
            drops: sum(|flow| flow.drops),
        }
    }
}

impl Group {
    fn of(group: &sim::GroupResult, members: &[&sim::FlowResult]) -> Self {
        let counts = Counts::of(members);
        let (delay, completion) = (Delay::of(&group.delay), Delay::of(&group.completion));
        Self {
            name: group.name.clone(),
            scheme: group.scheme.clone(),
            flows: group.flows,
            goodput_bps: group.goodput.as_bits_per_sec(),
            throughput_bps: counts.throughput_bps,
            jain: group.jain,
            fairness_variance_kbps2: group.fairness_variance,
            delay_samples: group.delay.count,
            delay_min_s: delay.min,
            delay_mean_s: delay.mean,
            delay_p50_s: delay.p50,
            delay_p99_s: delay.p99,
            delay_max_s: delay.max,
            sent_packets: counts.sent_packets,
            retransmissions: counts.retransmissions,
            timeouts: counts.timeouts,
            drops: counts.drops,
            completions: group.completion.count,
            completion_mean_s: completion.mean,
            completion_p50_s: completion.p50,
            completion_p99_s: completion.p99,
            completion_max_s: completion.max,
            unfinished: group.unfinished,
        }
    }
}

impl Link {
    fn of(link: &sim::LinkResult) -> Self {
        Self {
            name: link.name.clone(),
            from: link.from.clone(),
            to: link.to.clone(),
            bottleneck: link.bottleneck,
            rate_bps: Some(link.rate.as_bits_per_sec()).filter(|rate| *rate > 0),
            utilisation: link.utilisation,
            packets: link.packets,
            bytes: link.bytes.get(),
            queue_mean_packets: link.queue.mean_packets,
            queue_mean_bytes: link.queue.mean_bytes,
            queue_p99_packets: link.queue.p99_packets,
            queue_max_packets: link.queue.max_packets,
            drops: link.drops_full + link.drops_early,
            drops_full: link.drops_full,
            drops_early: link.drops_early,
            marks: link.marks,
            feedback: link.feedback,
            feedback_bytes: link.feedback_bytes.get(),
            losses: link.losses,
            corrupted: link.corrupted,
            duplicated: link.duplicated,
        }
    }
}

impl Flow {
    fn of(flow: &sim::FlowResult, run: &sim::RunResult, total_bps: u64) -> Self {
        let group = run.groups.get(flow.group as usize);
        let (delay, segments) = (Delay::of(&flow.delay), flow.segment_delay);
        let goodput_bps = flow.goodput.as_bits_per_sec();
        Self {
            name: flow.name.clone(),
            group: group.map(|group| group.name.clone()).unwrap_or_default(),
            start_s: flow.start.as_secs_f64(),
            finished_s: flow.finished.map(Time::as_secs_f64),
            failed_s: flow.failed.map(Time::as_secs_f64),
            counted_s: flow.counted.as_secs_f64(),
            goodput_bps,
            throughput_bps: flow.throughput.as_bits_per_sec(),
            share: (total_bps > 0).then(|| goodput_bps as f64 / total_bps as f64),
            delivered_bytes: flow.delivered.get(),
            delivered_wire_bytes: flow.delivered_wire.get(),
            delivered_total_bytes: flow.delivered_total.get(),
            sent_packets: flow.sent_packets,
            retransmissions: flow.retransmissions,
            timeouts: flow.timeouts,
            drops: flow.drops,
            delay_samples: flow.delay.count,
            delay_min_s: delay.min,
            delay_mean_s: delay.mean,
            delay_p50_s: delay.p50,
            delay_p99_s: delay.p99,
            delay_max_s: delay.max,
            segments: (segments.count > 0).then_some(segments.count),
            segment_delay_mean_s: measured(segments.mean),
            segment_delay_max_s: measured(segments.max),
            two_level: flow.two_level.as_deref().map(TwoLevel::of),
            min_rtt_s: measured(flow.min_rtt),
            smoothed_rtt_s: measured(flow.smoothed_rtt),
            unread_max_bytes: flow.unread_peak.map(Bytes::get),
            limits: Limits::of(&flow.limits),
            wanted_more: group.is_some_and(|group| group.wanted_more(flow)),
        }
    }
}

/// The seconds of a summary, each missing where nothing was counted.
struct Delay {
    min: Option<f64>,
    mean: Option<f64>,
    p50: Option<f64>,
    p99: Option<f64>,
    max: Option<f64>,
}

impl Delay {
    fn of(summary: &sim::Summary) -> Self {
        let seconds = |span: Duration| (summary.count > 0).then(|| span.as_secs_f64());
        Self {
            min: seconds(summary.min),
            mean: seconds(summary.mean),
            p50: seconds(summary.p50),
            p99: seconds(summary.p99),
            max: seconds(summary.max),
        }
    }
}

/// The simulator writes zero for a time of which it has no sample.
fn measured(span: Duration) -> Option<f64> {
    (!span.is_zero()).then(|| span.as_secs_f64())
}
