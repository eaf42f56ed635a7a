//! Any of the controllers, chosen at run time.

use super::{
    AckSample, Bbn, Controller, ControllerSpec, Cubic, DecBit, Decision, FeedbackSample, Fixed, LossSample,
    NewReno, Path, Seif, SentSample, SlowStart, SourceQuench, TriS, Vegas,
};

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
    /// The controller that `spec` describes.
    pub fn new(spec: &ControllerSpec) -> Self {
        match *spec {
            ControllerSpec::Fixed { window } => Self::Fixed(Fixed::new(window)),
            ControllerSpec::SlowStart { initial_window, initial_threshold, growth } => {
                Self::SlowStart(SlowStart::new(initial_window, initial_threshold, growth))
            }
            ControllerSpec::NewReno { initial_window, initial_threshold } => {
                Self::NewReno(NewReno::new(initial_window, initial_threshold))
            }
            ControllerSpec::Vegas { initial_window, initial_threshold, alpha, beta, gamma } => {
                Self::Vegas(Box::new(Vegas::new(initial_window, initial_threshold, alpha, beta, gamma)))
            }
            ControllerSpec::Cubic { initial_window, initial_threshold, c, beta, fast_convergence } => {
                Self::Cubic(Box::new(Cubic::new(
                    initial_window,
                    initial_threshold,
                    c,
                    beta,
                    fast_convergence,
                )))
            }
            ControllerSpec::Seif(ref spec) => Self::Seif(Box::new(Seif::new(spec))),
            ControllerSpec::DecBit(ref spec) => Self::DecBit(Box::new(DecBit::new(spec))),
            ControllerSpec::TriS(ref spec) => Self::TriS(Box::new(TriS::new(spec))),
            ControllerSpec::SourceQuench { window, acks } => {
                Self::SourceQuench(SourceQuench::new(window, acks))
            }
            ControllerSpec::Bbn(ref spec) => Self::Bbn(Box::new(Bbn::new(spec))),
        }
    }
}

// None of the controllers here keeps anything with a packet; the first that does makes this an enum.
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
