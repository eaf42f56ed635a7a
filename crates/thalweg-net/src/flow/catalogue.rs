//! Every scheme with its keys. Names, meanings and usual values are those of scenario files, except where a real path
//! wants others.

use super::options::{Key, Takes};

/// A scheme that there is.
#[derive(Debug)]
pub(super) struct Entry {
    pub name: &'static str,
    /// Its keys: its own, then those that it shares with others.
    pub keys: &'static [&'static [Key]],
}

impl Entry {
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> {
        self.keys.iter().flat_map(|keys| keys.iter())
    }
}

const fn key(name: &'static str, takes: Takes, usual: &'static str) -> Key {
    Key { name, takes, usual }
}

/// No window and no buffer is larger than this, in packets.
const MOST: f64 = (1 << 20) as f64;
const WINDOW: Takes = Takes::Packets(1.0, MOST);
const THRESHOLD: Takes = Takes::Packets(1.0, f64::INFINITY);
const QUEUED: Takes = Takes::Packets(0.0, MOST);
const SHARE: Takes = Takes::Number(0.0, 1.0);

/// All window schemes.
const WINDOWS: &[Key] = &[
    key("max-window", WINDOW, "1048576pkt"),
    key("counting", Takes::Word(&["packets", "bytes"]), "packets"),
    key("recovery", Takes::Word(&["sack", "newreno", "go-back-n", "fast-retransmit"]), ""),
    key("byte-counting", THRESHOLD, "unlimited"),
    key("duplicate-threshold", Takes::Count(1, 1000), "3"),
    key("rack", Takes::Switch, ""),
    key("undo", Takes::Switch, "true"),
    key("tail-probe", Takes::Switch, "true"),
    key("rto.initial", Takes::Time, "1s"),
    key("rto.floor", Takes::Time, "200ms"),
    key("rto.ceiling", Takes::Time, "60s"),
    key("rto.margin", Takes::Time, "200ms"),
    key("rto.deviations", Takes::Count(0, 100), "4"),
    key("idle-restart", Takes::Switch, "true"),
    key("nagle", Takes::Switch, ""),
    key("receive-window", Takes::Size(1 << 12, 1 << 32), ""),
    key("delayed-ack", Takes::Switch, "true"),
    key("delayed-ack.delay", Takes::Time, "25ms"),
    key("delayed-ack.every", Takes::Count(1, 1 << 16), "2"),
    key("keep-out-of-order", Takes::Switch, "true"),
];

/// The window schemes whose controllers take a mark for a loss (RFC 3168). A real path may mark where it would drop, so that
/// it is on unless somebody says otherwise.
const ECN: &[Key] = &[key("ecn", Takes::Switch, "true")];

const FIXED: &[Key] = &[key("window", WINDOW, "32pkt")];
const SLOW_START: &[Key] = &[
    key("initial-window", WINDOW, "1pkt"),
    key("initial-threshold", THRESHOLD, "unlimited"),
    key("growth", Takes::Word(&["fractional", "counted"]), "fractional"),
];
const NEW_RENO: &[Key] =
    &[key("initial-window", WINDOW, "10pkt"), key("initial-threshold", THRESHOLD, "unlimited")];
const VEGAS: &[Key] = &[
    key("initial-window", WINDOW, "2pkt"),
    key("initial-threshold", THRESHOLD, "unlimited"),
    key("alpha", QUEUED, "1pkt"),
    key("beta", QUEUED, "3pkt"),
    key("gamma", QUEUED, "1pkt"),
    key("fine-timer", Takes::Switch, "false"),
];
const CUBIC: &[Key] = &[
    key("initial-window", WINDOW, "10pkt"),
    key("initial-threshold", THRESHOLD, "unlimited"),
    key("c", Takes::Number(1e-6, 1e6), "0.4"),
    key("beta", Takes::Number(0.01, 0.99), "0.7"),
    key("fast-convergence", Takes::Switch, "true"),
];
const SEIF: &[Key] = &[
    key("initial-window", WINDOW, "1pkt"),
    key("initial-threshold", THRESHOLD, ""),
    key("cut-back", SHARE, "0.5"),
    key("growth-windows", Takes::Count(1, 1000), "1"),
    key("follow", Takes::Word(&["all", "loudest"]), "all"),
];
const DEC_BIT: &[Key] = &[
    key("initial-window", WINDOW, "1pkt"),
    key("increase", QUEUED, "1pkt"),
    key("decrease", SHARE, "0.875"),
    key("share", SHARE, "0.5"),
];
const TRI_S: &[Key] = &[key("ntg-d", SHARE, "0.5"), key("ntg-i", SHARE, "0.5")];
const SOURCE_QUENCH: &[Key] =
    &[key("window", WINDOW, "32pkt"), key("resume-after", Takes::Count(0, 1 << 20), "10")];
const BBN: &[Key] = &[key("window", WINDOW, "1024pkt"), key("lifetime", Takes::Time, "10s")];

/// The payload of a packet, at most. The first that is known of a path decides where nothing is said.
const SEGMENT: &[Key] = &[key("segment", Takes::Size(1, 1 << 16), "")];

const DATAGRAM: &[Key] = &[key("rate", Takes::Rate, "")];
const ADAPTIVE_ACK: &[Key] =
    &[key("window", WINDOW, ""), key("t-normal", Takes::Time, "40ms"), key("t-error", Takes::Time, "5ms")];
/// A real path may be gone for seconds: a connection waits longer than Q.2110's usual values, and leaves the verdict to the
/// layer that knows whether the peer is there.
const SSCOP: &[Key] = &[
    key("window", Takes::Packets(1.0, 8_388_607.0), ""),
    key("buffer", Takes::Packets(1.0, 8_388_607.0), ""),
    key("max-cc", Takes::Count(1, 1 << 20), "600"),
    key("max-pd", Takes::Count(1, 1 << 20), "25"),
    key("max-stat", Takes::Count(3, 16_379), "67"),
    key("timer-cc", Takes::Time, "1s"),
    key("timer-poll", Takes::Time, ""),
    key("timer-keep-alive", Takes::Time, "2s"),
    key("timer-no-response", Takes::Time, "10min"),
    key("timer-idle", Takes::Time, "15s"),
    key("poll-after-retransmission", Takes::Switch, "true"),
    key("ignore-old-data", Takes::Switch, "true"),
];
const SSCOP_RATE: &[Key] = &[
    key("start-rate", Takes::Rate, "4Mbit/s"),
    key("max-rate", Takes::Rate, ""),
    key("alpha", QUEUED, "3pkt"),
    key("unit", Takes::Word(&["bytes", "cells"]), "bytes"),
    key("probing", Takes::Word(&["spacing", "packet-pair"]), "spacing"),
    key("base-rate", Takes::Word(&["delivered", "probed"]), ""),
    key("gain", Takes::Number(1e-3, 1.0), ""),
    key("growth", Takes::Number(1.0, 1e3), ""),
    key("poll-behind-data", Takes::Switch, ""),
    key("keep-records", Takes::Switch, ""),
    key("poll-floor", Takes::Time, "10ms"),
    key("poll-ceiling", Takes::Time, "2s"),
    key("drain", Takes::Time, ""),
    key("jitter", Takes::Time, ""),
];
/// The layer below keeps order. Requests have a bit for each packet of a segment, and must fit into a datagram.
const SSTP: &[Key] = &[
    key("segment-packets", Takes::Packets(1.0, 4096.0), "16pkt"),
    key("rate", Takes::Rate, ""),
    key("average-rate", Takes::Rate, ""),
    key("burst", Takes::Packets(1.0, 65_535.0), ""),
    key("resume", Takes::Word(&["at-once", "next-burst"]), "at-once"),
    // In segments.
    key("window", Takes::Count(1, 32_767), ""),
    key("buffer", Takes::Count(1, 32_767), ""),
    key("acknowledgement", Takes::Word(&["firm", "hard", "soft"]), "firm"),
    key("evicted", Takes::Word(&["all", "one", "at-once"]), "all"),
    key("loss-tolerance", SHARE, "0"),
    key("reordering", Takes::Count(0, 65_535), "0"),
    key("repeat", Takes::Time, ""),
];

/// Every scheme, in the order of the reference.
pub(super) const SCHEMES: &[Entry] = &[
    Entry { name: "fixed", keys: &[FIXED, WINDOWS] },
    Entry { name: "slow-start", keys: &[SLOW_START, ECN, WINDOWS] },
    Entry { name: "newreno", keys: &[NEW_RENO, ECN, WINDOWS] },
    Entry { name: "vegas", keys: &[VEGAS, ECN, WINDOWS] },
    Entry { name: "cubic", keys: &[CUBIC, ECN, WINDOWS] },
    Entry { name: "seif", keys: &[SEIF, WINDOWS] },
    Entry { name: "dec-bit", keys: &[DEC_BIT, WINDOWS] },
    Entry { name: "tri-s", keys: &[TRI_S, WINDOWS] },
    Entry { name: "source-quench", keys: &[SOURCE_QUENCH, WINDOWS] },
    Entry { name: "bbn", keys: &[BBN, WINDOWS] },
    Entry { name: "vanilla", keys: &[FIXED, WINDOWS] },
    Entry { name: "udp", keys: &[DATAGRAM, SEGMENT] },
    Entry { name: "adaptive-ack", keys: &[ADAPTIVE_ACK, SEGMENT] },
    Entry { name: "sscop", keys: &[SSCOP, SEGMENT] },
    Entry { name: "sscop-rate", keys: &[SSCOP_RATE, SSCOP, SEGMENT] },
    Entry { name: "sscop-rate-literal", keys: &[SSCOP_RATE, SSCOP, SEGMENT] },
    Entry { name: "sstp", keys: &[SSTP, SEGMENT] },
];
