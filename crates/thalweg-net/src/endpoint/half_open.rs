//! Half-open handshakes, shared out by address: whoever begins many of them takes the place of its own.
//!
//! A handshake costs a client next to nothing once it has a cookie, and a server three Diffie-Hellmans and a place among
//! those that are half-open. Both are therefore shared out, over three levels: all clients, the addresses that a client can
//! choose from at will (one of IPv4; the 2^64 below one prefix of IPv6, which is what a host is given), and the ports of
//! one of these. Rates are a matter of shares only where they are scarce: while half of an address' second's worth is left,
//! any of its ports may have it, and while half of everybody's is left, any address. For want of a place nobody is turned
//! away: the oldest handshake of the port that has most, of the address that has most, is forgotten.

use super::about::Limits;
use crate::bucket::Bucket;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use thalweg_proto::units::{Duration, Time};

/// Handshakes a second that one port of one address may begin where its address has used up half of its share.
const PORT_RATE: u32 = 4;

/// An address may begin one of so many of all handshakes a second where clients have used up half of them.
const ADDRESS_SHARE: u32 = 4;

/// Half-open handshakes are forgotten after this while more than half of the places are taken.
pub const IN_A_CROWD: Duration = Duration::from_secs(3);

/// Rates of ports and addresses that are remembered before those are looked for that have come back to their full.
const MOST_REMEMBERED: usize = 4096;

/// What is counted as one client host: an IPv4 address, or the first 64 bits of one of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Host(u64, bool);

impl Host {
    fn of(address: SocketAddr) -> Self {
        match address.ip().to_canonical() {
            IpAddr::V4(ip) => Self(u64::from(u32::from(ip)), true),
            IpAddr::V6(ip) => Self((u128::from(ip) >> 64) as u64, false),
        }
    }
}

/// The half-open handshakes of one host: when each began and where it is kept, by port.
type Ports = HashMap<u16, VecDeque<(Time, usize)>>;

/// All half-open handshakes.
#[derive(Debug)]
pub struct HalfOpen {
    most: usize,
    rate: u32,
    all: Bucket,
    hosts: HashMap<Host, Bucket>,
    ports: HashMap<(Host, u16), Bucket>,
    open: HashMap<Host, (usize, Ports)>,
    /// By how many each host has.
    by_count: BTreeSet<(usize, Host)>,
    count: usize,
}

impl HalfOpen {
    /// None, within `limits`.
    pub fn new(now: Time, limits: &Limits) -> Self {
        Self {
            most: limits.handshakes.max(1),
            rate: limits.handshakes_per_second,
            all: Bucket::new(now, limits.handshakes_per_second),
            hosts: HashMap::new(),
            ports: HashMap::new(),
            open: HashMap::new(),
            by_count: BTreeSet::new(),
            count: 0,
        }
    }

    /// True while places are so scarce that nobody keeps one for long.
    pub fn is_crowded(&self) -> bool {
        self.count * 2 > self.most
    }

    /// One handshake's worth of work for this address, if there is any left.
    pub fn may_begin(&mut self, now: Time, address: SocketAddr) -> bool {
        let (host, rate) = (Host::of(address), self.rate);
        let port = (host, address.port());
        if self.hosts.len() + self.ports.len() > MOST_REMEMBERED {
            self.hosts.retain(|_, bucket| !bucket.is_full(now));
            self.ports.retain(|_, bucket| !bucket.is_full(now));
        }
        let host_rate = (rate / ADDRESS_SHARE).max(PORT_RATE).min(rate);
        let host = self.hosts.get(&host).copied().unwrap_or_else(|| Bucket::new(now, host_rate));
        let own = self.ports.get(&port).copied().unwrap_or_else(|| Bucket::new(now, PORT_RATE.min(rate)));
        let (mut host, mut own) = (host, own);
        let port_may = own.has_one(now) || host.is_half_full(now);
        let host_may = host.has_one(now) || self.all.is_half_full(now);
        if !(port_may && host_may && self.all.has_one(now)) {
            return false;
        }
        for bucket in [&mut own, &mut host, &mut self.all] {
            bucket.take(now);
        }
        // Entries are made by what is let through, which is bounded a second, and go when they are full again.
        self.hosts.insert(port.0, host);
        self.ports.insert(port, own);
        true
    }

    /// The one that is to be forgotten before another begins, if there must be one.
    pub fn to_forget(&self) -> Option<usize> {
        if self.count < self.most {
            return None;
        }
        let &(most, _) = self.by_count.last()?;
        // Of several hosts with as many, the one with the oldest: equals wait for each other.
        let greediest = self.by_count.range((most, Host(0, false))..).filter_map(|(_, host)| {
            let (_, ports) = self.open.get(host)?;
            let port = ports
                .values()
                .max_by_key(|open| (open.len(), open.front().map(|first| core::cmp::Reverse(*first))))?;
            port.front().copied()
        });
        greediest.min().map(|(_, index)| index)
    }

    /// A handshake has begun, and is kept at `index`.
    pub fn begun(&mut self, now: Time, address: SocketAddr, index: usize) {
        let host = Host::of(address);
        let (count, ports) = self.open.entry(host).or_default();
        self.by_count.remove(&(*count, host));
        *count += 1;
        self.by_count.insert((*count, host));
        ports.entry(address.port()).or_default().push_back((now, index));
        self.count += 1;
    }

    /// It is not half-open any more.
    pub fn ended(&mut self, address: SocketAddr, index: usize) {
        let host = Host::of(address);
        let Some((count, ports)) = self.open.get_mut(&host) else { return };
        let Some(open) = ports.get_mut(&address.port()) else { return };
        let Some(place) = open.iter().position(|(_, other)| *other == index) else { return };
        open.remove(place);
        if open.is_empty() {
            ports.remove(&address.port());
        }
        self.by_count.remove(&(*count, host));
        *count -= 1;
        self.count -= 1;
        if *count == 0 {
            self.open.remove(&host);
        } else {
            self.by_count.insert((*count, host));
        }
    }
}

#[cfg(test)]
mod tests {
    //! Proves that nobody keeps others out, whichever ports and addresses he uses.
    use super::*;

    const LIMITS: Limits = Limits { connections: 10, handshakes: 100, handshakes_per_second: 1000 };

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn client(host: u8, port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, host], port))
    }

    #[test]
    fn a_port_an_address_and_all_have_a_rate_each() {
        let mut open = HalfOpen::new(at(0), &LIMITS);
        let mut begun = |now, address| (0..2000).take_while(|_| open.may_begin(now, address)).count();
        // Half of what an address may have, of 250, is there for whichever port asks first ...
        assert_eq!(begun(at(0), client(1, 1)), 126);
        // ... and the rest by four a port; beyond its share an address gets what is more than half of everybody's.
        assert_eq!(begun(at(0), client(1, 2)), 4);
        let ports: usize = (3..2000).map(|port| begun(at(0), client(1, port))).sum();
        assert_eq!(ports + 130, 501);
        assert_eq!(begun(at(0), client(2, 1)), 126, "another address is not concerned");
        // A tenth of a second later a port that has had its share waits, and one that has not does not.
        assert_eq!((begun(at(100), client(1, 1)), begun(at(100), client(1, 3000))), (0, 4));
        let hosts = (3..=255).flat_map(|host| (1..9).map(move |port| client(host, port)));
        let hosts: usize = hosts.map(|address| begun(at(100), address)).sum();
        assert_eq!(hosts, 1000 - 501 - 126 - 4 + 100, "all of it, with what has come since");
    }

    #[test]
    fn one_prefix_of_ipv6_is_one_host() {
        let mut open = HalfOpen::new(at(0), &LIMITS);
        let begun = (0..1000u16).filter(|&low| {
            let address = std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 7, low, 2, 3, 4);
            open.may_begin(at(0), SocketAddr::from((address, low)))
        });
        assert_eq!(begun.count(), 501);
        let other = std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 8, 1, 2, 3, 4);
        assert!(open.may_begin(at(0), SocketAddr::from((other, 1))));
    }

    #[test]
    fn the_oldest_of_the_greediest_makes_room() {
        let mut open = HalfOpen::new(at(0), &LIMITS);
        // One has 60, 50 of them from one port; two others have 20 each.
        for index in 0..60 {
            open.begun(at(index), client(1, if index < 10 { index as u16 } else { 99 }), index as usize);
        }
        for index in 60..100 {
            assert_eq!(open.to_forget(), None);
            open.begun(at(index), client(2 + (index % 2) as u8, 1), index as usize);
        }
        assert_eq!(open.to_forget(), Some(10), "the first of port 99");
        // When all have as many, the oldest of all goes.
        for index in 10..50 {
            open.ended(client(1, 99), index);
        }
        for index in 100..140 {
            open.begun(at(200), client(4 + (index % 8) as u8, 1), index);
        }
        assert_eq!((open.count, open.to_forget()), (100, Some(50)));
        for index in 0..10 {
            open.ended(client(1, index as u16), index);
        }
        open.ended(client(9, 9), 7);
        assert_eq!((open.count, open.to_forget()), (90, None));
    }

    #[test]
    fn what_is_remembered_of_addresses_is_bounded() {
        let mut open = HalfOpen::new(at(0), &LIMITS);
        for number in 0..1_000_000u32 {
            let now = Time::ZERO + Duration::from_micros(u64::from(number) * 100);
            open.may_begin(now, SocketAddr::from((number.to_be_bytes(), 1)));
            assert!(open.hosts.len() + open.ports.len() <= MOST_REMEMBERED + 2);
        }
    }
}
