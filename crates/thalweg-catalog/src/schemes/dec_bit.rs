//! Catalogue description of the scheme: the DEC bit (Ramakrishnan and Jain 1988).

use super::initial_window;
use super::window::{self, GO_BACK_N};
use crate::option_keys::key;
use crate::scheme_description::SchemeDescription;
use crate::{Key, Kind, Range, bind};
use thalweg_proto::congestion::DecBitConfig;

/// The DEC bit (Ramakrishnan and Jain 1988).
pub const SCHEME: SchemeDescription = window::window_scheme::<DecBitConfig>(
    "The DEC bit (Ramakrishnan and Jain 1988).",
    window::window_keys(KEYS, GO_BACK_N),
);

const KEYS: &[Key] = &[
    initial_window("1 pkt"),
    key(
        "increase",
        Kind::Packets,
        "1 pkt",
        "Additive increase of the window when less than `share` of the bits are set.",
    )
    .peer(Range::between(0.0, 1_048_576.0)),
    key("decrease", Kind::Number, "0.875", "Multiplicative decrease of the window otherwise, from 0 to 1.")
        .within(Range::between(0.0, 1.0), "the paper leaves 0.875 of the window"),
    key("share", Kind::Probability, "0.5", "Share of set bits from which the window decreases."),
];

bind!(DecBitConfig {
    initial_window: "initial-window",
    max_window: "max-window",
    increase: "increase",
    decrease: "decrease",
    share: "share",
});
