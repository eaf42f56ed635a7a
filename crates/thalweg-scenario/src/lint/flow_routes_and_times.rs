//! Checks of the routes, times and windows of flows.

use super::super::diagnostic::Report;
use super::super::path_properties::{GroupPath, direction_of_hop, packet_sizes};
use super::super::wire_load::packet_bytes;
use super::LintInput;
use super::queue_depth_and_loss::round_to_four_significant_digits;
use std::collections::BTreeMap;
use thalweg_catalog::protocol_family::ReceiveWindow;
use thalweg_proto::units::{Bytes, Duration, Time};
use thalweg_sim::shortest_paths::{DirectionId, shortest_path};
use thalweg_sim::simulation_spec::{GroupSpec, WorkloadSpec};

/// Rejects flows between disconnected nodes.
pub(super) fn disconnected_flows(checked: &LintInput<'_>, report: &mut Report) {
    let spec = checked.spec;
    for ((group, origin), path) in spec.groups.iter().zip(&checked.origins.groups).zip(&checked.paths.groups)
    {
        if path.is_none() {
            let name = |node: thalweg_sim::simulation_spec::NodeId| &spec.nodes[node.0 as usize].name;
            let is_disconnected = |[from, to]: &[thalweg_sim::simulation_spec::NodeId; 2]| {
                let pairs = [(*from, *to), (*to, *from)];
                pairs.into_iter().any(|(from, to)| shortest_path(spec, from, to).is_none())
            };
            let [from, to] =
                group.node_pairs().find(is_disconnected).unwrap_or([group.from, group.to]).map(name);
            report
                .error("scenario.route", origin.table, format!("no route leads from `{from}` to `{to}`"))
                .help("the network is not connected");
        }
    }
}

/// Warns of warm-up, start and stop times that leave nothing to measure.
pub(super) fn empty_measurement_times(checked: &LintInput<'_>, report: &mut Report) {
    let (spec, origins) = (checked.spec, checked.origins);
    let end = Time::ZERO + spec.duration;
    if spec.warmup >= spec.duration {
        let span = origins.warmup.unwrap_or(origins.file_span);
        let message =
            format!("the warm-up ({}) is not shorter than the run ({})", spec.warmup, spec.duration);
        report.warn("scenario.warmup", span, message).help("nothing is counted");
    }
    if spec.groups.is_empty() {
        report.warn("scenario.empty", origins.file_span, "the scenario has no flows").help("add a [[flow]]");
    }
    for (group, origin) in spec.groups.iter().zip(&origins.groups) {
        let name = &group.name;
        let last = group.start + group.stagger * u64::from(group.count - 1);
        if group.start >= end {
            let message =
                format!("`{name}` starts at {}, but the run ends at {}", group.start, spec.duration);
            report.warn("scenario.never-starts", origin.start, message);
        } else if last >= end {
            let message =
                format!("the last flow of `{name}` would start at {last}, after the run ({})", spec.duration);
            report.warn("scenario.never-starts", origin.start, message);
        }
        let is_late = |(at, _): &&(Duration, Bytes)| group.start + *at >= end;
        let listed = match &group.workload {
            WorkloadSpec::List(list) => {
                let all = || (0..list.flows()).flat_map(|flow| list.transfers_of(flow));
                Some((all().filter(is_late).count(), all().count(), "transfers", "start"))
            }
            WorkloadSpec::Trace(writes) => {
                Some((writes.iter().filter(is_late).count(), writes.len(), "writes", "are"))
            }
            _ => None,
        };
        if let Some((late, count, what, verb)) = listed
            && group.start < end
            && late > 0
        {
            let message =
                format!("{late} of {count} {what} of `{name}` {verb} after the run ({})", spec.duration);
            // A run may be the beginning of a long list.
            if late * 2 >= count {
                report
                    .warn("scenario.never-starts", origin.table, message)
                    .help("times without a unit are in seconds from the flow's start");
            } else {
                report.note("scenario.never-starts", origin.table, message);
            }
        }
        if let Some(stop) = group.stop.filter(|&stop| stop <= group.start) {
            let message = format!("`{name}` stops at {stop}, before it starts ({})", group.start);
            report.warn("scenario.never-starts", origin.stop, message);
        }
    }
}

/// Suggests a warm-up for flows that fill the path, if none is set, and names flows of a group that start long after it:
/// goodput, shares and Jain's index cover the same time for all flows.
pub(super) fn counted_starts(checked: &LintInput<'_>, report: &mut Report) {
    let spec = checked.spec;
    let end = Time::ZERO + spec.duration;
    let bulk = || {
        let groups = spec.groups.iter().zip(&checked.origins.groups);
        groups.filter(|(group, _)| group.workload == WorkloadSpec::Bulk && group.start < end)
    };
    let last_start = |group: &GroupSpec| {
        let last = group.start + group.spread + group.stagger * u64::from(group.count - 1);
        last.min(end).since(Time::ZERO)
    };
    let (Some((group, origin)), Some((last_group, last_origin))) =
        (bulk().next(), bulk().max_by_key(|(group, _)| last_start(group)))
    else {
        return;
    };
    let last = last_start(last_group);
    // A short run keeps most of its time for measurement.
    let settled = last + ((spec.duration - last) / 4).min(Duration::from_secs(5));
    let help = format!(
        "means of a run without end are those after its start: set `warmup = \"{}\"`",
        round_to_four_significant_digits(settled)
    );
    if checked.origins.warmup.is_none() && spec.warmup.is_zero() {
        let message = format!("the start of `{}` is counted, as there is no `warmup`", group.name);
        report
            .warn("scenario.warmup", origin.table, message)
            .help(format!("{help}; \"0 s\" counts all on purpose"));
        return;
    }
    // Groups that start at different times do so on purpose; flows of one group are compared with each other.
    let late = last.saturating_sub(spec.warmup);
    let counted = spec.duration.saturating_sub(spec.warmup);
    if !last_group.stagger.is_zero() && !spec.warmup.is_zero() && late > counted / 10 && late < counted {
        let message = format!(
            "flows of `{}` start up to {late} after the warm-up: goodput, shares and Jain's index count the time before as idle",
            last_group.name
        );
        report.note("scenario.warmup", last_origin.table, message).help(help);
    }
}

/// Warns of windows that together cannot fill the path.
pub(super) fn too_small_windows(checked: &LintInput<'_>, report: &mut Report) {
    let spec = checked.spec;
    // For each link direction: the sum of the windows of all its flows; `None` if some are not limited by windows.
    let mut together: BTreeMap<u32, Option<u64>> = BTreeMap::new();
    for (group, path) in spec.groups.iter().zip(&checked.paths.groups) {
        let Some(hop) = path.as_ref().filter(|path| path.is_single).and_then(GroupPath::bottleneck_hop)
        else {
            continue;
        };
        let sum = together.entry(hop).or_insert(Some(0));
        *sum = sum.zip(max_outstanding_bytes(group)).map(|(sum, window)| sum.saturating_add(window));
    }
    for (origin, path) in checked.origins.groups.iter().zip(&checked.paths.groups) {
        let Some(path) = path else { continue };
        let Some(hop) = path.bottleneck_hop() else { continue };
        let bdp = path.bdp();
        if let Some(Some(sum)) = together.get(&hop)
            && *sum < bdp.get()
        {
            let message = format!(
                "the windows over `{}` add up to {}, {:.0} % of the bandwidth-delay product ({})",
                path.bottleneck,
                super::links::round_to_three_significant_digits(Bytes::new(*sum)),
                *sum as f64 / bdp.get() as f64 * 100.0,
                super::links::round_to_three_significant_digits(bdp)
            );
            report
                .warn("scenario.window", origin.scheme, message)
                .help("the flows cannot fill the path; see `max-window` and `receive-window`");
            together.insert(hop, None); // Warn once per direction.
        }
    }
}

/// Warns of windows that do not shrink on drops and exceed the capacity of path and queue.
pub(super) fn unyielding_windows(checked: &LintInput<'_>, report: &mut Report) {
    let spec = checked.spec;
    // For each link direction: the sum of its windows that do not shrink, and the largest with its group.
    let mut together: BTreeMap<DirectionId, (u64, (u64, usize))> = BTreeMap::new();
    for (number, (group, path)) in spec.groups.iter().zip(&checked.paths.groups).enumerate() {
        let Some(hop) = path.as_ref().filter(|path| path.is_single).and_then(GroupPath::bottleneck_hop)
        else {
            continue;
        };
        let Some(mut window) =
            max_outstanding_bytes(group).filter(|_| group.transport.properties().never_shrinks())
        else {
            continue;
        };
        if let WorkloadSpec::Transfer(all) | WorkloadSpec::Deliver(all) = &group.workload {
            window = window.min(packet_bytes(&group.transport, *all).saturating_mul(u64::from(group.count)));
        }
        let entry = together.entry(hop).or_default();
        *entry = (entry.0.saturating_add(window), entry.1.max((window, number)));
    }
    for (hop, (sum, (_, number))) in together {
        let (group, origin) = (&spec.groups[number], &checked.origins.groups[number]);
        let Some(path) = &checked.paths.groups[number] else { continue };
        let queue = &direction_of_hop(spec, hop).queue;
        let Some(queue) = super::links::queue_capacity_bytes(queue, packet_sizes(&group.transport).0) else {
            continue;
        };
        let path_capacity = path.bdp().get().saturating_add(queue.get());
        if sum > path_capacity {
            let about = |bytes| super::links::round_to_three_significant_digits(Bytes::new(bytes));
            let message = format!(
                "the windows over `{}` add up to {}, but its path and queue hold {}",
                path.bottleneck,
                about(sum),
                about(path_capacity)
            );
            let help = format!(
                "the excess is dropped and retransmitted: `{}` does not reduce its rate on loss",
                group.transport.scheme
            );
            report.warn("scenario.window", origin.scheme, message).help(help);
        }
    }
}

/// Returns the maximum outstanding bytes of a group's flows, on the wire; `None` for flows that are not limited by
/// windows, or not meant to fill the path.
pub(super) fn max_outstanding_bytes(group: &GroupSpec) -> Option<u64> {
    if !matches!(group.workload, WorkloadSpec::Bulk | WorkloadSpec::Transfer(_) | WorkloadSpec::Deliver(_)) {
        return None;
    }
    let packets = group.transport.properties().window()?;
    let bytes = packets.saturating_mul(u64::from(packet_sizes(&group.transport).0));
    Some(bytes.saturating_mul(u64::from(group.count)))
}

/// Warns of slow sink applications without effect: their receive windows are too large, or the run is too short.
pub(super) fn ineffective_readers(checked: &LintInput<'_>, report: &mut Report) {
    let spec = checked.spec;
    for ((group, origin), path) in spec.groups.iter().zip(&checked.origins.groups).zip(&checked.paths.groups)
    {
        let Some(reading) = &group.reading else { continue };
        let end = Time::ZERO + spec.duration;
        if let Some(late) = reading.changes.iter().find(|change| change.at >= end) {
            let message = format!(
                "the application of `{}` changes its reading rate at {}, after the end of the run ({})",
                group.name, late.at, spec.duration
            );
            report.warn("scenario.schedule", origin.reading, message);
        }
        let ReceiveWindow::Bytes(window) = group.transport.properties().receive_window() else { continue };
        let Some(path) = path else { continue };
        let max = path.rate.bytes_in(spec.duration);
        if window >= max.get() {
            let message = format!(
                "`{}` has a receive window of {}, which {} at {} cannot fill",
                group.name,
                super::links::round_to_three_significant_digits(Bytes::new(window)),
                spec.duration,
                path.rate
            );
            report
                .warn("scenario.window", origin.scheme, message)
                .help("the sender will never notice the slow application; see `receive-window`");
        }
    }
}
