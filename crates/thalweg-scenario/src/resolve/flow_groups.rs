//! Resolution of flow groups: nodes, times, workloads and access links.

use super::super::key_bindings::FieldOf;
use super::super::keys::{
    Access, Document, Flow, FlowDefaults, LinkDirection, Load, Poisson, Side, SizeChoice, SizeTable,
    TableSize, TraceWorkload, Workload, WorkloadTable,
};
use super::super::source_text::Span;
use super::super::table_declarations::{Fields, Spanned};
use super::super::value_types::Name;
use super::link_direction::PendingItems;
use super::offered_load::PendingLoad;
use super::traffic_pattern::MAX_PAIRS;
use super::unresolved_link_direction::LinkLocation;
use super::{GroupOrigin, Origins, Resolver, processing_cost};
use std::collections::BTreeSet;
use std::sync::Arc;
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_sim::simulation_spec::{
    AccessSpec, GroupSpec, NodeId, SizeSpec, Spec, TransportSpec, WorkloadSpec,
};

/// Maximum number of suggested nodes with one label.
const MAX_SUGGESTED: usize = 3;

/// Maximum number of flow groups.
const MAX_GROUPS: usize = 1 << 13;

/// Maximum number of flows of a scenario.
const MAX_FLOWS: u64 = 1 << 26;

impl Resolver<'_> {
    /// Resolves all groups of flows.
    pub(super) fn groups(
        &mut self,
        document: &Document,
        spec: &mut Spec,
        origins: &mut Origins,
        pending: &mut PendingItems,
    ) {
        let flows: &[Spanned<Flow>] = document.flow.as_deref().map_or(&[], Vec::as_slice);
        if flows.len() > MAX_GROUPS {
            let message = format!("there are more than {MAX_GROUPS} groups of flows");
            self.report
                .error("scenario.range", flows[MAX_GROUPS].span, message)
                .help("a group may have a `count`");
            return;
        }
        let mut shared = document
            .defaults
            .as_ref()
            .and_then(|defaults| defaults.flow.as_ref())
            .map(|at| at.value.clone())
            .unwrap_or_default();
        shared.inherit(FlowDefaults::defaults());
        let mut names = BTreeSet::new();
        let (mut total, mut pairs) = (0, 0);
        spec.groups.reserve(flows.len());
        origins.groups.reserve(flows.len());
        for (number, flow) in flows.iter().enumerate() {
            let name = flow
                .name
                .as_ref()
                .map_or_else(|| format!("flow-{}", number + 1), |name| name.value.0.clone());
            if !names.insert(name.clone()) {
                let span = flow.name.as_ref().map_or(flow.span, |name| name.span);
                self.report.error("scenario.duplicate", span, format!("there is another flow `{name}`"));
            }
            let group = self.group(flow, name, &shared, document, spec.groups.len(), pending);
            let Some((group, origin)) = group else { continue };
            if let Some(fault) = group.host_fault(&spec.nodes) {
                let message = format!("the hosts of `{}`: {fault}", group.name);
                self.report.error("scenario.host", origin.host, message);
            }
            total += u64::from(group.count);
            pairs += group.node_pairs().len();
            if pairs > 2 * MAX_GROUPS.max(MAX_PAIRS) {
                let message = "the flows are between too many pairs of nodes";
                self.report.error("scenario.range", origin.count, message);
                return;
            }
            if total > MAX_FLOWS {
                self.report.error(
                    "scenario.range",
                    origin.count,
                    format!("there are more than {MAX_FLOWS} flows"),
                );
                return;
            }
            spec.groups.push(group);
            origins.groups.push(origin);
        }
    }

    fn group(
        &mut self,
        flow: &Spanned<Flow>,
        name: String,
        shared: &FlowDefaults,
        document: &Document,
        number: usize,
        pending: &mut PendingItems,
    ) -> Option<(GroupSpec, GroupOrigin)> {
        let mut keys = flow.shared.clone();
        merge_access(&mut keys.access, &shared.access);
        keys.inherit(shared);
        let seed = document.seed.as_deref().copied().unwrap_or_default();
        let list = match keys.workload.as_deref() {
            Some(Workload::Table(WorkloadTable::List(table))) => {
                table.file.as_ref().map(|file| (table, file))
            }
            _ => None,
        };
        let (pairs, listed) = match list {
            Some((table, file)) => {
                let (pairs, list) = self.listed(flow, table, file)?;
                (Some(pairs), Some(WorkloadSpec::List(Arc::new(list))))
            }
            None => (self.pairs(flow, &name, seed), None),
        };
        if pairs.iter().flatten().any(|[from, to]| from == to) && keys.access.is_none() {
            let span = flow.to.as_ref().map_or(flow.span, |to| to.span);
            let message = format!("the flow `{name}` ends where it begins");
            self.report
                .error("scenario.route", span, message)
                .help("with `access`, its hosts have lines of their own");
        }
        if let Some(at) = flow.count.as_ref().filter(|at| at.value == 0) {
            self.report.error("scenario.range", at.span, "a group must have at least one flow");
        }
        let scheme = keys.scheme.as_ref();
        let former = self.replaced.get(&number).map(|own| own.clone().or_else(|| shared.scheme.clone()));
        let transport = scheme.and_then(|scheme| self.transport(scheme, former.flatten().as_ref(), document));
        pending.schemes.extend(self.unsettled.take().map(|table| table.of_group(number)));
        let workload = listed.or_else(|| self.workload(keys.workload.as_ref()?));
        let in_use = self.in_use.take().map(|scheme| (number, scheme.with(workload.as_ref())));
        self.schemes_in_use.extend(in_use);
        pending.loads.extend(self.pending_load.take().map(|load| PendingLoad { group: number, ..load }));
        if let (Some(transport), Some(workload)) = (&transport, &workload) {
            let span = keys.workload.as_ref().map_or(flow.span, |at| at.span);
            self.reject_unbounded_workload(transport, workload, span_or(span, flow.span));
        }
        let access = keys.access.as_ref().map(|access| self.access(access, &name, number, pending));
        let span_of = |at: &Option<Spanned<Duration>>| at.as_ref().map_or(flow.span, |at| at.span);
        let origin = GroupOrigin {
            table: flow.span,
            count: flow.count.as_ref().map_or(flow.span, |at| at.span),
            start: span_or(span_of(&keys.start), flow.span),
            stop: span_or(span_of(&keys.stop), flow.span),
            scheme: span_or(scheme.map_or(flow.span, |scheme| scheme.span), flow.span),
            reading: span_or(keys.reading.as_ref().map_or(flow.span, |at| at.span), flow.span),
            host: span_or(keys.host.as_ref().map_or(flow.span, |at| at.span), flow.span),
            access: keys.access.as_ref().map_or(flow.span, |at| at.span),
            stagger: flow.shared.stagger.as_ref().map(|at| at.span),
            misbehaviour: keys.misbehaviour.as_ref().map(|at| at.span),
            has_explicit_overhead: keys.overhead.as_ref().is_some_and(|at| !super::is_default(at.span)),
        };
        let pairs = pairs?;
        let mut group = GroupSpec::new(name, pairs[0], transport?, workload?);
        flow.fill(&mut group);
        if pairs.len() > 1 {
            // The count saturates: a later check rejects too many flows.
            group.count = group.count.saturating_mul(u32::try_from(pairs.len()).unwrap_or(u32::MAX));
            group.pairs = pairs.into();
        }
        keys.fill(&mut group);
        group.access = access;
        group.reading = keys.reading.as_ref().and_then(|reading| self.reading(reading));
        if let WorkloadSpec::List(list) = &group.workload
            && list.flows() > group.count
        {
            let message = format!(
                "there are transfers of flow {}, but `{}` has {} flows",
                list.flows(),
                group.name,
                group.count
            );
            let span = keys.workload.as_ref().map_or(flow.span, |at| at.span);
            self.report.error("scenario.range", span_or(span, flow.span), message);
        }
        if let Some(fault) = group.reading_fault() {
            self.report.error("scenario.reading", origin.reading, format!("`{}`: {fault}", group.name));
        }
        if let Some(fault) = group.misbehaviour_fault() {
            let span = keys.misbehaviour.as_ref().map_or(flow.span, |at| at.span);
            let message = format!("`{}`: {fault}", group.name);
            self.report.error("scenario.misbehaviour", span_or(span, flow.span), message);
        }
        Some((group, origin))
    }

    pub(super) fn node(&mut self, name: &Spanned<Name>) -> Option<NodeId> {
        let found = self.nodes.get(&name.value.0).copied();
        if found.is_none() && !self.nodes_incomplete {
            let message = format!("there is no node `{}`", name.value.0);
            let valid = self.nodes.keys().map(String::as_str);
            // Nodes of topology files with one label have names that begin with it.
            let start = format!("{}-", name.value.0);
            let alike: Vec<String> = valid
                .clone()
                .filter(|node| node.starts_with(&start))
                .map(|node| format!("`{node}`"))
                .collect();
            let found = self.report.error("scenario.unknown-name", name.span, message);
            if alike.is_empty() {
                found.names(&name.value.0, valid).help("a node is declared by its name in a link");
            } else {
                let more = if alike.len() > MAX_SUGGESTED { ", ..." } else { "" };
                let label =
                    format!("did you mean {}{more}?", alike[..alike.len().min(MAX_SUGGESTED)].join(" or "));
                found.label(label).help("nodes of a file with the same label are named by label and id");
            }
        }
        found
    }

    /// Rejects workloads that would send endlessly at one instant, and rounds that never end.
    fn reject_unbounded_workload(&mut self, transport: &TransportSpec, workload: &WorkloadSpec, span: Span) {
        if matches!(workload, WorkloadSpec::Rounds { .. }) && !transport.properties().is_reliable() {
            let message = format!(
                "{} does not repair losses: a round would wait forever for a lost block",
                transport.scheme
            );
            self.report
                .error("scenario.endless", span, message)
                .help("rounds need a transport that delivers everything, such as `cubic`");
        }
        let greedy = matches!(
            workload,
            WorkloadSpec::Bulk | WorkloadSpec::Deliver(_) | WorkloadSpec::OnOff { rate: None, .. }
        );
        if greedy && transport.properties().is_unbounded() {
            let scheme = &transport.scheme;
            let mut help = "give the workload a `rate`".to_owned();
            if let Some(key) = transport.properties().rates().key {
                help += &format!(", or the scheme its `{key}`");
                // A scheme with another name is already a table.
                if self.report.registry().scheme(scheme).is_some() {
                    help += &format!(", such as scheme = {{ base = \"{scheme}\", {key} = \"1 Mbit/s\" }}");
                }
            }
            let message = format!("{scheme} has no window: this workload would send without end");
            self.report.error("scenario.endless", span, message).help(help);
        }
    }

    fn access(
        &mut self,
        access: &Spanned<Access>,
        name: &str,
        number: usize,
        pending: &mut PendingItems,
    ) -> AccessSpec {
        let mut side = |side: &Option<Spanned<Side>>, which: &str, first: usize| {
            let mut table = side.as_ref().map(|at| at.value.clone()).unwrap_or_default();
            table.line.complete(&access.line);
            let span = side.as_ref().map_or(access.span, |at| at.span);
            let which = if side.is_some() { which } else { "" };
            let what = format!("the {which}access of `{name}`");
            let errors = self.report.errors();
            let mut reverse: LinkDirection =
                table.reverse.as_ref().map(|at| at.value.clone()).unwrap_or_default();
            reverse.complete(&table.line);
            reverse.leave_lists(table.reverse.as_ref().map(|at| &at.value));
            let forward = self.line(
                &table.line,
                &what,
                span,
                "\"unlimited\"",
                LinkLocation::Access(number, first),
                pending,
            );
            let backward = if self.report.errors() == errors || table.reverse.is_some() {
                self.line(
                    &reverse,
                    &what,
                    span,
                    "\"unlimited\"",
                    LinkLocation::Access(number, first + 1),
                    pending,
                )
            } else {
                forward.clone()
            };
            (forward, backward, processing_cost(table.processing.as_ref()))
        };
        let (source_forward, source_backward, source_processing) = side(&access.source, "source ", 0);
        let (sink_forward, sink_backward, sink_processing) = side(&access.sink, "sink ", 2);
        AccessSpec {
            source_forward,
            source_backward,
            sink_forward,
            sink_backward,
            source_processing,
            sink_processing,
        }
    }

    fn workload(&mut self, workload: &Spanned<Workload>) -> Option<WorkloadSpec> {
        let table = match &workload.value {
            Workload::Bulk => return Some(WorkloadSpec::Bulk),
            Workload::Transfer(size) => return self.transfer(*size, workload.span),
            Workload::Table(table) => table.clone(),
        };
        match &table {
            WorkloadTable::Transfer(table) => {
                return self.transfer(table.size.as_ref()?.value, workload.span);
            }
            WorkloadTable::Deliver(table) => self.reject_empty_write(table.size.as_ref())?,
            WorkloadTable::Telnet(table) => {
                if let Some(gap) = table.gap.as_ref().filter(|gap| gap.value.is_zero()) {
                    let help = "a source that always has more to send is \"bulk\"";
                    self.report.error("scenario.range", gap.span, "a gap must be above 0").help(help);
                }
                self.reject_empty_write(table.packet.as_ref())?;
            }
            WorkloadTable::OnOff(table) => {
                if let Some(on) = table.on.as_ref().filter(|on| on.value.is_zero()) {
                    self.report.error("scenario.range", on.span, "a source that is never on sends nothing");
                }
                self.sends(table.rate.as_ref())?;
                self.reject_empty_write(table.packet.as_ref())?;
                if let Some(shape) = &table.shape {
                    if !(shape.value.0 > 1.0 && shape.value.0 <= MAX_SHAPE) {
                        let message = format!("a shape must be above 1, and at most {MAX_SHAPE}");
                        self.report
                            .error("scenario.range", shape.span, message)
                            .help("at 1 or below Pareto distributions have no mean; 1.5 is one for self-similar traffic");
                        return None;
                    }
                    if table.random.as_ref().is_some_and(|random| random.value) {
                        self.report
                            .error(
                                "scenario.conflict",
                                shape.span,
                                "times are exponential (`random`) or Pareto (`shape`)",
                            )
                            .help("leave one of them out");
                        return None;
                    }
                }
            }
            WorkloadTable::ConstantRate(table) => {
                self.reject_empty_write(table.packet.as_ref())?;
                self.sends(table.rate.as_ref())?;
            }
            WorkloadTable::List(table) => match &table.transfers {
                None if !table.broken => {
                    self.report.error("scenario.missing", workload.span, "give either `file` or `transfers`");
                }
                Some(transfers) if transfers.value.0.all().is_empty() => {
                    self.report.error("scenario.missing", transfers.span, "this list has no transfers");
                }
                _ => {}
            },
            WorkloadTable::Poisson(table) => return self.poisson(table, workload.span),
            WorkloadTable::RequestResponse(table) => {
                self.reject_empty_write(table.request.as_ref())?;
                let response = self.size(table.response.as_ref()?)?;
                let request = table.request.as_ref()?.value;
                let think = table.think.as_ref().map_or(Duration::ZERO, |at| at.value);
                return Some(WorkloadSpec::RequestResponse { request, response, think });
            }
            WorkloadTable::Rounds(table) => {
                self.reject_empty_write(table.size.as_ref())?;
                if let Some(rounds) = table.rounds.as_ref().filter(|rounds| rounds.value == 0) {
                    self.report.error(
                        "scenario.range",
                        rounds.span,
                        "the number of rounds must be at least 1",
                    );
                    return None;
                }
            }
            WorkloadTable::Trace(table) => return self.writes(table, workload.span),
        }
        table.spec()
    }

    fn poisson(&mut self, table: &Poisson, span: Span) -> Option<WorkloadSpec> {
        let size = self.size(table.size.as_ref()?)?;
        let (gap, span) = match (&table.gap, &table.load) {
            (Some(gap), None) => (gap.value, gap.span),
            (None, Some(Spanned { value: Load::Share(share), span })) => {
                if share.0 <= 0.0 {
                    self.report.error("scenario.range", *span, "a source at this rate never sends");
                    return None;
                }
                self.pending_load = Some(PendingLoad { share: share.0, span: *span, group: 0 });
                // A placeholder until the path is known.
                (Duration::from_secs(1), *span)
            }
            (None, Some(load @ Spanned { value: Load::Rate(rate), .. })) => {
                self.sends(Some(&Spanned { value: *rate, span: load.span }))?;
                (Duration::from_secs_f64(size.mean() * 8.0 / rate.as_f64()), load.span)
            }
            _ => {
                if !table.broken {
                    self.report.error("scenario.missing", span, "give either `gap` or `load`");
                }
                return None;
            }
        };
        if gap.is_zero() {
            let message = "transfers would arrive all at once, without end";
            self.report.error("scenario.range", span, message);
        }
        Some(WorkloadSpec::Poisson { gap, size })
    }

    fn writes(&mut self, table: &TraceWorkload, span: Span) -> Option<WorkloadSpec> {
        let writes = match (&table.file, &table.writes) {
            (Some(file), None) => self.writes_file(file)?,
            (None, Some(writes)) => {
                writes.value.iter().map(|write| ((write.value.0, write.value.1), write.span)).collect()
            }
            _ => {
                if !table.broken {
                    self.report.error("scenario.missing", span, "give either `file` or `writes`");
                }
                return None;
            }
        };
        if writes.is_empty() && table.writes.is_some() {
            self.report.error("scenario.missing", span, "this list has no writes");
        }
        if let Some(pair) = writes.windows(2).find(|pair| pair[0].0.0 > pair[1].0.0) {
            let message = format!("times ascend, but {} follows {}", pair[1].0.0, pair[0].0.0);
            self.report.error("scenario.range", pair[1].1, message);
        }
        Some(WorkloadSpec::Trace(writes.into_iter().map(|(write, _)| write).collect()))
    }

    fn transfer(&mut self, size: Bytes, span: Span) -> Option<WorkloadSpec> {
        if size == Bytes::ZERO {
            self.report.error("scenario.range", span, "a transfer must have at least 1 B");
            return None;
        }
        Some(WorkloadSpec::Transfer(size))
    }

    /// Rejects a write of zero bytes.
    fn reject_empty_write(&mut self, at: Option<&Spanned<Bytes>>) -> Option<()> {
        let Some(at) = at.filter(|at| at.value == Bytes::ZERO) else { return Some(()) };
        self.report.error("scenario.range", at.span, "a write must have at least 1 B");
        None
    }

    /// Rejects a rate of zero.
    fn sends(&mut self, at: Option<&Spanned<Rate>>) -> Option<()> {
        let Some(at) = at.filter(|at| at.value.is_zero()) else { return Some(()) };
        self.report.error("scenario.range", at.span, "a source at this rate never sends");
        None
    }

    /// Returns the size distribution from a file, or from a list.
    fn size_table(&mut self, table: &TableSize, span: Span) -> Option<SizeSpec> {
        let points = match (&table.file, &table.sizes) {
            (Some(file), None) => self.sizes_file(file)?,
            (None, Some(sizes)) => {
                sizes.value.iter().map(|point| ((point.value.0, point.value.1), point.span)).collect()
            }
            _ => {
                if !table.broken {
                    self.report.error("scenario.missing", span, "give either `file` or `sizes`");
                }
                return None;
            }
        };
        let spans: Vec<Span> = points.iter().map(|point| point.1).collect();
        let points: Vec<(Bytes, f64)> = points.into_iter().map(|point| point.0).collect();
        if let Some((number, fault)) = SizeSpec::table_fault(&points) {
            let help =
                "each is a size and the share of transfers that are not larger, such as 10 kB and 15 %";
            self.report.error("scenario.range", spans.get(number).copied().unwrap_or(span), fault).help(help);
            return None;
        }
        Some(SizeSpec::Table(points.into()))
    }

    fn size(&mut self, size: &Spanned<SizeChoice>) -> Option<SizeSpec> {
        let number = match &size.value {
            SizeChoice::Table(SizeTable::Pareto(table)) => table
                .shape
                .as_ref()
                .filter(|shape| shape.value.0 <= 0.0)
                .map(|at| (at, "the shape must be above 0")),
            SizeChoice::Table(SizeTable::LogNormal(table)) => {
                let sigma = table.sigma.as_ref().filter(|sigma| sigma.value.0 < 0.0);
                sigma.map(|at| (at, "a standard deviation must not be below 0"))
            }
            _ => None,
        };
        if let Some((at, fault)) = number {
            self.report.error("scenario.range", at.span, fault);
            return None;
        }
        if let SizeChoice::Table(SizeTable::Table(table)) = &size.value {
            return self.size_table(table, size.span);
        }
        let spec = SizeSpec::from_key(Some(&size.value))?;
        let fault = match &spec {
            SizeSpec::Fixed(size)
            | SizeSpec::Exponential { mean: size }
            | SizeSpec::LogNormal { median: size, .. } => {
                (*size == Bytes::ZERO).then_some("a size has at least 1 B")
            }
            SizeSpec::Pareto { min, max, .. } | SizeSpec::Uniform { min, max } => {
                (*min == Bytes::ZERO || max < min).then_some("min must be at least 1 B and not above max")
            }
            SizeSpec::Table(_) => None,
        };
        if let Some(fault) = fault {
            self.report.error("scenario.range", size.span, fault);
            return None;
        }
        Some(spec)
    }
}

/// Returns the position of a value, or of its table if the value is a default.
fn span_or(span: Span, table: Span) -> Span {
    if super::is_default(span) { table } else { span }
}

/// Inherits unset keys of a flow's access links from the common ones, host by host and key by key.
fn merge_access(own: &mut Option<Spanned<Access>>, common: &Option<Spanned<Access>>) {
    let (Some(access), Some(common)) = (own.as_mut(), common) else { return };
    for (side, common) in
        [(&mut access.value.source, &common.value.source), (&mut access.value.sink, &common.value.sink)]
    {
        if let (Some(side), Some(common)) = (side.as_mut(), common) {
            side.value.line.complete(&common.value.line);
            side.value.inherit(&common.value);
        } else if side.is_none() {
            side.clone_from(common);
        }
    }
    access.value.line.complete(&common.value.line);
}

/// Maximum shape of Pareto distributions of times: they are nearly constant.
const MAX_SHAPE: f64 = 1000.0;
