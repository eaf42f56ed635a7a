//! The thread that works for one end of a flow, where its host is [described](HostSpec).

use crate::parts::packet::EndpointId;
use crate::thread::{HostSpec, MANY};
use std::collections::{BTreeMap, VecDeque};
use thalweg_proto::random::Stream;
use thalweg_proto::resequence::{Release, Resequencer, Tolerance};
use thalweg_proto::units::{Bytes, Duration, Time};

/// The shortest turn that a scheduler gives a thread.
const SHORTEST_TURN: Duration = Duration::from_micros(1);

/// The place that a packet was given among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placed {
    /// Before all: nothing is put in order.
    AtOnce,
    /// Its turn comes.
    Waits,
    /// It came before, or is taken for lost.
    Again,
}

/// A thread that sleeps, or is in a round, or works off the cost of one.
#[derive(Debug)]
pub(crate) struct Thread {
    spec: HostSpec,
    sigma: f64,
    stream: Stream,
    /// Packets in the socket, and their bytes.
    pub came: VecDeque<(EndpointId, u32)>,
    bytes: u64,
    /// Endpoints that want to be polled.
    pub ready: VecDeque<EndpointId>,
    /// The time of the next round; [`Time::MAX`] while there is no reason for one.
    begins: Time,
    in_round: bool,
    /// The cost of the last round is worked off.
    busy_until: Time,
    /// Packets taken since it slept last.
    taken: usize,
    /// The work after which the system runs something else for a while.
    until_away: Duration,
    /// Packets that wait for those before them, by the endpoint that they are for, where the scheme [needs order](Self::keep_order).
    orders: Option<BTreeMap<EndpointId, Resequencer<u32>>>,
}

impl Thread {
    /// A thread that sleeps, and draws from `stream`.
    pub fn new(spec: HostSpec, mut stream: Stream) -> Self {
        let until_away = stream.exponential_duration(spec.away_every);
        Self {
            spec,
            sigma: spec.sigma(),
            stream,
            came: VecDeque::new(),
            bytes: 0,
            ready: VecDeque::new(),
            begins: Time::MAX,
            in_round: false,
            busy_until: Time::ZERO,
            taken: 0,
            until_away,
            orders: None,
        }
    }

    /// A thread of the same cost that is never woken.
    pub fn stand_in(&self) -> Self {
        Self::new(self.spec, self.stream.clone())
    }

    /// Puts packets in order before endpoints have them, as live transports do for schemes that assume it.
    #[must_use]
    pub fn keep_order(mut self, is_needed: bool) -> Self {
        self.orders = is_needed.then(BTreeMap::new);
        self
    }

    /// An endpoint begins, and the first packet for it has this number: what waits for the one before, whose place it takes.
    pub fn expect(&mut self, endpoint: EndpointId, first: u32) -> Vec<u32> {
        let Some(orders) = &mut self.orders else { return Vec::new() };
        let fresh = Resequencer::new(Tolerance::default(), u64::from(first));
        orders.insert(endpoint, fresh).map_or_else(Vec::new, Resequencer::into_held)
    }

    /// Takes a packet with this number for an endpoint: it is given back where it is not to wait for others.
    pub fn put_in_order(&mut self, now: Time, endpoint: EndpointId, serial: u32, packet: u32) -> Placed {
        let Some(order) = self.orders.as_mut().and_then(|orders| orders.get_mut(&endpoint)) else {
            return Placed::AtOnce;
        };
        // Numbers go round.
        let ahead = serial.wrapping_sub(order.next() as u32) as i32;
        let number = order.next().saturating_add_signed(i64::from(ahead));
        if order.insert(now, number, packet).is_none() { Placed::Waits } else { Placed::Again }
    }

    /// The next packet for an endpoint whose turn it is.
    pub fn next_in_order(&mut self, now: Time, endpoint: EndpointId) -> Option<u32> {
        let order = self.orders.as_mut()?.get_mut(&endpoint)?;
        loop {
            if let Release::Item(packet) = order.poll(now)? {
                return Some(packet);
            }
        }
    }

    /// The time at which a gap before the packets of an endpoint is given up.
    pub fn gap_ends(&self, now: Time, endpoint: EndpointId) -> Option<Time> {
        self.orders.as_ref()?.get(&endpoint)?.timeout(now)
    }

    /// The host that it runs on.
    pub fn spec(&self) -> &HostSpec {
        &self.spec
    }

    /// Takes a packet of `size` bytes into the socket. False where that has no room: the packet is lost.
    pub fn accept(&mut self, endpoint: EndpointId, packet: u32, size: u32) -> bool {
        let bytes = self.bytes + u64::from(size);
        let fits = Bytes::new(bytes) <= self.spec.buffer;
        if fits {
            self.bytes = bytes;
            self.came.push_back((endpoint, packet));
        }
        fits
    }

    /// There is something to do: the time at which the round begins that sees to it, unless that is known already.
    pub fn rouse(&mut self, now: Time) -> Option<Time> {
        if self.in_round || self.begins != Time::MAX {
            return None;
        }
        let begins = if now < self.busy_until {
            self.busy_until
        } else {
            let sleeps = if self.taken >= MANY { self.spec.coalescing } else { Duration::ZERO };
            self.taken = 0;
            now.max(self.busy_until + sleeps) + self.lateness()
        };
        self.begins = begins;
        Some(begins)
    }

    /// A round begins, if this is its time.
    pub fn begin(&mut self, now: Time) -> bool {
        let is_due = self.begins == now;
        if is_due {
            self.begins = Time::MAX;
            self.in_round = true;
        }
        is_due
    }

    /// The next packet of those that have come before this round; `size` tells how large one is.
    pub fn take(&mut self, size: impl FnOnce(u32) -> u32) -> Option<(EndpointId, u32, u32)> {
        let (endpoint, packet) = self.came.pop_front()?;
        let size = size(packet);
        self.bytes -= u64::from(size);
        self.taken += 1;
        Some((endpoint, packet, size))
    }

    /// A round ends that cost so much: the time of the next, where there is something left to do.
    pub fn end(&mut self, now: Time, cost: Duration) -> Option<Time> {
        self.in_round = false;
        self.busy_until = now + cost + self.time_away(cost);
        let is_done = self.came.is_empty() && self.ready.is_empty();
        if is_done { None } else { self.rouse(now) }
    }

    fn lateness(&mut self) -> Duration {
        if self.sigma == 0.0 {
            return self.spec.late;
        }
        self.spec.late.mul_f64(libm::exp(self.sigma * self.stream.normal()))
    }

    /// The time for which the system runs something else during so much work.
    fn time_away(&mut self, mut work: Duration) -> Duration {
        let mut away = Duration::ZERO;
        while !self.spec.away_every.is_zero() && work >= self.until_away {
            work = work.saturating_sub(self.until_away);
            away += self.stream.exponential_duration(self.spec.away);
            // Never so short that a round has more of them than can be drawn.
            self.until_away = self.stream.exponential_duration(self.spec.away_every).max(SHORTEST_TURN);
        }
        self.until_away = self.until_away.saturating_sub(work);
        away
    }
}
