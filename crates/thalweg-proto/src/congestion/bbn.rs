//! Rate-based congestion control by rations (Robinson, Friedman and Steenstrup, "Congestion control in BBN packet-switched
//! networks", 1990), the source's part.
//!
//! Every queue on the path grants the flow a ration, a rate, and renews it each interval. The flow sends at the smallest.
//!
//! # Differences from the paper
//!
//! | Paper | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | the boundary router enforces the rations | the source paces itself | a window transport's own pacing is at the boundary | none where the source is honest |
//! | rations are flooded to all nodes, which know the route | messages reach the sources of a queue; one not renewed in time is forgotten | sources do not know routes | after a change of route the old ration holds a little longer |
//! | before the first renewal a ration is that of an idle network, `R(0) = T` | before the first message the source is not paced at all | `T` is known to routers only, and a source does not know its route | in the first interval a source sends as fast as its window lets it: with the default of 1 s and large windows a burst that overflows small buffers. A smaller `interval` or `window` shortens it |

use super::{
    AckSample, ConfigureController, Controller, Decision, FeedbackKind, FeedbackSample, LossSample, Path,
    SentSample,
};
use crate::units::{Bytes, Duration, Rate, Time};

/// Rations kept at most; a path has few queues, and a hostile one cannot make this grow.
const MAX_RATIONS: usize = 64;

/// The configuration of a [`Bbn`] source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BbnConfig {
    /// The window in segments, large enough not to matter.
    pub window: f64,
    /// A ration that was not renewed for so long holds no more.
    pub lifetime: Duration,
    /// Bytes on the wire of each packet beside its payload: rations are of the wire.
    pub header: u32,
}

/// The ration that a queue grants.
#[derive(Clone, Copy, Debug)]
struct Ration {
    queue: u32,
    rate: Rate,
    renewed: Time,
}

/// A source under rations.
#[derive(Clone, Debug)]
pub struct Bbn {
    window: f64,
    lifetime: Duration,
    header: u32,
    pace: Option<Rate>,
    rations: Vec<Ration>,
}

impl Bbn {
    /// Starts as `config` says, unpaced until the first ration comes.
    pub fn new(config: &BbnConfig) -> Self {
        Self {
            window: config.window.max(1.0),
            lifetime: config.lifetime,
            header: config.header,
            pace: None,
            rations: Vec::new(),
        }
    }

    fn grant(&mut self, queue: u32, rate: Rate, now: Time) {
        let ration = Ration { queue, rate, renewed: now };
        if let Some(old) = self.rations.iter_mut().find(|old| old.queue == queue) {
            *old = ration;
        } else if self.rations.len() < MAX_RATIONS {
            self.rations.push(ration);
        } else if let Some(oldest) = self.rations.iter_mut().min_by_key(|old| old.renewed) {
            *oldest = ration;
        }
    }

    /// Forgets what was not renewed and takes the smallest of the rest, as a rate of payload.
    fn refresh(&mut self, path: &Path) {
        let lifetime = self.lifetime;
        self.rations.retain(|ration| path.now.since(ration.renewed) <= lifetime);
        let smallest = self.rations.iter().map(|ration| ration.rate).min();
        self.pace = smallest.map(|rate| {
            let segment = f64::from(path.segment);
            let payload = rate.mul_f64(segment / (segment + f64::from(self.header)));
            // A ration of nothing still lets a packet go in each lifetime, so that the end of it is noticed.
            payload.max(Rate::from_transfer(Bytes::new(u64::from(path.segment)), lifetime))
        });
    }
}

impl Controller for Bbn {
    type PacketInfo = ();

    fn on_sent(&mut self, sample: &SentSample) {
        self.refresh(&sample.path);
    }

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        self.refresh(&sample.path);
    }

    fn on_loss(&mut self, _sample: &LossSample) {}

    fn on_feedback(&mut self, sample: &FeedbackSample) {
        if let Some(rate) = sample.feedback.rate {
            self.grant(sample.feedback.queue, rate, sample.path.now);
        }
        self.refresh(&sample.path);
    }

    fn decision(&self) -> Decision {
        Decision { pacing_rate: self.pace, ..Decision::window(self.window) }
    }
}

impl ConfigureController for BbnConfig {
    type Controller = Bbn;
    const NAME: &'static str = "bbn";

    fn make(&self) -> Bbn {
        Bbn::new(self)
    }

    fn feedback(&self) -> Option<FeedbackKind> {
        Some(FeedbackKind::Rations)
    }
}
