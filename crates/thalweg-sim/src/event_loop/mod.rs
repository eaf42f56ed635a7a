//! The event loop: all components of a run, and their events in order of time.
//!
//! One event leads to others across components: an arriving packet makes an engine send, the new packet enters a queue,
//! and a gate is notified of its drop. Hence the steps are methods of the loop, grouped by the component where they
//! start. A step within one component is a method of that component, which does not depend on the loop.

mod endpoint_thread_model;
mod flow_events;
mod gate_events;
mod host_packets;
mod late_receivers;
mod measurement_results;
mod packet_forwarding;
mod partition_messages;
mod reading_application;
mod real_packets;
mod router_feedback;
mod series_recording;
mod transfer_completion;

use crate::Pdu;
use crate::components::connection_endpoint::{self, Command};
use crate::components::connections::Connections;
use crate::components::event_prefetch::Lookahead;
use crate::components::flow_pausing_gates::{FlowGates, NO_GATE};
use crate::components::flow_state::Role;
use crate::components::flows_and_groups::Traffic;
use crate::components::forwarding_state::Network;
use crate::components::host_processor::Host;
use crate::components::packet_pool::{EndpointId, EndpointIndex, Flags, NONE, Packet};
use crate::components::partition_boundary::Boundary;
use crate::components::real_hosts::RealHostState;
use crate::components::run_end::RunEnd;
use crate::components::run_measurements::Measurements;
use crate::components::run_totals::PacketOutcome;
use crate::event_kinds::{EventKind, MAX_ENTITIES};
use crate::event_queue::Wheel;
use crate::packet_trace::{PacketId, Record, Step};
use crate::packet_tracing::Tracing;
use core::sync::atomic::{AtomicBool, Ordering};
use thalweg_proto::endpoint::End;
use thalweg_proto::payload::Length;
use thalweg_proto::pdu::{DataUnit as _, SegmentStep};
use thalweg_proto::units::Time;
use thalweg_proto::{Output, window};

/// Number of endpoints or transmitters from which prefetching is faster: fewer stay in the second-level cache.
const MANY_ENDPOINTS: usize = 4096;
const MANY_TRANSMITTERS: usize = 8192;

/// Status of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Events remain.
    Running,
    /// The end of the specified duration has been reached.
    Finished,
    /// A third-party component violated its contract; see [`Simulation::error`](crate::Simulation::error).
    Broken,
}

/// A run with its events, with or without a trace.
#[derive(Debug)]
pub(crate) struct EventLoop<T: Tracing> {
    pub(crate) now: Time,
    pub(crate) ending: RunEnd,
    pub(crate) seed: u64,
    pub(crate) wheel: Wheel,
    pub(crate) network: Network,
    pub(crate) connections: Connections,
    pub(crate) traffic: Traffic,
    pub(crate) hosts: Vec<Host>,
    pub(crate) gates: FlowGates,
    pub(crate) measurements: Measurements,
    pub(crate) lookahead: Lookahead,
    /// Boundary of this partition, in a partitioned run.
    pub(crate) boundary: Option<Box<Boundary>>,
    /// Real hosts, if any.
    pub(crate) outside: Option<Box<RealHostState>>,
    pub(crate) tracing: T,
}

impl<T: Tracing> EventLoop<T> {
    /// Handles up to `max_events` events.
    pub fn advance(&mut self, max_events: u64) -> Status {
        let stop_at = self.measurements.tally.events().saturating_add(max_events);
        self.run_events(max_events);
        if self.measurements.tally.events() < stop_at {
            // The queue is empty.
            self.ending.end();
        }
        self.status()
    }

    /// Handles up to `max_events` queued events. With a single call site, the whole hot path is inlined here.
    #[inline(never)]
    pub(crate) fn run_events(&mut self, max_events: u64) {
        let stop_at = self.measurements.tally.events().saturating_add(max_events);
        // A partition may have links of many flows but no endpoints.
        let is_large = self.connections.endpoints().len() >= MANY_ENDPOINTS
            || self.network.transmitters.len() >= MANY_TRANSMITTERS;
        while !self.ending.is_over() && self.measurements.tally.events() < stop_at {
            let Some((time, key, packet)) = self.wheel.pop() else { return };
            self.now = time;
            self.measurements.tally.add_event();
            if T::BUFFERS && self.wheel.origin().steps == 0 {
                self.wheel.set_tie(0);
            }
            if is_large {
                self.lookahead.prefetch(&self.wheel, &self.network, &self.connections);
            }
            self.dispatch(EventKind::from_key(key), key & (MAX_ENTITIES - 1), packet);
        }
    }

    /// Handles the events up to a time, and advances to it.
    pub fn advance_to(&mut self, time: Time) -> Status {
        while !self.ending.is_over() && self.wheel.next().is_some_and(|next| next <= time) {
            self.advance(1);
        }
        self.now = self.now.max(time);
        self.status()
    }

    /// Handles the events up to a time and advances to it, or returns once `stop` is set, a flow is over or `budget` events were handled.
    /// Takes the events from `budget`.
    pub fn advance_until(&mut self, time: Time, stop: &AtomicBool, budget: &mut u32) -> Status {
        let over = self.traffic.finished_flows;
        while *budget > 0
            && !self.ending.is_over()
            && !stop.load(Ordering::Relaxed)
            && self.traffic.finished_flows == over
        {
            if self.wheel.next().is_none_or(|next| next > time) {
                self.now = self.now.max(time);
                break;
            }
            *budget -= 1;
            self.advance(1);
        }
        self.status()
    }

    fn status(&self) -> Status {
        match (self.ending.error(), self.ending.is_over()) {
            (Some(_), _) => Status::Broken,
            (None, true) => Status::Finished,
            (None, false) => Status::Running,
        }
    }

    #[inline(always)]
    fn dispatch(&mut self, kind: EventKind, entity: u32, packet: u32) {
        match kind {
            EventKind::Arrive => self.on_arrival(entity, packet),
            EventKind::Service => self.on_service(entity),
            EventKind::Timer => self.on_timer(entity),
            EventKind::OutOfOrder => self.on_out_of_order(entity),
            EventKind::Host => self.on_host(entity),
            EventKind::Gate => self.on_gate(entity),
            EventKind::Start => self.on_start(entity),
            EventKind::Application => self.on_application(entity),
            EventKind::Stop => self.on_stop(entity),
            EventKind::Change => self.on_change(entity),
            EventKind::Router => self.on_router(entity),
            EventKind::Sample => self.on_sample(),
            EventKind::Warm => self.on_warm(),
            EventKind::Reroute => self.on_reroute(),
            EventKind::End => {
                self.ending.end();
                self.count_shared();
            }
        }
    }

    fn on_timer(&mut self, id: EndpointId) {
        let Some(index) = self.connections.ids.endpoint_index(id) else { return };
        let endpoint = self.connections.endpoint_mut(index);
        if endpoint.timer_at != self.now {
            // An earlier deadline replaced this one, or the connection has closed.
            return;
        }
        endpoint.timer_at = Time::MAX;
        self.drain(index);
    }

    /// Passes an application's command to an endpoint's engine.
    pub(crate) fn command(&mut self, index: EndpointIndex, command: Command) {
        let now = self.now;
        self.connections.endpoint_mut(index).engine.command(now, command);
        self.drain(index);
    }

    /// Executes the outputs of an endpoint's engine until there are none.
    #[inline]
    pub(crate) fn drain(&mut self, index: EndpointIndex) {
        if self.connections.endpoint(index).path.host != NONE {
            self.request_host(index);
            return;
        }
        // An output's immediate consequence (the application writes more, a router on the same node answers) is an
        // ordinary input: the loop that already runs handles it, however long the chain.
        if core::mem::replace(&mut self.connections.endpoint_mut(index).draining, true) {
            return;
        }
        loop {
            // The output is not moved: copying it would cost as much as the rest.
            match &self.connections.endpoint_mut(index).engine.poll(self.now) {
                Output::Transmit(pdu) => self.send(index, pdu),
                Output::Event(event) => self.on_event(index, event),
                Output::Timeout { at, .. } => {
                    self.arm(index, *at);
                    break;
                }
                Output::Idle => break,
            }
        }
        self.connections.endpoint_mut(index).draining = false;
        self.record_endpoint(index);
    }

    /// Records the state of an endpoint with a record of every change.
    #[inline(always)]
    pub(crate) fn record_endpoint(&mut self, index: EndpointIndex) {
        let endpoint = self.connections.endpoint(index);
        if endpoint.watched {
            self.record_flow_change(endpoint.flow);
        }
    }

    /// Polls an endpoint's engine and updates its timer.
    #[inline]
    pub(crate) fn poll(&mut self, index: EndpointIndex) -> connection_endpoint::Output {
        let output = self.connections.endpoint_mut(index).engine.poll(self.now);
        if let Output::Timeout { at, .. } = output {
            self.arm(index, at.max(self.now + self.granularity(index)));
        }
        output
    }

    /// Schedules a poll of an endpoint's engine at `at`.
    #[inline]
    pub(crate) fn arm(&mut self, index: EndpointIndex, at: Time) {
        debug_assert!(at > self.now, "a timeout that is due already: the engine would spin");
        let endpoint = self.connections.endpoint_mut(index);
        if at < endpoint.timer_at {
            endpoint.timer_at = at;
            self.wheel.push(at, EventKind::Timer.key(self.connections.ids.endpoint_id(index)));
        }
    }

    /// Sends a PDU into the network.
    pub(crate) fn send(&mut self, index: EndpointIndex, pdu: &Pdu) {
        let is_window = matches!(pdu, Pdu::Window(_));
        if !is_window {
            self.time_segment(index, pdu);
        }
        let connection = self.connections.id(index / 2);
        let endpoint = self.connections.endpoint_mut(index);
        let (path, gate) = (endpoint.path, endpoint.gate);
        let size = endpoint.wire_size(pdu);
        let mut flags = Flags::from_class(endpoint.class);
        if !index.is_multiple_of(2) {
            flags.set(Flags::TO_SENDER);
        }
        let ecn = flags.ecn();
        // Most packets are segments with the codepoint of their class.
        if !is_window || ecn.is_capable() && !has_class_codepoint(pdu) {
            flags.set_ecn(pdu.ecn().unwrap_or(ecn.for_retransmission()));
        }
        self.measurements.tally.add_sent_by_endpoint(&mut flags);
        let packet = Packet {
            hop: path.route,
            exit: path.exit,
            connection,
            size,
            serial: endpoint.serial,
            sent_at: self.now,
            incarnation: endpoint.incarnation,
            flags,
            ..Packet::EMPTY
        };
        endpoint.serial = endpoint.serial.wrapping_add(1);
        let packet = self.network.packets.insert(packet, pdu);
        self.trace(Step::Sent, u32::MAX, packet);
        if gate != NO_GATE {
            self.notify_gate_of_data(index);
        }
        if path.first == NONE {
            self.forward(packet);
        } else {
            self.offer(path.first, packet, size);
        }
    }

    /// Records the start of the segment that a departing PDU reports, if any. Segments start before the host's
    /// processing.
    #[inline(never)]
    fn time_segment(&mut self, index: EndpointIndex, pdu: &Pdu) {
        let has_host = self.connections.endpoint(index).path.host != NONE;
        if let Some(step) = pdu.segment_step().filter(|step| !has_host || *step != SegmentStep::Begun) {
            self.step_segment(index, step);
        }
    }

    /// Records the start or acceptance of a segment.
    pub(crate) fn step_segment(&mut self, index: EndpointIndex, step: SegmentStep) {
        self.measurements.segments.step(self.connections.id(index / 2), self.now, step);
    }

    /// Handles a packet that reached the node of its endpoint.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, packet: u32) {
        let id = self.network.packets.get(packet).destination();
        let index = self
            .connections
            .ids
            .endpoint_index(id)
            .unwrap_or_else(|| self.connections.ensure_endpoint(id, &self.traffic));
        if self.connections.endpoint(index).path.host == NONE {
            self.deliver_to_endpoint(index, packet);
        } else {
            self.deliver_to_host(index, packet);
        }
    }

    /// Delivers a packet to its endpoint.
    pub(crate) fn deliver_to_endpoint(&mut self, index: EndpointIndex, packet: u32) {
        let header = self.network.packets.get(packet);
        let Packet { flags, sent_at, incarnation, cargo, .. } = *header;
        self.measurements.tally.note(self.now, header, PacketOutcome::Arrived);
        if flags.has(Flags::DAMAGED) {
            self.measurements.tally.add_lost();
            self.count_lost(packet);
            self.network.packets.discard(packet);
            return;
        }
        self.trace(Step::Delivered, u32::MAX, packet);
        self.measurements.tally.add_delivered();
        self.network.packets.discard(packet);
        let mut endpoint = self.connections.endpoint_mut(index);
        if endpoint.incarnation != incarnation {
            if !self.begin_receiver(index, incarnation, flags) {
                // A late packet of a closed connection.
                return;
            }
            endpoint = self.connections.endpoint_mut(index);
        }
        let packets = &self.network.packets;
        let flow = endpoint.flow;
        // The packet was just discarded, but can still be unpacked.
        let pdu = packets.unpack(cargo);
        if flags.has(Flags::TO_SENDER) {
            endpoint.engine.receive(self.now, pdu, flags.ecn());
            // Also taken during the warm-up: its last sample must not be counted later.
            if let Some(rtt) = endpoint.engine.end_mut().and_then(End::take_rtt)
                && self.measurements.tally.is_counting()
            {
                self.count_round_trip(flow, rtt);
            }
        } else {
            let payload = pdu.payload_len().filter(|_| self.measurements.tally.is_counting());
            endpoint.engine.receive(self.now, pdu, flags.ecn());
            if let Some(payload) = payload {
                self.count_arrived(flow, payload, flags.ecn().is_ce(), self.now.since(sent_at));
            }
        }
        self.drain(index);
    }

    /// Discards a packet that its endpoint has already received or given up.
    pub(crate) fn ignore(&mut self, packet: u32) {
        self.measurements.tally.note(self.now, self.network.packets.get(packet), PacketOutcome::Arrived);
        self.trace(Step::Delivered, u32::MAX, packet);
        self.measurements.tally.add_delivered();
        self.network.packets.discard(packet);
    }

    /// Discards a packet dropped by a queue or lost in propagation.
    pub(crate) fn discard(&mut self, packet: u32, step: Step, link: u32) {
        let connection = self.network.packets.get(packet).connection;
        self.trace(step, link, packet);
        self.measurements.tally.note(self.now, self.network.packets.get(packet), PacketOutcome::Discarded);
        if step == Step::Dropped {
            self.measurements.tally.add_dropped();
            if self.measurements.tally.is_counting()
                && !self.network.packets.get(packet).flags.has(Flags::ROUTER)
            {
                self.flow_counts(connection).drops += 1;
            }
        } else if step == Step::Filtered {
            self.measurements.tally.add_dropped();
        } else {
            self.measurements.tally.add_lost();
        }
        self.count_lost(packet);
        self.network.packets.discard(packet);
    }

    /// Counts a lost packet if it is data sent after the warm-up, and no copy: a packet among those counted as sent.
    #[cold]
    fn count_lost(&mut self, packet: u32) {
        let Packet { flags, connection, cargo, .. } = *self.network.packets.get(packet);
        let is_data = !flags.has(Flags::TO_SENDER) && !flags.has(Flags::ROUTER);
        if flags.has(Flags::COUNTED) && is_data && self.network.packets.has_payload(cargo) {
            self.flow_counts(connection).count_lost();
        }
    }

    #[inline]
    pub(crate) fn trace(&mut self, step: Step, link: u32, packet: u32) {
        if !T::ENABLED || !self.tracing.wants(step, link) {
            return;
        }
        let header = self.network.packets.get(packet);
        let pdu = self.network.packets.pdu(packet);
        // A direct tracer has tables of connections as long as those here; the merger of partitions assigns positions
        // itself, and knows their flows.
        let (connection, flow, reply) = if T::BUFFERS {
            (header.connection, u32::MAX, false)
        } else {
            let index = self.connections.ids.index_of(header.connection).unwrap_or(header.connection);
            let flow = self.connections.endpoint(index * 2).flow;
            (index, flow, self.connections[index].role == Role::Reply)
        };
        self.tracing.record(
            self.wheel.order_now(),
            &Record {
                time: self.now,
                step,
                link_direction: link,
                packet: PacketId {
                    connection,
                    incarnation: header.incarnation,
                    backward: header.flags.has(Flags::TO_SENDER),
                    serial: header.serial,
                    router: match &pdu {
                        Pdu::Feedback(feedback) => Some(feedback.queue),
                        _ => None,
                    },
                },
                flow,
                reply,
                ecn: header.flags.ecn(),
                size: header.size,
                pdu: &pdu,
            },
        );
    }

    /// Writes `bytes` at an endpoint, in pieces that fit a length.
    pub(crate) fn write(&mut self, index: EndpointIndex, mut bytes: u64) {
        while bytes > 0 {
            let piece = u32::try_from(bytes).unwrap_or(u32::MAX);
            let now = self.now;
            self.connections.endpoint_mut(index).engine.command(now, Command::Write(Length(piece)));
            bytes -= u64::from(piece);
        }
    }
}

/// Returns true for data of a window transport sent for the first time, unless its sender wants it to be Not-ECT.
fn has_class_codepoint(pdu: &Pdu) -> bool {
    matches!(pdu, Pdu::Window(window::Pdu::Segment(segment)) if !segment.retransmission && !segment.not_ect)
}
