//! The protocols that can be explored.

use super::controlled::CONTROLLED;
use super::{AdaptiveAck, Bounds, Controlled, Outcome, Sscop, Sstp, Window, search};
use thalweg_proto::sstp::{Acknowledgement, Evicted};
use thalweg_proto::window::Recovery;

/// Names and what they are.
pub const SCHEMES: [(&str, &str); 17] = [
    ("adaptive-ack", "adaptive acknowledgement (Lee et al. 1997)"),
    ("sack", "the window transport, a fixed window, repair by selective acknowledgement"),
    ("newreno", "the same, repair by partial acknowledgement"),
    ("go-back-n", "the same, everything after a loss sent again"),
    CONTROLLED[0],
    CONTROLLED[1],
    CONTROLLED[2],
    CONTROLLED[3],
    CONTROLLED[4],
    CONTROLLED[5],
    CONTROLLED[6],
    ("sscop", "data transfer of SSCOP (Q.2110); the window is the credit"),
    ("sstp", "two-level flow control, firm acknowledgement; the window in segments, room for half of it"),
    ("sstp-hard", "the same with hard acknowledgement (Gong and Parulkar 1992)"),
    ("sstp-soft", "the same with soft acknowledgement, all that was evicted asked for when one is missing"),
    ("sstp-soft-one", "the same, evicted segments asked for one by one"),
    ("sstp-soft-at-once", "the same, evicted segments asked for at once"),
];

/// The bounds for a scheme where no others are asked for: more packets than the window takes, and nothing that the scheme
/// relies on not to happen.
pub fn bounds(name: &str, window: u32) -> Bounds {
    let messages = if acknowledgement(name).is_some() { 2 * (window + 1) } else { window + 2 };
    let duplicates = u8::from(name != "sscop");
    Bounds { window, messages, duplicates, ..Bounds::default() }
}

/// True if the receiver of the scheme of that name lets a slow application hold the sender back
/// ([`Bounds::slow_reader`]).
pub fn has_flow_control(name: &str) -> bool {
    name != "adaptive-ack"
}

/// Explores the scheme of that name; `None` if there is none. See [`search`].
pub fn explore(name: &str, bounds: &Bounds, show: &mut dyn FnMut(u64, u64) -> bool) -> Option<Outcome> {
    let window = |recovery| Window { recovery };
    match name {
        "adaptive-ack" => Some(search(&AdaptiveAck::default(), bounds, show)),
        "sack" => Some(search(&window(Recovery::Sack), bounds, show)),
        "newreno" => Some(search(&window(Recovery::NewReno), bounds, show)),
        "go-back-n" => Some(search(&window(Recovery::GoBackN), bounds, show)),
        "sack-bbr" => Some(search(&Controlled::bbr(), bounds, show)),
        "sscop" => Some(search(&Sscop::default(), bounds, show)),
        name if name.starts_with("sack-") => Some(search(&Controlled::named(name)?, bounds, show)),
        name => Some(search(&Sstp::new(acknowledgement(name)?).ok()?, bounds, show)),
    }
}

/// The acknowledgement of the two-level flow control of that name: what it does with segments that there is no room
/// for; `None` if it is another scheme. These can be explored without end ([`search_endless`](super::search_endless)).
pub fn acknowledgement(name: &str) -> Option<Acknowledgement> {
    match name {
        "sstp" => Some(Acknowledgement::Firm),
        "sstp-hard" => Some(Acknowledgement::Hard),
        "sstp-soft" => Some(Acknowledgement::Soft(Evicted::All)),
        "sstp-soft-one" => Some(Acknowledgement::Soft(Evicted::One)),
        "sstp-soft-at-once" => Some(Acknowledgement::Soft(Evicted::AtOnce)),
        _ => None,
    }
}
