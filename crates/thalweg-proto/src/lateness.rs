//! Drivers that wake an engine late.

use crate::units::{Duration, Time};

/// The allowance that an engine which spaces its packets makes for a driver that is late.
///
/// Hosts wake a program some time after the moment that it asked for. An engine that counted the next interval from then
/// would lose that time with every packet: 60 us each are a third of 100 Mbit/s. So what leaves late because of the driver
/// counts as sent when it was due, and what is due by then leaves with it. An engine that had nothing to send, or was not
/// allowed to, has nothing to catch up on; and a driver that is in time makes no difference at all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lateness {
    /// The time at which the driver is to poll: the engine waits for that moment and for nothing else.
    awaited: Option<Time>,
    /// The time of a poll that came too late.
    catching_up: Option<Time>,
}

/// No more than this is caught up on: a host that slept for long is not followed by a flood.
const MOST: Duration = Duration::from_millis(2);

impl Lateness {
    /// The engine has been polled. If a packet waits for its turn, this is when it comes.
    pub fn wait(&mut self, turn: Option<Time>) {
        self.awaited = turn;
    }

    /// The moment that counts for a packet that was `due` and leaves `now`.
    pub fn departure(&mut self, due: Time, now: Time) -> Time {
        if self.is_late(now) { due.max(now - MOST).min(now) } else { now }
    }

    /// True if the driver is late at `now`, a time at which a packet leaves.
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
        // The engine had nothing to send: it begins when it does.
        assert_eq!(lateness.departure(at(100), at(500)), at(500));
        // The driver is 50 us late, and what was due meanwhile leaves too.
        lateness.wait(Some(at(600)));
        assert_eq!(lateness.departure(at(600), at(650)), at(600));
        assert_eq!(lateness.departure(at(620), at(650)), at(620));
        // That is over at the next moment.
        assert_eq!(lateness.departure(at(640), at(651)), at(651));
        // In time; and so late that only a part is made good.
        lateness.wait(Some(at(700)));
        assert_eq!(lateness.departure(at(700), at(700)), at(700));
        assert_eq!(lateness.departure(at(690), at(700)), at(700));
        lateness.wait(Some(at(800)));
        assert_eq!(lateness.departure(at(800), at(10_000)), at(8000));
        // A turn that was given up: the window closed.
        lateness.wait(Some(at(11_000)));
        lateness.wait(None);
        assert_eq!(lateness.departure(at(11_000), at(12_000)), at(12_000));
    }
}
