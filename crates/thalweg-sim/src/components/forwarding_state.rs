//! Forwarding state: transmitters, queues, and packets in propagation.

use crate::components::ecmp_groups::{Branch, EcmpGroups, FIRST_ECMP_GROUP};
use crate::components::packet_pool::{EndpointId, Flags, NONE, PacketPool};
use crate::components::router_feedback::MessageRoutes;
use crate::components::transmitter::{PortState, QueueMode, Speed, TransmitQueue, Transmitter};
use crate::components::transmitter_names::Names;
use crate::simulation_spec::{Change, DirectionSpec};
use std::collections::{BTreeMap, BTreeSet};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_queue::DroppedPacket;

/// Marker after the last hop: the packet's endpoint.
pub(crate) const END: u32 = u32::MAX;
/// Placeholder hop, replaced by the packet's own ([`Packet::exit`](crate::components::packet_pool::Packet)): the access link of
/// its endpoint. All flows of a group thus share one route.
pub(crate) const EXIT: u32 = u32::MAX - 1;

/// All transmitters and the packets among them.
#[derive(Debug)]
pub(crate) struct Network {
    pub packets: PacketPool,
    pub transmitters: Vec<Transmitter>,
    /// Extended state of transmitters other than plain access links.
    pub port_states: Vec<PortState>,
    /// Descriptions of transmitters; those of access links are shared.
    pub directions: Vec<DirectionSpec>,
    /// Speed for each description.
    pub speeds: Vec<Speed>,
    /// Routes: transmitters, ECMP groups, and possibly [`EXIT`], each route ended by [`END`].
    pub routes: Vec<u32>,
    pub ecmp_groups: EcmpGroups,
    /// The names of transmitters.
    pub names: Names,
    /// Scheduled changes and their transmitters.
    pub changes: Vec<(u32, Change)>,
    /// Remaining service time of the packet in service at the start of counting, by transmitter.
    pub in_service: BTreeMap<u32, Duration>,
    /// Packets that arrive out of order, by transmitter, arrival time and sequence number.
    pub out_of_order: BTreeMap<(u32, Time, u64), u32>,
    /// Number of out-of-order packets so far.
    pub out_of_order_count: u64,
    /// Number of packets transmitted.
    pub hops: u64,
    /// Output buffer for packets dropped by queues; empty between two events.
    pub dropped: Vec<DroppedPacket>,
    /// Paths of routers' messages to sources.
    pub messages: MessageRoutes,
}

impl Network {
    /// Returns the extended state of a transmitter, if any.
    #[inline]
    pub fn port_state(&self, link: u32) -> Option<&PortState> {
        Some(&self.port_states[self.transmitters[link as usize].port_state()?])
    }

    /// Returns the mutable extended state of a transmitter, if any.
    #[inline]
    pub fn port_state_mut(&mut self, link: u32) -> Option<&mut PortState> {
        Some(&mut self.port_states[self.transmitters[link as usize].port_state()?])
    }

    /// Returns the description of a transmitter.
    #[inline]
    pub fn direction(&self, link: u32) -> &DirectionSpec {
        &self.directions[self.transmitters[link as usize].spec as usize]
    }

    /// Returns a transmitter's current rate; zero in an outage.
    pub fn rate(&self, link: u32) -> Rate {
        let spec = self.direction(link);
        self.port_state(link).map_or(spec.rate, |port_state| port_state.rate(spec))
    }

    /// Returns false for a transmitter in an outage or without a rate.
    #[inline]
    pub(crate) fn can_send(&self, link: u32) -> bool {
        // A `Speed` is a constant positive rate.
        self.speeds[self.transmitters[link as usize].spec as usize].picos_per_byte != 0
            || !self.rate(link).is_zero()
    }

    /// Returns true for a transmitter that may send a packet at once, bypassing its queue.
    #[inline(always)]
    pub fn can_pass(&self, link: u32) -> bool {
        // Transmitters with a discipline that sees all packets, or with a feedback policy, have no `Speed`.
        self.speeds[self.transmitters[link as usize].spec as usize].picos_per_byte != 0
            || self.can_pass_in_general(link)
    }

    #[inline(never)]
    fn can_pass_in_general(&self, link: u32) -> bool {
        self.transmitters[link as usize].wait != QueueMode::Watched
            && !self.direction(link).queue.enqueues_when_link_idle()
            && !self.rate(link).is_zero()
    }

    /// Returns the queue of a transmitter with extended state, created on first use.
    #[inline]
    pub fn waiting(&mut self, link: u32) -> Option<&mut TransmitQueue> {
        let transmitter = &self.transmitters[link as usize];
        let spec = &self.directions[transmitter.spec as usize];
        let names = &self.names;
        let port_state = &mut self.port_states[transmitter.port_state()?];
        Some(port_state.waiting(spec, names.is_link(link), |purpose| names.stream(purpose, link)))
    }

    /// Returns the hops of the route at `start`, with [`EXIT`] for the packet's own hop, and the first branch of ECMP
    /// groups.
    pub fn route(&self, start: u32) -> impl Iterator<Item = u32> + '_ {
        let mut at = start;
        core::iter::from_fn(move || {
            let entry = self.routes[at as usize];
            let branch = match entry {
                END => return None,
                EXIT => Branch { link: EXIT, next: at + 1 },
                link if link < FIRST_ECMP_GROUP => Branch { link, next: at + 1 },
                ecmp_group => self.ecmp_groups.branches(ecmp_group)[0],
            };
            at = branch.next;
            Some(branch.link)
        })
    }

    /// Returns all links on the routes at these positions, possibly with duplicates.
    pub fn links_from(&self, starts: impl Iterator<Item = u32>) -> Vec<u32> {
        let (mut left, mut links) = (starts.collect::<Vec<u32>>(), Vec::new());
        let mut seen = BTreeSet::new();
        while let Some(mut at) = left.pop() {
            while seen.insert(at) {
                match self.routes[at as usize] {
                    link if link < FIRST_ECMP_GROUP => links.push(link),
                    END | EXIT => break,
                    ecmp_group => {
                        let branches = self.ecmp_groups.branches(ecmp_group);
                        links.extend(branches.iter().map(|branch| branch.link));
                        left.extend(branches.iter().map(|branch| branch.next));
                        break;
                    }
                }
                at += 1;
            }
        }
        links
    }

    /// Returns the destination of a packet at the end of its link, if there is such a packet.
    #[inline]
    pub fn destination(&self, packet: u32) -> Destination {
        let Some(packet) = self.packets.find(packet) else {
            return Destination::Unknown;
        };
        match self.routes[packet.hop as usize] {
            next if next < FIRST_ECMP_GROUP => Destination::Link(next),
            END => Destination::Endpoint(packet.destination()),
            EXIT => Destination::Link(packet.exit),
            _ => Destination::Unknown,
        }
    }

    /// Registers a packet that arrives from `link` out of order.
    pub fn insert_out_of_order(&mut self, link: u32, packet: u32, arrives: Time) {
        self.packets.get_mut(packet).arrives_at = arrives;
        self.out_of_order.insert((link, arrives, self.out_of_order_count), packet);
        self.out_of_order_count += 1;
    }

    /// Takes the first sent of the out-of-order packets that arrive now from `link`, with its sequence number.
    pub fn take_out_of_order(&mut self, link: u32, now: Time) -> Option<(u64, u32)> {
        let (&key, &packet) = self.out_of_order.range((link, now, 0)..=(link, now, u64::MAX)).next()?;
        self.out_of_order.remove(&key);
        Some((key.2, packet))
    }

    /// Appends a packet to an unbounded FIFO; an urgent one is inserted after the urgent ones at the head.
    pub fn line_up(&mut self, link: u32, packet: u32) {
        let transmitter = &mut self.transmitters[link as usize];
        let is_urgent =
            |packets: &PacketPool, packet: u32| packets.get(packet).flags.has(Flags::ROUTER_FEEDBACK);
        let mut before = NONE;
        if transmitter.line_first != NONE && !is_urgent(&self.packets, packet) {
            before = transmitter.line_last;
        } else {
            let mut at = transmitter.line_first;
            while at != NONE && is_urgent(&self.packets, at) {
                before = at;
                at = self.packets.get(at).next;
            }
        }
        let behind = if before == NONE {
            core::mem::replace(&mut transmitter.line_first, packet)
        } else {
            core::mem::replace(&mut self.packets.get_mut(before).next, packet)
        };
        self.packets.get_mut(packet).next = behind;
        if behind == NONE {
            transmitter.line_last = packet;
        }
    }
}

/// Next destination of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Destination {
    Link(u32),
    Endpoint(EndpointId),
    Unknown,
}
