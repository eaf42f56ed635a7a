//! Writes the path inferred from a recording as a scenario.

use super::{Losses, Path, Recording};
use core::fmt::Write as _;
use thalweg_catalog::{Environment, Kind, Registry, SchemeDescription, TextError, Value, Values};
use thalweg_proto::units::{Duration, Rate};

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
) -> Result<String, TextError> {
    let mut text = String::from("# The path of a recording, as inferred from its sender.\n\n");
    let (description, values) = match &recording.simulated_scheme {
        Some(simulated) => registry.read_scheme(simulated, Environment::Simulated)?,
        None => {
            let (description, live_values) = registry.read_scheme(&recording.scheme, Environment::Live)?;
            (description, description.simulated(&live_values))
        }
    };
    let name = description.name;
    let data = recording.packets.iter().map(|packet| packet.length).max().unwrap_or(1).max(1);
    let header = recording.packets.iter().map(|packet| packet.size.saturating_sub(packet.length)).min();
    let seconds = Duration::from_secs_f64(recording.seconds.max(1e-3));
    let _ = writeln!(text, "title = \"As recorded: {name}\"\nduration = \"{}\"", format_millis(seconds));
    text.push_str("warmup = \"0 s\" # the start was recorded, too\n\n");
    let _ = writeln!(text, "[[link]]\nname = \"path\"\nbetween = [\"here\", \"there\"]");
    let lower_bound_comment = match path.was_filled {
        true => "",
        false => " # or more (it was never filled: others may get more)",
    };
    match path.trace {
        Some(_) => text.push_str(&format!("trace = \"{trace}\"\n")),
        None => text.push_str(&format!("rate = \"{}\"{lower_bound_comment}\n", path.rate)),
    }
    // The round trip includes the packet's own serialisation time.
    let size = data + header.unwrap_or(0);
    let serialization = path.rate.transmission_time(thalweg_proto::units::Bytes::new(u64::from(size)));
    let _ =
        writeln!(text, "delay = \"{}\"", format_micros(path.round_trip.saturating_sub(serialization) / 2));
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
    text.push_str(&format_options(description, values, path.rate));
    Ok(text)
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
