//! Checks of links for total loss, of queues for a depth that delays all packets, and of RED for unreachable thresholds.

use super::super::diagnostic::Report;
use super::super::source_text::Span;
use super::LintInput;
use super::links::{queue_capacity_bytes, round_to_three_significant_digits};
use thalweg_proto::units::{Bytes, Duration};
use thalweg_queue::{FcfsConfig, Limit, LossSpec, RedConfig, RedUnit};
use thalweg_sim::simulation_spec::{DirectionSpec, LinkSpec};

/// Maximum capacity of an unmanaged queue without a warning, in bandwidth-delay products: a deeper one causes
/// bufferbloat.
const DEEP_BUFFER: f64 = 10.0;

/// A direction of a link, with its position in the scenario.
struct CheckedDirection<'a> {
    link: &'a LinkSpec,
    number: usize,
    is_backward: bool,
}

impl<'a> CheckedDirection<'a> {
    fn spec(&self) -> &'a DirectionSpec {
        if self.is_backward { &self.link.backward } else { &self.link.forward }
    }
}

/// Warns of links that lose everything, and, at most once per link, of unreachable RED thresholds or a very deep queue.
pub(super) fn check_queue_depth_and_loss(checked: &LintInput<'_>, report: &mut Report) {
    for (number, (link, origin)) in checked.spec.links.iter().zip(&checked.origins.links).enumerate() {
        for is_backward in [false, true] {
            let direction = CheckedDirection { link, number, is_backward };
            let side = usize::from(is_backward);
            total_loss(&direction, origin.loss[side], report);
            let packet = checked.paths.largest_packet(number, is_backward);
            let Some(capacity) = queue_capacity_bytes(&direction.spec().queue, packet) else { continue };
            let span = origin.queue[side];
            if unreachable_red_thresholds(&direction, packet, capacity, span, report)
                || deep_buffer(checked, &direction, capacity, span, report)
            {
                break;
            }
        }
    }
}

/// Warns of a link that loses every packet.
fn total_loss(direction: &CheckedDirection<'_>, span: Span, report: &mut Report) {
    let loss = &direction.spec().impairment.loss;
    if matches!(loss, LossSpec::Uniform { probability } if *probability >= 1.0) {
        let message = format!("`{}` loses every packet: loss = 1 is 100 %", direction.link.name);
        report.warn("scenario.loss", span, message).help("one percent is 0.01 or \"1 %\"");
    }
}

/// Warns of RED thresholds above the capacity of the queue, and returns true if there is one.
fn unreachable_red_thresholds(
    direction: &CheckedDirection<'_>,
    packet: u32,
    capacity: Bytes,
    span: Span,
    report: &mut Report,
) -> bool {
    let queue = &direction.spec().queue;
    let Some(config) = queue.config::<RedConfig>() else { return false };
    let max = match (config.unit, queue.limit()) {
        (RedUnit::Packets, Limit::Packets(packets)) => packets as f64,
        (RedUnit::Packets, _) => capacity.get() as f64 / f64::from(packet.max(1)),
        (RedUnit::Bytes, _) => capacity.get() as f64,
    };
    let (which, threshold, help) = if config.min_threshold >= max {
        let help = "it drops nothing early: give a larger `capacity` or lower thresholds";
        ("lower", config.min_threshold, help)
    } else {
        let help =
            "it is full before RED drops as much as it is to: give a larger `capacity` or a lower threshold";
        ("upper", config.max_threshold, help)
    };
    let is_unreachable = packet > 0 && threshold >= max;
    if is_unreachable {
        let name = &direction.link.name;
        let message =
            format!("the queue of `{name}` holds {max:.0}, below RED's {which} threshold of {threshold}");
        report.warn("scenario.threshold", span, message).help(help);
    }
    is_unreachable
}

/// Warns of an unmanaged queue far above the bandwidth-delay product, and returns true if it is one.
fn deep_buffer(
    checked: &LintInput<'_>,
    direction: &CheckedDirection<'_>,
    capacity: Bytes,
    span: Span,
    report: &mut Report,
) -> bool {
    let (number, is_backward) = (direction.number, direction.is_backward);
    let bdp = checked.paths.link_bdp(checked.spec, number, is_backward);
    let is_plain = direction.spec().queue.config::<FcfsConfig>().is_some();
    let depth = capacity.get() as f64 / bdp.get().max(1) as f64;
    let is_bottleneck = checked.paths.is_bottleneck(number, is_backward);
    let is_deep = is_plain && is_bottleneck && depth > DEEP_BUFFER && bdp.get() > 0;
    if is_deep {
        let wait = direction.spec().nominal_rate().transmission_time(capacity);
        let message = format!(
            "the queue of `{}` holds {}, {depth:.0} bandwidth-delay products, which take {} to send",
            direction.link.name,
            round_to_three_significant_digits(capacity),
            round_to_four_significant_digits(wait)
        );
        report
            .warn("scenario.buffer", span, message)
            .help("schemes that fill queues delay all packets by that much; typical: \"1 bdp\"");
    }
    is_deep
}

/// Rounds a time to four significant digits.
pub(in super::super) fn round_to_four_significant_digits(time: Duration) -> Duration {
    let mut unit = 1;
    while time.as_picos() / unit >= 10_000 {
        unit *= 10;
    }
    Duration::from_picos(time.as_picos().saturating_add(unit / 2) / unit * unit)
}
