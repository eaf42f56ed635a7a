//! File names that a receiver accepts, and names of unfinished files.

use super::transfer_error::{Fault, FaultKind};
use super::transfer_messages::MAX_NAME_BYTES;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

/// Suffix of the names of unfinished files.
pub const UNFINISHED_SUFFIX: &str = ".thalweg.part";

/// Validates a peer's file name: a single path component, neither `.` nor `..`, and not the name of an unfinished file.
///
/// # Errors
/// The name is invalid.
pub fn validate_name(name: &[u8]) -> Result<OsString, Fault> {
    let fault = |text: &str| Err(Fault::new(FaultKind::Name, text));
    match name {
        [] => return fault("it is empty"),
        b"." | b".." => return fault("it leads elsewhere"),
        _ if name.len() > MAX_NAME_BYTES => return fault("it is too long"),
        _ => {}
    }
    if name.iter().any(|byte| matches!(byte, b'/' | 0)) {
        return fault("it has a separator of paths or a zero");
    }
    if is_unfinished(name) {
        return fault("it is that of an unfinished file");
    }
    Ok(OsString::from_vec(name.to_vec()))
}

/// Returns true for names made by [`of_part`] and [`of_link`], also on case-insensitive file systems. No file, folder
/// or link of a peer may have such a name.
pub fn is_unfinished(name: &[u8]) -> bool {
    name.len() >= UNFINISHED_SUFFIX.len()
        && name[name.len() - UNFINISHED_SUFFIX.len()..].eq_ignore_ascii_case(UNFINISHED_SUFFIX.as_bytes())
}

/// Returns the sender's tag in the names of its unfinished files. It keeps senders from resuming each other's files.
pub fn tag_of(owner: &str) -> String {
    blake3::hash(owner.as_bytes()).to_hex()[..16].to_owned()
}

/// Maximum length of a path that is shown or recorded, in bytes.
const MAX_SHOWN_BYTES: usize = 4096;

/// Joins printable names to a path, truncated in the middle if long.
pub fn format_path<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let path = names.collect::<Vec<_>>().join("/");
    if path.len() <= MAX_SHOWN_BYTES {
        return path;
    }
    const TRUNCATION_MARK: &str = "[...]";
    let half = (MAX_SHOWN_BYTES - TRUNCATION_MARK.len()) / 2;
    let (head, tail) = (path.floor_char_boundary(half), path.ceil_char_boundary(path.len() - half));
    [&path[..head], TRUNCATION_MARK, &path[tail..]].concat()
}

/// Returns the name of the unfinished file for `name`; `owner` is the sender as given to
/// [`Destination`](super::Destination).
pub fn unfinished_name(name: &[u8], owner: &str) -> OsString {
    of_part(name, &tag_of(owner))
}

/// Returns the name of the unfinished file for `name` from the sender with this tag.
pub fn of_part(name: &[u8], tag: &str) -> OsString {
    temporary_name(name, "", tag)
}

/// Returns the temporary name of a link that becomes `name`, for the sender with this tag.
pub fn of_link(name: &[u8], tag: &str) -> OsString {
    temporary_name(name, "link", tag)
}

/// Returns the temporary name of an entry `name` that is being replaced by one of another type.
pub fn of_displaced(name: &[u8], tag: &str) -> OsString {
    temporary_name(name, "old", tag)
}

/// Returns a temporary name: `NAME.TAG.thalweg.part`, with a purpose `NAME.PURPOSE-TAG.thalweg.part`. Long names are
/// truncated and get `HASH-` before the tag, to fit the suffix. The component after the last dot before the suffix has
/// a different form in each case, so distinct names and purposes never collide.
fn temporary_name(name: &[u8], purpose: &str, tag: &str) -> OsString {
    let dash = if purpose.is_empty() { "" } else { "-" };
    let ending = format!(".{purpose}{dash}{tag}{UNFINISHED_SUFFIX}");
    if name.len() + ending.len() <= MAX_NAME_BYTES {
        return OsString::from_vec([name, ending.as_bytes()].concat());
    }
    let hash = &blake3::hash(name).to_hex()[..32];
    let ending = format!(".{purpose}{dash}{hash}-{tag}{UNFINISHED_SUFFIX}");
    let kept = MAX_NAME_BYTES - ending.len();
    // Do not split a UTF-8 character.
    let kept = (0..=kept).rev().find(|at| name[*at] & 0xc0 != 0x80).unwrap_or(0);
    OsString::from_vec([&name[..kept], ending.as_bytes()].concat())
}

/// Returns true if following a link with this target, from `depth` folders below the top, stays inside the top folder.
pub fn stays_inside(target: &[u8], depth: usize) -> bool {
    if target.starts_with(b"/") {
        return false;
    }
    let (mut climbed, mut is_down) = (0, false);
    for name in target.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." if is_down => return false,
            b".." => climbed += 1,
            _ => is_down = true,
        }
    }
    climbed <= depth
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::{Component, Path};

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in [
            &b""[..],
            b".",
            b"..",
            b"/",
            b"a/b",
            b"../x",
            b"/etc/passwd",
            b"a\0b",
            b"x.thalweg.part",
            b"x.THALWEG.Part",
        ] {
            assert_eq!(validate_name(name).unwrap_err().kind, FaultKind::Name, "{name:?}");
        }
        assert_eq!(validate_name(&[b'a'; 256]).unwrap_err().kind, FaultKind::Name);
        for name in ["a", "...", ".hidden", "a b", "naïve", "-rf", "x.part", "~", "thalweg.part"] {
            assert_eq!(validate_name(name.as_bytes()).unwrap(), OsString::from(name));
        }
    }

    #[test]
    fn links_are_classified_by_their_target() {
        for (target, depth) in
            [("file", 0), ("a/b", 0), ("./a//b/", 0), ("../a", 1), ("../../a/b", 2), ("..", 1), ("...", 0)]
        {
            assert!(stays_inside(target.as_bytes(), depth), "{target}");
        }
        for (target, depth) in [
            ("/", 9),
            ("/etc/passwd", 9),
            ("..", 0),
            ("../../a", 1),
            ("a/../b", 9),
            ("../a/..", 9),
            ("./../x", 0),
        ] {
            assert!(!stays_inside(target.as_bytes(), depth), "{target}");
        }
    }

    #[test]
    fn a_long_path_is_cut_in_its_middle() {
        let names = vec!["ü".repeat(100); 50];
        let all = format_path(names.iter().take(20).map(String::as_str));
        assert_eq!(all.len(), 20 * 200 + 19);
        let shortened =
            format_path(["top"].into_iter().chain(names.iter().map(String::as_str)).chain(["file"]));
        assert!((4090..=4096).contains(&shortened.len()), "{}", shortened.len());
        assert!(
            shortened.starts_with("top/ü") && shortened.contains("[...]") && shortened.ends_with("ü/file")
        );
    }

    #[test]
    fn long_names_get_distinct_part_files() {
        let (a, b) = (format!("{}a", "ü".repeat(126)), format!("{}b", "ü".repeat(126)));
        let parts = [&a, &b].map(|name| of_part(name.as_bytes(), &tag_of("anna")));
        assert_ne!(parts[0], parts[1]);
        for part in &parts {
            assert!(part.len() <= MAX_NAME_BYTES);
            assert!(part.to_str().unwrap().ends_with(UNFINISHED_SUFFIX));
        }
        let film = of_part(b"film.mkv", "0123456789abcdef");
        assert_eq!(film, OsString::from("film.mkv.0123456789abcdef.thalweg.part"));
        assert_ne!(of_part(b"a", &tag_of("anna")), of_part(b"a", &tag_of("bert")));
    }

    /// Generates names, including ones built to collide with temporary names.
    fn name() -> impl Strategy<Value = Vec<u8>> {
        let ending =
            prop_oneof![Just(""), Just("~"), Just(".link-0123456789abcdef"), Just(".0123456789abcdef")];
        let ending = (ending, any::<bool>()).prop_map(|(ending, is_part)| {
            if is_part { [ending, UNFINISHED_SUFFIX].concat() } else { ending.to_owned() }
        });
        let stem = prop_oneof![
            Just("a".to_owned()),
            Just("n".repeat(255)),
            Just("n".repeat(254) + "m"),
            Just("n".repeat(219)),
            Just("n".repeat(214))
        ];
        (stem, ending).prop_map(|(stem, ending)| {
            let long = [stem.as_bytes(), ending.as_bytes()].concat();
            long[..long.len().min(MAX_NAME_BYTES)].to_vec()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn temporary_names_are_unique_to_their_file(a in name(), b in name()) {
            let tags = ["0123456789abcdef", "fedcba9876543210"];
            let makers: [fn(&[u8], &str) -> OsString; 3] = [of_part, of_link, of_displaced];
            let all = |name: &[u8]| tags.iter().flat_map(|tag| makers.map(|make| make(name, tag))).collect::<Vec<_>>();
            let (of_a, of_b) = (all(&a), all(&b));
            for (at, one) in of_a.iter().enumerate() {
                prop_assert!(one.len() <= MAX_NAME_BYTES && is_unfinished(one.as_encoded_bytes()));
                prop_assert!(validate_name(one.as_encoded_bytes()).is_err(), "a peer's file could have it");
                prop_assert!(of_a[..at].iter().all(|other| other != one));
                // Further suffixes on a temporary name yield only names that peers may not use.
                prop_assert!(a == b || of_b.iter().all(|other| other != one), "{one:?}");
            }
        }

        #[test]
        fn a_name_is_one_component(name in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'.'), Just(b'/')], 0..9)) {
            if let Ok(name) = validate_name(&name) {
                let components: Vec<_> = Path::new(&name).components().collect();
                prop_assert_eq!(components, vec![Component::Normal(&name)]);
            }
        }
    }
}
