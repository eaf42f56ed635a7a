//! Streams of pseudo-random numbers, each named by a seed and the component that draws from it.
//!
//! An engine never creates its own: its driver hands it a [`RandomStream`]. Because every component has a stream of its own,
//! adding one does not change what another draws, and two schemes compared under one seed have the same traffic and the
//! same losses (common random numbers). The generator is xoshiro256++ (Blackman and Vigna, 2019); the samplers use the
//! `libm` crate: values are the same on every machine.

use crate::units::Duration;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct RandomStream(Xoshiro256PlusPlus);

impl RandomStream {
    /// Creates the stream of `component` number `index` under `seed`.
    pub fn new(seed: u64, component: &str, index: u64) -> Self {
        // FNV-1a over the name, then SplitMix64 (inside `seed_from_u64`) to spread the bits.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in component.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mixed = splitmix(splitmix(seed).wrapping_add(hash)).wrapping_add(splitmix(index));
        Self(Xoshiro256PlusPlus::seed_from_u64(splitmix(mixed)))
    }

    /// Returns 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0 <= x < 1`, with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns true with probability `p`; never for `p <= 0`, always for `p >= 1`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Uniform among `0..n`; zero for `n = 0`. The bias is below `n / 2^64`.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Exponential with mean 1, by inversion.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }

    /// Standard normal (Box and Muller's transform, one of its two values).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(2.0 * self.exponential());
        radius * libm::cos(core::f64::consts::TAU * self.unit())
    }

    /// Pareto with the given `shape` and minimum 1.
    pub fn pareto(&mut self, shape: f64) -> f64 {
        libm::pow(1.0 - self.unit(), -1.0 / shape)
    }

    /// Returns the number of failures before the first success of probability `p`: geometric on 0, 1, 2 ... `u64::MAX`
    /// for `p <= 0`.
    pub fn geometric(&mut self, p: f64) -> u64 {
        if p <= 0.0 {
            u64::MAX
        } else if p >= 1.0 {
            0
        } else {
            libm::floor(libm::log(1.0 - self.unit()) / libm::log1p(-p)) as u64
        }
    }

    /// Exponential with the given mean.
    pub fn exponential_duration(&mut self, mean: Duration) -> Duration {
        mean.mul_f64(self.exponential())
    }

    /// Uniform in `0 <= x < span`.
    pub fn uniform_duration(&mut self, span: Duration) -> Duration {
        Duration::from_picos(self.below(span.as_picos()))
    }
}

/// Spreads the bits of a value over the higher ones: a multiplication by an odd constant that spreads them well (Steele and
/// Vigna 2021). Unlike a stream it has no state, for decisions that only have to be aperiodic.
pub(crate) const fn multiplicative_hash(value: u64) -> u64 {
    value.wrapping_mul(0xd134_2543_de82_ef95)
}

fn splitmix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_depend_on_every_part_of_their_name() {
        let first = |seed, name, index| RandomStream::new(seed, name, index).next_u64();
        let base = first(1, "loss", 0);
        assert_eq!(base, first(1, "loss", 0));
        assert_ne!(base, first(2, "loss", 0));
        assert_ne!(base, first(1, "delay", 0));
        assert_ne!(base, first(1, "loss", 1));
    }

    #[test]
    fn values_are_frozen() {
        // A change here changes every stored result: it needs a new major version.
        let mut stream = RandomStream::new(1, "golden", 7);
        let drawn = [stream.next_u64(), stream.next_u64(), stream.next_u64()];
        assert_eq!(drawn, GOLDEN);
    }
    const GOLDEN: [u64; 3] = [4954884949821782252, 3758770219410632815, 6707800406893030387];

    #[test]
    fn samplers_have_their_means() {
        let mut stream = RandomStream::new(3, "means", 0);
        let n = 200_000;
        let mean = |mut f: Box<dyn FnMut() -> f64>| (0..n).map(|_| f()).sum::<f64>() / f64::from(n);
        let mut s = stream.clone();
        assert!((mean(Box::new(move || s.exponential())) - 1.0).abs() < 0.01);
        let mut s = stream.clone();
        assert!(mean(Box::new(move || s.normal())).abs() < 0.01);
        let mut s = stream.clone();
        assert!((mean(Box::new(move || s.pareto(3.0))) - 1.5).abs() < 0.01);
        let mut s = stream.clone();
        assert!((mean(Box::new(move || s.geometric(0.1) as f64)) - 9.0).abs() < 0.1);
        assert!((mean(Box::new(move || stream.below(10) as f64)) - 4.5).abs() < 0.05);
    }
}
