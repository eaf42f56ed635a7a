//! What an endpoint hears from its network and application, and what it tells them.
//!
//! Endpoints of every protocol family share this vocabulary, so that one driver runs them all, and a gate at the
//! source node or a router's feedback reaches any of them in the same way.

use crate::units::{Duration, Rate, Time};
use core::fmt;

/// An input of an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub enum Input<Pdu, Data> {
    /// A PDU arrived from the peer.
    Pdu {
        /// The PDU.
        pdu: Pdu,
        /// The network set the congestion mark on the packet that carried it (ECN's CE, the DEC bit).
        marked: bool,
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

/// A router's explicit message to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// The sequence number of the data that the router dropped, in the numbering of the protocol of the flow;
    /// `None` for a warning without a loss (the SEIF thesis writes -1).
    pub dropped: Option<u64>,
    /// The rate that the router grants the flow, for schemes that ration.
    pub rate: Option<Rate>,
    /// Which queue of the network speaks: a number that means nothing but tells queues apart.
    pub queue: u32,
}

/// What an endpoint tells its application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<Data> {
    /// Data for the application: in order and exactly once for a reliable transport, as it came for datagrams.
    Delivered(Data),
    /// At this place of the stream so many packets are missing and will not come, which the application said it
    /// tolerates.
    Hole {
        /// How many.
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

/// How a sender learned of congestion.
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

/// Why a transport gave up.
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
    /// A part that is not of this project broke its contract.
    Breach(Breach),
}

/// What a controller from elsewhere did that no sender can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Breach {
    /// The name of the controller.
    pub by: &'static str,
    /// What it did.
    pub kind: BreachKind,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the controller `{}` {}", self.by, self.kind.in_words())
    }
}

/// A way to break the contract of [`Controller`](crate::congestion::Controller).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BreachKind {
    /// It panicked.
    Panicked,
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
}

impl BreachKind {
    /// What it did, in words that follow its name.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Panicked => "panicked",
            Self::WindowNotANumber => "answered with a window that is not a number",
            Self::WindowTooSmall => "answered with a window below one segment",
            Self::WindowTooLarge => "answered with a window beyond 2^30 segments",
            Self::NoRate => "answered with a pacing rate of zero, which is no rate: `None` does not pace",
            Self::NoBurst => "answered with a burst of no segments",
        }
    }
}

/// What keeps a sender from sending more, at one moment.
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
    /// Losses are being repaired: recovery, or the wait for a retransmission timer.
    Network,
    /// A gate stopped the flow.
    Paused,
}

impl Limit {
    /// Every limit, in the order of [`Limit::index`].
    pub const ALL: [Self; 6] = [
        Self::CongestionWindow,
        Self::ReceiverWindow,
        Self::Pacing,
        Self::Application,
        Self::Network,
        Self::Paused,
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
        }
    }
}

/// What senders of every family have counted and believe. What one does not know is zero or `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderStats {
    /// Packets that may be outstanding; `None` where there is no bound.
    pub window: Option<f64>,
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
    /// How long each of [`Limit::ALL`] has held the sender back.
    pub limits: [Duration; 6],
}

impl SenderStats {
    /// The round-trip time: smoothed, or the shortest of a sender that does not smooth.
    pub fn rtt(&self) -> Option<Duration> {
        self.smoothed_rtt.or(self.min_rtt)
    }
}

/// What receivers of every family have taken, so that a driver can tell how many bytes on the wire that was.
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

    /// What was taken since `base`; discarding what was taken before counts as nothing.
    #[must_use]
    pub fn since(&self, base: &Self) -> Self {
        Self {
            packets: self.packets.saturating_sub(base.packets),
            payload: self.payload.saturating_sub(base.payload),
            framing: self.framing.saturating_sub(base.framing),
        }
    }
}

/// What holds a sender back now, and for how long each limit has.
#[derive(Clone, Debug, Default)]
pub struct LimitClock {
    now: Option<Limit>,
    since: Time,
    /// Without the time since `since`.
    held: [Duration; 6],
}

impl LimitClock {
    /// What holds the sender back; `None` before the first change, and when all is done.
    pub const fn current(&self) -> Option<Limit> {
        self.now
    }

    /// Another limit holds from `now` on, or none any more: the time since the last change belongs to the one that held
    /// then.
    #[inline]
    pub fn change(&mut self, now: Time, limit: Option<Limit>) {
        if self.now == limit {
            return;
        }
        if let Some(last) = self.now {
            self.held[last.index()] += now.since(self.since);
        }
        (self.now, self.since) = (limit, now);
    }

    /// How long each of [`Limit::ALL`] has held the sender back, up to `now`.
    pub fn held(&self, now: Time) -> [Duration; 6] {
        let mut held = self.held;
        if let Some(limit) = self.now {
            held[limit.index()] += now.since(self.since);
        }
        held
    }
}
