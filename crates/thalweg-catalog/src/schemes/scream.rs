//! Catalogue description of the scheme SCReAMv2, rate-adaptive live video.

use super::{SIZES, ack_size_key};
use crate::endpoint_configs::EndpointConfigs;
use crate::option_keys::key;
use crate::path_hints::PathHints;
use crate::protocol_family::{EndNeeds, Family, OnPath, PathWarning, Properties};
use crate::scheme_description::{Collapse, SchemeDescription, SchemeTraits};
use crate::{ConfigError, Environment, Key, Keys, Kind, Range, Values, words};
use thalweg_proto::Ecn;
use thalweg_proto::media::{Config, DATA_HEADER, EncoderConfig, Pdu, Receiver, Response, Sender};
use thalweg_proto::payload::Payload;
use thalweg_proto::units::Rate;

/// Live video whose rate is adapted by SCReAMv2.
pub const SCHEME: SchemeDescription = SchemeDescription {
    name: "scream",
    keys_listed_under: "scream",
    about: "Live video over unreliable packets, at the encoder rate that SCReAMv2 sets \
            (draft-johansson-ccwg-rfc8298bis-screamv2), with feedback for each packet (RFC 8888).",
    keys: Keys {
        shared: &[SIZES],
        defaults: &[("segment", "1200 B"), ("header", "44 B")],
        ..Keys::own(KEYS)
    },
    traits: SchemeTraits {
        is_reliable: false,
        transport: <Config as Family>::NAME,
        has_fixed_rate: false,
        config_depends_on_path: false,
        overhead: DATA_HEADER,
        collapse: Collapse::RateFall,
        is_loss_based: false,
        is_less_than_best_effort: false,
    },
    family_check: &check,
    scheme_check: |_| Vec::new(),
    warnings: |_, _| Vec::new(),
    apply_path_hints,
    make_endpoint_configs: &make_endpoint_configs,
    write_values: &write,
};

words!(RESPONSES: Response {
    "l4s" => Response::L4s,
    "classic" => Response::Classic,
    "none" => Response::None,
});

/// The range of encoder rates.
const RATE_RANGE: Range = Range::between(10_000.0, 1e9);

const KEYS: &[Key] = &[
    key("fps", Kind::Number, "25", "Frames per second.").within(Range::between(1.0, 240.0), ""),
    key("min-rate", Kind::Rate, "150 kbit/s", "Minimum rate of the encoder (RFC 8593, R_min).").within(RATE_RANGE, ""),
    key("max-rate", Kind::Rate, "5 Mbit/s", "Maximum rate of the encoder.").within(RATE_RANGE, ""),
    key(
        "reaction",
        Kind::Time,
        "200 ms",
        "Reaction time of the encoder: after a rate change it ignores others for this time (RFC 8593, tau_v).",
    )
    .within(Range::between(0.0, 60.0), ""),
    key(
        "frame-spread",
        Kind::Share,
        "0.15",
        "Scale of the Laplacian distribution of frame sizes around their mean, as a share of the mean (RFC 8593, SCALE_B). Equal seeds \
         give equal sizes.",
    )
    .within(Range::between(0.0, 1.0), ""),
    key(
        "key-size",
        Kind::Number,
        "4",
        "Size of a key frame relative to other frames. The frames after it are smaller to compensate. The value is an assumption: the size \
         depends on the content.",
    )
    .within(Range::between(1.0, 100.0), ""),
    key(
        "key-interval",
        Kind::Interval,
        "off",
        "Interval between key frames. The first frame is a key frame, and a receiver that cannot decode any frame triggers one.",
    )
    .within(Range::POSITIVE, ""),
    key(
        "ecn",
        RESPONSES,
        "l4s",
        "ECN codepoint of packets and response to marks: \"l4s\" (ECT(1), a reduction by the share of marked packets), \"classic\" \
         (ECT(0), a fixed reduction) or \"none\".",
    ),
    key(
        "competes",
        Kind::Switch,
        "true",
        "The target queueing delay, 60 ms, rises to at most 400 ms if loss-based flows keep the queue full (section \
         4.2.1.4.1).",
    ),
    key("late", Kind::Time, "400 ms", "Maximum delay from capture to complete arrival; a frame beyond it is late (ITU-T G.114).")
        .within(Range::POSITIVE, ""),
    ack_size_key("40 B", "Bytes on the wire of a report, beside two for each reported packet (40 B)."),
];

fn check(values: &Values) -> Vec<ConfigError> {
    let (min, max): (Rate, Rate) = (values.required("min-rate"), values.required("max-rate"));
    if min <= max {
        return Vec::new();
    }
    let message = format!("the lowest rate is {min} and the highest {max}");
    vec![ConfigError::new("min-rate", message).help("an encoder needs min-rate <= max-rate")]
}

fn apply_path_hints(values: &mut Values, path: &PathHints) {
    crate::scheme_description::suggest_live_segment(values, path, DATA_HEADER);
}

fn make_endpoint_configs(values: &Values, path: &PathHints) -> Result<EndpointConfigs, ConfigError> {
    let segment = match values.environment() {
        Environment::Simulated => values.required("segment"),
        Environment::Live => super::local_segment(values, path, DATA_HEADER),
    };
    let encoder = EncoderConfig {
        fps: values.required("fps"),
        min_rate: values.required("min-rate"),
        max_rate: values.required("max-rate"),
        reaction: values.required("reaction"),
        spread: values.required("frame-spread"),
        key_size: values.required("key-size"),
        key_interval: values.required("key-interval"),
    };
    let (ecn, competes, late) =
        (values.required("ecn"), values.required("competes"), values.required("late"));
    Ok(EndpointConfigs::Media(Config { segment, encoder, ecn, competes, late_delay: late }))
}

fn write(ends: &EndpointConfigs, values: &mut Values) -> bool {
    let EndpointConfigs::Media(config) = ends else { return false };
    let encoder = &config.encoder;
    values.set_from("fps", &encoder.fps);
    values.set_from("min-rate", &encoder.min_rate);
    values.set_from("max-rate", &encoder.max_rate);
    values.set_from("reaction", &encoder.reaction);
    values.set_from("frame-spread", &encoder.spread);
    values.set_from("key-size", &encoder.key_size);
    values.set_from("key-interval", &encoder.key_interval);
    values.set_from("ecn", &config.ecn);
    values.set_from("competes", &config.competes);
    values.set_from("late", &config.late_delay);
    values.set_from("segment", &config.segment);
    true
}

impl Family for Config {
    const NAME: &'static str = "scream";
    const OVERHEAD: u32 = DATA_HEADER;
    type Pdu<P: Payload> = Pdu<P>;
    type Sender<P: Payload> = Sender<P>;
    type Receiver<P: Payload> = Receiver<P>;

    fn sender<P: Payload>(&self) -> Sender<P> {
        Sender::new(self)
    }

    fn receiver<P: Payload>(&self) -> Receiver<P> {
        Receiver::new(self)
    }
}

impl Properties for Config {
    fn segment(&self) -> u32 {
        self.segment
    }

    fn check(&self) -> Result<(), &'static str> {
        match self.encoder {
            EncoderConfig { fps, .. } if !(fps > 0.0 && fps.is_finite()) => Err("frames in a second"),
            EncoderConfig { min_rate, .. } if min_rate.is_zero() => Err("lowest rate"),
            _ => Ok(()),
        }
    }

    fn description(&self) -> String {
        let EncoderConfig { fps, min_rate, max_rate, .. } = self.encoder;
        format!(", video of {fps} frames/s at {min_rate} to {max_rate}")
    }

    fn is_reliable(&self) -> bool {
        false
    }

    fn window(&self) -> Option<u64> {
        None
    }

    fn is_unbounded(&self) -> bool {
        false
    }

    fn ecn(&self) -> Ecn {
        self.ecn.codepoint()
    }

    /// Delay is a sufficient congestion signal.
    fn needs_marks(&self) -> bool {
        false
    }

    fn needs(&self) -> EndNeeds {
        EndNeeds { random: true, ..EndNeeds::default() }
    }

    fn lacks_flow_control(&self) -> Option<&'static str> {
        Some("live video has no receive window: the sender cannot detect a slow application")
    }

    /// Warns of a path slower than the minimum encoder rate.
    fn warnings(&self, path: &OnPath) -> Vec<PathWarning> {
        let min = self.encoder.min_rate;
        if min <= path.rate {
            return Vec::new();
        }
        let what = format!("encodes at {min} at least, and its path takes {}", path.rate);
        let help = "frames will be left out; see `min-rate`".to_owned();
        vec![PathWarning { code: "scenario.rate", what, help }]
    }
}
