//! Partitioning of a network, which lets several threads share one run.
//!
//! A run consists of cells: link directions, and the endpoints of flows with their own links and hosts. A cell affects
//! another only by a packet, after at least the delay of a link: this is the lookahead between them. Cells without
//! lookahead between them are merged. All other cells are assigned freely to one partition per thread: the heaviest
//! partition should be light, and partitions should rarely wait for each other. The partitioning never affects results.

mod cell_assignment;

use crate::components::connection_ids::{has_independent_ends, opens_connections};
use crate::feedback_paths::{FeedbackSource, MessagePath, message_paths};
use crate::shortest_paths::{DirectionId, FlowPaths, Routes, all_paths};
use crate::simulation_spec::{AccessSpec, DirectionSpec, GroupSpec, Spec, WorkloadSpec};
use cell_assignment::{Grouping, IMBALANCE_FACTOR};
use std::collections::{BTreeMap, BTreeSet};
use thalweg_catalog::EndpointConfigs;
use thalweg_proto::units::{Bytes, Duration, Rate};

/// Maximum number of partitions.
pub const MAX_PARTS: usize = 64;

/// A partitioned run.
#[derive(Clone, Debug)]
pub(crate) struct Partitioning {
    /// Number of partitions, at least two.
    pub parts: usize,
    /// Partition of each direction of each link of the specification.
    pub links: Vec<u16>,
    /// Partition of each flow's source.
    pub sources: Vec<u16>,
    /// Partition of each flow's sink.
    pub sinks: Vec<u16>,
    /// Minimum picoseconds after which an event in partition i can affect partition j, at `i * parts + j`; also from a
    /// partition to itself, through others.
    pub distance: Vec<u64>,
    /// Maximum lead of a partition over the slowest one, in picoseconds. With unequal delays, partitions would
    /// otherwise take turns, each far ahead and then idle.
    pub stride: u64,
}

/// Speed-up estimate for several threads in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct SpeedupEstimate {
    /// Number of partitions of the run.
    pub partitions: usize,
    /// Speed-up over one thread, from the estimated packets of each partition.
    pub speedup: f64,
    /// The limiting factor.
    pub limiting_factor: LimitingFactor,
}

/// The limiting factor of the speed-up.
#[derive(Clone, Debug, PartialEq)]
pub enum LimitingFactor {
    /// Only the number of threads.
    Threads,
    /// This scheme or discipline is a third-party component: its state may be shared among flows, but is used in one
    /// thread only.
    ExternalComponent(String),
    /// Transfers of this group arrive at random, on connections whose endpoints open and close together.
    RandomTransfers(String),
    /// The heaviest cell has this share of the work: a link direction with everything attached to it without delay.
    Link {
        /// The link and its source and destination nodes.
        name: [String; 3],
        /// The share of all work, from 0 to 1.
        share: f64,
    },
    /// Flows of this group, and perhaps others, without lookahead between them.
    NearbyFlows {
        /// The first group.
        name: String,
        /// The share of all work, from 0 to 1.
        share: f64,
    },
    /// A queue with feedback to sources: this link direction, the links of its messages, and the sources
    /// without lookahead to them, at the router or with random arrivals of transfers.
    Feedback {
        /// The link and its source and destination nodes.
        name: [String; 3],
        /// The share of all work, from 0 to 1.
        share: f64,
    },
    /// A node with a gate, which acts at once on all flows that start there: its links and the sources of these flows.
    NodeGate {
        /// The node.
        name: String,
        /// The share of all work, from 0 to 1.
        share: f64,
    },
    /// Too few events in each lookahead, which is this long: waiting for each other would cost the partitions more than they
    /// gain.
    Lookahead(Duration),
}

/// Returns the speed-up estimates of a run of `spec`, which must be valid, for each of these numbers of threads.
pub fn estimate_speedup<const COUNT: usize>(
    spec: &Spec,
    threads: [usize; COUNT],
) -> [SpeedupEstimate; COUNT] {
    let alone = |limiting_factor| SpeedupEstimate { partitions: 1, speedup: 1.0, limiting_factor };
    if let Some(limiting_factor) = partitioning_obstacle(spec) {
        return threads.map(|_| alone(limiting_factor.clone()));
    }
    let cells = Cells::new(spec);
    threads.map(|threads| {
        let Some(best) = cells.best(threads) else { return alone(cells.limiting_factor_of_one()) };
        let limiting_factor = cells.limiting_factor_of(&best, threads);
        if best.speedup < MIN_SPEEDUP {
            alone(limiting_factor)
        } else {
            SpeedupEstimate { partitions: best.parts, speedup: best.speedup, limiting_factor }
        }
    })
}

/// Returns the default number of threads for a run of `spec`, which must be valid, with `idle` idle processors: several
/// only if the run is long enough for users to wait and clearly gains.
pub fn default_threads(spec: &Spec, idle: usize) -> usize {
    if idle < 2 || max_work(spec) < LARGE_RUN_HOPS || partitioning_obstacle(spec).is_some() {
        return 1;
    }
    let cells = Cells::new(spec);
    let best = cells.best(idle).filter(|best| cells.total >= LARGE_RUN_HOPS && best.speedup >= CLEAR_SPEEDUP);
    best.map_or(1, |best| best.parts)
}

/// Partitions a run of `spec`, which must be valid, for up to `threads` threads. Returns `None` if it cannot be
/// partitioned.
pub(crate) fn partition_run(spec: &Spec, threads: usize) -> Option<Partitioning> {
    if threads < 2 || partitioning_obstacle(spec).is_some() {
        return None;
    }
    let cells = Cells::new(spec);
    let best = cells.best(threads)?;
    Some(cells.partitioning_of(&best))
}

/// Minimum speed-up worth using.
const MIN_SPEEDUP: f64 = 1.05;
/// Speed-up that remains worthwhile if processors are occasionally busy with other work.
const CLEAR_SPEEDUP: f64 = 1.4;
/// Work of a run of about ten seconds on one thread, in hops.
const LARGE_RUN_HOPS: f64 = 1e8;

/// Returns a cheap upper bound of the work of a run of `spec`.
fn max_work(spec: &Spec) -> f64 {
    let lines = || spec.links.iter().flat_map(|link| [&link.forward, &link.backward]);
    let fastest = lines().map(|line| line.rate.as_f64()).fold(0.0, f64::max);
    let of = |group: &GroupSpec| {
        let rate = access_rate(group).min(offered_rate(group, spec.duration)).min(fastest).min(MAX_RATE);
        let hops = (2 * spec.links.len().min(64)) as f64 + OF_SOURCE + OF_SINK + 4.0;
        f64::from(group.count) * rate / packet_bits(group) * hops
    };
    spec.groups.iter().map(of).sum::<f64>() * spec.duration.as_secs_f64()
}

/// Returns the rate of a flow's own links.
fn access_rate(group: &GroupSpec) -> f64 {
    let slower =
        |access: &AccessSpec| access.source_forward.rate.as_f64().min(access.sink_forward.rate.as_f64());
    group.access.as_ref().map_or(f64::MAX, slower)
}

/// Returns the size of a full packet, in bits.
fn packet_bits(group: &GroupSpec) -> f64 {
    let segment = group.transport.properties().segment();
    f64::from(group.transport.data_packet(segment)) * 8.0
}

/// Returns the obstacle to any partitioning of a network, if there is one.
fn partitioning_obstacle(spec: &Spec) -> Option<LimitingFactor> {
    let lines = || spec.links.iter().flat_map(|link| [&link.forward, &link.backward]);
    let access = spec.groups.iter().filter_map(|group| group.access.as_ref());
    let own =
        access.flat_map(|of| [&of.source_forward, &of.source_backward, &of.sink_forward, &of.sink_backward]);
    let discipline = lines().chain(own).find(|line| line.queue.is_external());
    let scheme = spec.groups.iter().find_map(|group| group.transport.endpoint_configs.external_name());
    scheme
        .or(discipline.map(|line| line.queue.name()))
        .map(|name| LimitingFactor::ExternalComponent(name.to_owned()))
}

/// Returns the minimum time of a packet on a link direction.
fn direction_lookahead(direction: &DirectionSpec) -> u64 {
    let changed = direction.schedule.iter().filter_map(|change| change.delay);
    changed.fold(direction.delay, Duration::min).as_picos()
}

/// A path of packets from one cell to another, with its minimum delay.
#[derive(Clone, Copy, Debug)]
struct Edge {
    from: u32,
    to: u32,
    lookahead: u64,
}

/// Disjoint sets of cells that must stay together.
#[derive(Clone, Debug)]
struct Sets(Vec<u32>);

impl Sets {
    fn find(&mut self, mut of: u32) -> u32 {
        while self.0[of as usize] != of {
            let above = self.0[of as usize];
            self.0[of as usize] = self.0[above as usize];
            of = above;
        }
        of
    }

    /// Merges two sets; the lower member represents both.
    fn unite(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}

/// Returns true for a group whose endpoints interact only by packets: the source's application writes independently of
/// the sink.
fn is_separable(group: &GroupSpec) -> bool {
    // A datagram sender does not know when the last packet has arrived.
    let (is_acknowledged, is_plain) = (
        matches!(group.transport.endpoint_configs, EndpointConfigs::Window(_)),
        matches!(group.transport.endpoint_configs, EndpointConfigs::Datagram(_)),
    );
    let is_independent = match &group.workload {
        WorkloadSpec::Poisson { .. } | WorkloadSpec::List(_) if opens_connections(group) => {
            has_independent_ends(&group.transport)
        }
        WorkloadSpec::Bulk
        | WorkloadSpec::Telnet { .. }
        | WorkloadSpec::OnOff { .. }
        | WorkloadSpec::ConstantRate { .. }
        | WorkloadSpec::Poisson { .. }
        | WorkloadSpec::List(_) => is_acknowledged || is_plain && group.stop.is_none(),
        WorkloadSpec::Transfer(_) | WorkloadSpec::Trace(_) => is_acknowledged,
        WorkloadSpec::Deliver(_) | WorkloadSpec::RequestResponse { .. } | WorkloadSpec::Rounds { .. } => {
            false
        }
    };
    // Flows behind access links of their own are numerous and small enough.
    is_independent && group.reading.is_none() && group.access.is_none()
}

/// The cells of a network: link directions, then the sources and then the sinks of its flows.
struct Cells<'a> {
    spec: &'a Spec,
    directions: u32,
    flows: u32,
    sets: Sets,
    edges: Vec<Edge>,
    /// Work of each cell, in packet hops, and packets that leave it.
    work: Vec<f64>,
    leaving: Vec<f64>,
    total: f64,
    /// Queues with feedback to sources.
    telling: BTreeSet<DirectionId>,
}

impl<'a> Cells<'a> {
    fn new(spec: &'a Spec) -> Self {
        let directions = 2 * spec.links.len() as u32;
        let flows: u32 = spec.groups.iter().map(|group| group.count).sum();
        let mut cells = Self {
            spec,
            directions,
            flows,
            sets: Sets((0..directions + 2 * flows).collect()),
            edges: Vec::new(),
            work: vec![0.0; (directions + 2 * flows) as usize],
            leaving: vec![0.0; (directions + 2 * flows) as usize],
            total: 0.0,
            telling: BTreeSet::new(),
        };
        let (paths, none) = (all_paths(spec), FlowPaths::default());
        let of = |from, to| paths.get(&(from, to)).unwrap_or(&none);
        let paths_of = |group: &'a GroupSpec| {
            group.node_pairs().map(|[from, to]| [of(from, to), of(to, from)]).collect()
        };
        let paths: Vec<Vec<[&FlowPaths; 2]>> = spec.groups.iter().map(paths_of).collect();
        cells.join(&paths);
        cells.compute_weights(&paths);
        cells
    }

    fn direction(&self, number: DirectionId) -> &'a DirectionSpec {
        let link = &self.spec.links[number as usize / 2];
        if number.is_multiple_of(2) { &link.forward } else { &link.backward }
    }

    /// Merges cells that must stay together, and finds the edges between the others.
    fn join(&mut self, paths: &[Vec<[&FlowPaths; 2]>]) {
        let mut node_ends: BTreeMap<u32, u32> = BTreeMap::new();
        let mut first = self.directions;
        for (group, paths) in self.spec.groups.iter().zip(paths) {
            for &(before, behind) in paths.iter().flatten().flat_map(|paths| &paths.steps) {
                self.edge(before, behind, direction_lookahead(self.direction(before)));
            }
            for number in 0..group.count {
                let source = first + number;
                let ends = [source, source + self.flows];
                self.join_ends(group, &paths[number as usize % paths.len()], ends);
                for (node, end) in group.nodes_of_flow(number).into_iter().zip(ends) {
                    if group.access.is_none() && !self.spec.nodes[node.0 as usize].processing.is_free() {
                        let first = *node_ends.entry(node.0).or_insert(end);
                        self.sets.unite(first, end);
                    }
                }
                if !self.may_split(group) {
                    self.sets.unite(ends[0], ends[1]);
                }
                if matches!(group.workload, WorkloadSpec::Rounds { .. }) {
                    // The flows wait for each other without a packet between them.
                    self.sets.unite(first, source);
                }
            }
            first += group.count;
        }
        self.join_messages();
        self.join_gates();
        // Flows of many pairs share links.
        self.edges.sort_unstable_by_key(|edge| (edge.from, edge.to, edge.lookahead));
        self.edges.dedup_by_key(|edge| (edge.from, edge.to, edge.lookahead));
        for &Edge { from, to, lookahead } in &self.edges {
            if lookahead == 0 {
                self.sets.unite(from, to);
            }
        }
    }

    /// Returns true if the endpoints of a group may be in different partitions; false if every change is recorded, as a
    /// sender's states are recorded with its receiver's progress.
    fn may_split(&self, group: &GroupSpec) -> bool {
        !self.spec.measure.every_event && is_separable(group)
    }

    fn edge(&mut self, from: u32, to: u32, lookahead: u64) {
        self.edges.push(Edge { from, to, lookahead });
    }

    /// Adds the edges between the endpoints of a flow and its path.
    fn join_ends(&mut self, group: &GroupSpec, paths: &[&FlowPaths; 2], [source, sink]: [u32; 2]) {
        if let Some(delay) = group.control_channel {
            self.edge(sink, source, delay.as_picos());
        }
        let leaving = group.access.as_ref().map(|access| [&access.source_forward, &access.sink_backward]);
        for (side, (paths, [from, to])) in paths.iter().zip([[source, sink], [sink, source]]).enumerate() {
            for &first in &paths.first {
                match leaving {
                    Some(leaving) => self.edge(from, first, direction_lookahead(leaving[side])),
                    // Endpoints send into the network without delay.
                    None => self.sets.unite(from, first),
                }
            }
            for &last in &paths.last {
                self.edge(last, to, direction_lookahead(self.direction(last)));
            }
            for &(of, _) in &paths.shares {
                if self.direction(of).ever_varies() {
                    // The delay may differ per flow.
                    self.sets.unite(from, of);
                }
            }
        }
    }

    /// Adds the edges of feedback messages from queues to sources.
    fn join_messages(&mut self) {
        let spec = self.spec;
        for MessagePath { path, sources, .. } in message_paths(spec, &mut Routes::new(spec)) {
            for pair in path.windows(2) {
                self.edge(pair[0], pair[1], direction_lookahead(self.direction(pair[0])));
            }
            for FeedbackSource { queue, group, reply } in sources {
                self.telling.insert(queue);
                path.first().into_iter().for_each(|&first| self.sets.unite(queue, first));
                let before = spec.groups[..group as usize].iter().map(|group| group.count).sum::<u32>();
                let sources = self.directions + before + if reply { self.flows } else { 0 };
                let group = &spec.groups[group as usize];
                for source in sources..sources + group.count {
                    // A source behind an access link includes that link.
                    match path.last() {
                        Some(&last) => self.edge(last, source, direction_lookahead(self.direction(last))),
                        None => self.sets.unite(queue, source),
                    }
                    if opens_connections(group) {
                        // The router must know at once that a transfer has ended.
                        self.sets.unite(queue, source);
                    }
                    for &of in &path {
                        // As on the paths of the flow's own packets.
                        if self.direction(of).ever_varies() {
                            self.sets.unite(source, of);
                        }
                    }
                }
            }
        }
    }

    /// Merges each gate with the links that leave its node, whose drops it observes, and with the flows that start
    /// there.
    fn join_gates(&mut self) {
        let mut first: BTreeMap<u32, DirectionId> = BTreeMap::new();
        for of in 0..self.directions {
            let node = self.tail(of);
            if self.has_gate(node) {
                let first = *first.entry(node).or_insert(of);
                self.sets.unite(first, of);
            }
        }
    }

    fn has_gate(&self, node: u32) -> bool {
        self.spec.nodes[node as usize].gate.is_some()
    }

    /// Returns the source node of a direction.
    fn tail(&self, direction: DirectionId) -> u32 {
        let link = &self.spec.links[direction as usize / 2];
        if direction.is_multiple_of(2) { link.a.0 } else { link.b.0 }
    }

    /// Estimates the work: each flow sends at its share of its bottleneck, up to its demand.
    fn compute_weights(&mut self, paths: &[Vec<[&FlowPaths; 2]>]) {
        let mut crossing = vec![0.0; self.directions as usize];
        for (group, paths) in self.spec.groups.iter().zip(paths) {
            for (pair, [there, _]) in paths.iter().enumerate() {
                let flows = f64::from(group.flows_of_pair(pair));
                there.shares.iter().for_each(|&(of, share)| crossing[of as usize] += flows * share);
            }
        }
        let mut flow = self.directions as usize;
        for (group, paths) in self.spec.groups.iter().zip(paths) {
            let max_rate = access_rate(group).min(offered_rate(group, self.spec.duration)).min(MAX_RATE);
            let packet = packet_bits(group);
            let lines = if group.access.is_some() { 2.0 } else { 0.0 };
            for (pair, paths) in paths.iter().enumerate() {
                let share = |&(of, share): &(DirectionId, f64)| {
                    self.direction(of).rate.as_f64() / crossing[of as usize].max(1.0) / share.max(1e-9)
                };
                let bottleneck = paths[0].shares.iter().map(share).fold(f64::MAX, f64::min);
                let packets = bottleneck.min(max_rate) / packet * self.spec.duration.as_secs_f64();
                for number in (pair..group.count as usize).step_by(group.node_pairs().len()) {
                    let ends = [(flow, OF_SOURCE, 1.0), (flow + self.flows as usize, OF_SINK, OF_ANSWER)];
                    for (first, of_end, sent) in ends {
                        self.work[first + number] = packets * (of_end + lines);
                        self.leaving[first + number] = packets * sent;
                    }
                }
                let flows = f64::from(group.flows_of_pair(pair));
                for (paths, of_packet) in paths.iter().zip([1.0, OF_ANSWER]) {
                    for &(of, share) in &paths.shares {
                        self.work[of as usize] += packets * of_packet * flows * share;
                    }
                }
            }
            flow += group.count as usize;
        }
        // A hop is a departing packet.
        let directions = self.directions as usize;
        self.leaving[..directions].copy_from_slice(&self.work[..directions]);
        self.total = self.work.iter().sum();
    }

    /// Describes the heaviest cell; `is_there` returns true for its members.
    fn name(&self, cell: u32, share: f64, mut is_there: impl FnMut(u32) -> bool) -> LimitingFactor {
        if let Some(&queue) = self.telling.iter().find(|&&queue| is_there(queue)) {
            return LimitingFactor::Feedback { name: self.name_of(queue), share };
        }
        let gated = (0..self.directions).find(|&of| self.has_gate(self.tail(of)) && is_there(of));
        if let Some(of) = gated {
            return LimitingFactor::NodeGate { name: self.node(self.tail(of)), share };
        }
        if let Some(end) = cell.checked_sub(self.directions) {
            let mut behind = end % self.flows;
            let of = self.spec.groups.iter().find(|group| {
                let is_of = behind < group.count;
                behind = behind.saturating_sub(group.count);
                is_of
            });
            return LimitingFactor::NearbyFlows {
                name: of.map_or_else(String::new, |group| group.name.clone()),
                share,
            };
        }
        LimitingFactor::Link { name: self.name_of(cell), share }
    }

    /// Returns the name of a direction's link, of its source node and of its destination node.
    fn name_of(&self, direction: DirectionId) -> [String; 3] {
        let [from, to] = [direction, direction ^ 1].map(|of| self.node(self.tail(of)));
        [self.spec.links[direction as usize / 2].name.clone(), from, to]
    }

    fn node(&self, number: u32) -> String {
        self.spec.nodes[number as usize].name.clone()
    }

    /// Returns the first group of random transfers with inseparable endpoints that has a flow whose source satisfies
    /// `is_there`.
    fn tied(&self, is_there: impl Fn(usize) -> bool) -> Option<LimitingFactor> {
        let mut source = self.directions as usize;
        let group = self.spec.groups.iter().find(|group| {
            let mut flows = source..source + group.count as usize;
            source = flows.end;
            opens_connections(group)
                && group.access.is_none()
                && !self.may_split(group)
                && flows.any(&is_there)
        })?;
        Some(LimitingFactor::RandomTransfers(group.name.clone()))
    }

    /// Returns the reason why there is only one partition.
    fn limiting_factor_of_one(&self) -> LimitingFactor {
        if let Some(bound) = self.tied(|_| true) {
            return bound;
        }
        let mut sets = self.sets.clone();
        let mut work = vec![0.0; self.work.len()];
        for (of, more) in (0..).zip(&self.work) {
            work[sets.find(of) as usize] += more;
        }
        let heaviest = (0..work.len() as u32).max_by(|a, b| work[*a as usize].total_cmp(&work[*b as usize]));
        // Without traffic no cell is the heaviest.
        heaviest.filter(|_| self.total > 0.0).map_or(LimitingFactor::Threads, |cell| {
            self.name(cell, work[cell as usize] / self.total, |of| sets.find(of) == cell)
        })
    }

    fn limiting_factor_of(&self, best: &Grouping, threads: usize) -> LimitingFactor {
        let (cell, share) = best.heaviest;
        if best.speedup * IMBALANCE_FACTOR >= 0.75 * threads as f64 {
            LimitingFactor::Threads
        } else if best.speedup * share < 0.5 {
            LimitingFactor::Lookahead(Duration::from_picos(best.lookahead))
        } else {
            let part = best.part[cell as usize];
            self.tied(|source| best.part[source] == part)
                .unwrap_or_else(|| self.name(cell, share, |of| best.roots[of as usize] == cell))
        }
    }
}

/// Returns the offered rate of a flow's applications, if known.
fn offered_rate(group: &GroupSpec, duration: Duration) -> f64 {
    let per_time = |bytes: f64, time: Duration| bytes * 8.0 / time.as_secs_f64().max(f64::MIN_POSITIVE);
    match &group.workload {
        WorkloadSpec::Transfer(size) | WorkloadSpec::Deliver(size) => per_time(size.get() as f64, duration),
        WorkloadSpec::Telnet { packet, gap } => per_time(packet.get() as f64, *gap),
        WorkloadSpec::ConstantRate { rate, .. } => rate.as_f64(),
        WorkloadSpec::OnOff { on, off, rate, .. } => {
            let share = on.as_secs_f64() / (*on + *off).as_secs_f64().max(f64::MIN_POSITIVE);
            rate.unwrap_or(Rate::MAX).as_f64() * share
        }
        WorkloadSpec::Poisson { gap, size } => per_time(size.mean(), *gap),
        WorkloadSpec::List(list) => {
            let bytes: f64 = list.all().iter().map(|(_, size)| size.get() as f64).sum();
            per_time(bytes / f64::from(list.flows().max(1)), duration)
        }
        WorkloadSpec::Trace(writes) => {
            let bytes: Bytes = writes.iter().fold(Bytes::ZERO, |sum, (_, size)| sum + *size);
            per_time(bytes.get() as f64, duration)
        }
        WorkloadSpec::Bulk | WorkloadSpec::RequestResponse { .. } | WorkloadSpec::Rounds { .. } => f64::MAX,
    }
}

/// Upper bound of sending rates, for links without a rate limit.
const MAX_RATE: f64 = 1e11;
/// Work of a hop of an answer, in packet hops: not every packet is answered.
const OF_ANSWER: f64 = 0.7;
/// Work of a source for a packet and its acknowledgement, in hops.
const OF_SOURCE: f64 = 3.0;
/// Work of a sink for a packet and its acknowledgement, in hops.
const OF_SINK: f64 = 2.0;
