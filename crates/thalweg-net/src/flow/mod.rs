//! Schemes over bytes: an engine with its codec, without sockets and clocks.
//!
//! A [`Flow`] is one end of one direction of a stream. Its driver hands it datagrams of the peer and what the application
//! writes, polls it until it has nothing more to do, and puts what it encodes into datagrams: the contract of
//! [`Engine`](thalweg_proto::Engine), with bytes in place of PDUs.
//!
//! # On the wire
//!
//! Each datagram of a flow begins with a byte that says what it is:
//!
//! | byte 0 | what follows |
//! | --- | --- |
//! | 0 | a PDU of the scheme's engine, in the scheme's own format |
//! | 1 | end of the stream: its length (8 bytes, big-endian), and 1 byte: 1 if the application stopped early, else 0 |
//! | 2 | the end of the stream was heard |
//!
//! Engines know when everything has arrived, but most of them have no way to say that nothing more will come. The sending
//! flow says it when everything has been sent once, and again from time to time until it is answered.
//!
//! Datagrams that are no PDU of the scheme are counted and dropped. Whether they come from the peer is the business of the
//! layer below, which authenticates them.

mod ahead;
mod fin;
mod machine;
mod record;
mod scheme;
#[cfg(test)]
mod tests;

pub use record::{BELIEFS_EVERY, Beliefs, Happened, Recorded, Recorder, Recording};
pub use scheme::{MAX_ENCODING, Scheme, SchemeError};
pub use thalweg_catalog::path::FLOW_HEADER;
pub use thalweg_catalog::{PathHints, Registry};

use ahead::Ahead;
use fin::{Fin, FinReceiver, FinSender};
use machine::Machine;
use std::collections::VecDeque;
use thalweg_proto::Ecn;
use thalweg_proto::Output;
use thalweg_proto::end::cost;
use thalweg_proto::payload::{Payload, Slice};
use thalweg_proto::transport::{Command, Event, Feedback, Limit, SenderStats};
use thalweg_proto::units::Time;
use thalweg_proto::window::wire;

/// Unsent data that a flow takes at most, in bytes. What is sent and not acknowledged comes on top of it.
const ROOM: u64 = 1 << 20;

/// Datagrams that wait for engines that take them one by one, while the flow is not polled: more than a resequencer lets go
/// at once.
const MOST_WAITING: usize = 8192;

/// Datagrams of fewer bytes are copied where they are kept.
const SHORT: u32 = 1024;

/// The end of a direction that a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The end at which the application writes.
    Sender,
    /// The end at which it reads.
    Receiver,
}

/// An input of the driver to a flow.
#[derive(Clone, Debug)]
pub enum FlowInput {
    /// A datagram came from the peer. What is delivered shares its memory.
    Datagram {
        /// All of it.
        bytes: Slice,
        /// The network set the congestion mark on the packet that carried it (ECN's CE).
        ecn: Ecn,
    },
    /// The application writes. A stream is cut into segments wherever it was written; `udp` keeps each piece in
    /// datagrams of its own, and `sstp`, which may lose some, in packets of its own.
    Write(Slice),
    /// The application will write no more; what is still queued is sent.
    Finish,
    /// The application will write no more, and what has not been sent yet is dropped. The peer learns of it.
    Stop,
    /// The application took so many bytes of what was delivered, which makes room for more.
    Consumed(u64),
    /// No data leaves until [`FlowInput::Resume`]; all else goes on.
    Pause,
    /// Data may leave again.
    Resume,
    /// A router speaks of this flow.
    Feedback(Feedback),
    /// The largest datagram of this flow that fits the path, in bytes, has changed. Window transports follow, also with what
    /// they have sent before. Others keep the size with which they began, as their packets are numbered: there it ought to
    /// be one that any path takes.
    MaximumSegment(u32),
}

/// The next thing that a flow wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowOutput {
    /// Send the datagram that has been appended to the buffer.
    Transmit,
    /// Tell the application.
    Event(Event<Slice>),
    /// Everything that the peer wrote has been delivered, and no more will come.
    Ended {
        /// The peer's application stopped before it had sent all that it meant to.
        stopped: bool,
    },
    /// Drained. Poll again at `at`, unless an input comes before.
    Timeout {
        /// The time to poll at; later than the `now` of this poll.
        at: Time,
    },
    /// Drained. Nothing will happen until the next input.
    Idle,
}

/// Counters and beliefs of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowStats {
    /// Those of the sending engine; all zero where the flow receives.
    pub sender: SenderStats,
    /// Bytes that the application wrote and did not take back.
    pub written: u64,
    /// Bytes delivered to the application.
    pub delivered: u64,
    /// Data packets that came a second time.
    pub duplicates: u64,
    /// Times that the sender sent less because of the network's marks.
    pub mark_cuts: u64,
    /// Datagrams that were no PDU of the scheme.
    pub malformed: u64,
    /// Datagrams dropped for want of memory, of schemes whose windows both ends have settled for good.
    pub refused: u64,
}

/// One end of one direction of a stream.
#[derive(Debug)]
pub struct Flow {
    machine: Machine,
    fin: Fin,
    /// Datagrams that the engine takes one by one, each when it has answered the one before.
    inbox: VecDeque<(Slice, Ecn)>,
    /// The memory that those count for, in bytes.
    waiting: u64,
    /// It receives, and no window that it could change keeps the peer from sending too much.
    is_bounded: bool,
    /// The engine takes any number of PDUs before it is polled, and its datagrams may become as large as the path takes.
    takes_batches: bool,
    follows_path: bool,
    written: u64,
    delivered: u64,
    malformed: u64,
    /// Bytes delivered that the application has not taken, and how many there may be.
    unread: u64,
    memory: u64,
    /// The window in bytes that the scheme's receiver would advertise if there were memory without end, of those that can be
    /// told otherwise.
    window: Option<u64>,
    /// Datagrams dropped for want of room.
    refused: u64,
    failed: bool,
    ahead: Ahead,
    reading: Reading,
    /// Keeps what happens, if that is wanted.
    recorder: Option<Recorder>,
}

/// The most that an application may take before the flow must hear of it: a small part of the window, so that none
/// waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Bytes.
    pub bytes: u64,
    /// Pieces, whichever is less.
    pub pieces: u32,
}

impl Flow {
    /// An end that has not sent or heard anything. Both ends are made from the same scheme, settled by one of them
    /// ([`Scheme::on_path`]).
    pub fn new(scheme: &Scheme, role: Role, path: &PathHints) -> Self {
        let fin = match role {
            Role::Sender => Fin::Sender(FinSender::new(scheme.is_reliable())),
            Role::Receiver => Fin::Receiver(FinReceiver::new(scheme.is_reliable())),
        };
        let machine = Machine::new(scheme, role, path);
        Self {
            window: machine.end().window().map(|_| scheme.receive_window(path)),
            is_bounded: role == Role::Receiver && machine.end().window().is_none(),
            takes_batches: machine.end().takes_batches(),
            follows_path: machine.end().follows_path(),
            machine,
            fin,
            inbox: VecDeque::new(),
            waiting: 0,
            written: 0,
            delivered: 0,
            malformed: 0,
            unread: 0,
            memory: path.memory,
            refused: 0,
            failed: false,
            ahead: Ahead::new(),
            reading: scheme.reading(path),
            recorder: None,
        }
    }

    /// From now on what happens at this end is kept.
    pub fn record(&mut self, recorder: Recorder) {
        self.recorder = Some(recorder);
    }

    /// The most that the application may take before it says so.
    pub fn reading(&self) -> Reading {
        Reading { bytes: self.reading.bytes.min(self.memory / 8).max(1), ..self.reading }
    }

    /// True if it receives, and [`Flow::set_memory`] sets its window.
    pub fn has_window(&self) -> bool {
        self.window.is_some()
    }

    /// From now on no more than so many bytes wait for the application and for what is missing before them, or as many as
    /// the scheme wants if that is less. False for schemes whose windows both ends have settled for good: there it
    /// is for others to see that no more comes.
    pub fn set_memory(&mut self, bytes: u64) -> bool {
        self.memory = bytes;
        if let Some(window) = self.window {
            self.machine.set_window(window.min(bytes));
        }
        self.window.is_some()
    }

    /// Takes one input. Never fails: what cannot be used is counted and dropped.
    pub fn handle(&mut self, now: Time, input: FlowInput) {
        let command = match input {
            FlowInput::Datagram { bytes, ecn } => return self.on_datagram(now, bytes, ecn),
            FlowInput::MaximumSegment(bytes) => return self.machine.set_maximum(bytes),
            FlowInput::Write(data) => {
                let Fin::Sender(sender) = &self.fin else { return };
                if sender.is_over() || data.is_empty() {
                    return;
                }
                self.written += u64::from(data.len());
                Command::Write(data)
            }
            FlowInput::Finish => {
                self.end(now, false);
                Command::Finish
            }
            FlowInput::Stop => {
                self.written = self.written.saturating_sub(self.machine.backlog());
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
        self.machine.command(now, command);
    }

    /// The peer is reached over another path from now on: what `scheme`, with which this flow was made, has learnt of
    /// congestion and round trips is forgotten (RFC 9000, section 9.4).
    pub fn renew(&mut self, now: Time, scheme: &Scheme) {
        self.machine.renew(now, scheme);
    }

    /// The flow was not polled for a while, for a reason that is not the path's: what came meanwhile says nothing of round trips.
    pub fn skip_round_trips(&mut self) {
        self.machine.skip_round_trips();
    }

    fn end(&mut self, now: Time, stopped: bool) {
        if let Fin::Sender(sender) = &mut self.fin {
            sender.end(now, self.written, stopped);
        }
    }

    /// Takes a datagram, as [`handle`](Flow::handle) does.
    pub(crate) fn on_datagram(&mut self, now: Time, bytes: Slice, ecn: Ecn) {
        let is_full = self.is_bounded && self.unread + self.waiting >= self.memory;
        if is_full && is_pdu(bytes.as_bytes()) {
            self.refused += 1;
            return;
        }
        if !self.takes_batches {
            if self.inbox.len() >= MOST_WAITING {
                self.refused += 1;
                return;
            }
            self.waiting += cost(&bytes);
            // A short one would hold on to all of the buffer in which it came.
            let is_short = bytes.len() < SHORT;
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
            self.machine.set_memory(self.memory.saturating_sub(self.unread + self.waiting));
        }
        let is_sound = self.machine.receive(now, pdu, ecn, self.recorder.as_ref());
        if let Some(recorder) = &self.recorder {
            recorder.on_handled(now, || self.machine.sender_stats(now));
        }
        is_sound
    }

    /// The next thing to do at `now`. A datagram that is to be sent is appended to `buffer`.
    #[must_use = "an output that is not acted on is lost"]
    pub fn poll(&mut self, now: Time, buffer: &mut Vec<u8>) -> FlowOutput {
        loop {
            let output = self.poll_once(now, buffer);
            let is_drained = matches!(output, FlowOutput::Timeout { .. } | FlowOutput::Idle);
            if !is_drained {
                return output;
            }
            let Some((bytes, ecn)) = self.inbox.pop_front() else { return output };
            self.waiting -= cost(&bytes);
            self.take(now, bytes, ecn);
        }
    }

    fn poll_once(&mut self, now: Time, buffer: &mut Vec<u8>) -> FlowOutput {
        if let Fin::Receiver(receiver) = &mut self.fin
            && receiver.take_answer()
        {
            buffer.push(FIN_ACK);
            return FlowOutput::Transmit;
        }
        loop {
            let at = match self.machine.poll(now, buffer, self.recorder.as_ref()) {
                Output::Transmit(()) => return FlowOutput::Transmit,
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

    /// The engine has nothing to do until `at`.
    fn poll_fin(&mut self, now: Time, at: Time, buffer: &mut Vec<u8>) -> FlowOutput {
        let mut next = at;
        if !self.failed {
            match &mut self.fin {
                Fin::Sender(sender) => {
                    let is_sent = self.machine.backlog() == 0;
                    if sender.is_due(now, is_sent) {
                        buffer.push(FIN);
                        sender.write(now, self.machine.sender_stats(now).rtt(), buffer);
                        return FlowOutput::Transmit;
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

    /// True if its datagrams may become as large as the path takes ([`FlowInput::MaximumSegment`]).
    pub fn follows_path(&self) -> bool {
        self.follows_path
    }

    /// Bytes of the application that have been sent, each counted once.
    pub fn sent_once(&self) -> u64 {
        self.written.saturating_sub(self.machine.backlog())
    }

    /// Bytes more that the flow would like to be written now. It takes more than that, but keeps it waiting. The answer
    /// grows when data is sent: ask again after polling. Zero for the receiving end.
    pub fn writable(&self) -> u64 {
        match &self.fin {
            Fin::Sender(sender) if !sender.is_over() && !self.failed => {
                self.ahead.limit().min(ROOM).saturating_sub(self.machine.backlog())
            }
            _ => 0,
        }
    }

    /// The most bytes that may wait to be written to the flow: as many as it sends in a tenth of a second, within
    /// bounds.
    pub fn ahead(&self) -> u64 {
        self.ahead.limit()
    }

    /// Looks at how much it sends, from time to time, which decides how much may wait.
    pub fn observe(&mut self, now: Time) {
        self.ahead.observe(now, self.written.saturating_sub(self.machine.backlog()));
    }

    /// The limit that keeps the flow from sending more, as of the last poll; `None` for the receiving end, and when all
    /// is done.
    pub fn limit(&self) -> Option<Limit> {
        self.machine.end().limit()
    }

    /// Counters and beliefs at `now`.
    pub fn stats(&self, now: Time) -> FlowStats {
        FlowStats {
            written: self.written,
            delivered: self.delivered,
            malformed: self.malformed,
            refused: self.refused,
            sender: self.machine.sender_stats(now),
            duplicates: self.machine.end().duplicates(),
            mark_cuts: self.machine.end().mark_cuts(now),
        }
    }
}

/// The sequence number of the data in a datagram that a flow of the window transport gave.
pub(crate) fn sequence(datagram: &[u8]) -> Option<u64> {
    wire::sequence(datagram.strip_prefix(&[PDU])?)
}

/// True if a datagram that a flow gave carries a PDU of its engine.
pub(crate) fn is_pdu(datagram: &[u8]) -> bool {
    datagram.first() == Some(&PDU)
}

/// A PDU of the engine follows.
const PDU: u8 = 0;
/// The end of the stream.
const FIN: u8 = 1;
/// Its acknowledgement.
const FIN_ACK: u8 = 2;
