//! Keys of gates, the admission control of nodes.

use super::super::diagnostic::Report;
use super::super::parsed_tree::Value;
use super::super::schema_definitions::Definitions;
use super::super::table_declarations::{Decode, Spanned, choice, table};
use super::super::value_types::Interval;
use super::scheme::words;
use serde_json::json;
use thalweg_proto::gate::{AfterService, Marking, Signals};
use thalweg_proto::units::Duration;
use thalweg_sim::simulation_spec::LOWEST_PRIORITY;

table! {
    /// Congestion gate (Yang and Fu 2001): all flows send until congestion occurs; then priorities are stopped, the
    /// lowest first.
    CongestionGate "congestion gate" {
        /// The interval between decisions.
        check: Duration = "check" or r#""500 ms""#;
        /// The congestion signals that count: "timeouts", "losses" (timeouts and losses found by acknowledgements) or "all"
        /// (also marks, router feedback and drops of the node's own queue).
        signals: SignalsName = "signals" or r#""all""#;
        /// Lets the gate stop the highest priority present too, as the published times require.
        stops_highest: bool = "stops-highest" or "false";
        /// The retransmission timers of stopped flows: "running" or "frozen".
        timers: TimersName = "timers" or r#""running""#;
        ..shared: GateKeys;
    }
}

table! {
    /// Slots gate (Yang and Fu 2001): one flow sends at a time, for a turn whose length depends on its priority.
    SlotGate "slots gate" {
        /// The length of a slot.
        slot: Duration = "slot" or r#""10 ms""#;
        /// The number of slots in a turn, for each of the six priorities from the highest.
        slots: Turns = "slots" or "[256, 128, 64, 32, 16, 8]";
        /// Passes the token on when its holder has sent nothing for a slot.
        work_conserving: bool = "work-conserving" or "false";
        /// The retransmission timers of flows without the token: "frozen" or "running".
        timers: TimersName = "timers" or r#""frozen""#;
        ..shared: GateKeys;
    }
}

table! {
    /// Keys shared by all gates.
    GateKeys "gate" {
        /// The waiting time after which a flow moves up by one priority; "off" for no ageing.
        ageing: Interval = "ageing" or r#""off""#;
        /// The priority of an aged flow once served: "falls-back" returns to its own priority, "stays" keeps the higher
        /// one.
        after_service: AfterServiceName = "after-service" or r#""falls-back""#;
        /// The behaviour of a flow with data in flight when it may send again: it continues "at-once", or waits for an
        /// acknowledgement or its timer ("at-timer").
        resume: ResumeName = "resume" or r#""at-once""#;
        /// The acknowledgements that arrive for a stopped flow of a window transport: they "pass", or the gate stops
        /// them too ("stopped").
        acks: AcksName = "acks" or r#""pass""#;
        /// In a live network, the priority in the DSCP of packets that no `match` assigns to a flow: "class" reads the
        /// class selector, 5 and above for the highest; "six-bits" has a bit for each priority, the leftmost for the
        /// highest (Yang and Fu 2001). Packets of simulations carry the priority of their flow.
        marking: MarkingName = "marking" or r#""class""#;
    }
}

/// The number of slots in a turn for each priority, from the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns(pub [u32; LOWEST_PRIORITY as usize]);

impl Decode for Turns {
    fn expected() -> String {
        format!("a list of {LOWEST_PRIORITY} whole numbers")
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let errors = report.errors();
        let slot_counts = Vec::<Spanned<u32>>::decode(value, report)?;
        let counts: Vec<u32> = slot_counts.iter().map(|at| at.value).collect();
        let slots = counts.try_into().ok();
        // An invalid element has already been reported.
        if slots.is_none() && report.errors() == errors {
            let message = format!("{} numbers of slots for six priorities", slot_counts.len());
            report
                .error("scenario.range", value.span, message)
                .help("without `slots` they are [256, 128, 64, 32, 16, 8]");
        }
        slots.map(Self)
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let items = u32::schema(definitions);
        json!({ "type": "array", "items": items, "minItems": LOWEST_PRIORITY, "maxItems": LOWEST_PRIORITY })
    }
}

choice! {
    /// A gate: admission control for the flows that start at a node.
    GateTable "gate" by "kind" {
        "congestion" => Congestion(CongestionGate),
        "slots" => Slots(SlotGate),
    }
}

words! {
    /// The congestion signals that count, by name.
    SignalsName: Signals {
        "all" => Signals::All,
        "losses" => Signals::Losses,
        "timeouts" => Signals::Timeouts,
    }
}

words! {
    /// The priority of an aged flow once served, by name.
    AfterServiceName: AfterService {
        "falls-back" => AfterService::FallsBack,
        "stays" => AfterService::Stays,
    }
}

words! {
    /// The timers of stopped flows by name; true if they are frozen.
    TimersName: bool {
        "running" => false,
        "frozen" => true,
    }
}

words! {
    /// The coding of priorities in the DSCP, by name.
    MarkingName: Marking {
        "class" => Marking::Class,
        "six-bits" => Marking::SixBits,
    }
}

words! {
    /// The acknowledgements for stopped flows by name; true if the gate stops them.
    AcksName: bool {
        "pass" => false,
        "stopped" => true,
    }
}

words! {
    /// The resumption of a stopped flow by name; true if it waits for its timer.
    ResumeName: bool {
        "at-once" => false,
        "at-timer" => true,
    }
}
