//! The rules that must hold in every state.

use crate::agent::{Talk, opposite};
use crate::world::World;
use std::net::SocketAddr;
use thalweg_net::identity::PublicKey;
use thalweg_net::session::{Closed, Side};

impl World {
    /// Checks RFC 9000, section 8: at most three bytes for one to an unvalidated address.
    pub fn check_traffic(&mut self, agent: usize) -> Result<(), String> {
        let agent = &mut self.agents[agent];
        if !agent.is_honest || agent.config.listen.is_none() {
            return Ok(());
        }
        let handles: Vec<_> =
            agent.talks.iter().filter(|talk| talk.is_open()).map(|talk| talk.handle).collect();
        for handle in handles {
            if let Some(session) = agent.endpoint.session(handle)
                && session.is_validated()
            {
                agent.validated.insert(session.remote());
            }
        }
        let beyond = agent
            .traffic
            .iter()
            .find(|(to, (incoming, went))| *went > 3 * incoming && !agent.validated.contains(to));
        beyond.map_or(Ok(()), |(to, (incoming, went))| {
            Err(format!(
                "the {} sent {went} bytes to {to}, from where {incoming} came, without validation",
                agent.name
            ))
        })
    }

    /// Returns the endpoint of a connection on that side.
    pub fn find(&self, binding: [u8; 32], side: Side) -> Option<(usize, &Talk)> {
        self.agents.iter().enumerate().find_map(|(number, agent)| {
            let talk = agent.talks.iter().find(|talk| talk.binding == binding && talk.side == side)?;
            Some((number, talk))
        })
    }

    pub fn key_of(&self, agent: usize) -> PublicKey {
        self.agents[agent].config.identity.public()
    }

    /// Checks that the latest connection of an agent is with the expected peer, on terms that the peer shares, and
    /// unique.
    pub fn check_agreement(&self, agent: usize) -> Result<(), String> {
        let Some(talk) = self.agents[agent].talks.last().filter(|_| self.agents[agent].is_honest) else {
            return Ok(());
        };
        let name = self.agents[agent].name;
        let alike = self.agents.iter().flat_map(|agent| &agent.talks);
        if alike.filter(|other| other.binding == talk.binding && other.side == talk.side).count() > 1 {
            return Err(format!("two connections of the {name} came from one handshake"));
        }
        let Some(with) = talk.with else {
            return Err(format!("the {name} has a connection in which nobody took part"));
        };
        if self.key_of(with) != talk.peer {
            return Err(format!("the {name} has a connection with a key that did not take part"));
        }
        let Some((_, other)) = self.find(talk.binding, opposite(talk.side)) else {
            // The server has a connection only when the client has one.
            return if talk.side == Side::Client {
                Ok(())
            } else {
                Err(format!("the {name} has a client that has no connection"))
            };
        };
        let agree = (other.local, other.remote, other.peer) == (talk.remote, talk.local, self.key_of(agent))
            && other.terms == talk.terms;
        agree.then_some(()).ok_or_else(|| format!("the {name} and its peer do not agree on their connection"))
    }

    /// Checks that only the peers ended a connection: a reset is valid only from the very socket that had it and has
    /// lost it.
    pub fn check_end(
        &self,
        talk: &Talk,
        why: &Closed,
        incoming: Option<(SocketAddr, &[u8])>,
    ) -> Result<(), String> {
        let other = self.find(talk.binding, opposite(talk.side)).map(|(_, other)| other);
        match why {
            Closed::Here => talk
                .is_left
                .then_some(())
                .ok_or_else(|| "an end closed a connection that its application had not closed".to_owned()),
            Closed::Peer { .. } => {
                let is_true = other.is_some_and(|other| other.is_left);
                is_true
                    .then_some(())
                    .ok_or_else(|| "a connection was closed in the name of a peer that did not".to_owned())
            }
            Closed::Reset => {
                let reset = incoming.map_or(&[][..], |(_, incoming)| incoming);
                let is_owners = talk.with.is_some_and(|owner| self.agents[owner].resets.contains(reset));
                if !is_owners {
                    return Err(
                        "a connection was ended by a reset that its peer's socket did not send".to_owned()
                    );
                }
                let is_gone = other.is_none_or(|other| !other.is_open());
                is_gone
                    .then_some(())
                    .ok_or_else(|| "a connection that its peer still has was reset".to_owned())
            }
            Closed::Silent => Ok(()),
            Closed::PathMtuTooSmall | Closed::Protocol | Closed::Forgeries | Closed::Failed(_) => {
                Err(format!("a connection failed: {why:?}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    //! Breaks each rule by hand and verifies that the check fails.
    use super::*;
    use crate::steps::Step;
    use crate::world::{CLIENT, SERVER, key};
    use crate::{Bounds, Fault};
    use thalweg_net::endpoint::EndpointEvent;
    use thalweg_net::session::SessionEvent;
    use thalweg_net::wire::ConnectionId;

    /// Returns a world with a connected client that has exchanged its datagrams.
    fn connected() -> World {
        let mut world = World::new(&Bounds::default(), Fault::None, false);
        world.take(Step::Connect).unwrap();
        while !world.is_settled() || world.agents[CLIENT].talks[0].received.is_empty() {
            let datagrams = 0..world.known.datagrams.len();
            let new = datagrams.rev().map(|number| (number, world.known.datagrams[number].clone()));
            for (number, datagram) in new.collect::<Vec<_>>() {
                let to = if datagram.to == world.agents[CLIENT].address { CLIENT } else { SERVER };
                world.take(Step::Deliver(number, to)).unwrap();
            }
        }
        world
    }

    #[test]
    fn nothing_is_wrong_with_a_connection() {
        let world = connected();
        assert_eq!((world.check_agreement(CLIENT), world.check_agreement(SERVER)), (Ok(()), Ok(())));
        assert!(world.agents[..=SERVER].iter().all(|agent| agent.talks[0].received.len() == 1));
    }

    #[test]
    fn ends_that_do_not_agree_are_noticed() {
        let changes: [fn(&mut Talk); 6] = [
            |talk| talk.peer = key(3).public(),
            |talk| talk.binding = [0; 32],
            |talk| talk.local = ConnectionId([0; 8]),
            |talk| talk.remote = ConnectionId([0; 8]),
            |talk| talk.terms = "other by cubic".to_owned(),
            |talk| talk.with = None,
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut world = connected();
            change(&mut world.agents[SERVER].talks[0]);
            assert!(world.check_agreement(SERVER).is_err(), "{number}");
        }
        let mut world = connected();
        let twin = world.agents[CLIENT].talks[0].clone();
        world.agents[CLIENT].talks.push(twin);
        assert!(world.check_agreement(CLIENT).unwrap_err().contains("one handshake"));
    }

    #[test]
    fn unrequested_closes_are_detected() {
        let world = connected();
        let talk = &world.agents[CLIENT].talks[0];
        let peer = Closed::Peer { code: 0, reason: String::new() };
        for why in [Closed::Here, peer.clone(), Closed::Reset, Closed::Protocol] {
            assert!(world.check_end(talk, &why, None).is_err(), "{why:?}");
        }
        // The first reset was sent while the server's socket had the connection, the second after it had lost it.
        let mut world = world;
        let reset = b"a reset".to_vec();
        world.agents[SERVER].resets.insert(reset.clone());
        let incoming = Some((world.agents[SERVER].address, &reset[..]));
        let talk = world.agents[CLIENT].talks[0].clone();
        assert!(world.check_end(&talk, &Closed::Reset, incoming).unwrap_err().contains("still has"));
        world.agents[SERVER].talks[0].is_forgotten = true;
        assert_eq!(world.check_end(&talk, &Closed::Reset, incoming), Ok(()));
        world.agents[SERVER].talks[0].is_left = true;
        assert_eq!(world.check_end(&talk, &peer, None), Ok(()));
    }

    #[test]
    fn duplicate_and_unknown_messages_are_detected() {
        let deliver = |world: &mut World, payload: &[u8]| {
            let handle = world.agents[CLIENT].talks[0].handle;
            let data = thalweg_proto::payload::Slice::new(payload);
            world.on_event(CLIENT, handle, EndpointEvent::Session(SessionEvent::Datagram(data)), None)
        };
        let mut world = connected();
        let payload = world.agents[SERVER].talks[0].payload.clone();
        assert!(deliver(&mut world, &payload).unwrap_err().contains("twice"));
        assert!(deliver(&mut world, b"never sent").unwrap_err().contains("never sent"));
    }

    /// Restarted endpoints reuse handles.
    #[test]
    fn a_restarted_server_s_connections_are_others() {
        let mut world = connected();
        world.left.restarts = 1;
        world.left.connections = 1;
        world.take(Step::Restart).unwrap();
        world.take(Step::Connect).unwrap();
        assert_eq!(world.calm(), Ok(()));
        let talks = &world.agents[SERVER].talks;
        assert!(talks.len() == 2 && talks[0].handle == talks[1].handle && talks[1].is_open());
    }

    #[test]
    fn more_than_three_bytes_for_one_are_noticed() {
        let mut world = connected();
        let unvalidated = SocketAddr::from(([192, 0, 2, 9], 9));
        world.agents[SERVER].traffic.insert(unvalidated, (100, 300));
        assert_eq!(world.check_traffic(SERVER), Ok(()));
        world.agents[SERVER].traffic.insert(unvalidated, (100, 301));
        assert!(world.check_traffic(SERVER).unwrap_err().contains("301 bytes"));
    }

    #[test]
    fn a_client_that_cannot_get_in_is_noticed() {
        let mut world = World::new(&Bounds::default(), Fault::None, false);
        assert_eq!(world.calm(), Ok(()));
        let mut world = World::new(&Bounds::default(), Fault::None, false);
        world.agents[SERVER].endpoint.stop_listening();
        assert!(world.calm().unwrap_err().contains("gives up"));
    }
}
