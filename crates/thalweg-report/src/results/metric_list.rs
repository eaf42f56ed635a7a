//! Metrics table: the single source for documents, means, tables, reports, pictures and the reference.

use super::metric_definition::{
    self, Aggregation, FlowInNetwork, MetricIndices, SUBJECT_COUNT, Tables, Unit, columns_by_metric,
    metrics_by_subject,
};
use thalweg_proto::transport::Limit;
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_sim::{FlowResult, GroupResult, MediaResult, Ratios, RunResult, Summary, TwoLevelCounts};

/// Definition of a metric.
pub type MetricDefinition = metric_definition::MetricDefinition<Metric>;

macro_rules! metrics {
    ($($(#[doc = $about:literal])+ $id:ident = $line:expr;)+) => {
        /// Measured quantity of flows, groups, the network or links.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Metric {
            $($(#[doc = $about])+ $id,)+
        }

        impl Metric {
            /// All metrics, in table order.
            pub const ALL: &[Self] = &[$(Self::$id),+];
        }

        /// Table with one line per metric, in the order of [`Metric::ALL`].
        pub(super) static LINES: [MetricDefinition; Metric::ALL.len()] = [$($line.with_description(concat!($($about),+))),+];
    };
}

const FLOWS: Tables = Tables::FLOWS;
const GROUPS: Tables = Tables::GROUPS;
const MEANS: Tables = Tables::MEANS;
const PAGE: Tables = Tables::PAGE;
const BARS: Tables = Tables::BARS;
const TRANSFERS: Tables = Tables::TRANSFERS.union(Tables::SIZES);
const TRAFFIC: Tables = FLOWS.union(GROUPS).union(PAGE);
const SINKS: Tables = Tables::SINKS.union(Tables::SINK_MEANS).union(Tables::PAGE_SINKS);
const TWO_LEVEL: Tables = Tables::TWO_LEVEL.union(Tables::SINK_MEANS).union(Tables::PAGE_SINKS);
const MEDIA: Tables = Tables::MEDIA.union(Tables::MEDIA_MEANS).union(Tables::PAGE_SINKS);
const LINKS: Tables = Tables::LINKS.union(Tables::LINK_MEANS).union(Tables::PAGE_LINKS);

metrics! {
    /// Start time.
    Start = MetricDefinition::new("start_s", Unit::Time).with_header("Start", "", PAGE).with_flow_value(|of| time_in_seconds(of.flow.start));
    /// Delivery time of the last byte of a finite flow; over the whole run.
    Finished = MetricDefinition::new("finished_s", Unit::Time).with_header("End", "", PAGE)
        .with_flow_value(|of| of.flow.finished.and_then(time_in_seconds));
    /// Abort time of the sender, if it aborted; over the whole run.
    Failed = MetricDefinition::new("failed_s", Unit::Time).with_flow_value(|of| of.flow.failed.and_then(time_in_seconds));
    /// Measured time: from the end of the warm-up or the flow's start to its finish or the end of the run.
    Counted = MetricDefinition::new("counted_s", Unit::Time).with_flow_value(|of| Some(of.flow.counted_time.as_secs_f64()));

    /// Time from the start to the delivery of the last byte of a finite flow; over the whole run.
    Completion = MetricDefinition::new("completion_s", Unit::Time).with_header("Duration", "", FLOWS.union(PAGE))
        .with_flow_value(|of| of.flow.finished.map(|end| end.since(of.flow.start).as_secs_f64()));

    /// Transfers completed after the warm-up: finite flows, arrivals of `poisson` and `list`, exchanges of request and response, blocks.
    Completions = MetricDefinition::new("completions", Unit::Count).with_header("Completed", "", TRANSFERS)
        .with_transfers_value(|of| known_count(of.completion.count));
    /// Transfers started and not completed, aborted ones included.
    Unfinished = MetricDefinition::new("unfinished", Unit::Count).with_header("Unfinished", "", Tables::TRANSFERS).with_omission_when_zero()
        .with_transfers_value(|of| known_count(of.unfinished));
    /// Mean completion time of the completed transfers, from the application's write to the delivery of the last byte.
    CompletionMean = MetricDefinition::new("completion_mean_s", Unit::Time).with_header("Time", "mean", TRANSFERS.union(BARS))
        .with_transfers_value(|of| of_samples(&of.completion, |of| of.mean));
    /// Median completion time.
    CompletionP50 = MetricDefinition::new("completion_p50_s", Unit::Time).with_header("Time", "p50", TRANSFERS).with_histogram()
        .with_transfers_value(|of| of_samples(&of.completion, |of| of.p50));
    /// 95th percentile of the completion time.
    CompletionP95 = MetricDefinition::new("completion_p95_s", Unit::Time).with_header("Time", "p95", Tables::TRANSFERS).with_histogram()
        .with_transfers_value(|of| of_samples(&of.completion, |of| of.p95));
    /// 99th percentile of the completion time.
    CompletionP99 = MetricDefinition::new("completion_p99_s", Unit::Time).with_header("Time", "p99", TRANSFERS.union(BARS)).with_histogram()
        .with_transfers_value(|of| of_samples(&of.completion, |of| of.p99));
    /// 99.9th percentile of the completion time.
    CompletionP999 = MetricDefinition::new("completion_p999_s", Unit::Time).with_header("Time", "p99.9", Tables::TRANSFERS).with_histogram()
        .with_transfers_value(|of| of_samples(&of.completion, |of| of.p999));
    /// Maximum completion time.
    CompletionMax = MetricDefinition::new("completion_max_s", Unit::Time).with_header("Time", "max", TRANSFERS)
        .with_transfers_value(|of| of_samples(&of.completion, |of| of.max));
    /// Mean slowdown: completion time divided by the ideal completion time on an otherwise idle network.
    SlowdownMean = MetricDefinition::new("slowdown_mean", Unit::Dimensionless).with_header("Slowdown", "mean", TRANSFERS.union(BARS))
        .with_transfers_value(|of| of_ratios(&of.slowdown, |of| of.mean));
    /// Median slowdown.
    SlowdownP50 = MetricDefinition::new("slowdown_p50", Unit::Dimensionless).with_header("Slowdown", "p50", Tables::SIZES).with_histogram()
        .with_transfers_value(|of| of_ratios(&of.slowdown, |of| of.p50));
    /// 95th percentile of the slowdown.
    SlowdownP95 = MetricDefinition::new("slowdown_p95", Unit::Dimensionless).with_header("Slowdown", "p95", Tables::NONE).with_histogram()
        .with_transfers_value(|of| of_ratios(&of.slowdown, |of| of.p95));
    /// 99th percentile of the slowdown.
    SlowdownP99 = MetricDefinition::new("slowdown_p99", Unit::Dimensionless).with_header("Slowdown", "p99", TRANSFERS).with_histogram()
        .with_transfers_value(|of| of_ratios(&of.slowdown, |of| of.p99));
    /// 99.9th percentile of the slowdown.
    SlowdownP999 = MetricDefinition::new("slowdown_p999", Unit::Dimensionless).with_header("Slowdown", "p99.9", Tables::NONE).with_histogram()
        .with_transfers_value(|of| of_ratios(&of.slowdown, |of| of.p999));
    /// Maximum slowdown.
    SlowdownMax = MetricDefinition::new("slowdown_max", Unit::Dimensionless).with_header("Slowdown", "max", Tables::NONE)
        .with_transfers_value(|of| of_ratios(&of.slowdown, |of| of.max));

    /// Rounds of synchronised flows (`rounds`) completed after the warm-up.
    Rounds = MetricDefinition::new("rounds", Unit::Count).with_header("Rounds", "", Tables::TRANSFERS)
        .with_group_value(|of| group_rounds(of, |of| of.count as f64));
    /// Mean round duration, from the start of the first block to the arrival of the last.
    RoundMean = MetricDefinition::new("round_mean_s", Unit::Time).with_header("Round", "mean", Tables::TRANSFERS)
        .with_group_value(|of| group_rounds(of, |of| of.mean.as_secs_f64()));
    /// 99th percentile of the round duration.
    RoundP99 = MetricDefinition::new("round_p99_s", Unit::Time).with_histogram().with_group_value(|of| group_rounds(of, |of| of.p99.as_secs_f64()));
    /// Maximum round duration.
    RoundMax = MetricDefinition::new("round_max_s", Unit::Time).with_header("Round", "max", Tables::TRANSFERS)
        .with_group_value(|of| group_rounds(of, |of| of.max.as_secs_f64()));

    /// Payload delivered in order, each byte once, over the time from the end of the warm-up to the end of the run. Datagrams
    /// have no numbers: every arrival counts, copies made by a link's `duplicate` included.
    Goodput = MetricDefinition::new("goodput_bps", Unit::Rate).with_header("Goodput", "", TRAFFIC.union(MEANS).union(BARS)).sum_over_members()
        .with_flow_value(|of| Some(of.flow.goodput.as_f64()));
    /// `delivered_wire_bytes` over the time of `goodput_bps`.
    Throughput = MetricDefinition::new("throughput_bps", Unit::Rate).sum_over_members().with_flow_value(|of| Some(of.flow.throughput.as_f64()));
    /// Payload that arrived at the receiver, in any order, duplicates included, over the time of `goodput_bps`.
    ArrivalRate = MetricDefinition::new("arrival_bps", Unit::Rate).with_header("Arrived", "", PAGE).sum_over_members()
        .with_flow_value(|of| Some(of.flow.arrival_rate.as_f64()));
    /// Goodput divided by the goodput of all flows.
    Share = MetricDefinition::new("share", Unit::Fraction).with_header("Share", "", FLOWS.union(PAGE)).with_flow_value(flow_share);
    /// Payload delivered in order, each byte once; for request and response both directions, for datagrams every arrival,
    /// copies included.
    Delivered = MetricDefinition::new("delivered_bytes", Unit::Bytes).sum_over_members().with_flow_value(|of| Some(of.flow.delivered.get() as f64));
    /// Packets of the payload in `delivered_bytes`, each once, with headers.
    DeliveredWire = MetricDefinition::new("delivered_wire_bytes", Unit::Bytes).sum_over_members()
        .with_flow_value(|of| Some(of.flow.delivered_wire.get() as f64));
    /// Payload delivered in the whole run.
    DeliveredTotal = MetricDefinition::new("delivered_total_bytes", Unit::Bytes).sum_over_members()
        .with_flow_value(|of| Some(of.flow.delivered_total.get() as f64));

    /// Number of measured one-way delays; in a group of more than 1000 flows, only the group's are measured.
    DelaySamples = MetricDefinition::new("delay_samples", Unit::Count)
        .with_flow_value(|of| known_count(of.flow.delay.count))
        .with_group_value(|of| known_count(of.delay.count)).aggregate_network_by(Aggregation::Sum);
    /// Minimum one-way delay of received data packets, from transmission at the source to arrival.
    DelayMin = MetricDefinition::new("delay_min_s", Unit::Time)
        .with_flow_value(|of| of_samples(&of.flow.delay, |of| of.min))
        .with_group_value(|of| of_samples(&of.delay, |of| of.min));
    /// Mean one-way delay.
    DelayMean = MetricDefinition::new("delay_mean_s", Unit::Time).with_header("Delay", "mean", MEANS.union(PAGE).union(BARS))
        .with_flow_value(|of| of_samples(&of.flow.delay, |of| of.mean))
        .with_group_value(|of| of_samples(&of.delay, |of| of.mean)).aggregate_network_by(Aggregation::WeightedMean(Metric::DelaySamples));
    /// Median one-way delay.
    DelayP50 = MetricDefinition::new("delay_p50_s", Unit::Time).with_header("Delay", "p50", FLOWS.union(GROUPS)).with_histogram()
        .with_flow_value(|of| of_samples(&of.flow.delay, |of| of.p50))
        .with_group_value(|of| of_samples(&of.delay, |of| of.p50));
    /// 95th percentile of the one-way delay.
    DelayP95 = MetricDefinition::new("delay_p95_s", Unit::Time).with_histogram()
        .with_flow_value(|of| of_samples(&of.flow.delay, |of| of.p95))
        .with_group_value(|of| of_samples(&of.delay, |of| of.p95));
    /// 99th percentile of the one-way delay; for the network, the maximum over its groups.
    DelayP99 = MetricDefinition::new("delay_p99_s", Unit::Time).with_header("Delay", "p99", TRAFFIC.union(MEANS).union(BARS)).with_histogram()
        .with_flow_value(|of| of_samples(&of.flow.delay, |of| of.p99))
        .with_group_value(|of| of_samples(&of.delay, |of| of.p99))
        .aggregate_network_by(Aggregation::Max).with_network_name("delay_p99_worst_s");
    /// Maximum one-way delay.
    DelayMax = MetricDefinition::new("delay_max_s", Unit::Time)
        .with_flow_value(|of| of_samples(&of.flow.delay, |of| of.max))
        .with_group_value(|of| of_samples(&of.delay, |of| of.max));

    /// Jain's index of the goodput of backlogged flows, (Σx)² / (n Σx²), from 1/n to 1; `null` with fewer than two.
    Jain = MetricDefinition::new("jain", Unit::Dimensionless).with_header("Jain", "", GROUPS.union(MEANS).union(BARS))
        .with_group_value(|of| of.jain).with_network_value(RunResult::jain);
    /// The fairness variance of the SEIF thesis: (1/n) Σ(x - mean)² of the flows' throughput in kbit/s.
    FairnessVariance = MetricDefinition::new("fairness_variance_kbps2", Unit::RateSquared)
        .with_header("Variance (kbit/s)^2", "", GROUPS).with_group_value(|of| Some(of.fairness_variance));

    /// Number of round-trip time samples after the warm-up: those of the sender's own estimator, before smoothing.
    RttSamples = MetricDefinition::new("rtt_samples", Unit::Count)
        .with_flow_value(|of| known_count(of.flow.round_trips.count))
        .with_group_value(|of| known_count(of.round_trips.count))
        .with_network_value(|of| known_count(of.round_trips.count));
    /// Mean round-trip time; each sample of a group or of the network counts once.
    RttMean = MetricDefinition::new("rtt_mean_s", Unit::Time).with_header("RTT", "mean", PAGE)
        .with_flow_value(|of| of_samples(&of.flow.round_trips, |of| of.mean))
        .with_group_value(|of| of_samples(&of.round_trips, |of| of.mean))
        .with_network_value(|of| of_samples(&of.round_trips, |of| of.mean));
    /// Median round-trip time.
    RttP50 = MetricDefinition::new("rtt_p50_s", Unit::Time).with_histogram()
        .with_flow_value(|of| of_samples(&of.flow.round_trips, |of| of.p50))
        .with_group_value(|of| of_samples(&of.round_trips, |of| of.p50))
        .with_network_value(|of| of_samples(&of.round_trips, |of| of.p50));
    /// 95th percentile of the round-trip time.
    RttP95 = MetricDefinition::new("rtt_p95_s", Unit::Time).with_header("RTT", "p95", PAGE).with_histogram()
        .with_flow_value(|of| of_samples(&of.flow.round_trips, |of| of.p95))
        .with_group_value(|of| of_samples(&of.round_trips, |of| of.p95))
        .with_network_value(|of| of_samples(&of.round_trips, |of| of.p95));
    /// 99th percentile of the round-trip time.
    RttP99 = MetricDefinition::new("rtt_p99_s", Unit::Time).with_header("RTT", "p99", PAGE).with_histogram()
        .with_flow_value(|of| of_samples(&of.flow.round_trips, |of| of.p99))
        .with_group_value(|of| of_samples(&of.round_trips, |of| of.p99))
        .with_network_value(|of| of_samples(&of.round_trips, |of| of.p99));
    /// Minimum round-trip time measured by the sender, over the whole run.
    MinRtt = MetricDefinition::new("min_rtt_s", Unit::Time).with_header("RTT", "min", PAGE).with_flow_value(|of| measured_seconds(of.flow.min_rtt));
    /// Final smoothed round-trip time of the sender.
    SmoothedRtt = MetricDefinition::new("smoothed_rtt_s", Unit::Time).with_flow_value(|of| measured_seconds(of.flow.smoothed_rtt));

    /// Final slow-start threshold (ssthresh of RFC 5681) in segments, of the last connection that has one; `null` while it
    /// is infinite.
    Ssthresh = MetricDefinition::new("ssthresh_segments", Unit::Dimensionless).with_header("ssthresh", "", PAGE).with_omission_when_zero()
        .with_flow_value(|of| of.flow.ssthresh);

    /// Data packets sent, retransmissions included. The count includes transfers in progress, as do `retransmissions` and `timeouts`.
    Sent = MetricDefinition::new("sent_packets", Unit::Packets).with_header("Sent", "", PAGE).sum_over_members()
        .with_flow_value(|of| known_count(of.flow.sent_packets));
    /// Retransmitted data packets.
    Retransmissions = MetricDefinition::new("retransmissions", Unit::Packets).with_header("Retransmitted", "", FLOWS.union(PAGE).union(MEANS))
        .sum_over_members()
        .with_flow_value(|of| known_count(of.flow.retransmissions));
    /// Expiries of the retransmission timer.
    Timeouts = MetricDefinition::new("timeouts", Unit::Count).with_header("Timeouts", "", PAGE).sum_over_members()
        .with_flow_value(|of| known_count(of.flow.timeouts));
    /// The flow's packets dropped by queues, in either direction.
    Drops = MetricDefinition::new("drops", Unit::Packets).sum_over_members().with_flow_value(|of| known_count(of.flow.counts.drops));
    /// The flow's data packets that left the host after the warm-up and were dropped by queues, or lost or corrupted on links.
    Lost = MetricDefinition::new("lost_packets", Unit::Packets).sum_over_members().with_flow_value(|of| known_count(of.flow.counts.lost_data));
    /// `lost_packets` over `sent_packets`, at most 1.
    Loss = MetricDefinition::new("loss", Unit::Fraction).with_header("Lost", "", TRAFFIC.union(MEANS)).with_omission_when_zero()
        .weighted_mean_by(Metric::Sent).with_flow_value(flow_loss);
    /// The flow's data packets that arrived with a congestion mark (CE).
    Marked = MetricDefinition::new("marked_packets", Unit::Packets).with_header("Marked", "", TRAFFIC.union(MEANS)).with_omission_when_zero()
        .sum_over_members()
        .with_flow_value(|of| known_count(of.flow.counts.marked_data));
    /// Of datagrams: mean absolute difference of the delays of consecutive arrivals (D(i-1, i) of RFC 3550, section 6.4.1).
    Jitter = MetricDefinition::new("jitter_s", Unit::Time).with_header("Jitter", "", TRAFFIC.union(MEANS)).weighted_mean_by(Metric::DelaySamples)
        .with_flow_value(|of| of.flow.jitter.map(Duration::as_secs_f64));

    /// Segments of two-level flow control (`sstp`) accepted at the receiver.
    Segments = MetricDefinition::new("segments", Unit::Count)
        .with_header("Segments", "", Tables::SINKS.union(Tables::PAGE_SINKS)).sum_over_members()
        .with_flow_value(|of| Some(of.flow.segment_delay.count).filter(|&segments| segments > 0).and_then(known_count));
    /// Mean time from the start of a segment's first transmission to its acceptance.
    SegmentDelayMean = MetricDefinition::new("segment_delay_mean_s", Unit::Time).with_header("Time", "mean", SINKS).weighted_mean_by(Metric::Segments)
        .with_flow_value(|of| measured_seconds(of.flow.segment_delay.mean));
    /// Maximum time from the start of a segment's first transmission to its acceptance.
    SegmentDelayMax = MetricDefinition::new("segment_delay_max_s", Unit::Time).with_header("Time", "max", SINKS).max_over_members()
        .with_flow_value(|of| measured_seconds(of.flow.segment_delay.max));
    /// Maximum of the data delivered but not yet read by the application, over the whole run; `null` if it reads at once.
    UnreadMax = MetricDefinition::new("unread_max_bytes", Unit::Bytes).with_header("Unread", "max", SINKS).max_over_members()
        .with_flow_value(|of| of.flow.unread_peak.map(|bytes| bytes.get() as f64));
    /// Segments of two-level flow control accepted with missing packets, within `loss-tolerance`.
    IncompleteSegments = MetricDefinition::new("incomplete_segments", Unit::Segments).with_parent_object("two_level")
        .with_header("Incomplete", "", Tables::TWO_LEVEL.union(Tables::PAGE_SINKS)).sum_over_members()
        .with_flow_value(|of| two_level(of.flow, |of| of.incomplete));
    /// Packets missing from delivered data, in the holes reported to the application.
    HolePackets = MetricDefinition::new("hole_packets", Unit::Packets).with_parent_object("two_level").with_header("Holes", "", TWO_LEVEL)
        .sum_over_members()
        .with_flow_value(|of| two_level(of.flow, |of| of.holes));
    /// Data packets discarded at the receiver because its buffer was full.
    RefusedPackets = MetricDefinition::new("refused_packets", Unit::Packets).with_parent_object("two_level").with_header("Refused", "", TWO_LEVEL)
        .sum_over_members()
        .with_flow_value(|of| two_level(of.flow, |of| of.refused));
    /// Segments discarded at the receiver to free buffer for lower ones (soft acknowledgement).
    EvictedSegments = MetricDefinition::new("evicted_segments", Unit::Segments).with_parent_object("two_level").with_header("Evicted", "", TWO_LEVEL)
        .sum_over_members().with_flow_value(|of| two_level(of.flow, |of| of.evictions));
    /// Maximum number of segments that the sender of one connection buffered for retransmission, over the whole run.
    SenderBufferSegments = MetricDefinition::new("sender_buffer_max_segments", Unit::Segments).with_parent_object("two_level")
        .with_header("Source kept", "", Tables::TWO_LEVEL).max_over_members()
        .with_flow_value(|of| two_level(of.flow, |of| u64::from(of.sender_segments)));
    /// Maximum size of the segments that the sender of one connection buffered for retransmission, over the whole run.
    SenderBufferBytes = MetricDefinition::new("sender_buffer_max_bytes", Unit::Bytes).with_parent_object("two_level").max_over_members()
        .with_flow_value(|of| two_level(of.flow, |of| of.sender_bytes.get()));
    /// Maximum number of segments of one connection buffered at the receiver, over the whole run.
    ReceiverBufferSegments = MetricDefinition::new("receiver_buffer_max_segments", Unit::Segments).with_parent_object("two_level")
        .with_header("Sink kept", "", Tables::TWO_LEVEL).max_over_members()
        .with_flow_value(|of| two_level(of.flow, |of| u64::from(of.receiver_segments)));
    /// Maximum size of the segments of one connection buffered at the receiver, over the whole run.
    ReceiverBufferBytes = MetricDefinition::new("receiver_buffer_max_bytes", Unit::Bytes).with_parent_object("two_level").max_over_members()
        .with_flow_value(|of| two_level(of.flow, |of| of.receiver_bytes.get()));

    /// Mean encoder rate of live media (`scream`).
    MediaRate = MetricDefinition::new("media_rate_bps", Unit::Rate).with_parent_object("media").with_header("Encoded", "", MEDIA).sum_over_members()
        .with_flow_value(|of| media_result(of.flow)?.rate.map(Rate::as_f64));
    /// Encoded frames.
    FramesEncoded = MetricDefinition::new("frames_encoded", Unit::Count).with_parent_object("media").with_header("Frames", "", Tables::MEDIA)
        .sum_over_members()
        .with_flow_value(|of| known_count(media_result(of.flow)?.encoded.frames));
    /// Frames skipped by the encoder because earlier frames were still waiting for transmission.
    FramesSkipped = MetricDefinition::new("frames_skipped", Unit::Count).with_parent_object("media").sum_over_members()
        .with_flow_value(|of| known_count(media_result(of.flow)?.encoded.skipped));
    /// Frames shown: complete and decodable.
    FramesShown = MetricDefinition::new("frames_shown", Unit::Count).with_parent_object("media").sum_over_members()
        .with_flow_value(|of| known_count(media_result(of.flow)?.shown.frames));
    /// Frames with data that never arrived.
    FramesLost = MetricDefinition::new("frames_lost", Unit::Count).with_parent_object("media").with_header("Frames", "lost", MEDIA).sum_over_members()
        .with_flow_value(|of| known_count(media_result(of.flow)?.shown.lost));
    /// Complete frames that could not be decoded because an earlier frame was lost and no key frame had arrived since.
    FramesUndecodable = MetricDefinition::new("frames_undecodable", Unit::Count).with_parent_object("media")
        .with_header("Frames", "undecodable", MEDIA)
        .sum_over_members().with_flow_value(|of| known_count(media_result(of.flow)?.shown.undecodable));
    /// Complete frames delayed by more than `late`.
    FramesLate = MetricDefinition::new("frames_late", Unit::Count).with_parent_object("media").with_header("Frames", "late", MEDIA).sum_over_members()
        .with_flow_value(|of| known_count(media_result(of.flow)?.shown.late));
    /// Complete frames with a measured delay.
    FrameDelays = MetricDefinition::new("frame_delay_samples", Unit::Count).with_parent_object("media").sum_over_members()
        .with_flow_value(|of| known_count(media_result(of.flow)?.delay.count));
    /// Median frame delay: the time from the capture of a frame to its complete arrival.
    FrameDelayP50 = MetricDefinition::new("frame_delay_p50_s", Unit::Time).with_parent_object("media").with_header("Frame delay", "p50", MEDIA)
        .with_histogram()
        .weighted_mean_by(Metric::FrameDelays).with_flow_value(|of| of_samples(&media_result(of.flow)?.delay, |of| of.p50));
    /// 95th percentile of the frame delay.
    FrameDelayP95 = MetricDefinition::new("frame_delay_p95_s", Unit::Time).with_parent_object("media").with_header("Frame delay", "p95", MEDIA)
        .with_histogram()
        .weighted_mean_by(Metric::FrameDelays).with_flow_value(|of| of_samples(&media_result(of.flow)?.delay, |of| of.p95));
    /// 99th percentile of the frame delay.
    FrameDelayP99 = MetricDefinition::new("frame_delay_p99_s", Unit::Time).with_parent_object("media").with_header("Frame delay", "p99", MEDIA)
        .with_histogram()
        .weighted_mean_by(Metric::FrameDelays).with_flow_value(|of| of_samples(&media_result(of.flow)?.delay, |of| of.p99));
    /// Number of freezes (W3C webrtc-stats, freezeCount): at least max(3 average, average + 150 ms) between two frames.
    Freezes = MetricDefinition::new("freezes", Unit::Count).with_parent_object("media").with_header("Freezes", "", MEDIA).sum_over_members()
        .with_flow_value(|of| known_count(media_result(of.flow)?.shown.freezes));
    /// Total duration of freezes (W3C webrtc-stats, totalFreezesDuration).
    Frozen = MetricDefinition::new("frozen_s", Unit::Time).with_parent_object("media").with_header("Frozen", "", MEDIA).sum_over_members()
        .with_flow_value(|of| Some(media_result(of.flow)?.shown.frozen.as_secs_f64()));

    /// Share of time limited by the congestion window or Nagle's algorithm, of the time with a known limit.
    HeldByWindow = MetricDefinition::new("congestion_window", Unit::Fraction).with_parent_object("limits")
        .with_flow_value(|of| limited_time_share(of.flow, Limit::CongestionWindow));
    /// Share of time limited by the receiver's window.
    HeldByReceiver = MetricDefinition::new("receiver_window", Unit::Fraction).with_parent_object("limits")
        .with_flow_value(|of| limited_time_share(of.flow, Limit::ReceiverWindow));
    /// Share of time limited by the pacing rate.
    HeldByPacing = MetricDefinition::new("pacing", Unit::Fraction).with_parent_object("limits")
        .with_flow_value(|of| limited_time_share(of.flow, Limit::Pacing));
    /// Share of time limited by the application (nothing to send).
    HeldByApplication = MetricDefinition::new("application", Unit::Fraction).with_parent_object("limits")
        .with_flow_value(|of| limited_time_share(of.flow, Limit::Application));
    /// Share of time in loss recovery.
    HeldByNetwork = MetricDefinition::new("network", Unit::Fraction).with_parent_object("limits")
        .with_flow_value(|of| limited_time_share(of.flow, Limit::Network));
    /// Share of time during which a gate at the source node had stopped the flow.
    HeldByGate = MetricDefinition::new("paused", Unit::Fraction).with_parent_object("limits")
        .with_flow_value(|of| limited_time_share(of.flow, Limit::Paused));
    /// Share of time spent waiting for the retransmission timer: if it expires, from the last packet sent or received to the
    /// next acknowledgement (window schemes, `adaptive-ack`); while BGN, END, RS or ER is repeated (`sscop`).
    HeldByTimer = MetricDefinition::new("retransmission_timer", Unit::Fraction).with_parent_object("limits")
        .with_flow_value(|of| limited_time_share(of.flow, Limit::RetransmissionTimer));

    /// The lowest of the initial rate, the shaper's rate, and the rate of full batches (`aggregation.packets`) of 1500 B
    /// packets; on a link with a capacity trace, the trace's mean rate.
    LinkRate = MetricDefinition::new("rate_bps", Unit::Rate).with_header("Rate", "", Tables::LINKS.union(Tables::PAGE_LINKS))
        .with_link_value(|of| known_count(of.rate.as_bits_per_sec()).filter(|&rate| rate > 0.0));
    /// Share of time with a busy transmitter. With a shaper, waiting for tokens does not count, and the value is at least the
    /// transmitted share of what the shaper's rate admits. The same applies to full batches (`aggregation.packets`).
    Utilisation = MetricDefinition::new("utilisation", Unit::Fraction).with_header("Used", "", LINKS).with_link_value(|of| Some(of.utilisation));
    /// Token rate of a policer. An arrival without tokens is dropped.
    PolicerRate = MetricDefinition::new("policer_rate_bps", Unit::Rate).with_header("Policer", "rate", LINKS).with_omission_when_zero()
        .with_link_value(|of| of.policer.and_then(|(rate, _)| known_count(rate.as_bits_per_sec())));
    /// Transmitted bytes, as a share of the volume that the policer's rate admits, not counting its burst; at most 1.
    PolicerUse = MetricDefinition::new("policer_used", Unit::Fraction).with_header("Policer", "used", LINKS).with_omission_when_zero()
        .with_link_value(|of| of.policer.map(|(_, used)| used));
    /// Packets transmitted.
    LinkPackets = MetricDefinition::new("packets", Unit::Packets).with_link_value(|of| known_count(of.packets));
    /// Bytes transmitted.
    LinkBytes = MetricDefinition::new("bytes", Unit::Bytes).with_link_value(|of| Some(of.bytes.get() as f64));
    /// Time-averaged queue length, without the packet in service.
    QueueMean = MetricDefinition::new("queue_mean_packets", Unit::Packets).with_header("Queue", "mean", LINKS).with_fraction()
        .with_link_value(|of| Some(of.queue.mean_packets));
    /// Time-averaged queue length in bytes.
    QueueMeanBytes = MetricDefinition::new("queue_mean_bytes", Unit::Bytes).with_fraction().with_link_value(|of| Some(of.queue.mean_bytes));
    /// Queue length not exceeded for 99 % of the time.
    QueueP99 = MetricDefinition::new("queue_p99_packets", Unit::Packets).with_header("Queue", "p99", LINKS)
        .with_link_value(|of| known_count(of.queue.p99_packets));
    /// Maximum queue length.
    QueueMax = MetricDefinition::new("queue_max_packets", Unit::Packets).with_header("Queue", "max", LINKS)
        .with_link_value(|of| known_count(of.queue.max_packets));
    /// Packets that the queue dropped: `drops_full` + `drops_early`.
    LinkDrops = MetricDefinition::new("drops", Unit::Packets).with_header("Drops", "", LINKS)
        .with_link_value(|of| known_count(of.drops_full + of.drops_early));
    /// Packets dropped because the queue was full.
    DropsFull = MetricDefinition::new("drops_full", Unit::Packets).with_link_value(|of| known_count(of.drops_full));
    /// Packets dropped by the queue discipline before the queue was full.
    DropsEarly = MetricDefinition::new("drops_early", Unit::Packets).with_link_value(|of| known_count(of.drops_early));
    /// Acknowledgements removed from the queue by `ack-filter`.
    Filtered = MetricDefinition::new("filtered", Unit::Packets).with_header("Filtered", "", LINKS).with_omission_when_zero()
        .with_link_value(|of| known_count(of.filtered));
    /// Packets marked.
    Marks = MetricDefinition::new("marks", Unit::Packets).with_header("Marks", "", LINKS).with_omission_when_zero()
        .with_link_value(|of| known_count(of.marks));
    /// Feedback messages that the router sent to sources because of the queue.
    Feedback = MetricDefinition::new("feedback", Unit::Packets).with_header("Messages", "", LINKS).with_omission_when_zero()
        .with_link_value(|of| known_count(of.feedback));
    /// Bytes of the feedback messages that the router sent to sources because of the queue.
    FeedbackBytes = MetricDefinition::new("feedback_bytes", Unit::Bytes).with_link_value(|of| Some(of.feedback_bytes.get() as f64));
    /// Packets lost on the link.
    LinkLosses = MetricDefinition::new("losses", Unit::Packets).with_header("Lost", "", LINKS).with_omission_when_zero()
        .with_link_value(|of| known_count(of.losses));
    /// Packets corrupted on the link, copies included.
    LinkCorrupted = MetricDefinition::new("corrupted", Unit::Packets).with_link_value(|of| known_count(of.corrupted));
    /// Packets duplicated on the link.
    LinkDuplicated = MetricDefinition::new("duplicated", Unit::Packets).with_link_value(|of| known_count(of.duplicated));
}

/// Position of each metric within each kind of subject.
pub(super) static COLUMNS: [[u8; SUBJECT_COUNT]; Metric::ALL.len()] = columns_by_metric(&LINES);

/// Metrics of each kind of subject, in table order.
pub(super) static METRICS_OF: [MetricIndices<{ Metric::ALL.len() }>; SUBJECT_COUNT] =
    metrics_by_subject(&LINES);

fn known_count(count: u64) -> Option<f64> {
    Some(count as f64)
}

fn time_in_seconds(time: Time) -> Option<f64> {
    Some(time.as_secs_f64())
}

/// Returns a time in seconds; `None` for zero, which the simulator reports for a time without samples.
fn measured_seconds(span: Duration) -> Option<f64> {
    (!span.is_zero()).then(|| span.as_secs_f64())
}

/// Returns a time of a distribution; none if it has no samples.
fn of_samples(summary: &Summary, time: fn(&Summary) -> Duration) -> Option<f64> {
    (summary.count > 0).then(|| time(summary).as_secs_f64())
}

/// Returns a value of a group's rounds; none without rounds.
fn group_rounds(group: &GroupResult, value: fn(&Summary) -> f64) -> Option<f64> {
    (group.rounds.count > 0).then(|| value(&group.rounds))
}

/// Returns a ratio of a distribution; none if it has no samples.
fn of_ratios(ratios: &Ratios, ratio: fn(&Ratios) -> f64) -> Option<f64> {
    (ratios.count > 0).then(|| ratio(ratios))
}

fn flow_loss(of: &FlowInNetwork<'_>) -> Option<f64> {
    let sent = of.flow.sent_packets;
    // A packet counts as sent when its sender hands it to its host, and as lost if it left the host after the warm-up.
    (sent > 0).then(|| (of.flow.counts.lost_data as f64 / sent as f64).min(1.0))
}

fn flow_share(of: &FlowInNetwork<'_>) -> Option<f64> {
    let all = of.network_goodput.as_f64();
    (all > 0.0).then(|| of.flow.goodput.as_f64() / all)
}

fn two_level(flow: &FlowResult, value: fn(&TwoLevelCounts) -> u64) -> Option<f64> {
    flow.two_level.as_deref().and_then(|counts| known_count(value(counts)))
}

fn media_result(flow: &FlowResult) -> Option<&MediaResult> {
    flow.media.as_deref()
}

/// Returns the share of time during which `limit` limited the sender, of the time with a known limit.
fn limited_time_share(flow: &FlowResult, limit: Limit) -> Option<f64> {
    let total: f64 = flow.limits.iter().map(|time| time.as_secs_f64()).sum();
    (total > 0.0).then(|| flow.limits[limit.index()].as_secs_f64() / total)
}
