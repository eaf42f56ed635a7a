//! Entry points for fuzzing: the parsers of bytes that programs in a live network write.

use crate::port::Offload;
use crate::segments::cut;
use std::net::IpAddr;

pub use crate::port::HEADER;

/// Answers a message to the name server of a host that knows `server`; `None` where there must be no answer.
pub fn name_answer(message: &[u8]) -> Option<Vec<u8>> {
    let addresses = vec![IpAddr::from([10, 71, 0, 2]), IpAddr::from([0xfd74, 0, 0, 0, 0, 0, 0, 2])];
    crate::host::names::Known::new([("server".to_owned(), addresses)]).answer(message)
}

/// Splits a GSO buffer, preceded by the device's header, into packets; returns their lengths.
pub fn cut_run(header: [u8; HEADER], bytes: &[u8]) -> Vec<usize> {
    let mut lengths = Vec::new();
    cut(Offload::parse(header), bytes, |packet| lengths.push(packet.len()));
    lengths
}
