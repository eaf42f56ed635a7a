//! The interface between those who take part and the search.

use std::hash::Hash;

/// Those who take part and the attacker, as a system whose states can be visited by taking steps from the first.
pub trait System {
    /// A thing that can happen.
    type Step: Copy;
    /// The things that may still happen: what has no effect is not counted.
    type Left: Copy + Eq + Hash;

    /// A hash of what decides the future but for [`System::left`].
    fn digest(&self) -> u128;
    fn left(&self) -> Self::Left;
    fn restore(&mut self, left: Self::Left);
    fn steps(&self) -> Vec<Self::Step>;
    /// Takes a step. An error is a rule that is broken by it, in words.
    fn take(&mut self, step: Self::Step) -> Result<(), String>;
    /// The attacker stops. An error is what the honest ones do not come to, in words.
    fn calm(&mut self) -> Result<(), String>;
    /// The course of events in words, where it was wanted.
    fn lines(self) -> Vec<String>;
}
