//! The queue discipline Virtual Clock (Zhang 1990).

use crate::flow_weights::Weights;
use crate::impairment_spec::above_zero;
use crate::queue_occupancy::Occupancy;
use crate::{
    Discipline, DisciplineConfig, DropReason, DroppedPacket, Entry, Limit, RandomStreams, SpecError, Traits,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use thalweg_proto::units::{Bytes, Rate, Time};

/// Parameters of [`VirtualClock`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VirtualClockConfig {
    /// Reserved rate of a flow of weight 1. `None` is a tenth of the line's rate.
    pub flow_rate: Option<Rate>,
    /// Weights of flows by their priority: a flow of weight 3 reserves three times the rate.
    pub weights: Weights,
}

/// Virtual Clock (Zhang 1990): packets leave in the order in which they would in time-division multiplexing, with a
/// clock for each flow that advances by P / r at a packet of P bytes of a flow with the reserved rate r.
///
/// At an arrival the clock is set to the present if it is behind, then advanced; its value is the packet's stamp. The
/// packet with the lowest stamp leaves next, in order of arrival if stamps are equal. A flow that keeps to its rate has
/// stamps near the present, however much the others send. A flow that has sent more in an idle network has a clock that
/// is ahead, and waits until those behind it have had their rates.
///
/// On overflow the packet with the highest stamp is dropped. A clock advances at dropped packets too. A flow that keeps on
/// sending more than its reservation is served while the others leave a part of the line idle, and its clock runs ahead:
/// once they use the rest of the line, it gets nothing until the present has reached its clock. Urgent packets leave before all others and advance no clock.
///
/// Differences from the paper:
///
/// | paper | here | reason | effect |
/// | --- | --- | --- | --- |
/// | reservations by a set-up protocol | one rate, times the [weight](Weights) of the flow | flows here make no reservations | reservations may exceed the line's rate: then clocks stay near the present, and the order is nearly first come, first served |
/// | a second clock for each flow, and advice to sources whose clock is too far ahead or behind | none | the sources here have no agreed rate to return to | none on the order of service |
/// | number of clocks not discussed | clocks that are behind the present are forgotten, and of more than [`MAX_FLOW_CLOCKS`](VirtualClock::MAX_FLOW_CLOCKS) the least advanced one | bounded memory | a forgotten clock that was ahead gains a service |
#[derive(Clone, Debug)]
pub struct VirtualClock {
    config: VirtualClockConfig,
    occupancy: Occupancy,
    urgent: VecDeque<Entry>,
    /// Queued packets by stamp, then by arrival.
    packets: BTreeMap<(VirtualTimePicos, u64), Entry>,
    flow_clocks: BTreeMap<u32, VirtualTimePicos>,
    /// The same clocks, by value.
    flows_by_clock: BTreeSet<(VirtualTimePicos, u32)>,
    link_rate: Rate,
    next_arrival_number: u64,
}

/// Value of a clock, in picoseconds: wider than [`Time`], so that no sum of packets overflows it.
type VirtualTimePicos = u128;

impl VirtualClock {
    /// Maximum number of clocks ahead of the present.
    pub const MAX_FLOW_CLOCKS: usize = 1 << 16;
    /// Reserved rate where neither it nor the line's rate is known.
    pub const FALLBACK_RATE: Rate = Rate::from_mbits_per_sec(1);
    /// Part of the line's rate that a flow reserves by default.
    const DEFAULT_LINK_FRACTION: f64 = 0.1;

    /// Creates an empty queue with this limit.
    pub const fn new(limit: Limit, config: VirtualClockConfig) -> Self {
        Self {
            config,
            occupancy: Occupancy::new(limit),
            urgent: VecDeque::new(),
            packets: BTreeMap::new(),
            flow_clocks: BTreeMap::new(),
            flows_by_clock: BTreeSet::new(),
            link_rate: Rate::ZERO,
            next_arrival_number: 0,
        }
    }

    /// Returns the reserved rate of a flow of weight 1, above zero.
    fn flow_rate(&self) -> Rate {
        let link_fraction =
            || Some(self.link_rate.mul_f64(Self::DEFAULT_LINK_FRACTION)).filter(|rate| !rate.is_zero());
        self.config.flow_rate.or_else(link_fraction).unwrap_or(Self::FALLBACK_RATE)
    }

    /// Returns the advance of a flow's clock at a packet.
    fn vtick(&self, entry: &Entry) -> VirtualTimePicos {
        let time = self.flow_rate().transmission_time(Bytes::new(u64::from(entry.size)));
        VirtualTimePicos::from(time.as_picos()) / VirtualTimePicos::from(self.config.weights.weight_of(entry))
    }

    /// Advances the clock of a packet's flow, and returns its new value.
    fn advance_flow_clock(&mut self, now: Time, entry: &Entry) -> VirtualTimePicos {
        let now = VirtualTimePicos::from(now.as_picos());
        while let Some(&(clock, flow)) = self.flows_by_clock.first() {
            if clock > now && self.flow_clocks.len() <= Self::MAX_FLOW_CLOCKS {
                break;
            }
            self.flows_by_clock.pop_first();
            self.flow_clocks.remove(&flow);
        }
        let previous_clock = self.flow_clocks.get(&entry.flow).copied();
        let clock = previous_clock.unwrap_or(now).max(now) + self.vtick(entry);
        if let Some(previous_clock) = previous_clock {
            self.flows_by_clock.remove(&(previous_clock, entry.flow));
        }
        self.flow_clocks.insert(entry.flow, clock);
        self.flows_by_clock.insert((clock, entry.flow));
        clock
    }

    /// Drops the packets with the highest stamps until the rest fits.
    fn drop_excess(&mut self, dropped: &mut Vec<DroppedPacket>) {
        while self.occupancy.is_exceeded() {
            let Some((_, entry)) = self.packets.pop_last() else { return };
            self.occupancy.remove(&entry);
            dropped.push(DroppedPacket { entry, reason: DropReason::Full });
        }
    }
}

impl Discipline for VirtualClock {
    fn enqueue(&mut self, now: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        if entry.is_feedback {
            self.occupancy.enqueue_urgent(entry, &mut self.urgent, dropped);
            return;
        }
        let stamp = self.advance_flow_clock(now, &entry);
        self.occupancy.add(&entry);
        self.packets.insert((stamp, self.next_arrival_number), entry);
        self.next_arrival_number += 1;
        self.drop_excess(dropped);
    }

    fn dequeue(&mut self, _now: Time, _dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        if let Some(entry) = self.occupancy.dequeue_urgent(&mut self.urgent) {
            return Some(entry);
        }
        let (_, entry) = self.packets.pop_first()?;
        self.occupancy.remove(&entry);
        Some(entry)
    }

    fn packets(&self) -> u64 {
        self.occupancy.packets()
    }

    fn bytes(&self) -> u64 {
        self.occupancy.bytes()
    }

    fn set_rate(&mut self, rate: Rate) {
        self.link_rate = rate;
    }

    fn set_limit(&mut self, _now: Time, limit: Limit, dropped: &mut Vec<DroppedPacket>) {
        self.occupancy.set_limit(limit);
        self.drop_excess(dropped);
        self.occupancy.drop_excess_urgent(&mut self.urgent, dropped);
    }
}

impl DisciplineConfig for VirtualClockConfig {
    type Queue = VirtualClock;
    const NAME: &'static str = "virtual-clock";

    fn check(&self) -> Result<(), SpecError> {
        self.weights.check()?;
        self.flow_rate.map_or(Ok(()), |rate| above_zero("rate", rate.as_f64()))
    }

    fn make(&self, limit: Limit, _: RandomStreams<'_>) -> VirtualClock {
        VirtualClock::new(limit, *self)
    }

    fn traits(&self) -> Traits {
        Traits {
            keeps_arrival_order: false,
            drops_early: false,
            marks_ecn: false,
            is_random: false,
            enqueues_when_link_idle: true,
            depends_on_priority: self.weights.differ(),
            isolates_hosts: false,
        }
    }

    fn description(&self) -> String {
        self.flow_rate.map_or_else(
            || "Virtual Clock queue".to_owned(),
            |rate| format!("Virtual Clock queue with {rate} for each flow"),
        )
    }
}

#[cfg(test)]
mod tests {
    //! Tests Virtual Clock: stamps by the definition, isolation of flows, and memory.
    use super::*;
    use crate::test_helpers::{dequeue_all, enqueue_and_list_drops, ordinary_entry};
    use thalweg_proto::units::Duration;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// 8 kbit/s for each flow: a packet of 1000 bytes advances its clock by a second.
    fn queue(limit: Limit) -> VirtualClock {
        let config =
            VirtualClockConfig { flow_rate: Some(Rate::from_bits_per_sec(8000)), ..Default::default() };
        VirtualClock::new(limit, config)
    }

    fn entry(packet: u32, flow: u32) -> Entry {
        Entry { flow, ..ordinary_entry(packet) }
    }

    #[test]
    fn packets_leave_in_the_order_of_their_stamps() {
        // Flow 1 has stamps of 1, 2 and 3 s; flow 2 of 1.5 s, at 0.5 s; flow 3, at 1.2 s, 2.2 s.
        let mut queue = queue(Limit::Unlimited);
        for packet in 0..3 {
            enqueue_and_list_drops(&mut queue, ms(0), entry(packet, 1));
        }
        enqueue_and_list_drops(&mut queue, ms(500), entry(3, 2));
        enqueue_and_list_drops(&mut queue, ms(1200), entry(4, 3));
        assert_eq!(dequeue_all(&mut queue, ms(1200)), [0, 3, 1, 4, 2]);
    }

    #[test]
    fn a_clock_behind_the_present_is_set_to_it() {
        // Flow 1 was silent for 10 s and saves nothing: its two packets have stamps of 11 and 12 s, flow 2's 11.5 s.
        let mut queue = queue(Limit::Unlimited);
        enqueue_and_list_drops(&mut queue, ms(0), entry(0, 1));
        assert_eq!(dequeue_all(&mut queue, ms(0)), [0]);
        enqueue_and_list_drops(&mut queue, ms(10_000), entry(1, 1));
        enqueue_and_list_drops(&mut queue, ms(10_000), entry(2, 1));
        enqueue_and_list_drops(&mut queue, ms(10_500), entry(3, 2));
        assert_eq!(dequeue_all(&mut queue, ms(10_500)), [1, 3, 2]);
    }

    #[test]
    fn a_flow_that_used_an_idle_line_waits_for_the_others() {
        // Flow 1 sends 10 packets alone within a millisecond. Its clock is at 10 s, so each packet of flow 2 in
        // the next 8 seconds leaves before its next one.
        let mut queue = queue(Limit::Unlimited);
        for packet in 0..10 {
            enqueue_and_list_drops(&mut queue, ms(0), entry(packet, 1));
        }
        dequeue_all(&mut queue, ms(1));
        enqueue_and_list_drops(&mut queue, ms(1), entry(10, 1));
        for packet in 11..20 {
            enqueue_and_list_drops(&mut queue, ms(1), entry(packet, 2));
        }
        assert_eq!(dequeue_all(&mut queue, ms(1)), [11, 12, 13, 14, 15, 16, 17, 18, 19, 10]);
    }

    #[test]
    fn a_flow_within_its_rate_waits_for_one_packet_at_most() {
        // The line sends 10 packets a second. Flow 1 offers a packet a second, its rate; flow 2 offers 20.
        // A packet of flow 1 leaves with the next service, since flow 2's clock is ever farther ahead.
        let mut queue = queue(Limit::Unlimited);
        let mut departures = Vec::new();
        for tenth_second in 0..300u32 {
            let now = ms(100 * u64::from(tenth_second));
            for copy_index in 0..2 {
                enqueue_and_list_drops(&mut queue, now, entry(1000 + 2 * tenth_second + copy_index, 2));
            }
            if tenth_second % 10 == 5 {
                enqueue_and_list_drops(&mut queue, now, entry(tenth_second, 1));
            }
            let served = queue.dequeue(now, &mut Vec::new()).unwrap();
            if served.flow == 1 {
                departures.push(served.packet);
                assert_eq!(served.packet, tenth_second);
            }
        }
        assert_eq!(departures.len(), 30);
    }

    #[test]
    fn reserved_rates_are_in_proportion_to_weights() {
        let config = VirtualClockConfig {
            flow_rate: Some(Rate::from_bits_per_sec(1000)),
            weights: Weights([3, 1, 1, 1, 1, 1]),
        };
        let mut queue = VirtualClock::new(Limit::Unlimited, config);
        for packet in 0..400 {
            enqueue_and_list_drops(
                &mut queue,
                ms(0),
                Entry { flow: packet % 2, priority: 1 + (packet % 2) as u8, ..ordinary_entry(packet) },
            );
        }
        let departures: Vec<u32> =
            (0..200).map(|_| queue.dequeue(ms(0), &mut Vec::new()).unwrap().flow).collect();
        assert_eq!(departures.iter().filter(|flow| **flow == 0).count(), 150);
    }

    #[test]
    fn a_full_buffer_drops_the_highest_stamp() {
        // Flow 1 has stamps of 1, 2 and 3 s, flow 2 1 s: flow 1's last packet goes. Then flow 1's own arrival does.
        let mut queue = queue(Limit::Packets(3));
        for packet in 0..3 {
            assert!(enqueue_and_list_drops(&mut queue, ms(0), entry(packet, 1)).is_empty());
        }
        assert_eq!(enqueue_and_list_drops(&mut queue, ms(0), entry(3, 2)), [2]);
        assert_eq!(enqueue_and_list_drops(&mut queue, ms(0), entry(4, 1)), [4]);
        assert_eq!(dequeue_all(&mut queue, ms(0)), [0, 3, 1]);
    }

    #[test]
    fn without_a_rate_a_flow_reserves_a_tenth_of_the_line() {
        let mut queue = VirtualClock::new(Limit::Unlimited, VirtualClockConfig::default());
        assert_eq!(queue.flow_rate(), VirtualClock::FALLBACK_RATE);
        queue.set_rate(Rate::from_bits_per_sec(80_000));
        assert_eq!(queue.flow_rate(), Rate::from_bits_per_sec(8000));
    }

    #[test]
    fn clocks_are_forgotten_once_they_are_behind_and_never_too_many() {
        let mut queue = queue(Limit::Packets(1));
        for flow in 0..100 {
            enqueue_and_list_drops(&mut queue, ms(0), entry(flow, flow));
        }
        assert_eq!(queue.flow_clocks.len(), 100);
        enqueue_and_list_drops(&mut queue, ms(1000), entry(0, 7));
        assert_eq!((queue.flow_clocks.len(), queue.flows_by_clock.len()), (1, 1));
        for flow in 0..2 * VirtualClock::MAX_FLOW_CLOCKS as u32 {
            enqueue_and_list_drops(&mut queue, ms(1000), entry(flow, flow));
        }
        assert!(queue.flow_clocks.len() <= VirtualClock::MAX_FLOW_CLOCKS + 1);
        assert_eq!(queue.flow_clocks.len(), queue.flows_by_clock.len());
    }
}
