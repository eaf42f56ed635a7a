//! Lasting change of the shortest round trip during a recording.

use super::Recording;

/// Lasting change of the shortest round trip: of the propagation delay, or by a queue that never emptied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Time, in seconds since the first event.
    pub at: f64,
    /// Shortest round trips before and after, in seconds.
    pub round_trips: [f64; 2],
}

/// Shortest round trips of a recording over time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base {
    /// Shortest round trip of all, in seconds.
    pub(super) shortest: f64,
    pub(super) change: Option<Change>,
}

impl Base {
    /// Returns the shortest round trip at a time, both in seconds.
    pub(super) fn at(&self, at: f64) -> f64 {
        self.change.map_or(self.shortest, |change| change.round_trips[usize::from(at >= change.at)])
    }

    /// Returns the queueing delay of a round trip that ended at a time; `None` without a queue.
    pub(super) fn queueing(&self, at: f64, trip: f64) -> Option<f64> {
        let base = self.at(at);
        (trip > base + margin(base)).then_some(trip - base)
    }
}

/// Margins over the shortest round trip that indicate a queue: relative, and in seconds. The second allows for late
/// answers of hosts.
const QUEUE_MARGINS: (f64, f64) = (0.05, 0.002);

/// Returns the minimum queueing delay beyond a shortest round trip.
pub(super) fn margin(shortest: f64) -> f64 {
    shortest * QUEUE_MARGINS.0 + QUEUE_MARGINS.1
}

/// Number of parts of a recording whose shortest round trips are compared, and minimum number on each side of a change.
const RECORDING_PARTS: (usize, usize) = (20, 4);
/// Minimum number of parts with an empty queue at the longer of two shortest round trips.
const EMPTY_PARTS: usize = 3;

/// A part of a recording.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Shortest round trip.
    shortest: f64,
    /// Shortest round trip of a packet that met an empty queue.
    empty: f64,
}

/// Returns the lasting change of the shortest round trip, if there is one, and whether it is certainly none of a queue.
///
/// Either a third of the parts of the recording on each side of it, at least, have nearly the same shortest round trip: a queue that grows has
/// not. Or packets met an empty queue on the side with the longer ones: then these do not contain queueing delay.
pub(super) fn base_delay_change(recording: &Recording, trips: &[(f64, f64)]) -> Option<(Change, bool)> {
    let none = Part { shortest: f64::INFINITY, empty: f64::INFINITY };
    let mut parts = [none; RECORDING_PARTS.0];
    let part_of = |at: f64| {
        ((at / recording.seconds.max(1e-9) * RECORDING_PARTS.0 as f64) as usize).min(RECORDING_PARTS.0 - 1)
    };
    for &(at, trip) in trips {
        let part = &mut parts[part_of(at)];
        part.shortest = part.shortest.min(trip);
    }
    let of_all = |side: &[Part]| side.iter().map(|part| part.shortest).fold(f64::INFINITY, f64::min);
    for (at, trip) in at_empty_queues(recording, of_all(&parts)) {
        let part = &mut parts[part_of(at)];
        part.empty = part.empty.min(trip);
    }
    (RECORDING_PARTS.1..RECORDING_PARTS.0 - RECORDING_PARTS.1).find_map(|split| {
        // The change itself may be within a part.
        let sides = [&parts[..split], &parts[split + 1..]];
        let round_trips = sides.map(of_all);
        let longer = usize::from(round_trips[1] > round_trips[0]);
        let margin = margin(round_trips[1 - longer]);
        let is_step =
            round_trips[longer].is_finite() && round_trips[longer] - round_trips[1 - longer] > 2.0 * margin;
        let is_complete = parts.iter().all(|part| part.shortest.is_finite());
        let is_level = |side: usize| {
            let level = sides[side].iter().filter(|part| part.shortest - round_trips[side] < margin / 4.0);
            level.count() * 3 >= sides[side].len()
        };
        let empty = sides[longer].iter().filter(|part| part.empty - round_trips[longer] < margin / 2.0);
        let was_empty = empty.count() >= EMPTY_PARTS;
        let is_change = is_step && (was_empty || is_complete && is_level(0) && is_level(1));
        // The first packets of a connection meet no queue of its own.
        let began_empty =
            longer == 0 && trips.first().is_some_and(|trip| trip.1 - round_trips[0] < margin / 2.0);
        let is_certain = was_empty || began_empty;
        is_change.then(|| (Change { at: time_of(trips, round_trips, margin), round_trips }, is_certain))
    })
}

/// Returns the time that separates round trips close to the shorter of two shortest ones from the others.
fn time_of(trips: &[(f64, f64)], round_trips: [f64; 2], margin: f64) -> f64 {
    let has_risen = round_trips[1] > round_trips[0];
    let longer = round_trips[usize::from(has_risen)];
    let is_short = |trip: &&(f64, f64)| trip.1 < longer - margin / 2.0;
    match has_risen {
        true => trips.iter().rfind(is_short).map_or(0.0, |trip| trip.0.next_up()),
        false => trips.iter().find(is_short).map_or(f64::INFINITY, |trip| trip.0),
    }
}

/// Minimum time without a packet at the bottleneck, relative to the shortest round trip and to the median time between transmissions, and in seconds.
const MIN_IDLE_TIME: (f64, f64, f64) = (0.25, 8.0, 0.005);

/// Returns the acknowledgement times and round trips of packets that met an empty queue: a queue would have drained while the sender sent
/// nothing, and the packet's round trip would be that much shorter than that of the packet before.
fn at_empty_queues(recording: &Recording, shortest: f64) -> impl Iterator<Item = (f64, f64)> {
    let pairs = || recording.packets.windows(2).map(|pair| (&pair[0], &pair[1]));
    let mut gaps: Vec<f64> =
        pairs().map(|(before, packet)| packet.sent_at - before.sent_at).filter(|gap| *gap > 0.0).collect();
    let middle = gaps.len() / 2;
    let median = if gaps.is_empty() { 0.0 } else { *gaps.select_nth_unstable_by(middle, f64::total_cmp).1 };
    let idle = (shortest * MIN_IDLE_TIME.0).max(median * MIN_IDLE_TIME.1).max(MIN_IDLE_TIME.2);
    pairs().filter_map(move |(before, packet)| {
        let (first, second) = (before.acknowledged?, packet.acknowledged?);
        let [first_trip, trip] = [first - before.sent_at, second - packet.sent_at];
        // The difference of the gap and of the reduction: the time between the arrivals at the end of the queue.
        let is_empty = packet.sent_at - before.sent_at > idle
            && packet.sent_at - before.sent_at + trip - first_trip > idle;
        (!before.is_retransmission && !packet.is_retransmission && is_empty).then_some((second, trip))
    })
}
