//! Writes gates of nodes as keys of a scenario file.

use super::super::keys::{AcksName, AfterServiceName, MarkingName, ResumeName, SignalsName, TimersName};
use super::super::toml_writer::{Entries, toml_string};
use thalweg_proto::gate::{Ageing, GateConfig};
use thalweg_sim::simulation_spec::GateSpec;

/// Returns all keys of a gate.
pub fn gate_entries(gate: &GateSpec) -> Entries {
    let mut entries = Entries::default();
    let ageing = match &gate.config {
        GateConfig::Congestion(config) => {
            entries.put("kind", toml_string("congestion"));
            entries.quantity("check", config.check);
            entries.put("signals", toml_string(SignalsName(config.signals).word()));
            entries.put("stops-highest", config.stops_highest.to_string());
            config.ageing
        }
        GateConfig::Slots(config) => {
            entries.put("kind", toml_string("slots"));
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
        None => entries.put("ageing", toml_string("off")),
    }
    entries.put("after-service", toml_string(AfterServiceName(then).word()));
    entries.put("timers", toml_string(TimersName(gate.pause.freezes_timer).word()));
    entries.put("resume", toml_string(ResumeName(gate.pause.waits_for_timer).word()));
    entries.put("acks", toml_string(AcksName(gate.pause.drops_acks).word()));
    entries.put("marking", toml_string(MarkingName(gate.marking).word()));
    entries
}
