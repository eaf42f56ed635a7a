//! Claims of the paper in its order, decided by our runs. The id of a claim begins with its section; ours begin with
//! `ours` and come last.

use super::super::claim::decided_claims;
use super::super::evidence::{Evidence, Interval};
use super::super::{Claim, Results};
use super::metrics::EFFICIENCY;
use serde_json::{Value, json};

/// Decision of a claim; none if a value is missing.
type Decide = fn(&Study<'_>) -> Option<Claim>;

/// Sections of the paper that state a claim, and its decision.
const OF_THE_PAPER: &[(&str, Decide)] = &[
    ("2; 4", two_times_beat_one),
    ("3.2.2", t_error_matters_little_at_low_loss),
    ("3.2.2", t_normal_has_an_optimum),
    ("3.2.2", t_error_decides_at_high_loss),
    ("3.2.2", t_error_has_an_optimum),
    ("3.2.2", large_windows_lose),
    ("3.2.2", small_windows_gain),
    ("3.2.2", polls_have_two_optima),
    ("abstract; 3.2.2; 4", sscop_loses_to_independent_losses),
    ("abstract; 3.2.2; 4", sscop_loses_to_bursts),
];

/// Claims of this project.
const OF_OURS: &[Decide] = &[t_error_lies_on_a_plateau];

/// Returns the claims that the results decide; those whose figures were not run are left out.
pub fn claims(results: &Results) -> Vec<Claim> {
    decided_claims(&Study(results), OF_THE_PAPER, OF_OURS)
}

/// Difference in efficiency that counts as small.
const LITTLE: f64 = 0.005;
/// Maximum advantage of another T_error, in efficiency, with which 5 ms still lies on the plateau.
const PLATEAU: f64 = 0.005;
/// Difference between the best and the worst value above which T_error matters.
const SIGNIFICANT_DIFFERENCE: f64 = 0.05;

struct Study<'a>(&'a Results);

impl Study<'_> {
    fn adaptive(&self, figure: &str, keys: &[(&str, Value)]) -> Option<f64> {
        self.0.value(&format!("ours/{figure}"), "adaptive", EFFICIENCY, keys)
    }

    fn times(&self, figure: &str, normal: u32, error: u32) -> Option<f64> {
        self.adaptive(figure, &[("T_normal_ms", json!(normal)), ("T_error_ms", json!(error))])
    }

    /// Losses of 1e-5 take long with most windows, and are a separate experiment.
    fn window(&self, window: u32, loss: f64) -> Option<Interval> {
        let keys = [("window", json!(window)), ("loss", json!(loss))];
        let of = |figure| self.interval(figure, "adaptive", &keys);
        of("figure-8").or_else(|| of("figure-8-long"))
    }

    fn interval(&self, figure: &str, scheme: &str, keys: &[(&str, Value)]) -> Option<Interval> {
        Interval::from_row(self.0.row(&format!("ours/{figure}"), scheme, EFFICIENCY, keys)?)
    }
}

fn format_means(values: &[Interval]) -> String {
    values.iter().map(|value| format!("{:.4}", value.mean)).collect::<Vec<_>>().join(" ")
}

/// Requires each value to be above the next. A step whose difference has a 95 % interval that includes 0 neither
/// confirms nor refutes the claim; the first value must be significantly above the last.
fn must_fall(evidence: &mut Evidence, name: &str, values: &[Interval]) {
    let steps = || values.windows(2).map(|two| two[0].minus(two[1]));
    let rises = steps().any(|step| step.is_surely_below(0.0));
    let (first, last) = (values.first(), values.last());
    let falls = first.zip(last).is_some_and(|(first, last)| first.minus(*last).is_surely_above(0.0));
    let undecided = steps().filter(|step| !step.is_surely_above(0.0) && !step.is_surely_below(0.0)).count();
    if undecided > 0 {
        evidence.add(format!("{undecided} of these {} steps undecided at 95 %", steps().count()));
    }
    evidence.require(falls && !rises, name.to_owned());
}

fn two_times_beat_one(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for (figure, normal, error) in [("figure-5", 5, 5), ("figure-6", 5, 5), ("figure-7", 40, 40)] {
        let at = |normal: u32, error: u32| {
            let keys = [("T_normal_ms", json!(normal)), ("T_error_ms", json!(error))];
            study.interval(figure, "adaptive", &keys)
        };
        let (two, one) = (at(40, 5)?, at(normal, error)?);
        evidence.add(format!(
            "{figure}: {:.4} with 40 and 5 ms, {:.4} with {normal} ms alone",
            two.mean, one.mean
        ));
        evidence.require(
            two.minus(one).is_surely_above(0.0),
            format!("{figure}: a single interval is not worse"),
        );
    }
    let text = "Two reporting intervals are better than one: better than 5 ms at losses of 1e-4 and 1e-3, than 40 ms at 1e-1";
    Some(evidence.claim("2a", text))
}

fn t_error_matters_little_at_low_loss(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for figure in ["figure-5", "figure-6"] {
        let errors = [1, 2, 5, 10, 20, 40].map(|error| study.times(figure, 40, error));
        let errors = errors.into_iter().collect::<Option<Vec<f64>>>()?;
        let spread = relative_spread(&errors);
        evidence.add(format!("{figure}: T_error 1 to 40 ms changes {spread:.4}"));
        evidence.require(spread < LITTLE, format!("{figure}: T_error matters"));
    }
    let text = format!("Window 400, loss 1e-4 and 1e-3: T_error changes efficiency by less than {LITTLE}");
    Some(evidence.claim("3.2.2a", &text))
}

fn t_normal_has_an_optimum(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for figure in ["figure-5", "figure-6"] {
        let at = |&normal: &u32| {
            let keys = [("T_normal_ms", json!(normal)), ("T_error_ms", json!(5))];
            study.interval(figure, "adaptive", &keys)
        };
        let values = T_NORMALS.iter().map(at).collect::<Option<Vec<Interval>>>()?;
        let times = T_NORMALS.map(|normal| normal.to_string()).join(", ");
        evidence.add(format!("{figure}, T_normal {times} ms: {}", format_means(&values)));
        let best = index_of_greatest(&values)?;
        let peak = T_NORMALS[best];
        // Both parts in descending order.
        let rise: Vec<Interval> = values[..=best].iter().rev().copied().collect();
        must_fall(&mut evidence, &format!("{figure}: no rise up to {peak} ms"), &rise);
        must_fall(&mut evidence, &format!("{figure}: no fall from {peak} ms on"), &values[best..]);
        must_be_best(&mut evidence, &format!("{figure}: "), &T_NORMALS, &values, 40)?;
    }
    let text = "Window 400, loss 1e-4 and 1e-3: efficiency rises with T_normal up to 40 ms, the optimum of every 10 ms, and falls beyond";
    Some(evidence.claim("3.2.2b", text))
}

/// Returns the index of the largest mean.
fn index_of_greatest(values: &[Interval]) -> Option<usize> {
    (0..values.len()).max_by(|&a, &b| values[a].mean.total_cmp(&values[b].mean))
}

/// Judges the size of an optimum: no time has significantly more than the printed one. `name` precedes a failed step.
fn must_be_best(
    evidence: &mut Evidence,
    name: &str,
    times: &[u32],
    values: &[Interval],
    printed: u32,
) -> Option<()> {
    let own = *times.iter().zip(values).find(|(time, _)| **time == printed)?.1;
    for (time, value) in times.iter().zip(values) {
        let gain = value.minus(own);
        let what = format!("{name}{time} ms has {:.4} more, outside the 95 % interval", gain.mean);
        evidence.size(!gain.is_surely_above(0.0), what);
    }
    Some(())
}

fn relative_spread(values: &[f64]) -> f64 {
    let (low, high) =
        values.iter().fold((f64::MAX, f64::MIN), |(low, high), &value| (low.min(value), high.max(value)));
    high - low
}

/// Values of T_normal in figures 5 and 6 that the claim on its optimum compares, in ms.
const T_NORMALS: [u32; 9] = [5, 10, 20, 30, 40, 50, 60, 80, 100];
/// Values of T_error in figure 7, in ms.
const T_ERRORS: [u32; 11] = [1, 2, 3, 5, 7, 10, 12, 15, 20, 30, 40];

fn t_error_decides_at_high_loss(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let errors =
        T_ERRORS.iter().map(|&error| study.times("figure-7", 40, error)).collect::<Option<Vec<f64>>>()?;
    let normals = [10, 20, 40, 80].map(|normal| study.times("figure-7", normal, 5));
    let normals = normals.into_iter().collect::<Option<Vec<f64>>>()?;
    evidence.add(format!("T_error 1 to 40 ms changes {:.4}", relative_spread(&errors)));
    evidence
        .require(relative_spread(&errors) > SIGNIFICANT_DIFFERENCE, "T_error has little effect".to_owned());
    evidence.add(format!("T_normal 10 to 80 ms changes {:.4}", relative_spread(&normals)));
    evidence.require(relative_spread(&normals) < LITTLE, "T_normal matters".to_owned());
    let text = "Window 400, loss 1e-1: efficiency depends on T_error, not on T_normal";
    Some(evidence.claim("3.2.2c", text))
}

fn t_error_has_an_optimum(study: &Study<'_>) -> Option<Claim> {
    let at = |&error: &u32| {
        let keys = [("T_normal_ms", json!(40)), ("T_error_ms", json!(error))];
        study.interval("figure-7", "adaptive", &keys)
    };
    let mut evidence = Evidence::default();
    let values = T_ERRORS.iter().map(at).collect::<Option<Vec<Interval>>>()?;
    let times = T_ERRORS.map(|error| error.to_string()).join(", ");
    evidence.add(format!("T_error {times} ms: {}", format_means(&values)));
    let best = values[index_of_greatest(&values)?];
    for end in [0, T_ERRORS.len() - 1] {
        let is_worse = best.minus(values[end]).is_surely_above(0.0);
        evidence.require(is_worse, format!("{} ms equals the optimum", T_ERRORS[end]));
    }
    must_be_best(&mut evidence, "", &T_ERRORS, &values, 5)?;
    Some(evidence.claim("3.2.2d", "Window 400, loss 1e-1: the optimum of T_error is 5 ms"))
}

fn large_windows_lose(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for large in [400, 500, 1000] {
        let at = |losses: &[f64]| {
            losses.iter().map(|&loss| study.window(large, loss)).collect::<Option<Vec<Interval>>>()
        };
        let (rarest, values) = match at(&[1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1]) {
            Some(values) => ("1e-5, ", values),
            None => ("", at(&[1e-4, 1e-3, 1e-2, 3e-2, 1e-1])?),
        };
        evidence.add(format!(
            "window {large}, loss {rarest}1e-4, 1e-3, 1e-2, 3e-2, 1e-1: {}",
            format_means(&values)
        ));
        must_fall(&mut evidence, &format!("window {large}: efficiency does not fall with loss"), &values);
    }
    let text = "T_normal 40, T_error 5 ms: with large windows efficiency falls with loss";
    Some(evidence.claim("3.2.2e", text))
}

fn small_windows_gain(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for small in [50, 100, 150, 200] {
        let rare = [1e-5, 1e-4, 1e-3].iter().filter_map(|&loss| Some((loss, study.window(small, loss)?)));
        let (rare, high) = (rare.collect::<Vec<_>>(), study.window(small, 1e-2)?);
        for loss in [1e-4, 1e-3] {
            rare.iter().find(|(of, _)| *of == loss)?;
        }
        let means: Vec<String> =
            rare.iter().map(|(loss, value)| format!("{:.3} at {loss:e}", value.mean)).collect();
        evidence.add(format!("window {small}: {}, {:.3} at 1e-2", means.join(", "), high.mean));
        let helps = rare.iter().all(|(_, value)| high.minus(*value).is_surely_above(0.0));
        evidence.require(helps, format!("window {small}: loss does not help"));
    }
    let text = "T_normal 40, T_error 5 ms: with small windows efficiency is higher at a loss of 1e-2 than at lower ones";
    Some(evidence.claim("3.2.2f", text))
}

fn polls_have_two_optima(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for (figure, name) in [("figure-9", "independent"), ("figure-10", "in bursts")] {
        for (loss, best, other) in [(1e-5, 40, 10), (1e-4, 40, 10), (1e-3, 40, 10), (1e-1, 10, 40)] {
            let at = |poll: u32| {
                study.interval(figure, "sscop", &[("timer_poll_ms", json!(poll)), ("loss", json!(loss))])
            };
            let (first, second) = (at(best)?, at(other)?);
            let said = format!(
                "losses {name}, {loss:e}: {:.4} with {best} ms, {:.4} with {other} ms",
                first.mean, second.mean
            );
            let is_better = first.minus(second).is_surely_above(0.0);
            if is_better {
                evidence.add(said.clone());
            }
            evidence.require(is_better, said);
        }
    }
    let text = "SSCOP's best Timer_POLL depends on loss: of 10 and 40 ms, 40 up to 1e-3 and 10 at 1e-1";
    Some(evidence.claim("3.2.2g", text))
}

fn sscop_loses_to_independent_losses(study: &Study<'_>) -> Option<Claim> {
    let text = "Adaptive acknowledgement beats SSCOP with Timer_POLL of 10 and of 40 ms at every loss from 1e-5 to 1e-1 (figure 9)";
    Some(against_sscop(study, "figure-9")?.claim("3.2.2h", text))
}

fn sscop_loses_to_bursts(study: &Study<'_>) -> Option<Claim> {
    let text = "Adaptive acknowledgement also beats SSCOP with burst losses (figure 10)";
    Some(against_sscop(study, "figure-10")?.claim("3.2.2i", text))
}

fn against_sscop(study: &Study<'_>, figure: &str) -> Option<Evidence> {
    let mut evidence = Evidence::default();
    let (mut all, mut differences, mut undecided) = (0.0, 0, 0);
    let mut margins = Vec::new();
    for loss in [1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1] {
        let adaptive = study.interval(figure, "adaptive", &[("loss", json!(loss))])?;
        for poll in [10, 40] {
            let keys = [("timer_poll_ms", json!(poll)), ("loss", json!(loss))];
            let margin = adaptive.minus(study.interval(figure, "sscop", &keys)?);
            let loses = margin.is_surely_below(0.0);
            let is_open = !loses && !margin.is_surely_above(0.0);
            (differences, undecided) = (differences + 1, undecided + u32::from(is_open));
            margins.push(format!("{:+.4}{}", margin.mean, if is_open { " (undecided)" } else { "" }));
            evidence.require(!loses, format!("{loss:e}, Timer_POLL {poll} ms: {:+.4}", margin.mean));
            all += margin.mean;
        }
    }
    let list = margins.chunks(2).map(|two| two.join(" ")).collect::<Vec<_>>().join(", ");
    evidence.add(format!("over 10 and 40 ms at 1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1: {list}"));
    evidence.add(format!(
        "{undecided} of {differences} differences undecided, as their 95 % intervals over the seeds include 0"
    ));
    evidence.require(all > 0.0, "on average".to_owned());
    Some(evidence)
}

fn t_error_lies_on_a_plateau(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let values =
        T_ERRORS.iter().map(|&error| study.times("figure-7", 40, error)).collect::<Option<Vec<f64>>>()?;
    let five = study.times("figure-7", 40, 5)?;
    let (best, max) = T_ERRORS.iter().zip(&values).max_by(|a, b| a.1.total_cmp(b.1))?;
    evidence.add(format!("best at {best} ms, by {:.4} over 5 ms", max - five));
    evidence.require(max - five <= PLATEAU, "5 ms is below the plateau".to_owned());
    let text = "At a loss of 1e-1 a T_error of 5 ms lies on the plateau of best values";
    Some(evidence.claim("ours-1", text))
}

#[cfg(test)]
mod tests;
