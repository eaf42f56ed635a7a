//! The path to the peer: where it is, whether it is known to be there, and what may be sent before that is known.

use crate::identity::Entropy;
use crate::mtu::Discovery;
use crate::session::EcnState;
use core::hash::{Hash, Hasher};
use std::net::SocketAddr;
use thalweg_proto::digest::Digest;
use thalweg_proto::units::{Duration, Time};

/// To an address that has not proved to be the peer's at most so many bytes are sent for each that came from it
/// (RFC 9000, section 8).
pub const AMPLIFICATION: u64 = 3;

/// Challenges sent before an address is given up. Where three of ten packets are lost each way, one of two challenges is
/// answered: four would fail every sixteenth time, and a peer that is given up is sought at its old address until it speaks
/// again.
const TRIES: u8 = 8;

/// The wait for an answer doubles so often at most.
const DOUBLINGS: u8 = 2;

/// And it is no longer than this: almost nothing else goes to the peer meanwhile, and a challenge is short.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Expiries of a flow's timer without news after which the path counts as one that loses what is ECN-capable.
const SILENT_EXPIRIES: u8 = 3;

/// A path.
#[derive(Debug)]
pub struct Path {
    /// The peer's address.
    pub remote: SocketAddr,
    /// The search for the largest datagram that the path carries.
    pub mtu: Discovery,
    /// Data may leave as ECN-capable: such datagrams are not known to be lost here.
    ect: Ect,
    /// A flow that sends has heard of its data here.
    answered: bool,
    /// Expiries of its retransmission timer since.
    silent: u8,
    challenge: Option<Challenge>,
    received: u64,
    sent: u64,
}

/// The proof of a path that is asked for.
#[derive(Clone, Copy, Debug)]
struct Challenge {
    token: [u8; 8],
    tries: u8,
    due: Time,
}

/// The action that a path that is not proved wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Nothing now.
    Nothing,
    /// Send this challenge.
    Challenge([u8; 8]),
    /// It was asked often enough.
    GiveUp,
}

/// The sending of data as ECN-capable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ect {
    /// It is.
    Used,
    /// Not until something is heard: perhaps nothing passes at all.
    Paused,
    /// It is, once more, until so many answers have come.
    Again(u8),
    /// Not any more. It is the sign that was lost, and not much of all, once `left` answers more have come without an expiry;
    /// with each expiry it takes twice as many.
    Failed { left: u8, of: u8 },
}

/// So many answers cannot all be to what was sent while ECT was paused.
const ENOUGH_ANSWERS: u8 = 32;

/// Nothing is known yet of what leaves without the sign.
const DOUBTED: Ect = Ect::Failed { left: 4, of: 4 };

/// So many answers in a row are asked for at most.
const MOST_ANSWERS: u8 = 128;

impl Digest for Path {
    fn digest<H: Hasher>(&self, now: Time, into: &mut H) {
        self.remote.hash(into);
        self.challenge.map(|asked| (asked.token, asked.tries, asked.due.since(now))).hash(into);
        // What more may be sent matters only while the path is not proved.
        self.allowance().hash(into);
    }
}

impl Path {
    /// A path whose far end is known to receive.
    pub fn proved(remote: SocketAddr, limit: u16) -> Self {
        Self {
            remote,
            mtu: Discovery::new(limit),
            ect: Ect::Used,
            answered: false,
            silent: 0,
            challenge: None,
            received: 0,
            sent: 0,
        }
    }

    /// A path to an address from which the peer was heard for the first time.
    pub fn unproved(remote: SocketAddr, limit: u16, now: Time, entropy: &mut dyn Entropy) -> Self {
        let mut token = [0; 8];
        entropy.fill(&mut token);
        let challenge = Challenge { token, tries: 0, due: now };
        Self { challenge: Some(challenge), ..Self::proved(remote, limit) }
    }

    /// True if the peer has shown that it receives here.
    pub fn is_proved(&self) -> bool {
        self.challenge.is_none()
    }

    /// The same, where the path before it was known to carry what is ECN-capable: silence is more likely that of the move.
    #[must_use]
    pub fn after(self, last: &Self) -> Self {
        match last.ect {
            Ect::Failed { .. } => Self { ect: last.ect, ..self },
            Ect::Used => Self { answered: last.answered, ..self },
            Ect::Paused | Ect::Again(_) => self,
        }
    }

    /// True if data may leave as ECN-capable.
    pub fn ecn_capable(&self) -> bool {
        matches!(self.ect, Ect::Used | Ect::Again(_))
    }

    /// The state of ECN on this path, for flows that use it.
    pub fn ecn(&self) -> EcnState {
        match (self.ect, self.answered) {
            (Ect::Failed { left: 0, .. }, _) => EcnState::Failed,
            (Ect::Used, true) => EcnState::Capable,
            (Ect::Used, false) | (Ect::Paused | Ect::Again(_) | Ect::Failed { .. }, _) => EcnState::Untested,
        }
    }

    /// A flow that sends has heard of its data.
    #[inline]
    pub fn on_answered(&mut self) {
        (self.answered, self.silent) = (true, 0);
        self.ect = match self.ect {
            Ect::Paused => Ect::Again(ENOUGH_ANSWERS),
            Ect::Again(1) => Ect::Used,
            Ect::Again(left) => Ect::Again(left - 1),
            Ect::Failed { left, of } => Ect::Failed { left: left.saturating_sub(1), of },
            ect => ect,
        };
    }

    /// The retransmission timer of a flow expired. Where the flow had heard of nothing before the first expiry, the path may lose
    /// all that is ECN-capable: none is sent any more (RFC 9000, section 13.4.2 and appendix A.4, with the flow's own signs).
    /// Where it had, and heard of nothing between three, nothing may pass at all: none is sent until something is heard, then
    /// it is tried once more. What is not ECN-capable may be lost as well: the sign is blamed only where it is not. A path that erases the sign is not looked for: it drops in place of marking.
    pub fn on_timeout(&mut self) {
        self.mtu.on_timeout();
        self.silent = self.silent.saturating_add(1);
        if let Ect::Failed { of, .. } = self.ect {
            let of = of.saturating_mul(2).min(MOST_ANSWERS);
            self.ect = Ect::Failed { left: of, of };
        } else if !self.answered {
            self.ect = DOUBTED;
        } else if self.silent >= SILENT_EXPIRIES {
            self.ect = match self.ect {
                Ect::Used => Ect::Paused,
                Ect::Again(_) => DOUBTED,
                ect => ect,
            };
        }
    }

    /// So many bytes came.
    #[inline]
    pub fn on_received(&mut self, bytes: usize) {
        self.received += bytes as u64;
    }

    /// So many bytes were sent.
    #[inline]
    pub fn on_sent(&mut self, bytes: usize) {
        self.sent += bytes as u64;
    }

    /// The number of bytes that may be sent now.
    #[inline]
    pub fn allowance(&self) -> u64 {
        if self.is_proved() { u64::MAX } else { (self.received * AMPLIFICATION).saturating_sub(self.sent) }
    }

    /// The challenge, when one is due.
    pub fn poll(&mut self, now: Time, rtt: Option<Duration>) -> Ask {
        let Some(challenge) = &mut self.challenge else { return Ask::Nothing };
        if now < challenge.due {
            return Ask::Nothing;
        }
        if challenge.tries >= TRIES {
            return Ask::GiveUp;
        }
        let wait = rtt.map_or(Duration::from_secs(1), |rtt| (rtt * 2).max(Duration::from_millis(200)));
        challenge.due = now + (wait * (1 << challenge.tries.min(DOUBLINGS))).min(LONGEST_WAIT);
        challenge.tries += 1;
        Ask::Challenge(challenge.token)
    }

    /// The time at which [`Path::poll`] has something to do.
    pub fn deadline(&self) -> Time {
        self.challenge.map_or(Time::MAX, |challenge| challenge.due)
    }

    /// The peer answered a challenge. True if that proves this path.
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
    fn three_bytes_for_one_until_the_path_is_proved() {
        let remote = "192.0.2.1:9".parse().unwrap();
        let mut path = Path::unproved(remote, 1500, Time::ZERO, &mut SystemEntropy::new());
        assert_eq!(path.allowance(), 0);
        path.on_received(100);
        path.on_sent(250);
        assert_eq!(path.allowance(), 50);
        let Ask::Challenge(token) = path.poll(Time::ZERO, None) else { panic!("no challenge") };
        assert!(!path.on_response([0; 8]));
        assert!(!path.is_proved());
        assert!(path.on_response(token));
        assert_eq!((path.allowance(), path.deadline()), (u64::MAX, Time::MAX));
    }

    /// A round trip that was measured while almost nothing could be sent may be seconds.
    #[test]
    fn challenges_are_never_far_apart() {
        let remote = "192.0.2.1:9".parse().unwrap();
        for (rtt, expected) in [(20, [200, 400, 800, 800]), (300, [600, 1000, 1000, 1000]), (9000, [1000; 4])]
        {
            let mut path = Path::unproved(remote, 1500, Time::ZERO, &mut SystemEntropy::new());
            for wait in expected {
                let now = path.deadline();
                assert!(matches!(path.poll(now, Some(Duration::from_millis(rtt))), Ask::Challenge(_)));
                assert_eq!(path.deadline(), now + Duration::from_millis(wait), "{rtt}");
            }
        }
    }

    /// Holds RFC 9000, section 13.4.2.
    #[test]
    fn three_silent_expiries_end_ecn_and_so_does_one_before_any() {
        // `a` for an answer, `t` for an expiry of the timer.
        for (what, ecn_capable) in
            [("t", false), ("at", true), ("attat", true), ("attatt", true), ("attt", false), ("attta", true)]
        {
            let mut path = Path::proved("192.0.2.1:9".parse().unwrap(), 1500);
            for what in what.chars() {
                if what == 'a' { path.on_answered() } else { path.on_timeout() }
            }
            assert_eq!(path.ecn_capable(), ecn_capable, "{what}");
        }
    }

    #[test]
    fn an_outage_is_not_blamed_on_ecn_and_a_path_that_loses_it_is() {
        let play = |what: &str| {
            let mut path = Path::proved("192.0.2.1:9".parse().unwrap(), 1500);
            for what in what.chars() {
                if what == 'a' { path.on_answered() } else { path.on_timeout() }
            }
            path
        };
        // An outage, and one after it that has not ended; what passes shows that all passes.
        let answers = "a".repeat(100);
        let outage = format!("{answers}tttttt");
        assert_eq!(play(&outage).ecn(), EcnState::Untested);
        assert_eq!(play(&format!("{outage}{answers}")).ecn(), EcnState::Capable);
        assert_eq!(play(&format!("{outage}{answers}{outage}{answers}")).ecn(), EcnState::Capable);
        // What is Not-ECT passes, and nothing else, twice.
        assert_eq!(play("attta").ecn(), EcnState::Untested);
        let lost = play(&format!("atttaattt{answers}"));
        assert_eq!((lost.ecn(), lost.ecn_capable()), (EcnState::Failed, false));
        // Nothing passes well, with the sign and without: it is not sent, and not blamed.
        let lossy = play(&format!("atttaattt{}", "atataattaaaa".repeat(20)));
        assert_eq!((lossy.ecn(), lossy.ecn_capable()), (EcnState::Untested, false));
        assert_eq!(play(&format!("t{}", "aat".repeat(100))).ecn(), EcnState::Untested);
        assert_eq!(play(&format!("t{answers}")).ecn(), EcnState::Failed);
        // A new address is given the benefit of what was known, which is more than a new connection has.
        let moved = |last: &Path| {
            let mut path = Path::proved("192.0.2.1:10".parse().unwrap(), 1500).after(last);
            path.on_timeout();
            (path.ecn(), path.ecn_capable())
        };
        assert_eq!(moved(&play("aa")), (EcnState::Capable, true));
        assert_eq!(moved(&play("t")), (EcnState::Untested, false));
        assert_eq!(moved(&play("")), (EcnState::Untested, false));
    }

    /// Holds RFC 9000, section 8.2.4.
    #[test]
    fn an_address_that_does_not_answer_is_given_up() {
        let remote = "192.0.2.1:9".parse().unwrap();
        let mut path = Path::unproved(remote, 1500, Time::ZERO, &mut SystemEntropy::new());
        let mut challenges = 0;
        loop {
            match path.poll(path.deadline(), None) {
                Ask::Challenge(_) => challenges += 1,
                Ask::GiveUp => break,
                Ask::Nothing => panic!("nothing to do at its deadline"),
            }
        }
        assert_eq!(challenges, TRIES);
        assert!(path.deadline() <= Time::ZERO + Duration::from_secs(20));
    }
}
