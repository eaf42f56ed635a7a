//! Catalogue description of the scheme SSCOP with rate-based flow control (Chen and Chen 1999).

use super::sscop::{self, SCHEME_DEFAULTS, SSCOP_KEYS, TRAITS};
use super::{PEER_TIME_RANGE, SIZES};
use crate::option_keys::key;
use crate::scheme_description::{Collapse, SchemeDescription, SchemeTraits};
use crate::{ConfigError, Environment, Key, Keys, Kind, Range, Value, Values, words};
use thalweg_proto::sscop::rate::{Base, Probing, RateConfig, SizeUnit};
use thalweg_proto::units::{Duration, Rate};

const SCHEME_ABOUT: &str = "SSCOP with rate-based flow control (Chen and Chen 1999), with the amendments that make its rules work. \"literal\" marks \
     the defaults of `sscop-rate-literal`.";
const ABOUT_LITERAL: &str =
    "SSCOP with rate-based flow control (Chen and Chen 1999), by the rules as printed.";

/// The rules with the amendments needed to make them work.
pub const SCHEME: SchemeDescription = SchemeDescription {
    name: "sscop-rate",
    keys_listed_under: "sscop-rate",
    about: SCHEME_ABOUT,
    keys: Keys { shared: &[SSCOP_KEYS, SIZES], defaults: SCHEME_DEFAULTS, ..Keys::own(KEYS) },
    traits: SchemeTraits { collapse: Collapse::RateFall, ..TRAITS },
    family_check: &check,
    scheme_check: |_| Vec::new(),
    warnings: |_, _| Vec::new(),
    apply_path_hints: |values, path| {
        sscop::apply_path_hints_to_rate(values, path);
        values.suggest("jitter", Value::Time(JITTER));
    },
    make_endpoint_configs: &|values, path| {
        Ok(sscop::make_endpoint_configs(values, path, |values, pdu| {
            Some(rate_config(values, pdu, RateConfig::amended()))
        }))
    },
    write_values: &|ends, values| {
        sscop::write(ends, values, |rate, values| write(rate.as_ref(), values, true))
    },
};

/// The rules as printed.
pub const LITERAL: SchemeDescription = SchemeDescription {
    name: "sscop-rate-literal",
    about: ABOUT_LITERAL,
    traits: SchemeTraits { collapse: Collapse::ShortQueue, ..TRAITS },
    apply_path_hints: sscop::apply_path_hints_to_rate,
    make_endpoint_configs: &|values, path| {
        Ok(sscop::make_endpoint_configs(values, path, |values, pdu| {
            Some(rate_config(values, pdu, RateConfig::literal()))
        }))
    },
    write_values: &|ends, values| {
        sscop::write(ends, values, |rate, values| write(rate.as_ref(), values, false))
    },
    ..SCHEME
};

const KEYS: &[Key] = &[
    key("start-rate", Kind::Rate, "4 Mbit/s", "Initial rate; on real paths at most the path's rate, if known.")
        .within(Range::POSITIVE, "a rate of zero never sends"),
    key("max-rate", Kind::Rate, "", "Maximum rate; in simulations unlimited by default.")
        .within(Range::POSITIVE, "")
        .from_path("the path's rate, if known"),
    key("alpha", Kind::Packets, "3 pkt", "Target backlog of a source in the network (α).")
        .peer(Range::between(0.0, 1_048_576.0)),
    key("unit", UNIT, "bytes", "Unit of sizes and rates: \"bytes\" of PDUs, or \"cells\" of ATM."),
    key(
        "probing",
        PROBING,
        "spacing",
        "Probing method: \"spacing\" (Chen and Chen) or \"packet-pair\" (Keshav 1991).",
    ),
    key(
        "base-rate",
        BASE,
        "",
        "Rate that is corrected by the backlog: \"delivered\" or \"probed\" (literal).",
    ),
    key(
        "gain",
        Kind::Number,
        "",
        "Share of the backlog above alpha that is drained in one period: 0.5, or 1 (literal).",
    )
    .within(Range::between(0.0, 1.0).above(), "")
    .peer(Range::between(1e-3, 1.0)),
    key(
        "growth",
        Kind::Number,
        "",
        "Maximum ratio of the rate to the delivered rate, without backlog: 1.1, or no bound (literal).",
    )
    .within(Range::at_least(1.0), "")
    .peer(Range::between(1.0, 1e3)),
    key(
        "poll-behind-data",
        Kind::Switch,
        "",
        "A POLL follows the next message (true). Otherwise it is sent alone as soon as the previous POLL is answered (false, literal).",
    ),
    key("keep-records", Kind::Switch, "", "Keeps arrival records until there are three: true, or false (literal)."),
    key("poll-floor", Kind::Time, "10 ms", "Minimum timeout of a POLL.").peer(PEER_TIME_RANGE),
    key(
        "poll-ceiling",
        Kind::Time,
        "10 s",
        "Maximum timeout of a POLL; each unanswered POLL doubles the timeout.",
    )
    .live_default("2 s", "the end of an outage is detected sooner")
    .peer(PEER_TIME_RANGE),
    key(
        "drain",
        Kind::Time,
        "",
        "Time without an empty queue after which a source reduces its rate for two round trips; default: never.",
    )
    .within(Range::POSITIVE, "sources never drain the queue without `drain`")
    .peer(PEER_TIME_RANGE),
    key(
        "jitter",
        Kind::Time,
        "0 s",
        "Tolerance for hosts that answer late: a round trip that exceeds the shortest by at most this time, and by at most a quarter, does \
         not indicate a queue.",
    )
    .from_path("2 ms, for busy hosts that answer late; 0 s (literal)"),
];

words!(UNIT: SizeUnit { "bytes" => SizeUnit::Bytes, "cells" => SizeUnit::Cells });
words!(PROBING: Probing { "spacing" => Probing::Spacing, "packet-pair" => Probing::PacketPair });
words!(BASE: Base { "delivered" => Base::Delivered, "probed" => Base::Probed });

/// Response delay of busy hosts.
const JITTER: Duration = Duration::from_millis(2);

fn check(values: &Values) -> Vec<ConfigError> {
    let mut faults = sscop::check(values);
    let rate = |name: &str| values.optional::<Rate>(name);
    if rate("start-rate") > rate("max-rate").or(Some(Rate::MAX)) {
        faults.push(ConfigError::new("max-rate", "max-rate is below start-rate"));
    }
    faults
}

/// Returns the rate control for PDUs of `pdu` bytes, with `rules` as defaults.
fn rate_config(values: &Values, pdu: u32, rules: RateConfig) -> RateConfig {
    // Only the printed rules have no growth limit.
    let late = if values.environment() == Environment::Live && rules.growth.is_some() {
        JITTER
    } else {
        Duration::ZERO
    };
    RateConfig {
        start: values.required("start-rate"),
        max: values.optional("max-rate").unwrap_or(Rate::MAX),
        pdu,
        unit: values.optional("unit").unwrap_or(rules.unit),
        probing: values.optional("probing").unwrap_or(rules.probing),
        alpha: values.required("alpha"),
        base: values.optional("base-rate").unwrap_or(rules.base),
        gain: values.optional("gain").unwrap_or(rules.gain),
        growth: values.optional("growth").or(rules.growth),
        poll_behind_data: values.optional("poll-behind-data").unwrap_or(rules.poll_behind_data),
        keep_records: values.optional("keep-records").unwrap_or(rules.keep_records),
        poll_floor: values.required("poll-floor"),
        poll_ceiling: values.required("poll-ceiling"),
        drain_interval: values.required("drain"),
        jitter: values.optional("jitter").unwrap_or(late),
    }
}

/// Writes the values; returns false if they belong to the other set of rules. A missing growth limit identifies the
/// printed rules, the only ones without it.
fn write(rate: Option<&RateConfig>, values: &mut Values, amended: bool) -> bool {
    let Some(rate) = rate.filter(|rate| rate.growth.is_some() == amended) else { return false };
    values.set_from("start-rate", &rate.start);
    if rate.max != Rate::MAX {
        values.set_from("max-rate", &rate.max);
    }
    values.set_from("alpha", &rate.alpha);
    values.set_from("unit", &rate.unit);
    values.set_from("probing", &rate.probing);
    values.set_from("base-rate", &rate.base);
    values.set_from("gain", &rate.gain);
    values.set_from("growth", &rate.growth);
    values.set_from("poll-behind-data", &rate.poll_behind_data);
    values.set_from("keep-records", &rate.keep_records);
    values.set_from("poll-floor", &rate.poll_floor);
    values.set_from("poll-ceiling", &rate.poll_ceiling);
    values.set_from("drain", &rate.drain_interval);
    values.set_from("jitter", &rate.jitter);
    true
}
