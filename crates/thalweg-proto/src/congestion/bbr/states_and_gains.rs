//! States of BBR, and the gains of each ("Summary of Control Behavior in the State Machine").

/// State of BBR's state machine (BBR.state).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BbrState {
    /// Startup: the rate doubles each round trip, in search of the path's rate.
    #[default]
    Startup,
    /// Drain: drains the queue built in Startup.
    Drain,
    /// ProbeBW_DOWN: sends below the delivery rate, which drains queues and leaves headroom to other flows.
    ProbeDown,
    /// ProbeBW_CRUISE: sends at the delivery rate.
    ProbeCruise,
    /// ProbeBW_REFILL: fills the pipe for one round trip before the probe.
    ProbeRefill,
    /// ProbeBW_UP: sends above the delivery rate, in search of bandwidth.
    ProbeUp,
    /// ProbeRTT: reduces the data in flight, to measure the round-trip time without queues.
    ProbeRtt,
}

impl BbrState {
    /// Returns the name in the draft, in lower case.
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

    /// Returns the ratio of the pacing rate to the estimated bandwidth (BBR.pacing_gain).
    pub(super) const fn pacing_gain(self) -> f64 {
        match self {
            // 4 ln 2: the minimum gain that doubles the rate per round trip (StartupPacingGain).
            Self::Startup => 2.77,
            // DrainPacingGain, unless configured: drains the queue of a cwnd_gain of 2 in a round trip.
            Self::Drain => 0.5,
            // "ProbeBW_DOWN": the smallest gain with which, after an UP of 1.25, bandwidth shares converge.
            Self::ProbeDown => 0.9,
            Self::ProbeCruise | Self::ProbeRefill | Self::ProbeRtt => 1.0,
            Self::ProbeUp => 1.25,
        }
    }

    /// Returns the ratio of the maximum data in flight to the estimated bandwidth-delay product (BBR.cwnd_gain).
    pub(super) const fn cwnd_gain(self) -> f64 {
        match self {
            // DefaultCwndGain.
            Self::Startup | Self::Drain | Self::ProbeDown | Self::ProbeCruise | Self::ProbeRefill => 2.0,
            // "ProbeBW_UP": the rate can rise even where the window was the limit.
            Self::ProbeUp => 2.25,
            // ProbeRTTCwndGain.
            Self::ProbeRtt => 0.5,
        }
    }

    /// Implements IsInAProbeBWState().
    pub(super) const fn is_probe_bw(self) -> bool {
        matches!(self, Self::ProbeDown | Self::ProbeCruise | Self::ProbeRefill | Self::ProbeUp)
    }

    /// Implements IsProbingBW(): returns true if the sending rate may exceed the delivery rate.
    pub(super) const fn is_accelerating(self) -> bool {
        matches!(self, Self::Startup | Self::ProbeRefill | Self::ProbeUp)
    }
}
