//! Links of C4 specifications, and their phases.

use super::{Line, RejectedSpecification, parse_gigabits};
use core::fmt::Write as _;
use thalweg_proto::units::{Duration, Rate};

/// The state of a link between two changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Phase {
    /// The rate from the client to the server; zero for an outage.
    pub up: Rate,
    /// The rate from the server to the client.
    pub down: Rate,
    /// The one-way delay.
    pub latency: Duration,
    /// The jitter: the average for Wi-Fi, the mean for a normal distribution.
    pub jitter: Duration,
    /// Wi-Fi jitter instead of normally distributed jitter.
    pub is_wifi: bool,
    /// The capacity of the queue, as its drain time; zero for unlimited.
    pub queue: Duration,
}

/// A link of a scenario.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub text: String,
    /// The delay at the start.
    pub latency: Duration,
}

/// Maximum number of changes written.
const MAX_CHANGES: usize = 10_000;

/// Returns the link that starts as `start` and changes by `scenario`, for `duration`.
pub(super) fn import_link(
    start: Phase,
    scenario: Option<Line<'_>>,
    duration: Duration,
) -> Result<Link, RejectedSpecification> {
    let phases = match scenario {
        None => vec![(start, Duration::MAX)],
        Some(line) => parse_phases(start, line)?,
    };
    let refused = |why: &str| match scenario {
        Some(line) => line.reject(why),
        None => RejectedSpecification { line: 0, why: why.to_owned() },
    };
    let Some(&(first, _)) = phases.first() else { return Err(refused("it has no phase")) };
    if phases.iter().any(|(phase, _)| phase.queue != first.queue) {
        return Err(refused("a queue that changes its size cannot be expressed"));
    }
    if phases.iter().any(|(phase, _)| (phase.jitter, phase.is_wifi) != (first.jitter, first.is_wifi)) {
        return Err(refused("a jitter that changes during the run cannot be expressed"));
    }
    if first.down.is_zero() || first.up.is_zero() {
        return Err(refused("the link begins without a rate, which cannot be expressed"));
    }
    let schedules = [|phase: &Phase| phase.down, |phase: &Phase| phase.up]
        .map(|rate| format_schedule(&phases, rate, duration));
    let [down, up] = schedules.map(|schedule| schedule.ok_or_else(|| refused("there are too many changes")));
    let (down, up) = (down?, up?);
    let queue = if first.queue.is_zero() { "unlimited".to_owned() } else { first.queue.to_string() };
    let mut text = format!(
        "[[link]]\nname = \"path\"\nbetween = [\"server\", \"client\"]\nrate = \"{}\"\ndelay = \"{}\"\nqueue = \"{queue}\"\n",
        first.down, first.latency
    );
    if !first.jitter.is_zero() {
        let _ = writeln!(text, "jitter = {}", format_jitter(&first));
    }
    if !down.is_empty() {
        let _ = writeln!(text, "schedule = [\n{down}]");
    }
    if first.up != first.down || up != down {
        let _ = writeln!(text, "\n[link.reverse]\nrate = \"{}\"\nschedule = [\n{up}]", first.up);
    }
    Ok(Link { text, latency: first.latency })
}

fn format_jitter(phase: &Phase) -> String {
    if phase.jitter.is_zero() {
        return "\"0 s\"".to_owned();
    }
    if phase.is_wifi {
        return format!("{{ distribution = \"wifi\", average = \"{}\" }}", phase.jitter);
    }
    format!(
        "{{ distribution = \"normal\", mean = \"{}\", deviation = \"{}\" }}",
        phase.jitter,
        phase.jitter / 3
    )
}

/// Returns the entries of a schedule that cycles through the phases; `None` if there are too many.
fn format_schedule(
    phases: &[(Phase, Duration)],
    rate: impl Fn(&Phase) -> Rate,
    duration: Duration,
) -> Option<String> {
    let mut out = String::new();
    let mut at = Duration::ZERO;
    for count in 0.. {
        let (before, length) = phases[count % phases.len()];
        let (after, lasts) = phases[(count + 1) % phases.len()];
        at += length;
        if at >= duration || phases.len() < 2 {
            break;
        }
        if count >= MAX_CHANGES {
            return None;
        }
        let mut entry = String::new();
        // An outage ends with the rate before it.
        let earlier = phases[(count + phases.len() - 1) % phases.len()].0;
        let holds = if rate(&before).is_zero() { earlier } else { before };
        if rate(&after).is_zero() {
            let _ = write!(entry, ", outage = \"{}\"", lasts.min(duration));
        } else if rate(&holds) != rate(&after) {
            let _ = write!(entry, ", rate = \"{}\"", rate(&after));
        }
        if before.latency != after.latency {
            let _ = write!(entry, ", delay = \"{}\"", after.latency);
        }
        if !entry.is_empty() {
            let _ = writeln!(out, "  {{ at = \"{at}\"{entry} }},");
        }
    }
    Some(out)
}

/// Returns the phases of a scenario, each with its duration.
fn parse_phases(start: Phase, line: Line<'_>) -> Result<Vec<(Phase, Duration)>, RejectedSpecification> {
    let secs = |secs: f64| Duration::from_secs_f64(secs);
    let stopped = Phase { up: Rate::ZERO, down: Rate::ZERO, ..start };
    let at = |share: f64| Phase { up: start.up.mul_f64(share), down: start.down.mul_f64(share), ..start };
    let wifi = |phase: Phase, micros| Phase { jitter: Duration::from_micros(micros), is_wifi: true, ..phase };
    Ok(match line.value {
        "none" => vec![(start, Duration::MAX)],
        "black_hole" => vec![(start, secs(2.0)), (stopped, secs(2.0)), (start, Duration::MAX)],
        "drop_and_back" => vec![(start, secs(1.5)), (at(0.5), secs(2.0)), (start, Duration::MAX)],
        "low_and_up" => vec![(at(0.5), secs(2.5)), (start, Duration::MAX)],
        "wifi_fade" => {
            vec![
                (wifi(start, 999), secs(1.0)),
                (wifi(at(0.9), 12_000), secs(2.0)),
                (wifi(start, 999), Duration::MAX),
            ]
        }
        "wifi_suspension" => vec![(start, secs(1.8)), (stopped, secs(0.2))],
        listed => listed
            .split(';')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(|item| parse_phase(item, line))
            .collect::<Result<_, _>>()?,
    })
}

/// Parses a phase, such as `1000000:U0.01:D0.1:L15000:Q100000`: all times in microseconds, rates in Gbit/s.
fn parse_phase(item: &str, line: Line<'_>) -> Result<(Phase, Duration), RejectedSpecification> {
    let mut phase = Phase {
        up: Rate::ZERO,
        down: Rate::ZERO,
        latency: Duration::ZERO,
        jitter: Duration::ZERO,
        is_wifi: false,
        queue: Duration::ZERO,
    };
    let wrong = |field: &str| {
        line.reject(format!(
            "`{field}` of `{item}` is not understood; a phase is `1000000:U0.01:D0.1:L15000:J1000:W:Q100000`, or `link_scenario` one of \
             none, black_hole, drop_and_back, low_and_up, wifi_fade, wifi_suspension"
        ))
    };
    let mut fields = item.split(':');
    let first = fields.next().unwrap_or_default();
    let time = |text: &str| text.parse().map(Duration::from_micros).map_err(|_| wrong(text));
    let length = time(first)?;
    if length.is_zero() {
        return Err(wrong(first));
    }
    for field in fields {
        let mut chars = field.chars();
        let (letter, rest) = (chars.next(), chars.as_str());
        match letter {
            Some('U') => phase.up = parse_gigabits(rest).ok_or_else(|| wrong(field))?,
            Some('D') => phase.down = parse_gigabits(rest).ok_or_else(|| wrong(field))?,
            Some('L') => phase.latency = time(rest)?,
            Some('J') => phase.jitter = time(rest)?,
            Some('Q') => phase.queue = time(rest)?,
            Some('W') => phase.is_wifi = true,
            Some('S') if rest == "0" => {}
            Some('S') => return Err(line.reject("picoquic's own dual queue (`S`) cannot be expressed")),
            Some('B' | 'P') => {
                return Err(
                    line.reject("losses at fixed distances in packets (`B`, `P`) cannot be expressed")
                );
            }
            _ => return Err(wrong(field)),
        }
    }
    Ok((phase, length))
}
