//! The queue discipline CAKE (Høiland-Jørgensen, Täht and Morton 2018).

use crate::cobalt::{Cobalt, CobaltParameters, MTU};
use crate::flow_hash_buckets::Buckets;
use crate::flow_queues::Lanes;
use crate::impairment_spec::above_zero;
use crate::queue_occupancy::Occupancy;
use crate::{
    Discipline, DisciplineConfig, DropReason, DroppedPacket, Entry, Limit, RandomStreams, SpecError, Traits,
};
use std::collections::{BTreeMap, VecDeque};
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Rate, Time};

/// Units of equal shares of the link, by their names in Linux.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Each flow.
    Flows,
    /// Each source host.
    Sources,
    /// Each destination host.
    Destinations,
    /// Each pair of hosts.
    HostPairs,
    /// Each source host, and each of its flows.
    DualSource,
    /// Each destination host, and each of its flows.
    DualDestination,
    /// Each source and each destination host, and each of their flows: the busier host of a flow counts.
    #[default]
    Triple,
}

/// Parameters of [`Cake`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CakeConfig {
    /// Units of equal shares.
    pub isolation: Isolation,
    /// Typical round-trip time, above zero: the interval of COBALT. Its target is a twentieth.
    pub rtt: Duration,
    /// Number of queues: a multiple of eight, up to 65 536.
    pub flows: u32,
    /// Sets CE in ECN-capable packets, and drops others.
    pub ecn: bool,
}

impl Default for CakeConfig {
    fn default() -> Self {
        Self { isolation: Isolation::default(), rtt: Duration::from_millis(100), flows: 1024, ecn: true }
    }
}

/// Number of queues of a set.
const SET_QUEUES: usize = 8;
/// Maximum number of queues.
const MAX_FLOWS: u32 = 65_536;
/// A byte of credit. Hosts divide credits by the number of their flows.
const BYTE_CREDIT: i64 = 1 << 16;

/// CAKE (Høiland-Jørgensen, Täht and Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home
/// Gateways", LANMAN 2018), with one tin: flows are hashed to queues, eight ways to a set, so that two flows rarely share
/// one. The queues are served by deficit round robin, new flows first. Hosts share the link equally too: a queue's
/// quantum is divided by the number of backlogged flows of its source or of its destination, whichever has more
/// (section III-B). As in Linux since 5.1, sparse flows do not count: a host whose queues are mostly empty has more than its
/// share. COBALT, a combination of CoDel and BLUE, controls each queue (section III-D). A full buffer drops
/// from the head of the longest queue.
///
/// Differences from the paper and Linux:
///
/// | there | here | reason | effect |
/// | --- | --- | --- | --- |
/// | a shaper of its own | the rate of the link, or its `shaper` | a discipline cannot delay a link | none; the shaper's burst is the link's |
/// | priority tins by DSCP | one tin (`besteffort`) | simulated packets have no DSCP | no priorities |
/// | hosts are hashed to 1024 entries | counted exactly | a table by host costs little here | none below some hundred hosts |
/// | a queue keeps its place while COBALT's state decays | the state stays in the slot and decays at its next use | one list less | none |
/// | credits are rounded at random | counted in 1/65536 of a byte | exact | none |
/// | an ACK filter | the link's `ack-filter`, for "fcfs" alone | it needs the contents of packets | acknowledgements stay |
#[derive(Clone, Debug)]
pub struct Cake {
    config: CakeConfig,
    parameters: CobaltParameters,
    occupancy: Occupancy,
    urgent: VecDeque<Entry>,
    /// Queued packets with their arrival times and keys, by slot.
    lanes: Lanes<Queue, (Time, Key)>,
    slots: Vec<Slot>,
    /// Slot and number of queued packets of each key: packets of a flow never overtake each other.
    queue_of_key: BTreeMap<Key, (u32, u32)>,
    /// Queues in their first round, and the others.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Number of queues in the rotation of each host, as source and as destination.
    loads: [BTreeMap<u32, u32>; 2],
    buckets: Buckets,
    chance: RandomStream,
    /// Quantum, in bytes.
    quantum: u64,
    /// Hosts of the next arrival.
    hosts: [u32; 2],
}

/// Key of a packet's queue: its flow, its host, or its hosts.
type Key = [u32; 2];

/// State of a slot, which outlives its queue.
#[derive(Clone, Debug, Default)]
struct Slot {
    /// The last flow.
    tag: Option<Key>,
    control: Cobalt,
}

/// State of a queue.
#[derive(Clone, Debug, Default)]
struct Queue {
    slot: u32,
    hosts: [u32; 2],
    credits: i64,
    bytes: u64,
    /// True in the rotation of backlogged flows. A queue there counts for its hosts from its first packet there.
    is_old: bool,
    /// True while its hosts count it.
    is_counted: bool,
}

impl Cake {
    /// Creates an empty queue with this limit, and draws from `stream`.
    pub fn new(limit: Limit, config: CakeConfig, mut stream: RandomStream) -> Self {
        let salt = RandomStream::new(stream.next_u64(), "cake", 0);
        let slots = config.flows.clamp(SET_QUEUES as u32, MAX_FLOWS) as usize / SET_QUEUES * SET_QUEUES;
        Self {
            config,
            parameters: CobaltParameters::new(config.rtt, config.ecn, None),
            occupancy: Occupancy::new(limit),
            urgent: VecDeque::new(),
            lanes: Lanes::new(),
            slots: vec![Slot::default(); slots],
            queue_of_key: BTreeMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            loads: [BTreeMap::new(), BTreeMap::new()],
            buckets: Buckets::new(slots as u32, salt),
            chance: stream,
            quantum: MTU,
            hosts: [0; 2],
        }
    }

    /// Returns the key that selects the queue of a packet.
    fn key(&self, entry: &Entry) -> Key {
        let [source, destination] = self.hosts;
        match self.config.isolation {
            Isolation::Sources => [source, 0],
            Isolation::Destinations => [0, destination],
            Isolation::HostPairs => [source, destination],
            _ => [entry.flow, 0],
        }
    }

    /// Returns the slot of a flow: its last one unless another flow has it now, else an unused one, else the one of its hash.
    fn slot(&self, key: Key) -> u32 {
        if let Some((slot, _)) = self.queue_of_key.get(&key) {
            return *slot;
        }
        let [first, second] = key;
        let hash = self.buckets.bucket_of(first ^ second.rotate_left(16)) as usize;
        let first = hash / SET_QUEUES * SET_QUEUES;
        let ways = || (first..first + SET_QUEUES).cycle().skip(hash - first).take(SET_QUEUES);
        let is_free = |slot: &usize| self.lanes.find(*slot as u32).is_none();
        // Also while its queue is empty and in the rotation: in another slot it would be a new flow, without its debt.
        let found = ways().find(|slot| self.slots[*slot].tag == Some(key));
        found.or_else(|| ways().find(is_free)).unwrap_or(hash) as u32
    }

    /// Returns the number of backlogged flows of the busier of a queue's hosts, as far as the isolation counts it.
    fn load(&self, hosts: [u32; 2]) -> i64 {
        let of = |side: usize| self.loads[side].get(&hosts[side]).copied().unwrap_or(0);
        let load = match self.config.isolation {
            Isolation::DualSource => of(0),
            Isolation::DualDestination => of(1),
            Isolation::Triple => of(0).max(of(1)),
            Isolation::Flows | Isolation::Sources | Isolation::Destinations | Isolation::HostPairs => 1,
        };
        i64::from(load.max(1))
    }

    /// Returns the credits of a queue for a round.
    fn credits(&self, lane: u32) -> i64 {
        let hosts = self.lanes.get(lane).state.hosts;
        (i64::try_from(self.quantum).unwrap_or(i64::MAX / BYTE_CREDIT) * BYTE_CREDIT / self.load(hosts))
            .max(1)
    }

    /// Counts a queue among the backlogged ones of its hosts, or no longer.
    fn count(&mut self, lane: u32, is_counted: bool) {
        let queue = self.lanes.state(lane);
        if queue.is_counted == is_counted {
            return;
        }
        queue.is_counted = is_counted;
        for (loads, host) in self.loads.iter_mut().zip(queue.hosts) {
            let load = loads.entry(host).or_insert(0);
            *load = if is_counted { *load + 1 } else { load.saturating_sub(1) };
            if *load == 0 {
                loads.remove(&host);
            }
        }
    }

    fn pop(&mut self, lane: u32) -> Option<(Entry, Time)> {
        let popped = self.lanes.pop_front(lane, |entry| self.occupancy.size_in_limit_units(entry))?;
        self.occupancy.remove(&popped.0);
        self.lanes.state(lane).bytes -= u64::from(popped.0.size);
        let (entry, (since, key)) = popped;
        if let Some((_, count)) = self.queue_of_key.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.queue_of_key.remove(&key);
            }
        }
        Some((entry, since))
    }

    /// Drops a packet from the head of the longest queue, and notifies its COBALT instance.
    fn drop_from_longest(&mut self, now: Time, mine: u32, dropped: &mut Vec<DroppedPacket>) -> bool {
        let Some(lane) = self.lanes.longest(mine) else { return false };
        let Some((entry, _)) = self.pop(lane) else { return false };
        dropped.push(DroppedPacket { entry, reason: DropReason::Full });
        let slot = self.lanes.get(lane).state.slot as usize;
        self.slots[slot].control.overflow(now, &self.parameters);
        true
    }

    /// Removes the queue that is served first from its list.
    fn leave_front(&mut self) {
        if self.new.pop_front().is_none() {
            self.old.pop_front();
        }
    }

    /// Dequeues from a queue; `None` if COBALT drops its last packet or it has none.
    fn serve(&mut self, now: Time, lane: u32, dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        let slot = self.lanes.get(lane).state.slot as usize;
        loop {
            let Some((mut entry, since)) = self.pop(lane) else {
                self.slots[slot].control.empty(now, &self.parameters);
                return None;
            };
            let delay = now.since(since);
            let (control, chance) = (&mut self.slots[slot].control, &mut self.chance);
            let must_drop = control.must_drop(now, delay, &mut entry, &self.parameters, chance);
            // The last packet of a queue is never dropped.
            if !must_drop || self.lanes.get(lane).is_empty() {
                return Some(entry);
            }
            dropped.push(DroppedPacket { entry, reason: DropReason::Early });
        }
    }
}

impl Discipline for Cake {
    fn enqueue(&mut self, now: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        if entry.is_feedback {
            self.occupancy.enqueue_urgent(entry, &mut self.urgent, dropped);
            return;
        }
        let key = self.key(&entry);
        let slot = self.slot(key);
        self.queue_of_key.entry(key).or_insert((slot, 0)).1 += 1;
        let (lane, is_new) = self.lanes.open(slot);
        if is_new {
            self.slots[slot as usize].tag = Some(key);
            let hosts = self.hosts;
            let queue = self.lanes.state(lane);
            (queue.slot, queue.hosts) = (slot, hosts);
            let credits = self.credits(lane);
            self.lanes.state(lane).credits = credits;
            self.new.push_back(lane);
        } else if self.lanes.get(lane).state.is_old {
            // At once, not when it is served: until then it gets more credits than its part of the host's.
            self.count(lane, true);
        }
        self.lanes.state(lane).bytes += u64::from(entry.size);
        self.occupancy.add(&entry);
        self.lanes.push(lane, entry, (now, key), self.occupancy.size_in_limit_units(&entry));
        while self.occupancy.is_exceeded() && self.drop_from_longest(now, lane, dropped) {}
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        if let Some(entry) = self.occupancy.dequeue_urgent(&mut self.urgent) {
            return Some(entry);
        }
        loop {
            let is_new = !self.new.is_empty();
            let lane = *self.new.front().or_else(|| self.old.front())?;
            if self.lanes.get(lane).state.credits <= 0 {
                self.leave_front();
                // A new flow that has used its credits is backlogged from now on, unless it has nothing left.
                if is_new && !self.lanes.get(lane).is_empty() {
                    self.count(lane, true);
                }
                let more = self.credits(lane);
                let queue = self.lanes.state(lane);
                queue.credits += more;
                queue.is_old = true;
                self.old.push_back(lane);
                continue;
            }
            if let Some(entry) = self.serve(now, lane, dropped) {
                self.lanes.state(lane).credits -= i64::from(entry.size) * BYTE_CREDIT;
                return Some(entry);
            }
            self.leave_front();
            self.count(lane, false);
            self.lanes.close(lane);
        }
    }

    fn packets(&self) -> u64 {
        self.occupancy.packets()
    }

    fn bytes(&self) -> u64 {
        self.occupancy.bytes()
    }

    fn set_rate(&mut self, rate: Rate) {
        // The quantum is the data of about a quarter of a millisecond, from 300 bytes to a full packet.
        self.quantum = (rate.as_bits_per_sec() / 8 / 4096).clamp(300, MTU);
        self.parameters = CobaltParameters::new(self.config.rtt, self.config.ecn, Some(rate));
    }

    fn set_hosts(&mut self, hosts: [u32; 2]) {
        self.hosts = hosts;
    }

    fn set_limit(&mut self, now: Time, limit: Limit, dropped: &mut Vec<DroppedPacket>) {
        self.occupancy.set_limit(limit);
        self.lanes.recount(|entry| self.occupancy.size_in_limit_units(entry));
        while self.occupancy.is_exceeded() && self.lanes.busy() > 0 && self.drop_from_longest(now, 0, dropped)
        {
        }
        self.occupancy.drop_excess_urgent(&mut self.urgent, dropped);
    }
}

impl DisciplineConfig for CakeConfig {
    type Queue = Cake;
    const NAME: &'static str = "cake";

    fn check(&self) -> Result<(), SpecError> {
        above_zero("rtt", self.rtt.as_secs_f64())?;
        above_zero("flows", f64::from(self.flows))?;
        if self.flows > MAX_FLOWS {
            return Err(SpecError::TooMany { what: "flows", max: MAX_FLOWS, found: self.flows });
        }
        if !self.flows.is_multiple_of(SET_QUEUES as u32) {
            return Err(SpecError::NotMultiple { what: "flows", of: SET_QUEUES as u32, found: self.flows });
        }
        Ok(())
    }

    fn make(&self, limit: Limit, streams: RandomStreams<'_>) -> Cake {
        Cake::new(limit, *self, streams("cake"))
    }

    fn traits(&self) -> Traits {
        Traits {
            keeps_arrival_order: false,
            drops_early: true,
            marks_ecn: self.ecn,
            is_random: true,
            enqueues_when_link_idle: true,
            depends_on_priority: false,
            isolates_hosts: self.isolation.needs_hosts(),
        }
    }

    fn description(&self) -> String {
        format!("CAKE queue for round trips of {}", self.rtt)
    }
}

impl Isolation {
    /// Returns true if shares depend on the hosts of flows.
    pub const fn needs_hosts(self) -> bool {
        !matches!(self, Self::Flows)
    }

    /// Returns true if each flow has a queue.
    pub const fn separates_flows(self) -> bool {
        !matches!(self, Self::Sources | Self::Destinations | Self::HostPairs)
    }
}

#[cfg(test)]
mod tests {
    //! Tests CAKE: shares of flows and hosts, separate queues in a set, and drops on overflow.
    use super::*;
    use crate::test_helpers::{enqueue_and_list_drops, ordinary_entry};

    fn queue(isolation: Isolation, limit: Limit) -> Cake {
        let config = CakeConfig { isolation, ..CakeConfig::default() };
        Cake::new(limit, config, RandomStream::new(1, "test", 0))
    }

    fn entry(packet: u32, flow: u32) -> Entry {
        Entry { flow, ..ordinary_entry(packet) }
    }

    /// Keeps each flow, given with its source and destination, backlogged, and returns the bytes that each sends in
    /// 40,000 packets.
    fn bytes_sent(isolation: Isolation, flows: &[[u32; 2]]) -> Vec<u64> {
        let mut queue = queue(isolation, Limit::Unlimited);
        let mut sent = vec![0; flows.len()];
        let put = |queue: &mut Cake, flow: u32| {
            queue.set_hosts(flows[flow as usize]);
            enqueue_and_list_drops(queue, Time::ZERO, entry(0, flow));
        };
        (0..flows.len() as u32).for_each(|flow| (0..4).for_each(|_| put(&mut queue, flow)));
        for _ in 0..40_000 {
            // All at one instant: nothing waits, and COBALT does nothing.
            let left = queue.dequeue(Time::ZERO, &mut Vec::new()).unwrap();
            sent[left.flow as usize] += u64::from(left.size);
            put(&mut queue, left.flow);
        }
        sent
    }

    /// Returns the shares in percent.
    fn shares(isolation: Isolation, flows: &[[u32; 2]]) -> Vec<u64> {
        let sent = bytes_sent(isolation, flows);
        let all: u64 = sent.iter().sum();
        sent.iter().map(|bytes| (bytes * 100 + all / 2) / all).collect()
    }

    /// One host with three flows and one with one, to different destinations: a quarter each by flow, a half each by
    /// source; by destination all are equal again.
    #[test]
    fn hosts_share_the_link_and_flows_that_of_their_host() {
        let flows = [[1, 10], [1, 11], [1, 12], [2, 13]];
        assert_eq!(shares(Isolation::Flows, &flows), [25, 25, 25, 25]);
        assert_eq!(shares(Isolation::DualSource, &flows), [17, 17, 17, 50]);
        assert_eq!(shares(Isolation::DualDestination, &flows), [25, 25, 25, 25]);
        assert_eq!(shares(Isolation::Triple, &flows), [17, 17, 17, 50]);
        let back = flows.map(|[source, destination]| [destination, source]);
        assert_eq!(shares(Isolation::Triple, &back), [17, 17, 17, 50]);
        assert_eq!(shares(Isolation::DualSource, &back), [25, 25, 25, 25]);
    }

    /// By source alone a host has one queue, whatever its flows.
    #[test]
    fn a_host_may_be_one_queue() {
        let flows = [[1, 10], [1, 11], [2, 12]];
        let of_hosts = |isolation| {
            let sent = shares(isolation, &flows);
            [sent[0] + sent[1], sent[2]]
        };
        assert_eq!(of_hosts(Isolation::Sources), [50, 50]);
        // A third for each pair, and for each destination.
        assert_eq!(of_hosts(Isolation::HostPairs), [66, 33]);
        assert_eq!(of_hosts(Isolation::Destinations), [66, 33]);
    }

    /// A hundred flows among 1024 queues: with a plain hash about five pairs of them would share one (birthday bound
    /// 100 * 99 / 2 / 1024), with eight ways none.
    #[test]
    fn flows_rarely_share_a_queue() {
        let mut queue = queue(Isolation::Flows, Limit::Unlimited);
        (0..100).for_each(|flow| {
            enqueue_and_list_drops(&mut queue, Time::ZERO, entry(0, flow));
        });
        assert_eq!(queue.lanes.busy(), 100);
        let plain: std::collections::BTreeSet<u32> =
            (0..100).map(|flow| queue.buckets.bucket_of(flow)).collect();
        assert!(plain.len() < 100, "{}", plain.len());
        // A flow keeps its queue.
        (0..100).for_each(|flow| {
            enqueue_and_list_drops(&mut queue, Time::ZERO, entry(1, flow));
        });
        assert_eq!(queue.lanes.busy(), 100);
    }

    /// A set has eight queues: any other number would be another one than was given.
    #[test]
    fn the_number_of_queues_is_a_multiple_of_eight() {
        let check = |flows| CakeConfig { flows, ..CakeConfig::default() }.check();
        assert_eq!([check(8), check(1000), check(65_536)], [Ok(()), Ok(()), Ok(())]);
        assert_eq!(check(1001), Err(SpecError::NotMultiple { what: "flows", of: 8, found: 1001 }));
        assert!(check(4).is_err() && check(0).is_err() && check(65_544).is_err());
    }

    #[test]
    fn a_full_buffer_drops_from_the_head_of_the_longest_queue() {
        let mut queue = queue(Isolation::Triple, Limit::Packets(6));
        (0..5).for_each(|packet| {
            enqueue_and_list_drops(&mut queue, Time::ZERO, entry(packet, 1));
        });
        assert_eq!(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(5, 2)), [0u32; 0]);
        assert_eq!(enqueue_and_list_drops(&mut queue, Time::ZERO, entry(6, 2)), [0]);
        assert_eq!((queue.packets(), queue.bytes()), (6, 6000));
        let mut dropped = Vec::new();
        queue.set_limit(Time::ZERO, Limit::Packets(2), &mut dropped);
        assert_eq!((queue.packets(), dropped.len()), (2, 4));
    }

    /// In Linux a queue that is empty when it joins the rotation (CAKE_SET_SPARSE_WAIT) counts from its next packet
    /// (cake_enqueue), not from its next turn.
    #[test]
    fn a_queue_in_the_rotation_counts_from_its_first_packet() {
        let mut queue = queue(Isolation::Triple, Limit::Unlimited);
        // A quantum of less than a packet.
        queue.set_rate(Rate::from_mbits_per_sec(10));
        let put = |queue: &mut Cake, flow: u32| {
            queue.set_hosts([flow, 10 + flow]);
            enqueue_and_list_drops(queue, Time::ZERO, entry(0, flow));
        };
        put(&mut queue, 1);
        (0..6).for_each(|_| put(&mut queue, 2));
        let next = |queue: &mut Cake| queue.dequeue(Time::ZERO, &mut Vec::new()).map(|entry| entry.flow);
        // Its credits are used, and it has no packet: it joins the rotation as a sparse flow.
        assert_eq!([next(&mut queue), next(&mut queue)], [Some(1), Some(2)]);
        assert_eq!(queue.loads[0].get(&1), None);
        put(&mut queue, 1);
        assert_eq!(queue.loads[0].get(&1), Some(&1));
    }

    /// A sparse flow goes ahead of backlogged ones, and its host is not counted.
    #[test]
    fn a_new_flow_goes_first() {
        let mut queue = queue(Isolation::Triple, Limit::Unlimited);
        for packet in 0..6 {
            enqueue_and_list_drops(&mut queue, Time::ZERO, entry(packet, 1));
        }
        let next = |queue: &mut Cake| queue.dequeue(Time::ZERO, &mut Vec::new()).map(|entry| entry.packet);
        assert_eq!([next(&mut queue), next(&mut queue), next(&mut queue)], [Some(0), Some(1), Some(2)]);
        enqueue_and_list_drops(&mut queue, Time::ZERO, entry(10, 2));
        assert_eq!(next(&mut queue), Some(10));
        assert_eq!(queue.loads[0].values().copied().collect::<Vec<_>>(), [1]);
        while next(&mut queue).is_some() {}
        assert!(queue.loads.iter().all(BTreeMap::is_empty), "{:?}", queue.loads);
    }
}
