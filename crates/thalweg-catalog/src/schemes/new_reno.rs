//! NewReno (RFC 5681, RFC 6582).

use super::window::{self, SACK, SLOW_START_EXIT};
use super::{INITIAL_THRESHOLD, INITIAL_WINDOW, presets};
use crate::scheme::SchemeDescription;
use crate::{Key, bind};
use thalweg_proto::congestion::NewRenoConfig;

/// NewReno (RFC 5681, RFC 6582).
pub const SCHEME: SchemeDescription = window::scheme::<NewRenoConfig>(
    "NewReno (RFC 5681, RFC 6582).",
    window::keys(KEYS, SACK).with_presets(presets::RENO),
);

const KEYS: &[Key] = &[INITIAL_WINDOW, INITIAL_THRESHOLD, SLOW_START_EXIT];

bind!(NewRenoConfig {
    initial_window: "initial-window",
    initial_threshold: "initial-threshold",
    slow_start_exit: "slow-start-exit",
});
