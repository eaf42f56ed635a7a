//! Each lesson is run: the right answers are right, and all others wrong.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use thalweg_page::Laboratory;
use thalweg_page::lesson::{Answer, Lesson, YOURS, all_lessons, find_lesson};

/// Runs a lesson's scenario through the page's requests, and returns the document.
fn run(lesson: &Lesson, sets: &[String]) -> Value {
    let mut laboratory = Laboratory::new(None);
    let mut ask = |request: Value| -> Value {
        let answer: Value = serde_json::from_str(&laboratory.answer(&request.to_string())).unwrap();
        assert!(answer["errors"].is_null(), "{}: {sets:?}: {answer}", lesson.name);
        answer["ok"].clone()
    };
    let input = json!({ "name": lesson.name, "text": lesson.scenario, "sets": sets });
    ask(json!({ "request": "start", "input": input }));
    while ask(json!({ "request": "advance", "events": 1_000_000 }))["status"] == "running" {}
    ask(json!({ "request": "finish" }))["document"].clone()
}

fn test(name: &str) {
    let lesson = find_lesson(name).unwrap();
    assert!(lesson.screens.len() >= 3, "a story has a few screens");
    assert!(lesson.questions.len() >= 2, "{} questions", lesson.questions.len());
    let runs: BTreeMap<String, Value> =
        lesson.runs.iter().map(|setting| (setting.name.clone(), run(lesson, &setting.sets))).collect();
    for (number, question) in lesson.questions.iter().enumerate() {
        let check = |answer: Answer, runs: &BTreeMap<String, Value>| {
            lesson.check(number, &answer, runs).unwrap_or_else(|error| panic!("{}: {error}", question.text))
        };
        if !question.options.is_empty() {
            assert!(question.options.len() >= 3, "{}", question.text);
            let right: Vec<bool> = (0..question.options.len())
                .map(|option| check(Answer::Choice(option), &runs).right)
                .collect();
            assert_eq!(right.iter().filter(|&&right| right).count(), 1, "{}: {right:?}", question.text);
            assert!(lesson.check(number, &Answer::Choice(99), &runs).is_err());
        }
        if let Some(of) = &question.number {
            let value = of.value.number(&runs).unwrap();
            assert!(value != 0.0 && of.within < 0.3, "{}: {value}", question.text);
            for (answer, is_right) in [(value, true), (value * (1.0 + 2.0 * of.within), false), (0.0, false)]
            {
                assert_eq!(
                    check(Answer::Number(answer), &runs).right,
                    is_right,
                    "{}: {answer}",
                    question.text
                );
            }
            assert!(!of.wrong.is_empty(), "{}", question.text);
            for &wrong in &of.wrong {
                assert!(!check(Answer::Number(wrong), &runs).right, "{}: {wrong} of {value}", question.text);
            }
        }
        if let Some(task) = &question.task {
            let with = |sets: &[String]| {
                let mut runs = runs.clone();
                runs.insert(YOURS.to_owned(), run(lesson, sets));
                check(Answer::Run, &runs)
            };
            let solved = with(&task.solution);
            assert!(solved.right, "{}: {}", question.text, solved.text);
            assert!(!task.wrong.is_empty(), "{}", question.text);
            for wrong in &task.wrong {
                assert!(!with(wrong).right, "{}: {wrong:?}", question.text);
            }
            assert!(lesson.check(number, &Answer::Run, &runs).is_err(), "without a run");
        }
        if let Some(needed) = question.runs.first() {
            let mut fewer = runs.clone();
            fewer.remove(needed);
            let error = lesson.check(number, &Answer::Choice(0), &fewer).unwrap_err();
            assert!(error.contains("first"), "{error}");
        }
    }
}

/// A test for each lesson, which run side by side.
macro_rules! tests {
    ($($test:ident $name:literal,)+) => {
        $(#[test] fn $test() { test($name); })+

        #[test]
        fn each_lesson_has_a_test() {
            let names: Vec<&str> = all_lessons().iter().map(|lesson| lesson.name.as_str()).collect();
            assert_eq!(names, [$($name),+]);
        }
    };
}

tests! {
    queues "queues",
    slow_start "slow-start",
    tahoe_to_cubic "tahoe-to-cubic",
    vegas "vegas",
    seif "seif",
    selective_repair "selective-repair",
    acknowledgements "acknowledgements",
    soft_acknowledgement "soft-acknowledgement",
    gates "gates",
    bufferbloat "bufferbloat",
    bbr "bbr",
    prague "prague",
}

#[test]
fn invalid_lessons_are_refused() {
    let lesson = |question: &str| {
        let text = format!(
            "title = \"T\"\nabout = \"A.\"\nscreen = []\nrun = [{{ name = \"one\", label = \"One\" }}]\n[[question]]\ntext = \"Q\"\n{question}"
        );
        Lesson::read("test", &text, "").unwrap_err()
    };
    let option = "option = [{ text = \"O\", why = \"W\", right = \"two.total.jain > 1\" }]";
    assert_eq!(lesson(option), "`Q` does not list the run `two`");
    assert_eq!(lesson("runs = [\"two\"]"), "there is no run `two`");
    assert_eq!(lesson(""), "`Q` needs options, a number or a task");
    assert!(lesson("option = [{ text = \"O\", why = \"W\", right = \"1 +\" }]").contains("expected a value"));
    assert!(Lesson::read("test", "title = 1 2", "").unwrap_err().contains("test.toml:1"));
}
