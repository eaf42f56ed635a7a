//! Parameters shared by both endpoints of a connection.

use crate::units::Duration;

/// Maximum useful window in packets: 10 Gbit/s over 800 ms in packets of 1 kB.
pub const MAX_WINDOW: u32 = 1 << 20;

/// Configuration of a [`Transmitter`](super::Transmitter) and its [`Receiver`](super::Receiver).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Maximum payload of a packet in bytes, at least 1.
    pub segment: u32,
    /// Maximum unacknowledged packets kept by the transmitter, and maximum packets buffered by the receiver; at least
    /// 1.
    pub window: u32,
    /// Report interval without missing packets (T_normal), above zero.
    pub normal: Duration,
    /// Report interval with missing packets (T_error), above zero.
    pub error: Duration,
}

impl Default for Config {
    /// Returns the paper's values: packets of 1024 bytes including headers, and the best values of its section 3.2.2.
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
    /// Returns the window; zero counts as one.
    pub(super) fn window(&self) -> u64 {
        u64::from(self.window.max(1))
    }

    /// Returns the report interval, above zero for any configuration: a timer must not be due when it is set.
    pub(super) fn interval(&self, missing: bool) -> Duration {
        let interval = if missing { self.error } else { self.normal };
        interval.max(Duration::from_picos(1))
    }
}
