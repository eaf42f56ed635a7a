//! The offers that were answered and have not begun, and what they weigh.

use super::folder::Place;
use crate::transfer::messages::Modified;
use crate::transfer::tree::Pieces;
use std::collections::HashMap;

/// An offer that the sender may begin.
pub struct Pending {
    /// The name of it, as it can be shown.
    pub name: String,
    /// Nothing where contents go to an output.
    pub place: Option<Place>,
    /// Size and time, but for streams.
    pub file: Option<(u64, Modified)>,
    /// Permission bits.
    pub mode: u32,
    /// The pieces of an unfinished file that may be right.
    pub pieces: Pieces,
    /// The [weight](crate::transfer::messages::Offer::weight) of the offer.
    pub weight: usize,
}

/// All of them, by the number of the offer.
#[derive(Default)]
pub struct AllPending {
    offers: HashMap<u64, Pending>,
    weight: usize,
}

impl AllPending {
    /// One more.
    pub fn insert(&mut self, id: u64, pending: Pending) {
        self.weight += pending.weight;
        self.offers.insert(id, pending);
    }

    /// One that begins, or does not come.
    pub fn remove(&mut self, id: u64) -> Option<Pending> {
        let pending = self.offers.remove(&id)?;
        self.weight -= pending.weight;
        Some(pending)
    }

    /// The number of them.
    pub fn count(&self) -> usize {
        self.offers.len()
    }

    /// Their weight together.
    pub fn weight(&self) -> usize {
        self.weight
    }
}
