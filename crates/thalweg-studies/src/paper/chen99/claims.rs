//! The claims of the paper, decided by our runs.

use super::super::{Claim, Results};
use super::metrics::{SOURCES, STEADY};
use serde_json::{Value, json};

/// The claims that the results decide.
pub fn claims(results: &Results) -> Vec<Claim> {
    let study = Study(results);
    let all: [fn(&Study<'_>) -> Option<Claim>; 9] = [
        both_fill_the_bottleneck,
        sscop_is_fairer,
        windows_follow_round_trips,
        the_queue_is_held,
        the_queue_recovers,
        nothing_is_lost_in_steady_state,
        rate_control_gains_over_credit,
        long_links_need_time,
        draining_helps_late_starters,
    ];
    all.iter().filter_map(|claim| claim(&study)).collect()
}

struct Study<'a>(&'a Results);

const TABLE: &str = "table-2/parking-lot";
const OURS: &str = "ours/table-2/parking-lot";
const RATE: &str = "sscop-rate";
const VEGAS: &str = "tcp-vegas";

impl Study<'_> {
    fn get(&self, id: &str, scheme: &str, metric: &str, keys: &[(&str, Value)]) -> Option<f64> {
        self.0.value(id, scheme, metric, keys)
    }

    fn phase(&self, scheme: &str, metric: &str, phase: &str) -> Option<f64> {
        self.get(OURS, scheme, metric, &[("phase", json!(phase))])
    }

    fn steady(&self, scheme: &str, metric: &str) -> Option<Vec<f64>> {
        STEADY.iter().map(|phase| self.phase(scheme, metric, phase)).collect()
    }
}

fn list(values: &[f64], digits: usize) -> String {
    let shown: Vec<String> = values.iter().map(|value| format!("{value:.digits$}")).collect();
    shown.join(", ")
}

fn claim(id: &str, text: &str, holds: bool, evidence: String) -> Option<Claim> {
    Some(Claim { id: id.to_owned(), text: text.to_owned(), holds, evidence })
}

fn both_fill_the_bottleneck(study: &Study<'_>) -> Option<Claim> {
    let (vegas, rate) =
        (study.steady(VEGAS, "throughput_percent")?, study.steady(RATE, "throughput_percent")?);
    let holds = vegas.iter().chain(&rate).all(|used| *used >= 98.0);
    let evidence = format!("{RATE}: {} %; {VEGAS}: {} %", list(&rate, 1), list(&vegas, 1));
    claim(
        "1",
        "Both schemes use at least 98 % of the bottleneck in the steady part of each phase",
        holds,
        evidence,
    )
}

fn sscop_is_fairer(study: &Study<'_>) -> Option<Claim> {
    let (vegas, rate) = (study.steady(VEGAS, "fairness_index")?, study.steady(RATE, "fairness_index")?);
    let whole = |scheme| study.get(TABLE, scheme, "fairness_index", &[]);
    let (vegas_whole, rate_whole) = (whole(VEGAS)?, whole(RATE)?);
    let in_phases = rate.iter().zip(&vegas).all(|(rate, vegas)| *rate >= 0.99 && rate > vegas);
    let evidence = format!(
        "in the phases {} against {}; over the whole run {rate_whole:.4} against {vegas_whole:.4}",
        list(&rate, 4),
        list(&vegas, 4)
    );
    claim(
        "2",
        "SSCOP with rate control shares more evenly than Vegas: an index of at least 0.99 in the steady part of each phase",
        in_phases && rate_whole > vegas_whole,
        evidence,
    )
}

fn windows_follow_round_trips(study: &Study<'_>) -> Option<Claim> {
    let window = |source: usize| {
        let keys = [("phase", json!(STEADY[1])), ("source", json!(source))];
        study.get(OURS, RATE, "window_mean_pdus", &keys)
    };
    let windows: Vec<f64> = (1..=SOURCES).map(window).collect::<Option<_>>()?;
    // Each source is nearer to the bottleneck than the one before.
    let holds = windows.windows(2).all(|pair| pair[0] > 1.05 * pair[1]);
    let evidence =
        format!("outstanding PDUs of the sources at 50 Mbit/s, the farthest first: {}", list(&windows, 1));
    claim(
        "3",
        "The sources settle on clearly different windows, after their round-trip times",
        holds,
        evidence,
    )
}

fn the_queue_is_held(study: &Study<'_>) -> Option<Claim> {
    let (means, least, most) = (
        study.steady(RATE, "queue_mean_pdus")?,
        study.steady(RATE, "queue_min_pdus")?,
        study.steady(RATE, "queue_max_pdus")?,
    );
    let aim = SOURCES as f64 * 3.0;
    let holds = means.iter().all(|queue| *queue <= 1.5 * aim && *queue >= aim / 1.5)
        && least.iter().all(|queue| *queue > 0.0)
        && most.iter().all(|queue| *queue < 128.0);
    let evidence = format!(
        "5 alpha are {aim}; means {}, never below {}, never above {}",
        list(&means, 1),
        list(&least, 1),
        list(&most, 1)
    );
    claim(
        "4",
        "The queue at switch 4 settles near 5 alpha PDUs (within a factor of 1.5) and is never empty nor full then",
        holds,
        evidence,
    )
}

fn the_queue_recovers(study: &Study<'_>) -> Option<Claim> {
    let recovery = study.get(OURS, RATE, "queue_recovery_s", &[])?;
    let evidence = format!("{recovery:.3} s after the drop it is below 30 PDUs for good");
    claim("5", "After the drop to 50 Mbit/s the queue recovers within a second", recovery < 0.5, evidence)
}

fn nothing_is_lost_in_steady_state(study: &Study<'_>) -> Option<Claim> {
    let losses = study.steady(RATE, "losses_pdus")?;
    let all = study.get(OURS, RATE, "losses_pdus", &[])?;
    let evidence = format!("{} in the phases, {all:.0} in the whole run", list(&losses, 0));
    claim("6", "No PDU is lost in steady state", losses.iter().all(|lost| *lost == 0.0), evidence)
}

fn rate_control_gains_over_credit(study: &Study<'_>) -> Option<Claim> {
    let of = |id: &str, scheme: &str| {
        let get = |metric| study.get(id, scheme, metric, &[]);
        Some((get("throughput_percent")?, get("fairness_index")?))
    };
    let (rate, index) = of(TABLE, RATE)?;
    let mut holds = true;
    let mut evidence = vec![format!("{RATE}: {rate:.1} %, {index:.3}")];
    for scheme in [
        "sscop-credit-32",
        "sscop-credit-64",
        "sscop-credit-128",
        "sscop-credit-48-polled",
        "sscop-credit-128-polled",
    ] {
        let (used, shares) = of("ours/variants", scheme)?;
        holds &= used < rate && shares < index;
        evidence.push(format!("{scheme}: {used:.1} %, {shares:.3}"));
    }
    claim(
        "7",
        "Rate control brings SSCOP more throughput and fairness than the fixed credits tried",
        holds,
        evidence.join("; "),
    )
}

fn long_links_need_time(study: &Study<'_>) -> Option<Claim> {
    let get = |metric| {
        study.get("ours/30-s", RATE, metric, &[("link_ms", json!("5")), ("phase", json!("last-third"))])
    };
    let (index, used, losses) = (get("fairness_index")?, get("throughput_percent")?, get("losses_pdus")?);
    let evidence = format!("in the last 10 s {used:.1} %, {index:.4}, {losses:.0} losses");
    claim(
        "8",
        "With 5 ms a link, 30 s are enough to share the bottleneck (98 %, 0.99)",
        index >= 0.99 && used >= 98.0,
        evidence,
    )
}

fn draining_helps_late_starters(study: &Study<'_>) -> Option<Claim> {
    let index =
        |scheme| study.get("ours/late-start", scheme, "fairness_index", &[("phase", json!("last-third"))]);
    let (without, with) = (index(RATE)?, index("sscop-rate-drain")?);
    let evidence = format!("index of the last third {with:.3} with the drain, {without:.3} without");
    claim(
        "9",
        "A drain of the queue now and then gives a source that starts late no more than its share (ours)",
        with > without && with >= 0.97,
        evidence,
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::{Cell, ExperimentResults, Row};
    use super::*;

    /// Results with these rows: experiment, scheme, metric, phase, value.
    fn results(rows: &[(&str, &str, &str, Option<&str>, f64)]) -> Results {
        let mut results =
            Results { paper: "chen99", complete: true, experiments: Vec::new(), claims: Vec::new() };
        for &(id, scheme, metric, phase, value) in rows {
            let cell = Cell::ours(scheme, metric);
            let cell = phase.map_or(cell.clone(), |phase| cell.with("phase", phase));
            let row = Row::new(cell, Some(&[value]));
            results.experiments.push(ExperimentResults {
                id: id.to_owned(),
                title: String::new(),
                rows: vec![row],
            });
        }
        // One experiment of each id.
        let mut merged: Vec<ExperimentResults> = Vec::new();
        for of in results.experiments.drain(..) {
            match merged.iter_mut().find(|known| known.id == of.id) {
                Some(known) => known.rows.extend(of.rows),
                None => merged.push(of),
            }
        }
        Results { experiments: merged, ..results }
    }

    fn steady(metric: &'static str, scheme: &'static str, values: [f64; 3]) -> Vec<Row5> {
        STEADY.iter().zip(values).map(|(phase, value)| (OURS, scheme, metric, Some(*phase), value)).collect()
    }

    type Row5 = (&'static str, &'static str, &'static str, Option<&'static str>, f64);

    fn holds(rows: &[Row5], id: &str) -> Option<bool> {
        claims(&results(rows)).into_iter().find(|claim| claim.id == id).map(|claim| claim.holds)
    }

    /// Each claim holds on numbers that bear it out, fails when one of them is moved, and is left out without them.
    #[test]
    fn claims_can_fail() {
        let throughput = |last| {
            [
                steady("throughput_percent", RATE, [99.0, 98.0, 99.0]),
                steady("throughput_percent", VEGAS, [99.0, 99.0, last]),
            ]
            .concat()
        };
        assert_eq!((holds(&throughput(98.5), "1"), holds(&throughput(97.9), "1")), (Some(true), Some(false)));
        let fairness = |vegas| {
            let whole =
                [(TABLE, RATE, "fairness_index", None, 0.99), (TABLE, VEGAS, "fairness_index", None, vegas)];
            let phases = [
                steady("fairness_index", RATE, [0.995, 0.999, 0.991]),
                steady("fairness_index", VEGAS, [0.94, 0.97, 0.98]),
            ]
            .concat();
            [whole.to_vec(), phases].concat()
        };
        assert_eq!((holds(&fairness(0.95), "2"), holds(&fairness(0.995), "2")), (Some(true), Some(false)));
        let queue = |least| {
            [
                steady("queue_mean_pdus", RATE, [18.0, 19.0, 22.0]),
                steady("queue_min_pdus", RATE, [least, 3.0, 4.0]),
                steady("queue_max_pdus", RATE, [30.0, 30.0, 30.0]),
            ]
            .concat()
        };
        assert_eq!((holds(&queue(5.0), "4"), holds(&queue(0.0), "4")), (Some(true), Some(false)));
        let recovery = |after| [(OURS, RATE, "queue_recovery_s", None, after)];
        assert_eq!((holds(&recovery(0.2), "5"), holds(&recovery(0.9), "5")), (Some(true), Some(false)));
        let losses = |last| {
            let mut rows = steady("losses_pdus", RATE, [0.0, 0.0, last]);
            rows.push((OURS, RATE, "losses_pdus", None, 80.0));
            rows
        };
        assert_eq!((holds(&losses(0.0), "6"), holds(&losses(0.1), "6")), (Some(true), Some(false)));
        let credit = |used| {
            let mut rows = vec![
                (TABLE, RATE, "throughput_percent", None, 99.0),
                (TABLE, RATE, "fairness_index", None, 0.99),
            ];
            for scheme in [
                "sscop-credit-32",
                "sscop-credit-64",
                "sscop-credit-128",
                "sscop-credit-48-polled",
                "sscop-credit-128-polled",
            ] {
                rows.push(("ours/variants", scheme, "throughput_percent", None, used));
                rows.push(("ours/variants", scheme, "fairness_index", None, 0.9));
            }
            rows
        };
        assert_eq!((holds(&credit(96.0), "7"), holds(&credit(99.5), "7")), (Some(true), Some(false)));
        let late = |with| {
            let row =
                |scheme, value| ("ours/late-start", scheme, "fairness_index", Some("last-third"), value);
            [row(RATE, 0.9), row("sscop-rate-drain", with)]
        };
        assert_eq!((holds(&late(0.99), "9"), holds(&late(0.95), "9")), (Some(true), Some(false)));
        assert_eq!(claims(&results(&[])), []);
    }

    #[test]
    fn windows_and_long_runs_are_told_by_their_keys() {
        let window = |last: f64| {
            let values = [200.0, 160.0, 120.0, 80.0, last];
            let rows = (1..).zip(values).map(|(source, value)| {
                let cell =
                    Cell::ours(RATE, "window_mean_pdus").with("phase", STEADY[1]).with("source", source);
                Row::new(cell, Some(&[value]))
            });
            let rows: Vec<Row> = rows.collect();
            let of = ExperimentResults { id: OURS.to_owned(), title: String::new(), rows };
            Results { paper: "chen99", complete: true, experiments: vec![of], claims: Vec::new() }
        };
        let holds = |results: &Results, id: &str| {
            claims(results).into_iter().find(|claim| claim.id == id).map(|claim| claim.holds)
        };
        assert_eq!((holds(&window(40.0), "3"), holds(&window(79.0), "3")), (Some(true), Some(false)));
        let long = |index: f64| {
            let row = |metric: &str, value: f64| {
                let cell = Cell::ours(RATE, metric).with("link_ms", "5").with("phase", "last-third");
                Row::new(cell, Some(&[value]))
            };
            let rows =
                vec![row("fairness_index", index), row("throughput_percent", 99.0), row("losses_pdus", 0.0)];
            let of = ExperimentResults { id: "ours/30-s".to_owned(), title: String::new(), rows };
            Results { paper: "chen99", complete: true, experiments: vec![of], claims: Vec::new() }
        };
        assert_eq!((holds(&long(0.995), "8"), holds(&long(0.9), "8")), (Some(true), Some(false)));
    }
}
