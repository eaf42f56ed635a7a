//! Every option of window schemes that a scheme accepts changes its runs; a scheme refuses the options that it ignores.

use std::collections::HashMap;
use std::path::Path;
use thalweg_catalog::schemes::window::{SACK, window_keys};
use thalweg_catalog::{Environment, SCHEMES};
use thalweg_scenario::load_text;
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::{Simulation, Status};

/// Keys, the options beside them, and values of which one changes each run.
const OPTIONS: &[(&str, &str, &[&str])] = &[
    ("ack", "", &["9 B"]),
    ("max-window", "", &["3 pkt"]),
    ("counting", "nagle=false", &["bytes", "packets"]),
    ("byte-counting", "", &["3 pkt"]),
    ("recovery", "", &["newreno", "go-back-n", "fast-retransmit", "sack"]),
    ("duplicate-threshold", "recovery=newreno", &["1"]),
    ("rack", "recovery=sack", &["true", "false"]),
    ("undo", "recovery=sack,rack=true", &["false"]),
    ("tail-probe", "recovery=sack,rack=true", &["false"]),
    ("prr", "recovery=sack", &["true"]),
    ("cut-for-lost-repairs", "recovery=sack,rack=true", &["false"]),
    ("verify-acks", "recovery=sack,rack=true,verify-acks=false", &["true"]),
    ("f-rto", "recovery=sack,rack=false", &["true"]),
    ("rto.initial", "", &["100 ms"]),
    ("rto.floor", "", &["1 s"]),
    ("rto.ceiling", "", &["500 ms"]),
    ("rto.granularity", "", &["700 ms"]),
    ("rto.margin", "", &["900 ms"]),
    ("rto.deviations", "", &["40"]),
    ("idle-restart", "", &["true", "false"]),
    ("window-validation", "", &["rfc2861", "rfc7661"]),
    ("nagle", "", &["true", "false"]),
    ("ecn", "", &["true", "false"]),
    ("max-retransmissions", "", &["1"]),
    ("handshake", "", &["tcp"]),
    ("receive-window", "", &["3 kB"]),
    ("delayed-ack", "", &["true"]),
    ("delayed-ack.delay", "delayed-ack=true", &["5 ms"]),
    ("delayed-ack.every", "delayed-ack=true", &["7"]),
    ("delayed-ack.adaptive", "delayed-ack=true", &["true"]),
    ("keep-out-of-order", "", &["false"]),
    ("rledbat", "", &["true"]),
    ("segment", "", &["700 B"]),
    ("header", "", &["9 B"]),
];

/// Keys without an effect of their own: presets set other keys, and timestamps are measured by the few schemes that use
/// one-way delays, and by `rledbat`.
const OTHERS: &[&str] = &["preset", "timestamps"];

/// Options without an effect in these scenarios, with their schemes.
const WITHOUT_EFFECT: &[(&str, &[&str])] = &[
    // They always use ECN.
    ("ecn", &["dctcp", "prague", "dec-bit"]),
    // The response to a loss, of schemes whose window does not depend on single losses.
    ("undo", &["tri-s", "source-quench", "bbn"]),
    ("cut-for-lost-repairs", &["fixed", "seif", "dec-bit", "source-quench", "bbn"]),
    ("f-rto", &["fixed", "bbn"]),
    // Their last packets are not lost.
    ("tail-probe", &["bbn", "bbr"]),
    // Windows of fewer than 32 packets are not verified.
    ("verify-acks", &["fixed", "seif", "dec-bit", "source-quench", "bbn"]),
];

/// Paths with losses and pauses, with an outage, with late packets, with marks, with a short queue, and
/// with pauses alone.
const SCENARIOS: &[&str] = &[
    r#"duration = "12 s"
[[link]]
between = ["a", "b"]
rate = "8 Mbit/s"
delay = "20 ms"
queue = { discipline = "codel", capacity = "30 pkt", ecn = true }
loss = "1 %"
reorder = { probability = "2 %", delay = "60 ms" }
reverse = { loss = "20 %", queue = "unlimited", reorder = { probability = "0 %", delay = "1 ms" } }
[[flow]]
from = "a"
to = "b"
workload = { kind = "on-off", on = "1300 ms", off = "1500 ms" }
"#,
    r#"duration = "12 s"
[[link]]
between = ["a", "b"]
rate = "8 Mbit/s"
delay = "20 ms"
queue = { discipline = "codel", capacity = "30 pkt", ecn = true }
schedule = [{ at = "2 s", outage = "1500 ms" }, { at = "6 s", rate = "1 Mbit/s" }]
[[flow]]
from = "a"
to = "b"
workload = { kind = "trace", writes = [["0 s", "3 MB"], ["5 s", "10 kB"], ["5.1 s", "10 kB"], ["5.2 s", "100 B"], ["5.21 s", "100 B"], ["5.4 s", "900 kB"]] }
"#,
    r#"duration = "12 s"
[[link]]
between = ["a", "b"]
rate = "20 Mbit/s"
delay = "30 ms"
queue = "unlimited"
[[flow]]
from = "a"
to = "b"
workload = { kind = "on-off", on = "2 s", off = "2 s", rate = "10 Mbit/s" }
"#,
    r#"duration = "20 s"
[[link]]
between = ["a", "b"]
rate = "8 Mbit/s"
delay = "20 ms"
queue = { discipline = "codel", capacity = "30 pkt", ecn = true }
jitter = { distribution = "uniform", max = "300 ms" }
loss = "8 %"
schedule = [{ at = "2 s", outage = "3 s" }, { at = "9 s", delay = "2 s" }, { at = "11 s", delay = "20 ms" }]
reverse = { loss = "10 %", queue = "unlimited", jitter = { distribution = "uniform", max = "10 ms" } }
[[flow]]
from = "a"
to = "b"
workload = { kind = "on-off", on = "3 s", off = "700 ms" }
"#,
    r#"duration = "30 s"
[[link]]
between = ["a", "b"]
rate = "30 Mbit/s"
delay = "30 ms"
queue = { discipline = "codel", capacity = "200 pkt", ecn = true }
loss = { model = "periodic", every = 50000 }
[[flow]]
from = "a"
to = "b"
"#,
    r#"duration = "6 s"
[[link]]
between = ["a", "b"]
rate = "20 Mbit/s"
delay = "30 ms"
queue = "40 pkt"
[[flow]]
from = "a"
to = "b"
scheme = "cubic"
start = "1 s"
workload = { kind = "request-response", request = "300 B", response = "20 kB", think = "700 ms" }
[[flow]]
from = "a"
to = "b"
"#,
];

/// Seeds of each scenario.
const SEEDS: usize = 4;

/// Runs of all scenarios, by scheme and number.
#[derive(Default)]
struct Runs(HashMap<(String, usize), Option<u64>>);

impl Runs {
    /// Returns the fingerprint of a run; `None` if the scheme refuses an option. Further seeds follow all scenarios.
    fn of(&mut self, scheme: &str, run: usize) -> Option<u64> {
        *self.0.entry((scheme.to_owned(), run)).or_insert_with(|| {
            let (seed, scenario) = (1 + run / SCENARIOS.len(), SCENARIOS[run % SCENARIOS.len()]);
            let text = format!("seed = {seed}\n{scenario}scheme = \"{scheme}\"\n");
            let loaded = load_text("test.toml", &text, Path::new(""), &[]).ok()?;
            let mut simulation = Simulation::new(loaded.spec(), NoTrace).unwrap();
            while simulation.advance(1 << 20) == Status::Running {}
            Some(simulation.finish().0.fingerprint)
        })
    }
}

/// Returns the scheme with these options.
fn with_options(name: &str, options: &str) -> String {
    if options.is_empty() { name.to_owned() } else { format!("{name}:{options}") }
}

#[test]
fn every_accepted_option_of_a_window_scheme_has_an_effect() {
    let keys = window_keys(&[], SACK);
    let is_listed = |name: &&str| OTHERS.contains(name) || OPTIONS.iter().any(|(key, ..)| key == name);
    let missing: Vec<&str> = keys.flat().map(|key| key.name).filter(|name| !is_listed(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");

    let mut runs = Runs::default();
    let mut ignored: Vec<(&str, &str)> = Vec::new();
    for scheme in SCHEMES.iter().filter(|of| of.traits.is_window()) {
        for (key, beside, values) in OPTIONS {
            let before = with_options(scheme.name, beside);
            // The default is the truth about the scheme, also of one without the rule.
            let own = scheme.keys.find(key).unwrap();
            let default = scheme.keys.default_of(own, Environment::Simulated);
            let values = values.iter().filter(|value| own.kind.read(value).ok() != default);
            let (mut is_accepted, mut is_effective) = (false, false);
            for (run, value) in
                (0..SEEDS * SCENARIOS.len()).flat_map(|run| values.clone().map(move |value| (run, value)))
            {
                let kept = beside.split(',').filter(|option| option.split('=').next() != Some(key));
                let options: Vec<String> = kept
                    .filter(|option| !option.is_empty())
                    .map(str::to_owned)
                    .chain([format!("{key}={value}")])
                    .collect();
                let Some(after) = runs.of(&with_options(scheme.name, &options.join(",")), run) else {
                    continue;
                };
                is_accepted = true;
                is_effective = runs.of(&before, run).is_some_and(|before| before != after);
                if is_effective {
                    break;
                }
            }
            if is_accepted && !is_effective {
                ignored.push((scheme.name, key));
            }
        }
    }
    let is_expected = |(scheme, key): &(&str, &str)| {
        WITHOUT_EFFECT.iter().any(|(option, schemes)| option == key && schemes.contains(scheme))
    };
    ignored.retain(|of| !is_expected(of));
    assert_eq!(ignored, [], "accepted without effect");
}
