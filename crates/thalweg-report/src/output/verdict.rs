//! Verdicts on schemes: the winner, its lead and its statistical significance.

use super::comparison_criterion::{Exclusion, ExclusionCause, SchemeComparison, compare_by_all_criteria};
use super::identical_runs::are_all_identical;
use super::number_format::{Scale, format_factor, join_listed};
use crate::results::{Contention, Metric, SchemeResults};
use crate::statistics::{self, Estimate};

/// Verdict on one criterion of comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Criterion.
    pub subject: &'static str,
    /// Leading scheme; `None` where the first ones are equal or their values have not settled.
    pub leader: Option<String>,
    /// Certainty of the verdict.
    pub certainty: Certainty,
    /// Schemes that may be first: the leader, those equal to it, and those not significantly behind.
    pub first: Vec<String>,
    /// Schemes significantly behind the leader, by more than the margin.
    pub behind: Vec<String>,
    /// Number of comparisons that the p-values are corrected for.
    pub comparisons: usize,
    /// Verdict as text.
    pub sentence: String,
}

/// Certainty of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// The difference between the first two is below the margin.
    Equal,
    /// One run each, or several identical ones: significance is unknown.
    SingleRun,
    /// The lead exceeds the margin and is significant, corrected for the number of schemes and metrics.
    Significant,
    /// The lead is not significant.
    Open,
    /// Values of some scheme count data from the warm-up, or omit more unfinished transfers: there is no leader.
    Unsettled,
}

/// Returns the verdict on each criterion that can be decided. A difference below `margin`, a share of the worse value,
/// is ignored. With `contention`, where flows compete over different sets of full links, their total goodput decides
/// nothing. Where all runs are identical there is nothing to decide.
pub fn decide_verdicts(
    schemes: &[SchemeResults],
    margin: f64,
    contention: Option<&Contention>,
) -> Vec<Verdict> {
    if are_all_identical(schemes) {
        return Vec::new();
    }
    let criteria = compare_by_all_criteria(schemes, margin, contention);
    let tests = Tests::from_criteria(&criteria);
    let decide = |(number, criterion): (usize, &SchemeComparison<'_>)| {
        Decision { criterion, number, tests: &tests, margin }.verdict()
    };
    criteria.iter().enumerate().filter_map(decide).collect()
}

/// Decisions behind verdicts, shared with the tables for consistency.
pub(super) struct Decisions<'a> {
    criteria: Vec<SchemeComparison<'a>>,
    tests: Tests,
}

impl<'a> Decisions<'a> {
    /// Computes the decisions on these schemes.
    pub fn new(schemes: &'a [SchemeResults], margin: f64, contention: Option<&Contention>) -> Self {
        let criteria = compare_by_all_criteria(schemes, margin, contention);
        Self { tests: Tests::from_criteria(&criteria), criteria }
    }

    /// Returns true unless the verdict on this metric, possibly over other flows or by group, finds the difference of
    /// `scheme` to `against` not significant or of the opposite sign.
    pub fn allow(&self, metric: Metric, scheme: &str, against: &str, difference: f64) -> bool {
        let Some(number) = self.criteria.iter().position(|criterion| criterion.metric == metric) else {
            return true;
        };
        let criterion = &self.criteria[number];
        let place = |name: &str| criterion.candidates.iter().position(|candidate| candidate.scheme == name);
        let (Some(a), Some(b)) = (place(scheme), place(against)) else { return false };
        let is_more = criterion.candidates[a].mean > criterion.candidates[b].mean;
        let p = self.tests.p(number, a.min(b), a.max(b));
        is_more == (difference > 0.0) && p.is_some_and(|p| p < 0.05)
    }
}

/// P-values of all pairs of schemes in all criteria, corrected for their number. All pairs count, although each verdict
/// only names those with its leader: the leader is known only after the runs.
struct Tests {
    /// P-values by criterion and the positions of the two schemes, the better one first.
    p: Vec<((usize, usize, usize), f64)>,
}

impl Tests {
    fn from_criteria(criteria: &[SchemeComparison<'_>]) -> Self {
        let mut pairs = Vec::new();
        for (number, criterion) in criteria.iter().enumerate() {
            for (a, better) in criterion.candidates.iter().enumerate() {
                for (b, worse) in criterion.candidates.iter().enumerate().skip(a + 1) {
                    let alike = better.is_constant() && worse.is_constant();
                    let p = statistics::paired_difference(&better.values, &worse.values)
                        .filter(|_| !alike)
                        .and_then(|lead| lead.p_value());
                    pairs.extend(p.map(|p| ((number, a, b), p)));
                }
            }
        }
        let raw: Vec<f64> = pairs.iter().map(|(_, p)| *p).collect();
        let keys = pairs.into_iter().map(|(key, _)| key);
        Self { p: keys.zip(statistics::holm(&raw)).collect() }
    }

    fn p(&self, criterion: usize, a: usize, b: usize) -> Option<f64> {
        self.p.iter().find(|(key, _)| *key == (criterion, a, b)).map(|(_, p)| *p)
    }
}

/// Criterion to decide.
struct Decision<'a> {
    criterion: &'a SchemeComparison<'a>,
    number: usize,
    tests: &'a Tests,
    margin: f64,
}

/// Lead of the best scheme over another one.
struct SchemeLead {
    /// Paired improvement by seed.
    improvement: Estimate,
    /// Lead as a share of the other scheme's value.
    relative: f64,
    /// Corrected p-value, where significance can be tested.
    p: Option<f64>,
    certainty: Certainty,
}

impl Decision<'_> {
    /// Returns the verdict: the winner, its lead over the next scheme, and its significance.
    fn verdict(&self) -> Option<Verdict> {
        let candidates = &self.criterion.candidates;
        if candidates.len() < 2 {
            return Some(self.unsettled());
        }
        let leads: Vec<SchemeLead> = (1..candidates.len()).map(|of| self.lead(of)).collect::<Option<_>>()?;
        let next = leads.first()?;
        let of = |accepts: fn(&SchemeLead) -> bool| {
            let found = candidates.iter().skip(1).zip(&leads).filter(move |(_, lead)| accepts(lead));
            found.map(|(candidate, _)| candidate.scheme.to_owned()).collect::<Vec<String>>()
        };
        let is_behind = |lead: &SchemeLead| lead.certainty == Certainty::Significant;
        let (behind, mut first) = (of(is_behind), of(|lead| lead.certainty != Certainty::Significant));
        first.insert(0, candidates[0].scheme.to_owned());
        let SchemeComparison { note, .. } = self.criterion;
        let sentence =
            format!("{}{}{}{note}", self.first_sentence(&leads), self.last_sentence(&leads), self.left_out());
        let leader = (next.certainty != Certainty::Equal).then(|| candidates[0].scheme.to_owned());
        Some(Verdict {
            subject: self.criterion.subject,
            leader,
            certainty: next.certainty,
            first,
            behind,
            comparisons: self.tests.p.len(),
            sentence,
        })
    }

    /// Returns a verdict without a leader, with advice on how to get one.
    fn unsettled(&self) -> Verdict {
        let SchemeComparison { subject, exclusion, candidates, note, .. } = self.criterion;
        let excluded = exclusion.iter().flat_map(Exclusion::names);
        let all = candidates.iter().map(|candidate| candidate.scheme).chain(excluded);
        Verdict {
            subject,
            leader: None,
            certainty: Certainty::Unsettled,
            first: all.map(str::to_owned).collect(),
            behind: Vec::new(),
            comparisons: self.tests.p.len(),
            sentence: format!(
                "No verdict on {subject}: {}{note}",
                exclusion.as_ref().map(explain_exclusion).unwrap_or_default()
            ),
        }
    }

    /// Returns the note that some schemes are not judged, and why; empty where all are.
    fn left_out(&self) -> String {
        let Some(exclusion) = &self.criterion.exclusion else { return String::new() };
        let names: Vec<&str> = exclusion.names().collect();
        let verb = if names.len() == 1 { "is" } else { "are" };
        format!(" {} {verb} not judged: {}", join_listed(&names), explain_exclusion(exclusion))
    }

    /// Returns the lead of the first over the scheme at a position; `None` where no seed has a value for both.
    fn lead(&self, position: usize) -> Option<SchemeLead> {
        self.lead_of(0, position)
    }

    /// Returns the lead of a scheme over one ranked below.
    fn lead_of(&self, better: usize, position: usize) -> Option<SchemeLead> {
        let (best, other) = (&self.criterion.candidates[better], &self.criterion.candidates[position]);
        let by = statistics::paired_difference(&other.values, &best.values)?;
        let size = by.mean.abs();
        let share = |of: f64| if of == 0.0 { 0.0 } else { of / other.mean.abs() };
        let relative = share(size);
        let p = self.tests.p(self.number, better, position);
        let half = by.ci95.filter(|_| p.is_some());
        let certainty = match (half, p) {
            (Some(half), _) if share(size + half) < self.margin => Certainty::Equal,
            (Some(half), _) if relative < self.margin && size > half => Certainty::Equal,
            (Some(_), Some(p)) if relative >= self.margin && p < 0.05 => Certainty::Significant,
            (Some(_), Some(_)) => Certainty::Open,
            _ if relative < self.margin => Certainty::Equal,
            _ => Certainty::SingleRun,
        };
        Some(SchemeLead { improvement: by, relative, p, certainty })
    }

    /// Returns the sentence on the first two, or on all that are equal.
    fn first_sentence(&self, leads: &[SchemeLead]) -> String {
        let SchemeComparison { subject, won, than, of, scale, candidates, .. } = self.criterion;
        let (best, next, lead) = (&candidates[0], &candidates[1], &leads[0]);
        let (first, second, mean) = (best.scheme, next.scheme, scale(best.mean).value(best.mean));
        let mut by = self.size(lead);
        if lead.relative.is_finite() {
            by.push_str(&format!(" ({})", Scale::PERCENT.fixed(lead.relative, 1)));
        }
        // Of several runs only one may have values for both, for example where few transfers end.
        let is_rare = lead.improvement.n == 1 && best.values.len() > 1;
        let single = match lead.improvement.n {
            1 if is_rare => " in the one run in which both have a value",
            1 => " in this one run",
            _ => "",
        };
        match lead.certainty {
            Certainty::Equal => {
                let equal = leads.iter().take_while(|lead| lead.certainty == Certainty::Equal).count();
                let names: Vec<&str> =
                    candidates[..=equal].iter().map(|candidate| candidate.scheme).collect();
                let is_exact = |lead: &SchemeLead| (lead.improvement.min, lead.improvement.max) == (0.0, 0.0);
                let within = match leads[..equal].iter().all(is_exact) {
                    true => String::new(),
                    false => format!(" within {}", format_percent(self.margin)),
                };
                format!("{} are equal{within} in {subject}{single}: {mean}{of}.", join_listed(&names))
            }
            Certainty::SingleRun if is_rare => {
                format!("{first} {won}: {mean}{of}; {by} {than} {second}{single}.")
            }
            Certainty::SingleRun => {
                let same = if lead.improvement.n > 1 {
                    "; the runs do not differ in this, and show no random variation"
                } else {
                    ""
                };
                format!("{first} {won}{single}: {mean}{of}, {by} {than} {second}{same}.")
            }
            Certainty::Significant => format!(
                "{first} {won}: {mean}{of}, {by} {than} {second}; the paired 95 % interval of that difference, {}, \
                 excludes zero{}.",
                self.interval(lead),
                self.corrected(lead, ", also")
            ),
            Certainty::Open | Certainty::Unsettled => {
                let interval = self.interval(lead);
                let excludes = match lead.improvement.excludes_zero() {
                    Some(true) if lead.p.is_some_and(|p| p >= 0.05) => {
                        format!("excludes zero only by itself{}", self.corrected(lead, ", not"))
                    }
                    _ => "includes zero".to_owned(),
                };
                format!(
                    "No clear winner in {subject}: {first} leads {second} by {by}{of}, but the paired 95 % interval of that \
                     lead, {interval}, {excludes}."
                )
            }
        }
    }

    /// Returns the sentence on the last scheme, where the first sentence leaves some out: the size and significance of
    /// its gap to the next to last. Lists all schemes that are indistinguishable from it.
    fn last_sentence(&self, leads: &[SchemeLead]) -> String {
        let SchemeComparison { candidates, scale, .. } = self.criterion;
        let is_decided =
            |lead: &SchemeLead| matches!(lead.certainty, Certainty::Significant | Certainty::SingleRun);
        let end = candidates.len() - 1;
        // Schemes above the last that are indistinguishable from it.
        let alike = |&place: &usize| self.lead_of(place, end).is_none_or(|lead| !is_decided(&lead));
        let from = end - (1..end).rev().take_while(alike).count();
        if leads.len() < 2 || !leads[from - 1..].iter().all(is_decided) {
            return String::new();
        }
        let last = &candidates[end];
        let value = |of: f64| scale(of).value(of);
        let (more, less) = (last.mean.max(candidates[0].mean), last.mean.min(candidates[0].mean));
        let ratio = match more / less {
            times if times.is_finite() && times >= 2.0 => {
                let of = if last.mean < candidates[0].mean { "of which the first has" } else { "which is" };
                format!(", {of} {} times as much", format_factor(times))
            }
            _ => String::new(),
        };
        let names: Vec<&str> = candidates[from..].iter().map(|candidate| candidate.scheme).collect();
        match names.as_slice() {
            [_] => format!(" {} is last with {}{ratio}.", last.scheme, value(last.mean)),
            names => {
                let (nearer, farther) = (value(candidates[from].mean), value(last.mean));
                format!(
                    " {} are last with {nearer} to {farther}, and not distinguishable.",
                    join_listed(names)
                )
            }
        }
    }

    /// Formats the size of a lead with its unit.
    fn size(&self, lead: &SchemeLead) -> String {
        (self.criterion.scale)(lead.improvement.mean).value(lead.improvement.mean.abs())
    }

    /// Formats the interval of a lead's size, with the same sign convention for metrics where less is better.
    fn interval(&self, lead: &SchemeLead) -> String {
        let (size, half) = (lead.improvement.mean.abs(), lead.improvement.ci95.unwrap_or(0.0));
        (self.criterion.scale)(lead.improvement.mean).range(size - half, size + half)
    }

    /// Returns the note on the correction for multiple comparisons, where there are several.
    fn corrected(&self, lead: &SchemeLead, word: &str) -> String {
        let count = self.tests.p.len();
        match lead.p {
            Some(p) if count > 1 => {
                let p = if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") };
                format!("{word} by Holm's method for the {count} comparisons of all verdicts ({p})")
            }
            _ => String::new(),
        }
    }
}

/// Returns the reason why schemes are not judged, with advice.
fn explain_exclusion(of: &Exclusion<'_>) -> String {
    let share = |(scheme, share): &(&str, f64)| format!("{scheme} ({})", Scale::PERCENT.fixed(*share, 1));
    let shares: Vec<String> = of.schemes.iter().map(share).collect();
    let shares: Vec<&str> = shares.iter().map(String::as_str).collect();
    let shares = join_listed(&shares);
    match of.cause {
        ExclusionCause::WarmupData => format!(
            "the goodput of {shares} counts data that came during the warm-up and was delayed by loss recovery; set a later \
             `warmup`, or a longer `duration`."
        ),
        ExclusionCause::UnfinishedTransfers => format!(
            "the shorter times of {shares} omit more unfinished transfers than those of slower schemes; set a longer \
             `duration`, or an earlier `stop` of the flows."
        ),
    }
}

/// Formats a share without needless digits: "1 %", "0.5 %".
fn format_percent(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
