//! Flows that compete over different sets of saturated links, and their max-min fair shares.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use thalweg_scenario::{unloaded_rtt, wire_bytes_per_byte};
use thalweg_sim::shortest_paths::{DirectionId, FlowPaths, all_paths};
use thalweg_sim::simulation_spec::{DirectionSpec, Framing, GroupSpec, NodeId, Spec, WorkloadSpec};

/// Backlogged flows that share saturated links, some of them over other links than the rest. Their total goodput does
/// not measure fairness: it is largest when the flows over the most links starve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contention {
    /// The flows, by group and path.
    pub paths: Vec<PathFlows>,
}

/// Flows of a group on one path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathFlows {
    /// The group.
    pub group: String,
    /// Index of the first of these flows in the group, from 0.
    pub first: u32,
    /// Index distance between these flows.
    pub step: u32,
    /// Number of these flows.
    pub flows: u32,
    /// Links on the path that max-min fair sharing saturates.
    pub full_links: Vec<String>,
    /// Max-min fair goodput of each of these flows, in bit/s. Missing if some of the flows do not send all the time.
    pub max_min_bps: Option<f64>,
}

/// Max-min fair goodput of the flows with a known long-run demand.
pub(super) struct MaxMin<'a> {
    pub classes: Vec<Class<'a>>,
    /// Goodput of a flow of each class, in bit/s.
    pub fair_rates_bps: Vec<f64>,
    /// Saturated directions.
    saturated: BTreeSet<DirectionId>,
}

impl<'a> MaxMin<'a> {
    /// Returns the shares in a network; `None` if a path is unknown, or if there are more paths than are analysed. The
    /// window of a flow is the largest that it has in `variants` of the network.
    pub fn from_spec(spec: &'a Spec, variants: &[&Spec]) -> Option<Self> {
        if spec.groups.iter().map(|group| group.node_pairs().len()).sum::<usize>() > MAX_CLASSES {
            return None;
        }
        let classes = flow_classes(spec, variants, &all_paths(spec))?;
        let (fair_rates_bps, saturated) = max_min(spec, &classes);
        Some(Self { classes, fair_rates_bps, saturated })
    }
}

/// Path with its flows.
pub(super) struct Class<'a> {
    pub group: &'a GroupSpec,
    pair: u32,
    flows: f64,
    /// Bits on the wire of each direction per bit of goodput of one flow.
    pub wire_load: Vec<(DirectionId, f64)>,
    /// Goodput limit of a flow other than shared links.
    limit: f64,
    /// The part of it that is the window over the unloaded round-trip time; infinite without a window.
    pub window_limit: f64,
    pub wants_more: bool,
}

impl Contention {
    /// Returns the competition in a network, if its flows compete over different sets of saturated links.
    pub fn from_spec(spec: &Spec) -> Option<Self> {
        Self::from_variants(spec, &[spec])
    }

    /// Returns the same for a network whose flows have other schemes in each of `variants`: windows that limit a flow
    /// under some schemes alone do not count.
    pub fn from_variants(spec: &Spec, variants: &[&Spec]) -> Option<Self> {
        let MaxMin { classes, fair_rates_bps, saturated } = MaxMin::from_spec(spec, variants)?;
        let crossed = |class: &Class<'_>| -> BTreeSet<DirectionId> {
            class.wire_load.iter().map(|(hop, _)| *hop).filter(|hop| saturated.contains(hop)).collect()
        };
        let sets: Vec<BTreeSet<DirectionId>> = classes.iter().map(crossed).collect();
        let wanting =
            || (0..classes.len()).filter(|&class| classes[class].wants_more && !sets[class].is_empty());
        let differs =
            |one: usize, other: usize| sets[one] != sets[other] && !sets[one].is_disjoint(&sets[other]);
        if !wanting().any(|one| wanting().any(|other| differs(one, other))) {
            return None;
        }
        // Queues that serve by priority or weights give other shares.
        let serves_equally = |hop: &DirectionId| !line_of(spec, *hop).queue.depends_on_priority();
        let is_steady = wanting().all(|class| is_steady(spec, classes[class].group))
            && saturated.iter().all(serves_equally);
        let paths = wanting().map(|number| {
            let class = &classes[number];
            PathFlows {
                group: class.group.name.clone(),
                first: class.pair,
                step: class.group.node_pairs().len() as u32,
                flows: class.flows as u32,
                full_links: sets[number]
                    .iter()
                    .map(|hop| spec.links[*hop as usize / 2].name.clone())
                    .collect(),
                max_min_bps: is_steady.then_some(fair_rates_bps[number]),
            }
        });
        Some(Self { paths: paths.collect() })
    }
}

/// Returns true for flows that send during the whole measured time.
pub(super) fn is_steady(spec: &Spec, group: &GroupSpec) -> bool {
    let last_start = group.start + group.spread + group.stagger * u64::from(group.count.saturating_sub(1));
    let measured_from = thalweg_proto::units::Time::ZERO + spec.warmup;
    let end = thalweg_proto::units::Time::ZERO + spec.duration;
    let early_end = thalweg_proto::units::Time::ZERO + spec.duration / START_SPAN_DIVISOR;
    last_start <= measured_from.max(early_end) && group.stop.is_none_or(|stop| stop >= end)
}

/// Returns the flows with a known long-run demand, by group and path; `None` where a path is unknown.
fn flow_classes<'a>(
    spec: &'a Spec,
    variants: &[&Spec],
    routes: &BTreeMap<(NodeId, NodeId), FlowPaths>,
) -> Option<Vec<Class<'a>>> {
    let mut classes = Vec::new();
    for (number, group) in spec.groups.iter().enumerate() {
        let (wants_more, demand) = match &group.workload {
            WorkloadSpec::Bulk => (true, f64::INFINITY),
            WorkloadSpec::ConstantRate { rate, .. } => (false, rate.as_f64()),
            // Other flows carry little in the long run, or an unknown amount.
            _ => continue,
        };
        let on_wire = |line: &DirectionSpec| wire_bytes_per_byte(group, line.framing);
        // A configured rate counts headers.
        let configured_rate_limit = group.transport.properties().rates().max;
        let configured_rate_limit = configured_rate_limit
            .map_or(f64::INFINITY, |rate| rate.as_f64() / wire_bytes_per_byte(group, Framing::None));
        let access = group.access.iter().flat_map(|access| [&access.source_forward, &access.sink_forward]);
        let access_goodput = access.map(|line| line.nominal_rate().as_f64() / on_wire(line));
        let limit = access_goodput.fold(demand.min(configured_rate_limit), f64::min);
        let mut windows = variants.iter().map(|variant| variant.groups.get(number).and_then(largest_window));
        let window = windows.try_fold(0.0, |largest, window| Some(f64::max(largest, window?)));
        for (pair, [from, to]) in (0..).zip(group.node_pairs()) {
            let route = routes.get(&(from, to))?;
            let wire_load =
                route.shares.iter().map(|&(hop, share)| (hop, share * on_wire(line_of(spec, hop))));
            let window_limit = window.zip(routes.get(&(to, from))).and_then(|(bytes, back)| {
                let mut hops = route.shares.iter().chain(&back.shares);
                // A changed delay changes the round-trip time.
                let is_constant = hops.all(|(hop, _)| line_of(spec, *hop).schedule.is_empty());
                let rtt = unloaded_rtt(spec, group, [from, to], &route.path, &back.path);
                is_constant.then(|| bytes * 8.0 / rtt.as_secs_f64())
            });
            let window_limit = window_limit.unwrap_or(f64::INFINITY);
            classes.push(Class {
                group,
                pair,
                flows: f64::from(group.flows_of_pair(pair as usize)),
                wire_load: wire_load.collect(),
                limit: limit.min(window_limit),
                window_limit,
                wants_more: wants_more && configured_rate_limit.is_infinite(),
            });
        }
    }
    Some(classes)
}

/// Returns the largest window of a flow, in bytes; `None` if it has none.
fn largest_window(group: &GroupSpec) -> Option<f64> {
    let properties = group.transport.properties();
    properties.window().map(|segments| segments as f64 * f64::from(properties.segment()))
}

pub(super) fn line_of(spec: &Spec, hop: DirectionId) -> &DirectionSpec {
    let link = &spec.links[hop as usize / 2];
    if hop.is_multiple_of(2) { &link.forward } else { &link.backward }
}

/// Returns the rate that a direction carries in the long run, in bit/s: that of its transmitter, shaper or policer.
fn long_run_capacity(line: &DirectionSpec) -> f64 {
    let rate = line.nominal_rate();
    line.queue.policer().map_or(rate, |policer| rate.min(policer.rate)).as_f64()
}

/// Returns the max-min fair goodput per flow of each class, and the saturated directions. All rates rise together
/// (water-filling) until a direction is full or a flow reaches its limit; the flows stopped by that keep their rates.
fn max_min(spec: &Spec, classes: &[Class<'_>]) -> (Vec<f64>, BTreeSet<DirectionId>) {
    let mut spare_rate: BTreeMap<DirectionId, f64> = BTreeMap::new();
    for (hop, _) in classes.iter().flat_map(|class| &class.wire_load) {
        spare_rate.entry(*hop).or_insert_with(|| long_run_capacity(line_of(spec, *hop)));
    }
    let mut fair_rates_bps = vec![0.0; classes.len()];
    let mut rises: Vec<bool> = classes.iter().map(|class| class.flows > 0.0).collect();
    let mut saturated = BTreeSet::new();
    let mut level = 0.0;
    // Each round stops at least one class.
    for _ in 0..classes.len() {
        let mut slope: BTreeMap<DirectionId, f64> = BTreeMap::new();
        let rising = || classes.iter().zip(&rises).filter(|(_, rises)| **rises).map(|(class, _)| class);
        for class in rising() {
            for (hop, per_bit) in &class.wire_load {
                *slope.entry(*hop).or_default() += per_bit * class.flows;
            }
        }
        let until_full =
            slope.iter().filter(|(_, slope)| **slope > 0.0).map(|(hop, slope)| spare_rate[hop] / slope);
        let until_limit = rising().map(|class| class.limit - level);
        let step = until_full.chain(until_limit).fold(f64::INFINITY, f64::min);
        if !step.is_finite() {
            break;
        }
        level += step.max(0.0);
        for (hop, slope) in &slope {
            if let Some(spare_rate) = spare_rate.get_mut(hop) {
                *spare_rate -= slope * step.max(0.0);
                if *spare_rate <= long_run_capacity(line_of(spec, *hop)) * RELATIVE_TOLERANCE {
                    saturated.insert(*hop);
                }
            }
        }
        for (number, class) in classes.iter().enumerate() {
            let is_full = class.wire_load.iter().any(|(hop, _)| saturated.contains(hop));
            let is_content =
                class.limit.is_finite() && class.limit - level <= class.limit * RELATIVE_TOLERANCE;
            if rises[number] && (is_full || is_content) {
                rises[number] = false;
                fair_rates_bps[number] = level;
            }
        }
    }
    (fair_rates_bps, saturated)
}

/// Maximum number of paths of backlogged flows to analyse.
const MAX_CLASSES: usize = 512;
/// Divisor of the duration: flows that start within the first 1/20 count as present from the start.
const START_SPAN_DIVISOR: u64 = 20;
/// Relative tolerance for rounding errors.
pub(super) const RELATIVE_TOLERANCE: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::test_fixtures;
    use thalweg_proto::units::{Duration, Rate};
    use thalweg_sim::simulation_spec::{LinkSpec, NodeSpec};

    /// Returns a chain of links with these rates, and groups of flows given as (source, sink, flow count).
    fn chain(mbits: &[u64], groups: &[(u32, u32, u32)]) -> Spec {
        let base = test_fixtures::test_spec();
        let link = |(number, mbits): (u32, &u64)| {
            let mut direction = DirectionSpec::unlimited_rate(Duration::from_millis(1));
            direction.rate = Rate::from_mbits_per_sec(*mbits);
            let ends = [NodeId(number), NodeId(number + 1)];
            LinkSpec::new(format!("link{number}"), ends, direction.clone(), direction)
        };
        let group = |(number, (from, to, count)): (usize, &(u32, u32, u32))| {
            let mut group = base.groups[0].clone();
            (group.name, group.from, group.to) = (format!("g{number}"), NodeId(*from), NodeId(*to));
            (group.workload, group.count) = (WorkloadSpec::Bulk, *count);
            group
        };
        Spec {
            nodes: (0..=mbits.len()).map(|number| NodeSpec::new(format!("n{number}"))).collect(),
            links: (0..).zip(mbits).map(link).collect(),
            groups: groups.iter().enumerate().map(group).collect(),
            ..base
        }
    }

    /// Returns the shares in Mbit/s on the wire, and the numbers of saturated links.
    fn shares(spec: &Spec) -> Option<Vec<(f64, usize)>> {
        let packet = 1028.0 / 1000.0;
        let of = |of: &PathFlows| {
            let bps = of.max_min_bps.unwrap() * packet / 1e6;
            ((bps * 1000.0).round() / 1000.0, of.full_links.len())
        };
        Contention::from_spec(spec).map(|found| found.paths.iter().map(of).collect())
    }

    #[test]
    fn a_long_flow_beside_short_ones_is_found_with_its_share() {
        let three = chain(&[20, 20, 20], &[(0, 3, 1), (0, 1, 1), (1, 2, 1), (2, 3, 1)]);
        assert_eq!(shares(&three), Some(vec![(10.0, 3), (10.0, 1), (10.0, 1), (10.0, 1)]));
        // Textbook example: the short flow of the wide link gets what the long flow leaves.
        let uneven = chain(&[10, 30], &[(0, 2, 1), (0, 1, 1), (1, 2, 1)]);
        assert_eq!(shares(&uneven), Some(vec![(5.0, 2), (5.0, 1), (25.0, 1)]));
        let many = chain(&[20, 20], &[(0, 2, 3), (0, 1, 1), (1, 2, 2)]);
        // The first link is saturated when its own flow gets what three at 4 Mbit/s leave.
        assert_eq!(shares(&many), Some(vec![(4.0, 2), (8.0, 1), (4.0, 1)]));
    }

    #[test]
    fn shares_behind_weights_are_not_known() {
        let mut spec = chain(&[20, 20], &[(0, 2, 1), (0, 1, 1), (1, 2, 1)]);
        let weights = thalweg_queue::Weights([50, 1, 1, 1, 1, 1]);
        let config = thalweg_queue::DrrConfig { weights, ..Default::default() };
        spec.links[0].forward.queue =
            thalweg_queue::DisciplineSpec::new(thalweg_queue::Limit::Packets(100), config);
        let found = Contention::from_spec(&spec).unwrap();
        assert!(found.paths.iter().all(|path| path.max_min_bps.is_none()));
    }

    #[test]
    fn flows_over_one_bottleneck_are_none_of_it() {
        assert_eq!(shares(&chain(&[10], &[(0, 1, 2), (0, 1, 1)])), None);
        // All cross the same saturated link; the other links on their paths have spare capacity.
        assert_eq!(shares(&chain(&[100, 10, 100], &[(0, 2, 1), (1, 3, 1)])), None);
        assert_eq!(shares(&chain(&[10, 10], &[(0, 1, 1), (1, 2, 1)])), None);
    }

    #[test]
    fn a_rate_that_is_kept_is_taken_off_first() {
        let mut spec = chain(&[20, 20], &[(0, 2, 1), (0, 1, 1), (1, 2, 1), (1, 2, 1)]);
        let packet = thalweg_proto::units::Bytes::new(1000);
        spec.groups[3].workload = WorkloadSpec::ConstantRate { rate: Rate::from_mbits_per_sec(2), packet };
        let left = 20.0 - 2.0 * 1.028;
        let half = (left / 2.0 * 1000.0_f64).round() / 1000.0;
        let found = shares(&spec).unwrap();
        assert_eq!(found, [(half, 2), (20.0 - half, 1), (half, 1)]);
    }

    /// Of 64 bytes written at a time, 92 are on the wire.
    #[test]
    fn small_writes_are_taken_off_with_their_headers() {
        let mut spec = chain(&[10, 20], &[(0, 2, 1), (0, 1, 1), (1, 2, 2), (0, 1, 4)]);
        let packet = thalweg_proto::units::Bytes::new(64);
        let rate = Rate::from_bits_per_sec(1_000_000);
        spec.groups[3].workload = WorkloadSpec::ConstantRate { rate, packet };
        let half = ((10.0 - 4.0 * 92.0 / 64.0) / 2.0 * 1000.0_f64).round() / 1000.0;
        let rest = ((20.0 - half) / 2.0 * 1000.0_f64).round() / 1000.0;
        assert_eq!(shares(&spec).unwrap(), [(half, 2), (half, 1), (rest, 1)]);
    }

    /// A configured rate of datagrams includes their headers.
    #[test]
    fn a_configured_rate_is_that_on_the_wire() {
        use thalweg_proto::datagram::SourceConfig;
        let mut spec = chain(&[20, 20], &[(0, 2, 1), (0, 1, 1), (1, 2, 1), (1, 2, 1)]);
        let ends = SourceConfig { segment: 1000, header: 28, rate: Some(Rate::from_mbits_per_sec(2)) };
        spec.groups[3].transport = thalweg_sim::simulation_spec::TransportSpec::new("udp", ends, 28, 28);
        assert_eq!(shares(&spec).unwrap(), [(9.0, 2), (11.0, 1), (9.0, 1)]);
    }

    /// A window of two segments over 2.4 ms allows 6.8 Mbit/s on the wire; the flows beside it get the rest of the link.
    #[test]
    fn a_flow_with_a_small_window_leaves_the_rest_to_others() {
        use thalweg_proto::congestion::NewRenoConfig;
        use thalweg_proto::window::{ControllerConfig, EndsConfig, ReceiverConfig, SenderConfig};
        let windowed = |segments: u32| {
            let mut spec = chain(&[20, 20], &[(0, 2, 1), (0, 1, 1), (1, 2, 1)]);
            let controller = ControllerConfig::NewReno(NewRenoConfig {
                initial_window: 10.0,
                initial_ssthresh: 1e9,
                slow_start_exit: Default::default(),
                ecn_beta: None,
                slow_start_beta: None,
            });
            let sender = SenderConfig { segment: 1000, max_window: segments, ..SenderConfig::default() };
            let ends = EndsConfig::new(sender, ReceiverConfig::default(), controller);
            spec.groups[1].transport =
                thalweg_sim::simulation_spec::TransportSpec::new("newreno", ends, 28, 28);
            spec
        };
        assert_eq!(shares(&windowed(1000)), shares(&chain(&[20, 20], &[(0, 2, 1), (0, 1, 1), (1, 2, 1)])));
        // A packet takes 411.2 us, an acknowledgement 11.2 us.
        let limit = 2.0 * 1028.0 * 8.0 / (2.0 + 0.4112 + 0.0112) / 1000.0;
        let spec = windowed(2);
        let classes = MaxMin::from_spec(&spec, &[&spec]).unwrap();
        let wire: Vec<f64> = classes.fair_rates_bps.iter().map(|bps| bps * 1.028 / 1e6).collect();
        assert!((wire[1] - limit).abs() < 1e-6, "{wire:?}, not {limit}");
        // Only the second link is full: there is no contention over several.
        assert!((wire[0] - 10.0).abs() < 1e-6 && (wire[2] - 10.0).abs() < 1e-6, "{wire:?}");
        assert_eq!(shares(&spec), None);
        // Under another scheme the flow has a large window.
        let contention = Contention::from_variants(&spec, &[&spec, &windowed(1000)]).unwrap();
        assert!(contention.paths.iter().all(|of| of.max_min_bps.unwrap() > 9.7e6), "{contention:?}");
    }

    #[test]
    fn without_all_flows_all_the_time_there_are_no_static_shares() {
        let mut spec = chain(&[20, 20], &[(0, 2, 1), (0, 1, 1), (1, 2, 1)]);
        spec.groups[1].start = thalweg_proto::units::Time::ZERO + spec.duration / 2;
        let found = Contention::from_spec(&spec).unwrap();
        assert!(found.paths.iter().all(|of| of.max_min_bps.is_none()));
    }
}
