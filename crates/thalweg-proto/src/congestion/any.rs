//! Any of the controllers, chosen at run time.

use super::*;
use crate::window::CustomController;

macro_rules! any_of {
    (shared { $($file:ident: $Name:ident($Held:ty), $Config:ident;)+ } apart { $($apart:ident;)* }) => {
        /// Any of the controllers that share a type of sender.
        #[derive(Clone, Debug)]
        #[expect(missing_docs, reason = "each variant holds the controller of its name")]
        pub enum Any { $($Name($Held)),+ }

        impl Any {
            /// The controller that `config` is for.
            ///
            /// # Errors
            ///
            /// It has a sender of its own.
            pub fn new(config: &ControllerConfig) -> Result<Self, &CustomController> {
                Ok(match config {
                    $(ControllerConfig::$Name(config) => Self::$Name(config.make().into()),)+
                    ControllerConfig::Custom(custom) => return Err(custom),
                })
            }
        }

        macro_rules! each {
            ($any:expr, $controller:ident => $body:expr) => {
                match $any { $(Any::$Name($controller) => $body),+ }
            };
        }
    };
}
controllers!(any_of);

// None of these keeps anything with a packet. One that does has a sender of its own: see [`CustomController`].
impl Controller for Any {
    type PacketInfo = ();

    #[inline]
    fn on_sent(&mut self, sample: &SentSample) {
        each!(self, controller => controller.on_sent(sample));
    }

    fn on_ack(&mut self, sample: &AckSample, info: ()) {
        each!(self, controller => controller.on_ack(sample, info));
    }

    fn on_loss(&mut self, sample: &LossSample) {
        each!(self, controller => controller.on_loss(sample));
    }

    #[inline]
    fn on_packet_lost(&mut self, sample: &LostSample, info: ()) {
        each!(self, controller => controller.on_packet_lost(sample, info));
    }

    #[inline]
    fn on_app_limited(&mut self, path: &Path) {
        each!(self, controller => controller.on_app_limited(path));
    }

    fn on_recovered(&mut self, path: &Path) {
        each!(self, controller => controller.on_recovered(path));
    }

    fn on_feedback(&mut self, sample: &FeedbackSample) {
        each!(self, controller => controller.on_feedback(sample));
    }

    fn retransmits_reported_drops(&self) -> bool {
        each!(self, controller => controller.retransmits_reported_drops())
    }

    fn on_idle(&mut self, path: &Path) {
        each!(self, controller => controller.on_idle(path));
    }

    #[inline(always)]
    fn decision(&self) -> Decision {
        each!(self, controller => controller.decision())
    }

    fn threshold(&self) -> Option<f64> {
        each!(self, controller => controller.threshold())
    }
}
