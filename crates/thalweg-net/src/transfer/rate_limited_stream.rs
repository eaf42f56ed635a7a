//! A stream whose writes keep to a maximum rate.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use thalweg_proto::units::{Bytes, Rate};

/// Writes to another stream, at a limited rate.
#[derive(Debug)]
pub struct Throttle<W> {
    stream: W,
    rate: Option<Rate>,
    /// End of the time that the bytes written so far take at the rate.
    paid: Instant,
    pace: Pace,
}

/// Shared flag: true while the rate limit delays a stream.
#[derive(Clone, Debug, Default)]
pub struct Pace(Arc<AtomicBool>);

impl Pace {
    /// Returns true if the last write had to wait.
    pub fn holds(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Maximum burst after a pause, as time at the rate.
const MAX_BURST_TIME: Duration = Duration::from_millis(50);

impl<W> Throttle<W> {
    /// Wraps a stream; without `rate` it is not limited.
    pub fn new(stream: W, rate: Option<Rate>, pace: Pace) -> Self {
        Self { stream, rate, paid: Instant::now(), pace }
    }

    /// Returns the underlying stream.
    pub fn stream(&mut self) -> &mut W {
        &mut self.stream
    }
}

impl<W: Write> Write for Throttle<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(rate) = self.rate else { return self.stream.write(bytes) };
        let now = Instant::now();
        let waits = self.paid > now + MAX_BURST_TIME;
        self.pace.0.store(waits, Ordering::Relaxed);
        if waits {
            std::thread::sleep(self.paid - now - MAX_BURST_TIME);
        }
        self.paid = self.paid.max(now);
        // Allow at least one packet, to avoid small packets at low rates.
        let max = (rate.as_f64() / 8.0 * MAX_BURST_TIME.as_secs_f64()).max(1200.0) as usize;
        let count = self.stream.write(&bytes[..bytes.len().min(max)])?;
        let time = rate.transmission_time(Bytes::new(count as u64));
        self.paid += Duration::from_secs_f64(time.as_secs_f64());
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_takes_its_time() {
        let begun = Instant::now();
        let pace = Pace::default();
        let mut stream = Throttle::new(io::sink(), Some("8 Mbit/s".parse().unwrap()), pace.clone());
        stream.write_all(&[0; 300_000]).unwrap();
        assert!(pace.holds());
        // 0.3 s at 1 MB/s, less the initial burst and the last piece; never faster.
        assert!(begun.elapsed() >= Duration::from_millis(190), "{:?}", begun.elapsed());
        let begun = Instant::now();
        let pace = Pace::default();
        Throttle::new(io::sink(), None, pace.clone()).write_all(&[0; 300_000]).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(5) && !pace.holds());
    }
}
