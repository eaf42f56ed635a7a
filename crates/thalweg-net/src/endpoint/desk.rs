//! The desk of a socket: what all that come to it may cost together, on however many threads it is served.
//!
//! A socket may have several members, each an [`Endpoint`](super::Endpoint) with a thread and a system socket of its own. A connection
//! belongs to one of them, which the last byte of its id tells ([`ConnectionId::member`]), so that the system can find it
//! whatever the address of the peer. Handshakes belong to none: any member begins one, with an id of the member that has
//! fewest connections, and that member takes the confirm. So half-open handshakes, the cookies that were spent, the shares of
//! addresses, the memory that connections were promised and the rate of resets are here, behind one lock that nothing but
//! handshakes, ends of connections and packets of nobody take. An endpoint by itself is a member of a desk of its own.
//!
//! Members may start their clocks anew at different times, which those of the desk go on through, in circles of
//! [`ROUND`]: when one is over, rates and spent cookies begin anew with it.

use super::half_open::{HANDSHAKE, HalfOpen, IN_A_CROWD};
use super::interface::{Handle, Limits};
use super::shares::Shares;
use crate::bucket::Bucket;
use crate::cookie::{Cookies, Spent};
use crate::handshake::Responder;
use crate::identity::Entropy;
use crate::session::STRANGER_MEMORY;
use crate::wire::ConnectionId;
use core::hash::{Hash, Hasher};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use thalweg_proto::digest::Digest;
use thalweg_proto::units::{Duration, Time};

/// The most members of a socket: as many as a byte tells apart with next to no difference in their shares.
pub const MOST_MEMBERS: usize = 64;

/// The desk's clock begins anew after so many nanoseconds: 200 days.
const ROUND: u64 = 200 * 86_400 * 1_000_000_000;

/// Resets that are sent in a second, and at once.
const RESETS: u32 = 100;

/// The common part of the endpoints of one socket.
#[derive(Debug)]
pub struct Desk {
    members: usize,
    /// The system brings packets to the member that their connection id tells; else to one that their addresses tell.
    is_steered: bool,
    limits: Limits,
    pub(super) cookies: Cookies,
    /// The bytes that connections may have waiting for their applications, all together.
    promised: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The latest time that any member has told.
    latest: Time,
    half_open: HalfOpen<ConnectionId>,
    openings: BTreeMap<ConnectionId, Opening>,
    /// The same by when they began.
    by_age: BTreeSet<(Time, ConnectionId)>,
    /// The handshakes that clients' hellos belong to.
    hellos: HashMap<Hello, ConnectionId>,
    spent: Spent,
    resets: Bucket,
    /// Connections that clients have made.
    accepted: usize,
    /// Connections and half-open handshakes of each member.
    loads: Vec<usize>,
    /// Clients about whom the application has not decided, by member.
    strangers: Shares<(usize, Handle)>,
    /// The members of which peers call a connection so. The last one has it.
    remotes: HashMap<ConnectionId, usize>,
}

/// The identity of a handshake that a client began. Who reads the path and changes a hello on its way begins one of his own,
/// beside that of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Hello {
    pub remote: SocketAddr,
    pub source: ConnectionId,
    /// The hash of the first message.
    first: [u8; 32],
}

impl Hello {
    pub fn new(remote: SocketAddr, source: ConnectionId, first: &[u8]) -> Self {
        Self { remote, source, first: *blake3::hash(first).as_bytes() }
    }
}

/// A handshake with a client that has shown no more than that it receives at its address, or not even that.
#[derive(Debug)]
struct Opening {
    hello: Hello,
    /// A cookie has proved the address.
    is_proved: bool,
    begun: Time,
    /// None while a member works on it.
    begins: Option<Begun>,
}

/// The state of a half-open handshake, and what the hello was answered with.
#[derive(Debug)]
pub(super) struct Begun {
    pub responder: Responder,
    pub response: Vec<u8>,
}

/// The answer to a hello with a good cookie, or with none.
pub(super) enum Greeting {
    /// It has been answered with this, or is about to be.
    Known(Option<Vec<u8>>),
    /// Another cookie has to come first: this one has made its handshake, or there is none, and one is needed.
    NeedsCookie,
    /// There is no room, or this address has had its share.
    Full,
    /// A handshake is begun, of a connection with this id. Another may have been forgotten for it.
    Begin { local: ConnectionId, forgotten: bool },
}

impl Desk {
    /// That of a socket with so many members, at least one; of one that `is_steered` each packet comes to the member that its
    /// connection id tells.
    pub fn new(
        now: Time,
        limits: Limits,
        members: usize,
        is_steered: bool,
        entropy: &mut dyn Entropy,
    ) -> Self {
        let members = members.clamp(1, MOST_MEMBERS);
        Self {
            members,
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
                spent: Spent::default(),
                resets: Bucket::new(now, RESETS),
                accepted: 0,
                loads: vec![0; members],
                strangers: Shares::new(limits.strangers),
                remotes: HashMap::new(),
            }),
        }
    }

    /// The number of members.
    pub fn members(&self) -> usize {
        self.members
    }

    /// The desk's time of a member whose clock shows `now` and has shown `ahead` nanoseconds in all before it was started anew.
    pub(super) fn time(now: Time, ahead: u64) -> Time {
        let nanos = (now.as_picos() / 1000).wrapping_add(ahead) % ROUND;
        Time::from_picos(nanos * 1000)
    }

    /// The state at `now`, which is no earlier than what it was told before; that time, too.
    fn at(&self, now: Time) -> (MutexGuard<'_, State>, Time) {
        let mut state = self.state();
        if state.latest.since(now) > Duration::from_secs(86_400) {
            state.renew(now, &self.limits);
        }
        state.latest = state.latest.max(now);
        let now = state.latest;
        (state, now)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What a member that has panicked leaves is whole: no step of this module can fail between two changes.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Half-open handshakes that there are.
    pub(super) fn half_open(&self) -> usize {
        self.state().openings.len()
    }

    /// True for a connection id that a half-open handshake has.
    pub(super) fn is_half_open(&self, id: ConnectionId) -> bool {
        self.state().openings.contains_key(&id)
    }

    /// Takes a hello whose cookie is good, or that has none. `draw` makes an id for a member.
    pub(super) fn greet(
        &self,
        now: Time,
        member: usize,
        hello: Hello,
        cookie: Option<&[u8]>,
        mut draw: impl FnMut(usize) -> ConnectionId,
    ) -> Greeting {
        let (mut guard, now) = self.at(now);
        let state = &mut *guard;
        if let Some(id) = state.hellos.get(&hello) {
            // The response was lost, or the client has had two cookies, or one for a copy of what was answered without.
            if let Some(cookie) = cookie {
                state.spent.add(now, cookie);
            }
            let begun = state.openings.get(id).and_then(|opening| opening.begins.as_ref());
            return Greeting::Known(begun.map(|begun| begun.response.clone()));
        }
        if cookie.is_some_and(|cookie| state.spent.contains(cookie)) {
            return Greeting::NeedsCookie;
        }
        let is_full = state.accepted >= self.limits.connections
            || self.promised.load(Ordering::Relaxed) + STRANGER_MEMORY > self.limits.memory;
        let mut oldest = None;
        if let Some(cookie) = cookie {
            if is_full || !state.half_open.may_begin(now, hello.remote) {
                return Greeting::Full;
            }
            state.spent.add(now, cookie);
            oldest = state.half_open.shares.make_room();
        } else if is_full
            // A late copy, whose handshake has become a connection.
            || state.remotes.contains_key(&hello.source)
            || !state.half_open.may_begin_unproved(now)
        {
            return Greeting::NeedsCookie;
        }
        let forgotten = oldest.is_some();
        if let Some(id) = oldest {
            state.forget(id);
        }
        let least =
            state.loads.iter().enumerate().min_by_key(|(_, load)| **load).map_or(0, |(least, _)| least);
        let owner = if self.is_steered { least } else { member };
        let local = loop {
            let id = draw(owner);
            if !state.openings.contains_key(&id) {
                break id;
            }
        };
        let is_proved = cookie.is_some();
        state.openings.insert(local, Opening { hello, is_proved, begun: now, begins: None });
        state.by_age.insert((now, local));
        state.half_open.add(now, hello.remote, is_proved, local);
        state.hellos.insert(hello, local);
        state.loads[owner] += 1;
        Greeting::Begin { local, forgotten }
    }

    /// The work on a handshake was done, or came to nothing, and somebody else may go on with it.
    pub(super) fn put_back(&self, local: ConnectionId, begun: Begun) {
        if let Some(opening) = self.state().openings.get_mut(&local) {
            opening.begins = Some(begun);
        }
    }

    /// Forgets a handshake.
    pub(super) fn forget(&self, local: ConnectionId) {
        self.state().forget(local);
    }

    /// The handshake that a confirm from `from` belongs to, to be worked on. Forgeries end no handshake. What each but the
    /// first costs is taken from what its address may cost.
    pub(super) fn take(&self, now: Time, local: ConnectionId, from: SocketAddr) -> Option<(Hello, Begun)> {
        let (mut guard, now) = self.at(now);
        let state = &mut *guard;
        let opening = state.openings.get_mut(&local)?;
        let is_spoilt = opening.begins.as_ref()?.responder.is_spoilt();
        if is_spoilt && !state.half_open.may_begin(now, from) {
            return None;
        }
        opening.begins.take().map(|begun| (opening.hello, begun))
    }

    /// A handshake has become a connection, which its peer calls `remote`. False if it was forgotten meanwhile.
    pub(super) fn accept(&self, local: ConnectionId, remote: ConnectionId) -> bool {
        let mut state = self.state();
        let is_there = state.forget(local);
        if is_there {
            let member = local.member(self.members);
            state.accepted += 1;
            state.loads[member] += 1;
            // At once: no copy of the hello is to find neither handshake nor connection.
            if self.members > 1 {
                state.remotes.insert(remote, member);
            }
        }
        is_there
    }

    /// A connection that a client made has ended.
    pub(super) fn leave(&self, member: usize) {
        let mut state = self.state();
        state.accepted -= 1;
        state.loads[member] -= 1;
    }

    /// Forgets the handshakes whose time is over. When to look again, from now on.
    pub(super) fn expire(&self, now: Time) -> Option<Duration> {
        let (mut guard, now) = self.at(now);
        let state = &mut *guard;
        while let Some(&(begun, id)) = state.by_age.first() {
            let age = now.since(begun);
            if age < HANDSHAKE && (age < IN_A_CROWD || !state.half_open.is_crowded()) {
                break;
            }
            state.forget(id);
        }
        let &(oldest, _) = state.by_age.first()?;
        let over = HANDSHAKE - now.since(oldest);
        let young = state.by_age.iter().find(|(begun, _)| now.since(*begun) < IN_A_CROWD);
        Some(young.map_or(over, |(begun, _)| over.min(IN_A_CROWD - now.since(*begun))))
    }

    /// One reset, if one may be sent.
    pub(super) fn may_reset(&self, now: Time) -> bool {
        let (mut state, now) = self.at(now);
        state.resets.take(now)
    }

    /// One more stranger, whom a member calls so; the one who goes for it, if one has to.
    pub(super) fn take_in(
        &self,
        now: Time,
        from: SocketAddr,
        who: (usize, Handle),
    ) -> Option<(usize, Handle)> {
        let (mut state, now) = self.at(now);
        let other = state.strangers.make_room();
        state.strangers.add(now, from, who);
        other
    }

    /// One who is no stranger any more, or gone.
    pub(super) fn let_go(&self, from: SocketAddr, who: (usize, Handle)) {
        self.state().strangers.remove(from, who);
    }

    /// Promises memory out of what is left beside that which all others have at least: as much as `of` says of it.
    pub(super) fn promise(&self, of: impl Fn(u64) -> u64) -> u64 {
        let most = self.limits.memory - self.limits.memory / 4;
        let mut granted = 0;
        // Nothing is written where nothing is wanted: the others read it.
        let _ = self.promised.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |promised| {
            granted = of(most.saturating_sub(promised));
            (granted > 0).then(|| promised + granted)
        });
        granted
    }

    /// So many bytes that were promised to one are now others.
    pub(super) fn settle(&self, before: u64, after: u64) {
        if after >= before {
            self.promised.fetch_add(after - before, Ordering::Relaxed);
        } else {
            self.promised.fetch_sub(before - after, Ordering::Relaxed);
        }
    }

    /// A peer calls a connection of this member so.
    pub(super) fn name(&self, remote: ConnectionId, member: usize) {
        if self.members > 1 {
            self.state().remotes.insert(remote, member);
        }
    }

    /// The connection is gone.
    pub(super) fn unname(&self, remote: ConnectionId, member: usize) {
        if self.members > 1 {
            let mut state = self.state();
            if state.remotes.get(&remote) == Some(&member) {
                state.remotes.remove(&remote);
            }
        }
    }

    /// The member of which a peer calls a connection so.
    pub(super) fn named(&self, remote: ConnectionId) -> Option<usize> {
        if self.members > 1 { self.state().remotes.get(&remote).copied() } else { None }
    }

    pub(super) fn digest<H: Hasher>(&self, now: Time, into: &mut H) {
        let state = self.state();
        state.spent.digest(now, into);
        state.openings.len().hash(into);
        for (local, Opening { hello, is_proved, begun, .. }) in &state.openings {
            (local, hello, is_proved, now.since(*begun)).hash(into);
        }
    }
}

impl State {
    /// A round of the clock is over.
    fn renew(&mut self, now: Time, limits: &Limits) {
        self.latest = now;
        self.half_open.renew(now, limits);
        self.spent = Spent::default();
        self.resets = Bucket::new(now, RESETS);
        self.by_age.clear();
        for (id, opening) in &mut self.openings {
            opening.begun = now;
            self.by_age.insert((now, *id));
        }
    }

    /// Forgets a handshake. False if there is none.
    fn forget(&mut self, local: ConnectionId) -> bool {
        let Some(opening) = self.openings.remove(&local) else { return false };
        self.by_age.remove(&(opening.begun, local));
        self.half_open.remove(opening.hello.remote, opening.is_proved, local);
        self.hellos.remove(&opening.hello);
        let member = local.member(self.loads.len());
        self.loads[member] -= 1;
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

    fn greet(desk: &Desk, now: Time) -> Greeting {
        let client = "192.0.2.1:5".parse().unwrap();
        let hello = Hello::new(client, ConnectionId([1; 8]), b"first");
        desk.greet(now, 0, hello, Some(&[1; 24]), |member| ConnectionId([7; 8]).of_member(member, 2))
    }

    #[test]
    fn clocks_that_are_started_anew_change_no_rate_and_leave_nothing_behind() {
        let desk = Desk::new(Time::ZERO, Limits::default(), 2, true, &mut SystemEntropy::new());
        // One member's clock shows a hundred days, and the other's was started anew then.
        let mut resets = 0;
        for milli in 0..1000 {
            for now in [Desk::time(at(100, milli), 0), Desk::time(at(0, milli), 100 * DAY)] {
                resets += u32::from(desk.may_reset(now));
            }
        }
        assert!((198..=200).contains(&resets), "{resets}: a hundred at once, and a hundred in a second");
        // A handshake is begun just before the desk's clock goes round.
        let last = Desk::time(at(99, 86_399_999), 100 * DAY);
        assert!(matches!(greet(&desk, last), Greeting::Begin { .. }));
        assert!(matches!(greet(&desk, last), Greeting::Known(None)));
        let next = |millis| Desk::time(at(0, millis), 200 * DAY);
        assert_eq!(desk.expire(next(5)), Some(IN_A_CROWD));
        assert_eq!((desk.half_open(), desk.expire(next(20_005)), desk.half_open()), (1, None, 0));
        assert!(
            matches!(greet(&desk, next(20_006)), Greeting::Begin { .. }),
            "the cookie was of the round before"
        );
    }

    #[test]
    fn ids_belong_to_the_member_that_they_were_made_for() {
        for members in 1..=MOST_MEMBERS {
            for byte in 0..=255 {
                let id = ConnectionId([byte; 8]);
                (0..members)
                    .for_each(|member| assert_eq!(id.of_member(member, members).member(members), member));
            }
        }
    }
}
