//! Damaged files cause no panic, and each diagnostic has a valid position.

use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use thalweg_scenario::{Diagnostic, load_text};

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// Returns all scenario files, valid and broken.
fn texts() -> &'static [String] {
    static TEXTS: OnceLock<Vec<String>> = OnceLock::new();
    TEXTS.get_or_init(|| {
        let broken = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken");
        let mut files: Vec<PathBuf> = [scenarios(), broken]
            .iter()
            .flat_map(|folder| std::fs::read_dir(folder).unwrap())
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "toml"))
            .collect();
        files.sort();
        files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
    })
}

/// One kind of damage; the numbers are positions, taken modulo the number of candidates.
#[derive(Clone, Debug)]
enum Damage {
    Delete(usize, usize),
    Copy(usize, usize, usize),
    Insert(usize, String),
    /// Replaces one quoted text by another.
    SwapBytes(usize, usize),
}

const HOSTILE_VALUES: [&str; 30] = [
    "\"",
    "[",
    "]]",
    "{",
    "}",
    "=",
    "\n",
    "\t",
    "\u{0}",
    "\u{feff}",
    "é",
    "-1",
    "0",
    "1e400",
    "nan",
    "inf",
    "99999999999999999999",
    "\"0 s\"",
    "\"18446744.073709551615 s\"",
    "\"1e9 TB\"",
    "\"0 bit/s\"",
    "\"1000000 bdp\"",
    "\"unlimited\"",
    "\"15 Tbit/s\"",
    "4294967295",
    "\"100 %\"",
    "[[link]]",
    "[[flow]]",
    "\"bulk\"",
    "1979-05-27",
];

fn damage() -> impl Strategy<Value = Damage> {
    let at = 0usize..100_000;
    prop_oneof![
        (at.clone(), 0usize..40).prop_map(|(at, length)| Damage::Delete(at, length)),
        (at.clone(), 0usize..80, at.clone()).prop_map(|(from, length, to)| Damage::Copy(from, length, to)),
        (at.clone(), prop::sample::select(&HOSTILE_VALUES[..]))
            .prop_map(|(at, text)| Damage::Insert(at, text.to_owned())),
        (at.clone(), "\\PC{0,8}").prop_map(|(at, text)| Damage::Insert(at, text)),
        (at.clone(), at).prop_map(|(from, to)| Damage::SwapBytes(from, to)),
    ]
}

fn apply(text: &str, damage: &Damage) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    let count = chars.len().max(1);
    match damage {
        Damage::Delete(at, length) => {
            let at = at % count;
            chars.drain(at..(at + length).min(chars.len()));
        }
        Damage::Copy(from, length, to) => {
            let from = from % count;
            let part: Vec<char> = chars[from..(from + length).min(chars.len())].to_vec();
            let to = (to % count).min(chars.len());
            chars.splice(to..to, part);
        }
        Damage::Insert(at, text) => {
            let at = (at % count).min(chars.len());
            chars.splice(at..at, text.chars());
        }
        Damage::SwapBytes(from, to) => {
            let mut parts: Vec<&str> = text.split('"').collect();
            let quoted = parts.len() / 2;
            if quoted > 0 {
                parts[to % quoted * 2 + 1] = parts[from % quoted * 2 + 1];
            }
            return parts.join("\"");
        }
    }
    chars.into_iter().collect()
}

/// Checks the invariants of diagnostics.
fn check(found: &[Diagnostic]) {
    for one in found {
        assert!(one.span.start <= one.span.end && one.span.end <= one.source.text().len(), "{one:?}");
        assert!(one.source.text().is_char_boundary(one.span.start), "{one:?}");
        let drawn = one.render();
        assert!(drawn.starts_with(one.severity.name()) && drawn.ends_with('\n'));
        assert!(drawn.lines().all(|line| line.chars().count() < 700), "{drawn}");
        assert!(drawn.chars().all(|c| c == '\n' || !c.is_control()), "{drawn:?}");
    }
}

/// Reads a text. A valid scenario can be explained, and its expanded form reads back.
fn read(text: &str, sets: &[String]) {
    match load_text("damaged.toml", text, &scenarios(), sets) {
        Err(found) => {
            assert!(!found.is_empty());
            check(&found);
        }
        Ok(loaded) => {
            check(&loaded.warnings);
            check(&loaded.check_memory(0).into_iter().collect::<Vec<_>>());
            assert!(!loaded.explain().is_empty());
            let expanded = loaded.expanded();
            let again = load_text("expanded.toml", &expanded, Path::new("/nowhere"), &[]);
            let again = again.unwrap_or_else(|found| {
                panic!("{}\n{expanded}", found.iter().map(Diagnostic::render).collect::<String>())
            });
            assert_eq!(format!("{:?}", again.spec()), format!("{:?}", loaded.spec()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn damaged_files_are_read_or_refused(
        which in 0usize..1000,
        damages in prop::collection::vec(damage(), 1..5),
    ) {
        let texts = texts();
        let text = damages.iter().fold(texts[which % texts.len()].clone(), |text, damage| apply(&text, damage));
        read(&text, &[]);
    }

    #[test]
    fn arbitrary_changes_from_the_command_line_are_made_or_refused(
        which in 0usize..1000,
        path in prop_oneof![
            "(link|flow|scheme|defaults|node|measure|duration)(\\.(1|2|\\*|bold|link|rate|queue|vegas|x|start)){0,4}",
            "\\PC{0,20}",
        ],
        value in prop_oneof![prop::sample::select(&HOSTILE_VALUES[..]).prop_map(str::to_owned), "\\PC{0,20}"],
    ) {
        let texts = texts();
        read(&texts[which % texts.len()], &[format!("{path}={value}")]);
    }

    #[test]
    fn anything_at_all_is_read_or_refused(text in "(\\PC|\n){0,200}") {
        read(&text, &[]);
    }
}
