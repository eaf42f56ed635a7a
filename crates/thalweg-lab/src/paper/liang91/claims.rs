//! What the thesis claims.

use super::super::{Claim, Results};

/// The claims that the results decide.
pub fn claims(results: &Results) -> Vec<Claim> {
    let _ = results;
    Vec::new()
}
