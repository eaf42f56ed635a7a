use super::{Certainty, Verdict, decide_verdicts};
use crate::output::identical_runs::identical_runs_sentences;
use crate::output::{Style, format_summary};
use crate::results::test_fixtures::{run_result, test_header};
use crate::results::{Body, Document, MARGIN, Metric, Run};
use thalweg_proto::units::{Bytes, Duration, Time};
use thalweg_sim::{RunResult, Summary};

/// Returns the verdicts on schemes, each given with the results by seed.
fn verdicts_of(schemes: &[(&str, Vec<RunResult>)], margin: f64) -> Vec<Verdict> {
    let seeds: Vec<u64> = (1..=schemes[0].1.len() as u64).collect();
    let runs = |results: &[RunResult]| results.iter().map(Run::from_result).collect();
    let schemes = schemes.iter().map(|(name, results)| ((*name).to_owned(), runs(results))).collect();
    let document = Document::from_comparison(test_header(&seeds), schemes);
    let Body::Comparison { schemes, .. } = document.body else { panic!() };
    decide_verdicts(&schemes, margin, None)
}

fn with_goodput(mbits: &[u64]) -> Vec<RunResult> {
    mbits.iter().zip(1..).map(|(mbits, seed)| run_result(seed, *mbits)).collect()
}

#[track_caller]
fn about<'a>(verdicts: &'a [Verdict], subject: &str) -> &'a Verdict {
    verdicts.iter().find(|verdict| verdict.subject == subject).unwrap_or_else(|| panic!("{verdicts:#?}"))
}

fn goodput(schemes: &[(&str, &[u64])], margin: f64) -> Verdict {
    let schemes: Vec<(&str, Vec<RunResult>)> =
        schemes.iter().map(|(name, mbits)| (*name, with_goodput(mbits))).collect();
    about(&verdicts_of(&schemes, margin), "goodput").clone()
}

/// Returns a result whose flows are all transfers with this mean completion time.
fn with_transfers(mean: Duration, seed: u64) -> RunResult {
    let mut result = run_result(seed, 75);
    for group in &mut result.groups {
        let same =
            Summary { count: 10, min: mean, mean, p50: mean, p95: mean, p99: mean, p999: mean, max: mean };
        (group.has_many, group.transfers.completion) = (true, same);
    }
    for flow in &mut result.flows {
        flow.finished = Some(Time::ZERO + mean);
    }
    result
}

#[test]
fn differences_below_the_margin_are_ties() {
    // 200 and 201 of about 95 Mbit/s.
    let close: [(&str, &[u64]); 2] = [("a", &[200, 201, 202]), ("b", &[201, 202, 203])];
    let verdict = goodput(&close, MARGIN);
    assert_eq!((verdict.certainty, verdict.leader), (Certainty::Equal, None));
    assert!(
        verdict.sentence.starts_with("b and a are equal within 1 % in goodput: "),
        "{}",
        verdict.sentence
    );
    // The same difference counts with a smaller margin.
    let verdict = goodput(&close, 0.001);
    assert_eq!((verdict.certainty, verdict.leader.as_deref()), (Certainty::Significant, Some("b")));
    // A clear difference of 5 % does not count with a margin of 10 %.
    let verdict = goodput(&[("a", &[75, 76, 76]), ("b", &[70, 72, 71])], 0.1);
    assert!(verdict.sentence.contains("equal within 10 %"), "{}", verdict.sentence);
}

/// The goodput until the sender gave up says nothing about the scheme: it is neither last nor first.
#[test]
fn a_scheme_whose_flows_aborted_is_named_first_and_not_judged() {
    let results = |mbits: &[u64], failed: bool| {
        let mut results = with_goodput(mbits);
        for flow in results.iter_mut().flat_map(|result| &mut result.flows).take(usize::from(failed)) {
            flow.failed = Some(Time::ZERO + Duration::from_millis(6100));
        }
        results
    };
    let text = |schemes: &[(&str, Vec<RunResult>)]| {
        let runs = |results: &[RunResult]| results.iter().map(Run::from_result).collect();
        let schemes = schemes.iter().map(|(name, results)| ((*name).to_owned(), runs(results))).collect();
        let text = format_summary(&Document::from_comparison(test_header(&[1, 2, 3]), schemes), Style::PLAIN);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let (a, b) = (results(&[75, 76, 76], false), results(&[70, 72, 71], false));
    for mbits in [1, 200] {
        let c = results(&[mbits; 3], true);
        let all = [("a", a.clone()), ("b", b.clone()), ("c", c)];
        let found = verdicts_of(&all, MARGIN);
        let verdict = about(&found, "goodput");
        assert_eq!(verdict.leader.as_deref(), Some("a"));
        assert!(found.iter().all(|verdict| !verdict.sentence.contains(" c ")), "{found:#?}");
        let text = text(&all);
        let sentence = "flows of c, the first after 6.100 s. c is not judged.";
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        assert!(at("ABORTED: ") < at(sentence) && at(sentence) < at("a carried most"), "{text}");
    }
    let two = [("a", a.clone()), ("c", results(&[1; 3], true))];
    assert!(verdicts_of(&two, MARGIN).is_empty());
    assert!(text(&two).contains("c is not judged, and there is no verdict."), "{}", text(&two));
    assert!(!text(&[("a", a), ("b", b)]).contains("ABORTED"));
}

#[test]
fn a_small_mean_difference_that_chance_may_hide_is_open() {
    let verdict = goodput(&[("a", &[70, 90, 80]), ("b", &[90, 70, 80])], MARGIN);
    assert_eq!(verdict.certainty, Certainty::Open, "{}", verdict.sentence);
}

#[test]
fn all_that_are_equal_are_named_and_the_last_one_too() {
    let schemes: [(&str, &[u64]); 4] =
        [("a", &[200, 201, 202]), ("b", &[201, 202, 203]), ("c", &[200, 202, 202]), ("d", &[20, 21, 19])];
    let verdict = goodput(&schemes, MARGIN);
    let expected = "b, c and a are equal within 1 % in goodput: 222.0 Mbit/s. d is last with 40.00 Mbit/s, of which the \
                    first has 5.5 times as much.";
    assert_eq!(verdict.sentence, expected);
    assert_eq!(
        (verdict.first, verdict.behind),
        (["b", "c", "a"].map(str::to_owned).to_vec(), vec!["d".to_owned()])
    );
}

#[test]
fn runs_that_are_the_same_are_one_run() {
    let same = |mbits| (0..3).map(|_| run_result(7, mbits)).collect::<Vec<RunResult>>();
    let mut schemes = vec![("a", same(70)), ("b", same(75))];
    for (_, results) in &mut schemes {
        results.iter_mut().zip(1..).for_each(|(result, seed)| result.seed = seed);
    }
    let verdict = about(&verdicts_of(&schemes, MARGIN), "goodput").clone();
    assert_eq!(verdict.certainty, Certainty::SingleRun);
    assert!(verdict.sentence.starts_with("b carried most in this one run: "), "{}", verdict.sentence);
    assert!(verdict.sentence.ends_with("(5.6 %) more than a."), "{}", verdict.sentence);
    let verdict = goodput(&[("a", &[200]), ("b", &[201])], MARGIN);
    assert!(verdict.sentence.contains("within 1 % in goodput in this one run: "), "{}", verdict.sentence);
    // Runs may differ in other metrics.
    let verdict = goodput(&[("a", &[70, 70, 70]), ("b", &[75, 75, 75])], MARGIN);
    assert_eq!(verdict.certainty, Certainty::SingleRun);
    assert!(verdict.sentence.contains("show no random variation"), "{}", verdict.sentence);
}

#[test]
fn completion_times_decide_first_and_offered_load_wins_no_goodput() {
    let transfers = |millis: [u64; 3]| {
        let run = |(millis, seed): (&u64, u64)| with_transfers(Duration::from_millis(*millis), seed);
        millis.iter().zip(1..).map(run).collect::<Vec<RunResult>>()
    };
    let found =
        verdicts_of(&[("iw3", transfers([198, 200, 196])), ("iw10", transfers([146, 149, 145]))], MARGIN);
    let subjects: Vec<&str> = found.iter().map(|verdict| verdict.subject).collect();
    assert_eq!(subjects, ["completion time", "mean delay"]);
    assert_eq!((found[0].certainty, found[0].leader.as_deref()), (Certainty::Significant, Some("iw10")));
    let expected = "iw10 completed transfers soonest: 146.7 ms (geometric mean over 2 groups), 51.33 ms (25.9 %) less than iw3;";
    assert!(found[0].sentence.starts_with(expected), "{}", found[0].sentence);
}

/// The mean over groups, equally weighted, may rank schemes differently from most transfers.
#[test]
fn groups_with_another_leader_are_reported() {
    let runs = |millis: [u64; 2]| {
        let run = |seed: u64| {
            let mut run = with_transfers(Duration::from_millis(100), seed);
            for (group, millis) in run.groups.iter_mut().zip(millis) {
                group.transfers.completion.mean = Duration::from_millis(millis + seed);
            }
            run
        };
        (1..4).map(run).collect::<Vec<RunResult>>()
    };
    let found = |a, b| verdicts_of(&[("a", runs(a)), ("b", runs(b))], MARGIN)[0].sentence.clone();
    let split_winners = found([170, 138], [237, 103]);
    let expected = " But in `bold` b is ahead of a (105.0 ms for 140.0 ms).";
    assert!(
        split_winners.starts_with("a completed transfers soonest: ") && split_winners.ends_with(expected),
        "{split_winners}"
    );
    for other in [[237, 140], [237, 138], [237, 137]] {
        assert!(!found([170, 138], other).contains(" But "), "{other:?}");
    }
}

#[test]
fn unfinished_transfers_are_reported() {
    let of = |millis: u64, open: u64| {
        let mut run = with_transfers(Duration::from_millis(millis), 1);
        run.groups.iter_mut().for_each(|group| group.transfers.unfinished = open);
        vec![run]
    };
    // The slower scheme omits more: its lead is larger still.
    let found = verdicts_of(&[("a", of(100, 0)), ("b", of(300, 10))], MARGIN);
    assert_eq!(found[0].leader.as_deref(), Some("a"));
    assert!(
        found[0].sentence.ends_with("Not ended within the run, and not in these times: a 0.0 %, b 50.0 %."),
        "{found:?}"
    );
    // The shorter times may be those of the shorter transfers.
    let found = verdicts_of(&[("a", of(300, 0)), ("b", of(100, 10))], MARGIN);
    assert_eq!((found[0].certainty, &found[0].leader), (Certainty::Unsettled, &None));
    assert!(
        found[0].sentence.starts_with(
            "No verdict on completion time: the shorter times of b (50.0 %) omit more unfinished transfers than those of \
             slower schemes; set a longer `duration`"
        ),
        "{found:?}"
    );
    let found = verdicts_of(&[("a", of(300, 0)), ("b", of(100, 10)), ("c", of(200, 0))], MARGIN);
    assert_eq!(found[0].leader.as_deref(), Some("c"));
    assert!(
        found[0].sentence.contains(" b is not judged: the shorter times of b (50.0 %) omit"),
        "{found:?}"
    );
    // A remark on one scheme beyond the margin lists all schemes.
    let open = |unfinished: [u64; 2]| {
        let run = |(scheme, open): (&'static str, u64)| {
            let mut run = with_transfers(Duration::from_millis(100), 1);
            for group in &mut run.groups {
                group.transfers.completion.count = 10_000 - open;
                group.transfers.unfinished = open;
            }
            (scheme, vec![run])
        };
        let found = verdicts_of(&[("a", unfinished[0]), ("b", unfinished[1])].map(run), MARGIN);
        found[0].sentence.split_once(" Not ended").map(|(_, rest)| rest.to_owned())
    };
    assert_eq!(
        open([98, 110]).as_deref(),
        Some(" within the run, and not in these times: a 1.0 %, b 1.1 %.")
    );
    assert_eq!(open([98, 90]), None);
}

/// The leader's mean covers two runs, its lead over the other scheme one.
#[test]
fn a_lead_in_a_single_common_run_is_not_generalised() {
    let late = |seed| {
        let mut run = with_transfers(Duration::ZERO, seed);
        run.groups.iter_mut().for_each(|group| group.transfers.completion = Summary::default());
        run.flows.iter_mut().for_each(|flow| flow.finished = None);
        run
    };
    let run_ending_after = |millis, seed| with_transfers(Duration::from_millis(millis), seed);
    let found = verdicts_of(
        &[
            ("a", vec![run_ending_after(100, 1), run_ending_after(200, 2)]),
            ("b", vec![late(1), run_ending_after(300, 2)]),
        ],
        MARGIN,
    );
    let sentence = &about(&found, "completion time").sentence;
    assert!(sentence.starts_with("a completed transfers soonest: 150.0 ms"), "{sentence}");
    let lead = " ms (33.3 %) less than b in the one run in which both have a value.";
    assert!(sentence.contains(lead), "{sentence}");
    assert!(!sentence.contains("this one run"), "{sentence}");
}

/// A flow with an offered load below its share is not in Jain's index: 10 and 75 Mbit/s are fair if the first flow
/// asked for no more.
#[test]
fn fairness_is_among_those_that_wanted_more() {
    let index = |shy: bool| {
        let mut result = run_result(1, 75);
        if shy {
            result.flows[0].limits = [0, 0, 0, 90, 10, 0, 0].map(Duration::from_millis);
            result.flows[1].limits = [0, 0, 0, 90, 10, 0, 0].map(Duration::from_millis);
        }
        Run::from_result(&result).totals.get(Metric::Jain)
    };
    // (10 + 10 + 75)^2 / (3 (100 + 100 + 5625))
    assert!((index(false).unwrap() - 9025.0 / 17_475.0).abs() < 1e-12);
    // One flow is left: fairness needs two.
    assert_eq!(index(true), None);
    let limited = |mbits: [u64; 3]| {
        let mut limited = with_goodput(&mbits);
        limited
            .iter_mut()
            .for_each(|result| result.flows[2].limits = [0, 0, 0, 90, 10, 0, 0].map(Duration::from_millis));
        limited
    };
    let found = verdicts_of(&[("a", limited([70, 75, 72])), ("b", limited([70, 75, 73]))], MARGIN);
    // Exactly equal values need no margin.
    let expected = "a and b are equal in fairness: 1 (the 2 flows that always had more to send).";
    assert_eq!(about(&found, "fairness").sentence, expected);
}

/// A scheme that starves the flows of the long path has the lower mean delay over all packets, and no lower delay on
/// either path.
#[test]
fn delays_of_groups_are_not_pooled() {
    let run = |starves: bool| {
        let mut result = run_result(1, 75);
        let millis = Duration::from_millis;
        for (group, mean) in result.groups.iter_mut().zip([millis(10), millis(100)]) {
            group.delay.mean = mean;
        }
        result.groups[1].delay.count = if starves { 10 } else { 1000 };
        result
    };
    let found = verdicts_of(&[("fair", vec![run(false)]), ("starves", vec![run(true)])], MARGIN);
    let verdict = about(&found, "mean delay");
    assert_eq!(verdict.certainty, Certainty::Equal, "{}", verdict.sentence);
}

/// A scheme that drops late datagrams has low delays for the delivered ones.
#[test]
fn datagram_delays_state_the_undelivered_share() {
    let run = |lost: u64, millis: u64| {
        let mut result = run_result(1, 75);
        let datagrams = result.groups[0].name.clone();
        result.groups[0].delay.mean = Duration::from_millis(millis);
        for flow in result.flows.iter_mut().filter(|flow| flow.name.starts_with(&datagrams)) {
            (flow.jitter, flow.sent_packets) = (Some(Duration::from_millis(1)), 1000);
            flow.counts.lost_data = lost;
        }
        result
    };
    let found = verdicts_of(&[("keeps", vec![run(0, 80)]), ("drops", vec![run(223, 20)])], MARGIN);
    let sentence = &about(&found, "mean delay").sentence;
    assert!(sentence.starts_with("drops had the shortest mean delay"), "{sentence}");
    let expected = " Delays are of those datagrams that arrived; lost were: keeps 0.0 %, drops 22.3 %.";
    assert!(sentence.ends_with(expected), "{sentence}");
    let found = verdicts_of(&[("keeps", vec![run(0, 80)]), ("too", vec![run(2, 20)])], MARGIN);
    assert!(!about(&found, "mean delay").sentence.contains("arrived"), "{found:?}");
}

/// Of 9 comparisons one is more often than not below 5 % by chance alone; the sentence states the number of comparisons
/// corrected for.
#[test]
fn many_comparisons_are_corrected_for() {
    let alone = goodput(&[("a", &[70, 72, 74]), ("b", &[80, 79, 85])], MARGIN);
    assert_eq!(alone.certainty, Certainty::Significant, "{}", alone.sentence);
    let five_schemes: [(&str, &[u64]); 5] = [
        ("a", &[70, 72, 74]),
        ("b", &[80, 79, 85]),
        ("c", &[71, 69, 75]),
        ("d", &[69, 74, 72]),
        ("e", &[73, 70, 70]),
    ];
    let verdict = goodput(&five_schemes, MARGIN);
    assert_eq!(verdict.certainty, Certainty::Open, "{}", verdict.sentence);
    assert!(
        verdict.comparisons >= 20 && verdict.sentence.contains("Holm's method for the"),
        "{}",
        verdict.sentence
    );
}

/// Data waiting for a repair at the end of the warm-up is counted later, which is not a merit of the scheme.
#[test]
fn goodput_from_the_warm_up_wins_nothing() {
    let late = |seed: u64, percent: u64| {
        let mut result = run_result(seed, 90 + seed);
        for flow in &mut result.flows {
            flow.arrived_before = Bytes::new(flow.delivered.get() * percent / 100);
        }
        result
    };
    let verdicts_of = |percent, subject| {
        let late = (1..=3).map(|seed| late(seed, percent)).collect();
        about(&verdicts_of(&[("calm", with_goodput(&[75, 76, 77])), ("late", late)], MARGIN), subject).clone()
    };
    let fairness = verdicts_of(9, "fairness");
    assert_eq!((fairness.certainty, fairness.leader), (Certainty::Unsettled, None));
    assert_ne!(verdicts_of(1, "fairness").certainty, Certainty::Unsettled);
    let verdict = verdicts_of(9, "goodput");
    assert_eq!((verdict.certainty, verdict.leader), (Certainty::Unsettled, None));
    let expected = "No verdict on goodput: the goodput of late (9.0 %) counts data that came during the warm-up and was delayed by loss \
                    recovery; set a later `warmup`, or a longer `duration`.";
    assert_eq!(verdict.sentence, expected);
    assert_eq!(verdicts_of(1, "goodput").leader.as_deref(), Some("late"));
    // Others are judged without it.
    let three = |percent| {
        let late = (1..=3).map(|seed| late(seed, percent)).collect();
        let others = [("calm", with_goodput(&[75, 76, 77])), ("slow", with_goodput(&[65, 66, 67]))];
        about(&verdicts_with_default_margin(&[others.to_vec(), vec![("late", late)]].concat()), "goodput")
            .clone()
    };
    let verdict = three(9);
    assert_eq!((verdict.certainty, verdict.leader.as_deref()), (Certainty::Significant, Some("calm")));
    let expected = " late is not judged: the goodput of late (9.0 %) counts data that came during the warm-up and was delayed by loss \
                    recovery; set a later `warmup`, or a longer `duration`.";
    assert!(verdict.sentence.ends_with(expected), "{}", verdict.sentence);
    assert!(!verdict.first.contains(&"late".to_owned()), "{verdict:?}");
    assert_eq!(three(1).leader.as_deref(), Some("late"));
}

fn verdicts_with_default_margin(schemes: &[(&str, Vec<RunResult>)]) -> Vec<Verdict> {
    verdicts_of(schemes, MARGIN)
}

/// The gap of the last scheme to the next to last is described like the lead of a winner.
#[test]
fn the_last_one_is_held_to_what_the_first_one_is_held_to() {
    let last = |c: &[u64], d: &[u64], margin| {
        let verdict = goodput(&[("a", &[75, 76, 77]), ("b", &[70, 71, 72]), ("c", c), ("d", d)], margin);
        assert_eq!(verdict.leader.as_deref(), Some("a"), "{}", verdict.sentence);
        verdict.sentence.rsplit_once("). ").map(|(_, last)| last.to_owned()).unwrap_or_default()
    };
    assert_eq!(
        last(&[50, 51, 52], &[20, 21, 22], MARGIN),
        "d is last with 41.00 Mbit/s, of which the first has 2.3 times as much."
    );
    // Within the margin, and not significant.
    let together = "c and d are last with 41.20 Mbit/s to 41.00 Mbit/s, and not distinguishable.";
    assert!(
        last(&[20, 21, 22], &[20, 21, 22], MARGIN)
            .ends_with("c and d are last with 41.00 Mbit/s to 41.00 Mbit/s, and not distinguishable.")
    );
    assert!(last(&[20, 25, 22], &[24, 19, 21], MARGIN).ends_with("and not distinguishable."), "{together}");
    assert!(last(&[30, 31, 32], &[20, 21, 22], 0.01).starts_with("d is last"));
}

/// Goodput at the cost of heavy loss is reported with its loss share.
#[test]
fn heavy_loss_is_reported_with_goodput() {
    let run = |lost: u64| {
        let mut result = run_result(1, 75);
        for flow in &mut result.flows {
            (flow.sent_packets, flow.counts.lost_data) = (1000, lost);
        }
        result
    };
    let goodput_sentence = |lost| {
        let found = verdicts_of(&[("calm", vec![run(5)]), ("floods", vec![run(lost)])], MARGIN);
        about(&found, "goodput").sentence.clone()
    };
    assert!(
        goodput_sentence(950).ends_with(" Lost on the path, of all that was sent: floods 95.0 %."),
        "{}",
        goodput_sentence(950)
    );
    assert!(!goodput_sentence(90).contains("Lost"), "{}", goodput_sentence(90));
}

/// Means over all packets and verdicts over groups may disagree; tables then mark nothing.
#[test]
fn tables_mark_no_difference_that_the_verdict_leaves_open() {
    // The second group has few packets.
    let run = |seed: u64, [max, few]: [u64; 2]| {
        let mut result = run_result(seed, 70 + seed);
        for (group, (mean, count)) in result.groups.iter_mut().zip([(max + seed, 1_000_000), (few, 1)]) {
            (group.delay.mean, group.delay.count) = (Duration::from_millis(mean), count);
        }
        Run::from_result(&result)
    };
    let compared = |b: [[u64; 2]; 3]| {
        let a = (1..=3).map(|seed| run(seed, [20, 40 + seed])).collect();
        let b = (1..=3).zip(b).map(|(seed, means)| run(seed, means)).collect();
        let schemes = vec![("a".to_owned(), a), ("b".to_owned(), b)];
        let text = format_summary(&Document::from_comparison(test_header(&[1, 2, 3]), schemes), Style::PLAIN);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let open = compared([[25, 50], [25, 30], [25, 20]]);
    assert!(open.contains("No clear winner in mean delay") && !open.contains("ms *"), "{open}");
    assert!(open.contains("and as the verdict below"), "{open}");
    let sure = compared([[40, 80], [40, 82], [40, 84]]);
    assert!(sure.contains("a had the shortest mean delay") && sure.contains("ms *"), "{sure}");
    assert!(!sure.contains("and as the verdict below"), "{sure}");
}

/// Options without effect decide nothing; the schemes are named, also beside others.
#[test]
fn schemes_with_identical_runs_are_named() {
    let results = |schemes: &[(&str, &[u64])]| {
        let runs = |mbits: &[u64]| with_goodput(mbits).iter().map(Run::from_result).collect();
        let schemes = schemes.iter().map(|(name, mbits)| ((*name).to_owned(), runs(mbits))).collect();
        let document = Document::from_comparison(test_header(&[1, 2]), schemes);
        let text = format_summary(&document, Style::PLAIN).split_whitespace().collect::<Vec<_>>().join(" ");
        let Body::Comparison { schemes, .. } = document.body else { panic!() };
        (schemes, text)
    };
    let (two, text) = results(&[("a:x=1", &[70, 71]), ("a:x=2", &[70, 71])]);
    assert!(decide_verdicts(&two, MARGIN, None).is_empty());
    let sentence = "a:x=1 and a:x=2 gave identical runs: what differs between them had no effect.";
    assert_eq!(identical_runs_sentences(&two), [sentence]);
    assert!(text.contains(sentence) && !text.contains("equal"), "{text}");
    let (three, text) = results(&[("a:x=1", &[70, 71]), ("b", &[60, 61]), ("a:x=2", &[70, 71])]);
    assert_eq!(identical_runs_sentences(&three), [sentence]);
    assert!(text.contains(sentence) && text.contains("b is last with 80.50 Mbit/s."), "{text}");
    assert!(text.contains("a:x=1 and a:x=2 are equal in goodput: 90.50 Mbit/s."), "{text}");
    // Runs of one seed differ.
    let (other, _) = results(&[("a:x=1", &[70, 71]), ("a:x=2", &[70, 72])]);
    assert_eq!(identical_runs_sentences(&other), [""; 0]);
    assert!(!decide_verdicts(&other, MARGIN, None).is_empty());
}

/// A scheme may have short delays because it carries little.
#[test]
fn a_verdict_on_delay_states_different_goodput() {
    let run = |mbits: u64, millis: u64| {
        let mut result = run_result(1, mbits);
        for flow in &mut result.flows {
            flow.limits = [0, 0, 0, 90, 10, 0, 0].map(Duration::from_millis);
        }
        result.groups.iter_mut().for_each(|group| group.delay.mean = Duration::from_millis(millis));
        vec![result]
    };
    let sentence = |a: u64, b: u64| {
        let found = verdicts_of(&[("a", run(a, 30)), ("b", run(b, 20))], MARGIN);
        assert_eq!(found.len(), 1, "{found:?}");
        about(&found, "mean delay").sentence.clone()
    };
    let with_remark = sentence(90, 0);
    assert!(
        with_remark.starts_with("b had the shortest mean delay in this one run: 20.00 ms"),
        "{with_remark}"
    );
    let expected = " less than a. Goodput differs by a factor of 5.5: a 110.0 Mbit/s, b 20.00 Mbit/s.";
    assert!(with_remark.ends_with(expected), "{with_remark}");
    assert!(sentence(80, 90).ends_with(" Goodput differs: b 110.0 Mbit/s, a 100.0 Mbit/s."));
    assert!(!sentence(90, 91).contains("oodput"));
}
