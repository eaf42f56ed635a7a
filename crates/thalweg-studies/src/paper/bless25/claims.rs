//! Claims of Bless, Lihotzki and Zitterbart (2025), decided by our runs.

use super::super::evidence::Evidence;
use super::super::{Claim, Results};
use super::metrics::{EVEN, LONGER, MEAN, P50, P90, PROBE_PEAK, SHARE, START_PEAK};
use serde_json::{Value, json};

/// Returns the claims that the results decide.
pub fn claims(results: &Results) -> Vec<Claim> {
    let study = Study(results);
    let all: [fn(&Study<'_>) -> Option<Claim>; 8] = [
        one_flow_makes_a_queue_of_a_round_trip,
        two_flows_keep_one_half_of_the_time,
        more_flows_make_more,
        latecomers_keep_it_longer,
        shares_take_long_to_even,
        longer_round_trips_prevail,
        cubic_is_not_treated_fairly,
        deep_buffers_are_not_filled,
    ];
    all.iter().filter_map(|claim| claim(&study)).collect()
}

struct Study<'a>(&'a Results);

const BBR: &str = "bbr";
const ROUND_TRIPS: [u32; 3] = [10, 20, 50];

impl Study<'_> {
    fn get(&self, id: &str, scheme: &str, metric: &str, keys: &[(&str, Value)]) -> Option<f64> {
        self.0.value(id, scheme, metric, keys)
    }
}

fn one_flow_makes_a_queue_of_a_round_trip(study: &Study<'_>) -> Option<Claim> {
    let peak = |metric| study.get("single/probes", BBR, metric, &[]);
    let mut evidence = Evidence::default();
    for (name, metric) in [("at the start", START_PEAK), ("of probes", PROBE_PEAK)] {
        let peak = peak(metric)?;
        evidence.add(format!("{name} {peak:.2} round trips"));
        evidence.require((0.7..=1.3).contains(&peak), name.to_owned());
    }
    Some(
        evidence.claim("1", "The queueing delay of a single flow peaks at about one round trip (0.7 to 1.3)"),
    )
}

fn two_flows_keep_one_half_of_the_time(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for buffer in [2, 8] {
        for rtt in ROUND_TRIPS {
            let keys = [("buffer_bdp", json!(buffer)), ("rtt_ms", json!(rtt))];
            let median = study.get("two/100-Mbit", BBR, P50, &keys)?;
            evidence.add(format!("{rtt} ms, {buffer} BDP: {median:.2}"));
            evidence.require(median >= 0.9, format!("{median:.2} at {rtt} ms and {buffer} BDP"));
        }
    }
    let text = "With two flows and buffers of 2 and 8 BDP the median queueing delay is about one round trip (at least 0.9)";
    Some(evidence.claim("2", text))
}

fn more_flows_make_more(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for rtt in ROUND_TRIPS {
        let median = |flows: u32| {
            study.get("many/100-Mbit", BBR, P50, &[("flows", json!(flows)), ("rtt_ms", json!(rtt))])
        };
        let medians: Vec<f64> = [4, 8, 16, 32].into_iter().map(median).collect::<Option<_>>()?;
        let shown: Vec<String> = medians.iter().map(|median| format!("{median:.2}")).collect();
        evidence.add(format!("{rtt} ms: {}", shown.join(", ")));
        evidence.require(medians.iter().all(|median| *median > 1.0), format!("a median below 1 at {rtt} ms"));
        evidence.require(medians[3] > medians[0], format!("32 flows cause at most 4 at {rtt} ms"));
    }
    Some(
        evidence.claim("3", "With 4 or more flows the median is above one round trip, with 32 flows above 4"),
    )
}

fn latecomers_keep_it_longer(study: &Study<'_>) -> Option<Claim> {
    let mean = |late: u32, from: u32| {
        study.get("latecomer/queue", BBR, MEAN, &[("late_s", json!(late)), ("from_s", json!(from))])
    };
    let mut evidence = Evidence::default();
    for late in [1, 2] {
        let (first, last, together) = (mean(late, 0)?, mean(late, 40)?, mean(0, 0)?);
        evidence.add(format!("{late} s late: {first:.2}, after 40 s {last:.2}; together {together:.2}"));
        evidence.require(
            first > 1.1 * together,
            format!("no longer than with simultaneous starts, {late} s late"),
        );
        evidence.require(first > last, format!("it does not decrease, {late} s late"));
    }
    let text = "In the first 10 s of a late flow the queue is longer than with simultaneous starts, and longer than 40 s later";
    Some(evidence.claim("4", text))
}

fn shares_take_long_to_even(study: &Study<'_>) -> Option<Claim> {
    let after = study.get("latecomer/shares", BBR, EVEN, &[("late_s", json!(2))])?;
    let mut evidence = Evidence::default();
    evidence.add(format!("{after:.1} s"));
    evidence.require(after >= 5.0, "the shares are equal at once".to_owned());
    Some(evidence.claim("5", "A flow that starts 2 s later needs more than 5 s to reach its fair share"))
}

fn longer_round_trips_prevail(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for longer in [20, 50] {
        let keys = [("buffer_bdp", json!(8)), ("longer_ms", json!(longer))];
        let ratio = study.get("round-trips/shares", BBR, LONGER, &keys)?;
        evidence.add(format!("{longer} ms over 10 ms: {ratio:.2}"));
        evidence.require(ratio > 1.1, format!("{ratio:.2} at {longer} ms"));
    }
    Some(evidence.claim(
        "6",
        "With a buffer of 8 BDP the flow with the longer round trip gets more throughput (at least 1.1 times)",
    ))
}

fn cubic_is_not_treated_fairly(study: &Study<'_>) -> Option<Claim> {
    let share = |buffer: f64| {
        let keys = [("buffer_bdp", json!(buffer))];
        study.get("cubic/shares", "bbr beside cubic", SHARE, &keys)
    };
    let mut evidence = Evidence::default();
    let mut worst: f64 = 0.0;
    for buffer in [0.8, 1.0, 2.0, 8.0] {
        let share = share(buffer)?;
        evidence.add(format!("{buffer} BDP: {share:.0} %"));
        worst = worst.max((share - 50.0).abs());
    }
    evidence.require(worst > 10.0, "shares are even".to_owned());
    Some(
        evidence.claim(
            "7",
            "Beside CUBIC the shares are unfair: one flow gets more than 60 % at some buffer size",
        ),
    )
}

fn deep_buffers_are_not_filled(study: &Study<'_>) -> Option<Claim> {
    let cubic = study.get("cubic/queue", "cubic", P90, &[])?;
    let keys = [("rate_mbps", json!(100)), ("rtt_ms", json!(50))];
    let bbr = study.get("single/queue", BBR, P90, &keys)?;
    let mut evidence = Evidence::default();
    evidence.add(format!("90th percentile of queueing delay: {bbr:.2} round trips, with CUBIC {cubic:.2}"));
    evidence.require(bbr < 1.0, "BBR fills it".to_owned());
    evidence.require(cubic > 6.0, "CUBIC does not".to_owned());
    Some(evidence.claim("8", "A CUBIC flow fills a buffer of 8 BDP; a BBR flow does not"))
}

#[cfg(test)]
mod tests {
    use super::super::super::{Cell, ExperimentResults, Row};
    use super::*;

    type Keys = &'static [(&'static str, f64)];

    /// Returns results with these rows: experiment, scheme, metric, keys, value.
    fn results(rows: &[(&str, &str, &str, Keys, f64)]) -> Results {
        let mut experiments: Vec<ExperimentResults> = Vec::new();
        for &(id, scheme, metric, keys, value) in rows {
            let cell = keys
                .iter()
                .fold(Cell::unpublished(scheme, metric), |cell, (key, value)| cell.with(key, *value));
            let row = Row::new(cell, Some(&[value]));
            match experiments.iter_mut().find(|of| of.id == id) {
                Some(of) => of.rows.push(row),
                None => {
                    experiments.push(ExperimentResults {
                        id: id.to_owned(),
                        title: String::new(),
                        rows: vec![row],
                    });
                }
            }
        }
        Results { paper: "bless25", complete: true, experiments, claims: Vec::new() }
    }

    fn holds(id: &str, rows: &[(&str, &str, &str, Keys, f64)]) -> Option<bool> {
        claims(&results(rows)).into_iter().find(|claim| claim.id == id).map(|claim| claim.holds())
    }

    /// Each claim holds for values that confirm it, and fails when one of them changes.
    #[test]
    fn claims_can_fail() {
        let peaks = |probe| {
            [
                ("single/probes", BBR, START_PEAK, &[] as Keys, 1.0),
                ("single/probes", BBR, PROBE_PEAK, &[], probe),
            ]
        };
        assert_eq!((holds("1", &peaks(0.85)), holds("1", &peaks(0.25))), (Some(true), Some(false)));

        let two = |last| {
            const KEYS: [Keys; 6] = [
                &[("buffer_bdp", 2.0), ("rtt_ms", 10.0)],
                &[("buffer_bdp", 2.0), ("rtt_ms", 20.0)],
                &[("buffer_bdp", 2.0), ("rtt_ms", 50.0)],
                &[("buffer_bdp", 8.0), ("rtt_ms", 10.0)],
                &[("buffer_bdp", 8.0), ("rtt_ms", 20.0)],
                &[("buffer_bdp", 8.0), ("rtt_ms", 50.0)],
            ];
            let values = [1.2, 1.2, 1.1, 1.2, 1.2, last];
            KEYS.iter()
                .zip(values)
                .map(|(keys, value)| ("two/100-Mbit", BBR, P50, *keys, value))
                .collect::<Vec<_>>()
        };
        assert_eq!((holds("2", &two(1.0)), holds("2", &two(0.5))), (Some(true), Some(false)));

        let many = |min: f64, max: f64| {
            const KEYS: [[Keys; 4]; 3] = [
                [
                    &[("flows", 4.0), ("rtt_ms", 10.0)],
                    &[("flows", 8.0), ("rtt_ms", 10.0)],
                    &[("flows", 16.0), ("rtt_ms", 10.0)],
                    &[("flows", 32.0), ("rtt_ms", 10.0)],
                ],
                [
                    &[("flows", 4.0), ("rtt_ms", 20.0)],
                    &[("flows", 8.0), ("rtt_ms", 20.0)],
                    &[("flows", 16.0), ("rtt_ms", 20.0)],
                    &[("flows", 32.0), ("rtt_ms", 20.0)],
                ],
                [
                    &[("flows", 4.0), ("rtt_ms", 50.0)],
                    &[("flows", 8.0), ("rtt_ms", 50.0)],
                    &[("flows", 16.0), ("rtt_ms", 50.0)],
                    &[("flows", 32.0), ("rtt_ms", 50.0)],
                ],
            ];
            let of = |keys: &[Keys; 4]| {
                keys.iter()
                    .zip([min, 1.5, 1.6, max])
                    .map(|(keys, value)| ("many/100-Mbit", BBR, P50, *keys, value))
                    .collect::<Vec<_>>()
            };
            KEYS.iter().flat_map(of).collect::<Vec<_>>()
        };
        assert_eq!(holds("3", &many(1.2, 2.0)), Some(true));
        assert_eq!((holds("3", &many(0.9, 2.0)), holds("3", &many(1.4, 1.3))), (Some(false), Some(false)));

        let late = |first: f64, last: f64| {
            [
                ("latecomer/queue", BBR, MEAN, &[("late_s", 0.0), ("from_s", 0.0)] as Keys, 0.95),
                ("latecomer/queue", BBR, MEAN, &[("late_s", 1.0), ("from_s", 0.0)], first),
                ("latecomer/queue", BBR, MEAN, &[("late_s", 1.0), ("from_s", 40.0)], last),
                ("latecomer/queue", BBR, MEAN, &[("late_s", 2.0), ("from_s", 0.0)], first),
                ("latecomer/queue", BBR, MEAN, &[("late_s", 2.0), ("from_s", 40.0)], last),
            ]
        };
        assert_eq!(holds("4", &late(1.2, 1.0)), Some(true));
        assert_eq!((holds("4", &late(1.0, 0.9)), holds("4", &late(1.2, 1.3))), (Some(false), Some(false)));

        let even = |after| [("latecomer/shares", BBR, EVEN, &[("late_s", 2.0)] as Keys, after)];
        assert_eq!((holds("5", &even(17.0)), holds("5", &even(2.0))), (Some(true), Some(false)));

        let longer = |ratio| {
            [
                ("round-trips/shares", BBR, LONGER, &[("buffer_bdp", 8.0), ("longer_ms", 20.0)] as Keys, 2.0),
                ("round-trips/shares", BBR, LONGER, &[("buffer_bdp", 8.0), ("longer_ms", 50.0)], ratio),
            ]
        };
        assert_eq!((holds("6", &longer(2.0)), holds("6", &longer(1.0))), (Some(true), Some(false)));

        let shares = |first: f64| {
            [
                ("cubic/shares", "bbr beside cubic", SHARE, &[("buffer_bdp", 0.8)] as Keys, first),
                ("cubic/shares", "bbr beside cubic", SHARE, &[("buffer_bdp", 1.0)], 55.0),
                ("cubic/shares", "bbr beside cubic", SHARE, &[("buffer_bdp", 2.0)], 50.0),
                ("cubic/shares", "bbr beside cubic", SHARE, &[("buffer_bdp", 8.0)], 45.0),
            ]
        };
        assert_eq!((holds("7", &shares(80.0)), holds("7", &shares(52.0))), (Some(true), Some(false)));

        let filled = |bbr: f64, cubic: f64| {
            [
                ("cubic/queue", "cubic", P90, &[] as Keys, cubic),
                ("single/queue", BBR, P90, &[("rate_mbps", 100.0), ("rtt_ms", 50.0)], bbr),
            ]
        };
        assert_eq!(holds("8", &filled(0.4, 7.8)), Some(true));
        assert_eq!(
            (holds("8", &filled(6.0, 7.8)), holds("8", &filled(0.4, 2.0))),
            (Some(false), Some(false))
        );
        assert_eq!(claims(&results(&[])), []);
    }
}
