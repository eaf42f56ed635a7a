//! Memory estimate of a run: approximate, and conservative. For the dumbbell of ten thousand and of a hundred thousand
//! flows the estimate is up to a third above the measured value.

use super::super::path_properties::{GroupPath, Paths, direction_of_hop, packet_sizes};
use thalweg_catalog::EndpointConfigs;
use thalweg_proto::units::{Duration, Rate};
use thalweg_queue::{DisciplineSpec, Limit};
use thalweg_sim::simulation_spec::{DirectionSpec, Framing, GroupSpec, Spec, TransportSpec, WorkloadSpec};

/// Bytes of a flow's endpoints, timers and statistics.
const FLOW_BYTES: u64 = 1700;
/// Bytes of a group of flows, with its route and results.
const GROUP_BYTES: u64 = 7500;
/// Bytes of one direction of a link, with its statistics and results.
const LINK_BYTES: u64 = 3000;
/// Bytes of one direction of an access link, with its statistics.
const LINE_BYTES: u64 = 300;
/// Bytes of one direction of an access link with random streams.
const RANDOM_BYTES: u64 = 800;
/// Bytes of one direction of an access link that only queues, transmits and delays.
const PLAIN_DIRECTION: u64 = 40;
/// Bytes of a packet in flight, including the sender's record of it.
const PACKET_BYTES: u64 = 100;
/// Bytes of a point of a series.
const POINT_BYTES: u64 = 16;
/// Number of series of a flow: window, in flight, round-trip time, rate, goodput, slow-start threshold.
const SERIES: u64 = 6;
/// Number of series of a link direction, and the number of directions with series.
const LINK_SERIES: u64 = 6;
const MAX_LINK_SERIES_DIRECTIONS: usize = 64;
/// Bytes of a run without flows.
const BASE_BYTES: u64 = 8 << 20;

/// The memory estimate of a run, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Flows, with their first packets and access links.
    pub flows: u64,
    /// Links, with the packets on them.
    pub links: u64,
    /// The link whose packets need most memory.
    pub largest_link: Option<usize>,
    /// Time series.
    pub series: u64,
}

impl Memory {
    /// Returns the total.
    pub fn total(self) -> u64 {
        BASE_BYTES.saturating_add(self.flows).saturating_add(self.links).saturating_add(self.series)
    }
}

/// Estimates the memory of a run of `spec`.
pub fn estimate_memory(spec: &Spec, paths: &Paths) -> Memory {
    let mut flows: u64 = GROUP_BYTES * spec.groups.len() as u64;
    let mut count: u64 = 0;
    // Maximum packets of flows on each link direction, by their windows and the data that they send.
    let mut max = vec![0u64; spec.links.len() * 2];
    let mut max_total = 0u64;
    for (group, path) in spec.groups.iter().zip(&paths.groups) {
        let lines: u64 = group.access.as_ref().map_or(0, |access| {
            let ends = [
                &access.source_forward,
                &access.source_backward,
                &access.sink_forward,
                &access.sink_backward,
            ];
            ends.into_iter().map(access_line).sum()
        });
        // Random host times use a separate link, or the access link.
        let lines = if group.overhead.is_zero() { lines } else { lines + RANDOM_BYTES };
        let rate = path.as_ref().map(|path| fastest_entry(spec, group, path));
        let packets = max_packets(group, rate, spec.duration);
        let each = FLOW_BYTES
            + lines
            + PACKET_BYTES.saturating_mul(first_window(&group.transport).min(packets.max(1)));
        flows = flows.saturating_add(each.saturating_mul(u64::from(group.count)));
        count += u64::from(group.count);
        let packets = packets.saturating_mul(u64::from(group.count));
        max_total = max_total.saturating_add(packets);
        if let Some(path) = path {
            // There are at most as many acknowledgements as packets acknowledged.
            for (&hop, &flows) in path.loads.iter().flatten() {
                let here = (packets as f64 * flows / f64::from(group.count).max(1.0)) as u64;
                max[hop as usize] = max[hop as usize].saturating_add(here);
            }
        }
    }
    let waits = directions_with_queues(spec, paths);
    let mut packets = 0u64;
    let mut largest_link = (0, None);
    for (number, link) in spec.links.iter().enumerate() {
        let largest = paths.largest_packet(number, false).max(paths.largest_packet(number, true));
        let mut here = 0u64;
        for (direction_of_hop, back) in [(&link.forward, false), (&link.backward, true)] {
            let hop = number * 2 + usize::from(back);
            // There are at most as many acknowledgements as packets acknowledged.
            let packet = u64::from(largest.max(40));
            let wire = direction_of_hop
                .nominal_rate()
                .bytes_in(direction_of_hop.mean_delay() + direction_of_hop.jitter)
                .get()
                / packet
                + 1;
            let queue = if waits[hop] { capacity_in_packets(spec, paths, hop) } else { 0 };
            here = here.saturating_add(wire.saturating_add(queue).min(max[hop]));
        }
        packets = packets.saturating_add(here);
        if here > largest_link.0 {
            largest_link = (here, Some(number));
        }
    }
    let links = PACKET_BYTES.saturating_mul(packets.min(max_total));
    let links = links.saturating_add(LINK_BYTES * 2 * spec.links.len() as u64);
    let measured = count.min(u64::from(spec.measure.flows));
    let watched = (2 * spec.links.len()).min(MAX_LINK_SERIES_DIRECTIONS) as u64;
    let points = match (spec.measure.interval, spec.measure.every_event) {
        (_, true) => u64::from(spec.measure.points),
        (Some(interval), false) => {
            let samples = spec.duration.as_picos() / interval.as_picos().max(1) + 1;
            samples.min(u64::from(spec.measure.points))
        }
        (None, false) => 0,
    };
    let series = (measured * SERIES + watched * LINK_SERIES).saturating_mul(points);
    let series = series.saturating_mul(POINT_BYTES);
    Memory { flows, links, largest_link: largest_link.1, series }
}

/// Returns the link directions with queued packets: on each group's forward path, the one with the largest queue among
/// the slowest. Queues before it drain into it, and none builds up behind it. If the paths of several groups share
/// links, it is the one of some group.
fn directions_with_queues(spec: &Spec, paths: &Paths) -> Vec<bool> {
    let mut waits = vec![false; spec.links.len() * 2];
    for path in paths.groups.iter().flatten() {
        let slowest = |hop: &&u32| direction_of_hop(spec, **hop).nominal_rate() <= path.rate;
        let fullest = path
            .forward
            .iter()
            .filter(slowest)
            .max_by_key(|&&hop| capacity_in_packets(spec, paths, hop as usize));
        // Behind a slower access link, queues build up at shared links.
        let fullest = fullest
            .or_else(|| path.forward.iter().min_by_key(|&&hop| direction_of_hop(spec, hop).nominal_rate()));
        if let Some(&hop) = fullest {
            waits[hop as usize] = true;
        }
        if !path.is_single {
            // With several paths, flows may share any of their links.
            path.loads[0].keys().for_each(|&hop| waits[hop as usize] = true);
        }
    }
    waits
}

/// Returns the queue capacity of a direction in packets, limited to 64 bandwidth-delay products.
fn capacity_in_packets(spec: &Spec, paths: &Paths, hop: usize) -> u64 {
    let (number, back) = (hop / 2, !hop.is_multiple_of(2));
    let largest = paths.largest_packet(number, back).max(40);
    let bdp = paths.link_bdp(spec, number, back).get() / u64::from(largest);
    let line = direction_of_hop(spec, hop as u32);
    let queue = super::links::queue_capacity_bytes(&line.queue, largest)
        .map(|queue| queue.get() / u64::from(largest));
    queue.unwrap_or(0).min(bdp.saturating_mul(64))
}

/// Returns the memory of one direction of an access link, in bytes.
fn access_line(line: &DirectionSpec) -> u64 {
    let is_plain = line.queue == DisciplineSpec::fcfs(Limit::Unlimited)
        && line.impairment.is_transparent()
        && line.longest_variation().is_zero()
        && line.schedule.is_empty()
        && line.capacity.is_none()
        && line.framing == Framing::None;
    if is_plain {
        PLAIN_DIRECTION
    } else if super::randomness::random_line(line) {
        RANDOM_BYTES
    } else {
        LINE_BYTES
    }
}

/// Returns the maximum rate at which a flow's packets enter the network.
fn fastest_entry(spec: &Spec, group: &GroupSpec, path: &GroupPath) -> Rate {
    let fastest = |line: &DirectionSpec| {
        let trace = line.capacity.as_ref().map(|trace| trace.mean_rate());
        let scheduled = line.schedule.iter().filter_map(|change| change.rate);
        scheduled.chain(trace).fold(line.rate, Rate::max)
    };
    let access = group.access.as_ref().map(|access| fastest(&access.source_forward));
    let links = path.forward.iter().map(|&hop| fastest(direction_of_hop(spec, hop)));
    // The packets outstanding never exceed those sent over the first link, except those queued there.
    access.or_else(|| links.into_iter().next()).unwrap_or(Rate::MAX)
}

/// Returns the maximum number of packets of a flow of `group` in the network at once, if they enter it at `rate`.
fn max_packets(group: &GroupSpec, rate: Option<Rate>, duration: Duration) -> u64 {
    let (data, _) = packet_sizes(&group.transport);
    let in_time = |rate: Rate, packet: u64| rate.bytes_in(duration).get().div_ceil(packet.max(1)).max(1);
    // Small packets count as empty.
    let small = match &group.workload {
        WorkloadSpec::Bulk | WorkloadSpec::Transfer(_) | WorkloadSpec::Deliver(_) => u64::from(data),
        _ => 40,
    };
    // The initial window leaves at once; then each departed packet releases at most two.
    let sent = rate.map_or(u64::MAX, |rate| in_time(rate, small).saturating_mul(2));
    let sent = sent.saturating_add(first_window(&group.transport));
    let properties = group.transport.properties();
    // Each arrival is a separate connection.
    if group.workload.has_transfers() && properties.is_reliable() {
        return u64::MAX;
    }
    let segment = u64::from(properties.segment().max(1));
    let Some(window) = properties.window() else {
        return match (properties.rates().max, &group.workload) {
            (Some(rate), _) => in_time(rate, small),
            // Only the application's own rate limits these.
            (None, WorkloadSpec::ConstantRate { rate, packet })
            | (None, WorkloadSpec::OnOff { rate: Some(rate), packet, .. }) => {
                in_time(*rate, packet.get().min(segment))
            }
            (None, _) => u64::MAX,
        };
    };
    // Writes may be smaller than segments, so a receive window in bytes does not bound the number of packets.
    let in_small = match &group.transport.endpoint_configs {
        EndpointConfigs::Window(config) => u64::from(config.sender.max_window),
        _ => window,
    };
    match &group.workload {
        WorkloadSpec::RequestResponse { .. } => in_small * 2,
        WorkloadSpec::Transfer(size) => sent.min(window.max(1)).min(size.get().div_ceil(segment).max(1)),
        WorkloadSpec::Bulk => sent.min(window.max(1)),
        _ => sent.min(in_small),
    }
}

/// Returns the number of packets that a flow sends at once at its start.
fn first_window(transport: &TransportSpec) -> u64 {
    (transport.properties().first_window() as u64).clamp(1, 1 << 20)
}
