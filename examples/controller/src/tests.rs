//! Tests of the controller's rules with hand-made samples, and of its description.

use super::*;
use thalweg_catalog::{Environment, KeyBoundConfig as _};
use thalweg_proto::congestion::ConnectionState;
use thalweg_proto::units::{Duration, Time};

const RTT: Duration = Duration::from_millis(100);

/// Returns a connection with ten segments of 1000 bytes in flight.
fn connection() -> ConnectionState {
    ConnectionState {
        now: Time::ZERO + RTT,
        outstanding: 10,
        in_flight: 10,
        in_flight_bytes: 10_000,
        smoothed_rtt: RTT,
        min_rtt: RTT,
        segment: 1000,
        next_sequence: 10_000,
    }
}

/// Returns the acknowledgement of one segment.
fn ack() -> AckSample {
    AckSample {
        connection: connection(),
        acked: 1,
        acked_bytes: 1000,
        counted: 1,
        cumulative: 1000,
        sent_at: Time::ZERO,
        in_flight_bytes: 9000,
        rtt: Some(RTT),
        ce: 0,
        one_way_delay: None,
        recovering: false,
        app_limited: false,
    }
}

fn loss() -> LossSample {
    LossSample { connection: connection(), kind: LossKind::Detected, sent_at: Time::ZERO, repeated: false }
}

/// With w' = 2 / w the square of the window grows by 4 per acknowledgement: from 100 to 140 and, as the window changes in
/// steps, a little more.
#[test]
fn a_window_of_acknowledgements_adds_the_increase() {
    let mut aimd = AimdConfig { increase: 2.0, decrease: 0.5 }.make();
    (0..10).for_each(|_| aimd.on_ack(&ack(), ()));
    let window = aimd.decision().window;
    assert!((140_f64.sqrt()..12.0).contains(&window), "{window}");
    // Neither of these acknowledgements shows that the path carries more.
    aimd.on_ack(&AckSample { recovering: true, ..ack() }, ());
    aimd.on_ack(&AckSample { app_limited: true, ..ack() }, ());
    assert_eq!(aimd.decision().window, window);
}

#[test]
fn a_loss_multiplies_the_window_and_leaves_two_segments() {
    let mut aimd = AimdConfig { increase: 1.0, decrease: 0.7 }.make();
    aimd.on_loss(&loss());
    assert_eq!((aimd.decision().window, aimd.ssthresh()), (7.0, Some(7.0)));
    (0..100).for_each(|_| aimd.on_loss(&loss()));
    assert_eq!(aimd.decision().window, 2.0);
}

/// RFC 5681, section 3.1: a timeout leaves one segment, a repeated one keeps the threshold, and slow start leads back to
/// it.
#[test]
fn a_time_out_leaves_one_segment_and_slow_start_leads_back() {
    let mut aimd = AimdConfig { increase: 1.0, decrease: 0.5 }.make();
    for repeated in [false, true] {
        aimd.on_loss(&LossSample { kind: LossKind::Timeout, repeated, ..loss() });
        assert_eq!((aimd.decision().window, aimd.ssthresh()), (1.0, Some(5.0)));
    }
    (0..4).for_each(|_| aimd.on_ack(&ack(), ()));
    assert_eq!(aimd.decision().window, 5.0);
    aimd.on_ack(&ack(), ());
    assert_eq!(aimd.decision().window, 5.2);
}

/// Options that need something of the controller have it.
#[test]
fn proportional_rate_reduction_is_accepted() {
    let mut registry = Registry::default();
    registry.add_scheme(&AIMD);
    assert!(registry.read_scheme("aimd:prr=true,rack=true", Environment::Simulated).is_ok());
}

/// A key whose kind or name does not fit its field panics here.
#[test]
fn each_field_has_its_key() {
    let defaults = AimdConfig::from_values(&AIMD.empty_values(Environment::Simulated));
    assert_eq!(defaults, AimdConfig { increase: 1.0, decrease: 0.5 });
}
