//! Topologies as read from files, before conversion to links: nodes with ids and labels, and edges between them.

use super::coordinates::{centroid_of_positions, delay_between};
use super::{Edge, is_too_large};
use crate::diagnostic::Report;
use crate::source_text::Span;
use crate::value_types::{MAX_NAME_LENGTH, name_fault};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use thalweg_proto::units::{Duration, Rate};

/// A node of a file.
#[derive(Clone, Debug)]
pub(super) struct GraphNode {
    pub id: String,
    pub label: Option<String>,
    /// Latitude and longitude in degrees.
    pub coordinates: Option<[f64; 2]>,
    pub span: Span,
}

/// A link or an arc of a file, between two ids.
#[derive(Clone, Debug)]
pub(super) struct GraphLink {
    pub ends: [String; 2],
    pub rate: Option<Rate>,
    /// An arc from the first end to the second; otherwise a link of both directions.
    pub is_directed: bool,
    pub span: Span,
}

/// The nodes and links of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct TopologyGraph {
    pub nodes: Vec<GraphNode>,
    pub links: Vec<GraphLink>,
    /// Drawing coordinates instead of geographic ones.
    pub has_drawing_coordinates: bool,
}

/// The delay of links within one place: 10 km of fibre, the size of a city.
const DELAY_WITHIN_PLACE: Duration = Duration::from_micros(50);

impl TopologyGraph {
    /// Returns the links, with valid names; `None` after a reported error. `has_delay` means that the scenario sets a
    /// delay, which then applies to links whose ends have no coordinates or equal ones.
    pub fn edges(&self, has_delay: bool, span: Span, report: &mut Report) -> Option<Vec<Edge>> {
        let errors = report.errors();
        if is_too_large("this topology", self.nodes.len() as u64, self.links.len() as u64, span, report) {
            return None;
        }
        let numbers = self.numbers(report);
        let mut pairs = self.pairs(&numbers, report);
        let backs = join_arcs(&mut pairs, report);
        if pairs.is_empty() && report.errors() == errors {
            report.error("scenario.file", span, "this topology has no links");
        }
        if report.errors() > errors {
            return None;
        }
        let names = self.names(report);
        let positions = self.positions(&pairs);
        let mut names_of_links = Names::default();
        let (mut amid, mut within) = (0, 0);
        let edges = pairs.iter().zip(backs).map(|(&(link, [a, b]), back)| {
            let at = |end: usize| self.nodes[end].coordinates;
            let is_known = at(a).is_some() && at(b).is_some();
            let found = positions[a].zip(positions[b]).map(|(a, b)| delay_between(a, b));
            let delay = match found {
                Some(Some(delay)) if is_known => Some(delay),
                _ if has_delay => None,
                Some(found) => {
                    *(if is_known { &mut within } else { &mut amid }) += 1;
                    Some(found.unwrap_or(DELAY_WITHIN_PLACE))
                }
                None => None,
            };
            Edge {
                name: Some(names_of_links.take(&shorten_name(&format!("{}-{}", names[a], names[b])))),
                delay,
                rate: link.rate,
                reverse_rate: back.map(|back| back.rate),
                span: Some(link.span),
                ..Edge::new(names[a].clone(), names[b].clone(), 0)
            }
        });
        let edges = edges.collect();
        self.warn_of_delays(amid, within, span, report);
        Some(edges)
    }

    /// Explains missing delays of links in this file.
    pub fn missing_delay_reason(&self) -> &'static str {
        if self.has_drawing_coordinates {
            "the coordinates of this file are those of a drawing"
        } else if self.nodes.iter().all(|node| node.coordinates.is_none()) {
            "no node of this file has coordinates"
        } else {
            "neither its ends nor the nodes that they lead to have coordinates"
        }
    }

    fn warn_of_delays(&self, amid: usize, within: usize, span: Span, report: &mut Report) {
        let mut parts = Vec::new();
        if amid > 0 {
            let nowhere = self.nodes.iter().filter(|node| node.coordinates.is_none()).count();
            parts.push(format!(
                "{nowhere} of {} nodes have no coordinates and are placed between their neighbours, which gives {amid} links their delay",
                self.nodes.len()
            ));
        }
        if within > 0 {
            parts.push(format!("{within} links join nodes at one place and get {DELAY_WITHIN_PLACE}"));
        }
        if !parts.is_empty() {
            report
                .warn("scenario.delay", span, parts.join("; "))
                .help("`delay` with the network, or under [defaults.link], holds for these links instead");
        }
    }

    /// Returns each link with the positions of its ends, except loops.
    fn pairs<'a>(
        &'a self,
        numbers: &BTreeMap<&str, usize>,
        report: &mut Report,
    ) -> Vec<(&'a GraphLink, [usize; 2])> {
        let mut loops: Vec<&GraphLink> = Vec::new();
        let mut pairs = Vec::with_capacity(self.links.len());
        for link in &self.links {
            let ends = link.ends.each_ref().map(|id| numbers.get(id.as_str()).copied());
            for (id, _) in link.ends.iter().zip(ends).filter(|(_, number)| number.is_none()) {
                report
                    .error("scenario.unknown-name", link.span, format!("there is no node `{id}`"))
                    .help("a link is between two nodes of the file");
            }
            match ends {
                [Some(a), Some(b)] if a == b => loops.push(link),
                [Some(a), Some(b)] => pairs.push((link, [a, b])),
                _ => {}
            }
        }
        if let Some(first) = loops.first() {
            let others = match loops.len() {
                1 => "it is left out".to_owned(),
                count => format!("it and {} more such links are left out", count - 1),
            };
            let message = format!("both ends of this link are `{}`: {others}", first.ends[0]);
            report.warn("scenario.loop", first.span, message);
        }
        pairs
    }

    /// Returns the positions of nodes by id.
    fn numbers(&self, report: &mut Report) -> BTreeMap<&str, usize> {
        let mut numbers = BTreeMap::new();
        for (number, node) in self.nodes.iter().enumerate() {
            if numbers.insert(node.id.as_str(), number).is_some() {
                let message = format!("there is another node with the id `{}`", node.id);
                report.error("scenario.duplicate", node.span, message);
            }
        }
        numbers
    }

    /// Returns each node's coordinates: those of the file, or the midpoint of its neighbours, starting from the nodes
    /// next to those with coordinates.
    fn positions(&self, pairs: &[(&GraphLink, [usize; 2])]) -> Vec<Option<[f64; 2]>> {
        let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for &(_, [a, b]) in pairs {
            neighbours[a].push(b);
            neighbours[b].push(a);
        }
        let mut at: Vec<Option<[f64; 2]>> = self.nodes.iter().map(|node| node.coordinates).collect();
        let mut new: Vec<usize> = (0..at.len()).filter(|&node| at[node].is_some()).collect();
        while !new.is_empty() {
            let mut next: Vec<usize> = new.iter().flat_map(|&node| &neighbours[node]).copied().collect();
            next.retain(|&node| at[node].is_none());
            next.sort_unstable();
            next.dedup();
            let found: Vec<_> = next
                .iter()
                .map(|&node| centroid_of_positions(neighbours[node].iter().filter_map(|&other| at[other])))
                .collect();
            for (&node, found) in next.iter().zip(found) {
                at[node] = found;
            }
            new = next;
        }
        at
    }

    /// Returns each node's name: its label if that is valid and unique; label and id if other nodes have the same label;
    /// or else its id, converted to a name. Warns of labels that are not the names.
    fn names(&self, report: &mut Report) -> Vec<String> {
        let mut uses: BTreeMap<&str, u32> = BTreeMap::new();
        for label in self.nodes.iter().filter_map(GraphNode::label) {
            *uses.entry(label).or_default() += 1;
        }
        let is_valid = |label: &&str| name_fault(label).is_none();
        let is_unique = |label: &&str| is_valid(label) && uses.get(label) == Some(&1);
        let mut taken = Names::default();
        // A unique label stays, whatever the ids of other nodes are.
        let own: Vec<Option<String>> = self
            .nodes
            .iter()
            .map(|node| node.label().filter(is_unique).map(|label| taken.take(label)))
            .collect();
        let (mut repeated, mut invalid) = (Vec::new(), Vec::new());
        let rest = |(node, own): (&GraphNode, Option<String>)| {
            own.unwrap_or_else(|| {
                let label = node.label().filter(is_valid);
                let wanted = label.map_or_else(|| as_name(&node.id), |label| label_and_id(label, &node.id));
                let name = taken.take(&wanted);
                if let Some(found) = node.label().filter(|label| *label != name) {
                    let list = if label.is_some() { &mut repeated } else { &mut invalid };
                    list.push((node.span, format!("`{found}`, here `{name}`")));
                }
                name
            })
        };
        let names = self.nodes.iter().zip(own).map(rest).collect();
        for (list, what, instead) in [
            (repeated, "labels that other nodes have too", "label and id"),
            (invalid, "labels that are not valid names", "their ids"),
        ] {
            if let Some((span, example)) = list.first() {
                let message = format!("{} of {} nodes have {what} ({example})", list.len(), self.nodes.len());
                report.warn("scenario.name", *span, message).help(format!("they are named by {instead}"));
            }
        }
        names
    }
}

/// Joins opposite arcs, in the order of the file, to one link: removes the second of each two, and returns the removed
/// arc of each remaining link. Warns of arcs without an opposite one: links have both directions.
fn join_arcs<'a>(
    pairs: &mut Vec<(&'a GraphLink, [usize; 2])>,
    report: &mut Report,
) -> Vec<Option<&'a GraphLink>> {
    // The links of arcs that have no opposite one yet, in order, by their ends.
    let mut single: BTreeMap<[usize; 2], VecDeque<usize>> = BTreeMap::new();
    let mut backs: Vec<Option<&GraphLink>> = Vec::with_capacity(pairs.len());
    let mut joined = Vec::with_capacity(pairs.len());
    for &(link, [a, b]) in &*pairs {
        let opposite = single.get_mut(&[b, a]).filter(|_| link.is_directed).and_then(VecDeque::pop_front);
        if let Some(index) = opposite {
            backs[index] = Some(link);
            continue;
        }
        if link.is_directed {
            single.entry([a, b]).or_default().push_back(joined.len());
        }
        joined.push((link, [a, b]));
        backs.push(None);
    }
    *pairs = joined;
    let arcs: Vec<&GraphLink> = pairs
        .iter()
        .zip(&backs)
        .filter(|((link, _), back)| link.is_directed && back.is_none())
        .map(|(pair, _)| pair.0)
        .collect();
    if let Some(first) = arcs.first() {
        let [from, to] = &first.ends;
        let message = format!(
            "{} of {} links are arcs without an opposite one, such as `{from}` to `{to}`",
            arcs.len(),
            pairs.len()
        );
        report
            .warn("scenario.one-way", first.span, message)
            .help("links here have both directions: these carry traffic in the other direction too, at the same rate");
    }
    backs
}

impl GraphNode {
    /// Returns the label, unless it is empty.
    fn label(&self) -> Option<&str> {
        self.label.as_deref().map(str::trim).filter(|label| !label.is_empty())
    }
}

/// Names that are in use.
#[derive(Debug, Default)]
struct Names {
    taken_names: BTreeSet<String>,
    /// The next free number for each stem, to avoid a quadratic search.
    next: BTreeMap<String, u64>,
}

impl Names {
    /// Returns the wanted name if it is free, or else its stem with the first free number from 2.
    fn take(&mut self, wanted: &str) -> String {
        if self.taken_names.insert(wanted.to_owned()) {
            return wanted.to_owned();
        }
        // Leave space for the number.
        let stem: String = wanted.chars().take(MAX_NAME_LENGTH - 16).collect();
        let next = self.next.entry(stem.clone()).or_insert(2);
        loop {
            let name = format!("{stem} {next}");
            *next += 1;
            if self.taken_names.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// Converts an id to a name: replaces invalid characters by `-`, and puts a letter before a number, which would be a
/// position.
fn as_name(id: &str) -> String {
    let fits =
        |c: char| if c.is_alphanumeric() || matches!(c, '_' | '/' | '+' | ':' | '#') { c } else { '-' };
    let name: String = id.trim().chars().map(fits).take(56).collect();
    if name_fault(&name).is_none() && !name.bytes().all(|byte| byte.is_ascii_digit()) {
        return name;
    }
    format!("n{name}")
}

/// Returns the name of a node whose label others have too.
fn label_and_id(label: &str, id: &str) -> String {
    let id = as_name(id);
    let length = MAX_NAME_LENGTH.saturating_sub(id.chars().count() + 1);
    format!("{}-{id}", label.chars().take(length).collect::<String>())
}

/// Shortens a name to the maximum length.
fn shorten_name(name: &str) -> String {
    match name_fault(name) {
        None => name.to_owned(),
        Some(_) => {
            let count = name.chars().count();
            let end: String = name.chars().skip(count.saturating_sub(24)).collect();
            format!("{}..{end}", name.chars().take(36).collect::<String>()).replace('.', "-")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_become_names() {
        assert_eq!(as_name("7"), "n7");
        assert_eq!(as_name("A.b c"), "A-b-c");
        assert_eq!(as_name(""), "n");
        assert!(name_fault(&shorten_name(&"x".repeat(200))).is_none());
    }
}
