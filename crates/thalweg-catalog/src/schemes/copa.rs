//! Catalogue description of the scheme Copa (Arun and Balakrishnan 2018).

use super::{INITIAL_WINDOW, window};
use crate::option_keys::key;
use crate::scheme_description::SchemeDescription;
use crate::{Key, Kind, Range, bind};
use thalweg_proto::congestion::CopaConfig;

/// Copa (Arun and Balakrishnan 2018).
pub const SCHEME: SchemeDescription = window::window_scheme::<CopaConfig>(
    "Copa: sends at a rate that follows from its queueing delay, and competes with flows that fill the queue (Arun and Balakrishnan 2018).",
    window::window_keys(KEYS, SCHEME_DEFAULTS),
);

/// Defaults of a controller that paces and reacts little to single losses.
const SCHEME_DEFAULTS: &[(&str, &str)] = &[
    ("recovery", "sack"),
    ("rack", "true"),
    ("prr", "false"),
    ("ecn", "false"),
    ("nagle", "false"),
    ("segment", "1448 B"),
    ("header", "52 B"),
];

const KEYS: &[Key] = &[
    INITIAL_WINDOW,
    key(
        "delta",
        Kind::Number,
        "0.5",
        "Weight of delay against throughput: about 1 / delta packets of each flow are queued.",
    )
    .within(Range::between(0.001, 100.0), "the paper's is 0.5; less is more throughput, and more delay")
    .peer(Range::between(0.005, 100.0)),
    key(
        "compete",
        Kind::Switch,
        "true",
        "Competitive mode: if the queue was not nearly empty for five round trips, another flow is assumed to fill it, and `delta` depends on \
         losses.",
    ),
    key("min-rtt-window", Kind::Time, "10 s", "Lifetime of the minimum round-trip time.")
        .within(Range::POSITIVE, "the paper's is 10 s")
        .peer(Range::between(1.0, 3600.0)),
];

bind!(CopaConfig {
    initial_window: "initial-window",
    delta: "delta",
    competitive_mode: "compete",
    min_rtt_lifetime: "min-rtt-window",
});
