//! `thalweg send`, `thalweg recv` and `thalweg serve`: files over the deployed engines.

mod approval_prompt;
mod early_failure;
mod key_prompts;
mod landlock;
pub(crate) mod metrics_http;
mod progress_display;
mod prometheus_metrics;
mod rate_limited_failure_log;
mod receive_commands;
mod rejected_sender_line;
mod send_command;
mod sender_admission;
mod sender_pairing;
pub mod transfer_arguments;
mod transfer_summary;

use crate::console_output::{CommandResult, Console, Error};
pub use receive_commands::{run_recv, run_serve};
pub use send_command::run_send;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use thalweg_net::endpoint::EndpointConfig;
use thalweg_net::keyring::Keyring;
use thalweg_net::live::{Socket, SocketConfig};

/// Timeout for the release of a stream.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Prints this user's key.
pub fn print_key(console: &Console) -> CommandResult {
    let identity = Keyring::for_user()?.identity()?;
    console.print(&format!("{}\n", identity.public()))
}

fn bind_socket(address: SocketAddr, endpoint: EndpointConfig, threads: usize) -> Result<Socket, Error> {
    Socket::bind(SocketConfig { threads, ..SocketConfig::new(address, endpoint) })
        .map_err(|error| Error::Failed(format!("cannot use {address}: {error}")))
}

/// A stream on loan to another owner; its release can be awaited.
struct LentStream<S> {
    stream: S,
    /// After the stream: fields are dropped in order.
    _held: Sender<()>,
}

/// Handle that waits for the release of a [`LentStream`] stream.
struct Return(Receiver<()>);

fn lend_stream<S>(stream: S) -> (LentStream<S>, Return) {
    let (held, returned) = channel();
    (LentStream { stream, _held: held }, Return(returned))
}

impl Return {
    /// Waits until the stream is released, up to a timeout.
    fn wait(&self) {
        let _ = self.0.recv_timeout(CLOSE_TIMEOUT);
    }
}

impl<S: std::io::Read> std::io::Read for LentStream<S> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.stream.read(into)
    }
}

impl<S: std::io::Write> std::io::Write for LentStream<S> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}
