//! Arbitrary schemes, options and frames from a peer: the peer chooses the inputs of a session too.

use thalweg_net::flow::{Registry, Scheme};

/// Vocabulary of options: bounds of ranges, units, names. Invalid combinations are refused.
const WORDS: [&str; 48] = [
    "window",
    "buffer",
    "segment",
    "rate",
    "repeat",
    "t-normal",
    "t-error",
    "rto.floor",
    "rto.ceiling",
    "rto.initial",
    "rto.margin",
    "receive-window",
    "delayed-ack.delay",
    "delayed-ack.every",
    "recovery",
    "max-cc",
    "max-pd",
    "max-stat",
    "timer-cc",
    "timer-poll",
    "timer-keep-alive",
    "timer-no-response",
    "start-rate",
    "max-rate",
    "segment-packets",
    "acknowledgement",
    "reordering",
    "burst",
    "1ps",
    "1ms",
    "1s",
    "1h",
    "1B",
    "256B",
    "64KiB",
    "4GB",
    "1pkt",
    "1048576pkt",
    "unlimited",
    "1",
    "1000",
    "32767",
    "0.5",
    "true",
    "1bit/s",
    "1Gbit/s",
    "go-back-n",
    "hard",
];

/// Runs a script: a byte for the scheme, one for the number of options, two for each of them, and the rest as a script
/// of a session.
pub fn run(script: &[u8]) {
    let mut octets = script.iter().copied();
    let Some(name) = octets.next() else { return };
    let names: Vec<_> = Scheme::names().collect();
    let mut scheme: Scheme = names[usize::from(name) % names.len()].parse().expect("a name is a scheme");
    for _ in 0..octets.next().unwrap_or(0) % 8 {
        let mut word = || WORDS[usize::from(octets.next().unwrap_or(0)) % WORDS.len()];
        let (key, value) = (word(), word());
        let text = scheme.to_string();
        let separator = if text.contains(':') { ',' } else { ':' };
        scheme = format!("{text}{separator}{key}={value}").parse().unwrap_or(scheme);
    }
    let Ok(scheme) = scheme.at_rate("1Mbit/s".parse().ok()) else { return };
    // Decode the scheme as received from the peer.
    let Ok(scheme) = Scheme::decode(&scheme.encode(), &Registry::default()) else { return };
    super::session::run_with(scheme, &octets.collect::<Vec<_>>());
}
