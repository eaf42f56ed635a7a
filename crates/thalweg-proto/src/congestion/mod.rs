//! Congestion controllers: limits on the outstanding data and the sending rate.
//!
//! A controller is a value inside a sender. It never sees a PDU: the sender passes it samples of events and reads its
//! [`Decision`]. Window-, rate-, delay- and feedback-based control all fit: a decision has a window and a pacing rate,
//! samples carry round-trip times, marks and router feedback, and each controller may keep its own data with every
//! packet ([`Controller::PacketInfo`]).
//!
//! Windows are counted in segments, as real numbers: a controller adds fractions, the sender uses whole segments (or
//! that many full-sized segments' worth of bytes).

#[macro_use]
mod controller_list;
mod any_controller;
mod bbn_rations;
mod bbr;
mod controller_config;
mod copa;
mod cubic;
mod dctcp;
mod dec_bit;
mod decrease_factors;
pub mod delivery_rate;
pub mod event_accumulator;
mod feedback_kind;
mod fixed_window;
mod hystart;
mod hystart_plus_plus;
pub mod interpreted_controller;
mod ledbat_plus_plus;
mod new_reno;
mod prague;
mod search_slow_start_exit;
mod seif;
mod slow_start_exit;
mod slow_start_exit_decision;
mod slow_start_tahoe;
mod source_quench;
mod thalweg;
mod tri_s;
mod vegas;
mod windowed_rtt_extremes;

pub use bbn_rations::*;
pub use bbr::*;
pub use copa::*;
pub use cubic::*;
pub use dctcp::*;
pub use dec_bit::*;
pub use fixed_window::*;
pub use ledbat_plus_plus::*;
pub use new_reno::*;
pub use prague::*;
pub use seif::*;
pub use slow_start_tahoe::*;
pub use source_quench::*;
pub use thalweg::*;
pub use tri_s::*;
pub use vegas::*;

pub use crate::transport::CongestionState;
pub use any_controller::Any;
pub use controller_config::{CeResponse, ConfigureController, SenderRules, SharedPath};
pub use feedback_kind::FeedbackKind;
pub use slow_start_exit::{ExitWatch, SlowStartExit};
pub use slow_start_exit_decision::Step as SlowStartStep;

use crate::one_way_delay::RelativeDelay;
use crate::transport::{Feedback, ViolationKind};
use crate::units::{Duration, Rate, Time};

/// Maximum window that a sender accepts from a controller, in segments.
pub(crate) const MAX_WINDOW: f64 = (1 << 30) as f64;

/// Sending limits set by a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Congestion window, in segments, from 1 to 2^30. A controller cannot stop the sender: use a window of 1 with a low
    /// pacing rate.
    pub window: f64,
    /// Pacing rate of payload, above zero; `None` sends as soon as the window allows.
    pub pacing_rate: Option<Rate>,
    /// Number of segments sent back to back when pacing; at least 1.
    pub burst: u32,
}

impl Decision {
    /// Returns a window without pacing.
    pub const fn window(window: f64) -> Self {
        Self { window, pacing_rate: None, burst: 1 }
    }
}

/// State of the connection at an event.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionState {
    /// Time of the event.
    pub now: Time,
    /// Segments sent and not yet cumulatively acknowledged: RFC 5681's FlightSize.
    pub outstanding: u32,
    /// Segments estimated to be in the network (RFC 6675's pipe): sent, not acknowledged selectively or cumulatively,
    /// and not marked lost since.
    pub in_flight: u32,
    /// Payload of the segments in flight, in bytes.
    pub in_flight_bytes: u64,
    /// Smoothed round-trip time (RFC 6298); zero before the first sample.
    pub smoothed_rtt: Duration,
    /// Minimum round-trip time; [`Duration::MAX`] before the first sample.
    pub min_rtt: Duration,
    /// Segment size in bytes.
    pub segment: u32,
    /// Sequence number of the next byte to be sent for the first time.
    pub next_sequence: u64,
}

/// Transmission of a packet.
#[derive(Clone, Copy, Debug)]
pub struct SentSample {
    /// State just before the transmission.
    pub connection: ConnectionState,
    /// Payload in bytes.
    pub bytes: u32,
    /// The packet is a retransmission.
    pub retransmission: bool,
}

/// Acknowledgement of new data.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// State just before the acknowledgement.
    pub connection: ConnectionState,
    /// Segments newly acknowledged, cumulatively or selectively.
    pub acked: u32,
    /// Bytes newly acknowledged.
    pub acked_bytes: u64,
    /// Number of segments that this acknowledgement counts for in window growth: one, or all of `acked` up to the limit
    /// of the sender's [byte counting](crate::window::SenderConfig::byte_counting).
    pub counted: u32,
    /// The cumulative acknowledgement: every byte below it has arrived.
    pub cumulative: u64,
    /// Time of the last transmission of the newest segment acknowledged.
    pub sent_at: Time,
    /// Payload in flight after the acknowledgement, in bytes.
    pub in_flight_bytes: u64,
    /// Round-trip time measured by this acknowledgement, if unambiguous (Karn's rule).
    pub rtt: Option<Duration>,
    /// Segments received with CE and not reported by an earlier sample. They need not be among `acked`, and may be
    /// more: acknowledgements of others may be lost, and duplicates count.
    pub ce: u32,
    /// One-way delay of a segment that arrived shortly before the acknowledgement left; present if segments carry
    /// [timestamps](crate::window::SenderConfig::timestamps). Only differences of such delays are meaningful.
    pub one_way_delay: Option<RelativeDelay>,
    /// Loss recovery is in progress, or a loss is suspected (a duplicate acknowledgement); the window should not grow.
    pub recovering: bool,
    /// The last transmission was not limited by the window; the sample does not reflect the path's capacity.
    pub app_limited: bool,
}

/// Loss-detection signal, or the mark that counts as a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// A loss detected while acknowledgements arrive: by duplicate acknowledgements (RFC 5681), by as many segments
    /// selectively acknowledged above it (RFC 6675), by time (RACK) or after a tail probe (RFC 8985).
    Detected,
    /// The retransmission timer. RFC 5681, section 3.1, continues with a window of one segment in slow start.
    Timeout,
    /// A CE mark in place of a drop (RFC 3168), echoed by the receiver; no data is missing. Only for controllers that
    /// [treat CE as loss](CeResponse::AsToLoss), if the sender uses ECN.
    Mark,
}

/// First loss of an episode, or a mark in place of one. Further losses in the same window of data are reported by
/// [`Controller::on_packet_lost`] alone.
#[derive(Clone, Copy, Debug)]
pub struct LossSample {
    /// State at the detection of the loss.
    pub connection: ConnectionState,
    /// Signal that detected the loss.
    pub kind: LossKind,
    /// Time of the last transmission of the lost segment; for a mark, of the newest acknowledged segment.
    pub sent_at: Time,
    /// The timer expired before for the same segment (RFC 5681, section 3.1, keeps ssthresh then).
    pub repeated: bool,
}

/// Loss of a segment, the first of an episode or a later one.
#[derive(Clone, Copy, Debug)]
pub struct LostSample {
    /// State just before the detection of the loss.
    pub connection: ConnectionState,
    /// Sequence number of the segment's first byte in the stream.
    pub sequence: u64,
    /// Payload of the segment in bytes.
    pub bytes: u32,
    /// Time of the last transmission of the segment.
    pub sent_at: Time,
    /// A router reported that it dropped the segment. Reported just before the message itself, to controllers that
    /// [retransmit reported drops](Controller::retransmits_reported_drops).
    pub named: bool,
}

/// Receipt of a router's message at the source.
#[derive(Clone, Copy, Debug)]
pub struct FeedbackSample {
    /// State at the receipt.
    pub connection: ConnectionState,
    /// The message.
    pub feedback: Feedback,
    /// The message names a packet whose loss was already handled: retransmitted after a timeout or duplicate
    /// acknowledgements, marked as lost and waiting for the window, or acknowledged. False for a message that names
    /// none.
    pub known: bool,
}

/// A congestion controller.
///
/// The methods are called by the sender, never re-entrantly. One acknowledgement causes these calls, each if it applies,
/// in this order:
///
/// 1. [`on_ack`](Self::on_ack), if it acknowledges new data, cumulatively or selectively;
/// 2. [`on_loss`](Self::on_loss) for a mark that counts as a loss;
/// 3. [`on_undo`](Self::on_undo), if earlier losses turn out to be spurious;
/// 4. [`on_recovered`](Self::on_recovered), if it ends loss recovery;
/// 5. [`on_packet_lost`](Self::on_packet_lost) for every segment that is now detected as lost;
/// 6. [`on_loss`](Self::on_loss), if these losses begin a new episode.
///
/// An acknowledgement that ends one recovery and reveals the next loss thus first reaches `on_ack`, with
/// [`recovering`](AckSample::recovering) set, and reduces the window last. The retransmission timer and a loss that
/// becomes due by time cause steps 5 and 6 only; the timer may reverse these two.
///
/// The sender reads the [decision](Self::decision) whenever it considers a transmission, and validates the decision of an
/// external controller after each call. Both happen several times per packet: the method must be cheap.
///
/// A window-based controller needs [`on_ack`](Self::on_ack), [`on_loss`](Self::on_loss) and
/// [`decision`](Self::decision). A controller with delivery rates or packet-timed rounds has a
/// [`Sampler`](delivery_rate::Sampler), one that decides once per round trip an [`Observer`](event_accumulator::Observer).
pub trait Controller: Clone {
    /// Data kept with each packet for the controller, and returned when the packet is acknowledged or lost. Senders
    /// reserve space for it with each segment; `()` costs nothing.
    type PacketInfo: Copy + core::fmt::Debug + Default;

    /// The decision may change between two calls of the controller, and takes effect at once.
    const DECIDES_BETWEEN_EVENTS: bool = false;

    /// Handles the transmission of a packet and returns the data to keep with it.
    fn on_sent(&mut self, sample: &SentSample) -> Self::PacketInfo {
        let _ = sample;
        Self::PacketInfo::default()
    }

    /// Handles an acknowledgement of new data; `info` belongs to the newest packet acknowledged.
    fn on_ack(&mut self, sample: &AckSample, info: Self::PacketInfo);

    /// Handles the first loss signal in a window of data. The sender neither reduces nor inflates the window, also at a
    /// timeout: the controller sets it for each [kind](LossSample::kind).
    ///
    /// RFC 5681 and RFC 3168: [`Detected`](LossKind::Detected) and [`Mark`](LossKind::Mark) reduce ssthresh, and the
    /// window to it. [`Timeout`](LossKind::Timeout) reduces ssthresh, unless the timeout is
    /// [repeated](LossSample::repeated), and sets the window to one segment.
    fn on_loss(&mut self, sample: &LossSample);

    /// Handles the loss of a segment; called for every segment, each time it is lost. The first loss of an episode is
    /// also reported by [`on_loss`](Self::on_loss), before or after. `info` was stored at the last transmission of the
    /// segment. Data refused by the peer for lack of buffer space is not lost.
    fn on_packet_lost(&mut self, sample: &LostSample, info: Self::PacketInfo) {
        let _ = (sample, info);
    }

    /// Handles an idle sender: the application has no data, or a gate holds it back, and no retransmission is pending.
    /// Called each time the sender has nothing left to send.
    fn on_app_limited(&mut self, connection: &ConnectionState) {
        let _ = connection;
    }

    /// Handles the end of recovery: all data outstanding at the detection of the loss has been acknowledged.
    fn on_recovered(&mut self, connection: &ConnectionState) {
        let _ = connection;
    }

    /// Returns true if [`on_undo`](Self::on_undo) should be called after a spurious loss detection. `saved` is the
    /// controller's state before the first of these losses. Default: true if they reduced its window.
    fn would_undo(&self, saved: &Self) -> bool {
        saved.decision().window > self.decision().window
    }

    /// Reverts the response to spurious losses: the missing segments had only been delayed. `saved` is the
    /// controller's state just before the losses were reported. Default: restores that state (RFC 4015, section 3.2;
    /// RFC 9438, section 4.9). A controller with counters of events, such as a [`Sampler`](delivery_rate::Sampler), must
    /// keep them as they are, and restore only what the losses changed.
    fn on_undo(&mut self, saved: Self, connection: &ConnectionState) {
        let _ = connection;
        *self = saved;
    }

    /// Handles a router's message. Default: ignores it.
    fn on_feedback(&mut self, sample: &FeedbackSample) {
        let _ = sample;
    }

    /// Returns true if a message that names a dropped packet is a loss signal for this controller: it responds in
    /// [`on_feedback`](Self::on_feedback), and the packet is retransmitted. Otherwise the sender leaves the packet to
    /// its own loss detection; the loss is then reported to the controller, and repairs remain subject to congestion
    /// control.
    fn retransmits_reported_drops(&self) -> bool {
        false
    }

    /// Returns true if the controller counts losses of a flight per acknowledgement, and overestimates them if one
    /// acknowledgement reports many. During loss recovery the receiver then acknowledges each segment, as far as the
    /// return path allows.
    fn needs_each_ack_in_repair(&self) -> bool {
        false
    }

    /// Handles the restart after idle: the sender was idle for longer than its retransmission timeout and is about to
    /// send again. The window is reduced to the initial window, if it is larger, and ssthresh is kept (RFC 5681, section
    /// 4.1). Called only with the [rule](SenderRules::idle_restart). Default: keeps the window.
    fn on_idle(&mut self, connection: &ConnectionState) {
        let _ = connection;
    }

    /// Reduces a window that the application has not used to `window` segments, at least 1, unless it is already no
    /// larger; slow start leads back to three quarters of its former size (RFC 2861, section 3; RFC 7661, section
    /// 4.4.3). Called only with the key `window-validation` and the [rule](SenderRules::window_validation). Default:
    /// keeps the window.
    fn on_window_unused(&mut self, window: f64, connection: &ConnectionState) {
        let _ = (window, connection);
    }

    /// Returns the current sending limits. The result changes only in calls of other methods, unless
    /// [`DECIDES_BETWEEN_EVENTS`](Self::DECIDES_BETWEEN_EVENTS) is set.
    fn decision(&self) -> Decision;

    /// Returns the fault of a controller written in another language, if any; its decisions are void from then on.
    fn fault(&self) -> Option<ViolationKind> {
        None
    }

    /// Returns the slow-start threshold in segments, if there is one; infinite before the first loss. Reported in results
    /// and traces. Proportional rate reduction (the key `prr`) runs only for controllers with a threshold: it spreads the
    /// reduction of the window over a round trip, which would contradict a pacing rate. Default: none.
    fn ssthresh(&self) -> Option<f64> {
        None
    }

    /// Returns the congestion state, if the controller exposes one.
    fn congestion_state(&self) -> Option<CongestionState> {
        None
    }
}
