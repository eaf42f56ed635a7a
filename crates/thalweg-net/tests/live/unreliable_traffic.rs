//! Traffic beside a reliable stream: datagrams, and unreliable streams.

use crate::relay::{RunningRelay, config, direction};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use thalweg_net::endpoint::{Connect, EndpointConfig, Listen, Trust};
use thalweg_net::identity::Identity;
use thalweg_net::live::{Connection, MAX_DATAGRAM, NetError, Part, Socket, SocketConfig};
use thalweg_proto::payload::Slice;

fn socket(number: u8) -> Socket {
    let listen = Listen::new(Trust::Anyone, ["test"]);
    let identity = Identity::from_secret([number; 32]);
    let endpoint = EndpointConfig { listen: Some(listen), ..EndpointConfig::new(identity) };
    Socket::bind(SocketConfig::new("127.0.0.1:0".parse().unwrap(), endpoint)).unwrap()
}

fn connect(client: &Socket, remote: SocketAddr, scheme: &str) -> Connection {
    let scheme = scheme.parse().unwrap();
    client
        .connect(Connect { remote, trust: Trust::Anyone, service: "test".into(), scheme, recorder: None })
        .unwrap()
}

#[test]
fn datagrams_travel_in_both_directions_beside_a_stream() {
    let (server, client) = (socket(1), socket(2));
    let ours = connect(&client, server.local(), "cubic");
    let theirs = server.accept().unwrap();
    for length in [0, MAX_DATAGRAM + 1] {
        assert_eq!(ours.send_datagram(&vec![1; length]), Err(NetError::DatagramSize));
    }
    let (ours_too, theirs_too) = (ours.another_handle(), theirs.another_handle());
    let (mut send, _keep) = ours.split();
    let (_keep_too, mut receive) = theirs.split();
    let stream = std::thread::spawn(move || {
        send.write_all(&[7; 1_000_000]).unwrap();
        send.finish().unwrap();
    });
    for length in [1, 100, MAX_DATAGRAM] {
        ours_too.send_datagram(&vec![length as u8; length]).unwrap();
        let there = theirs_too.recv_datagram().unwrap();
        assert_eq!(there.as_bytes(), vec![length as u8; length]);
        theirs_too.send_datagram(there.as_bytes()).unwrap();
        assert_eq!(ours_too.recv_datagram().unwrap().as_bytes().len(), length);
    }
    let mut read = Vec::new();
    receive.read_to_end(&mut read).unwrap();
    assert!(read == [7; 1_000_000]);
    stream.join().unwrap();
    // Received data can still be read after the connection has ended.
    ours_too.send_datagram(b"last").unwrap();
    // The peer may learn of the close before this end's own handles do.
    while theirs_too.closed().is_none() || ours_too.closed().is_none() {
        std::thread::sleep(Duration::from_millis(20));
        ours_too.close(0, "");
    }
    assert_eq!(theirs_too.recv_datagram().unwrap().as_bytes(), b"last");
    assert!(matches!(theirs_too.recv_datagram(), Err(NetError::Closed(_))));
    assert!(matches!(ours_too.send_datagram(b"late"), Err(NetError::Closed(_))));
}

#[test]
fn a_dropped_connection_attempt_is_abandoned() {
    use std::task::{Context, Poll, Waker};
    let (server, client) = (socket(1), socket(2));
    let wanted = |remote| Connect {
        remote,
        trust: Trust::Anyone,
        service: "test".into(),
        scheme: "cubic".parse().unwrap(),
        recorder: None,
    };
    // One established connection, and one attempt without an answer.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut accepted = None;
    for remote in [server.local(), silent.local_addr().unwrap()] {
        let mut future = Box::pin(client.connect_async(wanted(remote)));
        let mut context = Context::from_waker(Waker::noop());
        // If this thread was slow, the future is ready at once; then the connection is dropped.
        drop(future.as_mut().poll(&mut context));
        if remote == server.local() {
            accepted = Some(server.accept().unwrap());
        } else {
            silent.recv(&mut [0; 2000]).unwrap();
        }
        // The client learns of the connection a little later than the server.
        std::thread::sleep(Duration::from_millis(300));
        drop(future);
    }
    let theirs = accepted.unwrap();
    let error = theirs.recv_datagram().unwrap_err();
    assert!(matches!(&error, NetError::Closed(thalweg_net::session::CloseReason::Peer { .. })), "{error}");
    // The silent address receives no further packets.
    silent.set_nonblocking(true).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    while silent.recv(&mut [0; 2000]).is_ok() {}
    std::thread::sleep(Duration::from_millis(1500));
    assert!(silent.recv(&mut [0; 2000]).is_err());
    // The socket stays usable.
    let mut again = Box::pin(client.connect_async(wanted(server.local())));
    while !matches!(again.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(_))) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_reader_that_is_late_gets_the_newest_datagrams() {
    const SENT_DATAGRAMS: u32 = 2000;
    let (server, client) = (socket(1), socket(2));
    let ours = connect(&client, server.local(), "cubic");
    let theirs = server.accept().unwrap();
    for number in 0..SENT_DATAGRAMS {
        ours.send_datagram(&number.to_be_bytes()).unwrap();
        if number % 100 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    let until = Instant::now() + Duration::from_secs(5);
    let accounted = || ours.stats().datagrams_dropped + theirs.datagrams_missed() + 256;
    while accounted() < u64::from(SENT_DATAGRAMS) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    ours.close(0, "");
    let mut numbers = Vec::new();
    while let Ok(datagram) = theirs.recv_datagram() {
        numbers.push(u32::from_be_bytes(datagram.as_bytes().try_into().unwrap()));
    }
    assert_eq!(numbers.len(), 256);
    assert_eq!(numbers.last(), Some(&(SENT_DATAGRAMS - 1)));
    assert!(numbers.iter().all(|&number| number >= SENT_DATAGRAMS / 2), "{numbers:?}");
}

/// Sends numbered pieces of one packet each over a lossy path, and passes the received stream to `read`.
fn send_numbered_pieces(pieces: u32, scheme: &str, read: impl FnOnce(thalweg_net::live::RecvStream)) {
    let (server, client) = (socket(1), socket(2));
    let relay = RunningRelay::start(config(server.local(), direction("loss=5%"), direction("")));
    let (mut send, _keep) = connect(&client, relay.address, scheme).split();
    let (_keep_too, receive) = server.accept().unwrap().split();
    let writer = std::thread::spawn(move || {
        for number in 0..pieces {
            // Shorter pieces are coalesced in the queue.
            let mut piece = vec![0; 1100];
            piece[..4].copy_from_slice(&number.to_be_bytes());
            send.write_slice(Slice::new(piece)).unwrap();
        }
        send.finish().unwrap();
    });
    read(receive);
    writer.join().unwrap();
    relay.stop();
}

fn number_of_piece(piece: &Slice) -> u32 {
    u32::from_be_bytes(piece.as_bytes()[..4].try_into().unwrap())
}

#[test]
fn a_partially_reliable_stream_reports_its_holes() {
    const PIECES: u32 = 3000;
    let (mut next, mut holes) = (0, 0);
    send_numbered_pieces(PIECES, "sstp:rate=20Mbit/s,loss-tolerance=0.25", |mut receive| {
        while let Some(part) = receive.read_part().unwrap() {
            match part {
                Part::Bytes(piece) => {
                    assert_eq!(number_of_piece(&piece), next);
                    next += 1;
                }
                Part::Hole { packets } => {
                    holes += packets;
                    next += packets;
                }
            }
        }
    });
    // Some 150 are lost; losses after the last received packet need no hole.
    assert!((60..300).contains(&holes), "{holes} packets are missing");
    assert!((PIECES - 8..=PIECES).contains(&next), "{next} of {PIECES}");
}

#[test]
fn a_stream_that_may_lose_nothing_has_no_holes() {
    let mut next = 0;
    send_numbered_pieces(1000, "sstp:rate=20Mbit/s", |mut receive| {
        while let Some(part) = receive.read_part().unwrap() {
            let Part::Bytes(piece) = part else { panic!("{part:?} behind {next}") };
            assert_eq!(number_of_piece(&piece), next);
            next += 1;
        }
    });
    assert_eq!(next, 1000);
}

#[test]
fn plain_reads_skip_holes() {
    let (mut numbers, mut parts) = (Vec::new(), 0);
    send_numbered_pieces(1000, "sstp:rate=20Mbit/s,loss-tolerance=0.25", |mut receive| {
        while let Some(piece) = receive.read_slice().unwrap() {
            numbers.push(number_of_piece(&piece));
            // A skipped hole is not reported again after later bytes.
            if numbers.len() % 10 == 0
                && let Some(part) = receive.read_part().unwrap()
            {
                parts += 1;
                match part {
                    Part::Bytes(piece) => numbers.push(number_of_piece(&piece)),
                    Part::Hole { packets } => {
                        let piece = receive.read_slice().unwrap().unwrap();
                        assert_eq!(number_of_piece(&piece), numbers.last().unwrap() + 1 + packets);
                        numbers.push(number_of_piece(&piece));
                    }
                }
            }
        }
    });
    assert!(parts > 50 && numbers.len() > 900 && numbers.len() < 1000, "{parts}, {}", numbers.len());
    assert!(numbers.is_sorted_by(|one, other| one < other));
}
