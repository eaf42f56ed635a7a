//! From a candidate to its scenario file, which is what is simulated: nothing of a finding is outside it.

use crate::genes::{Candidate, What};
use crate::goal::GROUP_UNDER_TEST;
use crate::space::Space;
use core::fmt::Write as _;

/// The schemes of a hunt.
#[derive(Clone, Copy, Debug)]
pub struct Schemes<'a> {
    /// The one whose worst is looked for, perhaps with options.
    pub tested: &'a str,
    /// That of the other flows.
    pub beside: &'a str,
}

/// The most lines that a scenario file has.
pub const MAX_LINES: usize = 20;

/// The scenario file of a candidate; `about` is its first line, a comment.
pub fn scenario(genes: &Candidate, space: &Space, schemes: Schemes<'_>, about: &str) -> String {
    let [duration, warmup, calm] = space.times;
    let mut text = String::new();
    if !about.is_empty() {
        let _ = writeln!(text, "# {about}");
    }
    let title = format!("{}: {}", schemes.tested, space.goal.name());
    let _ = writeln!(text, "title = {}", quoted(&title));
    let _ = writeln!(text, "duration = \"{}\"\nwarmup = \"{}\"", millis(duration), millis(warmup));
    // Up to a packet's time at random, against phase effects.
    let overhead = micros(12_000_000 / genes.rate);
    text.push_str("flow = [\n");
    let count = if genes.count > 1 { format!(", count = {}", genes.count) } else { String::new() };
    let mut flow = |name: &str, scheme: &str, rest: &str| {
        let scheme = quoted(scheme);
        let _ = writeln!(
            text,
            "  {{ name = \"{name}\", from = \"left\", to = \"right\", scheme = {scheme}{rest} }},"
        );
    };
    let own = format!(
        "{count}{}{}, overhead = \"{overhead}\"",
        time("start", genes.start),
        time("stagger", genes.stagger)
    );
    flow(GROUP_UNDER_TEST, schemes.tested, &own);
    for (other, number) in genes.others.iter().zip(1..) {
        let access = match other.further {
            0 => String::new(),
            further => format!(", access = {{ rate = \"1 Gbit/s\", delay = \"{}\" }}", micros(further / 2)),
        };
        let rest = format!("{}, overhead = \"{overhead}\"{access}", time("start", other.start));
        let scheme = if other.further > 0 { schemes.tested } else { schemes.beside };
        flow(&format!("other-{number}"), scheme, &rest);
    }
    for (pulses, number) in genes.pulses.iter().zip(1..) {
        let rate = kbits(genes.rate * pulses.percent / 100);
        let stop = if calm < duration { time("stop", calm) } else { String::new() };
        let rest = format!(
            "{}{stop}, workload = {{ kind = \"on-off\", on = \"{}\", off = \"{}\", rate = \"{rate}\" }}",
            time("start", pulses.start),
            millis(pulses.on),
            millis(pulses.off)
        );
        flow(&format!("pulses-{number}"), "udp", &rest);
    }
    text.push_str("]\n\n[[link]]\nbetween = [\"left\", \"right\"]\n");
    let _ = writeln!(text, "rate = \"{}\"\ndelay = \"{}\"", kbits(genes.rate), micros(genes.delay));
    let _ = writeln!(text, "queue = \"{} pkt\"", genes.queue);
    if genes.jitter > 0 {
        let _ = writeln!(text, "jitter = \"{}\"", micros(genes.jitter));
    }
    let has_bursts = !genes.bursts.is_empty();
    if has_bursts {
        let numbers = genes.bursts.iter().flat_map(|(first, count)| *first..first + count);
        let mut numbers: Vec<u32> = numbers.collect();
        numbers.sort_unstable();
        numbers.dedup();
        let _ = writeln!(text, "loss = {{ model = \"list\", packets = {numbers:?} }}");
    } else if genes.loss > 0 {
        let _ = writeln!(text, "loss = {}", share(genes.loss));
    }
    let usual = if has_bursts || genes.loss == 0 { "0.0".to_owned() } else { share(genes.loss) };
    let mut changes: Vec<String> = Vec::new();
    for change in &genes.changes {
        let mut at = |at: u32, what: String| changes.push(format!("{{ at = \"{}\", {what} }}", millis(at)));
        match change.what {
            What::Outage(long) => at(change.at, format!("outage = \"{}\"", millis(long))),
            What::Blackout(long) => {
                at(change.at, "loss = 1.0".to_owned());
                at(change.at + long, format!("loss = {usual}"));
            }
            What::Rate(share) => {
                at(change.at, format!("rate = \"{}\"", kbits(genes.rate * share / 100)));
            }
            What::Delay(delay) => at(change.at, format!("delay = \"{}\"", micros(delay))),
        }
    }
    if has_bursts && calm < duration {
        // Packets with these numbers that have not come by then come late.
        changes.push(format!("{{ at = \"{}\", loss = 0.0 }}", millis(calm)));
    }
    if !changes.is_empty() {
        let _ = writeln!(text, "schedule = [{}]", changes.join(", "));
    }
    if has_bursts || genes.loss > 0 {
        text.push_str("reverse = { loss = 0.0 }\n");
    }
    text
}

/// Text in TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A key with a time in milliseconds, none for zero.
fn time(key: &str, value: u32) -> String {
    if value == 0 { String::new() } else { format!(", {key} = \"{}\"", millis(value)) }
}

/// A probability that is given in millionths.
fn share(millionths: u32) -> String {
    format!("\"{} %\"", f64::from(millionths) / 1e4)
}

fn millis(value: u32) -> String {
    if value.is_multiple_of(1000) { format!("{} s", value / 1000) } else { format!("{value} ms") }
}

fn micros(value: u32) -> String {
    if value.is_multiple_of(1000) { format!("{} ms", value / 1000) } else { format!("{value} us") }
}

fn kbits(value: u32) -> String {
    if value.is_multiple_of(1000) { format!("{} Mbit/s", value / 1000) } else { format!("{value} kbit/s") }
}
