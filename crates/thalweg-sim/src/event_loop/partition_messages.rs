//! One partition of a parallel run: its messages to and from other partitions.

use super::EventLoop;
use crate::components::ecmp_groups::FIRST_ECMP_GROUP;
use crate::components::flow_state::Role;
use crate::components::forwarding_state::{END, EXIT};
use crate::components::packet_pool::{Flags, NONE};
use crate::components::partition_boundary::{EndedFlow, EndedTransfer, Outbox};
use crate::event_kinds::EventKind;
use crate::packet_tracing::Tracing;
use crate::prefetch_hints::prefetch_cache_line;
use crate::run_result::{FlowCounts, Transfer};
use thalweg_proto::units::Time;

impl<T: Tracing> EventLoop<T> {
    /// Handles at most `max` events before a time. Afterwards others may arrive from that time on.
    pub(crate) fn advance_before(&mut self, end: Time, max: u64) {
        self.wheel.keep_from(end);
        self.run_events(max);
    }

    /// Returns the time of the next event; `None` after the end of the run.
    pub(crate) fn next(&self) -> Option<Time> {
        if self.ending.is_over() { None } else { self.wheel.next() }
    }

    /// Starts the propagation of a packet. Returns true if it does not arrive here in order: another partition owns the
    /// far end, or it overtakes.
    #[cold]
    #[inline(never)]
    pub(crate) fn leave(&mut self, link: u32, packet: u32, arrives: Time) -> bool {
        let Some(boundary) = &mut self.boundary else { return false };
        let last = &mut boundary.last[link as usize];
        if arrives < *last {
            self.insert_out_of_order(link, packet, arrives);
            return true;
        }
        let mut number = 0;
        if T::BUFFERS {
            let before = &mut boundary.tied_before[link as usize];
            *before = if arrives == *last { *before + 1 } else { 0 };
            number = *before;
            if number > 0 {
                self.network.packets.get_mut(packet).flags.set(Flags::TIED);
            }
        }
        *last = arrives;
        let is_gone = self.pass_on(link, packet, arrives, number.into(), false);
        if T::BUFFERS
            && number > 0
            && !is_gone
            && let Some(boundary) = &mut self.boundary
        {
            boundary.tie(link, arrives, number);
        }
        is_gone
    }

    /// Counts a packet among simultaneous arrivals from its link: this number is part of its position in the run.
    pub(crate) fn number_arrival(&mut self, link: u32, packet: u32) {
        if !self.network.packets.get_mut(packet).flags.clear(Flags::TIED) {
            return;
        }
        let Some(boundary) = &mut self.boundary else { return };
        if let Some(numbers) = boundary.tied.get_mut(&(link, self.now)) {
            self.wheel.set_tie(numbers.pop_front().unwrap_or(0));
            if numbers.is_empty() {
                boundary.tied.remove(&(link, self.now));
            }
        }
    }

    /// Moves a packet to the partition at the far end of its link, with its number among simultaneous arrivals. Returns
    /// false if that is this partition.
    pub(crate) fn pass_on(
        &mut self,
        link: u32,
        packet: u32,
        arrives: Time,
        number: u64,
        is_out_of_order: bool,
    ) -> bool {
        let Some(boundary) = self.boundary.as_deref_mut() else { return false };
        let network = &mut self.network;
        let header = network.packets.get_mut(packet);
        let to = match network.routes[header.hop as usize] {
            next if next < FIRST_ECMP_GROUP => boundary.owners.links[next as usize],
            END => boundary.owners.of_end(header.destination()),
            EXIT => boundary.owners.links[header.exit as usize],
            ecmp_group => boundary.owners.links[network.ecmp_groups.choose(header, ecmp_group).link as usize],
        };
        if to == boundary.part {
            return false;
        }
        (header.next, header.arrives_at) = (link, arrives);
        if is_out_of_order {
            header.flags.set(Flags::OUT_OF_ORDER);
        }
        boundary.outboxes[usize::from(to)].put(&mut network.packets, packet, number);
        true
    }

    /// Receives from partition `from` packets in propagation on boundary links, and notices of ended transfers.
    pub(crate) fn admit(&mut self, from: usize, outbox: &mut Outbox) {
        self.receive_notices(from, &mut outbox.transfers);
        let Self { network, wheel, boundary, .. } = self;
        let (transmitters, out_of_order) = (&mut network.transmitters, &mut network.out_of_order);
        outbox.links().for_each(|link| prefetch_cache_line(&transmitters[link as usize]));
        outbox.empty(&mut network.packets, |packets, packet, number| {
            let header = packets.get_mut(packet);
            let (link, arrives) = (header.next, header.arrives_at);
            if header.flags.clear(Flags::OUT_OF_ORDER) {
                // Only the partition of the transmitter numbers the packets of a link.
                out_of_order.insert((link, arrives, number), packet);
                wheel.push(arrives, EventKind::OutOfOrder.key(link));
                return;
            }
            header.next = NONE;
            if header.flags.has(Flags::TIED)
                && let Some(boundary) = boundary
            {
                boundary.tie(link, arrives, number as u32);
            }
            let wire = &mut transmitters[link as usize];
            if wire.first == NONE {
                wire.first = packet;
                wheel.push(arrives, EventKind::Arrive.key(link));
            } else {
                packets.get_mut(wire.last).next = packet;
            }
            wire.last = packet;
        });
    }

    /// Returns the packet counts of a connection's flow.
    #[inline(never)]
    pub(crate) fn flow_counts(&mut self, connection: u32) -> &mut FlowCounts {
        // A partition knows only its own connections: counts reach their flows at the end.
        let flow = if self.boundary.is_some() { 0 } else { self.flow_of(connection) };
        match &mut self.boundary {
            Some(boundary) => boundary.flow_counts(connection),
            None => &mut self.traffic.flows[flow as usize].counts,
        }
    }

    /// Returns true if both endpoints of the flow are in other partitions.
    pub(crate) fn is_external(&self, flow: u32) -> bool {
        !self.has_source(flow) && !self.has_sink(flow)
    }

    /// Returns true unless the source of the flow is in another partition.
    pub(crate) fn has_source(&self, flow: u32) -> bool {
        self.boundary.as_ref().is_none_or(|boundary| boundary.has_source(flow))
    }

    /// Returns true unless the sink of the flow is in another partition.
    pub(crate) fn has_sink(&self, flow: u32) -> bool {
        self.boundary.as_ref().is_none_or(|boundary| boundary.has_sink(flow))
    }

    /// Ends a flow whose sink is in another partition, which knows when the last data arrived.
    pub(crate) fn end_far(&mut self, connection: u32, is_transfer: bool) {
        let is_listed = is_transfer && self.measurements.tally.is_counting();
        if let Some(boundary) = &mut self.boundary {
            let moment = boundary.moment(self.now, self.wheel.origin());
            boundary.ended_flows.push(EndedFlow { connection, moment, is_listed });
        }
    }

    /// Notifies another partition that a transfer on this connection, whose sink it owns, has ended: it knows when the
    /// last data arrived.
    pub(crate) fn notify_sink(&mut self, connection: u32, transfer: Transfer) {
        let Some(boundary) = self.boundary.as_deref_mut() else { return };
        let moment = boundary.moment(self.now, self.wheel.origin());
        let to = boundary.owners.sinks[transfer.flow as usize];
        boundary.outboxes[usize::from(to)].transfers.push(EndedTransfer { connection, moment, transfer });
    }

    /// Receives notices of ended transfers whose sinks are here.
    fn receive_notices(&mut self, from: usize, notices: &mut Vec<EndedTransfer>) {
        for EndedTransfer { connection, moment, transfer } in notices.drain(..) {
            let Some(index) = self.connections.ids.index_of(connection) else { continue };
            let end = self.connections[index].delivered_at;
            if let Some(transfer) = self.count_transfer(transfer, end)
                && let Some(boundary) = &mut self.boundary
            {
                boundary.far[from].push(moment, transfer);
            }
        }
    }

    /// Returns the connection id assigned to a flow before the run, if any.
    pub(crate) fn number_of(&self, flow: u32, role: Role) -> Option<u32> {
        let first = self.boundary.as_ref()?.owners.numbers.get(flow as usize)?;
        Some(first + u32::from(role == Role::Reply))
    }

    /// Accounts for an event common to all partitions.
    #[cold]
    pub(crate) fn count_shared(&mut self) {
        if let Some(boundary) = &mut self.boundary {
            boundary.doubled += u64::from(boundary.part > 0);
        }
    }

    /// Accounts for an event that another partition has too and counts.
    pub(crate) fn count_doubled(&mut self) {
        if let Some(boundary) = &mut self.boundary {
            boundary.doubled += 1;
        }
    }

    /// Records the sort key of a transfer just listed.
    pub(crate) fn keep_moment(&mut self) {
        if let Some(boundary) = &mut self.boundary {
            let moment = boundary.moment(self.now, self.wheel.origin());
            boundary.transfers.push(moment);
        }
    }
}
