//! Socket thread: receives, serves handles, sends due packets, sleeps until the next event.

use super::connection_shared_state::{MIN_SPLIT, Peer, Pipe, SetupStage};
use super::host_clock::Clock;
use super::send_errors::SendErrors;
use super::socket_shared_state::{IncomingConnection, SocketThreadState};
use super::udp_offload_socket::{ReceivedBytes, SendOutcome, Udp};
use super::wakeup_coalescing::Coalescing;
use crate::datagram_batch::Batch;
use crate::endpoint::{ConnectError, Endpoint, EndpointEvent, Handle};
use crate::session::{CloseReason, PollResult, SessionEvent, Terms, code};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use thalweg_proto::payload::{Payload as _, Slice};
use thalweg_proto::units::{Duration, Time};

/// Batches sent between two receive attempts.
const SENDS: usize = 4;

/// Maximum bytes received before acknowledging: a few calls with single datagrams, or one call with coalesced ones.
const MAX_RECEIVED_BYTES: usize = 192 << 10;

/// Minimum bytes that one receive call counts as.
const MIN_CALL_BYTES: usize = MAX_RECEIVED_BYTES / 12;

/// Update interval of the counters.
const STATS_INTERVAL: Duration = Duration::from_millis(20);

/// Clock value above which the clock restarts once no connection exists.
const CLOCK_RESTART: Time = Time::from_picos(100 * DAY_PICOS);

/// Clock value above which connections are closed to restart the clock before it overflows.
const LATE_CLOCK: Time = Time::from_picos(200 * DAY_PICOS);

/// Time between two such closures: the old connections take time to close, and the peers may be back before.
const ABANDON_INTERVAL: Duration = Duration::from_secs(86_400);

/// One day, in picoseconds.
const DAY_PICOS: u64 = 86_400 * 1_000_000_000_000;

/// Time for which a dropped socket notifies its peers of the close.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// State of the socket thread.
pub(super) struct Driver {
    /// State shared with handles and with all threads of the socket; index of this thread.
    shared: Arc<SocketThreadState>,
    shards: Vec<Arc<SocketThreadState>>,
    shard: usize,
    udp: Udp,
    endpoint: Endpoint,
    clock: Clock,
    batch: Batch,
    send_errors: SendErrors,
    /// First unsent run of the batch, and the byte offset in it.
    unsent: (usize, usize),
    pipes: HashMap<Handle, LiveConnection>,
    stats_at: Time,
    /// Time of the next closure of all connections for the clock.
    abandon_at: Time,
    end: Option<Time>,
    /// True if data may be available: the last receive did not return empty.
    may_receive: bool,
    /// True if a session changed after it was polled.
    touched: bool,
    /// Spare list for the next notifications.
    spare: Vec<Arc<Pipe>>,
    /// Delivered slices, collected for the connection in `delivering`.
    delivered: Vec<Slice>,
    delivering: Option<Handle>,
    coalescing: Coalescing,
    /// Connections with deliveries that their readers were not yet notified of.
    unnotified: Vec<Arc<Pipe>>,
}

impl Drop for Driver {
    /// Wake all waiters with an error, also after a panic of this thread.
    fn drop(&mut self) {
        let connects = std::mem::take(&mut self.shared.work().connects);
        let pipes =
            self.pipes.drain().map(|(_, live)| live.pipe).chain(connects.into_iter().map(|(_, pipe)| pipe));
        for pipe in pipes {
            let mut state = pipe.lock();
            state.closed.get_or_insert(CloseReason::Here);
            pipe.wake_all(&mut state);
        }
        let mut arrivals = self.shared.accept_queue.arrivals();
        arrivals.has_ended = true;
        if let Some(waker) = arrivals.waker.take() {
            waker.wake();
        }
        self.shared.accept_queue.arrived.notify_all();
    }
}

struct LiveConnection {
    pipe: Arc<Pipe>,
    /// Address of the peer at connection setup.
    remote: SocketAddr,
    stats_at: Time,
}

impl Driver {
    pub fn new(
        shards: Vec<Arc<SocketThreadState>>,
        shard: usize,
        udp: Udp,
        endpoint: Endpoint,
        clock: Clock,
    ) -> Self {
        Self {
            shared: Arc::clone(&shards[shard]),
            shards,
            shard,
            udp,
            endpoint,
            clock,
            batch: Batch::new(),
            send_errors: SendErrors::default(),
            unsent: (0, 0),
            pipes: HashMap::new(),
            stats_at: Time::ZERO,
            abandon_at: LATE_CLOCK,
            end: None,
            may_receive: true,
            touched: false,
            spare: Vec::new(),
            delivered: Vec::new(),
            delivering: None,
            coalescing: Coalescing::default(),
            unnotified: Vec::new(),
        }
    }

    pub fn run(mut self) {
        // The default timer slack is 50 us, the time of many packets.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1000));
        loop {
            let mut now = self.clock.now();
            if now >= CLOCK_RESTART && self.restart_clock(now) {
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
            } else if now.since(self.stats_at) > STATS_INTERVAL {
                self.publish();
                self.stats_at = now;
            }
        }
        self.publish();
    }

    /// Restarts the clock while no connection is affected; near the overflow, always. Returns true if it did.
    fn restart_clock(&mut self, now: Time) -> bool {
        if self.end.is_some() {
            return false;
        }
        // First send what became due during sleep; it may be the last.
        let _ = self.send(now);
        self.events(now);
        if self.endpoint.is_idle() && self.batch.is_empty() {
            self.clock.restart();
            let (before, now) = (now, self.clock.now());
            self.endpoint.restart(before, now);
            self.stats_at = now;
            self.abandon_at = LATE_CLOCK;
            self.coalescing = Coalescing::default();
            return true;
        }
        if now >= self.abandon_at {
            self.abandon_at = now + ABANDON_INTERVAL;
            for handle in self.pipes.keys() {
                self.endpoint.abandon(
                    now,
                    *handle,
                    code::CLOCK_RESTART,
                    "this end has run for 200 days; connect again",
                );
            }
        }
        false
    }

    /// Receives available datagrams and reads the clock for them. Returns false if there were none.
    pub(super) fn receive(&mut self, now: &mut Time) -> bool {
        if !std::mem::replace(&mut self.may_receive, true) {
            return false;
        }
        let (mut taken, mut datagrams) = (0, 0);
        while taken < MAX_RECEIVED_BYTES {
            let (endpoint, clock) = (&mut self.endpoint, &self.clock);
            // Read the clock after the receive call: if the thread was preempted before, delays would look impossibly
            // short.
            let mut read = None;
            let outcome = self.udp.receive(|arrival, stride, received| {
                let arrived = *read.get_or_insert_with(|| clock.now());
                endpoint.receive(arrived, arrival, stride, received, ReceivedBytes::share);
            });
            *now = read.unwrap_or(*now);
            self.pass_on();
            match outcome {
                Ok(outcome) => {
                    taken += outcome.bytes.max(MIN_CALL_BYTES);
                    datagrams += outcome.datagrams;
                    self.may_receive = outcome.may_have_more;
                }
                // A socket error may persist, but the only remedy is that peers time out.
                Err(_) => self.may_receive = false,
            }
            if !self.may_receive {
                break;
            }
        }
        self.coalescing.on_received(datagrams);
        datagrams > 0
    }

    /// Forwards datagrams to the other threads of the socket.
    fn pass_on(&mut self) {
        while let Some((shard, passed)) = self.endpoint.passed() {
            self.shards[shard].pass(passed);
        }
    }

    /// Waits for datagrams, a notification, socket buffer space after a full buffer, or `wake`.
    fn sleep(&mut self, wake: Option<Time>, full: bool) {
        let may_coalesce = !self.endpoint.times_datagrams();
        if self.coalescing.notifies_before_sleep(may_coalesce) {
            self.notify_readers();
        }
        self.shared.asleep.store(true, Ordering::SeqCst);
        let idle = {
            let work = self.shared.work();
            work.is_empty() && (!work.close_all || self.end.is_some())
        };
        if idle {
            let now = self.clock.now();
            // The close notification ends in time, regardless of session timers.
            let wake = wake.into_iter().chain(self.end).min();
            let span = wake.map(|at| at.since(now)).filter(|_| wake != Some(Time::MAX));
            // Statistics must not be stale during sleep.
            self.publish();
            let sleep = self.coalescing.sleep(span, may_coalesce);
            self.may_receive = self.udp.wait(&self.shared.wake_fd, full, sleep).unwrap_or(true);
        }
        self.shared.asleep.store(false, Ordering::SeqCst);
    }

    fn publish(&self) {
        *self.shared.stats.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
            (self.endpoint.stats(), self.udp.stats);
    }

    /// Executes requests of handles. Returns true if there were any.
    fn work(&mut self, now: Time) -> bool {
        let (mut notified, connects, forwarded, trust, close_all) = {
            let mut work = self.shared.work();
            if work.is_empty() && !work.close_all {
                return false;
            }
            let spare = std::mem::take(&mut self.spare);
            let notified = std::mem::replace(&mut work.notified, spare);
            work.forwarded_bytes = 0;
            let forwarded = std::mem::take(&mut work.forwarded);
            (notified, std::mem::take(&mut work.connects), forwarded, work.trust.take(), work.close_all)
        };
        let any = !notified.is_empty() || !connects.is_empty() || !forwarded.is_empty() || trust.is_some();
        if let Some(trust) = trust {
            self.endpoint.set_trust(trust);
        }
        for message in forwarded {
            self.endpoint.take_shard_message(now, message);
        }
        self.pass_on();
        for (connect, pipe) in connects {
            let remote = connect.remote;
            let handle = self.endpoint.connect(now, connect);
            pipe.lock().handle = Some(handle);
            self.pipes.insert(handle, LiveConnection { pipe, remote, stats_at: Time::ZERO });
        }
        for pipe in notified.drain(..) {
            self.serve(now, &pipe);
        }
        self.spare = notified;
        if close_all && self.end.is_none() {
            self.end = Some(now + CLOSE_TIMEOUT);
            self.endpoint.stop_listening();
            for handle in self.pipes.keys() {
                self.endpoint.abandon(now, *handle, code::DONE, "");
            }
            return true;
        }
        any
    }

    /// Moves data from a pipe to its session.
    fn serve(&mut self, now: Time, pipe: &Pipe) {
        let mut state = pipe.lock();
        state.notified = false;
        let Some(handle) = state.handle else { return };
        let close = state.close_requested.take();
        if std::mem::take(&mut state.authorise) {
            self.endpoint.authorise(handle);
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
            let was_full = state.outgoing_bytes >= state.send_buffer / 2;
            state.send_buffer = session.send_buffer_limit().max(MIN_SPLIT);
            let mut room = session.writable_bytes();
            while room > 0
                && let Some(data) = state.pop()
            {
                room = room.saturating_sub(u64::from(data.len()));
                session.write(now, data);
            }
            if was_full && state.outgoing_bytes < state.send_buffer / 2 {
                pipe.wake_writers(&mut state);
            }
        }
        while let Some(datagram) = state.datagrams_out.pop_front() {
            session.send_datagram(datagram);
        }
        if std::mem::take(&mut state.stop_requested) {
            session.stop(now);
        }
        if state.fin_requested && state.outgoing.is_empty() {
            state.fin_requested = false;
            session.finish(now);
        }
        if std::mem::take(&mut state.stats_wanted) && state.closed.is_none() {
            state.stats = session.stats(now);
        }
        if let Some((code, reason)) = close {
            session.close(now, code, &reason);
        }
        drop(state);
        self.endpoint.schedule_poll(handle);
        self.touched = true;
    }

    /// Sends due packets. Returns the wake-up time ([`Time::ZERO`] for at once) and true if the socket buffer is full.
    fn send(&mut self, now: Time) -> (Option<Time>, bool) {
        for _ in 0..SENDS {
            if !self.flush(now) {
                return (None, true);
            }
            match self.endpoint.poll(now, &mut self.batch) {
                PollResult::Full => {}
                PollResult::At(_) if !self.batch.is_empty() => {}
                PollResult::At(at) => return (Some(at), false),
            }
        }
        // More may be due, but receive first.
        (Some(Time::ZERO), false)
    }

    /// Sends the batch. Returns false while the socket buffer is full.
    fn flush(&mut self, now: Time) -> bool {
        while let Some(run) = self.batch.runs().get(self.unsent.0) {
            match self.udp.send(&self.batch, run, self.unsent.1) {
                Ok(SendOutcome::Full(at)) => {
                    self.unsent.1 = at;
                    return false;
                }
                Ok(SendOutcome::TooLarge) => {
                    let datagrams = self.batch.bytes(run);
                    self.endpoint.on_refused(now, run.destination, run.segment_bytes, datagrams);
                }
                Ok(SendOutcome::All) => self.send_errors.on_sent(run.destination),
                // Treat an error as packet loss, but name it if the peer times out.
                Ok(SendOutcome::Failed(number)) => self.send_errors.on_failed(run.destination, number),
                Err(_) => {}
            }
            self.unsent = (self.unsent.0 + 1, 0);
        }
        self.batch.clear();
        self.unsent = (0, 0);
        true
    }

    /// Dispatches events to applications.
    fn events(&mut self, now: Time) {
        while let Some((handle, event)) = self.endpoint.event() {
            // Deliver in batches: a lock per slice would dominate the cost.
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
                        let Terms { service, binding, .. } = session.agreed().clone();
                        let remote = session.remote();
                        let mut state = live.pipe.lock();
                        state.reading = session.reading();
                        state.opening = SetupStage::Open(Peer { key: peer, remote, service, binding });
                        live.pipe.wake_all(&mut state);
                    }
                }
                EndpointEvent::NotConnected(error) => {
                    if let Some(live) = self.pipes.remove(&handle) {
                        let number = self.send_errors.last(live.remote);
                        let mut state = live.pipe.lock();
                        state.opening = SetupStage::Failed(match (error, number) {
                            (ConnectError::NoAnswer, Some(number)) => ConnectError::Unsendable(number),
                            (error, _) => error,
                        });
                        live.pipe.wake_all(&mut state);
                    }
                }
                EndpointEvent::Refused(refusal) => self.shared.accept_queue.arrivals().refuse(*refusal),
                EndpointEvent::Accepted { peer, service, remote, known } => {
                    // A connection that has ended since is accepted and found closed.
                    let session = self.endpoint.session(handle);
                    let binding =
                        session.as_ref().map(|session| session.agreed().binding).unwrap_or_default();
                    let opening = SetupStage::Open(Peer { key: peer, remote, service, binding });
                    let pipe = Pipe::new(self.shard, Some(handle), opening);
                    if let Some(session) = session {
                        pipe.lock().reading = session.reading();
                    }
                    let mut arrivals = self.shared.accept_queue.arrivals();
                    let refusal = match self.end {
                        Some(_) => Some("it is ending"),
                        None => (!arrivals.make_room()).then_some("the accept queue is full"),
                    };
                    if let Some(reason) = refusal {
                        drop(arrivals);
                        self.endpoint.abandon(now, handle, code::BUSY, reason);
                        continue;
                    }
                    arrivals
                        .queue
                        .push_back(IncomingConnection { pipe: Arc::clone(&pipe), is_trusted: known });
                    if let Some(waker) = arrivals.waker.take() {
                        waker.wake();
                    }
                    drop(arrivals);
                    self.shared.accept_queue.arrived.notify_one();
                    self.pipes.insert(handle, LiveConnection { pipe, remote, stats_at: Time::ZERO });
                }
            }
        }
        self.deliver(now);
        if self.coalescing.notifies(now) {
            self.notify_readers();
        }
    }

    /// Notifies blocked readers of deliveries.
    fn notify_readers(&mut self) {
        for pipe in self.unnotified.drain(..) {
            pipe.notify_readers();
        }
    }

    /// Delivers the collected slices to their connection.
    fn deliver(&mut self, now: Time) {
        let Some(handle) = self.delivering.take() else { return };
        let Some(live) = self.pipes.get_mut(&handle) else {
            self.delivered.clear();
            return;
        };
        let mut state = live.pipe.lock();
        if now.since(live.stats_at) > STATS_INTERVAL
            && let Some(session) = self.endpoint.session(handle)
        {
            live.stats_at = now;
            state.stats = session.stats(now);
        }
        self.coalescing.on_delivered(now, self.delivered.iter().map(|piece| u64::from(piece.len())).sum());
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
            self.endpoint.schedule_poll(handle);
            self.touched = true;
        }
    }

    fn session_event(&mut self, now: Time, handle: Handle, event: SessionEvent) {
        let Some(live) = self.pipes.get_mut(&handle) else { return };
        let (pipe, remote) = (Arc::clone(&live.pipe), live.remote);
        let mut state = pipe.lock();
        if (now.since(live.stats_at) > STATS_INTERVAL
            || matches!(
                event,
                SessionEvent::OwnStreamAcknowledged
                    | SessionEvent::PeerStreamEnded { .. }
                    | SessionEvent::Closed(_)
            ))
            && let Some(session) = self.endpoint.session(handle)
        {
            live.stats_at = now;
            state.stats = session.stats(now);
        }
        match event {
            // Delivered in batches above.
            SessionEvent::Delivered(_) => {}
            SessionEvent::Hole { packets } => {
                state.push_hole(packets);
                pipe.wake_readers(&mut state);
            }
            SessionEvent::Datagram(datagram) => pipe.take_datagram(&mut state, datagram),
            SessionEvent::PeerStreamEnded { stopped } => {
                state.stream_end = Some(stopped);
                pipe.wake_readers(&mut state);
            }
            SessionEvent::Writable => {
                drop(state);
                self.serve(now, &pipe);
            }
            SessionEvent::OwnStreamAcknowledged => {
                state.all_acknowledged = true;
                pipe.wake_writers(&mut state);
            }
            SessionEvent::Closed(why) => {
                let remote = self.endpoint.session(handle).map_or(remote, |session| session.remote());
                state.closed = Some(match (why, self.send_errors.last(remote)) {
                    (CloseReason::Silent, Some(number)) => CloseReason::Unsendable(number),
                    (why, _) => why,
                });
                state.outgoing.clear();
                state.outgoing_bytes = 0;
                let is_forgotten = state.closed == Some(CloseReason::Here);
                pipe.wake_all(&mut state);
                drop(state);
                if is_forgotten {
                    // A connection closed locally must not be accepted.
                    self.shared
                        .accept_queue
                        .arrivals()
                        .queue
                        .retain(|arrived| !Arc::ptr_eq(&arrived.pipe, &pipe));
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
                state.closed.get_or_insert(CloseReason::Here);
                live.pipe.wake_all(&mut state);
            }
        }
        is_over
    }
}
