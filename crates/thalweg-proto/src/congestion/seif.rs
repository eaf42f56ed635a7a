//! SEIF: synchronous congestion control with explicit and implicit feedback (Liang 1991, chapter 3), the source's part.
//!
//! Routers warn every source of a queue before it overflows, so that all of them cut at the same time and by the same
//! share. What a source learns for itself, by a time-out or duplicate acknowledgements, it takes in the same way.
//!
//! ```text
//!                 window < threshold                   window >= threshold
//!   start -> initialise (+1 an acknowledgement) ---> stable (+1 for k windows of acknowledgements)
//!                 |                                    |          ^
//!                 +------------ any signal ------------+          |
//!                                    v                            |
//!            cut back: threshold = half, window = c * window ------+  at once if c >= 1/2; else +1 an acknowledgement
//!                                                                     up to the threshold
//! ```
//!
//! The sender tells one drop from another: a message about a packet that went again after a time-out or duplicates comes
//! as [`known`](FeedbackSample::known), and what duplicates or a time-out say about a packet that a router has named is not
//! told at all. So one drop cuts once (section 3.3 of the thesis).
//!
//! # Differences from the thesis
//!
//! | Thesis | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | a cut enters the stable state | below half of the window before the cut it climbs by one an acknowledgement | with deep cuts the thesis speaks of exponential growth, and its counts of messages need it | none for c >= 1/2 |
//! | the rule for the fraction of an odd window is not told | the window stays a real number, whole packets are sent | its figures cannot tell | less than a packet |
//! | one reaction a path is future work | [`Follow::Loudest`] cuts only for the queue that has sent most | asked for by the thesis | off by default |

use super::{AckSample, ConfigureController, Controller, Decision, FeedbackKind, FeedbackSample, LossSample};

/// The least threshold in segments, as that of Slow Start.
const MIN_SSTHRESH: f64 = 2.0;
/// Queues whose messages are counted apart; a path has few routers, and a hostile one cannot make this grow.
const MAX_QUEUES: usize = 32;
/// After so many messages the counts are halved, so that a queue that has fallen silent is overtaken in time.
const MEMORY: u32 = 64;

/// The choice of the routers that a source listens to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Follow {
    /// Every message counts.
    #[default]
    All,
    /// Only the queue that has sent most messages counts, so that two bottlenecks do not cut twice. What another
    /// dropped is sent again, but does not cut.
    Loudest,
}

/// The phase that a source is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SeifState {
    /// Before the first signal, below the threshold.
    Initialise,
    /// At or above the threshold.
    Stable,
    /// After a cut, on its way back to the threshold.
    CutBack,
}

/// The configuration of a [`Seif`] source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeifConfig {
    /// The window at the start, in segments.
    pub initial_window: f64,
    /// The first threshold in segments; the thesis takes half of the maximum window.
    pub initial_ssthresh: f64,
    /// The largest window in segments.
    pub max_window: f64,
    /// The factor that a signal multiplies the window by, from 0 to 1 (0.5 in the thesis).
    pub cut_back: f64,
    /// Windows of acknowledgements for each further segment when stable, at least 1.
    pub growth_windows: u32,
    /// The choice of the routers that count.
    pub follow: Follow,
}

/// SEIF.
#[derive(Clone, Debug)]
pub struct Seif {
    window: f64,
    ssthresh: f64,
    max_window: f64,
    cut_back: f64,
    growth_windows: u32,
    /// Acknowledgements since the window last grew or was cut.
    acks: u32,
    cut: bool,
    heard: Option<Box<Heard>>,
}

/// The number of messages that each queue has sent.
#[derive(Clone, Debug, Default)]
struct Heard {
    counts: Vec<(u32, u32)>,
    total: u32,
}

impl Heard {
    /// Counts a message; true if no other queue has sent more.
    fn is_loudest(&mut self, queue: u32) -> bool {
        self.total += 1;
        if self.total >= MEMORY {
            self.total = 0;
            self.counts.retain_mut(|(_, count)| {
                *count /= 2;
                *count > 0
            });
        }
        let most = self.counts.iter().filter(|&&(other, _)| other != queue).map(|&(_, count)| count).max();
        let own = match self.counts.iter_mut().find(|(known, _)| *known == queue) {
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
        most.is_none_or(|most| own >= most)
    }
}

impl Seif {
    /// Starts as `config` says; what is out of range is moved to the nearest that is not.
    pub fn new(config: &SeifConfig) -> Self {
        let max_window = config.max_window.max(1.0);
        Self {
            window: config.initial_window.clamp(1.0, max_window),
            ssthresh: config.initial_ssthresh.max(MIN_SSTHRESH),
            max_window,
            cut_back: config.cut_back.clamp(0.0, 1.0),
            growth_windows: config.growth_windows.max(1),
            acks: 0,
            cut: false,
            heard: (config.follow == Follow::Loudest).then(Box::default),
        }
    }

    /// The phase that the source is in.
    pub fn state(&self) -> SeifState {
        if self.window >= self.ssthresh {
            SeifState::Stable
        } else if self.cut {
            SeifState::CutBack
        } else {
            SeifState::Initialise
        }
    }

    /// Every signal cuts; there is no time after a cut in which the next is not heard.
    fn cut(&mut self) {
        self.ssthresh = (self.window / 2.0).max(MIN_SSTHRESH);
        self.window = (self.cut_back * self.window).max(1.0);
        self.acks = 0;
        self.cut = true;
    }
}

impl Controller for Seif {
    type PacketInfo = ();

    fn on_ack(&mut self, _sample: &AckSample, _info: ()) {
        if self.window < self.ssthresh {
            self.window = (self.window + 1.0).min(self.max_window);
            return;
        }
        // Whole acknowledgements against whole windows: the counter of the thesis, not a fraction for each.
        self.acks = self.acks.saturating_add(1);
        let windows = f64::from(self.growth_windows) * self.window.floor();
        if f64::from(self.acks) >= windows {
            self.acks = 0;
            self.window = (self.window + 1.0).min(self.max_window);
        }
    }

    fn on_loss(&mut self, _sample: &LossSample) {
        self.cut();
    }

    fn on_feedback(&mut self, sample: &FeedbackSample) {
        if sample.known {
            return;
        }
        let queue = sample.feedback.queue;
        if self.heard.as_mut().is_none_or(|heard| heard.is_loudest(queue)) {
            self.cut();
        }
    }

    fn retransmits_reported_drops(&self) -> bool {
        true
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
