//! What the paper claims, decided by our runs.

use super::super::evidence::{Evidence, Interval};
use super::super::{Claim, Results};
use super::metrics::EFFICIENCY;
use serde_json::{Value, json};

/// The claims that the results decide; those whose figures were not run are left out.
pub fn claims(results: &Results) -> Vec<Claim> {
    let study = Study(results);
    let all: [fn(&Study<'_>) -> Option<Claim>; 4] = [normal, error, window, sscop];
    all.iter().filter_map(|claim| claim(&study)).collect()
}

/// A difference in efficiency that counts as little.
const LITTLE: f64 = 0.005;
/// 5 ms lies on the plateau if no other T_error is better by more than this.
const PLATEAU: f64 = 0.005;
/// T_error matters if its best and its worst value differ by more than this.
const MUCH: f64 = 0.05;

struct Study<'a>(&'a Results);

impl Study<'_> {
    fn adaptive(&self, figure: &str, keys: &[(&str, Value)]) -> Option<f64> {
        self.0.value(&format!("ours/{figure}"), "adaptive", EFFICIENCY, keys)
    }

    fn times(&self, figure: &str, normal: u32, error: u32) -> Option<f64> {
        self.adaptive(figure, &[("T_normal_ms", json!(normal)), ("T_error_ms", json!(error))])
    }

    fn window(&self, window: u32, loss: f64) -> Option<f64> {
        self.adaptive("figure-8", &[("window", json!(window)), ("loss", json!(loss))])
    }

    fn interval(&self, figure: &str, scheme: &str, keys: &[(&str, Value)]) -> Option<Interval> {
        Interval::of(self.0.row(&format!("ours/{figure}"), scheme, EFFICIENCY, keys)?)
    }
}

fn list(values: &[f64]) -> String {
    values.iter().map(|value| format!("{value:.4}")).collect::<Vec<_>>().join(" ")
}

fn normal(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for figure in ["figure-5", "figure-6"] {
        let at = |times: &[u32]| {
            times.iter().map(|&time| study.times(figure, time, 5)).collect::<Option<Vec<f64>>>()
        };
        let (rise, fall) = (at(&[5, 10, 20, 30, 40])?, at(&[40, 50, 60, 80, 100])?);
        evidence.say(format!(
            "{figure}, T_normal 5 to 40 ms: {}; 40 to 100 ms: {}",
            list(&rise),
            list(&fall)
        ));
        evidence.must(rise.windows(2).all(|two| two[0] < two[1]), format!("{figure}: no rise up to 40 ms"));
        evidence.must(fall.windows(2).all(|two| two[0] > two[1]), format!("{figure}: no fall from 40 ms on"));
        let errors = [1, 2, 5, 10, 20, 40].map(|error| study.times(figure, 40, error));
        let errors = errors.into_iter().collect::<Option<Vec<f64>>>()?;
        let spread = spread(&errors);
        evidence.say(format!("T_error 1 to 40 ms changes {spread:.4}"));
        evidence.must(spread < LITTLE, format!("{figure}: T_error matters"));
    }
    Some(evidence.claim(
        "1",
        "Window 400, loss 1e-4 and 1e-3: efficiency rises with T_normal up to about 40 ms and falls beyond; T_error matters little",
    ))
}

fn spread(values: &[f64]) -> f64 {
    let (low, high) =
        values.iter().fold((f64::MAX, f64::MIN), |(low, high), &value| (low.min(value), high.max(value)));
    high - low
}

fn error(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let errors = [1, 2, 3, 5, 7, 10, 12, 15, 20, 30, 40];
    let values =
        errors.iter().map(|&error| study.times("figure-7", 40, error)).collect::<Option<Vec<f64>>>()?;
    let five = study.times("figure-7", 40, 5)?;
    let (best, most) = errors.iter().zip(&values).max_by(|a, b| a.1.total_cmp(b.1))?;
    evidence.say(format!("T_error 1, 2, 3, 5, 7, 10, 12, 15, 20, 30, 40 ms: {}", list(&values)));
    evidence.say(format!("best at {best} ms, by {:.4} over 5 ms", most - five));
    evidence.must(most - five <= PLATEAU, "5 ms is below the plateau".to_owned());
    evidence.must(spread(&values) > MUCH, "T_error matters little".to_owned());
    let normals = [10, 20, 40, 80].map(|normal| study.times("figure-7", normal, 5));
    let normals = normals.into_iter().collect::<Option<Vec<f64>>>()?;
    evidence.say(format!("T_normal 10 to 80 ms changes {:.4}", spread(&normals)));
    evidence.must(spread(&normals) < LITTLE, "T_normal matters".to_owned());
    Some(evidence.claim(
        "2",
        "Window 400, loss 1e-1: T_error matters, T_normal little, and 5 ms lies on the plateau of best values",
    ))
}

fn window(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let losses = [1e-4, 1e-3, 1e-2, 3e-2, 1e-1];
    for large in [400, 500, 1000] {
        let values = losses.iter().map(|&loss| study.window(large, loss)).collect::<Option<Vec<f64>>>()?;
        evidence.say(format!("window {large}, loss 1e-4, 1e-3, 1e-2, 3e-2, 1e-1: {}", list(&values)));
        let falls = values.windows(2).all(|two| two[0] > two[1]);
        evidence.must(falls, format!("window {large}: efficiency does not fall with loss"));
    }
    for small in [50, 100, 150, 200] {
        let at = |loss| study.window(small, loss);
        let (low, middle, high) = (at(1e-4)?, at(1e-3)?, at(1e-2)?);
        evidence.say(format!("window {small}: {low:.3} and {middle:.3} at 1e-4 and 1e-3, {high:.3} at 1e-2"));
        evidence.must(high > middle && high > low, format!("window {small}: loss does not help"));
    }
    Some(evidence.claim(
        "3",
        "T_normal 40, T_error 5 ms: with large windows efficiency falls with loss; with small ones a loss of 1e-2 has more than lower ones",
    ))
}

fn sscop(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let mut all = 0.0;
    for (figure, name) in [("figure-9", "independent"), ("figure-10", "in bursts")] {
        let mut margins = Vec::new();
        for loss in [1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1] {
            let adaptive = study.interval(figure, "adaptive", &[("loss", json!(loss))])?;
            for poll in [10, 40] {
                let keys = [("timer_poll_ms", json!(poll)), ("loss", json!(loss))];
                let margin = adaptive.minus(study.interval(figure, "sscop", &keys)?);
                let mark = if margin.is_surely_above(0.0) { "" } else { " (undecided)" };
                margins.push(format!("{:+.4}{mark}", margin.mean));
                let loses = margin.is_surely_below(0.0);
                evidence.must(!loses, format!("{name}, {loss:e}, Timer_POLL {poll} ms: {:+.4}", margin.mean));
                all += margin.mean;
            }
        }
        let list = margins.chunks(2).map(|two| two.join(" ")).collect::<Vec<_>>().join(", ");
        evidence
            .say(format!("losses {name}, over 10 and 40 ms at 1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1: {list}"));
    }
    evidence.must(all > 0.0, "on average".to_owned());
    Some(evidence.claim(
        "4",
        "Adaptive acknowledgement beats SSCOP with Timer_POLL of 10 and of 40 ms at every loss from 1e-5 to 1e-1, independent and in bursts",
    ))
}

#[cfg(test)]
mod tests;
