//! A buffered stream of bytes with look-ahead, decompressed where necessary.

use flate2::read::MultiGzDecoder;
use std::io::{self, Read};

/// Stream with a buffer in front. Memory is that of the largest look-ahead requested.
pub(crate) struct Input<'a> {
    from: Box<dyn Read + 'a>,
    buffer: Vec<u8>,
    /// Range of the buffer with bytes not yet consumed.
    start: usize,
    end: usize,
    /// Bytes consumed.
    position: u64,
    is_over: bool,
    /// Error that ended the stream, such as one of the decompression.
    error: Option<io::Error>,
    /// Position of the first byte that is not text, where lines were read.
    binary_at: Option<u64>,
    /// Number of bytes after which the stream ends.
    max: u64,
}

impl<'a> Input<'a> {
    /// Creates a stream of at most `max` bytes; one that begins as gzip (RFC 1952) is decompressed.
    pub(crate) fn new(from: &'a mut dyn Read, max: u64) -> Self {
        let mut plain = Self::with_limit(Box::new(from), u64::MAX);
        let is_compressed = plain.peek(2).starts_with(&[0x1f, 0x8b]);
        if is_compressed {
            return Self::with_limit(Box::new(MultiGzDecoder::new(plain)), max);
        }
        plain.max = max;
        plain.end = plain.end.min(usize::try_from(max).unwrap_or(usize::MAX));
        plain
    }

    fn with_limit(from: Box<dyn Read + 'a>, max: u64) -> Self {
        Self {
            from,
            buffer: vec![0; INITIAL_SIZE],
            start: 0,
            end: 0,
            position: 0,
            is_over: false,
            error: None,
            binary_at: None,
            max,
        }
    }

    /// Returns the bytes consumed.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Returns the error that ended the stream.
    pub(crate) fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    /// Returns where bytes begin that are not text, if lines were read up to there.
    pub(crate) fn binary_at(&self) -> Option<u64> {
        self.binary_at
    }

    /// Returns true if the stream was longer than allowed.
    pub(crate) fn is_too_long(&self) -> bool {
        self.position + self.held().len() as u64 >= self.max
    }

    /// Returns the bytes that are buffered.
    pub(crate) fn held(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Returns at least `count` bytes, or all that are left if fewer.
    pub(crate) fn peek(&mut self, count: usize) -> &[u8] {
        while self.end - self.start < count && self.fill() {}
        self.held()
    }

    /// Reads more into the buffer; false at the end of the stream.
    pub(crate) fn fill(&mut self) -> bool {
        if self.is_over {
            return false;
        }
        if self.start > 0 && self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        let left = self.max.saturating_sub(self.position + (self.end - self.start) as u64);
        let room = (self.buffer.len() - self.end).min(usize::try_from(left).unwrap_or(usize::MAX));
        loop {
            match self.from.read(&mut self.buffer[self.end..self.end + room]) {
                Ok(0) => self.is_over = true,
                Ok(count) => self.end += count.min(room),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.is_over = true;
                    self.error = Some(error);
                }
            }
            return !self.is_over;
        }
    }

    /// Removes `count` bytes, at most those buffered.
    pub(crate) fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.position += count as u64;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Takes a line off the stream; a longer one than [`MAX_LINE`] is cut into several. `None` at the end, and where bytes begin that
    /// are not text.
    pub(crate) fn line(&mut self) -> Option<String> {
        if self.binary_at.is_some() {
            return None;
        }
        let mut from = 0;
        loop {
            let held = self.held();
            let end = held.get(from..).and_then(|rest| rest.iter().position(|byte| *byte == b'\n'));
            let (length, is_whole) = match end {
                Some(at) => (from + at + 1, true),
                None => (held.len(), held.len() >= MAX_LINE),
            };
            if is_whole || !self.fill() {
                let length = length.min(self.held().len());
                let line = &self.held()[..length];
                if let Some(at) = line.iter().position(|byte| *byte == 0) {
                    self.binary_at = Some(self.position + at as u64);
                    return None;
                }
                let text = String::from_utf8_lossy(line).into_owned();
                self.consume(length);
                return Some(text).filter(|_| length > 0);
            }
            from = length;
        }
    }

    /// Skips `count` bytes; false if the stream ends before.
    pub(crate) fn skip(&mut self, mut count: u64) -> bool {
        while count > 0 {
            if self.start == self.end && !self.fill() {
                return false;
            }
            let step = usize::try_from(count).unwrap_or(usize::MAX).min(self.end - self.start);
            self.consume(step);
            count -= step as u64;
        }
        true
    }
}

impl Read for Input<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.start == self.end && !self.fill() {
            return self.error.take().map_or(Ok(0), Err);
        }
        let count = to.len().min(self.end - self.start);
        to[..count].copy_from_slice(&self.buffer[self.start..self.start + count]);
        self.consume(count);
        Ok(count)
    }
}

/// Maximum length of a line, in bytes.
const MAX_LINE: usize = 64 << 10;

/// Initial size of the buffer.
const INITIAL_SIZE: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write as _;

    #[test]
    fn bytes_come_in_order_compressed_or_not() {
        let plain: Vec<u8> = (0..1_000_000u32).map(|number| (number % 251) as u8).collect();
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&plain).unwrap();
        let packed = packed.finish().unwrap();
        for bytes in [&plain, &packed] {
            let mut from = bytes.as_slice();
            let mut input = Input::new(&mut from, u64::MAX);
            assert_eq!(input.peek(300_000)[..300_000], plain[..300_000]);
            input.consume(10);
            assert!(input.skip(400_000));
            assert_eq!((input.position(), input.peek(5)[0]), (400_010, plain[400_010]));
            assert!(!input.skip(700_000));
            assert!(input.error().is_none());
        }
        // A cut stream of gzip ends with an error, after what could be decompressed.
        let mut from = &packed[..packed.len() / 2];
        let mut input = Input::new(&mut from, u64::MAX);
        assert!(!input.skip(2_000_000));
        assert!(input.position() > 1000 && input.error().is_some());
    }

    #[test]
    fn lines_end_where_bytes_are_no_text() {
        let mut bytes = b"one\ntwo\n".to_vec();
        bytes.extend(vec![b'x'; MAX_LINE + 5]);
        bytes.extend(b"\nthree\0\nfour\n");
        let mut from = bytes.as_slice();
        let mut input = Input::new(&mut from, u64::MAX);
        assert_eq!(input.line().as_deref(), Some("one\n"));
        assert_eq!(input.line().as_deref(), Some("two\n"));
        let long = input.line().unwrap();
        assert!(
            long.len() >= MAX_LINE && long.bytes().all(|byte| byte == b'x' || byte == b'\n'),
            "{}",
            long.len()
        );
        let mut rest = long.len();
        while let Some(line) = input.line() {
            rest += line.len();
        }
        assert_eq!((rest, input.binary_at()), (MAX_LINE + 6, Some(8 + MAX_LINE as u64 + 6 + 5)));
        assert!(input.line().is_none());
    }

    #[test]
    fn a_stream_ends_at_its_limit() {
        let plain = [7; 1000];
        let mut from = plain.as_slice();
        let mut input = Input::new(&mut from, 10);
        assert!(!input.skip(11));
        assert!(input.is_too_long() && input.position() == 10);
    }
}
