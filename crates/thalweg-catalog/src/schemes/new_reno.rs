//! Catalogue description of the scheme NewReno (RFC 5681, RFC 6582).

use super::window::{self, ECN_BETA, SACK, SLOW_START_BETA, SLOW_START_EXIT};
use super::{INITIAL_THRESHOLD, INITIAL_WINDOW, window_presets};
use crate::scheme_description::SchemeDescription;
use crate::{Key, bind};
use thalweg_proto::congestion::NewRenoConfig;

/// NewReno (RFC 5681, RFC 6582).
pub const SCHEME: SchemeDescription = window::window_scheme::<NewRenoConfig>(
    "NewReno (RFC 5681, RFC 6582).",
    window::window_keys(KEYS, SACK).with_presets(window_presets::RENO),
)
.with_loss_based();

const KEYS: &[Key] = &[INITIAL_WINDOW, INITIAL_THRESHOLD, SLOW_START_EXIT, ECN_BETA, SLOW_START_BETA];

bind!(NewRenoConfig {
    initial_window: "initial-window",
    initial_ssthresh: "initial-ssthresh",
    slow_start_exit: "slow-start-exit",
    ecn_beta: "ecn-beta",
    slow_start_beta: "slow-start-beta",
});
