//! Description of the speed-up of parallel execution.

use thalweg_sim::partition::{SpeedupEstimate, SpeedupLimit, estimate_speedup};
use thalweg_sim::simulation_spec::Spec;

/// Describes the estimated speed-up of a run of `spec` on some numbers of threads, and its limiting factor.
pub fn describe_speedup<const COUNT: usize>(spec: &Spec, numbers: [usize; COUNT]) -> String {
    let estimates: Vec<(usize, SpeedupEstimate)> =
        numbers.into_iter().zip(estimate_speedup(spec, numbers)).collect();
    let Some((_, last)) = estimates.last() else { return String::new() };
    let why = describe_bound(&last.bound);
    let gains: Vec<String> = estimates
        .iter()
        .filter(|(_, estimate_speedup)| estimate_speedup.parts > 1)
        .map(|(number, estimate_speedup)| {
            format!("{:.1} times as fast on {number}", estimate_speedup.speedup)
        })
        .collect();
    match (gains.as_slice(), why) {
        ([], Some(why)) => format!("no speed-up, as {why}"),
        ([], None) => "no speed-up".to_owned(),
        (gains, Some(why)) => format!("a run is about {}: {why}", gains.join(", ")),
        (gains, None) => format!("a run is about {}", gains.join(", ")),
    }
}

fn describe_bound(bound: &SpeedupLimit) -> Option<String> {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    Some(match bound {
        SpeedupLimit::Threads => return None,
        SpeedupLimit::External(name) => {
            format!("the third-party component `{name}` may not support several threads")
        }
        SpeedupLimit::Transfers(name) => {
            format!(
                "transfers of `{name}` arrive at random, and their handshakes keep both endpoints in one partition"
            )
        }
        SpeedupLimit::Link { name: [link, from, to], share } => {
            format!(
                "`{link}` from {from} to {to}, with everything at too short a delay from it, has {} of the work",
                percent(*share)
            )
        }
        SpeedupLimit::Flows { name, share } => {
            format!(
                "flows at too short a delay from each other, such as `{name}`, have {} of the work",
                percent(*share)
            )
        }
        SpeedupLimit::Feedback { name: [link, from, to], share } => {
            format!(
                "the queue of `{link}` from {from} to {to} sends feedback to sources: with the links that carry it and everything at too short a delay from them, it has {} of the work",
                percent(*share)
            )
        }
        SpeedupLimit::Gates { name, share } => {
            format!(
                "the gate of `{name}` acts at once on all flows that begin there: these and its outgoing links have {} of the work",
                percent(*share)
            )
        }
        SpeedupLimit::Delays(min) => {
            format!("{min} of lookahead has too few events for threads")
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::load_text;
    use std::path::Path;

    fn describe(text: &str) -> String {
        let loaded = load_text("threads.toml", text, Path::new(""), &[]).unwrap();
        super::describe_speedup(loaded.spec(), [4, 16])
    }

    const LINK: &str =
        "duration = \"10 s\"\n[[link]]\nname = \"core\"\nbetween = [\"a\", \"b\"]\nrate = \"10 Gbit/s\"\n";

    /// The description names the link, the flows or the delay that limits the speed-up.
    #[test]
    fn the_bound_is_named() {
        let flows =
            "count = 100\nfrom = \"a\"\nto = \"b\"\naccess = { rate = \"1 Gbit/s\", delay = \"1 ms\" }\n";
        let text = describe(&format!("{LINK}delay = \"10 ms\"\n[[flow]]\n{flows}"));
        assert!(
            text.starts_with("a run is about 2.") && text.contains("on 16: `core` from a to b"),
            "{text}"
        );
        let text =
            describe(&format!("{LINK}delay = \"0 s\"\n[[flow]]\nname = \"g\"\nfrom = \"a\"\nto = \"b\"\n"));
        assert!(text.starts_with("no speed-up, as") && text.contains("100 % of the work"), "{text}");
        let tree = "duration = \"1 s\"\nnetwork = \"fat-tree k=4 rate=10 Gbit/s delay=1 ms\"\n";
        let random = "workload = { kind = \"poisson\", load = \"50 %\", size = \"1 MB\" }\n";
        let all = "[[flow]]\nname = \"g\"\nfrom = \"h*\"\nto = \"h*\"\npattern = \"permutation\"\n";
        // Transfers with random arrivals can be partitioned like others, except with handshakes, which open and close
        // both ends together.
        let text = describe(&format!("{tree}{all}{random}"));
        assert!(text.contains("times as fast on 16") && !text.contains("of the work"), "{text}");
        let text =
            describe(&format!("{tree}{all}scheme = {{ base = \"cubic\", handshake = \"tcp\" }}\n{random}"));
        assert!(text.contains("transfers of `g` arrive at random"), "{text}");
        let text =
            describe(&format!("{LINK}delay = \"10 ms\"\n[[flow]]\nscheme = \"source-quench\"\n{flows}"));
        assert!(text.contains("the queue of `core` from a to b sends feedback"), "{text}");
        let gate = "[node.a]\ngate = { kind = \"slots\", slot = \"2 ms\" }\n";
        let plain = "[[flow]]\ncount = 10\nfrom = \"a\"\nto = \"b\"\n";
        let text = describe(&format!("{LINK}delay = \"10 ms\"\n{gate}{plain}"));
        assert!(text.contains("the gate of `a` acts at once"), "{text}");
        let short = describe(&format!("{LINK}delay = \"1 ns\"\n[[flow]]\n{}", flows.replace("1 ms", "1 ns")));
        assert!(short.contains("1 ns of lookahead has too few events"), "{short}");
        let empty = describe(&format!("{LINK}delay = \"1 ms\"\n"));
        assert!(!empty.contains("of the work"), "{empty}");
    }
}
