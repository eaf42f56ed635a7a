//! The connections of a capture, by addresses, ports and interfaces.
//!
//! A capture at several interfaces, such as those of both hosts, sees the same packets several times: each interface has connections
//! of its own. Where every interface sees one direction only, as at a tap, both are one connection.

use super::connection_endpoints::ConnectionEnds;
use super::packet_headers::{Datagram, Segment, SkipReason, locate_datagram};
use super::quic::KeyLog;
use super::tcp_reconstruction::Tcp;
use super::thalweg_protocols::Pdus;
use super::udp_flows::Udp;
use crate::format_and_limits::Limits;
use crate::trace_model::Connection;
use std::collections::{BTreeMap, HashMap};
use thalweg_units::Time;

/// Interface at which a packet was captured.
#[derive(Clone, Copy, Debug)]
pub(super) struct CapturedAt {
    pub interface: u16,
    /// Link type, by the registry of libpcap.
    pub link: u32,
}

/// Identity of a connection at an interface.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    is_tcp: bool,
    /// Both ends, in a fixed order.
    ends: ConnectionEnds,
    interface: u16,
}

impl Key {
    fn at(self, interface: u16) -> Self {
        Self { interface, ..self }
    }
}

/// Connection being read.
struct OpenConnection {
    protocol: Protocol,
    /// Interface of the first packet.
    home: u16,
    /// Interface of each direction, in the order of the key's ends.
    directions: [Option<u16>; 2],
}

enum Protocol {
    Tcp(Box<Tcp>),
    Udp(Box<Udp>),
    Pdus(Box<Pdus>),
}

/// Table of connections.
pub(super) struct Connections {
    limits: Limits,
    /// Secrets of QUIC connections.
    pub(super) keys: KeyLog,
    /// Packets and acknowledgements kept.
    kept_records: usize,
    all: Vec<OpenConnection>,
    /// Number of interfaces with packets, at least one.
    interfaces: u16,
    /// True if a connection was seen at several interfaces.
    is_repeated: bool,
    by_key: HashMap<Key, usize>,
    /// Key and index of the packet before.
    last: Option<(Key, usize)>,
    skipped: BTreeMap<SkipReason, u64>,
    /// Packets of connections beyond the limit.
    beyond: u64,
}

impl Connections {
    pub(super) fn new(limits: &Limits, keys: KeyLog) -> Self {
        Self {
            limits: *limits,
            keys,
            kept_records: 0,
            all: Vec::new(),
            interfaces: 1,
            is_repeated: false,
            by_key: HashMap::new(),
            last: None,
            skipped: BTreeMap::new(),
            beyond: 0,
        }
    }

    /// Adds a packet of `length` bytes, of which `bytes` were captured.
    pub(super) fn packet(&mut self, at: CapturedAt, time: Time, bytes: &[u8], length: u32) {
        self.interfaces = self.interfaces.max(at.interface.saturating_add(1));
        if let Err(reason) = self.try_packet(at, time, bytes, length) {
            *self.skipped.entry(reason).or_default() += 1;
        }
    }

    /// Returns the connection of a packet, if there is one: `found` is that of its key.
    fn known_connection(&mut self, found: Option<usize>, key: &Key, direction: usize) -> Option<usize> {
        let interface = key.interface;
        let index = found.or_else(|| {
            let others = (0..self.interfaces.min(MAX_SEARCHED)).filter(|other| *other != interface);
            let mut others = others.filter_map(|other| self.by_key.get(&key.at(other)));
            others.next().copied()
        })?;
        let open = &mut self.all[index];
        match open.directions[direction] {
            Some(other) if other != interface && interface != open.home => {
                self.is_repeated = true;
                return None;
            }
            _ => open.directions[direction] = Some(interface),
        }
        if found.is_none() {
            self.by_key.insert(*key, index);
        }
        Some(index)
    }

    fn try_packet(
        &mut self,
        at: CapturedAt,
        time: Time,
        bytes: &[u8],
        length: u32,
    ) -> Result<(), SkipReason> {
        let datagram = locate_datagram(at.link, bytes, length)?;
        let ports = datagram.bytes.first_chunk().ok_or(SkipReason::Short)?;
        let [a, b, c, d] = *ports;
        let from = (datagram.source, u16::from_be_bytes([a, b]));
        let to = (datagram.sink, u16::from_be_bytes([c, d]));
        let ends = [from.min(to), from.max(to)];
        let key = Key { is_tcp: datagram.is_tcp, ends, interface: at.interface };
        let direction = usize::from(from > to);
        let segment = match datagram.is_tcp {
            true => {
                let headers = Segment::read(datagram.bytes, datagram.length).ok_or(SkipReason::Short)?;
                Some(Segment { identification: datagram.identification, ..headers })
            }
            false => None,
        };
        let found = match self.last {
            Some((last, index)) if last == key => Some(index),
            _ => self.by_key.get(&key).copied(),
        };
        let found = match found {
            // By far the most captures have one interface.
            Some(index) if self.interfaces == 1 => {
                self.all[index].directions[direction] = Some(key.interface);
                Some(index)
            }
            found => self.known_connection(found, &key, direction),
        };
        // A SYN with another number begins a new connection between the same ports.
        let is_new = |index: usize| match (&self.all[index].protocol, &segment) {
            (Protocol::Tcp(tcp), Some(segment)) => tcp.is_over_for(from, segment),
            _ => false,
        };
        let index = match found {
            Some(index) if !is_new(index) => index,
            _ if self.all.len() >= self.limits.connections => {
                self.beyond += 1;
                return Ok(());
            }
            _ => {
                let protocol = self.begin([from, to], time, &datagram, segment.as_ref());
                let mut directions = [None; 2];
                directions[direction] = Some(key.interface);
                self.all.push(OpenConnection { protocol, home: key.interface, directions });
                // Other interfaces of a tap follow to the new connection between the same ports.
                for other in (0..self.interfaces.min(MAX_SEARCHED)).filter(|_| self.interfaces > 1) {
                    let other = key.at(other);
                    if found.is_some() && self.by_key.get(&other).copied() == found {
                        self.by_key.remove(&other);
                    }
                }
                self.by_key.insert(key, self.all.len() - 1);
                self.all.len() - 1
            }
        };
        self.last = Some((key, index));
        let is_full = self.kept_records >= self.limits.packets;
        let Datagram { size, is_ce, .. } = datagram;
        self.kept_records += match (&mut self.all[index].protocol, &segment) {
            (Protocol::Tcp(tcp), Some(segment)) => tcp.segment(from, time, segment, size, is_ce, is_full),
            (Protocol::Udp(udp), _) => udp.datagram(from, time, &datagram, is_full, &self.keys),
            (Protocol::Pdus(pdus), _) => pdus.datagram(from, time, &datagram, is_full),
            _ => 0,
        };
        Ok(())
    }

    /// Begins a connection between the ends `[from, to]` with its first packet.
    fn begin(
        &self,
        [from, to]: ConnectionEnds,
        time: Time,
        datagram: &Datagram<'_>,
        segment: Option<&Segment>,
    ) -> Protocol {
        if let Some(segment) = segment {
            return Protocol::Tcp(Box::new(Tcp::new(from, to, time, segment)));
        }
        if let Some(protocol) = Pdus::recognise([from.1, to.1], datagram) {
            return Protocol::Pdus(Box::new(Pdus::new(protocol, from, to, time)));
        }
        let packets = self.limits.packets.saturating_sub(self.kept_records);
        let limits = Limits { packets, ..self.limits };
        Protocol::Udp(Box::new(Udp::new([from, to], time, datagram, &self.keys, &limits)))
    }

    /// Ends the capture; returns its connections, and notes on packets that were not used.
    pub(super) fn finish(self) -> (Vec<Connection>, Vec<String>) {
        let connections: Vec<Connection> = self
            .all
            .into_iter()
            .map(|open| match open.protocol {
                Protocol::Tcp(tcp) => tcp.finish(),
                Protocol::Udp(udp) => udp.finish(),
                Protocol::Pdus(pdus) => pdus.finish(),
            })
            .collect();
        let mut notes = Vec::new();
        if self.is_repeated {
            notes.push(format!(
                "The capture has packets of {} interfaces: a connection seen at several is shown for each.",
                self.interfaces
            ));
        }
        for (reason, count) in self.skipped {
            let what = match reason {
                SkipReason::Link(link) => format!("have link type {link}, which is not read"),
                SkipReason::NoIp => "are not IP, or have invalid headers".to_owned(),
                SkipReason::Other => "are neither TCP nor UDP".to_owned(),
                SkipReason::Fragment => "are fragments other than the first".to_owned(),
                SkipReason::Short => {
                    "are cut before the end of their headers: capture at least 120 B of each".to_owned()
                }
            };
            notes.push(format!("{count} packets {what}."));
        }
        if self.beyond > 0 {
            notes.push(format!("{} packets of further connections were skipped.", self.beyond));
        }
        let not_kept: u64 = connections
            .iter()
            .flat_map(|one| &one.directions)
            .map(|direction| direction.counts.not_kept)
            .sum();
        if not_kept > 0 {
            notes.push(format!("{not_kept} packets beyond the limit are counted, and not shown one by one."));
        }
        (connections, notes)
    }
}

/// Maximum number of interfaces at which the other direction of a connection is looked for.
const MAX_SEARCHED: u16 = 16;
