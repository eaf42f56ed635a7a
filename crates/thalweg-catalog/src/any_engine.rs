//! Type-erased protocol engines, as driven by the simulator and the network.

use crate::any_pdu::AnyPdu;
use crate::endpoint_configs::EndpointConfigs;
use crate::external_family::{ExternalEnd, ExternalPayload};
use crate::family_list::families;
use crate::protocol_family::Family;
use thalweg_proto::congestion::Any;
use thalweg_proto::endpoint::{End, Notice};
use thalweg_proto::handshake::{self, InnerEngine, Listener, Opener};
use thalweg_proto::payload::{Payload, Slice};
use thalweg_proto::pdu::{DataUnit, Wire};
use thalweg_proto::random::RandomStream;
use thalweg_proto::transport::{Command, Event, Input, ViolationKind};
use thalweg_proto::units::Time;
use thalweg_proto::window;
use thalweg_proto::window::MadeSender;
use thalweg_proto::{Ecn, Engine, Output};

/// An engine's output without trace-only details.
pub type AnyOutput<P> = Output<AnyPdu<P>, Event<P>, ()>;

fn unify_output<P: Payload, U, V, R>(
    output: Output<U, Event<P>, R>,
    pdu: impl FnOnce(U) -> V,
) -> Output<V, Event<P>, ()> {
    match output {
        Output::Transmit(inner) => Output::Transmit(pdu(inner)),
        Output::Event(event) => Output::Event(event),
        Output::Timeout { at, .. } => Output::Timeout { at, reason: () },
        Output::Idle => Output::Idle,
    }
}

/// Encodes a PDU to send by `encode`, and returns its codepoint in its place.
#[inline]
fn encode_output<U: DataUnit<Slice>, R>(
    output: Output<U, Event<Slice>, R>,
    encode: impl FnOnce(&U),
) -> Output<Option<Ecn>, Event<Slice>, ()> {
    unify_output(output, |pdu| {
        encode(&pdu);
        pdu.ecn()
    })
}

/// The endpoint of a vacant engine, without a connection.
#[derive(Debug)]
struct VacantEnd;

impl End for VacantEnd {}

/// A visitor of an engine of any type.
pub trait Visit {
    /// Visits the engine.
    fn visit<T>(&self, engine: &T);
}

macro_rules! engines {
    ($($Family:ident: $Config:ty, $Sender:ident, $Receiver:ident;)+) => {
        /// An engine of any family. Engines are boxed to keep tables of them dense.
        #[derive(Debug)]
        pub enum AnyEngine<P: Payload> {
            /// No engine: ignores input and produces no output.
            Vacant,
            /// A window sender with a built-in controller.
            WindowSender(Box<window::Sender<P, Any>>),
            /// A window receiver.
            WindowReceiver(Box<window::Receiver<P>>),
            /// A window sender with a controller of any type. Double boxing keeps the variant as thin as the others.
            ExternalSender(Box<Box<dyn window::AnySender<P>>>),
            $(
                #[doc = concat!("The sending end of the family `", stringify!($Family), "`.")]
                $Sender(Box<<$Config as Family>::Sender<P>>),
                #[doc = concat!("The receiving end of the family `", stringify!($Family), "`.")]
                $Receiver(Box<<$Config as Family>::Receiver<P>>),
            )+
            /// Either end of a family of another crate.
            External(Box<ExternalEnd<P>>),
            /// A sender of any family with connection establishment and teardown.
            Opener(Box<Opener<AnyEngine<P>>>),
            /// The receiver of such a connection.
            Listener(Box<Listener<AnyEngine<P>>>),
        }

        impl<P: ExternalPayload> AnyEngine<P> {
            /// Creates the sender of a new connection, with `stream` as the source of its
            /// [draws](crate::protocol_family::EndNeeds::random).
            pub fn sender(ends: &EndpointConfigs, stream: Option<RandomStream>) -> Self {
                let mut sender = match ends {
                    EndpointConfigs::Window(config) => {
                        return match config.controller.sender(config.sender.clone(), stream) {
                            MadeSender::Listed(engine) => Self::WindowSender(engine),
                            MadeSender::Dedicated(engine) => Self::ExternalSender(Box::new(engine)),
                        };
                    }
                    $(EndpointConfigs::$Family(config) => Self::$Sender(Box::new(config.sender())),)+
                    EndpointConfigs::External(family) => Self::External(Box::new(P::external_sender(family))),
                };
                if let (Some(stream), Some(end)) = (stream, sender.end_mut()) {
                    end.notify(Notice::RandomStream(stream));
                }
                sender
            }

            /// Creates the receiver of a new connection, with `stream` as the source of its
            /// [draws](crate::protocol_family::EndNeeds::random).
            pub fn receiver(ends: &EndpointConfigs, stream: Option<RandomStream>) -> Self {
                let mut receiver = match ends {
                    EndpointConfigs::Window(config) => {
                        return Self::WindowReceiver(Box::new(window::Receiver::new(config.receiver.clone())));
                    }
                    $(EndpointConfigs::$Family(config) => Self::$Receiver(Box::new(config.receiver())),)+
                    EndpointConfigs::External(family) => Self::External(Box::new(P::external_receiver(family))),
                };
                if let (Some(stream), Some(end)) = (stream, receiver.end_mut()) {
                    end.notify(Notice::RandomStream(stream));
                }
                receiver
            }
        }

        impl<P: Payload> AnyEngine<P> {
            // Other families are in functions of their own: inlining them would slow down the window transport, the
            // most frequent case.

            #[inline(never)]
            fn receive_other(&mut self, now: Time, pdu: AnyPdu<P>, ecn: Ecn) {
                match (self, pdu) {
                    (Self::ExternalSender(engine), AnyPdu::Window(pdu)) => {
                        engine.handle(now, Input::Pdu { pdu, ecn });
                    }
                    $(
                        (Self::$Sender(engine), AnyPdu::$Family(pdu)) => {
                            engine.handle(now, Input::Pdu { pdu, ecn });
                        }
                        (Self::$Receiver(engine), AnyPdu::$Family(pdu)) => {
                            engine.handle(now, Input::Pdu { pdu, ecn });
                        }
                    )+
                    (Self::External(engine), AnyPdu::External(pdu)) => engine.receive(now, pdu, ecn),
                    (Self::Opener(engine), pdu) => engine.handle(now, Input::Pdu { pdu: into_handshake_pdu(pdu), ecn }),
                    (Self::Listener(engine), pdu) => {
                        engine.handle(now, Input::Pdu { pdu: into_handshake_pdu(pdu), ecn });
                    }
                    (engine, AnyPdu::Feedback(feedback)) => {
                        engine.command(now, Input::Feedback(feedback));
                    }
                    _ => {}
                }
            }

            /// Processes an input from the application or a gate.
            #[inline(never)]
            pub fn command(&mut self, now: Time, command: Command<P>) {
                match self {
                    Self::WindowSender(engine) => engine.handle(now, command.into_input()),
                    Self::WindowReceiver(engine) => engine.handle(now, command.into_input()),
                    Self::ExternalSender(engine) => engine.handle(now, command.into_input()),
                    $(
                        Self::$Sender(engine) => engine.handle(now, command.into_input()),
                        Self::$Receiver(engine) => engine.handle(now, command.into_input()),
                    )+
                    Self::External(engine) => engine.command(now, command),
                    Self::Opener(engine) => engine.handle(now, command.into_input()),
                    Self::Listener(engine) => engine.handle(now, command.into_input()),
                    Self::Vacant => {}
                }
            }

            #[inline(never)]
            fn poll_other(&mut self, now: Time) -> AnyOutput<P> {
                match self {
                    Self::ExternalSender(engine) => unify_output(engine.poll(now), AnyPdu::Window),
                    $(
                        Self::$Sender(engine) => unify_output(engine.poll(now), AnyPdu::$Family),
                        Self::$Receiver(engine) => unify_output(engine.poll(now), AnyPdu::$Family),
                    )+
                    Self::External(engine) => unify_output(engine.poll(now), AnyPdu::External),
                    Self::Opener(engine) => unify_output(engine.poll(now), from_handshake_pdu),
                    Self::Listener(engine) => unify_output(engine.poll(now), from_handshake_pdu),
                    Self::WindowSender(_) | Self::WindowReceiver(_) | Self::Vacant => Output::Idle,
                }
            }

            /// Returns the engine's query interface, beside input and output.
            pub fn end(&self) -> &dyn End {
                match self {
                    Self::Vacant => &VacantEnd,
                    Self::WindowSender(engine) => engine.as_ref(),
                    Self::WindowReceiver(engine) => engine.as_ref(),
                    Self::ExternalSender(engine) => engine.as_ref(),
                    $(
                        Self::$Sender(engine) => engine.as_ref(),
                        Self::$Receiver(engine) => engine.as_ref(),
                    )+
                    Self::External(engine) => engine.as_ref(),
                    Self::Opener(engine) => engine.engine().end(),
                    Self::Listener(engine) => engine.engine().end(),
                }
            }

            /// Returns the query interface mutably; `None` if there is no engine.
            pub fn end_mut(&mut self) -> Option<&mut dyn End> {
                Some(match self {
                    Self::Vacant => return None,
                    Self::WindowSender(engine) => engine.as_mut(),
                    Self::WindowReceiver(engine) => engine.as_mut(),
                    Self::ExternalSender(engine) => engine.as_mut(),
                    $(
                        Self::$Sender(engine) => engine.as_mut(),
                        Self::$Receiver(engine) => engine.as_mut(),
                    )+
                    Self::External(engine) => engine.as_mut(),
                    Self::Opener(engine) => return engine.engine_mut().end_mut(),
                    Self::Listener(engine) => return engine.engine_mut().end_mut(),
                })
            }

            /// Applies a visitor to the engine with its concrete type.
            #[inline]
            pub fn visit(&self, visit: &impl Visit) {
                match self {
                    Self::WindowSender(engine) => visit.visit(engine.as_ref()),
                    Self::WindowReceiver(engine) => visit.visit(engine.as_ref()),
                    $(
                        Self::$Sender(engine) => visit.visit(engine.as_ref()),
                        Self::$Receiver(engine) => visit.visit(engine.as_ref()),
                    )+
                    Self::ExternalSender(_)
                    | Self::External(_)
                    | Self::Opener(_)
                    | Self::Listener(_)
                    | Self::Vacant => {}
                }
            }
        }

        impl AnyEngine<Slice> {
            /// Parses a PDU of the engine's peer; returns `None` if the bytes are not one.
            #[inline]
            pub fn decode(&self, bytes: Slice) -> Option<AnyPdu<Slice>> {
                match self {
                    Self::WindowSender(_) | Self::WindowReceiver(_) | Self::ExternalSender(_) => {
                        Wire::decode(bytes).map(AnyPdu::Window)
                    }
                    other => other.decode_other(bytes),
                }
            }

            #[inline(never)]
            fn decode_other(&self, bytes: Slice) -> Option<AnyPdu<Slice>> {
                match self {
                    Self::WindowSender(_) | Self::WindowReceiver(_) | Self::ExternalSender(_) | Self::Vacant => None,
                    $(
                        Self::$Sender(engine) if !engine.wants_pdus() => None,
                        Self::$Sender(_) | Self::$Receiver(_) => {
                            Wire::decode(bytes).map(AnyPdu::$Family)
                        }
                    )+
                    Self::External(engine) => engine.decode(bytes).map(AnyPdu::External),
                    Self::Opener(engine) => engine.engine().decode(bytes),
                    Self::Listener(engine) => engine.engine().decode(bytes),
                }
            }
        }
    };
}
families!(engines);

/// Converts a PDU into the form used by ends with connection establishment.
fn into_handshake_pdu<P: Payload>(pdu: AnyPdu<P>) -> handshake::Pdu<AnyPdu<P>> {
    match pdu {
        AnyPdu::Handshake(control) => handshake::Pdu::Control(control),
        pdu => handshake::Pdu::Engine(pdu),
    }
}

fn from_handshake_pdu<P: Payload>(pdu: handshake::Pdu<AnyPdu<P>>) -> AnyPdu<P> {
    match pdu {
        handshake::Pdu::Control(control) => AnyPdu::Handshake(control),
        handshake::Pdu::Engine(pdu) => pdu,
    }
}

impl<P: Payload> Engine for AnyEngine<P> {
    type Pdu = AnyPdu<P>;
    type Input = Input<AnyPdu<P>, P>;
    type Event = Event<P>;
    type Reason = ();

    fn handle(&mut self, now: Time, input: Self::Input) {
        match input.into_pdu() {
            Ok((pdu, ecn)) => self.receive(now, pdu, ecn),
            Err(command) => self.command(now, command),
        }
    }

    fn poll(&mut self, now: Time) -> AnyOutput<P> {
        Self::poll(self, now)
    }
}

impl<P: Payload> InnerEngine for AnyEngine<P> {
    fn end(&self) -> &dyn End {
        Self::end(self)
    }

    fn end_mut(&mut self) -> Option<&mut dyn End> {
        Self::end_mut(self)
    }
}

// Conversion between bytes and engines without an intermediate generic PDU: the window transport skips the conversion
// to [`AnyPdu`].
impl AnyEngine<Slice> {
    /// Processes a received PDU from its bytes. Returns false if they do not parse.
    #[inline]
    pub fn receive_bytes(&mut self, now: Time, bytes: Slice, ecn: Ecn) -> bool {
        match self {
            Self::WindowSender(engine) => {
                Wire::decode(bytes).map(|pdu| engine.handle(now, Input::Pdu { pdu, ecn })).is_some()
            }
            Self::WindowReceiver(engine) => {
                Wire::decode(bytes).map(|pdu| engine.handle(now, Input::Pdu { pdu, ecn })).is_some()
            }
            other => other.decode(bytes).map(|pdu| other.receive_other(now, pdu, ecn)).is_some(),
        }
    }

    /// Returns the next output at `now`. Appends a PDU to send to `to`, and returns its [codepoint](DataUnit::ecn).
    #[inline]
    #[must_use = "an output that is not acted on is lost"]
    pub fn poll_bytes(&mut self, now: Time, to: &mut Vec<u8>) -> Output<Option<Ecn>, Event<Slice>, ()> {
        match self {
            Self::WindowSender(engine) => encode_output(engine.poll(now), |pdu| pdu.encode(to)),
            Self::WindowReceiver(engine) => encode_output(engine.poll(now), |pdu| pdu.encode(to)),
            other => encode_output(other.poll_other(now), |pdu| pdu.encode(to)),
        }
    }
}

impl<P: Payload> AnyEngine<P> {
    /// Adds connection establishment and teardown to the sender.
    #[must_use]
    pub fn opener(self, config: handshake::Config) -> Self {
        Self::Opener(Box::new(Opener::new(config, self)))
    }

    /// Adds connection establishment and teardown to the receiver.
    #[must_use]
    pub fn listener(self, config: handshake::Config) -> Self {
        Self::Listener(Box::new(Listener::new(config, self)))
    }

    /// Returns true if the end must still complete its connection's teardown, although its peer may know that
    /// everything arrived.
    pub fn lingers(&self) -> bool {
        matches!(self, Self::Listener(engine) if engine.lingers())
    }

    /// Returns true for a sender with only the teardown left to do.
    pub fn is_closing(&self) -> bool {
        matches!(self, Self::Opener(engine) if engine.has_finished())
    }

    /// Returns true for an end with connection establishment and teardown.
    pub const fn has_handshake(&self) -> bool {
        matches!(self, Self::Opener(_) | Self::Listener(_))
    }

    /// Processes a received PDU. Drops a PDU of another family.
    #[inline(always)]
    pub fn receive(&mut self, now: Time, pdu: AnyPdu<P>, ecn: Ecn) {
        match (self, pdu) {
            (Self::WindowSender(engine), AnyPdu::Window(pdu)) => {
                engine.handle(now, Input::Pdu { pdu, ecn });
            }
            (Self::WindowReceiver(engine), AnyPdu::Window(pdu)) => {
                engine.handle(now, Input::Pdu { pdu, ecn });
            }
            (engine, pdu) => engine.receive_other(now, pdu, ecn),
        }
    }

    /// Returns the next output at `now`.
    #[inline(always)]
    #[must_use = "an output that is not acted on is lost"]
    pub fn poll(&mut self, now: Time) -> AnyOutput<P> {
        match self {
            Self::WindowSender(engine) => unify_output(engine.poll(now), AnyPdu::Window),
            Self::WindowReceiver(engine) => unify_output(engine.poll(now), AnyPdu::Window),
            other => other.poll_other(now),
        }
    }

    /// Returns the unsent backlog in bytes ([`End::backlog`]).
    #[inline]
    pub fn backlog(&self) -> u64 {
        if let Self::WindowSender(engine) = self { engine.backlog() } else { self.end().backlog() }
    }

    /// Returns the addresses that the next input will probably access, beside the engine itself, for prefetching.
    #[inline]
    pub fn next_needed(&self) -> Option<[*const u8; 2]> {
        if let Self::WindowSender(engine) = self { engine.next_needed() } else { None }
    }

    /// Reports a PDU that cannot be sent: an engine of another crate fails with its next output. Returns false for
    /// built-in engines, which are trusted.
    pub fn report_violation(&self, kind: ViolationKind) -> bool {
        if let Self::External(engine) = self {
            engine.record_violation(kind);
        }
        matches!(self, Self::External(_))
    }

    /// Resets congestion and round-trip state after a path change. Recreates a built-in controller from `ends`.
    pub fn on_path_change(&mut self, now: Time, ends: &EndpointConfigs) {
        match (self, ends) {
            (Self::WindowSender(engine), EndpointConfigs::Window(config)) => {
                if let Ok(controller) = config.controller.shared() {
                    engine.on_path_change(now, controller);
                }
            }
            (engine, _) => {
                if let Some(end) = engine.end_mut() {
                    end.notify(Notice::NewPath(now));
                }
            }
        }
    }
}
