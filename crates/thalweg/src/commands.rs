//! The commands of the command line, and their implementations.

use crate::analytical_models::{self, ModelArguments};
use crate::assess::{self, AssessArguments};
use crate::bench;
use crate::bench::bench_arguments::Bench;
use crate::compatibility_hints::{self, Reader};
use crate::completions_and_man_pages;
use crate::console_output::{CommandResult, Console};
use crate::doctor::{self, DoctorArguments};
use crate::explore::{self, ExploreArguments};
use crate::help_groups::group_subcommands;
use crate::hunt::{self, HuntArguments};
use crate::impair::{self, ImpairArguments};
use crate::import::{self, Import};
use crate::infer::{self, InferArguments};
use crate::mahimahi::{self, MahimahiArguments};
use crate::parser_error::called_commands;
use crate::shell::gate_command::{self, GateArguments};
use crate::shell::{self, ShellArguments};
use crate::simulation_arguments::{
    CompareArguments, Kind, PageArguments, PaperArguments, ReportArguments, RerunArguments, RunArguments,
    ValidateArguments,
};
use crate::sweep::{self, SweepArguments};
use crate::transfer::transfer_arguments::{RecvArguments, SendArguments, ServeArguments};
use crate::version::{build_description, version};
use crate::view::{self, ViewArguments};
use crate::{
    laboratory_page, list_and_schema, paper, report, rerun, run_and_compare, scenario_sources, transfer,
};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use thalweg_scenario::nearest_name;

/// A transport-protocol laboratory: which scheme wins on this path, and why?
#[derive(Debug, Parser)]
#[command(name = "thalweg", version = version(), long_version = build_description(), max_term_width = 100, after_help = EXAMPLES)]
pub struct Arguments {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  thalweg run dumbbell
  thalweg compare dumbbell --schemes newreno,vegas,cubic --reps 5
  thalweg run my.toml --set link.core.rate=\"50 Mbit/s\" --out results

Results go to standard output, everything else to standard error. The exit code is 0 for success,
1 when a run, check or file failed or was interrupted, 2 when the call or the scenario is wrong,
3 when a peer was not reached or was lost: repeat the command to resume.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario and show the results
    Run(RunArguments),
    /// Run a scenario with each of several schemes and report which wins
    Compare(CompareArguments),
    /// Run a scenario over values, schemes and seeds, and report which factors matter
    Sweep(SweepArguments),
    /// Assess schemes by the criteria of RFC 9743 for new congestion controls
    Assess(AssessArguments),
    /// Search for the scenarios in which a scheme does worst, and minimise them
    Hunt(HuntArguments),
    /// Repeat the runs of a results folder and check that every number is the same
    Rerun(RerunArguments),
    /// Reproduce the experiments of a published study and compare with its values
    Paper(PaperArguments),
    /// Compute a published analytical model
    Model(ModelArguments),
    /// Write an HTML page for a results folder: plots, tables and verdicts, in one file
    Report(ReportArguments),
    /// Export a link's transmission opportunities as a trace for mahimahi's mm-link
    Mahimahi(MahimahiArguments),
    /// Show traces of any program: qlog, packet captures, `ss -tin`, bpftrace
    View(ViewArguments),
    /// Infer the path from a recording of a transfer, and simulate the transfer on it
    Infer(InferArguments),
    /// Run an experiment in another simulator's format, and compare with its bound
    #[command(subcommand)]
    Import(Import),
    /// Write the laboratory page: simulations and lessons in a browser, in one file
    Page(PageArguments),
    /// Check a scenario and describe it
    Validate(ValidateArguments),
    /// Explore every state of a protocol over a channel with bounded faults
    Explore(ExploreArguments),
    /// Measure a path's throughput from memory to memory, by any scheme, encrypted
    Bench(Bench),
    /// Relay datagrams between clients and a server, with the impairments of a network path
    Impair(Box<ImpairArguments>),
    /// Run programs in a network built from a scenario, with real packets, unprivileged
    Shell(Box<ShellArguments>),
    /// Run programs behind a gate that decides by priority which may send on real links
    Gate(Box<GateArguments>),
    /// Show this host's UDP capabilities (buffers, offloads, timers) and how to improve them
    Doctor(DoctorArguments),
    /// List the values available to scenarios
    List {
        /// Kind of value
        what: Kind,
    },
    /// Print the JSON Schema of scenario files, for editors
    Schema,
    /// Send files and folders to a receiver, encrypted; interrupted transfers resume
    Send(SendArguments),
    /// Receive files into a folder from one sender, then exit
    Recv(RecvArguments),
    /// Receive files from several senders, each into a folder of its own
    Serve(ServeArguments),
    /// Print this user's public key, which identifies `send`, `recv` and `serve` to peers
    Key,
    /// Print the completions of commands and options for a shell
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
    /// Write the man pages of all commands into a folder
    Man {
        /// Folder; it is made if missing
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

impl Arguments {
    /// Parses the arguments of a call, including the program's name.
    ///
    /// # Errors
    ///
    /// If the call is invalid, or requests help.
    pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let arguments: Vec<OsString> = arguments.into_iter().collect();
        group_subcommands(Self::command())
            .try_get_matches_from(&arguments)
            .and_then(|matches| Self::from_arg_matches(&matches))
            .map_err(|error| Self::with_hint(Self::with_compatibility_hint(error, &arguments), &arguments))
    }

    /// Replaces suggestions by spelling with a hint for users of other programs, where there is one.
    fn with_compatibility_hint(error: clap::Error, arguments: &[OsString]) -> clap::Error {
        let mut command = Self::command();
        // Usages name the whole command.
        command.build();
        let commands = called_commands(&command, arguments);
        let Some(hint) = compatibility_hints::of_error(&error, &commands, Reader::User) else {
            return Self::without_guesses(error);
        };
        let called = commands.get(1).map(|&called| called.clone());
        command = called.unwrap_or(command);
        let mut hinted = clap::Error::new(error.kind()).with_cmd(&command);
        for kind in [ContextKind::InvalidArg, ContextKind::InvalidSubcommand, ContextKind::Usage] {
            if let Some(value) = error.get(kind) {
                hinted.insert(kind, value.clone());
            }
        }
        if error.kind() == ErrorKind::UnknownArgument && !command.has_subcommands() {
            // The usage of the error names an option that is spelt alike.
            hinted.insert(ContextKind::Usage, ContextValue::StyledStr(command.render_usage()));
        }
        hinted.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.to_owned().into()]));
        hinted
    }

    /// Removes suggestions that are spelt unlike what was given, and that to pass an option as a value, unless it names a
    /// file.
    fn without_guesses(mut error: clap::Error) -> clap::Error {
        let text = |value: Option<&ContextValue>| match value {
            Some(ContextValue::String(word)) => Some(word.clone()),
            _ => None,
        };
        let bare = |word: &str| word.trim_start_matches('-').split('=').next().unwrap_or_default().to_owned();
        let Some(argument) = text(error.get(ContextKind::InvalidArg)) else { return error };
        if error.kind() != ErrorKind::UnknownArgument || !argument.starts_with('-') {
            return error;
        }
        if !Path::new(&argument).exists() {
            error.remove(ContextKind::Suggested);
        }
        let is_near = |found: String| nearest_name(&bare(&argument), [bare(&found).as_str()]).is_some();
        if !text(error.get(ContextKind::SuggestedArg)).is_some_and(is_near) {
            error.remove(ContextKind::SuggestedArg);
        }
        error
    }

    /// Adds a hint for an option whose optional FILE was separated by a space instead of `=`.
    fn with_hint(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
        let is_file = |word: &str| !word.starts_with('-');
        let is_file_argument = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(word)) => error.kind() == ErrorKind::UnknownArgument && is_file(word),
            _ => false,
        };
        if !is_file_argument {
            return error;
        }
        let mut command = Self::command();
        for word in arguments {
            if let Some(inner) = command.find_subcommand(word) {
                command = inner.clone();
            }
        }
        let takes = |word: &str| {
            let option = word.strip_prefix("--");
            command
                .get_arguments()
                .any(|argument| argument.is_require_equals_set() && argument.get_long() == option)
        };
        let pairs = arguments.windows(2).filter_map(|pair| pair[0].to_str().zip(pair[1].to_str()));
        let meant =
            pairs.clone().find(|(option, value)| option.starts_with("--") && takes(option) && is_file(value));
        if let Some((option, value)) = meant {
            let hint = format!("`{option}` takes its value after an equals sign: `{option}={value}`");
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
        }
        error
    }

    /// Returns true if only results and errors are printed.
    pub fn quiet(&self) -> bool {
        match &self.command {
            Command::Run(run) => run.options.quiet,
            Command::Compare(compare) => compare.options.quiet,
            Command::Sweep(sweep) => sweep.quiet,
            Command::Assess(assess) => assess.quiet,
            Command::Hunt(hunt) => hunt.quiet,
            Command::Rerun(rerun) => rerun.quiet,
            Command::Explore(explore) => explore.is_quiet(),
            Command::Paper(paper) => paper.quiet,
            Command::Report(report) => report.quiet,
            Command::Bench(bench) => bench.is_quiet(),
            Command::Impair(impair) => impair.quiet,
            Command::Shell(shell) => shell.quiet,
            Command::Gate(gate) => gate.quiet,
            Command::Mahimahi(mahimahi) => mahimahi.quiet,
            Command::View(view) => view.quiet,
            Command::Infer(infer) => infer.quiet,
            Command::Import(import) => import.is_quiet(),
            Command::Page(page) => page.quiet,
            Command::Send(send) => send.quiet,
            Command::Recv(recv) => recv.common.quiet,
            Command::Serve(serve) => serve.common.quiet,
            Command::Doctor(_)
            | Command::Validate(_)
            | Command::Model(_)
            | Command::List { .. }
            | Command::Schema
            | Command::Completions { .. }
            | Command::Man { .. }
            | Command::Key => false,
        }
    }
}

impl Command {
    /// Executes the command.
    ///
    /// # Errors
    ///
    /// The failure, with its exit code.
    pub fn execute(self, console: &Console) -> CommandResult {
        match self {
            Self::Run(arguments) => run_and_compare::run(&arguments, console),
            Self::Compare(arguments) if arguments.live => {
                shell::compare_live::compare_simulated_and_live(&arguments, console)
            }
            Self::Compare(arguments) => run_and_compare::compare(&arguments, console),
            Self::Sweep(arguments) => sweep::sweep(&arguments, console),
            Self::Assess(arguments) => assess::assess(&arguments, console),
            Self::Hunt(arguments) => hunt::hunt(&arguments, console),
            Self::Rerun(arguments) => rerun::rerun(&arguments, console),
            Self::Paper(arguments) => paper::paper(&arguments, console),
            Self::Model(arguments) => analytical_models::model(arguments.model.as_ref(), console),
            Self::Report(arguments) => report::report(&arguments, console),
            Self::Mahimahi(arguments) => mahimahi::mahimahi(&arguments, console),
            Self::View(arguments) => view::view(&arguments, console),
            Self::Infer(arguments) => infer::infer(&arguments, console),
            Self::Import(arguments) => import::import(&arguments, console),
            Self::Page(arguments) => laboratory_page::write_laboratory_page(&arguments, console),
            Self::Validate(arguments) => scenario_sources::validate(&arguments, console),
            Self::Explore(arguments) => explore::explore(&arguments, console),
            Self::Doctor(arguments) => doctor::doctor(&arguments, console),
            Self::Bench(arguments) => bench::run_bench(&arguments, console),
            Self::Impair(arguments) => impair::impair(&arguments, console),
            Self::Shell(arguments) => shell::shell(&arguments, console),
            Self::Gate(arguments) => gate_command::gate(&arguments, console),
            Self::List { what } => list_and_schema::print_list(what, console),
            Self::Schema => list_and_schema::print_schema(console),
            Self::Send(arguments) => transfer::run_send(&arguments, console),
            Self::Recv(arguments) => transfer::run_recv(&arguments, console),
            Self::Serve(arguments) => transfer::run_serve(&arguments, console),
            Self::Key => transfer::print_key(console),
            Self::Completions { shell } => {
                completions_and_man_pages::print_completions(shell, Arguments::command(), console)
            }
            Self::Man { folder } => {
                completions_and_man_pages::write_man_pages(&folder, Arguments::command(), console)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Command;
    use std::error::Error as _;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    /// Calls the function with each command, by the words that call it.
    fn for_each_command(command: &Command, words: &[&str], check: &mut impl FnMut(&Command, &[&str])) {
        check(command, words);
        for inner in command.get_subcommands() {
            for_each_command(inner, &[words, &[inner.get_name()]].concat(), check);
        }
    }

    /// Programs show the reason to people who did not write the text of a number.
    #[test]
    fn a_refused_number_is_refused_with_what_is_expected() {
        let mut numbers = 0;
        for_each_command(&Arguments::command(), &["thalweg"], &mut |command, words| {
            for name in command.get_arguments().filter_map(|argument| argument.get_long()) {
                let option = format!("--{name}=#");
                let line = words.iter().copied().chain([option.as_str()]).map(OsString::from);
                let Err(error) = Arguments::read(line) else { continue };
                let why = error.source().map(ToString::to_string).unwrap_or_default();
                numbers += usize::from(why.starts_with("expected a whole number"));
                for wrong in
                    ["invalid digit", "invalid float", "from empty string", "too large to fit", "is not in"]
                {
                    assert!(!why.contains(wrong), "{words:?} {option}: {why}");
                }
            }
        });
        assert!(numbers > 30, "{numbers}");
    }
}
