//! Half-open handshakes, shared fairly by address: a host that begins many of them evicts its own.
//!
//! A handshake costs a client with a cookie next to nothing, and a server three Diffie-Hellman operations and a
//! half-open slot. Both are therefore shared at three levels: all clients; the addresses that a client can choose
//! freely (one IPv4 address, or the 2^64 of one IPv6 prefix, as assigned to a host); and the ports of such an address.
//! Shares limit rates only under contention. While half of an address' one-second budget is left, any of its ports may
//! use it; while half of the total budget is left, any address may. A lack of slots refuses no client: the oldest
//! handshake of the busiest port of the busiest address is evicted.
//!
//! A handshake begun without a cookie has an unvalidated and possibly spoofed address. Such handshakes have a few slots
//! of their own and are charged to no address. They take nothing from handshakes with a cookie, and a spoofed address
//! does not lock out its owner.

use super::fair_slots::{Host, Shares};
use super::settings_and_events::Limits;
use crate::peer_rate_limits::Bucket;
use std::collections::HashMap;
use std::net::SocketAddr;
use thalweg_proto::units::{Duration, Time};

/// Handshakes per second of one port, once its address has used half of its share.
const PORT_RATE: u32 = 4;

/// Share of one address in the total rate, as a divisor, once clients have used half of it.
const ADDRESS_SHARE: u32 = 4;

/// Maximum share of unvalidated addresses in the slots, as a divisor.
const UNVALIDATED_SHARE: usize = 4;

/// Handshake timeout.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(20);

/// Handshake timeout while more than half of the slots are taken.
pub const CONTENDED_TIMEOUT: Duration = Duration::from_secs(3);

/// Number of remembered rates of ports and addresses that triggers the removal of full buckets.
const MAX_REMEMBERED: usize = 4096;

/// All half-open handshakes.
#[derive(Debug)]
pub struct HalfOpen<T> {
    /// Handshakes of validated addresses, by host.
    pub shares: Shares<T>,
    /// Number of handshakes of unvalidated addresses, and its maximum.
    unvalidated: usize,
    max_unvalidated: usize,
    rate: u32,
    all: Bucket,
    hosts: HashMap<Host, Bucket>,
    ports: HashMap<(Host, u16), Bucket>,
}

impl<T: Copy + Ord> HalfOpen<T> {
    /// Creates an empty set within `limits`.
    pub fn new(now: Time, limits: &Limits) -> Self {
        let max_unvalidated = limits.unvalidated.min(limits.handshakes / UNVALIDATED_SHARE);
        Self {
            shares: Shares::new(limits.handshakes - max_unvalidated),
            unvalidated: 0,
            max_unvalidated,
            rate: limits.handshakes_per_second,
            all: Bucket::new(now, limits.handshakes_per_second),
            hosts: HashMap::new(),
            ports: HashMap::new(),
        }
    }

    /// Resets the rates after a clock restart; the handshakes stay.
    pub fn on_clock_restart(&mut self, now: Time, limits: &Limits) {
        let shares = core::mem::replace(&mut self.shares, Shares::new(0));
        *self = Self { shares, unvalidated: self.unvalidated, ..Self::new(now, limits) };
    }

    /// Adds a handshake with a validated or unvalidated address.
    pub fn add(&mut self, now: Time, address: SocketAddr, is_validated: bool, what: T) {
        if is_validated {
            self.shares.add(now, address, what);
        } else {
            self.unvalidated += 1;
        }
    }

    /// Removes a handshake added with the same arguments.
    pub fn remove(&mut self, address: SocketAddr, is_validated: bool, what: T) {
        if is_validated {
            self.shares.remove(address, what);
        } else {
            self.unvalidated -= 1;
        }
    }

    /// Returns true under contention, when handshakes have a short timeout.
    pub fn is_contended(&self) -> bool {
        self.shares.is_half_full()
    }

    /// Takes one handshake from the budget for an unvalidated address, if a slot is free and at least half of the
    /// budget is left. Clients with a cookie are thus not affected.
    pub fn may_begin_unvalidated(&mut self, now: Time) -> bool {
        self.unvalidated < self.max_unvalidated
            && !self.is_contended()
            && self.all.is_half_full(now)
            && self.all.take(now)
    }

    /// Takes one handshake from the budget for this address, if any is left.
    pub fn may_begin(&mut self, now: Time, address: SocketAddr) -> bool {
        let (host, rate) = (Host::from_address(address), self.rate);
        let port = (host, address.port());
        if self.hosts.len() + self.ports.len() > MAX_REMEMBERED {
            self.hosts.retain(|_, bucket| !bucket.is_full(now));
            self.ports.retain(|_, bucket| !bucket.is_full(now));
        }
        let host_rate = (rate / ADDRESS_SHARE).max(PORT_RATE).min(rate);
        let host = self.hosts.get(&host).copied().unwrap_or_else(|| Bucket::new(now, host_rate));
        let port_bucket =
            self.ports.get(&port).copied().unwrap_or_else(|| Bucket::new(now, PORT_RATE.min(rate)));
        let (mut host, mut port_bucket) = (host, port_bucket);
        let port_may = port_bucket.has_one(now) || host.is_half_full(now);
        let host_may = host.has_one(now) || self.all.is_half_full(now);
        if !(port_may && host_may && self.all.has_one(now)) {
            return false;
        }
        for bucket in [&mut port_bucket, &mut host, &mut self.all] {
            bucket.take(now);
        }
        // Only accepted handshakes create entries, at a limited rate; full entries are removed.
        self.hosts.insert(port.0, host);
        self.ports.insert(port, port_bucket);
        true
    }
}

#[cfg(test)]
mod tests {
    //! Tests that no client locks others out, whatever ports and addresses it uses.
    use super::*;

    const LIMITS: Limits = Limits {
        connections: 10,
        handshakes: 100,
        unvalidated: 16,
        handshakes_per_second: 1000,
        unauthenticated: 10,
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
        // Half of the budget of an address, 250, goes to any port that asks first ...
        assert_eq!(begun(at(0), client(1, 1)), 126);
        // ... and the rest by four per port. Beyond its share, an address gets the excess over half of the total
        // budget.
        assert_eq!(begun(at(0), client(1, 2)), 4);
        let ports: usize = (3..2000).map(|port| begun(at(0), client(1, port))).sum();
        assert_eq!(ports + 130, 501);
        assert_eq!(begun(at(0), client(2, 1)), 126, "another address is not concerned");
        // A tenth of a second later, a port that has used its share waits; another does not.
        assert_eq!((begun(at(100), client(1, 1)), begun(at(100), client(1, 3000))), (0, 4));
        let hosts = (3..=255).flat_map(|host| (1..9).map(move |port| client(host, port)));
        let hosts: usize = hosts.map(|address| begun(at(100), address)).sum();
        assert_eq!(hosts, 1000 - 501 - 126 - 4 + 100, "all of it, with what has come since");
    }

    /// At most a quarter of the slots, half of the total rate, and nothing under contention.
    #[test]
    fn handshakes_without_cookies_yield_to_those_with_cookies() {
        let begin = |open: &mut HalfOpen<usize>, now| {
            let begins = open.may_begin_unvalidated(now);
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
        // As many as are left of the first half of the total rate, 10 per second.
        assert_eq!(begun(&Limits { handshakes_per_second: 10, ..LIMITS }), 6);
        // 84 slots are for the others, and more than half of them are taken.
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
        // A finished handshake frees a slot; a clock restart does not.
        open.remove(client(1, 1), false, 0);
        assert!(begin(&mut open, at(0)));
        open.on_clock_restart(at(0), &LIMITS);
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
    fn address_state_is_bounded() {
        let mut open = HalfOpen::<usize>::new(at(0), &LIMITS);
        for number in 0..1_000_000u32 {
            let now = Time::ZERO + Duration::from_micros(u64::from(number) * 100);
            open.may_begin(now, SocketAddr::from((number.to_be_bytes(), 1)));
            assert!(open.hosts.len() + open.ports.len() <= MAX_REMEMBERED + 2);
        }
    }
}
