//! Events of flows: start, writes, connections, end.

use super::EventLoop;
use crate::components::connection_endpoint::{Command, Engine};
use crate::components::flow_pausing_gates::NO_GATE;
use crate::components::flow_state::{Connection, MAX_FLOWS_WITH_DELAY, NO_CONNECTION, Role};
use crate::components::packet_pool::EndpointIndex;
use crate::components::reading_application::{READ_FLAG, Reader};
use crate::components::workload_state::{Reaction, Workload};
use crate::event_kinds::EventKind;
use crate::packet_tracing::Tracing;
use crate::spec_error::SpecError;
use thalweg_proto::payload::{Length, Payload};
use thalweg_proto::random::RandomStream;
use thalweg_proto::transport::{ContractViolation, Event, Failure};
use thalweg_proto::units::Duration;

impl<T: Tracing> EventLoop<T> {
    /// Starts a flow.
    pub(crate) fn on_start(&mut self, flow: u32) {
        let opens = self.traffic.opening_flow_index(flow).is_some();
        if !self.has_source(flow) {
            self.count_doubled();
            if !opens {
                self.traffic.flows[flow as usize].main = self.open(flow, Role::Main);
            }
            return;
        }
        let state = &self.traffic.flows[flow as usize];
        let has_reply = matches!(state.workload, Workload::RequestResponse(_));
        if !opens {
            self.traffic.flows[flow as usize].main = self.open(flow, Role::Main);
            self.announce_reading(flow);
        }
        if has_reply {
            self.traffic.flows[flow as usize].reply = self.open(flow, Role::Reply);
        }
        let reaction = self.traffic.flows[flow as usize].workload.on_start(self.now);
        self.react(flow, reaction);
        let main = self.traffic.flows[flow as usize].main;
        if main != NO_CONNECTION && self.connections.endpoint(main * 2).engine.has_handshake() {
            // The connection opens even if there is nothing to send.
            self.drain(main * 2);
        }
    }

    /// Handles an application's timer: to write or, with [`READ_FLAG`] set, to read.
    pub(crate) fn on_application(&mut self, flow: u32) {
        if flow & READ_FLAG != 0 {
            return self.on_reading(flow & !READ_FLAG);
        }
        let state = &mut self.traffic.flows[flow as usize];
        if state.stopped {
            return;
        }
        let reaction = state.workload.on_timer(self.now);
        self.react(flow, reaction);
    }

    /// Stops the writing of a flow's application.
    pub(crate) fn on_stop(&mut self, flow: u32) {
        let state = &mut self.traffic.flows[flow as usize];
        state.stopped = true;
        for connection in [state.main, state.reply] {
            if connection != NO_CONNECTION {
                self.command(connection * 2, Command::Stop);
            }
        }
    }

    /// Polls a flow's sender after an external change of its window.
    pub(crate) fn prompt(&mut self, flow: u32) {
        let Some(state) = self.traffic.flows.get(flow as usize) else { return };
        if state.main != NO_CONNECTION && !self.ending.is_over() {
            self.drain(state.main * 2);
        }
    }

    /// Executes an application's reaction.
    fn react(&mut self, flow: u32, reaction: Reaction) {
        if let Some(exchange) = reaction.completed {
            self.complete_exchange(flow, exchange);
        }
        if let Some((size, began)) = reaction.block {
            self.end_block(flow, size, began);
        }
        if self.traffic.flows[flow as usize].stopped {
            return;
        }
        if reaction.arrived {
            return self.end_delivery(flow);
        }
        if let Some(at) = reaction.timer {
            self.wheel.push(at.max(self.now), EventKind::Application.key(flow));
        }
        let main = self.traffic.flows[flow as usize].main;
        if let Some(size) = reaction.transfer_to_open
            && main != NO_CONNECTION
        {
            self.write(main * 2, size);
            self.drain(main * 2);
        } else if let Some(size) = reaction.transfer_to_open {
            if self.traffic.opening_flow_index(flow).is_none_or(|index| !self.connections.ids.can_open(index))
            {
                return self.fail_on_too_many_connections();
            }
            let connection = self.open(flow, Role::Transfer);
            self.connections[connection].size = size;
            self.write(connection * 2, size);
            self.command(connection * 2, Command::Finish);
        }
        if reaction.reply > 0 {
            let id = self.traffic.flows[flow as usize].reply * 2;
            self.write(id, reaction.reply);
            self.drain(id);
        }
        if reaction.write > 0 || reaction.finish {
            let id = self.traffic.flows[flow as usize].main * 2;
            self.write(id, reaction.write);
            if reaction.finish {
                self.command(id, Command::Finish);
            } else {
                self.drain(id);
            }
        }
    }

    /// Ends a flow whose required amount has arrived, whatever was lost.
    fn end_delivery(&mut self, flow: u32) {
        let state = &mut self.traffic.flows[flow as usize];
        let main = state.main;
        (state.finished, state.stopped) = (self.now, true);
        let size = self.traffic.flows[flow as usize].delivered;
        self.complete(flow, size, self.connections[main].open_time, self.now);
        self.command(main * 2, Command::Stop);
    }

    /// Opens a connection with new engines.
    fn open(&mut self, flow: u32, role: Role) -> u32 {
        let opened = self.now;
        let assigned_id = self.number_of(flow, role);
        let number = self.connections.next_index(flow, assigned_id, &self.traffic);
        self.connections[number] = Connection::opened(flow, role, opened);
        if T::BUFFERS && self.has_source(flow) {
            let own = self.connections.id(number);
            self.tracing.open(self.wheel.order_now(), own, flow, role == Role::Reply);
        }
        let waits = role == Role::Transfer && self.traffic.begins_late(flow);
        let transport = self.traffic.transport_of(flow);
        let draws = transport.properties().needs().random;
        let stream = draws.then(|| RandomStream::new(self.seed, "media", u64::from(number)));
        let mut sender = Engine::sender(&transport.endpoint_configs, stream);
        // Only families of other crates draw at the receiver.
        let stream = draws.then(|| RandomStream::new(self.seed, "receiver", u64::from(number)));
        let mut receiver = Engine::receiver(&transport.endpoint_configs, stream);
        // The reply uses the connection opened by the request.
        if let Some(handshake) = transport.endpoint_configs.handshake().filter(|_| role != Role::Reply) {
            (sender, receiver) = (sender.opener(handshake), receiver.listener(handshake));
        }
        if !self.has_source(flow) {
            sender = Engine::Vacant;
        }
        if !self.has_sink(flow) {
            receiver = Engine::Vacant;
        }
        let gate = self.traffic.group_of(flow).gates[usize::from(role == Role::Reply)];
        let [there, back] = self.traffic.connection_paths(flow, role);
        self.connections.begin_endpoint(number * 2, flow, sender, there, &self.traffic);
        if !waits {
            self.connections.begin_endpoint(number * 2 + 1, flow, receiver, back, &self.traffic);
            for id in [number * 2, number * 2 + 1] {
                self.expect(id, self.connections.endpoint(id ^ 1).serial);
            }
        }
        self.connections.endpoint_mut(number * 2).watched =
            role == Role::Main && self.measurements.series.has_changes_of(flow);
        if gate != NO_GATE && self.has_source(flow) {
            self.connections.endpoint_mut(number * 2).gate = gate;
            self.join_gate(number);
        }
        number
    }

    /// Applies a route change to the packets sent from now on.
    pub(crate) fn on_reroute(&mut self) {
        self.count_shared();
        for group in &mut self.traffic.groups {
            group.epoch += 1;
        }
        self.connections.reroute(&self.traffic);
    }

    /// Closes a connection whose data has all been delivered.
    fn close(&mut self, number: u32) {
        self.leave_gate(number);
        let flow = self.connections[number].flow;
        if self.traffic.begins_late(flow) {
            self.end(number * 2);
        } else {
            let counts = self.connection_counts(number);
            self.traffic.flows[flow as usize].closed_counts_mut().add(&counts);
            if let Some(counts) = self.two_level_counts(number) {
                self.traffic.flows[flow as usize].special().two_level.get_or_insert_default()[0].add(&counts);
            }
            self.forget_segments(number);
            self.connections.drop_engines(number);
        }
        if let Some(opening_flow_index) = self.traffic.opening_flow_index(flow) {
            self.connections.ids.release_index(opening_flow_index, number);
        }
    }

    /// Handles an engine's event for its application.
    #[inline]
    pub(crate) fn on_event(&mut self, index: EndpointIndex, event: &Event<Length>) {
        match event {
            Event::Delivered(data) => self.on_delivered(index / 2, u64::from(data.len())),
            Event::Writable => {
                let connection = self.connections[index / 2];
                if connection.role == Role::Main {
                    let reaction =
                        self.traffic.flows[connection.flow as usize].workload.on_writable(self.now);
                    self.react(connection.flow, reaction);
                }
            }
            Event::Finished => self.on_finished(index),
            Event::Failed(failure) => {
                if let Failure::ContractViolation(violation) = failure {
                    self.end_for(index / 2, *violation);
                }
                self.on_failed(index / 2);
            }
            Event::Congestion(signal) => self.notify_gate_of_congestion(index, *signal),
            // The application tolerates these holes.
            Event::Hole { .. } => {}
        }
    }

    /// Counts a round-trip time sample of the flow's sender.
    #[inline]
    pub(crate) fn count_round_trip(&mut self, flow: u32, rtt: Duration) {
        let (flow, group) = self.traffic.flow_and_group_mut(flow);
        if group.flows <= MAX_FLOWS_WITH_DELAY {
            flow.round_trips.get_or_insert_default().record(rtt);
        } else {
            group.round_trips.record(rtt);
        }
    }

    /// Counts a data packet with `payload` bytes that arrived after `delay`, with or without CE.
    #[inline(always)]
    pub(crate) fn count_arrived(&mut self, flow: u32, payload: u32, is_ce: bool, delay: Duration) {
        let (flow, group) = self.traffic.flow_and_group_mut(flow);
        flow.counts.arrive(payload, is_ce);
        match &mut flow.delay {
            Some(delays) => delays.record(delay),
            None => group.delay.record(delay),
        }
    }

    #[inline]
    fn on_delivered(&mut self, number: u32, bytes: u64) {
        let connection = self.connections[number];
        if self.traffic.flows[connection.flow as usize].reader().is_none() {
            return self.on_read(number, bytes);
        }
        match connection.role {
            Role::Main => self.keep_for_reader(connection.flow, bytes),
            // Only the application at the sink has a read rate.
            Role::Reply | Role::Transfer => {
                self.command(number * 2 + 1, Command::Consumed(bytes));
                self.on_read(number, bytes);
            }
        }
    }

    /// Counts data delivered to an application.
    #[inline]
    pub(crate) fn on_read(&mut self, number: u32, bytes: u64) {
        let connection = &mut self.connections[number];
        connection.delivered += bytes;
        connection.delivered_at = self.now;
        let connection = *connection;
        let flow = &mut self.traffic.flows[connection.flow as usize];
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

    /// Ends a flow's own connection after all data was delivered, or sent as datagrams, whose sender does not know what
    /// arrives: these have no completion.
    pub(crate) fn end_main(&mut self, number: u32) {
        let Connection { flow: index, open_time, delivered_at, .. } = self.connections[number];
        let is_reliable = self.traffic.is_reliable(index);
        if !self.has_sink(index) {
            return self.end_far(number, is_reliable && !self.traffic.flows[index as usize].stopped);
        }
        let flow = self.traffic.finish(index, delivered_at);
        if is_reliable && !flow.stopped {
            let size = flow.delivered;
            self.complete(index, size, open_time, delivered_at);
        }
    }

    /// Stops the run after a contract violation of a third-party component: further measurements would be meaningless.
    #[cold]
    fn end_for(&mut self, number: u32, violation: ContractViolation) {
        let of = self.traffic.group_of(self.connections[number].flow).name.clone();
        self.ending.fail(|| SpecError::ContractViolation { of, at: self.now, violation });
    }

    /// Handles a sender that gave up: one of many transfers stays unfinished, any other flow ends.
    fn on_failed(&mut self, number: u32) {
        let connection = self.connections[number];
        if connection.role == Role::Transfer {
            self.give_up(connection);
            self.close(number);
        } else {
            self.traffic.fail(connection.flow, self.now);
            self.leave_gate(number);
        }
    }

    /// Handles the end reported by an engine: a sender's peer has everything, or a receiver's connection is closed.
    fn on_finished(&mut self, index: EndpointIndex) {
        let number = index / 2;
        let connection = self.connections[number];
        let is_sender = index.is_multiple_of(2);
        match connection.role {
            Role::Main | Role::Reply if !is_sender => {}
            Role::Main => {
                self.leave_gate(number);
                let flow = &mut self.traffic.flows[connection.flow as usize];
                if flow.reader_mut().is_none_or(Reader::ends_now) {
                    self.end_main(number);
                }
            }
            Role::Reply => self.leave_gate(number),
            Role::Transfer => {
                if is_sender {
                    self.complete_transfer(number);
                }
                if !self.connections.endpoint(number * 2 + 1).engine.lingers() {
                    self.close(number);
                }
            }
        }
    }
}
