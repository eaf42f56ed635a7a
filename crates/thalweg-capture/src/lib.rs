//! Packet traces in the formats of external tools.
//!
//! - [`pcap`]: packet captures for Wireshark.
//! - [`qlog`]: packets and metrics of senders, simulated and live, for qvis.
//!
//! This crate handles millions of packets per run; it is separate from code that runs once.

pub mod pcap;
pub mod qlog;
