//! The engines over UDP: endpoints, handshake and encryption, pacing, file transfer.
//!
//! Everything but [`udp`] is without sockets, clocks and threads: a connection takes the time and bytes, and gives
//! datagrams and deadlines.

pub mod transfer;
