use super::test_fixtures::{run_result, test_header};
use super::*;
use thalweg_proto::units::{Bytes, Duration};
use thalweg_sim::{SegmentDelay, TwoLevelCounts};

fn runs(mbits: &[u64]) -> Vec<Run> {
    mbits.iter().zip(1..).map(|(mbits, seed)| Run::from_result(&run_result(seed, *mbits))).collect()
}

fn json(document: &Document) -> String {
    let mut text = Vec::new();
    document.write_json(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// The names and the layout of the document are an interface: this file changes only together with the reference.
#[test]
fn the_document_of_a_run_is_as_documented() {
    let document = Document::from_runs(test_header(&[1]), runs(&[75]));
    let expected = include_str!("../../tests/run.json");
    if std::env::var_os("THALWEG_BLESS").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/run.json"), json(&document)).unwrap();
    } else {
        assert_eq!(json(&document), expected);
    }
}

/// Documents of all kinds are written as serde_json writes a whole value.
#[test]
fn documents_have_the_layout_of_serde_json() {
    let named = |name: &str, mbits: &[u64]| (name.to_owned(), runs(mbits));
    for document in [
        Document::from_runs(test_header(&[1]), runs(&[75])),
        Document::from_runs(test_header(&[1, 2, 3]), runs(&[75, 70, 72])),
        Document::from_comparison(
            test_header(&[1, 2]),
            vec![named("cubic", &[75, 70]), named("bbr", &[60, 61])],
        ),
    ] {
        assert_eq!(json(&document), serde_json::to_string_pretty(&document).unwrap() + "\n");
    }
}

/// An object in a flow's JSON is written once: its metrics are adjacent in the table.
#[test]
fn metrics_of_one_object_are_adjacent() {
    let mut objects: Vec<Option<&str>> =
        Metric::all_of(SubjectKind::Flow).map(|metric| metric.line().parent_object).collect();
    objects.dedup();
    let objects: Vec<&str> = objects.into_iter().flatten().collect();
    let distinct: BTreeSet<&str> = objects.iter().copied().collect();
    assert_eq!((objects.len(), distinct.len()), (distinct.len(), 3), "{objects:?}");
}

/// The reference contains the metrics table unchanged; `THALWEG_BLESS=1` rewrites it.
#[test]
fn the_reference_lists_every_metric() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/results.md");
    let page = std::fs::read_to_string(path).unwrap();
    let [begin, end] = ["<!-- metrics -->\n\n", "\n<!-- end of metrics -->"];
    let (before, rest) = page.split_once(begin).unwrap();
    let (table, after) = rest.split_once(end).unwrap();
    if std::env::var_os("THALWEG_BLESS").is_some() {
        std::fs::write(path, format!("{before}{begin}{}{end}{after}", metrics_table())).unwrap();
    } else {
        assert!(table == metrics_table(), "the table of metrics is out of date; see the head of this test");
    }
}

/// Each name is unique within a kind of subject, and ends in its unit.
#[test]
fn metric_names_are_unique_and_end_in_their_unit() {
    for of in [SubjectKind::Flow, SubjectKind::Group, SubjectKind::Network, SubjectKind::Link] {
        let mut names: Vec<&str> = Metric::all_of(of).map(|metric| metric.name(of)).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "{of:?}");
        for metric in Metric::all_of(of) {
            let ending = match metric.line().unit {
                Unit::Rate => "_bps",
                Unit::Time => "_s",
                Unit::Bytes => "bytes",
                Unit::RateSquared => "_kbps2",
                _ => "",
            };
            assert!(metric.name(of).ends_with(ending), "{}", metric.name(of));
            assert!(metric.line().description.trim().ends_with('.'), "{}", metric.name(of));
        }
    }
}

#[test]
fn documents_read_back_as_they_were() {
    let single = Document::from_runs(test_header(&[1]), runs(&[75]));
    let replicated = Document::from_runs(test_header(&[1, 2, 3]), runs(&[75, 70, 74]));
    let schemes = vec![("a".to_owned(), runs(&[70, 71])), ("b".to_owned(), runs(&[75, 75]))];
    let compared = Document::from_comparison(test_header(&[1, 2]), schemes);
    for document in [single, replicated, compared] {
        assert!(Document::from_json(&json(&document)).unwrap() == document);
    }
}

#[test]
fn other_documents_are_refused_by_name() {
    let error = Document::from_json(r#"{"format": "thalweg-results", "version": 99}"#).unwrap_err();
    assert!(error.to_string().contains("version 99"), "{error}");
    assert!(matches!(Document::from_json("[]"), Err(ReadError::Json(_))));
}

/// 75, 70 and 74 have mean 73 and standard deviation sqrt 7; Student's factor for two degrees is 4.3027.
#[test]
fn replications_have_means_and_intervals() {
    let document = Document::from_runs(test_header(&[1, 2, 3]), runs(&[75, 70, 74]));
    let Body::Replications { summary: Some(summary), .. } = &document.body else { panic!("{document:?}") };
    let goodput = &summary.groups[1].metrics["goodput_bps"];
    assert_eq!((goodput.mean, goodput.n), (73e6, 3));
    assert!((goodput.ci95.unwrap() - 4.302_653e6 * (7.0f64 / 3.0).sqrt()).abs() < 10.0);
    assert_eq!(summary.links.len(), 1, "only the bottleneck is summarised");
    assert!(!summary.groups[0].metrics.contains_key("completion_mean_s"), "nothing was completed");
}

/// Sums, a mean weighted by segments, and maxima, of the two flows of the first group.
#[test]
fn means_cover_segments_and_unread_data() {
    let run = |seed: u64, unread: u64| {
        let mut result = run_result(seed, 75);
        for (flow, (count, mean, max)) in result.flows.iter_mut().zip([(300, 10, 40), (100, 30, 35)]) {
            let (mean, max) = (Duration::from_millis(mean), Duration::from_millis(max));
            flow.segment_delay = SegmentDelay { count, mean, max };
            let counts = TwoLevelCounts {
                incomplete: 2,
                holes: 3,
                refused: count,
                evictions: 1,
                ..Default::default()
            };
            flow.two_level = Some(Box::new(counts));
        }
        result.flows[1].unread_peak = Some(Bytes::new(unread));
        Run::from_result(&result)
    };
    let document = Document::from_runs(test_header(&[1, 2]), vec![run(1, 1000), run(2, 3000)]);
    let Body::Replications { summary: Some(summary), .. } = &document.body else { panic!("{document:?}") };
    let mean = |name: &str| summary.groups[0].metrics[name].mean;
    assert_eq!(
        (mean("segments"), mean("segment_delay_max_s"), mean("unread_max_bytes")),
        (400.0, 0.04, 2000.0)
    );
    assert!((mean("segment_delay_mean_s") - 0.015).abs() < 1e-12);
    let counts = ["incomplete_segments", "hole_packets", "refused_packets", "evicted_segments"].map(mean);
    assert_eq!(counts, [4.0, 6.0, 400.0, 2.0]);
    assert!(!summary.groups[1].metrics.contains_key("segments"), "the other group has no segments");
}

#[test]
fn a_partial_run_does_not_enter_the_means() {
    let mut partial = run_result(2, 10);
    partial.is_complete = false;
    let document = Document::from_runs(
        test_header(&[1, 2]),
        vec![Run::from_result(&run_result(1, 75)), Run::from_result(&partial)],
    );
    let Body::Replications { summary: Some(summary), .. } = &document.body else { panic!("{document:?}") };
    assert_eq!((document.complete, summary.runs), (false, 1));
    assert_eq!(summary.totals["goodput_bps"].mean, 95e6);
}

#[test]
fn differences_are_paired_by_seed() {
    let schemes = vec![("a".to_owned(), runs(&[70, 60])), ("b".to_owned(), runs(&[75, 65]))];
    let document = Document::from_comparison(test_header(&[1, 2]), schemes);
    let Body::Comparison { differences, .. } = &document.body else { panic!("{document:?}") };
    let goodput = &differences[0].totals["goodput_bps"];
    assert_eq!((goodput.difference.mean, goodput.difference.ci95), (5e6, Some(0.0)));
    assert_eq!(goodput.excludes_zero, Some(true));
    assert!((goodput.relative.unwrap() - 5.0 / 85.0).abs() < 1e-12);
    assert_eq!((differences[0].scheme.as_str(), differences[0].against.as_str()), ("b", "a"));
}

#[test]
fn differences_include_corrected_p_values() {
    let schemes = vec![("a".to_owned(), runs(&[70, 60, 65])), ("b".to_owned(), runs(&[74, 65, 71]))];
    let document = Document::from_comparison(test_header(&[1, 2, 3]), schemes);
    let Body::Comparison { differences, .. } = &document.body else { panic!("{document:?}") };
    let totals = &differences[0].totals;
    // Differences of 4, 5 and 6: t is 5 times the root of 3, and with two degrees of freedom a share of t / sqrt(2 + t^2)
    // lies within (Abramowitz and Stegun, 26.7.4).
    let by_itself = 1.0 - (75.0_f64 / 77.0).sqrt();
    let goodput = totals["goodput_bps"];
    assert!((goodput.p_value.unwrap() - by_itself).abs() < 1e-12);
    let tested: Vec<&PairedDifference> = totals.values().filter(|of| of.p_holm.is_some()).collect();
    assert!(tested.len() > 1 && tested.iter().all(|of| of.p_holm >= of.p_value), "{tested:?}");
    // The smallest p-value is corrected for all tests.
    let min = tested.iter().filter_map(|of| of.p_value).fold(1.0, f64::min);
    let corrected = tested.iter().filter_map(|of| of.p_holm).fold(1.0, f64::min);
    assert!((corrected - (min * tested.len() as f64).min(1.0)).abs() < 1e-12);
}
