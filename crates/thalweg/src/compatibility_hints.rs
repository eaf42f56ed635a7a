//! Hints for users of rsync, scp, croc and iperf3, and of earlier builds: the equivalents of their options and commands.

use crate::parser_error_texts::context_texts;
use crate::value_parsers::is_pairing_code;
use clap::Command;
use clap::error::{ContextKind, ErrorKind};

/// The reader of a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A user of the command line.
    User,
    /// A program that calls a command, whose arguments have the names of options.
    Program,
}

/// Returns the hint for an error of the command line's parser; `commands` are those called, from the program to the innermost.
pub fn of_error(error: &clap::Error, commands: &[&Command], reader: Reader) -> Option<&'static str> {
    let context_text = |kind| context_texts(error, kind).into_iter().next();
    let name = commands.get(1).map(|command| command.get_name());
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let argument = context_text(ContextKind::InvalidArg)?;
            let option = argument.split('=').next().unwrap_or(&argument);
            match reader {
                Reader::User if !option.starts_with('-') => of_extra_word(name?),
                Reader::User => of_option(name?, option),
                Reader::Program => of_argument(name?, option),
            }
        }
        ErrorKind::InvalidSubcommand if reader == Reader::User => {
            let is_unlike_any = error.get(ContextKind::SuggestedSubcommand).is_none();
            let is_host = is_unlike_any && name == Some("bench");
            let hint = context_text(ContextKind::InvalidSubcommand).and_then(|word| of_command(&word));
            hint.or_else(|| is_host.then(of_host_to_measure))
        }
        _ => None,
    }
}

/// Returns the hint for a word after the last argument of `command`.
fn of_extra_word(command: &str) -> Option<&'static str> {
    EXTRA_WORDS.iter().find(|(commands, _)| commands.contains(&command)).map(|(_, hint)| *hint)
}

/// Returns the hint for an argument that the call of `command` does not have. Commands and words in their place mean nothing to a program.
fn of_argument(command: &str, option: &str) -> Option<&'static str> {
    let own = IN_CALLS.iter().find(|(of, options, _)| *of == command && options.contains(&option));
    let own = own.map(|(.., hint)| *hint);
    own.or_else(|| of_option(command, option).filter(|hint| !hint.contains('`')))
}

/// Returns the hint for an option that `command` does not have.
fn of_option(command: &str, option: &str) -> Option<&'static str> {
    let table: &[(&[&str], &str)] = match command {
        "send" => &SEND,
        "recv" | "serve" => &RECEIVE,
        "bench" => &BENCH,
        "run" => &RUN,
        "sweep" => &SWEEP,
        _ => &[],
    };
    let renamed = RENAMED.iter().find(|(commands, old, _)| commands.contains(&command) && *old == option);
    let hint = table.iter().find(|(options, _)| options.contains(&option)).map(|(_, hint)| *hint);
    renamed.map(|(_, _, hint)| *hint).or(hint)
}

/// Returns the hint for a word after `bench` that is none of its commands.
const fn of_host_to_measure() -> &'static str {
    "a path is measured by `thalweg bench client HOST[:PORT]`, with `thalweg bench server` at the other end"
}

/// Returns the hint for an unknown command.
fn of_command(command: &str) -> Option<&'static str> {
    COMMANDS.iter().find(|(names, _)| names.contains(&command)).map(|(_, hint)| *hint)
}

/// Returns the hint for an argument of `recv` or `serve` that names something else than a folder of this host: a pairing
/// code, a folder of another host in the syntax of scp and rsync, or an address. A path with `/` before any colon is a
/// folder.
pub fn of_folder(name: &str, reader: Reader) -> Option<String> {
    let (what, advice) = if is_pairing_code(name) {
        (
            "is a code for pairing, where a folder was expected",
            "it is for the sender (`thalweg send --pair FILES... HOST`), and `thalweg recv --pair DIR` shows one",
        )
    } else {
        let (host, path) =
            name.split_once(':').filter(|(host, _)| !host.is_empty() && !host.contains('/'))?;
        let is_address = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        if is_address(path)
            || host.starts_with('[') && name.rsplit_once(':').is_some_and(|(_, port)| is_address(port))
        {
            (
                "is an address, where a folder was expected",
                "the option is --listen, as in `thalweg recv DIR --listen ADDRESS:PORT`",
            )
        } else {
            (
                "is a folder of another host, where one of this host was expected",
                "files are received by `thalweg recv DIR` at one host, and sent by `thalweg send FILES... HOST` at the other, \
                 without accounts",
            )
        }
    };
    let advice = if reader == Reader::User { format!(": {advice}") } else { String::new() };
    Some(format!("`{name}` {what}{advice}. A folder of that name is ./{name}"))
}

/// Options renamed since development builds: their commands, the old name, and the hint, which ends with the new one.
const RENAMED: [(&[&str], &str, &str); 5] = [
    (&["run", "compare"], "--most-reps", "the option is --max-reps"),
    (&["recv", "serve"], "--strangers", "the option is --unknown-senders"),
    (&["impair"], "--narrow", "the option is --mtu-change"),
    (&["model"], "--most", "the option is --max-window"),
    (&["explore"], "--unproved", "the option is --unvalidated"),
];

const SEND: [(&[&str], &str); 17] = [
    (&["-r", "-R", "--recursive"], "folders need no -r: `thalweg send FOLDER HOST` sends all that is in one"),
    (
        &[
            "-a",
            "--archive",
            "-p",
            "-t",
            "--links",
            "--perms",
            "--times",
            "--preserve",
            "--chmod",
            "--chown",
            "--owner",
            "--group",
            "--numeric-ids",
        ],
        "names, times, permissions and links are always sent; owners and attributes never are (see --strict)",
    ),
    (
        &["-v", "-vv", "--verbose", "--progress", "--info"],
        "progress is shown at a terminal unless --quiet is given; --json prints the details",
    ),
    (
        &["-z", "-C", "--compress"],
        "nothing is compressed in transit: compress it first, as in `tar cz FOLDER | thalweg send - HOST`",
    ),
    (
        &["-P", "--port"],
        "the port follows the receiver: `thalweg send FILES... HOST:PORT`. Progress is shown and interrupted transfers resume \
         without an option",
    ),
    (
        &["-n", "--dry-run"],
        "there is no dry run; --strict sends nothing if some of it could not be carried, and the receiver replaces nothing unless it \
         is told to (`thalweg recv --overwrite` or `--backup`)",
    ),
    (
        &["--bwlimit", "--limit-rate", "--throttle", "--limit"],
        "the limit is --rate RATE, such as --rate \"10 Mbit/s\"",
    ),
    (&["-c"], "the option is --checksum"),
    (&["-l"], "links are always sent; the limit of scp's -l is --rate RATE, such as --rate \"10 Mbit/s\""),
    (
        &["--host", "--to", "--server", "--dest"],
        "the receiver is the last argument: `thalweg send FILES... HOST:PORT`",
    ),
    (
        &["-e", "-i", "-o", "-J", "--rsh"],
        "no ssh is used: start `thalweg recv DIR` at the other end, and name that host",
    ),
    (&["--delete", "--remove-source-files"], "nothing is deleted, at either end"),
    (
        &["-u", "--update", "--overwrite", "--backup", "--ignore-existing"],
        "the receiver decides: `thalweg recv` with --overwrite, --no-overwrite or --backup",
    ),
    (
        &["--partial", "--append", "--resume", "--continue", "--inplace"],
        "interrupted transfers resume by themselves when the same is sent again; --keep-trying does so",
    ),
    (&["--code"], "--pair asks for the receiver's code"),
    (
        &["-y", "--yes"],
        "nothing is asked at the sender unless --pair is given; the receiver admits any sender by --trust new",
    ),
    (
        &["--exclude", "--include", "--filter", "--exclude-from", "--files-from"],
        "names are not filtered: list the files to send",
    ),
];

const RECEIVE: [(&[&str], &str); 8] = [
    (
        &["-p", "-P", "--port", "--bind"],
        "the port is that of --listen: `--listen PORT` or `--listen ADDRESS:PORT`",
    ),
    (&["-y", "--yes"], "`--trust new` admits any sender without a prompt; --pair shows a code"),
    (
        &["-o", "--out", "--output", "--dest", "--root", "--dir", "--directory"],
        "the folder is an argument: `thalweg recv DIR`",
    ),
    (
        &["-r", "--recursive", "-v", "--verbose", "--progress", "-a", "-z"],
        "folders are received whole, and progress is shown, without an option",
    ),
    (
        &["-C", "--compress"],
        "nothing is compressed in transit: the sender compresses it first, as in `tar cz FOLDER | thalweg send - HOST`",
    ),
    (
        &["-i", "-e", "-J", "--rsh"],
        "no ssh is used: a sender is known by its key (--trust KEY) or by a code (--pair)",
    ),
    (&["-D", "--daemon"], "it stays in the foreground until it is stopped"),
    (&["--code"], "--pair shows a code for the sender to enter: `thalweg send --pair FILES... HOST`"),
];

const BENCH: [(&[&str], &str); 15] = [
    (
        &["-c", "--client"],
        "the client is a command: `thalweg bench client HOST[:PORT]`, with the options of the measurement",
    ),
    (
        &["-s", "--server", "-D", "--daemon"],
        "the server is a command: `thalweg bench server`. It stays in the foreground, and serves clients until it is stopped",
    ),
    (
        &["-p", "--port"],
        "the port is part of the address: `thalweg bench server PORT` and `thalweg bench client HOST:PORT`",
    ),
    (&["-P"], "the option is --parallel N"),
    (&["-R"], "the option is --reverse"),
    (
        &["-d", "--bidir", "--dualtest"],
        "one direction is measured at a time: from the client, or to it with --reverse",
    ),
    (&["-t"], "the option is --time TIME, with a unit, such as --time 10s"),
    (
        &["-u", "--udp"],
        "everything is sent over UDP, with the reliability and congestion control of a scheme (--scheme)",
    ),
    (
        &["-b", "--bitrate", "--bandwidth"],
        "the scheme finds the rate; `--scheme sstp:rate=10Mbit/s` sends at a fixed one",
    ),
    (&["-i", "--interval"], "--json-lines prints a record each second"),
    (&["-J"], "the option is --json, or --json-lines for a record each second"),
    (
        &["-n", "--bytes", "-k", "--blockcount", "-F", "--file"],
        "a measurement ends after a time (--time TIME); `thalweg send` transfers files",
    ),
    (&["-w", "--window"], "the receive buffer is --memory SIZE, the buffer of the socket --buffer SIZE"),
    (&["-l", "--length", "--len", "-M", "--set-mss"], "the largest datagram is --datagram SIZE"),
    (&["-C", "--congestion"], "the congestion control is --scheme SCHEME"),
];

const RUN: [(&[&str], &str); 1] = [(
    &["--scheme", "--schemes"],
    "the scenario names its schemes: `thalweg run FILE --set flow.GROUP.scheme=SCHEME` replaces one, and `thalweg compare FILE \
     --schemes A,B` runs it with each",
)];

const SWEEP: [(&[&str], &str); 3] = [
    (
        &["--scheme", "--schemes"],
        "the sweep file names them: `schemes = [\"cubic\", \"bbr\"]`; `thalweg compare FILE --schemes A,B` takes a scenario",
    ),
    (
        &["--set", "--vary", "--grid"],
        "the sweep file has `set = [\"KEY=VALUE\"]`, and in `[grid]` the values to vary: `link.core.rate = [\"10 Mbit/s\", \"50 Mbit/s\"]`",
    ),
    (
        &["--reps", "--seed", "--until"],
        "the sweep file has `seed = 1`, and `reps = 3` or `until = \"goodput 2 %\"`",
    ),
];

/// Hints for a word after the last argument of these commands: `scp` and `rsync` name two places, and netem several values of
/// one option.
const EXTRA_WORDS: [(&[&str], &str); 2] = [
    (
        &["recv", "serve"],
        "the only argument is the folder of this host; the host that has the files sends them: `thalweg send FILES... HOST`",
    ),
    (
        &["impair"],
        "an option has one value: tc's second value of `delay` is --jitter TIME, and bursts of losses are --burst LENGTH",
    ),
];

/// Hints in the words of a calling program: the command, the options, and the hint, in place of one that names commands.
const IN_CALLS: [(&str, &[&str], &str); 24] = [
    ("send", &["--recursive"], "folders are sent whole"),
    ("send", &["--verbose", "--progress", "--info"], "the value that is returned has the details"),
    ("send", &["--compress"], "nothing is compressed in transit: compress it first"),
    ("send", &["--port"], "the port follows the receiver: \"HOST:PORT\""),
    (
        "send",
        &["--dry-run"],
        "there is no dry run; --strict sends nothing if some of it could not be carried",
    ),
    (
        "send",
        &["--bwlimit", "--limit-rate", "--throttle", "--limit"],
        "the limit is --rate, such as \"10 Mbit/s\"",
    ),
    ("send", &["--host", "--to", "--server", "--dest"], "the receiver follows the files: \"HOST:PORT\""),
    ("send", &["--rsh"], "no ssh is used: the other end receives, and is the receiver of this call"),
    (
        "send",
        &["--update", "--overwrite", "--backup", "--ignore-existing"],
        "the receiver decides what it replaces",
    ),
    ("send", &["--code"], "--pair takes the receiver's code"),
    ("recv", &["--port", "--bind"], "the port is that of --listen, such as \"4747\" or \"ADDRESS:PORT\""),
    ("recv", &["--compress"], "nothing is compressed in transit: the sender compresses it first"),
    ("recv", &["--yes"], "--trust=\"new\" admits any sender without a prompt"),
    (
        "recv",
        &["--out", "--output", "--dest", "--root", "--dir", "--directory"],
        "the folder is the first argument",
    ),
    ("recv", &["--code"], "--pair shows a code for the sender"),
    ("bench", &["--client"], "the server's address follows the scheme"),
    ("bench", &["--server", "--daemon"], "the server is another program, which runs until it is stopped"),
    ("bench", &["--port"], "the port is part of the server's address: \"HOST:PORT\""),
    (
        "bench",
        &["--bitrate", "--bandwidth"],
        "the scheme finds the rate; \"sstp:rate=10Mbit/s\" sends at a fixed one",
    ),
    ("bench", &["--interval"], "the value that is returned covers the whole measurement"),
    ("bench", &["--bytes", "--blockcount", "--file"], "a measurement ends after a time: --time"),
    ("bench", &["--length", "--len", "--set-mss"], "the largest datagram is --datagram"),
    ("bench", &["--congestion"], "the congestion control is that of the scheme, the first argument"),
    ("bench", &["--window"], "the receive buffer is --memory, the buffer of the socket --buffer"),
];

const COMMANDS: [(&[&str], &str); 4] = [
    (
        &["completion", "complete"],
        "completions are printed by `thalweg completions SHELL`, where SHELL is bash, zsh, fish, elvish or powershell",
    ),
    (&["receive", "get", "pull", "download"], "files are received by `thalweg recv DIR`"),
    (
        &["cp", "copy", "push", "put", "upload", "sync", "rsync", "scp", "croc"],
        "files are sent by `thalweg send FILES... HOST`",
    ),
    (
        &["ping", "iperf", "iperf3", "speedtest"],
        "`thalweg bench client HOST` measures a path, `thalweg doctor HOST` examines this host",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Arguments;
    use clap::CommandFactory as _;
    use std::ffi::OsString;

    /// Returns the options that a hint names.
    fn options_in(hint: &str) -> impl Iterator<Item = &str> {
        let words = hint.split_whitespace().filter(|word| word.starts_with("--"));
        words.map(|word| word.trim_end_matches(|last: char| !last.is_ascii_alphanumeric()))
    }

    /// A hint for an existing option would never be shown, and a hint must not name a missing option.
    #[test]
    fn hints_are_for_what_there_is_not_and_name_what_there_is() {
        let command = Arguments::command();
        let has = |name: &str, option: &str| {
            let called = command.find_subcommand(name).unwrap();
            std::iter::once(called).chain(called.get_subcommands()).any(|one| {
                one.get_arguments().any(|argument| {
                    let long =
                        argument.get_long().is_some_and(|long| option.strip_prefix("--") == Some(long));
                    long || argument.get_short().is_some_and(|short| option == format!("-{short}"))
                })
            })
        };
        for (name, table) in [
            ("send", &SEND[..]),
            ("recv", &RECEIVE),
            ("serve", &RECEIVE),
            ("bench", &BENCH),
            ("run", &RUN),
            ("sweep", &SWEEP),
        ] {
            for (options, hint) in table {
                for option in *options {
                    assert!(!has(name, option), "{name} {option}");
                }
                for option in options_in(hint) {
                    assert!(
                        ["send", "recv", "serve", "bench", "run", "compare"]
                            .iter()
                            .any(|name| has(name, option)),
                        "{hint}: {option}"
                    );
                }
            }
        }
        for (commands, hint) in EXTRA_WORDS {
            for name in commands {
                for option in options_in(hint) {
                    assert!(has(name, option), "{hint}: {name} {option}");
                }
                let error = parse(&[name, "word", "extra", "words"], &[]).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::UnknownArgument, "{name}: {error}");
                assert!(error.to_string().contains(hint), "{name}: {error}");
            }
        }
        for (commands, old, hint) in RENAMED {
            let new = hint.rsplit(' ').next().unwrap();
            for name in commands {
                let called = command.find_subcommand(name).unwrap();
                let knows = |option: &str| {
                    std::iter::once(called).chain(called.get_subcommands()).any(|one| {
                        one.get_arguments().any(|argument| {
                            argument.get_long().is_some_and(|long| option.strip_prefix("--") == Some(long))
                        })
                    })
                };
                assert!(knows(new) && !knows(old), "{name}: {hint}");
            }
        }
        for (names, _) in COMMANDS {
            assert!(names.iter().all(|name| command.find_subcommand(name).is_none()), "{names:?}");
        }
    }

    /// Parses the arguments `words` and `more`.
    fn parse(words: &[&str], more: &[String]) -> Result<Arguments, clap::Error> {
        let words = ["thalweg"].iter().chain(words).map(OsString::from);
        Arguments::read(words.chain(more.iter().map(OsString::from)))
    }

    /// Returns the message for arguments that are refused.
    fn refusal(words: &[&str]) -> String {
        parse(words, &[]).unwrap_err().to_string()
    }

    #[test]
    fn a_hint_takes_the_place_of_what_is_spelt_alike() {
        for (arguments, expected) in [
            (&["send", "--port", "4747", "a", "h"][..], "HOST:PORT"),
            (&["send", "-r", "a", "h"], "folders need no -r"),
            (&["send", "-az", "a", "h"], "always sent"),
            (&["send", "-P", "a", "h"], "HOST:PORT"),
            (&["send", "-z", "a", "h"], "tar cz"),
            (&["send", "-C", "a", "h"], "tar cz"),
            (&["send", "--yes", "a", "h"], "--trust new"),
            (&["recv", "-C", "d"], "tar cz"),
            (&["recv", "-i", "key", "d"], "known by its key"),
            (&["send", "-v", "a", "h"], "progress is shown"),
            (&["send", "-n", "a", "h"], "no dry run"),
            (&["send", "--bwlimit=500", "a", "h"], "--rate RATE"),
            (&["send", "--host", "h", "a"], "the receiver is the last argument"),
            (&["serve", "--root", "d"], "the folder is an argument"),
            (&["scp", "a", "h:d"], "thalweg send FILES... HOST"),
            (&["recv", "--port", "4747", "d"], "--listen PORT"),
            (&["recv", "ann@nas:/inbox", "."], "thalweg send FILES... HOST"),
            (&["impair", "--delay", "100ms", "10ms", "25%"], "--jitter TIME"),
            (&["send", "-l", "1000", "a", "h"], "--rate RATE"),
            (&["recv", "--out", "d"], "Usage: thalweg recv [OPTIONS] <DIR>"),
            (&["recv", "--strangers", "5", "d"], "the option is --unknown-senders"),
            (&["explore", "adversary", "--unproved=2"], "the option is --unvalidated"),
            (&["completion", "bash"], "thalweg completions SHELL"),
            (&["receive", "d"], "thalweg recv DIR"),
            (&["bench", "-c", "h", "-t", "10"], "thalweg bench client HOST"),
            (&["bench", "-s"], "thalweg bench server"),
            (&["bench", "server", "-p", "5201"], "thalweg bench server PORT"),
            (&["bench", "client", "h", "-P4"], "the option is --parallel N"),
            (&["bench", "client", "h", "-P", "4"], "the option is --parallel N"),
            (&["bench", "client", "h", "-R"], "the option is --reverse"),
            (&["bench", "client", "h", "-t", "10"], "--time 10s"),
            (&["bench", "client", "h", "-u"], "over UDP"),
            (&["bench", "client", "h", "-b", "10M"], "sstp:rate=10Mbit/s"),
            (&["bench", "client", "h", "-i", "1"], "--json-lines"),
            (&["bench", "client", "h", "-J"], "the option is --json"),
            (&["run", "dumbbell", "--scheme", "bbr"], "--set flow.GROUP.scheme=SCHEME"),
            (&["sweep", "grid.toml", "--schemes", "cubic,bbr"], "the sweep file names them"),
            (&["sweep", "dumbbell", "--set", "duration=3 s"], "[grid]"),
            (&["sweep", "grid.toml", "--reps=5"], "reps = 3"),
            (&["bench", "192.0.2.1"], "thalweg bench client HOST"),
            (&["iperf3", "-c", "h"], "thalweg bench client HOST"),
        ] {
            let text = refusal(arguments);
            assert!(text.contains(expected) && text.contains("tip:"), "{arguments:?}: {text}");
            for wrong in
                ["--priority", "'compare'", "as a value", "similar", "Usage: thalweg recv --outside-links"]
            {
                assert!(!text.contains(wrong), "{arguments:?}: {text}");
            }
        }
    }

    /// scp and rsync take what precedes a colon for a host, unless it has a slash.
    #[test]
    fn a_folder_of_another_host_is_not_made_here() {
        for (name, expected) in [
            ("4821-0937", Some("--pair FILES")),
            ("ann@nas:inbox", Some("thalweg send FILES... HOST")),
            ("nas:", Some("thalweg send FILES... HOST")),
            ("nas:/srv/inbox", Some("thalweg send FILES... HOST")),
            ("nas::module", Some("thalweg send FILES... HOST")),
            ("rsync://nas/module", Some("thalweg send FILES... HOST")),
            ("127.0.0.1:4747", Some("--listen ADDRESS:PORT")),
            ("[::1]:4747", Some("--listen ADDRESS:PORT")),
            ("inbox", None),
            ("./ann@nas:inbox", None),
            ("/srv/a:b", None),
            ("ann@nas", None),
            (":inbox", None),
        ] {
            let hint = of_folder(name, Reader::User);
            let contains = |text: &str| hint.as_ref().is_some_and(|hint| hint.contains(text));
            assert!(expected.map_or(hint.is_none(), contains), "{name}: {hint:?}");
            assert!(hint.is_none() || contains(&format!("A folder of that name is ./{name}")), "{hint:?}");
            let hint = of_folder(name, Reader::Program);
            assert_eq!(hint.is_none(), expected.is_none(), "{name}");
            assert!(hint.is_none_or(|hint| !hint.contains("thalweg ") && !hint.contains("--")), "{name}");
        }
    }

    /// Programs have no short options, no words in capitals and no commands.
    #[test]
    fn a_hint_for_a_program_names_no_command() {
        for (name, table) in [("send", &SEND[..]), ("recv", &RECEIVE), ("bench", &BENCH)] {
            for option in table.iter().flat_map(|(options, _)| *options).filter(|of| of.starts_with("--")) {
                let hint = of_argument(name, option);
                let hint = hint.unwrap_or_else(|| panic!("{name} {option} has no hint for programs"));
                for wrong in
                    ["`", "thalweg", "DIR", "FILES", "[", " -r", " RATE", " SIZE", " TIME", " SCHEME"]
                {
                    assert!(!hint.contains(wrong), "{name} {option}: {hint}");
                }
            }
        }
        for (command, options, _) in &IN_CALLS {
            assert!(
                options.iter().all(|option| of_option(command, option).is_some()),
                "{command} {options:?}"
            );
        }
    }

    /// An option of another program is not a value, and resembles no option of another meaning.
    #[test]
    fn far_suggestions_are_left_out_and_near_ones_stay() {
        for words in [
            &["list", "--schemes"][..],
            &["serve", "--forever", "d"],
            &["send", "--chflags=755", "a", "h"],
            &["send", "-q9", "a", "h"],
        ] {
            let text = refusal(words);
            assert!(text.contains("unexpected argument") && !text.contains("tip:"), "{words:?}: {text}");
        }
        assert!(refusal(&["run", "--jsn", "x"]).contains("'--json'"));
        assert!(refusal(&["send", "--exclude=*.o", "a", "h"]).contains("names are not filtered"));
        assert!(
            refusal(&["send", "--chmod=D755", "a", "h"]).contains("permissions and links are always sent")
        );
        assert!(refusal(&["serve", "--daemon", "d"]).contains("foreground"));
    }

    /// The scenario of the commands in hints.
    const SCENARIO: &str = "duration = \"500 ms\"\nwarmup = \"100 ms\"\n\
         [[link]]\nname = \"core\"\nbetween = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"50 pkt\"\n\
         [[flow]]\nname = \"flows\"\nfrom = \"a\"\nto = \"b\"\nscheme = \"newreno\"\n";

    /// Returns a command line with values for the words in capitals.
    fn fill_in_words(text: &str, scenario: &str) -> Vec<String> {
        let placeholders = [
            ("FILES...", "file"),
            ("HOST[:PORT]", "127.0.0.1:9"),
            ("HOST:PORT", "127.0.0.1:9"),
            ("ADDRESS:PORT", "127.0.0.1:9"),
            ("HOST", "127.0.0.1"),
            ("PORT", "4747"),
            ("FOLDER", "folder"),
            ("DIR", "folder"),
            ("FILE", scenario),
            ("GROUP", "flows"),
            ("SCHEME", "bbr"),
            ("A,B", "cubic,bbr"),
            ("SHELL", "bash"),
            ("RATE", "10Mbit/s"),
            ("SIZE", "1MB"),
            ("TIME", "1s"),
        ];
        let fill = |word: &str| {
            placeholders.iter().fold(word.to_owned(), |word, (name, value)| word.replace(name, value))
        };
        text.split_whitespace().map(|word| fill(word.trim_matches('"'))).collect()
    }

    /// Returns true if all words are known; quoted commands may leave out files and hosts.
    fn parses(words: &[&str], more: &[String]) -> bool {
        parse(words, more)
            .map_or_else(|error| error.kind() == clap::error::ErrorKind::MissingRequiredArgument, |_| true)
    }

    fn runs(words: &[String]) -> bool {
        crate::run_arguments(crate::Registry::default(), words.iter().map(OsString::from)) == 0
    }

    /// Every command and option that a hint quotes is accepted; those that need no peer are run, as are the sweep file's lines.
    #[test]
    fn what_hints_quote_works() {
        let folder = std::env::temp_dir().join(format!("thalweg-hints-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let scenario = folder.join("s.toml").display().to_string();
        std::fs::write(&scenario, SCENARIO).unwrap();
        let tables = [&SEND[..], &RECEIVE, &BENCH, &RUN, &SWEEP, &EXTRA_WORDS, &COMMANDS];
        let hints = tables.iter().flat_map(|table| table.iter().map(|(_, hint)| *hint));
        let (mut lines, mut grid, mut commands) = (Vec::new(), Vec::new(), 0);
        for hint in hints.chain([of_host_to_measure()]) {
            for quoted in hint.split('`').skip(1).step_by(2) {
                if let Some(at) = quoted.find("thalweg ") {
                    let words = fill_in_words(&quoted[at..], &scenario);
                    assert!(parses(&[], &words[1..]), "{quoted}: {words:?}");
                    commands += 1;
                    if ["run", "compare", "completions"].contains(&words[1].as_str()) {
                        let quiet =
                            if words[1] == "completions" { vec![] } else { vec!["--quiet".to_owned()] };
                        assert!(runs(&[words.clone(), quiet].concat()), "{quoted}: {words:?}");
                    }
                } else if quoted.starts_with("--") {
                    let words = fill_in_words(quoted, &scenario);
                    let bases =
                        [&["send", "file", "127.0.0.1"][..], &["recv"], &["bench", "client", "127.0.0.1"]];
                    assert!(bases.iter().any(|base| parses(base, &words)), "{quoted}");
                    commands += 1;
                } else if quoted == "[grid]" {
                    assert!(hint.contains("in `[grid]`"), "{hint}");
                } else if quoted == "delay" {
                    assert!(hint.contains("tc's second value of `delay`"), "{hint}");
                } else if quoted.starts_with("link.") {
                    grid.push(quoted.to_owned());
                } else {
                    assert!(quoted.contains(" = "), "{quoted}");
                    lines.push(quoted.replace("KEY=VALUE", "duration=400 ms"));
                }
            }
        }
        assert!(commands > 15 && lines.len() == 5 && grid.len() == 1, "{commands} {lines:?} {grid:?}");
        // A sweep has `reps` or `until`.
        for other in ["until", "reps"] {
            let kept = lines.iter().filter(|line| !line.starts_with(other)).cloned().collect::<Vec<_>>();
            let sweep = format!("scenario = \"s.toml\"\n{}\n[grid]\n{}\n", kept.join("\n"), grid.join("\n"));
            let path = |name: &str| folder.join(name).display().to_string();
            let (file, out) = (path("grid.toml"), path(other));
            std::fs::write(&file, &sweep).unwrap();
            assert!(
                runs(&["thalweg", "sweep", &file, "--out", &out, "--quiet"].map(str::to_owned)),
                "{sweep}"
            );
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
