//! Writes workloads as keys of a scenario file.

use super::super::keys::{ReadingEntry, ReadingTable, WorkloadTable};
use super::super::toml_writer::{Entries, text};
use thalweg_sim::simulation_spec::{ReadingSpec, WorkloadSpec};

/// Formats a workload as TOML.
pub fn value(workload: &WorkloadSpec) -> String {
    match workload {
        WorkloadSpec::Bulk => text("bulk"),
        WorkloadSpec::Transfer(size) => format!("\"{size}\""),
        other => WorkloadTable::write(other).inline(),
    }
}

/// Formats an application's read rate as TOML.
pub fn reading(reading: Option<&ReadingSpec>) -> String {
    let Some(spec) = reading else { return text("unlimited") };
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
