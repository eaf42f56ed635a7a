//! Wrapper that alters an engine's PDUs on the way in or out: fault injection without a switch in the engine.

use core::hash::{Hash, Hasher};
use thalweg_explore::Tag;
use thalweg_proto::state_digest::Digest;
use thalweg_proto::transport::{Event, Input};
use thalweg_proto::units::Time;
use thalweg_proto::{Engine, Output};

/// Treatment of a PDU: unchanged, altered, or `None` to drop it. Its memory is part of the state.
pub type Bend<E, P> = fn(&E, &mut Vec<u64>, P) -> Option<P>;

/// Engine with altered PDUs.
#[derive(Clone)]
pub struct Bent<E: Engine> {
    pub inner: E,
    memory: Vec<u64>,
    on_receive: Bend<E, E::Pdu>,
    on_send: Bend<E, E::Pdu>,
}

impl<E: Engine> Bent<E> {
    pub fn new(inner: E, on_receive: Bend<E, E::Pdu>, on_send: Bend<E, E::Pdu>) -> Self {
        Self { inner, memory: Vec::new(), on_receive, on_send }
    }

    pub fn memory(&self) -> &[u64] {
        &self.memory
    }
}

/// Passes the PDU unchanged.
pub fn pass_unchanged<E, P>(_: &E, _: &mut Vec<u64>, pdu: P) -> Option<P> {
    Some(pdu)
}

impl<E: Engine<Input = Input<<E as Engine>::Pdu, Tag>, Event = Event<Tag>>> Engine for Bent<E> {
    type Pdu = E::Pdu;
    type Input = E::Input;
    type Event = E::Event;
    type Reason = E::Reason;

    fn handle(&mut self, now: Time, input: Self::Input) {
        let input = match input {
            Input::Pdu { pdu, ecn } => match (self.on_receive)(&self.inner, &mut self.memory, pdu) {
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
                    if let Some(pdu) = (self.on_send)(&self.inner, &mut self.memory, pdu) {
                        return Output::Transmit(pdu);
                    }
                }
                output => return output,
            }
        }
    }
}

impl<E: Engine + Digest> Digest for Bent<E> {
    fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        self.inner.feed_state(now, into);
        self.memory.hash(into);
    }
}
