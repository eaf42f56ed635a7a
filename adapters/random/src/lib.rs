//! Random numbers for stacks of other projects, from the seed of the running connection.
//!
//! Stacks draw random numbers by themselves, without an argument that a caller could provide. In the simulator these numbers
//! must come from the seed of the run. [`with_generator`] installs the generator of a connection for one call of its stack;
//! [`fill_random`] draws from it. The generator is SplitMix64 (Steele, Lea and Flood 2014). It is fast and not secret.

use core::cell::Cell;

thread_local! {
    /// State of the generator in use; `None` outside of a stack's call.
    static CURRENT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// The increment of the state: 2^64 divided by the golden ratio.
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// The generator of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generator(u64);

impl Generator {
    /// Creates a generator from a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }
}

/// Restores the generator that was in use before, also after a panic.
struct Restore<'a> {
    generator: &'a mut Generator,
    before: Option<u64>,
}

impl Drop for Restore<'_> {
    fn drop(&mut self) {
        if let Some(state) = CURRENT.replace(self.before) {
            self.generator.0 = state;
        }
    }
}

/// Runs `act`; draws of this thread come from `generator` meanwhile.
pub fn with_generator<R>(generator: &mut Generator, act: impl FnOnce() -> R) -> R {
    let before = CURRENT.replace(Some(generator.0));
    let _restore = Restore { generator, before };
    act()
}

/// Returns 64 random bits; `None` outside of [`with_generator`].
pub fn random_bits() -> Option<u64> {
    let state = CURRENT.get()?.wrapping_add(INCREMENT);
    CURRENT.set(Some(state));
    let mut mixed = state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Some(mixed ^ (mixed >> 31))
}

/// Fills `bytes` with random numbers. Returns false, with `bytes` unchanged, outside of [`with_generator`].
pub fn fill_random(bytes: &mut [u8]) -> bool {
    if CURRENT.get().is_none() {
        return false;
    }
    for chunk in bytes.chunks_mut(8) {
        let bits = random_bits().unwrap_or_default().to_le_bytes();
        chunk.copy_from_slice(&bits[..chunk.len()]);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw_bytes(generator: &mut Generator) -> [u8; 11] {
        let mut bytes = [0; 11];
        assert!(with_generator(generator, || fill_random(&mut bytes)));
        bytes
    }

    #[test]
    fn draws_depend_on_the_seed_alone_and_continue() {
        let (mut one, mut same, mut other) = (Generator::new(1), Generator::new(1), Generator::new(2));
        let first = draw_bytes(&mut one);
        assert_ne!(first, draw_bytes(&mut other));
        let second = draw_bytes(&mut one);
        assert_ne!(first, second);
        assert_eq!([draw_bytes(&mut same), draw_bytes(&mut same)], [first, second]);
    }

    /// The reference sequence of SplitMix64 from seed 0 (Vigna's splitmix64.c).
    #[test]
    fn the_sequence_is_that_of_split_mix() {
        let drawn = with_generator(&mut Generator::new(0), || [random_bits(), random_bits()]);
        assert_eq!(drawn, [Some(0xe220_a839_7b1d_cdaf), Some(0x6e78_9e6a_a1b9_65f4)]);
    }

    #[test]
    fn outside_of_a_call_and_after_a_panic_there_is_no_generator() {
        assert!(!fill_random(&mut [0; 8]));
        let mut generator = Generator::new(3);
        let caught = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
            with_generator(&mut generator, || {
                let _ = random_bits();
                panic!("as a stack may");
            });
        }));
        assert!(caught.is_err() && random_bits().is_none());
        assert_ne!(generator, Generator::new(3));
    }
}
