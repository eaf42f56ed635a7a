//! Real packets: they enter from external hosts, are treated like simulated ones, and leave again.
//!
//! The owner assigns packets to flows. Connections within a flow are distinguished by queues and gates.

use super::EventLoop;
use crate::Pdu;
use crate::components::completion_times::CompletionTimes;
use crate::components::connection_endpoint::{Endpoint, EndpointPath};
use crate::components::flow_pausing_gates::NO_GATE;
use crate::components::flow_state::{Connection, Delays, Flow, Group, Role};
use crate::components::forwarding_state::END;
use crate::components::host_processor::Host;
use crate::components::packet_pool::{EndpointIndex, Flags, NONE, Packet, PacketClass};
use crate::components::real_hosts::{Arrival, HeldPacket, LinkStatus, Message, RealHostState, SCHEME};
use crate::components::run_totals::PacketOutcome;
use crate::components::transmitter::TransmitQueue;
use crate::components::workload_barrier::Rounds;
use crate::measure::Histogram;
use crate::packet_trace::Step;
use crate::packet_tracing::Tracing;
use crate::simulation_spec::TransportSpec;
use std::sync::Arc;
use thalweg_proto::Ecn;
use thalweg_proto::datagram::SourceConfig;

/// Maximum bytes held at all gates.
const MAX_HELD: u64 = 256 << 20;

impl<T: Tracing> EventLoop<T> {
    /// Initialises the state of real hosts, for nodes with these gates.
    pub(crate) fn init_outside(&mut self, gates: Vec<u16>) {
        let ends =
            thalweg_catalog::EndpointConfigs::Datagram(SourceConfig { segment: 1, header: 0, rate: None });
        self.traffic.transports.push(TransportSpec::new(SCHEME, ends, 0, 0));
        self.hosts.push(Host::Outside);
        let (host, transport) = (self.hosts.len() as u32 - 1, self.traffic.transports.len() as u32 - 1);
        self.outside = Some(Box::new(RealHostState { host, transport, gates, ..RealHostState::default() }));
    }

    /// Adds a flow along these links, between these nodes, with this name and priority. Messages of a link's queue return to the source
    /// along the links paired with it.
    pub(crate) fn add_outside_flow(
        &mut self,
        path: &[u32],
        nodes: [u32; 2],
        return_paths: Vec<(u32, Vec<u32>)>,
        name: String,
        priority: u8,
    ) -> u32 {
        let Some(outside) = &self.outside else { return 0 };
        let number = self.traffic.flows.len() as u32;
        let (host, transport) = (outside.host, outside.transport);
        let route = self.network.routes.len() as u32;
        self.network.routes.extend(path);
        self.network.routes.push(END);
        for (link, back) in return_paths {
            let (start, hops) = (self.network.routes.len() as u32, back.len() as u32);
            self.network.routes.extend(back);
            self.network.routes.push(END);
            self.network.messages.add(link, self.traffic.groups.len() as u32, false, start, hops);
        }
        self.traffic.groups.push(Group {
            name,
            scheme: SCHEME.to_owned(),
            transport,
            priority,
            gates: [NO_GATE; 2],
            routes: Arc::new([[route, route]]),
            pairs: Arc::new([nodes]),
            epoch: 0,
            control: None,
            has_access: false,
            overhead: None,
            first_flow: number,
            flows: 1,
            opening: None,
            completions: CompletionTimes::default(),
            rounds: Rounds::default(),
            delay: Histogram::default(),
            round_trips: Histogram::default(),
        });
        self.traffic.flows.push(Flow {
            delay: Some(Box::new(Delays::new(false))),
            ..Flow::idle(self.traffic.groups.len() as u32 - 1, NONE, [host; 2], self.now)
        });
        if self.measurements.series.vacant() > 0 {
            self.measurements.series.watch_flow(number);
        }
        number
    }

    /// Opens a connection of a flow, until [`close_outside`](Self::close_outside).
    pub(crate) fn connect_outside(&mut self, flow: u32) -> u32 {
        let opened = self.now;
        let connection = Connection::opened(flow, Role::Transfer, opened);
        let vacant = self.outside.as_mut().and_then(|outside| outside.vacant.pop());
        let number =
            vacant.unwrap_or_else(|| self.connections.push(connection, [Endpoint::VACANT, Endpoint::VACANT]));
        self.connections[number] = connection;
        let (state, group) = self.traffic.flow_and_group(flow);
        let route = group.routes[0][0];
        let path = EndpointPath { first: NONE, route, exit: NONE, host: state.hosts[0] };
        for id in [number * 2, number * 2 + 1] {
            let slot = self.connections.endpoint_mut(id);
            let (serial, incarnation) = (slot.serial, slot.incarnation.wrapping_add(1));
            *slot = Endpoint { path, flow, serial, incarnation, ..Endpoint::VACANT };
        }
        number
    }

    /// Closes a connection. Its packets in flight still arrive.
    pub(crate) fn close_outside(&mut self, connection: u32) {
        self.leave_gate(connection);
        self.pause_outside(connection, false);
        if let Some(outside) = &mut self.outside {
            outside.listening.remove(&connection);
            outside.pending_marks.retain(|(_, other)| *other != connection);
            outside.vacant.push(connection);
        }
    }

    /// Sends a real packet on a connection into the network, and returns its serial number there.
    pub(crate) fn send_outside(&mut self, connection: u32, priority: u8, ecn: Ecn, bytes: Vec<u8>) -> u32 {
        let endpoint = self.connections.endpoint_mut(connection * 2);
        let (serial, flow) = (endpoint.serial, endpoint.flow);
        endpoint.serial = serial.wrapping_add(1);
        let mut flags = Flags::from_class(PacketClass::new(priority, ecn));
        self.measurements.tally.add_sent_by_endpoint(&mut flags);
        let packet = Packet {
            hop: endpoint.path.route,
            connection,
            // Datagrams have at most 64 KiB.
            size: bytes.len() as u32,
            serial,
            sent_at: self.now,
            incarnation: endpoint.incarnation,
            flags,
            ..Packet::EMPTY
        };
        self.traffic.flows[flow as usize].closed_counts_mut().sent += 1;
        let packet = self.network.packets.insert_bytes(packet, bytes);
        self.trace(Step::Sent, u32::MAX, packet);
        self.notify_gate_of_data(connection * 2);
        self.forward(packet);
        serial
    }

    /// Registers a connection with something to send at a node that may have a gate.
    pub(crate) fn begin_sending_outside(&mut self, connection: u32, node: u32, priority: u8) {
        let gate = self.outside.as_ref().and_then(|outside| outside.gates.get(node as usize).copied());
        let endpoint = self.connections.endpoint_mut(connection * 2);
        endpoint.gate = gate.unwrap_or(NO_GATE);
        endpoint.class = PacketClass::new(priority, Ecn::NotEct);
        self.join_gate(connection);
    }

    /// Unregisters a connection that has nothing more to send.
    pub(crate) fn end_sending_outside(&mut self, connection: u32) {
        self.leave_gate(connection);
        self.pause_outside(connection, false);
    }

    /// Pauses or resumes a connection; on resumption its held packets leave.
    pub(crate) fn pause_outside(&mut self, connection: u32, paused: bool) {
        let Some(outside) = &mut self.outside else { return };
        if paused {
            outside.paused.entry(connection).or_default();
            return;
        }
        let Some(held) = outside.paused.remove(&connection) else { return };
        outside.held_bytes -= held.iter().map(|held| held.bytes.len() as u64).sum::<u64>();
        for HeldPacket { priority, ecn, bytes } in held {
            self.send_outside(connection, priority, ecn, bytes);
        }
    }

    /// Holds a packet at the gate that has paused its connection; returns false if the buffer is full.
    pub(crate) fn hold_outside(&mut self, connection: u32, priority: u8, ecn: Ecn, bytes: Vec<u8>) -> bool {
        let Some(outside) = &mut self.outside else { return false };
        let Some(held) = outside.paused.get_mut(&connection) else { return false };
        let size = bytes.len() as u64;
        if outside.held_bytes + size > MAX_HELD {
            return false;
        }
        outside.held_bytes += size;
        held.push_back(HeldPacket { priority, ecn, bytes });
        true
    }

    /// Marks a packet that leaves the queue at `link` with CE if a message to its source must be translated.
    pub(crate) fn mark_pending_outside(&mut self, link: u32, packet: u32) {
        let Some(outside) = &mut self.outside else { return };
        let header = self.network.packets.get_mut(packet);
        let may_be_marked = header.flags.ecn().is_capable() && !header.flags.has(Flags::ROUTER);
        if !may_be_marked || !outside.pending_marks.remove(&(link, header.connection)) {
            return;
        }
        header.flags.set_ecn(Ecn::Ce);
        if let Some(waiting) = self.network.waiting(link) {
            waiting.marks += 1;
        }
    }

    /// Handles a packet that reached a real host.
    pub(crate) fn deliver_outside(&mut self, index: EndpointIndex, packet: u32) {
        let Packet { flags, sent_at, cargo, .. } = *self.network.packets.get(packet);
        let flow = self.connections.endpoint(index).flow;
        self.measurements.tally.note(self.now, self.network.packets.get(packet), PacketOutcome::Arrived);
        self.trace(Step::Delivered, u32::MAX, packet);
        self.measurements.tally.add_delivered();
        let bytes = self.network.packets.take_bytes(packet);
        let Some(bytes) = bytes else {
            let pdu = self.network.packets.unpack(cargo);
            self.network.packets.discard(packet);
            if let (Some(outside), Pdu::Feedback(feedback), false) =
                (&mut self.outside, pdu, flags.has(Flags::DAMAGED))
            {
                outside.messages.push(Message { at: self.now, connection: index / 2, feedback });
            }
            return;
        };
        self.network.packets.discard(packet);
        let (at, ecn, damaged) = (self.now, flags.ecn(), flags.has(Flags::DAMAGED));
        if self.measurements.tally.is_counting() {
            self.count_arrived(flow, bytes.len() as u32, ecn.is_ce(), at.since(sent_at));
            let taken = &mut self.traffic.flows[flow as usize].closed_counts_mut().receivers;
            taken.packets += 1;
        }
        if let Some(outside) = &mut self.outside {
            outside.arrived.push(Arrival { at, flow, ecn, damaged, bytes });
        }
    }

    /// Returns the state of one direction of a link.
    pub(crate) fn link_status(&self, number: u32) -> Option<LinkStatus> {
        let port_state = self.network.port_state(number)?;
        let waiting = port_state.queue.as_deref();
        let dropped = waiting.map_or(0, |waiting| waiting.drops_full + waiting.drops_early);
        Some(LinkStatus {
            rate: port_state.rate(self.network.direction(number)),
            bytes: port_state.bytes,
            queued_packets: waiting.map_or(0, TransmitQueue::packets),
            lost: dropped + port_state.extra.as_deref().map_or(0, |extra| extra.losses),
            marks: waiting.map_or(0, |waiting| waiting.marks),
        })
    }

    /// Counts a TCP retransmission of a flow.
    pub(crate) fn count_retransmission(&mut self, flow: u32) {
        self.traffic.flows[flow as usize].closed_counts_mut().retransmissions += 1;
    }

    /// Counts an arrived packet: its payload for the application, and its overhead.
    pub(crate) fn count_outside(&mut self, flow: u32, payload: u64, overhead: u64) {
        let flow = &mut self.traffic.flows[flow as usize];
        flow.delivered += payload;
        let taken = &mut flow.closed_counts_mut().receivers;
        taken.payload += payload;
        taken.framing += overhead;
    }
}
