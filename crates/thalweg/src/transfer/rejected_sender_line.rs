//! The line that reports a rejected sender, for people and programs.

use crate::wall_clock;
use serde::Serialize;
use thalweg_net::admission::{Denial, DenialReason};
use thalweg_net::transfer::escape_unsafe;

/// A rejected sender.
#[derive(Debug, Serialize)]
pub struct DenialLine {
    command: &'static str,
    result: &'static str,
    /// The time (RFC 3339, UTC).
    ended: String,
    peer: String,
    key: String,
    reason: String,
}

impl DenialLine {
    /// Creates a line with the current time.
    pub fn new(denial: &Denial) -> Self {
        let reason = match &denial.reason {
            // Some reasons quote the sender's text.
            DenialReason::Handshake(text) => escape_unsafe(text.as_bytes()),
            DenialReason::Unknown => {
                "the receiver does not know its key, which `--trust KEY` or a line of known-senders admits".to_owned()
            }
            DenialReason::MaxUnnamed => {
                "--unknown-senders allows no more senders without a name; name or remove some in known-senders"
                    .to_owned()
            }
        };
        Self {
            command: "serve",
            result: "denied",
            ended: wall_clock::now_rfc3339(),
            peer: denial.remote.to_string(),
            key: denial.key.to_string(),
            reason,
        }
    }

    /// Returns one line of JSON.
    pub fn line(&self) -> String {
        // A struct of strings always serializes.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// Returns a sentence for the log.
    pub fn sentence(&self) -> String {
        format!("{} was refused: {}; its key is {}", self.peer, self.reason, self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_net::identity::PublicKey;

    #[test]
    fn texts_of_senders_are_printable() {
        let reason = DenialReason::Handshake("no\u{1b}[2J".to_owned());
        let remote = "192.0.2.1:9".parse().unwrap();
        let line = DenialLine::new(&Denial { remote, key: PublicKey([1; 32]), reason });
        assert!(!line.line().contains('\u{1b}') && line.sentence().contains("192.0.2.1:9"));
    }
}
