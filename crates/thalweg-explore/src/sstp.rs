//! Two-level flow control (SSTP).

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
    /// The treatment of segments that there is no room for.
    pub acknowledgement: Acknowledgement,
    /// The packets of a segment.
    pub segment: u16,
    /// So many segments there is room for; for half of the window without.
    pub buffer: Option<u16>,
    /// So many packets may overtake one before it is given up.
    pub reordering: u16,
    /// So many packets of a segment may be left out.
    pub tolerance: u16,
    /// The rate at which packets may leave.
    pub rate: RateSpec,
}

/// Four packets of a byte fill a period. What has been sent in it is part of a state, and while an application does not read,
/// hard and soft acknowledgement send what is discarded again without end: with more packets there would be as many states.
const RATE: Rate = Rate::from_bits_per_sec(3200);
const BURST: u32 = 4;
/// The sender's period, in which a keep-alive packet goes out, is that of the receiver's repetitions.
const PERIOD: Duration = Duration::from_millis(10);

impl Sstp {
    /// Segments of two packets, room for half of the window, on a path that keeps order.
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
            segment: self.segment,
            packet: 1,
            rate: self.rate,
            resume: Resume::AtOnce,
            window,
            soft: self.acknowledgement.is_soft(),
        };
        let receiver = ReceiverConfig {
            segment: self.segment,
            packet: 1,
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

    /// Shipments and reports are counted from the next ones: states that differ in how many there have been are the same.
    fn digest_ends<H: Hasher>(
        &self,
        (sender, sender_now): (&Self::Sender, Time),
        (receiver, receiver_now): (&Self::Receiver, Time),
        into: &mut H,
    ) {
        let origin = Origin::of(sender, receiver);
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
        Origin::of(sender, receiver).pdu(pdu.clone()).hash(into);
    }
}
