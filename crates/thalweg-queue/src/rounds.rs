//! A line that serves its flows bit by bit in rounds, emulated.

use std::collections::BTreeSet;
use thalweg_proto::units::{Rate, Time};

/// A place on the scale of rounds, in 2^-32 bytes: how much every flow that always had something to send has been
/// given.
pub(crate) type Round = u128;

/// A byte on that scale.
const BYTE: Round = 1 << 32;

/// `bytes` on the scale of rounds.
pub(crate) fn of_bytes(bytes: u64) -> Round {
    Round::from(bytes) * BYTE
}

/// The round number R(t) of Demers, Keshav and Shenker (1989, section 2.2).
///
/// It grows at μ / N, where μ is the line's rate and N the number of active flows, each counted by its weight: those whose last packet has not
/// been sent in full if the line gave one bit to each in turn. Work is what the line has really done: packets are
/// counted in full when the line is free again, and in between as far as the rate tells, so that a wrong or changing
/// rate is at most a packet out.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    now: Round,
    /// Work done but too little to give every active flow the smallest unit.
    carry: u128,
    /// Active flows by the finish number of their last packet, with their weights.
    active: BTreeSet<(Round, u32, u32)>,
    /// The sum of their weights.
    weights: u128,
    rate: Rate,
    /// The packet on the line: since when, its work, and how much of that is counted.
    service: Option<Service>,
}

#[derive(Clone, Copy, Debug)]
struct Service {
    since: Time,
    work: u128,
    counted: u128,
}

impl Rounds {
    pub(crate) const fn new() -> Self {
        Self { now: 0, carry: 0, active: BTreeSet::new(), weights: 0, rate: Rate::ZERO, service: None }
    }

    pub(crate) const fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// The round number as of the last call that counted work.
    pub(crate) const fn now(&self) -> Round {
        self.now
    }

    /// True while the last packet of the flow with this finish number has not been sent in full.
    pub(crate) fn is_active(&self, finish: Round) -> bool {
        finish > self.now
    }

    /// The last finish number of a flow, which keeps its weight while it is active, changes from `old` to `new`.
    pub(crate) fn change(&mut self, lane: u32, weight: u32, old: Round, new: Round) {
        if self.active.remove(&(old, lane, weight)) {
            self.weights -= u128::from(weight);
        }
        if self.is_active(new) && self.active.insert((new, lane, weight)) {
            self.weights += u128::from(weight);
        }
    }

    /// Counts the work that the line has done up to `now`, and tells the flows that became inactive to `ended`.
    pub(crate) fn advance(&mut self, now: Time, ended: impl FnMut(u32)) {
        if let Some(service) = &mut self.service {
            let done = of_bytes(self.rate.bytes_in(now.since(service.since)).get()).min(service.work);
            let more = done.saturating_sub(service.counted);
            service.counted += more;
            self.work(more, ended);
        }
    }

    /// The line is free: its packet is counted in full.
    pub(crate) fn complete(&mut self, ended: impl FnMut(u32)) {
        if let Some(service) = self.service.take() {
            self.work(service.work - service.counted, ended);
        }
    }

    /// The line begins to send a packet of `size` bytes of some flow.
    pub(crate) fn serve(&mut self, now: Time, size: u32) {
        self.service = Some(Service { since: now, work: of_bytes(u64::from(size)), counted: 0 });
    }

    fn work(&mut self, amount: u128, mut ended: impl FnMut(u32)) {
        let mut left = self.carry + amount;
        while let Some(&(finish, lane, weight)) = self.active.first() {
            let flows = self.weights;
            let needed = (finish - self.now) * flows;
            if needed > left {
                self.now += left / flows;
                self.carry = left % flows;
                return;
            }
            left -= needed;
            self.now = finish;
            self.active.pop_first();
            self.weights -= u128::from(weight);
            ended(lane);
        }
        // Nobody is left to be served: packets dropped after the emulated line had begun to send them leave work over.
        self.carry = 0;
    }
}

#[cfg(test)]
mod tests {
    //! Proves that the round number grows as the paper says.
    use super::*;
    use thalweg_proto::units::Duration;

    /// At 8 Mbit/s a byte takes a microsecond.
    fn rounds() -> Rounds {
        let mut rounds = Rounds::new();
        rounds.set_rate(Rate::from_mbits_per_sec(8));
        rounds
    }

    fn us(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn it_grows_by_the_rate_over_the_number_of_active_flows() {
        // Two flows with 100 and 300 bytes: R grows at half a byte a microsecond until both have had 100, and then
        // at one, until the second has had 300.
        let mut rounds = rounds();
        rounds.change(0, 1, 0, of_bytes(100));
        rounds.change(1, 1, 0, of_bytes(300));
        rounds.serve(us(0), 400);
        let mut ended = Vec::new();
        let mut at = |micros, rounds: &mut Rounds| {
            rounds.advance(us(micros), |lane| ended.push(lane));
            (rounds.now() / BYTE, ended.clone())
        };
        assert_eq!(at(100, &mut rounds), (50, vec![]));
        assert_eq!(at(200, &mut rounds), (100, vec![0]));
        assert_eq!(at(300, &mut rounds), (200, vec![0]));
        assert_eq!(at(400, &mut rounds), (300, vec![0, 1]));
        assert_eq!(at(900, &mut rounds), (300, vec![0, 1]));
    }

    #[test]
    fn without_a_rate_packets_count_when_they_have_left() {
        // Nothing is known on the way; in the end all of it is counted, and no more.
        let mut rounds = Rounds::new();
        rounds.change(0, 1, 0, of_bytes(500));
        rounds.serve(us(0), 100);
        rounds.advance(us(50), |_| {});
        assert_eq!(rounds.now(), 0);
        rounds.complete(|_| {});
        rounds.complete(|_| {});
        assert_eq!(rounds.now(), of_bytes(100));
    }

    #[test]
    fn no_work_is_lost_by_rounding() {
        // Seven flows of 3 bytes and 21 packets of a byte: all end with the last one, none before.
        let mut rounds = rounds();
        (0..7).for_each(|lane| rounds.change(lane, 1, 0, of_bytes(3)));
        let mut ended = 0;
        for _ in 0..20 {
            rounds.serve(us(0), 1);
            rounds.complete(|_| ended += 1);
        }
        assert_eq!(ended, 0);
        rounds.serve(us(0), 1);
        rounds.complete(|_| ended += 1);
        assert_eq!((ended, rounds.now()), (7, of_bytes(3)));
    }
}
