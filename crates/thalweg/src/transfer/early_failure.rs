//! Transfers that fail before any data is transferred: the reason, for people and programs.

use crate::console_output::{CommandResult, Console, Error};
use serde::Serialize;
use thalweg_net::keyring::KeyringError;

/// Reason for the failure.
#[derive(Debug)]
pub struct EarlyFailure {
    result: &'static str,
    error: Error,
}

/// The JSON document about the failure.
#[derive(Serialize)]
struct Document<'a> {
    command: &'a str,
    result: &'a str,
    reason: String,
    exit_code: u8,
}

impl EarlyFailure {
    /// Returns the failure for a key or code that one side does not trust.
    pub fn untrusted(why: String) -> Self {
        Self { result: "untrusted", error: Error::Failed(why) }
    }

    /// Returns the failure for a transfer that the peer refused.
    pub fn from_refusal(error: Error) -> Self {
        Self { result: "refused", error }
    }

    /// Returns the failure for an unreachable peer.
    pub fn unreachable(why: String) -> Self {
        Self { result: "unreachable", error: Error::Lost(why) }
    }

    /// Returns why a retry may succeed, if it may.
    pub fn passes(&self) -> Option<&str> {
        match &self.error {
            Error::Lost(why) => Some(why),
            _ => None,
        }
    }

    /// Prints a document on standard output if asked for; the command ends with the error.
    pub fn report(self, command: &str, console: &Console, json: bool) -> CommandResult {
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

impl From<KeyringError> for EarlyFailure {
    fn from(error: KeyringError) -> Self {
        Error::from(error).into()
    }
}

impl From<Error> for EarlyFailure {
    fn from(error: Error) -> Self {
        let result = match &error {
            Error::Usage(_)
            | Error::UnknownName(_)
            | Error::Argument(_)
            | Error::Scenario(_)
            | Error::Several(_) => "usage",
            Error::Lost(_) => "interrupted",
            Error::Failed(_) | Error::Output(_) => "failed",
        };
        Self { result, error }
    }
}
