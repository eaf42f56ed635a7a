//! Flows: applications, their connections, and what is counted of them.

use crate::endpoint::{Command, Endpoint, EndpointId, SenderCounts};
use crate::measure::Histogram;
use crate::simulation::{Kind, Simulation};
use crate::trace::Tracer;
use crate::workload::{Reaction, Workload};
use thalweg_proto::payload::{Length, Payload};
use thalweg_proto::transport::Event;
use thalweg_proto::units::Time;

/// "No connection".
pub(crate) const NO_CONNECTION: u32 = u32::MAX;

/// What a connection is for.
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
    /// Counts the uses of this slot, so that a late packet is not taken for one of a later connection.
    pub incarnation: u16,
    pub role: Role,
    pub opened: Time,
}

/// Flows that are alike.
#[derive(Debug)]
pub(crate) struct Group {
    pub name: String,
    pub scheme: String,
    pub transport: u32,
    pub first_flow: u32,
    pub flows: u32,
    /// The hosts' positions in the table, where they need time for their work and are shared by the group.
    pub completion: Histogram,
    pub unfinished: u64,
}

/// A flow.
#[derive(Debug)]
pub(crate) struct Flow {
    pub group: u32,
    /// Where routes from its source and from its sink start.
    pub forward: u32,
    pub backward: u32,
    pub source_host: u32,
    pub sink_host: u32,
    pub start: Time,
    pub finished: Option<Time>,
    pub stopped: bool,
    pub main: u32,
    pub reply: u32,
    pub workload: Workload,
    /// Delivered to the application at the sink: over the whole run, and when counting began.
    pub delivered: u64,
    pub delivered_before: u64,
    pub drops: u64,
    pub delay: Histogram,
    /// Of connections that have ended, and of all when counting began.
    pub ended: SenderCounts,
    pub before: Option<Box<SenderCounts>>,
}

impl<T: Tracer> Simulation<T> {
    /// A flow starts.
    pub(crate) fn on_start(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        let (is_transfers, has_reply) = (
            matches!(state.workload, Workload::Poisson(_)),
            matches!(state.workload, Workload::RequestResponse(_)),
        );
        if !is_transfers {
            self.flows[flow as usize].main = self.open(flow, Role::Main);
        }
        if has_reply {
            self.flows[flow as usize].reply = self.open(flow, Role::Reply);
        }
        let reaction = self.flows[flow as usize].workload.on_start(self.now);
        self.react(flow, reaction);
    }

    /// A flow's application asked to act now.
    pub(crate) fn on_application(&mut self, flow: u32) {
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
        if let Some(began) = reaction.completed {
            self.complete(flow, began);
        }
        if self.flows[flow as usize].stopped {
            return;
        }
        if let Some(at) = reaction.timer {
            self.wheel.push(at.max(self.now), Kind::Application.key(flow));
        }
        if let Some(size) = reaction.open {
            let connection = self.open(flow, Role::Transfer);
            self.groups[self.flows[flow as usize].group as usize].unfinished += 1;
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

    fn complete(&mut self, flow: u32, began: Time) {
        if self.counting {
            let group = self.flows[flow as usize].group;
            self.groups[group as usize].completion.record(self.now.since(began));
        }
    }

    /// Opens a connection with fresh engines.
    fn open(&mut self, flow: u32, role: Role) -> u32 {
        let opened = self.now;
        let number = if let Some(number) = self.vacant.pop() {
            let slot = &mut self.connections[number as usize];
            *slot = Connection { flow, incarnation: slot.incarnation.wrapping_add(1), role, opened };
            number
        } else {
            let number = self.connections.len() as u32;
            self.connections.push(Connection { flow, incarnation: 0, role, opened });
            self.endpoints.push(Endpoint::VACANT);
            self.endpoints.push(Endpoint::VACANT);
            number
        };
        let state = &self.flows[flow as usize];
        let transport = &self.transports[self.groups[state.group as usize].transport as usize];
        let (sender, receiver) = transport.engines();
        let (header, control) = transport.overheads();
        let (mut there, mut back) = ((state.forward, state.source_host), (state.backward, state.sink_host));
        if role == Role::Reply {
            core::mem::swap(&mut there, &mut back);
        }
        for (id, engine, (route, host)) in [(number * 2, sender, there), (number * 2 + 1, receiver, back)] {
            // The serial goes on, so that no packet of the run has another's identity.
            let serial = self.endpoints[id as usize].serial;
            self.endpoints[id as usize] =
                Endpoint { engine, route, header, control, host, serial, ..Endpoint::VACANT };
        }
        number
    }

    /// Closes a connection whose data has all been delivered.
    fn close(&mut self, number: u32) {
        let flow = self.connections[number as usize].flow;
        let sender = &mut self.endpoints[number as usize * 2];
        let counts = sender.engine.sender_counts();
        self.flows[flow as usize].ended.add(&counts);
        for id in [number * 2, number * 2 + 1] {
            let serial = self.endpoints[id as usize].serial;
            let waiting = self.endpoints[id as usize].waiting;
            let host = self.endpoints[id as usize].host;
            self.endpoints[id as usize] = Endpoint { serial, waiting, host, ..Endpoint::VACANT };
        }
        self.vacant.push(number);
    }

    /// An engine tells its application something.
    #[inline]
    pub(crate) fn on_event(&mut self, id: EndpointId, event: Event<Length>) {
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
            // Gates at source nodes will listen to these.
            Event::Congestion(_) | Event::Failed(_) => {}
        }
    }

    #[inline]
    fn on_delivered(&mut self, number: u32, bytes: u64) {
        let connection = self.connections[number as usize];
        let flow = &mut self.flows[connection.flow as usize];
        let reaction = match connection.role {
            Role::Main => {
                flow.delivered += bytes;
                flow.workload.on_delivered(bytes)
            }
            Role::Transfer => {
                flow.delivered += bytes;
                return;
            }
            Role::Reply => flow.workload.on_reply(self.now, bytes),
        };
        if reaction != Reaction::default() {
            self.react(connection.flow, reaction);
        }
    }

    /// The peer has everything.
    fn on_finished(&mut self, number: u32) {
        let connection = self.connections[number as usize];
        match connection.role {
            Role::Main => {
                let flow = &mut self.flows[connection.flow as usize];
                flow.finished = Some(self.now);
                if !flow.stopped {
                    self.complete(connection.flow, connection.opened);
                }
            }
            Role::Reply => {}
            Role::Transfer => {
                self.complete(connection.flow, connection.opened);
                let group = self.flows[connection.flow as usize].group;
                self.groups[group as usize].unfinished -= 1;
                self.close(number);
            }
        }
    }
}
