//! Network that real packets cross, without sockets and clocks: router behaviour around the links of the simulator.
//!
//! The path of an incoming packet is resolved at once: up to its target, or to the router where its MTU or hop limit
//! ends it. The packet arrives there after the delay of the links, and that router notifies the source.

use crate::ack_delay_signal::AckDelay;
use crate::gates_on_packets::{GateVerdict, Gates};
use crate::ip_header::{Header, fragment_ipv4, rewrite_hops_and_ecn};
use crate::middlebox::{Inbound, Middleboxes};
use crate::network_plan::Plan;
use crate::router_feedback::{Sources, parse_packet_head};
use crate::router_icmp::{self, IcmpError};
use crate::simulated_connection_numbers::{Connections, Key};
use crate::tcp_headers::{Segment, is_after};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use thalweg_proto::Ecn;
use thalweg_proto::gate::Marking;
use thalweg_proto::transport::Signal;
use thalweg_proto::units::{Duration, Time};
use thalweg_sim::live_network::{Arrival, LinkStatus, LiveNetwork};
use thalweg_sim::shortest_paths::DirectionId;
use thalweg_sim::simulation_spec::{LinkSpec, NodeId};
use thalweg_sim::{RunResult, SpecError, Status};

/// Snapshot of a link direction during a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkDirectionState {
    /// Name, as in results.
    pub name: String,
    /// Time of the snapshot.
    pub at: Time,
    /// State at that time.
    pub now: LinkStatus,
}

/// Packet delivered to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Node number of the host.
    pub node: usize,
    /// Delivery time.
    pub at: Time,
    /// Contents of the packet.
    pub bytes: Vec<u8>,
}

/// Counters of packets that the network did not simply forward from host to host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets sent by hosts.
    pub sent: u64,
    /// Ignored packets among these: not unicast IP.
    pub ignored: u64,
    /// Packets for unreachable addresses.
    pub unreachable: u64,
    /// Packets whose TTL or hop limit expired.
    pub expired: u64,
    /// Packets larger than a link's MTU that must not be fragmented.
    pub too_big: u64,
    /// ICMP messages of routers.
    pub messages: u64,
    /// Packets dropped by NATs and firewalls.
    pub stopped: u64,
    /// Congestion feedback messages of routers to sources.
    pub router_feedback: u64,
    /// Acknowledgements delayed as a congestion signal.
    pub waited: u64,
    /// Packets held at a gate.
    pub held_at_gates: u64,
    /// Duplicates dropped by gates: the same data already waited.
    pub copies: u64,
    /// Packets dropped by full gates.
    pub gate_drops: u64,
}

impl Counts {
    /// Adds the counters of another part of the network.
    pub(crate) fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.ignored += other.ignored;
        self.unreachable += other.unreachable;
        self.expired += other.expired;
        self.too_big += other.too_big;
        self.messages += other.messages;
        self.stopped += other.stopped;
        self.router_feedback += other.router_feedback;
        self.waited += other.waited;
        self.held_at_gates += other.held_at_gates;
        self.copies += other.copies;
        self.gate_drops += other.gate_drops;
    }
}

/// Path between two nodes.
#[derive(Clone, Debug)]
struct LivePath {
    from: usize,
    to: usize,
    path: Vec<DirectionId>,
    flow: u32,
}

/// Network that real packets cross.
#[derive(Debug)]
pub struct Emulator {
    live: LiveNetwork,
    plan: Plan,
    by_address: HashMap<IpAddr, usize>,
    /// Paths by endpoints and matching rule; `None` if there is no route.
    path_indices: HashMap<(usize, usize, Option<usize>), Option<usize>>,
    /// All paths, indexed by flow of the network.
    list: Vec<LivePath>,
    connections: Connections,
    gates: Gates,
    middle: Middleboxes,
    /// Senders that support router feedback, where routers send it.
    sources: Option<Sources>,
    /// Delayed acknowledgements, where they signal congestion to TCP.
    ack_delay: Option<AckDelay>,
    arrived: Vec<Arrival>,
    counts: Counts,
    is_over: bool,
}

impl Emulator {
    /// Creates the network of a plan.
    ///
    /// # Errors
    ///
    /// The network is invalid.
    pub fn new(plan: Plan) -> Result<Self, SpecError> {
        let mut live = LiveNetwork::new(&plan.spec)?;
        if plan.signals_feedback_by_ce {
            live.translate_messages();
        }
        let has_feedback =
            |link: &LinkSpec| link.forward.feedback.is_some() || link.backward.feedback.is_some();
        let sources = plan.spec.links.iter().any(has_feedback).then(Sources::default);
        let ack_delay = plan.ack_delay.filter(|_| sources.is_some()).map(AckDelay::new);
        let addresses = plan.nodes.iter().enumerate();
        let by_address = addresses.flat_map(|(number, node)| node.addresses.map(|address| (address, number)));
        let by_address = by_address.collect();
        let middle = Middleboxes::new(&plan);
        Ok(Self {
            live,
            by_address,
            plan,
            path_indices: HashMap::new(),
            list: Vec::new(),
            connections: Connections::default(),
            gates: Gates::default(),
            middle,
            sources,
            ack_delay,
            arrived: Vec::new(),
            counts: Counts::default(),
            is_over: false,
        })
    }

    /// Returns the plan of the network.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the counters.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the time of the next event.
    pub fn next_event_time(&self) -> Option<Time> {
        [self.live.next(), self.gates.next(), self.ack_delay.as_ref().and_then(AckDelay::next)]
            .into_iter()
            .flatten()
            .min()
    }

    /// Returns true once the run has ended or failed.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns the error that ended the run early, if any.
    pub fn error(&self) -> Option<&SpecError> {
        self.live.error()
    }

    /// Accepts a packet that a host sends now.
    pub fn enter(&mut self, now: Time, node: usize, bytes: Vec<u8>) {
        self.counts.sent += 1;
        self.pass(now);
        match Header::parse(&bytes)
            .filter(|header| router_icmp::is_host(header.target) && router_icmp::is_host(header.source))
        {
            Some(header) => self.route(now, node, bytes, &header),
            None => self.counts.ignored += 1,
        }
    }

    /// Advances the time to `now` and delivers packets to hosts in time order.
    pub fn advance(&mut self, now: Time, mut deliver: impl FnMut(Delivery)) {
        self.pass(now);
        if let Some(ack_delay) = &mut self.ack_delay {
            ack_delay.release(now, |(node, at, bytes)| deliver(Delivery { node, at, bytes }));
        }
        let mut arrived = core::mem::take(&mut self.arrived);
        self.live.take_arrived(&mut arrived);
        for arrival in arrived.drain(..) {
            if let Some(delivery) = self.arrive(now, arrival) {
                deliver(delivery);
            }
        }
        self.arrived = arrived;
        if let Some(sources) = &self.sources {
            for message in self.live.take_messages() {
                if self
                    .ack_delay
                    .as_mut()
                    .is_some_and(|ack_delay| ack_delay.on_feedback(message.at, message.connection))
                {
                    self.counts.router_feedback += 1;
                    continue;
                }
                if let Some((node, bytes)) = sources.on_feedback(&message) {
                    self.counts.router_feedback += 1;
                    deliver(Delivery { node, at: message.at, bytes });
                }
            }
        }
    }

    /// Handles a congestion signal for a connection from behind the gateway.
    pub fn congested(&mut self, (program, target): (SocketAddr, SocketAddr), signal: Signal) {
        self.gates.on_congested(program, target, signal, &mut self.live);
    }

    /// Returns the link directions that have carried or queue packets at this time.
    pub(crate) fn lines(&self, at: Time) -> Vec<LinkDirectionState> {
        let links = self.plan.spec.links.iter().zip((0..).step_by(2));
        let both = links.flat_map(|(link, number)| [(link, number), (link, number + 1)]);
        both.filter_map(|(link, number)| {
            let now = self.live.line(number).filter(|now| now.bytes > 0 || now.queued_packets > 0)?;
            let ends = if number.is_multiple_of(2) { [link.a, link.b] } else { [link.b, link.a] };
            let [from, to] = ends.map(|node| &self.plan.spec.nodes[node.0 as usize].name);
            Some(LinkDirectionState { name: format!("{}: {from} -> {to}", link.name), at, now })
        })
        .collect()
    }

    /// Returns the delay of the shortest used path between hosts, without queueing.
    pub fn shortest(&self) -> Duration {
        let nodes = &self.plan.nodes;
        let between_hosts = self.path_indices.iter().filter_map(|(&(from, to, _), path_index)| {
            path_index.filter(|_| nodes[from].is_host && nodes[to].is_host)
        });
        let delay = |direction: &DirectionId| {
            let link = &self.plan.spec.links[*direction as usize / 2];
            if direction.is_multiple_of(2) { link.forward.delay } else { link.backward.delay }
        };
        let shortest = between_hosts.map(|path_index| self.list[path_index].path.iter().map(delay));
        shortest.map(|delays| delays.fold(Duration::ZERO, |sum, delay| sum + delay)).min().unwrap_or_default()
    }

    /// Ends the run and returns its measurements.
    pub fn finish(self) -> RunResult {
        self.live.finish()
    }

    fn pass(&mut self, now: Time) {
        self.is_over |= self.live.advance(now) != Status::Running;
        let connections = &mut self.connections;
        self.gates.pass(now, &mut self.live, |key| connections.keep(now, key));
    }

    /// Returns the path between two nodes for packets without a matching rule.
    fn path_index(&mut self, from: usize, to: usize) -> Option<usize> {
        self.path_of(from, to, None)
    }

    /// Returns the path between two nodes for packets with this rule, if any.
    fn path_of(&mut self, from: usize, to: usize, rule: Option<usize>) -> Option<usize> {
        // Replies are not a flow of the scenario.
        let rule = rule.filter(|rule| self.plan.rules[*rule].ends == [from, to]);
        if let Some(path_index) = self.path_indices.get(&(from, to, rule)) {
            return *path_index;
        }
        let ends = [from, to].map(|node| NodeId(node as u32));
        let path = self.live.path(ends[0], ends[1]).filter(|path| !path.is_empty());
        let path_index = path.map(|path| {
            let named =
                rule.map(|rule| &self.plan.rules[rule]).map(|rule| (rule.name.as_str(), rule.priority));
            let flow = self.live.flow(ends, &path, named);
            // Flows are numbered in order of creation.
            debug_assert_eq!(flow as usize, self.list.len());
            self.list.push(LivePath { from, to, path, flow });
            self.list.len() - 1
        });
        self.path_indices.insert((from, to, rule), path_index);
        path_index
    }

    /// Returns the first rule that matches a packet or the flow it replies to.
    fn rule(&self, from: usize, to: usize, header: &Header) -> Option<usize> {
        self.plan.rules.iter().position(|rule| {
            (rule.ends == [from, to] || rule.ends == [to, from])
                && rule.packets.fits(header.protocol, header.ports, header.dscp)
        })
    }

    /// Returns the destination node of an address.
    fn node_of(&self, target: IpAddr) -> Option<usize> {
        self.by_address.get(&target).copied().or(self.plan.outside)
    }

    /// Sends a packet from a node to its target, or to the router where its path ends early.
    fn route(&mut self, now: Time, from: usize, bytes: Vec<u8>, header: &Header) {
        let target = self.node_of(header.target).filter(|&to| to != from);
        let rule = target.and_then(|to| self.rule(from, to, header));
        let priority = rule.map_or_else(
            || {
                let gate = self.plan.spec.nodes[from].gate;
                gate.map_or(Marking::default(), |gate| gate.marking).priority(header.dscp)
            },
            |rule| self.plan.rules[rule].priority,
        );
        let Some(path_index) = target.and_then(|to| self.path_of(from, to, rule)) else {
            // The first router has no route. A host without any link gets no ICMP message.
            self.counts.unreachable += 1;
            if let Some(path_index) = self.neighbour(from).and_then(|router| self.path_index(from, router)) {
                self.send(now, path_index, bytes, header, priority);
            }
            return;
        };
        let path = &self.list[path_index].path;
        // Private addresses are not routed outside.
        let is_private = path.iter().rev().skip(1).any(|link| self.middle.leads_in(*link));
        if is_private || self.middle.stops(now, &self.plan, path, header) {
            self.counts.stopped += 1;
            return;
        }
        // The first router, behind the first link, decrements the hop limit by one.
        let max = usize::from(header.hops).max(1);
        let small_mtu = |link: &DirectionId| bytes.len() > self.plan.mtus[*link as usize / 2] as usize;
        // The MTU of a host's first link is that of its device.
        let small_mtu = path.iter().skip(1).position(small_mtu).map_or(path.len(), |link| link + 1);
        let translated = path.iter().skip(1).position(|link| self.middle.leads_out(*link));
        let translated = translated.map_or(path.len(), |link| link + 1);
        let stops = small_mtu.min(max).min(translated);
        if stops == path.len() {
            return self.send(now, path_index, bytes, header, priority);
        }
        let router = self.end_of(path[stops - 1]);
        if let Some(path_index) = self.path_index(from, router) {
            self.send(now, path_index, bytes, header, priority);
        }
    }

    /// Returns the node at the end of a link direction.
    fn end_of(&self, direction: DirectionId) -> usize {
        let link = &self.plan.spec.links[direction as usize / 2];
        (if direction.is_multiple_of(2) { link.b } else { link.a }).0 as usize
    }

    fn neighbour(&self, node: usize) -> Option<usize> {
        let node = NodeId(node as u32);
        let link = self.plan.spec.links.iter().find(|link| link.a == node || link.b == node)?;
        Some((if link.a == node { link.b } else { link.a }).0 as usize)
    }

    fn send(&mut self, now: Time, path_index: usize, bytes: Vec<u8>, header: &Header, priority: u8) {
        let LivePath { from, flow, .. } = self.list[path_index];
        let Header { source, target, protocol, ports, .. } = *header;
        let key = Key { flow, addresses: [source, target], protocol, ports };
        let (live, closed) = (&mut self.live, &mut Vec::new());
        let open = self.connections.find(now, key, || live.connect(flow), |number| closed.push(number));
        let connection = open.number;
        let segment = Segment::parse(&bytes, header).filter(|segment| segment.payload > 0);
        let is_again = segment.is_some_and(|segment| {
            let is_new = open.next.is_none_or(|next| is_after(segment.end(), next));
            open.next = if is_new { Some(segment.end()) } else { open.next };
            !is_new
        });
        for &number in closed.iter() {
            live.close(number);
            self.sources.iter_mut().for_each(|sources| sources.forget(number));
            self.ack_delay.iter_mut().for_each(|ack_delay| ack_delay.forget(number));
        }
        // Other sources get CE marks where enabled.
        let may_mark = self.plan.signals_feedback_by_ce && header.ecn.is_capable();
        if let Some(ack_delay) = self.ack_delay.as_mut().filter(|_| segment.is_some() && !may_mark)
            && self.plan.nodes[from].addresses.contains(&source)
            && ack_delay.on_sent(connection, header)
        {
            live.listens(connection);
        }
        let has_gate = self.plan.spec.nodes[from].gate.is_some();
        let verdict = if has_gate && self.plan.nodes[from].addresses.contains(&source) {
            self.gates.on_sent(now, (from, priority), (key, connection), (&bytes, header), live)
        } else {
            GateVerdict::Passes
        };
        if is_again && verdict != GateVerdict::Copy {
            live.resent(flow);
        }
        match verdict {
            GateVerdict::Passes => {
                let head = self.sources.as_ref().and_then(|_| parse_packet_head(&bytes, header));
                let serial = live.enter(connection, priority, header.ecn, bytes);
                if let Some(sources) = &mut self.sources
                    && sources.on_sent(connection, from, header, head, serial)
                {
                    live.listens(connection);
                }
            }
            GateVerdict::Waits if live.hold(connection, priority, header.ecn, bytes) => {
                self.counts.held_at_gates += 1;
            }
            GateVerdict::Waits => self.counts.gate_drops += 1,
            GateVerdict::Copy => self.counts.copies += 1,
        }
    }

    /// Handles a packet at the end of its path.
    fn arrive(&mut self, now: Time, arrival: Arrival) -> Option<Delivery> {
        let Arrival { at, flow, ecn, damaged, mut bytes } = arrival;
        let header = Header::parse(&bytes)?;
        let live_path = &self.list[flow as usize];
        let (node, last) = (live_path.to, live_path.path.last().copied());
        // The last link leads to the node itself, the others to routers before it.
        let routers = live_path.path.len() - 1;
        // A queue may set CE in place of its own mark; a Not-ECT packet must not get it.
        let ecn = if header.ecn.is_capable() || !ecn.is_ce() { ecn } else { Ecn::NotEct };
        if damaged {
            let place = header.transport_offset + (bytes.len() - header.transport_offset) / 2;
            if let Some(byte) = bytes.get_mut(place) {
                *byte ^= 0x10;
            }
        }
        if self.node_of(header.target) != Some(node) {
            rewrite_hops_and_ecn(&mut bytes, header.hops, ecn);
            self.end_before(now, (node, flow), routers, &bytes, &Header { ecn, ..header });
            return None;
        }
        let hops = header.hops.saturating_sub(u8::try_from(routers).unwrap_or(u8::MAX));
        rewrite_hops_and_ecn(&mut bytes, hops, ecn);
        if let Some(last) = last.filter(|last| self.middle.leads_in(*last)) {
            match self.middle.translate_in(now, last, &bytes, &header) {
                Inbound::Local => {}
                Inbound::Stops => {
                    self.counts.stopped += 1;
                    return None;
                }
                Inbound::Goes(mut bytes) => {
                    let inner = Header::parse(&bytes)?;
                    let (hops, ecn) = (hops.saturating_sub(1), inner.ecn);
                    rewrite_hops_and_ecn(&mut bytes, hops, ecn);
                    self.count(flow, &bytes, &inner);
                    self.route(now, node, bytes, &Header { hops, ..inner });
                    return None;
                }
            }
        }
        if self.plan.nodes[node].is_host {
            let payload = header.payload_len(&bytes) as u64;
            self.live.count(flow, payload, bytes.len() as u64 - payload);
            if self.plan.spec.nodes[node].gate.is_some() {
                self.gates.on_received(&bytes, &header, &mut self.live);
            }
            let packet = match &mut self.ack_delay {
                Some(ack_delay) => ack_delay.pass((node, at, bytes), &header),
                None => Some((node, at, bytes)),
            };
            self.counts.waited += u64::from(packet.is_none());
            return packet.map(|(node, at, bytes)| Delivery { node, at, bytes });
        }
        let answer = router_icmp::answer_to_router_packet(&bytes, &header)?;
        self.send_from_router(now, node, answer);
        None
    }

    /// Handles a packet at the router where its path ends early.
    fn end_before(
        &mut self,
        now: Time,
        (node, flow): (usize, u32),
        routers: usize,
        bytes: &[u8],
        header: &Header,
    ) {
        let next = self.node_of(header.target).and_then(|to| self.path_index(node, to));
        let error = match next {
            None => IcmpError::NoRoute,
            Some(_) if usize::from(header.hops) <= routers + 1 => {
                self.counts.expired += 1;
                IcmpError::TimeExceeded
            }
            Some(path_index) => {
                let mtu = self.plan.mtus[self.list[path_index].path[0] as usize / 2];
                let out = self.list[path_index].path[0];
                if bytes.len() <= mtu as usize && self.middle.leads_out(out) {
                    self.count(flow, bytes, header);
                    return self.translate(now, node, (routers, out), bytes, header);
                }
                if header.may_fragment {
                    return self.forward_fragments(now, node, routers, bytes, mtu);
                }
                self.counts.too_big += 1;
                IcmpError::TooBig(mtu)
            }
        };
        let family = usize::from(header.source.is_ipv6());
        if let Some(message) =
            router_icmp::icmp_error_message(self.plan.nodes[node].addresses[family], error, bytes, header)
        {
            self.send_from_router(now, node, message);
        }
    }

    /// Translates a packet that leaves through the NAT of a node by this link.
    fn translate(
        &mut self,
        now: Time,
        node: usize,
        (routers, out): (usize, DirectionId),
        bytes: &[u8],
        header: &Header,
    ) {
        let mut bytes = bytes.to_vec();
        if !self.middle.translate_out(now, &self.plan, out, &mut bytes, header) {
            self.counts.stopped += 1;
            return;
        }
        if let Some(header) = Header::parse(&bytes) {
            let hops = header.hops.saturating_sub(u8::try_from(routers + 1).unwrap_or(u8::MAX));
            rewrite_hops_and_ecn(&mut bytes, hops, header.ecn);
            self.route(now, node, bytes, &Header { hops, ..header });
        }
    }

    /// Counts the delivered bytes of a flow at the point of address translation.
    fn count(&mut self, flow: u32, bytes: &[u8], header: &Header) {
        let payload = header.payload_len(bytes) as u64;
        self.live.count(flow, payload, bytes.len() as u64 - payload);
    }

    /// Fragments a packet at a router and forwards the fragments.
    fn forward_fragments(&mut self, now: Time, node: usize, routers: usize, bytes: &[u8], mtu: u32) {
        for mut piece in fragment_ipv4(bytes, mtu as usize) {
            let Some(header) = Header::parse(&piece) else { continue };
            let hops = header.hops.saturating_sub(u8::try_from(routers + 1).unwrap_or(u8::MAX));
            rewrite_hops_and_ecn(&mut piece, hops, header.ecn);
            self.route(now, node, piece, &Header { hops, ..header });
        }
    }

    /// Sends a packet originated by a router.
    fn send_from_router(&mut self, now: Time, node: usize, bytes: Vec<u8>) {
        self.counts.messages += 1;
        if let Some(header) = Header::parse(&bytes) {
            self.route(now, node, bytes, &header);
        }
    }
}
