//! Rate-limited log of a server's transfer failures: the first ones individually, then only their number. Any sender
//! can cause failures without end.

use std::time::{Duration, Instant};

/// Burst size of individual reports.
const REPORT_BURST: u32 = 20;
/// Interval at which the burst allowance refills by one.
const REFILL_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum line length, in bytes; longer lines are cut in the middle.
const MAX_LINE_BYTES: usize = 400;

/// Allowance of individual reports, and the number of suppressed ones.
#[derive(Debug)]
pub struct FailureLog {
    reports_left: u32,
    since: Instant,
    unreported: u64,
}

impl FailureLog {
    /// Creates a full allowance.
    pub fn new(now: Instant) -> Self {
        Self { reports_left: REPORT_BURST, since: now, unreported: 0 }
    }

    /// Returns the log lines for the failures of a transfer of `peer`.
    pub fn lines(&mut self, now: Instant, peer: &str, failures: &[String]) -> Vec<String> {
        let refills = now.saturating_duration_since(self.since).as_millis() / REFILL_INTERVAL.as_millis();
        self.reports_left = REPORT_BURST
            .min(self.reports_left.saturating_add(u32::try_from(refills).unwrap_or(REPORT_BURST)));
        if refills > 0 {
            self.since = now;
        }
        let mut lines = Vec::new();
        for failure in failures {
            if self.reports_left == 0 {
                self.unreported += 1;
                continue;
            }
            self.reports_left -= 1;
            if self.unreported > 0 {
                lines.push(format!("{} more failures were not logged", std::mem::take(&mut self.unreported)));
            }
            lines.push(format!("{peer}: {}", shorten_middle(failure)));
        }
        lines
    }
}

/// Cuts a long text in the middle.
fn shorten_middle(text: &str) -> String {
    const TRUNCATION_MARK: &str = "[...]";
    if text.len() <= MAX_LINE_BYTES {
        return text.to_owned();
    }
    let half = (MAX_LINE_BYTES - TRUNCATION_MARK.len()) / 2;
    let (head, tail) = (text.floor_char_boundary(half), text.ceil_char_boundary(text.len() - half));
    [&text[..head], TRUNCATION_MARK, &text[tail..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand transfers, each with twenty failures of 4 KiB, leave less than 10 kB in the log.
    #[test]
    fn a_sender_cannot_fill_the_log() {
        let begun = Instant::now();
        let mut failures = FailureLog::new(begun);
        let long = vec!["\u{e9}".repeat(2048); 20];
        let written: Vec<String> =
            (0..1000).flat_map(|_| failures.lines(begun, "192.0.2.1:9", &long)).collect();
        assert_eq!((written.len(), failures.unreported), (20, 19_980));
        assert!(written.iter().map(String::len).sum::<usize>() < 10_000, "{written:?}");
        // Five seconds refill the allowance by five, and the first line reports the number of suppressed ones.
        let later = failures.lines(begun + 5 * REFILL_INTERVAL, "192.0.2.1:9", &long);
        assert_eq!((later.len(), failures.unreported), (6, 15));
        assert_eq!(later[0], "19980 more failures were not logged");
        let few = FailureLog::new(begun).lines(begun, "a", &["b: no room".to_owned()]);
        assert_eq!(few, ["a: b: no room"]);
    }
}
