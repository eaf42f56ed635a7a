//! A sender at the door, with what has been read of its stream already.

use std::io::{Chain, Cursor, Read as _};
use thalweg_net::identity::PublicKey;
use thalweg_net::live::{Connection, RecvStream, SendStream};

/// A sender that may come in.
pub struct Guest {
    /// Its connection.
    pub connection: Connection,
    /// Its key.
    pub key: PublicKey,
    begun: Option<Begun>,
}

/// The streams of a sender about which somebody was asked, and what was read meanwhile.
pub type Begun = (SendStream, RecvStream, Vec<u8>);

impl Guest {
    /// One of which nothing was read.
    pub fn new(connection: Connection) -> Self {
        Self { key: connection.peer(), connection, begun: None }
    }

    /// One about which somebody was asked.
    pub fn asked(connection: Connection, begun: Begun) -> Self {
        Self { key: connection.peer(), connection, begun: Some(begun) }
    }

    /// Deals with it: the stream to it, and what it sends, from its beginning.
    pub fn enter(self) -> (SendStream, Chain<Cursor<Vec<u8>>, RecvStream>) {
        let (to_peer, from_peer, kept) = match self.begun {
            Some(begun) => {
                self.connection.admit();
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
