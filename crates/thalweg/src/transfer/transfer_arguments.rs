//! The arguments of the commands about transfers.

use crate::console_output::{ArgumentError, Error, is_unknown_scheme};
use crate::value_parsers::{PORT, parse_bytes, parse_positive, parse_threads, socket_address};
use clap::Args;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use thalweg_catalog::Registry;
use thalweg_net::flow::Scheme;
use thalweg_net::identity::PublicKey;
use thalweg_net::pairing::Code;
use thalweg_net::transfer::{ExistingFilePolicy, Priority};
use thalweg_proto::units::{Bytes, Duration as Span, Rate};

/// Default transport scheme.
pub const SCHEME: &str = "thalweg";
/// Schemes that receivers of files allow by default.
const DEFAULT_ALLOWED_SCHEMES: [&str; 2] = [SCHEME, "cubic"];

/// `thalweg send`.
#[derive(Debug, Args)]
#[command(override_usage = "thalweg send [OPTIONS] FILES... HOST[:PORT]")]
pub struct SendArguments {
    /// Files and folders to send, or `-` for standard input, followed by the receiver
    #[arg(value_name = "FILES... HOST[:PORT]", required = true)]
    pub words: Vec<OsString>,
    /// The transport scheme, with its options ("thalweg", "sstp:rate=20Mbit/s")
    #[arg(long, value_name = "SCHEME", default_value = SCHEME)]
    pub scheme: String,
    /// Maximum sending rate
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub rate: Option<Rate>,
    /// Assumed receiver window, for schemes whose windows both endpoints agree on beforehand (sstp, sscop,
    /// adaptive-ack)
    #[arg(long, value_name = "SIZE", default_value = "16 MiB", value_parser = parse_receive_buffer)]
    pub memory: Bytes,
    /// Priority among the transfers to the same receiver, from 1 (highest) to 6 (lowest)
    #[arg(long, value_name = "1..6", default_value = "6", value_parser = parse_priority)]
    pub priority: Priority,
    /// Trust this key, or `new`: any unknown receiver's key. Known keys are always trusted
    #[arg(long, value_name = "KEY|new")]
    pub trust: Vec<TrustedPeers>,
    /// Pair with the receiver by the code that it shows (`thalweg recv --pair`). The code is prompted for, or taken
    /// from the environment variable THALWEG_PAIR. With --pair=CODE other users of this host can see it
    #[arg(
        long,
        value_name = "CODE",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with_all = ["trust", "keep_trying"]
    )]
    pub pair: Option<Option<Code>>,
    /// Compare contents to find unchanged files; default: compare size and time
    #[arg(long)]
    pub checksum: bool,
    /// Send nothing if the receiver could not store all of it; lists the unsupported properties of files, such as
    /// owners and attributes, entries other than files, folders and links, and links that lead outside
    #[arg(long)]
    pub strict: bool,
    /// Exit with 0 if only file attributes other than contents, names, times and permissions were left out
    #[arg(long, conflicts_with = "strict")]
    pub accept_loss: bool,
    /// File name for standard input at the receiver
    #[arg(long, value_name = "NAME", default_value = "stdin")]
    pub name: String,
    /// Reconnect whenever the connection is lost, until everything is sent
    #[arg(long)]
    pub keep_trying: bool,
    /// Serve Prometheus metrics at this port of this host, or at this address (http://ADDRESS:PORT/metrics)
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = super::prometheus_metrics::parse_listen_address)]
    pub metrics: Option<SocketAddr>,
    /// Record the sender's view of the path as qlog, for `thalweg infer`; with several connections, the last one
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Print one JSON document about the transfer
    #[arg(long)]
    pub json: bool,
    /// Print only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// The arguments shared by `thalweg recv` and `thalweg serve`.
#[derive(Debug, Args)]
pub struct ListenArguments {
    /// Listening address and port; default address: all
    #[arg(long, value_name = "[ADDRESS:]PORT", default_value = "4747")]
    pub listen: Listen,
    /// Trust the sender with this key, or `new`: any sender. Known keys are always trusted
    #[arg(long, value_name = "KEY|new")]
    pub trust: Vec<TrustedPeers>,
    /// Maximum number of unnamed senders, known or sending, beyond which `--trust new` admits no more
    #[arg(long, value_name = "N", default_value = "1000", value_parser = parse_positive::<NonZeroU32>)]
    pub unknown_senders: NonZeroU32,
    /// Show a single-use code that admits an unknown sender (`thalweg send --pair`)
    #[arg(long, conflicts_with = "quiet")]
    pub pair: bool,
    /// Maximum receive buffer per sender, for reordering and writing; it bounds the bytes in flight. An admitted sender
    /// starts with 16 MiB and gets more as its path needs it: a path of 1 Gbit/s and 300 ms holds 38 MB
    #[arg(long, value_name = "SIZE", default_value = "64 MiB", value_parser = parse_receive_buffer)]
    pub memory: Bytes,
    /// Also let senders choose this scheme, besides thalweg and cubic, or `any`. A scheme decides how much this
    /// endpoint sends, and when
    #[arg(long, value_name = "SCHEME|any")]
    pub allow_scheme: Vec<String>,
    /// Apply the sender's permissions unchanged, including write permission for group and others. By default the umask
    /// of this process applies, group and others never get write permission, and existing folders keep theirs
    #[arg(long)]
    pub perms: bool,
    /// Also accept symbolic links that lead out of the folder. Transfers never follow them
    #[arg(long)]
    pub outside_links: bool,
    /// Replace any existing file, and any folder in the place of a file with all that it contains. By default only files
    /// from the same sender are replaced, if unchanged since
    #[arg(long, group = "existing")]
    pub overwrite: bool,
    /// Never replace existing files
    #[arg(long, group = "existing")]
    pub no_overwrite: bool,
    /// Replace any existing file or folder, and keep the old one as NAME.~1~, NAME.~2~ ...
    #[arg(long, group = "existing")]
    pub backup: bool,
    /// Serve Prometheus metrics at this port of this host, or at this address (http://ADDRESS:PORT/metrics)
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = super::prometheus_metrics::parse_listen_address)]
    pub metrics: Option<SocketAddr>,
    /// Print only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

impl ListenArguments {
    /// Returns the treatment of existing files.
    pub fn existing(&self) -> ExistingFilePolicy {
        match (self.overwrite, self.no_overwrite, self.backup) {
            (true, ..) => ExistingFilePolicy::Any,
            (_, true, _) => ExistingFilePolicy::Keep,
            (.., true) => ExistingFilePolicy::Backup,
            _ => ExistingFilePolicy::Sent,
        }
    }

    /// Returns the names of the schemes that senders may choose; `None` for any in `registry`.
    pub fn schemes(&self, registry: &Registry) -> Result<Option<Vec<String>>, Error> {
        let mut names = DEFAULT_ALLOWED_SCHEMES.map(str::to_owned).to_vec();
        for name in self.allow_scheme.iter().filter(|name| *name != ANY) {
            names.push(parse_allowed_scheme(name, registry)?);
        }
        Ok((!self.allow_scheme.iter().any(|name| name == ANY)).then_some(names))
    }
}

/// `thalweg recv`.
#[derive(Debug, Args)]
pub struct RecvArguments {
    /// Destination folder, or `-` to write one file to standard output
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The arguments shared with `thalweg serve`.
    #[command(flatten)]
    pub common: ListenArguments,
    /// Also accept names that begin with a dot at the top of the folder
    #[arg(long)]
    pub hidden: bool,
    /// Exit with 0 if only file attributes other than contents, names, times and permissions were left out
    #[arg(long)]
    pub accept_loss: bool,
    /// Print one JSON document about the transfer
    #[arg(long)]
    pub json: bool,
}

/// `thalweg serve`.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// Destination folder, with one subfolder per sender
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The arguments shared with `thalweg recv`.
    #[command(flatten)]
    pub common: ListenArguments,
    /// Storage quota of each sender, including unfinished files
    #[arg(long, value_name = "SIZE", default_value = "100 GB", value_parser = parse_quota)]
    pub quota: Bytes,
    /// Storage quota of all senders together
    #[arg(long, value_name = "SIZE", value_parser = parse_quota)]
    pub total: Option<Bytes>,
    /// Maximum number of files and folders of each sender
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = parse_positive::<NonZeroU64>)]
    pub files: NonZeroU64,
    /// Idle time after which a transfer may be ended in favour of a waiting sender
    #[arg(long, value_name = "TIME", default_value = "60 s", value_parser = parse_idle_timeout)]
    pub idle: Duration,
    /// Maximum number of concurrent transfers; each sender may have two
    #[arg(long, value_name = "N", default_value = "16", value_parser = parse_positive::<NonZeroU32>)]
    pub transfers: NonZeroU32,
    /// Number of threads that serve the socket; each serves a share of the senders
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_threads)]
    pub threads: usize,
    /// Print one line of JSON for each finished transfer
    #[arg(long)]
    pub json_lines: bool,
}

/// The peers that an option trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustedPeers {
    /// The peer with this key.
    Key(PublicKey),
    /// Any unknown peer.
    New,
}

impl TrustedPeers {
    /// Returns the key, if one is trusted.
    pub const fn key(&self) -> Option<PublicKey> {
        if let Self::Key(key) = self { Some(*key) } else { None }
    }
}

impl FromStr for TrustedPeers {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "new" {
            return Ok(Self::New);
        }
        text.parse().map(Self::Key).map_err(|error| format!("{error}; expected one, or `new`"))
    }
}

/// Listening addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// This port at every address.
    Everywhere(u16),
    /// This address only.
    At(SocketAddr),
}

impl FromStr for Listen {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(port) = text.trim_start_matches(':').parse() {
            return Ok(Self::Everywhere(port));
        }
        if let Ok(address) = text.parse() {
            return Ok(Self::At(SocketAddr::new(address, PORT)));
        }
        // An address without a port may also name its interface.
        socket_address(text)
            .or_else(|why| socket_address(&format!("[{text}]:{PORT}")).map_err(|_| why))
            .map(Self::At)
    }
}

impl SendArguments {
    /// Returns the scheme, resolved in `registry`.
    pub fn scheme(&self, registry: &Registry) -> Result<Scheme, Error> {
        parse_reliable_scheme("scheme", &self.scheme, registry)
    }
}

/// Returns the error for an option value that can be checked only against the registry.
fn option_value_error(option: &'static str, given_value: &str, why: String, is_unknown_name: bool) -> Error {
    let value = Some(given_value.to_owned());
    Error::Argument(ArgumentError { option, value, why, advice: None, is_unknown_name })
}

/// Returns the scheme that an option names, which must be a reliable one.
fn parse_reliable_scheme(option: &'static str, text: &str, registry: &Registry) -> Result<Scheme, Error> {
    let scheme = Scheme::read(text, registry).map_err(|error| {
        let error = error.offering_reliable(registry);
        option_value_error(option, text, error.to_string(), is_unknown_scheme(&error))
    })?;
    if scheme.is_reliable() {
        Ok(scheme)
    } else {
        Err(option_value_error(
            option,
            text,
            format!("{} may lose data, and files may not", scheme.name()),
            false,
        ))
    }
}

/// Option value that allows all schemes.
const ANY: &str = "any";

/// Parses the name of an allowed scheme.
fn parse_allowed_scheme(text: &str, registry: &Registry) -> Result<String, Error> {
    if text.contains(':') {
        let why = "expected a name without options: senders choose those".to_owned();
        return Err(option_value_error("allow-scheme", text, why, false));
    }
    parse_reliable_scheme("allow-scheme", text, registry).map(|scheme| scheme.name().to_owned())
}

fn parse_rate(text: &str) -> Result<Rate, String> {
    let rate: Rate = text.parse().map_err(|error: thalweg_proto::units::UnitError| error.to_string())?;
    if rate.as_bits_per_sec() >= 8000 { Ok(rate) } else { Err("expected 8 kbit/s or more".to_owned()) }
}

fn parse_quota(text: &str) -> Result<Bytes, String> {
    let quota: Bytes = text.parse().map_err(|error: thalweg_proto::units::UnitError| error.to_string())?;
    if quota.get() > 0 { Ok(quota) } else { Err("nobody could send anything".to_owned()) }
}

fn parse_idle_timeout(text: &str) -> Result<Duration, String> {
    let idle: Span = text.parse().map_err(|error: thalweg_proto::units::UnitError| error.to_string())?;
    Ok(Duration::from_nanos(idle.as_picos() / 1000))
}

fn parse_priority(text: &str) -> Result<Priority, String> {
    let priority = text.parse().ok().and_then(Priority::new);
    priority.ok_or_else(|| "expected 1, the most urgent, to 6".to_owned())
}

/// Parses a connection's receive buffer size: 64 KiB to 4 GiB.
fn parse_receive_buffer(text: &str) -> Result<Bytes, String> {
    let memory = parse_bytes(text).map_err(|error| error.to_string())?;
    let bounds = Bytes::new(64 << 10)..=Bytes::new(4 << 30);
    if bounds.contains(&memory) { Ok(memory) } else { Err("between 64 KiB and 4 GiB".to_owned()) }
}
