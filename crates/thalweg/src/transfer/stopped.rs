//! Transfers that end before anything is transferred: why, for people and programs.

use crate::console::{Console, Done, Error};
use serde::Serialize;

/// The reason for which there was no transfer.
#[derive(Debug)]
pub struct Stopped {
    result: &'static str,
    error: Error,
}

/// The document about it.
#[derive(Serialize)]
struct Document<'a> {
    command: &'a str,
    result: &'a str,
    reason: String,
    exit_code: u8,
}

impl Stopped {
    /// One side does not take the other's key or code.
    pub fn untrusted(why: String) -> Self {
        Self { result: "untrusted", error: Error::Failed(why) }
    }

    /// The peer does not want this transfer.
    pub fn refused(error: Error) -> Self {
        Self { result: "refused", error }
    }

    /// The peer was not reached.
    pub fn unreachable(why: String) -> Self {
        Self { result: "unreachable", error: Error::Lost(why) }
    }

    /// The reason for which another attempt may have success, if one may.
    pub fn passes(&self) -> Option<&str> {
        match &self.error {
            Error::Lost(why) => Some(why),
            _ => None,
        }
    }

    /// Prints a document on standard output if asked for; the command ends with the error.
    pub fn report(self, command: &str, console: &Console, json: bool) -> Done {
        if json {
            let Self { result, error } = &self;
            let document =
                Document { command, result, reason: error.to_string(), exit_code: error.exit_code() };
            let text = serde_json::to_string_pretty(&document).unwrap_or_default() + "\n";
            console.print(&text)?;
        }
        Err(self.error)
    }
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        let result = match &error {
            Error::Usage(_) | Error::Scenario(_) => "usage",
            Error::Lost(_) => "interrupted",
            Error::Failed(_) | Error::Output(_) => "failed",
        };
        Self { result, error }
    }
}
