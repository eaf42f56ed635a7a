//! One run on several threads (conservative parallel simulation).
//!
//! Each thread runs one partition. In a round it handles the events before the earliest time of a packet or notice from
//! another partition, delivers outgoing packets, and waits for the others. That time follows from the clocks of
//! all partitions and the distances between them. A partition never receives anything for its past, hence its events
//! have the same order as on one thread.

use crate::buffered_trace_record::BufferedRecord;
use crate::components::partition_boundary::Outbox;
use crate::event_loop::{EventLoop, Status};
use crate::packet_tracing::{DirectTracing, Tracing};
use crate::partition::Partitioning;
use crate::partition_record_merge::Merge;
use crate::partition_split::{UnpartitionedState, merge_partitions, split_run};
use crate::run_result::RunResult;
use crate::simulation_spec::Spec;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use thalweg_proto::units::{Duration, Time};

/// A partitioned run.
#[derive(Debug)]
pub(crate) struct Parallel<T: Tracing> {
    unpartitioned: UnpartitionedState<T>,
    parts: Vec<EventLoop<T>>,
    partitioning: Partitioning,
    /// The end of the run.
    end: Time,
    /// The merger of the partitions' records, if they keep any.
    merge: Option<Merge>,
}

impl<T: Tracing + Clone + Send> Parallel<T> {
    /// Partitions a built run of `spec` that has not started. The records of partitions go to a tracer.
    pub fn new(
        spec: &Spec,
        whole: EventLoop<T>,
        partitioning: Partitioning,
        tracer: Option<DirectTracing>,
    ) -> Self {
        let merge = tracer
            .map(|tracer| Merge::new(tracer, spec.ties, whole.connections.ids.fresh(), partitioning.parts));
        let (rest, parts) = split_run(Box::new(whole), spec, &partitioning);
        Self { unpartitioned: rest, parts, partitioning, end: Time::ZERO + spec.duration, merge }
    }

    /// Handles `events` events or slightly more.
    pub fn advance(&mut self, events: u64) -> Status {
        self.run_until(self.end + TICK, events);
        if self.is_finished() { Status::Finished } else { Status::Running }
    }

    /// Handles the events before `end`, or about `enough` of them.
    fn run_until(&mut self, end: Time, enough: u64) {
        let threads = Threads::new(&self.partitioning, end, enough);
        match &mut self.merge {
            Some(merge) => threads.record(&mut self.parts, merge),
            None => threads.run(&mut self.parts),
        }
    }

    fn is_finished(&self) -> bool {
        self.parts.iter().all(|part| part.ending.is_over())
    }

    /// Returns the time of the first partition.
    pub fn now(&self) -> Time {
        self.parts.iter().map(|part| part.now).max().unwrap_or(Time::ZERO)
    }

    /// Returns the events so far; events common to several partitions count once.
    pub fn events(&self) -> u64 {
        let of = |part: &EventLoop<T>| {
            part.measurements.tally.events() - part.boundary.as_ref().map_or(0, |boundary| boundary.doubled)
        };
        self.parts.iter().map(of).sum()
    }

    pub fn hops(&self) -> u64 {
        self.parts.iter().map(|part| part.network.hops).sum()
    }

    /// Returns the link name, source node and destination node of each direction.
    pub fn links(&self) -> &[(String, String, String)] {
        self.parts.first().map_or(&[], |part| &part.network.names.links)
    }

    /// Ends the run, early if it has not reached its end, and returns its results.
    pub fn finish(mut self) -> (RunResult, Option<DirectTracing>) {
        if !self.is_finished() {
            // Lagging partitions catch up with the first: all events up to that time have then happened, as on one
            // thread.
            let now = self.now();
            self.run_until(now + TICK, u64::MAX);
        }
        (merge_partitions(self.unpartitioned, self.parts).finish().0, self.merge.map(Merge::finish))
    }
}

/// The smallest step of time.
const TICK: Duration = Duration::from_picos(1);

/// Cache padding: avoids false sharing, also with adjacent cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct CachePadded<T>(T);

/// Status of a partition, published before each round. Only that partition writes it.
#[derive(Default)]
struct PartitionStatus {
    /// Round of the other fields; written last.
    round: AtomicU64,
    /// Time of the partition's next event.
    next: AtomicU64,
    /// Number of events handled.
    events: AtomicU64,
    /// Number of records buffered.
    buffered: AtomicU64,
    /// Earliest arrival of the packets sent to each other partition.
    sent: Vec<CachePadded<[AtomicU64; WORDS]>>,
}

/// Number of words in a cache-padded entry.
const WORDS: usize = 16;

/// Arrival time without any message.
const NO_MESSAGE: u64 = u64::MAX;
/// Arrival time of messages without packets.
const NO_PACKETS: u64 = NO_MESSAGE - 1;

/// Shared state of the partitions. It exists twice: while one partition reads the values of this round, another may
/// already write those of the next.
struct SharedState {
    notices: Vec<CachePadded<PartitionStatus>>,
    /// Packets in transit between partitions: those from i to j at `i * parts + j`.
    in_transit: Vec<CachePadded<Mutex<Outbox>>>,
}

impl SharedState {
    fn new(parts: usize) -> Self {
        let words = || CachePadded([const { AtomicU64::new(NO_MESSAGE) }; WORDS]);
        let sent = || (0..parts.div_ceil(WORDS)).map(|_| words()).collect();
        let notice = || CachePadded(PartitionStatus { sent: sent(), ..PartitionStatus::default() });
        Self {
            notices: (0..parts).map(|_| notice()).collect(),
            in_transit: (0..parts * parts).map(|_| CachePadded::default()).collect(),
        }
    }

    /// Returns the sum of a counter over all partitions.
    fn sum(&self, of: impl Fn(&PartitionStatus) -> &AtomicU64) -> u64 {
        let counts = self.notices.iter().map(|notice| of(&notice.0).load(Ordering::Relaxed));
        counts.fold(0, u64::saturating_add)
    }

    /// Returns the earliest arrival of the packets from one partition to another.
    fn earliest_arrival(&self, from: usize, to: usize) -> &AtomicU64 {
        &self.notices[from].0.sent[to / WORDS].0[to % WORDS]
    }

    fn in_transit(&self, from: usize, to: usize) -> MutexGuard<'_, Outbox> {
        let in_transit = &self.in_transit[from * self.notices.len() + to].0;
        in_transit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The shared context of the threads of a run.
struct Threads<'a> {
    partitioning: &'a Partitioning,
    boards: [SharedState; 2],
    /// Time limit: later events stay queued.
    end: u64,
    /// Number of events after which to stop.
    max_events: u64,
    /// Number of polls before a thread yields its processor.
    spins: u32,
    /// Set after a panic of a thread: the others must not wait for it.
    is_broken: AtomicBool,
    /// Emptied lists of records, for reuse.
    spare_lists: Mutex<Vec<Vec<BufferedRecord>>>,
}

/// Number of buffered records at which partitions deliver them.
const MANY_BUFFERED: u64 = 1 << 15;
/// Maximum number of events of a partition in one round of a recorded run: limits the memory of records.
const MAX_IN_ROUND: u64 = 1 << 14;
/// Maximum number of record lists of a partition queued for the tracer.
const MAX_QUEUED_LISTS: usize = 2;

/// Records of a partition, and the time before which they are complete.
type List = (Vec<BufferedRecord>, Time);

impl<'a> Threads<'a> {
    fn new(partitioning: &'a Partitioning, end: Time, enough: u64) -> Self {
        Self {
            partitioning,
            boards: [SharedState::new(partitioning.parts), SharedState::new(partitioning.parts)],
            end: end.as_picos(),
            max_events: enough,
            spins: polls_before_yield(partitioning.parts),
            is_broken: AtomicBool::new(false),
            spare_lists: Mutex::default(),
        }
    }

    /// Advances each partition on a thread of its own, the first on this thread.
    fn run<T: Tracing + Send>(&self, parts: &mut [EventLoop<T>]) {
        let Some((first, others)) = parts.split_first_mut() else { return };
        std::thread::scope(|scope| {
            for (number, part) in (1..).zip(others) {
                scope.spawn(move || self.work(number, part, |_, _| true));
            }
            self.work(0, first, |_, _| true);
        });
    }

    /// Advances all partitions on other threads and passes their records to the tracer on this one. Partitions far
    /// ahead of the tracer wait for it.
    fn record<T: Tracing + Send>(&self, parts: &mut [EventLoop<T>], merge: &mut Merge) {
        std::thread::scope(|scope| {
            let _guard = Guard(&self.is_broken);
            let begin = |(number, part)| {
                let (sender, receiver) = sync_channel::<List>(MAX_QUEUED_LISTS);
                let deliver_records =
                    move |part: &mut EventLoop<T>, before| self.deliver_records(part, before, &sender);
                scope.spawn(move || self.work(number, part, deliver_records));
                receiver
            };
            let receivers: Vec<Receiver<List>> = parts.iter_mut().enumerate().map(begin).collect();
            loop {
                let mut complete_before = Time::MAX;
                for (part, receiver) in receivers.iter().enumerate() {
                    // All threads end in the same round, unless one has panicked.
                    let Ok((list, before)) = receiver.recv() else { return };
                    merge.add(part, list);
                    complete_before = complete_before.min(before);
                }
                merge.deliver_before(complete_before, |mut list| {
                    list.clear();
                    self.spare_lists.lock().unwrap_or_else(PoisonError::into_inner).push(list);
                });
            }
        });
    }

    /// Delivers the buffered records of a partition. Returns false without a receiver.
    fn deliver_records<T: Tracing>(
        &self,
        part: &mut EventLoop<T>,
        before: Time,
        to: &SyncSender<List>,
    ) -> bool {
        let Some(buffered) = part.tracing.buffered() else { return true };
        let empty = self.spare_lists.lock().unwrap_or_else(PoisonError::into_inner).pop();
        to.send((core::mem::replace(buffered, empty.unwrap_or_default()), before)).is_ok()
    }

    /// Runs the rounds of one partition. From time to time, simultaneously for all partitions, it delivers the records
    /// up to a time.
    fn work<T: Tracing>(
        &self,
        number: usize,
        part: &mut EventLoop<T>,
        deliver_records: impl Fn(&mut EventLoop<T>, Time) -> bool,
    ) {
        let _guard = Guard(&self.is_broken);
        let parts = self.partitioning.parts;
        let began = part.measurements.tally.events();
        for (round, board) in (1..).zip(self.boards.iter().cycle()) {
            let notice = &board.notices[number].0;
            notice.next.store(picos_or_max(part.next()), Ordering::Relaxed);
            notice.events.store(part.measurements.tally.events() - began, Ordering::Relaxed);
            let buffered = part.tracing.buffered().map_or(0, |buffered| buffered.len() as u64);
            notice.buffered.store(buffered, Ordering::Relaxed);
            notice.round.store(round, Ordering::Release);
            if !self.wait(round, board) {
                return;
            }
            for from in (0..parts)
                .filter(|&from| board.earliest_arrival(from, number).load(Ordering::Relaxed) != NO_MESSAGE)
            {
                part.admit(from, &mut board.in_transit(from, number));
            }
            let (first, until) = self.round_end(number, board);
            let is_due = T::BUFFERS && (until.is_none() || board.sum(|of| &of.buffered) >= MANY_BUFFERED);
            if is_due && !deliver_records(part, Time::from_picos(first)) {
                return;
            }
            let Some(until) = until else { return };
            let max_events = if T::BUFFERS { MAX_IN_ROUND } else { u64::MAX };
            part.advance_before(Time::from_picos(until), max_events);
            let other = &self.boards[usize::from(core::ptr::eq(board, &self.boards[0]))];
            Self::send(number, part, other);
        }
    }

    /// Returns the time of the next event of all partitions, and the time before which this partition can handle its
    /// events; `None` in the last round. All partitions compute the same from the published values.
    fn round_end(&self, number: usize, board: &SharedState) -> (u64, Option<u64>) {
        let parts = self.partitioning.parts;
        let (mut first, mut until) = (u64::MAX, u64::MAX);
        for part in 0..parts {
            let own = board.notices[part].0.next.load(Ordering::Relaxed);
            let next = (0..parts)
                .map(|from| board.earliest_arrival(from, part).load(Ordering::Relaxed))
                .fold(own, u64::min);
            first = first.min(next);
            until = until.min(next.saturating_add(self.partitioning.distance[part * parts + number]));
        }
        let goes_on = first < self.end && board.sum(|of| &of.events) < self.max_events;
        (first, goes_on.then(|| until.min(first.saturating_add(self.partitioning.stride)).min(self.end)))
    }

    /// Delivers a partition's outgoing packets, and publishes for each other partition when the first arrives, if any.
    fn send<T: Tracing>(number: usize, part: &mut EventLoop<T>, board: &SharedState) {
        let Some(boundary) = part.boundary.as_deref_mut() else { return };
        for (to, outbox) in boundary.outboxes.iter_mut().enumerate() {
            let arrives = match outbox.earliest() {
                Some(time) => time.as_picos(),
                None if outbox.is_empty() => NO_MESSAGE,
                None => NO_PACKETS,
            };
            board.earliest_arrival(number, to).store(arrives, Ordering::Relaxed);
            // The previous content has been taken.
            if arrives != NO_MESSAGE {
                core::mem::swap(&mut *board.in_transit(number, to), outbox);
            }
        }
    }

    /// Waits until all partitions have published a round. Returns false if one has panicked.
    fn wait(&self, round: u64, board: &SharedState) -> bool {
        let mut spins = 0;
        for notice in &board.notices {
            while notice.0.round.load(Ordering::Acquire) != round {
                if self.is_broken.load(Ordering::Relaxed) {
                    return false;
                }
                // The others usually need little time; with too few processors, they need this one.
                if spins < self.spins {
                    spins += 1;
                    core::hint::spin_loop();
                } else {
                    std::thread::yield_now();
                }
            }
        }
        true
    }
}

/// Returns the number of polls before one of `threads` threads yields its processor: a few microseconds' worth, or zero
/// with fewer processors than threads, as the others cannot run meanwhile.
fn polls_before_yield(threads: usize) -> u32 {
    let has_enough = std::thread::available_parallelism().is_ok_and(|processors| processors.get() >= threads);
    if has_enough { 1000 } else { 0 }
}

fn picos_or_max(time: Option<Time>) -> u64 {
    time.map_or(u64::MAX, Time::as_picos)
}

/// Notifies the other threads of a panic.
struct Guard<'a>(&'a AtomicBool);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
