//! Random scenario files with all keys, valid by construction.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

fn one(of: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(of).prop_map(str::to_owned)
}

fn time() -> impl Strategy<Value = String> {
    (0u32..5000, one(&["us", "ms", "ns"])).prop_map(|(number, unit)| format!("\"{number} {unit}\""))
}

fn rate() -> impl Strategy<Value = String> {
    (1u32..5000, one(&["kbit/s", "Mbit/s", "kB/s"])).prop_map(|(number, unit)| format!("\"{number} {unit}\""))
}

fn size() -> impl Strategy<Value = String> {
    prop_oneof![
        (1u32..900, one(&["B", "kB", "KiB", "MB"])).prop_map(|(number, unit)| format!("\"{number} {unit}\"")),
        (1u32..30, 1u32..2000).prop_map(|(count, size)| format!("\"{count} x {size} B\"")),
    ]
}

fn probability() -> impl Strategy<Value = String> {
    prop_oneof![
        (0.0..=1.0f64).prop_map(|p| format!("{p:?}")),
        (0u32..=1000).prop_map(|tenths| format!("\"{}.{} %\"", tenths / 10, tenths % 10)),
        one(&["0", "1"]),
    ]
}

fn queue() -> impl Strategy<Value = String> {
    // At least a packet of 2 MiB, the maximum size.
    let capacity = prop_oneof![
        (1u32..5000).prop_map(|packets| format!("\"{packets} pkt\"")),
        (3u32..50).prop_map(|size| format!("\"{size} MB\"")),
        one(&["\"unlimited\""]),
    ];
    prop_oneof![
        capacity.clone(),
        (
            one(&[
                "fcfs",
                "random-drop",
                "fq",
                "sfq",
                "drr",
                "red",
                "codel",
                "fq-codel",
                "cake",
                "pie",
                "priority",
            ]),
            capacity
        )
            .prop_map(|(kind, capacity)| format!("{{ discipline = \"{kind}\", capacity = {capacity} }}")),
        feedback().prop_map(|feedback| format!(
            "{{ discipline = \"fcfs\", capacity = \"20 pkt\", feedback = {feedback} }}"
        )),
    ]
}

fn feedback() -> impl Strategy<Value = String> {
    one(&[
        "\"none\"",
        "\"seif\"",
        "\"bbn\"",
        "{ kind = \"seif\", threshold = \"70 %\", filter = false, reach = 3, mark = true }",
        "{ kind = \"seif\", overhead = \"2 %\" }",
        "{ kind = \"seif\", overhead = 0.01, overhead-by = \"silence\", message = \"64 B\" }",
        "{ kind = \"seif\", policy = \"reacting\", routing-interval = \"3 s\", to = \"all\" }",
        "{ kind = \"seif\", policy = \"dynamic\", alpha = 0.5, window = \"2 s\", message = \"64 B\" }",
        "{ kind = \"source-quench\", threshold = 0.4 }",
        "{ kind = \"source-quench\", on-drop = true }",
        "{ kind = \"dec-bit\", threshold = \"1.5 pkt\", to = \"all\" }",
        "{ kind = \"bbn\", target = 0.8, interval = \"100 ms\" }",
    ])
}

fn loss() -> impl Strategy<Value = String> {
    prop_oneof![
        probability(),
        probability().prop_map(|p| format!("{{ model = \"uniform\", probability = {p} }}")),
        (probability(), probability(), probability()).prop_map(|(a, b, c)| format!(
            "{{ model = \"gilbert-elliott\", good-to-bad = {a}, bad-to-good = {b}, loss-bad = {c} }}"
        )),
        vec(1u64..1000, 1..5).prop_map(|mut packets| {
            packets.sort_unstable();
            packets.dedup();
            format!("{{ packets = {packets:?} }}")
        }),
    ]
}

fn reorder() -> impl Strategy<Value = String> {
    let more = one(&["", ", correlation = \"25 %\""]);
    (probability(), time(), more)
        .prop_map(|(p, delay, more)| format!("{{ probability = {p}, delay = {delay}{more} }}"))
}

fn chance() -> impl Strategy<Value = String> {
    let table = (probability(), probability())
        .prop_map(|(p, correlation)| format!("{{ probability = {p}, correlation = {correlation} }}"));
    prop_oneof![2 => probability(), 1 => table]
}

fn jitter() -> impl Strategy<Value = String> {
    let distribution = one(&[
        "distribution = \"uniform\", max = \"2 ms\"",
        "distribution = \"uniform\", min = \"1 ms\", max = \"2 ms\"",
        "distribution = \"exponential\", mean = \"2 ms\"",
        "distribution = \"normal\", mean = \"2 ms\", deviation = \"500 us\", max = \"5 ms\"",
        "distribution = \"log-normal\", median = \"2 ms\", sigma = 0.3",
        "distribution = \"pareto\", min = \"1 ms\", shape = 1.5, max = \"9 ms\"",
        "distribution = \"measured\", times = [\"3 ms\", \"1 ms\"]",
        "distribution = \"wifi\", average = \"7 ms\"",
    ]);
    let more = one(&["", ", each = \"flow\"", ", in-order = false"]);
    let correlated = one(&[
        "{ distribution = \"normal\", mean = \"2 ms\", deviation = \"500 us\", correlation = \"25 %\" }",
        "{ distribution = \"uniform\", max = \"2 ms\", correlation = 0.5, in-order = false }",
    ]);
    let drawn = (distribution, more).prop_map(|(one, more)| format!("{{ {one}{more} }}"));
    prop_oneof![2 => time(), 4 => drawn, 1 => correlated]
}

/// Draws a subset of these lines.
fn some(lines: Vec<BoxedStrategy<String>>) -> impl Strategy<Value = Vec<String>> {
    let count = lines.len();
    (lines, subsequence((0..count).collect::<Vec<_>>(), 0..=count))
        .prop_map(|(lines, chosen)| chosen.into_iter().map(|index| lines[index].clone()).collect())
}

fn key(name: &'static str, value: impl Strategy<Value = String> + 'static) -> BoxedStrategy<String> {
    value.prop_map(move |value| format!("{name} = {value}")).boxed()
}

fn changes() -> impl Strategy<Value = String> {
    let change = some(vec![
        key("delay", time()),
        key("loss", loss()),
        key("duplicate", chance()),
        key("reorder", reorder()),
        key("jitter", jitter()),
        key("black-hole", one(&["\"1500 B\""])),
    ]);
    vec((0u32..3000, change, time()), 0..4).prop_map(|changes| {
        let entries: Vec<String> = changes
            .into_iter()
            .map(|(at, mut change, delay)| {
                if change.is_empty() {
                    change.push(format!("corrupt = \"1 %\", delay = {delay}"));
                }
                format!("{{ at = \"{at} ms\", {} }}", change.join(", "))
            })
            .collect();
        format!("[{}]", entries.join(", "))
    })
}

/// Draws non-overlapping outages.
fn outages() -> impl Strategy<Value = String> {
    vec((0u32..500, rate()), 1..4).prop_map(|outages| {
        let entries: Vec<String> = outages
            .into_iter()
            .enumerate()
            .map(|(place, (length, rate))| {
                let at = place * 1000;
                format!(
                    "{{ at = \"{at} ms\", outage = \"{length} ms\" }}, {{ at = \"{} ms\", rate = {rate} }}",
                    at + 600
                )
            })
            .collect();
        format!("[{}]", entries.join(", "))
    })
}

fn line() -> BoxedStrategy<Vec<String>> {
    let schedule = prop_oneof![changes(), outages()];
    (
        prop_oneof![
            4 => (rate(), schedule).prop_map(|(rate, schedule)| format!("rate = {rate}\nperiodic-variation = \"none\"\nschedule = {schedule}")),
            1 => rate().prop_map(|rate| {
                format!("rate = {rate}\nschedule = []\nperiodic-variation = {{ every = \"500 ms\", rate-spread = \"30 %\", outage = \"9 ms\" }}")
            }),
            1 => vec(0u32..1000, 1..6).prop_map(|mut times| {
                times.sort_unstable();
                format!("trace = {{ tick = \"1 ms\", times = {times:?}, period = \"1 s\" }}\nperiodic-variation = \"none\"\nschedule = \
                    [{{ at = \"1 s\", outage = \"200 ms\" }}, {{ at = \"1100 ms\", delay = \"5 ms\" }}]")
            }),
        ],
        time(),
        queue(),
        some(vec![
            key("loss", loss()),
            key("duplicate", chance()),
            key("corrupt", chance()),
        key("framing", one(&["\"none\"", "\"atm-aal5\""])),
            key("reorder", reorder()),
            key("jitter", jitter()),
            key("shaper", one(&["\"none\"", "{ rate = \"3 Mbit/s\" }", "{ rate = \"3 Mbit/s\", burst = \"9 kB\" }"])),
            key("sleep", one(&["[]", "[{ after = \"1 s\", wake = \"50 ms\" }]"])),
            key("aggregation", one(&["\"none\"", "{ every = \"2 ms\" }", "{ every = \"4 ms\", packets = 64 }"])),
            key("ecn", one(&["\"kept\"", "\"bleached\"", "\"ect1-to-ect0\"", "\"marks-lost\"", "\"tunnel-compatible\""])),
        ]),
        one(&["\"none\"", "\"conservative\"", "\"newest\""]),
    )
        .prop_map(|(rate, delay, queue, mut more, filter)| {
            // Always explicit: the inherited queue may have another discipline.
            let is_fcfs = !queue.contains("discipline") || queue.contains("fcfs");
            more.push(format!("ack-filter = {}", if is_fcfs { &filter } else { "\"none\"" }));
            more.extend([rate, format!("delay = {delay}"), format!("queue = {queue}")]);
            more
        })
        .boxed()
}

fn common() -> impl Strategy<Value = Vec<String>> {
    some(vec![
        key("segment", (1u32..9000).prop_map(|size| format!("\"{size} B\""))),
        key("header", (0u32..100).prop_map(|size| format!("\"{size} B\""))),
        key("ack", (0u32..100).prop_map(|size| format!("\"{size} B\""))),
        key("max-window", (1u32..1000).prop_map(|packets| format!("\"{packets} pkt\""))),
        key("counting", one(&["\"packets\"", "\"bytes\""])),
        key("recovery", one(&["\"sack\"", "\"newreno\"", "\"go-back-n\"", "\"fast-retransmit\""])),
        key("byte-counting", one(&["\"1 pkt\"", "\"2 pkt\"", "\"unlimited\""])),
        key("duplicate-threshold", one(&["1", "3", "10"])),
        key(
            "rto",
            one(&["{ floor = \"1 s\" }", "{ initial = \"3 s\", granularity = \"500 ms\", deviations = 2 }"]),
        ),
        key("idle-restart", one(&["true", "false"])),
        key("nagle", one(&["true", "false"])),
        key("max-retransmissions", one(&["0", "15"])),
        key("receive-window", one(&["\"64 KiB\"", "\"1 GB\""])),
        key("delayed-ack", one(&["true", "false", "{ every = 3 }", "{ delay = \"100 ms\" }"])),
        key("keep-out-of-order", one(&["true", "false"])),
    ])
}

fn scheme_body() -> impl Strategy<Value = Vec<String>> {
    let own = one(&[
        "base = \"fixed\"\nwindow = \"8 pkt\"",
        "base = \"slow-start\"",
        "base = \"newreno\"\ninitial-window = \"2.5 pkt\"",
        "base = \"vegas\"\nfine-timer = true\necn = true\nalpha = \"2 pkt\"\nbeta = \"4 pkt\"\ninitial-ssthresh = \"unlimited\"",
        "base = \"cubic\"\necn = false\nc = 1\nbeta = 0.8\nfast-convergence = false",
        "base = \"seif\"\ncut-back = \"30 %\"\ngrowth-windows = 2\nfollow = \"most-messages\"",
        "base = \"seif\"\ninitial-ssthresh = \"15 pkt\"",
        "base = \"slow-start\"\ngrowth = \"counted\"",
        "base = \"dec-bit\"\nincrease = \"2 pkt\"\ndecrease = 0.5\nshare = \"30 %\"",
        "base = \"tri-s\"\nntg-d = 0.4\nntg-i = 0.6",
        "base = \"source-quench\"\nwindow = \"15 pkt\"\nresume-after = 5",
        "base = \"bbn\"\nlifetime = \"3 s\"",
        "base = \"fixed\"\nwindow = \"9 pkt\"",
    ]);
    let window = (own, common()).prop_map(|(own, mut more)| {
        // Other controllers have no rules for idle times and byte counting.
        if !["slow-start", "newreno", "vegas", "cubic"]
            .iter()
            .any(|base| own.contains(&format!("\"{base}\"")))
        {
            more.retain(|key| key != "idle-restart = true" && !key.starts_with("byte-counting"));
        }
        more.insert(0, own);
        more
    });
    // RACK requires SACK, and the other options require RACK.
    let rack = (one(&["true", "false"]), one(&["true", "false"])).prop_map(|(undo, probe)| {
        vec![format!(
            "base = \"newreno\"\nrecovery = \"sack\"\nrack = true\nundo = {undo}\ntail-probe = {probe}\ndelayed-ack = true"
        )]
    });
    let adaptive = some(vec![
        key("window", one(&["\"1 pkt\"", "\"64 pkt\""])),
        key("t-normal", one(&["\"10 ms\"", "\"1 s\""])),
        key("t-error", one(&["\"1 ms\"", "\"2 s\""])),
        key("segment", one(&["\"1 kB\""])),
        key("header", one(&["\"0 B\"", "\"40 B\""])),
        key("ack", one(&["\"53 B\""])),
    ])
    .prop_map(|mut keys| {
        keys.insert(0, "base = \"adaptive-ack\"".to_owned());
        keys
    });
    let media = some(vec![
        key("fps", one(&["10", "60"])),
        key("min-rate", one(&["\"20 kbit/s\"", "\"1 Mbit/s\""])),
        key("max-rate", one(&["\"2 Mbit/s\""])),
        key("ecn", one(&["\"classic\"", "\"none\""])),
        key("key-interval", one(&["\"2 s\"", "\"off\""])),
        key("frame-spread", one(&["0", "\"30 %\""])),
        key("competes", one(&["false"])),
    ])
    .prop_map(|mut keys| {
        keys.insert(0, "base = \"scream\"".to_owned());
        keys
    });
    prop_oneof![6 => window, 1 => rack, 1 => adaptive, 1 => media, 1 => sscop(), 1 => sscop_rate(), 1 => two_level()]
}

fn two_level() -> impl Strategy<Value = Vec<String>> {
    some(vec![
        key("segment-packets", one(&["\"1 pkt\"", "\"40 pkt\""])),
        key("rate", one(&["\"3 Mbit/s\""])),
        key("average-rate", one(&["\"1 kbit/s\""])),
        key("burst", one(&["\"1 pkt\"", "\"7 pkt\""])),
        key("resume", one(&["\"at-once\"", "\"next-burst\""])),
        key("window", one(&["\"2 wa\"", "\"9 seg\""])),
        key("buffer", one(&["\"0.5 wa\"", "\"3 seg\""])),
        key("acknowledgement", one(&["\"hard\"", "\"soft\"", "\"firm\""])),
        key("evicted", one(&["\"one\"", "\"at-once\""])),
        key("loss-tolerance", one(&["0.1", "\"25 %\""])),
        key("reordering", one(&["0", "7"])),
        key("segment", one(&["\"1 kB\""])),
    ])
    .prop_map(|mut keys| {
        keys.insert(0, "base = \"sstp\"".to_owned());
        keys
    })
}

fn sscop_keys() -> impl Strategy<Value = Vec<String>> {
    some(vec![
        key("window", one(&["\"1 pkt\"", "\"300 pkt\""])),
        key("buffer", one(&["\"7 pkt\""])),
        key("k", one(&["\"65528 B\""])),
        key("max-cc", one(&["1", "9"])),
        key("max-pd", one(&["1", "500"])),
        key("max-stat", one(&["3", "16379"])),
        key("timer-cc", one(&["\"200 ms\""])),
        key("timer-poll", one(&["\"100 ms\""])),
        key("timer-keep-alive", one(&["\"100 ms\""])),
        key("timer-no-response", one(&["\"15 s\""])),
        key("timer-idle", one(&["\"100 ms\""])),
        key("poll-after-retransmission", one(&["true", "false"])),
        key("ignore-old-data", one(&["true", "false"])),
        key("segment", one(&["\"508 B\""])),
        key("header", one(&["\"0 B\"", "\"8 B\""])),
    ])
}

fn sscop() -> impl Strategy<Value = Vec<String>> {
    sscop_keys().prop_map(|mut keys| {
        keys.insert(0, "base = \"sscop\"".to_owned());
        keys
    })
}

fn sscop_rate() -> impl Strategy<Value = Vec<String>> {
    let own = some(vec![
        key("start-rate", one(&["\"1 kbit/s\"", "\"10 Mbit/s\""])),
        key("max-rate", one(&["\"100 Mbit/s\""])),
        key("alpha", one(&["\"1 pkt\"", "\"5 pkt\""])),
        key("unit", one(&["\"bytes\"", "\"cells\""])),
        key("probing", one(&["\"spacing\"", "\"packet-pair\""])),
        key("base-rate", one(&["\"delivered\"", "\"probed\""])),
        key("gain", one(&["0.25", "1"])),
        key("growth", one(&["1", "1.5"])),
        key("poll-behind-data", one(&["true", "false"])),
        key("keep-records", one(&["true", "false"])),
        key("poll-floor", one(&["\"0 s\"", "\"20 ms\""])),
        key("poll-ceiling", one(&["\"0 s\"", "\"1 s\""])),
        key("drain", one(&["\"1 s\""])),
        key("jitter", one(&["\"1 ms\""])),
    ]);
    (own, sscop_keys(), any::<bool>()).prop_map(|(mut keys, more, literal)| {
        keys.extend(more);
        keys.insert(0, format!("base = \"sscop-rate{}\"", if literal { "-literal" } else { "" }));
        keys
    })
}

fn sizes() -> impl Strategy<Value = String> {
    prop_oneof![
        size(),
        size().prop_map(|mean| format!("{{ distribution = \"exponential\", mean = {mean} }}")),
        (1u32..500, 500u32..5000, 0.1..3.0f64).prop_map(|(min, max, shape)| format!(
            "{{ distribution = \"pareto\", min = \"{min} kB\", shape = {shape:?}, max = \"{max} kB\" }}"
        )),
        (size(), 0.0..3.0f64).prop_map(|(median, sigma)| format!(
            "{{ distribution = \"log-normal\", median = {median}, sigma = {sigma:?} }}"
        )),
        (1u32..500, 500u32..5000).prop_map(|(min, max)| format!(
            "{{ distribution = \"uniform\", min = \"{min} B\", max = \"{max} B\" }}"
        )),
    ]
}

fn workload() -> impl Strategy<Value = String> {
    prop_oneof![
        one(&["\"bulk\""]),
        size(),
        size().prop_map(|size| format!("{{ kind = \"transfer\", size = {size} }}")),
        size().prop_map(|packet| format!("{{ kind = \"telnet\", packet = {packet}, gap = \"20 ms\" }}")),
        (rate(), time()).prop_map(|(rate, off)| format!(
            "{{ kind = \"on-off\", on = \"1 s\", off = {off}, rate = {rate}, random = true }}"
        )),
        rate().prop_map(|rate| format!("{{ kind = \"cbr\", rate = {rate}, packet = \"160 B\" }}")),
        sizes().prop_map(|size| format!("{{ kind = \"poisson\", gap = \"30 ms\", size = {size} }}")),
        (rate(), sizes())
            .prop_map(|(load, size)| format!("{{ kind = \"poisson\", load = {load}, size = {size} }}")),
        (size(), sizes(), time()).prop_map(|(request, response, think)| format!(
            "{{ kind = \"request-response\", request = {request}, response = {response}, think = {think} }}"
        )),
        one(&["{ kind = \"trace\", writes = [[\"0 s\", \"1 kB\"], [\"1.5 s\", \"3 MB\"]] }"]),
    ]
}

/// The host model of a scenario.
#[derive(Clone, Copy, Debug)]
enum Hosts {
    Processing,
    Threads,
}

/// Draws a host by name, or some of its keys, which are measured together.
fn host() -> impl Strategy<Value = String> {
    let keys = some(vec![
        (0u32..5000, 0u32..5000)
            .prop_map(|(late, more)| format!("late = \"{late} us\", late-p99 = \"{} us\"", late + more))
            .boxed(),
        (1u32..5000, 1u32..5000)
            .prop_map(|(every, away)| {
                format!("preemption-every = \"{every} us\", preemption = \"{away} us\"")
            })
            .boxed(),
        key("granularity", time()),
        key("coalescing", time()),
        key("call", time()),
        key("packet", time()),
        key("byte", one(&["\"0.224 ns\""])),
        key("buffer", one(&["\"18 kB\"", "\"212992 B\""])),
    ]);
    prop_oneof![
        one(&["\"linux-server\"", "\"linux-loaded\"", "\"linux-shared\""]),
        keys.prop_map(|keys| format!("{{ {} }}", keys.join(", "))),
    ]
}

fn access(hosts: Hosts) -> impl Strategy<Value = String> {
    (rate(), time(), any::<bool>()).prop_map(move |(rate, delay, sides)| {
        let works = match hosts {
            Hosts::Processing => ", processing = { packet = \"70 us\" }",
            Hosts::Threads => "",
        };
        let more = if sides {
            format!(
                ", source = {{ delay = \"3 ms\"{works} }}, sink = {{ reverse = {{ rate = \"1 Mbit/s\" }} }}"
            )
        } else {
            String::new()
        };
        format!("{{ rate = {rate}, delay = {delay}{more} }}")
    })
}

fn flow(hosts: Hosts) -> impl Strategy<Value = String> {
    let mut keys = vec![
        key("count", one(&["1", "7", "1000"])),
        key("workload", workload()),
        key("start", time()),
        key("spread", time()),
        key("stagger", time()),
        key("stop", time()),
        key("access", access(hosts)),
        key("control-channel", time()),
        key(
            "scheme",
            one(&[
                "\"mine\"",
                "\"cubic\"",
                "\"vegas\"",
                "\"adaptive-ack\"",
                "\"sstp\"",
                "{ base = \"newreno\", ack = \"9 B\" }",
            ]),
        ),
    ];
    if matches!(hosts, Hosts::Threads) {
        keys.push(key("host", host()));
    }
    (some(keys), any::<bool>()).prop_map(|(keys, back)| {
        let (from, to) = if back { ("n9", "n0") } else { ("n0", "n9") };
        format!("[[flow]]\nfrom = \"{from}\"\nto = \"{to}\"\n{}\n", keys.join("\n"))
    })
}

/// Draws a chain of links with end-to-end flows.
pub fn scenario() -> impl Strategy<Value = String> {
    prop_oneof![scenario_between(Hosts::Processing), scenario_between(Hosts::Threads)]
}

fn scenario_between(hosts: Hosts) -> impl Strategy<Value = String> {
    let top = some(vec![
        key("title", one(&["\"a \\\"title\\\" \\\\ µ\"", "'''\n two\nlines'''"])),
        key("duration", one(&["\"10 s\"", "\"1 min\"", "\"250 ms\""])),
        key("warmup", time()),
        key("seed", one(&["7", "18446744073709551615"])),
        key("ties", one(&["\"hash\"", "\"order\""])),
    ]);
    let defaults = (one(&["", "host = \"linux-server\""]), access(hosts)).prop_map(move |(host, access)| {
        let host = if matches!(hosts, Hosts::Threads) { host } else { String::new() };
        format!("[defaults.flow]\nscheme = \"vegas\"\naccess = {access}\n{host}")
    });
    let works = match hosts {
        Hosts::Processing => "[node.n0]\nprocessing = { packet = \"70 us\", byte = \"0.05 us\" }",
        Hosts::Threads => "",
    };
    let tables = some(vec![
        key("[measure]\ninterval", one(&["\"off\"", "\"10 ms\"\nflows = 3\nevery-event = true"])),
        Just(works.to_owned()).boxed(),
        common().prop_map(|keys| format!("[defaults.scheme]\n{}", keys.join("\n"))).boxed(),
        defaults.boxed(),
        Just("[scheme.vegas]\ngamma = \"2 pkt\"".to_owned()).boxed(),
    ]);
    let links = vec((line(), proptest::option::of(line())), 1..4);
    (top, tables, scheme_body(), links, vec(flow(hosts), 1..4)).prop_map(
        |(top, tables, scheme, links, flows)| {
            let mut text =
                format!("{}\n{}\n[scheme.mine]\n{}\n", top.join("\n"), tables.join("\n"), scheme.join("\n"));
            let count = links.len();
            for (place, (line, reverse)) in links.into_iter().enumerate() {
                let to = if place + 1 == count { 9 } else { place + 1 };
                text.push_str(&format!(
                    "[[link]]\nbetween = [\"n{place}\", \"n{to}\"]\n{}\n",
                    line.join("\n")
                ));
                if let Some(reverse) = reverse {
                    text.push_str(&format!("[link.reverse]\n{}\n", reverse.join("\n")));
                }
            }
            text + &flows.concat()
        },
    )
}
