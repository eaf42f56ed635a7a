//! Arbitrary inputs of adaptive-acknowledgement endpoints.

use proptest::prelude::*;
use thalweg_proto::adaptive_ack;
use thalweg_proto::payload::Payload;
use thalweg_proto::units::Duration;

/// Packet numbers: near the first, anywhere, and at the very end.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![12 => 0u64..80, 1 => any::<u64>(), 1 => (u64::MAX - 2)..=u64::MAX]
}

pub fn data<P: Payload + 'static>(
    make: impl Fn(u32) -> P + Clone,
) -> impl Strategy<Value = adaptive_ack::Pdu<P>> {
    (number(), 0u32..4).prop_map(move |(sequence, length)| {
        adaptive_ack::Pdu::Data(adaptive_ack::Data { sequence, payload: make(length) })
    })
}

pub fn report<P: Payload>() -> impl Strategy<Value = adaptive_ack::Pdu<P>> {
    let report = |[cumulative, gap_in, gap_out]: [u64; 3]| {
        adaptive_ack::Pdu::Ack(adaptive_ack::Report { gap_in, gap_out, cumulative })
    };
    let any = prop::array::uniform3(number()).prop_map(report);
    // In valid order.
    let sorted = prop::array::uniform3(0u64..80).prop_map(move |mut numbers| {
        numbers.sort_unstable();
        report(numbers)
    });
    prop_oneof![1 => any, 3 => sorted]
}

pub fn pdu<P: Payload + 'static>(
    make: impl Fn(u32) -> P + Clone,
) -> impl Strategy<Value = adaptive_ack::Pdu<P>> {
    prop_oneof![data(make), report()]
}

pub fn config() -> impl Strategy<Value = adaptive_ack::Config> {
    let time = || {
        prop_oneof![
            1 => Just(Duration::ZERO),
            4 => (0u64..3000).prop_map(Duration::from_millis),
            1 => Just(Duration::MAX)
        ]
    };
    (1u32..2000, 0u32..50, time(), time()).prop_map(|(segment, window, normal, error)| adaptive_ack::Config {
        segment,
        window,
        normal,
        error,
    })
}
