//! The parameters on which both ends of a connection agree.

use crate::units::Duration;

/// The largest window in packets that is worth keeping: 10 Gbit/s over 800 ms in packets of 1 kB.
pub const MAX_WINDOW: u32 = 1 << 20;

/// The settings of a [`Transmitter`](super::Transmitter) and its [`Receiver`](super::Receiver).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The largest payload of a packet in bytes, at least 1.
    pub segment: u32,
    /// Packets that the transmitter keeps until they are acknowledged, and that the receiver holds, at least 1.
    pub window: u32,
    /// T_normal: how often the receiver reports while nothing is missing, above zero.
    pub normal: Duration,
    /// T_error: how often it reports while something is missing, above zero.
    pub error: Duration,
}

impl Default for Config {
    /// The paper's values: packets of 1024 bytes with their headers, and what its section 4 finds best.
    fn default() -> Self {
        Self {
            segment: 1008,
            window: 400,
            normal: Duration::from_millis(40),
            error: Duration::from_millis(5),
        }
    }
}

impl Config {
    /// The window; zero counts as one.
    pub(super) fn window(&self) -> u64 {
        u64::from(self.window.max(1))
    }

    /// The time between reports; a timer must not be due when it is set, whatever the configuration.
    pub(super) fn interval(&self, missing: bool) -> Duration {
        let interval = if missing { self.error } else { self.normal };
        interval.max(Duration::from_picos(1))
    }
}
