use super::format_summary;
use crate::output::Style;
use crate::results::test_fixtures::{run_result, test_header};
use crate::results::{Document, Header, Run};
use thalweg_proto::media_frame_counters::{EncoderCounters, PlayoutCounters};
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_sim::{MediaResult, Ratios, SizeClass, Summary, Transfers, TwoLevelCounts};

fn runs(mbits: &[u64]) -> Vec<Run> {
    mbits.iter().zip(1..).map(|(mbits, seed)| Run::from_result(&run_result(seed, *mbits))).collect()
}

#[track_caller]
fn fits(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{} columns:\n{text}", line.chars().count());
    }
}

#[test]
fn a_run_reads_at_once() {
    let text = format_summary(&Document::from_runs(test_header(&[1]), runs(&[75])), Style::PLAIN);
    let expected = "\
Two and one
30 s simulated, the first 5 s not counted; seed 1

Flow        Goodput   Share  Delay p50       p99  Retransmitted   Lost  Limited by
-----  ------------  ------  ---------  --------  -------------  -----  ----------------------
shy.1  10.00 Mbit/s  10.5 %   12.00 ms  20.00 ms             12  1.2 %  congestion window 71 %
shy.2  10.00 Mbit/s  10.5 %   12.00 ms  20.00 ms             12  1.2 %  congestion window 71 %
bold   75.00 Mbit/s  78.9 %   18.00 ms  26.00 ms             12  1.2 %  congestion window 71 %

Group  Scheme  Flows       Goodput  Delay p50       p99    Jain  Variance (kbit/s)^2   Lost
-----  ------  -----  ------------  ---------  --------  ------  -------------------  -----
shy    vegas       2  20.00 Mbit/s   13.00 ms  21.00 ms  1.0000                    0  1.2 %
bold   cubic       1  75.00 Mbit/s   18.00 ms  26.00 ms  1.0000                    0  1.2 %

Bottleneck             Rate    Used  Queue mean  p99  max  Drops
-------------  ------------  ------  ----------  ---  ---  -----
left -> right  100.0 Mbit/s  98.7 %   101.2 pkt  160  166     36

Fingerprint 000000000000feee
";
    assert_eq!(text, expected, "\n{text}");
    fits(&text);
}

#[test]
fn holes_and_refused_data_have_a_table_when_present() {
    let mut result = run_result(1, 75);
    let counts = |holes| TwoLevelCounts {
        incomplete: holes,
        holes: holes + 2,
        sender_segments: 24,
        sender_bytes: Bytes::new(393_216),
        receiver_segments: 6,
        ..TwoLevelCounts::default()
    };
    result.flows[0].two_level = Some(Box::new(counts(0)));
    result.flows[1].two_level = Some(Box::new(counts(120)));
    let text = format_summary(
        &Document::from_runs(test_header(&[1]), vec![Run::from_result(&result)]),
        Style::PLAIN,
    );
    let expected = "
Two-level  Incomplete  Holes  Refused  Evicted  Source kept  Sink kept
---------  ----------  -----  -------  -------  -----------  ---------
shy.2         120 seg    122        0    0 seg       24 seg      6 seg

Bottleneck ";
    assert!(text.contains(expected), "{text}");
    fits(&text);
}

/// Returns runs of a group whose transfers took these mean times in milliseconds; the 99th percentile is the same in
/// all.
fn with_transfers(means: &[u64]) -> Vec<Run> {
    let run = |(mean, seed): (&u64, u64)| {
        let mut result = run_result(seed, 75);
        let times = Summary {
            count: 100,
            mean: Duration::from_millis(*mean),
            p99: Duration::from_millis(400),
            ..Summary::default()
        };
        let slowdown = Ratios { count: 100, mean: 2.5, ..Ratios::default() };
        let transfers = Transfers { completion: times, slowdown, unfinished: 0 };
        let class = |from: u64, below: u64| SizeClass {
            from: Bytes::new(from),
            below: Some(Bytes::new(below)),
            transfers,
        };
        (result.groups[0].transfers, result.transfers) = (transfers, transfers);
        result.sizes = vec![class(0, 10_000), class(10_000, 100_000)];
        Run::from_result(&result)
    };
    means.iter().zip(1..).map(run).collect()
}

/// Live-media flows have a table of their own that excludes other flows.
#[test]
fn frames_have_a_table() {
    let mut result = run_result(1, 10);
    let seconds = Duration::from_secs;
    result.flows[1].media = Some(Box::new(MediaResult {
        encoded: EncoderCounters { frames: 250, bytes: 1_250_000, skipped: 3, time: seconds(10) },
        rate: Some(Rate::from_mbits_per_sec(1)),
        shown: PlayoutCounters {
            frames: 240,
            lost: 4,
            undecodable: 6,
            late: 5,
            freezes: 2,
            frozen: seconds(1),
        },
        delay: Summary {
            count: 246,
            p50: Duration::from_millis(80),
            p95: Duration::from_millis(120),
            p99: Duration::from_millis(400),
            ..Summary::default()
        },
    }));
    let text = format_summary(
        &Document::from_runs(test_header(&[1]), vec![Run::from_result(&result)]),
        Style::PLAIN,
    );
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("shy.2 ")).collect();
    let has_row =
        |of: &str| rows.iter().any(|row| row.split_whitespace().collect::<Vec<_>>().join(" ") == of);
    assert!(has_row("shy.2 1.000 Mbit/s 250 4 6 5 80.00 ms 120.0 ms 400.0 ms"), "{text}");
    assert!(has_row("shy.2 2 1.000 s"), "{text}");
    assert_eq!(text.matches("\nMedia ").count(), 2, "{text}");
    fits(&text);
}

#[test]
fn completion_times_are_the_first_table() {
    let first_table =
        |text: &str| text.lines().skip(3).take_while(|line| !line.is_empty()).collect::<String>();
    let single = Document::from_runs(test_header(&[1]), with_transfers(&[20]));
    let replicated = Document::from_runs(test_header(&[1, 2, 3]), with_transfers(&[20, 22, 24]));
    let schemes = vec![
        ("a".to_owned(), with_transfers(&[20, 22, 24])),
        ("b".to_owned(), with_transfers(&[40, 41, 42])),
    ];
    let compared = Document::from_comparison(test_header(&[1, 2, 3]), schemes);
    for (document, mean) in
        [(single, "20.00 ms"), (replicated, "22.0 +/- 5.0 ms"), (compared, "22.0 +/- 5.0 ms")]
    {
        let text = format_summary(&document, Style::PLAIN);
        let table = first_table(&text);
        assert!(table.starts_with("Transfers") && table.contains(mean), "{text}");
        assert!(text.contains("below 10 kB") && text.contains("10 kB to 100 kB"), "{text}");
        fits(&text);
    }
}

/// Times of a size class missing in some runs state the number of runs, and a single run has no interval.
#[test]
fn size_classes_missing_in_some_runs_state_the_run_count() {
    let mut runs = with_transfers(&[20, 22, 24]);
    runs[1].sizes.truncate(1);
    let replicated = Document::from_runs(test_header(&[1, 2, 3]), runs.clone());
    let text = format_summary(&replicated, Style::PLAIN);
    assert!(text.contains("10 kB to 100 kB (2 of 3 runs)") && !text.contains("below 10 kB ("), "{text}");
    // 100, 0 and 100 transfers.
    assert!(text.contains("67 +/- 143"), "{text}");
    runs[2].sizes.truncate(1);
    let compared = Document::from_comparison(
        test_header(&[1, 2, 3]),
        vec![("a".to_owned(), with_transfers(&[20, 22, 24])), ("b".to_owned(), runs)],
    );
    let text = format_summary(&compared, Style::PLAIN);
    let row = text.lines().find(|line| line.starts_with("10 kB to 100 kB (1 of 3 runs), b"));
    let row = row.unwrap_or_else(|| panic!("{text}"));
    assert!(row.matches("+/-").count() == 1 && row.contains("20.00 ms"), "{text}");
}

/// Runs may agree in a percentile to the last digit; its precision is still that of its histogram.
#[test]
fn intervals_of_percentiles_are_as_wide_as_their_buckets() {
    let text = format_summary(
        &Document::from_runs(test_header(&[1, 2, 3]), with_transfers(&[20, 22, 24])),
        Style::PLAIN,
    );
    assert!(text.contains("400.0 +/- 6.4 ms"), "{text}");
    assert!(!text.contains("400.0 +/- 0 ms"), "{text}");
}

#[test]
fn replications_show_intervals() {
    let text =
        format_summary(&Document::from_runs(test_header(&[1, 2, 3]), runs(&[75, 70, 74])), Style::PLAIN);
    assert!(text.contains("73.0 +/- 6.6 Mbit/s"), "{text}");
    assert!(text.contains("3 runs, seeds 1 to 3"), "{text}");
    fits(&text);
}

#[test]
fn a_clear_winner_is_named_with_its_lead() {
    let schemes = vec![
        ("newreno".to_owned(), runs(&[70, 72, 71, 70, 72])),
        ("cubic".to_owned(), runs(&[75, 76, 76, 75, 76])),
        ("tahoe".to_owned(), runs(&[30, 30, 30, 30, 30])),
    ];
    let text =
        format_summary(&Document::from_comparison(test_header(&[1, 2, 3, 4, 5]), schemes), Style::PLAIN);
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "cubic carried most: 95.60 Mbit/s, 4.600 Mbit/s (5.1 %) more than newreno; the paired 95 % \
                    interval of that difference, 3.92 to 5.28 Mbit/s, excludes zero, also by Holm's method for the 6 \
                    comparisons of all verdicts (p < 0.001). tahoe is last with 50.00 Mbit/s.";
    assert!(joined.contains(expected), "{text}");
    fits(&text);
}

#[test]
fn a_lead_within_chance_is_called_so() {
    let schemes = vec![("a".to_owned(), runs(&[70, 76])), ("b".to_owned(), runs(&[75, 70]))];
    let text = format_summary(&Document::from_comparison(test_header(&[1, 2]), schemes), Style::PLAIN);
    assert!(text.contains("No clear winner in goodput: a leads b by 500.0 kbit/s"), "{text}");
    assert!(text.contains("includes zero"), "{text}");
    let single = |deterministic| {
        let schemes = vec![("a".to_owned(), runs(&[70])), ("b".to_owned(), runs(&[75]))];
        let header = Header { deterministic, ..test_header(&[1]) };
        format_summary(&Document::from_comparison(header, schemes), Style::PLAIN)
    };
    assert!(single(false).contains("single runs: --reps 5"), "{}", single(false));
    let text = single(true);
    assert!(
        text.ends_with("\nNothing in the scenario is random: every replication gives the same results.\n"),
        "{text}"
    );
    assert!(!text.contains("--reps"), "{text}");
}

#[test]
fn runs_that_are_all_alike_leave_nothing_to_chance() {
    let schemes = vec![("a".to_owned(), runs(&[70, 70, 70])), ("b".to_owned(), runs(&[75, 75, 75]))];
    let text = format_summary(&Document::from_comparison(test_header(&[1, 2, 3]), schemes), Style::PLAIN);
    assert!(text.contains("Difference from a"), "{text}");
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        joined.contains("more than a; the runs do not differ in this, and show no random variation."),
        "{text}"
    );
    assert!(!text.contains("zero"), "{text}");
    fits(&text);
}

#[test]
fn many_flows_are_summarised_by_their_extremes() {
    let mut result = run_result(1, 75);
    let pattern = result.flows[0].clone();
    result.flows.extend((0..30).map(|n| {
        let goodput = thalweg_proto::units::Rate::from_mbits_per_sec(20 + n);
        thalweg_sim::FlowResult { name: format!("shy.{}", n + 3), goodput, ..pattern.clone() }
    }));
    let text = format_summary(
        &Document::from_runs(test_header(&[1]), vec![Run::from_result(&result)]),
        Style::PLAIN,
    );
    assert!(text.contains("shy.1 (lowest)") && text.contains("shy.32 (highest)"), "{text}");
    assert!(!text.contains("shy.9"), "{text}");
    fits(&text);
}

#[test]
fn partial_runs_are_marked_partial() {
    let mut result = run_result(1, 75);
    result.is_complete = false;
    let text = format_summary(
        &Document::from_runs(test_header(&[1]), vec![Run::from_result(&result)]),
        Style::PLAIN,
    );
    assert!(text.contains("PARTIAL: interrupted at 30.00 s"), "{text}");
}

/// Two configurations of one scheme have names that begin and end alike.
#[test]
fn scheme_names_are_shortened_only_where_the_line_is_full() {
    let mut result = run_result(1, 75);
    let row = |result: &thalweg_sim::RunResult, group: &str, table_columns: usize| {
        let style = Style { table_columns, ..Style::PLAIN };
        let text =
            format_summary(&Document::from_runs(test_header(&[1]), vec![Run::from_result(result)]), style);
        let table = text.split("\n\n").find(|table| table.starts_with("Group")).unwrap();
        assert!(table.lines().all(|line| line.chars().count() <= table_columns), "{text}");
        table.lines().find(|line| line.starts_with(group)).unwrap().to_owned()
    };
    result.groups[0].scheme = "pauser:x=false".to_owned();
    assert!(row(&result, "shy", 100).contains(" pauser:x=false "), "{}", row(&result, "shy", 100));
    result.groups[0].scheme = "pauser:pause-time=7ms,loud=true".to_owned();
    let shortened = row(&result, "shy", 100);
    assert!(shortened.contains(" pauser:pau~true "), "{shortened}");
    assert_eq!(shortened.chars().count(), 100, "{shortened}");
    assert!(row(&result, "shy", 120).contains(" pauser:pause-time=7ms,loud=true "));
    // These differ only in the middle.
    result.groups[0].scheme = "cubic:idle-restart=false,prr=true".to_owned();
    result.groups[1].scheme = "cubic:idle-restart=true,prr=true".to_owned();
    let both = |columns| [row(&result, "shy", columns), row(&result, "bold", columns)];
    let schemes = both(80).map(|row| row.split_whitespace().nth(1).unwrap().to_owned());
    assert_ne!(schemes[0], schemes[1]);
}

/// Live packet timing varies: another run has another fingerprint.
#[test]
fn live_runs_are_marked_live() {
    let mut runs = runs(&[75]);
    runs[0].groups.iter_mut().for_each(|group| group.scheme = thalweg_sim::live_network::SCHEME.to_owned());
    let mut document = Document::from_runs(test_header(&[1]), runs);
    document.duration_s = 1.250131029;
    assert!(
        format_summary(&document, Style::PLAIN).contains("1.25 s live, "),
        "{}",
        format_summary(&document, Style::PLAIN)
    );
    document.duration_s = 30.0;
    let text = format_summary(&document, Style::PLAIN);
    assert!(
        text.contains("30 s live, ") && !text.contains("simulated") && !text.contains("Fingerprint"),
        "{text}"
    );
}
