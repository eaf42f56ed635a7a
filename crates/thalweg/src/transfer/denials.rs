//! Senders that were turned away: the first ones by name, of a crowd the number. Anybody can make keys without end.

use crate::console::Console;
use crate::wall;
use serde::Serialize;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use thalweg_net::identity::PublicKey;
use thalweg_net::transfer::printable;

/// Of so many at once each is told.
const BURST: u32 = 20;
/// Then one in this time.
const EACH: Duration = Duration::from_secs(1);
/// So many are kept for those who ask.
const MOST: usize = 64;
/// The others are counted, and told as often.
const REST: Duration = Duration::from_secs(10);

/// A sender that was turned away.
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
    /// Now.
    pub fn new(remote: SocketAddr, key: &PublicKey, why: &str) -> Self {
        Self {
            command: "serve",
            result: "denied",
            ended: wall::now(),
            peer: remote.to_string(),
            key: key.to_string(),
            // Some reasons quote what the sender said.
            reason: printable(why.as_bytes()),
        }
    }

    /// One line of JSON.
    pub fn line(&self) -> String {
        // Strings are always JSON.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    fn sentence(&self) -> String {
        format!("{} was turned away: {}; its key is {}", self.peer, self.reason, self.key)
    }
}

/// All of them.
#[derive(Debug)]
pub struct Denials {
    /// Of those that are told one by one.
    list: Vec<Denial>,
    /// The number that may be told one by one now.
    left: u32,
    since: Instant,
    /// The number that was not told, and when the last was.
    unreported: u64,
    told: Instant,
    all: u64,
}

impl Denials {
    /// None yet.
    pub fn new(now: Instant) -> Self {
        Self { list: Vec::new(), left: BURST, since: now, unreported: 0, told: now, all: 0 }
    }

    /// One more.
    pub fn add(&mut self, now: Instant, denial: Denial, console: &Console) {
        self.all += 1;
        while self.left < BURST && now.saturating_duration_since(self.since) >= EACH {
            self.left += 1;
            self.since += EACH;
        }
        if self.left == BURST {
            self.since = now;
        }
        if self.left == 0 {
            self.unreported += 1;
            return;
        }
        self.left -= 1;
        console.say(&denial.sentence());
        if self.list.len() < MOST {
            self.list.push(denial);
        }
    }

    /// So many more of which nothing is known.
    pub fn count(&mut self, more: u64) {
        self.all += more;
        self.unreported += more;
    }

    /// Tells the number of those that were not told, from time to time.
    pub fn report(&mut self, now: Instant, console: &Console) {
        if self.unreported > 0 && now.saturating_duration_since(self.told) >= REST {
            self.told = now;
            let unreported = std::mem::take(&mut self.unreported);
            console.say(&format!("{unreported} more were turned away"));
        }
    }

    /// Those that were told since the last call.
    pub fn take(&mut self) -> Vec<Denial> {
        std::mem::take(&mut self.list)
    }

    /// The number of all so far.
    pub fn all(&self) -> u64 {
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_crowd_is_counted_and_not_listed() {
        let console = Console::new(true, Arc::default());
        let begun = Instant::now();
        let mut denials = Denials::new(begun);
        let denial = || Denial::new("192.0.2.1:9".parse().unwrap(), &PublicKey([1; 32]), "no\u{1b}[2J");
        for _ in 0..1000 {
            denials.add(begun, denial(), &console);
        }
        let told = denials.take();
        assert_eq!((told.len(), denials.unreported, denials.all()), (20, 980, 1000));
        assert!(!told[0].line().contains('\u{1b}') && told[0].sentence().contains("192.0.2.1:9"));
        denials.report(begun + REST, &console);
        assert_eq!(denials.unreported, 0);
        // Five seconds are room for five.
        for _ in 0..10 {
            denials.add(begun + Duration::from_secs(5), denial(), &console);
        }
        assert_eq!(denials.take().len(), 5);
    }
}
