//! The formats of traces, limits on their size, and errors of reading them.

use core::fmt;

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
    /// The kernel's window at each acknowledgement: `tcp_probe`, printed by bpftrace or the kernel.
    Probe,
    /// Series of simulated or live runs, of this project.
    Results,
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
            Self::Probe => "tcp_probe",
            Self::Results => "results",
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

/// Error of a file that is not a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// The file has no bytes.
    Empty,
    /// The format is none of those expected.
    Unknown,
    /// The file is a NetLog of Chromium.
    NetLog,
    /// The file cannot be read or decompressed.
    Io(String),
    /// The format is known, and nothing in the file can be used.
    Unusable {
        /// Format of the file.
        format: Format,
        /// Problem, with its place.
        problem: String,
    },
}

/// Formats that are read, for messages.
pub const EXPECTED_FORMATS: &str = "qlog (JSON or JSON-SEQ), pcap, pcapng, the output of `ss -tin` or of bpftrace, each also compressed by gzip";

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the file is empty; expected {EXPECTED_FORMATS}"),
            Self::Unknown => write!(f, "this is not a trace; expected {EXPECTED_FORMATS}"),
            Self::NetLog => write!(
                f,
                "this is a NetLog of Chromium (chrome://net-export), which is not read; capture the packets, with the browser's SSLKEYLOGFILE for QUIC; expected {EXPECTED_FORMATS}"
            ),
            Self::Io(error) => write!(f, "cannot be read: {error}"),
            Self::Unusable { format, problem } => write!(f, "{}: {problem}", format.name()),
        }
    }
}

impl core::error::Error for ReadError {}
