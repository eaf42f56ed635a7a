//! Checks of the rates, queues and schedules of links.

use super::super::diagnostic::Report;
use super::super::path_properties::packet_sizes;
use super::super::source_text::Span;
use super::LintInput;
use std::collections::BTreeMap;
use thalweg_proto::units::Bytes;
use thalweg_queue::{DisciplineSpec, Limit, TokenBucketSpec};
use thalweg_sim::shortest_paths::DirectionId;
use thalweg_sim::simulation_spec::{DirectionSpec, GroupSpec, LinkSpec, WorkloadSpec};

/// Minimum queue capacity without a warning, as a share of the bandwidth-delay product: most schemes need more to fill
/// the link.
const SMALL_BUFFER: f64 = 0.1;

fn both_directions(link: &LinkSpec) -> [(&DirectionSpec, bool); 2] {
    [(&link.forward, false), (&link.backward, true)]
}

/// Rejects links whose rate is zero throughout the run.
pub(super) fn zero_rates(checked: &LintInput<'_>, report: &mut Report) {
    let mut refuse = |direction: &DirectionSpec, what: &str, span: Span| {
        let dead = direction.nominal_rate().is_zero();
        if dead {
            report
                .error("scenario.rate", span, format!("{what} has no rate: nothing ever leaves it"))
                .help("a `schedule` may stop and start a link; to remove a link, delete it");
        }
        dead
    };
    for (link, origin) in checked.spec.links.iter().zip(&checked.origins.links) {
        for (direction, back) in both_directions(link) {
            let what = format!("the link `{}`", link.name);
            if refuse(direction, &what, origin.rate[usize::from(back)]) {
                break;
            }
        }
    }
    for (group, origin) in checked.spec.groups.iter().zip(&checked.origins.groups) {
        let Some(access) = &group.access else { continue };
        let lines =
            [&access.source_forward, &access.source_backward, &access.sink_forward, &access.sink_backward];
        for line in lines {
            if refuse(line, &format!("the access of `{}`", group.name), origin.access) {
                break;
            }
        }
    }
}

/// Checks for queues that hold no packet, and for queues that are small for the path.
pub(super) fn too_small_queues(checked: &LintInput<'_>, report: &mut Report) {
    let spec = checked.spec;
    for (number, (link, origin)) in spec.links.iter().zip(&checked.origins.links).enumerate() {
        for (direction, back) in both_directions(link) {
            let span = origin.queue[usize::from(back)];
            let packet = checked.paths.largest_packet(number, back);
            if !holds_largest_packet(direction, packet, &format!("of `{}`", link.name), span, report) {
                break;
            }
            let bdp = checked.paths.link_bdp(spec, number, back);
            if checked.paths.is_bottleneck(number, back)
                && let Some(bytes) = queue_capacity_bytes(&direction.queue, packet)
                && (bytes.get() as f64) < bdp.get() as f64 * SMALL_BUFFER
            {
                let percent = bytes.get() as f64 / bdp.get().max(1) as f64 * 100.0;
                let message = format!(
                    "the queue of `{}` holds {}, {percent:.1} % of a bandwidth-delay product ({})",
                    link.name,
                    round_to_three_significant_digits(bytes),
                    round_to_three_significant_digits(bdp)
                );
                let help = "most schemes do not fill a link with so small a queue; typical: \"1 bdp\"";
                report.warn("scenario.buffer", span, message).help(help);
                break;
            }
        }
    }
    for (group, origin) in spec.groups.iter().zip(&checked.origins.groups) {
        let Some(access) = &group.access else { continue };
        let (data, ack) = packet_sizes(&group.transport);
        let lines = [
            (&access.source_forward, data),
            (&access.source_backward, ack),
            (&access.sink_forward, data),
            (&access.sink_backward, ack),
        ];
        for (line, packet) in lines {
            if !holds_largest_packet(
                line,
                packet,
                &format!("of the access of `{}`", group.name),
                origin.access,
                report,
            ) {
                break;
            }
        }
    }
}

/// Warns of token buckets that hold less than a packet of their link.
pub(super) fn too_small_token_buckets(checked: &LintInput<'_>, report: &mut Report) {
    let spec = checked.spec;
    let has_bucket =
        |line: &DirectionSpec| line.start_delay.shaper.is_some() || line.queue.policer().is_some();
    if spec.links.iter().any(|link| has_bucket(&link.forward) || has_bucket(&link.backward)) {
        let mut packets: BTreeMap<DirectionId, u32> = BTreeMap::new();
        for (group, path) in spec.groups.iter().zip(&checked.paths.groups) {
            let loads = path.iter().flat_map(|path| path.loads.iter().zip(largest_packets(group)));
            for (hop, packet) in loads.flat_map(|(loads, packet)| loads.keys().map(move |hop| (*hop, packet)))
            {
                let largest = packets.entry(hop).or_default();
                *largest = packet.max(*largest);
            }
        }
        for (number, (link, origin)) in (0..).zip(spec.links.iter().zip(&checked.origins.links)) {
            for (direction, back) in both_directions(link) {
                let side = usize::from(back);
                let packet = packets.get(&(number * 2 + u32::from(back))).copied().unwrap_or(0);
                let spans = [origin.shaper[side].unwrap_or(origin.queue[side]), origin.queue[side]];
                if holds_less(direction, packet, &format!("`{}`", link.name), spans, report) {
                    break;
                }
            }
        }
    }
    for (group, origin) in spec.groups.iter().zip(&checked.origins.groups) {
        let Some(access) = &group.access else { continue };
        let [data, ack] = largest_packets(group);
        let lines = [
            (&access.source_forward, data),
            (&access.source_backward, ack),
            (&access.sink_forward, data),
            (&access.sink_backward, ack),
        ];
        let what = format!("the access of `{}`", group.name);
        for (line, packet) in lines {
            if holds_less(line, packet, &what, [origin.access; 2], report) {
                break;
            }
        }
    }
}

/// Returns the largest data packet of a group, and its acknowledgement. A sender without a limit sends each write at
/// once.
fn largest_packets(group: &GroupSpec) -> [u32; 2] {
    let (data, ack) = packet_sizes(&group.transport);
    let properties = group.transport.properties();
    let written = match &group.workload {
        WorkloadSpec::ConstantRate { packet, .. }
        | WorkloadSpec::OnOff { packet, .. }
        | WorkloadSpec::Telnet { packet, .. }
            if properties.is_unbounded() =>
        {
            u32::try_from(packet.get()).unwrap_or(u32::MAX).min(properties.segment())
        }
        _ => return [data, ack],
    };
    [group.transport.data_packet(written), ack]
}

/// Warns of a shaper or policer, at their positions, whose bucket holds less than a packet; returns true if there is one.
fn holds_less(
    direction: &DirectionSpec,
    packet: u32,
    what: &str,
    [shaper, policer]: [Span; 2],
    report: &mut Report,
) -> bool {
    let on_wire = Bytes::new(direction.framing.on_wire(packet));
    let packet = Bytes::new(u64::from(packet));
    let small =
        |bucket: Option<TokenBucketSpec>, packet: Bytes| bucket.filter(|bucket| bucket.burst < packet);
    if let Some(bucket) = small(direction.queue.policer(), packet) {
        let message = format!(
            "the policer of {what} drops every packet above its `burst` of {}, and there are packets of {packet}",
            bucket.burst
        );
        report.warn("scenario.burst", policer, message).help("a packet needs tokens for all of its bytes");
        return true;
    }
    if let Some(bucket) = small(direction.start_delay.shaper, on_wire) {
        let message = format!(
            "the shaper of {what} has a `burst` of {}, less than a packet of {on_wire}",
            bucket.burst
        );
        report
            .warn("scenario.burst", shaper, message)
            .help("a larger packet leaves when the bucket is full, and the next one waits for the tokens that it took");
        return true;
    }
    false
}

/// Rejects hosts whose socket buffers never hold a full packet.
pub(super) fn too_small_socket_buffers(checked: &LintInput<'_>, report: &mut Report) {
    for (group, origin) in checked.spec.groups.iter().zip(&checked.origins.groups) {
        let Some(host) = &group.host else { continue };
        let (data, _) = packet_sizes(&group.transport);
        if host.buffer < Bytes::new(u64::from(data)) {
            let message = format!(
                "the sockets of the hosts of `{}` hold {}, but its packets have {data} B",
                group.name, host.buffer
            );
            report.error("scenario.capacity", origin.host, message).help("no full-sized packet fits");
        }
    }
}

/// Rejects a queue that never holds the largest packet.
fn holds_largest_packet(
    direction: &DirectionSpec,
    packet: u32,
    what: &str,
    span: Span,
    report: &mut Report,
) -> bool {
    let fits = match direction.queue.limit() {
        Limit::Bytes(bytes) => bytes >= u64::from(packet),
        Limit::Packets(packets) => packets > 0,
        Limit::Unlimited => true,
    };
    if !fits {
        let size = queue_capacity_bytes(&direction.queue, packet).unwrap_or_default();
        report
            .error(
                "scenario.capacity",
                span,
                format!("the queue {what} holds {size}, but its packets have {packet} B"),
            )
            .help("every packet that has to wait is dropped");
    }
    fits
}

/// Returns the capacity of a queue in bytes, for packets of size `packet`; `None` if unlimited.
pub(in super::super) fn queue_capacity_bytes(queue: &DisciplineSpec, packet: u32) -> Option<Bytes> {
    match queue.limit() {
        Limit::Packets(packets) => Some(Bytes::new(u64::from(packet)) * packets),
        Limit::Bytes(bytes) => Some(Bytes::new(bytes)),
        Limit::Unlimited => None,
    }
}

/// Rounds an amount to three significant digits.
pub(in super::super) fn round_to_three_significant_digits(size: Bytes) -> Bytes {
    let mut unit = 1;
    while size.get() / unit >= 1000 {
        unit *= 10;
    }
    Bytes::new(size.get().saturating_add(unit / 2) / unit * unit)
}

/// Warns of changes after the end of the run.
pub(super) fn late_schedule_changes(checked: &LintInput<'_>, report: &mut Report) {
    let end = checked.spec.duration;
    for (link, origin) in checked.spec.links.iter().zip(&checked.origins.links) {
        for (direction, back) in both_directions(link) {
            let late = direction.schedule.iter().find(|change| change.at.as_picos() >= end.as_picos());
            // Ignore the generated restart after an outage that lasts beyond the end.
            let written = late.filter(|change| change.rate.is_none_or(|rate| rate != direction.rate));
            if let (Some(late), Some(span)) = (written, origin.schedule[usize::from(back)]) {
                let message =
                    format!("`{}` changes at {}, after the run has ended ({end})", link.name, late.at);
                report.warn("scenario.schedule", span, message);
                break;
            }
        }
    }
}
