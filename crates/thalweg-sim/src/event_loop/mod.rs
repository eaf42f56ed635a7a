//! The event loop: all components of a run, and their events in order of time.
//!
//! One event leads to others across components: an arriving packet makes an engine send, the new packet enters a queue,
//! and a gate is notified of its drop. Hence the steps are methods of the loop, grouped by the component where they
//! start. A step within one component is a method of that component, which does not depend on the loop.

mod boundary;
mod feedback;
mod finish;
mod flow;
mod gate;
mod host;
mod network;
mod opening;
mod outside;
mod reader;
mod sampling;
mod thread;
mod transfer;

use crate::Pdu;
use crate::error::SpecError;
use crate::event::{Kind, MAX_ENTITIES};
use crate::measure::Recorder;
use crate::parts::boundary::Boundary;
use crate::parts::connection_ids::Numbers;
use crate::parts::endpoint::{self, Command, Endpoint, Prefetch};
use crate::parts::flow::{Connection, Flow, Group, Role};
use crate::parts::gate::{NO_GATE, NodeGate};
use crate::parts::host::Host;
use crate::parts::network::{Destination, Network};
use crate::parts::outside::Outside;
use crate::parts::packet::{EndpointId, Flags, NONE, Packet};
use crate::parts::segments::SegmentTimes;
use crate::parts::series::{WatchedFlow, WatchedLink};
use crate::parts::transfer::TransferList;
use crate::prefetch::{prefetch, prefetch_at};
use crate::result::Conservation;
use crate::spec::{MeasureSpec, TransportSpec};
use crate::trace::{PacketId, Record, Step};
use crate::tracing::Tracing;
use crate::wheel::{LANES, Wheel};
use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::BTreeMap;
use thalweg_proto::end::End;
use thalweg_proto::payload::Length;
use thalweg_proto::pdu::{DataUnit as _, SegmentStep};
use thalweg_proto::units::{Duration, Time};
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
    pub(crate) finished: bool,
    /// Error that ended the run early.
    pub(crate) error: Option<Box<SpecError>>,
    pub(crate) seed: u64,
    pub(crate) warmup: Duration,
    pub(crate) wheel: Wheel,
    pub(crate) network: Network,
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) numbers: Numbers,
    pub(crate) flows: Vec<Flow>,
    pub(crate) groups: Vec<Group>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) gates: Vec<NodeGate>,
    /// Gate at the source node of each direction of each link of the specification; empty without gates.
    pub(crate) link_gates: Vec<u16>,
    pub(crate) transports: Vec<TransportSpec>,
    /// Segment times by connection, for connections with segments.
    pub(crate) segment_times: BTreeMap<u32, SegmentTimes>,
    pub(crate) measure: MeasureSpec,
    pub(crate) recorders: Vec<Recorder>,
    pub(crate) transfers: TransferList,
    /// Flows and core directions with series.
    pub(crate) watched_flows: Vec<WatchedFlow>,
    pub(crate) watched_links: Vec<WatchedLink>,
    /// True after the warm-up.
    pub(crate) counting: bool,
    pub(crate) events: u64,
    /// Endpoints that the next two events of each lane will probably need; [`NONE`] for other events.
    pub(crate) expected: [[EndpointId; 2]; LANES],
    pub(crate) fingerprint: u64,
    pub(crate) conservation: Conservation,
    /// Boundary of this partition, in a partitioned run.
    pub(crate) boundary: Option<Box<Boundary>>,
    /// Real hosts, if any.
    pub(crate) outside: Option<Box<Outside>>,
    pub(crate) tracing: T,
}

impl<T: Tracing> EventLoop<T> {
    /// Handles up to `max_events` events.
    pub fn advance(&mut self, max_events: u64) -> Status {
        let stop_at = self.events.saturating_add(max_events);
        self.go_on(max_events);
        // The queue is empty.
        self.finished |= self.events < stop_at;
        self.status()
    }

    /// Handles up to `max_events` queued events. With a single call site, the whole hot path is inlined here.
    #[inline(never)]
    pub(crate) fn go_on(&mut self, max_events: u64) {
        let stop_at = self.events.saturating_add(max_events);
        // A partition may have links of many flows but no endpoints.
        let is_large =
            self.endpoints.len() >= MANY_ENDPOINTS || self.network.transmitters.len() >= MANY_TRANSMITTERS;
        while !self.finished && self.events < stop_at {
            let Some((time, key, packet)) = self.wheel.pop() else { return };
            self.now = time;
            self.events += 1;
            if T::BUFFERS && self.wheel.origin().steps == 0 {
                self.wheel.set_tie(0);
            }
            if is_large {
                self.prefetch_coming();
            }
            self.dispatch(Kind::of(key), key & (MAX_ENTITIES - 1), packet);
        }
    }

    /// Handles the events up to a time, and advances to it.
    pub fn advance_to(&mut self, time: Time) -> Status {
        while !self.finished && self.wheel.next().is_some_and(|next| next <= time) {
            self.advance(1);
        }
        self.now = self.now.max(time);
        self.status()
    }

    /// Handles the events up to a time and advances to it, or returns once `stop` is set.
    pub fn advance_until(&mut self, time: Time, stop: &AtomicBool) -> Status {
        while !self.finished && !stop.load(Ordering::Relaxed) {
            if self.wheel.next().is_none_or(|next| next > time) {
                self.now = self.now.max(time);
                break;
            }
            self.advance(1);
        }
        self.status()
    }

    fn status(&self) -> Status {
        match (&self.error, self.finished) {
            (Some(_), _) => Status::Broken,
            (None, true) => Status::Finished,
            (None, false) => Status::Running,
        }
    }

    /// Prefetches what the next arrivals of the same lane will need, to overlap memory latency with work: the packet
    /// six events ahead, its destination four ahead, the engine there three ahead, the engine's other memory two ahead.
    #[inline]
    fn prefetch_coming(&mut self) {
        let Some(lane) = self.wheel.lane() else { return };
        self.network.packets.prefetch(self.wheel.coming(lane, 4));
        let [first, second] = self.expected[lane];
        if let Some(endpoint) = self.endpoints.get(second as usize) {
            endpoint.engine.visit(&Prefetch);
        }
        if let Some(endpoint) = self.endpoints.get(first as usize) {
            endpoint.engine.next_needed().into_iter().flatten().for_each(prefetch_at);
        }
        self.expected[lane] = [second, self.prefetch_destination(self.wheel.coming(lane, 2))];
    }

    /// Prefetches a packet's next hop and returns the endpoint, if it is one.
    #[inline]
    fn prefetch_destination(&self, packet: u32) -> EndpointId {
        match self.network.destination(packet) {
            Destination::Link(next) => prefetch(&self.network.transmitters[next as usize]),
            Destination::Endpoint(number) => {
                let Some(id) = self.numbers.end(number) else { return NONE };
                prefetch(&self.endpoints[id as usize]);
                return id;
            }
            Destination::Unknown => {}
        }
        NONE
    }

    #[inline(always)]
    fn dispatch(&mut self, kind: Kind, entity: u32, packet: u32) {
        match kind {
            Kind::Arrive => self.on_arrival(entity, packet),
            Kind::Service => self.on_service(entity),
            Kind::Timer => self.on_timer(entity),
            Kind::OutOfOrder => self.on_out_of_order(entity),
            Kind::Host => self.on_host(entity),
            Kind::Gate => self.on_gate(entity),
            Kind::Start => self.on_start(entity),
            Kind::Application => self.on_application(entity),
            Kind::Stop => self.on_stop(entity),
            Kind::Change => self.on_change(entity),
            Kind::Router => self.on_router(entity),
            Kind::Sample => self.on_sample(),
            Kind::Warm => self.on_warm(),
            Kind::Reroute => self.on_reroute(),
            Kind::End => {
                self.finished = true;
                self.count_shared();
            }
        }
    }

    fn on_timer(&mut self, number: EndpointId) {
        let Some(id) = self.numbers.end(number) else { return };
        let endpoint = &mut self.endpoints[id as usize];
        if endpoint.armed != self.now {
            // An earlier deadline replaced this one, or the connection has closed.
            return;
        }
        endpoint.armed = Time::MAX;
        self.drain(id);
    }

    /// Passes an application's command to an endpoint's engine.
    pub(crate) fn command(&mut self, id: EndpointId, command: Command) {
        let now = self.now;
        self.endpoints[id as usize].engine.command(now, command);
        self.drain(id);
    }

    /// Executes the outputs of an endpoint's engine until there are none.
    #[inline]
    pub(crate) fn drain(&mut self, id: EndpointId) {
        if self.endpoints[id as usize].path.host != NONE {
            self.request_host(id);
            return;
        }
        // An output's immediate consequence (the application writes more, a router on the same node answers) is an
        // ordinary input: the loop that already runs handles it, however long the chain.
        if core::mem::replace(&mut self.endpoints[id as usize].draining, true) {
            return;
        }
        loop {
            // The output is not moved: copying it would cost as much as the rest.
            match &self.endpoints[id as usize].engine.poll(self.now) {
                Output::Transmit(pdu) => self.send(id, pdu),
                Output::Event(event) => self.on_event(id, event),
                Output::Timeout { at, .. } => {
                    self.arm(id, *at);
                    break;
                }
                Output::Idle => break,
            }
        }
        self.endpoints[id as usize].draining = false;
        self.record_endpoint(id);
    }

    /// Records the state of an endpoint with a record of every change.
    #[inline(always)]
    pub(crate) fn record_endpoint(&mut self, id: EndpointId) {
        let endpoint = &self.endpoints[id as usize];
        if endpoint.watched {
            self.record_flow_change(endpoint.flow);
        }
    }

    /// Polls an endpoint's engine and updates its timer.
    #[inline]
    pub(crate) fn poll(&mut self, id: EndpointId) -> endpoint::Output {
        let output = self.endpoints[id as usize].engine.poll(self.now);
        if let Output::Timeout { at, .. } = output {
            self.arm(id, at.max(self.now + self.granularity(id)));
        }
        output
    }

    /// Schedules a poll of an endpoint's engine at `at`.
    #[inline]
    pub(crate) fn arm(&mut self, id: EndpointId, at: Time) {
        debug_assert!(at > self.now, "a time-out that is due already: the engine would spin");
        let endpoint = &mut self.endpoints[id as usize];
        if at < endpoint.armed {
            endpoint.armed = at;
            self.wheel.push(at, Kind::Timer.key(self.numbers.of_end(id)));
        }
    }

    /// Sends a PDU into the network.
    pub(crate) fn send(&mut self, id: EndpointId, pdu: &Pdu) {
        let mut ecn = None;
        if !matches!(pdu, Pdu::Window(_)) {
            self.time_segment(id, pdu);
            ecn = pdu.ecn();
        }
        let endpoint = &mut self.endpoints[id as usize];
        let (path, gate) = (endpoint.path, endpoint.gate);
        let size = endpoint.wire_size(pdu);
        let mut flags = Flags::of_class(endpoint.class);
        if !id.is_multiple_of(2) {
            flags.set(Flags::BACKWARD);
        }
        if flags.ecn().is_capable() && !is_first_time(pdu) {
            flags.set_ecn(flags.ecn().again());
        }
        if let Some(ecn) = ecn {
            flags.set_ecn(ecn);
        }
        let packet = Packet {
            hop: path.route,
            exit: path.exit,
            connection: self.numbers.of_end(id) / 2,
            size,
            serial: endpoint.serial,
            sent_at: self.now,
            incarnation: endpoint.incarnation,
            flags,
            ..Packet::EMPTY
        };
        endpoint.serial = endpoint.serial.wrapping_add(1);
        self.conservation.sent += 1;
        let packet = self.network.packets.insert(packet, pdu);
        self.trace(Step::Sent, u32::MAX, packet);
        if gate != NO_GATE {
            self.notify_gate_of_data(id);
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
    fn time_segment(&mut self, id: EndpointId, pdu: &Pdu) {
        let has_host = self.endpoints[id as usize].path.host != NONE;
        if let Some(step) = pdu.segment_step().filter(|step| !has_host || *step != SegmentStep::Begun) {
            self.step_segment(id, step);
        }
    }

    /// Records the start or acceptance of a segment.
    pub(crate) fn step_segment(&mut self, id: EndpointId, step: SegmentStep) {
        self.segment_times.entry(self.numbers.of_end(id) / 2).or_default().step(self.now, step);
    }

    /// Handles a packet that reached the node of its endpoint.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, packet: u32) {
        let number = self.network.packets.get(packet).destination();
        let id = self.numbers.end(number).unwrap_or_else(|| self.make_end(number));
        if self.endpoints[id as usize].path.host == NONE {
            self.deliver_to_endpoint(id, packet);
        } else {
            self.deliver_to_host(id, packet);
        }
    }

    /// Delivers a packet to its endpoint.
    pub(crate) fn deliver_to_endpoint(&mut self, id: EndpointId, packet: u32) {
        let header = self.network.packets.get(packet);
        let Packet { flags, sent_at, incarnation, cargo, .. } = *header;
        self.fingerprint = self.fingerprint.wrapping_add(mix(self.now, header, 1));
        if flags.has(Flags::DAMAGED) {
            self.conservation.lost += 1;
            self.count_lost(packet);
            self.network.packets.discard(packet);
            return;
        }
        self.trace(Step::Delivered, u32::MAX, packet);
        self.conservation.delivered += 1;
        self.network.packets.discard(packet);
        let mut endpoint = &mut self.endpoints[id as usize];
        if endpoint.incarnation != incarnation {
            if !self.begins(id, incarnation, flags) {
                // A late packet of a closed connection.
                return;
            }
            endpoint = &mut self.endpoints[id as usize];
        }
        let packets = &self.network.packets;
        let flow = endpoint.flow;
        // The packet was just discarded, but can still be unpacked.
        let pdu = packets.unpack(cargo);
        if flags.has(Flags::BACKWARD) {
            endpoint.engine.receive(self.now, pdu, flags.ecn());
            // Also taken during the warm-up: its last sample must not be counted later.
            if let Some(rtt) = endpoint.engine.end_mut().and_then(End::take_rtt)
                && self.counting
            {
                self.count_round_trip(flow, rtt);
            }
        } else {
            let payload = pdu.payload_len().filter(|_| self.counting);
            endpoint.engine.receive(self.now, pdu, flags.ecn());
            if let Some(payload) = payload {
                self.count_arrived(flow, payload, flags.ecn().is_ce(), self.now.since(sent_at));
            }
        }
        self.drain(id);
    }

    /// Discards a packet that its endpoint has already received or given up.
    pub(crate) fn ignore(&mut self, packet: u32) {
        self.note(packet, 1);
        self.trace(Step::Delivered, u32::MAX, packet);
        self.conservation.delivered += 1;
        self.network.packets.discard(packet);
    }

    /// Discards a packet dropped by a queue or lost in propagation.
    pub(crate) fn discard(&mut self, packet: u32, step: Step, link: u32) {
        let connection = self.network.packets.get(packet).connection;
        self.trace(step, link, packet);
        self.note(packet, 2);
        if step == Step::Dropped {
            self.conservation.dropped += 1;
            if self.counting && !self.network.packets.get(packet).flags.has(Flags::ROUTER) {
                self.flow_counts(connection).drops += 1;
            }
        } else if step == Step::Filtered {
            self.conservation.dropped += 1;
        } else {
            self.conservation.lost += 1;
        }
        self.count_lost(packet);
        self.network.packets.discard(packet);
    }

    /// Counts a lost packet if it is data.
    #[cold]
    fn count_lost(&mut self, packet: u32) {
        let Packet { flags, connection, cargo, .. } = *self.network.packets.get(packet);
        let is_data = !flags.has(Flags::BACKWARD) && !flags.has(Flags::ROUTER);
        if self.counting && is_data && self.network.packets.has_payload(cargo) {
            self.flow_counts(connection).lose();
        }
    }

    /// Adds the outcome of a packet to the fingerprint.
    #[inline]
    fn note(&mut self, packet: u32, outcome: u64) {
        self.fingerprint =
            self.fingerprint.wrapping_add(mix(self.now, self.network.packets.get(packet), outcome));
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
            let place = self.numbers.place(header.connection).unwrap_or(header.connection);
            let flow = self.endpoints[place as usize * 2].flow;
            (place, flow, self.connections[place as usize].role == Role::Reply)
        };
        self.tracing.record(
            self.wheel.order_now(),
            &Record {
                time: self.now,
                step,
                link,
                packet: PacketId {
                    connection,
                    incarnation: header.incarnation,
                    backward: header.flags.has(Flags::BACKWARD),
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
    pub(crate) fn write(&mut self, id: EndpointId, mut bytes: u64) {
        while bytes > 0 {
            let piece = u32::try_from(bytes).unwrap_or(u32::MAX);
            let now = self.now;
            self.endpoints[id as usize].engine.command(now, Command::Write(Length(piece)));
            bytes -= u64::from(piece);
        }
    }
}

/// Returns true if a PDU is data sent for the first time.
fn is_first_time(pdu: &Pdu) -> bool {
    matches!(pdu, Pdu::Window(window::Pdu::Segment(segment)) if !segment.retransmission)
}

/// Hashes a step of a packet. The sum over a run does not depend on the order of simultaneous events.
#[inline]
fn mix(time: Time, packet: &Packet, outcome: u64) -> u64 {
    let backward = u64::from(packet.flags.has(Flags::BACKWARD));
    let who = u64::from(packet.connection) << 33 | u64::from(packet.serial) << 1 | backward;
    let mut hash = time.as_picos() ^ who.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (outcome << 62);
    hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 32)
}
