//! Resolution of link directions: rates, delays, schedules, and queues whose capacity depends on the routes.

use super::super::diagnostic::Report;
use super::super::keys::{Capacity, Document, Link, LinkDirection, Queue, ScheduleEntry};
use super::super::named_paths::PathDescription;
use super::super::parsed_tree::parse;
use super::super::path_properties::Paths;
use super::super::source_text::{Source, Span};
use super::super::table_declarations::{Fields, Spanned, decode_fields};
use super::offered_load::PendingLoad;
use super::queue::resolve_discipline;
use super::router_feedback::PendingFeedback;
use super::scheme::PendingScheme;
use super::unresolved_link_direction::LinkLocation;
use super::{LinkOrigin, Resolver};
use std::sync::Arc;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_queue::{DisciplineSpec, Limit, PeriodicVariationSpec, SpecError, StartDelaySpec};
use thalweg_sim::simulation_spec::{Change, DirectionSpec, JitterChange, Spec};

/// Queues, feedback, schemes and loads, pending until all links and flows are known.
#[derive(Debug, Default)]
pub(super) struct PendingItems {
    pub queues: Vec<PendingQueue>,
    pub feedback: Vec<PendingFeedback>,
    pub schemes: Vec<PendingScheme>,
    pub loads: Vec<PendingLoad>,
}

/// Minimum bandwidth-delay product of an unused link for the default queue: a packet.
const MIN_BDP: Bytes = Bytes::new(1500);
/// Default queue of unused links below it: four packets.
const MIN_DEFAULT_QUEUE: Bytes = Bytes::new(6000);

/// A queue whose capacity is pending until rates and round-trip times are known.
#[derive(Debug)]
pub(super) struct PendingQueue {
    place: LinkLocation,
    capacity: Capacity,
    span: Span,
    /// Default queue, not set in the file.
    is_default: bool,
    /// The schedule entry that sets this capacity, and the rate from then on.
    change: Option<(usize, Rate)>,
}

impl PendingQueue {
    /// Returns the link direction and the position of the capacity, if a schedule sets it.
    pub fn resized(&self) -> Option<(LinkLocation, Span)> {
        self.change.map(|_| (self.place, self.span))
    }

    /// Returns true if no flow uses this link direction, and the link has a delay.
    fn is_unused(&self, spec: &Spec, paths: &Paths) -> bool {
        let LinkLocation::Link(number, direction) = self.place else { return false };
        let Some(link) = spec.links.get(number) else { return false };
        let delay = link.forward.mean_delay() + link.backward.mean_delay();
        !delay.is_zero() && paths.largest_packet(number, direction == 1) == 0
    }

    /// Converts the capacity to packets or bytes.
    pub fn set_capacity(self, spec: &mut Spec, paths: &Paths, report: &mut Report) {
        let bdp = match self.place {
            LinkLocation::Link(link, direction) => paths.link_bdp(spec, link, direction == 1),
            LinkLocation::Access(group, line) => paths.access_bdp(spec, group, line),
        };
        let is_unused = self.is_unused(spec, paths);
        let Some(direction) = self.place.direction(spec) else { return };
        let rate = self.change.map_or_else(|| direction.nominal_rate(), |(_, rate)| rate);
        // A missing rate is reported elsewhere.
        let hollow = rate.is_zero() && matches!(self.capacity, Capacity::Bdp(_) | Capacity::Time(_));
        let limit = match self.capacity {
            Capacity::Packets(packets) => Limit::Packets(packets),
            Capacity::Bytes(bytes) => Limit::Bytes(bytes.get()),
            // Without a flow the round trip has no transmission times, and can be shorter than that of a packet.
            Capacity::Bdp(_) if self.is_default && bdp < MIN_BDP && is_unused => {
                Limit::Bytes(MIN_DEFAULT_QUEUE.get())
            }
            Capacity::Bdp(multiple) => Limit::Bytes((bdp.get() as f64 * multiple).round() as u64),
            Capacity::Time(time) => Limit::Bytes(rate.bytes_in(time).get()),
            Capacity::Unlimited => Limit::Unlimited,
        };
        if matches!(limit, Limit::Packets(0) | Limit::Bytes(0)) && !hollow {
            let code = "scenario.capacity";
            match self.capacity {
                Capacity::Bdp(multiple) if multiple > 0.0 && bdp == Bytes::ZERO => {
                    let subject = if self.is_default { "without `queue` it is" } else { "it is" };
                    let message = format!(
                        "the queue holds nothing: {subject} {multiple} bdp, and the path has no delay to multiply its rate with"
                    );
                    let help = "give the queue a size, such as queue = \"100 pkt\", or the link a `delay`";
                    report.error(code, self.span, message).help(help)
                }
                _ => report
                    .error(code, self.span, "the queue holds nothing")
                    .help("the smallest queue is \"1 pkt\""),
            };
        }
        match self.change.map(|(number, _)| direction.schedule.get_mut(number)) {
            None => direction.queue.set_limit(limit),
            Some(Some(change)) => change.queue = Some(limit),
            Some(None) => {}
        }
    }
}

impl Resolver<'_> {
    /// Resolves both directions of a link.
    pub(super) fn link_lines(
        &mut self,
        link: &Spanned<Link>,
        name: &str,
        document: &Document,
        number: usize,
        pending: &mut PendingItems,
    ) -> ([DirectionSpec; 2], LinkOrigin) {
        let mut forward = link.line.clone();
        // An unknown path could set any key.
        forward.broken |= link.broken;
        let path = link.path.as_ref().map(|at| self.known_path(at.value.0)).unwrap_or_default();
        forward.complete(&path.line);
        if let Some(line) = document.defaults.as_ref().and_then(|defaults| defaults.link.as_ref()) {
            forward.complete(line);
        }
        let mut backward = link.reverse.as_ref().map(|at| at.value.line.clone()).unwrap_or_default();
        let scheduled_rate = |line: &LinkDirection| {
            line.schedule.iter().flat_map(|at| &at.value).any(|entry| entry.rate.is_some())
        };
        if backward.rate.is_some() && backward.schedule.is_none() && scheduled_rate(&forward) {
            let span = backward.rate.as_ref().map_or(link.span, |rate| rate.span);
            self.report
                .warn("scenario.schedule", span, format!("the schedule of `{name}` changes this rate too"))
                .help("`reverse` may have a schedule of its own; `schedule = []` keeps its rate");
        }
        // The keys of the link apply to both directions, and take precedence over the path's keys for one.
        backward.complete(&link.line);
        backward.complete(&path.reverse.map(|at| at.value.line).unwrap_or_default());
        backward.complete(&forward);
        backward.leave_lists(link.reverse.as_ref().map(|at| &at.value.line));
        let spans = |line: &LinkDirection| {
            let rate = line.rate.as_ref().map(|at| at.span).or_else(|| line.trace.as_ref().map(|at| at.span));
            (
                rate.unwrap_or(link.span),
                line.queue.as_ref().map_or(link.span, |at| at.span),
                line.loss.as_ref().map_or(link.span, |at| at.span),
                line.schedule.as_ref().map(|at| at.span),
            )
        };
        let ((rate, queue, loss, schedule), (rate2, queue2, loss2, schedule2)) =
            (spans(&forward), spans(&backward));
        let both = |of: fn(&LinkDirection) -> Option<Span>| {
            [&forward, &backward].map(|line| of(line).filter(|span| !super::is_default(*span)))
        };
        let cost = [
            link.weight.as_ref().map(|at| at.span),
            link.reverse.as_ref().and_then(|at| at.value.weight.as_ref()).map(|at| at.span),
        ];
        let origin = LinkOrigin {
            weight: cost.map(|span| span.filter(|span| !super::is_default(*span))),
            shaper: both(|line| line.shaper.as_ref().map(|at| at.span)),
            black_hole: both(|line| line.black_hole.as_ref().map(|at| at.span)),
            ecn: both(|line| line.ecn.as_ref().map(|at| at.span)),
            rate: [rate, rate2],
            queue: [queue, queue2],
            loss: [loss, loss2],
            schedule: [schedule, schedule2],
        };
        let what = format!("the link `{name}`");
        let first =
            self.line(&forward, &what, link.span, "\"1 bdp\"", LinkLocation::Link(number, 0), pending);
        // Report errors common to both directions once.
        let errors = self.report.errors();
        let second = if link.reverse.is_some() || errors == 0 {
            self.line(&backward, &what, link.span, "\"1 bdp\"", LinkLocation::Link(number, 1), pending)
        } else {
            first.clone()
        };
        ([first, second], origin)
    }

    /// Decodes the keys of a named path, with a source of its own for messages.
    fn known_path(&mut self, path: &PathDescription) -> Link {
        let name = format!("path `{}`", path.name);
        let text = format!("between = [\"server\", \"user\"]\n{}", path.keys);
        let source = self.report.add_source(Source::new(&name, text));
        let table = parse(source, self.report);
        decode_fields(&table, Span::whole(source), &[], self.report).unwrap_or_default()
    }

    /// Resolves one link direction; `what` names it in messages.
    pub(super) fn line(
        &mut self,
        line: &LinkDirection,
        what: &str,
        span: Span,
        default_queue: &str,
        place: LinkLocation,
        pending: &mut PendingItems,
    ) -> DirectionSpec {
        let mut line = line.clone();
        line.inherit(LinkDirection::defaults());
        let capacity = line.trace.as_ref().and_then(|trace| self.capacity_trace(trace));
        if let (Some(rate), Some(_)) = (&line.rate, &line.trace) {
            let message = format!("{what} has a rate and a trace");
            self.report
                .error("scenario.conflict", rate.span, message)
                .help("the trace sets the rate: remove `rate`");
        }
        let rate = match (&line.rate, &capacity) {
            (_, Some(trace)) => trace.mean_rate(),
            (Some(rate), None) => rate.value,
            (None, None) => {
                if !line.broken && line.trace.is_none() {
                    let help = self.missing_key_help("rate = \"100 Mbit/s\"", span, place);
                    let subject = self.missing_key_subject(what, span);
                    self.report.error("scenario.missing", span, format!("{subject} `rate`")).help(help);
                }
                Rate::MAX
            }
        };
        if line.delay.is_none() && !line.broken {
            let help = self.missing_key_help("delay = \"10 ms\"", span, place);
            let why = self.topology.as_ref().filter(|topology| topology.source == span.source);
            let why = why.map_or_else(String::new, |topology| format!(": {}", topology.missing_delay_reason));
            let subject = self.missing_key_subject(what, span);
            self.report.error("scenario.missing", span, format!("{subject} `delay`{why}")).help(help);
        }
        let mut spec = DirectionSpec { rate, ..DirectionSpec::unlimited_rate(Duration::ZERO) };
        line.fill(&mut spec);
        let chances = [line.duplicate.as_ref(), line.corrupt.as_ref()];
        self.impairment(line.loss.as_ref(), line.reorder.as_ref(), chances, &mut spec.impairment);
        let entries: &[Spanned<ScheduleEntry>] = line.schedule.as_deref().map_or(&[], Vec::as_slice);
        let mut resized = Vec::new();
        spec.schedule = self.schedule(entries, rate, &spec.impairment, capacity.is_some(), &mut resized);
        spec.capacity = capacity;
        let queue = line.queue.clone().or_else(|| Self::default_queue(default_queue));
        spec.queue = self.queue(queue.as_ref(), span, place, pending);
        // Both are sorted by time.
        let places = (0..spec.schedule.len()).filter(|&number| spec.schedule[number].queue.is_some());
        for (number, (at, rate)) in places.zip(resized) {
            pending.queues.push(PendingQueue {
                place,
                capacity: at.value,
                span: at.span,
                is_default: false,
                change: Some((number, rate)),
            });
        }
        (spec.jitter, spec.variation) = self.jitter(line.jitter.as_ref());
        self.medium(&line, &spec);
        if let (Some(filter), false) = (&line.ack_filter, spec.may_filter()) {
            let span = if super::is_default(filter.span) { span } else { filter.span };
            self.report
                .error("scenario.conflict", span, "acknowledgements are filtered only in a queue \"fcfs\"")
                .help("leave `ack-filter` out, or give this direction such a queue");
        }
        spec
    }

    /// Describes the possible places of a missing key: links of a topology file have theirs in the scenario.
    fn missing_key_help(&self, key: &str, span: Span, place: LinkLocation) -> String {
        let defaults = place.defaults();
        match &self.topology {
            Some(topology) if topology.source == span.source => format!(
                "the file does not give it: network = {{ kind = \"file\", file = \"{}\", {key} }}, or {key} under {defaults}",
                topology.name
            ),
            _ => match &self.network_line {
                Some((network, Some(line))) if *network == span => {
                    format!("network = \"{line} {}\", or {key} under {defaults}", key.replace([' ', '"'], ""))
                }
                Some((network, None)) if *network == span => {
                    format!("{key} in this table, or under {defaults}")
                }
                _ => format!("such as {key}, here or under {defaults}"),
            },
        }
    }

    /// Returns the subject of a message on a missing key: links of a generated network have no text of their own.
    fn missing_key_subject(&self, what: &str, span: Span) -> String {
        match &self.network_line {
            Some((network, _)) if *network == span => "the links of this network need".to_owned(),
            _ => format!("{what} needs"),
        }
    }

    /// Reports invalid shapers, sleep states, aggregations and periodic variations, each at its key.
    fn medium(&mut self, line: &LinkDirection, spec: &DirectionSpec) {
        let start_delay = |part: StartDelaySpec| part.check().err();
        let (shaper, sleep) = (spec.start_delay.shaper, Arc::clone(&spec.start_delay.sleep));
        let faults = [
            (
                line.shaper.as_ref().map(|at| at.span),
                start_delay(StartDelaySpec { shaper, ..StartDelaySpec::default() }),
            ),
            (
                line.sleep.as_ref().map(|at| at.span),
                start_delay(StartDelaySpec { sleep, ..StartDelaySpec::default() }),
            ),
            (
                line.aggregation.as_ref().map(|at| at.span),
                spec.aggregation.and_then(|spec| spec.check().err()),
            ),
            (
                line.periodic_variation.as_ref().map(|at| at.span),
                spec.periodic_variation.and_then(|spec| spec.check().err()),
            ),
        ];
        for (span, fault) in faults {
            if let (Some(span), Some(fault)) = (span, fault) {
                let found = self.report.error("scenario.range", span, fault.to_string());
                if matches!(fault, SpecError::TooSmall { .. }) {
                    found.help(format!("the shortest is \"{}\"", PeriodicVariationSpec::MIN_PERIOD));
                }
            }
        }
        if let (Some(periodic_variation), Some(_)) = (&line.periodic_variation, spec.periodic_variation) {
            let sets_rate_or_delay = |change: &Change| change.rate.is_some() || change.delay.is_some();
            if spec.capacity.is_some() || spec.schedule.iter().any(sets_rate_or_delay) {
                self.report
                    .error(
                        "scenario.conflict",
                        periodic_variation.span,
                        "`periodic-variation` conflicts with a trace or a schedule that sets rate or delay",
                    )
                    .help("remove one of them; a schedule beside `periodic-variation` may change losses");
            }
        }
    }

    /// Returns the discipline; its capacity is settled later.
    fn queue(
        &mut self,
        queue: Option<&Spanned<Queue>>,
        span: Span,
        place: LinkLocation,
        pending: &mut PendingItems,
    ) -> DisciplineSpec {
        let limit = Limit::Unlimited;
        let Some(queue) = queue else { return DisciplineSpec::fcfs(limit) };
        pending.feedback.push(PendingFeedback { place, choice: queue.value.feedback().cloned(), span });
        if let Some(capacity) = queue.value.capacity() {
            let is_default = super::is_default(queue.span);
            let span = if is_default { span } else { queue.span };
            pending.queues.push(PendingQueue { place, capacity, span, is_default, change: None });
        }
        resolve_discipline(queue, self.report)
    }

    /// Returns the changes of a direction, sorted by time; an outage becomes a stop and a start.
    fn schedule(
        &mut self,
        entries: &[Spanned<ScheduleEntry>],
        rate: Rate,
        impairment: &thalweg_queue::ImpairmentSpec,
        traced: bool,
        resized: &mut Vec<(Spanned<Capacity>, Rate)>,
    ) -> Vec<Change> {
        let mut entries: Vec<&Spanned<ScheduleEntry>> =
            entries.iter().filter(|entry| entry.at.is_some()).collect();
        entries.sort_by_key(|entry| entry.at.as_deref().copied().unwrap_or_default());
        let (mut rate, mut impairment) = (rate, impairment.clone());
        let mut down_until = Duration::ZERO;
        let mut changes = Vec::new();
        for entry in entries {
            let at = entry.at.as_deref().copied().unwrap_or_default();
            if at < down_until && (entry.rate.is_some() || entry.outage.is_some()) {
                self.report.error("scenario.conflict", entry.span, "this change falls within an outage");
                continue;
            }
            let nothing = entry.rate.is_none()
                && entry.delay.is_none()
                && entry.jitter.is_none()
                && entry.queue.is_none()
                && entry.outage.is_none()
                && !entry.impairs()
                && !entry.broken;
            if nothing {
                self.report.error("scenario.missing", entry.span, "this schedule entry changes nothing");
            }
            if let (Some(new), true) = (&entry.rate, traced) {
                let help = "an `outage` stops a link with a trace";
                self.report
                    .error("scenario.conflict", new.span, "a link with a trace has no rate to change")
                    .help(help);
            }
            let mut change = Change {
                rate: entry.rate.as_deref().copied(),
                delay: entry.delay.as_deref().copied(),
                ..Change::at(Time::ZERO + at)
            };
            rate = change.rate.unwrap_or(rate);
            if entry.jitter.is_some() {
                let (span, variation) = self.jitter(entry.jitter.as_ref());
                change.jitter = Some(JitterChange { span, variation });
            }
            if let Some(queue) = &entry.queue {
                change.queue = Some(Limit::Unlimited);
                resized.push((queue.clone(), rate));
            }
            if entry.impairs() {
                impairment = self.changed_impairment(&impairment, entry);
                change.impairment = Some(impairment.clone());
            }
            if let Some(outage) = &entry.outage {
                if let Some(new) = &entry.rate {
                    self.report
                        .error("scenario.conflict", new.span, "an outage with a rate")
                        .help("give the outage alone");
                }
                down_until = at + outage.value;
                change.rate = Some(Rate::ZERO);
                changes.push(change);
                changes.push(Change { rate: Some(rate), ..Change::at(Time::ZERO + down_until) });
            } else {
                changes.push(change);
            }
        }
        // Changes of delay or loss during an outage belong between its stop and its start.
        changes.sort_by_key(|change| change.at);
        changes
    }
}

impl ScheduleEntry {
    /// Returns true if loss or another impairment changes.
    pub(super) fn impairs(&self) -> bool {
        let chances = self.duplicate.is_some() || self.corrupt.is_some();
        chances || self.loss.is_some() || self.reorder.is_some() || self.sets_any()
    }
}
