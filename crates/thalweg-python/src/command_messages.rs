//! Messages of commands, for Python's errors and warnings.

use pyo3::prelude::*;
use thalweg::Part;

/// Message of a command.
#[pyclass(frozen, get_all)]
pub struct Message {
    /// "note", "warning" or "error".
    severity: &'static str,
    /// "value": the argument's value is refused; "argument": the argument is wrong; "unknown option": there is none of this name;
    /// "unknown name": likewise; "repeated": the argument is given twice; "scenario": the text has a position in a scenario; "other":
    /// the text is all.
    kind: &'static str,
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
            kind: message.kind.name(),
            argument: message.argument,
            value: message.value,
            allowed: message.allowed,
            suggestions: message.suggestions,
            parts: message.text.into_iter().map(part).collect(),
        }
    }
}

/// Converts the messages of a command.
pub fn converted(messages: Vec<thalweg::Message>) -> Vec<Message> {
    messages.into_iter().map(Message::from).collect()
}
