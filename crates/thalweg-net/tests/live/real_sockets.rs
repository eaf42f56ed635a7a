//! Connections over real sockets on this host: streams, closing, limits.

use std::io::{Read, Write};
use std::net::SocketAddr;
use thalweg_net::endpoint::{Connect, ConnectError, EndpointConfig, Listen, Trust};
use thalweg_net::identity::Identity;
use thalweg_net::live::{Connection, NetError, Offload, Socket, SocketConfig};
use thalweg_net::session::CloseReason;
use thalweg_proto::random::RandomStream;

fn identity(number: u8) -> Identity {
    Identity::from_secret([number; 32])
}

fn server(bind: &str, offload: Offload) -> Socket {
    let endpoint = EndpointConfig {
        listen: Some(Listen::new(Trust::only(identity(1).public()), ["test"])),
        ..EndpointConfig::new(identity(2))
    };
    let config = SocketConfig { offload, ..SocketConfig::new(bind.parse().unwrap(), endpoint) };
    Socket::bind(config).unwrap()
}

fn client(bind: &str, offload: Offload) -> Socket {
    let config = SocketConfig::new(bind.parse().unwrap(), EndpointConfig::new(identity(1)));
    Socket::bind(SocketConfig { offload, ..config }).unwrap()
}

fn request(remote: SocketAddr) -> Connect {
    Connect {
        remote,
        trust: Trust::only(identity(2).public()),
        service: "test".into(),
        scheme: "cubic".parse().unwrap(),
        recorder: None,
    }
}

fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut random = RandomStream::new(seed, "bytes", 0);
    (0..length).map(|_| random.next_u64() as u8).collect()
}

/// Both ends write `length` bytes, finish, and read the peer's.
fn exchange(ours: Connection, theirs: Connection, length: usize) {
    let play = move |connection: Connection, seed: u64| {
        let (mut send, mut receive) = connection.split();
        let writer = std::thread::spawn(move || {
            let data = bytes(seed, length);
            send.write_all(&data).unwrap();
            send.finish().unwrap();
        });
        let mut read = Vec::new();
        receive.read_to_end(&mut read).unwrap();
        writer.join().unwrap();
        read
    };
    let other = std::thread::spawn(move || play(theirs, 2));
    assert!(play(ours, 1) == bytes(2, length));
    assert!(other.join().unwrap() == bytes(1, length));
}

#[test]
fn streams_pass_over_both_families_with_and_without_offload() {
    for (bind, offload) in
        [("127.0.0.1:0", Offload::Auto), ("[::1]:0", Offload::Auto), ("127.0.0.1:0", Offload::None)]
    {
        let server = server(bind, offload);
        let client = client(bind, offload);
        let ours = client.connect(request(server.local())).unwrap();
        let theirs = server.accept().unwrap();
        assert_eq!((ours.peer(), theirs.peer()), (identity(2).public(), identity(1).public()));
        exchange(ours, theirs, 3_000_000);
    }
}

#[test]
fn a_socket_for_all_addresses_serves_both_families() {
    let server = server("[::]:0", Offload::Auto);
    for (bind, host) in [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "[::1]")] {
        let client = client(bind, Offload::Auto);
        let remote = format!("{host}:{}", server.local().port()).parse().unwrap();
        let ours = client.connect(request(remote)).unwrap();
        exchange(ours, server.accept().unwrap(), 100_000);
    }
}

/// Opens many connections from one socket to the other; all exchange data at once.
fn exchange_all(server: &Socket, client: &Socket, count: usize) {
    let pairs: Vec<_> = (0..count)
        .map(|_| {
            let ours = client.connect(request(server.local())).unwrap();
            (ours, server.accept().unwrap())
        })
        .collect();
    let threads: Vec<_> = pairs
        .into_iter()
        .map(|(ours, theirs)| std::thread::spawn(move || exchange(ours, theirs, 200_000)))
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn many_connections_share_a_socket() {
    let server = server("127.0.0.1:0", Offload::Auto);
    let client = client("127.0.0.1:0", Offload::Auto);
    exchange_all(&server, &client, 20);
}

/// Connections are distributed over the threads, and each thread receives the packets of its own connections.
#[test]
fn several_threads_serve_a_socket() {
    let listen = Listen::new(Trust::only(identity(1).public()), ["test"]);
    let endpoint = EndpointConfig { listen: Some(listen), ..EndpointConfig::new(identity(2)) };
    let bind = |threads, endpoint| {
        let config = SocketConfig::new("127.0.0.1:0".parse().unwrap(), endpoint);
        Socket::bind(SocketConfig { threads, ..config }).unwrap()
    };
    let (server, client) = (bind(3, endpoint), bind(2, EndpointConfig::new(identity(1))));
    exchange_all(&server, &client, 6);
    for socket in [&server, &client] {
        let has_worked = || socket.stats_of_threads().iter().all(|(_, udp)| udp.datagrams_received > 20);
        let begun = std::time::Instant::now();
        while !has_worked() && begun.elapsed().as_secs() < 60 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(has_worked(), "{:?}", socket.stats_of_threads());
    }
    // Other sockets cannot share the port.
    let taken = SocketConfig::new(server.local(), EndpointConfig::new(identity(3)));
    assert!(Socket::bind(SocketConfig { threads: 2, ..taken }).is_err());
}

#[test]
fn a_wrong_key_is_reported() {
    let server = server("127.0.0.1:0", Offload::Auto);
    let client = client("127.0.0.1:0", Offload::Auto);
    let mut connect = request(server.local());
    connect.trust = Trust::only(identity(7).public());
    let error = client.connect(connect).unwrap_err();
    assert_eq!(error, NetError::Connect(ConnectError::WrongKey(identity(2).public())));
}

#[test]
fn a_client_that_may_not_connect_learns_it() {
    let server = server("127.0.0.1:0", Offload::Auto);
    let config = SocketConfig::new("127.0.0.1:0".parse().unwrap(), EndpointConfig::new(identity(9)));
    let untrusted = Socket::bind(config).unwrap();
    // The handshake completes before the server has authenticated the client.
    let connection = untrusted.connect(request(server.local())).unwrap();
    let (_, mut receive) = connection.another_handle().split();
    let error = receive.read_slice().unwrap_err();
    assert!(matches!(&error, NetError::Closed(CloseReason::Peer { code: 1, .. })), "{error}");
    assert!(server.accept_within(std::time::Duration::from_millis(50)).unwrap().is_none());
}

#[test]
fn the_last_handle_closes_the_connection_and_the_peer_learns_it() {
    let server = server("127.0.0.1:0", Offload::Auto);
    let client = client("127.0.0.1:0", Offload::Auto);
    let ours = client.connect(request(server.local())).unwrap();
    let (_, mut receive) = server.accept().unwrap().split();
    drop(ours);
    let error = receive.read_slice().unwrap_err();
    assert!(matches!(&error, NetError::Closed(CloseReason::Peer { code: 0, .. })), "{error}");
}

#[test]
fn statistics_remain_available_after_the_end() {
    let (server, client) = (server("127.0.0.1:0", Offload::Auto), client("127.0.0.1:0", Offload::Auto));
    let ours = client.connect(request(server.local())).unwrap();
    let theirs = server.accept().unwrap();
    let watches = [ours.another_handle(), theirs.another_handle()];
    let (mut send, _receive) = ours.split();
    send.write_all(&bytes(1, 100_000)).unwrap();
    let mut all = vec![0; 100_000];
    let (_send, mut receive) = theirs.split();
    receive.read_exact(&mut all).unwrap();
    // Close before either end has updated its counters.
    watches[1].close(7, "enough");
    while watches.iter().any(|watch| watch.closed().is_none()) {
        std::thread::yield_now();
    }
    let [ours, theirs] = watches.map(|watch| watch.stats());
    assert!(ours.sending.sender.sent >= 2 && ours.sending.sender.rtt().is_some(), "{ours:?}");
    assert_eq!(ours.sending.written, 100_000);
    assert_eq!(theirs.receiving.delivered, 100_000);
    assert!(theirs.packets_received >= 2 && ours.packets_sent >= theirs.packets_received, "{theirs:?}");
}

#[test]
fn a_reader_that_waits_holds_the_writer_back() {
    let server = server("127.0.0.1:0", Offload::Auto);
    let client = client("127.0.0.1:0", Offload::Auto);
    let (mut send, _keep) = client.connect(request(server.local())).unwrap().split();
    let (_keep_too, mut receive) = server.accept().unwrap().split();
    let data = bytes(3, 1 << 20);
    let (written, stop) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        for _ in 0..64 {
            send.write_all(&data).unwrap();
            written.send(()).unwrap();
        }
        send.finish().unwrap();
    });
    std::thread::sleep(std::time::Duration::from_millis(500));
    // The pipe, the flow and the receiver's memory buffer some data; then the writer blocks.
    let before = stop.try_iter().count();
    assert!(before < 40, "{before} MiB were written without a reader");
    let mut total = 0;
    while let Some(piece) = receive.read_slice().unwrap() {
        total += piece.as_bytes().len();
    }
    assert_eq!(total, 64 << 20);
    writer.join().unwrap();
}

/// A man in the middle answers in place of the server, and forwards the messages of both ends of a pairing.
#[test]
fn a_man_in_the_middle_of_a_pairing_gains_nothing() {
    use thalweg_net::pairing::{self, Code, PairingError, PairingKeys};
    let code: Code = "1234-5678".parse().unwrap();
    let trusting = |number: u8| {
        let listen = Listen::new(Trust::Anyone, ["test"]);
        let endpoint = EndpointConfig { listen: Some(listen), ..EndpointConfig::new(identity(number)) };
        Socket::bind(SocketConfig::new("127.0.0.1:0".parse().unwrap(), endpoint)).unwrap()
    };
    let any_key = |remote| Connect { trust: Trust::Anyone, ..request(remote) };
    let pair = |client: Connection, server: Connection| {
        let ends = |connection: &Connection, own_number: u8, is_client: bool| {
            let [local, peer] = [identity(own_number).public(), connection.peer()];
            let (client, server) = if is_client { (local, peer) } else { (peer, local) };
            PairingKeys { client, server, binding: *connection.binding() }
        };
        let (ours, theirs) = (ends(&client, 1, true), ends(&server, 2, false));
        let there = std::thread::spawn({
            let code = code.clone();
            move || {
                let (mut to, mut from) = server.split();
                let result = pairing::pair_as_server(&code, &theirs, &mut from, &mut to);
                if result.is_ok() {
                    to.finish().unwrap();
                }
                result
            }
        });
        let (mut to, mut from) = client.split();
        (pairing::pair_as_client(&code, &ours, &mut from, &mut to), there.join().unwrap())
    };
    let (server, client, thief) = (trusting(2), trusting(1), trusting(3));
    let ours = client.connect(any_key(server.local())).unwrap();
    let (here, there) = pair(ours, server.accept().unwrap());
    here.unwrap();
    there.unwrap();
    let ours = client.connect(any_key(thief.local())).unwrap();
    let from_client = thief.accept().unwrap();
    let to_server = thief.connect(any_key(server.local())).unwrap();
    let hangs_up = from_client.another_handle();
    let (mut answers, mut requested) = from_client.split();
    let (mut requests, mut answered) = to_server.split();
    let forward = std::thread::spawn(move || std::io::copy(&mut requested, &mut requests));
    let back = std::thread::spawn(move || {
        let _ = std::io::copy(&mut answered, &mut answers);
        hangs_up.close(0, "");
    });
    let (here, there) = pair(ours, server.accept().unwrap());
    assert!(here.is_err());
    assert!(matches!(there, Err(PairingError::Wrong)), "{there:?}");
    let _ = (forward.join(), back.join());
}

#[test]
fn futures_need_no_runtime() {
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Poll, Wake};
    use thalweg_proto::payload::Slice;
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    fn block_on<F: Future>(future: F) -> F::Output {
        let mut future = pin!(future);
        let waker = Arc::new(Unpark(std::thread::current())).into();
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(output) => return output,
                Poll::Pending => std::thread::park(),
            }
        }
    }
    let server = server("127.0.0.1:0", Offload::Auto);
    let client = client("127.0.0.1:0", Offload::Auto);
    let (mut send, _keep) = block_on(client.connect_async(request(server.local()))).unwrap().split();
    let (_keep_too, mut receive) = block_on(server.accept_async()).unwrap().split();
    block_on(send.write_slice_async(Slice::new(*b"hello"))).unwrap();
    let reader = std::thread::spawn(move || {
        let piece = block_on(receive.read_slice_async()).unwrap().unwrap();
        assert_eq!(piece.as_bytes(), b"hello");
        assert_eq!(block_on(receive.read_slice_async()).unwrap(), None);
    });
    block_on(send.finish_async()).unwrap();
    reader.join().unwrap();
}

#[test]
fn small_packets_share_calls_where_the_path_takes_large_ones() {
    let server = server("127.0.0.1:0", Offload::Auto);
    let client = client("127.0.0.1:0", Offload::Auto);
    let request = Connect { scheme: "sscop".parse().unwrap(), ..request(server.local()) };
    let ours = client.connect(request).unwrap();
    let watch = ours.another_handle();
    exchange(ours, server.accept().unwrap(), 4 << 20);
    let datagram = watch.stats().datagram;
    drop(watch);
    assert!(datagram > 9000, "the path takes {datagram} B");
    let (_, udp) = client.stats();
    assert!(udp.datagrams_sent > 3500, "{udp:?}");
    assert!(udp.sends * 3 < udp.datagrams_sent, "{udp:?}");
}
