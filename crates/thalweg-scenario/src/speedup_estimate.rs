//! Description of the speed-up of parallel execution.

use thalweg_sim::partition::{LimitingFactor, SpeedupEstimate, estimate_speedup};
use thalweg_sim::simulation_spec::Spec;

/// Describes the estimated speed-up of a run of `spec` on some numbers of threads, and its limiting factor.
pub fn describe_speedup<const N: usize>(spec: &Spec, thread_counts: [usize; N]) -> String {
    let estimates: Vec<(usize, SpeedupEstimate)> =
        thread_counts.into_iter().zip(estimate_speedup(spec, thread_counts)).collect();
    let Some((_, largest_estimate)) = estimates.last() else { return String::new() };
    let limiting_factor = describe_limiting_factor(&largest_estimate.limiting_factor);
    let speedup_texts: Vec<String> = estimates
        .iter()
        .filter(|(_, estimate)| estimate.partitions > 1)
        .map(|(threads, estimate)| format!("{:.1} times as fast on {threads}", estimate.speedup))
        .collect();
    match (speedup_texts.as_slice(), limiting_factor) {
        ([], Some(limiting_factor)) => format!("no speed-up, as {limiting_factor}"),
        ([], None) => "no speed-up".to_owned(),
        (speedup_texts, Some(limiting_factor)) => {
            format!("a run is about {}: {limiting_factor}", speedup_texts.join(", "))
        }
        (speedup_texts, None) => format!("a run is about {}", speedup_texts.join(", ")),
    }
}

fn describe_limiting_factor(limiting_factor: &LimitingFactor) -> Option<String> {
    let percent = |fraction: f64| format!("{:.0} %", fraction * 100.0);
    Some(match limiting_factor {
        LimitingFactor::Threads => return None,
        LimitingFactor::ExternalComponent(name) => {
            format!("the third-party component `{name}` may not support several threads")
        }
        LimitingFactor::RandomTransfers(name) => {
            format!(
                "transfers of `{name}` arrive at random, and their handshakes keep both endpoints in one partition"
            )
        }
        LimitingFactor::Link { name: [link, from, to], share } => {
            format!(
                "`{link}` from {from} to {to}, with everything at too short a delay from it, has {} of the work",
                percent(*share)
            )
        }
        LimitingFactor::NearbyFlows { name, share } => {
            format!(
                "flows at too short a delay from each other, such as `{name}`, have {} of the work",
                percent(*share)
            )
        }
        LimitingFactor::Feedback { name: [link, from, to], share } => {
            format!(
                "the queue of `{link}` from {from} to {to} sends feedback to sources: with the links that carry it and everything at too short a delay from them, it has {} of the work",
                percent(*share)
            )
        }
        LimitingFactor::NodeGate { name, share } => {
            format!(
                "the gate of `{name}` acts at once on all flows that begin there: these and its outgoing links have {} of the work",
                percent(*share)
            )
        }
        LimitingFactor::Lookahead(lookahead) => {
            format!("{lookahead} of lookahead has too few events for threads")
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
    fn the_limiting_factor_is_named() {
        let flows =
            "count = 100\nfrom = \"a\"\nto = \"b\"\naccess = { rate = \"1 Gbit/s\", delay = \"1 ms\" }\n";
        let description = describe(&format!("{LINK}delay = \"10 ms\"\n[[flow]]\n{flows}"));
        assert!(
            description.starts_with("a run is about 2.") && description.contains("on 16: `core` from a to b"),
            "{description}"
        );
        let description =
            describe(&format!("{LINK}delay = \"0 s\"\n[[flow]]\nname = \"g\"\nfrom = \"a\"\nto = \"b\"\n"));
        assert!(
            description.starts_with("no speed-up, as") && description.contains("100 % of the work"),
            "{description}"
        );
        let fat_tree = "duration = \"1 s\"\nnetwork = \"fat-tree k=4 rate=10 Gbit/s delay=1 ms\"\n";
        let poisson_workload = "workload = { kind = \"poisson\", load = \"50 %\", size = \"1 MB\" }\n";
        let permutation_flows =
            "[[flow]]\nname = \"g\"\nfrom = \"h*\"\nto = \"h*\"\npattern = \"permutation\"\n";
        // Transfers with random arrivals can be partitioned like others, except with handshakes, which open and close
        // both ends together.
        let description = describe(&format!("{fat_tree}{permutation_flows}{poisson_workload}"));
        assert!(
            description.contains("times as fast on 16") && !description.contains("of the work"),
            "{description}"
        );
        let description = describe(&format!(
            "{fat_tree}{permutation_flows}scheme = {{ base = \"cubic\", handshake = \"tcp\" }}\n{poisson_workload}"
        ));
        assert!(description.contains("transfers of `g` arrive at random"), "{description}");
        let description =
            describe(&format!("{LINK}delay = \"10 ms\"\n[[flow]]\nscheme = \"source-quench\"\n{flows}"));
        assert!(description.contains("the queue of `core` from a to b sends feedback"), "{description}");
        let gate = "[node.a]\ngate = { kind = \"slots\", slot = \"2 ms\" }\n";
        let bulk_flows = "[[flow]]\ncount = 10\nfrom = \"a\"\nto = \"b\"\n";
        let description = describe(&format!("{LINK}delay = \"10 ms\"\n{gate}{bulk_flows}"));
        assert!(description.contains("the gate of `a` acts at once"), "{description}");
        let short = describe(&format!("{LINK}delay = \"1 ns\"\n[[flow]]\n{}", flows.replace("1 ms", "1 ns")));
        assert!(short.contains("1 ns of lookahead has too few events"), "{short}");
        let empty = describe(&format!("{LINK}delay = \"1 ms\"\n"));
        assert!(!empty.contains("of the work"), "{empty}");
    }
}
