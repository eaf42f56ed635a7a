//! Any of the controllers, chosen at run time.

use super::{
    AckSample, Bbn, Controller, ControllerConfig, Cubic, DecBit, Decision, FeedbackSample, Fixed, LossSample,
    NewReno, Path, Seif, SentSample, SlowStart, SourceQuench, TriS, Vegas,
};

use crate::window::CustomController;

macro_rules! controllers {
    ($($name:ident($held:ty)),*) => {
        /// Any of the controllers. Large ones are boxed, so that senders with small ones stay small.
        #[derive(Clone, Debug)]
        #[expect(missing_docs, reason = "each variant holds the controller of its name")]
        pub enum Any { $($name($held)),* }

        macro_rules! each {
            ($any:expr, $controller:ident => $body:expr) => {
                match $any { $(Any::$name($controller) => $body),* }
            };
        }
    };
}
controllers!(
    Fixed(Fixed),
    SlowStart(SlowStart),
    NewReno(NewReno),
    Vegas(Box<Vegas>),
    Cubic(Box<Cubic>),
    Seif(Box<Seif>),
    DecBit(Box<DecBit>),
    TriS(Box<TriS>),
    SourceQuench(SourceQuench),
    Bbn(Box<Bbn>)
);

impl Any {
    /// The controller that `config` is for.
    ///
    /// # Errors
    ///
    /// It is a custom one, which has a sender of its own.
    pub fn new(config: &ControllerConfig) -> Result<Self, &CustomController> {
        Ok(match config {
            ControllerConfig::Fixed(config) => Self::Fixed(Fixed::new(config)),
            ControllerConfig::SlowStart(config) => Self::SlowStart(SlowStart::new(config)),
            ControllerConfig::NewReno(config) => Self::NewReno(NewReno::new(config)),
            ControllerConfig::Vegas(config) => Self::Vegas(Box::new(Vegas::new(config))),
            ControllerConfig::Cubic(config) => Self::Cubic(Box::new(Cubic::new(config))),
            ControllerConfig::Seif(config) => Self::Seif(Box::new(Seif::new(config))),
            ControllerConfig::DecBit(config) => Self::DecBit(Box::new(DecBit::new(config))),
            ControllerConfig::TriS(config) => Self::TriS(Box::new(TriS::new(config))),
            ControllerConfig::SourceQuench(config) => Self::SourceQuench(SourceQuench::new(config)),
            ControllerConfig::Bbn(config) => Self::Bbn(Box::new(Bbn::new(config))),
            ControllerConfig::Custom(custom) => return Err(custom),
        })
    }
}

// None of the controllers here keeps anything with a packet. One that does has a sender of its own: see
// [`CustomController`].
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

    fn on_recovered(&mut self, path: &Path) {
        each!(self, controller => controller.on_recovered(path));
    }

    fn on_feedback(&mut self, sample: &FeedbackSample) {
        each!(self, controller => controller.on_feedback(sample));
    }

    fn heeds_drops(&self) -> bool {
        each!(self, controller => controller.heeds_drops())
    }

    fn on_idle(&mut self, path: &Path) {
        each!(self, controller => controller.on_idle(path));
    }

    fn decision(&self) -> Decision {
        each!(self, controller => controller.decision())
    }

    fn threshold(&self) -> Option<f64> {
        each!(self, controller => controller.threshold())
    }
}
