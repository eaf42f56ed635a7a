//! Tests of what endpoints receive, of restarts, and of connections without the attacker.

use crate::attacker_steps::AttackStep;
use crate::client_server_attacker::{CLIENT, SERVER, World};
use crate::{Bounds, Fault};
use thalweg_net::endpoint::EndpointEvent;
use thalweg_net::session::SessionEvent;

/// Returns a world with a connected client that has exchanged its datagrams.
pub fn connected_world() -> World {
    let mut world = World::new(&Bounds::default(), Fault::None, false);
    world.take(AttackStep::Connect).unwrap();
    while !world.is_settled() || world.agents[CLIENT].exchanges[0].received.is_empty() {
        let datagrams = 0..world.knowledge.datagrams.len();
        let new = datagrams.rev().map(|number| (number, world.knowledge.datagrams[number].clone()));
        for (number, datagram) in new.collect::<Vec<_>>() {
            let to = if datagram.to == world.agents[CLIENT].address { CLIENT } else { SERVER };
            world.take(AttackStep::Deliver(number, to)).unwrap();
        }
    }
    world
}

#[test]
fn duplicate_and_unknown_messages_are_detected() {
    let deliver = |world: &mut World, payload: &[u8]| {
        let handle = world.agents[CLIENT].exchanges[0].handle;
        let data = thalweg_proto::payload::Slice::new(payload);
        world.on_event(CLIENT, handle, EndpointEvent::Session(SessionEvent::Datagram(data)), None)
    };
    let mut world = connected_world();
    let payload = world.agents[SERVER].exchanges[0].payload.clone();
    assert!(deliver(&mut world, &payload).unwrap_err().contains("twice"));
    assert!(deliver(&mut world, b"never sent").unwrap_err().contains("never sent"));
}

/// Restarted endpoints reuse handles.
#[test]
fn a_restarted_server_s_connections_are_others() {
    let mut world = connected_world();
    world.steps_left.restarts = 1;
    world.steps_left.connections = 1;
    world.take(AttackStep::Restart).unwrap();
    world.take(AttackStep::Connect).unwrap();
    assert_eq!(world.run_without_attacker(), Ok(()));
    let exchanges = &world.agents[SERVER].exchanges;
    assert!(exchanges.len() == 2 && exchanges[0].handle == exchanges[1].handle && exchanges[1].is_open());
}

#[test]
fn a_client_that_cannot_get_in_is_noticed() {
    let mut world = World::new(&Bounds::default(), Fault::None, false);
    assert_eq!(world.run_without_attacker(), Ok(()));
    let mut world = World::new(&Bounds::default(), Fault::None, false);
    world.agents[SERVER].endpoint.stop_listening();
    assert!(world.run_without_attacker().unwrap_err().contains("gives up"));
}
