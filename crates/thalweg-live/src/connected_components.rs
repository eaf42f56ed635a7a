//! Partition of the network into groups of links without any connection between them. No packet passes from one to
//! another, so each thread can run some.
//!
//! Each thread has its own network with the numbering of the whole. It contains the links of the others for identical
//! names and random numbers, but they stay idle.

use crate::emulator::{Counts, Emulator};
use crate::event_loop::{Device, EventLoopOutcome};
use crate::fidelity_record::Fidelity;
use crate::network_plan::Plan;
use std::collections::BTreeMap;
use thalweg_proto::units::Duration;
use thalweg_sim::simulation_spec::{DirectionSpec, LinkSpec};
use thalweg_sim::{RunResult, SpecError, live_network};

/// Assignment of a network to threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// Thread of each node.
    nodes: Vec<usize>,
    /// Number of threads.
    count: usize,
}

/// Merged outcome of all threads.
#[derive(Debug)]
pub struct MergedOutcome {
    /// Measurements of the network.
    pub result: RunResult,
    /// Counters of packets not simply forwarded from host to host.
    pub counts: Counts,
    /// Record of this host's lateness.
    pub fidelity: Fidelity,
}

impl Groups {
    /// Distributes the groups over at most `max` threads, balanced by load.
    pub fn new(plan: &Plan, max: usize) -> Self {
        let group_of = component_of_each_node(plan);
        // Estimate a host's load as the rate of the slowest link in its group.
        let mut groups: BTreeMap<usize, (u128, u64)> = BTreeMap::new();
        for (node, _) in plan.hosts() {
            groups.entry(group_of[node]).or_insert((0, u64::MAX)).0 += 1;
        }
        for link in &plan.spec.links {
            let slowest = link.forward.rate.min(link.backward.rate).as_bits_per_sec();
            groups.entry(group_of[link.a.0 as usize]).and_modify(|(_, rate)| *rate = slowest.min(*rate));
        }
        let mut groups: Vec<(u128, usize)> = groups
            .into_iter()
            .map(|(group, (hosts, slowest))| (hosts * (u128::from(slowest) + 1), group))
            .collect();
        groups.sort_by_key(|&(work, group)| (core::cmp::Reverse(work), group));
        let count = groups.len().min(max).max(1);
        let mut loads = vec![0u128; count];
        let mut threads = BTreeMap::new();
        for (work, group) in groups {
            // Largest group first, each to the least loaded thread.
            let min = (0..count).min_by_key(|&thread| loads[thread]).unwrap_or(0);
            loads[min] = loads[min].saturating_add(work);
            threads.insert(group, min);
        }
        let nodes = group_of.iter().map(|group| threads.get(group).copied().unwrap_or(0)).collect();
        Self { nodes, count }
    }

    /// Returns the number of threads.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Splits the devices by thread.
    pub fn share(&self, devices: Vec<Device>) -> Vec<Vec<Device>> {
        let mut shares: Vec<Vec<Device>> = (0..self.count).map(|_| Vec::new()).collect();
        devices.into_iter().for_each(|device| shares[self.thread_of(device.node)].push(device));
        shares
    }

    /// Returns the thread of a node.
    fn thread_of(&self, node: usize) -> usize {
        self.nodes[node]
    }

    /// Returns the network of each thread.
    ///
    /// # Errors
    ///
    /// The network is invalid.
    pub fn emulators(&self, plan: &Plan) -> Result<Vec<Emulator>, SpecError> {
        (0..self.count).map(|thread| Emulator::new(self.part(plan, thread))).collect()
    }

    /// Merges the results of all threads, given in their order.
    pub fn join(&self, driven: Vec<EventLoopOutcome>) -> MergedOutcome {
        let mut counts = Counts::default();
        let (mut results, mut accounts) = (Vec::new(), Vec::new());
        let (mut owners, mut max) = (Vec::new(), 0);
        for EventLoopOutcome { emulator, fidelity } in driven {
            counts.add(&emulator.counts());
            let spec = &emulator.plan().spec;
            max = spec.measure.flows;
            owners = spec.links.iter().flat_map(|link| [self.of_link(link); 2]).collect();
            results.push(emulator.finish());
            accounts.push(fidelity);
        }
        let mut result = live_network::join_results(results, &owners);
        // Each thread has recorded up to the flow limit.
        result.series.retain(|series| !series.quantity.is_of_flow() || series.subject < max);
        MergedOutcome { result, counts, fidelity: Fidelity::from_threads(accounts) }
    }

    fn of_link(&self, link: &LinkSpec) -> usize {
        self.thread_of(link.a.0 as usize)
    }

    /// Returns the plan of one thread.
    fn part(&self, plan: &Plan, thread: usize) -> Plan {
        let mut part = plan.clone();
        for link in part.spec.links.iter_mut().filter(|link| self.of_link(link) != thread) {
            for direction in [&mut link.forward, &mut link.backward] {
                *direction = DirectionSpec::unlimited_rate(Duration::ZERO);
            }
        }
        let nodes = part.spec.nodes.iter_mut().zip(&self.nodes);
        nodes.filter(|(_, of)| **of != thread).for_each(|(node, _)| node.gate = None);
        part
    }
}

/// Returns the group of each node: the lowest node number connected to it.
fn component_of_each_node(plan: &Plan) -> Vec<usize> {
    let mut group: Vec<usize> = (0..plan.spec.nodes.len()).collect();
    fn find_root(group: &mut [usize], mut node: usize) -> usize {
        while group[node] != node {
            // Path halving.
            group[node] = group[group[node]];
            node = group[node];
        }
        node
    }
    for link in &plan.spec.links {
        let [a, b] = [link.a, link.b].map(|node| find_root(&mut group, node.0 as usize));
        group[a.max(b)] = a.min(b);
    }
    (0..group.len()).map(|node| find_root(&mut group, node)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network_plan::{PlanOptions, plan_network};
    use thalweg_proto::units::Rate;
    use thalweg_sim::simulation_spec::{NodeId, NodeSpec, Spec};

    /// Returns a plan of separate links, each with two hosts, with these rates in Mbit/s.
    fn lines(rates: &[u64]) -> Plan {
        let mut spec = Spec { seed: 1, ..Spec::default() };
        for (line, rate) in (0..).zip(rates) {
            let direction = DirectionSpec {
                rate: Rate::from_mbits_per_sec(*rate),
                ..DirectionSpec::unlimited_rate(Duration::from_millis(1))
            };
            spec.links.push(LinkSpec::new(
                format!("line{line}"),
                [2 * line, 2 * line + 1].map(NodeId),
                direction.clone(),
                direction,
            ));
            for end in ["a", "b"] {
                spec.nodes.push(NodeSpec::new(format!("{end}{line}")));
            }
        }
        plan_network(&spec, &PlanOptions::default()).unwrap()
    }

    fn threads(rates: &[u64], max: usize) -> Vec<usize> {
        let groups = Groups::new(&lines(rates), max);
        assert_eq!(groups.count(), max.min(rates.len()));
        (0..rates.len()).map(|line| groups.thread_of(2 * line + 1)).collect()
    }

    #[test]
    fn all_have_about_as_much_to_carry() {
        assert_eq!(threads(&[30; 8], 4), [0, 1, 2, 3, 0, 1, 2, 3]);
        // The third link has as much load as all others together.
        assert_eq!(threads(&[10, 10, 40, 10, 10], 2), [1, 1, 0, 1, 1]);
        assert_eq!(threads(&[1, 2, 3], 64), [2, 1, 0]);
    }

    #[test]
    fn connected_nodes_share_a_thread() {
        let mut spec = lines(&[1, 1, 1]).spec;
        spec.links[2].a = NodeId(0);
        let groups = Groups::new(&plan_network(&spec, &PlanOptions::default()).unwrap(), 64);
        // The fifth has no link left and is no longer a host.
        assert_eq!((0..6).map(|node| groups.thread_of(node)).collect::<Vec<_>>(), [0, 0, 1, 1, 0, 0]);
    }
}
