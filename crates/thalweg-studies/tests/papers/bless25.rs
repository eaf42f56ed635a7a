//! Reproduction of Bless, Lihotzki and Zitterbart (2025), with the accuracy stated in `docs/papers/bless25.md`.

use serde_json::json;
use std::sync::LazyLock;
use thalweg_studies::paper::{Choice, Results, find_paper, prepare_paper};

fn run_paper(experiments: &[&str], quick: bool, replications: u32) -> Results {
    let experiments = experiments.iter().map(|&id| id.to_owned()).collect();
    let choice = Choice { experiments, quick, replications: Some(replications), ..Choice::default() };
    let prepared =
        prepare_paper(find_paper("bless25").unwrap(), &choice).unwrap_or_else(|error| panic!("{error}"));
    let runs = super::runs_of(&prepared);
    prepared.results(runs)
}

/// All results that the claims need except the queue of late starts, in runs of 20 s.
static RESULTS: LazyLock<Results> = LazyLock::new(|| {
    let all = [
        "single",
        "two/100-Mbit",
        "many/100-Mbit",
        "latecomer/shares",
        "round-trips/shares",
        "cubic/shares",
        "cubic/queue",
    ];
    run_paper(&all, true, 2)
});

#[test]
fn every_claim_holds() {
    assert_eq!(RESULTS.claims.len(), 7, "{:#?}", RESULTS.claims);
    let failed: Vec<_> = RESULTS.failed().collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Slide 18: the additional queue after a later start.
#[test]
fn latecomers_lengthen_the_queue() {
    let results = run_paper(&["latecomer/queue"], false, 4);
    assert_eq!(results.claims.len(), 1);
    let failed: Vec<_> = results.failed().collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Slides 8 and 9: medians of many flows over deep buffers, within a quarter of the values read from the plots, and a
/// tenth in the mean.
#[test]
fn medians_are_near() {
    let mut differences = Vec::new();
    for id in ["two/100-Mbit", "many/100-Mbit"] {
        for row in &RESULTS.experiment(id).unwrap().rows {
            let shallow = row.cell.key("buffer_bdp").and_then(|of| of.as_f64()).is_some_and(|of| of < 2.0);
            if row.cell.metric == "queue_p50_rtts" && !shallow {
                let difference = row.relative_difference().unwrap().abs();
                assert!(difference < 0.25, "{row:?}");
                differences.push(difference);
            }
        }
    }
    assert_eq!(differences.len(), 18);
    let mean = differences.iter().sum::<f64>() / differences.len() as f64;
    assert!(mean < 0.1, "{mean}");
}

/// A queue never exceeds its buffer, and over shallow buffers the median is below it.
#[test]
fn shallow_buffers_bound_the_queue() {
    for (buffer, max) in [(json!(0.8), 0.8), (json!(1), 1.0)] {
        for rtt in [10, 20, 50] {
            let keys = [("buffer_bdp", buffer.clone()), ("rtt_ms", json!(rtt))];
            let of = |metric| RESULTS.value("two/100-Mbit", "bbr", metric, &keys).unwrap();
            assert!(of("queue_p75_rtts") <= max, "{rtt} ms, {buffer}");
            assert!(of("queue_p50_rtts") < max, "{rtt} ms, {buffer}");
        }
    }
}
