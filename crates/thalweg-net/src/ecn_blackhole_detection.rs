//! Detection of paths that drop ECN-capable packets, from the answers to packets with and without ECT.

/// Number of retransmission timeouts without an answer after which the path is assumed to drop ECN-capable packets.
const MAX_SILENT_TIMEOUTS: u8 = 3;

/// Number of answers that cannot all be to packets sent while ECT was paused.
const ECT_RETRY_ANSWERS: u8 = 32;

/// Minimum number of packets without ECT for an estimate of their loss.
const MIN_NON_ECT_PACKETS: u32 = 32;

/// Number of packets without ECT after which ECT is retried if it cannot be blamed: more would not change the estimate.
const NON_ECT_PACKETS_BEFORE_ECT_RETRY: u32 = 256;

/// Maximum loss of packets without ECT at which ECT can be blamed: above it, timeouts of either kind are common.
const MAX_NON_ECT_LOSS: f64 = 0.3;

/// Chance of no answer to any ECT packet, under equal loss, below which the path is known to drop ECT.
const MAX_EQUAL_LOSS_PROBABILITY: f64 = 1e-4;

/// Initial failed state: nothing is known yet about packets without ECT.
const INITIAL_FAILED_ECT: Ect = Ect::Failed { left: 4, of: 4 };

/// Maximum number of consecutive answers required.
const MAX_FAILED_ECT_ANSWERS: u8 = 128;

/// Inference from sent data packets, answers and timeouts whether a path drops ECN-capable packets (an ECN black hole).
#[derive(Debug)]
pub struct EcnBlackHoleDetection {
    /// ECT state: data may be sent as ECN-capable unless the path is known to drop it.
    ect: Ect,
    /// True once a sending flow received an answer on this path.
    is_answered: bool,
    /// Retransmission timeouts since the last answer.
    silent: u8,
    /// Data packets with and without ECT.
    evidence: Evidence,
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
    non_ect: u32,
    /// Those of them that repeat lost packets without ECT.
    non_ect_repeated: u32,
    /// True from a period without an answer until new data is sent: repetitions are of packets with ECT.
    is_recovering: bool,
}

impl Evidence {
    /// Expects repetitions of the unanswered packets.
    fn recover(&mut self) {
        (self.is_recovering, self.unanswered) = (true, 0);
    }

    /// Returns true if packets without ECT are lost often enough to make timeouts of either kind common.
    fn is_lossy(&self) -> bool {
        f64::from(self.non_ect_repeated) > f64::from(self.non_ect) * MAX_NON_ECT_LOSS
    }

    /// Returns true if the loss of packets without ECT does not explain that no ECT packet was answered. Their loss is
    /// taken as three standard deviations above that observed, and as equal in both directions, as an answer needs a packet
    /// in each.
    fn rules_out_equal_loss(&self) -> bool {
        let lost = f64::from(self.non_ect_repeated);
        let loss = ((lost + 3.0 + 3.0 * (lost + 1.0).sqrt()) / f64::from(self.non_ect)).min(1.0);
        let unanswered = 1.0 - (1.0 - loss) * (1.0 - loss);
        self.non_ect >= MIN_NON_ECT_PACKETS
            && !self.is_lossy()
            && unanswered.powf(f64::from(self.lost)) < MAX_EQUAL_LOSS_PROBABILITY
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

impl EcnBlackHoleDetection {
    /// Creates the state of a path without any packet.
    pub fn new() -> Self {
        Self { ect: Ect::Used, is_answered: false, silent: 0, evidence: Evidence::default() }
    }

    /// Inherits the ECN capability of the previous path: silence is more likely due to the migration.
    #[must_use]
    pub fn inheriting_from(self, last: &Self) -> Self {
        match last.ect {
            Ect::Failed { .. } | Ect::Dropped => Self { ect: last.ect, evidence: last.evidence, ..self },
            Ect::Used => Self { is_answered: last.is_answered, ..self },
            Ect::Paused | Ect::Again(_) => self,
        }
    }

    /// Returns true if data may be sent as ECN-capable.
    pub fn ecn_capable(&self) -> bool {
        matches!(self.ect, Ect::Used | Ect::Again(_))
    }

    /// Returns the ECN state of this path, for flows that use ECN.
    pub fn state(&self) -> EcnState {
        match (self.ect, self.is_answered) {
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
            evidence.non_ect = evidence.non_ect.saturating_add(1);
            evidence.non_ect_repeated = evidence.non_ect_repeated.saturating_add(u32::from(!is_new));
        }
    }

    /// Notes an answer to a sending flow.
    #[inline]
    pub fn on_answered(&mut self) {
        (self.is_answered, self.silent) = (true, 0);
        self.evidence.unanswered = 0;
        self.ect = match self.ect {
            Ect::Paused => Ect::Again(ECT_RETRY_ANSWERS),
            Ect::Again(1) => {
                self.evidence.lost = 0;
                Ect::Used
            }
            Ect::Again(left) => Ect::Again(left - 1),
            Ect::Failed { left, of } if left > 1 => Ect::Failed { left: left - 1, of },
            Ect::Failed { .. } if self.evidence.rules_out_equal_loss() => Ect::Dropped,
            Ect::Failed { .. }
                if self.evidence.non_ect >= NON_ECT_PACKETS_BEFORE_ECT_RETRY && !self.evidence.is_lossy() =>
            {
                Ect::Again(ECT_RETRY_ANSWERS)
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
        self.silent = self.silent.saturating_add(1);
        if let Ect::Failed { of, .. } = self.ect {
            let of = of.saturating_mul(2).min(MAX_FAILED_ECT_ANSWERS);
            self.ect = Ect::Failed { left: of, of };
        } else if !self.is_answered {
            self.disable_ect_after_silence();
        } else if self.silent >= MAX_SILENT_TIMEOUTS {
            match self.ect {
                Ect::Used => {
                    self.evidence.recover();
                    self.ect = Ect::Paused;
                }
                Ect::Again(_) => self.disable_ect_after_silence(),
                Ect::Paused | Ect::Failed { .. } | Ect::Dropped => {}
            }
        }
    }

    /// Disables ECT after a period without an answer.
    fn disable_ect_after_silence(&mut self) {
        self.evidence.lost = self.evidence.lost.saturating_add(self.evidence.unanswered);
        self.evidence.recover();
        self.ect = INITIAL_FAILED_ECT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holds RFC 9000, section 13.4.2.
    #[test]
    fn three_silent_expiries_end_ecn_and_so_does_one_before_any() {
        // `a` is an answer, `t` a timeout.
        for (what, ecn_capable) in
            [("t", false), ("at", true), ("attat", true), ("attatt", true), ("attt", false), ("attta", true)]
        {
            let mut detection = EcnBlackHoleDetection::new();
            for what in what.chars() {
                if what == 'a' { detection.on_answered() } else { detection.on_timeout() }
            }
            assert_eq!(detection.ecn_capable(), ecn_capable, "{what}");
        }
    }

    /// Plays `a` answers, `t` timeouts, and `s` new or `r` repeated data packets.
    fn play(what: &str) -> EcnBlackHoleDetection {
        let mut detection = EcnBlackHoleDetection::new();
        for what in what.chars() {
            match what {
                'a' => detection.on_answered(),
                't' => detection.on_timeout(),
                _ => detection.on_data(detection.ecn_capable(), what == 's'),
            }
        }
        detection
    }

    #[test]
    fn an_outage_is_not_blamed_on_ecn_and_a_path_that_loses_it_is() {
        // One outage, and another that has not ended; the answers show that all packets pass.
        let answers = "sa".repeat(100);
        let outage = format!("{answers}sstrtrtrtrtrt");
        assert_eq!(play(&outage).state(), EcnState::Untested);
        assert_eq!(play(&format!("{outage}{answers}")).state(), EcnState::Capable);
        assert_eq!(play(&format!("{outage}{answers}{outage}{answers}")).state(), EcnState::Capable);
        // Twice, only Not-ECT packets pass.
        assert_eq!(play("sastrtrtra").state(), EcnState::Untested);
        let lost = play(&format!("sastrtrtra{answers}ssstrtrt{answers}"));
        assert_eq!((lost.state(), lost.ecn_capable()), (EcnState::Capable, true), "ECT passed in between");
        let lost = play(&format!("sastrtrtrassstrtrt{answers}"));
        assert_eq!((lost.state(), lost.ecn_capable()), (EcnState::Failed, false));
        // The path is lossy with and without ECT: ECT is not sent, but not blamed.
        let lossy = play(&format!("sastrtrtrasstrtrt{}", "satratsaatraaaa".repeat(20)));
        assert_eq!((lossy.state(), lossy.ecn_capable()), (EcnState::Untested, false));
        // A new address inherits the ECN capability; a new connection has none.
        let moved = |last: &EcnBlackHoleDetection| {
            let mut detection = EcnBlackHoleDetection::new().inheriting_from(last);
            detection.on_timeout();
            (detection.state(), detection.ecn_capable())
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
        assert_eq!(play(&format!("{}{clean}", flight(10))).state(), EcnState::Failed);
        // Two packets are not evidence even where none of 256 is lost without ECT; ECT is tried again, and passes.
        let tried = play(&format!("{}{long}", flight(2)));
        assert_eq!((tried.state(), tried.ecn_capable()), (EcnState::Untested, true));
        assert_eq!(play(&format!("{}{long}{clean}", flight(2))).state(), EcnState::Capable);
        // It is tried again and does not pass.
        assert_eq!(play(&format!("{}{long}sssstrtrt{clean}", flight(2))).state(), EcnState::Failed);
        // One of seven packets without ECT is lost: five with ECT can be, fourteen cannot; where half are, ECT is not blamed.
        let lossy = "sasasasasasara".repeat(50);
        assert_eq!(play(&format!("{}{lossy}", flight(5))).state(), EcnState::Capable);
        assert_eq!(play(&format!("{}{lossy}", flight(14))).state(), EcnState::Failed);
        let heavy = play(&format!("{}{}", flight(30), "sara".repeat(60)));
        assert_eq!((heavy.state(), heavy.ecn_capable()), (EcnState::Untested, false));
        // Losses that come later refute the conclusion.
        let refuted = format!("{}{clean}{}", flight(10), "rara".repeat(100));
        assert_eq!(play(&refuted).state(), EcnState::Untested);
    }
}
