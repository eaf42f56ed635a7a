//! Any of the library's controllers, with optional pacing, and checks of the guarantees it relies on.

use thalweg_proto::congestion::delivery_rate::Stamp;
use thalweg_proto::congestion::{
    AckSample, Any, Bbr, BbrConfig, ConfigureController, ConnectionState, Controller, Decision,
    FeedbackSample, LossKind, LossSample, LostSample, SentSample, Thalweg, ThalwegConfig,
};
use thalweg_proto::units::Rate;
use thalweg_proto::window::ControllerConfig;

/// A controller with the shared sender type, or one with its own.
#[derive(Clone, Debug)]
enum InnerController {
    Shared(Any),
    Bbr(Box<Bbr>),
    Thalweg(Box<Thalweg>),
}

/// Data stored with a packet.
#[derive(Clone, Copy, Debug, Default)]
pub enum Info {
    #[default]
    Nothing,
    Bbr(Stamp),
    Thalweg(Stamp),
}

macro_rules! each {
    ($inner:expr, $controller:ident => $body:expr) => {
        match $inner {
            InnerController::Shared($controller) => $body,
            InnerController::Bbr($controller) => $body,
            InnerController::Thalweg($controller) => $body,
        }
    };
}

/// A controller with checked inputs.
#[derive(Clone, Debug)]
pub struct Steered {
    inner: InnerController,
    pacing: Option<(Rate, u32)>,
}

impl Steered {
    /// Creates the controller of `spec`; `pacing` is a rate and a burst.
    pub fn new(spec: &ControllerConfig, pacing: Option<(Rate, u32)>) -> Self {
        let inner = if let Some(config) = spec.config::<BbrConfig>() {
            InnerController::Bbr(Box::new(config.make()))
        } else if let Some(config) = spec.config::<ThalwegConfig>() {
            InnerController::Thalweg(Box::new(config.make()))
        } else {
            InnerController::Shared(spec.shared().expect("one of the list"))
        };
        Self { inner, pacing }
    }
}

impl Controller for Steered {
    type PacketInfo = Info;

    fn on_sent(&mut self, sample: &SentSample) -> Info {
        assert!(sample.bytes > 0, "an empty segment");
        match &mut self.inner {
            InnerController::Bbr(bbr) => Info::Bbr(bbr.on_sent(sample)),
            InnerController::Thalweg(thalweg) => Info::Thalweg(thalweg.on_sent(sample)),
            InnerController::Shared(any) => {
                any.on_sent(sample);
                Info::Nothing
            }
        }
    }

    fn on_ack(&mut self, sample: &AckSample, info: Info) {
        assert!(sample.acked > 0 && sample.acked_bytes > 0, "nothing was acknowledged");
        match (&mut self.inner, info) {
            (InnerController::Bbr(bbr), Info::Bbr(info)) => bbr.on_ack(sample, info),
            (InnerController::Thalweg(thalweg), Info::Thalweg(info)) => thalweg.on_ack(sample, info),
            (InnerController::Shared(any), Info::Nothing) => any.on_ack(sample, ()),
            _ => panic!("it was remembered for another"),
        }
    }

    fn on_packet_lost(&mut self, sample: &LostSample, info: Info) {
        match (&mut self.inner, info) {
            (InnerController::Bbr(bbr), Info::Bbr(info)) => bbr.on_packet_lost(sample, info),
            (InnerController::Thalweg(thalweg), Info::Thalweg(info)) => thalweg.on_packet_lost(sample, info),
            (InnerController::Shared(any), Info::Nothing) => any.on_packet_lost(sample, ()),
            _ => panic!("it was remembered for another"),
        }
    }

    fn on_app_limited(&mut self, connection: &ConnectionState) {
        each!(&mut self.inner, controller => controller.on_app_limited(connection));
    }

    fn would_undo(&self, saved: &Self) -> bool {
        match (&self.inner, &saved.inner) {
            (InnerController::Shared(now), InnerController::Shared(saved)) => now.would_undo(saved),
            (InnerController::Bbr(now), InnerController::Bbr(saved)) => now.would_undo(saved),
            (InnerController::Thalweg(now), InnerController::Thalweg(saved)) => now.would_undo(saved),
            _ => panic!("nobody becomes another"),
        }
    }

    fn on_undo(&mut self, saved: Self, connection: &ConnectionState) {
        match (&mut self.inner, saved.inner) {
            (InnerController::Shared(now), InnerController::Shared(saved)) => {
                now.on_undo(saved, connection);
            }
            (InnerController::Bbr(now), InnerController::Bbr(saved)) => now.on_undo(*saved, connection),
            (InnerController::Thalweg(now), InnerController::Thalweg(saved)) => {
                now.on_undo(*saved, connection);
            }
            _ => panic!("nobody becomes another"),
        }
    }

    fn on_loss(&mut self, sample: &LossSample) {
        // The very last packet may be the marked one.
        assert!(sample.connection.outstanding > 0 || sample.kind == LossKind::Mark, "a loss of nothing");
        each!(&mut self.inner, controller => controller.on_loss(sample));
    }

    fn on_recovered(&mut self, connection: &ConnectionState) {
        each!(&mut self.inner, controller => controller.on_recovered(connection));
    }

    fn on_feedback(&mut self, sample: &FeedbackSample) {
        // A router may grant a rate.
        if let (Some(granted), Some((rate, _))) = (sample.feedback.rate, &mut self.pacing) {
            *rate = granted;
        }
        each!(&mut self.inner, controller => controller.on_feedback(sample));
    }

    fn retransmits_reported_drops(&self) -> bool {
        each!(&self.inner, controller => controller.retransmits_reported_drops())
    }

    fn needs_each_ack_in_repair(&self) -> bool {
        each!(&self.inner, controller => controller.needs_each_ack_in_repair())
    }

    fn on_idle(&mut self, connection: &ConnectionState) {
        assert!(connection.outstanding == 0, "idle with something outstanding");
        each!(&mut self.inner, controller => controller.on_idle(connection));
    }

    fn on_window_unused(&mut self, window: f64, connection: &ConnectionState) {
        assert!(window >= 1.0, "a window of {window}");
        each!(&mut self.inner, controller => controller.on_window_unused(window, connection));
    }

    fn decision(&self) -> Decision {
        let mut decision = each!(&self.inner, controller => controller.decision());
        assert!(decision.window >= 1.0 && decision.window.is_finite(), "a window of {}", decision.window);
        if let Some((rate, burst)) = self.pacing {
            (decision.pacing_rate, decision.burst) = (Some(rate), burst);
        }
        decision
    }

    fn ssthresh(&self) -> Option<f64> {
        each!(&self.inner, controller => controller.ssthresh())
    }
}
