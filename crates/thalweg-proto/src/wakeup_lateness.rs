//! Compensation for drivers that wake an engine late.

use crate::units::{Duration, Time};

/// Compensation of a pacing engine for a late driver.
///
/// Hosts wake a program some time after the requested moment. An engine that counted the next interval from the wake-up
/// would lose that time with every packet: 60 us each are a third of 100 Mbit/s. A packet that leaves late because of
/// the driver therefore counts as sent when it was due, and all packets due by then leave with it. An engine that had
/// nothing to send, or was not allowed to send, catches up on nothing. A punctual driver is unaffected.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lateness {
    /// Time of the requested poll, if the engine waits for pacing alone.
    awaited: Option<Time>,
    /// Time of a poll that came too late.
    catching_up: Option<Time>,
}

/// Maximum lateness that is compensated: it bounds the burst after a long sleep of the host.
const MAX_COMPENSATED: Duration = Duration::from_millis(2);

impl Lateness {
    /// Records the end of a poll: `turn` is the pacing time of the next waiting packet, if any.
    pub fn wait(&mut self, turn: Option<Time>) {
        self.awaited = turn;
    }

    /// Returns the departure time to count for a packet that was `due` and leaves `now`.
    pub fn departure(&mut self, due: Time, now: Time) -> Time {
        if self.is_late(now) { due.max(now - MAX_COMPENSATED).min(now) } else { now }
    }

    /// Returns true if the driver is late at `now`, a departure time.
    fn is_late(&mut self, now: Time) -> bool {
        if self.awaited.take().is_some_and(|at| at < now) {
            self.catching_up = Some(now);
        }
        self.catching_up == Some(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_drivers_delay_is_caught_up_on() {
        let at = |micros| Time::ZERO + Duration::from_micros(micros);
        let mut lateness = Lateness::default();
        // The engine had nothing to send: pacing starts with the first packet.
        assert_eq!(lateness.departure(at(100), at(500)), at(500));
        // The driver is 50 us late: packets due in that time leave too.
        lateness.wait(Some(at(600)));
        assert_eq!(lateness.departure(at(600), at(650)), at(600));
        assert_eq!(lateness.departure(at(620), at(650)), at(620));
        // The compensation ends at the next moment.
        assert_eq!(lateness.departure(at(640), at(651)), at(651));
        // First in time; then so late that only a part is compensated.
        lateness.wait(Some(at(700)));
        assert_eq!(lateness.departure(at(700), at(700)), at(700));
        assert_eq!(lateness.departure(at(690), at(700)), at(700));
        lateness.wait(Some(at(800)));
        assert_eq!(lateness.departure(at(800), at(10_000)), at(8000));
        // A cancelled wait: the window closed.
        lateness.wait(Some(at(11_000)));
        lateness.wait(None);
        assert_eq!(lateness.departure(at(11_000), at(12_000)), at(12_000));
    }
}
