//! Half-open handshakes, shared out by address: whoever begins many of them takes the place of its own.
//!
//! A handshake costs a client next to nothing once it has a cookie, and a server three Diffie-Hellmans and a place among
//! those that are half-open. Both are therefore shared out, over three levels: all clients, the addresses that a client can
//! choose from at will (one of IPv4; the 2^64 below one prefix of IPv6, which is what a host is given), and the ports of
//! one of these. Rates are a matter of shares only where they are scarce: while half of an address' second's worth is left,
//! any of its ports may have it, and while half of everybody's is left, any address. For want of a place nobody is turned
//! away: the oldest handshake of the port that has most, of the address that has most, is forgotten.
//!
//! A handshake that begins without a cookie is of an address that has proved nothing, and so perhaps in another's name. Such
//! handshakes have a few places of their own and are charged to no address: they take nothing from those with a cookie, and
//! nobody is kept out by what is begun in his name.

use super::interface::Limits;
use super::shares::{Host, Shares};
use crate::bucket::Bucket;
use std::collections::HashMap;
use std::net::SocketAddr;
use thalweg_proto::units::{Duration, Time};

/// Handshakes a second that one port of one address may begin where its address has used up half of its share.
const PORT_RATE: u32 = 4;

/// An address may begin one of so many of all handshakes a second where clients have used up half of them.
const ADDRESS_SHARE: u32 = 4;

/// Of all places one of so many at most is for addresses that have proved nothing.
const UNPROVED_SHARE: usize = 4;

/// A handshake takes no longer.
pub const HANDSHAKE: Duration = Duration::from_secs(20);

/// Half-open handshakes are forgotten after this while more than half of the places are taken.
pub const IN_A_CROWD: Duration = Duration::from_secs(3);

/// Rates of ports and addresses that are remembered before those are looked for that have come back to their full.
const MOST_REMEMBERED: usize = 4096;

/// All half-open handshakes.
#[derive(Debug)]
pub struct HalfOpen<T> {
    /// The handshakes of addresses that are proved, by host.
    pub shares: Shares<T>,
    /// The number of all others, and the most that there may be.
    unproved: usize,
    most_unproved: usize,
    rate: u32,
    all: Bucket,
    hosts: HashMap<Host, Bucket>,
    ports: HashMap<(Host, u16), Bucket>,
}

impl<T: Copy + Ord> HalfOpen<T> {
    /// None, within `limits`.
    pub fn new(now: Time, limits: &Limits) -> Self {
        let most_unproved = limits.unproved.min(limits.handshakes / UNPROVED_SHARE);
        Self {
            shares: Shares::new(limits.handshakes - most_unproved),
            unproved: 0,
            most_unproved,
            rate: limits.handshakes_per_second,
            all: Bucket::new(now, limits.handshakes_per_second),
            hosts: HashMap::new(),
            ports: HashMap::new(),
        }
    }

    /// Rates begin anew, with a clock that does; the handshakes stay.
    pub fn renew(&mut self, now: Time, limits: &Limits) {
        let shares = core::mem::replace(&mut self.shares, Shares::new(0));
        *self = Self { shares, unproved: self.unproved, ..Self::new(now, limits) };
    }

    /// One has begun, whose address is proved or not.
    pub fn add(&mut self, now: Time, address: SocketAddr, is_proved: bool, what: T) {
        if is_proved {
            self.shares.add(now, address, what);
        } else {
            self.unproved += 1;
        }
    }

    /// One that was added so is over.
    pub fn remove(&mut self, address: SocketAddr, is_proved: bool, what: T) {
        if is_proved {
            self.shares.remove(address, what);
        } else {
            self.unproved -= 1;
        }
    }

    /// True while places are so scarce that nobody keeps one for long.
    pub fn is_crowded(&self) -> bool {
        self.shares.is_half_full()
    }

    /// One handshake's worth of work for an address that has proved nothing, if there is a place for it and much is left:
    /// those that have a cookie want for nothing.
    pub fn may_begin_unproved(&mut self, now: Time) -> bool {
        self.unproved < self.most_unproved
            && !self.is_crowded()
            && self.all.is_half_full(now)
            && self.all.take(now)
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
}

#[cfg(test)]
mod tests {
    //! Proves that nobody keeps others out, whichever ports and addresses he uses.
    use super::*;

    const LIMITS: Limits = Limits {
        connections: 10,
        handshakes: 100,
        unproved: 16,
        handshakes_per_second: 1000,
        strangers: 10,
        memory: 0,
    };

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn client(host: u8, port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, host], port))
    }

    #[test]
    fn a_port_an_address_and_all_have_a_rate_each() {
        let mut open = HalfOpen::<usize>::new(at(0), &LIMITS);
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

    /// Of the places a quarter at most, half of everybody's rate, and nothing in a crowd.
    #[test]
    fn what_needs_no_cookie_takes_nothing_from_what_has_one() {
        let begin = |open: &mut HalfOpen<usize>, now| {
            let begins = open.may_begin_unproved(now);
            if begins {
                open.add(now, client(1, 1), false, 0);
            }
            begins
        };
        let begun = |limits: &Limits| {
            let mut open = HalfOpen::<usize>::new(at(0), limits);
            (0..100).filter(|_| begin(&mut open, at(0))).count()
        };
        let small = Limits { handshakes: 8, ..LIMITS };
        let none = Limits { handshakes: 3, ..LIMITS };
        assert_eq!([&LIMITS, &small, &none].map(begun), [16, 2, 0]);
        // As many as are left of everybody's first half, of 10 a second.
        assert_eq!(begun(&Limits { handshakes_per_second: 10, ..LIMITS }), 6);
        // 84 places are for the others, of which more than half are taken.
        let mut open = HalfOpen::<usize>::new(at(0), &LIMITS);
        for index in 0..42 {
            open.add(at(0), client(2, 1), true, index);
        }
        assert!(begin(&mut open, at(0)));
        open.add(at(0), client(2, 1), true, 42);
        assert!(!begin(&mut open, at(0)));
        open.remove(client(2, 1), true, 42);
        assert!(
            (0..16).filter(|_| begin(&mut open, at(0))).count() == 15 && open.shares.make_room().is_none()
        );
        // One that is over makes room for another, and a clock that is started anew for none.
        open.remove(client(1, 1), false, 0);
        assert!(begin(&mut open, at(0)));
        open.renew(at(0), &LIMITS);
        assert!(!begin(&mut open, at(0)));
    }

    #[test]
    fn one_prefix_of_ipv6_is_one_host() {
        let mut open = HalfOpen::<usize>::new(at(0), &LIMITS);
        let begun = (0..1000u16).filter(|&low| {
            let address = std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 7, low, 2, 3, 4);
            open.may_begin(at(0), SocketAddr::from((address, low)))
        });
        assert_eq!(begun.count(), 501);
        let other = std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 8, 1, 2, 3, 4);
        assert!(open.may_begin(at(0), SocketAddr::from((other, 1))));
    }

    #[test]
    fn what_is_remembered_of_addresses_is_bounded() {
        let mut open = HalfOpen::<usize>::new(at(0), &LIMITS);
        for number in 0..1_000_000u32 {
            let now = Time::ZERO + Duration::from_micros(u64::from(number) * 100);
            open.may_begin(now, SocketAddr::from((number.to_be_bytes(), 1)));
            assert!(open.hosts.len() + open.ports.len() <= MOST_REMEMBERED + 2);
        }
    }
}
