//! Gates of nodes applied to real traffic: classification of data packets, start and end of flows, and their congestion
//! signals. The gate algorithm is the simulator's.
//!
//! - A flow is the TCP or UDP traffic from one program to another, identified by addresses and ports. It starts with
//!   its first data. It ends when TCP closes it, or after one second without data and with none in flight or waiting.
//! - A gate holds data back. Other TCP packets pass: acknowledgements and connection setup.
//! - A TCP retransmission of data that waits at the gate is dropped, as a second copy would be redundant.

use crate::ip_header::{Header, TCP, UDP};
use crate::simulated_connection_numbers::Key;
use crate::tcp_headers::{Segment, Sender};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, SocketAddr};
use thalweg_proto::transport::Signal;
use thalweg_proto::units::{Duration, Time};
use thalweg_sim::live_network::LiveNetwork;
use thalweg_sim::simulation_spec::NodeId;

/// Idle time after which a flow with nothing in flight ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(1);

/// Idle time after which a flow ends, even with packets in flight.
const MAX_IDLE_TIME: Duration = Duration::from_secs(50);

/// Verdict on a packet at its node's gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateVerdict {
    /// Forward.
    Passes,
    /// Hold.
    Waits,
    /// Duplicate of data that already waits.
    Copy,
}

/// Flow key: addresses, protocol and ports, source to target.
type FlowKey = ([IpAddr; 2], u8, [u16; 2]);

fn flow_key(header: &Header) -> FlowKey {
    ([header.source, header.target], header.protocol, header.ports)
}

#[derive(Debug)]
struct Flow {
    key: Key,
    connection: u32,
    /// Time of the last data.
    last: Time,
    tcp: Option<Sender>,
    /// Waiting TCP data, by sequence numbers.
    unsent_ranges: Vec<(u32, u32)>,
}

/// Flows behind gates.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    flows: HashMap<FlowKey, Flow>,
    /// Time of the next check for ended flows.
    next_check: Option<Time>,
}

impl Gates {
    /// Returns the time of the next timer event.
    pub fn next(&self) -> Option<Time> {
        self.next_check
    }

    /// Handles a packet sent by a host behind a gate, on this connection and priority.
    pub fn on_sent(
        &mut self,
        now: Time,
        (node, priority): (usize, u8),
        (key, connection): (Key, u32),
        (bytes, header): (&[u8], &Header),
        live: &mut LiveNetwork,
    ) -> GateVerdict {
        let segment = Segment::parse(bytes, header);
        let is_data = match header.protocol {
            UDP => true,
            TCP => segment.is_some_and(|segment| segment.payload > 0),
            _ => false,
        };
        let ends = flow_key(header);
        let flow = match self.flows.entry(ends) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(_) if !is_data => return GateVerdict::Passes,
            Entry::Vacant(place) => {
                self.next_check.get_or_insert(now + IDLE_TIMEOUT);
                live.join(connection, NodeId(node as u32), priority);
                let tcp = segment.as_ref().map(Sender::new);
                place.insert(Flow { key, connection, last: now, tcp, unsent_ranges: Vec::new() })
            }
        };
        if is_data {
            flow.last = now;
        }
        if let (Some(segment), Some(sender)) = (&segment, &mut flow.tcp)
            && let Some(signal) = sender.on_sent(segment)
        {
            live.congested(connection, signal);
        }
        if !live.is_paused(connection) {
            flow.unsent_ranges.clear();
            if segment.is_some_and(|segment| segment.is_reset()) {
                self.end(&ends, live);
            }
            return GateVerdict::Passes;
        }
        let Some(segment) = segment else { return GateVerdict::Waits };
        if segment.payload > 0 {
            let part = (segment.sequence, segment.end());
            if flow.unsent_ranges.contains(&part) {
                return GateVerdict::Copy;
            }
            flow.unsent_ranges.push(part);
            return GateVerdict::Waits;
        }
        // The FIN or RST must not overtake the data.
        let is_end = segment.is_last() || segment.is_reset();
        if is_end && !flow.unsent_ranges.is_empty() { GateVerdict::Waits } else { GateVerdict::Passes }
    }

    /// Handles a packet received for a host behind a gate.
    pub fn on_received(&mut self, bytes: &[u8], header: &Header, live: &mut LiveNetwork) {
        let ([source, target], protocol, [from, to]) = flow_key(header);
        let ends = ([target, source], protocol, [to, from]);
        let Some(flow) = self.flows.get_mut(&ends) else { return };
        let (Some(segment), Some(sender)) = (Segment::parse(bytes, header), &mut flow.tcp) else { return };
        if let Some(signal) = sender.on_received(&segment) {
            live.congested(flow.connection, signal);
        }
        if segment.is_reset() || sender.is_done() {
            self.end(&ends, live);
        }
    }

    /// Handles a congestion signal for a program's connection that no packet shows.
    pub fn on_congested(
        &self,
        program: SocketAddr,
        target: SocketAddr,
        signal: Signal,
        live: &mut LiveNetwork,
    ) {
        let ends = ([program.ip(), target.ip()], TCP, [program.port(), target.port()]);
        if let Some(flow) = self.flows.get(&ends) {
            live.congested(flow.connection, signal);
        }
    }

    /// Removes ended flows.
    pub fn pass(&mut self, now: Time, live: &mut LiveNetwork, mut keep: impl FnMut(&Key)) {
        if self.next_check.is_none_or(|next_check| now < next_check) {
            return;
        }
        self.flows.retain(|_, flow| {
            let waits = live.is_holding(flow.connection);
            if waits {
                keep(&flow.key);
            }
            let is_silent = now.since(flow.last) >= IDLE_TIMEOUT;
            let is_over = is_silent && !flow.tcp.is_some_and(|sender| sender.is_waiting()) && !waits;
            // No event will report these packets as delivered; connections close only later.
            let is_dead = now.since(flow.last) >= MAX_IDLE_TIME && !waits;
            if is_over || is_dead {
                live.leave(flow.connection);
            }
            !(is_over || is_dead)
        });
        self.next_check = (!self.flows.is_empty()).then_some(now + IDLE_TIMEOUT / 4);
    }

    fn end(&mut self, ends: &FlowKey, live: &mut LiveNetwork) {
        if let Some(flow) = self.flows.remove(ends) {
            live.leave(flow.connection);
        }
    }
}
