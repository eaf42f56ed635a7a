//! Two-level flow control, whose rate and window follow from the path unless the scenario says them.

use super::super::diagnostic::Report;
use super::super::keys::{Common, Sstp};
use super::super::path::Paths;
use super::super::quantity::{Packets, Segments};
use super::super::source::Span;
use super::super::table::{At, Fields};
use super::Resolver;
use super::line::small;
use thalweg_proto::sstp::{
    Acknowledgement, MAX_WINDOW, RateSpec, ReceiverConfig, Resume, SenderConfig, Tolerance,
};
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_sim::spec::{Spec, TransportSpec};

/// What waits for a group's path.
#[derive(Debug)]
pub(super) struct PendingSstp {
    group: usize,
    table: Sstp,
    span: Span,
}

impl Resolver<'_> {
    /// All that does not depend on the path; the rest waits.
    pub(super) fn sstp(
        &mut self,
        scheme: String,
        mut table: Sstp,
        shared: Option<&Common>,
        span: Span,
    ) -> Option<TransportSpec> {
        if let Some(shared) = shared {
            table.sizes.inherit(&shared.sizes);
            if table.ack.is_none() {
                table.ack.clone_from(&shared.ack);
            }
        }
        let evicted = table.evicted.as_ref().map(|at| at.span);
        table.inherit_own(Fields::defaults());
        let (packet, header) = self.sizes(&table.sizes, 1454, 46)?;
        let control = match &table.ack {
            Some(at) => small(at.value).or_else(|| self.bad_size(at, "a packet without data")),
            None => Some(48),
        }?;
        let segment = self.packets(&table.segment_packets, "a segment")?;
        if let Some(burst) = &table.burst {
            self.packets(&Some(burst.clone()), "a burst")?;
        }
        for at in [&table.rate, &table.average_rate].into_iter().flatten().filter(|at| at.value.is_zero()) {
            self.report.error("scenario.rate", at.span, "nothing is sent at this rate");
        }
        let acknowledgement = match table.acknowledgement.as_ref()?.value.0 {
            Acknowledgement::Soft(_) => Acknowledgement::Soft(table.evicted.as_ref()?.value.0),
            other => {
                if let Some(span) = evicted {
                    self.report
                        .warn("scenario.unused", span, "only soft acknowledgement evicts segments")
                        .help("it needs acknowledgement = \"soft\"");
                }
                other
            }
        };
        // What the path decides is put in later; only one packet a second leaves until then.
        let (rate, size) = (Rate::from_bits_per_sec(1), Bytes::new(u64::from(packet + header)));
        let rate = RateSpec::with_average(rate, rate, 1, size).ok()?;
        let resume = table.resume.as_ref().map_or(Resume::AtOnce, |at| at.value.0);
        let reordering = table.reordering.as_ref()?.value;
        let sender =
            SenderConfig { segment, packet, rate, resume, window: 1, soft: acknowledgement.is_soft() };
        let receiver = ReceiverConfig {
            segment,
            packet,
            window: 1,
            buffer: 1,
            acknowledgement,
            tolerance: Tolerance::Fraction(table.loss_tolerance.as_ref()?.value.0),
            reordering: u16::try_from(reordering).unwrap_or(u16::MAX),
            repeat: Duration::ZERO,
            wait_for_consumption: false,
        };
        self.unsettled = Some(PendingSstp { group: 0, table, span });
        Some(TransportSpec::Sstp { scheme, sender, receiver, header, control })
    }

    fn packets(&mut self, at: &Option<At<Packets>>, what: &str) -> Option<u16> {
        let at = at.as_ref()?;
        // Saturates; infinity is too much as well.
        let count = at.value.0 as u32;
        if !(1..=MOST_PACKETS).contains(&count) {
            self.report.error("scenario.range", at.span, format!("{what} has 1 to {MOST_PACKETS} packets"));
            return None;
        }
        Some(count as u16)
    }
}

impl PendingSstp {
    /// The same for a group of the scenario.
    pub fn of_group(self, group: usize) -> Self {
        Self { group, ..self }
    }

    /// Fills in what follows from the group's path.
    pub fn settle(self, spec: &mut Spec, paths: &Paths, report: &mut Report) {
        let path = paths.groups.get(self.group).and_then(Option::as_ref);
        let group = spec.groups.get_mut(self.group);
        let Some((path, group)) = path.zip(group) else { return };
        let TransportSpec::Sstp { sender, receiver, header, .. } = &mut group.transport else { return };
        let size = Bytes::new(u64::from(sender.packet) + u64::from(*header));
        let peak = self.table.rate.as_ref().map_or(path.rate, |at| at.value);
        let average = self.table.average_rate.as_ref().map_or(peak, |at| at.value);
        let burst = self.table.burst.as_ref().map_or(u32::from(sender.segment), |at| at.value.0 as u32);
        match RateSpec::with_average(peak, average, burst, size) {
            Ok(rate) => sender.rate = rate,
            Err(error) => {
                let at = self.table.average_rate.as_ref().or(self.table.rate.as_ref());
                report.error("scenario.rate", at.map_or(self.span, |at| at.span), error.to_string());
                return;
            }
        }
        receiver.repeat = path.rtt;
        // The analysis' t_a = RTD + 3·t_p and t_s = s·t_p, with the agreed rate's t_p. The path's round trip has one
        // packet's time at its slowest line in it already.
        let packet = average.transmission_time(size).as_secs_f64();
        let ack = (path.rtt.as_secs_f64() - path.rate.transmission_time(size).as_secs_f64()).max(0.0)
            + 3.0 * packet;
        let per_round_trip = ack / (packet * f64::from(sender.segment));
        let count = |segments: Segments| match segments {
            Segments::Count(count) => count,
            Segments::RoundTrips(times) => times * per_round_trip,
        };
        let window = self.table.window.as_ref().map_or(0.0, |at| count(at.value)).round();
        let buffer = self.table.buffer.as_ref().map_or(window, |at| count(at.value)).round();
        // A window that the path decides keeps to what the protocol can number; one that is said is refused.
        let is_default = self
            .table
            .window
            .as_ref()
            .is_none_or(|at| matches!(at.value, Segments::RoundTrips(times) if times > 0.0));
        if window > f64::from(MAX_WINDOW) && !is_default {
            let span = self.table.window.as_ref().map_or(self.span, |at| at.span);
            report
                .error("scenario.window", span, format!("a window has at most {MAX_WINDOW} segments"))
                .help("larger segments make it smaller");
        }
        if window < 1.0 && !is_default {
            let span = self.table.window.as_ref().map_or(self.span, |at| at.span);
            report.error("scenario.window", span, "a window below one segment never sends");
        }
        let least = if is_default { 2.0 } else { 1.0 };
        // Saturates.
        sender.window = (window.max(least) as u16).min(MAX_WINDOW);
        receiver.window = sender.window;
        receiver.buffer = (buffer.max(1.0) as u16).min(receiver.window);
        if let Some(at) = &self.table.buffer {
            if buffer < 1.0 && matches!(at.value, Segments::Count(_) | Segments::RoundTrips(0.0)) {
                report.error(
                    "scenario.range",
                    at.span,
                    "without room for one segment nothing is ever accepted",
                );
            } else if buffer > f64::from(receiver.window) {
                let message = format!(
                    "there is room for {buffer} segments, but the window has only {}",
                    receiver.window
                );
                report.warn("scenario.buffer", at.span, message).help("no more than the window is ever used");
            }
        }
    }
}

/// Packets are numbered by 16 bits.
const MOST_PACKETS: u32 = 65_535;
