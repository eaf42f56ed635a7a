//! Middleboxes on links: NATs and firewalls.

use crate::address_rewriting::{End, quoted_protocol_and_port, replace_endpoint, translate_icmp_error};
use crate::ip_header::{Header, UDP};
use crate::nat::{Nat, TransportAddress};
use crate::network_plan::Plan;
use crate::router_icmp::is_host;
use std::collections::HashMap;
use thalweg_proto::units::Time;
use thalweg_sim::shortest_paths::DirectionId;

/// Maximum number of port pairs tracked by firewalls.
const MAX_PAIRS: usize = 1 << 16;

/// All middleboxes of a network.
#[derive(Debug, Default)]
pub(crate) struct Middleboxes {
    /// NATs by link, each with its node.
    translators: HashMap<usize, (usize, Nat)>,
    /// Time of the first UDP packet between two ports over a link, in either direction.
    udp_start_times: HashMap<(usize, [TransportAddress; 2]), Time>,
    /// True if any link has a firewall.
    has_firewalls: bool,
}

/// Disposition of a packet that reached a NAT from outside.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Inbound {
    /// Addressed to the node itself.
    Local,
    /// Forwarded inside, after translation.
    Goes(Vec<u8>),
    /// Dropped: no mapping, or filtered.
    Stops,
}

impl Middleboxes {
    pub fn new(plan: &Plan) -> Self {
        let links = plan.spec.links.iter().enumerate();
        let translators = links.filter_map(|(number, link)| {
            let kind = link.middlebox.nat?;
            Some((number, (link.a.0 as usize, Nat::new(kind, link.middlebox.nat_rebind))))
        });
        let has_firewalls = plan.spec.links.iter().any(|link| link.middlebox.udp_allowed_for.is_some());
        Self { translators: translators.collect(), udp_start_times: HashMap::new(), has_firewalls }
    }

    /// Returns true for a direction that leaves through a NAT.
    pub fn leads_out(&self, direction: DirectionId) -> bool {
        direction.is_multiple_of(2) && self.translators.contains_key(&(direction as usize / 2))
    }

    /// Returns true for a direction that enters through a NAT.
    pub fn leads_in(&self, direction: DirectionId) -> bool {
        !direction.is_multiple_of(2) && self.translators.contains_key(&(direction as usize / 2))
    }

    /// Returns true if a firewall on the path drops the packet now.
    pub fn stops(&mut self, now: Time, plan: &Plan, path: &[DirectionId], header: &Header) -> bool {
        if !self.has_firewalls || header.protocol != UDP || header.is_later_fragment {
            return false;
        }
        let mut ends = [(header.source, header.ports[0]), (header.target, header.ports[1])];
        ends.sort_unstable();
        let mut stops = false;
        for direction in path {
            let link = *direction as usize / 2;
            let Some(span) = plan.spec.links[link].middlebox.udp_allowed_for else { continue };
            if self.udp_start_times.len() >= MAX_PAIRS {
                // Expired entries start afresh, as in middleboxes that discard state.
                self.udp_start_times.retain(|(link, _), began| {
                    let span = plan.spec.links[*link].middlebox.udp_allowed_for.unwrap_or_default();
                    now.since(*began) < span * 2
                });
            }
            if self.udp_start_times.len() >= MAX_PAIRS {
                return true;
            }
            let began = *self.udp_start_times.entry((link, ends)).or_insert(now);
            stops |= now.since(began) >= span;
        }
        stops
    }

    /// Translates the source of a packet that leaves through a link's NAT. Returns false if that is impossible.
    pub fn translate_out(
        &mut self,
        now: Time,
        plan: &Plan,
        direction: DirectionId,
        bytes: &mut [u8],
        header: &Header,
    ) -> bool {
        let Some((node, translator)) = self.translators.get_mut(&(direction as usize / 2)) else {
            return false;
        };
        let address = plan.nodes[*node].addresses[usize::from(header.source.is_ipv6())];
        let [from, to] = [(header.source, header.ports[0]), (header.target, header.ports[1])];
        translator
            .leave(now, header.protocol, from, to)
            .is_some_and(|port| replace_endpoint(bytes, header, End::Source, (address, port)))
    }

    /// Translates a packet that arrived at a NAT's address through its link.
    pub fn translate_in(
        &mut self,
        now: Time,
        direction: DirectionId,
        bytes: &[u8],
        header: &Header,
    ) -> Inbound {
        let Some((_, translator)) = self.translators.get_mut(&(direction as usize / 2)) else {
            return Inbound::Local;
        };
        if let Some((protocol, port)) = quoted_protocol_and_port(bytes, header) {
            let inside = translator.inside(protocol, header.source.is_ipv6(), port);
            let message = inside
                .filter(|inside| is_host(inside.0))
                .and_then(|inside| translate_icmp_error(bytes, header, inside));
            return message.map_or(Inbound::Local, Inbound::Goes);
        }
        let from = (header.source, header.ports[0]);
        match translator.enter(now, header.protocol, from, header.ports[1]) {
            Some(inside) => {
                let mut bytes = bytes.to_vec();
                if replace_endpoint(&mut bytes, header, End::Target, inside) {
                    Inbound::Goes(bytes)
                } else {
                    Inbound::Stops
                }
            }
            // Unsolicited echo messages are for the node.
            None if header.is_icmp() => Inbound::Local,
            None => Inbound::Stops,
        }
    }
}
