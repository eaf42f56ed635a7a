//! Options of window schemes that depend on the functions of a controller of another crate.

use thalweg_catalog::schemes::window::{self, external_scheme};
use thalweg_catalog::{EndpointConfigs, Environment, PathHints, Registry, SchemeDescription, bind};
use thalweg_proto::congestion::{
    ConfigureController, FixedWindow, FixedWindowConfig, NewReno, NewRenoConfig, SenderRules, SlowStartExit,
};

/// A fixed window, without a slow-start threshold.
#[derive(Clone, Debug, PartialEq)]
struct Flat;

impl ConfigureController for Flat {
    type Controller = FixedWindow;
    const NAME: &'static str = "flat";
    fn make(&self) -> FixedWindow {
        FixedWindow::new(&FixedWindowConfig { window: 7.0 })
    }
}

bind!(Flat {});

static FLAT: SchemeDescription = external_scheme::<Flat>("Flat.", window::window_keys(&[], window::SACK));

/// NewReno under another name, with its threshold.
#[derive(Clone, Debug, PartialEq)]
struct Sawtooth;

impl ConfigureController for Sawtooth {
    type Controller = NewReno;
    const NAME: &'static str = "sawtooth";
    const SENDER_RULES: SenderRules = SenderRules::ALL;
    fn make(&self) -> NewReno {
        let config = NewRenoConfig {
            initial_window: 10.0,
            initial_ssthresh: f64::INFINITY,
            slow_start_exit: SlowStartExit::Loss,
            ecn_beta: None,
            slow_start_beta: None,
        };
        config.make()
    }
}

bind!(Sawtooth {});

static SAWTOOTH: SchemeDescription =
    external_scheme::<Sawtooth>("Saws.", window::window_keys(&[], window::SACK));

/// PRR never starts without a slow-start threshold: an explicit `prr` is an error, and the default for real paths does not
/// apply.
#[test]
fn proportional_rate_reduction_needs_a_threshold() {
    let mut registry = Registry::default();
    registry.add_scheme(&FLAT);
    registry.add_scheme(&SAWTOOTH);
    let error = registry.read_scheme("flat:prr=true", Environment::Simulated).unwrap_err().to_string();
    assert_eq!(
        error,
        "`flat` reports no slow-start threshold, without which PRR never starts: return the threshold from its `ssthresh`, or \
         leave `prr` out"
    );
    assert!(registry.read_scheme("flat:prr=false", Environment::Simulated).is_ok());
    assert!(registry.read_scheme("sawtooth:prr=true", Environment::Simulated).is_ok());
    for (name, expected) in [("flat", false), ("sawtooth", true)] {
        let (description, values) = registry.read_scheme(name, Environment::Live).unwrap();
        let path = PathHints { max_datagram: 1500, memory: 1 << 24, ..PathHints::default() };
        let EndpointConfigs::Window(config) = (description.make_endpoint_configs)(&values, &path).unwrap()
        else {
            panic!("it has a window")
        };
        assert_eq!(config.sender.prr, expected, "{name}");
    }
}

/// Built-in controllers without a threshold refuse `prr`, whatever the recovery; those with one accept it.
#[test]
fn built_in_controllers_without_a_threshold_refuse_proportional_rate_reduction() {
    let registry = Registry::default();
    let read = |text: &str| registry.read_scheme(text, Environment::Simulated);
    for name in ["fixed", "tri-s", "dec-bit", "source-quench", "bbn", "copa", "thalweg", "bbr"] {
        let error = read(&format!("{name}:prr=true")).unwrap_err().to_string();
        let expected = format!(
            "`{name}` reports no slow-start threshold, without which PRR never starts: leave `prr` out"
        );
        assert_eq!(error, expected);
    }
    for name in ["newreno", "cubic", "vegas", "dctcp", "prague", "ledbat-plus-plus"] {
        assert!(read(&format!("{name}:recovery=sack,prr=true")).is_ok(), "{name}");
    }
}

/// The remedy is in the controller's source.
#[test]
fn ecn_needs_a_response_to_marks() {
    let mut registry = Registry::default();
    registry.add_scheme(&FLAT);
    let error = registry.read_scheme("flat:ecn=true", Environment::Simulated).unwrap_err().to_string();
    assert!(error.contains("return `CeResponse::AsToLoss` from its `ce_response`"), "{error}");
}

/// Keys for rules of the sender that the controller does not declare are refused, and their defaults do not apply.
#[test]
fn keys_without_a_rule_of_the_controller_are_refused() {
    let mut registry = Registry::default();
    registry.add_scheme(&FLAT);
    registry.add_scheme(&SAWTOOTH);
    let read =
        |text: &str| registry.read_scheme(text, Environment::Simulated).map_err(|error| error.to_string());
    let declare = "implement the rule and declare it in `SENDER_RULES`, or leave the key out";
    for (option, why) in [
        ("idle-restart=true", "it continues after idle times"),
        ("window-validation=rfc2861", "it keeps windows that the application does not use"),
        ("window-validation=rfc7661", "it keeps windows that the application does not use"),
        ("byte-counting=unlimited", "its window does not grow by the acknowledged data"),
    ] {
        let key = option.split('=').next().unwrap();
        for (name, help) in [("flat", declare), ("fixed", "leave it out"), ("tri-s", "leave it out")] {
            let expected = format!("`{name}` has no rule for `{key}`: {why}: {help}");
            assert_eq!(read(&format!("{name}:{option}")).unwrap_err(), expected);
        }
        assert!(read(&format!("sawtooth:{option}")).is_ok(), "{option}");
        assert!(read(&format!("newreno:{option}")).is_ok(), "{option}");
    }
    for (name, rules) in
        [("flat", false), ("sawtooth", true), ("fixed", false), ("thalweg", false), ("copa", true)]
    {
        let (description, values) = read(name).unwrap();
        let ends = (description.make_endpoint_configs)(&values, &PathHints::default()).unwrap();
        let EndpointConfigs::Window(config) = ends else { panic!("{name}") };
        assert_eq!(config.sender.idle_restart, rules, "{name}");
        let absent = "idle-restart=false,window-validation=none,byte-counting=1pkt";
        assert!(read(&format!("{name}:{absent}")).is_ok(), "{name}");
    }
}
