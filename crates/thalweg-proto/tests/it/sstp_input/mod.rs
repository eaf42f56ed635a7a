//! Arbitrary inputs and configurations for endpoints of SSTP, the segment streaming transport protocol of Gong and Parulkar
//! (1992), with two-level flow control: a window of segments, and a rate of packets.
//!
//! The shipment number of the paper counts transmissions: a packet sent again has a new one. Segment and packet number are its
//! position in the stream.

use core::fmt::Debug;
use proptest::prelude::*;
use thalweg_proto::payload::Payload;
use thalweg_proto::sstp;
use thalweg_proto::units::{Bytes, Duration, Rate};

/// Returns a strategy for mostly small numbers, as near the start of a connection, and sometimes any number.
fn mostly_small<T: Clone + Debug + 'static>(
    any: impl Strategy<Value = T> + 'static,
    make: impl Fn(u8) -> T + 'static,
) -> impl Strategy<Value = T> {
    prop_oneof![8 => (0u8..24).prop_map(make), 1 => any]
}

pub fn pdu<P: Payload + 'static>(make: impl Fn(u32) -> P + Clone) -> impl Strategy<Value = sstp::Pdu<P>> {
    let word = || mostly_small(any::<u32>(), u32::from);
    let half = || mostly_small(any::<u16>(), u16::from);
    let length = prop_oneof![6 => Just(10u32), 1 => 0u32..20];
    let data = (word(), half(), mostly_small(any::<u16>(), |n| u16::from(n % 5)), any::<[bool; 3]>(), length)
        .prop_map(move |(shipment, segment, packet, [last, full, resent], length)| {
            let payload = make(length);
            sstp::Pdu::Data(sstp::Data { shipment, segment, packet, last, is_full: full, resent, payload })
        });
    let position = || {
        (word(), half(), mostly_small(any::<u16>(), |n| u16::from(n % 5)))
            .prop_map(|(shipment, segment, packet)| sstp::Position { shipment, segment, packet })
    };
    let report = || {
        (word(), half(), half(), half()).prop_map(|(control, accepted, cumulative, limit)| sstp::Report {
            control,
            accepted,
            cumulative,
            limit,
        })
    };
    let bits = prop::collection::vec(any::<u8>(), 0..12).prop_map(|bytes| sstp::Bitmap::from_bytes(&bytes));
    prop_oneof![
        8 => data,
        2 => position().prop_map(sstp::Pdu::KeepAlive),
        1 => position().prop_map(sstp::Pdu::EndOfStream),
        4 => report().prop_map(sstp::Pdu::Pack),
        4 => (report(), half(), bits)
            .prop_map(|(report, segment, bitmap)| sstp::Pdu::Snak(report, sstp::Request { segment, bitmap })),
    ]
}

fn acknowledgement() -> impl Strategy<Value = sstp::Acknowledgement> {
    let evicted =
        prop_oneof![Just(sstp::Evicted::One), Just(sstp::Evicted::All), Just(sstp::Evicted::AtOnce)];
    prop_oneof![
        Just(sstp::Acknowledgement::Hard),
        Just(sstp::Acknowledgement::Firm),
        evicted.prop_map(sstp::Acknowledgement::Soft)
    ]
}

pub fn sender_config() -> impl Strategy<Value = sstp::SenderConfig> {
    let rate = (1u64..10_000_000, 1u32..6, 1u64..2000, 0u64..50).prop_filter_map(
        "bursts fit into their period",
        |(peak, burst, size, spare)| {
            let (peak, size) = (Rate::from_bits_per_sec(peak), Bytes::new(size));
            let packet = peak.transmission_time(size).as_picos();
            let period = packet.checked_mul(u64::from(burst))?.checked_add(spare << 30)?;
            sstp::RateSpec::new(peak, burst, Duration::from_picos(period), size).ok()
        },
    );
    let resume = prop_oneof![Just(sstp::Resume::NextBurst), Just(sstp::Resume::AtOnce)];
    (1u16..6, 1u32..12, rate, resume, 0u16..20, any::<bool>()).prop_map(
        |(segment, packet, rate, resume, window, soft)| sstp::SenderConfig {
            segment_packets: segment,
            max_payload: packet,
            rate,
            resume,
            window,
            soft,
        },
    )
}

pub fn receiver_config() -> impl Strategy<Value = sstp::ReceiverConfig> {
    let tolerance = prop_oneof![
        2 => Just(sstp::Tolerance::Packets(0)),
        1 => (0u16..6).prop_map(sstp::Tolerance::Packets),
        1 => (-1.0..2.0f64).prop_map(sstp::Tolerance::Fraction),
    ];
    let repeat = (0u64..300).prop_map(Duration::from_millis);
    (1u16..6, 0u16..20, 0u16..20, acknowledgement(), tolerance, 0u16..5, repeat, any::<bool>()).prop_map(
        |(segment, window, buffer, acknowledgement, tolerance, reordering, repeat, wait_for_consumption)| {
            sstp::ReceiverConfig {
                segment_packets: segment,
                max_payload: 12,
                window,
                buffer,
                acknowledgement,
                tolerance,
                reordering,
                repeat,
                wait_for_consumption,
            }
        },
    )
}
