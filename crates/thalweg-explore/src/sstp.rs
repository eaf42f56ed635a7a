//! Two-level flow control (SSTP) as a protocol to explore.

use super::{Bounds, End, Scheme, Tag};
use core::hash::{Hash, Hasher};
use std::sync::Arc;
use thalweg_proto::sstp::{
    Acknowledgement, Origin, Pdu, RateError, RateSpec, Receiver, ReceiverConfig, Resume, Sender,
    SenderConfig, SenderReason, Tolerance,
};
use thalweg_proto::units::{Bytes, Duration, Rate, Time};

/// Two-level flow control. The window of the bounds is in segments here.
#[derive(Clone, Copy, Debug)]
pub struct Sstp {
    /// Treatment of segments without a buffer.
    pub acknowledgement: Acknowledgement,
    /// Packets per segment.
    pub segment: u16,
    /// Buffer, in segments; default: half of the window.
    pub buffer: Option<u16>,
    /// Number of packets that may overtake another before it counts as lost.
    pub reordering: u16,
    /// Number of packets of a segment that may be left out.
    pub tolerance: u16,
    /// Sending rate.
    pub rate: RateSpec,
}

/// Rate, in bit/s: four one-byte packets fill a period. The packets sent within the period are part of the state. While
/// the application does not read, hard and soft acknowledgement retransmit discarded data without end: each packet more
/// in a period would add states.
const RATE: Rate = Rate::from_bits_per_sec(3200);
const BURST: u32 = 4;
/// Keep-alive period of the sender, equal to the receiver's repetition period.
const PERIOD: Duration = Duration::from_millis(10);

impl Sstp {
    /// Creates the scheme with segments of two packets and buffers for half of the window, on a path that keeps order.
    ///
    /// # Errors
    ///
    /// [`RateError`] of [`RateSpec::new`]; none for these numbers.
    pub fn new(acknowledgement: Acknowledgement) -> Result<Self, RateError> {
        let rate = RateSpec::new(RATE, BURST, PERIOD, Bytes::new(1))?;
        Ok(Self { acknowledgement, segment: 2, buffer: None, reordering: 0, tolerance: 0, rate })
    }
}

impl Scheme for Sstp {
    type Pdu = Pdu<Tag>;
    type Sender = Sender<Tag>;
    type Receiver = Receiver<Tag>;

    fn ends(&self, bounds: &Bounds) -> (Self::Sender, Self::Receiver) {
        let window = bounds.window.min(64) as u16;
        let sender = SenderConfig {
            segment_packets: self.segment,
            max_payload: 1,
            rate: self.rate,
            resume: Resume::AtOnce,
            window,
            soft: self.acknowledgement.is_soft(),
        };
        let receiver = ReceiverConfig {
            segment_packets: self.segment,
            max_payload: 1,
            window,
            buffer: self.buffer.unwrap_or(window.div_ceil(2)),
            acknowledgement: self.acknowledgement,
            tolerance: Tolerance::Packets(self.tolerance),
            reordering: self.reordering,
            repeat: PERIOD,
            wait_for_consumption: bounds.slow_reader,
        };
        (Sender::new(Arc::new(sender)), Receiver::new(Arc::new(receiver)))
    }

    fn tolerance(&self) -> (u32, u32) {
        (self.segment.max(1).into(), self.tolerance.into())
    }

    fn is_pacing(&self, reason: &SenderReason) -> bool {
        *reason == SenderReason::Rate
    }

    /// Shipment and report numbers are relative to the next ones: states that differ only in their counts are equal.
    fn digest_ends<H: Hasher>(
        &self,
        (sender, sender_now): (&Self::Sender, Time),
        (receiver, receiver_now): (&Self::Receiver, Time),
        into: &mut H,
    ) {
        let origin = Origin::new(sender, receiver);
        sender.digest_from(sender_now, origin, into);
        receiver.digest_from(receiver_now, origin, into);
    }

    fn digest_pdu<H: Hasher>(
        &self,
        pdu: &Self::Pdu,
        _to: End,
        sender: &Self::Sender,
        receiver: &Self::Receiver,
        into: &mut H,
    ) {
        Origin::new(sender, receiver).pdu(pdu.clone()).hash(into);
    }
}
