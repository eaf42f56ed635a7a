//! Claims of the report in its order, decided by our runs. The id of a claim begins with its section; ours begin with
//! `ours` and come last. A claim whose experiments were not run is left out.
//!
//! The report does not state the rate and the delay of its figures. Its two claims on the size of the window are
//! therefore decided for three bandwidth-delay products. One of them, 1 Gbit/s times 100 ms, is an example of the
//! report.

use super::super::claim::decided_claims;
use super::super::evidence::Evidence;
use super::super::{Claim, Results};
use super::metrics::{CLOSE, EFFICIENCY, LOSS, MAXIMUM, MEAN, RESENT, SHARE};
use serde_json::json;

/// Loss probabilities of the figures.
const LOSSES: [f64; 5] = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1];
/// Buffers smaller than the window, in w_a.
const BUFFERS: [f64; 3] = [0.25, 0.5, 1.0];
/// Windows of figure 14, in segments.
const WINDOWS: [u32; 5] = [12, 25, 35, 46, 58];
/// Maximum distance of the analysis from the simulation, in efficiency.
const TRACKS: f64 = 0.05;
/// Maximum excess of the simulation over the analysis, where both are almost ideal and the start and end of a run blur
/// the simulated efficiency.
const NOISE: f64 = 0.005;
/// Tolerance for random variation in a comparison of two simulated efficiencies.
const CHANCE: f64 = 0.01;
/// Difference in efficiency that counts as significant.
const SIGNIFICANT_DIFFERENCE: f64 = 0.05;

/// A bandwidth-delay product: its experiment, its name, and the windows of 1 + w_a and 2.5 w_a in segments.
type Product = (&'static str, &'static str, u32, u32);
const USUAL: Product = ("ours/figure-14", "100 Mbit/s, 30 ms", 25, 58);
const LARGER: Product = ("ours/155-mbps-60-ms", "155 Mbit/s, 60 ms", 73, 178);
const LARGE_PRODUCT: Product = ("ours/1-gbps-100-ms", "1 Gbit/s, 100 ms", 765, 1908);

/// Decision of a claim; none if a value is missing.
type Decide = fn(&Study<'_>) -> Option<Claim>;

/// Sections of the report that state a claim, and its decision.
const OF_THE_REPORT: &[(&str, Decide)] = &[
    ("2.4", rate_alone_overruns_the_receiver),
    ("2.4", window_alone_is_a_compromise),
    ("2.4; 6", rate_control_avoids_loss),
    ("3.4", smaller_windows_idle),
    ("4.2", delay_depends_little_on_the_window),
    ("4.3", |study| one_round_trip_is_enough(study, "4.3a", USUAL)),
    ("4.3", |study| one_round_trip_is_enough(study, "4.3b", LARGER)),
    ("4.3", |study| one_round_trip_is_enough(study, "4.3c", LARGE_PRODUCT)),
    ("4.3", loss_needs_larger_windows),
    ("4.3; 6", |study| two_and_a_half_are_nearly_ideal(study, "4.3e", USUAL)),
    ("4.3; 6", |study| two_and_a_half_are_nearly_ideal(study, "4.3f", LARGER)),
    ("4.3; 6", |study| two_and_a_half_are_nearly_ideal(study, "4.3g", LARGE_PRODUCT)),
    ("4.3", printed_analysis_is_accurate),
    ("4.3", printed_analysis_lies_above),
    ("4.3.2", a_window_beyond_the_buffer_wins),
    ("4.3.2", seventy_percent),
    ("4.3.3", equal_with_room_for_the_window),
    ("4.3.3; 6", hard_beats_soft),
    ("4.3.3", soft_falls_most_at_half),
    ("4.3.3", hard_is_as_bad_at_high_loss),
    ("4.3.3", hard_waits_less),
    ("4.3.3", equal_delays_with_room_for_the_window),
    ("4.3.3", soft_waits_less_at_high_loss),
    ("4.3.3", the_odd_delay_is_chance),
    ("4.3.3", soft_stays_stuck),
    ("4.3.3", soft_is_poor_at_low_loss),
    ("4.3.3", another_rule_gains_little),
    ("6", small_buffers_are_enough),
];

/// Claims of this project.
const OF_OURS: &[Decide] =
    &[corrected_analysis_tracks_simulation, firm_never_does, hard_waits_less_in_long_runs];

/// Returns the claims that the results decide.
pub fn claims(results: &Results) -> Vec<Claim> {
    decided_claims(&Study(results), OF_THE_REPORT, OF_OURS)
}

struct Study<'a>(&'a Results);

impl Study<'_> {
    /// Returns the efficiency with an unlimited buffer.
    fn window(&self, id: &str, scheme: &str, p: f64, window: u32) -> Option<f64> {
        self.0.value(id, scheme, EFFICIENCY, &[("p", json!(p)), ("window_segments", json!(window))])
    }

    /// Returns a metric with a buffer in w_a.
    fn buffer(&self, id: &str, scheme: &str, metric: &str, p: f64, buffer: f64) -> Option<f64> {
        self.0.value(id, scheme, metric, &[("p", json!(p)), ("buffer_over_w_a", json!(buffer))])
    }
}

/// Creates a claim of several comparisons: the true ones are its evidence, the others refute it.
fn decide_claim(id: &str, text: &str, parts: &[(bool, String)]) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for (holds, statement) in parts {
        if *holds {
            evidence.add(statement.clone());
        }
        evidence.require(*holds, statement.clone());
    }
    (!parts.is_empty()).then(|| evidence.claim(id, text))
}

/// Rates per source of section 2.4 in Mbit/s: within the link's rate, and above it.
const RATES: [[u32; 3]; 2] = [[16, 20, 24], [24, 28, 32]];
/// Windows per source of section 2.4 in segments.
const SHARED_WINDOWS: [u32; 5] = [2, 4, 6, 8, 15];

fn rate_alone_overruns_the_receiver(study: &Study<'_>) -> Option<Claim> {
    let of = |scheme, metric| study.0.value("ours/section-2.4/reader", scheme, metric, &[]);
    let mut parts = Vec::new();
    for (scheme, is_safe) in [("rate-alone", false), ("window-alone", true), ("rate-and-window", true)] {
        let (resent, share) = (of(scheme, RESENT)?, of(scheme, SHARE)?);
        let holds = if is_safe { resent < 1.0 } else { resent > 10.0 };
        parts.push((
            holds,
            format!("{scheme}: {resent:.1} % retransmitted, {share:.2} of the link delivered"),
        ));
    }
    let text = "rate control alone cannot protect the receiver's buffer from overflow (an application that reads at half the rate)";
    decide_claim("2.4a", text, &parts)
}

fn window_alone_is_a_compromise(study: &Study<'_>) -> Option<Claim> {
    let of = |metric, window: u32| {
        let keys = [("window_each", json!(window))];
        study.0.value("ours/section-2.4/load", "window-alone", metric, &keys)
    };
    let mut parts = Vec::new();
    for window in SHARED_WINDOWS {
        let (share, loss) = (of(SHARE, window)?, of(LOSS, window)?);
        let holds = share < 0.5 && (window == SHARED_WINDOWS[0] || loss > 5.0);
        parts.push((holds, format!("{window} segments: {share:.2} of the link, {loss:.1} % lost")));
    }
    let text = "windows alone are a compromise: small ones leave the link unused, larger ones are not an effective control \
                (less than half of the link with each, and more than 5 % lost with more than 2 segments)";
    decide_claim("2.4b", text, &parts)
}

fn rate_control_avoids_loss(study: &Study<'_>) -> Option<Claim> {
    let mut parts = Vec::new();
    for scheme in ["rate-alone", "rate-and-window"] {
        let of = |metric, rate: u32| {
            study.0.value("ours/section-2.4/load", scheme, metric, &[("rate_mbps", json!(rate))])
        };
        for rate in RATES[0] {
            let (share, loss) = (of(SHARE, rate)?, of(LOSS, rate)?);
            let holds = loss == 0.0 && (share - f64::from(rate) / 25.0).abs() < 0.02;
            parts.push((
                holds,
                format!("{scheme}, 4 x {rate} Mbit/s: {share:.2} of the link, {loss:.1} % lost"),
            ));
        }
        let losses: Vec<f64> = RATES[1].iter().map(|&rate| of(LOSS, rate)).collect::<Option<_>>()?;
        let grows = losses.windows(2).all(|pair| pair[0] < pair[1]);
        parts.push((grows, format!("{scheme}, 4 x 24, 28, 32 Mbit/s: {losses:.1?} % lost")));
    }
    let text = "loss by load: with rate control nothing is lost up to the capacity, and more with each step above it, so that sources can choose their loss by their rate";
    decide_claim("2.4c", text, &parts)
}

fn smaller_windows_idle(study: &Study<'_>) -> Option<Claim> {
    let of = |window| study.window("ours/figure-14", "two-level", 1e-5, window);
    let (small, enough) = (of(12)?, of(25)?);
    let text = "a window below 1 + w_a leaves the rate unused, even without losses (12 segments, p = 1e-5)";
    decide_claim("3.4a", text, &[(small < CLOSE * enough, format!("{small:.3}, {enough:.3} with 1 + w_a"))])
}

fn delay_depends_little_on_the_window(study: &Study<'_>) -> Option<Claim> {
    let mut parts = Vec::new();
    for p in [1e-5, 1e-4, 1e-3, 1e-2] {
        let delay = |scheme: &str, window: u32| {
            let keys = [("p", json!(p)), ("window_segments", json!(window))];
            study.0.value("ours/figure-14", scheme, MEAN, &keys)
        };
        let all = WINDOWS.iter().map(|&window| delay("two-level", window)).collect::<Option<Vec<f64>>>()?;
        let analysis = delay("analysis", WINDOWS[0])?;
        let (low, high) =
            all.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), &of| (low.min(of), high.max(of)));
        parts.push((
            high < 1.1 * low && (high / analysis - 1.0).abs() < 0.1 && (low / analysis - 1.0).abs() < 0.1,
            format!("p {p}: {low:.2} to {high:.2} ms, analysis {analysis:.2}"),
        ));
    }
    let text = "the mean delay depends little on the window and is close to that of a single segment (10 %, p up to 1e-2)";
    decide_claim("4.2a", text, &parts)
}

fn one_round_trip_is_enough(study: &Study<'_>, id: &str, of: Product) -> Option<Claim> {
    let (experiment, name, window, _) = of;
    let part = |p| {
        let reached = study.window(experiment, "two-level", p, window)?;
        Some((reached > CLOSE * (1.0 - p), format!("p {p}: {reached:.3}")))
    };
    let text = format!(
        "{name}: for p up to 1e-4 a window of 1 + w_a reaches close to the maximum efficiency ({CLOSE} of 1 - p)"
    );
    decide_claim(id, &text, &[1e-5, 1e-4].into_iter().map(part).collect::<Option<Vec<_>>>()?)
}

fn loss_needs_larger_windows(study: &Study<'_>) -> Option<Claim> {
    let part = |p| {
        let of = |window| study.window("ours/figure-14", "two-level", p, window);
        let (one, more) = (of(25)?, of(58)?);
        Some((one < CLOSE * more, format!("p {p}: {one:.3} with 1 + w_a, {more:.3} with 2.5 w_a")))
    };
    let text = "with more loss the same efficiency needs a larger window (p of 1e-3 and 1e-2)";
    decide_claim("4.3d", text, &[1e-3, 1e-2].into_iter().map(part).collect::<Option<Vec<_>>>()?)
}

fn two_and_a_half_are_nearly_ideal(study: &Study<'_>, id: &str, of: Product) -> Option<Claim> {
    let (experiment, name, _, window) = of;
    let part = |p| {
        let reached = study.window(experiment, "two-level", p, window)?;
        Some((reached > CLOSE * (1.0 - p), format!("p {p}: {reached:.3}")))
    };
    let text = format!("{name}: for p up to 1e-2 a window of 2.5 w_a is nearly ideal ({CLOSE} of 1 - p)");
    decide_claim(id, &text, &[1e-5, 1e-4, 1e-3, 1e-2].into_iter().map(part).collect::<Option<Vec<_>>>()?)
}

/// Returns loss, window, analysis and simulation of the points of figure 14 that the analysis is made for.
fn analysed_points(study: &Study<'_>, form: &str, windows: &[u32]) -> Option<Vec<(f64, u32, f64, f64)>> {
    let mut points = Vec::new();
    for p in [1e-5, 1e-4, 1e-3, 1e-2] {
        for &window in windows {
            let simulated = study.window("ours/figure-14", "two-level", p, window)?;
            points.push((p, window, study.window("ours/figure-14", form, p, window)?, simulated));
        }
    }
    Some(points)
}

fn printed_analysis_is_accurate(study: &Study<'_>) -> Option<Claim> {
    let parts = analysed_points(study, "analysis-printed", &WINDOWS)?.into_iter().map(
        |(p, window, analysis, simulated)| {
            let holds = (analysis - simulated).abs() < TRACKS;
            (holds, format!("p {p}, W {window}: {analysis:.3} for {simulated:.3}"))
        },
    );
    let text = format!("the printed expressions predict the efficiency for p up to 1e-2 (within {TRACKS})");
    decide_claim("4.3h", &text, &parts.collect::<Vec<_>>())
}

fn printed_analysis_lies_above(study: &Study<'_>) -> Option<Claim> {
    let parts = analysed_points(study, "analysis-printed", &WINDOWS)?.into_iter().map(
        |(p, window, analysis, simulated)| {
            (analysis > simulated - NOISE, format!("p {p}, W {window}: {analysis:.3} over {simulated:.3}"))
        },
    );
    let text = format!(
        "the printed expressions are always above the simulation for p up to 1e-2 (or below it by less than {NOISE})"
    );
    decide_claim("4.3i", &text, &parts.collect::<Vec<_>>())
}

fn corrected_analysis_tracks_simulation(study: &Study<'_>) -> Option<Claim> {
    let parts = analysed_points(study, "analysis", &[35, 46, 58])?.into_iter().map(
        |(p, window, analysis, simulated)| {
            let holds = (-NOISE..TRACKS).contains(&(analysis - simulated));
            (holds, format!("p {p}, W {window}: {analysis:.3} over {simulated:.3}"))
        },
    );
    let text = format!(
        "with p times m in place of p + m in the formula for windows from w_a + 1 to 2 w_a + 1, the analysis lies above the \
         simulation by less than {TRACKS}, or below it by no more than {NOISE} (p up to 1e-2, windows of 1.5 to 2.5 w_a)"
    );
    decide_claim("ours-1", &text, &parts.collect::<Vec<_>>())
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
    decide_claim("4.3.2a", text, &parts)
}

fn seventy_percent(study: &Study<'_>) -> Option<Claim> {
    let of = |scheme| study.buffer("ours/figure-17", scheme, EFFICIENCY, 1e-5, 0.25);
    let (with, without) = (of("hard-ack-window-2.5wa")?, of("window-equal-to-buffer")?);
    let (gain, points) = (100.0 * (with / without - 1.0), 100.0 * (with - without));
    let mut evidence = Evidence::default();
    evidence.add(format!("{gain:.0} % higher, {points:.1} points of efficiency"));
    evidence.require(gain > 0.0, "it is not higher".to_owned());
    evidence.size(gain > 70.0, format!("{gain:.0} % instead of more than 70"));
    let text = "at a buffer of 0.25 w_a and p = 1e-5 the throughput is more than 70 % higher";
    Some(evidence.claim("4.3.2b", text))
}

fn equal_with_room_for_the_window(study: &Study<'_>) -> Option<Claim> {
    let part = |p| {
        let of = |scheme| study.buffer("ours/figure-18", scheme, EFFICIENCY, p, 2.5);
        let (hard, soft) = (of("hard-ack")?, of("soft-ack")?);
        Some(((hard - soft).abs() < 1e-9, format!("p {p}: {hard:.3} and {soft:.3}")))
    };
    let text = "with a buffer as large as the window, 2.5 w_a, hard and soft ACK have the same throughput";
    decide_claim("4.3.3a", text, &LOSSES.into_iter().map(part).collect::<Option<Vec<_>>>()?)
}

fn hard_beats_soft(study: &Study<'_>) -> Option<Claim> {
    let of = |scheme, p, buffer| study.buffer("ours/figure-18", scheme, EFFICIENCY, p, buffer);
    let mut parts = Vec::new();
    for p in [1e-5, 1e-4, 1e-3, 1e-2] {
        for buffer in BUFFERS {
            let (hard, soft) = (of("hard-ack", p, buffer)?, of("soft-ack", p, buffer)?);
            parts.push((
                hard - soft > SIGNIFICANT_DIFFERENCE,
                format!("{buffer} w_a, p {p}: {hard:.3} against {soft:.3}"),
            ));
        }
    }
    let text = format!(
        "with a smaller buffer soft ACK is much less efficient than hard ACK until p approaches 1e-1 (more than {SIGNIFICANT_DIFFERENCE} up to 1e-2)"
    );
    decide_claim("4.3.3b", &text, &parts)
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
    let text = "soft ACK's largest step down is the one to a buffer of 0.5 w_a (at all losses)";
    decide_claim("4.3.3c", text, &LOSSES.into_iter().map(part).collect::<Option<Vec<_>>>()?)
}

fn hard_is_as_bad_at_high_loss(study: &Study<'_>) -> Option<Claim> {
    let part = |buffer| {
        let of = |scheme| study.buffer("ours/figure-18", scheme, EFFICIENCY, 1e-1, buffer);
        let (hard, soft) = (of("hard-ack")?, of("soft-ack")?);
        Some((
            hard / soft < 1.1,
            format!("{buffer} w_a: {hard:.3} against {soft:.3}, {:+.0} %", 100.0 * (hard / soft - 1.0)),
        ))
    };
    let text = "at p = 1e-1 hard ACK is less than 10 % more efficient than soft ACK";
    decide_claim("4.3.3d", text, &BUFFERS.into_iter().map(part).collect::<Option<Vec<_>>>()?)
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
    decide_claim("4.3.3e", "up to p = 1e-2 hard ACK's maximum delay lies below soft ACK's", &parts)
}

fn hard_waits_less_in_long_runs(study: &Study<'_>) -> Option<Claim> {
    let part = |buffer| {
        let of = |scheme| study.buffer("ours/figure-19-long", scheme, MAXIMUM, 1e-5, buffer);
        let (hard, soft) = (of("hard-ack")?, of("soft-ack")?);
        Some((hard < soft, format!("{buffer} w_a: {hard:.0} against {soft:.0} ms")))
    };
    let text = "at p = 1e-5 hard ACK's maximum delay lies below soft ACK's over 10^8 packets too";
    decide_claim("ours-3", text, &BUFFERS.into_iter().map(part).collect::<Option<Vec<_>>>()?)
}

fn equal_delays_with_room_for_the_window(study: &Study<'_>) -> Option<Claim> {
    let part = |p| {
        let of = |scheme| study.buffer("ours/figure-18", scheme, MAXIMUM, p, 2.5);
        let (hard, soft) = (of("hard-ack")?, of("soft-ack")?);
        Some(((hard - soft).abs() < 1e-9, format!("p {p}: {hard:.0} and {soft:.0} ms")))
    };
    let text = "with a buffer as large as the window they have the same maximum delay";
    decide_claim("4.3.3f", text, &LOSSES.into_iter().map(part).collect::<Option<Vec<_>>>()?)
}

fn soft_waits_less_at_high_loss(study: &Study<'_>) -> Option<Claim> {
    let part = |buffer| {
        let of = |scheme| study.buffer("ours/figure-19", scheme, MAXIMUM, 1e-1, buffer);
        let (hard, soft) = (of("hard-ack")?, of("soft-ack")?);
        Some((soft < hard, format!("{buffer} w_a: soft {soft:.0}, hard {hard:.0} ms")))
    };
    let text = "at p = 1e-1 soft ACK has the lower maximum delay";
    decide_claim("4.3.3g", text, &BUFFERS.into_iter().map(part).collect::<Option<Vec<_>>>()?)
}

fn the_odd_delay_is_chance(study: &Study<'_>) -> Option<Claim> {
    let part = |scheme: &str| {
        let of = |buffer| study.buffer("ours/figure-19-long", scheme, MAXIMUM, 1e-5, buffer);
        let (half, quarter) = (of(0.5)?, of(0.25)?);
        Some((half <= quarter, format!("{scheme}: {half:.0} ms at 0.5 w_a, {quarter:.0} at 0.25")))
    };
    let text = "at p = 1e-5 a larger maximum delay at 0.5 than at 0.25 w_a is chance: over 10^8 packets there is none";
    decide_claim("4.3.3h", text, &["hard-ack", "soft-ack"].into_iter().map(part).collect::<Option<Vec<_>>>()?)
}

/// Returns the efficiency after a period of losses, when losses have ended.
fn efficiency_after_losses(study: &Study<'_>, scheme: &str, buffer: f64) -> Option<f64> {
    study.0.value("ours/after-losses", scheme, EFFICIENCY, &[("buffer_over_w_a", json!(buffer))])
}

fn soft_stays_stuck(study: &Study<'_>) -> Option<Claim> {
    let part = |buffer| {
        let reached = efficiency_after_losses(study, "soft-ack", buffer)?;
        Some((reached < 0.97, format!("{buffer} w_a: {reached:.3}")))
    };
    let text =
        "soft ACK keeps discarding and requesting segments after losses end: efficiency stays below 0.97";
    decide_claim("4.3.3i", text, &BUFFERS.into_iter().map(part).collect::<Option<Vec<_>>>()?)
}

fn soft_is_poor_at_low_loss(study: &Study<'_>) -> Option<Claim> {
    let part = |buffer| {
        let reached = study.buffer("ours/figure-18", "soft-ack", EFFICIENCY, 1e-5, buffer)?;
        Some((reached < CLOSE, format!("{buffer} w_a: {reached:.3}")))
    };
    let text = "soft ACK is also inefficient at very low loss (p = 1e-5)";
    decide_claim("4.3.3j", text, &BUFFERS.into_iter().map(part).collect::<Option<Vec<_>>>()?)
}

fn another_rule_gains_little(study: &Study<'_>) -> Option<Claim> {
    let mut parts = Vec::new();
    for p in [1e-3, 1e-2, 1e-1] {
        for buffer in BUFFERS {
            let of = |scheme| study.buffer("ours/figure-19", scheme, MAXIMUM, p, buffer);
            let (hard, soft) = (of("hard-ack")?, of("soft-ack-at-once")?);
            parts.push((soft > 0.9 * hard, format!("{buffer} w_a, p {p}: {soft:.0}, hard {hard:.0} ms")));
        }
    }
    let text = "with a better rule for evicted segments, to ask for them at once, soft ACK does not become much better than hard \
                ACK (maximum delay, 10 %)";
    decide_claim("4.3.3k", text, &parts)
}

fn small_buffers_are_enough(study: &Study<'_>) -> Option<Claim> {
    let part = |p| {
        let of = |buffer| study.buffer("ours/figure-18", "hard-ack", EFFICIENCY, p, buffer);
        let reached = of(1.0)?.max(of(0.5)?).max(of(0.25)?);
        Some((reached > CLOSE * (1.0 - p), format!("p {p}: {reached:.3}")))
    };
    let text = format!(
        "very high efficiency needs no buffer as large as the window: with hard ACK a buffer of up to 1.0 w_a reaches {CLOSE} of 1 - p (p up to 1e-2)"
    );
    decide_claim("6a", &text, &[1e-5, 1e-4, 1e-3, 1e-2].into_iter().map(part).collect::<Option<Vec<_>>>()?)
}

fn firm_never_does(study: &Study<'_>) -> Option<Claim> {
    let mut parts = Vec::new();
    for buffer in BUFFERS {
        let reached = efficiency_after_losses(study, "firm-ack", buffer)?;
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
        "firm ACK is less than {} below hard ACK in efficiency, and above 0.99 after losses end",
        2.0 * CHANCE
    );
    decide_claim("ours-2", &text, &parts)
}

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;
