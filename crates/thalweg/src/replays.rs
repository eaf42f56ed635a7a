//! `--replay`: which packets a page shows on their way.

use crate::values::Span;
use core::ops::Range;
use thalweg_proto::units::{Bytes, Time};
use thalweg_report::report::Recorder;
use thalweg_sim::spec::Spec;

/// The time whose packets are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replays {
    span: Range<Time>,
}

impl Replays {
    /// The span that is asked for; without one, the whole run if its links can carry few packets only.
    pub fn new(asked: Option<Span>, spec: &Spec) -> Option<Self> {
        let span = match asked {
            Some(Span { from, until }) => Time::ZERO + from..Time::ZERO + until,
            None if packets(spec) <= FEW => Time::ZERO..Time::ZERO + spec.duration,
            None => return None,
        };
        Some(Self { span })
    }

    /// Begins to keep the packets of a run; so many runs share the room that there is.
    pub fn begin(&self, spec: &Spec, runs: usize) -> Recorder {
        Recorder::new(spec, self.span.clone(), MOST / runs.max(1))
    }
}

/// So many packets of 1500 bytes the links can carry in a run, each packet counted at each link.
fn packets(spec: &Spec) -> u64 {
    let directions = spec.links.iter().flat_map(|link| [&link.forward, &link.backward]);
    let carried = directions.map(|direction| direction.rate.bytes_in(spec.duration));
    carried.fold(0u64, |sum, bytes: Bytes| sum.saturating_add(bytes.get() / 1500))
}

/// Ways of packets over links that a page has room for: less than a megabyte.
const MOST: usize = 40_000;

/// Runs of so many packets are kept as a whole without being asked for.
const FEW: u64 = 20_000;
