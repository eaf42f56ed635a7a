//! Network of a report: nodes, links, and flow groups with their endpoints.

use crate::output::{format_rate, format_seconds};
use serde::Serialize;
use thalweg_sim::simulation_spec::{DirectionSpec, GroupSpec, Spec};

/// Drawn parts of a scenario's network.
#[derive(Debug, Serialize)]
pub(super) struct Topology {
    /// Names of nodes.
    nodes: Vec<String>,
    links: Vec<Link>,
    groups: Vec<Group>,
    /// Numbers of nodes and links, if too many to draw.
    too_large: Option<(usize, usize)>,
}

#[derive(Debug, Serialize)]
struct Link {
    name: String,
    /// Endpoints, as node indices.
    a: u32,
    b: u32,
    /// Properties of each direction, as text.
    forward: String,
    backward: String,
}

#[derive(Debug, Serialize)]
struct Group {
    name: String,
    scheme: String,
    count: u32,
    from: u32,
    to: u32,
}

impl Topology {
    pub(super) fn from_spec(spec: &Spec) -> Self {
        let (nodes, links) = (spec.nodes.len(), spec.links.len());
        if nodes > MAX_NODES || links > MAX_LINKS {
            let too_large = Some((nodes, links));
            return Self { nodes: Vec::new(), links: Vec::new(), groups: Vec::new(), too_large };
        }
        let link = |link: &thalweg_sim::simulation_spec::LinkSpec| Link {
            name: link.name.clone(),
            a: link.a.0,
            b: link.b.0,
            forward: direction_text(&link.forward),
            backward: direction_text(&link.backward),
        };
        Self {
            nodes: spec.nodes.iter().map(|node| node.name.clone()).collect(),
            links: spec.links.iter().map(link).collect(),
            // Groups between many nodes would cover the whole picture.
            groups: spec.groups.iter().filter(|group| group.pairs.is_empty()).map(Group::from_spec).collect(),
            too_large: None,
        }
    }
}

impl Group {
    fn from_spec(group: &GroupSpec) -> Self {
        Self {
            name: group.name.clone(),
            scheme: group.transport.scheme.clone(),
            count: group.count,
            from: group.from.0,
            to: group.to.0,
        }
    }
}

fn direction_text(direction: &DirectionSpec) -> String {
    let speed = match &direction.capacity {
        Some(_) => "capacity trace".to_owned(),
        None => format_rate(direction.rate.as_f64()),
    };
    format!("{speed}, {}", format_seconds(direction.delay.as_secs_f64()))
}

/// Maximum number of nodes that are legible on a screen.
const MAX_NODES: usize = 100;
const MAX_LINKS: usize = 200;
