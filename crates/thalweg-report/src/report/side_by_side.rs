//! Several results on one page and one axis: a simulation and a live run of it, or runs before and after a change.

use super::report_series::AllSeries;
use super::{View, draw_figure, first_screen, report_page};
use crate::output::{format_count, join_listed};
use crate::results::Document;
use serde::Deserialize;
use thalweg_sim::simulation_spec::Spec;

/// Results with the label that distinguishes them.
#[derive(Clone, Debug)]
pub struct Part {
    /// Label.
    pub label: String,
    /// Results.
    pub document: Document,
    /// Their series.
    pub series: AllSeries,
    /// Fidelity record of a live run.
    pub fidelity: Option<Fidelity>,
}

/// Fidelity record of a live run: whether its host kept up.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Fidelity {
    /// True if it did.
    pub valid: bool,
    /// Reasons why it did not.
    #[serde(default)]
    pub why_not: Vec<String>,
}

impl Fidelity {
    /// Parses the content of `fidelity.json`.
    ///
    /// # Errors
    ///
    /// The reason if the text has another format.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

/// Results side by side.
#[derive(Clone, Debug)]
pub struct SideBySide {
    document: Document,
    series: AllSeries,
    notes: Vec<String>,
    warnings: Vec<String>,
}

impl SideBySide {
    /// Joins results; `None` without any. The first ones are the reference of differences.
    pub fn join(parts: Vec<Part>) -> Option<Self> {
        let (mut notes, mut warnings) = (Vec::new(), Vec::new());
        let live: Vec<&str> = parts.iter().filter(|part| part.is_live()).map(|part| &*part.label).collect();
        if !live.is_empty() {
            notes.push(format!(
                "Live: {}. Goodput and delay are those of packets in the network; windows and round-trip times are the senders\u{2019}.",
                join_listed(&live)
            ));
        }
        for part in &parts {
            match &part.fidelity {
                Some(Fidelity { valid: false, why_not }) => warnings.push(format!(
                    "{} is NOT VALID: {}.",
                    part.label,
                    if why_not.is_empty() {
                        "its host did not keep up".to_owned()
                    } else {
                        why_not.join("; ")
                    }
                )),
                Some(_) => notes.push(format!("{} is valid: its host kept up.", part.label)),
                None if part.is_live() => {
                    warnings.push(format!("{} has no fidelity record of its host.", part.label));
                }
                None => {}
            }
            if !part.document.complete {
                warnings.push(format!("{} is partial: its runs were interrupted.", part.label));
            }
        }
        warnings.extend(incomparability_sentences(&parts));
        let mut series = AllSeries::default();
        let mut documents = Vec::with_capacity(parts.len());
        for Part { label, document, series: own, .. } in parts {
            series.join(&label, own);
            documents.push((label, document));
        }
        Some(Self { document: Document::side_by_side(documents)?, series, notes, warnings })
    }

    /// Returns the page. `spec` is the network of the first results, if known.
    pub fn page(&self, spec: Option<&Spec>) -> String {
        let answer = first_screen::side_by_side(&self.document, &self.notes, &self.warnings);
        report_page(&self.document, &self.series, spec, &[], answer)
    }

    /// Returns the picture in SVG.
    pub fn figure(&self, view: &View) -> String {
        draw_figure(&self.document, &self.series, view)
    }
}

impl Part {
    fn is_live(&self) -> bool {
        self.document.runs().any(|(_, run)| run.is_live())
    }
}

/// Returns sentences on differences that make the results incomparable.
fn incomparability_sentences(parts: &[Part]) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut check = |what: &str, of: &dyn Fn(&Part) -> String| {
        let values: Vec<String> = parts.iter().map(of).collect();
        if values.windows(2).any(|pair| pair[0] != pair[1]) {
            let each: Vec<String> =
                parts.iter().zip(&values).map(|(part, value)| format!("{} {value}", part.label)).collect();
            sentences.push(format!("They differ in {what}: {}.", each.join(", ")));
        }
    };
    check("their warm-up", &|part| format!("{} s", part.document.warmup_s));
    check("their number of runs", &|part| format_count(part.document.seeds.len() as u64, "run"));
    check("the version of the program", &|part| part.document.tool.version.clone());
    // A live run ends when its commands do.
    let durations = || parts.iter().map(|part| part.document.duration_s);
    let (shortest, longest) = (durations().fold(f64::MAX, f64::min), durations().fold(0.0, f64::max));
    if longest > shortest * 1.2 {
        check("their duration", &|part| format!("{:.1} s", part.document.duration_s));
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::RunKey;
    use crate::results::Run;
    use crate::results::test_fixtures::{run_result, test_header, test_spec};

    fn part(label: &str, mbits: u64, is_live: bool) -> Part {
        let mut result = run_result(1, mbits);
        if is_live {
            result
                .groups
                .iter_mut()
                .for_each(|group| thalweg_sim::live_network::SCHEME.clone_into(&mut group.scheme));
        }
        let document = Document::from_runs(test_header(&[1]), vec![Run::from_result(&result)]);
        let mut series = AllSeries::default();
        series.add(RunKey { scheme: "", seed: 1 }, &result);
        Part { label: label.to_owned(), document, series, fidelity: None }
    }

    #[test]
    fn a_live_run_is_shown_beside_its_simulation() {
        let mut live = part("<live>", 60, true);
        live.fidelity =
            Fidelity::from_json(r#"{"valid": false, "why_not": ["late by 3 ms"], "more": 1}"#).ok();
        let beside = SideBySide::join(vec![part("simulated", 75, false), live]).unwrap();
        let page = beside.page(Some(&test_spec()));
        // 60 + 20 Mbit/s are 15.8 % less than 75 + 20.
        for expected in [
            "Difference from simulated",
            ">-15.8 %</td>",
            "&lt;live&gt; is NOT VALID: late by 3 ms.",
            "simulated and live",
            "\"schemes\":[\"simulated\",\"\\u003clive>\"]",
        ] {
            assert!(page.contains(expected), "no `{expected}`");
        }
        assert!(!page.contains("Sure: more than chance") && !page.contains("<live>"));
        assert!(beside.figure(&View::default()).contains(">simulated</text>"));
        assert!(SideBySide::join(Vec::new()).is_none());
    }

    #[test]
    fn results_that_cannot_be_compared_are_marked() {
        let mut other = part("after", 75, false);
        other.document.warmup_s += 1.0;
        other.document.seeds = vec![1, 2];
        other.document.duration_s *= 2.0;
        other.document.complete = false;
        let page = SideBySide::join(vec![part("before", 75, false), other]).unwrap().page(None);
        for expected in ["their warm-up: before", "after 2 runs", "their duration", "after is partial"] {
            assert!(page.contains(expected), "no `{expected}`");
        }
    }
}
