//! Emulation of bit-by-bit round-robin service.

use std::collections::BTreeSet;
use thalweg_proto::units::{Rate, Time};

/// Round number in 2^-32 bytes: the service received by every continuously backlogged flow.
pub(crate) type Round = u128;

/// One byte as a round number.
const BYTE: Round = 1 << 32;

/// Converts `bytes` to a round number.
pub(crate) fn of_bytes(bytes: u64) -> Round {
    Round::from(bytes) * BYTE
}

/// Round number R(t) of Demers, Keshav and Shenker (1989, section 2.2).
///
/// It grows at μ / N, where μ is the line's rate and N the weighted number of active flows. A flow is active until
/// bit-by-bit round-robin service would have sent its last packet. The work counted is the work really done by the
/// line: packets count in full when the line is free again, and before that according to the rate. A wrong or changing
/// rate thus causes an error of at most one packet.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    now: Round,
    /// Remaining work, too little for the smallest unit of every active flow.
    carry: u128,
    /// Active flows by the finish number of their last packet, with their weights.
    active: BTreeSet<(Round, u32, u32)>,
    /// Sum of their weights.
    weights: u128,
    rate: Rate,
    /// Packet in service: its start time, its work, and the work already counted.
    service: Option<Service>,
}

#[derive(Clone, Copy, Debug)]
struct Service {
    since: Time,
    work: u128,
    counted_bits: u128,
}

impl Rounds {
    pub(crate) const fn new() -> Self {
        Self { now: 0, carry: 0, active: BTreeSet::new(), weights: 0, rate: Rate::ZERO, service: None }
    }

    pub(crate) const fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// Returns the round number as of the last counted work.
    pub(crate) const fn now(&self) -> Round {
        self.now
    }

    /// Returns true while the last packet of the flow with this finish number is not fully sent.
    pub(crate) fn is_active(&self, finish: Round) -> bool {
        finish > self.now
    }

    /// Changes the last finish number of a flow from `old` to `new`. An active flow keeps its weight.
    pub(crate) fn change(&mut self, lane: u32, weight: u32, old: Round, new: Round) {
        if self.active.remove(&(old, lane, weight)) {
            self.weights -= u128::from(weight);
        }
        if self.is_active(new) && self.active.insert((new, lane, weight)) {
            self.weights += u128::from(weight);
        }
    }

    /// Counts the work done by the line up to `now`, and passes newly inactive flows to `take_inactive`.
    pub(crate) fn advance(&mut self, now: Time, take_inactive: impl FnMut(u32)) {
        if let Some(service) = &mut self.service {
            let done = of_bytes(self.rate.bytes_in(now.since(service.since)).get()).min(service.work);
            let more = done.saturating_sub(service.counted_bits);
            service.counted_bits += more;
            self.work(more, take_inactive);
        }
    }

    /// Completes the packet in service, and counts it in full.
    pub(crate) fn complete(&mut self, take_inactive: impl FnMut(u32)) {
        if let Some(service) = self.service.take() {
            self.work(service.work - service.counted_bits, take_inactive);
        }
    }

    /// Starts the service of a packet of `size` bytes.
    pub(crate) fn serve(&mut self, now: Time, size: u32) {
        self.service = Some(Service { since: now, work: of_bytes(u64::from(size)), counted_bits: 0 });
    }

    fn work(&mut self, amount: u128, mut take_inactive: impl FnMut(u32)) {
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
            take_inactive(lane);
        }
        // No flow is active: packets dropped after the start of their emulated service leave work over.
        self.carry = 0;
    }
}

#[cfg(test)]
mod tests {
    //! Tests that the round number grows as in the paper.
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
        let mut ended_lanes = Vec::new();
        let mut at = |micros, rounds: &mut Rounds| {
            rounds.advance(us(micros), |lane| ended_lanes.push(lane));
            (rounds.now() / BYTE, ended_lanes.clone())
        };
        assert_eq!(at(100, &mut rounds), (50, vec![]));
        assert_eq!(at(200, &mut rounds), (100, vec![0]));
        assert_eq!(at(300, &mut rounds), (200, vec![0]));
        assert_eq!(at(400, &mut rounds), (300, vec![0, 1]));
        assert_eq!(at(900, &mut rounds), (300, vec![0, 1]));
    }

    #[test]
    fn without_a_rate_packets_count_when_they_have_left() {
        // Without a rate nothing is counted during service; afterwards exactly the whole packet is.
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
        let mut ended_lanes = 0;
        for _ in 0..20 {
            rounds.serve(us(0), 1);
            rounds.complete(|_| ended_lanes += 1);
        }
        assert_eq!(ended_lanes, 0);
        rounds.serve(us(0), 1);
        rounds.complete(|_| ended_lanes += 1);
        assert_eq!((ended_lanes, rounds.now()), (7, of_bytes(3)));
    }
}
