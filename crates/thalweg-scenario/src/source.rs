//! The texts that a scenario is read from, and places in them.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A text that diagnostics point into: a file, or a command-line argument.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    name: String,
    text: String,
    /// The byte at which each line begins.
    lines: Vec<u32>,
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
    /// A text under the name that messages call it by.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let mut lines = vec![0];
        lines.extend(text.match_indices('\n').map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX)));
        Self { name: name.into(), text, lines, is_argument: false }
    }

    /// A command-line argument, in which lines are not counted.
    pub fn argument(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { is_argument: true, ..Self::new(name, text) }
    }

    /// True for a command-line argument.
    pub const fn is_argument(&self) -> bool {
        self.is_argument
    }

    /// The name that messages call it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line and column of a byte.
    pub fn position(&self, byte: usize) -> Position {
        let byte = byte.min(self.text.len());
        let line = self.lines.partition_point(|&start| start as usize <= byte);
        let start = self.lines[line - 1] as usize;
        let before = self.text.get(start..byte).map_or(0, |before| before.chars().count());
        Position { line, column: before + 1 }
    }

    /// A line by its number from 1, without its end.
    pub fn line_text(&self, line: usize) -> &str {
        &self.text[self.line_range(line)]
    }

    /// The bytes of a line by its number from 1, without its end.
    pub fn line_range(&self, line: usize) -> Range<usize> {
        let start = line.checked_sub(1).and_then(|index| self.lines.get(index));
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
    /// The place of what no file says: a default.
    pub const DEFAULT: Self = Self { source: u32::MAX, start: 0, end: 0 };

    /// The bytes `start..end` of source `source`.
    pub fn new(source: u32, range: Range<usize>) -> Self {
        let clip = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { source, start: clip(range.start), end: clip(range.end) }
    }

    /// The start of a source, for what concerns all of it.
    pub const fn whole(source: u32) -> Self {
        Self { source, start: 0, end: 0 }
    }
}

/// All sources of one scenario.
#[derive(Debug, Default)]
pub struct Sources(Vec<Arc<Source>>);

impl Sources {
    /// Adds a source; the number names it in spans.
    pub fn add(&mut self, source: Source) -> u32 {
        self.0.push(Arc::new(source));
        u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX)
    }

    /// The source of a span; the first for the place of a default.
    pub fn get(&self, id: u32) -> &Arc<Source> {
        self.0.get(id as usize).unwrap_or(&self.0[0])
    }
}

/// The reason for which a file was not read.
#[derive(Debug)]
pub enum ReadError {
    /// The system refused.
    Io(std::io::Error),
    /// It holds more than `limit` bytes.
    TooLarge {
        /// The most that is read.
        limit: u64,
    },
    /// It is not UTF-8 text.
    NotText {
        /// The first byte that is not.
        at: usize,
    },
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::TooLarge { limit } => write!(f, "it is larger than {} MiB", limit >> 20),
            Self::NotText { at } => write!(f, "it is not text: byte {at} is not UTF-8"),
        }
    }
}

/// Reads a text file of at most `limit` bytes; never holds more of it than that.
pub fn read_text(path: &Path, limit: u64) -> Result<String, ReadError> {
    let file = File::open(path).map_err(ReadError::Io)?;
    if file.metadata().is_ok_and(|data| data.len() > limit) {
        return Err(ReadError::TooLarge { limit });
    }
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).map_err(ReadError::Io)?;
    if bytes.len() as u64 > limit {
        return Err(ReadError::TooLarge { limit });
    }
    String::from_utf8(bytes).map_err(|error| ReadError::NotText { at: error.utf8_error().valid_up_to() })
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
}
