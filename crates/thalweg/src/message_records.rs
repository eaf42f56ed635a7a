//! Messages of a command as records, for programs that call it and show them in words of their own.
//!
//! The command line shows an option as `--max-reps`, Python the argument `max_reps`. Errors of the command line's
//! [parser](super::parser_error) and of arguments are records by origin. Other messages are texts that name options and
//! lists; [`split_message`] is the only place where such a text is taken apart. Its rules:
//!
//! - In messages of this project, values and whole commands are between backticks, and options are not. Nothing between
//!   backticks is a name, except `` `thalweg list KIND` ``. A value of the call may itself contain backticks; it is
//!   recognised as a whole.
//! - Elsewhere a word is an option if some command has it. A value of the call that is followed by a colon is not an option:
//!   messages of the operating system begin with such a path.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::OnceLock;
use thalweg_scenario::{Diagnostic, RenderedDiagnostic, Severity};

/// Part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Plain text.
    Text(String),
    /// Name of an option, without hyphens in front.
    Option(String),
    /// Name of a list of the command `list`, such as `schemes`.
    List(String),
}

/// The subject of a message, which decides the fields that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// `argument` has a `value`, and the text says why it is refused. Where a list of values is allowed, the text is empty.
    Value,
    /// `argument` is wrong for the reason of the text.
    Argument,
    /// There is no option of the name `argument`; the text is a hint, or empty.
    UnknownOption,
    /// There is no command of the name `argument`, or no place for an argument of this value; the text is a hint, or empty.
    UnknownName,
    /// `argument` is given twice.
    Repeated,
    /// The text has a position in a scenario.
    Scenario,
    /// The text is all.
    Other,
}

/// A message of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Severity: note, warning or error.
    pub severity: Severity,
    /// Subject.
    pub kind: MessageKind,
    /// Name of the option, without hyphens in front, or of another argument in lower case.
    pub argument: Option<String>,
    /// Refused value.
    pub value: Option<String>,
    /// Allowed values, if these are few.
    pub allowed: Vec<String>,
    /// Similar names or values.
    pub suggestions: Vec<String>,
    /// Text, without the argument.
    pub text: Vec<Part>,
    /// True if there is nothing of a name that was given, such as a scheme or a key of scenarios.
    pub is_unknown_name: bool,
}

impl Message {
    /// Creates a message about nothing in particular.
    pub fn new(severity: Severity, kind: MessageKind, text: Vec<Part>) -> Self {
        Self {
            severity,
            kind,
            argument: None,
            value: None,
            allowed: Vec::new(),
            suggestions: Vec::new(),
            text,
            is_unknown_name: kind == MessageKind::UnknownName,
        }
    }

    /// Creates a message that is only a text.
    pub fn of_text(severity: Severity, text: &str, vocabulary: &Vocabulary) -> Self {
        Self::new(severity, MessageKind::Other, split_message(text, vocabulary))
    }

    /// Returns the message of a diagnostic. Of its text only the position of an override is a name.
    pub fn of_diagnostic(diagnostic: &Diagnostic) -> Self {
        let RenderedDiagnostic { head, source, tail } = diagnostic.rendered();
        let tail = tail.trim_end();
        let option = source.strip_prefix("--").filter(|_| diagnostic.source.is_argument());
        let parts = match option {
            Some(option) => {
                let (name, number) = option.split_at(option.find(' ').unwrap_or(option.len()));
                let rest = Part::Text(format!("{number}{tail}"));
                vec![Part::Text(head), Part::Option(name.to_owned()), rest]
            }
            None => vec![Part::Text(format!("{head}{source}{tail}"))],
        };
        let message = Self::new(diagnostic.severity, MessageKind::Scenario, parts);
        Self { is_unknown_name: diagnostic.is_unknown_name, ..message }
    }
}

/// The message as the command line words it, without the allowed values.
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = [self.argument.as_ref().map(|name| format!("--{name}")), self.value.clone()];
        for part in head.into_iter().flatten() {
            write!(f, "{part}: ")?;
        }
        self.text.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Option(name) => write!(f, "--{name}"),
            Part::List(kind) => write!(f, "`thalweg list {kind}`"),
        })
    }
}

/// The words that texts of a call may have. Most calls have no message, and need them not.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// Returns the names of the options of all commands, without hyphens in front.
    options: fn() -> &'static BTreeSet<String>,
    words: Vec<String>,
    values: OnceLock<Vec<String>>,
}

impl Vocabulary {
    /// Creates the vocabulary of a call with these words.
    pub const fn new(options: fn() -> &'static BTreeSet<String>, words: Vec<String>) -> Self {
        Self { options, words, values: OnceLock::new() }
    }

    /// Returns the values that may be among the words: each word, what follows its equals sign, and the items of a list.
    fn values(&self) -> &[String] {
        self.values.get_or_init(|| {
            let pieces = self.words.iter().flat_map(|word| {
                let value = word.split_once('=').map(|(_, value)| value);
                let items = value.unwrap_or(word).split(',');
                std::iter::once(word.as_str()).chain(value).chain(items).map(str::to_owned)
            });
            pieces.filter(|piece| !piece.is_empty()).collect()
        })
    }
}

impl Default for Vocabulary {
    fn default() -> Self {
        static NONE: BTreeSet<String> = BTreeSet::new();
        Self::new(|| &NONE, Vec::new())
    }
}

/// Takes a text of this project apart, by the rules of this module.
pub fn split_message(text: &str, vocabulary: &Vocabulary) -> Vec<Part> {
    let (mut parts, mut plain, mut at) = (Vec::new(), String::new(), 0);
    while let Some(next) = text[at..].chars().next() {
        let (length, name) = if next == '`' {
            let (length, kind) = leading_quotation(&text[at..], vocabulary.values());
            (length, kind.map(Part::List))
        } else {
            let starts =
                !text[..at].ends_with(|before: char| before.is_alphanumeric() || "-/._".contains(before));
            match leading_option(&text[at..], vocabulary).filter(|_| starts) {
                Some(name) => (name.len() + 2, Some(Part::Option(name.to_owned()))),
                None => (next.len_utf8(), None),
            }
        };
        if let Some(name) = name {
            parts.extend((!plain.is_empty()).then(|| Part::Text(std::mem::take(&mut plain))));
            parts.push(name);
        } else {
            plain.push_str(&text[at..at + length]);
        }
        at += length;
    }
    parts.extend((!plain.is_empty()).then_some(Part::Text(plain)));
    parts
}

/// Returns the length of the quotation at the beginning of `text`, and the list if it is a command that shows one.
fn leading_quotation(text: &str, values: &[String]) -> (usize, Option<String>) {
    let inside = &text[1..];
    let is_quoted =
        |value: &&String| inside.strip_prefix(value.as_str()).is_some_and(|rest| rest.starts_with('`'));
    if let Some(length) = values.iter().filter(is_quoted).map(String::len).max() {
        return (length + 2, None);
    }
    let Some(length) = inside.find('`') else { return (text.len(), None) };
    let kind = inside[..length].strip_prefix("thalweg list ");
    (length + 2, kind.map(str::to_owned))
}

/// Returns the name of the option at the beginning of `text`.
fn leading_option<'a>(text: &'a str, vocabulary: &Vocabulary) -> Option<&'a str> {
    let name = text.strip_prefix("--")?;
    let length = name.find(|of: char| !of.is_ascii_lowercase() && !of.is_ascii_digit() && of != '-');
    let (name, rest) = name.split_at(length.unwrap_or(name.len()));
    let is_given = || vocabulary.values().iter().any(|value| value.strip_prefix("--") == Some(name));
    let is_value = rest.starts_with(':') && is_given();
    // What goes on with a letter or a slash is a path.
    let ends = rest.is_empty()
        || rest.starts_with(|of: char| of.is_whitespace() || ",;:)=".contains(of))
        || rest == ".";
    (ends && !is_value && (vocabulary.options)().contains(name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::LazyLock;

    fn vocabulary(values: &[&str]) -> Vocabulary {
        static OPTIONS: LazyLock<BTreeSet<String>> =
            LazyLock::new(|| ["out", "pair", "reps"].map(str::to_owned).into());
        Vocabulary::new(|| &OPTIONS, values.iter().map(|value| (*value).to_owned()).collect())
    }

    fn text(of: &str) -> Part {
        Part::Text(of.to_owned())
    }

    #[test]
    fn options_and_lists_are_apart_from_text() {
        let parts = |text: &str| split_message(text, &vocabulary(&[]));
        assert_eq!(
            parts("`a` holds something else; choose a new folder with --out"),
            [text("`a` holds something else; choose a new folder with "), Part::Option("out".to_owned())]
        );
        assert_eq!(
            parts("no `x`; `thalweg list scenarios` shows them"),
            [text("no `x`; "), Part::List("scenarios".to_owned()), text(" shows them")]
        );
        for plain in [
            "`--out` is a folder",
            "`thalweg send --pair FILES... HOST` asks for it",
            "folder/--out: no",
            "--out/a.csv: no",
            "--out.csv: no",
            "a--out",
            "--nothing-like-it",
            "an open ` before --out",
        ] {
            assert_eq!(parts(plain), [text(plain)], "{plain}");
        }
    }

    #[test]
    fn values_of_the_call_are_no_names() {
        let vocabulary = vocabulary(&["a` --out", "--reps", "--out", "thalweg list schemes"]);
        for plain in [
            "there are no flows `a` --out`",
            "there are no flows `--reps`",
            "--out: is a folder",
            "there is no file `thalweg list schemes`",
        ] {
            assert_eq!(split_message(plain, &vocabulary), [text(plain)], "{plain}");
        }
        let named = split_message("`--out` holds something else; give --out", &vocabulary);
        assert_eq!(named, [text("`--out` holds something else; give "), Part::Option("out".to_owned())]);
    }
}
