//! A long transfer over real sockets allocates nothing per packet and retains no packets. The test has a separate
//! process, so nothing else is counted.

mod allocation_counter;

use allocation_counter::{CALLS, HELD_BYTES};
use std::sync::atomic::Ordering;
use thalweg_net::endpoint::{Connect, EndpointConfig, Listen, Trust};
use thalweg_net::identity::Identity;
use thalweg_net::live::{Connection, Offload, Socket, SocketConfig};
use thalweg_proto::payload::{Payload as _, Slice};

/// Bytes per write.
const PIECE: u64 = 256 << 10;

fn connected_pair(offload: Offload) -> (Socket, Connection, Connection) {
    let identity = |number| Identity::from_secret([number; 32]);
    let bind = |endpoint: EndpointConfig| {
        // Datagrams of common size, to get many of them.
        let endpoint = EndpointConfig { max_datagram_bytes: 1472, ..endpoint };
        let config = SocketConfig::new("127.0.0.1:0".parse().unwrap(), endpoint);
        Socket::bind(SocketConfig { offload, ..config }).unwrap()
    };
    let listen = Listen::new(Trust::Anyone, ["test"]);
    let server = bind(EndpointConfig { listen: Some(listen), ..EndpointConfig::new(identity(2)) });
    let client = bind(EndpointConfig::new(identity(1)));
    let connect = Connect {
        remote: server.local(),
        trust: Trust::only(identity(2).public()),
        service: "test".into(),
        scheme: "cubic".parse().unwrap(),
        recorder: None,
    };
    let ours = client.connect(connect).unwrap();
    let theirs = server.accept().unwrap();
    (client, ours, theirs)
}

/// Maximum number of buffers that sockets retain for unread data.
const MAX_POOLED_BUFFERS: u64 = 9000;

/// Counters since the start of the process.
#[derive(Clone, Copy, Debug)]
struct ProcessCounters {
    calls: u64,
    held: i64,
    packets: u64,
}

/// Transfers the last of these numbers of bytes, and returns a snapshot of the counters at each number of received bytes.
fn allocation_counts(offload: Offload, snapshot_at_bytes: &[u64]) -> Vec<ProcessCounters> {
    let (_socket, ours, theirs) = connected_pair(offload);
    let watch = ours.another_handle();
    let (mut send, _keep) = ours.split();
    let (_keep_too, mut receive) = theirs.split();
    let last = *snapshot_at_bytes.last().unwrap();
    let writer = std::thread::spawn(move || {
        let piece = Slice::new(vec![7; PIECE as usize]);
        for _ in 0..last.div_ceil(PIECE) {
            send.write_slice(piece.clone()).unwrap();
        }
        send.finish().unwrap();
    });
    let mut counted = Vec::with_capacity(snapshot_at_bytes.len());
    let (mut arrived, mut pieces) = (0, Vec::with_capacity(1 << 16));
    while receive.read_slices(&mut pieces).unwrap() > 0 {
        arrived += pieces.drain(..).map(|piece: Slice| u64::from(piece.len())).sum::<u64>();
        if snapshot_at_bytes.get(counted.len()).is_some_and(|mark| arrived >= *mark) {
            counted.push(ProcessCounters {
                calls: CALLS.load(Ordering::Relaxed),
                held: HELD_BYTES.load(Ordering::Relaxed),
                packets: watch.stats().packets_sent,
            });
        }
    }
    writer.join().unwrap();
    counted
}

#[test]
fn a_million_packets_are_neither_allocated_for_nor_kept() {
    for (offload, millions) in [(Offload::Auto, 1.05), (Offload::None, 0.25)] {
        // The payload of a datagram is slightly smaller.
        let all = (millions * 1e6 * 1472.0) as u64;
        let counted = allocation_counts(offload, &[all / 10, all]);
        let [before, after] = counted[..] else { panic!("{counted:?}") };
        let packets = after.packets - before.packets;
        let calls = after.calls - before.calls;
        println!(
            "{offload:?}: {calls} allocations for {packets} packets, {} B held more",
            after.held - before.held
        );
        assert!(packets as f64 > millions * 0.85e6, "{packets} packets");
        // Queues may still grow occasionally, and control frames are small vectors.
        assert!(calls < packets / 500 + MAX_POOLED_BUFFERS, "{calls} allocations for {packets} packets");
        // The pools of a socket, which are bounded, may grow when the reader is slow.
        let kept = after.held - before.held;
        assert!(kept < 48 << 20, "{kept} B more after {packets} packets");
    }
}
