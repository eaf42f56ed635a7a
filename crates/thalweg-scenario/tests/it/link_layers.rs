//! Policers, shapers, sleeping radios, aggregation, periodic variation and ECN treatment: effects on flows, compared
//! with formulas
//! and with published results.

use std::path::Path;
use thalweg_catalog::EndpointConfigs;
use thalweg_queue::Limit;
use thalweg_scenario::{Diagnostic, load_text};
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::{RunResult, Simulation, Status};

/// Runs a flow over one link with these keys.
fn run(duration: &str, link: &str, flow: &str) -> RunResult {
    let text = format!(
        "duration = \"{duration}\"\n[[link]]\nbetween = [\"a\", \"b\"]\n{link}\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    );
    let loaded = load_text("test.toml", &text, Path::new(""), &[])
        .unwrap_or_else(|found| panic!("{}", found.iter().map(Diagnostic::render).collect::<String>()));
    let mut simulation = Simulation::new(loaded.spec(), NoTrace).unwrap();
    while simulation.advance(1 << 20) == Status::Running {}
    let result = simulation.finish().0;
    assert!(result.conservation.holds());
    result
}

/// Datagrams of 1000 bytes on the wire at a constant rate.
fn datagrams(rate: &str) -> String {
    format!(
        "scheme = {{ base = \"udp\", segment = \"972 B\", header = \"28 B\" }}\n\
         workload = {{ kind = \"cbr\", rate = \"{rate}\", packet = \"972 B\" }}"
    )
}

const LINE: &str = "rate = \"100 Mbit/s\"\ndelay = \"25 ms\"";
const POLICER: &str =
    "queue = { discipline = \"policer\", rate = \"5 Mbit/s\", burst = \"100 kB\", capacity = \"1 bdp\" }";

/// RFC 2697, section 3: a policer passes its rate times t, plus its burst, in t seconds.
#[test]
fn a_policer_passes_its_rate_and_its_burst() {
    let link = format!("{LINE}\n{POLICER}");
    let result = run("100 s", &link, &datagrams("9.72 Mbit/s"));
    let passed = result.links[0].packets as f64;
    let allowed = (5e6 / 8.0 * 100.0 + 100_000.0) / 1000.0;
    assert!((passed - allowed).abs() <= 1.0, "{passed} of {allowed}");
    assert_eq!(result.links[0].drops_full, 0);
}

/// The same for a shaper, which queues the excess until its queue is full.
#[test]
fn a_shaper_passes_its_rate_and_its_burst() {
    let link = format!("{LINE}\nshaper = {{ rate = \"5 Mbit/s\", burst = \"100 kB\" }}\nqueue = \"200 pkt\"");
    let result = run("100 s", &link, &datagrams("9.72 Mbit/s"));
    let passed = result.links[0].packets as f64;
    let allowed = (5e6 / 8.0 * 100.0 + 100_000.0) / 1000.0;
    assert!((passed - allowed).abs() <= 2.0, "{passed} of {allowed}");
    // Two hundred packets wait at the shaper's rate, in addition to the one in service.
    let longest = result.flows[0].delay.max.as_secs_f64();
    assert!((longest - 0.025 - 200.0 * 1.6e-3).abs() < 4e-3, "{longest}");
}

/// The rate of the tokens passes, whatever part of a packet the bucket holds.
#[test]
fn a_shaper_with_a_bucket_below_a_packet_passes_its_rate() {
    for burst in [1, 100, 500, 999, 1000, 1500] {
        for rate in ["10 Mbit/s", "100 Mbit/s"] {
            let link = format!(
                "rate = \"{rate}\"\ndelay = \"5 ms\"\nshaper = {{ rate = \"2 Mbit/s\", burst = \"{burst} B\" }}\nqueue = \"20 pkt\""
            );
            let result = run("100 s", &link, &datagrams("5 Mbit/s"));
            let (passed, allowed) = (result.links[0].packets as f64, 2e6 / 8.0 * 100.0 / 1000.0);
            assert!((passed - allowed).abs() <= 3.0, "{burst} B, {rate}: {passed} of {allowed}");
        }
    }
}

/// A shaped link has the rate of its shaper, and a utilisation of the transmitted share of that: waiting for tokens is
/// not transmission, and a burst from saved tokens uses them.
#[test]
fn a_shaped_link_is_used_by_the_share_of_its_tokens() {
    let shaper = |rate: &str| {
        format!(
            "rate = \"10 Mbit/s\"\ndelay = \"1 ms\"\nshaper = {{ rate = \"{rate}\", burst = \"10 kB\" }}\nqueue = \"20 pkt\""
        )
    };
    // Of 2 Mbit/s, of 2 Mbit/s after a burst, and of a link slower than its shaper.
    for (offered, by, rate, used) in [
        ("972 kbit/s", "2 Mbit/s", 2.0, 0.5),
        ("4.86 Mbit/s", "2 Mbit/s", 2.0, 1.0),
        ("4.86 Mbit/s", "20 Mbit/s", 10.0, 0.5),
    ] {
        for span in ["100 s", "100 s\"\nwarmup = \"10 s"] {
            let result = run(span, &shaper(by), &datagrams(offered));
            let link = &result.links[0];
            assert_eq!(link.rate.as_f64(), rate * 1e6, "{offered}, {by}");
            assert!((link.utilisation - used).abs() < 0.001, "{offered}, {by}: {}", link.utilisation);
        }
    }
}

/// Flach et al. 2016, table 1: a policer can drop much and does not inflate round trips; a shaper drops only where its buffer is
/// full, and inflates them. Both enforce the rate.
#[test]
fn shapers_inflate_round_trips_and_policers_drop() {
    for scheme in ["cubic", "bbr"] {
        let flow = format!("scheme = \"{scheme}\"");
        let policed = run("30 s", &format!("{LINE}\n{POLICER}\nreverse = {{ queue = \"1 bdp\" }}"), &flow);
        let shaper = "shaper = { rate = \"5 Mbit/s\", burst = \"100 kB\" }\nqueue = \"200 ms\"";
        let shaped = run("30 s", &format!("{LINE}\n{shaper}"), &flow);
        let delay = |result: &RunResult| result.flows[0].delay.p50.as_millis_f64();
        assert!(delay(&policed) < 26.0, "{scheme}: {}", delay(&policed));
        assert!(delay(&shaped) > 100.0, "{scheme}: {}", delay(&shaped));
        let lost =
            |result: &RunResult| result.flows[0].retransmissions as f64 / result.flows[0].sent_packets as f64;
        assert!(lost(&policed) > 1.5 * lost(&shaped), "{scheme}: {} {}", lost(&policed), lost(&shaped));
        for result in [policed, shaped] {
            let goodput = result.flows[0].goodput.as_f64() / 1e6;
            assert!((4.4..5.03).contains(&goodput), "{scheme}: {goodput}");
        }
    }
}

/// Flach et al. 2016: a flow starts at line rate until the bucket is empty; packets within the first burst are not
/// lost.
#[test]
fn packets_within_the_bucket_are_not_policed() {
    let link = format!("{LINE}\n{POLICER}\nreverse = {{ queue = \"1 bdp\" }}");
    let flow = |size| format!("scheme = \"cubic\"\nworkload = {{ kind = \"transfer\", size = \"{size}\" }}");
    let within = run("30 s", &link, &flow("90 kB"));
    let beyond = run("30 s", &link, &flow("2 MB"));
    assert_eq!((within.links[0].drops_early, beyond.links[0].drops_early > 10), (0, true));
    let took = |result: &RunResult| result.flows[0].finished.unwrap().as_secs_f64();
    // Four rounds of slow start, compared with the bucket's rate.
    assert!(took(&within) < 0.3, "{}", took(&within));
    assert!(took(&beyond) > 2e6 * 8.0 / 5e6 * 0.95, "{}", took(&beyond));
}

/// Packets with arbitrary arrival times wait for half of the interval on average, and at most for the interval.
#[test]
fn batches_hold_packets_for_half_of_their_interval() {
    let link = "rate = \"1 Gbit/s\"\ndelay = \"10 ms\"\naggregation = { every = \"4 ms\" }";
    // 997 Hz and 250 Hz have no common period.
    let result = run("60 s", link, &datagrams("7.752672 Mbit/s"));
    let delay = &result.flows[0].delay;
    assert!((delay.mean.as_millis_f64() - 12.0).abs() < 0.05, "{}", delay.mean);
    assert!(delay.max.as_millis_f64() < 14.02, "{}", delay.max);
}

/// While a batch is full, packets wait in the queue: of 3750 packets a second 1000 are carried, and the queue drops the rest.
#[test]
fn packets_wait_in_the_queue_while_a_batch_is_full() {
    let link = "rate = \"100 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"50 pkt\"\naggregation = { every = \"4 ms\", packets = 4 }";
    let result = run("20 s", link, &datagrams("29.16 Mbit/s"));
    let line = &result.links[0];
    assert!(line.packets.abs_diff(20_000) < 10, "{}", line.packets);
    assert!(line.drops_full.abs_diff(55_000 - 50) < 20, "{}", line.drops_full);
    assert!(line.bottleneck && line.utilisation > 0.999, "{}", line.utilisation);
    // In packets of 1500 bytes.
    assert_eq!(line.rate.as_bits_per_sec(), 12_000_000);
    // Fifty packets wait, one is in service, and a batch arrives at its end.
    let delay = &result.flows[0].delay;
    assert!((delay.max.as_millis_f64() - 10.0 - 51.0).abs() < 8.1, "{}", delay.max);
}

/// The default queue, of one bandwidth-delay product, and the explanation have the rate of full batches.
#[test]
fn full_batches_determine_the_path_rate() {
    let text = |keys: &str| {
        format!(
            "duration = \"1 s\"\n[[link]]\nname = \"l\"\nbetween = [\"a\", \"b\"]\nrate = \"100 Mbit/s\"\ndelay = \"100 ms\"\n\
             {keys}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n"
        )
    };
    let load = |keys: &str| load_text("test.toml", &text(keys), Path::new(""), &[]).unwrap();
    let limit = |loaded: &thalweg_scenario::LoadedScenario| match loaded.spec().links[0].forward.queue.limit()
    {
        Limit::Bytes(bytes) => bytes as f64,
        other => panic!("{other:?}"),
    };
    let [wide, full, narrow] = [
        "",
        "aggregation = { every = \"4 ms\", packets = 64 }",
        "aggregation = { every = \"4 ms\", packets = 4 }",
    ]
    .map(load);
    assert_eq!(limit(&wide), limit(&full));
    assert!((limit(&narrow) / (12e6 / 8.0 * 0.2) - 1.0).abs() < 0.02, "{}", limit(&narrow));
    assert!(
        narrow
            .explain()
            .contains("in batches of up to 4 packets every 4 ms (12 Mbit/s of full-sized packets)"),
        "{}",
        narrow.explain()
    );
    assert!(narrow.explain().contains("slowest l at 12 Mbit/s"), "{}", narrow.explain());
    assert!(!full.explain().contains("full-sized"), "{}", full.explain());
}

/// CoDel keeps the delay of that queue near its target of 5 ms.
#[test]
fn codel_controls_the_queue_of_full_batches() {
    let link = "rate = \"100 Mbit/s\"\ndelay = \"10 ms\"\nqueue = { discipline = \"codel\", capacity = \"1000 pkt\" }\n\
                aggregation = { every = \"4 ms\", packets = 4 }\nreverse = { aggregation = \"none\" }";
    let result = run("20 s", link, "scheme = \"cubic\"");
    assert!(result.links[0].drops_early > 10, "{}", result.links[0].drops_early);
    assert!(result.flows[0].delay.mean.as_millis_f64() < 40.0, "{}", result.flows[0].delay.mean);
    assert!(result.flows[0].goodput.as_f64() > 0.85 * 11.58e6, "{}", result.flows[0].goodput);
}

/// 1000 packets in batches of four a millisecond: 250 ms at least, and the ideal time knows.
#[test]
fn ideal_times_include_full_batches() {
    let link = "rate = \"1 Gbit/s\"\ndelay = \"1 ms\"\nqueue = \"2000 pkt\"\naggregation = { every = \"1 ms\", packets = 4 }\n\
                reverse = { aggregation = \"none\" }";
    let result =
        run("10 s", link, "scheme = \"cubic\"\nworkload = { kind = \"transfer\", size = \"1448 kB\" }");
    let transfer = &result.transfer_list[0];
    let ideal = transfer.ideal.unwrap().as_millis_f64();
    assert!((249.9..=250.2).contains(&ideal), "{ideal}");
    let took = result.flows[0].finished.unwrap().as_secs_f64() * 1000.0;
    assert!((ideal..1.2 * ideal).contains(&took), "{took} of {ideal}");
}

/// A link counts corrupted copies too: what it corrupts is lost. A tenth of 20,000 packets and of 10,000 copies.
#[test]
fn corrupted_copies_are_counted() {
    let link = "rate = \"100 Mbit/s\"\ndelay = \"10 ms\"\nduplicate = 0.5\ncorrupt = 0.1";
    let result = run("20 s", link, &datagrams("7.776 Mbit/s"));
    let corrupted = result.links[0].corrupted;
    assert!(corrupted.abs_diff(3000) < 200, "{corrupted}");
    // A few of them are still in the network at the end.
    assert!(corrupted.abs_diff(result.conservation.lost) < 20, "{corrupted}, {}", result.conservation.lost);
}

/// The delay of each period is uniform from the line's delay to that plus the spread: half of the spread on average,
/// over 600 periods.
#[test]
fn periodic_variation_changes_the_delay() {
    let link = "rate = \"100 Mbit/s\"\ndelay = \"20 ms\"\nperiodic-variation = { every = \"200 ms\", delay-spread = \"20 ms\" }";
    let result = run("120 s", link, &datagrams("1 Mbit/s"));
    let mean = result.flows[0].delay.mean.as_millis_f64();
    // Four standard errors; one is 20 ms / sqrt(12 * 600).
    assert!((mean - 30.08).abs() < 0.95, "{mean}");
    assert!(result.flows[0].delay.max.as_millis_f64() < 40.2);
}

/// A tenth of each interval is an outage; the mean rate of the rest is that of the line.
#[test]
fn periodic_outages_reduce_the_rate() {
    let link = "rate = \"8 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"50 pkt\"\n\
                periodic-variation = { every = \"500 ms\", rate-spread = \"50 %\", outage = \"50 ms\" }";
    let result = run("200 s", link, &datagrams("30 Mbit/s"));
    let rate = result.links[0].bytes.get() as f64 * 8.0 / 200.0 / 1e6;
    // The rates between two outages have a standard error of 8 / sqrt(12 * 400).
    assert!((rate - 0.9 * 8.0).abs() < 0.4, "{rate}");
}

/// Huang et al. (MobiSys 2012): LTE needs 260.1 ms to leave idle mode, entered after 11.6 s without a packet.
#[test]
fn a_sleeping_radio_delays_the_next_packet() {
    let link =
        "rate = \"20 Mbit/s\"\ndelay = \"30 ms\"\nsleep = [{ after = \"11576 ms\", wake = \"260.1 ms\" }]";
    let delay = |every: f64| {
        let rate = format!("{} bit/s", (7776.0 / every) as u64);
        run("200 s", link, &datagrams(&rate)).flows[0].delay
    };
    let (often, seldom) = (delay(5.0), delay(12.0));
    assert!((often.max.as_millis_f64() - 30.4).abs() < 0.01, "{}", often.max);
    assert!((seldom.p50.as_millis_f64() / 290.5 - 1.0).abs() < 0.03, "{}", seldom.p50);
}

/// RFC 6040, section 4: the treatment of marks, verified by the counts of the queue and of the sender. DCTCP keeps the
/// queue short
/// as long as marks reach it.
#[test]
fn ecn_treatment_determines_which_marks_reach_the_sender() {
    let of = |ecn: &str| {
        let link = format!(
            "rate = \"20 Mbit/s\"\ndelay = \"5 ms\"\necn = \"{ecn}\"\n\
             queue = {{ discipline = \"step\", threshold = \"10 pkt\", capacity = \"100 pkt\" }}\n\
             reverse = {{ queue = \"1 bdp\", ecn = \"kept\" }}"
        );
        let result = run("20 s", &link, "scheme = \"dctcp\"");
        let link = &result.links[0];
        (link.marks > 0, link.drops_full > 0, link.queue.mean_packets > 20.0)
    };
    assert_eq!(of("kept"), (true, false, false));
    assert_eq!(of("ect1-to-ect0"), (true, false, false));
    assert_eq!(of("bleached"), (false, true, true));
    assert_eq!(of("tunnel-compatible"), (false, true, true));
    assert_eq!(of("marks-lost"), (true, true, true));
}

/// RFC 9331, section 5.1, and RFC 9332: with ECT(1) changed to ECT(0), packets of Prague wait in the classic queue, for
/// its 15 ms.
#[test]
fn prague_as_ect0_waits_with_the_others() {
    let of = |ecn: &str| {
        let link = format!(
            "rate = \"40 Mbit/s\"\ndelay = \"5 ms\"\necn = \"{ecn}\"\n\
             queue = {{ discipline = \"dualpi2\", capacity = \"200 ms\" }}\nreverse = {{ queue = \"1 bdp\", ecn = \"kept\" }}"
        );
        run("20 s", &link, "scheme = \"prague\"").flows[0].delay.p50.as_millis_f64()
    };
    let (low, classic) = (of("kept"), of("ect1-to-ect0"));
    assert!(low < 7.0 && classic > 9.0, "{low} and {classic}");
}

/// draft-huitema-ccwg-c4-test: bad Wi-Fi occasionally delays by several 100 ms; packets stay in order unless overtaking
/// is allowed.
#[test]
fn wifi_delays_by_its_average() {
    let of = |order: bool| {
        let jitter =
            format!("jitter = {{ distribution = \"wifi\", average = \"7 ms\", in-order = {order} }}");
        run("100 s", &format!("rate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n{jitter}"), &datagrams("1 Mbit/s"))
            .flows[0]
            .delay
    };
    let (free, ordered) = (of(false), of(true));
    // 6.684 ms of jitter, with a standard error of 24.3 ms / sqrt(12 860).
    assert!((free.mean.as_millis_f64() - 7.69).abs() < 0.9, "{}", free.mean);
    // One packet in fifteen is late by 90 ms and delays those behind it: about ten at 129 packets/s.
    assert!(ordered.mean > free.mean * 3, "{} {}", ordered.mean, free.mean);
    assert!(free.max.as_millis_f64() > 150.0 && free.max.as_millis_f64() < 420.0, "{}", free.max);
}

/// Chapman, "DOCSIS sub-throughput optimization", CED, December 2006: a modem that sends one packet per request and
/// grant, of 3 to
/// 5 ms, limits downloads to 4 to 2.4 Mbit/s with one acknowledgement per packet, and to 8 to 4.8 with one per two
/// packets. Dropping
/// redundant acknowledgements from the modem's queue restores the rate of the download.
#[test]
fn acknowledgements_limit_downloads_unless_they_are_filtered() {
    for (grants, delayed, limit) in [(5, false, 2.4), (3, false, 4.0), (5, true, 4.8), (3, true, 8.0)] {
        let link = |filter: &str| {
            format!(
                "rate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"100 pkt\"\n\
                 reverse = {{ rate = \"{} bit/s\", queue = \"1000 pkt\", ack-filter = \"{filter}\" }}",
                40 * 8 * 1000 / grants
            )
        };
        let every = if delayed { "delayed-ack = true" } else { "" };
        let flow = format!(
            "scheme = {{ base = \"fixed\", window = \"64 pkt\", segment = \"1460 B\", header = \"40 B\", ack = \"40 B\", recovery = \"sack\", {every} }}"
        );
        let run = |filter| run("30 s", &link(filter), &flow);
        let [plain, newest, careful] = ["none", "newest", "conservative"].map(run);
        let rate = |result: &RunResult| result.links[0].packets as f64 * 1500.0 * 8.0 / 30.0 / 1e6;
        assert!((rate(&plain) / limit - 1.0).abs() < 0.03, "{} of {limit}", rate(&plain));
        assert_eq!(plain.links[1].filtered, 0);
        for filtered in [newest, careful] {
            assert!(rate(&filtered) > 18.5, "{}", rate(&filtered));
            let up = &filtered.links[1];
            assert!(up.filtered > up.packets && up.drops_full == 0, "{} beside {}", up.filtered, up.packets);
            assert!(up.queue.max_packets <= 4, "{}", up.queue.max_packets);
        }
    }
}

/// Losses are detected and repaired as without a filter: selective acknowledgements pass.
#[test]
fn filters_keep_what_is_acknowledged_selectively() {
    let link = |filter: &str| {
        format!(
            "rate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"60 pkt\"\nloss = 0.005\n\
             reverse = {{ rate = \"200 kbit/s\", queue = \"1000 pkt\", loss = 0, ack-filter = \"{filter}\" }}"
        )
    };
    let flow = "scheme = { base = \"newreno\", recovery = \"sack\" }";
    for filter in ["newest", "conservative"] {
        let result = run("30 s", &link(filter), flow);
        let flow = &result.flows[0];
        assert!(result.links[1].filtered > 1000, "{}", result.links[1].filtered);
        assert!(flow.timeouts <= 3, "{filter}: {} timeouts", flow.timeouts);
    }
}

/// `ecn` is a switch of the window schemes, and a word of SCReAM's.
#[test]
fn schemes_do_not_inherit_values_that_their_keys_cannot_have() {
    let ecn = |scheme: &str| {
        let text = format!(
            "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\n\
             [defaults.scheme]\necn = true\n[[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = \"{scheme}\""
        );
        let loaded = load_text("test.toml", &text, Path::new(""), &[]).expect("valid");
        match &loaded.spec().groups[0].transport.endpoint_configs {
            EndpointConfigs::Window(ends) => format!("{}", ends.sender.ecn),
            EndpointConfigs::Media(config) => format!("{:?}", config.ecn),
            ends => panic!("{ends:?}"),
        }
    };
    assert_eq!([ecn("cubic"), ecn("scream"), ecn("scream:ecn=none")], ["true", "L4s", "None"]);
}
