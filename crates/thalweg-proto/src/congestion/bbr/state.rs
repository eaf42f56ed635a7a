//! The states of BBR, and the gains of each ("Summary of Control Behavior in the State Machine").

/// A state of BBR's state machine (BBR.state).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BbrState {
    /// The rate doubles each round trip, in search of the path's.
    #[default]
    Startup,
    /// The queue that Startup made drains.
    Drain,
    /// ProbeBW_DOWN: slower than the path delivers, so that queues drain and others find room.
    ProbeDown,
    /// ProbeBW_CRUISE: as fast as the path delivers.
    ProbeCruise,
    /// ProbeBW_REFILL: one round trip that fills the path before it is probed.
    ProbeRefill,
    /// ProbeBW_UP: faster than the path delivered, in search of more.
    ProbeUp,
    /// Little in flight for a while, so that the round-trip time without queues shows.
    ProbeRtt,
}

impl BbrState {
    /// The name, as the draft has it in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Drain => "drain",
            Self::ProbeDown => "probe-down",
            Self::ProbeCruise => "probe-cruise",
            Self::ProbeRefill => "probe-refill",
            Self::ProbeUp => "probe-up",
            Self::ProbeRtt => "probe-rtt",
        }
    }

    /// The factor between the estimated bandwidth and the pacing rate (BBR.pacing_gain).
    pub(super) const fn pacing_gain(self) -> f64 {
        match self {
            // 4 ln 2: the least with which the rate doubles in a round trip (StartupPacingGain).
            Self::Startup => 2.77,
            // DrainPacingGain, unless the configuration has another.
            Self::Drain => 0.5,
            Self::ProbeDown => 0.9,
            Self::ProbeCruise | Self::ProbeRefill | Self::ProbeRtt => 1.0,
            Self::ProbeUp => 1.25,
        }
    }

    /// The factor between the estimated bandwidth-delay product and what may be in flight (BBR.cwnd_gain).
    pub(super) const fn cwnd_gain(self) -> f64 {
        match self {
            // DefaultCwndGain.
            Self::Startup | Self::Drain | Self::ProbeDown | Self::ProbeCruise | Self::ProbeRefill => 2.0,
            Self::ProbeUp => 2.25,
            // ProbeRTTCwndGain.
            Self::ProbeRtt => 0.5,
        }
    }

    /// IsInAProbeBWState().
    pub(super) const fn is_probe_bw(self) -> bool {
        matches!(self, Self::ProbeDown | Self::ProbeCruise | Self::ProbeRefill | Self::ProbeUp)
    }

    /// IsProbingBW(): what is sent may be more than the path delivers.
    pub(super) const fn is_accelerating(self) -> bool {
        matches!(self, Self::Startup | Self::ProbeRefill | Self::ProbeUp)
    }
}
