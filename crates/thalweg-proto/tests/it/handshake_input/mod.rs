//! Arbitrary inputs of endpoints with a handshake.

use proptest::prelude::*;
use std::fmt::Debug;
use thalweg_proto::handshake::{self, Control, HandshakeKind, HandshakeStep, Protocol};
use thalweg_proto::units::Duration;

pub fn config() -> impl Strategy<Value = handshake::Config> {
    let time = || (0u64..3000).prop_map(Duration::from_millis);
    let kind =
        prop::sample::select(vec![HandshakeKind::Tcp, HandshakeKind::Quic, HandshakeKind::QuicZeroRtt]);
    (kind, time(), time(), time(), prop::option::of(0u32..4)).prop_map(
        |(kind, initial, floor, ceiling, retries)| handshake::Config {
            kind,
            initial,
            floor,
            ceiling,
            retries,
        },
    )
}

/// Returns a handshake PDU, one time in two, or else a PDU of an engine.
pub fn pdu<U: Clone + Debug>(engine: impl Strategy<Value = U>) -> impl Strategy<Value = handshake::Pdu<U>> {
    let length = prop_oneof![3 => Just(0u64), 2 => 0u64..9000, 1 => any::<u64>()];
    let step = (0u8..8, length).prop_map(|(kind, length)| match kind {
        0 => HandshakeStep::Syn,
        1 => HandshakeStep::SynAck,
        2 => HandshakeStep::Ack,
        3 => HandshakeStep::HandshakeDone,
        4 => HandshakeStep::ConnectionClose,
        5 => HandshakeStep::Fin(length),
        6 => HandshakeStep::FinAck(length),
        _ => HandshakeStep::AckOfFin(length),
    });
    let protocol = prop::sample::select(vec![Protocol::Tcp, Protocol::Quic]);
    let control =
        (protocol, step).prop_map(|(protocol, step)| handshake::Pdu::Control(Control { protocol, step }));
    prop_oneof![control, engine.prop_map(handshake::Pdu::Engine)]
}
