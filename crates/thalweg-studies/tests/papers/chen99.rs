//! Reproduction of Chen and Chen (1999), with two seeds per run and the accuracy stated in `docs/papers/chen99.md`.

use std::sync::LazyLock;
use thalweg_studies::paper::{Choice, Results, Verdict, find_paper, prepare_paper};

/// Experiments that the claims need.
const EXPERIMENTS: [&str; 6] =
    ["table-2/parking-lot", "ours/variants", "ours/readings", "ours/cells", "ours/30-s", "ours/late-start"];

/// Claims of the paper that do not hold here: the queue empties after a change of the rate, and PDUs are lost at the drop.
const FAILED_CLAIMS: [&str; 2] = ["6.2f", "6.2h"];
/// Claims of the paper that hold in direction, not in size: our indexes over the whole run are below those of table 2.
const SIGN_ONLY: [&str; 2] = ["6.2c", "6.2d"];

static RESULTS: LazyLock<Results> = LazyLock::new(|| {
    let experiments = EXPERIMENTS.map(str::to_owned).to_vec();
    let choice = Choice { experiments, replications: Some(2), ..Choice::default() };
    let prepared =
        prepare_paper(find_paper("chen99").unwrap(), &choice).unwrap_or_else(|error| panic!("{error}"));
    let runs = super::runs_of(&prepared);
    // No connection failed or was recovered.
    assert!(runs.iter().flat_map(|run| &run.flows).all(|flow| flow.failed.is_none()));
    prepared.results(runs)
});

#[test]
fn only_known_claims_fail() {
    assert_eq!(RESULTS.claims.len(), 20);
    let with = |verdict| RESULTS.with_verdict(verdict).map(|claim| claim.id.as_str()).collect::<Vec<_>>();
    assert_eq!(with(Verdict::Fails), FAILED_CLAIMS, "{:#?}", RESULTS.claims);
    assert_eq!(with(Verdict::SignOnly), SIGN_ONLY, "{:#?}", RESULTS.claims);
}

/// Table 2: throughputs within 1 % of the published ones, the index of SSCOP within 2 % and that of Vegas within 6 %.
#[test]
fn table_2_is_near() {
    let near = |scheme: &str, metric: &str, published: f64, max: f64| {
        let value = RESULTS.value("table-2/parking-lot", scheme, metric, &[]).unwrap();
        assert!((value / published - 1.0).abs() <= max, "{scheme}, {metric}: {value}");
    };
    near("sscop-rate", "throughput_percent", 99.0, 0.01);
    near("tcp-vegas", "throughput_percent", 99.0, 0.01);
    near("sscop-rate", "fairness_index", 0.998, 0.02);
    near("tcp-vegas", "fairness_index", 0.984, 0.06);
}

/// The printed rules, and those without the one decisive amendment, lose PDUs all the time.
#[test]
fn the_printed_rules_overflow_the_queue() {
    let losses = |scheme| RESULTS.value("ours/variants", scheme, "losses_pdus", &[]).unwrap();
    for scheme in ["sscop-rate-literal", "sscop-rate-probed-base"] {
        assert!(losses(scheme) > 3000.0, "{scheme}: {}", losses(scheme));
    }
    let ours = RESULTS.value("ours/table-2/parking-lot", "sscop-rate", "losses_pdus", &[]).unwrap();
    assert!(ours < 150.0, "{ours}");
}
