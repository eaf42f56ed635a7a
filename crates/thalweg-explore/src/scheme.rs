//! The interface that a protocol must implement to be explored.

use super::{Bounds, End, Tag};
use core::hash::{Hash, Hasher};
use thalweg_proto::Engine;
use thalweg_proto::digest::Digest;
use thalweg_proto::pdu::DataUnit;
use thalweg_proto::transport::{Event, Input};
use thalweg_proto::units::{Duration, Time};

/// A protocol as a pair of engines.
pub trait Scheme {
    /// The PDUs that the two ends exchange.
    type Pdu: DataUnit<Tag> + Hash;
    /// The sending end.
    type Sender: Engine<Pdu = Self::Pdu, Input = Input<Self::Pdu, Tag>, Event = Event<Tag>> + Digest + Clone;
    /// The receiving end.
    type Receiver: Engine<Pdu = Self::Pdu, Input = Input<Self::Pdu, Tag>, Event = Event<Tag>> + Digest + Clone;

    /// So many PDUs open a connection; they arrive before anything may go wrong.
    const SET_UP: u32 = 0;

    /// The two ends, for packets of one byte.
    fn ends(&self, bounds: &Bounds) -> (Self::Sender, Self::Receiver);

    /// True if a sender that waits for this waits for its rate. It may go on at any time then, since packets take any
    /// time: before those on their way arrive, or after.
    fn is_pacing(&self, reason: &<Self::Sender as Engine>::Reason) -> bool {
        let _ = reason;
        false
    }

    /// Feeds `into` with what decides what the two ends do, each at its own time.
    fn digest_ends<H: Hasher>(
        &self,
        (sender, sender_now): (&Self::Sender, Time),
        (receiver, receiver_now): (&Self::Receiver, Time),
        into: &mut H,
    ) {
        sender.digest(sender_now, into);
        receiver.digest(receiver_now, into);
    }

    /// Feeds `into` with a PDU on its way to the end `to`. Where the digests of the ends count numbers from somewhere else
    /// than 0, this must count those of PDUs from there too.
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

    /// The packet that the receiver knows to be missing and asks for itself, in a protocol in which one more report of the
    /// receiver repairs what is missing as soon as the channel behaves. `None` if nothing is, or if there is no such rule.
    fn asked(&self, receiver: &Self::Receiver) -> Option<u64> {
        let _ = receiver;
        None
    }

    /// The packets of a unit, at least 1, and how many of each may be left out of what is delivered.
    fn tolerance(&self) -> (u32, u32) {
        (1, 0)
    }

    /// Checks the rhythm that the receiver falls into when everything is delivered: `periods` are the times between its
    /// next expiries, none where it has no timer any more.
    ///
    /// # Errors
    ///
    /// A text that says what is wrong with them.
    fn check_rest(&self, periods: &[Duration]) -> Result<(), String> {
        let _ = periods;
        Ok(())
    }
}
