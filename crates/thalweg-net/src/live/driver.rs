//! A thread of a socket: receives, does what handles ask, sends what is due, sleeps until there is something to do.

use super::clock::Clock;
use super::coalescing::Coalescing;
use super::pipe::{Opening, PART, Peer, Pipe};
use super::socket::{Arrived, Shared};
use super::udp::{Received, Sent, Udp};
use crate::batch::Batch;
use crate::endpoint::{Endpoint, EndpointEvent, Handle};
use crate::session::{Agreed, Closed, Next, SessionEvent, code};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use thalweg_proto::payload::{Payload as _, Slice};
use thalweg_proto::units::{Duration, Time};

/// Batches sent before what has come is looked at again.
const SENDS: usize = 4;

/// The most that is taken before it is acknowledged, in bytes: a few calls' worth of datagrams that come one by one,
/// or one of those that come together.
const TAKES: usize = 192 << 10;

/// A call counts as so many, however few it brings.
const CALL: usize = TAKES / 12;

/// Counters are brought up to date this often.
const STATS: Duration = Duration::from_millis(20);

/// A clock that shows more is started anew as soon as there is no connection.
const RESTART: Time = Time::from_picos(100 * DAY);

/// A clock that shows more has little time left: connections are closed, so that it can be started anew.
const LATE: Time = Time::from_picos(200 * DAY);

/// In picoseconds.
const DAY: u64 = 86_400 * 1_000_000_000_000;

/// The time for which peers are told of the end when a socket is dropped.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The thread's state.
pub(super) struct Driver {
    /// The state that it shares with handles, and those of all threads of the socket, of which it is this one.
    shared: Arc<Shared>,
    members: Vec<Arc<Shared>>,
    member: usize,
    udp: Udp,
    endpoint: Endpoint,
    clock: Clock,
    batch: Batch,
    /// The first run of the batch that was not sent, and from which byte of it on.
    unsent: (usize, usize),
    pipes: HashMap<Handle, Live>,
    stats_at: Time,
    end: Option<Time>,
    /// Something may have come: the system has not just said otherwise.
    looks: bool,
    /// A session was told something after it was polled.
    touched: bool,
    /// An empty list for those that ring next.
    spare: Vec<Arc<Pipe>>,
    /// The slices that were delivered, until all of them are handed over to the connection that `delivering` names.
    delivered: Vec<Slice>,
    delivering: Option<Handle>,
    coalescing: Coalescing,
    /// Connections to which something was handed over that their readers have not been told of.
    unnotified: Vec<Arc<Pipe>>,
}

impl Drop for Driver {
    /// Whoever waits hears that nothing will come any more, also where a panic has ended the thread.
    fn drop(&mut self) {
        let connects = std::mem::take(&mut self.shared.work().connects);
        let pipes =
            self.pipes.drain().map(|(_, live)| live.pipe).chain(connects.into_iter().map(|(_, pipe)| pipe));
        for pipe in pipes {
            let mut state = pipe.lock();
            state.closed.get_or_insert(Closed::Here);
            pipe.wake_all(&mut state);
        }
        let mut arrivals = self.shared.lobby.arrivals();
        arrivals.over = true;
        if let Some(waker) = arrivals.waker.take() {
            waker.wake();
        }
        self.shared.lobby.arrived.notify_all();
    }
}

struct Live {
    pipe: Arc<Pipe>,
    stats_at: Time,
}

impl Driver {
    pub fn new(members: Vec<Arc<Shared>>, member: usize, udp: Udp, endpoint: Endpoint, clock: Clock) -> Self {
        Self {
            shared: Arc::clone(&members[member]),
            members,
            member,
            udp,
            endpoint,
            clock,
            batch: Batch::new(),
            unsent: (0, 0),
            pipes: HashMap::new(),
            stats_at: Time::ZERO,
            end: None,
            looks: true,
            touched: false,
            spare: Vec::new(),
            delivered: Vec::new(),
            delivering: None,
            coalescing: Coalescing::default(),
            unnotified: Vec::new(),
        }
    }

    pub fn run(mut self) {
        // A sleep is 50 us late by default, which is many packets' time.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1000));
        loop {
            let mut now = self.clock.now();
            if now >= RESTART && self.renew(now) {
                now = self.clock.now();
            }
            let received = self.receive(&mut now);
            let worked = self.work(now);
            self.touched = false;
            let (wake, full) = self.send(now);
            self.events(now);
            if self.is_over(now) {
                break;
            }
            if !received && !worked && !self.touched && wake != Some(Time::ZERO) {
                self.sleep(wake, full);
            } else if now.since(self.stats_at) > STATS {
                self.publish();
                self.stats_at = now;
            }
        }
        self.publish();
    }

    /// Starts the clock anew where that disturbs nobody; later it has to. True if it did.
    fn renew(&mut self, now: Time) -> bool {
        if self.end.is_some() {
            return false;
        }
        // What was due while it slept comes first: that may have been the last.
        let _ = self.send(now);
        self.events(now);
        if self.endpoint.is_idle() && self.batch.is_empty() {
            self.clock.restart();
            let (before, now) = (now, self.clock.now());
            self.endpoint.restart(before, now);
            self.stats_at = now;
            self.coalescing = Coalescing::default();
            return true;
        }
        if now >= LATE {
            for handle in self.pipes.keys() {
                self.endpoint.abandon(
                    now,
                    *handle,
                    code::AGE,
                    "this end has run for 200 days; connect again",
                );
            }
        }
        false
    }

    /// Takes some of what has come, and reads the clock for that. False when nothing has.
    pub(super) fn receive(&mut self, now: &mut Time) -> bool {
        if !std::mem::replace(&mut self.looks, true) {
            return false;
        }
        let (mut taken, mut datagrams) = (0, 0);
        while taken < TAKES {
            let (endpoint, clock) = (&mut self.endpoint, &self.clock);
            // Read once it is here: a thread that was stopped meanwhile would take delays to be shorter than any can be.
            let mut read = None;
            let come = self.udp.receive(|arrival, stride, received| {
                let arrived = *read.get_or_insert_with(|| clock.now());
                endpoint.receive(arrived, arrival, stride, received, Received::share);
            });
            *now = read.unwrap_or(*now);
            self.pass_on();
            match come {
                Ok(come) => {
                    taken += come.bytes.max(CALL);
                    datagrams += come.datagrams;
                    self.looks = come.more;
                }
                // An error does not pass by waiting for it, but nothing else can be done: peers will time out.
                Err(_) => self.looks = false,
            }
            if !self.looks {
                break;
            }
        }
        self.coalescing.came(datagrams);
        datagrams > 0
    }

    /// Hands over what is for other threads of the socket.
    fn pass_on(&mut self) {
        while let Some((member, passed)) = self.endpoint.passed() {
            self.members[member].pass(passed);
        }
    }

    /// Waits for datagrams, for the bell, for room to send where there was none, or until `wake`.
    fn sleep(&mut self, wake: Option<Time>, full: bool) {
        let may_coalesce = !self.endpoint.times_datagrams();
        if self.coalescing.notifies_before_sleep(may_coalesce) {
            self.notify_readers();
        }
        self.shared.asleep.store(true, Ordering::SeqCst);
        let idle = {
            let work = self.shared.work();
            work.is_none() && (!work.shut || self.end.is_some())
        };
        if idle {
            let now = self.clock.now();
            // The last words end in time, whatever the sessions wait for.
            let wake = wake.into_iter().chain(self.end).min();
            let span = wake.map(|at| at.since(now)).filter(|_| wake != Some(Time::MAX));
            // Nobody shall read old numbers while it sleeps.
            self.publish();
            let sleep = self.coalescing.sleep(span, may_coalesce);
            self.looks = self.udp.wait(&self.shared.bell, full, sleep).unwrap_or(true);
        }
        self.shared.asleep.store(false, Ordering::SeqCst);
    }

    fn publish(&self) {
        *self.shared.stats.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
            (self.endpoint.stats(), self.udp.stats);
    }

    /// Does what handles asked for. True if there was something.
    fn work(&mut self, now: Time) -> bool {
        let (mut rung, connects, passed, trust, shut) = {
            let mut work = self.shared.work();
            if work.is_none() && !work.shut {
                return false;
            }
            let spare = std::mem::take(&mut self.spare);
            let rung = std::mem::replace(&mut work.rung, spare);
            work.passed_bytes = 0;
            let passed = std::mem::take(&mut work.passed);
            (rung, std::mem::take(&mut work.connects), passed, work.trust.take(), work.shut)
        };
        let any = !rung.is_empty() || !connects.is_empty() || !passed.is_empty() || trust.is_some();
        if let Some(trust) = trust {
            self.endpoint.set_trust(trust);
        }
        for passed in passed {
            self.endpoint.take_passed(now, passed);
        }
        self.pass_on();
        for (connect, pipe) in connects {
            let handle = self.endpoint.connect(now, connect);
            pipe.lock().handle = Some(handle);
            self.pipes.insert(handle, Live { pipe, stats_at: Time::ZERO });
        }
        for pipe in rung.drain(..) {
            self.serve(now, &pipe);
        }
        self.spare = rung;
        if shut && self.end.is_none() {
            self.end = Some(now + LAST_WORDS);
            self.endpoint.stop_listening();
            for handle in self.pipes.keys() {
                self.endpoint.abandon(now, *handle, code::DONE, "");
            }
            return true;
        }
        any
    }

    /// Moves what a pipe has for the network.
    fn serve(&mut self, now: Time, pipe: &Pipe) {
        let mut state = pipe.lock();
        state.rung = false;
        let Some(handle) = state.handle else { return };
        let close = state.close.take();
        if std::mem::take(&mut state.admit) {
            self.endpoint.admit(handle);
            if let Some(session) = self.endpoint.session(handle) {
                state.reading = session.reading();
            }
        }
        let Some(session) = self.endpoint.session(handle) else {
            if close.is_some() {
                self.endpoint.abandon(now, handle, code::DONE, "");
                self.pipes.remove(&handle);
            }
            return;
        };
        let consumed = state.take_consumed();
        if consumed > 0 {
            session.consumed(now, consumed);
        }
        if !state.outgoing.is_empty() {
            let was_full = state.outgoing_bytes >= state.room / 2;
            state.room = session.ahead().max(PART);
            let mut room = session.writable();
            while room > 0
                && let Some(data) = state.pop()
            {
                room = room.saturating_sub(u64::from(data.len()));
                session.write(now, data);
            }
            if was_full && state.outgoing_bytes < state.room / 2 {
                pipe.wake_writers(&mut state);
            }
        }
        while let Some(datagram) = state.datagrams_out.pop_front() {
            session.send_datagram(datagram);
        }
        if std::mem::take(&mut state.stop) {
            session.stop(now);
        }
        if state.finish && state.outgoing.is_empty() {
            state.finish = false;
            session.finish(now);
        }
        if std::mem::take(&mut state.stats_wanted) && state.closed.is_none() {
            state.stats = session.stats(now);
        }
        if let Some((code, reason)) = close {
            session.close(now, code, &reason);
        }
        drop(state);
        self.endpoint.touch(handle);
        self.touched = true;
    }

    /// Sends what is due. When to wake ([`Time::ZERO`] for at once), and whether the socket has no room.
    fn send(&mut self, now: Time) -> (Option<Time>, bool) {
        for _ in 0..SENDS {
            if !self.flush(now) {
                return (None, true);
            }
            match self.endpoint.poll(now, &mut self.batch) {
                Next::Full => {}
                Next::At(_) if !self.batch.is_empty() => {}
                Next::At(at) => return (Some(at), false),
            }
        }
        // The socket may have taken all of it: whatever else there is comes after a look at what has arrived.
        (Some(Time::ZERO), false)
    }

    /// Hands the batch to the system. False while that has no room.
    fn flush(&mut self, now: Time) -> bool {
        while let Some(run) = self.batch.runs().get(self.unsent.0) {
            match self.udp.send(&self.batch, run, self.unsent.1) {
                Ok(Sent::Full(at)) => {
                    self.unsent.1 = at;
                    return false;
                }
                Ok(Sent::TooLarge) => {
                    let datagrams = self.batch.bytes(run);
                    self.endpoint.on_refused(now, run.destination, run.segment, datagrams);
                }
                // Lost, as anything may be.
                Ok(Sent::All) | Err(_) => {}
            }
            self.unsent = (self.unsent.0 + 1, 0);
        }
        self.batch.clear();
        self.unsent = (0, 0);
        true
    }

    /// Tells applications what happened.
    fn events(&mut self, now: Time) {
        while let Some((handle, event)) = self.endpoint.event() {
            // What was delivered is handed over together: a lock for each piece would be most of the work.
            if let EndpointEvent::Session(SessionEvent::Delivered(data)) = event {
                if self.delivering != Some(handle) {
                    self.deliver(now);
                    self.delivering = Some(handle);
                }
                self.delivered.push(data);
                continue;
            }
            self.deliver(now);
            match event {
                EndpointEvent::Session(event) => self.session_event(now, handle, event),
                EndpointEvent::Connected { peer } => {
                    if let Some(session) = self.endpoint.session(handle)
                        && let Some(live) = self.pipes.get(&handle)
                    {
                        let Agreed { service, binding, .. } = session.agreed().clone();
                        let remote = session.remote();
                        let mut state = live.pipe.lock();
                        state.reading = session.reading();
                        state.opening = Opening::Open(Peer { key: peer, remote, service, binding });
                        live.pipe.wake_all(&mut state);
                    }
                }
                EndpointEvent::NotConnected(error) => {
                    if let Some(live) = self.pipes.remove(&handle) {
                        let mut state = live.pipe.lock();
                        state.opening = Opening::Failed(error);
                        live.pipe.wake_all(&mut state);
                    }
                }
                EndpointEvent::Refused(refusal) => self.shared.lobby.arrivals().refuse(*refusal),
                EndpointEvent::Accepted { peer, service, remote, known } => {
                    // One that has ended since is accepted and found closed.
                    let session = self.endpoint.session(handle);
                    let binding =
                        session.as_ref().map(|session| session.agreed().binding).unwrap_or_default();
                    let opening = Opening::Open(Peer { key: peer, remote, service, binding });
                    let pipe = Pipe::new(self.member, Some(handle), opening);
                    if let Some(session) = session {
                        pipe.lock().reading = session.reading();
                    }
                    let mut arrivals = self.shared.lobby.arrivals();
                    let refusal = match self.end {
                        Some(_) => Some("it is ending"),
                        None => (!arrivals.make_room()).then_some("too many wait to be accepted"),
                    };
                    if let Some(reason) = refusal {
                        drop(arrivals);
                        self.endpoint.abandon(now, handle, code::BUSY, reason);
                        continue;
                    }
                    arrivals.queue.push_back(Arrived { pipe: Arc::clone(&pipe), known });
                    if let Some(waker) = arrivals.waker.take() {
                        waker.wake();
                    }
                    drop(arrivals);
                    self.shared.lobby.arrived.notify_one();
                    self.pipes.insert(handle, Live { pipe, stats_at: Time::ZERO });
                }
            }
        }
        self.deliver(now);
        if self.coalescing.notifies(now) {
            self.notify_readers();
        }
    }

    /// Tells those who wait to read of what has been handed over.
    fn notify_readers(&mut self) {
        for pipe in self.unnotified.drain(..) {
            pipe.notify_readers();
        }
    }

    /// Hands over what was delivered to one connection.
    fn deliver(&mut self, now: Time) {
        let Some(handle) = self.delivering.take() else { return };
        let Some(live) = self.pipes.get_mut(&handle) else {
            self.delivered.clear();
            return;
        };
        let mut state = live.pipe.lock();
        if now.since(live.stats_at) > STATS
            && let Some(session) = self.endpoint.session(handle)
        {
            live.stats_at = now;
            state.stats = session.stats(now);
        }
        self.coalescing.handed_over(now, self.delivered.iter().map(|piece| u64::from(piece.len())).sum());
        for piece in self.delivered.drain(..) {
            state.incoming.push(piece);
        }
        if !std::mem::replace(&mut state.unnotified, true) {
            self.unnotified.push(Arc::clone(&live.pipe));
        }
        let consumed = state.take_consumed();
        drop(state);
        if consumed > 0
            && let Some(session) = self.endpoint.session(handle)
        {
            session.consumed(now, consumed);
            self.endpoint.touch(handle);
            self.touched = true;
        }
    }

    fn session_event(&mut self, now: Time, handle: Handle, event: SessionEvent) {
        let Some(live) = self.pipes.get_mut(&handle) else { return };
        let pipe = Arc::clone(&live.pipe);
        let mut state = pipe.lock();
        if (now.since(live.stats_at) > STATS
            || matches!(event, SessionEvent::Finished | SessionEvent::Ended { .. } | SessionEvent::Closed(_)))
            && let Some(session) = self.endpoint.session(handle)
        {
            live.stats_at = now;
            state.stats = session.stats(now);
        }
        match event {
            // Handed over with others.
            SessionEvent::Delivered(_) => {}
            SessionEvent::Hole { packets } => {
                state.push_hole(packets);
                pipe.wake_readers(&mut state);
            }
            SessionEvent::Datagram(datagram) => pipe.take_datagram(&mut state, datagram),
            SessionEvent::Ended { stopped } => {
                state.ended = Some(stopped);
                pipe.wake_readers(&mut state);
            }
            SessionEvent::Writable => {
                drop(state);
                self.serve(now, &pipe);
            }
            SessionEvent::Finished => {
                state.finished = true;
                pipe.wake_writers(&mut state);
            }
            SessionEvent::Closed(why) => {
                state.closed = Some(why);
                state.outgoing.clear();
                state.outgoing_bytes = 0;
                let is_forgotten = state.closed == Some(Closed::Here);
                pipe.wake_all(&mut state);
                drop(state);
                if is_forgotten {
                    // Nobody needs to accept what was closed here before.
                    self.shared.lobby.arrivals().queue.retain(|arrived| !Arc::ptr_eq(&arrived.pipe, &pipe));
                }
                self.pipes.remove(&handle);
            }
        }
    }

    fn is_over(&mut self, now: Time) -> bool {
        let Some(end) = self.end else { return false };
        let is_over = now >= end || self.batch.is_empty() && self.endpoint.is_silent();
        if is_over {
            for (_, live) in self.pipes.drain() {
                let mut state = live.pipe.lock();
                state.closed.get_or_insert(Closed::Here);
                live.pipe.wake_all(&mut state);
            }
        }
        is_over
    }
}
