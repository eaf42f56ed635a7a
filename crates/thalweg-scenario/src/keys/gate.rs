//! Gates of nodes.

use super::super::diagnostic::Report;
use super::super::schema::Definitions;
use super::super::table::{At, Decode, choice, table};
use super::super::tree::Value;
use super::Interval;
use super::scheme::words;
use serde_json::json;
use thalweg_proto::gate::{AfterService, Signals};
use thalweg_proto::units::Duration;
use thalweg_sim::spec::LOWEST_PRIORITY;

table! {
    /// All flows send until there is congestion; then priorities are stopped from the lowest up (Yang and Fu 2001).
    CongestionGate "congestion gate" {
        /// How often is decided.
        check: Duration = "check" or r#""500 ms""#;
        /// Which signs of congestion count: "all", "losses" (time-outs and third duplicates) or "timeouts".
        signals: SignalsName = "signals" or r#""all""#;
        /// The highest priority present may be stopped too, as the published times need it.
        stops_highest: bool = "stops-highest" or "false";
        /// The retransmission timers of stopped flows run on ("running") or stand still ("frozen").
        timers: TimersName = "timers" or r#""running""#;
        ..shared: GateKeys;
    }
}

table! {
    /// One flow sends at a time, for a turn that its priority decides (Yang and Fu 2001).
    SlotGate "slots gate" {
        /// How long a slot is.
        slot: Duration = "slot" or r#""10 ms""#;
        /// How many slots a turn has, for each of the six priorities from the highest.
        slots: Turns = "slots" or "[256, 128, 64, 32, 16, 8]";
        /// The token is passed on when its holder has sent nothing for a slot.
        work_conserving: bool = "work-conserving" or "false";
        /// The retransmission timers of flows without the token stand still ("frozen") or run on ("running").
        timers: TimersName = "timers" or r#""frozen""#;
        ..shared: GateKeys;
    }
}

table! {
    /// What all gates have.
    GateKeys "gate" {
        /// A flow that has waited for so long moves up by one priority; "off" is no ageing.
        ageing: Interval = "ageing" or r#""off""#;
        /// Once served, a flow that has moved up "falls-back" to its own priority, or "stays".
        after_service: AfterServiceName = "after-service" or r#""falls-back""#;
        /// What a flow with data on its way does when it may send again: goes on "at-once", or waits for an
        /// acknowledgement or its timer ("at-timer").
        resume: ResumeName = "resume" or r#""at-once""#;
    }
}

/// The slots of a turn for each priority, from the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns(pub [u32; LOWEST_PRIORITY as usize]);

impl Decode for Turns {
    fn expected() -> String {
        format!("a list of {LOWEST_PRIORITY} whole numbers")
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        let errors = report.errors();
        let given = Vec::<At<u32>>::decode(value, report)?;
        let counts: Vec<u32> = given.iter().map(|at| at.value).collect();
        let slots = counts.try_into().ok();
        // What is wrong with one of them has been said.
        if slots.is_none() && report.errors() == errors {
            let message = format!("{} numbers of slots for six priorities", given.len());
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
    /// Which of the flows that begin at a node may send.
    GateTable "gate" by "kind" {
        "congestion" => Congestion(CongestionGate),
        "slots" => Slots(SlotGate),
    }
}

words! {
    /// The signs of congestion that count, by their word.
    SignalsName: Signals {
        "all" => Signals::All,
        "losses" => Signals::Losses,
        "timeouts" => Signals::Timeouts,
    }
}

words! {
    /// The fate of a flow that has moved up, by its word.
    AfterServiceName: AfterService {
        "falls-back" => AfterService::FallsBack,
        "stays" => AfterService::Stays,
    }
}

words! {
    /// True if the timers of stopped flows stand still, by its word.
    TimersName: bool {
        "running" => false,
        "frozen" => true,
    }
}

words! {
    /// True if a flow that may send again waits for its timer, by its word.
    ResumeName: bool {
        "at-once" => false,
        "at-timer" => true,
    }
}
