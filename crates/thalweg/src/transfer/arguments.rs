//! The arguments of the commands about transfers.

use crate::console::Error;
use crate::values::{PORT, bytes, positive, socket_address, threads};
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
use thalweg_net::transfer::{Existing, Priority};
use thalweg_proto::units::{Bytes, Duration as Span, Rate};

/// The scheme that bytes are moved by where none is said.
pub const SCHEME: &str = "thalweg";
/// The schemes that receivers of files allow by themselves.
const ALLOWED: [&str; 2] = [SCHEME, "cubic"];

/// `thalweg send`.
#[derive(Debug, Args)]
#[command(override_usage = "thalweg send [OPTIONS] FILES... HOST[:PORT]")]
pub struct SendArguments {
    /// Files and folders to send, or `-` for standard input, and then the receiver
    #[arg(value_name = "FILES... HOST[:PORT]", required = true)]
    pub words: Vec<OsString>,
    /// The transport scheme, with its options ("thalweg", "sstp:rate=20Mbit/s")
    #[arg(long, value_name = "SCHEME", default_value = SCHEME)]
    pub scheme: String,
    /// Send no faster than this
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub rate: Option<Rate>,
    /// What the receiver is taken to have room for, by schemes whose windows both ends agree on beforehand (sstp, sscop,
    /// adaptive-ack)
    #[arg(long, value_name = "SIZE", default_value = "16 MiB", value_parser = memory)]
    pub memory: Bytes,
    /// How urgent it is among the transfers to the same receiver: 1, the most, to 6, the least
    #[arg(long, value_name = "1..6", default_value = "6", value_parser = priority)]
    pub priority: Priority,
    /// Trust this key, or `new`: any key of a receiver that is not known yet. Known ones are trusted
    #[arg(long, value_name = "KEY|new")]
    pub trust: Vec<Trusted>,
    /// Get to know the receiver by the code that it shows (`thalweg recv --pair`), which is asked for, or taken from the
    /// environment variable THALWEG_PAIR. With --pair=CODE other users of this host can see it
    #[arg(
        long,
        value_name = "CODE",
        num_args = 0..=1,
        require_equals = true,
        conflicts_with_all = ["trust", "keep_trying"]
    )]
    pub pair: Option<Option<Code>>,
    /// Compare contents to find unchanged files; without, size and time
    #[arg(long)]
    pub checksum: bool,
    /// Send nothing if the receiver could not have all of it in the end: names what files have that is not carried, such as
    /// owners and attributes, what is no file, folder or link, and links that lead out
    #[arg(long)]
    pub strict: bool,
    /// End with 0 where nothing is left out but what files have besides contents, names, times and permissions
    #[arg(long, conflicts_with = "strict")]
    pub accept_loss: bool,
    /// What standard input is called at the receiver
    #[arg(long, value_name = "NAME", default_value = "stdin")]
    pub name: String,
    /// Connect again whenever the connection is lost, until everything is sent
    #[arg(long)]
    pub keep_trying: bool,
    /// Answer Prometheus at this port of this host, or at this address (http://ADDRESS:PORT/metrics)
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = super::metrics::address)]
    pub metrics: Option<SocketAddr>,
    /// Record what the sender sees of the path, as qlog, for `thalweg infer`; of several connections the last
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Print one JSON document about the transfer
    #[arg(long)]
    pub json: bool,
    /// Print nothing but results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// The arguments that `thalweg recv` and `thalweg serve` share.
#[derive(Debug, Args)]
pub struct ListenArguments {
    /// Where to listen; without an address, at all
    #[arg(long, value_name = "[ADDRESS:]PORT", default_value = "4747")]
    pub listen: Listen,
    /// Trust the sender with this key, or `new`: any sender. Known ones are trusted
    #[arg(long, value_name = "KEY|new")]
    pub trust: Vec<Trusted>,
    /// Let nobody in by `--trust new` while so many are known, or send, to whom nobody gave a name
    #[arg(long, value_name = "N", default_value = "1000", value_parser = positive::<NonZeroU32>)]
    pub strangers: NonZeroU32,
    /// Show a code by which a sender is let in that is not known yet (`thalweg send --pair`); it is good once
    #[arg(long, conflicts_with = "quiet")]
    pub pair: bool,
    /// What may wait here for one sender to be put in order and written, which bounds what is on its way at a time. A sender
    /// that is let in has 16 MiB, and more as far as its path takes it: one of 1 Gbit/s and 300 ms holds 38 MB
    #[arg(long, value_name = "SIZE", default_value = "64 MiB", value_parser = memory)]
    pub memory: Bytes,
    /// Let senders choose this scheme too, beside thalweg and cubic, or `any`. A scheme decides how much this end sends, and when
    #[arg(long, value_name = "SCHEME|any")]
    pub allow_scheme: Vec<String>,
    /// Give files and folders the sender's permissions as they are, writing by groups and others too. Without, they have
    /// what the mask of this process (umask) leaves of them, others never write, and folders that are here keep theirs
    #[arg(long)]
    pub perms: bool,
    /// Take symbolic links that lead out of the folder, too. Nothing of a transfer follows them
    #[arg(long)]
    pub outside_links: bool,
    /// Replace any file that stands where one comes. Without, only what the same sender has brought and nobody has
    /// changed since
    #[arg(long, group = "existing")]
    pub overwrite: bool,
    /// Replace no file
    #[arg(long, group = "existing")]
    pub no_overwrite: bool,
    /// Replace any file, and keep what was there as NAME.~1~, NAME.~2~ ...
    #[arg(long, group = "existing")]
    pub backup: bool,
    /// Answer Prometheus at this port of this host, or at this address (http://ADDRESS:PORT/metrics)
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = super::metrics::address)]
    pub metrics: Option<SocketAddr>,
    /// Print nothing but results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

impl ListenArguments {
    /// The treatment of files that are there already.
    pub fn existing(&self) -> Existing {
        match (self.overwrite, self.no_overwrite, self.backup) {
            (true, ..) => Existing::Any,
            (_, true, _) => Existing::Keep,
            (.., true) => Existing::Backup,
            _ => Existing::Sent,
        }
    }

    /// The names of the schemes that senders may choose; `None` for any that `registry` has.
    pub fn schemes(&self, registry: &Registry) -> Result<Option<Vec<String>>, Error> {
        let mut names = ALLOWED.map(str::to_owned).to_vec();
        for name in self.allow_scheme.iter().filter(|name| *name != ANY) {
            names.push(allowed(name, registry).map_err(|why| wrong("--allow-scheme", name, &why))?);
        }
        Ok((!self.allow_scheme.iter().any(|name| name == ANY)).then_some(names))
    }
}

/// `thalweg recv`.
#[derive(Debug, Args)]
pub struct RecvArguments {
    /// The folder that files go to, or `-` to write one file to standard output
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The arguments that it shares with `thalweg serve`.
    #[command(flatten)]
    pub common: ListenArguments,
    /// Take names that begin with a dot at the top of the folder, too
    #[arg(long)]
    pub hidden: bool,
    /// End with 0 where nothing is left out but what files have besides contents, names, times and permissions
    #[arg(long)]
    pub accept_loss: bool,
    /// Print one JSON document about the transfer
    #[arg(long)]
    pub json: bool,
}

/// `thalweg serve`.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// The folder in which each sender gets a folder
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The arguments that it shares with `thalweg recv`.
    #[command(flatten)]
    pub common: ListenArguments,
    /// What each sender may have in its folder, unfinished files included
    #[arg(long, value_name = "SIZE", default_value = "100 GB", value_parser = quota)]
    pub quota: Bytes,
    /// What all senders may have together in the folder
    #[arg(long, value_name = "SIZE", value_parser = quota)]
    pub total: Option<Bytes>,
    /// How many files and folders each sender may have
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = positive::<NonZeroU64>)]
    pub files: NonZeroU64,
    /// A transfer that has said nothing for so long gives way where another sender finds no place
    #[arg(long, value_name = "TIME", default_value = "60 s", value_parser = idle)]
    pub idle: Duration,
    /// Transfers at a time, of one sender two
    #[arg(long, value_name = "N", default_value = "16", value_parser = positive::<NonZeroU32>)]
    pub transfers: NonZeroU32,
    /// Let so many threads serve the socket, which share the senders
    #[arg(long, value_name = "N", default_value = "1", value_parser = threads)]
    pub threads: usize,
    /// Print one JSON document a line for each transfer that ended
    #[arg(long)]
    pub json_lines: bool,
}

/// The peers that an option trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trusted {
    /// The peer with this key.
    Key(PublicKey),
    /// Any peer that is not known yet.
    New,
}

impl FromStr for Trusted {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "new" {
            return Ok(Self::New);
        }
        text.parse().map(Self::Key).map_err(|error| format!("{error}; expected one, or `new`"))
    }
}

/// The addresses to listen at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// At every address.
    Everywhere(u16),
    /// At this one.
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
        // An address alone may name its interface, too.
        socket_address(text)
            .or_else(|why| socket_address(&format!("[{text}]:{PORT}")).map_err(|_| why))
            .map(Self::At)
    }
}

impl SendArguments {
    /// The scheme, which `registry` has.
    pub fn scheme(&self, registry: &Registry) -> Result<Scheme, Error> {
        scheme(&self.scheme, registry).map_err(|why| wrong("--scheme", &self.scheme, &why))
    }
}

/// A mistake in a value that is read once it is known what there is.
fn wrong(option: &str, given: &str, why: &str) -> Error {
    Error::Usage(format!("{option} cannot be `{given}`: {why}"))
}

fn scheme(text: &str, registry: &Registry) -> Result<Scheme, String> {
    let scheme = Scheme::read(text, registry).map_err(|error| error.to_string())?;
    if scheme.is_reliable() {
        Ok(scheme)
    } else {
        Err(format!("{} may lose data, and files may not", scheme.name()))
    }
}

/// All schemes, in place of a name.
const ANY: &str = "any";

/// The name of a scheme.
fn allowed(text: &str, registry: &Registry) -> Result<String, String> {
    if text.contains(':') {
        return Err("expected a name without options: senders choose those".to_owned());
    }
    scheme(text, registry).map(|scheme| scheme.name().to_owned())
}

fn rate(text: &str) -> Result<Rate, String> {
    let rate: Rate = text.parse().map_err(|error: thalweg_proto::units::UnitError| error.to_string())?;
    if rate.as_bits_per_sec() >= 8000 { Ok(rate) } else { Err("expected 8 kbit/s or more".to_owned()) }
}

fn quota(text: &str) -> Result<Bytes, String> {
    let quota: Bytes = text.parse().map_err(|error: thalweg_proto::units::UnitError| error.to_string())?;
    if quota.get() > 0 { Ok(quota) } else { Err("nobody could send anything".to_owned()) }
}

fn idle(text: &str) -> Result<Duration, String> {
    let idle: Span = text.parse().map_err(|error: thalweg_proto::units::UnitError| error.to_string())?;
    Ok(Duration::from_nanos(idle.as_picos() / 1000))
}

fn priority(text: &str) -> Result<Priority, String> {
    let priority = text.parse().ok().and_then(Priority::new);
    priority.ok_or_else(|| "expected 1, the most urgent, to 6".to_owned())
}

/// The bytes that may wait for a connection: 64 KiB to 4 GiB.
fn memory(text: &str) -> Result<Bytes, String> {
    let memory = bytes(text).map_err(|error| error.to_string())?;
    let bounds = Bytes::new(64 << 10)..=Bytes::new(4 << 30);
    if bounds.contains(&memory) { Ok(memory) } else { Err("between 64 KiB and 4 GiB".to_owned()) }
}
