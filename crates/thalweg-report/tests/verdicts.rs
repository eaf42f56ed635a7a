//! Verdicts on simulated schemes: the right scheme wins where the winner is known, and none wins where all are equal.

use std::path::Path;
use std::sync::Arc;
use thalweg_report::output::{Certainty, Verdict, decide_verdicts};
use thalweg_report::parallel_batch::{self, Job, Progress};
use thalweg_report::results::{Body, Document, Header, MARGIN, Run, Scenario};
use thalweg_scenario::{Diagnostic, load_text};
use thalweg_sim::packet_trace::NoTrace;

const THREADS: usize = 4;

/// Returns the runs of a scenario with these seeds.
fn runs(text: &str, seeds: &[u64]) -> Vec<Run> {
    let loaded = load_text("test.toml", text, Path::new(""), &[])
        .unwrap_or_else(|found| panic!("{}", found.iter().map(Diagnostic::render).collect::<String>()));
    let spec = Arc::new(loaded.spec().clone());
    let jobs: Vec<Job> =
        seeds.iter().map(|&seed| Job { spec: Arc::clone(&spec), seed, events: None, threads: 1 }).collect();
    let progress = Progress::new(&jobs, Arc::default());
    let mut runs = Vec::new();
    parallel_batch::run_jobs(&jobs, THREADS, &progress, |_| NoTrace, |_, _, run, _| runs.push(run), || ())
        .unwrap();
    runs
}

fn verdicts_of(schemes: Vec<(String, Vec<Run>)>) -> Vec<Verdict> {
    let seeds = schemes[0].1.iter().map(|run| run.seed).collect();
    let header = Header {
        tool_version: String::new(),
        scenario: Scenario { title: String::new(), file: String::new() },
        duration: thalweg_proto::units::Duration::from_secs(1),
        warmup: thalweg_proto::units::Duration::ZERO,
        seeds,
        deterministic: false,
        margin: MARGIN,
        unlike_defaults: Vec::new(),
        contention: None,
        compared: Vec::new(),
    };
    let Body::Comparison { schemes, .. } = Document::from_comparison(header, schemes).body else { panic!() };
    decide_verdicts(&schemes, MARGIN, None)
}

/// Returns the verdicts on schemes with the same seeds; `text` returns the scenario of each.
fn compared(schemes: &[&str], seeds: u64, text: impl Fn(&str) -> String) -> Vec<Verdict> {
    let seeds: Vec<u64> = (1..=seeds).collect();
    verdicts_of(schemes.iter().map(|scheme| ((*scheme).to_owned(), runs(&text(scheme), &seeds))).collect())
}

/// Transfers of a few segments with random arrivals: an initial window of 10 segments instead of 3 saves most of them a
/// round trip or two (Dukkipati et al. 2010, "An Argument for Increasing TCP's Initial Congestion Window").
#[test]
fn a_larger_initial_window_wins_where_transfers_end() {
    let web = |window: &str| {
        format!(
            r#"
            duration = "30 s"
            [scheme.iw]
            base = "newreno"
            initial-window = "{window} pkt"
            [[link]]
            between = ["users", "site"]
            rate = "20 Mbit/s"
            delay = "25 ms"
            queue = "2 bdp"
            [[flow]]
            from = "site"
            to = "users"
            scheme = "iw"
            workload = {{ kind = "poisson", load = "8 Mbit/s", size = {{ distribution = "exponential", mean = "120 kB" }} }}
            "#
        )
    };
    let found = compared(&["3", "10"], 8, web);
    let first = &found[0];
    assert_eq!((first.subject, first.certainty), ("completion time", Certainty::Significant), "{found:#?}");
    assert_eq!(first.leader.as_deref(), Some("10"), "{found:#?}");
    let percent: f64 = first.sentence.split('(').nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!((22.0..31.0).contains(&percent), "{}", first.sentence);
    // Goodput is set by the offered load.
    assert!(
        found.iter().all(|verdict| verdict.subject != "goodput" && verdict.subject != "fairness"),
        "{found:#?}"
    );
}

/// 64 senders of 256 KiB each start together: a sender that loses a whole window waits for its retransmission timer.
#[test]
fn an_incast_distinguishes_tenfold_completion_times() {
    let incast = |scheme: &str| {
        format!(
            r#"
            duration = "5 s"
            [[link]]
            between = ["switch", "sink"]
            rate = "10 Gbit/s"
            delay = "10 us"
            queue = "128 KiB"
            [[flow]]
            name = "sender"
            count = 64
            from = "switch"
            to = "sink"
            scheme = "{scheme}"
            access = {{ rate = "10 Gbit/s", delay = "10 us" }}
            workload = {{ kind = "transfer", size = "256 KiB" }}
            spread = "100 us"
            "#
        )
    };
    let found = compared(&["newreno", "cubic", "vegas"], 6, incast);
    let first = &found[0];
    assert_eq!((first.subject, first.certainty), ("completion time", Certainty::Significant), "{found:#?}");
    assert_eq!(first.leader.as_deref(), Some("vegas"), "{found:#?}");
    let times: f64 =
        first.sentence.split("which is ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(times > 5.0, "{}", first.sentence);
    assert!(found.iter().all(|verdict| verdict.subject != "goodput"), "{found:#?}");
}

/// A single extra segment in 25 s is not a win, and a scenario without randomness counts as one run however often it is
/// repeated.
#[test]
fn a_segment_more_is_equal_and_runs_without_chance_are_one() {
    let two = |scheme: &str| {
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/two-flows.toml"))
            .unwrap()
            .replace("\"vegas\"", &format!("\"{scheme}\""))
            .replace("\"cubic\"", &format!("\"{scheme}\""))
            .replace("overhead = \"120 us\"", "overhead = \"0 s\"")
    };
    let found = compared(&["newreno", "cubic", "vegas"], 3, two);
    let goodput = found.iter().find(|verdict| verdict.subject == "goodput").unwrap();
    assert_eq!(goodput.certainty, Certainty::Equal, "{found:#?}");
    assert_eq!(goodput.first.len(), 3, "{found:#?}");
    assert!(found.iter().all(|verdict| verdict.certainty != Certainty::Significant), "{found:#?}");
}

/// The warm-up ends during the repair of slow start's overshoot of a deep queue: the data waiting for it is delivered
/// and counted later, and raises goodput above the link rate. That is not a win for any scheme, and a later warm-up shows
/// the real winner.
#[test]
fn data_awaiting_repair_at_the_end_of_the_warm_up_wins_nothing() {
    let deep = |warmup: &str, duration: &str, scheme: &str| {
        format!(
            r#"
            duration = "{duration}"
            warmup = "{warmup}"
            [[link]]
            between = ["a", "b"]
            rate = "40 Mbit/s"
            delay = "10 ms"
            queue = "1000 pkt"
            [[flow]]
            count = 2
            from = "a"
            to = "b"
            scheme = "{scheme}"
            overhead = "300 us"
            "#
        )
    };
    let goodput = |warmup, duration| {
        let found = compared(&["newreno", "cubic"], 5, |scheme| deep(warmup, duration, scheme));
        found.into_iter().find(|verdict| verdict.subject == "goodput").unwrap()
    };
    let early = goodput("2 s", "8 s");
    assert_eq!((early.certainty, &early.leader), (Certainty::Unsettled, &None), "{early:#?}");
    assert!(early.sentence.contains("cubic (") && early.sentence.contains("`warmup`"), "{}", early.sentence);
    let later = goodput("10 s", "40 s");
    assert_ne!(later.certainty, Certainty::Unsettled, "{later:#?}");
}

/// Eight equal schemes: one scheme with different seeds for each. Of a hundred comparisons at most five may declare a
/// winner, as the significance level is 5 %.
#[test]
fn schemes_that_are_alike_win_nothing() {
    const SCHEMES: u64 = 8;
    const COMPARISONS: u64 = 100;
    const SEEDS: u64 = 3;
    let text = r#"
        duration = "4 s"
        warmup = "1 s"
        [measure]
        interval = "off"
        [[link]]
        between = ["a", "b"]
        rate = "4 Mbit/s"
        delay = "10 ms"
        queue = "30 pkt"
        loss = 0.01
        [[flow]]
        name = "files"
        count = 2
        from = "a"
        to = "b"
        spread = "200 ms"
        scheme = "newreno"
        [[flow]]
        name = "pages"
        from = "a"
        to = "b"
        scheme = "newreno"
        workload = { kind = "poisson", load = "1 Mbit/s", size = { distribution = "exponential", mean = "10 kB" } }
    "#;
    let seeds: Vec<u64> = (1..=SCHEMES * COMPARISONS * SEEDS).collect();
    let mut all = runs(text, &seeds).into_iter();
    let mut declared = Vec::new();
    for comparison in 0..COMPARISONS {
        let scheme = |number: u64| {
            let runs = all.by_ref().take(SEEDS as usize).zip(1..).map(|(run, seed)| Run { seed, ..run });
            (format!("alike-{number}"), runs.collect())
        };
        let found = verdicts_of((0..SCHEMES).map(scheme).collect());
        assert_eq!(found.len(), 4, "{found:#?}");
        let is_about =
            |verdict: &&Verdict| verdict.certainty == Certainty::Significant || !verdict.behind.is_empty();
        declared.extend(found.iter().find(is_about).map(|verdict| (comparison, verdict.sentence.clone())));
    }
    assert!(declared.len() <= 5, "{} of {COMPARISONS}: {declared:#?}", declared.len());
    println!("{} of {COMPARISONS} declared something", declared.len());
}
