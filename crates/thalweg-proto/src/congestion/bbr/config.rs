//! Configuration of BBR.

use super::{Bbr, BbrState};
use crate::congestion::{CeResponse, ConfigureController};
use crate::units::Duration;

/// Advance policy of the max-bandwidth filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilterAdvance {
    /// One round trip after a probe, when its data has been acknowledged (the draft).
    #[default]
    AfterFeedback,
    /// On entering ProbeBW_DOWN, without waiting for an ACK phase (pull request 5 of the draft).
    AtDown,
    /// Every five round trips in any state: the filter covers at most the last ten, as in version 1. A path that is
    /// slow for ten round trips is then considered slow until repeated probes correct the estimate (CC-Fuzz: Ray and
    /// Seshan 2022).
    TenRounds,
}

/// Minimum round-trip time that bounds the data in flight in ProbeRTT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProbeRttBasis {
    /// The current filter value, which may just have replaced the old minimum by a sample with a queue (the draft).
    #[default]
    Current,
    /// The value before the last sample expired it (issue 109 of the draft).
    BeforeExpiry,
}

/// Configuration of [`Bbr`]: parameters that the draft leaves to implementations, and parameters varied in experiments.
/// Other constants are defined next to the rules that use them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BbrConfig {
    /// Initial window, in segments; at least 1 (C.InitialCwnd; 10 in RFC 6928).
    pub initial_window: f64,
    /// Maximum loss rate per round trip during a bandwidth probe (LossThresh), in `0..1`.
    pub loss_threshold: f64,
    /// Multiplicative-decrease factor of the short-term bounds after each round trip with a loss (Beta), in `0..=1`.
    pub beta: f64,
    /// Share of the long-term bound that is left free for other flows (Headroom), in `0..1`.
    pub headroom: f64,
    /// After a probe with excessive loss, end the next probe as soon as the same amount is in flight ("Precautionary
    /// Bandwidth Probing").
    pub precautionary: bool,
    /// Minimum data in flight, in send quanta, for hosts that batch: 1 as for QUIC, 3 as for TCP with segmentation
    /// offload.
    pub offload_quanta: u32,
    /// Pacing gain in Drain (DrainPacingGain), in `0..1`.
    pub drain_gain: f64,
    /// Interval between two ProbeRTT phases if no smaller round-trip time is observed otherwise (ProbeRTTInterval).
    pub probe_rtt_interval: Duration,
    /// Round-trip time used by ProbeRTT.
    pub probe_rtt_basis: ProbeRttBasis,
    /// Advance policy of the max-bandwidth filter.
    pub filter_advance: FilterAdvance,
    /// Treat an ECN mark as the loss of the data that the marked acknowledgement acknowledges.
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
