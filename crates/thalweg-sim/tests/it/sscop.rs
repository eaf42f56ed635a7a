//! SSCOP and ATM links between two hosts, with results computed by hand.

use crate::test_network::{bytes, datagrams, direction, group, millis, pipe, run, with_random_loss};
use std::sync::Arc;
use thalweg_proto::sscop::{Config, EndpointConfig};
use thalweg_proto::units::{Duration, Rate};
use thalweg_queue::Limit;
use thalweg_sim::simulation_spec::*;

fn sscop(config: Config) -> TransportSpec {
    let config = EndpointConfig { sscop: Arc::new(config), segment: 996 };
    TransportSpec::new("sscop", config, 0, 0)
}

fn ten_mbit() -> DirectionSpec {
    direction(Rate::from_mbits_per_sec(10), millis(10), Limit::Unlimited)
}

/// A credit of 10 messages of 1000 bytes and a POLL after each ten: STAT grants credit for ten more a round trip later.
/// Ten SDs take 8 ms; the POLL (8 bytes) after them 6.4 us, the STAT (12 bytes) 9.6 us, 20 ms both ways: 28.016 ms.
#[test]
fn a_small_credit_sends_a_credit_each_round_trip() {
    let config = Config { window: 10, max_pd: 10, ..Config::default() };
    let mut spec = pipe(ten_mbit());
    spec.groups = vec![group("flow", 1, sscop(config), WorkloadSpec::Bulk)];
    let result = run(&spec);
    let rounds = (10.0 - 0.020_013) / 0.028_016;
    let messages = result.flows[0].delivered.get() as f64 / 996.0;
    assert!((messages / (rounds * 10.0) - 1.0).abs() < 0.002, "{messages} messages, {rounds} round trips");
    assert_eq!(result.flows[0].retransmissions, 0);
}

/// A large credit fills the link: 996 of every 1000 bytes are data, and a POLL goes with each 25.
#[test]
fn a_large_credit_fills_the_link() {
    let mut spec = pipe(ten_mbit());
    let config = Config { window: 200, ..Config::default() };
    spec.groups = vec![group("flow", 1, sscop(config), WorkloadSpec::Bulk)];
    (spec.warmup, spec.duration) = (Duration::from_secs(1), Duration::from_secs(11));
    let result = run(&spec);
    let expected = 10e6 * 996.0 * 25.0 / (1000.0 * 25.0 + 8.0);
    // The throughput counts the four bytes of each SD.
    let throughput = result.flows[0].throughput.as_f64();
    assert!((throughput / expected * 0.996 - 1.0).abs() < 0.001, "{throughput}");
    let goodput = result.flows[0].goodput.as_f64();
    assert!((goodput / expected - 1.0).abs() < 0.001, "{goodput} instead of {expected}");
}

/// With any loss everything arrives, and each lost SD is retransmitted exactly once.
#[test]
fn every_loss_costs_one_retransmission() {
    for loss in [0.01, 0.1, 0.3] {
        let mut spec = pipe(with_random_loss(ten_mbit(), loss));
        let mut config = Config { window: 100, ..Config::default() };
        config.timers.no_response = Duration::from_secs(600);
        spec.groups = vec![group("flow", 1, sscop(config), WorkloadSpec::Transfer(bytes(996_000)))];
        spec.duration = Duration::from_secs(600);
        let result = run(&spec);
        let flow = &result.flows[0];
        assert_eq!((flow.delivered, flow.failed), (bytes(996_000), None));
        assert!(flow.finished.is_some(), "at {loss}");
        // POLLs and other control PDUs are lost too, about as often; they are few.
        let losses = result.links[0].losses;
        assert!(flow.retransmissions <= losses && flow.retransmissions * 10 >= losses * 7, "{losses}");
    }
}

/// A silent peer: everything is lost from 5 s on. The connection ends within Timer_NO-RESPONSE, and the flow fails.
#[test]
fn a_flow_with_an_unresponsive_peer_fails() {
    let mut wire = ten_mbit();
    let all = thalweg_queue::LossSpec::Uniform { probability: 1.0 };
    let impairment = thalweg_queue::ImpairmentSpec { loss: all, ..Default::default() };
    let at = thalweg_proto::units::Time::ZERO + Duration::from_secs(5);
    wire.schedule = vec![Change { impairment: Some(impairment), ..Change::at(at) }];
    let mut spec = pipe(wire);
    spec.groups = vec![group("flow", 1, sscop(Config::default()), WorkloadSpec::Bulk)];
    spec.duration = Duration::from_secs(20);
    let result = run(&spec);
    let failed = result.flows[0].failed.expect("it failed").as_secs_f64();
    assert!((11.9..12.1).contains(&failed), "{failed}");
}

/// I.363.5: a trailer of 8 bytes after the packet, then padding to whole cells of 48. Datagrams at 1 ms intervals; a
/// link of 424 kbit/s sends a cell a millisecond.
#[test]
fn aal5_occupies_an_integral_number_of_cells() {
    for (size, cells) in [(1, 1), (40, 1), (41, 2), (88, 2), (89, 3), (512, 11), (1500, 32), (65_000, 1355)] {
        let line = DirectionSpec {
            framing: Framing::AtmAal5,
            ..direction(Rate::from_bits_per_sec(424_000), millis(5), Limit::Unlimited)
        };
        let mut spec = pipe(line);
        spec.groups = vec![group("flow", 1, datagrams(), WorkloadSpec::Transfer(bytes(size)))];
        let result = run(&spec);
        let delay = result.flows[0].delay.max.as_millis_f64();
        assert!((delay - (5.0 + f64::from(cells))).abs() < 1e-6, "{size} bytes: {delay} ms");
        // Busy for that long, of 10 s.
        assert!((result.links[0].utilisation - f64::from(cells) * 1e-4).abs() < 1e-9);
    }
}
