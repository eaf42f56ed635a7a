//! What can be said on the command line: the commands, and how simulations are run and shown. Commands with options of
//! their own say them beside what they do.

use crate::bench::Bench;
use crate::doctor::DoctorArguments;
use crate::explore::ExploreArguments;
use crate::impair::ImpairArguments;
use crate::infer::InferArguments;
use crate::mahimahi::MahimahiArguments;
use crate::model::ModelArguments;
use crate::transfer::arguments::{RecvArguments, SendArguments, ServeArguments};
use crate::values::{Span, plot, positive, seed, share, span, time};
use crate::version::version;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use thalweg_proto::units::Duration;
use thalweg_report::report::Plot;

/// A transport-protocol laboratory: which scheme wins on this path, and why?
#[derive(Debug, Parser)]
#[command(name = "thalweg", version = version(), max_term_width = 100, after_help = EXAMPLES)]
pub struct Arguments {
    /// What to do.
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
    /// Check a scenario and explain it in words
    Validate(ValidateArguments),
    /// Visit every state of a protocol over a channel that misbehaves within bounds, and look for mistakes
    Explore(ExploreArguments),
    /// Measure how fast a path is: bytes from memory to memory, as with iperf3, by any scheme, encrypted
    #[command(subcommand)]
    Bench(Bench),
    /// Relay datagrams between clients and a server, and do to them what paths do
    Impair(ImpairArguments),
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

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Transport schemes
    Schemes,
    /// Queue disciplines
    Queues,
    /// What applications do
    Workloads,
    /// What routers tell sources
    Feedback,
    /// Models of packet loss
    Losses,
    /// Scenarios that are built in
    Scenarios,
    /// Protocols that can be explored
    Protocols,
    /// Published studies that can be reproduced
    Papers,
}

/// `thalweg run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// The scenario file, or the name of a built-in scenario
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// How.
    #[command(flatten)]
    pub options: Options,
}

/// `thalweg compare`.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// The scenario file, or the name of a built-in scenario
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The schemes that all flows use in turn; differences are against the first
    #[arg(long, value_name = "A,B,..", value_delimiter = ',', required = true)]
    pub schemes: Vec<String>,
    /// Differences below this share of a value decide nothing ("2 %")
    #[arg(long, value_name = "SHARE", default_value = "1 %", value_parser = share)]
    pub margin: f64,
    /// How.
    #[command(flatten)]
    pub options: Options,
}

/// How a scenario is run, and where results go.
#[derive(Debug, Args)]
pub struct Options {
    /// Change the scenario: a key with its tables, and a value ("link.core.rate=50 Mbit/s")
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// The seed of all that is random; without, the scenario's
    #[arg(long, value_name = "N", value_parser = seed, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// Run so often, with the seeds SEED, SEED + 1, ..., and give means with 95 % intervals
    #[arg(long, value_name = "R", default_value = "1", value_parser = positive::<NonZeroU32>)]
    pub reps: NonZeroU32,
    /// Run so many simulations at a time; without, one for each processor. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroUsize>)]
    pub jobs: Option<NonZeroUsize>,
    /// Print one JSON document in place of tables
    #[arg(long, conflicts_with = "json_lines")]
    pub json: bool,
    /// Print one JSON record a line: the parameters, what happens while it runs, the results
    #[arg(long)]
    pub json_lines: bool,
    /// Write a folder that holds the scenario, results and series, and explains itself
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write a page with plots and tables for the browser, into the results folder, FILE, or a file named like the
    /// scenario
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub report: Option<Option<PathBuf>>,
    /// Show the packets of this time in the page ("200 ms" from the start, "10 s..10.2 s"); without, those of runs of few
    /// packets
    #[arg(long, value_name = "TIME", requires = "report", value_parser = span)]
    pub replay: Option<Span>,
    /// Write a picture for papers and slides, into the results folder, FILE, or a file named like the scenario
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub svg: Option<Option<PathBuf>>,
    /// Write the same picture as PNG, for programs that do not take SVG; with --trace sequence, its diagrams as well
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub png: Option<Option<PathBuf>>,
    /// Capture packets for Wireshark, into the results folder or this file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub pcap: Option<Option<PathBuf>>,
    /// Where to capture: "source" or "sink" of the flows, or the name of a link
    #[arg(long, value_name = "PLACE", default_value = "source", requires = "pcap")]
    pub pcap_at: String,
    /// Write what the senders did as qlog, for qvis and other tools, into the results folder or this file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub qlog: Option<Option<PathBuf>>,
    /// So many events of packets at most; the file says where it ends
    #[arg(long, value_name = "N", requires = "qlog", default_value = "200000")]
    pub qlog_packets: u32,
    /// Draw what a flow's ends send each other, as a picture and as text, into the results folder or beside the scenario
    #[arg(long, value_name = "WHAT", value_enum)]
    pub trace: Option<Trace>,
    /// Of this flow; without, of the first
    #[arg(long, value_name = "FLOW", requires = "trace")]
    pub trace_flow: Option<String>,
    /// From this time on
    #[arg(long, value_name = "TIME", requires = "trace", value_parser = time)]
    pub trace_from: Option<Duration>,
    /// Until this time
    #[arg(long, value_name = "TIME", requires = "trace", value_parser = time)]
    pub trace_until: Option<Duration>,
    /// So many packets at most
    #[arg(long, value_name = "N", requires = "trace", default_value = "200", value_parser = positive::<NonZeroU32>)]
    pub trace_packets: NonZeroU32,
    /// Replay every packet of the run and check that the network kept its own rules
    #[arg(long)]
    pub verify: bool,
    /// Print nothing but results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `thalweg rerun`.
#[derive(Debug, Args)]
pub struct RerunArguments {
    /// A folder that `--out` wrote
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Run so many simulations at a time; without, one for each processor
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroUsize>)]
    pub jobs: Option<NonZeroUsize>,
    /// Print nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `thalweg paper`.
#[derive(Debug, Args)]
pub struct PaperArguments {
    /// The paper (`thalweg list papers` shows them)
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Only this experiment, or all of a table or figure; may be repeated
    #[arg(long = "experiment", value_name = "ID")]
    pub experiments: Vec<String>,
    /// Run nothing, and show the experiments with their titles
    #[arg(long)]
    pub list: bool,
    /// Print one JSON document in place of tables
    #[arg(long)]
    pub json: bool,
    /// Exit with 1 if a claim of the paper does not hold
    #[arg(long)]
    pub check: bool,
    /// Write a folder that holds the results and each run with its scenario and series
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write a page with plots and tables for the browser, into the results folder, FILE, or a file named like the
    /// paper
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub report: Option<Option<PathBuf>>,
    /// Shorter runs and fewer replications, for a first look
    #[arg(long)]
    pub quick: bool,
    /// The first seed; without, each scenario's
    #[arg(long, value_name = "N", value_parser = seed, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// So many seeds for each run that has random parts; without, as the paper's plan says
    #[arg(long, value_name = "R", value_parser = positive::<NonZeroU32>)]
    pub reps: Option<NonZeroU32>,
    /// Run so many simulations at a time; without, one for each processor. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroUsize>)]
    pub jobs: Option<NonZeroUsize>,
    /// Print nothing but results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `thalweg report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// A folder that `--out` wrote
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Where the page goes; without, into the folder as report.html. A name that ends in .svg or .png gets a picture
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// What a picture shows: goodput, queue, rtt, window, unread
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = plot)]
    pub plots: Option<Vec<Plot>>,
    /// The time that a picture shows ("200 ms" from the start, "10 s..10.2 s"); without, all of it
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub time: Option<Span>,
    /// Print nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `thalweg validate`.
#[derive(Debug, Args)]
pub struct ValidateArguments {
    /// The scenario file, or the name of a built-in scenario
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Change the scenario: a key with its tables, and a value ("link.core.rate=50 Mbit/s")
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
}

/// What `--trace` draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Trace {
    /// A sequence diagram: who sends what, and when it arrives
    Sequence,
}

impl Arguments {
    /// Nothing but results and errors was asked for.
    pub fn quiet(&self) -> bool {
        match &self.command {
            Command::Run(run) => run.options.quiet,
            Command::Compare(compare) => compare.options.quiet,
            Command::Rerun(rerun) => rerun.quiet,
            Command::Explore(explore) => explore.quiet,
            Command::Paper(paper) => paper.quiet,
            Command::Report(report) => report.quiet,
            Command::Bench(Bench::Server(server)) => server.quiet,
            Command::Bench(Bench::Client(client)) => client.quiet,
            Command::Impair(impair) => impair.quiet,
            Command::Mahimahi(mahimahi) => mahimahi.quiet,
            Command::Infer(infer) => infer.quiet,
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
