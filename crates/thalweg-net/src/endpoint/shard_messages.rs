//! Hand-over of datagrams between the shards of a socket.
//!
//! The system may deliver a datagram to the wrong shard in three cases: it cannot steer by connection id and the peer's
//! address has changed; it coalesces datagrams of several connections (GRO) before steering; or the datagram carries
//! the id that the peer knows (resets, feedback from routers). The shard that receives such a datagram forwards it
//! once, to the shard that owns the connection.

use super::settings_and_events::Handle;
use super::{Arrival, Endpoint, State};
use crate::wire::ConnectionId;
use core::ops::Range;
use std::sync::Arc;
use thalweg_proto::payload::Slice;
use thalweg_proto::units::Time;

/// Message from one shard to another.
#[derive(Debug)]
pub enum ShardMessage {
    /// Coalesced datagrams.
    Datagrams {
        /// Source address and ECN codepoint.
        arrival: Arrival,
        /// Datagram size, in bytes; the last one may be shorter.
        stride: usize,
        /// Concatenated datagrams.
        bytes: Vec<u8>,
    },
    /// Eviction of an unauthenticated peer's connection.
    Evict(Handle),
}

impl ShardMessage {
    /// Returns the memory held, in bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Datagrams { bytes, .. } => bytes.capacity(),
            Self::Evict(_) => 0,
        }
    }
}

impl Endpoint {
    /// Returns the next message for another shard, with that shard's number.
    pub fn passed(&mut self) -> Option<(usize, ShardMessage)> {
        self.shard_messages.pop_front()
    }

    /// Processes a message from another shard.
    pub fn take_shard_message(&mut self, now: Time, passed: ShardMessage) {
        match passed {
            ShardMessage::Datagrams { arrival, stride, bytes } => {
                self.is_passed = true;
                self.receive(now, arrival, stride, bytes, |bytes| Slice::new(Arc::<[u8]>::from(bytes)));
                self.is_passed = false;
            }
            ShardMessage::Evict(handle) => self.evict_peer(now, handle),
        }
    }

    /// Returns true if another shard owns `id`, and marks the current datagram to be forwarded there.
    pub(super) fn is_elsewhere(&mut self, id: ConnectionId) -> bool {
        let owner = id.shard(self.listener.shards());
        let is_elsewhere = owner != self.shard;
        if is_elsewhere && !self.is_passed {
            self.forward_to = Some(owner);
        }
        is_elsewhere
    }

    /// Returns the connection with this remote id. If another shard owns it, marks the current datagram to be forwarded
    /// there.
    pub(super) fn remote_index(&mut self, id: ConnectionId) -> Option<usize> {
        let index = self.remote_ids.get(&id).copied();
        if index.is_none() && !self.is_passed {
            self.forward_to = self.listener.named(id).filter(|shard| *shard != self.shard);
        }
        index
    }

    /// Registers the remote id of the connection at `index`. The latest registration wins.
    pub(super) fn register_id(&mut self, id: ConnectionId, index: usize) {
        self.remote_ids.insert(id, index);
        self.listener.register_id(id, self.shard);
    }

    /// Removes the remote id of the connection at `index`.
    pub(super) fn unregister_id(&mut self, id: ConnectionId, index: usize) {
        if self.remote_ids.get(&id) == Some(&index) {
            self.remote_ids.remove(&id);
            self.listener.unregister_id(id, self.shard);
        }
    }

    /// Queues datagrams for other shards. Consecutive datagrams for the same shard are coalesced.
    pub(super) fn pass_on(
        &mut self,
        arrival: Arrival,
        stride: usize,
        bytes: &[u8],
        forwarded: &[(usize, Range<usize>)],
    ) {
        let mut rest = forwarded;
        while let Some((shard, first)) = rest.first() {
            let mut end = first.end;
            let together = 1 + rest[1..]
                .iter()
                .take_while(|(other, range)| {
                    let joins = other == shard && range.start == end;
                    end = if joins { range.end } else { end };
                    joins
                })
                .count();
            self.stats.forwarded += together as u64;
            let bytes = bytes[first.start..end].to_vec();
            self.shard_messages.push_back((*shard, ShardMessage::Datagrams { arrival, stride, bytes }));
            rest = &rest[together..];
        }
    }

    /// Updates the accounted memory of a connection.
    pub(super) fn update_accounted_memory(&mut self, index: usize) {
        if let Some(Some(entry)) = self.entries.get_mut(index)
            && let State::Open(session) = &entry.state
        {
            let before = core::mem::replace(&mut entry.promised, session.memory());
            self.listener.adjust_memory_reservation(before, entry.promised);
        }
    }
}
