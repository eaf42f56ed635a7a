//! The command `thalweg` with a custom congestion controller: `compare dumbbell --schemes cubic,aimd:decrease=0.7`.

use std::process::ExitCode;
use thalweg::Registry;
use thalweg_catalog::{Key, Kind, Range, SchemeDescription, bind, describe::key, schemes::window};
use thalweg_proto::congestion::{AckSample, ConfigureController, Controller, Decision, LossSample};

/// Additive increase, multiplicative decrease (Chiu and Jain 1989).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Aimd {
    increase: f64,
    decrease: f64,
}

#[derive(Clone, Debug)]
struct Window(Aimd, f64);

impl Controller for Window {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        if !sample.recovering && !sample.app_limited {
            self.1 += self.0.increase * f64::from(sample.counted) / self.1;
        }
    }

    fn on_loss(&mut self, _sample: &LossSample) {
        self.1 = (self.1 * self.0.decrease).max(1.0);
    }

    fn decision(&self) -> Decision {
        Decision::window(self.1)
    }
}

impl ConfigureController for Aimd {
    type Controller = Window;
    const NAME: &'static str = "aimd";

    fn make(&self) -> Window {
        Window(*self, 10.0)
    }
}

const KEYS: &[Key] = &[
    key("increase", Kind::Packets, "1 pkt", "Added in each round trip.")
        .within(Range::between(0.1, 100.0), ""),
    key("decrease", Kind::Share, "0.5", "Kept after a loss.").within(Range::between(0.0, 1.0).below(), ""),
];
bind!(Aimd { increase: "increase", decrease: "decrease" });

static AIMD: SchemeDescription =
    window::external_scheme::<Aimd>("Adds a constant, multiplies at loss.", window::keys(KEYS, window::SACK));

fn main() -> ExitCode {
    let mut registry = Registry::default();
    registry.add_scheme(&AIMD);
    thalweg::run_with(registry)
}
