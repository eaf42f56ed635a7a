//! The parameters of SSCOP (Q.2110, clauses 7.6 to 7.8).

use super::rate::RateConfig;
use super::{MAX_MESSAGE, MAX_UU, SequenceNumber};
use crate::units::Duration;

/// Durations of the five timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerConfig {
    /// `Timer_CC`: retransmission interval of BGN, END, RS and ER. More than a round trip.
    pub cc: Duration,
    /// `Timer_POLL`: POLL interval while data is outstanding.
    pub poll: Duration,
    /// `Timer_KEEP-ALIVE`: POLL interval while no data is outstanding. More than a round trip and than `poll`.
    pub keep_alive: Duration,
    /// `Timer_NO-RESPONSE`: timeout for a silent peer. More than a round trip, `poll` and `keep_alive`.
    pub no_response: Duration,
    /// `Timer_IDLE`: interval between keep-alive phases. Much more than `keep_alive`.
    pub idle: Duration,
}

/// Event that advances the receive window: VR(MR).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credit {
    /// Each delivery advances the window by one message.
    Delivery,
    /// The user advances the window with [`Input::Credit`](super::Input::Credit).
    User,
}

/// Parameters of one endpoint. Out-of-range values are clamped when an engine is created.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Maximum message unit in octets, 0 to 65528 (k).
    pub k: u32,
    /// Maximum SSCOP-UU in octets, 0 to 65524 (j).
    pub j: u32,
    /// Maximum transmissions of a BGN, END, RS or ER, including the first; at least 1.
    pub max_cc: u32,
    /// Maximum SDs between POLLs, regardless of the timer; at least 1.
    pub max_pd: u32,
    /// Maximum list elements of a STAT: odd, 3 to 16379.
    pub max_stat: u32,
    /// Initial receive window in SDs: 1 to 2^23 - 1. The maximum keeps old numbers distinct from new ones.
    pub window: u32,
    /// Event that advances the window afterwards.
    pub credit: Credit,
    /// Maximum unacknowledged SDs kept by the sender, regardless of the peer's credit: 1 to 2^23 - 1. A memory limit
    /// that the Recommendation does not define.
    pub buffer: u32,
    /// Durations of the timers, each at least a picosecond.
    pub timers: TimerConfig,
    /// Send a POLL immediately after the last requested retransmission. Not in every implementation; off by default.
    pub poll_after_retransmission: bool,
    /// Accept any BGN while idle. If false, a BGN with the sequence number of the last connection is refused as a
    /// repetition, and a peer that lost its state may be refused once (ATM Forum 97-0216).
    pub accept_any_begin: bool,
    /// Drop SDs that were delivered before. In the Recommendation such an SD appears to lie far beyond the window and
    /// causes a recovery, since SSCOP relies on a lower layer that neither duplicates nor reorders. This option is an
    /// extension.
    pub ignore_old_data: bool,
    /// Rate-based flow control in addition to the credit (Chen and Chen 1999).
    pub rate: Option<RateConfig>,
}

impl Default for Config {
    /// Returns the default values at the UNI: CC 1 s, POLL 750 ms, KEEP-ALIVE 2 s, NO-RESPONSE 7 s, IDLE 15 s, `MaxCC` 4,
    /// `MaxPD` 25, `MaxSTAT` 67, k and j 4096. The window is 128.
    fn default() -> Self {
        Self {
            k: 4096,
            j: 4096,
            max_cc: 4,
            max_pd: 25,
            max_stat: 67,
            window: 128,
            credit: Credit::Delivery,
            buffer: SequenceNumber::HALF_MODULUS - 1,
            timers: TimerConfig {
                cc: Duration::from_secs(1),
                poll: Duration::from_millis(750),
                keep_alive: Duration::from_secs(2),
                no_response: Duration::from_secs(7),
                idle: Duration::from_secs(15),
            },
            poll_after_retransmission: false,
            accept_any_begin: false,
            ignore_old_data: false,
            rate: None,
        }
    }
}

impl Config {
    /// Returns the configuration with every value clamped to its range.
    #[must_use]
    pub fn in_range(&self) -> Self {
        let some = |span: Duration| span.max(Duration::from_picos(1));
        let TimerConfig { cc, poll, keep_alive, no_response, idle } = self.timers;
        Self {
            k: self.k.min(MAX_MESSAGE),
            j: self.j.min(MAX_UU),
            max_cc: self.max_cc.max(1),
            max_pd: self.max_pd.max(1),
            max_stat: (self.max_stat.saturating_sub(1) | 1).clamp(3, 16_379),
            window: self.window.clamp(1, SequenceNumber::HALF_MODULUS - 1),
            buffer: self.buffer.clamp(1, SequenceNumber::HALF_MODULUS - 1),
            timers: TimerConfig {
                cc: some(cc),
                poll: some(poll),
                keep_alive: some(keep_alive),
                no_response: some(no_response),
                idle: some(idle),
            },
            rate: self.rate.map(RateConfig::in_range),
            ..*self
        }
    }
}
