//! An independent replay of a run's packet trace, which checks that the network kept its own rules.
//!
//! It knows the specification and the trace, and nothing of how the simulator works:
//!
//! - no packet appears from nowhere, is in two places, or vanishes; a damaged packet is never delivered;
//! - a transmitter sends one packet at a time and never faster than its rate; not at all in an outage;
//! - a packet takes exactly the link's delay, or where the link reorders at most so much more;
//! - a queue never holds more than its capacity, and serves first come first served where it promises that;
//! - the counts of the results are those of the trace.
//!
//! Of links between a flow's own hosts and the network only the first rule is checked; of links with a capacity
//! trace all but the rate.

mod line;

use core::fmt;
use line::Line;
use std::collections::HashMap;
use thalweg_proto::units::Time;
use thalweg_sim::spec::Spec;
use thalweg_sim::trace::{PacketId, Record, Step, Tracer};
use thalweg_sim::{Pdu, RunResult};

/// A rule that a network broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Time went back.
    Time,
    /// A packet was somewhere without having got there.
    Nowhere,
    /// A damaged packet was delivered.
    Damaged,
    /// A transmitter began to send before the packet before had left, or during an outage.
    Rate,
    /// A packet arrived earlier or later than the link's delay allows.
    Delay,
    /// A queue held more than its capacity.
    Capacity,
    /// A packet overtook another in a queue that promises order.
    Order,
    /// The results' count of this differs from the trace's.
    Count(&'static str),
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time => f.write_str("time went back"),
            Self::Nowhere => f.write_str("a packet was where it had not got to"),
            Self::Damaged => f.write_str("a damaged packet was delivered"),
            Self::Rate => f.write_str("a transmitter was faster than its rate"),
            Self::Delay => f.write_str("a packet was faster or slower than its link"),
            Self::Capacity => f.write_str("a queue held more than its capacity"),
            Self::Order => f.write_str("a packet overtook another in its queue"),
            Self::Count(what) => write!(f, "the count of {what} packets differs from the trace"),
        }
    }
}

/// A rule that was broken, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which rule.
    pub rule: Rule,
    /// When.
    pub time: Time,
    /// The link with its ends, where it happened at one.
    pub link: Option<String>,
    /// The packet, where it is about one.
    pub packet: Option<PacketId>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} s", self.rule, self.time.as_secs_f64())?;
        if let Some(link) = &self.link {
            write!(f, ", {link}")?;
        }
        match self.packet {
            Some(PacketId { connection, incarnation, backward, serial }) => {
                let direction = if backward { "back" } else { "forth" };
                write!(f, " (connection {connection}.{incarnation} {direction}, packet {serial})")
            }
            None => Ok(()),
        }
    }
}

/// Where a copy of a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// At an endpoint or router.
    Node,
    /// In the queue of a transmitter.
    Queue(u32),
    /// In a transmitter, or on the wire behind it; due at the far end between these times, where that is known.
    Wire(u32, Option<(Time, Time)>),
}

/// A copy of a packet.
#[derive(Clone, Copy, Debug)]
struct Copy {
    place: Place,
    damaged: bool,
}

/// Replays the trace of a run. It holds what is in the network, and the first few faults.
#[derive(Debug)]
pub struct Verifier {
    packets: HashMap<PacketId, Vec<Copy>>,
    lines: Vec<Line>,
    /// A queue that holds too much unless the next record drops something there.
    full: Option<u32>,
    now: Time,
    sent: u64,
    duplicated: u64,
    delivered: u64,
    dropped: u64,
    lost: u64,
    violations: Vec<Violation>,
}

impl Verifier {
    /// For a run of `spec`.
    pub fn new(spec: &Spec) -> Self {
        Self {
            packets: HashMap::new(),
            lines: Line::all(spec),
            full: None,
            now: Time::ZERO,
            sent: 0,
            duplicated: 0,
            delivered: 0,
            dropped: 0,
            lost: 0,
            violations: Vec::new(),
        }
    }

    /// Compares what was seen with what the run says; gives the first faults, none for a sound run.
    pub fn finish(mut self, result: &RunResult) -> Vec<Violation> {
        self.settle();
        let counts = result.conservation;
        let left: u64 = self.packets.values().map(|copies| copies.len() as u64).sum();
        // Damaged packets are lost where they are received, of which a trace has no record.
        let lost_at_end = counts.lost.saturating_sub(self.lost);
        for (what, counted, seen) in [
            ("sent", counts.sent, self.sent),
            ("duplicated", counts.duplicated, self.duplicated),
            ("delivered", counts.delivered, self.delivered),
            ("dropped", counts.dropped, self.dropped),
            ("remaining", counts.in_network + lost_at_end, left),
        ] {
            if counted != seen {
                self.violate(Rule::Count(what), None, None);
            }
        }
        self.violations
    }

    fn violate(&mut self, rule: Rule, link: Option<u32>, packet: Option<PacketId>) {
        if self.violations.len() < MOST_VIOLATIONS {
            let link = link.and_then(|link| self.lines.get(link as usize)).map(Line::name);
            self.violations.push(Violation { rule, time: self.now, link, packet });
        }
    }

    /// A queue that was too full had its chance to drop.
    fn settle(&mut self) {
        if let Some(link) = self.full.take()
            && self.lines.get(link as usize).is_some_and(Line::is_overfull)
        {
            self.violate(Rule::Capacity, Some(link), None);
        }
    }

    /// Takes away a copy of the packet that `is_here`.
    fn take(&mut self, record: &Record<'_>, is_here: impl Fn(&Copy) -> bool) -> Option<Copy> {
        let copies = self.packets.get_mut(&record.packet);
        let found = copies.and_then(|copies| {
            let position = copies.iter().position(is_here)?;
            Some(copies.swap_remove(position))
        });
        if found.is_none() {
            let link = (record.link != u32::MAX).then_some(record.link);
            self.violate(Rule::Nowhere, link, Some(record.packet));
        } else if self.packets.get(&record.packet).is_some_and(Vec::is_empty) {
            self.packets.remove(&record.packet);
        }
        found
    }

    fn put(&mut self, packet: PacketId, copy: Copy) {
        self.packets.entry(packet).or_default().push(copy);
    }

    fn transmitted(&mut self, record: &Record<'_>) {
        let (link, packet) = (record.link, record.packet);
        let queued = |copy: &Copy| copy.place == Place::Queue(link);
        let waited = self.packets.get(&packet).is_some_and(|copies| copies.iter().any(queued));
        let Some(copy) =
            self.take(record, |copy| if waited { queued(copy) } else { copy.place == Place::Node })
        else {
            return;
        };
        let urgent = matches!(record.pdu, Pdu::Feedback(_));
        let mut due = None;
        if let Some(line) = self.lines.get_mut(link as usize) {
            let in_order = line.leave_queue(packet, record.size, waited, urgent);
            let in_time = line.begin(record.time, record.size);
            due = line.due(record.time, record.size);
            if !in_order {
                self.violate(Rule::Order, Some(link), Some(packet));
            }
            if !in_time {
                self.violate(Rule::Rate, Some(link), Some(packet));
            }
        }
        self.put(packet, Copy { place: Place::Wire(link, due), ..copy });
    }

    fn arrived(&mut self, record: &Record<'_>) {
        let on_wire = |copy: &Copy| matches!(copy.place, Place::Wire(link, _) if link == record.link);
        let in_time = |copy: &Copy| match copy.place {
            Place::Wire(_, Some((first, last))) => (first..=last).contains(&record.time),
            _ => true,
        };
        // Of several copies on the wire, the one that is due.
        let copies = self.packets.get(&record.packet);
        let exact = copies.is_some_and(|copies| copies.iter().any(|copy| on_wire(copy) && in_time(copy)));
        let Some(copy) = self.take(record, |copy| on_wire(copy) && (!exact || in_time(copy))) else { return };
        if !in_time(&copy) {
            self.violate(Rule::Delay, Some(record.link), Some(record.packet));
        }
        self.put(record.packet, Copy { place: Place::Node, ..copy });
    }
}

impl Tracer for Verifier {
    const ENABLED: bool = true;

    fn record(&mut self, record: &Record<'_>) {
        let (link, packet) = (record.link, record.packet);
        if record.time < self.now {
            self.violate(Rule::Time, None, Some(packet));
        }
        if record.step != Step::Dropped || self.full != Some(link) {
            self.settle();
        }
        self.now = record.time;
        let on_wire = |copy: &Copy| matches!(copy.place, Place::Wire(at, _) if at == link);
        match record.step {
            Step::Sent => {
                self.sent += 1;
                self.put(packet, Copy { place: Place::Node, damaged: false });
            }
            Step::Queued => {
                if let Some(copy) = self.take(record, |copy| copy.place == Place::Node) {
                    self.put(packet, Copy { place: Place::Queue(link), ..copy });
                    if let Some(line) = self.lines.get_mut(link as usize) {
                        line.join_queue(packet, record.size);
                        self.full = line.is_overfull().then_some(link);
                    }
                }
            }
            Step::Transmitted => self.transmitted(record),
            Step::Arrived => self.arrived(record),
            Step::Dropped => {
                self.dropped += 1;
                self.take(record, |copy| copy.place == Place::Queue(link));
                if let Some(line) = self.lines.get_mut(link as usize) {
                    line.drop_queued(packet, record.size);
                }
            }
            Step::Lost => {
                self.lost += 1;
                self.take(record, on_wire);
            }
            Step::Corrupted => {
                if let Some(copy) = self.take(record, on_wire) {
                    self.put(packet, Copy { damaged: true, ..copy });
                }
            }
            Step::Duplicated => {
                self.duplicated += 1;
                let copies = self.packets.get(&packet);
                match copies.and_then(|copies| copies.iter().copied().find(on_wire)) {
                    Some(copy) => self.put(packet, copy),
                    None => self.violate(Rule::Nowhere, Some(link), Some(packet)),
                }
            }
            Step::Delivered => {
                self.delivered += 1;
                let sound = |copy: &Copy| copy.place == Place::Node && !copy.damaged;
                let any = self.packets.get(&packet).is_some_and(|copies| copies.iter().any(sound));
                let taken = self.take(record, |copy| copy.place == Place::Node && (!any || !copy.damaged));
                if taken.is_some_and(|copy| copy.damaged) {
                    self.violate(Rule::Damaged, None, Some(packet));
                }
            }
        }
    }
}

/// So many faults are told; more would say no more.
const MOST_VIOLATIONS: usize = 10;

#[cfg(test)]
mod tests;
