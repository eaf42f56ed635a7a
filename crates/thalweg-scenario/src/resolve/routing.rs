//! Resolves the keys of routing and link failures to their specification.

use super::super::keys::{Document, Failure};
use super::super::table_declarations::Spanned;
use super::{Origins, Resolver};
use thalweg_proto::units::Time;
use thalweg_sim::simulation_spec::{FailureSpec, Multipath, Spec};

/// Maximum number of failures: routes are recomputed after each.
const MAX_FAILURES: usize = 1000;

impl Resolver<'_> {
    /// Resolves the routing, once links and flows are known.
    pub(super) fn routing(&mut self, document: &Document, spec: &mut Spec, origins: &mut Origins) {
        if let Some(routing) = &document.routing {
            origins.reroute =
                routing.reroute.as_ref().map(|at| at.span).filter(|span| !super::is_default(*span));
            routing.fill(&mut spec.routing);
        }
        for failure in document.failure.as_deref().map_or(&[][..], Vec::as_slice) {
            self.failure(failure, spec);
            if spec.routing.failures.len() > MAX_FAILURES {
                let message = format!("there are more than {MAX_FAILURES} failures of links");
                self.report.error("scenario.range", failure.span, message);
                return;
            }
        }
    }

    /// Reports a conflict of `of`, a link or a group of flows, with the routing.
    pub(super) fn routing_fault(
        &mut self,
        document: &Document,
        spec: &Spec,
        origins: &Origins,
        of: &str,
        why: &str,
    ) {
        let message = format!("`{of}`: {why}");
        let several = document.routing.as_ref().and_then(|routing| routing.paths.as_ref());
        let several = several.filter(|_| spec.routing.paths != Multipath::One).map(|paths| paths.span);
        let failures = document.failure.as_deref().map_or(&[][..], Vec::as_slice);
        if let Some(span) = several.or_else(|| Some(failures.first()?.span)) {
            let help = format!("remove this, or disable the feedback of `{of}`: `feedback = \"none\"`");
            self.report.error("scenario.routing", span, message).help(help);
            return;
        }
        let group = spec.groups.iter().zip(&origins.groups).find(|(group, _)| group.name == of);
        let span = group.map_or(origins.file_span, |(_, origin)| origin.table);
        self.report.error("scenario.routing", span, message);
    }

    fn failure(&mut self, failure: &Spanned<Failure>, spec: &mut Spec) {
        let Some(at) = failure.at.as_ref() else { return };
        if let Some(lasts) = failure.lasts.as_ref().filter(|lasts| lasts.value.is_zero()) {
            self.report.error("scenario.range", lasts.span, "a failure must last some time");
        }
        let begins = Time::ZERO + at.value;
        let until = failure.lasts.as_ref().map(|lasts| begins + lasts.value);
        let links = (0..).zip(&spec.links);
        let failed: Vec<u32> = match (&failure.link, &failure.node) {
            (Some(name), None) => {
                let found = links.clone().find(|(_, link)| link.name == name.value.0);
                if found.is_none() && !self.nodes_incomplete {
                    let message = format!("there is no link `{}`", name.value.0);
                    let valid = spec.links.iter().map(|link| link.name.as_str());
                    self.report
                        .error("scenario.unknown-name", name.span, message)
                        .names(&name.value.0, valid);
                }
                found.map(|(number, _)| number).into_iter().collect()
            }
            (None, Some(name)) => {
                let Some(node) = self.node(name) else { return };
                let is_at = |link: &thalweg_sim::simulation_spec::LinkSpec| link.a == node || link.b == node;
                links.filter(|(_, link)| is_at(link)).map(|(number, _)| number).collect()
            }
            _ => {
                if !failure.broken {
                    self.report.error("scenario.missing", failure.span, "give either `link` or `node`");
                }
                return;
            }
        };
        if begins >= Time::ZERO + spec.duration {
            let message = format!("this failure is at {}, but the run ends at {}", at.value, spec.duration);
            self.report.warn("scenario.never-starts", at.span, message);
        }
        spec.routing.failures.extend(failed.into_iter().map(|link| FailureSpec { link, at: begins, until }));
    }
}
