//! What `thalweg bench` is told.

use crate::transfer::arguments::SCHEME;
use crate::values::{bytes, connections, place, seconds, threads};
use clap::{Args, Subcommand};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use thalweg_proto::units::{self, Bytes};

/// `thalweg bench`: one of its ends, or both.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Bench {
    #[command(subcommand)]
    pub end: Option<End>,
    /// Without an end both are here, and the path is the loopback.
    #[command(flatten)]
    pub both: BenchOptions,
}

impl Bench {
    /// Nothing but results and errors was asked for.
    pub fn is_quiet(&self) -> bool {
        match &self.end {
            Some(End::Server(server)) => server.quiet,
            Some(End::Client(client)) => client.options.quiet,
            None => self.both.quiet,
        }
    }
}

/// An end of a path.
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
    /// Where to listen
    #[arg(value_name = "[ADDRESS:]PORT", default_value = "[::]:4747", value_parser = place)]
    pub bind: SocketAddr,
    /// Stop after one client
    #[arg(long)]
    pub once: bool,
    /// Send to a client for no longer than this, whatever it asks for
    #[arg(long, value_name = "TIME", default_value = "1 h", value_parser = seconds)]
    pub longest: units::Duration,
    /// Serve so many connections at a time; more are refused
    #[arg(long, value_name = "N", default_value = "1024", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub connections: u32,
    /// The options of the socket.
    #[command(flatten)]
    pub socket: BenchSocket,
    /// Print one JSON document a client in place of text
    #[arg(long)]
    pub json: bool,
    /// Print nothing but results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `thalweg bench client`.
#[derive(Debug, Args)]
pub struct BenchClientArguments {
    /// The server
    #[arg(value_name = "HOST[:PORT]")]
    pub server: String,
    /// The server's key, which it prints; without, any server is believed
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    #[command(flatten)]
    pub options: BenchOptions,
}

/// The options of who measures.
#[derive(Debug, Args)]
pub struct BenchOptions {
    /// How bytes are moved: a scheme, and options of it ("cubic:initial-window=20pkt")
    #[arg(long, value_name = "SCHEME", default_value = SCHEME)]
    pub scheme: String,
    /// For how long
    #[arg(long, value_name = "TIME", default_value = "10 s", value_parser = seconds)]
    pub time: units::Duration,
    /// Receive from the server in place of sending to it
    #[arg(long)]
    pub reverse: bool,
    /// So many connections at once
    #[arg(long, value_name = "N", default_value = "1", value_parser = connections)]
    pub parallel: NonZeroU32,
    /// Record what the sender sees of the path, as qlog, for `thalweg infer`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["reverse", "parallel"])]
    pub record: Option<PathBuf>,
    /// The options of the socket.
    #[command(flatten)]
    pub socket: BenchSocket,
    /// Print one JSON document in place of text
    #[arg(long, conflicts_with = "json_lines")]
    pub json: bool,
    /// Print one JSON record a line: one a second, and the results
    #[arg(long)]
    pub json_lines: bool,
    /// Print nothing but results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// The options of a benchmark's socket.
#[derive(Debug, Args)]
pub struct BenchSocket {
    /// Let so many threads serve the socket, which share its connections
    #[arg(long, value_name = "N", default_value = "1", value_parser = threads)]
    pub threads: usize,
    /// Send and receive datagrams one by one, as on a host without offloads
    #[arg(long)]
    pub no_offload: bool,
    /// The largest datagram in bytes; the path is searched for it
    #[arg(long, value_name = "SIZE", default_value = "65507 B", value_parser = bytes)]
    pub datagram: Bytes,
    /// What is asked of the system for each of the socket's buffers
    #[arg(long, value_name = "SIZE", default_value = "4 MiB", value_parser = bytes)]
    pub buffer: Bytes,
    /// What may wait to be read, which bounds what is on the way; without, 16 MiB at first, and up to 64 MiB where the path
    /// takes it
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub memory: Option<Bytes>,
}
