//! Catalogue description of the scheme Tri-S (Wang and Crowcroft 1991).

use super::window::{self, GO_BACK_N};
use crate::option_keys::key;
use crate::scheme_description::SchemeDescription;
use crate::{Key, Kind, Range, bind, words};
use thalweg_proto::congestion::{TriSConfig, TriSIncrease};

/// Tri-S (Wang and Crowcroft 1991).
pub const SCHEME: SchemeDescription = window::window_scheme::<TriSConfig>(
    "Tri-S: Slow Start and Search (Wang and Crowcroft 1991).",
    window::window_keys(KEYS, GO_BACK_N),
);

const KEYS: &[Key] = &[
    key(
        "ntg-d",
        Kind::Number,
        "0.5",
        "Normalised throughput gradient below which a search from a small window ends.",
    )
    .within(Range::at_least(0.0), GRADIENT)
    .peer(Range::between(0.0, 1.0)),
    key(
        "ntg-i",
        Kind::Number,
        "0.5",
        "Normalised throughput gradient below which the window does not grow further.",
    )
    .within(Range::at_least(0.0), GRADIENT)
    .peer(Range::between(0.0, 1.0)),
    key(
        "increase",
        INCREASE,
        "per-ack",
        "Window growth in the last mode. \"per-ack\": by 1 / W per acknowledgement; each time the window has grown by one, this growth is \
         undone if the gradient is below `ntg-i`. \"per-round\": by one per round trip, or a decrease by one if the gradient is below \
         `ntg-i`.",
    ),
];

words!(INCREASE: TriSIncrease { "per-ack" => TriSIncrease::PerAck, "per-round" => TriSIncrease::PerRound });

const GRADIENT: &str =
    "the gradient is 1 while a packet more brings what the first brought, 0 when it brings nothing";

bind!(TriSConfig {
    max_window: "max-window",
    decrease_below: "ntg-d",
    increase_above: "ntg-i",
    increase: "increase"
});
