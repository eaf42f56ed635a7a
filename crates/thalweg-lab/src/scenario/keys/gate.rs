//! Gates of nodes.

use super::super::table::{At, choice, table};
use super::Interval;
use super::scheme::words;
use thalweg_proto::gate::{AfterService, Signals};
use thalweg_proto::units::Duration;

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
        slots: Vec<At<u32>> = "slots" or "[256, 128, 64, 32, 16, 8]";
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

choice! {
    /// Which of the flows that begin at a node may send.
    GateTable "gate" by "kind" {
        "congestion" => Congestion(CongestionGate),
        "slots" => Slots(SlotGate),
    }
}

words! {
    /// Which signs of congestion count.
    SignalsName: Signals {
        "all" => Signals::All,
        "losses" => Signals::Losses,
        "timeouts" => Signals::Timeouts,
    }
}

words! {
    /// What becomes of a flow that has moved up.
    AfterServiceName: AfterService {
        "falls-back" => AfterService::FallsBack,
        "stays" => AfterService::Stays,
    }
}

words! {
    /// Whether the timers of stopped flows stand still.
    TimersName: bool {
        "running" => false,
        "frozen" => true,
    }
}

words! {
    /// Whether a flow that may send again waits for its timer.
    ResumeName: bool {
        "at-once" => false,
        "at-timer" => true,
    }
}
