//! Bytes as scripts for protocol input: the bodies of fuzz targets and of tests with fixed inputs.
#![allow(dead_code, reason = "each fuzz target has one of them")]

pub mod datagrams;
pub mod file_transfer_peer;
pub mod pairing;
pub mod scheme_negotiation;
pub mod session;

use thalweg_net::identity::Entropy;
use thalweg_proto::random::RandomStream;

/// Deterministic random bytes.
pub struct SeededEntropy(pub RandomStream);

impl Entropy for SeededEntropy {
    fn fill(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = self.0.next_u64() as u8;
        }
    }
}

/// Reads a length byte and that many bytes.
fn piece(octets: &mut impl Iterator<Item = u8>) -> Vec<u8> {
    let length = usize::from(octets.next().unwrap_or(0));
    octets.take(length).collect()
}
