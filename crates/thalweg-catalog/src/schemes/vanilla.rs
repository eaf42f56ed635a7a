//! No congestion control.

use super::fixed::KEYS;
use super::window::{self, GO_BACK_N};
use crate::scheme::SchemeDescription;
use thalweg_proto::congestion::FixedConfig;

/// No congestion control.
pub const VANILLA: SchemeDescription = window::scheme::<FixedConfig>(
    "vanilla",
    "vanilla scheme",
    "No congestion control: a fixed window with go-back-n.",
    window::keys(KEYS, GO_BACK_N),
);
