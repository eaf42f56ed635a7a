//! The claims of the paper, decided by our runs.

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

    /// Losses of 1e-5 take long with most windows, and are an experiment of their own.
    fn window(&self, window: u32, loss: f64) -> Option<Interval> {
        let keys = [("window", json!(window)), ("loss", json!(loss))];
        let of = |figure| self.interval(figure, "adaptive", &keys);
        of("figure-8").or_else(|| of("figure-8-long"))
    }

    fn interval(&self, figure: &str, scheme: &str, keys: &[(&str, Value)]) -> Option<Interval> {
        Interval::of(self.0.row(&format!("ours/{figure}"), scheme, EFFICIENCY, keys)?)
    }
}

fn list(values: &[Interval]) -> String {
    values.iter().map(|value| format!("{:.4}", value.mean)).collect::<Vec<_>>().join(" ")
}

/// Each value must be above the next. A step that chance may explain, as the 95 % interval of its difference includes 0,
/// speaks neither for it nor against it; the first must be surely above the last.
fn must_fall(evidence: &mut Evidence, name: &str, values: &[Interval]) {
    let steps = || values.windows(2).map(|two| two[0].minus(two[1]));
    let rises = steps().any(|step| step.is_surely_below(0.0));
    let (first, last) = (values.first(), values.last());
    let falls = first.zip(last).is_some_and(|(first, last)| first.minus(*last).is_surely_above(0.0));
    let undecided = steps().filter(|step| !step.is_surely_above(0.0) && !step.is_surely_below(0.0)).count();
    if undecided > 0 {
        evidence.say(format!("{undecided} of these {} steps undecided at 95 %", steps().count()));
    }
    evidence.must(falls && !rises, name.to_owned());
}

fn normal(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    for figure in ["figure-5", "figure-6"] {
        let at = |times: &[u32]| {
            let of = |&time| {
                let keys = [("T_normal_ms", json!(time)), ("T_error_ms", json!(5))];
                study.interval(figure, "adaptive", &keys)
            };
            times.iter().map(of).collect::<Option<Vec<Interval>>>()
        };
        // From the largest to the smallest.
        let (rise, fall) = (at(&[40, 30, 20, 10, 5])?, at(&[40, 50, 60, 80, 100])?);
        evidence.say(format!("{figure}, T_normal 40, 30, 20, 10, 5 ms: {}", list(&rise)));
        must_fall(&mut evidence, &format!("{figure}: no rise up to 40 ms"), &rise);
        evidence.say(format!("40, 50, 60, 80, 100 ms: {}", list(&fall)));
        must_fall(&mut evidence, &format!("{figure}: no fall from 40 ms on"), &fall);
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
    let list = values.iter().map(|value| format!("{value:.4}")).collect::<Vec<_>>().join(" ");
    evidence.say(format!("T_error 1, 2, 3, 5, 7, 10, 12, 15, 20, 30, 40 ms: {list}"));
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
    for large in [400, 500, 1000] {
        let at = |losses: &[f64]| {
            losses.iter().map(|&loss| study.window(large, loss)).collect::<Option<Vec<Interval>>>()
        };
        let (rarest, values) = match at(&[1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1]) {
            Some(values) => ("1e-5, ", values),
            None => ("", at(&[1e-4, 1e-3, 1e-2, 3e-2, 1e-1])?),
        };
        evidence.say(format!("window {large}, loss {rarest}1e-4, 1e-3, 1e-2, 3e-2, 1e-1: {}", list(&values)));
        must_fall(&mut evidence, &format!("window {large}: efficiency does not fall with loss"), &values);
    }
    for small in [50, 100, 150, 200] {
        let rare = [1e-5, 1e-4, 1e-3].iter().filter_map(|&loss| Some((loss, study.window(small, loss)?)));
        let (rare, high) = (rare.collect::<Vec<_>>(), study.window(small, 1e-2)?);
        for loss in [1e-4, 1e-3] {
            rare.iter().find(|(of, _)| *of == loss)?;
        }
        let means: Vec<String> =
            rare.iter().map(|(loss, value)| format!("{:.3} at {loss:e}", value.mean)).collect();
        evidence.say(format!("window {small}: {}, {:.3} at 1e-2", means.join(", "), high.mean));
        let helps = rare.iter().all(|(_, value)| high.minus(*value).is_surely_above(0.0));
        evidence.must(helps, format!("window {small}: loss does not help"));
    }
    Some(evidence.claim(
        "3",
        "T_normal 40, T_error 5 ms: with large windows efficiency falls with loss; with small ones a loss of 1e-2 has more than lower ones",
    ))
}

fn sscop(study: &Study<'_>) -> Option<Claim> {
    let mut evidence = Evidence::default();
    let (mut all, mut differences, mut undecided) = (0.0, 0, 0);
    for (figure, name) in [("figure-9", "independent"), ("figure-10", "in bursts")] {
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
                evidence.must(!loses, format!("{name}, {loss:e}, Timer_POLL {poll} ms: {:+.4}", margin.mean));
                all += margin.mean;
            }
        }
        let list = margins.chunks(2).map(|two| two.join(" ")).collect::<Vec<_>>().join(", ");
        evidence
            .say(format!("losses {name}, over 10 and 40 ms at 1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1: {list}"));
    }
    evidence.say(format!(
        "{undecided} of {differences} differences undecided, as their 95 % intervals over the seeds include 0"
    ));
    evidence.must(all > 0.0, "on average".to_owned());
    Some(evidence.claim(
        "4",
        "Adaptive acknowledgement beats SSCOP with Timer_POLL of 10 and of 40 ms at every loss from 1e-5 to 1e-1, independent and in bursts",
    ))
}

#[cfg(test)]
mod tests;
