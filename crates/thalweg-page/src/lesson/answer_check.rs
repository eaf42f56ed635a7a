//! The check of an answer by the results of the learner's runs.

use super::{Lesson, Question, Task, YOURS};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Position of the chosen option.
    Choice(usize),
    /// Number, in the question's unit.
    Number(f64),
    /// The run of the learner's own.
    Run,
}

/// Verdict on an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// True for a right answer.
    pub right: bool,
    /// Explanation.
    pub text: String,
}

/// Results documents of the learner's runs, by the names of the runs.
type Runs = BTreeMap<String, Value>;

impl Lesson {
    /// Checks the answer to a question by the results of the learner's runs.
    ///
    /// # Errors
    ///
    /// There is no such question or option, a run that it needs is missing, or a run has not the value asked for.
    pub fn check(&self, question: usize, answer: &Answer, runs: &Runs) -> Result<Verdict, String> {
        let question = self.questions.get(question).ok_or("there is no such question")?;
        let missing = question.runs.iter().find(|run| !runs.contains_key(*run));
        if let Some(missing) = missing {
            let label = self.runs.iter().find(|run| run.name == *missing).map_or("", |run| &run.label);
            return Err(format!("run \"{label}\" first: the answer follows from its results"));
        }
        question.check(answer, runs)
    }
}

impl Question {
    fn check(&self, answer: &Answer, runs: &Runs) -> Result<Verdict, String> {
        match (answer, &self.number, &self.task) {
            (Answer::Choice(chosen), ..) => {
                let option = self.options.get(*chosen).ok_or("there is no such option")?;
                Ok(Verdict { right: option.right.holds(runs)?, text: option.why.clone() })
            }
            (Answer::Number(given), Some(number), _) => {
                let value = number.value.number(runs)?;
                let right = (given - value).abs() <= number.within * value.abs();
                let text = match right {
                    true => {
                        format!("The run shows {} {}. {}", to_three_digits(value), number.unit, number.why)
                    }
                    false if *given < value => "That is too little. Look again at the results.".to_owned(),
                    false => "That is too much. Look again at the results.".to_owned(),
                };
                Ok(Verdict { right, text })
            }
            (Answer::Run, _, Some(task)) => task.check(runs),
            _ => Err("the answer is of another kind than the question".to_owned()),
        }
    }
}

impl Task {
    fn check(&self, runs: &Runs) -> Result<Verdict, String> {
        if !runs.contains_key(YOURS) {
            return Err("change the settings and run first".to_owned());
        }
        let value = self.shown.number(runs)?;
        let value = format!("Your run shows {} {}.", to_three_digits(value), self.unit);
        let right = self.done.holds(runs)?;
        let text = if right { format!("{value} {}", self.why) } else { format!("{value} Not yet.") };
        Ok(Verdict { right, text })
    }
}

/// Returns a number with three significant digits.
fn to_three_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let exponent = value.abs().log10().floor();
    let decimals = (2.0 - exponent).clamp(0.0, 9.0) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::to_three_digits;

    #[test]
    fn numbers_have_three_digits() {
        let found = [0.0, 1234.5, 12.345, 1.0, 0.012345].map(to_three_digits);
        assert_eq!(found, ["0", "1234", "12.3", "1.00", "0.0123"]);
    }
}
