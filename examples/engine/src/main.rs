//! The command `thalweg` with a custom engine family: stop-and-wait, `thalweg compare wire.toml --schemes
//! stop-and-wait,sscop`.
//!
//! One packet is in flight at a time: the sender waits for its acknowledgement, and retransmits it after a timeout.

mod pdu;
mod stop_and_wait;

use pdu::Pdu;
use std::process::ExitCode;
use stop_and_wait::{Receiver, Sender};
use thalweg::Registry;
use thalweg_catalog::option_keys::{Key, Keys, key};
use thalweg_catalog::schemes::SIZES;
use thalweg_catalog::{Family, Kind, Properties, Range, SchemeDescription, SchemeTraits, bind};
use thalweg_proto::payload::Payload;
use thalweg_proto::units::Duration;

/// Configuration of both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Config {
    /// Maximum payload of a packet, in bytes.
    segment: u32,
    /// Retransmission timeout of an unacknowledged packet.
    timeout: Duration,
}

impl Family for Config {
    const NAME: &'static str = "stop-and-wait";
    const OVERHEAD: u32 = pdu::HEADER;
    type Pdu<P: Payload> = Pdu<P>;
    type Sender<P: Payload> = Sender<P>;
    type Receiver<P: Payload> = Receiver<P>;

    fn sender<P: Payload>(&self) -> Sender<P> {
        Sender::new(*self)
    }

    fn receiver<P: Payload>(&self) -> Receiver<P> {
        Receiver::default()
    }
}

impl Properties for Config {
    fn segment(&self) -> u32 {
        self.segment
    }

    fn description(&self) -> String {
        format!(", one packet of {} B at a time, again after {}", self.segment, self.timeout)
    }

    fn window(&self) -> Option<u64> {
        Some(1)
    }

    fn never_shrinks(&self) -> bool {
        true
    }

    fn lacks_flow_control(&self) -> Option<&'static str> {
        Some("its receiver has no window to close: the sender cannot detect a slow application")
    }
}

const KEYS: &[Key] = &[key(
    "timeout",
    Kind::Time,
    "1 s",
    "A packet that has not been acknowledged after this time is sent again.",
)
.within(Range::POSITIVE, "")
.peer(Range::at_least(1e-3))];
bind!(Config { segment: "segment", timeout: "timeout" });

static STOP_AND_WAIT: SchemeDescription = SchemeDescription::for_family::<Config>(
    "Stop-and-wait: one packet at a time.",
    Keys { shared: &[SIZES], defaults: &[("segment", "1000 B"), ("header", "36 B")], ..Keys::own(KEYS) },
    SchemeTraits::RELIABLE,
);

fn main() -> ExitCode {
    let mut registry = Registry::default();
    registry.add_scheme(&STOP_AND_WAIT);
    thalweg::run_with(registry)
}
