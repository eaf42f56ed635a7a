//! An engine of any family, as the simulator and the network drive them.

use crate::ends::Ends;
use crate::families::families;
use crate::family::Family;
use crate::own::{Carries, OwnEnd};
use crate::pdu::AnyPdu;
use thalweg_proto::congestion::{Any, MadeSender};
use thalweg_proto::end::End;
use thalweg_proto::handshake::{self, Carried, Listener, Opener};
use thalweg_proto::payload::{Payload, Slice};
use thalweg_proto::pdu::Wire;
use thalweg_proto::random::Stream;
use thalweg_proto::transport::{BreachKind, Command, Event, Input};
use thalweg_proto::units::Time;
use thalweg_proto::window;
use thalweg_proto::{Ecn, Engine, Output};

/// An engine's output without what only people read.
pub type AnyOutput<P> = Output<AnyPdu<P>, Event<P>, ()>;

fn unify<P: Payload, U, V, R>(
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

/// The end of no connection.
#[derive(Debug)]
struct Nobody;

impl End for Nobody {}

/// Something that is done with an engine, whatever its type.
pub trait Visit {
    /// Does it.
    fn visit<T>(&self, engine: &T);
}

macro_rules! engines {
    ($($Family:ident: $Config:ty, $Sender:ident, $Receiver:ident;)+) => {
        /// Any engine. Engines are boxed, so that tables of them stay dense.
        #[derive(Debug)]
        pub enum AnyEngine<P: Payload> {
            /// None: takes nothing, wants nothing.
            Vacant,
            /// A window sender with a controller of the list.
            WindowSender(Box<window::Sender<P, Any>>),
            /// A window receiver.
            WindowReceiver(Box<window::Receiver<P>>),
            /// A window sender with a controller of any type; behind two pointers, the outer of which is as thin as those of the
            /// others.
            CustomSender(Box<Box<dyn window::AnySender<P>>>),
            $(
                #[doc = concat!("The sending end of the family `", stringify!($Family), "`.")]
                $Sender(Box<<$Config as Family>::Sender<P>>),
                #[doc = concat!("The receiving end of the family `", stringify!($Family), "`.")]
                $Receiver(Box<<$Config as Family>::Receiver<P>>),
            )+
            /// Either end of a family of another crate.
            Own(Box<OwnEnd<P>>),
            /// A sending end of any family, in a connection that opens and closes.
            Opener(Box<Opener<AnyEngine<P>>>),
            /// The receiving end of such a connection.
            Listener(Box<Listener<AnyEngine<P>>>),
        }

        impl<P: Carries> AnyEngine<P> {
            /// The sender of a new connection, which draws from `stream` what it [draws](crate::Properties::draws).
            pub fn sender(ends: &Ends, stream: Option<Stream>) -> Self {
                let mut sender = match ends {
                    Ends::Window(config) => {
                        return match config.controller.sender(config.sender.clone(), stream) {
                            MadeSender::Listed(engine) => Self::WindowSender(engine),
                            MadeSender::Custom(engine) => Self::CustomSender(Box::new(engine)),
                        };
                    }
                    $(Ends::$Family(config) => Self::$Sender(Box::new(config.sender())),)+
                    Ends::Own(family) => Self::Own(Box::new(P::own_sender(family))),
                };
                if let (Some(stream), Some(end)) = (stream, sender.end_mut()) {
                    end.draw_from(stream);
                }
                sender
            }

            /// The receiver of a new connection.
            pub fn receiver(ends: &Ends) -> Self {
                match ends {
                    Ends::Window(config) => {
                        Self::WindowReceiver(Box::new(window::Receiver::new(config.receiver.clone())))
                    }
                    $(Ends::$Family(config) => Self::$Receiver(Box::new(config.receiver())),)+
                    Ends::Own(family) => Self::Own(Box::new(P::own_receiver(family))),
                }
            }
        }

        impl<P: Payload> AnyEngine<P> {
            // Other families are in functions of their own: inlined, they would crowd out the window transport, which most
            // packets are of.

            #[inline(never)]
            fn receive_other(&mut self, now: Time, pdu: AnyPdu<P>, ecn: Ecn) {
                match (self, pdu) {
                    (Self::CustomSender(engine), AnyPdu::Window(pdu)) => {
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
                    (Self::Own(engine), AnyPdu::Own(pdu)) => engine.receive(now, pdu, ecn),
                    (Self::Opener(engine), pdu) => engine.handle(now, Input::Pdu { pdu: told_apart(pdu), ecn }),
                    (Self::Listener(engine), pdu) => {
                        engine.handle(now, Input::Pdu { pdu: told_apart(pdu), ecn });
                    }
                    (engine, AnyPdu::Feedback(feedback)) => {
                        engine.command(now, Input::Feedback(feedback));
                    }
                    _ => {}
                }
            }

            /// Takes an input of the application or a gate.
            #[inline(never)]
            pub fn command(&mut self, now: Time, command: Command<P>) {
                match self {
                    Self::WindowSender(engine) => engine.handle(now, command.into_input()),
                    Self::WindowReceiver(engine) => engine.handle(now, command.into_input()),
                    Self::CustomSender(engine) => engine.handle(now, command.into_input()),
                    $(
                        Self::$Sender(engine) => engine.handle(now, command.into_input()),
                        Self::$Receiver(engine) => engine.handle(now, command.into_input()),
                    )+
                    Self::Own(engine) => engine.command(now, command),
                    Self::Opener(engine) => engine.handle(now, command.into_input()),
                    Self::Listener(engine) => engine.handle(now, command.into_input()),
                    Self::Vacant => {}
                }
            }

            #[inline(never)]
            fn poll_other(&mut self, now: Time) -> AnyOutput<P> {
                match self {
                    Self::CustomSender(engine) => unify(engine.poll(now), AnyPdu::Window),
                    $(
                        Self::$Sender(engine) => unify(engine.poll(now), AnyPdu::$Family),
                        Self::$Receiver(engine) => unify(engine.poll(now), AnyPdu::$Family),
                    )+
                    Self::Own(engine) => unify(engine.poll(now), AnyPdu::Own),
                    Self::Opener(engine) => unify(engine.poll(now), put_together),
                    Self::Listener(engine) => unify(engine.poll(now), put_together),
                    Self::WindowSender(_) | Self::WindowReceiver(_) | Self::Vacant => Output::Idle,
                }
            }

            /// The engine's answers to what drivers ask beside feeding and draining it.
            pub fn end(&self) -> &dyn End {
                match self {
                    Self::Vacant => &Nobody,
                    Self::WindowSender(engine) => engine.as_ref(),
                    Self::WindowReceiver(engine) => engine.as_ref(),
                    Self::CustomSender(engine) => engine.as_ref(),
                    $(
                        Self::$Sender(engine) => engine.as_ref(),
                        Self::$Receiver(engine) => engine.as_ref(),
                    )+
                    Self::Own(engine) => engine.as_ref(),
                    Self::Opener(engine) => engine.engine().end(),
                    Self::Listener(engine) => engine.engine().end(),
                }
            }

            /// The same, to be changed; `None` where there is no engine.
            pub fn end_mut(&mut self) -> Option<&mut dyn End> {
                Some(match self {
                    Self::Vacant => return None,
                    Self::WindowSender(engine) => engine.as_mut(),
                    Self::WindowReceiver(engine) => engine.as_mut(),
                    Self::CustomSender(engine) => engine.as_mut(),
                    $(
                        Self::$Sender(engine) => engine.as_mut(),
                        Self::$Receiver(engine) => engine.as_mut(),
                    )+
                    Self::Own(engine) => engine.as_mut(),
                    Self::Opener(engine) => return engine.engine_mut().end_mut(),
                    Self::Listener(engine) => return engine.engine_mut().end_mut(),
                })
            }

            /// Does something with the engine itself, where its type is known.
            #[inline]
            pub fn visit(&self, visit: &impl Visit) {
                match self {
                    Self::WindowSender(engine) => visit.visit(engine.as_ref()),
                    Self::WindowReceiver(engine) => visit.visit(engine.as_ref()),
                    $(
                        Self::$Sender(engine) => visit.visit(engine.as_ref()),
                        Self::$Receiver(engine) => visit.visit(engine.as_ref()),
                    )+
                    Self::CustomSender(_)
                    | Self::Own(_)
                    | Self::Opener(_)
                    | Self::Listener(_)
                    | Self::Vacant => {}
                }
            }
        }

        impl AnyEngine<Slice> {
            /// Reads a PDU that the engine's peer may have sent; `None` where the bytes are none.
            #[inline]
            pub fn decode(&self, bytes: Slice) -> Option<AnyPdu<Slice>> {
                match self {
                    Self::WindowSender(_) | Self::WindowReceiver(_) | Self::CustomSender(_) => {
                        Wire::decode(bytes).map(AnyPdu::Window)
                    }
                    other => other.decode_other(bytes),
                }
            }

            #[inline(never)]
            fn decode_other(&self, bytes: Slice) -> Option<AnyPdu<Slice>> {
                match self {
                    Self::WindowSender(_) | Self::WindowReceiver(_) | Self::CustomSender(_) | Self::Vacant => None,
                    $(
                        Self::$Sender(engine) if !engine.wants_pdus() => None,
                        Self::$Sender(_) | Self::$Receiver(_) => {
                            Wire::decode(bytes).map(AnyPdu::$Family)
                        }
                    )+
                    Self::Own(engine) => engine.decode(bytes).map(AnyPdu::Own),
                    Self::Opener(engine) => engine.engine().decode(bytes),
                    Self::Listener(engine) => engine.engine().decode(bytes),
                }
            }
        }
    };
}
families!(engines);

/// A PDU as the ends of a connection that opens and closes take it.
fn told_apart<P: Payload>(pdu: AnyPdu<P>) -> handshake::Pdu<AnyPdu<P>> {
    match pdu {
        AnyPdu::Handshake(control) => handshake::Pdu::Control(control),
        pdu => handshake::Pdu::Engine(pdu),
    }
}

fn put_together<P: Payload>(pdu: handshake::Pdu<AnyPdu<P>>) -> AnyPdu<P> {
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

impl<P: Payload> Carried for AnyEngine<P> {
    fn end(&self) -> &dyn End {
        Self::end(self)
    }

    fn end_mut(&mut self) -> Option<&mut dyn End> {
        Self::end_mut(self)
    }
}

// Between bytes and engines, without a PDU that somebody else could look at: those of the window transport need not be made of
// any family then.
impl AnyEngine<Slice> {
    /// A PDU came, as these bytes. False where they are none.
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

    /// The next thing to do at `now`. A PDU that is to be sent is appended to `to`.
    #[inline]
    #[must_use = "an output that is not acted on is lost"]
    pub fn poll_bytes(&mut self, now: Time, to: &mut Vec<u8>) -> Output<(), Event<Slice>, ()> {
        match self {
            Self::WindowSender(engine) => unify(engine.poll(now), |pdu| pdu.encode(to)),
            Self::WindowReceiver(engine) => unify(engine.poll(now), |pdu| pdu.encode(to)),
            other => unify(other.poll_other(now), |pdu| pdu.encode(to)),
        }
    }
}

impl<P: Payload> AnyEngine<P> {
    /// The same sender, which opens its connection and closes it.
    #[must_use]
    pub fn opener(self, config: handshake::Config) -> Self {
        Self::Opener(Box::new(Opener::new(config, self)))
    }

    /// The same receiver, which answers that.
    #[must_use]
    pub fn listener(self, config: handshake::Config) -> Self {
        Self::Listener(Box::new(Listener::new(config, self)))
    }

    /// True for an end that has to see to the closing of its connection, although its peer may know that everything arrived.
    pub fn lingers(&self) -> bool {
        matches!(self, Self::Listener(engine) if engine.lingers())
    }

    /// True for a sender that has nothing left to do but to close its connection.
    pub fn is_closing(&self) -> bool {
        matches!(self, Self::Opener(engine) if engine.has_finished())
    }

    /// True for an end of a connection that opens and closes.
    pub const fn has_handshake(&self) -> bool {
        matches!(self, Self::Opener(_) | Self::Listener(_))
    }

    /// A PDU arrived. One that the engine does not speak is dropped.
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

    /// The next thing to do at `now`.
    #[inline(always)]
    #[must_use = "an output that is not acted on is lost"]
    pub fn poll(&mut self, now: Time) -> AnyOutput<P> {
        match self {
            Self::WindowSender(engine) => unify(engine.poll(now), AnyPdu::Window),
            Self::WindowReceiver(engine) => unify(engine.poll(now), AnyPdu::Window),
            other => other.poll_other(now),
        }
    }

    /// The bytes that wait to be sent ([`End::backlog`]).
    #[inline]
    pub fn backlog(&self) -> u64 {
        if let Self::WindowSender(engine) = self { engine.backlog() } else { self.end().backlog() }
    }

    /// The places in memory that the next input will probably need, beside the engine itself.
    #[inline]
    pub fn next_needed(&self) -> Option<[*const u8; 2]> {
        if let Self::WindowSender(engine) = self { engine.next_needed() } else { None }
    }

    /// A PDU of the engine cannot be sent: an engine of another crate fails with its next output. False for those of this project,
    /// which are trusted.
    pub fn blame(&self, kind: BreachKind) -> bool {
        if let Self::Own(engine) = self {
            engine.blame(kind);
        }
        matches!(self, Self::Own(_))
    }

    /// The peer is reached over another path from now on: what was learnt of congestion and round trips is forgotten. A listed
    /// controller is made anew as `ends` says.
    pub fn renew(&mut self, now: Time, ends: &Ends) {
        match (self, ends) {
            (Self::WindowSender(engine), Ends::Window(config)) => {
                if let Ok(controller) = Any::new(&config.controller) {
                    engine.renew(now, controller);
                }
            }
            (engine, _) => {
                if let Some(end) = engine.end_mut() {
                    end.renew(now);
                }
            }
        }
    }
}
