//! Writes gates of nodes as keys of a scenario file.

use super::super::keys::{AcksName, AfterServiceName, MarkingName, ResumeName, SignalsName, TimersName};
use super::super::toml_writer::{Entries, text};
use thalweg_proto::gate::{Ageing, GateConfig};
use thalweg_sim::simulation_spec::GateSpec;

/// Returns all keys of a gate.
pub fn gate(gate: &GateSpec) -> Entries {
    let mut entries = Entries::default();
    let ageing = match &gate.config {
        GateConfig::Congestion(config) => {
            entries.put("kind", text("congestion"));
            entries.quantity("check", config.check);
            entries.put("signals", text(SignalsName(config.signals).word()));
            entries.put("stops-highest", config.stops_highest.to_string());
            config.ageing
        }
        GateConfig::Slots(config) => {
            entries.put("kind", text("slots"));
            entries.quantity("slot", config.slot);
            let slots: Vec<String> = config.slots.iter().map(u32::to_string).collect();
            entries.put("slots", format!("[{}]", slots.join(", ")));
            entries.put("work-conserving", config.work_conserving.to_string());
            config.ageing
        }
    };
    let Ageing { after, then } = ageing;
    match after {
        Some(after) => entries.quantity("ageing", after),
        None => entries.put("ageing", text("off")),
    }
    entries.put("after-service", text(AfterServiceName(then).word()));
    entries.put("timers", text(TimersName(gate.pause.freezes_timer).word()));
    entries.put("resume", text(ResumeName(gate.pause.waits_for_timer).word()));
    entries.put("acks", text(AcksName(gate.pause.drops_acks).word()));
    entries.put("marking", text(MarkingName(gate.marking).word()));
    entries
}
