//! Applications that read at their own pace.

use super::super::keys::{ReadRate, Reading};
use super::super::table::{At, Fields};
use super::Resolver;
use std::sync::Arc;
use thalweg_proto::units::{Rate, Time};
use thalweg_sim::spec::{ReadingChange, ReadingSpec};

impl Resolver<'_> {
    /// The pace at which the application at the sink reads; `None` where it reads everything at once.
    pub(super) fn reading(&mut self, reading: &At<Reading>) -> Option<Arc<ReadingSpec>> {
        let mut table = match &reading.value {
            Reading::Steady(ReadRate(Rate::MAX)) => return None,
            &Reading::Steady(ReadRate(rate)) => {
                return Some(Arc::new(ReadingSpec { rate, changes: Vec::new() }));
            }
            Reading::Table(table) => table.clone(),
        };
        table.inherit(Fields::defaults());
        let ReadRate(rate) = table.rate.as_deref().copied()?;
        let entries = table.schedule.iter().flat_map(|at| &at.value);
        let mut changes: Vec<ReadingChange> = entries
            .filter_map(|entry| {
                Some(ReadingChange {
                    at: Time::ZERO + entry.at.as_ref()?.value,
                    rate: entry.rate.as_ref()?.value.0,
                    announced: entry.announced.as_deref().copied().unwrap_or_default(),
                })
            })
            .collect();
        changes.sort_by_key(|change| change.at);
        (rate < Rate::MAX || !changes.is_empty()).then(|| Arc::new(ReadingSpec { rate, changes }))
    }
}
