//! Recognition of formats.

use crate::input::Input;
use crate::model::Trace;
use crate::{pcap, qlog, ss};
use core::fmt;
use std::io::Read;

/// Format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// qlog: one JSON document.
    Qlog,
    /// qlog: a sequence of JSON texts (RFC 7464), or one JSON text on each line.
    QlogSequence,
    /// Packet capture of libpcap.
    Pcap,
    /// Packet capture of Wireshark.
    PcapNg,
    /// Output of `ss -tin`.
    Ss,
}

impl Format {
    /// Returns the name of the format.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Qlog => "qlog",
            Self::QlogSequence => "qlog (JSON-SEQ)",
            Self::Pcap => "pcap",
            Self::PcapNg => "pcapng",
            Self::Ss => "ss -tin",
        }
    }
}

/// Bounds of what is kept of a trace. What exceeds them is skipped or counted, with a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of packets and acknowledgements together; each takes at most 48 bytes.
    pub packets: usize,
    /// Maximum number of connections.
    pub connections: usize,
    /// Maximum length of a file after decompression, in bytes.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { packets: 32 << 20, connections: 1 << 16, bytes: 16 << 30 }
    }
}

/// Why a file is no trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// The file has no bytes.
    Empty,
    /// The format is none of those expected.
    Unknown,
    /// The file cannot be read or decompressed.
    Io(String),
    /// The format is known, and nothing in the file can be used.
    Unusable {
        /// Format of the file.
        format: Format,
        /// What is wrong, and where.
        problem: String,
    },
}

/// Formats that are read, for messages.
pub const EXPECTED: &str =
    "qlog (JSON or JSON-SEQ), pcap, pcapng or the output of `ss -tin`, each also compressed by gzip";

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the file is empty; expected {EXPECTED}"),
            Self::Unknown => write!(f, "this is no trace; expected {EXPECTED}"),
            Self::Io(error) => write!(f, "cannot be read: {error}"),
            Self::Unusable { format, problem } => write!(f, "{}: {problem}", format.name()),
        }
    }
}

impl core::error::Error for ReadError {}

/// Reads a trace in any of the formats.
///
/// # Errors
///
/// [`ReadError`]
pub fn read(from: &mut dyn Read, limits: &Limits) -> Result<Trace, ReadError> {
    let mut input = Input::new(from, limits.bytes);
    let head = input.peek(4096);
    let trace = match head {
        [] => match input.error() {
            Some(error) => return Err(ReadError::Io(error.to_string())),
            None => return Err(ReadError::Empty),
        },
        head if pcap::is_pcap(head) || pcap::is_pcapng(head) => pcap::read(&mut input, limits),
        head if qlog::is_qlog(head) => qlog::read(&mut input, limits),
        head if ss::is_ss(head) => ss::read(&mut input, limits),
        _ => return Err(ReadError::Unknown),
    };
    let too_long = input.is_too_long();
    let failed = input.error().map(ToString::to_string);
    let mut trace = trace?;
    if too_long {
        trace.is_cut = true;
        let gigabytes = limits.bytes as f64 / f64::from(1 << 30);
        trace.notes.push(format!("The file is longer than {gigabytes:.0} GiB; the rest is not read."));
    }
    if let Some(error) = failed {
        trace.is_cut = true;
        trace.notes.push(format!("Reading ended early: {error}."));
    }
    Ok(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(mut bytes: &[u8]) -> ReadError {
        read(&mut bytes, &Limits::default()).unwrap_err()
    }

    #[test]
    fn what_is_no_trace_is_refused_with_the_expected_formats() {
        assert_eq!(error(b""), ReadError::Empty);
        for bytes in [&b"\x7fELF\x02\x01\x01"[..], b"hello", b"{\"name\": 3}", &[0; 100], b"\xff\xfe\x00"] {
            assert_eq!(error(bytes), ReadError::Unknown, "{bytes:?}");
        }
        let words = ReadError::Unknown.to_string();
        assert!(
            ["qlog", "pcap", "pcapng", "ss -tin", "gzip"].iter().all(|name| words.contains(name)),
            "{words}"
        );
        assert!(matches!(error(b"\x1f\x8b"), ReadError::Io(_)));
    }
}
