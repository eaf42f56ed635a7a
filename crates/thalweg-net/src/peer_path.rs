//! Path to the peer: its address, address validation, and limits before validation.

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
const TRIES: u8 = 8;

/// Maximum number of doublings of the challenge timeout.
const DOUBLINGS: u8 = 2;

/// Maximum challenge timeout. It is short, because almost nothing else may be sent meanwhile and a challenge is small.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Number of retransmission timeouts without an answer after which the path is assumed to drop ECN-capable packets.
const SILENT_EXPIRIES: u8 = 3;

/// Path to a peer address.
#[derive(Debug)]
pub struct Path {
    /// Address of the peer.
    pub remote: SocketAddr,
    /// Path MTU discovery.
    pub mtu: Discovery,
    /// ECT state: data may be sent as ECN-capable unless the path is known to drop it.
    ect: Ect,
    /// True once a sending flow received an answer on this path.
    answered: bool,
    /// Retransmission timeouts since the last answer.
    silent: u8,
    /// Data packets with and without ECT.
    evidence: Evidence,
    challenge: Option<Challenge>,
    received: u64,
    sent: u64,
}

/// Pending address validation.
#[derive(Clone, Copy, Debug)]
struct Challenge {
    token: [u8; 8],
    tries: u8,
    due: Time,
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

/// Use of ECN-capable transport (ECT).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ect {
    /// ECT in use.
    Used,
    /// ECT paused until an answer arrives: the path may drop everything.
    Paused,
    /// ECT retried, until this many more answers arrive.
    Again(u8),
    /// ECT disabled. After `left` more answers without a timeout the evidence decides between `Dropped` and `Again`; each
    /// timeout doubles the number.
    Failed { left: u8, of: u8 },
    /// ECT disabled: equal loss of packets with and without ECT was ruled out.
    Dropped,
}

/// Data packets whose fate tells a path that drops ECT from one that loses packets of any kind.
#[derive(Clone, Copy, Debug, Default)]
struct Evidence {
    /// ECT packets sent since the last answer.
    unanswered: u32,
    /// ECT packets of periods that ended without an answer, since ECT was last seen to pass.
    lost: u32,
    /// Packets sent without ECT, but for those of `is_recovering`.
    plain: u32,
    /// Those of them that repeat lost packets without ECT.
    plain_again: u32,
    /// True from a period without an answer until new data is sent: repetitions are of packets with ECT.
    is_recovering: bool,
}

impl Evidence {
    /// Expects repetitions of the unanswered packets.
    fn recover(&mut self) {
        (self.is_recovering, self.unanswered) = (true, 0);
    }

    /// Returns true if so many packets without ECT are lost that timeouts of either kind are common.
    fn is_lossy(&self) -> bool {
        f64::from(self.plain_again) > f64::from(self.plain) * MAX_PLAIN_LOSS
    }

    /// Returns true if the loss of packets without ECT does not explain that no ECT packet was answered. Their loss is
    /// taken as three standard deviations above that observed, and as equal in both directions, as an answer needs a packet
    /// in each.
    fn rules_out_equal_loss(&self) -> bool {
        let lost = f64::from(self.plain_again);
        let loss = ((lost + 3.0 + 3.0 * (lost + 1.0).sqrt()) / f64::from(self.plain)).min(1.0);
        let unanswered = 1.0 - (1.0 - loss) * (1.0 - loss);
        self.plain >= MIN_PLAIN && !self.is_lossy() && unanswered.powf(f64::from(self.lost)) < MAX_CHANCE
    }
}

/// ECN state (RFC 3168) of this end's data: sent as ECN-capable or not, and the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnState {
    /// Not ECN-capable: the scheme does not react to CE, or ECN is disabled.
    #[default]
    Off,
    /// ECN-capable, without any answer on this path yet.
    Untested,
    /// ECN-capable, and answered.
    Capable,
    /// No longer ECN-capable: the path seems to drop ECN-capable packets.
    Failed,
    /// No longer ECN-capable: the peer or the path conceals marks.
    Concealed,
}

impl EcnState {
    /// All states.
    pub const ALL: [Self; 5] = [Self::Off, Self::Untested, Self::Capable, Self::Failed, Self::Concealed];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Untested => "untested",
            Self::Capable => "capable",
            Self::Failed => "failed",
            Self::Concealed => "concealed",
        }
    }

    /// Returns true if data is sent as ECN-capable.
    pub const fn is_used(self) -> bool {
        matches!(self, Self::Untested | Self::Capable)
    }
}

/// Number of answers that cannot all be to packets sent while ECT was paused.
const ENOUGH_ANSWERS: u8 = 32;

/// Minimum number of packets without ECT for an estimate of their loss.
const MIN_PLAIN: u32 = 32;

/// Number of packets without ECT after which ECT is retried if it cannot be blamed: more would not change the estimate.
const ENOUGH_PLAIN: u32 = 256;

/// Maximum loss of packets without ECT at which ECT can be blamed: above it, timeouts of either kind are common.
const MAX_PLAIN_LOSS: f64 = 0.3;

/// Chance of no answer to any ECT packet, under equal loss, below which the path is known to drop ECT.
const MAX_CHANCE: f64 = 1e-4;

/// Initial failed state: nothing is known yet about packets without ECT.
const DOUBTED: Ect = Ect::Failed { left: 4, of: 4 };

/// Maximum number of consecutive answers required.
const MAX_ANSWERS: u8 = 128;

impl Digest for Path {
    fn digest<H: Hasher>(&self, now: Time, into: &mut H) {
        self.remote.hash(into);
        self.challenge
            .map(|challenge| (challenge.token, challenge.tries, challenge.due.since(now)))
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
            ect: Ect::Used,
            answered: false,
            silent: 0,
            evidence: Evidence::default(),
            challenge: None,
            received: 0,
            sent: 0,
        }
    }

    /// Creates an unvalidated path to a new source address of the peer.
    pub fn unvalidated(remote: SocketAddr, limit: u16, now: Time, entropy: &mut dyn Entropy) -> Self {
        let mut token = [0; 8];
        entropy.fill(&mut token);
        let challenge = Challenge { token, tries: 0, due: now };
        Self { challenge: Some(challenge), ..Self::validated(remote, limit) }
    }

    /// Returns true if the address is validated.
    pub fn is_validated(&self) -> bool {
        self.challenge.is_none()
    }

    /// Inherits ECN capability from the previous path: silence is more likely due to the migration.
    #[must_use]
    pub fn after(self, last: &Self) -> Self {
        match last.ect {
            Ect::Failed { .. } | Ect::Dropped => Self { ect: last.ect, evidence: last.evidence, ..self },
            Ect::Used => Self { answered: last.answered, ..self },
            Ect::Paused | Ect::Again(_) => self,
        }
    }

    /// Returns true if data may be sent as ECN-capable.
    pub fn ecn_capable(&self) -> bool {
        matches!(self.ect, Ect::Used | Ect::Again(_))
    }

    /// Returns the ECN state of this path, for flows that use ECN.
    pub fn ecn(&self) -> EcnState {
        match (self.ect, self.answered) {
            // Later losses without ECT can refute it.
            (Ect::Dropped, _) if self.evidence.rules_out_equal_loss() => EcnState::Failed,
            (Ect::Used, true) => EcnState::Capable,
            _ => EcnState::Untested,
        }
    }

    /// Counts a data packet, sent with or without ECT, for the first time or again.
    #[inline]
    pub fn on_data(&mut self, is_ect: bool, is_new: bool) {
        let evidence = &mut self.evidence;
        if is_ect {
            evidence.unanswered = evidence.unanswered.saturating_add(1);
        } else if is_new || !evidence.is_recovering {
            evidence.is_recovering = false;
            evidence.plain = evidence.plain.saturating_add(1);
            evidence.plain_again = evidence.plain_again.saturating_add(u32::from(!is_new));
        }
    }

    /// Notes an answer to a sending flow.
    #[inline]
    pub fn on_answered(&mut self) {
        (self.answered, self.silent) = (true, 0);
        self.evidence.unanswered = 0;
        self.ect = match self.ect {
            Ect::Paused => Ect::Again(ENOUGH_ANSWERS),
            Ect::Again(1) => {
                self.evidence.lost = 0;
                Ect::Used
            }
            Ect::Again(left) => Ect::Again(left - 1),
            Ect::Failed { left, of } if left > 1 => Ect::Failed { left: left - 1, of },
            Ect::Failed { .. } if self.evidence.rules_out_equal_loss() => Ect::Dropped,
            Ect::Failed { .. } if self.evidence.plain >= ENOUGH_PLAIN && !self.evidence.is_lossy() => {
                Ect::Again(ENOUGH_ANSWERS)
            }
            Ect::Failed { of, .. } => Ect::Failed { left: 0, of },
            ect @ (Ect::Used | Ect::Dropped) => ect,
        };
    }

    /// Handles an expired retransmission timer of a flow. If the flow had no answer before the first timeout, the path
    /// may drop all ECN-capable packets: ECT is disabled (RFC 9000, section 13.4.2 and appendix A.4, with the flow's
    /// own signals). If it had, and no answer arrives between three timeouts, the path may drop everything: ECT is
    /// paused until an answer arrives, then retried. Packets without ECT may be lost as well; ECT is blamed only if
    /// their loss makes it improbable that all packets with ECT were lost, and is retried if it does not. A path that
    /// clears ECT is not detected: it drops instead of marking.
    pub fn on_timeout(&mut self) {
        self.mtu.on_timeout();
        self.silent = self.silent.saturating_add(1);
        if let Ect::Failed { of, .. } = self.ect {
            let of = of.saturating_mul(2).min(MAX_ANSWERS);
            self.ect = Ect::Failed { left: of, of };
        } else if !self.answered {
            self.suspect();
        } else if self.silent >= SILENT_EXPIRIES {
            match self.ect {
                Ect::Used => {
                    self.evidence.recover();
                    self.ect = Ect::Paused;
                }
                Ect::Again(_) => self.suspect(),
                Ect::Paused | Ect::Failed { .. } | Ect::Dropped => {}
            }
        }
    }

    /// Disables ECT after a period without an answer.
    fn suspect(&mut self) {
        self.evidence.lost = self.evidence.lost.saturating_add(self.evidence.unanswered);
        self.evidence.recover();
        self.ect = DOUBTED;
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
        if now < challenge.due {
            return ChallengeAction::Nothing;
        }
        if challenge.tries >= TRIES {
            return ChallengeAction::GiveUp;
        }
        let wait = rtt.map_or(Duration::from_secs(1), |rtt| (rtt * 2).max(Duration::from_millis(200)));
        challenge.due = now + (wait * (1 << challenge.tries.min(DOUBLINGS))).min(MAX_WAIT);
        challenge.tries += 1;
        ChallengeAction::Challenge(challenge.token)
    }

    /// Returns the time of the next [`Path::poll`].
    pub fn deadline(&self) -> Time {
        self.challenge.map_or(Time::MAX, |challenge| challenge.due)
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

    /// Holds RFC 9000, section 13.4.2.
    #[test]
    fn three_silent_expiries_end_ecn_and_so_does_one_before_any() {
        // `a` is an answer, `t` a timeout.
        for (what, ecn_capable) in
            [("t", false), ("at", true), ("attat", true), ("attatt", true), ("attt", false), ("attta", true)]
        {
            let mut path = Path::validated("192.0.2.1:9".parse().unwrap(), 1500);
            for what in what.chars() {
                if what == 'a' { path.on_answered() } else { path.on_timeout() }
            }
            assert_eq!(path.ecn_capable(), ecn_capable, "{what}");
        }
    }

    /// Plays `a` answers, `t` timeouts, and `s` new or `r` repeated data packets.
    fn play(what: &str) -> Path {
        let mut path = Path::validated("192.0.2.1:9".parse().unwrap(), 1500);
        for what in what.chars() {
            match what {
                'a' => path.on_answered(),
                't' => path.on_timeout(),
                _ => path.on_data(path.ecn_capable(), what == 's'),
            }
        }
        path
    }

    #[test]
    fn an_outage_is_not_blamed_on_ecn_and_a_path_that_loses_it_is() {
        // One outage, and another that has not ended; the answers show that all packets pass.
        let answers = "sa".repeat(100);
        let outage = format!("{answers}sstrtrtrtrtrt");
        assert_eq!(play(&outage).ecn(), EcnState::Untested);
        assert_eq!(play(&format!("{outage}{answers}")).ecn(), EcnState::Capable);
        assert_eq!(play(&format!("{outage}{answers}{outage}{answers}")).ecn(), EcnState::Capable);
        // Twice, only Not-ECT packets pass.
        assert_eq!(play("sastrtrtra").ecn(), EcnState::Untested);
        let lost = play(&format!("sastrtrtra{answers}ssstrtrt{answers}"));
        assert_eq!((lost.ecn(), lost.ecn_capable()), (EcnState::Capable, true), "ECT passed in between");
        let lost = play(&format!("sastrtrtrassstrtrt{answers}"));
        assert_eq!((lost.ecn(), lost.ecn_capable()), (EcnState::Failed, false));
        // The path is lossy with and without ECT: ECT is not sent, but not blamed.
        let lossy = play(&format!("sastrtrtrasstrtrt{}", "satratsaatraaaa".repeat(20)));
        assert_eq!((lossy.ecn(), lossy.ecn_capable()), (EcnState::Untested, false));
        // A new address inherits the ECN capability; a new connection has none.
        let moved = |last: &Path| {
            let mut path = Path::validated("192.0.2.1:10".parse().unwrap(), 1500).after(last);
            path.on_timeout();
            (path.ecn(), path.ecn_capable())
        };
        assert_eq!(moved(&play("aa")), (EcnState::Capable, true));
        assert_eq!(moved(&play("t")), (EcnState::Untested, false));
        assert_eq!(moved(&play("")), (EcnState::Untested, false));
    }

    /// Holds RFC 9000, section 13.4.2.
    ///
    /// The same silence before the first answer is evidence or not by the number of packets in it and by the loss of packets
    /// without ECT (appendix A.4): a packet of 1 is lost in every fourth round trip at 13 % loss, all of 10 in every
    /// millionth.
    #[test]
    fn ect_is_blamed_only_if_equal_loss_is_improbable() {
        let flight = |packets: usize| format!("{}t{}", "s".repeat(packets), "r".repeat(packets));
        let (clean, long) = ("sa".repeat(40), "sa".repeat(260));
        assert_eq!(play(&format!("{}{clean}", flight(10))).ecn(), EcnState::Failed);
        // Two packets are no evidence even where none of 256 is lost without ECT; ECT is tried again, and passes.
        let tried = play(&format!("{}{long}", flight(2)));
        assert_eq!((tried.ecn(), tried.ecn_capable()), (EcnState::Untested, true));
        assert_eq!(play(&format!("{}{long}{clean}", flight(2))).ecn(), EcnState::Capable);
        // It is tried again and does not pass.
        assert_eq!(play(&format!("{}{long}sssstrtrt{clean}", flight(2))).ecn(), EcnState::Failed);
        // One of seven packets without ECT is lost: five with ECT can be, fourteen cannot; where half are, ECT is not blamed.
        let lossy = "sasasasasasara".repeat(50);
        assert_eq!(play(&format!("{}{lossy}", flight(5))).ecn(), EcnState::Capable);
        assert_eq!(play(&format!("{}{lossy}", flight(14))).ecn(), EcnState::Failed);
        let heavy = play(&format!("{}{}", flight(30), "sara".repeat(60)));
        assert_eq!((heavy.ecn(), heavy.ecn_capable()), (EcnState::Untested, false));
        // Losses that come later refute the conclusion.
        let refuted = format!("{}{clean}{}", flight(10), "rara".repeat(100));
        assert_eq!(play(&refuted).ecn(), EcnState::Untested);
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
        assert_eq!(challenges, TRIES);
        assert!(path.deadline() <= Time::ZERO + Duration::from_secs(20));
    }
}
