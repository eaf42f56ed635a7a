//! States of congestion controllers over time, with their state variables.

use crate::run_result::{StateVariable, StateVisit};
use thalweg_proto::congestion::CongestionState;
use thalweg_proto::units::Time;

/// Maximum number of recorded state visits of a flow; later ones are dropped.
const MAX_VISITS: usize = 4096;

impl StateVariable {
    fn new(name: &'static str, value: f64) -> Self {
        Self { name, first: value, last: value, min: value, max: value }
    }

    fn record(&mut self, value: f64) {
        self.last = value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }
}

/// The visits of a flow so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Visits {
    visits: Vec<StateVisit>,
    is_full: bool,
}

impl Visits {
    /// Records the current state of the controller; `further` are the state variables of all senders.
    pub fn record(
        &mut self,
        now: Time,
        state: &CongestionState,
        further: impl Iterator<Item = (&'static str, f64)>,
    ) {
        if self.is_full {
            return;
        }
        let values = further.chain(state.state_variables());
        let last = self.visits.last_mut();
        if let Some(visit) = last {
            visit.until = now;
            if visit.state == state.name {
                for (variable, (_, value)) in visit.state_variables.iter_mut().zip(values) {
                    variable.record(value);
                }
                return;
            }
        }
        if self.visits.len() == MAX_VISITS {
            self.is_full = true;
            return;
        }
        let state_variables = values.map(|(name, value)| StateVariable::new(name, value)).collect();
        self.visits.push(StateVisit { state: state.name, from: now, until: now, state_variables });
    }

    pub fn finish(self) -> Vec<StateVisit> {
        self.visits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::units::Duration;

    fn state_visits(of: &[(u64, &'static str, f64)]) -> Vec<StateVisit> {
        let mut visits = Visits::default();
        for (millis, name, value) in of {
            let mut state_variables = [("", 0.0); CongestionState::MAX_VARIABLES];
            state_variables[0] = ("bandwidth_bps", *value);
            let state = CongestionState { name, state_variables };
            visits.record(
                Time::ZERO + Duration::from_millis(*millis),
                &state,
                [("window_packets", 2.0)].into_iter(),
            );
        }
        visits.finish()
    }

    #[test]
    fn a_visit_lasts_until_another_state_is_seen() {
        let visits =
            state_visits(&[(0, "startup", 3.0), (5, "startup", 1.0), (7, "drain", 4.0), (9, "startup", 5.0)]);
        let times = |visit: &StateVisit| {
            (visit.state, visit.from.as_picos() / 1_000_000_000, visit.until.as_picos() / 1_000_000_000)
        };
        let all: Vec<_> = visits.iter().map(times).collect();
        assert_eq!(all, [("startup", 0, 7), ("drain", 7, 9), ("startup", 9, 9)]);
        let variable = visits[0].state_variables[1];
        assert_eq!(
            (variable.name, variable.first, variable.last, variable.min, variable.max),
            ("bandwidth_bps", 3.0, 1.0, 1.0, 3.0)
        );
    }

    #[test]
    fn memory_is_bounded() {
        let many: Vec<_> = (0..10_000).map(|at| (at, if at % 2 == 0 { "on" } else { "off" }, 0.0)).collect();
        assert_eq!(state_visits(&many).len(), MAX_VISITS);
    }
}
