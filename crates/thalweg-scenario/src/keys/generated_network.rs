//! Keys of networks that are generated from a few parameters, or read from a file.

use super::super::diagnostic::Report;
use super::super::parsed_tree::{Key, Table, Value, ValueKind};
use super::super::schema_definitions::Definitions;
use super::super::table_declarations::{Decode, choice, table, wrong_type};
use super::super::value_types::{Number, Share};
use super::link::LinkDirection;
use serde_json::json;
use std::collections::BTreeSet;
use thalweg_proto::units::Duration;

table! {
    /// A three-tier fat tree (Al-Fares et al. 2008) of switches with `k` ports: k^3/4 hosts `h1`, `h2` ..., k pods with
    /// k/2 edge switches `e1` ... and k/2 aggregation switches `a1` ... each, and k^2/4 core switches `c1` ....
    FatTree "fat tree" {
        /// The number of ports of a switch, even.
        k: u32 = "k" (required);
        /// Overrides for links between hosts and edge switches.
        host: LinkDirection = "host";
        /// Overrides for links between edge and aggregation switches.
        pod: LinkDirection = "pod";
        /// Overrides for links between aggregation and core switches.
        core: LinkDirection = "core";
        ..line: LinkDirection;
    }
}

table! {
    /// A leaf-spine network: leaves `l1`, `l2` ... with hosts `h1`, `h2` ..., and a link from each leaf to each spine
    /// `s1`, `s2` ....
    LeafSpine "leaf-spine network" {
        /// The number of leaves.
        leaves: u32 = "leaves" (required);
        /// The number of spines.
        spines: u32 = "spines" (required);
        /// The number of hosts per leaf.
        hosts: u32 = "hosts" (required);
        /// Overrides for links between hosts and leaves.
        host: LinkDirection = "host";
        /// Overrides for links between leaves and spines.
        spine: LinkDirection = "spine";
        ..line: LinkDirection;
    }
}

table! {
    /// A torus: a grid of nodes `n1`, `n2` ..., numbered row by row, with wrap-around links.
    Torus "torus" {
        /// The number of nodes in a row.
        width: u32 = "width" (required);
        /// The number of rows in a layer.
        height: u32 = "height" or "1";
        /// The number of layers.
        depth: u32 = "depth" or "1";
        ..line: LinkDirection;
    }
}

table! {
    /// A chain of nodes `n1`, `n2` ....
    Chain "chain" {
        /// The number of nodes.
        nodes: u32 = "nodes" (required);
        ..line: LinkDirection;
    }
}

table! {
    /// A star: nodes `n1`, `n2` ..., each with a link to `hub`.
    Star "star" {
        /// The number of nodes, without the hub.
        nodes: u32 = "nodes" (required);
        ..line: LinkDirection;
    }
}

table! {
    /// A random geometric graph: nodes `n1`, `n2` ... at random positions in a square, and a link between any two
    /// within `radius`. Disconnected components are joined by the shortest possible link.
    Geometric "geometric network" {
        /// The number of nodes.
        nodes: u32 = "nodes" (required);
        /// The maximum distance of linked nodes, as a share of the square's side.
        radius: Share = "radius" (required);
        ..square: Square;
        ..line: LinkDirection;
    }
}

table! {
    /// A random network after Waxman (1988): nodes `n1`, `n2` ... at random positions in a square, and a link between
    /// two with probability beta e^(-d / (alpha L)), where d is their distance and L the largest distance. Disconnected
    /// components are joined by the shortest possible link.
    Waxman "Waxman network" {
        /// The number of nodes.
        nodes: u32 = "nodes" (required);
        /// The distance parameter: a larger value gives more long links.
        alpha: Number = "alpha" or "0.2";
        /// The density parameter: the probability of a link between two nodes at distance zero.
        beta: Number = "beta" or "0.4";
        ..square: Square;
        ..line: LinkDirection;
    }
}

table! {
    /// The square in which nodes are placed.
    Square "square" {
        /// The propagation delay along a side of the square: a link's delay is in proportion to its length, unless the
        /// network sets `delay`.
        side_delay: Duration = "across" or r#""10 ms""#;
        /// The seed of the random network: another value gives another network. By default the `seed` in the file.
        seed: u64 = "drawn";
    }
}

table! {
    /// A topology file: GraphML, as of the Internet Topology Zoo, or the XML or GraphML of SNDlib.
    TopologyFile "topology file" {
        /// The file, beside the scenario file. Nodes are named by their labels. Nodes with the same label are named by
        /// label and id, such as `None-n7`. A node without a label that is a valid name is named by its id. In such
        /// names a number gets the prefix `n`, and a `-` replaces invalid characters. A link's rate is that in the file.
        /// In GraphML it is `LinkSpeedRaw`, or `LinkSpeed` with its units. In SNDlib it is the installed capacity, or
        /// else that of the smallest module, in the file's unit or in Mbit/s. A link's delay is 5 us per km between its
        /// ends. `rate` and `delay` apply to links without these values. If `delay` is set neither here nor in
        /// `[defaults.link]`, a node without coordinates gets the mean position of its neighbours, and a link of less than
        /// 200 m has 50 us. Links from a node to itself are ignored.
        /// Two opposite edges of a directed graph are the directions of one link, each with its rate.
        file: String = "file" (required);
        ..line: LinkDirection;
    }
}

choice! {
    /// A network that is generated from a few parameters, or read from a file. The keys of a link apply to all its
    /// links, and take precedence over `[defaults.link]`.
    NetworkTable "network" by "kind" {
        "fat-tree" => FatTree(FatTree),
        "leaf-spine" => LeafSpine(LeafSpine),
        "torus" => Torus(Torus),
        "chain" => Chain(Chain),
        "star" => Star(Star),
        "geometric" => Geometric(Geometric),
        "waxman" => Waxman(Waxman),
        "file" => File(TopologyFile),
    }
}

/// A network: a table, or its kind and keys in one string.
#[derive(Clone, Debug)]
pub struct Network(pub NetworkTable);

impl Decode for Network {
    fn expected() -> String {
        "a network, such as \"fat-tree k=4\", the name of a topology file, or a table with `kind`".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            ValueKind::Table(_) => NetworkTable::decode(value, report).map(Self),
            ValueKind::String(text) => {
                let table = in_words(text, value);
                let mut names = BTreeSet::new();
                if let Some((key, _)) = table.entries.iter().find(|(key, _)| !names.insert(&key.name)) {
                    report.error("scenario.value", value.span, format!("`{}` is given twice", key.name));
                    return None;
                }
                let kind = ValueKind::Table(table);
                NetworkTable::decode(&Value { kind, span: value.span }, report).map(Self)
            }
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let table = NetworkTable::schema(definitions);
        let text = json!({ "type": "string", "examples": ["fat-tree k=4"] });
        json!({ "anyOf": [text, table] })
    }
}

/// Parses the one-string form into a table: a kind, then keys with values, `fat-tree k=4 rate=10 Gbit/s`. A single word
/// with a dot is a file name.
fn in_words(text: &str, value: &Value) -> Table {
    let span = value.span;
    let key = |name: &str| Key { name: name.to_owned(), span };
    let text_value = |text: &str| Value { kind: ValueKind::String(text.to_owned()), span };
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    let mut entries: Vec<(Key, Value)> = Vec::new();
    if first.contains('.') && !text.contains('=') {
        entries.push((key("kind"), text_value("file")));
        entries.push((key("file"), text_value(text.trim())));
        return Table { entries };
    }
    entries.push((key("kind"), text_value(first)));
    let mut given_keys: Vec<(String, String)> = Vec::new();
    for word in words {
        match (word.split_once('='), given_keys.last_mut()) {
            (Some((name, value)), _) => given_keys.push((name.to_owned(), value.to_owned())),
            // A unit that a space separates from its number.
            (None, Some((_, value))) => *value = format!("{value} {word}"),
            (None, None) => given_keys.push((word.to_owned(), String::new())),
        }
    }
    for (name, value) in given_keys {
        let is_integer = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let kind = match value.parse::<f64>() {
            _ if is_integer => ValueKind::Integer(value),
            Ok(number) if number.is_finite() => ValueKind::Float(value),
            _ => ValueKind::String(value),
        };
        entries.push((key(&name), Value { kind, span }));
    }
    Table { entries }
}
