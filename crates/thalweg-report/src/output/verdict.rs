//! Who won, by how much, and how sure that is.

use super::text::Scale;
use crate::results::{Run, SchemeResults, Totals};
use crate::statistics::{self, Estimate};

/// Who is first in one thing that schemes compete in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verdict {
    /// What it is about.
    pub subject: &'static str,
    /// Who leads; none where the first two are equal.
    pub leader: Option<String>,
    /// How sure it is.
    pub certainty: Certainty,
    /// Who may be first: the leader, and those whose distance from it may be chance.
    pub first: Vec<String>,
    /// Whose distance from the leader is more than chance.
    pub behind: Vec<String>,
    /// All of it in words.
    pub sentence: String,
}

/// How sure a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// The first two did the same.
    Equal,
    /// One run each: nothing is known about chance.
    SingleRun,
    /// Every run gave the same values.
    NoChance,
    /// The paired 95 % interval of the lead excludes zero.
    Significant,
    /// It includes zero.
    Open,
}

impl Certainty {
    fn is_more_than_chance(self) -> bool {
        matches!(self, Self::Significant | Self::NoChance)
    }
}

/// The verdict on each thing that can be decided.
pub(crate) fn verdicts(schemes: &[SchemeResults]) -> Vec<Verdict> {
    CONTESTS.iter().filter_map(|contest| contest.verdict(schemes)).collect()
}

/// What schemes compete in, and the words to tell who won.
struct Contest {
    /// What the best one did.
    won: &'static str,
    /// How it relates to the next one.
    than: &'static str,
    /// What nobody won.
    subject: &'static str,
    higher_wins: bool,
    scale: fn(f64) -> Scale,
    value: fn(&Totals) -> Option<f64>,
    /// Meaningless where there is only one flow.
    needs_rivals: bool,
}

const CONTESTS: [Contest; 3] = [
    Contest {
        won: "carried most",
        than: "more than",
        subject: "goodput",
        higher_wins: true,
        scale: Scale::of_rate,
        value: |totals| Some(totals.goodput_bps as f64),
        needs_rivals: false,
    },
    Contest {
        won: "had the shortest mean delay",
        than: "less than",
        subject: "mean delay",
        higher_wins: false,
        scale: Scale::of_time,
        value: |totals| totals.delay_mean_s,
        needs_rivals: false,
    },
    Contest {
        won: "shared most evenly by Jain's index",
        than: "above",
        subject: "fairness",
        higher_wins: true,
        scale: |_| Scale::COUNT,
        value: |totals| Some(totals.jain),
        needs_rivals: true,
    },
];

impl Contest {
    /// Who won, by how much over the next one, and whether that may be chance.
    fn verdict(&self, schemes: &[SchemeResults]) -> Option<Verdict> {
        let flows = schemes.iter().flat_map(|of| &of.runs).map(|run| run.flows.len()).max()?;
        if self.needs_rivals && flows < 2 {
            return None;
        }
        let mut rivals: Vec<Rival<'_>> = schemes.iter().filter_map(|of| self.rival(of, schemes)).collect();
        let sign = if self.higher_wins { -1.0 } else { 1.0 };
        // The sort is stable: of equals, the one named first stays first.
        rivals.sort_by(|a, b| (sign * a.mean).total_cmp(&(sign * b.mean)));
        let [best, next, ..] = rivals.as_slice() else { return None };
        let lead = statistics::paired_difference(&next.values, &best.values)?;
        let certainty = certainty_of(best, next, &lead);
        let leader = (certainty != Certainty::Equal).then(|| best.scheme.to_owned());
        let sentence = self.sentence(best, next, &lead, certainty);
        let is_behind = |of: &Rival<'_>| {
            let lead = statistics::paired_difference(&of.values, &best.values);
            lead.is_some_and(|lead| certainty_of(best, of, &lead).is_more_than_chance())
        };
        let (behind, first): (Vec<&Rival<'_>>, Vec<&Rival<'_>>) = rivals.iter().partition(|of| is_behind(of));
        let names = |rivals: &[&Rival<'_>]| rivals.iter().map(|of| of.scheme.to_owned()).collect();
        let (first, behind) = (names(&first), names(&behind));
        Some(Verdict { subject: self.subject, leader, certainty, first, behind, sentence })
    }

    fn sentence(&self, best: &Rival<'_>, next: &Rival<'_>, lead: &Estimate, certainty: Certainty) -> String {
        let Self { won, than, subject, .. } = self;
        let (first, second) = (best.scheme, next.scheme);
        let scale = (self.scale)(best.mean);
        let mean = scale.value(best.mean);
        let difference = (self.scale)(lead.mean);
        let by = difference.value(lead.mean.abs());
        let relative = match next.mean {
            0.0 => String::new(),
            mean => format!(" ({})", Scale::PERCENT.fixed((lead.mean / mean).abs(), 1)),
        };
        // The interval of the size of the lead, so that it reads the same way where less is better.
        let (size, half) = (lead.mean.abs(), lead.ci95.unwrap_or(0.0));
        let interval = difference.range(size - half, size + half);
        match certainty {
            Certainty::Equal => format!("{first} and {second} are equal in {subject}."),
            Certainty::SingleRun => format!("{first} {won}: {mean}, {by}{relative} {than} {second}."),
            Certainty::NoChance => format!(
                "{first} {won}: {mean}, {by}{relative} {than} {second}; the runs are identical in this, so chance plays no part."
            ),
            Certainty::Significant => format!(
                "{first} {won}: {mean}, {by}{relative} {than} {second}; the paired 95 % interval of that difference, \
                 {interval}, excludes zero."
            ),
            Certainty::Open => format!(
                "No clear winner in {subject}: {first} leads {second} by {by}{relative}, but the paired 95 % interval \
                 of that lead, {interval}, includes zero."
            ),
        }
    }

    /// A scheme's values, seed by seed of the first scheme, so that those of two schemes are pairs.
    fn rival<'a>(&self, of: &'a SchemeResults, schemes: &[SchemeResults]) -> Option<Rival<'a>> {
        let find = |seed: u64| of.runs.iter().find(|run| run.complete && run.seed == seed);
        let value = |run: &Run| find(run.seed).and_then(|run| (self.value)(&run.totals));
        let values: Vec<Option<f64>> = schemes.first()?.runs.iter().map(value).collect();
        let known: Vec<f64> = values.iter().copied().flatten().collect();
        Some(Rival { scheme: &of.scheme, mean: statistics::mean(&known)?, values })
    }
}

/// How sure it is that `best` is better than `next`.
fn certainty_of(best: &Rival<'_>, next: &Rival<'_>, lead: &Estimate) -> Certainty {
    if lead.min == 0.0 && lead.max == 0.0 {
        return Certainty::Equal;
    }
    match lead.ci95 {
        None => Certainty::SingleRun,
        Some(_) if best.always_the_same() && next.always_the_same() => Certainty::NoChance,
        Some(half) if lead.mean.abs() > half => Certainty::Significant,
        Some(_) => Certainty::Open,
    }
}

/// A scheme with its values of one metric.
struct Rival<'a> {
    scheme: &'a str,
    mean: f64,
    values: Vec<Option<f64>>,
}

impl Rival<'_> {
    /// True if every run gave the same value.
    fn always_the_same(&self) -> bool {
        self.values.windows(2).all(|pair| pair[0] == pair[1])
    }
}
