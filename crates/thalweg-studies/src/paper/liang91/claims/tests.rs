//! Every claim can fail: from results that confirm all of them, one value at a time is changed to break exactly one
//! claim.

use super::super::super::{Cell, Choice, ExperimentResults, Row, Verdict, prepare_paper};
use super::super::PAPER;
use super::super::metrics::{
    MOVEMENT_CORRELATION, QUEUE_WAVES, WAVE_INTERVAL, WAVE_IRREGULARITY, WINDOW_CORRELATION, WINDOW_DEVIATION,
};
use super::chapter_6_conclusions::REACTIONS;
use super::*;

/// Returns the printed values, and consistent numbers where nothing is printed.
fn results() -> Results {
    let prepared = prepare_paper(&PAPER, &Choice::default()).unwrap();
    let mut results = prepared.results(Vec::new());
    let mut more: Vec<(String, Cell, f64)> = Vec::new();
    for experiment in &mut results.experiments {
        for row in &mut experiment.rows {
            row.value = row.published();
            if row.cell.metric == "fairness_variance"
                && let (Some(value), Some(sources)) = (row.value, row.cell.text("sources"))
            {
                let cell =
                    Cell::unpublished(&row.cell.scheme, VARIANCE_PER_RUN).with("sources", sources.to_owned());
                more.push((format!("ours/{}", experiment.id), cell, value));
            }
        }
        if experiment.id.starts_with("table-5.17/") {
            for (scheme, variance) in [("tri-s", 800.0), ("seif", 0.6)] {
                let cell = Cell::unpublished(scheme, VARIANCE_PER_RUN).with("sources", "forward");
                more.push((format!("ours/{}", experiment.id), cell, variance));
            }
        }
        if experiment.id.starts_with("table-4.") || experiment.id.starts_with("table-5.") {
            let id = format!("ours/{}", experiment.id);
            more.push((id.clone(), Cell::unpublished("seif", DROPS), 0.0));
            more.push((id.clone(), Cell::unpublished("dec-bit", DROPS), 0.0));
            more.push((id.clone(), Cell::unpublished("slow-start", DROPS), 20.0));
            more.push((id, Cell::unpublished("slow-start", MESSAGES), 0.0));
        }
    }
    for (place, threshold) in [0.5, 0.7, 0.8, 0.9].into_iter().enumerate() {
        let cell = Cell::unpublished("seif", MESSAGES).with("threshold", threshold);
        more.push(("ours/table-4.1".to_owned(), cell, 26.0 - 4.0 * place as f64));
    }
    for (metric, value) in [(QUEUE_WAVES, 10.0), (WAVE_INTERVAL, 6.0), (WAVE_IRREGULARITY, 5.0)] {
        more.push(("ours/table-4.5/exp-1".to_owned(), Cell::unpublished("seif", metric), value));
    }
    for (scheme, deviation) in [("seif", 2.0), ("reacting-feedback", 3.0)] {
        more.push((
            "ours/table-4.2/exp-1".to_owned(),
            Cell::unpublished(scheme, WINDOW_DEVIATION),
            deviation,
        ));
    }
    for id in ["5.2/exp-2", "5.3/exp-3", "5.4/exp-4", "5.6/exp-6"] {
        for (scheme, moves) in [("seif", 0.9), ("dec-bit", -0.2), ("slow-start", 0.1)] {
            more.push((format!("ours/table-{id}"), Cell::unpublished(scheme, MOVEMENT_CORRELATION), moves));
            more.push((format!("ours/table-{id}"), Cell::unpublished(scheme, WINDOW_CORRELATION), 0.5));
        }
    }
    for (table, first) in [("5.7", 1), ("5.9", 5)] {
        for users in 2..=5 {
            let id = format!("ours/table-{table}/exp-{}", first + users - 2);
            more.push((id, Cell::unpublished("seif", MESSAGES), 5.0 * f64::from(users)));
        }
    }
    for (window, throughput) in [1, 2, 3, 4, 6, 8, 12, 16, 20, 30, 45, 60]
        .into_iter()
        .zip([18.0, 36.0, 54.0, 62.0, 64.0, 64.0, 64.0, 60.0, 45.0, 25.0, 20.0, 15.0])
    {
        let cell = Cell::unpublished("vanilla", THROUGHPUT).with("window", window);
        more.push(("ours/figure-1.1".to_owned(), cell, throughput));
    }
    for (way, gains) in [("one-way", [7.3, 9.82, 11.78]), ("two-way", [5.67, 5.67, 11.88])] {
        for (links, gain) in ["equal", "slow-middle", "slow-among-fast"].into_iter().zip(gains) {
            for scheme in ["seif"].into_iter().chain(REACTIONS) {
                let factor = match scheme {
                    "seif" => 1.0,
                    "reacting-feedback" => 1.0 + gain / 100.0,
                    _ => 1.01,
                };
                let cell = Cell::unpublished(scheme, THROUGHPUT).with("links", links);
                more.push((format!("ours/section-4.1/{way}"), cell, 100.0 / factor));
            }
        }
    }
    for (id, throughput) in [("ours/schemes/one-way", 62.4), ("ours/schemes/two-way", 90.0)] {
        let two_ways = id.ends_with("two-way");
        for (scheme, factor, variance, messages) in [
            ("vanilla", 0.3, 20.0, 0.0),
            ("source-quench", 0.7, 20.0, 700.0),
            ("bbn", 1.0, 0.0005, 800.0),
            ("tri-s", 0.9, 20.0, 0.0),
            ("slow-start-fq", if two_ways { 1.2 } else { 0.9 }, 0.01, 0.0),
            ("dec-bit-fqbit", if two_ways { 1.2 } else { 0.9 }, 0.01, 0.0),
            ("seif", 1.02, 0.1, 40.0),
        ] {
            more.push((id.to_owned(), Cell::unpublished(scheme, THROUGHPUT), factor * throughput));
            let fair = Cell::unpublished(scheme, VARIANCE_PER_RUN).with("sources", "forward");
            more.push((id.to_owned(), fair, variance));
            more.push((id.to_owned(), Cell::unpublished(scheme, MESSAGES), messages));
        }
    }
    for (windows, messages) in [(1, 52.0), (2, 26.0)] {
        let cell = |metric| Cell::unpublished("seif", metric).with("growth_windows", windows);
        let id = || "ours/future-work/slower-growth".to_owned();
        more.push((id(), cell(MESSAGES), messages));
        more.push((id(), cell(THROUGHPUT), 100.0));
        for direction in ["forward", "reverse"] {
            more.push((id(), cell(VARIANCE_PER_RUN).with("sources", direction), 0.3));
        }
    }
    for (scheme, messages) in [("seif", 240.0), ("seif-marking", 200.0)] {
        more.push((
            "ours/future-work/two-bottlenecks".to_owned(),
            Cell::unpublished(scheme, MESSAGES),
            messages,
        ));
    }
    for (id, cell, value) in more {
        let row = Row::new(cell, Some(&[value]));
        match results.experiments.iter_mut().find(|of| of.id == id) {
            Some(of) => of.rows.push(row),
            None => results.experiments.push(ExperimentResults { id, title: String::new(), rows: vec![row] }),
        }
    }
    results
}

fn change_cells(results: &mut Results, id: &str, of: impl Fn(&Cell) -> bool, value: f64) {
    let experiment = results.experiments.iter_mut().find(|of| of.id == id).unwrap();
    let row = experiment.rows.iter_mut().find(|row| of(&row.cell)).unwrap();
    row.value = Some(value);
}

/// Returns the ids of the claims with this verdict.
fn claims_with_verdict(results: &Results, verdict: Verdict) -> Vec<String> {
    claims(results).into_iter().filter(|claim| claim.verdict == verdict).map(|claim| claim.id).collect()
}

/// Selects a cell by scheme and metric, and by further keys.
fn cell_selector<'a>(scheme: &'a str, metric: &'a str, keys: RowFilter<'a>) -> impl Fn(&Cell) -> bool + 'a {
    move |cell| {
        cell.scheme == scheme
            && cell.metric == metric
            && keys.iter().all(|(key, value)| cell.keys.get(*key) == Some(value))
    }
}

const IDS: [&str; 54] = [
    "1.1.1a", "1.1.4a", "2.1.2a", "2.3.2a", "2.3.2b", "2.4.2a", "2.5.2a", "3.2a", "4.2a", "4.2b", "4.2c",
    "4.2d", "4.2e", "4.2f", "4.3a", "4.3b", "4.4a", "4.5a", "4.5b", "4.5c", "4.5d", "4.5e", "4.5f", "5.1a",
    "5.1b", "5.1c", "5.1d", "5.1e", "5.1f", "5.1g", "5.1h", "5.1i", "5.1j", "5.1k", "5.1l", "5.1m", "5.1n",
    "5.1o", "5.1p", "5.1q", "5.1r", "5.1s", "5.1t", "5.1u", "5.2a", "5.2b", "6a", "6b", "6.1a", "6.1b",
    "6.1c", "o1", "o2", "o3",
];

/// The printed throughputs contradict one claim of chapter 2: DEC bit carries less than Slow Start there.
#[test]
fn the_printed_values_bear_out_every_claim_but_one() {
    let found = claims(&results());
    let ids: Vec<&str> = found.iter().map(|claim| claim.id.as_str()).collect();
    assert_eq!(ids, IDS);
    let failed: Vec<_> = found.iter().filter(|claim| !claim.holds()).map(|claim| claim.id.as_str()).collect();
    assert_eq!(failed, [ORDER_OF_SCHEMES], "{found:#?}");
    assert!(found.iter().all(|claim| claim.ours == claim.section.is_empty()));
}

/// Claim that the printed values contradict.
const ORDER_OF_SCHEMES: &str = "2.4.2a";

type Change = (&'static str, &'static str, &'static str, &'static str, Vec<(&'static str, Value)>, f64);

/// Returns a change of one value for each claim, and the claim that it breaks.
fn changes() -> Vec<Change> {
    let forward = || vec![("sources", json!("forward"))];
    let window = |packets: u32| vec![("window", json!(packets))];
    vec![
        ("1.1.1a", "ours/figure-1.1", "vanilla", THROUGHPUT, window(1), 40.0),
        ("1.1.1a", "ours/figure-1.1", "vanilla", THROUGHPUT, window(60), 50.0),
        ("1.1.4a", "ours/schemes/one-way", "slow-start-fq", VARIANCE_PER_RUN, forward(), 9.0),
        ("2.1.2a", "ours/schemes/one-way", "source-quench", MESSAGES, Vec::new(), 30.0),
        ("2.3.2a", "ours/table-5.1/exp-1", "slow-start", MESSAGES, Vec::new(), 1.0),
        ("2.5.2a", "ours/table-5.17/exp-2", "tri-s", VARIANCE_PER_RUN, forward(), 1.0),
        ("3.2a", "ours/table-4.5/exp-1", "seif", QUEUE_WAVES, Vec::new(), 4.0),
        ("3.2a", "ours/table-4.5/exp-1", "seif", WAVE_IRREGULARITY, Vec::new(), 40.0),
        ("4.2a", "table-4.1", "seif", THROUGHPUT, vec![("threshold", json!(0.9))], 101.0),
        ("4.2b", "ours/table-4.1", "seif", MESSAGES, vec![("threshold", json!(0.7))], 10.0),
        ("4.2c", "table-4.3/exp-2", "seif-over-reacting", "throughput_improvement_percent", Vec::new(), -3.0),
        ("4.2d", "table-4.3/exp-1", "reacting-feedback", DROPS, Vec::new(), 0.0),
        ("4.2e", "ours/table-4.2/exp-1", "seif", WINDOW_DEVIATION, Vec::new(), 4.0),
        ("4.3a", "table-4.5/exp-2", "seif-nonfiltering", THROUGHPUT, Vec::new(), 110.0),
        ("4.3b", "table-4.5/exp-1", "seif", "feedback_messages_20s_80s", Vec::new(), 20.0),
        ("4.4a", "table-4.6/exp-2", "byte-over-packet", "throughput_improvement_percent", Vec::new(), 3.0),
        ("4.4a", "table-4.6/exp-1", "byte-over-packet", "throughput_improvement_percent", Vec::new(), 15.0),
        ("4.5a", "table-4.8/exp-2", "seif", THROUGHPUT, vec![("cut_back", json!(0.6))], 60.0),
        ("4.5b", "table-4.10/exp-3", "seif", THROUGHPUT, vec![("cut_back", json!(0.7))], 100.0),
        ("4.5c", "table-4.8/exp-2", "seif", MESSAGES, vec![("cut_back", json!(0))], 12.0),
        ("4.5d", "table-4.7/exp-1", "seif", MESSAGES, vec![("cut_back", json!(0.9))], 7.5),
        ("4.5e", "table-4.8/exp-2", "seif", "fairness_variance", vec![("cut_back", json!(0.9))], 30.0),
        (
            "4.5f",
            "table-4.10/exp-3",
            "seif",
            "throughput_kbps",
            vec![("cut_back", json!(0.3)), ("source", json!(3))],
            70.0,
        ),
        ("5.1a", "table-5.1/exp-1", "dec-bit", THROUGHPUT, Vec::new(), 64.5),
        ("5.1b", "ours/table-5.2/exp-2", "seif", VARIANCE_PER_RUN, forward(), 5.0),
        ("5.1c", "ours/table-5.3/exp-3", "dec-bit", VARIANCE_PER_RUN, forward(), 1.0),
        ("5.1d", "ours/table-5.4/exp-4", "dec-bit", VARIANCE_PER_RUN, forward(), 0.001),
        ("5.1e", "ours/table-5.5/exp-5", "dec-bit", DROPS, Vec::new(), 30.0),
        ("5.1f", "table-5.5/exp-5", "dec-bit", THROUGHPUT, Vec::new(), 64.5),
        ("5.1g", "ours/table-5.6/exp-6", "slow-start", VARIANCE_PER_RUN, forward(), 0.1),
        ("5.1h", "ours/table-5.6/exp-6", "dec-bit", VARIANCE_PER_RUN, forward(), 0.1),
        ("5.1i", "ours/table-5.2/exp-2", "seif", MOVEMENT_CORRELATION, Vec::new(), 0.3),
        ("5.1i", "ours/table-5.6/exp-6", "dec-bit", MOVEMENT_CORRELATION, Vec::new(), 0.9),
        ("5.1j", "table-5.6/exp-6", "seif", "window_max_packets", vec![("source", json!(2))], 9.0),
        ("5.1l", "table-5.7/exp-2", "dec-bit", THROUGHPUT, Vec::new(), 97.0),
        ("5.1m", "table-5.11/exp-10", "dec-bit", THROUGHPUT, Vec::new(), 107.0),
        ("5.1n", "ours/table-5.9/exp-7", "dec-bit", VARIANCE_PER_RUN, forward(), 0.0001),
        ("5.1o", "table-5.7/exp-3", "slow-start", THROUGHPUT, Vec::new(), 120.0),
        ("5.1p", "ours/table-5.7/exp-4", "seif", VARIANCE_PER_RUN, vec![("sources", json!("reverse"))], 4.0),
        ("5.1q", "table-5.9/exp-8", "slow-start", THROUGHPUT, Vec::new(), 91.0),
        ("5.1r", "ours/table-5.9/exp-6", "seif", MESSAGES, Vec::new(), 40.0),
        ("5.1t", "table-5.15/exp-7", "slow-start", THROUGHPUT, Vec::new(), 70.0),
        ("5.1u", "table-5.13/exp-4", "slow-start", THROUGHPUT, Vec::new(), 110.0),
        ("5.2a", "table-5.17/exp-4", "tri-s", "network_throughput_kbytes_per_s", Vec::new(), 63.0),
        ("5.2b", "ours/table-5.17/exp-3", "seif", VARIANCE_PER_RUN, forward(), 900.0),
        ("6b", "table-4.7/exp-1", "seif", "feedback_overhead_bps", vec![("cut_back", json!(0.5))], 900.0),
        (
            "6.1a",
            "ours/future-work/slower-growth",
            "seif",
            MESSAGES,
            vec![("growth_windows", json!(2))],
            50.0,
        ),
        (
            "6.1b",
            "ours/future-work/slower-growth",
            "seif",
            THROUGHPUT,
            vec![("growth_windows", json!(2))],
            90.0,
        ),
        ("6.1c", "ours/future-work/two-bottlenecks", "seif-marking", MESSAGES, Vec::new(), 240.0),
        ("o1", "ours/schemes/two-way", "bbn", THROUGHPUT, Vec::new(), 99.0),
        ("o2", "ours/schemes/two-way", "dec-bit-fqbit", THROUGHPUT, Vec::new(), 80.0),
        ("o3", "ours/section-4.1/two-way", "reacting-feedback", THROUGHPUT, Vec::new(), 50.0),
    ]
}

#[test]
fn every_claim_can_fail() {
    for (claim, id, scheme, metric, keys, value) in changes() {
        let mut results = results();
        change_cells(&mut results, id, cell_selector(scheme, metric, &keys), value);
        let mut broken = claims_with_verdict(&results, Verdict::Fails);
        broken.retain(|id| id != ORDER_OF_SCHEMES);
        assert_eq!(broken, [claim], "{id} at {value}");
    }
}

/// Changes of several values, for claims that no single one breaks, or that share values with others.
#[test]
fn further_claims_can_fail() {
    let broken = |results: &Results| {
        let mut broken = claims_with_verdict(results, Verdict::Fails);
        broken.retain(|id| id != ORDER_OF_SCHEMES);
        broken
    };
    // The gain of a dynamic rule is consistent only if it occurs with every buffer.
    let mut changed = results();
    for buffer in [5120, 4096, 3072, 2048, 1024] {
        let keys = [("buffer_bytes", json!(buffer))];
        change_cells(&mut changed, "table-4.4", cell_selector("seif-dynamic-a0.8", THROUGHPUT, &keys), 120.0);
    }
    assert_eq!(broken(&changed), ["4.2f"]);
    // No drops at all of Slow Start.
    let mut changed = results();
    change_cells(&mut changed, "ours/table-5.1/exp-1", cell_selector("slow-start", DROPS, &[]), 0.0);
    assert_eq!(broken(&changed), ["2.3.2b", "5.1e"]);
    let mut changed = results();
    for (source, metric, value) in
        [("other", "window_min_packets", 2.0), ("other", "window_max_packets", 3.0)]
    {
        let keys = [("source", json!(source))];
        change_cells(&mut changed, "table-5.6/exp-6", cell_selector("dec-bit", metric, &keys), value);
    }
    assert_eq!(broken(&changed), ["5.1k"]);
    let mut changed = results();
    change_cells(&mut changed, "table-5.9/exp-8", cell_selector("seif", THROUGHPUT, &[]), 103.0);
    assert_eq!(broken(&changed), ["5.1q", "5.1s"]);
    let mut changed = results();
    for of in changed.experiments.iter_mut().filter(|of| of.id.starts_with("ours/table-5")) {
        of.rows
            .iter_mut()
            .filter(|row| row.cell.scheme == "seif" && row.cell.metric == DROPS)
            .for_each(|row| row.value = Some(2.0));
    }
    assert_eq!(broken(&changed), ["6a"]);
}

/// A size that is missed leaves the sign.
#[test]
fn a_missed_size_leaves_the_sign() {
    let gain = "throughput_improvement_percent";
    for (claim, id, scheme, metric, keys, value) in [
        ("4.2a", "table-4.1", "seif", THROUGHPUT, vec![("threshold", json!(0.5))], 99.0),
        ("4.2c", "table-4.3/exp-2", "seif-over-reacting", gain, Vec::new(), 1.0),
        ("4.2d", "table-4.3/exp-3", "reacting-feedback", DROPS, Vec::new(), 26.0),
        ("4.2f", "table-4.4", "seif-dynamic-a0.5", THROUGHPUT, vec![("buffer_bytes", json!(1024))], 60.0),
        ("4.4a", "table-4.6/exp-2", "byte-over-packet", gain, Vec::new(), 12.0),
        ("5.1j", "table-5.6/exp-6", "seif", "window_max_packets", Vec::new(), 7.5),
        ("5.1m", "table-5.11/exp-9", "dec-bit", THROUGHPUT, Vec::new(), 113.0),
        ("5.1r", "ours/table-5.7/exp-4", "seif", MESSAGES, Vec::new(), 60.0),
    ] {
        let mut results = results();
        if claim == "5.1j" {
            for source in [1, 2] {
                let keys = [("source", json!(source))];
                change_cells(&mut results, id, cell_selector(scheme, metric, &keys), value);
            }
        } else {
            change_cells(&mut results, id, cell_selector(scheme, metric, &keys), value);
        }
        assert_eq!(claims_with_verdict(&results, Verdict::SignOnly), [claim], "{id} at {value}");
    }
}

/// Random variation neither refutes a claim nor confirms it.
#[test]
fn what_lies_within_the_interval_is_undecided() {
    let mut results = results();
    let experiment = results.experiments.iter_mut().find(|of| of.id == "table-4.3/exp-1").unwrap();
    let gain = |row: &&mut Row| row.cell.metric == "throughput_improvement_percent";
    let row = experiment.rows.iter_mut().find(gain).unwrap();
    *row = Row::new(row.cell.clone(), Some(&[-2.0, 1.0, 0.0]));
    let found = claims(&results);
    let claim = found.iter().find(|claim| claim.id == "4.2c").unwrap();
    assert_eq!(claim.verdict, Verdict::SignOnly, "{claim:#?}");
    assert_eq!(claim.evidence.matches("(undecided)").count(), 1, "{claim:#?}");
}

#[test]
fn what_was_not_run_is_not_judged() {
    let mut results = results();
    results.experiments.retain(|of| of.id == "table-4.1");
    let ids: Vec<String> = claims(&results).into_iter().map(|claim| claim.id).collect();
    assert_eq!(ids, ["4.2a"]);
}
