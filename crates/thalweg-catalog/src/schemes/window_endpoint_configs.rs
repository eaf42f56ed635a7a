//! The endpoint configurations of window schemes: conversion to values, and properties.

use crate::endpoint_configs::EndpointConfigs;
use crate::protocol_family::{Adjustment, EndNeeds, FeedbackUse, Properties, ReceiveWindow};
use crate::{Environment, KeyBoundConfig, Value, Values};
use std::sync::Arc;
use thalweg_proto::Ecn;
use thalweg_proto::congestion::{CeResponse, ConfigureController, Controller, FixedWindowConfig, SharedPath};
use thalweg_proto::payload::Length;
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::window::{ControllerConfig, EndsConfig, Recovery, VerifyAcks};

pub fn write<C: ConfigureController + KeyBoundConfig>(ends: &EndpointConfigs, values: &mut Values) -> bool {
    let EndpointConfigs::Window(config) = ends else { return false };
    let Some(own) = config.controller.config::<C>() else { return false };
    own.write_to(values);
    write_shared(config, values);
    true
}

/// Writes the values shared by all window schemes.
pub fn write_shared(config: &EndsConfig, values: &mut Values) {
    let EndsConfig { sender, receiver, controller, handshake } = config;
    if let Some(handshake) = handshake {
        values.set_from("handshake", &Some(handshake.kind));
    }
    values.set_from("fine-timer", &sender.fine_grained_timer);
    if controller.ce_response() == CeResponse::AsToLoss {
        values.set_from("ecn", &sender.ecn);
    }
    values.set_from("segment", &sender.segment);
    values.set_from("max-window", &sender.max_window);
    values.set_from("counting", &sender.counting);
    values.set_from("recovery", &sender.recovery);
    values.set_from("byte-counting", &sender.byte_counting);
    values.set_from("duplicate-threshold", &sender.duplicate_threshold);
    if sender.recovery == Recovery::Sack {
        values.set_from("prr", &sender.prr);
        values.set_from("f-rto", &sender.f_rto);
    }
    sender.rtt.write_to(values);
    // Window validation replaces the restart.
    if !(sender.idle_restart && sender.validation.is_some()) {
        values.set_from("idle-restart", &sender.idle_restart);
    }
    values.set_from("window-validation", &sender.validation);
    values.set_from("nagle", &sender.nagle);
    set_switch("timestamps", sender.timestamps, false, values);
    values.set_from("max-retransmissions", &sender.max_retransmissions);
    if sender.recovery == Recovery::Sack {
        set_switch("rack", sender.rack.is_some(), values.environment() == Environment::Live, values);
    }
    match sender.verify_acks {
        VerifyAcks::Always(_) => values.set_value("verify-acks", Value::Switch(true)),
        VerifyAcks::Never if values.environment() != Environment::Live || sender.rack.is_some() => {
            values.set_value("verify-acks", Value::Switch(false));
        }
        VerifyAcks::Never | VerifyAcks::AboveStretch(_) => {}
    }
    if let Some(rack) = &sender.rack {
        values.set_from("undo", &rack.undo);
        values.set_from("tail-probe", &rack.tail_probe);
        values.set_from("cut-for-lost-repairs", &sender.cut_for_lost_repairs);
    }
    values.set_from("receive-window", &receiver.window);
    values.set_from("delayed-ack", &receiver.delayed_ack.is_some());
    if let Some(delayed) = &receiver.delayed_ack {
        delayed.write_to(values);
    }
    values.set_from("keep-out-of-order", &receiver.keep_out_of_order);
    values.set_from("rledbat", &receiver.background.is_some());
}

/// Writes a switch if it is on, or if it is off and the scheme's default, or else `default`, is on.
fn set_switch(name: &str, is_on: bool, default: bool, values: &mut Values) {
    if is_on || values.optional(name).unwrap_or(default) {
        values.set_value(name, Value::Switch(is_on));
    }
}

impl Properties for EndsConfig {
    fn segment(&self) -> u32 {
        self.sender.segment
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.sender.max_window == 0 { Err("largest window") } else { Ok(()) }
    }

    fn description(&self) -> String {
        format!(", segments of {} B", self.sender.segment)
    }

    fn window(&self) -> Option<u64> {
        let granted = self.receiver.window / u64::from(self.sender.segment.max(1));
        let segments = u64::from(self.sender.max_window).min(granted);
        Some(match self.controller {
            ControllerConfig::FixedWindow(FixedWindowConfig { window }) => segments.min(window as u64),
            _ => segments,
        })
    }

    fn first_window(&self) -> f64 {
        match self.controller.dedicated() {
            Some(dedicated) => {
                let made = dedicated.sender::<Length>(Arc::clone(&self.sender), None);
                made.stats(Time::ZERO).common.window.unwrap_or(1.0)
            }
            None => self.controller.shared().map_or(1.0, |controller| controller.decision().window),
        }
    }

    fn never_shrinks(&self) -> bool {
        matches!(self.controller, ControllerConfig::FixedWindow(_))
    }

    fn ecn(&self) -> Ecn {
        match self.controller.ce_response() {
            CeResponse::ControllerSpecific(codepoint) => codepoint,
            CeResponse::AsToLoss if self.sender.ecn => Ecn::Ect0,
            CeResponse::AsToLoss | CeResponse::None => Ecn::NotEct,
        }
    }

    fn needs(&self) -> EndNeeds {
        EndNeeds { random: self.controller.draws(), ..EndNeeds::default() }
    }

    fn queue_target(&self, path: &SharedPath) -> Option<Duration> {
        self.controller.queue_target(path)
    }

    fn router_feedback(&self) -> FeedbackUse {
        FeedbackUse { kind: self.controller.feedback(), is_needed: self.controller.needs_feedback() }
    }

    fn receive_window(&self) -> ReceiveWindow {
        ReceiveWindow::Bytes(self.receiver.window)
    }

    fn adjust(&mut self, adjustment: Adjustment) -> bool {
        match adjustment {
            Adjustment::Reading => Arc::make_mut(&mut self.receiver).wait_for_consumption = true,
            Adjustment::Misbehaviour(how) => Arc::make_mut(&mut self.receiver).misbehaviour = Some(how),
            Adjustment::Pause(pause) => Arc::make_mut(&mut self.sender).pause = pause,
            Adjustment::HostLateness => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;
    use crate::path_hints::PathHints;
    use crate::schemes::SCHEMES;

    /// A scheme's written values produce the same endpoint configurations, also with switches off that are on by
    /// default.
    #[test]
    fn written_endpoint_configs_read_back_unchanged() {
        let mut written = 0;
        for scheme in SCHEMES.iter().filter(|scheme| scheme.keys.find("rack").is_some()) {
            for place in [Environment::Simulated, Environment::Live] {
                let read = |text: &str| Registry::default().read_scheme(text, place);
                let hints = PathHints { max_datagram: 1500, memory: 1 << 30, ..PathHints::default() };
                for option in ["rack=false", "rack=true", "timestamps=false", "timestamps=true"] {
                    let text = format!("{}:{option}", scheme.name);
                    let Ok((description, given_values)) = read(&text) else { continue };
                    let ends = (description.make_endpoint_configs)(&given_values, &hints).unwrap();
                    let (_, mut out) = read(scheme.name).unwrap();
                    assert!((description.write_values)(&ends, &mut out));
                    let again = (description.make_endpoint_configs)(&out, &hints).unwrap();
                    assert_eq!(again, ends, "{text}, {place:?}");
                    written += 1;
                }
            }
        }
        assert!(written > 50, "{written}");
    }
}
