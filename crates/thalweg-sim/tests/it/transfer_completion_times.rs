//! Transfers: completion times, ideal completion times, and complete counts.

use crate::test_network::{
    bytes, chain, datagrams, direction, group, millis, pipe, run, window, with_random_loss,
};
use thalweg_proto::congestion::{FixedWindowConfig, NewRenoConfig};
use thalweg_proto::datagram::SourceConfig;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_proto::window::ControllerConfig;
use thalweg_queue::Limit;
use thalweg_sim::simulation_spec::*;

fn fixed(window_segments: u32) -> TransportSpec {
    window(ControllerConfig::FixedWindow(FixedWindowConfig { window: f64::from(window_segments) }))
}

fn reno() -> TransportSpec {
    window(ControllerConfig::NewReno(NewRenoConfig {
        initial_window: 10.0,
        initial_ssthresh: 1e9,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    }))
}

/// Three links, the second the slowest, without window limit or competing traffic.
#[test]
fn a_transfer_alone_takes_its_ideal_time() {
    let link_direction = |mbits, micros| {
        let link_direction =
            direction(Rate::from_mbits_per_sec(mbits), Duration::from_micros(micros), Limit::Unlimited);
        (link_direction.clone(), link_direction)
    };
    let mut spec = chain(vec![link_direction(100, 500), link_direction(8, 3_000), link_direction(40, 100)]);
    for (size, expected_micros) in [
        // A packet of 1000 bytes takes 80, 1000 and 200 us, and 3600 us of propagation.
        (960, 4_880),
        // Nine more of them wait for the second link.
        (9_600, 4_880 + 9 * 1_000),
        // The last has 480 bytes of payload, 520 in all: 520 us on the second link, 104 on the third.
        (9_600 + 480, 80 + 10 * 1_000 + 520 + 104 + 3_600),
        // One of 140 bytes alone.
        (100, 11 + 140 + 28 + 3_600),
    ] {
        spec.groups = vec![group("bulk", 3, fixed(1000), WorkloadSpec::Transfer(bytes(size)))];
        let result = run(&spec);
        let transfer = result.transfer_list[0];
        assert_eq!((transfer.flow, transfer.size, transfer.start), (0, bytes(size), Time::ZERO));
        let took = transfer.end.expect("it has ended").since(transfer.start);
        assert_eq!(Some(took), transfer.ideal, "{size}");
        assert!(took.as_picos().abs_diff(expected_micros * 1_000_000) < 1_000_000, "{size}: {took}");
        assert_eq!(result.transfers.slowdown.mean, 1.0, "{size}");
        assert_eq!(result.groups[0].transfers.unfinished, 0);
    }
}

/// The path includes hosts and access links; a window of one packet takes a round trip for each.
#[test]
fn window_limits_are_reported_as_slowdown() {
    let link_direction = direction(Rate::from_mbits_per_sec(8), millis(10), Limit::Unlimited);
    let mut spec = pipe(link_direction);
    spec.groups = vec![group("slow", 1, fixed(1), WorkloadSpec::Transfer(bytes(960 * 20)))];
    let result = run(&spec);
    // 20 packets of 1 ms and 10 ms; an acknowledgement of 40 bytes takes 10.04 ms back.
    let ideal = 0.020 + 0.010;
    let took = 20.0 * 0.011 + 19.0 * 0.010_04;
    let slowdown = result.groups[0].transfers.slowdown;
    assert!((slowdown.mean - took / ideal).abs() < 1e-6, "{} for {}", slowdown.mean, took / ideal);
    assert_eq!((slowdown.count, slowdown.max), (1, slowdown.mean));
}

#[test]
fn an_exchange_is_ideal_there_and_back() {
    let link_direction = direction(Rate::from_mbits_per_sec(8), millis(10), Limit::Unlimited);
    let mut spec = pipe(link_direction);
    let workload = WorkloadSpec::RequestResponse {
        request: bytes(100),
        response: SizeSpec::Fixed(bytes(9_600)),
        think: millis(50),
    };
    spec.groups = vec![group("web", 1, fixed(1000), workload)];
    let result = run(&spec);
    let completed_transfers: Vec<_> =
        result.transfer_list.iter().filter(|transfer| transfer.end.is_some()).collect();
    assert!(completed_transfers.len() > 50, "{}", completed_transfers.len());
    for transfer in &completed_transfers {
        assert_eq!(transfer.size, bytes(9_700));
        // 140 bytes there, ten packets of 1000 back.
        assert_eq!(transfer.ideal, Some(Duration::from_micros(140 + 10_000 + 10_000 + 10_000)));
        // The acknowledgement of the request leaves before the response: 40 bytes.
        let took = transfer.end.map(|end| end.since(transfer.start));
        assert_eq!(took, transfer.ideal.map(|ideal| ideal + Duration::from_micros(40)));
    }
    assert_eq!(completed_transfers.len() as u64, result.transfers.completion.count);
}

/// The offered load exceeds the capacity: finished and unfinished transfers add up to those started, and small and
/// large ones are distinguished.
#[test]
fn every_transfer_is_listed() {
    let link_direction = direction(Rate::from_mbits_per_sec(8), millis(5), Limit::Packets(50));
    let mut spec = pipe(with_random_loss(link_direction, 0.01));
    spec.warmup = Duration::from_secs(2);
    let size = SizeSpec::Uniform { min: bytes(2_000), max: bytes(40_000) };
    let poisson = WorkloadSpec::Poisson { gap: millis(20), size };
    spec.groups = vec![
        group("many", 1, reno(), poisson),
        group("long", 1, reno(), WorkloadSpec::Transfer(bytes(1 << 30))),
    ];
    let result = run(&spec);
    let of = |flow: u32, is_completed: bool| {
        let list = result.transfer_list.iter();
        list.filter(|transfer| transfer.flow == flow && transfer.end.is_some() == is_completed).count() as u64
    };
    let [many, long] = [0, 1].map(|group| result.groups[group].transfers);
    assert_eq!((many.completion.count, many.unfinished), (of(0, true), of(0, false)));
    assert!(many.completion.count > 20 && many.unfinished > 20, "{many:?}");
    assert_eq!((long.completion.count, long.unfinished), (0, 1), "a flow that does not end is unfinished");
    let warm = Time::ZERO + spec.warmup;
    assert!(result.transfer_list.iter().all(|transfer| transfer.end.is_none_or(|end| end >= warm)));
    let slow = |transfer: &thalweg_sim::Transfer| {
        Some(transfer.end?.since(transfer.start).as_secs_f64() / transfer.ideal?.as_secs_f64())
    };
    let slowdowns: Vec<f64> = result.transfer_list.iter().filter_map(slow).collect();
    assert!(slowdowns.iter().all(|&slowdown| slowdown > 1.0 - 1e-9));
    let mean = slowdowns.iter().sum::<f64>() / slowdowns.len() as f64;
    assert!((result.transfers.slowdown.mean / mean - 1.0).abs() < 1e-6);
    let ends: Vec<_> =
        result.sizes.iter().map(|class| (class.from.get(), class.below.map(Bytes::get))).collect();
    assert_eq!(ends, [(0, Some(10_000)), (10_000, Some(100_000))]);
    let counts: u64 = result.sizes.iter().map(|class| class.transfers.completion.count).sum();
    assert_eq!(counts, result.transfers.completion.count);
}

/// Of 1000 datagrams a second each tenth is lost, and the others are delayed by those queued before them.
#[test]
fn loss_and_jitter_of_datagrams_are_reported() {
    let link_direction = direction(Rate::from_mbits_per_sec(8), millis(5), Limit::Packets(1000));
    let mut spec = pipe(with_random_loss(link_direction, 0.1));
    let rate = Rate::from_mbits_per_sec(4);
    let call = WorkloadSpec::ConstantRate { rate, packet: bytes(500) };
    spec.groups = vec![group("call", 1, datagrams(), call)];
    let result = run(&spec);
    let flow = &result.flows[0];
    assert_eq!(flow.counts.lost_data, result.links[0].losses);
    assert!((flow.counts.lost_data as f64 / flow.sent_packets as f64 - 0.1).abs() < 0.01);
    assert_eq!(flow.jitter, Some(Duration::ZERO), "alone on its line, each takes as long as the one before");
    // Bursts of two: the second waits for the first, 0.5 ms each time.
    let writes: Vec<_> = (0..1000).flat_map(|i| [(millis(i * 5), bytes(500)); 2]).collect();
    let mut spec = pipe(direction(Rate::from_mbits_per_sec(8), millis(5), Limit::Packets(1000)));
    let pairs = TransportSpec::new("udp", SourceConfig { segment: 500, header: 0, rate: None }, 0, 0);
    spec.groups = vec![group("pairs", 1, pairs, WorkloadSpec::Trace(writes.into()))];
    let result = run(&spec);
    let jitter = result.flows[0].jitter.expect("datagrams have jitter");
    assert!(jitter.as_picos().abs_diff(500_000_000) < 1_000_000, "{jitter}");
    assert_eq!(result.flows[0].counts.lost_data, 0);
}

/// Five senders over one link: a round starts a think time after all blocks of the previous one have arrived, and lasts
/// as long as its slowest block.
#[test]
fn rounds_wait_for_the_last_block() {
    let link = direction(Rate::from_mbits_per_sec(8), millis(1), Limit::Packets(20));
    let (size, think) = (bytes(48_000), millis(7));
    let rounds = |rounds| WorkloadSpec::Rounds { size, rounds, think };
    let flows = |rounds| GroupSpec { count: 5, stagger: millis(3), ..group("stripes", 1, reno(), rounds) };
    let result = run(&Spec { groups: vec![flows(rounds(Some(4)))], ..pipe(link.clone()) });
    let group = &result.groups[0];
    assert_eq!((group.rounds.count, group.round_list.len()), (4, 4));
    assert_eq!((group.transfers.completion.count, group.transfers.unfinished), (20, 0));
    assert!(result.flows.iter().all(|flow| flow.delivered == size * 4));
    // The first flow starts at once; others start later in the first round only.
    assert_eq!(group.round_list[0].start, Time::ZERO);
    for pair in group.round_list.windows(2) {
        assert_eq!(pair[1].start, pair[0].end + think);
    }
    for (number, round) in group.round_list.iter().enumerate() {
        let within = |of: &&thalweg_sim::Transfer| (round.start..=round.end).contains(&of.start);
        let blocks: Vec<_> = result.transfer_list.iter().filter(within).collect();
        assert_eq!(blocks.len(), 5);
        assert_eq!(blocks.iter().filter_map(|block| block.end).max(), Some(round.end));
        assert!(number == 0 || blocks.iter().all(|block| block.start == round.start));
        // 240 kB at 8 Mbit/s, with headers.
        let took = round.end.since(round.start).as_millis_f64();
        assert!((250.0..1_000.0).contains(&took), "{took}");
    }
    assert_eq!(group.rounds.max, group.round_list.iter().map(|of| of.end.since(of.start)).max().unwrap());
    // Without a maximum, rounds continue to the end, which interrupts one.
    let result = run(&Spec { groups: vec![flows(rounds(None))], ..pipe(link.clone()) });
    let group = &result.groups[0];
    assert!(group.rounds.count > 8, "{}", group.rounds.count);
    assert_eq!(group.transfers.completion.count + group.transfers.unfinished, 5 * (group.rounds.count + 1));
    // Transfers that end before counting starts are not counted.
    let warm = Spec { groups: vec![flows(rounds(None))], warmup: millis(5_000), ..pipe(link) };
    let counted = run(&warm).groups[0].rounds.count;
    assert!(counted > 2 && counted < group.rounds.count, "{counted}");
}

/// The sender of a transfer that was delivered during the warm-up learns of it afterwards.
#[test]
fn transfers_delivered_during_the_warmup_do_not_count() {
    let link = direction(Rate::from_mbits_per_sec(10), millis(100), Limit::Packets(100));
    let mut spec = pipe(link);
    let pairs = vec![(0, Duration::ZERO, bytes(1000)), (0, millis(60), bytes(1000))];
    spec.groups = vec![group("list", 1, reno(), WorkloadSpec::List(ArrivalList::new(pairs).into()))];
    let completed = |warmup: u64| {
        let result = run(&Spec { warmup: millis(warmup), duration: millis(1000), ..spec.clone() });
        let listed: Vec<Time> = result.transfer_list.iter().filter_map(|transfer| transfer.end).collect();
        assert!(listed.iter().all(|end| *end >= Time::ZERO + millis(warmup)), "{listed:?}");
        (result.transfers.completion.count, listed.len())
    };
    assert_eq!([0, 150, 180].map(completed), [(2, 2), (1, 1), (0, 0)]);
}

/// A transfer ends with the delivery of its last byte, also if the run ends before its sender knows.
#[test]
fn transfers_delivered_before_the_end_are_completed() {
    let link = direction(Rate::from_mbits_per_sec(10), millis(100), Limit::Packets(100));
    let pairs = vec![(0, Duration::ZERO, bytes(1000)), (0, millis(10), bytes(1000))];
    let list = WorkloadSpec::List(ArrivalList::new(pairs).into());
    for (workload, transfers) in [(list, 2), (WorkloadSpec::Transfer(bytes(1000)), 1)] {
        let mut spec = pipe(link.clone());
        spec.groups = vec![group("short", 1, reno(), workload)];
        let counts = |duration: u64| {
            let result = run(&Spec { duration: millis(duration), ..spec.clone() });
            (result.transfers.completion.count, result.transfers.unfinished, result.flows[0].delivered)
        };
        assert_eq!(counts(150), (transfers, 0, bytes(1000 * transfers)));
        assert_eq!(counts(90), (0, transfers, Bytes::ZERO));
    }
}

/// A sender of datagrams does not know what arrives: its data has no completion time.
#[test]
fn datagrams_have_no_completion() {
    let mut spec = pipe(direction(Rate::from_mbits_per_sec(10), millis(100), Limit::Packets(5)));
    spec.groups = vec![group("burst", 1, datagrams(), WorkloadSpec::Transfer(bytes(1_000_000)))];
    let result = run(&spec);
    assert_eq!((result.transfers.completion.count, result.transfers.unfinished), (0, 0));
    assert_eq!(result.flows[0].finished, None);
    assert!(result.links[0].drops_full > 0, "{:?}", result.links[0]);
    assert!(result.transfer_list.is_empty(), "{:?}", result.transfer_list);
}
