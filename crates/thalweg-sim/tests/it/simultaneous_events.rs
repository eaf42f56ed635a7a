//! Order of simultaneous events, random or in sequence.

use crate::test_network::{bytes, datagrams, direction, group, millis, pipe, run};
use thalweg_proto::units::{Duration, Rate};
use thalweg_queue::Limit;
use thalweg_sim::simulation_spec::*;

/// Two flows write a packet at the same times, and only the first of each pair gets through. In sequence that is always
/// the first flow's; in random order each flow's about half of the time.
#[test]
fn the_first_of_equal_flows_wins_every_tie_only_in_order() {
    let packets_of = |ties| {
        let workload = WorkloadSpec::ConstantRate { rate: Rate::from_mbits_per_sec(4), packet: bytes(1000) };
        let groups = ["a", "b"].map(|name| group(name, 1, datagrams(), workload.clone()));
        let link = direction(Rate::from_mbits_per_sec(8), Duration::ZERO, Limit::Packets(0));
        let result = run(&Spec { groups: groups.into(), duration: millis(2001), ties, ..pipe(link) });
        [0, 1].map(|flow| result.flows[flow].delivered.get() / 1000)
    };
    let [first, second] = packets_of(Ties::Order);
    assert!(first >= 1000 && second == 0, "{first} {second}");
    let [first, second] = packets_of(Ties::Hash);
    assert!(first > 400 && second > 400, "{first} {second}");
}
