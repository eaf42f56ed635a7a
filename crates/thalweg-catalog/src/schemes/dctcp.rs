//! Catalogue description of the scheme DCTCP (RFC 8257).

use super::window::{self, SACK};
use super::{INITIAL_THRESHOLD, INITIAL_WINDOW, window_presets};
use crate::option_keys::key;
use crate::scheme_description::SchemeDescription;
use crate::{Key, Kind, Range, bind};
use thalweg_proto::congestion::DctcpConfig;

/// DCTCP (RFC 8257).
pub const SCHEME: SchemeDescription = window::window_scheme::<DctcpConfig>(
    "DCTCP (RFC 8257), for queues that mark above a threshold.",
    window::window_keys(KEYS, SACK).with_presets(window_presets::DCTCP),
)
.with_loss_based();

const KEYS: &[Key] = &[
    INITIAL_WINDOW,
    INITIAL_THRESHOLD,
    key(
        "gain",
        Kind::Number,
        "0.0625",
        "Weight of a window's share of marks in the estimate alpha, up to 1.",
    )
    .within(Range::between(0.000_001, 1.0), "the RFC recommends 1/16"),
];

bind!(DctcpConfig { initial_window: "initial-window", initial_ssthresh: "initial-ssthresh", gain: "gain" });
