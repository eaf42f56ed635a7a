//! Security invariants of endpoints under attack, checked in every state of the search.

use crate::client_server_attacker::World;
use crate::endpoint_agent::{Exchange, opposite_side};
use std::net::SocketAddr;
use thalweg_net::identity::PublicKey;
use thalweg_net::session::{CloseReason, Side};

impl World {
    /// Checks RFC 9000, section 8: at most three bytes for one to an unvalidated address.
    pub fn check_amplification_limit(&mut self, agent: usize) -> Result<(), String> {
        let agent = &mut self.agents[agent];
        if !agent.is_honest || agent.config.listen.is_none() {
            return Ok(());
        }
        let handles: Vec<_> = agent
            .exchanges
            .iter()
            .filter(|exchange| exchange.is_open())
            .map(|exchange| exchange.handle)
            .collect();
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
    pub fn find_connection_end(&self, binding: [u8; 32], side: Side) -> Option<(usize, &Exchange)> {
        self.agents.iter().enumerate().find_map(|(number, agent)| {
            let exchange = agent
                .exchanges
                .iter()
                .find(|exchange| exchange.binding == binding && exchange.side == side)?;
            Some((number, exchange))
        })
    }

    pub fn public_key_of(&self, agent: usize) -> PublicKey {
        self.agents[agent].config.identity.public()
    }

    /// Checks that the latest connection of an agent is with the expected peer, on terms that the peer shares, and
    /// unique.
    pub fn check_agreement(&self, agent: usize) -> Result<(), String> {
        let Some(exchange) = self.agents[agent].exchanges.last().filter(|_| self.agents[agent].is_honest)
        else {
            return Ok(());
        };
        let name = self.agents[agent].name;
        let alike = self.agents.iter().flat_map(|agent| &agent.exchanges);
        if alike.filter(|other| other.binding == exchange.binding && other.side == exchange.side).count() > 1
        {
            return Err(format!("two connections of the {name} came from one handshake"));
        }
        let Some(with) = exchange.with else {
            return Err(format!("the {name} has a connection without a peer"));
        };
        if self.public_key_of(with) != exchange.peer {
            return Err(format!("the {name} has a connection with a key that did not take part"));
        }
        let Some((_, other)) = self.find_connection_end(exchange.binding, opposite_side(exchange.side))
        else {
            // The server has a connection only when the client has one.
            return if exchange.side == Side::Client {
                Ok(())
            } else {
                Err(format!("the {name} has a client that has no connection"))
            };
        };
        let agree = (other.local, other.remote, other.peer)
            == (exchange.remote, exchange.local, self.public_key_of(agent))
            && other.terms == exchange.terms;
        agree.then_some(()).ok_or_else(|| format!("the {name} and its peer do not agree on their connection"))
    }

    /// Checks that only the peers ended a connection: a reset is valid only from the very socket that had it and has
    /// lost it.
    pub fn check_close_reason(
        &self,
        exchange: &Exchange,
        why: &CloseReason,
        incoming: Option<(SocketAddr, &[u8])>,
    ) -> Result<(), String> {
        let other =
            self.find_connection_end(exchange.binding, opposite_side(exchange.side)).map(|(_, other)| other);
        match why {
            CloseReason::Here => exchange
                .is_left
                .then_some(())
                .ok_or_else(|| "an end closed a connection that its application had not closed".to_owned()),
            CloseReason::Peer { .. } => {
                let is_true = other.is_some_and(|other| other.is_left);
                is_true
                    .then_some(())
                    .ok_or_else(|| "a connection was closed in the name of a peer that did not".to_owned())
            }
            CloseReason::Reset => {
                let reset = incoming.map_or(&[][..], |(_, incoming)| incoming);
                let is_owners = exchange.with.is_some_and(|owner| self.agents[owner].resets.contains(reset));
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
            CloseReason::Silent | CloseReason::Unsendable(_) => Ok(()),
            CloseReason::PathMtuTooSmall
            | CloseReason::Protocol
            | CloseReason::Forgeries
            | CloseReason::Failed(_) => Err(format!("a connection failed: {why:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    //! Breaks each rule by hand and verifies that the check fails.
    use super::*;
    use crate::client_server_attacker::{CLIENT, SERVER, numbered_identity};
    use crate::client_server_attacker_tests::connected_world;
    use thalweg_net::wire::ConnectionId;

    #[test]
    fn nothing_is_wrong_with_a_connection() {
        let world = connected_world();
        assert_eq!((world.check_agreement(CLIENT), world.check_agreement(SERVER)), (Ok(()), Ok(())));
        assert!(world.agents[..=SERVER].iter().all(|agent| agent.exchanges[0].received.len() == 1));
    }

    #[test]
    fn ends_that_do_not_agree_are_noticed() {
        let changes: [fn(&mut Exchange); 6] = [
            |exchange| exchange.peer = numbered_identity(3).public(),
            |exchange| exchange.binding = [0; 32],
            |exchange| exchange.local = ConnectionId([0; 8]),
            |exchange| exchange.remote = ConnectionId([0; 8]),
            |exchange| exchange.terms = "other by cubic".to_owned(),
            |exchange| exchange.with = None,
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut world = connected_world();
            change(&mut world.agents[SERVER].exchanges[0]);
            assert!(world.check_agreement(SERVER).is_err(), "{number}");
        }
        let mut world = connected_world();
        let twin = world.agents[CLIENT].exchanges[0].clone();
        world.agents[CLIENT].exchanges.push(twin);
        assert!(world.check_agreement(CLIENT).unwrap_err().contains("one handshake"));
    }

    #[test]
    fn unrequested_closes_are_detected() {
        let world = connected_world();
        let exchange = &world.agents[CLIENT].exchanges[0];
        let peer = CloseReason::Peer { code: 0, reason: String::new() };
        for why in [CloseReason::Here, peer.clone(), CloseReason::Reset, CloseReason::Protocol] {
            assert!(world.check_close_reason(exchange, &why, None).is_err(), "{why:?}");
        }
        // The first reset was sent while the server's socket had the connection, the second after it had lost it.
        let mut world = world;
        let reset = b"a reset".to_vec();
        world.agents[SERVER].resets.insert(reset.clone());
        let incoming = Some((world.agents[SERVER].address, &reset[..]));
        let exchange = world.agents[CLIENT].exchanges[0].clone();
        assert!(
            world
                .check_close_reason(&exchange, &CloseReason::Reset, incoming)
                .unwrap_err()
                .contains("still has")
        );
        world.agents[SERVER].exchanges[0].is_forgotten = true;
        assert_eq!(world.check_close_reason(&exchange, &CloseReason::Reset, incoming), Ok(()));
        world.agents[SERVER].exchanges[0].is_left = true;
        assert_eq!(world.check_close_reason(&exchange, &peer, None), Ok(()));
    }

    #[test]
    fn more_than_three_bytes_for_one_are_noticed() {
        let mut world = connected_world();
        let unvalidated = SocketAddr::from(([192, 0, 2, 9], 9));
        world.agents[SERVER].traffic.insert(unvalidated, (100, 300));
        assert_eq!(world.check_amplification_limit(SERVER), Ok(()));
        world.agents[SERVER].traffic.insert(unvalidated, (100, 301));
        assert!(world.check_amplification_limit(SERVER).unwrap_err().contains("301 bytes"));
    }
}
