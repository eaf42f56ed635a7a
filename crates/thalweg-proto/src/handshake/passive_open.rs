//! The passive side of a handshake, around the receiving engine.

use super::handshake_timer::Backoff;
use super::{Config, Control, HandshakeStep, InnerEngine, Pdu, Protocol, Reason};
use crate::engine_contract::{Engine, Output};
use crate::payload::Payload;
use crate::transport::{Event, Input};
use crate::units::Time;

/// State of the passive side, by the names of RFC 9293, section 3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// LISTEN.
    Listening,
    /// SYN-RECEIVED.
    SynReceived,
    /// ESTABLISHED.
    Established,
    /// LAST-ACK: the whole stream of this many bytes has arrived.
    LastAck(u64),
    /// CLOSED.
    Closed,
}

/// Answers an [`Opener`](super::Opener), runs the receiving engine, and closes when all data has arrived.
#[derive(Clone, Debug)]
pub struct Listener<E> {
    engine: E,
    config: Config,
    phase: Phase,
    timer: Backoff,
    /// Time of its last handshake packet.
    sent_at: Time,
    owed: Option<HandshakeStep>,
    /// Bytes delivered to the application.
    delivered: u64,
    /// Length of the stream, known from the peer's FIN.
    length: Option<u64>,
    /// True while the close is to be reported to the application.
    ending: bool,
}

impl<E> Listener<E> {
    /// Creates a listener.
    pub fn new(config: Config, engine: E) -> Self {
        Self {
            engine,
            timer: Backoff::new(&config),
            config,
            phase: Phase::Listening,
            sent_at: Time::ZERO,
            owed: None,
            delivered: 0,
            length: None,
            ending: false,
        }
    }

    /// Returns the receiving engine.
    pub const fn engine(&self) -> &E {
        &self.engine
    }

    /// Returns the receiving engine, mutably.
    pub const fn engine_mut(&mut self) -> &mut E {
        &mut self.engine
    }

    /// Returns true while the peer waits, or will wait, for an answer to its FIN. The connection state must be kept
    /// until then.
    pub const fn lingers(&self) -> bool {
        let is_tcp = matches!(self.config.kind.protocol(), Protocol::Tcp);
        is_tcp && matches!(self.phase, Phase::SynReceived | Phase::Established | Phase::LastAck(_))
    }

    const fn control<U>(&self, step: HandshakeStep) -> Pdu<U> {
        Pdu::Control(Control { protocol: self.config.kind.protocol(), step })
    }

    /// Repeats a handshake packet, unless it was sent at this moment.
    fn repeat(&mut self, now: Time, step: HandshakeStep) {
        if self.sent_at < now {
            self.sent_at = now;
            self.owed = Some(step);
            self.timer.repeat(now, &self.config);
        }
    }

    fn send(&mut self, now: Time, step: HandshakeStep) {
        self.sent_at = now;
        self.owed = Some(step);
        self.timer.start(now);
    }

    fn on_control(&mut self, now: Time, control: Control) {
        let protocol = self.config.kind.protocol();
        if control.protocol != protocol {
            return;
        }
        if protocol == Protocol::Tcp && matches!(control.step, HandshakeStep::Ack | HandshakeStep::Fin(_)) {
            self.establish(now);
        }
        match (control.step, self.phase) {
            (HandshakeStep::Syn, Phase::Listening) => {
                self.phase = Phase::SynReceived;
                self.send(now, HandshakeStep::SynAck);
            }
            (HandshakeStep::Syn, Phase::SynReceived) => self.repeat(now, HandshakeStep::SynAck),
            (HandshakeStep::Ack, Phase::SynReceived | Phase::Established) if protocol == Protocol::Quic => {
                self.establish(now);
                self.owed = Some(HandshakeStep::HandshakeDone);
            }
            (HandshakeStep::Fin(length), Phase::Established) => self.length = Some(length),
            (HandshakeStep::Fin(of), Phase::LastAck(length)) if of == length => {
                self.repeat(now, HandshakeStep::FinAck(length));
            }
            (HandshakeStep::AckOfFin(of), Phase::LastAck(length)) if of == length => self.close(),
            (HandshakeStep::ConnectionClose, Phase::SynReceived | Phase::Established) => self.close(),
            _ => {}
        }
    }

    /// Enters ESTABLISHED after evidence that the peer has the answer.
    fn establish(&mut self, now: Time) {
        if self.phase == Phase::SynReceived {
            let rtt = (self.timer.repeats == 0).then(|| now.since(self.sent_at));
            self.timer.stop(rtt, &self.config);
            (self.phase, self.owed) = (Phase::Established, None);
        }
    }

    fn close(&mut self) {
        self.phase = Phase::Closed;
        self.timer.expiry = Time::MAX;
        (self.owed, self.ending) = (None, true);
    }

    fn expire(&mut self, now: Time) {
        match self.phase {
            Phase::SynReceived if self.config.retries.is_some_and(|max| self.timer.repeats >= max) => {
                self.phase = Phase::Listening;
                self.timer = Backoff::new(&self.config);
            }
            Phase::SynReceived => self.repeat(now, HandshakeStep::SynAck),
            Phase::LastAck(length) => self.repeat(now, HandshakeStep::FinAck(length)),
            Phase::Listening | Phase::Established | Phase::Closed => self.timer.expiry = Time::MAX,
        }
    }
}

impl<P, U, E> Engine for Listener<E>
where
    P: Payload,
    E: Engine<Pdu = U, Input = Input<U, P>, Event = Event<P>> + InnerEngine,
{
    type Pdu = Pdu<U>;
    type Input = Input<Pdu<U>, P>;
    type Event = Event<P>;
    type Reason = Reason<E::Reason>;

    fn handle(&mut self, now: Time, input: Self::Input) {
        let (pdu, ecn) = match input.into_pdu() {
            Ok((Pdu::Control(control), _)) => return self.on_control(now, control),
            Ok((Pdu::Engine(pdu), ecn)) => (pdu, ecn),
            Err(command) => return self.engine.handle(now, command.into_input()),
        };
        if self.config.kind.protocol() == Protocol::Tcp {
            // Any PDU but the SYN acknowledges the answer.
            self.establish(now);
        }
        match self.phase {
            Phase::Established => {}
            Phase::SynReceived if self.config.kind.is_early() => {}
            // All data has arrived before.
            Phase::LastAck(length) => return self.repeat(now, HandshakeStep::FinAck(length)),
            Phase::Listening | Phase::SynReceived | Phase::Closed => return,
        }
        self.engine.handle(now, Input::Pdu { pdu, ecn });
    }

    fn poll(&mut self, now: Time) -> Output<Self::Pdu, Self::Event, Self::Reason> {
        if now >= self.timer.expiry {
            self.expire(now);
        }
        if let Some(step) = self.owed.take() {
            return Output::Transmit(self.control(step));
        }
        if core::mem::take(&mut self.ending) {
            return Output::Event(Event::Finished);
        }
        let may_receive = match self.phase {
            Phase::Established => true,
            Phase::SynReceived => self.config.kind.is_early(),
            Phase::Listening | Phase::LastAck(_) | Phase::Closed => false,
        };
        let output = if may_receive { self.engine.poll(now) } else { Output::Idle };
        let timeout = match output {
            Output::Transmit(pdu) => return Output::Transmit(Pdu::Engine(pdu)),
            Output::Event(event) => {
                if let Event::Delivered(data) = &event {
                    self.delivered = self.delivered.saturating_add(u64::from(data.len()));
                }
                return Output::Event(event);
            }
            Output::Timeout { at, reason } => Some((at, reason)),
            Output::Idle => None,
        };
        if let Some(length) =
            self.length.filter(|length| self.phase == Phase::Established && self.delivered >= *length)
        {
            self.phase = Phase::LastAck(length);
            self.send(now, HandshakeStep::FinAck(length));
            self.owed = None;
            return Output::Transmit(self.control(HandshakeStep::FinAck(length)));
        }
        self.timer.or_earlier(timeout)
    }
}
