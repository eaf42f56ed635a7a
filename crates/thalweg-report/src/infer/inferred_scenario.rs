//! Writes the path inferred from a recording as a scenario.

use super::{Losses, Packet, Path, Recording};
use core::fmt::Write as _;
use thalweg_catalog::{Environment, Kind, Registry, SchemeDescription, TextError, Value, Values};
use thalweg_proto::units::{Bytes, Duration, Rate};

/// Scenario of an inferred path.
#[derive(Clone, Debug)]
pub struct InferredScenario {
    /// The scenario, as a file.
    pub text: String,
    /// Part of the simulated shortest round trip that the recorded one does not have, by the transmission of more data: early packets of a
    /// recording may be smaller, and have acknowledgements of their own.
    pub more_transmission: Duration,
}

/// Returns the scenario that simulates the recorded scheme on `path` for the duration of the recording, with the options
/// of a simulated sender or else those of real paths. `trace` is the name of the capacity-trace file, if there is one;
/// `host` describes the endpoints' hosts in scenario format, if known.
///
/// # Errors
///
/// When `registry` lacks the recorded scheme.
pub fn write_inferred_scenario(
    recording: &Recording,
    path: &Path,
    trace: &str,
    host: Option<&str>,
    registry: &Registry,
) -> Result<InferredScenario, TextError> {
    let mut text = String::from("# The path of a recording, as inferred from its sender.\n\n");
    let (description, values) = simulated_scheme(recording, registry)?;
    let shortest = transmission_of_shortest(recording, path);
    let name = description.name;
    let data = recording.packets.iter().map(|packet| packet.length).max().unwrap_or(1).max(1);
    let header = recording.packets.iter().map(|packet| packet.size.saturating_sub(packet.length)).min();
    let seconds = Duration::from_secs_f64(recording.seconds.max(1e-3));
    let _ = writeln!(text, "title = \"As recorded: {name}\"\nduration = \"{}\"", format_millis(seconds));
    text.push_str("warmup = \"0 s\" # the start was recorded, too\n\n");
    let _ = writeln!(text, "[[link]]\nname = \"path\"\nbetween = [\"here\", \"there\"]");
    let assumption = match path.was_filled {
        true => String::new(),
        false => format!(" # an assumption: the path was never filled, and has {} or more", path.rate),
    };
    match path.trace {
        Some(_) => text.push_str(&format!("trace = \"{trace}\"\n")),
        None => text.push_str(&format!("rate = \"{}\"{assumption}\n", path.simulated_rate)),
    }
    let transmission = match path.trace {
        // At an opportunity of a trace a packet takes no time.
        Some(_) => Duration::ZERO,
        None => shortest,
    };
    let _ = writeln!(text, "delay = \"{}\"", format_micros(path.round_trip.saturating_sub(transmission) / 2));
    match path.policer {
        Some((rate, burst)) => {
            let _ = writeln!(
                text,
                "queue = {{ discipline = \"policer\", capacity = \"{} B\", rate = \"{rate}\", burst = \"{} B\" }} # the capacity is unknown",
                path.simulated_queue.get(),
                burst.get().max(3000)
            );
        }
        None => {
            let comment = match path.queue_was_full {
                true => String::new(),
                false => format!(
                    " # an assumption: it was never full, and {} B were seen waiting",
                    path.queue.get()
                ),
            };
            let _ = writeln!(text, "queue = \"{} B\"{comment}", path.simulated_queue.get());
        }
    }
    match path.losses {
        Losses::Independent(share) => {
            let _ = writeln!(text, "loss = {share:.6}");
        }
        Losses::Gilbert { good_to_bad, bad_to_good } => {
            let _ = writeln!(
                text,
                "loss = {{ model = \"gilbert-elliott\", good-to-bad = {good_to_bad:.6}, bad-to-good = {bad_to_good:.6} }}"
            );
        }
    }
    let back = if path.trace.is_some() {
        format!("rate = \"{}\", ", path.rate.max(MIN_REVERSE_RATE))
    } else {
        String::new()
    };
    let _ = writeln!(text, "reverse = {{ {back}loss = 0 }} # losses on the reverse path are invisible\n");
    let _ = writeln!(text, "[[flow]]\nname = \"transfer\"\nfrom = \"here\"\nto = \"there\"");
    let _ = writeln!(text, "scheme = \"{name}\"\nworkload = \"bulk\"");
    if let Some(host) = host {
        let _ = writeln!(text, "host = {host}");
    }
    let _ = writeln!(text, "\n[scheme.{name}]");
    let _ = writeln!(text, "segment = \"{data} B\"\nheader = \"{} B\"", header.unwrap_or(0));
    let more_transmission = full_transmission(recording, path, &values).saturating_sub(shortest);
    text.push_str(&format_options(description, values, path.rate));
    Ok(InferredScenario { text, more_transmission })
}

/// Returns the scheme with the options of the simulated sender.
fn simulated_scheme<'a>(
    recording: &Recording,
    registry: &'a Registry,
) -> Result<(&'a SchemeDescription, Values), TextError> {
    match &recording.simulated_scheme {
        Some(simulated) => registry.read_scheme(simulated, Environment::Simulated),
        None => {
            let (description, live_values) = registry.read_scheme(&recording.scheme, Environment::Live)?;
            Ok((description, description.to_simulated_values(&live_values)))
        }
    }
}

/// Maximum number of packets that an acknowledgement by number covers (RFC 5681, section 4.2); others wait for a timer.
const ACKNOWLEDGED_AT_ONCE: usize = 2;

/// Returns the part of the shortest round trip that is transmission at the simulated rate: of the packet, and on a path that was filled, whose rate
/// is known, of the one that it waited for if the same acknowledgement covers it.
fn transmission_of_shortest(recording: &Recording, path: &Path) -> Duration {
    let trips = recording.round_trips();
    let Some(&(at, trip)) = trips.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else { return Duration::ZERO };
    let of = |bytes: u64| path.simulated_rate.transmission_time(Bytes::new(bytes)).as_secs_f64();
    let is_it = |packet: &&Packet| packet.acknowledged == Some(at);
    let (sent, mut bytes, mut longest) = (at - trip, 0, 0.0_f64);
    let waited_for = if path.was_filled { ACKNOWLEDGED_AT_ONCE } else { 1 };
    let packets = recording.packets.iter().rev().filter(is_it).filter(|packet| packet.sent_at <= sent + 1e-9);
    for packet in packets.take(waited_for) {
        bytes += u64::from(packet.size);
        longest = longest.max(packet.sent_at - sent + of(bytes));
    }
    Duration::from_secs_f64(longest)
}

/// Returns the transmission time of the largest packets that one acknowledgement of the simulated receiver covers.
fn full_transmission(recording: &Recording, path: &Path, values: &Values) -> Duration {
    let is_delayed = values.optional::<bool>("delayed-ack") == Some(true) && path.trace.is_none();
    let together = values.optional::<u32>("delayed-ack.every").filter(|_| is_delayed).unwrap_or(1);
    let largest = recording.packets.iter().map(|packet| packet.size).max().unwrap_or(0);
    path.simulated_rate.transmission_time(Bytes::new(u64::from(largest))) * u64::from(together)
}

/// Formats the options of a simulation.
fn format_options(description: &SchemeDescription, mut values: Values, rate: Rate) -> String {
    // Without a window or a rate it would send without limit.
    if !description.traits.is_reliable {
        values.suggest("rate", Value::Rate(rate));
    }
    let is_off = |table: &str| values.explicit_value(table) == Some(Value::Switch(false));
    let mut text = String::new();
    for (key, value) in values.explicit_values() {
        let is_measured = matches!(key.name, "segment" | "header");
        // A table of keys implies its own switch, and a table switched off has no keys.
        let is_switch = matches!(key.kind, Kind::Table(_)) && !is_off(key.name);
        let is_of_disabled_table = key.name.split_once('.').is_some_and(|(table, _)| is_off(table));
        // The queue is drop-tail and marks nothing.
        let has_no_effect = key.name == "ecn";
        if !is_measured && !is_switch && !is_of_disabled_table && !has_no_effect {
            let _ = writeln!(text, "{} = {}", key.name, value.to_toml());
        }
    }
    text
}

/// Minimum rate of the reverse path where the forward path has a trace.
const MIN_REVERSE_RATE: Rate = Rate::from_mbits_per_sec(1);

fn format_millis(time: Duration) -> String {
    format!("{:.3} ms", time.as_millis_f64())
}

fn format_micros(time: Duration) -> String {
    format!("{:.0} us", time.as_secs_f64() * 1e6)
}
