//! What can be said on the command line.

use crate::infer::InferArguments;
use crate::transfer::arguments::{RecvArguments, SendArguments, ServeArguments};
use crate::version::version;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;
use thalweg_lab::report::Plot;
use thalweg_lab::scenario::nearest;
use thalweg_proto::units::{Bytes, Duration, Rate, UnitError};

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
    #[arg(long, value_name = "N")]
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

/// `thalweg model`.
#[derive(Debug, Args)]
pub struct ModelArguments {
    /// Whose analysis
    #[command(subcommand)]
    pub model: Model,
}

/// The analyses that can be computed.
#[derive(Debug, Subcommand)]
pub enum Model {
    /// Two-level flow control (Gong and Parulkar 1992): delays and throughput efficiency
    Gong92(Gong92Arguments),
}

/// `thalweg model gong92`.
#[derive(Debug, Args)]
pub struct Gong92Arguments {
    /// p: packet loss probabilities
    #[arg(
        long = "p",
        value_name = "P,..",
        value_delimiter = ',',
        default_value = "0.001",
        value_parser = probability,
        allow_hyphen_values = true
    )]
    pub loss: Vec<f64>,
    /// W: windows in segments, or as multiples of w_a ("2.5wa")
    #[arg(
        long = "window",
        value_name = "W,..",
        value_delimiter = ',',
        default_value = "2.5wa",
        allow_hyphen_values = true
    )]
    pub windows: Vec<Window>,
    /// A: the rate of the connection
    #[arg(long, value_name = "RATE", default_value = "100 Mbit/s")]
    pub rate: Rate,
    /// RTD: the round-trip delay
    #[arg(long, value_name = "TIME", default_value = "30 ms")]
    pub rtd: Duration,
    /// l: the size of a packet
    #[arg(long, value_name = "SIZE", default_value = "1024 B")]
    pub packet: Bytes,
    /// s: packets in a segment
    #[arg(long, value_name = "N", default_value = "16", value_parser = positive::<NonZeroU32>)]
    pub segment: NonZeroU32,
    /// The third regime of the efficiency as the paper prints it, in place of the corrected form
    #[arg(long)]
    pub printed: bool,
    /// Print one JSON document in place of a table
    #[arg(long)]
    pub json: bool,
}

/// A probability, 0 and 1 included.
fn probability(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.trim().parse().ok();
    value
        .filter(|value| (0.0..=1.0).contains(value))
        .ok_or_else(|| "expected a probability from 0 to 1, such as 1e-3".to_owned())
}

/// A window in segments, or as a multiple of w_a.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Window {
    /// So many segments.
    Segments(f64),
    /// So many times w_a.
    RoundTrips(f64),
}

impl FromStr for Window {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (number, make): (&str, fn(f64) -> Self) = match text.strip_suffix("wa") {
            Some(number) => (number.trim_end(), Self::RoundTrips),
            None => (text.strip_suffix("seg").unwrap_or(text).trim_end(), Self::Segments),
        };
        let number: f64 = number
            .parse()
            .map_err(|_| "expected a number of segments, such as 58, or of w_a, such as 2.5wa".to_owned())?;
        if number > 0.0 { Ok(make(number)) } else { Err("a window is above 0".to_owned()) }
    }
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
    #[arg(long, value_name = "N")]
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

/// `thalweg mahimahi`.
#[derive(Debug, Args)]
pub struct MahimahiArguments {
    /// The scenario file, or the name of a built-in scenario
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The link; may be left out where there is only one
    #[arg(value_name = "LINK")]
    pub link: Option<String>,
    /// The direction that begins at this node; without, at the link's first node
    #[arg(long, value_name = "NODE")]
    pub from: Option<String>,
    /// Change the scenario: a key with its tables, and a value ("link.core.rate=50 Mbit/s")
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Print nothing but the trace and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `thalweg explore`.
#[derive(Debug, Args)]
pub struct ExploreArguments {
    /// The protocol (`thalweg list protocols`)
    #[arg(value_name = "PROTOCOL")]
    pub protocol: String,
    /// The window in packets, of sstp in segments of two packets [default: 3; with --slow-reader 2, with --endless 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub window: Option<u16>,
    /// Packets to bring across; without, two more than the window takes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub messages: Option<u32>,
    /// Packets lost at most, in either direction
    #[arg(long, value_name = "N", default_value = "2")]
    pub losses: u8,
    /// Packets copied at most [default: 1; none for sscop, which relies on a channel that copies none]
    #[arg(long, value_name = "N")]
    pub duplicates: Option<u8>,
    /// Packets held back at most, so that others pass them
    #[arg(long, value_name = "N", default_value = "0")]
    pub delays: u8,
    /// Timers that expire at most while packets are on their way or something waits to be read, or before one that is due earlier
    #[arg(long, value_name = "N", default_value = "1")]
    pub expiries: u8,
    /// The application reads when it likes, so that the receiver withholds its window; not for adaptive-ack
    #[arg(long)]
    pub slow_reader: bool,
    /// For sstp: does a stream without end, of segments of one packet, come to rest after --losses data packets were lost?
    #[arg(long, conflicts_with_all = ["messages", "duplicates", "delays", "expiries", "slow_reader"])]
    pub endless: bool,
    /// Of a stream without end: reports lost at most, beside the data packets of --losses
    #[arg(long, value_name = "N", default_value = "0", requires = "endless")]
    pub lost_reports: u8,
    /// Stop when the states take more memory than this
    #[arg(long, value_name = "SIZE", default_value = "1 GB", value_parser = bytes)]
    pub memory: Bytes,
    /// Print one JSON document in place of text
    #[arg(long)]
    pub json: bool,
    /// Print nothing but results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `thalweg doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// Examine the interface towards this host, to which nothing is sent; without, the loopback
    #[arg(value_name = "HOST:PORT")]
    pub target: Option<String>,
    /// Print one JSON document in place of text
    #[arg(long)]
    pub json: bool,
}

/// `thalweg bench`.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Wait for clients
    Server(BenchServerArguments),
    /// Send to a server, or receive from it
    Client(BenchClientArguments),
}

/// `thalweg bench server`.
#[derive(Debug, Args)]
pub struct BenchServerArguments {
    /// Where to listen
    #[arg(value_name = "ADDRESS:PORT", default_value = "[::]:4747")]
    pub bind: SocketAddr,
    /// Stop after one client
    #[arg(long)]
    pub once: bool,
    /// How the socket is used.
    #[command(flatten)]
    pub socket: BenchSocket,
    /// Print one JSON document a client in place of text
    #[arg(long)]
    pub json: bool,
    /// Print nothing but results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `thalweg bench client`.
#[derive(Debug, Args)]
pub struct BenchClientArguments {
    /// The server
    #[arg(value_name = "HOST:PORT")]
    pub server: String,
    /// How bytes are moved: a scheme, and options of it ("cubic:initial-window=20pkt")
    #[arg(long, value_name = "SCHEME", default_value = "cubic")]
    pub scheme: String,
    /// For how long
    #[arg(long, value_name = "TIME", default_value = "10 s", value_parser = time)]
    pub time: Duration,
    /// Receive from the server in place of sending to it
    #[arg(long)]
    pub reverse: bool,
    /// So many connections at once
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub parallel: u32,
    /// The server's key, which it prints; without, any server is believed
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// Record what the sender sees of the path, as qlog, for `thalweg infer`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["reverse", "parallel"])]
    pub record: Option<PathBuf>,
    /// How the socket is used.
    #[command(flatten)]
    pub socket: BenchSocket,
    /// Print one JSON document in place of text
    #[arg(long, conflicts_with = "json_lines")]
    pub json: bool,
    /// Print one JSON record a line: one a second, and the results
    #[arg(long)]
    pub json_lines: bool,
    /// Print nothing but results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// How a socket is used.
#[derive(Debug, Args)]
pub struct BenchSocket {
    /// Send and receive datagrams one by one, as on a host without offloads
    #[arg(long)]
    pub no_offload: bool,
    /// The largest datagram in bytes; the path is searched for it
    #[arg(long, value_name = "SIZE", default_value = "65507 B", value_parser = bytes)]
    pub datagram: Bytes,
    /// What is asked of the system for each of the socket's buffers
    #[arg(long, value_name = "SIZE", default_value = "4 MiB", value_parser = bytes)]
    pub buffer: Bytes,
    /// What may wait to be read, which bounds what is on the way
    #[arg(long, value_name = "SIZE", default_value = "16 MiB", value_parser = bytes)]
    pub memory: Bytes,
}

/// A number that is not zero.
fn positive<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| "expected a whole number from 1 on".to_owned())
}

/// What `--trace` draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Trace {
    /// A sequence diagram: who sends what, and when it arrives
    Sequence,
}

/// `thalweg impair`. What is said for a direction is read by the library.
#[derive(Debug, Args)]
pub struct ImpairArguments {
    /// Where clients send to
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: SocketAddr,
    /// Where the server is
    #[arg(long, value_name = "HOST:PORT")]
    pub to: String,
    /// The rate of the line, headers of IP and UDP counted ("20Mbit/s"); as fast as the host without
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// How long the line is, one way ("300ms")
    #[arg(long, value_name = "TIME")]
    pub delay: Option<String>,
    /// The share of datagrams that is lost ("1%")
    #[arg(long, value_name = "SHARE")]
    pub loss: Option<String>,
    /// Lose so many in a row in the mean ("8pkt"); without, losses are independent
    #[arg(long, value_name = "PACKETS", requires = "loss")]
    pub burst: Option<String>,
    /// The share that arrives twice
    #[arg(long, value_name = "SHARE")]
    pub duplicate: Option<String>,
    /// The share of which a bit is wrong
    #[arg(long, value_name = "SHARE")]
    pub corrupt: Option<String>,
    /// The share that is held back, so that later ones pass
    #[arg(long, value_name = "SHARE")]
    pub reorder: Option<String>,
    /// For how long they are held back at most; 10 ms without
    #[arg(long, value_name = "TIME", requires = "reorder")]
    pub reorder_delay: Option<String>,
    /// The discipline of the queue before the line: fcfs (the usual one), random-drop, red, codel, fq-codel, pie, sfq, drr
    #[arg(long, value_name = "NAME")]
    pub queue: Option<String>,
    /// What that queue holds ("100pkt", "500kB"); 1 MB without
    #[arg(long, value_name = "SIZE")]
    pub buffer: Option<String>,
    /// Drop packets that are larger, headers of IP and UDP counted ("1300B")
    #[arg(long, value_name = "SIZE")]
    pub mtu: Option<String>,
    /// Drop packets larger than that from some time on ("10s:1280B"), counted from the first datagram; may be repeated
    #[arg(long, value_name = "TIME:SIZE")]
    pub narrow: Vec<String>,
    /// Let nothing in from one time to another, counted from the first datagram ("10s..20s"); may be repeated
    #[arg(long, value_name = "FROM..UNTIL")]
    pub blackout: Vec<String>,
    /// The same options for the way to the server only ("rate=1Mbit/s,loss=5%")
    #[arg(long, value_name = "KEY=VALUE,..")]
    pub up: Option<String>,
    /// The same options for the way back only
    #[arg(long, value_name = "KEY=VALUE,..")]
    pub down: Option<String>,
    /// Give clients other addresses at that time, counted from the first datagram; may be repeated
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub rebind: Vec<Duration>,
    /// The seed of all that is random
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// End after this time; without, at Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    pub duration: Option<Duration>,
    /// Print what was counted as JSON
    #[arg(long)]
    pub json: bool,
    /// Print nothing but results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// From when until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The beginning.
    pub from: Duration,
    /// The end, which is later.
    pub until: Duration,
}

fn plot(text: &str) -> Result<Plot, String> {
    Plot::ALL.into_iter().find(|plot| plot.name() == text.trim()).ok_or_else(|| {
        let names: Vec<&str> = Plot::ALL.iter().map(|plot| plot.name()).collect();
        match nearest(text, names.iter().copied()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("one of {}", names.join(", ")),
        }
    })
}

fn span(text: &str) -> Result<Span, String> {
    let part = |text: &str| text.trim().parse::<Duration>().map_err(|error| error.to_string());
    let (from, until) = match text.split_once("..") {
        Some((from, until)) => (part(from)?, part(until)?),
        None => (Duration::ZERO, part(text)?),
    };
    if until <= from { Err(format!("{until} is not after {from}")) } else { Ok(Span { from, until }) }
}

fn time(text: &str) -> Result<Duration, UnitError> {
    text.parse()
}

fn bytes(text: &str) -> Result<Bytes, UnitError> {
    text.parse()
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
    fn a_span_has_a_beginning_and_an_end() {
        let millis = Duration::from_millis;
        assert_eq!(span("20 ms"), Ok(Span { from: Duration::ZERO, until: millis(20) }));
        assert_eq!(span("1 s..1.5 s"), Ok(Span { from: millis(1000), until: millis(1500) }));
        assert!(span("2 s..1 s").unwrap_err().contains("is not after"));
        assert!(span("0 s").is_err() && span("soon").is_err() && span("1 s..").is_err());
    }

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
