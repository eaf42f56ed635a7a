//! Explicit congestion notification: capable queues mark instead of dropping, and senders slow down without loss.

use crate::test_network::{direction, group, pipe, run, window};
use std::sync::Arc;
use thalweg_catalog::{DISCIPLINES, EndpointConfigs};
use thalweg_proto::congestion::{
    CubicConfig, DctcpConfig, DecBitConfig, NewRenoConfig, SlowStartConfig, VegasConfig,
};
use thalweg_proto::units::{Duration, Rate};
use thalweg_proto::window::{ControllerConfig, EndsConfig};
use thalweg_queue::{
    CoDelConfig, DisciplineSpec, DualPi2Config, FairQueueingConfig, FqCoDelConfig, Limit, PieConfig,
    RedConfig, StepConfig, Threshold,
};
use thalweg_sim::RunResult;
use thalweg_sim::simulation_spec::*;

const LIMIT: Limit = Limit::Packets(1000);

/// Returns every marking discipline, set to mark before it is full.
fn marking() -> [DisciplineSpec; 7] {
    let red = RedConfig { ecn: true, gentle: true, max_threshold: 100.0, ..RedConfig::default() };
    let fair = FairQueueingConfig { mark_above: Some(0.1), ..FairQueueingConfig::default() };
    [
        DisciplineSpec::new(LIMIT, red),
        DisciplineSpec::new(LIMIT, CoDelConfig::default()),
        DisciplineSpec::new(LIMIT, FqCoDelConfig::default()),
        DisciplineSpec::new(LIMIT, PieConfig::default()),
        DisciplineSpec::new(LIMIT, fair),
        DisciplineSpec::new(LIMIT, DualPi2Config::default()),
        DisciplineSpec::new(LIMIT, StepConfig { threshold: Threshold::Packets(20) }),
    ]
}

fn transport(controller: ControllerConfig, reacts: bool) -> TransportSpec {
    let mut transport = window(controller);
    if let EndpointConfigs::Window(EndsConfig { sender, .. }) = &mut transport.endpoint_configs {
        Arc::make_mut(sender).ecn = reacts;
    }
    transport
}

/// Runs four flows over 10 Mbit/s and a round trip of 20 ms for 20 s, with the verifier.
fn run_on_shared_link(queue: DisciplineSpec, transport: TransportSpec) -> RunResult {
    let flows = GroupSpec { count: 4, ..group("window", 1, transport, WorkloadSpec::Bulk) };
    let link = direction(Rate::from_mbits_per_sec(10), Duration::from_millis(10), LIMIT);
    let link = DirectionSpec { queue, ..link };
    run(&Spec { groups: vec![flows], duration: Duration::from_secs(20), ..pipe(link) })
}

fn controllers() -> [ControllerConfig; 4] {
    let (initial_window, initial_ssthresh) = (4.0, 16.0);
    [
        ControllerConfig::NewReno(NewRenoConfig {
            initial_window,
            initial_ssthresh,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        }),
        ControllerConfig::SlowStart(SlowStartConfig {
            initial_window,
            initial_ssthresh,
            growth: Default::default(),
        }),
        ControllerConfig::Cubic(CubicConfig {
            initial_window,
            initial_ssthresh,
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            slow_start_exit: Default::default(),
            ecn_beta: None,
            slow_start_beta: None,
        }),
        ControllerConfig::Vegas(VegasConfig {
            initial_window,
            initial_ssthresh,
            alpha: 60.0,
            beta: 80.0,
            gamma: 60.0,
            slow_start: Default::default(),
        }),
    ]
}

#[test]
fn marking_queues_cause_no_retransmissions() {
    for queue in marking() {
        for controller in controllers() {
            let result = run_on_shared_link(queue.clone(), transport(controller.clone(), true));
            let link = &result.links[0];
            let resent: u64 = result.flows.iter().map(|flow| flow.retransmissions).sum();
            let what = format!("{queue:?}, {controller:?}: {} marks", link.marks);
            assert!(link.marks > 20, "{what}");
            assert_eq!((link.drops_early, link.drops_full, resent), (0, 0, 0), "{what}");
            assert!(link.utilisation > 0.9, "{what}, {}", link.utilisation);
            // Senders that do not react to CE are never marked.
            let not_ect = run_on_shared_link(queue.clone(), transport(controller, false));
            assert_eq!(not_ect.links[0].marks, 0, "{what}");
            assert_eq!(not_ect.links[0].drops_early > 0, queue.drops_early(), "{what}");
        }
    }
}

/// A queue that marks at 5 packets is empty after a halving: with the smaller decrease of RFC 8511 the link is busy for
/// longer, and the window is marked more often. Neither loses anything.
#[test]
fn a_smaller_decrease_at_marks_keeps_a_short_queue_busy() {
    let run_with = |ecn_beta| {
        let new_reno = ControllerConfig::NewReno(NewRenoConfig {
            initial_window: 4.0,
            initial_ssthresh: 16.0,
            slow_start_exit: Default::default(),
            ecn_beta,
            slow_start_beta: None,
        });
        let flow = group("flow", 1, transport(new_reno, true), WorkloadSpec::Bulk);
        let queue = DisciplineSpec::new(LIMIT, StepConfig { threshold: Threshold::Packets(5) });
        let link = direction(Rate::from_mbits_per_sec(10), Duration::from_millis(20), LIMIT);
        let link = DirectionSpec { queue, ..link };
        run(&Spec { groups: vec![flow], duration: Duration::from_secs(60), ..pipe(link) })
    };
    let (plain, abe) = (run_with(None), run_with(Some(0.8)));
    let [used, more] = [&plain, &abe].map(|result| result.links[0].utilisation);
    assert!(used < 0.9 && more > used + 0.05, "{used}, {more}");
    // After a cut by a half, the next one comes 5/2 times as late as after a cut by a fifth.
    let [marks, often] = [&plain, &abe].map(|result| result.links[0].marks as f64);
    assert!((1.7..3.3).contains(&(often / marks)), "{marks}, {often}");
    assert!([&plain, &abe].iter().all(|result| result.flows[0].counts.lost_data == 0));
}

#[test]
fn marks_returns_true_only_for_disciplines_that_mark() {
    let limit = Limit::Packets(100);
    let [controller, ..] = controllers();
    let silent = [
        DisciplineSpec::new(limit, RedConfig { ecn: false, ..RedConfig::default() }),
        DisciplineSpec::new(limit, CoDelConfig { ecn: false, ..CoDelConfig::default() }),
        DisciplineSpec::new(limit, PieConfig { ecn_threshold: 0.0, ..PieConfig::default() }),
    ];
    let fair = FairQueueingConfig { mark_above: Some(1.0), ..FairQueueingConfig::default() };
    let defaults = DISCIPLINES.iter().map(|of| of.default_spec(limit));
    for queue in defaults.chain(silent).chain([DisciplineSpec::new(limit, fair)]) {
        let marks = run_on_shared_link(queue.clone(), transport(controller.clone(), true)).links[0].marks;
        assert_eq!(marks > 0, queue.marks(), "{queue:?}: {marks} marks");
    }
}

#[test]
fn a_mark_does_what_a_loss_does() {
    // CoDel's queue is as short with marks as with drops.
    let queue = DisciplineSpec::new(LIMIT, CoDelConfig::default());
    let [controller, ..] = controllers();
    let mean = |reacts| {
        let result = run_on_shared_link(queue.clone(), transport(controller.clone(), reacts));
        result.links[0].queue.mean_packets
    };
    let (marked, dropped) = (mean(true), mean(false));
    assert!((marked / dropped - 1.0).abs() < 0.5, "{marked} and {dropped} packets");
    // Without a congestion signal the same window fills the whole buffer.
    let unlimited = DisciplineSpec::fcfs(LIMIT);
    assert!(
        run_on_shared_link(unlimited, transport(controller.clone(), true)).links[0].queue.mean_packets
            > 10.0 * marked
    );
}

/// RFC 8257, and Alizadeh et al. 2010, section 3.3: at a queue that marks everything above K packets, four windows of
/// DCTCP oscillate by a small fraction below the capacity of the path plus K, where halving would remove most of K.
#[test]
fn dctcp_keeps_a_step_marked_queue_where_the_step_is() {
    let step = RedConfig {
        weight: 1.0,
        min_threshold: 99.0,
        max_threshold: 100.0,
        max_probability: 1.0,
        gentle: true,
        ecn: true,
        ..RedConfig::default()
    };
    let queue = DisciplineSpec::new(LIMIT, step);
    let (initial_window, initial_ssthresh) = (4.0, 16.0);
    let dctcp = DctcpConfig { initial_window, initial_ssthresh, gain: 1.0 / 16.0 };
    let dctcp = run_on_shared_link(queue.clone(), window(ControllerConfig::Dctcp(dctcp)));
    let reno = ControllerConfig::NewReno(NewRenoConfig {
        initial_window,
        initial_ssthresh,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    });
    let reno = run_on_shared_link(queue, transport(reno, true));
    for result in [&dctcp, &reno] {
        let link = &result.links[0];
        assert!(link.marks > 100 && link.drops_early + link.drops_full == 0, "{} marks", link.marks);
    }
    let mean = |result: &RunResult| result.links[0].queue.mean_packets;
    assert!((85.0..105.0).contains(&mean(&dctcp)), "{} packets", mean(&dctcp));
    assert!(mean(&reno) < 0.9 * mean(&dctcp), "{} and {} packets", mean(&reno), mean(&dctcp));
}

#[test]
fn the_dec_bit_is_set_by_any_queue_that_marks() {
    let controller = ControllerConfig::DecBit(DecBitConfig {
        initial_window: 1.0,
        max_window: 1000.0,
        increase: 1.0,
        decrease: 0.875,
        share: 0.5,
    });
    let config = FairQueueingConfig { mark_above: Some(0.02), ..FairQueueingConfig::default() };
    let marks = run_on_shared_link(DisciplineSpec::new(LIMIT, config), window(controller));
    let link = &marks.links[0];
    assert!(link.marks > 100 && link.drops_full == 0, "{} marks", link.marks);
    // Its windows oscillate around the threshold of each flow's queue.
    assert!(link.queue.max_packets < 100, "{}", link.queue.max_packets);
}
