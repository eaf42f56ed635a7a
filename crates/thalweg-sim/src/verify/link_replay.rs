//! Replayed state of one direction of a link.

use super::numbered_topology::{
    Budget, has_unmodelled_delay, keeps_order, limit_and_order, max_extra_delay, max_rate, max_reorder_delay,
    service_time, wire_size,
};
use super::violation::Fault;
use crate::Pdu;
use crate::packet_trace::{PacketId, Record};
use crate::simulation_spec::{DirectionSpec, Framing};
use std::collections::VecDeque;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_queue::Limit;

/// Permitted arrival times of a packet: one of two (two if the link changed at the moment of transmission), or up to
/// `hold` later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArrivalTimes {
    earlier: Time,
    later: Time,
    hold: Duration,
    /// True if these are only the earliest times: a capacity trace, token bucket, wake-up delay or periodic variation
    /// may add to them.
    is_open: bool,
}

impl ArrivalTimes {
    pub fn allows(&self, time: Time) -> bool {
        if self.is_open {
            return time >= self.earlier;
        }
        time == self.earlier
            || time == self.later
            || !self.hold.is_zero() && time >= self.earlier && time <= self.later + self.hold
    }

    /// Returns the latest time; never, if unknown.
    pub fn latest(&self) -> Time {
        if self.is_open { Time::MAX } else { self.later + self.hold }
    }
}

/// Totals of one direction, over the whole run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub packets: u64,
    pub bytes: u64,
    pub dropped: u64,
    pub filtered: u64,
    pub lost: u64,
    pub corrupted: u64,
    pub duplicated: u64,
    /// Messages sent by its router for its queue.
    pub messages: u64,
    pub message_bytes: u64,
}

impl Totals {
    /// Resets the counts.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Rate, delay and hold of a link between two changes.
#[derive(Clone, Copy, Debug)]
struct Setting {
    rate: Rate,
    delay: Duration,
    hold: Duration,
}

#[derive(Clone, Copy, Debug)]
struct WaitingPacket {
    packet: PacketId,
    size: u32,
    urgent: bool,
    /// True if a copy of it was dropped from this queue: the position is one of two.
    vague: bool,
}

/// State of a direction: its queue, and its packets in propagation if they keep their order.
#[derive(Clone, Debug)]
pub(super) struct LinkState {
    pub totals: Totals,
    limit: Limit,
    fifo: bool,
    /// Number of past changes.
    past: usize,
    /// Number of past changes of the limit.
    resized: usize,
    setting: Setting,
    /// Earliest idle time of the transmitter.
    free_at: Time,
    waiting_packets: VecDeque<WaitingPacket>,
    /// Number of urgent or vague packets: without any, the queue need not be searched.
    special: usize,
    bytes: u64,
    wire: Option<VecDeque<PacketId>>,
    budget: Option<Budget>,
    framing: Framing,
}

impl LinkState {
    pub fn new(direction: &DirectionSpec) -> Self {
        let (limit, fifo) = limit_and_order(direction);
        Self {
            totals: Totals::default(),
            limit,
            fifo,
            past: 0,
            resized: 0,
            setting: Setting {
                rate: max_rate(direction),
                delay: direction.delay,
                hold: max_reorder_delay(&direction.impairment) + max_extra_delay(direction),
            },
            free_at: Time::ZERO,
            waiting_packets: VecDeque::new(),
            special: 0,
            bytes: 0,
            wire: keeps_order(direction).then(VecDeque::new),
            budget: direction.capacity.as_ref().map(Budget::new),
            framing: direction.framing,
        }
    }

    pub fn enqueue(&mut self, record: &Record<'_>) {
        let urgent = matches!(record.pdu, Pdu::Feedback(_));
        self.waiting_packets.push_back(WaitingPacket {
            packet: record.packet,
            size: record.size,
            urgent,
            vague: false,
        });
        self.special += usize::from(urgent);
        self.bytes += u64::from(record.size);
    }

    /// Returns the waiting packets and bytes.
    pub fn held(&self) -> (u64, Bytes) {
        (self.waiting_packets.len() as u64, Bytes::new(self.bytes))
    }

    /// Returns true if the queue exceeds its limit at `now`. If the limit changes at that time, the larger one applies.
    pub fn is_overfull(&mut self, direction: &DirectionSpec, now: Time) -> bool {
        let limits = direction.schedule.get(self.resized..).unwrap_or(&[]);
        let past = limits.iter().take_while(|change| change.at < now);
        let (count, last) = past.fold((0, None), |(count, last), change| (count + 1, change.queue.or(last)));
        self.resized += count;
        self.limit = last.unwrap_or(self.limit);
        let rest = &direction.schedule[self.resized..];
        let at_once = rest.iter().take_while(|change| change.at == now).filter_map(|change| change.queue);
        self.exceeds(self.limit) && at_once.into_iter().all(|limit| self.exceeds(limit))
    }

    fn exceeds(&self, limit: Limit) -> bool {
        match limit {
            Limit::Packets(limit) => self.waiting_packets.len() as u64 > limit,
            Limit::Bytes(limit) => self.bytes > limit,
            Limit::Unlimited => false,
        }
    }

    fn remove(&mut self, packet: PacketId) {
        let found = self.waiting_packets.iter().position(|waiting| waiting.packet == packet);
        if let Some(waiting) = found.and_then(|index| self.waiting_packets.remove(index)) {
            self.special -= usize::from(waiting.urgent || waiting.vague);
            self.bytes -= u64::from(waiting.size);
        }
    }

    /// Drops a waiting packet; `copied` means that there may be copies of it.
    pub fn drop_waiting(&mut self, packet: PacketId, copied: bool) {
        let is_last = self.waiting_packets.back().is_some_and(|last| last.packet == packet);
        if is_last && !copied {
            // Common case, without a search: the arrival that found a full queue.
            let last = self.waiting_packets.pop_back();
            self.special -= usize::from(last.is_some_and(|last| last.urgent || last.vague));
            self.bytes -= last.map_or(0, |last| u64::from(last.size));
            return;
        }
        self.remove(packet);
        if copied {
            for copy in self.waiting_packets.iter_mut().filter(|waiting| waiting.packet == packet) {
                self.special += usize::from(!copy.urgent && !copy.vague);
                copy.vague = true;
            }
        }
    }

    /// Removes a packet that leaves the queue or bypasses it.
    pub fn dequeue(&mut self, record: &Record<'_>, waited: bool, faults: &mut Vec<Fault>) {
        let mut certain = self.waiting_packets.iter().filter(|waiting| !waiting.vague);
        let urgent = if self.special > 0 { certain.clone().find(|waiting| waiting.urgent) } else { None };
        let first = urgent.or_else(|| certain.next());
        let is_vague = || {
            self.special > 0
                && self.waiting_packets.iter().any(|waiting| waiting.vague && waiting.packet == record.packet)
        };
        if let Some(first) = first.filter(|first| self.fifo && first.packet != record.packet)
            && !is_vague()
        {
            faults.push(Fault::PassedInQueue { before: first.packet });
        }
        if waited {
            self.remove(record.packet);
        }
    }

    /// Starts a transmission; returns when the packet is due at the far end.
    pub fn transmit(
        &mut self,
        record: &Record<'_>,
        direction: &DirectionSpec,
        faults: &mut Vec<Fault>,
    ) -> ArrivalTimes {
        let now = record.time;
        self.totals.packets += 1;
        self.totals.bytes += u64::from(record.size);
        if let Some(wire) = &mut self.wire {
            wire.push_back(record.packet);
        }
        if now < self.free_at {
            faults.push(Fault::AboveRate { free_at: self.free_at });
        }
        let traced = self.budget.is_some();
        let open = traced || has_unmodelled_delay(direction);
        let mut due: Option<ArrivalTimes> = None;
        let mut free_at = Time::MAX;
        for setting in self.settings(direction, now) {
            let service = if traced {
                Some(Duration::ZERO)
            } else {
                service_time(setting.rate, self.framing, record.size)
            };
            let Some(service) = service else { continue };
            let (leaves, hold) = (now + service, setting.hold);
            free_at = free_at.min(leaves);
            let arrives = leaves + setting.delay;
            due = Some(due.map_or(
                ArrivalTimes { earlier: arrives, later: arrives, hold, is_open: open },
                |due| ArrivalTimes {
                    earlier: due.earlier.min(arrives),
                    later: due.later.max(arrives),
                    hold: due.hold.max(hold),
                    is_open: open,
                },
            ));
        }
        let Some(due) = due else {
            faults.push(Fault::Outage);
            return ArrivalTimes { earlier: now, later: Time::MAX, hold: Duration::ZERO, is_open: open };
        };
        self.free_at = self.free_at.max(free_at);
        due
    }

    /// Returns the settings possible at `now`: several if changes are made at that time.
    fn settings(&mut self, direction: &DirectionSpec, now: Time) -> Vec<Setting> {
        let applied = |setting: Setting, index: usize| {
            let change = &direction.schedule[index];
            Setting {
                rate: change.rate.unwrap_or(setting.rate),
                delay: change.delay.unwrap_or(setting.delay),
                hold: change
                    .impairment
                    .as_ref()
                    .map_or(setting.hold, |wire| max_reorder_delay(wire) + max_extra_delay(direction)),
            }
        };
        while direction.schedule.get(self.past).is_some_and(|change| change.at < now) {
            self.setting = applied(self.setting, self.past);
            self.past += 1;
        }
        let mut settings = vec![self.setting];
        let mut next = self.past;
        while direction.schedule.get(next).is_some_and(|change| change.at == now) {
            settings.push(applied(settings[settings.len() - 1], next));
            next += 1;
        }
        settings
    }

    pub fn remove_lost(&mut self, packet: PacketId) {
        if let Some(wire) = &mut self.wire
            && let Some(index) = wire.iter().rposition(|on_wire| *on_wire == packet)
        {
            wire.remove(index);
        }
    }

    pub fn copy(&mut self, packet: PacketId) {
        if let Some(wire) = &mut self.wire {
            wire.push_back(packet);
        }
    }

    /// Checks the arrival of a packet.
    pub fn arrive(&mut self, record: &Record<'_>, due: ArrivalTimes, faults: &mut Vec<Fault>) {
        if !due.allows(record.time) {
            faults.push(Fault::WrongArrival { from: due.earlier, to: due.latest() });
        }
        if let Some(wire) = &mut self.wire
            && let Some(index) = wire.iter().position(|on_wire| *on_wire == record.packet)
        {
            if index > 0 {
                faults.push(Fault::PassedOnWire { before: wire[0] });
            }
            wire.remove(index);
        }
    }

    /// Accounts for the capacity used by a packet whose transmission started at `start`. This is impossible on links
    /// that reorder packets.
    pub fn spend(&mut self, record: &Record<'_>, start: Time, due: ArrivalTimes, faults: &mut Vec<Fault>) {
        if let (Some(budget), Some(_)) = (&mut self.budget, &self.wire) {
            let left = record.time - due.earlier.since(start);
            if !budget.permits(start, left, wire_size(self.framing, record.size)) {
                faults.push(Fault::AboveCapacity { left });
            }
        }
    }
}
