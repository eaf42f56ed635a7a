//! Writes schemes as keys of a scenario file.

use super::super::toml_writer::{Entries, toml_string};
use thalweg_catalog::Registry;
use thalweg_sim::simulation_spec::TransportSpec;

/// Returns all keys of the scheme.
pub fn scheme_entries(transport: &TransportSpec, registry: &Registry) -> Entries {
    let mut entries = Entries::default();
    let Some((description, mut values)) = registry.scheme_of(&transport.endpoint_configs) else {
        if let Some(name) = transport.endpoint_configs.external_name() {
            entries.put("base", toml_string(name));
        }
        return entries;
    };
    for (key, size) in [("header", &transport.header), ("ack", &transport.control)] {
        if description.keys.find(key).is_some() {
            values.set_from(key, size);
        }
    }
    entries.put("base", toml_string(description.name));
    // The scheme's own keys first, then packet sizes, then shared keys.
    let rank = |name: &str| {
        let is_scheme_key = description.keys.own_keys.iter().any(|key| key.name == name);
        match (description.traits.is_window(), name) {
            (true, _) if is_scheme_key => 0,
            (true, "ecn") => 1,
            (true, "segment") => 2,
            (true, "header") => 3,
            (_, "ack") => 4,
            (true, _) => 5,
            (false, _) => 0,
        }
    };
    let mut explicit_values = values.explicit_values().to_vec();
    explicit_values.sort_by_key(|(key, _)| rank(key.name));
    entries.values(&explicit_values);
    entries
}
