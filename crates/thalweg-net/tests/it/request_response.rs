//! Request-response exchanges of small messages over every reliable scheme.

use std::io::{Read, Write};
use std::time::Duration;
use thalweg_net::endpoint::{Connect, EndpointConfig, Listen, Trust};
use thalweg_net::flow::Scheme;
use thalweg_net::identity::Identity;
use thalweg_net::live::{Socket, SocketConfig};

/// Runs a client that sends requests of 100 bytes; the server answers each with 30.
fn exchange_requests(scheme: Scheme) {
    let identity = |number: u8| Identity::from_secret([number; 32]);
    let listen = Listen::new(Trust::Anyone, ["talk"]);
    let endpoint = EndpointConfig { listen: Some(listen), ..EndpointConfig::new(identity(2)) };
    let any = || "127.0.0.1:0".parse().unwrap();
    let server = Socket::bind(SocketConfig::new(any(), endpoint)).unwrap();
    let client = Socket::bind(SocketConfig::new(any(), EndpointConfig::new(identity(1)))).unwrap();
    let connect = Connect {
        remote: server.local(),
        trust: Trust::Anyone,
        service: "talk".into(),
        scheme,
        recorder: None,
    };
    let (mut send, mut receive) = client.connect(connect).unwrap().split();
    let (mut answer, mut listen) = server.accept().unwrap().split();
    let answering = std::thread::spawn(move || {
        let mut question = [0; 100];
        while listen.read_exact(&mut question).is_ok() {
            answer.write_all(&question[..30]).unwrap();
        }
    });
    for (number, questions) in [1, 1, 40, 1, 200, 1].into_iter().enumerate() {
        send.write_all(&vec![number as u8; questions * 100]).unwrap();
        let mut answers = vec![0; questions * 30];
        receive.read_exact(&mut answers).unwrap();
        assert!(answers.iter().all(|byte| usize::from(*byte) == number));
    }
    drop((send, receive));
    answering.join().unwrap();
}

/// A window filled by data that the application has read must reopen, for any window size.
#[test]
fn a_window_reopens_after_its_data_is_read() {
    let mut stuck = Vec::new();
    for name in Scheme::names() {
        let scheme: Scheme = name.parse().unwrap();
        if !scheme.is_reliable() {
            continue;
        }
        let (done, is_done) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            exchange_requests(scheme);
            let _ = done.send(());
        });
        if is_done.recv_timeout(Duration::from_secs(20)).is_err() {
            stuck.push(name);
        }
    }
    assert!(stuck.is_empty(), "{stuck:?} did not bring it all across");
}
