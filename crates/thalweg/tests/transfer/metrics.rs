//! Tests of `--metrics`, requested like Prometheus does.

use crate::random_bytes;
use crate::sender_and_receiver_processes::{Receiver, TestFolder, exit_code, sends};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// Sends an HTTP request; returns the status and the page.
pub fn http_get(address: &str, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

fn value(page: &str, name: &str) -> u64 {
    let line = page.lines().find_map(|line| line.strip_prefix(&format!("thalweg_{name} ")));
    line.unwrap_or_else(|| panic!("no {name} in {page}")).parse().unwrap()
}

#[test]
fn a_server_exports_its_counters() {
    let place = TestFolder::new("metrics");
    place.write("file", &random_bytes(9, 1_000_000));
    let mut receiver = Receiver::begin(&place, "serve", &["to", "--metrics", "0"], &["--trust", "new"]);
    let line = receiver.line();
    let address = line.trim().split_once("Metrics at http://").map(|(_, rest)| rest);
    let address = address.and_then(|rest| rest.strip_suffix("/metrics"));
    let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let (status, page) = http_get(&address, "GET /metrics");
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert_eq!((value(&page, "transfers_total"), value(&page, "handshakes_total")), (0, 0));
    let sent = sends(&place, &["file", &receiver.address, "--trust", "new"]);
    assert_eq!(exit_code(&sent), 0, "{}", sent.stderr);
    // Numbers are up to 0.2 s old.
    crate::wait_until("all is counted", || {
        let (_, page) = http_get(&address, "GET /metrics");
        value(&page, "transfers_open") == 0 && value(&page, "handshakes_total") == 1
    });
    let (_, page) = http_get(&address, "GET /metrics");
    assert_eq!((value(&page, "transfers_total"), value(&page, "transferred_bytes_total")), (1, 1_000_000));
    assert!(value(&page, "received_bytes_total") > 1_000_000, "{page}");
    assert!(value(&page, "received_packets_total") > 10, "{page}");
    // Each metric has a type.
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split([' ', '{']).next().unwrap();
        assert!(page.contains(&format!("# TYPE {name} ")), "{line}");
    }
    assert_eq!(http_get(&address, "GET /").0, "HTTP/1.1 404 Not Found");
    assert_eq!(http_get(&address, "POST /metrics").0, "HTTP/1.1 405 Method Not Allowed");
    assert_eq!(exit_code(&receiver.interrupt()), 0);
}
