//! The interface that a protocol must implement to be explored.

use super::{Bounds, End, Tag};
use core::hash::{Hash, Hasher};
use thalweg_proto::Engine;
use thalweg_proto::pdu::DataUnit;
use thalweg_proto::state_digest::Digest;
use thalweg_proto::transport::{Event, Input};
use thalweg_proto::units::{Duration, Time};

/// A protocol as a pair of engines.
pub trait Scheme {
    /// PDU type of the two endpoints.
    type Pdu: DataUnit<Tag> + Hash;
    /// Sending engine.
    type Sender: Engine<Pdu = Self::Pdu, Input = Input<Self::Pdu, Tag>, Event = Event<Tag>> + Digest + Clone;
    /// Receiving engine.
    type Receiver: Engine<Pdu = Self::Pdu, Input = Input<Self::Pdu, Tag>, Event = Event<Tag>> + Digest + Clone;

    /// Number of PDUs that open a connection; they arrive before any fault.
    const SET_UP: u32 = 0;

    /// Creates the two endpoints, for packets of one byte.
    fn ends(&self, bounds: &Bounds) -> (Self::Sender, Self::Receiver);

    /// Returns true if a sender with this timeout reason waits for pacing. It may then continue at any time, before or
    /// after the packets in flight arrive, since packets take any time.
    fn is_pacing(&self, reason: &<Self::Sender as Engine>::Reason) -> bool {
        let _ = reason;
        false
    }

    /// Feeds `into` with the state that determines both endpoints' behaviour, each at its own time.
    fn digest_ends<H: Hasher>(
        &self,
        (sender, sender_now): (&Self::Sender, Time),
        (receiver, receiver_now): (&Self::Receiver, Time),
        into: &mut H,
    ) {
        sender.feed_state(sender_now, into);
        receiver.feed_state(receiver_now, into);
    }

    /// Feeds `into` with a PDU in flight to the endpoint `to`. Where the endpoints' digests count numbers from an
    /// origin other than 0, this must use the same origin.
    fn digest_pdu<H: Hasher>(
        &self,
        pdu: &Self::Pdu,
        to: End,
        sender: &Self::Sender,
        receiver: &Self::Receiver,
        into: &mut H,
    ) {
        let _ = (to, sender, receiver);
        pdu.hash(into);
    }

    /// Returns the missing packet requested by the receiver itself, for protocols in which one more report repairs the
    /// loss once the channel has no more faults. `None` if nothing is missing, or without such a rule.
    fn requested(&self, receiver: &Self::Receiver) -> Option<u64> {
        let _ = receiver;
        None
    }

    /// Returns the packets per unit, at least 1, and the number of them that may be missing from delivered data.
    fn tolerance(&self) -> (u32, u32) {
        (1, 0)
    }

    /// Checks the receiver's periodic timer after complete delivery: `periods` are the intervals between its next
    /// expiries, none where it has no timer.
    ///
    /// # Errors
    ///
    /// Describes the violation.
    fn check_rest(&self, periods: &[Duration]) -> Result<(), String> {
        let _ = periods;
        Ok(())
    }
}
