//! One part of a run that several threads share: what it hands over to others, and what it gets.

use super::EventLoop;
use crate::event::Kind;
use crate::parts::border::{Ended, Outbox, Told};
use crate::parts::flow::Role;
use crate::parts::forks::FORK;
use crate::parts::network::{END, EXIT};
use crate::parts::packet::{Flags, NONE};
use crate::prefetch::prefetch;
use crate::result::{FlowCounts, Transfer};
use crate::tracing::Tracing;
use thalweg_proto::units::Time;

impl<T: Tracing> EventLoop<T> {
    /// Handles the events before a time, so many of them at most. Afterwards others may come from that time on.
    pub(crate) fn advance_before(&mut self, end: Time, most: u64) {
        self.wheel.keep_from(end);
        self.go_on(most);
    }

    /// The time of the next event; none when the run has ended.
    pub(crate) fn next(&self) -> Option<Time> {
        if self.finished { None } else { self.wheel.next() }
    }

    /// A packet enters a wire. True if it is not for here to arrive in order: another part has what is behind the wire, or it
    /// overtakes.
    #[cold]
    #[inline(never)]
    pub(crate) fn leave(&mut self, link: u32, packet: u32, arrives: Time) -> bool {
        let Some(border) = &mut self.border else { return false };
        let last = &mut border.last[link as usize];
        if arrives < *last {
            self.put_off_order(link, packet, arrives);
            return true;
        }
        let mut number = 0;
        if T::KEEPS {
            let before = &mut border.before[link as usize];
            *before = if arrives == *last { *before + 1 } else { 0 };
            number = *before;
            if number > 0 {
                self.network.packets.get_mut(packet).flags.set(Flags::TIED);
            }
        }
        *last = arrives;
        let is_gone = self.pass_on(link, packet, arrives, number.into(), false);
        if T::KEEPS
            && number > 0
            && !is_gone
            && let Some(border) = &mut self.border
        {
            border.tie(link, arrives, number);
        }
        is_gone
    }

    /// The first packet on a wire arrives: its number among those that arrive with it is part of its place in the run.
    pub(crate) fn number_arrival(&mut self, link: u32, packet: u32) {
        if !self.network.packets.get_mut(packet).flags.clear(Flags::TIED) {
            return;
        }
        let Some(border) = &mut self.border else { return };
        if let Some(numbers) = border.tied.get_mut(&(link, self.now)) {
            self.wheel.set_tie(numbers.pop_front().unwrap_or(0));
            if numbers.is_empty() {
                border.tied.remove(&(link, self.now));
            }
        }
    }

    /// Hands a packet over to the part that has what is behind a link, with its number among those that arrive with it. False where that
    /// is this one.
    pub(crate) fn pass_on(
        &mut self,
        link: u32,
        packet: u32,
        arrives: Time,
        number: u64,
        is_stray: bool,
    ) -> bool {
        let Some(border) = self.border.as_deref_mut() else { return false };
        let network = &mut self.network;
        let header = network.packets.get_mut(packet);
        let to = match network.routes[header.hop as usize] {
            next if next < FORK => border.owners.links[next as usize],
            END => border.owners.of_end(header.destination()),
            EXIT => border.owners.links[header.exit as usize],
            fork => border.owners.links[network.forks.choose(header, fork).link as usize],
        };
        if to == border.part {
            return false;
        }
        (header.next, header.arrives_at) = (link, arrives);
        if is_stray {
            header.flags.set(Flags::STRAY);
        }
        border.outboxes[usize::from(to)].put(&mut network.packets, packet, number);
        true
    }

    /// Takes what part `from` has handed over: packets, which are on the last wires before here, and the ends of transfers.
    pub(crate) fn admit(&mut self, from: usize, outbox: &mut Outbox) {
        self.hear(from, &mut outbox.transfers);
        let Self { network, wheel, border, .. } = self;
        let (transmitters, strays) = (&mut network.transmitters, &mut network.strays);
        outbox.links().for_each(|link| prefetch(&transmitters[link as usize]));
        outbox.empty(&mut network.packets, |packets, packet, number| {
            let header = packets.get_mut(packet);
            let (link, arrives) = (header.next, header.arrives_at);
            if header.flags.clear(Flags::STRAY) {
                // Only the part that has the transmitter numbers those of a link.
                strays.insert((link, arrives, number), packet);
                wheel.push(arrives, Kind::Stray.key(link));
                return;
            }
            header.next = NONE;
            if header.flags.has(Flags::TIED)
                && let Some(border) = border
            {
                border.tie(link, arrives, number as u32);
            }
            let wire = &mut transmitters[link as usize];
            if wire.first == NONE {
                wire.first = packet;
                wheel.push(arrives, Kind::Arrive.key(link));
            } else {
                packets.get_mut(wire.last).next = packet;
            }
            wire.last = packet;
        });
    }

    /// The fates of the packets of a connection's flow.
    #[inline(never)]
    pub(crate) fn fates(&mut self, connection: u32) -> &mut FlowCounts {
        // A part knows only its own connections: flows are told at the end.
        let flow = if self.border.is_some() { 0 } else { self.flow_of(connection) };
        match &mut self.border {
            Some(border) => border.fates(connection),
            None => &mut self.flows[flow as usize].counts,
        }
    }

    /// True if other parts have both ends of the flow.
    pub(crate) fn is_foreign(&self, flow: u32) -> bool {
        !self.has_source(flow) && !self.has_sink(flow)
    }

    /// True unless another part has the source of the flow.
    pub(crate) fn has_source(&self, flow: u32) -> bool {
        self.border.as_ref().is_none_or(|border| border.has_source(flow))
    }

    /// True unless another part has the sink of the flow.
    pub(crate) fn has_sink(&self, flow: u32) -> bool {
        self.border.as_ref().is_none_or(|border| border.has_sink(flow))
    }

    /// A flow ends of which the sink is elsewhere: there it is known when it got the last of the data.
    pub(crate) fn end_far(&mut self, connection: u32, is_transfer: bool) {
        let is_listed = is_transfer && self.counting;
        if let Some(border) = &mut self.border {
            let moment = border.moment(self.now, self.wheel.origin());
            border.ended.push(Ended { connection, moment, is_listed });
        }
    }

    /// One of many transfers has ended, on the connection of that number, whose sink is elsewhere: there it is known when the last of it
    /// came.
    pub(crate) fn tell_sink(&mut self, connection: u32, transfer: Transfer) {
        let Some(border) = self.border.as_deref_mut() else { return };
        let moment = border.moment(self.now, self.wheel.origin());
        let to = border.owners.sinks[transfer.flow as usize];
        border.outboxes[usize::from(to)].transfers.push(Told { connection, moment, transfer });
    }

    /// Another part tells of transfers that have ended, and of which the sinks are here.
    fn hear(&mut self, from: usize, told: &mut Vec<Told>) {
        for Told { connection, moment, mut transfer } in told.drain(..) {
            let Some(place) = self.numbers.place(connection) else { continue };
            let end = self.connections[place as usize].delivered_at;
            transfer.end = Some(end);
            let group = self.flows[transfer.flow as usize].group;
            self.groups[group as usize].completions.record(&transfer, end.since(transfer.start));
            if let Some(border) = &mut self.border {
                border.far[from].push(moment, transfer);
            }
        }
    }

    /// The number that a flow's connection was given before the run, if it was given one.
    pub(crate) fn number_of(&self, flow: u32, role: Role) -> Option<u32> {
        let first = self.border.as_ref()?.owners.numbers.get(flow as usize)?;
        Some(first + u32::from(role == Role::Reply))
    }

    /// An event happens that every part has.
    #[cold]
    pub(crate) fn count_shared(&mut self) {
        if let Some(border) = &mut self.border {
            border.doubled += u64::from(border.part > 0);
        }
    }

    /// An event happens that is another part's as well, which counts it.
    pub(crate) fn count_doubled(&mut self) {
        if let Some(border) = &mut self.border {
            border.doubled += 1;
        }
    }

    /// A transfer was added to the list.
    pub(crate) fn keep_moment(&mut self) {
        if let Some(border) = &mut self.border {
            let moment = border.moment(self.now, self.wheel.origin());
            border.transfers.push(moment);
        }
    }
}
