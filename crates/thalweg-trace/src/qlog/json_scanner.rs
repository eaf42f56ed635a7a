//! A scanner of JSON (RFC 8259) that holds one value of a list at a time.

use crate::buffered_input::Input;
use core::fmt;
use serde_json::Value;

/// Error of the text's structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// The text ends within a value.
    Cut(u64),
    /// A byte is not the expected one.
    Byte {
        /// Position in the file.
        position: u64,
        /// The expected text.
        expected: &'static str,
    },
    /// Arrays and objects are nested too deeply.
    Deep(u64),
    /// A value is too long.
    Long(u64),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut(position) => write!(f, "The file ends at byte {position} within a value"),
            Self::Byte { position, expected } => {
                write!(f, "The JSON is damaged at byte {position}, where {expected} is expected")
            }
            Self::Deep(position) => {
                write!(f, "The value at byte {position} is nested more than {MAX_DEPTH} levels deep")
            }
            Self::Long(position) => write!(f, "The value at byte {position} is too long"),
        }
    }
}

/// Scanner of a stream.
pub(super) struct Scanner<'i, 'a> {
    input: &'i mut Input<'a>,
}

impl<'i, 'a> Scanner<'i, 'a> {
    pub(super) fn new(input: &'i mut Input<'a>) -> Self {
        Self { input }
    }

    pub(super) fn position(&self) -> u64 {
        self.input.position()
    }

    /// Skips white space; returns the next byte.
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            let held = self.input.held();
            let blanks = held.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            if let Some(&byte) = held.get(blanks) {
                self.input.consume(blanks);
                return Some(byte);
            }
            self.input.consume(blanks);
            if !self.input.fill() {
                return None;
            }
        }
    }

    /// Skips a byte order mark, and the declaration of a variable around a document for a script.
    pub(super) fn skip_prefix(&mut self) {
        if self.input.peek(3).starts_with(b"\xef\xbb\xbf") {
            self.input.consume(3);
        }
        self.skip_separators();
        if self.input.peek(4).starts_with(b"var ") {
            let name = self.input.peek(256);
            let length = name.iter().take(256).position(|byte| *byte == b'=').map_or(0, |at| at + 1);
            self.input.consume(length);
        }
    }

    /// Skips white space and record separators (RFC 7464); false at the end of the text.
    pub(super) fn skip_separators(&mut self) -> bool {
        loop {
            match self.peek() {
                Some(0x1e | b';') => self.input.consume(1),
                next => return next.is_some(),
            }
        }
    }

    /// Skips to the next record separator; false if there is none.
    pub(super) fn resume(&mut self) -> bool {
        loop {
            let held = self.input.held();
            if let Some(at) = held.iter().position(|byte| *byte == 0x1e) {
                self.input.consume(at);
                return true;
            }
            let all = held.len();
            self.input.consume(all);
            if !self.input.fill() {
                return false;
            }
        }
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), Damage> {
        match self.peek() {
            Some(found) if found == byte => {
                self.input.consume(1);
                Ok(())
            }
            Some(_) => Err(Damage::Byte { position: self.position(), expected }),
            None => Err(Damage::Cut(self.position())),
        }
    }

    /// Enters an array or object.
    pub(super) fn begin(&mut self, byte: u8) -> Result<(), Damage> {
        self.expect(byte, if byte == b'{' { "an object" } else { "an array" })
    }

    /// Goes to the next element of an array; false at its end, which is left behind.
    pub(super) fn element(&mut self, is_first: bool) -> Result<bool, Damage> {
        if self.peek() == Some(b']') {
            self.input.consume(1);
            return Ok(false);
        }
        if !is_first {
            self.expect(b',', "`,` or `]`")?;
            // A comma after the last element is common in older logs.
            if self.peek() == Some(b']') {
                self.input.consume(1);
                return Ok(false);
            }
        }
        self.peek().map(|_| true).ok_or(Damage::Cut(self.position()))
    }

    /// Goes to the next member of an object and returns its key; `None` at the end of the object, which is left behind.
    pub(super) fn key(&mut self, is_first: bool) -> Result<Option<String>, Damage> {
        if self.peek() == Some(b'}') {
            self.input.consume(1);
            return Ok(None);
        }
        if !is_first {
            self.expect(b',', "`,` or `}`")?;
            if self.peek() == Some(b'}') {
                self.input.consume(1);
                return Ok(None);
            }
        }
        let position = self.position();
        if self.peek().ok_or(Damage::Cut(position))? != b'"' {
            return Err(Damage::Byte { position: self.position(), expected: "a key" });
        }
        let length = self.measure(MAX_KEY)?;
        let key = serde_json::from_slice(self.bytes(length))
            .map_err(|_| Damage::Byte { position, expected: "a key" })?;
        self.input.consume(length);
        self.expect(b':', "`:`")?;
        Ok(Some(key))
    }

    /// Reads a value and consumes it; `None` if it is not valid JSON.
    pub(super) fn value(&mut self) -> Result<Option<Value>, Damage> {
        let length = self.measure(MAX_HEAD)?;
        let value = serde_json::from_slice(self.bytes(length)).ok();
        self.input.consume(length);
        Ok(value)
    }

    /// Returns the first bytes, which must be buffered.
    pub(super) fn bytes(&self, length: usize) -> &[u8] {
        self.input.held().get(..length).unwrap_or_default()
    }

    pub(super) fn consume(&mut self, length: usize) {
        self.input.consume(length);
    }

    /// Buffers the next value; returns its length. Only its brackets and quotes are checked.
    pub(super) fn measure(&mut self, max: usize) -> Result<usize, Damage> {
        let first = self.peek().ok_or(Damage::Cut(self.position()))?;
        let position = self.position();
        let is_scalar = !matches!(first, b'{' | b'[' | b'"');
        let (mut at, mut depth) = (0usize, 0usize);
        let (mut in_string, mut is_escaped) = (false, false);
        loop {
            let held = self.input.held();
            while let Some(&byte) = held.get(at) {
                at += 1;
                if in_string {
                    match byte {
                        // Control characters are escaped in strings.
                        0x1e => return Err(Damage::Cut(position + at as u64 - 1)),
                        _ if is_escaped => is_escaped = false,
                        b'\\' => is_escaped = true,
                        b'"' => {
                            in_string = false;
                            if depth == 0 {
                                return Ok(at);
                            }
                        }
                        _ => {}
                    }
                    continue;
                }
                match byte {
                    b'"' => in_string = true,
                    b'{' | b'[' => {
                        depth += 1;
                        if depth > MAX_DEPTH {
                            return Err(Damage::Deep(position));
                        }
                    }
                    b'}' | b']' if depth > 0 => {
                        depth -= 1;
                        if depth == 0 {
                            return Ok(at);
                        }
                    }
                    // A number or literal ends before what follows it.
                    b'}' | b']' | b',' | 0x1e if is_scalar => {
                        return match at {
                            1 => Err(Damage::Byte { position, expected: "a value" }),
                            at => Ok(at - 1),
                        };
                    }
                    byte if is_scalar && byte.is_ascii_whitespace() => return Ok(at - 1),
                    // A record separator is not a part of a value: the value was cut (RFC 7464, section 2.3).
                    0x1e => return Err(Damage::Cut(position + at as u64 - 1)),
                    _ => {}
                }
            }
            if at > max {
                return Err(Damage::Long(position));
            }
            if !self.input.fill() {
                return match is_scalar && at > 0 {
                    true => Ok(at),
                    false => Err(Damage::Cut(position + at as u64)),
                };
            }
        }
    }
}

/// Maximum depth of nested arrays and objects: that of the parser of events.
const MAX_DEPTH: usize = 100;
/// Maximum length of a key, in bytes.
const MAX_KEY: usize = 4096;
/// Maximum length of a value that describes a trace, in bytes.
const MAX_HEAD: usize = 1 << 20;
