//! Errors of the command line's parser, as records: the kinds and contexts of clap.

use crate::compatibility_hints::{self, Reader};
use crate::message_records::{Message, MessageKind, Part, Vocabulary, split_message};
use crate::parser_error_texts::context_texts;
use clap::Command;
use clap::error::{ContextKind, ErrorKind};
use std::error::Error as _;
use std::ffi::OsStr;
use thalweg_scenario::Severity;

/// Returns the message about these words. The program's commands have been built, so that they have its own arguments too.
pub fn parser_message(
    error: &clap::Error,
    program: &Command,
    words: &[String],
    vocabulary: &Vocabulary,
) -> Message {
    let chain = called_commands(program, words);
    let of = |kind| context_texts(error, kind);
    let invalid_arguments = of(ContextKind::InvalidArg);
    let first = invalid_arguments.first().map(|shown| argument_name(&chain, shown));
    let new = |kind, text: &str| Message::new(Severity::Error, kind, split_message(text, vocabulary));
    let unknown = |kind, name: String| {
        let hint = compatibility_hints::of_error(error, &chain, Reader::Program).unwrap_or_default();
        Message { argument: Some(name), ..new(kind, hint) }
    };
    let is_option = invalid_arguments.iter().any(|argument| argument.starts_with('-'));
    let suggestions =
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    let suggestions =
        suggestions.into_iter().flat_map(of).map(|name| bare_option(&name).to_owned()).collect();
    let prior = of(ContextKind::PriorArg);
    let message = match error.kind() {
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let why = error.source().map(ToString::to_string).unwrap_or_default();
            let value = of(ContextKind::InvalidValue).into_iter().next();
            let allowed = of(ContextKind::ValidValue);
            let is_empty =
                why.is_empty() && allowed.is_empty() && value.as_ref().is_some_and(String::is_empty);
            let why = if is_empty { "it is empty" } else { why.as_str() };
            Message { argument: first, value, allowed, ..new(MessageKind::Value, why) }
        }
        ErrorKind::UnknownArgument if is_option => {
            unknown(MessageKind::UnknownOption, first.unwrap_or_default())
        }
        ErrorKind::UnknownArgument => unknown(MessageKind::UnknownName, invalid_arguments.concat()),
        ErrorKind::InvalidSubcommand => {
            unknown(MessageKind::UnknownName, of(ContextKind::InvalidSubcommand).concat())
        }
        ErrorKind::DisplayHelp => unknown(MessageKind::UnknownOption, "help".to_owned()),
        ErrorKind::DisplayVersion => unknown(MessageKind::UnknownOption, "version".to_owned()),
        ErrorKind::ArgumentConflict if prior.is_empty() || prior == invalid_arguments => {
            Message { argument: first, ..new(MessageKind::Repeated, "") }
        }
        ErrorKind::ArgumentConflict => {
            let mut text = vec![Part::Text("it does not go with ".to_owned())];
            for (index, shown) in prior.iter().enumerate() {
                let and = (index > 0).then(|| Part::Text(" and ".to_owned()));
                text.extend(and.into_iter().chain([Part::Option(argument_name(&chain, shown))]));
            }
            Message { argument: first, ..Message::new(Severity::Error, MessageKind::Argument, text) }
        }
        ErrorKind::MissingRequiredArgument => {
            let names: Vec<String> =
                invalid_arguments.iter().map(|shown| argument_name(&chain, shown)).collect();
            Message { argument: Some(names.join(", ")), ..new(MessageKind::Argument, "it is required") }
        }
        kind => {
            let kind_of = if first.is_some() { MessageKind::Argument } else { MessageKind::Other };
            Message { argument: first, ..new(kind_of, &kind.to_string()) }
        }
    };
    Message { suggestions, ..message }
}

/// Returns the commands that these words call, from the program to the innermost.
pub fn called_commands<'a>(program: &'a Command, words: &[impl AsRef<OsStr>]) -> Vec<&'a Command> {
    let mut commands = vec![program];
    for word in words {
        let inner = commands.last().and_then(|command| command.find_subcommand(word));
        commands.extend(inner);
    }
    commands
}

fn bare_option(option: &str) -> &str {
    option.strip_prefix("--").unwrap_or(option)
}

/// Returns the name of an argument that the parser shows as `--reps <N>` or `<SCHEME>`; the name of an unknown one is as given.
fn argument_name(commands: &[&Command], shown: &str) -> String {
    let mut arguments = commands.iter().rev().flat_map(|command| command.get_arguments());
    let Some(found) = arguments.find(|argument| argument.to_string() == shown) else {
        return bare_option(shown).to_owned();
    };
    let place = || found.get_value_names().and_then(|names| names.first()).map(|name| name.to_lowercase());
    found.get_long().map(str::to_owned).or_else(place).unwrap_or_else(|| found.get_id().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Arguments;
    use clap::CommandFactory as _;
    use std::collections::BTreeSet;
    use std::sync::LazyLock;

    /// Returns the message about words that the parser refuses.
    fn refusal_of(line: &[&str]) -> Message {
        let line: Vec<String> = ["thalweg"].iter().chain(line).map(|word| (*word).to_owned()).collect();
        let error = Arguments::read(line.iter().map(Into::into)).unwrap_err();
        let mut command = Arguments::command();
        command.build();
        static OPTIONS: LazyLock<BTreeSet<String>> = LazyLock::new(|| ["rate".to_owned()].into());
        let vocabulary = Vocabulary::new(|| &OPTIONS, Vec::new());
        parser_message(&error, &command, &line, &vocabulary)
    }

    #[test]
    fn errors_of_the_parser_are_records() {
        let wrong = refusal_of(&["hunt", "cubic", "--goal=starve"]);
        assert_eq!((wrong.kind, wrong.argument.as_deref()), (MessageKind::Value, Some("goal")));
        assert_eq!(wrong.value.as_deref(), Some("starve"));
        assert!(wrong.allowed.contains(&"starvation".to_owned()) && wrong.text.is_empty(), "{wrong:?}");
        assert_eq!(wrong.suggestions, ["starvation"]);

        let quotes = "it's '--out' [possible values: a]";
        let wrong = refusal_of(&["hunt", "cubic", &format!("--candidates={quotes}")]);
        assert_eq!((wrong.kind, wrong.value.as_deref()), (MessageKind::Value, Some(quotes)));
        assert_eq!((wrong.argument.as_deref(), wrong.allowed.len()), (Some("candidates"), 0));

        let wrong = refusal_of(&["run", "dumbbell", "--jsn"]);
        assert_eq!((wrong.kind, wrong.argument.as_deref()), (MessageKind::UnknownOption, Some("jsn")));
        assert_eq!((wrong.suggestions, wrong.text), (vec!["json".to_owned()], Vec::new()));

        let wrong = refusal_of(&["send", "--bwlimit=5", "a", "h"]);
        assert_eq!(wrong.argument.as_deref(), Some("bwlimit"));
        assert!(wrong.text.contains(&Part::Option("rate".to_owned())), "{wrong:?}");

        let wrong = refusal_of(&["model", "mathys"]);
        assert_eq!((wrong.kind, wrong.argument.as_deref()), (MessageKind::UnknownName, Some("mathys")));
        assert_eq!(wrong.suggestions, ["mathis"]);

        let wrong = refusal_of(&["bench", "--json", "--json"]);
        assert_eq!((wrong.kind, wrong.argument.as_deref()), (MessageKind::Repeated, Some("json")));

        let wrong = refusal_of(&["send", "--strict", "--accept-loss", "a", "h"]);
        assert_eq!((wrong.kind, wrong.argument.as_deref()), (MessageKind::Argument, Some("strict")));
        assert_eq!(wrong.text.last(), Some(&Part::Option("accept-loss".to_owned())));

        let wrong = refusal_of(&["paper"]);
        assert_eq!((wrong.kind, wrong.argument.as_deref()), (MessageKind::Argument, Some("name")));

        let wrong = refusal_of(&["run", "--help"]);
        assert_eq!((wrong.kind, wrong.argument.as_deref()), (MessageKind::UnknownOption, Some("help")));
    }
}
