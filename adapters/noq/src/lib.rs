//! `noq-proto` in the simulator: a QUIC stack (RFC 9000) with three congestion controllers, a fork of `quinn-proto`.
//!
//! What is said of `thalweg-quinn` applies: defaults stay, except for the buffers, and random numbers come from the
//! connection.

mod api;
#[path = "../../quinn/src/connection.rs"]
mod connection;

pub use connection::End;

use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use std::sync::Arc;
use thalweg_catalog::{Registry, SchemeDescription};
use thalweg_stack::{Config, Side, Stack, Time, scheme};

/// A congestion controller of the stack.
macro_rules! schemes {
    ($($STATIC:ident, $Scheme:ident: $name:literal, $Config:ty, $about:literal;)+) => {
        $(
            #[doc = concat!("The scheme `", $name, "`.")]
            #[derive(Debug)]
            pub struct $Scheme;

            impl Stack for $Scheme {
                const NAME: &'static str = $name;
                const ECN: bool = true;
                type Connection = End;

                fn open(side: Side, config: &Config, now: Time) -> End {
                    let controller: Arc<dyn ControllerFactory + Send + Sync> = Arc::new(<$Config>::default());
                    End::new(side, config, controller, now)
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
    CUBIC, NoqCubic: "noq-cubic", CubicConfig, "QUIC by noq-proto 1.4.0, with its CUBIC (RFC 9438).";
    NEW_RENO, NoqNewReno: "noq-newreno", NewRenoConfig, "QUIC by noq-proto 1.4.0, with its NewReno (RFC 9002).";
    BBR3, NoqBbr3: "noq-bbr3", Bbr3Config, "QUIC by noq-proto 1.4.0, with its BBR (version 3).";
}
