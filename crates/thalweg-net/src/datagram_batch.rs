//! Batches of outgoing datagrams, contiguous in memory for segmentation offload (GSO).
//!
//! A run is the input of one system call: datagrams of one size to one address; the last may be shorter. The kernel or
//! the network card splits it. Datagrams of different connections are in different runs: a receiver with several
//! threads may get a coalesced run, and looks at the first connection id only.

use crate::wire::{MAX_UDP_PAYLOAD, SHARD_BYTE_OFFSET};
use core::ops::Range;
use std::net::SocketAddr;
use thalweg_proto::Ecn;

/// Maximum number of datagrams per run (Linux: UDP_MAX_SEGMENTS before Linux 6.9).
const MAX_SEGMENTS: usize = 64;

/// Maximum size of a run, in bytes: one datagram for the network layer, less the IPv6 headers.
const MAX_BYTES: usize = 65_487;

/// Purpose of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Any datagram but a probe, with its ECN codepoint; ECN-capable for data of flows that react to CE.
    Ordinary(Ecn),
    /// Path MTU probe; sent alone.
    Probe,
}

impl Purpose {
    /// Returns the ECN codepoint of the datagram.
    #[inline]
    pub const fn ecn(self) -> Ecn {
        match self {
            Self::Ordinary(ecn) => ecn,
            Self::Probe => Ecn::NotEct,
        }
    }
}

/// Datagrams for one system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Destination address.
    pub destination: SocketAddr,
    /// Common purpose.
    pub purpose: Purpose,
    /// Byte range within the batch.
    pub range: Range<usize>,
    /// Size of all datagrams but the last, in bytes.
    pub segment_bytes: usize,
}

impl Run {
    /// Returns the number of datagrams in the run.
    pub fn segments(&self) -> usize {
        self.range.len().div_ceil(self.segment_bytes.max(1))
    }
}

/// Outgoing datagrams. The buffer is reused.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    runs: Vec<Run>,
    /// True if the last run has no short datagram yet and can take one more.
    is_open: bool,
}

impl Batch {
    /// Creates an empty batch.
    pub fn new() -> Self {
        Self { bytes: Vec::with_capacity(usize::from(MAX_UDP_PAYLOAD) + 1), runs: Vec::new(), is_open: false }
    }

    /// Removes all datagrams.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.runs.clear();
    }

    /// Returns true if there is no datagram.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the runs to send.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Returns the contiguous datagrams of a run.
    pub fn bytes(&self, run: &Run) -> &[u8] {
        &self.bytes[run.range.clone()]
    }

    /// Returns the datagrams one by one, with their destinations.
    pub fn datagrams(&self) -> impl Iterator<Item = (&Run, &[u8])> {
        self.runs
            .iter()
            .flat_map(|run| self.bytes(run).chunks(run.segment_bytes.max(1)).map(move |bytes| (run, bytes)))
    }

    /// Returns true if there is room for a datagram of this size. An empty batch has room for any.
    #[inline]
    pub fn has_room(&self, size: usize) -> bool {
        self.bytes.is_empty() || self.bytes.len() + size <= MAX_BYTES
    }

    /// Returns the offset of the next datagram.
    #[inline]
    pub fn start(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the buffer; append the next datagram to it.
    #[inline]
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Completes the datagram from `start` to the end of the buffer.
    #[inline]
    pub fn finish(&mut self, start: usize, destination: SocketAddr, purpose: Purpose) {
        let end = self.bytes.len();
        let length = end - start;
        if let Some(last) = self.runs.last_mut() {
            let joins = self.is_open
                && last.destination == destination
                && last.purpose == purpose
                && self.bytes.get(start + SHARD_BYTE_OFFSET)
                    == self.bytes.get(last.range.start + SHARD_BYTE_OFFSET)
                && last.range.end == start
                && length <= last.segment_bytes
                && last.range.len() < last.segment_bytes * MAX_SEGMENTS
                && end - last.range.start <= MAX_BYTES;
            if joins {
                last.range.end = end;
                self.is_open = length == last.segment_bytes;
                return;
            }
        }
        self.is_open = purpose != Purpose::Probe;
        self.runs.push(Run { destination, purpose, range: start..end, segment_bytes: length });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(batch: &mut Batch, length: usize, port: u16, purpose: Purpose) {
        let start = batch.start();
        batch.buffer().resize(start + length, 1);
        batch.finish(start, ([127, 0, 0, 1], port).into(), purpose);
    }

    #[test]
    fn datagrams_of_one_size_travel_together_and_a_shorter_one_is_the_last() {
        let mut batch = Batch::new();
        for length in [100, 100, 40, 100, 120] {
            put(&mut batch, length, 1, Purpose::Ordinary(Ecn::NotEct));
        }
        let runs: Vec<_> = batch.runs().iter().map(|run| (run.range.len(), run.segments())).collect();
        assert_eq!(runs, [(240, 3), (100, 1), (120, 1)]);
        let lengths: Vec<_> = batch.datagrams().map(|(_, bytes)| bytes.len()).collect();
        assert_eq!(lengths, [100, 100, 40, 100, 120]);
    }

    #[test]
    fn runs_do_not_mix_destinations_codepoints_or_probes() {
        let mut batch = Batch::new();
        for (port, purpose) in [
            (1, Purpose::Ordinary(Ecn::NotEct)),
            (2, Purpose::Ordinary(Ecn::NotEct)),
            (2, Purpose::Ordinary(Ecn::Ect0)),
            (2, Purpose::Probe),
            (2, Purpose::Probe),
        ] {
            put(&mut batch, 100, port, purpose);
        }
        assert_eq!(batch.runs().len(), 5);
    }

    #[test]
    fn a_run_is_no_longer_than_the_kernel_takes() {
        let mut batch = Batch::new();
        for _ in 0..70 {
            put(&mut batch, 100, 1, Purpose::Ordinary(Ecn::NotEct));
        }
        assert_eq!(batch.runs().iter().map(Run::segments).collect::<Vec<_>>(), [64, 6]);
        batch.clear();
        while batch.has_room(1472) {
            put(&mut batch, 1472, 1, Purpose::Ordinary(Ecn::NotEct));
        }
        assert_eq!(batch.runs().iter().map(Run::segments).collect::<Vec<_>>(), [44]);
    }
}
