//! Messages of commands, for Python's errors and warnings.

use pyo3::prelude::*;
use thalweg::Part;

/// The subject of a message, which decides the attributes that it has.
#[pyclass(eq, frozen, hash, module = "thalweg._thalweg", rename_all = "SCREAMING_SNAKE_CASE")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageKind {
    /// The argument's value is refused.
    Value,
    /// The argument is wrong.
    Argument,
    /// There is no argument of this name.
    UnknownOption,
    /// There is no command of this name.
    UnknownName,
    /// The argument is given twice.
    Repeated,
    /// The text has a position in a scenario.
    Scenario,
    /// The text is all.
    Other,
}

impl From<thalweg::MessageKind> for MessageKind {
    fn from(kind: thalweg::MessageKind) -> Self {
        match kind {
            thalweg::MessageKind::Value => Self::Value,
            thalweg::MessageKind::Argument => Self::Argument,
            thalweg::MessageKind::UnknownOption => Self::UnknownOption,
            thalweg::MessageKind::UnknownName => Self::UnknownName,
            thalweg::MessageKind::Repeated => Self::Repeated,
            thalweg::MessageKind::Scenario => Self::Scenario,
            thalweg::MessageKind::Other => Self::Other,
        }
    }
}

/// Message of a command.
#[pyclass(frozen, get_all, module = "thalweg._thalweg")]
pub struct Message {
    /// "note", "warning" or "error".
    severity: &'static str,
    /// Subject.
    kind: MessageKind,
    /// Name of the argument, as the option without hyphens in front.
    argument: Option<String>,
    /// Refused value.
    value: Option<String>,
    /// Allowed values, if these are few.
    allowed: Vec<String>,
    /// Similar names or values.
    suggestions: Vec<String>,
    /// Parts of the text: "text"; "option", the name of an option; "list", the name of a list of `thalweg list`.
    parts: Vec<(&'static str, String)>,
    /// True if there is nothing of a name that was given.
    is_unknown_name: bool,
}

impl From<thalweg::Message> for Message {
    fn from(message: thalweg::Message) -> Self {
        let part = |part| match part {
            Part::Text(text) => ("text", text),
            Part::Option(name) => ("option", name),
            Part::List(kind) => ("list", kind),
        };
        Self {
            severity: message.severity.name(),
            kind: message.kind.into(),
            argument: message.argument,
            value: message.value,
            allowed: message.allowed,
            suggestions: message.suggestions,
            parts: message.text.into_iter().map(part).collect(),
            is_unknown_name: message.is_unknown_name,
        }
    }
}

/// Converts the messages of a command.
pub fn convert_messages(messages: Vec<thalweg::Message>) -> Vec<Message> {
    messages.into_iter().map(Message::from).collect()
}
