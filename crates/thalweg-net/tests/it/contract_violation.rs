//! An external controller that violates its contract ends its connection, and the peer is notified at once.

use crate::endpoint_pair::{Channel, Pair, client_config, connect, identity, server_config};
use std::sync::Arc;
use thalweg_catalog::{Key, Registry, SchemeDescription, bind, schemes::window};
use thalweg_net::endpoint::{Connect, EndpointConfig, Listen, Trust};
use thalweg_net::flow::Scheme;
use thalweg_net::session::{CloseReason, code};
use thalweg_proto::congestion::{AckSample, ConfigureController, Controller, Decision, LossSample};
use thalweg_proto::transport::Failure;
use thalweg_proto::units::Duration;

/// Controller that returns NaN after a few acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq)]
struct NanController {}

#[derive(Clone, Debug)]
struct Window(u32);

impl Controller for Window {
    type PacketInfo = ();

    fn on_ack(&mut self, _sample: &AckSample, _info: ()) {
        self.0 += 1;
    }

    fn on_loss(&mut self, _sample: &LossSample) {}

    fn decision(&self) -> Decision {
        Decision::window(if self.0 < 5 { 10.0 } else { f64::NAN })
    }
}

impl ConfigureController for NanController {
    type Controller = Window;
    const NAME: &'static str = "broken";

    fn make(&self) -> Window {
        Window(0)
    }
}

const KEYS: &[Key] = &[];
bind!(NanController {});

static NAN_SCHEME: SchemeDescription = window::external_scheme::<NanController>(
    "Answers with no number.",
    window::window_keys(KEYS, window::SACK),
);

#[test]
fn a_peer_learns_at_once_of_a_failed_flow() {
    let mut registry = Registry::default();
    registry.add_scheme(&NAN_SCHEME);
    let scheme = Scheme::read("broken", &registry).unwrap();
    let listen = Listen::new(Trust::only(identity(1).public()), ["test"]).with_registry(Arc::new(registry));
    let server = EndpointConfig { listen: Some(listen), ..server_config() };
    let mut pair = Pair::with(1, Channel::default(), client_config(), server);
    pair.ends[0].handle =
        Some(pair.ends[0].endpoint.connect(pair.now, Connect { scheme, ..connect("cubic") }));
    pair.ends[0].write(&vec![1; 100_000]);
    while pair.ends[0].closed.is_none() && pair.step() {}
    let failed = pair.now;
    let Some(CloseReason::Failed(Failure::ContractViolation(why))) = &pair.ends[0].closed else {
        panic!("{:?}", pair.ends[0].closed)
    };
    assert_eq!(why.to_string(), "the controller `broken` returned a window that is not a number");
    while pair.ends[1].closed.is_none() && pair.step() {}
    assert!(pair.now <= failed + Duration::from_millis(20), "after {}", pair.now.since(failed));
    assert!(matches!(pair.ends[1].closed, Some(CloseReason::Peer { code: code::FAILED, .. })));
}
