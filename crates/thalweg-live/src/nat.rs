//! Network address translation: port mappings and inbound filtering (RFC 4787 for UDP, RFC 5382 for TCP, RFC 5508 for
//! ICMP echo, with identifiers as ports).
//!
//! | kind (RFC 3489, section 5) | an external port is mapped to | accepts packets from |
//! | --- | --- | --- |
//! | full cone | an internal port | any address |
//! | restricted | an internal port | addresses to which the internal port has sent |
//! | port-restricted | an internal port | addresses and ports to which the internal port has sent |
//! | symmetric | an internal port and a target's address and port | that target |

use crate::ip_header::UDP;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use thalweg_proto::units::{Duration, Time};
use thalweg_sim::simulation_spec::NatKind;

/// Address and port.
pub(crate) type TransportAddress = (IpAddr, u16);

/// First external port.
const FIRST_PORT: u16 = 30_000;
/// Maximum number of mappings.
const MAX_MAPPINGS: usize = 30_000;
/// Maximum number of remembered targets per port.
const MAX_TARGETS: usize = 1024;
/// Idle timeouts of mappings: UDP (RFC 4787, REQ-5) and TCP (RFC 5382, REQ-5).
const IDLE_TIMEOUT: [Duration; 2] = [Duration::from_secs(120), Duration::from_secs(7440)];

/// Mapping key: protocol, internal address and port, and the target if the mapping depends on it.
type Owner = (u8, TransportAddress, Option<TransportAddress>);

#[derive(Debug)]
struct Mapping {
    port: u16,
    targets: HashSet<TransportAddress>,
    created_at: Time,
    last_use: Time,
}

/// A NAT.
#[derive(Debug)]
pub(crate) struct Nat {
    kind: NatKind,
    rebind: Option<Duration>,
    mappings: HashMap<Owner, Mapping>,
    /// Mapping keys by protocol, IPv6 flag and external port.
    owners: HashMap<(u8, bool, u16), Owner>,
    next: u16,
}

impl Nat {
    pub fn new(kind: NatKind, rebind: Option<Duration>) -> Self {
        Self { kind, rebind, mappings: HashMap::new(), owners: HashMap::new(), next: FIRST_PORT }
    }

    /// Handles an outgoing packet and returns its external port; `None` if all are in use.
    pub fn leave(
        &mut self,
        now: Time,
        protocol: u8,
        from: TransportAddress,
        to: TransportAddress,
    ) -> Option<u16> {
        let target = (self.kind == NatKind::Symmetric).then_some(to);
        let owner = (protocol, from, target);
        if self.mappings.get(&owner).is_some_and(|mapping| self.is_over(now, protocol, mapping)) {
            self.forget(&owner);
        }
        if !self.mappings.contains_key(&owner) {
            let port = self.free_port(now, protocol, from.0.is_ipv6())?;
            self.owners.insert((protocol, from.0.is_ipv6(), port), owner);
            self.mappings
                .insert(owner, Mapping { port, targets: HashSet::new(), created_at: now, last_use: now });
        }
        let mapping = self.mappings.get_mut(&owner)?;
        mapping.last_use = now;
        if mapping.targets.len() < MAX_TARGETS {
            mapping.targets.insert(to);
        }
        Some(mapping.port)
    }

    /// Handles an incoming packet for an external port and returns the internal address and port; `None` if there is no
    /// mapping or the packet is filtered.
    pub fn enter(
        &mut self,
        now: Time,
        protocol: u8,
        from: TransportAddress,
        port: u16,
    ) -> Option<TransportAddress> {
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

    /// Returns the internal address and port of a mapping without filtering, for ICMP messages from any router.
    pub fn inside(&self, protocol: u8, is_v6: bool, port: u16) -> Option<TransportAddress> {
        self.owners.get(&(protocol, is_v6, port)).map(|(_, inside, _)| *inside)
    }

    /// Returns true for an expired mapping: idle for too long, or a UDP mapping past the rebinding period.
    fn is_over(&self, now: Time, protocol: u8, mapping: &Mapping) -> bool {
        let timeout = IDLE_TIMEOUT[usize::from(protocol != UDP)];
        let period = |rebind: Duration, at: Time| at.since(Time::ZERO).as_picos() / rebind.as_picos().max(1);
        let rebinds = |rebind| protocol == UDP && period(rebind, now) != period(rebind, mapping.created_at);
        now.since(mapping.last_use) >= timeout || self.rebind.is_some_and(rebinds)
    }

    fn forget(&mut self, owner: &Owner) {
        if let Some(mapping) = self.mappings.remove(owner) {
            self.owners.remove(&(owner.0, owner.1.0.is_ipv6(), mapping.port));
        }
    }

    /// Returns a free external port.
    fn free_port(&mut self, now: Time, protocol: u8, is_v6: bool) -> Option<u16> {
        if self.mappings.len() >= MAX_MAPPINGS {
            let over = self.mappings.iter().filter(|(owner, mapping)| self.is_over(now, owner.0, mapping));
            let over: Vec<Owner> = over.map(|(owner, _)| *owner).collect();
            over.iter().for_each(|owner| self.forget(owner));
        }
        if self.mappings.len() >= MAX_MAPPINGS {
            return None;
        }
        // Fewer ports are in use than exist.
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

    fn place(host: u8, port: u16) -> TransportAddress {
        (Ipv4Addr::new(10, 0, 0, host).into(), port)
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    fn nat_of_kind(kind: NatKind, rebind: Option<Duration>) -> Nat {
        Nat::new(kind, rebind)
    }

    /// Tests the table of RFC 3489, section 5: whether two targets see one external port, and which of the target
    /// itself, its other port and another address may answer.
    #[test]
    fn kinds_are_as_defined() {
        for (kind, one_port, let_in) in [
            (NatKind::FullCone, true, [true, true, true]),
            (NatKind::Restricted, true, [true, true, false]),
            (NatKind::PortRestricted, true, [true, false, false]),
            (NatKind::Symmetric, false, [true, false, false]),
        ] {
            let mut nat = nat_of_kind(kind, None);
            let port = nat.leave(at(0), UDP, place(1, 5000), place(9, 53)).unwrap();
            let seen = [place(9, 53), place(9, 54), place(8, 53)]
                .map(|from| nat.enter(at(1), UDP, from, port) == Some(place(1, 5000)));
            assert_eq!(seen, let_in, "{kind:?}");
            let other = nat.leave(at(1), UDP, place(1, 5000), place(8, 53)).unwrap();
            assert_eq!(other == port, one_port, "{kind:?}");
            assert_eq!(nat.enter(at(1), UDP, place(8, 53), other), Some(place(1, 5000)));
            // An unmapped port, and another protocol.
            assert_eq!(nat.enter(at(1), UDP, place(9, 53), 29_999), None);
            assert_eq!(nat.enter(at(1), 6, place(9, 53), port), None);
        }
    }

    #[test]
    fn two_hosts_with_one_port_have_two_outside() {
        let mut nat = nat_of_kind(NatKind::FullCone, None);
        let ports = [1, 2].map(|host| nat.leave(at(0), UDP, place(host, 5000), place(9, 53)).unwrap());
        assert_ne!(ports[0], ports[1]);
        assert_eq!(nat.enter(at(0), UDP, place(9, 53), ports[1]), Some(place(2, 5000)));
    }

    #[test]
    fn ports_change_when_time_is_over() {
        let mut nat = nat_of_kind(NatKind::FullCone, Some(Duration::from_secs(10)));
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
        // Nothing enters before the next outgoing packet.
        assert_eq!(nat.enter(at(20), UDP, place(9, 53), second), None);
    }

    #[test]
    fn idle_ports_expire_and_their_number_is_bounded() {
        let mut nat = nat_of_kind(NatKind::Symmetric, None);
        let port = nat.leave(at(0), UDP, place(1, 1), place(9, 53)).unwrap();
        assert!(nat.enter(at(119), UDP, place(9, 53), port).is_some());
        assert_eq!(nat.enter(at(120), UDP, place(9, 53), port), None);
        for target in 0..40_000u32 {
            let to = (Ipv4Addr::from(0x0b00_0000 + target).into(), 53);
            let public_port = nat.leave(at(10), UDP, place(1, 1), to);
            assert_eq!(public_port.is_some(), target + 1 < MAX_MAPPINGS as u32, "{target}");
        }
        // Two minutes later, ports are free again.
        assert!(nat.leave(at(131), UDP, place(1, 1), place(7, 7)).is_some());
    }
}
