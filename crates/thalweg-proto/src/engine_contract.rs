//! The contract between an engine and its driver.

use crate::units::Time;

/// A state machine that a driver feeds with inputs and drains of outputs.
///
/// # The contract
///
/// 1. **Mutate, then drain.** After [`handle`](Engine::handle) the driver calls [`poll`](Engine::poll) until it returns
///    [`Output::Timeout`] or [`Output::Idle`]. Each earlier output is one action to perform.
/// 2. **Time is handed in and never goes back.** `now` is at least the `now` of every earlier call to the same engine.
///    The engine has no other source of time.
/// 3. **A timeout obliges the driver to poll again** at that time or later, unless an input comes first. It replaces
///    the timeout announced earlier. There is no timeout input: `poll(now)` acts on everything that is due.
/// 4. **Spurious polls are harmless.** A poll before the announced time has no observable effect and returns the same
///    timeout again.
/// 5. **Every due timeout makes progress.** A poll at the announced time gives a transmission, an event, or a later
///    timeout; never the same one again. An engine can therefore not spin.
/// 6. **Back-pressure is applied by not polling.** A driver may stop after any [`Output::Transmit`] and continue later,
///    with inputs in between. Outputs not yet polled stay due. The engine chooses the next PDU at each poll, so a PDU
///    is never older than its poll.
/// 7. **No PDU of a peer can do harm.** Any PDU in any order is answered by progress or by being counted and dropped;
///    never by a panic, a loop, or memory beyond the configured bounds.
///
/// The contract is tested for every engine by the harness in `tests/it/engine_contract.rs`.
pub trait Engine {
    /// PDU exchanged between this engine and its peer.
    type Pdu;
    /// Input from the driver to the engine.
    type Input;
    /// Event that the engine reports to the application.
    type Event;
    /// Reason for a requested timeout.
    type Reason: Copy + core::fmt::Debug;

    /// Takes one input. Never blocks and never fails: unusable input is counted and dropped.
    fn handle(&mut self, now: Time, input: Self::Input);

    /// Returns the next action at `now`.
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

/// An action that an engine requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output<Pdu, Event, Reason> {
    /// Send this PDU.
    Transmit(Pdu),
    /// Report this event to the application.
    Event(Event),
    /// Drained. Poll again at `at`, unless an input comes before; `reason` is informational.
    Timeout {
        /// Time of the requested poll; later than the `now` of this poll.
        at: Time,
        /// Reason for the requested poll.
        reason: Reason,
    },
    /// Drained. No further action until the next input.
    Idle,
}
