//! The state of one direction of a link, as a replay knows it.

use super::plan::{Budget, fastest, framed, held, hold, is_open, keeps_order, promise, service_time};
use super::violation::Fault;
use crate::Pdu;
use crate::spec::{DirectionSpec, Framing};
use crate::trace::{PacketId, Record};
use std::collections::VecDeque;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_queue::Limit;

/// The times at which a packet on a wire may arrive: one of two (two where the link changed at the moment of
/// transmission), or up to `hold` later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    earlier: Time,
    later: Time,
    hold: Duration,
    /// The times are the earliest: a capacity trace, a bucket, a sleep or a rhythm says the rest.
    open: bool,
}

impl Due {
    pub fn allows(&self, time: Time) -> bool {
        if self.open {
            return time >= self.earlier;
        }
        time == self.earlier
            || time == self.later
            || !self.hold.is_zero() && time >= self.earlier && time <= self.later + self.hold
    }

    /// The latest time; never, where none is known.
    pub fn latest(&self) -> Time {
        if self.open { Time::MAX } else { self.later + self.hold }
    }
}

/// The totals of one direction, over the whole run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub packets: u64,
    pub bytes: u64,
    pub dropped: u64,
    pub filtered: u64,
    pub lost: u64,
    pub corrupted: u64,
    pub duplicated: u64,
    /// Messages that its router sent because of its queue.
    pub messages: u64,
    pub message_bytes: u64,
}

impl Totals {
    /// Forgets what was counted.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// The rate, delay and hold of a link between two changes.
#[derive(Clone, Copy, Debug)]
struct Setting {
    rate: Rate,
    delay: Duration,
    hold: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: PacketId,
    size: u32,
    urgent: bool,
    /// A copy of it was dropped from this queue: it is at one of two places.
    vague: bool,
}

/// The state of a direction: its queue, and its wire where that keeps the order.
#[derive(Clone, Debug)]
pub(super) struct LinkState {
    pub totals: Totals,
    limit: Limit,
    fifo: bool,
    /// Changes that are past.
    past: usize,
    /// Changes of whose limit the same holds.
    resized: usize,
    setting: Setting,
    /// The transmitter is busy until then, at least.
    free_at: Time,
    waiting: VecDeque<Waiting>,
    /// The number of those that are urgent or vague: where none is, the queue need not be searched.
    special: usize,
    bytes: u64,
    wire: Option<VecDeque<PacketId>>,
    budget: Option<Budget>,
    framing: Framing,
}

impl LinkState {
    pub fn new(direction: &DirectionSpec) -> Self {
        let (limit, fifo) = promise(direction);
        Self {
            totals: Totals::default(),
            limit,
            fifo,
            past: 0,
            resized: 0,
            setting: Setting {
                rate: fastest(direction),
                delay: direction.delay,
                hold: hold(&direction.impairment) + held(direction),
            },
            free_at: Time::ZERO,
            waiting: VecDeque::new(),
            special: 0,
            bytes: 0,
            wire: keeps_order(direction).then(VecDeque::new),
            budget: direction.capacity.as_ref().map(Budget::new),
            framing: direction.framing,
        }
    }

    pub fn enqueue(&mut self, record: &Record<'_>) {
        let urgent = matches!(record.pdu, Pdu::Feedback(_));
        self.waiting.push_back(Waiting { packet: record.packet, size: record.size, urgent, vague: false });
        self.special += usize::from(urgent);
        self.bytes += u64::from(record.size);
    }

    /// Packets and bytes that wait.
    pub fn held(&self) -> (u64, Bytes) {
        (self.waiting.len() as u64, Bytes::new(self.bytes))
    }

    /// True if more waits at `now` than the queue may hold. Where its limit changes at that very time, the larger one counts.
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
            Limit::Packets(limit) => self.waiting.len() as u64 > limit,
            Limit::Bytes(limit) => self.bytes > limit,
            Limit::Unlimited => false,
        }
    }

    fn remove(&mut self, packet: PacketId) {
        let found = self.waiting.iter().position(|waiting| waiting.packet == packet);
        if let Some(waiting) = found.and_then(|index| self.waiting.remove(index)) {
            self.special -= usize::from(waiting.urgent || waiting.vague);
            self.bytes -= u64::from(waiting.size);
        }
    }

    /// A packet that waits is dropped; `copied` says that there may be copies of it.
    pub fn drop_waiting(&mut self, packet: PacketId, copied: bool) {
        let is_last = self.waiting.back().is_some_and(|last| last.packet == packet);
        if is_last && !copied {
            // The usual case, without a search: the arrival that found no room.
            let last = self.waiting.pop_back();
            self.special -= usize::from(last.is_some_and(|last| last.urgent || last.vague));
            self.bytes -= last.map_or(0, |last| u64::from(last.size));
            return;
        }
        self.remove(packet);
        if copied {
            for copy in self.waiting.iter_mut().filter(|waiting| waiting.packet == packet) {
                self.special += usize::from(!copy.urgent && !copy.vague);
                copy.vague = true;
            }
        }
    }

    /// A packet leaves the queue, or goes past it.
    pub fn dequeue(&mut self, record: &Record<'_>, waited: bool, faults: &mut Vec<Fault>) {
        let mut certain = self.waiting.iter().filter(|waiting| !waiting.vague);
        let urgent = if self.special > 0 { certain.clone().find(|waiting| waiting.urgent) } else { None };
        let first = urgent.or_else(|| certain.next());
        let is_vague = || {
            self.special > 0
                && self.waiting.iter().any(|waiting| waiting.vague && waiting.packet == record.packet)
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

    /// A transmitter begins; tells when the packet is due at the far end.
    pub fn transmit(
        &mut self,
        record: &Record<'_>,
        direction: &DirectionSpec,
        faults: &mut Vec<Fault>,
    ) -> Due {
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
        let open = traced || is_open(direction);
        let mut due: Option<Due> = None;
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
            due = Some(due.map_or(Due { earlier: arrives, later: arrives, hold, open }, |due| Due {
                earlier: due.earlier.min(arrives),
                later: due.later.max(arrives),
                hold: due.hold.max(hold),
                open,
            }));
        }
        let Some(due) = due else {
            faults.push(Fault::Outage);
            return Due { earlier: now, later: Time::MAX, hold: Duration::ZERO, open };
        };
        self.free_at = self.free_at.max(free_at);
        due
    }

    /// The settings that may hold at `now`: more than one where changes are made at that very time.
    fn settings(&mut self, direction: &DirectionSpec, now: Time) -> Vec<Setting> {
        let applied = |setting: Setting, index: usize| {
            let change = &direction.schedule[index];
            Setting {
                rate: change.rate.unwrap_or(setting.rate),
                delay: change.delay.unwrap_or(setting.delay),
                hold: change.impairment.as_ref().map_or(setting.hold, |wire| hold(wire) + held(direction)),
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

    pub fn lose(&mut self, packet: PacketId) {
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

    /// A packet arrives.
    pub fn arrive(&mut self, record: &Record<'_>, due: Due, faults: &mut Vec<Fault>) {
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

    /// A packet that began its transmission at `start` has used the capacity of the link. Where packets arrive in another
    /// order than they left, this cannot be followed.
    pub fn spend(&mut self, record: &Record<'_>, start: Time, due: Due, faults: &mut Vec<Fault>) {
        if let (Some(budget), Some(_)) = (&mut self.budget, &self.wire) {
            let left = record.time - due.earlier.since(start);
            if !budget.lets(start, left, framed(self.framing, record.size)) {
                faults.push(Fault::AboveCapacity { left });
            }
        }
    }
}
