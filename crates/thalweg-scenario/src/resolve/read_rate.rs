//! Resolves the keys of read rates to their specification.

use super::super::keys::{ReadRate, Reading};
use super::super::table_declarations::{Fields, Spanned};
use super::Resolver;
use std::sync::Arc;
use thalweg_proto::units::{Rate, Time};
use thalweg_sim::simulation_spec::{ReadingChange, ReadingSpec};

impl Resolver<'_> {
    /// Returns the read rate of the sink application; `None` if it reads without delay.
    pub(super) fn reading(&mut self, reading: &Spanned<Reading>) -> Option<Arc<ReadingSpec>> {
        let mut table = match &reading.value {
            Reading::Steady(ReadRate(Rate::MAX)) => return None,
            &Reading::Steady(ReadRate(rate)) => {
                return Some(Arc::new(ReadingSpec { rate, changes: Vec::new() }));
            }
            Reading::Table(table) => table.clone(),
        };
        table.inherit(Fields::defaults());
        let mut spec = ReadingSpec { rate: Rate::MAX, changes: Vec::new() };
        table.fill(&mut spec);
        let entries = table.schedule.iter().flat_map(|at| &at.value);
        spec.changes = entries
            .map(|entry| {
                let mut change = ReadingChange { at: Time::ZERO, rate: Rate::MAX, announced: false };
                entry.fill(&mut change);
                change
            })
            .collect();
        spec.changes.sort_by_key(|change| change.at);
        (spec.rate < Rate::MAX || !spec.changes.is_empty()).then(|| Arc::new(spec))
    }
}
