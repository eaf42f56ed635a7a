//! Suggestions for misspelt names of schemes, disciplines and keys.

/// Maximum length of a name to compare, in characters.
const MAX_COMPARED_LENGTH: usize = 64;

/// Returns the candidate with the smallest edit distance to `name`, if that is small for its length. Among equals, one
/// with the same first letter wins, then the first.
pub fn nearest_name<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = normalise_spelling(name);
    if name.is_empty() || name.len() > MAX_COMPARED_LENGTH {
        return None;
    }
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let written: String = name.iter().collect();
    let other = OTHER_NAMES.iter().find(|(_, others)| others.contains(&written.as_str()));
    let meant = other.and_then(|(name, _)| candidates.iter().find(|candidate| *candidate == name));
    let meant = candidates.iter().find(|candidate| **candidate == written).or(meant);
    if meant.is_some() {
        return meant.copied();
    }
    // A name that exists elsewhere is not misspelt, but an addition may be a variant of it: `westwood+`.
    if is_known_elsewhere(&written) {
        return candidates.into_iter().find(|candidate| candidate.to_lowercase().starts_with(&written));
    }
    let mut best: Option<((usize, bool), &str)> = None;
    for candidate in candidates {
        let other = normalise_spelling(candidate);
        let longest = name.len().max(other.len());
        if other.len() > MAX_COMPARED_LENGTH || name.len().abs_diff(other.len()) > longest / 2 {
            continue;
        }
        let starts_alike = name.len() >= 3 && (other.starts_with(&name) || name.starts_with(&other));
        let edits = if starts_alike { 1 } else { edit_distance(&name, &other) };
        let away = (edits, name.first() != other.first());
        if edits <= (longest / 3).max(1) && best.is_none_or(|(min, _)| away < min) {
            best = Some((away, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Returns true for the name of an existing scheme or discipline that this project lacks.
pub fn is_known_elsewhere(name: &str) -> bool {
    UNSUPPORTED_NAMES.contains(&name.to_lowercase().as_str())
}

/// Returns what has the effect of a scheme or discipline of this name elsewhere, and another name or form here.
pub fn equivalent_elsewhere(name: &str) -> Option<&'static str> {
    let written: String = normalise_spelling(name).into_iter().collect();
    EQUIVALENTS.iter().find(|(names, _)| names.contains(&written.as_str())).map(|(_, hint)| *hint)
}

/// Returns the commands for a scheme that no simulation and no connection of this project can have: `kernel:` and a
/// congestion control of the host's kernel. `None` for any other name.
pub fn live_only(name: &str) -> Option<&'static str> {
    let is_kernel = name.split_once(':').map_or(name, |(kernel, _)| kernel) == "kernel";
    is_kernel.then_some(
        "TCP of this host's kernel runs in live networks only: `thalweg shell FILE --traffic kernel:NAME`, `thalweg compare FILE --live \
         --schemes A,kernel:NAME`, or `thalweg assess kernel:NAME --live`",
    )
}

/// Common synonyms of names in this project.
const OTHER_NAMES: &[(&str, &[&str])] = &[
    ("newreno", &["reno", "tcp-reno", "tcp-newreno"]),
    ("slow-start", &["tahoe", "tcp-tahoe"]),
    ("ledbat-plus-plus", &["ledbat", "ledbat++", "ledbatpp", "ledbat-pp"]),
    ("bbr", &["bbr3", "bbrv3", "tcp-bbr"]),
    ("initial-ssthresh", &["initial-threshold"]),
    ("max-reps", &["most-reps"]),
    ("amount", &["floor"]),
    ("max", &["worst"]),
    ("min", &["least"]),
    ("min_share", &["least-share"]),
    ("fixed", &["vanilla"]),
    ("mtu-change", &["narrow"]),
    ("periodic-variation", &["rhythm"]),
    ("hash", &["lot"]),
    ("most-messages", &["loudest"]),
    ("capable", &["listening"]),
    ("frame-slots", &["frame"]),
    ("lower-slots", &["below"]),
    ("preemption", &["away"]),
    ("preemption-every", &["away-every"]),
    ("fcfs", &["fifo", "pfifo", "bfifo", "droptail", "drop-tail", "taildrop", "tail-drop"]),
];

/// Names of schemes and disciplines elsewhere, with what has their effect here.
const EQUIVALENTS: &[(&[&str], &str)] = &[
    (
        &["bbr1", "bbr2", "bbrv1", "bbrv2"],
        "`bbr` is version 3 of BBR (draft-ietf-ccwg-bbr); there is no earlier one",
    ),
    (
        &["wfq", "weighted-fair-queueing", "wf2q"],
        "weighted fair queueing is `fq` with `weight-1` to `weight-6`, the weights of the flows' priorities",
    ),
    (
        &["diffserv", "diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence"],
        "a tin setting of CAKE: `cake` has one tin, as with besteffort; `priority` serves classes in their order",
    ),
    (
        &["abe", "cubic-abe", "newreno-abe"],
        "ABE (RFC 8511) is an option of other schemes, as in `cubic:ecn=true,ecn-beta=0.85`",
    ),
];

/// Known schemes and disciplines that this project lacks.
const UNSUPPORTED_NAMES: &[&str] =
    &["pcc", "westwood", "hybla", "htcp", "illinois", "bic", "yeah", "fq-pie", "choke", "blue", "ared"];

/// Converts to lower case and unifies separators.
fn normalise_spelling(name: &str) -> Vec<char> {
    name.chars().flat_map(char::to_lowercase).map(|c| if c == '_' || c == ' ' { '-' } else { c }).collect()
}

/// Returns the edit distance: insertions, deletions, replacements and swaps of neighbours.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_found() {
        let keys = ["nat", "rate", "delay", "queue", "between", "max-window", "title"];
        for (typed, meant) in [
            ("ratee", "rate"),
            ("dealy", "delay"),
            ("max_window", "max-window"),
            ("Queue", "queue"),
            ("betwen", "between"),
            ("rat", "rate"),
        ] {
            assert_eq!(nearest_name(typed, keys), Some(meant), "{typed}");
        }
    }

    #[test]
    fn names_that_are_options_here_are_explained() {
        assert!(equivalent_elsewhere("WFQ").is_some_and(|hint| hint.contains("`weight-1`")));
        assert!(equivalent_elsewhere("diffserv4").is_some_and(|hint| hint.contains("one tin")));
        assert!(equivalent_elsewhere("abe").is_some_and(|hint| hint.contains("ecn-beta=0.85")));
        assert!(equivalent_elsewhere("BBRv2").is_some_and(|hint| hint.contains("`bbr` is version 3")));
        assert_eq!((equivalent_elsewhere("fq"), equivalent_elsewhere("cubic")), (None, None));
        crate::Registry::default()
            .read_scheme("cubic:ecn=true,ecn-beta=0.85", crate::Environment::Simulated)
            .unwrap();
    }

    #[test]
    fn kernel_schemes_are_known_to_run_live() {
        assert!(live_only("kernel:cubic").is_some_and(|hint| hint.contains("--traffic kernel:NAME")));
        assert!(live_only("kernel").is_some() && live_only("kernels:cubic").is_none());
    }

    #[test]
    fn unrelated_names_are_not_suggested() {
        assert_eq!(nearest_name("colour", ["rate", "delay"]), None);
        assert_eq!(nearest_name("", ["rate"]), None);
        assert_eq!(nearest_name(&"x".repeat(100_000), ["rate"]), None);
    }

    #[test]
    fn other_names_are_known() {
        let schemes = ["vegas", "newreno", "cubic", "slow-start", "bbn"];
        assert_eq!(nearest_name("reno", schemes), Some("newreno"));
        assert_eq!(nearest_name("Tahoe", schemes), Some("slow-start"));
        for queue in ["fifo", "droptail", "tail-drop", "drop_tail"] {
            assert_eq!(nearest_name(queue, ["red", "fcfs", "fq"]), Some("fcfs"), "{queue}");
        }
        assert_eq!(
            nearest_name("initial-threshold", ["initial-window", "initial-ssthresh"]),
            Some("initial-ssthresh")
        );
        assert_eq!(nearest_name("most-reps", ["reps", "max-reps", "seed"]), Some("max-reps"));
        assert_eq!(nearest_name("least_share", ["loss", "min_share"]), Some("min_share"));
        assert_eq!(nearest_name("vanilla", ["fixed", "vegas"]), Some("fixed"));
        assert_eq!(nearest_name("rhythm", ["rate", "periodic-variation"]), Some("periodic-variation"));
        assert_eq!(nearest_name("lot", ["hash", "order"]), Some("hash"));
        assert_eq!(nearest_name("loudest", ["all", "most-messages"]), Some("most-messages"));
        assert_eq!(nearest_name("listening", ["capable", "all"]), Some("capable"));
        let slots = ["slot", "frame-slots", "lower-slots", "levels"];
        assert_eq!(
            ["frame", "below"].map(|name| nearest_name(name, slots)),
            [Some("frame-slots"), Some("lower-slots")]
        );
        // A known scheme that is not in the list.
        assert_eq!((nearest_name("westwood", schemes), is_known_elsewhere("Westwood")), (None, true));
        // Unless a crate has added it, or a variant of it.
        assert_eq!(nearest_name("copa", ["cubic", "copa"]), Some("copa"));
        assert_eq!(nearest_name("westwood", ["cubic", "westwood+"]), Some("westwood+"));
    }

    #[test]
    fn a_beginning_is_enough() {
        assert_eq!(nearest_name("dup", ["duplicate", "delay"]), None);
        assert_eq!(nearest_name("duplic", ["duplicate", "delay"]), Some("duplicate"));
    }
}
