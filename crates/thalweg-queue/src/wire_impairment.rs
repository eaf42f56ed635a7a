//! Applies the impairments of a wire: loss, duplication, corruption and reordering.

use crate::bernoulli_trials::Trials;
use crate::loss_process::LossProcess;
use crate::{ImpairmentSpec, LossSpec};
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::Duration;

/// Impairment outcome of one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImpairmentOutcome {
    /// Packet lost. The other fields then show no impairment.
    pub is_lost: bool,
    /// Packet corrupted.
    pub corrupted: bool,
    /// Packet duplicated; the copy has the same delay.
    pub duplicated: bool,
    /// Copy corrupted.
    pub copy_corrupted: bool,
    /// Delay beyond that of the wire; later packets may overtake.
    pub extra_delay: Duration,
}

impl ImpairmentOutcome {
    /// Outcome without impairment.
    pub const UNIMPAIRED: Self = Self {
        is_lost: false,
        corrupted: false,
        duplicated: false,
        copy_corrupted: false,
        extra_delay: Duration::ZERO,
    };
}

/// Draws the impairment outcome of each packet that enters a wire, from an [`ImpairmentSpec`].
///
/// Loss, duplication, corruption and reordering each draw from their own stream and see every packet, lost or not.
/// Enabling one thus leaves the pattern of the others unchanged. Copies are corrupted independently of their packets, like in
/// netem (Linux), from a stream for copies. A wire without impairments costs 16 bytes and one test.
#[derive(Clone, Debug, Default)]
pub struct Impairment {
    active: bool,
    /// Created on first use, then kept, so the streams continue through changes.
    parts: Option<Box<Parts>>,
}

#[derive(Clone, Debug)]
struct Parts {
    loss: LossProcess,
    duplicate: Part,
    corrupt: Part,
    corrupt_copy: Part,
    reorder: Part,
    hold: Duration,
    /// Maximum size of delivered packets, in bytes.
    largest: u32,
}

/// Random trials with their own stream: independent, or correlated with the previous one like in netem (Linux).
#[derive(Clone, Debug)]
struct Part {
    trials: Trials,
    stream: RandomStream,
    /// State of correlated trials.
    chain: Option<Chain>,
}

/// Correlated numbers in 0 to 1: each is the previous one with weight `correlation`, and for the rest uniform.
#[derive(Clone, Copy, Debug)]
struct Chain {
    correlation: f64,
    last: f64,
}

impl Impairment {
    /// Creates the impairments of `spec`.
    ///
    /// `stream` makes the random stream for a purpose, and is called only if there is any impairment. The purposes are
    /// part of reproducible runs: `loss`, `duplicate`, `corrupt`, `corrupt-copy` and `reorder`.
    pub fn new(spec: &ImpairmentSpec, stream: impl FnMut(&'static str) -> RandomStream) -> Self {
        let mut impairment = Self::default();
        impairment.set(spec, stream);
        impairment
    }

    /// Changes to `spec` from the next packet. Existing streams continue, and unchanged impairments keep their state.
    /// `stream` is called only for the first impairment ever.
    pub fn set(&mut self, spec: &ImpairmentSpec, mut stream: impl FnMut(&'static str) -> RandomStream) {
        self.active = !spec.is_transparent();
        if !self.active && self.parts.is_none() {
            return;
        }
        let parts = self.parts.get_or_insert_with(|| {
            Box::new(Parts {
                loss: LossProcess::new(&LossSpec::None, stream("loss")),
                duplicate: Part::new(stream("duplicate")),
                corrupt: Part::new(stream("corrupt")),
                corrupt_copy: Part::new(stream("corrupt-copy")),
                reorder: Part::new(stream("reorder")),
                hold: Duration::ZERO,
                largest: u32::MAX,
            })
        });
        parts.loss.set(&spec.loss);
        parts.duplicate.set(spec.duplicate, spec.duplicate_correlation);
        parts.corrupt.set(spec.corrupt, spec.corrupt_correlation);
        parts.corrupt_copy.set(spec.corrupt, spec.corrupt_correlation);
        let (held, correlation) =
            spec.reorder.map_or((0.0, 0.0), |reorder| (reorder.probability, reorder.correlation));
        parts.reorder.set(held, correlation);
        parts.hold = spec.reorder.map_or(Duration::ZERO, |reorder| reorder.delay);
        parts.largest = spec.largest.map_or(u32::MAX, |size| u32::try_from(size.get()).unwrap_or(u32::MAX));
    }

    /// Returns true while no packet is impaired, so [`Self::outcome`] need not be called.
    #[inline]
    pub const fn is_transparent(&self) -> bool {
        !self.active
    }

    /// Returns the outcome of the next packet, of `size` bytes.
    #[inline]
    pub fn outcome(&mut self, size: u32) -> ImpairmentOutcome {
        match &mut self.parts {
            Some(parts) if self.active => parts.outcome(size),
            _ => ImpairmentOutcome::UNIMPAIRED,
        }
    }
}

impl Parts {
    fn outcome(&mut self, size: u32) -> ImpairmentOutcome {
        let lost = self.loss.draw_loss(size) | (size > self.largest);
        let duplicated = self.duplicate.occurs();
        let corrupted = self.corrupt.occurs();
        let copy_corrupted = self.corrupt_copy.occurs() & duplicated;
        let extra_delay = if self.reorder.occurs() {
            self.reorder.stream.uniform_duration(self.hold)
        } else {
            Duration::ZERO
        };
        if lost {
            ImpairmentOutcome { is_lost: lost, ..ImpairmentOutcome::UNIMPAIRED }
        } else {
            ImpairmentOutcome { is_lost: lost, corrupted, duplicated, copy_corrupted, extra_delay }
        }
    }
}

impl Part {
    fn new(mut stream: RandomStream) -> Self {
        Self { trials: Trials::new(0.0, &mut stream), stream, chain: None }
    }

    fn set(&mut self, probability: f64, correlation: f64) {
        if self.trials.probability() != probability {
            self.trials = Trials::new(probability, &mut self.stream);
        }
        self.chain = match (correlation > 0.0, self.chain) {
            (false, _) => None,
            // The chain keeps its state.
            (true, Some(chain)) => Some(Chain { correlation, ..chain }),
            (true, None) => Some(Chain { correlation, last: self.stream.unit() }),
        };
    }

    #[inline]
    fn occurs(&mut self) -> bool {
        match &mut self.chain {
            None => self.trials.succeeds(&mut self.stream),
            Some(Chain { correlation, last }) => {
                *last = self.stream.unit() * (1.0 - *correlation) + *last * *correlation;
                *last < self.trials.probability()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests that impairments are independent, survive changes, and cost nothing when absent.
    use super::*;
    use crate::ReorderSpec;

    fn stream(purpose: &'static str) -> RandomStream {
        RandomStream::new(7, purpose, 0)
    }

    fn outcomes(spec: &ImpairmentSpec, n: usize) -> Vec<ImpairmentOutcome> {
        let mut impairment = Impairment::new(spec, stream);
        (0..n).map(|_| impairment.outcome(1000)).collect()
    }

    fn all_impairments() -> ImpairmentSpec {
        ImpairmentSpec {
            loss: LossSpec::Uniform { probability: 0.1 },
            duplicate: 0.05,
            corrupt: 0.02,
            reorder: Some(ReorderSpec {
                probability: 0.2,
                delay: Duration::from_millis(10),
                correlation: 0.0,
            }),
            ..ImpairmentSpec::default()
        }
    }

    #[test]
    fn a_wire_without_impairments_makes_no_stream_and_is_small() {
        // Neither for the default nor for probabilities of zero.
        let zero = ImpairmentSpec {
            loss: LossSpec::Uniform { probability: 0.0 },
            reorder: Some(ReorderSpec {
                probability: 0.0,
                delay: Duration::from_millis(1),
                correlation: 0.0,
            }),
            ..ImpairmentSpec::default()
        };
        for spec in [ImpairmentSpec::default(), zero] {
            let mut impairment = Impairment::new(&spec, |_| panic!("no stream is needed"));
            assert!(impairment.is_transparent());
            assert_eq!(impairment.outcome(1000), ImpairmentOutcome::UNIMPAIRED);
        }
        assert!(size_of::<Impairment>() <= 16);
    }

    #[test]
    fn each_impairment_has_its_probability() {
        // 200 000 packets: the counts are within 5 standard deviations, and delays have the mean of a uniform.
        let outcomes = outcomes(&all_impairments(), 200_000);
        let count = |f: &dyn Fn(&ImpairmentOutcome) -> bool| {
            outcomes.iter().filter(|outcome| f(outcome)).count() as f64
        };
        let near = |count: f64, p: f64| (count - 2e5 * p).abs() < 5.0 * (2e5 * p * (1.0 - p)).sqrt();
        assert!(near(count(&|f| f.is_lost), 0.1));
        assert!(near(count(&|f| f.duplicated), 0.9 * 0.05));
        assert!(near(count(&|f| f.corrupted), 0.9 * 0.02));
        let held: Vec<f64> =
            outcomes.iter().map(|f| f.extra_delay.as_millis_f64()).filter(|ms| *ms > 0.0).collect();
        assert!(near(held.len() as f64, 0.9 * 0.2));
        assert!((held.iter().sum::<f64>() / held.len() as f64 - 5.0).abs() < 0.1);
        assert!(held.iter().all(|ms| *ms < 10.0));
    }

    #[test]
    fn a_lost_packet_has_no_other_impairment() {
        // With all probabilities 1, only the loss is reported.
        let spec = ImpairmentSpec {
            loss: LossSpec::Uniform { probability: 1.0 },
            duplicate: 1.0,
            corrupt: 1.0,
            reorder: None,
            ..ImpairmentSpec::default()
        };
        assert!(
            outcomes(&spec, 10)
                .iter()
                .all(|outcome| *outcome
                    == ImpairmentOutcome { is_lost: true, ..ImpairmentOutcome::UNIMPAIRED })
        );
    }

    /// A packet of the maximum size arrives; every larger one, from the first on, does not.
    #[test]
    fn an_mtu_black_hole_drops_large_packets() {
        let largest = Some(thalweg_proto::units::Bytes::new(1400));
        let mut impairment =
            Impairment::new(&ImpairmentSpec { largest, ..ImpairmentSpec::default() }, stream);
        let lost = [1401, 1400, 40, 9000].map(|size| impairment.outcome(size).is_lost);
        assert_eq!(lost, [true, false, false, true]);
    }

    #[test]
    fn enabling_one_impairment_leaves_the_others_unchanged() {
        // The packets corrupted under loss are those corrupted without loss, minus the lost ones.
        let calm =
            outcomes(&ImpairmentSpec { loss: LossSpec::None, duplicate: 0.0, ..all_impairments() }, 10_000);
        for (with, without) in outcomes(&all_impairments(), 10_000).iter().zip(&calm) {
            assert!(
                with.is_lost
                    || (with.corrupted, with.extra_delay) == (without.corrupted, without.extra_delay)
            );
        }
    }

    /// netem (Linux) duplicates first, and corrupts each of the two.
    #[test]
    fn a_copy_is_corrupted_independently() {
        let spec = ImpairmentSpec { duplicate: 0.5, corrupt: 0.2, ..ImpairmentSpec::default() };
        let outcomes = outcomes(&spec, 100_000);
        let share = |has: fn(&ImpairmentOutcome) -> bool| {
            outcomes.iter().filter(|outcome| has(outcome)).count() as f64 / 1e5
        };
        assert!((share(|of| of.copy_corrupted) - 0.1).abs() < 0.005);
        assert!((share(|of| of.copy_corrupted && of.corrupted) - 0.02).abs() < 0.002);
        assert!(outcomes.iter().all(|of| of.duplicated || !of.copy_corrupted));
    }

    #[test]
    fn a_change_leaves_other_streams_unchanged() {
        // Duplication is raised half-way; losses continue unchanged.
        let steady = outcomes(&all_impairments(), 2_000);
        let mut impairment = Impairment::new(&all_impairments(), stream);
        let changed: Vec<ImpairmentOutcome> = (0..2_000)
            .map(|i| {
                if i == 1_000 {
                    impairment.set(&ImpairmentSpec { duplicate: 0.5, ..all_impairments() }, |_| {
                        panic!("streams are kept")
                    });
                }
                impairment.outcome(1000)
            })
            .collect();
        assert!(
            changed.iter().zip(&steady).all(|(a, b)| a.is_lost == b.is_lost && a.corrupted == b.corrupted)
        );
        assert_eq!(changed[..1_000], steady[..1_000]);
        assert_ne!(changed, steady);
    }

    #[test]
    fn impairments_may_stop_and_resume() {
        // After a period without impairments the streams continue; they are not created anew, and the pattern differs
        // from the first.
        let mut impairment = Impairment::new(&all_impairments(), stream);
        let first: Vec<ImpairmentOutcome> = (0..1_000).map(|_| impairment.outcome(1000)).collect();
        impairment.set(&ImpairmentSpec::default(), stream);
        assert!(impairment.is_transparent());
        assert!((0..1_000).all(|_| impairment.outcome(1000) == ImpairmentOutcome::UNIMPAIRED));
        impairment.set(&all_impairments(), |_| panic!("streams are kept"));
        let second: Vec<ImpairmentOutcome> = (0..1_000).map(|_| impairment.outcome(1000)).collect();
        assert_ne!(first, second);
    }

    /// At a probability of 1/2, half of the packets are impaired for any correlation. After an impaired packet the next
    /// one is impaired with a probability of nearly 1/2 + asin(rho) / pi at a correlation of 0.9 (see the test of
    /// correlated losses).
    #[test]
    fn correlated_duplicates_damage_and_reordering_are_those_of_netem() {
        let reorder = |correlation| {
            Some(ReorderSpec { probability: 0.5, delay: Duration::from_millis(10), correlation })
        };
        let spec = |correlation| ImpairmentSpec {
            duplicate: 0.5,
            duplicate_correlation: correlation,
            corrupt: 0.5,
            corrupt_correlation: correlation,
            reorder: reorder(correlation),
            ..ImpairmentSpec::default()
        };
        let likely = 0.5 + libm::asin(0.9) / core::f64::consts::PI;
        for (correlation, expected) in [(0.0, 0.5), (0.9, likely)] {
            assert_eq!(spec(correlation).check(), Ok(()));
            let outcomes = outcomes(&spec(correlation), 200_000);
            let kinds: [fn(&ImpairmentOutcome) -> bool; 3] = [
                |outcome| outcome.duplicated,
                |outcome| outcome.corrupted,
                |outcome| !outcome.extra_delay.is_zero(),
            ];
            for strikes in kinds {
                let struck = outcomes.iter().filter(|outcome| strikes(outcome)).count() as f64;
                let again =
                    outcomes.windows(2).filter(|pair| strikes(&pair[0]) && strikes(&pair[1])).count() as f64;
                assert!((struck / 2e5 - 0.5).abs() < 0.03, "{correlation}: {struck}");
                assert!((again / struck - expected).abs() < 0.03, "{correlation}: {}", again / struck);
            }
        }
        assert!(spec(1.5).check().is_err());
    }
}
