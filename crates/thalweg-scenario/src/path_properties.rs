//! Properties of a scenario's paths that are known before it runs: routes, unloaded round-trip times, bandwidth-delay
//! products.

use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_sim::shortest_paths::{DirectionId, FlowPaths, all_paths};
use thalweg_sim::simulation_spec::{
    DirectionSpec, Framing, GroupSpec, NodeId, Processing, Spec, TransportSpec,
};

/// The paths of all groups.
#[derive(Clone, Debug)]
pub struct Paths {
    /// Each group's path; `None` where no route exists.
    pub groups: Vec<Option<GroupPath>>,
    /// The longest unloaded round-trip time among the groups that cross each link; zero where none does.
    link_rtt: Vec<Duration>,
    /// The largest packet over each direction of each link, in bytes; zero if no flow crosses it.
    packet: Vec<u32>,
    /// The link directions that carry data of some flow, not only acknowledgements.
    carries_data: Vec<bool>,
    /// The link directions that are the bottleneck of some flow's data.
    bottleneck: Vec<bool>,
}

/// The path of a flow group. With several node pairs or several paths: the one with the longest round-trip time.
#[derive(Clone, Debug)]
pub struct GroupPath {
    /// The links that data crosses.
    pub forward: Arc<[DirectionId]>,
    /// The links that acknowledgements cross.
    pub backward: Arc<[DirectionId]>,
    /// The unloaded round-trip time: of a full data packet and its acknowledgement on an idle path, with the mean of
    /// random delays.
    pub rtt: Duration,
    /// The bottleneck rate of the data path.
    pub rate: Rate,
    /// The name of the bottleneck link in messages.
    pub bottleneck: String,
    /// The bottleneck as a link direction; `None` if it is the flow's access link.
    bottleneck_hop: Option<DirectionId>,
    /// All flows take this path.
    pub is_single: bool,
    /// The number of flows with data on each link direction, and with acknowledgements on it, assuming even ECMP
    /// choices.
    pub loads: [BTreeMap<DirectionId, f64>; 2],
}

impl GroupPath {
    /// Returns the bandwidth-delay product: the bottleneck rate times the round-trip time.
    pub fn bdp(&self) -> Bytes {
        self.rate.bytes_in(self.rtt)
    }

    /// Returns the slowest link direction on the path, unless the flow's access link is slower.
    pub const fn bottleneck_hop(&self) -> Option<DirectionId> {
        self.bottleneck_hop
    }

    /// Returns the link direction with the highest load from the group, relative to its rate, as the number of flows on
    /// it, its rate and its framing. With a single path, that is the slowest link, which all flows cross.
    pub fn busiest_direction(&self, spec: &Spec, group: &GroupSpec) -> (f64, Rate, Framing) {
        type Line = (f64, Rate, Framing);
        let line = |(&hop, &flows): (&DirectionId, &f64)| {
            let direction = direction_of_hop(spec, hop);
            (flows, direction.nominal_rate(), direction.framing)
        };
        let fuller = |a: &Line, b: &Line| (a.0 / a.1.as_f64()).total_cmp(&(b.0 / b.1.as_f64()));
        let busiest = self.loads[0].iter().map(line).max_by(fuller).filter(|_| !self.is_single);
        busiest.unwrap_or_else(|| {
            let access =
                group.access.iter().flat_map(|access| [&access.source_forward, &access.sink_forward]);
            let slowest = match self.bottleneck_hop {
                Some(hop) => Some(direction_of_hop(spec, hop)),
                None => access.min_by_key(|line| line.nominal_rate()),
            };
            (f64::from(group.count), self.rate, slowest.map_or(Framing::None, |line| line.framing))
        })
    }
}

/// Returns the direction of a hop.
pub fn direction_of_hop(spec: &Spec, hop: DirectionId) -> &DirectionSpec {
    let link = &spec.links[hop as usize / 2];
    if hop.is_multiple_of(2) { &link.forward } else { &link.backward }
}

/// Returns the long-run transmission time of a packet of `size` bytes.
pub fn service_time(direction: &DirectionSpec, size: u32) -> Duration {
    direction.nominal_rate().transmission_time(Bytes::new(direction.framing.on_wire(size)))
}

/// Returns the bytes on the wire of a full data packet and of its acknowledgement.
pub fn packet_sizes(transport: &TransportSpec) -> (u32, u32) {
    (transport.data_packet(transport.properties().segment()), transport.answer_packet())
}

impl Paths {
    /// Finds the paths of all groups.
    pub fn new(spec: &Spec) -> Self {
        let flow_paths = all_paths(spec);
        let mut paths = Self {
            groups: Vec::with_capacity(spec.groups.len()),
            link_rtt: vec![Duration::ZERO; spec.links.len()],
            packet: vec![0; spec.links.len() * 2],
            carries_data: vec![false; spec.links.len() * 2],
            bottleneck: vec![false; spec.links.len() * 2],
        };
        for group in &spec.groups {
            let path = paths.add(spec, group, &flow_paths);
            paths.groups.push(path);
        }
        paths
    }

    /// Adds the flows of a group; returns `None` if some have no route.
    fn add(
        &mut self,
        spec: &Spec,
        group: &GroupSpec,
        flow_paths: &BTreeMap<(NodeId, NodeId), FlowPaths>,
    ) -> Option<GroupPath> {
        let (data, ack) = packet_sizes(&group.transport);
        let mut slowest: Option<GroupPath> = None;
        let mut loads = [Vec::new(), Vec::new()];
        let mut is_single = group.node_pairs().len() == 1;
        for (pair, [from, to]) in group.node_pairs().enumerate() {
            let (there, back) = flow_paths.get(&(from, to)).zip(flow_paths.get(&(to, from)))?;
            let path = measure_path(spec, group, [from, to], &there.path, &back.path);
            is_single &= there.shares.len() == there.path.len() && back.shares.len() == back.path.len();
            let flows = f64::from(group.flows_of_pair(pair));
            let shares =
                [&there.shares[..], if group.control_channel.is_some() { &[] } else { &back.shares }];
            for ((shares, loads), packet) in shares.into_iter().zip(&mut loads).zip([data, ack]) {
                for &(hop, share) in shares {
                    loads.push((hop, flows * share));
                    let hop = hop as usize;
                    self.link_rtt[hop / 2] = self.link_rtt[hop / 2].max(path.rtt);
                    self.packet[hop] = self.packet[hop].max(packet);
                }
            }
            for &(hop, _) in &there.shares {
                self.carries_data[hop as usize] = true;
                self.bottleneck[hop as usize] |= direction_of_hop(spec, hop).nominal_rate() <= path.rate;
            }
            if slowest.as_ref().is_none_or(|slowest| path.rtt > slowest.rtt) {
                slowest = Some(path);
            }
        }
        slowest.map(|path| GroupPath { is_single, loads: loads.map(sum_loads), ..path })
    }

    /// Returns the bandwidth-delay product of a link direction: its rate times the longest unloaded round-trip time of
    /// the flows on the link, or twice the link's delay if there are none.
    pub fn link_bdp(&self, spec: &Spec, link: usize, backward: bool) -> Bytes {
        let Some(link_spec) = spec.links.get(link) else { return Bytes::ZERO };
        let direction = if backward { &link_spec.backward } else { &link_spec.forward };
        let rtt = match self.link_rtt[link] {
            Duration::ZERO => link_spec.forward.mean_delay() + link_spec.backward.mean_delay(),
            rtt => rtt,
        };
        direction.nominal_rate().bytes_in(rtt)
    }

    /// Returns the bandwidth-delay product of a group's access link: its rate times the group's round-trip time.
    pub fn access_bdp(&self, spec: &Spec, group: usize, line: usize) -> Bytes {
        let Some(access) = spec.groups.get(group).and_then(|group| group.access.as_ref()) else {
            return Bytes::ZERO;
        };
        let direction =
            [&access.source_forward, &access.source_backward, &access.sink_forward, &access.sink_backward]
                [line.min(3)];
        let rtt = self.groups.get(group).and_then(Option::as_ref).map_or(Duration::ZERO, |path| path.rtt);
        direction.nominal_rate().bytes_in(rtt)
    }

    /// Returns the largest packet over a link direction, in bytes; zero if there is none.
    pub fn largest_packet(&self, link: usize, backward: bool) -> u32 {
        self.packet.get(link * 2 + usize::from(backward)).copied().unwrap_or(0)
    }

    /// Returns true if a link direction carries data, not only acknowledgements.
    pub fn carries_data(&self, link: usize, backward: bool) -> bool {
        self.carries_data.get(link * 2 + usize::from(backward)).copied().unwrap_or(false)
    }

    /// Returns true if the link direction is the bottleneck of some flow's data.
    pub fn is_bottleneck(&self, link: usize, backward: bool) -> bool {
        self.bottleneck.get(link * 2 + usize::from(backward)).copied().unwrap_or(false)
    }
}

/// Sums the load of each direction over all node pairs.
fn sum_loads(mut loads: Vec<(DirectionId, f64)>) -> BTreeMap<DirectionId, f64> {
    loads.sort_by_key(|&(of, _)| of);
    let of_one = loads.chunk_by(|a, b| a.0 == b.0);
    of_one.map(|loads| (loads[0].0, loads.iter().map(|&(_, load)| load).sum())).collect()
}

/// Returns the unloaded round-trip time of a group's flows between `ends`, over these links.
pub fn unloaded_rtt(
    spec: &Spec,
    group: &GroupSpec,
    ends: [NodeId; 2],
    forward: &[DirectionId],
    backward: &[DirectionId],
) -> Duration {
    measure_path(spec, group, ends, forward, backward).rtt
}

fn measure_path(
    spec: &Spec,
    group: &GroupSpec,
    ends: [NodeId; 2],
    forward: &[DirectionId],
    backward: &[DirectionId],
) -> GroupPath {
    let (data, ack) = packet_sizes(&group.transport);
    let access = group.access.as_ref();
    let one_way = |directions: &mut dyn Iterator<Item = &DirectionSpec>, size: u32| -> Duration {
        directions.map(|direction| direction.mean_delay() + service_time(direction, size)).sum()
    };
    let there = access.iter().flat_map(|access| [&access.source_forward, &access.sink_forward]);
    let mut there = forward.iter().map(|&hop| direction_of_hop(spec, hop)).chain(there);
    let back = access.iter().flat_map(|access| [&access.source_backward, &access.sink_backward]);
    let mut back = backward.iter().map(|&hop| direction_of_hop(spec, hop)).chain(back);
    let answer = group.control_channel.unwrap_or_else(|| one_way(&mut back, ack));
    let rtt = one_way(&mut there, data) + answer + host_processing_time(spec, group, ends, data, ack);

    // Of equally slow lines the first, links before the flow's own.
    let mut lines: Vec<(&DirectionSpec, Option<DirectionId>)> =
        forward.iter().map(|&hop| (direction_of_hop(spec, hop), Some(hop))).collect();
    lines.extend(
        access.iter().flat_map(|access| [(&access.source_forward, None), (&access.sink_forward, None)]),
    );
    let slowest = lines.iter().min_by_key(|(line, _)| line.nominal_rate());
    let (rate, bottleneck_hop) = slowest.map_or((Rate::MAX, None), |(line, hop)| (line.nominal_rate(), *hop));
    let bottleneck = bottleneck_hop
        .map_or_else(|| "the access".to_owned(), |hop| spec.links[hop as usize / 2].name.clone());
    GroupPath {
        forward: forward.into(),
        backward: backward.into(),
        rtt,
        rate,
        bottleneck,
        bottleneck_hop,
        is_single: true,
        loads: [BTreeMap::new(), BTreeMap::new()],
    }
}

/// Returns the processing time of both hosts: each handles the data packet and its acknowledgement once. A thread is
/// woken for each arrival.
fn host_processing_time(spec: &Spec, group: &GroupSpec, ends: [NodeId; 2], data: u32, ack: u32) -> Duration {
    if let Some(host) = &group.host {
        return (host.wake_up_latency + host.call + host.cost(data) + host.cost(ack)) * 2;
    }
    let cost = |host: Processing| host.cost(data) + host.cost(ack);
    match &group.access {
        Some(access) => cost(access.source_processing) + cost(access.sink_processing),
        None => ends.into_iter().map(|node| cost(spec.nodes[node.0 as usize].processing)).sum(),
    }
}
