//! `thalweg bench`: how fast a path is, from memory to memory.

pub mod arguments;
mod client;
mod ends;
mod server;
pub(crate) mod stream;
pub(crate) mod words;

use crate::console::{Console, Done, Error};
use crate::values::resolve;
use arguments::{Bench, End};
use client::{Peer, client};
pub use ends::SERVICE;
use server::{Here, server};
pub use stream::write_for;

/// Measures, or helps somebody to.
pub fn bench(what: &Bench, console: &Console) -> Done {
    match &what.end {
        Some(End::Server(arguments)) => server(arguments, console),
        Some(End::Client(arguments)) => {
            let key = arguments.key.as_ref().map(|key| key.parse()).transpose();
            let key = key.map_err(|error| Error::Usage(format!("--key: {error}")))?;
            let peer =
                Peer { name: &arguments.server, address: resolve(&arguments.server)?, key, is_here: false };
            client(&peer, &arguments.options, console)
        }
        None => {
            let here = Here::start(&what.both, console)?;
            let peer = Peer { name: "here", address: here.address, key: Some(here.key), is_here: true };
            client(&peer, &what.both, console)
        }
    }
}
