//! Datagrams that go on in the real network, and their answers: for each pair of ends a socket on both sides.

use super::lend::Kind;
use super::{Ends, Forwarder, Place, family, inner};
use crate::icmp::Trouble;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketType, bind, connect, recv, send};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// A pair of ends is forgotten after so long without a datagram (RFC 4787, section 4.3), a question for a name earlier.
const SILENCE: Duration = Duration::from_secs(300);
const SILENCE_OF_NAMES: Duration = Duration::from_secs(20);
/// Pairs at a time. The longest silent one makes room.
const MOST: usize = 4096;
/// Datagrams that are moved before others have their turn.
const TURNS: usize = 64;
/// Bytes of a packet that a message about it tells at most.
const HEAD: usize = 128;

/// Datagrams between two ends.
#[derive(Debug)]
pub(super) struct Talk {
    /// Of the namespace, and of the real network.
    sockets: [OwnedFd; 2],
    /// The beginning of the first packet.
    head: Vec<u8>,
    last: Instant,
    ends: Ends,
}

impl Forwarder {
    /// The first datagram between two ends.
    pub(super) fn begin(&mut self, packet: &[u8], ends: Ends) {
        if self.talks.values().any(|talk| talk.ends == ends) {
            return self.enter(packet);
        }
        if self.talks.len() >= MOST
            && let Some(number) =
                self.talks.iter().min_by_key(|(_, talk)| talk.last).map(|(number, _)| *number)
        {
            self.forget(number);
        }
        match self.sockets(ends) {
            Ok(sockets) => {
                let number = self.number();
                self.watch(&sockets[0], Place::InnerTalk, number, EventFlags::IN);
                self.watch(&sockets[1], Place::OuterTalk, number, EventFlags::IN);
                let head = packet[..packet.len().min(HEAD)].to_vec();
                self.talks.insert(number, Talk { sockets, head, last: Instant::now(), ends });
                self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(ends);
                self.enter(packet);
            }
            Err(Errno::CONNREFUSED) => self.say(Trouble::NoPort, packet),
            Err(_) => self.say(Trouble::NoRoute, packet),
        }
    }

    fn sockets(&self, (program, target): Ends) -> Result<[OwnedFd; 2], Errno> {
        let real: SocketAddr = self.real(target);
        let outer = self.lender.socket(Kind::Datagrams(family(real)))?;
        connect(&outer, &real)?;
        let inside = inner(SocketType::DGRAM, target)?;
        bind(&inside, &target)?;
        connect(&inside, &program)?;
        Ok([inside, outer])
    }

    /// Datagrams have come to one of the sockets.
    pub(super) fn talk(&mut self, number: u64, side: usize) {
        let Some(talk) = self.talks.get_mut(&number) else { return };
        let (from, to) = (&talk.sockets[side], &talk.sockets[1 - side]);
        let mut refused = false;
        for _ in 0..TURNS {
            let length = match recv(from, &mut *self.buffer, RecvFlags::empty()) {
                Ok((length, _)) => length,
                Err(Errno::AGAIN | Errno::INTR) => break,
                // The program has gone, or nobody listens at the target.
                Err(_) => {
                    refused |= side == 1;
                    break;
                }
            };
            talk.last = Instant::now();
            // It may be lost.
            let sent = send(to, &self.buffer[..length], SendFlags::NOSIGNAL);
            refused |= side == 0 && sent == Err(Errno::CONNREFUSED);
        }
        if refused {
            let head = talk.head.clone();
            self.say(Trouble::NoPort, &head);
        }
    }

    fn forget(&mut self, number: u64) {
        if let Some(talk) = self.talks.remove(&number) {
            self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&talk.ends);
            talk.sockets.iter().for_each(|socket| self.unwatch(socket));
        }
    }

    /// Forgets what has been silent.
    pub(super) fn tidy_talks(&mut self, now: Instant) {
        let is_over = |talk: &Talk| {
            let silence = if talk.ends.1.port() == super::DNS { SILENCE_OF_NAMES } else { SILENCE };
            now.saturating_duration_since(talk.last) >= silence
        };
        let over: Vec<u64> =
            self.talks.iter().filter(|(_, talk)| is_over(talk)).map(|(number, _)| *number).collect();
        over.into_iter().for_each(|number| self.forget(number));
    }
}
