//! `sctp-proto` in the simulator: an SCTP stack (RFC 9260), that of data channels in `str0m`, over UDP (RFC 6951).
//!
//! All settings have their defaults, except for the receive buffer, which follows the scheme's key `buffer`. Unlike in
//! WebRTC, there is no DTLS below SCTP: chunks are visible in captures. The stack has one congestion control, and no
//! ECN.
//!
//! It takes time as an argument, except for the start of an association, which reads the system's clock:
//! `thalweg-stack-clock` replaces it. Tags, sequence numbers and cookies come from `rand` 0.9, which takes its seeds
//! from the connection in this workspace.

mod connection;

pub use connection::End;

use thalweg_catalog::{Registry, SchemeDescription};
use thalweg_stack_contract::{Config, Side, Stack, Time, scheme};

/// The scheme `sctp`.
#[derive(Debug)]
pub struct Sctp;

impl Stack for Sctp {
    const NAME: &'static str = "sctp";
    const ECN: bool = false;
    const PORT: u16 = 9899;
    type Connection = End;

    fn open(side: Side, config: &Config, now: Time) -> End {
        End::new(side, config, now)
    }
}

static SCTP: SchemeDescription =
    scheme::<Sctp>("SCTP by sctp-proto 0.10.8, with its congestion control (RFC 9260, section 7).");

/// Adds the scheme of the stack.
pub fn register(registry: &mut Registry) {
    registry.add_scheme(&SCTP);
}
