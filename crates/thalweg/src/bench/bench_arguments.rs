//! Arguments of `thalweg bench`.

use crate::transfer::transfer_arguments::SCHEME;
use crate::value_parsers::{
    integer_parser, listen_address, parse_bytes, parse_connections, parse_seconds, parse_threads,
};
use clap::{Args, Subcommand};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use thalweg_proto::units::{self, Bytes};

/// `thalweg bench`: one endpoint, or both.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Bench {
    #[command(subcommand)]
    pub end: Option<End>,
    /// Without a subcommand both endpoints run here, over loopback.
    #[command(flatten)]
    pub both: BenchOptions,
}

impl Bench {
    /// Returns true if only results and errors are printed.
    pub fn is_quiet(&self) -> bool {
        match &self.end {
            Some(End::Server(server)) => server.quiet,
            Some(End::Client(client)) => client.options.quiet,
            None => self.both.quiet,
        }
    }
}

/// Endpoint of a benchmark.
#[derive(Debug, Subcommand)]
pub enum End {
    /// Wait for clients
    Server(BenchServerArguments),
    /// Send to a server, or receive from it
    Client(BenchClientArguments),
}

/// `thalweg bench server`.
#[derive(Debug, Args)]
pub struct BenchServerArguments {
    /// Listening address and port
    #[arg(value_name = "[ADDRESS:]PORT", default_value = "[::]:4747", value_parser = listen_address)]
    pub bind: SocketAddr,
    /// Stop after one client
    #[arg(long)]
    pub once: bool,
    /// Maximum time of sending to one client, whatever it requests
    #[arg(long, value_name = "TIME", default_value = "1 h", value_parser = parse_seconds)]
    pub longest: units::Duration,
    /// Maximum number of concurrent connections; more are refused
    #[arg(long, value_name = "N", default_value = "1024", value_parser = integer_parser::<u32>(1, 65_536))]
    pub connections: u32,
    /// The options of the socket.
    #[command(flatten)]
    pub socket: BenchSocket,
    /// Print one JSON document per client instead of text
    #[arg(long)]
    pub json: bool,
    /// Print only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `thalweg bench client`.
#[derive(Debug, Args)]
pub struct BenchClientArguments {
    /// Server to connect to
    #[arg(value_name = "HOST[:PORT]")]
    pub server: String,
    /// Server's key, as the server prints it; default: accept any key
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    #[command(flatten)]
    pub options: BenchOptions,
}

/// The options of a client.
#[derive(Debug, Args)]
pub struct BenchOptions {
    /// Transport scheme, with its options ("cubic:initial-window=20pkt")
    #[arg(long, value_name = "SCHEME", default_value = SCHEME)]
    pub scheme: String,
    /// Duration of the measurement
    #[arg(long, value_name = "TIME", default_value = "10 s", value_parser = parse_seconds)]
    pub time: units::Duration,
    /// Receive from the server instead of sending to it
    #[arg(long)]
    pub reverse: bool,
    /// Number of parallel connections
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_connections)]
    pub parallel: NonZeroU32,
    /// Record the sender's view of the path as qlog, for `thalweg infer`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["reverse", "parallel"])]
    pub record: Option<PathBuf>,
    /// The options of the socket.
    #[command(flatten)]
    pub socket: BenchSocket,
    /// Print one JSON document instead of text
    #[arg(long, conflicts_with = "json_lines")]
    pub json: bool,
    /// Print one JSON record per line: one per second, then the results
    #[arg(long)]
    pub json_lines: bool,
    /// Print only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// The options of a benchmark's socket.
#[derive(Debug, Args)]
pub struct BenchSocket {
    /// Number of threads that serve the socket; each serves a share of its connections
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_threads)]
    pub threads: usize,
    /// Send and receive single datagrams, as on a host without offloads
    #[arg(long)]
    pub no_offload: bool,
    /// Largest datagram in bytes, as the upper limit of path MTU discovery
    #[arg(long, value_name = "SIZE", default_value = "65507 B", value_parser = parse_bytes)]
    pub datagram: Bytes,
    /// Requested size of the socket's send and receive buffers, each
    #[arg(long, value_name = "SIZE", default_value = "4 MiB", value_parser = parse_bytes)]
    pub buffer: Bytes,
    /// Receive buffer per connection, which bounds the bytes in flight; default: 16 MiB at first, and up to 64 MiB as
    /// the path needs it
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub memory: Option<Bytes>,
}
