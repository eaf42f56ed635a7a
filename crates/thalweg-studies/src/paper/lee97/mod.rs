//! Adaptive acknowledgement, alone and against SSCOP: Lee, Kim, Chung and Kim, "Adaptive Acknowledgment Scheme for
//! Efficient Error Control in ATM Clustering System" (1997).

mod claims;
mod metrics;

use super::Paper;

/// The paper.
pub const PAPER: Paper = Paper {
    name: "lee97",
    title: "Lee et al. 1997: Adaptive Acknowledgment Scheme for Efficient Error Control in ATM Clustering System",
    kind: "paper",
    files: paper_files!("lee97": "cluster.toml"),
    series: &[],
    values: |cell, runs| metrics::measured_optimum(cell, runs).map(|value| vec![value]),
    further: metrics::case_efficiencies,
    claims: claims::claims,
};
