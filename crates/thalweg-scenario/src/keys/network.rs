//! Keys of networks that are made from a few numbers, or read from a file.

use super::super::diagnostic::Report;
use super::super::quantity::{Number, Share};
use super::super::schema::Definitions;
use super::super::table::{Decode, choice, table, wrong_type};
use super::super::tree::{Key, Kind, Table, Value};
use super::line::Line;
use serde_json::json;
use std::collections::BTreeSet;
use thalweg_proto::units::Duration;

table! {
    /// A fat tree of three tiers (Al-Fares et al. 2008) of switches with `k` ports: k^3/4 hosts `h1`, `h2` ..., k pods with k/2 edge
    /// switches `e1` ... and k/2 aggregation switches `a1` ... each, and k^2/4 core switches `c1` ....
    FatTree "fat tree" {
        /// The ports of a switch, an even number.
        k: u32 = "k" (required);
        /// What is different between hosts and edge switches.
        host: Line = "host";
        /// What is different between edge and aggregation switches.
        pod: Line = "pod";
        /// What is different between aggregation and core switches.
        core: Line = "core";
        ..line: Line;
    }
}

table! {
    /// Leaves `l1`, `l2` ... with hosts `h1`, `h2` ..., and a link from each leaf to each spine `s1`, `s2` ....
    LeafSpine "leaf-spine network" {
        /// How many leaves.
        leaves: u32 = "leaves" (required);
        /// How many spines.
        spines: u32 = "spines" (required);
        /// How many hosts each leaf has.
        hosts: u32 = "hosts" (required);
        /// What is different between hosts and leaves.
        host: Line = "host";
        /// What is different between leaves and spines.
        spine: Line = "spine";
        ..line: Line;
    }
}

table! {
    /// A grid of nodes `n1`, `n2` ..., row by row, whose ends are joined.
    Torus "torus" {
        /// How many nodes a row has.
        width: u32 = "width" (required);
        /// How many rows.
        height: u32 = "height" or "1";
        /// How many layers of rows.
        depth: u32 = "depth" or "1";
        ..line: Line;
    }
}

table! {
    /// Nodes `n1`, `n2` ... in a row.
    Chain "chain" {
        /// How many.
        nodes: u32 = "nodes" (required);
        ..line: Line;
    }
}

table! {
    /// Nodes `n1`, `n2` ..., each with a link to `hub`.
    Star "star" {
        /// How many, without the hub.
        nodes: u32 = "nodes" (required);
        ..line: Line;
    }
}

table! {
    /// A random geometric graph: nodes `n1`, `n2` ... at random places of a square, and a link between any two that are near each other.
    /// Parts that would have no way to each other get the shortest link there can be.
    Geometric "geometric network" {
        /// How many nodes.
        nodes: u32 = "nodes" (required);
        /// How far two may be from each other, as a share of the square's side.
        radius: Share = "radius" (required);
        ..square: Square;
        ..line: Line;
    }
}

table! {
    /// A random network after Waxman (1988): nodes `n1`, `n2` ... at random places of a square, and a link between two with the
    /// probability beta e^(-d / (alpha L)), where d is their distance and L the largest. Parts that would have no way to each other get
    /// the shortest link there can be.
    Waxman "Waxman network" {
        /// How many nodes.
        nodes: u32 = "nodes" (required);
        /// How far links reach: the larger, the more of them are long.
        alpha: Number = "alpha" or "0.2";
        /// How many links there are: the probability of one between two nodes at one place.
        beta: Number = "beta" or "0.4";
        ..square: Square;
        ..line: Line;
    }
}

table! {
    /// A square on which nodes are placed.
    Square "square" {
        /// How long a packet is on the way along a side of the square: a link's delay is its share of that, where `delay` is not given
        /// with the network.
        across: Duration = "across" or r#""10 ms""#;
        /// Names what is random about the network: another one gives another network. Without, it is the scenario's as the file has it.
        drawn: u64 = "drawn";
    }
}

table! {
    /// A topology from a file: GraphML, as of the Internet Topology Zoo, or the XML or GraphML of SNDlib.
    TopologyFile "topology file" {
        /// The file, beside the scenario file. Its nodes go by their labels, or by their ids where labels are missing, no names or not
        /// unique. A link has the rate that the file gives (`LinkSpeedRaw`, or `LinkSpeed` with its units, in GraphML; of SNDlib the capacity
        /// that is installed, or else that of the smallest module, in the unit of the file or in Mbit/s), and 5 us a km between the places
        /// of its ends; `rate` and `delay` hold for the others. Without `delay` a node that has no coordinates is amid its neighbours,
        /// and a link within one place takes 50 us. A link from a node to itself is left out.
        file: String = "file" (required);
        ..line: Line;
    }
}

choice! {
    /// A network that is made from a few numbers, or read from a file. The keys of a line hold for all its links, before those of
    /// `[defaults.link]`.
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

/// A network: a table, or its kind and keys in one text.
#[derive(Clone, Debug)]
pub struct Network(pub NetworkTable);

impl Decode for Network {
    fn expected() -> String {
        "a network, such as \"fat-tree k=4\", the name of a topology file, or a table with `kind`".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            Kind::Table(_) => NetworkTable::decode(value, report).map(Self),
            Kind::String(text) => {
                let table = in_words(text, value);
                let mut names = BTreeSet::new();
                if let Some((key, _)) = table.entries.iter().find(|(key, _)| !names.insert(&key.name)) {
                    report.error("scenario.value", value.span, format!("`{}` is given twice", key.name));
                    return None;
                }
                let kind = Kind::Table(table);
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

/// The table that a text stands for: a kind, and then keys with values, `fat-tree k=4 rate=10 Gbit/s`. A word with a point and
/// nothing else is a file.
fn in_words(text: &str, value: &Value) -> Table {
    let span = value.span;
    let key = |name: &str| Key { name: name.to_owned(), span };
    let text_value = |text: &str| Value { kind: Kind::String(text.to_owned()), span };
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    let mut entries: Vec<(Key, Value)> = Vec::new();
    if first.contains('.') && !text.contains('=') {
        entries.push((key("kind"), text_value("file")));
        entries.push((key("file"), text_value(text.trim())));
        return Table { entries };
    }
    entries.push((key("kind"), text_value(first)));
    let mut given: Vec<(String, String)> = Vec::new();
    for word in words {
        match (word.split_once('='), given.last_mut()) {
            (Some((name, value)), _) => given.push((name.to_owned(), value.to_owned())),
            // A unit, with a space before it.
            (None, Some((_, value))) => *value = format!("{value} {word}"),
            (None, None) => given.push((word.to_owned(), String::new())),
        }
    }
    for (name, given) in given {
        let is_whole = !given.is_empty() && given.bytes().all(|byte| byte.is_ascii_digit());
        let kind = match given.parse::<f64>() {
            _ if is_whole => Kind::Integer(given),
            Ok(number) if number.is_finite() => Kind::Float(given),
            _ => Kind::String(given),
        };
        entries.push((key(&name), Value { kind, span }));
    }
    Table { entries }
}
