//! Conflicts between the values of window schemes.

use crate::option_keys::PRESET;
use crate::{ConfigError, Environment, KeyBoundConfig, Value, Values};
use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_proto::congestion::{CeResponse, ConfigureController, Controller as _};
use thalweg_proto::units::{Bytes, Duration};
use thalweg_proto::window::{DelayedAck, RackConfig, Recovery, RttConfig, Validation};

/// Checks the values of a controller of this project.
pub(super) fn check<C: ConfigureController + KeyBoundConfig>(values: &Values) -> Vec<ConfigError> {
    check_with::<C>(values, "leave `prr` out")
}

/// Checks the values of a controller of another crate; the remedies are in its source.
pub(super) fn check_external<C: ConfigureController + KeyBoundConfig>(values: &Values) -> Vec<ConfigError> {
    let help = "return the threshold from its `ssthresh`, or leave `prr` out";
    let mut faults = check_with::<C>(values, help);
    for fault in &mut faults {
        match fault.key {
            "ecn" if !fault.is_warning => {
                fault.help = "return `CeResponse::AsToLoss` from its `ce_response`, or leave `ecn` out";
            }
            key if !fault.is_warning && (values.keys().fixed_value)(key).is_some() => {
                fault.help = "implement the rule and declare it in `SENDER_RULES`, or leave the key out";
            }
            _ => {}
        }
    }
    faults
}

/// Checks the values of a controller. `prr_help` is the remedy if it has no slow-start threshold for PRR.
fn check_with<C: ConfigureController + KeyBoundConfig>(
    values: &Values,
    prr_help: &'static str,
) -> Vec<ConfigError> {
    let controller = C::from_values(values);
    let mut faults = check_shared(values, C::NAME, controller.ce_response());
    if values.explicit_value("prr") == Some(Value::Switch(true)) && !has_ssthresh(&controller) {
        // Another recovery would not help.
        faults.retain(|fault| fault.key != "prr");
        let what = format!("`{}` reports no slow-start threshold, without which PRR never starts", C::NAME);
        let fault = ConfigError::new("prr", what).help(prr_help);
        faults.push(ConfigError { is_scheme_rule: true, ..fault });
    }
    faults
}

/// Finds conflicts between keys of every window scheme, for a controller with this name and response to marks.
pub(super) fn check_shared(values: &Values, name: &str, response: CeResponse) -> Vec<ConfigError> {
    let mut faults = Vec::new();
    let rtt = RttConfig::from_values(values);
    if rtt.ceiling < rtt.floor {
        faults.push(ConfigError::new("rto.ceiling", "the ceiling of the timeout is below its floor"));
    }
    let is_explicit = |key: &str| values.explicit_value(key).is_some();
    if is_explicit("rto.floor") && is_explicit("rto.margin") && !rtt.floor.is_zero() && rtt.floor < rtt.margin
    {
        let what = format!("a floor of {} below the margin of {} does nothing", rtt.floor, rtt.margin);
        let help = "a timeout is the smoothed round-trip time and at least `margin`: leave that out, and it follows `floor`";
        faults.push(ConfigError { is_warning: true, ..ConfigError::new("rto.floor", what).help(help) });
    }
    check_preset(values, &mut faults);
    check_rack(values, &mut faults);
    check_effects(values, &mut faults);
    check_rules(values, name, &mut faults);
    if is_validated(values) && values.explicit_value("idle-restart") == Some(Value::Switch(true)) {
        let what = "`window-validation` replaces a restart after idle times";
        let fault = ConfigError::new("idle-restart", what).help("leave one of the two out");
        faults.push(ConfigError { is_warning: true, ..fault });
    }
    // A scheme with its own response always uses ECN: an explicit `true` is correct.
    if values.explicit_value("ecn") == Some(Value::Switch(true)) && response == CeResponse::None {
        let help = "cubic and newreno do, for example; packets of others are never marked by a queue";
        let fault = ConfigError::new("ecn", "the scheme does not treat marks as losses").help(help);
        faults.push(ConfigError { is_scheme_rule: true, ..fault });
    }
    if values.explicit_value("ecn") == Some(Value::Switch(false))
        && matches!(response, CeResponse::ControllerSpecific(_))
    {
        let fault = ConfigError::new(
            "ecn",
            "the scheme has no other sense of congestion than marks and losses, and always uses ECN",
        )
        .help("remove `ecn`; newreno and cubic then react to losses only");
        faults.push(ConfigError { is_warning: true, is_scheme_rule: true, ..fault });
    }
    let (window, segment): (Option<Bytes>, Option<Bytes>) =
        (values.optional("receive-window"), values.optional("segment"));
    if let (Some(window), Some(segment)) = (window, segment)
        && window < segment
    {
        let message = format!("a receive window of {window} holds no segment of {segment}");
        faults.push(ConfigError::new("receive-window", message));
    }
    faults
}

/// Refuses values of keys for rules that the controller does not implement.
fn check_rules(values: &Values, name: &str, faults: &mut Vec<ConfigError>) {
    for (key, value) in values.explicit_values() {
        let Some(fixed) = (values.keys().fixed_value)(key.name) else { continue };
        if key.kind.read(fixed.text).is_ok_and(|fixed| fixed == *value) {
            continue;
        }
        let message = format!("`{name}` has no rule for `{}`: {}", key.name, fixed.behaviour);
        let fault = ConfigError::new(key.name, message);
        faults.push(ConfigError { is_scheme_rule: true, ..fault.help("leave it out") });
    }
}

/// Returns true if window validation is enabled.
fn is_validated(values: &Values) -> bool {
    values.optional::<Option<Validation>>("window-validation").flatten().is_some()
}

/// Finds options without effect beside the others.
fn check_effects(values: &Values, faults: &mut Vec<ConfigError>) {
    let explicit = |key: &str| values.explicit_value(key);
    let is_off = |key: &str| matches!(values.get(key), None | Some(Value::Switch(false)));
    if explicit("ecn-beta").is_some() && is_off("ecn") {
        let what = "`ecn-beta` is the decrease at marks, and without `ecn` nothing is marked";
        faults.push(ConfigError::new("ecn-beta", what).help("set ecn = true"));
    }
    if explicit("rledbat") == Some(Value::Switch(true))
        && explicit("timestamps") == Some(Value::Switch(false))
    {
        let what = "`rledbat` measures delays by timestamps, which are off";
        let fault = ConfigError::new("timestamps", what).help("leave it out");
        faults.push(ConfigError { is_scheme_rule: true, ..fault });
    }
    let warn =
        |key, what: String, help| ConfigError { is_warning: true, ..ConfigError::new(key, what).help(help) };
    let segments = |key: &str| explicit(key).and_then(|value| value.measure());
    if let (Some(first), Some(max)) = (segments("initial-window"), segments("max-window"))
        && first > max
    {
        let what = "`initial-window` is above `max-window`, which bounds it".to_owned();
        faults.push(warn("initial-window", what, "lower it, or raise `max-window`"));
    }
    if explicit("delayed-ack.delay").is_some()
        && values.optional::<u32>("delayed-ack.every") == Some(1)
        && is_off("delayed-ack.adaptive")
    {
        let what = "with `delayed-ack.every` 1 no acknowledgement waits for `delayed-ack.delay`".to_owned();
        faults.push(warn("delayed-ack.delay", what, "raise `delayed-ack.every`"));
    }
}

/// Rejects an unknown preset.
fn check_preset(values: &Values, faults: &mut Vec<ConfigError>) {
    let presets = values.keys().presets;
    let Some(Value::Word(chosen)) = values.explicit_value(PRESET) else { return };
    if presets.iter().any(|preset| preset.name == chosen) {
        return;
    }
    let (what, help) = if presets.is_empty() {
        ("the scheme has no presets", "newreno, vegas, cubic, dctcp, prague and bbr have")
    } else {
        (
            "the scheme has no preset of that name",
            "bbr and prague have a \"draft\", others the \"rfc\"s; all have \"linux\"",
        )
    };
    faults.push(ConfigError { is_scheme_rule: true, ..ConfigError::new(PRESET, what).help(help) });
}

/// Returns the time-based loss detection, if selective acknowledgement allows it. By default it is on for real paths,
/// which reorder.
pub(super) fn rack_config(values: &Values) -> Option<RackConfig> {
    let is_on = values.optional("rack").unwrap_or(values.environment() == Environment::Live);
    let config = RackConfig {
        undo: values.optional("undo").unwrap_or(true),
        tail_probe: values.optional("tail-probe").unwrap_or(true),
        max_ack_delay: delayed_ack(values).map_or(Duration::ZERO, |delayed| delayed.delay),
    };
    (is_on && values.optional("recovery") == Some(Recovery::Sack)).then_some(config)
}

/// Returns the rule for delayed acknowledgements, if any.
pub(super) fn delayed_ack(values: &Values) -> Option<DelayedAck> {
    values.required::<bool>("delayed-ack").then(|| DelayedAck::from_values(values))
}

/// Finds keys of time-based loss detection that are set although it is off or unavailable.
fn check_rack(values: &Values, faults: &mut Vec<ConfigError>) {
    let of_sack = [
        (
            "prr",
            "deliveries during recovery are known from selective acknowledgements only, which this recovery lacks",
        ),
        (
            "f-rto",
            "arrivals before a timeout are known from selective acknowledgements only, which this recovery lacks",
        ),
    ];
    for (key, what) in of_sack {
        if values.explicit_value(key) == Some(Value::Switch(true))
            && values.optional("recovery") != Some(Recovery::Sack)
        {
            faults.push(ConfigError {
                is_scheme_rule: true,
                ..ConfigError::new(key, what).help("set recovery = \"sack\"")
            });
        }
    }
    if rack_config(values).is_some() {
        return;
    }
    if values.explicit_value("rack") == Some(Value::Switch(true)) {
        let what = "time-based loss detection needs selective acknowledgements, which this recovery lacks";
        faults.push(ConfigError {
            is_scheme_rule: true,
            ..ConfigError::new("rack", what).help("set recovery = \"sack\"")
        });
        return;
    }
    for key in ["undo", "tail-probe", "verify-acks", "cut-for-lost-repairs"] {
        // Without `rack` acknowledgements are still verified if they are few.
        let is_allowed = key == "verify-acks" && values.explicit_value(key) == Some(Value::Switch(false));
        if values.explicit_value(key).is_some() && !is_allowed {
            let what = format!("`{key}` is a part of `rack`, which is off");
            faults.push(ConfigError {
                is_scheme_rule: true,
                ..ConfigError::new(key, what).help("set rack = true")
            });
        }
    }
}

/// Returns true if new controllers have a slow-start threshold, without which PRR never starts. A constructor that
/// panics is reported when the controller is used.
pub(super) fn has_ssthresh<C: ConfigureController>(config: &C) -> bool {
    catch_unwind(AssertUnwindSafe(|| config.make().ssthresh().is_some())).unwrap_or(true)
}
