//! Scenario file of a candidate. The file is the input of the simulation: no part of a finding is outside it.

use crate::candidate::{Candidate, Disturbance};
use crate::failure_goals::GROUP_UNDER_TEST;
use crate::search_space::Space;
use core::fmt::Write as _;

/// Schemes of a hunt.
#[derive(Clone, Copy, Debug)]
pub struct Schemes<'a> {
    /// Scheme under test, optionally with options.
    pub tested: &'a str,
    /// Scheme of the competing flows.
    pub competing_scheme: &'a str,
}

/// Maximum number of lines of a scenario file.
pub const MAX_LINES: usize = 20;

/// Returns the scenario file of a candidate; `about` is its first line, a comment.
pub fn candidate_scenario(candidate: &Candidate, space: &Space, schemes: Schemes<'_>, about: &str) -> String {
    let [duration, warmup, disturbances_end] = space.times;
    let warmup = if space.goal.counts_warmup() { 0 } else { warmup };
    let mut text = String::new();
    if !about.is_empty() {
        let _ = writeln!(text, "# {about}");
    }
    let title = format!("{}: {}", schemes.tested, space.goal.name());
    let _ = writeln!(text, "title = {}", toml_string(&title));
    let _ =
        writeln!(text, "duration = \"{}\"\nwarmup = \"{}\"", format_millis(duration), format_millis(warmup));
    // Random overhead of up to one packet time, against phase effects.
    let overhead = format_micros(12_000_000 / candidate.rate);
    text.push_str("flow = [\n");
    let count = if candidate.count > 1 { format!(", count = {}", candidate.count) } else { String::new() };
    let mut flow = |name: &str, scheme: &str, rest: &str| {
        let scheme = toml_string(scheme);
        let _ = writeln!(
            text,
            "  {{ name = \"{name}\", from = \"left\", to = \"right\", scheme = {scheme}{rest} }},"
        );
    };
    let transport_keys = format!(
        "{count}{}{}, overhead = \"{overhead}\"",
        format_time_key("start", candidate.start),
        format_time_key("stagger", candidate.stagger)
    );
    flow(GROUP_UNDER_TEST, schemes.tested, &transport_keys);
    for (other, number) in candidate.competing_flows.iter().zip(1..) {
        let access = match other.extra_delay {
            0 => String::new(),
            extra_delay => {
                format!(
                    ", access = {{ rate = \"1 Gbit/s\", delay = \"{}\" }}",
                    format_micros(extra_delay / 2)
                )
            }
        };
        let rest = format!("{}, overhead = \"{overhead}\"{access}", format_time_key("start", other.start));
        let scheme = if other.extra_delay > 0 { schemes.tested } else { schemes.competing_scheme };
        flow(&format!("other-{number}"), scheme, &rest);
    }
    for (pulses, number) in candidate.pulses.iter().zip(1..) {
        let rate = format_kbits(candidate.rate * pulses.percent / 100);
        let stop = if disturbances_end < duration {
            format_time_key("stop", disturbances_end)
        } else {
            String::new()
        };
        let rest = format!(
            "{}{stop}, workload = {{ kind = \"on-off\", on = \"{}\", off = \"{}\", rate = \"{rate}\" }}",
            format_time_key("start", pulses.start),
            format_millis(pulses.burst_length),
            format_millis(pulses.off)
        );
        flow(&format!("pulses-{number}"), "udp", &rest);
    }
    text.push_str("]\n\n[[link]]\nbetween = [\"left\", \"right\"]\n");
    let _ = writeln!(
        text,
        "rate = \"{}\"\ndelay = \"{}\"",
        format_kbits(candidate.rate),
        format_micros(candidate.delay)
    );
    let _ = writeln!(text, "queue = \"{} pkt\"", candidate.queue);
    if candidate.jitter > 0 {
        let _ = writeln!(text, "jitter = \"{}\"", format_micros(candidate.jitter));
    }
    let has_bursts = !candidate.bursts.is_empty();
    if has_bursts {
        let numbers = candidate.bursts.iter().flat_map(|(first, count)| *first..first + count);
        let mut numbers: Vec<u32> = numbers.collect();
        numbers.sort_unstable();
        numbers.dedup();
        let _ = writeln!(text, "loss = {{ model = \"list\", packets = {numbers:?} }}");
    } else if candidate.loss > 0 {
        let _ = writeln!(text, "loss = {}", format_probability(candidate.loss));
    }
    let base_loss =
        if has_bursts || candidate.loss == 0 { "0.0".to_owned() } else { format_probability(candidate.loss) };
    let mut changes: Vec<String> = Vec::new();
    for change in &candidate.changes {
        let mut at =
            |at: u32, what: String| changes.push(format!("{{ at = \"{}\", {what} }}", format_millis(at)));
        match change.what {
            Disturbance::Outage(long) => at(change.at, format!("outage = \"{}\"", format_millis(long))),
            Disturbance::Blackout(long) => {
                at(change.at, "loss = 1.0".to_owned());
                at(change.at + long, format!("loss = {base_loss}"));
            }
            Disturbance::Rate(share) => {
                at(change.at, format!("rate = \"{}\"", format_kbits(candidate.rate * share / 100)));
            }
            Disturbance::Delay(delay) => at(change.at, format!("delay = \"{}\"", format_micros(delay))),
        }
    }
    if has_bursts && disturbances_end < duration {
        // Listed packets that have not been sent by then would be lost after the disturbances end.
        changes.push(format!("{{ at = \"{}\", loss = 0.0 }}", format_millis(disturbances_end)));
    }
    if !changes.is_empty() {
        let _ = writeln!(text, "schedule = [{}]", changes.join(", "));
    }
    if has_bursts || candidate.loss > 0 {
        text.push_str("reverse = { loss = 0.0 }\n");
    }
    text
}

/// Quotes text for TOML.
fn toml_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Formats a key with a time in milliseconds; empty for zero.
fn format_time_key(key: &str, value: u32) -> String {
    if value == 0 { String::new() } else { format!(", {key} = \"{}\"", format_millis(value)) }
}

/// Formats a probability given in millionths.
fn format_probability(millionths: u32) -> String {
    format!("\"{} %\"", f64::from(millionths) / 1e4)
}

fn format_millis(value: u32) -> String {
    if value.is_multiple_of(1000) { format!("{} s", value / 1000) } else { format!("{value} ms") }
}

fn format_micros(value: u32) -> String {
    if value.is_multiple_of(1000) { format!("{} ms", value / 1000) } else { format!("{value} us") }
}

fn format_kbits(value: u32) -> String {
    if value.is_multiple_of(1000) { format!("{} Mbit/s", value / 1000) } else { format!("{value} kbit/s") }
}
