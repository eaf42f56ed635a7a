//! Resolves traffic patterns to pairs of nodes.

use super::super::keys::{Flow, Nodes, Pattern};
use super::super::table_declarations::Spanned;
use super::super::value_types::Name;
use super::Resolver;
use thalweg_proto::random::RandomStream;
use thalweg_sim::simulation_spec::NodeId;

/// Maximum number of node pairs of a group: the paths of each are stored.
pub(super) const MAX_PAIRS: usize = 1 << 16;

impl Resolver<'_> {
    /// Returns the node pairs of a group's flows, without duplicates; random patterns depend on `seed`. `None` after
    /// reporting that there are none.
    pub(super) fn pairs(&mut self, flow: &Spanned<Flow>, name: &str, seed: u64) -> Option<Vec<[NodeId; 2]>> {
        let pattern = flow.pattern.as_deref().map_or(Pattern::Pairs, |pattern| pattern.0);
        let (from, to) = (flow.from.as_ref()?, flow.to.as_ref()?);
        let both = (self.nodes_of(from), self.nodes_of(to));
        let (mut sources, mut sinks) = (both.0?, both.1?);
        let has_degree = matches!(pattern, Pattern::Incast | Pattern::Random);
        if let Some(degree) = flow.degree.as_ref().filter(|_| !has_degree) {
            self.report
                .error("scenario.conflict", degree.span, "this pattern has no degree")
                .help("\"incast\" and \"random\" have one");
        }
        if pattern != Pattern::Pairs {
            for set in [&mut sources, &mut sinks] {
                set.sort_unstable();
                set.dedup();
            }
        }
        let stream = RandomStream::new(seed, &format!("pattern@{name}"), 0);
        let degree = |default: usize| flow.degree.as_ref().map_or(default, |degree| degree.value as usize);
        let max = match pattern {
            Pattern::Pairs | Pattern::Permutation => sources.len().max(sinks.len()),
            Pattern::AllToAll => sources.len().saturating_mul(sinks.len()),
            Pattern::Incast => sinks.len().saturating_mul(degree(sources.len())),
            Pattern::Random => sources.len().saturating_mul(degree(1)),
        };
        if max > MAX_PAIRS {
            let message = format!("the flows of `{name}` are between {max} pairs of nodes");
            self.report
                .error("scenario.range", flow.span, message)
                .help(format!("a group has {MAX_PAIRS} pairs at most; \"random\" draws some"));
            return None;
        }
        let pairs = match pattern {
            Pattern::Pairs => self.one_by_one(&sources, &sinks, flow)?,
            Pattern::AllToAll => pair_with_others(&sources, &sinks),
            Pattern::Permutation => self.permutation(&sources, sinks, stream, flow)?,
            Pattern::Incast => {
                let drawn = self.some(&sinks, &sources, usize::MAX, stream, flow)?;
                drawn.into_iter().map(|[sink, source]| [source, sink]).collect()
            }
            Pattern::Random => self.some(&sources, &sinks, 1, stream, flow)?,
        };
        if pairs.is_empty() {
            let message = format!("the flow `{name}` ends where it begins");
            self.report.error("scenario.route", to.span, message);
            return None;
        }
        Some(pairs)
    }

    /// Returns the nodes with these names; matches of a wildcard in order of creation.
    pub(super) fn nodes_of(&mut self, names: &Spanned<Nodes>) -> Option<Vec<NodeId>> {
        let mut found = Vec::new();
        let mut is_complete = true;
        for name in &names.value.0 {
            let Some((before, behind)) = name.value.split_once('*') else {
                let name = Spanned { value: Name(name.value.clone()), span: name.span };
                let node = self.node(&name);
                is_complete &= node.is_some();
                found.extend(node);
                continue;
            };
            let fits = |node: &str| {
                node.len() >= before.len() + behind.len()
                    && node.starts_with(before)
                    && node.ends_with(behind)
            };
            let nodes = self.nodes.iter().filter(|(node, _)| fits(node));
            let mut nodes: Vec<NodeId> = nodes.map(|(_, id)| *id).collect();
            nodes.sort_unstable();
            if nodes.is_empty() && !self.nodes_incomplete {
                let message = format!("no node has a name like `{}`", name.value);
                self.report.error("scenario.unknown-name", name.span, message);
            }
            is_complete &= !nodes.is_empty();
            found.extend(nodes);
        }
        is_complete.then_some(found)
    }

    /// Pairs the first with the first, the second with the second; a single node with each of the other side.
    fn one_by_one(
        &mut self,
        from: &[NodeId],
        to: &[NodeId],
        flow: &Spanned<Flow>,
    ) -> Option<Vec<[NodeId; 2]>> {
        let (max, min) = (from.len().max(to.len()), from.len().min(to.len()));
        if max != min && min != 1 {
            self.uneven(from.len(), to.len(), flow);
            return None;
        }
        Some((0..max).map(|number| [from[number % from.len()], to[number % to.len()]]).collect())
    }

    fn uneven(&mut self, from: usize, to: usize, flow: &Spanned<Flow>) {
        let span = flow.to.as_ref().map_or(flow.span, |to| to.span);
        let message = format!("{from} sources and {to} sinks do not make pairs");
        self.report
            .error("scenario.range", span, message)
            .help("there are as many of both, or another `pattern`, such as \"all-to-all\"");
    }

    /// Assigns each source a different sink, which is another node.
    fn permutation(
        &mut self,
        sources: &[NodeId],
        mut sinks: Vec<NodeId>,
        mut stream: RandomStream,
        flow: &Spanned<Flow>,
    ) -> Option<Vec<[NodeId; 2]>> {
        if sources.len() != sinks.len() {
            self.uneven(sources.len(), sinks.len(), flow);
            return None;
        }
        shuffle_nodes(&mut sinks, &mut stream);
        let count = sinks.len();
        for number in 0..count {
            if sources[number] == sinks[number] {
                // After swapping with the next source, neither sends to itself: all sinks are different.
                sinks.swap(number, (number + 1) % count);
            }
        }
        let pairs = sources.iter().zip(sinks).map(|(&source, sink)| [source, sink]);
        Some(pairs.filter(|[source, sink]| source != sink).collect())
    }

    /// Pairs each node of `each_of` with several random ones of `others`: `degree` of the flow, or else `default`.
    fn some(
        &mut self,
        each_of: &[NodeId],
        others: &[NodeId],
        default: usize,
        mut stream: RandomStream,
        flow: &Spanned<Flow>,
    ) -> Option<Vec<[NodeId; 2]>> {
        let degree = flow.degree.as_ref();
        let mut drawn = others.to_vec();
        let mut pairs = Vec::new();
        for &one in each_of {
            let there_are = others.len() - usize::from(others.binary_search(&one).is_ok());
            let wanted = degree.map_or(default.min(there_are), |degree| degree.value as usize);
            if let Some(degree) = degree.filter(|_| wanted == 0 || wanted > there_are) {
                let message = format!("there are {there_are} others, of which {wanted} cannot be drawn");
                self.report.error("scenario.range", degree.span, message);
                return None;
            }
            // Draw one more, as one may be the node itself.
            let count = drawn.len();
            for place in 0..(wanted + 1).min(count) {
                drawn.swap(place, place + stream.below((count - place) as u64) as usize);
            }
            let drawn = drawn.iter().copied().filter(|&other| other != one).take(wanted);
            pairs.extend(drawn.map(|other| [one, other]));
        }
        Some(pairs)
    }
}

/// Pairs each source with each other node.
fn pair_with_others(from: &[NodeId], to: &[NodeId]) -> Vec<[NodeId; 2]> {
    let pairs = from.iter().flat_map(|&from| to.iter().map(move |&to| [from, to]));
    pairs.filter(|[from, to]| from != to).collect()
}

/// Shuffles the nodes (Fisher and Yates).
fn shuffle_nodes(nodes: &mut [NodeId], stream: &mut RandomStream) {
    for last in (1..nodes.len()).rev() {
        nodes.swap(last, stream.below(last as u64 + 1) as usize);
    }
}
