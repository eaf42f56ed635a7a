//! Commands inside the network: this test program itself, in a role given by an environment variable.

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recvfrom, sendto, socket, sockopt};
use std::io::{Read, Write};
use std::net::{
    IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream, ToSocketAddrs, UdpSocket,
};
use std::time::{Duration, Instant};

/// Environment variable with the role and its arguments.
pub const PART: &str = "THALWEG_TEST_PART";

/// Runs a role.
pub fn run_role(words: &str) {
    // The test harness has begun a line.
    println!();
    let words: Vec<&str> = words.split_whitespace().collect();
    let number = |at: usize| words[at].parse::<u32>().unwrap();
    let millis = |at: usize| Duration::from_millis(number(at).into());
    match words[0] {
        "receive" => receive(words.get(1).map_or(5001, |port| port.parse().unwrap())),
        "send" => send(words[1], millis(2), 5001),
        // Two concurrent programs.
        "send-two" => {
            let (to, span) = (words[1].to_owned(), millis(2));
            let other = std::thread::spawn(move || send(&to, span, 5003));
            send(words[1], span, 5001);
            other.join().unwrap();
        }
        "flood" => flood(words[1], number(2) as usize, number(3).into(), millis(4)),
        "sink" => count_datagrams(millis(1)),
        "ask" => query(words[1], [2, 3, 4].map(|at| number(at) as u16)),
        "ping" => ping(words[1], number(2) as u16),
        "trace" => trace(words[1]),
        "resolve" => resolve_and_print(words[1]),
        "large" => send_large_datagram(words[1], number(2) as usize),
        "hang" => loop {
            std::thread::sleep(Duration::from_secs(1000));
        },
        other => panic!("no part {other}"),
    }
}

/// Receives over TCP; prints the number of bytes and the time from the first to the last.
fn receive(port: u16) {
    let (mut stream, _) = TcpListener::bind(("0.0.0.0", port)).unwrap().accept().unwrap();
    let mut buffer = vec![0; 1 << 20];
    let (mut first, mut last, mut bytes) = (None, Instant::now(), 0);
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        first.get_or_insert_with(Instant::now);
        (last, bytes) = (Instant::now(), bytes + count);
    }
    println!("received {bytes} {}", last.duration_since(first.unwrap()).as_secs_f64());
}

fn send(to: &str, span: Duration, port: u16) {
    // On a busy host the receiver may not listen yet.
    let tries = std::iter::repeat_with(|| TcpStream::connect((to, port)));
    let mut tries = tries.inspect(|_| std::thread::sleep(Duration::from_millis(100))).take(100);
    let mut stream = tries.find_map(Result::ok).unwrap();
    // Override the host's default.
    sockopt::set_tcp_congestion(&stream, "reno").unwrap();
    let (began, buffer) = (Instant::now(), vec![7; 1 << 16]);
    while began.elapsed() < span {
        stream.write_all(&buffer).unwrap();
    }
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    // Wait until all data in flight has arrived.
    let _ = stream.read(&mut [0]);
}

/// Sends datagrams of this size at a rate in Mbit/s, including headers.
fn flood(to: &str, size: usize, mbits: u64, span: Duration) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let to = (to, 5002).to_socket_addrs().unwrap().find(SocketAddr::is_ipv4).unwrap();
    let (began, payload) = (Instant::now(), vec![1; size - 28]);
    let mut sent = 0u64;
    while began.elapsed() < span {
        while sent * size as u64 * 8 < began.elapsed().as_micros() as u64 * mbits {
            // A full device queue is equivalent to one in the network.
            let _ = socket.send_to(&payload, to);
            sent += 1;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    println!("sent {sent}");
}

/// Counts datagrams: prints the bytes after the first one, including headers, and the time from the first to the last.
fn count_datagrams(span: Duration) {
    let socket = UdpSocket::bind("0.0.0.0:5002").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let (began, mut buffer) = (Instant::now(), [0; 65536]);
    let (mut first, mut last, mut bytes) = (None, began, 0);
    while began.elapsed() < span {
        if let Ok(count) = socket.recv(&mut buffer) {
            last = Instant::now();
            bytes += if first.is_some() { count + 28 } else { 0 };
            first.get_or_insert(last);
        }
    }
    println!("received {bytes} {}", last.duration_since(first.unwrap()).as_secs_f64());
}

/// Queries the host's name server for the address of `server` (RFC 1035, section 4.1), and prints the last four bytes
/// of the response.
fn resolve_all() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect("127.0.0.1:53").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let question = [b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x06server\0\0\x01\0\x01".as_slice()].concat();
    socket.send(&question).unwrap();
    let mut answer = [0; 512];
    let length = socket.recv(&mut answer).unwrap();
    println!("resolved {}", Ipv4Addr::from(*answer[length - 4..].first_chunk::<4>().unwrap()));
}

/// Sends a request over TCP, one over UDP, and connects to a closed port.
fn query(to: &str, [tcp, udp, closed]: [u16; 3]) {
    let mut stream = TcpStream::connect((to, tcp)).unwrap();
    stream.write_all(b"tcp").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    println!("answer {answer}");
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect((address_of(to), udp)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    socket.send(b"udp").unwrap();
    let mut answer = [0; 100];
    let length = socket.recv(&mut answer).unwrap();
    println!("answer {}", String::from_utf8_lossy(&answer[..length]));
    println!("answer {:?}", TcpStream::connect((address_of(to), closed)).unwrap_err().kind());
}

fn resolve_and_print(name: &str) {
    resolve_all();
    for address in (name, 0).to_socket_addrs().unwrap() {
        println!("resolved {}", address.ip());
    }
}

fn address_of(name: &str) -> Ipv4Addr {
    let mut addresses = (name, 0).to_socket_addrs().unwrap();
    let v4 = addresses.find_map(|address| match address.ip() {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    });
    v4.unwrap()
}

fn checksum(bytes: &[u8]) -> [u8; 2] {
    let sum: u32 =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (!(sum + (sum >> 16)) as u16).to_be_bytes()
}

/// Sends ICMP echoes one after the other; prints each round-trip time in microseconds.
fn ping(to: &str, count: u16) {
    let socket = socket(AddressFamily::INET, SocketType::RAW, Some(rustix::net::ipproto::ICMP)).unwrap();
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(Duration::from_secs(5))).unwrap();
    let to = SocketAddrV4::new(address_of(to), 0);
    for number in 0..count {
        let mut request = [[8, 0, 0, 0, 0x55, 0xaa], [0; 6]].concat();
        request[6..8].copy_from_slice(&number.to_be_bytes());
        let sum = checksum(&request);
        request[2..4].copy_from_slice(&sum);
        let began = Instant::now();
        sendto(&socket, &request, SendFlags::empty(), &to).unwrap();
        let mut answer = [0; 1500];
        loop {
            recvfrom(&socket, &mut answer, RecvFlags::empty()).unwrap();
            if answer[20] == 0 && answer[24..28] == request[4..8] {
                break;
            }
        }
        println!("rtt {}", began.elapsed().as_micros());
    }
}

/// Sends datagrams with a TTL of 1, 2, ..., and prints the ICMP responses, until a port is unreachable.
fn trace(to: &str) {
    let listener = socket(AddressFamily::INET, SocketType::RAW, Some(rustix::net::ipproto::ICMP)).unwrap();
    sockopt::set_socket_timeout(&listener, sockopt::Timeout::Recv, Some(Duration::from_secs(5))).unwrap();
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let to = address_of(to);
    for hops in 1..=30 {
        socket.set_ttl(hops).unwrap();
        socket.send_to(b"trace", (to, 33_434)).unwrap();
        let mut answer = [0; 1500];
        recvfrom(&listener, &mut answer, RecvFlags::empty()).unwrap();
        let from = Ipv4Addr::from(*answer[12..].first_chunk::<4>().unwrap());
        println!("hop {hops} {from} {} {}", answer[20], answer[21]);
        if answer[20] == 3 {
            return;
        }
    }
}

/// Error of the kernel for a packet above the path MTU.
const EMSGSIZE: i32 = 90;

/// Sends a datagram of this size with DF set, including headers; prints the kernel's result once it knows the path MTU.
fn send_large_datagram(to: &str, size: usize) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect((address_of(to), 5002)).unwrap();
    for _ in 0..20 {
        let refused = socket.send(&vec![0; size - 28]).err().and_then(|error| error.raw_os_error());
        if refused == Some(EMSGSIZE) {
            println!("too large");
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    println!("taken");
}
