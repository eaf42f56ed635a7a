//! The source texts of a scenario, and positions in them.

use super::{list_columns, parquet};
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A source text of diagnostics: a file or a command-line argument.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    name: String,
    text: String,
    /// The byte offset of each line.
    line_starts: Vec<u32>,
    is_argument: bool,
}

/// A line and a column, both from 1; the column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Source {
    /// Creates a text with its name in messages.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let mut line_starts = vec![0];
        line_starts.extend(text.match_indices('\n').map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX)));
        Self { name: name.into(), text, line_starts, is_argument: false }
    }

    /// Creates a command-line argument, whose lines are not counted.
    pub fn argument(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { is_argument: true, ..Self::new(name, text) }
    }

    /// Returns true for a command-line argument.
    pub const fn is_argument(&self) -> bool {
        self.is_argument
    }

    /// Returns the name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the line and column of a byte.
    pub fn position(&self, byte: usize) -> Position {
        let byte = byte.min(self.text.len());
        let line = self.line_starts.partition_point(|&start| start as usize <= byte);
        let start = self.line_starts[line - 1] as usize;
        let before = self.text.get(start..byte).map_or(0, |before| before.chars().count());
        Position { line, column: before + 1 }
    }

    /// Returns a line by its number from 1, without its line ending.
    pub fn line_text(&self, line: usize) -> &str {
        &self.text[self.line_range(line)]
    }

    /// Returns the byte range of a line by its number from 1, without its line ending.
    pub fn line_range(&self, line: usize) -> Range<usize> {
        let start = line.checked_sub(1).and_then(|index| self.line_starts.get(index));
        let start = start.map_or(self.text.len(), |&start| start as usize);
        let length = self.text[start..].lines().next().map_or(0, str::len);
        start..start + length
    }
}

/// A range of bytes in one of the sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// The number of the source.
    pub source: u32,
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// The span of a value that no file has: a default.
    pub const OF_DEFAULT_VALUE: Self = Self { source: u32::MAX, start: 0, end: 0 };

    /// Returns the span of the bytes `start..end` in source `source`.
    pub fn new(source: u32, range: Range<usize>) -> Self {
        let clip = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { source, start: clip(range.start), end: clip(range.end) }
    }

    /// Returns an empty span at the start of a source, for diagnostics of the whole source.
    pub const fn whole(source: u32) -> Self {
        Self { source, start: 0, end: 0 }
    }
}

/// All sources of one scenario.
#[derive(Debug, Default)]
pub struct Sources(Vec<Arc<Source>>);

impl Sources {
    /// Adds a source and returns its number for use in spans.
    pub fn add(&mut self, source: Source) -> u32 {
        self.0.push(Arc::new(source));
        u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX)
    }

    /// Returns the source of a span; the first source for the span of a default.
    pub fn get(&self, id: u32) -> &Arc<Source> {
        self.0.get(id as usize).unwrap_or(&self.0[0])
    }
}

/// A failure to read a file.
#[derive(Debug)]
pub enum ReadError {
    /// An I/O error.
    Io(std::io::Error),
    /// A file larger than the remainder of `limit` bytes.
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
        /// A limit shared with files that were read before.
        is_shared: bool,
    },
    /// A file that is not UTF-8.
    NotText {
        /// The offset of the first invalid byte.
        at: usize,
    },
    /// A Parquet file that is not a list: what is wrong, and what is expected.
    BadParquet(String),
}

impl ReadError {
    /// Returns true if the file does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == std::io::ErrorKind::NotFound)
    }

    /// Returns what to do about a list that cannot be read.
    pub const fn help(&self) -> &'static str {
        match self {
            Self::BadParquet(_) => "CSV is read too: `pandas.read_parquet(FILE).to_csv(OTHER, index=False)`",
            _ => "file names are relative to the file that names them",
        }
    }
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::TooLarge { limit, is_shared: false } => {
                write!(f, "it is larger than {} MiB", limit >> 20)
            }
            Self::TooLarge { limit, is_shared: true } => {
                write!(f, "with the files before it, it is more than {} MiB", limit >> 20)
            }
            Self::NotText { at } => write!(f, "it is not text: byte {at} is not UTF-8"),
            Self::BadParquet(fault) => write!(f, "{fault}"),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<ReadError> for std::io::Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io(error) => error,
            other => Self::new(std::io::ErrorKind::InvalidData, other.to_string()),
        }
    }
}

/// Default limit for all external files together, in bytes (64 MiB).
pub const MAX_READ: u64 = 64 << 20;

/// A reader of external files with a limit on their total size. It never buffers more than the limit.
#[derive(Debug)]
pub struct Reader {
    limit: u64,
    bytes_left: u64,
    /// Built-in files, which take precedence over those on disk.
    built_in: BuiltInFiles,
}

/// Names and contents of built-in files.
pub type BuiltInFiles = &'static [(&'static str, &'static str)];

impl Default for Reader {
    fn default() -> Self {
        Self::new(MAX_READ)
    }
}

impl Reader {
    /// Creates a reader with a limit of `limit` bytes in total.
    pub const fn new(limit: u64) -> Self {
        Self { limit, bytes_left: limit, built_in: &[] }
    }

    /// Returns the reader with these built-in files, which do not count against the limit.
    pub const fn with_built_in(self, built_in: BuiltInFiles) -> Self {
        Self { built_in, ..self }
    }

    /// Returns the built-in files.
    pub const fn built_in(&self) -> BuiltInFiles {
        self.built_in
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// [`ReadError`]; earlier files still count against the limit.
    pub fn read_bytes(&mut self, path: &Path) -> Result<Vec<u8>, ReadError> {
        let file = File::open(path).map_err(ReadError::Io)?;
        if file.metadata().is_ok_and(|data| data.len() > self.bytes_left) {
            return Err(self.too_large());
        }
        self.read_all(file)
    }

    /// Reads an open source to its end.
    ///
    /// # Errors
    ///
    /// As [`Self::read_bytes`].
    pub fn read_all(&mut self, source: impl Read) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        source.take(self.bytes_left + 1).read_to_end(&mut bytes).map_err(ReadError::Io)?;
        match self.bytes_left.checked_sub(bytes.len() as u64) {
            Some(left) => self.bytes_left = left,
            None => return Err(self.too_large()),
        }
        Ok(bytes)
    }

    const fn too_large(&self) -> ReadError {
        ReadError::TooLarge { limit: self.limit, is_shared: self.bytes_left < self.limit }
    }

    /// Reads a text file, or a list in a file whose name ends in `.parquet` as the text of the same list in CSV.
    ///
    /// # Errors
    ///
    /// As [`Self::read_bytes`].
    pub fn read_text(&mut self, path: &Path) -> Result<String, ReadError> {
        if let Some((_, text)) = self.built_in.iter().find(|(name, _)| Path::new(name) == path) {
            return Ok((*text).to_owned());
        }
        let bytes = self.read_bytes(path)?;
        if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("parquet")) {
            return parquet::to_csv(&bytes, list_columns::is_known, MAX_READ as usize)
                .map_err(ReadError::BadParquet);
        }
        String::from_utf8(bytes).map_err(|error| ReadError::NotText { at: error.utf8_error().valid_up_to() })
    }
}

/// Reads one text file of at most [`MAX_READ`] bytes.
///
/// # Errors
///
/// [`ReadError`]
pub fn read_text(path: &Path) -> Result<String, ReadError> {
    Reader::default().read_text(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters() {
        let source = Source::new("x", "a\nµ = 1\r\nlast");
        assert_eq!(source.position(0), Position { line: 1, column: 1 });
        assert_eq!(source.position(5), Position { line: 2, column: 3 });
        assert_eq!(source.line_text(2), "µ = 1");
        assert_eq!(source.position(999), Position { line: 3, column: 5 });
        assert_eq!(Source::new("x", "").position(0), Position { line: 1, column: 1 });
    }

    /// Files share one limit, and an endless file stops at the limit.
    #[test]
    fn the_size_limit_applies_to_all_files_together() {
        let folder = std::env::temp_dir().join(format!("thalweg-reader-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (small, broken) = (folder.join("small"), folder.join("broken"));
        std::fs::write(&small, "12345678").unwrap();
        std::fs::write(&broken, b"ab\xff").unwrap();
        let mut reader = Reader::new(20);
        assert_eq!(reader.read_text(&small).unwrap(), "12345678");
        assert!(matches!(reader.read_text(&broken), Err(ReadError::NotText { at: 2 })));
        assert_eq!(reader.read_bytes(&small).unwrap().len(), 8);
        assert!(matches!(reader.read_bytes(&small), Err(ReadError::TooLarge { limit: 20, is_shared: true })));
        let endless = Reader::new(20).read_bytes(Path::new("/dev/zero"));
        assert!(matches!(endless, Err(ReadError::TooLarge { limit: 20, is_shared: false })));
        assert!(reader.read_bytes(&folder.join("none")).unwrap_err().is_missing());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
