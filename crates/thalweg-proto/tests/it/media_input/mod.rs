//! Arbitrary inputs of media endpoints.

use proptest::prelude::*;
use thalweg_proto::payload::Payload;
use thalweg_proto::units::{Duration, Rate};
use thalweg_proto::{Ecn, media};

pub fn data<P: Payload + 'static>(make: impl Fn(u32) -> P + Clone) -> impl Strategy<Value = media::Pdu<P>> {
    let number = || prop_oneof![12 => 0u32..80, 1 => any::<u32>(), 1 => (u32::MAX - 2)..=u32::MAX];
    (number(), number(), any::<u32>(), any::<[bool; 3]>(), 0u32..4).prop_map(
        move |(sequence, frame, timestamp, [is_first, is_last, is_key], length)| {
            let payload = make(length);
            media::Pdu::Data(media::Data { sequence, frame, timestamp, is_first, is_last, is_key, payload })
        },
    )
}

fn report<P: Payload>() -> impl Strategy<Value = media::Pdu<P>> {
    let arrival = prop::option::of((0u8..4, 0u16..0x1FFF)).prop_map(|of| {
        of.map(|(bits, before)| media::Arrival { ecn: Ecn::from_bits(bits), time_offset: before })
    });
    let begin = prop_oneof![12 => 0u32..80, 1 => any::<u32>(), 1 => (u32::MAX - 2)..=u32::MAX];
    (begin, any::<u32>(), any::<bool>(), prop::collection::vec(arrival, 0..300)).prop_map(
        |(begin, at, wants_key, packets)| {
            media::Pdu::Report(media::Report { begin, report_time: at, wants_key, packets })
        },
    )
}

pub fn pdu<P: Payload + 'static>(make: impl Fn(u32) -> P + Clone) -> impl Strategy<Value = media::Pdu<P>> {
    prop_oneof![data(make), report()]
}

pub fn config() -> impl Strategy<Value = media::Config> {
    let rate = || (10_000u64..3_000_000).prop_map(Rate::from_bits_per_sec);
    let ecn =
        prop::sample::select(vec![media::Response::None, media::Response::Classic, media::Response::L4s]);
    let time = prop::option::of((0u64..3000).prop_map(Duration::from_millis));
    (
        1u32..2000,
        1.0..240.0f64,
        rate(),
        rate(),
        0u64..500,
        (0.0..1.0f64, 1.0..10.0f64, time),
        ecn,
        any::<bool>(),
    )
        .prop_map(
            |(segment, fps, one, other, reaction, (spread, key_size, key_interval), ecn, competes)| {
                media::Config {
                    segment,
                    encoder: media::EncoderConfig {
                        fps,
                        min_rate: one.min(other),
                        max_rate: one.max(other),
                        reaction: Duration::from_millis(reaction),
                        spread,
                        key_size,
                        key_interval,
                    },
                    ecn,
                    competes,
                    late_delay: Duration::from_millis(400),
                }
            },
        )
}
