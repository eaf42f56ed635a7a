//! `--pair`: the sender's side, and the code from the user.

use super::key_prompts::can_prompt;
use crate::console_output::{Error, print_prompt};
use std::io;
use std::sync::mpsc::{RecvTimeoutError, channel};
use thalweg_net::admission::{PAIRING_TIMEOUT, close_after_finish};
use thalweg_net::identity::PublicKey;
use thalweg_net::live::{Connection, NetError, RecvStream, SendStream};
use thalweg_net::pairing::{self, Code, PairingError, PairingKeys};
use thalweg_net::session::{CloseReason, code};

/// Environment variable for the code.
const VARIABLE: &str = "THALWEG_PAIR";

/// Returns the user's code: from the command line, the environment, or a prompt.
pub fn obtain_code(code: Option<&Code>) -> Result<Code, Error> {
    let from_variable = std::env::var(VARIABLE).ok();
    let text = match (code, from_variable) {
        (Some(code), _) => return Ok(code.clone()),
        (None, Some(text)) => text,
        (None, None) if can_prompt() => {
            print_prompt("The code that the receiver shows: ");
            let mut text = String::new();
            io::stdin().read_line(&mut text).map_err(|error| Error::argument("pair", error.to_string()))?;
            text
        }
        (None, None) => {
            return Err(Error::argument(
                "pair",
                format!("there is no terminal to ask for the code; {VARIABLE} or --pair=CODE give it"),
            ));
        }
    };
    text.trim().parse::<Code>().map_err(|error| Error::argument("pair", error.to_string()))
}

/// Proves to the receiver that answered as `name` that this endpoint, with the key `own_key`, has the code.
pub fn prove_code(name: &str, own_key: PublicKey, code: &Code, connection: Connection) -> Result<(), Error> {
    let ends = PairingKeys { client: own_key, server: connection.peer(), binding: *connection.binding() };
    let watch = connection.another_handle();
    let (mut to, mut from): (SendStream, RecvStream) = connection.split();
    let (done, is_done) = channel::<()>();
    let guard = watch.another_handle();
    let result = std::thread::scope(|scope| {
        scope.spawn(move || {
            if is_done.recv_timeout(PAIRING_TIMEOUT) == Err(RecvTimeoutError::Timeout) {
                guard.close(code::DONE, "");
            }
        });
        let result = pairing::pair_as_client(code, &ends, &mut from, &mut to);
        drop(done);
        result
    });
    let closed = watch.closed();
    close_after_finish(&watch, code::DONE, "");
    match (result, closed) {
        (Ok(()), _) => Ok(()),
        (Err(PairingError::Wrong), _) => Err(Error::Failed(format!(
            "the peer that answers as {name} does not know the code: this may be a man-in-the-middle attack. Nothing was sent"
        ))),
        (Err(_), Some(CloseReason::Peer { code: code::UNAUTHORIZED, reason })) => {
            Err(Error::Failed(format!("{name} reports that {reason}")))
        }
        (Err(_), Some(CloseReason::Peer { code: code::SERVICE, .. })) => Err(Error::Failed(format!(
            "{name} is not in pairing mode; start `thalweg recv --pair` or `thalweg serve --pair` there"
        ))),
        (Err(PairingError::Stream { error, .. }), closed) => {
            let why = closed
                .map_or_else(|| error.to_string(), |why| io::Error::from(NetError::Closed(why)).to_string());
            Err(Error::Lost(format!("{name}: {why}")))
        }
    }
}
