//! The commands of the command line, and what each of them calls.

use crate::arguments::{
    CompareArguments, Kind, PaperArguments, ReportArguments, RerunArguments, RunArguments, ValidateArguments,
};
use crate::assess::{self, AssessArguments};
use crate::bench;
use crate::bench::arguments::Bench;
use crate::console::{Console, Done};
use crate::doctor::{self, DoctorArguments};
use crate::explore::{self, ExploreArguments};
use crate::habits;
use crate::hunt::{self, HuntArguments};
use crate::impair::{self, ImpairArguments};
use crate::import::{self, Import};
use crate::infer::{self, InferArguments};
use crate::mahimahi::{self, MahimahiArguments};
use crate::model::{self, ModelArguments};
use crate::shell::gate::{self, GateArguments};
use crate::shell::{self, ShellArguments};
use crate::sweep::{self, SweepArguments};
use crate::transfer::arguments::{RecvArguments, SendArguments, ServeArguments};
use crate::version::version;
use crate::{catalog, input, paper, report, rerun, run, transfer};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, Parser, Subcommand};
use std::ffi::OsString;

/// A transport-protocol laboratory: which scheme wins on this path, and why?
#[derive(Debug, Parser)]
#[command(name = "thalweg", version = version(), max_term_width = 100, after_help = EXAMPLES)]
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
3 when a peer was not reached or was lost: the same call, made again, goes on.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario and show what happened
    Run(RunArguments),
    /// Run a scenario with each of several schemes and tell who won
    Compare(CompareArguments),
    /// Run a scenario over many values, schemes and seeds, and tell what matters
    Sweep(SweepArguments),
    /// Ask of schemes what RFC 9743 asks of new congestion controls, and tell which claims hold
    Assess(AssessArguments),
    /// Search for the scenarios in which a scheme does worst, and take all away from them that is not needed
    Hunt(HuntArguments),
    /// Run what a results folder holds again and check that every number is the same
    Rerun(RerunArguments),
    /// Run the experiments of a published study and compare with its values
    Paper(PaperArguments),
    /// Compute what a published analysis says
    Model(ModelArguments),
    /// Write the page of a results folder: plots, tables and who won, in one file for the browser
    Report(ReportArguments),
    /// Print when a link can send, as a trace for mahimahi's mm-link
    Mahimahi(MahimahiArguments),
    /// Tell the path from a recording of a real transfer, and simulate the same transfer on it
    Infer(InferArguments),
    /// Run an experiment that was written for another simulator, and compare with the bound that it has
    #[command(subcommand)]
    Import(Import),
    /// Check a scenario and explain it in words
    Validate(ValidateArguments),
    /// Visit every state of a protocol over a channel that misbehaves within bounds, and look for mistakes
    Explore(ExploreArguments),
    /// Measure how fast a path is: bytes from memory to memory, as with iperf3, by any scheme, encrypted
    Bench(Bench),
    /// Relay datagrams between clients and a server, and do to them what paths do
    Impair(Box<ImpairArguments>),
    /// Run programs in a live network that a scenario says: hosts, routers, links, with real packets and no privileges
    Shell(Box<ShellArguments>),
    /// Run programs of this host behind a gate, which decides by priority who may send to the real network
    Gate(Box<GateArguments>),
    /// Tell what this host gives to UDP (buffers, offloads, timers), and how to get more
    Doctor(DoctorArguments),
    /// List what scenarios can use
    List {
        /// Of what
        what: Kind,
    },
    /// Print the JSON Schema of scenario files, for editors
    Schema,
    /// Send files and folders to a receiver, encrypted; what was interrupted goes on
    Send(SendArguments),
    /// Receive files into a folder from one sender, then end
    Recv(RecvArguments),
    /// Receive files from several senders, each into a folder of its own
    Serve(ServeArguments),
    /// Print the key by which others know this user's `send`, `recv` and `serve`
    Key,
}

impl Arguments {
    /// Reads the words of a call, of which the first is the name of the program.
    ///
    /// # Errors
    ///
    /// A wrong call, or one for help.
    pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let words: Vec<OsString> = words.into_iter().collect();
        Self::try_parse_from(&words).map_err(|error| Self::with_hint(Self::with_habit(error, &words), &words))
    }

    /// What people type first who know other programs gets a hint at what there is in its place, and none at what is spelt alike.
    fn with_habit(error: clap::Error, words: &[OsString]) -> clap::Error {
        let given = |kind| match error.get(kind) {
            Some(ContextValue::String(word)) => Some(word.as_str()),
            _ => None,
        };
        let mut command = Self::command();
        let called = words.iter().find_map(|word| command.find_subcommand(word)).cloned();
        let name = called.as_ref().map(|called| called.get_name().to_owned());
        let hint = match error.kind() {
            ErrorKind::UnknownArgument => given(ContextKind::InvalidArg).and_then(|option| {
                habits::of_option(name.as_deref()?, option.split('=').next().unwrap_or(option))
            }),
            ErrorKind::InvalidSubcommand => {
                given(ContextKind::InvalidSubcommand).and_then(habits::of_command)
            }
            _ => None,
        };
        let Some(hint) = hint else { return error };
        command = called.unwrap_or(command);
        let mut hinted = clap::Error::new(error.kind()).with_cmd(&command);
        for kind in [ContextKind::InvalidArg, ContextKind::InvalidSubcommand, ContextKind::Usage] {
            if let Some(value) = error.get(kind) {
                hinted.insert(kind, value.clone());
            }
        }
        hinted.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.to_owned().into()]));
        hinted
    }

    /// A file behind an option that takes one after `=` alone is one argument too many: says how it is written.
    fn with_hint(mut error: clap::Error, words: &[OsString]) -> clap::Error {
        let is_file = |word: &str| !word.starts_with('-');
        let stray = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(word)) => error.kind() == ErrorKind::UnknownArgument && is_file(word),
            _ => false,
        };
        if !stray {
            return error;
        }
        let mut command = Self::command();
        for word in words {
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
        let pairs = words.windows(2).filter_map(|pair| pair[0].to_str().zip(pair[1].to_str()));
        let meant =
            pairs.clone().find(|(option, value)| option.starts_with("--") && takes(option) && is_file(value));
        if let Some((option, value)) = meant {
            let hint = format!("`{option}` takes its value behind an equals sign: `{option}={value}`");
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
        }
        error
    }

    /// Nothing but results and errors was asked for.
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
            Command::Infer(infer) => infer.quiet,
            Command::Import(import) => import.is_quiet(),
            Command::Send(send) => send.quiet,
            Command::Recv(recv) => recv.common.quiet,
            Command::Serve(serve) => serve.common.quiet,
            Command::Doctor(_)
            | Command::Validate(_)
            | Command::Model(_)
            | Command::List { .. }
            | Command::Schema
            | Command::Key => false,
        }
    }
}

impl Command {
    /// Does what the command asks for.
    ///
    /// # Errors
    ///
    /// What went wrong, with its exit code.
    pub fn execute(self, console: &Console) -> Done {
        match self {
            Self::Run(arguments) => run::run(&arguments, console),
            Self::Compare(arguments) if arguments.live => shell::compare::compare(&arguments, console),
            Self::Compare(arguments) => run::compare(&arguments, console),
            Self::Sweep(arguments) => sweep::sweep(&arguments, console),
            Self::Assess(arguments) => assess::assess(&arguments, console),
            Self::Hunt(arguments) => hunt::hunt(&arguments, console),
            Self::Rerun(arguments) => rerun::rerun(&arguments, console),
            Self::Paper(arguments) => paper::paper(&arguments, console),
            Self::Model(arguments) => model::model(arguments.model.as_ref(), console),
            Self::Report(arguments) => report::report(&arguments, console),
            Self::Mahimahi(arguments) => mahimahi::mahimahi(&arguments, console),
            Self::Infer(arguments) => infer::infer(&arguments, console),
            Self::Import(arguments) => import::import(&arguments, console),
            Self::Validate(arguments) => input::validate(&arguments, console),
            Self::Explore(arguments) => explore::explore(&arguments, console),
            Self::Doctor(arguments) => doctor::doctor(&arguments, console),
            Self::Bench(arguments) => bench::bench(&arguments, console),
            Self::Impair(arguments) => impair::impair(&arguments, console),
            Self::Shell(arguments) => shell::shell(&arguments, console),
            Self::Gate(arguments) => gate::gate(&arguments, console),
            Self::List { what } => catalog::list(what, console),
            Self::Schema => catalog::schema(console),
            Self::Send(arguments) => transfer::send(&arguments, console),
            Self::Recv(arguments) => transfer::recv(&arguments, console),
            Self::Serve(arguments) => transfer::serve(&arguments, console),
            Self::Key => transfer::key(console),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
