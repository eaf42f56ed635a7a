//! Sends or receives one stream over s2n-quic, for `benches/live/loopback_comparison.py`.

use live_peers::{Arguments, Meter, PIECE, WINDOW, certify, ready};
use s2n_quic::client::Connect;
use s2n_quic::provider::{io, limits};
use s2n_quic::{Client, Server};
use std::net::SocketAddr;
use std::time::Instant;

/// What s2n-quic counts as the MTU has the headers of IPv4 and UDP in it.
const HEADERS: u16 = 28;

fn bind_socket(arguments: &Arguments, address: SocketAddr) -> io::Default {
    let mtu = arguments.datagram.saturating_add(HEADERS);
    let mut builder = io::Default::builder()
        .with_receive_address(address)
        .expect("an address")
        .with_send_buffer_size(4 << 20)
        .expect("a buffer")
        .with_recv_buffer_size(4 << 20)
        .expect("a buffer")
        .with_max_mtu(mtu)
        .expect("an MTU that s2n-quic takes")
        .with_initial_mtu(mtu.min(1500))
        .expect("an MTU that s2n-quic takes");
    if !arguments.offload {
        builder = builder.with_gso_disabled().expect("no GSO").with_gro_disabled().expect("no GRO");
    }
    builder.build().expect("a socket")
}

fn transport_limits() -> limits::Limits {
    let window = u64::from(WINDOW);
    limits::Limits::new()
        .with_data_window(window)
        .expect("a window")
        .with_unidirectional_data_window(window)
        .expect("a window")
        .with_max_send_buffer_size(WINDOW)
        .expect("a buffer")
}

async fn receive(arguments: &Arguments) {
    certify(&arguments.certificate(), &arguments.key());
    let (certificate, key) = (arguments.certificate(), arguments.key());
    let mut server = Server::builder()
        .with_tls((certificate.as_path(), key.as_path()))
        .expect("a certificate")
        .with_io(bind_socket(arguments, arguments.address))
        .expect("a socket")
        .with_limits(transport_limits())
        .expect("limits")
        .start()
        .expect("a server");
    ready();
    let mut connection = server.accept().await.expect("a client");
    let mut stream = connection.accept_receive_stream().await.expect("a connection").expect("a stream");
    let mut meter = Meter::default();
    let mut chunks = vec![bytes::Bytes::new(); 64];
    loop {
        let (count, is_open) = stream.receive_vectored(&mut chunks).await.expect("all of the stream");
        // It wants them back empty.
        meter.count(chunks[..count].iter_mut().map(|chunk| std::mem::take(chunk).len()).sum());
        if !is_open {
            break;
        }
    }
    meter.print();
    connection.close(0u32.into());
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
}

async fn send(arguments: &Arguments) {
    let certificate = arguments.certificate();
    let client = Client::builder()
        .with_tls(certificate.as_path())
        .expect("a certificate")
        .with_io(bind_socket(arguments, "127.0.0.1:0".parse().expect("an address")))
        .expect("a socket")
        .with_limits(transport_limits())
        .expect("limits")
        .start()
        .expect("a client");
    let connect = Connect::new(arguments.address).with_server_name("localhost");
    let mut connection = client.connect(connect).await.expect("a handshake");
    let mut stream = connection.open_send_stream().await.expect("a stream");
    let piece = bytes::Bytes::from(vec![7; PIECE]);
    let start = Instant::now();
    while start.elapsed() < arguments.span {
        stream.send(piece.clone()).await.expect("room");
    }
    stream.finish().expect("an end");
    // It ends when the receiver has everything and closes.
    let _ = stream.flush().await;
    let _ = connection.accept().await;
}

fn main() {
    let arguments = Arguments::read();
    let work = async { if arguments.sends { send(&arguments).await } else { receive(&arguments).await } };
    arguments.runtime().block_on(work);
}
