//! Rules for the reproduction of every paper.

use serde_json::{Map, Value};
use thalweg_scenario::load_text;
use thalweg_studies::paper::{Choice, PAPERS, Paper, PaperError, prepare_paper};

fn prepare_all(paper: &'static Paper) -> thalweg_studies::paper::PreparedPaper {
    prepare_paper(paper, &Choice::default()).unwrap_or_else(|error| panic!("{}: {error}", paper.name))
}

/// Returns the identity of a result: all its keys except the values.
fn keys(result: &Value, values: &[&str]) -> Map<String, Value> {
    let mut keys = result.as_object().unwrap().clone();
    values.iter().for_each(|name| drop(keys.shift_remove(*name)));
    keys
}

/// The JSON document joins with the published values by key: each occurs exactly once, and all others have an id that
/// begins with `ours/`. This does not depend on the runs, so none are made.
#[test]
fn every_published_value_has_its_place_exactly_once() {
    for paper in PAPERS {
        let published: Value = serde_json::from_str(paper.files.published).unwrap();
        let prepared = prepare_paper(paper, &Choice { full: true, ..Choice::default() }).unwrap();
        let ours: Value = serde_json::from_str(&prepared.results(Vec::new()).to_json()).unwrap();
        assert_eq!(ours["paper"], paper.name);
        let of = |document: &Value| document["experiments"].as_array().unwrap().clone();
        let (published, mut ours) = (of(&published), of(&ours));
        ours.retain(|experiment| !experiment["id"].as_str().unwrap().starts_with("ours/"));
        assert_eq!(ours.len(), published.len(), "{}", paper.name);
        for (ours, published) in ours.iter().zip(&published) {
            assert_eq!(ours["id"], published["id"]);
            let of = |experiment: &Value, values: &[&str]| -> Vec<Map<String, Value>> {
                experiment["results"].as_array().unwrap().iter().map(|result| keys(result, values)).collect()
            };
            let ours = of(ours, &["value", "ci95", "published", "relative_difference"]);
            assert_eq!(ours, of(published, &["value"]), "{}", published["id"]);
            for (place, cell) in ours.iter().enumerate() {
                assert!(!ours[place + 1..].contains(cell), "{}: {cell:?} is there twice", published["id"]);
            }
        }
    }
}

/// Only its full name runs a long experiment; shorter selections skip it.
#[test]
fn long_experiments_run_only_when_they_are_named() {
    let gong = thalweg_studies::paper::find_paper("gong92").unwrap();
    let long = "ours/figure-19-long";
    let ids = |prepared: &thalweg_studies::paper::PreparedPaper| -> Vec<String> {
        prepared.experiments.iter().map(|of| of.id.clone()).collect()
    };
    let default_plan = prepare_all(gong);
    let skipped_long = ["ours/buffers/155-mbps-60-ms", "ours/buffers/1-gbps-100-ms", long];
    assert_eq!(default_plan.skipped_long, skipped_long);
    assert!(!ids(&default_plan).iter().any(|id| id == long));
    let named = |name: &str| Choice { experiments: vec![name.to_owned()], ..Choice::default() };
    let some = prepare_paper(gong, &named("ours")).unwrap();
    assert!(ids(&some).len() > 1 && some.skipped_long == skipped_long);
    let prepared = prepare_paper(gong, &named(long)).unwrap();
    assert_eq!((ids(&prepared), prepared.skipped_long.len()), (vec![long.to_owned()], 0));
    // 10^8 packets of 1024 bytes at 100 Mbit/s for each of the twelve points.
    assert_eq!(prepared.cases.len(), 12);
    for case in &prepared.cases {
        let seconds = (case.spec.duration - case.spec.warmup).as_secs_f64() * case.seeds.len() as f64;
        assert!((seconds * 1e8 / 8192.0 - 1e8).abs() < 1e5, "{seconds}");
    }
}

/// Without `--full` runs are shorter and fewer; with it all are in full length, the long experiments too.
#[test]
fn full_runs_are_those_of_the_plan() {
    for paper in PAPERS {
        let full = prepare_paper(paper, &Choice { full: true, ..Choice::default() }).unwrap();
        let short = prepare_all(paper);
        assert!(full.skipped_long.is_empty() && full.full_minutes.is_none(), "{}", paper.name);
        for case in &short.cases {
            let whole = full.cases.iter().find(|of| of.name == case.name).unwrap();
            assert!(case.seeds.len() <= whole.seeds.len(), "{}", case.name);
            assert!(whole.spec.warmup <= case.spec.duration, "{}", case.name);
            assert!(case.spec.duration <= whole.spec.duration, "{}", case.name);
        }
        let seconds = |prepared: &thalweg_studies::paper::PreparedPaper| -> f64 {
            prepared.jobs().iter().map(|job| job.spec.duration.as_secs_f64()).sum()
        };
        let is_shortened = seconds(&short) < seconds(&full);
        assert_eq!(is_shortened, short.full_minutes.is_some(), "{}: a note says so", paper.name);
    }
    // The plan's part of the counted time, after the whole warm-up.
    let gong = thalweg_studies::paper::find_paper("gong92").unwrap();
    let of = |full: bool| {
        let experiments = vec!["ours/1-gbps-100-ms".to_owned()];
        let prepared = prepare_paper(gong, &Choice { experiments, full, ..Choice::default() }).unwrap();
        (prepared.cases[0].spec.duration - prepared.cases[0].spec.warmup).as_secs_f64()
    };
    assert!((of(false) / of(true) - 0.15).abs() < 1e-9);
}

#[test]
fn case_names_are_unique_and_scenarios_self_contained() {
    for paper in PAPERS {
        let prepared = prepare_all(paper);
        let mut names: Vec<&str> = prepared.cases.iter().map(|case| case.name.as_str()).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|two| two[0] != two[1]), "{}: {names:?}", paper.name);
        for case in &prepared.cases {
            assert_eq!(case.jobs.len(), case.seeds.len(), "{}", case.name);
        }
        for case in &prepared.cases {
            assert!(!case.scenario.title.is_empty(), "{}", case.name);
            let text = thalweg_scenario::expand_scenario(&case.scenario);
            let again = load_text(&case.name, &text, std::path::Path::new("/nowhere"), &[]).unwrap();
            assert_eq!(format!("{:?}", again.spec()), format!("{:?}", case.spec), "{}", case.name);
        }
    }
}

/// A case of several figures is simulated once: in lee97 the window of 400 with T_normal 40 and T_error 5 ms.
#[test]
fn cases_that_simulate_the_same_share_their_runs() {
    for paper in PAPERS {
        let prepared = prepare_all(paper);
        let jobs = prepared.jobs();
        for case in &prepared.cases {
            for (job, seed) in jobs[case.jobs.clone()].iter().zip(&case.seeds) {
                assert!(job.seed == *seed && *job.spec == *case.spec, "{}", case.name);
            }
        }
        for (at, one) in prepared.cases.iter().enumerate() {
            let same = prepared.cases[..at].iter().find(|two| two.seeds == one.seeds && two.spec == one.spec);
            assert!(same.is_none_or(|two| two.jobs == one.jobs), "{} is run twice", one.name);
        }
    }
    let prepared = prepare_all(thalweg_studies::paper::find_paper("lee97").unwrap());
    let of = |name: &str| &prepared.cases.iter().find(|case| case.name == name).unwrap().jobs;
    let one = of("figure-5-T_error_ms-5-T_normal_ms-40-adaptive");
    assert_eq!(one, of("figure-8-loss-0.0001-adaptive-window-400"));
    assert_eq!(one, of("figure-9-loss-0.0001-adaptive"));
    assert_ne!(one, of("figure-10-bursty_loss-0.0001-adaptive"));
}

/// Files next to a plan that are not built in would be missing in the program.
#[test]
fn every_scenario_file_of_a_paper_is_built_in_and_right() {
    for paper in PAPERS {
        let folder =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/papers").join(paper.name);
        for entry in std::fs::read_dir(&folder).unwrap() {
            let name = entry.unwrap().file_name().to_string_lossy().into_owned();
            if name == "experiments.toml" {
                continue;
            }
            assert!(paper.files.scenarios.iter().any(|(known, _)| *known == name), "{name} is not built in");
            let loaded = thalweg_scenario::load(&folder.join(&name), &[]);
            assert!(loaded.is_ok(), "{name}: {loaded:?}");
        }
    }
}

#[test]
fn experiments_are_chosen_by_id_or_by_what_it_begins_with() {
    let choose = |names: &[&str]| {
        let experiments = names.iter().map(|&name| name.to_owned()).collect();
        prepare_paper(&PAPERS[0], &Choice { experiments, ..Choice::default() })
    };
    let ids = |names: &[&str]| -> Vec<String> {
        choose(names).unwrap().experiments.iter().map(|of| of.id.clone()).collect()
    };
    assert_eq!(ids(&["table-4.2/exp-2"]), ["table-4.2/exp-2"]);
    assert_eq!(ids(&["table-4.2"]), ["table-4.2/exp-1", "table-4.2/exp-2", "table-4.2/exp-3"]);
    assert_eq!(ids(&["table-4.2/exp-2", "table-4.1"]), ["table-4.1", "table-4.2/exp-2"]);
    // A prefix ends at a word boundary.
    let error = choose(&["table-4"]).unwrap_err();
    assert!(matches!(error, PaperError::NoExperiment { .. }), "{error}");
    let error = choose(&["table-5.7/exp2"]).unwrap_err().to_string();
    assert_eq!(error, "there is no experiment `table-5.7/exp2`; did you mean `table-5.7/exp-2`?");
}

/// Every id that a run prints or `--list` shows can be selected, in every paper: ids, and the `ours/` ids of
/// unpublished results.
#[test]
fn every_shown_id_can_be_selected() {
    for paper in PAPERS {
        let default_plan = prepare_all(paper);
        let listed = default_plan
            .listing()
            .map(|(id, _)| id.to_owned())
            .chain(default_plan.skipped_long.iter().cloned());
        for id in listed {
            let ours = if id.starts_with("ours/") { id.clone() } else { format!("ours/{id}") };
            for name in [&id, &ours] {
                let choice = Choice { experiments: vec![name.clone()], quick: true, ..Choice::default() };
                let prepared =
                    prepare_paper(paper, &choice).unwrap_or_else(|error| panic!("{name}: {error}"));
                let ids: Vec<&str> = prepared.listing().map(|(id, _)| id).collect();
                assert_eq!(ids, [id.as_str()], "{}: {name}", paper.name);
            }
        }
        let wrong = format!("ours/{}x", default_plan.experiments[0].id);
        let choice = Choice { experiments: vec![wrong.clone()], ..Choice::default() };
        let error = prepare_paper(paper, &choice).unwrap_err().to_string();
        let right = wrong.trim_end_matches('x');
        assert_eq!(error, format!("there is no experiment `{wrong}`; did you mean `{right}`?"));
    }
}

#[test]
fn seeds_count_up_from_the_requested_one() {
    let choose = |seed| {
        let experiments = vec!["table-5.2/exp-2".to_owned()];
        prepare_paper(
            &PAPERS[0],
            &Choice { experiments, seed: Some(seed), replications: Some(3), ..Choice::default() },
        )
    };
    let seeds: Vec<u64> = choose(11).unwrap().jobs().iter().map(|job| job.seed).take(3).collect();
    assert_eq!(seeds, [11, 12, 13]);
    assert!(matches!(choose(u64::MAX), Err(PaperError::Seeds)));
}
