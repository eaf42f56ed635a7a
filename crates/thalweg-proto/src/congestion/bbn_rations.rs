//! Rate-based congestion control by rations (Robinson, Friedman and Steenstrup, "Congestion control in BBN
//! packet-switched networks", 1990): the source. A ration is the rate that a queue grants to a flow.
//!
//! Every queue on the path grants the flow a ration and renews it each interval. The flow sends at the smallest ration.
//!
//! # Differences from the paper
//!
//! | Paper | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | the boundary router enforces the rations | the source paces itself | the pacing of a window transport is at the boundary | none if the source is honest |
//! | rations are flooded to all nodes, which know the route | messages reach the sources of a queue; a ration not renewed in time expires | sources do not know routes | after a route change the old ration applies a little longer |
//! | before the first renewal a ration is that of an idle network, `R(0) = T` | before the first message the source is not paced | only routers know `T`, and a source does not know its route | in the first interval a source sends at the rate of its window: with the default of 1 s and a large window, a burst that overflows small buffers. A smaller `interval` or `window` shortens it |

use super::{
    AckSample, ConfigureController, ConnectionState, Controller, Decision, FeedbackKind, FeedbackSample,
    LossSample, SentSample,
};
use crate::units::{Bytes, Duration, Rate, Time};

/// Maximum number of stored rations. A path has few queues; the bound protects memory from a hostile path.
const MAX_RATIONS: usize = 64;

/// Configuration of a [`Bbn`] source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BbnConfig {
    /// Window in segments, large enough not to limit the rate.
    pub window: f64,
    /// Lifetime of a ration without renewal.
    pub lifetime: Duration,
    /// Header overhead of each packet in bytes: rations apply to bytes on the wire.
    pub header: u32,
}

/// Ration granted by a queue.
#[derive(Clone, Copy, Debug)]
struct Ration {
    queue: u32,
    rate: Rate,
    renewed: Time,
}

/// Source controlled by rations.
#[derive(Clone, Debug)]
pub struct Bbn {
    window: f64,
    lifetime: Duration,
    header: u32,
    pace: Option<Rate>,
    rations: Vec<Ration>,
}

impl Bbn {
    /// Creates the controller described by `config`, unpaced until the first ration arrives.
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

    /// Removes expired rations, and applies the smallest of the rest as a payload rate.
    fn refresh(&mut self, connection: &ConnectionState) {
        let lifetime = self.lifetime;
        self.rations.retain(|ration| connection.now.since(ration.renewed) <= lifetime);
        let smallest = self.rations.iter().map(|ration| ration.rate).min();
        self.pace = smallest.map(|rate| {
            let segment = f64::from(connection.segment);
            let payload = rate.mul_f64(segment / (segment + f64::from(self.header)));
            // A zero ration still permits one packet per lifetime, which detects its expiry.
            payload.max(Rate::from_transfer(Bytes::new(u64::from(connection.segment)), lifetime))
        });
    }
}

impl Controller for Bbn {
    type PacketInfo = ();

    fn on_sent(&mut self, sample: &SentSample) {
        self.refresh(&sample.connection);
    }

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        self.refresh(&sample.connection);
    }

    fn on_loss(&mut self, _sample: &LossSample) {}

    fn on_feedback(&mut self, sample: &FeedbackSample) {
        if let Some(rate) = sample.feedback.rate {
            self.grant(sample.feedback.queue, rate, sample.connection.now);
        }
        self.refresh(&sample.connection);
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
