//! Link failures: their conversion to scheduled changes, and conflicts with other settings.

use crate::simulation_spec::{Change, FailureSpec, LinkSpec, Multipath, Spec};
use std::borrow::Cow;
use thalweg_proto::units::Time;
use thalweg_queue::{ImpairmentSpec, LossSpec};

impl Spec {
    /// Returns the item that conflicts with the routing, and the reason, if any.
    pub fn routing_fault(&self) -> Option<(String, &'static str)> {
        let routing = &self.routing;
        for failure in &routing.failures {
            let Some(link) = self.links.get(failure.link as usize) else {
                return Some((format!("link {}", failure.link), "it fails, but there is no such link"));
            };
            if failure.until.is_some_and(|until| until <= failure.at) {
                return Some((link.name.clone(), "a failure must last some time"));
            }
        }
        let is_plain = routing.paths == Multipath::One && routing.failures.is_empty();
        let feedback_link = self
            .links
            .iter()
            .find(|link| link.forward.feedback.is_some() || link.backward.feedback.is_some());
        if let Some(link) = feedback_link.filter(|_| !is_plain) {
            return Some((
                link.name.clone(),
                "routers that send feedback need a single fixed route: no multipath, and no failures",
            ));
        }
        for group in self.groups.iter().filter(|group| !group.pairs.is_empty()) {
            if feedback_link.is_some() {
                return Some((
                    group.name.clone(),
                    "routers that send feedback need a group for each pair of nodes",
                ));
            }
            let mut nodes = group.node_pairs().flatten().filter_map(|node| self.nodes.get(node.0 as usize));
            if group.access.is_none() && nodes.any(|node| node.gate.is_some()) {
                return Some((group.name.clone(), "gates need a group for each pair of nodes"));
            }
        }
        None
    }

    /// Returns the specification with each failure as scheduled changes of its link: all packets are lost while it
    /// lasts.
    pub(crate) fn with_failures(&self) -> Cow<'_, Self> {
        if self.routing.failures.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut spec = self.clone();
        for (number, link) in (0..).zip(&mut spec.links) {
            let of_link = |failure: &&FailureSpec| failure.link == number;
            let failures: Vec<FailureSpec> = self.routing.failures.iter().filter(of_link).copied().collect();
            schedule_failures(link, &failures);
        }
        Cow::Owned(spec)
    }
}

/// Adds failures to the schedules of both directions of a link.
fn schedule_failures(link: &mut LinkSpec, failures: &[FailureSpec]) {
    if failures.is_empty() {
        return;
    }
    for direction in [&mut link.forward, &mut link.backward] {
        let wire = direction.impairment.clone();
        let scheduled = direction.schedule.clone();
        let is_down = |at: Time| {
            let covers =
                |failure: &FailureSpec| failure.at <= at && failure.until.is_none_or(|until| at < until);
            failures.iter().any(covers)
        };
        // The scheduled impairments at a time, with failures.
        let seen = |at: Time| {
            let before = scheduled.iter().take_while(|change| change.at <= at);
            let wire = before.filter_map(|change| change.impairment.as_ref()).last().unwrap_or(&wire);
            let loss = if is_down(at) { LossSpec::Uniform { probability: 1.0 } } else { wire.loss.clone() };
            ImpairmentSpec { loss, ..wire.clone() }
        };
        for change in &mut direction.schedule {
            change.impairment = change.impairment.as_ref().map(|_| seen(change.at));
        }
        let times = failures.iter().flat_map(|failure| [Some(failure.at), failure.until]).flatten();
        direction.schedule.extend(times.map(|at| Change { impairment: Some(seen(at)), ..Change::at(at) }));
        direction.schedule.sort_by_key(|change| change.at);
    }
}
