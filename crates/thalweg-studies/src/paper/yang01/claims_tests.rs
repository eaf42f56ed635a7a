//! Tests that every claim can fail: all hold for the ideal results, and each fails for a change.
//!
//! A scheme `x/y` has the mechanism `x` at the measured source and `y` at the other one: congestion gates (`cc`), slots (`ts`), or
//! none (`be`, best effort).

use super::super::super::{Cell, ExperimentResults, Row, Verdict};
use super::*;
use serde_json::Value;

fn row(
    results: &mut Results,
    id: &str,
    scheme: &str,
    metric: &str,
    keys: &[(&str, Value)],
    value: f64,
    published: bool,
) {
    let mut cell = keys
        .iter()
        .fold(Cell::unpublished(scheme, metric), |cell, (key, value)| cell.with(key, value.clone()));
    cell.published = published.then(|| json!(value));
    let ci95 = (metric == AGEING_GAIN_POINTS).then_some(1.0);
    let row = Row { cell, value: Some(value), ci95 };
    match results.experiments.iter_mut().find(|of| of.id == id) {
        Some(of) => of.rows.push(row),
        None => {
            let of = ExperimentResults { id: id.to_owned(), title: String::new(), rows: vec![row] };
            results.experiments.push(of);
        }
    }
}

/// Returns the factor of a discipline: RED is best for TCP beside congestion gates and for UDP with slots, DRR worst
/// beside congestion gates.
fn factor(scheme: &str, discipline: &str, is_udp: bool) -> f64 {
    match (scheme, discipline, is_udp) {
        ("cc/cc" | "cc/be", "RED", _) => 0.97,
        ("cc/cc" | "cc/be", "DRR", _) => 1.03,
        ("ts/ts", "RED", true) => 0.99,
        ("ts/ts", "RED", false) => 1.01,
        _ => 1.0,
    }
}

/// Returns times that satisfy all claims of the paper, also as published values.
fn ideal() -> Results {
    let mut results =
        Results { paper: "yang01", complete: true, experiments: Vec::new(), claims: Vec::new() };
    let rank = |class: &str| SOURCE_CLASSES.iter().position(|of| *of == class).unwrap_or(0) as f64;
    for (scheme, scale) in
        [("cc/cc", 100.0), ("ts/ts", 150.0), ("cc/be", 100.0), ("ts/be", 170.0), ("be/be", 180.0)]
    {
        for discipline in DISCIPLINES {
            for class in SOURCE_CLASSES {
                // UDP 3 and 4 take about as long as TCP 3 and 4; without gates they take a tenth of TCP's time, which
                // is equal for all.
                let is_udp = class.starts_with("UDP");
                let time = match (scheme, is_udp) {
                    ("be/be", true) => 20.0,
                    ("be/be", false) => scale,
                    (_, true) => scale * (rank(class) - 1.1),
                    (_, false) => scale * (1.0 + rank(class)),
                };
                let time = time * factor(scheme, discipline, is_udp);
                let keys = [("discipline", json!(discipline)), ("source", json!(class))];
                row(&mut results, &format!("table-II/{scheme}"), scheme, MEAN_FINISH_TIME, &keys, time, true);
                let (id, key) = if scheme.ends_with("/be") {
                    ("ours/table-II-ageing/one", "ageing_s1")
                } else {
                    ("ours/table-II-ageing/both", "ageing")
                };
                for (ageing, multiplier) in
                    [("100 s", 1.01), ("10 s", 1.3)].iter().filter(|_| scheme != "be/be")
                {
                    let keys = [keys[0].clone(), keys[1].clone(), (key, json!(ageing))];
                    row(&mut results, id, scheme, MEAN_FINISH_TIME, &keys, time * multiplier, false);
                }
                // One exception among the short flows.
                let is_exception = (scheme, discipline, class) == ("cc/cc", "FCFS", "UDP4");
                let short = if is_exception { 1.0 } else { time / 100.0 };
                row(&mut results, "ours/section-3.1/10-kB", scheme, MEAN_FINISH_TIME, &keys, short, false);
            }
            let keys = [("discipline", json!(discipline))];
            row(
                &mut results,
                "ours/section-3.1/10-kB",
                scheme,
                START_FINISH_RANK_CORRELATION,
                &keys,
                0.95,
                false,
            );
        }
        for (ageing, times) in [("1 s", [190.0, 195.0, 200.0, 205.0]), ("off", [100.0, 200.0, 300.0, 400.0])]
        {
            for (class, time) in TCP.iter().zip(times) {
                let keys = [("ageing", json!(ageing)), ("source", json!(class))];
                row(&mut results, "ours/ageing", scheme, MEAN_FINISH_TIME, &keys, time, false);
            }
        }
    }
    for scheme in ["cc/cc", "ts/ts", "cc/be", "ts/be", "be/be", "cc/ts"] {
        for flows in [81, 84, 87, 90, 93, 96, 98, 99] {
            for class in SOURCE_CLASSES {
                let keys = [("tcp_flows", json!(flows)), ("source", json!(class))];
                row(&mut results, "ours/figure-3/ratio", scheme, MEAN_FINISH_TIME, &keys, 500.0, false);
            }
        }
    }
    for (slots, first, last) in [("published", 100.0, 400.0), ("equal", 300.0, 300.0), ("steep", 50.0, 900.0)]
    {
        for (class, time) in [("TCP1", first), ("TCP4", last)] {
            let keys = [("slots", json!(slots)), ("source", json!(class))];
            row(&mut results, "ours/slots", "ts/ts", MEAN_FINISH_TIME, &keys, time, false);
        }
    }
    for (is_work_conserving, time) in [("false", 500.0), ("true", 400.0)] {
        for class in SOURCE_CLASSES {
            let keys = [("work_conserving", json!(is_work_conserving)), ("source", json!(class))];
            row(&mut results, "ours/work-conserving", "ts/ts", MEAN_FINISH_TIME, &keys, time, false);
        }
    }
    for slot in ["4 ms", "10 ms"] {
        row(
            &mut results,
            "ours/10-kB-slots",
            "ts/ts",
            START_FINISH_RANK_CORRELATION,
            &[("slot", json!(slot))],
            1.0,
            false,
        );
    }
    for (ageing, delivered) in [("1 s", 15.0), ("10 s", 5.0), ("100 s", 3.0), ("off", 2.0)] {
        let keys = [("ageing_s1", json!(ageing)), ("source", json!("PATIENT"))];
        row(&mut results, "ours/new-flows", "congestion", DELIVERED_PERCENT, &keys, delivered, false);
        let starved = if ageing == "off" { 60.0 } else { 0.0 };
        row(&mut results, "ours/new-flows", "congestion", STARVED_PERCENT, &keys, starved, false);
        row(&mut results, "ours/new-flows", "congestion", AGEING_GAIN_POINTS, &keys, delivered - 2.0, false);
    }
    for (slot, resent, time) in [
        ("500 us", 8.0, 900.0),
        ("1 ms", 5.0, 700.0),
        ("2 ms", 3.0, 500.0),
        ("4 ms", 2.0, 450.0),
        ("10 ms", 1.0, 400.0),
        ("20 ms", 1.0, 400.0),
    ] {
        for (timers, resent) in [("running", resent), ("frozen", 0.5)] {
            let keys = [("timers", json!(timers)), ("slot", json!(slot))];
            row(&mut results, "ours/stopped-acks", "ts/ts", RETRANSMITTED_PERCENT, &keys, resent, false);
            row(&mut results, "ours/slot-length", "ts/ts", RETRANSMITTED_PERCENT, &keys, 0.0, false);
            for class in TCP {
                let keys = [keys[0].clone(), keys[1].clone(), ("source", json!(class))];
                row(&mut results, "ours/slot-length", "ts/ts", MEAN_FINISH_TIME, &keys, time, false);
            }
        }
    }
    results
}

/// Returns the ideal results with another value in an experiment's cells of this metric, scheme and key value.
fn ideal_with(id: &str, scheme: &str, metric: &str, key: &(&str, Value), value: f64) -> Results {
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
    assert_eq!(claims.len(), 35);
    for claim in claims {
        assert!(claim.holds(), "{claim:?}");
    }
}

#[test]
fn each_claim_can_fail() {
    let source = |class: &str| ("source", json!(class));
    let with = |discipline: &str| ("discipline", json!(discipline));
    let all = || ("metric", json!(MEAN_FINISH_TIME));
    let ten = "ours/section-3.1/10-kB";
    for (id, results) in [
        ("1a", ideal_with("table-II/cc/be", "cc/be", MEAN_FINISH_TIME, &source("UDP3"), 150.0)),
        ("3.1a", ideal_with("table-II/cc/be", "cc/be", MEAN_FINISH_TIME, &source("TCP2"), 10.0)),
        ("3.1b", ideal_with(ten, "cc/cc", MEAN_FINISH_TIME, &all(), 1.0)),
        ("3.1c", ideal_with(ten, "cc/cc", MEAN_FINISH_TIME, &source("UDP4"), 5.0)),
        ("3.1d", ideal_with("table-II/ts/be", "ts/be", MEAN_FINISH_TIME, &source("TCP2"), 10.0)),
        ("3.1e", ideal_with(ten, "ts/be", START_FINISH_RANK_CORRELATION, &with("RED"), 0.5)),
        ("3.2a", ideal_with("table-II/cc/cc", "cc/cc", MEAN_FINISH_TIME, &with("RED"), 1000.0)),
        ("3.2b", ideal_with("table-II/cc/cc", "cc/cc", MEAN_FINISH_TIME, &with("RED"), 1000.0)),
        ("3.3(1)a", ideal_with("table-II/cc/be", "cc/be", MEAN_FINISH_TIME, &with("RED"), 1000.0)),
        ("3.3(1)b", ideal_with("table-II/ts/ts", "ts/ts", MEAN_FINISH_TIME, &with("RED"), 100.0)),
        ("3.3(2)", ideal_with("table-II/cc/cc", "cc/cc", MEAN_FINISH_TIME, &with("SFQ"), 1000.0)),
        ("3.3(3)", ideal_with("table-II/ts/be", "ts/be", MEAN_FINISH_TIME, &with("RED"), 1.0)),
        ("3.3(4)", ideal_with("table-II/be/be", "be/be", MEAN_FINISH_TIME, &with("SFQ"), 10.0)),
        ("3.4a", ideal_with("table-II/cc/cc", "cc/cc", MEAN_FINISH_TIME, &source("TCP4"), 700.0)),
        ("3.4b", ideal_with("ours/work-conserving", "ts/ts", MEAN_FINISH_TIME, &all(), 500.0)),
        ("3.4c", ideal_with("table-II/ts/be", "ts/be", MEAN_FINISH_TIME, &source("TCP4"), 600.0)),
        ("3.4d", ideal_with("table-II/ts/ts", "ts/ts", MEAN_FINISH_TIME, &source("UDP3"), 460.0)),
        ("3.4e", ideal_with("table-II/ts/ts", "ts/ts", MEAN_FINISH_TIME, &source("UDP4"), 400.0)),
        ("3.4f", ideal_with("table-II/ts/be", "ts/be", MEAN_FINISH_TIME, &all(), 1.0)),
        ("3.4g", ideal_with("table-II/cc/be", "cc/be", MEAN_FINISH_TIME, &source("TCP1"), 181.0)),
        ("3.4h", ideal_with("table-II/cc/be", "cc/be", MEAN_FINISH_TIME, &source("TCP2"), 179.0)),
        (
            "3.4i",
            ideal_with("ours/figure-3/ratio", "ts/ts", MEAN_FINISH_TIME, &("tcp_flows", json!(98)), 900.0),
        ),
        ("3.5a", ideal_with("ours/ageing", "ts/ts", MEAN_FINISH_TIME, &all(), 100.0)),
        ("3.5b", ideal_with("ours/ageing", "ts/ts", MEAN_FINISH_TIME, &source("TCP1"), 100.0)),
        (
            "3.5c",
            ideal_with("ours/new-flows", "congestion", AGEING_GAIN_POINTS, &("ageing_s1", json!("1 s")), 0.9),
        ),
        (
            "3.5c",
            ideal_with("ours/new-flows", "congestion", STARVED_PERCENT, &("ageing_s1", json!("off")), 50.0),
        ),
        (
            "3.5c",
            ideal_with("ours/new-flows", "congestion", STARVED_PERCENT, &("ageing_s1", json!("1 s")), 5.0),
        ),
        (
            "3.5d",
            ideal_with(
                "ours/10-kB-slots",
                "ts/ts",
                START_FINISH_RANK_CORRELATION,
                &("slot", json!("10 ms")),
                0.7,
            ),
        ),
        (
            "3.5e",
            ideal_with("ours/stopped-acks", "ts/ts", RETRANSMITTED_PERCENT, &("slot", json!("500 us")), 1.5),
        ),
        (
            "3.5f",
            ideal_with("ours/slot-length", "ts/ts", MEAN_FINISH_TIME, &("slot", json!("500 us")), 400.0),
        ),
        ("3.5g", ideal_with("ours/slots", "ts/ts", MEAN_FINISH_TIME, &("slots", json!("steep")), 300.0)),
        ("3.5h", ideal_with("ours/slots", "ts/ts", MEAN_FINISH_TIME, &source("TCP4"), 600.0)),
        ("4a", ideal_with("table-II/be/be", "be/be", MEAN_FINISH_TIME, &source("UDP4"), 150.0)),
        ("ours-1", ideal_with("table-II/cc/be", "cc/be", MEAN_FINISH_TIME, &source("TCP3"), 100.0)),
        ("ours-2", ideal_with("table-II/ts/ts", "ts/ts", MEAN_FINISH_TIME, &with("DRR"), 2000.0)),
        ("ours-3", ideal_with("table-II/ts/be", "ts/be", MEAN_FINISH_TIME, &with("DRR"), 2000.0)),
        (
            "ours-3",
            ideal_with(
                "ours/table-II-ageing/one",
                "ts/be",
                MEAN_FINISH_TIME,
                &("ageing_s1", json!("100 s")),
                1.0,
            ),
        ),
    ] {
        let claim = claims(&results).into_iter().find(|claim| claim.id == id).expect("it is there");
        assert!(!claim.holds() && claim.evidence.contains("Against it"), "{claim:?}");
    }
}

/// Classes that come together without becoming equal leave the sign of claim 3.5b.
#[test]
fn classes_that_come_together_hold_in_sign_only() {
    let verdict = |value| {
        let results = ideal_with("ours/ageing", "cc/cc", MEAN_FINISH_TIME, &("source", json!("TCP1")), value);
        claims(&results).into_iter().find(|claim| claim.id == "3.5b").map(|claim| claim.verdict)
    };
    // TCP4 takes 205 s after 1 s of ageing and 400 s without.
    assert_eq!(verdict(100.0), Some(Verdict::SignOnly));
    let mut later = ideal();
    let of = later.experiments.iter_mut().find(|of| of.id == "ours/ageing").expect("it is there");
    let is_slow =
        |row: &&mut Row| row.cell.text("ageing") == Some("1 s") && row.cell.text("source") == Some("TCP4");
    of.rows.iter_mut().filter(is_slow).for_each(|row| row.value = Some(900.0));
    let claim = claims(&later).into_iter().find(|claim| claim.id == "3.5b").expect("it is there");
    assert_eq!(claim.verdict, Verdict::Fails);
}

#[test]
fn ours_come_last_and_the_others_have_sections() {
    let claims = claims(&ideal());
    let (ours, others): (Vec<&Claim>, Vec<&Claim>) = claims.iter().partition(|claim| claim.ours);
    let ids: Vec<&str> = ours.iter().map(|claim| claim.id.as_str()).collect();
    assert_eq!(ids, ["ours-1", "ours-2", "ours-3"]);
    assert!(claims.ends_with(&ours.iter().map(|claim| (*claim).clone()).collect::<Vec<_>>()));
    assert!(others.iter().all(|claim| !claim.section.is_empty()));
}

#[test]
fn a_class_that_never_ends_starves() {
    let mut results = ideal();
    let of = results.experiments.iter_mut().find(|of| of.id == "table-II/ts/be").expect("it is there");
    of.rows.iter_mut().filter(|row| row.cell.text("source") == Some("TCP4")).for_each(|row| row.value = None);
    let claim = claims(&results).into_iter().find(|claim| claim.id == "3.5i").expect("it is there");
    assert!(!claim.holds(), "{claim:?}");
}

#[test]
fn the_printed_table_is_counted_too() {
    let results = ideal_with("table-II/cc/be", "cc/be", MEAN_FINISH_TIME, &("source", json!("TCP2")), 179.0);
    let claim = claims(&results).into_iter().find(|claim| claim.id == "3.4h").expect("it is there");
    assert!(claim.evidence.starts_with("8 of 12 pairs are in order, 12 in the printed table"), "{claim:?}");
}

#[test]
fn claims_without_their_values_are_left_out() {
    let mut results = ideal();
    results.experiments.retain(|of| !of.id.starts_with("table-II/cc"));
    let ids: Vec<String> = claims(&results).into_iter().map(|claim| claim.id).collect();
    let expected = [
        "3.1b", "3.1c", "3.1d", "3.1e", "3.3(1)b", "3.3(3)", "3.4b", "3.4c", "3.4i", "3.5a", "3.5b", "3.5c",
        "3.5d", "3.5e", "3.5f", "3.5g", "3.5h", "3.5i",
    ];
    assert_eq!(ids, expected);
}
