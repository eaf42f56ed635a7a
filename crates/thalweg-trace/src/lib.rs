//! Traces of transport connections by any program: read, measured and diagnosed.
//!
//! | format | written by | module |
//! | --- | --- | --- |
//! | qlog, drafts 00 to 02, 0.3, 0.4 and its JSON text sequences | QUIC stacks, and this project's `--qlog` and `--record` | [`qlog`] |
//! | pcap and pcapng | tcpdump, Wireshark, and this project's `--pcap` | [`pcap`] |
//! | repeated output of `ss -tin` | Linux | [`ss_log`] |
//! | `tcp_probe` | bpftrace, Linux | [`tcp_probe_log`] |
//!
//! [`read`] recognises the format, compressed or not, and returns a [`Trace`]: its connections, in both directions, with packets,
//! acknowledgements and the sender's estimates. [`Summary`] has the figures of a direction, [`find_all()`] what looks wrong in it.
//!
//! Readers take a stream, need time linear in its length, and memory linear in the number of packets, which [`Limits`] bounds.
//! A trace that ends early or is damaged gives what was read before, with a note.

mod buffered_input;
mod date_parsing;
mod direction_summary;
pub mod findings;
mod format_and_limits;
mod format_detection;
pub mod pcap;
mod position_ranges;
pub mod qlog;
pub mod ss_log;
pub mod tcp_probe_log;
mod trace_model;

pub use direction_summary::{RttSummary, Summary, sorted_quantile};
pub use findings::{Finding, find_all};
pub use format_and_limits::{EXPECTED_FORMATS, Format, Limits, ReadError};
pub use format_detection::{read, read_with_keys};
pub use pcap::KeyLog;
pub use trace_model::{
    Ack, Connection, Counts, Direction, Limit, Metric, Packet, Point, Protocol, Sack, Timeout, Trace, View,
};
