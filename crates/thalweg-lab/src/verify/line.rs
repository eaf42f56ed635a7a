//! One direction of a link, as the specification promises it.

use std::collections::VecDeque;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_queue::{DisciplineSpec, Limit};
use thalweg_sim::spec::{Change, DirectionSpec, Spec};
use thalweg_sim::trace::PacketId;

/// What a direction promises, and what is in it.
#[derive(Debug)]
pub(super) struct Line {
    name: String,
    rate: Rate,
    /// A capacity trace rules in place of the rate.
    traced: bool,
    delay: Duration,
    /// How much longer than the delay a packet may take.
    slack: Duration,
    /// Changes that are yet to come.
    changes: VecDeque<Change>,
    limit: Limit,
    queue: VecDeque<PacketId>,
    queued_bytes: u64,
    free_at: Time,
}

impl Line {
    /// The directions of all links of `spec`, numbered as in traces.
    pub(super) fn all(spec: &Spec) -> Vec<Self> {
        let node = |id: thalweg_sim::spec::NodeId| {
            spec.nodes.get(id.0 as usize).map_or("?", |node| node.name.as_str())
        };
        let both = |link: &thalweg_sim::spec::LinkSpec| {
            let (a, b) = (node(link.a), node(link.b));
            [
                Self::new(format!("{} {a}->{b}", link.name), &link.forward),
                Self::new(format!("{} {b}->{a}", link.name), &link.backward),
            ]
        };
        spec.links.iter().flat_map(both).collect()
    }

    fn new(name: String, spec: &DirectionSpec) -> Self {
        let limit = match spec.queue {
            // Random drop decides who is dropped, not who goes first.
            DisciplineSpec::Fcfs { limit } | DisciplineSpec::RandomDrop { limit } => limit,
        };
        let changed = spec.schedule.iter().filter_map(|change| change.impairment.as_ref());
        let reorders =
            core::iter::once(&spec.impairment).chain(changed).filter_map(|impairment| impairment.reorder);
        Self {
            name,
            rate: spec.rate,
            traced: spec.capacity.is_some(),
            delay: spec.delay,
            slack: reorders.map(|reorder| reorder.delay).max().unwrap_or(Duration::ZERO),
            changes: spec.schedule.iter().cloned().collect(),
            limit,
            queue: VecDeque::new(),
            queued_bytes: 0,
            free_at: Time::ZERO,
        }
    }

    pub(super) fn name(&self) -> String {
        self.name.clone()
    }

    /// A packet begins to wait.
    pub(super) fn join_queue(&mut self, packet: PacketId, size: u32) {
        self.queue.push_back(packet);
        self.queued_bytes += u64::from(size);
    }

    /// A waiting packet is dropped.
    pub(super) fn drop_queued(&mut self, packet: PacketId, size: u32) {
        // The arrival is the usual victim, so look from the end.
        if let Some(position) = self.queue.iter().rposition(|waiting| *waiting == packet) {
            self.queue.remove(position);
            self.queued_bytes = self.queued_bytes.saturating_sub(u64::from(size));
        }
    }

    /// A packet is transmitted, after it `waited` or at once. False if it overtook another; `urgent` ones may.
    pub(super) fn leave_queue(&mut self, packet: PacketId, size: u32, waited: bool, urgent: bool) -> bool {
        let first = self.queue.front() == Some(&packet);
        if !waited {
            return self.queue.is_empty() || urgent;
        }
        let position = if first { Some(0) } else { self.queue.iter().position(|waiting| *waiting == packet) };
        if let Some(position) = position {
            self.queue.remove(position);
            self.queued_bytes = self.queued_bytes.saturating_sub(u64::from(size));
        }
        first || urgent
    }

    pub(super) fn is_overfull(&self) -> bool {
        match self.limit {
            Limit::Packets(most) => self.queue.len() as u64 > most,
            Limit::Bytes(most) => self.queued_bytes > most,
            Limit::Unlimited => false,
        }
    }

    /// A packet enters the transmitter. False if that was not free, or stands still.
    pub(super) fn begin(&mut self, now: Time, size: u32) -> bool {
        while self.changes.front().is_some_and(|change| change.at <= now) {
            let Some(change) = self.changes.pop_front() else { break };
            self.rate = change.rate.unwrap_or(self.rate);
            self.delay = change.delay.unwrap_or(self.delay);
        }
        if self.traced {
            return true;
        }
        let free = now >= self.free_at && !self.rate.is_zero();
        self.free_at = now + self.service(size);
        free
    }

    /// When a packet that enters the transmitter now is due at the far end.
    pub(super) fn due(&self, now: Time, size: u32) -> Option<(Time, Time)> {
        let first = now + self.service(size) + self.delay;
        (!self.traced).then_some((first, first + self.slack))
    }

    fn service(&self, size: u32) -> Duration {
        if self.rate == Rate::MAX {
            Duration::ZERO
        } else {
            self.rate.transmission_time(Bytes::new(u64::from(size)))
        }
    }
}
