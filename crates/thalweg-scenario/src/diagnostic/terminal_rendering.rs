//! Rendering of diagnostics as text for a terminal.

use super::Diagnostic;
use std::fmt::Write as _;

/// Maximum width of a source line; longer ones are truncated around the position.
const MAX_LINE_WIDTH: usize = 100;

/// The text of a diagnostic, in three parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedDiagnostic {
    /// The message and the arrow to the source.
    pub head: String,
    /// The name of the source.
    pub source: String,
    /// The line and column if the source is a file, the line itself, and the help.
    pub tail: String,
}

impl Diagnostic {
    /// Renders the diagnostic with its position: file, line and column, the line itself, a caret below it, and the
    /// help.
    ///
    /// The text ends with a newline and has no colours. Control characters of the file are escaped.
    pub fn render(&self) -> String {
        let RenderedDiagnostic { head, source, tail } = self.rendered();
        head + &source + &tail
    }

    /// Renders the diagnostic, with the name of the source apart.
    pub fn rendered(&self) -> RenderedDiagnostic {
        let (severity, code, message) = (self.severity.name(), self.code, printable_message(&self.message));
        let place = self.source.position(self.span.start);
        let (line, at) = (self.source.line_text(place.line), place.column - 1);
        let number = if self.source.is_argument() { " ".to_owned() } else { place.line.to_string() };
        let margin = " ".repeat(number.len());
        let head = format!("{severity}[{code}]: {message}\n{margin}--> ");
        let mut out = if self.source.is_argument() {
            "\n".to_owned()
        } else {
            format!(":{}:{}\n", place.line, place.column)
        };
        if !line.trim().is_empty() {
            let chars: Vec<char> = line.chars().collect();
            let length = self.source.text().get(self.span.clone()).unwrap_or("");
            let length = length.lines().next().unwrap_or("").chars().count().max(1);
            let (shown, before, length) = line_excerpt(&chars, at, length);
            let _ = writeln!(out, "{margin} |\n{number} | {}", shown.trim_end());
            let caret = "^".repeat(length);
            let label = self
                .label
                .as_deref()
                .map(|label| format!(" {}", printable_message(label)))
                .unwrap_or_default();
            let _ = writeln!(out, "{margin} | {}{caret}{label}", " ".repeat(before));
        } else if let Some(label) = &self.label {
            let _ = writeln!(out, "{margin} = {}", printable_message(label));
        }
        if let Some(help) = &self.help {
            let _ = writeln!(out, "{margin} = help: {}", printable_message(help));
        }
        RenderedDiagnostic { head, source: printable_message(self.file()), tail: out }
    }
}

/// Returns the part of a line around a position: its text, the columns before the position, and the columns of the
/// position.
fn line_excerpt(chars: &[char], at: usize, length: usize) -> (String, usize, usize) {
    let at = at.min(chars.len());
    let from = if chars.len() <= MAX_LINE_WIDTH { 0 } else { at.saturating_sub(MAX_LINE_WIDTH / 4) };
    let to = chars.len().min(from + MAX_LINE_WIDTH);
    let mut shown = String::new();
    let (mut before, mut width) = (0, 0);
    if from > 0 {
        shown.push_str("...");
        before = 3;
    }
    for (i, &c) in chars.iter().enumerate().take(to).skip(from) {
        let columns = push_printable(&mut shown, c);
        if i < at {
            before += columns;
        } else if i < at + length {
            width += columns;
        }
    }
    if to < chars.len() {
        shown.push_str("...");
    }
    (shown, before, width.max(1))
}

/// Appends one character, sanitised; returns its width in columns (one for any that is not a tab).
fn push_printable(text: &mut String, c: char) -> usize {
    match c {
        '\t' => {
            text.push_str("    ");
            4
        }
        c if c.is_control() => {
            text.push('\u{fffd}');
            1
        }
        c => {
            text.push(c);
            1
        }
    }
}

/// Returns a message without control characters, and of bounded length.
fn printable_message(text: &str) -> String {
    const MAX_MESSAGE_CHARS: usize = 400;
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == MAX_MESSAGE_CHARS {
            out.push_str("...");
            break;
        }
        push_printable(&mut out, c);
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::{Diagnostic, Severity};
    use crate::source_text::Source;
    use std::sync::Arc;

    fn at(text: &str, part: &str) -> Diagnostic {
        let start = text.find(part).unwrap();
        Diagnostic {
            severity: Severity::Error,
            code: "scenario.unit",
            source: Arc::new(Source::new("two-flows.toml", text)),
            span: start..start + part.len(),
            message: "`rate = 100` has no unit".to_owned(),
            label: Some("did you mean \"100 Mbit/s\"?".to_owned()),
            help: None,
            is_unknown_name: false,
        }
    }

    #[test]
    fn the_place_is_underlined() {
        let text = "[[link]]\nrate = 100\n";
        let expected = "\
error[scenario.unit]: `rate = 100` has no unit
 --> two-flows.toml:2:8
  |
2 | rate = 100
  |        ^^^ did you mean \"100 Mbit/s\"?
";
        assert_eq!(at(text, "100").render(), expected);
    }

    #[test]
    fn tabs_wide_lines_and_control_characters_keep_the_caret_in_place() {
        let drawn = at("\trate = 100", "100").render();
        assert!(drawn.contains("1 |     rate = 100\n  |            ^^^ "), "{drawn}");
        let long = format!("{}!{}", "x".repeat(5000), "y".repeat(5000));
        let drawn = at(&long, "!").render();
        assert!(drawn.lines().all(|line| line.len() < 200), "{drawn}");
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines[3].find('!'), lines[4].find('^'), "{drawn}");
        assert!(!at("\u{1b}[31m rate", "rate").render().contains('\u{1b}'));
    }
}
