//! Snapshots of a running network for observers.

use crate::emulator::{Emulator, LinkDirectionState};
use crate::fidelity_record::Fidelity;
use std::sync::{Mutex, PoisonError};
use thalweg_proto::units::{Duration, Time};

/// Interval between snapshots.
pub(crate) const SNAPSHOT_INTERVAL: Duration = Duration::from_millis(250);

/// Snapshot of a network.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Time of the snapshot.
    pub at: Time,
    /// Link directions that carried traffic, in scenario order.
    pub lines: Vec<LinkDirectionState>,
    /// 99th percentile of the lateness that this host added to packets.
    pub lateness: Duration,
}

impl View {
    /// Merges the snapshots of several threads of one network.
    pub fn from_threads(views: impl Iterator<Item = Self>) -> Self {
        views.fold(Self::default(), |mut merged, view| {
            merged.at = merged.at.max(view.at);
            merged.lateness = merged.lateness.max(view.lateness);
            merged.lines.extend(view.lines);
            merged
        })
    }
}

/// Slot for a forwarding thread's latest snapshot, updated four times a second.
#[derive(Debug, Default)]
pub struct Watch(Mutex<View>);

impl Watch {
    /// Returns the last snapshot.
    pub fn view(&self) -> View {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn observe(&self, at: Time, emulator: &Emulator, fidelity: &Fidelity) {
        let view = View { at, lines: emulator.lines(at), lateness: fidelity.lateness.quantile(0.99) };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = view;
    }
}
