//! Writes to standard output and standard error, with untrusted text escaped.

use crate::message_records::{Message, MessageKind, Vocabulary, split_message};
use crate::wall_clock;
use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_catalog::{Registry, TextError};
use thalweg_net::flow::SchemeError;
use thalweg_net::keyring::KeyringError;
use thalweg_net::transfer::first_unsafe;
use thalweg_report::output::{COLUMNS, FolderError, PngError, Style};
use thalweg_report::results::Document;
use thalweg_scenario::{Diagnostic, Severity};

/// The outputs for results and messages, and the registry of this process's commands.
#[derive(Debug)]
pub struct Console {
    /// The schemes, disciplines and other named values that scenarios can use.
    pub registry: Arc<Registry>,
    /// Text style of standard output.
    pub style: Style,
    /// Name of the program, for commands in messages: `thalweg`, or that of a program with additions.
    pub program: Arc<str>,
    quiet: bool,
    /// True if messages begin with the time.
    has_times: bool,
    /// Buffer of a calling program for results and messages; `None` writes to the outputs of the process.
    buffer: Option<Arc<OutputBuffer>>,
}

/// The outputs of a command that another program called.
#[derive(Debug, Default)]
pub struct OutputBuffer {
    /// The results.
    pub results: Mutex<Vec<u8>>,
    /// The messages.
    pub messages: Mutex<Vec<Message>>,
    /// The calling program.
    pub caller: Arc<Caller>,
    /// The words that messages of the call may have.
    pub vocabulary: Vocabulary,
}

/// A program that calls a command: its cancellation flag, and the progress shown to it.
#[derive(Debug, Default)]
pub struct Caller {
    /// Set to cancel the command.
    pub stop: Arc<AtomicBool>,
    progress: Mutex<Option<CommandProgress>>,
}

/// The progress of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandProgress {
    /// Completed share, from 0 to 1; `None` if unknown.
    pub share: Option<f64>,
    /// The progress as text.
    pub text: String,
}

impl Caller {
    /// Returns the current progress; `None` if nothing is counted.
    pub fn progress(&self) -> Option<CommandProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Result of a command.
pub type CommandResult = Result<(), Error>;

/// Failure of a command.
#[derive(Debug)]
pub enum Error {
    /// Invalid call.
    Usage(String),
    /// Call with the name of something that does not exist, such as a scheme.
    UnknownName(String),
    /// Invalid argument, which the parser of the command line cannot check.
    Argument(ArgumentError),
    /// Invalid scenario.
    Scenario(Vec<Diagnostic>),
    /// Failed run or check.
    Failed(String),
    /// Unreachable or lost peer: repeating the call resumes.
    Lost(String),
    /// Failed write to standard output.
    Output(io::Error),
    /// Several failures, at least one.
    Several(Vec<Error>),
}

/// Failure because of one argument.
#[derive(Debug)]
pub struct ArgumentError {
    /// Name of the option, without hyphens in front.
    pub option: &'static str,
    /// Value, unless the text names it.
    pub value: Option<String>,
    /// Reason.
    pub why: String,
    /// Advice that concerns the command line alone.
    pub advice: Option<&'static str>,
    /// True if the value is the name of something that does not exist.
    pub is_unknown_name: bool,
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "--{} cannot be `{value}`: {}", self.option, self.why)?,
            None => write!(f, "--{}: {}", self.option, self.why)?,
        }
        self.advice.map_or(Ok(()), |advice| write!(f, "; {advice}"))
    }
}

impl From<KeyringError> for Error {
    fn from(error: KeyringError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<FolderError> for Error {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Io(..) => Self::Failed(error.to_string()),
            _ => Self::Usage(error.to_string()),
        }
    }
}

impl From<PngError> for Error {
    fn from(error: PngError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl Console {
    /// Creates the console of this process, which was called as `program`; with `quiet` it shows only results and errors.
    pub fn new(program: &str, quiet: bool, registry: Arc<Registry>) -> Self {
        let terminal = io::stdout().is_terminal();
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        let locale = locale.map(|name| name.to_string_lossy().to_uppercase()).unwrap_or_default();
        let is_utf8 = locale.contains("UTF-8") || locale.contains("UTF8");
        let dumb = set("TERM").is_none_or(|name| name == "dumb");
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
        let table_columns = size.filter(|columns| *columns > 0).map_or(COLUMNS, |columns| columns.max(40));
        // Longer lines of text are hard to read.
        let columns = table_columns.min(COLUMNS);
        let colour = terminal && !dumb && set("NO_COLOR").is_none();
        // Files and pipes keep the letters of names in any locale, which may be unset where no user is.
        let (unicode, ascii_names) = (terminal && is_utf8, terminal && !is_utf8);
        let style = Style { unicode, ascii_names, colour, columns, table_columns };
        Self { registry, style, program: program.into(), quiet, has_times: false, buffer: None }
    }

    /// Creates the console of a command that another program called: plain text, buffered in `kept`.
    pub fn keeping(quiet: bool, registry: Arc<Registry>, kept: Arc<OutputBuffer>) -> Self {
        let (style, program) = (Style::PLAIN, "thalweg".into());
        Self { registry, style, program, quiet, has_times: false, buffer: Some(kept) }
    }

    /// Returns the calling program's cancellation flag.
    pub fn stop(&self) -> Option<Arc<AtomicBool>> {
        self.buffer.as_ref().map(|kept| Arc::clone(&kept.caller.stop))
    }

    /// Returns true if another program called the command; then only that program shows progress.
    pub fn is_called(&self) -> bool {
        self.buffer.is_some()
    }

    /// Reports the progress to a calling program; `None` when the command is over.
    pub fn show(&self, seen: Option<CommandProgress>) {
        if let Some(kept) = &self.buffer {
            *kept.caller.progress.lock().unwrap_or_else(PoisonError::into_inner) = seen;
        }
    }

    /// Returns a console for a long-running command: messages begin with the time.
    #[must_use]
    pub fn with_times(&self) -> Self {
        Self {
            registry: Arc::clone(&self.registry),
            style: self.style,
            program: Arc::clone(&self.program),
            quiet: self.quiet,
            has_times: true,
            buffer: self.buffer.clone(),
        }
    }

    /// Reports a message with this prefix on the command line.
    fn put(&self, severity: Severity, prefix: &str, text: &str) {
        match &self.buffer {
            Some(kept) => {
                self.keep([Message::of_text(
                    severity,
                    &escape_terminal_control(text, self.style),
                    &kept.vocabulary,
                )]);
            }
            None if self.has_times => {
                self.write_line(&format!("{} {prefix}{text}", wall_clock::now_rfc3339()));
            }
            None => self.write_line(&format!("{prefix}{text}")),
        }
    }

    /// Keeps messages for the calling program, if there is one.
    fn keep(&self, messages: impl IntoIterator<Item = Message>) {
        if let Some(kept) = &self.buffer {
            kept.messages.lock().unwrap_or_else(PoisonError::into_inner).extend(messages);
        }
    }

    /// Writes a line to standard error. There is no other channel to report a failure on.
    fn write_line(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{}", escape_terminal_control(text, self.style));
    }

    /// Returns true if messages and progress are suppressed.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Prints a result.
    pub fn print(&self, text: &str) -> Result<(), Error> {
        let text = escape_terminal_control(text, self.style);
        self.write(|out| out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }

    fn write(&self, write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> Result<(), Error> {
        let written = match &self.buffer {
            Some(kept) => write(&mut *kept.results.lock().unwrap_or_else(PoisonError::into_inner)),
            None => write(&mut io::stdout().lock()),
        };
        written.map_err(Error::Output)
    }

    /// Prints results as JSON.
    pub fn print_document(&self, document: &Document) -> Result<(), Error> {
        self.write(|out| {
            document.write_json(EscapingWriter { out, style: self.style, incomplete_utf8: Vec::new() })
        })
    }

    /// Prints a message that is not a result.
    pub fn inform(&self, text: &str) {
        if !self.quiet {
            self.put(Severity::Note, "", text);
        }
    }

    /// Reports a problem that does not end the command.
    pub fn report_problem(&self, text: &str) {
        self.put(Severity::Error, "error: ", text);
    }

    /// Prints an important message that is not an error, even in quiet mode.
    pub fn note(&self, text: &str) {
        self.put(Severity::Note, "note: ", text);
    }

    /// Prints a warning of runs. A calling program gets it in quiet mode too.
    pub fn warn_of_runs(&self, text: &str) {
        if !self.quiet || self.buffer.is_some() {
            self.put(Severity::Warning, "warning: ", text);
        }
    }

    /// Prints the warnings of a valid scenario.
    pub fn warn(&self, warnings: &[Diagnostic]) {
        for warning in warnings.iter().filter(|_| !self.quiet) {
            match &self.buffer {
                Some(_) => self.keep([Message::of_diagnostic(warning)]),
                None => self.put(warning.severity, "", warning.render().trim_end()),
            }
        }
    }

    /// Prints the failure of a command; returns the exit code.
    pub fn report(&self, error: &Error) -> u8 {
        match (error, &self.buffer) {
            // The reader has closed the pipe, as in `thalweg run | head`.
            (Error::Output(error), _) if error.kind() == io::ErrorKind::BrokenPipe => return 0,
            (_, Some(kept)) => self.keep(error.messages(&kept.vocabulary)),
            (Error::Scenario(_), None) => self.write_line(&error.to_string()),
            (Error::Several(all), None) => {
                for error in all {
                    self.report(error);
                }
            }
            (_, None) => self.write_line(&format!("error: {error}")),
        }
        error.exit_code()
    }
}

/// Prints a question on standard error; the answer is typed on the same line.
pub fn print_prompt(question: &str) {
    let mut out = io::stderr().lock();
    // Without a terminal there is no user to answer.
    let _ =
        out.write_all(escape_terminal_control(question, Style::PLAIN).as_bytes()).and_then(|()| out.flush());
}

/// Escapes `text` for one line of a terminal: as [`escape_terminal_control`] does, with a blank in place of each line end and tab.
pub fn one_line(text: &str) -> String {
    escape_terminal_control(text, Style::PLAIN).replace(['\n', '\t'], " ")
}

/// Escapes terminal control in `text` from files or peers: control and format characters become JSON escapes
/// (`\u001b`), which keeps JSON documents equivalent. Line ends, tabs and the codes of `style` remain.
pub fn escape_terminal_control(text: &str, style: Style) -> Cow<'_, str> {
    if first_unsafe(text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = first_unsafe(rest) {
        let (before, from) = rest.split_at(at);
        shown.push_str(before);
        if let Some(code) = style.codes().iter().find(|code| from.starts_with(**code)) {
            shown.push_str(code);
            rest = &from[code.len()..];
            continue;
        }
        let mut characters = from.chars();
        let mut units = [0; 2];
        for unit in characters.next().unwrap_or_default().encode_utf16(&mut units) {
            shown.push_str(&format!("\\u{unit:04x}"));
        }
        rest = characters.as_str();
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// A writer that escapes its text with [`escape_terminal_control`].
struct EscapingWriter<W> {
    out: W,
    style: Style,
    /// Incomplete UTF-8 sequence from the last write.
    incomplete_utf8: Vec<u8>,
}

impl<W: io::Write> EscapingWriter<W> {
    /// Writes the complete characters of `bytes` and returns their length.
    fn put(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let complete = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            // Only an incomplete character may be left.
            Err(error) if error.error_len().is_none() => {
                std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        };
        self.out.write_all(escape_terminal_control(complete, self.style).as_bytes())?;
        Ok(complete.len())
    }
}

impl<W: io::Write> io::Write for EscapingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Without an incomplete character in front, the bytes need not be copied.
        if self.incomplete_utf8.is_empty() {
            let length = self.put(bytes)?;
            self.incomplete_utf8.extend_from_slice(&bytes[length..]);
        } else {
            let mut joined = std::mem::take(&mut self.incomplete_utf8);
            joined.extend_from_slice(bytes);
            let length = self.put(&joined)?;
            joined.drain(..length);
            self.incomplete_utf8 = joined;
        }
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Error {
    /// Fails with these errors, if there are any.
    pub fn of_all(mut errors: Vec<Self>) -> CommandResult {
        match errors.len() {
            0 => Ok(()),
            1 => errors.pop().map_or(Ok(()), Err),
            _ => Err(Self::Several(errors)),
        }
    }

    /// Creates the error of an option whose name is given without hyphens in front.
    pub fn argument(option: &'static str, why: impl Into<String>) -> Self {
        let why = why.into();
        Self::Argument(ArgumentError { option, value: None, why, advice: None, is_unknown_name: false })
    }

    /// Creates the error of an option with the name of something that does not exist.
    pub fn unknown_argument(option: &'static str, why: String) -> Self {
        Self::Argument(ArgumentError { option, value: None, why, advice: None, is_unknown_name: true })
    }

    /// Creates the error of a scheme that cannot be read.
    pub fn of_scheme(error: &SchemeError) -> Self {
        if is_unknown_scheme(error) {
            Self::UnknownName(error.to_string())
        } else {
            Self::Usage(error.to_string())
        }
    }

    /// Returns the error of a call with what it is about in front.
    #[must_use]
    pub fn within(self, subject: &str) -> Self {
        match self {
            Self::Usage(text) => Self::Usage(format!("{subject}: {text}")),
            Self::UnknownName(text) => Self::UnknownName(format!("{subject}: {text}")),
            Self::Several(all) => Self::Several(all.into_iter().map(|error| error.within(subject)).collect()),
            error => error,
        }
    }

    /// Creates the error of a scheme from the diagnostics of a scenario with it: the first error.
    pub fn of_scheme_diagnostics(found: &[Diagnostic]) -> Self {
        let Some(first) = found.iter().find(|one| one.severity == Severity::Error) else {
            return Self::Usage(String::new());
        };
        let text = diagnostic_explanation(first);
        if first.is_unknown_name { Self::UnknownName(text) } else { Self::Usage(text) }
    }

    /// Returns the failure as messages.
    pub fn messages(&self, vocabulary: &Vocabulary) -> Vec<Message> {
        let of_text = |text: &str| {
            Message::of_text(Severity::Error, &escape_terminal_control(text, Style::PLAIN), vocabulary)
        };
        match self {
            Self::Scenario(diagnostics) => diagnostics.iter().map(Message::of_diagnostic).collect(),
            Self::Argument(ArgumentError { option, value, why, is_unknown_name, .. }) => {
                let kind = if value.is_some() { MessageKind::Value } else { MessageKind::Argument };
                let text = split_message(&escape_terminal_control(why, Style::PLAIN), vocabulary);
                let message = Message::new(Severity::Error, kind, text);
                let (argument, value) = (Some((*option).to_owned()), value.clone());
                vec![Message { argument, value, is_unknown_name: *is_unknown_name, ..message }]
            }
            Self::Several(all) => all.iter().flat_map(|error| error.messages(vocabulary)).collect(),
            Self::UnknownName(text) => vec![Message { is_unknown_name: true, ..of_text(text) }],
            _ => vec![of_text(&self.to_string())],
        }
    }

    /// Returns the command's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::UnknownName(_) | Self::Argument(_) | Self::Scenario(_) => 2,
            Self::Failed(_) | Self::Output(_) => 1,
            Self::Lost(_) => 3,
            Self::Several(all) => all.iter().map(Self::exit_code).max().unwrap_or(1),
        }
    }
}

/// Returns true if a scheme or one of its options does not exist.
pub const fn is_unknown_scheme(error: &SchemeError) -> bool {
    matches!(error, SchemeError::Text(TextError::Unknown { .. } | TextError::Option { .. }))
}

/// Returns a diagnostic without its position: the message, the label and the help.
pub fn diagnostic_explanation(of: &Diagnostic) -> String {
    let parts = [Some(&of.message), of.label.as_ref(), of.help.as_ref()];
    parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("; ")
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message)
            | Self::UnknownName(message)
            | Self::Failed(message)
            | Self::Lost(message) => f.write_str(message),
            Self::Argument(error) => write!(f, "{error}"),
            Self::Scenario(diagnostics) => {
                let rendered: Vec<_> = diagnostics.iter().map(Diagnostic::render).collect();
                let rendered: Vec<_> = rendered.iter().map(|text| text.trim_end()).collect();
                f.write_str(&rendered.join("\n"))
            }
            Self::Output(error) => write!(f, "cannot write results: {error}"),
            Self::Several(all) => {
                f.write_str(&all.iter().map(Self::to_string).collect::<Vec<_>>().join("\n"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_net::transfer::is_unsafe;

    const COLOURS: Style = Style { colour: true, ..Style::PLAIN };

    #[test]
    fn nothing_drives_a_terminal() {
        let attack = "a\x1b]0;title\x07b\r\u{9b}2J\u{202e}\u{e0041}\n\tc\x7f";
        let shown = escape_terminal_control(attack, COLOURS);
        assert_eq!(shown, "a\\u001b]0;title\\u0007b\\u000d\\u009b2J\\u202e\\udb40\\udc41\n\tc\\u007f");
        assert_eq!(escape_terminal_control("Ängström, 東京 – ±1\n", Style::PLAIN), "Ängström, 東京 – ±1\n");
    }

    #[test]
    fn headings_are_bold_where_the_style_is() {
        let heading = format!("{}\n", COLOURS.bold("Flows"));
        assert_eq!(escape_terminal_control(&heading, COLOURS), heading);
        assert!(!escape_terminal_control(&heading, Style::PLAIN).contains('\x1b'));
        // Other codes are not the program's own.
        assert!(!escape_terminal_control("\x1b[31mred", COLOURS).contains('\x1b'));
    }

    /// An escaped document parses to the same value, with any division into writes.
    #[test]
    fn documents_stay_what_they_are() {
        let value = serde_json::json!({ "name": "a\u{9b}\u{202e}\u{e0041}µ\u{1b}\u{7f}" });
        let text = value.to_string();
        let mut out = Vec::new();
        let mut to = EscapingWriter { out: &mut out, style: Style::PLAIN, incomplete_utf8: Vec::new() };
        for byte in text.bytes() {
            to.write_all(&[byte]).unwrap();
        }
        assert!(!String::from_utf8(out.clone()).unwrap().contains(is_unsafe));
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&out).unwrap(), value);
    }
}
