//! Proves that every claim can fail: results by which all hold, and for each a change by which it does not.

use super::super::super::{Cell, ExperimentResults, Row};
use super::*;

fn row(
    results: &mut Results,
    id: &str,
    scheme: &str,
    metric: &str,
    keys: &[(&str, Value)],
    value: f64,
    published: bool,
) {
    let mut cell =
        keys.iter().fold(Cell::ours(scheme, metric), |cell, (key, value)| cell.with(key, value.clone()));
    cell.published = published.then(|| json!(value));
    let ci95 = (metric == GAIN).then_some(1.0);
    let row = Row { cell, value: Some(value), ci95 };
    match results.experiments.iter_mut().find(|of| of.id == id) {
        Some(of) => of.rows.push(row),
        None => {
            let of = ExperimentResults { id: id.to_owned(), title: String::new(), rows: vec![row] };
            results.experiments.push(of);
        }
    }
}

/// Times by which everything that the paper claims is so, published as they are.
fn ideal() -> Results {
    let mut results =
        Results { paper: "yang01", complete: true, experiments: Vec::new(), claims: Vec::new() };
    let rank = |class: &str| CLASSES.iter().position(|of| *of == class).unwrap_or(0) as f64;
    for (scheme, scale) in
        [("cc/cc", 100.0), ("ts/ts", 150.0), ("cc/be", 100.0), ("ts/be", 150.0), ("be/be", 180.0)]
    {
        for discipline in DISCIPLINES {
            for class in CLASSES {
                // UDP 3 and 4 take about as long as TCP 3 and 4; without gates a tenth of TCP's, which is the same for all.
                let time = match (scheme, class.starts_with("UDP")) {
                    ("be/be", true) => 20.0,
                    ("be/be", false) => scale,
                    (_, true) => scale * (rank(class) - 1.1),
                    (_, false) => scale * (1.0 + rank(class)),
                };
                let keys = [("discipline", json!(discipline)), ("source", json!(class))];
                row(&mut results, &format!("table-II/{scheme}"), scheme, TIME, &keys, time, true);
                row(&mut results, "ours/section-3.1/10-kB", scheme, TIME, &keys, time / 100.0, false);
            }
            let keys = [("discipline", json!(discipline))];
            row(&mut results, "ours/section-3.1/10-kB", scheme, FIRST_COME, &keys, 0.95, false);
        }
        for flows in [81, 84, 87, 90, 93, 96, 98] {
            for class in CLASSES {
                let keys = [("tcp_flows", json!(flows)), ("source", json!(class))];
                row(&mut results, "ours/figure-3/ratio", scheme, TIME, &keys, 500.0, false);
            }
        }
        for (ageing, low) in [("1 s", 120.0), ("off", 400.0)] {
            for (class, time) in [("TCP1", 100.0), ("TCP4", low)] {
                let keys = [("ageing", json!(ageing)), ("source", json!(class))];
                row(&mut results, "ours/ageing", scheme, TIME, &keys, time, false);
            }
        }
    }
    for slot in ["4 ms", "10 ms"] {
        row(&mut results, "ours/10-kB-slots", "ts/ts", FIRST_COME, &[("slot", json!(slot))], 1.0, false);
    }
    for (patience, delivered) in [("1 s", 15.0), ("10 s", 5.0), ("100 s", 3.0), ("off", 2.0)] {
        let keys = [("patience", json!(patience)), ("source", json!("PATIENT"))];
        row(&mut results, "ours/newcomers", "congestion", DELIVERED, &keys, delivered, false);
        let starved = if patience == "off" { 60.0 } else { 0.0 };
        row(&mut results, "ours/newcomers", "congestion", STARVED, &keys, starved, false);
        row(&mut results, "ours/newcomers", "congestion", GAIN, &keys, delivered - 2.0, false);
    }
    for (slot, resent) in
        [("500 us", 8.0), ("1 ms", 5.0), ("2 ms", 3.0), ("4 ms", 2.0), ("10 ms", 1.0), ("20 ms", 1.0)]
    {
        for (timers, resent) in [("running", resent), ("frozen", 0.5)] {
            let keys = [("timers", json!(timers)), ("slot", json!(slot))];
            row(&mut results, "ours/slot-length", "ts/ts", RESENT, &keys, resent, false);
        }
    }
    results
}

/// Sets values of an experiment, of cells with this metric of this scheme, and of a key's value.
fn changed(id: &str, scheme: &str, metric: &str, key: &(&str, Value), value: f64) -> Results {
    let mut results = ideal();
    let of = results.experiments.iter_mut().find(|of| of.id == id).expect("it is there");
    let mut count = 0;
    for row in &mut of.rows {
        let is_meant = row.cell.scheme == scheme && row.cell.metric == metric;
        if is_meant && row.cell.key(key.0) == Some(key.1.clone()) {
            row.value = Some(value);
            count += 1;
        }
    }
    assert!(count > 0, "{id} {scheme} {metric} {key:?}");
    results
}

#[test]
fn all_claims_hold_by_ideal_results() {
    let claims = claims(&ideal());
    assert_eq!(claims.len(), 12);
    for claim in claims {
        assert!(claim.holds, "{claim:?}");
    }
}

#[test]
fn each_claim_can_fail() {
    let source = |class: &str| ("source", json!(class));
    for (id, results) in [
        ("1", changed("table-II/ts/be", "ts/be", TIME, &source("TCP2"), 10.0)),
        ("2a", changed("ours/section-3.1/10-kB", "cc/cc", TIME, &("metric", json!(TIME)), 1.0)),
        ("2b", changed("ours/section-3.1/10-kB", "ts/ts", FIRST_COME, &("discipline", json!("RED")), 0.5)),
        ("3", changed("table-II/ts/ts", "ts/ts", TIME, &("discipline", json!("RED")), 1.0)),
        ("4", changed("table-II/ts/be", "ts/be", TIME, &("metric", json!(TIME)), 1.0)),
        ("5", changed("table-II/be/be", "be/be", TIME, &source("UDP4"), 150.0)),
        ("6", changed("table-II/cc/be", "cc/be", TIME, &source("TCP3"), 100.0)),
        ("7a", changed("ours/ageing", "ts/ts", TIME, &("ageing", json!("off")), 100.0)),
        ("7b", changed("ours/newcomers", "congestion", GAIN, &("patience", json!("1 s")), 0.9)),
        ("7b", changed("ours/newcomers", "congestion", STARVED, &("patience", json!("off")), 50.0)),
        ("7b", changed("ours/newcomers", "congestion", STARVED, &("patience", json!("1 s")), 5.0)),
        ("8", changed("ours/slot-length", "ts/ts", RESENT, &("slot", json!("500 us")), 1.5)),
        ("9", changed("ours/figure-3/ratio", "ts/ts", TIME, &("tcp_flows", json!(98)), 900.0)),
        ("near", changed("table-II/ts/ts", "ts/ts", TIME, &("discipline", json!("DRR")), 2000.0)),
    ] {
        let claim = claims(&results).into_iter().find(|claim| claim.id == id).expect("it is there");
        assert!(!claim.holds && claim.evidence.contains("Against it"), "{claim:?}");
    }
}

#[test]
fn claims_without_their_values_are_left_out() {
    let mut results = ideal();
    results.experiments.retain(|of| !of.id.starts_with("table-II/cc"));
    let ids: Vec<String> = claims(&results).into_iter().map(|claim| claim.id).collect();
    assert_eq!(ids, ["2a", "2b", "7a", "7b", "8", "9"]);
}
