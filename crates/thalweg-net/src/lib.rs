//! The engines over UDP: endpoints, handshake and encryption, pacing, file transfer.
//!
//! Everything but [`live`] and the loop of [`impair`] is without sockets, clocks and threads: a connection takes the time
//! and bytes, and gives datagrams and deadlines.

pub mod batch;
pub mod cookie;
pub mod endpoint;
pub mod flow;
pub mod handshake;
pub mod identity;
pub mod impair;
pub mod keys;
pub mod live;
pub mod mtu;
pub mod pairing;
pub mod path;
pub mod replay;
pub mod resequence;
pub mod session;
pub mod transfer;
pub mod wire;
