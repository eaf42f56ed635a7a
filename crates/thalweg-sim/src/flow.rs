//! Flows: applications, their connections, and what is counted of them.

use crate::endpoint::{Command, Counts, Endpoint, EndpointId, Engine, Way};
use crate::error::SpecError;
use crate::event_loop::{EventLoop, Kind};
use crate::gate::NO_GATE;
use crate::measure::Histogram;
use crate::packet::{Class, NONE};
use crate::reader::{READS, Reader};
use crate::result::TwoLevelCounts;
use crate::tracing::Tracing;
use crate::transfer::Completions;
use crate::workload::{Reaction, Workload};
use thalweg_proto::Ecn;
use thalweg_proto::payload::{Length, Payload};
use thalweg_proto::transport::{Breach, Event, Failure};
use thalweg_proto::units::{Duration, Time};

/// Flows of a larger group have their delays counted together, as the counters of each would be most of its memory.
pub(crate) const MAX_FLOWS_WITH_DELAY: u32 = 1000;

/// "No connection".
pub(crate) const NO_CONNECTION: u32 = u32::MAX;

/// The role of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The flow's own, from source to sink.
    Main,
    /// The flow's way back.
    Reply,
    /// One of many transfers.
    Transfer,
}

/// A sender and a receiver: endpoints twice its number, and one more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Connection {
    pub flow: u32,
    pub role: Role,
    pub opened: Time,
    /// The time at which its receiver got data last.
    pub delivered_at: Time,
    /// The bytes that a transfer of its own has to carry; zero for others.
    pub size: u64,
}

/// Flows that are alike.
#[derive(Debug)]
pub(crate) struct Group {
    pub name: String,
    pub scheme: String,
    pub transport: u32,
    pub priority: u8,
    /// The gates of the nodes where its flows begin and end.
    pub gates: [u16; 2],
    /// The routes of packets from source to sink and back.
    pub routes: [u32; 2],
    /// The route of control PDUs out of band.
    pub control: Option<u32>,
    /// The place among a flow's own lines at which those for the overhead of hosts begin.
    pub overhead: Option<u32>,
    /// Its flows have hosts of their own, on links of their own.
    pub has_access: bool,
    pub first_flow: u32,
    pub flows: u32,
    pub completions: Completions,
    /// One-way delays, for a group of too many flows to keep them for each.
    pub delay: Histogram,
}

/// The fates of a flow's packets in the network, after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Packets of the flow, in either direction, that queues dropped.
    pub drops: u64,
    /// Data packets that queues dropped and that wires lost or damaged.
    pub lost_data: u64,
    /// Data packets that arrived with CE.
    pub marked_data: u64,
}

impl FlowCounts {
    /// A data packet has arrived, with CE or without.
    #[inline]
    pub(crate) fn arrive(&mut self, is_ce: bool) {
        self.marked_data += u64::from(is_ce);
    }

    /// A data packet will not arrive.
    pub(crate) fn lose(&mut self) {
        self.lost_data += 1;
    }
}

/// One-way delays of a flow's data packets.
#[derive(Debug)]
pub(crate) struct Delays {
    pub histogram: Histogram,
    /// From each packet to the next, for flows of which it is told.
    variation: Option<Variation>,
}

/// The differences of delays from one packet to the next.
#[derive(Debug, Default)]
struct Variation {
    /// The delay of the packet before.
    last: Option<Duration>,
    /// The sum of the differences, and how many they are.
    sum: u128,
    differences: u64,
}

impl Variation {
    fn record(&mut self, delay: Duration) {
        if let Some(last) = self.last.replace(delay) {
            self.sum += u128::from(last.as_picos().abs_diff(delay.as_picos()));
            self.differences += 1;
        }
    }
}

impl Delays {
    /// No delays yet, of a flow whose jitter is told or not.
    pub fn new(with_jitter: bool) -> Self {
        Self { histogram: Histogram::default(), variation: with_jitter.then(Variation::default) }
    }

    #[inline]
    fn record(&mut self, delay: Duration) {
        self.histogram.record(delay);
        if let Some(variation) = &mut self.variation {
            variation.record(delay);
        }
    }

    /// The mean difference between the delays of packets that arrived one after the other: |D(i-1, i)| of RFC 3550, section
    /// 6.4.1, over all packets alike. None with fewer than two, and for a flow whose jitter is not told.
    pub fn jitter(&self) -> Option<Duration> {
        let Variation { sum, differences, .. } = self.variation.as_ref()?;
        let mean = sum.checked_div(u128::from(*differences))?;
        Some(Duration::from_picos(u64::try_from(mean).unwrap_or(u64::MAX)))
    }
}

/// A flow.
#[derive(Debug)]
pub(crate) struct Flow {
    pub group: u32,
    /// The first of its own transmitters: four for access, out of and into the source, then out of the network to the sink
    /// and back, and after these one or two for control PDUs out of band.
    pub links: u32,
    /// The hosts at its source and its sink.
    pub hosts: [u32; 2],
    pub start: Time,
    /// [`Time::MAX`] while it has not.
    pub finished: Time,
    pub failed: Time,
    pub stopped: bool,
    pub main: u32,
    pub reply: u32,
    pub workload: Workload,
    /// The application at the sink, where it reads at its own pace.
    pub reader: Option<Box<Reader>>,
    /// Delivered to the applications at both ends over the whole run.
    pub delivered: u64,
    pub counts: FlowCounts,
    /// One-way delays, where the group does not keep them.
    pub delay: Option<Box<Delays>>,
    /// Of connections that have ended.
    pub ended: Option<Box<Counts>>,
    /// Of all when counting began, with what had been delivered.
    pub before: Option<Box<(Counts, u64)>>,
    /// The same of two-level flow control's own counts: of connections that have ended, and of all when counting began.
    pub two_level: Option<Box<[TwoLevelCounts; 2]>>,
}

impl Flow {
    /// The connections that the flow has or had; those that have ended have no engines any more.
    pub fn connections(&self) -> impl Iterator<Item = u32> + '_ {
        let transfers = match &self.workload {
            Workload::Poisson(transfers) => transfers.connections.as_slice(),
            _ => &[],
        };
        // Datagrams of many transfers share one, which is the flow's own and listed among them.
        let own = if transfers.is_empty() { [self.main, self.reply] } else { [NO_CONNECTION; 2] };
        own.into_iter().filter(|&number| number != NO_CONNECTION).chain(transfers.iter().copied())
    }
}

impl Group {
    /// The ways by which packets of one of its flows leave the source, and the sink.
    pub fn ways(&self, flow: &Flow) -> [Way; 2] {
        let link = |number: u32| if self.has_access { flow.links + number } else { NONE };
        let [source, sink] = flow.hosts;
        let [forward, backward] = self.routes;
        [
            Way { first: link(0), route: forward, exit: link(2), host: source },
            Way { first: link(3), route: backward, exit: link(1), host: sink },
        ]
    }
}

impl<T: Tracing> EventLoop<T> {
    /// A flow starts.
    pub(crate) fn on_start(&mut self, flow: u32) {
        let state = &self.flows[flow as usize];
        let transport = &self.transports[self.groups[state.group as usize].transport as usize];
        // Datagrams have no connections to open and close.
        let opens = matches!(state.workload, Workload::Poisson(_)) && transport.properties().is_reliable();
        let has_reply = matches!(state.workload, Workload::RequestResponse(_));
        if !opens {
            self.flows[flow as usize].main = self.open(flow, Role::Main);
            self.announce_reading(flow);
        }
        if has_reply {
            self.flows[flow as usize].reply = self.open(flow, Role::Reply);
        }
        let reaction = self.flows[flow as usize].workload.on_start(self.now);
        self.react(flow, reaction);
    }

    /// A flow's application asked to act now: to write, or, with [`READS`] set, to read.
    pub(crate) fn on_application(&mut self, flow: u32) {
        if flow & READS != 0 {
            return self.on_reading(flow & !READS);
        }
        let state = &mut self.flows[flow as usize];
        if state.stopped {
            return;
        }
        let reaction = state.workload.on_timer(self.now);
        self.react(flow, reaction);
    }

    /// A flow's application stops writing.
    pub(crate) fn on_stop(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        state.stopped = true;
        for connection in [state.main, state.reply] {
            if connection != NO_CONNECTION {
                self.command(connection * 2, Command::Stop);
            }
        }
    }

    /// Does what an application wants.
    fn react(&mut self, flow: u32, reaction: Reaction) {
        if let Some(exchange) = reaction.completed {
            self.complete_exchange(flow, exchange);
        }
        if self.flows[flow as usize].stopped {
            return;
        }
        if reaction.arrived {
            return self.end_delivery(flow);
        }
        if let Some(at) = reaction.timer {
            self.wheel.push(at.max(self.now), Kind::Application.key(flow));
        }
        let main = self.flows[flow as usize].main;
        if let Some(size) = reaction.open
            && main != NO_CONNECTION
        {
            self.write(main * 2, size);
            self.drain(main * 2);
        } else if let Some(size) = reaction.open {
            let connection = self.open(flow, Role::Transfer);
            self.connections[connection as usize].size = size;
            self.write(connection * 2, size);
            self.command(connection * 2, Command::Finish);
        }
        if reaction.reply > 0 {
            let id = self.flows[flow as usize].reply * 2;
            self.write(id, reaction.reply);
            self.drain(id);
        }
        if reaction.write > 0 || reaction.finish {
            let id = self.flows[flow as usize].main * 2;
            self.write(id, reaction.write);
            if reaction.finish {
                self.command(id, Command::Finish);
            } else {
                self.drain(id);
            }
        }
    }

    /// All that a flow was to deliver has arrived, whatever was lost on the way: it ends.
    fn end_delivery(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        let main = state.main;
        (state.finished, state.stopped) = (self.now, true);
        let size = self.flows[flow as usize].delivered;
        self.complete(flow, size, self.connections[main as usize].opened, self.now);
        self.command(main * 2, Command::Stop);
    }

    /// Opens a connection with fresh engines.
    fn open(&mut self, flow: u32, role: Role) -> u32 {
        let opened = self.now;
        let vacant = match &mut self.flows[flow as usize].workload {
            Workload::Poisson(transfers) => transfers.vacant.pop(),
            _ => None,
        };
        let number = if let Some(number) = vacant {
            self.connections[number as usize] =
                Connection { flow, role, opened, delivered_at: opened, size: 0 };
            number
        } else {
            let number = self.connections.len() as u32;
            if let Workload::Poisson(transfers) = &mut self.flows[flow as usize].workload {
                transfers.connections.push(number);
            }
            self.connections.push(Connection { flow, role, opened, delivered_at: opened, size: 0 });
            self.endpoints.push(Endpoint::VACANT);
            self.endpoints.push(Endpoint::VACANT);
            number
        };
        let state = &self.flows[flow as usize];
        let transport = &self.transports[self.groups[state.group as usize].transport as usize];
        let (sender, receiver) = (Engine::sender(&transport.ends), Engine::receiver(&transport.ends));
        let group = &self.groups[state.group as usize];
        let (priority, gate) = (group.priority, group.gates[usize::from(role == Role::Reply)]);
        let (header, control) = (transport.header, transport.control);
        let ecn = transport.properties().ecn();
        let [mut there, mut back] = group.ways(state);
        if role == Role::Reply {
            core::mem::swap(&mut there, &mut back);
        }
        if let Some(overhead) = group.overhead {
            there.first = state.links + overhead + u32::from(role == Role::Reply);
        }
        if let Some(route) = group.control {
            let own = state.links + if group.has_access { 4 } else { 0 };
            back = Way { first: own + u32::from(role == Role::Reply), route, exit: NONE, host: back.host };
        }
        for (id, engine, way) in [(number * 2, sender, there), (number * 2 + 1, receiver, back)] {
            let slot = &mut self.endpoints[id as usize];
            // The serial goes on, so that no packet of the run has another's identity; the incarnation tells late
            // packets of the slot's last connection from those of this one.
            let (serial, incarnation) = (slot.serial, slot.incarnation.wrapping_add(1));
            *slot = Endpoint {
                engine,
                way,
                flow,
                header,
                control,
                serial,
                incarnation,
                // A receiver's acknowledgements are never ECN-capable (RFC 3168, section 6.1.4).
                class: Class::new(priority, if id % 2 == 0 { ecn } else { Ecn::NotEct }),
                ..Endpoint::VACANT
            };
        }
        self.endpoints[number as usize * 2].watched = role == Role::Main && self.is_watched(flow);
        if gate != NO_GATE {
            self.endpoints[number as usize * 2].gate = gate;
            self.join_gate(number);
        }
        number
    }

    /// Closes a connection whose data has all been delivered.
    fn close(&mut self, number: u32) {
        self.leave_gate(number);
        let flow = self.connections[number as usize].flow;
        let counts = self.connection_counts(number);
        self.flows[flow as usize].ended.get_or_insert_default().add(&counts);
        if let Some(counts) = self.two_level_counts(number) {
            self.flows[flow as usize].two_level.get_or_insert_default()[0].add(&counts);
        }
        self.segment_times.remove(&number);
        for id in [number * 2, number * 2 + 1] {
            let slot = &mut self.endpoints[id as usize];
            slot.engine = Engine::Vacant;
            slot.armed = Time::MAX;
        }
        if let Workload::Poisson(transfers) = &mut self.flows[flow as usize].workload {
            transfers.vacant.push(number);
        }
    }

    /// An engine tells its application something.
    #[inline]
    pub(crate) fn on_event(&mut self, id: EndpointId, event: &Event<Length>) {
        match event {
            Event::Delivered(data) => self.on_delivered(id / 2, u64::from(data.len())),
            Event::Writable => {
                let connection = self.connections[id as usize / 2];
                if connection.role == Role::Main {
                    let reaction = self.flows[connection.flow as usize].workload.on_writable(self.now);
                    self.react(connection.flow, reaction);
                }
            }
            Event::Finished => self.on_finished(id / 2),
            Event::Failed(failure) => {
                if let Failure::Breach(breach) = failure {
                    self.end_for(id / 2, *breach);
                }
                self.on_failed(id / 2);
            }
            Event::Congestion(signal) => self.tell_gate_of_congestion(id, *signal),
            // What an application is told that it said it tolerates.
            Event::Hole { .. } => {}
        }
    }

    /// A data packet arrived, with CE or without, and was this long on its way.
    #[inline]
    pub(crate) fn count_arrived(&mut self, flow: u32, is_ce: bool, delay: Duration) {
        let flow = &mut self.flows[flow as usize];
        flow.counts.arrive(is_ce);
        match &mut flow.delay {
            Some(delays) => delays.record(delay),
            None => self.groups[flow.group as usize].delay.record(delay),
        }
    }

    #[inline]
    fn on_delivered(&mut self, number: u32, bytes: u64) {
        let connection = self.connections[number as usize];
        if self.flows[connection.flow as usize].reader.is_none() {
            return self.on_read(number, bytes);
        }
        match connection.role {
            Role::Main => self.keep_for_reader(connection.flow, bytes),
            // Only the application at the sink is slow.
            Role::Reply | Role::Transfer => {
                self.command(number * 2 + 1, Command::Consumed(bytes));
                self.on_read(number, bytes);
            }
        }
    }

    /// An application has data.
    #[inline]
    pub(crate) fn on_read(&mut self, number: u32, bytes: u64) {
        let connection = &mut self.connections[number as usize];
        connection.delivered_at = self.now;
        let connection = *connection;
        let flow = &mut self.flows[connection.flow as usize];
        flow.delivered += bytes;
        let reaction = match connection.role {
            Role::Main => flow.workload.on_delivered(bytes),
            Role::Transfer => return,
            Role::Reply => flow.workload.on_reply(self.now, bytes),
        };
        if reaction != Reaction::default() {
            self.react(connection.flow, reaction);
        }
    }

    /// The applications of a flow's own connection have everything.
    pub(crate) fn end_main(&mut self, number: u32) {
        let Connection { flow: index, opened, delivered_at, .. } = self.connections[number as usize];
        let flow = &mut self.flows[index as usize];
        flow.finished = flow.finished.min(delivered_at);
        if !flow.stopped {
            let size = flow.delivered;
            self.complete(index, size, opened, delivered_at);
        }
    }

    /// A part that is not of this project broke its contract: what the run would go on to measure is nothing that anybody
    /// meant.
    #[cold]
    fn end_for(&mut self, number: u32, breach: Breach) {
        let flow = &self.flows[self.connections[number as usize].flow as usize];
        let of = self.groups[flow.group as usize].name.clone();
        self.error.get_or_insert_with(|| Box::new(SpecError::Breach { of, at: self.now, breach }));
        self.finished = true;
    }

    /// A sender gave up: of many transfers this one stays unfinished, any other flow ends.
    fn on_failed(&mut self, number: u32) {
        let connection = self.connections[number as usize];
        if connection.role == Role::Transfer {
            self.give_up(connection);
            self.close(number);
        } else {
            let flow = &mut self.flows[connection.flow as usize];
            flow.failed = flow.failed.min(self.now);
            flow.stopped = true;
            self.leave_gate(number);
        }
    }

    /// The peer has everything.
    fn on_finished(&mut self, number: u32) {
        let connection = self.connections[number as usize];
        match connection.role {
            Role::Main => {
                self.leave_gate(number);
                let flow = &mut self.flows[connection.flow as usize];
                if flow.reader.as_deref_mut().is_none_or(Reader::ends_now) {
                    self.end_main(number);
                }
            }
            Role::Reply => self.leave_gate(number),
            Role::Transfer => {
                let Connection { flow, size, opened, delivered_at, .. } = connection;
                self.complete(flow, size, opened, delivered_at);
                self.close(number);
            }
        }
    }
}
