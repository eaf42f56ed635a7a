//! Tests of imported specifications, by parsing the generated scenarios, and of rejected lines and their reasons.

use super::*;
use crate::{LoadedScenario, load_text};
use std::path::Path;
use thalweg_proto::units::Time;
use thalweg_sim::simulation_spec::{LinkSpec, WorkloadSpec};

const ALONE: &str = "main_cc_algo: bbr\nmain_start_time: 0\nmain_scenario_text: =b1:*1:397:3000000;\nnb_connections: 1\n\
                     main_target_time: 2500000\ndata_rate_in_gbps: 0.016\nlatency: 30000\nqueue_delay_max: 60000\nicid: 0123\n";

fn read(text: &str) -> LoadedScenario {
    let imported = import_c4("case.txt", text, &Choices::default()).unwrap();
    load_text("case.toml", &imported.scenario, Path::new(""), &[]).unwrap_or_else(|found| {
        let errors: String = found.iter().map(|one| one.render() + "\n").collect();
        panic!("{errors}\n{}", imported.scenario)
    })
}

fn refusal(text: &str) -> String {
    import_c4("case.txt", text, &Choices::default()).unwrap_err().to_string()
}

fn link(more: &str) -> LinkSpec {
    read(&format!("{ALONE}{more}")).spec().links[0].clone()
}

#[test]
fn a_download_becomes_a_transfer_over_one_link() {
    let loaded = read(ALONE);
    let (spec, ms) = (loaded.spec(), Duration::from_millis);
    let (link, flow) = (&spec.links[0], &spec.groups[0]);
    assert_eq!((link.forward.rate, link.forward.delay), (Rate::from_mbits_per_sec(16), ms(30)));
    assert_eq!(link.forward, link.backward);
    // 60 ms at 2000 bytes a millisecond.
    assert_eq!(link.forward.queue.limit(), thalweg_queue::Limit::Bytes(120_000));
    assert_eq!((flow.name.as_str(), flow.count), (MAIN, 1));
    assert!(
        matches!(flow.workload, WorkloadSpec::Transfer(parse_response_size) if parse_response_size.get() == 3_000_000)
    );
    // The request reaches the server half a round trip after connection establishment.
    assert_eq!(flow.start.since(Time::ZERO), ms(30));
    let imported = import_c4("case.txt", ALONE, &Choices::default()).unwrap();
    assert_eq!(imported.bound, Some(ms(2500)));
    assert!(
        imported
            .scenario
            .contains("# queue_delay_max           60000                          queue of the link\n")
    );
    assert!(
        imported
            .scenario
            .contains("# main_target_time          2500000                        bound, reported")
    );
}

#[test]
fn a_second_connection_is_in_the_background() {
    let text = ALONE.replace("nb_connections: 1", "nb_connections: 3")
        + "background_cc_algo: cubic\nbackground_start_time: 500000\nbackground_scenario_text: =b1:397:8000000;\n";
    let loaded = read(&text);
    let background = &loaded.spec().groups[1];
    assert_eq!((background.name.as_str(), background.count), ("background", 2));
    assert_eq!(background.start.since(Time::ZERO), Duration::from_millis(530));
    assert_eq!(background.transport.scheme, "cubic");
    assert!(
        refusal(&ALONE.replace("nb_connections: 1", "nb_connections: 2"))
            .contains("`background_cc_algo` is missing")
    );
}

/// Wi-Fi jitter keeps its average; other jitter is normal, with a third of the mean as its deviation.
#[test]
fn jitter_is_normal_or_as_wifi() {
    use thalweg_queue::random_delay::TimeSpec;
    let of = |more: &str| link(more).backward.variation.unwrap().distribution.clone();
    let ms = Duration::from_millis;
    assert_eq!(of("jitter: 7000\nwifi_jitter: 1\n"), TimeSpec::Wifi { average: ms(7) });
    assert_eq!(of("jitter: 6000\n"), TimeSpec::Normal { mean: ms(6), deviation: ms(2), max: None });
}

/// The draft's section on reaction to network events: a black hole of 2 s at 2 s; half of the rate for 2 s from 1.5 s
/// on; half of it for 2.5 s at first; a 200 ms outage every 2 s.
#[test]
fn stock_scenarios_are_schedules() {
    let changes = |name: &str| -> Vec<(u64, u64)> {
        let line = link(&format!("link_scenario: {name}\n")).forward;
        let rate = |rate: Rate| rate.as_bits_per_sec() / 1_000_000;
        let start = (0, rate(line.rate));
        let change = |change: &thalweg_sim::simulation_spec::Change| {
            (change.at.as_picos() / 1_000_000_000, change.rate.map_or(0, rate))
        };
        std::iter::once(start).chain(line.schedule.iter().map(change)).collect()
    };
    assert_eq!(changes("none"), [(0, 16)]);
    assert_eq!(changes("black_hole"), [(0, 16), (2000, 0), (4000, 16)]);
    assert_eq!(changes("drop_and_back"), [(0, 16), (1500, 8), (3500, 16)]);
    assert_eq!(changes("low_and_up"), [(0, 8), (2500, 16)]);
    assert_eq!(
        changes("wifi_suspension"),
        [(0, 16), (1800, 0), (2000, 16), (3800, 0), (4000, 16), (5800, 0), (6000, 16)]
    );
    assert_eq!(
        changes("1000000:U0.01:D0.02:L30000:Q60000;60000000:U0.01:D0.004:L30000:Q60000"),
        [(0, 20), (1000, 4)]
    );
}

#[test]
fn phases_may_differ_by_direction_and_delay() {
    let link = link("link_scenario: 1000000:U0.01:D0.02:L15000:Q60000;60000000:U0.01:D0.02:L50000:Q60000\n");
    let ms = Duration::from_millis;
    assert_eq!(
        (link.forward.rate, link.backward.rate),
        (Rate::from_mbits_per_sec(20), Rate::from_mbits_per_sec(10))
    );
    for line in [&link.forward, &link.backward] {
        assert_eq!((line.delay, line.schedule.len(), line.schedule[0].delay), (ms(15), 1, Some(ms(50))));
    }
}

#[test]
fn inexpressible_specifications_are_rejected_with_their_line() {
    for (text, why) in [
        (String::new(), "this is not a specification: expected lines of `key: value`"),
        ("latency 5\n".to_owned(), "line 1: expected `key: value`, found `latency 5`"),
        ("latenzy: 5\n".to_owned(), "line 1: there is no key `latenzy`; did you mean `latency`?"),
        (format!("{ALONE}latency: 5\n"), "line 10: `latency` is given twice"),
        (
            ALONE.replace("latency: 30000", "latency: 30 ms"),
            "line 7: `latency` is a whole number, but here it is `30 ms`",
        ),
        (
            ALONE.replace("0.016", "16M"),
            "line 6: `data_rate_in_gbps` is a rate in Gbit/s, such as 0.02, but here it is `16M`",
        ),
        (
            ALONE.replace("algo: bbr", "algo: c4"),
            "line 1: there is no `c4` here; name a scheme for it, such as `--scheme c4=bbr`",
        ),
        (
            format!("{ALONE}main_cc_options: D\n"),
            "line 10: options of bbr cannot be expressed; `--skip main_cc_options` ignores it",
        ),
        (
            format!("{ALONE}seed_cwin: 1000\n"),
            "line 10: a remembered path (careful resume) cannot be expressed; `--skip seed_cwin` ignores it",
        ),
        (
            ALONE.replace(":3000000;", ":3000000;=b2:*1:397:9;"),
            "line 3: 2 streams cannot be expressed; one download is `=b1:*1:397:5000000;`",
        ),
        (
            format!("{ALONE}link_scenario: wifi_fades\n"),
            "line 10: `wifi_fades` of `wifi_fades` is not understood",
        ),
        (
            format!("{ALONE}link_scenario: 1000:U0.1:D0.1:B2:P18\n"),
            "line 10: losses at fixed distances in packets (`B`, `P`) cannot be expressed",
        ),
        (
            format!("{ALONE}link_scenario: 1000:U0.1:D0.1:Q5;1000:U0.1:D0.1:Q6\n"),
            "line 10: a queue that changes its size cannot be expressed",
        ),
        (
            format!("{ALONE}link_scenario: wifi_fade\n"),
            "line 10: a jitter that changes during the run cannot be expressed",
        ),
        (
            ALONE.replace("nb_connections: 1", "nb_connections: 9"),
            "line 4: there are 1 to 5 connections, not 9",
        ),
    ] {
        assert!(refusal(&text).starts_with(why), "{} in place of {why}", refusal(&text));
    }
    assert!(
        refusal(&ALONE.replace("=b1:*1:397:3000000;", "=a1:d50:p2:S:n250:80;=v:s30:p4:S:n9:37:G3:I37;"))
            .contains("some are media")
    );
}

#[test]
fn other_schemes_and_omitted_keys_are_reported() {
    let text = ALONE.replace("algo: bbr", "algo: c4") + "main_cc_options: D\nseed_rtt: 7\n";
    let choices =
        Choices { schemes: vec![("c4".to_owned(), "cubic".to_owned())], skip: vec!["seed_rtt".to_owned()] };
    let scenario = import_c4("case.txt", &text, &choices).unwrap().scenario;
    assert!(scenario.contains("scheme = { base = \"cubic\", handshake = \"quic\" }"), "{scenario}");
    assert!(
        scenario.contains("cubic, as requested") && scenario.contains("left out, as requested"),
        "{scenario}"
    );
}

#[test]
fn arbitrary_text_is_imported_or_rejected() {
    use proptest::prelude::*;
    proptest!(|(text in "([a-z_]{1,8}: [=a-z0-9:;.]{0,20}\n){0,6}", tail in "[ -~\n]{0,60}")| {
        let _ = import_c4("case.txt", &text, &Choices::default());
        let _ = import_c4("case.txt", &format!("{ALONE}link_scenario: {tail}"), &Choices::default());
        let _ = import_c4("case.txt", &format!("{ALONE}{tail}"), &Choices::default());
    });
}

/// Names and values with quotes, line ends and escapes affect only the title and comments.
#[test]
fn names_are_escaped_in_the_imported_scenario() {
    let plain = read(ALONE);
    let name = "a\"\n[[link]]\nname = \"evil\x1b[2J\".txt";
    let text = format!("{ALONE}qlog_dir: x\u{1b}[2J\u{b}\"\"\"\n");
    let imported = import_c4(name, &text, &Choices::default()).unwrap();
    let loaded = load_text("case.toml", &imported.scenario, Path::new(""), &[])
        .unwrap_or_else(|found| panic!("{}\n{}", found[0].render(), imported.scenario));
    assert_eq!(loaded.spec(), plain.spec());
    assert_eq!(loaded.scenario.title, format!("{name}, as C4 is tested"));
    assert!(!imported.scenario.contains('\x1b'), "{}", imported.scenario);
}
