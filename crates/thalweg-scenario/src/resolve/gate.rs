//! Resolves the keys of gates to their specification.

use super::super::diagnostic::Report;
use super::super::keys::{GateKeys, GateTable};
use super::super::table_declarations::{Fields, Spanned};
use super::super::value_types::Interval;
use thalweg_proto::gate::{Ageing, CongestionGateConfig, GateConfig, SlotGateConfig};
use thalweg_proto::window::PauseConfig;
use thalweg_sim::simulation_spec::GateSpec;

/// Returns the gate of a table.
pub(super) fn resolve_gate(table: &Spanned<GateTable>, report: &mut Report) -> Option<GateSpec> {
    let (keys, freezes_timer, config);
    match &table.value {
        GateTable::Congestion(given) => {
            let mut gate_table = given.as_ref().clone();
            gate_table.inherit(Fields::defaults());
            config = GateConfig::Congestion(CongestionGateConfig {
                check: gate_table.check.as_ref()?.value,
                signals: gate_table.signals.as_ref()?.value.0,
                stops_highest: gate_table.stops_highest.as_ref()?.value,
                ageing: resolve_ageing(&gate_table.shared)?,
            });
            (keys, freezes_timer) = (gate_table.shared, gate_table.timers.as_ref()?.value.0);
        }
        GateTable::Slots(given) => {
            let mut gate_table = given.as_ref().clone();
            gate_table.inherit(Fields::defaults());
            config = GateConfig::Slots(SlotGateConfig {
                slot: gate_table.slot.as_ref()?.value,
                slots: gate_table.slots.as_ref()?.value.0,
                work_conserving: gate_table.work_conserving.as_ref()?.value,
                ageing: resolve_ageing(&gate_table.shared)?,
            });
            (keys, freezes_timer) = (gate_table.shared, gate_table.timers.as_ref()?.value.0);
        }
    }
    if let Err(what) = config.check() {
        report.error("scenario.range", table.span, format!("`{what}` is zero"));
    }
    let waits_for_timer = keys.resume.as_ref()?.value.0;
    let drops_acks = keys.acks.as_ref()?.value.0;
    let pause = PauseConfig { freezes_timer, waits_for_timer, drops_acks };
    Some(GateSpec { config, pause, marking: keys.marking.as_ref()?.value.0 })
}

fn resolve_ageing(keys: &GateKeys) -> Option<Ageing> {
    let Interval(after) = keys.ageing.as_ref()?.value;
    Some(Ageing { after, then: keys.after_service.as_ref()?.value.0 })
}
