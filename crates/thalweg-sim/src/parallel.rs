//! One run on several threads.
//!
//! Each thread has a part. In a round it handles the events before the time from which on others may still send it something, which
//! follows from where all parts stand and from the distances between them, hands over what leaves it, and waits for the others. No
//! part ever gets anything for a time that is over for it, so that it handles what it has in the order in which one thread would.

use crate::cut::Cut;
use crate::event_loop::{EventLoop, Status};
use crate::kept::Kept;
use crate::parts::border::Outbox;
use crate::recording::Merge;
use crate::result::RunResult;
use crate::spec::Spec;
use crate::split::{Rest, join, split};
use crate::tracing::{Traced, Tracing};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use thalweg_proto::units::{Duration, Time};

/// A run in parts.
#[derive(Debug)]
pub(crate) struct Parallel<T: Tracing> {
    rest: Rest<T>,
    parts: Vec<EventLoop<T>>,
    cut: Cut,
    /// The end of the run.
    end: Time,
    /// The records that parts keep, if they do.
    merge: Option<Merge>,
}

impl<T: Tracing + Clone + Send> Parallel<T> {
    /// A run of `spec`, which was built and in which nothing has happened yet. What parts keep is told to a tracer.
    pub fn new(spec: &Spec, whole: EventLoop<T>, cut: Cut, tracer: Option<Traced>) -> Self {
        let merge = tracer.map(|tracer| Merge::new(tracer, spec.ties, whole.numbers.fresh(), cut.parts));
        let (rest, parts) = split(Box::new(whole), spec, &cut);
        Self { rest, parts, cut, end: Time::ZERO + spec.duration, merge }
    }

    /// Handles `events` events or some more.
    pub fn advance(&mut self, events: u64) -> Status {
        self.go_on(self.end + TICK, events);
        if self.is_finished() { Status::Finished } else { Status::Running }
    }

    /// Handles the events before `end`, or about so many.
    fn go_on(&mut self, end: Time, enough: u64) {
        let threads = Threads::new(&self.cut, end, enough);
        match &mut self.merge {
            Some(merge) => threads.record(&mut self.parts, merge),
            None => threads.run(&mut self.parts),
        }
    }

    fn is_finished(&self) -> bool {
        self.parts.iter().all(|part| part.finished)
    }

    /// The time that the first part has come to.
    pub fn now(&self) -> Time {
        self.parts.iter().map(|part| part.now).max().unwrap_or(Time::ZERO)
    }

    /// Events so far, those that several parts have once.
    pub fn events(&self) -> u64 {
        let of = |part: &EventLoop<T>| part.events - part.border.as_ref().map_or(0, |border| border.doubled);
        self.parts.iter().map(of).sum()
    }

    pub fn hops(&self) -> u64 {
        self.parts.iter().map(|part| part.network.hops).sum()
    }

    /// The link's name and the nodes that each direction leads from and to.
    pub fn links(&self) -> &[(String, String, String)] {
        self.parts.first().map_or(&[], |part| &part.network.names.links)
    }

    /// Ends the run, here if it has not reached its end, and tells what was measured.
    pub fn finish(mut self) -> (RunResult, Option<Traced>) {
        if !self.is_finished() {
            // Parts that are behind go on to where the first is: all events up to that time have then happened, as with one thread.
            let now = self.now();
            self.go_on(now + TICK, u64::MAX);
        }
        (join(self.rest, self.parts).finish().0, self.merge.map(Merge::finish))
    }
}

/// The next time after any.
const TICK: Duration = Duration::from_picos(1);

/// Nothing that one processor writes is to be on a cache line, or next to one, that another writes.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart<T>(T);

/// A part's word to the others before each round. Only it writes here.
#[derive(Default)]
struct Notice {
    /// The round that the rest is for, which is written last.
    round: AtomicU64,
    /// The time of the part's next event.
    next: AtomicU64,
    /// The events that it has handled.
    events: AtomicU64,
    /// The records that it has kept.
    kept: AtomicU64,
    /// The earliest arrival of what it sends each other.
    sent: Vec<Apart<[AtomicU64; WORDS]>>,
}

/// The words in what is apart.
const WORDS: usize = 16;

/// The arrival of nothing at all.
const NO_MAIL: u64 = u64::MAX;
/// The arrival of mail without packets.
const NO_PACKETS: u64 = NO_MAIL - 1;

/// There are two of everything that parts tell each other: while one part still reads what was told in this round, another may already
/// tell what holds for the next.
struct Board {
    notices: Vec<Apart<Notice>>,
    /// The packets that parts send: those of i to j are at `i * parts + j`.
    mail: Vec<Apart<Mutex<Outbox>>>,
}

impl Board {
    fn new(parts: usize) -> Self {
        let words = || Apart([const { AtomicU64::new(NO_MAIL) }; WORDS]);
        let sent = || (0..parts.div_ceil(WORDS)).map(|_| words()).collect();
        let notice = || Apart(Notice { sent: sent(), ..Notice::default() });
        Self {
            notices: (0..parts).map(|_| notice()).collect(),
            mail: (0..parts * parts).map(|_| Apart::default()).collect(),
        }
    }

    /// The sum of what all parts have counted.
    fn sum(&self, of: impl Fn(&Notice) -> &AtomicU64) -> u64 {
        let counts = self.notices.iter().map(|notice| of(&notice.0).load(Ordering::Relaxed));
        counts.fold(0, u64::saturating_add)
    }

    /// The earliest arrival of what one part sends another.
    fn sent(&self, from: usize, to: usize) -> &AtomicU64 {
        &self.notices[from].0.sent[to / WORDS].0[to % WORDS]
    }

    fn mail(&self, from: usize, to: usize) -> MutexGuard<'_, Outbox> {
        let mail = &self.mail[from * self.notices.len() + to].0;
        mail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The threads of a run.
struct Threads<'a> {
    cut: &'a Cut,
    boards: [Board; 2],
    /// Events from this time on are left.
    end: u64,
    /// So many events are enough.
    enough: u64,
    /// Looks at the others before a thread gives its processor away.
    spins: u32,
    /// A thread has panicked: nobody is to wait for it.
    is_broken: AtomicBool,
    /// Lists whose records have been told, to be used again.
    told: Mutex<Vec<Vec<Kept>>>,
}

/// Records that parts keep before they hand them over.
const MANY_KEPT: u64 = 1 << 15;
/// Events of a part in one round at most, where records are kept: these take memory.
const MOST_IN_ROUND: u64 = 1 << 14;
/// Lists of records that a part may be ahead of the tracer.
const LISTS_AHEAD: usize = 2;

/// Records of a part, and the time before which nothing is missing that happened there.
type List = (Vec<Kept>, Time);

impl<'a> Threads<'a> {
    fn new(cut: &'a Cut, end: Time, enough: u64) -> Self {
        Self {
            cut,
            boards: [Board::new(cut.parts), Board::new(cut.parts)],
            end: end.as_picos(),
            enough,
            spins: spins(cut.parts),
            is_broken: AtomicBool::new(false),
            told: Mutex::default(),
        }
    }

    /// Lets each part go on, the first on this thread.
    fn run<T: Tracing + Send>(&self, parts: &mut [EventLoop<T>]) {
        let Some((first, others)) = parts.split_first_mut() else { return };
        std::thread::scope(|scope| {
            for (number, part) in (1..).zip(others) {
                scope.spawn(move || self.work(number, part, |_, _| true));
            }
            self.work(0, first, |_, _| true);
        });
    }

    /// The same on threads of their own, while this one tells their records. Parts wait for it where they are far ahead.
    fn record<T: Tracing + Send>(&self, parts: &mut [EventLoop<T>], merge: &mut Merge) {
        std::thread::scope(|scope| {
            let _guard = Guard(&self.is_broken);
            let begin = |(number, part)| {
                let (sender, receiver) = sync_channel::<List>(LISTS_AHEAD);
                let hand_over = move |part: &mut EventLoop<T>, before| self.hand_over(part, before, &sender);
                scope.spawn(move || self.work(number, part, hand_over));
                receiver
            };
            let receivers: Vec<Receiver<List>> = parts.iter_mut().enumerate().map(begin).collect();
            loop {
                let mut told = Time::MAX;
                for (part, receiver) in receivers.iter().enumerate() {
                    // All of them end in the same round, unless one has panicked.
                    let Ok((list, before)) = receiver.recv() else { return };
                    merge.add(part, list);
                    told = told.min(before);
                }
                merge.tell_before(told, |mut list| {
                    list.clear();
                    self.told.lock().unwrap_or_else(PoisonError::into_inner).push(list);
                });
            }
        });
    }

    /// Hands over the records that a part has kept. False where nobody takes them.
    fn hand_over<T: Tracing>(&self, part: &mut EventLoop<T>, before: Time, to: &SyncSender<List>) -> bool {
        let Some(kept) = part.tracing.kept() else { return true };
        let empty = self.told.lock().unwrap_or_else(PoisonError::into_inner).pop();
        to.send((core::mem::replace(kept, empty.unwrap_or_default()), before)).is_ok()
    }

    /// Goes round by round with one part. Now and then, at the same time for all of them, its records up to a time are handed over.
    fn work<T: Tracing>(
        &self,
        number: usize,
        part: &mut EventLoop<T>,
        hand_over: impl Fn(&mut EventLoop<T>, Time) -> bool,
    ) {
        let _guard = Guard(&self.is_broken);
        let parts = self.cut.parts;
        let began = part.events;
        for (round, board) in (1..).zip(self.boards.iter().cycle()) {
            let notice = &board.notices[number].0;
            notice.next.store(picos(part.next()), Ordering::Relaxed);
            notice.events.store(part.events - began, Ordering::Relaxed);
            let kept = part.tracing.kept().map_or(0, |kept| kept.len() as u64);
            notice.kept.store(kept, Ordering::Relaxed);
            notice.round.store(round, Ordering::Release);
            if !self.wait(round, board) {
                return;
            }
            for from in (0..parts).filter(|&from| board.sent(from, number).load(Ordering::Relaxed) != NO_MAIL)
            {
                part.admit(from, &mut board.mail(from, number));
            }
            let (first, until) = self.until(number, board);
            let is_due = T::KEEPS && (until.is_none() || board.sum(|of| &of.kept) >= MANY_KEPT);
            if is_due && !hand_over(part, Time::from_picos(first)) {
                return;
            }
            let Some(until) = until else { return };
            let most = if T::KEEPS { MOST_IN_ROUND } else { u64::MAX };
            part.advance_before(Time::from_picos(until), most);
            let other = &self.boards[usize::from(core::ptr::eq(board, &self.boards[0]))];
            Self::send(number, part, other);
        }
    }

    /// The time of the next event of all parts, and that before which a part can handle its events; none when the round is the last. All
    /// parts come to the same view of what all have told.
    fn until(&self, number: usize, board: &Board) -> (u64, Option<u64>) {
        let parts = self.cut.parts;
        let (mut first, mut until) = (u64::MAX, u64::MAX);
        for part in 0..parts {
            let own = board.notices[part].0.next.load(Ordering::Relaxed);
            let next =
                (0..parts).map(|from| board.sent(from, part).load(Ordering::Relaxed)).fold(own, u64::min);
            first = first.min(next);
            until = until.min(next.saturating_add(self.cut.distance[part * parts + number]));
        }
        let goes_on = first < self.end && board.sum(|of| &of.events) < self.enough;
        (first, goes_on.then(|| until.min(first.saturating_add(self.cut.stride)).min(self.end)))
    }

    /// Hands over what has left a part, and says that there is nothing where nothing has.
    fn send<T: Tracing>(number: usize, part: &mut EventLoop<T>, board: &Board) {
        let Some(border) = part.border.as_deref_mut() else { return };
        for (to, outbox) in border.outboxes.iter_mut().enumerate() {
            let arrives = match outbox.earliest() {
                Some(time) => time.as_picos(),
                None if outbox.is_empty() => NO_MAIL,
                None => NO_PACKETS,
            };
            board.sent(number, to).store(arrives, Ordering::Relaxed);
            // What was there before has been taken.
            if arrives != NO_MAIL {
                core::mem::swap(&mut *board.mail(number, to), outbox);
            }
        }
    }

    /// Waits until all have told of a round. False where one will not.
    fn wait(&self, round: u64, board: &Board) -> bool {
        let mut spins = 0;
        for notice in &board.notices {
            while notice.0.round.load(Ordering::Acquire) != round {
                if self.is_broken.load(Ordering::Relaxed) {
                    return false;
                }
                // The others are mostly almost there; where processors are short, they need this one.
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

/// Looks at the others before one of so many threads gives its processor away: a few microseconds' worth, and none where there are
/// fewer processors than threads, as those that are waited for cannot run meanwhile.
fn spins(threads: usize) -> u32 {
    let has_enough = std::thread::available_parallelism().is_ok_and(|processors| processors.get() >= threads);
    if has_enough { 1000 } else { 0 }
}

fn picos(time: Option<Time>) -> u64 {
    time.map_or(u64::MAX, Time::as_picos)
}

/// Tells the other threads of a panic.
struct Guard<'a>(&'a AtomicBool);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}
