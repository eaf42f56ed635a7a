//! What a simulated packet carries.

use thalweg_proto::payload::Length;
use thalweg_proto::transport::Feedback;
use thalweg_proto::window;

/// A PDU of any protocol, with lengths in place of bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Pdu {
    /// The window transport's.
    Window(window::Pdu<Length>),
    /// A datagram of this many payload bytes.
    Datagram(Length),
    /// A router's message to the source of a flow.
    Feedback(Feedback),
}
