//! The engine of a flow, whichever it is.

use super::{PDU, PathHints, Recorder, Role, Scheme};
use std::sync::Arc;
use thalweg_catalog::Ends;
use thalweg_proto::congestion::{Any, MadeSender};
use thalweg_proto::numbers::Numbered;
use thalweg_proto::payload::{Payload, Slice};
use thalweg_proto::transport::{Event, Input, Limit, SenderStats};
use thalweg_proto::units::Time;
use thalweg_proto::window::wire as window_wire;
use thalweg_proto::{Engine, Output, aack, datagram, sscop, sstp, window};

/// Any engine that carries bytes.
#[derive(Debug)]
pub(super) enum Machine {
    WindowSender(Box<window::Sender<Slice, Any>>),
    /// With a controller of any type.
    CustomSender(Box<dyn window::AnySender<Slice>>),
    WindowReceiver(Box<window::Receiver<Slice>>),
    Source(Box<datagram::Source<Slice>>),
    Sink(Box<datagram::Sink<Slice>>),
    AdaptiveTransmitter(Box<aack::Transmitter<Slice>>),
    AdaptiveReceiver(Box<aack::Receiver<Slice>>),
    /// Either end: each direction of a stream has a connection of its own, opened by the end that sends. SSCOP is full
    /// duplex, but polls and credit go with the data of one direction, and flows of all schemes look the same this way.
    Sscop(Box<sscop::Endpoint<Slice>>),
    SstpSender(Box<sstp::Sender<Slice>>),
    SstpReceiver(Box<sstp::Receiver<Slice>>),
}

/// A command of the application to an engine.
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

/// The next thing that an engine wants done; a PDU has been encoded already.
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
    (buffer, recorder): (&mut Vec<u8>, Option<&Recorder>),
    encode: impl FnOnce(&E::Pdu, &mut Vec<u8>),
) -> Polled
where
    E: Engine<Pdu: Numbered, Event = Event<Slice>>,
{
    match engine.poll(now) {
        Output::Transmit(pdu) => {
            let start = buffer.len();
            buffer.push(PDU);
            encode(&pdu, buffer);
            if let Some(recorder) = recorder {
                recorder.on_sent(now, &pdu, buffer.len() - start);
            }
            Polled::Transmit
        }
        Output::Event(event) => Polled::Event(event),
        Output::Timeout { at, .. } => Polled::Wait(at),
        Output::Idle => Polled::Wait(Time::MAX),
    }
}

/// The network's mark on a PDU, and who keeps what happens.
type Signs<'a> = (bool, Option<&'a Recorder>);

/// Hands an engine a PDU, if it is one.
fn receive<E, P>(engine: &mut E, now: Time, pdu: Option<P>, (marked, recorder): Signs<'_>) -> bool
where
    E: Engine<Input = Input<P, Slice>>,
    P: Numbered,
{
    let Some(pdu) = pdu else { return false };
    if let Some(recorder) = recorder {
        recorder.on_received(now, &pdu);
    }
    engine.handle(now, Input::Pdu { pdu, marked });
    true
}

/// SSTP's packets name a connection. Flows are told apart below it.
const CONNECTION: u32 = 0;

/// Does the same with whichever engine it is.
macro_rules! each {
    ($machine:expr, $engine:ident => $body:expr) => {
        match $machine {
            Machine::WindowSender($engine) => $body,
            Machine::CustomSender($engine) => $body,
            Machine::WindowReceiver($engine) => $body,
            Machine::Source($engine) => $body,
            Machine::Sink($engine) => $body,
            Machine::AdaptiveTransmitter($engine) => $body,
            Machine::AdaptiveReceiver($engine) => $body,
            Machine::Sscop($engine) => $body,
            Machine::SstpSender($engine) => $body,
            Machine::SstpReceiver($engine) => $body,
        }
    };
}

impl Machine {
    pub fn new(scheme: &Scheme, role: Role, path: &PathHints) -> Self {
        match (scheme.ends(path), role) {
            (Ends::Datagram(config), Role::Sender) => Self::Source(Box::new(datagram::Source::new(config))),
            (Ends::Datagram(_), Role::Receiver) => Self::Sink(Box::new(datagram::Sink::new())),
            (Ends::AdaptiveAck(config), Role::Sender) => {
                Self::AdaptiveTransmitter(Box::new(aack::Transmitter::new(Arc::new(config))))
            }
            (Ends::AdaptiveAck(config), Role::Receiver) => {
                Self::AdaptiveReceiver(Box::new(aack::Receiver::new(Arc::new(config))))
            }
            (Ends::Sscop(config), _) => Self::Sscop(Box::new(sscop::Endpoint::new(&config))),
            (Ends::Sstp { sender, .. }, Role::Sender) => {
                Self::SstpSender(Box::new(sstp::Sender::new(Arc::new(sender))))
            }
            (Ends::Sstp { receiver, .. }, Role::Receiver) => {
                Self::SstpReceiver(Box::new(sstp::Receiver::new(Arc::new(receiver))))
            }
            (Ends::Window { sender, controller, .. }, Role::Sender) => {
                match controller.sender(Arc::new(sender)) {
                    MadeSender::Listed(engine) => Self::WindowSender(engine),
                    MadeSender::Custom(engine) => Self::CustomSender(engine),
                }
            }
            (Ends::Window { receiver, .. }, Role::Receiver) => {
                Self::WindowReceiver(Box::new(window::Receiver::new(Arc::new(receiver))))
            }
        }
    }

    /// A PDU came. False where it is none of this scheme.
    pub fn receive(&mut self, now: Time, bytes: &Slice, signs: Signs<'_>) -> bool {
        let window = || window_wire::decode(bytes);
        let sstp = || match sstp::wire::decode(bytes) {
            Ok((CONNECTION, pdu)) => Some(pdu),
            _ => None,
        };
        match self {
            Self::WindowSender(engine) => receive(engine.as_mut(), now, window().ok(), signs),
            Self::CustomSender(engine) => receive(engine, now, window().ok(), signs),
            Self::WindowReceiver(engine) => receive(engine.as_mut(), now, window().ok(), signs),
            // A source has no use for anything.
            Self::Source(_) => false,
            Self::Sink(engine) => {
                receive(engine.as_mut(), now, Some(bytes.clone()).filter(|data| !data.is_empty()), signs)
            }
            Self::AdaptiveTransmitter(engine) => {
                receive(engine.as_mut(), now, aack::wire::decode(bytes).ok(), signs)
            }
            Self::AdaptiveReceiver(engine) => {
                receive(engine.as_mut(), now, aack::wire::decode(bytes).ok(), signs)
            }
            Self::Sscop(engine) => receive(engine.as_mut(), now, sscop::Pdu::decode(bytes).ok(), signs),
            Self::SstpSender(engine) => receive(engine.as_mut(), now, sstp(), signs),
            Self::SstpReceiver(engine) => receive(engine.as_mut(), now, sstp(), signs),
        }
    }

    pub fn command(&mut self, now: Time, command: Command) {
        each!(self, engine => engine.handle(now, command.into()));
    }

    pub fn poll(&mut self, now: Time, buffer: &mut Vec<u8>, recorder: Option<&Recorder>) -> Polled {
        let to = (buffer, recorder);
        let sstp = |pdu: &sstp::Pdu<Slice>, buffer: &mut Vec<u8>| sstp::wire::encode(CONNECTION, pdu, buffer);
        let plain = |data: &Slice, buffer: &mut Vec<u8>| buffer.extend_from_slice(data.as_bytes());
        match self {
            Self::WindowSender(engine) => poll(engine.as_mut(), now, to, window_wire::encode),
            Self::CustomSender(engine) => poll(engine, now, to, window_wire::encode),
            Self::WindowReceiver(engine) => poll(engine.as_mut(), now, to, window_wire::encode),
            Self::Source(engine) => poll(engine.as_mut(), now, to, plain),
            Self::Sink(engine) => poll(engine.as_mut(), now, to, plain),
            Self::AdaptiveTransmitter(engine) => poll(engine.as_mut(), now, to, aack::wire::encode),
            Self::AdaptiveReceiver(engine) => poll(engine.as_mut(), now, to, aack::wire::encode),
            Self::Sscop(engine) => poll(engine.as_mut(), now, to, sscop::Pdu::encode),
            Self::SstpSender(engine) => poll(engine.as_mut(), now, to, sstp),
            Self::SstpReceiver(engine) => poll(engine.as_mut(), now, to, sstp),
        }
    }

    /// The largest datagram has changed.
    pub fn set_maximum(&mut self, bytes: u32) {
        let path = PathHints { maximum: bytes, ..PathHints::default() };
        let segment = path.segment(window_wire::SEGMENT_HEADER as u32);
        match self {
            Self::WindowSender(engine) => engine.set_segment(segment),
            Self::CustomSender(engine) => engine.set_segment(segment),
            _ => {}
        }
    }

    /// The window that a receiver advertises, of schemes in which it may change.
    pub fn window(&self) -> Option<u64> {
        if let Self::WindowReceiver(engine) = self { Some(engine.window()) } else { None }
    }

    /// Changes it.
    pub fn set_window(&mut self, bytes: u64) {
        if let Self::WindowReceiver(engine) = self {
            engine.set_window(bytes);
        }
    }

    /// True if what it sends may be as large as the path takes. What others send, acknowledgements too, fits any path.
    pub fn follows_path(&self) -> bool {
        matches!(self, Self::WindowSender(_) | Self::CustomSender(_))
    }

    /// The peer is reached over another path. Those that are not named learn nothing of a path that bounds what they send.
    pub fn renew(&mut self, now: Time, scheme: &Scheme) {
        match self {
            Self::WindowSender(engine) => {
                if let Ends::Window { controller, .. } = scheme.ends(&PathHints::default())
                    && let Ok(controller) = Any::new(&controller)
                {
                    engine.renew(now, controller);
                }
            }
            Self::CustomSender(engine) => engine.renew(now),
            Self::Sscop(engine) => engine.renew(),
            _ => {}
        }
    }

    /// PDUs of the peer have waited here for longer than the path took. Those that take batches have had them already.
    pub fn skip_round_trips(&mut self) {
        if let Self::Sscop(engine) = self {
            engine.skip_round_trips();
        }
    }

    /// True if any number of PDUs may come before the engine is polled, and it is better so: one acknowledgement speaks
    /// for all. Others answer each, and hold few answers.
    pub fn takes_batches(&self) -> bool {
        matches!(self, Self::WindowSender(_) | Self::CustomSender(_) | Self::WindowReceiver(_))
    }

    /// True if the engine keeps its peer from sending more than the application takes. Of others what comes beyond that
    /// is dropped.
    pub fn has_receive_window(&self) -> bool {
        !matches!(self, Self::Sink(_) | Self::AdaptiveReceiver(_))
    }

    /// Bytes written and not yet sent.
    pub fn backlog(&self) -> u64 {
        match self {
            Self::WindowSender(engine) => engine.backlog(),
            Self::CustomSender(engine) => engine.backlog(),
            Self::Source(engine) => engine.backlog(),
            Self::AdaptiveTransmitter(engine) => engine.backlog(),
            Self::Sscop(engine) => engine.backlog(),
            Self::SstpSender(engine) => engine.backlog(),
            Self::WindowReceiver(_) | Self::Sink(_) | Self::AdaptiveReceiver(_) | Self::SstpReceiver(_) => 0,
        }
    }

    pub fn limit(&self) -> Option<Limit> {
        match self {
            Self::WindowSender(engine) => engine.limit(),
            Self::CustomSender(engine) => engine.limit(),
            Self::Source(engine) => engine.limit(),
            Self::AdaptiveTransmitter(engine) => engine.limit(),
            Self::Sscop(engine) => engine.held_by(),
            Self::SstpSender(engine) => engine.limit(),
            Self::WindowReceiver(_) | Self::Sink(_) | Self::AdaptiveReceiver(_) | Self::SstpReceiver(_) => {
                None
            }
        }
    }

    /// The counters and beliefs of a sender; of a receiver all are zero.
    pub fn sender_stats(&self, now: Time) -> SenderStats {
        match self {
            Self::WindowSender(engine) => engine.stats(now).common,
            Self::CustomSender(engine) => engine.stats(now).common,
            Self::Source(engine) => engine.stats(now),
            Self::AdaptiveTransmitter(engine) => engine.stats(now).common,
            Self::Sscop(engine) => engine.stats(now).common,
            Self::SstpSender(engine) => engine.stats(now).common,
            Self::WindowReceiver(_) | Self::Sink(_) | Self::AdaptiveReceiver(_) | Self::SstpReceiver(_) => {
                SenderStats::default()
            }
        }
    }

    /// The number of times that a sender sent less because of the network's marks.
    pub fn mark_cuts(&self, now: Time) -> u64 {
        match self {
            Self::WindowSender(engine) => engine.stats(now).mark_cuts,
            Self::CustomSender(engine) => engine.stats(now).mark_cuts,
            _ => 0,
        }
    }

    /// Data packets that came a second time.
    pub fn duplicates(&self) -> u64 {
        match self {
            Self::WindowReceiver(engine) => engine.stats().duplicates,
            Self::AdaptiveReceiver(engine) => engine.stats().duplicates,
            Self::SstpReceiver(engine) => engine.stats().duplicates,
            _ => 0,
        }
    }
}
