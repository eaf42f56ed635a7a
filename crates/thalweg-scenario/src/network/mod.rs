//! Networks described in one line of a scenario: generated from parameters, or read from a file.
//!
//! Each generator returns links between named nodes, which are then resolved like links written one by one.

mod chain;
mod coordinates;
mod fat_tree;
mod graphml;
mod leaf_spine;
mod random_geometric;
mod random_positions;
mod sndlib;
mod star;
mod topology_file;
mod topology_graph;
mod torus;
mod waxman;
mod xml_reading;

use super::diagnostic::Report;
use super::keys::{Link, LinkDirection, LinkEnds, NetworkTable, Reverse};
use super::source_text::Span;
#[cfg(test)]
use super::table_declarations::Decode;
use super::table_declarations::Spanned;
use super::value_types::Name;
use thalweg_proto::units::{Duration, Rate};

pub use topology_file::read_demands_file as sndlib_demands;

/// Maximum number of nodes, and of links, of such a network.
const MAX_GENERATED: u64 = 1 << 16;

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq)]
struct Edge {
    ends: [String; 2],
    /// An explicit name, if the end nodes do not identify the link.
    name: Option<String>,
    /// The tier that determines the link's parameters, by position.
    tier: usize,
    delay: Option<Duration>,
    rate: Option<Rate>,
    /// The rate of the direction from the second end to the first, if a file gives that separately.
    reverse_rate: Option<Option<Rate>>,
    /// The link's own source position, if any.
    span: Option<Span>,
}

impl Edge {
    /// Creates a link of a tier, with unset rate and delay.
    fn new(a: impl Into<String>, b: impl Into<String>, tier: usize) -> Self {
        let ends = [a.into(), b.into()];
        Self { ends, name: None, tier, delay: None, rate: None, reverse_rate: None, span: None }
    }
}

/// The links of a network, and the link parameters of its tiers.
#[derive(Clone, Debug, Default)]
struct GeneratedNetwork {
    edges: Vec<Edge>,
    tiers: Vec<LinkDirection>,
}

/// The context of a network's table.
#[derive(Clone, Copy, Debug, Default)]
pub struct NetworkContext<'a> {
    /// The scenario's seed.
    pub seed: u64,
    /// The source of the topology file, if it was read.
    pub file: Option<u32>,
    /// The link parameters of `[defaults.link]`.
    pub defaults: Option<&'a LinkDirection>,
}

/// The links of a network.
#[derive(Debug)]
pub struct Links {
    /// All of them.
    pub links: Vec<Spanned<Link>>,
    /// The reason for missing delays of links in a file.
    pub missing_delay_reason: Option<&'static str>,
}

/// Reports a network that would be too large; returns true if it is.
fn is_too_large(what: &str, nodes: u64, links: u64, span: Span, report: &mut Report) -> bool {
    let (of, found) = if nodes > MAX_GENERATED { ("nodes", nodes) } else { ("links", links) };
    if found > MAX_GENERATED {
        report
            .error("scenario.range", span, format!("{what} would have {found} {of}"))
            .help(format!("a network may have {MAX_GENERATED} nodes and as many links"));
    }
    found > MAX_GENERATED
}

/// Reports a number below `min`; returns true if it is.
fn is_too_small(at: Option<&Spanned<u32>>, min: u32, what: &str, report: &mut Report) -> bool {
    let Some(at) = at.filter(|at| at.value < min) else { return at.is_none() };
    report.error("scenario.range", at.span, format!("{what} must be at least {min}"));
    true
}

/// Returns the links of a network; none after a reported error.
pub fn expand_network(
    network: &Spanned<NetworkTable>,
    context: NetworkContext<'_>,
    report: &mut Report,
) -> Option<Links> {
    let (span, seed) = (network.span, context.seed);
    let mut missing_delay_reason = None;
    let generated = match &network.value {
        NetworkTable::FatTree(table) => fat_tree::generate(table, span, report),
        NetworkTable::LeafSpine(table) => leaf_spine::generate(table, span, report),
        NetworkTable::Torus(table) => torus::generate(table, span, report),
        NetworkTable::Chain(table) => chain::generate(table, span, report),
        NetworkTable::Star(table) => star::generate(table, span, report),
        NetworkTable::Geometric(table) => random_geometric::generate(table, seed, span, report),
        NetworkTable::Waxman(table) => waxman::generate(table, seed, span, report),
        NetworkTable::File(table) => {
            let has_delay =
                [Some(&table.line), context.defaults].into_iter().flatten().any(|line| line.delay.is_some());
            let topology = topology_file::read(context.file?, has_delay, table.file.as_ref()?.span, report)?;
            missing_delay_reason = Some(topology.missing_delay_reason);
            Some(GeneratedNetwork { edges: topology.edges, tiers: vec![table.line.clone()] })
        }
    }?;
    let at = |value: Name, span: Span| Spanned { value, span };
    let links = generated.edges.into_iter().map(|edge| {
        let span = edge.span.unwrap_or(span);
        let mut line = LinkDirection {
            delay: edge.delay.map(|value| Spanned { value, span }),
            rate: edge.rate.map(|value| Spanned { value, span }),
            ..LinkDirection::default()
        };
        line.complete(&generated.tiers[edge.tier]);
        // A direction without a rate of its own has that of the network, not that of the other direction.
        let back = edge.reverse_rate.filter(|rate| *rate != edge.rate).map(|rate| {
            let mut back =
                LinkDirection { rate: rate.map(|value| Spanned { value, span }), ..LinkDirection::default() };
            for common in [Some(&generated.tiers[edge.tier]), context.defaults].into_iter().flatten() {
                let rates = LinkDirection {
                    rate: common.rate.clone(),
                    trace: common.trace.clone(),
                    ..LinkDirection::default()
                };
                back.complete(&rates);
            }
            Spanned { value: Reverse { line: back, ..Reverse::default() }, span }
        });
        let ends = edge.ends.map(|name| at(Name(name), span)).to_vec();
        let link = Link {
            name: edge.name.map(|name| at(Name(name), span)),
            between: Some(Spanned { value: LinkEnds(ends), span }),
            reverse: back,
            line,
            ..Link::default()
        };
        Spanned { value: link, span }
    });
    Some(Links { links: links.collect(), missing_delay_reason })
}

/// Merges a tier's explicit link parameters with the common ones.
fn merge_tier(own: Option<&Spanned<LinkDirection>>, all: &LinkDirection) -> LinkDirection {
    let mut line = own.map(|at| at.value.clone()).unwrap_or_default();
    line.complete(all);
    line
}

/// Parses the text of a network into its table.
#[cfg(test)]
fn decode_network_table(text: &str) -> NetworkTable {
    let mut report = Report::default();
    let source = report.add_source(super::source_text::Source::new("test", format!("\"{text}\"")));
    let value = super::parsed_tree::parse_value(source, &mut report).expect("a text");
    let network = super::keys::Network::decode(&value, &mut report);
    network.unwrap_or_else(|| panic!("{}", report.take()[0].render())).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Returns the links of a network from its text, and the degree of each node.
    fn network_links(text: &str) -> (Vec<[String; 2]>, BTreeMap<String, usize>) {
        let (network, mut report) =
            (Spanned { value: decode_network_table(text), span: Span::default() }, Report::default());
        let context = NetworkContext { seed: 1, ..NetworkContext::default() };
        let links = expand_network(&network, context, &mut report).expect("a network").links;
        let ends = |link: &Spanned<Link>| {
            let ends = link.between.as_ref().unwrap().value.0.clone();
            [ends[0].value.0.clone(), ends[1].value.0.clone()]
        };
        let links: Vec<[String; 2]> = links.iter().map(ends).collect();
        let mut degrees = BTreeMap::new();
        for end in links.iter().flatten() {
            *degrees.entry(end.clone()).or_default() += 1;
        }
        (links, degrees)
    }

    /// Returns true if every node has a path to the first.
    fn is_connected(links: &[[String; 2]]) -> bool {
        let mut reached = BTreeSet::from([links[0][0].clone()]);
        loop {
            let before = reached.len();
            for [a, b] in links {
                if reached.contains(a) || reached.contains(b) {
                    reached.extend([a.clone(), b.clone()]);
                }
            }
            if reached.len() == before {
                return links.iter().flatten().all(|end| reached.contains(end));
            }
        }
    }

    /// Al-Fares et al.: k^3/4 hosts with one link, 5 k^2/4 switches with k.
    #[test]
    fn a_fat_tree_has_the_degrees_of_its_definition() {
        for k in [2, 4, 8] {
            let (links, degrees) = network_links(&format!("fat-tree k={k}"));
            assert!(is_connected(&links));
            let hosts = degrees.iter().filter(|(name, degree)| name.starts_with('h') && **degree == 1);
            assert_eq!(hosts.count(), k * k * k / 4);
            let switches = degrees.iter().filter(|(name, degree)| !name.starts_with('h') && **degree == k);
            assert_eq!((switches.count(), links.len()), (5 * k * k / 4, 3 * k * k * k / 4));
        }
    }

    #[test]
    fn regular_networks_have_the_degrees_of_their_definitions() {
        let (links, degrees) = network_links("leaf-spine leaves=4 spines=3 hosts=5");
        assert_eq!(
            (links.len(), degrees.len(), degrees["l4"], degrees["s3"], degrees["h20"]),
            (32, 27, 8, 4, 1)
        );
        let (links, degrees) = network_links("torus width=4 height=3 depth=5");
        assert_eq!((links.len(), degrees.len()), (180, 60));
        assert!(degrees.values().all(|&degree| degree == 6) && is_connected(&links));
        // In a row of two, both neighbours of a node are the same, and one link suffices.
        let (links, degrees) = network_links("torus width=2 height=2");
        assert_eq!((links.len(), degrees["n1"]), (4, 2));
        let (links, degrees) = network_links("chain nodes=5");
        assert_eq!((links.len(), degrees["n1"], degrees["n3"]), (4, 1, 2));
        let (links, degrees) = network_links("star nodes=5");
        assert_eq!((links.len(), degrees["hub"], degrees["n5"]), (5, 5, 1));
    }

    /// Random networks are connected, reproducible for one seed, and grow with their probability parameters.
    #[test]
    fn random_networks_hang_together() {
        for [few, many] in [
            ["geometric nodes=60 radius=0.01", "geometric nodes=60 radius=0.4"],
            ["waxman nodes=60 beta=0.01", "waxman nodes=60 beta=1.0"],
        ] {
            let (tree, degrees) = network_links(few);
            assert!(is_connected(&tree) && degrees.len() == 60 && tree.len() < 90, "{}", tree.len());
            let (dense, degrees) = network_links(many);
            assert!(is_connected(&dense) && degrees.len() == 60 && dense.len() > 200, "{}", dense.len());
            assert_eq!(network_links(many), network_links(many));
            assert_ne!(network_links(many), network_links(&format!("{many} drawn=7")));
        }
    }
}
