//! Complete reproduction of Liang (1991): all numbers as recorded, and the pages consistent with them.
//!
//! `THALWEG_BLESS=1 cargo test --release --workspace --test it liang91::` rewrites the record and the tables of
//! `docs/papers/liang91-values.md`.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use thalweg_report::output::Style;
use thalweg_studies::paper::{Choice, Results, Row, find_paper, format_tables, prepare_paper};

/// Run once for all tests of this file.
static RESULTS: LazyLock<Results> = LazyLock::new(|| results(&Choice::default()));

fn results(choice: &Choice) -> Results {
    let prepared =
        prepare_paper(find_paper("liang91").unwrap(), choice).unwrap_or_else(|error| panic!("{error}"));
    let runs = super::runs_of(&prepared);
    prepared.results(runs)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn is_blessing() -> bool {
    std::env::var_os("THALWEG_BLESS").is_some()
}

/// Runs are deterministic, so the document is identical to the last byte.
#[test]
fn every_number_is_as_it_was() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/liang91.json");
    let json = RESULTS.to_json();
    if is_blessing() {
        std::fs::write(&path, &json).unwrap();
    }
    let was = std::fs::read_to_string(&path).unwrap();
    let different = was.lines().zip(json.lines()).enumerate().find(|(_, (was, is))| was != is);
    assert!(different.is_none() && was.len() == json.len(), "line {different:?}; see the head of this test");
}

#[test]
fn every_cell_has_a_value_and_every_claim_is_judged() {
    for experiment in &RESULTS.experiments {
        assert!(!experiment.rows.is_empty(), "{}", experiment.id);
        let without = experiment.rows.iter().find(|row| row.value.is_none());
        assert!(without.is_none(), "{}: {without:?}", experiment.id);
    }
    assert_eq!(RESULTS.claims.len(), 54);
}

/// The page names each claim that does not hold, or not in size, with its verdict.
#[test]
fn the_page_lists_claims_that_do_not_hold() {
    let page = std::fs::read_to_string(root().join("docs/papers/liang91.md")).unwrap();
    let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let is_listed = |id: &str, verdict: &str| {
        let (id, verdict) = (format!("| `{id}` |"), format!("| {verdict} |"));
        lines.iter().any(|line| line.starts_with(&id) && line.contains(&verdict))
    };
    let silent: Vec<&str> = RESULTS
        .claims
        .iter()
        .filter(|claim| !claim.holds() && !is_listed(&claim.id, claim.verdict.label()))
        .map(|claim| claim.id.as_str())
        .collect();
    assert!(silent.is_empty(), "claims of which the page says nothing: {silent:?}");
    let holding =
        lines.iter().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).find(|(id, line)| {
            let verdict =
                RESULTS.claims.iter().find(|claim| claim.id == *id).map(|claim| claim.verdict.label());
            verdict.is_some_and(|verdict| !line.contains(&format!("| {verdict} |")))
        });
    assert!(holding.is_none(), "the page has another verdict: {holding:?}");
}

/// Seeds do not decide a claim: tested for those with close schemes.
#[test]
fn verdicts_are_the_same_with_other_seeds() {
    const JUDGED_CLAIMS: [&str; 5] = ["4.2c", "4.2d", "5.1l", "5.1r", "5.1s"];
    let experiments =
        ["table-4.2", "table-4.3", "table-5.1", "table-5.4", "table-5.7", "table-5.9"].map(str::to_owned);
    for seed in [11, 101, 303] {
        let choice = Choice { experiments: experiments.to_vec(), seed: Some(seed), ..Choice::default() };
        let results = results(&choice);
        for id in JUDGED_CLAIMS {
            let of = |results: &Results| results.claims.iter().find(|claim| claim.id == id).cloned();
            let (was, is) = (of(&RESULTS).unwrap(), of(&results));
            assert!(is.as_ref().is_some_and(|is| is.verdict == was.verdict), "seed {seed}: {is:#?}");
        }
    }
}

/// A figure, and a table of further values of an experiment, select the experiment.
#[test]
fn figures_and_further_tables_name_their_experiments() {
    let chosen = |name: &str| -> Vec<String> {
        let choice = Choice { experiments: vec![name.to_owned()], ..Choice::default() };
        let prepared =
            prepare_paper(find_paper("liang91").unwrap(), &choice).unwrap_or_else(|error| panic!("{error}"));
        prepared.listing().map(|(id, _)| id.to_owned()).collect()
    };
    assert_eq!(chosen("figure-4.3"), ["table-4.2/exp-1"]);
    assert_eq!(chosen("figure-5.2").len(), 6);
    // Variances of more than one user.
    assert_eq!(chosen("table-5.8"), ["table-5.7/exp-2", "table-5.7/exp-3", "table-5.7/exp-4"]);
    let choice = Choice { experiments: vec!["figure-4.9".to_owned()], ..Choice::default() };
    let error = prepare_paper(find_paper("liang91").unwrap(), &choice).unwrap_err().to_string();
    assert!(error.contains("did you mean `figure-4."), "{error}");
}

/// Returns the distance of the network throughputs from the published ones, in percent: the mean of the absolute
/// differences, and the largest.
fn nearness_to_tables(schemes: &[&str], tables: &[&str]) -> (f64, f64) {
    differences("network_throughput", schemes, tables)
}

/// The same for each metric that begins with `metric`.
fn differences(metric: &str, schemes: &[&str], tables: &[&str]) -> (f64, f64) {
    let is_chosen = |id: &str| tables.iter().any(|table| id.starts_with(table));
    let rows = RESULTS.experiments.iter().filter(|of| is_chosen(&of.id)).flat_map(|of| &of.rows);
    let rows =
        rows.filter(|row| row.cell.metric.starts_with(metric) && schemes.contains(&row.cell.scheme.as_str()));
    let differences: Vec<f64> =
        rows.filter_map(Row::relative_difference).map(|of| 100.0 * of.abs()).collect();
    assert!(!differences.is_empty());
    (
        differences.iter().sum::<f64>() / differences.len() as f64,
        differences.iter().copied().fold(0.0, f64::max),
    )
}

#[test]
fn throughputs_are_near_the_published_ones() {
    const FTP: &[&str] =
        &["table-4", "table-5.1", "table-5.2", "table-5.3", "table-5.4", "table-5.7", "table-5.9"];
    let ftp: Vec<&str> = FTP.to_vec();
    let (mean, max) =
        nearness_to_tables(&["seif", "seif-static", "seif-nonfiltering", "seif-byte-buffers"], &ftp);
    assert!(mean < 3.0 && max < 6.0, "SEIF: {mean:.2} % on average, {max:.2} % at most");
    let (mean, _) = nearness_to_tables(&["slow-start"], &ftp[1..]);
    assert!(mean < 5.0, "Slow Start: {mean:.2} % on average");
    let (_, max) = nearness_to_tables(&["dec-bit"], &ftp[1..]);
    assert!(max < 10.0, "DEC bit: {max:.2} % at most");
    let (_, max) = nearness_to_tables(&["slow-start", "dec-bit", "seif"], &["table-5.13"]);
    assert!(max < 9.0, "telnet: {max:.2} % at most");
}

/// Mean differences over all tables, of the network and of single sources.
#[test]
fn all_tables_are_near_the_published_ones() {
    for (scheme, network, source) in [("seif", 2.0, 8.0), ("slow-start", 4.0, 10.0), ("dec-bit", 6.0, 12.0)] {
        let (mean, _) = nearness_to_tables(&[scheme], &["table-"]);
        assert!(mean <= network, "{scheme}: {mean:.2} % in network throughputs");
        let (mean, _) = differences("throughput_kb", &[scheme], &["table-"]);
        assert!(mean <= source, "{scheme}: {mean:.2} % in throughputs of sources");
    }
}

#[test]
fn messages_are_counted_within_one() {
    for id in ["table-4.5/exp-1", "table-4.7/exp-1"] {
        let of = RESULTS.experiment(id).unwrap();
        for row in of.rows.iter().filter(|row| row.cell.metric.starts_with("feedback_messages")) {
            let published = row.published().unwrap();
            assert!((row.value.unwrap() - published).abs() <= 1.0, "{id}: {row:?}");
        }
    }
}

const MARK: &str = "<!-- tables -->\n\n";

/// The page of values contains the tables as the command prints them with lines of any length. Above them it explains
/// every difference above 10 %, or states that it cannot: a line of its list names the table, scheme and metric.
#[test]
fn the_page_is_true() {
    let path = root().join("docs/papers/liang91-values.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (text, shown) = page.split_once(MARK).unwrap();
    let style = Style { table_columns: usize::MAX, ..Style::PLAIN };
    let now = format!("```\n{}```\n", format_tables(&RESULTS, style));
    if is_blessing() {
        std::fs::write(&path, format!("{text}{MARK}{now}")).unwrap();
    } else {
        assert!(shown == now, "the tables are out of date; see the head of this test");
    }
    let explained: Vec<&str> = text.lines().filter(|line| line.starts_with("| `table-")).collect();
    let mut silent = Vec::new();
    for experiment in &RESULTS.experiments {
        for row in
            experiment.rows.iter().filter(|row| row.relative_difference().is_some_and(|of| of.abs() > 0.1))
        {
            let table = experiment.id.split('/').next().unwrap_or_default();
            let names =
                [table, row.cell.scheme.as_str(), row.cell.metric.as_str()].map(|name| format!("`{name}`"));
            if !explained.iter().any(|line| names.iter().all(|name| line.contains(name.as_str()))) {
                silent.push(names.join(" "));
            }
        }
    }
    silent.dedup();
    assert!(silent.is_empty(), "differences above 10 % of which the page says nothing: {silent:#?}");
}
