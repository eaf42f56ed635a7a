//! An established connection, without sockets and clocks.
//!
//! A [`Session`] takes packets that were opened with its keys, and what the application writes; it gives sealed datagrams,
//! events, and the time at which it wants to be polled again. The contract is that of
//! [`Engine`](thalweg_proto::Engine): mutate, then poll until there is nothing more to do.
//!
//! The flows of its streams do all that has to do with data. The session multiplexes them, keeps the path (its size, the
//! peer's address, whether it is still there) and closes the connection.

use crate::batch::{Batch, Purpose};
use crate::flow::{Flow, FlowInput, FlowOutput, FlowStats, PathHints, Role, Scheme};
use crate::identity::{Entropy, PublicKey};
use crate::keys::{Opener, Refused, Sealer};
use crate::mtu::Change;
use crate::path::{Ask, Path};
use crate::wire::frame::{FlowNumber, Frame, Frames, PDU_HEADER, begin_pdu};
use crate::wire::{ConnectionId, HEADER, SAFE_DATAGRAM, TAG, TOKEN, write_confirm, write_header};
use core::ops::Range;
use std::collections::VecDeque;
use std::net::SocketAddr;
use thalweg_proto::payload::{Payload, Slice};
use thalweg_proto::transport::{Event, Failure, Limit, Signal};
use thalweg_proto::units::{Duration, Time};

/// The bytes of a datagram that are not a flow's.
pub const OVERHEAD: u16 = (HEADER + PDU_HEADER + TAG) as u16;

/// Statements that wait for a packet. A peer that asks for more answers than that is not answered.
const MOST_STATEMENTS: usize = 16;

/// After a close the session stays for so long to answer a peer that did not hear of it.
const DRAIN: Duration = Duration::from_secs(3);

/// A close is told again after this, or two round trips; then after twice that, and so on.
const FIRST_AGAIN: Duration = Duration::from_millis(100);

/// A ping that is not answered is sent again after this.
const PING_AGAIN: Duration = Duration::from_secs(1);

/// Statements are no larger than this together, whatever they are.
const ROOM_FOR_STATEMENTS: u64 = 512;

/// Which end of the connection this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end that asked for the connection.
    Client,
    /// The end that was asked.
    Server,
}

/// Codes with which connections are closed. Applications use those from 256 on.
pub mod code {
    /// All is done.
    pub const DONE: u16 = 0;
    /// The peer's key is not one that may connect.
    pub const UNAUTHORIZED: u16 = 1;
    /// The peer said something that makes no sense.
    pub const PROTOCOL: u16 = 2;
    /// The scheme is not known here.
    pub const SCHEME: u16 = 3;
    /// There is no room for more connections.
    pub const BUSY: u16 = 4;
    /// What the client asks for is not served here.
    pub const SERVICE: u16 = 5;
    /// A flow gave up.
    pub const FAILED: u16 = 6;
    /// The first that applications may use.
    pub const APPLICATION: u16 = 256;
}

/// Why a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Closed {
    /// This end closed it.
    Here,
    /// The peer closed it.
    Peer {
        /// For programs.
        code: u16,
        /// For people.
        reason: String,
    },
    /// Nothing was heard from the peer for the idle time-out.
    Silent,
    /// The peer knows nothing of the connection: it was started anew.
    Reset,
    /// The peer broke the protocol.
    Protocol,
    /// A flow gave up.
    Failed(Failure),
}

/// What a session tells its application.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionEvent {
    /// Data of the peer's stream, in order.
    Delivered(Slice),
    /// The peer's stream is complete.
    Ended {
        /// The peer's application stopped before it had sent all that it meant to.
        stopped: bool,
    },
    /// More may be written.
    Writable,
    /// The peer has all of this end's stream and knows that it is all.
    Finished,
    /// The connection is over; this is the last event.
    Closed(Closed),
}

/// What a connection is about, settled by the handshake.
#[derive(Clone, Debug)]
pub struct Agreed {
    /// Which end this is.
    pub side: Side,
    /// The peer's static key.
    pub peer: PublicKey,
    /// What the client wants of the server.
    pub service: String,
    /// How bytes are moved.
    pub scheme: Scheme,
    /// The connection id on packets from the peer.
    pub local: ConnectionId,
    /// The connection id on packets to the peer.
    pub remote: ConnectionId,
    /// A reset with this token comes from the peer.
    pub token: [u8; TOKEN],
    /// The largest datagram that both ends take.
    pub largest: u16,
}

/// What an application may choose of a session.
#[derive(Clone, Copy, Debug)]
pub struct SessionConfig {
    /// A peer that is silent for so long is gone.
    pub idle: Duration,
    /// After so much silence this end asks for a sign of life; [`Duration::MAX`] never does.
    pub keep_alive: Duration,
    /// The bytes that may wait for the application to read.
    pub memory: u64,
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self { idle: Duration::from_secs(30), keep_alive: Duration::from_secs(10), memory: 16 << 20 }
    }
}

/// Counters of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SessionStats {
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets that came and were authentic.
    pub packets_received: u64,
    /// Packets that came before or too late, or were not authentic.
    pub packets_refused: u64,
    /// Bytes of datagrams sent.
    pub bytes_sent: u64,
    /// Bytes of authentic datagrams that came.
    pub bytes_received: u64,
    /// How often the peer's address changed.
    pub migrations: u64,
    /// The largest datagram that is sent.
    pub datagram: u16,
    /// The flow that carries this end's stream.
    pub sending: FlowStats,
    /// The flow that carries the peer's stream.
    pub receiving: FlowStats,
    /// What holds the sending flow back.
    pub limit: Option<Limit>,
}

/// What a session wants after a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The batch is full: send it, and poll again.
    Full,
    /// Nothing more to do until then; [`Time::MAX`] for never.
    At(Time),
}

#[derive(Debug)]
struct Slot {
    number: FlowNumber,
    flow: Flow,
    sends: bool,
}

#[derive(Clone, Debug)]
enum Phase {
    Open,
    /// The peer may not have heard of the close yet.
    Draining(Draining),
    Over,
}

/// A closed connection that still answers.
#[derive(Clone, Debug)]
struct Draining {
    until: Time,
    /// What the peer is to hear; `None` where it was the one that closed.
    close: Option<Vec<u8>>,
    /// When it is told again.
    due: Time,
    tries: u32,
}

/// The client's confirm, which is sent until the server shows that it got it.
#[derive(Debug)]
struct Confirm {
    message: Vec<u8>,
    due: Time,
    tries: u32,
}

/// An established connection.
#[derive(Debug)]
pub struct Session {
    agreed: Agreed,
    config: SessionConfig,
    sealer: Sealer,
    opener: Opener,
    path: Path,
    /// The last proved path, while the present one is not.
    fallback: Option<Path>,
    /// The highest number of a packet that came: only the newest moves the path.
    newest: u64,
    slots: Vec<Slot>,
    /// Whose turn it is.
    turn: usize,
    statements: VecDeque<(Vec<u8>, Option<SocketAddr>)>,
    confirm: Option<Confirm>,
    phase: Phase,
    events: VecDeque<SessionEvent>,
    last_heard: Time,
    /// When a sign of life was asked for last.
    last_ping: Time,
    rtt: Option<Duration>,
    ping_sent: Option<(u64, Time)>,
    wants_room: bool,
    /// The peer's stream is complete.
    ended: bool,
    /// The peer has all of this end's stream.
    finished: bool,
    purpose: Purpose,
    stats: SessionStats,
}

impl Session {
    /// A session whose handshake is over, at `now`, over a path that is proved. A client hands in its `confirm`, and the
    /// time that the handshake's round trip took.
    pub fn new(
        now: Time,
        agreed: Agreed,
        config: SessionConfig,
        (sealer, opener): (Sealer, Opener),
        remote: SocketAddr,
        confirm: Option<Vec<u8>>,
        rtt: Option<Duration>,
    ) -> Self {
        let largest = agreed.largest.max(SAFE_DATAGRAM);
        let hints = PathHints {
            maximum: u32::from(SAFE_DATAGRAM - OVERHEAD),
            rtt,
            memory: config.memory,
            ..PathHints::default()
        };
        let (ours, theirs) = if agreed.side == Side::Client { (0, 1) } else { (1, 0) };
        let slots = vec![
            Slot { number: theirs, flow: Flow::new(&agreed.scheme, Role::Receiver, &hints), sends: false },
            Slot { number: ours, flow: Flow::new(&agreed.scheme, Role::Sender, &hints), sends: true },
        ];
        // Of all controllers one listens to the network's mark. The others would be marked where they ought to lose.
        let purpose = if agreed.scheme.name() == "dec-bit" { Purpose::Marked } else { Purpose::Ordinary };
        let mut session = Self {
            agreed,
            config,
            sealer,
            opener,
            path: Path::proved(remote, largest),
            fallback: None,
            newest: 0,
            slots,
            turn: 0,
            statements: VecDeque::new(),
            confirm: confirm.map(|message| Confirm { message, due: now, tries: 0 }),
            phase: Phase::Open,
            events: VecDeque::new(),
            last_heard: now,
            last_ping: now,
            rtt,
            ping_sent: None,
            wants_room: false,
            ended: false,
            finished: false,
            purpose,
            stats: SessionStats::default(),
        };
        if session.agreed.side == Side::Server {
            // The client sends its confirm until it hears something.
            session.ping(now);
        }
        session
    }

    /// What the handshake settled.
    pub fn agreed(&self) -> &Agreed {
        &self.agreed
    }

    /// Where the peer is.
    pub fn remote(&self) -> SocketAddr {
        self.path.remote
    }

    /// Counters and beliefs at `now`.
    pub fn stats(&self, now: Time) -> SessionStats {
        let flow = |sends| self.slots.iter().find(|slot| slot.sends == sends).map(|slot| &slot.flow);
        SessionStats {
            datagram: self.path.mtu.current(),
            sending: flow(true).map(|flow| flow.stats(now)).unwrap_or_default(),
            receiving: flow(false).map(|flow| flow.stats(now)).unwrap_or_default(),
            limit: flow(true).and_then(Flow::limit),
            ..self.stats
        }
    }

    /// True when nothing is left to be done and the session can be forgotten.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over) && self.events.is_empty()
    }

    /// The next event.
    pub fn event(&mut self) -> Option<SessionEvent> {
        self.events.pop_front()
    }

    // What the application does.

    /// How many bytes more may be written now. When it was less than the application had, [`SessionEvent::Writable`] says
    /// when to ask again.
    pub fn writable(&mut self) -> u64 {
        let room = self.sending().map_or(0, |flow| flow.writable());
        self.wants_room = true;
        room
    }

    /// Writes to this end's stream.
    pub fn write(&mut self, now: Time, data: Slice) {
        self.tell_sending(now, FlowInput::Write(data));
    }

    /// Ends this end's stream; what was written still goes.
    pub fn finish(&mut self, now: Time) {
        self.tell_sending(now, FlowInput::Finish);
    }

    /// Ends this end's stream and takes back what has not been sent.
    pub fn stop(&mut self, now: Time) {
        self.tell_sending(now, FlowInput::Stop);
    }

    /// The application took so many bytes of what was delivered.
    pub fn consumed(&mut self, now: Time, bytes: u64) {
        if let Some(slot) = self.slots.iter_mut().find(|slot| !slot.sends) {
            slot.flow.handle(now, FlowInput::Consumed(bytes));
        }
    }

    /// Closes the connection. What is on the way is lost; who wants it to arrive waits for [`SessionEvent::Finished`].
    pub fn close(&mut self, now: Time, code: u16, reason: &str) {
        if matches!(self.phase, Phase::Open) {
            self.drain(now, Some((code, reason)), Closed::Here);
        }
    }

    fn sending(&mut self) -> Option<&mut Flow> {
        self.slots.iter_mut().find(|slot| slot.sends).map(|slot| &mut slot.flow)
    }

    fn tell_sending(&mut self, now: Time, input: FlowInput) {
        if let Some(flow) = self.sending() {
            flow.handle(now, input);
        }
    }

    // What the network does.

    /// Opens a packet with this session's keys, in place.
    ///
    /// # Errors
    /// Packets that are not authentic or came before; they are counted.
    #[inline]
    pub fn open(&mut self, packet: &mut [u8]) -> Result<(u64, Range<usize>), Refused> {
        let opened = self.opener.open(packet);
        self.stats.packets_refused += u64::from(opened.is_err());
        opened
    }

    /// Takes the frames of an opened packet of `length` bytes. PDUs share the memory of `packet`, where `range` is what was
    /// opened.
    pub fn receive(
        &mut self,
        now: Time,
        from: SocketAddr,
        marked: bool,
        (number, packet, range): (u64, &Slice, Range<usize>),
        entropy: &mut dyn Entropy,
    ) {
        let size = range.len() + HEADER + TAG;
        self.last_heard = now;
        self.confirm = None;
        self.stats.packets_received += 1;
        self.stats.bytes_received += size as u64;
        let is_newest = number >= self.newest;
        self.newest = self.newest.max(number);
        if from == self.path.remote {
            self.path.on_received(size);
        } else if is_newest && matches!(self.phase, Phase::Open) {
            self.migrate(now, from, size, entropy);
        }
        let payload = &packet.as_bytes()[range.clone()];
        for frame in Frames::new(payload) {
            let Ok(frame) = frame else {
                self.drain(now, Some((code::PROTOCOL, "frames that make no sense")), Closed::Protocol);
                return;
            };
            if let Phase::Draining(draining) = &mut self.phase {
                // One that goes on has not heard of the close.
                draining.due = now;
                if matches!(frame, Frame::Close { .. }) && draining.close.is_some() {
                    self.phase = Phase::Over;
                }
                return;
            }
            match frame {
                Frame::Pdu { flow, range: pdu } => {
                    let Some(slot) = self.slots.iter_mut().find(|slot| slot.number == flow) else { continue };
                    let at = |offset: usize| (range.start + offset) as u32;
                    let bytes = packet.slice(at(pdu.start), at(pdu.end));
                    slot.flow.handle(now, FlowInput::Datagram { bytes, marked });
                }
                Frame::Ping(token) => self.state(&Frame::Pong(token), None),
                Frame::Pong(token) => self.on_pong(now, token),
                Frame::Probe(size) => self.state(&Frame::ProbeAck(size), None),
                Frame::ProbeAck(size) => {
                    let change = self.path.mtu.on_answer(now, size);
                    self.on_change(now, change);
                }
                Frame::Challenge(token) => self.state(&Frame::Response(token), Some(from)),
                Frame::Response(token) => {
                    if self.path.on_response(token) {
                        self.fallback = None;
                    }
                }
                Frame::Close { code, complete, reason } => {
                    let reason = reason.to_owned();
                    self.collect(now);
                    if complete && !core::mem::replace(&mut self.finished, true) {
                        // The answer to the end of the stream was lost, or is behind.
                        self.events.push_back(SessionEvent::Finished);
                    }
                    self.drain(now, None, Closed::Peer { code, reason });
                    self.state(&Frame::Close { code: code::DONE, complete: self.ended, reason: "" }, None);
                    return;
                }
            }
        }
    }

    /// A reset came. True if it ended the session.
    pub fn on_reset(&mut self, token: &[u8; TOKEN]) -> bool {
        let is_genuine = crate::cookie::constant_time_eq(token, &self.agreed.token);
        if is_genuine && matches!(self.phase, Phase::Open) {
            self.end(Closed::Reset);
        }
        is_genuine
    }

    /// The network layer of this host refused a datagram of this size.
    pub fn on_refused(&mut self, now: Time, size: usize) {
        let change = self.path.mtu.on_refused(now, u16::try_from(size).unwrap_or(u16::MAX));
        self.on_change(now, change);
    }

    /// The server received the confirm again: it wants to hear of this end.
    pub fn on_confirm_again(&mut self, now: Time) {
        if self.ping_sent.is_none_or(|(_, sent)| now.since(sent) > Duration::from_millis(20)) {
            self.ping(now);
        }
    }

    /// The peer speaks from another address.
    fn migrate(&mut self, now: Time, from: SocketAddr, size: usize, entropy: &mut dyn Entropy) {
        self.stats.migrations += 1;
        let limit = self.agreed.largest.max(SAFE_DATAGRAM);
        let mut path = Path::unproved(from, limit, now, entropy);
        path.on_received(size);
        let last = core::mem::replace(&mut self.path, path);
        if last.is_proved() {
            self.fallback = Some(last);
        }
        if self.fallback.as_ref().is_some_and(|fallback| fallback.remote == from)
            && let Some(back) = self.fallback.take()
        {
            // Back where it was proved before.
            self.path = back;
            self.path.on_received(size);
        }
        self.set_maximum(now);
    }

    fn on_change(&mut self, now: Time, change: Option<Change>) {
        if change.is_some() {
            self.set_maximum(now);
        }
    }

    fn set_maximum(&mut self, now: Time) {
        let maximum = u32::from(self.path.mtu.current() - OVERHEAD);
        for slot in &mut self.slots {
            slot.flow.handle(now, FlowInput::MaximumSegment(maximum));
        }
    }

    fn on_pong(&mut self, now: Time, token: u64) {
        if let Some((_, sent)) = self.ping_sent.take_if(|(sent, _)| *sent == token) {
            self.rtt = Some(now.since(sent));
        }
    }

    fn ping(&mut self, now: Time) {
        let token = self.sealer.next_number();
        self.ping_sent = Some((token, now));
        self.last_ping = now;
        self.state(&Frame::Ping(token), None);
    }

    /// A statement goes with the next packet.
    fn state(&mut self, frame: &Frame<'_>, to: Option<SocketAddr>) {
        if self.statements.len() < MOST_STATEMENTS {
            let mut bytes = Vec::new();
            frame.write(&mut bytes);
            self.statements.push_back((bytes, to));
        }
    }

    fn on_ended(&mut self, stopped: bool) {
        self.ended = !stopped;
        self.events.push_back(SessionEvent::Ended { stopped });
    }

    /// Takes what flows have for the application, before they end.
    fn collect(&mut self, now: Time) {
        let mut nowhere = Vec::new();
        for mut slot in core::mem::take(&mut self.slots) {
            loop {
                nowhere.clear();
                match slot.flow.poll(now, &mut nowhere) {
                    FlowOutput::Event(event @ (Event::Delivered(_) | Event::Finished)) => {
                        self.on_event(now, event)
                    }
                    FlowOutput::Ended { stopped } => self.on_ended(stopped),
                    FlowOutput::Transmit | FlowOutput::Event(_) => {}
                    FlowOutput::Timeout { .. } | FlowOutput::Idle => break,
                }
            }
        }
    }

    fn drain(&mut self, now: Time, close: Option<(u16, &str)>, why: Closed) {
        self.statements.clear();
        let close = close.map(|(code, reason)| {
            let mut bytes = Vec::new();
            Frame::Close { code, complete: self.ended, reason }.write(&mut bytes);
            bytes
        });
        self.phase = Phase::Draining(Draining { until: now + DRAIN, close, due: now, tries: 0 });
        self.slots.clear();
        self.confirm = None;
        self.events.push_back(SessionEvent::Closed(why));
    }

    fn end(&mut self, why: Closed) {
        if matches!(self.phase, Phase::Open) {
            self.events.push_back(SessionEvent::Closed(why));
        }
        self.slots.clear();
        self.statements.clear();
        self.phase = Phase::Over;
    }

    // What goes out.

    /// Does what is due at `now`, and appends what is to be sent to `batch`.
    pub fn poll(&mut self, now: Time, batch: &mut Batch) -> Next {
        match &self.phase {
            Phase::Over => return Next::At(Time::MAX),
            Phase::Draining(_) => return self.poll_draining(now, batch),
            Phase::Open => {}
        }
        if now >= self.last_heard + self.config.idle {
            self.end(Closed::Silent);
            return Next::At(Time::MAX);
        }
        if now >= self.keep_alive_at() {
            self.ping(now);
        }
        self.poll_confirm(now, batch);
        self.poll_path(now, batch);
        self.poll_statements(batch);
        let mut next = self.last_heard + self.config.idle;
        next = next.min(self.keep_alive_at()).min(self.path.deadline());
        if self.may_probe() {
            next = next.min(self.path.mtu.deadline());
        }
        if let Some(confirm) = &self.confirm {
            next = next.min(confirm.due);
        }
        match self.poll_flows(now, batch) {
            Next::Full => Next::Full,
            Next::At(at) => {
                if self.wants_room && self.sending().is_some_and(|flow| flow.writable() > 0) {
                    self.wants_room = false;
                    self.events.push_back(SessionEvent::Writable);
                }
                Next::At(next.min(at))
            }
        }
    }

    /// After the keep-alive interval of silence, and then often: pings are lost like anything else.
    fn keep_alive_at(&self) -> Time {
        if self.config.keep_alive == Duration::MAX {
            return Time::MAX;
        }
        let first = self.last_heard + self.config.keep_alive;
        let again = self.config.keep_alive.min(PING_AGAIN);
        if self.last_ping < self.last_heard { first } else { first.max(self.last_ping + again) }
    }

    fn poll_confirm(&mut self, now: Time, batch: &mut Batch) {
        let Some(confirm) = &mut self.confirm else { return };
        if now < confirm.due {
            return;
        }
        let wait =
            self.rtt.map_or(Duration::from_millis(500), |rtt| (rtt * 2).max(Duration::from_millis(50)));
        confirm.due = now + wait * (1 << confirm.tries.min(4));
        confirm.tries += 1;
        let start = batch.start();
        write_confirm(batch.buffer(), self.agreed.remote, &confirm.message);
        batch.finish(start, self.path.remote, Purpose::Ordinary);
    }

    fn poll_path(&mut self, now: Time, batch: &mut Batch) {
        match self.path.poll(now, self.rtt) {
            Ask::Nothing => {}
            Ask::Challenge(token) => {
                let to = self.path.remote;
                if self.path.allowance() >= 64 {
                    self.send(batch, to, Purpose::Ordinary, |into| Frame::Challenge(token).write(into));
                }
            }
            Ask::GiveUp => {
                if let Some(fallback) = self.fallback.take() {
                    self.path = fallback;
                    self.set_maximum(now);
                } else {
                    self.end(Closed::Silent);
                    return;
                }
            }
        }
        while self.may_probe() {
            let (size, change) = self.path.mtu.poll(now, self.rtt);
            self.on_change(now, change);
            let Some(size) = size else { return };
            let to = self.path.remote;
            self.send(batch, to, Purpose::Probe, |into| {
                let start = into.len();
                Frame::Probe(size).write(into);
                into.resize(start + usize::from(size) - HEADER - TAG, 0);
            });
        }
    }

    /// Nothing is known of a server that has not answered yet, and nothing large may go to an address that is not proved.
    fn may_probe(&self) -> bool {
        self.confirm.is_none() && self.path.is_proved()
    }

    fn poll_statements(&mut self, batch: &mut Batch) {
        while let Some((_, first)) = self.statements.front() {
            let remote = self.path.remote;
            let to = first.unwrap_or(remote);
            if to == remote && self.path.allowance() < ROOM_FOR_STATEMENTS {
                return;
            }
            let mut together = Vec::new();
            while let Some((bytes, _)) =
                self.statements.pop_front_if(|(_, other)| other.unwrap_or(remote) == to)
            {
                together.extend_from_slice(&bytes);
            }
            self.send(batch, to, Purpose::Ordinary, |into| into.extend_from_slice(&together));
        }
    }

    fn poll_draining(&mut self, now: Time, batch: &mut Batch) -> Next {
        self.poll_statements(batch);
        let Phase::Draining(draining) = &mut self.phase else { return Next::At(Time::MAX) };
        if now >= draining.until {
            self.phase = Phase::Over;
            return Next::At(Time::MAX);
        }
        let Some(close) = &draining.close else { return Next::At(draining.until) };
        if now >= draining.due {
            let wait = self.rtt.map_or(FIRST_AGAIN, |rtt| (rtt * 2).max(FIRST_AGAIN));
            draining.due = now + wait * (1 << draining.tries.min(10));
            draining.tries += 1;
            let (close, remote) = (close.clone(), self.path.remote);
            self.send(batch, remote, Purpose::Ordinary, |into| into.extend_from_slice(&close));
        }
        let Phase::Draining(draining) = &self.phase else { return Next::At(Time::MAX) };
        Next::At(draining.due.min(draining.until))
    }

    fn poll_flows(&mut self, now: Time, batch: &mut Batch) -> Next {
        let mut next = Time::MAX;
        let mut drained = 0;
        while drained < self.slots.len() {
            let turn = self.turn % self.slots.len();
            let datagram = usize::from(self.path.mtu.current());
            if !batch.has_room(datagram) {
                return Next::Full;
            }
            if self.path.allowance() < datagram as u64 {
                // The answer to the challenge, or what comes before it, lets it go on.
                return Next::At(next);
            }
            let start = batch.start();
            let slot = &mut self.slots[turn];
            let buffer = batch.buffer();
            write_header(buffer, self.agreed.remote, self.sealer.next_number());
            begin_pdu(buffer, slot.number);
            let output = slot.flow.poll(now, buffer);
            if output == FlowOutput::Transmit {
                let (remote, purpose) = (self.path.remote, self.purpose);
                self.seal(batch, start, remote, purpose);
                drained = 0;
                continue;
            }
            buffer.truncate(start);
            match output {
                FlowOutput::Transmit => {}
                FlowOutput::Event(event) => {
                    self.on_event(now, event);
                    if self.slots.is_empty() {
                        return Next::At(Time::MAX);
                    }
                }
                FlowOutput::Ended { stopped } => self.on_ended(stopped),
                FlowOutput::Timeout { at } => {
                    next = next.min(at);
                    drained += 1;
                    self.turn = turn + 1;
                }
                FlowOutput::Idle => {
                    drained += 1;
                    self.turn = turn + 1;
                }
            }
        }
        Next::At(next)
    }

    fn on_event(&mut self, now: Time, event: Event<Slice>) {
        match event {
            Event::Delivered(data) => self.events.push_back(SessionEvent::Delivered(data)),
            Event::Finished => {
                self.finished = true;
                self.events.push_back(SessionEvent::Finished);
            }
            Event::Failed(failure) => {
                self.drain(now, Some((code::FAILED, "a flow gave up")), Closed::Failed(failure));
            }
            Event::Congestion(Signal::Timeout) => self.path.mtu.on_timeout(),
            // Streams of bytes tolerate no holes, and room is looked at when all is drained.
            Event::Congestion(_) | Event::Writable | Event::Hole { .. } => {}
        }
    }

    /// Sends one packet with the frames that `write` appends.
    fn send(
        &mut self,
        batch: &mut Batch,
        to: SocketAddr,
        purpose: Purpose,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let start = batch.start();
        let buffer = batch.buffer();
        write_header(buffer, self.agreed.remote, self.sealer.next_number());
        write(buffer);
        self.seal(batch, start, to, purpose);
    }

    #[inline]
    fn seal(&mut self, batch: &mut Batch, start: usize, to: SocketAddr, purpose: Purpose) {
        if self.sealer.seal(batch.buffer(), start).is_err() {
            // 2^62 packets were sent.
            batch.buffer().truncate(start);
            self.end(Closed::Protocol);
            return;
        }
        let size = batch.start() - start;
        if to == self.path.remote {
            self.path.on_sent(size);
            if purpose != Purpose::Probe {
                self.path.mtu.on_sent(size);
            }
        }
        self.stats.packets_sent += 1;
        self.stats.bytes_sent += size as u64;
        batch.finish(start, to, purpose);
    }
}
