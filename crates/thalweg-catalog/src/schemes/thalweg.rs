//! Thalweg: a short queue where possible, and no more harm to others than CUBIC does.

use super::{initial_window, window};
use crate::option_keys::key;
use crate::scheme_description::{Collapse, SchemeDescription};
use crate::{Key, Kind, Range, bind};
use thalweg_proto::congestion::ThalwegConfig;

/// Thalweg: a short queue where possible, and no more harm to others than CUBIC does.
pub const SCHEME: SchemeDescription = window::window_scheme::<ThalwegConfig>(
    "Thalweg: keeps the queue short, responds to losses as CUBIC does unless the path provably causes them, and shares with flows that fill the queue.",
    window::window_keys(KEYS, SCHEME_DEFAULTS),
)
.with_collapse(Collapse::RateFall);

/// Defaults of a controller that paces and measures one-way delays.
const SCHEME_DEFAULTS: &[(&str, &str)] = &[
    ("recovery", "sack"),
    // The controller's rules count bytes: a window holds more packets if they are small.
    ("counting", "bytes"),
    ("rack", "true"),
    ("prr", "false"),
    ("ecn", "true"),
    ("verify-acks", "true"),
    ("timestamps", "true"),
    ("nagle", "false"),
    ("segment", "1448 B"),
    ("header", "52 B"),
];

const KEYS: &[Key] = &[
    initial_window("10 pkt"),
    key(
        "queueing",
        Kind::Time,
        "1 ms",
        "Constant part of the target queueing delay. The rest falls with the square root of the rate: 1.5 ms at 100 Mbit/s.",
    )
    .within(Range::POSITIVE, "at least some hundred microseconds, or late hosts look like queues")
    .peer(Range::between(1e-5, 1.0)),
    key(
        "compete",
        Kind::Switch,
        "true",
        "Competes by CUBIC's rules with senders that fill the queue, instead of yielding to them.",
    ),
    key(
        "tolerated-loss",
        Kind::Share,
        "0 %",
        "Loss rate that is attributed to the path without proof. If a queue overflows, all its flows may lose up to this share.",
    )
    .within(Range::between(0.0, 0.25), "no path that loses more than a quarter is usable")
    .peer(Range::between(0.0, 0.25)),
    key(
        "aggressive",
        Kind::Switch,
        "false",
        "Tolerates at least 15 % loss. Only for links without other traffic: if a queue overflows, other flows lose packets too.",
    ),
    key(
        "base-window",
        Kind::Time,
        "60 s",
        "Lifetime of the base delay: the minimum delay, taken as that of an empty path.",
    )
    .within(Range::POSITIVE, "at least some seconds")
    .peer(Range::between(1.0, 3600.0)),
];

bind!(ThalwegConfig {
    initial_window: "initial-window",
    queueing: "queueing",
    compete: "compete",
    tolerated_loss: "tolerated-loss",
    aggressive: "aggressive",
    base_window: "base-window",
});
