//! The parts of a receiver that few have: beside the others, so that those without are small.

use super::ReceiverConfig;
use super::background::Background;
use super::misbehaving::Misbehaving;
use super::unreported::Unreported;
use crate::payload::Payload;

/// The parts that few receivers have.
#[derive(Clone, Debug)]
pub(super) struct Special<P: Payload> {
    /// LEDBAT++ at this end, where it holds the sender back beside the window.
    pub background: Option<Background>,
    /// The state of one that acts against the rules.
    pub misbehaving: Option<Misbehaving<P>>,
    /// Runs that an acknowledgement has had no room for.
    pub unreported: Unreported,
}

impl<P: Payload> Special<P> {
    /// Those of a receiver, if it has any.
    pub fn new(config: &ReceiverConfig) -> Option<Box<Self>> {
        let background = config.background.as_ref().map(Background::new);
        let misbehaving = config.misbehaviour.map(Misbehaving::new);
        let is_any = background.is_some() || misbehaving.is_some();
        is_any.then(|| Box::new(Self { background, misbehaving, ..Self::default() }))
    }
}

impl<P: Payload> Default for Special<P> {
    fn default() -> Self {
        Self { background: None, misbehaving: None, unreported: Unreported::default() }
    }
}
