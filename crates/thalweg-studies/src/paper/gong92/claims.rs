//! The claims of the report, decided by our runs. A claim whose experiments were not run is left out.

use super::super::evidence::Evidence;
use super::super::{Claim, Results};
use super::metrics::{EFFICIENCY, MAXIMUM};
use serde_json::json;

/// The loss probabilities of the figures.
const LOSSES: [f64; 5] = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1];
/// The buffers that are smaller than the window, in w_a.
const BUFFERS: [f64; 3] = [0.25, 0.5, 1.0];
/// "Close to the maximum" and "nearly ideal", as shares.
const CLOSE: f64 = 0.95;
/// The most by which the analysis may lie above the simulation, in efficiency.
const TRACKS: f64 = 0.05;
/// The most by which the analysis may lie below the simulation, where both are all but ideal and the ends of a run blur
/// the simulation's efficiency.
const NOISE: f64 = 0.005;
/// The difference that a comparison of two simulated efficiencies allows for chance.
const CHANCE: f64 = 0.01;

/// The claims that the results decide.
pub fn claims(results: &Results) -> Vec<Claim> {
    let study = Study(results);
    let all: [fn(&Study<'_>) -> Option<Claim>; 11] = [
        one_round_trip_is_enough,
        two_and_a_half_are_nearly_ideal,
        analysis_tracks_simulation,
        a_window_beyond_the_buffer_wins,
        seventy_points,
        hard_beats_soft,
        soft_falls_most_at_half,
        hard_waits_less,
        hard_waits_less_in_long_runs,
        soft_stays_stuck,
        firm_never_does,
    ];
    let mut claims: Vec<Claim> = all.iter().filter_map(|claim| claim(&study)).collect();
    claims.extend(larger_products(&study));
    claims
}

struct Study<'a>(&'a Results);

impl Study<'_> {
    /// Efficiency with an unlimited buffer.
    fn window(&self, id: &str, scheme: &str, p: f64, window: u32) -> Option<f64> {
        self.0.value(id, scheme, EFFICIENCY, &[("p", json!(p)), ("window_segments", json!(window))])
    }

    /// A metric with a buffer in w_a.
    fn buffer(&self, id: &str, scheme: &str, metric: &str, p: f64, buffer: f64) -> Option<f64> {
        self.0.value(id, scheme, metric, &[("p", json!(p)), ("buffer_over_w_a", json!(buffer))])
    }
}

/// A claim of several comparisons: those that bear it out are its evidence, the others speak against it.
fn decide(id: &str, text: &str, parts: &[(bool, String)]) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for (holds, said) in parts {
        if *holds {
            evidence.say(said.clone());
        }
        evidence.must(*holds, said.clone());
    }
    (!parts.is_empty()).then(|| evidence.claim(id, text))
}

fn one_round_trip_is_enough(study: &Study<'_>) -> Option<Claim> {
    let part = |p| {
        let reached = study.window("ours/figure-14", "two-level", p, 25)?;
        Some((reached > CLOSE * (1.0 - p), format!("p {p}: {reached:.3}")))
    };
    let text = "for p up to 1e-4 a window of 1 + w_a reaches close to the maximum efficiency (0.95 of 1 - p)";
    decide("1", text, &[1e-5, 1e-4].into_iter().map(part).collect::<Option<Vec<_>>>()?)
}

fn two_and_a_half_are_nearly_ideal(study: &Study<'_>) -> Option<Claim> {
    let part = |p| {
        let reached = study.window("ours/figure-14", "two-level", p, 58)?;
        Some((reached > CLOSE * (1.0 - p), format!("p {p}: {reached:.3}")))
    };
    let text = "for p up to 1e-2 a window of 2.5 w_a is nearly ideal (0.95 of 1 - p)";
    decide("2", text, &[1e-5, 1e-4, 1e-3, 1e-2].into_iter().map(part).collect::<Option<Vec<_>>>()?)
}

fn analysis_tracks_simulation(study: &Study<'_>) -> Option<Claim> {
    let mut parts = Vec::new();
    for p in [1e-5, 1e-4, 1e-3, 1e-2] {
        for window in [35, 46, 58] {
            let simulated = study.window("ours/figure-14", "two-level", p, window)?;
            let analysis = study.window("ours/figure-14", "analysis", p, window)?;
            let above = analysis - simulated;
            parts.push((
                (-NOISE..TRACKS).contains(&above),
                format!("p {p}, W {window}: {analysis:.3} over {simulated:.3}"),
            ));
        }
    }
    let text = format!(
        "for p up to 1e-2 and windows above w_a + 1 the analysis (its third regime corrected) lies above the simulation \
         by less than {TRACKS}, or below it by no more than {NOISE}"
    );
    decide("3", &text, &parts)
}

fn a_window_beyond_the_buffer_wins(study: &Study<'_>) -> Option<Claim> {
    let mut parts = Vec::new();
    for buffer in BUFFERS {
        for p in LOSSES {
            let hard = study.buffer("ours/figure-17", "hard-ack-window-2.5wa", EFFICIENCY, p, buffer)?;
            let equal = study.buffer("ours/figure-17", "window-equal-to-buffer", EFFICIENCY, p, buffer)?;
            parts.push((hard > equal, format!("{buffer} w_a, p {p}: {hard:.3} against {equal:.3}")));
        }
    }
    let text = "advertising 2.5 w_a over a smaller buffer with hard ACK beats a window equal to the buffer at all losses";
    decide("4", text, &parts)
}

fn seventy_points(study: &Study<'_>) -> Option<Claim> {
    let of = |scheme| study.buffer("ours/figure-17", scheme, EFFICIENCY, 1e-5, 0.25);
    let gain = of("hard-ack-window-2.5wa")? - of("window-equal-to-buffer")?;
    let text = "at a buffer of 0.25 w_a and p = 1e-5 the gain is more than 70 points of efficiency";
    decide("4a", text, &[(gain > 0.7, format!("{:.1} points", 100.0 * gain))])
}

fn hard_beats_soft(study: &Study<'_>) -> Option<Claim> {
    let of = |scheme, p, buffer| study.buffer("ours/figure-18", scheme, EFFICIENCY, p, buffer);
    let mut parts = Vec::new();
    for p in LOSSES {
        for buffer in BUFFERS {
            let (hard, soft) = (of("hard-ack", p, buffer)?, of("soft-ack", p, buffer)?);
            // Near 1e-1 they come together.
            let margin = if p < 0.05 { 0.0 } else { -CHANCE };
            parts.push((hard - soft > margin, format!("{buffer} w_a, p {p}: {hard:.3} against {soft:.3}")));
        }
        let (hard, soft) = (of("hard-ack", p, 2.5)?, of("soft-ack", p, 2.5)?);
        parts.push(((hard - soft).abs() < 1e-9, format!("2.5 w_a, p {p}: equal at {hard:.3}")));
    }
    let text = format!(
        "hard ACK beats soft ACK where the buffer is smaller than the window (at p = 0.1 it may be behind by {CHANCE}), and \
         equals it otherwise"
    );
    decide("5", &text, &parts)
}

fn soft_falls_most_at_half(study: &Study<'_>) -> Option<Claim> {
    let part = |p| {
        let of = |buffer| study.buffer("ours/figure-18", "soft-ack", EFFICIENCY, p, buffer);
        let (full, one, half, quarter) = (of(2.5)?, of(1.0)?, of(0.5)?, of(0.25)?);
        let (first, second, third) = (full - one, one - half, half - quarter);
        Some((
            second > first && second > third,
            format!("p {p}: {first:.2} to 1.0 w_a, {second:.2} to 0.5, {third:.2} to 0.25"),
        ))
    };
    let text = "soft ACK's largest step down is from 1.0 to 0.5 w_a (for p up to 1e-3)";
    decide("5a", text, &[1e-5, 1e-4, 1e-3].into_iter().map(part).collect::<Option<Vec<_>>>()?)
}

fn hard_waits_less(study: &Study<'_>) -> Option<Claim> {
    let mut parts = Vec::new();
    for p in [1e-5, 1e-3, 1e-2] {
        for buffer in BUFFERS {
            let of = |scheme| study.buffer("ours/figure-19", scheme, MAXIMUM, p, buffer);
            let (hard, soft) = (of("hard-ack")?, of("soft-ack")?);
            parts.push((hard < soft, format!("{buffer} w_a, p {p}: {hard:.0} against {soft:.0} ms")));
        }
    }
    decide("6", "up to p = 1e-2 hard ACK's maximum delay lies below soft ACK's", &parts)
}

fn hard_waits_less_in_long_runs(study: &Study<'_>) -> Option<Claim> {
    let part = |buffer| {
        let of = |scheme| study.buffer("ours/figure-19-long", scheme, MAXIMUM, 1e-5, buffer);
        let (hard, soft) = (of("hard-ack")?, of("soft-ack")?);
        Some((hard < soft, format!("{buffer} w_a: {hard:.0} against {soft:.0} ms")))
    };
    let text = "at p = 1e-5 hard ACK's maximum delay lies below soft ACK's over 10^8 packets too";
    decide("6a", text, &BUFFERS.into_iter().map(part).collect::<Option<Vec<_>>>()?)
}

/// Efficiency after a spell of losses, with none any more.
fn afterwards(study: &Study<'_>, scheme: &str, buffer: f64) -> Option<f64> {
    study.0.value("ours/after-losses", scheme, EFFICIENCY, &[("buffer_over_w_a", json!(buffer))])
}

fn soft_stays_stuck(study: &Study<'_>) -> Option<Claim> {
    let part = |buffer| {
        let reached = afterwards(study, "soft-ack", buffer)?;
        Some((reached < 0.97, format!("{buffer} w_a: {reached:.3}")))
    };
    let text =
        "soft ACK goes on discarding and asking for ever when losses have stopped: it stays below 0.97";
    decide("7", text, &BUFFERS.into_iter().map(part).collect::<Option<Vec<_>>>()?)
}

fn firm_never_does(study: &Study<'_>) -> Option<Claim> {
    let mut parts = Vec::new();
    for buffer in BUFFERS {
        let reached = afterwards(study, "firm-ack", buffer)?;
        parts.push((reached > 0.99, format!("{buffer} w_a, after losses: {reached:.3}")));
        for p in LOSSES {
            let of = |scheme| study.buffer("ours/figure-18", scheme, EFFICIENCY, p, buffer);
            let (firm, hard) = (of("firm-ack")?, of("hard-ack")?);
            parts.push((
                firm > hard - 2.0 * CHANCE,
                format!("{buffer} w_a, p {p}: {firm:.3} against {hard:.3}"),
            ));
        }
    }
    let text = format!(
        "ours: firm ACK is as efficient as hard ACK, within {}, and above 0.99 when losses have stopped",
        2.0 * CHANCE
    );
    decide("9", &text, &parts)
}

/// Claims on how far the first two go with larger products. Not the paper's words, so each says what is found.
fn larger_products(study: &Study<'_>) -> Vec<Claim> {
    let settings = [
        ("ours/155-mbps-60-ms", "155 Mbit/s, 60 ms", 73, 178),
        ("ours/1-gbps-100-ms", "1 Gbit/s, 100 ms", 765, 1908),
    ];
    let mut claims = Vec::new();
    for (letter, (id, name, one, more)) in ["a", "b"].into_iter().zip(settings) {
        let mut weaker = |of: &str, claim: &str, small: u32, large: u32, p: f64| {
            let small = study.window("ours/figure-14", "two-level", p, small)?;
            let large = study.window(id, "two-level", p, large)?;
            let text = format!("claim {claim} is weaker with the larger product of {name}");
            let said = format!("p {p}: {large:.3} against {small:.3}");
            claims.extend(decide(&format!("8{letter}{of}"), &text, &[(large < small, said)]));
            Some(())
        };
        let _ = weaker("1", "1", 25, one, 1e-4);
        let _ = weaker("2", "2", 58, more, 1e-2);
    }
    claims
}

#[cfg(test)]
mod tests {
    //! Proves that each claim is decided by its numbers: it holds with those of a calibration by an independent
    //! program, and fails when one of them is changed.
    use super::super::super::{Cell, ExperimentResults, Row};
    use super::*;

    /// Efficiency with window = buffer, hard and soft ACK for the buffers of `BUFFERS` and 2.5 w_a, by loss.
    const BY_BUFFER: [(f64, [[f64; 3]; 4]); 5] = [
        (1e-5, [[0.249, 0.996, 0.305], [0.498, 0.996, 0.575], [0.952, 0.999, 0.922], [1.0, 1.0, 1.0]]),
        (1e-4, [[0.248, 0.962, 0.290], [0.492, 0.962, 0.556], [0.924, 0.994, 0.904], [1.0, 1.0, 1.0]]),
        (1e-3, [[0.236, 0.735, 0.272], [0.444, 0.751, 0.502], [0.763, 0.956, 0.807], [0.999, 0.999, 0.999]]),
        (1e-2, [[0.178, 0.305, 0.183], [0.314, 0.418, 0.305], [0.535, 0.698, 0.565], [0.973, 0.973, 0.973]]),
        (1e-1, [[0.107, 0.129, 0.095], [0.196, 0.227, 0.161], [0.339, 0.393, 0.302], [0.70, 0.70, 0.70]]),
    ];

    /// Results in which the value whose place `change` names is another one.
    fn results(change: Option<(&str, &str, f64, f64, f64)>) -> Results {
        let mut experiments: Vec<ExperimentResults> = Vec::new();
        let mut put =
            |id: &str, scheme: &str, metric: &str, key: &str, at: f64, p: Option<f64>, value: f64| {
                let changed =
                    change.filter(|of| (of.0, of.1, of.2, of.3) == (id, scheme, at, p.unwrap_or(0.0)));
                let mut cell = Cell::ours(scheme, metric).with(key, at);
                if let Some(p) = p {
                    cell = cell.with("p", p);
                }
                let row = Row::new(cell, Some(&[changed.map_or(value, |of| of.4)]));
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
            };
        for (p, windows) in [
            (1e-5, [0.996, 0.997, 0.9995, 1.0]),
            (1e-4, [0.966, 0.980, 0.997, 1.0]),
            (1e-3, [0.792, 0.881, 0.980, 0.999]),
            (1e-2, [0.563, 0.746, 0.940, 0.973]),
        ] {
            for (window, value) in [25.0, 35.0, 46.0, 58.0].into_iter().zip(windows) {
                put("ours/figure-14", "two-level", EFFICIENCY, "window_segments", window, Some(p), value);
                put(
                    "ours/figure-14",
                    "analysis",
                    EFFICIENCY,
                    "window_segments",
                    window,
                    Some(p),
                    value + 0.02,
                );
            }
            for (id, one, more) in
                [("ours/155-mbps-60-ms", 73.0, 178.0), ("ours/1-gbps-100-ms", 765.0, 1908.0)]
            {
                put(id, "two-level", EFFICIENCY, "window_segments", one, Some(p), windows[0] - 0.1);
                put(id, "two-level", EFFICIENCY, "window_segments", more, Some(p), windows[3] - 0.1);
            }
        }
        for (p, values) in BY_BUFFER {
            for (buffer, [equal, hard, soft]) in [0.25, 0.5, 1.0, 2.5].into_iter().zip(values) {
                let mut efficiency = |id, scheme, value| {
                    put(id, scheme, EFFICIENCY, "buffer_over_w_a", buffer, Some(p), value);
                };
                efficiency("ours/figure-17", "window-equal-to-buffer", equal);
                efficiency("ours/figure-17", "hard-ack-window-2.5wa", hard);
                efficiency("ours/figure-18", "hard-ack", hard);
                efficiency("ours/figure-18", "soft-ack", soft);
                efficiency("ours/figure-18", "firm-ack", hard);
                put("ours/figure-19", "hard-ack", MAXIMUM, "buffer_over_w_a", buffer, Some(p), 82.0);
                put("ours/figure-19", "soft-ack", MAXIMUM, "buffer_over_w_a", buffer, Some(p), 112.0);
                put("ours/figure-19-long", "hard-ack", MAXIMUM, "buffer_over_w_a", buffer, Some(p), 82.0);
                put("ours/figure-19-long", "soft-ack", MAXIMUM, "buffer_over_w_a", buffer, Some(p), 163.0);
            }
        }
        for (buffer, soft) in BUFFERS.into_iter().zip([0.275, 0.552, 0.921]) {
            put("ours/after-losses", "soft-ack", EFFICIENCY, "buffer_over_w_a", buffer, None, soft);
            put("ours/after-losses", "firm-ack", EFFICIENCY, "buffer_over_w_a", buffer, None, 1.0);
        }
        Results { paper: "gong92", complete: true, experiments, claims: Vec::new() }
    }

    #[test]
    fn all_claims_hold_with_the_calibrated_numbers() {
        let claims = claims(&results(None));
        assert_eq!(claims.len(), 15);
        assert!(claims.iter().all(|claim| claim.holds), "{claims:?}");
    }

    #[test]
    fn each_claim_fails_with_another_number() {
        for (id, change) in [
            ("1", ("ours/figure-14", "two-level", 25.0, 1e-4, 0.9)),
            ("2", ("ours/figure-14", "two-level", 58.0, 1e-2, 0.93)),
            ("3", ("ours/figure-14", "analysis", 35.0, 1e-3, 0.803)),
            ("4", ("ours/figure-17", "window-equal-to-buffer", 1.0, 1e-1, 0.5)),
            ("4a", ("ours/figure-17", "hard-ack-window-2.5wa", 0.25, 1e-5, 0.9)),
            ("5", ("ours/figure-18", "soft-ack", 1.0, 1e-2, 0.79)),
            ("5a", ("ours/figure-18", "soft-ack", 1.0, 1e-5, 0.70)),
            ("6", ("ours/figure-19", "hard-ack", 0.5, 1e-2, 400.0)),
            ("6a", ("ours/figure-19-long", "hard-ack", 0.25, 1e-5, 164.0)),
            ("7", ("ours/after-losses", "soft-ack", 1.0, 0.0, 1.0)),
            ("9", ("ours/after-losses", "firm-ack", 0.25, 0.0, 0.6)),
            ("8a1", ("ours/155-mbps-60-ms", "two-level", 73.0, 1e-4, 0.99)),
            ("8b2", ("ours/1-gbps-100-ms", "two-level", 1908.0, 1e-2, 0.98)),
        ] {
            let claims = claims(&results(Some(change)));
            let failed: Vec<&str> = claims.iter().filter(|of| !of.holds).map(|of| of.id.as_str()).collect();
            assert!(failed.contains(&id), "{id}: {failed:?}");
        }
    }

    #[test]
    fn claims_without_their_experiments_are_left_out() {
        let mut some = results(None);
        some.experiments.retain(|of| of.id == "ours/figure-17");
        let ids: Vec<String> = claims(&some).into_iter().map(|of| of.id).collect();
        assert_eq!(ids, ["4", "4a"]);
    }
}
