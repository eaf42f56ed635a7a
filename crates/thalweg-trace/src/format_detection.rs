//! Detects the format of a trace, and reads it.

use crate::buffered_input::Input;
use crate::format_and_limits::{Limits, ReadError};
use crate::pcap::KeyLog;
use crate::trace_model::Trace;
use crate::{pcap, qlog, ss_log, tcp_probe_log};
use std::io::Read;

/// Reads a trace in any of the formats.
///
/// # Errors
///
/// [`ReadError`]
pub fn read(from: &mut dyn Read, limits: &Limits) -> Result<Trace, ReadError> {
    read_with_keys(from, limits, &KeyLog::default())
}

/// Reads a trace in any of the formats; QUIC in a capture is decrypted by these secrets.
///
/// # Errors
///
/// [`ReadError`]
pub fn read_with_keys(from: &mut dyn Read, limits: &Limits, keys: &KeyLog) -> Result<Trace, ReadError> {
    let mut input = Input::new(from, limits.bytes);
    let head = input.peek(4096);
    let trace = match head {
        [] => match input.error() {
            Some(error) => return Err(ReadError::Io(error.to_string())),
            None => return Err(ReadError::Empty),
        },
        head if pcap::is_pcap(head) || pcap::is_pcapng(head) => pcap::read(&mut input, limits, keys),
        head if is_netlog(head) => return Err(ReadError::NetLog),
        head if qlog::is_qlog(head) => qlog::read(&mut input, limits),
        head if tcp_probe_log::is_probe(head) => tcp_probe_log::read(&mut input, limits),
        head if ss_log::is_ss(head) => ss_log::read(&mut input, limits),
        _ => return Err(ReadError::Unknown),
    };
    let too_long = input.is_too_long();
    let failed = input.error().map(ToString::to_string);
    let binary_at = input.binary_at();
    let mut trace = trace?;
    if let Some(at) = binary_at {
        trace.is_cut = true;
        trace.notes.push(format!("The file has no text from byte {at} on; what comes before is shown."));
    }
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

/// Returns true if a file with this beginning is a NetLog of Chromium: an object whose first member has the constants of its events.
fn is_netlog(head: &[u8]) -> bool {
    let inner = head.trim_ascii_start().strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    inner.is_some_and(|inner| inner.starts_with(b"\"constants\""))
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
            ["qlog", "pcap", "pcapng", "ss -tin", "bpftrace", "gzip"].iter().all(|name| words.contains(name)),
            "{words}"
        );
        let netlog = b"{\"constants\":{\"logEventTypes\":{}},\n\"events\":[\n{\"phase\":1,\"time\":\"1\",\"type\":1}]}";
        assert_eq!(error(netlog), ReadError::NetLog);
        assert!(ReadError::NetLog.to_string().contains("chrome://net-export"));
        assert!(matches!(error(b"\x1f\x8b"), ReadError::Io(_)));
    }
}
