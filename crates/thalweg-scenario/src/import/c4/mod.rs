//! The specifications of C4's test cases (`sim_specs` of private-octopus/c4, which picoquic's simulator runs): lines of
//! `key: value`.
//!
//! | specification | here | reason | effect |
//! | --- | --- | --- | --- |
//! | the client asks with some bytes on a stream | the server begins half a round trip later | flows here send by themselves | none but for a loss of the request |
//! | a queue is full when its delay reaches a maximum | it holds as many bytes as leave in that time | capacities of queues are in bytes | one packet more |
//! | Wi-Fi's jitter by picoquic's code: x = (average - 1 ms) / 84 ms, less a random part of a retransmission | by the draft: 90 ms | the draft specifies it | the mean differs by 3 % |
//! | the run ends when the main connection is closed | the completion is the last byte's arrival | | below a round trip |

mod c4_links;

use crate::toml_writer;
use c4_links::Phase;
use core::fmt;
use core::fmt::Write as _;
use thalweg_proto::units::{Duration, Rate};

/// The rejection of a specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedSpecification {
    /// The line, from 1; 0 for the whole specification.
    pub line: usize,
    /// The reason, with the expected form or a remedy.
    pub why: String,
}

impl fmt::Display for RejectedSpecification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.why),
            line => write!(f, "line {line}: {}", self.why),
        }
    }
}

impl core::error::Error for RejectedSpecification {}

/// Options of the import.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    /// Replacement schemes for algorithms, as (algorithm, scheme).
    pub schemes: Vec<(String, String)>,
    /// Ignored keys.
    pub skip: Vec<String>,
}

/// A specification converted to a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedScenario {
    /// The scenario file; its header comment maps the keys of the specification to those of the scenario.
    pub scenario: String,
    /// The deadline of the main flow, from the start of the run.
    pub bound: Option<Duration>,
}

/// The name of the flow with the deadline.
pub const MAIN: &str = "main";

/// A line of a specification.
#[derive(Clone, Copy, Debug)]
struct Line<'a> {
    number: usize,
    key: &'a str,
    value: &'a str,
}

impl Line<'_> {
    fn reject(self, why: impl Into<String>) -> RejectedSpecification {
        RejectedSpecification { line: self.number, why: why.into() }
    }

    fn number(self) -> Result<u64, RejectedSpecification> {
        let why = || format!("`{}` is a whole number, but here it is `{}`", self.key, self.value);
        self.value.parse().map_err(|_| self.reject(why()))
    }

    /// Parses the value in microseconds.
    fn time(self) -> Result<Duration, RejectedSpecification> {
        self.number().map(Duration::from_micros)
    }

    fn gigabits(self) -> Result<Rate, RejectedSpecification> {
        parse_gigabits(self.value).ok_or_else(|| {
            let why =
                format!("`{}` is a rate in Gbit/s, such as 0.02, but here it is `{}`", self.key, self.value);
            self.reject(why)
        })
    }
}

/// Parses a decimal number of Gbit/s, exactly.
fn parse_gigabits(text: &str) -> Option<Rate> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if text.is_empty() || !is_number(whole) || !is_number(fraction) || fraction.len() > 9 {
        return None;
    }
    let bits: u64 = format!("0{whole}{fraction:0<9}").parse().ok()?;
    Some(Rate::from_bits_per_sec(bits))
}

/// The known keys: name, and counterpart in the scenario.
const KEYS: [(&str, &str); 25] = [
    ("main_cc_algo", "scheme of flow main"),
    ("main_cc_options", ""),
    ("main_start_time", "start of flow main, half a round trip later for the request"),
    ("main_scenario_text", "workload of flow main"),
    ("main_target_time", "bound, reported beside our times"),
    ("nb_connections", "flow main, and count of flow background"),
    ("background_cc_algo", "scheme of flow background"),
    ("background_cc_options", ""),
    ("background_start_time", "start of flow background, half a round trip later"),
    ("background_scenario_text", "workload of flow background"),
    ("data_rate_in_gbps", "rate of the link"),
    ("latency", "delay of the link, one way"),
    ("jitter", "jitter of the link, in order"),
    ("wifi_jitter", "distribution of the jitter"),
    ("queue_delay_max", "queue of the link"),
    ("l4s_max", ""),
    ("link_scenario", "schedule of the link"),
    ("icid", "nothing: it names connections"),
    ("qlog_dir", "nothing: `thalweg run --qlog` writes such files"),
    ("qperf_log", "nothing: `thalweg run --out` writes results"),
    ("seed_cwin", ""),
    ("seed_rtt", ""),
    ("media_stats_start", ""),
    ("media_latency_average", ""),
    ("media_latency_max", ""),
];

/// Keys of media streams, which are rejected together with these streams.
const MEDIA: [&str; 4] =
    ["media_stats_start", "media_latency_average", "media_latency_max", "media_excluded"];

/// Imports a specification under the name `name`.
///
/// # Errors
///
/// [`RejectedSpecification`] has the first line that is invalid or cannot be expressed, and a remedy.
pub fn import_c4(
    name: &str,
    text: &str,
    choices: &Choices,
) -> Result<ImportedScenario, RejectedSpecification> {
    let lines = known_lines(text, choices)?;
    let find = |key: &str| lines.iter().copied().find(|line| line.key == key);
    let time = |key: &str| find(key).map_or(Ok(Duration::ZERO), Line::time);
    for key in ["seed_cwin", "seed_rtt", "l4s_max"] {
        if let Some(line) = find(key) {
            let what = if key == "l4s_max" {
                "picoquic's own dual queue has no counterpart; DualPI2 is `queue = { discipline = \"dualpi2\" }`"
            } else {
                "a remembered path (careful resume) cannot be expressed"
            };
            return Err(line.reject(format!("{what}; `--skip {key}` ignores it")));
        }
    }
    let start = Phase {
        up: Rate::ZERO,
        down: find("data_rate_in_gbps").map_or(Ok(Rate::from_mbits_per_sec(10)), Line::gigabits)?,
        latency: time("latency")?,
        jitter: time("jitter")?,
        is_wifi: find("wifi_jitter").is_some_and(|line| line.value != "0"),
        queue: time("queue_delay_max")?,
    };
    let start = Phase { up: start.down, ..start };
    let bound = find("main_target_time").map(Line::time).transpose()?;
    let last_start = time("main_start_time")?.max(time("background_start_time")?);
    // Leave time for a flow that misses its deadline, to show by how much.
    let duration = bound.map_or(Duration::from_secs(60), |bound| bound * 3).max(last_start * 2);
    let link = c4_links::import_link(start, find("link_scenario"), duration)?;

    let connections = find("nb_connections").map_or(Ok(1), Line::number)?;
    if !(1..=5).contains(&connections) {
        let line = find("nb_connections").map_or(0, |line| line.number);
        return Err(RejectedSpecification {
            line,
            why: format!("there are 1 to 5 connections, not {connections}"),
        });
    }
    let flow = |which: &str, count: u64| -> Result<String, RejectedSpecification> {
        let key = |what: &str| format!("{which}_{what}");
        let missing = |key: &str| RejectedSpecification { line: 0, why: format!("`{key}` is missing") };
        let algorithm = find(&key("cc_algo")).ok_or_else(|| missing(&key("cc_algo")))?;
        let scheme = parse_scheme(algorithm, choices)?;
        if let Some(options) =
            find(&key("cc_options")).filter(|line| !line.value.is_empty() && scheme.is_same)
        {
            let why = format!(
                "options of {} cannot be expressed; `--skip {}` ignores it",
                algorithm.value, options.key
            );
            return Err(options.reject(why));
        }
        let size =
            parse_response_size(find(&key("scenario_text")).ok_or_else(|| missing(&key("scenario_text")))?)?;
        let start = time(&key("start_time"))? + link.latency;
        let mut flow = format!("[[flow]]\nname = \"{which}\"\nfrom = \"server\"\nto = \"client\"\n");
        if count > 1 {
            let _ = writeln!(flow, "count = {count}");
        }
        let _ = writeln!(
            flow,
            "scheme = {{ base = {}, handshake = \"quic\" }}",
            toml_writer::toml_string(&scheme.name)
        );
        let _ =
            writeln!(flow, "workload = {{ kind = \"transfer\", size = \"{size} B\" }}\nstart = \"{start}\"");
        Ok(flow)
    };
    let mut flows = flow(MAIN, 1)?;
    if connections > 1 {
        flows = format!("{flows}\n{}", flow("background", connections - 1)?);
    }
    let mut scenario = mapping_comments(name, &lines, choices);
    let _ = write!(
        scenario,
        "title = {}\nduration = \"{duration}\"\n\n{}\n{flows}",
        toml_writer::toml_string(&format!("{name}, as C4 is tested")),
        link.text
    );
    Ok(ImportedScenario { scenario, bound })
}

/// Returns the lines with known keys, except the ignored ones.
fn known_lines<'a>(text: &'a str, choices: &Choices) -> Result<Vec<Line<'a>>, RejectedSpecification> {
    let mut lines: Vec<Line<'a>> = Vec::new();
    for (number, line) in text.lines().enumerate().map(|(number, line)| (number + 1, line.trim())) {
        if line.is_empty() {
            continue;
        }
        let refused = |why: String| RejectedSpecification { line: number, why };
        let (key, value) =
            line.split_once(':').ok_or_else(|| refused(format!("expected `key: value`, found `{line}`")))?;
        let (key, value) = (key.trim(), value.trim());
        if !KEYS.iter().any(|(name, _)| *name == key) && !MEDIA.contains(&key) {
            let known: Vec<&str> = KEYS.iter().map(|(name, _)| *name).collect();
            let near = crate::nearest_name(key, known.iter().copied());
            let help = near.map_or_else(
                || format!("there are {}", known.join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            return Err(refused(format!("there is no key `{key}`; {help}")));
        }
        if lines.iter().any(|line| line.key == key) {
            return Err(refused(format!("`{key}` is given twice")));
        }
        lines.push(Line { number, key, value });
    }
    if lines.is_empty() {
        return Err(RejectedSpecification {
            line: 0,
            why: "this is not a specification: expected lines of `key: value`".to_owned(),
        });
    }
    lines.retain(|line| !choices.skip.iter().any(|skip| skip == line.key));
    Ok(lines)
}

/// The scheme for an algorithm.
struct Scheme {
    name: String,
    /// The algorithm itself, not a replacement.
    is_same: bool,
}

fn parse_scheme(line: Line<'_>, choices: &Choices) -> Result<Scheme, RejectedSpecification> {
    let algorithm = line.value;
    if let Some((_, scheme)) = choices.schemes.iter().find(|(of, _)| of == algorithm) {
        return Ok(Scheme { name: scheme.clone(), is_same: false });
    }
    let name = match algorithm {
        "cubic" | "newreno" | "prague" | "bbr" => algorithm,
        "reno" => "newreno",
        _ => {
            let why = format!(
                "there is no `{algorithm}` here; name a scheme for it, such as `--scheme {algorithm}=bbr`"
            );
            return Err(line.reject(why));
        }
    };
    Ok(Scheme { name: name.to_owned(), is_same: true })
}

/// Parses the response size, in bytes, of `=b1:*1:397:5000000;`: a name, a repeat count, and the sizes of request and
/// response.
fn parse_response_size(line: Line<'_>) -> Result<u64, RejectedSpecification> {
    let streams: Vec<&str> = line.value.split(';').map(str::trim).filter(|part| !part.is_empty()).collect();
    let [stream] = streams[..] else {
        let media = if line.value.contains(":n") { ", of which some are media," } else { "" };
        let why = format!(
            "{} streams{media} cannot be expressed; one download is `=b1:*1:397:5000000;`",
            streams.len()
        );
        return Err(line.reject(why));
    };
    let fields: Vec<&str> = stream.split(':').collect();
    let sizes = match fields[..] {
        [name, "*1", request, answers] | [name, request, answers] if name.starts_with('=') => {
            Some((request, answers))
        }
        _ => None,
    };
    let bytes =
        sizes.and_then(|(request, answers)| request.parse::<u64>().ok().and(answers.parse::<u64>().ok()));
    bytes.filter(|&bytes| bytes > 0).ok_or_else(|| {
        let why = format!(
            "`{stream}` is not one download; that is `=b1:*1:397:5000000`, with bytes to ask and to answer"
        );
        line.reject(why)
    })
}

/// Returns comments that map the keys of the specification to those of the scenario.
fn mapping_comments(name: &str, lines: &[Line<'_>], choices: &Choices) -> String {
    let mut out = format!(
        "# Made of `{}`, a specification for picoquic's simulator (private-octopus/c4, sim_specs).\n#\n",
        name.replace(char::is_control, "?")
    );
    let row = |out: &mut String, cells: [&str; 3]| {
        // A comment ends at the line end and must not contain control characters.
        let cells = cells.map(|cell| cell.replace(char::is_control, "?"));
        let _ = writeln!(out, "{}", format!("# {:<25} {:<30} {}", cells[0], cells[1], cells[2]).trim_end());
    };
    row(&mut out, ["key", "value", "equivalent here"]);
    for line in lines {
        let here = KEYS.iter().find(|(name, _)| *name == line.key).map_or("", |(_, here)| here);
        row(&mut out, [line.key, line.value, if here.is_empty() { "nothing" } else { here }]);
    }
    for key in &choices.skip {
        row(&mut out, [key, "", "left out, as requested"]);
    }
    for (algorithm, scheme) in &choices.schemes {
        row(&mut out, [algorithm, "", &format!("{scheme}, as requested")]);
    }
    out.push_str("#\n\n");
    out
}

#[cfg(test)]
mod tests;
