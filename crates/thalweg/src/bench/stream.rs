//! The streams of a bench, which both ends write and read.
//!
//! A client's stream begins with a [`Request`]. The stream of data, whichever end sends it, is finished when the time is
//! over; the server's stream ends with what the server has counted, as JSON, and its length in 4 bytes.

use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use thalweg_net::live::{NetError, RecvStream, SendStream};
use thalweg_proto::payload::Slice;

/// The bytes that are written at once. The same ones are sent again and again, as a file in the page cache would be.
const PIECE: usize = 1 << 18;

/// The time between two looks at what goes on.
pub const LOOK: Duration = Duration::from_millis(50);

/// No client may ask for more.
pub const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// A client's request: 1 byte, 1 for data from the server; 8 bytes, the time in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The server sends.
    pub reverse: bool,
    pub time: Duration,
}

impl Request {
    pub const LENGTH: usize = 9;

    /// The time in which what is on its way at the end may still arrive: a second, or a tenth of the time if that is
    /// longer.
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
        let time = Duration::from_millis(u64::from_be_bytes(millis)).min(LONGEST);
        Self { reverse: bytes[0] == 1, time }
    }
}

/// Writes for so long, or until `stop`; how many bytes.
pub fn write_for(
    send: &mut SendStream,
    time: Duration,
    progress: &AtomicU64,
    stop: &AtomicBool,
) -> Result<u64, NetError> {
    let piece = Slice::new((0..PIECE).map(|at| at as u8).collect::<Vec<_>>());
    let started = Instant::now();
    let mut bytes = 0;
    while started.elapsed() < time && !stop.load(Ordering::Relaxed) {
        send.write_slice(piece.clone())?;
        bytes += PIECE as u64;
        progress.store(bytes, Ordering::Relaxed);
    }
    Ok(bytes)
}

/// Reads to the end, but no longer than `time`, nor longer than some time after a stop; `None` where that was not enough. Whoever
/// reads on ends with the connection.
pub fn read_within(
    mut receive: RecvStream,
    time: Duration,
    progress: &Arc<AtomicU64>,
    (stop, after): (&AtomicBool, Duration),
) -> Option<Result<(u64, Vec<u8>), NetError>> {
    let (done, finished) = mpsc::channel();
    let progress = Arc::clone(progress);
    std::thread::spawn(move || {
        // Nobody may wait any more.
        let _ = done.send(receive.read_tail(TAIL, &progress));
    });
    let mut end = Instant::now() + time;
    let mut is_stopped = false;
    loop {
        if stop.load(Ordering::Relaxed) && !is_stopped {
            is_stopped = true;
            end = end.min(Instant::now() + after);
        }
        let left = end.saturating_duration_since(Instant::now());
        match finished.recv_timeout(left.min(LOOK)) {
            Err(mpsc::RecvTimeoutError::Timeout) if !left.is_zero() => {}
            result => return result.ok(),
        }
    }
}

/// The bytes that are kept of the end of a stream; what a server counts takes less.
const TAIL: usize = 4096;

/// Returns the server's counts, which are an object, and the number of the bytes that say them.
pub fn trailer(tail: &[u8]) -> Option<(Value, u64)> {
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
        assert_eq!(Request::decode([0xff; 9]).time, LONGEST);
        let mut tail = b"data{\"bytes\":1}".to_vec();
        tail.extend_from_slice(&11u32.to_be_bytes());
        assert_eq!(trailer(&tail), Some((json!({"bytes": 1}), 15)));
        // A server that counts nothing is no reason to panic.
        let other = |text: &[u8]| [text, &(text.len() as u32).to_be_bytes()].concat();
        for bad in [b"1", &b"[]"[..], b"null", b"\"a\""] {
            assert_eq!(trailer(&other(bad)), None);
        }
        for bad in [&b""[..], b"abc", &[0xff; 4], &[0xff; 20]] {
            assert_eq!(trailer(bad), None);
        }
    }
}
