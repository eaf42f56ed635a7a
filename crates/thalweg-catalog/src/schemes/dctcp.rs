//! DCTCP (RFC 8257).

use super::window::{self, SACK};
use super::{NO_WINDOW, PEER_INITIAL_WINDOW, WINDOW_RANGE};
use crate::describe::key;
use crate::scheme::SchemeDescription;
use crate::{Key, Kind, Range, bind};
use thalweg_proto::congestion::DctcpConfig;

/// DCTCP (RFC 8257).
pub const SCHEME: SchemeDescription = window::scheme::<DctcpConfig>(
    "DCTCP (RFC 8257), for paths whose queues mark from a threshold on.",
    window::keys(KEYS, SACK),
);

const KEYS: &[Key] = &[
    key("initial-window", Kind::Packets, "10 pkt", "The window at the start (RFC 6928).")
        .within(WINDOW_RANGE, NO_WINDOW)
        .peer(PEER_INITIAL_WINDOW),
    key("initial-threshold", Kind::Packets, "unlimited", "The first slow-start threshold.")
        .within(WINDOW_RANGE, NO_WINDOW),
    key(
        "gain",
        Kind::Number,
        "0.0625",
        "The weight of a window's share of marks in the estimate alpha, up to 1.",
    )
    .within(Range::between(0.000_001, 1.0), "the RFC recommends 1/16"),
];

bind!(DctcpConfig { initial_window: "initial-window", initial_threshold: "initial-threshold", gain: "gain" });
