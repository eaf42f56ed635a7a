//! A network that real packets cross: the links, queues and wires of a simulation, driven by whoever has a clock.
//!
//! The owner reads packets from somewhere, hands them in at the time that it is, and gets them back with the time at which they
//! reach the far end of their path. In between they are what simulated packets are, event for event.

use crate::error::SpecError;
use crate::event_loop::{EventLoop, Status};
use crate::parts::gate::NO_GATE;
use crate::result::{FlowResult, LinkResult, RunResult};
use crate::route::{DirectionId, shortest_path};
use crate::spec::{LOWEST_PRIORITY, NodeId, Spec};
use crate::tracing::Untraced;
use std::collections::BTreeMap;
use thalweg_proto::Ecn;
use thalweg_proto::transport::Signal;
use thalweg_proto::units::Time;

pub use crate::parts::outside::{Arrival, LineNow, Message, SCHEME};

/// A network for real packets.
#[derive(Debug)]
pub struct Live {
    run: Box<EventLoop<Untraced>>,
    /// Without traffic.
    spec: Spec,
}

impl Live {
    /// The network of `spec`, without its flows.
    ///
    /// # Errors
    ///
    /// When the specification makes no sense.
    pub fn new(spec: &Spec) -> Result<Self, SpecError> {
        let spec = Spec { groups: Vec::new(), ..spec.clone() };
        let mut run = Box::new(crate::build::build(&spec, Untraced)?);
        let mut gates = 0..;
        let gates = spec.nodes.iter().map(|node| match node.gate {
            // They are numbered in the order of their nodes, and there are fewer than this number.
            Some(_) => gates.next().unwrap_or(NO_GATE),
            None => NO_GATE,
        });
        run.open_outside(gates.collect());
        Ok(Self { run, spec })
    }

    /// The directions of links from one node to another; `None` where none leads there.
    pub fn path(&self, from: NodeId, to: NodeId) -> Option<Vec<DirectionId>> {
        shortest_path(&self.spec, from, to)
    }

    /// A new flow between two nodes by a path, which is one of [`path`](Self::path). In results it has the name and priority that are
    /// given, or else the names of the nodes and the lowest.
    pub fn flow(&mut self, [from, to]: [NodeId; 2], path: &[DirectionId], named: Option<(&str, u8)>) -> u32 {
        let nodes = &self.spec.nodes;
        let name = |node: NodeId| nodes.get(node.0 as usize).map_or("", |node| node.name.as_str());
        let (name, priority) = match named {
            Some((name, priority)) => (name.to_owned(), priority),
            None => (format!("{} -> {}", name(from), name(to)), LOWEST_PRIORITY),
        };
        let mut ways_back = Vec::new();
        for &link in path {
            let spec = &self.spec.links[link as usize / 2];
            let (line, router) =
                if link.is_multiple_of(2) { (&spec.forward, spec.a) } else { (&spec.backward, spec.b) };
            if line.feedback.is_some()
                && let Some(back) = shortest_path(&self.spec, router, from)
            {
                ways_back.push((link, back));
            }
        }
        self.run.outside_flow(path, ways_back, name, priority)
    }

    /// A connection begins to send data at a node, with this priority: where the node has a gate, it may be stopped from now on.
    pub fn join(&mut self, connection: u32, node: NodeId, priority: u8) {
        self.run.join_outside(connection, node.0, priority);
    }

    /// A connection has nothing more to send for now: its gate forgets it, and what waits there leaves.
    pub fn leave(&mut self, connection: u32) {
        self.run.leave_outside(connection);
    }

    /// The sender of a connection met a sign of congestion, which its gate may want to know.
    pub fn congested(&mut self, connection: u32, signal: Signal) {
        self.run.notify_gate_of_congestion(connection * 2, signal);
    }

    /// True if a gate has stopped the connection.
    pub fn is_paused(&self, connection: u32) -> bool {
        self.run.outside.as_ref().is_some_and(|outside| outside.paused.contains_key(&connection))
    }

    /// True if packets of the connection wait at a gate.
    pub fn is_holding(&self, connection: u32) -> bool {
        let held = self.run.outside.as_ref().and_then(|outside| outside.paused.get(&connection));
        held.is_some_and(|held| !held.is_empty())
    }

    /// TCP has sent data of a flow once more.
    pub fn resent(&mut self, flow: u32) {
        self.run.count_resent(flow);
    }

    /// Has a packet of a stopped connection wait until it may go; false where there is no room for it.
    pub fn hold(&mut self, connection: u32, priority: u8, ecn: Ecn, bytes: Vec<u8>) -> bool {
        self.run.hold_outside(connection, priority, ecn, bytes)
    }

    /// A connection of a flow: queues that keep flows apart keep connections apart.
    pub fn connect(&mut self, flow: u32) -> u32 {
        self.run.connect_outside(flow)
    }

    /// Ends a connection, whose number may then be that of another.
    pub fn close(&mut self, connection: u32) {
        self.run.close_outside(connection);
    }

    /// A packet of a connection enters the network now, which [`advance`](Self::advance) has moved on to. Its number on the connection.
    pub fn enter(&mut self, connection: u32, priority: u8, ecn: Ecn, bytes: Vec<u8>) -> u32 {
        self.run.enter(connection, priority, ecn, bytes)
    }

    /// The source of a connection understands routers' messages, which nobody else is sent.
    pub fn listens(&mut self, connection: u32) {
        if let Some(outside) = &mut self.run.outside {
            outside.listening.insert(connection);
        }
    }

    /// From now on what routers have to say to other sources is said by CE in their next packet.
    pub fn translate_messages(&mut self) {
        if let Some(outside) = &mut self.run.outside {
            outside.translates = true;
        }
    }

    /// Takes the messages of routers that have come to their sources.
    pub fn take_messages(&mut self) -> Vec<Message> {
        self.run.outside.as_mut().map(|outside| core::mem::take(&mut outside.messages)).unwrap_or_default()
    }

    /// Lets the time pass up to `now`.
    pub fn advance(&mut self, now: Time) -> Status {
        self.run.advance_to(now)
    }

    /// The time at which something happens next.
    pub fn next(&self) -> Option<Time> {
        if self.run.finished { None } else { self.run.wheel.next() }
    }

    /// Swaps the packets that have arrived for an empty list.
    pub fn take_arrived(&mut self, list: &mut Vec<Arrival>) {
        if let Some(outside) = &mut self.run.outside {
            list.clear();
            core::mem::swap(&mut outside.arrived, list);
        }
    }

    /// The state of one direction of a link of the specification.
    pub fn line(&self, direction: DirectionId) -> Option<LineNow> {
        self.run.line_now(direction)
    }

    /// An arrived packet of a flow brought its application so many bytes, with so many around them.
    pub fn count(&mut self, flow: u32, payload: u64, around: u64) {
        self.run.count_outside(flow, payload, around);
    }

    /// The error that ended the run before its time.
    pub fn error(&self) -> Option<&SpecError> {
        self.run.error.as_deref()
    }

    /// Ends the run at the time that it is, and tells what was measured.
    pub fn finish(mut self) -> RunResult {
        self.run.finished = true;
        self.run.finish().0
    }
}

/// The results of a network that several [`Live`]s had a part of each, in which a flow is a group. `owners` says of each direction of a link
/// whose it is, by position among `parts`, of which there is one at least.
pub fn join(parts: Vec<RunResult>, owners: &[usize]) -> RunResult {
    let mut whole = RunResult { ended: Time::ZERO, complete: true, ..RunResult::default() };
    // As they began, as if one had them all.
    let mut flows = Vec::new();
    let mut links: Vec<Option<LinkResult>> = vec![None; owners.len()];
    let mut series = Vec::new();
    for (number, part) in parts.into_iter().enumerate() {
        (whole.seed, whole.warmup) = (part.seed, part.warmup);
        whole.ended = whole.ended.max(part.ended);
        whole.complete &= part.complete;
        whole.events += part.events;
        whole.hops += part.hops;
        whole.fingerprint = whole.fingerprint.wrapping_add(part.fingerprint);
        whole.conservation.add(&part.conservation);
        let own = |link: usize| owners.get(link) == Some(&number);
        for (place, link) in part.links.into_iter().enumerate().filter(|(place, _)| own(*place)) {
            links[place] = Some(link);
        }
        flows.extend(
            part.flows.into_iter().zip(part.groups).zip(0..).map(|(both, flow)| (number, flow, both)),
        );
        let kept = part.series.into_iter();
        let kept = kept.filter(|series| series.quantity.is_of_flow() || own(series.subject as usize));
        series.extend(kept.map(|series| (number, series)));
    }
    whole.links = links.into_iter().flatten().collect();
    flows.sort_by_key(|(number, flow, (result, _))| (result.start, *number, *flow));
    let places: BTreeMap<(usize, u32), u32> =
        (0..).zip(&flows).map(|(place, (number, flow, _))| ((*number, *flow), place)).collect();
    for (place, (.., (flow, group))) in (0..).zip(flows) {
        whole.flows.push(FlowResult { group: place, ..flow });
        whole.groups.push(group);
    }
    for (number, mut one) in series {
        if one.quantity.is_of_flow() {
            let Some(place) = places.get(&(number, one.subject)) else { continue };
            one.subject = *place;
        }
        whole.series.push(one);
    }
    whole.series.sort_by_key(|series| (series.quantity.is_of_flow(), series.subject));
    whole
}
