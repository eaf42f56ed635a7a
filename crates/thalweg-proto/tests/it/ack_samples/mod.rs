//! Constructed samples for a controller: segments of 1000 bytes, round trips of 100 ms.

use thalweg_proto::congestion::{AckSample, ConnectionState, Controller, LossKind, LossSample};
use thalweg_proto::units::{Duration, Time};

pub fn connection(millis: u64, outstanding: u32) -> ConnectionState {
    ConnectionState {
        now: Time::ZERO + Duration::from_millis(millis),
        outstanding,
        in_flight: outstanding,
        in_flight_bytes: u64::from(outstanding) * 1000,
        smoothed_rtt: Duration::from_millis(100),
        min_rtt: Duration::from_millis(100),
        segment: 1000,
        next_sequence: 0,
    }
}

pub fn ack(millis: u64) -> AckSample {
    AckSample {
        connection: connection(millis, 10),
        acked: 1,
        acked_bytes: 1000,
        counted: 1,
        cumulative: 0,
        sent_at: Time::ZERO,
        in_flight_bytes: 9000,
        rtt: Some(Duration::from_millis(100)),
        ce: 0,
        one_way_delay: None,
        recovering: false,
        app_limited: false,
    }
}

pub fn loss(kind: LossKind, outstanding: u32) -> LossSample {
    LossSample { connection: connection(0, outstanding), kind, sent_at: Time::ZERO, repeated: false }
}

pub fn acks(controller: &mut impl Controller<PacketInfo = ()>, count: u32, sample: &AckSample) {
    for _ in 0..count {
        controller.on_ack(sample, ());
    }
}
