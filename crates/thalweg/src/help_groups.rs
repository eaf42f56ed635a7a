//! The groups of commands in `thalweg --help`.

use clap::Command;
use std::fmt::Write as _;

/// Headings and their commands, in the order of the help.
const GROUPS: &[(&str, &[&str])] = &[
    ("Simulate", &["run", "compare", "sweep", "validate", "page", "list", "schema"]),
    (
        "Analyse",
        &["report", "rerun", "assess", "hunt", "explore", "paper", "model", "view", "infer", "import"],
    ),
    ("Live networks", &["shell", "bench", "impair", "gate", "doctor", "mahimahi"]),
    ("Transfer files", &["send", "recv", "serve", "key"]),
    ("Install", &["completions", "man"]),
];

/// Replaces the list of subcommands in the help of `command` by one list per group.
pub fn group_subcommands(command: Command) -> Command {
    let styles = command.get_styles();
    let (header, literal) = (*styles.get_header(), *styles.get_literal());
    let names = GROUPS.iter().flat_map(|(_, names)| names.iter());
    let width = names.map(|name| name.len()).max().unwrap_or_default();
    let mut lists = String::new();
    for (heading, names) in GROUPS {
        writeln!(lists, "{header}{heading}:{header:#}").expect("strings take all text");
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            writeln!(lists, "  {literal}{name:width$}{literal:#}  {about}").expect("strings take all text");
        }
        lists.push('\n');
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{lists}{header}Options:{header:#}\n{{options}}{{after-help}}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Arguments;
    use clap::CommandFactory as _;

    #[test]
    fn each_command_is_in_one_group_and_takes_one_line() {
        let command = Arguments::command();
        let mut listed: Vec<_> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut all: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
        listed.sort_unstable();
        all.sort_unstable();
        assert_eq!(listed, all);
        let help = group_subcommands(command.clone()).render_help().to_string();
        for name in all {
            let line = help.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
            assert!(line.len() <= 100, "{line}");
        }
    }
}
