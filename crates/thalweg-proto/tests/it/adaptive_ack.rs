//! Tests that an adaptive transmitter and receiver deliver every byte in order and exactly once over any channel. On
//! channels without reordering they send no more than the paper's rules require.

use crate::channel::{Channel, Impairments};
use proptest::prelude::*;
use std::sync::Arc;
use thalweg_proto::adaptive_ack::{Config, Receiver, ReceiverStats, Transmitter, TransmitterStats};
use thalweg_proto::payload::Slice;
use thalweg_proto::units::Duration;

fn millis(range: core::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_millis)
}

fn config() -> impl Strategy<Value = Config> {
    let segment = prop_oneof![Just(1000u32), 1u32..1500];
    (segment, 1u32..70, millis(1..200), millis(1..60)).prop_map(|(segment, window, normal, error)| Config {
        segment,
        window,
        normal,
        error,
    })
}

fn impairments() -> impl Strategy<Value = Impairments> {
    let chance = || prop_oneof![Just(0.0), 0.0..0.3f64];
    let timing = (millis(0..80), millis(0..200), millis(0..300));
    let driver = (prop::option::of(millis(1..2000)), prop::option::of(1u32..4), any::<u64>());
    ((chance(), chance(), chance(), chance()), timing, prop::collection::vec(1u32..6000, 1..20), driver)
        .prop_map(
            |(
                (loss, report_loss, duplicate, reorder),
                (delay, hold, write_gap),
                writes,
                (pauses, outputs_at_once, seed),
            )| Impairments {
                loss,
                report_loss,
                duplicate,
                reorder,
                delay,
                hold,
                writes,
                write_gap,
                pauses,
                outputs_at_once,
                seed,
            },
        )
}

fn calm(bytes: u32) -> Impairments {
    Impairments {
        loss: 0.0,
        report_loss: 0.0,
        duplicate: 0.0,
        reorder: 0.0,
        delay: Duration::from_millis(1),
        hold: Duration::ZERO,
        writes: vec![bytes],
        write_gap: Duration::ZERO,
        pauses: None,
        outputs_at_once: None,
        seed: 1,
    }
}

fn run(impairments: &Impairments, config: Config) -> (TransmitterStats, ReceiverStats) {
    let config = Arc::new(config);
    let transmitter = Transmitter::<Slice>::new(Arc::clone(&config));
    let (transmitter, receiver, now) = Channel::new(impairments, transmitter, Receiver::new(config)).run();
    assert_eq!(transmitter.stats(now).common.in_flight, 0);
    (transmitter.stats(now), receiver.stats())
}

proptest! {
    /// Any channel, including reordering and duplication, which the protocol does not cover.
    #[test]
    fn bytes_arrive_in_order_and_once(impairments in impairments(), config in config()) {
        run(&impairments, config);
    }

    /// A perfect channel: each packet is sent once, nothing is requested, and the silence timer never expires.
    #[test]
    fn without_loss_nothing_is_sent_twice(seed in any::<u64>(), config in config(), bytes in 1u32..100_000) {
        // A report exchange takes 2 ms, much less than four T_normal.
        let config = Config { normal: config.normal.max(Duration::from_millis(4)), ..config };
        // A window may wait for a report, so a stream of very many windows takes minutes.
        let bytes = bytes.min(200 * config.window * config.segment);
        let (sent, got) = run(&Impairments { seed, ..calm(bytes) }, config);
        prop_assert_eq!(sent.common.sent, u64::from(bytes.div_ceil(config.segment)));
        prop_assert_eq!((sent.common.retransmissions, sent.common.timeouts, sent.invalid_acks), (0, 0, 0));
        prop_assert_eq!((got.requests, got.duplicates, got.error_phases), (0, 0, 0));
    }
}

/// Requests alone repair losses in the middle of a stream; only lost tails need the silence timer.
#[test]
fn requests_repair_losses_in_the_middle() {
    for seed in 0..20 {
        let impairments = Impairments { loss: 0.05, seed, ..calm(2_000_000) };
        let config = Config { segment: 1000, ..Config::default() };
        let (sent, got) = run(&impairments, config);
        // Of 2000 packets and their retransmissions 105 are lost on average. Each is retransmitted once; a few
        // retransmissions are spurious, as the timer expired with a retransmission in flight.
        let lost = sent.common.retransmissions - got.duplicates;
        assert!((60..160).contains(&lost) && got.duplicates < 50, "{sent:?} {got:?}");
        assert!(sent.common.timeouts <= 2, "{sent:?}");
    }
}

/// A stream whose end is lost repeatedly, and whose reports are mostly lost, still completes.
#[test]
fn lost_tails_and_lost_reports_do_not_stall_the_stream() {
    for seed in 0..50 {
        let impairments = Impairments { loss: 0.6, report_loss: 0.8, seed, ..calm(3_000) };
        run(&impairments, Config { segment: 1000, ..Config::default() });
    }
}
