//! Impairments of a wire besides delay.

use crate::loss::LossProcess;
use crate::trials::Trials;
use crate::{ImpairmentSpec, LossSpec};
use thalweg_proto::random::Stream;
use thalweg_proto::units::Duration;

/// Impairment outcome of one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// Packet lost. The other fields then show no impairment.
    pub lost: bool,
    /// Packet corrupted.
    pub corrupted: bool,
    /// Packet duplicated; the copy has the same corruption and delay.
    pub duplicated: bool,
    /// Delay beyond that of the wire; later packets may overtake.
    pub extra_delay: Duration,
}

impl Fate {
    /// Outcome without impairment.
    pub const UNIMPAIRED: Self =
        Self { lost: false, corrupted: false, duplicated: false, extra_delay: Duration::ZERO };
}

/// Draws the impairment outcome of each packet that enters a wire, from an [`ImpairmentSpec`].
///
/// Loss, duplication, corruption and reordering each draw from their own stream and see every packet, lost or not.
/// Enabling one thus leaves the pattern of the others unchanged. A wire without impairments costs 16 bytes and one
/// test.
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
    reorder: Part,
    hold: Duration,
    /// Maximum size of delivered packets, in bytes.
    largest: u32,
}

/// Random trials with their own stream: independent, or correlated with the previous one like in netem (Linux).
#[derive(Clone, Debug)]
struct Part {
    trials: Trials,
    stream: Stream,
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
    /// part of reproducible runs: `loss`, `duplicate`, `corrupt` and `reorder`.
    pub fn new(spec: &ImpairmentSpec, stream: impl FnMut(&'static str) -> Stream) -> Self {
        let mut impairment = Self::default();
        impairment.set(spec, stream);
        impairment
    }

    /// Changes to `spec` from the next packet. Existing streams continue, and unchanged impairments keep their state.
    /// `stream` is called only for the first impairment ever.
    pub fn set(&mut self, spec: &ImpairmentSpec, mut stream: impl FnMut(&'static str) -> Stream) {
        self.active = !spec.is_transparent();
        if !self.active && self.parts.is_none() {
            return;
        }
        let parts = self.parts.get_or_insert_with(|| {
            Box::new(Parts {
                loss: LossProcess::new(&LossSpec::None, stream("loss")),
                duplicate: Part::new(stream("duplicate")),
                corrupt: Part::new(stream("corrupt")),
                reorder: Part::new(stream("reorder")),
                hold: Duration::ZERO,
                largest: u32::MAX,
            })
        });
        parts.loss.set(&spec.loss);
        parts.duplicate.set(spec.duplicate, spec.duplicate_correlation);
        parts.corrupt.set(spec.corrupt, spec.corrupt_correlation);
        let (held, correlation) =
            spec.reorder.map_or((0.0, 0.0), |reorder| (reorder.probability, reorder.correlation));
        parts.reorder.set(held, correlation);
        parts.hold = spec.reorder.map_or(Duration::ZERO, |reorder| reorder.delay);
        parts.largest = spec.largest.map_or(u32::MAX, |size| u32::try_from(size.get()).unwrap_or(u32::MAX));
    }

    /// Returns true while no packet is impaired, so [`fate`](Self::fate) need not be called.
    #[inline]
    pub const fn is_transparent(&self) -> bool {
        !self.active
    }

    /// Returns the outcome of the next packet, of `size` bytes.
    #[inline]
    pub fn fate(&mut self, size: u32) -> Fate {
        match &mut self.parts {
            Some(parts) if self.active => parts.fate(size),
            _ => Fate::UNIMPAIRED,
        }
    }
}

impl Parts {
    fn fate(&mut self, size: u32) -> Fate {
        let lost = self.loss.lose(size) | (size > self.largest);
        let duplicated = self.duplicate.strikes();
        let corrupted = self.corrupt.strikes();
        let extra_delay = if self.reorder.strikes() {
            self.reorder.stream.uniform_duration(self.hold)
        } else {
            Duration::ZERO
        };
        if lost {
            Fate { lost, ..Fate::UNIMPAIRED }
        } else {
            Fate { lost, corrupted, duplicated, extra_delay }
        }
    }
}

impl Part {
    fn new(mut stream: Stream) -> Self {
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
    fn strikes(&mut self) -> bool {
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

    fn stream(purpose: &'static str) -> Stream {
        Stream::new(7, purpose, 0)
    }

    fn fates(spec: &ImpairmentSpec, n: usize) -> Vec<Fate> {
        let mut impairment = Impairment::new(spec, stream);
        (0..n).map(|_| impairment.fate(1000)).collect()
    }

    fn all() -> ImpairmentSpec {
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
            assert_eq!(impairment.fate(1000), Fate::UNIMPAIRED);
        }
        assert!(size_of::<Impairment>() <= 16);
    }

    #[test]
    fn each_impairment_has_its_probability() {
        // 200 000 packets: the counts are within 5 standard deviations, and delays have the mean of a uniform.
        let fates = fates(&all(), 200_000);
        let count = |f: &dyn Fn(&Fate) -> bool| fates.iter().filter(|fate| f(fate)).count() as f64;
        let near = |count: f64, p: f64| (count - 2e5 * p).abs() < 5.0 * (2e5 * p * (1.0 - p)).sqrt();
        assert!(near(count(&|f| f.lost), 0.1));
        assert!(near(count(&|f| f.duplicated), 0.9 * 0.05));
        assert!(near(count(&|f| f.corrupted), 0.9 * 0.02));
        let held: Vec<f64> =
            fates.iter().map(|f| f.extra_delay.as_millis_f64()).filter(|ms| *ms > 0.0).collect();
        assert!(near(held.len() as f64, 0.9 * 0.2));
        assert!((held.iter().sum::<f64>() / held.len() as f64 - 5.0).abs() < 0.1);
        assert!(held.iter().all(|ms| *ms < 10.0));
    }

    #[test]
    fn a_lost_packet_has_no_other_fate() {
        // With all probabilities 1, only the loss is reported.
        let spec = ImpairmentSpec {
            loss: LossSpec::Uniform { probability: 1.0 },
            duplicate: 1.0,
            corrupt: 1.0,
            reorder: None,
            ..ImpairmentSpec::default()
        };
        assert!(fates(&spec, 10).iter().all(|fate| *fate == Fate { lost: true, ..Fate::UNIMPAIRED }));
    }

    /// A packet that is as large as may be arrives, and one that is larger does not, from the first on.
    #[test]
    fn a_black_hole_takes_what_is_too_large() {
        let largest = Some(thalweg_proto::units::Bytes::new(1400));
        let mut impairment =
            Impairment::new(&ImpairmentSpec { largest, ..ImpairmentSpec::default() }, stream);
        let lost = [1401, 1400, 40, 9000].map(|size| impairment.fate(size).lost);
        assert_eq!(lost, [true, false, false, true]);
    }

    #[test]
    fn switching_one_on_leaves_the_others_alone() {
        // The packets corrupted under loss are those corrupted without loss, minus the lost ones.
        let calm = fates(&ImpairmentSpec { loss: LossSpec::None, duplicate: 0.0, ..all() }, 10_000);
        for (with, without) in fates(&all(), 10_000).iter().zip(&calm) {
            assert!(
                with.lost || (with.corrupted, with.extra_delay) == (without.corrupted, without.extra_delay)
            );
        }
    }

    #[test]
    fn a_change_leaves_what_stays_undisturbed() {
        // Duplication is raised half-way; losses go on as if nothing had happened.
        let steady = fates(&all(), 2_000);
        let mut impairment = Impairment::new(&all(), stream);
        let changed: Vec<Fate> = (0..2_000)
            .map(|i| {
                if i == 1_000 {
                    impairment
                        .set(&ImpairmentSpec { duplicate: 0.5, ..all() }, |_| panic!("streams are kept"));
                }
                impairment.fate(1000)
            })
            .collect();
        assert!(changed.iter().zip(&steady).all(|(a, b)| a.lost == b.lost && a.corrupted == b.corrupted));
        assert_eq!(changed[..1_000], steady[..1_000]);
        assert_ne!(changed, steady);
    }

    #[test]
    fn impairments_may_end_and_come_back() {
        // After a calm the streams go on; they are not made again, so the pattern is not the first one.
        let mut impairment = Impairment::new(&all(), stream);
        let first: Vec<Fate> = (0..1_000).map(|_| impairment.fate(1000)).collect();
        impairment.set(&ImpairmentSpec::default(), stream);
        assert!(impairment.is_transparent());
        assert!((0..1_000).all(|_| impairment.fate(1000) == Fate::UNIMPAIRED));
        impairment.set(&all(), |_| panic!("streams are kept"));
        let second: Vec<Fate> = (0..1_000).map(|_| impairment.fate(1000)).collect();
        assert_ne!(first, second);
    }

    /// At the probability 1/2 half of the packets are struck whatever the correlation, and after one that is the next is so with the
    /// probability 1/2 + asin(rho) / pi, nearly, at a correlation of 0.9 (see the test of correlated losses).
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
            let fates = fates(&spec(correlation), 200_000);
            let kinds: [fn(&Fate) -> bool; 3] =
                [|fate| fate.duplicated, |fate| fate.corrupted, |fate| !fate.extra_delay.is_zero()];
            for strikes in kinds {
                let struck = fates.iter().filter(|fate| strikes(fate)).count() as f64;
                let again =
                    fates.windows(2).filter(|pair| strikes(&pair[0]) && strikes(&pair[1])).count() as f64;
                assert!((struck / 2e5 - 0.5).abs() < 0.03, "{correlation}: {struck}");
                assert!((again / struck - expected).abs() < 0.03, "{correlation}: {}", again / struck);
            }
        }
        assert!(spec(1.5).check().is_err());
    }
}
