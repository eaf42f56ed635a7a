//! Phase effects (Floyd and Jacobson 1992): flows that fill a drop-tail queue without any randomness in packet times.

use super::super::diagnostic::Report;
use super::super::path_properties::{GroupPath, direction_of_hop, packet_sizes, service_time};
use super::LintInput;
use super::flow_routes_and_times::max_outstanding_bytes;
use super::randomness::{random_packets, random_workload};
use std::collections::BTreeMap;
use thalweg_proto::units::Duration;
use thalweg_queue::{FcfsConfig, Limit};
use thalweg_sim::shortest_paths::DirectionId;
use thalweg_sim::simulation_spec::{GroupSpec, TransportSpec, WorkloadSpec};

/// Warns of several bulk flows that fill a drop-tail queue without random packet times.
pub(super) fn phase_effects(checked: &LintInput<'_>, report: &mut Report) {
    let spec = checked.spec;
    // The groups for which each direction is the bottleneck.
    let mut bulk: BTreeMap<DirectionId, Vec<usize>> = BTreeMap::new();
    for (number, (group, path)) in spec.groups.iter().zip(&checked.paths.groups).enumerate() {
        let Some(hop) = path.as_ref().and_then(GroupPath::bottleneck_hop) else { continue };
        let is_single = path.as_ref().is_some_and(|path| path.is_single);
        if group.workload == WorkloadSpec::Bulk && is_single && yields_on_drops(&group.transport) {
            bulk.entry(hop).or_default().push(number);
        }
    }
    for (hop, groups) in bulk {
        let line = direction_of_hop(spec, hop);
        let drops_tail =
            line.queue.config::<FcfsConfig>().is_some() && line.queue.limit() != Limit::Unlimited;
        let flows: u64 = groups.iter().map(|&number| u64::from(spec.groups[number].count)).sum();
        let time =
            groups.iter().map(|&number| service_time(line, packet_sizes(&spec.groups[number].transport).0));
        let time = time.max().unwrap_or_default();
        let late = max_host_lateness(checked, hop);
        if !drops_tail
            || flows < 2
            || !fills_queue(checked, hop, &groups)
            || has_random_arrivals(checked, hop)
            || late >= time
        {
            continue;
        }
        let Some(&first) = groups.first() else { continue };
        let name = &spec.links[hop as usize / 2].name;
        let message = if late.is_zero() {
            format!(
                "nothing is random about packets at the drop-tail queue of `{name}`: it may always drop the same flow's"
            )
        } else {
            format!(
                "hosts make packets late by {late} at random, which is less than one takes at the drop-tail queue of `{name}` \
                 ({time}): it may always drop the same flow's"
            )
        };
        let help = format!(
            "`overhead = \"{}\"` in [defaults.flow] (a packet's time there) breaks the phase; \"0 s\" keeps it on purpose",
            rounded_up(time)
        );
        report.warn("scenario.phase", checked.origins.groups[first].table, message).help(help);
    }
}

/// Returns true if the sender slows down on drops: only then the selection of dropped packets matters.
fn yields_on_drops(transport: &TransportSpec) -> bool {
    let properties = transport.properties();
    properties.window().is_some() && properties.rates().agreed.is_none() && !properties.never_shrinks()
}

/// Returns true if the windows of all flows may exceed the capacity of path and queue.
fn fills_queue(checked: &LintInput<'_>, hop: DirectionId, groups: &[usize]) -> bool {
    let spec = checked.spec;
    let windows = groups.iter().filter_map(|&number| max_outstanding_bytes(&spec.groups[number]));
    let max = windows.fold(0_u64, u64::saturating_add);
    let capacity = groups.iter().filter_map(|&number| {
        let path = checked.paths.groups[number].as_ref()?;
        let packet = packet_sizes(&spec.groups[number].transport).0;
        let queue = super::links::queue_capacity_bytes(&direction_of_hop(spec, hop).queue, packet)?;
        Some(path.bdp().get().saturating_add(queue.get()))
    });
    capacity.max().is_some_and(|capacity| max > capacity)
}

/// Returns true if arrival times at a direction are random, or if the scenario explicitly disables randomness.
fn has_random_arrivals(checked: &LintInput<'_>, hop: DirectionId) -> bool {
    let spec = checked.spec;
    let crossing = checked.paths.groups.iter().enumerate().filter_map(|(number, path)| {
        let path = path.as_ref()?;
        (path.forward.contains(&hop) || path.backward.contains(&hop)).then_some((number, path))
    });
    crossing.into_iter().any(|(number, path)| {
        let group = &spec.groups[number];
        let mut links =
            path.forward.iter().chain(path.backward.iter()).map(|&hop| direction_of_hop(spec, hop));
        checked.origins.groups[number].has_explicit_overhead
            || !group.overhead.is_zero()
            || random_workload(&group.workload)
            || links.any(random_packets)
            || has_random_access(group)
    })
}

/// Returns the maximum 99th percentile of host lateness among the flows that cross a direction. Below a packet's
/// transmission time, the order of arrivals does not change.
fn max_host_lateness(checked: &LintInput<'_>, hop: DirectionId) -> Duration {
    let crossing = checked.paths.groups.iter().zip(&checked.spec.groups).filter(|(path, _)| {
        let path = path.as_ref();
        path.is_some_and(|path| path.forward.contains(&hop) || path.backward.contains(&hop))
    });
    let hosts = crossing.filter_map(|(_, group)| group.host.as_ref());
    hosts.map(|host| host.wake_up_latency_p99.saturating_sub(host.wake_up_latency)).max().unwrap_or_default()
}

fn has_random_access(group: &GroupSpec) -> bool {
    group.access.as_ref().is_some_and(|access| {
        [&access.source_forward, &access.source_backward, &access.sink_forward, &access.sink_backward]
            .into_iter()
            .any(random_packets)
    })
}

/// Rounds a time up to one digit.
fn rounded_up(time: Duration) -> Duration {
    let picos = time.as_picos().max(1);
    let unit = 10_u64.pow(picos.ilog10());
    Duration::from_picos(picos.div_ceil(unit) * unit)
}
