//! `thalweg impair`: a path for datagrams of any program.

use crate::console::{Console, Done, Error};
use crate::interrupt::interruptible;
use crate::values::{place, resolve, seconds};
use clap::Args;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::net::SocketAddr;
use thalweg_catalog::Registry;
use thalweg_net::impair::{DirectionError, DirectionSpec, LineStats, Relay, RelayConfig, RelayStats};
use thalweg_proto::units::Duration;

/// `thalweg impair`. What is said for a direction is read by the library.
#[derive(Debug, Args)]
pub struct ImpairArguments {
    /// Where clients send to
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = place)]
    pub listen: SocketAddr,
    /// Where the server is
    #[arg(long, value_name = "HOST[:PORT]")]
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
    /// The discipline of the queue before the line, with its options as in scenario files ("codel:target=20ms"); `thalweg
    /// list queues` lists them. Without, fcfs
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
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub rebind: Vec<Duration>,
    /// The seed of all that is random
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// End after this time; without, at Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = seconds)]
    pub duration: Option<Duration>,
    /// Print what was counted as JSON
    #[arg(long)]
    pub json: bool,
    /// Print nothing but results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Relays until its time is over or Ctrl-C, and prints what was counted.
pub fn impair(arguments: &ImpairArguments, console: &Console) -> Done {
    let usage = |error: DirectionError| Error::Usage(error.to_string());
    let both = both(arguments, &console.registry).map_err(usage)?;
    let direction = |options: &Option<String>| {
        let mut spec = both.clone();
        if let Some(options) = options {
            spec.set_all(options, &console.registry)?;
        }
        spec.check()?;
        Ok(spec)
    };
    let config = RelayConfig {
        listen: arguments.listen,
        to: resolve(&arguments.to)?,
        up: direction(&arguments.up).map_err(usage)?,
        down: direction(&arguments.down).map_err(usage)?,
        seed: arguments.seed,
        rebinds: arguments.rebind.clone(),
        duration: arguments.duration,
    };
    let to = config.to;
    let stop = interruptible()?;
    let bound = Relay::bind(config).and_then(|relay| Ok((relay.local_addr()?, relay)));
    let (listen, relay) =
        bound.map_err(|error| Error::Failed(format!("cannot listen on {}: {error}", arguments.listen)))?;
    console.say(&format!("relaying {listen} -> {to}, seed {}", arguments.seed));
    let stats = relay.run(&stop).map_err(|error| Error::Failed(format!("the relay failed: {error}")))?;
    if arguments.json {
        console.print(&format!("{}\n", document(&stats, arguments.seed)))
    } else {
        console.print(&table(&stats))
    }
}

/// The direction that the options for both directions describe.
fn both(arguments: &ImpairArguments, registry: &Registry) -> Result<DirectionSpec, DirectionError> {
    let mut spec = DirectionSpec::default();
    let said = [
        ("rate", &arguments.rate),
        ("delay", &arguments.delay),
        ("loss", &arguments.loss),
        ("burst", &arguments.burst),
        ("duplicate", &arguments.duplicate),
        ("corrupt", &arguments.corrupt),
        ("reorder", &arguments.reorder),
        ("reorder-delay", &arguments.reorder_delay),
        ("queue", &arguments.queue),
        ("buffer", &arguments.buffer),
        ("mtu", &arguments.mtu),
    ];
    for (key, value) in said {
        if let Some(value) = value {
            spec.set(key, value, registry)?;
        }
    }
    for narrowing in &arguments.narrow {
        spec.set("narrow", narrowing, registry)?;
    }
    for blackout in &arguments.blackout {
        spec.set("blackout", blackout, registry)?;
    }
    Ok(spec)
}

/// The counters of a direction by name, in the order in which things happen.
fn counters(stats: &LineStats) -> [(&'static str, u64); 15] {
    [
        ("received", stats.received),
        ("received_bytes", stats.received_bytes),
        ("blacked_out", stats.blacked_out),
        ("too_long", stats.too_long),
        ("overflow", stats.overflow),
        ("full", stats.full),
        ("early", stats.early),
        ("marked", stats.marked),
        ("longest_queue", stats.longest_queue),
        ("lost", stats.lost),
        ("corrupted", stats.corrupted),
        ("duplicated", stats.duplicated),
        ("held_back", stats.held_back),
        ("delivered", stats.delivered),
        ("delivered_bytes", stats.delivered_bytes),
    ]
}

fn document(stats: &RelayStats, seed: u64) -> Value {
    let direction = |stats| {
        Value::Object(
            counters(stats).map(|(name, count)| (name.to_owned(), count.into())).into_iter().collect(),
        )
    };
    json!({
        "seed": seed,
        "clients": stats.clients,
        "rebinds": stats.rebinds,
        "unsent": stats.unsent,
        "up": direction(&stats.up),
        "down": direction(&stats.down),
    })
}

fn table(stats: &RelayStats) -> String {
    let mut text = format!("{:<16}{:>14}{:>14}\n", "", "to server", "to clients");
    for ((name, up), (_, down)) in counters(&stats.up).into_iter().zip(counters(&stats.down)) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{:<16}{up:>14}{down:>14}", name.replace('_', " "));
    }
    let _ = writeln!(
        text,
        "clients {}, changes of address {}, not sent {}",
        stats.clients, stats.rebinds, stats.unsent
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    /// The command alone.
    #[derive(Debug, clap::Parser)]
    struct Only {
        #[command(flatten)]
        arguments: ImpairArguments,
    }

    fn parsed(line: &str) -> ImpairArguments {
        let words = format!("impair --listen 127.0.0.1:0 --to 127.0.0.1:9 {line}");
        Only::try_parse_from(words.split_whitespace()).unwrap().arguments
    }

    #[test]
    fn options_say_what_both_directions_do_and_then_each() {
        let arguments =
            parsed("--rate 20Mbit/s --delay 300ms --loss 1% --blackout 1s..2s --blackout 3s..4s --up loss=0");
        let (mut expected, registry) = (DirectionSpec::default(), Registry::default());
        let options = "rate=20Mbit/s,delay=300ms,loss=0.01,blackout=1s..2s,blackout=3s..4s";
        expected.set_all(options, &registry).unwrap();
        assert_eq!(both(&arguments, &registry).unwrap(), expected);
        assert_eq!(arguments.up.as_deref(), Some("loss=0"));
    }

    #[test]
    fn mistakes_end_before_anything_is_bound() {
        let console = Console::new(true, std::sync::Arc::default());
        for line in ["--loss 2", "--queue tail", "--down delay", "--loss 70% --burst 1pkt"] {
            assert!(matches!(impair(&parsed(line), &console), Err(Error::Usage(_))), "{line}");
        }
    }
}
