//! `thalweg impair`: emulates a network path for the datagrams of any program.

use crate::console_output::{CommandResult, Console, Error};
use crate::signal_flags::stop_flag_on_signals;
use crate::value_parsers::{integer_parser, listen_address, parse_seconds, resolve_host};
use clap::Args;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use thalweg_catalog::Registry;
use thalweg_net::impair::{
    DirectionError, DirectionSpec, LinkDirectionStats, Relay, RelayConfig, RelayStats,
};
use thalweg_proto::units::{Duration, Rate};
use thalweg_queue::random_delay::{DrawScope, TimeSpec, VariationSpec};
use thalweg_queue::{ImpairmentSpec, LossSpec};
use thalweg_scenario::{PATHS, known_path, nearest_name};
use thalweg_sim::simulation_spec as sim;

/// `thalweg impair`. The library parses the options of a direction.
#[derive(Debug, Args)]
pub struct ImpairArguments {
    /// Listening address and port for clients
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = listen_address)]
    pub listen: SocketAddr,
    /// Server to relay to
    #[arg(long, value_name = "HOST[:PORT]")]
    pub to: String,
    /// Link rate, including IP and UDP headers ("20Mbit/s"); default: unlimited
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// One-way propagation delay ("300ms")
    #[arg(long, value_name = "TIME")]
    pub delay: Option<String>,
    /// Share of lost datagrams ("1%")
    #[arg(long, value_name = "SHARE")]
    pub loss: Option<String>,
    /// Mean length of loss bursts ("8pkt"); default: independent losses
    #[arg(long, value_name = "PACKETS", requires = "loss")]
    pub burst: Option<String>,
    /// Share of duplicated datagrams
    #[arg(long, value_name = "SHARE")]
    pub duplicate: Option<String>,
    /// Share of datagrams with a corrupted bit
    #[arg(long, value_name = "SHARE")]
    pub corrupt: Option<String>,
    /// Share of datagrams delayed for reordering
    #[arg(long, value_name = "SHARE")]
    pub reorder: Option<String>,
    /// Maximum delay for reordering; default: 10 ms
    #[arg(long, value_name = "TIME", requires = "reorder")]
    pub reorder_delay: Option<String>,
    /// Access-network path by name, with the server at its far end; other options override its values (see `thalweg
    /// list paths`)
    #[arg(long, value_name = "NAME")]
    pub path: Option<String>,
    /// Random delay without reordering: uniform up to this time ("5ms"), or Wi-Fi's with this average ("wifi:7ms")
    #[arg(long, value_name = "TIME")]
    pub jitter: Option<String>,
    /// Shape the traffic with a token bucket; the excess waits in the queue ("5Mbit/s:100kB")
    #[arg(long, value_name = "RATE:SIZE")]
    pub shaper: Option<String>,
    /// Add a wake-up delay after an idle time ("11.6s:260ms"); may be repeated, for deeper sleep states
    #[arg(long, value_name = "AFTER:WAKE")]
    pub sleep: Vec<String>,
    /// Deliver datagrams in batches, at this interval ("2ms") and with at most this many datagrams ("4ms:64pkt")
    #[arg(long, value_name = "TIME[:PACKETS]")]
    pub aggregation: Option<String>,
    /// ECN treatment: kept, bleached, ect1-to-ect0, marks-lost or tunnel-compatible
    #[arg(long, value_name = "WORD")]
    pub ecn: Option<String>,
    /// Queue discipline of the link, with its options as in scenario files ("codel:target=20ms"); see `thalweg list
    /// queues`; default: fcfs
    #[arg(long, value_name = "NAME")]
    pub queue: Option<String>,
    /// Queue capacity ("100pkt", "500kB"); default: 1 MB
    #[arg(long, value_name = "SIZE")]
    pub buffer: Option<String>,
    /// Drop packets larger than this, including IP and UDP headers ("1300B")
    #[arg(long, value_name = "SIZE")]
    pub mtu: Option<String>,
    /// Drop packets larger than this from a given time on ("10s:1280B"), counted from the first datagram; may be
    /// repeated
    #[arg(long, value_name = "TIME:SIZE")]
    pub mtu_change: Vec<String>,
    /// Outage between two times, counted from the first datagram ("10s..20s"); may be repeated
    #[arg(long, value_name = "FROM..UNTIL")]
    pub blackout: Vec<String>,
    /// Override options for the direction to the server ("rate=1Mbit/s,loss=5%")
    #[arg(long, value_name = "KEY=VALUE,..")]
    pub up: Option<String>,
    /// Override options for the direction to the clients
    #[arg(long, value_name = "KEY=VALUE,..")]
    pub down: Option<String>,
    /// Change the clients' addresses at this time, counted from the first datagram; may be repeated
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    pub rebind: Vec<Duration>,
    /// Random seed
    #[arg(long, value_name = "N", default_value = "1", value_parser = integer_parser::<u64>(0, u64::MAX))]
    pub seed: u64,
    /// Run time; default: until Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = parse_seconds)]
    pub duration: Option<Duration>,
    /// Print the counters as JSON
    #[arg(long)]
    pub json: bool,
    /// Print only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Relays until the run time is over or Ctrl-C, and prints the counters.
pub fn impair(arguments: &ImpairArguments, console: &Console) -> CommandResult {
    let usage = |error: DirectionError| Error::Usage(error.to_string());
    let [path_up, path_down] = directions_of_named_path(arguments, &console.registry)?;
    let direction = |path: &DirectionSpec, options: &Option<String>| {
        let mut spec = path.clone();
        apply_options_of_both_directions(arguments, &mut spec, &console.registry)?;
        if let Some(options) = options {
            spec.set_all(options, &console.registry)?;
        }
        spec.check()?;
        Ok(spec)
    };
    let config = RelayConfig {
        listen: arguments.listen,
        to: resolve_host(&arguments.to)?,
        up: direction(&path_up, &arguments.up).map_err(usage)?,
        down: direction(&path_down, &arguments.down).map_err(usage)?,
        seed: arguments.seed,
        rebinds: arguments.rebind.clone(),
        duration: arguments.duration,
    };
    let to = config.to;
    let stop = stop_flag_on_signals()?;
    let bound = Relay::bind(config).and_then(|relay| Ok((relay.local_addr()?, relay)));
    let (listen, relay) =
        bound.map_err(|error| Error::Failed(format!("cannot listen on {}: {error}", arguments.listen)))?;
    console.inform(&format!("relaying {listen} -> {to}, seed {}", arguments.seed));
    let stats = relay.run(&stop).map_err(|error| Error::Failed(format!("the relay failed: {error}")))?;
    if arguments.json {
        console.print(&format!("{}\n", counters_json(&stats, arguments.seed)))
    } else {
        console.print(&counters_table(&stats))
    }
}

/// Returns the directions of the named path, to the server and back; without a name, ideal links.
fn directions_of_named_path(
    arguments: &ImpairArguments,
    registry: &Arc<Registry>,
) -> Result<[DirectionSpec; 2], Error> {
    let Some(name) = &arguments.path else { return Ok(Default::default()) };
    let Some(found) = known_path(name, registry) else {
        let names: Vec<&str> = PATHS.iter().map(|path| path.name).collect();
        let near = nearest_name(name, names.iter().copied());
        let help = near.map_or_else(
            || format!("there are {}", names.join(", ")),
            |near| format!("did you mean `{near}`?"),
        );
        return Err(Error::Usage(format!("there is no path `{name}`; {help}")));
    };
    let [down, up] = found.map_err(Error::Scenario)?;
    let live = |line| {
        live_direction_from_simulated(line)
            .map_err(|what| Error::Usage(format!("path `{name}`: {what} is not live")))
    };
    Ok([live(up)?, live(down)?])
}

/// Converts a simulated link direction into a live one; fails on features that live links lack.
fn live_direction_from_simulated(line: sim::DirectionSpec) -> Result<DirectionSpec, &'static str> {
    let ImpairmentSpec {
        loss,
        duplicate,
        duplicate_correlation,
        corrupt,
        corrupt_correlation,
        reorder,
        largest,
    } = line.impairment;
    let correlations = [duplicate_correlation, corrupt_correlation, reorder.map_or(0.0, |of| of.correlation)];
    if correlations.iter().any(|correlation| *correlation > 0.0) {
        return Err("a correlation of duplicates, damage or reordering");
    }
    if largest.is_some() {
        return Err("a black hole");
    }
    let (loss, burst) = match loss {
        LossSpec::None => (0.0, None),
        LossSpec::Uniform { probability } => (probability, None),
        LossSpec::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad }
            if loss_good <= 0.0 && loss_bad >= 1.0 =>
        {
            (good_to_bad / (good_to_bad + bad_to_good), Some(1.0 / bad_to_good))
        }
        _ => return Err("such a loss"),
    };
    if line.capacity.is_some() || !line.schedule.is_empty() || line.feedback.is_some() {
        return Err("a trace, a schedule or feedback");
    }
    let jitter = match line.variation {
        Some(variation) if variation.each == DrawScope::Flow => return Err("jitter of each flow"),
        Some(variation) => Some(variation.as_ref().clone()),
        None if line.jitter.is_zero() => None,
        None => Some(VariationSpec::new(TimeSpec::Uniform { min: Duration::ZERO, max: line.jitter })),
    };
    let defaults = DirectionSpec::default();
    Ok(DirectionSpec {
        rate: (line.rate < Rate::MAX).then_some(line.rate),
        delay: line.delay,
        loss,
        burst,
        duplicate,
        corrupt,
        reorder: reorder.map_or(0.0, |reorder| reorder.probability),
        reorder_delay: reorder.map_or(defaults.reorder_delay, |reorder| reorder.delay),
        jitter,
        start_delay: line.start_delay,
        aggregation: line.aggregation,
        periodic_variation: line.periodic_variation,
        ecn: line.ecn,
        queue: line.queue,
        ..defaults
    })
}

/// Applies the options for both directions to one.
fn apply_options_of_both_directions(
    arguments: &ImpairArguments,
    spec: &mut DirectionSpec,
    registry: &Registry,
) -> Result<(), DirectionError> {
    let settings = [
        ("rate", &arguments.rate),
        ("delay", &arguments.delay),
        ("loss", &arguments.loss),
        ("burst", &arguments.burst),
        ("duplicate", &arguments.duplicate),
        ("corrupt", &arguments.corrupt),
        ("reorder", &arguments.reorder),
        ("reorder-delay", &arguments.reorder_delay),
        ("jitter", &arguments.jitter),
        ("shaper", &arguments.shaper),
        ("aggregation", &arguments.aggregation),
        ("ecn", &arguments.ecn),
        ("queue", &arguments.queue),
        ("buffer", &arguments.buffer),
        ("mtu", &arguments.mtu),
    ];
    for (key, value) in settings {
        if let Some(value) = value {
            spec.set(key, value, registry)?;
        }
    }
    for sleep in &arguments.sleep {
        spec.set("sleep", sleep, registry)?;
    }
    for change in &arguments.mtu_change {
        spec.set("mtu-change", change, registry)?;
    }
    for blackout in &arguments.blackout {
        spec.set("blackout", blackout, registry)?;
    }
    Ok(())
}

/// Returns the counters of a direction by name, in the order of processing.
fn direction_counters(stats: &LinkDirectionStats) -> [(&'static str, u64); 15] {
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

fn counters_json(stats: &RelayStats, seed: u64) -> Value {
    let direction = |stats| {
        Value::Object(
            direction_counters(stats)
                .map(|(name, count)| (name.to_owned(), count.into()))
                .into_iter()
                .collect(),
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

fn counters_table(stats: &RelayStats) -> String {
    let mut text = format!("{:<16}{:>14}{:>14}\n", "", "to server", "to clients");
    for ((name, up), (_, down)) in
        direction_counters(&stats.up).into_iter().zip(direction_counters(&stats.down))
    {
        // Writing to a string cannot fail.
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

    /// Parser of this command alone.
    #[derive(Debug, clap::Parser)]
    struct ImpairCommand {
        #[command(flatten)]
        arguments: ImpairArguments,
    }

    fn parse_line(line: &str) -> ImpairArguments {
        let words = format!("impair --listen 127.0.0.1:0 --to 127.0.0.1:9 {line}");
        ImpairCommand::try_parse_from(words.split_whitespace()).unwrap().arguments
    }

    #[test]
    fn options_apply_to_both_directions_and_then_to_each() {
        let arguments = parse_line(
            "--rate 20Mbit/s --delay 300ms --loss 1% --blackout 1s..2s --blackout 3s..4s --up loss=0",
        );
        let (mut expected, registry) = (DirectionSpec::default(), Registry::default());
        let options = "rate=20Mbit/s,delay=300ms,loss=0.01,blackout=1s..2s,blackout=3s..4s";
        expected.set_all(options, &registry).unwrap();
        let mut spec = DirectionSpec::default();
        apply_options_of_both_directions(&arguments, &mut spec, &registry).unwrap();
        assert_eq!(spec, expected);
        assert_eq!(arguments.up.as_deref(), Some("loss=0"));
    }

    /// The relay supports every path of scenarios, with the same values; the direction to the server is the uplink.
    #[test]
    fn paths_are_live() {
        let registry = Arc::new(Registry::default());
        for known in PATHS {
            let arguments = parse_line(&format!("--path {} --jitter 3ms", known.name));
            let [up, down] = directions_of_named_path(&arguments, &registry).unwrap();
            let [to_user, back] = known_path(known.name, &registry).unwrap().unwrap();
            assert_eq!((down.rate, up.rate), (Some(to_user.rate), Some(back.rate)), "{}", known.name);
            assert_eq!(
                (down.delay, &down.start_delay, down.periodic_variation),
                (to_user.delay, &to_user.start_delay, to_user.periodic_variation)
            );
            assert_eq!((up.aggregation, up.ecn, &up.queue), (back.aggregation, back.ecn, &back.queue));
            let mut changed = up.clone();
            apply_options_of_both_directions(&arguments, &mut changed, &registry).unwrap();
            assert_eq!((changed.rate, changed.jitter.is_some()), (up.rate, true));
        }
        let unknown = directions_of_named_path(&parse_line("--path starling"), &registry)
            .map_err(|error| error.to_string());
        assert_eq!(unknown.unwrap_err(), "there is no path `starling`; did you mean `starlink`?");
    }

    #[test]
    fn mistakes_end_before_anything_is_bound() {
        let console = Console::new("thalweg", true, std::sync::Arc::default());
        for line in ["--loss 2", "--queue tail", "--down delay", "--loss 70% --burst 1pkt"] {
            assert!(matches!(impair(&parse_line(line), &console), Err(Error::Usage(_))), "{line}");
        }
    }
}
