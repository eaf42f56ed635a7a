//! Answered offers whose contents have not started, and their memory.

use super::folder_until_complete::EntryTarget;
use crate::transfer::transfer_messages::ModificationTime;
use crate::transfer::tree_hash::Pieces;
use std::collections::HashMap;

/// An offer whose contents the sender may start.
pub struct PendingOffer {
    /// Printable name.
    pub name: String,
    /// Target; `None` if the contents go to an output.
    pub place: Option<EntryTarget>,
    /// Size and time; `None` for streams.
    pub file: Option<(u64, ModificationTime)>,
    /// Permission bits.
    pub mode: u32,
    /// Pieces of the unfinished file to verify.
    pub pieces: Pieces,
    /// Device and inode number of the existing file whose hash was sent to the sender, if any.
    pub compared_file: Option<(u64, u64)>,
    /// [Memory](crate::transfer::transfer_messages::Offer::memory_bytes) of the offer.
    pub memory_bytes: usize,
}

/// All pending offers, by offer number.
#[derive(Default)]
pub struct AllPending {
    offers: HashMap<u64, PendingOffer>,
    memory_bytes: usize,
}

impl AllPending {
    /// Adds an offer.
    pub fn insert(&mut self, id: u64, pending: PendingOffer) {
        self.memory_bytes += pending.memory_bytes;
        self.offers.insert(id, pending);
    }

    /// Removes an offer that starts or was cancelled.
    pub fn remove(&mut self, id: u64) -> Option<PendingOffer> {
        let pending = self.offers.remove(&id)?;
        self.memory_bytes -= pending.memory_bytes;
        Some(pending)
    }

    /// Returns the number of offers.
    pub fn count(&self) -> usize {
        self.offers.len()
    }

    /// Returns the total memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }
}
