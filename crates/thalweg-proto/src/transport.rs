//! The inputs of endpoints from network and application, and their events for the application.
//!
//! Endpoints of every protocol family share this vocabulary, so that one driver runs them all, and a gate at the
//! source node or a router's feedback reaches any of them in the same way.

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
        /// The codepoint with which the packet that carried it arrived; a set DEC bit counts as CE.
        ecn: Ecn,
    },
    /// The application hands over data to send.
    Write(Data),
    /// The application will write no more; what is still queued is sent.
    Finish,
    /// The application will write no more and takes back what has not been sent yet.
    Stop,
    /// The application took this many bytes of what was delivered, which opens the receive window again
    /// (only where the receiver is configured not to count delivery as consumption).
    Consumed(u64),
    /// A router sent a message about this flow.
    Feedback(Feedback),
    /// A gate stops the flow: no data leaves until [`Input::Resume`]. Acknowledgements, timers and all other
    /// state go on.
    Pause,
    /// The gate lets the flow go on.
    Resume,
}

impl<Pdu, Data> Input<Pdu, Data> {
    /// A PDU with the codepoint of its packet, or else the command that it is.
    ///
    /// # Errors
    ///
    /// The command, where it is no PDU.
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

/// An input of the application, or of a gate, and of no network.
pub type Command<Data> = Input<Infallible, Data>;

impl<Data> Command<Data> {
    /// The same for an endpoint with PDUs.
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

/// A router's explicit message to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// The sequence number of the data that the router dropped, in the numbering of the protocol of the flow;
    /// `None` for a warning without a loss (the SEIF thesis writes -1).
    pub dropped: Option<u64>,
    /// The rate that the router grants the flow, for schemes that ration.
    pub rate: Option<Rate>,
    /// The queue of the network that speaks: a number that means nothing but tells queues apart.
    pub queue: u32,
}

/// An event that an endpoint reports to its application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<Data> {
    /// Data for the application: in order and exactly once for a reliable transport, as it came for datagrams.
    Delivered(Data),
    /// At this place of the stream so many packets are missing and will not come, which the application said it
    /// tolerates.
    Hole {
        /// The number of missing packets.
        packets: u32,
    },
    /// All data that was written has been put on the wire at least once: more is welcome.
    Writable,
    /// The peer has everything, after [`Input::Finish`].
    Finished,
    /// The sender met a sign of congestion. A gate at the source node listens to these.
    Congestion(Signal),
    /// The transport gave up; nothing more will be sent.
    Failed(Failure),
}

/// The way in which a sender learned of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signal {
    /// The retransmission timer expired.
    Timeout,
    /// The third duplicate acknowledgement, or what selective acknowledgement says in its place.
    Duplicates,
    /// An acknowledgement carried the network's mark.
    Mark,
    /// A router's message.
    Feedback,
}

/// The reason for which a transport gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The same data was sent as often as allowed without an answer.
    TooManyRetransmissions,
    /// The peer was silent for longer than allowed.
    NoAnswer,
    /// The peer closed or refused the connection.
    Released,
    /// The two ends found that they no longer agreed on what was sent, and data was lost.
    Desynchronised,
    /// The peer acknowledged data that had not been sent to it, or counted fewer congestion marks than before.
    FalseAcknowledgement,
    /// A part that is not of this project broke its contract.
    Breach(Breach),
}

/// A fault of a part from elsewhere that nothing here can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Breach {
    /// The kind of part.
    pub part: Part,
    /// Its name.
    pub by: &'static str,
    /// The kind of fault.
    pub kind: BreachKind,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = match self.part {
            Part::Controller => "controller",
            Part::Engine => "engine",
        };
        write!(f, "the {part} `{}` {}", self.by, self.kind.in_words())
    }
}

/// A part that may be from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// A congestion controller.
    Controller,
    /// An engine.
    Engine,
}

/// A way to break the contract of [`Controller`](crate::congestion::Controller), or that of [`Engine`](crate::Engine).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BreachKind {
    /// It panicked.
    Panicked,
    /// It is written in another language, and raised an exception there.
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
    /// It asks to be polled at a time that is over.
    TimeoutPast,
    /// It wants something done without end at one instant.
    NeverIdle,
    /// It delivers more than came.
    DeliveredMore,
    /// A PDU of it has no bytes, or more than the path takes.
    PduSize,
}

impl BreachKind {
    /// The fault in words that follow the controller's name.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Panicked => "panicked",
            Self::Raised => "raised an exception",
            Self::WindowNotANumber => "answered with a window that is not a number",
            Self::WindowTooSmall => "answered with a window below one segment",
            Self::WindowTooLarge => "answered with a window beyond 2^30 segments",
            Self::NoRate => "answered with a pacing rate of zero, which is no rate: `None` does not pace",
            Self::NoBurst => "answered with a burst of no segments",
            Self::TimeoutPast => "asked to be polled at a time that is over",
            Self::NeverIdle => "wanted something done without end at one instant",
            Self::DeliveredMore => "delivered more bytes than came",
            Self::PduSize => "sent a PDU without bytes, or with more than the path takes",
        }
    }
}

/// The limit that keeps a sender from sending more, at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// The application has nothing to send.
    Application,
    /// The congestion window is full.
    CongestionWindow,
    /// The receiver's window is full.
    ReceiverWindow,
    /// The pacing rate asks to wait.
    Pacing,
    /// Losses are being repaired.
    Network,
    /// A gate stopped the flow.
    Paused,
    /// All that was outstanding was lost, or the answers to it: the retransmission timer has to expire. The time from the
    /// last packet that was sent or heard of to the expiry, and from there to the next answer.
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

    /// The position in [`Limit::ALL`].
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

    /// The name used in results.
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

/// The counters and estimates that senders of every family have. One that a sender does not know is zero or `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderStats {
    /// Packets that may be outstanding; `None` where there is no bound.
    pub window: Option<f64>,
    /// Slow-start threshold (RFC 5681), in segments; `None` of controllers without one, and while it is unbounded.
    pub ssthresh: Option<f64>,
    /// Packets that are outstanding, as far as the sender knows.
    pub in_flight: u32,
    /// The rate at which packets are spaced, where there is one.
    pub pacing_rate: Option<Rate>,
    /// The smoothed round-trip time, once it is known.
    pub smoothed_rtt: Option<Duration>,
    /// The shortest round-trip time, once it is known.
    pub min_rtt: Option<Duration>,
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Expiries of the timer that a sender falls back upon.
    pub timeouts: u64,
    /// The time for which each of [`Limit::ALL`] has held the sender back.
    pub limits: [Duration; Limit::COUNT],
}

impl SenderStats {
    /// The round-trip time: smoothed, or the shortest of a sender that does not smooth.
    pub fn rtt(&self) -> Option<Duration> {
        self.smoothed_rtt.or(self.min_rtt)
    }
}

/// The state of a controller, for whoever watches it: results of simulations, and tests of an implementation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CongestionState {
    /// The state's name, such as `startup`.
    pub name: &'static str,
    /// The quantities that it knows, by names that end in their unit; those that are not needed have no name. What is unbounded is
    /// infinite.
    pub known: [(&'static str, f64); Self::MOST],
}

impl CongestionState {
    /// The most quantities.
    pub const MOST: usize = 8;

    /// The quantities that have a name.
    pub fn known(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.known.into_iter().filter(|(name, _)| !name.is_empty())
    }
}

/// The data that receivers of every family have taken, so that a driver can tell how many bytes on the wire that was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounts {
    /// Data packets that brought something new and to which nothing before them is missing; of two-level flow control
    /// all that are kept.
    pub packets: u64,
    /// Their new payload in bytes, delivered or about to be.
    pub payload: u64,
    /// Bytes in those packets, beside payload and the header that all have, that depend on the packet: padding and
    /// trailers.
    pub framing: u64,
}

impl ReceiverCounts {
    /// Adds what another receiver has taken.
    pub fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.payload += other.payload;
        self.framing += other.framing;
    }

    /// The counts since `base`; discarding what was taken before counts as nothing.
    #[must_use]
    pub fn since(&self, base: &Self) -> Self {
        Self {
            packets: self.packets.saturating_sub(base.packets),
            payload: self.payload.saturating_sub(base.payload),
            framing: self.framing.saturating_sub(base.framing),
        }
    }
}

/// The counts of one end of a protocol that sends groups of packets, segments, which are accepted as a whole. An end has zero
/// for what only the other counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentCounts {
    /// Segments delivered with packets missing, which the application said it tolerates.
    pub incomplete: u64,
    /// Packets that are missing in them.
    pub holes: u64,
    /// Packets for which the receiver had no room.
    pub refused: u64,
    /// Segments that were discarded although they were complete, to make room.
    pub evictions: u64,
    /// The most segments held at a time.
    pub most_segments: u32,
    /// The most bytes of data held at a time.
    pub most_bytes: u64,
}

/// A clock of the limit that holds a sender back now, and of the time for which each limit has.
#[derive(Clone, Debug, Default)]
pub struct LimitClock {
    now: Option<Limit>,
    since: Time,
    /// The retransmission timer has expired, and nothing has been heard since.
    is_silent: bool,
    /// Without the time since `since`.
    held: [Duration; Limit::COUNT],
}

impl LimitClock {
    /// The limit that holds the sender back; `None` before the first change, and when all is done.
    pub const fn current(&self) -> Option<Limit> {
        match self.now {
            Some(_) if self.is_silent => Some(Limit::RetransmissionTimer),
            other => other,
        }
    }

    /// The limit that would hold the sender back if the peer were not silent, which is what a controller is told.
    pub const fn own(&self) -> Option<Limit> {
        self.now
    }

    /// The time since the last change belongs to what held the sender back then.
    fn settle(&mut self, now: Time) {
        if let Some(limit) = self.current() {
            self.held[limit.index()] += now.since(self.since);
        }
        self.since = now;
    }

    /// Another limit holds from `now` on, or none any more.
    #[inline]
    pub fn change(&mut self, now: Time, limit: Option<Limit>) {
        if self.now == limit {
            return;
        }
        self.settle(now);
        self.now = limit;
    }

    /// The retransmission timer has expired: since `progress`, when something was sent or heard for the last time, the
    /// sender has waited for that, whatever else would have held it back, and goes on to until it hears something.
    pub fn expire(&mut self, now: Time, progress: Time) {
        if self.now.is_some() {
            self.settle(progress.clamp(self.since, now));
        }
        self.is_silent = true;
        self.settle(now);
    }

    /// An answer came.
    #[inline]
    pub fn hear(&mut self, now: Time) {
        if self.is_silent {
            self.settle(now);
            self.is_silent = false;
        }
    }

    /// The time for which each of [`Limit::ALL`] has held the sender back, up to `now`.
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
    fn a_wait_for_the_retransmission_timer_is_told_apart() {
        // Full from 0 on, heard of until 30, nothing to send from 50 on, and at 230 the timer expires.
        let mut clock = LimitClock::default();
        clock.change(at(0), Some(Limit::CongestionWindow));
        clock.change(at(50), Some(Limit::Application));
        clock.expire(at(230), at(30));
        // What was known by then to hold the sender up to 50 did so; the rest was the timer, and goes on as such.
        assert_eq!(held(&clock, 230, Limit::CongestionWindow), 50.0);
        assert_eq!(held(&clock, 230, Limit::Application), 0.0);
        assert_eq!(held(&clock, 230, Limit::RetransmissionTimer), 180.0);
        assert_eq!(
            (clock.current(), clock.own()),
            (Some(Limit::RetransmissionTimer), Some(Limit::Application))
        );
        clock.change(at(240), Some(Limit::Network));
        clock.expire(at(630), at(230));
        clock.hear(at(640));
        assert_eq!(clock.current(), Some(Limit::Network));
        assert_eq!(held(&clock, 700, Limit::RetransmissionTimer), 590.0);
        assert_eq!(held(&clock, 700, Limit::Network), 60.0);
        // Nothing is counted twice or forgotten.
        let total: f64 = clock.held(at(700)).iter().map(|span| span.as_millis_f64()).sum();
        assert_eq!(total, 700.0);
    }

    #[test]
    fn progress_divides_what_one_limit_held() {
        let mut clock = LimitClock::default();
        clock.change(at(0), Some(Limit::CongestionWindow));
        clock.expire(at(300), at(100));
        clock.hear(at(310));
        assert_eq!(held(&clock, 310, Limit::CongestionWindow), 100.0);
        assert_eq!(held(&clock, 310, Limit::RetransmissionTimer), 210.0);
    }

    #[test]
    fn every_limit_has_its_place_and_name() {
        for (place, limit) in Limit::ALL.into_iter().enumerate() {
            assert_eq!(limit.index(), place);
        }
        let names: std::collections::BTreeSet<_> = Limit::ALL.map(Limit::name).into();
        assert_eq!(names.len(), Limit::COUNT);
    }
}
