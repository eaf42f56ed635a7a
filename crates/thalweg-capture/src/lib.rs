//! Packets one by one, in the formats of other people's programs.
//!
//! - [`pcap`]: packet captures, which Wireshark opens.
//! - [`qlog`]: packets and metrics of senders, simulated and live, which qvis opens.
//!
//! Millions of packets pass here in a run, so this is apart from what works once a run.

pub mod pcap;
pub mod qlog;
