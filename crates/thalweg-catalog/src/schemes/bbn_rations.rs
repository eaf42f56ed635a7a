//! Catalogue description of the scheme: rate control by rations of BBN routers (Robinson, Friedman and Steenstrup 1990).

use super::window::{self, GO_BACK_N};
use super::{NO_WINDOW, PEER_WINDOW_RANGE, WINDOW_RANGE};
use crate::option_keys::key;
use crate::scheme_description::{Collapse, SchemeDescription};
use crate::{Environment, Key, KeyBoundConfig, Kind, Range, Values};
use thalweg_proto::congestion::BbnConfig;
use thalweg_proto::window::wire::SEGMENT_HEADER;

/// Rate control by explicit rates from routers (Robinson, Friedman and Steenstrup 1990).
pub const SCHEME: SchemeDescription = window::window_scheme::<BbnConfig>(
    "Rate control by rations that routers grant (Robinson, Friedman and Steenstrup 1990).",
    window::window_keys(KEYS, GO_BACK_N),
)
.with_collapse(Collapse::Unresponsive);

const KEYS: &[Key] = &[
    key("window", Kind::Packets, "1024 pkt", "Window; the default is too large to limit the rate.")
        .within(WINDOW_RANGE, NO_WINDOW)
        .peer(PEER_WINDOW_RANGE),
    key("lifetime", Kind::Time, "10 s", "Lifetime of a ration that is not renewed.")
        .within(Range::POSITIVE, "a ration holds for some time"),
];

impl KeyBoundConfig for BbnConfig {
    fn from_values(values: &Values) -> Self {
        let header = match values.environment() {
            Environment::Simulated => values.required("header"),
            Environment::Live => SEGMENT_HEADER as u32,
        };
        Self { window: values.required("window"), lifetime: values.required("lifetime"), header }
    }

    fn write_to(&self, values: &mut Values) {
        values.set_from("window", &self.window);
        values.set_from("lifetime", &self.lifetime);
    }
}
