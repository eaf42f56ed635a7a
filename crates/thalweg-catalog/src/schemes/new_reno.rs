//! NewReno (RFC 5681, RFC 6582).

use super::window::{self, SACK, SLOW_START_EXIT};
use super::{NO_WINDOW, PEER_INITIAL_WINDOW, WINDOW_RANGE, presets};
use crate::describe::key;
use crate::scheme::SchemeDescription;
use crate::{Key, Kind, bind};
use thalweg_proto::congestion::NewRenoConfig;

/// NewReno (RFC 5681, RFC 6582).
pub const SCHEME: SchemeDescription = window::scheme::<NewRenoConfig>(
    "NewReno (RFC 5681, RFC 6582).",
    window::keys(KEYS, SACK).with_presets(presets::RENO),
);

const KEYS: &[Key] = &[
    key("initial-window", Kind::Packets, "10 pkt", "The window at the start (RFC 6928).")
        .within(WINDOW_RANGE, NO_WINDOW)
        .peer(PEER_INITIAL_WINDOW),
    key("initial-threshold", Kind::Packets, "unlimited", "The first slow-start threshold.")
        .within(WINDOW_RANGE, NO_WINDOW),
    SLOW_START_EXIT,
];

bind!(NewRenoConfig {
    initial_window: "initial-window",
    initial_threshold: "initial-threshold",
    slow_start_exit: "slow-start-exit",
});
