//! The descriptions of transport schemes, a file for each family's.

/// Lists the descriptions of schemes in the order of references: those of controllers first.
macro_rules! schemes {
    (shared { $($file:ident: $Name:ident($Held:ty), $Config:ident;)+ } apart { $($apart:ident: $Apart:ident;)* }) => {
        /// The schemes of this project, in the order of references.
        pub const SCHEMES: &[&SchemeDescription] = &[
            $(&$file::SCHEME,)+
            $(&$apart::SCHEME,)*
            &vanilla::SCHEME,
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

/// The sentence of schemes that send at their own pace whatever is lost.
macro_rules! collapses {
    ($about:literal) => {
        concat!(
            $about,
            " Losses do not slow it down: where a path has less room, most of what it sends may be lost."
        )
    };
}
use collapses;

pub mod adaptive_ack;
pub mod bbn;
pub mod bbr;
pub mod copa;
pub mod cubic;
pub mod datagram;
pub mod dctcp;
pub mod dec_bit;
pub mod fixed;
pub mod ledbat_plus_plus;
pub mod new_reno;
pub mod prague;
pub mod presets;
pub mod scream;
pub mod seif;
pub mod slow_start;
pub mod source_quench;
pub mod sscop;
pub mod sscop_rate;
pub mod sstp;
pub mod thalweg;
pub mod tri_s;
pub mod vanilla;
pub mod vegas;
pub mod window;
mod window_ends;

use crate::describe::key;
use crate::path::PathHints;
use crate::scheme::SchemeDescription;
use crate::{Key, Kind, Range, Values};

/// The keys for the sizes of packets, of every scheme.
pub const SIZES: &[Key] = &[SEGMENT, HEADER];

/// The same of schemes whose live packets follow the path at any time.
pub(crate) const WINDOW_SIZES: &[Key] =
    &[SEGMENT.not_live("segments are as large as the path takes, which may change"), HEADER];

const SEGMENT: Key = key(
    "segment",
    Kind::Size,
    "",
    "The largest payload of a packet (1448 B for windows, 1472 B for udp, 1468 B for sscop: 1500 bytes with their headers; \
     1008 B for adaptive-ack, 1454 B for sstp).",
)
.within(Range::between(1.0, 1_048_576.0), "")
.from_path("what the path takes")
.peer(Range::between(256.0, 65_535.0));

const HEADER: Key = key(
    "header",
    Kind::Size,
    "",
    "Bytes that each data packet has on the wire beside its payload (52 B, udp and sscop 28 B, adaptive-ack 16 B, sstp 46 \
     B).",
)
.within(Range::between(0.0, 1_048_576.0), "")
.not_live("packets have the headers that they have");

/// Bytes on the wire of what has no payload.
pub(crate) const fn ack(usual: &'static str, about: &'static str) -> Key {
    key("ack", Kind::Size, usual, about)
        .within(Range::between(0.0, 1_048_576.0), "")
        .not_live("packets have the headers that they have")
}

/// A window of packets that a receiver keeps.
pub(crate) const WINDOW_RANGE: Range = Range::at_least(1.0);
/// The help for a window that is too small.
pub(crate) const NO_WINDOW: &str = "a window below one packet never sends";
/// No live window is larger than this, in packets.
pub(crate) const PEER_WINDOW: Range = Range::between(1.0, 1_048_576.0);
/// No live window begins with more packets than this: they go out before anything is known of the path.
pub(crate) const PEER_INITIAL_WINDOW: Range = Range::between(1.0, 1024.0);

/// The key of the window that a controller begins with, where it is its own matter how large that usually is.
pub(crate) const fn initial_window(usual: &'static str) -> Key {
    window_at_start(usual, "The window at the start.")
}

/// The key of the window that a controller begins with by RFC 6928.
pub(crate) const INITIAL_WINDOW: Key = window_at_start("10 pkt", "The window at the start (RFC 6928).");

const fn window_at_start(usual: &'static str, about: &'static str) -> Key {
    key("initial-window", Kind::Packets, usual, about)
        .within(WINDOW_RANGE, NO_WINDOW)
        .peer(PEER_INITIAL_WINDOW)
}

/// The key of the threshold at which the first slow start ends, whatever it met.
pub(crate) const INITIAL_THRESHOLD: Key =
    key("initial-ssthresh", Kind::Packets, "unlimited", "The first slow-start threshold.")
        .within(WINDOW_RANGE, NO_WINDOW);

/// Live times that make something be sent are at least a millisecond.
pub(crate) const PEER_TIME: Range = Range::at_least(1e-3);
/// Bytes of IP, UDP and the seal of a live datagram, about: agreed rates count them.
pub(crate) const LOWER_LAYERS: u32 = 60;

/// The payload that a live end sends in a packet, in bytes: no more than both agreed on, nor than its own path takes.
pub(crate) fn own_segment(values: &Values, path: &PathHints, overhead: u32) -> u32 {
    let own = path.segment(overhead);
    values.take::<u32>("segment").map_or(own, |agreed| agreed.min(own))
}

/// The payload of a live packet that both ends agreed on, or else what the path takes.
pub(crate) fn agreed_segment(values: &Values, path: &PathHints, overhead: u32) -> u32 {
    values.take("segment").unwrap_or_else(|| path.segment(overhead))
}
