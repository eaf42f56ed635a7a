//! Writes queues and their disciplines as keys of a scenario file.

use super::super::toml_writer::{Entries, toml_string};
use thalweg_catalog::Registry;
use thalweg_proto::units::Bytes;
use thalweg_queue::{DisciplineSpec, Limit};

/// Returns all keys of a queue.
pub fn queue_entries(queue: &DisciplineSpec, registry: &Registry) -> Entries {
    let mut entries = Entries::default();
    let described = registry.discipline_of(queue);
    if let Some((discipline, _)) = &described {
        entries.put("discipline", toml_string(discipline.name));
    }
    entries.put("capacity", toml_string(&format_capacity(queue.limit())));
    if let Some((_, values)) = &described {
        entries.values(values.explicit_values());
    }
    entries
}

/// Formats a capacity as in scenarios.
pub fn format_capacity(limit: Limit) -> String {
    match limit {
        Limit::Packets(packets) => format!("{packets} pkt"),
        Limit::Bytes(bytes) => Bytes::new(bytes).to_string(),
        Limit::Unlimited => "unlimited".to_owned(),
    }
}
