//! Answered offers whose contents have not started, and their weight.

use super::folder_until_complete::EntryTarget;
use crate::transfer::transfer_messages::FileTime;
use crate::transfer::tree_hash::Pieces;
use std::collections::HashMap;

/// An offer whose contents the sender may start.
pub struct PendingOffer {
    /// Printable name.
    pub name: String,
    /// Target; `None` if the contents go to an output.
    pub place: Option<EntryTarget>,
    /// Size and time; `None` for streams.
    pub file: Option<(u64, FileTime)>,
    /// Permission bits.
    pub mode: u32,
    /// Pieces of the unfinished file to verify.
    pub pieces: Pieces,
    /// [Weight](crate::transfer::transfer_messages::Offer::weight) of the offer.
    pub weight: usize,
}

/// All pending offers, by offer number.
#[derive(Default)]
pub struct AllPending {
    offers: HashMap<u64, PendingOffer>,
    weight: usize,
}

impl AllPending {
    /// Adds an offer.
    pub fn insert(&mut self, id: u64, pending: PendingOffer) {
        self.weight += pending.weight;
        self.offers.insert(id, pending);
    }

    /// Removes an offer that starts or was cancelled.
    pub fn remove(&mut self, id: u64) -> Option<PendingOffer> {
        let pending = self.offers.remove(&id)?;
        self.weight -= pending.weight;
        Some(pending)
    }

    /// Returns the number of offers.
    pub fn count(&self) -> usize {
        self.offers.len()
    }

    /// Returns the total weight.
    pub fn weight(&self) -> usize {
        self.weight
    }
}
