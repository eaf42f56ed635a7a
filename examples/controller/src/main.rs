//! The command `thalweg` with a custom congestion controller: `compare dumbbell --schemes cubic,aimd:decrease=0.7`.

#[cfg(test)]
mod tests;

use std::process::ExitCode;
use thalweg::Registry;
use thalweg_catalog::{Key, Kind, Range, SchemeDescription, bind, option_keys::key, schemes::window};
use thalweg_proto::congestion::{
    AckSample, ConfigureController, Controller, Decision, LossKind, LossSample, SenderRules,
};

/// Additive increase, multiplicative decrease (Chiu and Jain 1989).
#[derive(Clone, Copy, Debug, PartialEq)]
struct AimdConfig {
    /// Segments added to the window per round trip.
    increase: f64,
    /// Factor of the window at a loss.
    decrease: f64,
}

#[derive(Clone, Debug)]
struct Aimd {
    config: AimdConfig,
    /// Congestion window, in segments.
    window: f64,
    /// Slow-start threshold, in segments.
    ssthresh: f64,
}

impl Controller for Aimd {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        if !sample.recovering && !sample.app_limited {
            let is_slow_start = self.window < self.ssthresh;
            let growth = if is_slow_start { 1.0 } else { self.config.increase / self.window };
            self.window += growth * f64::from(sample.counted);
        }
    }

    fn on_loss(&mut self, sample: &LossSample) {
        if !sample.repeated {
            self.ssthresh = (self.window * self.config.decrease).max(2.0);
        }
        self.window = match sample.kind {
            LossKind::Detected | LossKind::Mark => self.ssthresh,
            LossKind::Timeout => 1.0,
        };
    }

    fn decision(&self) -> Decision {
        Decision::window(self.window)
    }

    fn ssthresh(&self) -> Option<f64> {
        Some(self.ssthresh)
    }
}

impl ConfigureController for AimdConfig {
    type Controller = Aimd;
    const NAME: &'static str = "aimd";
    const SENDER_RULES: SenderRules = SenderRules { byte_counting: true, ..SenderRules::NONE };

    fn make(&self) -> Aimd {
        Aimd { config: *self, window: 10.0, ssthresh: 10.0 }
    }
}

const KEYS: &[Key] = &[
    key("increase", Kind::Packets, "1 pkt", "Segments added to the window per round trip.")
        .within(Range::between(0.1, 100.0), ""),
    key("decrease", Kind::Share, "0.5", "Factor of the window at a loss.")
        .within(Range::between(0.0, 1.0).below(), ""),
];
bind!(AimdConfig { increase: "increase", decrease: "decrease" });

static AIMD: SchemeDescription = window::external_scheme::<AimdConfig>(
    "Additive increase, multiplicative decrease.",
    window::window_keys(KEYS, window::SACK),
);

fn main() -> ExitCode {
    let mut registry = Registry::default();
    registry.add_scheme(&AIMD);
    thalweg::run_with(registry)
}
