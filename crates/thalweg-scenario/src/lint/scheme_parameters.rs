//! Checks of scheme parameters that do not fit the path or each other.

use super::super::diagnostic::Report;
use super::super::path_properties::{GroupPath, packet_sizes};
use super::super::source_text::Span;
use super::LintInput;
use std::collections::BTreeMap;
use thalweg_catalog::protocol_family::OnPath;
use thalweg_proto::units::{Bytes, Rate};
use thalweg_sim::simulation_spec::TransportSpec;

/// Runs all checks of schemes.
pub(super) fn check_schemes(checked: &LintInput<'_>, report: &mut Report) {
    for ((group, origin), path) in
        checked.spec.groups.iter().zip(&checked.origins.groups).zip(&checked.paths.groups)
    {
        let Some(path) = path else { continue };
        let properties = group.transport.properties();
        let packet = Bytes::new(u64::from(packet_sizes(&group.transport).0));
        for warning in properties.warnings(&OnPath { rate: path.rate, rtt: path.rtt, packet }) {
            let message = format!("`{}` {}", group.name, warning.what);
            report.warn(warning.code, origin.scheme, message).help(warning.help);
        }
        if properties.is_reliable()
            && packet_sizes(&group.transport).1 == 0
            && group.control_channel.is_none()
        {
            let message = format!(
                "the acknowledgements of `{}` have 0 B, so they take no time on any link",
                group.name
            );
            report
                .warn("scenario.size", origin.scheme, message)
                .help("acknowledgements out of band have a `control-channel`");
        }
    }
    agreed_rates(checked, report);
}

/// Warns of agreed rates, independent of the network, that exceed the rate of a shared link.
fn agreed_rates(checked: &LintInput<'_>, report: &mut Report) {
    // The sum of the agreed rates over each link direction, and the last flow group that adds to it.
    let mut agreed: BTreeMap<u32, (u64, Span, &GroupPath, &TransportSpec)> = BTreeMap::new();
    let mut above = |sum: u64, span: Span, path: &GroupPath, transport: &TransportSpec| {
        let max = path.rate.as_bits_per_sec();
        if sum > max.saturating_add(max / 1000) {
            let sum = Rate::from_bits_per_sec(sum);
            let message = format!(
                "the rates agreed upon over `{}` add up to {sum}, above its {}",
                path.bottleneck, path.rate
            );
            let lower =
                transport.properties().rates().key.map_or("its rate".to_owned(), |key| format!("`{key}`"));
            let scheme = &transport.scheme;
            report
                .warn("scenario.rate", span, message)
                .help(format!("{scheme} does not slow down when packets are dropped: lower {lower}"));
        }
    };
    for ((group, origin), path) in
        checked.spec.groups.iter().zip(&checked.origins.groups).zip(&checked.paths.groups)
    {
        let (Some(path), Some(average)) = (path, group.transport.properties().rates().agreed) else {
            continue;
        };
        let average = average.as_bits_per_sec();
        match path.bottleneck_hop() {
            // Each flow has its own access link.
            None => above(average, origin.scheme, path, &group.transport),
            Some(hop) => {
                let sum = average.saturating_mul(u64::from(group.count));
                let entry = agreed.entry(hop).or_insert((0, origin.scheme, path, &group.transport));
                *entry = (entry.0.saturating_add(sum), origin.scheme, path, &group.transport);
            }
        }
    }
    for (sum, span, path, transport) in agreed.into_values() {
        above(sum, span, path, transport);
    }
}
