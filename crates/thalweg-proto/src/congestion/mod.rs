//! Congestion controllers: how much a sender may have outstanding, and how fast.
//!
//! A controller is a value inside a sender. It never sees a PDU: the sender hands it samples of what happened and
//! reads its [`Decision`]. Window-, rate-, delay- and feedback-based control all fit: a decision has a window and
//! a pacing rate, samples carry round-trip times, marks and routers' messages, and each controller may keep
//! information of its own with every packet ([`Controller::PacketInfo`]).
//!
//! Windows are counted in segments, as real numbers: a controller adds fractions, the sender uses whole segments
//! (or that many full-sized segments' worth of bytes).

#[macro_use]
mod list;
mod ack_train;
mod any;
mod bbn;
mod bbr;
mod betas;
mod config;
mod configure;
mod copa;
mod cubic;
mod dctcp;
mod dec_bit;
pub mod delivery;
mod exit;
mod feedback;
mod fixed;
mod hystart;
mod ledbat_plus_plus;
mod new_reno;
pub mod observe;
mod prague;
mod recent;
mod search;
mod seif;
mod slow_start;
mod source_quench;
mod step;
mod thalweg;
mod tri_s;
mod vegas;

pub use bbn::*;
pub use bbr::*;
pub use copa::*;
pub use cubic::*;
pub use dctcp::*;
pub use dec_bit::*;
pub use fixed::*;
pub use ledbat_plus_plus::*;
pub use new_reno::*;
pub use prague::*;
pub use seif::*;
pub use slow_start::*;
pub use source_quench::*;
pub use thalweg::*;
pub use tri_s::*;
pub use vegas::*;

pub use crate::transport::CongestionState;
pub use any::Any;
pub use config::{ControllerConfig, MadeSender};
pub use configure::{CeResponse, ConfigureController};
pub use exit::SlowStartExit;
pub use feedback::FeedbackKind;

use crate::transport::{BreachKind, Feedback};
use crate::units::{Duration, Rate, Time};
use crate::window::RelativeDelay;

/// The permission that a controller gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The congestion window in segments, at least 1.
    pub window: f64,
    /// Spread transmissions at this rate of payload; `None` sends as soon as the window allows.
    pub pacing_rate: Option<Rate>,
    /// The number of segments that may leave back to back when pacing, at least 1.
    pub burst: u32,
}

impl Decision {
    /// A window without pacing.
    pub const fn window(window: f64) -> Self {
        Self { window, pacing_rate: None, burst: 1 }
    }
}

/// The state of the path and the connection when something happened.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// The time at which it happened.
    pub now: Time,
    /// Segments sent and not yet cumulatively acknowledged: RFC 5681's FlightSize.
    pub outstanding: u32,
    /// Segments believed to be in the network: sent, and neither acknowledged, selectively or cumulatively, nor lost since
    /// (RFC 6675's pipe).
    pub in_flight: u32,
    /// The payload of the segments in flight, in bytes.
    pub in_flight_bytes: u64,
    /// The smoothed round-trip time (RFC 6298); zero before the first sample.
    pub smoothed_rtt: Duration,
    /// The shortest round-trip time seen; [`Duration::MAX`] before the first sample.
    pub min_rtt: Duration,
    /// The segment size in bytes.
    pub segment: u32,
    /// The number of the next byte to be sent for the first time.
    pub next_sequence: u64,
}

/// A packet leaves.
#[derive(Clone, Copy, Debug)]
pub struct SentSample {
    /// The state just before it left.
    pub path: Path,
    /// Its payload in bytes.
    pub bytes: u32,
    /// It has been sent before.
    pub retransmission: bool,
}

/// An acknowledgement told of data that the receiver has.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// The state just before the acknowledgement.
    pub path: Path,
    /// Segments newly known to have arrived, cumulatively or selectively.
    pub acked: u32,
    /// Bytes newly known to have arrived.
    pub acked_bytes: u64,
    /// The number of segments that this acknowledgement counts for where a window grows: one, or all of `acked` up to
    /// the limit of the sender's [byte counting](crate::window::SenderConfig::byte_counting).
    pub counted: u32,
    /// The cumulative acknowledgement: every byte below it has arrived.
    pub cumulative: u64,
    /// The last departure of the newest segment that it acknowledges.
    pub sent_at: Time,
    /// The payload in flight after the acknowledgement, in bytes.
    pub in_flight_bytes: u64,
    /// The round-trip time that this acknowledgement measured, if it is unambiguous (Karn's rule).
    pub rtt: Option<Duration>,
    /// Segments that arrived with CE and of which no sample has told yet. They need not be among `acked`, and may be more: the
    /// acknowledgements that told of others may be lost, and copies count.
    pub ce: u32,
    /// The one-way delay of a segment that came not long before the acknowledgement left, where segments are sent with
    /// [timestamps](crate::window::SenderConfig::timestamps). Only differences of such delays mean something.
    pub one_way_delay: Option<RelativeDelay>,
    /// Losses are being repaired, or suspected (a duplicate acknowledgement): no time to grow.
    pub recovering: bool,
    /// The window was not the limit when the sender sent last, so that this says nothing about the path's capacity.
    pub app_limited: bool,
}

/// The way in which a loss was noticed, or that one was spared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// The third duplicate acknowledgement, or three segments selectively acknowledged above it.
    Duplicates,
    /// The retransmission timer.
    Timeout,
    /// The network marked a packet in place of dropping it (RFC 3168), and the receiver echoed that: nothing is missing. Only
    /// for controllers that [react so](CeResponse::AsToLoss), where the sender uses ECN.
    Mark,
}

/// The first loss of an episode, or a mark in place of one. Further losses of the same window of data are told by
/// [`Controller::on_packet_lost`] alone.
#[derive(Clone, Copy, Debug)]
pub struct LossSample {
    /// The state when the loss was noticed.
    pub path: Path,
    /// The way in which the loss was noticed.
    pub kind: LossKind,
    /// The time at which the lost segment had been sent last; of a mark, that of the newest acknowledged segment.
    pub sent_at: Time,
    /// The timer expired before for the same segment (RFC 5681, section 3.1, keeps the threshold then).
    pub repeated: bool,
}

/// A segment is lost, the first of an episode or a later one.
#[derive(Clone, Copy, Debug)]
pub struct LostSample {
    /// The state just before the loss was noticed.
    pub path: Path,
    /// The number of its first byte in the stream.
    pub sequence: u64,
    /// The payload of the segment in bytes.
    pub bytes: u32,
    /// The last departure of the segment.
    pub sent_at: Time,
    /// A router said that it dropped the segment: told to controllers that [have such go again](Controller::retransmits_reported_drops)
    /// just before the message itself.
    pub named: bool,
}

/// A router's message reached the source.
#[derive(Clone, Copy, Debug)]
pub struct FeedbackSample {
    /// The state when it came.
    pub path: Path,
    /// The message.
    pub feedback: Feedback,
    /// It names a packet whose loss is dealt with already: sent again after a time-out or duplicate acknowledgements,
    /// marked as lost and waiting for the window, or acknowledged. False for a message that names none.
    pub known: bool,
}

/// A congestion controller.
pub trait Controller: Clone {
    /// The data that the controller wants to remember with each packet; handed back when it is acknowledged or lost.
    /// Senders keep room for it with each segment, so that `()` costs nothing.
    type PacketInfo: Copy + core::fmt::Debug + Default;

    /// The decision may change between two things that the controller is told of, and holds at once then.
    const DECIDES_UNASKED: bool = false;

    /// A packet leaves.
    fn on_sent(&mut self, sample: &SentSample) -> Self::PacketInfo {
        let _ = sample;
        Self::PacketInfo::default()
    }

    /// New data was acknowledged; `info` belongs to the newest packet among it.
    fn on_ack(&mut self, sample: &AckSample, info: Self::PacketInfo);

    /// The first sign that a window of data met a loss.
    fn on_loss(&mut self, sample: &LossSample);

    /// A segment is lost: told of each, and each time that it is. The first of an episode is told by
    /// [`on_loss`](Self::on_loss) too, before or after. `info` was kept with the segment when it was sent last. What the
    /// peer refused for want of room is not lost.
    fn on_packet_lost(&mut self, sample: &LostSample, info: Self::PacketInfo) {
        let _ = (sample, info);
    }

    /// The application has nothing to send at present, or a gate holds it back, and nothing waits to be sent again. Told each
    /// time that the sender has nothing left to do.
    fn on_app_limited(&mut self, path: &Path) {
        let _ = path;
    }

    /// All that was outstanding when the loss was noticed has been acknowledged.
    fn on_recovered(&mut self, path: &Path) {
        let _ = path;
    }

    /// True if [`on_undo`](Self::on_undo) should be called, for a controller that was `before` when it was first told of losses
    /// that turned out to be none. By default where they made its window smaller.
    fn undoes(&self, before: &Self) -> bool {
        before.decision().window > self.decision().window
    }

    /// The losses that this controller was last told of turned out to be none: what was missing had only been late. `before`
    /// is what it was just before it was told. By default it becomes that again (RFC 4015, section 3.2; RFC 9438, section
    /// 4.9).
    fn on_undo(&mut self, before: Self, path: &Path) {
        let _ = path;
        *self = before;
    }

    /// A router's message came. By default it is ignored.
    fn on_feedback(&mut self, sample: &FeedbackSample) {
        let _ = sample;
    }

    /// True if a message that names a dropped packet is a loss to this controller: it answers it in
    /// [`on_feedback`](Self::on_feedback), and the packet goes again. Without, the sender leaves such a packet to what it
    /// notices losses by, so that the controller is told of the loss and repairs are not free of congestion control.
    fn retransmits_reported_drops(&self) -> bool {
        false
    }

    /// True if the controller counts, at each acknowledgement, what is lost of a flight, so that it takes losses for more than they are where
    /// one acknowledgement tells of many: while losses are repaired each segment is acknowledged then, as far as the return path
    /// takes that.
    fn needs_each_ack_in_repair(&self) -> bool {
        false
    }

    /// The sender was idle for longer than its retransmission time-out and is about to send again.
    fn on_idle(&mut self, path: &Path) {
        let _ = path;
    }

    /// The application has not used the window: it falls to so many segments, at least 1, and slow start leads back to three quarters of
    /// what it was (RFC 2861, section 3; RFC 7661, section 4.4.3). Where the window is no smaller already. By default it is kept.
    fn on_unused(&mut self, window: f64, path: &Path) {
        let _ = (window, path);
    }

    /// The decision on what is allowed now.
    fn decision(&self) -> Decision;

    /// The fault after which nothing that the controller says counts any more; for one that is written in a language of its own.
    fn fault(&self) -> Option<BreachKind> {
        None
    }

    /// The slow-start threshold in segments, where there is one.
    fn threshold(&self) -> Option<f64> {
        None
    }

    /// The state that it is in, for one that wants to be watched.
    fn congestion_state(&self) -> Option<CongestionState> {
        None
    }
}
