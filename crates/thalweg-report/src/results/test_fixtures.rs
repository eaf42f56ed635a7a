//! Hand-made specifications and results for tests.

use super::{Header, Scenario};
use thalweg_proto::datagram::SourceConfig;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_queue::{DisciplineSpec, Limit};
use thalweg_sim::simulation_spec::{
    DirectionSpec, GroupSpec, LinkSpec, NodeId, NodeSpec, Spec, TransportSpec, WorkloadSpec,
};
use thalweg_sim::{
    Conservation, Curves, FlowCounts, FlowResult, GroupResult, LinkResult, Quantity, QueueResult, RunResult,
    SegmentDelay, Series, Summary, Transfers,
};

fn delay_summary(millis: u64) -> Summary {
    Summary {
        count: 1000,
        min: Duration::from_millis(millis),
        mean: Duration::from_millis(millis + 2),
        p50: Duration::from_millis(millis + 1),
        p95: Duration::from_millis(millis + 7),
        p99: Duration::from_millis(millis + 9),
        p999: Duration::from_millis(millis + 10),
        max: Duration::from_millis(millis + 11),
    }
}

fn flow_result(name: &str, group: u32, mbits: u64) -> FlowResult {
    let seconds = Duration::from_secs;
    FlowResult {
        name: name.to_owned(),
        group,
        start: Time::ZERO,
        finished: None,
        failed: None,
        counted_time: seconds(25),
        delivered: Rate::from_mbits_per_sec(mbits).bytes_in(seconds(25)),
        delivered_wire: Bytes::new(0),
        arrived_before: Bytes::ZERO,
        delivered_total: Bytes::new(0),
        goodput: Rate::from_mbits_per_sec(mbits),
        throughput: Rate::from_mbits_per_sec(mbits + 1),
        arrival_rate: Rate::from_mbits_per_sec(mbits),
        sent_packets: 1000,
        retransmissions: 12,
        timeouts: 1,
        counts: FlowCounts { drops: 12, lost_data: 12, ..FlowCounts::default() },
        delay: delay_summary(10 + mbits / 10),
        jitter: None,
        round_trips: delay_summary(20 + mbits / 5),
        ssthresh: Some(40.5),
        min_rtt: Duration::from_millis(20),
        smoothed_rtt: Duration::ZERO,
        segment_delay: SegmentDelay::default(),
        two_level: None,
        media: None,
        unread_peak: None,
        limits: [71, 0, 0, 9, 20, 0, 0].map(Duration::from_millis),
        states: Vec::new(),
    }
}

/// Returns a result with two `shy` flows and a `bold` one over one link; only the goodput depends on `mbits`.
pub(crate) fn run_result(seed: u64, mbits: u64) -> RunResult {
    let link = |name: &str, from: &str, to: &str, bottleneck| LinkResult {
        name: name.to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
        rate: Rate::from_mbits_per_sec(100),
        packets: 250_000,
        bytes: Bytes::new(312_500_000),
        utilisation: 0.987,
        policer: None,
        queue: QueueResult {
            mean_packets: 101.25,
            mean_bytes: 151_875.0,
            p99_packets: 160,
            max_packets: 166,
        },
        drops_full: if bottleneck { 36 } else { 0 },
        drops_early: 0,
        filtered: 0,
        feedback: 0,
        feedback_bytes: Bytes::ZERO,
        marks: 0,
        losses: 0,
        corrupted: 0,
        duplicated: 0,
        bottleneck,
    };
    let group = |name: &str, scheme: &str, flows, mbits| GroupResult {
        name: name.to_owned(),
        scheme: scheme.to_owned(),
        flows,
        goodput: Rate::from_mbits_per_sec(mbits),
        jain: Some(1.0),
        fairness_variance: 0.0,
        has_many: false,
        transfers: Transfers::default(),
        sizes: Vec::new(),
        rounds: Summary::default(),
        round_list: Vec::new(),
        delay: delay_summary(10 + mbits / 10),
        round_trips: delay_summary(20 + mbits / 5),
        curves: Curves::default(),
    };
    RunResult {
        seed,
        warmup: Duration::from_secs(5),
        end_time: Time::ZERO + Duration::from_secs(30),
        is_complete: true,
        events: 1_000_000,
        hops: 500_000,
        fingerprint: seed.wrapping_add(0xfeed),
        conservation: Conservation {
            sent: 3000,
            duplicated: 0,
            delivered: 2900,
            dropped: 36,
            lost: 0,
            in_network: 64,
        },
        flows: vec![flow_result("shy.1", 0, 10), flow_result("shy.2", 0, 10), flow_result("bold", 1, mbits)],
        links: vec![link("left-right", "left", "right", true), link("left-right", "right", "left", false)],
        transfers: Transfers::default(),
        round_trips: delay_summary(20 + mbits / 5),
        curves: Curves::default(),
        sizes: Vec::new(),
        transfer_list: Vec::new(),
        transfers_left_out: 0,
        groups: vec![group("shy", "vegas", 2, 20), group("bold", "cubic", 1, mbits)],
        series: vec![Series {
            quantity: Quantity::Window,
            subject: 2,
            points: vec![(Time::ZERO, 10.0), (Time::from_picos(100_000_000_000), 12.5)],
        }],
    }
}

/// Returns the header that goes with [`run_result`].
pub(crate) fn test_header(seeds: &[u64]) -> Header {
    Header {
        tool_version: "0.0.0".to_owned(),
        scenario: Scenario { title: "Two and one".to_owned(), file: "mixed.toml".to_owned() },
        duration: Duration::from_secs(30),
        warmup: Duration::from_secs(5),
        seeds: seeds.to_vec(),
        deterministic: false,
        margin: super::MARGIN,
        unlike_defaults: Vec::new(),
        contention: None,
        compared: Vec::new(),
    }
}

/// Returns a specification of random datagrams over one link.
pub(crate) fn test_spec() -> Spec {
    let direction = DirectionSpec {
        rate: Rate::from_mbits_per_sec(10),
        queue: DisciplineSpec::fcfs(Limit::Packets(10)),
        ..DirectionSpec::unlimited_rate(Duration::from_millis(1))
    };
    let link = LinkSpec::new("link", [NodeId(0), NodeId(1)], direction.clone(), direction);
    let transport = TransportSpec::new("udp", SourceConfig { segment: 1000, header: 28, rate: None }, 28, 28);
    let workload = WorkloadSpec::Telnet { packet: Bytes::new(1000), gap: Duration::from_micros(900) };
    let group = GroupSpec::new("flow", [NodeId(0), NodeId(1)], transport, workload);
    Spec {
        nodes: vec![NodeSpec::new("a"), NodeSpec::new("b")],
        links: vec![link],
        groups: vec![group],
        duration: Duration::from_secs(5),
        ..Spec::default()
    }
}
