//! Writes workloads as keys of a scenario file.

use super::super::keys::{ReadingEntry, ReadingTable, WorkloadTable};
use super::super::toml_writer::{Entries, toml_string};
use thalweg_sim::simulation_spec::{ReadingSpec, WorkloadSpec};

/// Formats a workload as TOML.
pub fn workload_value(workload: &WorkloadSpec) -> String {
    match workload {
        WorkloadSpec::Bulk => toml_string("bulk"),
        WorkloadSpec::Transfer(size) => format!("\"{size}\""),
        other => WorkloadTable::write(other).inline(),
    }
}

/// Formats an application's read rate as TOML.
pub fn reading_value(reading: Option<&ReadingSpec>) -> String {
    let Some(spec) = reading else { return toml_string("unlimited") };
    let mut entries = Entries::default();
    ReadingTable::write(spec, &mut entries);
    let changes = spec.changes.iter().map(|change| {
        let mut entry = Entries::default();
        ReadingEntry::write(change, &mut entry);
        entry.inline()
    });
    entries.put("schedule", format!("[{}]", changes.collect::<Vec<_>>().join(", ")));
    entries.inline()
}
