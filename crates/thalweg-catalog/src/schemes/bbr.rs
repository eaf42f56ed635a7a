//! Catalogue description of the scheme BBR, version 3 (draft-ietf-ccwg-bbr).

use super::window;
use super::{INITIAL_WINDOW, window_presets};
use crate::option_keys::key;
use crate::scheme_description::{Collapse, SchemeDescription};
use crate::{ConfigError, Key, Kind, Range, Values, bind, words};
use thalweg_proto::congestion::{BbrConfig, FilterAdvance, ProbeRttBasis};
use thalweg_proto::window::Recovery;

/// BBR, version 3 (draft-ietf-ccwg-bbr).
pub const SCHEME: SchemeDescription = window::window_scheme::<BbrConfig>(
    "BBR, version 3: paces at the delivery rate of the path, and probes periodically for more (draft-ietf-ccwg-bbr).",
    window::window_keys(KEYS, SCHEME_DEFAULTS).with_presets(window_presets::BBR),
)
.with_collapse(Collapse::RateFall)
.with_scheme_check(check);

/// Defaults that the draft assumes: selective acknowledgement, and time-based loss detection with undo of spurious
/// losses.
const SCHEME_DEFAULTS: &[(&str, &str)] = &[
    ("recovery", "sack"),
    // BBR's rules count bytes: a window holds more packets if they are small.
    ("counting", "bytes"),
    ("rack", "true"),
    ("prr", "false"),
    ("nagle", "false"),
    ("segment", "1448 B"),
    ("header", "52 B"),
];

const KEYS: &[Key] = &[
    INITIAL_WINDOW,
    key(
        "loss-threshold",
        Kind::Share,
        "2 %",
        "Maximum share of packets lost in a round trip of a bandwidth probe.",
    )
    .within(SHARE_RANGE, "the draft's is 2 %")
    .peer(Range::between(0.0, 0.5)),
    key("beta", Kind::Number, "0.7", "Minimum factor of the short-term bounds per round trip with losses.")
        .within(Range::between(0.0, 1.0).above().below(), "the draft's is 0.7")
        .peer(Range::between(0.01, 0.99)),
    key(
        "headroom",
        Kind::Share,
        "15 %",
        "Share of the long-term inflight bound that is left to other flows between probes.",
    )
    .within(SHARE_RANGE, "the draft's is 15 %")
    .peer(Range::between(0.0, 0.9)),
    key(
        "precautionary",
        Kind::Switch,
        "true",
        "After a probe with excessive loss, the next one ends once it has as much data in flight.",
    ),
    key(
        "offload-quanta",
        Kind::Count,
        "1",
        "Number of quanta, of a millisecond each, that may always be in flight, for hosts that batch: 1 as for QUIC, 3 as for TCP with \
         segmentation offload.",
    )
    .within(Range::between(1.0, 64.0), "a sender needs at least one quantum in flight")
    .peer(Range::between(1.0, 64.0)),
    key("drain-gain", Kind::Number, "0.5", "Pacing gain while the queue of Startup drains; implementations use 0.35.")
        .within(Range::between(0.0, 1.0).above().below(), "the draft's is 0.5")
        .peer(Range::between(0.01, 0.99)),
    key(
        "probe-rtt-interval",
        Kind::Time,
        "5 s",
        "Interval between ProbeRTT phases, which measure the round-trip time of an empty path. A shorter measured round trip postpones the \
         next phase.",
    )
    .within(Range::POSITIVE, "the draft's is 5 s")
    .peer(Range::between(1.0, 3600.0)),
    key(
        "probe-rtt-basis",
        PROBE_RTT_BASIS,
        "current",
        "Round trip that bounds the data in flight during ProbeRTT: the \"current\" minimum, or the one \"before-expiry\" (issue 109 of the \
         draft). The current one may have just been replaced by a round trip with a queue.",
    ),
    key(
        "filter-advance",
        FILTER_ADVANCE,
        "after-feedback",
        "Start of the next cycle of the max-bandwidth filter: \"after-feedback\" of a probe, \"at-down\" (the end of a probe, pull request 5 of \
         the draft), or after at most \"ten-rounds\" in any case (version 1).",
    ),
];

words!(PROBE_RTT_BASIS: ProbeRttBasis {
    "current" => ProbeRttBasis::Current,
    "before-expiry" => ProbeRttBasis::BeforeExpiry,
});

words!(FILTER_ADVANCE: FilterAdvance {
    "after-feedback" => FilterAdvance::AfterFeedback,
    "at-down" => FilterAdvance::AtDown,
    "ten-rounds" => FilterAdvance::TenRounds,
});

const SHARE_RANGE: Range = Range::between(0.0, 1.0).below();

bind!(BbrConfig {
    initial_window: "initial-window",
    loss_threshold: "loss-threshold",
    beta: "beta",
    headroom: "headroom",
    precautionary: "precautionary",
    offload_quanta: "offload-quanta",
    drain_gain: "drain-gain",
    probe_rtt_interval: "probe-rtt-interval",
    probe_rtt_basis: "probe-rtt-basis",
    filter_advance: "filter-advance",
    ecn: "ecn",
});

fn check(values: &Values) -> Vec<ConfigError> {
    let mut faults = Vec::new();
    if values.optional("recovery") != Some(Recovery::Sack) {
        let what = "BBR measures rates from each acknowledgement, and requires selective acknowledgements";
        faults.push(ConfigError::new("recovery", what).help("leave `recovery` out, or set it to \"sack\""));
    }
    faults
}
