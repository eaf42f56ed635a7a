//! A network for real packets: the links and queues of a simulation, driven by an external clock.
//!
//! The caller passes in each packet at the current time, and receives it with its arrival time at the end of the path.
//! In between, it is handled like a simulated packet.

use crate::components::flow_pausing_gates::NO_GATE;
use crate::event_loop::{EventLoop, Status};
use crate::packet_tracing::Untraced;
use crate::run_result::{FlowResult, LinkResult, RunResult};
use crate::shortest_paths::{DirectionId, shortest_path};
use crate::simulation_spec::{LOWEST_PRIORITY, NodeId, Spec};
use crate::spec_error::SpecError;
use std::collections::BTreeMap;
use thalweg_proto::Ecn;
use thalweg_proto::transport::Signal;
use thalweg_proto::units::Time;

pub use crate::components::real_hosts::{Arrival, LinkStatus, Message, SCHEME};

/// A network for real packets.
#[derive(Debug)]
pub struct LiveNetwork {
    run: Box<EventLoop<Untraced>>,
    /// The specification, without traffic.
    spec: Spec,
}

impl LiveNetwork {
    /// Builds the network of `spec`, without its flows.
    ///
    /// # Errors
    ///
    /// The specification is invalid.
    pub fn new(spec: &Spec) -> Result<Self, SpecError> {
        let spec = Spec { groups: Vec::new(), ..spec.clone() };
        let mut run = Box::new(crate::run_builder::build_run(&spec, Untraced)?);
        let mut gates = 0..;
        let gates = spec.nodes.iter().map(|node| match node.gate {
            // Gates are numbered in the order of their nodes, and there are fewer of them than `NO_GATE`.
            Some(_) => gates.next().unwrap_or(NO_GATE),
            None => NO_GATE,
        });
        run.init_outside(gates.collect());
        Ok(Self { run, spec })
    }

    /// Returns the link directions from one node to another; `None` without a path.
    pub fn path(&self, from: NodeId, to: NodeId) -> Option<Vec<DirectionId>> {
        shortest_path(&self.spec, from, to)
    }

    /// Adds a flow between two nodes along `path`, one of [`path`](Self::path). Its name and priority in results
    /// default to the names of the nodes and the lowest priority.
    pub fn flow(&mut self, [from, to]: [NodeId; 2], path: &[DirectionId], named: Option<(&str, u8)>) -> u32 {
        let nodes = &self.spec.nodes;
        let name = |node: NodeId| nodes.get(node.0 as usize).map_or("", |node| node.name.as_str());
        let (name, priority) = match named {
            Some((name, priority)) => (name.to_owned(), priority),
            None => (format!("{} -> {}", name(from), name(to)), LOWEST_PRIORITY),
        };
        let mut return_paths = Vec::new();
        for &link in path {
            let spec = &self.spec.links[link as usize / 2];
            let (line, router) =
                if link.is_multiple_of(2) { (&spec.forward, spec.a) } else { (&spec.backward, spec.b) };
            if line.feedback.is_some()
                && let Some(back) = shortest_path(&self.spec, router, from)
            {
                return_paths.push((link, back));
            }
        }
        self.run.add_outside_flow(path, [from.0, to.0], return_paths, name, priority)
    }

    /// Registers a connection with data to send at a node, with this priority. If the node has a gate, the gate may
    /// pause it from now on.
    pub fn join(&mut self, connection: u32, node: NodeId, priority: u8) {
        self.run.begin_sending_outside(connection, node.0, priority);
    }

    /// Unregisters a connection that has nothing to send: its gate forgets it and releases its packets.
    pub fn leave(&mut self, connection: u32) {
        self.run.end_sending_outside(connection);
    }

    /// Reports a congestion signal of a connection's sender to its gate.
    pub fn congested(&mut self, connection: u32, signal: Signal) {
        self.run.notify_gate_of_congestion(connection * 2, signal);
    }

    /// Returns true if a gate has paused the connection.
    pub fn is_paused(&self, connection: u32) -> bool {
        self.run.outside.as_ref().is_some_and(|outside| outside.paused.contains_key(&connection))
    }

    /// Returns true if packets of the connection wait at a gate.
    pub fn is_holding(&self, connection: u32) -> bool {
        let held = self.run.outside.as_ref().and_then(|outside| outside.paused.get(&connection));
        held.is_some_and(|held| !held.is_empty())
    }

    /// Counts a TCP retransmission of a flow.
    pub fn resent(&mut self, flow: u32) {
        self.run.count_retransmission(flow);
    }

    /// Holds a packet of a paused connection until it may leave; returns false if the buffer is full.
    pub fn hold(&mut self, connection: u32, priority: u8, ecn: Ecn, bytes: Vec<u8>) -> bool {
        self.run.hold_outside(connection, priority, ecn, bytes)
    }

    /// Opens a connection of a flow. Queues that isolate flows also isolate connections.
    pub fn connect(&mut self, flow: u32) -> u32 {
        self.run.connect_outside(flow)
    }

    /// Closes a connection. Its number may be reused.
    pub fn close(&mut self, connection: u32) {
        self.run.close_outside(connection);
    }

    /// Sends a packet of a connection into the network at the time to which [`advance`](Self::advance) last moved, and
    /// returns its serial number on the connection.
    pub fn enter(&mut self, connection: u32, priority: u8, ecn: Ecn, bytes: Vec<u8>) -> u32 {
        self.run.send_outside(connection, priority, ecn, bytes)
    }

    /// Marks the source of a connection as able to handle routers' messages. Other sources receive none.
    pub fn listens(&mut self, connection: u32) {
        if let Some(outside) = &mut self.run.outside {
            outside.listening.insert(connection);
        }
    }

    /// Translates, from now on, routers' feedback for other sources into CE on their next packet.
    pub fn translate_messages(&mut self) {
        if let Some(outside) = &mut self.run.outside {
            outside.translates = true;
        }
    }

    /// Takes the routers' messages that have arrived at their sources.
    pub fn take_messages(&mut self) -> Vec<Message> {
        self.run.outside.as_mut().map(|outside| core::mem::take(&mut outside.messages)).unwrap_or_default()
    }

    /// Advances time to `now`.
    pub fn advance(&mut self, now: Time) -> Status {
        self.run.advance_to(now)
    }

    /// Returns the time of the next event.
    pub fn next(&self) -> Option<Time> {
        if self.run.ending.is_over() { None } else { self.run.wheel.next() }
    }

    /// Swaps the arrived packets with an empty list.
    pub fn take_arrived(&mut self, list: &mut Vec<Arrival>) {
        if let Some(outside) = &mut self.run.outside {
            list.clear();
            core::mem::swap(&mut outside.arrived, list);
        }
    }

    /// Returns the state of one direction of a link of the specification.
    pub fn line(&self, direction: DirectionId) -> Option<LinkStatus> {
        self.run.link_status(direction)
    }

    /// Counts the bytes of an arrived packet of a flow: `payload` for the application and `overhead` for headers.
    pub fn count(&mut self, flow: u32, payload: u64, overhead: u64) {
        self.run.count_outside(flow, payload, overhead);
    }

    /// Returns the error that ended the run early.
    pub fn error(&self) -> Option<&SpecError> {
        self.run.ending.error()
    }

    /// Ends the run now and returns its results.
    pub fn finish(mut self) -> RunResult {
        self.run.ending.end();
        self.run.finish().0
    }
}

/// Merges the results of a network that several [`LiveNetwork`]s shared; each of its flows is a group. `owners` gives, for
/// each link direction, the position in `parts` of the run that owned it. `parts` must not be empty.
pub fn join_results(parts: Vec<RunResult>, owners: &[usize]) -> RunResult {
    let mut merged = RunResult { end_time: Time::ZERO, is_complete: true, ..RunResult::default() };
    // In order of their start, as a single run would list them.
    let mut flows = Vec::new();
    let mut links: Vec<Option<LinkResult>> = vec![None; owners.len()];
    let mut series = Vec::new();
    for (number, part) in parts.into_iter().enumerate() {
        (merged.seed, merged.warmup) = (part.seed, part.warmup);
        merged.end_time = merged.end_time.max(part.end_time);
        merged.is_complete &= part.is_complete;
        merged.events += part.events;
        merged.hops += part.hops;
        merged.fingerprint = merged.fingerprint.wrapping_add(part.fingerprint);
        merged.conservation.add(&part.conservation);
        let owns = |link: usize| owners.get(link) == Some(&number);
        for (place, link) in part.links.into_iter().enumerate().filter(|(place, _)| owns(*place)) {
            links[place] = Some(link);
        }
        flows.extend(
            part.flows.into_iter().zip(part.groups).zip(0..).map(|(both, flow)| (number, flow, both)),
        );
        let kept = part.series.into_iter();
        let kept = kept.filter(|series| series.quantity.is_of_flow() || owns(series.subject as usize));
        series.extend(kept.map(|series| (number, series)));
    }
    merged.links = links.into_iter().flatten().collect();
    flows.sort_by_key(|(number, flow, (result, _))| (result.start, *number, *flow));
    let places: BTreeMap<(usize, u32), u32> =
        (0..).zip(&flows).map(|(place, (number, flow, _))| ((*number, *flow), place)).collect();
    for (place, (.., (flow, group))) in (0..).zip(flows) {
        merged.flows.push(FlowResult { group: place, ..flow });
        merged.groups.push(group);
    }
    for (number, mut one) in series {
        if one.quantity.is_of_flow() {
            let Some(place) = places.get(&(number, one.subject)) else { continue };
            one.subject = *place;
        }
        merged.series.push(one);
    }
    merged.series.sort_by_key(|series| (series.quantity.is_of_flow(), series.subject));
    merged
}
