//! The interface between a system under test and the search.

use std::hash::Hash;

/// The agents and the attacker, as a system whose states are visited by taking steps from the first.
pub trait System {
    /// A step of the system.
    type Step: Copy;
    /// Remaining budget of steps; steps without effect are not counted.
    type RemainingSteps: Copy + Eq + Hash;

    /// Returns a hash of the state that determines the future, without [`System::left`].
    fn digest(&self) -> u128;
    fn remaining_steps(&self) -> Self::RemainingSteps;
    fn restore(&mut self, left: Self::RemainingSteps);
    fn steps(&self) -> Vec<Self::Step>;
    /// Takes a step. An error describes the rule that it violates.
    fn take(&mut self, step: Self::Step) -> Result<(), String>;
    /// Runs on without the attacker. An error describes a goal that the honest agents miss.
    fn run_without_attacker(&mut self) -> Result<(), String>;
    /// Returns the trace, where it was requested.
    fn lines(self) -> Vec<String>;
}
