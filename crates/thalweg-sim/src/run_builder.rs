//! Builds a simulation from a specification.

use crate::components::completion_times::CompletionTimes;
use crate::components::connection_ids::{ConnectionIds, opens_connections};
use crate::components::connections::Connections;
use crate::components::endpoint_thread_model::Thread;
use crate::components::event_prefetch::Lookahead;
use crate::components::flow_pausing_gates::{FlowGates, NO_GATE, NodeGate};
use crate::components::flow_state::{Delays, Flow, Group, MAX_FLOWS_WITH_DELAY, RareFlowState};
use crate::components::flows_and_groups::Traffic;
use crate::components::forwarding_state::{END, EXIT, Network};
use crate::components::host_processor::{Host, Processor};
use crate::components::packet_pool::{NONE, PacketPool};
use crate::components::reading_application::{READ_FLAG, Reader};
use crate::components::router_feedback::MessageRoutes;
use crate::components::run_end::RunEnd;
use crate::components::run_measurements::Measurements;
use crate::components::series_recorders::MAX_WATCHED_LINKS;
use crate::components::transmitter::{PortState, Speed, Transmitter};
use crate::components::transmitter_names::Names;
use crate::components::workload_barrier::Rounds;
use crate::components::workload_state::Workload;
use crate::event_kinds::{EventKind, MAX_ENTITIES};
use crate::event_loop::EventLoop;
use crate::event_queue::Wheel;
use crate::feedback_paths::{FeedbackSource, MessagePath, message_paths};
use crate::measure::Histogram;
use crate::packet_tracing::Tracing;
use crate::route_table::RouteTable;
use crate::shortest_paths::Routes;
use crate::simulation_spec::{
    AccessSpec, Change, DirectionSpec, GroupSpec, LinkSpec, NodeId, Processing, Spec, TransportSpec,
    WorkloadSpec,
};
use crate::spec_error::SpecError;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_catalog::protocol_family::Adjustment;
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_queue::{PeriodicVariationSpec, VariationPeriod};

/// Returns the changes of a periodic variation until the end of the run; `next_period` computes the next one.
fn variation_changes(
    periodic_variation: &PeriodicVariationSpec,
    duration: Duration,
    mut next_period: impl FnMut() -> VariationPeriod,
) -> Vec<Change> {
    let mut changes = Vec::new();
    for number in 1..=duration.as_picos() / periodic_variation.every.as_picos().max(1) {
        let (at, VariationPeriod { rate, delay }) =
            (Time::ZERO + periodic_variation.every * number, next_period());
        let now = if periodic_variation.outage.is_zero() { rate } else { Rate::ZERO };
        changes.push(Change { rate: Some(now), delay: Some(delay), ..Change::at(at) });
        if !periodic_variation.outage.is_zero() {
            changes.push(Change { rate: Some(rate), ..Change::at(at + periodic_variation.outage) });
        }
    }
    changes
}

pub(crate) fn build_run<T: Tracing>(spec: &Spec, tracing: T) -> Result<EventLoop<T>, SpecError> {
    crate::spec_validation::check_spec(spec)?;
    let spec = &*spec.with_failures();
    let mut builder = Builder::new(spec)?;
    for (index, group) in spec.groups.iter().enumerate() {
        builder.add_group(index as u32, group)?;
    }
    builder.finish(tracing)
}

struct Builder<'a> {
    spec: &'a Spec,
    routes: Routes<'a>,
    /// The routes of flows.
    route_table: RouteTable,
    network: Network,
    wheel: Wheel,
    flows: Vec<Flow>,
    groups: Vec<Group>,
    hosts: Vec<Host>,
    gates: Vec<NodeGate>,
    /// Gate of each node.
    node_gates: Vec<u16>,
    transports: Vec<TransportSpec>,
    /// Flows that open connections during the run.
    dynamic_flows: Vec<u32>,
    /// Number of connections that exist from the start, of all other flows.
    initial_connections: u32,
    /// Host of each node with its own processing cost.
    node_hosts: Vec<u32>,
}

impl<'a> Builder<'a> {
    fn new(spec: &'a Spec) -> Result<Self, SpecError> {
        let name = |node: NodeId| spec.nodes[node.0 as usize].name.clone();
        // Allocates the exact capacity: growth by doubling would waste a third.
        let flows = spec.groups.iter().map(|group| group.count as usize).sum();
        let of_flow = |group: &GroupSpec| {
            4 * usize::from(group.access.is_some())
                + 2 * usize::from(group.control_channel.is_some())
                + 2 * usize::from(group.host_delay_links_per_flow() > 0)
        };
        let of_flows: usize = spec.groups.iter().map(|group| of_flow(group) * group.count as usize).sum();
        let mut route_table = RouteTable::new(spec);
        let (of_flows_routes, ecmp_groups) =
            (core::mem::take(&mut route_table.routes), core::mem::take(&mut route_table.ecmp_groups));
        let mut builder = Self {
            spec,
            routes: Routes::new(spec),
            route_table,
            network: Network {
                packets: PacketPool::new(),
                transmitters: Vec::with_capacity(2 * spec.links.len() + of_flows),
                port_states: Vec::new(),
                directions: Vec::new(),
                speeds: Vec::new(),
                routes: of_flows_routes,
                ecmp_groups,
                names: Names::new(spec.seed),
                changes: Vec::new(),
                in_service: BTreeMap::new(),
                out_of_order: BTreeMap::new(),
                out_of_order_count: 0,
                hops: 0,
                dropped: Vec::new(),
                messages: MessageRoutes::default(),
            },
            wheel: Wheel::new(spec.ties),
            flows: Vec::with_capacity(flows),
            groups: Vec::new(),
            hosts: Vec::new(),
            gates: Vec::new(),
            node_gates: vec![NO_GATE; spec.nodes.len()],
            transports: Vec::new(),
            dynamic_flows: Vec::new(),
            initial_connections: 0,
            node_hosts: vec![NONE; spec.nodes.len()],
        };
        for LinkSpec { name: link, a, b, forward, backward, .. } in &spec.links {
            builder.network.names.links.push((link.clone(), name(*a), name(*b)));
            builder.network.names.links.push((link.clone(), name(*b), name(*a)));
            for direction in [forward, backward] {
                let number = builder.add_direction(direction.clone());
                let transmitter = builder.add_transmitter(number)?;
                let interval = direction.feedback.and_then(|feedback| feedback.policy.interval());
                if let Some(interval) = interval {
                    builder.wheel.push(Time::ZERO + interval, EventKind::Router.key(transmitter));
                }
            }
        }
        for (index, node) in spec.nodes.iter().enumerate() {
            builder.node_hosts[index] = builder.add_host(node.processing);
            if let Some(gate) = &node.gate {
                builder.node_gates[index] = builder.gates.len() as u16;
                builder.gates.push(NodeGate::new(&gate.config));
            }
        }
        Ok(builder)
    }

    fn add_direction(&mut self, direction: DirectionSpec) -> u32 {
        self.network.speeds.push(Speed::from_spec(&direction));
        self.network.directions.push(direction);
        self.network.directions.len() as u32 - 1
    }

    fn add_transmitter(&mut self, direction: u32) -> Result<u32, SpecError> {
        let number = self.network.transmitters.len() as u32;
        if number >= MAX_ENTITIES {
            return Err(SpecError::TooMany { what: "links", max: MAX_ENTITIES.into() });
        }
        let spec = &self.network.directions[direction as usize];
        let names = &self.network.names;
        let measured = (number as usize) < 2 * self.spec.links.len();
        let port_state = self.network.port_states.len() as u32;
        let transmitter = Transmitter::new(spec, direction, measured, port_state);
        if transmitter.port_state().is_some() {
            self.network.port_states.push(PortState::new(spec, |purpose| names.stream(purpose, number)));
        }
        self.network.transmitters.push(transmitter);
        let changes = match &spec.periodic_variation {
            Some(periodic_variation) => {
                let mut stream = names.stream("rhythm", number);
                let first = periodic_variation.draw_period(spec.rate, spec.delay, &mut stream);
                let port_state = self
                    .network
                    .port_states
                    .last_mut()
                    .and_then(|port_state| port_state.extra.as_deref_mut());
                if let Some(extra) = port_state {
                    (extra.rate, extra.delay) = (first.rate, first.delay);
                }
                let next_period = || periodic_variation.draw_period(spec.rate, spec.delay, &mut stream);
                let mut changes = variation_changes(periodic_variation, self.spec.duration, next_period);
                changes.extend(spec.schedule.iter().cloned());
                Cow::Owned(changes)
            }
            None => Cow::Borrowed(&spec.schedule),
        };
        for change in changes.iter() {
            let index = self.network.changes.len() as u32;
            if index >= MAX_ENTITIES {
                return Err(SpecError::TooMany { what: "scheduled changes", max: MAX_ENTITIES.into() });
            }
            self.wheel.push(change.at, EventKind::Change.key(index));
            self.network.changes.push((number, change.clone()));
        }
        Ok(number)
    }

    fn add_host(&mut self, processing: Processing) -> u32 {
        if processing.is_free() {
            return NONE;
        }
        self.hosts.push(Host::Processor(Processor::new(processing)));
        self.hosts.len() as u32 - 1
    }

    /// Appends a route and returns its start.
    fn add_route(&mut self, hops: Vec<u32>) -> u32 {
        let start = self.network.routes.len() as u32;
        self.network.routes.extend(hops);
        self.network.routes.push(END);
        start
    }

    fn add_group(&mut self, index: u32, group: &GroupSpec) -> Result<(), SpecError> {
        let no_route = |from: NodeId, to: NodeId| SpecError::NoRoute {
            group: group.name.clone(),
            from: self.spec.nodes[from.0 as usize].name.clone(),
            to: self.spec.nodes[to.0 as usize].name.clone(),
        };
        let mut routes = Vec::new();
        let exits = group.access.is_some();
        for [from, to] in group.node_pairs() {
            let there = self.route_table.starts(from, to, exits).ok_or_else(|| no_route(from, to))?;
            let back = self.route_table.starts(to, from, exits).ok_or_else(|| no_route(to, from))?;
            if group.access.is_none() && from == to {
                return Err(no_route(from, to));
            }
            routes.push((there, back));
        }
        let of_epoch = |epoch: usize| routes.iter().map(move |(there, back)| [there[epoch], back[epoch]]);
        let routes: Arc<[[u32; 2]]> = (0..=self.route_table.changes.len()).flat_map(of_epoch).collect();
        let directions = group.access_with_overhead().map(|access| self.add_access_directions(&access));
        let overhead_links = group.host_delay_links_per_flow();
        let overhead =
            (overhead_links > 0).then(|| self.add_direction(host_overhead_direction(group.overhead)));
        let control =
            group.control_channel.map(|delay| self.add_direction(DirectionSpec::unlimited_rate(delay)));
        let first = self.network.transmitters.len() as u32;
        self.network.names.begin_group(first, &group.name);
        let control_route = control.map(|_| self.add_route(Vec::new()));
        let mut transport = group.transport.clone();
        let gated =
            |node: NodeId| if group.access.is_none() { self.node_gates[node.0 as usize] } else { NO_GATE };
        let gates = [gated(group.from), gated(group.to)];
        if gates != [NO_GATE; 2]
            && let Some(gate) = &self.spec.nodes[group.from.0 as usize].gate
        {
            transport.endpoint_configs.properties_mut().adjust(Adjustment::Pause(gate.pause));
        }
        if group.reading.is_some() {
            transport.endpoint_configs.properties_mut().adjust(Adjustment::Reading);
        }
        if let Some(how) = group.misbehaviour {
            transport.endpoint_configs.properties_mut().adjust(Adjustment::Misbehaviour(how));
        }
        let mut host = group.host;
        if let Some(host) = &mut host {
            transport.endpoint_configs.properties_mut().adjust(Adjustment::HostLateness);
            if transport.properties().needs().spacing {
                host.granularity = Duration::ZERO;
                host.coalescing = Duration::ZERO;
            }
        }
        // Measured for transports without retransmission only.
        let with_jitter = !transport.properties().is_reliable();
        let needs_in_order = transport.properties().needs().order;
        self.transports.push(transport);
        self.groups.push(Group {
            name: group.name.clone(),
            scheme: group.transport.scheme.clone(),
            transport: index,
            priority: group.priority,
            gates,
            routes,
            pairs: group.node_pairs().map(|pair| pair.map(|node| node.0)).collect(),
            epoch: 0,
            control: control_route,
            has_access: group.access.is_some(),
            overhead: (overhead_links > 0).then(|| group.private_links_per_flow() - overhead_links),
            first_flow: self.flows.len() as u32,
            flows: group.count,
            opening: opens_connections(group).then_some(self.dynamic_flows.len() as u32),
            completions: CompletionTimes::default(),
            rounds: match group.workload {
                WorkloadSpec::Rounds { rounds, think, .. } => Rounds::new(rounds, think),
                _ => Rounds::default(),
            },
            delay: Histogram::default(),
            round_trips: Histogram::default(),
        });
        let flows = self.flows.len() as u32..self.flows.len() as u32 + group.count;
        if opens_connections(group) {
            self.dynamic_flows.extend(flows);
        } else {
            self.initial_connections += group.count * group.sending_endpoints_per_flow();
        }
        let mut spread = RandomStream::new(self.spec.seed, &format!("start@{}", group.name), 0);
        for i in 0..group.count {
            let number = self.flows.len() as u32;
            let links = self.network.transmitters.len() as u32;
            let mut hosts = group.nodes_of_flow(i).map(|node| self.node_hosts[node.0 as usize]);
            if let (Some(access), Some(directions)) = (&group.access, &directions) {
                for direction in directions {
                    self.add_transmitter(*direction)?;
                }
                hosts = [access.source_processing, access.sink_processing].map(|work| self.add_host(work));
            }
            if let Some(host) = host {
                let name = format!("host@{}", group.name);
                hosts = [0, 1].map(|end| {
                    let stream = RandomStream::new(self.spec.seed, &name, 2 * u64::from(i) + end);
                    let thread = Thread::new(host, stream).keep_order(needs_in_order);
                    self.hosts.push(Host::Thread(Box::new(thread)));
                    self.hosts.len() as u32 - 1
                });
            }
            if let Some(control) = control {
                let answers = matches!(group.workload, WorkloadSpec::RequestResponse { .. });
                for _ in 0..=u32::from(answers) {
                    self.add_transmitter(control)?;
                }
            }
            if let Some(overhead) = overhead {
                for _ in 0..overhead_links {
                    self.add_transmitter(overhead)?;
                }
            }
            let start = group.start_of(i, &mut spread);
            let seed = self.spec.seed;
            let workload = Workload::new(&group.workload, i, |purpose| {
                RandomStream::new(seed, &format!("{purpose}@{}", group.name), u64::from(i))
            });
            let piece = u64::from(group.transport.properties().segment());
            let reader = group.reading.as_ref().map(|spec| Reader::new(Arc::clone(spec), piece));
            if let Some(at) = reader.as_ref().and_then(Reader::next_timer) {
                self.wheel.push(at, EventKind::Application.key(number | READ_FLAG));
            }
            self.flows.push(Flow {
                workload,
                special: reader.map(|reader| {
                    Box::new(RareFlowState { reader: Some(Box::new(reader)), ..RareFlowState::NONE })
                }),
                delay: (group.count <= MAX_FLOWS_WITH_DELAY).then(|| Box::new(Delays::new(with_jitter))),
                ..Flow::idle(index, links, hosts, start)
            });
            self.wheel.push(start, EventKind::Start.key(number));
            if let Some(stop) = group.stop {
                self.wheel.push(stop.max(start), EventKind::Stop.key(number));
            }
        }
        Ok(())
    }

    /// Adds the routes of feedback from routers to sources.
    fn add_message_routes(&mut self) {
        for MessagePath { path: mut route, has_access, sources } in message_paths(self.spec, &mut self.routes)
        {
            route.extend(has_access.then_some(EXIT));
            let hops = route.len() as u32;
            let start = self.add_route(route);
            for FeedbackSource { queue, group, reply } in sources {
                self.network.messages.add(queue, group, reply, start, hops);
            }
        }
    }

    fn add_access_directions(&mut self, access: &AccessSpec) -> [u32; 4] {
        [&access.source_forward, &access.source_backward, &access.sink_forward, &access.sink_backward]
            .map(|direction| self.add_direction(direction.clone()))
    }

    fn finish<T: Tracing>(mut self, tracing: T) -> Result<EventLoop<T>, SpecError> {
        let spec = self.spec;
        self.add_message_routes();
        let end = Time::ZERO + spec.duration;
        let warmup = spec.warmup.min(spec.duration);
        self.wheel.push(end, EventKind::End.key(0));
        if !warmup.is_zero() {
            self.wheel.push(Time::ZERO + warmup, EventKind::Warm.key(0));
        }
        for (epoch, &at) in (0..).zip(&self.route_table.changes) {
            self.wheel.push(at, EventKind::Reroute.key(epoch));
        }
        let tails = spec.links.iter().flat_map(|link| [link.a, link.b]);
        let link_gates = match self.gates.is_empty() {
            true => Vec::new(),
            false => tails.map(|node| self.node_gates[node.0 as usize]).collect(),
        };
        let ids = ConnectionIds::new(self.initial_connections, self.dynamic_flows);
        let fixed = ids.fixed() as usize;
        let mut simulation = EventLoop {
            now: Time::ZERO,
            ending: RunEnd::default(),
            seed: spec.seed,
            wheel: self.wheel,
            network: self.network,
            connections: Connections::new(ids, fixed, self.flows.len()),
            traffic: Traffic {
                flows: self.flows,
                groups: self.groups,
                transports: self.transports,
                finished_flows: 0,
            },
            hosts: self.hosts,
            gates: FlowGates::new(self.gates, link_gates),
            measurements: Measurements::new(warmup, spec.measure.clone()),
            lookahead: Lookahead::default(),
            boundary: None,
            outside: None,
            tracing,
        };
        simulation.select_series(2 * spec.links.len());
        Ok(simulation)
    }
}

impl<T: Tracing> EventLoop<T> {
    /// Selects the flows and links with series: the first flow of each group, then the second of each, and so on; and
    /// the first links.
    fn select_series(&mut self, core: usize) {
        let Some(interval) = self.measurements.series.interval() else { return };
        let mut chosen = Vec::new();
        let max = self.traffic.groups.iter().map(|group| group.flows).max().unwrap_or(0);
        'rounds: for i in 0..max {
            for group in self.traffic.groups.iter().filter(|group| i < group.flows) {
                if chosen.len() >= self.measurements.series.vacant() {
                    break 'rounds;
                }
                chosen.push(group.first_flow + i);
            }
        }
        chosen.sort_unstable();
        for flow in chosen {
            self.measurements.series.watch_flow(flow);
        }
        for link in 0..core.min(MAX_WATCHED_LINKS) as u32 {
            self.measurements.series.watch_link(link);
            self.network.transmitters[link as usize].watched = self.measurements.series.every_event();
        }
        self.wheel.push(Time::ZERO + interval, EventKind::Sample.key(0));
    }
}

/// Returns a link that models a host's processing of its packets: any number at once, each for a random time, in order.
fn host_overhead_direction(overhead: Duration) -> DirectionSpec {
    DirectionSpec { jitter: overhead, ..DirectionSpec::unlimited_rate(Duration::ZERO) }
}
