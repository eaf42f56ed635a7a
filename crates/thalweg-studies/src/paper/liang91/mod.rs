//! SEIF and the schemes that it is compared with: Liang, "A Window-based Synchronous Scheme For Network Congestion
//! Control/Avoidance" (1991).

mod claims;
mod metrics;

use super::Paper;

/// The thesis.
pub const PAPER: Paper = Paper {
    name: "liang91",
    title: "Liang 1991: A Window-based Synchronous Scheme For Network Congestion Control/Avoidance",
    kind: "thesis",
    files: paper_files!("liang91": "chain.toml", "one-way.toml", "two-way.toml", "crossing.toml", "crossing-edges.toml", "tri-s-network.toml", "tri-s.toml", "tri-s-partly.toml", "two-bottlenecks.toml"),
    series: metrics::SERIES,
    values: metrics::cell_values,
    further: metrics::unpublished_values,
    claims: claims::claims,
};
