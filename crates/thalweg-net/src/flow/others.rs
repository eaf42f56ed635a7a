//! Engines that are no window transports, from the options of their schemes.

use super::{PathHints, Scheme};
use std::sync::Arc;
use thalweg_proto::sscop::rate::{Base, Probing, RateConfig, Unit};
use thalweg_proto::sscop::{Config, Credit, EndpointConfig, TimerConfig};
use thalweg_proto::sstp::wire::DATA_OVERHEAD;
use thalweg_proto::sstp::{
    Acknowledgement, Evicted, RateSpec, ReceiverConfig, Resume, SenderConfig, Tolerance,
};
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_proto::{aack, datagram};

/// Bytes that a scheme adds to a segment; `None` for window transports, whose segments follow the path.
pub(super) fn overhead(scheme: &str) -> Option<u32> {
    match scheme {
        "udp" => Some(0),
        "adaptive-ack" => Some(aack::wire::DATA_HEADER as u32),
        // A word at the end, and padding before it.
        "sscop" | "sscop-rate" | "sscop-rate-literal" => Some(SSCOP_TRAILER + 3),
        "sstp" => Some(DATA_OVERHEAD as u32),
        _ => None,
    }
}

pub(super) fn source(scheme: &Scheme, path: &PathHints) -> datagram::Source<thalweg_proto::payload::Slice> {
    datagram::Source::new(datagram::SourceConfig {
        segment: own_segment(scheme, path),
        header: LOWER_LAYERS,
        rate: scheme.rate("rate"),
    })
}

pub(super) fn adaptive_ack(scheme: &Scheme, path: &PathHints) -> aack::Config {
    let usual = aack::Config::default();
    aack::Config {
        segment: own_segment(scheme, path),
        window: scheme.packets("window").unwrap_or(f64::from(usual.window)).min(scheme.room(path)) as u32,
        normal: scheme.time("t-normal").unwrap_or(usual.normal),
        error: scheme.time("t-error").unwrap_or(usual.error),
    }
}

pub(super) fn sscop(scheme: &Scheme, path: &PathHints) -> EndpointConfig {
    let usual = Config::default();
    let segment = own_segment(scheme, path);
    let count = |name| scheme.count(name).unwrap_or(1);
    let time = |name, usual| scheme.time(name).unwrap_or(usual);
    let window = scheme.packets("window").unwrap_or(f64::from(usual.window)).min(scheme.room(path)) as u32;
    // A STAT fits into a datagram: three words beside its list.
    let elements = (path.segment(0) / 4).saturating_sub(3);
    let config = Config {
        k: scheme.segment(path).max(segment),
        max_cc: count("max-cc"),
        max_pd: count("max-pd"),
        max_stat: count("max-stat").min(elements),
        window,
        // The application's reading is what makes room.
        credit: Credit::User,
        buffer: scheme.packets("buffer").map_or(window, |buffer| buffer as u32),
        timers: TimerConfig {
            cc: time("timer-cc", usual.timers.cc),
            poll: time("timer-poll", usual.timers.poll),
            keep_alive: time("timer-keep-alive", usual.timers.keep_alive),
            no_response: time("timer-no-response", usual.timers.no_response),
            idle: time("timer-idle", usual.timers.idle),
        },
        poll_after_retransmission: scheme.switch("poll-after-retransmission").unwrap_or(false),
        ignore_old_data: scheme.switch("ignore-old-data").unwrap_or(false),
        rate: (scheme.name() != "sscop").then(|| sscop_rate(scheme, segment)),
        ..usual
    };
    EndpointConfig { sscop: Arc::new(config), segment }
}

fn sscop_rate(scheme: &Scheme, segment: u32) -> RateConfig {
    let is_literal = scheme.name() == "sscop-rate-literal";
    let rules = if is_literal { RateConfig::literal() } else { RateConfig::amended() };
    RateConfig {
        start: scheme.rate("start-rate").unwrap_or(rules.start),
        most: scheme.rate("max-rate").unwrap_or(Rate::MAX),
        pdu: segment.next_multiple_of(4) + SSCOP_TRAILER,
        unit: if scheme.word("unit") == "cells" { Unit::Cells } else { Unit::Bytes },
        probing: if scheme.word("probing") == "packet-pair" { Probing::PacketPair } else { Probing::Spacing },
        alpha: scheme.packets("alpha").unwrap_or(rules.alpha),
        base: match scheme.word("base-rate") {
            "delivered" => Base::Delivered,
            "probed" => Base::Probed,
            _ => rules.base,
        },
        gain: scheme.number("gain").unwrap_or(rules.gain),
        growth: scheme.number("growth").or(rules.growth),
        poll_behind_data: scheme.switch("poll-behind-data").unwrap_or(rules.poll_behind_data),
        keep_records: scheme.switch("keep-records").unwrap_or(rules.keep_records),
        poll_floor: scheme.time("poll-floor").unwrap_or(rules.poll_floor),
        poll_ceiling: scheme.time("poll-ceiling").unwrap_or(rules.poll_ceiling),
        drain: scheme.time("drain"),
        jitter: scheme.time("jitter").unwrap_or(if is_literal { Duration::ZERO } else { JITTER }),
    }
}

/// What a full packet of SSTP takes of the agreed rate.
pub(super) fn sstp_packet(scheme: &Scheme, path: &PathHints) -> Bytes {
    Bytes::new(u64::from(scheme.segment(path)) + DATA_OVERHEAD as u64 + u64::from(LOWER_LAYERS))
}

pub(super) fn sstp_sender(scheme: &Scheme, path: &PathHints) -> SenderConfig {
    let scheme = scheme.clone().on_path(path);
    let segment = segment_packets(&scheme);
    let peak = scheme.rate("rate").unwrap_or(Rate::from_mbits_per_sec(1));
    let average = scheme.rate("average-rate").unwrap_or(peak);
    let burst = scheme.packets("burst").map_or(u32::from(segment), |burst| burst as u32);
    let packet = sstp_packet(&scheme, path);
    SenderConfig {
        segment,
        packet: own_segment(&scheme, path),
        // The scheme's options were checked against each other, so that the first is right.
        rate: RateSpec::with_average(peak, average, burst, packet)
            .or_else(|_| RateSpec::with_average(peak, peak, 1, packet))
            .unwrap_or_else(|error| unreachable!("{error}"))
            .with_slack(LATENESS),
        resume: if scheme.word("resume") == "next-burst" { Resume::NextBurst } else { Resume::AtOnce },
        window: window(&scheme, "window"),
        soft: acknowledgement(&scheme).is_soft(),
    }
}

pub(super) fn sstp_receiver(scheme: &Scheme, path: &PathHints) -> ReceiverConfig {
    let scheme = scheme.clone().on_path(path);
    let segment = segment_packets(&scheme);
    let most = (scheme.room(path) / f64::from(segment)).clamp(1.0, f64::from(u16::MAX)) as u16;
    ReceiverConfig {
        segment,
        packet: scheme.segment(path),
        window: window(&scheme, "window").min(most),
        buffer: window(&scheme, "buffer").min(most),
        acknowledgement: acknowledgement(&scheme),
        tolerance: Tolerance::Fraction(scheme.number("loss-tolerance").unwrap_or(0.0)),
        reordering: scheme.count("reordering").unwrap_or(0) as u16,
        repeat: scheme.time("repeat").unwrap_or(Duration::from_millis(100)),
        wait_for_consumption: true,
    }
}

fn segment_packets(scheme: &Scheme) -> u16 {
    scheme.packets("segment-packets").unwrap_or(1.0) as u16
}

/// A number of segments, which the table of options keeps within 16 bits.
fn window(scheme: &Scheme, name: &str) -> u16 {
    scheme.count(name).unwrap_or(2) as u16
}

fn acknowledgement(scheme: &Scheme) -> Acknowledgement {
    match (scheme.word("acknowledgement"), scheme.word("evicted")) {
        ("hard", _) => Acknowledgement::Hard,
        ("soft", "one") => Acknowledgement::Soft(Evicted::One),
        ("soft", "at-once") => Acknowledgement::Soft(Evicted::AtOnce),
        ("soft", _) => Acknowledgement::Soft(Evicted::All),
        _ => Acknowledgement::Firm,
    }
}

/// What this end sends: no more than both agreed on, nor than its own path takes.
fn own_segment(scheme: &Scheme, path: &PathHints) -> u32 {
    scheme.segment(path).min(path.segment(overhead(scheme.name()).unwrap_or(0)))
}

/// How late a host may wake a sender without slowing it down.
const LATENESS: Duration = Duration::from_millis(1);
/// The control word of an SD.
const SSCOP_TRAILER: u32 = 4;
/// What IP, UDP and the seal of a datagram take, about, in bytes: agreed rates count it.
const LOWER_LAYERS: u32 = 60;
/// How late busy hosts answer.
const JITTER: Duration = Duration::from_millis(2);
