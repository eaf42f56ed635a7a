//! Contract enforcement for external disciplines ([`Discipline`]).
//!
//! External disciplines are untrusted: a wrapper counts enqueued and dequeued packets. A discipline that miscounts,
//! returns packets that it does not hold, withholds packets from a free line, or panics is disabled from then on, and
//! the violation is [reported](crate::Any::violation) to the caller. Disciplines of this crate are tested for the
//! contract, and have no overhead. Packets are counted because the run's own check, that packets are conserved, fails
//! at the end and names neither the discipline nor the packet.

use crate::discipline_config::{ErasedConfig, Queue};
use crate::{Discipline, DropReason, DroppedPacket, Entry, Limit, RandomStreams};
use core::fmt;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_proto::units::{Rate, Time};

/// Contract violation of an external discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContractViolation {
    /// Name of the discipline.
    pub discipline: &'static str,
    /// Kind of violation.
    pub kind: ViolationKind,
}

/// Kind of violation of the [`Discipline`] contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViolationKind {
    /// Panic.
    Panicked,
    /// Wrong number of queued packets.
    Packets {
        /// Reported number.
        reported: u64,
        /// Actual number: enqueued packets that were neither dequeued nor dropped.
        held: u64,
    },
    /// Wrong number of queued bytes.
    Bytes {
        /// Reported number.
        reported: u64,
        /// Actual number of bytes.
        held: u64,
    },
    /// A packet was dequeued or dropped that is not in the queue.
    NotHeld,
    /// A packet was dequeued or dropped with a changed size.
    Resized,
    /// No packet was returned for a free line, although the queue is not empty.
    Withheld {
        /// Number of queued packets.
        held: u64,
    },
}

impl fmt::Display for ContractViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the discipline `{}` ", self.discipline)?;
        match self.kind {
            ViolationKind::Panicked => f.write_str("panicked"),
            ViolationKind::Packets { reported, held } => {
                write!(f, "reports {reported} packets where {held} are queued")
            }
            ViolationKind::Bytes { reported, held } => {
                write!(f, "reports {reported} bytes where {held} are queued")
            }
            ViolationKind::NotHeld => f.write_str("dequeued a packet that it does not hold"),
            ViolationKind::Resized => f.write_str("dequeued a packet with another size"),
            ViolationKind::Withheld { held } => {
                write!(f, "dequeued no packet for an idle link although {held} are queued")
            }
        }
    }
}

/// Untrusted discipline.
#[derive(Debug)]
pub(crate) struct ExternalQueue {
    /// Wrapped discipline; `None` if it could not be created.
    inner: Option<Box<dyn Queue>>,
    discipline: &'static str,
    /// Sizes of the queued packets.
    packet_sizes: BTreeMap<u32, u32>,
    bytes: u64,
    violation: Option<ContractViolation>,
}

impl ExternalQueue {
    /// Wraps the discipline of `config`, named `by`.
    pub fn new(
        by: &'static str,
        config: &dyn ErasedConfig,
        limit: Limit,
        streams: RandomStreams<'_>,
    ) -> Self {
        let made = catch_unwind(AssertUnwindSafe(|| config.make(limit, streams)));
        let mut queue = Self {
            inner: made.ok(),
            discipline: by,
            packet_sizes: BTreeMap::new(),
            bytes: 0,
            violation: None,
        };
        if queue.inner.is_none() {
            queue.fail(ViolationKind::Panicked);
        }
        queue
    }

    /// Returns the first violation.
    pub const fn violation(&self) -> Option<ContractViolation> {
        self.violation
    }

    fn fail(&mut self, kind: ViolationKind) {
        self.violation = self.violation.or(Some(ContractViolation { discipline: self.discipline, kind }));
    }

    /// Calls the discipline, unless it has violated its contract before.
    fn guard<R>(&mut self, act: impl FnOnce(&mut dyn Queue) -> R) -> Option<R> {
        let inner = self.inner.as_mut().filter(|_| self.violation.is_none())?;
        let done = catch_unwind(AssertUnwindSafe(|| act(&mut **inner))).ok();
        if done.is_none() {
            self.fail(ViolationKind::Panicked);
        }
        done
    }

    /// Removes a packet from the records.
    fn release(&mut self, entry: &Entry) {
        match self.packet_sizes.remove(&entry.packet) {
            None => self.fail(ViolationKind::NotHeld),
            Some(size) if size != entry.size => self.fail(ViolationKind::Resized),
            Some(size) => self.bytes -= u64::from(size),
        }
    }

    /// Compares the discipline's counts with the actual ones.
    fn check_counts(&mut self) {
        let Some((packets, bytes)) = self.guard(|queue| (queue.packets(), queue.bytes())) else { return };
        let held = self.packet_sizes.len() as u64;
        if packets != held {
            self.fail(ViolationKind::Packets { reported: packets, held });
        } else if bytes != self.bytes {
            self.fail(ViolationKind::Bytes { reported: bytes, held: self.bytes });
        }
    }

    /// Checks the drops after the first `before`. Discards drops reported by a discipline that violated its contract.
    fn account(&mut self, dropped: &mut Vec<DroppedPacket>, before: usize) {
        for victim in dropped.iter().skip(before) {
            self.release(&victim.entry);
        }
        self.check_counts();
        if self.violation.is_some() {
            dropped.truncate(before);
        }
    }
}

impl Discipline for ExternalQueue {
    fn enqueue(&mut self, now: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
        let before = dropped.len();
        self.packet_sizes.insert(entry.packet, entry.size);
        self.bytes += u64::from(entry.size);
        let _ = self.guard(|queue| queue.enqueue(now, entry, dropped));
        self.account(dropped, before);
        if self.violation.is_some() {
            dropped.push(DroppedPacket { entry, reason: DropReason::Full });
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<DroppedPacket>) -> Option<Entry> {
        let before = dropped.len();
        let entry = self.guard(|queue| queue.dequeue(now, dropped)).flatten();
        if let Some(entry) = &entry {
            self.release(entry);
        }
        self.account(dropped, before);
        if entry.is_none() && !self.packet_sizes.is_empty() {
            self.fail(ViolationKind::Withheld { held: self.packet_sizes.len() as u64 });
        }
        entry.filter(|_| self.violation.is_none())
    }

    fn set_limit(&mut self, now: Time, limit: Limit, dropped: &mut Vec<DroppedPacket>) {
        let before = dropped.len();
        let _ = self.guard(|queue| queue.set_limit(now, limit, dropped));
        self.account(dropped, before);
    }

    fn packets(&self) -> u64 {
        self.packet_sizes.len() as u64
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn set_rate(&mut self, rate: Rate) {
        let _ = self.guard(|queue| queue.set_rate(rate));
    }
}

#[cfg(test)]
mod tests {
    //! Tests that each violation is detected at once and attributed, and that a correct discipline is not affected.
    use super::*;
    use crate::test_helpers::ordinary_entry;
    use crate::{DisciplineConfig, SpecError, Traits};
    use std::collections::VecDeque;
    use thalweg_proto::random::RandomStream;

    /// Fault of a discipline after three packets.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum DisciplineFault {
        Nothing,
        Count,
        Bytes,
        Twice,
        Forged,
        Resized,
        Withheld,
        DropsWhatItLacks,
        Panics,
        CannotBeMade,
    }

    #[derive(Debug)]
    struct Line {
        queue: VecDeque<Entry>,
        taken: u32,
        wrong: DisciplineFault,
    }

    impl Line {
        fn is_wrong(&self, how: DisciplineFault) -> bool {
            self.wrong == how && self.taken >= 3
        }
    }

    impl Discipline for Line {
        fn enqueue(&mut self, _: Time, entry: Entry, dropped: &mut Vec<DroppedPacket>) {
            self.taken += 1;
            self.queue.push_back(entry);
            if self.is_wrong(DisciplineFault::DropsWhatItLacks) {
                dropped
                    .push(DroppedPacket { entry: Entry { packet: 77, ..entry }, reason: DropReason::Early });
            }
            assert!(!self.is_wrong(DisciplineFault::Panics), "a test's discipline");
        }
        fn dequeue(&mut self, _: Time, _: &mut Vec<DroppedPacket>) -> Option<Entry> {
            let first = if self.is_wrong(DisciplineFault::Withheld) { None } else { self.queue.pop_front() }?;
            match self.wrong {
                DisciplineFault::Forged => Some(Entry { packet: 99, ..first }),
                DisciplineFault::Resized => Some(Entry { size: first.size + 1, ..first }),
                DisciplineFault::Twice => {
                    self.queue.push_front(first);
                    Some(first)
                }
                _ => Some(first),
            }
        }
        fn packets(&self) -> u64 {
            self.queue.len() as u64 + u64::from(self.is_wrong(DisciplineFault::Count))
        }
        fn bytes(&self) -> u64 {
            let bytes: u64 = self.queue.iter().map(|entry| u64::from(entry.size)).sum();
            bytes - u64::from(self.is_wrong(DisciplineFault::Bytes))
        }
    }

    impl DisciplineConfig for DisciplineFault {
        type Queue = Line;
        const NAME: &'static str = "mine";
        fn check(&self) -> Result<(), SpecError> {
            Ok(())
        }
        fn make(&self, _: Limit, _: RandomStreams<'_>) -> Line {
            assert!(*self != Self::CannotBeMade, "a test's discipline");
            Line { queue: VecDeque::new(), taken: 0, wrong: *self }
        }
        fn traits(&self) -> Traits {
            Traits::RANDOM_EARLY_DETECTION
        }
        fn description(&self) -> String {
            "mine".to_owned()
        }
    }

    /// Three packets of 1000 bytes arrive and one leaves. Each violation is reported after the given number of these
    /// four steps.
    #[test]
    fn each_violation_is_reported_when_it_occurs() {
        for (wrong, after, what) in [
            (DisciplineFault::Nothing, 9, ""),
            (DisciplineFault::Count, 3, "reports 4 packets where 3 are queued"),
            (DisciplineFault::Bytes, 3, "reports 2999 bytes where 3000 are queued"),
            (DisciplineFault::Twice, 4, "reports 3 packets where 2 are queued"),
            (DisciplineFault::Forged, 4, "dequeued a packet that it does not hold"),
            (DisciplineFault::Resized, 4, "dequeued a packet with another size"),
            (DisciplineFault::Withheld, 4, "dequeued no packet for an idle link although 3 are queued"),
            (DisciplineFault::DropsWhatItLacks, 3, "dequeued a packet that it does not hold"),
            (DisciplineFault::Panics, 3, "panicked"),
            (DisciplineFault::CannotBeMade, 0, "panicked"),
        ] {
            let mut streams = |purpose| RandomStream::new(1, purpose, 0);
            let mut queue = ExternalQueue::new("mine", &wrong, Limit::Unlimited, &mut streams);
            let (mut dropped, mut found, mut left) = (Vec::new(), None, None);
            for step in 0..5 {
                if queue.violation().is_some() {
                    found.get_or_insert(step);
                }
                match step {
                    0..3 => {
                        let entry = Entry { packet: step, size: 1000, ..ordinary_entry(0) };
                        queue.enqueue(Time::ZERO, entry, &mut dropped);
                    }
                    3 => left = queue.dequeue(Time::ZERO, &mut dropped),
                    _ => {}
                }
            }
            let message = queue.violation().map(|violation| violation.to_string()).unwrap_or_default();
            let expected =
                if what.is_empty() { String::new() } else { format!("the discipline `mine` {what}") };
            assert_eq!((found.unwrap_or(9), message), (after, expected), "{wrong:?}");
            assert_eq!(left.map(|entry| entry.packet), (wrong == DisciplineFault::Nothing).then_some(0));
            // Reported drops are all of packets that were enqueued.
            assert!(dropped.iter().all(|victim| victim.entry.packet < 3), "{wrong:?}: {dropped:?}");
        }
    }
}
