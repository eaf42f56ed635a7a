//! The peer's address: what happens when it speaks from another one, and what becomes of the old one.

use super::{Session, Side};
use crate::identity::Entropy;
use crate::path::Path;
use crate::wire::SAFE_DATAGRAM;
use crate::wire::frame::Frame;
use std::net::SocketAddr;
use thalweg_proto::units::Time;

impl Session {
    /// True if the peer has shown that it receives at the address to which packets go at present.
    pub fn is_proved(&self) -> bool {
        self.path.is_proved()
    }

    /// The confirm of `size` bytes, with which the session begins, came from an address that may not be the proved one.
    pub fn on_confirm_from(&mut self, now: Time, from: SocketAddr, size: usize, entropy: &mut dyn Entropy) {
        if from != self.path.remote {
            self.migrate(now, from, size, entropy);
        }
    }

    /// The peer speaks from another address.
    pub(super) fn migrate(&mut self, now: Time, from: SocketAddr, size: usize, entropy: &mut dyn Entropy) {
        if self.agreed.side == Side::Client && !self.config.follows {
            return;
        }
        if self.fallback.as_ref().is_some_and(|fallback| fallback.remote == from) {
            self.stats.migrations += 1;
            return self.go_back(now, size);
        }
        if !self.moves.take(now) {
            return;
        }
        self.stats.migrations += 1;
        let limit = self.agreed.largest.max(SAFE_DATAGRAM);
        let mut path = Path::unproved(from, limit, now, entropy).after(&self.path);
        path.on_received(size);
        let last = core::mem::replace(&mut self.path, path);
        if last.is_proved() {
            // Where somebody has only copied a packet, the peer is still there and says so (RFC 9000, section 9.3.3).
            entropy.fill(&mut self.recall);
            self.state(&Frame::Challenge(self.recall), Some(last.remote));
            self.fallback = Some(last);
        }
        self.set_maximum(now);
    }

    /// The peer is where it was proved to be before.
    fn go_back(&mut self, now: Time, size: usize) {
        let Some(back) = self.fallback.take() else { return };
        self.path = back;
        self.path.on_received(size);
        self.set_maximum(now);
    }

    /// The peer answered what was asked of its old address. From there, it has never left.
    pub(super) fn on_recalled(&mut self, now: Time, from: SocketAddr) {
        if self.fallback.as_ref().is_some_and(|fallback| fallback.remote == from) {
            self.go_back(now, 0);
        }
    }

    /// The peer has shown that it receives at its new address. Where more than the port is new, the path may be another: what
    /// was learnt of the old one is forgotten (RFC 9000, section 9.4). The size of datagrams began anew with the address.
    pub(super) fn on_proved(&mut self, now: Time) {
        // Flows had to wait for room to send, and with them what came for them.
        for slot in &mut self.slots {
            slot.flow.skip_round_trips();
        }
        let Some(last) = self.fallback.take() else { return };
        if last.remote.ip() == self.path.remote.ip() {
            return;
        }
        for slot in &mut self.slots {
            slot.flow.renew(now, &self.agreed.scheme);
        }
        self.rtt = None;
        self.growth.renew();
        self.ping(now);
    }
}
