//! An accepted sender, with the bytes already read from its stream.

use crate::identity::PublicKey;
use crate::live::{Connection, RecvStream, SendStream};
use std::io::{Chain, Cursor, Read as _};

/// An admitted sender.
#[derive(Debug)]
pub struct AdmittedSender {
    /// Its connection.
    pub connection: Connection,
    /// Its key.
    pub key: PublicKey,
    opened_streams: Option<OpenedStreams>,
}

/// The streams of a sender that awaited approval, and the bytes read from them meanwhile.
pub type OpenedStreams = (SendStream, RecvStream, Vec<u8>);

impl AdmittedSender {
    /// Creates a sender without bytes read.
    pub fn new(connection: Connection) -> Self {
        Self { key: connection.peer(), connection, opened_streams: None }
    }

    /// Creates a sender that awaited approval.
    pub fn approved(connection: Connection, begun: OpenedStreams) -> Self {
        Self { key: connection.peer(), connection, opened_streams: Some(begun) }
    }

    /// Returns the stream to the sender, and the stream from it including the bytes already read.
    pub fn enter(self) -> (SendStream, Chain<Cursor<Vec<u8>>, RecvStream>) {
        let (to_peer, from_peer, kept) = match self.opened_streams {
            Some(begun) => {
                self.connection.authorise();
                begun
            }
            None => {
                let (to_peer, from_peer) = self.connection.split();
                (to_peer, from_peer, Vec::new())
            }
        };
        (to_peer, Cursor::new(kept).chain(from_peer))
    }
}
