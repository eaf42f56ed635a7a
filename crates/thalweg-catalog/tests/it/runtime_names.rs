//! Schemes whose names are known only while a program runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use thalweg_catalog::schemes::window::named_scheme;
use thalweg_catalog::{ConfigError, EndpointConfigs, Environment, PathHints, Registry, Value};
use thalweg_proto::Ecn;
use thalweg_proto::congestion::{CeResponse, ConfigureController, FixedWindow, FixedWindowConfig};
use thalweg_proto::units::Bytes;

/// A fixed window under a name of its own.
#[derive(Clone, Debug, PartialEq)]
struct NamedWindow {
    name: &'static str,
    window: f64,
    response: CeResponse,
}

impl ConfigureController for NamedWindow {
    type Controller = FixedWindow;
    const NAME: &'static str = "named";
    fn name(&self) -> &'static str {
        self.name
    }
    fn make(&self) -> FixedWindow {
        FixedWindow::new(&FixedWindowConfig { window: self.window })
    }
    fn ce_response(&self) -> CeResponse {
        self.response
    }
}

/// A controller that handles marks enables ECN unless it is disabled explicitly; one that does not rejects it.
#[test]
fn a_controller_that_takes_marks_uses_ecn() {
    let scheme = |response| {
        named_scheme("mine", "Mine.", move || Ok(NamedWindow { name: "mine", window: 7.0, response }))
    };
    let ecn = |response, explicit: Option<bool>| {
        let scheme = scheme(response);
        let mut values = scheme.empty_values(Environment::Simulated);
        if let Some(explicit) = explicit {
            values.set_value("ecn", Value::Switch(explicit));
        }
        let ends = (scheme.make_endpoint_configs)(&values, &PathHints::default()).unwrap();
        (ends.properties().ecn(), scheme.conflicts(&values).len())
    };
    assert_eq!(ecn(CeResponse::None, None), (Ecn::NotEct, 0));
    assert_eq!(ecn(CeResponse::None, Some(true)), (Ecn::NotEct, 1));
    assert_eq!(ecn(CeResponse::AsToLoss, None), (Ecn::Ect0, 0));
    assert_eq!(ecn(CeResponse::AsToLoss, Some(false)), (Ecn::NotEct, 0));
    assert_eq!(ecn(CeResponse::ControllerSpecific(Ecn::Ect1), None), (Ecn::Ect1, 0));
}

#[test]
fn two_controllers_of_one_type_are_two_schemes() {
    let made = Arc::new(AtomicU32::new(0));
    let mut registry = Registry::default();
    for name in ["one", "other"] {
        let made = Arc::clone(&made);
        let controller = move || {
            made.fetch_add(1, Ordering::Relaxed);
            Ok(NamedWindow { name, window: 7.0, response: CeResponse::None })
        };
        registry.add_scheme(Box::leak(Box::new(named_scheme(name, "Mine.", controller))));
    }
    for name in ["one", "other"] {
        let text = format!("{name}:segment=500B,recovery=newreno");
        let (description, values) = registry.read_scheme(&text, Environment::Simulated).unwrap();
        let ends = (description.make_endpoint_configs)(&values, &PathHints::default()).unwrap();
        let EndpointConfigs::Window(config) = &ends else { panic!("it has a window") };
        assert_eq!((config.sender.segment, config.controller.dedicated().unwrap().name()), (500, name));
        let (found, written) = registry.scheme_of(&ends).unwrap();
        assert_eq!(
            (found.name, written.explicit_value("segment")),
            (name, Some(Value::Size(Bytes::new(500))))
        );
    }
    // Once to check its values, and once for both ends.
    assert_eq!(made.load(Ordering::Relaxed), 4);
}

#[test]
fn a_controller_that_fails_to_build_is_a_config_error() {
    let scheme = named_scheme("gone", "Mine.", || Err::<NamedWindow, _>(ConfigError::new("", "it is gone")));
    let made =
        (scheme.make_endpoint_configs)(&scheme.empty_values(Environment::Simulated), &PathHints::default());
    assert_eq!(made.unwrap_err().what, "it is gone");
}

#[test]
fn a_registry_keeps_its_stamp() {
    let mut registry = Registry::default();
    assert_eq!(registry.stamp(), None);
    registry.set_stamp("mine 1");
    assert_eq!(registry.clone().stamp(), Some("mine 1"));
}
