//! BBRv3's queue, late starts, round-trip unfairness and competition with CUBIC: Bless, Lihotzki and Zitterbart,
//! "Insights into BBRv3's Performance and Behavior by Experimental Evaluation" (2025).

mod claims;
mod metrics;

use super::Paper;

/// The paper.
pub const PAPER: Paper = Paper {
    name: "bless25",
    title: "Bless, Lihotzki and Zitterbart 2025: Insights into BBRv3's performance and behavior by experimental evaluation",
    kind: "talk",
    files: paper_files!("bless25": "flows.toml", "pair.toml"),
    series: metrics::SERIES,
    values: metrics::cell_values,
    further: metrics::unpublished_values,
    claims: claims::claims,
};
