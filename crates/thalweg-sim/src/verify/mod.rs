//! An independent check of a run: a replay of its packet trace against the specification.
//!
//! The [`Verifier`] shares no code with the simulator. From the rates, delays and limits of the specification and from
//! the records alone, it follows every packet from sending to its end. It keeps state only for packets in the network,
//! their links and their endpoints, hence it can follow runs of any length.

mod flow_counters;
mod link_replay;
mod numbered_topology;
mod violation;

pub use violation::{Fault, Violation};

use crate::Pdu;
use crate::packet_trace::{PacketId, Record, Step, Tracer};
use crate::run_result::RunResult;
use crate::simulation_spec::Spec;
use flow_counters::{AllFlowCounters, is_data};
use link_replay::{ArrivalTimes, LinkState};
use numbered_topology::{Node, Topology};
use std::collections::{BTreeMap, BTreeSet};
use thalweg_proto::units::Time;
use thalweg_proto::window;
use thalweg_queue::AckFilter;
use thalweg_queue::feedback::FeedbackSpec;

/// Maximum number of listed violations; more are only counted.
const MAX_VIOLATIONS: usize = 100;

/// Counts of a replay, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// Number of records.
    pub records: u64,
    /// Packets sent by endpoints.
    pub sent: u64,
    /// Copies created by duplication on links.
    pub duplicated: u64,
    /// Transmissions started on links.
    pub transmitted: u64,
    /// Packets delivered to their endpoint.
    pub delivered: u64,
    /// Packets dropped by queues, including filtered acknowledgements.
    pub dropped: u64,
    /// Packets lost in propagation.
    pub lost: u64,
    /// Packets that reached their endpoint damaged.
    pub damaged: u64,
    /// Packets in the network at the end.
    pub in_network: u64,
    /// Peak number of packets in the network.
    pub max_in_network: u64,
}

/// Location of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PacketLocation {
    /// Just sent by its endpoint.
    Sent,
    At(Node),
    Queue(u32),
    Wire(u32, ArrivalTimes),
}

/// A packet, or a copy of it.
#[derive(Clone, Copy, Debug)]
struct Packet {
    place: PacketLocation,
    since: Time,
    size: u32,
    flow: u32,
    damaged: bool,
    /// True for a data packet.
    data: bool,
    /// True for a copy made by duplication, which took no transmission time.
    copy: bool,
    /// True if there is or was another packet of the same number: records do not distinguish them.
    twin: bool,
    /// Source node; known from its first link on.
    origin: Option<Node>,
}

/// Follows the packets of a run and collects violations.
#[derive(Clone, Debug)]
pub struct Verifier {
    topology: Topology,
    now: Time,
    /// Packets in the network; several of one number are copies.
    packets: BTreeMap<PacketId, Vec<Packet>>,
    links: BTreeMap<u32, LinkState>,
    /// Next serial number of each endpoint's packets.
    serials: BTreeMap<(u32, bool), u32>,
    /// Connections whose senders are paused by a gate.
    paused: BTreeSet<u32>,
    /// Next number of each queue's messages.
    next_messages: BTreeMap<u32, u32>,
    /// A queue beyond its limit, unless the next record is a drop.
    overfull: Option<u32>,
    /// True if one of two packets of the same number was damaged, and it is unknown which.
    damage_is_vague: bool,
    counts: Replay,
    counters: AllFlowCounters,
    /// Start of counting.
    count_start: Time,
    is_counting: bool,
    violations: Vec<Violation>,
    unlisted_violations: u64,
}

impl Tracer for Verifier {
    fn record(&mut self, record: &Record<'_>) {
        self.counts.records += 1;
        if record.time < self.now {
            self.note(record, Fault::TimeWentBack { from: self.now });
        }
        self.now = self.now.max(record.time);
        if self.overfull.is_some_and(|link| {
            !matches!(record.step, Step::Dropped | Step::Filtered) || record.link_direction != link
        }) {
            self.check_overfull();
        }
        if self.topology.ends(record.flow).is_none() {
            return self.note(record, Fault::Unknown { what: "flow" });
        }
        if record.link_direction != u32::MAX {
            let Some(link) = self.topology.link(record.link_direction) else {
                return self.note(record, Fault::Unknown { what: "link" });
            };
            self.links.entry(record.link_direction).or_insert_with(|| LinkState::new(link.direction));
        }
        match record.step {
            Step::Sent => self.on_sent(record),
            Step::Queued => self.on_queued(record),
            Step::Transmitted => self.on_transmitted(record),
            Step::Arrived => self.on_arrived(record),
            Step::Dropped => self.on_dropped(record),
            Step::Filtered => self.on_filtered(record),
            Step::Lost | Step::Corrupted | Step::Duplicated => self.on_wire(record),
            Step::Delivered => self.on_delivered(record),
        }
        self.counts.max_in_network = self.counts.max_in_network.max(self.counts.in_network);
    }

    fn gate(&mut self, _time: Time, connection: u32, paused: bool) {
        if paused {
            self.paused.insert(connection);
        } else {
            self.paused.remove(&connection);
        }
    }

    fn on_warmup_end(&mut self, time: Time) {
        if time != self.count_start || self.is_counting {
            let (what, result, replay) =
                ("the end of the warm-up", time.as_picos(), self.count_start.as_picos());
            self.add(None, None, Fault::Miscounted { what, result, replay });
        }
        self.is_counting = true;
        self.counters.begin();
        for link in self.links.values_mut() {
            link.totals.clear();
        }
    }
}

impl Verifier {
    /// Returns a replay for runs of `spec`.
    pub fn new(spec: &Spec) -> Self {
        Self {
            topology: Topology::new(spec),
            now: Time::ZERO,
            packets: BTreeMap::new(),
            links: BTreeMap::new(),
            serials: BTreeMap::new(),
            paused: BTreeSet::new(),
            next_messages: BTreeMap::new(),
            overfull: None,
            damage_is_vague: false,
            counts: Replay::default(),
            counters: AllFlowCounters::new(spec.groups.iter().map(|group| group.count as usize).sum()),
            count_start: Time::ZERO + spec.warmup.min(spec.duration),
            is_counting: spec.warmup.is_zero(),
            violations: Vec::new(),
            unlisted_violations: 0,
        }
    }

    /// Compares the replay with the run's result and returns its counts.
    ///
    /// # Errors
    ///
    /// The violations, in the order of discovery; at most about a hundred, followed by the number of the rest.
    pub fn finish(mut self, result: &RunResult) -> Result<Replay, Vec<Violation>> {
        self.check_overfull();
        self.check_overdue(result.end_time);
        self.check_counts(result);
        if self.violations.is_empty() {
            return Ok(self.counts);
        }
        if self.unlisted_violations > 0 {
            let fault = Fault::More { count: self.unlisted_violations };
            self.violations.push(Violation {
                time: self.now,
                link: None,
                place: String::new(),
                packet: None,
                fault,
            });
        }
        Err(self.violations)
    }

    fn add(&mut self, link: Option<u32>, packet: Option<PacketId>, fault: Fault) {
        let place = link.map_or(String::new(), |link| self.topology.name(link));
        self.keep(Violation { time: self.now, link, place, packet, fault });
    }

    /// Adds a violation at a place that is neither a link nor a packet.
    fn add_at(&mut self, place: String, fault: Fault) {
        self.keep(Violation { time: self.now, link: None, place, packet: None, fault });
    }

    fn keep(&mut self, violation: Violation) {
        if self.violations.len() >= MAX_VIOLATIONS {
            self.unlisted_violations += 1;
        } else {
            self.violations.push(violation);
        }
    }

    fn note(&mut self, record: &Record<'_>, fault: Fault) {
        let link = Some(record.link_direction).filter(|link| *link != u32::MAX);
        self.add(link, Some(record.packet), fault);
    }

    /// Returns true if a packet, or a copy of it, satisfies `is_there`.
    fn any_copy(&self, packet: PacketId, is_there: impl Fn(&Packet) -> bool) -> bool {
        self.packets.get(&packet).is_some_and(|copies| copies.iter().any(is_there))
    }

    /// Takes a packet from the place given by the record; reports a violation if it is not there.
    fn take(&mut self, record: &Record<'_>, is_there: impl Fn(&Packet) -> bool) -> Option<Packet> {
        let found = self.packets.get_mut(&record.packet).and_then(|copies| {
            let index = copies.iter().position(is_there)?;
            // In order: of copies on one link the first to leave arrives first.
            Some(copies.remove(index))
        });
        let Some(packet) = found else {
            self.note(record, Fault::FromNowhere { step: record.step });
            return None;
        };
        if self.packets.get(&record.packet).is_some_and(Vec::is_empty) {
            self.packets.remove(&record.packet);
        }
        self.counts.in_network -= 1;
        if packet.size != record.size || packet.flow != record.flow {
            self.note(record, Fault::Changed);
        }
        Some(packet)
    }

    fn put(&mut self, id: PacketId, packet: Packet) {
        self.packets.entry(id).or_default().push(packet);
        self.counts.in_network += 1;
    }

    fn on_sent(&mut self, record: &Record<'_>) {
        let PacketId { connection, backward, serial, router, .. } = record.packet;
        let next = match router {
            Some(queue) => self.next_messages.entry(queue).or_insert(0),
            None => self.serials.entry((connection, backward)).or_insert(0),
        };
        let expected = core::mem::replace(next, serial.wrapping_add(1));
        if serial != expected {
            self.note(record, Fault::Misnumbered { expected });
        }
        self.counts.sent += 1;
        let works = self
            .topology
            .ends(record.flow)
            .is_some_and(|ends| ends.has_processing_cost[usize::from(record.reply)]);
        let data = is_data(record);
        // A host may still process what its endpoint sent before the pause. Packets of handshakes, queries and answers
        // carry no data.
        if data && self.paused.contains(&connection) && !backward && !works {
            self.note(record, Fault::SentWhilePaused);
        }
        let (size, flow) = (record.size, record.flow);
        let place = if router.is_some() { self.place_of_message(record) } else { PacketLocation::Sent };
        let since = self.now;
        let (damaged, copy, twin, origin) = (false, false, false, None);
        self.counters.send(record);
        self.put(record.packet, Packet { place, since, size, flow, damaged, data, copy, twin, origin });
    }

    /// Returns the node where a message enters the network: that of its queue, which must have a feedback policy.
    fn place_of_message(&mut self, record: &Record<'_>) -> PacketLocation {
        let Some(link) = self.topology.link(record.link_direction) else { return PacketLocation::Sent };
        let tail = link.tail;
        let is_due = |feedback: &FeedbackSpec| feedback.message_bytes == record.size;
        let names_queue =
            matches!(record.pdu, Pdu::Feedback(feedback) if feedback.queue == record.link_direction);
        if !names_queue || !record.packet.backward || !link.direction.feedback.as_ref().is_some_and(is_due) {
            self.note(record, Fault::NoSuchMessage);
        }
        if let Some(state) = self.links.get_mut(&record.link_direction) {
            state.totals.messages += 1;
            state.totals.message_bytes += u64::from(record.size);
        }
        PacketLocation::At(tail)
    }

    /// Takes a packet that arrives at a link from the node before it.
    fn take_from_node(&mut self, record: &Record<'_>) -> Option<Packet> {
        let tail = self.topology.link(record.link_direction)?.tail;
        let ends = self.topology.ends(record.flow)?;
        let starts_here = ends.nodes[usize::from(record.packet.backward != record.reply)] == tail;
        let mut packet = self.take(record, |packet| match packet.place {
            PacketLocation::Sent => starts_here,
            PacketLocation::At(node) => node == tail,
            PacketLocation::Queue(_) | PacketLocation::Wire(..) => false,
        })?;
        if packet.since != self.now {
            self.note(record, Fault::Lingered { since: packet.since });
        }
        packet.origin = packet.origin.or(Some(tail));
        Some(packet)
    }

    fn on_queued(&mut self, record: &Record<'_>) {
        let Some(packet) = self.take_from_node(record) else { return };
        self.put(
            record.packet,
            Packet { place: PacketLocation::Queue(record.link_direction), since: self.now, ..packet },
        );
        let Some(state) = self.links.get_mut(&record.link_direction) else { return };
        state.enqueue(record);
        if self.is_overfull(record) {
            self.overfull = Some(record.link_direction);
        }
    }

    /// Returns true if the queue at the link of `record` exceeds its limit at that time.
    fn is_overfull(&mut self, record: &Record<'_>) -> bool {
        let state = self.links.get_mut(&record.link_direction).zip(self.topology.link(record.link_direction));
        state.is_some_and(|(state, link)| state.is_overfull(link.direction, record.time))
    }

    fn check_overfull(&mut self) {
        let Some(link) = self.overfull.take() else { return };
        let Some(state) = self.links.get(&link) else { return };
        let (packets, bytes) = state.held();
        self.add(Some(link), None, Fault::Overfull { packets, bytes });
    }

    fn on_transmitted(&mut self, record: &Record<'_>) {
        let queued = |packet: &Packet| packet.place == PacketLocation::Queue(record.link_direction);
        let waited = self.any_copy(record.packet, queued);
        let packet = if waited { self.take(record, queued) } else { self.take_from_node(record) };
        let (Some(packet), Some(link)) = (packet, self.topology.link(record.link_direction)) else { return };
        let Some(state) = self.links.get_mut(&record.link_direction) else { return };
        let mut faults = Vec::new();
        state.dequeue(record, waited, &mut faults);
        let due = state.transmit(record, link.direction, &mut faults);
        self.counts.transmitted += 1;
        self.put(
            record.packet,
            Packet {
                place: PacketLocation::Wire(record.link_direction, due),
                since: self.now,
                copy: false,
                ..packet
            },
        );
        for fault in faults {
            self.note(record, fault);
        }
    }

    /// Follows an impairment of the packet that just entered propagation.
    fn on_wire(&mut self, record: &Record<'_>) {
        let now = self.now;
        let entered = |packet: &Packet| {
            matches!(packet.place, PacketLocation::Wire(link, _) if link == record.link_direction)
                && packet.since == now
        };
        // A packet and its copy may both be damaged.
        let is_first_damage = record.step == Step::Corrupted
            && self.any_copy(record.packet, |packet| entered(packet) && !packet.damaged);
        let meant = |packet: &Packet| entered(packet) && !(is_first_damage && packet.damaged);
        // Of two that entered at the same time, the latter is meant.
        if let Some(copies) = self.packets.get_mut(&record.packet) {
            copies.reverse();
        }
        let taken = self.take(record, meant);
        if let Some(copies) = self.packets.get_mut(&record.packet) {
            copies.reverse();
        }
        let Some(packet) = taken else { return };
        let Some(state) = self.links.get_mut(&record.link_direction) else { return };
        match record.step {
            Step::Lost => {
                state.remove_lost(record.packet);
                state.totals.lost += 1;
                self.counts.lost += 1;
                self.counters.flow(packet.flow).dropped_or_lost += u64::from(packet.data);
            }
            Step::Corrupted => {
                state.totals.corrupted += 1;
                self.damage_is_vague |= packet.twin;
                self.put(record.packet, Packet { damaged: true, ..packet });
            }
            _ => {
                state.copy(record.packet);
                state.totals.duplicated += 1;
                self.counts.duplicated += 1;
                self.counters.flow(packet.flow).copied += u64::from(packet.data);
                self.put(record.packet, Packet { twin: true, ..packet });
                self.put(record.packet, Packet { twin: true, copy: true, ..packet });
            }
        }
    }

    fn on_arrived(&mut self, record: &Record<'_>) {
        let now = self.now;
        let due_here = |packet: &Packet| match packet.place {
            PacketLocation::Wire(link, due) if link == record.link_direction => Some(due),
            _ => None,
        };
        // Takes the copy with the earliest deadline among those that may arrive now; if none may, any.
        let copies = self.packets.get(&record.packet).into_iter().flatten();
        let latest = copies.filter_map(due_here).filter(|due| due.allows(now)).map(|due| due.latest()).min();
        let packet = self.take(record, |packet| {
            due_here(packet)
                .is_some_and(|due| latest.is_none_or(|latest| due.allows(now) && due.latest() == latest))
        });
        let (Some(packet), Some(link)) = (packet, self.topology.link(record.link_direction)) else { return };
        let head = link.head;
        let PacketLocation::Wire(_, due) = packet.place else { return };
        let Some(state) = self.links.get_mut(&record.link_direction) else { return };
        let mut faults = Vec::new();
        state.arrive(record, due, &mut faults);
        if !packet.copy {
            state.spend(record, packet.since, due, &mut faults);
        }
        for fault in faults {
            self.note(record, fault);
        }
        let is_end = self.topology.ends(record.flow).is_some_and(|ends| ends.nodes.contains(&head));
        if packet.damaged && is_end && packet.origin != Some(head) {
            // Its endpoint detects the damage and drops it, without a record.
            self.counts.damaged += 1;
            self.counters.flow(packet.flow).dropped_or_lost += u64::from(packet.data);
            return;
        }
        self.put(record.packet, Packet { place: PacketLocation::At(head), since: now, ..packet });
    }

    fn on_dropped(&mut self, record: &Record<'_>) {
        self.counts.dropped += 1;
        let counters = self.counters.flow(record.flow);
        counters.queue_drops += u64::from(record.packet.router.is_none());
        if record.link_direction == u32::MAX {
            // The host is overloaded.
            let at_node = |packet: &Packet| matches!(packet.place, PacketLocation::At(_));
            let is_there = self.any_copy(record.packet, at_node);
            if !is_there && self.counts.damaged > 0 {
                // It was damaged, not yet detected; its twin may be elsewhere.
                self.counts.damaged -= 1;
            } else if let Some(packet) = self.take(record, at_node) {
                self.counters.flow(packet.flow).dropped_or_lost += u64::from(packet.data);
            }
            return;
        }
        let waited = self.take(record, |packet| packet.place == PacketLocation::Queue(record.link_direction));
        let Some(packet) = waited else { return };
        self.counters.flow(packet.flow).dropped_or_lost += u64::from(packet.data);
        let Some(state) = self.links.get_mut(&record.link_direction) else { return };
        state.drop_waiting(record.packet, self.counts.duplicated > 0);
        state.totals.dropped += 1;
        if self.overfull == Some(record.link_direction) && !self.is_overfull(record) {
            self.overfull = None;
        }
    }

    /// Checks a filtered acknowledgement: another one waiting in the queue must supersede it.
    fn on_filtered(&mut self, record: &Record<'_>) {
        self.counts.dropped += 1;
        let Some(packet) =
            self.take(record, |packet| packet.place == PacketLocation::Queue(record.link_direction))
        else {
            return;
        };
        let filters = self.topology.link(record.link_direction).map(|link| link.direction.ack_filter);
        let is_ack = matches!(record.pdu, Pdu::Window(window::Pdu::Ack(_)));
        if !is_ack || packet.data || filters.is_none_or(|filter| filter == AckFilter::None) {
            self.note(record, Fault::NotFiltered);
        }
        let Some(state) = self.links.get_mut(&record.link_direction) else { return };
        state.drop_waiting(record.packet, self.counts.duplicated > 0);
        state.totals.filtered += 1;
        if self.overfull == Some(record.link_direction) && !self.is_overfull(record) {
            self.overfull = None;
        }
    }

    fn on_delivered(&mut self, record: &Record<'_>) {
        let Some(ends) = self.topology.ends(record.flow) else { return };
        self.counts.delivered += 1;
        let at_node = |packet: &Packet| matches!(packet.place, PacketLocation::At(_));
        let is_there = self.any_copy(record.packet, at_node);
        if !is_there && self.damage_is_vague && self.counts.damaged > 0 {
            // Its twin was the damaged one.
            self.counts.damaged -= 1;
            return;
        }
        let Some(packet) = self.take(record, at_node) else { return };
        self.counters.deliver(record);
        let PacketLocation::At(node) = packet.place else { return };
        let end = ends.nodes.iter().position(|end| *end == node && packet.origin != Some(node));
        // Messages address data senders.
        let misses = |end: usize| record.packet.router.is_some() && end != usize::from(record.reply);
        match end {
            Some(end) if misses(end) => self.note(record, Fault::WrongDestination),
            None => self.note(record, Fault::WrongDestination),
            Some(end) if !ends.has_processing_cost[end] && packet.since != self.now && !packet.twin => {
                self.note(record, Fault::Lingered { since: packet.since });
            }
            Some(_) => {}
        }
    }

    /// Reports packets that should have arrived before the end of the run.
    fn check_overdue(&mut self, end_time: Time) {
        self.now = self.now.max(end_time);
        let end_time = self.now;
        let mut late = Vec::new();
        for (id, packet) in
            self.packets.iter().flat_map(|(id, copies)| copies.iter().map(move |copy| (*id, copy)))
        {
            match packet.place {
                PacketLocation::Wire(link, due) if due.latest() < end_time => {
                    late.push((Some(link), id, Fault::Overdue { due: due.latest() }));
                }
                PacketLocation::Sent if packet.since < end_time => {
                    late.push((None, id, Fault::Lingered { since: packet.since }));
                }
                _ => {}
            }
        }
        for (link, id, fault) in late {
            self.add(link, Some(id), fault);
        }
    }

    /// Checks the counts of the result.
    fn check_counts(&mut self, result: &RunResult) {
        let (run, replay) = (result.conservation, self.counts);
        let mut counts = vec![
            ("packets sent", run.sent, replay.sent),
            ("packets duplicated", run.duplicated, replay.duplicated),
            ("packets delivered", run.delivered, replay.delivered),
            ("packets dropped", run.dropped, replay.dropped),
            (
                "packets lost or under way",
                run.lost + run.in_network,
                replay.lost + replay.damaged + replay.in_network,
            ),
            ("packets that left a transmitter", result.hops, replay.transmitted),
        ];
        if !self.topology.has_processing_hosts() && !self.damage_is_vague {
            // Such hosts detect damage some time after the arrival.
            counts.push(("packets lost", run.lost, replay.lost + replay.damaged));
        }
        for (what, result, replay) in counts {
            if result != replay {
                self.add(None, None, Fault::Miscounted { what, result, replay });
            }
        }
        // A run interrupted during the warm-up has no counts.
        if self.is_counting {
            self.check_links(result);
            self.check_flows(result);
        }
    }

    /// Checks the results of flows, and that each group's packets are accounted for.
    fn check_flows(&mut self, result: &RunResult) {
        if self.damage_is_vague {
            return;
        }
        for (flow, reported) in (0..).zip(&result.flows) {
            let Some(ends) = self.topology.ends(flow) else { continue };
            let in_host_processing = ends.has_processing_cost.iter().filter(|&&work| work).count() as u64;
            for (what, result, replay) in self.counters.differences(
                flow,
                reported,
                in_host_processing,
                self.topology.delivers_on_arrival(flow),
            ) {
                let place = format!("flow `{}`", reported.name);
                self.add_at(place, Fault::Miscounted { what, result, replay });
            }
        }
        let mut in_network = vec![0; self.topology.groups().len()];
        for packet in self.packets.values().flatten().filter(|packet| packet.data) {
            if let Some(group) = self.topology.group_of(packet.flow) {
                in_network[group] += 1;
            }
        }
        let groups: Vec<_> = self.topology.groups().collect();
        for ((name, first, count), in_network) in groups.into_iter().zip(in_network) {
            let (sent_and_copied, delivered_or_lost) = self.counters.group_totals(first, count);
            if sent_and_copied != delivered_or_lost + in_network {
                let (what, result) = ("data packets that went somewhere", sent_and_copied);
                let fault = Fault::Miscounted { what, result, replay: delivered_or_lost + in_network };
                self.add_at(format!("group `{name}`"), fault);
            }
        }
    }

    fn check_links(&mut self, result: &RunResult) {
        for (number, link) in (0..).zip(result.links.iter().take(self.topology.core_links())) {
            let totals = self.links.get(&number).map(|state| state.totals).unwrap_or_default();
            for (what, result, replay) in [
                ("packets transmitted", link.packets, totals.packets),
                ("bytes transmitted", link.bytes.get(), totals.bytes),
                ("packets dropped", link.drops_full + link.drops_early, totals.dropped),
                ("acknowledgements filtered", link.filtered, totals.filtered),
                ("packets lost", link.losses, totals.lost),
                ("packets damaged", link.corrupted, totals.corrupted),
                ("packets duplicated", link.duplicated, totals.duplicated),
                ("messages", link.feedback, totals.messages),
                ("bytes of messages", link.feedback_bytes.get(), totals.message_bytes),
            ] {
                if result != replay {
                    self.add(Some(number), None, Fault::Miscounted { what, result, replay });
                }
            }
        }
    }
}
