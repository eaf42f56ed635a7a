//! Sessions: established connections without sockets and clock (sans-I/O).
//!
//! A [`Session`] takes decrypted packets and application data. It returns encrypted datagrams, events, and the time of
//! the next poll. The contract is that of [`Engine`](thalweg_proto::Engine): mutate, then poll until drained.
//!
//! The flows of its streams handle all data. The session multiplexes them, manages the path (MTU, peer address,
//! liveness) and closes the connection.

mod connection_migration;
mod counter_list;
mod in_order_delivery;
mod mtu_black_hole;
mod overhead_budget;
mod packet_output;
mod receive_autotuning;
mod router_feedback;
mod settings_and_events;
mod state_digest;

pub use crate::ecn_blackhole_detection::EcnState;
pub use counter_list::{COUNTERS, Counter};
use in_order_delivery::WaitingPacket;
use mtu_black_hole::Progress;
use overhead_budget::Budget;
pub use overhead_budget::UNAUTHENTICATED_MEMORY;
use receive_autotuning::ReceiveAutotuning;
use router_feedback::RecentlySent;
pub use settings_and_events::{CloseReason, SessionConfig, SessionEvent, SessionStats, Side, Terms, code};

use crate::flow::{Flow, FlowInput, FlowOutput, PathHints, Reading, Recorder, Role, is_pdu};
use crate::identity::Entropy;
use crate::packet_protection::{DecryptionError, Decryptor, Encryptor};
use crate::path_mtu_discovery::Change;
use crate::peer_path::Path;
use crate::peer_rate_limits::Bucket;
use crate::safe_display::printable_within;
use crate::wire::frame::{FlowNumber, Frame, Frames, MAX_DATAGRAM, MAX_REASON, PDU_HEADER};
use crate::wire::{AEAD_TAG, HEADER, RESET_TOKEN, SAFE_DATAGRAM};
use core::ops::Range;
use std::collections::VecDeque;
use std::net::SocketAddr;
use thalweg_proto::Ecn;
use thalweg_proto::payload::{Payload, Slice};
use thalweg_proto::resequencer::{Resequencer, ResequencerConfig};
use thalweg_proto::transport::Event;
use thalweg_proto::units::{Duration, Time};

/// Overhead per datagram outside the flow's bytes.
pub const OVERHEAD: u16 = (HEADER + PDU_HEADER + AEAD_TAG) as u16;

/// Maximum number of queued control frames. Beyond it, the peer's requests get no answer.
const MAX_CONTROL_FRAMES: usize = 16;

/// Maximum number of PDUs accepted per packet. This end sends one per packet; more would yield more answers than
/// packets.
const MAX_PDUS: usize = 4;

/// Minimum memory charged for a retained PDU, in bytes.
const MIN_HELD: u64 = 1024;

/// Share of the memory available for out-of-order packets, as a divisor.
const ORDER_SHARE: u64 = 4;

/// Minimum size of a confirm, in bytes: an encrypted key, and parameters with their tag.
const SAFE_CONFIRM: u64 = 96;

/// Maximum number of queued application datagrams; the oldest is dropped first.
const MAX_DATAGRAMS: usize = 256;

/// Time for which a closed session repeats its close to a peer that missed it.
const DRAIN_TIME: Duration = Duration::from_secs(3);

/// Maximum number of peer address changes per second. More of them indicate an attacker that copies packets.
const MAX_MOVES: u32 = 4;

/// Result of a poll of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollResult {
    /// The batch is full: send it, and poll again.
    Full,
    /// Drained until this time; [`Time::MAX`] means no timer.
    At(Time),
}

#[derive(Debug)]
struct Slot {
    number: FlowNumber,
    flow: Flow,
    sends: bool,
    /// Frames held back by the limit for an unauthenticated peer.
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
    /// Closed; the peer may have missed the close.
    Draining(DrainingClose),
    Over,
}

/// Closed connection that still repeats its close.
#[derive(Clone, Debug)]
struct DrainingClose {
    until: Time,
    /// Close message for the peer; `None` if the peer closed.
    close: Option<Vec<u8>>,
    /// Time of the next repetition.
    next_repetition: Time,
    tries: u32,
}

/// Confirm of the client, retransmitted until the server shows that it received it.
#[derive(Debug)]
struct PendingConfirm {
    message: Vec<u8>,
    next_send: Time,
    tries: u32,
}

/// An established connection.
#[derive(Debug)]
pub struct Session {
    agreed: Terms,
    config: SessionConfig,
    encryptor: Encryptor,
    decryptor: Decryptor,
    path: Path,
    /// Last validated path while the current one is not, and the challenge sent there: an answer from there shows that
    /// the peer has not moved.
    fallback: Option<Path>,
    recall: [u8; 8],
    /// Rate limit for changes of the peer's address.
    move_limit: Bucket,
    /// Highest received packet number; only the newest packet migrates the path.
    newest: u64,
    slots: Vec<Slot>,
    /// Resequencer that restores the sending order, for schemes that need it.
    order: Option<Box<Resequencer<WaitingPacket>>>,
    /// Next slot to poll.
    turn: usize,
    control_frames: VecDeque<(Vec<u8>, Option<SocketAddr>)>,
    /// Queued application datagrams.
    datagrams: VecDeque<Slice>,
    confirm: Option<PendingConfirm>,
    phase: Phase,
    events: VecDeque<SessionEvent>,
    last_received: Time,
    /// Time of the last ping.
    last_ping: Time,
    rtt: Option<Duration>,
    ping_sent: Option<(u64, Time)>,
    /// True while the last ping is still queued.
    ping_waits: bool,
    wants_writable: bool,
    /// True once the peer's stream is complete.
    peer_done: bool,
    /// True once the peer has all of this end's stream.
    own_stream_acked: bool,
    /// ECN codepoint of the scheme's data.
    ecn: Ecn,
    budget: Budget,
    progress: Progress,
    /// Maximum data queued for the application, in bytes.
    memory: u64,
    autotuning: ReceiveAutotuning,
    /// Packets about which feedback from routers is accepted, if the scheme uses it.
    sent_lately: Option<Box<RecentlySent>>,
    /// Bytes that an unauthenticated peer may still send, with schemes whose windows cannot shrink.
    unauthenticated_memory: Option<u64>,
    stats: SessionStats,
}

impl Session {
    /// Returns the hints for flows about an unused path.
    pub(crate) fn hints(config: &SessionConfig, rtt: Option<Duration>) -> PathHints {
        let max_datagram = u32::from(SAFE_DATAGRAM - OVERHEAD);
        PathHints { max_datagram, rtt, memory: config.memory, ..PathHints::default() }
    }

    /// Creates a session at `now`, after the handshake, over a validated path. A client passes its `confirm` and the
    /// handshake's round-trip time.
    pub fn new(
        now: Time,
        agreed: Terms,
        config: SessionConfig,
        (encryptor, mut decryptor): (Encryptor, Decryptor),
        remote: SocketAddr,
        confirm: Option<Vec<u8>>,
        rtt: Option<Duration>,
    ) -> Self {
        decryptor.limit_forgeries(config.forgeries);
        let largest = agreed.max_datagram_bytes.max(SAFE_DATAGRAM);
        let hints = Self::hints(&config, rtt);
        let order = agreed
            .scheme
            .needs_in_order()
            .then(|| Box::new(Resequencer::new(ResequencerConfig::default(), 0)));
        let (ours, theirs) = if agreed.side == Side::Client { (0, 1) } else { (1, 0) };
        let slots = vec![
            Slot::new(theirs, Flow::new(&agreed.scheme, Role::Receiver, &hints), false),
            Slot::new(ours, Flow::new(&agreed.scheme, Role::Sender, &hints), true),
        ];
        let ecn = agreed.scheme.ecn();
        let sent_lately = agreed.scheme.uses_router_feedback().then(Box::default);
        let is_untrusted = !agreed.is_authorised;
        let mut session = Self {
            agreed,
            config,
            encryptor,
            decryptor,
            path: Path::validated(remote, largest),
            fallback: None,
            recall: [0; 8],
            move_limit: Bucket::new(now, MAX_MOVES),
            newest: 0,
            slots,
            order,
            turn: 0,
            control_frames: VecDeque::new(),
            datagrams: VecDeque::new(),
            confirm: confirm.map(|message| PendingConfirm { message, next_send: now, tries: 0 }),
            phase: Phase::Open,
            events: VecDeque::new(),
            last_received: now,
            last_ping: now,
            rtt,
            ping_sent: None,
            ping_waits: false,
            wants_writable: false,
            peer_done: false,
            own_stream_acked: false,
            ecn,
            progress: Progress::new(),
            budget: Budget::new(now, SAFE_CONFIRM, is_untrusted),
            memory: config.memory,
            autotuning: ReceiveAutotuning::new(rtt),
            sent_lately,
            unauthenticated_memory: None,
            stats: SessionStats::default(),
        };
        if is_untrusted {
            session.set_memory(config.memory.min(UNAUTHENTICATED_MEMORY));
        } else if session.order.is_some() {
            session.set_memory(config.memory);
            session.unauthenticated_memory = None;
        }
        if session.agreed.side == Side::Server {
            // The client repeats its confirm until it receives a packet.
            session.ping(now);
        }
        session
    }

    /// Marks the peer as authorised by the application, and raises its receive memory to `memory` bytes. Until then, a
    /// peer whose key is not [authorised](Terms::is_authorised) is unauthenticated: it is sent at most three bytes per received
    /// byte, and at most [`UNAUTHENTICATED_MEMORY`] of its data is kept.
    pub fn authorise(&mut self, memory: u64) {
        self.budget.authorise();
        self.set_memory(memory.min(self.config.memory));
        self.unauthenticated_memory = None;
    }

    /// Returns true until the application authorises this peer.
    pub fn is_untrusted(&self) -> bool {
        self.budget.is_untrusted()
    }

    /// Returns the current receive memory, in bytes; zero once the connection is closed.
    pub fn memory(&self) -> u64 {
        if matches!(self.phase, Phase::Open) { self.memory } else { 0 }
    }

    /// Returns the receive memory that the path needs, within the session's limit, in bytes.
    pub(crate) fn wants(&self) -> u64 {
        if self.is_untrusted() { 0 } else { self.autotuning.wants().min(self.config.max_memory) }
    }

    /// Raises the receive memory, in bytes.
    pub(crate) fn grow(&mut self, memory: u64) {
        self.set_memory(memory);
        self.unauthenticated_memory = None;
    }

    fn set_memory(&mut self, bytes: u64) {
        self.memory = bytes;
        let mut bytes = bytes;
        if let Some(order) = &mut self.order {
            let share = bytes / ORDER_SHARE;
            order.limit_buffer(share);
            bytes -= share;
        }
        if let Some(slot) = self.slots.iter_mut().find(|slot| !slot.sends)
            && !slot.flow.set_memory(bytes)
        {
            self.unauthenticated_memory = Some(bytes);
        }
    }

    /// Starts recording this end's stream.
    pub fn record(&mut self, recorder: Recorder) {
        let headers = if self.path.remote.ip().to_canonical().is_ipv4() { 28 } else { 48 };
        recorder.begin(self.agreed.scheme.to_string(), u32::from(OVERHEAD) + headers);
        if let Some(flow) = self.sending() {
            flow.record(recorder);
        }
    }

    /// Returns the negotiated terms.
    pub fn agreed(&self) -> &Terms {
        &self.agreed
    }

    /// Returns the peer's address.
    pub fn remote(&self) -> SocketAddr {
        self.path.remote
    }

    /// Returns counters and estimates at `now`, or those at the end of a closed connection.
    pub fn stats(&self, now: Time) -> SessionStats {
        let flow = |sends| self.slots.iter().find(|slot| slot.sends == sends).map(|slot| &slot.flow);
        let sending = flow(true).map_or(self.stats.sending, |flow| flow.stats(now));
        SessionStats {
            datagram: self.path.mtu.plpmtu(),
            sending,
            receiving: flow(false).map_or(self.stats.receiving, |flow| flow.stats(now)),
            limit: flow(true).and_then(Flow::limit),
            ecn: match self.ecn.is_capable() {
                true if sending.sender.marks_concealed => EcnState::Concealed,
                true => self.path.ecn(),
                false => EcnState::Off,
            },
            ..self.stats
        }
    }

    /// Returns true when the session is done and can be dropped.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over) && self.events.is_empty()
    }

    /// Returns true when this end sends nothing more except answers: the peer closed the connection and was answered,
    /// or the session is done.
    pub fn is_silent(&self) -> bool {
        match &self.phase {
            Phase::Open => false,
            Phase::Draining(draining) => draining.close.is_none() && self.control_frames.is_empty(),
            Phase::Over => true,
        }
    }

    /// Returns the next event.
    pub fn event(&mut self) -> Option<SessionEvent> {
        self.events.pop_front()
    }

    // Application side.

    /// Returns the number of bytes that may be written now. If it is less than the application has,
    /// [`SessionEvent::Writable`] tells when to ask again.
    pub fn writable_bytes(&mut self) -> u64 {
        let room = self.sending().map_or(0, |flow| flow.writable_bytes());
        self.wants_writable = true;
        room
    }

    /// Returns the limit of the send buffer, in bytes.
    pub fn send_buffer_limit(&mut self) -> u64 {
        self.sending().map_or(0, |flow| flow.send_buffer_limit())
    }

    /// Writes to this end's stream.
    pub fn write(&mut self, now: Time, data: Slice) {
        self.notify_sender(now, FlowInput::Write(data));
    }

    /// Ends this end's stream; written data is still sent.
    pub fn finish(&mut self, now: Time) {
        self.notify_sender(now, FlowInput::Finish);
    }

    /// Ends this end's stream and drops unsent data.
    pub fn stop(&mut self, now: Time) {
        self.notify_sender(now, FlowInput::Stop);
    }

    /// Sends an unreliable datagram. If the queue overflows, the oldest datagrams are dropped. Returns false, and sends
    /// nothing, if the datagram is empty or longer than [`MAX_DATAGRAM`].
    pub fn send_datagram(&mut self, datagram: Slice) -> bool {
        let length = datagram.as_bytes().len();
        if !(1..=MAX_DATAGRAM).contains(&length) || !matches!(self.phase, Phase::Open) {
            return false;
        }
        if self.datagrams.len() >= MAX_DATAGRAMS {
            self.datagrams.pop_front();
            self.stats.datagrams_dropped += 1;
        }
        self.datagrams.push_back(datagram);
        true
    }

    /// Returns the maximum amount that the application may read before it reports it.
    pub fn reading(&self) -> Reading {
        let receiving = self.slots.iter().find(|slot| !slot.sends);
        receiving.map_or(Reading { bytes: 1, pieces: 1 }, |slot| slot.flow.reading())
    }

    /// Reports the number of delivered bytes that the application has read.
    pub fn consumed(&mut self, now: Time, bytes: u64) {
        let Some(slot) = self.slots.iter_mut().find(|slot| !slot.sends) else { return };
        slot.flow.handle(now, FlowInput::Consumed(bytes));
        if slot.flow.has_window() {
            self.autotuning.took(now, bytes);
        }
    }

    /// Closes the connection. Data in flight is lost; wait for [`SessionEvent::OwnStreamAcknowledged`] first to avoid that.
    pub fn close(&mut self, now: Time, code: u16, reason: &str) {
        if matches!(self.phase, Phase::Open) {
            self.drain(now, Some((code, reason)), CloseReason::Here);
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

    // Network side.

    /// Decrypts a packet with this session's keys, in place.
    ///
    /// # Errors
    /// Returns an error for inauthentic packets and duplicates; they are counted.
    #[inline]
    pub fn open(&mut self, packet: &mut [u8]) -> Result<(u64, Range<usize>), DecryptionError> {
        let opened = self.decryptor.open(packet);
        self.stats.packets_refused += u64::from(opened.is_err());
        opened
    }

    /// Closes the connection after too many forged packets; no more packets may be [opened](Session::open).
    pub fn on_integrity_limit(&mut self, now: Time) {
        if matches!(self.phase, Phase::Open) {
            self.drain(now, Some((code::FORGERIES, "too many packets were forged")), CloseReason::Forgeries);
        }
    }

    /// Processes the frames of a decrypted packet of `length` bytes. PDUs share the memory of `packet`, where `range`
    /// is the plaintext.
    pub fn receive(
        &mut self,
        now: Time,
        from: SocketAddr,
        ecn: Ecn,
        (number, packet, range): (u64, &Slice, Range<usize>),
        entropy: &mut dyn Entropy,
    ) {
        let size = range.len() + HEADER + AEAD_TAG;
        self.last_received = now;
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
            order.insert(now, number, WaitingPacket { packet: packet.clone(), range: range.clone(), ecn });
        }
        let payload = &packet.as_bytes()[range.clone()];
        let mut pdus = 0;
        for frame in Frames::new(payload) {
            let Ok(frame) = frame else {
                self.drain(now, Some((code::PROTOCOL, "invalid frames")), CloseReason::Protocol);
                return;
            };
            if let Phase::Draining(draining) = &mut self.phase {
                // A peer that still sends has missed the close.
                draining.next_repetition = now;
                if matches!(frame, Frame::Close { .. }) && draining.close.is_some() {
                    self.phase = Phase::Over;
                }
                return;
            }
            match frame {
                // The resequencer below handles it.
                Frame::Pdu { .. } if is_ordered => {}
                Frame::Pdu { flow, range: pdu } => {
                    pdus += 1;
                    if pdus <= MAX_PDUS && self.deliver_pdu(now, flow, (packet, range.start, pdu), ecn) {
                        self.path.on_answered();
                    }
                }
                Frame::Datagram(bytes) => {
                    // Copied: the application must not keep a socket buffer alive.
                    self.events.push_back(SessionEvent::Datagram(Slice::new(bytes)));
                }
                Frame::Ping(token) => self.queue_control_frame(&Frame::Pong(token), None),
                Frame::Pong(token) => self.on_pong(now, token),
                Frame::Probe(size) => self.queue_control_frame(&Frame::ProbeAck(size), None),
                Frame::ProbeAck(size) => {
                    if size >= SAFE_DATAGRAM {
                        self.progress.on_arrived(now);
                    }
                    let change = self.path.mtu.on_probe_acked(now, size);
                    self.on_change(now, change);
                }
                Frame::Challenge(token) => self.queue_control_frame(&Frame::Response(token), Some(from)),
                Frame::Response(token) => {
                    if self.path.on_response(token) {
                        self.on_validated(now);
                    } else if token == self.recall {
                        self.on_recalled(now, from);
                    }
                }
                Frame::Close { code, received_all, reason } => {
                    // Escaped here, so every output is safe.
                    let reason = printable_within(reason.as_bytes(), MAX_REASON);
                    self.collect(now);
                    if received_all && !core::mem::replace(&mut self.own_stream_acked, true) {
                        // The acknowledgement of the end was lost or is late.
                        self.events.push_back(SessionEvent::OwnStreamAcknowledged);
                    }
                    self.drain(now, None, CloseReason::Peer { code, reason });
                    self.queue_control_frame(
                        &Frame::Close { code: code::DONE, received_all: self.peer_done, reason: "" },
                        None,
                    );
                    return;
                }
            }
        }
        if is_ordered {
            self.hand_in_order(now);
        }
    }

    /// Passes a PDU to its flow; `pdu` is its range within the frames that begin at `start` of `packet`. Returns true
    /// for an answer to data of this end.
    fn deliver_pdu(
        &mut self,
        now: Time,
        flow: FlowNumber,
        (packet, start, pdu): (&Slice, usize, Range<usize>),
        ecn: Ecn,
    ) -> bool {
        let Some(slot) = self.slots.iter_mut().find(|slot| slot.number == flow) else { return false };
        if let Some(room) = self.unauthenticated_memory.as_mut().filter(|_| !slot.sends) {
            // Even a short PDU keeps a buffer alive.
            let Some(left) = room.checked_sub(MIN_HELD.max(pdu.len() as u64)) else { return false };
            *room = left;
        }
        let at = |offset: usize| (start + offset) as u32;
        let bytes = packet.slice(at(pdu.start), at(pdu.end));
        let is_answer = slot.sends && is_pdu(bytes.as_bytes());
        slot.flow.on_datagram(now, bytes, ecn);
        is_answer
    }

    /// Handles a reset. Returns true if it closed the session: it must come from the peer's current or last validated
    /// address.
    pub fn on_reset(&mut self, now: Time, from: SocketAddr, token: &[u8; RESET_TOKEN]) -> bool {
        let is_there = from == self.path.remote
            || self.fallback.as_ref().is_some_and(|fallback| fallback.remote == from);
        let is_genuine = is_there && crate::cookie::constant_time_eq(token, &self.agreed.token);
        if is_genuine && matches!(self.phase, Phase::Open) {
            self.end(now, CloseReason::Reset);
        }
        is_genuine
    }

    /// Handles a datagram of this size that the host's network layer refused.
    pub fn on_refused(&mut self, now: Time, size: usize) {
        let change = self.path.mtu.on_refused(now, u16::try_from(size).unwrap_or(u16::MAX));
        self.on_change(now, change);
    }

    /// Handles a repeated confirm: the server has to answer it.
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
        let maximum = u32::from(self.path.mtu.plpmtu() - OVERHEAD);
        for slot in &mut self.slots {
            slot.flow.handle(now, FlowInput::MaximumSegment(maximum));
        }
    }

    fn on_pong(&mut self, now: Time, token: u64) {
        if let Some((_, sent)) = self.ping_sent.take_if(|(sent, _)| *sent == token) {
            let rtt = now.since(sent);
            self.rtt = Some(rtt);
            self.autotuning.on_rtt_sample(rtt);
        }
    }

    fn ping(&mut self, now: Time) {
        let token = self.encryptor.next_number();
        self.ping_sent = Some((token, now));
        self.ping_waits = true;
        self.last_ping = now;
        self.queue_control_frame(&Frame::Ping(token), None);
    }

    /// Queues a control frame for the next packet.
    fn queue_control_frame(&mut self, frame: &Frame<'_>, to: Option<SocketAddr>) {
        if self.control_frames.len() < MAX_CONTROL_FRAMES {
            let mut bytes = Vec::new();
            frame.write(&mut bytes);
            self.control_frames.push_back((bytes, to));
        }
    }

    fn on_ended(&mut self, stopped: bool) {
        self.peer_done = !stopped;
        self.events.push_back(SessionEvent::PeerStreamEnded { stopped });
    }

    /// Takes the flows' events for the application before they end.
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
                    FlowOutput::Transmit { .. } | FlowOutput::Event(_) => {}
                    FlowOutput::Timeout { .. } | FlowOutput::Idle => break,
                }
            }
        }
        self.slots = slots;
    }

    fn drain(&mut self, now: Time, close: Option<(u16, &str)>, why: CloseReason) {
        self.abandon_flows(now);
        let close = close.map(|(code, reason)| {
            let mut bytes = Vec::new();
            Frame::Close { code, received_all: self.peer_done, reason }.write(&mut bytes);
            bytes
        });
        self.phase =
            Phase::Draining(DrainingClose { until: now + DRAIN_TIME, close, next_repetition: now, tries: 0 });
        self.budget.close();
        self.confirm = None;
        self.events.push_back(SessionEvent::Closed(why));
    }

    fn end(&mut self, now: Time, why: CloseReason) {
        if matches!(self.phase, Phase::Open) {
            self.events.push_back(SessionEvent::Closed(why));
        }
        self.abandon_flows(now);
        self.phase = Phase::Over;
    }

    /// Drops the flows: nothing more is sent or delivered. The counters stay.
    fn abandon_flows(&mut self, now: Time) {
        self.stats = self.stats(now);
        self.slots.clear();
        self.control_frames.clear();
        self.datagrams.clear();
    }
}
