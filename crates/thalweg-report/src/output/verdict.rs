//! Verdicts on schemes: which won, by how much, and how sure that is.

use super::contest::{SchemeComparison, contests};
use super::text::{Scale, listed};
use crate::results::{Contention, Metric, SchemeResults};
use crate::statistics::{self, Estimate};

/// The judgement of which scheme is first in one thing that schemes compete in.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The thing that the schemes compete in.
    pub subject: &'static str,
    /// The scheme that leads; none where the first ones are equal or their values are not settled.
    pub leader: Option<String>,
    /// The certainty of the verdict.
    pub certainty: Certainty,
    /// The schemes that may be first: the leader, those equal to it, and those whose distance from it may be chance.
    pub first: Vec<String>,
    /// The schemes whose distance from the leader matters and is more than chance.
    pub behind: Vec<String>,
    /// The number of comparisons that its certainty is corrected for.
    pub comparisons: usize,
    /// All of it in words.
    pub sentence: String,
}

/// The certainty of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// The difference between the first two is less than matters.
    Equal,
    /// One run each, or several that are the same: nothing is known about chance.
    SingleRun,
    /// The lead matters and is more than chance, also where many schemes and metrics are compared.
    Significant,
    /// It may be chance.
    Open,
    /// Values of some scheme count what came before counting began: none is named.
    Unsettled,
}

/// The verdict on each thing that can be decided. A difference is none that is below `margin`, a share of
/// the worse one's value. With `contention`, where flows compete over different sets of full links, what they carry together decides
/// nothing.
pub fn verdicts(schemes: &[SchemeResults], margin: f64, contention: Option<&Contention>) -> Vec<Verdict> {
    let contests = contests(schemes, margin, contention);
    let tests = Tests::of(&contests);
    let judge = |(number, contest): (usize, &SchemeComparison<'_>)| {
        Judge { contest, number, tests: &tests, margin }.verdict()
    };
    contests.iter().enumerate().filter_map(judge).collect()
}

/// The decisions behind verdicts, for tables that must not contradict them.
pub(super) struct Decisions<'a> {
    contests: Vec<SchemeComparison<'a>>,
    tests: Tests,
}

impl<'a> Decisions<'a> {
    /// Those on these schemes.
    pub fn of(schemes: &'a [SchemeResults], margin: f64, contention: Option<&Contention>) -> Self {
        let contests = contests(schemes, margin, contention);
        Self { tests: Tests::of(&contests), contests }
    }

    /// True unless the verdict on this metric, which may be on other flows or group by group, finds that the difference of `scheme` to
    /// `against` may be chance, or is in the other direction.
    pub fn allow(&self, metric: Metric, scheme: &str, against: &str, difference: f64) -> bool {
        let Some(number) = self.contests.iter().position(|contest| contest.metric == metric) else {
            return true;
        };
        let contest = &self.contests[number];
        let place = |name: &str| contest.rivals.iter().position(|rival| rival.scheme == name);
        let (Some(a), Some(b)) = (place(scheme), place(against)) else { return false };
        let is_more = contest.rivals[a].mean > contest.rivals[b].mean;
        let p = self.tests.p(number, a.min(b), a.max(b));
        is_more == (difference > 0.0) && p.is_some_and(|p| p < 0.05)
    }
}

/// The p-values of all pairs of schemes in all contests, corrected for their number. All pairs count, although each contest only
/// tells of those with its leader: which leads is known only after the runs.
struct Tests {
    /// By contest and the positions of the two rivals, the better one first.
    p: Vec<((usize, usize, usize), f64)>,
}

impl Tests {
    fn of(contests: &[SchemeComparison<'_>]) -> Self {
        let mut pairs = Vec::new();
        for (number, contest) in contests.iter().enumerate() {
            for (a, better) in contest.rivals.iter().enumerate() {
                for (b, worse) in contest.rivals.iter().enumerate().skip(a + 1) {
                    let alike = better.always_the_same() && worse.always_the_same();
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

    fn p(&self, contest: usize, a: usize, b: usize) -> Option<f64> {
        self.p.iter().find(|(key, _)| *key == (contest, a, b)).map(|(_, p)| *p)
    }
}

/// One contest, about to be decided.
struct Judge<'a> {
    contest: &'a SchemeComparison<'a>,
    number: usize,
    tests: &'a Tests,
    margin: f64,
}

/// The lead of the best scheme of a contest over another one.
struct Lead {
    /// By how much it is better, seed by seed.
    by: Estimate,
    /// As a share of the other one's value.
    relative: f64,
    /// The corrected p-value, where chance can be judged.
    p: Option<f64>,
    certainty: Certainty,
}

impl Judge<'_> {
    /// The verdict: which scheme won, by how much over the next one, and whether that may be chance.
    fn verdict(&self) -> Option<Verdict> {
        let rivals = &self.contest.rivals;
        if rivals.len() < 2 {
            return Some(self.unsettled());
        }
        let leads: Vec<Lead> = (1..rivals.len()).map(|of| self.lead(of)).collect::<Option<_>>()?;
        let next = leads.first()?;
        let of = |accepts: fn(&Lead) -> bool| {
            let found = rivals.iter().skip(1).zip(&leads).filter(move |(_, lead)| accepts(lead));
            found.map(|(rival, _)| rival.scheme.to_owned()).collect::<Vec<String>>()
        };
        let is_behind = |lead: &Lead| lead.certainty == Certainty::Significant;
        let (behind, mut first) = (of(is_behind), of(|lead| lead.certainty != Certainty::Significant));
        first.insert(0, rivals[0].scheme.to_owned());
        let SchemeComparison { note, .. } = self.contest;
        let sentence = format!("{}{}{}{note}", self.first(&leads), self.last(&leads), self.left_out());
        let leader = (next.certainty != Certainty::Equal).then(|| rivals[0].scheme.to_owned());
        Some(Verdict {
            subject: self.contest.subject,
            leader,
            certainty: next.certainty,
            first,
            behind,
            comparisons: self.tests.p.len(),
            sentence,
        })
    }

    /// No verdict, with what to do for one.
    fn unsettled(&self) -> Verdict {
        let SchemeComparison { subject, from_before, rivals, note, .. } = self.contest;
        let all =
            rivals.iter().map(|rival| rival.scheme).chain(from_before.iter().map(|(scheme, _)| *scheme));
        Verdict {
            subject,
            leader: None,
            certainty: Certainty::Unsettled,
            first: all.map(str::to_owned).collect(),
            behind: Vec::new(),
            comparisons: self.tests.p.len(),
            sentence: format!("No verdict on {subject}: {}{note}", self.early()),
        }
    }

    /// That some schemes are not judged, and why; empty where all are.
    fn left_out(&self) -> String {
        let names: Vec<&str> = self.contest.from_before.iter().map(|(scheme, _)| *scheme).collect();
        let verb = if names.len() == 1 { "is" } else { "are" };
        if names.is_empty() {
            return String::new();
        }
        format!(" {} {verb} not judged: {}", listed(&names), self.early())
    }

    /// The reason why schemes are not judged, and what to do.
    fn early(&self) -> String {
        let share = |(scheme, share): &(&str, f64)| format!("{scheme} ({})", Scale::PERCENT.fixed(*share, 1));
        let shares: Vec<String> = self.contest.from_before.iter().map(share).collect();
        let shares: Vec<&str> = shares.iter().map(String::as_str).collect();
        format!(
            "the goodput of {} counts data that came during the warm-up and was held back by losses being repaired; set a later \
             `warmup`, or a longer `duration`.",
            listed(&shares)
        )
    }

    /// The lead of the first over the rival at a position; `None` where there is no seed under which both have a value.
    fn lead(&self, position: usize) -> Option<Lead> {
        self.lead_of(0, position)
    }

    /// The lead of a rival over one behind it.
    fn lead_of(&self, better: usize, position: usize) -> Option<Lead> {
        let (best, other) = (&self.contest.rivals[better], &self.contest.rivals[position]);
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
        Some(Lead { by, relative, p, certainty })
    }

    /// The sentence on the first two, or on all that are equal.
    fn first(&self, leads: &[Lead]) -> String {
        let SchemeComparison { subject, won, than, of, scale, rivals, .. } = self.contest;
        let (best, next, lead) = (&rivals[0], &rivals[1], &leads[0]);
        let (first, second, mean) = (best.scheme, next.scheme, scale(best.mean).value(best.mean));
        let mut by = self.size(lead);
        if lead.relative.is_finite() {
            by.push_str(&format!(" ({})", Scale::PERCENT.fixed(lead.relative, 1)));
        }
        // Of several runs only one may have a value of both, as where few transfers end.
        let is_rare = lead.by.n == 1 && best.values.len() > 1;
        let single = match lead.by.n {
            1 if is_rare => " in the one run in which both have a value",
            1 => " in this one run",
            _ => "",
        };
        match lead.certainty {
            Certainty::Equal => {
                let equal = leads.iter().take_while(|lead| lead.certainty == Certainty::Equal).count();
                let names: Vec<&str> = rivals[..=equal].iter().map(|rival| rival.scheme).collect();
                format!(
                    "{} are equal within {} in {subject}{single}: {mean}{of}.",
                    listed(&names),
                    percent(self.margin)
                )
            }
            Certainty::SingleRun if is_rare => {
                format!("{first} {won}: {mean}{of}; {by} {than} {second}{single}.")
            }
            Certainty::SingleRun => {
                let same = if lead.by.n > 1 {
                    "; the runs do not differ in this, which tells nothing of chance"
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
                let excludes = match lead.by.excludes_zero() {
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

    /// The sentence on the last one, where there are more than those of the first sentence: it is behind the next to last by as
    /// much, and as surely, as a winner is ahead. Of several that are not told apart all are named.
    fn last(&self, leads: &[Lead]) -> String {
        let SchemeComparison { rivals, scale, .. } = self.contest;
        let is_decided =
            |lead: &Lead| matches!(lead.certainty, Certainty::Significant | Certainty::SingleRun);
        let end = rivals.len() - 1;
        // Those before the last that are not told apart from it.
        let alike = |&place: &usize| self.lead_of(place, end).is_none_or(|lead| !is_decided(&lead));
        let from = end - (1..end).rev().take_while(alike).count();
        if leads.len() < 2 || !leads[from - 1..].iter().all(is_decided) {
            return String::new();
        }
        let last = &rivals[end];
        let value = |of: f64| scale(of).value(of);
        let (more, less) = (last.mean.max(rivals[0].mean), last.mean.min(rivals[0].mean));
        let ratio = match more / less {
            times if times.is_finite() && times >= 2.0 => {
                let of = if last.mean < rivals[0].mean { "of which the first has" } else { "which is" };
                format!(", {of} {times:.1} times as much")
            }
            _ => String::new(),
        };
        let names: Vec<&str> = rivals[from..].iter().map(|rival| rival.scheme).collect();
        match names.as_slice() {
            [_] => format!(" {} is last with {}{ratio}.", last.scheme, value(last.mean)),
            names => {
                let (nearer, farther) = (value(rivals[from].mean), value(last.mean));
                format!(" {} are last with {nearer} to {farther}, and not told apart.", listed(names))
            }
        }
    }

    /// The size of a lead, with its unit.
    fn size(&self, lead: &Lead) -> String {
        (self.contest.scale)(lead.by.mean).value(lead.by.mean.abs())
    }

    /// The interval of the size of a lead, so that it reads the same way where less is better.
    fn interval(&self, lead: &Lead) -> String {
        let (size, half) = (lead.by.mean.abs(), lead.by.ci95.unwrap_or(0.0));
        (self.contest.scale)(lead.by.mean).range(size - half, size + half)
    }

    /// That the many comparisons are corrected for, where there are several.
    fn corrected(&self, lead: &Lead, word: &str) -> String {
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

/// A share without digits that say nothing: "1 %", "0.5 %".
fn percent(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
