//! Standard output and standard error.

use crate::wall;
use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_catalog::Registry;
use thalweg_report::output::{COLUMNS, FolderError, PngError, Style};
use thalweg_report::results::Document;
use thalweg_scenario::Diagnostic;

/// The outputs for results and messages, and the registry that the commands of this process know.
#[derive(Debug)]
pub struct Console {
    /// The things that scenarios can use by name.
    pub registry: Arc<Registry>,
    /// The style that the reader of standard output can see.
    pub style: Style,
    quiet: bool,
    /// Messages begin with the time.
    has_times: bool,
    /// The program that called keeps what is printed and said; without, it goes to the outputs of the process.
    kept: Option<Arc<Kept>>,
}

/// The outputs of a command that another program calls.
#[derive(Debug, Default)]
pub struct Kept {
    /// The results.
    pub printed: Mutex<Vec<u8>>,
    /// The messages.
    pub said: Mutex<String>,
    /// The program that calls.
    pub caller: Arc<Caller>,
}

/// A program that calls a command: its wish to end it, and what it sees of it meanwhile.
#[derive(Debug, Default)]
pub struct Caller {
    /// Set to end early.
    pub stop: Arc<AtomicBool>,
    seen: Mutex<Option<Seen>>,
}

/// The progress of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The share that is done, from 0 to 1; none where nobody knows.
    pub share: Option<f64>,
    /// The same in words.
    pub words: String,
}

impl Caller {
    /// The progress of what is under way; none where nothing is counted.
    pub fn seen(&self) -> Option<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The end of a command.
pub type Done = Result<(), Error>;

/// The reason for which a command ends without success.
#[derive(Debug)]
pub enum Error {
    /// The call is wrong.
    Usage(String),
    /// The scenario is wrong.
    Scenario(Vec<Diagnostic>),
    /// The run or the check failed.
    Failed(String),
    /// A peer was not reached or was lost: the same call, made again, goes on.
    Lost(String),
    /// Standard output cannot be written.
    Output(io::Error),
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
    /// The console of this process; `quiet` leaves out all but results and errors.
    pub fn new(quiet: bool, registry: Arc<Registry>) -> Self {
        let terminal = io::stdout().is_terminal();
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        let locale = locale.map(|name| name.to_string_lossy().to_uppercase()).unwrap_or_default();
        let unicode = terminal && (locale.contains("UTF-8") || locale.contains("UTF8"));
        let dumb = set("TERM").is_none_or(|name| name == "dumb");
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
        let columns =
            size.filter(|columns| *columns > 0).map_or(COLUMNS, |columns| columns.clamp(40, COLUMNS));
        let colour = terminal && !dumb && set("NO_COLOR").is_none();
        Self { registry, style: Style { unicode, colour, columns }, quiet, has_times: false, kept: None }
    }

    /// The console of a command that another program calls: plain text, which is kept.
    pub const fn keeping(quiet: bool, registry: Arc<Registry>, kept: Arc<Kept>) -> Self {
        Self { registry, style: Style::PLAIN, quiet, has_times: false, kept: Some(kept) }
    }

    /// The flag by which a program that calls ends the command.
    pub fn stop(&self) -> Option<Arc<AtomicBool>> {
        self.kept.as_ref().map(|kept| Arc::clone(&kept.caller.stop))
    }

    /// Another program called: it shows the progress, or nobody does.
    pub fn is_called(&self) -> bool {
        self.kept.is_some()
    }

    /// Shows a program that called how far the command is; none once that is over.
    pub fn show(&self, seen: Option<Seen>) {
        if let Some(kept) = &self.kept {
            *kept.caller.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
        }
    }

    /// The same, for a command that runs for long: messages begin with the time.
    #[must_use]
    pub fn with_times(&self) -> Self {
        Self {
            registry: Arc::clone(&self.registry),
            style: self.style,
            quiet: self.quiet,
            has_times: true,
            kept: self.kept.clone(),
        }
    }

    fn put(&self, text: &str) {
        if self.has_times { self.tell(&format!("{} {text}", wall::now())) } else { self.tell(text) }
    }

    /// Writes a line to standard error. When that is closed nobody is left to tell.
    fn tell(&self, text: &str) {
        match &self.kept {
            Some(kept) => {
                let mut said = kept.said.lock().unwrap_or_else(PoisonError::into_inner);
                said.push_str(text);
                said.push('\n');
            }
            None => {
                let _ = writeln!(io::stderr().lock(), "{text}");
            }
        }
    }

    /// Messages and progress are not wanted.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Prints a result.
    pub fn print(&self, text: &str) -> Result<(), Error> {
        self.write(|out| out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }

    fn write(&self, write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> Result<(), Error> {
        let written = match &self.kept {
            Some(kept) => write(&mut *kept.printed.lock().unwrap_or_else(PoisonError::into_inner)),
            None => write(&mut io::stdout().lock()),
        };
        written.map_err(Error::Output)
    }

    /// Prints results as JSON.
    pub fn print_document(&self, document: &Document) -> Result<(), Error> {
        self.write(|out| document.write_json(out))
    }

    /// Says something that is not a result.
    pub fn say(&self, text: &str) {
        if !self.quiet {
            self.put(text);
        }
    }

    /// Says that something went wrong while the command goes on.
    pub fn complain(&self, text: &str) {
        self.put(&format!("error: {text}"));
    }

    /// Says something that is no error, and that those who want quiet have to know all the same.
    pub fn note(&self, text: &str) {
        self.put(&format!("note: {text}"));
    }

    /// Shows what there is to say about a scenario that can run.
    pub fn warn(&self, warnings: &[Diagnostic]) {
        for warning in warnings {
            self.say(warning.render().trim_end());
        }
    }

    /// Shows why a command failed; gives the exit code.
    pub fn report(&self, error: &Error) -> u8 {
        match error {
            Error::Scenario(_) => self.tell(&error.to_string()),
            // Whoever reads has seen enough, as with `thalweg run | head`.
            Error::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => return 0,
            _ => self.tell(&format!("error: {error}")),
        }
        error.exit_code()
    }
}

impl Error {
    /// The exit code of a command that ends so.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Scenario(_) => 2,
            Self::Failed(_) | Self::Output(_) => 1,
            Self::Lost(_) => 3,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) | Self::Failed(message) | Self::Lost(message) => f.write_str(message),
            Self::Scenario(diagnostics) => {
                let rendered: Vec<_> = diagnostics.iter().map(Diagnostic::render).collect();
                let rendered: Vec<_> = rendered.iter().map(|text| text.trim_end()).collect();
                f.write_str(&rendered.join("\n"))
            }
            Self::Output(error) => write!(f, "cannot write results: {error}"),
        }
    }
}
