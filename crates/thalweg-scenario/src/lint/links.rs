//! Checks of the rates, queues and schedules of links.

use super::super::diagnostic::Report;
use super::super::path_properties::{nominal_rate, packet_sizes};
use super::super::source_text::Span;
use super::Checked;
use thalweg_proto::units::Bytes;
use thalweg_queue::{DisciplineSpec, Limit};
use thalweg_sim::spec::{DirectionSpec, LinkSpec};

/// Minimum queue capacity without a warning, as a share of the bandwidth-delay product: most schemes need more to fill
/// the link.
const SMALL_BUFFER: f64 = 0.1;

fn directions(link: &LinkSpec) -> [(&DirectionSpec, bool); 2] {
    [(&link.forward, false), (&link.backward, true)]
}

/// Rejects links whose rate is zero throughout the run.
pub(super) fn rates(checked: &Checked<'_>, report: &mut Report) {
    let mut refuse = |direction: &DirectionSpec, what: &str, span: Span| {
        let dead = nominal_rate(direction).is_zero();
        if dead {
            report
                .error("scenario.rate", span, format!("{what} has no rate: nothing ever leaves it"))
                .help("a `schedule` may stop and start a link; to remove a link, delete it");
        }
        dead
    };
    for (link, origin) in checked.spec.links.iter().zip(&checked.origins.links) {
        for (direction, back) in directions(link) {
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
pub(super) fn queues(checked: &Checked<'_>, report: &mut Report) {
    let spec = checked.spec;
    for (number, (link, origin)) in spec.links.iter().zip(&checked.origins.links).enumerate() {
        for (direction, back) in directions(link) {
            let span = origin.queue[usize::from(back)];
            let packet = checked.paths.largest_packet(number, back);
            if !holds(direction, packet, &format!("of `{}`", link.name), span, report) {
                break;
            }
            let bdp = checked.paths.link_bdp(spec, number, back);
            if checked.paths.is_bottleneck(number, back)
                && let Some(bytes) = bytes(&direction.queue, packet)
                && (bytes.get() as f64) < bdp.get() as f64 * SMALL_BUFFER
            {
                let percent = bytes.get() as f64 / bdp.get().max(1) as f64 * 100.0;
                let message = format!(
                    "the queue of `{}` holds {}, {percent:.1} % of a bandwidth-delay product ({})",
                    link.name,
                    about(bytes),
                    about(bdp)
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
            if !holds(line, packet, &format!("of the access of `{}`", group.name), origin.access, report) {
                break;
            }
        }
    }
}

/// Rejects hosts whose socket buffers never hold a full packet.
pub(super) fn hosts(checked: &Checked<'_>, report: &mut Report) {
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
fn holds(direction: &DirectionSpec, packet: u32, what: &str, span: Span, report: &mut Report) -> bool {
    let fits = match direction.queue.limit() {
        Limit::Bytes(bytes) => bytes >= u64::from(packet),
        Limit::Packets(packets) => packets > 0,
        Limit::Unlimited => true,
    };
    if !fits {
        let size = bytes(&direction.queue, packet).unwrap_or_default();
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
pub(in super::super) fn bytes(queue: &DisciplineSpec, packet: u32) -> Option<Bytes> {
    match queue.limit() {
        Limit::Packets(packets) => Some(Bytes::new(u64::from(packet)) * packets),
        Limit::Bytes(bytes) => Some(Bytes::new(bytes)),
        Limit::Unlimited => None,
    }
}

/// Rounds an amount to three digits.
pub(in super::super) fn about(size: Bytes) -> Bytes {
    let mut unit = 1;
    while size.get() / unit >= 1000 {
        unit *= 10;
    }
    Bytes::new(size.get().saturating_add(unit / 2) / unit * unit)
}

/// Warns of changes after the end of the run.
pub(super) fn schedules(checked: &Checked<'_>, report: &mut Report) {
    let end = checked.spec.duration;
    for (link, origin) in checked.spec.links.iter().zip(&checked.origins.links) {
        for (direction, back) in directions(link) {
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
