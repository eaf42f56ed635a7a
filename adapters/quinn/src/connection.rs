//! One end of a connection of `quinn-proto`, or of its fork `noq-proto`.

use crate::fork_specific_api::{self, Random as _, proto};
use bytes::Bytes;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use proto::congestion::ControllerFactory;
use proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use proto::{
    ClientConfig, Connection as QuicConnection, ConnectionError, ConnectionHandle, ConnectionId,
    ConnectionIdGenerator, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig, Event, NoneTokenStore,
    ServerConfig, StreamEvent, StreamId, Transmit as Datagrams, TransportConfig, VarInt,
};
use std::collections::VecDeque;
use std::sync::Arc;
use thalweg_stack_contract::{
    Config, Connection, Ecn, Failure, Side, State, Stats, Time, Transmit, exchange_events, random,
    simulated_instant, stack_qlog_files,
};

/// Address of either end: there is one peer.
const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 4433);

/// Length of connection ids, in bytes: the default.
const CONNECTION_ID_BYTES: usize = 8;
/// Length of the destination id that a client chooses at first, in bytes: the default.
const FIRST_CONNECTION_ID_BYTES: usize = 20;

/// Random connection ids, from the random numbers of the connection.
struct Ids;

impl Ids {
    fn draw(length: usize) -> ConnectionId {
        let mut bytes = [0; FIRST_CONNECTION_ID_BYTES];
        rand::rng().fill_bytes(&mut bytes[..length]);
        ConnectionId::new(&bytes[..length])
    }
}

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        Self::draw(CONNECTION_ID_BYTES)
    }

    fn cid_len(&self) -> usize {
        CONNECTION_ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<core::time::Duration> {
        None
    }
}

/// Lets the generator of this thread continue with numbers of this connection: it may have those of another.
fn reseed_thread_generator() {
    // The first use in a thread draws a seed, which must not depend on the thread.
    random::with_generator(&mut random::Generator::new(0), || drop(rand::rng()));
    rand::rng().reseed().expect("the connection has random numbers");
}

/// One end of a connection, with an endpoint of its own.
pub struct End {
    endpoint: Endpoint,
    /// `None` at a server until the first packet.
    connection: Option<(ConnectionHandle, QuicConnection)>,
    max_datagrams: usize,
    stream: Option<StreamId>,
    is_connected: bool,
    /// True if the stream ends as soon as it is open.
    is_ending: bool,
    state: State,
    /// Datagrams of the endpoint itself.
    responses: VecDeque<(Vec<u8>, Ecn)>,
    /// Lost packets.
    lost: u64,
}

impl fmt::Debug for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("End")
            .field("state", &self.state)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

impl End {
    /// Opens an end with this controller.
    ///
    /// # Panics
    ///
    /// If the stack refuses its own defaults.
    pub fn new(
        scheme: &'static str,
        side: Side,
        config: &Config,
        controller: Arc<dyn ControllerFactory + Send + Sync>,
        now: Time,
    ) -> Self {
        reseed_thread_generator();
        let mut seed = [0; 32];
        rand::rng().fill_bytes(&mut seed);
        let mut transport = transport_config(config, controller);
        let number = seed.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte));
        if let Some(file) = stack_qlog_files::create_endpoint_qlog(scheme, side, number, now) {
            fork_specific_api::enable_qlog(
                &mut transport,
                file,
                scheme,
                simulated_instant::instant(Time::ZERO),
            );
        }
        let transport = Arc::new(transport);
        let mut endpoint_config = EndpointConfig::default();
        endpoint_config.rng_seed(Some(seed));
        fork_specific_api::set_connection_id_generator(&mut endpoint_config, || Box::new(Ids));
        let server = (side == Side::Server).then(|| {
            let crypto = QuicServerConfig::try_from(thalweg_stack_tls::server_config());
            let crypto = Arc::new(crypto.expect("the provider has the initial suite"));
            let mut server = ServerConfig::with_crypto(crypto);
            server.transport_config(Arc::clone(&transport));
            server
        });
        let mut endpoint = fork_specific_api::create_endpoint(endpoint_config, server);
        let connection = (side == Side::Client).then(|| {
            let crypto = QuicClientConfig::try_from(thalweg_stack_tls::client_config());
            let crypto = Arc::new(crypto.expect("the provider has the initial suite"));
            let mut client = ClientConfig::new(crypto);
            client
                .transport_config(transport)
                .token_store(Arc::new(NoneTokenStore))
                .initial_dst_cid_provider(Arc::new(|| Ids::draw(FIRST_CONNECTION_ID_BYTES)));
            endpoint
                .connect(simulated_instant::instant(now), client, PEER, thalweg_stack_tls::SERVER)
                .expect("address and name are valid")
        });
        Self {
            endpoint,
            connection,
            max_datagrams: config.gso as usize,
            stream: None,
            is_connected: false,
            is_ending: false,
            state: State::Open,
            responses: VecDeque::new(),
            lost: 0,
        }
    }

    /// Exchanges events between endpoint and connection, and takes those for the application.
    fn process_events(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        exchange_events!(self.endpoint, *handle, connection, poll_endpoint_events);
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => self.is_connected = true,
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    self.stream = self.stream.or_else(|| connection.streams().accept(Dir::Uni));
                }
                Event::Stream(StreamEvent::Finished { .. }) => self.state = State::Finished,
                Event::ConnectionLost { reason } => self.state = state_after_loss(self.state, &reason),
                _ => {}
            }
        }
    }

    /// Returns the client's stream, opened once the connection is.
    fn stream(&mut self) -> Option<(StreamId, &mut QuicConnection)> {
        let (_, connection) = self.connection.as_mut()?;
        if self.stream.is_none() && self.is_connected {
            self.stream = connection.streams().open(Dir::Uni);
        }
        let stream = self.stream?;
        if self.is_ending {
            self.is_ending = false;
            // Fails only after the connection was lost.
            let _ = connection.send_stream(stream).finish();
        }
        Some((stream, connection))
    }

    fn respond(&mut self, transmit: &Datagrams, buffer: Vec<u8>) {
        self.responses.push_back((buffer, ecn_from_quinn(transmit.ecn)));
    }
}

/// Returns the default transport with these buffers and this controller.
fn transport_config(
    config: &Config,
    controller: Arc<dyn ControllerFactory + Send + Sync>,
) -> TransportConfig {
    let mut transport = TransportConfig::default();
    // At most 1 GiB.
    let window = VarInt::from_u64(config.buffer).unwrap_or(VarInt::MAX);
    transport
        .send_window(config.buffer)
        .stream_receive_window(window)
        .receive_window(window)
        .congestion_controller_factory(controller);
    transport
}

/// Returns the state after a connection was lost.
fn state_after_loss(before: State, reason: &ConnectionError) -> State {
    match reason {
        _ if before == State::Finished => before,
        ConnectionError::ApplicationClosed(_) | ConnectionError::LocallyClosed => State::Closed,
        ConnectionError::TimedOut => State::Failed(Failure::NoAnswer),
        _ => State::Failed(Failure::ClosedByPeer),
    }
}

fn ecn_from_quinn(ecn: Option<EcnCodepoint>) -> Ecn {
    match ecn {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}

impl Connection for End {
    fn receive(&mut self, now: Time, datagram: &[u8], ecn: Ecn) {
        let now = simulated_instant::instant(now);
        let ecn = EcnCodepoint::from_bits(ecn.bits());
        let mut buffer = Vec::new();
        match fork_specific_api::handle_datagram(&mut self.endpoint, now, PEER, ecn, datagram, &mut buffer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                if self.connection.is_some() {
                    self.endpoint.ignore(incoming);
                } else {
                    match self.endpoint.accept(incoming, now, &mut buffer, None) {
                        Ok(connection) => self.connection = Some(connection),
                        Err(error) => {
                            if let Some(transmit) = error.response {
                                self.respond(&transmit, buffer);
                            }
                        }
                    }
                }
            }
            Some(DatagramEvent::Response(transmit)) => self.respond(&transmit, buffer),
            None => {}
        }
        self.process_events();
        self.lost =
            self.connection.as_mut().map_or(0, |(_, connection)| fork_specific_api::lost_packets(connection));
    }

    fn transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        if let Some((bytes, ecn)) = self.responses.pop_front() {
            buffer.extend(bytes);
            return Some(Transmit { ecn, segment: None, is_last: false });
        }
        let (_, connection) = self.connection.as_mut()?;
        let sent = fork_specific_api::poll_transmission(
            connection,
            simulated_instant::instant(now),
            self.max_datagrams,
            buffer,
        )?;
        Some(Transmit { ecn: ecn_from_quinn(sent.ecn), segment: sent.segment_size, is_last: false })
    }

    fn timeout(&mut self, _now: Time) -> Option<Time> {
        self.connection
            .as_mut()
            .and_then(|(_, connection)| connection.poll_timeout())
            .map(simulated_instant::time)
    }

    fn on_timeout(&mut self, now: Time) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(simulated_instant::instant(now));
        }
        self.process_events();
    }

    fn write(&mut self, _now: Time, bytes: &'static [u8]) -> usize {
        let Some((stream, connection)) = self.stream() else { return 0 };
        fork_specific_api::write_stream(connection, stream, Bytes::from_static(bytes))
    }

    fn finish(&mut self, _now: Time) {
        self.is_ending = true;
        let _ = self.stream();
    }

    fn read(&mut self, _now: Time, max: usize, take: &mut dyn FnMut(&[u8])) {
        let (Some(stream), Some((_, connection))) = (self.stream, &mut self.connection) else { return };
        let mut stream = connection.recv_stream(stream);
        let Ok(mut chunks) = stream.read(true) else { return };
        let mut left = max;
        while let Ok(Some(chunk)) = chunks.next(left) {
            left -= chunk.bytes.len();
            take(&chunk.bytes);
            if left == 0 {
                break;
            }
        }
        // The driver asks for datagrams after each read.
        let _ = chunks.finalize();
    }

    fn close(&mut self, now: Time) {
        if let Some((_, connection)) = &mut self.connection {
            connection.close(simulated_instant::instant(now), VarInt::from_u32(0), Bytes::new());
        }
    }

    fn state(&mut self) -> State {
        self.state
    }

    fn stats(&self) -> Stats {
        let stats = self.connection.as_ref().map(|(_, connection)| fork_specific_api::read_stats(connection));
        Stats { lost: self.lost, ..stats.unwrap_or_default() }
    }
}
