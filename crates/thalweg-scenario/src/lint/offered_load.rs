//! Checks of the load: traffic offered to links and queues, against their rates and capacities.

use super::super::diagnostic::Report;
use super::super::path_properties::{GroupPath, direction, nominal_rate};
use super::Checked;
use super::links::{about, bytes};
use std::collections::BTreeMap;
use thalweg_proto::units::{Duration, Rate};
use thalweg_queue::{FcfsConfig, Limit, LossSpec, RedConfig, RedUnit};
use thalweg_sim::shortest_paths::DirectionId;
use thalweg_sim::spec::{GroupSpec, WorkloadSpec};

/// Maximum capacity of an unmanaged queue without a warning, in bandwidth-delay products: a deeper one causes
/// bufferbloat.
const DEEP_BUFFER: f64 = 10.0;

/// The help for a load above a queue's service rate.
const BACKLOG_GROWS_HELP: &str = "the backlog grows until the run ends, and results depend on the duration";

/// Returns the long-run payload rate that a group's workload offers per flow, independent of the network; `None` for
/// flows with unlimited data, a finite size, or that wait for responses.
pub(in super::super) fn offered(group: &GroupSpec) -> Option<Rate> {
    let bits = match &group.workload {
        WorkloadSpec::ConstantRate { rate, .. } => rate.as_f64(),
        WorkloadSpec::OnOff { on, off, rate: Some(rate), .. } => {
            rate.as_f64() * on.as_secs_f64() / (*on + *off).as_secs_f64()
        }
        WorkloadSpec::Telnet { packet, gap } => packet.get() as f64 * 8.0 / gap.as_secs_f64(),
        WorkloadSpec::Poisson { gap, size } => size.mean() * 8.0 / gap.as_secs_f64(),
        _ => return None,
    };
    (bits.is_finite() && bits >= 0.0).then(|| Rate::from_bits_per_sec(bits as u64))
}

/// Warns of links with more offered load than capacity.
pub(super) fn overload(checked: &Checked<'_>, report: &mut Report) {
    let spec = checked.spec;
    // By direction: the total offered load, and the group that offers most.
    let mut loads: BTreeMap<DirectionId, (f64, (u64, usize))> = BTreeMap::new();
    for (number, (group, path)) in spec.groups.iter().zip(&checked.paths.groups).enumerate() {
        let (Some(path), Some(offered)) = (path, offered(group)) else { continue };
        for (&hop, &flows) in &path.loads[0] {
            let all = offered.as_f64() * flows;
            let load = loads.entry(hop).or_default();
            *load = (load.0 + all, load.1.max((all as u64, number)));
        }
    }
    let mut warned = Vec::new();
    for (hop, (offered, (_, number))) in loads {
        let line = direction(spec, hop);
        let policer =
            line.queue.policer().map(|bucket| bucket.rate).filter(|&rate| rate < nominal_rate(line));
        let rate = policer.unwrap_or_else(|| nominal_rate(line));
        let slowest = checked.paths.groups[number].as_ref().and_then(GroupPath::bottleneck_hop);
        let is_first = policer.is_some() || slowest.is_none_or(|slowest| slowest == hop);
        if offered > rate.as_f64() && is_first && !warned.contains(&number) {
            warned.push(number);
            let link = &spec.links[hop as usize / 2].name;
            let offered = Rate::from_bits_per_sec(offered as u64);
            let (what, help) = match (policer, line.start_delay.shaper) {
                (Some(_), _) => {
                    ("whose policer admits", "the excess is dropped, regardless of the link's rate")
                }
                (None, Some(shaper)) if shaper.rate == rate => ("whose shaper passes", BACKLOG_GROWS_HELP),
                _ => ("which carries", BACKLOG_GROWS_HELP),
            };
            let message = format!("{offered} are offered to `{link}`, {what} {rate}");
            report.warn("scenario.load", checked.origins.groups[number].table, message).help(help);
        }
    }
}

/// Warns of links that lose everything, very deep queues, and thresholds that are never reached.
pub(super) fn lines(checked: &Checked<'_>, report: &mut Report) {
    let spec = checked.spec;
    for (number, (link, origin)) in spec.links.iter().zip(&checked.origins.links).enumerate() {
        for (line, back) in [(&link.forward, false), (&link.backward, true)] {
            let (name, span) = (&link.name, origin.queue[usize::from(back)]);
            if matches!(line.impairment.loss, LossSpec::Uniform { probability } if probability >= 1.0) {
                let message = format!("`{name}` loses every packet: loss = 1 is 100 %");
                report
                    .warn("scenario.loss", origin.loss[usize::from(back)], message)
                    .help("one percent is 0.01 or \"1 %\"");
            }
            let packet = checked.paths.largest_packet(number, back);
            let Some(capacity) = bytes(&line.queue, packet) else { continue };
            if let Some(config) = line.queue.config::<RedConfig>() {
                let max = match (config.unit, line.queue.limit()) {
                    (RedUnit::Packets, Limit::Packets(packets)) => packets as f64,
                    (RedUnit::Packets, _) => capacity.get() as f64 / f64::from(packet.max(1)),
                    (RedUnit::Bytes, _) => capacity.get() as f64,
                };
                let (which, threshold, help) = if config.min_threshold >= max {
                    let help = "it drops nothing early: give a larger `capacity` or lower thresholds";
                    ("lower", config.min_threshold, help)
                } else {
                    let help = "it is full before RED drops as much as it is to: give a larger `capacity` or a lower threshold";
                    ("upper", config.max_threshold, help)
                };
                if packet > 0 && threshold >= max {
                    let message = format!(
                        "the queue of `{name}` holds {max:.0}, below RED's {which} threshold of {threshold}"
                    );
                    report.warn("scenario.threshold", span, message).help(help);
                    break;
                }
            }
            let bdp = checked.paths.link_bdp(spec, number, back);
            let is_plain = line.queue.config::<FcfsConfig>().is_some();
            let depth = capacity.get() as f64 / bdp.get().max(1) as f64;
            if is_plain && checked.paths.is_bottleneck(number, back) && depth > DEEP_BUFFER && bdp.get() > 0 {
                let wait = nominal_rate(line).transmission_time(capacity);
                let message = format!(
                    "the queue of `{name}` holds {}, {depth:.0} bandwidth-delay products, which take {} to send",
                    about(capacity),
                    rounded(wait)
                );
                report
                    .warn("scenario.buffer", span, message)
                    .help("schemes that fill queues delay all packets by that much; typical: \"1 bdp\"");
                break;
            }
        }
    }
}

/// Rounds a time to four digits.
pub(in super::super) fn rounded(time: Duration) -> Duration {
    let mut unit = 1;
    while time.as_picos() / unit >= 10_000 {
        unit *= 10;
    }
    Duration::from_picos(time.as_picos().saturating_add(unit / 2) / unit * unit)
}
