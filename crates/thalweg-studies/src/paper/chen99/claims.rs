//! Claims of the paper in its order, decided by our runs. The id of a claim begins with its section; ours begin with
//! `ours` and come last.

use super::super::claim::decided_claims;
use super::super::evidence::Evidence;
use super::super::{Claim, Results, Verdict};
use super::metrics::{SOURCES, STEADY};
use serde_json::{Value, json};

/// Decides a claim; `None` if a value is missing.
type Decide = fn(&Study<'_>) -> Option<Claim>;

/// Claims of the paper, with the sections that state them.
const OF_THE_PAPER: &[(&str, Decide)] = &[
    ("abstract; 1", less_overhead_than_tcp),
    ("3", packet_pairs_mislead),
    ("4.3", long_polls_are_too_long),
    ("1; 4.3", polls_cost_little),
    ("6.2", windows_follow_round_trips),
    ("6.2; 7", throughput_is_as_high),
    ("6.2, table 2", table_2_of_sscop),
    ("6.2, table 2", table_2_of_vegas),
    ("abstract; 6.2; 7", sscop_is_fairer),
    ("6.2, figure 4", the_queue_never_empties),
    ("4; 6.2, figure 4", the_queue_is_held),
    ("6.2", the_queue_leaves_room),
    ("abstract; 7", rate_control_gains_over_credit),
];

/// Claims of this project.
const OF_OURS: &[Decide] = &[
    fair_in_steady_state,
    full_in_steady_state,
    the_queue_recovers,
    nothing_is_lost_in_steady_state,
    long_links_need_time,
    draining_helps_late_starters,
    readings_reach_the_table,
];

/// Returns the claims that the results decide.
pub fn claims(results: &Results) -> Vec<Claim> {
    decided_claims(&Study(results), OF_THE_PAPER, OF_OURS)
}

struct Study<'a>(&'a Results);

/// Experiment with the values of table 2, over the whole run.
const TABLE_2: &str = "table-2/parking-lot";
/// Experiment with this project's metrics of the same runs: by phase and source, and of the queue.
const OURS_TABLE_2: &str = "ours/table-2/parking-lot";
const SSCOP_RATE: &str = "sscop-rate";
const VEGAS: &str = "tcp-vegas";
/// Minimum throughput of a nearly full bottleneck, in percent.
const MIN_FULL_PERCENT: f64 = 98.0;
/// Minimum fairness index of nearly even shares.
const MIN_EVEN_INDEX: f64 = 0.9;

impl Study<'_> {
    fn get(&self, id: &str, scheme: &str, metric: &str, keys: &[(&str, Value)]) -> Option<f64> {
        self.0.value(id, scheme, metric, keys)
    }

    /// Returns a value of table 2, over the whole run.
    fn overall(&self, scheme: &str, metric: &str) -> Option<f64> {
        self.get(TABLE_2, scheme, metric, &[])
    }

    /// Returns the value that the paper prints in table 2.
    fn printed_value(&self, scheme: &str, metric: &str) -> Option<f64> {
        self.0.row(TABLE_2, scheme, metric, &[])?.published()
    }

    fn phase(&self, scheme: &str, metric: &str, phase: &str) -> Option<f64> {
        self.get(OURS_TABLE_2, scheme, metric, &[("phase", json!(phase))])
    }

    fn phases(&self, scheme: &str, metric: &str, phases: &[&str]) -> Option<Vec<f64>> {
        phases.iter().map(|phase| self.phase(scheme, metric, phase)).collect()
    }

    /// Returns a metric in the steady part of each phase.
    fn steady(&self, scheme: &str, metric: &str) -> Option<Vec<f64>> {
        self.phases(scheme, metric, &STEADY)
    }

    /// Returns a metric of each source at 50 Mbit/s, the farthest first.
    fn sources(&self, scheme: &str, metric: &str) -> Option<Vec<f64>> {
        let of = |source: usize| {
            let keys = [("phase", json!(STEADY[1])), ("source", json!(source))];
            self.get(OURS_TABLE_2, scheme, metric, &keys)
        };
        (1..=SOURCES).map(of).collect()
    }
}

fn format_values(values: &[f64], digits: usize) -> String {
    let shown: Vec<String> = values.iter().map(|value| format!("{value:.digits$}")).collect();
    shown.join(", ")
}

/// Returns a claim decided by one condition.
fn single_condition_claim(id: &str, text: &str, holds: bool, evidence: String) -> Option<Claim> {
    Some(Claim::new(id, text, Verdict::from_bool(holds), evidence))
}

fn less_overhead_than_tcp(study: &Study<'_>) -> Option<Claim> {
    let data = |scheme| study.get("ours/cells", scheme, "goodput_percent", &[]);
    let (sscop, vegas) = (data("sscop-rate-cells")?, data("tcp-vegas-cells")?);
    let text = "On ATM, SSCOP has less header overhead than TCP/IP over AAL5, and more goodput";
    single_condition_claim(
        "1a",
        text,
        sscop > vegas,
        format!("goodput is {sscop:.1} % of the link rate, with TCP {vegas:.1} %"),
    )
}

fn packet_pairs_mislead(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for (metric, name, digits) in [("throughput_percent", "throughput", 1), ("fairness_index", "index", 3)] {
        let pairs = study.get("ours/variants", "sscop-rate-packet-pair", metric, &[])?;
        let pattern = study.overall(SSCOP_RATE, metric)?;
        evidence.add(format!("{name} {pattern:.digits$} with the pattern, {pairs:.digits$} with pairs"));
        evidence.require(pattern > pairs, format!("pairs have the higher {name}"));
    }
    Some(
        evidence
            .claim("3a", "Probing with packet pairs is less accurate than with the pattern of two intervals"),
    )
}

fn long_polls_are_too_long(study: &Study<'_>) -> Option<Claim> {
    let used = |scheme| study.get("ours/variants", scheme, "throughput_percent", &[]);
    let (usual, often) = (used("sscop-credit-128")?, used("sscop-credit-128-polled")?);
    let text = "The default poll interval, 750 ms, is too long for such paths; about a round trip, 10 ms, is better (fixed credit of 128)";
    single_condition_claim(
        "4.3a",
        text,
        often > usual,
        format!("{usual:.1} % with 750 ms, {often:.1} % with 10 ms"),
    )
}

fn polls_cost_little(study: &Study<'_>) -> Option<Claim> {
    // At 50 Mbit/s the bottleneck carries control PDUs, and data PDUs of 512 bytes with 508 of data.
    let data: f64 = study.sources(SSCOP_RATE, "rate_mean_mbps")?.iter().sum();
    let carried = 50.0 * study.phase(SSCOP_RATE, "throughput_percent", STEADY[1])? / 100.0;
    let cost = 100.0 * (1.0 - data * 512.0 / 508.0 / carried);
    let text = "A POLL in every round trip costs little (less than 1 % of the bottleneck, at 50 Mbit/s)";
    single_condition_claim(
        "4.3b",
        text,
        cost < 1.0,
        format!("non-data PDUs take {cost:.2} % of {carried:.2} Mbit/s"),
    )
}

fn windows_follow_round_trips(study: &Study<'_>) -> Option<Claim> {
    let windows = study.sources(SSCOP_RATE, "window_mean_pdus")?;
    // Each source is closer to the bottleneck than the previous one.
    let holds = windows.windows(2).all(|pair| pair[0] > 1.05 * pair[1]);
    let evidence = format!(
        "outstanding PDUs of the sources at 50 Mbit/s, the farthest first: {}",
        format_values(&windows, 1)
    );
    let text = "The windows of the sources converge to values that follow their round-trip times (figure 3)";
    single_condition_claim("6.2a", text, holds, evidence)
}

fn throughput_is_as_high(study: &Study<'_>) -> Option<Claim> {
    let (rate, vegas) =
        (study.overall(SSCOP_RATE, "throughput_percent")?, study.overall(VEGAS, "throughput_percent")?);
    // The printed sizes of both are judged with table 2.
    let text = "SSCOP and Vegas have the same throughput (within 1 %), and both nearly fill the link (above 98 %; whole run)";
    let holds = (rate - vegas).abs() < 1.0 && rate > MIN_FULL_PERCENT && vegas > MIN_FULL_PERCENT;
    single_condition_claim("6.2b", text, holds, format!("{SSCOP_RATE} {rate:.1} %, {VEGAS} {vegas:.1} %"))
}

/// Decides a row of table 2. Its sign holds if the throughput is nearly full and the shares are nearly even; its sizes
/// hold within half a unit of the last printed digit.
fn row_of_table_2(study: &Study<'_>, id: &str, scheme: &str, text: &str) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for (metric, name, digits, min, half) in [
        ("throughput_percent", "throughput", 1_usize, MIN_FULL_PERCENT, 0.5),
        ("fairness_index", "index", 4, MIN_EVEN_INDEX, 0.0005),
    ] {
        let (ours, printed) = (study.overall(scheme, metric)?, study.printed_value(scheme, metric)?);
        evidence.add(format!("{name} {ours:.digits$}, printed {printed}"));
        evidence.require(ours > min, format!("the {name} is not above {min}"));
        let what = format!("the {name} is {:+.digits$} off", ours - printed);
        evidence.size((ours - printed).abs() <= half + 1e-9, what);
    }
    Some(evidence.claim(id, text))
}

fn table_2_of_sscop(study: &Study<'_>) -> Option<Claim> {
    row_of_table_2(
        study,
        "6.2c",
        SSCOP_RATE,
        "SSCOP has 99 % and an index of 0.998 over the whole run (table 2)",
    )
}

fn table_2_of_vegas(study: &Study<'_>) -> Option<Claim> {
    row_of_table_2(study, "6.2d", VEGAS, "Vegas has 99 % and an index of 0.984 over the whole run (table 2)")
}

fn sscop_is_fairer(study: &Study<'_>) -> Option<Claim> {
    let (rate, vegas) =
        (study.overall(SSCOP_RATE, "fairness_index")?, study.overall(VEGAS, "fairness_index")?);
    let text = "SSCOP shares more evenly than Vegas (whole run)";
    single_condition_claim("6.2e", text, rate > vegas, format!("index {rate:.4} against {vegas:.4}"))
}

fn the_queue_never_empties(study: &Study<'_>) -> Option<Claim> {
    // The first second begins with an empty queue.
    let phases = ["steady-100", "second-2", "second-3"];
    let min = study.phases(SSCOP_RATE, "queue_min_pdus", &phases)?;
    let text =
        "Once filled, the queue at switch 4 is never empty, through both changes of the rate (figure 4)";
    let holds = min.iter().all(|queue| *queue > 0.0);
    single_condition_claim(
        "6.2f",
        text,
        holds,
        format!("lowest in {}: {} PDUs", phases.join(", "), format_values(&min, 1)),
    )
}

fn the_queue_is_held(study: &Study<'_>) -> Option<Claim> {
    let means = study.steady(SSCOP_RATE, "queue_mean_pdus")?;
    let target = SOURCES as f64 * 3.0;
    let holds = means.iter().all(|queue| *queue <= 1.5 * target && *queue >= target / 1.5);
    let text = "The queue at switch 4 is held near a set value, 5 alpha PDUs (within a factor of 1.5)";
    single_condition_claim(
        "6.2g",
        text,
        holds,
        format!("5 alpha are {target}; means of the steady phases {}", format_values(&means, 1)),
    )
}

fn the_queue_leaves_room(study: &Study<'_>) -> Option<Claim> {
    let (steady, change) =
        (study.steady(SSCOP_RATE, "queue_max_pdus")?, study.phase(SSCOP_RATE, "queue_max_pdus", "second-2")?);
    let losses = study.get(OURS_TABLE_2, SSCOP_RATE, "losses_pdus", &[])?;
    let mut evidence = Evidence::default();
    evidence.add(format!("maxima of the steady phases {} of 128 PDUs", format_values(&steady, 1)));
    evidence
        .require(steady.iter().all(|queue| *queue < 64.0), "the queue exceeds half of the buffer".to_owned());
    evidence.add(format!("{change:.0} after the drop to 50 Mbit/s"));
    evidence.require(losses == 0.0, format!("{losses:.0} PDUs are dropped in the whole run"));
    Some(evidence.claim("6.2h", "The queue stays short, and the free buffer absorbs bursts without loss"))
}

fn rate_control_gains_over_credit(study: &Study<'_>) -> Option<Claim> {
    let of = |id: &str, scheme: &str| {
        let get = |metric| study.get(id, scheme, metric, &[]);
        Some((get("throughput_percent")?, get("fairness_index")?))
    };
    let (rate, index) = of(TABLE_2, SSCOP_RATE)?;
    let mut evidence = Evidence::default();
    evidence.add(format!("{SSCOP_RATE}: {rate:.1} %, {index:.3}"));
    for scheme in [
        "sscop-credit-32",
        "sscop-credit-64",
        "sscop-credit-128",
        "sscop-credit-48-polled",
        "sscop-credit-128-polled",
    ] {
        let (used, shares) = of("ours/variants", scheme)?;
        evidence.add(format!("{scheme}: {used:.1} %, {shares:.3}"));
        evidence.require(used < rate && shares < index, format!("{scheme} is not worse in one of them"));
    }
    let text = "With rate control SSCOP has more throughput and fairness than with any fixed credit tested";
    Some(evidence.claim("7a", text))
}

fn fair_in_steady_state(study: &Study<'_>) -> Option<Claim> {
    let (vegas, rate) = (study.steady(VEGAS, "fairness_index")?, study.steady(SSCOP_RATE, "fairness_index")?);
    let holds = rate.iter().zip(&vegas).all(|(rate, vegas)| *rate >= 0.99 && rate > vegas);
    let evidence = format!("{} against {}", format_values(&rate, 4), format_values(&vegas, 4));
    let text =
        "In the steady part of each phase SSCOP has an index of at least 0.99, and above that of Vegas";
    single_condition_claim("ours-1", text, holds, evidence)
}

fn full_in_steady_state(study: &Study<'_>) -> Option<Claim> {
    let (vegas, rate) =
        (study.steady(VEGAS, "throughput_percent")?, study.steady(SSCOP_RATE, "throughput_percent")?);
    let holds = vegas.iter().chain(&rate).all(|used| *used >= 98.0);
    let evidence =
        format!("{SSCOP_RATE}: {} %; {VEGAS}: {} %", format_values(&rate, 1), format_values(&vegas, 1));
    let text = "In the steady part of each phase both use at least 98 % of the bottleneck";
    single_condition_claim("ours-2", text, holds, evidence)
}

fn the_queue_recovers(study: &Study<'_>) -> Option<Claim> {
    let recovery = study.get(OURS_TABLE_2, SSCOP_RATE, "queue_recovery_s", &[])?;
    let evidence = format!("it stays below 30 PDUs from {recovery:.3} s after the drop");
    let text = "After the drop to 50 Mbit/s the queue recovers within half a second";
    single_condition_claim("ours-3", text, recovery < 0.5, evidence)
}

fn nothing_is_lost_in_steady_state(study: &Study<'_>) -> Option<Claim> {
    let losses = study.steady(SSCOP_RATE, "losses_pdus")?;
    let all = study.get(OURS_TABLE_2, SSCOP_RATE, "losses_pdus", &[])?;
    let evidence = format!("{} in the phases, {all:.0} in the whole run", format_values(&losses, 0));
    let text = "No PDU is lost in steady state";
    single_condition_claim("ours-4", text, losses.iter().all(|lost| *lost == 0.0), evidence)
}

fn long_links_need_time(study: &Study<'_>) -> Option<Claim> {
    let get = |metric| {
        study.get("ours/30-s", SSCOP_RATE, metric, &[("link_ms", json!("5")), ("phase", json!("last-third"))])
    };
    let (index, used, losses) = (get("fairness_index")?, get("throughput_percent")?, get("losses_pdus")?);
    let evidence = format!("in the last 10 s {used:.1} %, {index:.4}, {losses:.0} losses");
    let text = "With 5 ms per link, sources share the bottleneck fairly after 30 s (98 %, 0.99)";
    single_condition_claim("ours-5", text, index >= 0.99 && used >= 98.0, evidence)
}

fn readings_reach_the_table(study: &Study<'_>) -> Option<Claim> {
    let (mut reach, mut evidence) = (true, Vec::new());
    for reading in ["reading-1", "reading-2", "reading-3", "reading-4"] {
        let get = |metric| study.get("ours/readings", reading, metric, &[]);
        let (used, index, losses) = (get("throughput_percent")?, get("fairness_index")?, get("losses_pdus")?);
        reach &= (used - 99.0).abs() <= 1.0 && (index - 0.998).abs() <= 0.002;
        evidence.push(format!("{reading}: {used:.1} %, {index:.4}, {losses:.0} losses"));
    }
    let text = "Four readings of what the paper leaves open reach 99 % and an index of 0.998 over the whole run, within 1 % and 0.002";
    single_condition_claim("ours-7", text, reach, evidence.join("; "))
}

fn draining_helps_late_starters(study: &Study<'_>) -> Option<Claim> {
    let index =
        |scheme| study.get("ours/late-start", scheme, "fairness_index", &[("phase", json!("last-third"))]);
    let (without, with) = (index(SSCOP_RATE)?, index("sscop-rate-drain")?);
    let evidence = format!("index of the last third {with:.3} with the drain, {without:.3} without");
    let text = "Periodic draining of the queue limits a source that starts late to its fair share";
    single_condition_claim("ours-6", text, with > without && with >= 0.97, evidence)
}

#[cfg(test)]
mod tests {
    use super::super::super::{Cell, ExperimentResults, Row};
    use super::*;

    /// Returns results with these rows: experiment, scheme, metric, phase, value.
    fn results(rows: &[(&str, &str, &str, Option<&str>, f64)]) -> Results {
        let mut results =
            Results { paper: "chen99", complete: true, experiments: Vec::new(), claims: Vec::new() };
        for &(id, scheme, metric, phase, value) in rows {
            let cell = Cell::unpublished(scheme, metric);
            let cell = phase.map_or(cell.clone(), |phase| cell.with("phase", phase));
            let row = Row::new(cell, Some(&[value]));
            results.experiments.push(ExperimentResults {
                id: id.to_owned(),
                title: String::new(),
                rows: vec![row],
            });
        }
        // Merges rows by experiment id.
        let mut merged: Vec<ExperimentResults> = Vec::new();
        for of in results.experiments.drain(..) {
            match merged.iter_mut().find(|known| known.id == of.id) {
                Some(known) => known.rows.extend(of.rows),
                None => merged.push(of),
            }
        }
        Results { experiments: merged, ..results }
    }

    fn steady(metric: &'static str, scheme: &'static str, values: [f64; 3]) -> Vec<TestRow> {
        STEADY
            .iter()
            .zip(values)
            .map(|(phase, value)| (OURS_TABLE_2, scheme, metric, Some(*phase), value))
            .collect()
    }

    type TestRow = (&'static str, &'static str, &'static str, Option<&'static str>, f64);

    fn holds(rows: &[TestRow], id: &str) -> Option<bool> {
        claims(&results(rows)).into_iter().find(|claim| claim.id == id).map(|claim| claim.holds())
    }

    /// Returns rows of an experiment with several schemes.
    fn variants(metric: &'static str, values: &[(&'static str, f64)]) -> Vec<TestRow> {
        values.iter().map(|&(scheme, value)| ("ours/variants", scheme, metric, None, value)).collect()
    }

    /// Asserts that a claim holds for the first value and fails for the second.
    fn decides(id: &str, rows: impl Fn(f64) -> Vec<TestRow>, good: f64, bad: f64) {
        assert_eq!((holds(&rows(good), id), holds(&rows(bad), id)), (Some(true), Some(false)), "{id}");
    }

    /// Each claim holds for values that confirm it, fails when one of them changes, and is left out without them.
    #[test]
    fn claims_can_fail() {
        let overall = |scheme, metric, value| (TABLE_2, scheme, metric, None, value);
        let cells = |sscop| {
            let row = |scheme, value| ("ours/cells", scheme, "goodput_percent", None, value);
            vec![row("sscop-rate-cells", sscop), row("tcp-vegas-cells", 79.0)]
        };
        decides("1a", cells, 86.0, 78.0);
        let pairs = |index| {
            let mut rows = vec![
                overall(SSCOP_RATE, "throughput_percent", 98.8),
                overall(SSCOP_RATE, "fairness_index", 0.986),
            ];
            rows.extend(variants("throughput_percent", &[("sscop-rate-packet-pair", 95.5)]));
            rows.extend(variants("fairness_index", &[("sscop-rate-packet-pair", index)]));
            rows
        };
        decides("3a", pairs, 0.9, 0.99);
        let polls = |often| {
            variants("throughput_percent", &[("sscop-credit-128", 65.0), ("sscop-credit-128-polled", often)])
        };
        decides("4.3a", polls, 97.0, 60.0);
        let throughput = |vegas| {
            vec![overall(SSCOP_RATE, "throughput_percent", 98.8), overall(VEGAS, "throughput_percent", vegas)]
        };
        decides("6.2b", throughput, 98.5, 97.0);
        let fairness = |vegas| {
            vec![overall(SSCOP_RATE, "fairness_index", 0.99), overall(VEGAS, "fairness_index", vegas)]
        };
        decides("6.2e", fairness, 0.95, 0.995);
        let empties = |min| {
            let row = |phase, value| (OURS_TABLE_2, SSCOP_RATE, "queue_min_pdus", Some(phase), value);
            vec![row("steady-100", 5.0), row("second-2", 3.0), row("second-3", min)]
        };
        decides("6.2f", empties, 1.0, 0.0);
        decides("6.2g", |last| steady("queue_mean_pdus", SSCOP_RATE, [18.0, 19.0, last]), 22.0, 40.0);
        let room = |losses| {
            let mut rows = steady("queue_max_pdus", SSCOP_RATE, [30.0, 30.0, 30.0]);
            rows.push((OURS_TABLE_2, SSCOP_RATE, "queue_max_pdus", Some("second-2"), 100.0));
            rows.push((OURS_TABLE_2, SSCOP_RATE, "losses_pdus", None, losses));
            rows
        };
        decides("6.2h", room, 0.0, 80.0);
        let credit = |used| {
            let mut rows = vec![
                overall(SSCOP_RATE, "throughput_percent", 99.0),
                overall(SSCOP_RATE, "fairness_index", 0.99),
            ];
            for scheme in [
                "sscop-credit-32",
                "sscop-credit-64",
                "sscop-credit-128",
                "sscop-credit-48-polled",
                "sscop-credit-128-polled",
            ] {
                rows.extend(variants("throughput_percent", &[(scheme, used)]));
                rows.extend(variants("fairness_index", &[(scheme, 0.9)]));
            }
            rows
        };
        decides("7a", credit, 96.0, 99.5);
        let phases = |vegas| {
            let rows = [
                steady("fairness_index", SSCOP_RATE, [0.995, 0.999, 0.991]),
                steady("fairness_index", VEGAS, [0.94, 0.97, vegas]),
            ];
            rows.concat()
        };
        decides("ours-1", phases, 0.98, 0.995);
        let full = |last| {
            let rows = [
                steady("throughput_percent", SSCOP_RATE, [99.0, 98.0, 99.0]),
                steady("throughput_percent", VEGAS, [99.0, 99.0, last]),
            ];
            rows.concat()
        };
        decides("ours-2", full, 98.5, 97.9);
        decides(
            "ours-3",
            |after| vec![(OURS_TABLE_2, SSCOP_RATE, "queue_recovery_s", None, after)],
            0.2,
            0.9,
        );
        let losses = |last| {
            let mut rows = steady("losses_pdus", SSCOP_RATE, [0.0, 0.0, last]);
            rows.push((OURS_TABLE_2, SSCOP_RATE, "losses_pdus", None, 80.0));
            rows
        };
        decides("ours-4", losses, 0.0, 0.1);
        let late = |with| {
            let row =
                |scheme, value| ("ours/late-start", scheme, "fairness_index", Some("last-third"), value);
            vec![row(SSCOP_RATE, 0.9), row("sscop-rate-drain", with)]
        };
        decides("ours-6", late, 0.99, 0.95);
        let readings = |last| {
            let numbered =
                [("reading-1", 0.9981), ("reading-2", 0.998), ("reading-3", 0.997), ("reading-4", last)];
            let rows = numbered.map(|(reading, index)| {
                let row = |metric, value| ("ours/readings", reading, metric, None, value);
                vec![row("throughput_percent", 99.4), row("fairness_index", index), row("losses_pdus", 40.0)]
            });
            rows.concat()
        };
        decides("ours-7", readings, 0.9985, 0.995);
        assert_eq!(claims(&results(&[])), []);
    }

    /// Both lines of table 2 are judged to half a unit of the last printed digit.
    #[test]
    fn table_2_is_judged_by_its_digits() {
        for (scheme, id, printed, near, far) in
            [(SSCOP_RATE, "6.2c", 0.998, 0.9976, 0.9974), (VEGAS, "6.2d", 0.984, 0.9844, 0.943)]
        {
            let verdict = |index: f64| {
                let row = |metric: &str, value: f64, printed: f64| {
                    let cell = Cell { published: Some(json!(printed)), ..Cell::unpublished(scheme, metric) };
                    Row::new(cell, Some(&[value]))
                };
                let rows = vec![row("throughput_percent", 98.6, 99.0), row("fairness_index", index, printed)];
                let of = ExperimentResults { id: TABLE_2.to_owned(), title: String::new(), rows };
                let results =
                    Results { paper: "chen99", complete: true, experiments: vec![of], claims: Vec::new() };
                claims(&results).into_iter().find(|claim| claim.id == id).map(|claim| claim.verdict)
            };
            assert_eq!(verdict(near), Some(Verdict::Holds), "{id}");
            assert_eq!(verdict(far), Some(Verdict::SignOnly), "{id}");
            assert_eq!(verdict(0.85), Some(Verdict::Fails), "{id}");
        }
    }

    /// The paper's claims have a section, ours come last and have none.
    #[test]
    fn claims_of_the_paper_have_their_sections() {
        let rows = [
            (TABLE_2, SSCOP_RATE, "fairness_index", None, 0.99),
            (TABLE_2, VEGAS, "fairness_index", None, 0.95),
            (OURS_TABLE_2, SSCOP_RATE, "queue_recovery_s", None, 0.2),
        ];
        let claims = claims(&results(&rows));
        let shown: Vec<(&str, &str, bool)> =
            claims.iter().map(|of| (of.id.as_str(), of.section.as_str(), of.ours)).collect();
        assert_eq!(shown, [("6.2e", "abstract; 6.2; 7", false), ("ours-3", "", true)]);
    }

    #[test]
    fn windows_and_long_runs_are_identified_by_their_keys() {
        let of_sources = |metric: &str, values: [f64; 5]| -> Vec<Row> {
            let rows = (1..).zip(values).map(|(source, value)| {
                let cell =
                    Cell::unpublished(SSCOP_RATE, metric).with("phase", STEADY[1]).with("source", source);
                Row::new(cell, Some(&[value]))
            });
            rows.collect()
        };
        let results = |id: &str, rows: Vec<Row>| {
            let of = ExperimentResults { id: id.to_owned(), title: String::new(), rows };
            Results { paper: "chen99", complete: true, experiments: vec![of], claims: Vec::new() }
        };
        let holds = |results: &Results, id: &str| {
            claims(results).into_iter().find(|claim| claim.id == id).map(|claim| claim.holds())
        };
        let window =
            |last| results(OURS_TABLE_2, of_sources("window_mean_pdus", [200.0, 160.0, 120.0, 80.0, last]));
        assert_eq!((holds(&window(40.0), "6.2a"), holds(&window(79.0), "6.2a")), (Some(true), Some(false)));
        let polls = |each| {
            let mut rows = of_sources("rate_mean_mbps", [each; 5]);
            let cell = Cell::unpublished(SSCOP_RATE, "throughput_percent").with("phase", STEADY[1]);
            rows.push(Row::new(cell, Some(&[100.0])));
            results(OURS_TABLE_2, rows)
        };
        assert_eq!((holds(&polls(9.9), "4.3b"), holds(&polls(9.7), "4.3b")), (Some(true), Some(false)));
        let long = |index: f64| {
            let row = |metric: &str, value: f64| {
                let cell =
                    Cell::unpublished(SSCOP_RATE, metric).with("link_ms", "5").with("phase", "last-third");
                Row::new(cell, Some(&[value]))
            };
            let rows =
                vec![row("fairness_index", index), row("throughput_percent", 99.0), row("losses_pdus", 0.0)];
            results("ours/30-s", rows)
        };
        assert_eq!((holds(&long(0.995), "ours-5"), holds(&long(0.9), "ours-5")), (Some(true), Some(false)));
    }
}
