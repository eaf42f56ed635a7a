//! Tri-S (Wang and Crowcroft, "A new congestion control scheme: Slow Start and Search (Tri-S)", 1991).
//!
//! The source searches for the largest window that still increases throughput. Once a round trip it measures the
//! throughput `T(W) = W / RTT(W)` of its window, and the gradient relative to the previous window. This is divided by
//! the gradient at the start, when the first packet met an empty network. The result is the normalised throughput
//! gradient:
//!
//! ```text
//!   NTG = TG(Wn) / TG(W1),   TG(Wn) = (T(Wn) - T(Wn-1)) / (Wn - Wn-1),   TG(W1) = 1 / RTT(W1)
//! ```
//!
//! It is near 1 on an unloaded path and 0 once a queue grows.
//!
//! ```text
//!   initialise: from 1, +1 an acknowledgement, to the maximum; one test there ---NTG >= NTGd---+
//!        |  \                                                                                 v
//!        |   +-- NTG < NTGd --> decrease: from 1, +1 an acknowledgement, --NTG < NTGd--> increase: each round trip
//!        +------ timeout ----> while NTG >= NTGd                                        +1, and -1 if NTG < NTGi
//!                                   ^                                                         |
//!                                   +----------------------- timeout ------------------------+
//! ```
//!
//! In the last mode the window grows by 1 / W per acknowledgement. When it has grown by at least one, it is tested at
//! the end of the round trip: if the gradient is below NTGi, the growth is undone. The window thus remains at a size
//! beyond which the throughput does not increase (Liang 1991, section 2.5.1).
//!
//! # Differences from the paper
//!
//! | Paper | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | the first packet's round-trip time gives TG(W1) | the minimum round-trip time | the first packet may meet a queue | the test is slightly stricter |
//! | continuation of the search after too large a window: unspecified | from the last window with a sufficient gradient | the window continued to grow during the measurement | a shorter queue |
//! | behaviour at the ends of the range: unspecified | a window at its maximum is tested one packet lower | without a change there is no gradient | the window leaves the maximum if that costs no throughput |
//! | the last mode never falls by more than it has just grown | [`TriSIncrease::PerRound`] falls by one each round trip without a gain | a window that is too large stays so | shorter queues; off by default |
//! | only timeouts are losses | duplicate acknowledgements too | as old as the paper | the same response, earlier |

use super::{AckSample, ConfigureController, Controller, Decision, LossSample, SentSample};
use crate::units::Duration;

/// Growth of the window in the last mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TriSIncrease {
    /// By 1 / W an acknowledgement. Each time the window has grown by one, the growth is taken back if the gradient is
    /// below the threshold.
    #[default]
    PerAck,
    /// By one a round trip if the gradient is at the threshold or above; otherwise it falls by one.
    PerRound,
}

/// Configuration of a [`TriS`] source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TriSConfig {
    /// Maximum window, in segments.
    pub max_window: f64,
    /// NTGd: gradient below which the first search has gone too far (0.5 in the paper).
    pub decrease_below: f64,
    /// NTGi: gradient below which a larger window brings no gain (0.5 in the paper).
    pub increase_above: f64,
    /// Growth of the window in the last mode.
    pub increase: TriSIncrease,
}

/// Current Tri-S mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TriSMode {
    /// Opens the window to the maximum.
    Initialise,
    /// Restarts the search from one segment.
    Decrease,
    /// Adapts the window by one segment per round trip.
    Increase,
}

/// Packet whose round-trip time is measured, one at a time.
#[derive(Clone, Copy, Debug)]
struct Marker {
    sequence: u64,
    /// Outstanding segments, including the packet, at its departure: the W of T(W).
    window: f64,
}

/// Tri-S controller.
#[derive(Clone, Copy, Debug)]
pub struct TriS {
    config: TriSConfig,
    mode: TriSMode,
    window: f64,
    marker: Option<Marker>,
    /// Last measured window, and its throughput in segments per second.
    last: Option<(f64, f64)>,
    /// Growth since the last test, in segments.
    grown: f64,
}

impl TriS {
    /// Creates the controller with a window of one segment.
    pub fn new(config: &TriSConfig) -> Self {
        Self {
            config: TriSConfig { max_window: config.max_window.max(1.0), ..*config },
            mode: TriSMode::Initialise,
            window: 1.0,
            marker: None,
            last: None,
            grown: 0.0,
        }
    }

    /// Returns the current mode.
    pub const fn mode(&self) -> TriSMode {
        self.mode
    }

    fn search_again(&mut self) {
        self.mode = TriSMode::Decrease;
        self.window = 1.0;
        self.last = None;
        self.grown = 0.0;
    }

    /// Ends the round trip of the marker: the throughput of a window is known.
    fn end_round(&mut self, window: f64, rtt: Duration, min_rtt: Duration) {
        let throughput = window / rtt.as_secs_f64();
        let before = self.last.replace((window, throughput));
        // Two rounds with the same window have no gradient.
        let gradient = before
            .filter(|&(last, _)| last != window)
            .map(|(last, slower)| (throughput - slower) / (window - last) * min_rtt.as_secs_f64());
        let is_below = |threshold| gradient.is_some_and(|gradient| gradient < threshold);
        let at_most = window >= self.config.max_window;
        match self.mode {
            TriSMode::Initialise if at_most && is_below(self.config.decrease_below) => self.search_again(),
            TriSMode::Decrease if is_below(self.config.decrease_below) => {
                self.mode = TriSMode::Increase;
                self.window = before.map_or(1.0, |(last, _)| last);
                // The next gradient must not span the step back.
                (self.last, self.grown) = (None, 0.0);
            }
            TriSMode::Initialise | TriSMode::Decrease if at_most => self.mode = TriSMode::Increase,
            TriSMode::Initialise | TriSMode::Decrease => {}
            TriSMode::Increase if self.config.increase == TriSIncrease::PerAck => {
                if self.grown < 1.0 {
                    // The next test compares with the window before the growth.
                    self.last = before.or(self.last);
                    return;
                }
                let grown = core::mem::take(&mut self.grown);
                if is_below(self.config.increase_above) {
                    self.window -= grown;
                    self.last = before;
                }
            }
            TriSMode::Increase => {
                let grows = !at_most && !is_below(self.config.increase_above);
                self.window += if grows { 1.0 } else { -1.0 };
            }
        }
        self.window = self.window.clamp(1.0, self.config.max_window);
    }
}

impl Controller for TriS {
    type PacketInfo = ();

    fn on_sent(&mut self, sample: &SentSample) {
        // The round-trip time of a retransmission is ambiguous.
        if self.marker.is_none() && !sample.retransmission {
            let window = f64::from(sample.connection.outstanding) + 1.0;
            self.marker = Some(Marker { sequence: sample.connection.next_sequence, window });
        }
    }

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        let growth = match (self.mode, self.config.increase) {
            (TriSMode::Increase, TriSIncrease::PerRound) => 0.0,
            (TriSMode::Increase, TriSIncrease::PerAck) => 1.0 / self.window,
            (TriSMode::Initialise | TriSMode::Decrease, _) => 1.0,
        };
        let before = self.window;
        self.window = (before + growth).min(self.config.max_window);
        self.grown += self.window - before;
        if let Some(marker) = self.marker.filter(|marker| sample.cumulative > marker.sequence) {
            self.marker = None;
            // A zero round-trip time yields no throughput.
            if let Some(rtt) = sample.rtt.filter(|rtt| !rtt.is_zero()) {
                self.end_round(marker.window, rtt, sample.connection.min_rtt);
            }
        }
    }

    fn on_loss(&mut self, _sample: &LossSample) {
        self.search_again();
        self.marker = None;
    }

    fn decision(&self) -> Decision {
        Decision::window(self.window)
    }
}

impl ConfigureController for TriSConfig {
    type Controller = TriS;
    const NAME: &'static str = "tri-s";

    fn make(&self) -> TriS {
        TriS::new(self)
    }
}
