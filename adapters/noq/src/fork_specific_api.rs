//! Differences between `noq-proto` and `quinn-proto`, of which it is a fork. The module `connection` is common to both.

pub use noq_proto as proto;
pub use rand::Rng as Random;

use bytes::Bytes;
use core::net::SocketAddr;
use core::num::NonZeroUsize;
use proto::{
    Connection, ConnectionId, ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig,
    FourTuple, PathId, QlogConfig, QlogFactory, ServerConfig, Side, StreamId, Transmit, TransportConfig,
};
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use thalweg_stack_contract::{Rate, Stats, simulated_instant};

/// Creates an endpoint with path MTU discovery.
pub fn create_endpoint(config: EndpointConfig, server: Option<ServerConfig>) -> Endpoint {
    Endpoint::new(Arc::new(config), server.map(Arc::new), true)
}

/// Sets the generator of connection ids.
pub fn set_connection_id_generator(
    config: &mut EndpointConfig,
    make: fn() -> Box<dyn ConnectionIdGenerator>,
) {
    config.cid_generator(Arc::new(make));
}

/// The qlog file of the one connection of an endpoint.
struct Log {
    file: Mutex<Option<Box<dyn Write + Send + Sync>>>,
    scheme: String,
    start: Instant,
}

impl QlogFactory for Log {
    fn for_connection(&self, _: Side, _: SocketAddr, _: ConnectionId, _: Instant) -> Option<QlogConfig> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let mut config = QlogConfig::new(file);
        config.title(Some(self.scheme.clone())).start_time(self.start);
        Some(config)
    }
}

/// Writes the stack's qlog to a file, with times from `start` on.
pub fn enable_qlog(
    transport: &mut TransportConfig,
    file: Box<dyn Write + Send + Sync>,
    scheme: &str,
    start: Instant,
) {
    let file = Mutex::new(Some(file));
    transport.qlog_factory(Arc::new(Log { file, scheme: scheme.to_owned(), start }));
}

/// Processes a datagram.
pub fn handle_datagram(
    endpoint: &mut Endpoint,
    now: Instant,
    peer: SocketAddr,
    ecn: Option<EcnCodepoint>,
    datagram: &[u8],
    buffer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, FourTuple::new(peer, None), ecn, datagram.into(), buffer)
}

/// Writes the datagrams of one transmission to `buffer`.
pub fn poll_transmission(
    connection: &mut Connection,
    now: Instant,
    max_datagrams: usize,
    buffer: &mut Vec<u8>,
) -> Option<Transmit> {
    connection.poll_transmit(now, NonZeroUsize::new(max_datagrams)?, buffer)
}

/// Writes to a stream. Returns the number of accepted bytes.
pub fn write_stream(connection: &mut Connection, stream: StreamId, bytes: Bytes) -> usize {
    connection.send_stream(stream).write_chunks(&mut &mut [bytes][..]).unwrap_or_default()
}

/// Returns the number of lost packets.
pub fn lost_packets(connection: &mut Connection) -> u64 {
    connection.path_stats(PathId::ZERO).map_or(0, |path| path.lost_packets)
}

/// Returns counters and estimates, without lost packets. The stack does not report its minimum round-trip time.
pub fn read_stats(connection: &Connection) -> Stats {
    let Some(controller) = connection.congestion_state(PathId::ZERO) else { return Stats::default() };
    let metrics = controller.metrics();
    Stats {
        window: Some(controller.window()),
        ssthresh: metrics.ssthresh,
        pacing_rate: metrics.pacing_rate.map(Rate::from_bits_per_sec),
        smoothed_rtt: connection.rtt(PathId::ZERO).map(simulated_instant::duration),
        mtu: connection.current_mtu().into(),
        ..Stats::default()
    }
}
