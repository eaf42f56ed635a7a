//! The active side of a handshake, around the sending engine.

use super::handshake_timer::Backoff;
use super::{Config, Control, HandshakeStep, InnerEngine, Pdu, Protocol, Reason};
use crate::endpoint::Notice;
use crate::engine_contract::{Engine, Output};
use crate::payload::Payload;
use crate::transport::{Event, Failure, Input};
use crate::units::{Duration, Time};

/// State of the active side, by the names of RFC 9293, section 3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// CLOSED: nothing has been sent.
    Idle,
    /// SYN-SENT.
    Opening,
    /// The client's Finished is not acknowledged (RFC 9001, section 4.1.2).
    Unconfirmed,
    /// ESTABLISHED.
    Established,
    /// FIN-WAIT: the FIN follows this many bytes.
    FinWait(u64),
    /// TIME-WAIT, or closed without further transmissions.
    Closed(Option<u64>),
}

/// Opens a connection, runs the sending engine, and closes the connection when all has been sent.
#[derive(Clone, Debug)]
pub struct Opener<E> {
    engine: E,
    config: Config,
    phase: Phase,
    timer: Backoff,
    start_time: Time,
    /// Step to be sent next.
    owed: Option<HandshakeStep>,
    /// Bytes written by the application.
    bytes_written: u64,
    finishing: bool,
    /// Completion is known from the engine or the peer's FIN, and has been reported to the application.
    finished: bool,
    /// True while completion is to be reported to the application.
    ending: bool,
    /// True when the engine has nothing left to do.
    drained: bool,
    failed: Option<Failure>,
}

/// Minimum timeout of data after a lost SYN (RFC 6298, section 5.7).
const RTO_AFTER_LOST_SYN: Duration = Duration::from_secs(3);

impl<E> Opener<E> {
    /// Creates an opener, which sends its first packet at the first poll.
    pub fn new(config: Config, engine: E) -> Self {
        Self {
            engine,
            timer: Backoff::new(&config),
            config,
            phase: Phase::Idle,
            start_time: Time::ZERO,
            owed: None,
            bytes_written: 0,
            finishing: false,
            finished: false,
            ending: false,
            drained: false,
            failed: None,
        }
    }

    /// Returns the sending engine.
    pub const fn engine(&self) -> &E {
        &self.engine
    }

    /// Returns the sending engine, mutably.
    pub const fn engine_mut(&mut self) -> &mut E {
        &mut self.engine
    }

    /// Returns true once completion has been or is to be reported to the application; only termination remains.
    pub const fn has_finished(&self) -> bool {
        self.finished
    }

    const fn protocol(&self) -> Protocol {
        self.config.kind.protocol()
    }

    const fn control<U>(&self, step: HandshakeStep) -> Pdu<U> {
        Pdu::Control(Control { protocol: self.protocol(), step })
    }

    /// Returns true if the engine may send.
    const fn may_send(&self) -> bool {
        match self.phase {
            Phase::Idle => false,
            Phase::Closed(_) => self.drained,
            Phase::Opening => self.config.kind.is_early(),
            Phase::Unconfirmed | Phase::Established | Phase::FinWait(_) => true,
        }
    }

    /// Handles an expiry of the handshake timer.
    fn expire(&mut self, now: Time) {
        let step = match self.phase {
            Phase::Opening if self.config.retries.is_some_and(|max| self.timer.repeats >= max) => {
                self.phase = Phase::Closed(None);
                self.failed = Some(Failure::NoAnswer);
                self.timer.expiry = Time::MAX;
                return;
            }
            Phase::Opening => HandshakeStep::Syn,
            Phase::Unconfirmed => HandshakeStep::Ack,
            Phase::FinWait(length) => HandshakeStep::Fin(length),
            Phase::Idle | Phase::Established | Phase::Closed(_) => {
                self.timer.expiry = Time::MAX;
                return;
            }
        };
        self.owed = Some(step);
        self.timer.repeat(now, &self.config);
    }

    fn close(&mut self, length: Option<u64>) {
        self.phase = Phase::Closed(length);
        self.timer.expiry = Time::MAX;
        self.ending = !core::mem::replace(&mut self.finished, true);
    }
}

impl<E: InnerEngine> Opener<E> {
    fn on_control(&mut self, now: Time, control: Control) {
        if control.protocol != self.protocol() {
            return;
        }
        match (control.step, self.phase) {
            (HandshakeStep::SynAck, Phase::Opening) => self.open(now),
            (HandshakeStep::SynAck, Phase::Unconfirmed) => self.owed = Some(HandshakeStep::Ack),
            // The answer was received, but its confirmation was lost.
            (HandshakeStep::SynAck, Phase::Established | Phase::FinWait(_))
                if self.protocol() == Protocol::Tcp =>
            {
                self.owed = self.owed.or(Some(HandshakeStep::Ack));
            }
            // RFC 9000, section 10.2.1: every packet received in the closing state is answered with CONNECTION_CLOSE.
            (HandshakeStep::SynAck, Phase::Closed(_)) if self.protocol() == Protocol::Quic => {
                self.owed = Some(HandshakeStep::ConnectionClose);
            }
            (HandshakeStep::HandshakeDone, Phase::Unconfirmed) => {
                self.phase = Phase::Established;
                self.timer.expiry = Time::MAX;
            }
            (HandshakeStep::FinAck(of), Phase::FinWait(length)) if of == length => {
                self.close(Some(length));
                self.owed = Some(HandshakeStep::AckOfFin(length));
            }
            (HandshakeStep::FinAck(of), Phase::Closed(Some(length))) if of == length => {
                self.owed = Some(HandshakeStep::AckOfFin(length));
            }
            _ => {}
        }
    }

    /// Handles the peer's answer.
    fn open(&mut self, now: Time) {
        let was_repeated = self.timer.repeats > 0;
        let rtt = (!was_repeated).then(|| now.since(self.start_time));
        self.timer.stop(rtt, &self.config);
        self.phase = match self.protocol() {
            Protocol::Tcp => Phase::Established,
            Protocol::Quic => {
                self.timer.start(now);
                Phase::Unconfirmed
            }
        };
        self.owed = Some(HandshakeStep::Ack);
        let is_tcp = self.protocol() == Protocol::Tcp;
        let timeout = if was_repeated && is_tcp { RTO_AFTER_LOST_SYN } else { Duration::ZERO };
        if let Some(end) = self.engine.end_mut() {
            end.notify(Notice::Opened { rtt, timeout });
        }
    }
}

impl<P, U, E> Engine for Opener<E>
where
    P: Payload,
    E: Engine<Pdu = U, Input = Input<U, P>, Event = Event<P>> + InnerEngine,
{
    type Pdu = Pdu<U>;
    type Input = Input<Pdu<U>, P>;
    type Event = Event<P>;
    type Reason = Reason<E::Reason>;

    fn handle(&mut self, now: Time, input: Self::Input) {
        let command = match input.into_pdu() {
            Ok((Pdu::Control(control), _)) => return self.on_control(now, control),
            // PDUs received before the answer cannot be decrypted.
            Ok((Pdu::Engine(_), _))
                if matches!(self.phase, Phase::Idle | Phase::Opening | Phase::Closed(_)) =>
            {
                return;
            }
            Ok((Pdu::Engine(pdu), ecn)) => return self.engine.handle(now, Input::Pdu { pdu, ecn }),
            Err(command) => command,
        };
        match &command {
            Input::Write(_) if self.finishing => return,
            Input::Write(data) => {
                self.bytes_written = self.bytes_written.saturating_add(u64::from(data.len()));
            }
            Input::Finish => self.finishing = true,
            Input::Stop => {
                self.finishing = true;
                self.bytes_written = self.bytes_written.saturating_sub(self.engine.end().backlog());
            }
            _ => {}
        }
        self.engine.handle(now, command.into_input());
    }

    fn poll(&mut self, now: Time) -> Output<Self::Pdu, Self::Event, Self::Reason> {
        if self.phase == Phase::Idle {
            (self.phase, self.start_time, self.owed) = (Phase::Opening, now, Some(HandshakeStep::Syn));
            self.timer.start(now);
        }
        if now >= self.timer.expiry {
            self.expire(now);
        }
        if let Some(step) = self.owed.take() {
            return Output::Transmit(self.control(step));
        }
        if let Some(failure) = self.failed.take() {
            return Output::Event(Event::Failed(failure));
        }
        if core::mem::take(&mut self.ending) {
            return Output::Event(Event::Finished);
        }
        let output = if self.may_send() { self.engine.poll(now) } else { Output::Idle };
        let timeout = match output {
            Output::Transmit(pdu) => return Output::Transmit(Pdu::Engine(pdu)),
            Output::Event(Event::Finished) if self.protocol() == Protocol::Quic => {
                self.drained = true;
                self.close(None);
                return Output::Transmit(self.control(HandshakeStep::ConnectionClose));
            }
            Output::Event(event) => {
                match event {
                    Event::Finished => {
                        (self.finished, self.drained) = (true, true);
                        if matches!(self.phase, Phase::FinWait(_)) {
                            self.timer.start(now);
                        }
                    }
                    Event::Failed(_) => {
                        self.phase = Phase::Closed(None);
                        self.timer.expiry = Time::MAX;
                    }
                    _ => {}
                }
                return Output::Event(event);
            }
            Output::Timeout { at, reason } => Some((at, reason)),
            Output::Idle => None,
        };
        let has_sent_all = self.finishing && self.engine.end().backlog() == 0;
        if self.phase == Phase::Established && self.protocol() == Protocol::Tcp && has_sent_all {
            self.phase = Phase::FinWait(self.bytes_written);
            if self.finished {
                self.timer.start(now);
            }
            return Output::Transmit(self.control(HandshakeStep::Fin(self.bytes_written)));
        }
        self.timer.or_earlier(timeout)
    }
}
