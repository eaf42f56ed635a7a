//! Priority gates at the source: Yang and Fu, "A comparison of congestion control and time slot algorithms in Internet
//! transmission performance" (2001).

mod claims;
mod metrics;
mod table_2;

use super::Paper;

/// The paper.
pub const PAPER: Paper = Paper {
    name: "yang01",
    title: "Yang and Fu 2001: A comparison of congestion control and time slot algorithms in Internet transmission performance",
    kind: "paper",
    files: paper_files!("yang01": "two-sources.toml", "new-flows.toml"),
    series: &[],
    values: |cell, runs| metrics::cell_value(cell, runs.case_of(cell)?),
    further: metrics::unpublished_values,
    claims: claims::claims,
};
