//! The engines over UDP: endpoints, handshake and encryption, pacing, file transfer.
//!
//! Everything except [`live`] and the event loop of [`impair`] is sans-I/O: no sockets, clocks or threads. A connection
//! takes the current time and received bytes, and returns datagrams and deadlines.
//!
//! There are three layers. Most programs need only the last:
//!
//! 1. **Engines** ([`thalweg_proto`]): the protocols. A [`flow`] is an engine that carries bytes; its
//!    [`Scheme`](flow::Scheme) selects and configures the engine.
//! 2. **Endpoints** ([`endpoint`], [`session`]): sans-I/O connections. An [`Endpoint`](endpoint::Endpoint) takes received
//!    datagrams and the current time. It returns datagrams to send, events, and the time of the next poll.
//! 3. **Sockets** ([`live`]): a [`Socket`](live::Socket) drives an endpoint from its own thread. It
//!    [connects](live::Socket::connect) and [accepts](live::Socket::accept). A [`Connection`](live::Connection) has one
//!    stream in each direction, and [datagrams](live::Connection::send_datagram). Every wait is available both as a
//!    blocking call and as a future, for any async runtime or none.
//!
//! # Example
//!
//! ```
//! use std::io::{Read, Write};
//! use thalweg_net::endpoint::{Connect, EndpointConfig, Listen, Trust};
//! use thalweg_net::identity::{Identity, SystemEntropy};
//! use thalweg_net::live::{Socket, SocketConfig};
//!
//! let (server, client) = {
//!     let mut entropy = SystemEntropy::new();
//!     (Identity::generate(&mut entropy), Identity::generate(&mut entropy))
//! };
//! let trust = Trust::only(server.public());
//! let listen = Listen::new(Trust::only(client.public()), ["greeting"]);
//! let config = EndpointConfig { listen: Some(listen), ..EndpointConfig::new(server) };
//! let listening = Socket::bind(SocketConfig::new("127.0.0.1:0".parse()?, config))?;
//! let remote = listening.local();
//! let serving = std::thread::spawn(move || {
//!     let (mut send, mut receive) = listening.accept()?.split();
//!     let mut name = String::new();
//!     receive.read_to_string(&mut name)?;
//!     write!(send, "Hello, {name}!")?;
//!     // Until the client has it.
//!     send.finish().map_err(std::io::Error::from)
//! });
//!
//! let socket = Socket::bind(SocketConfig::new("127.0.0.1:0".parse()?, EndpointConfig::new(client)))?;
//! let connection = socket.connect(Connect {
//!     remote,
//!     trust,
//!     service: "greeting".into(),
//!     scheme: "cubic".parse()?,
//!     recorder: None,
//! })?;
//! let (mut send, mut receive) = connection.split();
//! send.write_all(b"world")?;
//! send.finish()?;
//! let mut greeting = String::new();
//! receive.read_to_string(&mut greeting)?;
//! assert_eq!(greeting, "Hello, world!");
//! serving.join().unwrap()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod admission;
pub mod atomic_file;
pub mod cookie;
pub mod datagram_batch;
mod ecn_blackhole_detection;
pub mod endpoint;
pub mod flow;
pub mod handshake;
pub mod identity;
pub mod impair;
pub mod keyring;
pub mod live;
mod normalised_address;
pub mod packet_protection;
pub mod pairing;
pub mod path_mtu_discovery;
pub mod peer_path;
mod peer_rate_limits;
pub mod performance_advice;
pub mod replay_protection;
pub mod safe_display;
pub mod session;
#[cfg(test)]
mod test_folder;
pub mod transfer;
pub mod wire;

/// The guide's page about this crate, whose program is compiled and run as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/library.md")]
struct Guide;
