//! UDP datagrams of the same size without encryption, acknowledgements or ordering. Datagrams dropped by a full receive
//! buffer are not counted. The result is an upper bound, not a transport.

use live_peers::{Arguments, Meter, ready};
use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use std::io::{ErrorKind, IoSliceMut};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

fn bind_socket(address: &str) -> (UdpSocket, UdpSocketState) {
    let socket = UdpSocket::bind(address).expect("a free port");
    let reference = socket2::SockRef::from(&socket);
    reference.set_send_buffer_size(4 << 20).expect("a buffer");
    reference.set_recv_buffer_size(4 << 20).expect("a buffer");
    let state = UdpSocketState::new((&socket).into()).expect("a socket");
    // The state makes it non-blocking, and nothing else is to be done here.
    socket.set_nonblocking(false).expect("a socket");
    (socket, state)
}

fn receive(arguments: &Arguments) {
    let (socket, state) = bind_socket(&arguments.address.to_string());
    let mut buffers: Vec<Vec<u8>> = (0..quinn_udp::BATCH_SIZE).map(|_| vec![0; 1 << 16]).collect();
    let mut metas = [RecvMeta::default(); quinn_udp::BATCH_SIZE];
    let in_use = if arguments.offload { 4 } else { quinn_udp::BATCH_SIZE };
    let mut meter = Meter::default();
    socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    ready();
    loop {
        let mut slices: Vec<_> = buffers[..in_use].iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
        let count = match state.recv((&socket).into(), &mut slices, &mut metas) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        };
        // Nothing more comes after a short silence.
        if meter.is_empty() {
            socket.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
        }
        meter.count(metas[..count].iter().map(|meta| meta.len).sum());
    }
    meter.print();
}

fn send(arguments: &Arguments) {
    let (socket, state) = bind_socket("127.0.0.1:0");
    let size = usize::from(arguments.datagram);
    let segments = if arguments.offload { state.max_gso_segments().min(65_507 / size).max(1) } else { 1 };
    let contents = vec![7; size * segments];
    let transmit = Transmit {
        destination: arguments.address,
        ecn: None,
        contents: &contents,
        segment_size: (segments > 1).then_some(size),
        src_ip: None,
    };
    let start = Instant::now();
    while start.elapsed() < arguments.span {
        state.send((&socket).into(), &transmit).expect("a way to send");
    }
}

fn main() {
    let arguments = Arguments::read();
    if arguments.sends { send(&arguments) } else { receive(&arguments) }
}
