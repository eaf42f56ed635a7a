//! Steps of the attacker and of the other agents.

use crate::attacker_knowledge::Knowledge;
use crate::client_server_attacker::{ATTACKER, CLIENT, RemainingSteps, SECOND_SERVER, SERVER, World};
use std::net::SocketAddr;
use thalweg_net::wire::{
    COOKIE_SIZE, ConnectionId, Packet, write_confirm, write_cookie, write_hello, write_reset, write_response,
    write_version,
};

/// A step of the system. Datagrams and pieces are indices into the attacker's knowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttackStep {
    /// The client asks for one more connection.
    Connect,
    /// The attacker requests a connection under its own key, by a connection id of its choice.
    ConnectAttacker(Option<usize>),
    /// A datagram arrives at its destination, for the first time or again.
    Deliver(usize, usize),
    /// A datagram arrives at any agent, with this source address.
    Misdirect(usize, SourceAddress, usize),
    /// An assembled datagram arrives.
    Forge(Forgery, SourceAddress, usize),
    /// The clock advances to the next timer.
    Expire,
    /// The server restarts.
    Restart,
    /// The client closes this connection.
    Close(usize),
}

/// A possible source address of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceAddress {
    Client,
    Server,
    Attacker,
}

/// A datagram assembled from pieces of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgery {
    /// Sent without a cookie, then with the cookie of the answer.
    Hello {
        id: usize,
        first: usize,
    },
    /// With a cookie that answered something.
    HelloWith {
        id: usize,
        cookie: usize,
        first: usize,
    },
    Cookie {
        id: usize,
        cookie: usize,
    },
    Version {
        id: usize,
    },
    Response {
        id: usize,
        message: usize,
    },
    Confirm {
        id: usize,
        message: usize,
    },
    Reset {
        id: usize,
        token: usize,
    },
    /// The encrypted part of a packet under another id.
    Packet {
        id: usize,
        body: usize,
    },
}

impl World {
    fn address(&self, place: SourceAddress) -> SocketAddr {
        match place {
            SourceAddress::Client => self.agents[CLIENT].address,
            SourceAddress::Server => self.agents[SERVER].address,
            SourceAddress::Attacker => ATTACKER.into(),
        }
    }

    /// Returns all possible steps.
    pub fn steps(&self) -> Vec<AttackStep> {
        let mut steps = Vec::new();
        if self.steps_left.connections > 0 {
            steps.push(AttackStep::Connect);
        }
        for (number, datagram) in self.knowledge.datagrams.iter().enumerate() {
            for (agent, to) in self.agents.iter().enumerate() {
                let is_between_attackers = !to.is_honest && !self.agents[datagram.sending_agent].is_honest;
                if to.address == datagram.to && datagram.sending_agent != agent && !is_between_attackers {
                    steps.push(AttackStep::Deliver(number, agent));
                }
            }
        }
        if self.steps_left.restarts > 0 {
            steps.push(AttackStep::Restart);
        }
        if self.steps_left.closes > 0 {
            let open = |number: &usize| {
                let handle = self.attempts[*number].handle;
                self.agents[CLIENT]
                    .exchanges
                    .iter()
                    .any(|exchange| exchange.handle == handle && exchange.is_open())
            };
            steps.extend((0..self.attempts.len()).filter(open).map(AttackStep::Close));
        }
        if self.steps_left.expiries > 0 && self.due().is_some() {
            steps.push(AttackStep::Expire);
        }
        if self.steps_left.intrusions > 0 {
            steps.push(AttackStep::ConnectAttacker(None));
            steps.extend((0..self.knowledge.ids.len()).map(|id| AttackStep::ConnectAttacker(Some(id))));
        }
        if self.steps_left.forgeries > 0 {
            self.forgeries(&mut steps);
        }
        steps
    }

    fn forgeries(&self, steps: &mut Vec<AttackStep>) {
        let routes = [
            (SourceAddress::Server, CLIENT),
            (SourceAddress::Attacker, CLIENT),
            (SourceAddress::Client, SERVER),
            (SourceAddress::Attacker, SERVER),
            (SourceAddress::Attacker, SECOND_SERVER),
        ];
        for (number, datagram) in self.knowledge.datagrams.iter().enumerate() {
            for (from, to) in routes {
                let is_plain = (self.address(from), self.agents[to].address) == (datagram.from, datagram.to);
                if !is_plain && datagram.sending_agent != to {
                    steps.push(AttackStep::Misdirect(number, from, to));
                }
            }
        }
        let known = &self.knowledge;
        let mut forgeries = Vec::new();
        for id in 0..known.ids.len() {
            for first in 0..known.firsts.len() {
                forgeries.push(Forgery::Hello { id, first });
                let cookies = 0..known.cookies.len();
                forgeries.extend(cookies.map(|cookie| Forgery::HelloWith { id, cookie, first }));
            }
            forgeries.push(Forgery::Version { id });
            forgeries.extend((0..known.cookies.len()).map(|cookie| Forgery::Cookie { id, cookie }));
            forgeries.extend((0..known.responses.len()).map(|message| Forgery::Response { id, message }));
            forgeries.extend((0..known.confirms.len()).map(|message| Forgery::Confirm { id, message }));
            forgeries.extend((0..known.tokens.len()).map(|token| Forgery::Reset { id, token }));
            let bodies = known.bodies.iter().enumerate().filter(|(_, (source, _))| *source != known.ids[id]);
            forgeries.extend(bodies.map(|(body, _)| Forgery::Packet { id, body }));
        }
        for forgery in forgeries {
            let bytes = forgery.write(known, &[]);
            for (from, to) in routes {
                let is_known = |datagram: &crate::attacker_knowledge::KnownDatagram| {
                    (datagram.from, datagram.to) == (self.address(from), self.agents[to].address)
                        && datagram.bytes == bytes
                };
                let is_accepted = match forgery {
                    Forgery::Hello { .. } | Forgery::HelloWith { .. } | Forgery::Confirm { .. } => {
                        to != CLIENT
                    }
                    Forgery::Cookie { .. } | Forgery::Version { .. } | Forgery::Response { .. } => {
                        to == CLIENT
                    }
                    Forgery::Reset { .. } | Forgery::Packet { .. } => to != SECOND_SERVER,
                };
                // A hello without a cookie is not a forgery, and with the next cookie it is one.
                let is_plain =
                    !matches!(forgery, Forgery::Hello { .. }) && known.datagrams.iter().any(is_known);
                if is_accepted && !is_plain {
                    steps.push(AttackStep::Forge(forgery, from, to));
                }
            }
        }
    }

    /// Takes a step.
    ///
    /// # Errors
    /// Describes the rule that the step violates.
    pub fn take(&mut self, step: AttackStep) -> Result<(), String> {
        self.sent.clear();
        let RemainingSteps { forgeries, intrusions, expiries, restarts, closes, .. } = &mut self.steps_left;
        match step {
            AttackStep::Connect | AttackStep::Deliver(..) => {}
            AttackStep::ConnectAttacker(_) => *intrusions -= 1,
            AttackStep::Misdirect(..) | AttackStep::Forge(..) => *forgeries -= 1,
            AttackStep::Expire => *expiries -= 1,
            AttackStep::Restart => *restarts -= 1,
            AttackStep::Close(_) => *closes -= 1,
        }
        match step {
            AttackStep::Connect => self.connect()?,
            AttackStep::ConnectAttacker(id) => self.connect_attacker(id.map(|id| self.knowledge.ids[id]))?,
            AttackStep::Deliver(datagram, to) => {
                let known = self.knowledge.datagrams[datagram].clone();
                self.describe(|world| {
                    format!(
                        "{} arrives at the {}",
                        world.knowledge.describe(&known.bytes),
                        world.agents[to].name
                    )
                });
                self.deliver_datagram(to, known.from, &known.bytes)?;
            }
            AttackStep::Misdirect(datagram, from, to) => {
                let bytes = self.knowledge.datagrams[datagram].bytes.clone();
                self.forge(&bytes, from, to, "sends on")?;
            }
            AttackStep::Forge(forgery, from, to) => {
                self.forgets_cookies = matches!(forgery, Forgery::Hello { .. } | Forgery::HelloWith { .. });
                let bytes = forgery.write(&self.knowledge, &[]);
                let mut done = self.forge(&bytes, from, to, "makes");
                if let (Ok(()), Forgery::Hello { .. }) = (&done, forgery) {
                    let answer = self.sent.iter().find_map(|sent| match Packet::read(&sent.bytes) {
                        Some(Packet::Cookie { cookie, .. }) => Some(cookie.to_vec()),
                        _ => None,
                    });
                    if let Some(cookie) = answer {
                        let bytes = forgery.write(&self.knowledge, &cookie);
                        done = self.forge(&bytes, from, to, "makes");
                    }
                }
                self.forgets_cookies = false;
                done?;
            }
            AttackStep::Expire => self.expire()?,
            AttackStep::Restart => self.restart()?,
            AttackStep::Close(attempt) => self.close(attempt)?,
        }
        self.check_ids()
    }

    fn forge(&mut self, bytes: &[u8], from: SourceAddress, to: usize, does: &str) -> Result<(), String> {
        let from = self.address(from);
        self.describe(|world| {
            let (text, to) = (world.knowledge.describe(bytes), world.agents[to].name);
            format!("the attacker {does}, from {from} to the {to}: {text}")
        });
        self.deliver_datagram(to, from, bytes)
    }
}

impl Forgery {
    /// Returns the bytes of the datagram, with the given fresh cookie where one is needed.
    fn write(self, known: &Knowledge, fresh: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let id = |number: usize| -> ConnectionId { known.ids[number] };
        match self {
            Self::Hello { id: source, first } => {
                write_hello(&mut bytes, id(source), fresh, &known.firsts[first]);
            }
            Self::HelloWith { id: source, cookie, first } => {
                write_hello(&mut bytes, id(source), &known.cookies[cookie], &known.firsts[first]);
            }
            Self::Cookie { id: to, cookie } => {
                let cookie = known.cookies[cookie].first_chunk().unwrap_or(&[0; COOKIE_SIZE]);
                write_cookie(&mut bytes, id(to), cookie);
            }
            Self::Version { id: to } => {
                write_version(&mut bytes, id(to));
                // The same version would be no news.
                bytes.iter_mut().last().into_iter().for_each(|version| *version += 1);
            }
            Self::Response { id: to, message } => {
                write_response(&mut bytes, id(to), &known.responses[message]);
            }
            Self::Confirm { id: to, message } => write_confirm(&mut bytes, id(to), &known.confirms[message]),
            Self::Reset { id: of, token } => write_reset(&mut bytes, id(of), &known.tokens[token]),
            Self::Packet { id: to, body } => {
                let source = &known.bodies[body].1;
                thalweg_net::wire::write_header(&mut bytes, id(to), 0);
                bytes.truncate(9);
                bytes.extend_from_slice(source);
            }
        }
        bytes
    }
}
