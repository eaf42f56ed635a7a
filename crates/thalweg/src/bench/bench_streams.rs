//! Streams of a benchmark, written and read by both endpoints.
//!
//! A client's stream begins with a [`Request`]. The data stream, from either endpoint, is finished when the time is
//! over. The server's stream ends with its results as JSON, followed by their length in 4 bytes.

use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use thalweg_net::live::{NetError, RecvStream, SendStream};
use thalweg_proto::payload::Slice;

/// Size of a write, in bytes. The same bytes are sent repeatedly, like a file in the page cache.
const WRITE_SIZE: usize = 1 << 18;

/// Polling interval.
pub const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Maximum duration that a client may request.
pub const MAX_DURATION: Duration = Duration::from_secs(24 * 3600);

/// A client's request: 1 byte, 1 for data from the server; 8 bytes, the duration in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// True if the server sends.
    pub reverse: bool,
    pub time: Duration,
}

impl Request {
    pub const LENGTH: usize = 9;

    /// Returns the grace period for data in flight at the end: 1 s, or a tenth of the duration if that is longer.
    pub fn grace(self) -> Duration {
        (self.time / 10).max(Duration::from_secs(1))
    }

    pub fn encode(self) -> [u8; Self::LENGTH] {
        let mut bytes = [u8::from(self.reverse); Self::LENGTH];
        let millis = u64::try_from(self.time.as_millis()).unwrap_or(u64::MAX);
        bytes[1..].copy_from_slice(&millis.to_be_bytes());
        bytes
    }

    pub fn decode(bytes: [u8; Self::LENGTH]) -> Self {
        let mut millis = [0; 8];
        millis.copy_from_slice(&bytes[1..]);
        let time = Duration::from_millis(u64::from_be_bytes(millis)).min(MAX_DURATION);
        Self { reverse: bytes[0] == 1, time }
    }
}

/// Writes for the given time or until `stop`; returns the number of bytes.
pub fn write_for(
    send: &mut SendStream,
    time: Duration,
    progress: &AtomicU64,
    stop: &AtomicBool,
) -> Result<u64, NetError> {
    let piece = Slice::new((0..WRITE_SIZE).map(|at| at as u8).collect::<Vec<_>>());
    let started = Instant::now();
    let mut bytes = 0;
    while started.elapsed() < time && !stop.load(Ordering::Relaxed) {
        send.write_slice(piece.clone())?;
        bytes += WRITE_SIZE as u64;
        progress.store(bytes, Ordering::Relaxed);
    }
    Ok(bytes)
}

/// Reads to the end, for at most `time`, or until a while after a stop; returns `None` at the timeout. The reading
/// thread ends with the connection.
pub fn read_within(
    mut receive: RecvStream,
    time: Duration,
    progress: &Arc<AtomicU64>,
    (stop, after): (&AtomicBool, Duration),
) -> Option<Result<(u64, Vec<u8>), NetError>> {
    let (done, finished) = mpsc::channel();
    let progress = Arc::clone(progress);
    std::thread::spawn(move || {
        // The receiver may have timed out.
        let _ = done.send(receive.read_tail(TAIL_BYTES, &progress));
    });
    let mut end = Instant::now() + time;
    let mut is_stopped = false;
    loop {
        if stop.load(Ordering::Relaxed) && !is_stopped {
            is_stopped = true;
            end = end.min(Instant::now() + after);
        }
        let left = end.saturating_duration_since(Instant::now());
        match finished.recv_timeout(left.min(POLL_INTERVAL)) {
            Err(mpsc::RecvTimeoutError::Timeout) if !left.is_zero() => {}
            result => return result.ok(),
        }
    }
}

/// Number of bytes kept from the end of a stream; a server's results are shorter.
const TAIL_BYTES: usize = 4096;

/// Returns the server's results, a JSON object, and the length of their encoding in bytes.
pub fn parse_results_trailer(tail: &[u8]) -> Option<(Value, u64)> {
    let (text, length) = tail.split_last_chunk()?;
    let length = u32::from_be_bytes(*length) as usize;
    let text = text.get(text.len().checked_sub(length)?..)?;
    let counts: Value = serde_json::from_slice(text).ok()?;
    counts.is_object().then_some((counts, length as u64 + 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn requests_and_trailers_are_read_as_written() {
        let request = Request { reverse: true, time: Duration::from_millis(1500) };
        assert_eq!(Request::decode(request.encode()), request);
        assert_eq!(Request::decode([0xff; 9]).time, MAX_DURATION);
        let mut tail = b"data{\"bytes\":1}".to_vec();
        tail.extend_from_slice(&11u32.to_be_bytes());
        assert_eq!(parse_results_trailer(&tail), Some((json!({"bytes": 1}), 15)));
        // An empty result must not cause a panic.
        let other = |text: &[u8]| [text, &(text.len() as u32).to_be_bytes()].concat();
        for bad in [b"1", &b"[]"[..], b"null", b"\"a\""] {
            assert_eq!(parse_results_trailer(&other(bad)), None);
        }
        for bad in [&b""[..], b"abc", &[0xff; 4], &[0xff; 20]] {
            assert_eq!(parse_results_trailer(bad), None);
        }
    }
}
