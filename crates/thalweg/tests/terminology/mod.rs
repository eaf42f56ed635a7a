//! Words of this project that have an established term, and the term: one table for names, comments and documents.
//!
//! `docs/reference/words.md` defines the terms themselves.

use std::fmt;

/// Text to which a rule applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Identifiers of Rust code.
    Names,
    /// Comments, documentation and documents, without quoted code.
    Prose,
    /// Identifiers and prose.
    Both,
    /// All text, including strings and commands.
    Text,
}

/// A word or phrase, and the term to use.
#[derive(Debug)]
pub struct Rule {
    /// For names a word of an identifier, in capitals a word of a constant; for prose one or several words, with `..` for any
    /// others of the sentence; for text a literal.
    pub banned: &'static str,
    pub better: &'static str,
    pub place: Scope,
}

/// An occurrence of a banned word.
#[derive(Debug)]
pub struct Finding {
    /// Line, from 1.
    pub line: usize,
    pub found: String,
    pub better: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: `{}`; write {}", self.line, self.found, self.better)
    }
}

const fn rule(banned: &'static str, better: &'static str, place: Scope) -> Rule {
    Rule { banned, better, place }
}

/// All rules. A word belongs here if it has one meaning in this project and none in the field.
pub const RULES: &[Rule] = &[
    rule("MOST", "MAX", Scope::Names),
    rule("LEAST", "MIN", Scope::Names),
    rule("--most-", "--max-", Scope::Text),
    rule("--least-", "--min-", Scope::Text),
    rule("rhythm", "periodic variation", Scope::Both),
    rule("stranger", "unknown sender", Scope::Both),
    rule("strangers", "unknown senders", Scope::Both),
    rule("unproved", "unvalidated", Scope::Both),
    // Machines.
    rule("told", "notified, reported or configured", Scope::Both),
    rule("tell", "notify or report", Scope::Names),
    rule("tells", "notifies or reports", Scope::Names),
    rule("untold", "not notified", Scope::Both),
    rule("hear", "receive", Scope::Both),
    rule("hears", "receives", Scope::Both),
    rule("heard", "received", Scope::Both),
    rule("say", "report", Scope::Names),
    rule("speak", "support or use", Scope::Both),
    rule("speaks", "supports or uses", Scope::Both),
    rule("heed", "react to", Scope::Both),
    rule("heeds", "reacts to", Scope::Both),
    rule("beliefs", "estimates", Scope::Names),
    rule("happened", "event", Scope::Names),
    rule("doubt", "warning", Scope::Names),
    // Listeners and connections.
    rule("greet", "accept", Scope::Both),
    rule("greets", "accepts", Scope::Both),
    rule("knock", "probe id", Scope::Both),
    rule("knocks", "probe ids", Scope::Both),
    rule("lobby", "accept queue", Scope::Both),
    rule("door", "admission", Scope::Both),
    rule("doors", "admission", Scope::Both),
    rule("guest", "pending peer", Scope::Both),
    rule("guests", "pending peers", Scope::Both),
    rule("newcomer", "pending peer, or new flow", Scope::Both),
    rule("newcomers", "pending peers, or new flows", Scope::Both),
    rule("crowd", "transfer slots, or many flows", Scope::Both),
    rule("crowds", "transfer slots, or many flows", Scope::Both),
    rule("desk", "shared listener state", Scope::Both),
    rule("bell", "waker", Scope::Both),
    rule("bells", "wakers", Scope::Both),
    rule("rung", "notified", Scope::Both),
    rule("embryo", "half-open", Scope::Both),
    rule("wishes", "options", Scope::Names),
    rule("onlookers", "observers", Scope::Both),
    rule("crew", "worker pool", Scope::Both),
    // Senders and queues.
    rule("departed", "dupack credit", Scope::Names),
    rule("surrender", "abort or give up", Scope::Both),
    rule("sealer", "encryptor", Scope::Both),
    rule("markable", "ECT", Scope::Names),
    rule("rival", "competing traffic, or candidate", Scope::Names),
    rule("dip", "drain", Scope::Names),
    rule("onset", "service-start delay", Scope::Names),
    rule("stamped", "timestamped", Scope::Names),
    rule("station", "port or queue", Scope::Names),
    rule("stations", "ports or queues", Scope::Names),
    rule("forks", "ECMP groups", Scope::Names),
    rule("fate", "impairment outcome", Scope::Names),
    rule("parcel", "delayed datagram, or batch codec", Scope::Both),
    rule("nap", "wake-up coalescing", Scope::Names),
    rule("naps", "wake-up coalescing", Scope::Names),
    rule("news", "event, or outcome", Scope::Names),
    // Experiments.
    rule("genes", "candidate", Scope::Both),
    rule("outlook", "speed-up estimate", Scope::Both),
    rule("contest", "comparison", Scope::Names),
    rule("foreign", "external", Scope::Names),
    // Sentences.
    rule("the reason for which", "why", Scope::Prose),
    rule("the time at which", "when, or the time of", Scope::Prose),
    rule("the times at which", "when, or the times of", Scope::Prose),
    rule("the moment at which", "when", Scope::Prose),
    rule("the way in which", "how", Scope::Prose),
    rule("so that .. which", "two sentences", Scope::Prose),
    rule("so that .. so that", "two sentences", Scope::Prose),
    rule("for nothing", "spuriously, or without need", Scope::Prose),
    rule("whoever", "the peer, flow or host that", Scope::Prose),
    rule("long ways", "long paths", Scope::Prose),
];

/// Words after "is no" that compare: "is no longer", "is no lower than".
const COMPARATIVES: [&str; 14] = [
    "better", "closer", "faster", "greater", "higher", "larger", "less", "longer", "lower", "more",
    "narrower", "shorter", "smaller", "worse",
];

/// Returns the banned words in the names and comments of Rust source, and negations in its strings.
pub fn in_rust(source: &str) -> Vec<Finding> {
    let SourceParts { code, comments, strings } = separate(source);
    let mut found = in_names(&code);
    let lines = comments.lines().enumerate().map(|(at, line)| {
        let line = line.trim_start();
        let text = ["///", "//!", "//", "/*"].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
        (at + 1, text.trim())
    });
    found.extend(in_prose(&prose_words(lines)));
    let messages = strings.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    found.extend(negations(&prose_words(messages)));
    found.extend(in_text(source));
    found
}

/// Returns the banned words of prose in a document or in Python source.
pub fn in_document(document: &str) -> Vec<Finding> {
    let lines = document.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let mut found = in_prose(&prose_words(lines));
    found.extend(in_text(document));
    found
}

/// Returns the banned literals in a text.
pub fn in_text(text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for rule in RULES.iter().filter(|rule| rule.place == Scope::Text) {
        if !text.contains(rule.banned) {
            continue;
        }
        let lines = text.lines().enumerate().filter(|(_, line)| line.contains(rule.banned));
        found.extend(lines.map(|(at, _)| Finding {
            line: at + 1,
            found: rule.banned.to_owned(),
            better: rule.better,
        }));
    }
    found
}

fn in_names(code: &str) -> Vec<Finding> {
    let rules: Vec<&Rule> =
        RULES.iter().filter(|rule| [Scope::Names, Scope::Both].contains(&rule.place)).collect();
    let mut found = Vec::new();
    for (at, line) in code.lines().enumerate() {
        for name in line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty()) {
            let words = words_of(name);
            let is_banned = |rule: &&&Rule| match rule.banned.starts_with(char::is_uppercase) {
                true => words.contains(&rule.banned),
                false => words.iter().any(|word| word.eq_ignore_ascii_case(rule.banned)),
            };
            if let Some(rule) = rules.iter().find(is_banned) {
                found.push(Finding { line: at + 1, found: name.to_owned(), better: rule.better });
            }
        }
    }
    found
}

/// The words of a name in snake case, camel case or capitals.
fn words_of(name: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for part in name.split('_') {
        let (mut start, mut before) = (0, None);
        for (at, c) in part.char_indices() {
            if c.is_uppercase() && before.is_some_and(char::is_lowercase) {
                words.push(&part[start..at]);
                start = at;
            }
            before = Some(c);
        }
        words.push(&part[start..]);
    }
    words
}

/// A word of prose in lower case, with its line; empty at the end of a sentence.
struct Word {
    line: usize,
    text: String,
}

/// Returns the banned phrases in words of prose.
fn in_prose(words: &[Word]) -> Vec<Finding> {
    let mut found = negations(words);
    for rule in RULES.iter().filter(|rule| [Scope::Prose, Scope::Both].contains(&rule.place)) {
        let phrase: Vec<&str> = rule.banned.split(' ').collect();
        for (at, word) in words.iter().enumerate() {
            if word.text == phrase[0] && starts_with_phrase(&words[at..], &phrase) {
                found.push(Finding { line: word.line, found: rule.banned.to_owned(), better: rule.better });
            }
        }
    }
    found
}

/// Returns the places where a thing "is no" other one. "There is no", "is no longer" and other comparisons are allowed.
fn negations(words: &[Word]) -> Vec<Finding> {
    let is_negation = |index: &usize| {
        let text = |index: usize| words.get(index).map_or("", |word| word.text.as_str());
        ["is", "are", "was", "were"].contains(&text(*index))
            && text(index + 1) == "no"
            && !text(index + 2).is_empty()
            && !COMPARATIVES.contains(&text(index + 2))
            && !words[index.saturating_sub(2)..*index].iter().any(|word| word.text == "there")
    };
    let found = (0..words.len()).filter(is_negation);
    found
        .map(|index| Finding {
            line: words[index].line,
            found: format!("{} no {}", words[index].text, words[index + 2].text),
            better: "`not`, with an article before a singular",
        })
        .collect()
}

/// The words outside of fenced code, code spans and link targets. Blank lines separate paragraphs.
fn prose_words<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<Word> {
    let mut words = vec![Word { line: 0, text: String::new() }];
    let (mut is_fenced, mut is_code) = (false, false);
    for (line, text) in lines {
        let end = || Word { line, text: String::new() };
        if text.starts_with("```") {
            is_fenced = !is_fenced;
            words.push(end());
            continue;
        }
        if is_fenced || text.is_empty() {
            is_code = false;
            words.push(end());
            continue;
        }
        let (mut is_target, mut before, mut word) = (false, ' ', String::new());
        for c in text.chars().chain([' ']) {
            match c {
                '`' => is_code = !is_code,
                '(' if before == ']' => is_target = true,
                ')' => is_target = false,
                _ => {}
            }
            before = c;
            if c.is_alphanumeric() && !is_code && !is_target {
                word.extend(c.to_lowercase());
                continue;
            }
            if !word.is_empty() {
                words.push(Word { line, text: std::mem::take(&mut word) });
            }
            if ['.', '!', '?', ';', '|'].contains(&c) && !is_code && !is_target {
                words.push(end());
            }
        }
    }
    words
}

/// Returns true if these words begin with the phrase.
fn starts_with_phrase(words: &[Word], phrase: &[&str]) -> bool {
    match phrase {
        [] => true,
        ["..", after @ ..] => {
            let sentence = words.iter().take_while(|word| !word.text.is_empty()).count();
            (0..sentence).any(|skipped| starts_with_phrase(&words[skipped..], after))
        }
        [first, after @ ..] => {
            words.first().is_some_and(|word| word.text == *first) && starts_with_phrase(&words[1..], after)
        }
    }
}

/// Kinds of tokens of Rust source.
#[derive(PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    String,
}

/// Parts of Rust source, each with the line breaks of the whole.
#[derive(Default)]
struct SourceParts {
    code: String,
    comments: String,
    strings: String,
}

fn separate(source: &str) -> SourceParts {
    let mut parts = SourceParts::default();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let (length, kind) = next_token(rest, first);
        let (text, after) = rest.split_at(length);
        let blank: String = text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        let of = |other: Kind| if kind == other { text } else { &blank };
        parts.code.push_str(of(Kind::Code));
        parts.comments.push_str(of(Kind::Comment));
        parts.strings.push_str(of(Kind::String));
        rest = after;
    }
    parts
}

/// Returns the length and the kind of the token at the start of `rest`, and `first` is its first character.
fn next_token(rest: &str, first: char) -> (usize, Kind) {
    let until = |end: &str, from: usize| {
        rest.get(from..).and_then(|text| text.find(end)).map_or(rest.len(), |at| from + at + end.len())
    };
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), Kind::Comment);
    }
    if rest.starts_with("/*") {
        return (until("*/", 2), Kind::Comment);
    }
    if first.is_alphabetic() || first == '_' {
        let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let hashes = rest[length..].chars().take_while(|c| *c == '#').count();
        let is_raw = ["r", "br", "cr"].contains(&&rest[..length]);
        return match is_raw && rest[length + hashes..].starts_with('"') {
            true => (until(&format!("\"{}", "#".repeat(hashes)), length + hashes + 1), Kind::String),
            false => (length, Kind::Code),
        };
    }
    let mut chars = rest.chars().skip(1);
    match (first, chars.next(), chars.next()) {
        ('"', ..) => {
            let mut is_escaped = false;
            let end = rest.char_indices().skip(1).find(|(_, c)| {
                let is_end = *c == '"' && !is_escaped;
                is_escaped = *c == '\\' && !is_escaped;
                is_end
            });
            (end.map_or(rest.len(), |(at, _)| at + 1), Kind::String)
        }
        ('\'', Some('\\'), _) => (until("'", 3), Kind::String),
        // Otherwise it is a lifetime.
        ('\'', Some(c), Some('\'')) => (c.len_utf8() + 2, Kind::String),
        _ => (first.len_utf8(), Kind::Code),
    }
}

/// Each rule finds an example of its word, and names the better one.
#[test]
fn each_rule_finds_its_word() {
    for rule in RULES {
        let phrase = rule.banned.replace("..", "the packets of a link");
        let name = format!("let last_{}_at = 1;\n", rule.banned);
        let is_found = |found: &[Finding]| found.iter().any(|one| one.line == 1 && one.better == rule.better);
        let names = matches!(rule.place, Scope::Names | Scope::Both);
        assert!(!names || is_found(&in_rust(&name)), "{rule:?}");
        let prose = matches!(rule.place, Scope::Prose | Scope::Both);
        for source in [format!("/// The sender {phrase}.\n"), format!("// {phrase}\n")] {
            assert!(!prose || is_found(&in_rust(&source)), "{rule:?}");
        }
        assert!(!prose || is_found(&in_document(&format!("The sender {phrase}.\n"))), "{rule:?}");
        let text = rule.place == Scope::Text;
        assert!(!text || is_found(&in_document(&format!("Give `{phrase}reps 3`.\n"))), "{rule:?}");
    }
}

/// "Is no" is found in comments, strings and documents, unless it follows "there" or compares.
#[test]
fn negations_of_nouns_are_found() {
    let lines = |found: Vec<Finding>| found.iter().map(|one| one.line).collect::<Vec<_>>();
    for (rust, line) in [
        ("/// A loss is no delay.\n", 1),
        ("// These\n// are no losses.\n", 2),
        ("let text = format!(\n    \"`{name}` is no \\\n     scheme\"\n);\n", 2),
        ("let text = \"is no name of a scheme\";\n", 1),
    ] {
        assert_eq!(lines(in_rust(rust)), [line], "{rust}");
    }
    assert_eq!(lines(in_document("Late\nanswers were no reordering.\n")), [2]);
    for document in [
        "There is no node; there are no links, and there [is / is no] loss.\n",
        "It is no longer valid, is no lower than before, and what it is: no. It is\n\nno loss, `is no name`.\n",
    ] {
        assert!(in_document(document).is_empty(), "{document}: {:?}", in_document(document));
        assert!(in_rust(&format!("let text = {document:?};\n")).is_empty(), "{document}");
    }
}

/// Camel case, capitals and phrases over two lines are found; strings, quoted code, link targets and parts of words are not.
#[test]
fn words_are_found_where_they_belong() {
    let lines = |found: Vec<Finding>| found.iter().map(|one| one.line).collect::<Vec<_>>();
    assert_eq!(
        lines(in_rust("struct A;\nstruct LastGuest;\nconst TOLD: u8 = b'\\'';\nfn desk() {}\n")),
        [2, 3, 4]
    );
    assert_eq!(lines(in_rust("//! A link.\n//! Returns the\n//! time at which it ends.\n")), [2]);
    assert_eq!(lines(in_document("# Queues\n\nIt drops,\nso that the one\nwhich waits is sent.\n")), [4]);
    for source in [
        "let text = \"it was told\n    of a guest\";\nlet raw = r#\"a \"guest\" told\"#;\nlet quote = '\"'; // Quoted.\n",
        "/// `told`, and [a link](told.md).\n///\n/// ```\n/// // It was told.\n/// ```\nfn f<'a>(x: &'a str) {}\n",
        "fn bellman(deskew: u8, foretold: u8) {} // Bellman's bellows, foretold.\n",
        "/// It waits, so that others go first. Those which go are sent.\nfn at_most_one() -> AtMost {}\n",
    ] {
        let found = in_rust(source);
        assert!(found.is_empty(), "{source}: {found:?}");
    }
    for document in ["`guest`, `a\nguest`\n", "```console\n$ it was told\n```\n", "[words](guest/told.md)\n"]
    {
        let found = in_document(document);
        assert!(found.is_empty(), "{document}: {found:?}");
    }
}
