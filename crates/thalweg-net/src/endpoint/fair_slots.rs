//! Slots shared fairly by address: a host that takes many slots loses its own first.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use thalweg_proto::units::Time;

/// Unit counted as one client host: an IPv4 address, or an IPv6 /64 prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(u64, bool);

impl Host {
    /// Returns the host of a client address.
    pub fn from_address(address: SocketAddr) -> Self {
        match address.ip().to_canonical() {
            IpAddr::V4(ip) => Self(u64::from(u32::from(ip)), true),
            IpAddr::V6(ip) => Self((u128::from(ip) >> 64) as u64, false),
        }
    }
}

/// Slots of one host by port, with start time and owner.
type Ports<T> = HashMap<u16, VecDeque<(Time, T)>>;

/// Fairly shared slots; each belongs to an owner of type `T`.
#[derive(Debug)]
pub struct Shares<T> {
    max: usize,
    open_slots: HashMap<Host, (usize, Ports<T>)>,
    /// Hosts by number of slots.
    by_count: BTreeSet<(usize, Host)>,
    count: usize,
}

impl<T: Copy + Ord> Shares<T> {
    /// Creates `max` free slots, at least one.
    pub fn new(max: usize) -> Self {
        Self { max: max.max(1), open_slots: HashMap::new(), by_count: BTreeSet::new(), count: 0 }
    }

    /// Returns true if more than half of the slots are taken.
    pub fn is_half_full(&self) -> bool {
        self.count * 2 > self.max
    }

    /// Evicts an entry if no slot is free for another.
    pub fn make_room(&mut self) -> Option<T> {
        let (host, port, what) = self.to_forget()?;
        self.remove_from(host, port, what);
        Some(what)
    }

    /// Returns the entry to evict and its address.
    fn to_forget(&self) -> Option<(Host, u16, T)> {
        if self.count < self.max {
            return None;
        }
        let &(max, _) = self.by_count.last()?;
        // Among hosts with equal numbers, evict the oldest entry first.
        let greediest = self.by_count.range((max, Host(0, false))..).filter_map(|(_, host)| {
            let (_, ports) = self.open_slots.get(host)?;
            let (port, open) = ports
                .iter()
                .max_by_key(|(_, open)| (open.len(), open.front().map(|first| core::cmp::Reverse(*first))))?;
            let (since, what) = open.front()?;
            Some((*since, *what, *host, *port))
        });
        greediest.min().map(|(_, what, host, port)| (host, port, what))
    }

    /// Adds an entry.
    pub fn add(&mut self, now: Time, address: SocketAddr, what: T) {
        let host = Host::from_address(address);
        let (count, ports) = self.open_slots.entry(host).or_default();
        self.by_count.remove(&(*count, host));
        *count += 1;
        self.by_count.insert((*count, host));
        ports.entry(address.port()).or_default().push_back((now, what));
        self.count += 1;
    }

    /// Removes an entry.
    pub fn remove(&mut self, address: SocketAddr, what: T) {
        self.remove_from(Host::from_address(address), address.port(), what);
    }

    fn remove_from(&mut self, host: Host, port: u16, what: T) {
        let Some((count, ports)) = self.open_slots.get_mut(&host) else { return };
        let Some(open) = ports.get_mut(&port) else { return };
        let Some(place) = open.iter().position(|(_, other)| *other == what) else { return };
        open.remove(place);
        if open.is_empty() {
            ports.remove(&port);
        }
        self.by_count.remove(&(*count, host));
        *count -= 1;
        self.count -= 1;
        if *count == 0 {
            self.open_slots.remove(&host);
        } else {
            self.by_count.insert((*count, host));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::units::Duration;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn client(host: u8, port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, host], port))
    }

    #[test]
    fn the_oldest_entry_of_the_largest_holder_is_evicted() {
        let mut open = Shares::new(100);
        let to_forget = |open: &Shares<usize>| open.to_forget().map(|(_, _, what)| what);
        // One has 60, 50 of them from one port; two others have 20 each.
        for index in 0..60 {
            open.add(at(index), client(1, if index < 10 { index as u16 } else { 99 }), index as usize);
        }
        for index in 60..100 {
            assert_eq!(to_forget(&open), None);
            open.add(at(index), client(2 + (index % 2) as u8, 1), index as usize);
        }
        assert_eq!(to_forget(&open), Some(10), "the first of port 99");
        // When all hosts have equal numbers, the oldest entry of all is evicted.
        for index in 10..50 {
            open.remove(client(1, 99), index);
        }
        for index in 100..140 {
            open.add(at(200), client(4 + (index % 8) as u8, 1), index);
        }
        assert_eq!((open.count, to_forget(&open)), (100, Some(50)));
        for index in 0..10 {
            open.remove(client(1, index as u16), index);
        }
        open.remove(client(9, 9), 7);
        assert_eq!((open.count, to_forget(&open)), (90, None));
    }
}
