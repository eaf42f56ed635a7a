//! `thalweg bench`: measures the throughput of a path, from memory to memory.

pub mod bench_arguments;
mod bench_socket;
pub(crate) mod bench_streams;
mod client;
pub(crate) mod result_text;
mod server;

use crate::console_output::{CommandResult, Console, Error};
use crate::value_parsers::resolve_host;
use bench_arguments::{Bench, End};
use client::{Peer, run_client};
use server::{LoopbackServer, run_server};

/// Runs a benchmark endpoint, or both.
pub fn run_bench(what: &Bench, console: &Console) -> CommandResult {
    match &what.end {
        Some(End::Server(arguments)) => run_server(arguments, console),
        Some(End::Client(arguments)) => {
            let key =
                arguments.key.as_ref().map(|key| key.parse::<thalweg_net::identity::PublicKey>()).transpose();
            let key = key.map_err(|error| Error::argument("key", error.to_string()))?;
            let peer = Peer {
                name: &arguments.server,
                address: resolve_host(&arguments.server)?,
                key,
                is_here: false,
            };
            run_client(&peer, &arguments.options, console)
        }
        None => {
            let here = LoopbackServer::start(&what.both, console)?;
            let peer = Peer { name: "here", address: here.address, key: Some(here.key), is_here: true };
            run_client(&peer, &what.both, console)
        }
    }
}
