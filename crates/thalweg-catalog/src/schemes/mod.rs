//! The descriptions of transport schemes, one file per scheme or family.

/// Lists the descriptions of schemes in reference order: window schemes first.
macro_rules! schemes {
    (shared { $($file:ident: $Name:ident($Held:ty), $Config:ident;)+ } dedicated { $($dedicated:ident: $Dedicated:ident;)* }) => {
        /// The built-in schemes, in reference order.
        pub const SCHEMES: &[&SchemeDescription] = &[
            $(&$file::SCHEME,)+
            $(&$dedicated::SCHEME,)*
            &datagram::SCHEME,
            &scream::SCHEME,
            &adaptive_ack::SCHEME,
            &sscop::SCHEME,
            &sscop_rate::SCHEME,
            &sscop_rate::LITERAL,
            &sstp::SCHEME,
        ];
    };
}
thalweg_proto::controllers!(schemes);

/// Returns the traits of a built-in scheme, whose name may have options.
pub fn built_in_traits(text: &str) -> Option<&'static SchemeTraits> {
    let (name, _) = split_name(text);
    SCHEMES.iter().find(|description| description.name == name).map(|description| &description.traits)
}

pub mod adaptive_ack;
pub mod bbn_rations;
pub mod bbr;
pub mod copa;
pub mod cubic;
pub mod datagram;
pub mod dctcp;
pub mod dec_bit;
pub mod fixed_window;
pub mod ledbat_plus_plus;
pub mod new_reno;
pub mod prague;
pub mod scream;
pub mod seif;
pub mod slow_start_tahoe;
pub mod source_quench;
pub mod sscop;
pub mod sscop_rate;
pub mod sstp;
pub mod thalweg;
pub mod tri_s;
pub mod vegas;
pub mod window;
mod window_endpoint_configs;
mod window_key_conflicts;
pub mod window_presets;

use crate::option_keys::key;
use crate::option_syntax::split_name;
use crate::path_hints::PathHints;
use crate::scheme_description::{SchemeDescription, SchemeTraits};
use crate::{Key, Kind, Range, Values};

/// The keys for packet sizes, common to all schemes.
pub const SIZES: &[Key] = &[SEGMENT, HEADER];

/// The keys for packet sizes of schemes whose live packets follow the path MTU.
pub(crate) const WINDOW_SIZES: &[Key] =
    &[SEGMENT.not_live("segments follow the path MTU, which may change"), HEADER];

const SEGMENT: Key = key(
    "segment",
    Kind::Size,
    "",
    "Maximum payload of a packet. In simulations the default makes packets of 1500 bytes with headers: 1448 B for window schemes, 1472 B \
     for udp, 1468 B for sscop and 1454 B for sstp. For scream it is 1200 B, and for adaptive-ack 1008 B.",
)
.within(Range::between(1.0, 1_048_576.0), "")
.from_path("the path MTU")
.peer(Range::between(256.0, 65_535.0));

const HEADER: Key = key(
    "header",
    Kind::Size,
    "",
    "Header bytes of each data packet on the wire: 52 B for window schemes, 28 B for udp and sscop, 46 B for sstp, 44 B for scream, and \
     16 B for adaptive-ack.",
)
.within(Range::between(0.0, 1_048_576.0), "")
.not_live("packets have the headers that they have");

/// Creates the key for the wire size of packets without payload.
pub(crate) const fn ack_size_key(default: &'static str, about: &'static str) -> Key {
    key("ack", Kind::Size, default, about)
        .within(Range::between(0.0, 1_048_576.0), "")
        .not_live("packets have the headers that they have")
}

/// The range of a window in packets.
pub const WINDOW_RANGE: Range = Range::at_least(1.0);
/// The help for a window that is too small.
pub const NO_WINDOW: &str = "a window below one packet never sends";
/// The range of a live window, in packets.
pub const PEER_WINDOW_RANGE: Range = Range::between(1.0, 1_048_576.0);
/// The range of a live initial window, in packets: they leave before anything is known of the path.
pub const PEER_INITIAL_WINDOW_RANGE: Range = Range::between(1.0, 1024.0);

/// Creates the key of the initial window for a controller with its own default.
pub const fn initial_window(default: &'static str) -> Key {
    window_at_start(default, "Initial window.")
}

/// The key of the initial window, by default that of RFC 6928.
pub const INITIAL_WINDOW: Key = window_at_start("10 pkt", "Initial window (RFC 6928).");

const fn window_at_start(default: &'static str, about: &'static str) -> Key {
    key("initial-window", Kind::Packets, default, about)
        .within(WINDOW_RANGE, NO_WINDOW)
        .peer(PEER_INITIAL_WINDOW_RANGE)
}

/// The key of the initial slow-start threshold.
pub const INITIAL_THRESHOLD: Key =
    key("initial-ssthresh", Kind::Packets, "unlimited", "Initial slow-start threshold.")
        .within(WINDOW_RANGE, NO_WINDOW);

/// The range of live times that trigger sending: at least a millisecond.
pub(crate) const PEER_TIME_RANGE: Range = Range::at_least(1e-3);
/// Approximate overhead of IP, UDP and encryption of a live datagram, in bytes; agreed rates include it.
pub(crate) const LOWER_LAYER_OVERHEAD: u32 = 60;

/// Returns the payload of a packet sent by a live end, in bytes: limited by the agreed size and by its own path.
pub(crate) fn local_segment(values: &Values, path: &PathHints, overhead: u32) -> u32 {
    let own = path.max_payload(overhead);
    values.optional::<u32>("segment").map_or(own, |agreed| agreed.min(own))
}

/// Returns the agreed payload of a live packet, or else that of the path.
pub(crate) fn agreed_segment(values: &Values, path: &PathHints, overhead: u32) -> u32 {
    values.optional("segment").unwrap_or_else(|| path.max_payload(overhead))
}
