//! `--replay`: selects the packets that a page animates.

use crate::value_parsers::Span;
use core::ops::Range;
use thalweg_proto::units::{Bytes, Time};
use thalweg_report::report::Recorder;
use thalweg_sim::simulation_spec::Spec;

/// Time range of the recorded packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replays {
    span: Range<Time>,
}

impl Replays {
    /// Returns the requested range; by default the whole run, if its links can carry only few packets.
    pub fn new(requested: Option<Span>, spec: &Spec) -> Option<Self> {
        let span = match requested {
            Some(Span { from, until }) => Time::ZERO + from..Time::ZERO + until,
            None if link_packet_capacity(spec) <= MAX_DEFAULT_PACKETS => {
                Time::ZERO..Time::ZERO + spec.duration
            }
            None => return None,
        };
        Some(Self { span })
    }

    /// Creates the recorder of a run; `runs` runs share the total capacity.
    pub fn begin(&self, spec: &Spec, runs: usize) -> Recorder {
        Recorder::new(spec, self.span.clone(), MAX_TRANSMISSIONS / runs.max(1))
    }
}

/// Returns the number of 1500-byte packets that the links can carry in a run, counted per link.
fn link_packet_capacity(spec: &Spec) -> u64 {
    let directions = spec.links.iter().flat_map(|link| [&link.forward, &link.backward]);
    let carried = directions.map(|direction| direction.rate.bytes_in(spec.duration));
    carried.fold(0u64, |sum, bytes: Bytes| sum.saturating_add(bytes.get() / 1500))
}

/// Maximum number of packet transmissions in a page: less than 1 MB.
const MAX_TRANSMISSIONS: usize = 40_000;

/// Maximum number of packets of a run that is recorded as a whole by default.
const MAX_DEFAULT_PACKETS: u64 = 20_000;
