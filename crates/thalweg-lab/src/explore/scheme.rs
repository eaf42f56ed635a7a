//! What a protocol must bring along to be explored.

use super::{Bounds, Tag};
use core::fmt::Debug;
use core::hash::Hash;
use thalweg_proto::Engine;
use thalweg_proto::digest::Digest;
use thalweg_proto::transport::{Event, Input};
use thalweg_proto::units::Duration;

/// A protocol as a pair of engines.
pub trait Scheme {
    /// What the two say to each other.
    type Pdu: Clone + Debug + Hash;
    /// The sending end.
    type Sender: Engine<Pdu = Self::Pdu, Input = Input<Self::Pdu, Tag>, Event = Event<Tag>> + Digest + Clone;
    /// The receiving end.
    type Receiver: Engine<Pdu = Self::Pdu, Input = Input<Self::Pdu, Tag>, Event = Event<Tag>> + Digest + Clone;

    /// The two ends, for packets of one byte.
    fn ends(&self, bounds: &Bounds) -> (Self::Sender, Self::Receiver);

    /// A PDU in a few words, for a trace.
    fn say(&self, pdu: &Self::Pdu) -> String;

    /// The packet that the receiver knows to be missing and asks for itself, in a protocol in which one more report of the
    /// receiver repairs what is missing as soon as the channel behaves. `None` if nothing is, or if there is no such rule.
    fn asked(&self, receiver: &Self::Receiver) -> Option<u64> {
        let _ = receiver;
        None
    }

    /// Checks the rhythm that the receiver falls into when everything is delivered: `periods` are the times between its
    /// next expiries, none where it has no timer any more.
    ///
    /// # Errors
    ///
    /// Says what is wrong with them.
    fn check_rest(&self, periods: &[Duration]) -> Result<(), String> {
        let _ = periods;
        Ok(())
    }
}
