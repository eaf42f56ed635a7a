//! Claims of a paper, and their verdicts.

use serde::{Deserialize, Serialize};

/// Outcome of a claim in our runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Direction and size agree; a claim without a size needs the direction only.
    Holds,
    /// The direction of the effect agrees, its printed size does not.
    SignOnly,
    /// The direction does not agree.
    #[serde(rename = "does-not-hold")]
    Fails,
}

impl Verdict {
    /// Returns the verdict on a claim without a size.
    pub fn from_bool(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    /// Returns the verdict in words.
    pub fn label(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::SignOnly => "holds in direction, not in size",
            Self::Fails => "does not hold",
        }
    }
}

/// A claim and its outcome in our runs.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Claim {
    /// Name.
    pub id: String,
    /// Sections and pages of the paper that state it; empty if unknown, or for a claim of this project.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub section: String,
    /// True for a claim of this project that the paper does not make.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub ours: bool,
    /// Claimed statement.
    pub text: String,
    /// Outcome.
    pub verdict: Verdict,
    /// Numbers that decide it.
    pub evidence: String,
}

impl Claim {
    /// Creates a claim of the paper without a section.
    pub fn new(id: &str, text: &str, verdict: Verdict, evidence: String) -> Self {
        let (id, text) = (id.to_owned(), text.to_owned());
        Self { id, section: String::new(), ours: false, text, verdict, evidence }
    }

    /// Adds the sections and pages that state the claim.
    #[must_use]
    pub fn at(mut self, section: &str) -> Self {
        self.section = section.to_owned();
        self
    }

    /// Marks the claim as one of this project.
    #[must_use]
    pub fn ours(mut self) -> Self {
        self.ours = true;
        self
    }

    /// Returns true if the claim holds, in size too.
    pub fn holds(&self) -> bool {
        self.verdict == Verdict::Holds
    }
}

/// Decision of a claim by a study; `None` if a value is missing.
pub(super) type Decide<S> = fn(&S) -> Option<Claim>;

/// Returns the claims that a study decides: those of the paper with the sections that state them, then those of this
/// project. A claim is left out if it lacks a value.
pub(super) fn decided_claims<S>(
    study: &S,
    of_the_paper: &[(&str, Decide<S>)],
    of_ours: &[Decide<S>],
) -> Vec<Claim> {
    let of_the_paper = of_the_paper.iter().filter_map(|(section, decide)| Some(decide(study)?.at(section)));
    let of_ours = of_ours.iter().filter_map(|decide| Some(decide(study)?.ours()));
    of_the_paper.chain(of_ours).collect()
}

/// Numbers of claims by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerdictCounts {
    holds: usize,
    sign_only: usize,
    fails: usize,
}

impl VerdictCounts {
    /// Counts the verdicts.
    pub fn from_claims<'a>(claims: impl IntoIterator<Item = &'a Claim>) -> Self {
        let mut tally = Self::default();
        for claim in claims {
            match claim.verdict {
                Verdict::Holds => tally.holds += 1,
                Verdict::SignOnly => tally.sign_only += 1,
                Verdict::Fails => tally.fails += 1,
            }
        }
        tally
    }

    /// Returns the number of claims.
    pub fn all(self) -> usize {
        self.holds + self.sign_only + self.fails
    }

    /// Returns the numbers in words: `37 of 44 claims of the thesis hold; 3 in direction, not in size; 4 do not`.
    /// `whose` is the phrase after `claims`.
    fn counts_text(self, whose: &str) -> String {
        let mut text = format!("{} of {} claims {whose} hold", self.holds, self.all());
        if self.sign_only > 0 {
            text.push_str(&format!("; {} in direction, not in size", self.sign_only));
        }
        if self.fails > 0 {
            text.push_str(&format!("; {} do not", self.fails));
        }
        text
    }

    /// Returns the numbers for the claims of the paper, then for those of this project. `noun` is the kind of paper.
    /// Empty without claims.
    pub(super) fn sentence(claims: &[Claim], noun: &str) -> String {
        let of = |ours| Self::from_claims(claims.iter().filter(move |claim| claim.ours == ours));
        let parts = [(of(false), format!("of the {noun}")), (of(true), "of our own".to_owned())];
        let parts = parts.iter().filter(|(tally, _)| tally.all() > 0);
        parts.map(|(tally, whose)| tally.counts_text(whose)).collect::<Vec<_>>().join(". ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(verdicts: &[Verdict]) -> Vec<Claim> {
        verdicts.iter().map(|verdict| Claim::new("1", "x", *verdict, String::new())).collect()
    }

    #[test]
    fn a_sentence_counts_each_verdict() {
        use Verdict::{Fails, Holds, SignOnly};
        let sentence = |verdicts: &[Verdict]| VerdictCounts::sentence(&claims(verdicts), "thesis");
        assert_eq!(sentence(&[]), "");
        assert_eq!(sentence(&[Holds, Holds]), "2 of 2 claims of the thesis hold");
        assert_eq!(
            sentence(&[Holds, SignOnly, Fails, Fails]),
            "1 of 4 claims of the thesis hold; 1 in direction, not in size; 2 do not"
        );
        let mut mixed = claims(&[Holds, Fails]);
        mixed[1] = mixed[1].clone().ours();
        assert_eq!(
            VerdictCounts::sentence(&mixed, "talk"),
            "1 of 1 claims of the talk hold. 0 of 1 claims of our own hold; 1 do not"
        );
    }

    #[test]
    fn a_claim_is_written_without_what_it_lacks() {
        let json = |claim: &Claim| serde_json::to_value(claim).unwrap();
        let claim = Claim::new("1", "x", Verdict::SignOnly, "2 > 1".to_owned());
        assert_eq!(
            json(&claim),
            serde_json::json!({"id": "1", "text": "x", "verdict": "sign-only", "evidence": "2 > 1"})
        );
        let claim = Claim { verdict: Verdict::Fails, ..claim }.at("4.2").ours();
        assert_eq!(json(&claim)["section"], "4.2");
        assert_eq!(json(&claim)["ours"], true);
        assert_eq!(json(&claim)["verdict"], "does-not-hold");
        assert_eq!(serde_json::from_value::<Claim>(json(&claim)).unwrap(), claim);
    }
}
