//! Packets on their way: transmitters, queues, wires.

use crate::parts::feedback::MessageWays;
use crate::parts::forks::{Branch, FORK, Forks};
use crate::parts::names::Names;
use crate::parts::packet::{EndpointId, Flags, NONE, Packets};
use crate::parts::transmitter::{Speed, Station, Transmitter, Wait, Waiting};
use crate::spec::{Change, DirectionSpec};
use std::collections::{BTreeMap, BTreeSet};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_queue::Dropped;

/// The hop after the last: the packet's endpoint.
pub(crate) const END: u32 = u32::MAX;
/// The hop that is the packet's own ([`Packet::exit`](crate::parts::packet::Packet)): the access link of its endpoint, so that
/// all flows of a group share one route.
pub(crate) const EXIT: u32 = u32::MAX - 1;

/// All transmitters and the packets among them.
#[derive(Debug)]
pub(crate) struct Network {
    pub packets: Packets,
    pub transmitters: Vec<Transmitter>,
    /// The stations of those that are not plain access links.
    pub stations: Vec<Station>,
    /// The descriptions of transmitters; those of access links share theirs.
    pub directions: Vec<DirectionSpec>,
    /// The speed of each of those.
    pub speeds: Vec<Speed>,
    /// Routes: transmitters, places where there is a choice, and perhaps [`EXIT`], each route ended by [`END`].
    pub routes: Vec<u32>,
    pub forks: Forks,
    /// The names of transmitters.
    pub names: Names,
    /// Scheduled changes and the transmitters that they are for.
    pub changes: Vec<(u32, Change)>,
    /// The time for which transmitters still worked, when counting began, on what they had in service then.
    pub in_service: BTreeMap<u32, Duration>,
    /// The packets that do not arrive in the order of their wire: by transmitter, arrival, and how many there were before.
    pub strays: BTreeMap<(u32, Time, u64), u32>,
    /// The number of strays so far.
    pub strayed: u64,
    /// Packets that have left a transmitter.
    pub hops: u64,
    /// For queues to tell what they drop; empty between two events.
    pub dropped: Vec<Dropped>,
    /// The messages of routers to sources.
    pub messages: MessageWays,
}

impl Network {
    /// The station that a transmitter has beside it, if it has one.
    #[inline]
    pub fn station(&self, link: u32) -> Option<&Station> {
        Some(&self.stations[self.transmitters[link as usize].station()?])
    }

    /// The same, to change it.
    #[inline]
    pub fn station_mut(&mut self, link: u32) -> Option<&mut Station> {
        Some(&mut self.stations[self.transmitters[link as usize].station()?])
    }

    /// The description of a transmitter.
    #[inline]
    pub fn direction(&self, link: u32) -> &DirectionSpec {
        &self.directions[self.transmitters[link as usize].spec as usize]
    }

    /// A transmitter's rate now; zero in an outage.
    pub fn rate(&self, link: u32) -> Rate {
        let spec = self.direction(link);
        self.station(link).map_or(spec.rate, |station| station.rate(spec))
    }

    /// False for a transmitter in an outage, or without any rate.
    #[inline]
    pub(crate) fn can_send(&self, link: u32) -> bool {
        // A speed is a rate above zero that never changes.
        self.speeds[self.transmitters[link as usize].spec as usize].picos_per_byte != 0
            || !self.rate(link).is_zero()
    }

    /// True for a transmitter that may send a packet at once, unseen by its queue.
    #[inline(always)]
    pub fn can_pass(&self, link: u32) -> bool {
        // One whose queue sees all, or that is watched, has no speed.
        self.speeds[self.transmitters[link as usize].spec as usize].picos_per_byte != 0
            || self.can_pass_in_general(link)
    }

    #[inline(never)]
    fn can_pass_in_general(&self, link: u32) -> bool {
        self.transmitters[link as usize].wait != Wait::Watched
            && !self.direction(link).queue.sees_all()
            && !self.rate(link).is_zero()
    }

    /// The queue of a transmitter with a station, made if there was none.
    #[inline]
    pub fn waiting(&mut self, link: u32) -> Option<&mut Waiting> {
        let transmitter = &self.transmitters[link as usize];
        let spec = &self.directions[transmitter.spec as usize];
        let names = &self.names;
        let station = &mut self.stations[transmitter.station()?];
        Some(station.waiting(spec, names.is_link(link), |purpose| names.stream(purpose, link)))
    }

    /// The hops of the route that starts there, with [`EXIT`] for the packet's own; at forks by their first branch.
    pub fn route(&self, start: u32) -> impl Iterator<Item = u32> + '_ {
        let mut at = start;
        core::iter::from_fn(move || {
            let entry = self.routes[at as usize];
            let branch = match entry {
                END => return None,
                EXIT => Branch { link: EXIT, next: at + 1 },
                link if link < FORK => Branch { link, next: at + 1 },
                fork => self.forks.branches(fork)[0],
            };
            at = branch.next;
            Some(branch.link)
        })
    }

    /// All links on the routes that start at these places, some more than once.
    pub fn links_from(&self, starts: impl Iterator<Item = u32>) -> Vec<u32> {
        let (mut left, mut links) = (starts.collect::<Vec<u32>>(), Vec::new());
        let mut seen = BTreeSet::new();
        while let Some(mut at) = left.pop() {
            while seen.insert(at) {
                match self.routes[at as usize] {
                    link if link < FORK => links.push(link),
                    END | EXIT => break,
                    fork => {
                        let branches = self.forks.branches(fork);
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

    /// The place to which a packet goes at the end of the wire that it is on, if there is such a packet.
    #[inline]
    pub fn destination(&self, packet: u32) -> Destination {
        let Some(packet) = self.packets.find(packet) else {
            return Destination::Unknown;
        };
        match self.routes[packet.hop as usize] {
            next if next < FORK => Destination::Link(next),
            END => Destination::Endpoint(packet.destination()),
            EXIT => Destination::Link(packet.exit),
            _ => Destination::Unknown,
        }
    }

    /// A packet is to arrive from `link` out of the wire's order.
    pub fn put_off_order(&mut self, link: u32, packet: u32, arrives: Time) {
        self.packets.get_mut(packet).arrives_at = arrives;
        self.strays.insert((link, arrives, self.strayed), packet);
        self.strayed += 1;
    }

    /// The first to be sent of the packets that arrive now from `link` out of the wire's order, behind its number.
    pub fn take_stray(&mut self, link: u32, now: Time) -> Option<(u64, u32)> {
        let (&key, &packet) = self.strays.range((link, now, 0)..=(link, now, u64::MAX)).next()?;
        self.strays.remove(&key);
        Some((key.2, packet))
    }

    /// A packet joins a line: at its end, or, if it is urgent, behind the urgent ones at its head.
    pub fn line_up(&mut self, link: u32, packet: u32) {
        let transmitter = &mut self.transmitters[link as usize];
        let is_urgent = |packets: &Packets, packet: u32| packets.get(packet).flags.has(Flags::URGENT);
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

/// The place to which a packet goes next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Destination {
    Link(u32),
    Endpoint(EndpointId),
    Unknown,
}
