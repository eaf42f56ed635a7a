//! The scenario of a recorded run.

use super::{Losses, Path, Recording};
use core::fmt::Write as _;
use thalweg_proto::units::{Duration, Rate};

/// The scenario that simulates the recorded scheme on `path` for as long as was recorded. The file of the capacity trace, if
/// there is one, is called `trace`.
pub fn scenario(recording: &Recording, path: &Path, trace: &str) -> String {
    let mut text =
        String::from("# The path that a recording was made on, as far as its sender could tell.\n\n");
    let (name, options) = recording.scheme.split_once(':').unwrap_or((&recording.scheme, ""));
    let data = recording.packets.iter().map(|packet| packet.length).max().unwrap_or(1).max(1);
    let header = recording.packets.iter().map(|packet| packet.size.saturating_sub(packet.length)).min();
    let seconds = Duration::from_secs_f64(recording.seconds.max(1e-3));
    let _ = writeln!(text, "title = \"As recorded: {name}\"\nduration = \"{}\"\n", millis(seconds));
    let _ = writeln!(text, "[[link]]\nname = \"path\"\nbetween = [\"here\", \"there\"]");
    match path.trace {
        Some(_) => text.push_str(&format!("trace = \"{trace}\"\n")),
        None => text.push_str(&format!("rate = \"{}\"\n", path.rate)),
    }
    // The packet's own transmission is in its round trip.
    let size = data + header.unwrap_or(0);
    let own = path.rate.transmission_time(thalweg_proto::units::Bytes::new(u64::from(size)));
    let _ = writeln!(text, "delay = \"{}\"", micros(path.round_trip.saturating_sub(own) / 2));
    let _ = writeln!(text, "queue = \"{} B\"", path.queue.get());
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
        format!("rate = \"{}\", ", path.rate.max(LEAST_BACK))
    } else {
        String::new()
    };
    let _ = writeln!(text, "reverse = {{ {back}loss = 0 }} # what is lost on the way back does not show\n");
    let _ = writeln!(text, "[[flow]]\nname = \"transfer\"\nfrom = \"here\"\nto = \"there\"");
    let _ = writeln!(text, "scheme = \"{name}\"\nworkload = \"bulk\"\n\n[scheme.{name}]");
    let mut keys: Vec<(String, String)> = vec![
        ("segment".into(), format!("{data} B")),
        ("header".into(), format!("{} B", header.unwrap_or(0))),
    ];
    for (key, value) in options.split(',').filter_map(|option| option.split_once('=')) {
        match (name, key) {
            (_, "segment") => {}
            // Simulated ones find it out.
            ("sstp", "repeat") => {}
            // What it consists of is said below.
            (_, "delayed-ack") if value == "true" => {}
            ("sstp", "window" | "buffer") => keys.push((key.into(), format!("{value} seg"))),
            _ => keys.push((key.into(), value.into())),
        }
    }
    let live: &[(&str, &str)] = match name {
        "sscop" | "sscop-rate" => &SSCOP,
        "adaptive-ack" | "sstp" => &[],
        _ if keys.iter().any(|(key, _)| key == "delayed-ack") => &[],
        _ => &WINDOW,
    };
    for (key, usual) in live {
        if keys.iter().all(|(said, _)| said != key) {
            keys.push(((*key).into(), (*usual).into()));
        }
    }
    for (key, value) in keys {
        let is_bare = value == "true" || value == "false" || value.parse::<f64>().is_ok();
        let _ =
            if is_bare { writeln!(text, "{key} = {value}") } else { writeln!(text, "{key} = \"{value}\"") };
    }
    text
}

/// The options that SSCOP has on real paths unless it is told otherwise, and in scenarios only if it is told.
const SSCOP: [(&str, &str); 4] = [
    ("poll-after-retransmission", "true"),
    ("ignore-old-data", "true"),
    ("timer-no-response", "10min"),
    ("max-cc", "600"),
];

/// The options that receivers of window transports have on real paths unless they are told otherwise.
const WINDOW: [(&str, &str); 2] = [("delayed-ack.delay", "25 ms"), ("delayed-ack.every", "2")];

/// The way back has a rate of its own where the way there has a trace.
const LEAST_BACK: Rate = Rate::from_mbits_per_sec(1);

fn millis(time: Duration) -> String {
    format!("{:.3} ms", time.as_millis_f64())
}

fn micros(time: Duration) -> String {
    format!("{:.0} us", time.as_secs_f64() * 1e6)
}
