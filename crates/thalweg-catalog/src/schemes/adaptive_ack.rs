//! Catalogue description of the scheme: adaptive acknowledgement (Lee, Kim, Chung and Kim 1997).

use super::{PEER_TIME_RANGE, PEER_WINDOW_RANGE, SIZES, ack_size_key};
use crate::endpoint_configs::EndpointConfigs;
use crate::option_keys::key;
use crate::path_hints::PathHints;
use crate::protocol_family::{EndNeeds, Family, OnPath, PathWarning, Properties};
use crate::scheme_description::{Collapse, SchemeDescription, SchemeTraits};
use crate::{ConfigError, Environment, Key, Keys, Kind, Range, Value, Values};
use std::sync::Arc;
use thalweg_proto::adaptive_ack::wire::DATA_HEADER;
use thalweg_proto::adaptive_ack::{Config, Pdu, Receiver, Transmitter};
use thalweg_proto::payload::Payload;
use thalweg_proto::units::Duration;

/// Adaptive acknowledgement (Lee et al. 1997).
pub const SCHEME: SchemeDescription = SchemeDescription {
    name: "adaptive-ack",
    keys_listed_under: "adaptive-ack",
    about: "Adaptive acknowledgement (Lee et al. 1997): the receiver reports at a pace that adapts to loss.",
    keys: Keys {
        shared: &[SIZES],
        defaults: &[("segment", "1008 B"), ("header", "16 B")],
        ..Keys::own(KEYS)
    },
    traits: SchemeTraits {
        is_reliable: true,
        transport: <Config as Family>::NAME,
        has_fixed_rate: false,
        config_depends_on_path: false,
        overhead: OVERHEAD,
        collapse: Collapse::Unresponsive,
        is_loss_based: false,
        is_less_than_best_effort: false,
    },
    family_check: &|_| Vec::new(),
    scheme_check: |_| Vec::new(),
    warnings: |_, _| Vec::new(),
    apply_path_hints,
    make_endpoint_configs: &make_endpoint_configs,
    write_values: &write,
};

const OVERHEAD: u32 = DATA_HEADER as u32;

const KEYS: &[Key] = &[
    key(
        "window",
        Kind::Packets,
        "400 pkt",
        "Maximum number of packets that the sender keeps until they are acknowledged.",
    )
    .within(Range::between(1.0, 1_048_576.0), "")
    .from_path(
        "the data of two round trips and report intervals, at most the receiver's memory; 400 pkt if the path is unknown",
    )
    .peer(PEER_WINDOW_RANGE),
    key(
        "t-normal",
        Kind::Time,
        "40 ms",
        "T_normal: interval of the receiver's reports while nothing is missing.",
    )
    .within(Range::POSITIVE, "")
    .peer(PEER_TIME_RANGE),
    key(
        "t-error",
        Kind::Time,
        "5 ms",
        "T_error: interval of the receiver's reports while packets are missing.",
    )
    .within(Range::POSITIVE, "")
    .peer(PEER_TIME_RANGE),
    ack_size_key("32 B", "Bytes on the wire of a report (32 B)."),
];

/// Sizes the window for the data sent until a repair is reported: two round trips and report intervals.
fn apply_path_hints(values: &mut Values, path: &PathHints) {
    crate::scheme_description::suggest_live_segment(values, path, OVERHEAD);
    let normal: Duration = values.required("t-normal");
    let time = path.rtt.map(|rtt| (rtt + normal) * 2);
    let window = path.packets_in(super::agreed_segment(values, path, OVERHEAD), time, 400.0);
    values.suggest("window", Value::Packets(window.clamp(1.0, 1_048_576.0)));
}

fn make_endpoint_configs(values: &Values, path: &PathHints) -> Result<EndpointConfigs, ConfigError> {
    let window: u32 = values.optional("window").unwrap_or(Config::default().window);
    let (segment, window) = match values.environment() {
        Environment::Simulated => (values.required("segment"), window),
        Environment::Live => {
            let memory_packets = path.memory_packets(super::agreed_segment(values, path, OVERHEAD));
            (super::local_segment(values, path, OVERHEAD), window.min(memory_packets as u32))
        }
    };
    let (normal, error) = (values.required("t-normal"), values.required("t-error"));
    Ok(EndpointConfigs::AdaptiveAck(Config { segment, window, normal, error }))
}

fn write(ends: &EndpointConfigs, values: &mut Values) -> bool {
    let EndpointConfigs::AdaptiveAck(config) = ends else { return false };
    values.set_from("window", &config.window);
    values.set_from("t-normal", &config.normal);
    values.set_from("t-error", &config.error);
    values.set_from("segment", &config.segment);
    true
}

impl Family for Config {
    const NAME: &'static str = "adaptive-ack";
    const OVERHEAD: u32 = OVERHEAD;
    type Pdu<P: Payload> = Pdu<P>;
    type Sender<P: Payload> = Transmitter<P>;
    type Receiver<P: Payload> = Receiver<P>;

    fn sender<P: Payload>(&self) -> Transmitter<P> {
        Transmitter::new(Arc::new(*self))
    }

    fn receiver<P: Payload>(&self) -> Receiver<P> {
        Receiver::new(Arc::new(*self))
    }
}

impl Properties for Config {
    fn segment(&self) -> u32 {
        self.segment
    }

    fn needs(&self) -> EndNeeds {
        EndNeeds { order: true, ..EndNeeds::default() }
    }

    fn check(&self) -> Result<(), &'static str> {
        match self {
            Self { window: 0, .. } => Err("window"),
            config if config.normal.is_zero() || config.error.is_zero() => Err("time between reports"),
            _ => Ok(()),
        }
    }

    fn description(&self) -> String {
        let Self { segment, window, normal, error } = self;
        format!(", {window} packets of {segment} B, reports every {normal} and {error} after losses")
    }

    fn window(&self) -> Option<u64> {
        Some(self.window.into())
    }

    fn never_shrinks(&self) -> bool {
        true
    }

    fn lacks_flow_control(&self) -> Option<&'static str> {
        Some("its receiver has no window to close: the sender cannot detect a slow application")
    }

    /// Warns of reports that are far too frequent, or so rare that the sender mostly waits for them.
    fn warnings(&self, path: &OnPath) -> Vec<PathWarning> {
        let packet = path.rate.transmission_time(path.packet);
        let mut warnings = Vec::new();
        for (key, every) in [("t-normal", self.normal), ("t-error", self.error)] {
            if every < packet {
                let what = format!("reports every {every}, but a packet takes {packet} at {}", path.rate);
                let help = format!("most reports would contain nothing new; see `{key}`");
                warnings.push(PathWarning { code: "scenario.timer", what, help });
            }
        }
        let window = packet * u64::from(self.window);
        if self.normal > path.rtt.max(window) * MAX_REPORT_INTERVAL {
            let what = format!(
                "has sent its window of {} pkt after {window}, but a report comes every {}",
                self.window, self.normal
            );
            let help =
                "the sender waits for reports most of the time; see `t-normal` and `window`".to_owned();
            warnings.push(PathWarning { code: "scenario.timer", what, help });
        }
        warnings
    }
}

/// Maximum report interval without a warning, in round trips or window transmission times.
const MAX_REPORT_INTERVAL: u64 = 10;
