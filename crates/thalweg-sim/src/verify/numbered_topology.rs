//! Properties of the links and flows of a specification, by the numbers used in records.

use crate::simulation_spec::{DirectionSpec, Framing, GroupSpec, Processing, Spec, WorkloadSpec};
use std::sync::Arc;
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_queue::random_delay::{DrawScope, VariationSpec};
use thalweg_queue::{AckFilter, CapacityTrace, ImpairmentSpec, Limit};

/// A location of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// A node of the specification.
    Core(u32),
    /// Source host of a flow with access links.
    Source(u32),
    /// Sink host of a flow with access links.
    Sink(u32),
}

/// One direction of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link<'a> {
    pub direction: &'a DirectionSpec,
    pub tail: Node,
    pub head: Node,
}

/// Endpoints of a flow, and true for hosts with processing costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowEndpoints {
    pub nodes: [Node; 2],
    pub has_processing_cost: [bool; 2],
}

/// The specification in the form needed by a replay.
#[derive(Clone, Debug)]
pub(super) struct Topology {
    core: Vec<(DirectionSpec, u32, u32)>,
    names: Vec<String>,
    groups: Vec<Group>,
}

#[derive(Clone, Debug)]
struct Group {
    spec: GroupSpec,
    control: Option<DirectionSpec>,
    /// Host overhead as a link, and number of such links of a flow.
    overhead: DirectionSpec,
    overhead_links: u32,
    first_flow: u32,
    first_link: u32,
    links_each: u32,
    has_processing_cost: [bool; 2],
}

impl Topology {
    pub fn new(spec: &Spec) -> Self {
        let spec = &*spec.with_failures();
        let node = |id: u32| spec.nodes.get(id as usize).map_or("?", |node| node.name.as_str());
        let (mut core, mut names) = (Vec::new(), Vec::new());
        for link in &spec.links {
            let ends = (link.a.0, link.b.0);
            for (direction, (a, b)) in [(&link.forward, ends), (&link.backward, (ends.1, ends.0))] {
                core.push((direction.clone(), a, b));
                names.push(format!("link `{}` from {} to {}", link.name, node(a), node(b)));
            }
        }
        let (mut flow, mut link) = (0, core.len() as u32);
        let takes_time = |work: Processing| !work.is_free();
        let mut groups = Vec::new();
        for group in &spec.groups {
            let control = group.control_channel.map(DirectionSpec::unlimited_rate);
            // If both endpoints send data, each acknowledges on its own channel.
            let channels = match (&control, &group.workload) {
                (None, _) => 0,
                (Some(_), WorkloadSpec::RequestResponse { .. }) => 2,
                (Some(_), _) => 1,
            };
            // Host overhead is one link per sending host, after all other links.
            let overhead_links = match (&group.access, group.workload.clone()) {
                _ if group.overhead.is_zero() => 0,
                (Some(_), _) => 0,
                (None, WorkloadSpec::RequestResponse { .. }) => 2,
                (None, _) => 1,
            };
            let mut spec_of_group = group.clone();
            if let Some(access) = &mut spec_of_group.access {
                access.source_forward.add_overhead(group.overhead);
                if matches!(group.workload, WorkloadSpec::RequestResponse { .. }) {
                    access.sink_backward.add_overhead(group.overhead);
                }
            }
            let overhead =
                DirectionSpec { jitter: group.overhead, ..DirectionSpec::unlimited_rate(Duration::ZERO) };
            let links_each = if group.access.is_some() { 4 } else { 0 } + channels + overhead_links;
            let at =
                |node: u32| spec.nodes.get(node as usize).map(|node| node.processing).unwrap_or_default();
            let mut has_processing_cost = [group.host.is_some(); 2];
            for [from, to] in group.node_pairs() {
                let hosts = match &group.access {
                    Some(access) => [access.source_processing, access.sink_processing],
                    None => [at(from.0), at(to.0)],
                };
                has_processing_cost.iter_mut().zip(hosts).for_each(|(work, host)| *work |= takes_time(host));
            }
            let spec = spec_of_group;
            groups.push(Group {
                spec,
                control,
                overhead,
                overhead_links,
                first_flow: flow,
                first_link: link,
                links_each,
                has_processing_cost,
            });
            flow += group.count;
            link += group.count * links_each;
        }
        Self { core, names, groups }
    }

    /// Returns the number of link directions of the specification.
    pub fn core_links(&self) -> usize {
        self.core.len()
    }

    /// Returns true if a host has processing costs.
    pub fn has_processing_hosts(&self) -> bool {
        self.groups.iter().any(|group| group.has_processing_cost[0] || group.has_processing_cost[1])
    }

    /// Returns the name, first flow and number of flows of each group.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = (String, u32, u32)> + '_ {
        self.groups.iter().map(|group| (group.spec.name.clone(), group.first_flow, group.spec.count))
    }

    /// Returns the position of a flow's group.
    pub fn group_of(&self, flow: u32) -> Option<usize> {
        let after = self.groups.partition_point(|group| group.first_flow <= flow);
        self.groups[..after].iter().rposition(|group| group.spec.count > 0)
    }

    /// Returns true if data in order is delivered as soon as it arrives: the application reads everything at once, so
    /// that the receiver has room for all it advertised, and no segment of several packets must be complete.
    pub fn delivers_on_arrival(&self, flow: u32) -> bool {
        let delivers =
            |spec: &GroupSpec| spec.reading.is_none() && !spec.transport.properties().has_segment_counts();
        self.group_of(flow).is_some_and(|group| delivers(&self.groups[group].spec))
    }

    pub fn name(&self, link: u32) -> String {
        self.names.get(link as usize).cloned().unwrap_or_else(|| format!("access link {link}"))
    }

    pub fn link(&self, link: u32) -> Option<Link<'_>> {
        if let Some((direction, a, b)) = self.core.get(link as usize) {
            return Some(Link { direction, tail: Node::Core(*a), head: Node::Core(*b) });
        }
        let after = self.groups.partition_point(|group| group.first_link <= link);
        // Groups without links share their first link number with the next group.
        let group =
            self.groups[..after].iter().rev().find(|group| group.links_each * group.spec.count > 0)?;
        let number = link - group.first_link;
        let flow = group.first_flow + number / group.links_each;
        if number / group.links_each >= group.spec.count {
            return None;
        }
        let [source, sink] = group.ends(flow);
        let [from, to] = group.spec.nodes_of_flow(flow - group.first_flow).map(|node| Node::Core(node.0));
        let access = group.spec.access.as_ref();
        match (access, number % group.links_each) {
            (Some(access), 0) => Some(Link { direction: &access.source_forward, tail: source, head: from }),
            (Some(access), 1) => Some(Link { direction: &access.source_backward, tail: from, head: source }),
            (Some(access), 2) => Some(Link { direction: &access.sink_forward, tail: to, head: sink }),
            (Some(access), 3) => Some(Link { direction: &access.sink_backward, tail: sink, head: to }),
            (_, number) if number >= group.links_each - group.overhead_links => {
                let host =
                    if number - (group.links_each - group.overhead_links) == 0 { source } else { sink };
                Some(Link { direction: &group.overhead, tail: host, head: host })
            }
            (access, number) => {
                let answers = number > if access.is_some() { 4 } else { 0 };
                let (tail, head) = if answers { (source, sink) } else { (sink, source) };
                group.control.as_ref().map(|direction| Link { direction, tail, head })
            }
        }
    }

    pub fn ends(&self, flow: u32) -> Option<FlowEndpoints> {
        let after = self.groups.partition_point(|group| group.first_flow <= flow);
        let group = self.groups[..after].iter().rev().find(|group| group.spec.count > 0)?;
        (flow - group.first_flow < group.spec.count).then(|| FlowEndpoints {
            nodes: group.ends(flow),
            has_processing_cost: group.has_processing_cost,
        })
    }
}

impl Group {
    fn ends(&self, flow: u32) -> [Node; 2] {
        if self.spec.access.is_some() {
            [Node::Source(flow), Node::Sink(flow)]
        } else {
            self.spec.nodes_of_flow(flow - self.first_flow).map(|node| Node::Core(node.0))
        }
    }
}

/// Returns a link's limit, and true if its queue is FIFO.
pub(super) fn limit_and_order(direction: &DirectionSpec) -> (Limit, bool) {
    // A newer acknowledgement may replace an older one.
    let keeps_order = direction.queue.keeps_arrival_order() && direction.ack_filter != AckFilter::Newest;
    (direction.queue.limit(), keeps_order)
}

/// Returns true if packets arrive in the order of transmission.
pub(super) fn keeps_order(direction: &DirectionSpec) -> bool {
    let changes = &direction.schedule;
    // A capacity trace can only be followed if departure times are known.
    let is_known = max_extra_delay(direction).is_zero() || direction.capacity.is_none();
    let periods_alike = direction
        .periodic_variation
        .is_none_or(|periodic_variation| periodic_variation.delay_spread.is_zero());
    let varies_in_order =
        |variation: &VariationSpec| variation.keeps_order && variation.each == DrawScope::Packet;
    max_reorder_delay(&direction.impairment).is_zero()
        && direction.variation.as_deref().is_none_or(varies_in_order)
        && is_known
        && periods_alike
        && changes.iter().all(|change| {
            // After a change to smaller variation, packets may overtake earlier ones.
            let delays = change.delay.is_none() && change.jitter.is_none();
            delays && change.impairment.as_ref().is_none_or(|wire| max_reorder_delay(wire).is_zero())
        })
}

/// Returns the longest extra time of a packet in propagation, without reordering.
pub(super) fn max_extra_delay(direction: &DirectionSpec) -> Duration {
    let batch = direction.aggregation.map_or(Duration::ZERO, |aggregation| aggregation.every);
    direction.longest_variation() + batch
}

/// Returns true if a packet may arrive at any time from the earliest on, because of features that the replay does not
/// follow.
pub(super) fn has_unmodelled_delay(direction: &DirectionSpec) -> bool {
    direction.start_delay.shaper.is_some()
        || !direction.start_delay.sleep.is_empty()
        || direction.periodic_variation.is_some()
        || direction.aggregation.is_some_and(|aggregation| aggregation.packets.is_some())
}

/// Returns the highest rate before any scheduled change.
pub(super) fn max_rate(direction: &DirectionSpec) -> Rate {
    match direction.periodic_variation {
        // One bit more, as the product is rounded.
        Some(periodic_variation) if direction.rate < Rate::MAX => {
            let more = (direction.rate.as_bits_per_sec() as f64 * periodic_variation.rate_spread) as u64;
            Rate::from_bits_per_sec(direction.rate.as_bits_per_sec().saturating_add(more).saturating_add(1))
        }
        _ => direction.rate,
    }
}

/// Returns the longest time for which impairments hold packets back.
pub(super) fn max_reorder_delay(impairment: &ImpairmentSpec) -> Duration {
    impairment
        .reorder
        .filter(|reorder| reorder.probability > 0.0)
        .map_or(Duration::ZERO, |reorder| reorder.delay)
}

/// Returns the transmission time of a packet of `size` bytes at `rate`, rounded up to a picosecond; `None` in an
/// outage.
pub(super) fn service_time(rate: Rate, framing: Framing, size: u32) -> Option<Duration> {
    if rate == Rate::MAX {
        return Some(Duration::ZERO);
    }
    let bits = u128::from(wire_size(framing, size)) * 8 * 1_000_000_000_000;
    let rate = u128::from(rate.as_bits_per_sec());
    let picos = (bits + rate.checked_sub(1)?) / rate;
    Some(Duration::from_picos(u64::try_from(picos).unwrap_or(u64::MAX)))
}

/// Returns the bytes on the wire of a packet of `size` bytes.
pub(super) fn wire_size(framing: Framing, size: u32) -> u64 {
    match framing {
        Framing::None => u64::from(size),
        // The trailer leaves 40 bytes in the last cell; each further cell has 48.
        Framing::AtmAal5 => 53 * (1 + u64::from(size.saturating_sub(40)).div_ceil(48)),
    }
}

/// Capacity used on a link with a capacity trace.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    trace: Arc<CapacityTrace>,
    /// Departure of the last arrived packet.
    last: Time,
    /// Maximum number of bytes left of its delivery opportunity.
    bytes_left: u64,
}

impl Budget {
    pub fn new(trace: &Arc<CapacityTrace>) -> Self {
        Self { trace: Arc::clone(trace), last: Time::ZERO, bytes_left: 0 }
    }

    /// Returns the opportunities up to `time`, inclusive.
    fn opportunities_until(&self, time: Time) -> u64 {
        let (period, picos) = (self.trace.period.as_picos().max(1), time.as_picos());
        let within = Time::from_picos(picos % period);
        let part = self.trace.opportunities.partition_point(|&at| at <= within) as u64;
        picos / period * self.trace.opportunities.len() as u64 + part
    }

    /// Returns the opportunities at exactly `time`.
    fn opportunities_at(&self, time: Time) -> u64 {
        match time.as_picos() {
            0 => self.opportunities_until(time),
            picos => self.opportunities_until(time) - self.opportunities_until(Time::from_picos(picos - 1)),
        }
    }

    /// Returns true if the trace allows a packet of `size` bytes that began at `start` to leave at `left`. The capacity
    /// used by lost packets is unknown: the check may miss violations, but never reports a false one.
    pub fn permits(&mut self, start: Time, left: Time, size: u64) -> bool {
        let bytes = u64::from(self.trace.bytes_per_opportunity);
        if start > self.last {
            self.last = start;
            self.bytes_left = self.opportunities_at(start) * bytes;
        }
        let more = self.opportunities_until(left).saturating_sub(self.opportunities_until(self.last)) * bytes;
        let enough = self.bytes_left + more >= size && left >= self.last && self.opportunities_at(left) > 0;
        let rest = (self.bytes_left + more).saturating_sub(size);
        self.bytes_left = rest.min(self.opportunities_at(left) * bytes);
        self.last = self.last.max(left);
        enough
    }
}
