//! Forwarding of packets: transmitters, queues and propagation.

use super::EventLoop;
use crate::Pdu;
use crate::components::ecmp_groups::FIRST_ECMP_GROUP;
use crate::components::forwarding_state::{END, EXIT, Network};
use crate::components::packet_pool::{Flags, NONE, Packet, PacketPool};
use crate::components::transmitter::{OnWire, Queue, QueueMode, RareState, Speed, Varying};
use crate::event_kinds::EventKind;
use crate::packet_trace::Step;
use crate::packet_tracing::Tracing;
use crate::spec_error::SpecError;
use thalweg_proto::units::Time;
use thalweg_proto::window::{self, Ack};
use thalweg_queue::{AckFilter, Any, ContractViolation, Discipline, DropReason, DroppedPacket, Entry, Limit};

/// Returns the acknowledgement in a packet, if it is an undamaged one of the window transport.
fn ack_of(packets: &PacketPool, packet: u32) -> Option<(&Packet, Ack)> {
    let header = packets.get(packet);
    match packets.unpack(header.cargo) {
        Pdu::Window(window::Pdu::Ack(ack)) if !header.flags.has(Flags::DAMAGED) => Some((header, ack)),
        _ => None,
    }
}

/// Removes from a queue the acknowledgements that `entry` supersedes, if it is one. Returns true if it has replaced
/// one.
#[cold]
fn filter_acks(
    packets: &PacketPool,
    filter: AckFilter,
    entry: Entry,
    queue: &mut Any,
    dropped: &mut Vec<DroppedPacket>,
) -> bool {
    let Some((newer, ack)) = ack_of(packets, entry.packet) else { return false };
    let of = |header: &Packet| (header.connection, header.incarnation, header.flags.has(Flags::TO_SENDER));
    let superfluous = |waiting: &Entry| {
        waiting.flow == entry.flow
            && ack_of(packets, waiting.packet)
                .is_some_and(|(header, older)| of(header) == of(newer) && ack.supersedes(&older))
    };
    queue.filter(filter, entry, superfluous, dropped)
}

/// Returns a packet as disciplines see it.
#[inline(always)]
fn entry_of(packets: &PacketPool, packet: u32) -> Entry {
    let header = packets.get(packet);
    Entry {
        packet,
        size: header.size,
        flow: header.connection,
        priority: header.flags.priority(),
        is_feedback: header.flags.has(Flags::ROUTER_FEEDBACK),
        ecn: header.flags.ecn(),
        marked: false,
    }
}

impl<T: Tracing> EventLoop<T> {
    /// Sends a packet on its next hop.
    #[inline(always)]
    pub(crate) fn forward(&mut self, packet: u32) {
        let header = self.network.packets.get_mut(packet);
        let size = header.size;
        let link = match self.network.routes[header.hop as usize] {
            link if link < FIRST_ECMP_GROUP => {
                header.hop += 1;
                link
            }
            END => return self.deliver(packet),
            EXIT => {
                header.hop += 1;
                header.exit
            }
            ecmp_group => {
                let branch = self.network.ecmp_groups.choose(header, ecmp_group);
                header.hop = branch.next;
                branch.link
            }
        };
        self.offer(link, packet, size);
    }

    /// Handles a packet that arrives at a transmitter.
    #[inline(never)]
    pub(crate) fn offer(&mut self, link: u32, packet: u32, size: u32) {
        let transmitter = &self.network.transmitters[link as usize];
        let is_free = self.now >= transmitter.busy_until && !transmitter.service_due;
        let speed = self.network.speeds[transmitter.spec as usize];
        // Transmitters with a discipline that sees all packets, or with a feedback policy, have no `Speed`.
        if is_free && speed.picos_per_byte != 0 {
            self.transmit_at(link, packet, size, speed);
        } else if is_free && self.network.can_pass(link) {
            self.transmit_in_general(link, packet, size);
        } else {
            self.queue_or_pass_through(link, packet);
        }
    }

    /// Handles a packet at a busy transmitter, or at one that sees every packet.
    #[inline(never)]
    fn queue_or_pass_through(&mut self, link: u32, packet: u32) {
        match self.network.transmitters[link as usize].wait {
            QueueMode::Queue => self.queue_or_pass(link, packet),
            QueueMode::UnboundedFifo => {
                self.trace(Step::Queued, link, packet);
                self.network.line_up(link, packet);
                self.await_service(link);
            }
            QueueMode::Isolated => {
                self.announce_hosts(link, packet);
                self.queue_or_pass(link, packet);
            }
            QueueMode::Watched => self.offer_watched(link, packet),
        }
    }

    /// Enqueues a packet, or passes it through the discipline of an idle transmitter.
    #[inline(always)]
    fn queue_or_pass(&mut self, link: u32, packet: u32) {
        let transmitter = &self.network.transmitters[link as usize];
        let is_free = self.now >= transmitter.busy_until && !transmitter.service_due;
        if is_free && self.network.can_send(link) {
            self.pass_through_queue(link, packet);
        } else {
            self.enqueue(link, packet, true);
            self.flush_dropped(link);
        }
    }

    /// Passes the hosts of the next arrival to a discipline that isolates them.
    #[cold]
    pub(crate) fn announce_hosts(&mut self, link: u32, packet: u32) {
        let hosts = self.hosts_of(packet);
        if let Some(Queue::Discipline(discipline)) =
            self.network.waiting(link).map(|waiting| &mut waiting.queue)
        {
            discipline.set_hosts(hosts);
        }
    }

    /// Handles a packet at an idle transmitter whose discipline sees every packet.
    #[cold]
    fn pass_through_queue(&mut self, link: u32, packet: u32) {
        self.enqueue(link, packet, false);
        self.on_service(link);
    }

    /// Enqueues a packet, to wait or just to be seen and leave at once.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, link: u32, packet: u32, waits: bool) {
        let now = self.now;
        self.trace(Step::Queued, link, packet);
        let mut entry = entry_of(&self.network.packets, packet);
        let network = &mut self.network;
        let transmitter = &network.transmitters[link as usize];
        let Some(port_state) = transmitter.port_state() else { return };
        let (spec, names) = (&network.directions[transmitter.spec as usize], &network.names);
        entry.ecn = spec.ecn.codepoint_at_queue(entry.ecn);
        let stream = |purpose| names.stream(purpose, link);
        let waiting = network.port_states[port_state].waiting(spec, names.is_link(link), stream);
        let dropped = &mut network.dropped;
        let violation = match &mut waiting.queue {
            Queue::DropTail(line) => {
                line.enqueue(&mut network.packets, entry, dropped);
                None
            }
            Queue::Discipline(discipline) => {
                let is_stored = spec.ack_filter != AckFilter::None
                    && filter_acks(&network.packets, spec.ack_filter, entry, discipline, dropped);
                if !is_stored {
                    discipline.enqueue(now, entry, dropped);
                }
                discipline.violation()
            }
        };
        if waits {
            waiting.observe(now);
            self.await_service(link);
        }
        if let Some(violation) = violation {
            self.end_for_discipline(link, violation);
        }
    }

    /// Stops the run after a contract violation of a third-party discipline: further measurements would be meaningless.
    #[cold]
    fn end_for_discipline(&mut self, link: u32, violation: ContractViolation) {
        let of = match self.network.names.links.get(link as usize) {
            Some((name, from, to)) => format!("{name}: {from} -> {to}"),
            None => "access".to_owned(),
        };
        self.ending.fail(|| SpecError::Discipline { of, at: self.now, violation });
    }

    /// Discards the packets just dropped by a queue.
    #[inline]
    pub(crate) fn flush_dropped(&mut self, link: u32) {
        self.discard_dropped(link);
        self.notify_change(link);
    }

    /// Records a change of a link, if it is watched.
    #[inline]
    pub(crate) fn notify_change(&mut self, link: u32) {
        if self.network.transmitters[link as usize].watched {
            self.measurements.series.record_link(link, self.now, &self.network);
        }
    }

    /// Schedules the service of the first waiting packet.
    fn await_service(&mut self, link: u32) {
        if !self.network.transmitters[link as usize].service_due && self.network.can_send(link) {
            let transmitter = &mut self.network.transmitters[link as usize];
            transmitter.service_due = true;
            self.wheel.push_in_lane(transmitter.busy_until.max(self.now), EventKind::Service.key(link));
        }
    }

    /// Handles a finished transmission: serves the next packet.
    #[inline(always)]
    pub(crate) fn on_service(&mut self, link: u32) {
        self.network.transmitters[link as usize].service_due = false;
        if !self.network.can_send(link) {
            // During an outage; the change that ends it schedules the service.
            return;
        }
        match self.network.transmitters[link as usize].wait {
            QueueMode::Queue | QueueMode::Isolated => {
                let (entry, left) = self.dequeue(link);
                // Packets dropped on this occasion precede the departing one.
                self.discard_dropped(link);
                self.serve(link, entry, left);
                self.notify_change(link);
            }
            QueueMode::UnboundedFifo => self.serve_line(link),
            QueueMode::Watched => self.serve_watched(link),
        }
    }

    /// Dequeues the next packet; returns the number of packets left.
    #[inline(always)]
    pub(crate) fn dequeue(&mut self, link: u32) -> (Option<Entry>, u64) {
        let now = self.now;
        let transmitter = &self.network.transmitters[link as usize];
        let Some(port_state) = transmitter.port_state() else { return (None, 0) };
        let treatment = self.network.directions[transmitter.spec as usize].ecn;
        let Some(waiting) = self.network.port_states[port_state].queue.as_mut() else { return (None, 0) };
        let discipline = match &mut waiting.queue {
            Queue::DropTail(line) => {
                let packets = &self.network.packets;
                let taken = line.dequeue(packets).map(|packet| entry_of(packets, packet));
                // It will be cached by the time of its service.
                packets.prefetch(line.first());
                let left = line.packets();
                waiting.observe(now);
                return (taken, left);
            }
            Queue::Discipline(discipline) => discipline,
        };
        let entry = discipline.dequeue(now, &mut self.network.dropped);
        let left = discipline.packets();
        let violation = discipline.violation();
        let next = discipline.peek().map(|next| next.packet);
        waiting.observe(now);
        if let Some(entry) = entry {
            if entry.marked {
                waiting.marks += 1;
                let flags = &mut self.network.packets.get_mut(entry.packet).flags;
                flags.set_ecn(treatment.codepoint_on_arrival(flags.ecn(), true));
            }
            if let Some(next) = next {
                self.network.packets.prefetch(next);
            }
        }
        if let Some(violation) = violation {
            self.end_for_discipline(link, violation);
        }
        (entry, left)
    }

    /// Puts a dequeued packet into service, with the number of packets left.
    #[inline(always)]
    pub(crate) fn serve(&mut self, link: u32, entry: Option<Entry>, left: u64) {
        let Some(entry) = entry else { return };
        self.transmit(link, entry.packet, entry.size);
        if left > 0 {
            self.await_service(link);
        }
    }

    /// Puts the first packet of a FIFO into service.
    #[inline(never)]
    fn serve_line(&mut self, link: u32) {
        let transmitter = &mut self.network.transmitters[link as usize];
        let packet = transmitter.line_first;
        if packet == NONE {
            return;
        }
        let Packet { next, size, .. } = *self.network.packets.get(packet);
        transmitter.line_first = next;
        self.transmit(link, packet, size);
        if next != NONE {
            self.network.packets.prefetch(next);
            self.await_service(link);
        }
    }

    #[inline(always)]
    pub(crate) fn discard_dropped(&mut self, link: u32) {
        if !self.network.dropped.is_empty() {
            self.discard_all_dropped(link);
        }
    }

    fn discard_all_dropped(&mut self, link: u32) {
        let mut dropped = core::mem::take(&mut self.network.dropped);
        let is_loss = dropped.iter().any(|victim| victim.reason != DropReason::Filtered);
        for victim in dropped.drain(..) {
            if let Some(waiting) =
                self.network.port_state_mut(link).and_then(|port_state| port_state.queue.as_mut())
            {
                match victim.reason {
                    DropReason::Full => waiting.drops_full += 1,
                    DropReason::Early => waiting.drops_early += 1,
                    DropReason::Filtered => waiting.filtered += 1,
                }
            }
            let is_filtered = victim.reason == DropReason::Filtered;
            let step = if is_filtered { Step::Filtered } else { Step::Dropped };
            self.discard(victim.entry.packet, step, link);
        }
        self.network.dropped = dropped;
        if is_loss {
            self.notify_gate_of_drop(link);
        }
    }

    /// Puts a packet into service, and then into propagation.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, link: u32, packet: u32, size: u32) {
        let speed = self.network.speeds[self.network.transmitters[link as usize].spec as usize];
        if speed.picos_per_byte == 0 {
            self.transmit_in_general(link, packet, size);
        } else {
            self.transmit_at(link, packet, size, speed);
        }
    }

    /// Serves a packet on the fast path, for a constant `Speed`.
    #[inline(always)]
    fn transmit_at(&mut self, link: u32, packet: u32, size: u32, speed: Speed) {
        self.trace(Step::Transmitted, link, packet);
        let Network { hops, transmitters, port_states, .. } = &mut self.network;
        *hops += 1;
        let transmitter = &mut transmitters[link as usize];
        let arrives = transmitter.serve(self.now, size, speed);
        if let Some(number) = transmitter.port_state() {
            port_states[number].count(size);
        }
        if self.boundary.is_some() && self.leave(link, packet, arrives) {
            return;
        }
        // Nothing else arrives from this link at that time, and packets in propagation come earlier: no order must be
        // kept.
        if !self.wheel.join_lane(arrives, EventKind::Arrive.key(link), packet) {
            self.join_wire(link, packet, arrives);
        }
    }

    /// Serves a packet on the general path, without a constant `Speed`.
    #[inline(never)]
    fn transmit_in_general(&mut self, link: u32, packet: u32, size: u32) {
        self.trace(Step::Transmitted, link, packet);
        let network = &mut self.network;
        network.hops += 1;
        let transmitter = &mut network.transmitters[link as usize];
        let spec = &network.directions[transmitter.spec as usize];
        let mut port_state = transmitter.port_state().map(|number| &mut network.port_states[number]);
        let extra = port_state.as_deref_mut().and_then(|port_state| port_state.extra.as_deref_mut());
        let arrives = transmitter.serve_in_general(self.now, size, spec, extra);
        let may_impair = port_state.is_some_and(|port_state| {
            port_state.count(size);
            port_state.may_impair()
        });
        if may_impair {
            self.impair(link, packet, size, arrives);
        } else {
            self.put_on_wire(link, packet, arrives);
        }
    }

    /// Puts a packet into propagation, or moves it to another partition.
    fn put_on_wire(&mut self, link: u32, packet: u32, arrives: Time) {
        if self.boundary.is_none() || !self.leave(link, packet, arrives) {
            self.join_wire(link, packet, arrives);
        }
    }

    /// Adds a packet to those in propagation; only the first of these has an event.
    #[inline(never)]
    fn join_wire(&mut self, link: u32, packet: u32, arrives: Time) {
        let Network { transmitters, packets, .. } = &mut self.network;
        match transmitters[link as usize].put_on_wire(packets, packet, arrives) {
            OnWire::First => self.wheel.push(arrives, EventKind::Arrive.key(link)),
            OnWire::Behind => {}
            OnWire::Overtaking => self.insert_out_of_order(link, packet, arrives),
        }
    }

    /// Schedules a separate event for an out-of-order packet.
    #[cold]
    #[inline(never)]
    pub(crate) fn insert_out_of_order(&mut self, link: u32, packet: u32, arrives: Time) {
        if self.pass_on(link, packet, arrives, self.network.out_of_order_count, true) {
            self.network.out_of_order_count += 1;
            return;
        }
        self.network.insert_out_of_order(link, packet, arrives);
        self.wheel.push(arrives, EventKind::OutOfOrder.key(link));
    }

    /// Applies impairments: loses, damages, duplicates or delays a packet.
    fn impair(&mut self, link: u32, packet: u32, size: u32, arrives: Time) {
        let port_state = self.network.port_state_mut(link);
        let Some(extra) = port_state.and_then(|port_state| port_state.extra.as_deref_mut()) else { return };
        let outcome = extra.impairment.outcome(size);
        let arrives =
            extra.aggregation.as_mut().map_or(arrives, |aggregation| aggregation.delayed_arrival(arrives));
        // Drawn for every packet: losses do not change the jitter of others.
        let arrives = extra.jitter.as_mut().map_or(arrives, |jitter| jitter.delayed_arrival(arrives));
        let RareState { losses, corrupted, duplicated, variation, ecn, .. } = extra;
        let (treatment, varies) = (*ecn, variation.is_some());
        *losses += u64::from(outcome.is_lost);
        *corrupted += u64::from(outcome.corrupted) + u64::from(outcome.copy_corrupted);
        *duplicated += u64::from(outcome.duplicated);
        let flags = &mut self.network.packets.get_mut(packet).flags;
        flags.set_ecn(treatment.codepoint_on_arrival(flags.ecn(), false));
        let arrives = if varies { self.vary(link, packet, arrives) } else { arrives };
        if outcome.is_lost {
            self.discard(packet, Step::Lost, link);
            return;
        }
        let copy = outcome.duplicated.then(|| {
            self.measurements.tally.add_duplicated();
            self.network.packets.duplicate(packet)
        });
        if let Some(copy) = copy {
            // Recorded before it may leave for another partition.
            self.trace(Step::Duplicated, link, copy);
        }
        let corrupted = [Some(packet).filter(|_| outcome.corrupted), copy.filter(|_| outcome.copy_corrupted)];
        for packet in corrupted.into_iter().flatten() {
            self.network.packets.get_mut(packet).flags.set(Flags::DAMAGED);
            self.trace(Step::Corrupted, link, packet);
        }
        for packet in core::iter::once(packet).chain(copy) {
            if outcome.extra_delay.is_zero() {
                self.put_on_wire(link, packet, arrives);
            } else {
                self.insert_out_of_order(link, packet, arrives + outcome.extra_delay);
            }
        }
    }

    /// Returns the arrival time, with the link's variation, of a packet that would arrive at `arrives` without it.
    #[cold]
    fn vary(&mut self, link: u32, packet: u32, arrives: Time) -> Time {
        let flow = self.flow_of(self.network.packets.get(packet).connection);
        let (of_flow, group) = self.traffic.flow_and_group(flow);
        let Network { transmitters, port_states, names, .. } = &mut self.network;
        let transmitter = &transmitters[link as usize];
        let extra = transmitter.port_state().and_then(|number| port_states[number].extra.as_deref_mut());
        let varying = extra.and_then(|extra| extra.variation.as_deref_mut());
        let Some(Varying { spec, state }) = varying else { return arrives };
        state.delayed_arrival(spec, arrives, flow, || {
            let side = link.saturating_sub(of_flow.links) / 2;
            spec.distribution.draw(&mut names.flow_stream(link, side, &group.name, flow - group.first_flow))
        })
    }

    /// Handles an arrival at the far end of a link: of a packet with an event of its own, or of the first in
    /// propagation.
    #[inline]
    pub(crate) fn on_arrival(&mut self, link: u32, packet: u32) {
        let packet = if packet == NONE { self.leave_wire(link) } else { packet };
        self.trace(Step::Arrived, link, packet);
        self.forward(packet);
    }

    /// Takes the first packet in propagation and schedules the event of the next one.
    #[inline(never)]
    fn leave_wire(&mut self, link: u32) -> u32 {
        let network = &mut self.network;
        let transmitter = &mut network.transmitters[link as usize];
        let packet = transmitter.first;
        let next = network.packets.get(packet).next;
        transmitter.first = next;
        if next != NONE {
            let behind = network.packets.get(next);
            let arrives = behind.arrives_at;
            // Prefetches the one after it for the next event.
            network.packets.prefetch(behind.next);
            // A simultaneous arrival of the same link is handled next, whatever its destination: the order of others
            // does not depend on it.
            self.wheel.push_successor(arrives, EventKind::Arrive.key(link));
        }
        if T::BUFFERS {
            self.number_arrival(link, packet);
        }
        packet
    }

    /// Handles the arrival of an out-of-order packet.
    #[cold]
    #[inline(never)]
    pub(crate) fn on_out_of_order(&mut self, link: u32) {
        let Some((number, packet)) = self.network.take_out_of_order(link, self.now) else { return };
        if T::BUFFERS {
            self.wheel.set_tie(number as u32);
        }
        self.trace(Step::Arrived, link, packet);
        self.forward(packet);
    }

    /// Applies a new limit to a queue.
    #[cold]
    fn resize(&mut self, link: u32, limit: Limit) {
        let Some(port_state) = self.network.transmitters[link as usize].port_state() else { return };
        let Network { port_states, packets, dropped, .. } = &mut self.network;
        let Some(waiting) = &mut port_states[port_state].queue else { return };
        match &mut waiting.queue {
            Queue::DropTail(line) => line.set_limit(packets, limit, entry_of, dropped),
            Queue::Discipline(discipline) => discipline.set_limit(self.now, limit, dropped),
        }
        waiting.observe(self.now);
        self.flush_dropped(link);
    }

    /// Applies a scheduled change.
    pub(crate) fn on_change(&mut self, index: u32) {
        let (link, change) = self.network.changes[index as usize].clone();
        let Some(port_state) = self.network.transmitters[link as usize].port_state() else { return };
        let port_state = &mut self.network.port_states[port_state];
        if let Some(extra) = &mut port_state.extra {
            extra.rate = change.rate.unwrap_or(extra.rate);
            extra.delay = change.delay.unwrap_or(extra.delay);
            if let Some(impairment) = &change.impairment {
                let names = &self.network.names;
                extra.impairment.set(impairment, |purpose| names.stream(purpose, link));
            }
            if let Some(jitter) = &change.jitter {
                let names = &self.network.names;
                extra.set_jitter(jitter, |purpose| names.stream(purpose, link));
            }
            extra.limit = change.queue.or(extra.limit);
        }
        if let Some(limit) = change.queue {
            self.resize(link, limit);
        }
        let Some(port_state) = self.network.transmitters[link as usize].port_state() else { return };
        let spec = &self.network.directions[self.network.transmitters[link as usize].spec as usize];
        if let Some(waiting) = &mut self.network.port_states[port_state].queue {
            if let Some(rate) = change.rate {
                waiting.set_rate(spec, rate);
            }
            if waiting.packets() > 0 {
                self.await_service(link);
            }
        }
    }
}
