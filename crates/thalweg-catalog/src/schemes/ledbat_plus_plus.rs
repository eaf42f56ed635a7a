//! Catalogue description of the scheme LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus).

use super::window;
use super::{INITIAL_THRESHOLD, initial_window};
use crate::option_keys::key;
use crate::scheme_description::SchemeDescription;
use crate::{Key, Kind, Range, bind};
use thalweg_proto::congestion::LedbatPlusPlusConfig;

/// LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus).
pub const SCHEME: SchemeDescription = window::window_scheme::<LedbatPlusPlusConfig>(
    "LEDBAT++: background transfers with a bounded queueing delay that yield to others (draft-irtf-iccrg-ledbat-plus-plus).",
    window::window_keys(KEYS, SCHEME_DEFAULTS),
)
.with_loss_based()
.with_less_than_best_effort();

/// Defaults of a sender that periodically has only two segments in flight, whose acknowledgements may be lost together.
const SCHEME_DEFAULTS: &[(&str, &str)] =
    &[("recovery", "sack"), ("rack", "true"), ("nagle", "false"), ("segment", "1448 B"), ("header", "52 B")];

const KEYS: &[Key] = &[
    initial_window("2 pkt"),
    INITIAL_THRESHOLD,
    key("target", Kind::Time, "60 ms", "Target queueing delay without competing traffic.")
        .within(Range::POSITIVE, "the draft's is 60 ms, and RFC 6817 allows no more than 100 ms")
        .peer(Range::between(1e-3, 0.1)),
    key(
        "constant",
        Kind::Number,
        "1",
        "Weight of the queueing delay beyond the target, in window decreases.",
    )
    .within(Range::between(0.0, 1000.0), "the draft's is 1")
    .peer(Range::between(0.1, 100.0)),
    key(
        "slowdowns",
        Kind::Switch,
        "true",
        "Periodic slowdowns to two packets for two round trips, for late-coming flows to measure the base delay.",
    ),
];

bind!(LedbatPlusPlusConfig {
    initial_window: "initial-window",
    initial_ssthresh: "initial-ssthresh",
    target: "target",
    constant: "constant",
    slowdowns: "slowdowns",
});
