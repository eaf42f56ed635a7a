//! The arguments of commands that simulate: what is run, and how it is run and shown. Other commands have theirs beside what
//! they do.

use crate::values::{Span, parts, plot, positive, replications, seconds, seed, share, span};
use clap::{Args, ValueEnum};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use thalweg_proto::units::Duration;
use thalweg_report::report::Plot;
use thalweg_report::results::Goal;

/// A kind of thing that can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Transport schemes
    Schemes,
    /// Queue disciplines
    #[value(alias = "disciplines")]
    Queues,
    /// What applications do
    Workloads,
    /// What routers tell sources
    Feedback,
    /// Models of packet loss
    Losses,
    /// Paths of access networks, by the names that `path` of a link and `impair --path` take
    Paths,
    /// Hosts that were measured, by the names that `host` of a flow takes
    Hosts,
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
    /// The options of the run.
    #[command(flatten)]
    pub options: Options,
}

/// `thalweg compare`.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// The scenario file, or the name of a built-in scenario
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The schemes that flows use in turn (all, or those of `--flows`), with options ("cubic,cubic:beta=0.5"); differences are against the first
    #[arg(long, value_name = "A,B,..", value_delimiter = ',', required = true)]
    pub schemes: Vec<String>,
    /// Only these groups of flows use the schemes, by their names; the others keep theirs. Tables and verdicts are of these flows, with
    /// what the others got beside them
    #[arg(long, value_name = "GROUP,..", value_delimiter = ',', conflicts_with = "live")]
    pub flows: Vec<String>,
    /// Run each scheme live as well, in a network on this host (see `thalweg shell`), for the scenario's duration; kernel:NAME is TCP of
    /// the kernel
    #[arg(long, conflicts_with_all = ["reps", "until", "json_lines", "report", "svg", "png", "pcap", "qlog", "trace", "jobs"])]
    pub live: bool,
    /// Differences below this share of a value decide nothing ("2 %")
    #[arg(long, value_name = "SHARE", default_value = "1 %", value_parser = share)]
    pub margin: f64,
    /// The options of the runs.
    #[command(flatten)]
    pub options: Options,
}

/// The options of a run: how the scenario is run, and where results go.
#[derive(Debug, Args)]
pub struct Options {
    /// Change the scenario: a key with its tables, and a value ("link.core.rate=50 Mbit/s")
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// The seed of all that is random; without, the scenario's
    #[arg(long, value_name = "N", value_parser = seed, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// Run so often, with the seeds SEED, SEED + 1, ..., and give means with 95 % intervals
    #[arg(long, value_name = "R", default_value = "1", value_parser = replications)]
    pub reps: NonZeroU32,
    /// Make replications until the 95 % intervals of a metric are that narrow, a share of their means ("goodput 2 %"); 10 at
    /// least
    #[arg(long, value_name = "METRIC SHARE", conflicts_with_all = ["reps", "pcap", "qlog", "trace", "json_lines"])]
    pub until: Option<Goal>,
    /// But not more replications than this
    #[arg(long, value_name = "R", default_value = "100", requires = "until", value_parser = replications)]
    pub most_reps: NonZeroU32,
    /// Run so many simulations at a time; without, one for each processor. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroUsize>)]
    pub jobs: Option<NonZeroUsize>,
    /// Let so many threads share each simulation, where its network can be cut (`thalweg validate` says where, and what is gained);
    /// without, one, or, for a single run of some ten seconds or more that clearly gains, those processors that have nothing else to
    /// do. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = parts)]
    pub threads: Option<NonZeroUsize>,
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
    #[arg(long, value_name = "TIME", requires = "trace", value_parser = seconds)]
    pub trace_from: Option<Duration>,
    /// Until this time
    #[arg(long, value_name = "TIME", requires = "trace", value_parser = seconds)]
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
    #[arg(long, value_name = "R", value_parser = replications)]
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
    /// What a picture shows, any number of: goodput, queue, rtt, window, unread, ssthresh, in-flight, pacing-rate, queue-bytes,
    /// link-rate, drops, marks, completion-cdf, rtt-cdf
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

/// The drawing that `--trace` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Trace {
    /// A sequence diagram: who sends what, and when it arrives
    Sequence,
}
