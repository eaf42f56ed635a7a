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

/// A default that each flow replaces would have no effect, and a misspelt name there no error.
#[test]
fn an_unused_default_is_named_in_files_and_arguments() {
    let link =
        "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"50 pkt\"\n";
    let flow = |scheme: &str| format!("[[flow]]\nfrom = \"a\"\nto = \"b\"\noverhead = \"1 ms\"\n{scheme}");
    let found = |flows: &[String], defaults: &str, sets: &[&str]| {
        let text = format!("warmup = \"1 s\"\n{defaults}\n{link}{}", flows.concat());
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let loaded = load_text("all.toml", &text, Path::new("."), &sets);
        let found = loaded.map_or_else(|errors| errors, |loaded| loaded.warnings);
        found.iter().map(|found| (found.code, found.message.clone())).collect::<Vec<_>>()
    };
    let [own, without] = ["scheme = \"newreno\"\n", ""].map(flow);
    let both = [own.clone(), own.clone()];
    let one = [own, without];
    let unused = |of: &str| ("scenario.unused-default", format!("this default is not used: each {of}"));
    let unknown = ("scenario.unknown-name", "there is no scheme `cubik`".to_owned());
    let in_file =
        |keys: &str| keys.split_once('=').map(|(key, value)| format!("{key} = \"{value}\"")).unwrap();
    for (set, expected) in [
        ("defaults.flow.scheme=cubic", vec![unused("flow has its own `scheme`")]),
        ("defaults.flow.scheme=cubik", vec![unknown.clone(), unused("flow has its own `scheme`")]),
        ("defaults.link.rate=9 Mbit/s", vec![unused("link has its own `rate`")]),
    ] {
        for mut warnings in [found(&both, "", &[set]), found(&both, &in_file(set), &[])] {
            warnings.sort();
            assert_eq!(warnings, expected, "{set}");
        }
    }
    assert_eq!(found(&one, "", &["defaults.flow.scheme=cubic"]), []);
    assert_eq!(found(&one, &in_file("defaults.flow.scheme=cubic"), &[]), []);
    assert_eq!(found(&one, &in_file("defaults.flow.scheme=cubik"), &[]), [unknown]);
    // An argument for all flows replaces the default, too.
    assert_eq!(found(&one, &in_file("defaults.flow.scheme=cubik"), &["flow.*.scheme=vegas"]), []);
}

/// Defaults for all schemes apply to those that have the option: files may have them for others, an argument is for this run.
#[test]
fn an_argument_for_schemes_that_none_takes_is_named() {
    let found = |scheme: &str, defaults: &str, sets: &[&str]| {
        let text = format!(
            "warmup = \"1 s\"\n{defaults}\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\n\
             [[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = {scheme}\nworkload = {{ kind = \"telnet\", gap = \"9 ms\", packet = \"1 kB\" }}\n"
        );
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let loaded = load_text("all.toml", &text, Path::new("."), &sets).unwrap();
        let unused = loaded.warnings.iter().filter(|found| found.code == "scenario.unused-default");
        unused.map(|found| found.message.split('`').nth(1).unwrap().to_owned()).collect::<Vec<_>>()
    };
    let ecn = ["defaults.scheme.ecn=true", "defaults.scheme.delayed-ack={ adaptive = true }"];
    assert_eq!(found("\"udp\"", "", &ecn), ["ecn", "delayed-ack"]);
    assert!(found("\"cubic\"", "", &ecn).is_empty());
    assert_eq!(found("{ base = \"cubic\", ecn = false }", "", &ecn), ["ecn"]);
    assert!(found("\"udp\"", "defaults.scheme.ecn = true", &[]).is_empty());
}
