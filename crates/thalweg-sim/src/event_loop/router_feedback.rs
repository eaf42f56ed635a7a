//! Feedback of routers to sources: the policy of a watched queue, and the forwarding of its messages.
//!
//! A message enters the network at the node of the queue and takes the shortest path to the source, including the
//! source's access link if any. It is an ordinary packet: it occupies queues, takes time on links, and can be lost. But
//! it has priority over other packets. Messages never cause further messages.

use super::EventLoop;
use crate::Pdu;
use crate::components::flow_state::Role;
use crate::components::packet_pool::{EndpointIndex, Flags, PackedPdu, Packet};
use crate::components::router_feedback::WatchedQueue;
use crate::event_kinds::EventKind;
use crate::packet_trace::Step;
use crate::packet_tracing::Tracing;
use thalweg_proto::Ecn;
use thalweg_proto::congestion::FeedbackKind;
use thalweg_proto::pdu::DataUnit as _;
use thalweg_proto::transport::Feedback;
use thalweg_queue::DropReason;
use thalweg_queue::feedback::{
    ArrivalOutcome, FeedbackSpec, FlowId, Message, PassingPacket, Policy, Source, View,
};

impl<T: Tracing> EventLoop<T> {
    /// Returns the feedback specification of a watched queue.
    fn feedback_spec(&self, link: u32) -> Option<FeedbackSpec> {
        self.network.direction(link).feedback
    }

    /// Returns true if the discipline at `link` also sees packets that find the transmitter idle.
    fn enqueues_when_link_idle(&self, link: u32) -> bool {
        self.network.direction(link).queue.enqueues_when_link_idle()
    }

    /// Returns the view of a packet for the policy at `link`.
    fn passing(&self, link: u32, packet: u32) -> PassingPacket {
        let header = self.network.packets.get(packet);
        let sequence = match header.cargo {
            PackedPdu::Segment { sequence, .. } => Some(sequence),
            PackedPdu::Ack { .. } => None,
            cargo => self.network.packets.unpack(cargo).sequence(),
        };
        // A real packet has its serial number on the connection.
        let sequence = sequence.or_else(|| self.outside.is_some().then_some(header.serial.into()));
        let source = if header.flags.has(Flags::TO_SENDER) { None } else { self.source(link, header) };
        PassingPacket { source, size: header.size, sequence, message: header.flags.has(Flags::ROUTER) }
    }

    fn source(&self, link: u32, header: &Packet) -> Option<Source> {
        let (_, group, reply) = self.origin(header.connection);
        // Paths exist only to sources that receive feedback.
        let (_, hops) = *self.network.messages.paths.get(&(link, group, reply))?;
        let flow = FlowId(u64::from(header.incarnation) << 32 | u64::from(header.connection));
        Some(Source { flow, hops, is_notified: header.flags.has(Flags::NOTIFIED) })
    }

    /// Returns a connection's flow and group, and true if its data comes from the sink.
    fn origin(&self, connection: u32) -> (u32, u32, bool) {
        let flow = self.flow_of(connection);
        (flow, self.traffic.flows[flow as usize].group, self.is_reply(connection, flow))
    }

    /// Returns true if the data of this connection of a flow comes from the flow's sink.
    fn is_reply(&self, connection: u32, flow: u32) -> bool {
        // A connection opened during the run is never a reply.
        match &self.boundary {
            Some(boundary) => boundary.owners.is_reply(connection, flow),
            None => self.connections.get(connection).is_some_and(|of| of.role == Role::Reply),
        }
    }

    /// Returns the source and the destination host of a packet.
    pub(crate) fn hosts_of(&self, packet: u32) -> [u32; 2] {
        let header = self.network.packets.get(packet);
        let flow = self.flow_of(header.connection);
        // A partition may have a queue without the flows that cross it.
        let [source, sink] = self.traffic.group_with(flow).hosts_of(flow);
        let is_to_sink = header.flags.has(Flags::TO_SENDER) == self.is_reply(header.connection, flow);
        if is_to_sink { [source, sink] } else { [sink, source] }
    }

    /// Returns true unless a connection of that number and incarnation has ended.
    fn is_open(&self, connection: u32, incarnation: u16) -> bool {
        // A partition owns the temporary senders that receive feedback of its queues; permanent senders may be
        // anywhere.
        let stays = self.boundary.is_some() && self.connections.ids.flow(connection).is_none();
        let is_this = |index: EndpointIndex| self.connections.endpoint(index).incarnation == incarnation;
        stays || self.connections.ids.endpoint_index(connection * 2).is_some_and(is_this)
    }

    fn view(&self, link: u32) -> View {
        let queue = self.network.port_state(link).and_then(|port_state| port_state.queue.as_ref());
        let (packets, bytes) = queue.map_or((0, 0), |waiting| (waiting.packets(), waiting.bytes()));
        let busy_until = self.network.transmitters[link as usize].busy_until;
        View { now: self.now, packets, bytes, rate: self.network.rate(link), busy_until }
    }

    /// Returns the packets that the queue at `link` has just dropped.
    fn dropped_packets(&self, link: u32) -> Vec<PassingPacket> {
        let dropped = self.network.dropped.iter().filter(|victim| victim.reason != DropReason::Filtered);
        dropped.map(|victim| self.passing(link, victim.entry.packet)).collect()
    }

    fn watched_queue(&mut self, link: u32) -> Option<&mut WatchedQueue> {
        self.network.port_state_mut(link)?.queue.as_mut()?.feedback.as_deref_mut()
    }

    /// Handles a packet that arrives at a transmitter with a watched queue.
    pub(crate) fn offer_watched(&mut self, link: u32, packet: u32) {
        let Some(spec) = self.feedback_spec(link) else { return };
        self.network.waiting(link);
        if self.network.direction(link).queue.isolates_hosts() {
            self.announce_hosts(link, packet);
        }
        let transmitter = &self.network.transmitters[link as usize];
        let is_free = self.now >= transmitter.busy_until && !transmitter.service_due;
        let arrival = self.passing(link, packet);
        let mut goes = is_free && self.network.can_send(link);
        let is_seen = goes && self.enqueues_when_link_idle(link);
        if !goes || is_seen {
            self.enqueue(link, packet, !goes);
        }
        if is_seen {
            goes = self.dequeue(link).0.is_some();
        }
        let is_dropped = self.network.dropped.iter().any(|victim| victim.entry.packet == packet);
        let outcome = match (goes, is_dropped) {
            (true, _) => ArrivalOutcome::InService,
            (false, false) => ArrivalOutcome::Waits,
            (false, true) => ArrivalOutcome::Dropped,
        };
        let (view, dropped) = (self.view(link), self.dropped_packets(link));
        let mut outbox = core::mem::take(&mut self.network.messages.outbox);
        let mark = self
            .watched_queue(link)
            .is_some_and(|watched| watched.watch.on_arrival(&view, &arrival, outcome, &dropped, &mut outbox));
        if mark && !is_dropped {
            self.mark(packet, &spec, link);
        }
        self.discard_dropped(link);
        if goes {
            self.mark_pending_outside(link, packet);
            self.transmit(link, packet, arrival.size);
        } else {
            self.notify_change(link);
        }
        self.post(link, outbox, &spec);
    }

    /// Serves the next packet of a watched queue.
    pub(crate) fn serve_watched(&mut self, link: u32) {
        let Some(spec) = self.feedback_spec(link) else { return };
        let (entry, left) = self.dequeue(link);
        let departure = entry.map(|entry| self.passing(link, entry.packet));
        let (view, dropped) = (self.view(link), self.dropped_packets(link));
        let mut outbox = core::mem::take(&mut self.network.messages.outbox);
        let mark = self.watched_queue(link).is_some_and(|watched| {
            watched.watch.on_departure(&view, departure.as_ref(), &dropped, &mut outbox)
        });
        if let Some(entry) = entry.filter(|_| mark) {
            self.mark(entry.packet, &spec, link);
        }
        self.discard_dropped(link);
        if let Some(entry) = entry {
            self.mark_pending_outside(link, entry.packet);
        }
        self.serve(link, entry, left);
        self.notify_change(link);
        self.post(link, outbox, &spec);
    }

    /// Handles the timer of the policy at `link`.
    pub(crate) fn on_router(&mut self, link: u32) {
        let Some(spec) = self.feedback_spec(link) else { return };
        let Some(interval) = spec.policy.interval() else { return };
        self.wheel.push(self.now + interval, EventKind::Router.key(link));
        let view = self.view(link);
        let mut outbox = core::mem::take(&mut self.network.messages.outbox);
        if let Some(watched) = self.watched_queue(link) {
            watched.watch.on_interval(&view, &mut outbox);
        }
        self.post(link, outbox, &spec);
    }

    fn mark(&mut self, packet: u32, spec: &FeedbackSpec, link: u32) {
        let header = self.network.packets.get_mut(packet);
        match spec.policy.kind() {
            FeedbackKind::Seif | FeedbackKind::SourceQuench | FeedbackKind::Rations => {
                header.flags.set(Flags::NOTIFIED);
            }
            FeedbackKind::DecBit => {
                header.flags.set_ecn(Ecn::Ce);
                if let Some(waiting) = self.network.waiting(link) {
                    waiting.marks += 1;
                }
            }
        }
    }

    /// Sends the messages of the policy at `link`.
    fn post(&mut self, link: u32, mut outbox: Vec<Message>, spec: &FeedbackSpec) {
        for message in outbox.drain(..) {
            self.send_message(link, &message, spec.message_bytes);
        }
        self.network.messages.outbox = outbox;
    }

    fn send_message(&mut self, link: u32, message: &Message, size: u32) {
        let (connection, incarnation) = (message.flow.0 as u32, (message.flow.0 >> 32) as u16);
        if !self.is_open(connection, incarnation) {
            // The transfer has ended: there is no recipient.
            return;
        }
        if let Some(outside) =
            self.outside.as_mut().filter(|outside| !outside.listening.contains(&connection))
        {
            if outside.translates {
                outside.pending_marks.insert((link, connection));
            }
            return;
        }
        let (number, group, reply) = self.origin(connection);
        let Some(&(hop, _)) = self.network.messages.paths.get(&(link, group, reply)) else { return };
        let [there, back] = self.traffic.paths(number);
        let exit = if reply { there.exit } else { back.exit };
        let mut flags = Flags::default();
        for flag in [Flags::ROUTER_FEEDBACK, Flags::TO_SENDER, Flags::ROUTER] {
            flags.set(flag);
        }
        let sent_at = self.now;
        let Some(watched) = self.watched_queue(link) else { return };
        watched.messages += 1;
        watched.bytes += u64::from(size);
        let serial = watched.next;
        watched.next = serial.wrapping_add(1);
        let packet =
            Packet { hop, exit, connection, size, serial, sent_at, incarnation, flags, ..Packet::EMPTY };
        let feedback =
            Feedback { dropped: message.dropped, rate: message.rate, growth: message.growth, queue: link };
        let packet = self.network.packets.insert(packet, &Pdu::Feedback(feedback));
        self.measurements.tally.add_sent();
        self.trace(Step::Sent, link, packet);
        self.forward(packet);
    }
}
