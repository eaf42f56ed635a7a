//! Networks with disconnected links: one thread and several threads yield the same results.

use crate::test_network::{advance_until, chain_network, default_plan, ipv4_udp_packet, time_at_micros};
use thalweg_live::network_plan::Plan;
use thalweg_live::{Delivery, EventLoopOutcome, Fidelity, Groups, MergedOutcome};
use thalweg_queue::{ImpairmentSpec, LossSpec};
use thalweg_sim::simulation_spec::Spec;

/// Returns `count` parallel chains of three nodes, with lossy links.
fn parallel_chains(count: u32) -> Spec {
    let mut spec = chain_network(3 * count);
    spec.links.retain(|link| link.b.0 % 3 != 0);
    for link in &mut spec.links {
        let loss = LossSpec::Uniform { probability: 0.2 };
        link.forward.impairment = ImpairmentSpec { loss, ..ImpairmentSpec::default() };
    }
    spec
}

/// Hosts send to the other ends of their chains, and to unreachable ends of other chains.
fn deliveries_over_chains(plan: &Plan, threads: usize) -> (MergedOutcome, Vec<Delivery>) {
    let groups = Groups::new(plan, threads);
    assert_eq!(groups.count(), threads);
    let mut emulators = groups.emulators(plan).unwrap();
    let hosts: Vec<usize> = plan.hosts().map(|(node, _)| node).collect();
    let mut got = Vec::new();
    for number in 0..300 {
        let now = time_at_micros(1000 * number as u64);
        emulators.iter_mut().for_each(|emulator| got.extend(advance_until(emulator, now)));
        // Groups of equal load are distributed round-robin.
        let from = number * 5 % hosts.len();
        let ends = [hosts[from], hosts[number * 3 % hosts.len()]];
        emulators[from / 2 % threads].enter(now, ends[0], ipv4_udp_packet(plan, ends, 64, 0, 400));
    }
    let end = |mut emulator| {
        got.extend(advance_until(&mut emulator, time_at_micros(900_000)));
        EventLoopOutcome { emulator, fidelity: Fidelity::default() }
    };
    let driven = emulators.into_iter().map(end).collect();
    got.sort_by_key(|delivery| (delivery.at, delivery.node));
    (groups.join(driven), got)
}

#[test]
fn threads_leave_no_trace() {
    let plan = default_plan(&parallel_chains(4));
    let (one, got) = deliveries_over_chains(&plan, 1);
    for threads in [2, 3, 4] {
        let (several, also) = deliveries_over_chains(&plan, threads);
        assert_eq!(got, also);
        let [one, several] = [&one, &several].map(|joined| &joined.result);
        assert_eq!(one.links, several.links);
        assert_eq!(one.flows, several.flows);
        assert_eq!(one.groups, several.groups);
        assert_eq!(one.series, several.series);
        assert_eq!((one.conservation, one.hops), (several.conservation, several.hops));
    }
    let (lost, counts) = (one.result.conservation.lost, one.counts);
    assert!(
        lost > 5 && counts.unreachable > 100 && one.result.flows.len() > 8 && !one.result.series.is_empty()
    );
    assert_eq!(counts.sent, 300);
}
