//! No congestion control.

use super::fixed::KEYS;
use super::window::{self, GO_BACK_N};
use crate::scheme::SchemeDescription;
use thalweg_proto::congestion::FixedConfig;

/// No congestion control.
pub const SCHEME: SchemeDescription = SchemeDescription {
    name: "vanilla",
    keys_of: "vanilla",
    ..window::scheme::<FixedConfig>(
        super::collapses!("No congestion control: a fixed window with go-back-n."),
        window::keys(KEYS, GO_BACK_N),
    )
};
