//! Checks that the documented guarantees have tests: the named tests exist, hold the rules that they are named for, and
//! can fail. Each has a mutant in `mutants/`, a patch that breaks the guarantee; `scripts/mutants` applies it and runs
//! the test against it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Pages that name the tests of their guarantees.
const PAGES: [&str; 2] = ["docs/security.md", "docs/requirements.md"];

/// Names in these pages that are functions instead of tests.
const FUNCTIONS: [&str; 1] = ["constant_time_eq"];

/// Mark of a test that holds a rule, and the subjects of a page's rules.
const HOLDS: &str = "/// Holds ";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate is in crates/").to_owned()
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// Returns every test, with the rules that it declares to hold.
fn tests() -> BTreeMap<String, BTreeSet<String>> {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let mut tests = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let (mut is_test, mut rules) = (false, BTreeSet::new());
        for line in text.lines().map(str::trim) {
            if let Some(held) = line.strip_prefix(HOLDS) {
                rules.extend(held.trim_end_matches('.').split("; ").map(str::to_owned));
            } else if line == "#[test]" {
                is_test = true;
            } else if let Some(rest) = line.strip_prefix("fn ") {
                let name = rest.split('(').next().unwrap_or(rest);
                if is_test {
                    tests.insert(name.to_owned(), std::mem::take(&mut rules));
                }
                (is_test, rules) = (false, BTreeSet::new());
            }
        }
    }
    assert!(tests.len() > 1000, "only {} tests found", tests.len());
    tests
}

/// Returns the names of tests between backticks in a page: words with two underscores or more, without fuzz targets.
fn test_names(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |word: &&str| {
        word.matches('_').count() >= 2
            && word
                .chars()
                .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
            && !root().join("fuzz/fuzz_targets").join(word).with_extension("rs").exists()
    };
    text.split('`').skip(1).step_by(2).filter(is_name)
}

#[test]
fn tests_that_pages_name_are_there() {
    let tests = tests();
    for page_name in PAGES {
        let text = page(page_name);
        let named: Vec<_> = test_names(&text).filter(|name| !FUNCTIONS.contains(name)).collect();
        assert!(named.len() > 20, "{page_name} names {} tests", named.len());
        let gone: Vec<_> = named.iter().filter(|name| !tests.contains_key(**name)).collect();
        assert!(gone.is_empty(), "{page_name} names tests that are not there: {gone:?}");
    }
}

/// Every guarantee of `docs/security.md` names a test, except guarantees that cannot be tested here.
#[test]
fn promises_name_their_tests() {
    /// Openings of guarantees that follow from the design of SPAKE2, which is proved elsewhere.
    const PROVED_ELSEWHERE: [&str; 1] = ["**The code cannot be found by listening"];
    let text = page("docs/security.md");
    let start = text.find("## Guarantees").unwrap();
    let end = text.find("## Not guaranteed").unwrap();
    let mut without = Vec::new();
    for promise in text[start..end].split("\n- ").skip(1) {
        let promise = promise.split("\n\n").next().unwrap_or(promise);
        if test_names(promise).next().is_none()
            && !PROVED_ELSEWHERE.iter().any(|begin| promise.starts_with(begin))
        {
            without.push(promise.lines().next().unwrap_or_default().to_owned());
        }
    }
    assert!(without.is_empty(), "promises without a test: {without:#?}");
}

/// The table of `docs/requirements.md` and the rules that tests declare agree in both directions.
#[test]
fn requirements_are_those_that_tests_hold() {
    let text = page("docs/requirements.md");
    let (mut source, mut documented) = (String::new(), BTreeSet::new());
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            heading.clone_into(&mut source);
        }
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let [_, section, rule, how, _] = cells[..] else { continue };
        if section.starts_with(|digit: char| digit.is_ascii_digit()) {
            let named: Vec<_> = test_names(how).filter(|name| !FUNCTIONS.contains(name)).collect();
            assert!(
                !named.is_empty() || how.contains(": "),
                "{source}, section {section} has neither: {rule}"
            );
            documented.extend(
                named.iter().map(|name| (format!("{source}, section {section}"), (*name).to_owned())),
            );
        }
    }
    let held: BTreeSet<_> = tests()
        .into_iter()
        .flat_map(|(test, rules)| rules.into_iter().map(move |rule| (rule, test.clone())))
        .collect();
    assert!(documented.len() > 30, "only {} rules found", documented.len());
    let missing: Vec<_> = documented.symmetric_difference(&held).collect();
    assert!(missing.is_empty(), "in the page or in a test, and not in both: {missing:#?}");
}

/// Files of the command line that write to standard output or standard error directly: the program's own text, binary
/// data, or text escaped by `console_output::escape_terminal_control` or `console_output::one_line`. All other output goes through `Console`.
const WRITERS: [(&str, &str); 8] = [
    ("console_output.rs", "it is the console"),
    ("json_lines.rs", "records are escaped where they are made"),
    ("mahimahi.rs", "a trace of numbers"),
    ("batch_progress.rs", "messages of bars are escaped"),
    ("shell/namespace_launcher.rs", "a code of the program's own"),
    ("shell/live_view.rs", "names of links are escaped"),
    ("transfer/progress_display.rs", "names of files are escaped"),
    ("transfer/receive_commands.rs", "the contents of a file, which its user asked for"),
];

/// Only these files write without `Console`.
#[test]
fn all_that_is_printed_goes_through_the_console() {
    const WRITES: [&str; 4] = ["print!(", "println!(", "io::stdout()", "stderr()"];
    /// Calls that inspect the output, and messages of tests.
    const TERMINAL_CHECKS: [&str; 5] = ["is_terminal", "tcgetwinsize", "tcgetattr", "as_fd()", "\"skipped"];
    let folder = root().join("crates/thalweg/src");
    let mut files = Vec::new();
    sources(&folder, &mut files);
    let writes = |file: &PathBuf| {
        let text = fs::read_to_string(file).unwrap();
        let has = |line: &str, words: &[&str]| words.iter().any(|word| line.contains(word));
        text.lines().any(|line| has(line, &WRITES) && !has(line, &TERMINAL_CHECKS))
    };
    let found: BTreeSet<String> = files
        .iter()
        .filter(|file| writes(file))
        .map(|file| file.strip_prefix(&folder).unwrap().display().to_string())
        .collect();
    let known: BTreeSet<String> = WRITERS.iter().map(|(file, _)| (*file).to_owned()).collect();
    assert_eq!(found, known);
}

/// Every parser of external input is listed in a table of `docs/security.md`, with its existing function and its fuzz
/// target. Every target has its file, its build, a stored corpus, a test that runs it, and counted executions.
#[test]
fn readers_of_what_others_wrote_are_fuzzed() {
    let text = page("docs/security.md");
    let start = text.find("## Parsers of external input").expect("the section is there");
    let table = &text[start..];
    let table = &table[..table[3..].find("\n## ").map_or(table.len(), |end| end + 3)];
    let mut targets = BTreeSet::new();
    let mut rows = 0;
    for line in table.lines() {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let [_, reader, writer, target, _] = cells[..] else { continue };
        if !reader.starts_with('`') {
            continue;
        }
        rows += 1;
        assert!(!writer.is_empty(), "{line}");
        // Path of a file below `crates`, and a function in it.
        for named in reader.split('`').skip(1).step_by(2) {
            let (file, function) = named.split_once("::").unwrap_or_else(|| panic!("{named}"));
            let path = root().join("crates").join(file);
            let source = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{named}: {error}"));
            let calls = ["(", "<"].map(|open| format!("fn {function}{open}"));
            assert!(calls.iter().any(|call| source.contains(call)), "{named} is not there");
        }
        targets.insert(target.trim_matches('`').to_owned());
    }
    assert!(rows > 25, "only {rows} readers found");
    let stems = |folder: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(root().join("fuzz").join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect()
    };
    assert_eq!(stems("fuzz_targets"), targets, "targets and those of the table");
    assert_eq!(stems("corpus"), targets, "inputs that are kept, and the targets of the table");
    let manifest = page("fuzz/Cargo.toml");
    let played =
        page("crates/thalweg-net/tests/corpus/main.rs") + &page("crates/thalweg/tests/corpus/main.rs");
    let counts = page("fuzz/executions.csv");
    let mut counted = BTreeSet::new();
    for line in counts.lines().skip(1) {
        let cells: Vec<_> = line.split(',').collect();
        let [targets, executions, _date] = cells[..] else { panic!("executions.csv: {line}") };
        assert!(executions.parse::<u64>().is_ok_and(|count| count > 0), "executions.csv: {line}");
        // Targets counted together are joined by `+`.
        counted.extend(targets.split('+').map(str::to_owned));
    }
    for target in &targets {
        assert!(
            manifest.contains(&format!("path = \"fuzz_targets/{target}.rs\"")),
            "fuzz/Cargo.toml: {target}"
        );
        assert!(played.contains(&format!("(\"{target}\", ")), "no test plays {target}");
    }
    assert_eq!(counted, targets, "executions that are counted, and the targets of the table");
}

/// A patch that breaks guarantees.
struct Mutant {
    name: String,
    /// Pages, with quotations of their guarantees.
    promises: Vec<(String, String)>,
    tests: Vec<String>,
    patch: Vec<String>,
}

fn mutants() -> Vec<Mutant> {
    let files = fs::read_dir(root().join("mutants")).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        let (header, patch) = text.split_once("\n\n").unwrap_or_else(|| panic!("{name} has no empty line"));
        let values = |key: &'static str| {
            header.lines().filter_map(move |line| line.strip_prefix(key)).map(str::to_owned)
        };
        let promises = values("Promise: ").map(|promise| {
            let (page, quote) =
                promise.split_once(": ").unwrap_or_else(|| panic!("{name}: no page in {promise}"));
            (page.to_owned(), quote.to_owned())
        });
        let (promises, tests) = (promises.collect(), values("Test: ").collect());
        Mutant { promises, tests, patch: patch.lines().map(str::to_owned).collect(), name }
    };
    files.map(read).collect()
}

/// Returns the items, paragraphs and table rows of a page, each as one line.
fn passages(text: &str) -> Vec<String> {
    let blocks = text.split("\n\n").flat_map(|block| block.split("\n- "));
    let parts =
        blocks.flat_map(|block| if block.starts_with('|') { block.lines().collect() } else { vec![block] });
    parts.map(|part| part.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Checks that the lines that a patch changes exist, each exactly once.
fn check_that_it_applies(Mutant { name, patch, .. }: &Mutant) -> Result<(), String> {
    let (mut file, mut text, mut hunks) = (String::new(), Vec::new(), 0);
    let mut lines = patch.iter().peekable();
    while let Some(line) = lines.next() {
        if let Some(path) = line.strip_prefix("+++ b/") {
            let content =
                fs::read_to_string(root().join(path)).map_err(|error| format!("{name}: {path}: {error}"))?;
            path.clone_into(&mut file);
            text = content.lines().map(str::to_owned).collect();
        } else if line.starts_with("@@ ") {
            hunks += 1;
            let (mut before, mut after) = (Vec::new(), Vec::new());
            while let Some(line) =
                lines.next_if(|line| !line.starts_with("@@ ") && !line.starts_with("--- a/"))
            {
                // The blank of an empty context line may be stripped.
                let (mark, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
                before.extend((mark != "+").then(|| rest.to_owned()));
                after.extend((mark != "-").then(|| rest.to_owned()));
            }
            let places = text.windows(before.len().max(1)).filter(|lines| *lines == before).count();
            if places != 1 || before == after {
                return Err(format!("{name}: a hunk of {file} has {places} places:\n{}", before.join("\n")));
            }
        }
    }
    if hunks > 0 { Ok(()) } else { Err(format!("{name} changes nothing")) }
}

/// Each test named in a page has a mutant that it must detect. A mutant names passages of pages, and tests that those
/// name, and its patch applies.
#[test]
fn promises_have_mutants() {
    let (tests, mutants) = (tests(), mutants());
    let pages: BTreeMap<_, _> = PAGES.into_iter().map(|name| (name, page(name))).collect();
    let mut wrong = Vec::new();
    for mutant in &mutants {
        let Mutant { name, promises, tests: noticing, .. } = mutant;
        let mut named = BTreeSet::new();
        for (page, quote) in promises {
            let text = pages.get(page.as_str()).map_or("", String::as_str);
            let passages = passages(text);
            let of_passages: BTreeSet<_> = passages
                .iter()
                .filter(|passage| passage.contains(quote))
                .flat_map(|passage| test_names(passage))
                .collect();
            if !noticing.iter().any(|test| of_passages.contains(test.as_str())) {
                wrong
                    .push(format!("{name}: {page} has no such passage that names one of its tests: {quote}"));
            }
            named.extend(of_passages.into_iter().map(str::to_owned));
        }
        wrong.extend(
            noticing
                .iter()
                .filter(|test| !tests.contains_key(*test))
                .map(|test| format!("{name}: no test {test}")),
        );
        wrong.extend(
            noticing
                .iter()
                .filter(|test| !named.contains(*test))
                .map(|test| format!("{name}: no promise names {test}")),
        );
        wrong.extend(check_that_it_applies(mutant).err());
    }
    let noticed: BTreeSet<_> = mutants.iter().flat_map(|mutant| &mutant.tests).map(String::as_str).collect();
    for (page, text) in &pages {
        let is_exempt = |name: &str| FUNCTIONS.contains(&name);
        let without: BTreeSet<_> =
            test_names(text).filter(|name| !is_exempt(name) && !noticed.contains(name)).collect();
        wrong.extend(without.iter().map(|name| format!("{page}: {name} has no mutant")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
