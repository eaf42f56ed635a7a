//! Address translators: which port of the translator stands for which port inside, and who may answer there (RFC 4787 for UDP, RFC 5382
//! for TCP, RFC 5508 for echoes, whose identifiers are their ports).
//!
//! | kind (RFC 3489, section 5) | a port outside is | packets are let in from |
//! | --- | --- | --- |
//! | full cone | of a port inside | everybody |
//! | restricted | of a port inside | addresses that it has sent to |
//! | port-restricted | of a port inside | addresses and ports that it has sent to |
//! | symmetric | of a port inside and a target's address and port | that target |

use crate::packet::UDP;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use thalweg_proto::units::{Duration, Time};
use thalweg_sim::spec::NatKind;

/// An address and a port.
pub(crate) type Place = (IpAddr, u16);

/// The first of the ports that are given away.
const FIRST_PORT: u16 = 30_000;
/// Ports that are in use at a time, of one protocol and kind of address.
const MOST: usize = 30_000;
/// Targets that a port remembers.
const MAX_TARGETS: usize = 1024;
/// A port that nobody sends from for so long is given away again: of UDP (RFC 4787, REQ-5), and of TCP (RFC 5382, REQ-5).
const SILENCE: [Duration; 2] = [Duration::from_secs(120), Duration::from_secs(7440)];

/// The owner of a port: the protocol, the place inside, and the target where translators tell them apart.
type Owner = (u8, Place, Option<Place>);

#[derive(Debug)]
struct Mapping {
    port: u16,
    targets: HashSet<Place>,
    made: Time,
    last: Time,
}

/// A translator.
#[derive(Debug)]
pub(crate) struct Translator {
    kind: NatKind,
    rebind: Option<Duration>,
    mappings: HashMap<Owner, Mapping>,
    /// By protocol, IPv6 or not, and port.
    owners: HashMap<(u8, bool, u16), Owner>,
    next: u16,
}

impl Translator {
    pub fn new(kind: NatKind, rebind: Option<Duration>) -> Self {
        Self { kind, rebind, mappings: HashMap::new(), owners: HashMap::new(), next: FIRST_PORT }
    }

    /// A packet goes out: the port that it leaves from. `None` where all are taken.
    pub fn leave(&mut self, now: Time, protocol: u8, from: Place, to: Place) -> Option<u16> {
        let target = (self.kind == NatKind::Symmetric).then_some(to);
        let owner = (protocol, from, target);
        if self.mappings.get(&owner).is_some_and(|mapping| self.is_over(now, protocol, mapping)) {
            self.forget(&owner);
        }
        if !self.mappings.contains_key(&owner) {
            let port = self.free(now, protocol, from.0.is_ipv6())?;
            self.owners.insert((protocol, from.0.is_ipv6(), port), owner);
            self.mappings.insert(owner, Mapping { port, targets: HashSet::new(), made: now, last: now });
        }
        let mapping = self.mappings.get_mut(&owner)?;
        mapping.last = now;
        if mapping.targets.len() < MAX_TARGETS {
            mapping.targets.insert(to);
        }
        Some(mapping.port)
    }

    /// A packet comes for a port: the place inside that it is for. `None` where nobody is, or it is not let in.
    pub fn enter(&mut self, now: Time, protocol: u8, from: Place, port: u16) -> Option<Place> {
        let owner = *self.owners.get(&(protocol, from.0.is_ipv6(), port))?;
        let mapping = self.mappings.get(&owner)?;
        let (_, inside, _) = owner;
        let is_let_in = match self.kind {
            NatKind::FullCone => true,
            NatKind::Restricted => mapping.targets.iter().any(|target| target.0 == from.0),
            NatKind::PortRestricted | NatKind::Symmetric => mapping.targets.contains(&from),
        };
        (is_let_in && !self.is_over(now, protocol, mapping)).then_some(inside)
    }

    /// The place inside that a port stands for, whoever asks: routers speak of packets that have left.
    pub fn inside(&self, protocol: u8, is_v6: bool, port: u16) -> Option<Place> {
        self.owners.get(&(protocol, is_v6, port)).map(|(_, inside, _)| *inside)
    }

    /// True of a port that is given away again when it is used next: after silence, or because UDP has other ports from now on.
    fn is_over(&self, now: Time, protocol: u8, mapping: &Mapping) -> bool {
        let silence = SILENCE[usize::from(protocol != UDP)];
        let period = |rebind: Duration, at: Time| at.since(Time::ZERO).as_picos() / rebind.as_picos().max(1);
        let rebinds = |rebind| protocol == UDP && period(rebind, now) != period(rebind, mapping.made);
        now.since(mapping.last) >= silence || self.rebind.is_some_and(rebinds)
    }

    fn forget(&mut self, owner: &Owner) {
        if let Some(mapping) = self.mappings.remove(owner) {
            self.owners.remove(&(owner.0, owner.1.0.is_ipv6(), mapping.port));
        }
    }

    /// A port that nobody has.
    fn free(&mut self, now: Time, protocol: u8, is_v6: bool) -> Option<u16> {
        if self.mappings.len() >= MOST {
            let over = self.mappings.iter().filter(|(owner, mapping)| self.is_over(now, owner.0, mapping));
            let over: Vec<Owner> = over.map(|(owner, _)| *owner).collect();
            over.iter().for_each(|owner| self.forget(owner));
        }
        if self.mappings.len() >= MOST {
            return None;
        }
        // There are more ports than are in use.
        loop {
            let port = self.next;
            self.next = port.checked_add(1).unwrap_or(FIRST_PORT);
            if !self.owners.contains_key(&(protocol, is_v6, port)) {
                return Some(port);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn place(host: u8, port: u16) -> Place {
        (Ipv4Addr::new(10, 0, 0, host).into(), port)
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    fn of(kind: NatKind, rebind: Option<Duration>) -> Translator {
        Translator::new(kind, rebind)
    }

    /// The table of RFC 3489, section 5: whether two targets see one port; and which of the target itself, its other port and another
    /// address may answer.
    #[test]
    fn kinds_are_as_defined() {
        for (kind, one_port, let_in) in [
            (NatKind::FullCone, true, [true, true, true]),
            (NatKind::Restricted, true, [true, true, false]),
            (NatKind::PortRestricted, true, [true, false, false]),
            (NatKind::Symmetric, false, [true, false, false]),
        ] {
            let mut nat = of(kind, None);
            let port = nat.leave(at(0), UDP, place(1, 5000), place(9, 53)).unwrap();
            let seen = [place(9, 53), place(9, 54), place(8, 53)]
                .map(|from| nat.enter(at(1), UDP, from, port) == Some(place(1, 5000)));
            assert_eq!(seen, let_in, "{kind:?}");
            let other = nat.leave(at(1), UDP, place(1, 5000), place(8, 53)).unwrap();
            assert_eq!(other == port, one_port, "{kind:?}");
            assert_eq!(nat.enter(at(1), UDP, place(8, 53), other), Some(place(1, 5000)));
            // Nobody's port, and another protocol.
            assert_eq!(nat.enter(at(1), UDP, place(9, 53), 29_999), None);
            assert_eq!(nat.enter(at(1), 6, place(9, 53), port), None);
        }
    }

    #[test]
    fn two_hosts_with_one_port_have_two_outside() {
        let mut nat = of(NatKind::FullCone, None);
        let ports = [1, 2].map(|host| nat.leave(at(0), UDP, place(host, 5000), place(9, 53)).unwrap());
        assert_ne!(ports[0], ports[1]);
        assert_eq!(nat.enter(at(0), UDP, place(9, 53), ports[1]), Some(place(2, 5000)));
    }

    #[test]
    fn ports_change_when_time_is_over() {
        let mut nat = of(NatKind::FullCone, Some(Duration::from_secs(10)));
        let mut leave =
            |seconds, protocol| nat.leave(at(seconds), protocol, place(1, 5000), place(9, 53)).unwrap();
        let first = leave(3, UDP);
        assert_eq!(leave(9, UDP), first);
        let second = leave(10, UDP);
        assert_ne!(second, first);
        let stays = leave(10, 6);
        assert_eq!(leave(25, 6), stays);
        assert_eq!(nat.enter(at(11), UDP, place(9, 53), first), None);
        assert_eq!(nat.enter(at(11), UDP, place(9, 53), second), Some(place(1, 5000)));
        // Nothing comes in any more before something has gone out.
        assert_eq!(nat.enter(at(20), UDP, place(9, 53), second), None);
    }

    #[test]
    fn silence_ends_a_port_and_there_are_never_too_many() {
        let mut nat = of(NatKind::Symmetric, None);
        let port = nat.leave(at(0), UDP, place(1, 1), place(9, 53)).unwrap();
        assert!(nat.enter(at(119), UDP, place(9, 53), port).is_some());
        assert_eq!(nat.enter(at(120), UDP, place(9, 53), port), None);
        for target in 0..40_000u32 {
            let to = (Ipv4Addr::from(0x0b00_0000 + target).into(), 53);
            let given = nat.leave(at(10), UDP, place(1, 1), to);
            assert_eq!(given.is_some(), target + 1 < MOST as u32, "{target}");
        }
        // Two minutes later there is room again.
        assert!(nat.leave(at(131), UDP, place(1, 1), place(7, 7)).is_some());
    }
}
