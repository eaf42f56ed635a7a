//! HTTP for `--metrics`: GET requests for one page, from any number of clients, on one thread.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Longest request, in bytes.
const MAX_REQUEST: usize = 8192;
/// Longest time from a connection to the end of its response.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of open connections. Beyond it the oldest is closed: a client that sends its request at once is
/// served before that.
const MAX_CLIENTS: usize = 64;
/// Pause after a failure of the listener, for instance when file descriptors run out.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// One connection, until its response is sent.
#[derive(Debug)]
struct Client {
    stream: TcpStream,
    deadline: Instant,
    request: Vec<u8>,
    response: Vec<u8>,
    sent: usize,
}

/// Serves `page` at `path` until the process ends.
pub fn serve_metrics(listener: &TcpListener, path: &str, page: impl Fn() -> String) -> io::Result<()> {
    serve_within(TIMEOUT, listener, path, page)
}

fn serve_within(
    timeout: Duration,
    listener: &TcpListener,
    path: &str,
    page: impl Fn() -> String,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let local = listener.local_addr()?.ip();
    let mut clients = VecDeque::new();
    loop {
        wait_for_clients(listener, &clients)?;
        accept_clients(listener, timeout, &mut clients);
        let now = Instant::now();
        let respond = |request: &[u8]| http_response(request, local, path, &page);
        // A failed read or write ends its own connection alone.
        clients.retain_mut(|client| now < client.deadline && client.advance(respond).unwrap_or(false));
    }
}

/// Waits for a connection, for a client that can be read or written, or for the earliest deadline.
fn wait_for_clients(listener: &TcpListener, clients: &VecDeque<Client>) -> io::Result<()> {
    let mut polled = vec![PollFd::new(listener, PollFlags::IN)];
    polled.extend(clients.iter().map(|client| {
        let events = if client.response.is_empty() { PollFlags::IN } else { PollFlags::OUT };
        PollFd::new(&client.stream, events)
    }));
    // Connections are in the order of their deadlines.
    let left = clients.front().map(|client| client.deadline.saturating_duration_since(Instant::now()));
    let timeout = left
        .map(|left| Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() });
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn accept_clients(listener: &TcpListener, timeout: Duration, clients: &mut VecDeque<Client>) {
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                if stream.set_nonblocking(true).is_err() {
                    continue;
                }
                if clients.len() == MAX_CLIENTS {
                    clients.pop_front();
                }
                let deadline = Instant::now() + timeout;
                clients.push_back(Client {
                    stream,
                    deadline,
                    request: Vec::new(),
                    response: Vec::new(),
                    sent: 0,
                });
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return,
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(_) => {
                std::thread::sleep(RETRY_PAUSE);
                return;
            }
        }
    }
}

impl Client {
    /// Reads and writes without blocking. Returns false when the connection is over.
    fn advance(&mut self, respond: impl Fn(&[u8]) -> Vec<u8>) -> io::Result<bool> {
        let moved = if self.response.is_empty() { self.receive(respond) } else { Ok(true) };
        match moved.and_then(|goes_on| Ok(goes_on && (self.response.is_empty() || self.send()?))) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(true),
            result => result,
        }
    }

    fn receive(&mut self, respond: impl Fn(&[u8]) -> Vec<u8>) -> io::Result<bool> {
        let mut bytes = [0; 1024];
        loop {
            let length = self.stream.read(&mut bytes)?;
            self.request.extend_from_slice(&bytes[..length]);
            if is_complete(&self.request) {
                self.response = respond(&self.request);
                return Ok(true);
            }
            if length == 0 || self.request.len() > MAX_REQUEST {
                return Ok(false);
            }
        }
    }

    fn send(&mut self) -> io::Result<bool> {
        while self.sent < self.response.len() {
            self.sent += self.stream.write(&self.response[self.sent..])?;
        }
        Ok(false)
    }
}

/// Returns true if the request head is complete.
pub fn is_complete(request: &[u8]) -> bool {
    request.windows(4).any(|end| end == b"\r\n\r\n")
}

/// Returns the response to a complete request head (RFC 9112).
pub fn http_response(request: &[u8], local: IpAddr, path: &str, page: impl Fn() -> String) -> Vec<u8> {
    let head = String::from_utf8_lossy(request);
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split_ascii_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let host = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    });
    let target = target.split('?').next().unwrap_or_default();
    let (status, body) = if local.is_loopback() && !host.is_none_or(is_loopback) {
        ("421 Misdirected Request", "The host of the request is not this one\n".to_owned())
    } else if method != "GET" {
        ("405 Method Not Allowed", "Only GET is answered\n".to_owned())
    } else if target == path {
        ("200 OK", page())
    } else {
        ("404 Not Found", format!("Metrics are at {path}\n"))
    };
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Returns true if the `Host` of a request names this host's loopback. A page of another site, open in a browser on
/// this host, can point its own name at 127.0.0.1 (DNS rebinding), but cannot choose this field.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    fn status(request: &str, local: &str) -> String {
        let local = local.parse::<IpAddr>().unwrap();
        let response = http_response(request.as_bytes(), local, "/metrics", || "a 1\n".to_owned());
        let text = String::from_utf8(response).unwrap();
        text.split(' ').nth(1).unwrap().to_owned()
    }

    #[test]
    fn a_loopback_server_refuses_the_names_of_other_hosts() {
        let with =
            |host: &str| status(&format!("GET /metrics HTTP/1.1\r\nhost: {host}\r\n\r\n"), "127.0.0.1");
        for host in ["localhost", "LOCALHOST:9100", "127.0.0.1:9100", "[::1]:9100", "[::1]"] {
            assert_eq!(with(host), "200", "{host}");
        }
        for host in
            ["attacker.example", "attacker.example:9100", "localhost.attacker.example", "192.0.2.1", ""]
        {
            assert_eq!(with(host), "421", "{host}");
        }
        let named = "GET /metrics HTTP/1.1\r\nHost: monitor.example\r\n\r\n";
        assert_eq!(status(named, "0.0.0.0"), "200");
        assert_eq!(status("GET /metrics?x=1 HTTP/1.0\r\n\r\n", "127.0.0.1"), "200");
        assert_eq!(status("GET / HTTP/1.0\r\n\r\n", "127.0.0.1"), "404");
        assert_eq!(status("\r\n\r\n", "127.0.0.1"), "405");
    }

    fn get(address: SocketAddr) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n").unwrap();
        stream.write_all(b"Host: localhost\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    /// Silent clients beyond the connection limit do not delay a request, even with a timeout of an hour.
    #[test]
    fn silent_clients_do_not_delay_others() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // More than any kernel buffer accepts at once.
        let page = "x".repeat(8 << 20);
        let served = page.clone();
        std::thread::spawn(move || {
            serve_within(Duration::from_secs(3600), &listener, "/metrics", || served.clone())
        });
        let connect = |_| TcpStream::connect(address).unwrap();
        let mut silent: Vec<_> = (0..2 * MAX_CLIENTS).map(connect).collect();
        assert!(get(address).ends_with(&page));
        // The oldest connection was closed.
        assert_eq!(silent[0].read(&mut [0]).unwrap_or(0), 0);
    }
}
