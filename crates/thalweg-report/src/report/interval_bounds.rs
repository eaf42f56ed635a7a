//! Upper bounds set by the network: intervals of means over few runs are clipped to them.

use serde::Serialize;
use std::collections::BTreeMap;
use thalweg_proto::units::Rate;
use thalweg_queue::Limit;
use thalweg_sim::simulation_spec::{DirectionSpec, Spec};

/// Upper bounds by quantity: for links one each, by the name of its series; for flows one for all.
#[derive(Debug, Default, Serialize)]
pub(super) struct Bounds {
    links: BTreeMap<&'static str, BTreeMap<String, f64>>,
    flows: BTreeMap<&'static str, f64>,
}

impl Bounds {
    /// Returns the bounds of a network.
    pub(super) fn from_spec(spec: &Spec) -> Self {
        let mut bounds = Self::default();
        let mut fastest = Some(Rate::ZERO);
        let name = |node: thalweg_sim::simulation_spec::NodeId| {
            spec.nodes.get(node.0 as usize).map_or("", |node| node.name.as_str())
        };
        for link in &spec.links {
            let (a, b) = (name(link.a), name(link.b));
            for (line, from, to) in [(&link.forward, a, b), (&link.backward, b, a)] {
                let subject = format!("{} {from}->{to}", link.name);
                let mut add = |quantity, bound| {
                    bounds.links.entry(quantity).or_default().insert(subject.clone(), bound);
                };
                match line.queue.limit() {
                    Limit::Packets(packets) => add("queue-packets", packets as f64),
                    Limit::Bytes(bytes) => add("queue-bytes", bytes as f64),
                    Limit::Unlimited => {}
                }
                let rate = highest_rate(line);
                if let Some(rate) = rate {
                    add("link-rate", rate.as_f64());
                }
                fastest = fastest.zip(rate).map(|(one, other)| one.max(other));
            }
        }
        if let Some(fastest) = fastest.filter(|rate| *rate > Rate::ZERO) {
            bounds.flows.insert("goodput", fastest.as_f64());
        }
        bounds
    }
}

/// Returns the highest rate that a direction ever has; `None` where a trace or a periodic variation sets the rate, or
/// packets take no time.
fn highest_rate(line: &DirectionSpec) -> Option<Rate> {
    if line.capacity.is_some() || line.periodic_variation.is_some() {
        return None;
    }
    let scheduled = line.schedule.iter().filter_map(|change| change.rate);
    scheduled.chain([line.rate]).max().filter(|rate| *rate > Rate::ZERO && *rate < Rate::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::units::Duration;
    use thalweg_queue::DisciplineSpec;
    use thalweg_sim::simulation_spec::{LinkSpec, NodeId, NodeSpec};

    #[test]
    fn queues_end_at_their_limits_and_rates_at_those_of_links() {
        let line = |mbits, limit| DirectionSpec {
            rate: Rate::from_mbits_per_sec(mbits),
            queue: DisciplineSpec::fcfs(limit),
            ..DirectionSpec::unlimited_rate(Duration::from_millis(1))
        };
        let directions = [line(10, Limit::Packets(625)), line(40, Limit::Bytes(30_000))];
        let [forward, backward] = directions;
        let spec = Spec {
            nodes: vec![NodeSpec::new("a"), NodeSpec::new("b")],
            links: vec![LinkSpec::new("wire", [NodeId(0), NodeId(1)], forward, backward)],
            ..Spec::default()
        };
        let bounds = Bounds::from_spec(&spec);
        let of = |quantity: &str, subject: &str| bounds.links.get(quantity)?.get(subject).copied();
        assert_eq!(of("queue-packets", "wire a->b"), Some(625.0));
        assert_eq!(
            (of("queue-packets", "wire b->a"), of("queue-bytes", "wire b->a")),
            (None, Some(30_000.0))
        );
        assert_eq!((of("link-rate", "wire a->b"), of("link-rate", "wire b->a")), (Some(10e6), Some(40e6)));
        assert_eq!(bounds.flows.get("goodput"), Some(&40e6));
        // A link without a rate limit bounds nothing.
        let open = LinkSpec::new(
            "open",
            [NodeId(0), NodeId(1)],
            DirectionSpec::unlimited_rate(Duration::ZERO),
            line(1, Limit::Unlimited),
        );
        let bounds = Bounds::from_spec(&Spec { links: vec![open], ..spec });
        assert!(bounds.flows.is_empty() && !bounds.links["link-rate"].contains_key("open a->b"));
    }
}
