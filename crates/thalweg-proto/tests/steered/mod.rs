//! Any of the library's controllers, with pacing on top where a test asks for it, and what it relies on checked.

use thalweg_proto::congestion::{
    AckSample, Any, Controller, ControllerConfig, Decision, FeedbackSample, LossKind, LossSample, Path,
    SentSample,
};
use thalweg_proto::units::Rate;

/// A controller under watch.
#[derive(Clone, Debug)]
pub struct Steered {
    inner: Any,
    pacing: Option<(Rate, u32)>,
}

impl Steered {
    /// The controller that `spec` describes; `pacing` is a rate and a burst.
    pub fn new(spec: &ControllerConfig, pacing: Option<(Rate, u32)>) -> Self {
        Self { inner: Any::new(spec).expect("one of the list"), pacing }
    }
}

impl Controller for Steered {
    type PacketInfo = ();

    fn on_sent(&mut self, sample: &SentSample) {
        assert!(sample.bytes > 0, "an empty segment");
        self.inner.on_sent(sample);
    }

    fn on_ack(&mut self, sample: &AckSample, info: ()) {
        assert!(sample.acked > 0 && sample.acked_bytes > 0, "nothing was acknowledged");
        self.inner.on_ack(sample, info);
    }

    fn on_loss(&mut self, sample: &LossSample) {
        // The last packet of all may be the one that is marked.
        assert!(sample.path.outstanding > 0 || sample.kind == LossKind::Mark, "a loss of nothing");
        self.inner.on_loss(sample);
    }

    fn on_recovered(&mut self, path: &Path) {
        self.inner.on_recovered(path);
    }

    fn on_feedback(&mut self, sample: &FeedbackSample) {
        // A router may grant a rate.
        if let (Some(granted), Some((rate, _))) = (sample.feedback.rate, &mut self.pacing) {
            *rate = granted;
        }
        self.inner.on_feedback(sample);
    }

    fn retransmits_reported_drops(&self) -> bool {
        self.inner.retransmits_reported_drops()
    }

    fn on_idle(&mut self, path: &Path) {
        assert!(path.outstanding == 0, "idle with something outstanding");
        self.inner.on_idle(path);
    }

    fn decision(&self) -> Decision {
        let mut decision = self.inner.decision();
        assert!(decision.window >= 1.0 && decision.window.is_finite(), "a window of {}", decision.window);
        if let Some((rate, burst)) = self.pacing {
            (decision.pacing_rate, decision.burst) = (Some(rate), burst);
        }
        decision
    }

    fn threshold(&self) -> Option<f64> {
        self.inner.threshold()
    }
}
