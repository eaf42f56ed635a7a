//! The family-independent interface of a connection endpoint, beside feeding and draining it.

use crate::frames::MediaCounts;
use crate::payload::Payload;
use crate::random::Stream;
use crate::transport::{CongestionState, Limit, ReceiverCounts, SegmentCounts, SenderStats};
use crate::units::{Duration, Time};

/// Minimum memory charge of a buffered piece of data, in bytes: its bookkeeping takes as much.
const MIN_CHARGE: u64 = 128;

/// Returns the memory charge of a piece of data, in bytes.
pub fn cost(piece: &impl Payload) -> u64 {
    u64::from(piece.len()).max(MIN_CHARGE)
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

    /// Returns the counters of protocols that send groups of packets.
    fn segment_counts(&self, now: Time) -> Option<SegmentCounts> {
        let _ = now;
        None
    }

    /// Returns the counters of a media source or sink.
    fn media(&self, now: Time) -> Option<MediaCounts> {
        let _ = now;
        None
    }

    /// Resets the media counters.
    fn reset_media(&mut self, now: Time) {
        let _ = now;
    }

    /// Sets the random-number stream that the endpoint draws from.
    fn draw_from(&mut self, stream: Stream) {
        let _ = stream;
    }

    /// Returns the number of bytes written and not yet sent.
    fn backlog(&self) -> u64 {
        0
    }

    /// Returns the limit that keeps a sender from sending more, as of the last poll.
    fn limit(&self) -> Option<Limit> {
        None
    }

    /// Returns the number of times that a sender reduced its rate or window because of CE marks.
    fn mark_cuts(&self, now: Time) -> u64 {
        let _ = now;
        0
    }

    /// Returns the number of duplicate data packets received.
    fn duplicates(&self) -> u64 {
        0
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

    /// Returns true if the packet size may follow the path MTU at any time ([`set_segment`](End::set_segment)).
    fn follows_path(&self) -> bool {
        false
    }

    /// Sets the largest payload of a packet, in bytes.
    fn set_segment(&mut self, bytes: u32) {
        let _ = bytes;
    }

    /// Returns the window that a receiver advertises, in bytes, for families with a variable window.
    fn window(&self) -> Option<u64> {
        None
    }

    /// Sets the window that a receiver advertises, in bytes.
    fn set_window(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// Limits the out-of-order data that a receiver buffers to `bytes`, including the memory reserved for bookkeeping.
    /// Data beyond the limit counts as lost, except the next in order. For families whose [window](End::window) does
    /// not set this limit.
    fn set_memory(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// Sets the share of the agreed rate at which the receiving application reads.
    fn set_reading_share(&mut self, share: f64) {
        let _ = share;
    }

    /// Reports the completed handshake. It took `rtt` where that is unambiguous; otherwise the retransmission time-out
    /// is at least `timeout` until the first measurement.
    fn opened(&mut self, rtt: Option<Duration>, timeout: Duration) {
        let _ = (rtt, timeout);
    }

    /// Resets the path estimates after a change of the path to the peer. Families without path estimates that bound
    /// sending do nothing.
    fn renew(&mut self, now: Time) {
        let _ = now;
    }

    /// Reports that nothing is in flight in either direction and that this endpoint will notice only through its
    /// retransmission timer, in families that have one. The timer has been running since the last packet was sent or
    /// received.
    fn await_timer(&mut self, now: Time) {
        let _ = now;
    }

    /// Reports that PDUs of the peer waited for longer than the path's delay. Endpoints that take batches have
    /// processed them already.
    fn discard_round_trip_samples(&mut self) {}
}
