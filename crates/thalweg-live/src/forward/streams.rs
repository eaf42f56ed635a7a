//! Connections of TCP that end here and go on in the real network, byte for byte.
//!
//! A program's first segment waits until the real target has answered, so that a connection that is refused there is refused here. Then
//! it goes to the system's own TCP in the namespace of the way out, where a socket listens at the target's address for this one
//! connection.

use super::lend::Kind;
use super::{Ends, Forwarder, Place, family, inner};
use crate::icmp::Trouble;
use rustix::event::epoll::EventFlags;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, acceptfrom_with, bind, connect, getsockname,
    listen, recv, send, shutdown, sockopt,
};
use socket2::SockRef;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use thalweg_proto::transport::Signal;

/// A program that has not gone on for so long has given up.
const PATIENCE: Duration = Duration::from_secs(60);
/// Connections at a time.
const MOST: usize = 8192;
/// Data that waits to be sent by the system for the real network, so that a gate here is felt there soon.
const AHEAD: u32 = 64 << 10;
/// Turns of reading and writing for a connection before others have theirs.
const TURNS: usize = 8;

/// A target that is asked.
#[derive(Debug)]
pub(super) struct Connecting {
    outer: OwnedFd,
    /// The program's first segment.
    packet: Vec<u8>,
    ends: Ends,
}

/// A place where programs' connections come in.
#[derive(Debug)]
pub(super) struct Listener {
    socket: OwnedFd,
    place: SocketAddr,
    /// By the program's address.
    waiting: HashMap<SocketAddr, (OwnedFd, Instant)>,
}

/// A connection: its inner part, to the program, and its outer one.
#[derive(Debug)]
pub(super) struct Pair {
    sockets: [OwnedFd; 2],
    /// From the program outwards, and back.
    ways: [Way; 2],
    watched: [EventFlags; 2],
    ends: Ends,
    /// The port of the outer part, and what it had sent again at the last look.
    port: u16,
    again: u32,
}

/// One direction of a connection.
#[derive(Debug, Default)]
struct Way {
    /// The bytes that could not be sent yet.
    rest: Vec<u8>,
    /// The other socket has enough to send.
    is_full: bool,
    /// Nothing more comes; and the other end has been told.
    has_ended: bool,
    is_closed: bool,
}

/// A socket wants more to send.
fn is_writable(socket: &OwnedFd) -> Result<bool, Errno> {
    let mut polled = [PollFd::new(socket, PollFlags::OUT)];
    poll(&mut polled, Some(&Timespec::default()))?;
    Ok(!polled[0].revents().is_empty())
}

impl Pair {
    /// Moves what can be moved; true when both directions are at their end.
    fn step(&mut self, buffer: &mut [u8]) -> Result<bool, Errno> {
        for (number, way) in self.ways.iter_mut().enumerate() {
            let (from, to) = (&self.sockets[number], &self.sockets[1 - number]);
            for _ in 0..TURNS {
                // It would take far more than it says that it wants.
                way.is_full = !is_writable(to)?;
                if way.is_full {
                    break;
                }
                if way.rest.is_empty() && !way.has_ended {
                    match recv(from, &mut *buffer, RecvFlags::empty()) {
                        Ok((0, _)) => way.has_ended = true,
                        Ok((length, _)) => way.rest.extend(&buffer[..length]),
                        Err(Errno::AGAIN | Errno::INTR) => break,
                        Err(error) => return Err(error),
                    }
                }
                if way.rest.is_empty() {
                    break;
                }
                match send(to, &way.rest, SendFlags::NOSIGNAL) {
                    Ok(sent) if sent == way.rest.len() => way.rest.clear(),
                    Ok(sent) => drop(way.rest.drain(..sent)),
                    Err(Errno::AGAIN | Errno::INTR) => break,
                    Err(error) => return Err(error),
                }
            }
            if way.has_ended && way.rest.is_empty() && !way.is_closed {
                way.is_closed = true;
                // Where it is gone there is nobody to tell.
                let _ = shutdown(to, Shutdown::Write);
            }
            if way.rest.is_empty() {
                way.rest.shrink_to(0);
            }
        }
        Ok(self.ways.iter().all(|way| way.is_closed))
    }

    /// The events of one of its sockets that lead on.
    fn wants(&self, side: usize) -> EventFlags {
        let mut flags = EventFlags::empty();
        let (here, back) = (&self.ways[side], &self.ways[1 - side]);
        flags.set(EventFlags::IN, here.rest.is_empty() && !here.is_full && !here.has_ended);
        flags.set(EventFlags::OUT, !back.rest.is_empty() || back.is_full && !back.is_closed);
        flags
    }

    /// Breaks off: both ends are told so.
    fn reset(&self) {
        for socket in &self.sockets {
            let _ = sockopt::set_socket_linger(socket, Some(Duration::ZERO));
        }
    }
}

impl Forwarder {
    /// A program wants a connection.
    pub(super) fn open(&mut self, packet: Vec<u8>, ends: Ends) {
        let is_asked = self.connecting.values().any(|other| other.ends == ends);
        if is_asked {
            return;
        }
        let is_coming =
            self.listeners.values().any(|other| other.place == ends.1 && other.waiting.contains_key(&ends.0));
        if is_coming || self.pairs.values().any(|pair| pair.ends == ends) {
            return self.enter(&packet);
        }
        if self.connecting.len() + self.pairs.len() >= MOST {
            return;
        }
        let target = self.real(ends.1);
        let made = self.lender.socket(Kind::Stream(family(target))).and_then(|outer| {
            sockopt::set_tcp_nodelay(&outer, true)?;
            sockopt::set_socket_keepalive(&outer, true)?;
            // What this needs are systems older than namespaces of users.
            let _ = SockRef::from(&outer).set_tcp_notsent_lowat(AHEAD);
            match connect(&outer, &target) {
                Ok(()) | Err(Errno::INPROGRESS) => Ok(outer),
                Err(error) => Err(error),
            }
        });
        match made {
            Ok(outer) => {
                let number = self.number();
                self.watch(&outer, Place::Connecting, number, EventFlags::OUT);
                self.connecting.insert(number, Connecting { outer, packet, ends });
            }
            Err(error) => self.refuse(&packet, error),
        }
    }

    /// A real target has answered, or there is none.
    pub(super) fn answered(&mut self, number: u64) {
        let Some(Connecting { outer, packet, ends }) = self.connecting.remove(&number) else { return };
        self.unwatch(&outer);
        let error = sockopt::socket_error(&outer).unwrap_or_else(Err);
        let ready = error.and_then(|()| self.listen(ends.1));
        match ready {
            Ok(listener) => {
                if let Some(listener) = self.listeners.get_mut(&listener) {
                    listener.waiting.insert(ends.0, (outer, Instant::now()));
                }
                self.enter(&packet);
            }
            Err(error) => self.refuse(&packet, error),
        }
    }

    /// Tells a program why there is no connection.
    fn refuse(&mut self, packet: &[u8], error: Errno) {
        match error {
            // Nobody listens at that address in the namespace either: the system says so.
            Errno::CONNREFUSED | Errno::CONNRESET => self.enter(packet),
            // So does silence here.
            Errno::TIMEDOUT => {}
            _ => self.say(Trouble::NoRoute, packet),
        }
    }

    /// The listener at a place, which is made if there is none.
    fn listen(&mut self, place: SocketAddr) -> Result<u64, Errno> {
        if let Some((number, _)) = self.listeners.iter().find(|(_, listener)| listener.place == place) {
            return Ok(*number);
        }
        let socket = inner(SocketType::STREAM, place)?;
        bind(&socket, &place)?;
        listen(&socket, 256)?;
        let number = self.number();
        self.watch(&socket, Place::Listener, number, EventFlags::IN);
        self.listeners.insert(number, Listener { socket, place, waiting: HashMap::new() });
        Ok(number)
    }

    /// Programs' connections are there.
    pub(super) fn accept(&mut self, number: u64) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        while let Some(listener) = self.listeners.get_mut(&number) {
            let Ok((socket, from)) = acceptfrom_with(&listener.socket, flags) else { break };
            let from = from.and_then(|from| SocketAddr::try_from(from).ok());
            let waiting = from.and_then(|from| Some((from, listener.waiting.remove(&from)?)));
            let place = listener.place;
            match waiting {
                Some((from, (outer, _))) => self.pair([socket, outer], (from, place)),
                None => {
                    let _ = sockopt::set_socket_linger(&socket, Some(Duration::ZERO));
                }
            }
        }
        self.end_listener(number);
    }

    /// Ends a listener that nobody needs.
    fn end_listener(&mut self, number: u64) {
        if self.listeners.get(&number).is_some_and(|listener| listener.waiting.is_empty())
            && let Some(listener) = self.listeners.remove(&number)
        {
            self.unwatch(&listener.socket);
        }
    }

    fn pair(&mut self, sockets: [OwnedFd; 2], ends: Ends) {
        let _ = sockopt::set_tcp_nodelay(&sockets[0], true);
        let port = getsockname(&sockets[1]).ok().and_then(|name| SocketAddr::try_from(name).ok());
        let port = port.map_or(0, |name| name.port());
        let watched = [EventFlags::empty(); 2];
        let number = self.number();
        self.pairs.insert(number, Pair { sockets, ways: Default::default(), watched, ends, port, again: 0 });
        self.step(number);
    }

    /// Moves what a connection has to move.
    pub(super) fn step(&mut self, number: u64) {
        let Some(pair) = self.pairs.get_mut(&number) else { return };
        let step = pair.step(&mut self.buffer);
        if step.is_err() {
            pair.reset();
        }
        if step.unwrap_or(true) {
            if let Some(pair) = self.pairs.remove(&number) {
                pair.sockets.iter().for_each(|socket| self.unwatch(socket));
            }
            return;
        }
        let Some(pair) = self.pairs.get(&number) else { return };
        let wanted = [pair.wants(0), pair.wants(1)];
        for (side, place) in [Place::Inner, Place::Outer].into_iter().enumerate() {
            if wanted[side] == pair.watched[side] {
                continue;
            }
            match (pair.watched[side].is_empty(), wanted[side].is_empty()) {
                (true, _) => self.watch(&pair.sockets[side], place, number, wanted[side]),
                // What has nothing to say but that it is over would say so again and again.
                (_, true) => self.unwatch(&pair.sockets[side]),
                _ => self.rewatch(&pair.sockets[side], place, number, wanted[side]),
            }
        }
        if let Some(pair) = self.pairs.get_mut(&number) {
            pair.watched = wanted;
        }
    }

    /// Forgets programs that have given up.
    pub(super) fn tidy_streams(&mut self, now: Instant) {
        let numbers: Vec<u64> = self.listeners.keys().copied().collect();
        for number in numbers {
            if let Some(listener) = self.listeners.get_mut(&number) {
                listener.waiting.retain(|_, (_, since)| now - *since < PATIENCE);
            }
            self.end_listener(number);
        }
    }

    /// Tells gates of losses that the outer parts have met since the last look.
    pub(super) fn hear(&mut self) {
        let Some(told) = &self.told else { return };
        if self.pairs.is_empty() {
            return;
        }
        let Ok(senders) = told.all() else { return };
        let again: HashMap<u16, u32> =
            senders.iter().map(|sender| (sender.from, sender.retransmissions)).collect();
        for pair in self.pairs.values_mut() {
            let Some(&count) = again.get(&pair.port) else { continue };
            if count > pair.again {
                self.signals
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
                    .push((pair.ends, Signal::Duplicates));
            }
            pair.again = count;
        }
    }
}
