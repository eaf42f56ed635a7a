//! Sans-I/O byte streams: an engine with its codec.
//!
//! A [`Flow`] is one end of one direction of a stream. Its driver passes it the peer's datagrams and the application's
//! data, polls it until it is drained, and sends the encoded output in datagrams. The contract is that of
//! [`Engine`](thalweg_proto::Engine), with bytes in place of PDUs.
//!
//! # On the wire
//!
//! The first byte of each datagram of a flow is its type:
//!
//! | byte 0 | what follows |
//! | --- | --- |
//! | 0 | a PDU of the scheme's engine, in the scheme's own format |
//! | 1 | end of the stream: its length (8 bytes, big-endian), and 1 byte: 1 if the application stopped early, else 0 |
//! | 2 | acknowledgement of the end of the stream |
//!
//! Engines detect that all data has arrived, but most of them cannot signal the end of the stream. The sending flow
//! sends the end when all data has been sent once, and retransmits it until the peer acknowledges it.
//!
//! Datagrams that are not a PDU of the scheme are counted and dropped. The layer below authenticates the sender.

mod engine_adapter;
mod scheme_negotiation;
mod send_autotuning;
mod sender_recording;
mod stream_end;
#[cfg(test)]
mod tests;

pub use scheme_negotiation::{MAX_ENCODING, Scheme, SchemeError};
pub use sender_recording::{
    ESTIMATES_INTERVAL, EventKind, RecordedEvent, Recorder, Recording, SenderEstimates,
};
pub use thalweg_catalog::path_hints::FLOW_HEADER;
pub use thalweg_catalog::{PathHints, Registry};

use engine_adapter::EngineAdapter;
use send_autotuning::SendBufferLimit;
use std::collections::VecDeque;
use stream_end::{Fin, FinReceiver, FinSender};
use thalweg_proto::Ecn;
use thalweg_proto::Output;
use thalweg_proto::endpoint::{Notice, memory_charge};
use thalweg_proto::payload::{Payload, Slice};
use thalweg_proto::transport::{Command, Event, Feedback, Limit, SenderStats};
use thalweg_proto::units::Time;
use thalweg_proto::window::wire;

/// Maximum unsent data of a flow, in bytes. Unacknowledged data comes on top.
const MAX_UNSENT: u64 = 1 << 20;

/// Maximum number of datagrams queued for an engine that takes them one by one, between two polls. It exceeds the
/// largest release of a resequencer.
const MAX_WAITING: usize = 8192;

/// Datagrams shorter than this, in bytes, are copied when retained.
const COPY_BELOW_BYTES: u32 = 1024;

/// Role of a flow in its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sending end: the application writes.
    Sender,
    /// Receiving end: the application reads.
    Receiver,
}

/// Input to a flow.
#[derive(Clone, Debug)]
pub enum FlowInput {
    /// Datagram from the peer. Delivered data shares its memory.
    Datagram {
        /// Content of the datagram.
        bytes: Slice,
        /// Received ECN codepoint; CE is the network's congestion mark.
        ecn: Ecn,
    },
    /// Data written by the application. A stream ignores write boundaries when it forms segments. `udp` keeps each
    /// piece in datagrams of its own; `sstp`, which may lose data, in packets of its own.
    Write(Slice),
    /// End of writing; queued data is still sent.
    Finish,
    /// End of writing that drops unsent data. The peer is notified.
    Stop,
    /// Number of delivered bytes that the application has read, which frees buffer space.
    Consumed(u64),
    /// Pause in sending data until [`FlowInput::Resume`]; all else continues.
    Pause,
    /// End of the pause.
    Resume,
    /// Feedback from a router about this flow.
    Feedback(Feedback),
    /// New maximum datagram size of this flow, in bytes. Window transports adopt it, also for retransmissions. Other
    /// schemes number packets and keep their initial size, so it ought to fit any path.
    MaximumSegment(u32),
}

/// Output of a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowOutput {
    /// Datagram to send; it was appended to the buffer.
    Transmit {
        /// ECN codepoint, where the protocol chooses one for each packet; `None` for that of the connection.
        ecn: Option<Ecn>,
    },
    /// Event for the application.
    Event(Event<Slice>),
    /// End of the peer's stream: all data was delivered.
    Ended {
        /// True if the peer's application stopped early.
        stopped: bool,
    },
    /// Drained until a timer expires. Poll again at `at`, or after the next input.
    Timeout {
        /// Time of the next poll; later than the `now` of this poll.
        at: Time,
    },
    /// Drained, with no timer running. Poll again after the next input.
    Idle,
}

/// Counters and estimates of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowStats {
    /// Counters of the sending engine; all zero at the receiver.
    pub sender: SenderStats,
    /// Bytes written by the application and not taken back.
    pub written: u64,
    /// Bytes delivered to the application.
    pub delivered: u64,
    /// Duplicate data packets received.
    pub duplicates: u64,
    /// Rate or window reductions due to ECN marks.
    pub mark_cuts: u64,
    /// Datagrams that were not a PDU of the scheme.
    pub malformed: u64,
    /// Datagrams dropped for lack of memory, with schemes whose windows are fixed at the handshake.
    pub refused: u64,
}

/// One end of one direction of a stream.
#[derive(Debug)]
pub struct Flow {
    engine: EngineAdapter,
    fin: Fin,
    /// Datagrams queued for an engine that takes them one by one, each after it answered the previous one.
    inbox: VecDeque<(Slice, Ecn)>,
    /// Memory charged for the queued datagrams, in bytes.
    queued_bytes: u64,
    /// True for a receiver without an adjustable window to limit the peer.
    is_bounded: bool,
    /// True if the engine takes any number of PDUs between polls, and its datagrams may grow to the path MTU.
    takes_batches: bool,
    follows_path: bool,
    bytes_written: u64,
    delivered: u64,
    malformed: u64,
    /// Delivered bytes that the application has not read, and their limit.
    unread: u64,
    memory: u64,
    /// Receive window without a memory limit, in bytes, for schemes with an adjustable window.
    window: Option<u64>,
    /// Datagrams dropped for lack of room.
    refused_datagrams: u64,
    failed: bool,
    send_buffer: SendBufferLimit,
    reading: Reading,
    /// Optional recorder of events.
    recorder: Option<Recorder>,
}

/// Maximum amount that an application may read before it must report it: a small part of the window, so the sender
/// never waits for the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Limit in bytes.
    pub bytes: u64,
    /// Limit in pieces; the first limit reached applies.
    pub pieces: u32,
}

impl Flow {
    /// Creates one end. Both ends use the same scheme, settled by one of them ([`Scheme::on_path`]).
    pub fn new(scheme: &Scheme, role: Role, path: &PathHints) -> Self {
        let fin = match role {
            Role::Sender => Fin::Sender(FinSender::new(scheme.is_reliable())),
            Role::Receiver => Fin::Receiver(FinReceiver::new(scheme.is_reliable())),
        };
        let engine = EngineAdapter::new(scheme, role, path);
        Self {
            window: engine.end().window().map(|_| scheme.receive_window(path)),
            is_bounded: role == Role::Receiver && engine.end().window().is_none(),
            takes_batches: engine.end().takes_batches(),
            follows_path: engine.end().follows_path(),
            engine,
            fin,
            inbox: VecDeque::new(),
            queued_bytes: 0,
            bytes_written: 0,
            delivered: 0,
            malformed: 0,
            unread: 0,
            memory: path.memory,
            refused_datagrams: 0,
            failed: false,
            send_buffer: SendBufferLimit::new(),
            reading: scheme.reading(path),
            recorder: None,
        }
    }

    /// Starts recording.
    pub fn record(&mut self, recorder: Recorder) {
        self.recorder = Some(recorder);
    }

    /// Returns the maximum amount that the application may read before it reports it.
    pub fn reading(&self) -> Reading {
        Reading { bytes: self.reading.bytes.min(self.memory / 8).max(1), ..self.reading }
    }

    /// Returns true for a receiver whose window follows [`Flow::set_memory`].
    pub fn has_window(&self) -> bool {
        self.window.is_some()
    }

    /// Limits the memory for unread and out-of-order data, in bytes; the scheme's own limit applies if it is lower.
    /// Returns false for schemes whose windows are fixed at the handshake. For these the caller must limit the received
    /// data.
    pub fn set_memory(&mut self, bytes: u64) -> bool {
        self.memory = bytes;
        if let Some(window) = self.window {
            self.engine.notify(Notice::Window(window.min(bytes)));
        }
        self.window.is_some()
    }

    /// Processes one input. Never fails: unusable input is counted and dropped.
    pub fn handle(&mut self, now: Time, input: FlowInput) {
        let command = match input {
            FlowInput::Datagram { bytes, ecn } => return self.on_datagram(now, bytes, ecn),
            FlowInput::MaximumSegment(bytes) => return self.engine.set_maximum(bytes),
            FlowInput::Write(data) => {
                let Fin::Sender(sender) = &self.fin else { return };
                if sender.is_over() || data.is_empty() {
                    return;
                }
                self.bytes_written += u64::from(data.len());
                Command::Write(data)
            }
            FlowInput::Finish => {
                self.end(now, false);
                Command::Finish
            }
            FlowInput::Stop => {
                self.bytes_written = self.bytes_written.saturating_sub(self.engine.backlog());
                self.end(now, true);
                Command::Stop
            }
            FlowInput::Consumed(bytes) => {
                self.unread = self.unread.saturating_sub(bytes);
                Command::Consumed(bytes)
            }
            FlowInput::Pause => Command::Pause,
            FlowInput::Resume => Command::Resume,
            FlowInput::Feedback(feedback) => Command::Feedback(feedback),
        };
        self.engine.command(now, command);
    }

    /// Resets congestion state and round-trip estimates after a migration (RFC 9000, section 9.4). `scheme` is the
    /// scheme of this flow.
    pub fn on_path_change(&mut self, now: Time, scheme: &Scheme) {
        self.engine.on_path_change(now, scheme);
    }

    /// Excludes queued input from round-trip samples, after a delay in polling that the path did not cause.
    pub fn discard_round_trip_samples(&mut self) {
        self.engine.notify(Notice::LatePdus);
    }

    fn end(&mut self, now: Time, stopped: bool) {
        if let Fin::Sender(sender) = &mut self.fin {
            sender.end(now, self.bytes_written, stopped);
        }
    }

    /// Processes a datagram, like [`handle`](Flow::handle).
    pub(crate) fn on_datagram(&mut self, now: Time, bytes: Slice, ecn: Ecn) {
        let is_full = self.is_bounded && self.unread + self.queued_bytes >= self.memory;
        if is_full && is_pdu(bytes.as_bytes()) {
            self.refused_datagrams += 1;
            return;
        }
        if !self.takes_batches {
            if self.inbox.len() >= MAX_WAITING {
                self.refused_datagrams += 1;
                return;
            }
            self.queued_bytes += memory_charge(&bytes);
            // A short datagram would keep its whole receive buffer alive.
            let is_short = bytes.len() < COPY_BELOW_BYTES;
            let bytes = if is_short { Slice::new(bytes.as_bytes()) } else { bytes };
            self.inbox.push_back((bytes, ecn));
            return;
        }
        self.take(now, bytes, ecn);
    }

    fn take(&mut self, now: Time, bytes: Slice, ecn: Ecn) {
        let is_sound = match (bytes.as_bytes().first(), &mut self.fin) {
            (Some(&PDU), _) => {
                let end = bytes.len();
                self.receive(now, bytes.into_part(FLOW_HEADER, end), ecn)
            }
            (Some(&FIN), Fin::Receiver(receiver)) => {
                receiver.on_fin(now, &bytes.as_bytes()[1..], self.delivered)
            }
            (Some(&FIN_ACK), Fin::Sender(sender)) => sender.on_fin_ack(&bytes.as_bytes()[1..]),
            _ => false,
        };
        self.malformed += u64::from(!is_sound);
    }

    fn receive(&mut self, now: Time, pdu: Slice, ecn: Ecn) -> bool {
        if self.is_bounded {
            self.engine.notify(Notice::Memory(self.memory.saturating_sub(self.unread + self.queued_bytes)));
        }
        let is_sound = self.engine.receive(now, pdu, ecn, self.recorder.as_ref());
        if let Some(recorder) = &self.recorder {
            recorder.on_handled(now, || self.engine.sender_stats(now));
        }
        is_sound
    }

    /// Returns the next output at `now`. Appends a datagram to send to `buffer`.
    #[must_use = "an output that is not acted on is lost"]
    pub fn poll(&mut self, now: Time, buffer: &mut Vec<u8>) -> FlowOutput {
        loop {
            let output = self.poll_once(now, buffer);
            let is_drained = matches!(output, FlowOutput::Timeout { .. } | FlowOutput::Idle);
            if !is_drained {
                return output;
            }
            let Some((bytes, ecn)) = self.inbox.pop_front() else { return output };
            self.queued_bytes -= memory_charge(&bytes);
            self.take(now, bytes, ecn);
        }
    }

    fn poll_once(&mut self, now: Time, buffer: &mut Vec<u8>) -> FlowOutput {
        if let Fin::Receiver(receiver) = &mut self.fin
            && receiver.take_answer()
        {
            buffer.push(FIN_ACK);
            return FlowOutput::Transmit { ecn: None };
        }
        loop {
            let at = match self.engine.poll(now, buffer, self.recorder.as_ref()) {
                Output::Transmit(ecn) => return FlowOutput::Transmit { ecn },
                Output::Event(Event::Finished) => {
                    if let Fin::Sender(sender) = &mut self.fin {
                        sender.all_arrived();
                    }
                    continue;
                }
                Output::Event(event) => {
                    match &event {
                        Event::Delivered(piece) => {
                            self.delivered += u64::from(piece.len());
                            self.unread += u64::from(piece.len());
                        }
                        Event::Failed(_) => self.failed = true,
                        _ => {}
                    }
                    return FlowOutput::Event(event);
                }
                Output::Timeout { at, .. } => at,
                Output::Idle => Time::MAX,
            };
            return self.poll_fin(now, at, buffer);
        }
    }

    /// Polls the FIN while the engine is drained until `at`.
    fn poll_fin(&mut self, now: Time, at: Time, buffer: &mut Vec<u8>) -> FlowOutput {
        let mut next = at;
        if !self.failed {
            match &mut self.fin {
                Fin::Sender(sender) => {
                    let is_sent = self.engine.backlog() == 0;
                    if sender.is_due(now, is_sent) {
                        buffer.push(FIN);
                        sender.write(now, self.engine.sender_stats(now).rtt(), buffer);
                        return FlowOutput::Transmit { ecn: None };
                    }
                    if sender.take_finished() {
                        return FlowOutput::Event(Event::Finished);
                    }
                    next = next.min(sender.next(is_sent));
                }
                Fin::Receiver(receiver) => {
                    if let Some(stopped) = receiver.take_end(now, self.delivered) {
                        return FlowOutput::Ended { stopped };
                    }
                    next = next.min(receiver.next());
                }
            }
        }
        if next == Time::MAX { FlowOutput::Idle } else { FlowOutput::Timeout { at: next } }
    }

    /// Returns true if its datagrams may grow to the path MTU ([`FlowInput::MaximumSegment`]).
    pub fn follows_path(&self) -> bool {
        self.follows_path
    }

    /// Returns the number of application bytes sent, each counted once.
    pub fn sent_once(&self) -> u64 {
        self.bytes_written.saturating_sub(self.engine.backlog())
    }

    /// Returns the number of bytes to write now. The flow accepts more, but only queues it. The value grows as data is
    /// sent: ask again after polling. It is zero at the receiver.
    pub fn writable_bytes(&self) -> u64 {
        match &self.fin {
            Fin::Sender(sender) if !sender.is_over() && !self.failed => {
                self.send_buffer.limit().min(MAX_UNSENT).saturating_sub(self.engine.backlog())
            }
            _ => 0,
        }
    }

    /// Returns the limit of the driver's send buffer: the bytes sent in a tenth of a second, within bounds.
    pub fn send_buffer_limit(&self) -> u64 {
        self.send_buffer.limit()
    }

    /// Measures the sending rate, which determines the send-buffer limit. Call it from time to time.
    pub fn observe(&mut self, now: Time) {
        self.send_buffer.observe(now, self.bytes_written.saturating_sub(self.engine.backlog()));
    }

    /// Returns the current limit on sending, as of the last poll; `None` at the receiver, and when everything is done.
    pub fn limit(&self) -> Option<Limit> {
        self.engine.end().limit()
    }

    /// Returns counters and estimates at `now`.
    pub fn stats(&self, now: Time) -> FlowStats {
        let counters = self.engine.end().counters(now);
        FlowStats {
            written: self.bytes_written,
            delivered: self.delivered,
            malformed: self.malformed,
            refused: self.refused_datagrams,
            sender: self.engine.sender_stats(now),
            duplicates: counters.duplicates,
            mark_cuts: counters.mark_cuts,
        }
    }
}

/// Returns the sequence number of the data in a datagram of the window transport.
pub(crate) fn window_sequence_number(datagram: &[u8]) -> Option<u64> {
    wire::segment_sequence_number(datagram.strip_prefix(&[PDU])?)
}

/// Returns true if a datagram of a flow carries a PDU of its engine.
pub(crate) fn is_pdu(datagram: &[u8]) -> bool {
    datagram.first() == Some(&PDU)
}

/// Type of an engine PDU.
const PDU: u8 = 0;
/// Type of the end of the stream.
const FIN: u8 = 1;
/// Type of the acknowledgement of the end.
const FIN_ACK: u8 = 2;
