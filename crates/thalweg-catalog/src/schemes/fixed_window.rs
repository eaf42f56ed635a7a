//! Catalogue description of the scheme: a window that never changes.

use super::window::{self, GO_BACK_N};
use super::{NO_WINDOW, PEER_WINDOW_RANGE, WINDOW_RANGE};
use crate::option_keys::key;
use crate::scheme_description::{Collapse, SchemeDescription};
use crate::{Key, Kind, bind};
use thalweg_proto::congestion::FixedWindowConfig;

/// A window that never changes.
pub const SCHEME: SchemeDescription = window::window_scheme::<FixedWindowConfig>(
    "A window that never changes.",
    window::window_keys(KEYS, GO_BACK_N),
)
.with_collapse(Collapse::Unresponsive);

/// The keys of a window that never changes.
const KEYS: &[Key] = &[key("window", Kind::Packets, "32 pkt", "Window.")
    .within(WINDOW_RANGE, NO_WINDOW)
    .peer(PEER_WINDOW_RANGE)];

bind!(FixedWindowConfig { window: "window" });
