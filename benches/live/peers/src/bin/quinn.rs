//! Sends or receives one stream over quinn, for `benches/live/loopback_comparison.py`.

use live_peers::{Arguments, Meter, PIECE, WINDOW, certify, ready};
use quinn::{Endpoint, EndpointConfig, MtuDiscoveryConfig, TransportConfig, VarInt};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Instant;

fn transport_config(arguments: &Arguments) -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    let mut search = MtuDiscoveryConfig::default();
    search.upper_bound(arguments.datagram);
    transport
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(u64::from(WINDOW))
        .enable_segmentation_offload(arguments.offload)
        .initial_mtu(arguments.datagram)
        .mtu_discovery_config(Some(search));
    Arc::new(transport)
}

/// A socket with buffers as large as Thalweg asks for.
fn bind_endpoint(arguments: &Arguments, address: &str, server: Option<quinn::ServerConfig>) -> Endpoint {
    let socket = UdpSocket::bind(address).expect("a free port");
    let reference = socket2::SockRef::from(&socket);
    reference.set_send_buffer_size(4 << 20).expect("a buffer");
    reference.set_recv_buffer_size(4 << 20).expect("a buffer");
    let mut config = EndpointConfig::default();
    config.max_udp_payload_size(arguments.datagram.max(1472)).expect("a size that QUIC allows");
    Endpoint::new(config, server, socket, Arc::new(quinn::TokioRuntime)).expect("an endpoint")
}

async fn receive(arguments: &Arguments) {
    certify(&arguments.certificate(), &arguments.key());
    let chain = vec![CertificateDer::from_pem_file(arguments.certificate()).expect("a certificate")];
    let key = PrivateKeyDer::from_pem_file(arguments.key()).expect("a key");
    let mut config = quinn::ServerConfig::with_single_cert(chain, key).expect("a server");
    config.transport_config(transport_config(arguments));
    let endpoint = bind_endpoint(arguments, &arguments.address.to_string(), Some(config));
    ready();
    let connection = endpoint.accept().await.expect("a client").await.expect("a handshake");
    let mut stream = connection.accept_uni().await.expect("a stream");
    let mut meter = Meter::default();
    let mut chunks = vec![bytes::Bytes::new(); 64];
    while let Some(count) = stream.read_chunks(&mut chunks).await.expect("all of the stream") {
        meter.count(chunks[..count].iter().map(bytes::Bytes::len).sum());
    }
    meter.print();
    connection.close(VarInt::from_u32(0), b"done");
    endpoint.wait_idle().await;
}

async fn send(arguments: &Arguments) {
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(arguments.certificate()).expect("a certificate"))
        .expect("a root");
    let mut config = quinn::ClientConfig::with_root_certificates(Arc::new(roots)).expect("a client");
    config.transport_config(transport_config(arguments));
    let mut endpoint = bind_endpoint(arguments, "0.0.0.0:0", None);
    endpoint.set_default_client_config(config);
    let connection =
        endpoint.connect(arguments.address, "localhost").expect("a call").await.expect("a handshake");
    let mut stream = connection.open_uni().await.expect("a stream");
    let piece = bytes::Bytes::from(vec![7; PIECE]);
    let start = Instant::now();
    while start.elapsed() < arguments.span {
        stream.write_chunk(piece.clone()).await.expect("room");
    }
    stream.finish().expect("an end");
    connection.closed().await;
    eprintln!("datagrams of {} B at the end", connection.stats().path.current_mtu);
}

fn main() {
    let arguments = Arguments::read();
    let work = async { if arguments.sends { send(&arguments).await } else { receive(&arguments).await } };
    arguments.runtime().block_on(work);
}
