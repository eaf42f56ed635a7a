//! The page's requests: runs as the command makes them, controllers, and requests that are wrong.

use crate::page_requests::Laboratory;
use crate::script_controller::{ControllerInstance, Event, SAMPLE_NUMBERS, Script, State};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use thalweg_proto::congestion::CeResponse;
use thalweg_report::parallel_batch::{Job, run_single_job};
use thalweg_scenario::{BUILT_IN, load_built_in};

fn ask(laboratory: &mut Laboratory, request: &Value) -> Result<Value, String> {
    let answer: Value = serde_json::from_str(&laboratory.answer(&request.to_string())).unwrap();
    match answer.get("ok") {
        Some(answer) => Ok(answer.clone()),
        None => Err(answer["errors"][0]["message"].as_str().unwrap().to_owned()),
    }
}

fn expect_ok(laboratory: &mut Laboratory, request: &Value) -> Value {
    ask(laboratory, request).unwrap()
}

/// Runs to the end in slices of `events`, and returns the answer to `finish`.
fn run_to_end(laboratory: &mut Laboratory, events: u64) -> Value {
    while expect_ok(laboratory, &json!({ "request": "advance", "events": events }))["status"] == "running" {}
    expect_ok(laboratory, &json!({ "request": "finish" }))
}

#[test]
fn runs_are_those_of_the_command_however_they_are_advanced() {
    for (name, sets) in [
        ("two-flows", vec!["duration=8 s"]),
        ("recovery", vec![]),
        ("incast", vec!["duration=1 s", "warmup=0 s"]),
    ] {
        let sets: Vec<String> = sets.into_iter().map(str::to_owned).collect();
        let scenario = BUILT_IN.iter().find(|scenario| scenario.name == name).unwrap();
        let loaded = load_built_in(scenario.files[0].0, scenario.files, &sets).unwrap();
        let spec = Arc::new(loaded.spec().clone());
        let job = Job { seed: spec.seed, spec, events: None, threads: 1 };
        let (_, expected) = run_single_job(&job, &Arc::new(AtomicBool::new(false))).unwrap();
        for (stepped, events) in [(false, 100_000), (false, 999), (true, 5000)] {
            let mut laboratory = Laboratory::new(None);
            let input = json!({ "name": name, "sets": sets });
            expect_ok(&mut laboratory, &json!({ "request": "start", "input": input, "stepped": stepped }));
            let answer = run_to_end(&mut laboratory, events);
            assert_eq!(answer["document"]["runs"][0]["fingerprint"], expected.fingerprint.as_str(), "{name}");
            let all = expect_ok(&mut laboratory, &json!({ "request": "results" }));
            assert_eq!(all["runs"][0], serde_json::to_value(&expected).unwrap(), "{name}");
        }
    }
}

#[test]
fn starved_flows_are_named_as_by_the_command() {
    let mut laboratory = Laboratory::new(None);
    let sets =
        ["flow.shy.scheme=thalweg:compete=false", "flow.bold.start=0 s", "link.left-right.queue=12 bdp"];
    let input = json!({ "name": "two-flows", "sets": sets });
    expect_ok(&mut laboratory, &json!({ "request": "start", "input": input }));
    let answer = run_to_end(&mut laboratory, 100_000);
    assert_eq!(answer["document"]["starved"][0]["group"], "shy", "{answer}");
    assert!(answer["summary"].as_str().unwrap().contains("starved: it carried"), "{answer}");
}

#[test]
fn points_grow_during_a_run_in_the_order_of_the_series() {
    let mut laboratory = Laboratory::new(None);
    let input = json!({ "name": "two-flows", "sets": ["duration=8 s"] });
    let started = expect_ok(&mut laboratory, &json!({ "request": "start", "input": input }));
    let series = started["series"].as_array().unwrap().clone();
    assert_eq!((started["duration_s"].as_f64(), started["warmup_s"].as_f64()), (Some(8.0), Some(5.0)));
    let progress =
        expect_ok(&mut laboratory, &json!({ "request": "until", "time": 6.0, "events": 10_000_000 }));
    assert!(progress["now"].as_f64().unwrap() >= 6.0 && progress["status"] == "running", "{progress}");
    let mut numbers = Vec::new();
    laboratory.points(&mut numbers);
    let mut at = 0;
    for of in &series {
        let count = numbers[at] as usize;
        let times = &numbers[at + 1..at + 1 + count];
        assert!(times.is_sorted() && times.iter().all(|time| *time <= 6.1), "{of}");
        if of["quantity"] == "goodput" {
            // One begins at 0 s, the other at 5 s; samples are 100 ms apart.
            let expected = if of["subject"] == "shy" { 60 } else { 10 };
            assert!(count.abs_diff(expected) <= 1, "{of}: {count}");
        }
        at += 1 + 2 * count;
    }
    assert_eq!(at, numbers.len());
}

#[test]
fn a_step_is_one_event_with_what_packets_did() {
    let mut laboratory = Laboratory::new(None);
    let input = json!({ "name": "recovery" });
    expect_ok(&mut laboratory, &json!({ "request": "start", "input": input, "stepped": true }));
    let mut seen = Vec::new();
    for _ in 0..40 {
        let progress = expect_ok(&mut laboratory, &json!({ "request": "step", "events": 1000 }));
        let steps = progress["steps"].as_array().cloned().unwrap_or_default();
        assert_eq!(progress["status"] == "running", !steps.is_empty(), "{progress}");
        seen.extend(steps.into_iter().map(|step| step["step"].as_str().unwrap().to_owned()));
    }
    assert_eq!(seen[0], "sent");
    // Packets 2 to 5 and 7 are lost by the scenario.
    assert_eq!(seen.iter().filter(|step| *step == "lost").count(), 5, "{seen:?}");
}

#[test]
fn results_of_many_flows_are_cut_for_the_page_only() {
    let mut laboratory = Laboratory::new(None);
    let input = json!({ "name": "dumbbell", "sets": ["duration=500 ms", "flow.flows.count=100"] });
    expect_ok(&mut laboratory, &json!({ "request": "start", "input": input, "seed": 9 }));
    let answer = run_to_end(&mut laboratory, 100_000);
    assert_eq!((answer["flows"].as_u64(), answer["document"]["seeds"][0].as_u64()), (Some(100), Some(9)));
    assert_eq!(answer["document"]["runs"][0]["flows"].as_array().unwrap().len(), 64);
    let all = expect_ok(&mut laboratory, &json!({ "request": "results" }));
    assert_eq!(all["runs"][0]["flows"].as_array().unwrap().len(), 100);
    let report = expect_ok(&mut laboratory, &json!({ "request": "report" }));
    assert!(report.as_str().unwrap().starts_with("<!doctype html>"));
}

/// Additive increase and multiplicative decrease, or a fault at a call.
#[derive(Debug, Default)]
struct Aimd {
    fault: Option<Result<f64, &'static str>>,
    fails_to_start: bool,
    made: AtomicU32,
    calls: AtomicU32,
    window: std::sync::Mutex<f64>,
}

impl Script for Aimd {
    fn response(&self) -> CeResponse {
        CeResponse::None
    }

    fn make(&self, _seed: u32) -> Result<ControllerInstance, String> {
        if self.fails_to_start {
            return Err("TypeError: no such class".to_owned());
        }
        self.made.fetch_add(1, Ordering::Relaxed);
        *self.window.lock().unwrap() = 10.0;
        Ok(ControllerInstance { id: 7, per_packet: false, state: State { window: 10.0, pacing_rate: None } })
    }

    fn call(&self, id: u32, event: Event, numbers: &[f64; SAMPLE_NUMBERS]) -> Result<State, String> {
        assert_eq!(id, 7);
        let calls = self.calls.fetch_add(1, Ordering::Relaxed);
        let mut window = self.window.lock().unwrap();
        match event {
            Event::Ack => *window += 1.0,
            Event::Loss => {
                assert!((1.0..=3.0).contains(&numbers[0]), "{numbers:?}");
                *window = (*window / 2.0).max(2.0);
            }
            Event::Undo => *window = window.max(numbers[0]),
        }
        match self.fault {
            Some(Err(error)) if calls == 20 => Err(error.to_owned()),
            Some(Ok(wrong)) if calls == 20 => Ok(State { window: wrong, pacing_rate: None }),
            _ => Ok(State { window: *window, pacing_rate: None }),
        }
    }
}

/// Runs one flow of the scheme `mine`; returns its results, or the error that ended it.
fn run_own_scheme(script: Aimd) -> Result<Value, String> {
    let mut laboratory = Laboratory::new(Some(Arc::new(script)));
    let input = json!({ "name": "two-flows", "sets": ["flow.bold.scheme=mine"] });
    ask(&mut laboratory, &json!({ "request": "start", "input": input }))?;
    loop {
        let progress = expect_ok(&mut laboratory, &json!({ "request": "advance", "events": 50_000 }));
        match progress["status"].as_str().unwrap() {
            "running" => {}
            "finished" => return Ok(expect_ok(&mut laboratory, &json!({ "request": "finish" }))),
            _ => return Err(progress["error"].as_str().unwrap().to_owned()),
        }
    }
}

#[test]
fn a_script_controls_its_flows() {
    let results = run_own_scheme(Aimd::default()).unwrap();
    let flow = &results["document"]["runs"][0]["flows"][1];
    assert_eq!(flow["name"], "bold");
    // It fills the queue beside Vegas, as NewReno would.
    assert!(
        flow["goodput_bps"].as_f64().unwrap() > 60e6 && flow["retransmissions"].as_u64().unwrap() > 0,
        "{flow}"
    );
}

#[test]
fn exceptions_and_invalid_windows_end_the_run_with_their_message() {
    let error = |script: Aimd| run_own_scheme(script).unwrap_err();
    let raised = error(Aimd { fault: Some(Err("Error: mine")), ..Aimd::default() });
    assert!(raised.contains("`mine`") && raised.ends_with("Error: mine"), "{raised}");
    for (wrong, text) in [(0.5, "0.5"), (f64::NAN, "NaN"), (1e12, "1000000000000")] {
        let refused = error(Aimd { fault: Some(Ok(wrong)), ..Aimd::default() });
        assert!(refused.contains("window must lie from 1") && refused.contains(text), "{refused}");
    }
    let start = error(Aimd { fails_to_start: true, ..Aimd::default() });
    assert!(start.contains("no such class"), "{start}");
}

#[test]
fn without_a_controller_there_is_no_scheme_of_that_name() {
    let input = json!({ "name": "two-flows", "sets": ["flow.bold.scheme=mine"] });
    let error = ask(&mut Laboratory::new(None), &json!({ "request": "check", "input": input })).unwrap_err();
    assert!(error.contains("mine"), "{error}");
}

#[test]
fn everything_is_listed() {
    let listed =
        expect_ok(&mut Laboratory::new(Some(Arc::new(Aimd::default()))), &json!({ "request": "list" }));
    let names = |key: &str| -> Vec<String> {
        let list = listed[key].as_array().unwrap();
        list.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("scenarios").len(), BUILT_IN.len());
    assert!(
        names("schemes").contains(&"mine".to_owned()) && names("disciplines").contains(&"dualpi2".to_owned())
    );
    assert_eq!(names("lessons").len(), 12);
    // What decides the answers stays here.
    assert!(!listed["lessons"].to_string().contains("queue_mean_packets"));
}

#[test]
fn wrong_requests_are_refused() {
    let mut laboratory = Laboratory::new(None);
    for request in ["", "{", "7", "{\"request\":\"dance\"}", "{\"request\":\"start\"}"] {
        let answer: Value = serde_json::from_str(&laboratory.answer(request)).unwrap();
        assert_eq!(answer["errors"][0]["code"], "page.request", "{request}");
    }
    for request in ["finish", "results", "report"] {
        assert_eq!(ask(&mut laboratory, &json!({ "request": request })).unwrap_err(), "there is no run");
    }
    let answer = json!({ "request": "answer", "lesson": "queues", "question": 0, "answer": { "number": 3 }, "runs": {} });
    assert!(ask(&mut laboratory, &answer).unwrap_err().contains("first"));
    let unknown =
        json!({ "request": "answer", "lesson": "none", "question": 0, "answer": "run", "runs": {} });
    assert_eq!(ask(&mut laboratory, &unknown).unwrap_err(), "there is no lesson `none`");
}

/// Requests with changed bytes get an answer, whatever they are.
#[test]
fn mutated_requests_get_an_answer() {
    let text = "title = \"T\"\nduration = \"10 ms\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = \"newreno\"\n";
    let input = json!({ "name": "mine", "text": text, "sets": ["flow.1.count=2"] });
    let runs =
        json!({ "short": { "runs": [{ "links": [{ "name": "bottleneck", "queue_mean_packets": 31.1 }] }] } });
    let requests = [
        json!({ "request": "check", "input": input }),
        json!({ "request": "controls", "input": input }),
        json!({ "request": "start", "input": input, "seed": 3, "stepped": true }),
        json!({ "request": "answer", "lesson": "queues", "question": 0, "answer": { "number": 31 }, "runs": runs }),
    ];
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = move |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    let mut laboratory = Laboratory::new(None);
    let mut accepted = 0;
    for round in 0..2000 {
        let mut bytes = requests[round % requests.len()].to_string().into_bytes();
        for _ in 0..=next(3) {
            let place = next(bytes.len());
            match next(3) {
                0 => bytes[place] = b" \"'[]{}0123456789.=-abcxyz\\\n"[next(28)],
                1 => drop(bytes.remove(place)),
                _ => bytes.insert(place, bytes[next(bytes.len())]),
            }
        }
        let answer = laboratory.answer(&String::from_utf8_lossy(&bytes));
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert!(answer["ok"].is_null() != answer["errors"].is_null(), "{answer}");
        accepted += usize::from(!answer["ok"].is_null());
    }
    assert!((100..1900).contains(&accepted), "{accepted} of 2000 were accepted");
}
