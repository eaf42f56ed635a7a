//! Tests that a window sender and receiver deliver every byte in order and exactly once over any channel, and become
//! idle afterwards: random channels, settings, writes, pauses and readers, in virtual time.

use crate::random_settings::controller;
use crate::window_transport_pair::{Hostility, Pair, Plan, Reader};
use proptest::prelude::*;
use thalweg_proto::congestion::{
    CubicConfig, FixedWindowConfig, Growth, LedbatPlusPlusConfig, NewRenoConfig, SlowStartConfig, VegasConfig,
};
use thalweg_proto::payload::{Length, Slice};
use thalweg_proto::units::Duration;
use thalweg_proto::window::{
    ControllerConfig, DelayedAck, PauseConfig, RackConfig, ReceiverConfig, Recovery, RttConfig, SenderConfig,
    Validation, VerifyAcks, WindowUnit,
};

fn millis(range: core::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_millis)
}

fn hostility() -> impl Strategy<Value = Hostility> {
    let chance = || prop_oneof![Just(0.0), 0.0..0.3f64];
    let messages = prop::option::of(millis(1..400));
    (chance(), chance(), chance(), chance(), chance(), messages, millis(0..80), millis(0..200)).prop_map(
        |(loss, ack_loss, duplicate, reorder, mark, messages, delay, hold)| Hostility {
            loss,
            ack_loss,
            duplicate,
            reorder,
            mark,
            messages,
            delay,
            hold,
        },
    )
}

fn sender() -> impl Strategy<Value = SenderConfig> {
    let recovery = prop::sample::select(Recovery::ALL.to_vec());
    let counting = prop_oneof![Just(WindowUnit::Packets), Just(WindowUnit::Bytes)];
    let segment = prop_oneof![Just(1000u32), 1u32..1500];
    let floor = prop_oneof![Just(Duration::from_millis(200)), Just(Duration::ZERO)];
    (recovery, counting, segment, 1u32..70, floor, any::<bool>(), any::<[bool; 6]>()).prop_map(
        |(
            recovery,
            counting,
            segment,
            max_window,
            floor,
            idle_restart,
            [nagle, fine_grained_timer, ecn, rack, prr, f_rto],
        )| {
            SenderConfig {
                segment,
                max_window,
                counting,
                recovery,
                byte_counting: 2,
                duplicate_threshold: 3,
                rack: rack.then_some(RackConfig {
                    undo: nagle,
                    tail_probe: ecn,
                    max_ack_delay: Duration::from_millis(300),
                }),
                prr,
                cut_for_lost_repairs: nagle,
                f_rto,
                rtt: RttConfig { floor, ceiling: Duration::from_secs(4), ..RttConfig::default() },
                idle_restart,
                validation: fine_grained_timer.then_some(if idle_restart {
                    Validation::Decay
                } else {
                    Validation::PipeAck
                }),
                nagle,
                fine_grained_timer,
                ecn,
                timestamps: fine_grained_timer,
                max_retransmissions: None,
                ack_requests: nagle.then_some(2),
                verify_acks: match (f_rto, idle_restart) {
                    (false, _) => VerifyAcks::Always(1),
                    (true, true) => VerifyAcks::AboveStretch(1),
                    (true, false) => VerifyAcks::Never,
                },
                pause: PauseConfig::default(),
            }
        },
    )
}

fn receiver() -> impl Strategy<Value = ReceiverConfig> {
    let delayed_ack = prop_oneof![
        Just(None),
        (millis(0..300), 0u32..5).prop_map(|(delay, every)| Some(DelayedAck {
            delay,
            every,
            adaptive: false
        }))
    ];
    let window = prop_oneof![Just(1u64 << 30), 100u64..20_000];
    (window, delayed_ack, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(window, delayed_ack, sack, keep_out_of_order, wait_for_consumption)| ReceiverConfig {
            window,
            delayed_ack,
            sack,
            keep_out_of_order,
            report_arrivals: keep_out_of_order,
            wait_for_consumption,
            background: keep_out_of_order.then_some(LedbatPlusPlusConfig::RECOMMENDED),
            misbehaviour: None,
        },
    )
}

fn plan() -> impl Strategy<Value = Plan> {
    let writes = prop::collection::vec(0u32..6000, 1..20);
    let reader = prop_oneof![Just(Reader::Greedy), millis(1..400).prop_map(|pause| Reader::Slow { pause })];
    let timing =
        (prop::option::of(millis(1..2000)), prop::option::of(millis(0..8000)), prop::option::of(1u32..4));
    (
        (hostility(), sender(), receiver(), controller(1..100)),
        (writes, millis(0..300), reader, timing, any::<u64>()),
    )
        .prop_map(
            |(
                (hostility, sender, receiver, (controller, pacing)),
                (writes, write_gap, reader, (pauses, stop_at, outputs_at_once), seed),
            )| {
                Plan {
                    hostility,
                    sender,
                    receiver,
                    controller,
                    pacing,
                    writes,
                    write_gap,
                    reader,
                    pauses,
                    stop_at,
                    outputs_at_once,
                    seed,
                }
            },
        )
}

proptest! {
    /// Real bytes: each byte is delivered at its position, and all arrive once the channel is perfect.
    #[test]
    fn bytes_arrive_in_order_and_once(plan in plan()) {
        Pair::<Slice>::new(&plan).run();
    }

    /// Lengths, as in simulation: the same engine with payloads that are only counted.
    #[test]
    fn lengths_arrive_once(plan in plan()) {
        Pair::<Length>::new(&plan).run();
    }

    /// The payload type does not matter: the same plan gives the same packets for bytes and lengths, if each write is
    /// split in the same way (writes are multiples of the segment).
    #[test]
    fn bytes_and_lengths_travel_alike(mut plan in plan()) {
        for write in &mut plan.writes {
            *write = (*write % 5) * plan.sender.segment;
        }
        // A small window splits segments at its end, so write boundaries matter.
        plan.receiver.window = 1 << 30;
        let (bytes, lengths) = (Pair::<Slice>::new(&plan).run(), Pair::<Length>::new(&plan).run());
        prop_assert_eq!(bytes, lengths);
    }
}

/// A perfect channel: no retransmissions and no timer expiries, for every scheme and recovery method.
#[test]
fn a_perfect_channel_sees_each_byte_once() {
    for recovery in Recovery::ALL {
        let (initial_window, initial_ssthresh) = (2.0, 64.0);
        for controller in [
            ControllerConfig::SlowStart(SlowStartConfig {
                initial_window,
                initial_ssthresh,
                growth: Growth::Fractional,
            }),
            ControllerConfig::NewReno(NewRenoConfig {
                initial_window,
                initial_ssthresh,
                slow_start_exit: Default::default(),
                ecn_beta: None,
                slow_start_beta: None,
            }),
            ControllerConfig::Vegas(VegasConfig {
                initial_window,
                initial_ssthresh,
                alpha: 1.0,
                beta: 3.0,
                gamma: 1.0,
                slow_start: Default::default(),
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
        ] {
            let plan = Plan {
                sender: SenderConfig { recovery, segment: 1000, ..SenderConfig::default() },
                controller: controller.clone(),
                writes: vec![250_000],
                ..Plan::calm()
            };
            let stats = Pair::<Slice>::new(&plan).run();
            assert_eq!(stats.common.sent, 250, "{recovery:?} {controller:?}");
            assert_eq!((stats.common.retransmissions, stats.common.timeouts, stats.recoveries), (0, 0, 0));
        }
    }
}

/// A driver that delivers several segments before it sends acknowledgements must not cause loss detections: on a
/// perfect channel there are no retransmissions, however lazily both endpoints are polled.
#[test]
fn lazy_drivers_cause_no_loss_detection() {
    for recovery in Recovery::ALL {
        for outputs_at_once in 1..4 {
            for seed in 0..20 {
                let plan = Plan {
                    sender: SenderConfig { recovery, segment: 1000, ..SenderConfig::default() },
                    controller: ControllerConfig::FixedWindow(FixedWindowConfig { window: 20.0 }),
                    writes: vec![300_000],
                    outputs_at_once: Some(outputs_at_once),
                    seed,
                    ..Plan::calm()
                };
                let stats = Pair::<Length>::new(&plan).run();
                assert_eq!(
                    (stats.common.retransmissions, stats.recoveries),
                    (0, 0),
                    "{recovery:?} {outputs_at_once}"
                );
            }
        }
    }
}

/// A reader slower than the channel: the window closes repeatedly, every window update may be lost, and all data still
/// arrives.
#[test]
fn a_closed_window_always_opens_again() {
    for seed in 0..50 {
        let plan = Plan {
            hostility: Hostility { ack_loss: 0.5, ..Plan::calm().hostility },
            sender: SenderConfig { segment: 1000, ..SenderConfig::default() },
            receiver: ReceiverConfig {
                window: 3000,
                wait_for_consumption: true,
                ..ReceiverConfig::default()
            },
            reader: Reader::Slow { pause: Duration::from_millis(700) },
            writes: vec![20_000],
            seed,
            ..Plan::calm()
        };
        Pair::<Slice>::new(&plan).run();
    }
}

/// A receive window smaller than a segment: data is accepted in pieces, and all of it still arrives.
#[test]
fn a_window_smaller_than_a_segment_is_enough() {
    for (window, wait_for_consumption) in [(1, false), (300, false), (300, true), (999, true)] {
        let plan = Plan {
            sender: SenderConfig { segment: 1000, ..SenderConfig::default() },
            receiver: ReceiverConfig { window, wait_for_consumption, ..ReceiverConfig::default() },
            writes: vec![3_000],
            ..Plan::calm()
        };
        Pair::<Slice>::new(&plan).run();
    }
}
