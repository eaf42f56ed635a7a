//! Shared listener state: handshakes and resource limits common to all shards of a socket.
//!
//! A socket may have several shards. Each is an [`Endpoint`](super::Endpoint) with its own thread and system socket. A
//! connection belongs to one shard, encoded in the last byte of its id ([`ConnectionId::shard`]), so the system can
//! steer packets whatever the peer's address. Handshakes belong to no shard: any shard begins one, and the shard of the
//! id takes the confirm. The id is of the shard with the fewest connections and handshakes if the system steers packets
//! by it, and otherwise of the shard that begins. The shared state holds half-open handshakes, spent cookies, the shares
//! of addresses, the numbers of connections, the shards of remote ids, the reset rate and the reserved connection memory.
//! The memory is an atomic counter; a lock protects everything else that changes. Handshakes, beginnings and ends of
//! connections, authorisations, packets of unknown connections and queries of the number of handshakes take the lock;
//! other packets of connections do not. A stand-alone endpoint is the only shard of its own shared state.
//!
//! Shards may restart their clocks at different times. The clock of the shared state continues through these restarts
//! and wraps every [`CLOCK_PERIOD`]; rates and spent cookies are then reset.

use super::fair_slots::Shares;
use super::half_open_handshakes::{CONTENDED_TIMEOUT, HANDSHAKE_TIMEOUT, HalfOpen};
use super::settings_and_events::{Handle, Limits};
use crate::cookie::{Cookies, UsedCookies};
use crate::handshake::Responder;
use crate::identity::Entropy;
use crate::peer_rate_limits::Bucket;
use crate::session::UNAUTHENTICATED_MEMORY;
use crate::wire::ConnectionId;
use core::hash::{Hash, Hasher};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use thalweg_proto::state_digest::Digest;
use thalweg_proto::units::{Duration, Time};

/// Maximum number of shards of a socket. One byte distinguishes this many with almost equal shares.
pub const MAX_SHARDS: usize = 64;

/// Wrap-around period of the shared clock, in nanoseconds: 200 days.
const CLOCK_PERIOD: u64 = 200 * 86_400 * 1_000_000_000;

/// Maximum reset rate, in resets per second; also the burst size.
const MAX_RESET_RATE: u32 = 100;

/// State shared by the endpoints of one socket.
#[derive(Debug)]
pub struct ListenerState {
    shards: usize,
    /// True if the system steers packets by connection id; otherwise it steers by address.
    is_steered: bool,
    limits: Limits,
    pub(super) cookies: Cookies,
    /// Receive memory reserved by all connections together, in bytes.
    promised: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Latest time reported by any shard.
    latest: Time,
    half_open: HalfOpen<ConnectionId>,
    openings: BTreeMap<ConnectionId, HalfOpenHandshake>,
    /// The same handshakes by start time.
    by_age: BTreeSet<(Time, ConnectionId)>,
    /// Handshakes by client hello.
    hellos: HashMap<Hello, ConnectionId>,
    used_cookies: UsedCookies,
    resets: Bucket,
    /// Number of connections initiated by clients.
    accepted: usize,
    /// Number of connections and half-open handshakes per shard.
    loads: Vec<usize>,
    /// Clients not yet authorised by the application, by shard.
    unauthenticated: Shares<(usize, Handle)>,
    /// Shards by the remote ids of their connections. The latest registration wins.
    remotes: HashMap<ConnectionId, usize>,
}

/// Identity of a client handshake. An on-path attacker that modifies a hello starts a handshake of its own, beside the
/// client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Hello {
    pub remote: SocketAddr,
    pub source: ConnectionId,
    /// Hash of the first message.
    first: [u8; 32],
}

impl Hello {
    pub fn new(remote: SocketAddr, source: ConnectionId, first: &[u8]) -> Self {
        Self { remote, source, first: *blake3::hash(first).as_bytes() }
    }
}

/// Half-open handshake: at most the address of the client is validated.
#[derive(Debug)]
struct HalfOpenHandshake {
    hello: Hello,
    /// True if a cookie has validated the address.
    is_validated: bool,
    start_time: Time,
    /// Handshake state; `None` while a shard works on it.
    handshake: Option<BegunHandshake>,
}

/// State of a half-open handshake, and the response to its hello.
#[derive(Debug)]
pub(super) struct BegunHandshake {
    pub responder: Responder,
    pub response: Vec<u8>,
}

/// Outcome of a hello with a valid cookie, or without one.
pub(super) enum HelloOutcome {
    /// Known handshake, with its response; `None` if the response is still being computed.
    Known(Option<Vec<u8>>),
    /// A cookie is required: the hello has none, or its cookie was already used for a handshake.
    NeedsCookie,
    /// No room, or the address has used up its share.
    Full,
    /// New handshake, for a connection with this id. `forgotten` is true if another one was evicted for it.
    Begin { local: ConnectionId, forgotten: bool },
}

impl ListenerState {
    /// Creates the shared state of a socket with at least one shard. With `is_steered`, each packet reaches the shard
    /// encoded in its connection id.
    pub fn new(
        now: Time,
        limits: Limits,
        shards: usize,
        is_steered: bool,
        entropy: &mut dyn Entropy,
    ) -> Self {
        let shards = shards.clamp(1, MAX_SHARDS);
        Self {
            shards,
            is_steered,
            limits,
            cookies: Cookies::new(entropy),
            promised: AtomicU64::new(0),
            state: Mutex::new(State {
                latest: now,
                half_open: HalfOpen::new(now, &limits),
                openings: BTreeMap::new(),
                by_age: BTreeSet::new(),
                hellos: HashMap::new(),
                used_cookies: UsedCookies::default(),
                resets: Bucket::new(now, MAX_RESET_RATE),
                accepted: 0,
                loads: vec![0; shards],
                unauthenticated: Shares::new(limits.unauthenticated),
                remotes: HashMap::new(),
            }),
        }
    }

    /// Returns the number of shards.
    pub fn shards(&self) -> usize {
        self.shards
    }

    /// Converts a shard's time to the shared clock. The shard's clock shows `now`, and has shown `clock_offset` nanoseconds in
    /// all before its restarts.
    pub(super) fn time(now: Time, clock_offset: u64) -> Time {
        let nanos = (now.as_picos() / 1000).wrapping_add(clock_offset) % CLOCK_PERIOD;
        Time::from_picos(nanos * 1000)
    }

    /// Locks the state at `now`, and returns it with the shared time, which never goes backwards.
    fn at(&self, now: Time) -> (MutexGuard<'_, State>, Time) {
        let mut state = self.state();
        if state.latest.since(now) > Duration::from_secs(86_400) {
            state.on_clock_restart(now, &self.limits);
        }
        state.latest = state.latest.max(now);
        let now = state.latest;
        (state, now)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is consistent even after a shard panicked: no step of this module can fail between two changes.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of half-open handshakes.
    pub(super) fn half_open(&self) -> usize {
        self.state().openings.len()
    }

    /// Returns true if a half-open handshake has this connection id.
    pub(super) fn is_half_open(&self, id: ConnectionId) -> bool {
        self.state().openings.contains_key(&id)
    }

    /// Processes a hello with a valid cookie, or without one. `draw` generates an id for a shard.
    pub(super) fn process_hello(
        &self,
        now: Time,
        shard: usize,
        hello: Hello,
        cookie: Option<&[u8]>,
        mut draw: impl FnMut(usize) -> ConnectionId,
    ) -> HelloOutcome {
        let (mut guard, now) = self.at(now);
        let state = &mut *guard;
        if let Some(id) = state.hellos.get(&hello) {
            // The response was lost, or the client received two cookies, or one for a copy of a hello answered without.
            if let Some(cookie) = cookie {
                state.used_cookies.add(now, cookie);
            }
            let begun = state.openings.get(id).and_then(|opening| opening.handshake.as_ref());
            return HelloOutcome::Known(begun.map(|begun| begun.response.clone()));
        }
        if cookie.is_some_and(|cookie| state.used_cookies.contains(cookie)) {
            return HelloOutcome::NeedsCookie;
        }
        let is_full = state.accepted >= self.limits.connections
            || self.promised.load(Ordering::Relaxed) + UNAUTHENTICATED_MEMORY > self.limits.memory;
        let mut oldest = None;
        if let Some(cookie) = cookie {
            if is_full || !state.half_open.may_begin(now, hello.remote) {
                return HelloOutcome::Full;
            }
            state.used_cookies.add(now, cookie);
            oldest = state.half_open.shares.make_room();
        } else if is_full
            // A late copy of a hello whose handshake has become a connection.
            || state.remotes.contains_key(&hello.source)
            || !state.half_open.may_begin_unvalidated(now)
        {
            return HelloOutcome::NeedsCookie;
        }
        let forgotten = oldest.is_some();
        if let Some(id) = oldest {
            state.forget(id);
        }
        let min = state.loads.iter().enumerate().min_by_key(|(_, load)| **load).map_or(0, |(min, _)| min);
        let owner = if self.is_steered { min } else { shard };
        let local = loop {
            let id = draw(owner);
            if !state.openings.contains_key(&id) {
                break id;
            }
        };
        let is_validated = cookie.is_some();
        state
            .openings
            .insert(local, HalfOpenHandshake { hello, is_validated, start_time: now, handshake: None });
        state.by_age.insert((now, local));
        state.half_open.add(now, hello.remote, is_validated, local);
        state.hellos.insert(hello, local);
        state.loads[owner] += 1;
        HelloOutcome::Begin { local, forgotten }
    }

    /// Returns a handshake after work on it succeeded or failed, so another shard can continue.
    pub(super) fn put_back(&self, local: ConnectionId, begun: BegunHandshake) {
        if let Some(opening) = self.state().openings.get_mut(&local) {
            opening.handshake = Some(begun);
        }
    }

    /// Removes a handshake.
    pub(super) fn forget(&self, local: ConnectionId) {
        self.state().forget(local);
    }

    /// Takes out the handshake of a confirm from `from`, to process it. Forged confirms end no handshake. Each confirm
    /// after the first is charged to the budget of its address.
    pub(super) fn take(
        &self,
        now: Time,
        local: ConnectionId,
        from: SocketAddr,
    ) -> Option<(Hello, BegunHandshake)> {
        let (mut guard, now) = self.at(now);
        let state = &mut *guard;
        let opening = state.openings.get_mut(&local)?;
        let has_read_forgery = opening.handshake.as_ref()?.responder.has_read_forgery();
        if has_read_forgery && !state.half_open.may_begin(now, from) {
            return None;
        }
        opening.handshake.take().map(|begun| (opening.hello, begun))
    }

    /// Turns a handshake into a connection with the peer's id `remote`. Returns false if the handshake was removed
    /// meanwhile.
    pub(super) fn accept(&self, local: ConnectionId, remote: ConnectionId) -> bool {
        let mut state = self.state();
        let is_there = state.forget(local);
        if is_there {
            let shard = local.shard(self.shards);
            state.accepted += 1;
            state.loads[shard] += 1;
            // Register at once, so a copy of the hello always finds either the handshake or the connection.
            if self.shards > 1 {
                state.remotes.insert(remote, shard);
            }
        }
        is_there
    }

    /// Removes a client's connection.
    pub(super) fn leave(&self, shard: usize) {
        let mut state = self.state();
        state.accepted -= 1;
        state.loads[shard] -= 1;
    }

    /// Removes expired handshakes. Returns the time until the next check.
    pub(super) fn expire(&self, now: Time) -> Option<Duration> {
        let (mut guard, now) = self.at(now);
        let state = &mut *guard;
        while let Some(&(begun, id)) = state.by_age.first() {
            let age = now.since(begun);
            if age < HANDSHAKE_TIMEOUT && (age < CONTENDED_TIMEOUT || !state.half_open.is_contended()) {
                break;
            }
            state.forget(id);
        }
        let &(oldest, _) = state.by_age.first()?;
        let over = HANDSHAKE_TIMEOUT - now.since(oldest);
        let young = state.by_age.iter().find(|(begun, _)| now.since(*begun) < CONTENDED_TIMEOUT);
        Some(young.map_or(over, |(begun, _)| over.min(CONTENDED_TIMEOUT - now.since(*begun))))
    }

    /// Takes one reset from the rate limit, if available.
    pub(super) fn may_reset(&self, now: Time) -> bool {
        let (mut state, now) = self.at(now);
        state.resets.take(now)
    }

    /// Registers an unauthenticated peer; returns the evicted one, if any.
    pub(super) fn register_peer(
        &self,
        now: Time,
        from: SocketAddr,
        who: (usize, Handle),
    ) -> Option<(usize, Handle)> {
        let (mut state, now) = self.at(now);
        let other = state.unauthenticated.make_room();
        state.unauthenticated.add(now, from, who);
        other
    }

    /// Removes a peer that was authorised or has closed.
    pub(super) fn remove_peer(&self, from: SocketAddr, who: (usize, Handle)) {
        self.state().unauthenticated.remove(from, who);
    }

    /// Reserves memory. `of` maps what remains after the guaranteed minimum of all connections to the amount.
    pub(super) fn promise(&self, of: impl Fn(u64) -> u64) -> u64 {
        let max = self.limits.memory - self.limits.memory / 4;
        let mut granted = 0;
        // Without a reservation, avoid the write: other shards read this cache line.
        let _ = self.promised.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |promised| {
            granted = of(max.saturating_sub(promised));
            (granted > 0).then(|| promised + granted)
        });
        granted
    }

    /// Adjusts a connection's memory reservation.
    pub(super) fn adjust_memory_reservation(&self, before: u64, after: u64) {
        if after >= before {
            self.promised.fetch_add(after - before, Ordering::Relaxed);
        } else {
            self.promised.fetch_sub(before - after, Ordering::Relaxed);
        }
    }

    /// Registers the remote id of a connection of this shard.
    pub(super) fn register_id(&self, remote: ConnectionId, shard: usize) {
        if self.shards > 1 {
            self.state().remotes.insert(remote, shard);
        }
    }

    /// Removes the remote id of a closed connection.
    pub(super) fn unregister_id(&self, remote: ConnectionId, shard: usize) {
        if self.shards > 1 {
            let mut state = self.state();
            if state.remotes.get(&remote) == Some(&shard) {
                state.remotes.remove(&remote);
            }
        }
    }

    /// Returns the shard of the connection with this remote id.
    pub(super) fn named(&self, remote: ConnectionId) -> Option<usize> {
        if self.shards > 1 { self.state().remotes.get(&remote).copied() } else { None }
    }

    pub(super) fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        let state = self.state();
        state.used_cookies.feed_state(now, into);
        state.openings.len().hash(into);
        for (local, HalfOpenHandshake { hello, is_validated, start_time: begun, .. }) in &state.openings {
            (local, hello, is_validated, now.since(*begun)).hash(into);
        }
    }
}

impl State {
    /// Resets rates and spent cookies when the shared clock wraps.
    fn on_clock_restart(&mut self, now: Time, limits: &Limits) {
        self.latest = now;
        self.half_open.on_clock_restart(now, limits);
        self.used_cookies = UsedCookies::default();
        self.resets = Bucket::new(now, MAX_RESET_RATE);
        self.by_age.clear();
        for (id, opening) in &mut self.openings {
            opening.start_time = now;
            self.by_age.insert((now, *id));
        }
    }

    /// Removes a handshake. Returns false if there is none.
    fn forget(&mut self, local: ConnectionId) -> bool {
        let Some(opening) = self.openings.remove(&local) else { return false };
        self.by_age.remove(&(opening.start_time, local));
        self.half_open.remove(opening.hello.remote, opening.is_validated, local);
        self.hellos.remove(&opening.hello);
        let shard = local.shard(self.loads.len());
        self.loads[shard] -= 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::SystemEntropy;

    const DAY: u64 = 86_400_000_000_000;

    fn at(days: u64, millis: u64) -> Time {
        Time::from_picos(days * DAY * 1000) + Duration::from_millis(millis)
    }

    fn process_hello(listener: &ListenerState, now: Time) -> HelloOutcome {
        let client = "192.0.2.1:5".parse().unwrap();
        let hello = Hello::new(client, ConnectionId([1; 8]), b"first");
        listener
            .process_hello(now, 0, hello, Some(&[1; 24]), |shard| ConnectionId([7; 8]).with_shard(shard, 2))
    }

    #[test]
    fn clocks_that_are_started_anew_change_no_rate_and_leave_nothing_behind() {
        let listener = ListenerState::new(Time::ZERO, Limits::default(), 2, true, &mut SystemEntropy::new());
        // One shard's clock shows a hundred days; the other's was restarted then.
        let mut resets = 0;
        for milli in 0..1000 {
            for now in [ListenerState::time(at(100, milli), 0), ListenerState::time(at(0, milli), 100 * DAY)]
            {
                resets += u32::from(listener.may_reset(now));
            }
        }
        assert!((198..=200).contains(&resets), "{resets}: a hundred at once, and a hundred in a second");
        // A handshake begins just before the shared clock wraps.
        let last = ListenerState::time(at(99, 86_399_999), 100 * DAY);
        assert!(matches!(process_hello(&listener, last), HelloOutcome::Begin { .. }));
        assert!(matches!(process_hello(&listener, last), HelloOutcome::Known(None)));
        let next = |millis| ListenerState::time(at(0, millis), 200 * DAY);
        assert_eq!(listener.expire(next(5)), Some(CONTENDED_TIMEOUT));
        assert_eq!((listener.half_open(), listener.expire(next(20_005)), listener.half_open()), (1, None, 0));
        assert!(
            matches!(process_hello(&listener, next(20_006)), HelloOutcome::Begin { .. }),
            "the cookie was of the round before"
        );
    }

    #[test]
    fn connection_ids_encode_their_shard() {
        for shards in 1..=MAX_SHARDS {
            for byte in 0..=255 {
                let id = ConnectionId([byte; 8]);
                (0..shards).for_each(|shard| assert_eq!(id.with_shard(shard, shards).shard(shards), shard));
            }
        }
    }
}
