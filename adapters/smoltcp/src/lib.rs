//! `smoltcp` in the simulator: its TCP (RFC 9293) with three settings of congestion control.
//!
//! Its datagrams are IPv4 packets with checksums. All settings have their defaults, except for the buffers, which
//! follow the scheme's key `buffer`. `smoltcp` takes time as an argument, in microseconds, and one random seed, from
//! which it draws initial sequence numbers. It has no ECN.

mod connection;
mod device;

pub use connection::Smoltcp;

use smoltcp::socket::tcp::CongestionControl;
use thalweg_catalog::{Registry, SchemeDescription};
use thalweg_stack_contract::{Config, Side, Stack, Time, scheme};

/// A congestion controller of the stack.
macro_rules! schemes {
    ($($STATIC:ident, $Scheme:ident: $name:literal, $control:expr, $about:literal;)+) => {
        $(
            #[doc = concat!("The scheme `", $name, "`.")]
            #[derive(Debug)]
            pub struct $Scheme;

            impl Stack for $Scheme {
                const NAME: &'static str = $name;
                const IS_IP: bool = true;
                const ECN: bool = false;
                type Connection = Smoltcp;

                fn open(side: Side, config: &Config, now: Time) -> Smoltcp {
                    Smoltcp::new(side, config, $control, now)
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
    RENO, SmoltcpReno: "smoltcp-reno", CongestionControl::Reno, "TCP by smoltcp 0.14.0, with its Reno (RFC 5681).";
    CUBIC, SmoltcpCubic: "smoltcp-cubic", CongestionControl::Cubic, "TCP by smoltcp 0.14.0, with its CUBIC (RFC 9438).";
    NONE, SmoltcpNone: "smoltcp-none", CongestionControl::None, "TCP by smoltcp 0.14.0, without congestion control, as \
        it is by default.";
}
