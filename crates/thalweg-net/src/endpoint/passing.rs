//! Hand-over between the members of a socket: of packets that came to another than their connection's.
//!
//! The system may bring a packet to the wrong member: where it cannot be told to look at connection ids and a peer's address has
//! changed, where it puts packets of several connections together before it looks, and where a packet bears the id that
//! the peer knows (resets, messages of routers). Whoever gets it passes it on to the member whose it is, once.

use super::interface::Handle;
use super::{Arrival, Endpoint, State};
use crate::wire::ConnectionId;
use core::ops::Range;
use std::sync::Arc;
use thalweg_proto::payload::Slice;
use thalweg_proto::units::Time;

/// Something that one member has for another.
#[derive(Debug)]
pub enum Passed {
    /// Datagrams that came together.
    Datagrams {
        /// From whom they came, and how.
        arrival: Arrival,
        /// Their size; the last may be shorter.
        stride: usize,
        /// All of them.
        bytes: Vec<u8>,
    },
    /// A stranger has to make room for another.
    Crowded(Handle),
}

impl Passed {
    /// The bytes that it holds on to.
    pub fn size(&self) -> usize {
        match self {
            Self::Datagrams { bytes, .. } => bytes.capacity(),
            Self::Crowded(_) => 0,
        }
    }
}

impl Endpoint {
    /// The next thing that is for another member, and the number of that.
    pub fn passed(&mut self) -> Option<(usize, Passed)> {
        self.passed.pop_front()
    }

    /// Takes what another member had for this one.
    pub fn take_passed(&mut self, now: Time, passed: Passed) {
        match passed {
            Passed::Datagrams { arrival, stride, bytes } => {
                self.is_passed = true;
                self.receive(now, arrival, stride, bytes, |bytes| Slice::new(Arc::<[u8]>::from(bytes)));
                self.is_passed = false;
            }
            Passed::Crowded(handle) => self.crowd_out(now, handle),
        }
    }

    /// True for an id of another member's, to which the datagram in hand is to be passed then.
    pub(super) fn is_elsewhere(&mut self, id: ConnectionId) -> bool {
        let owner = id.member(self.desk.members());
        let is_elsewhere = owner != self.member;
        if is_elsewhere && !self.is_passed {
            self.stray = Some(owner);
        }
        is_elsewhere
    }

    /// The connection that a peer calls so. One of another member's gets the datagram in hand.
    pub(super) fn remote_index(&mut self, id: ConnectionId) -> Option<usize> {
        let index = self.remote_ids.get(&id).copied();
        if index.is_none() && !self.is_passed {
            self.stray = self.desk.named(id).filter(|member| *member != self.member);
        }
        index
    }

    /// Peers call the connection at `index` so. The last one that is called so has the name.
    pub(super) fn name(&mut self, id: ConnectionId, index: usize) {
        self.remote_ids.insert(id, index);
        self.desk.name(id, self.member);
    }

    /// The connection at `index` is called so no more.
    pub(super) fn unname(&mut self, id: ConnectionId, index: usize) {
        if self.remote_ids.get(&id) == Some(&index) {
            self.remote_ids.remove(&id);
            self.desk.unname(id, self.member);
        }
    }

    /// Keeps datagrams that are for other members until they are passed on: those for one member that follow each other together.
    pub(super) fn pass_on(
        &mut self,
        arrival: Arrival,
        stride: usize,
        bytes: &[u8],
        strays: &[(usize, Range<usize>)],
    ) {
        let mut rest = strays;
        while let Some((member, first)) = rest.first() {
            let mut end = first.end;
            let together = 1 + rest[1..]
                .iter()
                .take_while(|(other, range)| {
                    let joins = other == member && range.start == end;
                    end = if joins { range.end } else { end };
                    joins
                })
                .count();
            self.stats.strays += together as u64;
            let bytes = bytes[first.start..end].to_vec();
            self.passed.push_back((*member, Passed::Datagrams { arrival, stride, bytes }));
            rest = &rest[together..];
        }
    }

    /// Counts what a connection may have waiting, which may be something else than before.
    pub(super) fn settle(&mut self, index: usize) {
        if let Some(Some(entry)) = self.entries.get_mut(index)
            && let State::Open(session) = &entry.state
        {
            let before = core::mem::replace(&mut entry.promised, session.memory());
            self.desk.settle(before, entry.promised);
        }
    }
}
