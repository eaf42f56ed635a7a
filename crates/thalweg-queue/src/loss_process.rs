//! Packet loss processes of a wire: independent, bursty, or as listed.

use crate::LossSpec;
use crate::bernoulli_trials::Trials;
use std::sync::Arc;
use thalweg_proto::random::RandomStream;

/// Decides for each packet in turn whether it is lost, from a [`LossSpec`].
///
/// A delivered packet takes a random draw only with correlated losses or bit errors. In the Gilbert-Elliott model,
/// - the chain starts in its stationary distribution, so [`LossSpec::mean_rate`] holds from the first packet;
/// - a packet is lost with the probability of the current state, then the chain steps;
/// - the chain stays in a state for a geometric number of packets: on average `1 / bad_to_good` packets in the bad
///   state and `1 / good_to_bad` in the good one.
#[derive(Clone, Debug)]
pub struct LossProcess {
    spec: LossSpec,
    stream: RandomStream,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    None,
    Uniform(Trials),
    Chain(Chain),
    Correlated {
        probability: f64,
        correlation: f64,
        last: f64,
    },
    Periodic {
        every: u64,
        seen: u64,
    },
    /// Bit errors, as the logarithm of the probability that a byte arrives intact.
    BitErrors(f64),
    List {
        packets: Arc<[u64]>,
        passed: usize,
        seen: u64,
    },
}

impl LossProcess {
    /// Creates the process of `spec`, drawing from `stream`.
    ///
    /// It never panics: probabilities are clamped to 0 and 1. [`LossSpec::check`] refuses values out of range.
    pub fn new(spec: &LossSpec, mut stream: RandomStream) -> Self {
        let kind = Kind::new(spec, &mut stream);
        Self { spec: spec.clone(), stream, kind }
    }

    /// Returns the specification.
    pub const fn spec(&self) -> &LossSpec {
        &self.spec
    }

    /// Changes to `spec`, with the same stream. An unchanged specification has no effect. Otherwise a chain restarts,
    /// and a list counts from the next packet.
    pub fn set(&mut self, spec: &LossSpec) {
        if self.spec != *spec {
            self.spec = spec.clone();
            self.kind = Kind::new(spec, &mut self.stream);
        }
    }

    /// Returns true if the next packet, of `size` bytes, is lost.
    #[inline]
    pub fn draw_loss(&mut self, size: u32) -> bool {
        match &mut self.kind {
            Kind::None => false,
            Kind::Uniform(trials) => trials.succeeds(&mut self.stream),
            Kind::Chain(chain) => chain.draw_loss(&mut self.stream),
            Kind::Correlated { probability, correlation, last } => {
                *last = self.stream.unit() * (1.0 - *correlation) + *last * *correlation;
                *last < *probability
            }
            Kind::Periodic { every, seen } => {
                *seen += 1;
                *seen % *every == 0
            }
            Kind::BitErrors(of_byte) => self.stream.unit() < -libm::expm1(f64::from(size) * *of_byte),
            Kind::List { packets, passed, seen } => {
                *seen += 1;
                // Skip numbers out of order, which a check refuses, instead of waiting for them.
                while packets.get(*passed).is_some_and(|number| number < seen) {
                    *passed += 1;
                }
                packets.get(*passed) == Some(seen)
            }
        }
    }
}

impl Kind {
    fn new(spec: &LossSpec, stream: &mut RandomStream) -> Self {
        match *spec {
            LossSpec::None => Self::None,
            LossSpec::Uniform { probability } => Self::Uniform(Trials::new(probability, stream)),
            LossSpec::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                let good = State { leave: good_to_bad, loss: loss_good };
                let bad = State { leave: bad_to_good, loss: loss_bad };
                let starts_bad = stream.chance(stationary_bad(good_to_bad, bad_to_good));
                Self::Chain(if starts_bad {
                    Chain::new(bad, good, stream)
                } else {
                    Chain::new(good, bad, stream)
                })
            }
            LossSpec::Correlated { probability, correlation } => {
                Self::Correlated { probability, correlation, last: stream.unit() }
            }
            LossSpec::Periodic { every } => Self::Periodic { every: every.max(1), seen: 0 },
            LossSpec::BitErrors { rate } => Self::BitErrors(8.0 * libm::log1p(-rate)),
            LossSpec::List(ref packets) => Self::List { packets: packets.clone(), passed: 0, seen: 0 },
        }
    }
}

/// Returns the stationary probability of the bad state. A chain that never changes its state counts as good.
fn stationary_bad(good_to_bad: f64, bad_to_good: f64) -> f64 {
    if good_to_bad <= 0.0 { 0.0 } else { good_to_bad / (good_to_bad + bad_to_good) }
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// Probability to leave the state after a packet.
    leave: f64,
    /// Loss probability in the state.
    loss: f64,
}

/// Two-state Markov chain. The sojourn time is drawn on entry to a state.
#[derive(Clone, Debug)]
struct Chain {
    current: State,
    other: State,
    /// Remaining packets in this state after the next one.
    stay: u64,
    losses: Trials,
}

impl Chain {
    fn new(here: State, other: State, stream: &mut RandomStream) -> Self {
        let stay = stream.geometric(here.leave);
        Self { current: here, other, stay, losses: Trials::new(here.loss, stream) }
    }

    #[inline]
    fn draw_loss(&mut self, stream: &mut RandomStream) -> bool {
        let lost = self.losses.succeeds(stream);
        if self.stay > 0 {
            self.stay -= 1;
        } else {
            *self = Self::new(self.other, self.current, stream);
        }
        lost
    }
}

impl LossSpec {
    /// Returns the long-run loss rate, 0 to 1; zero for a list, which ends.
    ///
    /// For bit errors it is the rate for packets of 1500 bytes. For correlated losses it is the nominal probability; as
    /// their numbers are not uniform, the actual rate deviates more the further that is from one half.
    ///
    /// For the chain it is `(r·loss_good + p·loss_bad) / (p + r)` with p = `good_to_bad`, r = `bad_to_good`.
    pub fn mean_rate(&self) -> f64 {
        match *self {
            Self::None | Self::List(_) => 0.0,
            Self::Uniform { probability } | Self::Correlated { probability, .. } => probability,
            Self::Periodic { every } => 1.0 / every.max(1) as f64,
            Self::BitErrors { rate } => -libm::expm1(12_000.0 * libm::log1p(-rate)),
            Self::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                let bad = stationary_bad(good_to_bad, bad_to_good);
                (1.0 - bad) * loss_good + bad * loss_bad
            }
        }
    }

    /// Returns the mean number of consecutive losses, counted from a loss after a delivered packet; zero without losses
    /// and for a list, infinite if every packet is lost.
    ///
    /// For a chain with `loss_good` = 0 and `loss_bad` = 1 it is the sojourn time in the bad state, `1 / bad_to_good`;
    /// for independent losses `1 / (1 - probability)`.
    pub fn mean_burst(&self) -> f64 {
        let rate = self.mean_rate();
        if rate <= 0.0 {
            return 0.0;
        }
        // Mean burst length = loss rate / rate of burst starts.
        let begin = match *self {
            Self::GilbertElliott { good_to_bad: p, bad_to_good: r, loss_good, loss_bad } => {
                let bad = stationary_bad(p, r);
                let after_good = (1.0 - p) * loss_good + p * loss_bad;
                let after_bad = r * loss_good + (1.0 - r) * loss_bad;
                (1.0 - bad) * (1.0 - loss_good) * after_good + bad * (1.0 - loss_bad) * after_bad
            }
            // Every loss is isolated.
            Self::Periodic { every } if every > 1 => rate,
            _ => rate * (1.0 - rate),
        };
        rate / begin
    }

    /// Returns true if no packet is ever lost.
    pub fn is_lossless(&self) -> bool {
        match self {
            Self::List(packets) => packets.is_empty(),
            _ => self.mean_rate() <= 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests the exact rules of losses; their statistics are tested in `tests/it/loss_processes.rs`.
    use super::*;

    fn lost_packets(spec: &LossSpec, n: u64) -> Vec<u64> {
        let mut process = LossProcess::new(spec, RandomStream::new(1, "loss", 0));
        (1..=n).filter(|_| process.draw_loss(1500)).collect()
    }

    #[test]
    fn a_list_loses_exactly_its_packets() {
        // Numbers count from 1; the end of the list is the end of losses.
        assert_eq!(lost_packets(&LossSpec::List([1, 2, 5].into()), 20), [1, 2, 5]);
        assert_eq!(lost_packets(&LossSpec::List([].into()), 20), []);
    }

    #[test]
    fn an_unchecked_list_does_not_panic() {
        // Zeros and numbers out of order are skipped.
        assert_eq!(lost_packets(&LossSpec::List([0, 0, 3, 2, 3, 7, u64::MAX].into()), 20), [3, 7]);
    }

    #[test]
    fn the_extremes_are_certain() {
        // 0 loses nothing, 1 everything; a chain that cannot leave its bad state starts there.
        assert_eq!(lost_packets(&LossSpec::Uniform { probability: 0.0 }, 1000).len(), 0);
        assert_eq!(lost_packets(&LossSpec::Uniform { probability: 1.0 }, 1000).len(), 1000);
        let chain = |good_to_bad, bad_to_good| LossSpec::GilbertElliott {
            good_to_bad,
            bad_to_good,
            loss_good: 0.0,
            loss_bad: 1.0,
        };
        assert_eq!(lost_packets(&chain(0.0, 0.0), 1000).len(), 0);
        assert_eq!(lost_packets(&chain(0.1, 0.0), 1000).len(), 1000);
        assert_eq!(lost_packets(&chain(1.0, 1.0), 1000).len(), 500);
    }

    #[test]
    fn mean_loss_rates_match_the_literature() {
        // Elliott's chain with p = 0.01, r = 0.19, losses 0 and 1: a twentieth is lost, in bursts of 1/0.19.
        let spec =
            LossSpec::GilbertElliott { good_to_bad: 0.01, bad_to_good: 0.19, loss_good: 0.0, loss_bad: 1.0 };
        assert!((spec.mean_rate() - 0.05).abs() < 1e-12);
        assert!((spec.mean_burst() - 5.263_157_894_736_842).abs() < 1e-9);
        let uniform = LossSpec::Uniform { probability: 0.2 };
        assert!((uniform.mean_burst() - 1.25).abs() < 1e-12);
        assert!(LossSpec::Uniform { probability: 1.0 }.mean_burst().is_infinite());
        // A chain with equal loss in both states is independent loss.
        let same =
            LossSpec::GilbertElliott { good_to_bad: 0.3, bad_to_good: 0.4, loss_good: 0.2, loss_bad: 0.2 };
        assert!((same.mean_burst() - 1.25).abs() < 1e-12);
    }

    #[test]
    fn setting_the_same_again_changes_nothing() {
        // Losses continue as if nothing had been set.
        let spec = LossSpec::Uniform { probability: 0.3 };
        let mut process = LossProcess::new(&spec, RandomStream::new(1, "loss", 0));
        let pattern: Vec<u64> = (1..=100)
            .filter(|_| {
                process.set(&spec);
                process.draw_loss(1500)
            })
            .collect();
        assert_eq!(pattern, lost_packets(&spec, 100));
    }

    #[test]
    fn nan_does_not_panic() {
        // Invalid values must not cause a panic.
        for bad in [f64::NAN, f64::INFINITY, -1.0, 2.0] {
            lost_packets(&LossSpec::Uniform { probability: bad }, 10);
            let (a, b) = (bad, bad);
            lost_packets(
                &LossSpec::GilbertElliott { good_to_bad: a, bad_to_good: b, loss_good: a, loss_bad: b },
                10,
            );
        }
    }

    #[test]
    fn periodic_losses_are_those_of_their_numbers() {
        assert_eq!(lost_packets(&LossSpec::Periodic { every: 4 }, 13), [4, 8, 12]);
        assert_eq!(lost_packets(&LossSpec::Periodic { every: 1 }, 3), [1, 2, 3]);
        let spec = LossSpec::Periodic { every: 4 };
        assert_eq!((spec.mean_rate(), spec.mean_burst()), (0.25, 1.0));
        assert!(LossSpec::Periodic { every: 0 }.check().is_err());
    }

    /// A packet of n bytes arrives with (1 - rate)^(8 n): the counts of 100,000 are within 5 standard deviations.
    #[test]
    fn a_packet_is_lost_with_any_of_its_bits() {
        let rate = 2e-5;
        for size in [40u32, 1500, 9000] {
            let mut process =
                LossProcess::new(&LossSpec::BitErrors { rate }, RandomStream::new(3, "loss", 0));
            let found = (0..100_000).filter(|_| process.draw_loss(size)).count() as f64 / 1e5;
            let expected = 1.0 - (1.0f64 - rate).powi(8 * size as i32);
            let deviation = (expected * (1.0 - expected) / 1e5).sqrt();
            assert!((found - expected).abs() < 5.0 * deviation, "{size}: {found} for {expected}");
        }
        assert_eq!(lost_packets(&LossSpec::BitErrors { rate: 1.0 }, 3), [1, 2, 3]);
        assert_eq!(lost_packets(&LossSpec::BitErrors { rate: 0.0 }, 1000), []);
    }

    /// The numbers x(k) = (1 - rho) u(k) + rho x(k - 1) have the mean 1/2, the variance (1 - rho) / (1 + rho) / 12 and
    /// the correlation rho from one to the next. At a probability of 1/2, half of the packets are lost. After a lost
    /// packet the next one is lost with a probability of 1/2 + asin(rho) / pi if the numbers are normal, as they nearly
    /// are at 0.9.
    #[test]
    fn correlated_losses_match_netem() {
        let of = |correlation| lost_packets(&LossSpec::Correlated { probability: 0.5, correlation }, 200_000);
        for (correlation, expected, near) in
            [(0.0, 0.5, 0.01), (0.9, 0.5 + libm::asin(0.9) / core::f64::consts::PI, 0.02)]
        {
            let lost = of(correlation);
            let share = lost.len() as f64 / 2e5;
            assert!((share - 0.5).abs() < 0.03, "{correlation}: {share}");
            let again =
                lost.windows(2).filter(|pair| pair[1] == pair[0] + 1).count() as f64 / lost.len() as f64;
            assert!((again - expected).abs() < near, "{correlation}: {again} for {expected}");
        }
        assert_eq!(lost_packets(&LossSpec::Correlated { probability: 0.0, correlation: 0.5 }, 1000), []);
    }
}
