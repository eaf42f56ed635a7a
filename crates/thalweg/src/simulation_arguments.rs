//! Arguments of the commands that simulate: the scenario, the run and the output. Other commands define theirs beside
//! their code.

use crate::value_parsers::{
    Span, integer_parser, parse_percent_share, parse_plot, parse_positive, parse_replications, parse_seconds,
    parse_seed, parse_simulation_threads, parse_time_range,
};
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
    /// Application workloads
    Workloads,
    /// Feedback from routers to sources
    Feedback,
    /// Packet-loss models
    Losses,
    /// Access-network paths, by the names that `path` of a link and `impair --path` take
    Paths,
    /// Measured hosts, by the names that `host` of a flow takes
    Hosts,
    /// Built-in scenarios
    Scenarios,
    /// Protocols that can be explored
    Protocols,
    /// Published studies that can be reproduced
    Papers,
}

/// `thalweg run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Scenario file, or name of a built-in scenario
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The options of the run.
    #[command(flatten)]
    pub options: Options,
}

/// `thalweg compare`.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// Scenario file, or name of a built-in scenario
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Schemes to assign to the flows in turn (all flows, or those of `--flows`), with options
    /// ("cubic,cubic:beta=0.5"); differences are relative to the first
    #[arg(long, value_name = "A,B,..", value_delimiter = ',', required = true)]
    pub schemes: Vec<String>,
    /// Assign the schemes to these groups of flows only, by name; other flows keep theirs. Tables and verdicts cover
    /// the named groups and show the results of the others beside them
    #[arg(long, value_name = "GROUP,..", value_delimiter = ',')]
    pub flows: Vec<String>,
    /// Also run each scheme live, in a network on this host (see `thalweg shell`), for the scenario's duration;
    /// kernel:NAME is the kernel's TCP
    #[arg(long, conflicts_with_all = ["reps", "until", "json_lines", "replay", "svg", "png", "pcap", "qlog", "trace", "jobs", "threads", "margin", "verify"])]
    pub live: bool,
    /// Treat relative differences below this share as undecided ("2 %")
    #[arg(long, value_name = "SHARE", default_value = "1 %", value_parser = parse_percent_share)]
    pub margin: f64,
    /// The options of the runs.
    #[command(flatten)]
    pub options: Options,
}

/// The options of a run: how the scenario is run, and where results go.
#[derive(Debug, Args)]
pub struct Options {
    /// Override a scenario key: the key with its tables, and a value ("link.core.rate=50 Mbit/s")
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Random seed; default: the scenario's
    #[arg(long, value_name = "N", value_parser = parse_seed, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// Number of replications; seeds are SEED, SEED + 1, ..., and results are means with 95 % intervals
    #[arg(long, value_name = "R", default_value = "1", value_parser = parse_replications)]
    pub reps: NonZeroU32,
    /// Replicate until the 95 % intervals of a metric are within this share of their means ("goodput 2 %"), of the
    /// network and all groups or of one group ("goodput of web 2 %"); at least 10 replications
    #[arg(long, value_name = "METRIC SHARE", conflicts_with_all = ["reps", "pcap", "qlog", "trace", "json_lines"])]
    pub until: Option<Goal>,
    /// Maximum number of replications
    #[arg(long, value_name = "R", default_value = "100", requires = "until", value_parser = parse_replications)]
    pub max_reps: NonZeroU32,
    /// Number of simulations to run in parallel; default: one per processor. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = parse_positive::<NonZeroUsize>)]
    pub jobs: Option<NonZeroUsize>,
    /// Number of threads per simulation, where its network can be partitioned (`thalweg validate` shows the partition
    /// and the estimated gain); default: one, or the idle processors for a single run of about ten seconds or more that
    /// clearly gains. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = parse_simulation_threads)]
    pub threads: Option<NonZeroUsize>,
    /// Print one JSON document instead of tables
    #[arg(long, conflicts_with = "json_lines")]
    pub json: bool,
    /// Print one JSON record per line: parameters, progress, results
    #[arg(long)]
    pub json_lines: bool,
    /// Write a self-describing folder with the scenario, results and series
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write an HTML page with plots and tables, into the results folder, FILE, or a file named after the scenario
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub report: Option<Option<PathBuf>>,
    /// Show the packets of this time in the page ("200 ms" from the start, "10 s..10.2 s"); default: all packets, if
    /// the run has few
    #[arg(long, value_name = "TIME", requires = "report", value_parser = parse_time_range)]
    pub replay: Option<Span>,
    /// Write a picture for papers and slides, into the results folder, FILE, or a file named after the scenario
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub svg: Option<Option<PathBuf>>,
    /// Write the same picture as PNG, for programs without SVG support; with --trace sequence, its diagrams as well
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub png: Option<Option<PathBuf>>,
    /// Capture packets for Wireshark, into the results folder or this file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub pcap: Option<Option<PathBuf>>,
    /// Capture point: "source" or "sink" of the flows, or the name of a link
    #[arg(long, value_name = "PLACE", default_value = "source", requires = "pcap")]
    pub pcap_at: String,
    /// Write the senders' events as qlog, for qvis and other tools, into the results folder or this file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub qlog: Option<Option<PathBuf>>,
    /// Maximum number of packet events; the file marks where it was truncated
    #[arg(long, value_name = "N", requires = "qlog", default_value = "200000", value_parser = integer_parser::<u32>(0, u32::MAX))]
    pub qlog_packets: u32,
    /// Draw the packets that a flow's endpoints exchange, as a picture and as text, into the results folder or beside
    /// the scenario
    #[arg(long, value_name = "WHAT", value_enum)]
    pub trace: Option<Trace>,
    /// Flow to draw; default: the first
    #[arg(long, value_name = "FLOW", requires = "trace")]
    pub trace_flow: Option<String>,
    /// Start of the drawing
    #[arg(long, value_name = "TIME", requires = "trace", value_parser = parse_seconds)]
    pub trace_from: Option<Duration>,
    /// End of the drawing
    #[arg(long, value_name = "TIME", requires = "trace", value_parser = parse_seconds)]
    pub trace_until: Option<Duration>,
    /// Maximum number of packets to draw
    #[arg(long, value_name = "N", requires = "trace", default_value = "200", value_parser = parse_positive::<NonZeroU32>)]
    pub trace_packets: NonZeroU32,
    /// Replay every packet of the run and verify the network's invariants
    #[arg(long)]
    pub verify: bool,
    /// Print only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `thalweg rerun`.
#[derive(Debug, Args)]
pub struct RerunArguments {
    /// Folder written by `--out`
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Number of simulations to run in parallel; default: one per processor
    #[arg(long, value_name = "N", value_parser = parse_positive::<NonZeroUsize>)]
    pub jobs: Option<NonZeroUsize>,
    /// Print only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `thalweg paper`.
#[derive(Debug, Args)]
pub struct PaperArguments {
    /// Paper (see `thalweg list papers`)
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Run only this experiment, or all of a table or figure; may be repeated
    #[arg(long = "experiment", value_name = "ID")]
    pub experiments: Vec<String>,
    /// List the experiments with their titles without running them
    #[arg(long)]
    pub list: bool,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
    /// Exit with 1 if a claim of the paper does not hold
    #[arg(long)]
    pub check: bool,
    /// Write a folder with the results and each run with its scenario and series
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write an HTML page with plots and tables, into the results folder, FILE, or a file named after the paper
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub report: Option<Option<PathBuf>>,
    /// Make the shortest runs with the fewest replications, for a first look
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// Make all runs in full length, also the long experiments. Without it runs are as long as the claims need
    #[arg(long)]
    pub full: bool,
    /// First seed; default: each scenario's
    #[arg(long, value_name = "N", value_parser = parse_seed, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// Number of seeds for each run with random components; default: the paper's plan
    #[arg(long, value_name = "R", value_parser = parse_replications)]
    pub reps: Option<NonZeroU32>,
    /// Number of simulations to run in parallel; default: one per processor. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = parse_positive::<NonZeroUsize>)]
    pub jobs: Option<NonZeroUsize>,
    /// Print only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `thalweg report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Folder written by `--out`
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Output file; default: report.html in the folder. A name that ends in .svg or .png gets a picture
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Show the results of this folder beside those of DIR; may be repeated. The output file is then beside.html by default
    #[arg(long, value_name = "DIR")]
    pub beside: Vec<PathBuf>,
    /// Panels of a picture, any number of: goodput, queue, rtt, window, unread, ssthresh, in-flight, pacing-rate,
    /// queue-bytes, link-rate, drops, marks, completion-cdf, rtt-cdf
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_plot)]
    pub plots: Option<Vec<Plot>>,
    /// Time range of a picture ("200 ms" from the start, "10 s..10.2 s"); default: the whole run
    #[arg(long, value_name = "TIME", value_parser = parse_time_range)]
    pub time: Option<Span>,
    /// Print only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `thalweg page`.
#[derive(Debug, Args)]
pub struct PageArguments {
    /// Output file; default: thalweg.html
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Print only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `thalweg validate`.
#[derive(Debug, Args)]
pub struct ValidateArguments {
    /// Scenario file, or name of a built-in scenario
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Override a scenario key: the key with its tables, and a value ("link.core.rate=50 Mbit/s")
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
}

/// The drawing that `--trace` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Trace {
    /// A sequence diagram of packets, with their send and arrival times
    Sequence,
}
