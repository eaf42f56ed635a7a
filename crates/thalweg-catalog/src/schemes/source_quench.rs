//! Catalogue description of the scheme Source Quench (Nagle 1984).

use super::window;
use super::{NO_WINDOW, PEER_WINDOW_RANGE, WINDOW_RANGE};
use crate::option_keys::key;
use crate::scheme_description::{Collapse, SchemeDescription};
use crate::{Key, Kind, Range, bind};
use thalweg_proto::congestion::SourceQuenchConfig;

/// Source Quench (Nagle 1984).
pub const SCHEME: SchemeDescription = window::window_scheme::<SourceQuenchConfig>(
    "Source Quench (Nagle 1984): a fixed window, closed for a time by a router's message. By default `nagle` is on.",
    window::window_keys(KEYS, SCHEME_DEFAULTS),
)
.with_collapse(Collapse::Unresponsive);

const KEYS: &[Key] = &[
    key("window", Kind::Packets, "32 pkt", "Window.").within(WINDOW_RANGE, NO_WINDOW).peer(PEER_WINDOW_RANGE),
    key("resume-after", Kind::Count, "10", "Number of acknowledgements that reopen the window, at least 1.")
        .within(
            Range::at_least(1.0),
            "with 0 a quench would close nothing; Nagle waits for 10 acknowledgements",
        )
        .peer(Range::between(1.0, 1_048_576.0)),
];

/// RFC 896 describes both the response to quenches and the Nagle algorithm.
const SCHEME_DEFAULTS: &[(&str, &str)] = &[
    ("recovery", "go-back-n"),
    ("nagle", "true"),
    ("ecn", "false"),
    ("prr", "false"),
    ("f-rto", "false"),
    ("segment", "1448 B"),
    ("header", "52 B"),
];

bind!(SourceQuenchConfig { window: "window", acks_per_quench: "resume-after" });
