//! An engine whose PDUs are bent on the way in or out: how engines are broken on purpose without a switch in them.
#![allow(dead_code)]

use core::hash::{Hash, Hasher};
use thalweg_explore::Tag;
use thalweg_proto::digest::Digest;
use thalweg_proto::transport::{Event, Input};
use thalweg_proto::units::Time;
use thalweg_proto::{Engine, Output};

/// A treatment of a PDU: nothing, a change, or `None` to drop it. What it keeps in mind is part of the state.
pub type Bend<E, P> = fn(&E, &mut Vec<u64>, P) -> Option<P>;

/// The engine within.
#[derive(Clone)]
pub struct Bent<E: Engine> {
    pub inner: E,
    memory: Vec<u64>,
    hear: Bend<E, E::Pdu>,
    say: Bend<E, E::Pdu>,
}

impl<E: Engine> Bent<E> {
    pub fn new(inner: E, hear: Bend<E, E::Pdu>, say: Bend<E, E::Pdu>) -> Self {
        Self { inner, memory: Vec::new(), hear, say }
    }

    pub fn memory(&self) -> &[u64] {
        &self.memory
    }
}

/// As it is.
pub fn straight<E, P>(_: &E, _: &mut Vec<u64>, pdu: P) -> Option<P> {
    Some(pdu)
}

impl<E: Engine<Input = Input<<E as Engine>::Pdu, Tag>, Event = Event<Tag>>> Engine for Bent<E> {
    type Pdu = E::Pdu;
    type Input = E::Input;
    type Event = E::Event;
    type Reason = E::Reason;

    fn handle(&mut self, now: Time, input: Self::Input) {
        let input = match input {
            Input::Pdu { pdu, ecn } => match (self.hear)(&self.inner, &mut self.memory, pdu) {
                Some(pdu) => Input::Pdu { pdu, ecn },
                None => return,
            },
            input => input,
        };
        self.inner.handle(now, input);
    }

    fn poll(&mut self, now: Time) -> Output<Self::Pdu, Self::Event, Self::Reason> {
        loop {
            match self.inner.poll(now) {
                Output::Transmit(pdu) => {
                    if let Some(pdu) = (self.say)(&self.inner, &mut self.memory, pdu) {
                        return Output::Transmit(pdu);
                    }
                }
                output => return output,
            }
        }
    }
}

impl<E: Engine + Digest> Digest for Bent<E> {
    fn digest<H: Hasher>(&self, now: Time, into: &mut H) {
        self.inner.digest(now, into);
        self.memory.hash(into);
    }
}
