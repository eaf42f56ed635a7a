//! A client, a server, another socket of the server's identity, and the attacker, with the rules that must hold between
//! them.

use crate::attacker_knowledge::{Knowledge, KnownDatagram};
use crate::endpoint_agent::{Agent, opposite_side};
use crate::{Bounds, Fault};
use core::hash::{Hash as _, Hasher as _};
use std::net::SocketAddr;
use thalweg_explore::Fnv;
use thalweg_net::endpoint::{
    Connect, ConnectError, EndpointConfig, EndpointEvent, Handle, Limits, Listen, Trust,
};
use thalweg_net::flow::Scheme;
use thalweg_net::identity::Identity;
use thalweg_net::session::{SessionConfig, SessionEvent, Side, code};
use thalweg_net::wire::{ConnectionId, Packet, SAFE_DATAGRAM, write_header, write_hello};
use thalweg_proto::state_digest::Digest as _;
use thalweg_proto::units::{Duration, Time};

/// Agents by number.
pub const CLIENT: usize = 0;
pub const SERVER: usize = 1;
/// Another socket of the server's identity.
pub const SECOND_SERVER: usize = 2;
/// The attacker as a client trusted by the server.
pub const TRUSTED_ATTACKER: usize = 3;

/// Source address of the attacker under its own key.
pub const ATTACKER: ([u8; 4], u16) = ([192, 0, 2, 66], 666);

/// Remaining budget of each kind of step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RemainingSteps {
    pub connections: u8,
    pub forgeries: u8,
    pub intrusions: u8,
    pub expiries: u8,
    pub restarts: u8,
    pub closes: u8,
}

/// A connection requested by the client.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub handle: Handle,
    pub failed: Option<ConnectError>,
}

pub struct World {
    scheme: Scheme,
    pub fault: Fault,
    pub now: Time,
    pub agents: Vec<Agent>,
    pub knowledge: Knowledge,
    pub attempts: Vec<Attempt>,
    pub steps_left: RemainingSteps,
    /// Datagrams sent since this list was last emptied.
    pub sent: Vec<KnownDatagram>,
    /// Trace, where requested.
    pub log: Option<Vec<String>>,
    /// New cookies are not added to the attacker's knowledge: it can request another at any time.
    pub forgets_cookies: bool,
}

impl World {
    pub fn new(bounds: &Bounds, fault: Fault, log: bool) -> Self {
        let now = Time::ZERO + Duration::from_secs(1);
        let trust = Trust::Keys([numbered_identity(1).public(), numbered_identity(3).public()].into());
        let place = |name: &str| Some(if fault == Fault::Tokens { Vec::new() } else { name.into() });
        // With a cookie fault, each hello needs a cookie.
        let needs_cookie = matches!(fault, Fault::CookieAgain | Fault::CookieUnbound);
        let unvalidated = if needs_cookie { 0 } else { usize::from(bounds.unvalidated) };
        let server = |name, trust, key| EndpointConfig {
            listen: Some(Listen::new(trust, ["test"])),
            place: place(name),
            limits: Limits { unvalidated, ..Limits::default() },
            ..quiet_endpoint_config(key)
        };
        let [client, there, beside, attacker] =
            [([192, 0, 2, 1], 1000), ([192, 0, 2, 2], 4747), ([192, 0, 2, 2], 4748), ATTACKER]
                .map(SocketAddr::from);
        let agents = vec![
            Agent::new(now, "client", true, client, quiet_endpoint_config(1)),
            Agent::new(now, "server", true, there, server("server", trust.clone(), 2)),
            Agent::new(now, "other socket", true, beside, server("other socket", trust, 2)),
            Agent::new(now, "insider", false, attacker, quiet_endpoint_config(3)),
            Agent::new(now, "pretender", false, there, server("pretender", Trust::Anyone, 3)),
        ];
        let left = RemainingSteps {
            connections: bounds.connections,
            forgeries: bounds.forgeries,
            intrusions: bounds.intrusions,
            expiries: bounds.expiries,
            restarts: bounds.restarts,
            closes: bounds.closes,
        };
        Self {
            scheme: "cubic".parse().expect("it is a scheme"),
            fault,
            now,
            agents,
            knowledge: Knowledge::new(),
            attempts: Vec::new(),
            steps_left: left,
            sent: Vec::new(),
            log: log.then(Vec::new),
            forgets_cookies: false,
        }
    }

    pub fn describe(&mut self, line: impl FnOnce(&Self) -> String) {
        if self.log.is_some() {
            let line = line(self);
            self.log.iter_mut().for_each(|log| log.push(line.clone()));
        }
    }

    /// Returns a hash of the state that determines the future, without the remaining budget.
    pub fn digest(&self) -> u128 {
        let mut hash = Fnv::new();
        for agent in &self.agents {
            agent.endpoint.feed_state(self.now, &mut hash);
            (agent.draw_count(), &agent.used_cookies).hash(&mut hash);
            for exchange in &agent.exchanges {
                (
                    exchange.binding,
                    exchange.is_left,
                    exchange.is_forgotten,
                    exchange.closed.is_some(),
                    &exchange.received,
                )
                    .hash(&mut hash);
            }
        }
        self.knowledge.hash().hash(&mut hash);
        self.attempts.len().hash(&mut hash);
        hash.write_u8(0);
        hash.value()
    }

    /// Requests a connection by the client.
    pub fn connect(&mut self) -> Result<(), String> {
        self.steps_left.connections = self.steps_left.connections.saturating_sub(1);
        self.describe(|world| format!("the client asks for connection {}", world.attempts.len() + 1));
        let request = self.request(Trust::only(numbered_identity(2).public()));
        let handle = self.agents[CLIENT].connect(self.now, request, None);
        self.attempts.push(Attempt { handle, failed: None });
        self.poll_agent(CLIENT, None)
    }

    /// Requests a connection by the attacker under its own key, optionally by another agent's id.
    pub fn connect_attacker(&mut self, id: Option<ConnectionId>) -> Result<(), String> {
        self.describe(|world| match id {
            Some(id) => {
                format!(
                    "the attacker asks the server for a connection and calls it {}",
                    world.knowledge.name(id)
                )
            }
            None => "the attacker asks the server for a connection".to_owned(),
        });
        let request = self.request(Trust::Anyone);
        self.agents[TRUSTED_ATTACKER].connect(self.now, request, id);
        self.poll_agent(TRUSTED_ATTACKER, None)
    }

    fn request(&self, trust: Trust) -> Connect {
        Connect {
            remote: self.agents[SERVER].address,
            trust,
            service: "test".to_owned(),
            scheme: self.scheme.clone(),
            recorder: None,
        }
    }

    pub fn restart(&mut self) -> Result<(), String> {
        self.describe(|_| "the server restarts without state".to_owned());
        self.agents[SERVER].restart(self.now);
        self.poll_agent(SERVER, None)
    }

    /// Closes a connection by the client's application.
    pub fn close(&mut self, attempt: usize) -> Result<(), String> {
        self.describe(|_| format!("the client closes connection {}", attempt + 1));
        let handle = self.attempts[attempt].handle;
        let client = &mut self.agents[CLIENT];
        client
            .exchanges
            .iter_mut()
            .filter(|exchange| exchange.handle == handle)
            .for_each(|exchange| exchange.is_left = true);
        client.endpoint.abandon(self.now, handle, code::DONE, "");
        self.poll_agent(CLIENT, None)
    }

    /// Advances the clock to the earliest timer of an honest agent.
    pub fn expire(&mut self) -> Result<(), String> {
        let Some(due) = self.due() else { return Ok(()) };
        let (before, now) = (self.now, self.now.max(due));
        self.now = now;
        self.describe(|_| format!("{} pass", now.since(before)));
        (0..self.agents.len()).try_for_each(|agent| self.poll_agent(agent, None))
    }

    pub fn due(&self) -> Option<Time> {
        let due = self.agents.iter().filter(|agent| agent.is_honest).map(|agent| agent.next_poll).min();
        due.filter(|due| *due < Time::MAX)
    }

    /// Delivers a datagram to an agent, with the given source address.
    pub fn deliver_datagram(
        &mut self,
        agent: usize,
        from: SocketAddr,
        datagram: &[u8],
    ) -> Result<(), String> {
        let now = self.now;
        let receiver = &mut self.agents[agent];
        receiver.traffic.entry(from).or_default().0 += datagram.len() as u64;
        let Some(Packet::Hello { source, cookie, message }) = Packet::read(datagram) else {
            receiver.receive(now, from, datagram);
            return self.poll_agent(agent, Some((from, datagram)));
        };
        let before = receiver.endpoint.stats().handshakes;
        receiver.receive(now, from, datagram);
        let issued = receiver.issued.get(cookie).cloned();
        let is_issued = |is_same: bool| {
            issued.as_ref().is_some_and(|(address, id, first)| {
                (*address, *id, first == message) == (from, source, is_same)
            })
        };
        let is_bent = match self.fault {
            Fault::CookieAgain => is_issued(true),
            Fault::CookieUnbound => is_issued(false),
            Fault::HelloAgain => cookie.is_empty(),
            _ => false,
        };
        if is_bent && agent == SERVER && receiver.endpoint.stats().handshakes == before {
            self.take_anyway(from, source, message);
        }
        let receiver = &mut self.agents[agent];
        if receiver.endpoint.stats().handshakes > before && receiver.is_honest {
            let wrong = if cookie.is_empty() {
                let mut exchanges = receiver
                    .exchanges
                    .iter()
                    .filter(|exchange| exchange.is_open() && exchange.side == Side::Server);
                exchanges
                    .any(|exchange| exchange.remote == source)
                    .then_some("a hello without a cookie admitted a handshake beside its connection")
            } else if !receiver.used_cookies.insert(cookie.to_owned()) {
                Some("a cookie admitted a second handshake")
            } else if issued.is_none_or(|issued| issued != (from, source, message.to_owned())) {
                Some("a cookie admitted a handshake that it was not issued for")
            } else {
                None
            };
            if let Some(wrong) = wrong {
                let _ = self.poll_agent(agent, Some((from, datagram)));
                return Err(wrong.to_owned());
            }
        }
        self.poll_agent(agent, Some((from, datagram)))
    }

    /// Applies a cookie fault: a hello that is answered with a new cookie is handled as if it carried that cookie.
    fn take_anyway(&mut self, from: SocketAddr, source: ConnectionId, message: &[u8]) {
        // Cookies of different times differ.
        self.now += Duration::from_nanos(1);
        let server = &mut self.agents[SERVER];
        let (sent, _) = server.poll(self.now, SERVER);
        let mut hello = Vec::new();
        if sent.iter().any(|sent| matches!(Packet::read(&sent.bytes), Some(Packet::Cookie { .. }))) {
            write_hello(&mut hello, source, &[], message);
            server.receive(self.now, from, &hello);
        } else {
            // A repeated answer to a known hello starts no handshake.
            self.sent.extend(sent);
            return;
        }
        for answer in server.poll(self.now, SERVER).0 {
            if let Some(Packet::Cookie { cookie, .. }) = Packet::read(&answer.bytes) {
                hello.clear();
                write_hello(&mut hello, source, cookie, message);
                server.receive(self.now, from, &hello);
            }
        }
    }

    /// Polls an agent after an input, and checks the rules; `incoming` is the datagram received, with its source address.
    fn poll_agent(&mut self, agent: usize, incoming: Option<(SocketAddr, &[u8])>) -> Result<(), String> {
        loop {
            let (sent, events) = self.agents[agent].poll(self.now, agent);
            if sent.is_empty() && events.is_empty() {
                break;
            }
            for datagram in sent {
                self.on_sent(datagram, incoming);
            }
            for (handle, event) in events {
                self.on_event(agent, handle, event, incoming)?;
            }
        }
        self.check_amplification_limit(agent)
    }

    fn on_sent(&mut self, datagram: KnownDatagram, incoming: Option<(SocketAddr, &[u8])>) {
        let sender = &mut self.agents[datagram.sending_agent];
        sender.traffic.entry(datagram.to).or_default().1 += datagram.bytes.len() as u64;
        let mut is_kept = true;
        match Packet::read(&datagram.bytes) {
            Some(Packet::Cookie { cookie, .. }) => {
                is_kept = !self.forgets_cookies;
                if let Some((from, Some(Packet::Hello { source, message, .. }))) =
                    incoming.map(|(from, incoming)| (from, Packet::read(incoming)))
                {
                    sender.issued.insert(cookie.to_owned(), (from, source, message.to_owned()));
                }
            }
            Some(Packet::Response { message, .. }) => {
                if let Some((from, Some(Packet::Hello { cookie, .. }))) =
                    incoming.map(|(from, incoming)| (from, Packet::read(incoming)))
                    && !cookie.is_empty()
                {
                    sender.validated.insert(from);
                }
                sender.responses.insert(message.to_owned());
            }
            Some(Packet::Reset { .. }) => {
                sender.resets.insert(datagram.bytes.clone());
            }
            _ => {}
        }
        if is_kept {
            self.knowledge.learn(datagram.clone());
        }
        self.describe(|world| {
            format!(
                "    {} -> {}",
                world.agents[datagram.sending_agent].name,
                world.knowledge.describe(&datagram.bytes)
            )
        });
        self.sent.push(datagram);
    }

    pub fn on_event(
        &mut self,
        agent: usize,
        handle: Handle,
        event: EndpointEvent,
        incoming: Option<(SocketAddr, &[u8])>,
    ) -> Result<(), String> {
        let name = self.agents[agent].name;
        match event {
            EndpointEvent::Connected { .. } => {
                let message = match incoming.and_then(|(_, incoming)| Packet::read(incoming)) {
                    Some(Packet::Response { message, .. }) => message,
                    _ => &[],
                };
                let with = self.agents.iter().position(|other| other.responses.contains(message));
                self.agents[agent].on_established(handle, with);
                self.describe(|_| format!("    {name}: connected"));
                self.check_agreement(agent)
            }
            EndpointEvent::Accepted { .. } => {
                let Some(session) = self.agents[agent].endpoint.session(handle) else { return Ok(()) };
                let binding = session.agreed().binding;
                let with = self.find_connection_end(binding, Side::Client).map(|(number, _)| number);
                self.agents[agent].on_established(handle, with);
                self.describe(|_| format!("    {name}: a client has connected"));
                self.check_agreement(agent)
            }
            EndpointEvent::NotConnected(error) => {
                self.describe(|_| format!("    {name}: no connection: {error:?}"));
                let attempt =
                    self.attempts.iter_mut().find(|attempt| agent == CLIENT && attempt.handle == handle);
                attempt.into_iter().for_each(|attempt| attempt.failed = Some(error.clone()));
                Ok(())
            }
            EndpointEvent::Session(SessionEvent::Closed(why)) => {
                self.describe(|_| format!("    {name}: the connection is over: {why:?}"));
                let is_honest = self.agents[agent].is_honest;
                let Some(exchange) = self.agents[agent].exchange(handle) else { return Ok(()) };
                exchange.closed = Some(why.clone());
                let exchange = exchange.clone();
                if is_honest { self.check_close_reason(&exchange, &why, incoming) } else { Ok(()) }
            }
            EndpointEvent::Session(SessionEvent::Datagram(data)) => {
                let payload = data.as_bytes().to_vec();
                let Some(exchange) = self.agents[agent].exchange(handle) else { return Ok(()) };
                let is_new = !exchange.received.contains(&payload);
                exchange.received.push(payload.clone());
                let (binding, other) = (exchange.binding, opposite_side(exchange.side));
                self.describe(|_| format!("    {name}: receives the other end's data"));
                if !is_new {
                    return Err(format!("the {name} accepted a datagram twice"));
                }
                let is_genuine = self
                    .find_connection_end(binding, other)
                    .is_some_and(|(_, exchange)| exchange.payload == payload);
                is_genuine
                    .then_some(())
                    .ok_or_else(|| format!("the {name} received data that the other end never sent"))
            }
            EndpointEvent::Refused(_) | EndpointEvent::Session(_) => Ok(()),
        }
    }

    /// Stops the attacker: from here on everything arrives at its destination, at once. Each connection requested by
    /// the client is then established, or closed at both endpoints for a verified reason.
    pub fn run_without_attacker(&mut self) -> Result<(), String> {
        let until = self.now + MAX_SETTLING_TIME;
        self.sent.clear();
        self.describe(|_| "from here on the attacker does nothing".to_owned());
        if self.attempts.is_empty() {
            self.connect()?;
        }
        while !self.is_settled() {
            let mut at = 0;
            while let Some(KnownDatagram { sending_agent: by, from, to, bytes }) = self.sent.get(at).cloned()
            {
                at += 1;
                let honest = self.agents.iter().position(|agent| agent.is_honest && agent.address == to);
                if let Some(agent) = honest.filter(|_| self.agents[by].is_honest) {
                    self.describe(|world| {
                        format!(
                            "{} arrives at the {}",
                            world.knowledge.describe(&bytes),
                            world.agents[agent].name
                        )
                    });
                    self.deliver_datagram(agent, from, &bytes)?;
                }
            }
            self.sent.clear();
            if self.is_settled() {
                break;
            }
            if self.now >= until || self.due().is_none() {
                return Err("the client waits forever, although the attacker has stopped".to_owned());
            }
            self.expire()?;
        }
        match self.attempts.iter().find_map(|attempt| attempt.failed.as_ref()) {
            Some(error) => Err(format!("the client gives up, although the attacker has stopped: {error:?}")),
            None => Ok(()),
        }
    }

    /// Returns true when each connection requested by the client is established at both endpoints, or closed.
    pub fn is_settled(&self) -> bool {
        self.attempts.iter().all(|attempt| {
            let exchange =
                self.agents[CLIENT].exchanges.iter().find(|exchange| exchange.handle == attempt.handle);
            match exchange {
                None => attempt.failed.is_some(),
                Some(exchange) => {
                    let other = self.find_connection_end(exchange.binding, Side::Server);
                    !exchange.is_open() || other.is_some_and(|(_, other)| other.is_open())
                }
            }
        })
    }

    /// Queries every agent that answers statelessly about every connection id that the attacker has observed.
    pub fn check_ids(&mut self) -> Result<(), String> {
        for agent in [SERVER, SECOND_SERVER] {
            for place in 0..self.knowledge.ids.len() {
                let id = self.knowledge.ids[place];
                let is_answered = self.agents[agent].resets.iter().any(
                    |reset| matches!(Packet::read(reset), Some(Packet::Reset { destination, .. }) if destination == id),
                );
                if is_answered {
                    continue;
                }
                let mut question = Vec::new();
                write_header(&mut question, id, 0);
                question.resize(usize::from(SAFE_DATAGRAM) / 30, 0xa5);
                let before = self.agents[agent].resets.len();
                let log = self.log.take();
                let result = self.deliver_datagram(agent, ATTACKER.into(), &question);
                self.log = log;
                result?;
                if self.agents[agent].resets.len() > before {
                    self.describe(|world| {
                        let (name, id) = (world.agents[agent].name, world.knowledge.name(id));
                        format!("the attacker asks the {name} about {id}\n    {name} -> reset of {id}")
                    });
                }
            }
        }
        Ok(())
    }
}

/// Maximum duration of a run without the attacker: a handshake with a margin, and then silence.
const MAX_SETTLING_TIME: Duration = Duration::from_secs(90);

pub fn numbered_identity(number: u8) -> Identity {
    Identity::from_secret([number; 32])
}

/// Quiet but for what the search is about: no search for the size of the path, no signs of life.
fn quiet_endpoint_config(number: u8) -> EndpointConfig {
    EndpointConfig {
        max_datagram_bytes: SAFE_DATAGRAM,
        session: SessionConfig { keep_alive: Duration::MAX, ..SessionConfig::default() },
        limits: Limits::default(),
        ..EndpointConfig::new(numbered_identity(number))
    }
}
