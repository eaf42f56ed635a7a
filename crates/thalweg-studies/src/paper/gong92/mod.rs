//! Two-level flow control: Gong and Parulkar, "A Two-Level Flow Control Scheme for High Speed Networks" (1992).

mod claims;
mod metrics;

use super::Paper;

/// The report.
pub const PAPER: Paper = Paper {
    name: "gong92",
    title: "Gong and Parulkar 1992: A Two-Level Flow Control Scheme for High Speed Networks",
    kind: "report",
    files: paper_files!("gong92": "black-box.toml", "shared.toml", "spell.toml"),
    series: &[],
    values: metrics::cell_values,
    further: metrics::unpublished_values,
    claims: claims::claims,
};
