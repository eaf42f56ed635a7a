//! The failures of a server's transfers in its log: the first ones by name, of many the number. Whoever may send can make files fail
//! without end.

use std::time::{Duration, Instant};

/// Of so many at once each is told.
const BURST: u32 = 20;
/// Then one in this time.
const EACH: Duration = Duration::from_secs(1);
/// The longest line, in bytes: longer ones are cut in their middle.
const LONGEST: usize = 400;

/// The failures that may be told, and how many were not.
#[derive(Debug)]
pub struct Troubles {
    left: u32,
    since: Instant,
    unreported: u64,
}

impl Troubles {
    /// None yet.
    pub fn new(now: Instant) -> Self {
        Self { left: BURST, since: now, unreported: 0 }
    }

    /// The lines to be told now of what failed in a transfer of `peer`.
    pub fn lines(&mut self, now: Instant, peer: &str, troubles: &[String]) -> Vec<String> {
        let turns = now.saturating_duration_since(self.since).as_millis() / EACH.as_millis();
        self.left = BURST.min(self.left.saturating_add(u32::try_from(turns).unwrap_or(BURST)));
        if turns > 0 {
            self.since = now;
        }
        let mut lines = Vec::new();
        for trouble in troubles {
            if self.left == 0 {
                self.unreported += 1;
                continue;
            }
            self.left -= 1;
            if self.unreported > 0 {
                lines.push(format!("{} more failures are not told", std::mem::take(&mut self.unreported)));
            }
            lines.push(format!("{peer}: {}", shortened(trouble)));
        }
        lines
    }
}

/// The text, cut in its middle where it is long.
fn shortened(text: &str) -> String {
    const CUT: &str = "[...]";
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let half = (LONGEST - CUT.len()) / 2;
    let (head, tail) = (text.floor_char_boundary(half), text.ceil_char_boundary(text.len() - half));
    [&text[..head], CUT, &text[tail..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand transfers, each with twenty failures of 4 KiB, leave less than 10 kB in the log.
    #[test]
    fn a_sender_cannot_fill_the_log() {
        let begun = Instant::now();
        let mut troubles = Troubles::new(begun);
        let long = vec!["\u{e9}".repeat(2048); 20];
        let told: Vec<String> = (0..1000).flat_map(|_| troubles.lines(begun, "192.0.2.1:9", &long)).collect();
        assert_eq!((told.len(), troubles.unreported), (20, 19_980));
        assert!(told.iter().map(String::len).sum::<usize>() < 10_000, "{told:?}");
        // Five seconds are room for five, and the first says how many were left out.
        let later = troubles.lines(begun + 5 * EACH, "192.0.2.1:9", &long);
        assert_eq!((later.len(), troubles.unreported), (6, 15));
        assert_eq!(later[0], "19980 more failures are not told");
        let few = Troubles::new(begun).lines(begun, "a", &["b: no room".to_owned()]);
        assert_eq!(few, ["a: b: no room"]);
    }
}
