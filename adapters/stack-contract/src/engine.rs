//! One end of a connection of a stack, as an engine.

use crate::byte_pattern;
use crate::datagram::Datagram;
use crate::hang_watchdog::{StackId, guard_call};
use crate::scheme::{Config, IP_AND_UDP};
use crate::stack_trait::{Connection, Side, Stack, State, Stats, Transmit};
use core::fmt;
use core::marker::PhantomData;
use std::collections::VecDeque;
use thalweg_proto::endpoint::{End as Endpoint, Notice};
use thalweg_proto::payload::Payload;
use thalweg_proto::transport::{
    ComponentKind, ContractViolation, Event, Failure, Input, Limit, LimitClock, ReceiverCounts, SenderStats,
    ViolationKind,
};
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::{Ecn, Engine, Output};
use thalweg_stack_random::Generator;

/// Maximum number of timer expiries at one instant without a datagram; a stack that is still due then asks for the past.
const MAX_EXPIRIES: u32 = 64;
/// Maximum number of timers within [`QUIET`] without a datagram: a timer each nanosecond would not let the run end.
const MAX_QUIET_TIMERS: u32 = 1 << 16;
const QUIET: Duration = Duration::from_secs(1);
/// Maximum number of transmissions when a connection closes: its data has been acknowledged.
const MAX_CLOSING: u32 = 1 << 10;
/// Maximum number of datagrams in a row above the MTU. Path MTU discovery sends a few, between others (RFC 8899).
const MAX_OVERSIZED: u32 = 32;
/// Maximum number of bytes beyond two send buffers that a stack may accept without a datagram: unlimited data would have no end.
const MAX_UNPACKED: u64 = 64 << 20;
/// Maximum size of an IP packet, in bytes.
const MAX_PACKET: u32 = 65_535;
/// Maximum bytes of one transmission: as many as the kernel takes with generic segmentation offload, and one datagram.
const MAX_TRANSMISSION: usize = 64 << 10;
/// Maximum bytes taken from the stack at a time.
const MAX_READ: usize = 256 << 10;
/// Unread bytes at which a slow application stops reading from the stack.
const MAX_UNREAD: u64 = 64 << 10;

/// One end of a connection.
pub struct End<S: Stack, P> {
    config: Config,
    side: Side,
    generator: Generator,
    watched: StackId,
    /// `None` until the first input or poll.
    connection: Option<S::Connection>,
    /// Datagrams of the latest transmission, and its buffer.
    outgoing: VecDeque<(Box<[u8]>, Ecn)>,
    buffer: Vec<u8>,
    events: VecDeque<Event<P>>,
    /// True if the stack may have something to do, beside its timer.
    is_due: bool,
    /// The requested time of the next poll.
    wake: Time,
    /// True after the last event.
    is_over: bool,
    is_paused: bool,
    /// Bytes given to the stack, and bytes that it has not accepted yet.
    written: u64,
    unsent: u64,
    /// Bytes accepted since the latest datagram.
    unpacked: u64,
    is_finishing: bool,
    is_finished: bool,
    /// True if the application is to be asked for more once everything is accepted.
    is_wanting: bool,
    /// Bytes delivered, and bytes that the application has consumed; it reads slowly if `waits_for_reading`.
    delivered: u64,
    consumed: u64,
    waits_for_reading: bool,
    /// Expiries at the latest instant with one, and datagrams above the MTU in a row.
    expired_at: Time,
    expiries: u32,
    oversized: u32,
    /// Timers since this time without a datagram, and the latest of them.
    quiet_timers: u32,
    quiet_since: Time,
    counted: Time,
    sent: u64,
    arrived_packets: u64,
    arrived_bytes: u64,
    limits: LimitClock,
    payload: PhantomData<fn() -> P>,
}

impl<S: Stack, P> fmt::Debug for End<S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} {:?}", S::NAME, self.side, self.connection)
    }
}

impl<S: Stack, P: Payload> End<S, P> {
    pub(crate) fn new(side: Side, config: Config, waits_for_reading: bool) -> Self {
        Self {
            config,
            side,
            generator: Generator::new(0),
            watched: StackId::new(S::NAME),
            connection: None,
            outgoing: VecDeque::new(),
            buffer: Vec::new(),
            events: VecDeque::new(),
            is_due: true,
            wake: Time::MAX,
            is_over: false,
            is_paused: false,
            written: 0,
            unsent: 0,
            unpacked: 0,
            is_finishing: false,
            is_finished: false,
            is_wanting: false,
            delivered: 0,
            consumed: 0,
            waits_for_reading,
            expired_at: Time::ZERO,
            expiries: 0,
            oversized: 0,
            quiet_timers: 0,
            quiet_since: Time::ZERO,
            counted: Time::ZERO,
            sent: 0,
            arrived_packets: 0,
            arrived_bytes: 0,
            limits: LimitClock::default(),
            payload: PhantomData,
        }
    }

    /// Calls the stack, with random numbers of this connection.
    fn call<R>(&mut self, now: Time, call: impl FnOnce(&mut S::Connection) -> R) -> R {
        let Self { config, side, generator, watched, connection, .. } = self;
        guard_call(*watched, now, || {
            thalweg_stack_random::with_generator(generator, || {
                let connection = connection.get_or_insert_with(|| S::open(*side, config, now));
                call(connection)
            })
        })
    }

    /// Opens the connection. Connections that follow each other in one place differ by their time.
    fn open(&mut self, now: Time) {
        if self.connection.is_none() {
            let seed =
                thalweg_stack_random::with_generator(&mut self.generator, thalweg_stack_random::random_bits);
            self.generator = Generator::new(seed.unwrap_or_default() ^ now.as_picos());
            self.call(now, |_| ());
        }
    }

    /// Ends the connection and the run.
    fn violate(&mut self, kind: ViolationKind) {
        let violation = ContractViolation { component: ComponentKind::Engine, name: S::NAME, kind };
        self.end(Event::Failed(Failure::ContractViolation(violation)));
    }

    /// Ends the connection with this event.
    fn end(&mut self, event: Event<P>) {
        if !core::mem::replace(&mut self.is_over, true) {
            self.events.push_back(event);
        }
    }

    /// Lets the stack act on its expired timers. Returns the time of the next one.
    fn expire(&mut self, now: Time) -> Option<Time> {
        loop {
            let at = self.call(now, |connection| connection.timeout(now))?;
            if at > now {
                return Some(at);
            }
            if self.expired_at != now {
                (self.expired_at, self.expiries) = (now, 0);
            }
            self.expiries += 1;
            if self.expiries > MAX_EXPIRIES {
                self.violate(ViolationKind::TimeoutPast);
                return None;
            }
            self.call(now, |connection| connection.on_timeout(now));
            self.is_due = true;
        }
    }

    /// Counts a timer. Panics at the maximum without a datagram.
    fn count_timer(&mut self, now: Time) {
        if core::mem::replace(&mut self.counted, self.wake) == self.wake {
            return;
        }
        if now > self.quiet_since + QUIET {
            (self.quiet_since, self.quiet_timers) = (now, 0);
        }
        self.quiet_timers += 1;
        assert!(
            self.quiet_timers <= MAX_QUIET_TIMERS,
            "requested {MAX_QUIET_TIMERS} timeouts since {} without a datagram",
            self.quiet_since
        );
    }

    /// Gives the stack the bytes that it accepts.
    fn write(&mut self, now: Time) {
        while self.unsent > 0 {
            let length = usize::try_from(self.unsent).unwrap_or(usize::MAX).min(byte_pattern::MAX_PIECE);
            let bytes = byte_pattern::pattern_bytes(self.written, length);
            let accepted = self.call(now, |connection| connection.write(now, bytes));
            assert!(accepted <= bytes.len(), "accepted {accepted} of {} bytes", bytes.len());
            if accepted == 0 {
                return;
            }
            self.unpacked += accepted as u64;
            // Acknowledgements may empty a full buffer once before the next datagram.
            assert!(
                self.unpacked <= 2 * self.config.buffer + MAX_UNPACKED,
                "accepted {} bytes without a datagram; its buffer has {}",
                self.unpacked,
                self.config.buffer
            );
            self.written += accepted as u64;
            self.unsent -= accepted as u64;
        }
        if self.is_finishing {
            if !core::mem::replace(&mut self.is_finished, true) {
                self.call(now, |connection| connection.finish(now));
            }
        } else if core::mem::take(&mut self.is_wanting) {
            self.events.push_back(Event::Writable);
        }
    }

    /// Takes arrived bytes from the stack, and compares them with those written.
    fn read(&mut self, now: Time) {
        let unread = self.delivered - self.consumed;
        let max = match self.waits_for_reading {
            true => MAX_UNREAD.saturating_sub(unread) as usize,
            false => MAX_READ,
        };
        let (mut length, mut is_right, offset) = (0, true, self.delivered);
        self.call(now, |connection| {
            if max > 0 {
                connection.read(now, max, &mut |bytes| {
                    is_right &= byte_pattern::matches_pattern(offset + length, bytes);
                    length += bytes.len() as u64;
                });
            }
        });
        if !is_right {
            return self.violate(ViolationKind::DeliveredOther);
        }
        if length > 0 {
            self.delivered += length;
            self.is_due = true;
            // At most `max`, unless the stack passed on more.
            self.events.push_back(Event::Delivered(P::blank(u32::try_from(length).unwrap_or(u32::MAX))));
        }
    }

    /// Takes the datagrams of one transmission from the stack. Returns false after the last.
    fn transmit(&mut self, now: Time) -> bool {
        let mut buffer = core::mem::take(&mut self.buffer);
        buffer.clear();
        let transmit = self.call(now, |connection| connection.transmit(now, &mut buffer));
        if let Some(Transmit { ecn, segment, .. }) = transmit {
            // A burst may take many calls.
            (self.expiries, self.unpacked) = (0, 0);
            (self.quiet_since, self.quiet_timers) = (now, 0);
            let segment = segment.unwrap_or(buffer.len());
            if buffer.is_empty()
                || segment == 0
                || segment > MAX_PACKET as usize
                || buffer.len() > MAX_TRANSMISSION + segment
            {
                self.violate(ViolationKind::PduSize);
            } else {
                let ecn = if self.config.ecn { ecn } else { Ecn::NotEct };
                for datagram in buffer.chunks(segment) {
                    self.queue(datagram, ecn);
                }
            }
        }
        self.buffer = buffer;
        transmit.is_some_and(|transmit| !transmit.is_last)
    }

    /// Queues a datagram, if the path carries its size.
    fn queue(&mut self, datagram: &[u8], ecn: Ecn) {
        // At most 64 KiB.
        let size = datagram.len() as u32 + if S::IS_IP { 0 } else { IP_AND_UDP };
        if size <= self.config.mtu {
            self.oversized = 0;
            self.outgoing.push_back((datagram.into(), ecn));
            return;
        }
        self.oversized += 1;
        if size > MAX_PACKET || self.oversized > MAX_OVERSIZED {
            self.violate(ViolationKind::PduSize);
        }
    }

    /// Acts on the state of the stack.
    fn follow(&mut self, now: Time) {
        match self.call(now, Connection::state) {
            State::Open => {}
            State::Finished if self.side == Side::Client && self.is_finished => {
                self.call(now, |connection| connection.close(now));
                // The last datagrams are those of the close.
                let mut transmissions = 0;
                while !self.is_over && self.transmit(now) {
                    transmissions += 1;
                    if transmissions > MAX_CLOSING {
                        self.outgoing.clear();
                        self.violate(ViolationKind::NeverIdle);
                    }
                }
                self.end(Event::Finished);
            }
            // The client ends a connection; a server that fails is noticed there.
            State::Finished | State::Closed if self.side == Side::Server => {}
            State::Failed(_) if self.side == Side::Server => {}
            State::Finished | State::Closed => self.end(Event::Failed(Failure::ClosedByPeer)),
            State::Failed(failure) => self.end(Event::Failed(failure)),
        }
    }

    /// Returns the current limit: the application or the gate, and otherwise the stack's window or its pacing. A stack that
    /// does not report its bytes in flight counts as limited by its window.
    fn limit_now(&self) -> Option<Limit> {
        if self.is_paused {
            return Some(Limit::Paused);
        }
        if self.unsent == 0 {
            return (!self.is_finished).then_some(Limit::Application);
        }
        let stats = self.stats();
        let is_full = match stats.window.zip(stats.in_flight) {
            Some((window, in_flight)) => in_flight.saturating_add(u64::from(stats.mtu)) > window,
            None => true,
        };
        Some(if is_full { Limit::CongestionWindow } else { Limit::Pacing })
    }

    fn stats(&self) -> Stats {
        self.connection.as_ref().map(Connection::stats).unwrap_or_default()
    }
}

impl<S: Stack, P: Payload> Engine for End<S, P> {
    type Pdu = Datagram<P>;
    type Input = Input<Datagram<P>, P>;
    type Event = Event<P>;
    type Reason = ();

    fn handle(&mut self, now: Time, input: Self::Input) {
        if self.is_over {
            return;
        }
        self.open(now);
        self.is_due = true;
        match input {
            Input::Pdu { pdu, ecn } => {
                self.arrived_packets += 1;
                (self.quiet_since, self.quiet_timers) = (now, 0);
                self.arrived_bytes += u64::from(pdu.size());
                let ecn = if self.config.ecn { ecn } else { Ecn::NotEct };
                self.call(now, |connection| connection.receive(now, pdu.bytes(), ecn));
            }
            Input::Write(data) if !self.is_finishing => {
                self.unsent += u64::from(data.len());
                self.is_wanting = true;
            }
            Input::Finish => self.is_finishing = true,
            Input::Stop => (self.unsent, self.is_finishing) = (0, true),
            Input::Consumed(bytes) => self.consumed = (self.consumed + bytes).min(self.delivered),
            Input::Pause => self.is_paused = true,
            Input::Resume => self.is_paused = false,
            Input::Write(_) | Input::Feedback(_) => {}
        }
    }

    fn poll(&mut self, now: Time) -> Output<Datagram<P>, Event<P>, ()> {
        self.open(now);
        if now >= self.wake {
            self.is_due = true;
            self.count_timer(now);
        }
        loop {
            if !self.is_paused
                && let Some((bytes, ecn)) = self.outgoing.pop_front()
            {
                self.sent += 1;
                return Output::Transmit(Datagram::new(
                    &bytes,
                    ecn,
                    self.side == Side::Client,
                    S::IS_IP,
                    S::PORT,
                ));
            }
            if let Some(event) = self.events.pop_front() {
                return Output::Event(event);
            }
            if self.is_over {
                self.limits.change(now, None);
                return Output::Idle;
            }
            let next = self.expire(now);
            if self.is_over {
                continue;
            }
            if !core::mem::take(&mut self.is_due) {
                let limit = self.limit_now();
                self.limits.change(now, limit);
                self.wake = next.unwrap_or(Time::MAX);
                return next.map_or(Output::Idle, |at| Output::Timeout { at, reason: () });
            }
            match self.side {
                Side::Client if !self.is_paused => self.write(now),
                Side::Client => {}
                Side::Server => self.read(now),
            }
            if !self.is_over && !self.is_paused && self.transmit(now) {
                self.is_due = true;
            }
            if !self.is_over {
                self.follow(now);
            }
        }
    }
}

impl<S: Stack, P: Payload> Endpoint for End<S, P> {
    fn sender_stats(&self, now: Time) -> Option<SenderStats> {
        if self.side == Side::Server {
            return None;
        }
        let stats = self.stats();
        let packet = f64::from(if stats.mtu > 0 { stats.mtu } else { self.config.mtu });
        let packets = |bytes: u64| bytes as f64 / packet;
        Some(SenderStats {
            window: stats.window.map(packets),
            ssthresh: stats.ssthresh.map(packets),
            in_flight: stats.in_flight.map_or(0, |bytes| packets(bytes).ceil() as u32),
            pacing_rate: stats.pacing_rate,
            smoothed_rtt: stats.smoothed_rtt,
            min_rtt: stats.min_rtt,
            sent: self.sent,
            retransmissions: stats.lost,
            timeouts: stats.timeouts,
            limits: self.limits.held(now),
            ..SenderStats::default()
        })
    }

    fn receiver_counts(&self) -> ReceiverCounts {
        match self.side {
            Side::Client => ReceiverCounts::default(),
            Side::Server => ReceiverCounts {
                packets: self.arrived_packets,
                payload: self.delivered,
                framing: self.arrived_bytes.saturating_sub(self.delivered),
            },
        }
    }

    fn backlog(&self) -> u64 {
        self.unsent
    }

    fn limit(&self) -> Option<Limit> {
        self.limits.current()
    }

    fn notify(&mut self, notice: Notice) {
        if let Notice::RandomStream(mut stream) = notice {
            self.generator = Generator::new(stream.next_u64());
        }
    }
}
