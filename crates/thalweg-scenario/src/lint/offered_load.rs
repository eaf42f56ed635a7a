//! Checks of the traffic offered to links against their rates.

use super::super::diagnostic::Report;
use super::super::path_properties::{GroupPath, direction_of_hop};
use super::super::wire_load::wire_bytes_per_byte;
use super::LintInput;
use std::collections::BTreeMap;
use thalweg_proto::units::Rate;
use thalweg_queue::Limit;
use thalweg_sim::shortest_paths::DirectionId;
use thalweg_sim::simulation_spec::{DirectionSpec, Framing, GroupSpec, WorkloadSpec};

/// The help for a load above a queue's service rate: of senders that keep what the queue drops, and of others.
const BACKLOG_GROWS_HELP: &str = "the backlog grows until the run ends, and results depend on the duration";
const EXCESS_IS_DROPPED_HELP: &str = "the queue drops the excess";

/// Returns the long-run payload rate that a group's workload offers per flow, independent of the network; `None` for
/// flows with unlimited data, a finite size, or that wait for responses.
pub(in super::super) fn offered_rate_per_flow(group: &GroupSpec) -> Option<Rate> {
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

/// The load of a direction from all groups.
#[derive(Default)]
struct Load {
    payload: f64,
    /// With headers, as a policer or the transmitter counts them.
    wire: f64,
    /// The largest load of a group, and the group.
    largest: (u64, usize),
    /// Some of the senders repeat what the queue drops.
    is_repeated: bool,
}

/// Warns of links with more offered load than capacity. Headers count: small packets fill a link with half of its rate
/// in payload.
pub(super) fn overloaded_links(checked: &LintInput<'_>, report: &mut Report) {
    let spec = checked.spec;
    let mut loads: BTreeMap<DirectionId, Load> = BTreeMap::new();
    for (number, (group, path)) in spec.groups.iter().zip(&checked.paths.groups).enumerate() {
        let (Some(path), Some(offered)) = (path, offered_rate_per_flow(group)) else { continue };
        let mut wire_factors: BTreeMap<Framing, f64> = BTreeMap::new();
        for (&hop, &flows) in &path.loads[0] {
            let framing = counted_framing(direction_of_hop(spec, hop));
            let wire_factor =
                *wire_factors.entry(framing).or_insert_with(|| wire_bytes_per_byte(group, framing));
            let payload = offered.as_f64() * flows;
            let load = loads.entry(hop).or_default();
            load.payload += payload;
            load.wire += payload * wire_factor;
            load.largest = load.largest.max(((payload * wire_factor) as u64, number));
            load.is_repeated |= group.transport.properties().is_reliable();
        }
    }
    let mut warned = Vec::new();
    for (hop, Load { payload, wire, largest: (_, number), is_repeated }) in loads {
        let line = direction_of_hop(spec, hop);
        let policer = lower_policer_rate(line);
        let rate = policer.unwrap_or_else(|| line.nominal_rate());
        let slowest = checked.paths.groups[number].as_ref().and_then(GroupPath::bottleneck_hop);
        let is_first = policer.is_some() || slowest.is_none_or(|slowest| slowest == hop);
        if wire > rate.as_f64() && is_first && !warned.contains(&number) {
            warned.push(number);
            let link = &spec.links[hop as usize / 2].name;
            let offered = if payload > rate.as_f64() {
                format!("{}", Rate::from_bits_per_sec(payload as u64))
            } else {
                format!("{} with headers", Rate::from_bits_per_sec(round_up_to_four_digits(wire)))
            };
            let excess = if is_repeated || line.queue.limit() == Limit::Unlimited {
                BACKLOG_GROWS_HELP
            } else {
                EXCESS_IS_DROPPED_HELP
            };
            let (what, help) = match (policer, line.start_delay.shaper) {
                (Some(_), _) => {
                    ("whose policer admits", "the excess is dropped, regardless of the link's rate")
                }
                (None, Some(shaper)) if shaper.rate == rate => ("whose shaper passes", excess),
                _ => ("which carries", excess),
            };
            let message = format!("{offered} are offered to `{link}`, {what} {rate}");
            report.warn("scenario.load", checked.origins.groups[number].table, message).help(help);
        }
    }
}

/// Returns the rate of a policer below the rate of its line.
fn lower_policer_rate(line: &DirectionSpec) -> Option<Rate> {
    line.queue.policer().map(|bucket| bucket.rate).filter(|&rate| rate < line.nominal_rate())
}

/// Returns the overhead that counts against the rate of a line. Policers count packets without framing.
fn counted_framing(line: &DirectionSpec) -> Framing {
    lower_policer_rate(line).map_or(line.framing, |_| Framing::None)
}

/// Rounds up: the rounded load exceeds the same rate.
fn round_up_to_four_digits(bits: f64) -> u64 {
    let mut unit = 1;
    while bits / unit as f64 >= 10_000.0 {
        unit *= 10;
    }
    (bits / unit as f64).ceil() as u64 * unit
}
