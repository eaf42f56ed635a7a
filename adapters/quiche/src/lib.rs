//! `quiche` in the simulator: a QUIC stack (RFC 9000) with three congestion controllers.
//!
//! Settings are those of its example programs: packets of 1350 bytes and pacing. Buffers follow the scheme's key `buffer`.
//! Packets leave at the time for which `quiche` schedules them, as with `SO_TXTIME`.
//!
//! `quiche` reads the system's clock and draws from BoringSSL: `thalweg-stack-clock` replaces both. It does not set or report
//! ECN codepoints.

mod connection;

pub use connection::End;

use quiche::CongestionControlAlgorithm as Algorithm;
use thalweg_catalog::{Registry, SchemeDescription};
use thalweg_stack_contract::{Config, Side, Stack, Time, scheme};

/// A congestion controller of the stack.
macro_rules! schemes {
    ($($STATIC:ident, $Scheme:ident: $name:literal, $algorithm:expr, $about:literal;)+) => {
        $(
            #[doc = concat!("The scheme `", $name, "`.")]
            #[derive(Debug)]
            pub struct $Scheme;

            impl Stack for $Scheme {
                const NAME: &'static str = $name;
                const ECN: bool = false;
                type Connection = End;

                fn open(side: Side, config: &Config, now: Time) -> End {
                    End::new(Self::NAME, side, config, $algorithm, now)
                }
            }

            static $STATIC: SchemeDescription = scheme::<$Scheme>($about);
        )+

        /// Adds all schemes of the stack.
        pub fn register(registry: &mut Registry) {
            $(registry.add_scheme(&$STATIC);)+
        }
    };
}

schemes! {
    RENO, QuicheReno: "quiche-reno", Algorithm::Reno, "QUIC by quiche 0.30.0, with its Reno (RFC 9002).";
    CUBIC, QuicheCubic: "quiche-cubic", Algorithm::CUBIC, "QUIC by quiche 0.30.0, with its CUBIC (RFC 9438) and HyStart++.";
    BBR2, QuicheBbr2: "quiche-bbr2", Algorithm::Bbr2Gcongestion, "QUIC by quiche 0.30.0, with its BBR (version 2).";
}
