//! A look at a running network from beside it.

use crate::emulator::{Emulator, Line};
use crate::fidelity::Fidelity;
use std::sync::{Mutex, PoisonError};
use thalweg_proto::units::{Duration, Time};

/// The time from one look to the next.
pub(crate) const EVERY: Duration = Duration::from_millis(250);

/// The state of a network at some time of its run.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The time.
    pub at: Time,
    /// The directions of links that carried something, in the order of the scenario.
    pub lines: Vec<Line>,
    /// One packet in a hundred left this late or more, because of this host.
    pub late: Duration,
}

impl View {
    /// The state of a network of which several threads have a part each.
    pub fn of_threads(views: impl Iterator<Item = Self>) -> Self {
        views.fold(Self::default(), |mut whole, view| {
            whole.at = whole.at.max(view.at);
            whole.late = whole.late.max(view.late);
            whole.lines.extend(view.lines);
            whole
        })
    }
}

/// A place where a thread that moves packets leaves what it sees, four times a second.
#[derive(Debug, Default)]
pub struct Watch(Mutex<View>);

impl Watch {
    /// The last look.
    pub fn view(&self) -> View {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn look(&self, at: Time, emulator: &Emulator, fidelity: &Fidelity) {
        let view = View { at, lines: emulator.lines(at), late: fidelity.late.quantile(0.99) };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = view;
    }
}
