//! A server that returns the received bytes, and a client. Both block; both run in this process.
//!
//! `cargo run -p thalweg-net --example echo`

use std::error::Error;
use std::io::{self, Read as _, Write as _};
use thalweg_net::endpoint::{Connect, EndpointConfig, Listen, Trust};
use thalweg_net::identity::{Identity, SystemEntropy};
use thalweg_net::live::{NetError, Socket, SocketConfig};

/// Service that the client requests and the server offers.
const ECHO: &str = "echo";

/// Runs both ends.
pub fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let identity = || Identity::generate(&mut SystemEntropy::new());
    let (server, client) = (identity(), identity());

    // The server accepts this client only.
    let listen = Listen::new(Trust::only(client.public()), [ECHO]);
    let config = EndpointConfig { listen: Some(listen), ..EndpointConfig::new(server.clone()) };
    let listening = Socket::bind(SocketConfig::new("127.0.0.1:0".parse()?, config))?;
    let remote = listening.local();
    let serving = std::thread::spawn(move || serve_one(&listening));

    let socket = Socket::bind(SocketConfig::new("127.0.0.1:0".parse()?, EndpointConfig::new(client)))?;
    let trust = Trust::only(server.public());
    let request =
        Connect { remote, trust, service: ECHO.to_owned(), scheme: "cubic".parse()?, recorder: None };
    let (mut to_server, mut from_server) = socket.connect(request)?.split();
    to_server.write_all(b"is anybody there?")?;
    // Waits until the server has received everything.
    to_server.finish()?;
    let mut answer = String::new();
    from_server.read_to_string(&mut answer)?;
    println!("The server says: {answer}");
    assert_eq!(answer, "is anybody there?");
    drop((to_server, from_server));
    serving.join().expect("the server does not panic")?;
    Ok(())
}

/// Serves one client until it has received everything.
fn serve_one(socket: &Socket) -> io::Result<()> {
    let connection = socket.accept().map_err(io::Error::from)?;
    println!("A client with the key {} is at {}", connection.peer(), connection.remote());
    let (mut to_client, mut from_client) = connection.split();
    io::copy(&mut from_client, &mut to_client)?;
    match to_client.finish() {
        // A client with all data may close before its acknowledgement arrives.
        Ok(()) | Err(NetError::Closed(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
