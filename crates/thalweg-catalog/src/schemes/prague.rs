//! Catalogue description of the scheme Prague (draft-briscoe-iccrg-prague-congestion-control).

use super::window;
use super::{INITIAL_THRESHOLD, INITIAL_WINDOW, window_presets};
use crate::option_keys::key;
use crate::scheme_description::SchemeDescription;
use crate::{Key, Kind, Range, bind};
use thalweg_proto::congestion::PragueConfig;

/// Prague (draft-briscoe-iccrg-prague-congestion-control).
pub const SCHEME: SchemeDescription = window::window_scheme::<PragueConfig>(
    "Prague, TCP for L4S: data is ECT(1), and the window decreases with the share of marks \
     (draft-briscoe-iccrg-prague-congestion-control).",
    window::window_keys(KEYS, SCHEME_DEFAULTS).with_presets(window_presets::PRAGUE),
)
.with_loss_based();

/// Defaults that the draft assumes: losses found by time (section 2.3.3).
const SCHEME_DEFAULTS: &[(&str, &str)] =
    &[("recovery", "sack"), ("rack", "true"), ("nagle", "false"), ("segment", "1448 B"), ("header", "52 B")];

const KEYS: &[Key] = &[
    INITIAL_WINDOW,
    INITIAL_THRESHOLD,
    key("gain", Kind::Number, "0.0625", "Weight of a round's share of marks in the estimate alpha, up to 1.")
        .within(Range::between(0.000_001, 1.0), "the draft's is 1/16"),
    key(
        "virtual-rtt",
        Kind::Time,
        "25 ms",
        "Minimum round-trip time by which flows share capacity: those with a shorter one behave as if they had this one. 0 disables it.",
    )
    .peer(Range::between(0.0, 1.0)),
    key(
        "transition",
        Kind::Count,
        "500",
        "Number of rounds after slow start before `virtual-rtt` applies; until then flows converge by their real round-trip time.",
    )
    .within(Range::between(0.0, 1e9), "the draft's is 500"),
    key("burst-delay", Kind::Time, "250 us", "Maximum burst, in time at the pacing rate.")
        .peer(Range::between(0.0, 0.01)),
];

bind!(PragueConfig {
    initial_window: "initial-window",
    initial_ssthresh: "initial-ssthresh",
    gain: "gain",
    virtual_rtt: "virtual-rtt",
    transition: "transition",
    burst_delay: "burst-delay",
});
