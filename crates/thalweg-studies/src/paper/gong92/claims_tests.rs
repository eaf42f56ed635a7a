//! Tests that the numbers decide each claim: with the numbers of a calibration by an independent program, exactly the
//! known claims fail, and the verdict of each claim changes with another number.

use super::super::super::{Cell, ExperimentResults, Row, Verdict};
use super::*;

/// Efficiency with window = buffer, hard and soft ACK for the buffers of `BUFFERS` and 2.5 w_a, by loss.
const BY_BUFFER: [(f64, [[f64; 3]; 4]); 5] = [
    (1e-5, [[0.249, 0.996, 0.305], [0.498, 0.996, 0.575], [0.952, 0.999, 0.922], [1.0, 1.0, 1.0]]),
    (1e-4, [[0.248, 0.962, 0.290], [0.492, 0.962, 0.556], [0.924, 0.994, 0.904], [1.0, 1.0, 1.0]]),
    (1e-3, [[0.236, 0.735, 0.272], [0.444, 0.751, 0.502], [0.763, 0.956, 0.807], [0.999, 0.999, 0.999]]),
    (1e-2, [[0.178, 0.305, 0.183], [0.314, 0.418, 0.305], [0.535, 0.698, 0.565], [0.973, 0.973, 0.973]]),
    (1e-1, [[0.107, 0.129, 0.095], [0.196, 0.227, 0.161], [0.339, 0.393, 0.302], [0.70, 0.70, 0.70]]),
];

/// Efficiency for the windows of `WINDOWS` with an unlimited buffer, by loss.
const BY_WINDOW: [(f64, [f64; 5]); 4] = [
    (1e-5, [0.490, 0.996, 0.997, 0.9995, 1.0]),
    (1e-4, [0.490, 0.966, 0.980, 0.997, 1.0]),
    (1e-3, [0.441, 0.792, 0.881, 0.980, 0.999]),
    (1e-2, [0.314, 0.563, 0.746, 0.940, 0.973]),
];

/// Experiment, scheme, metric, window or buffer, loss, and the value in place of the calibrated one.
type Change = (&'static str, &'static str, &'static str, f64, f64, f64);

struct Table {
    experiments: Vec<ExperimentResults>,
    changes: Vec<Change>,
}

impl Table {
    fn put(&mut self, id: &str, scheme: &str, metric: &str, at: (&str, f64), p: Option<f64>, value: f64) {
        let is_meant =
            |of: &&Change| (of.0, of.1, of.2, of.3, of.4) == (id, scheme, metric, at.1, p.unwrap_or(0.0));
        let value = self.changes.iter().find(is_meant).map_or(value, |of| of.5);
        let mut cell = Cell::unpublished(scheme, metric).with(at.0, at.1);
        if let Some(p) = p {
            cell = cell.with("p", p);
        }
        let row = Row::new(cell, Some(&[value]));
        match self.experiments.iter_mut().find(|of| of.id == id) {
            Some(of) => of.rows.push(row),
            None => {
                let of = ExperimentResults { id: id.to_owned(), title: String::new(), rows: vec![row] };
                self.experiments.push(of);
            }
        }
    }
}

/// Returns the calibrated results with some changes.
fn results(changes: &[Change]) -> Results {
    let mut table = Table { experiments: Vec::new(), changes: changes.to_vec() };
    for (p, windows) in BY_WINDOW {
        for (window, value) in WINDOWS.into_iter().zip(windows) {
            let at = ("window_segments", f64::from(window));
            table.put("ours/figure-14", "two-level", EFFICIENCY, at, Some(p), value);
            table.put("ours/figure-14", "analysis", EFFICIENCY, at, Some(p), value + 0.02);
            table.put("ours/figure-14", "analysis-printed", EFFICIENCY, at, Some(p), value + 0.02);
            table.put("ours/figure-14", "two-level", MEAN, at, Some(p), 17.0);
            table.put("ours/figure-14", "analysis", MEAN, at, Some(p), 17.0);
        }
        for (id, _, one, more) in [LARGER, LARGE_PRODUCT] {
            for (window, value) in [(one, windows[1]), (more, windows[4])] {
                let at = ("window_segments", f64::from(window));
                table.put(id, "two-level", EFFICIENCY, at, Some(p), value);
            }
        }
    }
    for (p, values) in BY_BUFFER {
        for (buffer, [equal, hard, soft]) in [0.25, 0.5, 1.0, 2.5].into_iter().zip(values) {
            let at = ("buffer_over_w_a", buffer);
            for (id, scheme, value) in [
                ("ours/figure-17", "window-equal-to-buffer", equal),
                ("ours/figure-17", "hard-ack-window-2.5wa", hard),
                ("ours/figure-18", "hard-ack", hard),
                ("ours/figure-18", "soft-ack", soft),
                ("ours/figure-18", "firm-ack", hard),
            ] {
                table.put(id, scheme, EFFICIENCY, at, Some(p), value);
            }
            for (id, scheme, value) in [
                ("ours/figure-18", "hard-ack", 82.0),
                ("ours/figure-18", "soft-ack", 82.0),
                ("ours/figure-19", "hard-ack", 82.0),
                ("ours/figure-19", "soft-ack", 112.0),
                ("ours/figure-19", "soft-ack-at-once", 100.0),
                ("ours/figure-19-long", "hard-ack", 82.0),
                ("ours/figure-19-long", "soft-ack", 163.0),
            ] {
                table.put(id, scheme, MAXIMUM, at, Some(p), value);
            }
        }
    }
    for (rate, loss) in [(16.0, 0.0), (20.0, 0.0), (24.0, 0.0), (28.0, 10.7), (32.0, 21.9)] {
        for scheme in ["rate-alone", "rate-and-window"] {
            let mut put = |metric, value| {
                table.put("ours/section-2.4/load", scheme, metric, ("rate_mbps", rate), None, value);
            };
            put(SHARE, f64::min(rate / 25.0, 1.0));
            put(LOSS, loss);
        }
    }
    for (window, share, loss) in
        [(2.0, 0.34, 0.0), (4.0, 0.36, 11.0), (6.0, 0.33, 15.6), (8.0, 0.34, 18.6), (15.0, 0.39, 28.8)]
    {
        let mut put = |metric, value| {
            let at = ("window_each", window);
            table.put("ours/section-2.4/load", "window-alone", metric, at, None, value);
        };
        put(SHARE, share);
        put(LOSS, loss);
    }
    for (scheme, resent) in [("rate-alone", 49.0), ("window-alone", 0.0), ("rate-and-window", 0.0)] {
        let mut put = |metric, value| {
            table.put("ours/section-2.4/reader", scheme, metric, ("sources", 1.0), None, value);
        };
        put(RESENT, resent);
        put(SHARE, 0.5);
    }
    for (buffer, soft) in BUFFERS.into_iter().zip([0.275, 0.552, 0.921]) {
        let at = ("buffer_over_w_a", buffer);
        table.put("ours/after-losses", "soft-ack", EFFICIENCY, at, None, soft);
        table.put("ours/after-losses", "firm-ack", EFFICIENCY, at, None, 1.0);
    }
    Results { paper: "gong92", complete: true, experiments: table.experiments, claims: Vec::new() }
}

fn failed_claims(changes: &[Change]) -> Vec<String> {
    claims(&results(changes)).into_iter().filter(|of| !of.holds()).map(|of| of.id).collect()
}

/// Claims that these numbers contradict; the larger products have those of the usual one here.
const CONTRADICTED_CLAIMS: [&str; 4] = ["4.3.3c", "4.3.3d", "4.3.3g", "6a"];

#[test]
fn the_calibrated_numbers_lose_four_claims() {
    assert_eq!(claims(&results(&[])).len(), 31);
    assert_eq!(failed_claims(&[]), CONTRADICTED_CLAIMS);
}

#[test]
fn each_claim_fails_with_another_number() {
    let (f14, f17, f18, f19) = ("ours/figure-14", "ours/figure-17", "ours/figure-18", "ours/figure-19");
    for (id, change) in [
        ("2.4a", ("ours/section-2.4/reader", "rate-and-window", RESENT, 1.0, 0.0, 20.0)),
        ("2.4b", ("ours/section-2.4/load", "window-alone", SHARE, 8.0, 0.0, 0.9)),
        ("2.4c", ("ours/section-2.4/load", "rate-alone", LOSS, 20.0, 0.0, 1.0)),
        ("2.4c", ("ours/section-2.4/load", "rate-and-window", LOSS, 32.0, 0.0, 5.0)),
        ("3.4a", (f14, "two-level", EFFICIENCY, 12.0, 1e-5, 0.96)),
        ("4.2a", (f14, "two-level", MEAN, 58.0, 1e-3, 19.0)),
        ("4.3a", (f14, "two-level", EFFICIENCY, 25.0, 1e-4, 0.9)),
        ("4.3b", ("ours/155-mbps-60-ms", "two-level", EFFICIENCY, 73.0, 1e-4, 0.907)),
        ("4.3c", ("ours/1-gbps-100-ms", "two-level", EFFICIENCY, 765.0, 1e-4, 0.6)),
        ("4.3d", (f14, "two-level", EFFICIENCY, 25.0, 1e-2, 0.97)),
        ("4.3e", (f14, "two-level", EFFICIENCY, 58.0, 1e-2, 0.93)),
        ("4.3f", ("ours/155-mbps-60-ms", "two-level", EFFICIENCY, 178.0, 1e-2, 0.93)),
        ("4.3g", ("ours/1-gbps-100-ms", "two-level", EFFICIENCY, 1908.0, 1e-2, 0.88)),
        ("4.3h", (f14, "analysis-printed", EFFICIENCY, 46.0, 1e-2, 0.68)),
        ("4.3i", (f14, "analysis-printed", EFFICIENCY, 12.0, 1e-3, 0.43)),
        ("4.3.2a", (f17, "window-equal-to-buffer", EFFICIENCY, 1.0, 1e-1, 0.5)),
        ("4.3.2b", (f17, "hard-ack-window-2.5wa", EFFICIENCY, 0.25, 1e-5, 0.42)),
        ("4.3.3a", (f18, "soft-ack", EFFICIENCY, 2.5, 1e-2, 0.97)),
        ("4.3.3b", (f18, "soft-ack", EFFICIENCY, 1.0, 1e-2, 0.69)),
        ("4.3.3e", (f19, "hard-ack", MAXIMUM, 0.5, 1e-2, 400.0)),
        ("4.3.3f", (f18, "soft-ack", MAXIMUM, 2.5, 1e-3, 90.0)),
        ("4.3.3h", ("ours/figure-19-long", "soft-ack", MAXIMUM, 0.25, 1e-5, 160.0)),
        ("4.3.3i", ("ours/after-losses", "soft-ack", EFFICIENCY, 1.0, 0.0, 1.0)),
        ("4.3.3j", (f18, "soft-ack", EFFICIENCY, 1.0, 1e-5, 0.96)),
        ("4.3.3k", (f19, "soft-ack-at-once", MAXIMUM, 1.0, 1e-2, 70.0)),
        ("ours-1", (f14, "analysis", EFFICIENCY, 35.0, 1e-3, 0.8)),
        ("ours-2", ("ours/after-losses", "firm-ack", EFFICIENCY, 0.25, 0.0, 0.6)),
        ("ours-3", ("ours/figure-19-long", "hard-ack", MAXIMUM, 0.25, 1e-5, 164.0)),
    ] {
        let failed = failed_claims(&[change]);
        assert!(failed.iter().any(|of| of == id), "{id}: {failed:?}");
    }
}

#[test]
fn each_lost_claim_can_hold() {
    let soft = |at, p, value| ("ours/figure-18", "soft-ack", EFFICIENCY, at, p, value);
    let waits = |at| ("ours/figure-19", "soft-ack", MAXIMUM, at, 1e-1, 70.0);
    for (id, changes) in [
        ("4.3.3c", vec![soft(1.0, 1e-2, 0.95), soft(1.0, 1e-1, 0.6)]),
        ("4.3.3d", vec![soft(0.25, 1e-1, 0.12), soft(0.5, 1e-1, 0.22), soft(1.0, 1e-1, 0.38)]),
        ("4.3.3g", vec![waits(0.25), waits(0.5), waits(1.0)]),
        ("6a", vec![("ours/figure-18", "hard-ack", EFFICIENCY, 1.0, 1e-2, 0.96)]),
    ] {
        let failed = failed_claims(&changes);
        assert!(failed.iter().all(|of| of != id), "{id}: {failed:?}");
    }
}

/// The gain of more than 70 % is a size: a smaller one leaves the sign.
#[test]
fn a_smaller_gain_holds_in_sign_only() {
    let with_hard_ack = |efficiency| {
        let change = ("ours/figure-17", "hard-ack-window-2.5wa", EFFICIENCY, 0.25, 1e-5, efficiency);
        let claim = claims(&results(&[change])).into_iter().find(|of| of.id == "4.3.2b");
        claim.map(|of| of.verdict)
    };
    assert_eq!(with_hard_ack(0.996), Some(Verdict::Holds));
    assert_eq!(with_hard_ack(0.42), Some(Verdict::SignOnly));
    assert_eq!(with_hard_ack(0.2), Some(Verdict::Fails));
}

#[test]
fn claims_without_their_experiments_are_left_out() {
    let mut some = results(&[]);
    some.experiments.retain(|of| of.id == "ours/figure-17");
    let claims = claims(&some);
    let shown: Vec<(&str, &str)> = claims.iter().map(|of| (of.id.as_str(), of.section.as_str())).collect();
    assert_eq!(shown, [("4.3.2a", "4.3.2"), ("4.3.2b", "4.3.2")]);
}
