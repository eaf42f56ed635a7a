//! Optional state of a receiver (rLEDBAT, misbehaviour), allocated separately to keep other receivers small.

use super::ReceiverConfig;
use super::misbehaving_receiver::Misbehaving;
use super::rledbat::Background;
use super::unreported_ranges::Unreported;
use crate::payload::Payload;

/// Rarely used state of a receiver.
#[derive(Clone, Debug)]
pub(super) struct OptionalState<P: Payload> {
    /// LEDBAT++ at the receiver, as a second limit of the advertised window.
    pub background: Option<Background>,
    /// State of a misbehaving receiver.
    pub misbehaving: Option<Misbehaving<P>>,
    /// Received ranges that did not fit into an acknowledgement.
    pub unreported: Unreported,
}

impl<P: Payload> OptionalState<P> {
    /// Creates the state that the configuration needs, if any.
    pub fn new(config: &ReceiverConfig) -> Option<Box<Self>> {
        let background = config.background.as_ref().map(Background::new);
        let misbehaving = config.misbehaviour.map(Misbehaving::new);
        let is_any = background.is_some() || misbehaving.is_some();
        is_any.then(|| Box::new(Self { background, misbehaving, ..Self::default() }))
    }
}

impl<P: Payload> Default for OptionalState<P> {
    fn default() -> Self {
        Self { background: None, misbehaving: None, unreported: Unreported::default() }
    }
}
