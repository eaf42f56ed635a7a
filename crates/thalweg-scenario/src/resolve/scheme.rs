//! Resolves the keys of schemes to their configuration.

use super::super::diagnostic::Report;
use super::super::explicit_options::ExplicitOptions;
use super::super::keys::{Common, Document, SchemeRef, SchemeTable};
use super::super::path_properties::Paths;
use super::super::source_text::Span;
use super::super::table_declarations::Spanned;
use super::super::value_types::split_options;
use super::Resolver;
use std::collections::BTreeSet;
use std::sync::Arc;
use thalweg_catalog::spelling_suggestions::live_only;
use thalweg_catalog::{EndpointConfigs, PathHints, SchemeDescription, TextError, Values};
use thalweg_sim::simulation_spec::{Spec, TransportSpec, WorkloadSpec};

/// The scheme of a group, with the values set by a scenario.
#[derive(Clone, Debug)]
pub struct SchemeInUse {
    /// The description.
    pub description: &'static SchemeDescription,
    /// The values set, and the defaults for all others.
    pub values: Values,
    /// True if the application pauses or sends parts of segments.
    pub pauses: bool,
    /// True if the path of some flow of the group reorders packets.
    pub reorders: bool,
}

impl SchemeInUse {
    /// Returns the scheme as used by an application with this workload.
    pub(super) fn with(self: Arc<Self>, workload: Option<&WorkloadSpec>) -> Arc<Self> {
        let pauses = workload.is_some_and(|workload| match workload {
            // Each transfer has its own connection and no pause.
            WorkloadSpec::Bulk
            | WorkloadSpec::Transfer(_)
            | WorkloadSpec::Deliver(_)
            | WorkloadSpec::Poisson { .. }
            | WorkloadSpec::List(_) => false,
            WorkloadSpec::Rounds { .. }
            | WorkloadSpec::Telnet { .. }
            | WorkloadSpec::OnOff { .. }
            | WorkloadSpec::ConstantRate { .. }
            | WorkloadSpec::RequestResponse { .. }
            | WorkloadSpec::Trace(_) => true,
        });
        if pauses { Arc::new(Self { pauses, ..Self::clone(&self) }) } else { self }
    }
}

/// A scheme that is pending until the path of its group is known.
#[derive(Debug)]
pub(super) struct PendingScheme {
    group: usize,
    scheme: String,
    description: &'static SchemeDescription,
    explicit_options: ExplicitOptions,
    span: Span,
}

impl Resolver<'_> {
    /// Returns the transport of a flow, whose scheme may override a `former` one.
    pub(super) fn transport(
        &mut self,
        scheme: &Spanned<SchemeRef>,
        former: Option<&Spanned<SchemeRef>>,
        document: &Document,
    ) -> Option<TransportSpec> {
        let former = former.and_then(|former| self.in_place(former));
        let (name, mut table, span) = match &scheme.value {
            SchemeRef::Name(name) => {
                if let Some((transport, scheme)) = self.transports.get(&name.0).filter(|_| former.is_none()) {
                    self.in_use = Some(Arc::clone(scheme));
                    return Some(transport.clone());
                }
                let options = split_options(&name.0).filter(|_| !self.schemes.contains_key(&name.0));
                let (table, span) = match options {
                    Some((base, options)) => (self.with_options(base, options, scheme.span)?, scheme.span),
                    None => self.scheme_by_name(&name.0, scheme.span)?,
                };
                (name.0.clone(), table, span)
            }
            SchemeRef::Table(name, table) => (name.0.clone(), table.clone(), scheme.span),
        };
        let shared = document.defaults.as_ref().and_then(|defaults| defaults.scheme.as_ref());
        let is_named = former.is_none() && matches!(scheme.value, SchemeRef::Name(_));
        if let Some(former) = former {
            let is_same = former.description.name == table.description.name;
            self.replaced_options.extend(table.explicit_options.inherit_options(
                former.description.name,
                &former.explicit_options,
                is_same,
            ));
        }
        self.build(name, is_named, table, shared.map(|at| &at.value), span)
    }

    /// Reports mistakes in the default scheme of flows, which no flow uses.
    pub(super) fn check_unused_scheme(&mut self, document: &Document) {
        let defaults = document.defaults.as_ref().and_then(|defaults| defaults.flow.as_ref());
        let Some(scheme) = defaults.and_then(|flow| flow.scheme.as_ref()) else { return };
        self.transport(scheme, None, document);
        // It is not a group's.
        (self.in_use, self.unsettled) = (None, None);
    }

    /// Warns of each argument for all schemes that no scheme of a flow has inherited. Files have such defaults for runs with
    /// other schemes, too.
    pub(super) fn warn_unused_scheme_defaults(&mut self, document: &Document) {
        let shared = document.defaults.as_ref().and_then(|defaults| defaults.scheme.as_ref());
        let is_final = self.replaced.is_empty() && self.report.errors() == 0;
        let Some(Spanned { value: Common(shared), .. }) = shared.filter(|_| is_final) else { return };
        let table = |name: &'static str| name.split_once('.').map_or(name, |(table, _)| table);
        let used: BTreeSet<&str> = self.inherited.iter().map(|name| table(name)).collect();
        for (name, span) in &shared.spans {
            // The keys of a table are inherited together.
            let is_reported = table(name) != *name && shared.spans.contains_key(table(name));
            let is_argument = self.report.source(span.source).is_argument();
            if is_argument && !is_reported && !used.contains(table(name)) {
                let message = format!(
                    "this default is not used: no scheme of a flow takes `{name}`, or each has its own"
                );
                self.report.warn("scenario.unused-default", *span, message);
            }
        }
    }

    /// Returns the scheme with the inline options of a flow; `None` without any.
    fn in_place(&mut self, scheme: &Spanned<SchemeRef>) -> Option<SchemeTable> {
        match &scheme.value {
            SchemeRef::Table(_, table) => Some(table.clone()),
            SchemeRef::Name(name) => {
                let (base, options) =
                    split_options(&name.0).filter(|_| !self.schemes.contains_key(&name.0))?;
                self.with_options(base, options, scheme.span)
            }
        }
    }

    /// Returns the scheme named `name`, and the position of its table.
    fn scheme_by_name(&mut self, name: &str, span: Span) -> Option<(SchemeTable, Span)> {
        self.used_schemes.insert(name.to_owned());
        match self.schemes.get(name) {
            Some(Some(table)) => Some((table.value.clone(), table.span)),
            Some(None) => None, // An invalid scheme has already been reported.
            None => match self.report.registry().scheme(name) {
                Some(description) => Some((SchemeTable::builtin(description), span)),
                None => {
                    self.no_scheme(name, span);
                    None
                }
            },
        }
    }

    /// Returns the scheme with options, which take precedence over all other values.
    fn with_options(&mut self, name: &str, options: &str, span: Span) -> Option<SchemeTable> {
        let (mut table, _) = self.scheme_by_name(name, span)?;
        let options = self.options_with_spans(options, span);
        let Err(errors) = table.explicit_options.change(table.description.name, &options) else {
            return Some(table);
        };
        for (error, span) in errors {
            let what = error.to_string();
            match &error {
                TextError::Option { of, given_text: given, known } => {
                    let what = format!("{of} has no option `{given}`");
                    let draft = self.report.error("scenario.unknown-key", span, what);
                    draft.names(given, known.iter().copied());
                }
                TextError::Twice(_) => {
                    self.report.error("scenario.duplicate", span, what);
                }
                _ => {
                    self.report.error("scenario.range", span, what);
                }
            }
        }
        None
    }

    /// Splits the options of a scheme, whose name and options are at `span`, with the span of each option; that of the whole
    /// where the source has the text in another form.
    fn options_with_spans<'a>(&self, options: &'a str, span: Span) -> Vec<(&'a str, Span)> {
        let whole = span.start as usize..span.end as usize;
        let text = self.report.source(span.source).text().get(whole).unwrap_or_default();
        let first = text.find(options).map(|at| span.start as usize + at);
        let mut before = 0;
        let with_span = |option: &'a str| {
            let lead = option.len() - option.trim_start().len();
            let start = first.map(|first| first + before + lead);
            before += option.len() + 1;
            let of_option = |start| Span::new(span.source, start..start + option.trim().len());
            (option, start.map_or(span, of_option))
        };
        options.split(',').map(with_span).collect()
    }

    fn no_scheme(&mut self, name: &str, span: Span) {
        let registry = Arc::clone(self.report.registry());
        let own = self.schemes.keys().map(String::as_str);
        let valid = registry.schemes().iter().map(|of| of.name).chain(own);
        let message = format!("there is no scheme `{name}`");
        let draft = self.report.error("scenario.unknown-name", span, message);
        match live_only(name) {
            Some(hint) => draft.help(hint),
            None => draft.names(name, valid),
        };
    }

    fn build(
        &mut self,
        scheme: String,
        is_named: bool,
        table: SchemeTable,
        shared: Option<&Common>,
        span: Span,
    ) -> Option<TransportSpec> {
        let SchemeTable { description, explicit_options: mut given } = table;
        if let Some(Common(shared)) = shared {
            let before = given.shared.clone();
            given.inherit(shared);
            self.inherited.extend(given.shared.difference(&before));
        }
        let conflicts = description.conflicts(&given.values);
        for fault in &conflicts {
            given.report(fault, span, self.report);
        }
        if given.broken {
            return None; // The error has already been reported.
        }
        // Values that depend on the path are set once it is known.
        let path = PathHints { memory: u64::MAX, ..PathHints::default() };
        let ends = match (description.make_endpoint_configs)(&given.values, &path) {
            Ok(ends) => ends,
            Err(fault) => {
                given.report(&fault, span, self.report);
                return None;
            }
        };
        let transport = transport_spec(&scheme, ends, &given.values);
        let in_use = Arc::new(SchemeInUse {
            description,
            values: given.values.clone(),
            pauses: false,
            reorders: false,
        });
        if is_named && conflicts.is_empty() && !description.traits.config_depends_on_path {
            self.transports.insert(scheme.clone(), (transport.clone(), Arc::clone(&in_use)));
        }
        self.in_use = Some(in_use);
        if description.traits.config_depends_on_path {
            self.unsettled =
                Some(PendingScheme { group: 0, scheme, description, explicit_options: given, span });
        }
        Some(transport)
    }
}

impl PendingScheme {
    /// Assigns the scheme to a group of the scenario.
    pub fn of_group(self, group: usize) -> Self {
        Self { group, ..self }
    }

    /// Sets the values that depend on the group's path.
    pub fn apply(self, spec: &mut Spec, paths: &Paths, report: &mut Report) {
        let path = paths.groups.get(self.group).and_then(Option::as_ref);
        let Some((path, group)) = path.zip(spec.groups.get_mut(self.group)) else { return };
        let path = PathHints {
            rate: Some(path.rate),
            rtt: Some(path.rtt),
            memory: u64::MAX,
            ..PathHints::default()
        };
        match (self.description.make_endpoint_configs)(&self.explicit_options.values, &path) {
            Ok(ends) => group.transport = transport_spec(&self.scheme, ends, &self.explicit_options.values),
            Err(fault) => self.explicit_options.report(&fault, self.span, report),
        }
        for warning in (self.description.warnings)(&self.explicit_options.values, &path) {
            self.explicit_options.report(&warning, self.span, report);
        }
    }
}

/// Returns the transport with its header sizes; for a scheme without such keys, the sizes of IP and UDP.
fn transport_spec(scheme: &str, ends: EndpointConfigs, values: &Values) -> TransportSpec {
    let header: u32 = values.optional("header").unwrap_or(IP_AND_UDP);
    TransportSpec::new(scheme, ends, header, values.optional("ack").unwrap_or(header))
}

/// Size of the IP and UDP headers, in bytes.
const IP_AND_UDP: u32 = 28;
