//! Path to the peer: its address, address validation, and limits before validation.

use crate::ecn_blackhole_detection::{EcnBlackHoleDetection, EcnState};
use crate::identity::Entropy;
use crate::path_mtu_discovery::Discovery;
use core::hash::{Hash, Hasher};
use std::net::SocketAddr;
use thalweg_proto::state_digest::Digest;
use thalweg_proto::units::{Duration, Time};

/// Amplification limit: bytes sent to an unvalidated address per byte received from it (RFC 9000, section 8).
pub const AMPLIFICATION: u64 = 3;

/// Number of challenges before an address is given up. With 30 % loss in each direction, one of two challenges is
/// answered, so four would fail every sixteenth time. A peer that is given up is sent to at its old address until its
/// next packet.
const MAX_CHALLENGES: u8 = 8;

/// Maximum number of doublings of the challenge timeout.
const MAX_CHALLENGE_TIMEOUT_DOUBLINGS: u8 = 2;

/// Maximum challenge timeout. It is short, because almost nothing else may be sent meanwhile and a challenge is small.
const MAX_CHALLENGE_TIMEOUT: Duration = Duration::from_secs(1);

/// Path to a peer address.
#[derive(Debug)]
pub struct Path {
    /// Address of the peer.
    pub remote: SocketAddr,
    /// Path MTU discovery.
    pub mtu: Discovery,
    /// Detection of a path that drops ECN-capable packets.
    ecn_detection: EcnBlackHoleDetection,
    challenge: Option<Challenge>,
    received: u64,
    sent: u64,
}

/// Pending address validation.
#[derive(Clone, Copy, Debug)]
struct Challenge {
    token: [u8; 8],
    tries: u8,
    next_send: Time,
}

/// Next action of an unvalidated path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChallengeAction {
    /// No action now.
    Nothing,
    /// Challenge to send.
    Challenge([u8; 8]),
    /// Validation failed after the maximum number of challenges.
    GiveUp,
}

impl Digest for Path {
    fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        self.remote.hash(into);
        self.challenge
            .map(|challenge| (challenge.token, challenge.tries, challenge.next_send.since(now)))
            .hash(into);
        // The limit matters only while the path is unvalidated.
        self.allowance().hash(into);
    }
}

impl Path {
    /// Creates a validated path.
    pub fn validated(remote: SocketAddr, limit: u16) -> Self {
        Self {
            remote,
            mtu: Discovery::new(limit),
            ecn_detection: EcnBlackHoleDetection::new(),
            challenge: None,
            received: 0,
            sent: 0,
        }
    }

    /// Creates an unvalidated path to a new source address of the peer.
    pub fn unvalidated(remote: SocketAddr, limit: u16, now: Time, entropy: &mut dyn Entropy) -> Self {
        let mut token = [0; 8];
        entropy.fill(&mut token);
        let challenge = Challenge { token, tries: 0, next_send: now };
        Self { challenge: Some(challenge), ..Self::validated(remote, limit) }
    }

    /// Returns true if the address is validated.
    pub fn is_validated(&self) -> bool {
        self.challenge.is_none()
    }

    /// Inherits ECN capability from the previous path: silence is more likely due to the migration.
    #[must_use]
    pub fn inheriting_ecn_from(self, last: &Self) -> Self {
        Self { ecn_detection: self.ecn_detection.inheriting_from(&last.ecn_detection), ..self }
    }

    /// Returns true if data may be sent as ECN-capable.
    pub fn ecn_capable(&self) -> bool {
        self.ecn_detection.ecn_capable()
    }

    /// Returns the ECN state of this path, for flows that use ECN.
    pub fn ecn(&self) -> EcnState {
        self.ecn_detection.state()
    }

    /// Counts a data packet, sent with or without ECT, for the first time or again.
    #[inline]
    pub fn on_data(&mut self, is_ect: bool, is_new: bool) {
        self.ecn_detection.on_data(is_ect, is_new);
    }

    /// Notes an answer to a sending flow.
    #[inline]
    pub fn on_answered(&mut self) {
        self.ecn_detection.on_answered();
    }

    /// Handles an expired retransmission timer of a flow.
    pub fn on_timeout(&mut self) {
        self.mtu.on_timeout();
        self.ecn_detection.on_timeout();
    }

    /// Counts received bytes.
    #[inline]
    pub fn on_received(&mut self, bytes: usize) {
        self.received += bytes as u64;
    }

    /// Counts sent bytes.
    #[inline]
    pub fn on_sent(&mut self, bytes: usize) {
        self.sent += bytes as u64;
    }

    /// Returns the number of bytes that may be sent now.
    #[inline]
    pub fn allowance(&self) -> u64 {
        if self.is_validated() { u64::MAX } else { (self.received * AMPLIFICATION).saturating_sub(self.sent) }
    }

    /// Returns the challenge, when one is due.
    pub fn poll(&mut self, now: Time, rtt: Option<Duration>) -> ChallengeAction {
        let Some(challenge) = &mut self.challenge else { return ChallengeAction::Nothing };
        if now < challenge.next_send {
            return ChallengeAction::Nothing;
        }
        if challenge.tries >= MAX_CHALLENGES {
            return ChallengeAction::GiveUp;
        }
        let wait = rtt.map_or(Duration::from_secs(1), |rtt| (rtt * 2).max(Duration::from_millis(200)));
        challenge.next_send = now
            + (wait * (1 << challenge.tries.min(MAX_CHALLENGE_TIMEOUT_DOUBLINGS))).min(MAX_CHALLENGE_TIMEOUT);
        challenge.tries += 1;
        ChallengeAction::Challenge(challenge.token)
    }

    /// Returns the time of the next [`Path::poll`].
    pub fn deadline(&self) -> Time {
        self.challenge.map_or(Time::MAX, |challenge| challenge.next_send)
    }

    /// Handles the response to a challenge. Returns true if it validates this path.
    pub fn on_response(&mut self, token: [u8; 8]) -> bool {
        let is_proof = self.challenge.is_some_and(|challenge| challenge.token == token);
        if is_proof {
            self.challenge = None;
        }
        is_proof
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::SystemEntropy;

    /// Holds RFC 9000, section 8.1; RFC 9000, section 8.2.3.
    #[test]
    fn at_most_three_bytes_per_byte_until_the_path_is_validated() {
        let remote = "192.0.2.1:9".parse().unwrap();
        let mut path = Path::unvalidated(remote, 1500, Time::ZERO, &mut SystemEntropy::new());
        assert_eq!(path.allowance(), 0);
        path.on_received(100);
        path.on_sent(250);
        assert_eq!(path.allowance(), 50);
        let ChallengeAction::Challenge(token) = path.poll(Time::ZERO, None) else { panic!("no challenge") };
        assert!(!path.on_response([0; 8]));
        assert!(!path.is_validated());
        assert!(path.on_response(token));
        assert_eq!((path.allowance(), path.deadline()), (u64::MAX, Time::MAX));
    }

    /// A round trip measured under the amplification limit may take seconds.
    #[test]
    fn challenge_intervals_are_bounded() {
        let remote = "192.0.2.1:9".parse().unwrap();
        for (rtt, expected) in [(20, [200, 400, 800, 800]), (300, [600, 1000, 1000, 1000]), (9000, [1000; 4])]
        {
            let mut path = Path::unvalidated(remote, 1500, Time::ZERO, &mut SystemEntropy::new());
            for wait in expected {
                let now = path.deadline();
                assert!(matches!(
                    path.poll(now, Some(Duration::from_millis(rtt))),
                    ChallengeAction::Challenge(_)
                ));
                assert_eq!(path.deadline(), now + Duration::from_millis(wait), "{rtt}");
            }
        }
    }

    /// Holds RFC 9000, section 8.2.4.
    #[test]
    fn an_address_that_does_not_answer_is_abandoned() {
        let remote = "192.0.2.1:9".parse().unwrap();
        let mut path = Path::unvalidated(remote, 1500, Time::ZERO, &mut SystemEntropy::new());
        let mut challenges = 0;
        loop {
            match path.poll(path.deadline(), None) {
                ChallengeAction::Challenge(_) => challenges += 1,
                ChallengeAction::GiveUp => break,
                ChallengeAction::Nothing => panic!("nothing to do at its deadline"),
            }
        }
        assert_eq!(challenges, MAX_CHALLENGES);
        assert!(path.deadline() <= Time::ZERO + Duration::from_secs(20));
    }
}
