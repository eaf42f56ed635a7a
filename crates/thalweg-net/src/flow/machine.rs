//! The engine of a flow, whichever it is.

use super::{FlowStats, PDU, PathHints, Role, Scheme};
use thalweg_proto::congestion::Any;
use thalweg_proto::payload::Slice;
use thalweg_proto::transport::{Event, Input, Limit};
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::window::wire as window_wire;
use thalweg_proto::{Engine, Output, window};

/// Any engine that carries bytes.
#[derive(Debug)]
pub(super) enum Machine {
    WindowSender(Box<window::Sender<Slice, Any>>),
    WindowReceiver(Box<window::Receiver<Slice>>),
}

/// What the application tells an engine.
#[derive(Debug)]
pub(super) enum Command {
    Write(Slice),
    Finish,
    Stop,
    Consumed(u64),
    Pause,
    Resume,
}

impl<P> From<Command> for Input<P, Slice> {
    fn from(command: Command) -> Self {
        match command {
            Command::Write(data) => Self::Write(data),
            Command::Finish => Self::Finish,
            Command::Stop => Self::Stop,
            Command::Consumed(bytes) => Self::Consumed(bytes),
            Command::Pause => Self::Pause,
            Command::Resume => Self::Resume,
        }
    }
}

/// What an engine wants done; a PDU has been encoded already.
#[derive(Debug)]
pub(super) enum Polled {
    Transmit,
    Event(Event<Slice>),
    /// Nothing until then; [`Time::MAX`] for nothing at all.
    Wait(Time),
}

/// Polls an engine and encodes what it sends.
fn poll<E>(
    engine: &mut E,
    now: Time,
    buffer: &mut Vec<u8>,
    encode: impl FnOnce(&E::Pdu, &mut Vec<u8>),
) -> Polled
where
    E: Engine<Event = Event<Slice>>,
{
    match engine.poll(now) {
        Output::Transmit(pdu) => {
            buffer.push(PDU);
            encode(&pdu, buffer);
            Polled::Transmit
        }
        Output::Event(event) => Polled::Event(event),
        Output::Timeout { at, .. } => Polled::Wait(at),
        Output::Idle => Polled::Wait(Time::MAX),
    }
}

/// Hands an engine a PDU, if it is one.
fn receive<E, P, X>(engine: &mut E, now: Time, pdu: Result<P, X>, marked: bool) -> bool
where
    E: Engine<Input = Input<P, Slice>>,
{
    let Ok(pdu) = pdu else { return false };
    engine.handle(now, Input::Pdu { pdu, marked });
    true
}

impl Machine {
    pub fn new(scheme: &Scheme, role: Role, path: &PathHints) -> Self {
        match role {
            Role::Sender => Self::WindowSender(Box::new(super::window::sender(scheme, path))),
            Role::Receiver => Self::WindowReceiver(Box::new(super::window::receiver(scheme, path))),
        }
    }

    /// A PDU came. False where it is none of this scheme.
    pub fn receive(&mut self, now: Time, bytes: &Slice, marked: bool) -> bool {
        match self {
            Self::WindowSender(engine) => receive(engine.as_mut(), now, window_wire::decode(bytes), marked),
            Self::WindowReceiver(engine) => receive(engine.as_mut(), now, window_wire::decode(bytes), marked),
        }
    }

    pub fn command(&mut self, now: Time, command: Command) {
        match self {
            Self::WindowSender(engine) => engine.handle(now, command.into()),
            Self::WindowReceiver(engine) => engine.handle(now, command.into()),
        }
    }

    pub fn poll(&mut self, now: Time, buffer: &mut Vec<u8>) -> Polled {
        match self {
            Self::WindowSender(engine) => poll(engine.as_mut(), now, buffer, window_wire::encode),
            Self::WindowReceiver(engine) => poll(engine.as_mut(), now, buffer, window_wire::encode),
        }
    }

    /// The largest datagram has changed.
    pub fn set_maximum(&mut self, bytes: u32) {
        if let Self::WindowSender(engine) = self {
            let path = PathHints { maximum: bytes, ..PathHints::default() };
            engine.set_segment(path.segment(window_wire::SEGMENT_HEADER as u32));
        }
    }

    /// Bytes written and not yet sent.
    pub fn backlog(&self) -> u64 {
        match self {
            Self::WindowSender(engine) => engine.backlog(),
            Self::WindowReceiver(_) => 0,
        }
    }

    pub fn limit(&self) -> Option<Limit> {
        match self {
            Self::WindowSender(engine) => engine.limit(),
            Self::WindowReceiver(_) => None,
        }
    }

    pub fn smoothed_rtt(&self) -> Option<Duration> {
        self.stats(Time::ZERO).smoothed_rtt
    }

    pub fn stats(&self, now: Time) -> FlowStats {
        match self {
            Self::WindowSender(engine) => {
                let stats = engine.stats(now);
                FlowStats {
                    sent: stats.sent,
                    retransmissions: stats.retransmissions,
                    timeouts: stats.timeouts,
                    smoothed_rtt: known(stats.smoothed_rtt),
                    min_rtt: known(stats.min_rtt),
                    window: stats.window,
                    in_flight: stats.in_flight,
                    pacing_rate: stats.pacing_rate,
                    limits: stats.limits,
                    ..FlowStats::default()
                }
            }
            Self::WindowReceiver(engine) => {
                FlowStats { duplicates: engine.stats().duplicates, ..FlowStats::default() }
            }
        }
    }
}

/// Engines say zero or the longest time before the first measurement.
fn known(time: Duration) -> Option<Duration> {
    Some(time).filter(|time| !time.is_zero() && *time < Duration::MAX)
}
