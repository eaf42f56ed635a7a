//! The thread of one endpoint of a flow with a [host model](HostSpec).

use crate::components::packet_pool::EndpointIndex;
use crate::host_model::{COALESCED_PACKETS, HostSpec};
use std::collections::{BTreeMap, VecDeque};
use thalweg_proto::random::RandomStream;
use thalweg_proto::resequencer::{Release, Resequencer, ResequencerConfig};
use thalweg_proto::units::{Bytes, Duration, Time};

/// Minimum time slice of the scheduler.
const SHORTEST_TURN: Duration = Duration::from_micros(1);

/// Result of resequencing a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResequencingResult {
    /// Deliver at once: packets are not resequenced.
    AtOnce,
    /// Buffered until it is in order.
    Waits,
    /// A duplicate, or already considered lost.
    Again,
}

/// A thread that sleeps, runs a round, or spends the cost of one.
#[derive(Debug)]
pub(crate) struct Thread {
    spec: HostSpec,
    sigma: f64,
    stream: RandomStream,
    /// Packets in the socket buffer, and their bytes.
    pub arrived: VecDeque<(EndpointIndex, u32)>,
    bytes: u64,
    /// Endpoints to poll.
    pub ready_endpoints: VecDeque<EndpointIndex>,
    /// Time of the next round; [`Time::MAX`] if none is needed.
    next_round: Time,
    in_round: bool,
    /// End of the last round's cost.
    busy_until: Time,
    /// Number of packets received since its last sleep.
    packets_received: usize,
    /// Work left until the next preemption.
    until_preemption: Duration,
    /// Resequencer of each endpoint, if the scheme [needs order](Self::keep_order).
    orders: Option<BTreeMap<EndpointIndex, Resequencer<u32>>>,
}

impl Thread {
    /// Returns a sleeping thread that draws from `stream`.
    pub fn new(spec: HostSpec, mut stream: RandomStream) -> Self {
        let until_preemption = stream.exponential_duration(spec.preemption_every);
        Self {
            spec,
            sigma: spec.sigma(),
            stream,
            arrived: VecDeque::new(),
            bytes: 0,
            ready_endpoints: VecDeque::new(),
            next_round: Time::MAX,
            in_round: false,
            busy_until: Time::ZERO,
            packets_received: 0,
            until_preemption,
            orders: None,
        }
    }

    /// Returns a placeholder thread of the same cost that is never woken.
    pub fn placeholder(&self) -> Self {
        Self::new(self.spec, self.stream.clone())
    }

    /// Resequences packets for endpoints, as live transports do for schemes that need order.
    #[must_use]
    pub fn keep_order(mut self, is_needed: bool) -> Self {
        self.orders = is_needed.then(BTreeMap::new);
        self
    }

    /// Starts an endpoint whose first packet has this number; drops the buffered packets of the previous endpoint in
    /// its slot.
    pub fn expect(&mut self, endpoint: EndpointIndex, first: u32) -> Vec<u32> {
        let Some(orders) = &mut self.orders else { return Vec::new() };
        let fresh = Resequencer::new(ResequencerConfig::default(), u64::from(first));
        orders.insert(endpoint, fresh).map_or_else(Vec::new, Resequencer::into_held)
    }

    /// Resequences a packet with this number for an endpoint; returns it if it need not wait.
    pub fn put_in_order(
        &mut self,
        now: Time,
        endpoint: EndpointIndex,
        serial: u32,
        packet: u32,
    ) -> ResequencingResult {
        let Some(order) = self.orders.as_mut().and_then(|orders| orders.get_mut(&endpoint)) else {
            return ResequencingResult::AtOnce;
        };
        // Serial numbers wrap.
        let offset = serial.wrapping_sub(order.next() as u32) as i32;
        let number = order.next().saturating_add_signed(i64::from(offset));
        if order.insert(now, number, packet).is_none() {
            ResequencingResult::Waits
        } else {
            ResequencingResult::Again
        }
    }

    /// Returns the next in-order packet for an endpoint.
    pub fn next_in_order(&mut self, now: Time, endpoint: EndpointIndex) -> Option<u32> {
        let order = self.orders.as_mut()?.get_mut(&endpoint)?;
        loop {
            if let Release::Item(packet) = order.poll(now)? {
                return Some(packet);
            }
        }
    }

    /// Returns the end of the wait for the current gap in an endpoint's resequencer.
    pub fn gap_ends(&self, now: Time, endpoint: EndpointIndex) -> Option<Time> {
        self.orders.as_ref()?.get(&endpoint)?.timeout(now)
    }

    /// Returns the host model.
    pub fn spec(&self) -> &HostSpec {
        &self.spec
    }

    /// Puts a packet of `size` bytes into the socket buffer. Returns false if the buffer is full: the packet is lost.
    pub fn accept(&mut self, endpoint: EndpointIndex, packet: u32, size: u32) -> bool {
        let bytes = self.bytes + u64::from(size);
        let fits = Bytes::new(bytes) <= self.spec.buffer;
        if fits {
            self.bytes = bytes;
            self.arrived.push_back((endpoint, packet));
        }
        fits
    }

    /// Wakes the thread; returns the time of the round that handles the work, unless one is scheduled already.
    pub fn wake(&mut self, now: Time) -> Option<Time> {
        if self.in_round || self.next_round != Time::MAX {
            return None;
        }
        let begins = if now < self.busy_until {
            self.busy_until
        } else {
            let sleeps = if self.packets_received >= COALESCED_PACKETS {
                self.spec.coalescing
            } else {
                Duration::ZERO
            };
            self.packets_received = 0;
            now.max(self.busy_until + sleeps) + self.lateness()
        };
        self.next_round = begins;
        Some(begins)
    }

    /// Starts a round if it is due.
    pub fn begin(&mut self, now: Time) -> bool {
        let is_due = self.next_round == now;
        if is_due {
            self.next_round = Time::MAX;
            self.in_round = true;
        }
        is_due
    }

    /// Returns the next packet that arrived before this round; `size` returns its size.
    pub fn take(&mut self, size: impl FnOnce(u32) -> u32) -> Option<(EndpointIndex, u32, u32)> {
        let (endpoint, packet) = self.arrived.pop_front()?;
        let size = size(packet);
        self.bytes -= u64::from(size);
        self.packets_received += 1;
        Some((endpoint, packet, size))
    }

    /// Ends a round of this cost; returns the time of the next if work is left.
    pub fn end(&mut self, now: Time, cost: Duration) -> Option<Time> {
        self.in_round = false;
        self.busy_until = now + cost + self.time_preempted(cost);
        let is_done = self.arrived.is_empty() && self.ready_endpoints.is_empty();
        if is_done { None } else { self.wake(now) }
    }

    fn lateness(&mut self) -> Duration {
        if self.sigma == 0.0 {
            return self.spec.wake_up_latency;
        }
        self.spec.wake_up_latency.mul_f64(libm::exp(self.sigma * self.stream.normal()))
    }

    /// Returns the time lost to preemption during this work.
    fn time_preempted(&mut self, mut work: Duration) -> Duration {
        let mut preemption = Duration::ZERO;
        while !self.spec.preemption_every.is_zero() && work >= self.until_preemption {
            work = work.saturating_sub(self.until_preemption);
            preemption += self.stream.exponential_duration(self.spec.preemption);
            // A lower bound limits the number of draws in a round.
            self.until_preemption =
                self.stream.exponential_duration(self.spec.preemption_every).max(SHORTEST_TURN);
        }
        self.until_preemption = self.until_preemption.saturating_sub(work);
        preemption
    }
}
