//! Catalogue description of the queue discipline Random Early Detection.

use crate::option_keys::key;
use crate::{ConfigError, DisciplineDescription, Key, KeyBoundConfig, Keys, Kind, Range, Value, Values};
use thalweg_proto::units::Bytes;
use thalweg_queue::{RedConfig, RedUnit};

/// Random Early Detection (Floyd and Jacobson 1993).
pub const DISCIPLINE: DisciplineDescription = DisciplineDescription::new::<RedConfig>("Random Early Detection (Floyd and Jacobson 1993): arrivals are dropped at random, with a probability that increases with the average queue length.",
    Keys::own(KEYS),
)
.with_check(check);

const KEYS: &[Key] = &[
    key(
        "min-threshold",
        Kind::Length,
        "5 pkt",
        "Average length below which only a full buffer drops, in packets or bytes. With bytes, large packets are dropped more often.",
    ),
    key(
        "max-threshold",
        Kind::Length,
        "15 pkt",
        "Average length at which the probability reaches `max-probability`, in the same unit.",
    ),
    key("weight", Kind::Probability, "0.002", "Weight of the current queue length in the average.")
        .within(Range::POSITIVE, ""),
    key("max-probability", Kind::Probability, "0.1", "Drop probability just below `max-threshold`.")
        .within(Range::POSITIVE, ""),
    key(
        "gentle",
        Kind::Switch,
        "true",
        "Above `max-threshold` the probability increases to 1 at twice that length; with false it is 1 at once.",
    ),
    key(
        "ecn",
        Kind::Switch,
        "true",
        "Marks ECN-capable packets instead of dropping them, unless the buffer is full.",
    ),
    key(
        "hard-drop",
        Kind::Switch,
        "true",
        "With `ecn`: while the probability is 1, ECN-capable packets are dropped too (RFC 3168, section 7). Linux marks them unless `harddrop` is set: its default is `false`.",
    ),
    key(
        "mean-packet",
        Kind::Size,
        "1000 B",
        "Typical packet size: determines the decay of the average in idle times, and scales sizes in bytes.",
    )
    .within(Range::POSITIVE, ""),
];

/// Returns the thresholds, if both have the same unit.
fn threshold_pair(values: &Values) -> Option<(RedUnit, f64, f64)> {
    match (values.get("min-threshold")?, values.get("max-threshold")?) {
        (Value::Packets(min), Value::Packets(max)) => Some((RedUnit::Packets, min, max)),
        (Value::Size(min), Value::Size(max)) => Some((RedUnit::Bytes, min.get() as f64, max.get() as f64)),
        _ => None,
    }
}

fn check(values: &Values) -> Result<(), ConfigError> {
    let given_key =
        if values.explicit_value("min-threshold").is_some() { "min-threshold" } else { "max-threshold" };
    match threshold_pair(values) {
        None => Err(ConfigError::new(given_key, "the thresholds are in different units")
            .help("give both in packets or both in bytes; without them they are \"5 pkt\" and \"15 pkt\"")),
        Some((_, min, max)) if max == min => Err(ConfigError::new(
            given_key,
            format!("`min-threshold` must be below `max-threshold`, but both are {min}"),
        )
        .help("a queue that marks all above one length is { discipline = \"step\", threshold = ... }")),
        Some((_, min, max)) if max < min => Err(ConfigError::new(
            given_key,
            format!("`min-threshold` of {min} must be below `max-threshold` of {max}"),
        )
        .help("swap the two, or set both: without them they are \"5 pkt\" and \"15 pkt\"")),
        Some(_) => Ok(()),
    }
}

impl KeyBoundConfig for RedConfig {
    fn from_values(values: &Values) -> Self {
        let defaults = Self::default();
        let (unit, min_threshold, max_threshold) =
            threshold_pair(values).unwrap_or((defaults.unit, defaults.min_threshold, defaults.max_threshold));
        Self {
            unit,
            min_threshold,
            max_threshold,
            weight: values.required("weight"),
            max_probability: values.required("max-probability"),
            gentle: values.required("gentle"),
            ecn: values.required("ecn"),
            hard_drop: values.required("hard-drop"),
            mean_packet: values.required("mean-packet"),
        }
    }

    fn write_to(&self, values: &mut Values) {
        for (key, length) in [("min-threshold", self.min_threshold), ("max-threshold", self.max_threshold)] {
            let length = match self.unit {
                RedUnit::Packets => Value::Packets(length),
                RedUnit::Bytes => Value::Size(Bytes::new(length as u64)),
            };
            values.set_value(key, length);
        }
        values.set_from("weight", &self.weight);
        values.set_from("max-probability", &self.max_probability);
        values.set_from("gentle", &self.gentle);
        values.set_from("ecn", &self.ecn);
        values.set_from("hard-drop", &self.hard_drop);
        values.set_from("mean-packet", &self.mean_packet);
    }
}
