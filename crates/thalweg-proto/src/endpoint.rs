//! The family-independent interface of a connection endpoint, beside feeding and draining it.

use crate::media_frame_counters::MediaCounts;
use crate::payload::Payload;
use crate::random::RandomStream;
use crate::transport::{CongestionState, Limit, ReceiverCounts, SegmentCounts, SenderStats};
use crate::units::{Duration, Time};

/// Minimum memory charge of a buffered piece of data, in bytes: its bookkeeping takes as much.
const MIN_CHARGE: u64 = 128;

/// Returns the memory charge of a piece of data, in bytes.
pub fn memory_charge(piece: &impl Payload) -> u64 {
    u64::from(piece.len()).max(MIN_CHARGE)
}

/// Counters that few families have.
#[derive(Clone, Debug, Default)]
pub struct EndCounters {
    /// Reductions of a sender's rate or window because of CE marks.
    pub mark_cuts: u64,
    /// Duplicate data packets received.
    pub duplicates: u64,
    /// Those of protocols that send groups of packets.
    pub segments: Option<SegmentCounts>,
    /// Those of a media source or sink.
    pub media: Option<MediaCounts>,
}

/// A change outside of the engine that a driver reports to an endpoint, with the time where endpoints need it.
#[derive(Debug)]
pub enum Notice {
    /// The random-number stream that the endpoint draws from.
    RandomStream(RandomStream),
    /// The handshake is complete.
    Opened {
        /// Duration of the handshake, where that is unambiguous.
        rtt: Option<Duration>,
        /// Minimum retransmission timeout until the first measurement.
        timeout: Duration,
    },
    /// Maximum payload of a packet, in bytes; for endpoints that [follow the path](End::follows_path).
    Segment(u32),
    /// Window that a receiver may advertise, in bytes; for those with a [variable window](End::window).
    Window(u64),
    /// Maximum out-of-order data that a receiver may buffer, in bytes, including the memory reserved for bookkeeping.
    /// Data beyond it counts as lost, except the next in order. For families whose [window](End::window) does not set
    /// this limit.
    Memory(u64),
    /// Share of the agreed rate at which the receiving application reads.
    ReadingShare(f64),
    /// The path to the peer is another one: estimates of it are void. Families without estimates that bound sending do
    /// nothing.
    NewPath(Time),
    /// Nothing is in flight in either direction, which this endpoint will notice only through its retransmission timer,
    /// in families that have one. The timer has been running since the last packet was sent or received.
    Silence(Time),
    /// PDUs of the peer waited for longer than the path's delay: they are not round-trip samples. Endpoints that take
    /// batches have processed them already.
    LatePdus,
    /// Media counters begin anew.
    MediaCountersReset(Time),
}

/// One endpoint of a connection, of any family. A family overrides only the methods that apply to it.
pub trait End {
    /// Returns a sender's counters and estimates; `None` for a pure receiver.
    fn sender_stats(&self, now: Time) -> Option<SenderStats> {
        let _ = now;
        None
    }

    /// Returns the latest round-trip time that a sender measured since the previous call: a sample of its own
    /// estimator, before smoothing. For drivers that collect samples.
    fn take_rtt(&mut self) -> Option<Duration> {
        None
    }

    /// Returns the state of a sender's congestion controller, if the controller reports one.
    fn congestion_state(&self) -> Option<CongestionState> {
        None
    }

    /// Returns the amount of data that a receiver has accepted; zero for a pure sender.
    fn receiver_counts(&self) -> ReceiverCounts {
        ReceiverCounts::default()
    }

    /// Returns further counters of either endpoint.
    fn counters(&self, now: Time) -> EndCounters {
        let _ = now;
        EndCounters::default()
    }

    /// Returns the number of bytes written and not yet sent.
    fn backlog(&self) -> u64 {
        0
    }

    /// Returns the limit that keeps a sender from sending more, as of the last poll.
    fn limit(&self) -> Option<Limit> {
        None
    }

    /// Returns true if the endpoint accepts PDUs of its peer. The others do not take part in the exchange.
    fn wants_pdus(&self) -> bool {
        true
    }

    /// Returns true if the driver should deliver all waiting PDUs before it polls the engine: one acknowledgement then
    /// covers them all. Other engines answer each PDU and queue few answers.
    fn takes_batches(&self) -> bool {
        false
    }

    /// Returns true if the packet size may follow the path MTU at any time.
    fn follows_path(&self) -> bool {
        false
    }

    /// Returns the window that a receiver advertises, in bytes, for families with a variable window.
    fn window(&self) -> Option<u64> {
        None
    }

    /// Reports a change outside of the engine. Families ignore what does not concern them.
    fn notify(&mut self, notice: Notice) {
        let _ = notice;
    }
}
