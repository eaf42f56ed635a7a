//! Hints for users of rsync, scp and croc, and of earlier builds: the equivalents of their options and commands.

/// Returns the hint for an option that `command` does not have.
pub fn of_option(command: &str, option: &str) -> Option<&'static str> {
    let table: &[(&[&str], &str)] = match command {
        "send" => &SEND,
        "recv" | "serve" => &RECEIVE,
        _ => &[],
    };
    let renamed = RENAMED.iter().find(|(commands, old, _)| commands.contains(&command) && *old == option);
    let hint = table.iter().find(|(options, _)| options.contains(&option)).map(|(_, hint)| *hint);
    renamed.map(|(_, _, hint)| *hint).or(hint)
}

/// Returns the hint for an unknown command.
pub fn of_command(command: &str) -> Option<&'static str> {
    COMMANDS.iter().find(|(names, _)| names.contains(&command)).map(|(_, hint)| *hint)
}

/// Options renamed since development builds: their commands, the old name, and the hint, which ends with the new one.
const RENAMED: [(&[&str], &str, &str); 5] = [
    (&["run", "compare"], "--most-reps", "the option is --max-reps"),
    (&["recv", "serve"], "--strangers", "the option is --unknown-senders"),
    (&["impair"], "--narrow", "the option is --mtu-change"),
    (&["model"], "--most", "the option is --max-window"),
    (&["explore"], "--unproved", "the option is --unvalidated"),
];

const SEND: [(&[&str], &str); 13] = [
    (&["-r", "-R", "--recursive"], "folders need no -r: `thalweg send FOLDER HOST` sends all that is in one"),
    (
        &["-a", "--archive", "-p", "-t", "-l", "--links", "--perms", "--times", "--preserve"],
        "names, times, permissions and links are always sent; owners and attributes never are (see --strict)",
    ),
    (
        &["-v", "-vv", "--verbose", "--progress", "--info"],
        "progress is shown at a terminal unless --quiet is given; --json prints the details",
    ),
    (
        &["-z", "--compress"],
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
    (
        &["--code", "--exclude", "--include", "--filter"],
        "--pair asks for the receiver's code; names are not filtered: list the files to send",
    ),
];

const RECEIVE: [(&[&str], &str); 5] = [
    (
        &["-p", "-P", "--port", "--bind"],
        "the port is that of --listen: `--listen PORT` or `--listen ADDRESS:PORT`",
    ),
    (&["-y", "--yes"], "`--trust new` admits any sender without a prompt; --pair shows a code"),
    (&["-o", "--out", "--output", "--dest"], "the folder is an argument: `thalweg recv DIR`"),
    (
        &["-r", "--recursive", "-v", "--verbose", "--progress", "-a", "-z"],
        "folders are received whole, and progress is shown, without an option",
    ),
    (&["--code"], "--pair shows a code for the sender to enter: `thalweg send --pair FILES... HOST`"),
];

const COMMANDS: [(&[&str], &str); 4] = [
    (
        &["completion", "complete"],
        "completions are printed by `thalweg completions SHELL`, where SHELL is bash, zsh, fish, elvish or powershell",
    ),
    (&["receive", "get", "pull", "download"], "files are received by `thalweg recv DIR`"),
    (&["cp", "copy", "push", "put", "upload", "sync"], "files are sent by `thalweg send FILES... HOST`"),
    (
        &["ping", "iperf", "speedtest"],
        "`thalweg bench client HOST` measures a path, `thalweg doctor HOST` examines this host",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Arguments;
    use clap::CommandFactory as _;

    /// A hint for an existing option would never be shown, and a hint must not name a missing option.
    #[test]
    fn hints_are_for_what_there_is_not_and_name_what_there_is() {
        let command = Arguments::command();
        let has = |name: &str, option: &str| {
            command.find_subcommand(name).unwrap().get_arguments().any(|argument| {
                let long = argument.get_long().is_some_and(|long| option.strip_prefix("--") == Some(long));
                long || argument.get_short().is_some_and(|short| option == format!("-{short}"))
            })
        };
        for (name, table) in [("send", &SEND[..]), ("recv", &RECEIVE), ("serve", &RECEIVE)] {
            for (options, hint) in table {
                for option in *options {
                    assert!(!has(name, option), "{name} {option}");
                }
                for word in hint.split_whitespace().filter(|word| word.starts_with("--")) {
                    let option = word.trim_end_matches(|last: char| !last.is_ascii_alphanumeric());
                    assert!(
                        ["send", "recv", "serve"].iter().any(|name| has(name, option)),
                        "{hint}: {option}"
                    );
                }
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

    #[test]
    fn a_hint_takes_the_place_of_what_is_spelt_alike() {
        let read = |words: &[&str]| {
            let words = ["thalweg"].iter().chain(words).map(std::ffi::OsString::from);
            Arguments::read(words).unwrap_err().to_string()
        };
        for (words, expected) in [
            (&["send", "--port", "4747", "a", "h"][..], "HOST:PORT"),
            (&["send", "-r", "a", "h"], "folders need no -r"),
            (&["send", "-az", "a", "h"], "always sent"),
            (&["send", "-P", "a", "h"], "HOST:PORT"),
            (&["send", "-z", "a", "h"], "tar cz"),
            (&["send", "-v", "a", "h"], "progress is shown"),
            (&["send", "-n", "a", "h"], "no dry run"),
            (&["send", "--bwlimit=500", "a", "h"], "--rate RATE"),
            (&["recv", "--port", "4747", "d"], "--listen PORT"),
            (&["recv", "--strangers", "5", "d"], "the option is --unknown-senders"),
            (&["explore", "adversary", "--unproved=2"], "the option is --unvalidated"),
            (&["completion", "bash"], "thalweg completions SHELL"),
            (&["receive", "d"], "thalweg recv DIR"),
        ] {
            let text = read(words);
            assert!(text.contains(expected) && text.contains("tip:"), "{words:?}: {text}");
            for wrong in ["--priority", "'compare'", "as a value", "similar"] {
                assert!(!text.contains(wrong), "{words:?}: {text}");
            }
        }
    }
}
