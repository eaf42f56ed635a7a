//! Differences between `quinn-proto` and its fork `noq-proto`. The module `connection` is common to both.

pub use quinn_proto as proto;
pub use rand::Rng as Random;

use bytes::Bytes;
use core::net::SocketAddr;
use proto::{
    Connection, ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, QlogConfig,
    ServerConfig, StreamId, Transmit, TransportConfig,
};
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;
use thalweg_stack_contract::{Stats, simulated_instant};

/// Creates an endpoint with path MTU discovery.
pub fn create_endpoint(config: EndpointConfig, server: Option<ServerConfig>) -> Endpoint {
    Endpoint::new(Arc::new(config), server.map(Arc::new), true, None)
}

/// Sets the generator of connection ids.
pub fn set_connection_id_generator(
    config: &mut EndpointConfig,
    make: fn() -> Box<dyn ConnectionIdGenerator>,
) {
    config.cid_generator(make);
}

/// Writes the stack's qlog to a file, with times from `start` on.
pub fn enable_qlog(
    transport: &mut TransportConfig,
    file: Box<dyn Write + Send + Sync>,
    scheme: &str,
    start: Instant,
) {
    let mut config = QlogConfig::default();
    config.writer(file).title(Some(scheme.to_owned())).start_time(start);
    transport.qlog_stream(config.into_stream());
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
    endpoint.handle(now, peer, None, ecn, datagram.into(), buffer)
}

/// Writes the datagrams of one transmission to `buffer`.
pub fn poll_transmission(
    connection: &mut Connection,
    now: Instant,
    max_datagrams: usize,
    buffer: &mut Vec<u8>,
) -> Option<Transmit> {
    connection.poll_transmit(now, max_datagrams, buffer)
}

/// Writes to a stream. Returns the number of accepted bytes.
pub fn write_stream(connection: &mut Connection, stream: StreamId, bytes: Bytes) -> usize {
    connection.send_stream(stream).write_chunks(&mut [bytes]).map_or(0, |written| written.bytes)
}

/// Returns the number of lost packets.
pub fn lost_packets(connection: &mut Connection) -> u64 {
    connection.stats().path.lost_packets
}

/// Returns counters and estimates, without lost packets.
pub fn read_stats(connection: &Connection) -> Stats {
    let controller = connection.congestion_state();
    Stats {
        window: Some(controller.window()),
        ssthresh: controller.metrics().ssthresh,
        smoothed_rtt: Some(simulated_instant::duration(connection.rtt())),
        min_rtt: Some(simulated_instant::duration(connection.min_rtt())),
        mtu: connection.current_mtu().into(),
        ..Stats::default()
    }
}
