//! Topologies as files have them, before they are links: places with ids and labels, and what joins them.

use super::{Edge, is_too_large};
use crate::diagnostic::Report;
use crate::quantity::name_fault;
use crate::source::Span;
use std::collections::{BTreeMap, BTreeSet};
use thalweg_proto::units::{Duration, Rate};

/// A node of a file.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub id: String,
    pub label: Option<String>,
    /// Latitude and longitude in degrees.
    pub at: Option<[f64; 2]>,
    pub span: Span,
}

/// A link of a file, between two ids.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    pub ends: [String; 2],
    pub rate: Option<Rate>,
    pub span: Span,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Map {
    pub places: Vec<Place>,
    pub wires: Vec<Wire>,
}

impl Map {
    /// The links, with names that scenarios can have; `None` where something is wrong with them, which is said.
    pub fn edges(&self, span: Span, report: &mut Report) -> Option<Vec<Edge>> {
        let errors = report.errors();
        if is_too_large("this topology", self.places.len() as u64, self.wires.len() as u64, span, report) {
            return None;
        }
        if self.wires.is_empty() {
            report.error("scenario.file", span, "this topology has no links");
        }
        let numbers = self.numbers(report);
        let names = self.names();
        let mut names_of_links = BTreeSet::new();
        let mut edges = Vec::with_capacity(self.wires.len());
        for wire in &self.wires {
            let ends = wire.ends.each_ref().map(|id| numbers.get(id.as_str()).copied());
            for (id, _) in wire.ends.iter().zip(ends).filter(|(_, number)| number.is_none()) {
                report
                    .error("scenario.unknown-name", wire.span, format!("there is no node `{id}`"))
                    .help("a link is between two nodes of the file");
            }
            let [Some(a), Some(b)] = ends else { continue };
            if a == b {
                let message = format!("both ends of this link are `{}`", wire.ends[0]);
                report.error("scenario.range", wire.span, message).help("leave the loop out of the file");
                continue;
            }
            let mut name = format!("{}-{}", names[a], names[b]);
            // Of parallel links the second is called so.
            for number in 2.. {
                if names_of_links.insert(name.clone()) {
                    break;
                }
                name = format!("{}-{} {number}", names[a], names[b]);
            }
            let places = [a, b].map(|end| self.places[end].at);
            let delay = match places {
                [Some(a), Some(b)] => Some(Duration::from_secs_f64(kilometres(a, b) * SECONDS_A_KILOMETRE)),
                _ => None,
            };
            edges.push(Edge {
                name: Some(short(&name)),
                delay,
                rate: wire.rate,
                span: Some(wire.span),
                ..Edge::new(names[a].clone(), names[b].clone(), 0)
            });
        }
        (report.errors() == errors).then_some(edges)
    }

    /// Positions by id.
    fn numbers(&self, report: &mut Report) -> BTreeMap<&str, usize> {
        let mut numbers = BTreeMap::new();
        for (number, place) in self.places.iter().enumerate() {
            if numbers.insert(place.id.as_str(), number).is_some() {
                let message = format!("there is another node with the id `{}`", place.id);
                report.error("scenario.duplicate", place.span, message);
            }
        }
        numbers
    }

    /// Each node's name: its label where that is a name and no other's, or else its id, made a name.
    fn names(&self) -> Vec<String> {
        let mut uses: BTreeMap<&str, u32> = BTreeMap::new();
        for label in self.places.iter().filter_map(|place| place.label.as_deref()) {
            *uses.entry(label).or_default() += 1;
        }
        let mut taken = BTreeSet::new();
        let mut names = Vec::with_capacity(self.places.len());
        for place in &self.places {
            let label = place.label.as_deref().map(str::trim);
            let label = label.filter(|label| uses.get(label) == Some(&1) && name_fault(label).is_none());
            let wanted = label.map_or_else(|| as_name(&place.id), str::to_owned);
            let mut name = wanted.clone();
            for number in 2.. {
                if taken.insert(name.clone()) {
                    break;
                }
                name = format!("{} {number}", wanted.chars().take(48).collect::<String>());
            }
            names.push(name);
        }
        names
    }
}

/// An id as a name: with `-` for what no name has, and a letter before a number, which would be a position.
fn as_name(id: &str) -> String {
    let fits =
        |c: char| if c.is_alphanumeric() || matches!(c, '_' | '/' | '+' | ':' | '#') { c } else { '-' };
    let name: String = id.trim().chars().map(fits).take(56).collect();
    if name_fault(&name).is_none() && !name.bytes().all(|byte| byte.is_ascii_digit()) {
        return name;
    }
    format!("n{name}")
}

/// A name that is not too long.
fn short(name: &str) -> String {
    match name_fault(name) {
        None => name.to_owned(),
        Some(_) => {
            let count = name.chars().count();
            let end: String = name.chars().skip(count.saturating_sub(24)).collect();
            format!("{}..{end}", name.chars().take(36).collect::<String>()).replace('.', "-")
        }
    }
}

/// Light in fibre takes so long (ITU-T G.114, annex A: 5 us a km).
const SECONDS_A_KILOMETRE: f64 = 5e-6;
/// The mean radius of the Earth.
const RADIUS: f64 = 6371.0;

/// The length of the great circle between two places.
fn kilometres([latitude_a, longitude_a]: [f64; 2], [latitude_b, longitude_b]: [f64; 2]) -> f64 {
    let half = |degrees: f64| libm::sin(degrees.to_radians() / 2.0);
    let (north, east) = (half(latitude_b - latitude_a), half(longitude_b - longitude_a));
    let cosines = libm::cos(latitude_a.to_radians()) * libm::cos(latitude_b.to_radians());
    2.0 * RADIUS * libm::asin((north * north + cosines * east * east).clamp(0.0, 1.0).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quarter of the way round, and Berlin to Paris: 878 km.
    #[test]
    fn distances_are_those_of_the_globe() {
        assert!((kilometres([0.0, 0.0], [0.0, 90.0]) - 10_007.5).abs() < 0.1);
        let berlin_paris = kilometres([52.52, 13.405], [48.8566, 2.3522]);
        assert!((berlin_paris - 877.5).abs() < 2.0, "{berlin_paris}");
    }

    #[test]
    fn ids_become_names() {
        assert_eq!(as_name("7"), "n7");
        assert_eq!(as_name("A.b c"), "A-b-c");
        assert_eq!(as_name(""), "n");
        assert!(name_fault(&short(&"x".repeat(200))).is_none());
    }
}
