//! Rejected senders: the first ones individually, then only their number, because creating keys costs an attacker
//! nothing.

use crate::identity::PublicKey;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Burst size of individual reports.
const REPORT_BURST: u32 = 20;
/// Interval at which the burst allowance refills by one.
const REFILL_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of the summary reports about all others.
const SUMMARY_INTERVAL: Duration = Duration::from_secs(10);

/// A rejected sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// Address of the sender.
    pub remote: SocketAddr,
    /// Its key.
    pub key: PublicKey,
    /// Reason for the rejection.
    pub reason: DenialReason,
}

/// Reason for the rejection of a sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DenialReason {
    /// Rejected in the handshake, with this text, which may quote the sender.
    Handshake(String),
    /// The key is neither known nor admitted.
    Unknown,
    /// The limit on [unnamed senders](super::AdmissionConfig::max_unnamed) is reached.
    MaxUnnamed,
}

/// Limits on the reports of denials.
#[derive(Debug)]
pub struct Denials {
    /// Remaining allowance of individual reports.
    reports_left: u32,
    since: Instant,
    /// Number of unreported denials, and time of the last report.
    unreported: u64,
    reported: Instant,
    all: u64,
}

impl Denials {
    /// Creates an empty record.
    pub fn new(now: Instant) -> Self {
        Self { reports_left: REPORT_BURST, since: now, unreported: 0, reported: now, all: 0 }
    }

    /// Counts a denial. Returns true if it should be reported individually.
    pub fn add(&mut self, now: Instant) -> bool {
        self.all += 1;
        while self.reports_left < REPORT_BURST && now.saturating_duration_since(self.since) >= REFILL_INTERVAL
        {
            self.reports_left += 1;
            self.since += REFILL_INTERVAL;
        }
        if self.reports_left == REPORT_BURST {
            self.since = now;
        }
        if self.reports_left == 0 {
            self.unreported += 1;
            return false;
        }
        self.reports_left -= 1;
        true
    }

    /// Counts `more` denials without details.
    pub fn count(&mut self, more: u64) {
        self.all += more;
        self.unreported += more;
    }

    /// Returns the number of denials that were not reported individually, at intervals of ten seconds; `None` if
    /// nothing is to be reported.
    pub fn take_summary(&mut self, now: Instant) -> Option<u64> {
        if self.unreported == 0 || now.saturating_duration_since(self.reported) < SUMMARY_INTERVAL {
            return None;
        }
        self.reported = now;
        Some(std::mem::take(&mut self.unreported))
    }

    /// Returns the total number of denials.
    pub fn total(&self) -> u64 {
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denials_beyond_the_limit_are_only_counted() {
        let begun = Instant::now();
        let mut denials = Denials::new(begun);
        let reported = (0..1000).filter(|_| denials.add(begun)).count();
        assert_eq!((reported, denials.take_summary(begun), denials.total()), (20, None, 1000));
        assert_eq!(denials.take_summary(begun + SUMMARY_INTERVAL), Some(980));
        assert_eq!(denials.take_summary(begun + 2 * SUMMARY_INTERVAL), None);
        // Five seconds refill the allowance by five.
        let later = begun + Duration::from_secs(5);
        assert_eq!((0..10).filter(|_| denials.add(later)).count(), 5);
    }
}
