//! A stream, a stream with holes and datagrams, as futures. No runtime is needed; this file contains the executor.
//!
//! `cargo run -p thalweg-net --example futures`

use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use thalweg_net::endpoint::{Connect, EndpointConfig, Listen, Trust};
use thalweg_net::identity::{Identity, SystemEntropy};
use thalweg_net::live::{Connection, NetError, Part, Socket, SocketConfig};
use thalweg_proto::payload::{Payload as _, Slice};

/// Service that the client requests and the server offers.
const MEASUREMENTS: &str = "measurements";

/// Runs both ends.
pub fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let identity = || Identity::generate(&mut SystemEntropy::new());
    let (server, client) = (identity(), identity());
    let listen = Listen::new(Trust::only(client.public()), [MEASUREMENTS]);
    let config = EndpointConfig { listen: Some(listen), ..EndpointConfig::new(server.clone()) };
    let listening = Socket::bind(SocketConfig::new("127.0.0.1:0".parse()?, config))?;
    let socket = Socket::bind(SocketConfig::new("127.0.0.1:0".parse()?, EndpointConfig::new(client)))?;
    let request = Connect {
        remote: listening.local(),
        trust: Trust::only(server.public()),
        service: MEASUREMENTS.to_owned(),
        // Sent at an agreed rate; an eighth of the packets of each segment may be missing.
        scheme: "sstp:rate=50Mbit/s,loss-tolerance=0.125".parse()?,
        recorder: None,
    };
    let receiver = std::thread::spawn(move || {
        block_on(async { receive_measurements(listening.accept_async().await?).await })
    });
    block_on(async { send_measurements(socket.connect_async(request).await?).await })?;
    let (bytes, missing) = receiver.join().expect("the server does not panic")?;
    println!("{bytes} bytes came, {missing} packets did not");
    Ok(())
}

/// Writes measurements and sends a datagram that asks for a confirmation. The datagram may be lost, except on loopback.
async fn send_measurements(connection: Connection) -> Result<(), NetError> {
    let watch = connection.another_handle();
    let (mut send, _receive) = connection.split();
    for number in 0..1000_u32 {
        send.write_slice_async(Slice::new(number.to_be_bytes().repeat(50))).await?;
    }
    send.finish_async().await?;
    watch.send_datagram(b"did it arrive?")?;
    println!("The server says: {}", String::from_utf8_lossy(watch.recv_datagram_async().await?.as_bytes()));
    Ok(())
}

/// Reads the measurements; returns the number of bytes received and of packets missing.
async fn receive_measurements(connection: Connection) -> Result<(u64, u32), NetError> {
    let watch = connection.another_handle();
    let (_send, mut receive) = connection.split();
    let (mut bytes, mut missing) = (0, 0);
    while let Some(part) = receive.read_part_async().await? {
        match part {
            Part::Bytes(piece) => bytes += u64::from(piece.len()),
            Part::Hole { packets } => missing += packets,
        }
    }
    watch.recv_datagram_async().await?;
    watch.send_datagram(format!("{bytes} bytes").as_bytes())?;
    // The client closes the connection once it receives this datagram.
    match watch.recv_datagram_async().await {
        Ok(_) | Err(NetError::Closed(_)) => Ok((bytes, missing)),
        Err(error) => Err(error),
    }
}

/// Runs a future in this thread, which sleeps while the future is pending.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
