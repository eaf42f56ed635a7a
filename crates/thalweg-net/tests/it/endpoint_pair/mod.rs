//! Two endpoints over a faulty channel in simulated time; a seed determines the run.
#![allow(dead_code, reason = "not every test uses all of it")]

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use thalweg_net::datagram_batch::Batch;
use thalweg_net::endpoint::{
    Arrival, Connect, Endpoint, EndpointConfig, EndpointEvent, Handle, Limits, Listen, Trust,
};
use thalweg_net::identity::{Entropy, Identity};
use thalweg_net::impair::{DelayedDatagram, LinkDirection};
use thalweg_net::session::{CloseReason, PollResult, SessionConfig, SessionEvent};
use thalweg_proto::Ecn;
use thalweg_proto::payload::{Payload, Slice};
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Time};

/// Deterministic random bytes.
pub struct SeededEntropy(pub RandomStream);

impl Entropy for SeededEntropy {
    fn fill(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = self.0.next_u64() as u8;
        }
    }
}

/// Impairments of datagrams by the channel, in each direction.
#[derive(Clone, Copy, Debug)]
pub struct Channel {
    pub loss: f64,
    pub duplication: f64,
    pub corruption: f64,
    pub delay: Duration,
    /// Maximum random delay of each datagram, which reorders them.
    pub jitter: Duration,
    /// Maximum datagram size; larger ones are lost.
    pub mtu: usize,
    /// True if the sender's host refuses larger ones with an error.
    pub refuses: bool,
    /// End of a blackout.
    pub dark_until: Time,
    /// Probability of a CE mark.
    pub marks: f64,
    /// True if ECN-capable datagrams are lost.
    pub loses_ect: bool,
}

impl Default for Channel {
    fn default() -> Self {
        Self {
            loss: 0.0,
            duplication: 0.0,
            corruption: 0.0,
            delay: Duration::from_millis(10),
            jitter: Duration::ZERO,
            mtu: 1500,
            refuses: false,
            dark_until: Time::ZERO,
            marks: 0.0,
            loses_ect: false,
        }
    }
}

/// Endpoint with its application, which writes `to_write` and stores the received data.
pub struct End {
    pub endpoint: Endpoint,
    pub address: SocketAddr,
    pub handle: Option<Handle>,
    pub to_write: VecDeque<Slice>,
    pub finish: bool,
    finished_writing: bool,
    pub received: Vec<u8>,
    pub has_ended: bool,
    pub finished: bool,
    pub closed: Option<CloseReason>,
    pub events: Vec<EndpointEvent>,
    pub wake: Time,
    pub bytes_out: u64,
    pub bytes_in: u64,
    /// True if the application reads; otherwise delivered data stays queued.
    pub reads: bool,
    /// True if the application authorises every peer.
    pub authorises: bool,
    unread: u64,
}

/// Source, destination, bytes, codepoint.
type InFlight = (SocketAddr, SocketAddr, Vec<u8>, Ecn);

pub struct Pair {
    pub now: Time,
    pub ends: [End; 2],
    pub channel: Channel,
    pub random: RandomStream,
    wire: BTreeMap<(Time, u64), InFlight>,
    count: u64,
    /// All sent datagrams: source, destination, size.
    pub log: Vec<(SocketAddr, SocketAddr, usize)>,
    /// Numbers of sent datagrams by codepoint.
    pub codepoints: [u64; 4],
    /// Contents of sent datagrams, if enabled.
    pub record: Option<Vec<(SocketAddr, SocketAddr, Vec<u8>)>>,
    /// Address of an on-path attacker that copies the client's packets and is faster.
    pub thief: Option<SocketAddr>,
    /// Line for the client's datagrams instead of the channel's delay, and one for the server's.
    pub bottleneck: Option<LinkDirection>,
    pub return_line: Option<LinkDirection>,
    /// Time of the test's next action; cleared once reached.
    pub wake: Time,
    seed: u64,
}

pub const CLIENT: &str = "192.0.2.1:1000";
pub const SERVER: &str = "[2001:db8::2]:2000";

pub fn identity(number: u8) -> Identity {
    Identity::from_secret([number; 32])
}

pub fn server_config() -> EndpointConfig {
    EndpointConfig {
        listen: Some(Listen::new(Trust::Anyone, ["test"])),
        max_datagram_bytes: 9000,
        place: Some(b"here".to_vec()),
        ..EndpointConfig::new(identity(2))
    }
}

pub fn client_config() -> EndpointConfig {
    EndpointConfig { max_datagram_bytes: 9000, ..EndpointConfig::new(identity(1)) }
}

pub fn connect(scheme: &str) -> Connect {
    Connect {
        remote: SERVER.parse().unwrap(),
        trust: Trust::only(identity(2).public()),
        service: "test".into(),
        scheme: scheme.parse().unwrap(),
        recorder: None,
    }
}

/// Returns pseudo-random bytes without repetition.
pub fn pattern(seed: u64, length: usize) -> Vec<u8> {
    let mut random = RandomStream::new(seed, "pattern", 0);
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.extend_from_slice(&random.next_u64().to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

impl End {
    fn new(config: EndpointConfig, address: &str, seed: u64) -> Self {
        let entropy = SeededEntropy(RandomStream::new(seed, address, 0));
        Self {
            endpoint: Endpoint::new(Time::ZERO, config, Box::new(entropy)),
            address: address.parse().unwrap(),
            handle: None,
            to_write: VecDeque::new(),
            finish: false,
            finished_writing: false,
            received: Vec::new(),
            has_ended: false,
            finished: false,
            closed: None,
            events: Vec::new(),
            wake: Time::ZERO,
            bytes_out: 0,
            bytes_in: 0,
            reads: true,
            authorises: true,
            unread: 0,
        }
    }

    pub fn write(&mut self, bytes: &[u8]) {
        self.to_write.extend(bytes.chunks(10_000).map(Slice::new));
        self.finish = true;
    }

    fn application(&mut self, now: Time) {
        while let Some((handle, event)) = self.endpoint.event() {
            match &event {
                EndpointEvent::Accepted { .. } | EndpointEvent::Connected { .. } => {
                    self.handle = Some(handle);
                    if self.authorises {
                        self.endpoint.authorise(handle);
                    }
                }
                EndpointEvent::Session(SessionEvent::Delivered(data)) => {
                    self.received.extend_from_slice(data.as_bytes());
                    self.unread += u64::from(data.len());
                }
                EndpointEvent::Session(SessionEvent::PeerStreamEnded { stopped: false }) => {
                    self.has_ended = true;
                }
                EndpointEvent::Session(SessionEvent::OwnStreamAcknowledged) => self.finished = true,
                EndpointEvent::Session(SessionEvent::Closed(why)) => self.closed = Some(why.clone()),
                _ => {}
            }
            if !matches!(event, EndpointEvent::Session(SessionEvent::Delivered(_))) {
                self.events.push(event);
            }
        }
        let Some(handle) = self.handle else { return };
        let Some(session) = self.endpoint.session(handle) else { return };
        let mut changed = false;
        if self.reads && self.unread > 0 {
            session.consumed(now, std::mem::take(&mut self.unread));
            changed = true;
        }
        while session.writable_bytes() > 0
            && let Some(piece) = self.to_write.pop_front()
        {
            session.write(now, piece);
            changed = true;
        }
        if self.to_write.is_empty() && self.finish && !self.finished_writing {
            self.finished_writing = true;
            session.finish(now);
            changed = true;
        }
        if changed {
            self.endpoint.schedule_poll(handle);
        }
    }
}

impl Pair {
    pub fn new(seed: u64, channel: Channel) -> Self {
        Self::with(seed, channel, client_config(), server_config())
    }

    pub fn with(seed: u64, channel: Channel, client: EndpointConfig, server: EndpointConfig) -> Self {
        Self {
            now: Time::ZERO + Duration::from_secs(1),
            ends: [End::new(client, CLIENT, seed), End::new(server, SERVER, seed)],
            channel,
            random: RandomStream::new(seed, "channel", 0),
            wire: BTreeMap::new(),
            count: 0,
            log: Vec::new(),
            codepoints: [0; 4],
            record: None,
            thief: None,
            bottleneck: None,
            return_line: None,
            wake: Time::MAX,
            seed,
        }
    }

    pub fn connect(&mut self, scheme: &str) {
        self.ends[0].handle = Some(self.ends[0].endpoint.connect(self.now, connect(scheme)));
    }

    /// Restarts the server without its state, with this configuration.
    pub fn restart_server(&mut self, config: EndpointConfig) {
        self.seed += 1000;
        self.ends[1] = End::new(config, SERVER, self.seed);
    }

    /// Puts a datagram on the wire.
    pub fn put(&mut self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        self.put_with(Ecn::NotEct, from, to, bytes);
    }

    fn put_with(&mut self, ecn: Ecn, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        if let Some(thief) = self.thief.filter(|_| from == self.ends[0].address) {
            self.log.push((thief, to, bytes.len()));
            self.count += 1;
            let at = self.now + self.channel.delay / 2;
            self.wire.insert((at, self.count), (thief, to, bytes.to_vec(), Ecn::NotEct));
        }
        self.log.push((from, to, bytes.len()));
        self.codepoints[usize::from(ecn.bits())] += 1;
        if let Some(record) = &mut self.record {
            record.push((from, to, bytes.to_vec()));
        }
        let channel = self.channel;
        let copies = 1 + u64::from(self.random.chance(channel.duplication));
        for _ in 0..copies {
            if self.random.chance(channel.loss) || bytes.len() > channel.mtu || self.now < channel.dark_until
            {
                continue;
            }
            if ecn.is_capable() && channel.loses_ect {
                continue;
            }
            let mut bytes = bytes.to_vec();
            if self.random.chance(channel.corruption) {
                let bit = self.random.below(bytes.len() as u64 * 8) as usize;
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            let ecn = if self.random.chance(channel.marks) { Ecn::Ce } else { ecn };
            let is_clients = from == self.ends[0].address;
            if let Some(line) = if is_clients { &mut self.bottleneck } else { &mut self.return_line } {
                line.arrive(self.now, DelayedDatagram { bytes, header: 28, flow: 0, ecn });
                continue;
            }
            let at = self.now + channel.delay + self.random.uniform_duration(channel.jitter);
            self.count += 1;
            self.wire.insert((at, self.count), (from, to, bytes, ecn));
        }
    }

    /// Polls both ends and advances to the next event. Returns false if there will be none.
    pub fn step(&mut self) -> bool {
        self.act();
        self.advance()
    }

    /// Polls both ends.
    fn act(&mut self) {
        let mut batch = Batch::new();
        for index in 0..2 {
            for turn in 0.. {
                assert!(turn < 10_000, "an endpoint spins");
                self.ends[index].application(self.now);
                batch.clear();
                let next = self.ends[index].endpoint.poll(self.now, &mut batch);
                let from = self.ends[index].address;
                let is_idle = batch.is_empty();
                let is_refused = |segment: usize| self.channel.refuses && segment > self.channel.mtu;
                let datagrams: Vec<_> = batch
                    .datagrams()
                    .filter(|(run, _)| !is_refused(run.segment_bytes))
                    .map(|(run, bytes)| (run.clone(), bytes.to_vec()))
                    .collect();
                for run in batch.runs().iter().filter(|run| is_refused(run.segment_bytes)) {
                    let refused = batch.bytes(run);
                    self.ends[index].endpoint.on_refused(
                        self.now,
                        run.destination,
                        run.segment_bytes,
                        refused,
                    );
                }
                for (run, bytes) in datagrams {
                    self.ends[index].bytes_out += bytes.len() as u64;
                    self.put_with(run.purpose.ecn(), from, run.destination, &bytes);
                }
                if let PollResult::At(at) = next {
                    self.ends[index].wake = at;
                    if is_idle {
                        break;
                    }
                }
            }
            self.ends[index].application(self.now);
        }
    }

    fn advance(&mut self) -> bool {
        let arrival = self.wire.first_key_value().map_or(Time::MAX, |(&(at, _), _)| at);
        let lines = [&self.bottleneck, &self.return_line];
        let through = lines.into_iter().flatten().filter_map(LinkDirection::next).min().unwrap_or(Time::MAX);
        let next = arrival.min(through).min(self.ends[0].wake).min(self.ends[1].wake).min(self.wake);
        if next == Time::MAX {
            return false;
        }
        self.now = self.now.max(next);
        if self.wake <= self.now {
            self.wake = Time::MAX;
        }
        let [client, server] = [self.ends[0].address, self.ends[1].address];
        let routes = [(&mut self.bottleneck, client, server), (&mut self.return_line, server, client)];
        for (line, from, to) in routes {
            while let Some(datagram) = line.as_mut().and_then(|line| line.poll(self.now)) {
                self.count += 1;
                self.wire.insert((self.now, self.count), (from, to, datagram.bytes, datagram.ecn));
            }
        }
        while let Some(entry) = self.wire.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (from, to, bytes, ecn) = entry.remove();
            if let Some(end) = self.ends.iter_mut().find(|end| end.address == to) {
                end.bytes_in += bytes.len() as u64;
                let stride = bytes.len();
                end.endpoint.receive(self.now, Arrival { from, ecn }, stride, bytes, Slice::new);
            }
        }
        true
    }

    /// Steps until `done`, for at most `span` of simulated time. `done` sees all data received so far and may write at
    /// once.
    pub fn run_applications(&mut self, span: Duration, mut done: impl FnMut(&mut Self) -> bool) {
        self.run(span, |pair| {
            pair.act();
            done(pair)
        });
    }

    /// Steps until `done`, for at most `span` of simulated time.
    pub fn run(&mut self, span: Duration, mut done: impl FnMut(&mut Self) -> bool) {
        let end = self.now + span;
        while !done(self) {
            assert!(self.now < end, "not done after {span}: {}", self.describe());
            let goes_on = self.step();
            assert!(goes_on || done(self), "nothing will ever happen: {}", self.describe());
        }
    }

    /// Transfers both streams, and checks that they arrive complete and that both ends learn of it.
    pub fn transfer(&mut self, scheme: &str, seed: u64, lengths: [usize; 2], span: Duration) {
        let data = [pattern(seed, lengths[0]), pattern(seed + 1, lengths[1])];
        self.connect(scheme);
        for (end, data) in self.ends.iter_mut().zip(&data) {
            end.write(data);
        }
        self.run(span, |pair| pair.ends.iter().all(|end| end.finished && end.has_ended));
        for (end, data) in self.ends.iter().zip([&data[1], &data[0]]) {
            assert!(end.received == **data, "{} bytes of {} are wrong", end.received.len(), data.len());
        }
    }

    pub fn describe(&mut self) -> String {
        let now = self.now;
        let end = |end: &mut End| {
            let stats = end.handle.and_then(|handle| Some(end.endpoint.session(handle)?.stats(now)));
            format!(
                "received {} ended {} finished {} closed {:?} events {:?} {stats:?} {:?}",
                end.received.len(),
                end.has_ended,
                end.finished,
                end.closed,
                end.events,
                end.endpoint.stats(),
            )
        };
        let [client, server] = &mut self.ends;
        format!("at {now}: client {}, server {}", end(client), end(server))
    }
}

/// Requires a cookie of every hello.
pub fn wants_cookies(mut config: EndpointConfig) -> EndpointConfig {
    config.limits.unvalidated = 0;
    config
}

/// Shortens the timeouts, to keep tests of them short.
pub fn with_short_timeouts(mut config: EndpointConfig) -> EndpointConfig {
    config.session = SessionConfig {
        idle: Duration::from_secs(5),
        keep_alive: Duration::from_secs(1),
        ..SessionConfig::default()
    };
    config.limits = Limits { connections: 4, handshakes: 8, handshakes_per_second: 100, ..Limits::default() };
    config
}
