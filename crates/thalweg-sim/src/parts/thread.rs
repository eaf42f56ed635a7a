//! The thread that works for one end of a flow, where its host is [described](HostSpec).

use crate::parts::packet::EndpointId;
use crate::thread::{HostSpec, MANY};
use std::collections::VecDeque;
use thalweg_proto::random::Stream;
use thalweg_proto::units::{Bytes, Duration, Time};

/// The shortest turn that a scheduler gives a thread.
const SHORTEST_TURN: Duration = Duration::from_micros(1);

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
        }
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
