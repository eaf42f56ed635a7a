//! The table of metrics. What a line says is all there is to say of a metric: documents, means, tables, reports, pictures
//! and the reference are made from it.

use super::metric::{FlowView, Joined, Line, Members, SUBJECTS, Tables, Unit, columns, members};
use thalweg_proto::transport::Limit;
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_sim::{FlowResult, GroupResult, MediaResult, Ratios, RunResult, Summary, TwoLevelCounts};

macro_rules! metrics {
    ($($(#[doc = $about:literal])+ $id:ident = $line:expr;)+) => {
        /// A quantity that is measured, of flows, groups, the network or links.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Metric {
            $($(#[doc = $about])+ $id,)+
        }

        impl Metric {
            /// All, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$id),+];
        }

        /// The table: a line for each metric, in the order of [`Metric::ALL`].
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
    /// When it started.
    Start = Line::new("start_s", Unit::Time).shown("Start", "", PAGE).of_flow(|of| at(of.flow.start));
    /// When its last byte was delivered, for flows that end; over the whole run.
    Finished = Line::new("finished_s", Unit::Time).shown("End", "", PAGE).of_flow(|of| of.flow.finished.and_then(at));
    /// When its sender gave up, if it did; over the whole run.
    Failed = Line::new("failed_s", Unit::Time).of_flow(|of| of.flow.failed.and_then(at));
    /// From the warm-up's end or its start to its finish or the run's end.
    Counted = Line::new("counted_s", Unit::Time).of_flow(|of| Some(of.flow.counted.as_secs_f64()));

    /// How long it took from its start to its last byte, for flows that end; over the whole run.
    Completion = Line::new("completion_s", Unit::Time).shown("Took", "", FLOWS.and(PAGE))
        .of_flow(|of| of.flow.finished.map(|end| end.since(of.flow.start).as_secs_f64()));

    /// Transfers that ended after the warm-up: flows that end, each transfer of Poisson arrivals, each exchange of request and
    /// response, each block of a round.
    Completions = Line::new("completions", Unit::Count).shown("Completed", "", TRANSFERS)
        .of_transfers(|of| count(of.completion.count));
    /// Transfers begun and not ended: of flows that end those that did not, of many transfers those under way and those whose
    /// sender gave up.
    Unfinished = Line::new("unfinished", Unit::Count).shown("Unfinished", "", Tables::TRANSFERS).rare()
        .of_transfers(|of| count(of.unfinished));
    /// The mean completion time of these transfers, from the application's write to the delivery of the last byte.
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
    /// The longest of their completion times.
    CompletionMax = Line::new("completion_max_s", Unit::Time).shown("Time", "max", TRANSFERS)
        .of_transfers(|of| of_samples(&of.completion, |of| of.max));
    /// The mean of their completion times over their ideal ones: how long a transfer takes with the network to itself.
    SlowdownMean = Line::new("slowdown_mean", Unit::Number).shown("Slowdown", "mean", TRANSFERS.and(BARS))
        .of_transfers(|of| of_ratios(&of.slowdown, |of| of.mean));
    /// The median of these ratios.
    SlowdownP50 = Line::new("slowdown_p50", Unit::Number).shown("Slowdown", "p50", Tables::SIZES).percentile()
        .of_transfers(|of| of_ratios(&of.slowdown, |of| of.p50));
    /// Their 95th percentile.
    SlowdownP95 = Line::new("slowdown_p95", Unit::Number).shown("Slowdown", "p95", Tables::NONE).percentile()
        .of_transfers(|of| of_ratios(&of.slowdown, |of| of.p95));
    /// Their 99th percentile.
    SlowdownP99 = Line::new("slowdown_p99", Unit::Number).shown("Slowdown", "p99", TRANSFERS).percentile()
        .of_transfers(|of| of_ratios(&of.slowdown, |of| of.p99));
    /// Their 99.9th percentile.
    SlowdownP999 = Line::new("slowdown_p999", Unit::Number).shown("Slowdown", "p99.9", Tables::NONE).percentile()
        .of_transfers(|of| of_ratios(&of.slowdown, |of| of.p999));
    /// The largest of them.
    SlowdownMax = Line::new("slowdown_max", Unit::Number).shown("Slowdown", "max", Tables::NONE)
        .of_transfers(|of| of_ratios(&of.slowdown, |of| of.max));

    /// Rounds of flows that wait for each other (`rounds`) that ended after the warm-up.
    Rounds = Line::new("rounds", Unit::Count).shown("Rounds", "", Tables::TRANSFERS).of_group(|of| rounds(of, |of| of.count as f64));
    /// The mean time of these rounds, from the first block's begin to the last one's arrival.
    RoundMean = Line::new("round_mean_s", Unit::Time).shown("Round", "mean", Tables::TRANSFERS)
        .of_group(|of| rounds(of, |of| of.mean.as_secs_f64()));
    /// Their 99th percentile.
    RoundP99 = Line::new("round_p99_s", Unit::Time).percentile().of_group(|of| rounds(of, |of| of.p99.as_secs_f64()));
    /// The longest of them.
    RoundMax = Line::new("round_max_s", Unit::Time).shown("Round", "max", Tables::TRANSFERS)
        .of_group(|of| rounds(of, |of| of.max.as_secs_f64()));

    /// Payload delivered to the application in order, each byte once, over the time from the warm-up's end to the run's end.
    Goodput = Line::new("goodput_bps", Unit::Rate).shown("Goodput", "", TRAFFIC.and(MEANS).and(BARS)).summed()
        .of_flow(|of| Some(of.flow.goodput.as_f64()));
    /// `delivered_wire_bytes` over the same time.
    Throughput = Line::new("throughput_bps", Unit::Rate).summed().of_flow(|of| Some(of.flow.throughput.as_f64()));
    /// Payload that arrived at the receiver, in whatever order, over the same time: what waits for earlier bytes counts when it
    /// arrives, copies count each time, and lost or damaged packets do not. Beside goodput it tells a network that delivers
    /// from a receiver that waits.
    ArrivalRate = Line::new("arrival_bps", Unit::Rate).shown("Arrived", "", PAGE).summed()
        .of_flow(|of| Some(of.flow.arrival_rate.as_f64()));
    /// Its goodput over that of all flows.
    Share = Line::new("share", Unit::Share).shown("Share", "", FLOWS.and(PAGE)).of_flow(share);
    /// Payload delivered to the application in order, each byte once; of request and response both directions; of
    /// datagrams each that arrives, copies included.
    Delivered = Line::new("delivered_bytes", Unit::Bytes).summed().of_flow(|of| Some(of.flow.delivered.get() as f64));
    /// The packets of that payload, each once, with their headers, as they were: a small write is a small packet with a whole
    /// header. Of `sstp` also those of segments that are not whole yet.
    DeliveredWire = Line::new("delivered_wire_bytes", Unit::Bytes).summed()
        .of_flow(|of| Some(of.flow.delivered_wire.get() as f64));
    /// Payload delivered in the whole run.
    DeliveredTotal = Line::new("delivered_total_bytes", Unit::Bytes).summed()
        .of_flow(|of| Some(of.flow.delivered_total.get() as f64));

    /// How many one-way delays were measured; of a group of more than 1000 flows only the group's are.
    DelaySamples = Line::new("delay_samples", Unit::Count)
        .of_flow(|of| count(of.flow.delay.count))
        .of_group(|of| count(of.delay.count)).network_by(Joined::Sum);
    /// The shortest one-way delay of data packets that arrived, from their transmission at the source to their arrival.
    DelayMin = Line::new("delay_min_s", Unit::Time)
        .of_flow(|of| of_samples(&of.flow.delay, |of| of.min))
        .of_group(|of| of_samples(&of.delay, |of| of.min));
    /// The mean of these delays.
    DelayMean = Line::new("delay_mean_s", Unit::Time).shown("Delay", "mean", MEANS.and(PAGE).and(BARS))
        .of_flow(|of| of_samples(&of.flow.delay, |of| of.mean))
        .of_group(|of| of_samples(&of.delay, |of| of.mean)).network_by(Joined::MeanBy(Metric::DelaySamples));
    /// Their median.
    DelayP50 = Line::new("delay_p50_s", Unit::Time).shown("Delay", "p50", FLOWS.and(GROUPS)).percentile()
        .of_flow(|of| of_samples(&of.flow.delay, |of| of.p50))
        .of_group(|of| of_samples(&of.delay, |of| of.p50));
    /// Their 95th percentile.
    DelayP95 = Line::new("delay_p95_s", Unit::Time).percentile()
        .of_flow(|of| of_samples(&of.flow.delay, |of| of.p95))
        .of_group(|of| of_samples(&of.delay, |of| of.p95));
    /// Their 99th percentile; of the network the largest of its groups'.
    DelayP99 = Line::new("delay_p99_s", Unit::Time).shown("Delay", "p99", TRAFFIC.and(MEANS).and(BARS)).percentile()
        .of_flow(|of| of_samples(&of.flow.delay, |of| of.p99))
        .of_group(|of| of_samples(&of.delay, |of| of.p99))
        .network_by(Joined::Most).called_in_network("delay_p99_worst_s");
    /// The longest of them.
    DelayMax = Line::new("delay_max_s", Unit::Time)
        .of_flow(|of| of_samples(&of.flow.delay, |of| of.max))
        .of_group(|of| of_samples(&of.delay, |of| of.max));

    /// Jain's index of the goodput of the flows that wanted more: (Σx)² / (n Σx²), from 1/n to 1; of the network over all such
    /// flows, whatever their group; none where there are fewer than two.
    Jain = Line::new("jain", Unit::Number).shown("Jain", "", GROUPS.and(MEANS).and(BARS))
        .of_group(|of| of.jain).of_network(RunResult::jain);
    /// The fairness variance of the SEIF thesis: (1/n) Σ(x - mean)² of the flows' throughput in kbit/s.
    FairnessVariance = Line::new("fairness_variance_kbps2", Unit::RateSquared)
        .shown("Variance (kbit/s)^2", "", GROUPS).of_group(|of| Some(of.fairness_variance));

    /// Round-trip times that the sender measured after the warm-up: each sample of its own estimator, before smoothing. Window
    /// schemes, `adaptive-ack` and the handshake take the time from the last departure of the newest segment acknowledged to the
    /// acknowledgement, unless it was sent again and the sender cannot tell which copy was acknowledged (Karn's rule, RFC 6298,
    /// section 3); `sscop` that from a POLL to its STAT; `sstp` that from a segment's last packet to the first report on it; `scream` that
    /// of its reports. The receiver's wait before it acknowledges is part of it. Of a group of more than 1000 flows only the
    /// group's are.
    RttSamples = Line::new("rtt_samples", Unit::Count)
        .of_flow(|of| count(of.flow.round_trips.count))
        .of_group(|of| count(of.round_trips.count))
        .of_network(|of| count(of.round_trips.count));
    /// The mean of these round-trip times: each sample counts once, so that a group's and the network's are those of all samples
    /// together.
    RttMean = Line::new("rtt_mean_s", Unit::Time).shown("RTT", "mean", PAGE)
        .of_flow(|of| of_samples(&of.flow.round_trips, |of| of.mean))
        .of_group(|of| of_samples(&of.round_trips, |of| of.mean))
        .of_network(|of| of_samples(&of.round_trips, |of| of.mean));
    /// Their median: the least sample that at least half of the samples do not exceed, within 1.6 %.
    RttP50 = Line::new("rtt_p50_s", Unit::Time).percentile()
        .of_flow(|of| of_samples(&of.flow.round_trips, |of| of.p50))
        .of_group(|of| of_samples(&of.round_trips, |of| of.p50))
        .of_network(|of| of_samples(&of.round_trips, |of| of.p50));
    /// Their 95th percentile.
    RttP95 = Line::new("rtt_p95_s", Unit::Time).shown("RTT", "p95", PAGE).percentile()
        .of_flow(|of| of_samples(&of.flow.round_trips, |of| of.p95))
        .of_group(|of| of_samples(&of.round_trips, |of| of.p95))
        .of_network(|of| of_samples(&of.round_trips, |of| of.p95));
    /// Their 99th percentile.
    RttP99 = Line::new("rtt_p99_s", Unit::Time).shown("RTT", "p99", PAGE).percentile()
        .of_flow(|of| of_samples(&of.flow.round_trips, |of| of.p99))
        .of_group(|of| of_samples(&of.round_trips, |of| of.p99))
        .of_network(|of| of_samples(&of.round_trips, |of| of.p99));
    /// The shortest round-trip time that the sender measured, over the whole run.
    MinRtt = Line::new("min_rtt_s", Unit::Time).shown("RTT", "min", PAGE).of_flow(|of| measured(of.flow.min_rtt));
    /// The sender's last smoothed round-trip time.
    SmoothedRtt = Line::new("smoothed_rtt_s", Unit::Time).of_flow(|of| measured(of.flow.smoothed_rtt));

    /// The slow-start threshold at the end (ssthresh of RFC 5681), in segments; of several connections that of the last one that
    /// has any. None of controllers without one, and while it is unbounded: where `initial-threshold` is not set, until the
    /// first loss or another sign ends slow start.
    Ssthresh = Line::new("ssthresh_segments", Unit::Number).shown("ssthresh", "", PAGE).rare()
        .of_flow(|of| of.flow.ssthresh);

    /// Data packets sent, retransmissions included; of many transfers (`poisson`) this and the next two also count those that have
    /// not ended.
    Sent = Line::new("sent_packets", Unit::Packets).shown("Sent", "", PAGE).summed()
        .of_flow(|of| count(of.flow.sent_packets));
    /// Data packets sent again.
    Retransmissions = Line::new("retransmissions", Unit::Packets).shown("Resent", "", FLOWS.and(PAGE).and(MEANS)).summed()
        .of_flow(|of| count(of.flow.retransmissions));
    /// Expiries of the retransmission timer.
    Timeouts = Line::new("timeouts", Unit::Count).shown("Time-outs", "", PAGE).summed()
        .of_flow(|of| count(of.flow.timeouts));
    /// Its packets, in either direction, that queues dropped.
    Drops = Line::new("drops", Unit::Packets).summed().of_flow(|of| count(of.flow.counts.drops));
    /// Its data packets that queues dropped and that wires lost or damaged.
    Lost = Line::new("lost_packets", Unit::Packets).summed().of_flow(|of| count(of.flow.counts.lost_data));
    /// `lost_packets` over `sent_packets`.
    Loss = Line::new("loss", Unit::Share).shown("Lost", "", TRAFFIC.and(MEANS)).rare().mean_by(Metric::Sent).of_flow(loss);
    /// Its data packets that arrived with a mark of congestion (CE).
    Marked = Line::new("marked_packets", Unit::Packets).shown("Marked", "", TRAFFIC.and(MEANS)).rare().summed()
        .of_flow(|of| count(of.flow.counts.marked_data));
    /// Of datagrams: the mean difference between the one-way delays of packets that arrived one after the other (|D(i-1, i)| of
    /// RFC 3550, section 6.4.1, with the same weight for each); of many flows the mean, weighted by `delay_samples`.
    Jitter = Line::new("jitter_s", Unit::Time).shown("Jitter", "", TRAFFIC.and(MEANS)).mean_by(Metric::DelaySamples)
        .of_flow(|of| of.flow.jitter.map(Duration::as_secs_f64));

    /// Segments of two-level flow control (`sstp`) that were accepted at the receiver.
    Segments = Line::new("segments", Unit::Count)
        .shown("Segments", "", Tables::SINKS.and(Tables::PAGE_SINKS)).summed()
        .of_flow(|of| Some(of.flow.segment_delay.count).filter(|&segments| segments > 0).and_then(count));
    /// The mean time from the start of a segment's first transmission to its acceptance.
    SegmentDelayMean = Line::new("segment_delay_mean_s", Unit::Time).shown("Time", "mean", SINKS).mean_by(Metric::Segments)
        .of_flow(|of| measured(of.flow.segment_delay.mean));
    /// The longest such time.
    SegmentDelayMax = Line::new("segment_delay_max_s", Unit::Time).shown("Time", "max", SINKS).most()
        .of_flow(|of| measured(of.flow.segment_delay.max));
    /// The most that was delivered and not yet read by the application, over the whole run; none where it reads at once.
    UnreadMax = Line::new("unread_max_bytes", Unit::Bytes).shown("Unread", "max", SINKS).most()
        .of_flow(|of| of.flow.unread_peak.map(|bytes| bytes.get() as f64));
    /// Segments of two-level flow control that were accepted with packets missing, no more than `loss-tolerance` allows.
    IncompleteSegments = Line::new("incomplete_segments", Unit::Segments).within("two_level")
        .shown("Incomplete", "", Tables::TWO_LEVEL.and(Tables::PAGE_SINKS)).summed()
        .of_flow(|of| two_level(of.flow, |of| of.incomplete));
    /// The packets missing from what was delivered, in the holes that the application is told of.
    HolePackets = Line::new("hole_packets", Unit::Packets).within("two_level").shown("Holes", "", TWO_LEVEL).summed()
        .of_flow(|of| two_level(of.flow, |of| of.holes));
    /// Data packets that the receiver discarded for want of room.
    RefusedPackets = Line::new("refused_packets", Unit::Packets).within("two_level").shown("Refused", "", TWO_LEVEL).summed()
        .of_flow(|of| two_level(of.flow, |of| of.refused));
    /// Segments that the receiver discarded to make room for lower ones (soft acknowledgement).
    EvictedSegments = Line::new("evicted_segments", Unit::Segments).within("two_level").shown("Evicted", "", TWO_LEVEL)
        .summed().of_flow(|of| two_level(of.flow, |of| of.evictions));
    /// The most segments of one connection that the sender kept for retransmission, over the whole run.
    SenderBufferSegments = Line::new("sender_buffer_max_segments", Unit::Segments).within("two_level")
        .shown("Source kept", "", Tables::TWO_LEVEL).most()
        .of_flow(|of| two_level(of.flow, |of| u64::from(of.sender_segments)));
    /// The most bytes of them.
    SenderBufferBytes = Line::new("sender_buffer_max_bytes", Unit::Bytes).within("two_level").most()
        .of_flow(|of| two_level(of.flow, |of| of.sender_bytes.get()));
    /// The most segments of one connection that took room at the receiver, over the whole run.
    ReceiverBufferSegments = Line::new("receiver_buffer_max_segments", Unit::Segments).within("two_level")
        .shown("Sink kept", "", Tables::TWO_LEVEL).most()
        .of_flow(|of| two_level(of.flow, |of| u64::from(of.receiver_segments)));
    /// The most bytes of them.
    ReceiverBufferBytes = Line::new("receiver_buffer_max_bytes", Unit::Bytes).within("two_level").most()
        .of_flow(|of| two_level(of.flow, |of| of.receiver_bytes.get()));

    /// Of live media (`scream`): the mean rate of the encoder.
    MediaRate = Line::new("media_rate_bps", Unit::Rate).within("media").shown("Encoded", "", MEDIA).summed()
        .of_flow(|of| media(of.flow)?.rate.map(Rate::as_f64));
    /// Frames that were encoded.
    FramesEncoded = Line::new("frames_encoded", Unit::Count).within("media").shown("Frames", "", Tables::MEDIA).summed()
        .of_flow(|of| count(media(of.flow)?.encoded.frames));
    /// Frames that were not encoded, as what was before them waited to be sent.
    FramesSkipped = Line::new("frames_skipped", Unit::Count).within("media").summed()
        .of_flow(|of| count(media(of.flow)?.encoded.skipped));
    /// Frames that were shown: whole, and decodable.
    FramesShown = Line::new("frames_shown", Unit::Count).within("media").summed()
        .of_flow(|of| count(media(of.flow)?.shown.frames));
    /// Frames of which something never arrived.
    FramesLost = Line::new("frames_lost", Unit::Count).within("media").shown("Frames", "lost", MEDIA).summed()
        .of_flow(|of| count(media(of.flow)?.shown.lost));
    /// Whole frames that could not be decoded, as one before them was lost and no key frame had come.
    FramesUndecodable = Line::new("frames_undecodable", Unit::Count).within("media").shown("Frames", "undecodable", MEDIA)
        .summed().of_flow(|of| count(media(of.flow)?.shown.undecodable));
    /// Whole frames that took longer than `late`.
    FramesLate = Line::new("frames_late", Unit::Count).within("media").shown("Frames", "late", MEDIA).summed()
        .of_flow(|of| count(media(of.flow)?.shown.late));
    /// Whole frames, of which delays were measured.
    FrameDelays = Line::new("frame_delay_samples", Unit::Count).within("media").summed()
        .of_flow(|of| count(media(of.flow)?.delay.count));
    /// The median time from the capture of a frame to its whole arrival; of many flows the mean of theirs.
    FrameDelayP50 = Line::new("frame_delay_p50_s", Unit::Time).within("media").shown("Frame delay", "p50", MEDIA).percentile()
        .mean_by(Metric::FrameDelays).of_flow(|of| of_samples(&media(of.flow)?.delay, |of| of.p50));
    /// The 95th percentile of these times; of many flows the mean of theirs.
    FrameDelayP95 = Line::new("frame_delay_p95_s", Unit::Time).within("media").shown("Frame delay", "p95", MEDIA).percentile()
        .mean_by(Metric::FrameDelays).of_flow(|of| of_samples(&media(of.flow)?.delay, |of| of.p95));
    /// Their 99th percentile; of many flows the mean of theirs.
    FrameDelayP99 = Line::new("frame_delay_p99_s", Unit::Time).within("media").shown("Frame delay", "p99", MEDIA).percentile()
        .mean_by(Metric::FrameDelays).of_flow(|of| of_samples(&media(of.flow)?.delay, |of| of.p99));
    /// Times that the picture froze: the time from one shown frame to the next was at least max(3 average, average + 150 ms), with
    /// the average over the last 30 (W3C webrtc-stats, freezeCount).
    Freezes = Line::new("freezes", Unit::Count).within("media").shown("Freezes", "", MEDIA).summed()
        .of_flow(|of| count(media(of.flow)?.shown.freezes));
    /// The time for which it was frozen (W3C webrtc-stats, totalFreezesDuration).
    Frozen = Line::new("frozen_s", Unit::Time).within("media").shown("Frozen", "", MEDIA).summed()
        .of_flow(|of| Some(media(of.flow)?.shown.frozen.as_secs_f64()));

    /// The share of time, of that for which it is known what held the sender back, in which the congestion window was full.
    HeldByWindow = Line::new("congestion_window", Unit::Share).within("limits").of_flow(|of| held(of.flow, Limit::CongestionWindow));
    /// The share in which the receiver's window was full.
    HeldByReceiver = Line::new("receiver_window", Unit::Share).within("limits").of_flow(|of| held(of.flow, Limit::ReceiverWindow));
    /// The share in which the pacing rate asked to wait.
    HeldByPacing = Line::new("pacing", Unit::Share).within("limits").of_flow(|of| held(of.flow, Limit::Pacing));
    /// The share in which the application had nothing to send.
    HeldByApplication = Line::new("application", Unit::Share).within("limits").of_flow(|of| held(of.flow, Limit::Application));
    /// The share in which losses were being repaired.
    HeldByNetwork = Line::new("network", Unit::Share).within("limits").of_flow(|of| held(of.flow, Limit::Network));
    /// The share in which a gate at the source node had stopped the flow.
    HeldByGate = Line::new("paused", Unit::Share).within("limits").of_flow(|of| held(of.flow, Limit::Paused));
    /// The share in which nothing was heard any more and the retransmission timer had to expire: from the last packet sent or
    /// heard of, until the next answer. Of window schemes and `adaptive-ack`, and of `sscop` while it opens or closes.
    HeldByTimer = Line::new("retransmission_timer", Unit::Share).within("limits")
        .of_flow(|of| held(of.flow, Limit::RetransmissionTimer));

    /// The rate at the start; on a link with a capacity trace the trace's mean rate.
    LinkRate = Line::new("rate_bps", Unit::Rate).shown("Rate", "", Tables::LINKS.and(Tables::PAGE_LINKS))
        .of_link(|of| count(of.rate.as_bits_per_sec()).filter(|&rate| rate > 0.0));
    /// The share of time in which the transmitter was busy.
    Utilisation = Line::new("utilisation", Unit::Share).shown("Used", "", LINKS).of_link(|of| Some(of.utilisation));
    /// The rate of the tokens of a policer: an arrival that finds none is dropped.
    PolicerRate = Line::new("policer_rate_bps", Unit::Rate).shown("Policer", "rate", LINKS).rare()
        .of_link(|of| of.policer.and_then(|(rate, _)| count(rate.as_bits_per_sec())));
    /// The bytes transmitted as a share of what a policer's rate lets in, beside its burst.
    PolicerUse = Line::new("policer_used", Unit::Share).shown("Policer", "used", LINKS).rare()
        .of_link(|of| of.policer.map(|(_, used)| used));
    /// Packets transmitted.
    LinkPackets = Line::new("packets", Unit::Packets).of_link(|of| count(of.packets));
    /// Bytes transmitted.
    LinkBytes = Line::new("bytes", Unit::Bytes).of_link(|of| Some(of.bytes.get() as f64));
    /// The mean queue over time, without the packet in service.
    QueueMean = Line::new("queue_mean_packets", Unit::Packets).shown("Queue", "mean", LINKS).fractional()
        .of_link(|of| Some(of.queue.mean_packets));
    /// The same in bytes.
    QueueMeanBytes = Line::new("queue_mean_bytes", Unit::Bytes).fractional().of_link(|of| Some(of.queue.mean_bytes));
    /// The length that was not exceeded in 99 % of the time.
    QueueP99 = Line::new("queue_p99_packets", Unit::Packets).shown("Queue", "p99", LINKS).of_link(|of| count(of.queue.p99_packets));
    /// The largest length.
    QueueMax = Line::new("queue_max_packets", Unit::Packets).shown("Queue", "max", LINKS).of_link(|of| count(of.queue.max_packets));
    /// Packets that the queue dropped: `drops_full` + `drops_early`.
    LinkDrops = Line::new("drops", Unit::Packets).shown("Drops", "", LINKS).of_link(|of| count(of.drops_full + of.drops_early));
    /// Packets dropped for want of room.
    DropsFull = Line::new("drops_full", Unit::Packets).of_link(|of| count(of.drops_full));
    /// Packets dropped by the discipline, before the queue was full.
    DropsEarly = Line::new("drops_early", Unit::Packets).of_link(|of| count(of.drops_early));
    /// Acknowledgements that `ack-filter` took out of the queue.
    Filtered = Line::new("filtered", Unit::Packets).shown("Filtered", "", LINKS).rare().of_link(|of| count(of.filtered));
    /// Packets marked.
    Marks = Line::new("marks", Unit::Packets).shown("Marks", "", LINKS).rare().of_link(|of| count(of.marks));
    /// Messages to sources that the router sent because of the queue.
    Feedback = Line::new("feedback", Unit::Packets).shown("Messages", "", LINKS).rare().of_link(|of| count(of.feedback));
    /// Their bytes.
    FeedbackBytes = Line::new("feedback_bytes", Unit::Bytes).of_link(|of| Some(of.feedback_bytes.get() as f64));
    /// Packets lost by the wire.
    LinkLosses = Line::new("losses", Unit::Packets).shown("Lost", "", LINKS).rare().of_link(|of| count(of.losses));
    /// Packets damaged by the wire.
    LinkCorrupted = Line::new("corrupted", Unit::Packets).of_link(|of| count(of.corrupted));
    /// Packets duplicated by the wire.
    LinkDuplicated = Line::new("duplicated", Unit::Packets).of_link(|of| count(of.duplicated));
}

/// The position of each metric among those of each kind of subject.
pub(super) static COLUMNS: [[u8; SUBJECTS]; Metric::ALL.len()] = columns(&LINES);

/// The metrics of each kind of subject, in the order of the table.
pub(super) static MEMBERS: [Members<{ Metric::ALL.len() }>; SUBJECTS] = members(&LINES);

fn count(count: u64) -> Option<f64> {
    Some(count as f64)
}

fn at(time: Time) -> Option<f64> {
    Some(time.as_secs_f64())
}

/// The simulator writes zero for a time of which it has no sample.
fn measured(span: Duration) -> Option<f64> {
    (!span.is_zero()).then(|| span.as_secs_f64())
}

/// A time of a distribution; nothing where nothing was counted.
fn of_samples(summary: &Summary, time: fn(&Summary) -> Duration) -> Option<f64> {
    (summary.count > 0).then(|| time(summary).as_secs_f64())
}

/// A value of a group's rounds; nothing where there is none.
fn rounds(group: &GroupResult, value: fn(&Summary) -> f64) -> Option<f64> {
    (group.rounds.count > 0).then(|| value(&group.rounds))
}

/// A ratio of a distribution; nothing where nothing was counted.
fn of_ratios(ratios: &Ratios, ratio: fn(&Ratios) -> f64) -> Option<f64> {
    (ratios.count > 0).then(|| ratio(ratios))
}

fn loss(of: &FlowView<'_>) -> Option<f64> {
    let sent = of.flow.sent_packets;
    (sent > 0).then(|| of.flow.counts.lost_data as f64 / sent as f64)
}

fn share(of: &FlowView<'_>) -> Option<f64> {
    let all = of.goodput_of_all.as_f64();
    (all > 0.0).then(|| of.flow.goodput.as_f64() / all)
}

fn two_level(flow: &FlowResult, value: fn(&TwoLevelCounts) -> u64) -> Option<f64> {
    flow.two_level.as_deref().and_then(|counts| count(value(counts)))
}

fn media(flow: &FlowResult) -> Option<&MediaResult> {
    flow.media.as_deref()
}

/// The share of the time in which `limit` held the sender back, of that for which it is known what did.
fn held(flow: &FlowResult, limit: Limit) -> Option<f64> {
    let total: f64 = flow.limits.iter().map(|time| time.as_secs_f64()).sum();
    (total > 0.0).then(|| flow.limits[limit.index()].as_secs_f64() / total)
}
