//! Trace files of mahimahi's `mm-link`.

use crate::{CapacityError, CapacityTrace};
use std::fmt;
use std::io::{self, BufRead, BufWriter, Write};
use thalweg_proto::units::{Duration, Time};

/// Bytes per line of a trace file.
const BYTES: u32 = 1500;

/// Maximum number of lines of a file: 400 MB of memory, ten minutes at 1 Gbit/s or 14 hours at 12 Mbit/s.
pub(crate) const MAX_LINES: usize = 50_000_000;

/// Maximum line length; longer lines are refused unread. A time of 20 digits already exceeds the range.
const MAX_LINE_LENGTH: u64 = 32;

const PICOS_PER_MILLI: u64 = 1_000_000_000;

impl CapacityTrace {
    /// Reads mahimahi's format: one whole number of milliseconds per line, in non-descending order. Each line is one
    /// opportunity of 1500 bytes. The trace repeats, with the last line's time as its period.
    ///
    /// A line may end in a carriage return; otherwise the reader refuses what mahimahi refuses. The maximum of 50
    /// million lines bounds the memory.
    ///
    /// # Errors
    /// Returns a [`TraceError`] with the line number, from 1, and the expected content.
    pub fn read(reader: impl BufRead) -> Result<Self, TraceError> {
        read_trace(reader, MAX_LINES)
    }

    /// Parses mahimahi's format from text in memory, like [`read_trace`](Self::read).
    ///
    /// # Errors
    /// Returns the errors of [`read_trace`](Self::read).
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        Self::read(text.as_bytes())
    }

    /// Writes mahimahi's format. Reading returns the same trace.
    ///
    /// # Errors
    /// Returns a [`TraceWriteError`] if the format cannot represent this trace (nothing is then written) or if writing
    /// fails.
    pub fn write(&self, writer: impl Write) -> Result<(), TraceWriteError> {
        self.check().map_err(TraceWriteError::Invalid)?;
        if self.bytes_per_opportunity != BYTES {
            return Err(TraceWriteError::Bytes(self.bytes_per_opportunity));
        }
        if self.opportunities.last() != Some(&(Time::ZERO + self.period)) {
            return Err(TraceWriteError::Period(self.period));
        }
        if let Some(&at) = self.opportunities.iter().find(|at| at.as_picos() % PICOS_PER_MILLI != 0) {
            return Err(TraceWriteError::Fraction(at));
        }
        let mut writer = BufWriter::new(writer);
        for at in &self.opportunities {
            writeln!(writer, "{}", at.as_picos() / PICOS_PER_MILLI).map_err(TraceWriteError::Io)?;
        }
        writer.flush().map_err(TraceWriteError::Io)
    }
}

fn read_trace(mut reader: impl BufRead, max_lines: usize) -> Result<CapacityTrace, TraceError> {
    let mut opportunities = Vec::new();
    let mut buffer = Vec::new();
    let mut last = 0;
    for line in 1.. {
        buffer.clear();
        let length = io::Read::take(&mut reader, MAX_LINE_LENGTH)
            .read_until(b'\n', &mut buffer)
            .map_err(|error| TraceError::Io { line, error })?;
        if length == 0 {
            break;
        }
        if opportunities.len() == max_lines {
            return Err(TraceError::TooMany { max: max_lines });
        }
        let text = buffer.strip_suffix(b"\n").unwrap_or(&buffer);
        let millis = parse_millis(text.strip_suffix(b"\r").unwrap_or(text), line)?;
        if millis < last {
            return Err(TraceError::Descending { line, found: millis, last });
        }
        last = millis;
        opportunities.push(Time::ZERO + Duration::from_millis(millis));
    }
    if opportunities.is_empty() {
        return Err(TraceError::Empty);
    }
    if last == 0 {
        return Err(TraceError::NoPeriod);
    }
    Ok(CapacityTrace { opportunities, period: Duration::from_millis(last), bytes_per_opportunity: BYTES })
}

/// Parses a line as a number.
fn parse_millis(text: &[u8], line: u64) -> Result<u64, TraceError> {
    if text.is_empty()
        || text.iter().any(|byte| !byte.is_ascii_digit())
        || text.len() as u64 >= MAX_LINE_LENGTH
    {
        let mut found: String = String::from_utf8_lossy(text).escape_debug().collect();
        found.truncate(found.char_indices().nth(40).map_or(found.len(), |(at, _)| at));
        return Err(TraceError::NotAnInteger { line, found });
    }
    let add = |sum: u64, digit: &u8| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
    text.iter()
        .try_fold(0, add)
        .filter(|&millis| millis <= u64::MAX / PICOS_PER_MILLI)
        .ok_or(TraceError::TooLarge { line })
}

/// Reason for an invalid trace file.
#[derive(Debug)]
pub enum TraceError {
    /// Line that is not a whole number, or empty.
    NotAnInteger {
        /// Line number, from 1.
        line: u64,
        /// Text of the line; only its beginning if it is long.
        found: String,
    },
    /// Time above the maximum of 213 days.
    TooLarge {
        /// Line number, from 1.
        line: u64,
    },
    /// Time earlier than that of the previous line.
    Descending {
        /// Line number, from 1.
        line: u64,
        /// Time of the line, in milliseconds.
        found: u64,
        /// Time of the previous line, in milliseconds.
        last: u64,
    },
    /// File without lines.
    Empty,
    /// Period (the last line's time) of zero.
    NoPeriod,
    /// Too many lines.
    TooMany {
        /// Maximum number of lines.
        max: usize,
    },
    /// Read error.
    Io {
        /// Line number at the error, from 1.
        line: u64,
        /// System error.
        error: io::Error,
    },
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnInteger { line, found } if found.is_empty() => {
                write!(f, "line {line} is empty; expected a whole number of milliseconds")
            }
            Self::NotAnInteger { line, found } => {
                write!(f, "line {line}: expected a whole number of milliseconds, found `{found}`")
            }
            Self::TooLarge { line } => {
                write!(f, "line {line}: expected at most {} milliseconds", u64::MAX / PICOS_PER_MILLI)
            }
            Self::Descending { line, found, last } => {
                write!(f, "line {line}: expected at least {last}, the time of the line above, found {found}")
            }
            Self::Empty => f.write_str("the trace is empty; expected one number of milliseconds a line"),
            Self::NoPeriod => f.write_str(
                "the trace ends at 0; expected a last line above 0, as it is the period of repetition",
            ),
            Self::TooMany { max } => {
                write!(
                    f,
                    "the trace has more than {max} lines, the most that are read; cut it into a shorter one"
                )
            }
            Self::Io { line, error } => write!(f, "reading failed at line {line}: {error}"),
        }
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// Reason why a trace was not written.
#[derive(Debug)]
pub enum TraceWriteError {
    /// Invalid trace.
    Invalid(CapacityError),
    /// Opportunities of this many bytes instead of 1500.
    Bytes(u32),
    /// Period that differs from the time of the last opportunity.
    Period(Duration),
    /// Opportunity that is not at a whole millisecond.
    Fraction(Time),
    /// Write error.
    Io(io::Error),
}

impl fmt::Display for TraceWriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(error) => error.fmt(f),
            Self::Bytes(bytes) => {
                write!(f, "mahimahi's opportunities are of {BYTES} bytes, those of this trace of {bytes}")
            }
            Self::Period(period) => write!(
                f,
                "mahimahi's traces end with their last opportunity, but this one has a period of {period}"
            ),
            Self::Fraction(at) => {
                write!(f, "mahimahi's opportunities are at whole milliseconds, but there is one at {at}")
            }
            Self::Io(error) => write!(f, "writing failed: {error}"),
        }
    }
}

impl std::error::Error for TraceWriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Invalid(error) => Some(error),
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests that the reader accepts the same input as mahimahi and describes the error in any other.
    use super::*;

    fn error(text: &str) -> String {
        CapacityTrace::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_file_of_mahimahi_is_read() {
        // Repeated times are several opportunities; the last time is the period; the last line may be unended.
        for text in ["0\n3\n3\n10\n", "0\n3\n3\n10", "0\r\n3\r\n3\r\n10\r\n", "00\n03\n3\n0010\n"] {
            let trace = CapacityTrace::parse(text).unwrap();
            let at = |ms| Time::ZERO + Duration::from_millis(ms);
            assert_eq!(trace.opportunities, [at(0), at(3), at(3), at(10)]);
            assert_eq!((trace.period, trace.bytes_per_opportunity), (Duration::from_millis(10), 1500));
            assert_eq!(trace.check(), Ok(()));
        }
    }

    #[test]
    fn errors_name_the_line_and_what_was_expected() {
        // Each kind of error with its message.
        assert_eq!(error("1\ntwo\n"), "line 2: expected a whole number of milliseconds, found `two`");
        assert_eq!(error("1\n\n2\n"), "line 2 is empty; expected a whole number of milliseconds");
        assert_eq!(error("1\n2\n\n"), "line 3 is empty; expected a whole number of milliseconds");
        assert_eq!(error("5\n4\n"), "line 2: expected at least 5, the time of the line above, found 4");
        assert_eq!(error(""), "the trace is empty; expected one number of milliseconds a line");
        assert!(error("0\n0\n").starts_with("the trace ends at 0"));
    }

    #[test]
    fn only_plain_integers_are_accepted() {
        // Neither fractions nor signs, spaces, other digits or a byte order mark.
        for text in ["1.5", "-1", "+1", " 1", "1 ", "1e3", "0x10", "١", "\u{feff}1", "1\0", "\r", "1\r\r"] {
            assert!(
                matches!(CapacityTrace::parse(text), Err(TraceError::NotAnInteger { line: 1, .. })),
                "{text:?}"
            );
        }
    }

    #[test]
    fn numbers_beyond_the_range_of_time_are_refused() {
        // 18 446 744 073 ms is the last whole millisecond of the 213 days.
        assert!(CapacityTrace::parse("18446744073\n").is_ok());
        for text in ["18446744074", "99999999999999999999", "9999999999999999999999999999999"] {
            assert!(matches!(CapacityTrace::parse(text), Err(TraceError::TooLarge { line: 1 })), "{text}");
        }
    }

    #[test]
    fn an_endless_line_is_refused_after_its_beginning() {
        // Reading an endless reader stops, and the message stays short.
        let endless = io::BufReader::new(io::repeat(b'7'));
        let Err(TraceError::NotAnInteger { line: 1, found }) = CapacityTrace::read(endless) else {
            panic!("expected a refusal");
        };
        assert!(found.len() <= 40);
        assert!(error(&"\u{1}".repeat(100)).len() < 120);
    }

    #[test]
    fn too_many_lines_are_refused() {
        // With a limit of 3, a fourth line is too many; and an endless file of lines ends at the limit.
        assert!(read_trace(&b"1\n2\n3\n"[..], 3).is_ok());
        assert!(matches!(read_trace(&b"1\n2\n3\n4\n"[..], 3), Err(TraceError::TooMany { max: 3 })));
    }

    #[test]
    fn invalid_utf_8_is_refused() {
        // Invalid UTF-8 is reported as such.
        assert!(matches!(
            CapacityTrace::read(&b"1\n\xff\xfe\n"[..]),
            Err(TraceError::NotAnInteger { line: 2, .. })
        ));
    }

    #[test]
    fn written_traces_parse_to_the_same_trace() {
        // The bytes equal the file.
        let text = "0\n3\n3\n10\n";
        let mut written = Vec::new();
        CapacityTrace::parse(text).unwrap().write(&mut written).unwrap();
        assert_eq!(written, text.as_bytes());
    }

    #[test]
    fn traces_beyond_the_format_are_not_written() {
        // Other sizes, fractions of a millisecond, and a period beyond the last opportunity.
        let good = CapacityTrace::parse("1\n2\n").unwrap();
        let refuse = |trace: CapacityTrace| {
            let mut written = Vec::new();
            let error = trace.write(&mut written).unwrap_err();
            assert!(written.is_empty());
            error
        };
        assert!(matches!(
            refuse(CapacityTrace { bytes_per_opportunity: 1400, ..good.clone() }),
            TraceWriteError::Bytes(1400)
        ));
        let period = Duration::from_millis(3);
        assert!(matches!(refuse(CapacityTrace { period, ..good.clone() }), TraceWriteError::Period(_)));
        let mut fraction = good.clone();
        fraction.opportunities[0] = Time::from_picos(1);
        assert!(matches!(refuse(fraction), TraceWriteError::Fraction(_)));
        assert!(matches!(
            refuse(CapacityTrace { opportunities: vec![], ..good }),
            TraceWriteError::Invalid(CapacityError::Empty)
        ));
    }
}
