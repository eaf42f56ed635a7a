//! The engines over UDP: endpoints, handshake and encryption, pacing, file transfer.
//!
//! Everything but what is named below is without sockets, clocks and threads: a connection takes the time and bytes, and
//! gives datagrams and deadlines.

pub mod cookie;
pub mod handshake;
pub mod identity;
pub mod keys;
pub mod replay;
pub mod wire;
