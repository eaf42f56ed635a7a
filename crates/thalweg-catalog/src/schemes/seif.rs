//! Catalogue description of the scheme SEIF (Liang 1991).

use super::window;
use super::{NO_WINDOW, WINDOW_RANGE, initial_window};
use crate::option_keys::key;
use crate::scheme_description::SchemeDescription;
use crate::{Key, KeyBoundConfig, Kind, Range, Values, words};
use thalweg_proto::congestion::{RouterSelection, SeifConfig, Signals};

/// SEIF (Liang 1991).
pub const SCHEME: SchemeDescription = window::window_scheme::<SeifConfig>(
    "SEIF: synchronous congestion control with explicit and implicit feedback (Liang 1991).",
    window::window_keys(KEYS, SCHEME_DEFAULTS),
);

const KEYS: &[Key] = &[
    initial_window("1 pkt"),
    key(
        "initial-ssthresh",
        Kind::Packets,
        "",
        "Initial threshold, up to which each acknowledgement adds a packet; default: half of `max-window`.",
    )
    .within(WINDOW_RANGE, NO_WINDOW),
    key(
        "cut-back",
        Kind::Share,
        "0.5",
        "Multiplicative decrease at a signal, from 0 to below 1; the window is at least a packet.",
    )
    .within(
        Range::between(0.0, 1.0).below(),
        "the thesis cuts to 0.5 of the window; 0 leaves one packet, and 1 would be no cut",
    ),
    key(
        "growth-windows",
        Kind::Count,
        "1",
        "Number of windows of acknowledgements per packet of growth, above the threshold.",
    )
    .within(Range::at_least(1.0), "")
    .peer(Range::between(1.0, 1000.0)),
    key(
        "follow",
        FOLLOW,
        "all",
        "Queues whose messages reduce the window: \"all\", or only that with the \"most-messages\".",
    ),
    key(
        "signals",
        SIGNALS,
        "both",
        "Signals that reduce the window: messages of routers (\"explicit\"), losses (\"implicit\"), or \"both\".",
    ),
];

const SCHEME_DEFAULTS: &[(&str, &str)] = &[
    ("recovery", "fast-retransmit"),
    ("nagle", "false"),
    ("ecn", "false"),
    ("prr", "false"),
    ("f-rto", "false"),
    ("segment", "1448 B"),
    ("header", "52 B"),
];

words!(SIGNALS: Signals {
    "both" => Signals::Both,
    "explicit" => Signals::Explicit,
    "implicit" => Signals::Implicit,
});

words!(FOLLOW: RouterSelection { "all" => RouterSelection::All, "most-messages" => RouterSelection::MostMessages });

impl KeyBoundConfig for SeifConfig {
    fn from_values(values: &Values) -> Self {
        let max_window: f64 = values.required("max-window");
        Self {
            initial_window: values.required("initial-window"),
            initial_ssthresh: values.optional("initial-ssthresh").unwrap_or(max_window / 2.0),
            max_window,
            cut_back: values.required("cut-back"),
            growth_windows: values.required("growth-windows"),
            follow: values.optional("follow").unwrap_or(RouterSelection::All),
            signals: values.optional("signals").unwrap_or(Signals::Both),
        }
    }

    fn write_to(&self, values: &mut Values) {
        values.set_from("initial-window", &self.initial_window);
        values.set_from("initial-ssthresh", &self.initial_ssthresh);
        values.set_from("cut-back", &self.cut_back);
        values.set_from("growth-windows", &self.growth_windows);
        values.set_from("follow", &self.follow);
        values.set_from("signals", &self.signals);
    }
}
