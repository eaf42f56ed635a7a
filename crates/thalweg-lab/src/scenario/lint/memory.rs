//! How much memory a run takes: roughly, and rather too much than too little. For the dumbbell of ten thousand and of
//! a hundred thousand flows the estimate is up to a third above what was measured.

use super::super::path::Paths;
use thalweg_proto::congestion::ControllerSpec;
use thalweg_sim::spec::{Spec, TransportSpec};

/// A flow's endpoints, timers and statistics.
const FLOW: u64 = 1500;
/// One direction of a line, with its statistics.
const LINE: u64 = 300;
/// A packet on its way, and what its sender remembers of it.
const PACKET: u64 = 100;
/// A point of a series.
const POINT: u64 = 16;
/// Series of a flow: window, in flight, round-trip time, rate, goodput.
const SERIES: u64 = 5;
/// A run without flows.
const BASE: u64 = 8 << 20;

/// What a run takes, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Flows with their packets and own lines.
    pub flows: u64,
    /// Links.
    pub links: u64,
    /// Series.
    pub series: u64,
}

impl Memory {
    /// All together.
    pub fn total(self) -> u64 {
        BASE.saturating_add(self.flows).saturating_add(self.links).saturating_add(self.series)
    }
}

/// Estimates the memory of a run of `spec`.
pub fn memory(spec: &Spec, paths: &Paths) -> Memory {
    let mut flows: u64 = 0;
    let mut count: u64 = 0;
    for group in &spec.groups {
        let lines = if group.access.is_some() { 4 * LINE } else { 0 };
        let each = FLOW + lines + PACKET * first_window(&group.transport);
        flows = flows.saturating_add(each.saturating_mul(u64::from(group.count)));
        count += u64::from(group.count);
    }
    let mut links = 0u64;
    for (number, link) in spec.links.iter().enumerate() {
        // Acknowledgements are no more than the packets that they answer.
        let largest = paths.largest_packet(number, false).max(paths.largest_packet(number, true));
        let packet = u64::from(largest.max(40));
        for (direction, back) in [(&link.forward, false), (&link.backward, true)] {
            let wire = paths.link_bdp(spec, number, back).get() / packet;
            let queue = super::links::bytes(&direction.queue, largest);
            let queue = queue.map_or(0, |queue| queue.get() / packet).min(wire.saturating_mul(64));
            links =
                links.saturating_add(LINE).saturating_add(PACKET.saturating_mul(wire.saturating_add(queue)));
        }
    }
    let measured = count.min(u64::from(spec.measure.flows));
    let points = match (spec.measure.interval, spec.measure.every_event) {
        (_, true) => u64::from(spec.measure.points),
        (Some(interval), false) => {
            let samples = spec.duration.as_picos() / interval.as_picos().max(1) + 1;
            samples.min(u64::from(spec.measure.points))
        }
        (None, false) => 0,
    };
    let series = (measured * SERIES + spec.links.len() as u64 * 4).saturating_mul(points);
    let series = series.saturating_mul(POINT);
    Memory { flows, links, series }
}

/// Packets that a flow sends at once when it starts.
fn first_window(transport: &TransportSpec) -> u64 {
    let window = match transport {
        TransportSpec::Datagram { .. } => 1.0,
        TransportSpec::Window { controller, .. } => match controller {
            ControllerSpec::Fixed { window } => *window,
            ControllerSpec::SlowStart { initial_window, .. }
            | ControllerSpec::NewReno { initial_window, .. }
            | ControllerSpec::Vegas { initial_window, .. }
            | ControllerSpec::Cubic { initial_window, .. } => *initial_window,
        },
    };
    (window as u64).clamp(1, 1 << 20)
}
