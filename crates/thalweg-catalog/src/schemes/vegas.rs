//! Catalogue description of the scheme Vegas (Brakmo and Peterson 1995).

use super::window;
use super::{INITIAL_THRESHOLD, initial_window, window_presets};
use crate::option_keys::key;
use crate::scheme_description::SchemeDescription;
use crate::{ConfigError, Key, KeyBoundConfig, Kind, Range, Values, bind, words};
use thalweg_proto::congestion::{VegasConfig, VegasSlowStart};

/// Vegas (Brakmo and Peterson 1995).
pub const SCHEME: SchemeDescription = window::window_scheme::<VegasConfig>(
    "Vegas (Brakmo and Peterson 1995).",
    window::window_keys(KEYS, SCHEME_DEFAULTS).with_presets(window_presets::VEGAS),
)
.with_loss_based()
.with_scheme_check(check);

/// The window reacts to a queue of two to four packets; bursts of more than two would look the same.
const SCHEME_DEFAULTS: &[(&str, &str)] = &[
    ("recovery", "sack"),
    ("delayed-ack.adaptive", "false"),
    ("nagle", "false"),
    ("segment", "1448 B"),
    ("header", "52 B"),
];

const KEYS: &[Key] = &[
    initial_window("2 pkt").live_default("10 pkt", "as in kernels (RFC 6928)"),
    INITIAL_THRESHOLD,
    key(
        "alpha",
        Kind::Packets,
        "1 pkt",
        "The window grows while fewer of the flow's packets than this are queued in the network.",
    )
    .peer(PEER_QUEUED),
    key(
        "beta",
        Kind::Packets,
        "3 pkt",
        "The window shrinks while more of the flow's packets than this are queued in the network.",
    )
    .peer(PEER_QUEUED),
    key("gamma", Kind::Packets, "1 pkt", "Slow start ends when more of the flow's packets than this are queued.")
        .peer(PEER_QUEUED),
    key(
        "slow-start",
        SLOW_STARTS,
        "every-other-round",
        "Rounds in which slow start doubles the window. \"every-other-round\": the rounds between check the mean round-trip time (1995, \
         section 3.3). \"each-round\": each round checks the minimum (Linux).",
    )
    .live_default("each-round", "as in kernels; a transfer that ends in slow start takes half as many round trips"),
    key(
        "fine-timer",
        Kind::Switch,
        "false",
        "Fine-grained timeout: also checks for losses at duplicate acknowledgements and after retransmissions.",
    ),
];

words!(SLOW_STARTS: VegasSlowStart {
    "every-other-round" => VegasSlowStart::EveryOtherRound,
    "each-round" => VegasSlowStart::EachRound,
});

const PEER_QUEUED: Range = Range::between(0.0, 1_048_576.0);

bind!(VegasConfig {
    initial_window: "initial-window",
    initial_ssthresh: "initial-ssthresh",
    alpha: "alpha",
    beta: "beta",
    gamma: "gamma",
    slow_start: "slow-start",
});

fn check(values: &Values) -> Vec<ConfigError> {
    let config = VegasConfig::from_values(values);
    if config.alpha > config.beta {
        vec![ConfigError::new("alpha", "alpha is larger than beta")]
    } else {
        Vec::new()
    }
}
