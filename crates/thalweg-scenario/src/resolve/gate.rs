//! Resolves the keys of gates to their specification.

use super::super::diagnostic::Report;
use super::super::keys::{GateKeys, GateTable};
use super::super::table_declarations::{At, Fields};
use super::super::value_types::Interval;
use thalweg_proto::gate::{Ageing, CongestionGateConfig, GateConfig, SlotGateConfig};
use thalweg_proto::window::PauseConfig;
use thalweg_sim::simulation_spec::GateSpec;

/// Returns the gate of a table.
pub(super) fn resolve_gate(table: &At<GateTable>, report: &mut Report) -> Option<GateSpec> {
    let (keys, freezes_timer, config);
    match &table.value {
        GateTable::Congestion(given) => {
            let mut given = given.as_ref().clone();
            given.inherit(Fields::defaults());
            config = GateConfig::Congestion(CongestionGateConfig {
                check: given.check.as_ref()?.value,
                signals: given.signals.as_ref()?.value.0,
                stops_highest: given.stops_highest.as_ref()?.value,
                ageing: resolve_ageing(&given.shared)?,
            });
            (keys, freezes_timer) = (given.shared, given.timers.as_ref()?.value.0);
        }
        GateTable::Slots(given) => {
            let mut given = given.as_ref().clone();
            given.inherit(Fields::defaults());
            config = GateConfig::Slots(SlotGateConfig {
                slot: given.slot.as_ref()?.value,
                slots: given.slots.as_ref()?.value.0,
                work_conserving: given.work_conserving.as_ref()?.value,
                ageing: resolve_ageing(&given.shared)?,
            });
            (keys, freezes_timer) = (given.shared, given.timers.as_ref()?.value.0);
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
