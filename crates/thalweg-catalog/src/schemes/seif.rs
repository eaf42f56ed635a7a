//! SEIF (Liang 1991).

use super::window;
use super::{NO_WINDOW, WINDOW_RANGE, initial_window};
use crate::describe::key;
use crate::scheme::SchemeDescription;
use crate::{Bound, Key, Kind, Range, Values, words};
use thalweg_proto::congestion::{RouterSelection, SeifConfig, Signals};

/// SEIF (Liang 1991).
pub const SCHEME: SchemeDescription = window::scheme::<SeifConfig>(
    "SEIF: synchronous congestion control with explicit and implicit feedback (Liang 1991).",
    window::keys(KEYS, SCHEME_DEFAULTS),
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
        "Queues whose messages reduce the window: \"all\", or only the \"loudest\", which has sent the most.",
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

words!(FOLLOW: RouterSelection { "all" => RouterSelection::All, "loudest" => RouterSelection::MostMessages });

impl Bound for SeifConfig {
    fn of(values: &Values) -> Self {
        let max_window: f64 = values.need("max-window");
        Self {
            initial_window: values.need("initial-window"),
            initial_ssthresh: values.take("initial-ssthresh").unwrap_or(max_window / 2.0),
            max_window,
            cut_back: values.need("cut-back"),
            growth_windows: values.need("growth-windows"),
            follow: values.take("follow").unwrap_or(RouterSelection::All),
            signals: values.take("signals").unwrap_or(Signals::Both),
        }
    }

    fn write(&self, values: &mut Values) {
        values.give("initial-window", &self.initial_window);
        values.give("initial-ssthresh", &self.initial_ssthresh);
        values.give("cut-back", &self.cut_back);
        values.give("growth-windows", &self.growth_windows);
        values.give("follow", &self.follow);
        values.give("signals", &self.signals);
    }
}
