//! An established connection, without sockets and clocks.
//!
//! A [`Session`] takes packets that were opened with its keys, and what the application writes; it gives sealed datagrams,
//! events, and the time at which it wants to be polled again. The contract is that of
//! [`Engine`](thalweg_proto::Engine): mutate, then poll until there is nothing more to do.
//!
//! The flows of its streams do all that has to do with data. The session multiplexes them, keeps the path (its size, the
//! peer's address, whether it is still there) and closes the connection.

mod budget;
mod counters;
mod digest;
mod growth;
mod interface;
mod moving;
mod narrow;
mod ordered;
mod output;
mod told;

use budget::Budget;
pub use budget::STRANGER_MEMORY;
pub use counters::{COUNTERS, Counter};
use growth::Growth;
pub use interface::{Agreed, Closed, EcnState, SessionConfig, SessionEvent, SessionStats, Side, code};
use narrow::Progress;
use ordered::Ordered;
use told::SentLately;

use crate::bucket::Bucket;
use crate::flow::{Flow, FlowInput, FlowOutput, PathHints, Reading, Recorder, Role, is_pdu};
use crate::identity::Entropy;
use crate::keys::{Opener, Refused, Sealer};
use crate::mtu::Change;
use crate::path::Path;
use crate::text::printable_within;
use crate::wire::frame::{FlowNumber, Frame, Frames, LONGEST_DATAGRAM, LONGEST_REASON, PDU_HEADER};
use crate::wire::{HEADER, SAFE_DATAGRAM, TAG, TOKEN};
use core::ops::Range;
use std::collections::VecDeque;
use std::net::SocketAddr;
use thalweg_proto::Ecn;
use thalweg_proto::payload::{Payload, Slice};
use thalweg_proto::resequence::{Resequencer, Tolerance};
use thalweg_proto::transport::Event;
use thalweg_proto::units::{Duration, Time};

/// The bytes of a datagram that are not a flow's.
pub const OVERHEAD: u16 = (HEADER + PDU_HEADER + TAG) as u16;

/// Statements that wait for a packet. A peer that asks for more answers than that is not answered.
const MOST_STATEMENTS: usize = 16;

/// PDUs that are taken of one packet. This end puts one into each; more of them are worth more answers than packets.
const MOST_PDUS: usize = 4;

/// The least that a PDU counts as where it is kept, in bytes.
const LEAST_HELD: u64 = 1024;

/// The part of the memory that packets may take that wait for their turn.
const ORDER_SHARE: u64 = 4;

/// The least that every confirm has, in bytes: a sealed key, and parameters with their tag.
const SAFE_CONFIRM: u64 = 96;

/// Datagrams that wait to be sent. When there are more, the oldest is dropped.
const MOST_DATAGRAMS: usize = 256;

/// After a close the session stays for so long to answer a peer that did not hear of it.
const DRAIN: Duration = Duration::from_secs(3);

/// A peer's address may change so often in a second. More changes than that are somebody's who copies packets.
const MOVES: u32 = 4;

/// The next thing that a session wants after a poll.
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
    /// Frames that wait for room in what a stranger may be sent.
    pending: Vec<u8>,
}

impl Slot {
    fn new(number: FlowNumber, flow: Flow, sends: bool) -> Self {
        Self { number, flow, sends, pending: Vec::new() }
    }
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
    /// The message that the peer is to hear; `None` where it was the one that closed.
    close: Option<Vec<u8>>,
    /// The time at which the message is sent again.
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
    /// The last proved path, while the present one is not, and what is asked of it: who answers from there is still there.
    fallback: Option<Path>,
    recall: [u8; 8],
    /// The changes that the peer's address may still make now.
    moves: Bucket,
    /// The highest number of a packet that came: only the newest moves the path.
    newest: u64,
    slots: Vec<Slot>,
    /// Puts packets back into the order in which they were sent, for schemes that need it.
    order: Option<Box<Resequencer<Ordered>>>,
    /// The slot whose turn it is.
    turn: usize,
    statements: VecDeque<(Vec<u8>, Option<SocketAddr>)>,
    /// Datagrams of the application that wait to be sent.
    datagrams: VecDeque<Slice>,
    confirm: Option<Confirm>,
    phase: Phase,
    events: VecDeque<SessionEvent>,
    last_heard: Time,
    /// The time at which a sign of life was asked for last.
    last_ping: Time,
    rtt: Option<Duration>,
    ping_sent: Option<(u64, Time)>,
    /// The last ping is among the statements that wait.
    ping_waits: bool,
    wants_room: bool,
    /// The peer's stream is complete.
    ended: bool,
    /// The peer has all of this end's stream.
    finished: bool,
    /// The codepoint of the scheme's data.
    ecn: Ecn,
    budget: Budget,
    progress: Progress,
    /// The most data that waits for the application, in bytes.
    memory: u64,
    growth: Growth,
    /// The packets that routers may speak of, where the scheme listens.
    sent_lately: Option<Box<SentLately>>,
    /// Bytes that a stranger may still send, of schemes whose windows cannot be made smaller.
    strange: Option<u64>,
    stats: SessionStats,
}

impl Session {
    /// The hints that flows get about a path on which nothing has been sent yet.
    pub(crate) fn hints(config: &SessionConfig, rtt: Option<Duration>) -> PathHints {
        let maximum = u32::from(SAFE_DATAGRAM - OVERHEAD);
        PathHints { maximum, rtt, memory: config.memory, ..PathHints::default() }
    }

    /// A session whose handshake is over, at `now`, over a path that is proved. A client hands in its `confirm`, and the
    /// time that the handshake's round trip took.
    pub fn new(
        now: Time,
        agreed: Agreed,
        config: SessionConfig,
        (sealer, mut opener): (Sealer, Opener),
        remote: SocketAddr,
        confirm: Option<Vec<u8>>,
        rtt: Option<Duration>,
    ) -> Self {
        opener.limit_forgeries(config.forgeries);
        let largest = agreed.largest.max(SAFE_DATAGRAM);
        let hints = Self::hints(&config, rtt);
        let order = agreed.scheme.needs_order().then(|| Box::new(Resequencer::new(Tolerance::default(), 0)));
        let (ours, theirs) = if agreed.side == Side::Client { (0, 1) } else { (1, 0) };
        let slots = vec![
            Slot::new(theirs, Flow::new(&agreed.scheme, Role::Receiver, &hints), false),
            Slot::new(ours, Flow::new(&agreed.scheme, Role::Sender, &hints), true),
        ];
        let ecn = agreed.scheme.ecn();
        let sent_lately = agreed.scheme.hears_routers().then(Box::default);
        let is_untrusted = !agreed.known;
        let mut session = Self {
            agreed,
            config,
            sealer,
            opener,
            path: Path::proved(remote, largest),
            fallback: None,
            recall: [0; 8],
            moves: Bucket::new(now, MOVES),
            newest: 0,
            slots,
            order,
            turn: 0,
            statements: VecDeque::new(),
            datagrams: VecDeque::new(),
            confirm: confirm.map(|message| Confirm { message, due: now, tries: 0 }),
            phase: Phase::Open,
            events: VecDeque::new(),
            last_heard: now,
            last_ping: now,
            rtt,
            ping_sent: None,
            ping_waits: false,
            wants_room: false,
            ended: false,
            finished: false,
            ecn,
            progress: Progress::new(),
            budget: Budget::new(now, SAFE_CONFIRM, is_untrusted),
            memory: config.memory,
            growth: Growth::new(rtt),
            sent_lately,
            strange: None,
            stats: SessionStats::default(),
        };
        if is_untrusted {
            session.set_memory(config.memory.min(STRANGER_MEMORY));
        } else if session.order.is_some() {
            session.set_memory(config.memory);
            session.strange = None;
        }
        if session.agreed.side == Side::Server {
            // The client sends its confirm until it hears something.
            session.ping(now);
        }
        session
    }

    /// The application has decided to deal with this peer, for which `memory` bytes may wait from now on. Until then a peer
    /// whose key is not [known](Agreed::known) is a stranger: it is sent three bytes at most for one that it sends, and
    /// [`STRANGER_MEMORY`] of what it sends is kept.
    pub fn admit(&mut self, memory: u64) {
        self.budget.admit();
        self.set_memory(memory.min(self.config.memory));
        self.strange = None;
    }

    /// True if nobody has decided about this peer yet.
    pub fn is_untrusted(&self) -> bool {
        self.budget.is_untrusted()
    }

    /// The bytes that may wait for the application at present: none once the connection is closed.
    pub fn memory(&self) -> u64 {
        if matches!(self.phase, Phase::Open) { self.memory } else { 0 }
    }

    /// The bytes that the path wants to have waiting for the application, as far as the session may have them.
    pub(crate) fn wants(&self) -> u64 {
        if self.is_untrusted() { 0 } else { self.growth.wants().min(self.config.most_memory) }
    }

    /// So many bytes may wait for the application from now on, which are more than before.
    pub(crate) fn grow(&mut self, memory: u64) {
        self.set_memory(memory);
        self.strange = None;
    }

    fn set_memory(&mut self, bytes: u64) {
        self.memory = bytes;
        let mut bytes = bytes;
        if let Some(order) = &mut self.order {
            let share = bytes / ORDER_SHARE;
            order.set_memory(share);
            bytes -= share;
        }
        if let Some(slot) = self.slots.iter_mut().find(|slot| !slot.sends)
            && !slot.flow.set_memory(bytes)
        {
            self.strange = Some(bytes);
        }
    }

    /// From now on what happens at this end's stream is kept.
    pub fn record(&mut self, recorder: Recorder) {
        let headers = if self.path.remote.ip().to_canonical().is_ipv4() { 28 } else { 48 };
        recorder.begin(self.agreed.scheme.to_string(), u32::from(OVERHEAD) + headers);
        if let Some(flow) = self.sending() {
            flow.record(recorder);
        }
    }

    /// The terms that the handshake settled.
    pub fn agreed(&self) -> &Agreed {
        &self.agreed
    }

    /// The peer's address.
    pub fn remote(&self) -> SocketAddr {
        self.path.remote
    }

    /// Counters and beliefs at `now`; of a closed connection those at its end.
    pub fn stats(&self, now: Time) -> SessionStats {
        let flow = |sends| self.slots.iter().find(|slot| slot.sends == sends).map(|slot| &slot.flow);
        SessionStats {
            datagram: self.path.mtu.current(),
            sending: flow(true).map_or(self.stats.sending, |flow| flow.stats(now)),
            receiving: flow(false).map_or(self.stats.receiving, |flow| flow.stats(now)),
            limit: flow(true).and_then(Flow::limit),
            ecn: if self.ecn.is_capable() { self.path.ecn() } else { EcnState::Off },
            ..self.stats
        }
    }

    /// True when nothing is left to be done and the session can be forgotten.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over) && self.events.is_empty()
    }

    /// True when the peer will not hear anything more, apart from answers: it has closed the connection and was answered, or
    /// nothing is left to be done.
    pub fn is_silent(&self) -> bool {
        match &self.phase {
            Phase::Open => false,
            Phase::Draining(draining) => draining.close.is_none() && self.statements.is_empty(),
            Phase::Over => true,
        }
    }

    /// The next event.
    pub fn event(&mut self) -> Option<SessionEvent> {
        self.events.pop_front()
    }

    /// The codepoint of this end's data: that of the scheme, unless the path is known to lose what is ECN-capable.
    fn codepoint(&self) -> Ecn {
        if self.path.ecn_capable() { self.ecn } else { Ecn::NotEct }
    }

    // What the application does.

    /// The number of bytes more that may be written now. When it was less than the application had,
    /// [`SessionEvent::Writable`] says when to ask again.
    pub fn writable(&mut self) -> u64 {
        let room = self.sending().map_or(0, |flow| flow.writable());
        self.wants_room = true;
        room
    }

    /// The most bytes that ought to wait to be written.
    pub fn ahead(&mut self) -> u64 {
        self.sending().map_or(0, |flow| flow.ahead())
    }

    /// Writes to this end's stream.
    pub fn write(&mut self, now: Time, data: Slice) {
        self.notify_sender(now, FlowInput::Write(data));
    }

    /// Ends this end's stream; what was written still goes.
    pub fn finish(&mut self, now: Time) {
        self.notify_sender(now, FlowInput::Finish);
    }

    /// Ends this end's stream and takes back what has not been sent.
    pub fn stop(&mut self, now: Time) {
        self.notify_sender(now, FlowInput::Stop);
    }

    /// Sends a datagram, once: it arrives, or does not. Those that have waited for longest are dropped where more are given
    /// than can be sent. False, and nothing is sent, where it is empty or longer than [`LONGEST_DATAGRAM`].
    pub fn send_datagram(&mut self, datagram: Slice) -> bool {
        let length = datagram.as_bytes().len();
        if !(1..=LONGEST_DATAGRAM).contains(&length) || !matches!(self.phase, Phase::Open) {
            return false;
        }
        if self.datagrams.len() >= MOST_DATAGRAMS {
            self.datagrams.pop_front();
            self.stats.datagrams_dropped += 1;
        }
        self.datagrams.push_back(datagram);
        true
    }

    /// The part of what was delivered that the application may take before it says so.
    pub fn reading(&self) -> Reading {
        let receiving = self.slots.iter().find(|slot| !slot.sends);
        receiving.map_or(Reading { bytes: 1, pieces: 1 }, |slot| slot.flow.reading())
    }

    /// The application took so many bytes of what was delivered.
    pub fn consumed(&mut self, now: Time, bytes: u64) {
        let Some(slot) = self.slots.iter_mut().find(|slot| !slot.sends) else { return };
        slot.flow.handle(now, FlowInput::Consumed(bytes));
        if slot.flow.has_window() {
            self.growth.took(now, bytes);
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

    fn notify_sender(&mut self, now: Time, input: FlowInput) {
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

    /// So many packets were forged that none may be [opened](Session::open) any more.
    pub fn on_worn_out(&mut self, now: Time) {
        if matches!(self.phase, Phase::Open) {
            self.drain(now, Some((code::FORGERIES, "too many packets were forged")), Closed::Forgeries);
        }
    }

    /// Takes the frames of an opened packet of `length` bytes. PDUs share the memory of `packet`, where `range` is what was
    /// opened.
    pub fn receive(
        &mut self,
        now: Time,
        from: SocketAddr,
        ecn: Ecn,
        (number, packet, range): (u64, &Slice, Range<usize>),
        entropy: &mut dyn Entropy,
    ) {
        let size = range.len() + HEADER + TAG;
        self.last_heard = now;
        self.confirm = None;
        self.stats.packets_received += 1;
        self.stats.bytes_received += size as u64;
        self.stats.marked += u64::from(ecn.is_ce());
        self.budget.on_received(size as u64);
        let is_newest = number >= self.newest;
        self.newest = self.newest.max(number);
        if from == self.path.remote {
            self.path.on_received(size);
        } else if is_newest && matches!(self.phase, Phase::Open) {
            self.migrate(now, from, size, entropy);
        }
        let is_ordered = self.order.is_some();
        if let Some(order) = &mut self.order {
            order.insert(now, number, Ordered { packet: packet.clone(), range: range.clone(), ecn });
        }
        let payload = &packet.as_bytes()[range.clone()];
        let mut pdus = 0;
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
                // It has its turn below.
                Frame::Pdu { .. } if is_ordered => {}
                Frame::Pdu { flow, range: pdu } => {
                    pdus += 1;
                    if pdus <= MOST_PDUS && self.hand(now, flow, (packet, range.start, pdu), ecn) {
                        self.path.on_answered();
                    }
                }
                Frame::Datagram(bytes) => {
                    // A copy: whoever keeps it must not keep a buffer of the socket.
                    self.events.push_back(SessionEvent::Datagram(Slice::new(bytes)));
                }
                Frame::Ping(token) => self.state(&Frame::Pong(token), None),
                Frame::Pong(token) => self.on_pong(now, token),
                Frame::Probe(size) => self.state(&Frame::ProbeAck(size), None),
                Frame::ProbeAck(size) => {
                    if size >= SAFE_DATAGRAM {
                        self.progress.on_arrived(now);
                    }
                    let change = self.path.mtu.on_answer(now, size);
                    self.on_change(now, change);
                }
                Frame::Challenge(token) => self.state(&Frame::Response(token), Some(from)),
                Frame::Response(token) => {
                    if self.path.on_response(token) {
                        self.on_proved(now);
                    } else if token == self.recall {
                        self.on_recalled(now, from);
                    }
                }
                Frame::Close { code, complete, reason } => {
                    // Escaped here, so that nobody who shows it has to think of it.
                    let reason = printable_within(reason.as_bytes(), LONGEST_REASON);
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
        if is_ordered {
            self.hand_in_order(now);
        }
    }

    /// Hands a PDU, which is `pdu` of the frames that begin at `start` of `packet`, to its flow. True for an
    /// answer to data of this end.
    fn hand(
        &mut self,
        now: Time,
        flow: FlowNumber,
        (packet, start, pdu): (&Slice, usize, Range<usize>),
        ecn: Ecn,
    ) -> bool {
        let Some(slot) = self.slots.iter_mut().find(|slot| slot.number == flow) else { return false };
        if let Some(room) = self.strange.as_mut().filter(|_| !slot.sends) {
            // Whatever its length, a buffer holds it.
            let Some(left) = room.checked_sub(LEAST_HELD.max(pdu.len() as u64)) else { return false };
            *room = left;
        }
        let at = |offset: usize| (start + offset) as u32;
        let bytes = packet.slice(at(pdu.start), at(pdu.end));
        let is_answer = slot.sends && is_pdu(bytes.as_bytes());
        slot.flow.on_datagram(now, bytes, ecn);
        is_answer
    }

    /// A reset came. True if it ended the session: one does that comes from where the peer is, or was proved to be last.
    pub fn on_reset(&mut self, now: Time, from: SocketAddr, token: &[u8; TOKEN]) -> bool {
        let is_there = from == self.path.remote
            || self.fallback.as_ref().is_some_and(|fallback| fallback.remote == from);
        let is_genuine = is_there && crate::cookie::constant_time_eq(token, &self.agreed.token);
        if is_genuine && matches!(self.phase, Phase::Open) {
            self.end(now, Closed::Reset);
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
            let rtt = now.since(sent);
            self.rtt = Some(rtt);
            self.growth.measured(rtt);
        }
    }

    fn ping(&mut self, now: Time) {
        let token = self.sealer.next_number();
        self.ping_sent = Some((token, now));
        self.ping_waits = true;
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
        let mut slots = core::mem::take(&mut self.slots);
        for slot in &mut slots {
            loop {
                nowhere.clear();
                match slot.flow.poll(now, &mut nowhere) {
                    FlowOutput::Event(
                        event @ (Event::Delivered(_) | Event::Hole { .. } | Event::Finished),
                    ) => {
                        self.on_event(now, event);
                    }
                    FlowOutput::Ended { stopped } => self.on_ended(stopped),
                    FlowOutput::Transmit | FlowOutput::Event(_) => {}
                    FlowOutput::Timeout { .. } | FlowOutput::Idle => break,
                }
            }
        }
        self.slots = slots;
    }

    fn drain(&mut self, now: Time, close: Option<(u16, &str)>, why: Closed) {
        self.abandon_flows(now);
        let close = close.map(|(code, reason)| {
            let mut bytes = Vec::new();
            Frame::Close { code, complete: self.ended, reason }.write(&mut bytes);
            bytes
        });
        self.phase = Phase::Draining(Draining { until: now + DRAIN, close, due: now, tries: 0 });
        self.budget.close();
        self.confirm = None;
        self.events.push_back(SessionEvent::Closed(why));
    }

    fn end(&mut self, now: Time, why: Closed) {
        if matches!(self.phase, Phase::Open) {
            self.events.push_back(SessionEvent::Closed(why));
        }
        self.abandon_flows(now);
        self.phase = Phase::Over;
    }

    /// Nothing more is sent or delivered. What was counted stays known.
    fn abandon_flows(&mut self, now: Time) {
        self.stats = self.stats(now);
        self.slots.clear();
        self.statements.clear();
        self.datagrams.clear();
    }
}
