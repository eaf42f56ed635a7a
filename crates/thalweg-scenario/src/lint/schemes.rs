//! Parameters of schemes that do not fit their path or each other.

use super::super::diagnostic::Report;
use super::super::path::{GroupPath, packet_sizes};
use super::super::source::Span;
use super::Checked;
use std::collections::BTreeMap;
use thalweg_proto::units::{Bytes, Rate};
use thalweg_proto::{aack, sscop};
use thalweg_sim::spec::{GroupSpec, TransportSpec};

/// All checks of schemes.
pub(super) fn schemes(checked: &Checked<'_>, report: &mut Report) {
    for ((group, origin), path) in
        checked.spec.groups.iter().zip(&checked.origins.groups).zip(&checked.paths.groups)
    {
        let Some(path) = path else { continue };
        match &group.transport {
            TransportSpec::AdaptiveAck { config, .. } => reports(group, config, path, origin.scheme, report),
            TransportSpec::Sscop { config, .. } => polls(group, &config.sscop, origin.scheme, report),
            TransportSpec::Window { .. } | TransportSpec::Datagram { .. } | TransportSpec::Sstp { .. } => {}
        }
        let answers = !matches!(group.transport, TransportSpec::Datagram { .. });
        if answers && packet_sizes(&group.transport).1 == 0 && group.control_channel.is_none() {
            let message = format!(
                "the acknowledgements of `{}` have 0 B, so they take no time on any line",
                group.name
            );
            report
                .warn("scenario.size", origin.scheme, message)
                .help("acknowledgements out of band have a `control-channel`");
        }
    }
    agreed_rates(checked, report);
}

/// Rates of two-level flow control, which does not react to congestion, above that of the line that they share.
fn agreed_rates(checked: &Checked<'_>, report: &mut Report) {
    // What is agreed upon over each direction of a link, and who was the last to agree.
    let mut agreed: BTreeMap<u32, (u64, Span, &GroupPath)> = BTreeMap::new();
    let mut above = |sum: u64, span: Span, path: &GroupPath| {
        let most = path.rate.as_bits_per_sec();
        if sum > most.saturating_add(most / 1000) {
            let sum = Rate::from_bits_per_sec(sum);
            let message = format!(
                "the rates agreed upon over `{}` add up to {sum}, above its {}",
                path.bottleneck, path.rate
            );
            report.warn("scenario.rate", span, message).help(
                "two-level flow control does not slow down when packets are dropped: lower `average-rate`",
            );
        }
    };
    for ((group, origin), path) in
        checked.spec.groups.iter().zip(&checked.origins.groups).zip(&checked.paths.groups)
    {
        let (Some(path), TransportSpec::Sstp { sender, .. }) = (path, &group.transport) else { continue };
        let average = sender.rate.average().as_bits_per_sec();
        match path.bottleneck_hop() {
            // Each flow has a line of its own.
            None => above(average, origin.scheme, path),
            Some(hop) => {
                let sum = average.saturating_mul(u64::from(group.count));
                let entry = agreed.entry(hop).or_insert((0, origin.scheme, path));
                *entry = (entry.0.saturating_add(sum), origin.scheme, path);
            }
        }
    }
    for (sum, span, path) in agreed.into_values() {
        above(sum, span, path);
    }
}

/// Reports of adaptive acknowledgement that are far too many, or so rare that the sender waits for them most of the time.
fn reports(group: &GroupSpec, config: &aack::Config, path: &GroupPath, span: Span, report: &mut Report) {
    let packet = path.rate.transmission_time(Bytes::new(u64::from(packet_sizes(&group.transport).0)));
    let name = &group.name;
    for (key, every) in [("t-normal", config.normal), ("t-error", config.error)] {
        if every < packet {
            let message =
                format!("`{name}` reports every {every}, but a packet takes {packet} at {}", path.rate);
            report
                .warn("scenario.timer", span, message)
                .help(format!("most reports would say nothing new; see `{key}`"));
        }
    }
    let window = packet * u64::from(config.window);
    if config.normal > path.rtt.max(window) * RARE {
        let message = format!(
            "`{name}` has sent its window of {} pkt after {window}, but a report comes every {}",
            config.window, config.normal
        );
        report
            .warn("scenario.timer", span, message)
            .help("the sender waits for reports most of the time; see `t-normal` and `window`");
    }
}

/// SSCOP that has sent its window before a POLL is due.
fn polls(group: &GroupSpec, config: &sscop::Config, span: Span, report: &mut Report) {
    let window = config.window.min(config.buffer);
    if config.rate.is_none() && window < config.max_pd {
        let message = format!(
            "`{}` may send {window} messages, but a POLL is due after {} (`max-pd`)",
            group.name, config.max_pd
        );
        report.warn("scenario.window", span, message).help(format!(
            "the window is full until `timer-poll` ({}) runs out, each time",
            config.timers.poll
        ));
    }
}

/// So many round trips, or times of a window, without a report are too long.
const RARE: u64 = 10;
