//! Messages of broken scenario files: each `broken/NAME.toml` beside the expected `broken/NAME.txt`.
//!
//! `THALWEG_BLESS=1 cargo test --workspace --test it broken::` writes the expected texts anew.

use std::path::{Path, PathBuf};
use thalweg_scenario::{Diagnostic, Severity, load, load_text};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken")
}

/// Renders all diagnostics of a file, without the folder's name.
fn printed(path: &Path, sets: &[String]) -> String {
    let found = load(path, sets).map_or_else(|found| found, |loaded| loaded.warnings);
    let text: String = found.iter().map(|one| one.render() + "\n").collect();
    text.replace(&format!("{}/", folder().display()), "")
}

#[test]
fn each_broken_file_prints_what_is_expected() {
    let bless = std::env::var_os("THALWEG_BLESS").is_some();
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .collect();
    files.sort();
    assert!(files.len() >= 10);
    let mut wrong = String::new();
    for file in files {
        let printed = printed(&file, &[]);
        assert!(!printed.is_empty(), "{} is not broken", file.display());
        let expected = file.with_extension("txt");
        if bless {
            std::fs::write(&expected, &printed).unwrap();
        } else if std::fs::read_to_string(&expected).unwrap_or_default() != printed {
            wrong.push_str(&format!("--- {} prints\n{printed}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_file_of_a_hundred_megabytes_is_rejected_at_once() {
    let path = std::env::temp_dir().join(format!("thalweg-garbage-{}.toml", std::process::id()));
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(100 << 20).unwrap();
    let started = std::time::Instant::now();
    let found = load(&path, &[]).unwrap_err();
    let took = started.elapsed();
    std::fs::remove_file(&path).unwrap();
    assert_eq!((found.len(), found[0].code), (1, "scenario.size"));
    assert!(took.as_millis() < 100, "{took:?}");
}

#[test]
fn binary_and_missing_files_are_reported() {
    let path = std::env::temp_dir().join(format!("thalweg-binary-{}.toml", std::process::id()));
    std::fs::write(&path, [b'a', 0xff, 0xfe]).unwrap();
    let found = load(&path, &[]).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert!(found[0].message.contains("not text"), "{}", found[0].render());
    let found = load(&path, &[]).unwrap_err();
    assert_eq!((found.len(), found[0].code, found[0].severity), (1, "scenario.file", Severity::Error));
    let found = load(&std::env::temp_dir(), &[]).unwrap_err();
    assert_eq!((found.len(), found[0].code), (1, "scenario.file"));
}

#[test]
fn changes_that_do_not_fit_point_into_the_argument() {
    let file = folder().join("../../../../scenarios/two-flows.toml");
    let sets =
        ["link.left-right.rate=100", "flow.bald.scheme=vegas", "duration", "flow.bold.start=never", "a..b=1"];
    let found = load(&file, &sets.map(str::to_owned)).unwrap_err();
    let text: String = found.iter().map(Diagnostic::render).collect();
    let expected = "\
error[scenario.unit]: `100` has no unit
 --> --set 1
  |
  | link.left-right.rate=100
  |                      ^^^ did you mean \"100 Mbit/s\"?
error[scenario.set]: there is no flow `bald`
 --> --set 2
  |
  | flow.bald.scheme=vegas
  |      ^^^^ did you mean `bold`?
error[scenario.set]: expected KEY=VALUE
 --> --set 3
  |
  | duration
  | ^^^^^^^^
  = help: such as link.core.rate=\"50 Mbit/s\"
error[scenario.type]: expected a time, such as \"50 ms\", found \"never\"
 --> --set 4
  |
  | flow.bold.start=never
  |                 ^^^^^
error[scenario.set]: a part of the key is empty
 --> --set 5
  |
  | a..b=1
  |   ^
";
    assert_eq!(text, expected, "{text}");
}

#[test]
fn the_number_of_reported_errors_is_bounded() {
    let text: String = (0..50_000).map(|number| format!("key{number} = 1\n")).collect();
    let found = thalweg_scenario::load_text("many.toml", &text, Path::new(""), &[]).unwrap_err();
    assert_eq!(found.len(), 100);
    assert!(found[99].help.as_deref().unwrap_or_default().contains("49900 more"), "{:?}", found[99]);
    let junk = "!\n".repeat(100_000);
    assert_eq!(thalweg_scenario::load_text("junk.toml", &junk, Path::new(""), &[]).unwrap_err().len(), 100);
}

/// A change of a default that each flow replaces would have no effect, and a misspelt name there no error.
#[test]
fn an_unused_default_of_an_argument_is_named() {
    let link =
        "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"50 pkt\"\n";
    let flow = |scheme: &str| format!("[[flow]]\nfrom = \"a\"\nto = \"b\"\noverhead = \"1 ms\"\n{scheme}");
    let warnings = |flows: &[String], set: &str| {
        let text = format!("warmup = \"1 s\"\n{link}{}", flows.concat());
        let loaded = load_text("all.toml", &text, Path::new("."), &[set.to_owned()]).unwrap();
        loaded.warnings.iter().map(|found| (found.code, found.message.clone())).collect::<Vec<_>>()
    };
    let [own, without] = ["scheme = \"newreno\"\n", ""].map(flow);
    let unused = |of: &str| format!("this default is not used: each {of}");
    let both = [own.clone(), own.clone()];
    let [one] = &warnings(&both, "defaults.flow.scheme=cubik")[..] else { panic!() };
    assert_eq!(*one, ("scenario.unused-default", unused("flow has its own `scheme`")));
    let [one] = &warnings(&both, "defaults.link.rate=9 Mbit/s")[..] else { panic!() };
    assert_eq!(*one, ("scenario.unused-default", unused("link has its own `rate`")));
    assert_eq!(warnings(&[own, without], "defaults.flow.scheme=cubic"), []);
}
