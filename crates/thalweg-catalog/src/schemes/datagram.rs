//! Catalogue description of the scheme: unreliable datagrams.

use super::{LOWER_LAYER_OVERHEAD, SIZES};
use crate::endpoint_configs::EndpointConfigs;
use crate::option_keys::key;
use crate::path_hints::PathHints;
use crate::protocol_family::{ConfiguredRates, Family, Properties};
use crate::scheme_description::{Collapse, SchemeDescription, SchemeTraits};
use crate::{ConfigError, Environment, Key, Keys, Kind, Range, Value, Values};
use thalweg_proto::datagram::{Pdu, Sink, Source, SourceConfig};
use thalweg_proto::payload::Payload;

/// Unreliable datagrams.
pub const SCHEME: SchemeDescription = SchemeDescription {
    name: "udp",
    keys_listed_under: "udp",
    about: "Unreliable datagrams.",
    keys: Keys {
        shared: &[SIZES],
        defaults: &[("segment", "1472 B"), ("header", "28 B")],
        ..Keys::own(KEYS)
    },
    traits: SchemeTraits {
        is_reliable: false,
        transport: <SourceConfig as Family>::NAME,
        has_fixed_rate: false,
        config_depends_on_path: false,
        overhead: 0,
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

const KEYS: &[Key] = &[key("rate", Kind::Rate, "", "Maximum sending rate, headers included.")
    .from_path("the path's rate, if known")
    .peer(Range::POSITIVE)];

fn apply_path_hints(values: &mut Values, path: &PathHints) {
    crate::scheme_description::suggest_live_segment(values, path, 0);
    if let Some(rate) = path.rate {
        values.suggest("rate", Value::Rate(rate));
    }
}

fn make_endpoint_configs(values: &Values, path: &PathHints) -> Result<EndpointConfigs, ConfigError> {
    let (segment, header) = match values.environment() {
        Environment::Simulated => (values.required("segment"), values.required("header")),
        Environment::Live => (super::local_segment(values, path, 0), LOWER_LAYER_OVERHEAD),
    };
    Ok(EndpointConfigs::Datagram(SourceConfig { segment, header, rate: values.required("rate") }))
}

fn write(ends: &EndpointConfigs, values: &mut Values) -> bool {
    let EndpointConfigs::Datagram(config) = ends else { return false };
    values.set_from("rate", &config.rate);
    values.set_from("segment", &config.segment);
    values.set_from("header", &config.header);
    true
}

impl Family for SourceConfig {
    const NAME: &'static str = "udp";
    const OVERHEAD: u32 = 0;
    type Pdu<P: Payload> = Pdu<P>;
    type Sender<P: Payload> = Source<P>;
    type Receiver<P: Payload> = Sink<P>;

    fn sender<P: Payload>(&self) -> Source<P> {
        Source::new(*self)
    }

    fn receiver<P: Payload>(&self) -> Sink<P> {
        Sink::new()
    }
}

impl Properties for SourceConfig {
    fn segment(&self) -> u32 {
        self.segment
    }

    fn description(&self) -> String {
        self.rate.map_or_else(String::new, |rate| format!(" at most at {rate}"))
    }

    fn is_reliable(&self) -> bool {
        false
    }

    fn window(&self) -> Option<u64> {
        None
    }

    fn rates(&self) -> ConfiguredRates {
        ConfiguredRates { max: self.rate, key: Some("rate"), agreed: None }
    }

    fn lacks_flow_control(&self) -> Option<&'static str> {
        Some("datagrams have no receive window: the sender cannot detect a slow application")
    }
}
