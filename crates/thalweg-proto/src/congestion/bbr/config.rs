//! The options of BBR.

use super::{Bbr, BbrState};
use crate::congestion::{CeResponse, ConfigureController};
use crate::units::Duration;

/// The time at which the filter of the highest delivery rate goes on to the next cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilterAdvance {
    /// A round trip after a probe, when what it sent has been acknowledged (the draft).
    #[default]
    AfterFeedback,
    /// On entering ProbeBW_DOWN, without a phase of acknowledgements to wait for (its pull request 5).
    AtDown,
    /// Every five round trips, whatever the state: it holds the rates of the last ten at most, as in version 1. A path that is slow for
    /// ten round trips is then taken for a slow one until it has been probed again and again (CC-Fuzz: Ray and Seshan 2022).
    TenRounds,
}

/// The shortest round trip by which ProbeRTT bounds what is in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProbeRttBasis {
    /// The filter's of the moment, which may just have lost the old value to one with a queue (the draft).
    #[default]
    Current,
    /// That before the last sample expired it (its issue 109).
    BeforeExpiry,
}

/// The configuration of [`Bbr`]: what the draft leaves to implementations, and what experiments change. Its other constants
/// stand with the rules that use them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BbrConfig {
    /// The window at the start, in segments; at least 1 (C.InitialCwnd; 10 in RFC 6928).
    pub initial_window: f64,
    /// The share of a round trip's packets that may be lost while more bandwidth is probed for (LossThresh), in `0..1`.
    pub loss_threshold: f64,
    /// The share that is left of the short-term bounds after each round trip with a loss (Beta), in `0..=1`.
    pub beta: f64,
    /// The share of the long-term bound of what is in flight that is left free for others (Headroom), in `0..1`.
    pub headroom: f64,
    /// After a probe that lost too much, the next one ends as soon as it has as much in flight ("Precautionary Bandwidth
    /// Probing").
    pub precautionary: bool,
    /// The number of send quanta that are always allowed in flight, for hosts that batch: 1 as for QUIC, 3 as for TCP with
    /// segmentation offload.
    pub offload_quanta: u32,
    /// The gain of the pacing rate in Drain (DrainPacingGain), in `0..1`.
    pub drain_gain: f64,
    /// The time between two ProbeRTT, where nothing shorter is seen otherwise (ProbeRTTInterval).
    pub probe_rtt_interval: Duration,
    /// The round trip that ProbeRTT counts with.
    pub probe_rtt_basis: ProbeRttBasis,
    /// The end of a cycle for the highest delivery rate.
    pub filter_advance: FilterAdvance,
    /// A mark of the network counts as the loss of what the marked acknowledgement acknowledges.
    pub ecn: bool,
}

impl Default for BbrConfig {
    fn default() -> Self {
        Self {
            initial_window: 10.0,
            loss_threshold: 0.02,
            beta: 0.7,
            headroom: 0.15,
            precautionary: true,
            offload_quanta: 1,
            drain_gain: BbrState::Drain.pacing_gain(),
            probe_rtt_interval: Duration::from_secs(5),
            probe_rtt_basis: ProbeRttBasis::Current,
            filter_advance: FilterAdvance::AfterFeedback,
            ecn: false,
        }
    }
}

impl ConfigureController for BbrConfig {
    type Controller = Bbr;

    const NAME: &'static str = "bbr";

    fn make(&self) -> Bbr {
        Bbr::new(self)
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::AsToLoss
    }
}
