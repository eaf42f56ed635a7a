//! Record of an emulation's fidelity: packets that this host delayed or dropped.

use std::fmt;
use thalweg_proto::units::{Duration, Time};

/// Lower and upper limit on the permitted lateness. One packet in a hundred may be late by a tenth of the shortest
/// path's delay, clamped to these limits. The lower limit allows for one wake-up per packet, without which no host can
/// emulate paths of some microseconds; lateness above the upper limit disturbs any network.
pub const LATENESS_LIMITS: [Duration; 2] = [Duration::from_micros(200), Duration::from_millis(1)];

/// Lateness above which the host counts as stalled.
pub const STALL_THRESHOLD: Duration = Duration::from_millis(100);

/// Binary logarithm of the number of histogram buckets per octave of nanoseconds (2^5).
const BITS: u32 = 5;

/// Histogram of lateness.
#[derive(Clone, Debug)]
pub struct Lateness {
    counts: Vec<u64>,
    count: u64,
    max: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { counts: vec![0; (64 << BITS) as usize], count: 0, max: 0 }
    }
}

impl Lateness {
    /// Records one value.
    #[inline]
    pub fn record(&mut self, late: Duration) {
        let nanos = late.as_picos() / 1000;
        self.count += 1;
        self.max = self.max.max(nanos);
        if let Some(count) = self.counts.get_mut(bucket_of(nanos)) {
            *count += 1;
        }
    }

    /// Returns the number of recorded values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the maximum.
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.max)
    }

    /// Returns the `share` quantile, to within 3 %.
    pub fn quantile(&self, share: f64) -> Duration {
        let rank = (self.count as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (number, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank && seen > 0 {
                return Duration::from_nanos(bucket_maximum(number).min(self.max));
            }
        }
        Duration::ZERO
    }
}

fn bucket_of(nanos: u64) -> usize {
    if nanos < 1 << BITS {
        return nanos as usize;
    }
    let exponent = 63 - nanos.leading_zeros() - BITS;
    (u64::from(exponent << BITS) + (nanos >> exponent)) as usize
}

/// Returns the largest value of a bucket.
fn bucket_maximum(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 1 << BITS {
        return bucket;
    }
    let exponent = (bucket >> BITS) - 1;
    ((bucket - (exponent << BITS) + 1) << exponent).wrapping_sub(1)
}

/// Fidelity record of a run.
#[derive(Clone, Debug, Default)]
pub struct Fidelity {
    /// Lateness of packets that leave the network.
    pub lateness: Lateness,
    /// Upper bound on the time that sent packets waited to be read: the interval between two polls of the devices.
    pub unseen: Lateness,
    /// Maximum number of packets delivered in one batch.
    pub burst: u64,
    /// Maximum number of packets received in one poll.
    pub max_received_batch: u64,
    /// Packets of programs that this host dropped before they reached the network.
    pub lost_before: u64,
    /// Packets that crossed the network but that this host did not accept.
    pub refused: u64,
    /// Delay of the shortest used path, without queueing.
    pub shortest: Duration,
    /// Duration of the run.
    pub elapsed: Duration,
    /// Processor time of the emulator.
    pub busy: Duration,
    /// Number of emulator threads.
    pub threads: u32,
}

/// Verdict on a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The host kept up.
    Valid,
    /// The host fell behind, for these reasons.
    Invalid(Vec<String>),
}

impl Fidelity {
    /// Merges the records of several threads, each with a part of the network. Lateness is that of the thread with the
    /// worst lateness: the others' packets must not dilute it.
    pub(crate) fn from_threads(threads: Vec<Self>) -> Self {
        let mut merged = Self::default();
        let mut latest = None;
        for thread in threads {
            merged.burst = merged.burst.max(thread.burst);
            merged.max_received_batch = merged.max_received_batch.max(thread.max_received_batch);
            merged.lost_before += thread.lost_before;
            merged.refused += thread.refused;
            merged.elapsed = merged.elapsed.max(thread.elapsed);
            merged.busy += thread.busy;
            merged.threads += thread.threads;
            let share = thread.lateness.quantile(0.99).as_secs_f64() / thread.lateness_bound().as_secs_f64();
            merged.lateness.max = merged.lateness.max.max(thread.lateness.max);
            merged.unseen.max = merged.unseen.max.max(thread.unseen.max);
            if latest.as_ref().is_none_or(|(max, _)| share > *max) {
                latest = Some((share, thread));
            }
        }
        if let Some((_, latest)) = latest {
            // The maximum is over all threads.
            merged.lateness = Lateness { max: merged.lateness.max, ..latest.lateness };
            merged.unseen = Lateness { max: merged.unseen.max, ..latest.unseen };
            merged.shortest = latest.shortest;
        }
        merged
    }

    /// Returns the bound on the 99th percentile of lateness.
    fn lateness_bound(&self) -> Duration {
        let [min, max] = LATENESS_LIMITS;
        Duration::from_picos(self.shortest.as_picos() / 10).clamp(min, max)
    }

    /// Returns the verdict.
    pub fn verdict(&self) -> Verdict {
        let mut why = Vec::new();
        let (late, bound) = (self.lateness.quantile(0.99), self.lateness_bound());
        if late > bound {
            let [late, bound] = [late, bound].map(RoundedDuration);
            why.push(format!("1 % of packets left at least {late} late; the limit is {bound}"));
        }
        if self.lateness.max() > STALL_THRESHOLD {
            why.push(format!("the emulator stalled for {}", RoundedDuration(self.lateness.max())));
        }
        if self.lost_before > 0 {
            why.push(format!(
                "this host dropped {} before they reached the network",
                format_packet_count(self.lost_before)
            ));
        }
        if self.refused > 0 {
            why.push(format!(
                "this host did not accept {} that were delivered",
                format_packet_count(self.refused)
            ));
        }
        if why.is_empty() { Verdict::Valid } else { Verdict::Invalid(why) }
    }

    /// Records a poll of the devices: the time since the previous one, and the number of packets.
    pub fn observe(&mut self, after: Duration, received: u64) {
        if received > 0 {
            self.unseen.record(after);
            self.max_received_batch = self.max_received_batch.max(received);
        }
    }

    /// Records a packet due at `at` that leaves at `now`.
    #[inline]
    pub fn leave(&mut self, at: Time, now: Time) {
        self.lateness.record(now.since(at));
    }
}

fn format_packet_count(count: u64) -> String {
    format!("{count} packet{}", if count == 1 { "" } else { "s" })
}

/// Duration displayed to a microsecond.
struct RoundedDuration(Duration);

impl fmt::Display for RoundedDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.as_picos() / 1_000_000;
        if micros == 0 {
            return f.write_str("less than 1 us");
        }
        if micros < 10_000 { write!(f, "{micros} us") } else { write!(f, "{} ms", micros / 1000) }
    }
}

impl fmt::Display for Fidelity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quantiles = |of: &Lateness| {
            let [half, max] = [0.5, 0.99].map(|share| RoundedDuration(of.quantile(share)));
            format!("{half} (median), {max} (99 %), {} (max)", RoundedDuration(of.max()))
        };
        writeln!(f, "packets left late by {}", quantiles(&self.lateness))?;
        writeln!(f, "waits of packets, upper bounds: {}", quantiles(&self.unseen))?;
        let share = 100.0 * self.busy.as_secs_f64() / self.elapsed.as_secs_f64().max(1e-9);
        write!(
            f,
            "largest batches: {} received, {} delivered; the emulator used {share:.0} % of a processor",
            self.max_received_batch, self.burst
        )?;
        // The threads' link groups are disconnected from each other.
        if self.threads > 1 { write!(f, ", in {} threads", self.threads) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_three_percent() {
        let mut late = Lateness::default();
        for nanos in 1..=100_000 {
            late.record(Duration::from_nanos(nanos));
        }
        for (share, exact) in [(0.5, 50_000.0), (0.99, 99_000.0), (1.0, 100_000.0)] {
            let found = late.quantile(share).as_secs_f64() * 1e9;
            assert!((found / exact - 1.0).abs() < 0.04, "{share}: {found}");
        }
        assert_eq!((late.max(), late.count()), (Duration::from_nanos(100_000), 100_000));
        late.record(Duration::from_picos(u64::MAX));
        assert_eq!(Lateness::default().quantile(0.99), Duration::ZERO);
    }

    #[test]
    fn a_slow_host_is_reported() {
        let mut fidelity = Fidelity::default();
        let at = Time::ZERO + Duration::from_secs(1);
        (0..1000).for_each(|_| fidelity.leave(at, at + Duration::from_micros(80)));
        assert_eq!(fidelity.verdict(), Verdict::Valid);
        // Nine in a thousand are less than one in a hundred.
        (0..9).for_each(|_| fidelity.leave(at, at + Duration::from_millis(5)));
        assert_eq!(fidelity.verdict(), Verdict::Valid);
        (0..9).for_each(|_| fidelity.leave(at, at + Duration::from_millis(5)));
        assert!(matches!(fidelity.verdict(), Verdict::Invalid(why) if why.len() == 1));
        // A tenth of a path of 3 ms is 0.3 ms.
        let shortest = Duration::from_millis(3);
        let mut short = Fidelity { shortest, ..Fidelity::default() };
        short.leave(at, at + Duration::from_micros(290));
        assert_eq!(short.verdict(), Verdict::Valid);
        short.leave(at, at + Duration::from_micros(320));
        assert!(
            matches!(short.verdict(), Verdict::Invalid(why) if why[0].contains("320 us late")),
            "{short:?}"
        );
        let still = {
            let mut still = Fidelity::default();
            (0..1000).for_each(|_| still.leave(at, at));
            still.leave(at, at + Duration::from_millis(101));
            still
        };
        assert!(
            matches!(still.verdict(), Verdict::Invalid(why) if why == ["the emulator stalled for 101 ms"])
        );
        let lost = Fidelity { lost_before: 1, refused: 2, ..Fidelity::default() };
        assert!(matches!(lost.verdict(), Verdict::Invalid(why) if why.len() == 2));
    }
}
