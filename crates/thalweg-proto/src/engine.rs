//! The contract between an engine and its driver.

use crate::units::Time;

/// A state machine that a driver feeds with inputs and drains of outputs.
///
/// # The contract
///
/// 1. **Mutate, then drain.** After [`handle`](Engine::handle) the driver calls [`poll`](Engine::poll) until it
///    answers [`Output::Timeout`] or [`Output::Idle`]. Each answer before that is one thing to do.
/// 2. **Time is handed in and never goes back.** `now` is at least the `now` of every earlier call to the same
///    engine. Nothing else tells an engine the time.
/// 3. **A time-out is a promise of the driver to poll again** at that time or later, if no input has come before.
///    It replaces the one announced earlier. There is no input for it: `poll(now)` acts on whatever is due.
/// 4. **Spurious polls are harmless.** A poll before the announced time changes nothing that can be observed and
///    answers with the same time-out again.
/// 5. **Every due time-out makes progress.** A poll at the announced time gives a transmission, an event, or a
///    later time-out; never the same one again. An engine can therefore not spin.
/// 6. **A wire that is busy is respected by not polling.** A driver may stop after any [`Output::Transmit`] and go
///    on later, with inputs in between. What was not yet polled stays due; the engine decides afresh what is best
///    to send then, so a PDU is never older than the moment it was asked for.
/// 7. **Nothing that a peer sends can hurt.** Any PDU in any order is answered by progress or by being counted and
///    dropped; never by a panic, a loop, or memory beyond the configured bounds.
///
/// The contract is tested for every engine by the harness in `tests/contract.rs`.
pub trait Engine {
    /// The packets that travel between this engine and its peer.
    type Pdu;
    /// The inputs that the driver gives the engine.
    type Input;
    /// The events that the engine reports to the application.
    type Event;
    /// The reasons for which the engine wants to be called again.
    type Reason: Copy + core::fmt::Debug;

    /// Takes one input. Never blocks and never fails: what cannot be used is counted and dropped.
    fn handle(&mut self, now: Time, input: Self::Input);

    /// The next thing to do at `now`.
    #[must_use = "an output that is not acted on is lost"]
    fn poll(&mut self, now: Time) -> Output<Self::Pdu, Self::Event, Self::Reason>;
}

impl<E: Engine + ?Sized> Engine for Box<E> {
    type Pdu = E::Pdu;
    type Input = E::Input;
    type Event = E::Event;
    type Reason = E::Reason;

    #[inline]
    fn handle(&mut self, now: Time, input: Self::Input) {
        (**self).handle(now, input);
    }

    #[inline]
    fn poll(&mut self, now: Time) -> Output<Self::Pdu, Self::Event, Self::Reason> {
        (**self).poll(now)
    }
}

/// An action that an engine asks for next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output<Pdu, Event, Reason> {
    /// Put this on the wire.
    Transmit(Pdu),
    /// Tell the application.
    Event(Event),
    /// Drained. Poll again at `at`, unless an input comes before; `reason` is for people.
    Timeout {
        /// The time at which to poll; later than the `now` of this poll.
        at: Time,
        /// The reason for which the engine wants to be polled then.
        reason: Reason,
    },
    /// Drained. Nothing will happen until the next input.
    Idle,
}
