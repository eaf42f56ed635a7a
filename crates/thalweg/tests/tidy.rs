//! Project rules that a compiler does not check: short files, no hidden clocks or randomness in the lower crates, no
//! local paths, and a map that names every folder.

mod import_cycles;
mod terminology;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn files_are_short() {
    // Tables to look things up in are as long as they are.
    let is_table = |text: &Text| GENERATED_PAGES.iter().any(|page| text.name == *page);
    let is_long = |text: &Text| text.lines() > MAX_LINES && !is_table(text);
    let long: Vec<_> = texts().into_iter().filter(is_long).map(|text| text.name).collect();
    assert!(long.is_empty(), "more than {MAX_LINES} lines: {long:?}; one idea a file");
}

#[test]
fn lower_crates_use_no_clock_entropy_hash_order_or_output() {
    let mut found = Vec::new();
    for text in texts() {
        if !ENGINES.iter().any(|folder| text.name.starts_with(folder)) {
            continue;
        }
        for (number, line) in text.content.lines().enumerate() {
            found.extend(
                BANNED_PATHS
                    .iter()
                    .filter(|banned| line.contains(*banned))
                    .map(|banned| format!("{}:{}: {banned}", text.name, number + 1)),
            );
        }
    }
    assert!(found.is_empty(), "time, randomness and output are handed in and out: {found:#?}");
}

/// Wall-clock time can be set and can jump: connections use monotonic time only. File times are exempt.
#[test]
fn nothing_that_is_live_reads_the_wall_clock() {
    let reads =
        |text: &Text| text.content.contains("SystemTime::now") || text.content.contains("UNIX_EPOCH.elapsed");
    let live = |text: &Text| text.name.starts_with("crates/thalweg-net/src/");
    let texts = texts();
    assert!(texts.iter().any(live));
    let found: Vec<_> =
        texts.iter().filter(|text| live(text) && reads(text)).map(|text| &text.name).collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn no_file_names_a_local_path() {
    let mut found = Vec::new();
    for text in texts() {
        for (number, line) in text.content.lines().enumerate() {
            if LOCAL_PATHS.iter().any(|path| line.contains(&path.concat())) {
                found.push(format!("{}:{}: {}", text.name, number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// A file that no `mod` line declares is not compiled: its tests never run.
#[test]
fn every_source_file_is_declared() {
    let texts = texts();
    let is_target = |name: &str| {
        let path = name.split('/').collect::<Vec<_>>();
        let [.., folder, file] = path[..] else { return true };
        let is_program = matches!(folder, "tests" | "examples" | "bin" | "benches" | "fuzz_targets" | "kit");
        is_program || matches!(file, "lib.rs" | "main.rs" | "build.rs")
    };
    let sources: Vec<_> = texts.iter().filter(|text| text.name.ends_with(".rs")).collect();
    let mut declared = BTreeSet::new();
    for text in &sources {
        let folder = text.name.rsplit_once('/').map_or("", |(folder, _)| folder);
        for line in text.content.lines().map(str::trim) {
            if let Some(file) = line.strip_prefix("#[path = \"").and_then(|line| line.strip_suffix("\"]")) {
                declared.insert(file.trim_start_matches("../").to_owned());
            } else if let Some((_, module)) = line.strip_suffix(';').and_then(|line| line.rsplit_once("mod "))
            {
                declared.insert(format!("{folder}/{module}"));
                declared.insert(format!("{}/{module}", text.name.trim_end_matches(".rs")));
            }
        }
    }
    let is_declared = |name: &str| {
        let module = name.trim_end_matches(".rs").trim_end_matches("/mod");
        declared.contains(module) || declared.iter().any(|file| file.ends_with(".rs") && name.ends_with(file))
    };
    let undeclared: Vec<_> =
        sources.iter().map(|text| &text.name).filter(|name| !is_target(name) && !is_declared(name)).collect();
    assert!(undeclared.is_empty(), "no `mod` line declares these files: {undeclared:?}");
}

/// Modules of one folder import each other in one direction (see `circles`).
#[test]
fn modules_do_not_import_each_other_in_circles() {
    let texts = texts();
    let source = texts.iter().map(|text| (text.name.as_str(), text.content.as_str()));
    let found = import_cycles::import_cycles(source.filter(|(name, _)| name.starts_with("crates/")));
    assert!(found.is_empty(), "take what both need out of one of them, or into their parent: {found:#?}");
}

#[test]
fn the_map_names_every_folder_with_source() {
    let map = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let mut missing = BTreeSet::new();
    for text in texts() {
        let folder = text.name.rsplit_once('/').map_or("", |(folder, _)| folder);
        // A crate stands for its own `src`; tests and examples need no signpost.
        let folder = folder.strip_suffix("/src").unwrap_or(folder);
        let of_source =
            folder.starts_with("crates/") && !folder.contains("/tests") && !folder.contains("/examples");
        if of_source && text.name.ends_with(".rs") && !map.contains(&format!("`{folder}`")) {
            missing.insert(folder.to_owned());
        }
    }
    assert!(missing.is_empty(), "docs/architecture.md says nothing about {missing:?}");
}

#[test]
fn the_map_names_nothing_that_is_gone() {
    let map = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let named = map.split('`').skip(1).step_by(2).filter(|name| name.starts_with("crates/"));
    let gone: Vec<_> = named.filter(|name| !root().join(name).exists()).collect();
    assert!(gone.is_empty(), "docs/architecture.md names {gone:?}");
}

/// The text of a document outside of its blocks of code.
fn prose(document: &str) -> String {
    document.split("```").step_by(2).collect()
}

/// A reader in a hurry: 1000 words in all, and no paragraph of more than 60.
#[test]
fn the_readme_is_short() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let words = |text: &str| text.split_whitespace().count();
    assert!(words(&readme) <= 1000, "README.md has {} words", words(&readme));
    let prose = prose(&readme);
    let is_prose = |line: &&str| !line.starts_with(['|', '-', '!']);
    for paragraph in prose.split("\n\n") {
        let paragraph = paragraph.lines().filter(is_prose).collect::<Vec<_>>().join(" ");
        assert!(words(&paragraph) <= 60, "README.md: {} words: {paragraph}", words(&paragraph));
    }
}

/// Design pages state the design; measurements and experiments belong into `notes`.
#[test]
fn design_pages_are_short() {
    let limit = |name: &str| match name {
        "docs/architecture.md" => Some(150),
        name if name.starts_with("docs/design/") => Some(200),
        _ => None,
    };
    let texts = texts();
    let pages = texts.iter().filter_map(|text| Some((text, limit(&text.name)?)));
    let long: Vec<_> = pages
        .clone()
        .filter(|(text, limit)| text.lines() > *limit)
        .map(|(text, limit)| format!("{}: {} lines, of at most {limit}", text.name, text.lines()))
        .collect();
    assert!(pages.count() > 5, "design pages have moved");
    assert!(long.is_empty(), "{long:#?}");
}

/// Links from documents to files lead to something.
#[test]
fn links_between_documents_lead_to_files() {
    let is_document = |text: &Text| text.name.ends_with(".md");
    let (mut count, mut broken) = (0, Vec::new());
    for text in texts().into_iter().filter(is_document) {
        let folder = root().join(&text.name).parent().unwrap().to_owned();
        for link in prose(&text.content).split("](").skip(1) {
            let target = link.split([')', '#', ' ']).next().unwrap();
            if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            count += 1;
            if !folder.join(target).exists() {
                broken.push(format!("{}: {target}", text.name));
            }
        }
    }
    assert!(count > 200, "only {count} links found");
    assert!(broken.is_empty(), "{broken:#?}");
}

/// The recipe in CONTRIBUTING.md counts the files that a new metric touches, for a plain metric.
#[test]
fn a_metric_is_two_files() {
    let of_source = |text: &Text| text.name.starts_with("crates/") && text.name.contains("/src/");
    let texts = texts();
    let touched: Vec<&str> = texts
        .iter()
        .filter(|text| of_source(text) && text.content.contains("marked_data"))
        .map(|text| text.name.as_str())
        .collect();
    let expected =
        ["crates/thalweg-report/src/results/metric_list.rs", "crates/thalweg-sim/src/run_result.rs"];
    assert_eq!(touched, expected);
    let recipes = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let recipe = recipes.split("\n## ").find(|part| part.starts_with("Adding a metric")).unwrap();
    assert!(recipe.contains(&format!("{} files", expected.len())), "the recipe tells another count");
    assert!(expected.iter().all(|name| recipe.contains(name)), "the recipe names other files");
}

/// An editor's hover shows a doc comment without the line above it: one that begins with a question word is unclear
/// there.
#[test]
fn documentation_stands_alone() {
    let is_checked = |text: &Text| {
        // These comments are the texts of help and of references, where a heading stands before them.
        let is_shown =
            ["clap::", "table! {", "choice! {", "metrics! {"].iter().any(|by| text.content.contains(by));
        text.name.starts_with("crates/") && text.name.ends_with(".rs") && !is_shown
    };
    let mut fragments = Vec::new();
    for text in texts().into_iter().filter(is_checked) {
        let mut goes_on = false;
        for (number, line) in text.content.lines().enumerate() {
            let comment = ["///", "//!"].iter().find_map(|mark| line.trim_start().strip_prefix(mark));
            let first = comment.and_then(|words| words.split_whitespace().next()).unwrap_or_default();
            if !goes_on && QUESTIONS.contains(&first) || line.trim() == "/// As there." {
                fragments.push(format!("{}:{}: {}", text.name, number + 1, line.trim()));
            }
            goes_on = comment.is_some();
        }
    }
    assert!(fragments.is_empty(), "say what it is, not which question it answers: {fragments:#?}");
}

/// Names, comments and documents use the terms of the field: [`terminology::RULES`] lists the words that have a better one.
#[test]
fn words_are_those_of_the_field() {
    let is_listed = |text: &Text| {
        ["/tests/tidy.rs", "/tests/terminology/mod.rs"].iter().any(|name| text.name.ends_with(name))
            || QUOTING_FILES.iter().any(|page| text.name.starts_with(page))
    };
    let mut found = Vec::new();
    for text in texts().into_iter().filter(|text| !is_listed(text)) {
        let words = match text.name.rsplit_once('.') {
            Some((_, "rs")) => terminology::in_rust(&text.content),
            Some((_, "md" | "py")) => terminology::in_document(&text.content),
            _ => terminology::in_text(&text.content),
        };
        found.extend(words.into_iter().map(|word| format!("{}:{word}", text.name)));
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// A new crate is a default member, too: without, plain commands of cargo would leave it out. The command needs neither the Python package
/// nor the engine of the laboratory page.
#[test]
fn default_members_are_all_that_the_command_needs() {
    let text = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let list = text.split("default-members = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap();
    let listed: BTreeSet<String> = list.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut all: BTreeSet<String> = crates.map(|name| format!("crates/{}", name.to_string_lossy())).collect();
    assert!(all.remove("crates/thalweg-python") && all.remove("crates/thalweg-page"));
    assert_eq!(listed, all);
}

/// What is released is optimised throughout: a profile inherits the overrides of single packages, and each must be undone by name.
#[test]
fn the_released_build_undoes_every_override_of_the_quick_one() {
    let undone: BTreeSet<String> =
        unoptimised_by_release().iter().map(|line| line.replace("opt-level = 0", "opt-level = 3")).collect();
    assert!(undone.len() > 10, "{undone:?}");
    assert_eq!(table("Cargo.toml", "profile.dist.package"), undone);
    let dist = table("Cargo.toml", "profile.dist");
    for line in ["inherits = \"release\"", "opt-level = 3", "codegen-units = 1", "strip = \"symbols\""] {
        assert!(dist.contains(line), "{line}: {dist:?}");
    }
    // An engine that panics is caught, and the rest of the run goes on.
    assert!(!dist.iter().any(|line| line.starts_with("panic")), "{dist:?}");
}

/// Tests compile without optimisation what the quick release build does, and in every workspace of the repository alike.
#[test]
fn tests_and_the_quick_release_build_optimise_the_same() {
    assert_eq!(table(".cargo/config.toml", "profile.dev.package"), unoptimised_by_release());
    let dev = table("Cargo.toml", "profile.dev");
    assert_eq!(table("fuzz/Cargo.toml", "profile.dev"), dev);
}

/// Returns the lines of a table of a TOML file.
fn table(file: &str, name: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join(file)).unwrap();
    let rest = text.split(&format!("\n[{name}]\n")).nth(1);
    let rest = rest.unwrap_or_else(|| panic!("[{name}] is missing in {file}"));
    let lines = rest.lines().take_while(|line| !line.starts_with('['));
    lines.filter(|line| line.contains('=') && !line.starts_with('#')).map(str::to_owned).collect()
}

/// Returns the overrides of packages that `[profile.release]` compiles without optimisation.
fn unoptimised_by_release() -> BTreeSet<String> {
    let lines = table("Cargo.toml", "profile.release.package").into_iter();
    lines.filter(|line| !line.contains("codegen-units")).collect()
}

#[test]
fn every_crate_has_a_description() {
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let source = entry.unwrap().path().join("src");
        let main = ["lib.rs", "main.rs"].map(|name| source.join(name)).into_iter().find(|path| path.exists());
        let main = main.unwrap_or_else(|| panic!("{} has neither lib.rs nor main.rs", source.display()));
        let text = fs::read_to_string(&main).unwrap();
        assert!(text.starts_with("//! "), "{} does not begin with its documentation", main.display());
    }
}

/// Additions touch as many files as CONTRIBUTING.md states.
#[test]
fn additions_touch_as_few_files_as_documented() {
    let counted = std::process::Command::new("python3")
        .arg(root().join("scripts/files-per-addition"))
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&counted.stdout);
    assert!(counted.status.success(), "more files than the recipe says:\n{printed}");
    let recipes = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    for (what, recipe) in [
        ("controller", "Adding **a controller** changes "),
        ("option of a scheme", "Adding **an option of a scheme** changes "),
        ("discipline", "Adding **a discipline** changes "),
        ("option of a discipline", "Adding **an option of a discipline** changes "),
        ("scenario key", "Adding **a key of scenarios** changes "),
        ("live counter", "Adding a **counter of live sessions** changes "),
        ("engine family", "Adding **an engine family** changes "),
    ] {
        let digits = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next().unwrap_or("").to_owned();
        let documented = recipes.split(recipe).nth(1).map(digits);
        let line = printed.lines().find_map(|line| line.strip_prefix(&format!("{what}: ")));
        assert_eq!(line.map(digits), documented, "{what}: {printed}");
    }
}

/// A text file of the project.
struct Text {
    /// Its path from the root, with slashes.
    name: String,
    content: String,
}

impl Text {
    fn lines(&self) -> usize {
        self.content.lines().count()
    }
}

/// All that people write here; data, lock file and pictures are not.
fn texts() -> Vec<Text> {
    let mut paths = Vec::new();
    walk(&root(), &mut paths);
    paths.sort();
    let named = paths.into_iter().map(|path| {
        let name = path.strip_prefix(root()).unwrap().to_str().expect("names are UTF-8").replace('\\', "/");
        let content = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        Text { name, content }
    });
    let texts: Vec<_> = named.collect();
    assert!(texts.len() > 100, "only {} files found under {}", texts.len(), root().display());
    texts
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            let hidden = name.starts_with('.') && name != ".ci";
            if !hidden
                && ![
                    "target",
                    "thalweg-results",
                    "__pycache__",
                    "proptest-regressions",
                    "corpus",
                    "artifacts",
                ]
                .contains(&&*name)
            {
                walk(&entry.path(), paths);
            }
        } else if kind.is_file() && is_text(&name) {
            paths.push(entry.path());
        }
    }
}

/// Scripts have no suffix.
fn is_text(name: &str) -> bool {
    match name.rsplit_once('.') {
        None => true,
        // What others wrote comes as they built it.
        Some((name, _)) if name.ends_with(".min") => false,
        Some((_, suffix)) => {
            ["rs", "md", "toml", "py", "sh", "tcl", "cc", "js", "mjs", "css"].contains(&suffix)
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate is in crates/").to_owned()
}

/// Longer files hold more than one idea.
const MAX_LINES: usize = 700;

/// Pages that the program writes.
const GENERATED_PAGES: [&str; 2] = ["docs/papers/liang91-values.md", "docs/reference/scenario.md"];

/// Files that quote results or former names, and generated pages.
const QUOTING_FILES: [&str; 6] = [
    "CHANGELOG.md",
    "benches/controller_mutations.py",
    "crates/thalweg/src/compatibility_hints.rs",
    "docs/assess/",
    "docs/papers/liang91",
    "docs/reference/",
];

/// The folders whose code must give the same result wherever it runs.
const ENGINES: [&str; 5] = [
    "crates/thalweg-units/src/",
    "crates/thalweg-proto/src/",
    "crates/thalweg-queue/src/",
    "crates/thalweg-catalog/src/",
    "crates/thalweg-sim/src/",
];

/// Clocks, entropy, iteration in an order that differs from process to process, and output.
const BANNED_PATHS: [&str; 9] = [
    "Instant::now",
    "SystemTime",
    "thread_rng",
    "from_os_rng",
    "HashMap",
    "HashSet",
    "std::env",
    "print!(",
    "println!(",
];

/// In two parts each: this file must not contain them.
const LOCAL_PATHS: [[&str; 2]; 5] =
    [["/ho", "me/"], ["/ro", "ot/"], ["/wo", "rk/"], ["/Us", "ers/"], ["/tm", "p/"]];

const QUESTIONS: [&str; 9] = ["What", "Whether", "How", "Who", "Whose", "When", "Where", "Which", "Why"];
