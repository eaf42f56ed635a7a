//! Metrics table: the single source for documents, means, tables, reports, pictures and the reference.

use super::metric_definition::{
    self, Aggregation, FlowView, MetricIndices, SUBJECT_KINDS, Tables, Unit, metric_indices, metric_positions,
};
use thalweg_proto::transport::Limit;
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_sim::{FlowResult, GroupResult, MediaResult, Ratios, RunResult, Summary, TwoLevelCounts};

/// Definition of a metric.
pub type Line = metric_definition::Line<Metric>;

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
        pub(super) static LINES: [Line; Metric::ALL.len()] = [$($line.about(concat!($($about),+))),+];
    };
}

const FLOWS: Tables = Tables::FLOWS;
const GROUPS: Tables = Tables::GROUPS;
const MEANS: Tables = Tables::MEANS;
const PAGE: Tables = Tables::PAGE;
const BARS: Tables = Tables::BARS;
const TRANSFERS: Tables = Tables::TRANSFERS.and(Tables::SIZES);
const TRAFFIC: Tables = FLOWS.and(GROUPS).and(PAGE);
const SINKS: Tables = Tables::SINKS.and(Tables::SINK_MEANS).and(Tables::PAGE_SINKS);
const TWO_LEVEL: Tables = Tables::TWO_LEVEL.and(Tables::SINK_MEANS).and(Tables::PAGE_SINKS);
const MEDIA: Tables = Tables::MEDIA.and(Tables::MEDIA_MEANS).and(Tables::PAGE_SINKS);
const LINKS: Tables = Tables::LINKS.and(Tables::LINK_MEANS).and(Tables::PAGE_LINKS);

metrics! {
    /// Start time.
    Start = Line::new("start_s", Unit::Time).shown("Start", "", PAGE).of_flow(|of| time_in_seconds(of.flow.start));
    /// Delivery time of the last byte of a finite flow; over the whole run.
    Finished = Line::new("finished_s", Unit::Time).shown("End", "", PAGE).of_flow(|of| of.flow.finished.and_then(time_in_seconds));
    /// Abort time of the sender, if it aborted; over the whole run.
    Failed = Line::new("failed_s", Unit::Time).of_flow(|of| of.flow.failed.and_then(time_in_seconds));
    /// Measured time: from the end of the warm-up or the flow's start to its finish or the end of the run.
    Counted = Line::new("counted_s", Unit::Time).of_flow(|of| Some(of.flow.counted_time.as_secs_f64()));

    /// Time from the start to the delivery of the last byte of a finite flow; over the whole run.
    Completion = Line::new("completion_s", Unit::Time).shown("Duration", "", FLOWS.and(PAGE))
        .of_flow(|of| of.flow.finished.map(|end| end.since(of.flow.start).as_secs_f64()));

    /// Transfers completed after the warm-up: finite flows, Poisson arrivals, exchanges of request and response, blocks.
    Completions = Line::new("completions", Unit::Count).shown("Completed", "", TRANSFERS)
        .of_transfers(|of| known_count(of.completion.count));
    /// Transfers started and not completed, aborted ones included.
    Unfinished = Line::new("unfinished", Unit::Count).shown("Unfinished", "", Tables::TRANSFERS).rare()
        .of_transfers(|of| known_count(of.unfinished));
    /// Mean completion time of these transfers, from the application's write to the delivery of the last byte.
    CompletionMean = Line::new("completion_mean_s", Unit::Time).shown("Time", "mean", TRANSFERS.and(BARS))
        .of_transfers(|of| of_samples(&of.completion, |of| of.mean));
    /// Their median completion time.
    CompletionP50 = Line::new("completion_p50_s", Unit::Time).shown("Time", "p50", TRANSFERS).percentile()
        .of_transfers(|of| of_samples(&of.completion, |of| of.p50));
    /// The 95th percentile of their completion times.
    CompletionP95 = Line::new("completion_p95_s", Unit::Time).shown("Time", "p95", Tables::TRANSFERS).percentile()
        .of_transfers(|of| of_samples(&of.completion, |of| of.p95));
    /// The 99th percentile of their completion times.
    CompletionP99 = Line::new("completion_p99_s", Unit::Time).shown("Time", "p99", TRANSFERS.and(BARS)).percentile()
        .of_transfers(|of| of_samples(&of.completion, |of| of.p99));
    /// The 99.9th percentile of their completion times.
    CompletionP999 = Line::new("completion_p999_s", Unit::Time).shown("Time", "p99.9", Tables::TRANSFERS).percentile()
        .of_transfers(|of| of_samples(&of.completion, |of| of.p999));
    /// Maximum completion time.
    CompletionMax = Line::new("completion_max_s", Unit::Time).shown("Time", "max", TRANSFERS)
        .of_transfers(|of| of_samples(&of.completion, |of| of.max));
    /// Mean slowdown: completion time divided by the ideal completion time on an otherwise idle network.
    SlowdownMean = Line::new("slowdown_mean", Unit::Number).shown("Slowdown", "mean", TRANSFERS.and(BARS))
        .of_transfers(|of| of_ratios(&of.slowdown, |of| of.mean));
    /// Median slowdown.
    SlowdownP50 = Line::new("slowdown_p50", Unit::Number).shown("Slowdown", "p50", Tables::SIZES).percentile()
        .of_transfers(|of| of_ratios(&of.slowdown, |of| of.p50));
    /// 95th percentile of the slowdown.
    SlowdownP95 = Line::new("slowdown_p95", Unit::Number).shown("Slowdown", "p95", Tables::NONE).percentile()
        .of_transfers(|of| of_ratios(&of.slowdown, |of| of.p95));
    /// 99th percentile of the slowdown.
    SlowdownP99 = Line::new("slowdown_p99", Unit::Number).shown("Slowdown", "p99", TRANSFERS).percentile()
        .of_transfers(|of| of_ratios(&of.slowdown, |of| of.p99));
    /// 99.9th percentile of the slowdown.
    SlowdownP999 = Line::new("slowdown_p999", Unit::Number).shown("Slowdown", "p99.9", Tables::NONE).percentile()
        .of_transfers(|of| of_ratios(&of.slowdown, |of| of.p999));
    /// Maximum slowdown.
    SlowdownMax = Line::new("slowdown_max", Unit::Number).shown("Slowdown", "max", Tables::NONE)
        .of_transfers(|of| of_ratios(&of.slowdown, |of| of.max));

    /// Rounds of synchronised flows (`rounds`) completed after the warm-up.
    Rounds = Line::new("rounds", Unit::Count).shown("Rounds", "", Tables::TRANSFERS).of_group(|of| group_rounds(of, |of| of.count as f64));
    /// Mean duration of these rounds, from the start of the first block to the arrival of the last.
    RoundMean = Line::new("round_mean_s", Unit::Time).shown("Round", "mean", Tables::TRANSFERS)
        .of_group(|of| group_rounds(of, |of| of.mean.as_secs_f64()));
    /// 99th percentile of the round duration.
    RoundP99 = Line::new("round_p99_s", Unit::Time).percentile().of_group(|of| group_rounds(of, |of| of.p99.as_secs_f64()));
    /// Maximum round duration.
    RoundMax = Line::new("round_max_s", Unit::Time).shown("Round", "max", Tables::TRANSFERS)
        .of_group(|of| group_rounds(of, |of| of.max.as_secs_f64()));

    /// Payload delivered in order, each byte once, over the time from the end of the warm-up to the end of the run. Datagrams
    /// have no numbers: every arrival counts, also a copy by a link's `duplicate`.
    Goodput = Line::new("goodput_bps", Unit::Rate).shown("Goodput", "", TRAFFIC.and(MEANS).and(BARS)).sum_over_members()
        .of_flow(|of| Some(of.flow.goodput.as_f64()));
    /// `delivered_wire_bytes` over the same time.
    Throughput = Line::new("throughput_bps", Unit::Rate).sum_over_members().of_flow(|of| Some(of.flow.throughput.as_f64()));
    /// Payload that arrived at the receiver over the same time, in any order, duplicates included.
    ArrivalRate = Line::new("arrival_bps", Unit::Rate).shown("Arrived", "", PAGE).sum_over_members()
        .of_flow(|of| Some(of.flow.arrival_rate.as_f64()));
    /// Goodput divided by the goodput of all flows.
    Share = Line::new("share", Unit::Share).shown("Share", "", FLOWS.and(PAGE)).of_flow(flow_share);
    /// Payload delivered in order, each byte once; for request and response both directions, for datagrams every arrival,
    /// also of copies.
    Delivered = Line::new("delivered_bytes", Unit::Bytes).sum_over_members().of_flow(|of| Some(of.flow.delivered.get() as f64));
    /// Packets of that payload, each once, with headers.
    DeliveredWire = Line::new("delivered_wire_bytes", Unit::Bytes).sum_over_members()
        .of_flow(|of| Some(of.flow.delivered_wire.get() as f64));
    /// Payload delivered in the whole run.
    DeliveredTotal = Line::new("delivered_total_bytes", Unit::Bytes).sum_over_members()
        .of_flow(|of| Some(of.flow.delivered_total.get() as f64));

    /// Number of measured one-way delays; in a group of more than 1000 flows, only the group's are measured.
    DelaySamples = Line::new("delay_samples", Unit::Count)
        .of_flow(|of| known_count(of.flow.delay.count))
        .of_group(|of| known_count(of.delay.count)).aggregate_network_by(Aggregation::Sum);
    /// Minimum one-way delay of received data packets, from transmission at the source to arrival.
    DelayMin = Line::new("delay_min_s", Unit::Time)
        .of_flow(|of| of_samples(&of.flow.delay, |of| of.min))
        .of_group(|of| of_samples(&of.delay, |of| of.min));
    /// Mean one-way delay.
    DelayMean = Line::new("delay_mean_s", Unit::Time).shown("Delay", "mean", MEANS.and(PAGE).and(BARS))
        .of_flow(|of| of_samples(&of.flow.delay, |of| of.mean))
        .of_group(|of| of_samples(&of.delay, |of| of.mean)).aggregate_network_by(Aggregation::MeanBy(Metric::DelaySamples));
    /// Median one-way delay.
    DelayP50 = Line::new("delay_p50_s", Unit::Time).shown("Delay", "p50", FLOWS.and(GROUPS)).percentile()
        .of_flow(|of| of_samples(&of.flow.delay, |of| of.p50))
        .of_group(|of| of_samples(&of.delay, |of| of.p50));
    /// 95th percentile of the one-way delay.
    DelayP95 = Line::new("delay_p95_s", Unit::Time).percentile()
        .of_flow(|of| of_samples(&of.flow.delay, |of| of.p95))
        .of_group(|of| of_samples(&of.delay, |of| of.p95));
    /// 99th percentile of the one-way delay; for the network, the maximum over its groups.
    DelayP99 = Line::new("delay_p99_s", Unit::Time).shown("Delay", "p99", TRAFFIC.and(MEANS).and(BARS)).percentile()
        .of_flow(|of| of_samples(&of.flow.delay, |of| of.p99))
        .of_group(|of| of_samples(&of.delay, |of| of.p99))
        .aggregate_network_by(Aggregation::Most).called_in_network("delay_p99_worst_s");
    /// Maximum one-way delay.
    DelayMax = Line::new("delay_max_s", Unit::Time)
        .of_flow(|of| of_samples(&of.flow.delay, |of| of.max))
        .of_group(|of| of_samples(&of.delay, |of| of.max));

    /// Jain's index of the goodput of backlogged flows, (Σx)² / (n Σx²), from 1/n to 1; none for fewer than two.
    Jain = Line::new("jain", Unit::Number).shown("Jain", "", GROUPS.and(MEANS).and(BARS))
        .of_group(|of| of.jain).of_network(RunResult::jain);
    /// The fairness variance of the SEIF thesis: (1/n) Σ(x - mean)² of the flows' throughput in kbit/s.
    FairnessVariance = Line::new("fairness_variance_kbps2", Unit::RateSquared)
        .shown("Variance (kbit/s)^2", "", GROUPS).of_group(|of| Some(of.fairness_variance));

    /// Number of round-trip time samples after the warm-up: those of the sender's own estimator, before smoothing.
    RttSamples = Line::new("rtt_samples", Unit::Count)
        .of_flow(|of| known_count(of.flow.round_trips.count))
        .of_group(|of| known_count(of.round_trips.count))
        .of_network(|of| known_count(of.round_trips.count));
    /// Mean of these round-trip times; each sample of a group or of the network counts once.
    RttMean = Line::new("rtt_mean_s", Unit::Time).shown("RTT", "mean", PAGE)
        .of_flow(|of| of_samples(&of.flow.round_trips, |of| of.mean))
        .of_group(|of| of_samples(&of.round_trips, |of| of.mean))
        .of_network(|of| of_samples(&of.round_trips, |of| of.mean));
    /// Median round-trip time, within 1.6 %.
    RttP50 = Line::new("rtt_p50_s", Unit::Time).percentile()
        .of_flow(|of| of_samples(&of.flow.round_trips, |of| of.p50))
        .of_group(|of| of_samples(&of.round_trips, |of| of.p50))
        .of_network(|of| of_samples(&of.round_trips, |of| of.p50));
    /// 95th percentile of the round-trip time.
    RttP95 = Line::new("rtt_p95_s", Unit::Time).shown("RTT", "p95", PAGE).percentile()
        .of_flow(|of| of_samples(&of.flow.round_trips, |of| of.p95))
        .of_group(|of| of_samples(&of.round_trips, |of| of.p95))
        .of_network(|of| of_samples(&of.round_trips, |of| of.p95));
    /// 99th percentile of the round-trip time.
    RttP99 = Line::new("rtt_p99_s", Unit::Time).shown("RTT", "p99", PAGE).percentile()
        .of_flow(|of| of_samples(&of.flow.round_trips, |of| of.p99))
        .of_group(|of| of_samples(&of.round_trips, |of| of.p99))
        .of_network(|of| of_samples(&of.round_trips, |of| of.p99));
    /// Minimum round-trip time measured by the sender, over the whole run.
    MinRtt = Line::new("min_rtt_s", Unit::Time).shown("RTT", "min", PAGE).of_flow(|of| measured_seconds(of.flow.min_rtt));
    /// Final smoothed round-trip time of the sender.
    SmoothedRtt = Line::new("smoothed_rtt_s", Unit::Time).of_flow(|of| measured_seconds(of.flow.smoothed_rtt));

    /// Final slow-start threshold (ssthresh of RFC 5681) in segments, of the last connection that has one; none while
    /// unbounded.
    Ssthresh = Line::new("ssthresh_segments", Unit::Number).shown("ssthresh", "", PAGE).rare()
        .of_flow(|of| of.flow.ssthresh);

    /// Data packets sent, retransmissions included; like the next two, also of transfers in progress.
    Sent = Line::new("sent_packets", Unit::Packets).shown("Sent", "", PAGE).sum_over_members()
        .of_flow(|of| known_count(of.flow.sent_packets));
    /// Retransmitted data packets.
    Retransmissions = Line::new("retransmissions", Unit::Packets).shown("Retransmitted", "", FLOWS.and(PAGE).and(MEANS)).sum_over_members()
        .of_flow(|of| known_count(of.flow.retransmissions));
    /// Expiries of the retransmission timer.
    Timeouts = Line::new("timeouts", Unit::Count).shown("Time-outs", "", PAGE).sum_over_members()
        .of_flow(|of| known_count(of.flow.timeouts));
    /// The flow's packets dropped by queues, in either direction.
    Drops = Line::new("drops", Unit::Packets).sum_over_members().of_flow(|of| known_count(of.flow.counts.drops));
    /// The flow's data packets dropped by queues, and lost or corrupted on links, of those in `sent_packets`.
    Lost = Line::new("lost_packets", Unit::Packets).sum_over_members().of_flow(|of| known_count(of.flow.counts.lost_data));
    /// `lost_packets` over `sent_packets`, at most 1.
    Loss = Line::new("loss", Unit::Share).shown("Lost", "", TRAFFIC.and(MEANS)).rare().weighted_mean_by(Metric::Sent).of_flow(flow_loss);
    /// The flow's data packets that arrived with a congestion mark (CE).
    Marked = Line::new("marked_packets", Unit::Packets).shown("Marked", "", TRAFFIC.and(MEANS)).rare().sum_over_members()
        .of_flow(|of| known_count(of.flow.counts.marked_data));
    /// Of datagrams: mean absolute difference of the delays of consecutive arrivals (D(i-1, i) of RFC 3550, section 6.4.1).
    Jitter = Line::new("jitter_s", Unit::Time).shown("Jitter", "", TRAFFIC.and(MEANS)).weighted_mean_by(Metric::DelaySamples)
        .of_flow(|of| of.flow.jitter.map(Duration::as_secs_f64));

    /// Segments of two-level flow control (`sstp`) accepted at the receiver.
    Segments = Line::new("segments", Unit::Count)
        .shown("Segments", "", Tables::SINKS.and(Tables::PAGE_SINKS)).sum_over_members()
        .of_flow(|of| Some(of.flow.segment_delay.count).filter(|&segments| segments > 0).and_then(known_count));
    /// Mean time from the start of a segment's first transmission to its acceptance.
    SegmentDelayMean = Line::new("segment_delay_mean_s", Unit::Time).shown("Time", "mean", SINKS).weighted_mean_by(Metric::Segments)
        .of_flow(|of| measured_seconds(of.flow.segment_delay.mean));
    /// Maximum of that time.
    SegmentDelayMax = Line::new("segment_delay_max_s", Unit::Time).shown("Time", "max", SINKS).max()
        .of_flow(|of| measured_seconds(of.flow.segment_delay.max));
    /// Maximum of the data delivered but not yet read by the application, over the whole run; none if it reads at once.
    UnreadMax = Line::new("unread_max_bytes", Unit::Bytes).shown("Unread", "max", SINKS).max()
        .of_flow(|of| of.flow.unread_peak.map(|bytes| bytes.get() as f64));
    /// Segments of two-level flow control accepted with missing packets, within `loss-tolerance`.
    IncompleteSegments = Line::new("incomplete_segments", Unit::Segments).within("two_level")
        .shown("Incomplete", "", Tables::TWO_LEVEL.and(Tables::PAGE_SINKS)).sum_over_members()
        .of_flow(|of| two_level(of.flow, |of| of.incomplete));
    /// Packets missing from delivered data, in the holes reported to the application.
    HolePackets = Line::new("hole_packets", Unit::Packets).within("two_level").shown("Holes", "", TWO_LEVEL).sum_over_members()
        .of_flow(|of| two_level(of.flow, |of| of.holes));
    /// Data packets discarded at the receiver because its buffer was full.
    RefusedPackets = Line::new("refused_packets", Unit::Packets).within("two_level").shown("Refused", "", TWO_LEVEL).sum_over_members()
        .of_flow(|of| two_level(of.flow, |of| of.refused));
    /// Segments discarded at the receiver to free buffer for lower ones (soft acknowledgement).
    EvictedSegments = Line::new("evicted_segments", Unit::Segments).within("two_level").shown("Evicted", "", TWO_LEVEL)
        .sum_over_members().of_flow(|of| two_level(of.flow, |of| of.evictions));
    /// Maximum number of segments that the sender of one connection buffered for retransmission, over the whole run.
    SenderBufferSegments = Line::new("sender_buffer_max_segments", Unit::Segments).within("two_level")
        .shown("Source kept", "", Tables::TWO_LEVEL).max()
        .of_flow(|of| two_level(of.flow, |of| u64::from(of.sender_segments)));
    /// Maximum of these segments in bytes.
    SenderBufferBytes = Line::new("sender_buffer_max_bytes", Unit::Bytes).within("two_level").max()
        .of_flow(|of| two_level(of.flow, |of| of.sender_bytes.get()));
    /// Maximum number of segments of one connection buffered at the receiver, over the whole run.
    ReceiverBufferSegments = Line::new("receiver_buffer_max_segments", Unit::Segments).within("two_level")
        .shown("Sink kept", "", Tables::TWO_LEVEL).max()
        .of_flow(|of| two_level(of.flow, |of| u64::from(of.receiver_segments)));
    /// Maximum of these segments in bytes.
    ReceiverBufferBytes = Line::new("receiver_buffer_max_bytes", Unit::Bytes).within("two_level").max()
        .of_flow(|of| two_level(of.flow, |of| of.receiver_bytes.get()));

    /// Mean encoder rate of live media (`scream`).
    MediaRate = Line::new("media_rate_bps", Unit::Rate).within("media").shown("Encoded", "", MEDIA).sum_over_members()
        .of_flow(|of| media_result(of.flow)?.rate.map(Rate::as_f64));
    /// Encoded frames.
    FramesEncoded = Line::new("frames_encoded", Unit::Count).within("media").shown("Frames", "", Tables::MEDIA).sum_over_members()
        .of_flow(|of| known_count(media_result(of.flow)?.encoded.frames));
    /// Frames skipped by the encoder because earlier frames were still waiting for transmission.
    FramesSkipped = Line::new("frames_skipped", Unit::Count).within("media").sum_over_members()
        .of_flow(|of| known_count(media_result(of.flow)?.encoded.skipped));
    /// Frames shown: complete and decodable.
    FramesShown = Line::new("frames_shown", Unit::Count).within("media").sum_over_members()
        .of_flow(|of| known_count(media_result(of.flow)?.shown.frames));
    /// Frames with data that never arrived.
    FramesLost = Line::new("frames_lost", Unit::Count).within("media").shown("Frames", "lost", MEDIA).sum_over_members()
        .of_flow(|of| known_count(media_result(of.flow)?.shown.lost));
    /// Complete frames that could not be decoded because an earlier frame was lost and no key frame had arrived since.
    FramesUndecodable = Line::new("frames_undecodable", Unit::Count).within("media").shown("Frames", "undecodable", MEDIA)
        .sum_over_members().of_flow(|of| known_count(media_result(of.flow)?.shown.undecodable));
    /// Complete frames delayed by more than `late`.
    FramesLate = Line::new("frames_late", Unit::Count).within("media").shown("Frames", "late", MEDIA).sum_over_members()
        .of_flow(|of| known_count(media_result(of.flow)?.shown.late));
    /// Complete frames with a measured delay.
    FrameDelays = Line::new("frame_delay_samples", Unit::Count).within("media").sum_over_members()
        .of_flow(|of| known_count(media_result(of.flow)?.delay.count));
    /// Median time from the capture of a frame to its complete arrival.
    FrameDelayP50 = Line::new("frame_delay_p50_s", Unit::Time).within("media").shown("Frame delay", "p50", MEDIA).percentile()
        .weighted_mean_by(Metric::FrameDelays).of_flow(|of| of_samples(&media_result(of.flow)?.delay, |of| of.p50));
    /// 95th percentile of this frame delay.
    FrameDelayP95 = Line::new("frame_delay_p95_s", Unit::Time).within("media").shown("Frame delay", "p95", MEDIA).percentile()
        .weighted_mean_by(Metric::FrameDelays).of_flow(|of| of_samples(&media_result(of.flow)?.delay, |of| of.p95));
    /// 99th percentile of this frame delay.
    FrameDelayP99 = Line::new("frame_delay_p99_s", Unit::Time).within("media").shown("Frame delay", "p99", MEDIA).percentile()
        .weighted_mean_by(Metric::FrameDelays).of_flow(|of| of_samples(&media_result(of.flow)?.delay, |of| of.p99));
    /// Number of freezes (W3C webrtc-stats, freezeCount): at least max(3 average, average + 150 ms) between two frames.
    Freezes = Line::new("freezes", Unit::Count).within("media").shown("Freezes", "", MEDIA).sum_over_members()
        .of_flow(|of| known_count(media_result(of.flow)?.shown.freezes));
    /// Total duration of freezes (W3C webrtc-stats, totalFreezesDuration).
    Frozen = Line::new("frozen_s", Unit::Time).within("media").shown("Frozen", "", MEDIA).sum_over_members()
        .of_flow(|of| Some(media_result(of.flow)?.shown.frozen.as_secs_f64()));

    /// Share of time limited by the congestion window or Nagle's algorithm, of the time with a known limit.
    HeldByWindow = Line::new("congestion_window", Unit::Share).within("limits").of_flow(|of| limited_time_share(of.flow, Limit::CongestionWindow));
    /// Share of time limited by the receiver's window.
    HeldByReceiver = Line::new("receiver_window", Unit::Share).within("limits").of_flow(|of| limited_time_share(of.flow, Limit::ReceiverWindow));
    /// Share of time limited by the pacing rate.
    HeldByPacing = Line::new("pacing", Unit::Share).within("limits").of_flow(|of| limited_time_share(of.flow, Limit::Pacing));
    /// Share of time limited by the application (nothing to send).
    HeldByApplication = Line::new("application", Unit::Share).within("limits").of_flow(|of| limited_time_share(of.flow, Limit::Application));
    /// Share of time in loss recovery.
    HeldByNetwork = Line::new("network", Unit::Share).within("limits").of_flow(|of| limited_time_share(of.flow, Limit::Network));
    /// Share of time during which a gate at the source node had stopped the flow.
    HeldByGate = Line::new("paused", Unit::Share).within("limits").of_flow(|of| limited_time_share(of.flow, Limit::Paused));
    /// Share of time spent waiting for the retransmission timer without feedback.
    HeldByTimer = Line::new("retransmission_timer", Unit::Share).within("limits")
        .of_flow(|of| limited_time_share(of.flow, Limit::RetransmissionTimer));

    /// Initial rate, that of the link's shaper, or that of full batches (`aggregation.packets`) of 1500 B packets, whichever is
    /// lowest; on a link with a capacity trace, the trace's mean rate.
    LinkRate = Line::new("rate_bps", Unit::Rate).shown("Rate", "", Tables::LINKS.and(Tables::PAGE_LINKS))
        .of_link(|of| known_count(of.rate.as_bits_per_sec()).filter(|&rate| rate > 0.0));
    /// Share of time with a busy transmitter. With a shaper, waiting for tokens does not count, and the value is at least the
    /// transmitted share of what the shaper's rate admits. The same applies to full batches (`aggregation.packets`).
    Utilisation = Line::new("utilisation", Unit::Share).shown("Used", "", LINKS).of_link(|of| Some(of.utilisation));
    /// Token rate of a policer. An arrival without tokens is dropped.
    PolicerRate = Line::new("policer_rate_bps", Unit::Rate).shown("Policer", "rate", LINKS).rare()
        .of_link(|of| of.policer.and_then(|(rate, _)| known_count(rate.as_bits_per_sec())));
    /// Transmitted bytes, as a share of the volume that the policer's rate admits, not counting its burst; at most 1.
    PolicerUse = Line::new("policer_used", Unit::Share).shown("Policer", "used", LINKS).rare()
        .of_link(|of| of.policer.map(|(_, used)| used));
    /// Packets transmitted.
    LinkPackets = Line::new("packets", Unit::Packets).of_link(|of| known_count(of.packets));
    /// Bytes transmitted.
    LinkBytes = Line::new("bytes", Unit::Bytes).of_link(|of| Some(of.bytes.get() as f64));
    /// Time-averaged queue length, without the packet in service.
    QueueMean = Line::new("queue_mean_packets", Unit::Packets).shown("Queue", "mean", LINKS).fractional()
        .of_link(|of| Some(of.queue.mean_packets));
    /// Time-averaged queue length in bytes.
    QueueMeanBytes = Line::new("queue_mean_bytes", Unit::Bytes).fractional().of_link(|of| Some(of.queue.mean_bytes));
    /// Queue length not exceeded in 99 % of the time.
    QueueP99 = Line::new("queue_p99_packets", Unit::Packets).shown("Queue", "p99", LINKS).of_link(|of| known_count(of.queue.p99_packets));
    /// Maximum queue length.
    QueueMax = Line::new("queue_max_packets", Unit::Packets).shown("Queue", "max", LINKS).of_link(|of| known_count(of.queue.max_packets));
    /// Packets that the queue dropped: `drops_full` + `drops_early`.
    LinkDrops = Line::new("drops", Unit::Packets).shown("Drops", "", LINKS).of_link(|of| known_count(of.drops_full + of.drops_early));
    /// Packets dropped because the queue was full.
    DropsFull = Line::new("drops_full", Unit::Packets).of_link(|of| known_count(of.drops_full));
    /// Packets dropped by the queue discipline before the queue was full.
    DropsEarly = Line::new("drops_early", Unit::Packets).of_link(|of| known_count(of.drops_early));
    /// Acknowledgements removed from the queue by `ack-filter`.
    Filtered = Line::new("filtered", Unit::Packets).shown("Filtered", "", LINKS).rare().of_link(|of| known_count(of.filtered));
    /// Packets marked.
    Marks = Line::new("marks", Unit::Packets).shown("Marks", "", LINKS).rare().of_link(|of| known_count(of.marks));
    /// Feedback messages that the router sent to sources because of the queue.
    Feedback = Line::new("feedback", Unit::Packets).shown("Messages", "", LINKS).rare().of_link(|of| known_count(of.feedback));
    /// Bytes of these feedback messages.
    FeedbackBytes = Line::new("feedback_bytes", Unit::Bytes).of_link(|of| Some(of.feedback_bytes.get() as f64));
    /// Packets lost on the link.
    LinkLosses = Line::new("losses", Unit::Packets).shown("Lost", "", LINKS).rare().of_link(|of| known_count(of.losses));
    /// Packets corrupted on the link, copies included.
    LinkCorrupted = Line::new("corrupted", Unit::Packets).of_link(|of| known_count(of.corrupted));
    /// Packets duplicated on the link.
    LinkDuplicated = Line::new("duplicated", Unit::Packets).of_link(|of| known_count(of.duplicated));
}

/// Position of each metric within each kind of subject.
pub(super) static COLUMNS: [[u8; SUBJECT_KINDS]; Metric::ALL.len()] = metric_positions(&LINES);

/// Metrics of each kind of subject, in table order.
pub(super) static METRICS_OF: [MetricIndices<{ Metric::ALL.len() }>; SUBJECT_KINDS] = metric_indices(&LINES);

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

fn flow_loss(of: &FlowView<'_>) -> Option<f64> {
    let sent = of.flow.sent_packets;
    // A packet counts as sent when its sender hands it to its host, and as lost if it left the host after the warm-up.
    (sent > 0).then(|| (of.flow.counts.lost_data as f64 / sent as f64).min(1.0))
}

fn flow_share(of: &FlowView<'_>) -> Option<f64> {
    let all = of.goodput_of_all.as_f64();
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
