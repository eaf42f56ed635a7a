//! The receiver's side of pairing: a code that a sender has to prove, within limits of time and guesses.

use super::close_after_finish;
use crate::identity::{PublicKey, SystemEntropy};
use crate::live::Connection;
use crate::pairing::{self, Code, Guesses, PairingError, PairingKeys, Verdict};
use crate::session::code;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

/// Service requested by a sender with a code.
pub const PAIRING: &str = "pair";

/// Lifetime of a code.
const CODE_LIFETIME: Duration = Duration::from_secs(600);

/// Timeout of one attempt, which needs two round trips.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(15);

/// A code that awaits a sender.
#[derive(Debug)]
pub struct PairingOffer {
    code: Code,
    own_key: PublicKey,
    guesses: Guesses,
    until: Instant,
    attempt: Option<Attempt>,
}

#[derive(Debug)]
struct Attempt {
    connection: Connection,
    result: Receiver<Result<(), PairingError>>,
    until: Instant,
}

/// An event of an offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairingEvent {
    /// No event.
    None,
    /// A wrong guess, with the number of guesses left.
    Wrong(String, u32),
    /// This peer proved the code, which is thereby used up.
    Paired(PublicKey, String),
    /// The code has expired.
    Over(&'static str),
}

impl PairingOffer {
    /// Creates a new code for the endpoint with this key.
    pub fn new(now: Instant, own_key: PublicKey) -> Self {
        let code = Code::generate(&mut SystemEntropy::new());
        Self { code, own_key, guesses: Guesses::default(), until: now + CODE_LIFETIME, attempt: None }
    }

    /// Returns the code.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Starts an attempt of a peer to prove the code. There is one attempt at a time.
    pub fn begin_attempt(&mut self, now: Instant, connection: Connection) {
        if self.attempt.is_some() {
            connection.close(code::BUSY, "another sender is being paired");
            return;
        }
        let ends =
            PairingKeys { client: connection.peer(), server: self.own_key, binding: *connection.binding() };
        let (result_sender, result) = channel();
        let (watch, code) = (connection.another_handle(), self.code.clone());
        let pair = move || {
            let (mut to, mut from) = connection.split_untrusted();
            let paired = pairing::pair_as_server(&code, &ends, &mut from, &mut to);
            if paired.is_ok() {
                // The proof has to arrive before the close. Otherwise the peer retries although it is paired.
                let _ = to.finish();
            }
            let _ = result_sender.send(paired);
        };
        // If the thread cannot start, its end of the channel is dropped, which counts as no event.
        let _ = std::thread::Builder::new().name("pairing".to_owned()).spawn(pair);
        self.attempt = Some(Attempt { connection: watch, result, until: now + ATTEMPT_TIMEOUT });
    }

    /// Returns true during an attempt of this peer.
    pub fn has_attempt_of(&self, key: &PublicKey) -> bool {
        self.attempt.as_ref().is_some_and(|attempt| attempt.connection.peer() == *key)
    }

    /// Returns the event since the last call.
    pub fn poll(&mut self, now: Instant) -> PairingEvent {
        let Some(attempt) = &self.attempt else {
            let is_late = now >= self.until;
            return if is_late {
                PairingEvent::Over("the code expired unused after ten minutes")
            } else {
                PairingEvent::None
            };
        };
        let result = match attempt.result.try_recv() {
            Err(TryRecvError::Empty) => {
                if now >= attempt.until {
                    attempt.connection.close(code::UNAUTHORIZED, "pairing takes too long");
                }
                return PairingEvent::None;
            }
            Err(TryRecvError::Disconnected) => None,
            Ok(result) => Some(result),
        };
        let Some(Attempt { connection, .. }) = self.attempt.take() else { return PairingEvent::None };
        let remote = connection.remote().to_string();
        let verdict = result.map_or(Verdict::Nothing, |result| self.guesses.after_attempt(&result));
        match verdict {
            Verdict::Paired => {
                close_after_finish(&connection, code::DONE, "");
                PairingEvent::Paired(connection.peer(), remote)
            }
            Verdict::Nothing => PairingEvent::None,
            Verdict::Wrong(left) => {
                close_after_finish(&connection, code::UNAUTHORIZED, "the code is wrong");
                PairingEvent::Wrong(remote, left)
            }
            Verdict::Over => {
                close_after_finish(&connection, code::UNAUTHORIZED, "the code is wrong");
                PairingEvent::Over("the code was guessed wrong three times")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::{Connect, EndpointConfig, Listen, Trust};
    use crate::identity::Identity;
    use crate::live::{Socket, SocketConfig};

    #[test]
    fn a_code_is_good_for_ten_minutes() {
        let begun = Instant::now();
        let mut invitation = PairingOffer::new(begun, Identity::from_secret([1; 32]).public());
        for seconds in [0, 599] {
            assert!(matches!(invitation.poll(begun + Duration::from_secs(seconds)), PairingEvent::None));
        }
        let PairingEvent::Over(why) = invitation.poll(begun + Duration::from_secs(600)) else {
            panic!("it is good")
        };
        assert!(why.contains("ten minutes"), "{why}");
    }

    /// A silent peer that connected in time does not extend the code's lifetime.
    #[test]
    fn an_attempt_outlives_the_code_by_seconds_at_most() {
        let bind = |secret, listen| {
            let endpoint =
                EndpointConfig { listen, ..EndpointConfig::new(Identity::from_secret([secret; 32])) };
            Socket::bind(SocketConfig::new("127.0.0.1:0".parse().unwrap(), endpoint)).unwrap()
        };
        let server = bind(1, Some(Listen::new(Trust::Anyone, [PAIRING])));
        let client = bind(2, None);
        let request = Connect {
            remote: server.local(),
            trust: Trust::Anyone,
            service: PAIRING.into(),
            scheme: "cubic".parse().unwrap(),
            recorder: None,
        };
        let silent_peer = client.connect(request).unwrap();
        let begun = Instant::now();
        let mut invitation = PairingOffer::new(begun, Identity::from_secret([1; 32]).public());
        let last = begun + CODE_LIFETIME - Duration::from_secs(1);
        invitation.begin_attempt(last, server.accept().unwrap());
        assert!(
            matches!(invitation.poll(begun + CODE_LIFETIME), PairingEvent::None),
            "the attempt may go on"
        );
        // The attempt times out and is closed. After that the code is invalid.
        let late = last + ATTEMPT_TIMEOUT;
        while !matches!(invitation.poll(late), PairingEvent::Over(_)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(silent_peer);
    }
}
