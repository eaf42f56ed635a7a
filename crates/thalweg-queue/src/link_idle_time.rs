//! Idle times of the link behind a queue.

use crate::Entry;
use thalweg_proto::units::{Bytes, Rate, Time};

/// Idle times of the link, for disciplines whose rules depend on them (RED, Blue).
///
/// No call reports that a link becomes idle: `dequeue` is called only while a packet waits. The idle time begins when the
/// packet dequeued last has been transmitted, and ends at the next arrival at the empty queue. The discipline needs
/// [`Traits::enqueues_when_link_idle`](crate::Traits::enqueues_when_link_idle): packets that find the link free are then enqueued
/// and dequeued at once, and otherwise bypass it.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkIdle {
    rate: Rate,
    idle_since: Time,
}

impl LinkIdle {
    /// Creates the state of a link that was never busy.
    pub const fn new() -> Self {
        Self { rate: Rate::ZERO, idle_since: Time::ZERO }
    }

    /// Sets the rate of the link, as [`Discipline::set_rate`](crate::Discipline::set_rate) reports it.
    pub const fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// Returns the rate of the link; zero if it is unknown.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Records that `entry` was dequeued at `now`, and thus is transmitted from now on. Its transmission time counts as
    /// zero if the rate is unknown.
    pub fn on_dequeue(&mut self, now: Time, entry: &Entry) {
        self.idle_since = now;
        if !self.rate.is_zero() {
            self.idle_since += self.rate.transmission_time(Bytes::new(u64::from(entry.size)));
        }
    }

    /// Returns the end of the last transmission, at which the link becomes idle if the queue is empty: at an arrival at
    /// the empty queue, `now.since(link.since())` is the idle time, and zero while the link transmits.
    pub const fn since(&self) -> Time {
        self.idle_since
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_helpers::ordinary_entry;
    use thalweg_proto::units::Duration;

    /// At 8 Mbit/s a packet of 1000 bytes takes a millisecond.
    #[test]
    fn an_idle_time_begins_with_the_end_of_the_last_transmission() {
        let ms = |millis| Time::ZERO + Duration::from_millis(millis);
        let entry = Entry { size: 1000, ..ordinary_entry(0) };
        let mut link = LinkIdle::new();
        assert_eq!(ms(7).since(link.since()), Duration::from_millis(7));
        link.on_dequeue(ms(10), &entry);
        assert_eq!(link.since(), ms(10), "the rate is unknown");
        link.set_rate(Rate::from_mbits_per_sec(8));
        link.on_dequeue(ms(10), &entry);
        assert_eq!((link.since(), ms(10).since(link.since())), (ms(11), Duration::ZERO));
        assert_eq!(ms(15).since(link.since()), Duration::from_millis(4));
    }
}
