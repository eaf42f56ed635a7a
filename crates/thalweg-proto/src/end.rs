//! The questions that drivers ask of an end of a connection, beside feeding and draining it.

use crate::frames::MediaCounts;
use crate::payload::Payload;
use crate::random::Stream;
use crate::transport::{CongestionState, Limit, ReceiverCounts, SegmentCounts, SenderStats};
use crate::units::{Duration, Time};

/// The least that a piece of data counts where it is kept, in bytes: what keeps it takes as much.
const LEAST: u64 = 128;

/// The memory that a piece of data counts for.
pub fn cost(piece: &impl Payload) -> u64 {
    u64::from(piece.len()).max(LEAST)
}

/// One end of a connection, of any family. Whatever a family does not have is left as it is here.
pub trait End {
    /// The counters and estimates of a sender; `None` for an end that only receives.
    fn sender_stats(&self, now: Time) -> Option<SenderStats> {
        let _ = now;
        None
    }

    /// Returns the last round-trip time that a sender measured since the previous call: a sample of its own estimator, before
    /// smoothing. For drivers that collect samples.
    fn take_rtt(&mut self) -> Option<Duration> {
        None
    }

    /// The state that a sender's congestion controller is in, where it tells.
    fn congestion_state(&self) -> Option<CongestionState> {
        None
    }

    /// The data that a receiver has taken; nothing for an end that only sends.
    fn receiver_counts(&self) -> ReceiverCounts {
        ReceiverCounts::default()
    }

    /// The counts of protocols that send groups of packets.
    fn segment_counts(&self, now: Time) -> Option<SegmentCounts> {
        let _ = now;
        None
    }

    /// The counts of a media source or sink.
    fn media(&self, now: Time) -> Option<MediaCounts> {
        let _ = now;
        None
    }

    /// They begin anew.
    fn forget_media(&mut self, now: Time) {
        let _ = now;
    }

    /// The stream of random numbers for whatever the end draws.
    fn draw_from(&mut self, stream: Stream) {
        let _ = stream;
    }

    /// Bytes written and not yet sent.
    fn backlog(&self) -> u64 {
        0
    }

    /// The limit that keeps a sender from sending more, as of the last poll.
    fn limit(&self) -> Option<Limit> {
        None
    }

    /// The number of times that a sender sent less because of the network's marks.
    fn mark_cuts(&self, now: Time) -> u64 {
        let _ = now;
        0
    }

    /// Data packets that came a second time.
    fn duplicates(&self) -> u64 {
        0
    }

    /// True if its peer has something to tell it. What comes for others is no PDU of theirs.
    fn wants_pdus(&self) -> bool {
        true
    }

    /// True if any number of PDUs may come before the engine is polled, and it is better so: one acknowledgement speaks for
    /// all. Others answer each, and hold few answers.
    fn takes_batches(&self) -> bool {
        false
    }

    /// True if its packets may become as large as the path takes at any time ([`set_segment`](End::set_segment)).
    fn follows_path(&self) -> bool {
        false
    }

    /// The largest payload of a packet in bytes has changed.
    fn set_segment(&mut self, bytes: u32) {
        let _ = bytes;
    }

    /// The window in bytes that a receiver advertises, of families in which it may change.
    fn window(&self) -> Option<u64> {
        None
    }

    /// Changes it.
    fn set_window(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// From now on a receiver keeps no more bytes than so many for want of what comes before them, with the room that is set
    /// aside for that. What goes beyond counts as lost, but the next in order. For families whose [window](End::window) does not
    /// say it.
    fn set_memory(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// The application at a receiver says that it reads at this share of the agreed rate from now on.
    fn set_reading_share(&mut self, share: f64) {
        let _ = share;
    }

    /// A handshake has opened the connection. It took `rtt` where that is unambiguous; otherwise the retransmission time-out is at
    /// least `timeout` until the first measurement.
    fn opened(&mut self, rtt: Option<Duration>, timeout: Duration) {
        let _ = (rtt, timeout);
    }

    /// The peer is reached over another path from now on: what was learnt of the old one is forgotten. Those that learn nothing
    /// of a path that bounds what they send have nothing to forget.
    fn renew(&mut self, now: Time) {
        let _ = now;
    }

    /// Nothing that was sent is on its way, nor any answer, and this end learns of that only when its retransmission timer expires, of
    /// families that have one: it has waited for that since something was sent or heard for the last time.
    fn await_timer(&mut self, now: Time) {
        let _ = now;
    }

    /// PDUs of the peer have waited for longer than the path took. Those that take batches have had them already.
    fn skip_round_trips(&mut self) {}
}
