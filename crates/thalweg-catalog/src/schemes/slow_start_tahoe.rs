//! Catalogue description of the scheme Slow Start with congestion avoidance (Jacobson 1988).

use super::window;
use super::{INITIAL_THRESHOLD, initial_window};
use crate::option_keys::key;
use crate::scheme_description::SchemeDescription;
use crate::{Key, KeyBoundConfig, Kind, Value, Values};
use thalweg_proto::congestion::{Growth, SlowStartConfig};

/// Slow Start with congestion avoidance (Jacobson 1988).
pub const SCHEME: SchemeDescription = window::window_scheme::<SlowStartConfig>(
    "Slow Start with congestion avoidance (Jacobson 1988): Tahoe.",
    window::window_keys(KEYS, SCHEME_DEFAULTS),
)
.with_loss_based();

const SCHEME_DEFAULTS: &[(&str, &str)] = &[
    ("recovery", "go-back-n"),
    ("prr", "false"),
    ("f-rto", "false"),
    ("nagle", "false"),
    ("segment", "1448 B"),
    ("header", "52 B"),
];

const KEYS: &[Key] = &[
    initial_window("1 pkt"),
    INITIAL_THRESHOLD,
    key(
        "growth",
        Kind::Word(&["fractional", "counted"]),
        "fractional",
        "Window growth above ssthresh: \"fractional\", by part of a packet for each acknowledgement while the window is used, or \
         \"counted\", by a whole packet after each window of acknowledgements, used or not, up to `max-window`.",
    ),
];

impl KeyBoundConfig for SlowStartConfig {
    fn from_values(values: &Values) -> Self {
        let growth = match values.get("growth") {
            Some(Value::Word("counted")) => Growth::Counted { max_window: values.required("max-window") },
            _ => Growth::Fractional,
        };
        Self {
            initial_window: values.required("initial-window"),
            initial_ssthresh: values.required("initial-ssthresh"),
            growth,
        }
    }

    fn write_to(&self, values: &mut Values) {
        values.set_from("initial-window", &self.initial_window);
        values.set_from("initial-ssthresh", &self.initial_ssthresh);
        values.set_value(
            "growth",
            Value::Word(match self.growth {
                Growth::Fractional => "fractional",
                Growth::Counted { .. } => "counted",
            }),
        );
    }
}
