//! Tests that each claim holds for results as described in the paper, and fails when one of them changes.
use super::super::super::{Cell, ExperimentResults, Row, Verdict};
use super::*;

/// Returns efficiencies of the right shape.
fn well_shaped_results() -> Results {
    let row = |scheme: &str, keys: &[(&str, f64)], value: f64| {
        let cell = keys
            .iter()
            .fold(Cell::unpublished(scheme, EFFICIENCY), |cell, (key, value)| cell.with(key, *value));
        Row::new(cell, Some(&[value]))
    };
    let times = |normal: f64, error: f64, value: f64| {
        row("adaptive", &[("T_normal_ms", normal), ("T_error_ms", error)], value)
    };
    let low: Vec<Row> = [5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0]
        .iter()
        .map(|&normal: &f64| times(normal, 5.0, 0.99 - (normal - 40.0).abs() / 1000.0))
        .chain([1.0, 2.0, 10.0, 20.0, 40.0].iter().map(|&error| times(40.0, error, 0.99)))
        .collect();
    let high: Vec<Row> = [1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 12.0, 15.0, 20.0, 30.0, 40.0]
        .iter()
        .map(|&error: &f64| times(40.0, error, 0.85 - (error - 5.0).abs() / 500.0))
        .chain([10.0, 20.0, 80.0].iter().map(|&normal| times(normal, 5.0, 0.85)))
        .collect();
    let losses = [1e-4, 1e-3, 1e-2, 3e-2, 1e-1];
    let large = [400.0, 500.0, 1000.0].iter().flat_map(|&window| {
        losses.map(|loss| row("adaptive", &[("window", window), ("loss", loss)], 1.0 - loss))
    });
    let small = [50.0, 100.0, 150.0, 200.0].iter().flat_map(|&window| {
        losses.map(|loss| row("adaptive", &[("window", window), ("loss", loss)], 0.2 + loss))
    });
    let windows: Vec<Row> = large.chain(small).collect();
    let against = || -> Vec<Row> {
        let losses = [1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1];
        let adaptive = losses.iter().map(|&loss| row("adaptive", &[("loss", loss)], 0.99 - loss));
        let sscop = losses.iter().flat_map(|&loss| {
            [10.0, 40.0].map(|poll| {
                // Seldom is better at low loss.
                let is_best = (poll == 40.0) == (loss < 0.005);
                let value = if is_best { 0.98 } else { 0.97 };
                row("sscop", &[("timer_poll_ms", poll), ("loss", loss)], value - loss)
            })
        });
        adaptive.chain(sscop).collect()
    };
    let of =
        |figure: &str, rows| ExperimentResults { id: format!("ours/{figure}"), title: String::new(), rows };
    Results {
        paper: "lee97",
        complete: true,
        experiments: vec![
            of("figure-5", low.clone()),
            of("figure-6", low),
            of("figure-7", high),
            of("figure-8", windows),
            of("figure-9", against()),
            of("figure-10", against()),
        ],
        claims: Vec::new(),
    }
}

/// Returns the ids of the claims that fail.
fn failed_claims(results: &Results) -> Vec<String> {
    claims(results).into_iter().filter(|claim| !claim.holds()).map(|claim| claim.id).collect()
}

/// Returns the results with one efficiency changed.
fn with_changed_efficiency(figure: &str, scheme: &str, keys: &[(&str, f64)], value: f64) -> Results {
    let mut results = well_shaped_results();
    let id = format!("ours/{figure}");
    let experiment = results.experiments.iter_mut().find(|of| of.id == id).unwrap();
    let is_it = |row: &&mut Row| {
        row.cell.scheme == scheme
            && keys.iter().all(|(key, value)| row.cell.keys[*key].as_f64() == Some(*value))
    };
    experiment.rows.iter_mut().find(is_it).unwrap().value = Some(value);
    results
}

#[test]
fn claims_hold_for_what_the_paper_describes() {
    let claims = claims(&well_shaped_results());
    assert!(claims.iter().all(Claim::holds), "{claims:#?}");
    assert_eq!(claims.len(), 11);
}

#[test]
fn each_claim_can_fail() {
    let times = |normal: f64, error: f64| [("T_normal_ms", normal), ("T_error_ms", error)];
    let poll = |poll: f64, loss: f64| [("timer_poll_ms", poll), ("loss", loss)];
    for (expected, results) in [
        (&["2a", "3.2.2b"][..], with_changed_efficiency("figure-5", "adaptive", &times(5.0, 5.0), 0.999)),
        (&["3.2.2b"], with_changed_efficiency("figure-5", "adaptive", &times(20.0, 5.0), 0.999)),
        (&["3.2.2b"], with_changed_efficiency("figure-6", "adaptive", &times(80.0, 5.0), 0.98)),
        (&["3.2.2a"], with_changed_efficiency("figure-5", "adaptive", &times(40.0, 20.0), 0.9)),
        (&["3.2.2c"], with_changed_efficiency("figure-7", "adaptive", &times(80.0, 5.0), 0.7)),
        (&["3.2.2d", "ours-1"], with_changed_efficiency("figure-7", "adaptive", &times(40.0, 12.0), 0.86)),
        (&["3.2.2d"], with_changed_efficiency("figure-7", "adaptive", &times(40.0, 12.0), 0.851)),
        (
            &["2a", "3.2.2d", "ours-1"],
            with_changed_efficiency("figure-7", "adaptive", &times(40.0, 40.0), 0.86),
        ),
        (
            &["3.2.2e"],
            with_changed_efficiency("figure-8", "adaptive", &[("window", 500.0), ("loss", 0.01)], 0.9999),
        ),
        (
            &["3.2.2f"],
            with_changed_efficiency("figure-8", "adaptive", &[("window", 100.0), ("loss", 0.01)], 0.1),
        ),
        (&["3.2.2g"], with_changed_efficiency("figure-10", "sscop", &poll(40.0, 0.1), 0.8801)),
        (&["3.2.2h"], with_changed_efficiency("figure-9", "sscop", &poll(40.0, 0.01), 0.9801)),
        (&["3.2.2i"], with_changed_efficiency("figure-10", "sscop", &poll(10.0, 0.1), 0.8901)),
    ] {
        assert_eq!(failed_claims(&results), expected);
    }
    // A T_error that does not matter.
    let mut flat = well_shaped_results();
    flat.experiments[2].rows.iter_mut().for_each(|row| row.value = Some(0.85));
    assert_eq!(failed_claims(&flat), ["2a", "3.2.2c", "3.2.2d"]);
}

/// An optimum at another time than the printed one leaves the sign; without an optimum there is none.
#[test]
fn another_optimum_holds_in_sign_only() {
    let verdict = |id: &str, results: &Results| {
        claims(results).into_iter().find(|claim| claim.id == id).map(|claim| claim.verdict)
    };
    let normal = |time: f64, value: f64| {
        with_changed_efficiency("figure-5", "adaptive", &[("T_normal_ms", time), ("T_error_ms", 5.0)], value)
    };
    assert_eq!(verdict("3.2.2b", &normal(50.0, 0.995)), Some(Verdict::SignOnly));
    assert_eq!(verdict("3.2.2b", &normal(100.0, 0.995)), Some(Verdict::Fails));
    let error = |time: f64, value: f64| {
        with_changed_efficiency("figure-7", "adaptive", &[("T_normal_ms", 40.0), ("T_error_ms", time)], value)
    };
    assert_eq!(verdict("3.2.2d", &error(12.0, 0.851)), Some(Verdict::SignOnly));
    assert_eq!(verdict("3.2.2d", &error(1.0, 0.86)), Some(Verdict::Fails));
}

/// An insignificant step neither confirms nor refutes a claim, and is counted; a significant one decides.
#[test]
fn steps_within_chance_are_named_and_decide_nothing() {
    let uncertain = |half: f64| {
        let mut results =
            with_changed_efficiency("figure-8", "adaptive", &[("window", 500.0), ("loss", 0.01)], 0.9992);
        let rows = results.experiments.iter_mut().flat_map(|of| &mut of.rows);
        rows.for_each(|row| row.ci95 = Some(half));
        claims(&results).into_iter().find(|claim| claim.id == "3.2.2e").unwrap()
    };
    // 0.9990 at 1e-3, 0.9992 at 1e-2: a difference of 0.0002, with half widths of 0.0001 or 0.0002.
    let (sure, open) = (uncertain(0.0001), uncertain(0.0002));
    assert!(!sure.holds() && sure.evidence.contains("window 500: efficiency does not fall"), "{sure:#?}");
    assert!(open.holds() && open.evidence.contains("1 of these 4 steps undecided at 95 %"), "{open:#?}");
    // All values are uncertain.
    assert!(!uncertain(1.0).holds());
}

#[test]
fn losses_of_1e_5_count_where_they_were_run() {
    let mut results = well_shaped_results();
    let row = |window: f64, value: f64| {
        let cell = Cell::unpublished("adaptive", EFFICIENCY).with("window", window).with("loss", 1e-5);
        Row::new(cell, Some(&[value]))
    };
    let mut long = ExperimentResults {
        id: "ours/figure-8-long".to_owned(),
        title: String::new(),
        rows: vec![row(500.0, 1.0), row(50.0, 0.2)],
    };
    results.experiments.push(long.clone());
    assert!(failed_claims(&results).is_empty());
    for (wrong, value, claim) in [(0, 0.9998, "3.2.2e"), (1, 0.22, "3.2.2f")] {
        long.rows[wrong].value = Some(value);
        *results.experiments.last_mut().unwrap() = long.clone();
        assert_eq!(failed_claims(&results), [claim], "{wrong}");
        long.rows[wrong].value = Some([1.0, 0.2][wrong]);
    }
}

#[test]
fn claims_without_their_figures_are_left_out() {
    let mut results = well_shaped_results();
    results.experiments.retain(|of| of.id == "ours/figure-7");
    let ids: Vec<String> = claims(&results).into_iter().map(|claim| claim.id).collect();
    assert_eq!(ids, ["3.2.2c", "3.2.2d", "ours-1"]);
}
