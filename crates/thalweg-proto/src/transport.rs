//! Interface of engines: inputs, events, failures, statistics, and the limits of senders.
//!
//! All protocol families share these types. One driver runs them all, and gates and router feedback work with each.

use crate::Ecn;
use crate::units::{Duration, Rate, Time};
use core::convert::Infallible;
use core::fmt;

/// An input of an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub enum Input<Pdu, Data> {
    /// A PDU arrived from the peer.
    Pdu {
        /// The PDU.
        pdu: Pdu,
        /// ECN codepoint of the packet on arrival; a set DEC bit counts as CE.
        ecn: Ecn,
    },
    /// The application hands over data to send.
    Write(Data),
    /// The application will write no more; queued data is still sent.
    Finish,
    /// The application will write no more and withdraws unsent data.
    Stop,
    /// The application consumed this many bytes of delivered data, which reopens the receive window (only where the
    /// receiver does not count delivery as consumption).
    Consumed(u64),
    /// Feedback of a router about this flow.
    Feedback(Feedback),
    /// A gate pauses the flow: no data leaves until [`Input::Resume`]. Acknowledgements, timers and all other state
    /// continue.
    Pause,
    /// The gate resumes the flow.
    Resume,
}

impl<Pdu, Data> Input<Pdu, Data> {
    /// Splits the input into a PDU with its ECN codepoint, or a command.
    ///
    /// # Errors
    ///
    /// Returns the command where the input is no PDU.
    #[inline]
    pub fn into_pdu(self) -> Result<(Pdu, Ecn), Command<Data>> {
        Err(match self {
            Self::Pdu { pdu, ecn } => return Ok((pdu, ecn)),
            Self::Write(data) => Input::Write(data),
            Self::Finish => Input::Finish,
            Self::Stop => Input::Stop,
            Self::Consumed(bytes) => Input::Consumed(bytes),
            Self::Feedback(feedback) => Input::Feedback(feedback),
            Self::Pause => Input::Pause,
            Self::Resume => Input::Resume,
        })
    }
}

/// Input from the application or a gate, without PDUs.
pub type Command<Data> = Input<Infallible, Data>;

impl<Data> Command<Data> {
    /// Converts the command into an input of an endpoint with PDUs.
    #[inline]
    pub fn into_input<Pdu>(self) -> Input<Pdu, Data> {
        match self {
            Self::Write(data) => Input::Write(data),
            Self::Finish => Input::Finish,
            Self::Stop => Input::Stop,
            Self::Consumed(bytes) => Input::Consumed(bytes),
            Self::Feedback(feedback) => Input::Feedback(feedback),
            Self::Pause => Input::Pause,
            Self::Resume => Input::Resume,
            Self::Pdu { pdu, .. } => match pdu {},
        }
    }
}

/// Explicit feedback of a router to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// Sequence number of the dropped data, in the numbering of the flow's protocol; `None` for a warning without a
    /// loss (the SEIF thesis writes -1).
    pub dropped: Option<u64>,
    /// Rate granted to the flow, for schemes that ration.
    pub rate: Option<Rate>,
    /// Opaque identifier of the queue that sent the feedback.
    pub queue: u32,
}

/// An event that an endpoint reports to its application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<Data> {
    /// Data for the application: in order and exactly once for a reliable transport, as received for datagrams.
    Delivered(Data),
    /// This many packets are missing here and will not come; the application tolerates such holes.
    Hole {
        /// Number of missing packets.
        packets: u32,
    },
    /// All written data has been sent at least once; the application may write more.
    Writable,
    /// The peer has received everything, after [`Input::Finish`].
    Finished,
    /// A congestion signal at the sender, for a gate at the source node.
    Congestion(Signal),
    /// The transport gave up and sends nothing more.
    Failed(Failure),
}

/// The kind of a congestion signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signal {
    /// The retransmission timer expired.
    Timeout,
    /// The third duplicate acknowledgement, or the equivalent by selective acknowledgement.
    Duplicates,
    /// An acknowledgement reported a congestion mark.
    Mark,
    /// Feedback of a router.
    Feedback,
}

/// Reason for the failure of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The same data was sent the maximum number of times without an answer.
    TooManyRetransmissions,
    /// The peer was silent for longer than allowed.
    NoAnswer,
    /// The peer closed or refused the connection.
    Released,
    /// The endpoints disagreed on the data sent, and data was lost.
    Desynchronised,
    /// The peer acknowledged unsent data, or reported fewer congestion marks than before.
    FalseAcknowledgement,
    /// A third-party component violated its contract.
    ContractViolation(ContractViolation),
}

/// A contract violation of a third-party component. The transport cannot continue after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContractViolation {
    /// Kind of component.
    pub component: ComponentKind,
    /// Name of the component.
    pub by: &'static str,
    /// Kind of violation.
    pub kind: ViolationKind,
}

impl fmt::Display for ContractViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let component = match self.component {
            ComponentKind::Controller => "controller",
            ComponentKind::Engine => "engine",
        };
        write!(f, "the {component} `{}` {}", self.by, self.kind.in_words())
    }
}

/// A component that may be external.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ComponentKind {
    /// A congestion controller.
    Controller,
    /// An engine.
    Engine,
}

/// A violation of the contract of [`Controller`](crate::congestion::Controller), or of [`Engine`](crate::Engine).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ViolationKind {
    /// It panicked.
    Panicked,
    /// It raised an exception in another language.
    Raised,
    /// Its window is not a number.
    WindowNotANumber,
    /// Its window is below one segment.
    WindowTooSmall,
    /// Its window is beyond 2^30 segments.
    WindowTooLarge,
    /// Its pacing rate is zero.
    NoRate,
    /// Its burst is zero.
    NoBurst,
    /// It asks to be polled at a time in the past.
    TimeoutPast,
    /// It requests an endless series of actions at one instant.
    NeverIdle,
    /// It delivers more data than arrived.
    DeliveredMore,
    /// It delivers other bytes than its peer was given.
    DeliveredOther,
    /// Its PDU is empty or larger than the path MTU.
    PduSize,
}

impl ViolationKind {
    /// Returns a description of the violation, to follow the component's name.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Panicked => "panicked",
            Self::Raised => "raised an exception",
            Self::WindowNotANumber => "returned a window that is not a number",
            Self::WindowTooSmall => "returned a window below one segment",
            Self::WindowTooLarge => "returned a window above 2^30 segments",
            Self::NoRate => "returned a pacing rate of zero; `None` disables pacing",
            Self::NoBurst => "returned a burst of zero segments",
            Self::TimeoutPast => "returned a timeout in the past",
            Self::NeverIdle => "requested actions without end at one instant",
            Self::DeliveredMore => "delivered more bytes than it received",
            Self::DeliveredOther => "delivered other bytes than were written",
            Self::PduSize => "sent an empty PDU, or one above the path's maximum size",
        }
    }
}

/// Reason that a sender cannot send more at a given moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// The application has nothing to send.
    Application,
    /// The congestion window is full.
    CongestionWindow,
    /// The receiver's window is full.
    ReceiverWindow,
    /// The pacing rate delays the next packet.
    Pacing,
    /// Loss recovery holds back new data.
    Network,
    /// A gate paused the flow.
    Paused,
    /// All outstanding data, or all answers to it, were lost: the sender waits for its retransmission timer. Covers the
    /// time from the last packet sent or received to the expiry, and from there to the next answer.
    RetransmissionTimer,
}

impl Limit {
    /// The number of limits.
    pub const COUNT: usize = 7;

    /// Every limit, in the order of [`Limit::index`].
    pub const ALL: [Self; Self::COUNT] = [
        Self::CongestionWindow,
        Self::ReceiverWindow,
        Self::Pacing,
        Self::Application,
        Self::Network,
        Self::Paused,
        Self::RetransmissionTimer,
    ];

    /// Returns the position in [`Limit::ALL`].
    pub const fn index(self) -> usize {
        match self {
            Self::CongestionWindow => 0,
            Self::ReceiverWindow => 1,
            Self::Pacing => 2,
            Self::Application => 3,
            Self::Network => 4,
            Self::Paused => 5,
            Self::RetransmissionTimer => 6,
        }
    }

    /// Returns the name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CongestionWindow => "congestion-window",
            Self::ReceiverWindow => "receiver-window",
            Self::Pacing => "pacing",
            Self::Application => "application",
            Self::Network => "network",
            Self::Paused => "paused",
            Self::RetransmissionTimer => "retransmission-timer",
        }
    }
}

/// Counters and estimates common to senders of every family. A quantity that a sender does not know is zero or `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderStats {
    /// Congestion window, in packets; `None` where it is unbounded.
    pub window: Option<f64>,
    /// Slow-start threshold (RFC 5681), in segments; `None` for controllers without one, and while it is unbounded.
    pub ssthresh: Option<f64>,
    /// Packets outstanding, by the sender's estimate.
    pub in_flight: u32,
    /// Pacing rate, if the sender paces.
    pub pacing_rate: Option<Rate>,
    /// Smoothed round-trip time, if known.
    pub smoothed_rtt: Option<Duration>,
    /// Minimum round-trip time, if known.
    pub min_rtt: Option<Duration>,
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Data packets retransmitted.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer, or of the family's equivalent.
    pub timeouts: u64,
    /// Time spent under each of [`Limit::ALL`].
    pub limits: [Duration; Limit::COUNT],
}

impl SenderStats {
    /// Returns the smoothed round-trip time, or the minimum for a sender that does not smooth.
    pub fn rtt(&self) -> Option<Duration> {
        self.smoothed_rtt.or(self.min_rtt)
    }
}

/// The state of a controller, for results of simulations and tests of implementations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CongestionState {
    /// Name of the state, such as `startup`.
    pub name: &'static str,
    /// State variables, by names that end in their unit; unused entries have an empty name. An unbounded value is
    /// infinite.
    pub state_variables: [(&'static str, f64); Self::MAX_VARIABLES],
}

impl CongestionState {
    /// Maximum number of state variables.
    pub const MAX_VARIABLES: usize = 8;

    /// Returns the state variables that have a name.
    pub fn state_variables(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.state_variables.into_iter().filter(|(name, _)| !name.is_empty())
    }
}

/// Data accepted by a receiver of any family; with the fixed header size it gives the bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounts {
    /// Data packets that brought new data in order; in two-level flow control, all packets kept.
    pub packets: u64,
    /// New payload of those packets in bytes, delivered or about to be.
    pub payload: u64,
    /// Variable overhead of those packets in bytes (padding and trailers), without payload and the fixed header.
    pub framing: u64,
}

impl ReceiverCounts {
    /// Adds the counts of another receiver.
    pub fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.payload += other.payload;
        self.framing += other.framing;
    }

    /// Returns the counts since `base`; data discarded from before `base` counts as zero.
    #[must_use]
    pub fn since(&self, base: &Self) -> Self {
        Self {
            packets: self.packets.saturating_sub(base.packets),
            payload: self.payload.saturating_sub(base.payload),
            framing: self.framing.saturating_sub(base.framing),
        }
    }
}

/// Counters of an endpoint whose protocol sends segments: groups of packets that are accepted as a whole. The counters
/// of the other endpoint are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentCounts {
    /// Segments delivered with missing packets, as the application tolerates.
    pub incomplete: u64,
    /// Packets missing from those segments.
    pub holes: u64,
    /// Packets refused for lack of buffer space.
    pub refused: u64,
    /// Complete segments discarded to make room.
    pub evictions: u64,
    /// Maximum number of segments held at a time.
    pub max_segments: u32,
    /// Maximum number of data bytes held at a time.
    pub max_bytes: u64,
}

/// Tracks the current limit of a sender and the time spent under each limit.
#[derive(Clone, Debug, Default)]
pub struct LimitClock {
    now: Option<Limit>,
    since: Time,
    /// The retransmission timer has expired, and nothing has been received since.
    is_silent: bool,
    /// Time per limit, without the time since `since`.
    held: [Duration; Limit::COUNT],
}

impl LimitClock {
    /// Returns the current limit; `None` before the first change, and when all is done.
    pub const fn current(&self) -> Option<Limit> {
        match self.now {
            Some(_) if self.is_silent => Some(Limit::RetransmissionTimer),
            other => other,
        }
    }

    /// Returns the limit that would apply if the peer were not silent; controllers are given this one.
    pub const fn underlying(&self) -> Option<Limit> {
        self.now
    }

    /// Adds the time since the last change to the limit that applied then.
    fn settle(&mut self, now: Time) {
        if let Some(limit) = self.current() {
            self.held[limit.index()] += now.since(self.since);
        }
        self.since = now;
    }

    /// Sets the limit that applies from `now` on, if any.
    #[inline]
    pub fn change(&mut self, now: Time, limit: Option<Limit>) {
        if self.now == limit {
            return;
        }
        self.settle(now);
        self.now = limit;
    }

    /// Records an expiry of the retransmission timer. All time since `progress`, the last time a packet was sent or
    /// received, counts as waiting for the timer, and so does the time until the next packet is received.
    pub fn expire(&mut self, now: Time, progress: Time) {
        if self.now.is_some() {
            self.settle(progress.clamp(self.since, now));
        }
        self.is_silent = true;
        self.settle(now);
    }

    /// Records an answer of the peer.
    #[inline]
    pub fn on_answer(&mut self, now: Time) {
        if self.is_silent {
            self.settle(now);
            self.is_silent = false;
        }
    }

    /// Returns the time during which each of [`Limit::ALL`] has held the sender back, up to `now`.
    pub fn held(&self, now: Time) -> [Duration; Limit::COUNT] {
        let mut held = self.held;
        if let Some(limit) = self.current() {
            held[limit.index()] += now.since(self.since);
        }
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn held(clock: &LimitClock, now: u64, limit: Limit) -> f64 {
        clock.held(at(now))[limit.index()].as_millis_f64()
    }

    #[test]
    fn time_waiting_for_the_retransmission_timer_is_counted_separately() {
        // The window is full from 0 on; answers arrive until 30; nothing to send from 50 on; the timer expires at 230.
        let mut clock = LimitClock::default();
        clock.change(at(0), Some(Limit::CongestionWindow));
        clock.change(at(50), Some(Limit::Application));
        clock.expire(at(230), at(30));
        // Time under a limit known before the expiry keeps that limit; the rest counts for the timer.
        assert_eq!(held(&clock, 230, Limit::CongestionWindow), 50.0);
        assert_eq!(held(&clock, 230, Limit::Application), 0.0);
        assert_eq!(held(&clock, 230, Limit::RetransmissionTimer), 180.0);
        assert_eq!(
            (clock.current(), clock.underlying()),
            (Some(Limit::RetransmissionTimer), Some(Limit::Application))
        );
        clock.change(at(240), Some(Limit::Network));
        clock.expire(at(630), at(230));
        clock.on_answer(at(640));
        assert_eq!(clock.current(), Some(Limit::Network));
        assert_eq!(held(&clock, 700, Limit::RetransmissionTimer), 590.0);
        assert_eq!(held(&clock, 700, Limit::Network), 60.0);
        // The times add up to the elapsed time.
        let total: f64 = clock.held(at(700)).iter().map(|span| span.as_millis_f64()).sum();
        assert_eq!(total, 700.0);
    }

    #[test]
    fn progress_splits_the_time_under_one_limit() {
        let mut clock = LimitClock::default();
        clock.change(at(0), Some(Limit::CongestionWindow));
        clock.expire(at(300), at(100));
        clock.on_answer(at(310));
        assert_eq!(held(&clock, 310, Limit::CongestionWindow), 100.0);
        assert_eq!(held(&clock, 310, Limit::RetransmissionTimer), 210.0);
    }

    #[test]
    fn every_limit_has_an_index_and_a_name() {
        for (place, limit) in Limit::ALL.into_iter().enumerate() {
            assert_eq!(limit.index(), place);
        }
        let names: std::collections::BTreeSet<_> = Limit::ALL.map(Limit::name).into();
        assert_eq!(names.len(), Limit::COUNT);
    }
}
