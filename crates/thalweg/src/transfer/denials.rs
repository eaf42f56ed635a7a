//! Rejected senders: the first ones individually, then only their number, because creating keys costs an attacker
//! nothing.

use crate::console::Console;
use crate::wall_clock;
use serde::Serialize;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use thalweg_net::identity::PublicKey;
use thalweg_net::transfer::printable;

/// Burst size of individual reports.
const BURST: u32 = 20;
/// Interval at which the burst allowance refills by one.
const REFILL_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of stored denials.
const MAX_DENIALS: usize = 64;
/// Interval of the summary reports about all others.
const REST: Duration = Duration::from_secs(10);

/// A rejected sender.
#[derive(Debug, Serialize)]
pub struct Denial {
    command: &'static str,
    result: &'static str,
    /// The time (RFC 3339, UTC).
    ended: String,
    peer: String,
    key: String,
    reason: String,
}

impl Denial {
    /// Creates a denial with the current time.
    pub fn new(remote: SocketAddr, key: &PublicKey, why: &str) -> Self {
        Self {
            command: "serve",
            result: "denied",
            ended: wall_clock::now(),
            peer: remote.to_string(),
            key: key.to_string(),
            // Some reasons quote the sender's text.
            reason: printable(why.as_bytes()),
        }
    }

    /// Returns one line of JSON.
    pub fn line(&self) -> String {
        // A struct of strings always serializes.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    fn sentence(&self) -> String {
        format!("{} was refused: {}; its key is {}", self.peer, self.reason, self.key)
    }
}

/// All denials.
#[derive(Debug)]
pub struct Denials {
    /// Denials reported individually.
    list: Vec<Denial>,
    /// Remaining allowance of individual reports.
    left: u32,
    since: Instant,
    /// Number of unreported denials, and time of the last report.
    unreported: u64,
    reported: Instant,
    all: u64,
}

impl Denials {
    /// Creates an empty record.
    pub fn new(now: Instant) -> Self {
        Self { list: Vec::new(), left: BURST, since: now, unreported: 0, reported: now, all: 0 }
    }

    /// Adds a denial.
    pub fn add(&mut self, now: Instant, denial: Denial, console: &Console) {
        self.all += 1;
        while self.left < BURST && now.saturating_duration_since(self.since) >= REFILL_INTERVAL {
            self.left += 1;
            self.since += REFILL_INTERVAL;
        }
        if self.left == BURST {
            self.since = now;
        }
        if self.left == 0 {
            self.unreported += 1;
            return;
        }
        self.left -= 1;
        console.inform(&denial.sentence());
        if self.list.len() < MAX_DENIALS {
            self.list.push(denial);
        }
    }

    /// Adds `more` denials without details.
    pub fn count(&mut self, more: u64) {
        self.all += more;
        self.unreported += more;
    }

    /// Reports the number of denials that were not reported individually, at intervals of [`REST`].
    pub fn report(&mut self, now: Instant, console: &Console) {
        if self.unreported > 0 && now.saturating_duration_since(self.reported) >= REST {
            self.reported = now;
            let unreported = std::mem::take(&mut self.unreported);
            console.inform(&format!("{unreported} more were refused"));
        }
    }

    /// Returns the individual denials since the last call.
    pub fn take(&mut self) -> Vec<Denial> {
        std::mem::take(&mut self.list)
    }

    /// Returns the total number of denials.
    pub fn all(&self) -> u64 {
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn denials_beyond_the_limit_are_only_counted() {
        let console = Console::new(true, Arc::default());
        let begun = Instant::now();
        let mut denials = Denials::new(begun);
        let denial = || Denial::new("192.0.2.1:9".parse().unwrap(), &PublicKey([1; 32]), "no\u{1b}[2J");
        for _ in 0..1000 {
            denials.add(begun, denial(), &console);
        }
        let reported = denials.take();
        assert_eq!((reported.len(), denials.unreported, denials.all()), (20, 980, 1000));
        assert!(!reported[0].line().contains('\u{1b}') && reported[0].sentence().contains("192.0.2.1:9"));
        denials.report(begun + REST, &console);
        assert_eq!(denials.unreported, 0);
        // Five seconds refill the allowance by five.
        for _ in 0..10 {
            denials.add(begun + Duration::from_secs(5), denial(), &console);
        }
        assert_eq!(denials.take().len(), 5);
    }
}
