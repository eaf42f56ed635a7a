//! SEIF: synchronous congestion control with explicit and implicit feedback (Liang 1991, chapter 3): the source.
//!
//! Routers warn every source of a queue before it overflows, so all sources reduce their windows at the same time and
//! by the same factor. The source responds to its own loss signals, timeouts and duplicate acknowledgements, in the
//! same way.
//!
//! ```text
//!                 window < ssthresh                    window >= ssthresh
//!   start -> initialise (+1 an acknowledgement) ---> stable (+1 for k windows of acknowledgements)
//!                 |                                    |          ^
//!                 +------------ any signal ------------+          |
//!                                    v                            |
//!            cut back: ssthresh = half, window = c * window -------+  at once if c >= 1/2; else +1 an acknowledgement
//!                                                                     up to ssthresh
//! ```
//!
//! The sender distinguishes drops. A message about a packet already retransmitted after a timeout or duplicate
//! acknowledgements has [`known`](FeedbackSample::known) set. Loss signals for a packet that a router has already named
//! are not reported to the controller. So one drop causes one reduction (section 3.3 of the thesis).
//!
//! # Differences from the thesis
//!
//! | Thesis | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | a reduction enters the stable state | below half of the window before the reduction it grows by one per acknowledgement | for large reductions the thesis describes exponential growth, and its message counts require it | none for c >= 1/2 |
//! | rounding of half an odd window: unspecified | the window is a real number; only full packets are sent | the figures of the thesis do not settle it | less than a packet |
//! | either explicit or implicit signals in section 4.1, both in section 3.3 | both; [`Signals`] has either | chapter 3 is the design | see [`Signals`] |
//! | one response per path is future work | [`RouterSelection::MostMessages`] responds only to the queue that has sent most messages | proposed by the thesis | off by default |

use super::{AckSample, ConfigureController, Controller, Decision, FeedbackKind, FeedbackSample, LossSample};

/// Minimum ssthresh, in segments, as in Slow Start.
const MIN_SSTHRESH: f64 = 2.0;
/// Maximum number of queues with separate message counts. A path has few routers; the bound protects memory from a
/// hostile path.
const MAX_QUEUES: usize = 32;
/// Number of messages after which the counts are halved, so a silent queue loses its rank in time.
const MESSAGES_PER_HALVING: u32 = 64;

/// Selection of the routers whose messages count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RouterSelection {
    /// All routers.
    #[default]
    All,
    /// The queue that has sent the most messages only, so two bottlenecks do not cause two reductions. Packets dropped
    /// by other queues are retransmitted without a reduction.
    MostMessages,
}

/// Kinds of congestion signals that a source responds to. Section 4.1 of the thesis gives its simulated source either
/// kind, but not both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Signals {
    /// Messages of routers, timeouts and duplicate acknowledgements.
    #[default]
    Both,
    /// Messages of routers only. Losses are repaired without a reduction.
    Explicit,
    /// Timeouts and duplicate acknowledgements only.
    Implicit,
}

/// Phase of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SeifState {
    /// Before the first signal, below the threshold.
    Initialise,
    /// At or above the threshold.
    Stable,
    /// After a reduction, growing back to the threshold.
    CutBack,
}

/// Configuration of a [`Seif`] source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeifConfig {
    /// Initial window, in segments.
    pub initial_window: f64,
    /// Initial threshold, in segments; the thesis uses half of the maximum window.
    pub initial_ssthresh: f64,
    /// Maximum window, in segments.
    pub max_window: f64,
    /// Multiplicative-decrease factor of a signal, from 0 to 1 (0.5 in the thesis).
    pub cut_back: f64,
    /// Windows of acknowledgements per additional segment in the stable phase, at least 1; a router's message may ask
    /// for more.
    pub growth_windows: u32,
    /// Selection of the routers that count.
    pub follow: RouterSelection,
    /// Kinds of signals that reduce the window.
    pub signals: Signals,
}

/// SEIF controller.
#[derive(Clone, Debug)]
pub struct Seif {
    window: f64,
    ssthresh: f64,
    max_window: f64,
    cut_back: f64,
    /// The configured number.
    min_growth_windows: u32,
    /// The current number, at least the configured one.
    growth_windows: u32,
    /// Acknowledgements since the last growth or reduction.
    acks: u32,
    /// The window was reduced before.
    has_reduced: bool,
    signals: Signals,
    message_counts: Option<Box<MessageCounts>>,
}

/// Number of messages sent by each queue.
#[derive(Clone, Debug, Default)]
struct MessageCounts {
    counts: Vec<(u32, u32)>,
    total: u32,
}

impl MessageCounts {
    /// Counts a message; returns true if no other queue has sent more.
    fn has_most_messages(&mut self, queue: u32) -> bool {
        self.total += 1;
        if self.total >= MESSAGES_PER_HALVING {
            self.total = 0;
            // Queues that no longer send messages leave the list, which is bounded.
            self.counts.retain_mut(|(_, count)| {
                *count /= 2;
                *count > 0
            });
        }
        let max_other =
            self.counts.iter().filter(|&&(other, _)| other != queue).map(|&(_, count)| count).max();
        let queue_count = match self.counts.iter_mut().find(|(known, _)| *known == queue) {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                if self.counts.len() < MAX_QUEUES {
                    self.counts.push((queue, 1));
                }
                1
            }
        };
        max_other.is_none_or(|max_other| queue_count >= max_other)
    }
}

impl Seif {
    /// Creates the controller described by `config`; out-of-range values are clamped.
    pub fn new(config: &SeifConfig) -> Self {
        let max_window = config.max_window.max(1.0);
        Self {
            window: config.initial_window.clamp(1.0, max_window),
            ssthresh: config.initial_ssthresh.max(MIN_SSTHRESH),
            max_window,
            cut_back: config.cut_back.clamp(0.0, 1.0),
            min_growth_windows: config.growth_windows.max(1),
            growth_windows: config.growth_windows.max(1),
            acks: 0,
            has_reduced: false,
            signals: config.signals,
            message_counts: (config.follow == RouterSelection::MostMessages).then(Box::default),
        }
    }

    /// Returns the phase of the source.
    pub fn state(&self) -> SeifState {
        if self.window >= self.ssthresh {
            SeifState::Stable
        } else if self.has_reduced {
            SeifState::CutBack
        } else {
            SeifState::Initialise
        }
    }

    /// Reduces the window for a signal. Each signal counts, also shortly after a reduction.
    fn reduce_window(&mut self) {
        self.ssthresh = (self.window / 2.0).max(MIN_SSTHRESH);
        self.window = (self.cut_back * self.window).max(1.0);
        self.acks = 0;
        self.has_reduced = true;
    }
}

impl Controller for Seif {
    type PacketInfo = ();

    fn on_ack(&mut self, _sample: &AckSample, _info: ()) {
        if self.window < self.ssthresh {
            self.window = (self.window + 1.0).min(self.max_window);
            return;
        }
        // Whole acknowledgements are compared with whole windows: the counter of the thesis, not a fraction per
        // acknowledgement.
        self.acks = self.acks.saturating_add(1);
        let windows = f64::from(self.growth_windows) * self.window.floor();
        if f64::from(self.acks) >= windows {
            self.acks = 0;
            self.window = (self.window + 1.0).min(self.max_window);
        }
    }

    fn on_loss(&mut self, _sample: &LossSample) {
        if self.signals != Signals::Explicit {
            self.reduce_window();
        }
    }

    fn on_feedback(&mut self, sample: &FeedbackSample) {
        if self.signals == Signals::Implicit {
            return;
        }
        // Liang 1991, section 6.1: routers determine how slowly windows grow.
        if let Some(windows) = sample.feedback.growth {
            self.growth_windows = u32::from(windows).max(self.min_growth_windows);
        }
        if sample.known {
            return;
        }
        let queue = sample.feedback.queue;
        if self.message_counts.as_mut().is_none_or(|message_counts| message_counts.has_most_messages(queue)) {
            self.reduce_window();
        }
    }

    fn retransmits_reported_drops(&self) -> bool {
        self.signals != Signals::Implicit
    }

    fn decision(&self) -> Decision {
        Decision::window(self.window)
    }

    fn ssthresh(&self) -> Option<f64> {
        Some(self.ssthresh)
    }
}

impl ConfigureController for SeifConfig {
    type Controller = Seif;
    const NAME: &'static str = "seif";

    fn make(&self) -> Seif {
        Seif::new(self)
    }

    fn feedback(&self) -> Option<FeedbackKind> {
        Some(FeedbackKind::Seif)
    }
}
