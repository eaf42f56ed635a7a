//! The list of protocols that can be explored.

use super::window_with_controller::CONTROLLED_SCHEMES;
use super::{AdaptiveAck, Bounds, ControlledWindow, SearchOutcome, Sscop, Sstp, Window, search};
use thalweg_proto::sstp::{Acknowledgement, Evicted};
use thalweg_proto::window::Recovery;

/// Names and descriptions.
pub const SCHEMES: [(&str, &str); 17] = [
    ("adaptive-ack", "adaptive acknowledgement (Lee et al. 1997)"),
    ("sack", "the window transport, a fixed window, repair by selective acknowledgement"),
    ("newreno", "the same, repair by partial acknowledgement"),
    ("go-back-n", "the same, go-back-n"),
    CONTROLLED_SCHEMES[0],
    CONTROLLED_SCHEMES[1],
    CONTROLLED_SCHEMES[2],
    CONTROLLED_SCHEMES[3],
    CONTROLLED_SCHEMES[4],
    CONTROLLED_SCHEMES[5],
    CONTROLLED_SCHEMES[6],
    ("sscop", "data transfer of SSCOP (Q.2110); the window is the credit"),
    ("sstp", "two-level flow control, firm acknowledgement; the window in segments, a buffer of half of it"),
    ("sstp-hard", "the same with hard acknowledgement (Gong and Parulkar 1992)"),
    ("sstp-soft", "the same with soft acknowledgement, all evicted segments requested when one is missing"),
    ("sstp-soft-one", "the same, evicted segments requested one by one"),
    ("sstp-soft-at-once", "the same, evicted segments requested at once"),
];

/// Returns the default bounds of a scheme: more packets than the window holds, and no faults that the scheme does not
/// tolerate.
pub fn default_bounds(name: &str, window: u32) -> Bounds {
    let messages = if acknowledgement_mode(name).is_some() { 2 * (window + 1) } else { window + 2 };
    let duplicates = u8::from(name != "sscop");
    Bounds { window, messages, duplicates, ..Bounds::default() }
}

/// Returns true if the receiver of the named scheme has flow control against a slow application
/// ([`Bounds::slow_reader`]).
pub fn has_flow_control(name: &str) -> bool {
    name != "adaptive-ack"
}

/// Explores the named scheme; `None` for an unknown name. See [`search`].
pub fn explore_protocol(
    name: &str,
    bounds: &Bounds,
    show: &mut dyn FnMut(u64, u64) -> bool,
) -> Option<SearchOutcome> {
    let window = |recovery| Window { recovery };
    match name {
        "adaptive-ack" => Some(search(&AdaptiveAck::default(), bounds, show)),
        "sack" => Some(search(&window(Recovery::Sack), bounds, show)),
        "newreno" => Some(search(&window(Recovery::NewReno), bounds, show)),
        "go-back-n" => Some(search(&window(Recovery::GoBackN), bounds, show)),
        "sack-bbr" => Some(search(&ControlledWindow::bbr(), bounds, show)),
        "sscop" => Some(search(&Sscop::default(), bounds, show)),
        name if name.starts_with("sack-") => Some(search(&ControlledWindow::by_name(name)?, bounds, show)),
        name => Some(search(&Sstp::new(acknowledgement_mode(name)?).ok()?, bounds, show)),
    }
}

/// Returns the acknowledgement mode of the named variant of two-level flow control, which decides the handling of
/// segments without buffer space; `None` for another scheme. These variants can be explored with an endless stream
/// ([`search_endless`](super::search_endless)).
pub fn acknowledgement_mode(name: &str) -> Option<Acknowledgement> {
    match name {
        "sstp" => Some(Acknowledgement::Firm),
        "sstp-hard" => Some(Acknowledgement::Hard),
        "sstp-soft" => Some(Acknowledgement::Soft(Evicted::All)),
        "sstp-soft-one" => Some(Acknowledgement::Soft(Evicted::One)),
        "sstp-soft-at-once" => Some(Acknowledgement::Soft(Evicted::AtOnce)),
        _ => None,
    }
}
