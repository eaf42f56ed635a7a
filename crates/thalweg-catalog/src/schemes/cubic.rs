//! Catalogue description of the scheme CUBIC (RFC 9438).

use super::window::{self, ECN_BETA, SACK, SLOW_START_BETA, SLOW_START_EXIT};
use super::{INITIAL_THRESHOLD, INITIAL_WINDOW, window_presets};
use crate::option_keys::key;
use crate::scheme_description::SchemeDescription;
use crate::{Key, Kind, Range, bind};
use thalweg_proto::congestion::CubicConfig;

/// CUBIC (RFC 9438).
pub const SCHEME: SchemeDescription = window::window_scheme::<CubicConfig>(
    "CUBIC (RFC 9438).",
    window::window_keys(KEYS, SACK).with_presets(window_presets::CUBIC),
)
.with_loss_based();

const KEYS: &[Key] = &[
    INITIAL_WINDOW,
    INITIAL_THRESHOLD,
    key("c", Kind::Number, "0.4", "Scale of the cubic function.")
        .within(Range::POSITIVE, "")
        .peer(Range::between(1e-6, 1e6)),
    key("beta", Kind::Number, "0.7", "Multiplicative decrease at a loss.")
        .within(Range::between(0.0, 1.0).above().below(), "RFC 9438 multiplies the window by 0.7 at a loss")
        .peer(Range::between(0.01, 0.99)),
    key("fast-convergence", Kind::Switch, "true", "Releases part of the window to new flows (section 4.7)."),
    SLOW_START_EXIT,
    ECN_BETA,
    SLOW_START_BETA,
];

bind!(CubicConfig {
    initial_window: "initial-window",
    initial_ssthresh: "initial-ssthresh",
    c: "c",
    beta: "beta",
    fast_convergence: "fast-convergence",
    slow_start_exit: "slow-start-exit",
    ecn_beta: "ecn-beta",
    slow_start_beta: "slow-start-beta",
});
