//! Lessons: a scenario, a few screens of text, runs, and questions that the results of the learner's runs answer.
//!
//! A lesson is the file `NAME.toml` in the folder `lessons` of this crate, beside its scenario `NAME.scenario.toml`. Each
//! right answer is an expression over the results ([`expression`]), not a stored value.

mod answer_check;
pub mod expression;

pub use answer_check::{Answer, Verdict};

use expression::Expression;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::OnceLock;

/// A lesson.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// Name, which links use.
    #[serde(default)]
    pub name: String,
    /// Title.
    pub title: String,
    /// Summary in a sentence.
    pub about: String,
    /// Text of the scenario.
    #[serde(default)]
    pub scenario: String,
    /// Screens of text, in order.
    #[serde(rename = "screen")]
    pub screens: Vec<Screen>,
    /// Runs to make.
    #[serde(rename = "run")]
    pub runs: Vec<Setting>,
    /// Questions, in order.
    #[serde(rename = "question")]
    pub questions: Vec<Question>,
}

/// A screen of text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Screen {
    /// Title.
    pub title: String,
    /// Paragraphs, in which backquotes enclose code and asterisks emphasis.
    pub text: Vec<String>,
    /// Names of the runs offered on this screen.
    #[serde(default)]
    pub runs: Vec<String>,
}

/// A run of a lesson's scenario.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Name, for expressions.
    pub name: String,
    /// Label.
    pub label: String,
    /// Changes of the scenario, in the form of `--set`.
    #[serde(default)]
    pub sets: Vec<String>,
}

/// A question.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Text.
    pub text: String,
    /// Names of the runs that it needs.
    #[serde(default)]
    pub runs: Vec<String>,
    /// Options of a choice.
    #[serde(default, rename = "option")]
    pub options: Vec<Choice>,
    /// Number to read off.
    #[serde(default)]
    pub number: Option<Number>,
    /// Task: a run with settings of the learner's own.
    #[serde(default)]
    pub task: Option<Task>,
}

/// An option of a choice.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Text.
    pub text: String,
    /// Condition under which it is right.
    pub right: Expression,
    /// Explanation, shown after the choice.
    pub why: String,
}

/// A number that a run shows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Number {
    /// Right value.
    pub value: Expression,
    /// Unit of the value.
    pub unit: String,
    /// Accepted relative deviation.
    pub within: f64,
    /// Explanation, shown after a right answer.
    pub why: String,
    /// Values that must be refused, for tests.
    pub wrong: Vec<f64>,
}

/// A task for a run of the learner's own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Condition on the run `yours` under which it is done.
    pub done: Expression,
    /// Value of the run to show beside the verdict.
    pub shown: Expression,
    /// Unit of that value.
    pub unit: String,
    /// Explanation, shown when it is done.
    pub why: String,
    /// Changes that solve it, for tests.
    pub solution: Vec<String>,
    /// Changes that do not solve it, for tests.
    pub wrong: Vec<Vec<String>>,
}

/// Name of the run of the learner's own in expressions.
pub const YOURS: &str = "yours";

macro_rules! lessons {
    ($($name:literal,)+) => {
        &[$((
            $name,
            include_str!(concat!("../../lessons/", $name, ".toml")),
            include_str!(concat!("../../lessons/", $name, ".scenario.toml")),
        )),+]
    };
}

/// Names of the lessons, with their texts and scenarios.
const TEXTS: &[(&str, &str, &str)] = lessons! {
    "queues",
    "slow-start",
    "tahoe-to-cubic",
    "vegas",
    "seif",
    "selective-repair",
    "acknowledgements",
    "soft-acknowledgement",
    "gates",
    "bufferbloat",
    "bbr",
    "prague",
};

/// Returns all lessons.
///
/// # Panics
///
/// If the text of a lesson is invalid, which a test checks.
pub fn all_lessons() -> &'static [Lesson] {
    static ALL: OnceLock<Vec<Lesson>> = OnceLock::new();
    ALL.get_or_init(|| {
        let read = |&(name, text, scenario): &(&str, &str, &str)| {
            Lesson::read(name, text, scenario).unwrap_or_else(|error| panic!("lesson {name}: {error}"))
        };
        TEXTS.iter().map(read).collect()
    })
}

/// Returns a lesson by its name.
pub fn find_lesson(name: &str) -> Option<&'static Lesson> {
    all_lessons().iter().find(|lesson| lesson.name == name)
}

impl Lesson {
    /// Reads a lesson.
    ///
    /// # Errors
    ///
    /// Invalid TOML, an unknown key, an invalid expression, or an unknown run.
    pub fn read(name: &str, text: &str, scenario: &str) -> Result<Self, String> {
        let value = thalweg_scenario::toml_as_json(&format!("{name}.toml"), text)?;
        let mut lesson: Self = serde_json::from_value(value).map_err(|error| error.to_string())?;
        (lesson.name, lesson.scenario) = (name.to_owned(), scenario.to_owned());
        let known = |run: &String| run == YOURS || lesson.runs.iter().any(|setting| setting.name == *run);
        let named = lesson.screens.iter().flat_map(|screen| &screen.runs);
        let named = named.chain(lesson.questions.iter().flat_map(|question| &question.runs));
        if let Some(run) = named.into_iter().find(|run| !known(run)) {
            return Err(format!("there is no run `{run}`"));
        }
        for question in &lesson.questions {
            let kinds = [!question.options.is_empty(), question.number.is_some(), question.task.is_some()];
            if kinds.into_iter().filter(|&is| is).count() != 1 {
                return Err(format!("`{}` needs options, a number or a task", question.text));
            }
            let expressions = question.options.iter().map(|option| &option.right);
            let expressions = expressions.chain(question.number.iter().map(|number| &number.value));
            let expressions =
                expressions.chain(question.task.iter().flat_map(|task| [&task.done, &task.shown]));
            for run in expressions.flat_map(Expression::runs) {
                if !(question.runs.contains(&run) || question.task.is_some() && run == YOURS) {
                    return Err(format!("`{}` does not list the run `{run}`", question.text));
                }
            }
        }
        Ok(lesson)
    }

    /// Returns the lesson for the page, without what decides its answers.
    pub fn shown(&self) -> Value {
        let questions = self.questions.iter().map(|question| {
            let kind = match (&question.number, &question.task) {
                (Some(_), _) => "number",
                (_, Some(_)) => "task",
                _ => "choice",
            };
            json!({
                "text": question.text,
                "runs": question.runs,
                "kind": kind,
                "options": question.options.iter().map(|option| &option.text).collect::<Vec<_>>(),
                "unit": question.number.as_ref().map(|number| &number.unit),
            })
        });
        json!({
            "name": self.name,
            "title": self.title,
            "about": self.about,
            "scenario": self.scenario,
            "screens": self.screens.iter().map(|screen| {
                json!({ "title": screen.title, "text": screen.text, "runs": screen.runs })
            }).collect::<Vec<_>>(),
            "runs": self.runs.iter().map(|run| {
                json!({ "name": run.name, "label": run.label, "sets": run.sets })
            }).collect::<Vec<_>>(),
            "questions": questions.collect::<Vec<_>>(),
        })
    }
}
