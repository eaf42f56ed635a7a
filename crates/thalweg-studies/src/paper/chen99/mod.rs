//! SSCOP with rate-based flow control against TCP Vegas: Chen and Chen, "Improving data transport performance through SSCOP
//! with rate-based flow control" (1999).

mod claims;
mod metrics;

use super::Paper;

/// The paper.
pub const PAPER: Paper = Paper {
    name: "chen99",
    title: "Chen and Chen 1999: Improving data transport performance through SSCOP with rate-based flow control",
    kind: "paper",
    files: paper_files!("chen99": "parking-lot.toml"),
    series: metrics::SERIES,
    values: metrics::cell_values,
    further: metrics::unpublished_values,
    claims: claims::claims,
};
