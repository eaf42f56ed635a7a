//! A scheme with all its parameters.

use super::writer::{Entries, text};
use std::sync::Arc;
use thalweg_catalog::{Ends, Registry};
use thalweg_proto::congestion::ControllerConfig;
use thalweg_proto::datagram::SourceConfig;
use thalweg_sim::spec::TransportSpec;

/// All keys of the scheme.
pub fn entries(transport: &TransportSpec, registry: &Registry) -> Entries {
    let mut entries = Entries::default();
    let (ends, header, ack) = parts(transport);
    let Some((description, mut values)) = registry.scheme_of(&ends) else {
        if let Ends::Window { controller: ControllerConfig::Custom(custom), .. } = &ends {
            entries.put("base", text(custom.name()));
        }
        return entries;
    };
    values.give("header", &header);
    if let Some(ack) = ack {
        values.give("ack", &ack);
    }
    entries.put("base", text(description.name));
    // First what is the scheme's own, then how large its packets are, then what others have too.
    let rank = |name: &str| {
        let is_own = description.keys.own.iter().any(|key| key.name == name);
        match (description.traits.is_window, name) {
            (true, _) if is_own => 0,
            (true, "ecn") => 1,
            (true, "segment") => 2,
            (true, "header") => 3,
            (_, "ack") => 4,
            (true, _) => 5,
            (false, _) => 0,
        }
    };
    let mut said = values.said().to_vec();
    said.sort_by_key(|(key, _)| rank(key.name));
    entries.values(&said);
    entries
}

/// Both ends, and what packets have beside their payload.
fn parts(transport: &TransportSpec) -> (Ends, u32, Option<u32>) {
    match transport {
        TransportSpec::Window { sender, receiver, controller, header, ack, .. } => {
            let (sender, receiver, controller) = (*sender, *receiver, controller.clone());
            (Ends::Window { sender, receiver, controller }, *header, Some(*ack))
        }
        TransportSpec::Datagram { segment, header, rate, .. } => {
            let config = SourceConfig { segment: *segment, header: *header, rate: *rate };
            (Ends::Datagram(config), *header, None)
        }
        TransportSpec::AdaptiveAck { config, header, ack, .. } => {
            (Ends::AdaptiveAck(*config), *header, Some(*ack))
        }
        TransportSpec::Sscop { config, header, .. } => {
            let config = thalweg_proto::sscop::EndpointConfig {
                sscop: Arc::clone(&config.sscop),
                segment: config.segment,
            };
            (Ends::Sscop(config), *header, None)
        }
        TransportSpec::Sstp { sender, receiver, header, control, .. } => {
            (Ends::Sstp { sender: *sender, receiver: *receiver }, *header, Some(*control))
        }
    }
}
