//! What is known of a path before anything has been sent on it.

use super::options::Value;
use super::{FLOW_HEADER, Scheme};
use thalweg_proto::units::{Bytes, Duration, Rate};

/// What is known of a path, and what a flow may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathHints {
    /// The largest datagram of a flow, in bytes: what is left in the path's packets when the layers below have taken
    /// theirs.
    pub maximum: u32,
    /// The rate that the path gives, where the user or an earlier connection knows.
    pub rate: Option<Rate>,
    /// Its round-trip time, likewise.
    pub rtt: Option<Duration>,
    /// How many bytes a receiver may hold for its application and for repair, whatever the scheme would like.
    pub memory: u64,
}

impl Default for PathHints {
    /// Nothing is known: datagrams that any path takes, and 32 MiB of memory.
    fn default() -> Self {
        Self { maximum: 1200, rate: None, rtt: None, memory: 32 << 20 }
    }
}

impl PathHints {
    /// The largest payload of a packet that has so many bytes of headers of its scheme.
    pub(super) fn segment(&self, overhead: u32) -> u32 {
        self.maximum.saturating_sub(overhead + FLOW_HEADER).max(1)
    }

    /// What is on the way in so many round trips at most, as far as is known.
    pub(super) fn in_flight(&self, round_trips: f64) -> Option<Bytes> {
        Some(self.rate?.bytes_in(self.rtt?.mul_f64(round_trips)))
    }
}

impl Scheme {
    /// The same with everything settled on which both ends must agree, from what this end knows of the path. What was said
    /// stays.
    #[must_use]
    pub fn on_path(mut self, path: &PathHints) -> Self {
        if let Some(window) = path.in_flight(4.0) {
            // Four times what is on the way: a loss is repaired, and found lost again, before the window closes.
            let window = window.get().clamp(LEAST_WINDOW, path.memory.max(LEAST_WINDOW));
            self.suggest("receive-window", Value::Size(Bytes::new(window)));
        }
        self
    }
}

/// A receive window that is not worth making smaller, in bytes.
pub(super) const LEAST_WINDOW: u64 = 1 << 20;
