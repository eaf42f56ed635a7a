//! A gate at a sending node: selects the flows that may send, by priority (Yang and Fu 2001).
//!
//! A gate needs no support from the network. The node reports the start and end of flows, congestion signals and
//! transmissions; the gate returns the flows to pause and to resume. It keeps only its own state, so it works with any
//! mix of protocols; the state of a paused flow is left to the flow.
//!
//! - [`CongestionGate`]: all flows send until there is congestion; then priorities are stopped from the lowest up.
//! - [`SlotGate`]: one flow sends at a time, for a turn whose length depends on its priority.
//!
//! [`Gate`] is either, as selected by a [`GateConfig`]. Priorities range from 1, the highest, to [`LOWEST_PRIORITY`].

mod congestion_gate;
mod dscp_marking;
mod priority_ageing;
#[cfg(test)]
mod tests;
mod time_slot_gate;

pub use congestion_gate::{CongestionGate, CongestionGateConfig, Signals};
pub use dscp_marking::Marking;
pub use time_slot_gate::{SlotGate, SlotGateConfig};

use crate::engine_contract::{Engine, Output};
use crate::transport::Signal;
use crate::units::{Duration, Time};
use core::convert::Infallible;
use std::collections::VecDeque;

/// The lowest priority.
pub const LOWEST_PRIORITY: u8 = 6;

/// An input of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateInput {
    /// A flow of the node begins. A known flow is unchanged.
    Join {
        /// Number of the flow at this node.
        flow: u32,
        /// Priority, clamped to the valid range.
        priority: u8,
    },
    /// A flow has ended.
    Leave {
        /// The flow's number.
        flow: u32,
    },
    /// A flow met a congestion signal.
    Congestion {
        /// The flow's number.
        flow: u32,
        /// Kind of signal.
        signal: Signal,
    },
    /// The node's own queue dropped a packet.
    LocalDrop,
    /// A flow sent data.
    Sent {
        /// The flow's number.
        flow: u32,
    },
}

/// An action requested by a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateEvent {
    /// Stop this flow from sending data.
    Pause(u32),
    /// Allow this flow to send again.
    Resume(u32),
}

/// Cause of a gate timer expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateReason {
    /// The next check of a congestion gate.
    Check,
    /// The end of a turn.
    Turn,
    /// The end of a slot that expires the token of an idle flow.
    Slot,
    /// A waiting flow is due for a raise.
    Age,
}

/// The priority of a raised flow after its service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AfterService {
    /// The flow's own priority.
    #[default]
    FallsBack,
    /// The raised priority.
    Stays,
}

/// Ageing: raises the priority of flows that wait for long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ageing {
    /// Waiting time per raise of one priority, above zero. `None` disables ageing.
    pub after: Option<Duration>,
    /// Priority of a raised flow once it has been served.
    pub then: AfterService,
}

/// The kind of gate, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateConfig {
    /// A congestion gate.
    Congestion(CongestionGateConfig),
    /// Time slots.
    Slots(SlotGateConfig),
}

impl GateConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// Returns the name of the first duration or number of slots that is zero.
    pub fn check(&self) -> Result<(), &'static str> {
        let (span, name, ageing) = match self {
            Self::Congestion(config) => (config.check, "check", config.ageing),
            Self::Slots(config) => (config.slot, "slot", config.ageing),
        };
        if span.is_zero() {
            return Err(name);
        }
        if let Self::Slots(config) = self
            && config.slots.contains(&0)
        {
            return Err("slots");
        }
        if ageing.after.is_some_and(Duration::is_zero) { Err("ageing") } else { Ok(()) }
    }
}

/// A gate of either kind.
#[derive(Clone, Debug)]
pub enum Gate {
    /// A congestion gate.
    Congestion(CongestionGate),
    /// Time slots.
    Slots(SlotGate),
}

impl Gate {
    /// Creates the gate of `config`, without flows. Zero values of a config that fails its check are replaced by the
    /// minimum.
    pub fn new(config: &GateConfig) -> Self {
        match config {
            GateConfig::Congestion(config) => Self::Congestion(CongestionGate::new(*config)),
            GateConfig::Slots(config) => Self::Slots(SlotGate::new(*config)),
        }
    }

    /// Returns true if the gate needs [`GateInput::Sent`].
    pub fn follows_data(&self) -> bool {
        matches!(self, Self::Slots(gate) if gate.follows_data())
    }

    /// Returns true if this flow may send.
    pub fn is_open(&self, flow: u32) -> bool {
        match self {
            Self::Congestion(gate) => gate.is_open(flow),
            Self::Slots(gate) => gate.is_open(flow),
        }
    }
}

/// The output of a gate.
pub type GateOutput = Output<Infallible, GateEvent, GateReason>;

impl Engine for Gate {
    type Pdu = Infallible;
    type Input = GateInput;
    type Event = GateEvent;
    type Reason = GateReason;

    fn handle(&mut self, now: Time, input: GateInput) {
        match self {
            Self::Congestion(gate) => gate.handle(now, input),
            Self::Slots(gate) => gate.handle(now, input),
        }
    }

    fn poll(&mut self, now: Time) -> GateOutput {
        match self {
            Self::Congestion(gate) => gate.poll(now),
            Self::Slots(gate) => gate.poll(now),
        }
    }
}

/// Returns the next event, or the time of the next poll.
fn next_output(events: &mut VecDeque<GateEvent>, timer: Option<(Time, GateReason)>) -> GateOutput {
    if let Some(event) = events.pop_front() {
        return Output::Event(event);
    }
    timer.map_or(Output::Idle, |(at, reason)| Output::Timeout { at, reason })
}
